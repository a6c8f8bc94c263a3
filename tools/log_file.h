#pragma once
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace reprise::tool {

/// Of one file of events, one JSON object a line.
struct LogFile {
  std::int64_t events = 0;
  std::int64_t bad = 0, first_bad = 0;  ///< lines that are none, and the number of the first
  bool cut = false;                     ///< the bad one is the last, and has no end: a log that is still being written
};

/// f(event) for every event; "-" is standard input. A line at a time is in memory. Throws std::runtime_error where the
/// file cannot be read, or holds lines of which none is an event.
LogFile read_log(const std::string& path, const std::function<void(const nlohmann::json&)>& f);
/// The same of a timeline (REPRISE_TRACE), whole or cut off.
LogFile read_timeline(const std::string& path, const std::function<void(const nlohmann::json&)>& f);

/// What a field of an event is, or nothing of what it is not.
std::string text_of(const nlohmann::json& event, const char* key);
std::int64_t number_of(const nlohmann::json& event, const char* key);
double real_of(const nlohmann::json& event, const char* key);

/// A log is text that somebody gave us: what it says stands on the terminal, what it would do to the terminal does not.
std::string safe(const std::string& text);

}  // namespace reprise::tool
