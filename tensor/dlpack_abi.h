#pragma once
#include <cstdint>

namespace reprise::dlpack {

/// The memory layout of DLPack's structures, as its specification gives them. Our own names, so that a program may
/// include dlpack/dlpack.h beside us.
enum DeviceKind : std::int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };
enum TypeCode : std::uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kBool = 6,
  kFloat8E4M3FN = 10,
  kFloat8E5M2 = 12
};

struct DeviceId {
  std::int32_t kind, index;
};
struct ElementType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct View {
  void* data;
  DeviceId device;
  std::int32_t rank;
  ElementType type;
  std::int64_t* sizes;
  std::int64_t* strides;      ///< in elements; null means row-major
  std::uint64_t byte_offset;  ///< from `data` to the first element
};
struct Managed {
  View view;
  void* context;              ///< of the producer
  void (*deleter)(Managed*);  ///< may be null
};
static_assert(sizeof(View) == 48 && sizeof(Managed) == 64, "DLPack's layout on 64-bit machines");

}  // namespace reprise::dlpack
