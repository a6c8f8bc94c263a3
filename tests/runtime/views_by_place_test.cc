// Views that name places of their storage (as_strided, windows): reads and writes by place.
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/scene.h"

namespace reprise {
namespace {

using namespace test;

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
