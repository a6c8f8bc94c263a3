// Weights quantized by groups (reprise/quantized.h), written here as GPTQ and AWQ write them, against float64.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <random>

#include "reprise/compile.h"
#include "reprise/ops.h"
#include "reprise/quantized.h"
#include "reprise/stream.h"
#include "reprise/weights.h"
#include "tests/gguf/made.h"

using namespace reprise;
using quantized::Groups, quantized::Packed, quantized::Zeros;

namespace {

struct How {
  const char* name;
  int bits;
  std::int64_t in, out, group;
  bool awq = false, symmetric = false, shuffled = false;
  Zeros zeros = Zeros::LessOne;
  DType scales = kFloat16;
};

struct Made {
  Packed packed;
  Tensor floats;  ///< [out, in], float64
};

Made made_of(const How& h, unsigned seed = 5) {
  std::mt19937 random(seed);
  const std::int64_t groups = h.in / h.group, per_word = 32 / h.bits, most = (1 << h.bits) - 1;
  std::vector<std::int64_t> q(static_cast<std::size_t>(h.in * h.out)), zeros(static_cast<std::size_t>(groups * h.out)),
      of(static_cast<std::size_t>(h.in));
  std::vector<float> scales(zeros.size());
  for (auto& x : q) x = static_cast<std::int64_t>(random()) & most;
  for (auto& z : zeros) z = h.symmetric ? (most + 1) / 2 : static_cast<std::int64_t>(random()) & most;
  // of 8 bits: exact in all floats
  for (auto& s : scales) s = static_cast<float>(static_cast<int>(random() % 256) + 1) / 8192;
  for (std::int64_t i = 0; i < h.in; ++i) of[static_cast<std::size_t>(i)] = i / h.group;
  if (h.shuffled) std::shuffle(of.begin(), of.end(), random);
  auto at = [](auto& v, std::int64_t row, std::int64_t column, std::int64_t columns) -> auto& {
    return v[static_cast<std::size_t>(row * columns + column)];
  };
  std::vector<double> floats;
  for (std::int64_t o = 0; o < h.out; ++o)
    for (std::int64_t i = 0; i < h.in; ++i) {
      const std::int64_t g = of[static_cast<std::size_t>(i)];
      floats.push_back(static_cast<double>(at(q, i, o, h.out) - at(zeros, g, o, h.out)) *
                       static_cast<double>(at(scales, g, o, h.out)));
    }
  // Eight columns of AWQ: in which place the column stands that comes i-th in a word.
  constexpr int kColumnAt[8] = {0, 2, 4, 6, 1, 3, 5, 7};
  auto by_columns = [&](const std::vector<std::int64_t>& v, std::int64_t rows, std::int64_t less) {
    std::vector<std::int32_t> words;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t w = 0; w < h.out / per_word; ++w) {
        std::uint32_t word = 0;
        for (std::int64_t i = 0; i < per_word; ++i)
          word |= static_cast<std::uint32_t>((at(v, r, w * per_word + (h.awq ? kColumnAt[i] : i), h.out) - less) & most)
                  << (i * h.bits);
        words.push_back(static_cast<std::int32_t>(word));
      }
    return tensor_of(words, {rows, h.out / per_word});
  };
  Made m;
  if (h.awq) {
    m.packed.qweight = by_columns(q, h.in, 0);
  } else {
    std::vector<std::int32_t> words;
    for (std::int64_t w = 0; w < h.in / per_word; ++w)
      for (std::int64_t o = 0; o < h.out; ++o) {
        std::uint32_t word = 0;
        for (std::int64_t i = 0; i < per_word; ++i)
          word |= static_cast<std::uint32_t>(at(q, w * per_word + i, o, h.out)) << (i * h.bits);
        words.push_back(static_cast<std::int32_t>(word));
      }
    m.packed.qweight = tensor_of(words, {h.in / per_word, h.out});
    m.packed.g_idx = tensor_of(of, {h.in}).to(kInt32);
  }
  m.packed.qzeros = by_columns(zeros, groups, !h.awq && h.zeros == Zeros::LessOne);
  m.packed.scales = tensor_of(scales, {groups, h.out}).to(h.scales);
  m.floats = tensor_of(floats, {h.out, h.in});
  return m;
}

const How kHow[] = {
    {.name = "gptq", .bits = 4, .in = 256, .out = 72, .group = 128},
    {.name = "gptq 32", .bits = 4, .in = 96, .out = 40, .group = 32, .symmetric = true},
    {.name = "gptq 64, act-order", .bits = 4, .in = 256, .out = 48, .group = 64, .shuffled = true},
    {.name = "gptq, one group", .bits = 4, .in = 384, .out = 16, .group = 384},
    {.name = "gptq_v2", .bits = 4, .in = 256, .out = 32, .group = 128, .zeros = Zeros::Exact, .scales = kBFloat16},
    {.name = "gptq 8 bits", .bits = 8, .in = 256, .out = 36, .group = 128},
    {.name = "gptq 8 bits 32, act-order",
     .bits = 8,
     .in = 160,
     .out = 36,
     .group = 32,
     .shuffled = true,
     .scales = kFloat32},
    {.name = "awq", .bits = 4, .in = 256, .out = 64, .group = 128, .awq = true},
    {.name = "awq 64", .bits = 4, .in = 192, .out = 40, .group = 64, .awq = true},
};

TEST(QuantizedGroups, AreWhatTheFileSays) {
  for (const How& h : kHow) {
    SCOPED_TRACE(h.name);
    const Made m = made_of(h);
    const Groups g = quantized::groups(m.packed, h.zeros);
    EXPECT_EQ(g.sizes(), (Ints{h.out, h.in}));
    EXPECT_EQ(g.bits, h.bits);
    EXPECT_EQ(g.order.defined(), h.shuffled);
    EXPECT_TRUE(equal(g.dequantize(kFloat64), m.floats));
    EXPECT_LE(g.bytes(), h.out * h.in * h.bits / 8 + h.out * h.in / 32 * 4);
    auto unpack = compile([](const Groups& w) { return w.dequantize(); });
    EXPECT_TRUE(equal(unpack(g).to(kFloat64), m.floats));
    EXPECT_EQ(unpack.stats().eager_fallbacks, 0u);
  }
}

TEST(QuantizedGroups, ProductsReadWhatIsStored) {
  for (const How& h : kHow)
    for (const DType dtype : {kFloat32, kBFloat16}) {
      SCOPED_TRACE(h.name);
      const Made m = made_of(h);
      const Groups g = quantized::groups(m.packed, h.zeros);
      auto step = compile([](const Groups& w, Tensor x, Tensor b) { return silu(quantized::linear(x * 2, w, b)); });
      const Tensor bias = randn({h.out}, {.dtype = dtype});
      for (const std::int64_t n : {1, 0, 3, 20}) {
        const Tensor x = randn({n, 2, h.in}, {.dtype = dtype});
        const Tensor wanted = silu(linear((x * 2).to(kFloat64), m.floats, bias.to(kFloat64))), got = step(g, x, bias);
        EXPECT_EQ(got.dtype(), dtype);
        EXPECT_TRUE(
            allclose(got.to(kFloat64), wanted, dtype == kFloat32 ? 1e-4 : 2e-2, dtype == kFloat32 ? 1e-4 : 3e-2))
            << n;
      }
      EXPECT_EQ(step.stats().eager_fallbacks, 0u);
      EXPECT_LE(step.stats().compilations, 2u);
    }
}

TEST(QuantizedGroups, ComeFromSafetensors) {
  const Made a = made_of(kHow[2], 1), b = made_of(kHow[7], 2);
  const std::string path =
      (std::filesystem::temp_directory_path() / ("reprise_groups_" + std::to_string(getpid()) + ".safetensors"))
          .string();
  save_safetensors(path, {{"q_proj.qweight", a.packed.qweight},
                          {"q_proj.qzeros", a.packed.qzeros},
                          {"q_proj.scales", a.packed.scales},
                          {"q_proj.g_idx", *a.packed.g_idx},
                          {"up.qweight", b.packed.qweight},
                          {"up.qzeros", b.packed.qzeros},
                          {"up.scales", b.packed.scales}});
  struct Layer {
    Packed q_proj, up;
  } layer;
  load_safetensors(path, layer);
  std::filesystem::remove(path);
  EXPECT_TRUE(layer.q_proj.g_idx.has_value());
  EXPECT_FALSE(layer.up.g_idx.has_value());
  EXPECT_TRUE(equal(quantized::groups(layer.q_proj).dequantize(kFloat64), a.floats));
  EXPECT_TRUE(equal(quantized::groups(layer.up).dequantize(kFloat64), b.floats));
}

TEST(GgufDevice, GroupsMoveAndProductsAreOperators) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device, and no simulator in its place";
  const Made m = made_of(kHow[2]);
  const Groups there = quantized::groups(m.packed).to(Device::cuda());
  auto step = compile([](const Groups& w, Tensor x) { return quantized::linear(x, w) * 2; });
  const Tensor x = randn({5, kHow[2].in});
  EXPECT_TRUE(allclose(step(there, x.cuda()).cpu().to(kFloat64), linear(x.to(kFloat64), m.floats) * 2, 1e-4, 1e-4));
  EXPECT_EQ(step.stats().eager_fallbacks, 0u);
}

TEST(QuantizedGroups, MistakesAreToldInTheirTerms) {
  auto told = [](const std::function<void()>& f, ErrorCode code) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      return e.message();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
  };
  const Made m = made_of(kHow[0]);
  auto with = [&](auto change) {
    Packed p = m.packed;
    change(p);
    return [p] { quantized::groups(p); };
  };
  EXPECT_EQ(told(with([](Packed& p) { p.qzeros = {}; }), ErrorCode::InvalidArgument), "qzeros is undefined");
  EXPECT_EQ(told(with([](Packed& p) { p.qweight = p.qweight.to(kInt64); }), ErrorCode::DTypeMismatch),
            "qweight is int64, not int32");
  EXPECT_NE(told(with([](Packed& p) { p.scales = p.scales.slice(1, 0, 40); }), ErrorCode::ShapeMismatch)
                .find("zeros of 4 or of 8 bits are wanted"),
            std::string::npos);
  EXPECT_NE(told(with([](Packed& p) { p.scales = p.scales.slice(0, 0, 1); }), ErrorCode::ShapeMismatch)
                .find("as many groups of zeros as of scales"),
            std::string::npos);
  EXPECT_NE(told(with([](Packed& p) { p.qweight = p.qweight.slice(1, 0, 50); }), ErrorCode::ShapeMismatch)
                .find("another number of outputs"),
            std::string::npos);
  EXPECT_EQ(told(with([](Packed& p) { p.g_idx = *p.g_idx * 2; }), ErrorCode::InvalidArgument),
            "g_idx says group 2 of input 128, of 2 groups");
  EXPECT_EQ(told(with([](Packed& p) { p.g_idx = *p.g_idx * 0; }), ErrorCode::InvalidArgument),
            "g_idx gives group 0 256 inputs, not 128");
  EXPECT_EQ(told(with([](Packed& p) { p.scales = p.scales.to(kFloat32) * 0 + 1e6; }), ErrorCode::InvalidArgument),
            "a scale of 1e+06 is beyond float16");
  const Made odd = made_of({.name = "", .bits = 4, .in = 64, .out = 8, .group = 16});
  EXPECT_EQ(told([&] { quantized::groups(odd.packed); }, ErrorCode::InvalidArgument),
            "64 inputs in 4 groups: groups of multiples of 32 inputs are wanted");
  const Groups g = quantized::groups(m.packed);
  EXPECT_NE(told(
                [&] {
                  quantized::linear(zeros({2, 250}), g);
                },
                ErrorCode::ShapeMismatch)
                .find("x of sizes [2, 250] and a weight of sizes [72, 256]"),
            std::string::npos);
  EXPECT_EQ(told(
                [&] {
                  quantized::linear(zeros({2, 256}), Groups());
                },
                ErrorCode::InvalidArgument),
            "the weight is undefined");
}

}  // namespace
