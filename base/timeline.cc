#include "base/timeline.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "base/fork.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/thread_object.h"
#include "base/watch.h"

namespace reprise {

namespace watchers::detail {
constinit std::atomic<int> count{0};
}

namespace timeline {

namespace detail {
constinit std::atomic<bool> enabled{false};
constinit std::atomic<std::uint64_t> timed_calls{63};
}  // namespace detail

namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 16;
constexpr Time kLongestWait = 1'000'000;  // of what is written for the file
constexpr std::size_t kEnd = 300;         // kept free for the last event and the bracket

void enable(bool on) {
  if (detail::enabled.exchange(on, std::memory_order_relaxed) != on) watchers::add(on ? 1 : -1);
  detail::timed_calls.store(on ? 0 : 63, std::memory_order_relaxed);
}

/// The line of the thread that formats it, so that its memory is kept; and of which file it has told its name.
struct Line {
  std::string text;
  std::uint64_t named_in = 0;
};

void add_string(std::string& to, std::string_view s) {
  auto plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  constexpr std::size_t kLongest = 4000;
  if (s.size() > kLongest) s = s.substr(0, kLongest);
  if (std::all_of(s.begin(), s.end(), plain)) {
    to += '"', to += s, to += '"';
  } else {
    to += nlohmann::json(s).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  }
}
void add_number(std::string& to, std::int64_t n) {
  char digits[24];
  to.append(digits, static_cast<std::size_t>(std::snprintf(digits, sizeof digits, "%lld", static_cast<long long>(n))));
}
/// Nanoseconds as the format's microseconds.
void add_time(std::string& to, Time ns) {
  char digits[32];
  to.append(digits,
            static_cast<std::size_t>(std::snprintf(digits, sizeof digits, "%lld.%03d",
                                                   static_cast<long long>(ns / 1000), static_cast<int>(ns % 1000))));
}
void add_args(std::string& to, Args args) {
  to += ",\"args\":{";
  for (const Arg& a : args) {
    if (&a != args.begin()) to += ',';
    add_string(to, a.name);
    to += ':';
    if (const auto* n = std::get_if<std::int64_t>(&a.value)) add_number(to, *n);
    else add_string(to, std::get<std::string_view>(a.value));
  }
  to += '}';
}
void add_place(std::string& to) {
  to += ",\"pid\":";
  add_number(to, getpid());
  to += ",\"tid\":";
  add_number(to, gettid());
}

/// `kind`: the format's "ph".
void begin_event(std::string& to, char kind, std::string_view category, std::string_view name, Time at) {
  to = "{\"ph\":\"";
  to += kind;
  to += "\",\"cat\":";
  add_string(to, category);
  to += ",\"name\":";
  add_string(to, name);
  to += ",\"ts\":";
  add_time(to, at);
  add_place(to);
}

std::string named(const char* what, std::string_view name) {
  std::string s = std::string("{\"ph\":\"M\",\"name\":\"") + what + "\"";
  add_place(s);
  add_args(s, {{"name", name}});
  return s + '}';
}

std::string thread_name() {
  if (gettid() == getpid()) return "main";
  char name[32] = "";
  pthread_getname_np(pthread_self(), name, sizeof name);
  return (*name ? std::string(name) : std::string("thread")) + " " + std::to_string(gettid());
}
std::string process_name() { return std::string(program_invocation_short_name) + " " + std::to_string(getpid()); }

class Writer {
 public:
  /// Never destroyed: threads and destructors of static objects may still tell something.
  static Writer& get() {
    static Writer* w = new Writer;
    return *w;
  }

  void begin(const std::string& path, std::int64_t max_bytes) {
    std::string problem;
    {
      const MutexLock lock(mu_);
      end_locked();
      if (!path.empty()) open_locked(path, max_bytes, problem);
    }
    if (!problem.empty()) logs::warn(problem);
  }

  void write(Line& line, bool at_once) {
    std::string problem;
    {
      const MutexLock lock(mu_);
      if (in_child_) open_locked(path_ + "." + std::to_string(getpid()), most_, problem);
      if (file_) {
        std::string name;
        if (std::exchange(line.named_in, serial_) != serial_) name = named("thread_name", thread_name());
        if (written_ + static_cast<std::int64_t>(buffer_.size() + name.size() + line.text.size() + kEnd) > most_) {
          fill_locked(problem);
        } else {
          if (!name.empty()) add_locked(name);
          add_locked(line.text);
          const Time t = now();
          if (at_once || buffer_.size() >= kBuffer || t - flushed_ >= kLongestWait) flush_locked(t, problem);
        }
      }
    }
    if (!problem.empty()) logs::warn(problem);
  }

  void end() {
    const MutexLock lock(mu_);
    end_locked();
  }

 private:
  Writer() {
    std::atexit([] { get().end(); });
    static const InForkedChild child([] { get().forget(); });
  }

  /// In a child, where nothing is locked: the file is the parent's.
  void forget() REPRISE_UNCHECKED_THREADS {
    if (!file_) return;
    file_ = files::File();
    buffer_.clear();
    in_child_ = true;
  }

  void open_locked(std::string path, std::int64_t max_bytes, std::string& problem) REPRISE_REQUIRES(mu_) {
    std::string why, asked = path;
    file_ = std::exchange(in_child_, false) ? files::open_to_write(path, why) : files::open_alone(path, why);
    if (!file_) problem = "REPRISE_TRACE: cannot write '" + asked + "': " + why;
    else if (path != asked) problem = "REPRISE_TRACE: another process writes '" + asked + "', this one '" + path + "'";
    path_ = path, most_ = max_bytes, written_ = 0, flushed_ = now();
    ++serial_;
    buffer_.clear();
    if (file_) {
      buffer_ = "[\n" + named("process_name", process_name());
      flush_locked(flushed_, problem);
    }
    enable(static_cast<bool>(file_));
  }
  void add_locked(const std::string& event) REPRISE_REQUIRES(mu_) {
    buffer_ += ",\n";
    buffer_ += event;
  }
  void flush_locked(Time t, std::string& problem) REPRISE_REQUIRES(mu_) {
    std::string why;
    if (!files::write_all(file_, buffer_.data(), static_cast<std::int64_t>(buffer_.size()), why)) {
      problem = "REPRISE_TRACE: writing '" + path_ + "': " + why + "; the timeline ends here";
      enable(false);
      file_ = files::File();
    }
    written_ += static_cast<std::int64_t>(buffer_.size());
    flushed_ = t;
    buffer_.clear();
  }
  void fill_locked(std::string& problem) REPRISE_REQUIRES(mu_) {
    std::string last;
    begin_event(last, 'I', "timeline", "the timeline ends here: REPRISE_TRACE_BYTES are written", now());
    add_locked(last + ",\"s\":\"g\"}");
    problem =
        "REPRISE_TRACE: '" + path_ + "' has " + std::to_string(most_) + " bytes (REPRISE_TRACE_BYTES) and ends here";
    end_locked();
  }
  void end_locked() REPRISE_REQUIRES(mu_) {
    enable(false);
    in_child_ = false;
    if (!file_) return;
    buffer_ += "\n]\n";
    std::string ignored;
    flush_locked(0, ignored);
    file_ = files::File();
  }

  ForkMutex mu_;
  files::File file_ REPRISE_GUARDED_BY(mu_);
  std::string path_ REPRISE_GUARDED_BY(mu_), buffer_ REPRISE_GUARDED_BY(mu_);
  std::int64_t most_ REPRISE_GUARDED_BY(mu_) = 0, written_ REPRISE_GUARDED_BY(mu_) = 0;
  Time flushed_ REPRISE_GUARDED_BY(mu_) = 0;
  std::uint64_t serial_ REPRISE_GUARDED_BY(mu_) = 0;  // of the file
  bool in_child_ REPRISE_GUARDED_BY(mu_) = false;     // of a fork, which has written nothing yet
};

Line& line() { return thread_object<Line>(); }

// Read when the program is loaded, so that `on` needs no check for a first use.
[[maybe_unused]] const bool loaded = [] {
  const Knobs k = knobs_from_environment(nullptr);
  if (!k.trace.empty()) configure(k.trace, k.trace_bytes);
  return true;
}();

}  // namespace

Time now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void slice(std::string_view category, std::string_view name, Time begin, Args args) {
  slice(category, name, begin, now(), args);
}

void slice(std::string_view category, std::string_view name, Time begin, Time end, Args args) {
  if (!on()) return;
  Line& l = line();
  begin_event(l.text, 'X', category, name, begin);
  l.text += ",\"dur\":";
  add_time(l.text, std::max<Time>(end - begin, 0));
  if (args.size()) add_args(l.text, args);
  l.text += '}';
  Writer::get().write(l, false);
}

void instant(std::string_view category, std::string_view name, Args args) {
  if (!on()) return;
  Line& l = line();
  begin_event(l.text, 'i', category, name, now());
  l.text += ",\"s\":\"t\"";
  if (args.size()) add_args(l.text, args);
  l.text += '}';
  Writer::get().write(l, true);
}

void counter(std::string_view name, Args values) {
  if (!on()) return;
  Line& l = line();
  begin_event(l.text, 'C', "memory", name, now());
  add_args(l.text, values);
  l.text += '}';
  Writer::get().write(l, false);
}

void configure(const std::string& path, std::int64_t max_bytes) {
  constexpr std::int64_t kLeast = 4096;
  Writer::get().begin(path, std::max(max_bytes, kLeast));
}

}  // namespace timeline
}  // namespace reprise
