#include "reprise/statistics.h"

#include <gtest/gtest.h>

#include "tests/operators/rows_reference.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

Row numbers_of(const Row& r) {
  Row n;
  for (double v : r)
    if (!std::isnan(v)) n.push_back(v);
  std::sort(n.begin(), n.end());
  return n;
}

/// The value at the part q of the sorted row.
double at_part(const Row& row, double q, bool ignore_nan, const std::string& interpolation) {
  const Row r = numbers_of(row);
  if (r.empty() || (!ignore_nan && r.size() < row.size())) return kNan;
  const double at = q * static_cast<double>(r.size() - 1);
  const double low = r[static_cast<std::size_t>(std::floor(at))], high = r[static_cast<std::size_t>(std::ceil(at))];
  if (interpolation == "lower") return low;
  if (interpolation == "higher") return high;
  if (interpolation == "nearest") return r[static_cast<std::size_t>(std::nearbyint(at))];
  const double w = interpolation == "midpoint" ? (std::floor(at) == std::ceil(at) ? 0 : 0.5) : at - std::floor(at);
  return w == 0 ? low : w < 0.5 ? low + w * (high - low) : high - (high - low) * (1 - w);
}

TEST(Statistics, Medians) {
  for (DType t : kNumbers)
    for (std::int64_t dim : {0, 1, -1})
      for (bool keepdim : {false, true}) {
        const Tensor x = is_floating(t) ? special_numbers({3, 5, 4}, t) : numbers({3, 5, 4}, t);
        const auto kept = [&](const Tensor& y) { return keepdim ? y : y.squeeze(dim); };
        const auto of = [](bool ignore_nan) {
          return [=](const Row& row) {
            const Row r = numbers_of(row);
            return Row{r.empty() || (!ignore_nan && r.size() < row.size()) ? kNan : r[(r.size() - 1) / 2]};
          };
        };
        const auto [m, at] = median(x, dim, keepdim);
        const auto [n, at_n] = nanmedian(x, dim, keepdim);
        expect_same({m, n}, {kept(of_rows(x, dim, of(false), t)), kept(of_rows(x, dim, of(true), t))}, 0, 0);
        expect_same(
            {gather(x, dim, keepdim ? at : at.unsqueeze(dim)), gather(x, dim, keepdim ? at_n : at_n.unsqueeze(dim))},
            {keepdim ? m : m.unsqueeze(dim), keepdim ? n : n.unsqueeze(dim)}, 0, 0);
        expect_same(
            {median(x), nanmedian(x)},
            {of_rows(x.reshape({-1}), 0, of(false), t).squeeze(), of_rows(x.reshape({-1}), 0, of(true), t).squeeze()},
            0, 0);
      }
  expect_same({median(zeros({0, 2})), median(full({}, 3.0), 0).first}, {full({}, kNan), full({}, 3.0)}, 0, 0);
}

TEST(Statistics, Quantiles) {
  for (DType t : {kFloat32, kFloat64})
    for (const char* interpolation : {"linear", "lower", "higher", "midpoint", "nearest"})
      for (double q : {0.0, 0.25, 0.5, 0.9, 1.0}) {
        SCOPED_TRACE(std::string(interpolation) + " " + std::to_string(q));
        Tensor x = numbers({4, 5}, t);
        Tensor holes = where(numbers({4, 5}, t, 3).gt(2), kNan, x);
        for (std::int64_t dim : {0, 1}) {
          const auto of = [&](bool ignore) {
            return [=](const Row& r) {
              return Row{at_part(r, static_cast<double>(static_cast<float>(q)), ignore, interpolation)};
            };
          };
          expect_same({quantile(x, q, dim, false, interpolation), quantile(holes, q, dim, true, interpolation),
                       nanquantile(holes, q, dim, false, interpolation)},
                      {of_rows(x, dim, of(false), t).squeeze(dim), of_rows(holes, dim, of(false), t),
                       of_rows(holes, dim, of(true), t).squeeze(dim)},
                      1e-5, 1e-6);
        }
      }
  const Tensor x = numbers({2, 3, 4}), parts = tensor_of<float>({0, 0.5, 1}).to(test_device());
  const Tensor r = quantile(x, parts, 1), kept = quantile(x, parts, 1, true), all = quantile(x, parts),
               all_kept = quantile(x, parts, std::nullopt, true);
  EXPECT_EQ(graph::sizes_text(r.sizes()), "[3, 2, 4]");
  EXPECT_EQ(graph::sizes_text(kept.sizes()), "[3, 2, 1, 4]");
  EXPECT_EQ(graph::sizes_text(all.sizes()), "[3]");
  EXPECT_EQ(graph::sizes_text(all_kept.sizes()), "[3, 1, 1, 1]");
  expect_same({r.select(0, 0), r.select(0, 1), kept.select(0, 2), all},
              {amin(x, 1), median(x, 1).first, amax(x, 1, true), stack({amin(x), quantile(x, 0.5), amax(x)})}, 0, 0);
  EXPECT_EQ(graph::sizes_text(quantile(x, 0.5, 1, true).sizes()), "[2, 1, 4]");
  EXPECT_EQ(quantile(full({}, 2.0).to(test_device()), 0.3, 0).item().to_double(), 2);
}

TEST(Statistics, CompileOnceForAllSizes) {
  auto make = [](std::int64_t n) { return std::vector<Tensor>{numbers({n, n + 3}), special_numbers({n, 5})}; };
  const auto f = [](const std::vector<Tensor>& a) {
    return std::vector<Tensor>{median(a[0], 1).first,      nanmedian(a[1], -1).first * 2,
                               quantile(a[0] + 1, 0.3, 1), nanquantile(a[1], 0.5, 1, true),
                               nanmean(a[1], 1),           median(a[0])};
  };
  expect_compiled(f, make, {4, 7, 20, 1});
  auto g = compile([](Tensor x) { return median(x, 0).first + quantile(x, 0.3, 0, false, "midpoint"); });
  for (std::int64_t n : {3, 6, 90}) g(numbers({n, 4}));
  EXPECT_EQ(g.stats().compilations, 1);
  EXPECT_EQ(g.stats().eager_fallbacks, 0);
}

TEST(Statistics, RefuseWhatHasNone) {
  const Tensor x = zeros({2, 0, 3});
  EXPECT_EQ(error_of([&] { median(x, 1); }).message(), "dimension 1 of sizes [2, 0, 3] has no elements");
  EXPECT_EQ(error_of([&] { quantile(x, 0.5); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { quantile(zeros({2}), 1.5); }).message(), "q must lie in [0, 1], got 1.5");
  EXPECT_EQ(error_of([&] { quantile(zeros({2}), zeros({1}).to(kFloat64)); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { quantile(zeros({2}), zeros({1, 1})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { quantile(zeros({2}).to(kBFloat16), 0.5); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { nanquantile(zeros({2}), 0.5, 0, false, "cubic"); }).op(), "nanquantile");
  EXPECT_EQ(error_of([&] { median(zeros({2}).to(kBool)); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { median(zeros({2}), 1); }).code(), ErrorCode::IndexOutOfRange);
}

}  // namespace
}  // namespace reprise::test
