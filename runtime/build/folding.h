#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernels/launch/launch.h"
#include "kernels/plan/lower.h"
#include "runtime/trace/tracer.h"

namespace reprise::runtime {

/// A part that passes/freeze.cc has cut out, lowered (Note [Frozen tensors] in runtime/build/freeze.h).
struct FoldedPart {
  graph::Graph graph;
  kernels::Lowered lowered;
  std::vector<std::uint32_t> inputs;  ///< by input: which of the call's
  /// Of panels (operators/packed.h): rows of the product that reads them, and up to how many it reads the weights as
  /// they stand. Then they are not made.
  Int rows = -1;
  std::int64_t unread_up_to = -1;
};

/// An input that what is left of the graph does not read, or only in calls of few rows. (Several of one input: each is
/// asked.)
struct SparedInput {
  std::uint32_t input = 0;
  Int rows = 0;
  std::int64_t read_up_to = -1;  ///< read where there are at most so many rows; -1: never
};

/// All of a program. Part of its recipe.
struct FoldedParts {
  std::vector<FoldedPart> parts;
  std::vector<std::string> frozen;    ///< names of the inputs that they read
  std::vector<SparedInput> spared;    ///< of the frozen inputs
  std::vector<std::uint32_t> stands;  ///< of the others those that no part reads
  /// of frozen inputs that are not taken for that, since the function writes them
  std::vector<std::string> written;
  /// inputs that are declared frozen where a call has another tensor there (Freeze::Captured)
  std::vector<std::uint32_t> declares;
  std::int64_t packed = 0;  ///< weights that stand in panels
  std::int32_t mode = 0;    ///< kernels::Mode
  bool any() const { return !parts.empty() || !spared.empty() || !stands.empty() || !written.empty(); }
};

/// Cuts a graph behind its passes; it becomes what is left.
FoldedParts fold_frozen(graph::Graph&, const detail::Traced&, kernels::Mode);

}  // namespace reprise::runtime
