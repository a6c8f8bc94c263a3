#include "kernels/grid.h"

#include "kernels/grid_lower.h"

namespace reprise::kernels {

namespace {

GridLaunches kernels_of(const GridContext& cx, std::vector<Launch>& before) {
  switch (graph::op(cx.node.op).cls) {
    case graph::OpClass::Matmul:
      return grid_matmul(cx);
    case graph::OpClass::Attention:
      return grid_attention(cx);
    default:
      if (GridLaunches l = grid_rows(cx)) return l;
      if (cx.node.op == graph::OpId::multinomial) return grid_multinomial(cx, before);
      return grid_elements(cx, before);
  }
}

}  // namespace

std::optional<std::vector<Launch>> grid_launches(const GridContext& cx) {
  std::vector<Launch> out;
  GridLaunches grids = kernels_of(cx, out);
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
