#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "graph/op_column.h"
#include "reprise/arguments.h"
#include "reprise/tensor.h"
#include "tensor/layout.h"

namespace reprise::autograd {

/// Which arguments, a bit each. Of those that take lists: all of the list.
using Args = std::uint16_t;
template <class... I>
constexpr Args of(I... arg) {
  return static_cast<Args>((0u | ... | (1u << arg)));
}
inline constexpr Args kAnyArg = 0xffff;

/// One tensor that a rule reads. Kept of a call only if one of `wanted_by` wants a gradient.
struct Save {
  std::int8_t index = -1;  ///< of an argument, or of a result
  bool result = false;
  Args wanted_by = kAnyArg;
};
/// All of them: `in(0, of(1)) + in(1, of(0))`, `out(0)`.
struct Saves {
  static constexpr std::size_t kMost = 6;
  Save all[kMost];
  std::size_t n = 0;
  friend constexpr Saves operator+(Saves a, const Saves& b) {
    for (std::size_t i = 0; i < b.n; ++i) a.all[a.n++] = b.all[i];
    return a;
  }
};
constexpr Saves in(int arg, Args wanted_by = kAnyArg) {
  return {{{static_cast<std::int8_t>(arg), false, wanted_by}}, 1};
}
constexpr Saves out(int result, Args wanted_by = kAnyArg) {
  return {{{static_cast<std::int8_t>(result), true, wanted_by}}, 1};
}
inline constexpr Saves kNothing{};

struct OpNode;

/// What a rule sees of the call whose derivative it tells, and where it puts what it finds. Arguments are counted as
/// the schema does. Tensors that were not declared to be saved are not there: asking for one throws Internal.
class Backward {
 public:
  Backward(OpNode& node, std::vector<Tensor>& grads, std::vector<Tensor>& given, SourceLoc loc)
      : node_(node), grads_(grads), given_(given), loc_(loc) {}

  /// Of result i; zeros where nobody has asked for it.
  const Tensor& grad(int result = 0);
  bool has_grad(int result) const { return grads_[static_cast<std::size_t>(result)].defined(); }

  bool has(int arg) const;               ///< it is not None
  bool is_tensor(int arg) const;         ///< of one that takes a tensor or a number
  Tensor tensor(int arg);                ///< saved; undefined for None
  std::vector<Tensor> tensors(int arg);  ///< of a list that is saved
  Operand operand(int arg);              ///< a saved tensor, or the number
  Tensor result(int i = 0);              ///< saved
  // Of tensors that need not be saved.
  const Ints& sizes(int arg, std::size_t of_list = 0) const;
  int dim(int arg) const { return static_cast<int>(sizes(arg).size()); }
  DType dtype(int arg, std::size_t of_list = 0) const;
  Device device(int arg, std::size_t of_list = 0) const;
  std::size_t count(int arg) const;  ///< of a list
  /// of argument 0, where the operator names places of its storage (as_strided and its scatter)
  const Layout& layout() const;
  const Ints& result_sizes(int i = 0) const;
  DType result_dtype(int i = 0) const;

  Scalar number(int arg) const;
  Int integer(int arg) const;
  const Ints& ints(int arg) const;
  bool flag(int arg) const;
  DType dtype_argument(int arg) const;
  std::string_view text(int arg) const;
  graph::OpId op() const;
  SourceLoc loc() const { return loc_; }

  /// Is the gradient of this argument asked for? False for numbers and None.
  bool wants(int arg) const;
  bool wants(int arg, std::size_t of_list) const;
  /// The gradient of this argument, at most once. It is summed to the argument's sizes where the call has broadcast it,
  /// and cast to its dtype. Undefined: zeros. What is not wanted is dropped.
  void give(int arg, const Tensor& gradient);
  void give(int arg, std::size_t of_list, const Tensor& gradient);

 private:
  OpNode& node_;
  std::vector<Tensor>& grads_;
  std::vector<Tensor>& given_;
  const SourceLoc loc_;
  std::deque<Tensor> held_;  // what operands refer to
};

/// What the tape knows of an operator: how gradients of its arguments follow from those of its results. The rule is
/// written over public operators, so that it runs eagerly, in a trace, and on the tape itself. Of an in-place call it
/// is told what it would be told of the functional one: a saved argument 0 is a copy of what was there before.
struct Derivative {
  /// null: results want no gradients, whatever the arguments do (comparisons, indices)
  void (*rule)(Backward&) = nullptr;
  Saves saves = {};
  Args differentiable = kAnyArg;  ///< others are constants to it (indices, masks), though they be floats
};

/// Built-in rows are autograd/derivatives.def. Families of operators and users tell theirs with the registration.
graph::OpColumn<Derivative>& derivatives();

}  // namespace reprise::autograd
