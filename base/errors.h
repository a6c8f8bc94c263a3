#pragma once
#include <cstdint>
#include <sstream>
#include <string>

#include "reprise/error.h"

namespace reprise {

/// Throws Error(code, op, message, loc); message parts are streamed: `fail(ErrorCode::X, "add", loc, "sizes ", a, " and
/// ", b)`.
[[noreturn]] void fail_text(ErrorCode, const char* op, SourceLoc, std::string message);

/// How many Errors this thread has made (copies not counted). A trace asks whether the function has caught one.
std::uint64_t errors_made() noexcept;

template <class... Parts>
[[noreturn]] void fail(ErrorCode code, const char* op, SourceLoc loc, const Parts&... parts) {
  std::ostringstream s;
  (s << ... << parts);
  fail_text(code, op, loc, s.str());
}

}  // namespace reprise

/// Our own mistake: always checked, throws Error(Internal) with file and line; the call is then served eagerly.
#define REPRISE_CHECK(cond, ...)                                                                    \
  do {                                                                                              \
    if (!(cond)) [[unlikely]]                                                                       \
      ::reprise::fail(::reprise::ErrorCode::Internal, "", ::reprise::SourceLoc{__FILE__, __LINE__}, \
                      "check failed: " #cond " " __VA_ARGS__);                                      \
  } while (0)
