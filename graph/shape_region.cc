// Operators that run graphs of their own.
#include <utility>

#include "base/errors.h"
#include "graph/graph.h"
#include "graph/region_call.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "graph/while_loop.h"

namespace reprise::graph {

namespace rules {

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

/// Input `i` of a region is given this.
void check_input(const RuleCtx& c, int region, std::size_t i, const TensorMeta& has, const char* what) {
  const char* op = c.op.schema.name.c_str();
  const Graph& g = c.region(region);
  const TensorMeta& wants = g.meta(g.inputs[i].value);
  if (wants.dtype != has.dtype || wants.device != has.device || !same_sizes(wants, has, c.loc, "a region's operand"))
    fail(ErrorCode::ShapeMismatch, op, c.loc, "input ", i, " of region ",
         c.op.schema.args[static_cast<std::size_t>(region)].name, " is ", shown(wants), ", ", what, " is ", shown(has));
}
void check_inputs(const RuleCtx& c, int region, std::size_t there, const char* what) {
  const Graph& g = c.region(region);
  if (g.inputs.size() != there)
    fail(ErrorCode::InvalidArgument, c.op.schema.name.c_str(), c.loc, "region ",
         c.op.schema.args[static_cast<std::size_t>(region)].name, " has ", g.inputs.size(), " inputs, and there are ",
         there, ' ', what);
}
const TensorMeta& defined(const RuleCtx& c, const TensorMeta* m, const char* what, std::size_t i) {
  if (!m) fail(ErrorCode::InvalidArgument, c.op.schema.name.c_str(), c.loc, what, ' ', i, " is undefined");
  return *m;
}

/// Its inputs are the operands, which are that argument.
void check_branch(const RuleCtx& c, int region, int argument = 3) {
  const auto operands = c.tensors(argument);
  check_inputs(c, region, operands.size(), "operands");
  for (std::size_t i = 0; i < operands.size(); ++i)
    check_input(c, region, i, defined(c, operands[i], "operand", i), "the operand");
}

TensorMeta row_major(const TensorMeta& m, Ints sizes) {
  Ints strides = contiguous_strides(sizes);
  return {m.dtype, m.device, {std::move(sizes), std::move(strides), 0}};
}

using Tensors = decltype(std::declval<const RuleCtx&>().tensors(0));

/// The first inputs of a loop's body are what it carries.
void check_carried(const RuleCtx& c, const Tensors& carried) {
  for (std::size_t i = 0; i < carried.size(); ++i)
    check_input(c, 0, i, defined(c, carried[i], "carried tensor", i), "what is carried");
}
/// And its first results the next state.
void give_carried(RuleCtx& c, const Tensors& carried) {
  const char* op = c.op.schema.name.c_str();
  const Graph& body = c.region(0);
  if (body.outputs.size() < carried.size())
    fail(ErrorCode::InvalidArgument, op, c.loc, "the body gives ", body.outputs.size(), " tensors, of ", carried.size(),
         " that are carried");
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const TensorMeta& m = body.meta(body.outputs[i].value);
    if (m.dtype != carried[i]->dtype || m.device != carried[i]->device ||
        !same_sizes(m, *carried[i], c.loc, "what a loop carries"))
      fail(ErrorCode::ShapeMismatch, op, c.loc, "carried tensor ", i, " is ", shown(*carried[i]),
           ", and the body gives ", shown(m));
    c.results.push_back(row_major(m, m.layout.sizes));
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
  check_branch(c, 1);
  check_branch(c, 2);
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
    c.results.push_back(row_major(a, a.layout.sizes));
  }
}

void scan(RuleCtx& c) {
  const Graph& body = c.region(0);
  const auto carried = c.tensors(1), stacked = c.tensors(2), others = c.tensors(3);
  const Int turns = c.integer(4);
  if (!require(turns >= 0, "scan: turns"))
    fail(ErrorCode::InvalidArgument, "scan", c.loc, "there are ", turns, " turns");
  check_inputs(c, 0, carried.size() + stacked.size() + others.size(), "operands");
  check_carried(c, carried);
  for (std::size_t i = 0; i < stacked.size(); ++i) {
    const TensorMeta& all = defined(c, stacked[i], "stacked tensor", i);
    if (all.dim() == 0 || !same(all.size(0), turns, c.loc, "scan: turns"))
      fail(ErrorCode::ShapeMismatch, "scan", c.loc, "stacked tensor ", i, " is ", shown(all), ", and there are ", turns,
           " turns: one slice along dimension 0 is for each");
    TensorMeta one = all;
    one.layout.sizes.erase(one.layout.sizes.begin()), one.layout.strides.erase(one.layout.strides.begin());
    check_input(c, 0, carried.size() + i, one, "a slice");
  }
  for (std::size_t i = 0; i < others.size(); ++i)
    check_input(c, 0, carried.size() + stacked.size() + i, defined(c, others[i], "operand", i), "the operand");
  give_carried(c, carried);
  for (std::size_t i = carried.size(); i < body.outputs.size(); ++i) {
    const TensorMeta& m = body.meta(body.outputs[i].value);
    Ints sizes = m.layout.sizes;
    sizes.insert(sizes.begin(), turns);
    c.results.push_back(row_major(m, std::move(sizes)));
  }
}

static void while_loop(RuleCtx& c) {
  const auto carried = c.tensors(1), others = c.tensors(2);
  const char* op = c.op.schema.name.c_str();
  const Int turns = c.integer(3);
  if (!require(turns >= 0, "while_loop: turns"))
    fail(ErrorCode::InvalidArgument, op, c.loc, "at most ", turns, " turns");
  check_inputs(c, 0, carried.size() + others.size(), "operands");
  check_carried(c, carried);
  if (carried.empty() || carried[0]->dtype != DType::Bool || carried[0]->dim() != 0)
    fail(ErrorCode::InvalidArgument, op, c.loc, "the first carried tensor is no bool without dimensions");
  for (std::size_t i = 0; i < others.size(); ++i)
    check_input(c, 0, carried.size() + i, defined(c, others[i], "operand", i), "the operand");
  if (const std::size_t given = c.region(0).outputs.size(); given != carried.size())
    fail(ErrorCode::InvalidArgument, op, c.loc, "the body gives ", given, " tensors, and ", carried.size(),
         " are carried");
  give_carried(c, carried);
}

static void region(RuleCtx& c) {
  check_branch(c, 0, 1);
  const Graph& body = c.region(0);
  for (const OutputSpec& o : body.outputs) {
    const TensorMeta& m = body.meta(o.value);
    c.results.push_back(row_major(m, m.layout.sizes));
  }
}

}  // namespace rules

OpId region_op() {
  static const OpId id = register_op({.schema = "reprise::region(Region body, Tensor[] operands, str name) -> Tensor[]",
                                      .cls = OpClass::Control,
                                      .shape = rules::region,
                                      .moves = true});
  return id;
}

bool calls_region(const Node& n) { return op(n.op).cls == OpClass::Control && n.op == region_op(); }

OpId while_loop_op() {
  static const OpId id = register_op(
      {.schema = "reprise::while_loop(Region body, Tensor[] carried, Tensor[] others, SymInt turns) -> Tensor[]",
       .cls = OpClass::Control,
       .shape = rules::while_loop,
       .moves = true,
       .effects = {.may_fail = true}});
  return id;
}

bool decides_turns(const Node& n) { return turns_of(n) && op(n.op).schema.find("stacked") < 0; }

void fail_unending(std::int64_t turns, SourceLoc loc) {
  fail(ErrorCode::InvalidArgument, "while_loop", loc, "the condition still holds behind ", turns,
       turns == 1 ? " turn" : " turns", ", and max_steps allows no more");
}

}  // namespace reprise::graph
