#pragma once

namespace reprise::test {

/// Is this a build with AddressSanitizer or ThreadSanitizer? They have an operator new of their own, keep freed memory
/// for a while, make frames larger, take addresses for shadow memory, and follow no child of a process with threads.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace reprise::test
