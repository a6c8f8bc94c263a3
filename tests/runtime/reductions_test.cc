// Reductions to few values, whatever sizes come one after another: devices choose how by the sizes of a call.
#include <gtest/gtest.h>

#include <cmath>

#include "reprise/reprise.h"
#include "tests/support/device.h"

namespace reprise {
namespace {

using test::on_test_device;

std::vector<float> numbers(std::int64_t n) {
  std::vector<float> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7919 % 1000) / 1000 - 0.3f;
  return x;
}

void expect_near(const Tensor& got, const std::vector<double>& expected, const char* what) {
  const std::vector<float> values = got.cpu().to_vector<float>();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], 2e-6 * std::max(1.0, std::fabs(expected[i])))
        << what << " " << i << " of " << values.size();
}

struct Expected {
  double sum = 0, most = -INFINITY, squares = 0, exps = 0;
  explicit Expected(const std::vector<float>& x) {
    for (float v : x) sum += v, most = std::max<double>(most, v), exps += std::exp(static_cast<double>(v));
    for (float v : x) squares += std::pow(v - sum / static_cast<double>(x.size()), 2);
  }
};

const std::int64_t kLengths[] = {300, 200000, 40, 300017, 20001};

TEST(Reductions, OfAllElements) {
  auto f = compile(
      [](Tensor x) {
        return std::vector<Tensor>{x.sum(), x.mean(), x.amax(), var(x), x.mul(x).sum()};
      },
      {.name = "reductions"});
  for (const std::int64_t n : kLengths) {
    const std::vector<float> x = numbers(n);
    const Expected e(x);
    const Tensor there = on_test_device(tensor_of(x));
    const double count = static_cast<double>(n), mean = e.sum / count;
    const std::vector<double> expected{e.sum, mean, e.most, e.squares / (count - 1), e.squares + mean * e.sum};
    std::vector<Tensor> got = f(there);
    for (std::size_t i = 0; i < expected.size(); ++i) expect_near(got[i], {expected[i]}, "compiled");
    expect_near(there.sum(), {e.sum}, "eager");
  }
  EXPECT_LE(f.stats().compilations, 2);
}

TEST(Reductions, OfColumns) {
  auto f = compile([](Tensor x) { return x.sum({0}); }, {.name = "columns"});
  for (const std::int64_t n : kLengths) {
    const std::vector<float> x = numbers(n * 3);
    std::vector<double> sums(3);
    for (std::size_t i = 0; i < x.size(); ++i) sums[i % 3] += x[i];
    expect_near(f(on_test_device(tensor_of(x, {n, 3}))), sums, "columns");
  }
}

TEST(Reductions, SoftmaxOfLongRowsInPlace) {
  auto f = compile([](Tensor x) { x.copy_(softmax(x, -1)); }, {.name = "softmax"});
  for (const std::int64_t n : {300, 100000, 70001, 129}) {
    const std::vector<float> x = numbers(n);
    const Expected e(x);
    std::vector<double> expected;
    for (int row = 0; row < 2; ++row)
      for (float v : x) expected.push_back(std::exp(static_cast<double>(v)) / e.exps);
    std::vector<float> both = x;
    both.insert(both.end(), x.begin(), x.end());
    Tensor there = on_test_device(tensor_of(both, {2, n}));
    f(there);
    expect_near(there, expected, "softmax");
  }
}

TEST(Reductions, PlacesOfTheGreatest) {
  auto f = compile([](Tensor x) { return argmax(x, -1); }, {.name = "places"});
  for (const std::int64_t n : {100000, 3, 60, 20001}) {
    std::vector<float> x = numbers(2 * n);
    const std::int64_t first = n / 3, second = n - 1;
    for (std::int64_t at : {first, n / 2, n + second}) x[static_cast<std::size_t>(at)] = 5;
    EXPECT_EQ(f(on_test_device(tensor_of(x, {2, n}))).cpu().to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{first, second}))
        << n;
  }
  EXPECT_EQ(f.stats().compilations, 1);
}

// A row is normalized, each part of it divided by the greatest there, and all of that added up again, while the row is
// written in place. A row that is known to have no elements, counted through by its parts.
TEST(Reductions, PartsOfARowWithoutElements) {
  auto body = [](Tensor y, Int less) {
    const Tensor part = y.slice(0, 0, y.size(0) - less).unsqueeze(0).expand({3, -1, -1}).select(0, 1).mul_(2.0);
    const Tensor row = rms_norm(part.reshape({part.numel()}), {part.numel()}, Tensor(), 0.1).view(part.sizes());
    return row / (amax(abs(row), {-1}, true) + 0.5);
  };
  auto resized = [](Tensor y, Int less) {
    const Tensor part =
        y.resize_({y.size(0) - less, y.size(1)}).unsqueeze(0).expand({3, -1, -1}).select(0, 1).mul_(2.0);
    const Tensor row = rms_norm(part.reshape({part.numel()}), {part.numel()}, Tensor(), 0.1).view(part.sizes());
    return row / (amax(abs(row), {-1}, true) + 0.5);
  };
  auto f = compile(body);
  auto g = compile(resized);
  for (const auto& [m, n, less] : {std::tuple{1, 2, 1}, {3, 2, 1}, {2, 1, 1}, {2, 2, 2}, {1, 1, 1}, {1, 7, 1}}) {
    const std::string what = std::to_string(m) + " x " + std::to_string(n) + " - " + std::to_string(less);
    const Tensor a = ones({m, n}), b = ones({m, n});
    ASSERT_TRUE(allclose(f(a, less), body(b, less))) << what;
    ASSERT_TRUE(equal(a, b)) << what;
    ASSERT_TRUE(allclose(g(a, less), resized(b, less))) << what;
    ASSERT_TRUE(equal(a, b)) << what;
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_EQ(g.stats().eager_fallbacks, 0) << g.stats().last_fallback_reason;
}

TEST(Reductions, RowsAndThenPartsOfThem) {
  auto f = compile(
      [](Tensor r, Tensor x, Tensor w, Int of) {
        r.add_(x);
        const Tensor y = rms_norm(r, w, 1e-6).view({r.size(0), r.size(1) / of, of});
        const Tensor most = y.abs().amax({-1}, true) + 0.5;
        const Tensor q = y / most;
        return std::vector<Tensor>{q, most, q.sum({1, 2})};
      },
      {.name = "parts"});
  struct Sizes {
    std::int64_t rows, parts, of;
  };
  for (const Sizes& z : {Sizes{3, 4, 128},
                         {1, 32, 128},
                         {70, 3, 17},
                         {2, 40, 5},
                         {5, 7, 1},
                         {2, 1, 4000},
                         {0, 3, 16},
                         {4, 0, 16},
                         {1, 130, 33}}) {
    const std::int64_t width = z.parts * z.of, n = z.rows * width;
    const std::vector<float> r = numbers(n), x = numbers(n + 13), w = numbers(width + 5);
    std::vector<double> sum, q, most, total;
    for (std::int64_t i = 0; i < z.rows; ++i) {
      double squares = 0;
      for (std::int64_t j = 0; j < width; ++j) {
        sum.push_back(r[static_cast<std::size_t>(i * width + j)] + x[static_cast<std::size_t>(i * width + j)]);
        squares += sum.back() * sum.back();
      }
      const double scale = 1 / std::sqrt(squares / static_cast<double>(width) + 1e-6);
      total.push_back(0);
      for (std::int64_t p = 0; p < z.parts; ++p) {
        auto y = [&](std::int64_t j) {
          return sum[static_cast<std::size_t>(i * width + p * z.of + j)] * scale *
                 w[static_cast<std::size_t>(p * z.of + j)];
        };
        double greatest = 0;
        for (std::int64_t j = 0; j < z.of; ++j) greatest = std::max(greatest, std::fabs(y(j)));
        most.push_back(greatest + 0.5);
        for (std::int64_t j = 0; j < z.of; ++j) q.push_back(y(j) / most.back()), total.back() += q.back();
      }
    }
    const Tensor there = on_test_device(tensor_of(r, {z.rows, width}));
    const std::vector<Tensor> got =
        f(there, on_test_device(tensor_of(std::vector<float>(x.begin(), x.begin() + n), {z.rows, width})),
          on_test_device(tensor_of(std::vector<float>(w.begin(), w.begin() + width), {width})), z.of);
    expect_near(there, sum, "residual");
    expect_near(got[0], q, "quotient");
    expect_near(got[1], most, "greatest");
    expect_near(got[2], total, "sum");
  }
  const std::string explained = f.explain();
  std::size_t loops = 0;
  for (std::size_t at = 0; (at = explained.find("\nloop ", at)) != std::string::npos; ++at) ++loops;
  EXPECT_EQ(loops, static_cast<std::size_t>(f.stats().compilations)) << explained;
}

// The greatest magnitude is found by its bits, numbers are cut at constants by one comparison: what is not a number
// stays so.
TEST(Reductions, MagnitudesAndBoundsKeepWhatIsNotANumber) {
  auto most = compile([](Tensor x) { return abs(x).amax({-1}); }, {.name = "most"});
  auto cut = compile([](Tensor x) { return clamp(x, -448.0, 448.0); }, {.name = "cut"});
  auto whole = compile([](Tensor x) { return x.to(kInt8).to(kFloat32); }, {.name = "whole"});
  const float inf = INFINITY, nan = NAN;
  for (std::int64_t width : {1, 5, 16, 70, 300}) {
    std::vector<float> v(static_cast<std::size_t>(4 * width), -0.0f);
    auto row = [&](std::int64_t r) { return v.data() + r * width; };
    row(0)[width - 1] = nan, row(0)[width / 2] = width > 1 ? -inf : nan;
    row(1)[width / 2] = -inf;
    row(2)[width / 3] = -1e-42f;
    const Tensor x = on_test_device(tensor_of(v, {4, width}));
    const std::vector<float> got = most(x).cpu().to_vector<float>();
    EXPECT_TRUE(std::isnan(got[0])) << width;
    EXPECT_EQ(got[1], inf);
    EXPECT_EQ(got[2], 1e-42f);
    EXPECT_EQ(got[3], 0);
    const std::vector<float> bounded = cut(x).cpu().to_vector<float>(), integers = whole(x).cpu().to_vector<float>();
    EXPECT_TRUE(std::isnan(bounded[static_cast<std::size_t>(width - 1)]));
    EXPECT_EQ(bounded[static_cast<std::size_t>(width + width / 2)], -448);
    EXPECT_EQ(integers[static_cast<std::size_t>(width - 1)], 0);
    EXPECT_EQ(integers[static_cast<std::size_t>(width + width / 2)], -128);
  }
}

}  // namespace
}  // namespace reprise
