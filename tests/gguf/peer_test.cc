// A file that the package gguf has written, against what that package reads in it (scripts/gguf_peer.py).
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "reprise/ops.h"
#include "tests/gguf/made.h"

using namespace reprise;

namespace {

std::vector<float> floats(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<float> all(bytes.size() / sizeof(float));
  std::memcpy(all.data(), bytes.data(), all.size() * sizeof(float));
  return all;
}

TEST(GgufPeer, ReadsTheSame) {
  const char* folder = std::getenv("REPRISE_TEST_GGUF_PEER");
  if (!folder) GTEST_SKIP() << "scripts/gguf_peer.py sets REPRISE_TEST_GGUF_PEER";
  const std::string at = folder;
  const gguf::File file = gguf::File::open(at + "/peer.gguf");
  EXPECT_EQ(file.integer("p.u8"), 200);
  EXPECT_EQ(file.integer("p.i64"), -(std::int64_t{1} << 40));
  EXPECT_EQ(file.number("p.f64"), 0.1);
  EXPECT_TRUE(file.flag("p.bool"));
  EXPECT_EQ(file.text("p.text"), "\xc3\xa9t\xc3\xa9");
  EXPECT_EQ(file.texts("p.texts"), (std::vector<std::string>{"a", "", "\xe2\x96\x81the"}));
  EXPECT_EQ(file.numbers("p.floats"), (std::vector<double>{0.5, -1}));
  for (const std::string& name : file.names()) {
    const std::vector<float> wanted = floats(at + "/" + name + ".f32");
    const gguf::Blocks b = file.blocks(name);
    const std::vector<float> got = b.dequantize().to_vector<float>();
    ASSERT_EQ(got.size(), wanted.size()) << name;
    ASSERT_FALSE(got.empty());
    // Of zeros the sign does not count.
    std::size_t apart = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      apart += std::bit_cast<std::uint32_t>(got[i]) != std::bit_cast<std::uint32_t>(wanted[i]) &&
               (got[i] != 0 || wanted[i] != 0);
    EXPECT_EQ(apart, 0u) << name;
    if (gguf::is_quantized(b.type)) {
      // The kernel of products: one column at a time comes out as it is.
      const std::int64_t k = b.size(1).value(), column = 37 % k;
      const Tensor unit = one_hot(tensor({column}), k).to(kFloat32);
      const std::vector<float> y = gguf::linear(unit, b).to_vector<float>();
      for (std::size_t r = 0; r < y.size(); ++r)
        ASSERT_EQ(y[r], wanted[r * static_cast<std::size_t>(k) + static_cast<std::size_t>(column)])
            << name << " row " << r;
    }
    std::printf("%-5s %zu elements, %zu differ\n", name.c_str(), got.size(), apart);
  }
}

}  // namespace
