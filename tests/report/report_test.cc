// `reprise report` and `reprise explain`, as functions: what they make of logs that are long, cut off, hostile or no
// logs.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>

#include "reprise/reprise.h"
#include "tools/commands.h"

namespace reprise::tool {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("reprise_report_" + std::to_string(getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string operator/(const char* name) const { return path / name; }
};

std::string text_of(const std::string& path) {
  std::ostringstream s;
  s << std::ifstream(path).rdbuf();
  return s.str();
}

/// A command's exit code, and what it printed.
struct Said {
  int code = 0;
  std::string out, err;
};
Said said(int (*command)(const std::vector<std::string>&), const std::vector<std::string>& args) {
  Said s;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  try {
    s.code = command(args);
  } catch (const std::exception& e) {  // as main() does
    s.code = 1, s.err = e.what();
  }
  std::fflush(stdout);
  s.out = ::testing::internal::GetCapturedStdout();
  s.err += ::testing::internal::GetCapturedStderr();
  return s;
}

/// The first thing that is wrong with a page: elements that are not closed in order, attributes without quotes, stray
/// markup, or anything that a browser would fetch.
std::string mistake_in(const std::string& html) {
  static const std::set<std::string> empty = {"meta", "input", "br"};
  std::vector<std::string> open;
  std::size_t at = 0;
  while ((at = html.find('<', at)) != std::string::npos) {
    if (html.compare(at, 9, "<!DOCTYPE") == 0) {
      at = html.find('>', at);
      continue;
    }
    std::size_t end = at + 1;
    for (bool quoted = false; end < html.size() && (quoted || html[end] != '>'); ++end) {
      if (html[end] == '"') quoted = !quoted;
      if (!quoted && html[end] == '<') return "markup in a tag: " + html.substr(at, 80);
    }
    if (end >= html.size()) return "a tag has no end: " + html.substr(at, 80);
    std::string tag = html.substr(at + 1, end - at - 1);
    const bool closing = tag[0] == '/', closed = tag.back() == '/';
    const std::string name = tag.substr(closing, tag.find_first_of(" /", closing) - closing);
    if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789") != std::string::npos)
      return "no tag: " + html.substr(at, 80);
    if (tag.find(" src=") != std::string::npos || tag.find(" href=") != std::string::npos || name == "link")
      return "asks for something: " + tag;
    at = end + 1;
    if (closing) {
      if (open.empty() || open.back() != name)
        return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back()) + " before: " + html.substr(at, 80);
      open.pop_back();
    } else if (!closed && !empty.contains(name)) {
      if (name == "script" || name == "style") {
        at = html.find("</" + name + ">", at);
        if (at == std::string::npos) return name + " has no end";
      }
      open.push_back(name);
    }
  }
  if (!open.empty()) return open.back() + " has no end";
  for (char c : html)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f) return "a control character";
  return "";
}

/// A log and a timeline of a real run.
void make_run(const std::string& log, const std::string& timeline) {
  set_log("off", log);
  if (!timeline.empty()) set_timeline(timeline);
  auto f = compile([](Tensor x, int k) { return softmax(x.size(0) > 4 ? x * k : x + k, 1); },
                   {.name = "<script>alert(1)</script>\"'&", .arguments = {"x", "<b>k"}});
  for (std::int64_t n : {3, 8, 100, 1000}) f(ones({n, 4}), 2);
  f(ones({3, 4}), 3), f(ones({3, 4}), 4);
  auto g = compile([](Tensor x) { return x * x.sum().item<float>(); }, {.name = "reads"});
  g(ones({2, 2}));
  set_timeline("");
  set_log("off", "");
}

TEST(Report, OfARunIsOneWellFormedPage) {
  Folder in;
  make_run(in / "x.jsonl", in / "x.json");
  const Said s = said(report, {in / "x.jsonl", "--trace", in / "x.json", "-o", in / "r.html"});
  ASSERT_EQ(s.code, 0) << s.err;
  const std::string page = text_of(in / "r.html");
  EXPECT_EQ(mistake_in(page), "");
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_EQ(page.find("http://"), std::string::npos);
  EXPECT_EQ(page.find("https://"), std::string::npos);
  for (const char* part : {"What to do first", "Time of compilations", "Memory", "Functions", "Latency against size",
                           "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;/0", "&lt;b&gt;k (arg 1) is 3, was 2",
                           "before passes (functional)", "after passes", "report_test.cc:", "reads: runs eagerly",
                           "GB/s", "<polyline", "prefers-color-scheme"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  // The specialization that k split stands below the one that it came nearest to.
  const std::size_t tree = page.find("<ul class=\"tree\">"), below = page.find("<ul class=\"tree\">", tree + 1);
  EXPECT_NE(below, std::string::npos);
}

TEST(Report, SumsAreRight) {
  Folder in;
  std::ofstream log(in / "x.jsonl");
  auto compiled = [&](int n, int us) {
    log << json{{"event", "compiled"}, {"function", "f/" + std::to_string(n)},
                {"t_us", n},           {"trace_us", us},
                {"build_us", us},      {"functionalize_us", us / 2},
                {"passes_us", 1},      {"lower_us", 2},
                {"code_us", 3},        {"load_us", 4},
                {"guards", 1},         {"launches", 1}}
        << "\n";
    if (n)
      log << json{{"event", "recompiled"},
                  {"function", "f/" + std::to_string(n)},
                  {"against", "f/0"},
                  {"failed", "n is " + std::to_string(n) +
                                 "; wanted s0 == 0 where s0 = n (0 when traced); guard born at a.cc:7 (pinned)"},
                  {"remedy", "keep it"}}
          << "\n";
  };
  for (int n = 0; n < 21; ++n) compiled(n, 1000);
  log.close();
  const Said s = said(explain, {in / "x.jsonl"});
  EXPECT_EQ(s.code, 0);
  EXPECT_NE(s.out.find("1. f: compiled again 20 times, 40 ms, because of n (1, 2, 3, 4, 5, 6, 7, 8, ...) at a.cc:7 "
                       "(pinned). keep it"),
            std::string::npos)
      << s.out;
  EXPECT_NE(
      s.out.find(
          "  21      42 ms         10 ms         10 ms         21 us         42 us         63 us         84 us\n"),
      std::string::npos)
      << s.out;
}

TEST(Report, TenThousandSpecializations) {
  Folder in;
  {
    std::ofstream log(in / "x.jsonl");
    for (int i = 0; i < 12000; ++i) {
      const std::string name = "f/" + std::to_string(i);
      log << json{{"event", "compiled"}, {"function", name}, {"t_us", i},    {"trace_us", 5},
                  {"build_us", 5},       {"guards", 1},      {"launches", 1}}
          << "\n";
      if (i)
        log << json{{"event", "recompiled"},
                    {"function", name},
                    {"against", "f/" + std::to_string(i - 1)},
                    {"failed", "x.size(0) is " + std::to_string(i) + "; wanted s0 == 1; guard born at a.cc:7 (branch)"},
                    {"remedy", "r"}}
            << "\n";
    }
  }
  ASSERT_EQ(said(report, {in / "x.jsonl", "-o", in / "r.html"}).code, 0);
  const std::string page = text_of(in / "r.html");
  EXPECT_EQ(mistake_in(page), "");
  EXPECT_NE(page.find("f/9998:"), std::string::npos);
  EXPECT_NE(page.find("2000 compilations more are not shown"), std::string::npos);
  EXPECT_LT(page.size(), std::size_t{16} << 20);
}

TEST(Report, HostileNames) {
  Folder in;
  const std::string names[] = {
      "\"><script>x</script>",  "</style></script>", "a' onload='x", "\x01\x1b[31m\x7f", "π — 名前",
      std::string(100000, 'y'), "&amp;lt;",          "]]>"};
  {
    std::ofstream log(in / "x.jsonl"), timeline(in / "x.json");
    timeline << "[\n";
    for (const std::string& n : names) {
      log << json{{"event", "traced"}, {"function", n + "/0"}, {"graph", n}} << "\n"
          << json{{"event", "compiled"}, {"function", n + "/0"}, {"t_us", -5}, {"trace_us", 1}, {"build_us", INT64_MIN}}
          << "\n";
      log << json{{"event", "recompiled"}, {"function", n + "/0"}, {"against", n + "/0"}, {"failed", n}, {"remedy", n}}
          << "\n"
          << json{{"event", "mutation"}, {"function", n + "/0"}, {"text", n}} << "\n";
      log << json{{"event", "not_traceable"}, {"function", n}, {"reason", n}} << "\n"
          << json{{"event", "warning"}, {"function", ""}, {"text", n}} << "\n";
      log << json{{"event", "pool_grew"}, {"function", ""},     {"device", n},
                  {"lane", 1e300},        {"bytes", INT64_MAX}, {"t_us", "x"}}
          << "\n";
      timeline << json{{"ph", "X"}, {"cat", "launch"}, {"name", n}, {"ts", 1},
                       {"dur", -4}, {"pid", 1},        {"tid", 1},  {"args", {{"bytes", -1}, {"line", n}}}}
               << ",\n";
      timeline << json{{"ph", "X"},    {"cat", "call"}, {"name", n + "/0"}, {"ts", 1},
                       {"dur", 1e308}, {"pid", 1},      {"tid", 1},         {"args", 5}}
               << ",\n";
      timeline << json{{"ph", "C"}, {"name", n}, {"ts", 1e308}, {"args", {{n + "bytes", -1e308}}}} << ",\n";
    }
  }
  const Said s = said(report, {in / "x.jsonl", "--trace", in / "x.json", "-o", in / "r.html"});
  ASSERT_EQ(s.code, 0) << s.err;
  const std::string page = text_of(in / "r.html");
  EXPECT_EQ(mistake_in(page), "");
  EXPECT_NE(page.find("π — 名前"), std::string::npos);
  EXPECT_EQ(page.find("nan"), std::string::npos);
}

TEST(Report, BadInputIsOneMessage) {
  Folder in;
  std::ofstream(in / "x.jsonl") << R"({"event":"compiled","function":"f/0"})"
                                << "\n";
  std::ofstream(in / "text") << "hello\n";
  std::ofstream(in / "empty") << "";
  std::ofstream(in / "cut") << R"({"event":"compiled","function":"f/0"})"
                            << "\n"
                            << R"({"event":"comp)";
  struct Case {
    std::vector<std::string> args;
    int code;
    const char* says;
  };
  const std::string log = in / "x.jsonl", out = in / "r.html";
  const Case cases[] = {
      {{}, 2, "report takes a log"},
      {{log}, 2, "wants the file to write"},
      {{log, "-o"}, 2, "-o wants a file"},
      {{log, "-o", out, "-o", out}, 2, "-o is there twice"},
      {{log, "--fast", "-o", out}, 2, "unknown option '--fast'"},
      {{log, "-o", log}, 2, "is to be read and to be written"},
      {{log, "-o", in.path / "." / "x.jsonl"}, 2, "is to be read and to be written"},
      {{in / "none", "-o", out}, 1, "cannot read"},
      {{in.path, "-o", out}, 1, "cannot read"},
      {{in / "text", "-o", out}, 1, "is not a log: its lines are not JSON objects of events"},
      {{log, "--trace", in / "text", "-o", out}, 1, "is not a timeline"},
      {{log, "-o", in / "no/such/r.html"}, 1, "cannot write"},
      {{log, "-o", in.path}, 1, "cannot write"},
      {{in / "cut", "-o", out}, 0, "the last line is cut off"},
      {{in / "empty", "-o", out}, 0, ""},
  };
  for (const Case& c : cases) {
    fs::remove(out);
    const Said s = said(report, c.args);
    EXPECT_EQ(s.code, c.code) << c.says << ": " << s.err;
    EXPECT_NE(s.err.find(c.says), std::string::npos) << c.says << " in: " << s.err;
    EXPECT_EQ(fs::exists(out), c.code == 0) << c.says;
  }
  EXPECT_EQ(text_of(log), R"({"event":"compiled","function":"f/0"})"
                          "\n");
  EXPECT_EQ(said(explain, {}).code, 2);
  EXPECT_EQ(said(explain, {in / "text"}).code, 1);
  EXPECT_EQ(said(explain, {in / "empty"}).code, 0);
  const Said cut = said(explain, {in / "cut", log});
  EXPECT_EQ(cut.code, 0);
  EXPECT_NE(cut.err.find("the last line is cut off"), std::string::npos);
  EXPECT_NE(cut.out.find("of " + log), std::string::npos);
}

/// Peak of a process of its own that explains so many events, in KiB; and its seconds.
std::pair<long, double> explained(const std::string& path, int events) {
  {
    std::ofstream log(path);
    for (int i = 0; i < events; ++i)
      log << R"({"channel":"recordings","event":"recording_made","function":"f)" << i % 50 << "/" << i % 7
          << R"(","live":3,"launches":2,"pool_bytes":64,"bytes":1000,"values":[)" << i << R"(],"t_us":)" << i
          << R"(,"text":"recording"})"
          << "\n";
  }
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    if (!std::freopen("/dev/null", "w", stdout)) _exit(9);
    _exit(explain({path}));
  }
  int status = 1;
  rusage used{};
  wait4(child, &status, 0, &used);
  EXPECT_EQ(status, 0);
  return {used.ru_maxrss, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};
}

TEST(Explain, MemoryDoesNotGrowWithTheLog) {
  Folder in;
  const bool more = std::getenv("REPRISE_TEST_LONG") != nullptr;
  const auto [few, seconds_of_few] = explained(in / "few.jsonl", 10000);
  const auto [many, seconds] = explained(in / "many.jsonl", more ? 1000000 : 100000);
  EXPECT_LT(many, few + 32 * 1024);
  if (!more) return;
  for (int n : {10, 100, 1000, 10000, 100000, 1000000}) {
    const auto [kib, s] = explained(in / "x.jsonl", n);
    std::printf("%8d events: %6ld KiB, %.3f s\n", n, kib, s);
  }
}

TEST(Report, RunsInABrowser) {
  const char* const browsers[] = {"chromium", "chromium-browser", "google-chrome", "/usr/lib/chromium/chromium"};
  std::string browser;
  for (const char* b : browsers)
    if (browser.empty() && std::system((std::string("command -v ") + b + " >/dev/null 2>&1").c_str()) == 0) browser = b;
  if (browser.empty()) GTEST_SKIP() << "no chromium here: the page is checked for its form alone";
  Folder in;
  make_run(in / "x.jsonl", in / "x.json");
  ASSERT_EQ(said(report, {in / "x.jsonl", "--trace", in / "x.json", "-o", in / "r.html"}).code, 0);
  const std::string command = "timeout 60 " + browser +
                              " --headless --no-sandbox --disable-gpu --user-data-dir=" + in.path.string() +
                              "/profile --enable-logging=stderr --dump-dom 'file://" + (in / "r.html") + "' >" +
                              (in / "dom") + " 2>" + (in / "errors");
  ASSERT_EQ(std::system(command.c_str()), 0) << text_of(in / "errors");
  const std::string dom = text_of(in / "dom");
  const std::size_t status = dom.find("id=\"status\"");
  ASSERT_NE(status, std::string::npos);
  const std::string filled = dom.substr(status, 60);
  EXPECT_NE(filled.find(" functions"), std::string::npos) << filled;  // the script has run to its end
  EXPECT_EQ(text_of(in / "errors").find("CONSOLE"), std::string::npos) << text_of(in / "errors");
}

}  // namespace
}  // namespace reprise::tool
