// Pointwise operators, joins and views of Sharded tensors.
#include <algorithm>

#include "operators/mesh.h"
#include "operators/sharded_rules.h"
#include "reprise/ops.h"

namespace reprise::operators {

namespace {

/// Labels 0 to dims - 1 from the left; what is broadcast has none.
Labels right_aligned(const Tensor& t, const Ints& result) {
  Labels l;
  const int dims = static_cast<int>(result.size()), first = dims - t.dim();
  for (int d = 0; d < t.dim(); ++d) {
    const bool spread = t.size(d).hint() == 1 && result[static_cast<std::size_t>(first + d)].hint() != 1;
    l.push_back(spread ? kNoLabel : first + d);
  }
  return l;
}

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> ops) {
  return std::find(ops.begin(), ops.end(), op) != ops.end();
}

Partials partials_of(WrapperCall& c, ShardingRule& rule) {
  const std::string_view op = c.op();
  if (is_one_of(op, {"clone"})) return Partials::Moved;
  if (op == "neg") return Partials::Linear;
  if (op == "to")
    return is_floating(c.expected().dtype) && is_floating(c.tensor(0).dtype()) ? Partials::Linear : Partials::None;
  if (is_one_of(op, {"add", "sub"})) return c.is_tensor(0) && c.is_tensor(1) ? Partials::Added : Partials::None;
  if (op == "mul") return Partials::Bilinear;
  if (op == "div" && c.is_tensor(0) && !c.has(2)) {
    rule.partial_operands = 1;
    return Partials::Bilinear;
  }
  return Partials::None;
}

}  // namespace

bool answer_pointwise(WrapperCall& c) {
  const bool cat = c.op() == "cat";
  if (!c.is_pointwise() && !cat) return false;
  ShardingRule rule;
  const Ints sizes = c.expected().sizes;
  const std::vector<Tensor> tensors = tensors_of(c);
  for (const Tensor& t : tensors) {
    if (cat && t.dim() != static_cast<int>(sizes.size())) return false;  // empty ones of one dimension
    rule.operands.push_back(cat ? in_order(t.dim()) : right_aligned(t, sizes));
  }
  rule.result = in_order(static_cast<int>(sizes.size()));
  if (cat) rule.whole = {from_front(c.integer(1), static_cast<int>(sizes.size()))}, rule.partials = Partials::Added;
  else rule.partials = partials_of(c, rule);
  answer(c, rule);
  return true;
}

namespace {

/// Which dimensions of `from` become which of `to`, in groups of equal products, from the left. A group keeps the
/// shards of its first dimension, where its first result is cut the same way.
ShardingRule rule_of_view(const Ints& from, const Ints& to, const Placements& p, const MeshShape& mesh) {
  ShardingRule rule;
  rule.operands = {Labels(from.size(), kNoLabel)}, rule.result = Labels(to.size(), kNoLabel);
  rule.partials = Partials::Moved;
  std::size_t i = 0, j = 0;
  for (int label = 0; i < from.size() && j < to.size(); ++label) {
    const std::size_t i0 = i, j0 = j;
    std::int64_t a = from[i++].hint(), b = to[j++].hint();
    while (a != b) {
      if (a < b && i < from.size()) a *= from[i++].hint();
      else if (b < a && j < to.size()) b *= to[j++].hint();
      else return rule;  // no elements: nothing is known to stay
    }
    // Sizes of 1 in front cut nothing.
    std::size_t first_in = i0, first_out = j0;
    while (first_in + 1 < i && from[first_in].hint() == 1) ++first_in;
    while (first_out + 1 < j && to[first_out].hint() == 1) ++first_out;
    std::int64_t parts = 1;
    for (int axis = 0; axis < mesh.axes(); ++axis)
      if (p[static_cast<std::size_t>(axis)].is_shard(static_cast<int>(first_in))) parts *= mesh.size(axis);
    if (to[first_out].hint() % parts != 0) continue;
    rule.operands[0][first_in] = label, rule.result[first_out] = label;
  }
  return rule;
}

void answer_resized(WrapperCall& c, const ShardingRule& rule, bool expands) {
  const Ints sizes = c.expected().sizes;
  const MeshShape mesh = mesh_shape_of(Sharded::from(c.tensor(0)).mesh_text);
  answer(c, rule, [&](const std::vector<Tensor>& parts, const Placements& result) -> std::vector<Tensor> {
    const Ints part = part_sizes(sizes, result, mesh);
    return {expands ? expand(parts[0], part, c.loc()) : reshape(parts[0], part, c.loc())};
  });
}

}  // namespace

bool answer_view(WrapperCall& c) {
  if (!c.is_view() || !is_sharded(c.tensor(0))) return false;
  const std::string_view op = c.op();
  const Tensor& x = c.tensor(0);
  const int dims = x.dim();
  ShardingRule rule;
  rule.operands = {in_order(dims)}, rule.result = in_order(dims), rule.partials = Partials::Moved;
  if (op == "view") {
    const Sharded& s = Sharded::from(x);
    answer_resized(c, rule_of_view(x.sizes(), c.expected().sizes, s.placements(), mesh_shape_of(s.mesh_text)), false);
  } else if (op == "squeeze" || op == "unsqueeze") {
    // The dimensions that are there before and after, in order.
    Labels more = in_order(dims);
    const Ints now = x.sizes(), then = c.expected().sizes;
    if (op == "unsqueeze") {
      const int at = from_front(c.integer(1), dims + 1);
      more.insert(more.begin() + at, kNoLabel);
    } else {
      std::vector<bool> gone(static_cast<std::size_t>(dims), false);
      if (c.has(1)) {
        for (const Int& d : c.ints(1)) gone[static_cast<std::size_t>(from_front(d, dims))] = true;
      } else {
        gone.assign(static_cast<std::size_t>(dims), true);
      }
      more.clear();
      for (int d = 0; d < dims; ++d)
        if (!gone[static_cast<std::size_t>(d)] || now[static_cast<std::size_t>(d)].hint() != 1) more.push_back(d);
    }
    rule.result = more;
    answer_resized(c, rule, false);
  } else if (op == "permute") {
    const Ints order = c.ints(1);
    for (std::size_t d = 0; d < order.size(); ++d) rule.result[d] = from_front(order[d], dims);
    answer(c, rule);
  } else if (op == "select") {
    const int at = from_front(c.integer(1), dims);
    rule.whole = {at}, rule.result.erase(rule.result.begin() + at);
    answer(c, rule);
  } else if (op == "slice") {
    rule.whole = {from_front(c.integer(1), dims)};
    answer(c, rule);
  } else if (op == "expand") {
    const Ints sizes = c.expected().sizes;
    const int more = static_cast<int>(sizes.size()) - dims;
    rule.operands = {right_aligned(x, sizes)}, rule.result = in_order(dims + more);
    answer_resized(c, rule, true);
  } else {
    return false;
  }
  return true;
}

}  // namespace reprise::operators
