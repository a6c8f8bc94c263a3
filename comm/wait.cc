#include "comm/wait.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <ctime>
#include <thread>

#include "base/errors.h"
#include "comm/names.h"

namespace reprise::comm {

namespace {

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Looks before it sleeps: about 50 microseconds where each rank has a core, else hardly any, so that those that are
/// waited for get the cores.
int looks(int ranks) {
  static const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return ranks <= cores ? 4000 : 100;
}

// How long a sleep lasts at most, and so how late the end of a run is noticed.
constexpr long kSleepNs = 20'000'000;

}  // namespace

void post(Counter& c, std::uint32_t value) {
  c.value.store(value, std::memory_order_seq_cst);
  if (c.sleepers.load(std::memory_order_seq_cst) != 0)
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&c.value), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void Waiter::until(Counter& c, std::uint32_t value, int of) {
  for (int i = looks(world_.size); i-- > 0;) {
    if (reached(c.value.load(std::memory_order_acquire), value)) return;
    pause();
  }
  asleep(c, value, of);
}

void Waiter::asleep(Counter& c, std::uint32_t value, int of) {
  const int other = members_[static_cast<std::size_t>(of)];
  const auto since = std::chrono::steady_clock::now();
  for (;;) {
    // What has happened to the other rank is asked before its counter is read once more: what it has posted before its
    // end counts.
    const bool left = world_.life(other).left.load(std::memory_order_acquire) != 0;
    const bool dead = !left && world_.is_dead(other);
    const std::uint32_t at = c.value.load(std::memory_order_seq_cst);
    if (reached(at, value)) return;
    if (const std::string why = world_.ended(); !why.empty())
      fail(ErrorCode::DeviceFailed, name_of(call_.kind), call_.loc, why);
    if (left) give_up("rank " + std::to_string(other) + " has returned without that call");
    if (dead) give_up("rank " + std::to_string(other) + " has died");
    const double waited = std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
    if (waited > world_.timeout_s) {
      char text[32];
      std::snprintf(text, sizeof(text), "%g s", world_.timeout_s);
      give_up("rank " + std::to_string(other) + " has not come to that call in " + text);
    }
    c.sleepers.fetch_add(1, std::memory_order_seq_cst);
    const timespec most{0, kSleepNs};
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&c.value), FUTEX_WAIT, at, &most, nullptr, 0);
    c.sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }
}

void Waiter::give_up(const std::string& why) const {
  const std::string place = place_of(call_);
  const std::string text =
      std::string("it waits in ") + name_of(call_.kind) + (place.empty() ? "" : " (" + place + ")") + ", and " + why;
  world_.end(members_[static_cast<std::size_t>(rank_)], text);
  // Of several that give up at once, one is first: all tell the same.
  fail(ErrorCode::DeviceFailed, name_of(call_.kind), call_.loc, world_.ended().empty() ? text : world_.ended());
}

}  // namespace reprise::comm
