#include "base/log.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <vector>

#include "base/errors.h"
#include "base/files.h"
#include "base/fork.h"
#include "base/knobs.h"
#include "base/list.h"
#include "base/log_channels.h"
#include "base/mutex.h"
#include "base/nearest.h"
#include "base/shown.h"
#include "base/warning.h"
#include "reprise/stats.h"

namespace reprise::logs {
namespace detail {
constinit std::atomic<std::uint32_t> enabled_mask{1u << static_cast<int>(Channel::Warning)};
}

namespace {

constexpr std::string_view kNames[kChannelCount] = {"trace",    "guards",     "recompiles", "graph",    "passes",
                                                    "fusion",   "recordings", "memory",     "epilogue", "compile",
                                                    "branches", "warning",    "joint"};
constexpr std::uint32_t kAll = (1u << kChannelCount) - 1;
constexpr std::uint32_t bit(Channel c) { return 1u << static_cast<int>(c); }

struct EventRow {
  std::string_view name;
  Channel channel;
  std::string_view fields, when;
};
constexpr EventRow kEvents[] = {
#define REPRISE_EVENT(name, channel, fields, when) {#name, Channel::channel, fields, when},
#include "base/log_events.def"
#undef REPRISE_EVENT
};

struct Sinks {
  ForkMutex mu;
  std::uint32_t text_mask REPRISE_GUARDED_BY(mu) = bit(Channel::Warning);
  std::FILE* file REPRISE_GUARDED_BY(mu) = nullptr;
  void (*test_sink)(std::string_view) REPRISE_GUARDED_BY(mu) = nullptr;
  std::function<void(const LogEvent&)> callback REPRISE_GUARDED_BY(mu);
  std::uint32_t callback_mask REPRISE_GUARDED_BY(mu) = 0;
  std::set<std::string, std::less<>> names_warned_of REPRISE_GUARDED_BY(mu);
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  void publish_mask() REPRISE_REQUIRES(mu) {
    detail::enabled_mask.store(file || test_sink ? kAll : text_mask | callback_mask, std::memory_order_relaxed);
  }
};
// Never destroyed: static destructors of other files may still log.
Sinks& sinks() {
  static Sinks* s = new Sinks;
  return *s;
}

void to_stderr(const std::string& line) {
  const files::NoSizeSignal none;
  std::fwrite(line.data(), 1, line.size(), stderr);
}

/// The channels a list names; `unknown` is told of what is none.
template <class F>
std::uint32_t parse_channels(std::string_view list, F&& unknown) {
  std::uint32_t mask = bit(Channel::Warning);
  for_each_listed(list, [&](std::string_view name) {
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (name.empty()) return;
    if (name == "all") {
      mask = kAll;
    } else if (name == "off" || name == "0") {
      mask = 0;
    } else {
      int i = 0;
      while (i < kChannelCount && kNames[i] != name) ++i;
      if (i < kChannelCount) {
        mask |= 1u << i;
      } else {
        std::vector<std::string_view> names(kNames, kNames + kChannelCount);
        names.insert(names.end(), {"all", "off"});
        unknown(name, "unknown channel '" + shown(name) + "'; did you mean '" + nearest_name(name, names) +
                          "'? There are: " + listed(names));
      }
    }
  });
  return mask;
}

// The environment is read when the program is loaded, so that `on` needs no check for a first use.
[[maybe_unused]] const bool loaded = (configure_from_environment(), true);

}  // namespace

std::string_view channel_name(Channel c) { return kNames[static_cast<int>(c)]; }

std::string schema() {
  using nlohmann::json;
  auto only = [](std::string_view value) { return json{{"const", value}}; };
  json events = json::array();
  for (const EventRow& row : kEvents) {
    json properties = {{"event", only(row.name)}, {"channel", only(channel_name(row.channel))}},
         required = json::array();
    std::istringstream fields{std::string(row.fields)};
    for (std::string field; fields >> field;) {
      const std::size_t colon = field.find(':');
      required.push_back(field.substr(0, colon));
      properties[field.substr(0, colon)] = {{"type", field.substr(colon + 1)}};
    }
    events.push_back({{"description", row.when}, {"properties", properties}, {"required", required}});
  }
  const json text = {{"type", "string"}};
  return json{
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"title", "A line of REPRISE_LOG_FILE"},
      {"type", "object"},
      {"properties",
       {{"t_us", {{"type", "integer"}}}, {"channel", text}, {"event", text}, {"function", text}, {"text", text}}},
      {"required", {"t_us", "channel", "event", "function", "text"}},
      {"oneOf", events},
      {"unevaluatedProperties", false}}
      .dump(2);
}

void event(Event e, std::string_view function, std::string_view text, const nlohmann::json& fields) {
  const auto& [name, channel, declared, when] = kEvents[static_cast<int>(e)];
  Sinks& s = sinks();
  const MutexLock lock(s.mu);
  if (s.text_mask & bit(channel)) {
    std::string line = "[";
    line.append(channel_name(channel)) += "] ";
    // Names may come from files of strangers: a terminal must not obey them, nor a name begin a line of its own.
    if (!function.empty()) line.append(shown(function, std::string_view::npos)) += ": ";
    line.append(shown_lines(text)) += '\n';
    to_stderr(line);
  }
  const bool called = s.callback && (s.callback_mask & bit(channel));
  if (!s.file && !s.test_sink && !called) return;
  auto us = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - s.start).count();
  nlohmann::json j = fields.is_object() ? fields : nlohmann::json::object();
  j["t_us"] = us;
  j["channel"] = channel_name(channel);
  j["event"] = name;
  j["function"] = function;
  j["text"] = text;
  std::string line = j.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (s.test_sink) s.test_sink(line);
  if (called) {
    try {
      s.callback({channel_name(channel), name, function, text, line});
    } catch (...) {  // the library's state is not the callback's affair
    }
  }
  if (s.file) {
    line += '\n';
    const files::NoSizeSignal none;
    const bool whole = std::fwrite(line.data(), 1, line.size(), s.file) == line.size();
    // Flushed: a program that dies leaves what led to it.
    if (whole && std::fflush(s.file) == 0) return;
    const std::string why = std::strerror(errno);
    if (s.text_mask & bit(Channel::Warning)) to_stderr("[warning] REPRISE_LOG_FILE: " + why + "; the file ends here\n");
    std::fclose(std::exchange(s.file, nullptr));
    s.publish_mask();
  }
}

void warn(std::string_view text) {
  if (on(Channel::Warning)) event(Event::warning, "", text, nlohmann::json::object());
}

void configure(std::string_view channels, const std::string& file_path) {
  std::vector<std::string> problems;
  {
    Sinks& s = sinks();
    const MutexLock lock(s.mu);
    s.text_mask = parse_channels(channels, [&](std::string_view name, std::string problem) REPRISE_UNCHECKED_THREADS {
      // once a process; it runs here, under the mutex
      if (s.names_warned_of.insert(std::string(name)).second) problems.push_back("REPRISE_LOG: " + problem);
    });
    if (s.file) std::fclose(s.file);
    s.file = nullptr;
    if (!file_path.empty()) {
      std::string why, path = file_path;
      files::File opened = files::open_alone(path, why);
      if (opened && path != file_path)
        problems.push_back("REPRISE_LOG_FILE: another process writes '" + file_path + "', this one '" + path + "'");
      s.file = opened ? fdopen(opened.fd(), "w") : nullptr;
      if (s.file) opened.release();
      else problems.push_back("REPRISE_LOG_FILE: cannot write '" + file_path + "': " + why);
    }
    s.publish_mask();
  }
  for (const std::string& p : problems) warn(p);
}

void configure_from_environment() {
  std::vector<std::string> problems;
  Knobs k = knobs_from_environment(&problems);
  configure(k.log, k.log_file);
  for (const std::string& p : problems) warn(p);
}

void require_channels(std::string_view list, const char* op) {
  parse_channels(
      list, [op](std::string_view, const std::string& problem) { fail(ErrorCode::InvalidArgument, op, {}, problem); });
}

void set_callback(std::function<void(const LogEvent&)> callback, std::string_view channels) {
  require_channels(channels, "set_log_callback");
  const std::uint32_t mask = parse_channels(channels, [](std::string_view, const std::string&) {});
  Sinks& s = sinks();
  const MutexLock lock(s.mu);
  s.callback_mask = callback ? mask : 0;
  s.callback = std::move(callback);
  s.publish_mask();
}

void set_test_sink(void (*sink)(std::string_view json_line)) {
  Sinks& s = sinks();
  const MutexLock lock(s.mu);
  s.test_sink = sink;
  s.publish_mask();
}

}  // namespace reprise::logs

namespace reprise {
void warning(std::string_view text) { logs::warn(text); }
}  // namespace reprise
