// Images read at places of a grid against loops in double.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "reprise/vision.h"
#include "tests/operators/operators_test.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

using Sizes = std::vector<std::int64_t>;

struct How {
  std::string_view mode, beyond;
  bool align;
};

double reflected(double v, std::int64_t n, bool align) {
  const double low = align ? 0 : -0.5, high = align ? static_cast<double>(n - 1) : static_cast<double>(n) - 0.5;
  if (low == high) return 0;
  while (v < low || v > high) v = v < low ? 2 * low - v : 2 * high - v;
  return v;
}
double brought_in(double v, std::int64_t n, const How& how) {
  if (how.beyond == "zeros") return v;
  if (how.beyond == "reflection") v = reflected(v, n, how.align);
  return std::min(std::max(v, 0.0), static_cast<double>(n - 1));
}
double cubic(double x) {
  x = std::abs(x);
  if (x <= 1) return (1.25 * x - 2.25) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * -0.75 : 0;
}

Tensor by_loops(const Tensor& x, const Tensor& grid, const How& how) {
  const std::vector<double> xs = x.to(Device::cpu()).to(kFloat64).to_vector<double>(),
                            gs = grid.to(Device::cpu()).to(kFloat64).to_vector<double>();
  const std::size_t n = static_cast<std::size_t>(x.dim()) - 2;
  Sizes in, out;
  std::int64_t places = 1, plane = 1;
  for (std::size_t i = 0; i < n; ++i)
    in.push_back(x.size(static_cast<int>(i) + 2).value()), out.push_back(grid.size(static_cast<int>(i) + 1).value()),
        plane *= in.back(), places *= out.back();
  const std::int64_t batch = x.size(0).value(), channels = x.size(1).value();
  std::vector<double> made;
  for (std::int64_t b = 0; b < batch; ++b)
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t p = 0; p < places; ++p) {
        std::vector<double> at;
        for (std::size_t i = 0; i < n; ++i) {
          const double g = gs[static_cast<std::size_t>((b * places + p) * static_cast<std::int64_t>(n)) + n - 1 - i],
                       size = static_cast<double>(in[i]);
          const double v = how.align ? (g + 1) / 2 * (size - 1) : ((g + 1) * size - 1) / 2;
          at.push_back(how.mode == "bicubic" ? v : brought_in(v, in[i], how));
        }
        std::function<double(std::size_t, std::int64_t)> sum = [&](std::size_t i, std::int64_t flat) -> double {
          if (i == n) return xs[static_cast<std::size_t>((b * channels + c) * plane + flat)];
          auto element = [&](double k) {
            const double e = how.mode == "bicubic" ? brought_in(k, in[i], how) : k;
            if (!(e >= 0 && e <= static_cast<double>(in[i] - 1))) return 0.0;
            return sum(i + 1, flat * in[i] + static_cast<std::int64_t>(e));
          };
          if (how.mode == "nearest") return element(std::nearbyint(at[i]));
          const double first = std::floor(at[i]);
          double total = 0;
          for (int k = -1; k <= 2; ++k) {
            const double away = at[i] - first - k,
                         w = how.mode == "bicubic" ? cubic(away) : std::max(0.0, 1 - std::abs(away));
            if (w != 0) total += w * element(first + k);
          }
          return total;
        };
        made.push_back(sum(0, 0));
      }
  Ints sizes{batch, channels};
  for (std::int64_t s : out) sizes.push_back(s);
  return tensor_of(made, sizes).to(x.dtype());
}

std::vector<How> all_ways() {
  std::vector<How> all;
  for (std::string_view mode : {"bilinear", "nearest", "bicubic"})
    for (std::string_view beyond : {"zeros", "border", "reflection"})
      for (bool align : {false, true}) all.push_back({mode, beyond, align});
  return all;
}
Tensor grid_of(const Ints& sizes, DType t) { return (numbers(sizes, kFloat64, 3) * 0.53).to(t); }

TEST(GridSample, ReadsAtPlaces) {
  for (bool planes : {true, false})
    for (const How& how : all_ways())
      for (DType t : {kFloat32, kFloat64}) {
        SCOPED_TRACE(std::string(how.mode) + ", " + std::string(how.beyond) + (how.align ? ", corners, " : ", ") +
                     std::string(dtype_name(t)));
        const Tensor x = planes ? numbers({2, 3, 5, 4}, t) : numbers({2, 2, 3, 5, 4}, t),
                     grid = planes ? grid_of({2, 6, 3, 2}, t) : grid_of({2, 2, 3, 4, 3}, t);
        expect_same({grid_sample(x, grid, how.mode, how.beyond, how.align)}, {by_loops(x, grid, how)}, 1e-4, 1e-4);
      }
  const Tensor one = numbers({1, 2, 1, 1}), grid = grid_of({1, 3, 3, 2}, kFloat32);
  for (const How& how : all_ways()) {
    SCOPED_TRACE(std::string(how.mode) + ", " + std::string(how.beyond) +
                 (how.align ? ", corners, of one" : ", of one"));
    expect_same({grid_sample(one, grid, how.mode, how.beyond, how.align)}, {by_loops(one, grid, how)}, 1e-4, 1e-4);
  }
}

TEST(GridSample, OfHalfTypes) {
  const Tensor x = numbers({2, 3, 5, 4}, kBFloat16), grid = grid_of({2, 6, 3, 2}, kBFloat16);
  const How how{"bilinear", "zeros", false};
  expect_same({grid_sample(x, grid)}, {by_loops(x, grid, how)}, 1e-2, 1e-2);
}

TEST(GridSample, PlacesThatAreNoNumbersAreBeyond) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const Tensor grid =
      tensor_of(std::vector<double>{inf, 0, -inf, inf, 1e30, 0}, {1, 1, 3, 2}).to(kFloat32).to(test_device());
  expect_same({grid_sample(ones({1, 1, 4, 4}).to(test_device()), grid, "nearest")}, {zeros({1, 1, 1, 3})}, 0, 0);
  // Whatever it gives, it reads nothing outside.
  const Tensor none = full({1, 2, 2, 2}, nan).to(test_device());
  for (const How& how : all_ways())
    EXPECT_EQ(grid_sample(ones({1, 1, 4, 4}).to(test_device()), none, how.mode, how.beyond, how.align).numel().value(),
              4);
}

TEST(GridSample, OneCompilationServesManySizes) {
  for (const How& how :
       {How{"bilinear", "zeros", false}, How{"bicubic", "reflection", true}, How{"nearest", "border", false}})
    expect_compiled(
        [&](const std::vector<Tensor>& a) {
          return std::vector<Tensor>{relu(grid_sample(a[0] + 1, a[1], how.mode, how.beyond, how.align))};
        },
        [](std::int64_t n) {
          return std::vector<Tensor>{numbers({n, 3, n + 2, n + 1}), grid_of({n, n + 3, 4, 2}, kFloat32)};
        },
        {3, 4, 9}, {.compilations = 3});
}

TEST(GridSample, OfAffineGrids) {
  const Tensor theta = numbers({2, 2, 3}, kFloat64);
  for (bool align : {false, true})
    for (std::int64_t w : {5, 1}) {
      std::vector<double> made;
      auto at = [&](std::int64_t i, std::int64_t n) {
        return n == 1  ? 0
               : align ? 2 * static_cast<double>(i) / static_cast<double>(n - 1) - 1
                       : (2 * static_cast<double>(i) + 1) / static_cast<double>(n) - 1;
      };
      const std::vector<double> t = theta.to(Device::cpu()).to_vector<double>();
      for (std::size_t b = 0; b < 2; ++b)
        for (std::int64_t i = 0; i < 4; ++i)
          for (std::int64_t j = 0; j < w; ++j)
            for (std::size_t k = 0; k < 2; ++k)
              made.push_back(t[b * 6 + k * 3] * at(j, w) + t[b * 6 + k * 3 + 1] * at(i, 4) + t[b * 6 + k * 3 + 2]);
      expect_same({affine_grid(theta, {2, 3, 4, w}, align)}, {tensor_of(made, {2, 4, w, 2})}, 1e-9, 1e-9);
    }
  EXPECT_EQ(graph::sizes_text(affine_grid(zeros({2, 3, 4}), {2, 1, 3, 4, 5}).sizes()), "[2, 3, 4, 5, 3]");
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        return std::vector<Tensor>{grid_sample(a[0], affine_grid(a[1], a[0].sizes()))};
      },
      [](std::int64_t n) {
        return std::vector<Tensor>{numbers({n, 2, n + 2, n + 1}), numbers({n, 2, 3}, kFloat32, 1)};
      },
      {3, 4, 9}, {.compilations = 3});
}

TEST(GridSample, RefusesWhatDoesNotFit) {
  const Tensor x = zeros({2, 3, 4, 5}), grid = zeros({2, 6, 7, 2});
  auto code = [](auto&& f) { return error_of(f).code(); };
  EXPECT_EQ(code([&] { grid_sample(x, zeros({3, 6, 7, 2})); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { grid_sample(x, zeros({2, 6, 7, 3})); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { grid_sample(x, zeros({2, 6, 2})); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { grid_sample(x, grid.to(kFloat64)); }), ErrorCode::DTypeMismatch);
  EXPECT_EQ(code([&] { grid_sample(x.to(kInt64), grid.to(kInt64)); }), ErrorCode::DTypeMismatch);
  EXPECT_EQ(code([&] { grid_sample(x, grid, "cubic"); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { grid_sample(x, grid, "nearest", "wrap"); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { grid_sample(zeros({2, 3, 0, 5}), grid); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { affine_grid(zeros({2, 2, 2}), {2, 3, 4, 5}); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { affine_grid(zeros({2, 2, 3}), {2, 3, 4}); }), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace reprise::test
