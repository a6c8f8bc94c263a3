#include "passes/placement/work.h"

#include <algorithm>
#include <cmath>

#include "graph/op_column.h"
#include "passes/placement/relation.h"

namespace reprise::passes::placement {

namespace {

double count(const Sizes& s) {
  double n = 1;
  for (const std::int64_t x : s) n *= static_cast<double>(x);
  return n;
}
double last(const Sizes& s) { return s.empty() ? 1 : static_cast<double>(s.back()); }

using Sides = const std::vector<Sizes>&;

double product(Sides operands, Sides results) { return 2 * count(results[0]) * last(operands[0]); }
double added_product(Sides operands, Sides results) { return 2 * count(results[0]) * last(operands[1]); }
double attention(Sides o, Sides) {
  const double keys = o[1].size() < 2 ? 1 : static_cast<double>(o[1][o[1].size() - 2]);
  return 2 * count(o[0]) / std::max(1.0, last(o[0])) * keys * (last(o[0]) + last(o[2]));
}

using graph::OpId;
using Flops = double (*)(Sides, Sides);
constexpr graph::OpColumn<Flops>::Row kRows[] = {
    {OpId::mm, product},          {OpId::bmm, product},
    {OpId::linear, product},      {OpId::matmul, product},
    {OpId::addmm, added_product}, {OpId::int_mm, product},
    {OpId::scaled_mm, product},   {OpId::scaled_dot_product_attention, attention},
};
constinit const graph::OpColumn<Flops> kFlops("floating-point operations", kRows);

}  // namespace

double flops_of(const graph::Node& n, const std::vector<Sizes>& operands, const std::vector<Sizes>& results) {
  if (const Flops* f = kFlops.find(n.op)) return (*f)(operands, results);
  double most = 0;
  for (const auto* side : {&operands, &results})
    for (const Sizes& s : *side) most = std::max(most, count(s));
  return most;
}

Cost compute_cost(const graph::Graph& g, const graph::Node& n, const std::vector<Placements>& operands,
                  const std::vector<Placements>& results, const MeshShape& mesh, const PlacementCosts& costs) {
  if (graph::op(n.op).cls == graph::OpClass::View) return 0;
  std::vector<Sizes> in, out;
  double bytes = 0;
  const auto add = [&](graph::ValueId v, const Placements& p, std::vector<Sizes>& to) {
    const TensorMeta& m = g.meta(v);
    to.push_back(local_sizes(hints_of(m.layout.sizes), p, mesh));
    bytes += count(to.back()) * static_cast<double>(item_size(m.dtype));
  };
  const std::vector<graph::ValueId> values = operands_of(n);
  for (std::size_t i = 0; i < values.size(); ++i) add(values[i], operands[i], in);
  for (std::size_t i = 0; i < n.results.size(); ++i) add(n.results[i], results[i], out);
  const double us = std::max(flops_of(n, in, out) / costs.flops_per_us, bytes / costs.bytes_per_us);
  return static_cast<Cost>(std::llround(1000 * us));
}

}  // namespace reprise::passes::placement
