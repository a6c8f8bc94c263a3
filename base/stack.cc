#include "base/stack.h"

#include <pthread.h>

#include <cstdint>
#include <cstring>
#include <exception>

#include "base/errors.h"

namespace reprise {
namespace {

/// The lowest address of this thread's stack; 0 where the system does not tell.
std::uintptr_t stack_end() {
  static constinit thread_local std::uintptr_t end = UINTPTR_MAX;
  if (end != UINTPTR_MAX) return end;
  pthread_attr_t attributes;
  void* lowest = nullptr;
  std::size_t size = 0, guard = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return end = 0;
  if (pthread_attr_getstack(&attributes, &lowest, &size) != 0) lowest = nullptr;
  if (lowest && pthread_attr_getguardsize(&attributes, &guard) != 0) guard = 0;
  pthread_attr_destroy(&attributes);
  return end = lowest ? reinterpret_cast<std::uintptr_t>(lowest) + guard : 0;
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
  const std::uintptr_t end = stack_end(), here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (end == 0 || here < end || here - end >= bytes) return f();  // (here < end: a stack of the user's own making)
  constexpr std::size_t kEnough = std::size_t{8} << 20;
  pthread_attr_t attributes;
  pthread_t thread;
  Job job{f, nullptr};
  int why = pthread_attr_init(&attributes);
  if (why == 0) {
    if ((why = pthread_attr_setstacksize(&attributes, kEnough)) == 0) why = pthread_create(&thread, &attributes, run_job, &job);
    pthread_attr_destroy(&attributes);
  }
  if (why != 0)
    fail(ErrorCode::OutOfMemory, "compile", {}, "this thread has ", (here - end) >> 10, " KiB of stack left, which is not enough to compile, and no other can be started: ",
         std::strerror(why));
  pthread_join(thread, nullptr);
  if (job.failure) std::rethrow_exception(job.failure);
}

}  // namespace reprise
