// Rows that are reduced and written on a device: in place, by parts, and by the patterns that come with the library.
#include <sstream>
#include <utility>

#include "tests/cuda/support.h"

namespace reprise::test {
namespace {

class CudaRows : public Cuda {
 protected:
  static Tensor numbers(const Ints& sizes, double step, DType t = kFloat32) {
    Int n = 1;
    for (Int s : sizes) n *= s;
    return (arange(n).to(kFloat32) * step).sin().reshape(sizes).to(t);
  }
  static int loops(const std::string& explained) {
    std::istringstream lines(explained.substr(explained.find("  launches:\n")));
    int n = 0;
    for (std::string line; std::getline(lines, line);) n += line.starts_with("loop ");
    return n;
  }
  static void expect_near(const Tensor& got, const Tensor& want, double tolerance) {
    EXPECT_TRUE(allclose(got.cpu().to(kFloat32), want.to(kFloat32), tolerance, tolerance)) << got.cpu() << "\nwanted\n"
                                                                                           << want;
  }
};

/// Numbers of whole rows, or of their parts, quantized: what the integers mean, and the scales.
std::pair<Tensor, Tensor> quantized(Tensor y) {
  const Tensor f = y.to(kFloat32), scale = f.abs().amax({-1}, true).clamp_min(1e-8) / 127.0;
  const Tensor q = (f / scale).round().to(kInt8);
  return {q.to(kFloat32) * scale, scale};
}

TEST_F(CudaRows, AResidualIsWrittenByTheKernelThatNormalizesIt) {
  auto body = [](Tensor r, Tensor x, Tensor w) {
    r.add_(x);
    return quantized(rms_norm(r, w, 1e-6));
  };
  auto f = compile(body, {.name = "residual"});
  for (const auto& [rows, columns] : {std::pair{5, 96}, {1, 33}, {70, 256}}) {
    const Tensor r = numbers({rows, columns}, 0.37), x = numbers({rows, columns}, 0.71),
                 w = numbers({columns}, 0.13) + 2.0;
    const Tensor there = r.to(d), here = r.clone();
    const auto got = f(there, x.to(d), w.to(d)), want = body(here, x, w);
    expect_near(there, here, 1e-6);
    expect_near(got.second, want.second, 1e-5);
    expect_near(got.first, want.first, 0.02);
  }
  EXPECT_EQ(loops(f.explain()), 1) << f.explain();
  EXPECT_EQ(f.stats().copied_bytes, 0);
}

TEST_F(CudaRows, PartsOfNormalizedRowsAreOneKernel) {
  for (const DType t : {kFloat32, kBFloat16}) {
    auto body = [](Tensor x, Tensor w) {
      return quantized(rms_norm(x, w, 1e-6).view({x.size(0), x.size(1) / 16, 16}));
    };
    auto f = compile(body, {.name = "parts"});
    for (const auto& [rows, columns] : {std::pair{5, 96}, {1, 32}, {33, 1040}, {3, 16}}) {
      const Tensor x = numbers({rows, columns}, 0.37, t), w = (numbers({columns}, 0.13) + 2.0).to(t);
      const auto got = f(x.to(d), w.to(d)), want = body(x, w);
      expect_near(got.second, want.second, t == kFloat32 ? 1e-5 : 0.02);
      expect_near(got.first, want.first, t == kFloat32 ? 0.03 : 0.06);
    }
    EXPECT_EQ(loops(f.explain()), 1) << f.explain();
  }
}

TEST_F(CudaRows, RotatedHalvesAreOneKernel) {
  auto body = [](Tensor cache, Tensor x, Tensor cos, Tensor sin, Int at) {
    const std::vector<Tensor> half = chunk(x, 2, -1);
    const Tensor rotated = x * cos + cat({-half[1], half[0]}, -1) * sin;
    cache.slice(0, at, at + x.size(0)).copy_(rotated);
  };
  auto f = compile(body, {.name = "rope"});
  const Tensor x = numbers({4, 3, 16}, 0.37), cos = numbers({4, 1, 16}, 0.2), sin = numbers({4, 1, 16}, 0.3);
  for (std::int64_t at : {0, 5, 2}) {
    const Tensor here = numbers({12, 3, 16}, 0.11), there = here.to(d);
    body(here, x, cos, sin, at), f(there, x.to(d), cos.to(d), sin.to(d), at);
    expect_near(there, here, 1e-6);
  }
  EXPECT_EQ(loops(f.explain()), 1) << f.explain();
  EXPECT_EQ(f.stats().copied_bytes, 0);
}

TEST_F(CudaRows, RotatedHalvesGoWhereSlotsSayInOneKernel) {
  auto body = [](Tensor cache, Tensor x, Tensor cos, Tensor sin, Tensor slots) {
    const std::vector<Tensor> half = chunk(x, 2, -1);
    cache[1].index_copy_(0, slots, x * cos + cat({-half[1], half[0]}, -1) * sin);
  };
  for (const DType t : {kFloat32, kBFloat16}) {
    auto f = compile(body, {.name = "rope"});
    const Tensor x = numbers({4, 3, 16}, 0.37, t), cos = numbers({4, 1, 16}, 0.2, t), sin = numbers({4, 1, 16}, 0.3, t);
    for (const Tensor& slots : {tensor({3, 5, 6, 11}), tensor({5, 1, 5, -7}), tensor({2, 2, 2, 2})}) {
      const Tensor here = numbers({2, 12, 3, 16}, 0.11, t), there = here.to(d);
      body(here, x, cos, sin, slots), f(there, x.to(d), cos.to(d), sin.to(d), slots.to(d));
      expect_near(there, here, t == kFloat32 ? 1e-6 : 0.02);
    }
    EXPECT_EQ(loops(f.explain()), 1) << f.explain();
    EXPECT_EQ(f.stats().copied_bytes, 0);
    const Tensor here = numbers({2, 12, 3, 16}, 0.11, t), there = here.to(d);
    EXPECT_THROW(f(there, x.to(d), cos.to(d), sin.to(d), tensor({1, 2, 12, 3}).to(d)), Error);
    expect_near(there, here, 0);
  }
}

// No operator stands for them: they are composed, and are one kernel however they are written.
TEST_F(CudaRows, LayerNormsOfPrimitivesAreOneKernel) {
  auto by_pow = [](Tensor a, Tensor w, Tensor b) {
    const Tensor d = a - a.mean(-1, true);
    return d * rsqrt(d.pow(2).mean(-1, true) + 1e-5) * w + b;
  };
  auto by_var = [](Tensor a, Tensor w, Tensor b) {
    return (a - a.mean(-1, true)) / sqrt(var(a, {-1}, 0, true) + 1e-5) * w + b;
  };
  auto as_operator = [](Tensor a, Tensor w, Tensor b) { return layer_norm(a, {a.size(-1)}, w, b, 1e-5); };
  auto expect = [&](auto body) {
    auto f = compile(body, {.name = "layer_norm"});
    for (const auto& [rows, columns] : {std::pair{5, 96}, {1, 33}, {70, 256}}) {
      const Tensor x = numbers({rows, columns}, 0.37), w = numbers({columns}, 0.13) + 2.0, b = numbers({columns}, 0.29);
      expect_near(f(x.to(d), w.to(d), b.to(d)), as_operator(x, w, b), 1e-4);
    }
    EXPECT_EQ(loops(f.explain()), 1) << f.explain();
  };
  expect(by_pow), expect(by_var), expect(as_operator);
}

TEST_F(CudaRows, ShippedPatternsMeetThere) {
  const Tensor x = numbers({3, 9, 16}, 0.31), k = numbers({3, 11, 16}, 0.23), v = numbers({3, 11, 16}, 0.7),
               w = numbers({16}, 0.13) + 2.0;
  auto expect = [&](const char* name, auto body, auto... args) {
    auto f = compile(body, {.name = name});
    const Tensor want = body(args...);
    expect_near(f(args.to(d)...), want, want.dtype() == kFloat32 ? 1e-4 : 0.05);
    EXPECT_EQ(f.stats().matches.size(), 1u) << name << '\n' << f.explain();
  };
  expect(
      "silu", [](Tensor a) { return a * sigmoid(a); }, x);
  expect(
      "gelu", [](Tensor a) { return 0.5 * a * (1.0 + erf(a * 0.7071067811865476)); }, x);
  auto llama = [](Tensor a, Tensor w) {
    Tensor h = a.to(kFloat32);
    h = h * rsqrt(h.pow(2).mean(-1, true) + 1e-6);
    return w * h.to(a.dtype());
  };
  expect("rms_norm", llama, x.to(kBFloat16), w.to(kBFloat16));
  expect(
      "gelu by tanh", [](Tensor a) { return 0.5 * a * (1.0 + tanh(0.7978845608028654 * (a + 0.044715 * a * a * a))); },
      x);
  expect(
      "silu by exp", [](Tensor a) { return a / (1.0 + exp(-a)); }, x.to(kBFloat16));
  expect(
      "attention",
      [](Tensor q, Tensor k, Tensor v) { return matmul(softmax(matmul(q, k.transpose(-2, -1)) * 0.25, -1), v); }, x, k,
      v);
}

}  // namespace
}  // namespace reprise::test
