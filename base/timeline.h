#pragma once
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

/// REPRISE_TRACE=x.json: what threads did, and when, as trace events that Perfetto and chrome://tracing show
/// (docs/logs.md, "A timeline").
///
/// The file is one JSON array that grows at its end, so what a killed process leaves is whole but for its last line and
/// the closing bracket. Off, it costs whoever asks `on()` one load and a branch. Threads: any.
namespace reprise::timeline {

namespace detail {
extern std::atomic<bool> enabled;
extern std::atomic<std::uint64_t> timed_calls;
}  // namespace detail
inline bool on() { return detail::enabled.load(std::memory_order_relaxed); }

/// Of calls of compiled functions every 64th is timed in any case: those whose number has all of these bits. While the
/// timeline is on it is 0, so that whoever asks asks once for both.
inline std::uint64_t timed_calls() { return detail::timed_calls.load(std::memory_order_relaxed); }

using Time = std::int64_t;  ///< nanoseconds of a clock that all processes of the machine share
Time now();

struct Arg {
  std::string_view name;
  std::variant<std::int64_t, std::string_view> value;
};
using Args = std::initializer_list<Arg>;

/// What the calling thread has done from `begin` to now.
void slice(std::string_view category, std::string_view name, Time begin, Args = {});
void slice(std::string_view category, std::string_view name, Time begin, Time end, Args = {});
/// What happened now; it is in the file when this returns.
void instant(std::string_view category, std::string_view name, Args = {});
/// A curve of the process, or several that are shown on top of each other.
void counter(std::string_view name, Args values);

/// From here to the end of the scope, where the timeline is on at its beginning.
class Slice {
 public:
  Slice(const char* category, std::string_view name) {
    if (on()) [[unlikely]]
      begin_ = now(), category_ = category, name_ = name;
  }
  ~Slice() {
    if (begin_) [[unlikely]]
      slice(category_, name_, begin_);
  }
  Slice(const Slice&) = delete;
  Slice& operator=(const Slice&) = delete;

 private:
  Time begin_ = 0;
  const char* category_ = nullptr;
  std::string name_;
};

/// Begins a file of at most so many bytes; "" ends the one that is written. As with logs, a file that another process
/// writes is left alone, and `path.<number of the process>` is written in its place; so is what a forked child does. A
/// file that cannot be written is a warning.
void configure(const std::string& path, std::int64_t max_bytes);

}  // namespace reprise::timeline
