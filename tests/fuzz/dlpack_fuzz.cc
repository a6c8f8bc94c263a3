// from_dlpack: a structure is a tensor whose elements have addresses, or one error that leaves the structure with its
// owner.
#include <cstring>

#include "base/errors.h"
#include "reprise/dlpack.h"
#include "tensor/dlpack_abi.h"
#include "tests/fuzz/fuzz.h"

using namespace reprise;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  alignas(64) static char buffer[4096];
  std::memset(buffer, 1, sizeof buffer);
  fuzz::Bytes in(data, size);
  std::int64_t sizes[8], strides[8];
  int deleted = 0;
  dlpack::Managed m{};
  const std::uint8_t flags = in.byte();
  const std::uint8_t kind = in.byte();
  m.view.data = flags & 1 ? nullptr : buffer;
  m.view.device = {flags & 2 ? static_cast<std::int32_t>(kind) : dlpack::kCpu,
                   flags & 2 ? static_cast<std::int32_t>(in.number()) : 0};
  m.view.rank = flags & 4 ? static_cast<std::int32_t>(in.number()) : in.byte() % 5;
  constexpr dlpack::ElementType kTypes[] = {{2, 32, 1}, {2, 64, 1}, {0, 64, 1}, {1, 8, 1},
                                            {6, 8, 1},  {4, 16, 1}, {0, 8, 1},  {2, 16, 1}};
  const std::uint8_t type = in.byte();
  m.view.type =
      flags & 8 ? dlpack::ElementType{type, in.byte(), static_cast<std::uint16_t>(in.number())} : kTypes[type % 8];
  m.view.byte_offset = flags & 16 ? static_cast<std::uint64_t>(in.number()) : 0;
  for (int i = 0; i < 8; ++i) sizes[i] = in.number(), strides[i] = in.number();
  m.view.sizes = flags & 32 ? nullptr : sizes;
  m.view.strides = flags & 64 ? strides : nullptr;
  m.context = &deleted;
  m.deleter = [](dlpack::Managed* of) { ++*static_cast<int*>(of->context); };
  try {
    Tensor t = from_dlpack(reinterpret_cast<DLManagedTensor*>(&m));
    fuzz::promise(deleted == 0, "deleted while it is used");
    fuzz::promise(t.dim() == m.view.rank, "another rank");
    std::int64_t n = 1, last = 0;
    bool none = false, overflow = false;
    for (int i = 0; i < t.dim(); ++i) {
      const std::int64_t s = t.size(i).value();
      fuzz::promise(s == sizes[i] && s >= 0, "another size");
      none |= s == 0;
      if (s > 0) overflow |= __builtin_mul_overflow(n, s, &n);
      std::int64_t reach = 0;
      if (s > 1)
        overflow |=
            __builtin_mul_overflow(s - 1, t.stride(i).value(), &reach) || __builtin_add_overflow(last, reach, &last);
    }
    fuzz::promise(t.numel().value() == (none ? 0 : n), "another number of elements");
    if (!none) {
      std::int64_t bytes = 0;
      overflow |= __builtin_add_overflow(last, 1, &last) || __builtin_mul_overflow(last, item_size(t.dtype()), &bytes);
      const auto at = reinterpret_cast<std::uintptr_t>(t.data_ptr()), begin = reinterpret_cast<std::uintptr_t>(buffer);
      overflow |= static_cast<std::uint64_t>(bytes) > UINTPTR_MAX - at;
      fuzz::promise(!overflow, "elements without an address");
      // What fits the memory that there is is read.
      if (at >= begin && at - begin <= sizeof buffer &&
          static_cast<std::uint64_t>(bytes) <= sizeof buffer - (at - begin) && n <= 4096)
        t.to_vector<double>();
    }
  } catch (const Error& e) {
    if (e.code() != ErrorCode::InvalidArgument && e.code() != ErrorCode::DeviceUnavailable) fuzz::broken(e.what());
    fuzz::promise(deleted == 0, "refused, and deleted all the same");
    return 0;
  }
  fuzz::promise(deleted == 1, "not deleted once");
  return 0;
}
