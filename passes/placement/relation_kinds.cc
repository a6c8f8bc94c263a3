// Relations of the kinds of operators that are no views.
#include <algorithm>
#include <numeric>

#include "passes/placement/relation.h"

namespace reprise::passes::placement {

using graph::OpId;

namespace relations {

std::vector<int> broadcast_labels(const Sizes& of, const Sizes& to, int base) {
  std::vector<int> labels(of.size(), kNoLabel);
  const std::size_t lead = to.size() - std::min(to.size(), of.size());
  for (std::size_t d = 0; d < of.size() && lead + d < to.size(); ++d)
    if (of[d] == to[lead + d]) labels[d] = static_cast<int>(lead + d) + base;
  return labels;
}

std::vector<int> counted(std::size_t n, int from) {
  std::vector<int> labels(n);
  std::iota(labels.begin(), labels.end(), from);
  return labels;
}

namespace {

/// What a product of these operands with addends is linear in: each factor with all addends.
void add_factors(RelationCtx& c, std::initializer_list<int> factors, const std::vector<int>& addends) {
  for (const int f : factors) {
    if (c.meta(f).dtype != c.result_meta().dtype) continue;  // parts of another dtype wrap or round elsewhere
    std::vector<int> partial = addends;
    partial.push_back(f);
    c.add_partial(partial, ReduceOp::Sum);
  }
}

}  // namespace

void pointwise(RelationCtx& c) {
  Labels l;
  const Sizes& to = c.result_sizes();
  for (std::size_t i = 0; i < c.operands(); ++i)
    l.operands.push_back(broadcast_labels(c.sizes(static_cast<int>(i)), to));
  l.results.assign(c.results(), counted(to.size()));
  for (std::size_t i = 1; i < c.results(); ++i)
    if (c.result_sizes(static_cast<int>(i)) != to) return;
  add_labelled(c, l);
}

void reduction(RelationCtx& c) {
  const int rank = c.rank(0);
  const std::vector<int> reduced = c.dims(rank);
  const bool keeps = c.flag(c.arg("keepdim"));
  const RelationFacts& facts = relation_facts().at(c.n.op);
  int at = 0;
  for (int d = 0; d < rank; ++d) {
    const bool gone = std::find(reduced.begin(), reduced.end(), d) != reduced.end();
    Way w = c.replicated();
    w.operands[0] = Shard(d);
    if (!gone) {
      for (Placement& p : w.results) p = Shard(at);
      c.add(std::move(w));
    } else if (facts.joins && c.results() == 1) {
      w.results[0] = Partial(*facts.joins);
      c.add(std::move(w));
    }
    at += !gone || keeps;
  }
  // The same reduction once more over the ranks may be done before or after.
  if (facts.joins && (*facts.joins == ReduceOp::Max || *facts.joins == ReduceOp::Min) &&
      c.meta(0).dtype == c.result_meta().dtype)
    c.add_partial({0}, *facts.joins);
}

void rows(RelationCtx& c) {
  const int rank = c.rank(0);
  Labels l;
  l.operands.assign(c.operands(), {});
  l.operands[0] = counted(static_cast<std::size_t>(rank));
  l.results.assign(c.results(), l.operands[0]);
  const graph::NodeArg& dim = c.n.args[static_cast<std::size_t>(c.arg("dim"))];
  const Int* one = std::get_if<Int>(&dim);
  if (!one || rank == 0) return;
  l.whole.push_back(wrap_dim(one->hint(), rank, c.op.schema.name.c_str(), c.n.info.loc));
  add_labelled(c, l);
}

void last_dims(RelationCtx& c) {
  const auto& shape = std::get<Ints>(c.n.args[static_cast<std::size_t>(c.arg("normalized_shape"))]);
  const int rank = c.rank(0);
  Labels l;
  l.operands.assign(c.operands(), {});
  l.operands[0] = counted(static_cast<std::size_t>(rank));
  l.results.assign(c.results(), l.operands[0]);
  for (int d = std::max(0, rank - static_cast<int>(shape.size())); d < rank; ++d) l.whole.push_back(d);
  add_labelled(c, l);
}

void mm(RelationCtx& c) {
  add_labelled(c, {.operands = {{0, 2}, {2, 1}}, .results = {{0, 1}}});
  add_factors(c, {0, 1}, {});
}

void bmm(RelationCtx& c) {
  add_labelled(c, {.operands = {{0, 1, 3}, {0, 3, 2}}, .results = {{0, 1, 2}}});
  add_factors(c, {0, 1}, {});
}

void linear(RelationCtx& c) {
  const std::size_t rank = c.sizes(0).size();
  if (rank == 0 || c.rank(1) != 2) return;
  const int n = static_cast<int>(rank) - 1, k = static_cast<int>(rank);
  std::vector<int> in = counted(rank - 1), out = in;
  in.push_back(k), out.push_back(n);
  Labels l{.operands = {in, {n, k}}, .results = {out}};
  if (const int bias = c.operand(2); bias >= 0) l.operands.push_back({n}), l.addends.push_back(bias);
  add_labelled(c, l);
  add_factors(c, {0, 1}, l.addends);
}

void matmul(RelationCtx& c) {
  const Sizes &a = c.sizes(0), &b = c.sizes(1), &out = c.result_sizes();
  if (a.empty() || b.empty()) return;
  // Results are [batch..., m, n]; a vector lacks its m or n.
  const int m = 100, n = 101, k = 102;
  const std::size_t of_matrix = (a.size() > 1) + (b.size() > 1);
  const Sizes batch(out.begin(), out.end() - static_cast<std::ptrdiff_t>(std::min(of_matrix, out.size())));
  const auto batch_of = [&](const Sizes& s) {
    return broadcast_labels(Sizes(s.begin(), s.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, s.size()))),
                            batch);
  };
  Labels l{.operands = {batch_of(a), batch_of(b)}, .results = {counted(batch.size())}};
  if (a.size() > 1) l.operands[0].push_back(m), l.results[0].push_back(m);
  l.operands[0].push_back(k);
  l.operands[1].push_back(k);
  if (b.size() > 1) l.operands[1].push_back(n), l.results[0].push_back(n);
  add_labelled(c, l);
  add_factors(c, {0, 1}, {});
}

void addmm(RelationCtx& c) {
  const std::vector<int> added = broadcast_labels(c.sizes(0), c.result_sizes());
  add_labelled(c, {.operands = {added, {0, 2}, {2, 1}}, .results = {{0, 1}}, .addends = {0}});
  add_factors(c, {1, 2}, {0});
}

void attention(RelationCtx& c) {
  const int rank = c.rank(0);
  const int dropout = c.arg("dropout_p");
  const Scalar* p = dropout >= 0 ? std::get_if<Scalar>(&c.n.args[static_cast<std::size_t>(dropout)]) : nullptr;
  if (rank < 2 || c.rank(1) != rank || c.rank(2) != rank || (p && p->to_double() != 0)) {
    c.known() = false;
    return;
  }
  const int length = rank - 2, keys = 100, width = 101, out = 102;
  const Sizes& q = c.sizes(0);
  Labels l;
  l.results = {counted(static_cast<std::size_t>(rank) - 1)};
  l.results[0].push_back(out);
  std::vector<int> batch = counted(static_cast<std::size_t>(rank) - 2);
  for (int i = 0; i < 3; ++i) {
    std::vector<int> labels = batch;
    // Fewer heads of keys (enable_gqa) serve equal groups of neighbouring heads of queries: equal parts of both fit.
    for (int d = 0; d < rank - 2; ++d)
      if (const std::int64_t s = c.sizes(i)[static_cast<std::size_t>(d)];
          s != q[static_cast<std::size_t>(d)] && !(d == rank - 3 && s > 1))
        labels[static_cast<std::size_t>(d)] = kNoLabel, l.whole.push_back(d);
    labels.push_back(i == 0 ? length : keys);
    labels.push_back(i == 2 ? out : width);
    l.operands.push_back(std::move(labels));
  }
  l.whole.push_back(keys), l.whole.push_back(width);
  if (c.flag(c.arg("is_causal"))) l.whole.push_back(length);  // which keys a row sees is told by its number
  if (const int mask = c.operand(c.arg("attn_mask")); mask >= 0) {
    Sizes scores(q.begin(), q.end() - 1);
    scores.push_back(c.sizes(1)[static_cast<std::size_t>(length)]);
    std::vector<int> labels = broadcast_labels(c.sizes(mask), scores);
    for (int& label : labels)
      if (label == rank - 1) label = keys;
    l.operands.push_back(std::move(labels));
  }
  add_labelled(c, l);
  c.add_partial({2}, ReduceOp::Sum);
}

void cat(RelationCtx& c) {
  if (c.operands() == 0) return;
  const int rank = static_cast<int>(c.result_sizes().size());
  Labels l{.operands = {}, .results = {counted(static_cast<std::size_t>(rank))}};
  for (std::size_t i = 0; i < c.operands(); ++i) {
    if (c.rank(static_cast<int>(i)) != rank || c.meta(static_cast<int>(i)).dtype != c.result_meta().dtype) return;
    l.operands.push_back(l.results[0]);
  }
  const Int& dim = std::get<Int>(c.n.args[static_cast<std::size_t>(c.arg("dim"))]);
  l.whole.push_back(wrap_dim(dim.hint(), rank, "cat", c.n.info.loc));
  add_labelled(c, l);
  std::vector<int> all = counted(c.operands());
  for (const ReduceOp r : {ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Max, ReduceOp::Min}) c.add_partial(all, r);
}

void full(RelationCtx& c) { add_labelled(c, {.operands = {}, .results = {counted(c.result_sizes().size())}}); }

}  // namespace relations

namespace {

using Facts = RelationFacts;
constexpr ReduceOp kSum = ReduceOp::Sum, kMean = ReduceOp::Mean, kMax = ReduceOp::Max, kMin = ReduceOp::Min;
constexpr graph::OpColumn<Facts>::Row kRows[] = {
    // What pointwise operators are linear in.
    {OpId::add, {nullptr, Linear::All}},
    {OpId::sub, {nullptr, Linear::All}},
    {OpId::mul, {nullptr, Linear::One}},
    {OpId::div, {nullptr, Linear::First}},
    {OpId::neg, {nullptr, Linear::First}},
    {OpId::to, {nullptr, Linear::First}},
    {OpId::clone, {nullptr, Linear::First}},
    // Reductions.
    {OpId::sum, {relations::reduction, Linear::First, kSum}},
    {OpId::nansum, {relations::reduction, Linear::No, kSum}},
    {OpId::mean, {relations::reduction, Linear::First, kMean}},
    {OpId::amax, {relations::reduction, Linear::No, kMax}},
    {OpId::amin, {relations::reduction, Linear::No, kMin}},
    {OpId::any, {relations::reduction, Linear::No, kMax}},
    {OpId::all, {relations::reduction, Linear::No, kMin}},
    {OpId::prod, {relations::reduction}},
    {OpId::var, {relations::reduction}},
    {OpId::std, {relations::reduction}},
    {OpId::logsumexp, {relations::reduction}},
    {OpId::norm, {relations::reduction}},
    {OpId::argmax, {relations::reduction}},
    {OpId::argmin, {relations::reduction}},
    // What works along a dimension.
    {OpId::softmax, {relations::rows}},
    {OpId::log_softmax, {relations::rows}},
    {OpId::cumsum, {relations::rows, Linear::First}},
    {OpId::topk, {relations::rows}},
    {OpId::sort, {relations::rows}},
    {OpId::layer_norm, {relations::last_dims}},
    {OpId::rms_norm, {relations::last_dims}},
    // Products.
    {OpId::mm, {relations::mm}},
    {OpId::int_mm, {relations::mm}},
    {OpId::bmm, {relations::bmm}},
    {OpId::linear, {relations::linear}},
    {OpId::matmul, {relations::matmul}},
    {OpId::addmm, {relations::addmm}},
    {OpId::scaled_dot_product_attention, {relations::attention}},
    // Computed indices, joins, creation.
    {OpId::embedding, {relations::embedding}},
    {OpId::index_select, {relations::index_select}},
    {OpId::gather, {relations::gather}},
    {OpId::index, {relations::index}},
    {OpId::index_put, {relations::index_put}},
    {OpId::scatter, {relations::scatter}},
    {OpId::scatter_add, {relations::scatter, Linear::No, kSum}},
    {OpId::cat, {relations::cat}},
    {OpId::slice_scatter, {relations::scatter_of_view}},
    {OpId::select_scatter, {relations::scatter_of_view}},
    {OpId::diagonal_scatter, {relations::scatter_of_view}},
    {OpId::full, {relations::full}},
};
constinit graph::OpColumn<Facts> g_facts("dimension relation", kRows);

}  // namespace

graph::OpColumn<Facts>& relation_facts() { return g_facts; }

}  // namespace reprise::passes::placement
