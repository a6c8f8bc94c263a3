#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

namespace reprise {

/// Waits while the word is `value`, but not longer than `at_most`; may return early. Unlike a condition variable it has
/// no state of its own that a fork would leave behind.
void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                std::chrono::milliseconds at_most) noexcept;
void futex_wake(const std::atomic<std::uint32_t>& word) noexcept;  ///< all that wait

}  // namespace reprise
