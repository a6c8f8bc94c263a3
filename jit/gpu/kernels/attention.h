#pragma once
#include <optional>

#include "jit/gpu/kernels/kernels.h"

namespace reprise::jit {

/// A tensor of attention: one matrix of it, or all of them; its strides by batch dim, row and column.
struct AttentionTensor {
  V p, outer, head, row, column;
  DType dtype;
  AttentionTensor() = default;
  AttentionTensor(GpuCode& g, const gpu::Heads<InCode, InCode::Source>& in)
      : p(g.at(in.buffer.dtype, in.buffer, in.offset)), outer(in.outer), head(in.head), row(in.row), column(in.column),
        dtype(in.buffer.dtype) {}
  /// Moves to one matrix.
  void select(GpuCode& g, V outer_index, V head_index) { p = g.at(dtype, p, outer_index * outer + head_index * head); }
};

/// Of a double's bits.
inline V attention_scale(GpuCode& g, V bits) {
  return g.wrap(g.b.CreateFPTrunc(g.b.CreateBitCast(bits.v, g.f64()), g.f32()));
}

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
      if (mask_kind == gpu::Mask::Bool) seen = seen & m;
      else s = s + m;
    }
    return g.select(seen, s, minus_infinity());
  }
};

/// e^(s - most), where `most` may be -inf: then nothing was seen and the result is 0, but a NaN stays.
inline V attention_weight(GpuCode& g, V s, V most) {
  V minus_infinity = g.constant(DType::Float32, -std::numeric_limits<double>::infinity());
  return g.exp(s - g.select(most == minus_infinity, 0, most));
}

/// What a block has of attention over many queries: those from `first` on of one head, and the tensors of that head.
struct AttentionBlock {
  V first;
  AttentionTensor q, k, v, out;
  std::optional<AttentionScores> finish;

  void take(GpuCode& g, const gpu::AttentionTiles& code, const gpu::AttentionTiles::Args<InCode>& in) {
    V scale = attention_scale(g, in.scale);
    q = AttentionTensor(g, in.q), k = AttentionTensor(g, in.k), v = AttentionTensor(g, in.v);
    AttentionTensor mask;
    if (in.mask) mask = AttentionTensor(g, *in.mask);
    out = AttentionTensor(g, in.out);

    // The last queries of all heads first: with a causal mask they have most to do, and what starts last should be
    // short.
    V tiles = g.ceil_div(in.queries, code.block_queries()), units = tiles * in.heads, unit = g.block_id % units;
    first = (tiles - 1 - unit / in.heads) * code.block_queries();
    V head = unit % in.heads, outer = g.block_id / units;
    q.select(g, outer, head), out.select(g, outer, head);
    k.select(g, outer, head / in.k_group), v.select(g, outer, head / in.v_group);
    if (in.mask) mask.select(g, outer, head);
    finish.emplace(AttentionScores{g, code.mask, code.causal, scale, mask, in.keys, in.queries});
  }
};

/// Do the architecture's tensor cores serve this attention? Then the other emits it (attention_tensor.cc).
bool attention_by_tensor_cores(int sm, const gpu::AttentionTiles&);
void emit_by_tensor_cores(GpuModule&, const gpu::AttentionTiles&);

}  // namespace reprise::jit
