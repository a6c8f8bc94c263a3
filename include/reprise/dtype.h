#pragma once
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>

#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// Element types. Names are ATen's. The numeric values are stable (files and signatures hold them).
/// The two of 8 bits (OCP 8-bit floating point, 2023) are for storage: see is_storage_only.
enum class DType : std::uint8_t {
  Float32,
  Float64,
  Float16,
  BFloat16,
  Int8,
  UInt8,
  Int32,
  Int64,
  Bool,
  Float8E4M3FN,  ///< 4 bits of exponent, 3 of mantissa; no infinities; up to 448
  Float8E5M2,    ///< 5 and 2, as the upper half of a float16; up to 57344
};
inline constexpr int kDTypeCount = 11;

inline constexpr DType kFloat32 = DType::Float32, kFloat64 = DType::Float64, kFloat16 = DType::Float16,
                       kBFloat16 = DType::BFloat16, kInt8 = DType::Int8, kUInt8 = DType::UInt8, kInt32 = DType::Int32,
                       kInt64 = DType::Int64, kBool = DType::Bool, kFloat8E4M3FN = DType::Float8E4M3FN,
                       kFloat8E5M2 = DType::Float8E5M2;
/// ATen's other names for them.
inline constexpr DType kFloat = kFloat32, kDouble = kFloat64, kHalf = kFloat16, kChar = kInt8, kByte = kUInt8,
                       kInt = kInt32, kLong = kInt64;

constexpr int item_size(DType t) {
  constexpr int sizes[] = {4, 8, 2, 2, 1, 1, 4, 8, 1, 1, 1};
  return sizes[static_cast<int>(t)];
}
/// Values of these are made by casts, moved by views, copies, joins and gathers, and read by casts, `x.to(kFloat32)`,
/// and by scaled_mm. Every other operator refuses them, and nothing is promoted to or from them.
constexpr bool is_storage_only(DType t) { return t >= DType::Float8E4M3FN; }
constexpr bool is_floating(DType t) { return t <= DType::BFloat16 || is_storage_only(t); }
constexpr bool is_integral(DType t) { return t >= DType::Int8 && t <= DType::Int64; }  ///< bool is not
/// Floats that are held as Float32 while they are computed with.
constexpr bool is_low_precision(DType t) { return t == DType::Float16 || t == DType::BFloat16 || is_storage_only(t); }

/// "float32", ... (ATen's), and "f32" as the graph's text writes it.
std::string_view dtype_name(DType);
std::string_view dtype_short_name(DType);
/// Either spelling; throws InvalidArgument for an unknown one.
DType dtype_from_name(std::string_view);
std::ostream& operator<<(std::ostream&, DType);

/// ATen's promotion of two dtypes of tensors of equal standing (both dimensioned). Throws DTypeMismatch for a
/// storage-only dtype with another one.
DType promote(DType, DType);

/// IEEE binary16 and bfloat16 as storage; arithmetic happens in float. Conversions round to nearest even.
struct Half {
  std::uint16_t bits = 0;
  Half() = default;
  explicit Half(float f);
  explicit operator float() const;
};
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float f);
  explicit operator float() const;
};

/// Storage; conversions from float round to nearest even. Overflow becomes NaN (E4M3FN) or infinity (E5M2).
struct Float8E4M3FN {
  std::uint8_t bits = 0;
  Float8E4M3FN() = default;
  explicit Float8E4M3FN(float f);
  explicit operator float() const;
};
struct Float8E5M2 {
  std::uint8_t bits = 0;
  Float8E5M2() = default;
  explicit Float8E5M2(float f);
  explicit operator float() const;
};

template <class T>
struct dtype_of_t;
template <>
struct dtype_of_t<float> {
  static constexpr DType value = DType::Float32;
};
template <>
struct dtype_of_t<double> {
  static constexpr DType value = DType::Float64;
};
template <>
struct dtype_of_t<Half> {
  static constexpr DType value = DType::Float16;
};
template <>
struct dtype_of_t<BFloat16> {
  static constexpr DType value = DType::BFloat16;
};
template <>
struct dtype_of_t<std::int8_t> {
  static constexpr DType value = DType::Int8;
};
template <>
struct dtype_of_t<std::uint8_t> {
  static constexpr DType value = DType::UInt8;
};
template <>
struct dtype_of_t<std::int32_t> {
  static constexpr DType value = DType::Int32;
};
template <>
struct dtype_of_t<std::int64_t> {
  static constexpr DType value = DType::Int64;
};
template <>
struct dtype_of_t<bool> {
  static constexpr DType value = DType::Bool;
};
template <>
struct dtype_of_t<Float8E4M3FN> {
  static constexpr DType value = DType::Float8E4M3FN;
};
template <>
struct dtype_of_t<Float8E5M2> {
  static constexpr DType value = DType::Float8E5M2;
};
template <class T>
inline constexpr DType dtype_of = dtype_of_t<T>::value;

}  // namespace REPRISE_VISIBLE
