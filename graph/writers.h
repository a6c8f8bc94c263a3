#pragma once
#include <vector>

#include "graph/graph.h"
#include "graph/interpreter.h"

/// Note [Operators that write]
/// A registered operator may write its arguments: "my::append(Tensor(a!) cache, Tensor row, SymInt at) -> ()". Its
/// kernel gets them among its tensors and changes them where they stand; what else it reads is as it was before the
/// call. It may return written arguments
/// ("-> (Tensor(a!), Tensor)": the caller gets that very tensor back), and its shape rule and its kernel give the other
/// results alone, which are new memory.
///
/// A trace records the call as it is made. passes/functionalize puts the functional twin in its place,
/// "my::append.functional(Tensor cache, Tensor row, SymInt at) -> Tensor", which is registered along with it: its
/// results are the new values of the written arguments, then the others. kernels/plan computes it with the same kernel,
/// on copies of the arguments, or on their own memory where it can prove that nobody needs what was there.
///
/// Note [Written views]
/// A twin's written argument may be a view, "my::append.functional(%2.slice(0, 4, 8, 1).select(1, 0), %3, 2) : <type of
/// %2>": the kernel writes the part, and the result is the new value of its base, %2. Views of one base have one
/// result. Such a view is made of the base as it stands row by row, in the order of its sizes, whatever strides its
/// value has; where a base stands otherwise, placement asks whether the view is possible there. Bases that are
/// different values stay so in every pass (Rewriter): each is memory that is written.
namespace reprise::graph {

/// f(ValueId) for the values that a node of an operator that writes, in a traced graph, has for the written arguments.
template <class F>
void for_each_written(const OpDef& o, const std::vector<NodeArg>& args, F&& f) {
  for (std::uint32_t i : o.writes) for_each_value(args[i], f);
}
/// What the first results of a functional twin's node are new values of, by result: a written tensor each, of views
/// each base once.
std::vector<ValueId> written_bases(const OpDef& twin, const std::vector<NodeArg>&);
/// How many results such a node has.
std::size_t twin_results(const OpDef& twin, const std::vector<NodeArg>&);
/// The layouts that the steps of a view make, one after another, of its base standing row by row. Throws what their
/// rules throw.
std::vector<Layout> layouts_of(const Graph&, const ViewArg&, SourceLoc);

/// f(const Tensor&) for the tensors that a call writes: also of an in-place call.
template <class F>
void for_each_written(const OpCall& c, F&& f) {
  if (c.inplace) return f(**std::get_if<const Tensor*>(&c.args[0]));
  for (std::uint32_t i : c.op.writes) {
    if (auto* t = std::get_if<const Tensor*>(&c.args[i])) f(**t);
    else
      for (const Tensor& t : std::get<TensorArrayRef>(c.args[i])) f(t);
  }
}
/// Does this argument of the operator hold tensors that a call writes?
inline bool is_written(const OpDef& o, std::size_t arg) {
  for (std::uint32_t i : o.writes)
    if (i == arg) return true;
  return false;
}

/// Appends what a call of an operator that writes returns: `made` are the results that are new memory.
void append_returned(const OpCall&, std::vector<Tensor> made, std::vector<Tensor>& results);

/// AliasConflict: two tensors that the call writes share elements.
[[noreturn]] void fail_shared_writes(const OpCall&);

/// Of the schema of an operator that writes. `writes` and `returns` as in OpDef; throws InvalidArgument for what such
/// an operator may not be.
struct Writes {
  std::vector<std::uint32_t> writes;
  std::vector<std::int32_t> returns;
};
Writes writes_of(const Schema&);
/// The schema of its functional twin.
Schema functional_schema(const Schema&, const Writes&);

namespace rules {
/// Of functional twins: what is written as it is, then what the operator's own rule gives.
void functional_twin(RuleCtx&);
}  // namespace rules

}  // namespace reprise::graph
