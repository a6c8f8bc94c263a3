#pragma once
#include "jit/gpu/kernels/kernels.h"

namespace reprise::jit {

/// A tensor of attention as the kernels take it: its strides by batch dim, row and column.
struct AttentionTensor {
  V p, outer, head, row, column;
  DType dtype;
  AttentionTensor() = default;
  AttentionTensor(GpuCode& g, int buffer, DType t) : dtype(t) {
    V offset = g.take();
    p = g.at(t, g.pointer(buffer), offset);
    outer = g.take(), head = g.take(), row = g.take(), column = g.take();
  }
  /// Moves to one matrix.
  void select(GpuCode& g, V outer_index, V head_index) { p = g.at(dtype, p, outer_index * outer + head_index * head); }
};

inline DType mask_type(kernels::GpuMask mask, DType t) { return mask == kernels::GpuMask::Bool ? DType::Bool : t; }
/// query, key and value, the mask if there is one, and what is written.
inline std::vector<DType> attention_buffers(kernels::GpuMask mask, DType t, DType written) {
  std::vector<DType> all(3, t);
  if (mask != kernels::GpuMask::None) all.push_back(mask_type(mask, t));
  all.push_back(written);
  return all;
}

/// What a score becomes: scaled, masked, -inf where the key is not to be seen.
struct AttentionScores {
  GpuCode& g;
  kernels::GpuMask mask_kind;
  bool causal;
  V scale;
  AttentionTensor mask;  ///< of this block's matrix
  V keys, queries;

  V minus_infinity() const { return g.constant(DType::Float32, -std::numeric_limits<double>::infinity()); }
  /// query, key: i64; anything beyond their ends counts as not seen.
  V operator()(V score, V query, V key) const {
    V s = score * scale, seen = key < keys;
    if (causal) seen = seen & (key <= query);
    if (mask_kind != kernels::GpuMask::None) {
      V at = g.min(query, queries - 1) * mask.row + g.min(key, keys - 1) * mask.column;
      V m = g.read(mask.dtype, mask.p, at);
      if (mask_kind == kernels::GpuMask::Bool)
        seen = seen & m;
      else
        s = s + m;
    }
    return g.select(seen, s, minus_infinity());
  }
};

/// e^(s - most), where `most` may be -inf: then nothing was seen and the result is 0, but a NaN stays.
inline V attention_weight(GpuCode& g, V s, V most) {
  V minus_infinity = g.constant(DType::Float32, -std::numeric_limits<double>::infinity());
  return g.exp(s - g.select(most == minus_infinity, 0, most));
}

}  // namespace reprise::jit
