#include "kernels/plan/columns.h"

namespace reprise::kernels {

std::vector<const graph::OpColumnBase*> op_columns() {
  return {&reference_kernels(), &host_kernels(), &host_launches(),   &pointwise_formulas(), &folds(),
          &creation_formulas(), &gather_rules(), &join_rules(),      &place_rules(),        &index_bound_rules(),
          &product_forms(),     &gpu_rules(),    &captured_kernels()};
}

std::string list_computed_by(graph::OpId id) {
  const char* native = host_kernels().find(id) || host_launches().find(id) ? "kernel of the host" : "reference kernel";
  switch (graph::op(id).cls) {
    case graph::OpClass::Pointwise:
    case graph::OpClass::Reduction: return "fused loop kernel";
    case graph::OpClass::Gather: return "fused loop kernel, after a check of the index values";
    case graph::OpClass::Join: return has_parts(id) ? "fused loop kernels, one for each part" : native;
    case graph::OpClass::Creation: return "fused loop kernel over the output index";
    case graph::OpClass::View: return "view: no kernel";
    case graph::OpClass::Composite: return "composite: rewritten into other operators";
    case graph::OpClass::Matmul: return "matrix product";
    case graph::OpClass::Attention: return "attention kernel";
    case graph::OpClass::Transfer: return "copy as it is called: in no graph";
    case graph::OpClass::Control:
      return graph::op(id).schema.find("turns") >= 0 ? "kernels of its region, several times (the host alone)"
             : graph::op(id).schema.find("pred") < 0
                 ? "kernels of its region, which equal ones share"
                 : "kernels of its regions, of which one runs (on devices both, and a choice)";
    case graph::OpClass::Random:
    case graph::OpClass::Reference: return native;
  }
  return "";
}

}  // namespace reprise::kernels
