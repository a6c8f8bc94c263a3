// Convolutions of one channel or few to a group, beside convolutions of all channels with weights that are 0 elsewhere.
#include <gtest/gtest.h>

#include "reprise/convolution.h"
#include "reprise/parameter.h"
#include "tests/operators/operators_test.h"

namespace reprise::test {
namespace {

struct Shape {
  Ints image, kernel, step, padding, dilation;
  std::int64_t each = 1, per = 1;  // results and channels of a group
};

Tensor convolve(const Shape& s, const Tensor& x, const Tensor& w, const Tensor& b, Int groups) {
  const Ints none(s.kernel.size(), Int(0));
  return convolution(x, w, b, s.step, s.padding, s.dilation, false, none, groups);
}
/// [groups * each, per, ...] as [groups * each, groups * per, ...].
Tensor spread(const Tensor& w, std::int64_t channels, std::int64_t each, std::int64_t per) {
  Ints sizes = w.sizes();
  sizes[1] = channels;
  const Tensor to = zeros(sizes, {.dtype = w.dtype()});
  for (std::int64_t g = 0; g < channels / per; ++g)
    to.slice(0, g * each, (g + 1) * each).slice(1, g * per, (g + 1) * per).copy_(w.slice(0, g * each, (g + 1) * each));
  return to;
}

const Shape kShapes[] = {
    {{2, 5, 14, 13}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {{1, 3, 32, 33}, {7, 7}, {1, 1}, {3, 3}, {1, 1}},
    {{2, 4, 21, 40}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, 2},
    {{1, 3, 20, 17}, {5, 4}, {3, 2}, {2, 3}, {1, 2}},
    {{1, 2, 9, 70}, {3, 3}, {1, 1}, {0, 2}, {4, 3}},
    {{1, 3, 7, 7}, {3, 3}, {2, 1}, {5, 4}, {1, 1}},  // windows in the margin alone
    {{1, 3, 19, 19}, {3, 3}, {1, 3}, {1, 1}, {1, 1}},
    {{2, 6, 100}, {31}, {1}, {15}, {1}},
    {{3, 2, 1}, {4}, {2}, {3}, {1}},
    {{1, 2, 20, 20}, {13, 11}, {1, 1}, {6, 5}, {1, 1}},
    {{1, 3, 5, 6, 7}, {3, 2, 3}, {1, 1, 2}, {1, 0, 1}, {1, 1, 1}},
    {{1, 40, 12, 9}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},
    {{2, 12, 15, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 4, 4},
    {{1, 6, 17, 33}, {5, 3}, {2, 2}, {2, 1}, {1, 2}, 8, 3},
    {{2, 16, 50}, {3}, {1}, {1}, {1}, 1, 8},
    {{1, 4, 6, 5, 7}, {2, 2, 2}, {1, 1, 1}, {0, 1, 1}, {1, 1, 1}, 3, 2},
};

TEST(Depthwise, IsItsSum) {
  if (test_device() != Device::cpu()) GTEST_SKIP() << "the host's";
  for (const DType t : {kFloat32, kFloat64, kBFloat16, kFloat16})
    for (const Shape& s : kShapes) {
      const std::int64_t channels = s.image[1].value();
      const std::int64_t groups = channels / s.per;
      Ints weight{groups * s.each, s.per};
      weight.append(s.kernel.begin(), s.kernel.end());
      SCOPED_TRACE(graph::sizes_text(s.image) + " " + graph::sizes_text(weight));
      const Tensor x = numbers(s.image, t), w = numbers(weight, t, 1) * 0.25, b = numbers({weight[0]}, t, 2);
      const Tensor want =
          convolve(s, x.to(kFloat64), spread(w.to(kFloat64), channels, s.each, s.per), b.to(kFloat64), 1).to(t);
      auto f = [&](Tensor x, Tensor w, Tensor b, Tensor more) {
        return std::vector<Tensor>{convolve(s, x, w, b, groups), relu(convolve(s, x, w, {}, groups) + more),
                                   convolve(s, x, w, b, groups) * 2};
      };
      const Tensor plain = convolve(s, x.to(kFloat64), spread(w.to(kFloat64), channels, s.each, s.per), {}, 1);
      for (Tensor (*layout)(const Tensor&) :
           {+[](const Tensor& v) { return v; },
            +[](const Tensor& v) { return v.movedim(1, -1).contiguous().movedim(-1, 1); },
            +[](const Tensor& v) { return with_gaps(v); }}) {
        auto compiled = compile(f);
        const std::vector<Tensor> got = compiled(layout(x), layout(w), b, want),
                                  eager = f(layout(x), layout(w), b, want);
        const std::vector<Tensor> all{want, relu(plain + want.to(kFloat64)).to(t), (want.to(kFloat64) * 2).to(t)};
        expect_same(got, all, 1e-5, 1e-4);
        expect_same(eager, all, 1e-5, 1e-4);
        EXPECT_EQ(got[0].to_vector<double>(), eager[0].to_vector<double>());
        EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
      }
    }
}

// Between convolutions that want channels last it is computed so, too: the same bits.
TEST(Depthwise, BetweenOthersOfChannelsLast) {
  if (test_device() != Device::cpu()) GTEST_SKIP() << "the host's";
  for (const std::int64_t step : {1, 2}) {
    Tensor in = numbers({72, 64, 3, 3}) * 0.02, deep = numbers({72, 1, 3, 3}, kFloat32, 1) * 0.1,
           out = numbers({64, 72, 3, 3}, kFloat32, 2) * 0.02, bias = numbers({72}, kFloat32, 3);
    auto f = [&](Tensor x) {
      Tensor y = x;
      for (int i = 0; i < 3; ++i)
        y = relu(conv2d(relu(conv2d(relu(conv2d(y, in, bias, 1, 1)), deep, bias, step, 1, 1, 72)), out, {}, 1, 1));
      return y;
    };
    Tensor x = numbers({2, 64, 31, 30});
    const Tensor want = f(x);
    freeze(in), freeze(deep), freeze(out), freeze(bias);
    auto compiled = compile(f);
    const Tensor got = compiled(x);
    expect_same({got}, {want}, 1e-4, 1e-3);
    EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
    EXPECT_NE(compiled.explain().find("reprise::convolution_last"), std::string::npos) << compiled.explain();
  }
}

}  // namespace
}  // namespace reprise::test
