// What a language model does to its activations between the products: one kernel each, which reads and writes them
// once, whatever the spelling.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "reprise/reprise.h"

namespace reprise {
namespace {

int launches(const std::string& explained) {
  const std::string text = explained.substr(std::min(explained.size(), explained.find("  launches:\n")));
  int n = 0;
  for (const char* kind : {"\nloop ", "\nnative "})
    for (std::size_t at = 0; (at = text.find(kind, at)) != std::string::npos; ++at) ++n;
  return n;
}

Tensor numbers(std::int64_t rows, std::int64_t columns, DType t, double step) {
  return (arange(rows * columns, {.dtype = kFloat32}).mul(step).sin() * 3).view({rows, columns}).to(t);
}

/// Compiled against eager, at several sizes: results and what is written, to within a unit of what they are kept in.
template <class F>
void expect_launches(int want, DType t, F f, const char* how, std::int64_t blocks = 1) {
  auto c = compile(f, {.name = how});
  for (std::int64_t rows : {5, 1, 33}) {
    const std::int64_t columns = 128 * blocks;
    auto arguments = [&] {
      return std::tuple(numbers(rows, columns, t, 0.37), numbers(rows, columns, t, 0.11),
                        numbers(1, columns, t, 0.05).view({columns}));
    };
    auto mine = arguments(), eager = arguments();
    auto got = std::apply(c, mine), want_of = std::apply(f, eager);
    auto same = [&](Tensor a, Tensor b) {
      ASSERT_EQ(a.dtype(), b.dtype());
      // A kernel keeps in float32 what eager execution rounds to bfloat16 in between: a code may be the next but one.
      const bool codes = a.dtype() == kInt8;
      const double unit = codes                        ? (t == kFloat32 ? 1.01 : 2.01)
                          : a.dtype() == kFloat8E4M3FN ? 0.13
                          : t == kFloat32              ? 1e-5
                                                       : 0.02;
      ASSERT_LE(
          ((a.to(kFloat32) - b.to(kFloat32)).abs() - b.to(kFloat32).abs() * (codes ? 0 : unit)).max().item<double>(),
          unit)
          << how << " of " << dtype_name(t) << "\n"
          << c.explain();
    };
    std::apply([&](auto&... a) { std::apply([&](auto&... b) { (same(a, b), ...); }, want_of); }, got);
    std::apply([&](auto&... a) { std::apply([&](auto&... b) { (same(a, b), ...); }, eager); }, mine);
  }
  EXPECT_EQ(launches(c.explain()), want) << how << " of " << dtype_name(t) << "\n" << c.explain();
  EXPECT_EQ(c.stats().compilations, 1) << how;
  EXPECT_EQ(c.stats().eager_fallbacks, 0) << how;
  EXPECT_EQ(c.stats().copied_bytes, 0) << how;
}

std::pair<Tensor, Tensor> quantized(Tensor y, DType to) {
  Tensor f = y.to(kFloat32), scale = f.abs().amax({-1}, true).clamp_min(1e-8) / (to == kInt8 ? 127.0 : 448.0);
  Tensor q = f * (1.0 / scale);
  return {to == kInt8 ? q.round().to(kInt8) : q.clamp(-448, 448).to(to), scale};
}
Tensor norm(Tensor x, Tensor w) { return rms_norm(x, w, 1e-6); }

TEST(Activations, NormAndWhatFollows) {
  for (DType t : {kFloat32, kBFloat16}) {
    for (DType to : {kInt8, kFloat8E4M3FN}) {
      expect_launches(
          1, t, [=](Tensor x, Tensor, Tensor w) { return quantized(norm(x, w), to); }, "norm, by tokens");
      expect_launches(
          1, t,
          [=](Tensor x, Tensor, Tensor w) {
            return std::tuple((norm(x, w).to(kFloat32) * 12.5).clamp(-127, 127).to(to));
          },
          "norm, one scale");
      expect_launches(
          1, t,
          [=](Tensor x, Tensor r, Tensor w) {
            r.add_(x);
            return quantized(norm(r, w), to);
          },
          "add into the residual, norm, by tokens");
    }
    expect_launches(
        1, t,
        [](Tensor x, Tensor r, Tensor w) {
          r.add_(x);
          return std::tuple(norm(r, w));
        },
        "add into the residual, norm");
    expect_launches(
        1, t,
        [](Tensor x, Tensor r, Tensor w) {
          Tensor sum = r + x;
          return std::tuple(norm(sum, w), sum);
        },
        "add, norm");
    expect_launches(
        1, t,
        [](Tensor x, Tensor r, Tensor w) {
          r.add_(x);
          x.copy_(norm(r, w));
          return std::tuple(r.abs().amax({-1}));
        },
        "both in place");
    expect_launches(
        1, t,
        [](Tensor x, Tensor, Tensor) {
          x.copy_(softmax(x, -1));
          return std::tuple<>();
        },
        "softmax in place");
    expect_launches(
        1, t,
        [](Tensor x, Tensor, Tensor) {
          x.div_(x.abs().amax({0}, true) + 1);
          return std::tuple<>();
        },
        "columns in place");
  }
}

TEST(Activations, GateAndWhatFollows) {
  for (DType t : {kFloat32, kBFloat16})
    for (DType to : {kInt8, kFloat8E4M3FN}) {
      expect_launches(
          1, t, [=](Tensor gate, Tensor up, Tensor) { return quantized(silu(gate) * up, to); }, "gate, by tokens");
      expect_launches(
          1, t,
          [=](Tensor gate, Tensor up, Tensor) {
            gate.silu_().mul_(up);
            return quantized(gate, to);
          },
          "gate in place, by tokens");
      expect_launches(
          1, t,
          [=](Tensor both, Tensor, Tensor) {
            const Int half = both.size(1) / 2;
            return quantized(silu(both.slice(1, 0, half)) * both.slice(1, half, 2 * half), to);
          },
          "halves of one matrix", 2);
      expect_launches(
          1, t,
          [=](Tensor both, Tensor, Tensor) {
            const Int half = both.size(1) / 2;
            Tensor gate = both.slice(1, 0, half);
            gate.silu_().mul_(both.slice(1, half, 2 * half));
            return quantized(gate, to);
          },
          "halves of one matrix, in place", 2);
    }
}

}  // namespace
}  // namespace reprise
