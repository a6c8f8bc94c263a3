#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/compile.h"
#include "reprise/source_location.h"
#include "reprise/visible.h"

/// A partitioner of the program's own (CompileOptions::partition, JointFunction::partition): it is shown the joint
/// graph of a function with its derivative, and chooses what the forward keeps. docs/autograd.md, "What is kept".
namespace reprise REPRISE_VISIBLE {

namespace graph {
class Graph;
}

/// A value that the backward reads, or might compute others of. Arguments and captured tensors are none: they are
/// there. Views are none: they are made again.
struct JointValue {
  std::string name;        ///< "%12", as in the text
  std::string_view op;     ///< what makes it: "matmul"
  SourceLoc loc;           ///< of that call
  std::int32_t sequence;   ///< its number in the trace, the same for all parts of a composite; -1: none
  std::int64_t bytes;      ///< at the traced sizes
  bool is_read;            ///< by the derivative itself; others only where something is computed again
  bool is_result;          ///< of the function: keeping it costs nothing
  bool can_be_recomputed;  ///< false: it draws numbers without a seed, has an effect, or is a branch
  bool in_forward;         ///< the function computes it in any case; false: for its derivative alone
  /// True: where the backward needs it, it is saved; false: it is computed again, of what is saved. At first what
  /// CompileOptions::keeps and the rules of checkpoints say.
  bool save;
};

/// What a partitioner is asked. It lives for the request only.
struct JointRequest {
  std::string_view name;  ///< of the function
  /// Functional and in normal form, with a `tangent` for each differentiable result and a `gradient` for each input
  /// that wants one. Its header, graph/graph.h, comes with the CMake target reprise::extend.
  const graph::Graph& graph;
  std::string text;                ///< the same, as docs/graph_text.md says
  std::vector<JointValue> values;  ///< in the order of the program; `save` is what may be changed
};

/// PartitionFunction changes `save`. Asked at each compilation of a call that wants gradients, on its thread. A value
/// that cannot be recomputed, is not saved and is needed: InvalidArgument from the call, which names its operator and
/// line. What the partitioner throws comes out of the call, too. Nothing has changed then.

}  // namespace REPRISE_VISIBLE
