#pragma once
// Where public headers are included base/log.h cannot be: reprise::log is an operator there.
#include <string>
#include <vector>

namespace reprise::testing {

/// Every event until it goes, as one JSON object a line. Then each is held against the schema.
struct LogLines {
  LogLines();
  ~LogLines();
  std::vector<std::string> lines() const;
};
std::string log_schema();
/// What of a line the schema does not allow; "" of one that keeps it.
std::string mistake_in_line(const std::string& line);
void log_warning(const char* text);

}  // namespace reprise::testing
