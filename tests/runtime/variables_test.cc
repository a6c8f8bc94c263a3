// Captured variables: a compiled function sees at every call what the function would see in them, and what a function
// does to them is done once.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>

#include "base/counters.h"
#include "reprise/reprise.h"
#include "tensor/variable.h"
#include "tests/support/element.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

TEST(Variable, FollowsItsHandle) {
  Tensor a = ones({1}), b = zeros({1});
  auto handle = std::make_unique<Tensor>(a);
  std::shared_ptr<Variable> v = watch(*handle);
  EXPECT_EQ(watch(*handle), v);
  EXPECT_NE(watch(a), v);
  *handle = b;
  EXPECT_EQ(v->value(), b.impl());
  std::swap(*handle, a);
  EXPECT_TRUE(handle->is_same(Tensor::share(v->value())));
  EXPECT_TRUE(a.is_same(b));
  Tensor taken = std::move(*handle);
  EXPECT_EQ(v->value(), nullptr);
  EXPECT_FALSE(v->is_gone());
  *handle = taken;
  EXPECT_EQ(v->value(), taken.impl());
  auto elsewhere = std::make_unique<Tensor>(std::move(*handle));
  EXPECT_EQ(v->value(), nullptr);
  handle.reset();  // while it holds nothing
  EXPECT_TRUE(v->is_gone());
  v = watch(*elsewhere);
  elsewhere.reset();
  EXPECT_TRUE(v->is_gone());
  EXPECT_EQ(v->value(), nullptr);
}

TEST(Variable, IsForgottenWithItsLastWatcher) {
  Tensor a = ones({1});
  EXPECT_EQ(a.impl()->variables.load(), nullptr);
  std::shared_ptr<Variable> v = watch(a), w = watch(Tensor(a));
  EXPECT_TRUE(w->is_gone());
  EXPECT_EQ(a.impl()->variables.load(), v.get());
  v.reset();
  EXPECT_EQ(a.impl()->variables.load(), nullptr);
}

// What the first call leaves in variables that nobody knew before it is the very tensor that it returns, or was given.
TEST(CapturedVariable, HoldTheSameHandle) {
  struct Held {
    Tensor a, b;
  };
  using F = std::vector<Tensor> (*)(Held&, const Tensor&);
  const std::pair<const char*, F> cases[] = {
      {"an argument",
       [](Held& h, const Tensor& x) {
         h.a = x;
         return std::vector{x};
       }},
      {"a result",
       [](Held& h, const Tensor& x) {
         h.a = x * 2;
         return std::vector{x, h.a};
       }},
      {"twice",
       [](Held& h, const Tensor& x) {
         h.a = h.b = x + 1;
         return std::vector<Tensor>{};
       }},
      {"beside a view",
       [](Held& h, const Tensor& x) {
         h.a = x + 1;
         h.b = h.a.t();
         return std::vector{h.b, h.a.t()};
       }},
      {"a view of an argument",
       [](Held& h, const Tensor& x) {
         h.a = x.t();
         h.b = x;
         return std::vector{h.a};
       }},
      {"set_",
       [](Held& h, const Tensor& x) {
         Tensor r = x + 1;
         x.set_(r);
         h.a = x;
         return std::vector{r};
       }},
      {"set_, and views",
       [](Held& h, const Tensor& x) {
         h.b = x * 2;
         x.set_(h.b);
         return std::vector{h.b, h.b.t(), x.t()};
       }},
      {"set_, and others",
       [](Held& h, const Tensor& x) {
         Tensor r = x + 1;
         h.a = r.t();
         x.set_(r);
         return std::vector{r, x};
       }},
  };
  const Tensor first = ones({1}).requires_grad_();  // from here on the tape follows views
  for (const auto& [name, f] : cases) {
    std::vector<std::string> same;
    for (const bool eager : {true, false}) {
      auto held = std::make_shared<Held>();
      auto compiled = compile([&held, f = f](const Tensor& x) { return f(*held, x); });
      for (int call = 0; call < 2; ++call) {
        const Tensor x = ones({2, 2});
        std::vector<Tensor> all = eager ? f(*held, x) : compiled(x);
        for (const Tensor& t : {x, held->a, held->b}) all.push_back(t);
        std::string& s = same.emplace_back();
        for (const Tensor& t : all)
          for (const Tensor& u : all) s += t.defined() && u.defined() && t.is_same(u) ? '1' : '0';
      }
    }
    EXPECT_EQ(same[2], same[0]) << name;
    EXPECT_EQ(same[3], same[1]) << name;
  }
}

TEST(CapturedVariable, BuffersThatChangePlaces) {
  Tensor now = tensor({1.0, 2.0}), next = zeros({2});
  auto step = compile([&](Tensor x) {
    next.copy_(now * 2.0 + x);
    return next.sum();
  });
  float a = 1, b = 2;
  for (int i = 0; i < 6; ++i) {
    a = 2 * a + 1, b = 2 * b + 1;
    EXPECT_EQ(step(ones({2})).item<float>(), a + b) << i;
    std::swap(now, next);
  }
  EXPECT_EQ(step.stats().compilations, 1);
  EXPECT_EQ(step.stats().eager_fallbacks, 0);
  EXPECT_EQ(step.stats().copied_bytes, 0);
}

struct Layer {
  Tensor w;
  std::optional<Tensor> bias;
};
struct Net {
  std::vector<Layer> layers;
  std::unordered_map<std::string, Tensor> extra;
  Tensor operator()(Tensor x) const {
    for (const Layer& l : layers) {
      Tensor w = l.w;  // a copy: what counts is where it came from
      x = x * w;
      if (l.bias) x = x + *l.bias;
    }
    return cat({x, extra.at("tail")});
  }
};

TEST(CapturedVariable, OtherWeightsWhileSomebodyHoldsTheOldOnes) {
  Net net{{{full({2}, 2.0), full({2}, 1.0)}, {full({2}, 3.0), std::nullopt}}, {{"tail", ones({1})}}};
  const Net first = net,
            second{{{full({2}, 5.0), full({2}, 0.0)}, {full({2}, 7.0), std::nullopt}}, {{"tail", zeros({1})}}};
  auto f = compile([&](Tensor x) { return net(x); });
  for (int i = 0; i < 6; ++i) {
    net.layers[0] = (i % 2 ? second : first).layers[0];
    net.layers[1].w = (i % 3 ? second : first).layers[1].w;
    if (i == 4) net.extra["tail"] = second.extra.at("tail");
    EXPECT_TRUE(equal(f(ones({2})), net(ones({2})))) << i;
  }
  EXPECT_EQ(f.stats().compilations, 1);
  net.layers[1].w = full({2}, 7.0, {.dtype = kFloat64});  // of another structure
  EXPECT_TRUE(equal(f(ones({2})), net(ones({2}))));
  EXPECT_EQ(f.stats().compilations, 2);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(CapturedVariable, TwoThatHoldOneTensor) {
  Tensor a = ones({2}), b = a;
  auto f = compile([&](Tensor x) { return x * a + b * 10.0; });
  EXPECT_EQ(at(f(ones({2})), 0), 11);
  b = full({2}, 2.0);
  EXPECT_EQ(at(f(ones({2})), 0), 21);
  a = b;
  EXPECT_EQ(at(f(ones({2})), 0), 22);
  a = b = full({2}, 3.0);
  EXPECT_EQ(at(f(ones({2})), 0), 33);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(CapturedVariable, ThatIsReplacedByAnotherVariable) {
  auto net = std::make_unique<Layer>(Layer{full({1}, 2.0), {}});
  auto f = compile([&](Tensor x) { return x * net->w; });
  EXPECT_EQ(at(f(ones({1})), 0), 2);
  Tensor held = net->w;
  net = std::make_unique<Layer>(Layer{full({1}, 3.0), {}});
  EXPECT_EQ(at(f(ones({1})), 0), 3);
  std::vector<Tensor> all{full({1}, 2.0)};
  auto g = compile([&](Tensor x) { return x * all.back(); });
  EXPECT_EQ(at(g(ones({1})), 0), 2);
  std::vector<Tensor> kept = all;
  all.pop_back();
  all.push_back(full({1}, 5.0));
  EXPECT_EQ(at(g(ones({1})), 0), 5);
}

TEST(CapturedVariable, IsNotKeptAlive) {
  int freed = 0;
  static float bytes[2] = {1, 2};
  Tensor w = from_blob(bytes, {2}, kFloat32, [&](void*) { ++freed; });
  auto f = compile([&](Tensor x) { return x * w; });
  EXPECT_EQ(at(f(ones({2})), 1), 2);
  w = ones({2});
  EXPECT_EQ(freed, 1);
  EXPECT_EQ(at(f(ones({2})), 1), 1);
  w = Tensor();
  EXPECT_EQ(error_of([&] { f(ones({2})); }).code(), ErrorCode::InvalidArgument);
  w = full({2}, 4.0);
  EXPECT_EQ(at(f(ones({2})), 1), 4);
}

TEST(CapturedVariable, GivenBackAsItIs) {
  Tensor w = ones({2});
  auto f = compile([&](Tensor x) {
    std::vector<Tensor> all(2);
    all[0] = w;
    all[1] = x + w;
    return all;
  });
  for (int i = 0; i < 3; ++i) {
    w = full({2}, static_cast<double>(i));
    std::vector<Tensor> got = f(ones({2}));
    EXPECT_TRUE(got[0].shares_storage_with(w));
    EXPECT_EQ(at(got[1], 0), 1.0f + static_cast<float>(i));
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(CapturedVariable, OfCopiesOfOneCompiledFunction) {
  auto make = [] { return compile([w = full({1}, 2.0)](Tensor x) { return x * w; }); };
  auto f = make();
  {
    auto first = f;
    EXPECT_EQ(at(first(ones({1})), 0), 2);
  }
  auto moved = std::move(f);
  EXPECT_EQ(at(moved(ones({1})), 0), 2);
  EXPECT_EQ(moved.stats().compilations, 1);
}

TEST(ChangedVariable, SwappedInside) {
  Tensor now = tensor({1.0, 2.0}), next = zeros({2});
  auto step = compile([&](Tensor x) {
    next.copy_(now * 2.0 + x);
    std::swap(now, next);
    return now.sum();
  });
  float a = 1, b = 2;
  for (int i = 0; i < 4; ++i) {
    a = 2 * a + 1, b = 2 * b + 1;
    EXPECT_EQ(step(ones({2})).item<float>(), a + b) << i;
  }
  EXPECT_EQ(step.stats().compilations, 1);
  EXPECT_EQ(step.stats().eager_fallbacks, 0) << step.stats().last_fallback_reason;
}

// Programs that keep a state in variables, run as they are and compiled: calls of two sizes in turn, and the state of
// one kept by somebody else.
struct State {
  Tensor h, best, last;
  std::vector<Tensor> ring;
};
State state_of(std::int64_t n) {
  return {ones({n, 2}), full({n, 2}, 2.0), zeros({n, 2}), {ones({n, 2}), full({n, 2}, 2.0), full({n, 2}, 3.0)}};
}
std::vector<Tensor*> handles_of(State& s) { return {&s.h, &s.best, &s.last, &s.ring[0], &s.ring[1], &s.ring[2]}; }

TEST(AssignedVariable, AsTheFunctionAssignsIt) {
  using Body = std::function<std::vector<Tensor>(State&, Tensor)>;
  const std::pair<const char*, Body> bodies[] = {
      {"decays",
       [](State& s, Tensor x) {
         s.h = s.h * 0.5 + x;
         return std::vector{s.h.sum()};
       }},
      {"returned, too",
       [](State& s, Tensor x) {
         s.h = s.h * 0.5 + x;
         return std::vector{s.h, s.h.slice(0, 0, 1), x};
       }},
      {"several times",
       [](State& s, Tensor x) {
         for (int i = 0; i < 3; ++i) s.h = s.h * x + 1.0;
         return std::vector<Tensor>{};
       }},
      {"never read",
       [](State& s, Tensor x) {
         s.last = x * 2.0;
         return std::vector{x + 1.0};
       }},
      {"an argument",
       [](State& s, Tensor x) {
         s.last = x;
         return std::vector{s.h + x};
       }},
      {"a view of an argument that is written",
       [](State& s, Tensor x) {
         x.add_(1);
         s.last = x.slice(0, 0, 1);
         return std::vector{x};
       }},
      {"each other",
       [](State& s, Tensor x) {
         std::swap(s.h, s.best);
         s.h.add_(x);
         return std::vector{s.best * 1.0};
       }},
      {"each other, unread",
       [](State& s, Tensor x) {
         std::swap(s.h, s.best);
         return std::vector{x + 1.0};
       }},
      {"one and the other",
       [](State& s, Tensor x) {
         s.last = s.h;
         s.h = s.h + x;
         return std::vector{s.h - s.last};
       }},
      {"two get one",
       [](State& s, Tensor x) {
         s.h = s.best = x * s.h;
         return std::vector<Tensor>{};
       }},
      {"twice to and fro",
       [](State& s, Tensor x) {
         std::swap(s.h, s.best);
         std::swap(s.h, s.best);
         return std::vector{s.h + x};
       }},
      {"a ring",
       [](State& s, Tensor x) {
         std::rotate(s.ring.begin(), s.ring.begin() + 1, s.ring.end());
         s.ring.back() = x + s.ring[0];
         return std::vector{s.ring[1] * 1.0};
       }},
      {"written, then assigned",
       [](State& s, Tensor x) {
         s.h.mul_(2);
         s.last = s.h;
         s.h = s.h + x;
         return std::vector<Tensor>{};
       }},
      {"two views of one",
       [](State& s, Tensor x) {
         Tensor y = x * 3.0;
         s.h = y.t().t();
         s.best = y.slice(1, 0, 1);
         s.last = y;
         return std::vector{y};
       }},
  };
  for (const auto& [name, body] : bodies) {
    State compiled = state_of(3), eager = state_of(3);
    auto f = compile([&, &body = body](Tensor x) { return body(compiled, x); }, {.name = name});
    std::vector<Tensor> old_compiled, old_eager;  // what was in the variables stays as it was
    for (int call = 0; call < 7; ++call) {
      const int n = call < 4 ? 3 : 5;
      if (call == 4) compiled = state_of(n), eager = state_of(n);
      Tensor x = full({n, 2}, 1.0 + call), twin = x.clone();
      for (Tensor* h : handles_of(compiled)) old_compiled.push_back(*h);
      for (Tensor* h : handles_of(eager)) old_eager.push_back(*h);
      const std::vector<Tensor> got = f(x), want = body(eager, twin);
      SCOPED_TRACE(std::string(name) + ", call " + std::to_string(call));
      std::vector<Tensor> a{x}, b{twin};
      a.insert(a.end(), got.begin(), got.end()), b.insert(b.end(), want.begin(), want.end());
      for (Tensor* h : handles_of(compiled)) a.push_back(*h);
      for (Tensor* h : handles_of(eager)) b.push_back(*h);
      a.insert(a.end(), old_compiled.begin(), old_compiled.end()),
          b.insert(b.end(), old_eager.begin(), old_eager.end());
      ASSERT_EQ(a.size(), b.size());
      for (int later = 0; later < 2; ++later) {
        for (std::size_t i = 0; i < a.size(); ++i) {
          ASSERT_TRUE(equal(a[i], b[i])) << i;
          for (std::size_t j = 0; j < i; ++j) {
            EXPECT_EQ(a[i].is_same(a[j]), b[i].is_same(b[j])) << i << " " << j;
            EXPECT_EQ(a[i].shares_storage_with(a[j]), b[i].shares_storage_with(b[j])) << i << " " << j;
          }
        }
        if (call == 2)
          for (std::size_t i = 0; i < a.size(); ++i)
            a[i].add_(static_cast<double>(i)), b[i].add_(static_cast<double>(i));
      }
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << name << ": " << f.stats().last_fallback_reason;
    EXPECT_LE(f.stats().compilations, 3) << name;
  }
}

// An assignment that changes nothing in the traced call, because both variables hold one tensor or none, is done at
// every call.
TEST(AssignedVariable, ThatChangesNothingWhenItIsTraced) {
  struct Vars {
    Tensor a, b;
    std::vector<Tensor> v;
    std::optional<Tensor> maybe;
  };
  using Body = std::function<Tensor(Vars&, Tensor)>;
  const std::pair<const char*, Body> bodies[] = {
      {"a = b",
       [](Vars& s, Tensor x) {
         s.a = s.b;
         return x + 0;
       }},
      {"a = move(b), b = a",
       [](Vars& s, Tensor x) {
         s.a = std::move(s.b);
         s.b = s.a;
         return x + 0;
       }},
      {"last = state, state = ...",
       [](Vars& s, Tensor x) {
         s.a = s.b;
         s.b = s.b * 2 + x;
         return x + 0;
       }},
      {"the difference from the last",
       [](Vars& s, Tensor x) {
         Tensor r = s.b - s.a;
         s.a = s.b;
         s.b = s.b + x;
         return r;
       }},
      {"elements of a vector",
       [](Vars& s, Tensor x) {
         s.v[0] = s.v[1];
         s.v[1] = s.v[1] + x;
         return x + 0;
       }},
      {"a chain",
       [](Vars& s, Tensor x) {
         s.v[0] = s.v[1];
         s.v[1] = s.a;
         s.a = s.b;
         return x + 0;
       }},
      {"through a local",
       [](Vars& s, Tensor x) {
         Tensor t = s.b;
         s.a = t;
         return x + 0;
       }},
      {"through a vector of locals",
       [](Vars& s, Tensor x) {
         std::vector<Tensor> t{s.b, x};
         s.a = t[0];
         return x + 0;
       }},
      {"swapped",
       [](Vars& s, Tensor x) {
         std::swap(s.a, s.b);
         return x + 0;
       }},
      {"swapped, written",
       [](Vars& s, Tensor x) {
         std::swap(s.a, s.b);
         s.b.add_(x);
         return x + 0;
       }},
      {"assigned, swapped",
       [](Vars& s, Tensor x) {
         s.a = x;
         std::swap(s.a, s.b);
         return x + 0;
       }},
      {"an optional",
       [](Vars& s, Tensor x) {
         *s.maybe = s.b;
         return x + 0;
       }},
      {"out and back",
       [](Vars& s, Tensor x) {
         Tensor t = std::move(s.a);
         t.add_(x);
         s.a = std::move(t);
         return x + 0;
       }},
      {"the best so far",
       [](Vars& s, Tensor x) {
         s.a = s.b;
         s.b = x;
         return s.a.sum();
       }},
  };
  for (const auto& [name, body] : bodies)
    for (const int same : {2, 1, 0}) {  // 2: neither holds one
      Vars eager, compiled;
      for (Vars* s : {&eager, &compiled}) {
        s->a = same == 2 ? Tensor() : full({2}, 1), s->b = same ? s->a : full({2}, 2);
        s->v = {s->a, s->b}, s->maybe = s->a;
      }
      if (same == 2 && name != std::string("a = b") && name != std::string("swapped") &&
          name != std::string("a chain") && name != std::string("an optional"))
        continue;
      auto f = compile([&compiled, &body = body](Tensor x) { return body(compiled, x); }, {.name = name});
      for (int call = 0; call < 8; ++call) {
        const Tensor x = full({2}, 10 * (call + 1)), want = body(eager, x), got = f(x);
        std::vector<Tensor> a{got, compiled.a, compiled.b, compiled.v[0], compiled.v[1], *compiled.maybe},
            b{want, eager.a, eager.b, eager.v[0], eager.v[1], *eager.maybe};
        SCOPED_TRACE(std::string(name) + ", same " + std::to_string(same) + ", call " + std::to_string(call));
        for (std::size_t i = 0; i < a.size(); ++i) {
          ASSERT_EQ(a[i].defined(), b[i].defined()) << i;
          if (!a[i].defined()) continue;
          EXPECT_TRUE(equal(a[i], b[i])) << i;
          for (std::size_t j = 0; j < i; ++j)
            EXPECT_EQ(a[j].defined() && a[i].is_same(a[j]), b[j].defined() && b[i].is_same(b[j])) << i << " " << j;
        }
        for (Vars* s : {&eager, &compiled}) {  // the program gives them others, or one again
          if (call == 1 || call == 5) s->b = full({2}, 50 + call), s->v[1] = s->b;
          if (call == 3) s->a = s->b, s->v[0] = s->v[1];
          if (call == 6) s->v[1] = full({2}, 70);
        }
      }
      EXPECT_LE(f.stats().eager_fallbacks, same == 2 ? 8 : 0) << name << ": " << f.stats().last_fallback_reason;
    }
}

// In the function object: captured by value, a member; and in what a pointer leads to.
TEST(AssignedVariable, OfTheFunctionItself) {
  auto mean = compile([h = zeros({2})](Tensor x) mutable { return h = h * 0.5 + x; });
  struct Cell {
    Tensor h = zeros({2});
    double rate = 0.5;
    Tensor operator()(Tensor x) {
      h = h * rate + x;
      return h * 2.0;
    }
  };
  auto cell = compile(Cell());
  Cell twin;
  Tensor h = zeros({2});
  for (int i = 0; i < 6; ++i) {
    const Tensor x = full({2}, static_cast<double>(i));
    h = h * 0.5 + x;
    EXPECT_TRUE(equal(mean(x), h)) << i;
    EXPECT_TRUE(equal(cell(x), twin(x))) << i;
  }
  EXPECT_EQ(mean.stats().eager_fallbacks + cell.stats().eager_fallbacks, 0)
      << mean.stats().last_fallback_reason << cell.stats().last_fallback_reason;
}

Tensor g_state;

// A variable that held nothing was there before if it stands where nothing is made while the function runs: with who
// called it, in the function object, among those that live as long as the program.
TEST(AssignedVariable, ThatHeldNothing) {
  Tensor h, last;
  auto f = compile([&](Tensor x) {
    if (!h.defined()) h = zeros({2});
    h = h + x;
    last = x * 3.0;
    return h * 1.0;
  });
  struct Member {
    Tensor sum;
    Tensor operator()(Tensor x) {
      sum = sum.defined() ? sum + x : x * 1.0;
      return sum + 0.0;
    }
  };
  auto member = compile(Member());
  auto global = compile([](Tensor x) {
    if (!g_state.defined()) g_state = x * 0.0;
    g_state.add_(x);
    return g_state * 1.0;
  });
  for (int round = 0; round < 2; ++round) {
    for (int i = 1; i < 5; ++i) {
      const Tensor x = ones({2});
      EXPECT_EQ(at(f(x), 1), static_cast<float>(i));
      EXPECT_EQ(at(last, 0), 3);
      EXPECT_EQ(at(global(x), 0), static_cast<float>(i));
      EXPECT_EQ(at(member(x), 0), static_cast<float>(i + 4 * round));
    }
    h = last = g_state = Tensor();
  }
  for (const Stats& s : {f.stats(), member.stats(), global.stats()}) {
    EXPECT_EQ(s.eager_fallbacks, 0) << s.last_fallback_reason;
    EXPECT_LE(s.compilations, 2);
  }
  // Two change places, one of which holds nothing; one gets nothing.
  Tensor a = ones({2}), b;
  auto swaps = compile([&](Tensor x) {
    std::swap(a, b);
    return x + 1.0;
  });
  for (int i = 0; i < 5; ++i) {
    swaps(ones({2}));
    EXPECT_EQ(a.defined(), i % 2 == 1);
    EXPECT_EQ(b.defined(), i % 2 == 0);
    EXPECT_EQ(at(i % 2 ? a : b, 0), 1);
  }
  EXPECT_EQ(swaps.stats().eager_fallbacks, 0) << swaps.stats().last_fallback_reason;
}

// Elsewhere it may have been made by the function, with the object that it is in: a replay could not tell which. The
// first call serves itself alone, and the variable is known from then on.
TEST(AssignedVariable, ThatHeldNothingOnTheHeap) {
  struct Cell {
    Tensor state;
  };
  auto cell = std::make_shared<Cell>();
  auto f = compile([cell](Tensor x) {
    if (!cell->state.defined()) cell->state = x * 0.0;
    cell->state = cell->state + x;
    return cell->state * 1.0;
  });
  for (int round = 0; round < 4; ++round) {
    for (int i = 1; i < 4; ++i) EXPECT_EQ(at(f(ones({2})), 1), static_cast<float>(i));
    cell->state = Tensor();
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 1) << f.stats().last_fallback_reason;
  EXPECT_EQ(f.stats().compilations, 2);
  // What a map makes at its first look is watched, and forgotten where the map drops it.
  std::map<std::string, Tensor> found;
  auto h = compile([&](Tensor x) {
    found["sum"] = x + 1.0;
    return x * 2.0;
  });
  for (int i = 0; i < 9; ++i) {
    h(full({2}, static_cast<double>(i)));
    EXPECT_EQ(found.size(), 1u);
    EXPECT_EQ(at(found["sum"], 0), static_cast<float>(i + 1));
    if (i == 4) found.clear();
    if (i == 6) found["sum"] = Tensor();
  }
  // One more slot of an array is filled at every call: never the same one twice.
  std::array<Tensor, 6> slots;
  int filled = 0;
  auto fills = compile([&](Tensor x) {
    Tensor& slot = slots[static_cast<std::size_t>(filled)];
    filled += !slot.defined();
    slot = x * 1.0;
    return x + 1.0;
  });
  for (int i = 0; i < 6; ++i) {
    fills(full({2}, static_cast<double>(i)));
    for (int k = 0; k <= i; ++k) EXPECT_EQ(at(slots[static_cast<std::size_t>(k)], 0), static_cast<float>(k)) << i;
  }
}

TEST(AssignedVariable, InContainersThatGrow) {
  struct Node {
    Tensor value;
  };
  std::deque<Node> nodes;
  auto g = compile([&](Tensor x) {
    nodes.emplace_back();
    nodes.back().value = x * 2.0;
    return x + 1.0;
  });
  for (int i = 1; i < 4; ++i) {
    g(full({2}, static_cast<double>(i)));
    EXPECT_EQ(nodes.size(), static_cast<std::size_t>(i));
    EXPECT_EQ(at(nodes.back().value, 0), 2.0f * static_cast<float>(i));
  }
}

TEST(AssignedVariable, IsAsBeforeAfterAnError) {
  Tensor h = ones({2}), table = ones({4, 2});
  auto f = compile([&](Tensor i) {
    h = h * 2.0;
    Tensor found = embedding(table, i);
    h = h + found.sum(0);
    return found;
  });
  for (int i : {0, 9, 1, 9, 3}) {
    const Tensor before = h, values = h.clone();
    const Tensor index = full({1}, i, {.dtype = kInt64});
    if (i < 4) {
      f(index);
      EXPECT_TRUE(equal(h, values * 2.0 + 1.0));
    } else {
      EXPECT_EQ(error_of([&] { f(index); }).code(), ErrorCode::IndexOutOfRange);
      EXPECT_TRUE(h.is_same(before) && equal(h, values));
    }
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

// Whatever fails, and however the call is served: no variable is another one.
TEST(AssignedVariable, IsAsBeforeAfterAnyError) {
  struct Vars {
    Tensor member, empty;
    std::vector<Tensor> list;
    std::map<std::string, Tensor> named;
  };
  Vars s{ones({2}), {}, {ones({2}), zeros({3})}, {{"w", ones({2})}}};
  Tensor local = ones({2}), gone;
  auto assign = [&](Tensor x) {
    s.member = x, s.empty = x + 0, s.named["w"] = s.member;
    std::swap(s.list[0], s.list[1]);
    s.list[1] = x;
    gone = std::move(local);
    local = x;
    for (int i = 0; i < 2; ++i) local = local + 0, local = local * 2;
  };
  using Body = std::function<Tensor(Tensor)>;
  const std::pair<const char*, Body> bodies[] = {
      {"view", [](Tensor x) { return x.view({-1}); }},
      {"add_, view",
       [](Tensor x) {
         x.add_(1);
         return x.view({-1});
       }},
      {"zeros, view",
       [](Tensor x) {
         Tensor z = zeros(x.sizes());
         return x.view({-1}) + z;
       }},
      {"scatter_reduce, view",
       [](Tensor x) {
         Tensor z = x.scatter_reduce(1, zeros(x.sizes(), {.dtype = kInt64}), x, "sum");
         return x.view({-1}) + z;
       }},
      {"index_select, linear",
       [](Tensor x) {
         Tensor z = x.index_select(0, arange(2));
         return linear(z, ones({3, 3}));
       }},
      {"index_select", [](Tensor x) { return x.index_select(0, arange(2) + 7); }},
      {"written, index_select",
       [](Tensor x) {
         x.mul_(2);
         return x.index_select(0, arange(2) + 7);
       }},
      {"linear",
       [](Tensor x) {
         return linear(x, ones({3, 3}));
       }},
      {"masked_fill_ of expanded",
       [](Tensor x) {
         Tensor e = x.unsqueeze(0).expand({2, -1, -1});
         e.masked_fill_(e.remainder(3) == 1, 2);
         return x + 0;
       }},
      {"caught, then linear",
       [](Tensor x) {
         try {
           x.index_select(0, arange(2) + 7);
         } catch (const Error&) {
         }
         return linear(x, ones({3, 3}));
       }},
      {"its own error",
       [](Tensor x) -> Tensor {
         Tensor z = x.index_select(0, arange(2));
         throw std::runtime_error("no");
       }},
      {"linear, on a tensor that was reshaped",
       [](Tensor x) {
         x.transpose_(0, 1);
         x.index_select(0, arange(2));
         return linear(x, ones({3, 3}));
       }},
  };
  for (const auto& [name, body] : bodies) {
    auto f = compile(
        [&, &body = body](Tensor x) {
          assign(x);
          return body(x);
        },
        {.name = name});
    const Tensor x = arange(14, {.dtype = kFloat32}).view({2, 7}).clone().slice(1, 1, 5);
    const std::vector<Tensor> before{s.member, s.list[0], s.list[1], s.named["w"], local};
    const std::string text = x.str();
    for (int call = 0; call < 4; ++call) {
      EXPECT_THROW(f(x), std::exception) << name;
      const std::vector<const Tensor*> now{&s.member, &s.list[0], &s.list[1], &s.named["w"], &local};
      for (std::size_t i = 0; i < now.size(); ++i)
        EXPECT_TRUE(now[i]->defined() && now[i]->is_same(before[i])) << name << ", call " << call << ", variable " << i;
      EXPECT_FALSE(s.empty.defined() || gone.defined()) << name << ", call " << call;
      EXPECT_EQ(x.str(), text) << name << ", call " << call;
    }
  }
}

TEST(AssignedVariable, IsChecked) {
  Tensor h = ones({2});
  double rate = 0.5;
  auto f = compile(
      [&](Tensor x) {
        h = h * rate + x;
        return x * 2.0;
      },
      {.check = 1});
  for (int i = 0; i < 4; ++i) f(ones({2}));
  EXPECT_EQ(at(h, 0), 1.9375f);
  EXPECT_GT(f.stats().checks, 0);
  rate = 0.25;
  const Tensor before = h;
  EXPECT_EQ(error_of([&] { f(ones({2})); }).code(), ErrorCode::CheckFailed);
  EXPECT_TRUE(h.is_same(before));
}

TEST(ChangedVariable, AssignedButNeverRead) {
  Tensor a = ones({1}), last;
  auto f = compile([&](Tensor x) {
    last = a;
    return x + 1.0;
  });
  for (int i = 0; i < 3; ++i) {
    last = Tensor();
    f(ones({1}));
    EXPECT_TRUE(last.is_same(a)) << i;
  }
}

TEST(ChangedVariable, IsPutBackBeforeTheFunctionRunsAgain) {
  Tensor a = full({1}, 1.0), b = full({1}, 2.0), made;
  auto f = compile([&](Tensor x) {
    std::swap(a, b);
    if (!made.defined()) made = x * 3.0;
    return made * a.item<float>();  // ends the capture
  });
  EXPECT_EQ(at(f(ones({1})), 0), 6);
  EXPECT_EQ(at(a, 0), 2);
  EXPECT_EQ(at(f(ones({1})), 0), 3);
  EXPECT_EQ(at(f(zeros({1})), 0), 6);
  auto g = compile([&](Tensor x) {
    a = x * 2.0;
    return x.view({3, 3});
  });
  EXPECT_EQ(error_of([&] { g(ones({2})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(at(a, 0), 2) << "as before the call";
}

TEST(ChangedVariable, IsPutBackWhenTheReplayThrows) {
  Tensor last = ones({1}), table = ones({4, 2});
  auto f = compile([&](Tensor i) {
    last = embedding(table, i);
    return last * 2.0;
  });
  Tensor before = last;
  EXPECT_EQ(error_of([&] { f(full({1}, 9, {.dtype = kInt64})); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_TRUE(last.is_same(before));
  EXPECT_EQ(at(f(zeros({1}, {.dtype = kInt64})), 0), 2);
  EXPECT_EQ(last.dim(), 2);
}

TEST(ChangedVariable, TakenFromAQueue) {
  std::deque<Tensor> q{full({1}, 1.0), full({1}, 2.0), full({1}, 3.0)};
  std::deque<Tensor> all = q;  // somebody else holds them, too
  auto f = compile([&](Tensor x) {
    Tensor w = q.front();
    q.pop_front();
    return x * w;
  });
  for (int i = 1; i < 4; ++i) EXPECT_EQ(at(f(ones({1})), 0), static_cast<float>(i));
  EXPECT_TRUE(q.empty());
}

// What a first call leaves where nothing was is what the function has left there: an argument, a captured tensor, a
// result.
TEST(ChangedVariable, HoldsTheTensorsThemselves) {
  std::vector<Tensor> list;
  Tensor w = ones({2});
  using Body = std::function<Tensor(const Tensor& x, const Tensor& y)>;
  const std::tuple<const char*, Body, const char*> bodies[] = {
      {"list = {x, y}",
       [&](const Tensor& x, const Tensor& y) {
         list = {x, y};
         return x * 2;
       },
       "xy"},
      {"a result",
       [&](const Tensor& x, const Tensor& y) {
         Tensor r = x * 2;
         list = {y, r, r};
         return r;
       },
       "yrr"},
      {"captured",
       [&](const Tensor& x, const Tensor&) {
         list = {w, x};
         return x * 2;
       },
       "wx"},
      {"push_back",
       [&](const Tensor& x, const Tensor& y) {
         list.push_back(x), list.push_back(y), list.push_back(x);
         return x * 2;
       },
       "xyx"},
      {"moved",
       [&](const Tensor& x, const Tensor& y) {
         std::vector<Tensor> made{x, y};
         list = std::move(made);
         return x * 2;
       },
       "xy"},
      {"swapped",
       [&](const Tensor& x, const Tensor& y) {
         std::vector<Tensor> made{x, y};
         std::swap(list, made);
         return x * 2;
       },
       "xy"},
      {"copied",
       [&](const Tensor& x, const Tensor& y) {
         const std::vector<Tensor> made{y, x};
         list = made;
         return x * 2;
       },
       "yx"},
      {"written",
       [&](const Tensor& x, const Tensor& y) {
         y.add_(1), list = {x, y};
         return x * 2;
       },
       "xy"},
      {"a view",
       [&](const Tensor& x, const Tensor& y) {
         list = {x.view({2, 1}), y};
         return x * 2;
       },
       "-y"},
  };
  for (const auto& [name, body, expected] : bodies)
    for (bool reserved : {false, true}) {
      auto f = compile(body);
      for (int times = 0; times < 3; ++times) {
        list = {};
        if (reserved) list.reserve(8);
        Tensor x = ones({2}), y = zeros({3});
        const Tensor r = f(x, y);
        std::string held;
        for (const Tensor& t : list)
          held += t.is_same(x) ? 'x' : t.is_same(y) ? 'y' : t.is_same(w) ? 'w' : t.is_same(r) ? 'r' : '-';
        EXPECT_EQ(held, expected) << name << ", call " << times;
        EXPECT_EQ(at(r, 0), 2);
      }
    }
}

TEST(ChangedVariable, HandlesThatTheFunctionMakesAndDestroys) {
  Tensor w = ones({2});
  std::deque<Tensor> history;
  std::optional<Tensor> last, cache;
  auto remembers = compile([&](Tensor x) {
    history.push_back(w);
    return x * w;
  });
  auto engages = compile([&](Tensor x) {
    last = w;
    return x * w;
  });
  auto resets = compile([&](Tensor x) {
    Tensor y = x * *cache;
    cache.reset();
    return y;
  });
  auto moves = compile([&](Tensor x) {
    Tensor copy = w;
    history.push_back(std::move(copy));
    return x * w;
  });
  for (int i = 1; i < 4; ++i) {
    w = full({2}, static_cast<double>(i));
    remembers(ones({2}));
    EXPECT_EQ(history.size(), static_cast<std::size_t>(2 * i - 1));
    EXPECT_TRUE(history.back().is_same(w));
    moves(ones({2}));
    EXPECT_TRUE(history.back().is_same(w));
    last.reset();
    engages(ones({2}));
    EXPECT_TRUE(last && last->is_same(w));
    cache = w;
    EXPECT_EQ(at(resets(ones({2})), 0), static_cast<float>(i));
    EXPECT_FALSE(cache);
  }
  // What the function keeps to itself is nobody's business.
  auto local = compile([&](Tensor x) {
    std::vector<Tensor> mine{w, w};
    Tensor a = mine[0], b;
    b = a;
    a = std::move(mine[1]);
    mine.clear();
    std::optional<Tensor> maybe = b;
    return x * a * *maybe;
  });
  for (int i = 1; i < 3; ++i) EXPECT_EQ(at(local(ones({2})), 0), 9);
  EXPECT_EQ(local.stats().eager_fallbacks, 0);
  auto recurrent = compile([&](Tensor x) {
    Tensor h = w;
    for (int i = 0; i < 3; ++i) h = h * x + w;
    return h;
  });
  for (int i = 1; i < 3; ++i) EXPECT_EQ(at(recurrent(full({2}, 2.0)), 0), 45);
  EXPECT_EQ(recurrent.stats().eager_fallbacks, 0) << recurrent.stats().last_fallback_reason;
}

thread_local Tensor t_scratch;
// A handle that the function has made of a traced tensor stays its own when it gets a captured one.
TEST(CapturedVariable, TakesTheTurnOfATracedTensor) {
  Tensor w = ones({2});
  std::vector<Tensor> list{ones({2}), ones({2}) * 2.0};
  const std::function<Tensor(const Tensor&)> bodies[] = {
      [&](const Tensor& x) {
        Tensor p = x;
        p = w;
        return x + p;
      },
      [&](const Tensor& x) {
        Tensor p = x * 2.0;
        for (const Tensor& t : list) p = t;
        p = p + x;
        return p;
      },
      [&](const Tensor& x) {
        std::vector<Tensor> all{x, x * 2.0};
        all[1] = w;
        return all[0] + all[1];
      },
      [&](const Tensor& x) {
        Tensor p = x, q = w;
        std::swap(p, q);
        return p * 3.0 + q;
      },
  };
  for (const auto& body : bodies) {
    auto f = compile([&](Tensor x) { return body(x); });
    for (int call = 0; call < 4; ++call) {
      w = ones({2}) * (call + 1.0), list[1] = ones({2}) * (call + 2.0);
      const Tensor x = ones({2}) * 10.0;
      EXPECT_TRUE(equal(f(x), body(x))) << call;
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
    EXPECT_EQ(f.stats().compilations, 1);
  }
}

TEST(CapturedVariable, OfEachThread) {
  auto f = compile([](Tensor x) {
    t_scratch.add_(x);
    return t_scratch.sum();
  });
  t_scratch = zeros({2});
  EXPECT_EQ(f(ones({2})).item<float>(), 2);
  std::thread([&] {
    t_scratch = full({2}, 100.0);
    EXPECT_EQ(f(ones({2})).item<float>(), 202);
    EXPECT_EQ(at(t_scratch, 0), 101);
  }).join();
  EXPECT_EQ(at(t_scratch, 0), 1);
}

TEST(CapturedVariable, ReadInOtherThreads) {
  Tensor w = ones({2});
  auto captured = compile([&](Tensor x) { return x + std::async(std::launch::async, [&] { return w * 2.0; }).get(); });
  auto argument = compile([&](Tensor x) { return x + std::async(std::launch::async, [&] { return x * 2.0; }).get(); });
  for (int i = 1; i < 4; ++i) {
    w = full({2}, static_cast<double>(i));
    EXPECT_EQ(at(captured(ones({2})), 0), 1 + 2 * i);
    EXPECT_EQ(at(argument(w), 0), 3 * i);
  }
  EXPECT_NE(argument.stats().last_fallback_reason.find("another thread"), std::string::npos);
  ASSERT_EQ(argument.stats().fallbacks.size(), 1u);
  EXPECT_STREQ(argument.stats().fallbacks[0].reason, "other_thread");
}

TEST(CapturedVariable, AskedWhetherItIsAnother) {
  Tensor a = ones({2}), b = full({2}, 3.0), c = a;
  auto f = compile([&](Tensor x) { return c.is_same(a) ? x * 2.0 : x * 3.0; });
  for (int i = 0; i < 4; ++i) {
    c = i % 2 ? a : b;
    EXPECT_EQ(at(f(ones({2})), 0), i % 2 ? 2 : 3);
  }
  auto twice = compile([](Tensor x, Tensor y) { return x.is_same(y) ? x * 2.0 : x; });
  EXPECT_EQ(at(twice(a, a), 0), 2);
  EXPECT_EQ(at(twice(a, b), 0), 1);
}

TEST(ChangedVariable, WhatServedOneCallIsFreed) {
  int freed = 0;
  static float bytes[2] = {1, 2};
  {
    Tensor w = from_blob(bytes, {2}, kFloat32, [&](void*) { ++freed; });
    auto h = std::make_unique<Tensor>();
    auto f = compile([&](Tensor x) { return *h = x * w; });
    EXPECT_EQ(at(f(ones({2})), 1), 2);
    EXPECT_EQ(f.stats().eager_fallbacks, 1);
    w = Tensor();
    EXPECT_EQ(freed, 1) << "while the compiled function lives";
  }
  EXPECT_EQ(freed, 1);
}

TEST(CapturedVariable, ThatAnotherBranchReadsMayBeFreed) {
  static float bytes[1] = {3};
  Tensor w = from_blob(bytes, {1}, kFloat32);
  auto f = compile([&](Tensor x) { return x.size(0) > 4 ? x * w : x; });
  EXPECT_EQ(at(f(ones({8})), 0), 3);
  w.release_storage();
  EXPECT_EQ(at(f(ones({2})), 0), 1);
  EXPECT_EQ(error_of([&] { f(ones({8})); }).code(), ErrorCode::StorageFreed);
}

TEST(CapturedVariable, AVectorThatGrowsLeavesRoomForFurtherSpecializations) {
  std::vector<Tensor> all{full({1}, 2.0)};
  auto f = compile([&](Tensor x) { return x * all[0]; }, {.max_specializations = 3});
  for (int i = 0; i < 40; ++i) {
    for (int n = 0; n < 20; ++n) EXPECT_EQ(at(f(ones({1})), 0), 2);
    all.push_back(ones({1}));
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_EQ(f.stats().specializations, 1);
}

TEST(CapturedVariable, MadeAnewForEveryCallIsBounded) {
  std::vector<Tensor> state{ones({1})};
  auto f = compile([&](Tensor x) { return std::vector<Tensor>{state[0] + x}; }, {.max_specializations = 5});
  for (int i = 0; i < 30; ++i) {
    state = f(ones({1}));
    EXPECT_EQ(at(state[0], 0), static_cast<float>(i + 2));
  }
  EXPECT_LE(f.stats().compilations, 5);
}

TEST(ChangedVariable, ManyKindsOfCallsThatCannotBeCompiled) {
  auto f = compile([](Tensor x, double k) { return x * (x.sum().item<double>() + k); }, {.max_specializations = 4});
  int traces = static_cast<int>(counters().traces.value());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(at(f(ones({1}), i), 0), 1.0f + static_cast<float>(i));
  EXPECT_LE(static_cast<int>(counters().traces.value()) - traces, 4 + 8)
      << "a trace of f for each of the first, and those of eager operators";
  EXPECT_EQ(f.stats().eager_fallbacks, 20);
}

TEST(ChangedVariable, HeldByTheFunctionItself) {
  auto counter = compile([n = 0](Tensor x) mutable { return x * static_cast<double>(++n); });
  struct Dice {
    std::minstd_rand engine{7};
    Tensor operator()(Tensor x) { return x * static_cast<double>(engine() % 1000); }
  };
  auto dice = compile(Dice{});
  Dice twin;
  for (int i = 1; i < 5; ++i) {
    EXPECT_EQ(at(counter(ones({1})), 0), static_cast<float>(i));
    EXPECT_EQ(at(dice(ones({1})), 0), at(twin(ones({1})), 0));
  }
  EXPECT_NE(counter.stats().last_fallback_reason.find("changes a value that it holds"), std::string::npos);
  auto inner = compile([n = 0](Tensor x) mutable { return x * static_cast<double>(++n); });
  auto outer = compile([&](Tensor x) { return inner(x) + 1.0; });
  for (int i = 1; i < 4; ++i) EXPECT_EQ(at(outer(ones({1})), 0), 1.0f + static_cast<float>(i));
}

TEST(CapturedVariable, HandlesComeAndGoInOtherThreads) {
  Tensor w = full({4}, 2.0);
  auto f = compile([&](Tensor x) { return x * w; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        if (t % 2) {
          EXPECT_EQ(at(f(ones({4})), 3), 2);
        } else {
          Tensor copy = w, other = std::move(copy);
          copy = other;
          EXPECT_TRUE(copy.is_same(w));
        }
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(f.stats().compilations, 1);
}

}  // namespace
}  // namespace reprise::test
