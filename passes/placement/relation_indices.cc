// Relations of operators with computed indices: dimensions that an index chooses from are whole, others pass through.
#include <algorithm>

#include "passes/placement/relation.h"

namespace reprise::passes::placement::relations {

void embedding(RelationCtx& c) {
  const std::size_t rank = c.sizes(1).size();
  const int width = static_cast<int>(rank);
  std::vector<int> out = counted(rank + 1);
  add_labelled(c, {.operands = {{100, width}, counted(rank)}, .results = {out}, .whole = {100}});
  c.add_partial({0}, ReduceOp::Sum);
}

void index_select(RelationCtx& c) {
  const int rank = c.rank(0);
  if (rank == 0) return;
  const Int& given = std::get<Int>(c.n.args[static_cast<std::size_t>(c.arg("dim"))]);
  const int dim = wrap_dim(given.hint(), rank, "index_select", c.n.info.loc), chosen = 100;
  std::vector<int> self = counted(static_cast<std::size_t>(rank)), out = self, index(c.sizes(1).size(), kNoLabel);
  out[static_cast<std::size_t>(dim)] = chosen;
  if (index.size() == 1) index[0] = chosen;
  add_labelled(c, {.operands = {self, index},
                   .results = {out},
                   .whole = index.empty() ? std::vector<int>{dim, chosen} : std::vector<int>{dim}});
  c.add_partial({0}, ReduceOp::Sum);
}

void gather(RelationCtx& c) {
  const int rank = c.rank(0);
  if (rank == 0 || c.rank(1) != rank) return;
  const Int& given = std::get<Int>(c.n.args[static_cast<std::size_t>(c.arg("dim"))]);
  const int dim = wrap_dim(given.hint(), rank, "gather", c.n.info.loc), chosen = 100;
  std::vector<int> self = counted(static_cast<std::size_t>(rank)), index = self;
  index[static_cast<std::size_t>(dim)] = chosen;
  Labels l{.operands = {self, index}, .results = {index}, .whole = {dim}};
  for (int d = 0; d < rank; ++d)  // an index may reach less far
    if (d != dim && c.sizes(0)[static_cast<std::size_t>(d)] != c.sizes(1)[static_cast<std::size_t>(d)])
      l.whole.push_back(d);
  add_labelled(c, l);
  c.add_partial({0}, ReduceOp::Sum);
}

namespace {

/// Of self[indices]: labels of self, of each index, and of the result.
struct Indexed {
  std::vector<int> self, out;
  std::vector<std::vector<int>> indices;  ///< those that are there
  std::vector<int> chosen;                ///< labels of what the indices run over
};
Indexed indexed(const RelationCtx& c) {
  const auto& list = std::get<std::vector<graph::ValueId>>(c.n.args[1]);
  const int rank = c.rank(0);
  Indexed x;
  Sizes to;
  std::vector<Sizes> sizes;
  int first = -1, last = -1, kept = 0;
  for (std::size_t d = 0; d < list.size(); ++d) {
    if (!list[d]) continue;
    sizes.push_back(hints_of(c.g.meta(list[d]).layout.sizes));
    if (first < 0) first = static_cast<int>(d);
    last = static_cast<int>(d), ++kept;
    const Sizes& s = sizes.back();
    if (s.size() > to.size()) to.insert(to.begin(), s.size() - to.size(), 1);
    for (std::size_t i = 0; i < s.size(); ++i)
      if (std::int64_t& at = to[to.size() - s.size() + i]; at == 1) at = s[i];
  }
  for (std::size_t i = 0; i < to.size(); ++i) x.chosen.push_back(100 + static_cast<int>(i));
  for (const Sizes& s : sizes) x.indices.push_back(broadcast_labels(s, to, 100));
  // Neighbouring indices stand where they were, others come first.
  const int at = kept && last - first + 1 == kept ? first : 0;
  for (int d = 0; d <= rank; ++d) {
    if (static_cast<int>(x.out.size()) == at && !std::count(x.out.begin(), x.out.end(), 100))
      x.out.insert(x.out.end(), x.chosen.begin(), x.chosen.end());
    if (d == rank) break;
    const bool taken = static_cast<std::size_t>(d) < list.size() && list[static_cast<std::size_t>(d)];
    x.self.push_back(taken ? kNoLabel : d);
    if (!taken) x.out.push_back(d);
  }
  return x;
}

}  // namespace

void index(RelationCtx& c) {
  if (c.operands() < 2) return;
  Indexed x = indexed(c);
  if (x.out.size() != c.result_sizes().size()) return;
  Labels l{.operands = {x.self}, .results = {x.out}};
  for (std::vector<int>& i : x.indices) l.operands.push_back(std::move(i));
  add_labelled(c, l);
  c.add_partial({0}, ReduceOp::Sum);
}

void index_put(RelationCtx& c) {
  const int values = c.operand(c.arg("values"));
  if (c.operands() < 3 || values < 0) return;
  const Indexed x = indexed(c);
  const bool adds = c.flag(c.arg("accumulate"));
  std::vector<int> given(c.sizes(values).size(), kNoLabel);
  if (given.size() > x.out.size()) return;
  Sizes to;  // what the values broadcast to
  for (const int label : x.out) {
    std::int64_t size = 1;
    if (label >= 100) {
      for (std::size_t i = 0; i < x.indices.size(); ++i)
        for (std::size_t d = 0; d < x.indices[i].size(); ++d)
          if (x.indices[i][d] == label) size = c.sizes(static_cast<int>(i) + 1)[d];
    } else {
      size = c.sizes(0)[static_cast<std::size_t>(label)];
    }
    to.push_back(size);
  }
  const std::size_t lead = to.size() - given.size();
  for (std::size_t d = 0; d < given.size(); ++d)
    if (c.sizes(values)[d] == to[lead + d]) given[d] = x.out[lead + d];
  std::vector<int> result(x.self.size(), kNoLabel);
  for (std::size_t d = 0; d < x.self.size(); ++d) result[d] = x.self[d];
  // Parts of what is added give parts of the sum.
  Labels l{.operands = {x.self}, .results = {result}, .addends = {0}, .sums = adds};
  for (const std::vector<int>& i : x.indices) l.operands.push_back(i);
  l.operands.push_back(given);
  for (std::size_t i = 0; i < x.chosen.size(); ++i)  // a value for all of them is none of a part of them
    if (std::find(given.begin(), given.end(), x.chosen[i]) == given.end()) l.whole.push_back(x.chosen[i]);
  add_labelled(c, l);
  if (adds) c.add_partial({0, values}, ReduceOp::Sum);
}

void scatter(RelationCtx& c) {
  const int rank = c.rank(0), src = c.operand(3);
  if (rank == 0 || c.rank(1) != rank) return;
  const Int& given = std::get<Int>(c.n.args[static_cast<std::size_t>(c.arg("dim"))]);
  const int dim = wrap_dim(given.hint(), rank, c.op.schema.name.c_str(), c.n.info.loc);
  std::vector<int> self = counted(static_cast<std::size_t>(rank)), index = self;
  const RelationFacts& facts = relation_facts().at(c.n.op);
  index[static_cast<std::size_t>(dim)] = 100;
  Labels l{
      .operands = {self, index}, .results = {self}, .whole = {dim}, .addends = {0}, .sums = facts.joins.has_value()};
  if (src >= 0) l.operands.push_back(index);
  for (int d = 0; d < rank; ++d) {
    const auto at = static_cast<std::size_t>(d);
    if (d != dim && c.sizes(0)[at] != c.sizes(1)[at]) l.whole.push_back(d);
    if (src >= 0 && c.sizes(src)[at] != c.sizes(1)[at]) l.whole.push_back(d == dim ? 100 : d);
  }
  add_labelled(c, l);
  if (facts.joins && src >= 0) c.add_partial({0, src}, ReduceOp::Sum);
}

}  // namespace reprise::passes::placement::relations
