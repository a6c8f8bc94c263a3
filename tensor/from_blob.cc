#include "base/errors.h"
#include "device/device_memory.h"
#include "tensor/impl.h"

namespace reprise {

Tensor from_blob(void* data, IntArrayRef sizes, DType dtype, std::function<void(void*)> deleter, IntArrayRef strides,
                 Device device, SourceLoc loc) {
  constexpr const char* op = "from_blob";
  not_while_traced(op, loc);
  if (static_cast<int>(dtype) >= kDTypeCount)
    fail(ErrorCode::InvalidArgument, op, loc, "there is no dtype ", static_cast<int>(dtype));
  device::require_available(device, op, loc);
  if (sizes.size() > kMaxRank)
    fail(ErrorCode::InvalidArgument, op, loc, "a tensor has at most ", kMaxRank, " dimensions, not ", sizes.size());
  if (!strides.empty() && strides.size() != sizes.size())
    fail(ErrorCode::InvalidArgument, op, loc, sizes.size(), " sizes, but ", strides.size(), " strides");
  auto beyond = [&] { fail(ErrorCode::InvalidArgument, op, loc, "the sizes and strides reach beyond any memory"); };
  int rank = static_cast<int>(sizes.size());
  std::int64_t plain_sizes[kMaxRank], plain_strides[kMaxRank];
  // `last`: offset of the last element. The extent in bytes must fit 63 bits, whoever computed the strides.
  std::int64_t step = 1, last = 0, bytes = 0;
  bool none = false, overflow = false;
  for (int i = rank - 1; i >= 0; --i) {
    std::int64_t size = plain_sizes[i] = sizes[i].value();
    if (size < 0) fail(ErrorCode::InvalidArgument, op, loc, "size ", size, " of dimension ", i, " is negative");
    plain_strides[i] = strides.empty() ? step : strides[i].value();
    if (plain_strides[i] < 0)
      fail(ErrorCode::InvalidArgument, op, loc, "stride ", plain_strides[i], " of dimension ", i, " is negative");
    none |= size == 0;
    if (size == 0) continue;
    // Also where there are no elements: row-major strides are made of these products.
    if (__builtin_mul_overflow(step, size, &step)) beyond();
    std::int64_t reach = 0;
    overflow |=
        __builtin_mul_overflow(size - 1, plain_strides[i], &reach) || __builtin_add_overflow(last, reach, &last);
  }
  overflow |= __builtin_add_overflow(last, std::int64_t{1}, &last) ||
              __builtin_mul_overflow(last, static_cast<std::int64_t>(item_size(dtype)), &bytes);
  constexpr std::int64_t kMemory = std::int64_t{1} << 57;  // no processor gives a process more addresses
  if (!none && (overflow || bytes > kMemory)) beyond();
  if (!none && static_cast<std::uint64_t>(bytes) > UINTPTR_MAX - reinterpret_cast<std::uintptr_t>(data)) beyond();
  if (!data && !none)
    fail(ErrorCode::InvalidArgument, op, loc, "the pointer is null, but the sizes have ", step, " elements");
  Storage* s = new Storage;
  s->device = device;
  s->data = data;
  s->bytes = none ? 0 : bytes;
  // Without a deleter of the caller's, one that does nothing: the bytes are not the allocator's.
  s->deleter = deleter ? std::move(deleter) : std::function<void(void*)>([](void*) {});
  return Tensor::adopt(new_impl(dtype, device, plain_sizes, plain_strides, rank, 0, s));
}

}  // namespace reprise
