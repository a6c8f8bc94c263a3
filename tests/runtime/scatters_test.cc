// Rows that are made by the loop that writes them at computed places (Note [Scatters in loops] in
// kernels/plan/scatter.h): a paged cache.
#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "reprise/reprise.h"
#include "tests/support/error_of.h"

namespace reprise {
namespace {

using test::error_of;
using Body = std::function<void(Tensor x, Tensor cache, Tensor slots, Tensor angles)>;

Tensor rotated(Tensor x, Tensor angles) {
  const std::vector<Tensor> half = chunk(x, 2, -1);
  return x * angles + cat({-half[1], half[0]}, -1) * (1.0 - angles);
}

int lines(const std::string& explained, const std::string& with) {
  std::istringstream all(explained.substr(explained.find("  launches:\n")));
  int n = 0;
  for (std::string line; std::getline(all, line);) n += line.starts_with(with);
  return n;
}

Tensor cache_of(DType t) { return (arange(2 * 40 * 3 * 8) % 13).to(t).view({2, 40, 3, 8}); }

/// As eager, call after call: the slots rise, are mixed, name a place twice, count from the end, are none.
void expect_as_eager(const char* name, const Body& body, DType t, int loops, int natives) {
  auto f = compile(body, {.name = name});
  int call = 0;
  for (const std::vector<std::int64_t>& slots :
       std::vector<std::vector<std::int64_t>>{{3, 5, 9, 20},
                                              {7, 1, 3, 0, 39},
                                              {5, 5, 2, 5},
                                              {-1, 39, -40, 0, 17},
                                              {8},
                                              std::vector<std::int64_t>(100, 6),
                                              {},
                                              {2, 1, 2, 1, 2, 1}}) {
    const auto n = static_cast<std::int64_t>(slots.size());
    const Tensor at = tensor_of(slots, {n}), x = randn({n, 3, 8}).to(t), angles = randn({n, 1, 8}).to(t);
    const Tensor got = cache_of(t), want = cache_of(t);
    f(x, got, at, angles), body(x, want, at, angles);
    EXPECT_TRUE(allclose(got.to(kFloat32), want.to(kFloat32), 0,
                         t == kFloat32   ? 1e-5
                         : t == kFloat16 ? 0.02
                                         : 0.1))
        << name << ", call " << call;
    // What no slot names is as it was, bit by bit.
    Tensor named = zeros({40}, {.dtype = kBool});
    for (std::int64_t s : slots) named[s < 0 ? s + 40 : s].fill_(true);
    for (std::int64_t row = 0; row < 40; ++row)
      if (!named[row].item<bool>()) {
        EXPECT_TRUE(allclose(got.select(1, row).to(kFloat32), cache_of(t).select(1, row).to(kFloat32), 0, 0))
            << name << ", row " << row;
      }
    ++call;
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_EQ(f.stats().copied_bytes, 0) << f.explain();
  EXPECT_EQ(lines(f.explain(), "loop "), loops) << f.explain();
  EXPECT_EQ(lines(f.explain(), "native "), natives) << f.explain();
}

TEST(Scatters, RotatedRowsGoWhereTheSlotsSay) {
  for (DType t : {kFloat32, kBFloat16, kFloat16}) {
    expect_as_eager(
        "copied", [](Tensor x, Tensor c, Tensor at, Tensor angles) { c[0].index_copy_(0, at, rotated(x, angles)); }, t,
        1, 2);
    expect_as_eager(
        "put",
        [](Tensor x, Tensor c, Tensor at, Tensor angles) {
          c.select(0, 1).index_put_({at}, rotated(x, angles), false);
        },
        t, 1, 2);
  }
}

TEST(Scatters, KeysAndValuesAreOneLoopEachAndOneCheck) {
  expect_as_eager(
      "both",
      [](Tensor x, Tensor c, Tensor at, Tensor angles) {
        c[0].index_copy_(0, at, x * angles);
        c[1].index_copy_(0, at, x + 1.0);
      },
      kFloat32, 2, 2);
}

TEST(Scatters, TheQueryIsRotatedInTheSameLoop) {
  auto body = [](Tensor x, Tensor cache, Tensor slots, Tensor angles) {
    const Tensor q = x.slice(1, 0, 3), k = x.slice(1, 3, 6);
    cache.index_copy_(0, slots, k * angles + 0.5);
    return q * angles;
  };
  auto f = compile(body, {.name = "with_query"});
  const Tensor x = randn({5, 6, 8}), angles = randn({5, 1, 8}), slots = tensor({4, 1, 9, 1, 0});
  Tensor got = zeros({12, 3, 8}), want = zeros({12, 3, 8});
  EXPECT_TRUE(allclose(f(x, got, slots, angles), body(x, want, slots, angles), 1e-5, 1e-6));
  EXPECT_TRUE(allclose(got, want, 1e-5, 1e-6));
  EXPECT_EQ(lines(f.explain(), "loop "), 1) << f.explain();
}

// Normalized and quantized rows: the loop reduces rows, and may keep no value where the result will stand.
TEST(Scatters, RowsThatAreReducedFirst) {
  auto body = [](Tensor x, Tensor cache, Tensor slots, Tensor w) { cache.index_copy_(0, slots, rms_norm(x, w, 1e-6)); };
  auto soft = [](Tensor x, Tensor cache, Tensor slots, Tensor w) { cache.index_copy_(0, slots, softmax(x * w, -1)); };
  auto f = compile(body, {.name = "normed"});
  auto g = compile(soft, {.name = "soft"});
  for (std::int64_t n : {7, 70}) {
    const Tensor x = randn({n, 96}), w = randn({96}), slots = (arange(n) * 7 + 3) % (n / 2);
    Tensor a = ones({n, 96}), b = ones({n, 96});
    f(x, a, slots, w), body(x, b, slots, w);
    EXPECT_TRUE(allclose(a, b, 1e-4, 1e-5));
    g(x, a, slots, w), soft(x, b, slots, w);
    EXPECT_TRUE(allclose(a, b, 1e-4, 1e-5));
  }
  EXPECT_EQ(lines(f.explain(), "loop "), 1) << f.explain();
  EXPECT_EQ(lines(g.explain(), "loop "), 1) << g.explain();
}

// Places by two tensors, broadcast against each other; elements; dimensions that are not neighbours.
TEST(Scatters, PlacesOfSeveralIndices) {
  auto pages = [](Tensor x, Tensor cache, Tensor page, Tensor line) {
    cache.index_put_({page, line}, x * 2.0 + 1.0, false);
  };
  auto grid = [](Tensor x, Tensor cache, Tensor page, Tensor line) {
    cache.index_put_({page.unsqueeze(1), line}, x * 2.0 + 1.0, false);
  };
  auto elements = [](Tensor x, Tensor cache, Tensor page, Tensor line) {
    cache.index_put_({page, line}, x.select(1, 0) * 2.0, false);
  };
  auto apart = [](Tensor x, Tensor cache, Tensor page, Tensor line) {
    cache.index_put_({page, Tensor(), line}, x.select(-1, 0).slice(1, 0, 1) * 2.0, false);
  };
  const Tensor page = tensor({0, 2, -1, 0, 1}), line = tensor({3, 1, 3, 3, 0});
  const std::function<void(Tensor, Tensor, Tensor, Tensor)> bodies[] = {pages, grid, elements, apart};
  const Ints rows[] = {{5, 6}, {5, 5, 6}, {5, 6}, {5, 6, 1}}, caches[] = {{3, 4, 6}, {3, 4, 6}, {3, 4}, {3, 6, 4}};
  for (int k = 0; k < 4; ++k) {
    auto f = compile(bodies[k], {.name = "places"});
    const Tensor x = randn(rows[k]);
    Tensor a = zeros(caches[k]), b = zeros(caches[k]);
    f(x, a, page, line), bodies[k](x, b, page, line);
    EXPECT_TRUE(allclose(a, b, 1e-6, 1e-6)) << k << f.explain();
    EXPECT_EQ(f.stats().eager_fallbacks, 0);
    EXPECT_EQ(lines(f.explain(), "native index_put("), 0) << f.explain();
  }
}

TEST(Scatters, ABadPlaceLeavesEverythingAsItWas) {
  const Body body = [](Tensor x, Tensor cache, Tensor slots, Tensor angles) {
    angles.mul_(2.0);
    cache.index_copy_(0, slots, rotated(x, angles));
  };
  auto f = compile(body, {.name = "bad"});
  const Tensor x = randn({3, 2, 8}), good = tensor({1, 2, 0});
  Tensor cache = zeros({6, 2, 8}), angles = ones({3, 1, 8});
  f(x, cache, good, angles);
  for (const Tensor& bad :
       {tensor({1, 6, 0}), tensor({1, 2, -7}), tensor<std::int64_t>({std::int64_t{1} << 40, 2, 1})}) {
    Tensor c = cache.clone(), a = angles.clone(), c2 = cache.clone(), a2 = angles.clone();
    const Error got = error_of([&] { f(x, c, bad, a); }), want = error_of([&] { body(x, c2, bad, a2); });
    EXPECT_EQ(got.code(), ErrorCode::IndexOutOfRange);
    EXPECT_EQ(got.code(), want.code());
    EXPECT_EQ(c.to_vector<float>(), cache.to_vector<float>());
    EXPECT_EQ(a.to_vector<float>(), angles.to_vector<float>());
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

// What the rows are made of stands where they are written: they are made before.
TEST(Scatters, RowsOfTheCacheItself) {
  const std::function<Tensor(Tensor, Tensor, Tensor)> bodies[] = {
      [](Tensor cache, Tensor to, Tensor from) {
        cache.index_copy_(0, to, cache.index_select(0, from) * 2.0);
        return cache;
      },
      [](Tensor cache, Tensor to, Tensor) {
        cache.index_copy_(0, to, cache.slice(0, 1, 5) + 1.0);
        return cache.sum(0);
      },
      [](Tensor cache, Tensor to, Tensor from) {
        Tensor old = cache * 0.5;
        cache.index_copy_(0, to, old.index_select(0, from));
        return old;
      },
      [](Tensor cache, Tensor to, Tensor from) {
        cache.mul_(0.5);
        cache.index_copy_(0, to, from.unsqueeze(1).to(kFloat32) * ones({1, 6}));
        cache.index_copy_(0, from, cache.index_select(0, to) + 1.0);
        return cache * 2.0;
      },
      [](Tensor cache, Tensor to, Tensor from) {
        cache.slice(1, 0, 3).index_copy_(0, to, cache.slice(1, 3, 6).index_select(0, from) * 2.0);
        return cache;
      },
      [](Tensor cache, Tensor to, Tensor from) {
        Tensor t = to + 0;
        cache.index_copy_(0, t, cache.index_select(0, from).neg());
        to.add_(1);
        return t;
      },
  };
  for (const auto& body : bodies) {
    auto f = compile(body, {.name = "of_itself"});
    for (int call = 0; call < 3; ++call) {
      Tensor a = randn({8, 6}), b = a.clone(), to = tensor({2, 5, 2, 0}), to2 = to.clone();
      const Tensor from = tensor({5, 0, 2, 2});
      EXPECT_TRUE(allclose(f(a, to, from).to(kFloat32), body(b, to2, from).to(kFloat32), 1e-5, 1e-5)) << f.explain();
      EXPECT_TRUE(allclose(a, b, 1e-5, 1e-5)) << f.explain();
      EXPECT_EQ(to.to_vector<std::int64_t>(), to2.to_vector<std::int64_t>());
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0);
  }
}

// Written before what may fail: kept until that is over is what the indices may name, not all of the argument.
TEST(Scatters, WhatIsKeptIsWhatTheIndicesReach) {
  auto body = [](Tensor kv, Tensor slots, Tensor x, Tensor table, Int n) {
    kv.slice(0, 1, 3).index_copy_(1, slots, x * 2.0);
    const Tensor row = table.index_select(0, ((kv.sum() * 0.0).to(kInt64) + n).reshape({1}));
    kv[3].index_copy_(0, slots, x[0] + row);
    return row;
  };
  auto f = compile(body, {.name = "kept"});
  const Tensor x = randn({2, 3, 8}), table = randn({5, 8}), slots = tensor({4, 7, 4});
  Tensor a = randn({4, 50, 8}), b = a.clone();
  EXPECT_TRUE(allclose(f(a, slots, x, table, 2), body(b, slots, x, table, 2)));
  EXPECT_TRUE(allclose(a, b, 1e-6, 1e-6));
  EXPECT_EQ(f.stats().copied_bytes, 2 * 50 * 8 * 4) << f.explain();
  EXPECT_EQ(error_of([&] { f(a, slots, x, table, 9); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_TRUE(allclose(a, b, 1e-6, 1e-6));
}

}  // namespace
}  // namespace reprise
