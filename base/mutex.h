#pragma once
#include <mutex>

/// Mutexes that clang's -Wthread-safety knows: `./run check` holds that what is guarded is read and written under its
/// mutex (scripts/check_threads.sh). Other compilers see plain mutexes.
#if defined(__clang__)
#define REPRISE_THREAD_ATTRIBUTE(...) __attribute__((__VA_ARGS__))
#else
#define REPRISE_THREAD_ATTRIBUTE(...)
#endif
/// Of a member: read and written under that mutex alone.
#define REPRISE_GUARDED_BY(...) REPRISE_THREAD_ATTRIBUTE(guarded_by(__VA_ARGS__))
/// Of a pointer: what it points to is.
#define REPRISE_PT_GUARDED_BY(...) REPRISE_THREAD_ATTRIBUTE(pt_guarded_by(__VA_ARGS__))
/// Of a function: whoever calls it holds that mutex.
#define REPRISE_REQUIRES(...) REPRISE_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
/// Of a function: whoever calls it does not hold that mutex.
#define REPRISE_EXCLUDES(...) REPRISE_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
/// Of a function that is not looked into, for a reason that stands beside it: one that runs while nobody else can.
#define REPRISE_UNCHECKED_THREADS REPRISE_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace reprise {

class REPRISE_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  void lock() REPRISE_THREAD_ATTRIBUTE(acquire_capability()) { mu_.lock(); }
  bool try_lock() REPRISE_THREAD_ATTRIBUTE(try_acquire_capability(true)) { return mu_.try_lock(); }
  void unlock() REPRISE_THREAD_ATTRIBUTE(release_capability()) { mu_.unlock(); }

 private:
  std::mutex mu_;
};

/// Holds a Mutex, or another class with its members, from its making to its end.
template <class M>
class REPRISE_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(M& m) REPRISE_THREAD_ATTRIBUTE(acquire_capability(m)) : mu_(m) { mu_.lock(); }
  ~MutexLock() REPRISE_THREAD_ATTRIBUTE(release_capability()) {
    if (held_) mu_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  /// Lets go before its end, and takes it again.
  void unlock() REPRISE_THREAD_ATTRIBUTE(release_capability()) {
    held_ = false;
    mu_.unlock();
  }
  void lock() REPRISE_THREAD_ATTRIBUTE(acquire_capability()) {
    mu_.lock();
    held_ = true;
  }

 private:
  M& mu_;
  bool held_ = true;
};

}  // namespace reprise
