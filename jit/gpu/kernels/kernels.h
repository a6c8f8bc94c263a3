#pragma once
#include <vector>

#include "jit/gpu/kernels/code.h"
#include "kernels/gpu/kernels.h"

namespace reprise::jit {

/// Emitters of the kernels in kernels/gpu/kernels.h, which says what they compute and take.
using GpuParams = std::vector<std::int64_t>;
void emit_product(GpuModule&, const GpuParams&);
void emit_product_dot(GpuModule&, const GpuParams&);
void emit_product_sum(GpuModule&, const GpuParams&);
void emit_attention(GpuModule&, const GpuParams&);
void emit_attention_part(GpuModule&, const GpuParams&);
void emit_attention_join(GpuModule&, const GpuParams&);
void emit_arg_reduce(GpuModule&, const GpuParams&);
void emit_cumsum(GpuModule&, const GpuParams&);
void emit_order(GpuModule&, const GpuParams&);
void emit_check_index(GpuModule&, const GpuParams&);
void emit_check_weights(GpuModule&, const GpuParams&);
void emit_copy(GpuModule&, const GpuParams&);
void emit_random(GpuModule&, const GpuParams&);
void emit_arrivals(GpuModule&, const GpuParams&);
void emit_draw(GpuModule&, const GpuParams&);
void emit_scatter(GpuModule&, const GpuParams&);
void emit_index_offsets(GpuModule&, const GpuParams&);
void emit_index_last(GpuModule&, const GpuParams&);
void emit_index_put(GpuModule&, const GpuParams&);

/// A walk over dims as a kernel takes it: sizes, then strides by tensor.
struct GpuWalk {
  GpuWalk(GpuCode& g, int dims, int tensors) : g(g) {
    for (int d = 0; d < dims; ++d) sizes.push_back(g.take());
    for (int t = 0; t < tensors; ++t) {
      strides.emplace_back();
      for (int d = 0; d < dims; ++d) strides.back().push_back(g.take());
    }
  }
  static int ints(int dims, int tensors) { return dims * (1 + tensors); }
  /// Offset of each tensor's element `index` (i64), counted with the last dim fastest.
  Vs offsets(V index) const;

  GpuCode& g;
  Vs sizes;
  std::vector<Vs> strides;
};

/// Number of this thread in a grid of blocks of kElementThreads (i64).
V thread_of_grid(GpuCode&);

/// An integer that orders as elements do, as a signed number; NaN is the greatest. 32 bits, or 64 for types of 64.
V order_key(GpuCode&, DType, const V& element);

}  // namespace reprise::jit
