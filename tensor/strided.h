#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/checked_math.h"
#include "tensor/impl.h"

namespace reprise {

/// Calls f(offset) for every element of a strided view, in row-major order; offsets in elements, from its first
/// element.
template <class F>
void for_each_offset(const std::int64_t* sizes, const std::int64_t* strides, int rank, F&& f) {
  std::int64_t at[kMaxRank] = {};
  std::uint64_t offset = 0;
  for (int i = 0; i < rank; ++i)
    if (sizes[i] == 0) return;
  if (rank == 0) return f(std::int64_t{0});
  const int last = rank - 1;
  for (;;) {
    for (std::int64_t i = 0; i < sizes[last]; ++i) f(static_cast<std::int64_t>(offset) + i * strides[last]);
    int d = last - 1;
    for (; d >= 0; --d) {
      offset += wrapping(strides[d]);
      if (++at[d] < sizes[d]) break;
      offset -= wrapping(strides[d]) * wrapping(sizes[d]);
      at[d] = 0;
    }
    if (d < 0) return;
  }
}
template <class F>
void for_each_offset(const TensorImpl& t, F&& f) {
  for_each_offset(t.sizes, t.strides, t.rank, f);
}

/// The element at p. A bool is any byte but 0, so that foreign memory cannot make an invalid one.
template <class T>
T load_element(const char* p) {
  if constexpr (std::is_same_v<T, bool>) {
    return *p != 0;
  } else {
    T v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
}

template <class T>
inline constexpr bool kIsNarrow = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> ||
                                  std::is_same_v<T, Float8E4M3FN> || std::is_same_v<T, Float8E5M2>;

/// Conversion between element types without undefined behaviour: a float outside an integer's range becomes the nearest
/// end of the range, nan becomes 0; integers wrap.
template <class To, class From>
To convert_element(From v) {
  if constexpr (kIsNarrow<From>) {
    return convert_element<To>(static_cast<float>(v));
  } else if constexpr (kIsNarrow<To>) {
    return To(static_cast<float>(v));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(v)) return To(0);
    if (v >= std::ldexp(From(1), std::numeric_limits<To>::digits)) return std::numeric_limits<To>::max();
    if (v < static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    return static_cast<To>(v);
  } else {
    return static_cast<To>(v);
  }
}

/// Calls f with a null pointer of the C++ type of `dtype`: f(static_cast<float*>(nullptr)).
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::Float32: return f(static_cast<float*>(nullptr));
    case DType::Float64: return f(static_cast<double*>(nullptr));
    case DType::Float16: return f(static_cast<Half*>(nullptr));
    case DType::BFloat16: return f(static_cast<BFloat16*>(nullptr));
    case DType::Int8: return f(static_cast<std::int8_t*>(nullptr));
    case DType::UInt8: return f(static_cast<std::uint8_t*>(nullptr));
    case DType::Int32: return f(static_cast<std::int32_t*>(nullptr));
    case DType::Int64: return f(static_cast<std::int64_t*>(nullptr));
    case DType::Float8E4M3FN: return f(static_cast<Float8E4M3FN*>(nullptr));
    case DType::Float8E5M2: return f(static_cast<Float8E5M2*>(nullptr));
    case DType::Bool: break;
  }
  return f(static_cast<bool*>(nullptr));
}

}  // namespace reprise
