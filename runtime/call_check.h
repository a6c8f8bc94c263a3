#pragma once
#include <atomic>
#include <memory>

#include "reprise/compile.h"
#include "runtime/program.h"
#include "runtime/tracer.h"

namespace reprise::detail {

struct Specialization;

/// REPRISE_VERIFY=2: the traced program, before any pass, as the reference kernels compute it. A specialization's first calls are
/// run by it, too, on copies of everything they can reach, and compared.
class CallCheck {
 public:
  static constexpr int kCalls = 3;  ///< that are compared, for each specialization

  /// Null where calls cannot be compared: on devices that do not run the host's code.
  static std::unique_ptr<CallCheck> make(const Traced&);

  /// Is this call one of the first? Counts it.
  bool wanted() { return left_.load(std::memory_order_relaxed) > 0 && left_.fetch_sub(1, std::memory_order_relaxed) > 0; }
  /// Runs the call by `compiled` and by the interpreter. Throws Internal, naming the first result or argument and element that
  /// differ (arguments then hold what was compiled); what both throw passes.
  /// What is rounded may differ by the tolerances of runtime/compare.h. Where the last bit of a float decides (argmax, a comparison of
  /// sums) both may be right.
  void run(const Specialization&, CallFrame&, Outputs&, void (*compiled)(void*), void* context);

 private:
  explicit CallCheck(runtime::Program p) : program_(std::move(p)) {}
  runtime::Program program_;
  std::atomic<int> left_{kCalls};
};

}  // namespace reprise::detail
