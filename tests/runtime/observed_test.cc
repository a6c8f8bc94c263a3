// Only what a trace looked at is asked of later calls.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reprise/reprise.h"
#include "tests/support/element.h"

namespace reprise::test {
namespace {

TEST(OnlyWhatWasObserved, AnArgumentThatIsNotUsed) {
  auto f = compile([](Tensor x, Tensor, Tensor y) { return x + y; });
  const Tensor x = ones({2, 3}), y = full({3}, 2.0);
  const std::vector<Tensor> any{zeros({4}),
                                zeros({4}, {.dtype = kInt64}),
                                zeros({2, 2, 2}),
                                zeros({4, 5}).t(),
                                zeros({8}).slice(0, 0, 8, 2),
                                zeros({}),
                                zeros({0, 3}, {.dtype = kBool}),
                                x,
                                y};
  for (int turn = 0; turn < 3; ++turn)
    for (const Tensor& t : any)
      for (std::int64_t n : {2, 5}) {
        Tensor sum = f(ones({n, 3}), t, y);
        EXPECT_EQ(sum.size(0), n);
        EXPECT_EQ(at(sum, 0), 3);
      }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  // What is used is as it was.
  EXPECT_EQ(f(ones({2, 3}, {.dtype = kFloat64}), any[2], y).dtype(), kFloat64);
  EXPECT_EQ(f(x, any[1], full({2, 3}, 5.0)).to_vector<float>()[5], 6);
  EXPECT_EQ(f.stats().compilations, 3);
}

TEST(OnlyWhatWasObserved, ABranchMayUseIt) {
  auto f = compile([](Tensor x, Tensor a, Tensor b, Int which) {
    if (which == 0) return x + a;
    if (which == 1) return x * b;
    return x.clone();
  });
  const Tensor x = full({3}, 2.0);
  const std::vector<Tensor> as{full({3}, 1.0), full({1, 3}, 1, {.dtype = kInt32}), full({3, 3}, 1.0).t()},
      bs{full({3}, 5.0), full({2, 3}, 5, {.dtype = kInt64})};
  for (int turn = 0; turn < 2; ++turn)
    for (const Tensor& a : as)
      for (const Tensor& b : bs)
        for (int which : {0, 1, 2}) {
          const Tensor got = f(x, a, b, which), want = which == 0 ? x + a : which == 1 ? x * b : x;
          ASSERT_EQ(got.dim(), want.dim());
          ASSERT_TRUE(equal(got, want)) << which;
        }
  EXPECT_EQ(f.stats().compilations, 6) << "three kinds of a, two of b, and neither";
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

// What one specialization does not look at, another of the same structure does: it must not be offered a call without
// it.
TEST(OnlyWhatWasObserved, AnotherBranchOfTheSameStructureUsesIt) {
  auto body = [](Tensor x, Tensor t, Int which) { return which == 0 ? x + 1 : t * 2; };
  auto f = compile(body);
  const Tensor x = ones({2, 3}), all = arange(24, {.dtype = kFloat32});
  const std::vector<Tensor> ts{all.as_strided({4, 3}, {6, 1}), all.as_strided({1, 3}, {3, 1}),
                               all.as_strided({2, 1}, {5, 1}), all.as_strided({4, 3}, {6, 2})};
  for (int turn = 0; turn < 2; ++turn)
    for (const Tensor& t : ts)
      for (int which : {0, 1, 0}) {
        const Tensor got = f(x, t, which), want = body(x, t, which);
        ASSERT_EQ(got.size(0), want.size(0));
        ASSERT_EQ(got.size(1), want.size(1));
        ASSERT_TRUE(equal(got, want)) << turn << ", " << which;
      }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(OnlyWhatWasObserved, WhatIsAskedIsUsed) {
  auto by_dtype = compile([](Tensor x, Tensor t) { return t.dtype() == kInt64 ? x + 1 : x; });
  auto by_rank = compile([](Tensor x, Tensor t) { return x + t.dim(); });
  auto by_size = compile([](Tensor x, Tensor t) { return x + t.size(0); });
  auto by_stride = compile([](Tensor x, Tensor t) { return x + t.stride(0); });
  auto given = compile([](Tensor x, Tensor t) { return t.defined() ? x + 1 : x; });
  auto same = compile([](Tensor x, Tensor t) { return x.is_same(t) ? x + 1 : x * 1; });
  auto written = compile([](Tensor x, Tensor t) {
    t.fill_(3);
    return x * 1;
  });
  auto back = compile([](Tensor x, Tensor t) { return std::pair(x * 1, t); });
  const Tensor x = zeros({1});
  for (const Tensor& t :
       {zeros({4}), zeros({4}, {.dtype = kInt64}), zeros({2, 6}), zeros({2, 6}, {.dtype = kInt32}).t(), x}) {
    EXPECT_EQ(at(by_dtype(x, t), 0), t.dtype() == kInt64);
    EXPECT_EQ(at(by_rank(x, t), 0), t.dim());
    EXPECT_EQ(at(by_size(x, t), 0), static_cast<float>(t.size(0).value()));
    EXPECT_EQ(at(by_stride(x, t), 0), static_cast<float>(t.stride(0).value()));
    EXPECT_EQ(at(given(x, t), 0), 1);
    EXPECT_EQ(at(given(x, Tensor()), 0), 0);
    EXPECT_EQ(at(same(x, t), 0), t.is_same(x));
    EXPECT_TRUE(back(x, t).second.is_same(t));
    if (!t.is_same(x)) {
      written(x, t);
      EXPECT_EQ(t.to(kFloat32).sum().item<double>(), 3.0 * static_cast<double>(t.numel().value()));
    }
  }
}

TEST(OnlyWhatWasObserved, SlicesWithFreeBounds) {
  auto body = [](Tensor x, Int from, Int to) { return x.slice(0, from, to) * 2; };
  auto stepped = [](Tensor x, Int from, Int to, Int step) {
    return x.slice(1, from, to, step).sum(1) + x.slice(0, from, INT64_MAX).sum();
  };
  auto writes = [](Tensor x, Int from, Int to) {
    x.slice(0, from, to) += 1;
    return x.slice(0, from, to);
  };
  auto f = compile(body);
  auto g = compile(stepped);
  auto h = compile(writes);
  for (int turn = 0; turn < 2; ++turn)
    for (std::int64_t n : {7, 4, 1, 0})
      for (std::int64_t from : {0, 2, 5, 9, -1, -3, -20})
        for (std::int64_t to : {3, 5, 0, 20, -1, -2, -30}) {
          const std::string what = std::to_string(n) + ": " + std::to_string(from) + ", " + std::to_string(to);
          const Tensor x = arange(3 * n, {.dtype = kFloat32}).view({n, 3});
          const Tensor want = body(x, from, to), got = f(x, from, to);
          ASSERT_EQ(got.size(0), want.size(0)) << what;
          ASSERT_TRUE(equal(got, want)) << what;
          if (n > 0) {
            const Tensor y = arange(2 * n, {.dtype = kFloat32}).view({2, n});
            for (std::int64_t step : {1, 2, 5})
              ASSERT_TRUE(allclose(g(y, from, to, step), stepped(y, from, to, step))) << what << ", " << step;
          }
          const Tensor a = x.clone(), b = x.clone();
          const Tensor part = h(a, from, to), wanted = writes(b, from, to);
          ASSERT_TRUE(equal(a, b)) << what;
          ASSERT_TRUE(equal(part, wanted)) << what;
          ASSERT_EQ(part.storage_offset().value(), wanted.storage_offset().value()) << what;
          ASSERT_TRUE(part.shares_storage_with(a));
        }
  EXPECT_LE(f.stats().compilations, 4);
  EXPECT_LE(g.stats().compilations, 6);
  EXPECT_LE(h.stats().compilations, 6);
  EXPECT_EQ(f.stats().eager_fallbacks + g.stats().eager_fallbacks + h.stats().eager_fallbacks, 0);
}

TEST(OnlyWhatWasObserved, SizesThatMayBeOne) {
  auto body = [](Tensor a, Tensor b, Tensor c) { return (a + b) * c - where(a > b, a, c); };
  auto writes = [](Tensor a, Tensor b, Tensor c) {
    Tensor y = a * c;
    y += b.sum();
    return y + b;
  };
  auto f = compile(body);
  auto g = compile(writes);
  auto tensor_of = [](unsigned ones, std::int64_t n) {
    Ints sizes;
    for (unsigned d = 0; d < 4; ++d) sizes.push_back(ones >> d & 1 ? 1 : n + static_cast<std::int64_t>(d));
    Int n_elements = 1;
    for (Int size : sizes) n_elements *= size;
    return arange(n_elements, {.dtype = kFloat32}).view(sizes) * 0.5;
  };
  unsigned seed = 1;
  auto next = [&] { return (seed = seed * 1103515245 + 12345) >> 16 & 15; };
  for (int turn = 0; turn < 150; ++turn) {
    const std::int64_t n = turn % 3 + 2;
    const Tensor a = tensor_of(next(), n), b = tensor_of(next(), n), c = tensor_of(next(), n);
    ASSERT_TRUE(equal(f(a, b, c), body(a, b, c))) << turn;
    ASSERT_TRUE(allclose(g(a, b, c), writes(a, b, c))) << turn;
  }
  EXPECT_LE(f.stats().compilations, 12);
  EXPECT_LE(g.stats().compilations, 12);
  EXPECT_EQ(f.stats().eager_fallbacks + g.stats().eager_fallbacks, 0);
  // Sizes that fit in no way are refused as before, and so are they by what leaves most open.
  EXPECT_THROW(f(ones({2, 1, 1, 1}), ones({3, 1, 1, 1}), ones({1, 1, 1, 1})), Error);
  const Tensor none = zeros({0, 3, 4, 5});
  EXPECT_EQ(f(none, none, ones({1, 3, 1, 5})).size(0), 0);
}

Tensor counted(Ints sizes) {
  Int n = 1;
  for (Int size : sizes) n *= size;
  return arange(n, {.dtype = kFloat32}).view(sizes);
}

void expect_same(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.sizes().size(), want.sizes().size()) << what;
  for (int d = 0; d < got.dim(); ++d) {
    ASSERT_EQ(got.size(d).value(), want.size(d).value()) << what;
    ASSERT_EQ(got.stride(d).value(), want.stride(d).value()) << what << ", dimension " << d;
  }
  ASSERT_EQ(got.storage_offset().value(), want.storage_offset().value()) << what;
  ASSERT_TRUE(equal(got, want)) << what;
}

TEST(OnlyWhatWasObserved, WhetherAReshapeCopies) {
  auto flat = [](Tensor x) { return x.t().reshape({-1}) * 2; };
  auto heads = [](Tensor x) {
    Tensor y = x.transpose(1, 2).reshape({x.size(0), x.size(2), -1});
    return y.transpose(1, 2).contiguous().sum(1) + y.flatten(1).sum(1, true);
  };
  auto late = [](Tensor x) {  // the write comes when the copy is not looked at any more
    Tensor sum = x.transpose(0, 2).reshape({-1, x.size(0)}).sum(0);
    x += 1;
    return sum;
  };
  auto f = compile(flat);
  auto g = compile(heads);
  auto h = compile(late);
  for (std::int64_t a : {3, 1, 5, 0})
    for (std::int64_t b : {4, 1, 0})
      for (std::int64_t c : {2, 1, 0}) {
        const std::string what = std::to_string(a) + ", " + std::to_string(b) + ", " + std::to_string(c);
        const Tensor m = counted({a, b});
        expect_same(f(m), flat(m), what);
        if (b * a * c > 0) {  // -1 beside a size of 0 is refused
          const Tensor x = counted({a, b, c, 2});
          expect_same(g(x), heads(x), what);
        }
        if (a > 0) {
          const Tensor mine = counted({a, b, c}), theirs = counted({a, b, c});
          expect_same(h(mine), late(theirs), what);
          expect_same(mine, theirs, what);
        }
      }
  EXPECT_EQ(f.stats().compilations, 1) << f.explain();
  EXPECT_LE(g.stats().compilations, 1) << g.explain();
  EXPECT_LE(h.stats().compilations, 1) << h.explain();
  EXPECT_EQ(f.stats().eager_fallbacks + g.stats().eager_fallbacks + h.stats().eager_fallbacks, 0);
}

TEST(OnlyWhatWasObserved, AReshapeWhoseCopyingIsSeen) {
  using Both = std::pair<Tensor, Tensor>;
  const std::vector<std::pair<const char*, Both (*)(Tensor)>> bodies{
      {"returned", [](Tensor x) { return Both(x.t().reshape({-1}), x * 1); }},
      {"a view of it returned", [](Tensor x) { return Both(x.t().reshape({-1}).slice(0, 0, 2), x * 1); }},
      {"written, and read through the other",
       [](Tensor x) {
         Tensor y = x.t().reshape({-1});
         y += 1;
         return Both(x * 1, y * 1);
       }},
      {"read after the other is written",
       [](Tensor x) {
         Tensor y = x.t().reshape({-1});
         x *= 3;
         return Both(y * 1, x * 1);
       }},
      {"a view written",
       [](Tensor x) {
         Tensor y = x.t().reshape({-1}).slice(0, 0, 1);
         y += 1;
         return Both(x * 1, y * 1);
       }},
      {"through two",
       [](Tensor x) {
         Tensor y = x.t().reshape({-1}).reshape({x.size(1), x.size(0)}).t().reshape({-1});
         x *= 3;
         return Both(y * 1, x * 1);
       }},
      {"contiguous after it",
       [](Tensor x) {
         Tensor y = x.t().reshape({-1}).contiguous();
         y += 1;
         return Both(x * 1, y * 1);
       }},
      {"contiguous returned", [](Tensor x) { return Both(x.contiguous(), x * 1); }},
      {"contiguous written",
       [](Tensor x) {
         Tensor y = x.contiguous();
         y += 1;
         return Both(x * 1, y * 1);
       }},
      {"contiguous, the other written",
       [](Tensor x) {
         Tensor y = x.contiguous();
         x *= 3;
         return Both(x * 1, y * 1);
       }},
      {"contiguous changes shape",
       [](Tensor x) {
         Tensor y = x.contiguous();
         y.resize_({x.size(1), x.size(0)});
         return Both(x * 1, y * 1);
       }},
      {"contiguous is it", [](Tensor x) { return Both(x.contiguous().is_same(x) ? x * 2 : x * 3, x * 1); }},
      {"of a new tensor",
       [](Tensor x) {
         Tensor z = x * 1, y = z.t().reshape({-1});
         z += 1;
         return Both(y * 1, z);
       }},
      {"asked", [](Tensor x) { return Both(x * (x.t().reshape({-1}).shares_storage_with(x) ? 2 : 3), x * 1); }},
      {"stride",
       [](Tensor x) {
         return Both(x * x.t().reshape({-1, 1}).stride(0), x * 1);
       }},
      {"contiguous?",
       [](Tensor x) {
         return Both(x * (x.t().reshape({x.size(1), 1, -1}).is_contiguous() ? 2 : 3), x * 1);
       }},
      {"offset", [](Tensor x) { return Both(x * (x.slice(1, 1).t().reshape({-1}).storage_offset() + 1), x * 1); }},
      {"set",
       [](Tensor x) {
         Tensor z = x * 1;
         z.set_(x.t().reshape({-1}));
         z += 1;
         return Both(z * 1, x * 1);
       }},
      {"made larger",
       [](Tensor x) {
         Tensor y = x.t().reshape({-1});
         y.resize_({20});
         y.fill_(2);
         return Both(x * 1, y * 1);
       }},
  };
  for (const auto& [name, body] : bodies) {
    auto f = compile(body, {.name = name});
    for (int turn = 0; turn < 2; ++turn)
      for (std::int64_t a : {3, 1, 4})
        for (std::int64_t b : {2, 1, 5})
          for (int layout = 0; layout < 3; ++layout) {
            const std::string what = std::string(name) + ": " + std::to_string(a) + ", " + std::to_string(b) +
                                     ", layout " + std::to_string(layout);
            auto make = [&] {
              return layout == 0   ? counted({a, b})
                     : layout == 1 ? counted({b, a}).t()
                                   : counted({a, b + 3}).slice(1, 1, b + 1);
            };
            const Tensor x = make(), y = make();
            const Both got = f(x), want = body(y);
            expect_same(got.first, want.first, what);
            expect_same(got.second, want.second, what);
            expect_same(x, y, what);
            ASSERT_EQ(got.first.shares_storage_with(x), want.first.shares_storage_with(y)) << what;
            ASSERT_EQ(got.first.shares_storage_with(got.second), want.first.shares_storage_with(want.second)) << what;
          }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << name << ": " << f.stats().last_fallback_reason;
  }
}

}  // namespace
}  // namespace reprise::test
