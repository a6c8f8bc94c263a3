#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "reprise/compile.h"
#include "runtime/specialization.h"

namespace reprise::detail {

/// One compiled function: its specializations, found by structure and then by guards.
///
/// Threads: find() takes no lock: it reads `table`, an immutable snapshot; whoever compiles holds `mu`, makes a new table
/// and publishes it last. Old tables are kept until reset(), because a reader may still be in one; there are at most as many
/// as specializations.
struct Compiled {
  CompileOptions options;
  std::string mode;

  struct Table {
    std::unordered_map<std::uint64_t, std::vector<const Specialization*>> by_structure;
  };
  std::atomic<const Table*> table;
  std::atomic<const Specialization*> last{nullptr};       ///< the latest hit: tried first

  /// One compilation at a time; the others wait. Recursive: the function may ask for its own stats() while it is traced.
  mutable std::recursive_mutex mu;
  std::vector<std::unique_ptr<Table>> tables;             // guarded by mu
  std::vector<std::unique_ptr<Specialization>> owned;     // guarded by mu
  std::vector<std::unique_ptr<Specialization>> retired;   // guarded by mu; that serve no call any more, but a reader may be in one
  /// Calls of a structure that could not be compiled. Many functions do such things at their first call only (they fill a cache,
  /// measure a scale), so they are tried again a few times.
  struct Refusal {
    FrameArray<std::uint64_t> structure;
    std::string reason;
    int tries_left;
  };
  std::vector<Refusal> refusals;                          // guarded by mu
  bool sealed = false;                                    // guarded by mu
  bool warned_full = false;                               // guarded by mu
  std::string last_fallback_reason;                       // guarded by mu

  std::atomic<std::int64_t> calls{0}, fallbacks{0}, compilations{0};
  std::atomic<std::int64_t> dispatch_ns{0}, dispatch_samples{0};

  explicit Compiled(CompileOptions o);
};

/// The candidates of a structure, latest hit first; null if none admits the call. No lock, no allocation.
const Specialization* lookup(Compiled&, CallFrame&);

}  // namespace reprise::detail
