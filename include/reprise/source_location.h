#pragma once
#include <cstdint>

#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// A place in the user's program. Taken through a default argument, so it names the caller's line:
/// every operator takes a `SourceLoc loc = SourceLoc::current()` last. (`std::source_location` is
/// missing in clang 14 with libstdc++ 12; the two builtins work in both compilers.)
/// `file` is a string literal of the caller and is never freed.
struct SourceLoc {
  const char* file = nullptr;
  std::uint32_t line = 0;

  static constexpr SourceLoc current(const char* file = __builtin_FILE(), std::uint32_t line = __builtin_LINE()) {
    return {file, line};
  }
  explicit constexpr operator bool() const { return file != nullptr; }
};

}  // namespace REPRISE_VISIBLE
