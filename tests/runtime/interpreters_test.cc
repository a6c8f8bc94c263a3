// Interpreters above eager execution and the trace: modes of a thread, tensors with an interpreter of their own.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <thread>

#include "base/counters.h"
#include "graph/interpreter.h"
#include "reprise/reprise.h"
#include "tensor/impl.h"
#include "tests/runtime/log_lines.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

using graph::Interpreter;
using graph::ModeScope;
using graph::OpCall;
using graph::OpId;

/// Counts what it is asked, and hands it on.
class Counting : public Interpreter {
 public:
  void call(const OpCall& c, std::vector<Tensor>& results) override {
    ++seen[std::string(c.op.name()) + (c.inplace ? "_" : "")];
    forward(c, results);
  }
  void mutate_metadata(const OpCall& c) override {
    ++seen["metadata " + std::string(c.op.name())];
    graph::forward_metadata(c);
  }
  std::pair<Int, Int> next_random(Int count) override {
    ++seen["random"];
    return graph::next_random(count);
  }
  std::map<std::string, int> seen;
};

/// gelu by tanh, whatever was asked for.
class TanhGelu : public Interpreter {
 public:
  void call(const OpCall& c, std::vector<Tensor>& results) override {
    if (c.op.id != OpId::gelu || c.inplace) return forward(c, results);
    results.push_back(gelu(*std::get<const Tensor*>(c.args[0]), "tanh", c.loc));
  }
};

/// Doubles what add gives; its results are wrapped again.
class Doubling : public Interpreter, public std::enable_shared_from_this<Doubling> {
 public:
  void call(const OpCall& c, std::vector<Tensor>& results) override {
    ++calls;
    const std::size_t first = results.size();
    forward(c, results);
    for (std::size_t i = first; i < results.size(); ++i) {
      if (c.op.id == OpId::add && !c.inplace) results[i] = mul(results[i], 2.0);
      if (!c.inplace) results[i] = graph::wrap(results[i], shared_from_this());
    }
  }
  int calls = 0;
};

using Seen = std::map<std::string, int>;

TEST(Interpreters, AModeSeesEveryCallAndForwardsIt) {
  Counting counting;
  Tensor x = tensor({1.0, 2.0, 3.0, 4.0}).view({2, 2}), y;
  {
    ModeScope scope(counting);
    y = exp(x) + 1.0;
    y.mul_(2.0);
    y.t_();
    y.copy_(rand({2, 2}));
    EXPECT_EQ(x.select(0, 1).select(0, 1).item().to_double(), 4);
    y.copy_(x.cpu());
  }
  const Seen want{{"exp", 1},   {"add", 1},    {"mul_", 1}, {"metadata permute", 1}, {"rand", 1}, {"random", 1},
                  {"copy_", 2}, {"select", 2}, {"item", 1}, {"to_device", 1}};
  EXPECT_EQ(counting.seen, want);
  EXPECT_EQ(y.to_vector<float>(), x.to_vector<float>());
  counting.seen.clear();
  exp(x);
  EXPECT_TRUE(counting.seen.empty()) << "the scope is over";
}

TEST(Interpreters, CopiesBetweenDevicesAreCallsThatTheySee) {
  const Tensor x = tensor({1.0, 2.0}), there = x.to(Device::null());
  Counting counting;
  Tensor y = zeros({2});
  {
    ModeScope scope(counting);
    y.copy_(there);
    EXPECT_TRUE(x.to(Device::cpu()).is_same(x)) << "where nothing is to be done it is the tensor itself";
    EXPECT_EQ(x.to(Device::null()).device(), Device::null());
    EXPECT_EQ(error_of([&] { y.copy_(ones({3}).to(Device::null())); }).code(), ErrorCode::ShapeMismatch);
  }
  EXPECT_EQ(counting.seen, (Seen{{"copy_from_", 2}, {"to_device", 3}, {"full", 1}}));
  EXPECT_EQ(y.to_vector<float>(), x.to_vector<float>());
  auto f = compile([](Tensor a, Tensor b) {
    a.copy_(b.to(Device::null()));
    return a.sum();
  });
  for (int i = 0; i < 2; ++i) EXPECT_EQ(f(zeros({2}), there).item().to_double(), 3);
  ASSERT_EQ(f.stats().fallbacks.size(), 1u);
  EXPECT_STREQ(f.stats().fallbacks[0].reason, "reads_value");
  EXPECT_NE(f.stats().last_fallback_reason.find("copy_ from another device"), std::string::npos)
      << f.stats().last_fallback_reason;
  auto g = compile([](Tensor a) { return a.to(Device::cpu()) + 1.0; });
  g(x);
  EXPECT_EQ(g.stats().compilations, 1) << "it is there already";
  auto reads = compile([](Tensor a) { return a * a.sum().item().to_double(); });
  EXPECT_EQ(reads(x).to_vector<float>(), (std::vector<float>{3, 6}));
  EXPECT_NE(reads.stats().last_fallback_reason.find("item"), std::string::npos) << reads.stats().last_fallback_reason;
}

TEST(Interpreters, AModeSeesATraceAndNoReplay) {
  auto body = [](Tensor x) { return exp(x) + 1.0; };
  auto f = compile(body);
  Tensor x = ones({3});
  Counting counting;
  {
    ModeScope scope(counting);
    EXPECT_TRUE(equal(f(x), body(x)));
    counting.seen.clear();
    f(x);
    EXPECT_TRUE(counting.seen.empty());
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Interpreters, WhatAModeMakesOfAFunctionServesCallsUnderItAlone) {
  auto f = compile([](Tensor x) { return gelu(x); }, {.name = "activation"});
  Tensor x = linspace(-4, 4, 101);
  const Tensor exact = gelu(x), tanhs = gelu(x, "tanh");
  ASSERT_FALSE(equal(exact, tanhs));
  TanhGelu mode;
  testing::LogLines log;
  for (int round = 0; round < 4; ++round) {
    EXPECT_TRUE(equal(f(x), exact)) << round;
    ModeScope scope(mode);
    EXPECT_TRUE(equal(f(x), tanhs)) << round;
  }
  EXPECT_EQ(f.stats().compilations, 2);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  bool told = false;
  for (const std::string& line : log.lines())
    told = told || line.find("an interpreter of the user's (ModeScope) is set, was none") != std::string::npos;
  EXPECT_TRUE(told);
  TanhGelu other;  // the same class; who knows what it holds
  ModeScope scope(other);
  f(x);
  EXPECT_EQ(f.stats().compilations, 3);
}

TEST(Interpreters, ModesStandAboveEachOther) {
  Tensor x = linspace(-4, 4, 101);
  Counting counting;
  TanhGelu tanhs;
  auto f = compile([](Tensor t) { return gelu(t); });
  {
    ModeScope below(counting), above(tanhs);
    EXPECT_TRUE(equal(f(x), gelu(x, "tanh")));
    EXPECT_GE(counting.seen["gelu"], 1) << "what the one above calls instead";
    f(x);
  }
  EXPECT_EQ(f.stats().compilations, 1);
  {
    ModeScope below(tanhs), above(counting);  // another order is another stack
    f(x);
  }
  EXPECT_EQ(f.stats().compilations, 2);
  for (int i = 0; i < 3; ++i) {
    ModeScope below(counting), above(tanhs);
    f(x);
  }
  EXPECT_EQ(f.stats().compilations, 2) << "the same stack again";
}

TEST(Interpreters, AModeInsideTheFunctionIsPartOfIt) {
  TanhGelu mode;
  auto f = compile([&](Tensor x) {
    Tensor a = gelu(x);
    ModeScope scope(mode);
    return gelu(x) - a;
  });
  Tensor x = linspace(-4, 4, 101);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(allclose(f(x), gelu(x, "tanh") - gelu(x), 1e-5, 1e-6));
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Interpreters, ThreadsHaveTheirOwn) {
  Counting counting;
  ModeScope scope(counting);
  std::thread([] { exp(ones({2})); }).join();
  EXPECT_TRUE(counting.seen.empty());
}

TEST(Interpreters, AnErrorLeavesTheStackAsItWas) {
  class Failing : public Interpreter {
    void call(const OpCall& c, std::vector<Tensor>&) override {
      throw Error(ErrorCode::InvalidArgument, std::string(c.op.name()), "refused", c.loc);
    }
  } failing;
  Counting counting;
  ModeScope below(counting);
  {
    ModeScope scope(failing);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(error_of([] { exp(ones({2})); }).message(), "refused");
  }
  exp(ones({2}));
  EXPECT_EQ(counting.seen["exp"], 1);
}

TEST(Interpreters, AWrappedTensorRoutesItsCalls) {
  auto doubling = std::make_shared<Doubling>();
  Tensor plain = ones({3}), x = graph::wrap(plain, doubling);
  EXPECT_EQ(graph::wrapper_of(x), doubling);
  EXPECT_EQ(graph::wrapper_of(plain), nullptr);
  EXPECT_TRUE(x.shares_storage_with(plain));
  Tensor y = x + 1.0;
  EXPECT_EQ(y.to_vector<float>(), std::vector<float>(3, 4));
  EXPECT_EQ(graph::wrapper_of(y), doubling);
  EXPECT_EQ((plain + y).to_vector<float>(), std::vector<float>(3, 10)) << "any operand will do";
  EXPECT_EQ(cat({plain, y}).to_vector<float>(), (std::vector<float>{1, 1, 1, 4, 4, 4}));
  x.add_(1.0);
  EXPECT_EQ(plain.to_vector<float>(), std::vector<float>(3, 2)) << "in-place calls are as they were forwarded";
  const int calls = doubling->calls;
  EXPECT_EQ((plain + 1.0).to_vector<float>(), std::vector<float>(3, 3));
  EXPECT_EQ(doubling->calls, calls);
  std::vector<float> elsewhere;
  std::thread([&] { elsewhere = (x + 1.0).to_vector<float>(); }).join();
  EXPECT_EQ(elsewhere, std::vector<float>(3, 6)) << "on any thread";
  EXPECT_EQ(error_of([&] { graph::wrap(plain, nullptr); }).code(), ErrorCode::InvalidArgument);
}

TEST(Interpreters, AModeIsAskedBeforeAWrappedTensors) {
  auto doubling = std::make_shared<Doubling>();
  Tensor x = graph::wrap(ones({3}), doubling);
  Counting counting;
  ModeScope scope(counting);
  EXPECT_EQ((x + 1.0).to_vector<float>(), std::vector<float>(3, 4));
  EXPECT_EQ(counting.seen, (Seen{{"add", 1}})) << "what the tensor's interpreter calls goes to those below it";
}

TEST(Interpreters, CompiledFunctionsThatMeetAWrappedTensorRunEagerly) {
  auto doubling = std::make_shared<Doubling>();
  Tensor plain = ones({3}), x = graph::wrap(plain, doubling);
  auto f = compile([](Tensor t) { return t + 1.0; });
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(f(x).to_vector<float>(), std::vector<float>(3, 4));
    EXPECT_EQ(f(plain).to_vector<float>(), std::vector<float>(3, 2));
  }
  EXPECT_EQ(f.stats().compilations, 1);
  ASSERT_EQ(f.stats().fallbacks.size(), 1u);
  EXPECT_STREQ(f.stats().fallbacks[0].reason, "wrapped");
  EXPECT_EQ(f.stats().fallbacks[0].calls, 2);
  auto captures = compile([&](Tensor t) { return t + x; });
  EXPECT_EQ(captures(plain).to_vector<float>(), std::vector<float>(3, 4));
  auto gives = compile([&](Tensor t) { return graph::wrap(t * 3.0, doubling); });
  EXPECT_EQ(graph::wrapper_of(gives(plain)), doubling);
  EXPECT_EQ(gives.stats().eager_fallbacks, 1);
  auto inside = compile([&](Tensor t) {
    Tensor sum = graph::wrap(t, doubling) + 1.0;
    return sum.sum();
  });
  EXPECT_EQ(inside(plain).item().to_double(), 12);
}

}  // namespace
}  // namespace reprise::test
