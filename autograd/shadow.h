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
// A walk is a function of what its nodes have kept: tensors, integers (sizes above all) and numbers; all else about it
// is its shadow: the kinds of nodes, their operators and flags, and the edges. Walks of one shadow are calls of one
// compiled function (runtime/trace/compiled_walk.cc), whose trace walks a copy of the tape that holds the traced
// values. Hooks are the program's: they divide a walk into segments, each of which has a shadow of its own.

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
  Traced(const std::vector<Tensor>& tensors, const std::vector<Int>& ints, const std::vector<Scalar>& numbers)
      : tensors_(tensors), ints_(ints), numbers_(numbers) {}
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

/// Some nodes of a walk that follow each other, with nothing between them that the program does: no hooks. They are a
/// walk of their own, whose roots are where gradients come in from before, and which gives what goes out of it.
struct Segment {
  /// Where an edge of one of its nodes leads.
  struct To {
    enum Where : std::uint8_t { Nowhere, Inside, Out } where = Nowhere;
    std::size_t index = 0;  ///< among `nodes`, or `given`
    std::uint32_t result = 0;
  };
  Shadow of;  ///< its tensors begin with the gradients, by root
  std::vector<std::shared_ptr<Node>> nodes;
  std::vector<std::vector<To>> edges;  ///< by node, by Node::next
  std::vector<To> roots;               ///< of its nodes
  std::vector<To> captured;            ///< gradients of its nodes that it gives, too: the first of `given`
  std::vector<Edge> given;             ///< those, and what goes to nodes behind it: summed, but where it is apart
  bool last = false;                   ///< no other walk follows: nodes may release saved tensors once these are read
  bool apart = false;                  ///< it is one node, and what it gives is wanted by edge
};
/// In a trace: walks a copy of it. Gives by Segment::given, undefined where nothing came.
std::vector<Tensor> walk_copy(const Segment&, Traced&);

/// The walk by segments, each by `run`, which gives what walk_copy does; hooks are called between them, as often and in
/// the order that the engine would call them, and nodes that cannot tell of themselves run by themselves.
std::vector<Tensor> walk_by_segments(const Walk&, const std::function<std::vector<Tensor>(Segment&)>& run);

/// Walks of this thread go through it first; null: none does. It gives no value for those that it leaves to the engine.
using Through = std::function<std::optional<std::vector<Tensor>>(const Walk&)>;
const Through* exchange_through(const Through*);

}  // namespace reprise::autograd
