#include "log_lines.h"

#include <mutex>

#include "base/log.h"

namespace reprise::testing {

namespace {
std::mutex mu;
std::vector<std::string> seen;
}  // namespace

LogLines::LogLines() {
  seen.clear();
  log::set_test_sink([](std::string_view line) {
    std::lock_guard lock(mu);
    seen.emplace_back(line);
  });
}
LogLines::~LogLines() { log::set_test_sink(nullptr); }
std::vector<std::string> LogLines::lines() const {
  std::lock_guard lock(mu);
  return seen;
}
std::string log_schema() { return log::schema(); }
void log_warning(const char* text) { log::warn(text); }

}  // namespace reprise::testing
