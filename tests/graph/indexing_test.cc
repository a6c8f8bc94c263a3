// What stands between brackets: x.index({...}) against the same in single operators and loops.
#include <gtest/gtest.h>

#include "reprise/accessor.h"
#include "reprise/reprise.h"

using namespace reprise;
using namespace reprise::indexing;

namespace {

Tensor counted(IntArrayRef sizes) {
  Int n = 1;
  for (Int s : sizes) n = n * s;
  return arange(n, {.dtype = kFloat32}).reshape(sizes);
}
void same(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  EXPECT_EQ(a.to_vector<double>(), b.to_vector<double>());
}
/// f eagerly and compiled, on copies; both give the result and what became of x.
template <class F>
Tensor both(F f, const Tensor& x) {
  const Tensor a = x.clone(), b = x.clone();
  const Tensor eager = f(a);
  auto step = compile(f);
  const Tensor compiled = step(b);
  same(eager, compiled);
  same(a, b);
  EXPECT_EQ(step.stats().eager_fallbacks, 0u);
  return eager;
}
template <class F>
std::string told(F f) {
  try {
    f();
  } catch (const Error& e) {
    return std::string(e.message());
  }
  return "nothing";
}

TEST(Indexing, NumbersSlicesNoneAndEllipsisAreViews) {
  const Tensor x = counted({4, 5, 6});
  same(both([](Tensor x) { return x.index({1}); }, x), x.select(0, 1));
  same(both([](Tensor x) { return x.index({Slice(), -1}); }, x), x.select(1, -1));
  same(both([](Tensor x) { return x.index({Slice(1, 3), "...", 0}); }, x), x.slice(0, 1, 3).select(-1, 0));
  same(both([](Tensor x) { return x.index({Ellipsis, Slice(None, None, 2)}); }, x), x.slice(2, {}, {}, 2));
  same(both(
           [](Tensor x) {
             return x.index({None, 2, None, Slice(-3, None)});
           },
           x),
       x.select(0, 2).slice(0, -3).unsqueeze(0).unsqueeze(1));
  same(both(
           [](Tensor x) {
             return x.index({Slice(x.size(0) - 2, x.size(0)), "...", None});
           },
           x),
       x.slice(0, 2, 4).unsqueeze(-1));
  EXPECT_TRUE(x.index({Slice(1, 3), 0}).shares_storage_with(x));
  EXPECT_TRUE(x.index({}).shares_storage_with(x));
  EXPECT_FALSE(x.index({}).is_same(x));
  same(index(x, {0, 0, 0}), zeros({}));
}

TEST(Indexing, TensorsStandWhereViewsLeaveThem) {
  const Tensor x = counted({4, 5, 6});
  const Tensor i = tensor({3, 0, -1});
  same(both(
           [i](Tensor x) {
             return x.index({Slice(), i, Slice(0, 2)});
           },
           x),
       x.index_select(1, i.remainder(5)).slice(2, 0, 2));
  same(both([i](Tensor x) { return x.index({2, "...", i}); }, x), x.select(0, 2).index_select(1, i.remainder(6)));
  same(x.index({i, i}), x.index(std::vector<Tensor>{i, i}));
  same(x.index({Tensor(), i}), x.index({Slice(), i}));
  same(x.index({{}, i}), x.index({Slice(), i}));
  const std::vector<TensorIndex> held = {i, None, 1};
  same(x.index(held), x.index({i, None, 1}));
  same(x.index({tensor(2), i}), x.select(0, 2).index_select(0, i.remainder(5)));
}

TEST(Indexing, WritesThroughViewsAndTensors) {
  const Tensor x = counted({4, 5, 6});
  auto checked = [&](auto f, auto element) {
    const Tensor got = both(
        [f](Tensor x) {
          f(x);
          return x.sum();
        },
        x);
    Tensor y = x.clone();
    f(y);
    auto a = y.accessor<float, 3>();
    const Tensor before = x;
    auto b = before.accessor<float, 3>();
    for (std::int64_t i = 0; i < 4; ++i)
      for (std::int64_t j = 0; j < 5; ++j)
        for (std::int64_t k = 0; k < 6; ++k)
          ASSERT_EQ(a[i][j][k], element(i, j, k, b[i][j][k])) << i << ' ' << j << ' ' << k;
    (void)got;
  };
  checked(
      [](Tensor x) {
        x.index_put_({Slice(1, 3), 0}, 7);
      },
      [](auto i, auto j, auto, float was) { return (i == 1 || i == 2) && j == 0 ? 7.f : was; });
  checked(
      [](Tensor x) {
        x.index_put_({"...", -1}, ones({1, 1, 5}));
      },
      [](auto, auto, auto k, float was) { return k == 5 ? 1.f : was; });
  checked([](Tensor x) { x.index_put_({1}, 2.5, true); },
          [](auto i, auto, auto, float was) { return i == 1 ? was + 2.5f : was; });
  checked(
      [](Tensor x) {
        x.index({2, Slice(None, 2)}) = -1;
      },
      [](auto i, auto j, auto, float was) { return i == 2 && j < 2 ? -1.f : was; });
  const Tensor some = tensor({1, 4}), twice = tensor({1, 1});
  checked(
      [some](Tensor x) {
        x.index_put_({Slice(), some, 0}, 9.0);
      },
      [](auto, auto j, auto k, float was) { return (j == 1 || j == 4) && k == 0 ? 9.f : was; });
  checked(
      [twice](Tensor x) {
        x.index_put_({2, twice}, ones({2, 6}), true);
      },
      [](auto i, auto j, auto, float was) { return i == 2 && j == 1 ? was + 2 : was; });
}

TEST(Indexing, MasksChoose) {
  const Tensor x = counted({4, 5, 6});
  auto as_loops = [&](auto f, auto element) {
    both(
        [f](Tensor x) {
          f(x);
          return x + 0;
        },
        x);
    Tensor y = x.clone();
    f(y);
    auto a = y.accessor<float, 3>();
    for (std::int64_t i = 0; i < 4; ++i)
      for (std::int64_t j = 0; j < 5; ++j)
        for (std::int64_t k = 0; k < 6; ++k)
          ASSERT_EQ(a[i][j][k], element(i, j, k, static_cast<float>(i * 30 + j * 6 + k))) << i << ' ' << j << ' ' << k;
  };
  as_loops([](Tensor x) { x.index_put_({x > 50}, -1); }, [](auto, auto, auto, float v) { return v > 50 ? -1.f : v; });
  const Tensor one = tensor({2.0f}), two = tensor({-1.f, -2.f}).view({2, 1, 1}),
               three = tensor({-1.f, -2.f, -3.f}).view({3, 1}), added = tensor({100.f, 200.f, 300.f}).view({3, 1});
  as_loops([one](Tensor x) { x.index_put_({x > 50}, one); },
           [](auto, auto, auto, float v) { return v > 50 ? 2.f : v; });
  as_loops([](Tensor x) { x.index_put_({x > 50}, 1, true); },
           [](auto, auto, auto, float v) { return v > 50 ? v + 1 : v; });
  const Tensor rows = tensor({true, false, true, false});
  as_loops([rows](Tensor x) { x.index_put_({rows}, arange(6, {.dtype = kFloat32})); },
           [](auto i, auto, auto k, float v) { return i % 2 ? v : static_cast<float>(k); });
  // A slice for each true element, in order; the mask in front, and behind dimensions that stay.
  as_loops([rows, two](Tensor x) { x.index_put_({rows}, two); },
           [](auto i, auto, auto, float v) { return i == 0   ? -1.f
                                                    : i == 2 ? -2.f
                                                             : v; });
  const Tensor columns = tensor({false, true, true, false, true});
  as_loops(
      [columns, three](Tensor x) {
        x.index_put_({Slice(1, None), columns, Slice(0, 3)}, three);
      },
      [](auto i, auto j, auto k, float v) {
        return i >= 1 && k < 3 && (j == 1 || j == 2 || j == 4) ? (j == 1 ? -1.f : j == 2 ? -2.f : -3.f) : v;
      });
  as_loops(
      [columns, added](Tensor x) {
        x.index_put_({0, columns}, added, true);
      },
      [](auto i, auto j, auto, float v) {
        return i == 0 && (j == 1 || j == 2 || j == 4) ? v + (j == 1 ? 100 : j == 2 ? 200 : 300) : v;
      });
  // What masks show.
  same(both([](Tensor x) { return x.index({x > 50}); }, x), x.flatten().slice(0, 51));
  same(both([rows](Tensor x) { return x.index({rows, "...", 0}); }, x), x.select(2, 0).slice(0, 0, {}, 2));
  same(both(
           [columns](Tensor x) {
             return x.index({1, columns, Slice(0, 2)});
           },
           x),
       x.select(0, 1).index_select(0, tensor({1, 2, 4})).slice(1, 0, 2));
  // Nothing is true, nothing is there.
  as_loops([](Tensor x) { x.index_put_({x < 0}, 5); }, [](auto, auto, auto, float v) { return v; });
  both(
      [](Tensor x) {
        x.index_put_({x > 0}, 5);
        return x + 0;
      },
      zeros({0, 3}));
}

TEST(Indexing, OneCompilationServesAllSizes) {
  auto step = compile([](Tensor x) {
    Tensor y = x.index({Slice(1, None), None, Slice(0, x.size(1) - 1)}) * 2;
    y.index_put_({y > 6}, 0);
    return y;
  });
  for (int n : {5, 4, 9, 16}) {
    const Tensor x = counted({n, n + 1});
    Tensor want = x.slice(0, 1).slice(1, 0, n).unsqueeze(1) * 2;
    want = where(want > 6, zeros({}), want);
    same(step(x), want);
  }
  EXPECT_EQ(step.stats().compilations, 1u);
  EXPECT_EQ(step.stats().eager_fallbacks, 0u);
}

TEST(Indexing, MistakesAreToldInTheirTerms) {
  const Tensor x = counted({4, 5});
  EXPECT_EQ(told([&] { x.index({0, 0, 0}); }), "indices for 3 dimensions of a tensor of sizes [4, 5]");
  EXPECT_EQ(told([&] { x.index({"...", 0, Ellipsis}); }), "'...' stands more than once");
  EXPECT_EQ(told([&] { x.index({".."}); }), "'..' is no index; the only text is '...'");
  EXPECT_NE(told([&] { x.index({7}); }), "nothing");
  EXPECT_NE(told([&] { x.index({Slice(None, None, -1)}); }), "nothing");
  EXPECT_EQ(told([&] { x.index_put_({ones({5}) > 0}, 1); }), "a mask of sizes [5] from dimension 0 on of sizes [4, 5]");
  EXPECT_NE(told([&] { x.index_put_({x > 0}, ones({3}, {.dtype = kInt64})); }), "nothing");
  EXPECT_NE(told([&] { x.index_put_({x > 3}, ones({4})); }), "nothing");  // 16 places, 4 values
  EXPECT_EQ(told([&] { x.accessor<float, 3>(); }), "of 3 dimensions, of a tensor of 2");
  EXPECT_NE(told([&] { x.index({ones({3}) > 0}); }), "nothing");
  same(x, counted({4, 5}));
}

}  // namespace
