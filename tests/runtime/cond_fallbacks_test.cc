// Calls with cond that are served eagerly, mistakes, and devices that run both branches.
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "device/null/null_device.h"
#include "tests/runtime/branches.h"

namespace reprise::test {
namespace {

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
}  // namespace reprise::test
