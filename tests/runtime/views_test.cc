// Writes through every kind of view, and what becomes of the arguments: as eager, compiled, call after call.
#include <array>

#include "base/knobs.h"
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

TEST(Views, AsStridedCountsFromWhereTheViewBegins) {
  check("as_strided of a slice", vector_of(2),
        [](Tensors a) { return Tensors{a[0].slice(0, 3, 6).as_strided({2}, {1})}; });
  check("of an argument that is a slice", inner_part, [](Tensors a) {
    return Tensors{a[0].as_strided({2}, {1}), a[0].as_strided({2, 2}, {6, 2}, 0)};
  });
  check("of a clone that is none", inner_part,
        [](Tensors a) { return Tensors{a[0].slice(0, 1, 3).clone().as_strided({2}, {1}, 0)}; });
  check("of rows that are cloned", matrix(3),
        [](Tensors a) { return Tensors{a[0].slice(0, 1, 3).clone().as_strided({2}, {1}, 0) + 1}; });
}

TEST(Views, WritesByPlaceAfterWritesThroughOtherViews) {
  auto then_as_strided = [](Tensors a) {
    a[0].t().mul_(2);
    a[0].as_strided({4}, {1}, 1).mul_(10);
    return Tensors{};
  };
  check("as_strided after t", matrix(3), then_as_strided, {2, 4, 3});
  check("as_strided after t, intermediate", matrix(3),
        [](Tensors a) {
          Tensor y = a[0] + 1;
          y.t().mul_(2);
          y.as_strided({4}, {1}, 1).mul_(10);
          return Tensors{y};
        },
        {2, 4, 3});
  check("unfold after t", matrix(4), [](Tensors a) {
    a[0].t().mul_(2);
    a[0].unfold(1, 2, 2).mul_(10);
    return Tensors{a[0]};
  });
  check("resize_ after t", matrix(3), [](Tensors a) {
    Tensor y = a[0].slice(0, 1, 3);
    a[0].t().mul_(2);
    y.resize_({2, 2});
    y.mul_(10);
    return Tensors{y};
  });
  check("t after as_strided", matrix(3), [](Tensors a) {
    a[0].as_strided({2, 2}, {1, 2}).add_(5);
    a[0].t().slice(0, 1, 2).mul_(-1);
    return Tensors{a[0].sum()};
  });
}

TEST(Views, WritesByPlaceToAnyArgument) {
  const std::pair<const char*, Body> bodies[] = {
      {"as_strided",
       [](Tensors a) {
         a[0].as_strided({2, 2}, {1, 4}, 1).mul_(10);
         return Tensors{a[0] + 1};
       }},
      {"as_strided, its own offset",
       [](Tensors a) {
         a[0].as_strided({2, 2}, {1, 2}).fill_(-1);
         return Tensors{a[0]};
       }},
      {"unfold",
       [](Tensors a) {
         a[0].unfold(0, 2, 2).add_(100);
         return Tensors{a[0].t()};
       }},
      {"unfold, part",
       [](Tensors a) {
         a[0].unfold(1, 2, 3).select(-1, 1).add_(100);
         return Tensors{};
       }},
      {"diagonal",
       [](Tensors a) {
         a[0].diagonal(1).mul_(10);
         a[0].diagonal(-1).fill_(3);
         return Tensors{a[0].diagonal()};
       }},
      {"part of expanded",
       [](Tensors a) {
         a[0].slice(0, 0, 1).expand({5, a[0].size(1)}).select(0, 3).mul_(10);
         return Tensors{a[0] * 2};
       }},
      {"part of expanded, view",
       [](Tensors a) {
         a[0].slice(1, 1, 2).expand({a[0].size(0), 4}).slice(1, 1, 2).view({a[0].size(0)}).sub_(1);
         return Tensors{};
       }},
      {"written and read in turns",
       [](Tensors a) {
         Tensor x = a[0], w = x.as_strided({3}, {2}, 1), s = x.select(0, 0);
         w.mul_(2);
         s.add_(w.sum());
         w.copy_(s.slice(0, 0, 3) + x.sum());
         return Tensors{w, s, x * w.sum()};
       }},
  };
  for (auto& [name, body] : bodies)
    for (auto& [kind, make] : {std::pair<const char*, Make>{"", matrix(3)},
                               {" of an inner part", inner_part},
                               {" of a transposed", transposed}})
      check(std::string(name) + kind, make, body);
}

// The same write on one memory: which elements go where is the storage's business, not the view's.
TEST(Views, WritesToIntermediatesByPlace) {
  check("windows side by side", matrix(4), [](Tensors a) {
    Tensor y = a[0] * 2;
    y.unfold(0, 2, 2).mul_(3);
    return Tensors{y, y.t()};
  });
  check("a row that stands for all", matrix(4), [](Tensors a) {
    Tensor y = a[0].select(0, 0) * 2, all = y.expand({a[0].size(0), 4});
    all.select(0, 1).add_(1);
    all.slice(0, 2, 3).mul_(2);
    return Tensors{y, all};
  });
  check("set_", matrix(4), [](Tensors a) {
    Tensor y = a[0] * 2, z = y.t();
    z.set_(a[0]);
    z.add_(1);
    return Tensors{y, z};
  });
  check("set_ of an argument", matrix(4), [](Tensors a) {
    Tensor y = a[0] * 2;
    a[0].add_(3);
    a[0].set_(y.t());
    a[0].add_(1);
    return Tensors{y};
  });
  check(
      "set_ of an argument to another",
      [](std::int64_t n) {
        Tensor m = ramp(n * 3);
        return Scene{m, {m.view({n, 3}).slice(0, 1, 3), ramp(4)}};
      },
      [](Tensors a) {
        a[1].set_(a[0].t());
        a[1].add_(1);
        return Tensors{a[1]};
      });
}

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

// Windows that do and do not overlap at different calls: decided for each.
TEST(Views, WindowsThatComeToOverlap) {
  auto body = [](Tensor x, Int step) { x.unfold(0, 2, step).add_(1); };
  auto f = compile(body);
  for (int step : {2, 3, 1, 2, 4, 1}) {
    Tensor a = ramp(9), b = ramp(9);
    auto eager = caught([&] { body(a, step); }), compiled = caught([&] { f(b, step); });
    EXPECT_EQ(eager.has_value(), compiled.has_value()) << step;
    EXPECT_TRUE(equal(a, b)) << step;
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  // Interleaved: apart, though neither dimension steps over the other.
  auto g = compile([](Tensor x, Int a, Int b) { x.as_strided({3, 2}, {a, b}).add_(1); });
  Tensor x = ramp(12), y = ramp(12);
  g(x, 2, 3);
  y.as_strided({3, 2}, {2, 3}).add_(1);
  EXPECT_TRUE(equal(x, y));
  EXPECT_TRUE(caught([&] { g(x, 2, 4); }).has_value());
  EXPECT_EQ(g.stats().eager_fallbacks, 0) << g.stats().last_fallback_reason;
}

// Strides of dimensions of size 1, which do not make another structure, are what the program would see.
TEST(Views, StridesOfDimensionsOfSizeOne) {
  auto make = [](int kind) {
    Tensor m = ramp(300).view({3, 100});
    return kind == 0   ? m.slice(0, 1, 2).slice(1, 0, 4)
           : kind == 1 ? ramp(4).view({1, 4})
                       : m.slice(0, 0, 2).slice(1, 0, 4);
  };
  auto body = [](Tensor x) {
    return x.stride(0) > 50 ? std::pair(x + 1, x.stride(0)) : std::pair(x * 2, x.stride(0) + 1);
  };
  auto f = compile(body);
  auto views = compile([](Tensor x) { return std::pair(x.t(), x.slice(1, 0, 2)); });
  auto moved = compile([](Tensor x) { x.t_(); });
  for (int round = 0; round < 2; ++round)
    for (int kind : {0, 1, 2, 0}) {
      auto want = body(make(kind)), got = f(make(kind));
      EXPECT_TRUE(equal(want.first, got.first)) << kind;
      EXPECT_EQ(want.second.value(), got.second.value()) << kind;
      Tensor x = make(kind);
      auto [a, b] = views(x);
      EXPECT_EQ(show(a), show(x.t())) << kind;
      EXPECT_EQ(show(b), show(x.slice(1, 0, 2))) << kind;
      Tensor t = x.t();
      moved(x);
      EXPECT_EQ(show(x), show(t)) << kind;
    }
  EXPECT_EQ(f.stats().eager_fallbacks + views.stats().eager_fallbacks + moved.stats().eager_fallbacks, 0);
}

TEST(Views, StridesOfResults) {
  const Body body = [](Tensors a) {
    Tensor y = a[0] + 1;
    return Tensors{(a[0] * 2).t(),
                   (a[0] * 3).slice(1, 1, 2),
                   (a[0] - 1).select(1, 0),
                   a[0].clone().t(),
                   (a[0] * 4).slice(0, 1, 2),
                   y.t().clone(),
                   (a[0] + 5).expand({2, a[0].size(0), 3}),
                   y};
  };
  check("strides of results", matrix(3), body);
  check("strides of results of an inner part", inner_part, body);
  check("written through a transposed view", matrix(3), [](Tensors a) {
    Tensor y = a[0] * 1;
    y.t().mul_(2);
    return Tensors{y.t()};
  });
}

// Whether reshape copies depends on the sizes that are asked for, too.
// Strides of dimensions of size 0 and 1 lead nowhere, but a caller reads them, and a view of nothing begins where they
// say.
TEST(Views, StridesThatLeadNowhere) {
  auto of = [](std::int64_t rows, std::int64_t columns, std::int64_t s0, std::int64_t s1) {
    return [=](std::int64_t n) {
      Tensor m = ramp(64);
      return Scene{m, {m.as_strided({rows ? rows : n, columns ? columns : n}, {s0, s1})}};
    };
  };
  const std::vector<std::pair<std::string, Body>> bodies = {
      {"expand to what may be 1",
       [](Tensors a) {
         return Tensors{a[0].slice(0, 0, 1).expand({a[0].size(1), -1}), a[0].slice(1, 0, 1).expand({-1, a[0].size(0)})};
       }},
      {"view",
       [](Tensors a) {
         return Tensors{a[0].t().reshape({-1, a[0].size(0)}), a[0].reshape({a[0].size(0), a[0].size(1)}),
                        a[0].reshape({1, a[0].numel()})};
       }},
      {"a view of nothing that grows",
       [](Tensors a) {
         Tensor r = a[0].slice(0, 1, a[0].size(0)).slice(1, 1, 1);
         r.resize_({a[0].size(0), 2});
         return Tensors{r.fill_(3)};
       }},
      {"as_strided from where a view begins",
       [](Tensors a) { return Tensors{a[0].slice(0, 1, 2).as_strided({2}, {1})}; }},
      {"intermediates",
       [](Tensors a) {
         Tensor y = a[0] * 2, z = y.t();
         z.reshape({a[0].size(0), a[0].size(1)}).add_(1);
         Tensor w = (a[0] + 1).reshape({1, -1});
         w.t().add_(1);
         return Tensors{y, z, y.slice(0, 0, 1).expand({a[0].size(1), -1}), w, (a[0] * 3).t().reshape({1, -1}).t()};
       }},
      {"diagonal",
       [](Tensors a) {
         return Tensors{a[0].diagonal(1), a[0].diagonal(-1), a[0].diagonal()};
       }},
      {"resize_",
       [](Tensors a) {
         a[0].resize_({a[0].size(1), a[0].size(0)});
         return Tensors{a[0].t()};
       }},
      {"back and forth",
       [](Tensors a) {
         a[0].unsqueeze_(0).squeeze_(0).t_().t_();
         return Tensors{a[0].slice(0, 0, 1)};
       }},
      {"unfold",
       [](Tensors a) {
         return Tensors{a[0].unfold(0, 1, 2), a[0].unfold(1, 1, 1).select(0, 0)};
       }},
  };
  for (const auto& [name, body] : bodies) {
    const bool windows = name == "unfold" || name.starts_with("expand"), begins = name.starts_with("as_strided");
    if (!windows) check(name + ", [n, 1]", of(0, 1, 1, 1), body, {4, 1, 2});
    check(name + ", [2, n] of strides 1 and 1", of(2, 0, windows || begins ? 9 : 1, 1), body,
          windows ? std::vector<std::int64_t>{1, 3} : std::vector<std::int64_t>{1, 0});
    check(name + ", [n, 1] of odd strides", of(0, 1, 1, 7), body, {2, 1, 5});
    check(name + ", [1, n] of odd strides", of(1, 0, 5, 1), body, {2, 1, 4});
    check(
        name + ", made",
        [](std::int64_t n) {
          return alone(ramp(3 * n).view({3, n}));
        },
        body, windows || begins ? std::vector<std::int64_t>{4, 1, 2} : std::vector<std::int64_t>{4, 0, 1, 2, 0});
  }
}

// ATen: a copy of self's storage with the part in its place, seen as self is; of an expanded self, a copy of its
// elements.
TEST(Views, AsStridedScatterNamesPlacesOfTheStorage) {
  const std::vector<std::pair<std::string, Make>> selves = {
      {"row-major", matrix(4)},
      {"inner", inner_part},
      {"transposed", transposed},
      {"at the start",
       [](std::int64_t n) {
         Tensor m = ramp(n * 4 + 8);
         return Scene{m, {m.as_strided({n, 4}, {4, 1})}};
       }},
      {"expanded",
       [](std::int64_t n) {
         Tensor m = ramp(8);
         return Scene{m, {m.slice(0, 1, 5).unsqueeze(0).expand({n, 4})}};
       }},
      {"expanded to 1",
       [](std::int64_t) {
         Tensor m = ramp(12);
         return Scene{m, {m.slice(0, 1, 5).unsqueeze(0)}};
       }},
  };
  for (const auto& [name, make] : selves) {
    check(name, make, [](Tensors a) { return Tensors{a[0].as_strided_scatter(zeros({2, 2}) - 5, {2, 2}, {3, 1})}; });
    check(name + ", at a place", make, [](Tensors a) {
      return Tensors{a[0].as_strided_scatter(zeros({3}) - 5, {3}, {2}, 2), a[0] + 1};
    });
    check(name + ", after a write", make, [](Tensors a) {
      Tensor y = a[0] * 2;
      y.t().add_(1);
      return Tensors{y.t().as_strided_scatter(zeros({2}) - 5, {2}, {2}, 1)};
    });
  }
  // By the definition, in numbers.
  Tensor m = ramp(12), self = m.as_strided({2, 3}, {1, 4}, 1), row = m.slice(0, 2, 5).unsqueeze(0).expand({2, 3});
  auto f = compile([](Tensor x, Tensor y) {
    return std::vector<Tensor>{x.as_strided_scatter(zeros({3}) - 5, {3}, {1}),
                               x.as_strided_scatter(zeros({2}) - 5, {2}, {7}, 0),
                               y.as_strided_scatter(zeros({2}) - 5, {2}, {2})};
  });
  for (const std::vector<Tensor>& r :
       {f(self, row), std::vector<Tensor>{self.as_strided_scatter(zeros({3}) - 5, {3}, {1}),
                                          self.as_strided_scatter(zeros({2}) - 5, {2}, {7}, 0),
                                          row.as_strided_scatter(zeros({2}) - 5, {2}, {2})}}) {
    EXPECT_EQ(r[0].to_vector<float>(), (std::vector<float>{-5, 5, 9, -5, 6, 10}));
    // 0 is before self, 7 after it: in its storage only
    EXPECT_EQ(r[1].to_vector<float>(), (std::vector<float>{1, 5, 9, 2, 6, 10}));
    EXPECT_EQ(r[2].to_vector<float>(), (std::vector<float>{-5, 3, -5, 2, 3, 4}));
  }
  for (bool compiled : {false, true}) {  // the storage ends before
    auto beyond = [](Tensor x) { return x.as_strided_scatter(zeros({2}), {2}, {9}, 3); };
    const auto e = caught([&] { compiled ? compile(beyond)(self) : beyond(self); });
    ASSERT_TRUE(e.has_value());
    EXPECT_EQ(e->code(), ErrorCode::IndexOutOfRange);
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

TEST(Views, ReshapeCopiesWhenEagerCopies) {
  using Cut = std::function<Tensor(Tensor)>;
  const std::pair<const char*, Cut> cuts[] = {
      {"columns", [](Tensor x) { return x.slice(1, 0, x.size(1) - 1); }},
      {"transposed", [](Tensor x) { return x.t(); }},
      {"steps", [](Tensor x) { return x.slice(0, 0, x.size(0), 2); }},
      {"blocks",
       [](Tensor x) {
         return x.view({x.size(0), x.size(1), 1})
             .expand({x.size(0), x.size(1), 2})
             .permute({2, 0, 1})
             .select(0, 0)
             .slice(1, 1, x.size(1));
       }},
  };
  std::vector<std::array<std::int64_t, 2>> shapes;
  for (std::int64_t a = 1; a <= 6; ++a)
    for (std::int64_t b = 2; b <= 6; ++b) shapes.push_back({a, b});
  int calls = 0;
  for (auto& [name, cut] : cuts)
    for (std::size_t first = 0; first < shapes.size(); first += 4) {
      auto body = [&cut](Tensor x, Int p, Int q) {
        Tensor y = cut(x).reshape({p, q});
        y.mul_(10);
        return y;
      };
      auto f = compile(body, {.max_specializations = 1000, .mode = "interpret"});
      for (std::size_t k = 0; k < shapes.size(); ++k) {
        auto [a, b] = shapes[(first + 7 * k) % shapes.size()];
        Tensor sample = cut(ramp(a * b).view({a, b}));
        const std::int64_t n = sample.numel().value();
        for (std::int64_t p = 1; p <= n; ++p) {
          if (n % p) continue;
          Tensor x = ramp(a * b).view({a, b}), y = x.clone();
          Tensor want = body(x, p, n / p), got = f(y, p, n / p);
          ASSERT_EQ(show(x), show(y)) << name << " of [" << a << ", " << b << "] to " << p;
          ASSERT_EQ(want.shares_storage_with(x), got.shares_storage_with(y))
              << name << " of [" << a << ", " << b << "] to " << p;
          ASSERT_EQ(want.str(), got.str()) << name << " of [" << a << ", " << b << "] to " << p;
          ++calls;
        }
      }
      EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
    }
  EXPECT_GT(calls, 2000);
}

TEST(Views, SizesThatAreProductsOfNegativeNumbers) {
  auto f = compile([](Tensor x, Int a, Int b) { return x.view({a * b, -1}); });
  for (auto [a, b] : {std::pair(-2, -3), {2, 3}, {-3, -2}, {6, 1}}) {
    Tensor got = f(ramp(12), a, b);
    EXPECT_EQ(got.size(0).value(), 6);
    EXPECT_EQ(got.size(1).value(), 2);
  }
  EXPECT_TRUE(caught([&] { f(ramp(12), -2, 3); }).has_value());
}

TEST(Views, UnfoldOfNothing) {
  auto body = [](Tensor x) { return (x + 1).unfold(0, 1, 2); };
  auto f = compile(body);
  for (Ints sizes : {Ints{4, 0}, Ints{0, 3}, Ints{5, 2}, Ints{1, 0}}) {
    Tensor x = zeros(sizes), want, got;
    auto eager = caught([&] { want = body(x); }), compiled = caught([&] { got = f(x); });
    EXPECT_EQ(eager.has_value(), compiled.has_value());
    if (!eager && !compiled) {
      EXPECT_EQ(show(want), show(got));
    }
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
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

// Views that go by strides (view, as_strided), of an argument that stands otherwise than what is made of it by a write:
// read behind writes beside them.
TEST(Views, PartsOfATransposedArgumentAreReadBehindAWrite) {
  auto transposed = [](std::int64_t n) {
    Tensor m = ramp(n * 3).view({3, n});
    return Scene{m, {m.t()}};
  };
  check("joined dimensions, another element is written", transposed,
        [](Tensors a) {
          Tensor x = a[0];  // [n, 3]{1, n}
          x.diagonal(1).copy_(x.t().reshape({x.size(0), -1}).select(0, 0).select(0, 0));
          return Tensors{};
        },
        {2, 3, 5});
  check("rows behind a write of the first", transposed,
        [](Tensors a) {
          Tensor x = a[0], flat = x.t().view({-1});
          x.select(1, 0).add_(1);
          return Tensors{flat.slice(0, x.size(0)) * 2, flat.slice(0, 0, x.size(0)) * 3};
        },
        {1, 2, 5});
  check("split dimensions", transposed,
        [](Tensors a) {
          Tensor x = a[0], split = x.unsqueeze(0).view({1, 1, x.size(0), 3});
          x.select(1, 0).add_(1);
          return Tensors{split.select(3, 1) * 2, split.select(3, 0) * 3};
        },
        {1, 2, 5});
  check("places of the storage", transposed,
        [](Tensors a) {
          Tensor x = a[0], second = x.as_strided({x.size(0)}, {1}, x.size(0));
          x.select(1, 0).add_(1);
          x.select(1, 1).mul_(2);
          return Tensors{second + 1};
        },
        {1, 2, 5});
}

}  // namespace
}  // namespace reprise
