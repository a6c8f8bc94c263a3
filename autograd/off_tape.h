#pragma once
#include "reprise/source_location.h"

namespace reprise::autograd {

/// What a function has done in this thread's trace that its graph does not say, and a derivative of its derivative
/// would have to know (runtime/trace/joint_again.cc).
struct OffTape {
  bool gradients_off = false;  ///< it has called an operator while gradients were off
  bool custom = false;         ///< it has called a Function, whose derivative is the program's
  bool region = false;         ///< it runs a region, a branch or a loop, whose derivative is the library's node
  bool detached = false;       ///< it has taken a tensor off the tape (detach_)
};
inline constinit thread_local OffTape off_tape;

/// The line of detach() where a node reads its own result, which has its place on the tape again: compared by address.
extern const char kReadsOwnResult[];

}  // namespace reprise::autograd
