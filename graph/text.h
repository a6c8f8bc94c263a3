#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace reprise::graph {

/// What is wrong with a graph, and where: the number of an input, node, output or metadata mutation.
struct Mistake {
  enum class In : std::uint8_t { Inputs, Nodes, Outputs, MetadataMutations } in = In::Inputs;
  std::size_t index = 0;
  std::string text;  ///< "node 3 (add): ..."
  SourceLoc loc;     ///< the node's
};
/// The first one that `verify` would throw.
std::optional<Mistake> first_mistake(const Graph&);

/// What the operator's shape rule gives for a node in a graph of this form: what names places in a traced graph may name any of its operand's storage.
std::vector<TensorMeta> result_metas(const Graph&, const OpDef&, const std::vector<NodeArg>& args, SourceLoc);

/// Reads what the grammar allows and does not ask whether the shape rules agree: for texts without the hints that they need (printed
/// without locations). The rest of what `parse` promises holds: an error is InvalidArgument with line and column.
Graph parse_unverified(std::string_view text);

}  // namespace reprise::graph
