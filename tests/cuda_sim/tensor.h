#pragma once
#include <cstdint>

/// Operations of a warp's tensor core: what rewrite_tensor.cc asks of tensor.cc.
namespace sim {

/// Dtypes of mma's operands; the first is 0.
enum class Tensor : std::uint32_t { BFloat16, Float16, Tf32, Int8, E4m3, E5m2 };
/// Behind them: ldmatrix of so many matrices, 8 more where they are transposed.
constexpr std::uint32_t kLoadMatrices = 16;
/// Behind those: wgmma.wait_group for all but so many.
constexpr std::uint32_t kWaitForProducts = 64;

/// A product of a warpgroup as a number.
struct WarpgroupProduct {
  Tensor kind, b_kind;                  ///< of Float8 there may be two
  std::uint32_t columns;                ///< 8 to 256
  bool a_in_registers, a_by_k, b_by_k;  ///< by_k: neighbours in memory are neighbours along m or n ("transposed")
  bool fresh;                           ///< sums that were there do not count
  constexpr std::uint32_t number() const {
    return static_cast<std::uint32_t>(kind) | columns << 4 | static_cast<std::uint32_t>(b_kind) << 20 |
           std::uint32_t{a_in_registers} << 16 | std::uint32_t{a_by_k} << 17 | std::uint32_t{b_by_k} << 18 |
           std::uint32_t{fresh} << 19;
  }
  static constexpr WarpgroupProduct of(std::uint32_t n) {
    return {static_cast<Tensor>(n & 15),
            static_cast<Tensor>(n >> 20 & 15),
            n >> 4 & 0xfff,
            (n >> 16 & 1) != 0,
            (n >> 17 & 1) != 0,
            (n >> 18 & 1) != 0,
            (n >> 19 & 1) != 0};
  }
};
/// Performs, for a warp, those that all but the last `pending` groups hold (warpgroup.cc).
struct Thread;
void perform_products(std::uint32_t pending, Thread* warp);
/// Element `i` of those that a register holds.
double element(Tensor kind, std::uint32_t bits, int i);

}  // namespace sim
