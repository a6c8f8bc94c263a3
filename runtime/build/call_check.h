#pragma once
#include <atomic>
#include <memory>
#include <vector>

#include "reprise/compile.h"
#include "runtime/build/compare.h"
#include "runtime/build/stages.h"
#include "runtime/replay/program.h"
#include "runtime/trace/tracer.h"

namespace reprise::detail {

struct Specialization;

/// REPRISE_VERIFY=2: the traced program, before any pass, as the reference kernels compute it. A specialization's first
/// calls are run by it, too, on copies of everything they can reach, and compared.
class CallCheck {
 public:
  static constexpr int kCalls = 3;  ///< that are compared, for each specialization

  /// Null where calls cannot be compared: on devices that do not run the host's code.
  static std::unique_ptr<CallCheck> make(const Traced&);

  /// Is this call one of the first? Counts it.
  bool wanted() {
    return left_.load(std::memory_order_relaxed) > 0 && left_.fetch_sub(1, std::memory_order_relaxed) > 0;
  }
  /// Runs the call by `compiled` and by the interpreter. Throws Internal, naming the first result or argument and
  /// element that differ (arguments then hold what was compiled); what both throw passes. Where a number of data that
  /// rounded numbers decide (how many are above a mean) is another one, nothing is compared. What is rounded may differ
  /// by the tolerances of runtime/build/compare.h. Where the last bit of a float decides (argmax, a comparison of sums)
  /// both may be right.
  void run(const Specialization&, CallFrame&, Outputs&, void (*compiled)(void*), void* context);

 private:
  CallCheck(runtime::Stages before, runtime::Program p, const Traced&);
  bool same_numbers(const Specialization&, const CallFrame&, const FrameArray<std::int64_t>& expected) const;

  const runtime::Stages before_;  // every number of data is read
  const runtime::Program program_;
  struct Number {
    std::uint32_t word;
    bool is_float;
    Closeness close;
  };
  std::vector<Number> numbers_;
  std::atomic<int> left_{kCalls};
};

}  // namespace reprise::detail
