#include "reprise/losses.h"

#include <gtest/gtest.h>

#include <numbers>
#include <numeric>

#include "tests/operators/rows_reference.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

/// of(a, b) of the elements of two tensors of equal sizes, in double.
Tensor each(const Tensor& a, const Tensor& b, const std::function<double(double, double)>& of) {
  const Row x = a.to_vector<double>(), y = b.to_vector<double>();
  Row r;
  for (std::size_t i = 0; i < x.size(); ++i) r.push_back(of(x[i], y[i]));
  return tensor_of(r, a.sizes());
}
/// A loss is what its elements are, their mean and their sum.
void expect_loss(const std::function<Tensor(const std::string&)>& loss, const Tensor& want, DType t) {
  expect_same({loss("none"), loss("mean"), loss("sum")}, {want.to(t), want.mean().to(t), want.sum().to(t)},
              t == kFloat64 ? 1e-12 : 2e-6, t == kFloat64 ? 1e-12 : 1e-5);
}

TEST(Losses, OfDifferences) {
  for (DType t : kFloats) {
    const Tensor x = numbers({3, 4}, t), y = numbers({3, 4}, t, 1);
    const auto distance = [](double a, double b) { return std::abs(a - b); };
    expect_loss([&](const std::string& r) { return l1_loss(x, y, r); }, each(x, y, distance), t);
    expect_loss([&](const std::string& r) { return mse_loss(x, y, r); },
                each(x, y, [](double a, double b) { return (a - b) * (a - b); }), t);
    for (double beta : {0.0, 0.5, 2.0})
      expect_loss([&](const std::string& r) { return smooth_l1_loss(x, y, r, beta); },
                  each(x, y,
                       [=](double a, double b) {
                         const double d = std::abs(a - b);
                         return d < beta ? d * d / (2 * beta) : d - beta / 2;
                       }),
                  t);
    expect_loss([&](const std::string& r) { return huber_loss(x, y, r, 1.5); },
                each(x, y,
                     [](double a, double b) {
                       const double d = std::abs(a - b);
                       return d <= 1.5 ? d * d / 2 : 1.5 * (d - 0.75);
                     }),
                t);
  }
  expect_same({mse_loss(numbers({3, 4}), numbers({4})), mse_loss(zeros({0, 2}), zeros({0, 2})),
               mse_loss(zeros({0}), zeros({0}), "sum"), l1_loss(numbers({2}, kInt64), numbers({2}))},
              {square(numbers({3, 4}) - numbers({4})).mean(), full({}, kNan), full({}, 0.0),
               (numbers({2}, kInt64) - numbers({2})).abs().mean()},
              1e-6, 0);
}

TEST(Losses, OfBits) {
  for (DType t : kFloats) {
    const Tensor p = (numbers({3, 4}, t) + 3) / 6, y = (numbers({3, 4}, t, 1) + 3) / 6, x = numbers({3, 4}, t) * 2,
                 w = numbers({4}, t, 2).abs();
    const auto cross = [](double q, double v) {
      return -(v * std::max(std::log(q), -100.0) + (1 - v) * std::max(std::log1p(-q), -100.0));
    };
    const auto logits = [](double z, double v) {
      return std::max(z, 0.0) - z * v + std::log1p(std::exp(-std::abs(z)));
    };
    expect_loss([&](const std::string& r) { return binary_cross_entropy(p, y, {}, r); }, each(p, y, cross), t);
    expect_loss([&](const std::string& r) { return binary_cross_entropy(p, y, w, r); },
                each(p, y, cross) * w.to(kFloat64).to(Device::cpu()), t);
    expect_loss([&](const std::string& r) { return binary_cross_entropy_with_logits(x, y, {}, {}, r); },
                each(x, y, logits), t);
    const Tensor wide = w.to(kFloat64).to(Device::cpu()).expand({3, 4}).contiguous();
    const Row weights = wide.to_vector<double>();
    std::size_t i = 0;
    const Tensor weighted = each(x, y, [&](double z, double v) {
      const double below = -std::max(-z, 0.0) - std::log1p(std::exp(-std::abs(z))), k = weights[i++];
      return k * ((1 - v) * z - (1 + (k - 1) * v) * below);
    });
    expect_loss([&](const std::string& r) { return binary_cross_entropy_with_logits(x, y, w, w, r); }, weighted, t);
  }
}

/// The loss of each position and its weight, by loops.
struct Entropy {
  Row loss, weight;
};
Entropy entropy(const Tensor& input, const std::vector<std::int64_t>& target, const Row& weight, std::int64_t ignore,
                double smoothing) {
  const std::int64_t n = input.size(0).value(), c = input.size(1).value(), m = input.numel().value() / (n * c);
  const Row x = input.to_vector<double>();
  Entropy e;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < m; ++j) {
      auto at = [&](std::int64_t k) { return x[static_cast<std::size_t>((i * c + k) * m + j)]; };
      double sum = 0;
      for (std::int64_t k = 0; k < c; ++k) sum += std::exp(at(k));
      const std::int64_t y = target[static_cast<std::size_t>(i * m + j)];
      auto loss = [&](std::int64_t k) { return weight[static_cast<std::size_t>(k)] * (std::log(sum) - at(k)); };
      double all = 0;
      for (std::int64_t k = 0; k < c; ++k) all += loss(k);
      e.loss.push_back(y == ignore ? 0 : (1 - smoothing) * loss(y) + smoothing / static_cast<double>(c) * all);
      e.weight.push_back(y == ignore ? 0 : weight[static_cast<std::size_t>(y)]);
    }
  return e;
}

TEST(Losses, OfClasses) {
  for (DType t : kFloats)
    for (double smoothing : {0.0, 0.2})
      for (bool weighted : {false, true})
        for (bool deep : {false, true}) {
          const Tensor x = deep ? numbers({3, 4, 2}, t) : numbers({6, 4}, t);
          const std::vector<std::int64_t> classes{0, 3, 1, 2, 3, 1};
          const Row weight = weighted ? Row{1, 0.5, 2, 0.25} : Row(4, 1.0);
          const Tensor y = tensor_of(classes, deep ? Ints{3, 2} : Ints{6}).to(test_device()),
                       w = weighted ? tensor_of(weight).to(t).to(test_device()) : Tensor();
          const Entropy e = entropy(x.to(Device::cpu()), classes, weight, 2, smoothing);
          const Tensor want = tensor_of(e.loss, y.sizes()), sum = want.sum(), counted = tensor_of(e.weight).sum();
          auto loss = [&](const char* r, const Tensor& target) { return cross_entropy(x, target, w, r, 2, smoothing); };
          expect_same({loss("none", y), loss("sum", y), loss("mean", y), loss("mean", y.to(kInt32))},
                      {want.to(t), sum.to(t), (sum / counted).to(t), (sum / counted).to(t)}, 1e-5, 1e-5);
          if (smoothing == 0)
            expect_same(
                {nll_loss(log_softmax(x.to(kFloat32), 1), y, w.defined() ? w.to(kFloat32) : w, "mean", 2).to(t)},
                {(sum / counted).to(t)}, 1e-5, 1e-5);
        }
  const Tensor x = numbers({5}), y = full({}, 3, {kInt64, test_device()});
  expect_same({cross_entropy(x, y), nll_loss(x, y, {}, "none"), cross_entropy(zeros({2, 3}), full({2}, -100))},
              {-log_softmax(x, 0).select(0, 3), -x.select(0, 3), full({}, kNan)}, 1e-6, 1e-6);
  // Probabilities, of which a distribution of one class is that class.
  const Tensor z = numbers({6, 4}), classes = tensor_of<std::int64_t>({0, 3, 1, 2, 3, 1}).to(test_device()),
               w = tensor_of<float>({1, 0.5, 2, 0.25}).to(test_device());
  const Tensor p = one_hot(classes, 4).to(kFloat32);
  for (double smoothing : {0.0, 0.2})
    expect_same(
        {cross_entropy(z, p, w, "none", -100, smoothing), cross_entropy(z, p, {}, "mean", -100, smoothing)},
        {cross_entropy(z, classes, w, "none", -100, smoothing), cross_entropy(z, classes, {}, "mean", -100, smoothing)},
        1e-5, 1e-6);
}

TEST(Losses, OfDistributions) {
  for (DType t : kFloats) {
    const Tensor x = numbers({3, 4}, t), p = (numbers({3, 4}, t, 1) + 3) / 4, y = numbers({3, 4}, t, 2);
    const Tensor divergence = each(x, p, [](double a, double b) { return (b == 0 ? 0 : b * std::log(b)) - b * a; });
    expect_loss([&](const std::string& r) { return kl_div(x, p, r); }, divergence, t);
    expect_same({kl_div(x, p, "batchmean")}, {(divergence.sum() / 3).to(t)}, 1e-5, 1e-5);
    expect_loss([&](const std::string& r) { return kl_div(x, y, r, true); },
                each(x, y, [](double a, double b) { return std::exp(b) * (b - a); }), t);
    const auto stirling = [](double b) {
      return b > 1 ? b * std::log(b) - b + 0.5 * std::log(2 * std::numbers::pi * b) : 0;
    };
    expect_loss([&](const std::string& r) { return poisson_nll_loss(x, p, true, true, 1e-8, r); },
                each(x, p, [&](double a, double b) { return std::exp(a) - b * a + stirling(b); }), t);
    expect_loss([&](const std::string& r) { return poisson_nll_loss(p, y, false, false, 0.5, r); },
                each(p, y, [](double a, double b) { return a - b * std::log(a + 0.5); }), t);
    expect_loss(
        [&](const std::string& r) {
          return gaussian_nll_loss(x, y, full({3, 4}, 0.25, {t, test_device()}), true, 1e-6, r);
        },
        each(x, y,
             [](double a, double b) {
               return 0.5 * (std::log(0.25) + (a - b) * (a - b) * 4) + 0.5 * std::log(2 * std::numbers::pi);
             }),
        t);
    expect_same({gaussian_nll_loss(x, y, full({3}, 0.25, {t, test_device()}), false, 1e-6, "none")},
                {gaussian_nll_loss(x, y, full({3, 1}, 0.25, {t, test_device()}), false, 1e-6, "none")}, 0, 0);
  }
}

TEST(Losses, OfIntegersAreFloats) {
  for (DType t : {kInt64, kInt32, kUInt8}) {
    auto f = [](const std::vector<Tensor>& a) {
      const Tensor& s = a[3];
      return std::vector<Tensor>{margin_ranking_loss(a[0], a[1], s, 0.5),
                                 cosine_embedding_loss(a[0], a[1], s.select(1, 0)),
                                 triplet_margin_loss(a[0], a[1], a[2]), poisson_nll_loss(a[0], a[1], true, true),
                                 pairwise_distance(a[0], a[1])};
    };
    auto whole = [&](DType as) {
      std::vector<Tensor> all;
      for (int k = 0; k < 3; ++k) all.push_back(abs(numbers({4, 3}, kFloat32, k)).to(t).to(as));
      all.push_back(ones({4, 3}, {as, test_device()}));
      return all;
    };
    expect_same(f(whole(t)), f(whole(kFloat32)), 1e-6, 1e-6);
  }
  const Tensor x = ones({3}, {kInt64, test_device()});
  for (const auto& refused : {error_of([&] { mse_loss(x, x); }), error_of([&] { hinge_embedding_loss(x, x); }),
                              error_of([&] { margin_ranking_loss(x.to(kBool), x.to(kBool), x.to(kBool)); })})
    EXPECT_EQ(refused.code(), ErrorCode::DTypeMismatch);
}

TEST(Losses, OfPairsAndTriplets) {
  for (DType t : kFloats) {
    const Tensor x = numbers({5, 4}, t), y = numbers({5, 4}, t, 1), z = numbers({5, 4}, t, 2),
                 sign = tensor_of<double>({1, -1, 1, -1, 1}).to(t).to(test_device());
    const auto rows = [](const Tensor& v) {
      std::vector<Row> r;
      const Row all = v.to_vector<double>();
      for (std::size_t i = 0; i < 5; ++i)
        r.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(4 * i),
                       all.begin() + static_cast<std::ptrdiff_t>(4 * i + 4));
      return r;
    };
    const std::vector<Row> a = rows(x), b = rows(y), c = rows(z);
    const auto dot = [](const Row& u, const Row& v) { return std::inner_product(u.begin(), u.end(), v.begin(), 0.0); };
    const auto distance = [](const Row& u, const Row& v) {
      double s = 0;
      for (std::size_t k = 0; k < u.size(); ++k) s += std::pow(u[k] - v[k] + 1e-6, 2);
      return std::sqrt(s);
    };
    Row near, apart, embedded, triplet, swapped;
    for (std::size_t i = 0; i < 5; ++i) {
      near.push_back(dot(a[i], b[i]) / std::sqrt(dot(a[i], a[i]) * dot(b[i], b[i])));
      apart.push_back(distance(a[i], b[i]));
      embedded.push_back(i % 2 ? std::max(0.0, near[i] - 0.1) : 1 - near[i]);
      triplet.push_back(std::max(0.0, 1 + apart[i] - distance(a[i], c[i])));
      swapped.push_back(std::max(0.0, 1 + apart[i] - std::min(distance(a[i], c[i]), distance(b[i], c[i]))));
    }
    expect_same(
        {cosine_similarity(x, y), cosine_similarity(x, y.select(0, 0)).select(0, 0), pairwise_distance(x, y),
         pairwise_distance(x, y, 2, 1e-6, true)},
        {tensor_of(near).to(t), full({}, near[0]).to(t), tensor_of(apart).to(t), tensor_of(apart).to(t).unsqueeze(1)},
        1e-5, 1e-5);
    expect_loss([&](const std::string& r) { return cosine_embedding_loss(x, y, sign, 0.1, r); }, tensor_of(embedded),
                t);
    expect_loss([&](const std::string& r) { return triplet_margin_loss(x, y, z, 1, 2, 1e-6, false, r); },
                tensor_of(triplet), t);
    expect_loss([&](const std::string& r) { return triplet_margin_loss(x, y, z, 1, 2, 1e-6, true, r); },
                tensor_of(swapped), t);
    const Tensor signs = sign.unsqueeze(1).expand({5, 4}).contiguous();
    const Tensor apart_by_one = each(x, y, [](double u, double v) { return u - v; });
    expect_loss([&](const std::string& r) { return margin_ranking_loss(x, y, signs, 0.5, r); },
                each(apart_by_one, signs, [](double d, double s) { return std::max(0.0, -s * d + 0.5); }), t);
    expect_loss([&](const std::string& r) { return hinge_embedding_loss(x, signs, 1, r); },
                each(x, signs, [](double v, double s) { return s == 1 ? v : std::max(0.0, 1 - v); }), t);
    expect_loss([&](const std::string& r) { return soft_margin_loss(x, signs, r); },
                each(x, signs, [](double v, double s) { return std::log1p(std::exp(-s * v)); }), t);
  }
}

TEST(Losses, CompileOnceForAllSizes) {
  auto make = [](std::int64_t n) {
    return std::vector<Tensor>{numbers({n, 5}), numbers({n, 5}, kFloat32, 1), remainder(arange(n), 5).to(test_device()),
                               tensor_of<float>({1, 2, 3, 0.5, 0.25}).to(test_device())};
  };
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        return std::vector<Tensor>{mse_loss(a[0], a[1]),
                                   cross_entropy(a[0], a[2], a[3], "mean", 1, 0.1),
                                   cross_entropy(a[0], softmax(a[1], 1)),
                                   binary_cross_entropy_with_logits(a[0], sigmoid(a[1])),
                                   kl_div(log_softmax(a[0], 1), softmax(a[1], 1), "batchmean"),
                                   triplet_margin_loss(a[0], a[1], a[0] * 2),
                                   huber_loss(a[0], a[1], "sum"),
                                   cosine_similarity(a[0], a[1])};
      },
      make, {4, 7, 30, 1}, {.rtol = 1e-4});
  auto f = compile([](Tensor x, Tensor y) { return cross_entropy(x, y) + smooth_l1_loss(x, x * 2); });
  for (std::int64_t n : {3, 5, 90}) f(numbers({n, 5}), remainder(arange(n), 5).to(test_device()));
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Losses, RefuseWhatDoesNotFit) {
  const Tensor x = zeros({2, 3}), y = zeros({2}).to(kInt64);
  EXPECT_EQ(error_of([&] { mse_loss(x, x, "average"); }).message(),
            "reduction is 'average', expected none, mean or sum");
  EXPECT_EQ(error_of([&] { mse_loss(x, zeros({2})); }).op(), "mse_loss");
  EXPECT_EQ(error_of([&] { mse_loss(y, y); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { huber_loss(x, x, "mean", 0); }).message(), "delta must be above 0, got 0");
  EXPECT_EQ(error_of([&] { binary_cross_entropy(x, zeros({3})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { cross_entropy(x, zeros({3}).to(kInt64)); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { cross_entropy(x, full({2}, 3)); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(error_of([&] { cross_entropy(x, y, zeros({2})); }).message(),
            "weight has sizes [2], and there are 3 classes");
  EXPECT_EQ(error_of([&] { cross_entropy(x, zeros({2, 2})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { cross_entropy(x, y, {}, "mean", -100, 2); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { nll_loss(x, x); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { cosine_embedding_loss(x, x, x); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { triplet_margin_loss(x, x, x, 0); }).code(), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace reprise::test
