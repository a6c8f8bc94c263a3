#include "kernels/gpu/launches.h"

#include "kernels/gpu/rules.h"

namespace reprise::kernels {

using graph::OpId;

namespace {

constinit graph::OpColumn<GridRule> g_column("kernels of devices", {
                                                                       {OpId::mm, grid_matmul},
                                                                       {OpId::bmm, grid_matmul},
                                                                       {OpId::linear, grid_matmul},
                                                                       {OpId::scaled_dot_product_attention, grid_attention},
                                                                       {OpId::argmax, grid_argmax},
                                                                       {OpId::argmin, grid_argmin},
                                                                       {OpId::cumsum, grid_cumsum},
                                                                       {OpId::topk, grid_topk},
                                                                       {OpId::sort, grid_sort},
                                                                       {OpId::rand, grid_rand},
                                                                       {OpId::randn, grid_randn},
                                                                       {OpId::multinomial, grid_multinomial},
                                                                       {OpId::scatter, grid_scatter},
                                                                       {OpId::scatter_add, grid_scatter_add},
                                                                       {OpId::index_put, grid_index_put},
                                                                   });

}  // namespace

graph::OpColumn<GridRule>& grid_rules() { return g_column; }

std::optional<std::vector<Launch>> grid_launches(const GridContext& cx) {
  std::vector<Launch> out;
  const GridRule* rule = g_column.find(cx.node.op);
  GridLaunches grids = rule ? (*rule)(cx, out) : std::nullopt;
  if (!grids) return std::nullopt;
  for (GridLaunch& l : *grids) out.push_back({std::move(l), "", cx.node.loc, false, {}});
  std::string name(graph::op(cx.node.op).name());
  for (Launch& l : out) {
    if (l.name.empty()) l.name = name;
    l.op = name;
  }
  return out;
}

}  // namespace reprise::kernels
