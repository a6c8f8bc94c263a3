// Images of other sizes against matrices of weights, one for each dimension, that are written from the definitions in
// double.
#include <gtest/gtest.h>

#include <functional>

#include "reprise/pooling.h"
#include "reprise/vision.h"
#include "tests/operators/operators_test.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

using List = std::vector<std::int64_t>;

double cubic(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

/// [out, in]: the weight of each element in each result.
Tensor weights(std::string_view mode, std::int64_t in, std::int64_t out, bool align, bool antialias,
               std::optional<double> factor) {
  std::vector<double> all(static_cast<std::size_t>(out * in));
  const double scale = align    ? (out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0)
                       : factor ? 1 / *factor
                                : static_cast<double>(in) / static_cast<double>(out);
  auto add = [&](std::int64_t o, std::int64_t i, double w) {
    all[static_cast<std::size_t>(o * in + std::min(std::max<std::int64_t>(i, 0), in - 1))] += w;
  };
  for (std::int64_t o = 0; o < out; ++o) {
    if (mode == "nearest" || mode == "nearest-exact") {
      // As places are computed: in float32.
      const float at = (static_cast<float>(o) + (mode == "nearest" ? 0.0f : 0.5f)) * static_cast<float>(scale);
      add(o, static_cast<std::int64_t>(std::floor(at)), 1);
    } else if (antialias) {
      const double reach = (mode == "linear" ? 1 : 2) * std::max(scale, 1.0),
                   center = scale * (static_cast<double>(o) + 0.5);
      const auto from = std::max<std::int64_t>(static_cast<std::int64_t>(center - reach + 0.5), 0),
                 to = std::min<std::int64_t>(static_cast<std::int64_t>(center + reach + 0.5), in);
      double sum = 0;
      auto weight = [&](std::int64_t i) {
        const double away = (static_cast<double>(i) - center + 0.5) / std::max(scale, 1.0);
        return mode == "linear" ? std::max(0.0, 1 - std::abs(away)) : cubic(away, -0.5);
      };
      for (std::int64_t i = from; i < to; ++i) sum += weight(i);
      for (std::int64_t i = from; i < to; ++i) add(o, i, weight(i) / sum);
    } else {
      double at = align ? scale * static_cast<double>(o) : scale * (static_cast<double>(o) + 0.5) - 0.5;
      if (mode == "linear") at = std::max(at, 0.0);
      const double first = std::floor(at), t = at - first;
      const auto i = static_cast<std::int64_t>(first);
      if (mode == "linear") add(o, i, 1 - t), add(o, i + 1, t);
      else
        for (std::int64_t k = -1; k <= 2; ++k) add(o, i + k, cubic(t - static_cast<double>(k), -0.75));
    }
  }
  return tensor_of(all, {out, in});
}

Tensor resized(const Tensor& x, std::string_view mode, const List& size, bool align, bool antialias,
               const std::vector<double>& factors) {
  Tensor y = x.to(Device::cpu()).to(kFloat64);
  for (std::size_t i = 0; i < size.size(); ++i) {
    const int d = static_cast<int>(i) + 2;
    const Tensor w = weights(mode, y.size(d).value(), size[i], align, antialias,
                             factors.empty() ? std::nullopt : std::optional<double>(factors[i]));
    y = matmul(y.movedim(d, -1), w.t()).movedim(-1, d);
  }
  return y.contiguous().to(x.dtype());
}

std::string_view word(std::string_view mode, std::size_t n) {
  return mode == "linear"  ? (n == 1   ? "linear"
                              : n == 2 ? "bilinear"
                                       : "trilinear")
         : mode == "cubic" ? "bicubic"
                           : mode;
}
Tensor image(std::size_t n, DType t) {
  Ints sizes{2, 3, 5};
  for (std::size_t i = 1; i < n; ++i) sizes.push_back(5 + static_cast<std::int64_t>(i));
  return numbers(sizes, t);
}
Ints ints(const List& l) { return Ints(l.begin(), l.end()); }

const std::vector<List> kSizes = {{5},    {9},    {3},    {1},     {5, 6},     {10, 12},
                                  {3, 4}, {7, 3}, {1, 1}, {1, 13}, {10, 3, 8}, {2, 2, 2}};

TEST(Interpolate, ToSizes) {
  for (const char* mode : {"nearest", "nearest-exact", "linear", "cubic"})
    for (bool align : {false, true})
      for (const List& size : kSizes)
        for (DType t : {kFloat32, kFloat64, kBFloat16, kInt64}) {
          const bool nearest = std::string_view(mode).starts_with("nearest");
          if ((nearest && align) || (!nearest && t == kInt64) ||
              (std::string_view(mode) == "cubic" && size.size() != 2))
            continue;
          SCOPED_TRACE(std::string(mode) + (align ? ", corners, " : ", ") + graph::sizes_text(ints(size)) + " of " +
                       std::string(dtype_name(t)));
          const Tensor x = image(size.size(), t);
          InterpolateOptions o{.size = ints(size), .mode = word(mode, size.size())};
          if (align) o.align_corners = true;
          expect_same({interpolate(x, o)}, {resized(x, mode, size, align, false, {})}, 1e-5, 1e-5);
        }
}

TEST(Interpolate, WithoutAliases) {
  for (const char* mode : {"linear", "cubic"})
    for (const List& size : kSizes)
      for (DType t : {kFloat32, kFloat64, kBFloat16}) {
        if (size.size() != 2) continue;
        SCOPED_TRACE(std::string(mode) + " " + graph::sizes_text(ints(size)) + " of " + std::string(dtype_name(t)));
        const Tensor x = image(2, t);
        expect_same({interpolate(x, {.size = ints(size), .mode = word(mode, 2), .antialias = true})},
                    {resized(x, mode, size, false, true, {})}, 1e-5, 1e-5);
      }
}

TEST(Interpolate, ByFactors) {
  const Tensor x = numbers({2, 3, 7, 9});
  for (const char* mode : {"nearest", "nearest-exact", "linear", "cubic"})
    for (std::vector<double> f :
         {std::vector<double>{2, 2}, std::vector<double>{0.5, 1.5}, std::vector<double>{1.3, 0.7}})
      for (bool again : {false, true}) {
        SCOPED_TRACE(std::string(mode) + " by " + std::to_string(f[0]) + (again ? ", recomputed" : ""));
        const List size{static_cast<std::int64_t>(std::floor(7 * f[0])),
                        static_cast<std::int64_t>(std::floor(9 * f[1]))};
        expect_same({interpolate(x, {.scale_factor = f, .mode = word(mode, 2), .recompute_scale_factor = again})},
                    {resized(x, mode, size, false, false, again ? std::vector<double>{} : f)}, 1e-5, 1e-5);
      }
  expect_same({interpolate(x, {.size = Ints{3, 4}, .mode = "area"})}, {adaptive_avg_pool2d(x, {3, 4})}, 0, 0);
  expect_same(
      {upsample_bilinear2d(x, {14, 5}, true), upsample_nearest2d(x, {14, 5}), upsample_bicubic2d(x, {3, 4}, false)},
      {resized(x, "linear", {14, 5}, true, false, {}), resized(x, "nearest", {14, 5}, false, false, {}),
       resized(x, "cubic", {3, 4}, false, false, {})},
      1e-5, 1e-5);
}

TEST(Interpolate, OneCompilationServesManySizes) {
  for (const char* mode : {"nearest", "bilinear", "bicubic"}) {
    SCOPED_TRACE(mode);
    const bool smooth = std::string_view(mode) != "nearest";
    expect_compiled(
        [&](const std::vector<Tensor>& a) {
          return std::vector<Tensor>{
              interpolate(a[0] + 1, {.scale_factor = {2}, .mode = mode}),
              relu(interpolate(a[0], {.size = Ints{5, 9}, .mode = mode, .antialias = smooth})),
              interpolate(a[0], {.scale_factor = {0.5}, .mode = mode, .recompute_scale_factor = true})};
        },
        [](std::int64_t n) {
          return std::vector<Tensor>{numbers({n, 3, n + 2, n + 7})};
        },
        {3, 4, 9}, {.compilations = 3});
  }
}

TEST(Interpolate, RefusesWhatDoesNotFit) {
  const Tensor x = zeros({2, 3, 5, 6});
  auto code = [](auto&& f) { return error_of(f).code(); };
  EXPECT_EQ(code([&] { interpolate(x, {}); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { interpolate(x, {.size = Ints{3}, .scale_factor = {2}}); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { interpolate(x, {.size = Ints{3, 3, 3}}); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { interpolate(x, {.size = Ints{0}}); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { interpolate(x, {.size = Ints{3}, .mode = "linear"}); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { interpolate(x, {.size = Ints{3}, .mode = "lanczos"}); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { interpolate(x, {.size = Ints{3}, .align_corners = true}); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { interpolate(x, {.size = Ints{3}, .antialias = true}); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { interpolate(x, {.scale_factor = {-1}}); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { interpolate(x.to(kInt64), {.size = Ints{3}, .mode = "bilinear"}); }), ErrorCode::DTypeMismatch);
  EXPECT_EQ(code([&] { interpolate(zeros({2, 3}), {.size = Ints{3}}); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { interpolate(zeros({2, 3, 0, 4}), {.size = Ints{3}}); }), ErrorCode::ShapeMismatch);
}

}  // namespace
}  // namespace reprise::test
