// Random programs with in-place operators, views, custom functions, hooks and scopes, whose gradients must be the same
// eagerly, ahead of time, inside a compiled function and by compiled walks. AUTOGRAD_PROGRAMS (300) and AUTOGRAD_SEED
// (0) run more, or one again: AUTOGRAD_PROGRAMS=5000 build/tests/test_autograd --gtest_filter='RandomGradients.*'
// AUTOGRAD_WRITE=file writes each eager call as a line of JSON, which scripts/compare_torch_programs.py lets PyTorch
// compute.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "reprise/reprise.h"

namespace reprise::test {
namespace {

struct Scaled : reprise::Function<Scaled> {
  static Tensor forward(FunctionContext& c, Tensor x, Tensor y) {
    c.save_for_backward({x, y});
    return x * y.sigmoid();
  }
  static std::vector<Tensor> backward(FunctionContext& c, std::vector<Tensor> g) {
    const std::vector<Tensor> s = c.saved_tensors();
    const Tensor p = s[1].sigmoid();
    return {g[0] * p, g[0] * s[0] * p * (1 - p)};
  }
};
struct Halve : reprise::Function<Halve> {
  static Tensor forward(FunctionContext& c, Tensor x) {
    x.mul_(0.5);
    c.mark_dirty({x});
    return x;
  }
  static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> g) { return {g[0] * 0.5}; }
};

struct Step {
  unsigned op, a, b, p;
};
struct Program {
  std::vector<Step> steps;
  bool hooks = false;
  std::uint64_t seed = 0;
};
constexpr unsigned kOps = 30;

/// All of the pool are [n, m], or were when they were made. Leaves: x, y [n, m], w [m, m], b [m].
struct Leaves {
  Tensor x, y, w, b;
};

/// Which steps' hooks were called, in order, where somebody listens.
thread_local std::vector<std::size_t>* t_heard = nullptr;
void hear(std::size_t step) {
  if (t_heard) t_heard->push_back(step);
}

void add_hook(const Tensor& made, std::size_t step, unsigned kind) {
  if (kind % 3 == 0 || !made.grad_fn()) made.register_hook([step](const Tensor& g) { return hear(step), g * 2; });
  else if (kind % 3 == 1)
    made.grad_fn().register_prehook([step](std::vector<Tensor>& grads) {
      hear(step);
      for (Tensor& g : grads)
        if (g.defined()) g = g * 0.5;
    });
  else
    made.grad_fn().register_hook([step](std::vector<Tensor>& given, const std::vector<Tensor>& taken) {
      hear(step);
      if (!given.empty() && given[0].defined() && taken[0].defined()) given[0] = given[0] + taken[0].sum();
    });
}

std::vector<Tensor> run(const Program& p, const Leaves& l) {
  std::vector<Tensor> pool{l.x * 1, l.y + 0, linear(l.x, l.w, l.b)};
  std::vector<Tensor> results;
  for (const Step& s : p.steps) {
    const Tensor a = pool[s.a % pool.size()], b = pool[s.b % pool.size()];
    const double c = 0.25 + s.p % 8 / 8.0;
    Tensor made;
    switch (s.op) {
      case 0: made = a + b * c; break;
      case 1: made = a * b; break;
      case 2: made = a.tanh(); break;
      case 3: made = (a * 0.3).exp(); break;
      case 4: made = a.softmax(-1); break;
      case 5: made = a - a.mean(-1, true); break;
      case 6: made = a.mm(l.w); break;
      case 7: made = linear(b, l.w, l.b).relu(); break;
      case 8: made = where(a > b, a, b * c); break;
      case 9: made = cat({a.slice(0, 0, 1), b.slice(0, 1, a.size(0))}, 0); break;
      case 10: made = a.t().reshape({a.size(0), a.size(1)}); break;
      case 11: made = a.sigmoid() * a.detach(); break;
      case 12: made = a.sum(0, true).expand(a.sizes()) * c; break;
      case 13: {
        const NoGradScope off;
        made = a * 2;
        break;
      }
      case 14: made = layer_norm(a, {a.size(1)}, l.b); break;
      case 15: made = a.clone(); break;
      // writes
      case 16: a.add_(b, c), made = a; break;
      case 17: a.mul_(c), made = a; break;
      case 18: a.slice(1, 0, 1).copy_(b.slice(1, 1, 2)), made = a; break;
      case 19: a.select(0, 0).mul_(c), made = a * 1; break;
      case 20: a.t().select(0, 1).add_(1), made = a; break;
      case 21:
        made = zeros(a.sizes(), a.options()), made.select(1, 0).copy_(a.select(1, 1)),
        made.slice(0, 0, 1).add_(b.slice(0, 0, 1));
        break;
      case 22: a.copy_(b), made = a; break;
      case 23: a.tanh_(), made = a; break;
      // views that stay
      case 24: made = a.view({-1}).view(a.sizes()); break;
      case 25: made = a.unsqueeze(0).squeeze(0); break;
      // functions and hooks
      case 26: made = Scaled::apply(a, b); break;
      case 27: made = Halve::apply(a); break;
      case 28:
        made = a * c;
        if (p.hooks && made.requires_grad()) add_hook(made, pool.size(), s.p);
        break;
      default:
        made = checkpoint([](const Tensor& t, const Tensor& u) { return (t * u).tanh() + t; }, a.clone(), b.clone());
        break;
    }
    pool.push_back(made);
  }
  for (std::size_t i = pool.size() > 3 ? pool.size() - 3 : 0; i < pool.size(); ++i) results.push_back(pool[i]);
  return results;
}

Leaves leaves(int n, int m, unsigned seed) {
  manual_seed(seed);
  auto r = [](std::initializer_list<Int> s) { return rand(s, {.dtype = kFloat64}) - 0.5; };
  Leaves l{r({n, m}), r({n, m}), r({m, m}), r({m})};
  const unsigned wants = seed % 15 + 1;
  if (wants & 1) l.x.requires_grad_();
  if (wants & 2) l.y.requires_grad_();
  if (wants & 4) l.w.requires_grad_();
  if (wants & 8) l.b.requires_grad_();
  return l;
}

std::vector<Tensor> wanted(const Leaves& l) {
  std::vector<Tensor> all;
  for (const Tensor& t : {l.x, l.y, l.w, l.b})
    if (t.requires_grad()) all.push_back(t);
  return all;
}

Tensor loss_of(const std::vector<Tensor>& results) {
  Tensor sum;
  double weight = 1;
  for (const Tensor& r : results) {
    Tensor s = (r * r).sum() * weight + r.sum();
    sum = sum.defined() ? sum + s : s;
    weight *= 0.7;
  }
  return sum;
}

struct Outcome {
  std::optional<ErrorCode> error;
  std::string what;
  std::vector<Tensor> gradients, values;
  std::vector<std::size_t> heard;
};

template <class F>
Outcome outcome(F&& f) {
  Outcome o;
  try {
    f(o);
  } catch (const Error& e) {
    o.error = e.code(), o.what = e.what();
  }
  t_heard = nullptr;
  return o;
}

std::string difference(const Outcome& want, const Outcome& got) {
  if (want.error.has_value() != got.error.has_value())
    return "eager " + (want.error ? "throws " + want.what : "does not throw") + ", the other " +
           (got.error ? "throws " + got.what : "does not");
  if (want.error) return *want.error == *got.error ? "" : "eager throws " + want.what + ", the other " + got.what;
  auto differ = [](const std::vector<Tensor>& a, const std::vector<Tensor>& b, const char* what) -> std::string {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i].defined() != b[i].defined()) return std::string(what) + " " + std::to_string(i) + " is undefined in one";
      if (a[i].defined() && !allclose(a[i], b[i], 1e-7, 1e-9))
        return std::string(what) + " " + std::to_string(i) + ":\n" + a[i].str() + "\n" + b[i].str();
    }
    return "";
  };
  if (std::string d = differ(want.values, got.values, "value"); !d.empty()) return d;
  return differ(want.gradients, got.gradients, "gradient");
}

std::string text(const Program& p) {
  std::string s = "seed " + std::to_string(p.seed) + (p.hooks ? " (hooks):" : ":");
  for (const Step& t : p.steps)
    s += " {" + std::to_string(t.op) + ", " + std::to_string(t.a) + ", " + std::to_string(t.b) + ", " +
         std::to_string(t.p) + "}";
  return s;
}

void write_down(const Program& p, const Leaves& l, const Outcome& eager) {
  static const char* const file = std::getenv("AUTOGRAD_WRITE");
  if (!file) return;
  static std::ofstream out(file);
  auto told = [](const Tensor& t) -> nlohmann::json {
    if (!t.defined()) return nullptr;
    std::vector<std::int64_t> sizes;
    for (Int s : t.sizes()) sizes.push_back(s.hint());
    return {{"sizes", sizes}, {"values", t.detach().to_vector<double>()}};
  };
  auto all = [&](const std::vector<Tensor>& list) {
    auto made = nlohmann::json::array();
    for (const Tensor& t : list) made.push_back(told(t));
    return made;
  };
  nlohmann::json line{{"seed", p.seed},
                      {"hooks", p.hooks},
                      {"error", eager.what},
                      {"leaves", all({l.x, l.y, l.w, l.b})},
                      {"gradients", all(eager.gradients)},
                      {"values", all(eager.values)}};
  for (const Tensor& t : {l.x, l.y, l.w, l.b}) line["wants"].push_back(t.requires_grad());
  for (const Step& s : p.steps) line["steps"].push_back({s.op, s.a, s.b, s.p});
  out << line.dump() << std::endl;
}

struct Tally {
  std::int64_t compared = 0, threw = 0, eager = 0, compilations = 0;
};

std::string check(const Program& p, Tally& tally) {
  using Results = std::vector<Tensor>;
  auto ahead = compile(
      [&p](const Tensor& x, const Tensor& y, const Tensor& w, const Tensor& b) {
        return run(p, {x, y, w, b});
      },
      {.name = "ahead"});
  auto inside = compile(
      [&p](const Tensor& x, const Tensor& y, const Tensor& w, const Tensor& b) {
        Leaves l{x.detach(), y.detach(), w.detach(), b.detach()};
        for (const Tensor& t : {l.x, l.y, l.w, l.b}) t.requires_grad_();
        return grad({loss_of(run(p, l))}, {l.x, l.y, l.w, l.b}, {}, {.allow_unused = true});
      },
      {.name = "inside"});
  CompiledAutograd walks;
  for (unsigned call = 0; call < 3; ++call) {
    const int n = 2 + static_cast<int>((p.seed + call) % 3), m = 2 + static_cast<int>(p.seed % 2);
    const unsigned data = static_cast<unsigned>(p.seed) * 15 + static_cast<unsigned>(p.seed % 15);
    auto derive = [](Outcome& o, const Results& results, const Leaves& l) {
      {
        const NoGradScope off;
        for (const Tensor& r : results) o.values.push_back(r.clone());
      }
      Tensor loss = loss_of(results);
      if (loss.requires_grad()) o.gradients = grad({loss}, wanted(l), {}, {.allow_unused = true});
      else o.gradients.resize(wanted(l).size());
    };
    const Leaves el = leaves(n, m, data), al = leaves(n, m, data), wl = leaves(n, m, data), il = leaves(n, m, data);
    const Outcome eager = outcome([&](Outcome& o) { t_heard = &o.heard, derive(o, run(p, el), el); });
    write_down(p, el, eager);
    const Outcome compiled = outcome([&](Outcome& o) { derive(o, ahead(al.x, al.y, al.w, al.b), al); });
    if (std::string d = difference(eager, compiled); !d.empty())
      return "ahead of time, call " + std::to_string(call) + ": " + d;
    const Outcome walked = outcome([&](Outcome& o) {
      t_heard = &o.heard;
      const auto on = walks.enable();
      derive(o, run(p, wl), wl);
    });
    if (std::string d = difference(eager, walked); !d.empty())
      return "compiled walk, call " + std::to_string(call) + ": " + d;
    if (!eager.error && eager.heard != walked.heard)
      return "compiled walk, call " + std::to_string(call) + ": hooks are called in another order, or not as often";
    if (walks.counts().eager) return "compiled walk, call " + std::to_string(call) + ": runs eagerly";
    auto all = [](Leaves l) {
      l = {l.x.detach(), l.y.detach(), l.w.detach(), l.b.detach()};
      return l;
    };
    const Leaves full = all(il);
    const Outcome plain = outcome([&](Outcome& o) {
      Leaves own{full.x.clone().requires_grad_(), full.y.clone().requires_grad_(), full.w.clone().requires_grad_(),
                 full.b.clone().requires_grad_()};
      o.gradients = grad({loss_of(run(p, own))}, {own.x, own.y, own.w, own.b}, {}, {.allow_unused = true});
    });
    const Outcome in = outcome([&](Outcome& o) { o.gradients = inside(full.x, full.y, full.w, full.b); });
    if (std::string d = difference(plain, in); !d.empty()) return "inside, call " + std::to_string(call) + ": " + d;
    ++tally.compared;
    if (eager.error) ++tally.threw;
  }
  tally.eager += ahead.stats().eager_fallbacks;
  tally.compilations += ahead.stats().compilations;
  return "";
}

TEST(RandomGradients, AreTheSameHoweverTheyAreFound) {
  const char* n = std::getenv("AUTOGRAD_PROGRAMS");
  const char* first = std::getenv("AUTOGRAD_SEED");
  const std::uint64_t seed = first ? std::strtoull(first, nullptr, 10) : 0;
  const int programs = n ? std::atoi(n) : 300;
  Tally tally;
  int failures = 0;
  for (int i = 0; i < programs && failures < 3; ++i) {
    std::mt19937 rng(static_cast<unsigned>(seed) + static_cast<unsigned>(i));
    Program p;
    p.seed = seed + static_cast<std::uint64_t>(i);
    p.hooks = p.seed % 5 == 0;
    const int length = 3 + static_cast<int>(rng() % 8);
    for (int k = 0; k < length; ++k) {
      unsigned op = rng() % 16;
      if (rng() % 5 == 0) op = 16 + rng() % 10;
      else if (rng() % 5 == 0) op = 26 + rng() % (kOps - 26);
      p.steps.push_back({op, static_cast<unsigned>(rng()), static_cast<unsigned>(rng()), static_cast<unsigned>(rng())});
    }
    if (std::string d = check(p, tally); !d.empty()) {
      ++failures;
      for (std::size_t k = p.steps.size(); k-- > 0;) {
        Program smaller = p;
        smaller.steps.erase(smaller.steps.begin() + static_cast<std::ptrdiff_t>(k));
        Tally other;
        if (std::string e = check(smaller, other); !e.empty()) p = smaller, d = e;
      }
      ADD_FAILURE() << text(p) << "\n" << d;
    }
  }
  std::printf("%lld calls compared, %lld of them throw; ahead of time: %lld compilations, %lld calls served eagerly\n",
              static_cast<long long>(tally.compared), static_cast<long long>(tally.threw),
              static_cast<long long>(tally.compilations), static_cast<long long>(tally.eager));
}

}  // namespace
}  // namespace reprise::test
