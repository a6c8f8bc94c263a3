#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

/// Tests of this suite that run in a process of their own: `TEST(Probe, Name)`, which begins with PROBE_ONLY(), and is
/// run by another test.
namespace reprise::test {

struct Ended {
  int status;  ///< of waitpid; -1: it did not end
  std::string text;
};

/// The command that runs it: "VARIABLE=value ..." goes before.
inline std::string probe_command(const std::string& name, const std::string& environment) {
  std::array<char, 4096> self{};
  if (readlink("/proc/self/exe", self.data(), self.size() - 1) <= 0) return "false";
  return "REPRISE_TEST_PROBE=1 " + environment + " exec timeout -s KILL 120 '" + std::string(self.data()) +
         "' --gtest_filter=Probe." + name + " 2>&1";
}

/// Begins it, and reads what it tells when it is asked for.
inline FILE* begin_probe(const std::string& name, const std::string& environment = "") {
  return popen(probe_command(name, environment).c_str(), "r");
}
inline Ended end_probe(FILE* p) {
  if (!p) return {-1, "popen"};
  std::string text;
  std::array<char, 4096> part;
  for (std::size_t n; (n = fread(part.data(), 1, part.size(), p)) > 0;) text.append(part.data(), n);
  return {pclose(p), text};
}
inline Ended run_probe(const std::string& name, const std::string& environment = "") {
  return end_probe(begin_probe(name, environment));
}

#define PROBE_ONLY() \
  if (!std::getenv("REPRISE_TEST_PROBE")) GTEST_SKIP() << "run by another test"

}  // namespace reprise::test
