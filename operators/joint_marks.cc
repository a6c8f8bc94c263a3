#include "operators/joint_marks.h"

#include "base/errors.h"
#include "graph/register_op.h"
#include "kernels/reference/reference.h"

namespace reprise::operators {

namespace {
void tangent_shape(graph::RuleCtx& c) {
  static_cast<void>(c.constant_int(1));
  c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes);
}
void gradient_shape(graph::RuleCtx& c) { static_cast<void>(c.tensor(0)), static_cast<void>(c.constant_int(1)); }

graph::OpId new_mark(const char* schema, graph::ShapeRule shape) {
  return graph::register_op({.schema = schema, .shape = shape, .moves = true, .effects = {.opaque = true}},
                            {kernels::reference_kernels().fact({[](const kernels::NativeArgs&) {
                              fail(ErrorCode::Internal, "partition", {}, "a mark of a joint graph is run");
                            }})});
}
}  // namespace

graph::OpId tangent_op() {
  static const graph::OpId id = new_mark("reprise::tangent(Tensor like, int index) -> Tensor", tangent_shape);
  return id;
}
graph::OpId gradient_op() {
  static const graph::OpId id = new_mark("reprise::gradient(Tensor self, int index) -> ()", gradient_shape);
  return id;
}

}  // namespace reprise::operators
