#pragma once
#include <optional>
#include <vector>

#include "runtime/front/compiled.h"
#include "runtime/trace/joint.h"

namespace reprise::detail {

// What a function does for the backwards of its specializations (Note [Backwards of a function] in
// runtime/trace/joint.h).

/// From its first call on the backward is within the function's budgets, sealed with it, tells its callback, and has
/// its options. Nobody else knows the backward yet.
void own_backward(Compiled& of, const Gradients&);
/// The backwards of all that `c` owns. With `mu` held.
std::vector<std::shared_ptr<Compiled>> backwards_of(const Compiled& c);

/// A backward that is to be compiled before its forward.
class BackwardAhead {
 public:
  /// Of a call that was just traced. None: the backward is compiled later, or there is none.
  static std::optional<BackwardAhead> of(const CompileOptions&, const TracedCall&, const CallFrame&);
  /// Compiles it, and lets what its trace asks of sizes be guards of the forward, which is built next. What fails is
  /// left to the backward's first call. Any thread.
  void make(TracedCall&) const;

 private:
  BackwardArguments arguments_;
};

/// What the backward of a call needs that `s` serves.
void warm_up_backward(const Specialization& s, const CallFrame&, WarmedUp&);

}  // namespace reprise::detail
