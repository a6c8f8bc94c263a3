// What leaves a device's memory, for another device or for the program. Where no interpreter listens these are plain
// functions; otherwise calls of operators that come back here (transfer_call).
#include <algorithm>

#include "base/errors.h"
#include "device/backend.h"
#include "device/device_memory.h"
#include "graph/api_args.h"
#include "graph/shape_rules.h"
#include "graph/transfer_call.h"
#include "reprise/ops.h"
#include "tensor/frozen.h"
#include "tensor/impl.h"
#include "tensor/trace_questions.h"
#include "tensor/transfer.h"

namespace reprise {

using graph::call1;
using graph::OpId;
using graph::api::arg;

namespace {

bool is_dense(const TensorImpl& t) { return byte_extent(t) == t.numel() * item_size(t.dtype); }

// Its sizes and strides, as a copy on a device has them.
Tensor shape_of(const TensorImpl& t) {
  std::int64_t strides[kMaxRank];
  const Tensor dense = empty_concrete(t.sizes, t.rank, t.dtype, Device::shape_only());
  const TensorImpl& made = *dense.impl();
  std::copy_n(is_dense(t) ? t.strides : made.strides, kMaxRank, strides);
  retain(made.storage);
  return Tensor::adopt(new_impl(t.dtype, made.device, t.sizes, strides, t.rank, 0, made.storage));
}

Tensor moved(const Tensor& self, Device device, bool non_blocking, SourceLoc loc) {
  const TensorImpl& t = *self.impl();
  if (t.device == device) return self;
  if (t.trace) t.trace->reads_value("to(device)", loc);
  if (is_shape_only(device)) return shape_of(t);
  if (is_shape_only(t.device))
    fail(ErrorCode::InvalidArgument, "to", loc, "the tensor is shape-only (", t.numel(), " elements of ", t.dtype,
         "): there are no elements to move to ", device.str(),
         "; make it there, or load its values (load_safetensors)");
  device::require_available(device, "to", loc);
  return transfer(is_dense(t) ? self : contiguous(self, loc), device, "to", loc, non_blocking);
}

// Without waiting, where the two are a pair that allows it.
bool copied_unwaited(const Tensor& self, const Tensor& src, SourceLoc loc) {
  TensorImpl &to = *self.impl(), &from = *src.impl();
  if (to.trace || from.trace) return false;
  checked_storage(self, "copy_", loc), checked_storage(src, "copy_", loc);
  if (!copy_unwaited(to, from)) return false;
  count_write(*to.storage);
  return true;
}

// A shape-only tensor takes any values, once their sizes fit; it has none to give.
void copy_shape(const Tensor& self, const Tensor& src, SourceLoc loc) {
  if (!is_shape_only(self.impl()->device))
    fail(ErrorCode::InvalidArgument, "copy_", loc, "the source is shape-only: there are no elements to copy");
  const Tensor shape = shape_of(*src.impl());
  call1(OpId::copy, {&self, &shape}, loc, true);
}

void copy_across(const Tensor& self, const Tensor& src, bool non_blocking, SourceLoc loc) {
  if (is_shape_only(self.impl()->device) || is_shape_only(src.impl()->device)) return copy_shape(self, src, loc);
  if (non_blocking && copied_unwaited(self, src, loc)) return;
  if (self.impl()->trace) self.impl()->trace->reads_value("copy_ from another device", loc);
  call1(OpId::copy, {&self, arg(moved(src, self.impl()->device, false, loc))}, loc, true);
}

// Apart from the way of most calls, which then is as short as if nobody ever listened.
[[gnu::noinline]] Tensor call_to_device(const Tensor& self, Device device, bool non_blocking, SourceLoc loc) {
  const std::string name = device.str();
  return call1(OpId::to_device, {arg(self), std::string_view(name), non_blocking}, loc);
}
[[gnu::noinline]] Scalar call_item(const Tensor& self, SourceLoc loc) {
  const Tensor one = call1(OpId::item, {arg(self)}, loc);
  TraceQuestions* const trace = one.impl() ? trace_questions() : nullptr;  // also of a captured tensor
  return trace ? trace->element_of(one, loc) : element(one, loc);
}

}  // namespace

Tensor to(const Tensor& self, Device device, SourceLoc loc) { return to(self, device, false, loc); }
Tensor to(const Tensor& self, Device device, bool non_blocking, SourceLoc loc) {
  const TensorImpl& t = defined_impl(self, "to", loc);
  if (graph::asked(t.keys)) [[unlikely]]
    return call_to_device(self, device, non_blocking, loc);
  return t.device == device ? self : moved(self, device, non_blocking, loc);
}

Tensor Tensor::copy_(const Tensor& src, SourceLoc loc) const { return copy_(src, false, loc); }
Tensor Tensor::copy_(const Tensor& src, bool non_blocking, SourceLoc loc) const {
  const TensorImpl &to = defined_impl(*this, "copy_", loc), &from = defined_impl(src, "copy_", loc);
  if (to.device == from.device) return call1(OpId::copy, {arg(*this), arg(src)}, loc, true);
  const bool heard = graph::asked(static_cast<graph::Keys>(to.keys | from.keys)) != 0;
  // A number of the host goes anywhere.
  if (src.dim() == 0 && device::runs_host_code(from.device) && (heard || !non_blocking))
    return call1(OpId::copy, {arg(*this), arg(src)}, loc, true);
  if (heard) return call1(OpId::copy_from, {arg(*this), arg(src), non_blocking}, loc, true);
  copy_across(*this, src, non_blocking, loc);
  return *this;
}

Scalar Tensor::item(SourceLoc loc) const {
  if (impl_ && graph::asked(impl_->keys)) [[unlikely]]
    return call_item(*this, loc);
  return element(*this, loc);
}

Tensor::operator bool() const {
  const Scalar s = item({});
  return s.is_symbolic() ? static_cast<bool>(s != 0) : s.to_double() != 0;  // in a trace a branch on a value
}

Tensor pin_memory(const Tensor& self, Device device, SourceLoc loc) {
  TensorImpl& t = defined_impl(self, "pin_memory", loc);
  if (t.trace) t.trace->reads_value("pin_memory", loc);
  if (!device::runs_host_code(t.device))
    fail(ErrorCode::DeviceMismatch, "pin_memory", loc, "the tensor is on ", t.device.str(),
         "; only memory of the host is pinned");
  if (device::runs_host_code(device))
    fail(ErrorCode::InvalidArgument, "pin_memory", loc,
         "memory is pinned for a device that copies from and to it, which ", device.str(), " is not");
  device::require_available(device, "pin_memory", loc);
  if (t.storage->pinned == device) return self;
  return pinned_copy(is_dense(t) ? self : contiguous(self, loc), device, loc);
}
bool is_pinned(const Tensor& self, SourceLoc loc) {
  const TensorImpl& t = defined_impl(self, "is_pinned", loc);
  if (t.trace) t.trace->reads_value("is_pinned", loc);
  if (current_trace) current_trace->not_traceable(Bail::asks_state, "is_pinned", loc);
  return !device::runs_host_code(t.storage->pinned);
}

void graph::transfer_call(const OpCall& c, std::vector<Tensor>& results) {
  const Tensor& self = *std::get<const Tensor*>(c.args[0]);
  defined_impl(self, c.op.schema.name.c_str(), c.loc);
  switch (c.op.id) {
    case OpId::to_device:
      results.push_back(moved(self, device_from_name(std::get<std::string_view>(c.args[1]), c.loc),
                              std::get<bool>(c.args[2]), c.loc));
      return;
    case OpId::copy_from:
      if (!c.inplace) break;
      copy_across(self, *std::get<const Tensor*>(c.args[1]), std::get<bool>(c.args[2]), c.loc);
      results.push_back(self);
      return;
    case OpId::item: {
      if (self.impl()->trace) self.impl()->trace->reads_value("item", c.loc);
      results.push_back(on_host(self, "item", c.loc));
      return;
    }
    default: break;
  }
  fail(ErrorCode::InvalidArgument, c.op.schema.name.c_str(), c.loc, "is no call between devices");
}

}  // namespace reprise
