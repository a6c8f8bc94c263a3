// Products on instructions made for bfloat16 and int8 (AMX, VDPBF16PS), which functions stand for where the processor
// has none; and the code that is made for processors that have them.
#include <functional>
#include <sstream>

#include "base/knobs.h"
#include "device/cpu_info.h"
#include "jit/engine/engine.h"
#include "kernels/cpu/micro_kernels.h"
#include "launch_run.h"

namespace reprise::kernels::testing {
namespace {

using graph::OpId;
using graph::ValueId;

/// What a knob makes of this processor; nothing where it has not even AVX-512.
bool can(const char* cpu) {
  Scoped<std::string> wanted(knobs().cpu, cpu);
  return device::cpu_info().refusal.empty() && device::cpu_info().avx512;
}

KernelFault product(bool linear, Strided& a, Strided& b, Strided& c) {
  std::vector<graph::NodeArg> args{ValueId{}, ValueId{}};
  if (linear) args.push_back({});
  return run_node(linear ? OpId::linear : OpId::mm, args, {&a, &b, &c});
}

float no_denormal(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
float plus_product(float x, float y, float sum) { return no_denormal(std::fma(no_denormal(x), no_denormal(y), sum)); }

/// Sums in the order that LowTile tells of.
float summed(LowForm form, const std::function<float(std::int64_t)>& x, const std::function<float(std::int64_t)>& y,
             std::int64_t k) {
  auto at = [&](const std::function<float(std::int64_t)>& f, std::int64_t i) { return i < k ? f(i) : 0.0f; };
  float sum = 0;
  if (form == LowForm::Pairs) {
    for (std::int64_t i = 0; i < k; i += 2)
      sum = plus_product(at(x, i), at(y, i), plus_product(at(x, i + 1), at(y, i + 1), sum));
    return sum;
  }
  for (std::int64_t from = 0; from < k; from += 32) {
    float even = 0, odd = 0;
    for (std::int64_t i = from; i < from + 32; i += 2)
      even = plus_product(at(x, i), at(y, i), even), odd = plus_product(at(x, i + 1), at(y, i + 1), odd);
    sum = no_denormal(sum + no_denormal(even + odd));
  }
  return sum;
}

std::vector<std::int64_t> strides(std::mt19937& rng, std::int64_t rows, std::int64_t columns) {
  switch (rng() % 5) {
    case 0: return {1, std::max<std::int64_t>(1, rows) + static_cast<std::int64_t>(rng() % 2)};
    case 1: return {columns + 3 + static_cast<std::int64_t>(rng() % 9), 1};
    case 2: return {2 * columns + 5, 2};
    default: return {};
  }
}

class Low : public ::testing::TestWithParam<std::pair<const char*, LowForm>> {
 protected:
  void SetUp() override {
    if (!can(GetParam().first)) GTEST_SKIP() << "this processor has no AVX-512";
  }
};

TEST_P(Low, EveryElementIsSummedInTheOrderToldOf) {
  const auto [cpu, form] = GetParam();
  Scoped<std::string> wanted(knobs().cpu, cpu);
  ASSERT_EQ(low_form(micro_vector_bits(), DType::BFloat16), form);
  std::mt19937 rng(41);
  for (int i = 0; i < 60; ++i) {
    auto size = [&](std::uint64_t most) { return static_cast<std::int64_t>(17 + rng() % most); };
    const std::int64_t m = size(90), n = size(130),
                       k = i % 6 == 0  ? size(1500)
                           : rng() % 3 ? size(100)
                                       : 32 * (1 + static_cast<std::int64_t>(rng() % 5));
    const bool linear = rng() % 2;
    const std::int64_t rows = linear ? n : k, columns = linear ? k : n;
    Strided a(DType::BFloat16, {m, k}, strides(rng, m, k)),
        b(DType::BFloat16, {rows, columns}, strides(rng, rows, columns)),
        c(DType::BFloat16, {m, n}, strides(rng, m, n));
    a.fill(rng), b.fill(rng);
    // Denormals of bfloat16, and products beside which others are small.
    for (int t = 0; t < 20; ++t)
      a.set(static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(m * k)), t % 2 ? 1e-39 : 3e4);
    const KernelFault f = product(linear, a, b, c);
    ASSERT_FALSE(f.failed) << f.message;
    c.expect_sentinels();
    for (std::int64_t r = 0; r < m; r += 1 + static_cast<std::int64_t>(rng() % 7))
      for (std::int64_t j = 0; j < n; j += 1 + static_cast<std::int64_t>(rng() % 5)) {
        const float sum = summed(
            form, [&](std::int64_t l) { return static_cast<float>(a.get(r * k + l)); },
            [&](std::int64_t l) { return static_cast<float>(b.get(linear ? j * k + l : l * n + j)); }, k);
        ASSERT_EQ(c.get(r * n + j), static_cast<float>(BFloat16(sum)))
            << m << "x" << k << "x" << n << (linear ? " linear" : "") << " at " << r << "," << j;
      }
  }
}

TEST_P(Low, WhatStandsBesideTheOperandsDoesNotMatter) {
  Scoped<std::string> wanted(knobs().cpu, GetParam().first);
  for (std::int64_t k : {33, 40, 64}) {
    Strided a(DType::BFloat16, {21, k}, {k + 7, 1}), b(DType::BFloat16, {k, 35}), c(DType::BFloat16, {21, 35});
    // The bytes between rows are NaN.
    std::memset(a.store->begin(), 0xff, a.store->size());
    std::memset(b.store->begin(), 0xff, b.store->size());
    for (std::int64_t i = 0; i < a.numel(); ++i) a.set(i, 1);
    for (std::int64_t i = 0; i < b.numel(); ++i) b.set(i, 1);
    ASSERT_FALSE(product(false, a, b, c).failed);
    for (std::int64_t i = 0; i < c.numel(); ++i) ASSERT_EQ(c.get(i), static_cast<double>(k));
    c.expect_sentinels();
  }
}

TEST_P(Low, InfinityAndNan) {
  Scoped<std::string> wanted(knobs().cpu, GetParam().first);
  Strided a(DType::BFloat16, {20, 50}), b(DType::BFloat16, {50, 20}), c(DType::BFloat16, {20, 20});
  for (std::int64_t i = 0; i < 1000; ++i) a.set(i, 1), b.set(i, 1);
  a.set(3 * 50 + 7, INFINITY), a.set(4 * 50 + 49, NAN);
  ASSERT_FALSE(product(false, a, b, c).failed);
  for (std::int64_t i = 0; i < 20; ++i)
    for (std::int64_t j = 0; j < 20; ++j) {
      const double got = c.get(i * 20 + j);
      if (i == 4) EXPECT_TRUE(std::isnan(got));
      else EXPECT_EQ(got, i == 3 ? INFINITY : 50.0);
    }
}

TEST_P(Low, EqualBitsForAnyNumberOfThreads) {
  Scoped<std::string> wanted(knobs().cpu, GetParam().first);
  std::mt19937 rng(42);
  const int before = device::num_threads();
  for (auto [m, n, k] :
       std::vector<std::array<std::int64_t, 3>>{{300, 200, 260}, {33, 900, 150}, {500, 40, 333}, {70, 70, 1100}})
    for (bool linear : {false, true}) {
      const DType t = DType::BFloat16;
      Strided a(t, {m, k}), b(t, linear ? std::vector{n, k} : std::vector{k, n}), one(t, {m, n}), many(t, {m, n});
      a.fill(rng), b.fill(rng);
      device::set_num_threads(1);
      product(linear, a, b, one);
      device::set_num_threads(8);
      product(linear, a, b, many);
      EXPECT_TRUE(*one.store == *many.store) << m << "x" << k << "x" << n;
    }
  device::set_num_threads(before);
}

INSTANTIATE_TEST_SUITE_P(, Low,
                         ::testing::Values(std::pair("amx,emulated", LowForm::Amx),
                                           std::pair("avx512-bf16,emulated", LowForm::Pairs)),
                         [](const auto& i) { return std::string(name_of(i.param.second)); });

TEST(LowIntegers, TilesAreExact) {
  if (!can("amx,emulated")) GTEST_SKIP() << "this processor has no AVX-512";
  Scoped<std::string> wanted(knobs().cpu, "amx,emulated");
  ASSERT_EQ(low_form(micro_vector_bits(), DType::Int8), LowForm::Amx);
  std::mt19937 rng(43);
  for (int i = 0; i < 25; ++i) {
    const std::int64_t m = static_cast<std::int64_t>(17 + rng() % 200), n = static_cast<std::int64_t>(1 + rng() % 90),
                       k = i % 5 == 0 ? 1500 : static_cast<std::int64_t>(rng() % 300);
    Strided a(DType::Int8, {m, k}, strides(rng, m, k)), b(DType::Int8, {k, n}, strides(rng, k, n)),
        c(DType::Int32, {m, n}, strides(rng, m, n));
    for (Strided* s : {&a, &b})
      for (std::int64_t e = 0; e < s->numel(); ++e) s->set(e, static_cast<double>(rng() % 256) - 128);
    const KernelFault f = run_node(OpId::int_mm, {ValueId{}, ValueId{}}, {&a, &b, &c});
    ASSERT_FALSE(f.failed) << f.message;
    c.expect_sentinels();
    for (std::int64_t r = 0; r < m; ++r)
      for (std::int64_t j = 0; j < n; ++j) {
        double want = 0;
        for (std::int64_t l = 0; l < k; ++l) want += a.get(r * k + l) * b.get(l * n + j);
        ASSERT_EQ(c.get(r * n + j), want) << m << "x" << k << "x" << n << " at " << r << "," << j;
      }
  }
}

/// What stands between the label of the loop that has `instruction` in it and its jump back.
std::vector<std::string> loop_with(const std::string& assembly, const std::string& instruction) {
  std::istringstream in(assembly);
  std::vector<std::string> body;
  bool has = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(".LBB")) body.clear(), has = false;
    const std::size_t text = line.find_first_not_of(" \t");
    if (text == std::string::npos || line[text] == '#' || line[text] == '.') continue;
    body.push_back(line.substr(text));
    has = has || body.back().starts_with(instruction);
    if (has && body.back().starts_with("j")) return body;
  }
  return {};
}
std::int64_t count(const std::vector<std::string>& lines, const std::string& instruction) {
  return std::count_if(lines.begin(), lines.end(), [&](const std::string& l) { return l.starts_with(instruction); });
}

/// The inner loops that LLVM makes: no tile is spilled, every product is one instruction.
TEST(LowCode, InnerLoopsAreTheInstructionsAlone) {
  jit::Host sapphire_rapids{.cpu = "sapphirerapids", .features = "", .vector_bits = 512, .avx512 = true};
  for (auto [x, instruction] : {std::pair(DType::BFloat16, "tdpbf16ps"), std::pair(DType::Int8, "tdpbssd")}) {
    const std::string text = jit::assembly_text(micro::LowTile{512, LowForm::Amx, x}, sapphire_rapids);
    const std::vector<std::string> loop = loop_with(text, instruction);
    EXPECT_EQ(count(loop, instruction), 4) << text;
    EXPECT_EQ(count(loop, "tileloadd"), 4) << text;
    EXPECT_EQ(count(loop, "tilestored"), 0) << text;
    EXPECT_LE(loop.size(), 18u) << text;
    for (const char* once : {"ldtilecfg", "tilerelease"}) EXPECT_EQ(text.find(once), text.rfind(once)) << text;
    EXPECT_NE(text.find("ldtilecfg"), text.npos);
    EXPECT_EQ(text.find("reprise_tile"), text.npos);
  }
  const std::string text = jit::assembly_text(micro::LowTile{512, LowForm::Pairs, DType::BFloat16}, sapphire_rapids);
  const std::vector<std::string> loop = loop_with(text, "vdpbf16ps");
  EXPECT_EQ(count(loop, "vdpbf16ps"), 24) << text;
  for (const std::string& line : loop) EXPECT_EQ(line.find("rsp"), line.npos) << text;
}

}  // namespace
}  // namespace reprise::kernels::testing
