// Products, reductions, norms, attention and lookups of Sharded tensors.
#include <algorithm>

#include "graph/op.h"
#include "operators/mesh.h"
#include "operators/sharded_rules.h"
#include "reprise/ops.h"

namespace reprise::operators {

namespace {

// Labels of products: rows, columns, the dimension that is summed over; batches count from 3.
constexpr int kRow = 0, kColumn = 1, kInner = 2, kBatch = 3;

/// The batch dimensions of an operand of a product, aligned at the right: label kBatch for the last of them.
Labels batches(const Tensor& t, const Ints& result, int of_result) {
  Labels l;
  const int own = t.dim() - 2;
  for (int d = 0; d < own; ++d) {
    const int from_last = own - 1 - d;
    const Int& whole = result[static_cast<std::size_t>(of_result - 1 - from_last)];
    l.push_back(t.size(d).hint() == 1 && whole.hint() != 1 ? kNoLabel : kBatch + from_last);
  }
  return l;
}

ShardingRule product_rule(const Tensor& a, const Tensor& b, const Ints& result) {
  ShardingRule rule;
  rule.partials = Partials::Bilinear;
  rule.contracted = {{kInner, ReduceOp::Sum}};
  const bool row = a.dim() > 1, column = b.dim() > 1;
  const int batch = static_cast<int>(result.size()) - (row ? 1 : 0) - (column ? 1 : 0);
  Labels x = row ? batches(a, result, batch) : Labels{}, w = column ? batches(b, result, batch) : Labels{};
  if (row) x.push_back(kRow);
  x.push_back(kInner), w.push_back(kInner);
  if (column) w.push_back(kColumn);
  for (int d = 0; d < batch; ++d) rule.result.push_back(kBatch + batch - 1 - d);
  if (row) rule.result.push_back(kRow);
  if (column) rule.result.push_back(kColumn);
  rule.operands = {x, w};
  return rule;
}

/// x [..., inner], weight [columns, inner], bias [columns].
void answer_linear(WrapperCall& c) {
  const Tensor &x = c.tensor(0), &w = c.tensor(1);
  ShardingRule rule;
  rule.partials = Partials::Bilinear, rule.contracted = {{kInner, ReduceOp::Sum}};
  Labels in;
  for (int d = 0; d + 1 < x.dim(); ++d) in.push_back(kBatch + d);
  rule.result = in, rule.result.push_back(kColumn);
  in.push_back(kInner);
  rule.operands = {in, {kColumn, kInner}};
  if (!c.tensor(2).defined()) return answer(c, rule);
  // A bias is added once, to the sum of all parts.
  const std::vector<Tensor> factors{x, w};
  const DeviceMesh mesh = mesh_of_call(c, tensors_of(c));
  ShardingRule with_bias = rule;
  with_bias.operands.push_back({kColumn});
  with_bias.partials = Partials::None;
  const auto is_summed = [&](const ShardingRule& r, const std::vector<Tensor>& of) {
    const Placements made = plan(r, of, mesh, false).result;
    return std::any_of(made.begin(), made.end(), [](const Placement& q) { return q.is_partial(); });
  };
  if (is_summed(rule, factors) || is_summed(with_bias, tensors_of(c)))
    return c.answer(add(linear(x, w, {}, c.loc()), c.tensor(2), 1, c.loc()));
  answer(c, with_bias);
}

}  // namespace

bool answer_product(WrapperCall& c) {
  const std::string_view op = c.op();
  if (op == "mm" || op == "bmm" || op == "matmul") {
    answer(c, product_rule(c.tensor(0), c.tensor(1), c.expected().sizes));
  } else if (op == "linear") {
    answer_linear(c);
  } else if (op == "addmm" && !c.inplace()) {
    const Tensor product = mm(c.tensor(1), c.tensor(2), c.loc());
    c.answer(add(mul(c.tensor(0), c.number(3), c.loc()), mul(product, c.number(4), c.loc()), 1, c.loc()));
  } else {
    return false;
  }
  return true;
}

namespace {

/// Reductions: dims are argument 1; none: all. What is left of x, or nothing where x is not sharded.
void answer_reduction(WrapperCall& c, std::size_t keepdim, std::optional<ReduceOp> contraction, Partials partials) {
  const int dims = c.tensor(0).dim();
  std::vector<bool> reduced(static_cast<std::size_t>(dims), true);
  const auto of_list = [&](const Ints& list) {
    if (list.empty()) return;
    std::fill(reduced.begin(), reduced.end(), false);
    for (const Int& d : list) reduced[static_cast<std::size_t>(from_front(d, dims))] = true;
  };
  const bool one = c.op() == "argmax" || c.op() == "argmin";
  if (c.has(1) && dims > 0) of_list(one ? Ints{c.integer(1)} : c.ints(1));
  const bool keep = c.has(keepdim) && c.flag(keepdim);
  ShardingRule rule;
  rule.operands = {in_order(dims)}, rule.partials = partials;
  for (int d = 0; d < dims; ++d) {
    const bool gone = reduced[static_cast<std::size_t>(d)];
    if (gone && contraction) rule.contracted.push_back({d, *contraction});
    else if (gone) rule.whole.push_back(d);
    if (!gone) rule.result.push_back(d);
    else if (keep) rule.result.push_back(kNoLabel);
  }
  answer(c, rule);
}

/// Sizes as they are; some dimensions whole. Further operands are along the last dimensions, and whole.
void answer_rows(WrapperCall& c, const std::vector<int>& whole, Partials partials = Partials::None) {
  const std::vector<Tensor> tensors = tensors_of(c);
  ShardingRule rule;
  rule.operands = {in_order(tensors[0].dim())}, rule.result = rule.operands[0], rule.whole = whole;
  for (std::size_t i = 1; i < tensors.size(); ++i)
    rule.operands.push_back(Labels(static_cast<std::size_t>(tensors[i].dim()), kNoLabel));
  rule.partials = partials;
  answer(c, rule);
}

/// query [b, h, l, e], key and value [b, h, s, e]; a mask of [b, h, l, s] or less.
bool answer_attention(WrapperCall& c) {
  const Tensor &q = c.tensor(0), &k = c.tensor(1), &v = c.tensor(2);
  if (q.dim() != 4 || k.dim() != 4 || v.dim() != 4 || c.number(4).to_double() != 0) return false;
  enum : int { B, H, L, S, E, V };
  ShardingRule rule;
  const auto batch = [&](const Tensor& t, int d, int label) { return t.size(d).hint() == 1 ? kNoLabel : label; };
  rule.operands = {{B, H, L, E}, {batch(k, 0, B), batch(k, 1, H), S, E}, {batch(v, 0, B), batch(v, 1, H), S, V}};
  rule.result = {B, H, L, V}, rule.whole = {S, E, V};
  if (q.size(0).hint() == 1) rule.whole.push_back(B);
  if (q.size(1).hint() == 1) rule.whole.push_back(H);
  if (c.flag(5)) rule.whole.push_back(L);  // causal: a query's place counts
  if (c.tensor(3).defined()) {
    const Tensor& mask = c.tensor(3);
    Labels l;
    const int labels[] = {B, H, L, S}, first = 4 - mask.dim();
    for (int d = 0; d < mask.dim(); ++d) l.push_back(batch(mask, d, labels[first + d]));
    rule.operands.push_back(l);
  }
  answer(c, rule);
  return true;
}

}  // namespace

bool answer_row(WrapperCall& c) {
  const std::string_view op = c.op();
  const auto is = [&](std::initializer_list<std::string_view> ops) {
    return std::find(ops.begin(), ops.end(), op) != ops.end();
  };
  if (c.inplace() || !is_sharded(c.tensor(0))) {
    // What is indexed may be plain, and so may be what is attended.
    if (c.inplace() || !is({"embedding", "scaled_dot_product_attention"})) return false;
  }
  const int dims = c.tensor(0).dim();
  if (op == "sum") answer_reduction(c, 2, ReduceOp::Sum, Partials::Linear);
  else if (op == "mean") answer_reduction(c, 2, ReduceOp::Mean, Partials::Linear);
  else if (op == "amax" || op == "any") answer_reduction(c, 2, ReduceOp::Max, Partials::None);
  else if (op == "amin" || op == "all") answer_reduction(c, 2, ReduceOp::Min, Partials::None);
  else if (is({"prod", "nansum", "logsumexp", "argmax", "argmin"}))
    answer_reduction(c, 2, std::nullopt, Partials::None);
  else if (is({"var", "std"})) answer_reduction(c, 3, std::nullopt, Partials::None);
  else if (is({"softmax", "log_softmax"})) answer_rows(c, {from_front(c.integer(1), dims)});
  else if (op == "cumsum") answer_rows(c, {from_front(c.integer(1), dims)}, Partials::Linear);
  else if (is({"layer_norm", "rms_norm"})) {
    std::vector<int> whole;
    for (std::size_t i = 0; i < c.ints(1).size(); ++i) whole.push_back(dims - 1 - static_cast<int>(i));
    answer_rows(c, whole);
  } else if (op == "embedding") {
    const int rows = 0, columns = 1, places = 2;  // weight [rows, columns]
    ShardingRule rule;
    Labels l;
    for (int d = 0; d < c.tensor(1).dim(); ++d) l.push_back(places + d);
    rule.operands = {{rows, columns}, l}, rule.whole = {rows};
    l.push_back(columns);
    rule.result = l;
    answer(c, rule);
  } else if (op == "scaled_dot_product_attention") {
    return answer_attention(c);
  } else {
    return false;
  }
  return true;
}

}  // namespace reprise::operators
