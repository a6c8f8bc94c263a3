// Memory of frozen tensors that is given back (docs/freezing.md).
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "reprise/discard.h"
#include "reprise/nn.h"
#include "reprise/reprise.h"

namespace reprise::test {
namespace {

template <class F>
std::string refusal(F f) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::StorageFreed) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

Tensor scaled(const Tensor& x, const Tensor& w) { return x * (w.exp() + 1.0).sqrt(); }

TEST(Discard, WhatIsFoldedIsAllThatIsLeft) {
  Tensor w = randn({64, 64}), x = randn({3, 64, 64});
  freeze(w);
  auto f = compile(scaled, {.name = "scaled", .arguments = {"x", "weight"}});
  EXPECT_EQ(discard(w), 0);  // nobody has folded it
  const std::vector<double> before = f(x, w).to_vector<double>();
  EXPECT_EQ(discard(w), 64 * 64 * 4);
  EXPECT_EQ(discard(w), 0);
  EXPECT_EQ(f(x, w).to_vector<double>(), before);
  EXPECT_EQ(f(randn({5, 64, 64}), w).size(0).value(), 5);  // other sizes, by the same values
  EXPECT_EQ(w.size(1).value(), 64);
  EXPECT_EQ(w.dtype(), kFloat32);
  EXPECT_NE(w.str().find("discarded"), std::string::npos) << w.str();
  for (const std::string& told :
       {refusal([&] { w.exp(); }), refusal([&] { w.to_vector<float>(); }), refusal([&] { (void)w[0]; }),
        refusal([&] { w.add_(1.0); }), refusal([&] { changed(w); })}) {
    EXPECT_NE(told.find("'weight'"), std::string::npos) << told;
    EXPECT_NE(told.find("discard_test.cc:"), std::string::npos) << told;
  }
  auto other = compile([](const Tensor& a, const Tensor& b) { return a * b.cos().sin(); }, {.name = "other"});
  refusal([&] { other(x, w); });
  auto reads = compile([](const Tensor& a, const Tensor& b) { return a + b; }, {.name = "reads"});
  refusal([&] { reads(x, w); });
  EXPECT_EQ(f(x, w).to_vector<double>(), before);  // as before
  auto same = compile(scaled, {.name = "same"});
  EXPECT_EQ(same(x, w).to_vector<double>(), before);  // asks for what is there
  w = randn({64, 64});
  EXPECT_EQ(f(x, w).to_vector<double>(), scaled(x, w).to_vector<double>());
}

TEST(Discard, WhatIsReadAsItStandsIsKept) {
  Tensor w = randn({64, 64}), v = randn({64, 64}), plain = randn({64, 64}), x = randn({64, 64});
  freeze(w), freeze(v);
  auto f = compile([](const Tensor& x, const Tensor& w, const Tensor& v) {
    return x * (w.exp() + 1.0).sqrt() + w + (v.exp() + 1.0).sqrt();
  });
  const std::vector<double> before = f(x, w, v).to_vector<double>();
  EXPECT_EQ(discard(std::vector<Tensor>{w, v, plain, Tensor()}), 64 * 64 * 4);
  EXPECT_EQ(f(x, w, v).to_vector<double>(), before);
  w.exp();
  refusal([&] { v.exp(); });
}

TEST(Discard, AViewIsDiscardedWithItsMemory) {
  Tensor all = randn({2, 64, 64}), x = randn({64, 64});
  freeze(all);
  auto f = compile(scaled);
  const std::vector<double> before = f(x, all[0]).to_vector<double>();
  const Tensor view = all[0];
  EXPECT_EQ(discard(all), 2 * 64 * 64 * 4);
  EXPECT_EQ(f(x, view).to_vector<double>(), before);
  refusal([&] { (void)all[1]; });
}

TEST(Discard, WeightsInPanelsAreReadByFewRows) {
  Tensor w = randn({96, 64}), x = randn({48, 64}), few = randn({2, 64});
  freeze(w);
  auto f =
      compile([](const Tensor& x, const Tensor& w) { return linear(x, w); }, {.name = "f", .arguments = {"x", "w"}});
  const std::vector<double> two = f(few, w).to_vector<double>();
  EXPECT_EQ(discard(w, {.few_rows = false}), 0);  // no panels yet
  const std::vector<double> before = f(x, w).to_vector<double>();
  EXPECT_EQ(discard(w), 0);
  EXPECT_EQ(f(few, w).to_vector<double>(), two);
  EXPECT_EQ(discard(w, {.few_rows = false}), 96 * 64 * 4);
  EXPECT_EQ(f(x, w).to_vector<double>(), before);
  EXPECT_EQ(f(randn({50, 64}), w).size(0).value(), 50);
  const std::string told = refusal([&] { f(few, w); });
  EXPECT_NE(told.find("'w'"), std::string::npos) << told;
  EXPECT_EQ(f(x, w).to_vector<double>(), before);
}

TEST(Discard, NarrowWeightsAreReadInPanelsOrKept) {
  auto f = compile([](const Tensor& x, const Tensor& w) { return linear(x, w); });
  for (const int first : {33, 1})  // a first call whose weight is worth panels, and one whose weight is not
    for (const int n : {first, 1, 2, 3, 4, 5, 7})
      for (const int k : {1, 8, 64})
        for (const DType t : {kFloat32, kFloat64, kBFloat16, kFloat16}) {
          const Tensor w = randn({n, k}).to(t), x = randn({33, k}).to(t);
          freeze(w);
          const Tensor before = f(x, w);
          EXPECT_TRUE(allclose(before, linear(x, w), 1e-2, 1e-2));
          const std::int64_t bytes = discard(w, {.few_rows = false});
          EXPECT_TRUE(equal(f(x, w), before)) << n << " " << k << " " << dtype_name(t) << " " << bytes;
          EXPECT_EQ(f(zeros({0, k}, {.dtype = t}), w).size(0).value(), 0);
        }
}

TEST(Discard, WhatAFunctionReadsThatFoldsNothingIsKept) {
  Tensor w = randn({64, 64}), v = randn({64, 64}), unread = randn({64, 64}), x = randn({3, 64, 64}),
         at = randint(0, 64, {5});
  freeze(w), freeze(v), freeze(unread);
  auto f = compile(scaled);
  f(x, w), f(x, v), f(x, unread);
  auto head =
      compile([](const Tensor& x, const Tensor& w, const Tensor& unread) { return x * w.size(0) + unread.size(1); });
  const Tensor before = head(x, w, unread);
  {
    auto sum = compile([](const Tensor& x, const Tensor& w) { return x + w; });
    auto rows = compile([](const Tensor& w, const Tensor& at) { return embedding(w, at); });
    const Tensor added = sum(x, w), found = rows(w, at);
    rows(v, at);  // a later call with other weights
    EXPECT_EQ(discard(std::tuple(w, v)), 0);
    EXPECT_TRUE(equal(sum(x, w), added));
    EXPECT_TRUE(equal(rows(w, at), found));
  }
  EXPECT_EQ(discard(std::tuple(w, unread)), 2 * 64 * 64 * 4);  // who read it as it stands is gone
  EXPECT_TRUE(equal(head(x, w, unread), before)) << "sizes are not elements";
}

TEST(Discard, WhatLaterCallsReadIsKept) {
  auto body = [](const Tensor& x, const Tensor& w, const Tensor& b) { return x * (w.exp() + 1.0).sqrt() + b; };
  auto f = compile(body);
  auto g = compile(scaled);
  Tensor w = randn({64, 64}), x = randn({3, 64, 64}), first = randn({64, 64}), second = randn({64, 64});
  freeze(w), freeze(first), freeze(second);
  f(x, w, first);
  const Tensor before = f(x, w, second);
  g(x, second);
  EXPECT_EQ(discard(second), 0);
  EXPECT_TRUE(equal(f(x, w, second), before));
  std::vector<Tensor> weights, biases;  // more layers than a function remembers
  for (int i = 0; i < 300; ++i) {
    weights.push_back(randn({4, 4})), biases.push_back(randn({4, 4}));
    freeze(weights.back()), freeze(biases.back());
    f(ones({4, 4}), weights.back(), biases.back());
  }
  g(ones({4, 4}), biases[0]);
  EXPECT_EQ(discard(biases[0]), 0);
  f(ones({4, 4}), weights[0], biases[0]);
}

TEST(Discard, TiedWeightsAreKeptWhereOneOfThemIsRead) {
  Tensor table = randn({96, 64});
  freeze(table);
  const Tensor head = table.view({96, 64});
  auto f = compile([](const Tensor& table, const Tensor& head, const Tensor& at) {
    return linear(embedding(table, at), (head.exp() + 1.0).sqrt());
  });
  Tensor at = randint(0, 96, {40});
  const std::vector<double> before = f(table, head, at).to_vector<double>();
  EXPECT_EQ(discard(std::tuple(table, head)), 0);
  EXPECT_EQ(f(table, head, at).to_vector<double>(), before);
}

TEST(Discard, CapturedModelsGoOn) {
  struct Mlp {
    Tensor up, down;
  };
  Mlp m{randn({96, 48}), randn({48, 96})};
  auto f =
      compile([&m](const Tensor& x) { return linear(linear(x, m.up).relu(), m.down); }, {.freeze = Freeze::Captured});
  Tensor x = randn({40, 48});
  const std::vector<double> before = f(x).to_vector<double>();
  EXPECT_EQ(discard(std::vector<Tensor>{m.up, m.down}, {.few_rows = false}), 2 * 96 * 48 * 4);
  EXPECT_EQ(f(x).to_vector<double>(), before);
}

}  // namespace
}  // namespace reprise::test
