// What is logged keeps the schema that is printed.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "log_lines.h"
#include "reprise/library.h"
#include "reprise/reprise.h"

namespace reprise {
namespace {

using nlohmann::json;
using testing::mistake_in_line;

TEST(Logs, EveryLineKeepsTheSchema) {
  testing::LogLines log;
  auto f = compile(
      [](Tensor x, Tensor y, bool up) {
        if (x.size(0) > 100) x.sum().item<float>();
        y.slice(0, 0, 1).add_(x.sum());
        return softmax(up ? x + 1 : x.t() * 2, 1).matmul(up ? x.t() : x);
      },
      {.name = "logged", .recordings_max = 1});
  Tensor y = ones({4});
  for (std::int64_t n : {3, 5, 3, 1}) f(ones({n, 4}), y, true);
  f(ones({3, 4}), y, false);
  f(ones({200, 4}), y, true);
  compile([](Tensor x) {
    Tensor sum = x;
    for (int i = 0; i < 12; ++i) sum = sum + (x + i).matmul(x);
    return sum.tanh();
  })(ones({4, 4}));
  testing::log_warning("a warning");
  const json schema = json::parse(testing::log_schema());
  std::size_t events = 0;
#define REPRISE_EVENT(...) ++events;
#include "base/log_events.def"
#undef REPRISE_EVENT
  EXPECT_EQ(schema["oneOf"].size(), events);
  std::set<std::string> seen;
  for (const std::string& line : log.lines()) {
    const json j = json::parse(line);
    EXPECT_EQ(mistake_in_line(line), "") << line;
    seen.insert(j["event"].get<std::string>());
    if (j["event"] == "guard") {
      EXPECT_NE(j["function"], "");
    }
    if (j["event"] == "kept_apart") {
      EXPECT_GT(j["fused"], j["kept"]);
      EXPECT_GT(j["apart"], 0);
    }
  }
  for (const char* event :
       {"traced", "guard", "functionalized", "optimized", "pass", "launches", "kept_apart", "compiled", "recompiled",
        "not_traceable", "recording_made", "recording_evicted", "mutation", "warning"})
    EXPECT_TRUE(seen.contains(event)) << event;
}

// Where only the replay throws, the function serves the call, and a line says which reason that has.
TEST(Logs, TellWhatOnlyAReplayThrows) {
  static bool fails = false;
  static const Library library("logs_test");
  static const Operator op =
      library.define({.schema = "fails_once(Tensor x) -> Tensor",
                      .shape = [](ShapeCall& c) { c.result(c.dtype(0), {c.size(0, 0)}); },
                      .cpu =
                          [](const KernelCall& k) {
                            if (std::exchange(fails, false)) return k.fail(ErrorCode::InvalidArgument, "not this time");
                            std::copy_n(k.tensor(0).as<float>(), k.tensor(0).sizes[0], k.result(0).as<float>());
                          },
                      .may_fail = true});
  auto f = compile([](Tensor x) { return op(x)[0] * 2; }, {.name = "unlucky"});
  f(ones({3}));
  testing::LogLines log;
  fails = true;
  EXPECT_EQ(f(ones({3})).sum().item<float>(), 6);
  std::vector<json> told;
  for (const std::string& line : log.lines())
    if (json j = json::parse(line); j["event"] == "not_traceable") told.push_back(std::move(j));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0]["kind"], "replay_throws");
  EXPECT_EQ(told[0]["function"], "unlucky");
  EXPECT_EQ(told[0]["reason"].get<std::string>().find("only the replay throws: logs_test::fails_once: not this time"),
            0u)
      << told[0];
  f(ones({3}));
  EXPECT_EQ(f.stats().eager_fallbacks, 1);
  EXPECT_EQ(f.stats().fallbacks[0].reason, std::string("replay_throws"));
}

// A decode loop: the position grows, and the batch is another at every step. Each compilation but the first is for a
// guard that is told, and no guard is told twice.
TEST(Logs, ADecodeLoopCompilesWhatTheLogJustifies) {
  constexpr std::int64_t kPositions = 4096, kBatch = 64, kWidth = 2;
  auto step = [](Tensor x, Tensor keys, Tensor values, Int at) {
    keys.slice(1, at, at + 1).copy_(x.unsqueeze(1));
    values.slice(1, at, at + 1).copy_((x * 2).unsqueeze(1));
    Tensor scores = matmul(x.unsqueeze(1), keys.slice(1, 0, at + 1).transpose(1, 2));
    Tensor y = matmul(softmax(scores, 2), values.slice(1, 0, at + 1)).transpose(0, 1).reshape({-1, kWidth});
    if (at == 0) return y;  // two branches of the program's own
    return at > 1000 ? y * 2 : y + 1;
  };
  testing::LogLines log;
  auto f = compile(step, {.name = "decode", .recordings_max = 4});
  const Tensor keys = zeros({kBatch, kPositions, kWidth}), values = zeros({kBatch, kPositions, kWidth});
  const Tensor keys_too = zeros({kBatch, kPositions, kWidth}), values_too = zeros({kBatch, kPositions, kWidth});
  for (std::int64_t at = 0; at < kPositions; ++at) {
    const std::int64_t batch = at % 4 == 1 ? (at / 4 * 37) % (kBatch + 1) : (at / 4) % 4;
    const Tensor x = (arange(batch * kWidth, {.dtype = kFloat32}) * 0.01).view({batch, kWidth});
    const Tensor got = f(x, keys.slice(0, 0, batch), values.slice(0, 0, batch), at);
    if (at % 61 && at > 8) continue;
    keys_too.copy_(keys), values_too.copy_(values);
    ASSERT_TRUE(allclose(got, step(x, keys_too.slice(0, 0, batch), values_too.slice(0, 0, batch), at), 1e-3, 1e-5))
        << at << ", " << batch;
    ASSERT_TRUE(equal(keys, keys_too) && equal(values, values_too)) << at;
  }
  std::int64_t compiled = 0;
  std::set<std::string> branches;
  std::string all;
  for (const std::string& line : log.lines()) {
    const json j = json::parse(line);
    if (j["function"].get<std::string>().rfind("decode", 0) != 0) continue;
    compiled += j["event"] == "compiled";
    if (j["event"] != "recompiled") continue;
    // "...; wanted s0 != 1 where s0 = arg 0 .size(0) (2 when traced); guard born at ..."
    const std::string failed = j["failed"].get<std::string>(), against = j["against"].get<std::string>();
    const std::size_t wanted = failed.find("; wanted ");
    ASSERT_NE(wanted, std::string::npos) << "a compilation that no guard of values justifies: " << failed;
    EXPECT_TRUE(branches.insert(against + ": " + failed.substr(wanted, failed.find(" where ") - wanted)).second)
        << "told twice: " << failed;
    all += against + ": " + failed + "\n";
  }
  EXPECT_EQ(compiled, static_cast<std::int64_t>(branches.size()) + 1) << all;
  EXPECT_EQ(f.stats().compilations, compiled);
  EXPECT_EQ(compiled, 3) << all;  // the branches on the position: batches of 0 and of 1 are none
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

TEST(Logs, TheCheckItselfFindsMistakes) {
  json line = {{"t_us", 1},  {"channel", "graph"}, {"event", "optimized"}, {"function", "f"},
               {"text", ""}, {"nodes", 3},         {"graph", "g"}};
  EXPECT_EQ(mistake_in_line(line.dump()), "");
  line["nodes"] = "3";
  EXPECT_EQ(mistake_in_line(line.dump()), "nodes is no integer");
  line["nodes"] = 3, line["more"] = 1;
  EXPECT_EQ(mistake_in_line(line.dump()), "has more, which no row declares");
  line.erase("more"), line.erase("graph");
  EXPECT_EQ(mistake_in_line(line.dump()), "lacks graph");
  line["graph"] = "g", line["channel"] = "trace";
  EXPECT_EQ(mistake_in_line(line.dump()), "channel is another");
}

}  // namespace
}  // namespace reprise
