#include <gtest/gtest.h>

#include "tests/operators/rows_reference.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

using List64 = std::vector<std::int64_t>;
Tensor ids(const List64& v, const Ints& sizes) { return tensor_of(v, sizes).to(test_device()); }
Tensor ids(const List64& v) { return tensor_of(v).to(test_device()); }

/// Of all ways to name a class in each frame, those that give the target.
double by_enumeration(const Tensor& log_probs, std::int64_t n, std::int64_t frames, const List64& target,
                      std::int64_t blank) {
  const std::int64_t classes = log_probs.size(2).value(), batch = log_probs.size(1).value();
  const Row p = log_probs.to(Device::cpu()).to(kFloat64).contiguous().to_vector<double>();
  double sum = 0;
  List64 path(static_cast<std::size_t>(frames));
  while (true) {
    List64 told;
    double log_p = 0;
    for (std::size_t t = 0; t < path.size(); ++t) {
      log_p += p[static_cast<std::size_t>((static_cast<std::int64_t>(t) * batch + n) * classes + path[t])];
      if (path[t] != blank && (t == 0 || path[t] != path[t - 1])) told.push_back(path[t]);
    }
    if (told == target) sum += std::exp(log_p);
    std::size_t t = 0;
    while (t < path.size() && ++path[t] == classes) path[t++] = 0;
    if (t == path.size()) break;
  }
  return -std::log(sum);
}

TEST(Ctc, SumsOverAllAlignments) {
  for (std::int64_t blank : {0, 2})
    for (DType t : {kFloat64, kFloat32}) {
      const Tensor x = log_softmax(numbers({5, 4, 3}, t), -1);
      const std::int64_t a = blank ? 0 : 1, b = blank ? 1 : 2;
      const std::vector<List64> targets{{a, b}, {a, a}, {}, {b, b, b}};
      const List64 frames{5, 4, 3, 4};
      Row want;
      for (std::size_t n = 0; n < 4; ++n)
        want.push_back(by_enumeration(x, static_cast<std::int64_t>(n), frames[n], targets[n], blank));
      const Tensor padded = ids({a, b, 7, a, a, 7, 7, 7, 7, b, b, b}, {4, 3}), row = ids({a, b, a, a, b, b, b}),
                   lengths = ids({2, 2, 0, 3});
      const Tensor each = ctc_loss(x, padded, ids(frames), lengths, blank, "none");
      expect_same({each, ctc_loss(x, row, ids(frames), lengths.to(kInt32), blank, "none"),
                   ctc_loss(transposed_memory(x), with_gaps(padded), with_gaps(ids(frames)), lengths, blank, "none")},
                  {tensor_of(want).to(t), each, each}, 1e-5, 1e-5);
      EXPECT_EQ(want[3], kInf);  // three of a class want five frames
      const Tensor finite = ctc_loss(x, padded, ids(frames), lengths, blank, "none", true);
      EXPECT_EQ(finite.select(0, 3).item<double>(), 0);
      expect_same(
          {ctc_loss(x, padded, ids(frames), lengths, blank, "sum", true),
           ctc_loss(x, padded, ids(frames), lengths, blank, "mean", true),
           ctc_loss(x.select(1, 0), ids({a, b}), full({}, 5, {kInt64, test_device()}),
                    full({}, 2, {kInt64, test_device()}), blank, "none")},
          {finite.sum(), (finite / tensor_of<double>({2, 2, 1, 3}).to(t).to(test_device())).mean(), each.select(0, 0)},
          1e-6, 1e-6);
    }
  // No frames; and log_probs that say that a class never comes.
  expect_same({ctc_loss(zeros({0, 2, 3}, {kFloat64, test_device()}), ids({1}), ids({0, 0}), ids({0, 1}), 0, "none"),
               ctc_loss(full({4, 1, 3}, -kInf, {kFloat64, test_device()}), ids({1}), ids({4}), ids({1}), 0, "none")},
              {tensor_of<double>({0, kInf}), tensor_of<double>({kInf})}, 0, 0);
}

TEST(Ctc, RefusesWhatDoesNotFit) {
  const Tensor x = zeros({4, 2, 3}, {kFloat32, test_device()}), y = ids({1, 2, 1, 2}, {2, 2}), frames = ids({4, 4}),
               lengths = ids({2, 2});
  auto says = [&](const Tensor& p, const Tensor& t, const Tensor& in, const Tensor& out, Int blank = 0) {
    return error_of([&] { ctc_loss(p, t, in, out, blank); }).message();
  };
  EXPECT_EQ(says(x, y, ids({4, 5}), lengths), "input length 5 at [1] is out of range 0 to 4");
  EXPECT_EQ(says(x, y, frames, ids({3, 2})), "target length 3 at [0] is out of range 0 to 2");
  EXPECT_EQ(says(x, ids({1, 2, 1}), frames, lengths), "target length 2 at [1] is out of range 0 to 1");
  EXPECT_EQ(says(x, y + 1, frames, lengths), "class 3 at [1] is out of range 0 to 2");
  EXPECT_EQ(says(x, y, frames, lengths, 3), "blank is 3, and there are 3 classes");
  EXPECT_EQ(says(x, y.to(kFloat32), frames, lengths), "targets must be int64 or int32, got float32");
  EXPECT_EQ(says(x, y, ids({4}), lengths),
            "log_probs of sizes [4, 2, 3], targets of [2, 2] and lengths of [1] and [2] do not fit");
  EXPECT_EQ(error_of([&] { ctc_loss(x, y, frames, lengths, 0, "max"); }).message(),
            "reduction is 'max', expected none, mean or sum");
}

TEST(Ctc, CompilesOnceForAllSizes) {
  auto make = [](std::int64_t n) {
    return std::vector<Tensor>{numbers({n + 4, n, 5}), (remainder(arange(3 * n), 4) + 1).view({n, 3}).to(test_device()),
                               full({n}, n + 4, {kInt64, test_device()}), remainder(arange(n), 4).to(test_device())};
  };
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        return std::vector<Tensor>{ctc_loss(log_softmax(a[0], -1), a[1], a[2], a[3]) * 2,
                                   ctc_loss(log_softmax(a[0], -1), a[1], a[2], a[3], 0, "none")};
      },
      make, {3, 7, 12});
}

}  // namespace
}  // namespace reprise::test
