// Writes through views, and what becomes of the arguments: as eager, compiled, call after call.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/knobs.h"
#include "tests/runtime/scene.h"

namespace reprise {
namespace {

using namespace test;

TEST(Views, WhatEagerRefusesIsRefused) {
  const std::pair<const char*, Body> bodies[] = {
      {"windows over each other",
       [](Tensors a) {
         a[0].unfold(0, 2, 1).mul_(2);
         return Tensors{};
       }},
      {"as_strided over itself",
       [](Tensors a) {
         a[0].as_strided({2, 2}, {1, 1}).mul_(2);
         return Tensors{};
       }},
      {"expanded",
       [](Tensors a) {
         a[0].slice(0, 0, 1).expand({4, a[0].size(1)}).mul_(2);
         return Tensors{};
       }},
      {"part that is expanded still",
       [](Tensors a) {
         a[0].slice(0, 0, 1).expand({4, a[0].size(1)}).slice(0, 1, 3).mul_(2);
         return Tensors{};
       }},
      {"beyond the storage", [](Tensors a) { return Tensors{a[0].as_strided({2}, {1000})}; }},
  };
  for (auto& [name, body] : bodies)
    for (const Make& make : {Make(matrix(3)), Make(inner_part), Make(transposed)}) {
      auto f = compile(body, {.name = name});
      for (std::int64_t n : {4, 6}) {
        Scene want = make(n), got = make(n);
        auto eager = caught([&] { body(want.args); }), compiled = caught([&] { f(got.args); });
        ASSERT_TRUE(eager && compiled) << name;
        EXPECT_EQ(eager->code(), compiled->code()) << name << ": " << compiled->what();
        EXPECT_EQ(show(want.memory), show(got.memory)) << name;
      }
      EXPECT_EQ(f.stats().eager_fallbacks, 0) << name << ": " << f.stats().last_fallback_reason;
    }
}

// Through whatever view a row is written, nothing is made of the size of the storage.
TEST(Views, APartIsWrittenInItsPlace) {
  const std::vector<std::pair<std::string, std::function<void(Tensor, Int)>>> bodies = {
      {"as_strided", [](Tensor x, Int i) { x.as_strided({x.size(1)}, {1}, i * x.size(1)).add_(1); }},
      {"a transposed column", [](Tensor x, Int i) { x.t().select(1, i).add_(1); }},
      {"another shape",
       [](Tensor x, Int i) {
         x.view({512, 2, 256}).select(0, i).add_(1);
         x.select(0, i).mul_(2);
       }},
      {"heads of a cache",
       [](Tensor x, Int i) {
         x.view({512, 8, 64}).transpose(0, 1).slice(1, i, i + 1).fill_(2);
       }},
      {"a part of a transposed diagonal", [](Tensor x, Int i) { x.t().diagonal(1).slice(0, i, i + 1).fill_(2); }},
      {"unsqueeze",
       [](Tensor x, Int i) {
         x.unsqueeze(1).select(0, i).fill_(2);
         x.select(0, i).mul_(2);
       }},
  };
  for (const auto& [name, body] : bodies) {
    auto f = compile(body);
    Tensor want = ramp(512 * 512).view({512, 512}), got = want.clone();
    release_pool();
    for (Int i : {Int(0), Int(7), Int(300)}) body(want, i), f(got, i);
    EXPECT_TRUE(equal(want, got)) << name;
    if (knobs().verify < 2) {  // what verifies a call writes nothing in place
      EXPECT_LT(stats().pool_bytes, 512 * 512) << name;
    }
    EXPECT_EQ(f.stats().copied_bytes + f.stats().eager_fallbacks, 0) << name;
  }
}

// x[i] = y writes, as in ATen; t = y makes a variable another handle, and a number is no tensor.
TEST(Views, AssignmentToAViewWrites) {
  static_assert(std::is_assignable_v<Tensor&, const Tensor&> && std::is_assignable_v<Tensor, const Tensor&> &&
                std::is_assignable_v<Tensor, double>);
  static_assert(!std::is_assignable_v<Tensor&, double> && !std::is_assignable_v<Tensor&, int> &&
                std::is_nothrow_move_assignable_v<Tensor>);
  auto body = [](Tensor x, Tensor y, Int i) {
    x[0] = y;
    x.slice(0, 1, 2) = y * 2;
    x.select(1, i) = 3.5;
    x[2][1] = i;
    Tensor z = x[1];
    z = y;
    return z;
  };
  auto f = compile(body);
  for (int i : {0, 2, 1}) {
    Tensor a = ramp(12).view({4, 3}), b = a.clone(), y = ramp(3) - 5;
    Tensor want = body(a, y, i), got = f(b, y, i);
    EXPECT_TRUE(equal(a, b));
    EXPECT_EQ(a[0][i].item<float>(), 3.5f);
    EXPECT_TRUE(want.is_same(y) && got.is_same(y));
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_EQ(caught([] { ramp(3).slice(0, 0, 2) = ramp(3); })->code(), ErrorCode::ShapeMismatch);
  EXPECT_NE(std::string(caught([] { ramp(3).slice(0, 0, 2) = ramp(3); })->what()).find("views_test"),
            std::string::npos);
}

// What is made of one argument becomes the new value of another, whose old one is read beside it.
TEST(Views, ANewValueOfOneArgumentIsMadeOfAnother) {
  auto make = [](std::int64_t n) {
    Tensor m = ramp(n * 4);
    return Scene{m, {m.as_strided({n, 2}, {2, 1}), m.slice(0, 2 * n, 4 * n).view({n, 2})}};
  };
  check("made of another", make,
        [](Tensors a) {
          Tensor x = a[0], y = a[1];
          x.select(0, 0).add_(0.25);
          x.add_(y);
          y.copy_(x);
          x.mul_(3);
          return Tensors{};
        },
        {1, 2, 5});
  auto apart = [](std::int64_t n) {
    Tensor m = ramp(n * 2), other = ramp(n * 2) * 3;
    return Scene{m, {m.view({n, 2}), other.view({n, 2})}};
  };
  check("on two storages", apart,
        [](Tensors a) {
          Tensor x = a[0], y = a[1];
          x.select(0, 0).add_(0.25);
          x.add_(y);
          y.copy_(x);
          x.cumsum_(0);
          return Tensors{};
        },
        {1, 2, 5});
}

// An elementwise operator in place, then a part of its result over another part: what is made of the old elements is
// not made again of new ones.
TEST(Views, APartThatIsReadIsMadeBeforeItsPlaceIsWritten) {
  auto make = [](std::int64_t n) {
    Tensor m = ramp(n * 2).view({n, 2});
    return Scene{m, {m}};
  };
  check("rows over rows", make,
        [](Tensors a) {
          Tensor x = a[0];
          x.mul_(0.5);
          x.narrow(0, x.size(0) / 3, x.size(0) - x.size(0) / 3).copy_(x.select(0, 0));
          return Tensors{};
        },
        {1, 2, 3, 7});
  check("twice", make,
        [](Tensors a) {
          Tensor x = a[0];
          x.mul_(0.5);
          x.slice(0, 0, x.size(0) / 2 + 1).copy_(x.select(0, -1));
          x.add_(1);
          x.slice(0, x.size(0) / 4, x.size(0)).copy_(x.select(0, 0));
          return Tensors{x.sum(0)};
        },
        {1, 2, 4, 9});
}

}  // namespace
}  // namespace reprise
