// Programs with images, compiled with channels last wherever it can be (Note [Layouts] in passes/layouts.cc): results
// are those of eager calls, and stand as they do.
#include <gtest/gtest.h>

#include <atomic>

#include "base/knobs.h"
#include "passes/layouts.h"
#include "passes/registered.h"
#include "reprise/convolution.h"
#include "reprise/normalization.h"
#include "reprise/parameter.h"
#include "reprise/pooling.h"
#include "reprise/vision.h"
#include "tests/operators/operators_test.h"

namespace reprise::test {
namespace {

/// As long as it is there, convolutions would pay for anything but channels last.
class ChannelsLast {
 public:
  ChannelsLast() {
    passes::register_pass({"channels_last_everywhere",
                           {passes::Place::Point::Before, "layouts"},
                           [](graph::Graph& g) {
                             passes::PassRecord record;
                             const bool changed =
                                 passes::layouts(g, record, [](const graph::Graph&, const graph::Node&, bool) {
                                   return passes::LayoutCost{std::int64_t{1} << 40, 0};
                                 });
                             for (const passes::PatternRecord& r : record.patterns) count += r.matches;
                             return changed;
                           },
                           {.normal_form = true}});
  }
  ~ChannelsLast() { passes::unregister_pass("channels_last_everywhere"); }
  static inline std::atomic<std::int64_t> count = 0;
};

using Make = std::function<std::vector<Tensor>(std::int64_t)>;

std::string strides_text(const Tensor& t) { return graph::sizes_text(t.strides()); }

/// Also that results have eager's strides, and that at least `least` values stand channels last.
void expect_last(const Function& f, const Make& make, std::int64_t least,
                 const std::vector<std::int64_t>& sizes = {2, 1, 3}, Expected e = {}) {
  const ChannelsLast scope;
  ChannelsLast::count = 0;
  expect_compiled(f, make, sizes, e);
  EXPECT_GE(ChannelsLast::count, test_device() == Device::cpu() ? least : 0);
  auto compiled = compile([&](std::vector<Tensor> a) { return f(a); });
  const std::vector<Tensor> got = compiled(make(2)), want = f(make(2));
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(strides_text(got[i]), strides_text(want[i])) << i;
}

Make image_and(std::vector<Ints> weights, DType t = kFloat32, std::int64_t channels = 6, std::int64_t side = 7) {
  return [=](std::int64_t n) {
    std::vector<Tensor> all{numbers({n, channels, side, side + n}, t)};
    for (std::size_t i = 0; i < weights.size(); ++i)
      all.push_back(numbers(weights[i], t, static_cast<std::int64_t>(i) + 1) * 0.25);
    return all;
  };
}

TEST(LayoutsCompiled, ABlockWithItsShortcut) {
  for (DType t : {kFloat32, kFloat64, kBFloat16, kFloat16})
    expect_last(
        [](const std::vector<Tensor>& a) {
          Tensor y = relu(conv2d(a[0], a[1], {}, 1, 1));
          y = conv2d(y, a[2], a[3], 1, 1);
          return std::vector<Tensor>{relu(y + a[0])};
        },
        image_and({{6, 6, 3, 3}, {6, 6, 3, 3}, {6}}, t), 3);
}

TEST(LayoutsCompiled, WhatIsWrittenInPlace) {
  expect_last(
      [](const std::vector<Tensor>& a) {
        Tensor y = conv2d(a[0], a[1], {}, 2, 1).relu_();
        y = conv2d(y, a[2]);
        y.add_(1).mul_(a[3].view({6, 1, 1}));
        Tensor kept = y.select(1, 2);
        kept.fill_(3);
        a[3].add_(1);
        return std::vector<Tensor>{conv2d(y, a[2]).sigmoid_(), y};
      },
      image_and({{6, 6, 3, 3}, {6, 6, 1, 1}, {6}}), 3, {4, 5});
}

TEST(LayoutsCompiled, GroupsAndDepthwise) {
  expect_last(
      [](const std::vector<Tensor>& a) {
        Tensor y = conv2d(a[0], a[1], a[3], 1, 1, 1, 6) + a[0];
        y = gelu(conv2d(y, a[2], {}, 1, 0, 1, 2));
        return std::vector<Tensor>{relu(conv2d(y, a[1], a[3], 2, "valid", 1, 6))};
      },
      image_and({{6, 1, 3, 3}, {6, 3, 1, 1}, {6}}), 4);
}

TEST(LayoutsCompiled, PoolsAndNorms) {
  expect_last(
      [](const std::vector<Tensor>& a) {
        Tensor y = max_pool2d(relu(conv2d(a[0], a[1], {}, 1, 1)), 3, 2, 1);
        y = batch_norm(conv2d(y, a[1], {}, 1, 1), a[2], a[3], a[3], a[4].abs() + 1, false, 0.1, 1e-5);
        y = group_norm(conv2d(y, a[1], {}, 1, 1), 2, a[2], a[3]);
        y = avg_pool2d(conv2d(y, a[1], {}, 1, 1), 2, 1);
        return std::vector<Tensor>{adaptive_avg_pool2d(conv2d(y, a[1], {}, 1, 1), {1, 1}).flatten(1),
                                   adaptive_avg_pool2d(y, {2, 3}), y.mean({2, 3})};
      },
      image_and({{6, 6, 3, 3}, {6}, {6}, {6}}), 8, {2, 1, 3}, {.rtol = 1e-4, .atol = 1e-4});
}

TEST(LayoutsCompiled, JoinsAndParts) {
  expect_last(
      [](const std::vector<Tensor>& a) {
        const Tensor y = conv2d(a[0], a[1], {}, 1, 1);
        Tensor z = cat({y, a[0], relu(y)}, 1);
        z = conv2d(z, a[2]);
        Tensor left = z.slice(1, 0, 3), right = z.slice(1, 3, 6);
        z = conv2d(left * right.sigmoid(), a[3]);
        return std::vector<Tensor>{pad(conv2d(cat({z, z}, 2), a[4]), {1, 2}), cat({z, z}, 0)};
      },
      image_and({{6, 6, 3, 3}, {6, 18, 1, 1}, {4, 3, 1, 1}, {2, 4, 1, 1}}), 5);
}

TEST(LayoutsCompiled, DimensionsThatChangePlaces) {
  expect_last(
      [](const std::vector<Tensor>& a) {
        Tensor y = conv2d(a[0], a[1], {}, 1, 1);
        Tensor rows = layer_norm(y.permute({0, 2, 3, 1}), {6}, a[2], a[2], 1e-5);
        rows = linear(gelu(linear(rows, a[3])), a[3]);
        y = y + rows.permute({0, 3, 1, 2});
        Tensor turned = conv2d(y.transpose(2, 3), a[1], {}, 1, 1);
        return std::vector<Tensor>{y.permute({0, 2, 3, 1}), turned, y.flatten(2).transpose(1, 2),
                                   turned.select(0, 0).unsqueeze(0)};
      },
      image_and({{6, 6, 3, 3}, {6}, {6, 6}}), 2, {2, 1, 3}, {.rtol = 1e-4, .atol = 1e-4});
}

TEST(LayoutsCompiled, OtherSizesThatAreResized) {
  expect_last(
      [](const std::vector<Tensor>& a) {
        Tensor y = interpolate(conv2d(a[0], a[1], {}, 1, 1), {.scale_factor = {2.0}});
        y = conv2d(y, a[1], {}, 1, 1);
        return std::vector<Tensor>{conv2d(interpolate(y, {.size = Ints{5, 6}, .mode = "bilinear"}), a[2])};
      },
      image_and({{6, 6, 3, 3}, {3, 6, 1, 1}}), 3, {2, 1}, {.rtol = 1e-4, .atol = 1e-4});
}

TEST(LayoutsCompiled, OneAndThreeDimensions) {
  auto chain = [](int n) {
    return [n](const std::vector<Tensor>& a) {
      auto conv = [&](const Tensor& x) { return n == 1 ? conv1d(x, a[1], a[2], 1, 1) : conv3d(x, a[1], a[2], 1, 1); };
      return std::vector<Tensor>{tanh(conv(relu(conv(a[0])) + 1)) * 2};
    };
  };
  for (DType t : {kFloat32, kFloat64}) {
    expect_last(chain(1),
                [=](std::int64_t n) {
                  return std::vector<Tensor>{numbers({n, 5, 9 + n}, t), numbers({5, 5, 3}, t, 1), numbers({5}, t, 2)};
                },
                4, {2, 1, 0});
    expect_last(chain(3),
                [=](std::int64_t n) {
                  return std::vector<Tensor>{numbers({n, 3, 4, 5, 3 + n}, t), numbers({3, 3, 3, 3, 3}, t, 1),
                                             numbers({3}, t, 2)};
                },
                4, {2, 1, 0});
  }
}

TEST(LayoutsCompiled, FrozenWeightsStandInPanels) {
  if (test_device() != Device::cpu()) GTEST_SKIP() << "the host's";
  const ChannelsLast scope;
  for (DType t : {kFloat32, kFloat64}) {
    Tensor w = numbers({32, 32, 3, 3}, t) * 0.25, one = numbers({64, 32, 1, 1}, t, 1) * 0.25, b = numbers({64}, t, 2);
    freeze(w), freeze(one), freeze(b);
    auto f = [=](Tensor x) {
      Tensor y = relu(conv2d(x, w, {}, 1, 1));
      return conv2d(relu(conv2d(y, w, {}, 2, 1) + max_pool2d(y, 1, 2)), one, b);
    };
    auto compiled = compile([=](Tensor x) { return f(x); });
    for (std::int64_t n : {2, 1, 3}) {
      const Tensor x = numbers({n, 32, 9, 8 + n}, t, 3);
      expect_same({compiled(x)}, {f(x)}, 1e-5, 1e-5);
    }
    EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
    const std::string told = compiled.explain(Detail::Graph);
    EXPECT_NE(told.find("reprise::convolution_last_packed"), std::string::npos) << told;
    EXPECT_EQ(told.find("= convolution("), std::string::npos) << told;
    w.mul_(2);  // what is made of it is made anew
    const Tensor x = numbers({2, 32, 9, 10}, t, 3);
    expect_same({compiled(x)}, {f(x)}, 1e-5, 1e-5);
  }
}

// What convolutions say of themselves decides, and REPRISE_PATTERNS whether it is asked.
TEST(LayoutsCompiled, AreChosenWhereThatIsFaster) {
  if (test_device() != Device::cpu()) GTEST_SKIP() << "the host's";
  Tensor w = numbers({64, 64, 3, 3}) * 0.01, few = numbers({8, 1, 3, 3}) * 0.1;
  freeze(w), freeze(few);
  auto f = [=](Tensor x) {
    for (int i = 0; i < 8; ++i) x = relu(conv2d(x, w, {}, 1, 1));
    return x;
  };
  auto depthwise = [=](Tensor x) {
    for (int i = 0; i < 8; ++i) x = relu(conv2d(x, few, {}, 1, 1, 1, 8));
    return x;
  };
  auto matches = [](const auto& compiled) {
    std::int64_t n = 0;
    for (const Stats::Match& m : compiled.stats().matches) n += m.pattern == passes::kChannelsLast ? m.matches : 0;
    return n;
  };
  const Tensor x = numbers({2, 64, 28, 28}), y = numbers({2, 8, 28, 28});
  const std::string shipped = knobs().patterns;
  for (const char* knob : {"shipped", "none", "channels_last", "silu"}) {
    SCOPED_TRACE(knob);
    knobs().patterns = knob;
    auto compiled = compile([=](Tensor t) { return f(t); });
    auto by_planes = compile([=](Tensor t) { return depthwise(t); });
    const Tensor got = compiled(x);
    EXPECT_TRUE(allclose(got, f(x), 1e-3, 1e-3));
    EXPECT_EQ(strides_text(got), strides_text(f(x)));
    by_planes(y);
    const bool asked = knob == shipped || knob == passes::kChannelsLast;
    EXPECT_EQ(matches(compiled) >= 15, asked) << compiled.explain(Detail::Graph);
    EXPECT_EQ(matches(by_planes), 0);
  }
  knobs().patterns = shipped;
  // What is not frozen is packed by each call, for an image of 7 x 7 in more time than is gained.
  auto weights_given = compile([](Tensor t, Tensor w) {
    for (int i = 0; i < 8; ++i) t = relu(conv2d(t, w, {}, 1, 1));
    return t;
  });
  weights_given(numbers({1, 64, 7, 7}), w.clone());
  EXPECT_EQ(matches(weights_given), 0);
}

TEST(LayoutsCompiled, SizesOfOneAndNone) {
  for (std::int64_t channels : {1, 2})
    for (std::int64_t side : {1, 3})
      expect_last(
          [](const std::vector<Tensor>& a) {
            const Tensor y = relu(conv2d(a[0], a[1], {}, 1, 1)) + a[0];
            return std::vector<Tensor>{conv2d(y, a[1], {}, 1, 1), y};
          },
          [=](std::int64_t n) {
            return std::vector<Tensor>{numbers({n, channels, side, side}),
                                       numbers({channels, channels, 3, 3}, kFloat32, 1)};
          },
          2, {2, 1, 0});
}

}  // namespace
}  // namespace reprise::test
