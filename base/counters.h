#pragma once
#include <atomic>
#include <cstdint>
#include <string>

namespace reprise {

/// One event count. Relaxed: exact in sum, in no order with anything else.
class Counter {
 public:
  void add(std::uint64_t n = 1) noexcept { n_.fetch_add(n, std::memory_order_relaxed); }
  std::uint64_t value() const noexcept { return n_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> n_{0};
};

/// The process's counters, one field for each row of counters.def: `counters().replays.add()`.
struct Counters {
#define REPRISE_COUNTER(name, help) Counter name;
#include "base/counters.def"
#undef REPRISE_COUNTER
};
namespace detail {
inline constinit Counters counters;
}
inline Counters& counters() noexcept { return detail::counters; }

/// The counts at one moment; `after - before` is what happened between.
struct CounterSnapshot {
#define REPRISE_COUNTER(name, help) std::uint64_t name = 0;
#include "base/counters.def"
#undef REPRISE_COUNTER
  friend bool operator==(const CounterSnapshot&, const CounterSnapshot&) = default;
  std::string str() const;  ///< "traces 1, replays 7": the ones that are not zero
};
CounterSnapshot counter_snapshot() noexcept;
CounterSnapshot operator-(const CounterSnapshot& after, const CounterSnapshot& before) noexcept;

}  // namespace reprise
