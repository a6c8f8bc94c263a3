#pragma once
#include <cstddef>
#include <functional>

namespace reprise {

/// Runs f: here, or on a thread made for it where less than `bytes` of this thread's stack are left, or the stack is
/// one of the program's making (a fiber's), whose end nobody tells. What f throws passes through. Throws OutOfMemory if
/// there is neither.
void with_stack(std::size_t bytes, const std::function<void()>& f);
/// Does this code run on the stack that the system has given its thread? True where the system does not tell.
bool is_on_own_stack() noexcept;

}  // namespace reprise
