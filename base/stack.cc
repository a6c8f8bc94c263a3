#include "base/stack.h"

#include <pthread.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <utility>

#include "base/errors.h"

namespace reprise {
namespace {

/// This thread's own stack: addresses from `end`, where it overflows, up to `top`. Both 0: the system does not tell.
struct Stack {
  std::uintptr_t end = 0, top = 0;
  bool holds(std::uintptr_t address) const { return end == 0 || (address >= end && address < top); }
};

const Stack& own_stack() noexcept {
  static constinit thread_local bool known = false;
  static constinit thread_local Stack own;
  if (std::exchange(known, true)) return own;
  pthread_attr_t attributes;
  void* lowest = nullptr;
  std::size_t size = 0, guard = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return own;
  if (pthread_attr_getstack(&attributes, &lowest, &size) != 0) lowest = nullptr;
  if (lowest && pthread_attr_getguardsize(&attributes, &guard) != 0) guard = 0;
  pthread_attr_destroy(&attributes);
  const auto from = reinterpret_cast<std::uintptr_t>(lowest);
  if (lowest) own = {from + guard, from + size};
  return own;
}

struct Job {
  const std::function<void()>& f;
  std::exception_ptr failure;
};
void* run_job(void* p) {
  Job& job = *static_cast<Job*>(p);
  try {
    job.f();
  } catch (...) {
    job.failure = std::current_exception();
  }
  return nullptr;
}

}  // namespace

void with_stack(std::size_t bytes, const std::function<void()>& f) {
  const Stack& own = own_stack();
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const bool here_own = own.holds(here);
  if (own.end == 0 || (here_own && here - own.end >= bytes)) return f();
  constexpr std::size_t kEnough = std::size_t{8} << 20;
  pthread_attr_t attributes;
  pthread_t thread;
  Job job{f, nullptr};
  int why = pthread_attr_init(&attributes);
  if (why == 0) {
    if ((why = pthread_attr_setstacksize(&attributes, kEnough)) == 0)
      why = pthread_create(&thread, &attributes, run_job, &job);
    pthread_attr_destroy(&attributes);
  }
  if (why != 0 && !here_own) return f();  // it may be large enough
  if (why != 0)
    fail(ErrorCode::OutOfMemory, "compile", {}, "this thread has ", (here - own.end) >> 10,
         " KiB of stack left, which is not enough to compile, and no other can be started: ", std::strerror(why));
  pthread_join(thread, nullptr);
  if (job.failure) std::rethrow_exception(job.failure);
}

bool is_on_own_stack() noexcept {
  return own_stack().holds(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
}

}  // namespace reprise
