#pragma once
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "autograd/node.h"
#include "graph/interpreter.h"

namespace reprise::autograd {

/// A call, kept: its arguments without their elements.
struct Call {
  using Arg =
      std::variant<std::monostate, ResultMeta, std::vector<ResultMeta>, Int, Ints, Scalar, bool, DType, std::string>;

  explicit Call(const graph::OpCall&);

  const graph::OpDef& op;
  const bool inplace;
  const SourceLoc loc;
  std::vector<Arg> args;
  std::vector<std::uint32_t> first;      ///< by argument: its first tensor among all of them
  std::uint32_t tensors = 0;             ///< how many there are, lists flattened
  std::shared_ptr<const Layout> layout;  ///< of argument 0, where the operator names places of its storage

  /// The same call with other tensors: `all` by tensor. Borrows from both.
  std::vector<graph::CallArg> with(std::span<const Tensor> all) const;
  std::size_t count(int arg) const;  ///< of tensors in it
  std::string name() const { return op.schema.name + (inplace ? "_" : ""); }
};

ResultMeta meta_of_result(const Tensor&);

/// f(tensor, argument, number among all) for each tensor of a call, undefined ones too.
template <class F>
void for_each_tensor(const graph::OpCall& c, F&& f) {
  std::uint32_t n = 0;
  for (std::size_t i = 0; i < c.args.size(); ++i) {
    if (auto* t = std::get_if<const Tensor*>(&c.args[i])) f(**t, static_cast<int>(i), n++);
    if (auto* list = std::get_if<TensorArrayRef>(&c.args[i]))
      for (const Tensor& t : *list) f(t, static_cast<int>(i), n++);
  }
}

}  // namespace reprise::autograd
