#pragma once
#include <vector>

#include "graph/op_column.h"
#include "graph/register_op.h"
#include "graph/writers.h"

/// Note [Named functional forms]
/// An operator that writes may name one that computes what it writes: my::rms_norm_out(Tensor(a!) out, Tensor x, Tensor
/// w) is out.copy_(my::rms_norm(x, w)). In compiled functions the named one stands for it: it fuses if its class does,
/// patterns find it in either spelling, and its result is written through views as those of in-place operators are. The
/// operator's own kernel runs where there is nothing around it (eager calls), and where the named one is computed by a
/// kernel of its own, beside what it writes: then the derived twin takes its place again when places are asked
/// (passes/reinplace.cc).
namespace reprise::graph {

struct FunctionalForm {
  OpId op{};
  std::vector<std::uint32_t> args;  ///< by argument of `op`: the argument of the operator that writes
};
/// "functional form", of operators that write; derived twins stand for those that name none.
OpColumn<FunctionalForm>& functional_forms();

/// What `text`, an operator's name or all of its schema, is to an operator that writes. Throws InvalidArgument where it
/// is no functional form of it: it is not registered, or with another schema; arguments of other names or types, some
/// left out; another number of results; other effects.
FunctionalForm functional_form(const Schema& writer, const Writes&, Effects, std::string_view text);

}  // namespace reprise::graph
