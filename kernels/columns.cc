#include "kernels/columns.h"

namespace reprise::kernels {

std::vector<const graph::OpColumnBase*> op_columns() {
  return {&reference_kernels(), &pointwise_formulas(), &folds(), &creation_formulas(), &gather_rules(), &join_rules(), &grid_rules()};
}

}  // namespace reprise::kernels
