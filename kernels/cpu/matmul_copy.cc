// The slow copies around matrix products, for strides that no vector code fits.
#include "base/checked_math.h"
#include "base/errors.h"
#include "kernels/cpu/matmul_product.h"

namespace reprise::kernels {
namespace {

/// f(offset in elements) in row-major order.
template <class F>
void each_offset(const TensorView& t, F&& f) {
  if (t.numel() == 0) return;
  std::int64_t index[kMaxRank] = {};
  std::uint64_t offset = 0;
  for (;;) {
    f(static_cast<std::int64_t>(offset));
    int d = t.rank - 1;
    for (; d >= 0; --d) {
      offset += wrapping(t.strides[d]);
      if (++index[d] < t.sizes[d]) break;
      offset -= wrapping(t.strides[d]) * wrapping(t.sizes[d]);
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

template <class From, class To>
void gather_as(const TensorView& from, char* out) {
  const From* src = reinterpret_cast<const From*>(from.data);
  To* dst = reinterpret_cast<To*>(out);
  each_offset(from, [&](std::int64_t i) { *dst++ = static_cast<To>(src[i]); });
}

template <class To>
void gather_integers(const TensorView& from, char* out) {
  switch (from.dtype) {
    case DType::UInt8: return gather_as<std::uint8_t, To>(from, out);
    case DType::Int8: return gather_as<std::int8_t, To>(from, out);
    case DType::Int32: return gather_as<std::int32_t, To>(from, out);
    default: return gather_as<std::int64_t, To>(from, out);
  }
}

template <class T>
void compact_as(const TensorView& from, char* out) {
  const T* src = reinterpret_cast<const T*>(from.data);
  T* dst = reinterpret_cast<T*>(out);
  each_offset(from, [&](std::int64_t i) { *dst++ = src[i]; });
}

template <class T>
void scatter_as(const char* in, const TensorView& to) {
  const T* src = reinterpret_cast<const T*>(in);
  T* dst = reinterpret_cast<T*>(to.data);
  each_offset(to, [&](std::int64_t i) { dst[i] = *src++; });
}

}  // namespace

void gather(const TensorView& from, DType to, char* out) {
  if (from.dtype == DType::Float64 && to == DType::Float64) return gather_as<double, double>(from, out);
  if (to == DType::Int32) return gather_integers<std::int32_t>(from, out);
  if (to == DType::Int64) return gather_integers<std::int64_t>(from, out);
  REPRISE_CHECK(to == DType::Float32);
  switch (from.dtype) {
    case DType::Float32: return gather_as<float, float>(from, out);
    case DType::Float16: return gather_as<Half, float>(from, out);
    default: return gather_as<BFloat16, float>(from, out);
  }
}

void scatter(const char* in, const TensorView& to) {
  switch (item_size(to.dtype)) {
    case 1: return scatter_as<std::uint8_t>(in, to);
    case 2: return scatter_as<std::uint16_t>(in, to);
    case 4: return scatter_as<std::uint32_t>(in, to);
    default: return scatter_as<std::uint64_t>(in, to);
  }
}

void compact(const TensorView& from, char* out) {
  switch (item_size(from.dtype)) {
    case 1: return compact_as<std::uint8_t>(from, out);
    case 2: return compact_as<std::uint16_t>(from, out);
    case 4: return compact_as<std::uint32_t>(from, out);
    default: return compact_as<std::uint64_t>(from, out);
  }
}

}  // namespace reprise::kernels
