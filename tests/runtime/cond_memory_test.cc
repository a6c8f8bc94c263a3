// Branches of cond that write and read one memory under several names.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/branches.h"

namespace reprise::test {
namespace {

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

}  // namespace
}  // namespace reprise::test
