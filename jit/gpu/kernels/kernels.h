#pragma once
#include <vector>

#include "jit/gpu/kernels/code.h"
#include "kernels/gpu/kernels.h"

namespace reprise::jit {

/// Emitters of the kernels in kernels/gpu/kernels.h, which says what they compute and take.
using GridParams = std::vector<std::int64_t>;
void emit_product(GridModule&, const GridParams&);
void emit_product_dot(GridModule&, const GridParams&);
void emit_product_sum(GridModule&, const GridParams&);
void emit_attention(GridModule&, const GridParams&);
void emit_attention_part(GridModule&, const GridParams&);
void emit_attention_join(GridModule&, const GridParams&);
void emit_arg_reduce(GridModule&, const GridParams&);
void emit_cumsum(GridModule&, const GridParams&);
void emit_order(GridModule&, const GridParams&);
void emit_check_index(GridModule&, const GridParams&);
void emit_check_weights(GridModule&, const GridParams&);
void emit_copy(GridModule&, const GridParams&);
void emit_random(GridModule&, const GridParams&);
void emit_arrivals(GridModule&, const GridParams&);
void emit_draw(GridModule&, const GridParams&);
void emit_scatter(GridModule&, const GridParams&);
void emit_index_offsets(GridModule&, const GridParams&);
void emit_index_last(GridModule&, const GridParams&);
void emit_index_put(GridModule&, const GridParams&);

/// A walk over dims as a kernel takes it: sizes, then strides by tensor.
struct GridWalk {
  GridWalk(GridCode& g, int dims, int tensors) : g(g) {
    for (int d = 0; d < dims; ++d) sizes.push_back(g.take());
    for (int t = 0; t < tensors; ++t) {
      strides.emplace_back();
      for (int d = 0; d < dims; ++d) strides.back().push_back(g.take());
    }
  }
  static int ints(int dims, int tensors) { return dims * (1 + tensors); }
  /// Offset of each tensor's element `index` (i64), counted with the last dim fastest.
  Vs offsets(V index) const;

  GridCode& g;
  Vs sizes;
  std::vector<Vs> strides;
};

/// Number of this thread in a grid of blocks of kElementThreads (i64).
V thread_of_grid(GridCode&);

/// An integer that orders as elements do, as a signed number; NaN is the greatest. 32 bits, or 64 for types of 64.
V order_key(GridCode&, DType, const V& element);

}  // namespace reprise::jit
