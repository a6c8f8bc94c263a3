// What warm_up() makes ahead, so that calls find it; and what it leaves alone.
#include <gtest/gtest.h>

#include <stdexcept>

#include "device/null/null_device.h"
#include "reprise/reprise.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

TEST(WarmUp, CallsOfTheseSizesFindAllThatTheyNeed) {
  auto f = compile([](Tensor x, Tensor w) { return softmax(matmul(x, w), -1) * 2.0; }, {.name = "warm"});
  const WarmedUp first = f.warm_up(empty({4, 8}), empty({8, 8}));
  EXPECT_TRUE(first.compiled && first.recorded);
  EXPECT_EQ(first.specialization, "warm/0");
  const WarmedUp second = f.warm_up(empty({16, 8}), empty({8, 8}));
  EXPECT_TRUE(!second.compiled && second.recorded);
  const WarmedUp again = f.warm_up(empty({4, 8}), empty({8, 8}));
  EXPECT_TRUE(!again.compiled && !again.recorded);
  EXPECT_EQ(f.stats().calls, 0);
  EXPECT_EQ(f.stats().replays, 0);
  f.seal();
  const ProcessStats before = stats();
  const std::int64_t pool = stats().pool_bytes;
  for (int n : {4, 16, 4})
    EXPECT_TRUE(equal(f(ones({n, 8}), ones({8, 8})), softmax(matmul(ones({n, 8}), ones({8, 8})), -1) * 2.0));
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().recordings_made, 2);
  EXPECT_EQ(f.stats().replays, 3);
  EXPECT_GE(stats().traces, before.traces);  // those of the comparison
  EXPECT_EQ(stats().pool_bytes, pool);
}

struct Layer {
  Tensor w;
  int heads = 2;
};

TEST(WarmUp, ArgumentsAreTakenAsCallsTakeThem) {
  auto f = compile([](const Layer& l, Tensor x, Int at, Scalar gain,
                      const std::string& how) { return how == "up" ? x.narrow(0, at, 1) * l.w * gain : x * l.heads; },
                   {.arguments = {"layer", "x", "at", "gain", "how"}});
  EXPECT_TRUE(f.warm_up(Layer{empty({4})}, empty({3, 4}), 1, 0.5, "up").compiled);
  f.seal();
  EXPECT_EQ(f(Layer{ones({4})}, ones({3, 4}), 1, 0.25, "up").to_vector<float>()[0], 0.25f);
  EXPECT_EQ(f(Layer{ones({4})}, ones({3, 4}), 2, 3.0, "up").to_vector<float>()[0], 3.0f)
      << "other numbers of the same kind";
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(WarmUp, LeavesTensorsVariablesAndTheGeneratorAsTheyWere) {
  Tensor state = zeros({3});
  auto f = compile([&](Tensor cache, Tensor x) {
    cache.slice(0, 1, 2).copy_(x.unsqueeze(0));
    state = state * 0.5 + x + rand({3});
    return cache.sum();
  });
  Tensor cache = zeros({4, 3});
  const void* at = state.data_ptr();
  manual_seed(7);
  const std::vector<float> next = rand({2}).to_vector<float>();
  manual_seed(7);
  f.warm_up(cache, ones({3}));
  EXPECT_EQ(rand({2}).to_vector<float>(), next);
  EXPECT_TRUE(equal(cache, zeros({4, 3})));
  EXPECT_EQ(state.data_ptr(), at);
  EXPECT_EQ(cache.version(), zeros({4, 3}).version());
  f.seal();
  f(cache, ones({3}));
  EXPECT_EQ(cache.to_vector<float>()[3], 1);
  EXPECT_GE(state.to_vector<float>()[0], 1);
  EXPECT_EQ(f.stats().replays, 1);
}

TEST(WarmUp, ItWaitsWhereCallsAreServedMeanwhile) {
  auto f = compile([](Tensor x) { return x * 2 + 1; }, {.on_miss = OnMiss::ServeMeanwhile});
  EXPECT_TRUE(f.warm_up(empty({5})).compiled);
  EXPECT_EQ(f.stats().building, 0);
  f(ones({5}));
  EXPECT_EQ(f.stats().replays, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  // What is being built is waited for, and not built again.
  f(ones({5, 5}));
  EXPECT_FALSE(f.warm_up(empty({5, 5})).compiled);
  EXPECT_EQ(f.stats().compilations, 2);
}

TEST(WarmUp, OnADeviceTheGraphIsMade) {
  const Device d = Device::null();
  device::set_null_kernels(true);
  auto f = compile([](Tensor x) { return softmax(x, -1) * 2.0; }, {.name = "warm"});
  constexpr int kSizes = 40;  // more than a function that meets new sizes alone keeps graphs for
  for (int n = 1; n <= kSizes; ++n) f.warm_up(empty({n, 8}, {.device = d}));
  f.seal();
  const Tensor x = empty({kSizes, 8}, {.device = d});
  device::take_null_record();
  for (int n = 1; n <= kSizes; ++n) f(x.narrow(0, 0, n));
  const device::NullRecord r = device::take_null_record();
  device::set_null_kernels(false);
  EXPECT_EQ(r.instantiated + r.reused, 0);
  EXPECT_GE(r.graph_launches, kSizes);
  EXPECT_EQ(f.stats().recordings_made, 1) << "sizes of one class";
  EXPECT_EQ(f.stats().evictions, 0);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(WarmUp, WhatCannotBeMadeSaysWhy) {
  auto reads = compile([](Tensor x) { return x.item().to_double() > 0 ? x + 1 : x; }, {.name = "reads"});
  Error e = error_of([&] { reads.warm_up(ones({1})); });
  EXPECT_EQ(e.code(), ErrorCode::NotTraceable);
  EXPECT_NE(std::string(e.what()).find("warm_up: reads would serve such calls eagerly: item: "), std::string::npos)
      << e.what();
  EXPECT_EQ(reads.stats().eager_fallbacks, 0);

  auto off = compile([](Tensor x) { return x + 1; }, {.name = "off", .mode = "off"});
  EXPECT_EQ(error_of([&] { off.warm_up(ones({1})); }).code(), ErrorCode::NotTraceable);

  auto wrong = compile([](Tensor x, Tensor y) { return x + y; });
  EXPECT_EQ(error_of([&] { wrong.warm_up(empty({2}), empty({3})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(wrong(ones({2}), ones({2})).to_vector<float>()[0], 2);
  EXPECT_EQ(wrong.stats().eager_fallbacks, 0);

  auto throws = compile([](Tensor x, bool go) { return go ? x : throw std::runtime_error("no"); });
  EXPECT_THROW(throws.warm_up(empty({2}), false), std::runtime_error);

  auto sealed = compile([](Tensor x) { return x + 1; }, {.name = "closed"});
  sealed.warm_up(empty({4}));
  sealed.seal();
  EXPECT_FALSE(sealed.warm_up(empty({4})).recorded);
  e = error_of([&] { sealed.warm_up(empty({5})); });
  EXPECT_EQ(e.code(), ErrorCode::Sealed);
  EXPECT_STREQ(e.what(), "warm_up: closed is sealed, and has no recording for these sizes");
  EXPECT_EQ(error_of([&] { sealed.warm_up(empty({5, 5})); }).code(), ErrorCode::Sealed);

  // A function that assigns a variable which held nothing is compiled once it holds something.
  std::unique_ptr<Tensor> first = std::make_unique<Tensor>();
  auto fills = compile([&](Tensor x) { return *first = x + 1; }, {.name = "fills"});
  EXPECT_EQ(error_of([&] { fills.warm_up(ones({2})); }).code(), ErrorCode::NotTraceable);
  EXPECT_FALSE(first->defined());
  EXPECT_EQ(fills(ones({2})).to_vector<float>()[0], 2);
}

TEST(WarmUp, InsideAnotherCompiledFunctionIsServedEagerly) {
  auto inner = compile([](Tensor x) { return x * 3; });
  auto outer = compile([&](Tensor x) {
    inner.warm_up(empty({7}));
    return x + 1;
  });
  EXPECT_EQ(outer(ones({2})).to_vector<float>()[0], 2);
  EXPECT_EQ(outer.stats().eager_fallbacks, 1);
  EXPECT_EQ(inner.stats().compilations, 1);
}

}  // namespace
}  // namespace reprise::test
