#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace reprise {
struct LogEvent;
}

namespace reprise::logs {

/// Channels of REPRISE_LOG=trace,guards,... (docs/logs.md). `always`: warnings, printed whenever logging is not off.
enum class Channel : std::uint8_t {
  Trace,
  Guards,
  Recompiles,
  Graph,
  Passes,
  Fusion,
  Recordings,
  Memory,
  Epilogue,
  Compile,
  Branches,
  Warning,
  Joint
};
inline constexpr int kChannelCount = 13;
std::string_view channel_name(Channel);

namespace detail {
extern std::atomic<std::uint32_t> enabled_mask;
}  // namespace detail
/// One relaxed load: cheap enough for warm paths. Guards every construction of an event.
inline bool on(Channel c) { return (detail::enabled_mask.load(std::memory_order_relaxed) >> static_cast<int>(c)) & 1; }

/// What is told (log_events.def); each is of one channel.
enum class Event : std::uint8_t {
#define REPRISE_EVENT(name, channel, fields, when) name,
#include "base/log_events.def"
#undef REPRISE_EVENT
};
/// The JSON Schema (draft 2020-12) that every line of REPRISE_LOG_FILE keeps.
std::string schema();

/// One event: printed for people as "[channel] function/specialization: text" when REPRISE_LOG names the channel, and
/// written as one JSON object a line {"t_us", "channel", "event", "function", "text", ...fields} to REPRISE_LOG_FILE.
/// The fields are those of the event's row. Threads: any; a line is written whole.
void event(Event, std::string_view function, std::string_view text, const nlohmann::json& fields);
void warn(std::string_view text);

/// Rereads the environment (tests), or sets the sinks directly. Channels: comma-separated names, "all", or "".
void configure_from_environment();
void configure(std::string_view channels, const std::string& file_path);
/// reprise::set_log_callback.
void set_callback(std::function<void(const LogEvent&)> callback, std::string_view channels);
/// For tests: all events' JSON lines also go to this callback until it is reset with nullptr.
void set_test_sink(void (*sink)(std::string_view json_line));

}  // namespace reprise::logs
