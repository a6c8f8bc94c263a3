#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace reprise::passes {

// Note [Joint graphs]
// Of a differentiable call one graph is traced: what the function does, and behind it the derivative of its results
// (runtime/trace/joint.h). Two operators mark the seam: `tangent(like, i)` stands for the gradient that comes in for
// the i-th differentiable result, `gradient(value, i)` says what goes out for the i-th input. What depends on a tangent
// is the backward; of the rest, what the backward reads is either *saved*, a further result of the forward, or computed
// again.
//
// Which, a minimum cut says (passes/min_cut.h), as in T. Chen et al. (2016) by choice and in the min-cut partitioner of
// PyTorch's functorch by flow: each value has two variables, is it computed in backward, and is it there in backward;
// one that is there and not computed there is saved, and costs its bytes at the traced sizes. To compute it again costs
// a part of them: next to nothing where it becomes a step of a loop that runs anyway, so that a chain of such steps
// costs what one loop does, and for a reduction a part of what it reads. What the forward does not compute for itself
// is computed once in either, and so in backward. Products and attention are computed again only where a program asks
// for it (Keep), what has effects never; views are never saved, but what they are views of. What is computed again
// stands right before its first reader, as it would in a walk over the tape: so the parts of a checkpoint do not live
// at once. The graph is in normal form (registered.h): of a composite each part is a value of its own, so that the
// statistics of a norm can be saved and its rows computed again, and what the forward and the derivative both compute
// is one value.

/// What a program asks for a value (reprise::CheckpointPolicy).
enum class Keep : std::uint8_t { AsItCosts, MustSave, MustRecompute, PreferSave, PreferRecompute };

/// The two operators (operators/joint_marks.h).
struct Marks {
  graph::OpId tangent, gradient;
};

/// What of a joint graph is saved, but for what Keep says: the fewest bytes; all that backward reads; nothing that can
/// be computed again.
enum class Partitioner : std::uint8_t { MinimumCut, SaveAll, RecomputeAll };

/// A value that backward may read, and the choice for it: saved or computed again.
struct CutChoice {
  graph::ValueId value;
  std::int64_t bytes;
  bool is_read, is_result, can_be_recomputed, in_forward;
  bool save;
};

/// What the cut is told of a node.
struct CutRules {
  Partitioner by = Partitioner::MinimumCut;
  std::function<Keep(const graph::Node&)> keep;
  bool (*is_costly)(graph::OpId);  ///< more than a few instructions for each element
  /// May change CutChoice::save of what the partitioner has chosen; empty: nobody does.
  std::function<void(std::vector<CutChoice>&)> choose = {};
  std::string function = {};  ///< whose graph it is, for errors
};

/// A joint graph, cut.
struct Partition {
  /// Functional: inputs are the saved values, then the tangents that are read; outputs (User) are the gradients that
  /// are there.
  graph::Graph backward;
  /// how many of the graph's outputs, the last, are saved values: behind those that it had
  std::size_t saved = 0;
  std::vector<TensorMeta> of_tangents;  ///< by tangent that is read: of the result
  std::vector<std::uint32_t> tangents;  ///< by input of `backward` behind the saved ones: which
  std::vector<std::int32_t> gradients;  ///< by number of gradient: which output of `backward`; -1: none
  std::int64_t bytes_saved = 0;         ///< at the traced sizes, but of inputs and results of the graph
  std::int64_t bytes_of_all = 0;        ///< what saving everything that backward reads would take
};
/// Of a functional joint graph in normal form, which becomes its forward: marks and backward nodes are gone, and saved
/// values are outputs. Throws Bailed (tape_from_outside) where a result of the function depends on a tangent, and
/// InvalidArgument, naming the operator and its line, where MustRecompute or `choose` ask for what cannot be computed
/// again.
Partition partition(graph::Graph& joint, const Marks&, const CutRules&);

}  // namespace reprise::passes
