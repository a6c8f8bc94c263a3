// Views on a storage that grows or shrinks: offsets, sizes, and who sees what was written.
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/scene.h"

namespace reprise {
namespace {

using namespace test;

TEST(Views, ResizeKeepsTheOffset) {
  check("resize_ of a slice", vector_of(2), [](Tensors a) {
    Tensor r = a[0].slice(0, 3, 6);
    r.resize_({2});
    r.fill_(9);
    return Tensors{r};
  });
  check(
      "resize_ of an argument that is a slice",
      [](std::int64_t n) {
        Tensor m = ramp(n + 4);
        return Scene{m, {m.slice(0, 3, n + 1)}};
      },
      [](Tensors a) {
        a[0].resize_({2, 1});
        a[0].fill_(9);
        return Tensors{a[0] * 2};
      });
  check("resize_ beyond the storage", vector_of(), [](Tensors a) {
    Tensor x = a[0], y = x.slice(0, 1, 3);
    y.resize_({x.size(0) + 2});
    y.slice(0, 2, x.size(0) + 2).fill_(1);
    x.add_(1);
    return Tensors{y, x};
  });
  check("resize_ of an argument beyond its storage", vector_of(),
        [](Tensors a) {
          Tensor x = a[0], y = x * 1;
          x.resize_({x.size(0) + 3});
          x.copy_(cat({y, y}).slice(0, 0, y.size(0) + 3));
          return Tensors{y};
        },
        {4, 6, 3, 9});
}

// All tensors on a storage see that it has grown, whether the function knows of them or not (the scene's memory, which
// is no argument).
TEST(Views, AStorageThatGrowsDoesForAllTensorsOnIt) {
  auto two = [](std::int64_t n) {
    Tensor m = ramp(n * 3);
    return Scene{m, {m.view({n, 3}), m.slice(0, 1, n + 1)}};
  };
  auto covers = [](std::int64_t n) {
    Tensor m = ramp(n * 3);
    return Scene{m, {m.view({n, 3})}};
  };
  const std::pair<const char*, Body> bodies[] = {
      {"written after",
       [](Tensors a) {
         Int n = a[0].size(0);
         a[0].resize_({n + 2, 3});
         a[0].slice(0, n).fill_(7);
         a[0].select(0, 0).mul_(2);
         return Tensors{a[0].sum()};
       }},
      {"written before",
       [](Tensors a) {
         a[0].mul_(2);
         a[0].resize_({a[0].size(0) + 2, 3});
         return Tensors{a[0] + 1};
       }},
      {"not written",
       [](Tensors a) {
         a[0].resize_({a[0].size(0) + 1, 4});
         return Tensors{a[0]};
       }},
      {"through a view",
       [](Tensors a) {
         Tensor part = a[0].slice(0, 1, 2);
         part.resize_({a[0].numel() + 4});
         part.mul_(3);
         a[0].select(1, 0).add_(1);
         return Tensors{part, a[0].t()};
       }},
      {"an older view",
       [](Tensors a) {
         Tensor old = a[0].t().slice(0, 1);
         a[0].resize_({a[0].size(0) * 2, 3});
         a[0].add_(1);
         old.mul_(2);
         return Tensors{old, old + 1};
       }},
      {"twice",
       [](Tensors a) {
         a[0].resize_({a[0].size(0) + 1, 3});
         a[0].add_(1);
         a[0].resize_({a[0].size(0) + 1, 5});
         a[0].mul_(2);
         return Tensors{a[0].slice(0, 1)};
       }},
      {"less in the end",
       [](Tensors a) {
         Int n = a[0].size(0);
         a[0].resize_({n + 4, 3});
         a[0].fill_(2);
         a[0].resize_({n, 3});
         return Tensors{a[0]};
       }},
      {"a part in the end",
       [](Tensors a) {
         Int n = a[0].size(0);
         a[0].resize_({n + 4, 3});
         a[0].fill_(2);
         a[0].set_(a[0].slice(0, 1, n));
         return Tensors{};
       }},
      {"an expanded view",
       [](Tensors a) {
         Tensor wide = a[0].slice(1, 0, 1).expand({a[0].size(0), 4});
         a[0].resize_({a[0].size(0) + 2, 3});
         a[0].add_(1);
         return Tensors{wide, wide * 2};
       }},
      {"an intermediate",
       [](Tensors a) {
         Tensor y = a[0] * 2, row = y.select(0, 0);
         y.resize_({y.size(0) + 1, 3});
         row.fill_(5);
         return Tensors{y, row};
       }},
  };
  for (auto& [what, body] : bodies) {
    check(what, covers, body, {4, 6, 3});
    check(std::string(what) + ", inside", inner_part, body, {4, 6, 3});
    check(std::string(what) + ", two arguments", two, body, {4, 6, 3});
  }
  check("the other argument is written", two,
        [](Tensors a) {
          a[0].resize_({a[0].size(0) + 2, 3});
          a[1].mul_(10);
          a[0].add_(a[0].size(0));
          return Tensors{a[1], a[0].slice(0, 0, 1)};
        },
        {4, 6, 3});
  auto apart = [](std::int64_t n) {
    Tensor m = ramp(n * 3);
    return Scene{m, {m.view({n, 3}), ramp(n)}};
  };
  check("of two on two storages", apart,
        [](Tensors a) {
          a[0].resize_({a[0].size(0) + 2, 3});
          a[1].add_(a[0].select(0, 0).sum());
          return Tensors{a[1]};
        },
        {4, 6, 3});
}

// What was written before it grew is not forgotten, and growing counts as a write; a call that throws has done neither.
TEST(Views, AStorageThatGrowsCountsAWrite) {
  auto body = [](Tensor x, Tensor y, Int at) {
    x.set_(x.clone()).mul_(2);
    x.resize_({x.size(0) + 1, x.size(1)});
    y.resize_({y.size(0) + 2});
    return y.select(0, at);
  };
  auto f = compile(body);
  for (int call = 0; call < 3; ++call)
    for (bool compiled : {false, true}) {
      Tensor x = ones({2, 2}), y = ones({3});
      const std::uint64_t before = y.version();
      compiled ? f(x, y, 1) : body(x, y, 1);
      EXPECT_NE(x.version(), 0u) << compiled;
      EXPECT_NE(y.version(), before) << compiled;
      EXPECT_TRUE(equal(x.slice(0, 0, 2), full({2, 2}, 2.0)));
    }
  Tensor x = ones({2, 2}), y = ones({3});
  const std::uint64_t before = y.version();
  for (int call = 0; call < 4; ++call) {
    EXPECT_THROW(f(x, y, 77), Error);
    EXPECT_EQ(y.version(), before) << call;
    EXPECT_EQ(y.size(0).value(), 3) << call;
    EXPECT_TRUE(equal(x, ones({2, 2}))) << call;
  }
}

TEST(Views, WhoSeesAStorageThatGrows) {
  auto body = [](Tensor x) {
    const Int n = x.size(0);
    x.resize_({n + 2});
    x.slice(0, n).fill_(7);
    x.slice(0, 0, 1).fill_(5);
    return x.slice(0, 1);
  };
  auto f = compile(body);
  for (bool compiled : {false, true, true}) {
    Tensor x = ramp(3), older = x.alias(), row = x.slice(0, 0, 1);
    Tensor made = compiled ? f(x) : body(x);
    EXPECT_EQ(row.item<float>(), 5);
    EXPECT_TRUE(row.shares_storage_with(x) && older.shares_storage_with(made));
    EXPECT_EQ(older.as_strided({5}, {1}, 0).to_vector<float>(), (std::vector<float>{5, 1, 2, 7, 7}));
    made.mul_(2);
    EXPECT_EQ(older.to_vector<float>(), (std::vector<float>{5, 2, 4}));
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_EQ(f.stats().compilations, 1);
  // Memory of from_blob is left, and given back.
  for (bool compiled : {false, true}) {
    float numbers[3] = {1, 2, 3};
    int freed = 0;
    Tensor x = from_blob(numbers, {3}, kFloat32, [&](void*p) { freed += p == numbers; }), older = x.alias();
    compiled ? f(x) : body(x);
    EXPECT_EQ(freed, 1);
    EXPECT_EQ(older.to_vector<float>(), (std::vector<float>{5, 2, 3}));
    EXPECT_EQ(numbers[0], 1);
  }
  // A captured tensor on the storage, met before it grows and after.
  for (bool before : {true, false}) {
    Tensor x, seen;
    auto g = compile([&](Tensor t) {
      Tensor sum = before ? seen.sum() : t.sum();
      t.resize_({t.size(0) + 1});
      t.add_(10);
      return seen + sum;
    });
    for (int n : {3, 5, 4}) {
      x = ramp(n), seen = x.slice(0, 1, 3);
      const float sum = before ? 3 : static_cast<float>(n * (n - 1) / 2);
      EXPECT_EQ(g(x).to_vector<float>(), (std::vector<float>{11 + sum, 12 + sum})) << n << before;
      EXPECT_EQ(seen.to_vector<float>(), (std::vector<float>{11, 12}));
    }
    EXPECT_EQ(g.stats().eager_fallbacks, 0) << g.stats().last_fallback_reason;
    x = ramp(3), seen = ramp(2);  // now on two storages
    EXPECT_EQ(g(x).to_vector<float>(), (std::vector<float>{before ? 1.0f : 3.0f, before ? 2.0f : 4.0f}));
  }
}

TEST(Views, ResizeToNothingNeedsNoStorage) {
  check("an empty view behind the end", matrix(2), [](Tensors a) {
    Tensor r = a[0].select(1, 1).slice(0, a[0].size(0), a[0].size(0));
    r.resize_({1, r.size(0)});
    r.fill_(9);
    return Tensors{r};
  });
}

}  // namespace
}  // namespace reprise
