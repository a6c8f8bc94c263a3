// The timeline: what stands in it, and that it is whole whatever becomes of who writes it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "base/knobs.h"
#include "log_lines.h"
#include "reprise/reprise.h"

namespace reprise {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string text_of(const fs::path& p) {
  std::ostringstream s;
  s << std::ifstream(p).rdbuf();
  return s.str();
}

struct Folder {
  fs::path path = fs::temp_directory_path() / ("reprise_timeline_" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() {
    set_timeline("");
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string operator/(const char* name) const { return path / name; }
};

/// What a file says of whose process has been killed: whole lines, and the bracket is ours.
json parse_open(std::string text) {
  json whole = json::parse(text, nullptr, false);
  if (!whole.is_discarded()) return whole;
  return json::parse(text.substr(0, text.rfind(",\n")) + "]", nullptr, false);
}

struct Seen {
  std::vector<json> of(const char* category, const std::string& name) const {
    std::vector<json> out;
    for (const json& e : all)
      if (e.value("cat", "") == category && e["name"].get<std::string>().starts_with(name)) out.push_back(e);
    return out;
  }
  std::size_t count(const char* category, const std::string& name) const { return of(category, name).size(); }
  json all;
};

/// `inner` lies in `outer`, on one thread.
bool lies_in(const json& inner, const json& outer) {
  constexpr double kRounding = 0.002;
  const double begin = outer["ts"], end = begin + outer["dur"].get<double>();
  return inner["tid"] == outer["tid"] && inner["ts"].get<double>() >= begin - kRounding &&
         inner["ts"].get<double>() + inner["dur"].get<double>() <= end + kRounding;
}

TEST(Timeline, TellsCallsCompilationsLaunchesRecordingsAndMemory) {
  const Scoped uncached(knobs().cache_dir, std::string("off"));
  Folder in;
  auto f = compile([](Tensor x, Tensor y) { return softmax(x.size(0) > 1 ? x.matmul(y) + 1 : x, 1); },
                   {.name = "told", .recordings_max = 1});
  set_timeline(in / "x.json");
  const Tensor y = ones({4, 4});
  for (std::int64_t n : {3, 5, 3, 1}) f(ones({n, 4}), y);
  Tensor z = y + 1;
  auto refused = compile([](Tensor x) { return x + x.sum().item<float>(); }, {.name = "refused"});
  refused(y);
  set_timeline("");
  const Seen seen{json::parse(text_of(in / "x.json"))};
  const std::vector<json> calls = seen.of("call", "told/");
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0]["name"], "told/0");
  EXPECT_EQ(calls[0]["args"]["elements"], 3 * 4 + 16);
  EXPECT_EQ(calls[1]["args"]["values"], "5,4,4");
  ASSERT_EQ(calls[3]["name"], "told/1");
  EXPECT_EQ(seen.count("call", "guards"), 5u);
  for (const auto& [part, phases] : std::map<std::string, std::vector<const char*>>{
           {"trace told/", {"trace", "functionalize"}}, {"build told/", {"passes", "lower"}}}) {
    const std::vector<json> parts = seen.of("compile", part);
    ASSERT_EQ(parts.size(), 2u) << part;
    EXPECT_TRUE(lies_in(parts[0], calls[0]));
    for (const char* phase : phases) {
      bool found = false;
      for (const json& p : seen.of("compile", phase)) found = found || (p["name"] == phase && lies_in(p, parts[0]));
      EXPECT_TRUE(found) << phase;
    }
  }
  EXPECT_GE(seen.count("compile", "machine code"), 1u);
  ASSERT_EQ(seen.count("miss", "miss: told/"), 2u);
  EXPECT_EQ(seen.of("miss", "miss: told/1")[0]["args"]["against"], "told/0");
  EXPECT_NE(seen.of("miss", "miss: told/1")[0]["args"]["failed"].get<std::string>().find(".size(0)"),
            std::string::npos);
  EXPECT_EQ(seen.count("recording", "make a recording of told/"), 4u);
  EXPECT_GE(seen.count("eviction", "a recording of told/"), 1u);
  EXPECT_GE(seen.count("memory", "recordings of told"), 4u);
  std::size_t launches = 0;
  for (const json& launch : seen.of("launch", ""))
    if (lies_in(launch, calls[2])) {
      ++launches;
      EXPECT_GT(launch["args"]["bytes"].get<std::int64_t>(), 0);
      EXPECT_NE(launch["args"]["line"].get<std::string>().find("timeline_test.cc:"), std::string::npos);
    }
  EXPECT_GE(launches, 2u);
  EXPECT_GE(seen.count("eager", "add"), 1u);
  ASSERT_EQ(seen.count("eager", "refused is served eagerly"), 1u);
  EXPECT_EQ(seen.of("eager", "refused is")[0]["args"]["kind"], "reads_value");
  std::set<std::string> threads;
  for (const json& e : seen.all)
    if (e["name"] == "thread_name") threads.insert(e["args"]["name"]);
  EXPECT_TRUE(threads.contains("main"));
}

TEST(Timeline, OfADeviceShowsStepsOfTheHost) {
  Folder in;
  auto f = compile([](Tensor x) { return softmax(x * 2, 0); }, {.name = "on_null"});
  const Tensor x = ones({8}).to(Device::null());
  f(x);
  set_timeline(in / "x.json");
  f(x);
  set_timeline("");
  const Seen seen{json::parse(text_of(in / "x.json"))};
  EXPECT_EQ(seen.count("call", "on_null/0"), 1u);
  EXPECT_GE(seen.count("launch", ""), 1u);
}

TEST(Timeline, ShowsWhatIsBuiltInTheBackgroundOnItsThread) {
  Folder in;
  auto f = compile([](Tensor x) { return x + 1; }, {.name = "behind", .on_miss = OnMiss::ServeMeanwhile});
  set_timeline(in / "x.json");
  for (int i = 0; i < 2000 && f.stats().specializations == 0; ++i) f(ones({3})), usleep(5000);
  set_timeline("");
  const Seen seen{json::parse(text_of(in / "x.json"))};
  ASSERT_EQ(seen.count("compile", "trace behind/0"), 1u);
  ASSERT_EQ(seen.count("compile", "build behind/0"), 1u);
  const json thread = seen.of("compile", "build behind/0")[0]["tid"];
  EXPECT_NE(thread, seen.of("compile", "trace behind/0")[0]["tid"]);
  bool named = false;
  for (const json& e : seen.all)
    named = named || (e["name"] == "thread_name" && e["tid"] == thread &&
                      e["args"]["name"].get<std::string>().starts_with("reprise-build"));
  EXPECT_TRUE(named);
}

TEST(Timeline, NamesThreads) {
  Folder in;
  auto f = compile([](Tensor x) { return x + 1; }, {.name = "threads"});
  set_timeline(in / "x.json");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      pthread_setname_np(pthread_self(), ("worker" + std::to_string(i)).c_str());
      for (int n = 0; n < 500; ++n) f(ones({3}));
    });
  for (std::thread& t : threads) t.join();
  set_timeline("");
  const Seen seen{json::parse(text_of(in / "x.json"))};
  EXPECT_EQ(seen.count("call", "threads/0"), 2000u);
  std::map<std::int64_t, std::string> names;
  for (const json& e : seen.all)
    if (e["name"] == "thread_name") {
      EXPECT_TRUE(names.emplace(e["tid"], e["args"]["name"]).second);
    }
  for (const json& call : seen.of("call", "threads/0")) EXPECT_TRUE(names[call["tid"]].starts_with("worker"));
}

TEST(Timeline, OfAKilledProcessParsesOnceItIsClosed) {
  Folder in;
  const std::string path = in / "x.json";
  auto f = compile([](Tensor x) { return x + 1; }, {.name = "killed"});
  f(ones({3}));
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    set_timeline(path);
    for (;;) f(ones({3}));
  }
  for (int i = 0; i < 500 && (!fs::exists(path) || fs::file_size(path) < 300000); ++i) usleep(10000);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const std::string text = text_of(path);
  ASSERT_GE(text.size(), 300000u);
  EXPECT_TRUE(json::parse(text, nullptr, false).is_discarded());
  EXPECT_GT((Seen{parse_open(text)}.count("call", "killed/0")), 300u);
  for (std::size_t cut : {text.size() / 2, text.size() / 3, std::size_t{200}}) {
    const json part = parse_open(text.substr(0, cut));
    ASSERT_TRUE(part.is_array()) << cut;
    EXPECT_GE(part.size(), 1u);
  }
}

TEST(Timeline, OfAForkedChildHasItsNumber) {
  Folder in;
  const std::string path = in / "x.json";
  auto f = compile([](Tensor x) { return x + 1; }, {.name = "forked"});
  f(ones({3}));
  set_timeline(path);
  f(ones({3}));
  const pid_t child = fork();
  if (child == 0) {
    f(ones({3})), f(ones({3}));
    set_timeline("");
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  f(ones({3}));
  set_timeline("");
  EXPECT_EQ((Seen{json::parse(text_of(path))}.count("call", "forked/0")), 2u);
  const Seen of_child{json::parse(text_of(path + "." + std::to_string(child)))};
  EXPECT_EQ(of_child.count("call", "forked/0"), 2u);
  for (const json& e : of_child.all) EXPECT_EQ(e["pid"], child);
}

TEST(Timeline, OfASecondProcessIsAnotherFile) {
  Folder in;
  const std::string path = in / "x.json";
  set_timeline(path);
  const std::string kept = text_of(path);
  const pid_t child = fork();
  if (child == 0) {
    set_log("off");
    set_timeline("");  // the one that it has from its parent
    set_timeline(path);
    (ones({2}) + 1).sum();
    set_timeline("");
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  EXPECT_EQ(text_of(path), kept);
  EXPECT_TRUE(json::parse(text_of(path + "." + std::to_string(child)), nullptr, false).is_array());
}

TEST(Timeline, EndsAtItsBound) {
  Folder in;
  testing::LogLines log;
  auto f = compile([](Tensor x) { return x + 1; }, {.name = "bound"});
  f(ones({3}));
  const Scoped bound(knobs().trace_bytes, 50000);
  set_timeline(in / "x.json");
  for (int i = 0; i < 3000; ++i) f(ones({3}));
  const std::string text = text_of(in / "x.json");
  EXPECT_LE(text.size(), 50000u);
  EXPECT_GT(text.size(), 40000u);
  EXPECT_EQ(json::parse(text).back()["name"], "the timeline ends here: REPRISE_TRACE_BYTES are written");
  int said = 0;
  for (const std::string& line : log.lines()) said += line.find("REPRISE_TRACE_BYTES") != std::string::npos;
  EXPECT_EQ(said, 1);
}

TEST(Timeline, ThatCannotBeWrittenIsAWarningAndTheProgramGoesOn) {
  testing::LogLines log;
  set_timeline("/no/such/folder/x.json");
  EXPECT_EQ((ones({2}) + 1).sum().item<float>(), 4.0f);
  set_timeline("/dev/full");
  int said = 0;
  for (const std::string& line : log.lines()) said += line.find("REPRISE_TRACE: cannot write") != std::string::npos;
  EXPECT_EQ(said, 2);
}

TEST(Timeline, NamesAreWhatTheyAre) {
  Folder in;
  const std::string name = "<script>\"\\\n\xff é " + std::string(10000, 'x');
  auto f = compile([](Tensor x) { return x + 1; }, {.name = name});
  set_timeline(in / "x.json");
  f(ones({3}));
  set_timeline("");
  const Seen seen{json::parse(text_of(in / "x.json"))};
  ASSERT_EQ(seen.count("call", "<script>\"\\\n\xef\xbf\xbd é xxx"), 1u);
}

}  // namespace
}  // namespace reprise
