#pragma once
#include <algorithm>
#include <cstdint>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// The scales of one operand of scaled_mm, for elements by line (row of self, column of mat2) and k.
struct Scales {
  const float* data = nullptr;
  std::int64_t line_group = 1, line_stride = 0;  ///< how many lines share a scale; how far the next one is
  std::int64_t k_group = 0, k_stride = 0;        ///< the same along k; 0: one scale for all of k

  const float* of_line(std::int64_t line) const { return data + line / line_group * line_stride; }
  float at(std::int64_t line, std::int64_t k) const { return of_line(line)[k_group ? k / k_group * k_stride : 0]; }
};

/// What an argument means beside an operand of `lines` lines, whose blocks are `block` lines (0: there are none) by
/// `block_k`.
inline Scales scales_of(const TensorView& s, int k_dim, std::int64_t lines, std::int64_t block_k, std::int64_t block) {
  Scales out;
  out.data = s.as<const float>();
  if (s.rank < 2) return out;
  const int line_dim = 1 - k_dim;
  if (s.sizes[k_dim] != 1) out.k_group = block_k, out.k_stride = s.strides[k_dim];
  if (s.sizes[line_dim] == 1) return out;
  out.line_stride = s.strides[line_dim];
  if (s.sizes[line_dim] != lines) out.line_group = block;
  return out;
}

/// The operands of a call of scaled_mm.
struct ScaledCall {
  TensorView a, b, c;
  Scales scale_a, scale_b;
  const TensorView* bias = nullptr;
  /// Where the sums of k elements from k on end: with the block of scales, or where an int32 might not hold them.
  std::int64_t end_of_sum(std::int64_t k) const {
    std::int64_t end = std::min(a.sizes[1], k / kLongestSum * kLongestSum + kLongestSum);
    for (const Scales* s : {&scale_a, &scale_b})
      if (s->k_group) end = std::min(end, k / s->k_group * s->k_group + s->k_group);
    return end;
  }
  bool one_sum() const { return a.sizes[1] == 0 || end_of_sum(0) == a.sizes[1]; }

  static constexpr std::int64_t kLongestSum = 65536;
};

inline ScaledCall scaled_call(const NativeArgs& args) {
  ScaledCall s{args.tensor(0), args.tensor(1), args.result(), {}, {}, args.has(4) ? &args.tensor(4) : nullptr};
  const bool given = args.has(6);
  const std::int64_t block_k = given ? args.integer(6, 0) : 128, block_n = given ? args.integer(6, 1) : 128;
  s.scale_a = scales_of(args.tensor(2), 1, s.a.sizes[0], block_k, 0);
  s.scale_b = scales_of(args.tensor(3), 0, s.b.sizes[1], block_k, block_n);
  return s;
}

}  // namespace reprise::kernels
