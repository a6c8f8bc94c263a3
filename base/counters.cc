#include "base/counters.h"

namespace reprise {

CounterSnapshot counter_snapshot() noexcept {
  CounterSnapshot s;
#define REPRISE_COUNTER(name, help) s.name = counters().name.value();
#include "base/counters.def"
#undef REPRISE_COUNTER
  return s;
}

CounterSnapshot operator-(const CounterSnapshot& after, const CounterSnapshot& before) noexcept {
  CounterSnapshot d;
#define REPRISE_COUNTER(name, help) d.name = after.name - before.name;
#include "base/counters.def"
#undef REPRISE_COUNTER
  return d;
}

std::string CounterSnapshot::str() const {
  std::string s;
#define REPRISE_COUNTER(name, help) \
  if (name) s += (s.empty() ? "" : ", ") + std::string(#name " ") + std::to_string(name);
#include "base/counters.def"
#undef REPRISE_COUNTER
  return s;
}

}  // namespace reprise
