#pragma once
#include <optional>

#include "graph/op_column.h"
#include "graph/shape_rules.h"

namespace reprise::graph {

/// One view being made: the rule's arguments with checked access, and its operand's layout, whose strides may be
/// anything.
struct ViewCtx {
  RuleCtx c;
  const Layout& in;
  const Strides wanted;
  const char* name() const { return c.op.schema.name.c_str(); }
  int wrap(std::int64_t d, int rank) const { return wrap_dim(d, rank, name(), c.loc); }
  Bool eq(Int a, Int b) const { return detail::compare_eq(a, b, c.loc); }
  Bool lt(Int a, Int b) const { return detail::compare_lt(a, b, c.loc); }
  Bool le(Int a, Int b) const { return detail::compare_le(a, b, c.loc); }
};

/// What a view's layout is made of.
enum class ViewOf : std::uint8_t {
  Operand,     ///< its operand's layout, whatever the strides: linear in strides and offset
  JoinedDims,  ///< its operand's elements in their order, with other sizes: some strides do not allow it (view)
  /// its arguments alone: sizes, strides and offset, arguments 1 to 3, name places from the start of the storage
  /// (as_strided)
  Storage,
  Source,  ///< argument 1's, which it takes with the storage (set)
};

/// How a value that is written through a view becomes a value of what the view is of (passes/functionalize.h).
enum class PutBack : std::uint8_t {
  Nowhere,  ///< not told: functions that write through it run eagerly
  Same,     ///< it is that value
  Reshape,  ///< the same elements in the same order
  Repeats,  ///< the same, where no element is seen twice; its places in the storage otherwise (expand)
  Permute,  ///< argument 1 lists the operand's dimensions
  Scatter,  ///< `scatter` puts it in the place of a part
  Places,   ///< by the places of its elements in the storage; its elements may share one
};

struct ViewFacts {
  /// null: ViewOf::Source. May ask (shape_rules.h) of sizes, which are known when it is asked again
  Layout (*layout)(const ViewCtx&) = nullptr;
  PutBack back = PutBack::Nowhere;
  ViewOf of = ViewOf::Operand;
  std::optional<OpId> scatter = {};  ///< (self, src, the view's other arguments) -> a new self
};

/// "rule for layouts": every view has one. A registered view's shape rule is rules::view_rule.
OpColumn<ViewFacts>& view_facts();
/// Throws InvalidArgument for what is no view, or was told none.
inline const ViewFacts& view_facts_of(OpId view) { return view_facts().at(view); }

/// Is it a view of tensors of some strides alone, and an error for others?
inline bool depends_on_strides(OpId view) { return view == OpId::view; }

/// Does it name places in a storage: a view of one, or its scatter?
bool is_view_of_storage(OpId);
bool is_scatter_in_storage(OpId);
inline bool names_places(OpId op) { return is_view_of_storage(op) || is_scatter_in_storage(op); }

}  // namespace reprise::graph
