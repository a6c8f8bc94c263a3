// Variables that a compiled function assigns, call after call, as the function itself does.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reprise/reprise.h"

namespace reprise::test {
namespace {

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

}  // namespace
}  // namespace reprise::test
