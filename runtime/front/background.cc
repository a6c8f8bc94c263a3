#include "runtime/front/background.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <utility>

#include "base/float_state.h"
#include "base/fork.h"
#include "base/futex.h"
#include "base/mutex.h"

namespace reprise::runtime {
namespace {

constinit thread_local bool t_background = false;

class Background {
 public:
  static Background& get() {
    static auto* b = new Background;  // never destroyed: its thread may be in it
    return *b;
  }

  bool add(std::function<void()> task) {
    {
      const MutexLock lock(mu_);
      if (ending_ || !has_thread()) return false;
      tasks_.push_back(std::move(task));
    }
    wake();
    return true;
  }

 private:
  /// There is one now.
  bool has_thread() REPRISE_REQUIRES(mu_) {
    if (begun_ && generation_ == fork_generation()) return true;
    // the parent's: what they hold was made for its threads, and stays as it is
    if (begun_) new std::deque<std::function<void()>>(std::exchange(tasks_, {}));
    static const int at_exit = std::atexit([] { get().end(); });
    static_cast<void>(at_exit);
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
    begun_ = pthread_create(
                 &thread_, nullptr, [](void* b) -> void* { return static_cast<Background*>(b)->work(), nullptr; },
                 this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    generation_ = fork_generation();
    return begun_;
  }

  void work() {
    constexpr int kNicer = 10;  // than calls, which may want all processors
    pthread_setname_np(pthread_self(), "reprise-build");
    FloatState::set();
    t_background = true;
    const auto self = static_cast<id_t>(gettid());  // on Linux a thread has a priority of its own
    setpriority(PRIO_PROCESS, self, std::min(getpriority(PRIO_PROCESS, self) + kNicer, 19));
    for (;;) {
      const std::uint32_t seen = come_.load(std::memory_order_acquire);
      std::function<void()> task;
      {
        const MutexLock lock(mu_);
        if (ending_) return;
        if (!tasks_.empty()) {
          task = std::move(tasks_.front());
          tasks_.pop_front();
        }
      }
      if (task) task();
      else futex_wait(come_, seen, std::chrono::seconds(10));
    }
  }

  void wake() {
    come_.fetch_add(1, std::memory_order_release);
    futex_wake(come_);
  }

  void end() {
    pthread_t thread;
    {
      const MutexLock lock(mu_);
      ending_ = true;
      if (!begun_ || generation_ != fork_generation() || pthread_equal(thread_, pthread_self())) return;
      thread = thread_;
    }
    wake();
    pthread_join(thread, nullptr);
  }

  ForkMutex mu_;
  std::deque<std::function<void()>> tasks_ REPRISE_GUARDED_BY(mu_);
  bool begun_ REPRISE_GUARDED_BY(mu_) = false, ending_ REPRISE_GUARDED_BY(mu_) = false;
  std::uint32_t generation_ REPRISE_GUARDED_BY(mu_) = 0;  // whose thread it is
  pthread_t thread_ REPRISE_GUARDED_BY(mu_){};
  std::atomic<std::uint32_t> come_{0};  // tasks, and the end
};

}  // namespace

bool in_background(std::function<void()> task) { return Background::get().add(std::move(task)); }

bool is_background() noexcept { return t_background; }

}  // namespace reprise::runtime
