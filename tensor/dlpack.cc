#include "reprise/dlpack.h"

#include <memory>
#include <optional>

#include "base/errors.h"
#include "base/log.h"
#include "device/backend.h"
#include "tensor/dlpack_abi.h"
#include "tensor/impl.h"

namespace reprise {
namespace {

using dlpack::ElementType;
using dlpack::Managed;
using dlpack::View;

ElementType type_of(DType t) {
  std::uint8_t code = t == DType::Bool           ? dlpack::kBool
                      : t == DType::Float8E4M3FN ? dlpack::kFloat8E4M3FN
                      : t == DType::Float8E5M2   ? dlpack::kFloat8E5M2
                      : t == DType::BFloat16     ? dlpack::kBfloat
                      : is_floating(t)           ? dlpack::kFloat
                      : t == DType::UInt8        ? dlpack::kUInt
                                                 : dlpack::kInt;
  return {code, static_cast<std::uint8_t>(item_size(t) * 8), 1};
}
std::optional<DType> dtype_from(ElementType e) {
  for (int i = 0; i < kDTypeCount; ++i) {
    DType t = static_cast<DType>(i);
    if (type_of(t).code == e.code && type_of(t).bits == e.bits) return t;
  }
  return std::nullopt;
}

dlpack::DeviceId device_of(Device d) { return {d.type == DeviceType::Cuda ? dlpack::kCuda : dlpack::kCpu, d.index}; }

/// Work that was queued on lent memory is over when its owner hears of it.
void wait_for_users(Device device) {
  if (device::runs_host_code(device)) return;
  try {
    device::backend(device).current_stream().synchronize();
  } catch (const Error& e) {
    logs::warn(std::string("giving back another library's memory: ") +
               e.what());  // the owner gets it back all the same
  }
}

/// One allocation for what the consumer sees: the structure, its sizes and strides, and our hold on the tensor.
struct Export {
  Managed managed{};
  std::int64_t sizes[kMaxRank], strides[kMaxRank];
  Tensor tensor;
};

}  // namespace

DLManagedTensor* to_dlpack(const Tensor& t, SourceLoc loc) {
  checked_storage(t, "to_dlpack", loc);
  const TensorImpl& impl = *t.impl();
  auto e = std::make_unique<Export>();
  e->tensor = t;
  for (int i = 0; i < impl.rank; ++i) e->sizes[i] = impl.sizes[i], e->strides[i] = impl.strides[i];
  View& v = e->managed.view;
  // The offset is added to the pointer: some consumers ignore byte_offset.
  v.data = impl.storage->data ? impl.data() : nullptr;
  v.device = device_of(impl.device);
  v.rank = impl.rank;
  v.type = type_of(impl.dtype);
  v.sizes = e->sizes;
  v.strides = e->strides;
  v.byte_offset = 0;
  e->managed.context = e.get();
  e->managed.deleter = [](Managed* m) { delete static_cast<Export*>(m->context); };
  return reinterpret_cast<DLManagedTensor*>(&e.release()->managed);
}

DLManagedTensor* to_dlpack(const Tensor& t, std::intptr_t stream, SourceLoc loc) {
  checked_storage(t, "to_dlpack", loc);
  const Device device = t.impl()->device;
  if (stream == 0)
    fail(ErrorCode::InvalidArgument, "to_dlpack", loc,
         "stream 0 is ambiguous: 1 is CUDA's legacy default stream, 2 the per-thread one, -1 orders nothing");
  if (stream != -1 && !device::runs_host_code(device)) {
    device::Backend& backend = device::backend(device, "to_dlpack", loc);
    backend.order_after(reinterpret_cast<void*>(stream), backend.current_stream());
  }
  return to_dlpack(t, loc);
}

Tensor from_dlpack(DLManagedTensor* managed, SourceLoc loc) {
  constexpr const char* op = "from_dlpack";
  not_while_traced(op, loc);
  if (!managed) fail(ErrorCode::InvalidArgument, op, loc, "the managed tensor is null");
  Managed* m = reinterpret_cast<Managed*>(managed);
  const View& v = m->view;
  Device device = Device::cpu();
  if (v.device.kind == dlpack::kCuda) device = Device::cuda(v.device.index);
  else if (v.device.kind == dlpack::kCudaManaged)
    fail(ErrorCode::DeviceUnavailable, op, loc,
         "the memory is managed by CUDA (DLPack device type 13), which is neither the host's nor one device's; copy it "
         "to one");
  else if (v.device.kind != dlpack::kCpu && v.device.kind != dlpack::kCudaHost)
    fail(ErrorCode::DeviceUnavailable, op, loc, "the memory is on DLPack device type ", v.device.kind,
         "; only host memory (types 1 and 3) and CUDA memory (type 2) can be taken over");
  if (v.type.lanes != 1)
    fail(ErrorCode::InvalidArgument, op, loc, "elements of ", v.type.lanes, " lanes; only 1 lane is supported");
  std::optional<DType> dtype = dtype_from(v.type);
  if (!dtype)
    fail(ErrorCode::InvalidArgument, op, loc, "no dtype for DLPack type code ", int{v.type.code}, " with ",
         int{v.type.bits}, " bits");
  if (v.rank < 0 || v.rank > kMaxRank)
    fail(ErrorCode::InvalidArgument, op, loc, "a tensor has at most ", kMaxRank, " dimensions, not ", v.rank);
  if (v.rank > 0 && !v.sizes) fail(ErrorCode::InvalidArgument, op, loc, v.rank, " dimensions, but no sizes");
  if (v.data && v.byte_offset > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(v.data))
    fail(ErrorCode::InvalidArgument, op, loc, "the byte offset ", v.byte_offset, " reaches beyond any memory");
  char* data = v.data ? reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(v.data) + v.byte_offset) : nullptr;
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(item_size(*dtype)) != 0)
    fail(ErrorCode::InvalidArgument, op, loc, "the data are not aligned to the ", item_size(*dtype), " bytes of ",
         *dtype);
  Ints sizes, strides;
  for (int i = 0; i < v.rank; ++i) {
    if (v.sizes[i] < 0)
      fail(ErrorCode::InvalidArgument, op, loc, "size ", v.sizes[i], " of dimension ", i, " is negative");
    if (v.strides && v.strides[i] < 0 && v.sizes[i] > 1)
      fail(ErrorCode::InvalidArgument, op, loc, "stride ", v.strides[i], " of dimension ", i, " is negative");
    sizes.push_back(v.sizes[i]);
    if (v.strides) strides.push_back(v.sizes[i] == 1 ? 1 : v.strides[i]);  // such a stride may be anything
  }
  // from_blob refuses before it takes the deleter over, so a refused tensor stays the caller's.
  return from_blob(
      data, sizes, *dtype,
      [m, device](void*) {
        wait_for_users(device);
        if (m->deleter) m->deleter(m);
      },
      strides, device);
}

}  // namespace reprise
