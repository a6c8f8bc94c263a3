#pragma once

/// Written behind the name of a namespace: what is declared there can be called from outside of the shared library,
/// which is built with -fvisibility=hidden and exports nothing else.
#define REPRISE_VISIBLE __attribute__((visibility("default")))

namespace reprise REPRISE_VISIBLE {
namespace detail {
/// Containers of the standard library are laid out differently with _GLIBCXX_DEBUG. A program that is built with it
/// needs a library that is, too: otherwise the linker misses the one of these two whose name says what is wrong.
/// Defined in base/abi.cc.
#ifdef _GLIBCXX_DEBUG
extern const char reprise_is_built_with_GLIBCXX_DEBUG;
[[gnu::used]] inline const char* const containers_are_those_of_the_library = &reprise_is_built_with_GLIBCXX_DEBUG;
#else
extern const char reprise_is_built_without_GLIBCXX_DEBUG;
[[gnu::used]] inline const char* const containers_are_those_of_the_library = &reprise_is_built_without_GLIBCXX_DEBUG;
#endif
}  // namespace detail
}  // namespace REPRISE_VISIBLE
