// rand and randn of Float32: the numbers of kernels/reference/philox.h, a batch at a time in loops that compilers make
// vector code of.
#include <bit>
#include <cmath>
#include <numbers>

#include "device/cpu_info.h"
#include "kernels/cpu/host_kernels.h"
#include "kernels/cpu/matmul_product.h"
#include "kernels/reference/elements.h"

namespace reprise::kernels::host {

namespace {

constexpr int kBatch = 32;
constexpr std::int64_t kGrain = 4096;

// All of it comes once for each set of instructions that it is made for (Draw): it must be inlined there.
#define REPRISE_INLINED [[gnu::always_inline]] inline

/// The first two words of the elements that follow one another from `counter` on.
struct Words {
  std::uint32_t first[kBatch], second[kBatch];

  REPRISE_INLINED Words(std::uint64_t seed, std::uint64_t counter) {
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

REPRISE_INLINED void uniform(const Words& w, float* to) {
  for (int i = 0; i < kBatch; ++i) to[i] = static_cast<float>(static_cast<std::int32_t>(w.first[i] >> 8)) * 0x1p-24F;
}

constexpr std::uint64_t kTwo52 = 0x4330000000000000;  // bits of 2^52: an integer in its lower bits is added to it

/// The logarithm of a number from 1 to 2^32, less that of 2^32. Its error is some 1e-15 of it: series of the inverse
/// hyperbolic tangent.
REPRISE_INLINED double log_of_part(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t power = (bits - 0x3fe6a09e667f3bcd) >> 52;  // so that what is left is from sqrt(1/2) to sqrt(2)
  const double exponent = std::bit_cast<double>(power | kTwo52) - (0x1p52 + 32),
               m = std::bit_cast<double>(bits - (power << 52));
  const double s = (m - 1) / (m + 1), z = s * s;
  double series = 1.0 / 17;
  for (int n = 15; n > 0; n -= 2) series = series * z + 1.0 / n;
  return exponent * std::numbers::ln2 + 2 * s * series;
}

/// Box and Muller's transform, as philox.h has it: the angle is taken to within an eighth of the circle as an integer.
REPRISE_INLINED void normal(const Words& w, float* to) {
  double radius[kBatch], angle[kBatch];
  std::uint64_t odd[kBatch], sign[kBatch];  // of the quarter of the circle
  for (int i = 0; i < kBatch; ++i) {
    const double x = std::bit_cast<double>(w.first[i] | kTwo52) - (0x1p52 - 1);
    radius[i] = -2 * log_of_part(x);
  }
  // by itself: it may set errno, and so is not vector code everywhere
  for (int i = 0; i < kBatch; ++i) radius[i] = std::sqrt(radius[i]);
  for (int i = 0; i < kBatch; ++i) {
    const std::uint32_t quarter = (w.second[i] + 0x20000000U) >> 30;
    angle[i] = static_cast<double>(static_cast<std::int32_t>(w.second[i] - (quarter << 30))) *
               (2 * std::numbers::pi * 0x1p-32);
    odd[i] = -static_cast<std::uint64_t>(quarter & 1), sign[i] = static_cast<std::uint64_t>((quarter + 1) & 2) << 62;
  }
  for (int i = 0; i < kBatch; ++i) {
    const double y = angle[i], z = y * y;
    const double sine =
        y * (1 + z * (-1.0 / 6 +
                      z * (1.0 / 120 +
                           z * (-1.0 / 5040 + z * (1.0 / 362880 + z * (-1.0 / 39916800 +
                                                                       z * (1.0 / 6227020800 - z / 1307674368000)))))));
    const double cosine =
        1 + z * (-0.5 + z * (1.0 / 24 +
                             z * (-1.0 / 720 +
                                  z * (1.0 / 40320 + z * (-1.0 / 3628800 + z * (1.0 / 479001600 - z / 87178291200))))));
    const std::uint64_t either =
        (std::bit_cast<std::uint64_t>(sine) & odd[i]) | (std::bit_cast<std::uint64_t>(cosine) & ~odd[i]);
    to[i] = static_cast<float>(radius[i] * std::bit_cast<double>(either ^ sign[i]));
  }
}

using Draw = void (*)(std::uint64_t seed, std::uint64_t counter, float* to);
struct Draws {
  Draw uniform, normal;
};
void uniform_anywhere(std::uint64_t seed, std::uint64_t counter, float* to) { uniform(Words(seed, counter), to); }
void normal_anywhere(std::uint64_t seed, std::uint64_t counter, float* to) { normal(Words(seed, counter), to); }
#if defined(__x86_64__)
[[gnu::target("avx2")]] void uniform_avx2(std::uint64_t seed, std::uint64_t counter, float* to) {
  uniform(Words(seed, counter), to);
}
[[gnu::target("avx2")]] void normal_avx2(std::uint64_t seed, std::uint64_t counter, float* to) {
  normal(Words(seed, counter), to);
}
[[gnu::target("avx512f,avx512dq,avx512vl")]] void uniform_avx512(std::uint64_t seed, std::uint64_t counter, float* to) {
  uniform(Words(seed, counter), to);
}
[[gnu::target("avx512f,avx512dq,avx512vl")]] void normal_avx512(std::uint64_t seed, std::uint64_t counter, float* to) {
  normal(Words(seed, counter), to);
}
#endif
#undef REPRISE_INLINED

Draws draws() {
#if defined(__x86_64__)
  const int bits = device::cpu_info().vector_bits();
  if (bits >= 512) return {uniform_avx512, normal_avx512};
  if (bits == 256) return {uniform_avx2, normal_avx2};
#endif
  return {uniform_anywhere, normal_anywhere};
}

/// False: the result is not such that this is for it.
bool fill(const NativeArgs& a, Draw draw) {
  const TensorView& out = a.result();
  if (out.dtype != DType::Float32) return false;
  std::int64_t dense = 1;
  for (int d = out.rank; d-- > 0; dense *= out.sizes[d])
    if (out.sizes[d] != 1 && out.strides[d] != dense) return false;
  const auto seed = static_cast<std::uint64_t>(a.integer(3)), offset = static_cast<std::uint64_t>(a.integer(4));
  parallel(out.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    float* to = reinterpret_cast<float*>(out.data);
    std::int64_t i = begin;
    for (; i + kBatch <= end; i += kBatch) draw(seed, offset + static_cast<std::uint64_t>(i), to + i);
    if (i == end) return;
    float rest[kBatch];
    draw(seed, offset + static_cast<std::uint64_t>(i), rest);
    for (float* from = rest; i < end; ++i) to[i] = *from++;
  });
  return true;
}

}  // namespace

void rand(const NativeArgs& a) {
  if (!fill(a, draws().uniform)) reference::rand(a);
}
void randn(const NativeArgs& a) {
  if (!fill(a, draws().normal)) reference::randn(a);
}

}  // namespace reprise::kernels::host
