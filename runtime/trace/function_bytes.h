#pragma once
#include <atomic>
#include <memory>
#include <set>
#include <vector>

#include "reprise/compile.h"

namespace reprise::detail {

/// A function object that ran in a trace, as it was before.
struct FunctionSeen {
  /// it may go while what was compiled stays: one compiled function that another calls
  std::weak_ptr<const void> owner;
  ObjectBytes object;
  std::vector<char> bytes;
};

/// What function objects hold by value is a constant of the compilation: their bytes are compared at every call. Tensor
/// handles among them are followed as variables instead (tensor/variable.h); which bytes are handles only traces can
/// tell, so those that a later trace of the same function meets are left out then. Threads: same() may run at any time;
/// leave_out() under the compiled function's mutex.
class FunctionBytes {
 public:
  using Handles = std::set<const void*>;
  FunctionBytes(std::vector<FunctionSeen> seen, const Handles& handles);
  bool same() const;
  bool is_gone() const;  ///< one of the objects is no more
  /// False if nothing further is left out.
  bool leave_out(const Handles&);

 private:
  struct Part {
    const char *at, *expected;
    std::size_t size;
  };
  void make_parts(const Handles&);

  std::vector<FunctionSeen> seen_;
  std::vector<std::unique_ptr<const std::vector<Part>>> made_;  // all that were current: a reader may be in one
  std::atomic<const std::vector<Part>*> parts_{nullptr};
};

}  // namespace reprise::detail
