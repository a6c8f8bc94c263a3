#include <chrono>

#include "base/fork.h"
#include "base/futex.h"
#include "runtime/front/compiled.h"

namespace reprise::detail {

bool CompileTurn::take(bool waits) {
  // A trace that does no step for so long waits for something: perhaps for the thread that waits here.
  constexpr auto kStill = std::chrono::milliseconds(500), kLook = std::chrono::milliseconds(20);
  using Clock = std::chrono::steady_clock;
  const epochs::Reader& self = epochs::mine();
  const std::uint32_t ours = fork_generation() * 2 + 1;
  Clock::time_point moved = Clock::now();
  std::uint64_t steps = 0;
  for (;;) {
    std::uint32_t held = c_.turn.load(std::memory_order_relaxed);
    if (held != ours) {  // free, or of a thread that the fork has left behind
      if (c_.turn.compare_exchange_weak(held, ours, std::memory_order_acquire)) break;
      continue;
    }
    const epochs::Reader* maker = c_.maker.load(std::memory_order_acquire);
    if (maker == &self || !waits) return false;
    if (maker && maker->tracing.load(std::memory_order_relaxed)) {
      const std::uint64_t turn = c_.turns.load(std::memory_order_relaxed),
                          now = maker->steps.load(std::memory_order_relaxed);
      if (c_.stuck.load(std::memory_order_relaxed) == turn) return false;
      if (now != steps) moved = Clock::now();
      else if (Clock::now() - moved > kStill) {
        c_.stuck.store(turn, std::memory_order_relaxed);  // others need not find out again
        return false;
      }
      steps = now;
    } else {
      moved = Clock::now();
    }
    c_.waiting.fetch_add(1);
    futex_wait(c_.turn, ours, kLook);
    c_.waiting.fetch_sub(1);
  }
  c_.turns.fetch_add(1, std::memory_order_relaxed);
  c_.maker.store(&self, std::memory_order_release);
  return true;
}

CompileTurn::~CompileTurn() {
  if (!taken_) return;
  c_.maker.store(nullptr, std::memory_order_relaxed);
  c_.turn.store(0);
  if (c_.waiting.load() > 0) futex_wake(c_.turn);
}

}  // namespace reprise::detail
