// Strides and sizes of views and of results, and where reshape copies: what the program would see.
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/runtime/scene.h"

namespace reprise {
namespace {

using namespace test;

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

// Whether reshape copies depends on the sizes that are asked for, too.
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

}  // namespace
}  // namespace reprise
