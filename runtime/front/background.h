#pragma once
#include <functional>

namespace reprise::runtime {

/// Runs `task`, which must not throw, soon and behind those that came earlier, on the one thread that the process has
/// for them, which is nicer than others and takes no signals. Its tasks are destroyed there. The end of the process
/// waits for the one that runs; the others are not begun then. A child of fork() has a thread of its own, and none of
/// its parent's tasks. A task holds what it is for weakly, if that may go before it (Note [Who frees what] in
/// runtime/front/compiled.h). False, and nothing is done: the process ends, or no thread can be started. Any thread.
bool in_background(std::function<void()> task);
/// Is this thread that one?
bool is_background() noexcept;

}  // namespace reprise::runtime
