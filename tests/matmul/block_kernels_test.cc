// Micro-kernels of weights in blocks, at every vector width, against the plain unpacking: each element's bits, sums, and no byte read behind the last block.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
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
    case BlockFormat::Q4_0: case BlockFormat::Q5_0: case BlockFormat::Q8_0: case BlockFormat::IQ4_NL: case BlockFormat::IQ4_XS: return {0, -1};
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
    if (second >= 0) put(block + second, groups ? static_cast<float>(random() % 16) : static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 4096);
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
      ASSERT_EQ(std::bit_cast<std::uint32_t>(got + 0.f), std::bit_cast<std::uint32_t>(floats[i] + 0.f)) << "element " << i << ": " << got << ", not " << floats[i];
    }

    const Guarded x(static_cast<std::size_t>(kX * k) * sizeof(float));
    std::vector<float> xs(static_cast<std::size_t>(kX * k));
    std::normal_distribution<float> normal;
    for (float& v : xs) v = normal(random);
    std::memcpy(x.begin(), xs.data(), x.size());
    const jit::CodePtr one = jit::compile(micro::UnpackDot{bits, f.format, 1}), four = jit::compile(micro::UnpackDot{bits, f.format, kX});
    for (const int n : {1, 4, kRows}) {
      Guarded y(static_cast<std::size_t>(kX * n) * sizeof(float)), same(y.size());
      entry<micro::UnpackDot>(four)(x.begin(), k, w.begin(), row, y.begin(), n, n, k);
      for (int i = 0; i < kX; ++i)
        entry<micro::UnpackDot>(one)(x.begin() + static_cast<std::size_t>(i * k) * sizeof(float), k, w.begin(), row, same.begin() + static_cast<std::size_t>(i * n) * sizeof(float), n, n, k);
      EXPECT_TRUE(y == same) << n << ": a row's sums depend on how many there are";
      for (int i = 0; i < kX; ++i)
        for (int j = 0; j < n; ++j) {
          double sum = 0, most = 0;
          for (int c = 0; c < k; ++c) {
            const double product = static_cast<double>(xs[static_cast<std::size_t>(i * k + c)]) * static_cast<double>(floats[static_cast<std::size_t>(j * k + c)]);
            sum += product, most += std::abs(product);
          }
          float got;
          std::memcpy(&got, y.begin() + static_cast<std::size_t>(i * n + j) * sizeof(float), sizeof got);
          EXPECT_NEAR(static_cast<double>(got), sum, most * 1e-6) << "x's row " << i << ", w's row " << j;
        }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockKernels, ::testing::ValuesIn(kBlockFacts), [](const auto& info) { return std::string(info.param.name); });

TEST(BlockFormats, AreFoundByName) {
  for (const BlockFacts& f : kBlockFacts) EXPECT_EQ(block_format(f.name), f.format);
  EXPECT_FALSE(block_format("Q4_2").has_value());
}

}  // namespace
}  // namespace reprise::kernels
