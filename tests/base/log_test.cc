#include "base/log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <vector>

namespace reprise {
namespace {

using logs::Channel;
using logs::Event;
using nlohmann::json;

std::vector<std::string> seen;
void remember(std::string_view line) { seen.emplace_back(line); }

class Log : public ::testing::Test {
 protected:
  void SetUp() override { seen.clear(); }
  void TearDown() override {
    logs::set_test_sink(nullptr);
    logs::configure_from_environment();
  }
  static std::string captured(auto&& f) {
    ::testing::internal::CaptureStderr();
    f();
    return ::testing::internal::GetCapturedStderr();
  }
};

TEST_F(Log, ChannelsAreOffUnlessNamed) {
  logs::configure("guards, fusion", "");
  EXPECT_TRUE(logs::on(Channel::Guards));
  EXPECT_TRUE(logs::on(Channel::Fusion));
  EXPECT_FALSE(logs::on(Channel::Trace));
  EXPECT_TRUE(logs::on(Channel::Warning));
  logs::configure("all", "");
  for (int i = 0; i < logs::kChannelCount; ++i) EXPECT_TRUE(logs::on(static_cast<Channel>(i))) << i;
  logs::configure("off", "");
  EXPECT_FALSE(logs::on(Channel::Warning));
  EXPECT_EQ(captured([] { logs::warn("nobody hears this"); }), "");
}

TEST_F(Log, TextGoesToStderrForNamedChannelsAlone) {
  logs::configure("guards", "");
  std::string text = captured([] {
    logs::event(Event::guard, "step/3", "s0 != 1", json::object());
    logs::event(Event::launches, "step/3", "not asked for", json::object());
    logs::warn("mind the gap");
  });
  EXPECT_EQ(text, "[guards] step/3: s0 != 1\n[warning] mind the gap\n");
}

// Names come from files of strangers: no terminal obeys them, and none begins a line of its own.
TEST_F(Log, TextIsEscaped) {
  logs::configure("graph", "");
  const char *name = "f\x1b[31m\n[warning] x", *lines = "a\tb\n  c\x1b]0;t\a\r\xff";
  EXPECT_EQ(captured([&] { logs::event(Event::optimized, name, lines, json::object()); }),
            "[graph] f\\x1b[31m\\x0a[warning] x: a\tb\n  c\\x1b]0;t\\x07\\x0d\\xff\n");
  EXPECT_EQ(captured([] { logs::warn(std::string(1000, 'x')); }).size(), 1000 + std::string("[warning] \n").size());
}

TEST_F(Log, FileGetsOneJsonObjectALine) {
  std::string path = ::testing::TempDir() + "reprise_log_test_" + std::to_string(getpid()) + ".jsonl";
  logs::configure("", path);
  EXPECT_TRUE(logs::on(Channel::Memory));
  constexpr int kThreads = 4, kEach = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([t] {
      for (int i = 0; i < kEach; ++i)
        logs::event(Event::pool_grew, "f", std::string(100, 'x'), json{{"thread", t}, {"i", i}});
    });
  for (std::thread& t : threads) t.join();
  logs::configure("", "");
  std::ifstream in(path);
  std::set<std::pair<int, int>> got;
  for (std::string line; std::getline(in, line);) {
    json j = json::parse(line);
    EXPECT_EQ(j["channel"], "memory");
    EXPECT_EQ(j["event"], "pool_grew");
    EXPECT_EQ(j["function"], "f");
    EXPECT_GE(j["t_us"].get<std::int64_t>(), 0);
    got.emplace(j["thread"].get<int>(), j["i"].get<int>());
  }
  EXPECT_EQ(got.size(), static_cast<std::size_t>(kThreads * kEach));
  unlink(path.c_str());
}

TEST_F(Log, UnknownChannelWarnsOnceNamingTheNearest) {
  std::string first = captured([] { logs::configure("gaurds", ""); });
  EXPECT_NE(first.find("unknown channel 'gaurds'; did you mean 'guards'?"), std::string::npos) << first;
  EXPECT_EQ(captured([] { logs::configure("gaurds", ""); }), "");
}

TEST_F(Log, UnknownVariableWarnsNamingTheNearest) {
  setenv("REPRISE_VERFIY", "1", 1);
  std::string text = captured([] { logs::configure_from_environment(); });
  unsetenv("REPRISE_VERFIY");
  EXPECT_NE(text.find("unknown variable REPRISE_VERFIY; did you mean REPRISE_VERIFY?"), std::string::npos) << text;
}

TEST_F(Log, TestSinkHearsEverythingUntilReset) {
  logs::configure("", "");
  logs::set_test_sink(remember);
  EXPECT_TRUE(logs::on(Channel::Epilogue));
  logs::event(Event::mutation, "f", "text \xff not utf-8", json{{"bytes", 12}});
  logs::set_test_sink(nullptr);
  EXPECT_FALSE(logs::on(Channel::Epilogue));
  logs::event(Event::mutation, "f", "later", json::object());
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(json::parse(seen[0])["bytes"], 12);
}

TEST_F(Log, FileThatCannotBeWrittenIsAWarningNotAnError) {
  std::string text = captured([] { logs::configure("", "/nonexistent/folder/x.jsonl"); });
  EXPECT_NE(text.find("cannot write '/nonexistent/folder/x.jsonl'"), std::string::npos) << text;
}

TEST_F(Log, FileThatIsNoneIsRefusedWithoutWaiting) {
  const std::string fifo = ::testing::TempDir() + "reprise_log_fifo_" + std::to_string(getpid());
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::string text = captured([&] { logs::configure("", fifo); });
  EXPECT_NE(text.find("cannot write '" + fifo + "': it is a FIFO, not a regular file"), std::string::npos) << text;
  unlink(fifo.c_str());
  text = captured([&] { logs::configure("", "/dev/full"); });
  EXPECT_NE(text.find("it is a device"), std::string::npos) << text;
  EXPECT_FALSE(logs::on(Channel::Memory));
}

}  // namespace
}  // namespace reprise
