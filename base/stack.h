#pragma once
#include <cstddef>
#include <functional>

namespace reprise {

/// Runs f: here, or on a thread made for it where less than `bytes` of this thread's stack are left. What f throws passes
/// through. Throws OutOfMemory if there is neither.
void with_stack(std::size_t bytes, const std::function<void()>& f);

}  // namespace reprise
