#include "base/fork.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>

#include "base/epochs.h"
#include "base/futex.h"

namespace reprise {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4);

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                std::chrono::milliseconds at_most) noexcept {
  timespec t{};
  t.tv_sec = at_most.count() / 1000, t.tv_nsec = at_most.count() % 1000 * 1'000'000;
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &t, nullptr, 0);
}
void futex_wake(const std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

namespace {
constinit std::atomic<ForkMutex*> mutexes{nullptr};
constinit std::atomic<InForkedChild*> children{nullptr};
constinit std::atomic<std::uint32_t> generation{0};
}  // namespace

struct ForkHandlers {
  static inline constinit ForkMutex* locked = nullptr;  // the first of the list that the thread that forks holds

  // They are taken in no order, so one that is not free lets all go that are held.
  static void lock_all() {
    for (;; usleep(20)) {
      ForkMutex* first = mutexes.load(std::memory_order_acquire);
      ForkMutex* m = first;
      while (m && m->mu_.try_lock()) m = m->next_;
      if (!m && first == mutexes.load(std::memory_order_acquire)) {
        locked = first;
        return;
      }
      for (ForkMutex* held = first; held != m; held = held->next_) held->mu_.unlock();
    }
  }
  static void unlock_all() {
    for (ForkMutex* m = locked; m; m = m->next_) m->mu_.unlock();
  }

  static void prepare() {
    epochs::close();
    lock_all();
  }
  static void parent() {
    unlock_all();
    epochs::open();
  }
  static void child() {
    generation.fetch_add(1);
    unlock_all();
    epochs::only_this_thread_is_left();
    epochs::open();
    for (InForkedChild* c = children.load(); c; c = c->next) c->run();
  }
};

namespace {
[[maybe_unused]] const int registered =
    pthread_atfork(ForkHandlers::prepare, ForkHandlers::parent, ForkHandlers::child);
}

void ForkMutex::enlist() {
  if (known_.exchange(true)) return;
  next_ = mutexes.load(std::memory_order_relaxed);
  while (!mutexes.compare_exchange_weak(next_, this, std::memory_order_acq_rel)) {
  }
}

std::uint32_t fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

InForkedChild::InForkedChild(void (*f)()) : run(f) {
  next = children.load(std::memory_order_relaxed);
  while (!children.compare_exchange_weak(next, this, std::memory_order_acq_rel)) {
  }
}

}  // namespace reprise
