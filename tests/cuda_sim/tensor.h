#pragma once
#include <cstdint>

/// Operations of a warp's tensor core: what rewrite_tensor.cc asks of tensor.cc.
namespace sim {

/// Dtypes of mma's operands; the first is 0.
enum class Tensor : std::uint32_t { BFloat16, Float16, Tf32, Int8 };
/// Behind them: ldmatrix of so many matrices, 8 more where they are transposed.
constexpr std::uint32_t kLoadMatrices = 16;

}  // namespace sim
