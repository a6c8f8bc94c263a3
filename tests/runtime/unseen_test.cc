// What a function reads besides tensors and arguments: members and captures by value are seen, what no guard can see is
// found by checks (CompileOptions::check).
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <thread>

#include "base/knobs.h"
#include "reprise/reprise.h"
#include "tests/support/element.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

const CompileOptions kEach{.name = "unseen", .check = 1};

void expect_found(const Error& e, const std::vector<std::string>& parts) {
  EXPECT_EQ(e.code(), ErrorCode::CheckFailed) << e.what();
  for (const std::string& p : parts)
    EXPECT_NE(std::string(e.what()).find(p), std::string::npos) << p << " is not in: " << e.what();
  EXPECT_NE(std::string(e.what()).find("Likely cause: a number or flag"), std::string::npos);
}

TEST(Check, ANumberByReference) {
  double k = 2;
  auto f = compile([&](Tensor x) { return x + 1.0 + x * k; }, kEach);
  EXPECT_EQ(at(f(ones({2, 2})), 3), 4);
  EXPECT_EQ(at(f(ones({3, 2})), 3), 4);
  k = 3;
  expect_found(error_of([&] {
                 f(ones({2, 2}));
               }),
               {"unseen: ", "result: element [0, 0] is 4 in the replay and 5 when the function runs (and 3 more)",
                "made by add", "unseen_test.cc:"});
  f.reset();
  EXPECT_EQ(at(f(ones({2, 2})), 3), 5);
  EXPECT_EQ(f.stats().checks, 1);
}

TEST(Check, AFlagByReference) {
  bool negate = false;
  auto f = compile([&](Tensor x) { return negate ? x.neg() : x * 1.0; }, kEach);
  f(ones({2}));
  negate = true;
  expect_found(error_of([&] { f(ones({2})); }), {"is 1 in the replay and -1 when the function runs", "made by neg"});
}

TEST(Check, ACounterByReference) {
  int n = 0;
  auto f = compile([&](Tensor x) { return x * static_cast<double>(++n); }, kEach);
  expect_found(error_of([&] { f(ones({2})); }),
               {"is 1 in the replay and 2 when", "or the function itself changes one"});
}

double g_gain = 2;
TEST(Check, AGlobal) {
  auto f = compile([](Tensor x) { return x * g_gain; }, kEach);
  f(ones({2}));
  g_gain = 4;
  expect_found(error_of([&] { f(ones({2})); }), {"is 2 in the replay and 4 when"});
}

struct Scaled {
  double scale = 2;
  Tensor w = ones({2});
  Tensor operator()(Tensor x) const { return x * scale * w; }
};
TEST(Check, AMemberBehindAReference) {
  Scaled model;
  auto f = compile([&](Tensor x) { return model(x); }, kEach);
  f(ones({2}));
  model.w = full({2}, 3.0);
  EXPECT_EQ(at(f(ones({2})), 0), 6);
  model.scale = 5;
  expect_found(error_of([&] { f(ones({2})); }), {"is 6 in the replay and 15 when"});
}

TEST(Check, AContainerThatGrows) {
  std::vector<Tensor> all{ones({2})};
  all.reserve(4);
  auto f = compile(
      [&](Tensor x) {
        for (const Tensor& t : all) x = x + t;
        return x;
      },
      kEach);
  f(ones({2}));
  all.push_back(ones({2}));
  expect_found(error_of([&] { f(ones({2})); }), {"is 2 in the replay and 3 when"});
}

TEST(Check, WhatIsReturnedBesidesTensors) {
  int k = 1;
  std::optional<Tensor> extra;
  auto numbers = compile([&](Tensor x) { return std::pair(x.size(0) + k, k); }, kEach);
  auto optional = compile([&](Tensor x) { return std::pair(x * 2.0, extra ? std::optional(x) : std::nullopt); }, kEach);
  auto sizes = compile([&](Tensor x) { return std::vector{x.slice(0, 0, k) * 2.0}; }, kEach);
  EXPECT_EQ(numbers(ones({2})).first.value(), 3);
  optional(ones({2}));
  sizes(ones({4}));
  k = 2, extra = ones({1});
  expect_found(error_of([&] { numbers(ones({2})); }), {"result .0 is 3 in the replay and 4 when"});
  expect_found(error_of([&] { optional(ones({2})); }),
               {"result .1 (a number, a length or whether something is there) is another one"});
  expect_found(error_of([&] { sizes(ones({4})); }), {"result [0]: its sizes are [1] in the replay and [2] when"});
}

TEST(Check, WhatIsWritten) {
  double k = 1;
  Tensor state = zeros({2, 3}), other = zeros({2}), x = ones({3});
  auto f = compile(
      [&](Tensor x) {
        state[1].add_(x * k);
        if (k > 2) other.fill_(7.0);
      },
      kEach);
  f(x);
  f(x);
  EXPECT_EQ(at(state, 3), 2);
  EXPECT_EQ(at(state, 0), 0);
  k = 2;
  expect_found(error_of([&] { f(x); }),
               {"what is written to captured 0: element [3] is 3 in the replay and 4 when", "written by add"});
  EXPECT_EQ(at(state, 3), 2) << "as before the call";
  k = 3;
  expect_found(error_of([&] { f(x); }), {"captured 0"});
  EXPECT_EQ(at(other, 0), 0) << "as before the call, though the replay knows nothing of it";
  auto only = compile([&](Tensor x) { return k > 3 ? other.fill_(7.0) : x; }, kEach);
  only(x);
  k = 4;
  EXPECT_EQ(error_of([&] { only(x); }).code(), ErrorCode::CheckFailed);
  EXPECT_EQ(at(other, 0), 0);
}

TEST(Check, SizesThatAreChanged) {
  bool transpose = false;
  auto f = compile(
      [&](Tensor x) {
        x.unsqueeze_(0);
        if (transpose) x.transpose_(0, 1);
      },
      kEach);
  Tensor x = ones({3});
  f(x);
  EXPECT_EQ(x.dim(), 2);
  transpose = true;
  Tensor y = ones({3});
  expect_found(error_of([&] { f(y); }), {"arg 0: its sizes are [1, 3] in the replay and [3, 1] when"});
  EXPECT_EQ(y.dim(), 1);
}

TEST(Check, AnErrorThatOnlyOneRaises) {
  bool strict = false;
  auto f = compile(
      [&](Tensor x) {
        if (strict) throw std::runtime_error("too strict");
        return x * 2.0;
      },
      kEach);
  f(ones({1}));
  strict = true;
  expect_found(error_of([&] { f(ones({1})); }), {"the function throws 'too strict', the replay nothing"});
  auto both = compile([](Tensor table, Tensor i) { return embedding(table, i); }, kEach);
  EXPECT_EQ(error_of([&] { both(ones({2, 2}), full({1}, 5, {.dtype = kInt64})); }).code(), ErrorCode::IndexOutOfRange);
}

TEST(Check, FindsNothingWhereNothingIsStale) {
  Tensor cache = zeros({4, 8}), w = rand({8, 8});
  struct Step {
    Tensor h;
    std::vector<Tensor> parts;
    Int n;
  };
  auto f = compile(
      [&](Tensor x, Int at, Scalar gain) {
        cache.narrow(0, at, 1).copy_(mm(x, w));
        x.mul_(gain);
        Tensor noise = rand_like(x) * 0.1;
        Tensor y = softmax(cache.sum(1), 0) + noise.sum();
        return Step{y.to(kFloat16), {cache[0], y, x.t(), argmax(y, 0, false)}, at + 1};
      },
      kEach);
  auto again = compile([&](Tensor x) { return x.t(); }, kEach);
  for (int i = 0; i < 4; ++i) {
    Tensor x = rand({1, 8});
    manual_seed(i);
    Step s = f(x, i, 0.5 + i);
    EXPECT_TRUE(s.parts[0].shares_storage_with(cache));
    EXPECT_EQ(s.n.value(), i + 1);
    manual_seed(i);
    Tensor noise = rand_like(x) * 0.1;
    EXPECT_TRUE(allclose(s.parts[1], softmax(cache.sum(1), 0) + noise.sum()));
    EXPECT_TRUE(again(x).shares_storage_with(x));
  }
  EXPECT_EQ(f.stats().checks, 4);
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(Check, EveryNthCallAndTheWholeProcess) {
  double k = 2;
  int runs = 0;
  auto third = compile([&](Tensor x) { return ++runs, x * k; }, {.check = 3});
  third(ones({1}));
  k = 3;
  EXPECT_EQ(at(third(ones({1})), 0), 2) << "not checked";
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(error_of([&] { third(ones({1})); }).code(), ErrorCode::CheckFailed);
  EXPECT_EQ(runs, 2);
  Scoped all(knobs().check, 1);
  auto f = compile([&](Tensor x) { return x * k; });
  auto never = compile([&](Tensor x) { return x * k; }, {.check = -1});
  f(ones({1})), never(ones({1}));
  k = 4;
  EXPECT_EQ(error_of([&] { f(ones({1})); }).code(), ErrorCode::CheckFailed);
  EXPECT_EQ(at(never(ones({1})), 0), 3);
}

TEST(Check, CompiledFunctionsInsideRunPlainly) {
  double k = 2;
  auto inner = compile([&](Tensor x) { return x * k; });
  inner(ones({1}));
  auto outer = compile([&](Tensor x) { return inner(x) + 1.0; }, kEach);
  EXPECT_EQ(at(outer(ones({1})), 0), 3);
  k = 5;
  expect_found(error_of([&] { outer(ones({1})); }), {"is 3 in the replay and 6 when"});
}

TEST(Check, FromSeveralThreads) {
  Tensor w = ones({8});
  auto f = compile([&](Tensor x) { return (x * w).sum(); }, kEach);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      for (int i = 1; i < 20; ++i) EXPECT_EQ(f(full({8}, static_cast<double>(i))).item<double>(), 8.0 * i);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(f.stats().checks, 57);
}

struct Linear {
  Tensor w = full({2}, 2.0), bias;
  Tensor operator()(Tensor x) const {
    x = x * w;
    if (bias.defined()) x = x + bias;
    return x;
  }
};

TEST(Defined, ATensorThatBecomesDefined) {
  Linear layer;
  auto f = compile([&](Tensor x) { return layer(x); });
  EXPECT_EQ(at(f(ones({2})), 0), 2);
  layer.bias = ones({2});
  EXPECT_EQ(at(f(ones({2})), 0), 3);
  layer.bias = full({2}, 5.0);
  EXPECT_EQ(at(f(ones({2})), 0), 7);
  layer.bias = Tensor();
  EXPECT_EQ(at(f(ones({2})), 0), 2);
  EXPECT_EQ(f.stats().compilations, 2);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Defined, GivenToAnOperatorThatTakesNone) {
  Tensor w = ones({3, 2}), bias, copy;
  auto f = compile([&](Tensor x) { return linear(x, w, bias); });
  auto copies = compile([&](Tensor x) {
    Tensor b = bias;
    std::vector<Tensor> both{x, b};
    return both[1].defined() ? linear(x, w, both[1]) : x;
  });
  for (int i = 0; i < 4; ++i) {
    bias = i % 2 ? full({3}, 10.0) : Tensor();
    EXPECT_EQ(at(f(ones({1, 2})), 0), i % 2 ? 12 : 2) << i;
    EXPECT_EQ(at(copies(ones({1, 2})), 0), i % 2 ? 12 : 1) << i;
  }
  EXPECT_EQ(f.stats().compilations, 2);
  EXPECT_EQ(copies.stats().compilations, 2);
}

TEST(Defined, AskedOfATensorThatIsNotUsed) {
  Tensor flag = ones({1});
  auto f = compile([&](Tensor x) { return flag.defined() ? x * 2.0 : x; });
  auto by_copy = compile([&](Tensor x) {
    Tensor mine = flag;
    return mine.defined() ? x * 2.0 : x;
  });
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(at(f(ones({1})), 0), i % 2 ? 1 : 2) << i;
    EXPECT_EQ(at(by_copy(ones({1})), 0), i % 2 ? 1 : 2) << i;
    flag = i % 2 ? ones({1}) : Tensor();
  }
  flag = zeros({1});  // which it is does not matter
  EXPECT_EQ(at(f(ones({1})), 0), 2);
  EXPECT_EQ(f.stats().compilations, 2);
}

TEST(Defined, ManyThatStayEmpty) {
  std::vector<Linear> layers(200);
  auto f = compile([&](Tensor x) {
    for (const Linear& l : layers) x = l(x) * 0.5;
    return x;
  });
  EXPECT_EQ(at(f(ones({2})), 0), 1);
  EXPECT_EQ(at(f(ones({2})), 0), 1);
  layers[199].bias = ones({2});
  EXPECT_EQ(at(f(ones({2})), 0), 1.5);
  layers[199].bias = Tensor();
  EXPECT_EQ(at(f(ones({2})), 0), 1);
  EXPECT_EQ(f.stats().compilations, 2);
  layers.clear();
  EXPECT_EQ(at(f(ones({2})), 0), 1);
}

thread_local Tensor mine;  // in a function, a thread that does not come by its declaration would never destroy it

TEST(Defined, InThreadsOwnVariables) {
  auto f = compile([](Tensor x) { return mine.defined() ? x * 2.0 : x; });
  EXPECT_EQ(at(f(ones({1})), 0), 1);
  std::thread([&] {
    mine = ones({1});
    EXPECT_EQ(at(f(ones({1})), 0), 2);
  }).join();
  EXPECT_EQ(at(f(ones({1})), 0), 1);
}

TEST(FunctionBytes, AValueThatAnotherKindOfCallChanges) {
  auto f = compile([n = 1.0](Tensor x, bool step) mutable {
    if (step) n += 1;
    return x * n;
  });
  for (int i = 1; i < 5; ++i) {
    EXPECT_EQ(at(f(ones({1}), false), 0), static_cast<float>(i));
    EXPECT_EQ(at(f(ones({1}), false), 0), static_cast<float>(i));
    EXPECT_EQ(at(f(ones({1}), true), 0), static_cast<float>(i + 1));
  }
  EXPECT_EQ(f.stats().compilations, 4);
}

TEST(FunctionBytes, MembersOfAFunctionTakenByReference) {
  Scaled model;
  auto f = compile(std::ref(model));
  EXPECT_EQ(at(f(ones({2})), 0), 2);
  model.scale = 3;
  EXPECT_EQ(at(f(ones({2})), 0), 3);
  model.scale = 2;
  EXPECT_EQ(at(f(ones({2})), 0), 2);
  for (int i = 0; i < 4; ++i) {
    model.w = full({2}, static_cast<double>(i));  // a tensor is followed, not compared
    EXPECT_EQ(at(f(ones({2})), 0), 2.0f * static_cast<float>(i));
  }
  EXPECT_EQ(f.stats().compilations, 2);
  struct Layers {
    std::vector<Tensor> all{ones({1})};
    std::optional<Tensor> extra;
    Tensor operator()(Tensor x) const {
      for (const Tensor& t : all) x = x + t;
      return extra ? x * *extra : x;
    }
  } layers;
  auto g = compile(std::ref(layers));
  EXPECT_EQ(at(g(ones({1})), 0), 2);
  layers.all.push_back(ones({1}));
  EXPECT_EQ(at(g(ones({1})), 0), 3);
  layers.extra = full({1}, 2.0);
  EXPECT_EQ(at(g(ones({1})), 0), 6);
  layers.extra = full({1}, 3.0);
  EXPECT_EQ(at(g(ones({1})), 0), 9);
  EXPECT_EQ(g.stats().compilations, 3);
  EXPECT_EQ(g.stats().eager_fallbacks, 0);
}

TEST(FunctionBytes, TensorsThatAnotherKindOfCallAssignsCostNoCompilation) {
  struct Recurrent {
    Tensor h = ones({1}), w = full({1}, 2.0);
    Tensor operator()(Tensor x, bool update) {
      if (update) h = h * w + x;
      return x * w;
    }
  };
  auto f = compile(Recurrent{});
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(at(f(ones({1}), false), 0), 2);
    EXPECT_EQ(at(f(ones({1}), true), 0), 2);
  }
  EXPECT_EQ(f.stats().compilations, 2) << "one of each kind";
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(FunctionBytes, OfACompiledFunctionThatAnotherCalls) {
  auto inner = compile([n = 1.0](Tensor x, bool step) mutable {
    if (step) n += 1;
    return x * n;
  });
  auto outer = compile([&](Tensor x) { return inner(x, false) + 1.0; });
  for (int i = 1; i < 4; ++i) {
    EXPECT_EQ(at(outer(ones({1})), 0), 1.0f + static_cast<float>(i));
    EXPECT_EQ(at(inner(ones({1}), true), 0), static_cast<float>(i + 1));
  }
}

}  // namespace
}  // namespace reprise::test
