#pragma once
#include "jit/gpu/kernels/kernels.h"

namespace reprise::jit {

/// A tensor of attention: one matrix of it, or all of them; its strides by batch dim, row and column.
struct AttentionTensor {
  V p, outer, head, row, column;
  DType dtype;
  AttentionTensor() = default;
  AttentionTensor(GpuCode& g, const gpu::Heads<InCode, InCode::Source>& in)
      : p(g.at(in.buffer.dtype, in.buffer, in.offset)), outer(in.outer), head(in.head), row(in.row), column(in.column), dtype(in.buffer.dtype) {}
  /// Moves to one matrix.
  void select(GpuCode& g, V outer_index, V head_index) { p = g.at(dtype, p, outer_index * outer + head_index * head); }
};

/// Of a double's bits.
inline V attention_scale(GpuCode& g, V bits) { return g.wrap(g.b.CreateFPTrunc(g.b.CreateBitCast(bits.v, g.f64()), g.f32())); }

/// What a score becomes: scaled, masked, -inf where the key is not to be seen.
struct AttentionScores {
  GpuCode& g;
  gpu::Mask mask_kind;
  bool causal;
  V scale;
  AttentionTensor mask;  ///< of this block's matrix
  V keys, queries;

  V minus_infinity() const { return g.constant(DType::Float32, -std::numeric_limits<double>::infinity()); }
  /// query, key: i64; anything beyond their ends counts as not seen.
  V operator()(V score, V query, V key) const {
    V s = score * scale, seen = key < keys;
    if (causal) seen = seen & (key <= query);
    if (mask_kind != gpu::Mask::None) {
      V at = g.min(query, queries - 1) * mask.row + g.min(key, keys - 1) * mask.column;
      V m = g.read(mask.dtype, mask.p, at);
      if (mask_kind == gpu::Mask::Bool)
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

/// Do the architecture's tensor cores serve this attention? Then the other emits it (attention_tensor.cc).
bool attention_by_tensor_cores(int sm, const gpu::AttentionTiles&);
void emit_by_tensor_cores(GpuModule&, const gpu::AttentionTiles&);

}  // namespace reprise::jit
