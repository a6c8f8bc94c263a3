// Optimizers against their formulas in plain double, eager and compiled, over several steps.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>

#include "reprise/reprise.h"

namespace reprise::test {
namespace {

using optim::Tensors;

Tensor random(std::initializer_list<Int> sizes, DType t = kFloat64) { return rand(sizes, {.dtype = t}) - 0.5; }
template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

/// A parameter of the reference: what it and its state are, by element. `columns`: of a matrix; 0 of a vector.
struct Plain {
  std::vector<double> p;
  std::size_t columns = 0;
  int steps = 0;
  std::vector<double> a = std::vector<double>(p.size()), b = a, c = a;
};
using Rule = std::function<void(Plain&, std::vector<double> gradient)>;

/// Three parameters, of which the second has a gradient at every other step; `step` is asked to make one of all. Five
/// of them, compared with the rule after each.
void follow(const Rule& rule, DType t, const std::function<void(const Tensors&, const Tensors&)>& step, Tensors params,
            double tolerance) {
  std::vector<Plain> plain;
  for (const Tensor& p : params)
    plain.push_back({.p = p.to(kFloat64).to_vector<double>(),
                     .columns = p.dim() == 2 ? static_cast<std::size_t>(p.size(1).value()) : 0});
  for (int n = 0; n < 5; ++n) {
    Tensors grads;
    for (std::size_t i = 0; i < params.size(); ++i) {
      const bool none = i == 1 && n % 2 == 0;
      grads.push_back(none ? Tensor() : (rand(params[i].sizes(), {.dtype = t}) - 0.4));
      if (!none) rule(plain[i], grads[i].to(kFloat64).to_vector<double>());
    }
    step(params, grads);
    for (std::size_t i = 0; i < params.size(); ++i) {
      const Tensor expected = tensor_of(plain[i].p, params[i].sizes());
      EXPECT_TRUE(allclose(params[i].to(kFloat64), expected, tolerance, tolerance))
          << "step " << n << ", parameter " << i << "\n"
          << params[i].str() << "\n"
          << expected.str();
    }
  }
}
/// Eager and compiled, in both dtypes; one compilation for each pattern of missing gradients, and nothing is copied
/// that eager does not copy.
template <class State, class Options>
void check(const Rule& rule, const Options& options,
           void (*function)(const Tensors&, const Tensors&, const State&, const Options&, SourceLoc)) {
  for (const DType t : {kFloat64, kFloat32}) {
    const double tolerance = t == kFloat64 ? 1e-12 : 1e-5;
    auto fresh = [&] { return Tensors{random({3, 5}, t), random({7}, t), random({4, 2}, t)}; };
    Tensors params = fresh();
    State state = State::of(params, options);
    follow(
        rule, t, [&](const Tensors& p, const Tensors& g) { function(p, g, state, options, {}); }, params, tolerance);
    auto compiled = compile(
        [function](const Tensors& p, const Tensors& g, const State& s, const Options& o) { function(p, g, s, o, {}); });
    params = fresh();
    state = State::of(params, options);
    follow(
        rule, t, [&](const Tensors& p, const Tensors& g) { compiled(p, g, state, options); }, params, tolerance);
    EXPECT_EQ(compiled.stats().compilations, 2) << compiled.explain();
    EXPECT_EQ(compiled.stats().copied_bytes, 0) << compiled.explain(Detail::Launches);
    EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.stats().last_fallback_reason;
  }
}

Rule sgd_rule(double lr, double momentum, double dampening, double decay, bool nesterov, bool maximize) {
  return [=](Plain& x, std::vector<double> g) {
    const bool first = x.steps++ == 0;
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (maximize) g[i] = -g[i];
      g[i] += decay * x.p[i];
      if (momentum != 0) {
        x.a[i] = first ? g[i] : momentum * x.a[i] + (1 - dampening) * g[i];
        g[i] = nesterov ? g[i] + momentum * x.a[i] : x.a[i];
      }
      x.p[i] -= lr * g[i];
    }
  };
}
TEST(Optim, SGD) {
  check(sgd_rule(0.1, 0, 0, 0, false, false), optim::SGDOptions{.lr = 0.1}, optim::sgd_);
  check(sgd_rule(0.1, 0.9, 0.3, 0.01, false, true),
        optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.3, .weight_decay = 0.01, .maximize = true},
        optim::sgd_);
  check(sgd_rule(0.1, 0.8, 0, 0.01, true, false),
        optim::SGDOptions{.lr = 0.1, .momentum = 0.8, .weight_decay = 0.01, .nesterov = true}, optim::sgd_);
}

Rule adam_rule(double lr, double beta1, double beta2, double eps, double decay, bool apart, bool amsgrad) {
  return [=](Plain& x, std::vector<double> g) {
    ++x.steps;
    const double c1 = 1 - std::pow(beta1, x.steps), c2 = 1 - std::pow(beta2, x.steps);
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (apart) x.p[i] *= 1 - lr * decay;
      else g[i] += decay * x.p[i];
      x.a[i] += (1 - beta1) * (g[i] - x.a[i]);
      x.b[i] = beta2 * x.b[i] + (1 - beta2) * g[i] * g[i];
      x.c[i] = std::max(x.c[i], x.b[i]);
      x.p[i] -= lr / c1 * x.a[i] / (std::sqrt(amsgrad ? x.c[i] : x.b[i]) / std::sqrt(c2) + eps);
    }
  };
}
TEST(Optim, Adam) {
  check(adam_rule(0.01, 0.9, 0.999, 1e-8, 0, false, false), optim::AdamOptions{.lr = 0.01}, optim::adam_);
  check(adam_rule(0.02, 0.8, 0.9, 1e-3, 0.1, false, true),
        optim::AdamOptions{.lr = 0.02, .beta1 = 0.8, .beta2 = 0.9, .eps = 1e-3, .weight_decay = 0.1, .amsgrad = true},
        optim::adam_);
}
TEST(Optim, AdamW) {
  auto adamw = [](const Tensors& p, const Tensors& g, const optim::AdamState& s, const optim::AdamOptions& o,
                  SourceLoc) {
    optim::adamw_(p, g, s,
                  {.lr = o.lr, .beta1 = o.beta1, .beta2 = o.beta2, .eps = o.eps, .weight_decay = o.weight_decay});
  };
  check<optim::AdamState, optim::AdamOptions>(adam_rule(0.01, 0.9, 0.99, 1e-8, 0.1, true, false),
                                              {.lr = 0.01, .beta2 = 0.99, .weight_decay = 0.1}, adamw);
}

double root_mean_square(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum / static_cast<double>(v.size()));
}
Rule adafactor_rule(double lr, double decay, double eps1, double d, double weight_decay) {
  return [=](Plain& x, std::vector<double> g) {
    const double forgets = std::pow(++x.steps, decay),
                 alpha = std::max(1e-3, root_mean_square(x.p)) * std::min(lr, 1 / std::sqrt(x.steps));
    for (double& p : x.p) p *= 1 - lr * weight_decay;
    std::vector<double> update(g.size());
    const std::size_t columns = x.columns, rows = columns ? g.size() / columns : 0;
    if (columns) {
      double mean = 0;
      for (std::size_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (std::size_t c = 0; c < columns; ++c) sum += g[r * columns + c] * g[r * columns + c];
        x.a[r] += forgets * (sum / static_cast<double>(columns) - x.a[r]);
        mean += x.a[r] / static_cast<double>(rows);
      }
      for (std::size_t c = 0; c < columns; ++c) {
        double sum = 0;
        for (std::size_t r = 0; r < rows; ++r) sum += g[r * columns + c] * g[r * columns + c];
        x.b[c] += forgets * (sum / static_cast<double>(rows) - x.b[c]);
      }
      for (std::size_t i = 0; i < g.size(); ++i) update[i] = x.a[i / columns] * x.b[i % columns] / std::max(mean, eps1);
    } else {
      for (std::size_t i = 0; i < g.size(); ++i) update[i] = x.a[i] += forgets * (g[i] * g[i] - x.a[i]);
    }
    for (std::size_t i = 0; i < g.size(); ++i) update[i] = g[i] / std::sqrt(std::max(update[i], eps1 * eps1));
    const double excess = std::max(1.0, root_mean_square(update) / d);
    for (std::size_t i = 0; i < g.size(); ++i) x.p[i] -= alpha / excess * update[i];
  };
}
TEST(Optim, Adafactor) {
  check(adafactor_rule(0.05, -0.7, 1e-4, 1, 0.1),
        optim::AdafactorOptions{.lr = 0.05, .beta2_decay = -0.7, .eps1 = 1e-4, .weight_decay = 0.1}, optim::adafactor_);
}

Rule rmsprop_rule(double lr, double alpha, double eps, double decay, double momentum, bool centered) {
  return [=](Plain& x, std::vector<double> g) {
    for (std::size_t i = 0; i < g.size(); ++i) {
      g[i] += decay * x.p[i];
      x.a[i] = alpha * x.a[i] + (1 - alpha) * g[i] * g[i];
      if (centered) x.b[i] = alpha * x.b[i] + (1 - alpha) * g[i];
      const double update = g[i] / (std::sqrt(x.a[i] - x.b[i] * x.b[i]) + eps);
      x.c[i] = momentum * x.c[i] + update;
      x.p[i] -= lr * x.c[i];
    }
  };
}
TEST(Optim, RMSprop) {
  check(rmsprop_rule(0.01, 0.99, 1e-8, 0, 0, false), optim::RMSpropOptions{}, optim::rmsprop_);
  check(rmsprop_rule(0.02, 0.8, 1e-3, 0.1, 0.7, true),
        optim::RMSpropOptions{
            .lr = 0.02, .alpha = 0.8, .eps = 1e-3, .weight_decay = 0.1, .momentum = 0.7, .centered = true},
        optim::rmsprop_);
}

Rule adagrad_rule(double lr, double lr_decay, double decay, double initial, double eps) {
  return [=](Plain& x, std::vector<double> g) {
    const double step = lr / (1 + x.steps++ * lr_decay);
    for (std::size_t i = 0; i < g.size(); ++i) {
      g[i] += decay * x.p[i];
      x.a[i] += g[i] * g[i];
      x.p[i] -= step * g[i] / (std::sqrt(initial + x.a[i]) + eps);
    }
  };
}
TEST(Optim, Adagrad) {
  check(adagrad_rule(0.01, 0, 0, 0, 1e-10), optim::AdagradOptions{}, optim::adagrad_);
  check(adagrad_rule(0.1, 0.3, 0.1, 0.5, 1e-4),
        optim::AdagradOptions{
            .lr = 0.1, .lr_decay = 0.3, .weight_decay = 0.1, .initial_accumulator_value = 0.5, .eps = 1e-4},
        optim::adagrad_);
}

/// The moving averages of Adam, which NAdam and RAdam take other steps of.
void follow_moments(Plain& x, std::vector<double>& g, std::size_t i, double beta1, double beta2, double shrink,
                    double decay) {
  x.p[i] *= 1 - shrink;
  g[i] += decay * x.p[i];
  x.a[i] += (1 - beta1) * (g[i] - x.a[i]);
  x.b[i] = beta2 * x.b[i] + (1 - beta2) * g[i] * g[i];
}
Rule nadam_rule(double lr, double beta1, double beta2, double eps, double decay, double momentum_decay, bool apart) {
  return [=](Plain& x, std::vector<double> g) {
    const double n = ++x.steps, c2 = 1 - std::pow(beta2, n);
    auto mu = [&](double step) { return beta1 * (1 - 0.5 * std::pow(0.96, step * momentum_decay)); };
    double product = 1;
    for (int k = 1; k <= x.steps; ++k) product *= mu(k);
    for (std::size_t i = 0; i < g.size(); ++i) {
      follow_moments(x, g, i, beta1, beta2, apart ? lr * decay : 0, apart ? 0 : decay);
      const double root = std::sqrt(x.b[i] / c2) + eps;
      x.p[i] -=
          lr * (1 - mu(n)) / (1 - product) * g[i] / root + lr * mu(n + 1) / (1 - product * mu(n + 1)) * x.a[i] / root;
    }
  };
}
TEST(Optim, NAdam) {
  check(nadam_rule(2e-3, 0.9, 0.999, 1e-8, 0, 4e-3, false), optim::NAdamOptions{}, optim::nadam_);
  check(nadam_rule(0.02, 0.8, 0.9, 1e-3, 0.1, 0.05, true),
        optim::NAdamOptions{.lr = 0.02,
                            .beta1 = 0.8,
                            .beta2 = 0.9,
                            .eps = 1e-3,
                            .weight_decay = 0.1,
                            .momentum_decay = 0.05,
                            .decoupled_weight_decay = true},
        optim::nadam_);
}

Rule radam_rule(double lr, double beta1, double beta2, double eps, double decay, bool apart) {
  return [=](Plain& x, std::vector<double> g) {
    const double n = ++x.steps, c1 = 1 - std::pow(beta1, n), c2 = 1 - std::pow(beta2, n), longest = 2 / (1 - beta2) - 1;
    const double length = longest - 2 * n * std::pow(beta2, n) / c2;
    const double rect = std::sqrt((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length));
    for (std::size_t i = 0; i < g.size(); ++i) {
      follow_moments(x, g, i, beta1, beta2, apart ? lr * decay : 0, apart ? 0 : decay);
      x.p[i] -= lr * x.a[i] / c1 * (length > 5 ? rect * std::sqrt(c2) / (std::sqrt(x.b[i]) + eps) : 1);
    }
  };
}
TEST(Optim, RAdam) {  // of five steps the last have a length above 5
  check(radam_rule(1e-3, 0.9, 0.999, 1e-8, 0, false), optim::RAdamOptions{}, optim::radam_);
  check(radam_rule(0.02, 0.8, 0.95, 1e-3, 0.1, true),
        optim::RAdamOptions{
            .lr = 0.02, .beta1 = 0.8, .beta2 = 0.95, .eps = 1e-3, .weight_decay = 0.1, .decoupled_weight_decay = true},
        optim::radam_);
}

/// Three steps, as torch.optim.Muon 2.15 makes them. What is orthogonal is computed in bfloat16, of which five steps of
/// Newton and Schulz enlarge the rounding.
TEST(Optim, Muon) {
  struct Case {
    optim::MuonOptions options;
    double tolerance;
    Ints sizes;
    std::vector<double> after;
  };
  const optim::MuonOptions plain{.lr = 0.1}, spectral{.lr = 0.1, .momentum = 0.5, .adjust_lr_fn = "spectral_unclamped"};
  const optim::MuonOptions adamw{
      .lr = 0.1, .weight_decay = 0.0, .nesterov = false, .ns_steps = 3, .adjust_lr_fn = "match_rms_adamw"};
  const std::vector<Case> cases = {
      {plain,
       0.025,
       {3, 5},
       {0.9989, 0.4426, -0.5294, -1.0641, -0.6401, 0.3951, 0.998, 0.7654, -0.1427, -0.8679, -0.8929, -0.0513, 0.8394,
        0.9755, 0.2854}},
      {plain, 0.005, {4, 2}, {0.9734, 0.3048, -0.6521, -0.8711, -0.721, 0.5246, 1.1492, 0.7275}},
      {adamw,
       0.003,
       {3, 5},
       {1.0084, 0.5088, -0.4722, -1.0448, -0.6799, 0.3086, 0.9923, 0.7798, -0.1396, -0.925, -0.8916, -0.0243, 0.8533,
        0.9495, 0.1933}},
      {adamw, 0.003, {4, 2}, {1.0125, 0.4759, -0.484, -0.977, -0.6889, 0.3521, 1.0156, 0.7643}},
      {spectral,
       0.025,
       {3, 5},
       {0.9409, 0.4678, -0.4749, -1.0264, -0.655, 0.2928, 0.9838, 0.7681, -0.1617, -0.937, -0.8995, -0.018, 0.8567,
        0.9486, 0.2057}},
      {spectral, 0.006, {4, 2}, {0.9352, 0.3493, -0.6135, -0.8486, -0.6705, 0.4882, 1.1298, 0.6918}}};
  auto compiled = compile([](const Tensors& p, const Tensors& g, const optim::MuonState& s,
                             const optim::MuonOptions& o) { optim::muon_(p, g, s, o); });
  for (const Case& c : cases) {
    const Tensor places = arange(c.sizes[0] * c.sizes[1], {kFloat64});
    Tensor eager = cos(places).view(c.sizes), replayed = eager.clone();
    const optim::MuonState a = optim::MuonState::of({eager}), b = optim::MuonState::of({replayed});
    const bool compiles = c.options.ns_steps == 3;
    for (int n = 0; n < 3; ++n) {
      const Tensor g = sin(places * 0.7 + n).view(c.sizes);
      optim::muon_({eager}, {g}, a, c.options);
      if (compiles) compiled(Tensors{replayed}, Tensors{g}, b, c.options);
    }
    EXPECT_TRUE(allclose(eager, tensor_of(c.after, c.sizes), 0, c.tolerance)) << eager.str();
    if (!compiles) continue;
    EXPECT_TRUE(allclose(replayed, eager, 0, c.tolerance)) << replayed.str();
  }
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.stats().last_fallback_reason;
  EXPECT_EQ(compiled.stats().copied_bytes, 0) << compiled.explain(Detail::Launches);
}

/// Losses before each of three steps, and what becomes of the parameters, as torch.optim.LBFGS 2.15 has them.
TEST(Optim, LBFGS) {
  struct Case {
    optim::LBFGSOptions options;
    std::vector<double> losses, after;
    std::int64_t iterations, evaluations;
  };
  const std::vector<Case> cases = {{{.lr = 1e-3, .max_iter = 4},
                                    {26.4337, 26.1583869837, 26.0185315399},
                                    {-1.19750995953, 1.00028783654, 0.500567809686, 0.300030137723, -0.400033847045},
                                    12,
                                    12},
                                   {{.lr = 0.02, .max_iter = 7, .history_size = 2},
                                    {26.4337, 19.9299190386, 16.6687340131},
                                    {-1.1256163775, 0.989486890391, 0.533466760218, 0.302006029632, -0.402228611037},
                                    21,
                                    21},
                                   {{.max_iter = 5, .line_search_fn = "strong_wolfe"},
                                    {26.4337, 3.56034429332, 3.3097130719},
                                    {-0.493201095682, 0.241240727213, 0.0550497111181, 0.684842721689, -0.79212388039},
                                    12,
                                    18},
                                   {{.lr = 8, .max_iter = 5, .history_size = 2, .line_search_fn = "strong_wolfe"},
                                    {26.4337, 6.64699403672, 3.35494375954},
                                    {-0.758623799941, 0.59195308783, 0.228995237048, 0.517717702321, -0.623818295469},
                                    8,
                                    20},
                                   {{.max_iter = 30, .line_search_fn = "strong_wolfe"},
                                    {26.4337, 0.540308886924, 1.62117137716e-10},
                                    {1, 1, 1, 0, 0},
                                    55,
                                    65}};
  auto loss_of = [](const Tensor& p, const Tensor& q) {
    const Tensor a = p.select(0, 0), b = p.select(0, 1), c = p.select(0, 2);
    return 100 * square(b - a * a) + square(1 - a) + 10 * square(c - b * b) + square(square(q)).sum() +
           square(q).sum() * a;
  };
  auto compiled = compile(loss_of);
  for (const Case& c : cases)
    for (bool maximize : {false, true}) {
      Tensor p = tensor({-1.2, 1.0, 0.5}, {.dtype = kFloat64}).requires_grad_(),
             q = tensor({0.3, -0.4}, {.dtype = kFloat64}).view({1, 2}).requires_grad_();
      optim::LBFGS optimizer({p, q}, c.options);
      optimizer.options.maximize = maximize;
      for (const double wanted : c.losses) {
        const Tensor first = optimizer.step([&] {
          optimizer.zero_grad();
          const Tensor loss = maximize ? -compiled(p, q) : loss_of(p, q);
          loss.backward();
          return loss;
        });
        EXPECT_NEAR(first.item<double>(), maximize ? -wanted : wanted, 1e-6 * std::max(1.0, wanted));
      }
      const Tensor all = cat({p.detach(), q.detach().view({2})});
      EXPECT_TRUE(allclose(all, tensor_of(c.after), 0, 5e-5)) << all.str();
      EXPECT_EQ(optimizer.n_iter(), c.iterations);
      EXPECT_EQ(optimizer.func_evals(), c.evaluations);
      EXPECT_TRUE(p.is_leaf() && p.requires_grad());
    }
}
TEST(Optim, LBFGSTellsWhatIsWrong) {
  Tensor p = random({3}).requires_grad_();
  const Tensor before = p.detach().clone();
  auto expect = [&](const char* what, auto&& f) {
    const std::string told = message_of(f);
    EXPECT_NE(told.find(what), std::string::npos) << told;
    EXPECT_TRUE(equal(p, before));
  };
  expect("parameter 0 is no leaf", [&] { optim::LBFGS({p * 2}); });
  expect("'line_search_fn' is 'armijo'", [&] { optim::LBFGS({p}, {.line_search_fn = "armijo"}); });
  expect("'max_iter' is 0", [&] { optim::LBFGS({p}, {.max_iter = 0}); });
  optim::LBFGS optimizer({p}, {.line_search_fn = "strong_wolfe"});
  expect("the closure gave no loss", [&] { optimizer.step([] { return Tensor(); }); });
  int calls = 0;
  expect("the second call", [&] {
    optimizer.step([&] {
      if (++calls == 2) throw Error(ErrorCode::InvalidArgument, "loss", "the second call", SourceLoc::current());
      optimizer.zero_grad();
      const Tensor loss = (square(square(p)).sum() + 1);
      loss.backward();
      return loss;
    });
  });
}

TEST(Optim, EveryKindStepsAndHasItsState) {
  auto steps = [](auto optimizer, std::size_t tensors) {
    const Tensor before = optimizer.params()[0].detach().clone();
    for (int n = 0; n < 2; ++n) {
      const Tensor p = optimizer.params()[0];
      (p * p).sum().backward();
      optimizer.step(), optimizer.zero_grad();
    }
    EXPECT_FALSE(allclose(optimizer.params()[0], before, 0, 0));
    EXPECT_EQ(optimizer.state_dict().size(), tensors);
    optimizer.load_state_dict(optimizer.state_dict());
  };
  auto p = [] { return Tensors{(random({4, 3}) + 1).requires_grad_()}; };
  steps(optim::RMSprop(p(), {.momentum = 0.5, .centered = true}), 4);
  steps(optim::Adagrad(p()), 2);
  steps(optim::NAdam(p()), 4);
  steps(optim::RAdam(p()), 3);
  steps(optim::Muon(p()), 2);
}

TEST(Optim, NumbersMayChangeWithoutACompilation) {
  Tensor p = random({4, 3}).requires_grad_();
  optim::AdamW optimizer({p}, {.lr = 1e-3});
  for (int n = 1; n <= 6; ++n) {
    optimizer.options.lr = 1e-3 / n;
    optimizer.options.beta1 = 0.9 - 0.01 * n;
    (p * p).sum().backward();
    optimizer.step();
    optimizer.zero_grad();
    EXPECT_FALSE(p.grad().defined());
    EXPECT_TRUE(p.requires_grad() && p.is_leaf());
  }
  EXPECT_EQ(optimizer.stats().compilations, 1) << optimizer.explain();
  EXPECT_EQ(optimizer.stats().recordings_made, 1);
  EXPECT_EQ(optimizer.stats().copied_bytes, 0);
  EXPECT_EQ(optimizer.stats().eager_fallbacks, 0) << optimizer.stats().last_fallback_reason;
}

TEST(Optim, DisjointColumnBlocksOfOneParameter) {
  const optim::AdafactorOptions options{.lr = 0.1};
  auto blocks = [](const Tensor& w) { return Tensors{w.slice(1, 0, 2), w.slice(1, 2, 6), w.slice(1, 6, 7)}; };
  auto step = [&](const Tensor& w, const Tensor& g, const optim::AdafactorState& s) {
    optim::adafactor_(blocks(w), blocks(g), s, options);
  };
  auto of_blocks = [options](const Tensors& w, const Tensors& g, const optim::AdafactorState& s) {
    optim::adafactor_(w, g, s, options);
  };
  const Tensor start = random({5, 7}), g = random({5, 7});
  Tensor eager = start.clone();
  const optim::AdafactorState own = optim::AdafactorState::of(blocks(eager), options);
  // Views inside the function, and views that are its arguments.
  auto inside = compile(step);
  auto outside = compile(of_blocks);
  Tensor a = start.clone(), b = start.clone();
  const optim::AdafactorState state_a = optim::AdafactorState::of(blocks(a), options),
                              state_b = optim::AdafactorState::of(blocks(b), options);
  for (int n = 0; n < 3; ++n) {
    step(eager, g, own);
    inside(a, g, state_a);
    outside(blocks(b), blocks(g), state_b);
    EXPECT_TRUE(allclose(a, eager, 1e-12, 1e-12));
    EXPECT_TRUE(allclose(b, eager, 1e-12, 1e-12));
  }
  EXPECT_FALSE(allclose(eager, start));
  for (const Stats& s : {inside.stats(), outside.stats()}) {
    EXPECT_EQ(s.compilations, 1);
    EXPECT_EQ(s.copied_bytes, 0);
    EXPECT_EQ(s.eager_fallbacks, 0) << s.last_fallback_reason;
  }
}

TEST(Optim, AWholeTrainingStepIsOneFunction) {
  auto step = [](const Tensors& params, const optim::AdamState& state, const optim::AdamWOptions& options,
                 const Tensor& x, const Tensor& y) {
    Tensors leaves;
    for (const Tensor& p : params) leaves.push_back(p.detach().requires_grad_());
    const Tensor loss = mse_loss(linear(linear(x, leaves[0]).tanh(), leaves[1], leaves[2]), y);
    const Tensors grads = grad({loss}, leaves);
    optim::clip_grad_norm_(grads, 1.0);
    optim::adamw_(params, grads, state, options);
    return loss.detach();
  };
  auto compiled = compile(step, {.name = "train"});
  manual_seed(3);
  Tensors a{random({8, 4}), random({1, 8}), random({1})}, b;
  for (const Tensor& p : a) b.push_back(p.clone());
  const optim::AdamState state_a = optim::AdamState::of(a), state_b = optim::AdamState::of(b);
  const Tensor x = random({16, 4}), y = x.sum({1}, true);
  double first = 0, last = 0;
  for (int n = 0; n < 30; ++n) {
    const optim::AdamWOptions options{.lr = 0.05 / (1 + 0.1 * n)};
    last = step(a, state_a, options, x, y).item<double>();
    EXPECT_NEAR(compiled(b, state_b, options, x, y).item<double>(), last, 1e-9);
    if (n == 0) first = last;
  }
  EXPECT_LT(last, 0.1 * first);
  EXPECT_EQ(compiled.stats().compilations, 1) << compiled.explain();
  EXPECT_EQ(compiled.stats().copied_bytes, 0) << compiled.explain(Detail::Launches);
  EXPECT_EQ(compiled.stats().eager_fallbacks, 0) << compiled.stats().last_fallback_reason;
}

TEST(Optim, ParametersWithoutGradientAreSkipped) {
  Tensor p = random({3}).requires_grad_(), q = random({3}).requires_grad_();
  const Tensor before = q.detach().clone();
  optim::Adam optimizer({p, q}, {.lr = 0.1});
  (p * 2).sum().backward();
  optimizer.step();
  EXPECT_TRUE(equal(q, before));
  EXPECT_TRUE(equal(optimizer.state().step, tensor({1.0, 0.0}, {.dtype = kFloat64})));
  optimizer.zero_grad();
  optimizer.step();  // none at all
  EXPECT_TRUE(equal(optimizer.state().step, tensor({1.0, 0.0}, {.dtype = kFloat64})));
}

TEST(Optim, StateGoesThroughAFile) {
  const std::string path = testing::TempDir() + "/optim_state.safetensors";
  Tensor p = random({3, 2}).requires_grad_(), q = random({2}).requires_grad_();
  const Tensor g = random({3, 2}), h = random({2});
  auto steps = [&](auto& optimizer, int n) {
    for (; n > 0; --n) p.set_grad(g), q.set_grad(h), optimizer.step();
  };
  optim::SGD optimizer({p, q}, {.lr = 0.1, .momentum = 0.9, .dampening = 0.1});
  steps(optimizer, 3);
  save_safetensors(path, optimizer.state_dict());
  const Tensor p3 = p.detach().clone(), q3 = q.detach().clone();
  steps(optimizer, 2);
  const Tensor p5 = p.detach().clone();
  {
    const NoGradScope off;
    p.copy_(p3), q.copy_(q3);
  }
  optim::SGD other({p, q}, {.lr = 0.1, .momentum = 0.9, .dampening = 0.1});
  const SafeTensors file = load_safetensors(path);
  std::map<std::string, Tensor> all;
  for (const std::string& name : file.names()) all.emplace(name, file.at(name));
  EXPECT_EQ(all.size(), 3u);
  other.load_state_dict(all);
  steps(other, 2);
  EXPECT_TRUE(equal(p, p5));
  all.erase("momentum_buffer.1");
  EXPECT_NE(message_of([&] { other.load_state_dict(all); }).find("has no 'momentum_buffer.1'"), std::string::npos);
  all["momentum_buffer.1"] = random({3});
  EXPECT_NE(message_of([&] { other.load_state_dict(all); }).find("'momentum_buffer.1' to load has other sizes"),
            std::string::npos);
  std::remove(path.c_str());
}

TEST(Optim, ClippingByTheNormOfAll) {
  Tensor a = tensor({3.0, 0.0}), b = tensor({4.0});
  EXPECT_NEAR(optim::clip_grad_norm_({a, Tensor(), b}, 1.0).item<float>(), 5, 1e-6);
  EXPECT_NEAR(a.to_vector<float>()[0], 0.6, 1e-5);
  EXPECT_NEAR(b.item<float>(), 0.8, 1e-5);
  optim::clip_grad_norm_({a, b}, 10.0);
  EXPECT_NEAR(b.item<float>(), 0.8, 1e-5);
}

TEST(Optim, WhatIsWrongIsToldOnce) {
  const Tensor p = random({3, 2});
  const optim::AdamState state = optim::AdamState::of({p});
  const Tensor before = p.clone();
  auto expect = [&](const char* what, auto&& f) {
    const std::string told = message_of(f);
    EXPECT_NE(told.find(what), std::string::npos) << told;
    EXPECT_TRUE(equal(p, before));
    EXPECT_EQ(state.step.sum().item<double>(), 0);
  };
  expect("'grads' [0] has sizes [2, 3], the parameter wants [3, 2]", [&] {
    optim::adam_({p}, {random({2, 3})}, state);
  });
  expect("1 parameters and 0 gradients", [&] { optim::adam_({p}, {}, state); });
  expect("and there are 2 parameters", [&] { optim::adam_({p, p.clone()}, {p, p}, state); });
  expect("'exp_avg' is of 0 tensors", [&] {
    optim::adam_({p}, {p}, {.step = state.step, .exp_avg = {}, .exp_avg_sq = state.exp_avg_sq, .max_exp_avg_sq = {}});
  });
  expect("'exp_avg_sq' [0] has sizes [4]", [&] {
    optim::adam_({p}, {p},
                 {.step = state.step, .exp_avg = state.exp_avg, .exp_avg_sq = {random({4})}, .max_exp_avg_sq = {}});
  });
  expect("'max_exp_avg_sq' is of 0 tensors, and there are 1 parameters (the state was made for other options)",
         [&] { optim::adam_({p}, {p}, state, {.amsgrad = true}); });
  expect("'beta1' is 1, and must be below 1", [&] { optim::adam_({p}, {p}, state, {.beta1 = 1.0}); });
  expect("'lr' is -1, and must be at least 0", [&] { optim::adam_({p}, {p}, state, {.lr = -1.0}); });
  expect("'nesterov' wants a momentum", [&] { optim::sgd_({p}, {p}, optim::SGDState::of({p}), {.nesterov = true}); });
  expect("'params' [0] has sizes [2], and must be a matrix",
         [&] { optim::muon_({random({2})}, {random({2})}, optim::MuonState::of({random({2})})); });
  expect("'adjust_lr_fn' is 'none'",
         [&] { optim::muon_({p}, {p}, optim::MuonState::of({p}), {.adjust_lr_fn = "none"}); });
  Tensor leaf = random({2}).requires_grad_();
  expect("no parameters", [&] { optim::SGD({}); });
  expect("parameter 1 is no leaf", [&] { optim::SGD({leaf, leaf * 2}); });
  expect("parameters 0 and 1 are the same tensor", [&] { optim::SGD({leaf, leaf}); });
  expect("(wanted a floating dtype)", [&] { optim::SGD({tensor({1, 2}, {.dtype = kInt64})}); });
  // Told with the line of step().
  optim::SGD optimizer({leaf}, {.lr = 0.1});
  leaf.sum().backward();
  optimizer.options.lr = -0.1;
  expect("optim_test.cc", [&] { optimizer.step(); });
}

}  // namespace
}  // namespace reprise::test
