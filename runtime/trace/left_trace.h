#pragma once
#include <string>
#include <utility>

#include "base/errors.h"
#include "base/stack.h"

namespace reprise::detail {

// Note [Fibers]
// What a thread calls while it traces is the function's. A function on a stack of the program's making (a fiber) may
// leave that amid its trace, and its thread goes on with something else on the stack that the system gave it. That is
// not the function's: it is refused, before anything is done, until the fiber has gone on to the end of the trace.
// (What other fibers of the thread call meanwhile cannot be told from what a function calls on stacks of its own, a
// generator's.)

/// The function that is traced on a fiber of this thread.
inline constinit thread_local const char* traced_on_fiber = nullptr;

/// While it lives, this thread traces a function.
class TraceStack {
 public:
  explicit TraceStack(const std::string& function)
      : before_(std::exchange(traced_on_fiber, is_on_own_stack() ? nullptr : function.c_str())) {}
  ~TraceStack() { traced_on_fiber = before_; }
  TraceStack(const TraceStack&) = delete;
  TraceStack& operator=(const TraceStack&) = delete;

 private:
  const char* const before_;
};

/// Is this code none of the traced function's, since its fiber was left?
inline bool has_left_trace() noexcept { return traced_on_fiber && is_on_own_stack(); }
/// Throws InvalidArgument.
[[noreturn]] inline void refuse_left_trace(const char* op, SourceLoc loc) {
  fail(ErrorCode::InvalidArgument, op, loc, "a fiber of this thread has left ", traced_on_fiber,
       " while that was traced: until it has gone on to the end of the trace, what the thread calls would be taken for "
       "a part of it. Do not leave the function there, or warm_up() first");
}

}  // namespace reprise::detail
