#pragma once
#include <cstdint>

#include "kernels/cpu/micro_kernels.h"
#include "kernels/launch/launch.h"

/// The B of a product as its tiles read it: panels of panel_width columns, each k rows deep (rounded up to lanes, and the columns to whole panels, beyond which
/// stands 0), in the accumulator's dtype. What Gemm in matmul_product.cc packs at every call, made once.
namespace reprise::kernels {

/// How many elements they have for a weight [n, k]. T: a number, or a symbolic one.
template <class T>
T panel_elements(const T& n, const T& k, DType t) {
  const std::int64_t lanes = micro_lanes(micro_vector_bits(), t), width = panel_width(micro_vector_bits(), t);
  return (n + (width - 1)) / width * width * ((k + (lanes - 1)) / lanes * lanes);
}
/// Operands: a weight [n, k] of Float32 or Float64, any strides; its panels.
void prepack_kernel(const NativeArgs&);

}  // namespace reprise::kernels
