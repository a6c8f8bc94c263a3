#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "tests/cuda_sim/execution.h"
#include "tests/cuda_sim/tensor.h"

/// What a warp's tensor core computes. Each lane's part of a matrix (its fragment) is as PTX tells for mma.m16n8k16,
/// .m16n8k8, .m16n8k32 and ldmatrix: of lane l, g = l / 4 and t = l % 4.
namespace sim {

namespace {

float of_half(std::uint32_t bits) {
  const std::uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float sign = bits & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 31) return fraction ? std::nanf("") : sign * INFINITY;
  return sign * (exponent ? std::ldexp(static_cast<float>(1024 + fraction), static_cast<int>(exponent) - 25)
                          : std::ldexp(static_cast<float>(fraction), -24));
}

}  // namespace

double element(Tensor kind, std::uint32_t bits, int i) {
  switch (kind) {
    case Tensor::BFloat16: return std::bit_cast<float>((bits >> (16 * i) & 0xffff) << 16);
    case Tensor::Float16: return of_half(bits >> (16 * i) & 0xffff);
    case Tensor::E5m2:  // the upper half of a Float16
      return of_half((bits >> (8 * i) & 0xff) << 8);
    case Tensor::E4m3: {
      const std::uint32_t x = bits >> (8 * i) & 0xff, exponent = x >> 3 & 15, fraction = x & 7;
      if ((x & 0x7f) == 0x7f) return std::nan("");
      return (x & 0x80 ? -1.0 : 1.0) * (exponent ? std::ldexp(8.0 + fraction, static_cast<int>(exponent) - 10)
                                                 : std::ldexp(static_cast<double>(fraction), -9));
    }
    case Tensor::Tf32:  // the lowest bits take no part
      return std::bit_cast<float>(bits & ~0x1fffu);
    default: return static_cast<std::int8_t>(bits >> (8 * i) & 0xff);
  }
}

namespace {

/// d = a b + c with a of 16 x k, b of k x 8. Products are exact, and sums rounded once: a device adds in an order and
/// with bits that are its own.
void multiply(Tensor kind, Thread* warp) {
  const int in_register = kind == Tensor::Tf32 ? 1 : kind == Tensor::Int8 ? 4 : 2, depth = 8 * in_register;
  std::array<std::array<double, 32>, 16> a{};
  std::array<std::array<double, 8>, 32> b{};
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    const Thread& from = warp[lane];
    for (int r = 0; r < 4; ++r)
      for (int i = 0; i < in_register; ++i)
        a[static_cast<std::size_t>(g + r % 2 * 8)][static_cast<std::size_t>(t * in_register + i + r / 2 * depth / 2)] =
            element(kind, from.fragment[static_cast<std::size_t>(r)], i);
    for (int r = 0; r < 2; ++r)
      for (int i = 0; i < in_register; ++i)
        b[static_cast<std::size_t>(t * in_register + i + r * depth / 2)][static_cast<std::size_t>(g)] =
            element(kind, from.fragment[static_cast<std::size_t>(4 + r)], i);
  }
  for (int lane = 0; lane < 32; ++lane) {
    Thread& to = warp[lane];
    for (std::size_t r = 0; r < 4; ++r) {
      const std::size_t row = static_cast<std::size_t>(lane / 4) + r / 2 * 8,
                        column = static_cast<std::size_t>(lane % 4) * 2 + r % 2;
      double sum = 0;
      for (std::size_t k = 0; k < static_cast<std::size_t>(depth); ++k) sum += a[row][k] * b[k][column];
      const std::uint32_t c = to.fragment[6 + r];
      if (kind == Tensor::Int8)  // wraps
        to.fragment[r] = static_cast<std::uint32_t>(static_cast<std::int64_t>(sum)) + c;
      else
        to.fragment[r] =
            std::bit_cast<std::uint32_t>(static_cast<float>(sum + static_cast<double>(std::bit_cast<float>(c))));
    }
  }
}

/// Lane 8 i + r has row r of matrix i, 8 elements of 16 bits, in its first four registers.
void distribute(int matrices, bool transposed, Thread* warp) {
  std::array<std::array<std::uint16_t, 8>, 32> rows;
  for (std::size_t lane = 0; lane < 32; ++lane) std::memcpy(rows[lane].data(), warp[lane].fragment.data(), 16);
  for (std::size_t lane = 0; lane < 32; ++lane)
    for (std::size_t m = 0; m < static_cast<std::size_t>(matrices); ++m) {
      const std::size_t g = lane / 4, t = lane % 4 * 2;
      const std::uint32_t low = transposed ? rows[8 * m + t][g] : rows[8 * m + g][t],
                          high = transposed ? rows[8 * m + t + 1][g] : rows[8 * m + g][t + 1];
      warp[lane].fragment[m] = high << 16 | low;
    }
}

/// in: of the calling lane; out: 4 registers.
void tensor(std::uint32_t operation, const std::uint32_t* in, std::uint32_t* out, std::uint32_t site) {
  Thread& t = *g_exec.current;
  std::memcpy(t.fragment.data(), in, sizeof t.fragment);
  together(kTensorOperation + operation, ~0u, site);
  std::memcpy(out, t.fragment.data(), 16);
}

}  // namespace

void perform_tensor(std::uint32_t operation, Thread* warp, std::uint32_t members) {
  if (members != ~0u) {
    report_kernel_error(CUDA_ERROR_LAUNCH_FAILED,
                        "an operation of a whole warp (mma, ldmatrix), of which lanes are missing",
                        warp[std::countr_zero(members)].site);
    return;
  }
  if (operation >= kWaitForProducts) perform_products(operation - kWaitForProducts, warp);
  else if (operation < kLoadMatrices) multiply(static_cast<Tensor>(operation), warp);
  else distribute(static_cast<int>(operation - kLoadMatrices) % 8, operation - kLoadMatrices >= 8, warp);
}

std::span<const RuntimeFunction> tensor_functions() {
  static const RuntimeFunction all[] = {{"sim_tensor", reinterpret_cast<void*>(tensor)}};
  return all;
}

}  // namespace sim
