// Convolutions whose results are rows: of images with channels side by side, and with frozen weights; each beside the
// one of planes in float64.
#include <gtest/gtest.h>

#include "reprise/convolution.h"
#include "reprise/parameter.h"
#include "tests/operators/operators_test.h"

namespace reprise::test {
namespace {

struct Shape {
  Ints image, weight;
  std::int64_t step, padding, dilation;
};

Tensor convolve(const Shape& s, const Tensor& x, const Tensor& w, const Tensor& b) {
  const std::size_t n = s.weight.size() - 2;
  const Ints step(n, Int(s.step)), padding(n, Int(s.padding)), dilation(n, Int(s.dilation)), none(n, Int(0));
  return convolution(x, w, b, step, padding, dilation, false, none, 1);
}
Tensor last(const Tensor& t) { return t.movedim(1, -1).contiguous().movedim(-1, 1); }
bool is_same(const Tensor& a, const Tensor& b) { return a.to_vector<double>() == b.to_vector<double>(); }

const Shape kShapes[] = {
    {{1, 40, 7, 7}, {48, 40, 3, 3}, 1, 1, 1},  // one tile of rows less than full, sums in two parts
    // several images, rows of a tile of two of them; a last panel of one vector
    {{3, 130, 7, 7}, {70, 130, 3, 3}, 1, 1, 1},
    {{2, 16, 14, 13}, {64, 16, 3, 3}, 2, 1, 1},
    {{1, 24, 9, 9}, {129, 24, 2, 3}, 1, 2, 2},
    {{2, 900, 4, 5}, {33, 900, 1, 1}, 1, 0, 1},
    {{5, 20, 1, 1}, {64, 20, 1, 1}, 1, 0, 1},
    {{2, 20, 6, 6}, {32, 20, 1, 1}, 3, 2, 1},  // places that see the margin alone
    {{1, 3, 33, 31}, {16, 3, 7, 7}, 2, 3, 1},  // few channels
    // a channel's places are no whole vectors
    {{1, 3, 16, 16}, {16, 3, 5, 5}, 1, 2, 1},
    {{1, 16, 14, 14}, {32, 16, 5, 5}, 1, 2, 1},
    {{1, 16, 5, 5, 5}, {24, 16, 3, 3, 3}, 1, 1, 1},
    {{1, 16, 0, 0}, {16, 16, 3, 3}, 1, 3, 1},
    {{16, 20, 1, 1}, {64, 20, 1, 1}, 1, 0, 1},
    {{1, 17, 40}, {20, 17, 5}, 1, 2, 1},
    {{1, 9, 5, 6, 7}, {24, 9, 3, 3, 2}, 1, 1, 1},
    {{1, 12, 30, 29}, {200, 12, 3, 3}, 1, 1, 1},
};

TEST(ConvolutionRows, AreTheSameSums) {
  if (test_device() != Device::cpu()) GTEST_SKIP() << "the host's";
  for (const DType t : {kFloat32, kFloat64})
    for (const Shape& s : kShapes) {
      SCOPED_TRACE(graph::sizes_text(s.image) + " " + graph::sizes_text(s.weight));
      const Tensor x = numbers(s.image, t), w = numbers(s.weight, t, 1) * 0.25, b = numbers({s.weight[0]}, t, 2);
      const Tensor want = convolve(s, x.to(kFloat64), w.to(kFloat64), b.to(kFloat64)).to(t);
      auto f = [&s](Tensor x, Tensor w, Tensor b) {
        return std::vector<Tensor>{convolve(s, x, w, b), relu(convolve(s, x, w, {}) + convolve(s, x, w, b))};
      };
      for (const bool image_last : {false, true})
        for (const bool weight_last : {false, true}) {
          SCOPED_TRACE(testing::Message() << (image_last ? "image last " : "") << (weight_last ? "weight last" : ""));
          const Tensor given = image_last ? last(x) : x, weight = weight_last ? last(w) : w.clone(),
                       kept = weight_last ? last(w) : w.clone();
          freeze(kept);
          auto plain = compile(f), frozen = compile(f);
          const std::vector<Tensor> a = plain(given, weight, b), c = frozen(given, kept, b);
          expect_same(a,
                      {want, relu(want * 2 - b.reshape(s.weight.size() == 3   ? Ints{-1, 1}
                                                       : s.weight.size() == 4 ? Ints{-1, 1, 1}
                                                                              : Ints{-1, 1, 1, 1}))},
                      1e-5, 1e-3);
          EXPECT_TRUE(is_same(a[0], convolve(s, given, weight, b))) << "eager";
          EXPECT_TRUE(is_same(a[0], c[0]) && is_same(a[1], c[1])) << "frozen";
          EXPECT_EQ(plain.stats().eager_fallbacks + frozen.stats().eager_fallbacks, 0);
          const std::int64_t threads = num_threads();
          set_num_threads(1);
          EXPECT_TRUE(is_same(frozen(given, kept, b)[1], c[1])) << "one thread";
          set_num_threads(threads);
        }
    }
}

// A weight that stands in panels serves images of all sizes.
TEST(ConvolutionRows, PanelsServeAnySize) {
  if (test_device() != Device::cpu()) GTEST_SKIP() << "the host's";
  const Tensor w = numbers({32, 24, 3, 3}, kFloat32, 1), kept = w.clone(), b = numbers({32}, kFloat32, 2);
  freeze(kept);
  auto f = [](Tensor x, Tensor w, Tensor b) { return conv2d(x, w, b, 1, 1); };
  auto frozen = compile(f);
  for (const std::int64_t n : {7, 8, 30, 1, 2})
    for (const std::int64_t batch : {1, 3, 0}) {
      const Tensor x = numbers({batch, 24, n, 5});
      SCOPED_TRACE(graph::sizes_text(x.sizes()));
      const Tensor want = f(x, w, b), got = frozen(x, kept, b);
      EXPECT_TRUE(is_same(got, want));
      EXPECT_TRUE(allclose(frozen(last(x), kept, b), want, 1e-4, 1e-3));
    }
  EXPECT_NE(frozen.explain().find("reprise::convolution_packed"), std::string::npos) << frozen.explain();
  EXPECT_EQ(frozen.stats().eager_fallbacks, 0);
}

}  // namespace
}  // namespace reprise::test
