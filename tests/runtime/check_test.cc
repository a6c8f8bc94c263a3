// Errors that a function catches, and REPRISE_VERIFY=2.
#include <gtest/gtest.h>

#include <stdexcept>

#include "base/knobs.h"
#include "reprise/regions.h"
#include "reprise/reprise.h"
#include "reprise/semi_sparse.h"
#include "runtime/build/specialization.h"
#include "runtime/call/call.h"
#include "tests/support/element.h"
#include "tests/support/error_of.h"

namespace reprise {
namespace {

Tensor indices(std::vector<std::int64_t> v) { return tensor_of(v); }

TEST(CaughtErrors, AreCaughtInReplays) {
  int caught = 0;
  auto f = compile([&caught](Tensor x, Tensor i) {
    Tensor y = x * 2;
    try {
      y = y + x.index_select(0, i);
    } catch (const Error& e) {
      if (e.code() != ErrorCode::IndexOutOfRange) throw;
      ++caught;
      x.zero_();
    }
    return y;
  });
  for (int n : {3, 5, 3}) {
    Tensor x = arange(n, {.dtype = kFloat32}), bad = arange(n, {.dtype = kFloat32});
    EXPECT_EQ(test::at(f(x, indices(std::vector<std::int64_t>(static_cast<std::size_t>(n), 1))), 2), 5.0f);
    const int before = caught;
    Tensor y = f(bad, indices(std::vector<std::int64_t>(static_cast<std::size_t>(n), 7)));
    EXPECT_GT(caught, before);
    EXPECT_EQ(test::at(y, 2), 4.0f);
    EXPECT_EQ(test::at(bad, 2), 0.0f);
    EXPECT_NE(f.stats().last_fallback_reason.find("catches an error"), std::string::npos);
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 3);
}

TEST(CaughtErrors, OthersLeaveArgumentsAsTheyWere) {
  auto f = compile([](Tensor x, Tensor i) {
    x.add_(1);
    try {
      return x.index_select(0, i);
    } catch (const std::logic_error&) {
      return x * 0;
    }
  });
  auto translates = compile([](Tensor x, Tensor i) {
    try {
      return x.index_select(0, i);
    } catch (const Error& e) {
      throw std::runtime_error("mine");
    }
  });
  for (int again = 0; again < 3; ++again) {
    Tensor x = ones({4});
    EXPECT_EQ(test::error_of([&] { f(x, indices({4})); }).code(), ErrorCode::IndexOutOfRange);
    EXPECT_EQ(test::at(x, 3), 1.0f);
    f(x, indices({3}));
    EXPECT_EQ(test::at(x, 3), 2.0f);
    EXPECT_THROW(translates(x, indices({9})), std::runtime_error);
    EXPECT_EQ(test::at(translates(x, indices({3})), 0), 2.0f);
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

// Which of two calls on one line has failed, and what stands behind the catch, only running the function tells.
TEST(CaughtErrors, AreToldFromOthersOfTheSameLine) {
  auto take = [](const Tensor& x, const Tensor& i) { return x.index_select(0, i); };
  auto second = compile([take](Tensor x, Tensor i, Tensor j) {
    Tensor y = take(x, i);
    try {
      return y + take(x, j);
    } catch (const Error&) {
      return y * 10;
    }
  });
  Tensor x = arange(3, {.dtype = kFloat32}), fine = indices({2}), bad = indices({3});
  EXPECT_EQ(test::at(second(x, fine, fine), 0), 4.0f);
  EXPECT_EQ(test::at(second(x, fine, bad), 0), 20.0f);
  EXPECT_EQ(test::error_of([&] { second(x, bad, fine); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(second.stats().eager_fallbacks, 1);

  auto longer = compile([](Tensor x, Tensor i, Tensor j) {
    Tensor y;
    try {
      y = x.index_select(0, i);
    } catch (const Error&) {
      y = arange(10, {.dtype = kFloat32});
    }
    return y.index_select(0, j);
  });
  EXPECT_EQ(test::at(longer(x, fine, indices({0})), 0), 2.0f);
  EXPECT_EQ(test::at(longer(x, bad, indices({9})), 0), 9.0f);
  EXPECT_EQ(test::error_of([&] { longer(x, bad, indices({10})); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(test::error_of([&] { longer(x, fine, indices({9})); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(longer.stats().eager_fallbacks, 1);
}

TEST(CaughtErrors, WithStoragesAsInputs) {
  auto body = [](Tensor x, Tensor i) {
    x.t().mul_(2);
    x.as_strided({4}, {1}, 1).mul_(10);  // traced with the storage as an input
    try {
      return x.index_select(0, i);
    } catch (const Error&) {
      return x.slice(0, 0, 1);
    }
  };
  auto f = compile(body);
  for (int index : {1, 5, 0, -9}) {
    Tensor x = arange(6, {.dtype = kFloat32}).view({2, 3}), y = x.clone();
    Tensor got = f(x, indices({index})), want = body(y, indices({index}));
    EXPECT_EQ(got.str(), want.str());
    EXPECT_EQ(x.str(), y.str());
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 2);
}

// What leaves the function unseen leaves tensors, their sizes and the generator as they were; what is caught takes the
// random numbers that the function takes.
TEST(CaughtErrors, StateIsTheFunctions) {
  auto body = [](Tensor x, Tensor y, Tensor i, Tensor j) {
    x.add_(1);
    y.t_();
    Tensor r = rand({2}), taken;
    try {
      taken = x.index_select(0, i);
    } catch (const Error&) {
      x.mul_(3);
      taken = x.slice(0, 0, 1) + rand({1});
    }
    return taken.index_select(0, j) + r.sum();
  };
  auto f = compile(body);
  auto g = compile(body, {.check = 1});
  for (auto [i, j] : {std::pair{1, 0}, {7, 0}, {1, 5}, {7, 5}, {2, 0}}) {
    auto run = [&, i = i, j = j](auto& function) {
      Tensor x = arange(4, {.dtype = kFloat32}), y = zeros({2, 3});
      manual_seed(5);
      std::string text;
      try {
        text = function(x, y, indices({i}), indices({j})).str();
      } catch (const Error& e) {
        EXPECT_EQ(x.str(), arange(4, {.dtype = kFloat32}).str()) << "after an error";
        EXPECT_EQ(y.size(0).value(), 2) << "after an error";
        return std::string(error_code_name(e.code()));
      }
      return text + x.str() + y.str() + rand({2}).str();
    };
    auto want = [&, i = i, j = j] {
      Tensor x = arange(4, {.dtype = kFloat32}), y = zeros({2, 3});
      manual_seed(5);
      try {
        std::string text = body(x, y, indices({i}), indices({j})).str();
        return text + x.str() + y.str() + rand({2}).str();
      } catch (const Error& e) {
        return std::string(error_code_name(e.code()));
      }
    }();
    EXPECT_EQ(run(f), want) << i << " " << j;
    EXPECT_EQ(run(g), want) << i << " " << j << ", checked";
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 1);
  EXPECT_EQ(g.stats().eager_fallbacks, 1);
}

// A stream's offset that other calls cannot count from would be an overflow in each of them.
TEST(CaughtErrors, AbsurdlyManyRandomNumbersEndNothing) {
  auto f = compile([](Tensor x) { return x + rand({3}); });
  for (std::int64_t n : {INT64_MAX - 6, std::int64_t{1} << 62, INT64_MAX}) {
    manual_seed(3);
    test::error_of([&] { multinomial(ones({4}), n, true); });
    const Tensor eager = zeros({3}) + rand({3});
    manual_seed(3);
    test::error_of([&] { multinomial(ones({4}), n, true); });
    EXPECT_EQ(f(zeros({3})).str(), eager.str()) << n;
  }
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(CaughtErrors, AFailedReplayGivesItsRandomNumbersBack) {
  auto f = compile([](Tensor x, Tensor i) { return x.index_select(0, i) + rand({3}).sum(); });
  Tensor x = ones({4});
  f(x, indices({1}));
  manual_seed(9);
  const std::string first = rand({2}).str();
  manual_seed(9);
  EXPECT_EQ(test::error_of([&] { f(x, indices({4})); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(rand({2}).str(), first);
}

/// REPRISE_VERIFY=2 while it lives.
struct Verifying {
  Verifying() { knobs().verify = 2; }
  ~Verifying() { knobs().verify = before; }
  std::int64_t before = knobs().verify;
};

/// Sums in bodies of loops may be added in another order, as those outside.
TEST(Check, SumsInLoopsMayBeRoundedElsewhere) {
  auto f = compile(
      [](Tensor a, Tensor row) {
        return scan(
                   [&](const Tensor& s, const Tensor& x) {
                     auto [last, ys] = scan(
                         [&](const Tensor& t, const Tensor& y) {
                           const Tensor n = tanh(t + y + x.sum());
                           return std::pair(n, n * 0.53);
                         },
                         zeros({a.size(1)}), a);
                     const Tensor n = (ys + last).sum();
                     return std::pair(n, cat({n.unsqueeze(0), n.unsqueeze(0)}));
                   },
                   zeros({}), row)
            .second;
      },
      {.check = 1});
  for (const std::int64_t n : {3, 17, 130})
    EXPECT_NO_THROW(f(arange(n * 5, {.dtype = kFloat32}).mul(0.137).sin().view({n, 5}), ones({4}) * 0.31)) << n;
}

/// What a body computes in half precision is compared as such, though it gives floats.
TEST(Check, HalfPrecisionInBodies) {
  const Tensor w = arange(64, {.dtype = kFloat32}).mul(0.73).sin().view({8, 8}).to(kBFloat16);
  auto body = [&](const Tensor& x) { return tanh(linear(x.to(kBFloat16) * 1.3, w)).to(kFloat32); };
  const CompileOptions checked{.check = 1};
  auto in_scan = compile(
      [&](Tensor xs) {
        return scan([&](const Tensor& s, const Tensor& x) { return std::pair(body(s + x), body(x)); }, zeros({1, 8}),
                    xs)
            .second;
      },
      checked);
  auto in_cond = compile(
      [&](Tensor xs) {
        const Tensor x = xs.select(0, 0);
        return cond(
            x.sum() > 0.0, [&] { return body(x); }, [&] { return body(-x); });
      },
      checked);
  for (const std::int64_t n : {2, 5}) {
    const Tensor xs = arange(n * 8, {.dtype = kFloat32}).mul(0.37).cos().view({n, 1, 8});
    EXPECT_NO_THROW(in_scan(xs)) << n;
    EXPECT_NO_THROW(in_cond(xs)) << n;
  }
}

TEST(Check, AStorageThatAResizeMakesLarger) {
  auto f = compile(
      [](Tensor x) {
        Tensor part = x.slice(0, 1, 2);
        part.resize_({4});
        part.mul_(2);
        part.select(0, 0).add_(1);
        return part + 1;
      },
      {.check = 1});
  for (int i = 0; i < 4; ++i) {
    Tensor x = ones({2});
    EXPECT_EQ(test::at(f(x), 0), 4);
    EXPECT_EQ(test::at(x, 1), 3);
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Verify, ComparesTheFirstCallsWithTheTracedProgram) {
  Verifying on;
  Tensor captured = ones({3});
  auto f = compile([&captured](Tensor x, Tensor y, Tensor i, Int k, Scalar s) {
    x.slice(0, 0, k).mul_(s);
    Tensor t = y.t_();
    Tensor z = matmul(t, t.t()) + captured.sum() + rand({t.size(0), t.size(0)});
    return std::vector<Tensor>{x, z, z.t().slice(0, 0, 1), t.index_select(0, i), Tensor(), x.select(0, 0)};
  });
  for (int n : {4, 6, 4, 5, 7}) {
    Tensor x = arange(n, {.dtype = kFloat32}), y = arange(2 * n, {.dtype = kFloat32}).view({2, n});
    std::vector<Tensor> r = f(x, y, indices({0, 1}), n - 1, 0.5);
    EXPECT_TRUE(r[0].is_same(x));
    EXPECT_EQ(test::at(x, n - 2), 0.5f * static_cast<float>(n - 2));
    EXPECT_EQ(y.size(0).value(), n);
    EXPECT_EQ(test::error_of([&] { f(x, y.t_(), indices({0, 9}), n - 1, 0.5); }).code(), ErrorCode::IndexOutOfRange);
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Verify, HandlesOfWrappersHoldNothingToCompare) {
  Verifying on;
  const Tensor w = SemiSparse24::prune(arange(64, {.dtype = kFloat32}).mul(0.73).sin().view({8, 8}));
  auto f = compile([&](const Tensor& x) { return linear(x, w); });
  for (int n : {1, 3}) EXPECT_EQ(f(ones({n, 8})).size(0).value(), n);
}

TEST(Verify, StoragesThatTheCallGivesAwayAreCompared) {
  Verifying on;
  auto f = compile([](Tensor x) {
    x.as_strided({2}, {2}, 1).mul_(10);
    x.set_(x.clone());
    return x + 1;
  });
  for (int n : {4, 4, 6}) {
    Tensor x = arange(n, {.dtype = kFloat32}).slice(0, 0, n - 1);
    Tensor r = f(x);
    EXPECT_EQ(test::at(x, 1), 10);
    EXPECT_EQ(test::at(r, 1), 11);
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

/// What is compiled of a function of one tensor, given to it as a trace sees it; `frame` becomes the call with x.
template <class F>
std::unique_ptr<detail::Specialization> specialized(const char* name, const Tensor& x, detail::CallFrame& frame,
                                                    F function) {
  frame.clear();
  detail::walk(x, frame);
  auto body = [&](detail::Tracer& tracer) {
    const std::vector<std::string> no_names;
    detail::ArgumentTracer arguments(tracer, frame, no_names);
    Tensor a = x;
    arguments.tensor(a);
    function(tracer, a);
  };
  return detail::specialize(
      name, kernels::Mode::Full, frame, [](void* b, detail::Tracer& t) { (*static_cast<decltype(body)*>(b))(t); },
      &body);
}

TEST(Verify, NamesWhatDiffers) {
  Verifying on;
  Tensor x = arange(3, {.dtype = kFloat32}), right = tensor({0.0, 2.0, 4.0}), wrong = tensor({0.0, 2.5, 4.0});
  detail::CallFrame frame;
  auto s = specialized("twice", x, frame, [](detail::Tracer& tracer, Tensor a) {
    tracer.result(a * 2);
    a.add_(1);
  });
  ASSERT_TRUE(s->check);
  // What a replay would do, with one mistake or none.
  struct Replay {
    Tensor result, x;
    double added;
    detail::Outputs outputs;
    void operator()() {
      outputs.tensors.push_back(result.impl());
      detail::retain(result.impl());
      x.add_(added);
    }
  };
  auto message = [&](const Tensor& result, double added) -> std::string {
    Replay replay{result, x, added, {}};
    try {
      s->check->run(
          *s, frame, replay.outputs, [](void* r) { (*static_cast<Replay*>(r))(); }, &replay);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::Internal);
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message(right, 1), "");
  x.sub_(1);
  EXPECT_NE(message(wrong, 1).find(
                "twice: REPRISE_VERIFY: result 0: element [1] is 2.5 compiled and 2 by the traced program"),
            std::string::npos);
  x.sub_(1);
  EXPECT_NE(message(right, 2).find("after the call: element [0] is 2 compiled and 1 by the traced program"),
            std::string::npos);
}

// How closely follows from what a value is made of, not from its dtype.
TEST(Verify, WhatIsOnlyMovedIsEqualBitForBit) {
  Verifying on;
  Tensor x = tensor({1.0, 2.0, 4.0});
  detail::CallFrame frame;
  auto s = specialized("moved", x, frame, [](detail::Tracer& tracer, Tensor a) {
    tracer.result(a.index_select(0, arange(3)));
    tracer.result(a.cumsum(0));
  });
  ASSERT_TRUE(s->check);
  ASSERT_TRUE(detail::admits(*s, frame));
  auto differs = [&](Tensor moved, Tensor summed) {
    struct Replay {
      Tensor moved, summed;
      detail::Outputs outputs;
    } replay{moved, summed, {}};
    try {
      s->check->run(
          *s, frame, replay.outputs,
          [](void* p) {
            auto& r = *static_cast<Replay*>(p);
            for (Tensor* t : {&r.moved, &r.summed}) {
              detail::retain(t->impl());
              r.outputs.tensors.push_back(t->impl());
            }
          },
          &replay);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const Tensor sums = tensor({1.0, 3.0, 7.0});
  EXPECT_EQ(differs(x, sums), "");
  EXPECT_EQ(differs(x, sums * 1.00001), "");
  EXPECT_NE(differs(x, sums * 1.01).find("result 1: element"), std::string::npos);
  EXPECT_NE(differs(x * 1.000001, sums).find("result 0: element"), std::string::npos);
  EXPECT_NE(differs(tensor({1.0, 0.0, 2.0, 0.0, 4.0}).slice(0, 0, 5, 2), sums)
                .find("result 0: its strides are [2] compiled and [1]"),
            std::string::npos);
}

}  // namespace
}  // namespace reprise
