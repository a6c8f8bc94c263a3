// Operators that run graphs of their own.
#include "base/errors.h"
#include "graph/graph.h"
#include "graph/shape_rules.h"

namespace reprise::graph::rules {

namespace {

bool same_sizes(const TensorMeta& a, const TensorMeta& b, SourceLoc loc, const char* why) {
  bool equal = a.dim() == b.dim();
  for (int d = 0; equal && d < a.dim(); ++d) equal = same(a.size(d), b.size(d), loc, why);
  return equal;
}

std::string shown(const TensorMeta& m) {
  return std::string(dtype_name(m.dtype)) + " " + sizes_text(m.layout.sizes) +
         (m.device == Device::cpu() ? "" : " on " + m.device.str());
}

/// Its inputs are the operands.
void check_inputs(const RuleCtx& c, int region) {
  const Graph& g = c.region(region);
  const std::string& name = c.op.schema.args[static_cast<std::size_t>(region)].name;
  const auto operands = c.tensors(3);
  if (g.inputs.size() != operands.size())
    fail(ErrorCode::InvalidArgument, "cond", c.loc, "region ", name, " has ", g.inputs.size(),
         " inputs, and there are ", operands.size(), " operands");
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i]) fail(ErrorCode::InvalidArgument, "cond", c.loc, "operand ", i, " is undefined");
    const TensorMeta &wants = g.meta(g.inputs[i].value), &has = *operands[i];
    if (wants.dtype != has.dtype || wants.device != has.device || !same_sizes(wants, has, c.loc, "cond: an operand"))
      fail(ErrorCode::ShapeMismatch, "cond", c.loc, "input ", i, " of region ", name, " is ", shown(wants),
           ", the operand is ", shown(has));
  }
}

}  // namespace

void cond(RuleCtx& c) {
  const TensorMeta& pred = c.tensor(0);
  if (pred.dtype != DType::Bool)
    fail(ErrorCode::DTypeMismatch, "cond", c.loc, "what decides must be a bool, not ", dtype_name(pred.dtype),
         ": compare it with something");
  const Int n = numel(pred.layout.sizes);
  if (!require(detail::compare_eq(n, 1, c.loc), "cond: one element decides"))
    fail(ErrorCode::ShapeMismatch, "cond", c.loc, "one element must decide, and this has ", n, ": use any() or all()");
  check_inputs(c, 1);
  check_inputs(c, 2);
  const Graph &then = c.region(1), &otherwise = c.region(2);
  if (then.outputs.size() != otherwise.outputs.size())
    fail(ErrorCode::InvalidArgument, "cond", c.loc, "one branch gives ", then.outputs.size(),
         " tensors, the other one ", otherwise.outputs.size());
  for (std::size_t i = 0; i < then.outputs.size(); ++i) {
    const TensorMeta &a = then.meta(then.outputs[i].value), &b = otherwise.meta(otherwise.outputs[i].value);
    if (a.dtype != b.dtype)
      fail(ErrorCode::DTypeMismatch, "cond", c.loc, "tensor ", i, " is ", shown(a), " of the one branch and ", shown(b),
           " of the other");
    if (a.device != b.device || !same_sizes(a, b, c.loc, "cond: what the branches give"))
      fail(ErrorCode::ShapeMismatch, "cond", c.loc, "tensor ", i, " is ", shown(a), " of the one branch and ", shown(b),
           " of the other");
    c.results.push_back({a.dtype, a.device, {a.layout.sizes, contiguous_strides(a.layout.sizes), 0}});
  }
}

}  // namespace reprise::graph::rules
