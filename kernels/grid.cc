#include "kernels/grid.h"

#include "kernels/grid_lower.h"

namespace reprise::kernels {

GridLaunches grid_launches(const GridContext& cx) {
  switch (graph::op(cx.node.op).cls) {
    case graph::OpClass::Matmul:
      return grid_matmul(cx);
    case graph::OpClass::Attention:
      return grid_attention(cx);
    default:
      return grid_rows(cx);
  }
}

}  // namespace reprise::kernels
