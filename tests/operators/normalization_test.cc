// Normalization over channels against sums in float64, and what is written to running statistics.
#include "reprise/normalization.h"

#include <gtest/gtest.h>

#include "tests/operators/operators_test.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

Tensor wide(const Tensor& t) { return t.to(Device::cpu()).to(kFloat64); }
/// A [c] beside the channels of an image.
Tensor beside(const Tensor& v, int rank) {
  Ints sizes(static_cast<std::size_t>(rank), Int(1));
  sizes[1] = v.size(0);
  return wide(v).view(sizes);
}
OptionalDims all_but_channels(const Tensor& x) {
  Ints dims{0};
  for (int d = 2; d < x.dim(); ++d) dims.push_back(d);
  return IntArrayRef(dims);
}
Tensor by_definition(const Tensor& x, const Tensor& mean, const Tensor& var, const Tensor& weight, const Tensor& bias) {
  return (wide(x) - mean) / sqrt(var + 1e-5) * beside(weight, x.dim()) + beside(bias, x.dim());
}

const std::vector<Ints> kImages = {{4, 6}, {3, 6, 5}, {2, 6, 4, 5}, {2, 6, 2, 3, 4}, {1, 6, 7}};

TEST(Normalization, ByBatches) {
  for (const Ints& sizes : kImages)
    for (DType t : {kFloat32, kFloat64, kBFloat16, kFloat16})
      for (bool training : {false, true}) {
        SCOPED_TRACE(graph::sizes_text(sizes) + " of " + std::string(dtype_name(t)) + (training ? ", training" : ""));
        const DType own = is_low_precision(t) ? kFloat32 : t;
        const Tensor x = numbers(sizes, t), weight = numbers({6}, own, 1), bias = numbers({6}, t, 2);
        Tensor mean = numbers({6}, own, 3), var = numbers({6}, own, 4).abs() + 0.5;
        const Tensor old_mean = wide(mean).clone(), old_var = wide(var).clone();
        const Tensor got = batch_norm(x, weight, bias, mean, var, training, 0.25, 1e-5);
        const OptionalDims dims = all_but_channels(x);
        const Tensor m = training ? wide(x).mean(dims, true) : beside(mean, x.dim()),
                     v = training ? wide(x).var(dims, 0, true) : beside(var, x.dim());
        expect_same({got}, {by_definition(x, m, v, weight, bias).to(t)}, 1e-5, 1e-5);
        if (!training) {
          expect_same({mean, var}, {old_mean.to(own), old_var.to(own)}, 0, 0);
          continue;
        }
        expect_same({mean, var},
                    {(old_mean * 0.75 + wide(x).mean(dims) * 0.25).to(own),
                     (old_var * 0.75 + wide(x).var(dims, 1) * 0.25).to(own)},
                    1e-5, 1e-5);
      }
}

TEST(Normalization, ByBatchesOfManySizes) {
  auto f = [](const std::vector<Tensor>& a) {
    return std::vector<Tensor>{relu(batch_norm(a[0] * 2, a[1], a[2], a[3], a[4], false, 0.1, 1e-5)),
                               batch_norm(a[0] + 1, a[1], {}, {}, {}, true, 0.1, 1e-3)};
  };
  expect_compiled(f,
                  [](std::int64_t n) {
                    return std::vector<Tensor>{numbers({n, 5, n + 1, 4}), numbers({5}, kFloat32, 1),
                                               numbers({5}, kFloat32, 2), numbers({5}, kFloat32, 3),
                                               numbers({5}, kFloat32, 4).abs()};
                  },
                  {3, 4, 9}, {.compilations = 3});
}

TEST(Normalization, RunningStatisticsAreWrittenWhenCompiled) {
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        return std::vector<Tensor>{batch_norm(a[0], {}, {}, a[1], a[2], true, 0.3, 1e-5),
                                   instance_norm(a[0], {}, {}, a[1], a[2], true, 0.2, 1e-5)};
      },
      [](std::int64_t n) {
        return std::vector<Tensor>{numbers({n, 5, n + 1, 4}), numbers({5}, kFloat32, 3),
                                   numbers({5}, kFloat32, 4).abs()};
      },
      {3, 4, 9}, {.compilations = 4});
}

TEST(Normalization, ByGroups) {
  for (const Ints& sizes : kImages)
    for (DType t : {kFloat32, kFloat64, kBFloat16, kFloat16})
      for (std::int64_t groups : {1, 2, 3, 6}) {
        SCOPED_TRACE(graph::sizes_text(sizes) + " of " + std::string(dtype_name(t)) + ", groups " +
                     std::to_string(groups));
        const Tensor x = numbers(sizes, t), weight = numbers({6}, t, 1), bias = numbers({6}, t, 2);
        const Tensor rows = wide(x).reshape({sizes[0], groups, -1});
        const Tensor made = ((rows - rows.mean(-1, true)) / sqrt(rows.var(-1, 0, true) + 1e-5)).view(sizes);
        expect_same({group_norm(x, groups, weight, bias)},
                    {(made * beside(weight, x.dim()) + beside(bias, x.dim())).to(t)}, 1e-5, 2e-5);
        expect_same({group_norm(x, groups)}, {made.to(t)}, 1e-5, 2e-5);
        if (groups == 6 && x.dim() > 2)
          expect_same({instance_norm(x, weight, bias, {}, {}, true, 0.1, 1e-5)},
                      {(made * beside(weight, x.dim()) + beside(bias, x.dim())).to(t)}, 1e-5, 2e-5);
      }
}

TEST(Normalization, ByGroupsOfManySizes) {
  auto f = [](const std::vector<Tensor>& a) {
    return std::vector<Tensor>{silu(group_norm(a[0], 2, a[1], a[2])),
                               instance_norm(a[0], a[1], a[2], {}, {}, true, 0.1, 1e-5)};
  };
  expect_compiled(
      f,
      [](std::int64_t n) {
        return std::vector<Tensor>{numbers({n, 6, n + 1, 4}), numbers({6}, kFloat32, 1), numbers({6}, kFloat32, 2)};
      },
      {3, 4, 9}, {.compilations = 3});
}

TEST(Normalization, ByInstancesWithRunningStatistics) {
  const Tensor x = numbers({3, 4, 5, 6}), weight = numbers({4}, kFloat32, 1), bias = numbers({4}, kFloat32, 2);
  Tensor mean = numbers({4}, kFloat32, 3), var = numbers({4}, kFloat32, 4).abs() + 1;
  const Tensor old_mean = wide(mean).clone(), old_var = wide(var).clone();
  expect_same({instance_norm(x, weight, bias, mean, var, false, 0.1, 1e-5)},
              {by_definition(x, beside(mean, 4), beside(var, 4), weight, bias).to(kFloat32)}, 1e-5, 1e-5);
  instance_norm(x, weight, bias, mean, var, true, 0.5, 1e-5);
  expect_same({mean, var},
              {(old_mean * 0.5 + wide(x).mean({2, 3}).mean(0) * 0.5).to(kFloat32),
               (old_var * 0.5 + wide(x).var({2, 3}, 1).mean(0) * 0.5).to(kFloat32)},
              1e-5, 1e-5);
}

TEST(Normalization, ByNeighbours) {
  for (std::int64_t size : {1, 2, 5, 80})
    for (DType t : {kFloat32, kFloat64, kBFloat16}) {
      SCOPED_TRACE(std::to_string(size) + " of " + std::string(dtype_name(t)));
      const Tensor x = numbers({2, 7, 3, 4}, t), squares = wide(x) * wide(x);
      Tensor sum = zeros({2, 7, 3, 4}, {.dtype = kFloat64});
      for (std::int64_t c = 0; c < 7; ++c)
        for (std::int64_t k = c - size / 2; k < c - size / 2 + size; ++k)
          if (k >= 0 && k < 7) sum.select(1, c).add_(squares.select(1, k));
      expect_same({local_response_norm(x, size, 0.5, 0.6, 2)},
                  {(wide(x) / pow(sum * (0.5 / static_cast<double>(size)) + 2.0, 0.6)).to(t)}, 1e-5, 1e-5);
    }
  expect_compiled([](const std::vector<Tensor>& a) { return std::vector<Tensor>{local_response_norm(a[0] + 1, 3)}; },
                  [](std::int64_t n) {
                    return std::vector<Tensor>{numbers({n, n + 2, 3})};
                  },
                  {3, 4, 9}, {.compilations = 3});
}

TEST(Normalization, OfNothing) {
  EXPECT_EQ(group_norm(zeros({0, 4, 3}), 2).numel(), 0);
  EXPECT_EQ(batch_norm(zeros({0, 4, 3}), {}, {}, zeros({4}), ones({4}), false, 0.1, 1e-5).numel(), 0);
}

// Running statistics follow the input without a tape: they stay leaves, and nothing of a step outlives it.
TEST(Normalization, RunningStatisticsAreNotOnTheTape) {
  using Norm = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, bool, double,
                          double, bool, SourceLoc);
  for (Norm norm : {static_cast<Norm>(batch_norm), static_cast<Norm>(instance_norm)})
    for (bool compiled : {false, true}) {
      SCOPED_TRACE(std::string(norm == static_cast<Norm>(batch_norm) ? "batch" : "instance") +
                   (compiled ? ", compiled" : ""));
      auto net = [norm](const Tensor& x, const Tensor& k, const Tensor& g, const Tensor& b, const Tensor& mean,
                        const Tensor& var) {
        return norm(conv2d(x, k), g, b, mean, var, true, 0.1, 1e-5, true, SourceLoc::current()).relu().sum();
      };
      auto made = compile(net);
      const Tensor x = numbers({2, 3, 5, 5}), k = numbers({4, 3, 3, 3}, kFloat32, 1).requires_grad_();
      const Tensor g = (numbers({4}, kFloat32, 2) + 4).requires_grad_(), b = numbers({4}, kFloat32, 3).requires_grad_();
      const TensorOptions there{kFloat32, test_device()};
      const Tensor mean = zeros({4}, there), var = ones({4}, there);
      const Tensor eager_mean = zeros({4}, there), eager_var = ones({4}, there);
      std::int64_t live = 0;
      for (int n = 0; n < 12; ++n) {
        const Tensor loss = compiled ? made(x + n, k, g, b, mean, var) : net(x + n, k, g, b, mean, var);
        const std::vector<Tensor> got = grad({loss}, {k, g, b});
        EXPECT_FALSE(mean.requires_grad() || var.requires_grad());
        const std::vector<Tensor> want = grad({net(x + n, k, g, b, eager_mean, eager_var)}, {k, g, b});
        expect_same(got, want, 1e-4, 1e-4);
        expect_same({mean, var}, {eager_mean, eager_var}, 1e-5, 1e-5);
        if (n == 4) live = stats().result_bytes_live;
        if (n > 4) {
          EXPECT_LE(stats().result_bytes_live, live) << n;
        }
      }
      if (compiled) {
        EXPECT_EQ(made.stats().eager_fallbacks, 0) << made.stats().last_fallback_reason;
      }
    }
}

TEST(Normalization, StatisticsOfNothingAndOfOneValue) {
  auto batch = [](const std::vector<Tensor>& a) {
    return std::vector<Tensor>{batch_norm(a[0], {}, {}, a[1], a[2], true, 0.5, 1e-5)};
  };
  auto instance = [](const std::vector<Tensor>& a) {
    return std::vector<Tensor>{instance_norm(a[0], {}, {}, a[1], a[2], true, 0.5, 1e-5)};
  };
  struct Case {
    Ints sizes;
    bool batch_refuses, instance_refuses;
  };
  const Case cases[] = {{{0, 3, 4}, false, false}, {{2, 3, 0}, false, false}, {{2, 0, 4}, false, false},
                        {{1, 3, 1}, true, true},   {{2, 3, 1}, false, true},  {{1, 3, 2}, false, false}};
  for (const Case& c : cases)
    for (bool is_batch : {true, false})
      for (bool compiled : {false, true}) {
        SCOPED_TRACE(graph::sizes_text(c.sizes) + (is_batch ? ", batch" : ", instance") +
                     (compiled ? ", compiled" : ""));
        const Function f = is_batch ? Function(batch) : Function(instance);
        auto made = compile([&](const std::vector<Tensor>& a) { return f(a); });
        const TensorOptions there{kFloat32, test_device()};
        const Tensor mean = full({c.sizes[1]}, 0.25, there), var = full({c.sizes[1]}, 4.0, there);
        const std::vector<Tensor> args{numbers(c.sizes), mean, var};
        auto call = [&] { return compiled ? made(args) : f(args); };
        const bool refuses = is_batch ? c.batch_refuses : c.instance_refuses, is_empty = numel(c.sizes).value() == 0;
        if (refuses) {
          const Error e = error_of(call);
          EXPECT_EQ(e.code(), ErrorCode::ShapeMismatch);
          EXPECT_NE(e.message().find("training wants more than one value for each"), std::string::npos) << e.what();
        } else {
          EXPECT_EQ(graph::sizes_text(call()[0].sizes()), graph::sizes_text(c.sizes));
        }
        if (refuses || is_empty) expect_same({mean, var}, {full({c.sizes[1]}, 0.25), full({c.sizes[1]}, 4.0)}, 0, 0);
        else EXPECT_TRUE(isfinite(var).all().item<bool>());
      }
  // One value a channel is refused whether or not there is anything to write; where running statistics are read it is
  // no matter.
  EXPECT_EQ(error_of([] {
              batch_norm(ones({1, 3}), {}, {}, {}, {}, true, 0.1, 1e-5);
            }).code(),
            ErrorCode::ShapeMismatch);
  EXPECT_EQ(batch_norm(ones({1, 3}), {}, {}, zeros({3}), ones({3}), false, 0.1, 1e-5).numel(), 3);
}

TEST(Normalization, RefusesWhatDoesNotFit) {
  const Tensor x = zeros({2, 6, 4}), mean = zeros({6}), var = ones({6});
  auto code = [](auto&& f) { return error_of(f).code(); };
  EXPECT_EQ(code([&] { batch_norm(x, zeros({5}), {}, mean, var, false, 0.1, 1e-5); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { batch_norm(zeros({6}), {}, {}, mean, var, false, 0.1, 1e-5); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { batch_norm(x.to(kInt64), {}, {}, mean, var, false, 0.1, 1e-5); }), ErrorCode::DTypeMismatch);
  EXPECT_EQ(code([&] { batch_norm(x, {}, {}, mean.to(kFloat16), var, false, 0.1, 1e-5); }), ErrorCode::DTypeMismatch);
  EXPECT_EQ(code([&] { batch_norm(x, {}, {}, mean, {}, false, 0.1, 1e-5); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { group_norm(x, 4); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { group_norm(x, 0); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { group_norm(x, 2, zeros({2})); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { instance_norm(zeros({2, 6}), {}, {}, {}, {}, true, 0.1, 1e-5); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { instance_norm(x, zeros({3}), {}, {}, {}, true, 0.1, 1e-5); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code([&] { local_response_norm(x, 0); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code([&] { local_response_norm(zeros({2, 6}), 2); }), ErrorCode::ShapeMismatch);
  // Nothing is written by a call that fails.
  EXPECT_EQ(code([&] {
              batch_norm(numbers({2, 6, 4}), zeros({5}), {}, mean, var, true, 0.1, 1e-5);
            }),
            ErrorCode::ShapeMismatch);
  EXPECT_TRUE(equal(mean, zeros({6})));
}

}  // namespace
}  // namespace reprise::test
