#pragma once
#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bail.h"
#include "base/epochs.h"
#include "kernels/plan/lower.h"
#include "reprise/compile.h"
#include "runtime/build/miss_callback.h"
#include "runtime/build/specialization.h"
#include "runtime/call/declared.h"
#include "runtime/front/candidates.h"
#include "runtime/front/structure_cache.h"
#include "runtime/replay/recording_budget.h"

namespace reprise::detail {

struct PathOfCall;  // runtime/call/call.h

// Note [Who frees what]
// ~~~~~~~~~~~~~~~~~~~~~
// Threads call a function, compile for it, reset it and let go of it at once. Of all that serves calls there is one
// place that takes it out of sight, and one that frees it:
//
// - Specializations, with their programs, stages and folded parts, and the tables that name them. Under Compiled::mu
//   they are published, and taken out of sight (publish): by reset(), by one that makes room, when a captured variable
//   is gone. Calls read them without a lock, from find() to the end of their Outputs (epochs::Reading), and so does
//   whoever holds mu. What no call reads that began before it went out of sight is taken from `retired` under mu
//   (take_unread) and destroyed without it. What serves one call alone is that call's.
// - Recordings. Entries of a cache change under its own lock, for whichever thread: a call of this specialization, or
//   one of another that trims what both keep together and holds the budget's lock as well (RecordingBudget::trim). So
//   a cache that goes leaves the budget, with both locks, before its entries go. Replays share a recording, which
//   refers to its program: the last one to let go of an evicted one is a call that reads, or holds the locks under
//   which its cache is still there.
// - Instances of a recording: whoever has taken one out of its place has it alone.
// - Builds in the background hold the function weakly. reset() and the function's end only forget them: a build finds
//   out, under mu, that nobody waits for it, and destroys what it made on its own thread, without mu. It may be the
//   last that holds the function.
// - Values of frozen tensors: shared by the process's table and the sets of functions that took them. Their memory
//   goes when an input's storage dies, which nobody then has who could ask for them (Note [Frozen tensors]).
// - Variables that were captured: shared by specializations and lists; the handle that they follow says when it goes,
//   under their one mutex (tensor/variable.h). A specialization of such a one is retired by the next call that
//   compiles.
// - How results come onto the tape (Gradients): shared with the nodes of it, which run their backward when the
//   specialization is gone.
// - Machine code: shared by programs and the process's cache, which drops only what it alone holds
//   (jit/engine/kernel_cache.h). Recipes are files that are never changed: whoever has opened one reads it to its end
//   (base/files.h).
// - Operators that run eagerly have the same in a table of their own (runtime/front/eager.cc), whose lock stands for
// mu.
//
// Locks are taken in this order: Compiled::mu, a cache's, the budget's; of one cache with the budget's held only where
// it is free (try_lock). No destructor of what a user made runs with one of them held.

/// One compiled function: its specializations, found by structure and then by guards.
///
/// Threads: find() takes no lock: it reads `table`, an immutable snapshot; whoever compiles holds `mu`, makes a new
/// table and publishes it last. A call reads (base/epochs.h) from find() until its outputs are gone; old tables, and
/// specializations that serve no call any more, are freed once no call reads that began before they were replaced.
struct Compiled : std::enable_shared_from_this<Compiled> {
  CompileOptions options;
  /// What only its maker knows of inputs and outputs of what was traced: names, kinds (of backwards). Set before the
  /// first call.
  std::function<void(Traced&)> describe;
  std::optional<kernels::Mode> mode;  ///< none: off, every call is served eagerly
  /// Under `mu_`: it has done what cannot be undone in a trace that was given up, so it is traced no more.
  std::optional<Bail> runs_once;

  struct Table {
    Table() : Table(std::vector<const Specialization*>()) {}
    explicit Table(const std::vector<const Specialization*>& all);  ///< these stay, and in this order
    /// Those of one structure (or, hardly ever, of several whose hashes are equal).
    struct Alike {
      Candidates all;
      bool alone = false;  ///< no other structure's serve calls of theirs
      /// the latest hit: tried first; null where they are found by values
      mutable std::atomic<const Specialization*> last{nullptr};
    };
    std::deque<Alike> alike;
    struct Slot {
      std::uint64_t hash;
      const Alike* those;
    };
    /// of their structures: open addressing, a power of two; null: empty
    std::vector<Slot> by_hash;
    /// Those whose structures have the hash, or null.
    const Alike* of_hash(std::uint64_t hash) const {
      std::size_t i = hash & (by_hash.size() - 1);
      while (by_hash[i].those && by_hash[i].hash != hash) i = (i + 1) & (by_hash.size() - 1);
      return by_hash[i].those;
    }
    OtherStructures others;       ///< whom calls of other structures find
    std::int64_t code_bytes = 0;  ///< CodeCount of those in it
    /// among whom the latest hit was: looked at before anything is hashed
    mutable std::atomic<const Alike*> latest{nullptr};
  };
  std::atomic<const Table*> table;                       ///< never null
  std::shared_ptr<runtime::RecordingBudget> recordings;  ///< what all specializations keep together
  std::shared_ptr<MissCallback> callback = std::make_shared<MissCallback>();
  /// Of another function (own_backward), whose budgets, callback and seal these are.
  bool is_backward = false;
  /// Of a backward: how many guards its latest trace has asked.
  std::size_t traced_guards = 0;
  std::atomic<std::int64_t> copied_tangents{0};  ///< Stats::Backward::copied_tangents
  /// CompiledFunction::seal. Also backwards' of specializations that are gone find it so.
  bool is_sealed() const { return recordings->sealed.load(std::memory_order_relaxed); }

  /// One compilation at a time; the others wait for their turn, and hold nothing meanwhile. The user's function may
  /// wait for another thread that calls it: who finds that a trace does not go on is served eagerly. 0: free; else who
  /// has it is of this fork generation (x 2 + 1)
  std::atomic<std::uint32_t> turn{0};
  std::atomic<const epochs::Reader*> maker{nullptr};  ///< who has it
  /// how many there were; the one that a thread has waited for in vain
  std::atomic<std::uint64_t> turns{0}, stuck{0};
  std::atomic<int> waiting{0};

  /// Of what stands below, held for moments and while its thread is working (LockedCompiled).
  mutable std::mutex mu;
  std::unique_ptr<Table> published;                    // guarded by mu; what `table` points to
  std::vector<std::unique_ptr<Specialization>> owned;  // guarded by mu
  struct Retired {
    std::uint64_t epoch;  ///< that ended when it went out of sight
    std::unique_ptr<Table> table;
    std::vector<std::unique_ptr<Specialization>> made;
    bool counted = true;  ///< what it did counts: it was not forgotten by reset()
  };
  std::vector<Retired> retired;  // guarded by mu
  /// Of specializations that have been freed.
  // guarded by mu
  struct Freed {
    std::int64_t replays = 0, recordings_made = 0, evictions = 0, copied_bytes = 0;
  } freed;
  std::int64_t code_bytes = 0;  // guarded by mu; of those that are owned
  /// and with those of its backwards, or of whose backward it is
  std::shared_ptr<std::atomic<std::int64_t>> code_of_all = std::make_shared<std::atomic<std::int64_t>>(0);
  void count_code(std::int64_t bytes) noexcept {
    code_of_all->fetch_add(bytes - code_bytes, std::memory_order_relaxed), code_bytes = bytes;
  }
  // guarded by mu; that retired before they had served some calls
  std::int64_t in_vain = 0;
  static constexpr std::int64_t kPatience = 1000;
  /// Note [Making room]: calls that an idle specialization is left for; the call from which on it is worth looking
  /// again; how many have gone.
  std::int64_t patience = kPatience, look_at = 0, in_vain_until = 0, replaced = 0;  // guarded by mu
  std::int64_t named = 0;  // guarded by mu; specializations begun: numbers their names
  /// Calls that could not be compiled: of this structure, as far as all holds of them that the trace had seen when it
  /// was given up. Many functions do such things at their first call only (they fill a cache, measure a scale), so they
  /// are tried again a few times.
  struct Refusal {
    FrameArray<std::uint64_t> structure;
    Seen seen;
    Bail bail;
    std::string reason;
    SourceLoc where;  ///< the user's line, if known
    int tries_left;
    std::int64_t since = 0;  ///< the latest call that it was for
    Outcomes path = {};      ///< decisions on values that its trace had taken
  };
  std::vector<Refusal> refusals;  // guarded by mu
  /// A call that was traced and is built in the background (OnMiss::ServeMeanwhile).
  struct Build {
    FrameArray<std::uint64_t> structure;
    Seen seen;  ///< it is for calls of which this holds
    /// fork_generation(): a child has no thread that goes on with it
    std::uint32_t process;
    bool ended = false;  ///< guarded by mu
    Outcomes path = {};  ///< of decisions on values that were known before its trace
  };
  /// Those going on, and the latest that have ended: calls that none of those helped are compiled while they wait.
  std::vector<std::shared_ptr<Build>> builds;  // guarded by mu; oldest first
  std::int64_t building() const;               ///< with `mu` held: how many go on
  std::atomic<std::uint32_t> builds_ended{0};  ///< wakes those that wait
  /// Calls that threw when they were traced, by their structure, sizes and numbers. They run eagerly, where the
  /// function is not traced only to throw again; when `wait` of them have not thrown, it is traced once more. Whoever
  /// throws again waits twice as long: what decides may be outside (a flag, a counter).
  struct Thrown {
    FrameArray<std::uint64_t> structure;
    FrameArray<std::int64_t> values;
    Seen seen;
    std::uint64_t id;
    std::string reason;
    int wait = 1, left = 1;  ///< left 0: the next one is traced
    Outcomes path = {};      ///< as Refusal::path
  };
  static constexpr std::size_t kMostThrown = 32;
  std::vector<Thrown> thrown;    // guarded by mu; the latest last
  std::uint64_t thrown_ids = 0;  // guarded by mu
  // guarded by mu; in the function object, as far as traces have met them
  FunctionBytes::Handles handles;
  /// Variables that held nothing when the function first assigned them (Note [Assigned variables] in
  /// runtime/trace/variables.h).
  std::vector<std::shared_ptr<Variable>> met;              // guarded by mu
  void watch_met(std::vector<std::shared_ptr<Variable>>);  ///< with `mu` held
  /// Calls, by hash_beside_layouts, of which a trace has looked at strides of arguments: it is not tried again to leave
  /// them open.
  std::unordered_set<std::uint64_t> strides_asked;  // guarded by mu
  Declared declared;                                // guarded by mu
  bool warned_full = false;                         // guarded by mu
  std::string last_fallback_reason;                 // guarded by mu
  std::array<std::int64_t, kBails> fallbacks{};     // guarded by mu; calls served eagerly, by reason

  std::int64_t check;  ///< every so many-th replay is checked; 0: none
  std::atomic<std::int64_t> calls{0}, compilations{0}, checks{0};
  std::atomic<std::int64_t> branch_dispatches{0}, branch_traces{0};
  std::atomic<std::int64_t> dispatch_ns{0}, dispatch_samples{0};
  bool profiled = false;  // guarded by mu; what is added is profiled, too

  /// Of options that new_compiled() has looked at.
  Compiled(CompileOptions o, std::optional<kernels::Mode>);
  ~Compiled();

  /// With `mu` held: a table of the first `n` that are owned, and room to retire the one that stands.
  std::unique_ptr<Table> prepare(std::size_t n);
  /// With `mu` held: from now on calls find what is in `next`, which is prepared; `gone` is freed when no call can be
  /// in one.
  void publish(std::unique_ptr<Table> next, std::vector<std::unique_ptr<Specialization>> gone) noexcept;
  /// With `mu` held: are there as many bytes of code as may be?
  bool is_full_of_code() const { return code_of_all->load(std::memory_order_relaxed) >= options.code_bytes; }
  /// With `mu` held: takes out what nobody reads any more. Destroy it without `mu`: its destructors may run the user's
  /// code.
  std::vector<Retired> take_unread();

  // With `mu` held:
  /// From now on calls find it, too. What throws leaves it with the caller, who destroys it without `mu`.
  void add(std::unique_ptr<Specialization>& made);
  /// Specializations whose variables are gone make room; those that served few calls still count against the limit.
  void retire_gone();
  /// Is there room for one more, perhaps because another one makes it? Note [Making room].
  bool make_room();
  /// From now on calls do not find it: it has served none for long (`now`: the call).
  void replace(const Specialization& idle, std::int64_t now);
  /// From now on calls do not find those of which go(s) is true.
  template <class F>
  void retire_if(const F& go);
  /// Bytes of the function object that a trace has meanwhile found to be tensor handles keep nobody from a
  /// specialization. Is there one that they kept the call from?
  bool leave_out_handles(const CallFrame&) const;
  /// Of calls that take this path, as far as it is known; or null.
  Refusal* refusal_of(const CallFrame&, const Outcomes& path = {});
  /// `seen` says which calls are meant beside this one.
  void refuse(const CallFrame&, Seen seen, Bail, const std::string& reason, SourceLoc where = {},
              const Outcomes& path = {});
  /// of which nothing was refused yet
  void refuse(const FrameArray<std::uint64_t>& structure, Seen seen, Bail, const std::string& reason,
              SourceLoc where = {}, const Outcomes& path = {});
  void note_refused(Refusal&, Seen seen, Bail, const std::string& reason);
  Thrown* thrown_of(const CallFrame&, const Outcomes& path = {});  ///< or null
  struct BuildsOf {
    bool going_on = false;
    int ended = 0;
  };
  BuildsOf builds_of(const CallFrame&, const Outcomes& path = {});
  void note_thrown(const CallFrame&, Seen seen, const std::string& what, const Outcomes& path = {});
  /// Is there room for one more path of calls with this structure, perhaps because an idle one makes it?
  bool make_room_for_path(const FrameArray<std::uint64_t>& structure);
  void count_fallback(Bail) noexcept;
  const Specialization* serve_eagerly(Bail, const std::string& reason);  ///< null
};

/// While it lives, the function's state is this thread's.
class LockedCompiled {
 public:
  explicit LockedCompiled(const Compiled& c) : lock_(c.mu) {}

 private:
  epochs::Working working_;  // before the lock, and until it is free
  std::lock_guard<std::mutex> lock_;
};

/// The turn to compile; `waits`: waited for. taken() is false where it would perhaps be waited for for ever.
class CompileTurn {
 public:
  CompileTurn(Compiled& c, bool waits) : c_(c), taken_(take(waits)) {}
  ~CompileTurn();
  CompileTurn(const CompileTurn&) = delete;
  CompileTurn& operator=(const CompileTurn&) = delete;
  bool taken() const { return taken_; }

 private:
  bool take(bool waits);
  Compiled& c_;
  const bool taken_;
};

/// Is this thread in a ServedMeanwhile?
bool is_served_meanwhile();
/// May it wait there for the code of an operator? For one in a call, so that no call waits for many, and not in the
/// first calls.
bool may_wait_for_code();

/// The candidates of a structure, latest hit first; null if none admits the call. No lock, no allocation.
const Specialization* lookup(Compiled&, CallFrame&);
/// One that branches on values, whose first decisions are `path`, and none of `tried`; null if none admits the call.
/// `hash`: of the call's structure. Likewise.
const Specialization* lookup_path(Compiled&, CallFrame&, std::uint64_t hash, const Outcomes& path,
                                  const std::vector<const Specialization*>& tried);
/// run() of a call with what is known of its path (run_specialization).
std::optional<runtime::PathMissed> run_on(const Specialization&, CallFrame&, Outputs&, const Outcomes* path,
                                          std::shared_ptr<runtime::Handover>* hand);
/// It serves a call that another one was tried for: the next is tried with it first.
void note_hit(Compiled&, const Specialization&);
/// With `mu` held: the trees of decisions, with lines and calls; empty if there are none.
std::string print_branches(const Compiled&);
/// Beyond CompileOptions::branches: why the call runs eagerly.
std::string too_many_paths(const Compiled&, const PathOfCall*);
struct NearestMiss;
NearestMiss nearest_of_path(const PathOfCall&);

}  // namespace reprise::detail
