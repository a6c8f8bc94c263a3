// What leaves a device's memory. Operands may be on any device: nothing is computed of them.
#include "base/errors.h"
#include "graph/shape_rules.h"

namespace reprise::graph::rules {

void to_device(RuleCtx& c) {
  c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes);
  c.results.back().device = device_from_name(c.str(1), c.loc);
}

void copy_from(RuleCtx& c) {
  const TensorMeta& self = c.tensor(0);
  check_expandable(c.tensor(1).layout.sizes, self.layout.sizes, "copy_", c.loc);
  c.results.push_back({self.dtype, self.device, {self.layout.sizes, contiguous_strides(self.layout.sizes), 0}});
}

void item(RuleCtx& c) {
  const Int n = numel(c.tensor(0).layout.sizes);
  if (!require(detail::compare_eq(n, 1, c.loc), "item: one element"))
    fail(ErrorCode::ShapeMismatch, "item", c.loc, "wants a tensor of one element, but this one has ", n);
  c.results.push_back({c.tensor(0).dtype, Device::cpu(), {}});
}

}  // namespace reprise::graph::rules
