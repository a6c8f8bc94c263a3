// Arguments and results of every kind, recordings and their bounds, the pool, captured tensors, random numbers.
#include <gtest/gtest.h>

#include <random>

#include "reprise/reprise.h"

namespace reprise {
namespace {

double total(const Tensor& t) { return t.sum().item().to_double(); }

struct Inner {
  Tensor w;
  std::optional<Tensor> bias;
};
struct Model {
  std::vector<Inner> layers;
  std::map<std::string, Tensor> named;
  std::array<Tensor, 2> pair;
  double scale = 1;
  bool negate = false;
};
struct Result {
  Tensor sum;
  std::tuple<Tensor, Int> more;
};

TEST(Arguments, NestedStructuresInAndOut) {
  auto g = [](const Model& m, Tensor x, std::string how, Int n) {
    for (const Inner& l : m.layers) {
      x = x * l.w;
      if (l.bias) x = x + *l.bias;
    }
    for (const auto& [key, t] : m.named) x = x + t;
    x = x * m.scale + m.pair[0] - m.pair[1];
    if (m.negate) x = -x;
    if (how == "twice") x = x * 2;
    return Result{x, {x.slice(0, 0, n), n + x.size(0)}};
  };
  auto f = compile(g, {.name = "nested"});
  Model m;
  m.layers = {{full({3}, 2.0), std::nullopt}, {full({3}, 3.0), full({3}, 1.0)}};
  m.named = {{"a", ones({3})}, {"b", ones({3})}};
  m.pair = {full({3}, 5.0), full({3}, 4.0)};
  Tensor x = ones({3});
  Result r = f(m, x, std::string("once"), 2);
  EXPECT_EQ(total(r.sum), 3 * (6 + 1 + 2 + 1));
  EXPECT_EQ(total(std::get<0>(r.more)), 2 * 10);
  EXPECT_EQ(std::get<1>(r.more).value(), 5);
  EXPECT_EQ(std::get<1>(f(m, x, std::string("once"), 3).more).value(), 6);
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(total(f(m, x, std::string("twice"), 2).sum), 60);  // a string is a constant of the compilation
  m.negate = true;
  EXPECT_EQ(total(f(m, x, std::string("twice"), 2).sum), -60);
  m.scale = 0.5;
  EXPECT_EQ(total(f(m, x, std::string("twice"), 2).sum), -2 * 3 * (9 * 0.5 + 1));
  EXPECT_EQ(f.stats().compilations, 4);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Arguments, GenericLambdasFunctionPointersAndNumbersForInts) {
  auto generic = compile([](auto x, auto y) { return x * y; }, {.name = "generic"});
  EXPECT_EQ(total(generic(ones({2}), ones({2}))), 2);
  auto taking_int = compile([](Tensor x, Int n) { return x * Scalar(n); }, {.name = "number"});
  for (int n = 0; n < 5; ++n) EXPECT_EQ(total(taking_int(ones({4}), n)), 4 * n);
  EXPECT_EQ(taking_int.stats().compilations, 1);
}

TEST(Captured, TensorsAreInputsNotConstants) {
  Tensor w = ones({3});
  auto f = compile([w](Tensor x) { return x * w; }, {.name = "captured"});
  EXPECT_EQ(total(f(ones({3}))), 3);
  w.mul_(5);
  EXPECT_EQ(total(f(ones({3}))), 15);
  auto writes = compile([w](Tensor x) { w.add_(x); }, {.name = "captured_written"});
  writes(ones({3}));
  writes(ones({3}));
  EXPECT_EQ(total(w), 21);
}

TEST(Results, AreNeverOverwritten) {
  auto f = compile([](Tensor x) { return x * 2; }, {.name = "results"});
  std::vector<Tensor> kept;
  for (int i = 0; i < 20; ++i) kept.push_back(f(full({8}, i)));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(total(kept[static_cast<std::size_t>(i)]), 16 * i);
}

// All specializations of a function share the bounds: the recording that goes is the oldest of any.
TEST(Recordings, AreBoundedForTheFunctionAsAWhole) {
  auto f = compile([](Tensor x) { return x + 1; }, {.name = "together", .recordings_max = 4});
  const DType dtypes[] = {kFloat32, kInt32, kFloat64};
  for (int n = 2; n < 12; ++n)
    for (DType t : dtypes) f(ones({n}, {.dtype = t}));
  Stats s = f.stats();
  EXPECT_EQ(s.specializations, 3);
  EXPECT_EQ(s.recordings, 4);
  EXPECT_EQ(s.recordings_made, 30);
  EXPECT_EQ(s.evictions, 26);
  f(ones({11})), f(ones({11}, {.dtype = kFloat64}));  // which are among the latest
  EXPECT_EQ(f.stats().recordings_made, 30);
  f(ones({40}, {.dtype = kInt32})), f(ones({41}, {.dtype = kInt32}));  // the latest of each stay
  f(ones({11})), f(ones({11}, {.dtype = kFloat64}));
  EXPECT_EQ(f.stats().recordings_made, 32);
  EXPECT_EQ(f.stats().recordings, 4);
  auto bytes = compile([](Tensor x) { return x + 1; }, {.name = "bytes", .recordings_bytes = 1});
  for (DType t : dtypes) bytes(ones({2}, {.dtype = t}));
  EXPECT_EQ(bytes.stats().recordings, 1);
}

TEST(Recordings, AreBoundedByCountAndBytes) {
  auto f = compile([](Tensor x) { return x + 1; }, {.name = "bounded", .recordings_max = 4});
  for (int round = 0; round < 2; ++round)
    for (int n = 2; n < 12; ++n) EXPECT_EQ(total(f(ones({n}))), 2 * n);
  Stats s = f.stats();
  EXPECT_EQ(s.recordings, 4);
  EXPECT_EQ(s.recordings_made, 20);
  EXPECT_EQ(s.evictions, 16);
  EXPECT_EQ(s.compilations, 1);
  auto small = compile([](Tensor x) { return x + 1; }, {.name = "few_bytes", .recordings_bytes = 1});
  for (int n = 2; n < 8; ++n) small(ones({n}));
  EXPECT_EQ(small.stats().recordings, 1);  // the one in use stays, whatever its size
  auto recent = compile([](Tensor x) { return x + 1; }, {.name = "recent", .recordings_max = 2});
  for (int n : {2, 3, 2, 4, 2, 3}) recent(ones({n}));
  EXPECT_EQ(recent.stats().recordings_made, 4);  // 2 3 . 4(drops 3) . 3
}

TEST(Recordings, MadeOfTheMemoryOfDisplacedOnesAreRight) {
  auto work = [](Tensor x, Tensor w, Int from) {
    Tensor y = softmax(mm(x, w), -1) + x.slice(1, from, from + 1);
    return std::vector<Tensor>{y, cat({y, x}, 0).sum(), mm(y, w)};
  };
  auto few = compile(work, {.name = "few", .recordings_max = 2});
  auto many = compile(work, {.name = "many"});
  Tensor w = rand({16, 16});
  for (int round = 0; round < 2; ++round)
    for (int n : {9, 2, 33, 3, 4, 2, 70, 5}) {
      Tensor x = rand({n, 16});
      std::vector<Tensor> a = few(x, w, n % 7), b = many(x, w, n % 7);
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].to_vector<float>(), b[i].to_vector<float>()) << n;
    }
  EXPECT_GT(few.stats().evictions, 10);
  EXPECT_EQ(many.stats().evictions, 0);
}

// Linears of one x run as one launch; each result is what it is alone, for few rows and many, on one thread and on
// some.
TEST(Products, SeveralOfOneX) {
  auto three = [](Tensor x, Tensor a, Tensor b, Tensor c) {
    return std::vector<Tensor>{linear(x, a), linear(x, b).transpose(0, 1), linear(x, c) + 1};
  };
  const int threads = num_threads();
  for (DType t : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
    auto f = compile(three, {.name = "three"});
    for (int use : {1, 4}) {
      set_num_threads(use);
      for (int rows : {1, 2, 5, 16, 17, 100, 0})
        for (bool strided : {false, true}) {
          const int k = rows == 1 ? 4096 : 48;  // 4096: enough for several threads
          Tensor x = (rand({rows, k}) - 0.5).to(t), a = (rand({300, k}) - 0.5).to(t), c = (rand({7, k}) - 0.5).to(t);
          Tensor b = (rand({k, 40}) - 0.5).to(t).transpose(0, 1);
          if (strided) x = (rand({rows, 2 * k}) - 0.5).to(t).slice(1, 0, 2 * k, 2);
          std::vector<Tensor> got = f(x, a, b, c), want = three(x, a, b, c);
          for (std::size_t i = 0; i < got.size(); ++i) {
            std::vector<double> g = got[i].to(kFloat64).to_vector<double>(),
                                w = want[i].to(kFloat64).to_vector<double>();
            ASSERT_EQ(g.size(), w.size());
            for (std::size_t e = 0; e < g.size(); ++e)
              ASSERT_EQ(g[e], w[e]) << dtype_name(t) << " " << rows << " rows, result " << i;
          }
        }
    }
  }
  set_num_threads(threads);
}

TEST(Pool, IsAsLargeAsTheLargestSizeNeeds) {
  auto make = [] { return compile([](Tensor x, Tensor w) { return mm(softmax(mm(x, w), -1), w); }, {.name = "pool"}); };
  Tensor w = full({32, 32}, 0.1);
  auto only_largest = make();
  release_pool();
  only_largest(ones({3000, 32}), w);
  std::int64_t need = stats().pool_bytes;
  release_pool();
  auto f = make();
  std::mt19937 rng(1);
  for (int i = 0; i < 200; ++i) f(ones({1 + static_cast<int>(rng() % 3000), 32}), w);
  f(ones({3000, 32}), w);
  EXPECT_EQ(stats().pool_bytes, need);
  EXPECT_LE(f.stats().compilations, 2);
}

TEST(Random, CompiledCallsDrawTheStreamThatEagerDraws) {
  auto g = [](Tensor x) { return x + rand({4}) + randn({4}) * 0.5; };
  auto f = compile(g, {.name = "random"});
  Tensor x = zeros({4});
  manual_seed(7);
  std::vector<std::vector<float>> want, got;
  for (int i = 0; i < 4; ++i) want.push_back(g(x).to_vector<float>());
  manual_seed(7);
  for (int i = 0; i < 4; ++i) got.push_back(f(x).to_vector<float>());
  EXPECT_EQ(want, got);
  EXPECT_NE(want[0], want[1]);
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(Branches, EachSideIsACompilationOfItsOwn) {
  auto f = compile([](Tensor x) { return x.size(0) > 10 ? x + 1 : x - 1; }, {.name = "branch"});
  for (int n = 2; n < 30; ++n) EXPECT_EQ(total(f(ones({n}))), n > 10 ? 2 * n : 0);
  EXPECT_EQ(f.stats().compilations, 2);
}

// The strides of both are written down before a guard says that their sizes are equal.
TEST(Branches, RowMajorStaysRowMajorAfterSizesAreFoundEqual) {
  auto window = [](Tensor x, Tensor y) {
    Tensor sum = x + y;
    return y.as_strided({2}, {1}, 1) + sum.sum();
  };
  auto turned = [](Tensor x, Tensor y) {
    Tensor z = y * 1;
    Tensor sum = x + z;
    z.transpose(0, 1).mul_(2);
    z.transpose(1, 2).add_(sum.transpose(1, 2));
    return z;
  };
  auto f = compile(window, {.name = "window"});
  auto g = compile(turned, {.name = "turned"});
  for (int n : {4, 5}) {
    Tensor x = ones({n, 3, 2}), y = arange(n * 6).to(kFloat32).view({n, 3, 2});
    EXPECT_EQ(total(f(x, y)), total(window(x, y)));
    Tensor got = g(x, y), want = turned(x, y);
    EXPECT_TRUE(equal(got, want));
    EXPECT_EQ(got.strides(), want.strides());
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(Limits, PastTheLimitOfSpecializationsCallsAreServedEagerly) {
  auto f = compile([](Tensor x, int k) { return x * k; }, {.name = "limited", .max_specializations = 3});
  for (int k = 0; k < 6; ++k) EXPECT_EQ(total(f(ones({2}), k)), 2 * k);
  EXPECT_EQ(f.stats().specializations, 3);
  EXPECT_EQ(f.stats().eager_fallbacks, 3);
}

// What three calls were refused for, or compiled in another way, is no part of the structure: calls of which it is not
// true are compiled.
template <class F, class Refused, class Other>
void expect_compiled_after_refusals(F f, Refused refused, Other other) {
  auto c = compile(f, {.name = "refused"});
  for (int i = 0; i < 5; ++i) refused(c);
  const auto before = c.stats();
  for (int i = 0; i < 2; ++i) other(c);
  EXPECT_EQ(c.stats().eager_fallbacks, before.eager_fallbacks) << c.stats().last_fallback_reason;
  EXPECT_LE(c.stats().compilations, before.compilations + 1);
  refused(c);
}

TEST(Refused, ForAliasesOnly) {
  auto add = [](Tensor x, Tensor y) {
    x.add_(y);
    return x.sum();
  };
  expect_compiled_after_refusals(
      add,
      [](auto& c) {
        Tensor a = ones({6});
        EXPECT_EQ(total(c(a.slice(0, 0, 4), a.slice(0, 2, 6))), 8);
        EXPECT_EQ(total(c(a.slice(0, 0, 4), a.slice(0, 2, 6))), 14);
      },
      [](auto& c) { EXPECT_EQ(total(c(ones({4}), full({4}, 3.0))), 16); });
  auto turn = [](Tensor x, Tensor y) {
    x.t_();
    return x.size(0) + y.size(0);
  };
  expect_compiled_after_refusals(
      turn,
      [](auto& c) {
        Tensor a = ones({2, 3});
        EXPECT_EQ(c(a, a).value(), 6);
      },
      [](auto& c) {
        EXPECT_EQ(c(ones({2, 3}), ones({2, 3})).value(), 5);
      });
}

TEST(Refused, ForAPartOfAStorageOnly) {
  expect_compiled_after_refusals([](Tensor x) { return x.as_strided({2}, {1}) + 1; },
                                 [](auto& c) { EXPECT_EQ(total(c(arange(8).slice(0, 3, 6))), 3 + 4 + 2); },
                                 [](auto& c) { EXPECT_EQ(total(c(arange(3))), 3); });
}

TEST(Refused, OnOneSideOfABranchOnly) {
  expect_compiled_after_refusals([](Tensor x) { return x.size(0) > 10 ? x * x.sum().item().to_double() : x + 1; },
                                 [](auto& c) { EXPECT_EQ(total(c(ones({20}))), 400); },
                                 [](auto& c) { EXPECT_EQ(total(c(ones({5}))), 10); });
  // What is done for one side says nothing of the other, either: a call of a mutable function that it changes.
  int large = 0;
  expect_compiled_after_refusals(
      [large](Tensor x) mutable {
        if (x.size(0) > 10) ++large;
        return x + 1;
      },
      [](auto& c) { EXPECT_EQ(total(c(ones({20}))), 40); }, [](auto& c) { EXPECT_EQ(total(c(ones({5}))), 10); });
}

TEST(Refused, TheSameCallsStayEager) {
  int traced = 0;
  auto c = compile(
      [&](Tensor x, Tensor y) {
        ++traced;
        return x.size(0) > 10 ? x * y.sum().item().to_double() : x + y;
      },
      {.name = "stays"});
  for (int i = 0; i < 8; ++i) c(ones({20}), ones({20}));
  EXPECT_EQ(traced, 3 + 8) << "three tries, and eight eager calls";
  for (int n = 11; n < 30; ++n) c(ones({n}), ones({n}));
  EXPECT_EQ(traced, 11 + 19) << "these are refused for the same reason";
  EXPECT_EQ(c.stats().eager_fallbacks, 27);
}

TEST(Explain, NamesGraphGuardsLaunchesAndReasons) {
  auto f = compile(
      [](Tensor x, Tensor y) {
        x.slice(0, 0, 1).add_(1);
        return softmax(x + y, -1);
      },
      {.name = "explained"});
  f(ones({3, 4}), ones({3, 4}));
  std::string s = f.explain();
  for (const char* word : {"explained/0", "guards", "calls_test.cc", "exp(%", "launches", "is written in place", "s0"})
    EXPECT_NE(s.find(word), std::string::npos) << word << "\n" << s;
  f.reset();
  EXPECT_EQ(f.stats().specializations, 0);
  EXPECT_EQ(total(f(ones({3, 4}), ones({3, 4}))), 3);
}

}  // namespace
}  // namespace reprise
