#pragma once
#include <string>

#include "base/timeline.h"

namespace reprise::detail {
struct CallFrame;
struct Specialization;

/// When this thread's latest call began, where begin_frame() has looked at the clock.
timeline::Time call_began();
/// The sizes and numbers that the call's recording is for: "4,64".
std::string values_of(const Specialization&, const CallFrame&);
/// Adds a slice to the timeline (base/timeline.h): the call has ended.
void add_call_slice(const Specialization&, const CallFrame&);
}  // namespace reprise::detail
