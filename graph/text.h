#pragma once
#include <optional>
#include <set>
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

/// What the operator's shape rule gives for a node in a graph of this form: what names places in a traced graph may
/// name any of its operand's storage.
std::vector<TensorMeta> result_metas(const Graph&, const OpDef&, const std::vector<NodeArg>& args, SourceLoc);

/// The symbols that a graph speaks of, or its signature alone. `floats`: those of which it is known that they are the
/// bits of one.
struct UsedSymbols {
  std::set<std::uint32_t> all, floats;
};
UsedSymbols symbols_of(const Graph&);
UsedSymbols symbols_of_signature(const Graph&);
inline constexpr InputSpec::Kind kInputKinds[] = {InputSpec::Kind::User, InputSpec::Kind::Parameter,
                                                  InputSpec::Kind::Buffer, InputSpec::Kind::Saved,
                                                  InputSpec::Kind::Tangent};
/// "user", "parameter", "buffer", "saved", "tangent"
std::string_view input_kind_name(InputSpec::Kind);
/// What an input is of which the text says nothing: a captured one a parameter, others a user's.
inline InputSpec::Kind implied_kind(const InputSpec& in) {
  return in.captured ? InputSpec::Kind::Parameter : InputSpec::Kind::User;
}
inline constexpr OutputSpec::Role kRoles[] = {OutputSpec::Role::Result, OutputSpec::Role::CustomView,
                                              OutputSpec::Role::Loss, OutputSpec::Role::Gradient,
                                              OutputSpec::Role::Saved};
/// "result", "custom_view", "loss", "gradient", "saved"
std::string_view role_name(OutputSpec::Role);
/// "size", "integer", "float", "seed", "offset"
std::string_view number_kind_name(NumberInput::Kind);

/// Reads what the grammar allows and does not ask whether the shape rules agree: for texts without the hints that they
/// need (printed without locations). The rest of what `parse` promises holds: an error is InvalidArgument with line and
/// column.
Graph parse_unverified(std::string_view text);

}  // namespace reprise::graph
