// Wrong settings of the environment and wrong commands of the tool, and what they are told on stderr: commands.txt. A
// wrong setting is told once, and the program runs as without it.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "reprise/reprise.h"
#include "tests/golden/golden.h"

#ifdef REPRISE_TOOL
namespace reprise::misuse {
namespace {

struct Misuse {
  const char* environment;  ///< "" or settings
  const char* arguments;    ///< of the tool; TMP: a folder with the files below
  int code;
};
/// A command that says nothing else on stderr.
constexpr const char* kRuns = "ops softmax";
/// Not the tool, but a program that calls a compiled function: the test Subject below.
constexpr const char* kCompiles = "compiles";
const Misuse kAll[] = {
    {"REPRISE_MODE=fast", kRuns, 0},
    {"REPRISE_MODEL=full", kRuns, 0},
    {"REPRISE_MODEL=full REPRISE_TREADS=2", kRuns, 0},
    {"REPRISE_THREADS=many", kRuns, 0},
    {"REPRISE_THREADS=-1", kRuns, 0},
    {"REPRISE_VERIFY=12", kRuns, 0},
    {"REPRISE_PROFILE=yes", kRuns, 0},
    {"REPRISE_PERF_MAP=2", kRuns, 0},
    {"REPRISE_WRITERS=both", kRuns, 0},
    {"REPRISE_VECTOR_BITS=100", kRuns, 0},
    {"REPRISE_CACHE_BYTES=1T", kRuns, 0},
    {"REPRISE_CUDA_PRODUCTS=cublas", kRuns, 0},
    {"REPRISE_LOG=gaurds", kRuns, 0},
    {"REPRISE_LOG=guards,recompile", kRuns, 0},
    {"REPRISE_LOG_FILE=/no/such/folder/x.jsonl", kRuns, 0},
    {"REPRISE_LOG_FILE=/dev/full", kRuns, 0},
    {"REPRISE_TRACE=/no/such/folder/x.json", kRuns, 0},
    {"REPRISE_PATTERNS=gelo,silu", kCompiles, 0},
    {"REPRISE_CACHE_DIR=TMP/open", kCompiles, 0},
    {"REPRISE_CACHE_DIR=TMP/text.jsonl", kCompiles, 0},
    {"REPRISE_MODE=ful", kCompiles, 0},
    {"", "settingz", 2},
    {"REPRISE_MODEL=full", "settings", 1},
    {"", "settings now", 2},
    {"", "ops no_such_operator", 1},
    {"", "explain", 2},
    {"", "explain TMP/none.jsonl", 1},
    {"", "explain TMP", 1},
    {"", "explain TMP/text.jsonl", 1},
    {"", "report TMP/log.jsonl", 2},
    {"", "report TMP/none.jsonl -o TMP/r.html", 1},
    {"", "report TMP/text.jsonl -o TMP/r.html", 1},
    {"", "report TMP/log.jsonl -o /no/such/folder/r.html", 1},
    {"", "report TMP/log.jsonl --trace TMP/text.jsonl -o TMP/r.html", 1},
    {"", "report TMP/cut.jsonl -o TMP/r.html", 0},
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

TEST(Subject, CallsACompiledFunction) {
  auto f = compile([](Tensor x) { return gelu(x) * sqrt(x * x + 1.5); });
  EXPECT_EQ(f(zeros({3})).to_vector<float>(), std::vector<float>(3, 0));
}

TEST(Misuse, CommandsAreToldAsCommitted) {
  const std::string folder =
      (std::filesystem::path(::testing::TempDir()) / ("reprise_commands_" + std::to_string(getpid()))).string();
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/text.jsonl") << "this is\nno log\n";
  set_log("off", folder + "/log.jsonl");
  auto f = compile([](Tensor x, int k) { return x * k; }, {.name = "f"});
  f(ones({2}), 1), f(ones({2}), 2);
  set_log("off", "");
  std::filesystem::copy_file(folder + "/log.jsonl", folder + "/cut.jsonl");
  std::filesystem::resize_file(folder + "/cut.jsonl", std::filesystem::file_size(folder + "/log.jsonl") - 20);

  std::filesystem::create_directories(folder + "/open");
  std::filesystem::permissions(folder + "/open", std::filesystem::perms::all);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();

  std::ostringstream now;
  for (const Misuse& m : kAll) {
    const std::string program = m.arguments == kCompiles ? self + " --gtest_filter=Subject.*"
                                                         : REPRISE_TOOL " " + replaced(m.arguments, "TMP", folder);
    const std::string command = "env -i HOME=/nonexistent REPRISE_CACHE_DIR=off " +
                                replaced(m.environment, "TMP", folder) + " " + program + " 2>&1 >/dev/null";
    std::string said;
    std::FILE* pipe = popen(command.c_str(), "r");
    ASSERT_TRUE(pipe);
    for (int c; (c = std::fgetc(pipe)) != EOF;) said += static_cast<char>(c);
    const int status = pclose(pipe);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == m.code) << command << "\n" << said;
    EXPECT_FALSE(said.empty() && m.code) << command;
    now << m.environment << (*m.environment ? " " : "")
        << (m.arguments == kCompiles ? "a program that calls a compiled function"
                                     : std::string("reprise ") + m.arguments)
        << "\n"
        << replaced("    " + replaced(said, folder, "TMP"), "\n", "\n    ") << "\n";
  }
  std::filesystem::remove_all(folder);
  // Of the list of all settings the beginning will do.
  const std::string text =
      std::regex_replace(replaced(now.str(), "\n    \n", "\n\n"),
                         std::regex("(There are: REPRISE_LOG, REPRISE_LOG_FILE, )[A-Z0-9_, ]*"), "$1...");
  golden::expect_golden("../misuse/commands.txt", text);
}

}  // namespace
}  // namespace reprise::misuse
#endif
