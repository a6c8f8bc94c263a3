// Micro-kernels of weights in blocks, at every vector width, against the plain unpacking: each element's bits, sums,
// and no byte read behind the last block.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "jit/cpu/micro/compile.h"
#include "kernels/cpu/block_kernels.h"
#include "launch_run.h"

namespace reprise::kernels {
namespace {

using testing::Guarded;

/// Where a block of a format has float16 numbers: scales, and minima or zeros; -1: no second.
std::pair<int, int> halves(BlockFormat f) {
  switch (f) {
    case BlockFormat::Q4_0:
    case BlockFormat::Q5_0:
    case BlockFormat::Q8_0:
    case BlockFormat::IQ4_NL:
    case BlockFormat::IQ4_XS: return {0, -1};
    case BlockFormat::Q2_K: return {80, 82};
    case BlockFormat::Q3_K: return {108, -1};
    case BlockFormat::Q6_K: return {208, -1};
    default: return {0, 2};
  }
}

void fill_with_blocks(BlockFormat f, Guarded& all, std::mt19937& random) {
  const BlockFacts& facts = facts_of(f);
  for (std::size_t i = 0; i < all.size(); ++i) all.begin()[i] = static_cast<unsigned char>(random());
  const auto [first, second] = halves(f);
  const bool groups = facts.name[0] == 'G';
  auto put = [&](unsigned char* at, float x) {
    const Half h(x);
    std::memcpy(at, &h.bits, 2);
  };
  for (int b = 0; b < static_cast<int>(all.size()) / facts.bytes; ++b) {
    unsigned char* block = all.begin() + b * facts.bytes;
    put(block + first, static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 4096);
    if (second >= 0)
      put(block + second, groups ? static_cast<float>(random() % 16)
                                 : static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 4096);
  }
}

template <class K>
auto entry(const jit::CodePtr& code) {
  return reinterpret_cast<typename K::Fn>(code->entry);
}

class BlockKernels : public ::testing::TestWithParam<BlockFacts> {};

TEST_P(BlockKernels, UnpackAndMultiply) {
  const BlockFacts& f = GetParam();
  std::mt19937 random(7);
  for (const int bits : {128, 256, 512}) {
    if (bits > micro_vector_bits()) continue;
    SCOPED_TRACE(bits);
    constexpr int kRows = 5, kBlocks = 3, kX = 4;
    const int k = kBlocks * f.elements;
    const std::int64_t row = kBlocks * f.bytes;
    Guarded w(static_cast<std::size_t>(kRows * row));  // ends where memory does
    fill_with_blocks(f.format, w, random);
    std::vector<float> floats(static_cast<std::size_t>(kRows * k));
    unpack_blocks(f.format, w.begin(), kRows * kBlocks, floats.data());

    const jit::CodePtr unpack = jit::compile(micro::Unpack{bits, f.format});
    Guarded to(static_cast<std::size_t>(kRows * k) * sizeof(float));
    entry<micro::Unpack>(unpack)(w.begin(), row, reinterpret_cast<float*>(to.begin()), k, kRows, kBlocks);
    for (std::size_t i = 0; i < floats.size(); ++i) {
      float got;
      std::memcpy(&got, to.begin() + i * sizeof(float), sizeof got);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got + 0.f), std::bit_cast<std::uint32_t>(floats[i] + 0.f))
          << "element " << i << ": " << got << ", not " << floats[i];
    }

    const Guarded x(static_cast<std::size_t>(kX * k) * sizeof(float));
    std::vector<float> xs(static_cast<std::size_t>(kX * k));
    std::normal_distribution<float> normal;
    for (float& v : xs) v = normal(random);
    std::memcpy(x.begin(), xs.data(), x.size());
    const jit::CodePtr one = jit::compile(micro::UnpackDot{bits, f.format, 1}),
                       four = jit::compile(micro::UnpackDot{bits, f.format, kX});
    for (const int n : {1, 4, kRows}) {
      Guarded y(static_cast<std::size_t>(kX * n) * sizeof(float)), same(y.size());
      entry<micro::UnpackDot>(four)(x.begin(), k, w.begin(), row, y.begin(), n, n, k);
      for (int i = 0; i < kX; ++i)
        entry<micro::UnpackDot>(one)(x.begin() + static_cast<std::size_t>(i * k) * sizeof(float), k, w.begin(), row,
                                     same.begin() + static_cast<std::size_t>(i * n) * sizeof(float), n, n, k);
      EXPECT_TRUE(y == same) << n << ": a row's sums depend on how many there are";
      for (int i = 0; i < kX; ++i)
        for (int j = 0; j < n; ++j) {
          double sum = 0, most = 0;
          for (int c = 0; c < k; ++c) {
            const double product = static_cast<double>(xs[static_cast<std::size_t>(i * k + c)]) *
                                   static_cast<double>(floats[static_cast<std::size_t>(j * k + c)]);
            sum += product, most += std::abs(product);
          }
          float got;
          std::memcpy(&got, y.begin() + static_cast<std::size_t>(i * n + j) * sizeof(float), sizeof got);
          EXPECT_NEAR(static_cast<double>(got), sum, most * 1e-6) << "x's row " << i << ", w's row " << j;
        }
    }
  }
}

template <class T>
std::vector<T> taken(const Guarded& from, std::size_t n) {
  std::vector<T> all(n);
  std::memcpy(all.data(), from.begin(), n * sizeof(T));
  return all;
}

TEST_P(BlockKernels, BytesAreTheSameElements) {
  const BlockFacts& f = GetParam();
  std::mt19937 random(8);
  constexpr int kRows = 3, kBlocks = 2;
  const int k = kBlocks * f.elements, part = part_of(f.format), parts = k / part;
  const std::int64_t row = kBlocks * f.bytes;
  Guarded w(static_cast<std::size_t>(kRows * row));
  fill_with_blocks(f.format, w, random);
  std::vector<float> floats(static_cast<std::size_t>(kRows * k));
  unpack_blocks(f.format, w.begin(), kRows * kBlocks, floats.data());
  for (const int bits : {128, 256, 512}) {
    if (bits > micro_vector_bits()) continue;
    SCOPED_TRACE(bits);
    const jit::CodePtr code = jit::compile(micro::UnpackBytes{bits, f.format});
    const Guarded q(static_cast<std::size_t>(kRows * k)),
        scale(static_cast<std::size_t>(kRows * parts) * sizeof(float)), less(scale.size());
    entry<micro::UnpackBytes>(code)(w.begin(), row, q.begin(), k, reinterpret_cast<float*>(scale.begin()),
                                    reinterpret_cast<float*>(less.begin()), parts, kRows, kBlocks);
    const auto scales = taken<float>(scale, static_cast<std::size_t>(kRows * parts)),
               lesses = taken<float>(less, scales.size());
    for (std::size_t i = 0; i < floats.size(); ++i) {
      const std::size_t at = i / static_cast<std::size_t>(part);
      ASSERT_LE(q.begin()[i], unsigned_range(f.format).most);
      const double x = static_cast<double>(q.begin()[i]) * static_cast<double>(scales[at]),
                   y = static_cast<double>(lesses[at]);
      ASSERT_NEAR(x - y, static_cast<double>(floats[i]), (std::abs(x) + std::abs(y)) * 1e-6) << "element " << i;
    }
  }
}

// The packed panel is what unpacking and turning give.
TEST_P(BlockKernels, PackedRowsAreTheUnpackedOnes) {
  const BlockFacts& f = GetParam();
  if (!is_plain(f.format)) GTEST_SKIP() << "not plain";
  std::mt19937 random(11);
  constexpr int kBlocks = 3;
  const int k = kBlocks * f.elements, part = part_of(f.format), parts = k / part;
  const std::int64_t row = kBlocks * f.bytes;
  for (const int bits : {128, 256, 512}) {
    if (bits > micro_vector_bits()) continue;
    SCOPED_TRACE(bits);
    const int lanes = micro_lanes(bits, DType::Float32), width = byte_columns(bits);
    const auto count = static_cast<std::size_t>(lanes);
    Guarded w(count * static_cast<std::size_t>(row));
    fill_with_blocks(f.format, w, random);
    const Guarded q(count * static_cast<std::size_t>(k)),
        scale(count * static_cast<std::size_t>(parts) * sizeof(float)), less(scale.size());
    entry<micro::UnpackBytes>(jit::compile(micro::UnpackBytes{bits, f.format}))(
        w.begin(), row, q.begin(), k, reinterpret_cast<float*>(scale.begin()), reinterpret_cast<float*>(less.begin()),
        parts, lanes, kBlocks);
    // The first columns of a panel: its last row ends with them.
    const Guarded to(static_cast<std::size_t>((k / 4 - 1) * width + lanes) * 4),
        by(static_cast<std::size_t>((parts - 1) * width + lanes) * sizeof(float)), minus(by.size()),
        halves(count * kBlocks * sizeof(std::uint32_t));
    entry<micro::PackBytes>(jit::compile(micro::PackBytes{bits, f.format}))(
        w.begin(), row, to.begin(), reinterpret_cast<float*>(by.begin()), reinterpret_cast<float*>(minus.begin()),
        reinterpret_cast<std::uint32_t*>(halves.begin()), kBlocks);
    const auto scales = taken<float>(scale, count * static_cast<std::size_t>(parts)),
               lesses = taken<float>(less, scales.size()), packed = taken<float>(by, by.size() / sizeof(float)),
               packed_less = taken<float>(minus, packed.size());
    for (int r = 0; r < lanes; ++r) {
      for (int i = 0; i < k; ++i)
        ASSERT_EQ(to.begin()[(i / 4 * width + r) * 4 + i % 4], q.begin()[r * k + i])
            << "row " << r << ", element " << i;
      for (int p = 0; p < parts; ++p) {
        const auto at = static_cast<std::size_t>(p * width + r), from = static_cast<std::size_t>(r * parts + p);
        ASSERT_EQ(packed[at], scales[from]) << "row " << r << ", part " << p;
        ASSERT_EQ(packed_less[at], lesses[from]) << "row " << r << ", part " << p;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockKernels, ::testing::ValuesIn(kBlockFacts),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(QuantizeRows, RoundsEachPartToItsLargest) {
  constexpr int kRows = 2, kParts = 7;  // four at a time, and three
  for (const int part : {16, 32})
    for (const int bits : {128, 256, 512}) {
      if (bits > micro_vector_bits()) continue;
      SCOPED_TRACE(std::to_string(bits) + " bits, parts of " + std::to_string(part));
      const int k = kParts * part;
      std::vector<float> x(static_cast<std::size_t>(kRows * k));
      std::mt19937 random(9);
      std::normal_distribution<float> normal;
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = normal(random) * static_cast<float>(std::exp2(static_cast<double>(i) / part));
      // too small, and nothing
      for (int i = 0; i < part; ++i) x[static_cast<std::size_t>(i)] = i % 2 ? 1e-35f : -1e-40f;
      x[static_cast<std::size_t>(k + 3)] = std::numeric_limits<float>::quiet_NaN();
      const Guarded from(x.size() * sizeof(float)), q(x.size()), scale(kRows * kParts * sizeof(float)),
          less(scale.size());
      std::memcpy(from.begin(), x.data(), from.size());
      const jit::CodePtr code = jit::compile(micro::QuantizeRows{bits, part});
      const micro::QuantizedRows rows{reinterpret_cast<const float*>(from.begin()),
                                      k,
                                      reinterpret_cast<std::int8_t*>(q.begin()),
                                      k,
                                      reinterpret_cast<float*>(scale.begin()),
                                      reinterpret_cast<float*>(less.begin()),
                                      kParts,
                                      kRows,
                                      kParts};
      entry<micro::QuantizeRows>(code)(&rows);
      const auto scales = taken<float>(scale, kRows * kParts), lesses = taken<float>(less, kRows * kParts);
      for (int p = 0; p < kRows * kParts; ++p) {
        if (p == kParts) {
          EXPECT_TRUE(std::isnan(scales[static_cast<std::size_t>(p)])) << "a part with a NaN";
          continue;
        }
        const double by = static_cast<double>(scales[static_cast<std::size_t>(p)]);
        int sum = 0, most = 0;
        for (int i = 0; i < part; ++i) {
          const std::size_t at = static_cast<std::size_t>(p * part + i);
          const int n = reinterpret_cast<const std::int8_t*>(q.begin())[at];
          EXPECT_NEAR(n * by, static_cast<double>(x[at]), by * 0.5001 + (p == 0 ? 1e-30 : 0))
              << "part " << p << ", element " << i;
          sum += n, most = std::max(most, std::abs(n));
        }
        EXPECT_EQ(most, p == 0 ? 0 : 127) << "part " << p;
        EXPECT_NEAR(static_cast<double>(lesses[static_cast<std::size_t>(p)]), -sum * by, std::abs(sum * by) * 1e-6)
            << "part " << p;
      }
    }
}

TEST(MultiplyBytes, SumsAreExactAndTheSameInEveryForm) {
  constexpr int kParts = 3;
  for (const int part : {16, 32})
    for (const int most : {3, 15, 31, 63, 255})
      for (const int bits : {128, 256, 512}) {
        if (bits > micro_vector_bits()) continue;
        const int width = byte_columns(bits), k = kParts * part;
        SCOPED_TRACE(std::to_string(bits) + " bits, parts of " + std::to_string(part) + ", up to " +
                     std::to_string(most));
        std::mt19937 random(10);
        const Guarded x(static_cast<std::size_t>(kByteRows * k)), w(static_cast<std::size_t>(k * width)),
            x_scale(kByteRows * kParts * sizeof(float)), x_less(x_scale.size()),
            w_scale(static_cast<std::size_t>(kParts * width) * sizeof(float)), w_less(w_scale.size());
        // All that is largest meets in the first part.
        for (std::size_t i = 0; i < x.size(); ++i)
          x.begin()[i] = static_cast<unsigned char>(i < static_cast<std::size_t>(part) ? 127
                                                    : i % static_cast<std::size_t>(k) < static_cast<std::size_t>(part)
                                                        ? -127
                                                        : static_cast<int>(random() % 255) - 127);
        for (std::size_t i = 0; i < w.size(); ++i)
          w.begin()[i] = static_cast<unsigned char>(i < static_cast<std::size_t>(part * width)
                                                        ? static_cast<unsigned>(most)
                                                        : random() % static_cast<unsigned>(most + 1));
        auto fill = [&](const Guarded& to) {
          for (std::size_t i = 0; i < to.size(); i += sizeof(float)) {
            const float v = static_cast<float>(random() % 1000) / 256;
            std::memcpy(to.begin() + i, &v, sizeof v);
          }
        };
        fill(x_scale), fill(x_less), fill(w_scale), fill(w_less);
        auto multiplied = [&](bool wide, int rows, int n) {
          const Guarded y(static_cast<std::size_t>(kByteRows * n) * sizeof(float));
          const jit::CodePtr code = jit::compile(micro::MultiplyBytes{bits, part, most, wide, rows});
          for (int r = 0; r < kByteRows; r += rows)
            for (int p = 0; p < kParts; p += 2) {  // two parts, then one more
              auto numbers = [&](const Guarded& of, int at) { return reinterpret_cast<const float*>(of.begin()) + at; };
              const micro::ByteTile tile{reinterpret_cast<const std::int8_t*>(x.begin()) + r * k + p * part,
                                         k,
                                         numbers(x_scale, r * kParts + p),
                                         numbers(x_less, r * kParts + p),
                                         kParts,
                                         w.begin() + p * part * width,
                                         numbers(w_scale, p * width),
                                         numbers(w_less, p * width),
                                         reinterpret_cast<float*>(y.begin()) + r * n,
                                         n,
                                         n,
                                         std::min(2, kParts - p),
                                         p == 0};
              entry<micro::MultiplyBytes>(code)(&tile);
            }
          return taken<float>(y, static_cast<std::size_t>(kByteRows * n));
        };
        const std::vector<float> y = multiplied(has_byte_products(bits), kByteRows, width);
        for (int r = 0; r < kByteRows; ++r)
          for (int c = 0; c < width; ++c) {
            double sum = 0, size = 0;
            for (int p = 0; p < kParts; ++p) {
              std::int64_t whole = 0;
              for (int i = 0; i < part; ++i)
                whole += reinterpret_cast<const std::int8_t*>(x.begin())[r * k + p * part + i] *
                         w.begin()[((p * part + i) / 4 * width + c) * 4 + i % 4];
              auto number = [&](const Guarded& of, int at) {
                return static_cast<double>(taken<float>(of, of.size() / sizeof(float))[static_cast<std::size_t>(at)]);
              };
              const double product = static_cast<double>(whole) * number(x_scale, r * kParts + p) *
                                     number(w_scale, p * width + c),
                           less = number(x_less, r * kParts + p) * number(w_less, p * width + c);
              sum += product + less, size += std::abs(product) + std::abs(less);
            }
            ASSERT_NEAR(static_cast<double>(y[static_cast<std::size_t>(r * width + c)]), sum, size * 1e-6)
                << "row " << r << ", column " << c;
          }
        EXPECT_EQ(multiplied(false, kByteRows, width), y) << "pairs in 16 bits";
        EXPECT_EQ(multiplied(has_byte_products(bits), 1, width), y) << "rows one by one";
        const std::vector<float> some = multiplied(has_byte_products(bits), kByteRows, width - 3);
        for (int r = 0; r < kByteRows; ++r)
          for (int c = 0; c < width - 3; ++c)
            EXPECT_EQ(some[static_cast<std::size_t>(r * (width - 3) + c)], y[static_cast<std::size_t>(r * width + c)]);
      }
}

TEST(BlockFormats, AreFoundByName) {
  for (const BlockFacts& f : kBlockFacts) EXPECT_EQ(block_format(f.name), f.format);
  EXPECT_FALSE(block_format("Q4_2").has_value());
}

}  // namespace
}  // namespace reprise::kernels
