// What a function's callback is told of calls that found something not ready.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "log_lines.h"
#include "reprise/reprise.h"
#include "tests/support/error_of.h"

#include <nlohmann/json.hpp>

namespace reprise::test {
namespace {

using Kind = Miss::Kind;

TEST(Misses, ACompilationIsToldAsTheLogTellsIt) {
  testing::LogLines log;
  std::vector<Miss> told;
  auto f = compile(
      [](Tensor x, double gain, Tensor y) {
        if (x.size(0) > 4) return x * gain + y;
        return x * gain - y;
      },
      {.name = "told", .arguments = {"x", "gain", "y"}});
  f.set_miss_callback([&](const Miss& m) { told.push_back(m); });
  f(ones({2}), 0.5, ones({2}));
  f(ones({3}), 0.5, ones({3}));
  f(ones({3}), 0.5, ones({3}));
  f(ones({9}), 0.5, ones({9}));
  const std::uint32_t branch = __LINE__ - 9;
  f(ones({2}), 0.75, ones({2}));
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told[0].kind, Kind::Compiled);
  EXPECT_EQ(told[0].function, "told");
  EXPECT_EQ(told[0].specialization, "told/0");
  EXPECT_EQ(told[0].nearest, "");
  EXPECT_GT(told[0].ms, 0);
  EXPECT_EQ(told[1].kind, Kind::Recorded);
  EXPECT_EQ(told[1].specialization, "told/0");
  EXPECT_EQ(told[1].reason, "the sizes are new: 3");
  EXPECT_EQ(told[2].kind, Kind::Compiled);
  EXPECT_EQ(told[2].nearest, "told/0");
  EXPECT_EQ(told[2].argument, "x .size(0)");
  EXPECT_EQ(told[2].seen, "9");
  EXPECT_NE(told[2].expected.find("<= 4"), std::string::npos) << told[2].expected;
  EXPECT_NE(told[2].line.find("misses_test.cc:" + std::to_string(branch)), std::string::npos) << told[2].line;
  EXPECT_EQ(told[3].argument, "gain (arg 1)");
  EXPECT_EQ(told[3].seen, "0.75");
  EXPECT_EQ(told[3].expected, "0.5");
  std::vector<std::string> reasons, remedies;
  for (const std::string& line : log.lines()) {
    const auto j = nlohmann::json::parse(line);
    if (j["event"] == "recompiled") reasons.push_back(j["failed"]), remedies.push_back(j["remedy"]);
  }
  EXPECT_EQ(reasons, (std::vector<std::string>{told[2].reason, told[3].reason}));
  EXPECT_EQ(remedies, (std::vector<std::string>{told[2].remedy, told[3].remedy}));
  f.set_miss_callback({});
  f(ones({2}), 0.9, ones({2}));
  EXPECT_EQ(told.size(), 4u);
}

TEST(Misses, EachCallThatIsServedEagerlyIsTold) {
  std::vector<Miss> told;
  bool fail = false;
  auto f = compile(
      [&](Tensor x, int k) {
        if (k == 1) return x.item().to_double() > 0 ? x : x + 1;
        if (k == 2 && fail) throw std::runtime_error("no");
        return x * k;
      },
      {.name = "eager", .max_specializations = 4});
  f.set_miss_callback([&](const Miss& m) { told.push_back(m); });
  for (int i = 0; i < 5; ++i) f(ones({1}), 1);
  ASSERT_EQ(told.size(), 5u);
  for (const Miss& m : told) {
    EXPECT_EQ(m.kind, Kind::ServedEagerly);
    EXPECT_EQ(m.fallback, "reads_value");
    EXPECT_NE(m.line.find("misses_test.cc:"), std::string::npos) << m.line;
    EXPECT_EQ(m.specialization, "");
  }
  EXPECT_EQ(told[0].reason, f.stats().last_fallback_reason);
  EXPECT_GT(told[0].ms, 0);
  EXPECT_EQ(told[4].ms, 0) << "it is not tried any more";
  // One that throws while it is traced is no call; one that does not throw the next time runs eagerly, and is told.
  fail = true;
  EXPECT_THROW(f(ones({1}), 2), std::runtime_error);
  EXPECT_EQ(told.size(), 5u);
  fail = false;
  f(ones({1}), 2);
  EXPECT_EQ(told.back().fallback, "throws");
  for (int k = 3; k < 12; ++k) f(ones({1}), k);
  EXPECT_EQ(told.back().fallback, "specialization_limit");
  EXPECT_EQ(told.back().seen, "11");
  EXPECT_NE(told.back().remedy.find("reprise::Int"), std::string::npos) << told.back().remedy;
  std::int64_t eager = 0;
  for (const Miss& m : told) eager += m.kind == Kind::ServedEagerly;
  EXPECT_EQ(eager, f.stats().eager_fallbacks);
}

TEST(Misses, OfModeOffAndOfWarmUp) {
  std::vector<Miss> told;
  auto note = [&](const Miss& m) { told.push_back(m); };
  auto off = compile([](Tensor x) { return x + 1; }, {.mode = "off"});
  off.set_miss_callback(note);
  off(ones({2}));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].fallback, "mode_off");
  auto warm = compile([](Tensor x) { return x + 1; });
  warm.set_miss_callback(note);
  warm.warm_up(empty({2}));
  warm(ones({2}));
  EXPECT_EQ(told.size(), 1u);
  warm(ones({3}));
  EXPECT_EQ(told.size(), 2u);
}

TEST(Misses, ACallbackMayCallTheFunctionAndWhatItThrowsIsDropped) {
  int depth = 0, told = 0;
  auto f = compile([](Tensor x, int k) { return x * k; }, {.name = "again"});
  f.set_miss_callback([&](const Miss& m) {
    ++told;
    EXPECT_EQ(depth++, 0);
    EXPECT_EQ(f(ones({3}), 100 + told).to_vector<float>()[0], 100 + told) << "a miss of its own, which is not told";
    EXPECT_NE(f.explain().find(m.specialization), std::string::npos);
    EXPECT_GT(f.stats().compilations, 0);
    f.wait();
    --depth;
    throw std::runtime_error("dropped");
  });
  for (int k = 1; k < 4; ++k) EXPECT_EQ(f(ones({2}), k).to_vector<float>()[0], k);
  EXPECT_EQ(told, 3);
  EXPECT_EQ(f.stats().compilations, 6);
  f.set_miss_callback([&](const Miss&) { f.set_miss_callback({}); });
  f(ones({2}), 50);
  f(ones({2}), 51);
  EXPECT_EQ(told, 3);
}

TEST(Misses, WhatIsMadeInTheBackgroundIsToldThere) {
  std::mutex mu;
  std::vector<std::pair<Miss, std::thread::id>> told;
  auto f = compile([](Tensor x) { return x * 2 + 1; }, {.name = "behind", .on_miss = OnMiss::ServeMeanwhile});
  std::string waiting;
  f.set_miss_callback([&](const Miss& m) {
    if (m.kind == Kind::Compiled) waiting = error_of([&] { f.wait(); }).what();
    std::lock_guard lock(mu);
    told.emplace_back(m, std::this_thread::get_id());
  });
  f(ones({4}));
  f.wait();
  {
    std::lock_guard lock(mu);
    ASSERT_EQ(told.size(), 2u);
    if (told[0].first.kind == Kind::Compiled) std::swap(told[0], told[1]);  // it was done before the call was
    EXPECT_EQ(told[0].first.fallback, "compiled_meanwhile");
    EXPECT_EQ(told[0].second, std::this_thread::get_id());
    EXPECT_EQ(told[1].first.kind, Kind::Compiled);
    EXPECT_EQ(told[1].first.specialization, "behind/0");
    EXPECT_GT(told[1].first.ms, 0);
    EXPECT_NE(told[1].second, std::this_thread::get_id());
  }
  EXPECT_NE(waiting.find("would wait for ever"), std::string::npos) << waiting;
  EXPECT_EQ(f.stats().building, 0);
}

TEST(Misses, OfManyThreads) {
  std::atomic<int> compiled{0}, all{0};
  auto f = compile([](Tensor x, int k) { return x * k; });
  f.set_miss_callback([&](const Miss& m) { ++all, compiled += m.kind == Kind::Compiled; });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k) f(ones({3}), k);
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(compiled, f.stats().compilations);
  EXPECT_EQ(compiled, 20);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_LE(all - compiled, f.stats().recordings_made);  // of what another thread compiled, too
}

}  // namespace
}  // namespace reprise::test
