#include "runtime/front/shape_only_call.h"

#include "base/errors.h"
#include "graph/rule_args.h"
#include "graph/writers.h"
#include "tensor/frozen.h"
#include "tensor/impl.h"

namespace reprise::detail {

using graph::CallArg;
using graph::OpCall;

namespace {

bool is_one(const Tensor& t) { return t.impl() && is_shape_only(t.impl()->device); }

Tensor made(const TensorMeta& m) {
  std::int64_t sizes[kMaxRank];
  for (int d = 0; d < m.dim(); ++d) sizes[d] = m.size(d).hint();
  return empty_concrete(sizes, m.dim(), m.dtype, m.device);
}

}  // namespace

bool is_shape_only_call(const OpCall& c) {
  if (c.op.cls == graph::OpClass::Transfer) return false;
  for (const CallArg& a : c.args) {
    if (auto* t = std::get_if<const Tensor*>(&a); t && is_one(**t)) return true;
    if (auto* list = std::get_if<TensorArrayRef>(&a))
      for (const Tensor& t : *list)
        if (is_one(t)) return true;
  }
  const int device = c.op.schema.find("device");
  const auto* name = device < 0 ? nullptr : std::get_if<std::string_view>(&c.args[static_cast<std::size_t>(device)]);
  return name && *name == Device::shape_only().str();
}

void call_shape_only(const OpCall& c, std::vector<Tensor>& results) {
  const graph::RuleArgs args(c.args);
  graph::RuleCtx rule{c.op, args.all(), c.loc, {}};
  graph::infer(rule);
  auto check_written = [&](const Tensor& self) {
    const Device device = defined_impl(self, c.op.schema.name.c_str(), c.loc).device;
    if (!is_shape_only(device))
      fail(ErrorCode::DeviceMismatch, c.op.schema.name.c_str(), c.loc, "a tensor on ", device.str(),
           " is written, and another one is shape-only: it has no elements");
  };
  graph::for_each_written(c, [&](const Tensor& self) {
    if (c.inplace || !c.op.writes.empty()) check_written(self);
  });
  if (c.inplace) {
    const Tensor& self = *std::get<const Tensor*>(c.args[0]);
    graph::check_inplace(c.op, meta_of(self), rule.results[0], c.loc);
    count_write(*self.impl()->storage);
    results.push_back(self);
    return;
  }
  std::vector<Tensor> own;
  for (const TensorMeta& m : rule.results) own.push_back(made(m));
  if (c.op.writes.empty()) {
    std::move(own.begin(), own.end(), std::back_inserter(results));
    return;
  }
  graph::for_each_written(c, [&](const Tensor& self) { count_write(*self.impl()->storage); });
  graph::append_returned(c, std::move(own), results);
}

}  // namespace reprise::detail
