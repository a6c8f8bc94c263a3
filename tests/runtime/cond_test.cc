// cond: a branch on a tensor's value, eagerly and compiled.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "device/null/null_device.h"
#include "reprise/reprise.h"
#include "tests/runtime/scene.h"

namespace reprise {
namespace {

std::string shown(const Tensor& t) { return t.defined() ? test::show(t) : "undefined"; }
std::string shown(const std::vector<Tensor>& all) {
  std::string s;
  for (const Tensor& t : all) s += shown(t) + "\n";
  return s;
}

Tensor ramp(std::int64_t n) { return arange(n, {.dtype = kFloat32}); }
Tensor flag(bool b) { return full({}, b, {.dtype = kBool}); }

/// Eager and compiled (in every mode) give the same for these arguments, one after another; then how the compiled
/// function served them.
using Program = std::vector<Tensor> (*)(std::vector<Tensor>);
void same(const char* what, Program body, const std::vector<std::vector<Tensor>>& calls,
          std::int64_t specializations = 1) {
  for (const char* mode : {"full", "no-fuse", "interpret"}) {
    auto f = compile(body, {.name = "f", .mode = mode});
    for (std::size_t i = 0; i < calls.size(); ++i) {
      std::vector<Tensor> mine, its;
      for (const Tensor& t : calls[i]) mine.push_back(t.clone()), its.push_back(t.clone());
      const std::vector<Tensor> want = body(mine), got = f(its);
      const std::string at = std::string(what) + ", mode " + mode + ", call " + std::to_string(i);
      EXPECT_EQ(shown(want), shown(got)) << at;
      EXPECT_EQ(shown(mine), shown(its)) << at << ": arguments";
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << what << ", mode " << mode << ": " << f.stats().last_fallback_reason;
    EXPECT_EQ(f.stats().specializations, specializations) << what << ", mode " << mode << "\n" << f.explain();
  }
}

TEST(Cond, TakesOneBranchOrTheOther) {
  same("doubles what is positive",
       [](std::vector<Tensor> a) -> std::vector<Tensor> {
         return {cond(
             a[0].sum() > 0, [](const Tensor& x) { return x * 2 + 1; }, [](const Tensor& x) { return -x; }, a[0])};
       },
       {{ramp(4)}, {-ramp(4)}, {ramp(6)}, {-ramp(6)}, {ramp(4)}});
  same("a flag that is an argument",
       [](std::vector<Tensor> a) -> std::vector<Tensor> {
         return {cond(
             a[1], [&] { return a[0].exp(); }, [&] { return a[0].sin(); })};
       },
       {{ramp(4), flag(true)}, {ramp(4), flag(false)}, {ramp(5), flag(true).view({1}).view({})}});
}

TEST(Cond, StructuresOfResults) {
  struct Parts {
    Tensor a;
    std::vector<Tensor> more;
  };
  auto f = [](Tensor x) {
    const Tensor p = x.select(0, 0) > 0;
    auto [lo, hi] = cond(
        p, [&] { return std::tuple(x + 1, x.sum()); }, [&] { return std::tuple(x * 3, x.prod()); });
    Parts q = cond(
        p,
        [&] {
          return Parts{x.exp(), {x, Tensor(), hi}};
        },
        [&] {
          return Parts{hi + x, {x.flip({0}), Tensor(), lo.sum()}};
        });
    return std::tuple(lo, hi, q.a, q.more[0], q.more[1].defined(), q.more[2]);
  };
  auto c = compile(f);
  for (Tensor x : {ramp(3) + 1, ramp(3) - 2, ramp(5) + 1}) {
    auto want = f(x), got = c(x);
    EXPECT_EQ(shown(std::get<0>(want)), shown(std::get<0>(got)));
    EXPECT_EQ(shown(std::get<1>(want)), shown(std::get<1>(got)));
    EXPECT_EQ(shown(std::get<2>(want)), shown(std::get<2>(got)));
    EXPECT_EQ(shown(std::get<3>(want)), shown(std::get<3>(got)));
    EXPECT_EQ(std::get<4>(want), std::get<4>(got));
    EXPECT_EQ(shown(std::get<5>(want)), shown(std::get<5>(got)));
  }
  EXPECT_EQ(c.stats().eager_fallbacks, 0) << c.stats().last_fallback_reason;
}

TEST(Cond, ABoolDecidesAtOnce) {
  auto f = compile([](Tensor x, bool up) {
    return cond(
        x.size(0) > 3, [&] { return x + 1; },
        [&] {
          return cond(
              up, [&] { return x * 2; }, [&] { return x * 3; });
        });
  });
  EXPECT_EQ(f(ramp(5), true).sum().item<float>(), 15);
  EXPECT_EQ(f(ramp(2), true).sum().item<float>(), 2);
  EXPECT_EQ(f(ramp(2), false).sum().item<float>(), 3);
  EXPECT_EQ(f.explain().find("cond("), std::string::npos);
}

// A branch that gives what it was given, or a view of it, gives a copy: no result shares memory with anything.
TEST(Cond, ResultsAreTensorsOfTheirOwn) {
  Program body = [](std::vector<Tensor> a) -> std::vector<Tensor> {
    auto [same, view, row] = cond(
        a[1], [&] { return std::tuple(a[0], a[0].t(), a[0].select(0, 0)); },
        [&] {
          Tensor y = a[0] + 1;
          return std::tuple(y, y.t(), y.select(0, 1));
        });
    same.add_(1), view.mul_(2), row.zero_();
    return {same, view, row};
  };
  const Tensor x = ramp(9).view({3, 3});
  same("results", body, {{x, flag(true)}, {x, flag(false)}});
}

TEST(Cond, WritesOfTheBranchThatIsTakenAlone) {
  same(
      "a part of an argument",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        cond(
            a[1], [&] { a[0].select(0, 1).add_(10); }, [&] { a[0].mul_(2); });
        return {a[0].sum()};
      },
      {{ramp(12).view({3, 4}), flag(true)}, {ramp(12).view({3, 4}), flag(false)}, {ramp(20).view({5, 4}), flag(true)}});
  same("one branch writes, the other reads",
       [](std::vector<Tensor> a) -> std::vector<Tensor> {
         Tensor y = cond(
             a[2], [&] { return a[0].add_(a[1]).sum(); }, [&] { return a[0].sum() + a[1].sum(); });
         return {y, a[0] * 1};
       },
       {{ramp(4), ramp(4), flag(true)}, {ramp(4), ramp(4), flag(false)}});
  same("a view of an intermediate, seen later through its base",
       [](std::vector<Tensor> a) -> std::vector<Tensor> {
         Tensor base = a[0] * 2, row = base.select(0, 1);
         cond(
             a[1], [&] { row.fill_(7); }, [&] { row.neg_(); });
         return {base, row};
       },
       {{ramp(12).view({3, 4}), flag(true)}, {ramp(12).view({3, 4}), flag(false)}});
  same("what is written decides the next",
       [](std::vector<Tensor> a) -> std::vector<Tensor> {
         for (int i = 0; i < 3; ++i)
           cond(
               a[0].sum() > 20, [&] { a[0].sub_(5); }, [&] { a[0].mul_(3); });
         return {a[0].max()};
       },
       {{ramp(4)}, {ramp(4) * 10}, {ramp(7)}});
  same("the flag itself",
       [](std::vector<Tensor> a) -> std::vector<Tensor> {
         cond(
             a[1], [&] { a[1].fill_(false), a[0].add_(1); }, [&] { a[1].fill_(true), a[0].sub_(1); });
         return {a[1].clone()};
       },
       {{ramp(4), flag(true)}, {ramp(4), flag(false)}});
}

// Parts that a branch writes are what it gives, not the tensors that they are of.
TEST(Cond, WritesOfParts) {
  const auto both = [](auto make) {
    return std::vector<std::vector<Tensor>>{
        {make(5), flag(true)}, {make(5), flag(false)}, {make(7), flag(true)}, {make(4), flag(false)}};
  };
  const auto rows = both([](std::int64_t n) { return ramp(n * 4).view({n, 4}); });
  same(
      "rows of one branch",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        cond(
            a[1], [&] { a[0].select(0, 1).add_(10), a[0].slice(1, 2, 4).mul_(3), a[0].select(0, 1).sub_(1); }, [&] {});
        return {a[0].sum(0)};
      },
      rows);
  same(
      "the same rows of both",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        cond(
            a[1], [&] { a[0].select(0, -1).copy_(a[0].select(0, 0)); }, [&] { a[0].select(0, -1).fill_(7); });
        return {a[0] * 1};
      },
      rows);
  same(
      "others of each",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        cond(
            a[1], [&] { a[0].select(0, 0).mul_(2); }, [&] { a[0].select(0, 1).mul_(3), a[0].select(0, 2).fill_(1); });
        return {};
      },
      rows);
  same(
      "that overlap",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        cond(
            a[1], [&] { a[0].slice(0, 0, 2).mul_(2); }, [&] { a[0].slice(0, 1, 3).mul_(3); });
        return {a[0].select(1, 0)};
      },
      rows);
  same(
      "one after another",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        cond(
            a[1],
            [&] { a[0].select(0, 0).add_(1), a[0].select(0, 1).add_(a[0].select(0, 0)), a[0].diagonal().fill_(2); },
            [&] {});
        return {};
      },
      rows);
  same(
      "a part of a part",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        cond(
            a[1], [&] { a[0].slice(0, 1, 3).select(1, 0).neg_(); }, [&] {});
        return {a[0].slice(0, 1, 3)};
      },
      rows);
  same(
      "of a view from outside",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        Tensor turned = a[0].t().slice(1, 1);
        cond(
            a[1], [&] { turned.select(0, 1).neg_(); }, [&] { turned.select(0, 0).fill_(1); });
        return {turned.sum()};
      },
      rows);
  same(
      "all of it, or a part",
      [](std::vector<Tensor> a) -> std::vector<Tensor> {
        cond(
            a[1], [&] { a[0].select(0, 0).mul_(2); }, [&] { a[0].mul_(3); });
        return {};
      },
      rows);
  auto f = compile([](Tensor cache, Tensor row, Int at, Tensor p) {
    cond(
        p, [&] { cache.select(0, at).copy_(row); }, [&] {});
  });
  Tensor cache = zeros({64, 256}), row = ones({256});
  f(cache, row, 3, flag(true)), f(cache, row, 5, flag(false)), f(cache, row, 9, flag(true));
  EXPECT_EQ(cache.sum().item<float>(), 512);
  EXPECT_EQ(cache.select(0, 9).sum().item<float>(), 256);
  EXPECT_LE(f.stats().copied_bytes, 3 * 3 * 256 * 4);
  EXPECT_EQ(f.stats().compilations, 1);
}

// What the branches write and read is one memory under two names: a view and its base, parts that overlap, other
// handles.
TEST(Cond, OneMemoryUnderTwoNames) {
  using Both = void (*)(Tensor x, Tensor p);
  const std::pair<const char*, Both> programs[] = {
      {"x, its transpose",
       [](Tensor x, Tensor p) {
         Tensor y = x.t();
         cond(
             p, [&] { x.mul_(2); }, [&] { y.mul_(3); });
       }},
      {"x and its transpose",
       [](Tensor x, Tensor p) {
         Tensor y = x.t();
         cond(
             p, [&] { x.mul_(2), y.add_(1); }, [&] { y.sub_(x.t()); });
       }},
      {"a part, x",
       [](Tensor x, Tensor p) {
         Tensor y = x.slice(0, 0, 1);
         cond(
             p, [&] { y.mul_(2); }, [&] { x.mul_(3); });
       }},
      {"x and a part",
       [](Tensor x, Tensor p) {
         Tensor y = x.slice(0, 0, 2);
         cond(
             p, [&] { x.add_(1), y.mul_(2); }, [&] {});
       }},
      {"a part, another",
       [](Tensor x, Tensor p) {
         Tensor y = x.slice(0, 0, 1), z = x.slice(0, 1, 2);
         cond(
             p, [&] { y.mul_(2); }, [&] { z.mul_(3); });
       }},
      {"parts that overlap",
       [](Tensor x, Tensor p) {
         Tensor y = x.slice(1, 0, 2), z = x.slice(1, 1, 3);
         cond(
             p, [&] { y.mul_(2); }, [&] { z.mul_(3); });
       }},
      {"parts that overlap, of one branch",
       [](Tensor x, Tensor p) {
         Tensor y = x.slice(1, 0, 2), z = x.slice(1, 1, 3);
         cond(
             p, [&] { y.mul_(2), z.add_(y); }, [&] { z.mul_(3); });
       }},
      {"parts made in the branches",
       [](Tensor x, Tensor p) {
         cond(
             p, [&] { x.slice(1, 0, 2).mul_(2); }, [&] { x.slice(1, 1, 3).mul_(3); });
       }},
      {"x, flat",
       [](Tensor x, Tensor p) {
         Tensor y = x.view({-1});
         cond(
             p, [&] { x.mul_(2); }, [&] { y.mul_(3); });
       }},
      {"flat, by place",
       [](Tensor x, Tensor p) {
         Tensor y = x.view({-1}), z = x.as_strided({2}, {2}, 1);
         cond(
             p, [&] { y.mul_(2); }, [&] { z.mul_(3), y.add_(1); });
       }},
      {"windows over each other",
       [](Tensor x, Tensor p) {
         Tensor w = (x.view({-1}) + 0).unfold(0, 3, 1);
         cond(
             p, [&] { w.select(0, 0).add_(1); }, [&] { w.select(0, 1).mul_(2); });
         x.view({-1}).slice(0, 0, 3).copy_(w.select(0, 1));
       }},
      {"a diagonal, a row",
       [](Tensor x, Tensor p) {
         Tensor d = x.diagonal(), r = x.select(0, 1);
         cond(
             p, [&] { d.mul_(2); }, [&] { r.mul_(3); });
         x.add_(1);
       }},
      {"x, none; then its transpose",
       [](Tensor x, Tensor p) {
         Tensor y = x.t();
         cond(
             p, [&] { x.mul_(2); }, [&] {});
         y.add_(1);
       }},
      {"one writes, the other reads",
       [](Tensor x, Tensor p) {
         Tensor y = x.t();
         Tensor r = cond(
             p,
             [&] {
               x.mul_(2);
               return x.sum();
             },
             [&] { return y.select(0, 0).sum(); });
         x.add_(r);
       }},
      {"one writes and reads",
       [](Tensor x, Tensor p) {
         Tensor y = x.t();
         Tensor r = cond(
             p,
             [&] {
               x.mul_(2);
               return y.select(0, 0).sum();
             },
             [&] { return y.sum(); });
         x.add_(r);
       }},
      {"an intermediate",
       [](Tensor x, Tensor p) {
         Tensor z = x + 1, y = z.t();
         cond(
             p, [&] { z.mul_(2); }, [&] { y.mul_(3); });
         x.copy_(z);
       }},
      {"parts of an intermediate",
       [](Tensor x, Tensor p) {
         Tensor z = x + 1, a = z.slice(0, 0, 2), b = z.slice(1, 1, 2).t();
         cond(
             p, [&] { a.mul_(2); }, [&] { b.mul_(3), a.sub_(1); });
         x.copy_(z + a.sum());
       }},
      {"nested",
       [](Tensor x, Tensor p) {
         Tensor y = x.t();
         cond(
             p,
             [&] {
               cond(
                   p, [&] { x.mul_(2); }, [&] { y.add_(1); });
             },
             [&] { y.mul_(3); });
       }},
      {"nested, both",
       [](Tensor x, Tensor p) {
         Tensor y = x.t(), q = x.sum() > 20;
         cond(
             p,
             [&] {
               x.add_(1);
               cond(
                   q, [&] { x.mul_(2); }, [&] { y.add_(1); });
               y.mul_(2);
             },
             [&] {
               cond(
                   q, [&] { y.mul_(3); }, [&] { x.sub_(y.t()); });
             });
       }},
      {"one after another",
       [](Tensor x, Tensor p) {
         Tensor y = x.t();
         for (int i = 0; i < 3; ++i)
           cond(
               x.sum() > 40, [&] { x.sub_(5); }, [&] { y.mul_(3); });
       }},
      {"detach",
       [](Tensor x, Tensor p) {
         Tensor y = x.detach();
         cond(
             p, [&] { x.mul_(2); }, [&] { y.mul_(3); });
       }},
      {"alias",
       [](Tensor x, Tensor p) {
         Tensor y = x.alias();
         cond(
             p, [&] { x.mul_(2); }, [&] { y.mul_(3); });
       }},
      {"what set_ has taken",
       [](Tensor x, Tensor p) {
         Tensor y = x + 1;
         y.set_(x);
         cond(
             p, [&] { x.mul_(2); }, [&] { y.mul_(3); });
       }},
      {"a view of a view, written by an operator of several",
       [](Tensor x, Tensor p) {
         Tensor y = x.t().slice(0, 1).select(1, 0), i = arange(1);
         cond(
             p, [&] { y.index_put_({i}, ones({1})); }, [&] { x.masked_fill_(x > 2, -1); });
       }},
  };
  for (const auto& [what, body] : programs) {
    std::vector<std::vector<Tensor>> calls;
    for (const int n : {3, 4})
      for (const bool p : {true, false}) calls.push_back({ramp(n * 3).view({n, 3}), flag(p)});
    for (const char* mode : {"full", "interpret"}) {
      auto f = compile(body, {.mode = mode});
      for (const auto& call : calls) {
        Tensor want = call[0].clone(), got = call[0].clone();
        body(want, call[1]), f(got, call[1]);
        EXPECT_EQ(shown(want), shown(got)) << what << ", mode " << mode << "\n" << f.explain();
      }
      EXPECT_EQ(f.stats().eager_fallbacks, 0) << what << ": " << f.stats().last_fallback_reason;
    }
  }
}

TEST(Cond, ArgumentsOnOneMemory) {
  auto body = [](Tensor x, Tensor y, Tensor p) {
    Tensor r = cond(
        p,
        [&] {
          x.mul_(2);
          return y.sum();
        },
        [&] {
          y.mul_(3);
          return x.sum();
        });
    return r + y;
  };
  using Pair = std::pair<Tensor, Tensor>;
  const std::pair<const char*, Pair (*)(Tensor)> pairs[] = {
      {"one twice", [](Tensor m) { return Pair(m, m); }},
      {"transposed", [](Tensor m) { return Pair(m, m.t()); }},
      {"parts that overlap", [](Tensor m) { return Pair(m.slice(0, 0, 3), m.slice(0, 1, 4)); }},
      {"parts", [](Tensor m) { return Pair(m.slice(0, 0, 2), m.slice(0, 2, 4)); }},
      {"one expanded", [](Tensor m) { return Pair(m.select(0, 1), m.slice(0, 1, 2)); }},
      {"apart", [](Tensor m) { return Pair(m, m.clone()); }},
  };
  auto f = compile(body);
  Tensor held;
  auto captured = compile([&](Tensor y, Tensor p) {
    return cond(
               p,
               [&] {
                 held.mul_(2);
                 return y.sum();
               },
               [&] {
                 y.mul_(3);
                 return held.sum();
               }) +
           y;
  });
  for (int round = 0; round < 2; ++round)
    for (const auto& [what, make] : pairs)
      for (const bool p : {true, false}) {
        Tensor a = ramp(16).view({4, 4}), b = a.clone(), c = a.clone();
        auto [x, y] = make(a);
        auto [x2, y2] = make(b);
        auto [x3, y3] = make(c);
        held = x3;
        const std::string want = shown(body(x, y, flag(p)));
        EXPECT_EQ(want, shown(f(x2, y2, flag(p)))) << what;
        EXPECT_EQ(shown(a), shown(b)) << what;
        EXPECT_EQ(want, shown(captured(y3, flag(p)))) << what << ", captured";
        EXPECT_EQ(shown(a), shown(c)) << what << ", captured";
      }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_EQ(captured.stats().eager_fallbacks, 0) << captured.stats().last_fallback_reason;
}

// A captured tensor that a branch gives back, and one that decides, are handles like any.
TEST(Cond, CapturedTensorsAsResultsAndPredicates) {
  Tensor w = ramp(4), p = flag(true);
  auto f = [&](Tensor x) {
    return cond(
        p, [&] { return std::pair(w, x + w); }, [&] { return std::pair(w.clone(), w); });
  };
  auto c = compile(f);
  for (bool b : {true, false, true}) {
    p.fill_(b);
    auto want = f(ramp(4)), got = c(ramp(4));
    EXPECT_EQ(shown({want.first, want.second}), shown({got.first, got.second}));
    EXPECT_FALSE(got.first.shares_storage_with(w) || got.second.shares_storage_with(w));
  }
  EXPECT_EQ(c.stats().eager_fallbacks, 0) << c.stats().last_fallback_reason;
  EXPECT_EQ(c.stats().specializations, 1);
}

TEST(Cond, CapturedTensorsAndNesting) {
  Tensor w = ramp(4), state = zeros({4});
  auto f = [&](Tensor x) {
    return cond(
        x.sum() > 0,
        [&] {
          state.add_(x);
          return cond(
              x.max() > 5, [&] { return x * w; },
              [&] { return cond((x * w).sum() > 3, [&] { return w - x; }, [&] { return state * 1; }); });
        },
        [&] { return x + w; });
  };
  auto c = compile(f);
  std::vector<std::string> want, got;
  for (Tensor x : {ramp(4), ramp(4) * 10, -ramp(4), ramp(4) * 0.1, ramp(4)}) {
    state.zero_();
    want.push_back(shown(f(x)) + shown(state));
    state.zero_();
    got.push_back(shown(c(x)) + shown(state));
  }
  EXPECT_EQ(want, got);
  w = ramp(4) * 2;
  state = ones({4});
  EXPECT_EQ(shown(f(ramp(4) * 10)), shown(c(ramp(4) * 10)));
  EXPECT_EQ(c.stats().eager_fallbacks, 0) << c.stats().last_fallback_reason;
  EXPECT_EQ(c.stats().specializations, 1);
}

// An index out of range in the branch that is not taken is nobody's; in the one that is, it is raised, and nothing has
// changed.
TEST(Cond, OnlyTheBranchThatIsTakenRaises) {
  auto body = [](Tensor x, Tensor rows, Tensor p) {
    cond(
        p, [&] { x.copy_(x.index_select(0, rows)); }, [&] { x.add_(1); });
    return x * 2;
  };
  auto f = compile(body);
  const Tensor bad = tensor_of<std::int64_t>({0, 1, 9, 2}, {4});
  for (int round = 0; round < 2; ++round) {
    Tensor x = ramp(4);
    EXPECT_EQ(shown(f(x, bad, flag(false))), shown(body(ramp(4), bad, flag(false))));
    EXPECT_EQ(shown(x), shown(ramp(4) + 1));
    const std::string before = shown(x);
    auto e = test::caught([&] { f(x, bad, flag(true)); });
    ASSERT_TRUE(e);
    EXPECT_EQ(e->code(), ErrorCode::IndexOutOfRange);
    EXPECT_EQ(shown(x), before);
    EXPECT_EQ(shown(f(x, arange(4), flag(true))), shown(x * 2));
  }
  EXPECT_EQ(f.stats().specializations, 1);
}

// A branch that may fail after it has written something: what it writes is no argument's memory.
TEST(Cond, ABranchThatFailsHalfWayLeavesArgumentsAsTheyWere) {
  auto body = [](Tensor x, Tensor t, Tensor rows, Tensor p) {
    auto [a, b] = cond(
        p, [&] { return std::tuple(t * 2, t.index_select(0, rows)); }, [&] { return std::tuple(t + 1, t + 2); });
    x.copy_(a + b);
    x.slice(0, 0, 2).copy_(b.slice(0, 0, 2));
  };
  auto f = compile(body);
  Tensor x = ramp(4);
  f(x, ramp(4), arange(4), flag(true));
  const std::string before = shown(x);
  auto e = test::caught([&] { f(x, ramp(4) * 7, tensor_of<std::int64_t>({0, 1, 2, -9}, {4}), flag(true)); });
  ASSERT_TRUE(e);
  EXPECT_EQ(shown(x), before);
}

TEST(Cond, DtypesLayoutsAndSizes) {
  for (DType t : {kFloat32, kFloat64, kBFloat16, kFloat16, kInt64, kInt32, kUInt8, kBool, kFloat8E5M2}) {
    Program body = [](std::vector<Tensor> a) -> std::vector<Tensor> {
      return {cond(
          a[1],
          [&] {
            return cat({a[0], a[0]}, 0);
          },
          [&] {
            return a[0].expand({2, 3, 4}).reshape({6, 4});
          })};
    };
    const Tensor x = ramp(12).view({3, 4}).to(t);
    same(dtype_name(t).data(), body, {{x, flag(true)}, {x, flag(false)}});
  }
  Program views = [](std::vector<Tensor> a) -> std::vector<Tensor> {
    Tensor x = a[0].t(), y = a[0].slice(1, 1, 3), z = a[0].unsqueeze(0).expand({2, a[0].size(0), 4});
    return {cond(
        a[1], [&] { return x.matmul(y) + z.sum(); },
        [&] { return x.reshape({-1}).sum() * x.slice(1, 0, 2).matmul(y.slice(0, 0, 2)); })};
  };
  same("views from outside", views,
       {{ramp(12).view({3, 4}), flag(true)},
        {ramp(12).view({3, 4}), flag(false)},
        {ramp(20).view({5, 4}), flag(false)}});
  Program fused = [](std::vector<Tensor> a) -> std::vector<Tensor> {
    Tensor y = (a[0] * 2).t(), z = cat({a[0], a[0] + 1}, 1);
    return {cond(
        a[1], [&] { return y.reshape({-1}) + z.slice(1, 0, a[0].size(1)).reshape({-1}); },
        [&] { return softmax(z, 1).slice(1, 0, a[0].size(1)).t().reshape({-1}); })};
  };
  same("values that stand nowhere yet", fused,
       {{ramp(12).view({3, 4}), flag(true)},
        {ramp(12).view({3, 4}), flag(false)},
        {ramp(0).view({0, 4}), flag(true)},
        {ramp(4).view({1, 4}), flag(false)}},
       3);
}

TEST(Cond, SizesThatAreEqualInThisCallAreGuarded) {
  auto body = [](Tensor x, Tensor y, Tensor p) {
    return cond(
        p, [&] { return x + 1; }, [&] { return y * 2; });
  };
  auto f = compile(body);
  for (auto [n, m, p] :
       {std::tuple(4, 4, true), std::tuple(5, 5, false), std::tuple(4, 6, true), std::tuple(4, 6, false)})
    EXPECT_EQ(shown(body(ramp(n), ramp(m), flag(p))), shown(f(ramp(n), ramp(m), flag(p)))) << n << " " << m;
  EXPECT_EQ(f.stats().eager_fallbacks, 2);
  ASSERT_EQ(f.stats().fallbacks.size(), 1u);
  EXPECT_STREQ(f.stats().fallbacks[0].reason, "branches_differ");
  EXPECT_NE(
      f.stats().last_fallback_reason.find("result 0 is float32 [4] where it is true, and float32 [6] where it is not"),
      std::string::npos)
      << f.stats().last_fallback_reason;
}

// What a trace cannot tell of both branches is served eagerly, with a reason.
TEST(Cond, WhatIsServedEagerly) {
  Tensor outside;
  std::vector<Tensor> list;
  using F = std::function<Tensor(Tensor, Tensor)>;
  const std::vector<std::pair<const char*, F>> all = {
      {"branch_changes",
       [&](Tensor x, Tensor p) {
         return cond(
             p,
             [&] {
               outside = x;
               return x + 1;
             },
             [&] { return x + 2; });
       }},
      {"branch_changes",
       [](Tensor x, Tensor p) {
         Tensor y = x * 2, z = x * 3;
         Tensor r = cond(
             p,
             [&] {
               std::swap(y, z);
               return x + 1;
             },
             [&] { return x + 2; });
         return r + y;
       }},
      {"branch_changes",
       [](Tensor x, Tensor p) {
         Tensor y;
         Tensor r = cond(
             p,
             [&] {
               y = x * 5;
               return x + 1;
             },
             [&] {
               y = x;
               return x + 2;
             });
         return r + y;
       }},
      {"branch_changes",
       [](Tensor x, Tensor p) {
         std::vector<Tensor> v;
         Tensor r = cond(
             p,
             [&] {
               v.push_back(x);
               return x + 1;
             },
             [&] { return x + 2; });
         return v.empty() ? r : r + v[0];
       }},
      {"branch_changes",
       [](Tensor x, Tensor p) {
         Tensor y = x.view({2, 2}) + 0;
         cond(
             p, [&] { y.transpose_(0, 1); }, [&] {});
         return y + 1;
       }},
      {"branch_changes",
       [](Tensor x, Tensor p) {
         return cond(
             p, [&] { return x + rand_like(x) * 0; }, [&] { return x + 2; });
       }},
      {"branches_differ",
       [](Tensor x, Tensor p) {
         return cond(
             p, [&] { return x.to(kFloat64); }, [&] { return x + 2; });
       }},
      {"branches_differ",
       [](Tensor x, Tensor p) {
         return cond(
             p, [&] { return std::vector{x}; },
             [&] {
               return std::vector{x, x};
             })[0];
       }},
      {"branches_differ",
       [](Tensor x, Tensor p) {
         return x * cond(
                        p, [&] { return Int(2); }, [&] { return x.size(0); });
       }},
      {"branch_throws",
       [](Tensor x, Tensor p) {
         return cond(
             p, [&] { return x + 1; },
             [&] {
               return x.view({3, 5}).sum(0) + x;
             });
       }},
      {"branch_throws",
       [](Tensor x, Tensor p) {
         return cond(
             p, [&]() -> Tensor { return x + 1; }, [&]() -> Tensor { throw std::runtime_error("no"); });
       }},
      {"reads_value",
       [](Tensor x, Tensor p) {
         return cond(
             p, [&] { return x * x.sum().item<float>(); }, [&] { return x + 2; });
       }},
  };
  for (const auto& [reason, f] : all) {
    auto c = compile(f);
    for (int round = 0; round < 2; ++round) {
      Tensor x = ramp(4), y = ramp(4);
      EXPECT_EQ(shown(f(x, flag(true))), shown(c(y, flag(true)))) << reason;
      EXPECT_EQ(shown(x), shown(y)) << reason;
    }
    ASSERT_EQ(c.stats().fallbacks.size(), 1u) << reason << "\n" << c.explain();
    EXPECT_STREQ(c.stats().fallbacks[0].reason, reason) << c.stats().last_fallback_reason;
    outside = Tensor();
  }
  // A branch's own variables are its own.
  auto own = compile([](Tensor x, Tensor p) {
    return cond(
        p,
        [&] {
          Tensor y = x, z;
          z = y;
          y = y + z;
          std::vector<Tensor> v{y, x};
          v.push_back(z);
          std::swap(v[0], v[2]);
          return v[0] + v[2];
        },
        [&] { return x + 2; });
  });
  EXPECT_EQ(own(ramp(4), flag(true)).sum().item<float>(), 18);
  EXPECT_EQ(own.stats().eager_fallbacks, 0) << own.stats().last_fallback_reason;
}

TEST(Cond, MistakesAreTheSameEagerlyAndCompiled) {
  auto body = [](Tensor x, Tensor p) {
    return cond(
        p, [&] { return x + 1; }, [&] { return x; });
  };
  auto f = compile(body);
  for (const Tensor& p : {ones({}), ones({2}, {.dtype = kBool}), Tensor(), zeros({0}, {.dtype = kBool})}) {
    const auto want = test::caught([&] { body(ramp(3), p); }), got = test::caught([&] { f(ramp(3), p); });
    ASSERT_TRUE(want && got) << shown(p);
    EXPECT_EQ(error_code_name(want->code()), error_code_name(got->code()));
    EXPECT_EQ(want->message(), got->message());
  }
}

TEST(Cond, SettingsSealingAndExplain) {
  auto f = compile(
      [](Tensor x, Tensor w, Tensor p) {
        AutocastScope cast(kBFloat16);
        NameScope head("head");
        return cond(
            p,
            [&] {
              NameScope part("full");
              return x.matmul(w);
            },
            [&] {
              NameScope part("part");
              return x.slice(1, 0, 2).matmul(w.slice(0, 0, 2));
            });
      },
      {.name = "pick", .arguments = {"x", "w", "p"}});
  const Tensor x = ramp(12).view({3, 4}), w = ramp(20).view({4, 5});
  EXPECT_EQ(f(x, w, flag(true)).dtype(), kBFloat16);
  f.seal();
  f(x, w, flag(false));
  f(ramp(20).view({5, 4}), w, flag(false));
  const std::string text = f.explain();
  for (const char* what : {" = cond(%2, region(%0 \"x\": ", "head.full", "head.part", " if in2", " if not in2"})
    EXPECT_NE(text.find(what), std::string::npos) << what << "\n" << text;
}

// A device with memory of its own runs both branches and chooses; what may fail must not run there.
TEST(Cond, DevicesChooseAmongBoth) {
  auto body = [](Tensor x, Tensor p) {
    cond(
        p, [&] { x.mul_(2); }, [&] { x.select(0, 0).fill_(9); });
    return cond(
        p, [&] { return x + 1; }, [&] { return -x; });
  };
  auto f = compile(body);
  for (bool p : {true, false, true}) {
    Tensor here = ramp(4), there = ramp(4).to(Device::null());
    const Tensor want = body(here, flag(p)), got = f(there, flag(p).to(Device::null()));
    EXPECT_EQ(shown(want), shown(got.to(Device::cpu())));
    EXPECT_EQ(shown(here), shown(there.to(Device::cpu())));
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_EQ(f.stats().specializations, 1);
  auto fails = compile([](Tensor x, Tensor i, Tensor p) {
    return cond(
        p, [&] { return x.index_select(0, i); }, [&] { return x + 1; });
  });
  const Tensor on = ramp(4).to(Device::null()), at = arange(4).to(Device::null());
  EXPECT_EQ(shown(fails(on, at + 9, flag(false).to(Device::null())).to(Device::cpu())), shown(ramp(4) + 1));
  ASSERT_EQ(fails.stats().fallbacks.size(), 1u);
  EXPECT_STREQ(fails.stats().fallbacks[0].reason, "branch_may_fail");
}

}  // namespace
}  // namespace reprise
