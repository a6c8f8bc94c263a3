#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "reprise/reprise.h"

namespace quantized {

namespace rp = reprise;

/// How a Linear keeps its weight, and multiplies.
enum class Format { BFloat16, Int8, Float8 };
constexpr std::string_view name_of(Format f) {
  return f == Format::BFloat16 ? "bf16" : f == Format::Int8 ? "int8" : "fp8";
}

/// Rows of x, each divided by a scale of its own so that its largest element becomes the largest number of `dtype`
/// (int8 or float8_e4m3fn): the quantized rows [.., n], and the scales [.., 1] in float32.
std::pair<rp::Tensor, rp::Tensor> quantize_rows(rp::Tensor x, rp::DType dtype);

/// y = x w^T. Whether it is quantized is the weight's affair: who calls it does not know.
struct Linear {
  rp::Tensor weight;  // [out, in]: bfloat16, int8 or float8_e4m3fn
  // [1, out] float32, one for each row of the weight; undefined where it is not quantized
  rp::Tensor scale;

  /// Of a weight [out, in] of any floating dtype.
  static Linear of(rp::Tensor weight, Format);
  /// x: [t, in] bfloat16; gives [t, out] bfloat16.
  rp::Tensor operator()(rp::Tensor x) const;
  std::int64_t bytes() const;
};

}  // namespace quantized
