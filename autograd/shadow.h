#pragma once
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "autograd/call.h"
#include "autograd/engine.h"
#include "autograd/saved.h"

namespace reprise::autograd {

// Note [Shadows of tapes]
// A walk is a function of what its nodes have kept: tensors, integers (sizes above all) and numbers; all else about it is its shadow: the kinds of nodes, their operators and flags,
// and the edges. Walks of one shadow are calls of one compiled function (runtime/compiled_walk.h), whose trace walks a copy of the tape that holds the traced values.

/// What nodes tell of themselves, in order.
struct Shadow {
  std::vector<std::uint64_t> key;
  std::vector<Tensor> tensors;
  std::vector<Int> ints;
  std::vector<Scalar> numbers;

  void word(std::uint64_t w) { key.push_back(w); }
  void word(const std::string& s) { word(std::hash<std::string>()(s)); }
  void add(const ResultMeta&);
  void add(const Call&);
  /// Throws what reading it throws.
  void add(const Saved&, Node& of);
};

/// The same, in the same order, as the trace has it.
class Traced {
 public:
  Traced(const std::vector<Tensor>& tensors, const std::vector<Int>& ints, const std::vector<Scalar>& numbers) : tensors_(tensors), ints_(ints), numbers_(numbers) {}
  Tensor tensor() { return tensors_.at(t_++); }
  Int integer() { return ints_.at(i_++); }
  Scalar number() { return numbers_.at(n_++); }
  ResultMeta meta(const ResultMeta& of);
  std::shared_ptr<const Call> call(const Call& of);
  Saved saved() { return Saved::input(tensor()); }

 private:
  const std::vector<Tensor>& tensors_;
  const std::vector<Int>& ints_;
  const std::vector<Scalar>& numbers_;
  std::size_t t_ = 0, i_ = 0, n_ = 0;
};

/// A walk as data: its nodes, those called last first.
struct WalkShadow {
  Shadow of;
  std::vector<std::shared_ptr<Node>> nodes;
  std::vector<Edge> wanted;              ///< by gradient that it gives: captured ones, or leaves
};
/// None: it has hooks, or nodes that cannot tell of themselves.
std::unique_ptr<WalkShadow> shadow_of(const Walk&);
/// In a trace: walks a copy of it. Gives the wanted gradients.
std::vector<Tensor> walk_copy(const Walk&, const WalkShadow&, Traced&);

/// Walks of this thread go through it first; null: none does. It gives no value for those that it leaves to the engine.
using Through = std::function<std::optional<std::vector<Tensor>>(const Walk&)>;
const Through* exchange_through(const Through*);

}  // namespace reprise::autograd
