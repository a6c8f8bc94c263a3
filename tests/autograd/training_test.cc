// Training steps ahead of time: batch norm, dropout, and what anomaly mode says of compiled calls.
#include <gtest/gtest.h>

#include <string>

#include "reprise/optim.h"
#include "reprise/reprise.h"

namespace reprise::test {
namespace {

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "nothing was thrown";
}

Tensor loss(const Tensor& x, const Tensor& labels, const std::vector<Tensor>& p, const Tensor& mean,
            const Tensor& var) {
  const Tensor h = relu(batch_norm(conv2d(x, p[0], {}, 1, 1), p[1], p[2], mean, var, true, 0.1, 1e-5)).dropout(0.3);
  return cross_entropy(linear(h.flatten(1), p[3]), labels);
}

// The same numbers are drawn, the same statistics kept, the same weights learned.
TEST(Training, StepsAheadOfTimeAreEagerOnes) {
  struct Trained {
    std::vector<double> losses;
    Tensor mean, var, weight;
  };
  auto train = [](const auto& f) {
    const Generator numbers(7);
    const GeneratorScope drawing(numbers);
    std::vector<Tensor> p{sin(arange(8 * 27, {.dtype = kFloat32})).view({8, 3, 3, 3}) * 0.2, ones({8}), zeros({8}),
                          cos(arange(5 * 512, {.dtype = kFloat32})).view({5, 512}) * 0.05};
    for (Tensor& t : p) t = t.clone().requires_grad_();
    Trained t{{}, zeros({8}), ones({8}), p[3]};
    optim::SGD optimizer(p, {.lr = 0.1});
    for (int i = 0; i < 6; ++i) {
      const std::int64_t n = i == 3 ? 6 : 4;  // another size, too
      const Tensor x = sin(arange(Scalar(n * 192), {.dtype = kFloat32}) * (0.1 + i)).view({n, 3, 8, 8});
      const Tensor labels = arange(Scalar(n), {.dtype = kInt64}) % 5;
      const Tensor l = f(x, labels, p, t.mean, t.var);
      l.backward();
      optimizer.step();
      optimizer.zero_grad();
      t.losses.push_back(l.item<double>());
    }
    return t;
  };
  auto f = compile(loss, {.name = "step", .backward = BackwardCompile::Ahead});
  const Trained want = train(loss), got = train(f);
  for (std::size_t i = 0; i < want.losses.size(); ++i) EXPECT_NEAR(got.losses[i], want.losses[i], 1e-4) << i;
  EXPECT_TRUE(allclose(got.mean, want.mean, 1e-4, 1e-5) && allclose(got.var, want.var, 1e-4, 1e-5));
  EXPECT_TRUE(allclose(got.weight, want.weight, 1e-3, 1e-4));
  EXPECT_LT(want.losses.back(), want.losses.front());
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().backward.compilations, 1);
}

// The backward draws the numbers again: a seed and a place are kept, and no mask.
TEST(Training, DropoutKeepsNoMask) {
  auto body = [](const Tensor& x) { return (x * 2.0).dropout(0.5).sin(); };
  auto f = compile(body, {.name = "dropout"});
  const Tensor x = rand({64, 64}).requires_grad_();
  auto gradient = [&](const auto& of) {
    const Generator numbers(3);
    const GeneratorScope drawing(numbers);
    return grad({of(x)}, {x}, {ones({64, 64})})[0];
  };
  EXPECT_TRUE(allclose(gradient(f), gradient(body), 1e-4, 1e-5));
  const std::string text = f.explain(Detail::Summary);
  EXPECT_NE(text.find("(0 of their own, 0 bytes"), std::string::npos) << text;
}

struct Throws : reprise::Function<Throws> {
  static Tensor forward(FunctionContext&, Tensor x) { return x * 2.0; }
  static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor>) { throw std::runtime_error("not today"); }
};

// A user's exception comes out as it is, with a warning; a NaN is an error that names the forward call's line.
TEST(Training, AnomalyModeNamesTheForwardLine) {
  std::string warned;
  set_log_callback(
      [&](const LogEvent& e) {
        if (e.event == "warning") warned = e.text;
      },
      "warning");
  const Tensor x = rand({4}).requires_grad_();
  auto user = [](const Tensor& t) { return Throws::apply(t).sum(); };
  auto nan = [](const Tensor& t) { return ((t - t).sqrt() * 0.0).sum(); };
  auto compiled_user = compile(user);
  auto compiled_nan = compile(nan);
  for (const bool compiled : {false, true}) {
    const AnomalyScope on;
    warned.clear();
    EXPECT_EQ(message_of([&] { (compiled ? compiled_user(x) : user(x)).backward(); }), "not today");
    EXPECT_NE(warned.find("its derivative throws: not today"), std::string::npos) << warned;
    const std::string said = message_of([&] { (compiled ? compiled_nan(x) : nan(x)).backward(); });
    EXPECT_NE(said.find("sqrt"), std::string::npos) << said;
    EXPECT_NE(said.find("training_test.cc"), std::string::npos) << said;
  }
  set_log_callback({});
  // The forward was compiled before anybody looked.
  const Tensor y = compiled_nan(x);
  const AnomalyScope on;
  const std::string said = message_of([&] { y.backward(); });
  EXPECT_NE(said.find("training_test.cc"), std::string::npos) << said;
  EXPECT_NE(said.find("not a number"), std::string::npos) << said;
}

}  // namespace
}  // namespace reprise::test
