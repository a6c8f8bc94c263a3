// rand and randn of Float32: the numbers of kernels/reference/philox.h, a batch at a time in loops that compilers make vector code of.
#include <bit>
#include <cmath>
#include <numbers>

#include "kernels/cpu/host_kernels.h"
#include "kernels/cpu/matmul_product.h"
#include "kernels/reference/elements.h"

namespace reprise::kernels::host {

namespace {

constexpr int kBatch = 32;
constexpr std::int64_t kGrain = 4096;

/// The first two words of the elements that follow one another from `counter` on.
struct Words {
  std::uint32_t first[kBatch], second[kBatch];

  Words(std::uint64_t seed, std::uint64_t counter) {
    std::uint32_t c0[kBatch], c1[kBatch], c2[kBatch] = {}, c3[kBatch] = {};
    for (int i = 0; i < kBatch; ++i) {
      const std::uint64_t c = counter + static_cast<std::uint64_t>(i);
      c0[i] = static_cast<std::uint32_t>(c), c1[i] = static_cast<std::uint32_t>(c >> 32);
    }
    auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85)
      for (int i = 0; i < kBatch; ++i) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c0[i], p1 = std::uint64_t{0xCD9E8D57} * c2[i];
        c0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[i] ^ k0, c1[i] = static_cast<std::uint32_t>(p1);
        c2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[i] ^ k1, c3[i] = static_cast<std::uint32_t>(p0);
      }
    for (int i = 0; i < kBatch; ++i) first[i] = c0[i], second[i] = c1[i];
  }
};

void uniform(const Words& w, float* to) {
  for (int i = 0; i < kBatch; ++i) to[i] = static_cast<float>(static_cast<std::int32_t>(w.first[i] >> 8)) * 0x1p-24F;
}

constexpr std::uint64_t kTwo52 = 0x4330000000000000;  // bits of 2^52: an integer in its lower bits is added to it

/// The logarithm of a number from 1 to 2^32, less that of 2^32. Its error is some 1e-15 of it: series of the inverse hyperbolic tangent.
double log_of_part(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  double exponent = std::bit_cast<double>(bits >> 52 | kTwo52) - (0x1p52 + 1023 + 32);
  double m = std::bit_cast<double>((bits & 0x000fffffffffffff) | 0x3ff0000000000000);
  const bool upper = m > std::numbers::sqrt2;
  m = upper ? m * 0.5 : m;
  exponent = upper ? exponent + 1 : exponent;
  const double s = (m - 1) / (m + 1), z = s * s;
  double series = 1.0 / 17;
  for (int n = 15; n > 0; n -= 2) series = series * z + 1.0 / n;
  return exponent * std::numbers::ln2 + 2 * s * series;
}

/// Box and Muller's transform, as philox.h has it: the angle is taken to within an eighth of the circle as an integer.
void normal(const Words& w, float* to) {
  double radius[kBatch], angle[kBatch];
  std::uint32_t quarter[kBatch];
  for (int i = 0; i < kBatch; ++i) {
    const double x = std::bit_cast<double>(w.first[i] | kTwo52) - (0x1p52 - 1);
    radius[i] = std::sqrt(-2 * log_of_part(x));
  }
  for (int i = 0; i < kBatch; ++i) {
    quarter[i] = (w.second[i] + 0x20000000U) >> 30;
    angle[i] = static_cast<double>(static_cast<std::int32_t>(w.second[i] - (quarter[i] << 30))) * (2 * std::numbers::pi * 0x1p-32);
  }
  for (int i = 0; i < kBatch; ++i) {
    const double y = angle[i], z = y * y;
    const double sine = y * (1 + z * (-1.0 / 6 + z * (1.0 / 120 + z * (-1.0 / 5040 + z * (1.0 / 362880 + z * (-1.0 / 39916800 + z * (1.0 / 6227020800 - z / 1307674368000)))))));
    const double cosine = 1 + z * (-0.5 + z * (1.0 / 24 + z * (-1.0 / 720 + z * (1.0 / 40320 + z * (-1.0 / 3628800 + z * (1.0 / 479001600 - z / 87178291200))))));
    const double magnitude = radius[i] * (quarter[i] & 1 ? sine : cosine);
    to[i] = static_cast<float>((quarter[i] + 1) & 2 ? -magnitude : magnitude);
  }
}

/// False: the result is not such that this is for it.
template <class F>
bool fill(const NativeArgs& a, F&& draw) {
  const TensorView& out = a.result();
  if (out.dtype != DType::Float32) return false;
  std::int64_t dense = 1;
  for (int d = out.rank; d-- > 0; dense *= out.sizes[d])
    if (out.sizes[d] != 1 && out.strides[d] != dense) return false;
  const auto seed = static_cast<std::uint64_t>(a.integer(3)), offset = static_cast<std::uint64_t>(a.integer(4));
  parallel(out.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    float* to = reinterpret_cast<float*>(out.data);
    std::int64_t i = begin;
    for (; i + kBatch <= end; i += kBatch) draw(Words(seed, offset + static_cast<std::uint64_t>(i)), to + i);
    if (i == end) return;
    float rest[kBatch];
    draw(Words(seed, offset + static_cast<std::uint64_t>(i)), rest);
    for (float* from = rest; i < end; ++i) to[i] = *from++;
  });
  return true;
}

}  // namespace

void rand(const NativeArgs& a) {
  if (!fill(a, uniform)) reference::rand(a);
}
void randn(const NativeArgs& a) {
  if (!fill(a, normal)) reference::randn(a);
}

}  // namespace reprise::kernels::host
