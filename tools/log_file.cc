#include "tools/log_file.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/shown.h"

namespace reprise::tool {

using nlohmann::json;

namespace {

constexpr std::size_t kLongestLine = std::size_t{64} << 20;

/// Like std::getline, of lines that memory bounds: the rest of a longer one is passed over.
bool next_line(std::istream& in, std::string& line, bool& ended) {
  line.clear();
  ended = false;
  std::streambuf& from = *in.rdbuf();
  for (int c = from.sbumpc(); c != std::char_traits<char>::eof(); c = from.sbumpc()) {
    if (c == '\n') return ended = true;
    if (line.size() < kLongestLine) line += static_cast<char>(c);
  }
  return !line.empty();
}

struct Opened {
  std::ifstream file;
  std::istream* in = &std::cin;
};

void open(const std::string& path, Opened& o) {
  if (path == "-") return;
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(path, ignored);
  errno = 0;
  if (!folder) o.file.open(path);
  if (!o.file.is_open())
    throw std::runtime_error("cannot read '" + safe(path) + "'" +
                             (folder  ? ": it is a folder"
                              : errno ? std::string(": ") + std::strerror(errno)
                                      : ""));
  o.in = &o.file;
}

template <class Strip>
LogFile read(const std::string& path, const char* what, const Strip& strip,
             const std::function<bool(const json&)>& take) {
  Opened from;
  open(path, from);
  LogFile log;
  bool ended = true;
  std::int64_t lines = 0;
  for (std::string line; next_line(*from.in, line, ended);) {
    ++lines;
    strip(line);
    if (line.empty()) continue;
    const json e = json::parse(line, nullptr, false);
    const bool good = e.is_object() && take(e);
    if (good) ++log.events;
    else if (log.bad++ == 0) log.first_bad = lines;
    log.cut = !good && !ended;
  }
  if (log.bad && !log.events)
    throw std::runtime_error("'" + safe(path) + "' is not " + what + ": its lines are not JSON objects of events");
  return log;
}

}  // namespace

std::string safe(const std::string& text) { return shown(text, 4000); }

std::string text_of(const json& e, const char* key) {
  auto at = e.find(key);
  return at != e.end() && at->is_string() ? at->get<std::string>() : "";
}
std::int64_t number_of(const json& e, const char* key) {
  auto at = e.find(key);
  if (at == e.end() || !at->is_number_integer()) return 0;
  return at->is_number_unsigned() && at->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)
             ? 0
             : at->get<std::int64_t>();
}
double real_of(const json& e, const char* key) {
  auto at = e.find(key);
  if (at == e.end() || !at->is_number()) return 0;
  const double v = at->get<double>();
  constexpr double kMost = 1e15;
  return std::isfinite(v) ? std::clamp(v, -kMost, kMost) : 0;
}

LogFile read_log(const std::string& path, const std::function<void(const json&)>& f) {
  return read(
      path, "a log", [](std::string&) {},
      [&](const json& e) {
        if (text_of(e, "event").empty()) return false;
        f(e);
        return true;
      });
}

LogFile read_timeline(const std::string& path, const std::function<void(const json&)>& f) {
  auto strip = [](std::string& line) {
    while (!line.empty() && (line.back() == ',' || line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line == "[" || line == "]") line.clear();
  };
  return read(path, "a timeline of REPRISE_TRACE", strip, [&](const json& e) {
    if (text_of(e, "ph").empty()) return false;
    f(e);
    return true;
  });
}

}  // namespace reprise::tool
