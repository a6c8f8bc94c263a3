#pragma once
#include <string>

#include "base/timeline.h"
#include "runtime/program.h"

/// What the timeline (base/timeline.h) is told of calls: while it is on.
namespace reprise::detail {
struct CallFrame;
struct Specialization;

/// When this thread's latest call began, where begin_frame() has looked at the clock.
timeline::Time call_began();
/// The sizes and numbers that the call's recording is for: "4,64".
std::string values_of(const Specialization&, const CallFrame&);
/// The call is over.
void tell_call(const Specialization&, const CallFrame&);
}  // namespace reprise::detail

namespace reprise::runtime {
/// A step of the host has run; `bytes`: kernels::Work.
void tell_launch(const kernels::Launch&, timeline::Time begin, timeline::Time end, std::int64_t bytes);
}  // namespace reprise::runtime
