// Blocks as operators and as a kernel against loops; what compiled functions make of them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reprise/compile.h"
#include "reprise/ops.h"
#include "reprise/stream.h"
#include "tests/gguf/made.h"

using namespace reprise;
using made::Format, made::Temporary;

namespace {

struct Matrix {
  gguf::Blocks blocks;
  Tensor floats;  ///< float32, by the loops
};

Matrix matrix(const Format& f, std::int64_t rows, std::int64_t columns, unsigned seed = 3) {
  const std::string bytes = made::blocks(f, rows * columns / f.elements, seed);
  made::Gguf g;
  g.tensor("w", {static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns)},
           static_cast<std::uint32_t>(f.type), bytes);
  const Temporary file(g.all());
  return {gguf::File::open(file.path).blocks("w"), tensor_of(made::elements(f, bytes), {rows, columns})};
}

void same_bits(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  const std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(x[i] + 0.f), std::bit_cast<std::uint32_t>(y[i] + 0.f))
        << i << ": " << x[i] << " and " << y[i];
}

TEST(GgufBlocks, AreUnpackedExactly) {
  for (const Format& f : made::kFormats) {
    SCOPED_TRACE(gguf::type_name(f.type));
    const Matrix m = matrix(f, 7, 3 * f.elements);
    EXPECT_EQ(m.blocks.sizes(), (Ints{7, 3 * f.elements}));
    same_bits(m.blocks.dequantize(), m.floats);
    same_bits(m.blocks.dequantize(kBFloat16), m.floats.to(kBFloat16));
    auto step = compile([](const gguf::Blocks& b) { return b.dequantize(); });
    same_bits(step(m.blocks), m.floats);
    EXPECT_EQ(step.stats().eager_fallbacks, 0u);
    const Tensor index = tensor({{6, 0}, {3, 3}});
    same_bits(m.blocks.rows(index), m.floats.index_select(0, index.flatten()).view({2, 2, 3 * f.elements}));
    auto look_up = compile([](const gguf::Blocks& b, Tensor i) { return b.rows(i, kFloat16); });
    same_bits(look_up(m.blocks, index),
              m.floats.to(kFloat16).index_select(0, index.flatten()).view({2, 2, 3 * f.elements}));
    EXPECT_EQ(look_up.stats().eager_fallbacks, 0u);
  }
}

TEST(GgufBlocks, ProductsReadWhatIsStored) {
  for (const Format& f : made::kFormats)
    for (const DType dtype : {kFloat32, kBFloat16, kFloat16}) {
      SCOPED_TRACE(gguf::type_name(f.type) + " " + std::string(dtype_name(dtype)));
      const std::int64_t k = 2 * f.elements;
      const Matrix m = matrix(f, 37, k);
      const Tensor bias = randn({37}, {.dtype = dtype});
      auto step =
          compile([](const gguf::Blocks& w, Tensor x, Tensor b) { return silu(gguf::linear(x * 2, w, b)) + 1; });
      for (const std::int64_t n : {1, 0, 5, 33}) {
        const Tensor x = randn({n, 2, k}, {.dtype = dtype}) * 0.125;  // sums of thousands of each sign would cancel
        const Tensor wanted = silu(linear((x * 2).to(kFloat64), m.floats.to(kFloat64), bias.to(kFloat64))) + 1,
                     got = step(m.blocks, x, bias);
        EXPECT_EQ(got.dtype(), dtype);
        EXPECT_TRUE(
            allclose(got.to(kFloat64), wanted, dtype == kFloat32 ? 1e-4 : 2e-2, dtype == kFloat32 ? 1e-4 : 3e-2))
            << n;
        const Tensor eager = silu(gguf::linear(x * 2, m.blocks, bias)) + 1;
        EXPECT_TRUE(allclose(got.to(kFloat64), eager.to(kFloat64), dtype == kFloat32 ? 1e-6 : 1e-2,
                             dtype == kFloat32 ? 1e-6 : 2e-2))
            << n;
      }
      EXPECT_EQ(step.stats().eager_fallbacks, 0u);
      EXPECT_LE(step.stats().compilations, 2u);  // general sizes, and perhaps one of size 1
    }
}

// A paged cache is written at slots that are arguments, between two products with blocks: none of them can fail, so no
// write waits, and the cache is not copied.
TEST(GgufBlocks, ACacheBesideProductsIsWrittenWhereItStands) {
  const Format& f = made::kFormats[0];
  const std::int64_t k = 4 * f.elements;
  const Matrix m = matrix(f, k, k);
  const auto step = [](const gguf::Blocks& w, Tensor x, Tensor cache, Tensor slots) {
    cache.index_copy_(0, slots, gguf::linear(x, w));
    return gguf::linear(cache.index_select(0, slots) * 0.01, w);
  };
  auto compiled = compile(step);
  Tensor cache = zeros({512, k}), wanted = zeros({512, k});
  for (const std::int64_t n : {3, 3, 5}) {
    const Tensor x = randn({n, k}), slots = arange(n) * 7 + n;
    const Tensor got = compiled(m.blocks, x, cache, slots);
    EXPECT_TRUE(allclose(got, step(m.blocks, x, wanted, slots), 1e-4, 1e-4)) << n;
    EXPECT_TRUE(allclose(cache, wanted, 1e-4, 1e-4)) << n;
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0u);
  EXPECT_EQ(compiled.stats().copied_bytes, 0) << compiled.explain(Detail::Launches);
}

TEST(GgufBlocks, EveryNumberOfRowsGivesTheSameSums) {
  for (const Format& f : made::kFormats) {
    SCOPED_TRACE(gguf::type_name(f.type));
    const std::int64_t k = 5 * f.elements, n = 131;
    const Matrix m = matrix(f, n, k);
    const Tensor x = randn({70, k}), wide = linear(x.to(kFloat64), m.floats.to(kFloat64)),
                 most = linear(x.abs().to(kFloat64), m.floats.abs().to(kFloat64));
    const std::vector<float> one = gguf::linear(x.slice(0, 0, 1), m.blocks).to_vector<float>();
    for (const std::int64_t rows : {1, 2, 3, 4, 5, 7, 8, 9, 33, 70}) {
      const Tensor y = gguf::linear(x.slice(0, 0, rows), m.blocks);
      EXPECT_LE((((y.to(kFloat64) - wide.slice(0, 0, rows)).abs()) / most.slice(0, 0, rows)).max().item<double>(), 1e-6)
          << rows;
      // By dots a row's sums do not depend on what else there is.
      if (rows <= 8) {
        EXPECT_EQ(y.select(0, 0).to_vector<float>(), one) << rows;
      }
    }
  }
}

/// x as a product takes it whose activations are bytes: each `part` elements of a row are multiples of a 127th of the
/// largest.
Tensor rounded(const Tensor& x, std::int64_t part) {
  const Tensor parts = x.to(kFloat64).view({x.size(0), x.size(1) / part, part}),
               scale = parts.abs().amax({-1}, true) / 127;
  return (where(scale.gt(0), parts / scale, 0 * parts).round() * scale).view(x.sizes());
}

TEST(GgufBlocks, ActivationsAreRoundedWhereItIsAskedFor) {
  for (const Format& f : made::kFormats) {
    SCOPED_TRACE(gguf::type_name(f.type));
    const bool sixteen = f.type == gguf::Type::Q2_K || f.type == gguf::Type::Q3_K || f.type == gguf::Type::Q6_K;
    [[maybe_unused]] const bool plain = f.type == gguf::Type::Q4_0 || f.type == gguf::Type::Q4_1 ||
                                        f.type == gguf::Type::Q8_0 || f.type == gguf::Type::IQ4_NL;
    const std::int64_t k = 5 * f.elements, n = 131;
    const Matrix m = matrix(f, n, k);
    const Tensor x = randn({70, k}), floats = m.floats.to(kFloat64), exact = linear(x.to(kFloat64), floats),
                 most = linear(x.abs().to(kFloat64), floats.abs());
    const Tensor expected = linear(rounded(x, sixteen ? 16 : 32), floats);
    auto step = compile([](const gguf::Blocks& w, Tensor x) { return gguf::linear(x, w, {}, Activations::Int8); });
    auto differ = [&](const Tensor& y, const Tensor& from, std::int64_t rows) {
      return ((y.to(kFloat64) - from.slice(0, 0, rows)).abs() / most.slice(0, 0, rows)).max().item<double>();
    };
    for (const std::int64_t rows : {1, 4, 5, 8, 12, 13, 70}) {
      const Tensor y = gguf::linear(x.slice(0, 0, rows), m.blocks, {}, Activations::Int8);
#if defined(__x86_64__)
      const bool rounds = plain || rows > 4;
#else
      const bool rounds = false;
#endif
      EXPECT_LE(differ(y, rounds ? expected : exact, rows), 2e-6) << rows;
      if (rounds) {
        EXPECT_GT(differ(y, exact, rows), 1e-5) << rows << ": nothing was rounded";
        // What a row's elements are does not depend on the others.
        EXPECT_EQ(y.select(0, 0).to_vector<float>(),
                  gguf::linear(x.slice(0, 0, 70), m.blocks, {}, Activations::Int8).select(0, 0).to_vector<float>())
            << rows;
      }
      EXPECT_EQ(step(m.blocks, x.slice(0, 0, rows)).to_vector<float>(), y.to_vector<float>()) << rows;
    }
    EXPECT_EQ(step.stats().eager_fallbacks, 0u);
    // Strides, rows of nothing but zeros, and what is not finite, which stays in its row.
    Tensor odd = randn({k, 20}).t();
    odd.select(0, 3).zero_();
    odd.select(0, 5).fill_(std::numeric_limits<double>::quiet_NaN());
    const Tensor y = gguf::linear(odd, m.blocks, {}, Activations::Int8);
    EXPECT_TRUE(y.isfinite()
                    .all(-1)
                    .eq(tensor({1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}).to(kBool))
                    .all()
                    .item<bool>());
    EXPECT_EQ(y.select(0, 3).abs().max().item<float>(), 0.f);
  }
}

TEST(GgufBlocks, StridedOperandsAndBatches) {
  const Format& f = made::kFormats[0];
  const Matrix m = matrix(f, 12, 64);
  const Tensor x = randn({64, 3});
  EXPECT_TRUE(allclose(gguf::linear(x.t(), m.blocks), linear(x.t(), m.floats), 1e-4, 1e-4));
  // Every other row of the weight, and a row alone.
  const gguf::Blocks some{m.blocks.type, m.blocks.data.slice(0, 0, {}, 2), m.blocks.halves.slice(0, 0, {}, 2)};
  EXPECT_TRUE(allclose(gguf::linear(x.t(), some), linear(x.t(), m.floats.slice(0, 0, {}, 2)), 1e-4, 1e-4));
  EXPECT_TRUE(allclose(gguf::linear(randn({64}) * 0 + 1, some), m.floats.slice(0, 0, {}, 2).sum(-1), 1e-4, 1e-4));
}

TEST(GgufBlocks, TheUnpackedMatrixIsNowhere) {
  const Format& f = made::kFormats[1];
  const std::int64_t n = 2048, k = 1024;
  const Matrix m = matrix(f, n, k);
  const Tensor x = randn({4, k});
  auto step = compile([](const gguf::Blocks& w, Tensor x) { return gguf::linear(x, w).sum(-1); });
  step(m.blocks, x);
  EXPECT_LT(step.stats().pool_bytes, n * k * 4 / 2);
  EXPECT_EQ(m.blocks.bytes(), n * k / 32 * 18);
}

TEST(GgufDevice, BlocksMoveAndProductsAreOperators) {
  if (cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device, and no simulator in its place";
  for (const Format& f : made::kFormats) {
    SCOPED_TRACE(gguf::type_name(f.type));
    const Matrix m = matrix(f, 24, 2 * f.elements);
    const gguf::Blocks there = m.blocks.to(Device::cuda());
    same_bits(there.dequantize().cpu(), m.floats);
    auto step = compile([](const gguf::Blocks& w, Tensor x) { return gguf::linear(x, w) * 2; });
    const Tensor x = randn({5, 2 * f.elements});
    EXPECT_TRUE(allclose(step(there, x.cuda()).cpu(), linear(x, m.floats) * 2, 1e-4, 1e-4));
    EXPECT_EQ(step.stats().eager_fallbacks, 0u);
  }
}

TEST(GgufBlocks, MistakesAreToldInTheirTerms) {
  const Matrix m = matrix(made::kFormats[0], 4, 32);
  auto told = [](auto f, ErrorCode code) {
    try {
      f();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code) << e.what();
      return e.message();
    }
    return std::string("nothing");
  };
  EXPECT_EQ(told(
                [&] {
                  gguf::linear(ones({2, 64}), m.blocks);
                },
                ErrorCode::ShapeMismatch),
            "x of sizes [2, 64] and a weight of sizes [4, 32]");
  EXPECT_EQ(told(
                [&] {
                  gguf::linear(ones({2, 32}), m.blocks, ones({5}));
                },
                ErrorCode::ShapeMismatch),
            "a bias of sizes [5] and a weight of sizes [4, 32]");
  EXPECT_EQ(told(
                [&] {
                  gguf::linear(ones({2, 32}, {.dtype = kInt64}), m.blocks);
                },
                ErrorCode::DTypeMismatch),
            "x is int64, not a float");
  EXPECT_EQ(told(
                [&] {
                  gguf::linear(ones({2, 32}), gguf::Blocks());
                },
                ErrorCode::InvalidArgument),
            "the weight is undefined");
}

struct Layer {
  gguf::Blocks wq, wk;
  Tensor norm;
};
struct Model {
  gguf::Blocks embedding;
  std::vector<Layer> layers;
  Tensor table;
};

TEST(GgufLoad, FillsStructsByName) {
  made::Gguf g;
  const Format &q8 = made::kFormats[0], &q4 = made::kFormats[1];
  const std::string embedding = made::blocks(q8, 10, 1), table = made::blocks(q4, 2, 2);
  g.tensor("embedding", {10, 32}, 8, embedding).tensor("table", {2, 32}, 2, table);
  for (int i = 0; i < 2; ++i) {
    const std::string at = "layers." + std::to_string(i) + ".";
    g.tensor(at + "wq", {32, 32}, 8, made::blocks(q8, 32, 5))
        .tensor(at + "wk", {32, 32}, 1, std::string(2048, '\0'))
        .tensor(at + "norm", {2}, 0, made::raw(1.f) + made::raw(2.f));
  }
  const Temporary file(g.all());
  Model model;
  gguf::load_gguf(file.path, model);
  ASSERT_EQ(model.layers.size(), 2u);
  EXPECT_EQ(model.layers[1].wq.type, gguf::Type::Q8_0);
  EXPECT_EQ(model.layers[1].wk.type, gguf::Type::F16);
  EXPECT_EQ(model.layers[1].wk.data.dtype(), kFloat16);
  EXPECT_EQ(model.layers[0].norm.to_vector<float>(), (std::vector<float>{1, 2}));
  same_bits(model.table, tensor_of(made::elements(q4, table), {2, 32}));  // a Tensor takes what is unpacked
  auto step = compile([](const Model& m, Tensor tokens) {
    Tensor x = m.embedding.rows(tokens);
    for (const Layer& l : m.layers) x = x + gguf::linear(x, l.wq) + gguf::linear(x, l.wk);
    return x;
  });
  step(model, tensor({1, 2, 3}));
  EXPECT_TRUE(
      allclose(step(model, tensor({4, 9})), step.operator()(model, tensor({4, 9, 1})).slice(0, 0, 2), 1e-5, 1e-5));
  EXPECT_EQ(step.stats().eager_fallbacks, 0u);

  struct Renamed {
    gguf::Blocks wq;
    Tensor norm;
  } renamed;
  gguf::load_gguf(file.path, renamed,
                  {.strict = false, .name = [](const std::string& field) { return "layers.1." + field; }});
  EXPECT_EQ(renamed.wq.sizes(), (Ints{32, 32}));
  struct Wrong {
    gguf::Blocks embeding;
    Tensor layers;
  } wrong;
  try {
    gguf::load_gguf(file.path, wrong);
    ADD_FAILURE();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("it has no 'embeding' (did you mean 'embedding'?)"), std::string::npos) << e.what();
    EXPECT_EQ(e.op(), "load_gguf");
  }
  EXPECT_FALSE(wrong.embeding.defined());
}

}  // namespace
