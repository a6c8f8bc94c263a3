// Errors that a function catches, and REPRISE_VERIFY=2.
#include <gtest/gtest.h>

#include <stdexcept>

#include "base/knobs.h"
#include "reprise/reprise.h"
#include "runtime/specialization.h"
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

/// REPRISE_VERIFY=2 while it lives.
struct Verifying {
  Verifying() { knobs().verify = 2; }
  ~Verifying() { knobs().verify = before; }
  std::int64_t before = knobs().verify;
};

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

TEST(Verify, NamesWhatDiffers) {
  Verifying on;
  Tensor x = arange(3, {.dtype = kFloat32}), right = tensor({0.0, 2.0, 4.0}), wrong = tensor({0.0, 2.5, 4.0});
  detail::CallFrame frame;
  frame.clear();
  detail::walk(x, frame);
  auto body = [&](detail::Tracer& tracer) {
    detail::ArgumentTracer arguments(tracer, frame);
    Tensor a = x;
    arguments.tensor(a);
    tracer.result(a * 2);
    a.add_(1);
  };
  auto s = detail::specialize("twice", "full", frame, [](void* b, detail::Tracer& t) { (*static_cast<decltype(body)*>(b))(t); }, &body);
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
      s->check->run(*s, frame, replay.outputs, [](void* r) { (*static_cast<Replay*>(r))(); }, &replay);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::Internal);
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message(right, 1), "");
  x.sub_(1);
  EXPECT_NE(message(wrong, 1).find("twice: REPRISE_VERIFY: result 0, element 1 is 2.5, by the traced program 2"), std::string::npos);
  x.sub_(1);
  EXPECT_NE(message(right, 2).find("after the call, element 0 is 2, by the traced program 1"), std::string::npos);
}

}  // namespace
}  // namespace reprise
