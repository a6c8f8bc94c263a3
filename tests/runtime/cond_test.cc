// cond: a branch on a tensor's value, eagerly and compiled.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/runtime/branches.h"

namespace reprise::test {
namespace {

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
  BranchingProgram body = [](std::vector<Tensor> a) -> std::vector<Tensor> {
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

TEST(Cond, DtypesLayoutsAndSizes) {
  for (DType t : {kFloat32, kFloat64, kBFloat16, kFloat16, kInt64, kInt32, kUInt8, kBool, kFloat8E5M2}) {
    BranchingProgram body = [](std::vector<Tensor> a) -> std::vector<Tensor> {
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
  BranchingProgram views = [](std::vector<Tensor> a) -> std::vector<Tensor> {
    Tensor x = a[0].t(), y = a[0].slice(1, 1, 3), z = a[0].unsqueeze(0).expand({2, a[0].size(0), 4});
    return {cond(
        a[1], [&] { return x.matmul(y) + z.sum(); },
        [&] { return x.reshape({-1}).sum() * x.slice(1, 0, 2).matmul(y.slice(0, 0, 2)); })};
  };
  same("views from outside", views,
       {{ramp(12).view({3, 4}), flag(true)},
        {ramp(12).view({3, 4}), flag(false)},
        {ramp(20).view({5, 4}), flag(false)}});
  BranchingProgram fused = [](std::vector<Tensor> a) -> std::vector<Tensor> {
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

}  // namespace
}  // namespace reprise::test
