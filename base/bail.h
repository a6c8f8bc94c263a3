#pragma once
#include <string_view>

#include "base/errors.h"

namespace reprise {

/// Why a call is served eagerly: the rows of bail_reasons.def.
enum class Bail : std::uint8_t {
#define REPRISE_BAIL(name, text) name,
#include "base/bail_reasons.def"
#undef REPRISE_BAIL
};
inline constexpr std::size_t kBails = 0
#define REPRISE_BAIL(name, text) +1
#include "base/bail_reasons.def"
#undef REPRISE_BAIL
    ;
const char* bail_name(Bail) noexcept;
const char* bail_text(Bail) noexcept;

/// Error(NotTraceable) that knows its row. A trace throws it; `compile` counts it and serves the call eagerly.
class Bailed final : public Error {
 public:
  Bailed(Bail reason, const char* what, std::string message, SourceLoc loc)
      : Error(ErrorCode::NotTraceable, what, std::move(message), loc), reason_(reason) {}
  Bail reason() const noexcept { return reason_; }

 private:
  Bail reason_;
};
/// Of an error that made a trace end: its row; Internal ones are compile_failed.
Bail bail_of(const Error&) noexcept;

/// The error under the name of the operator that the user called, at that line. What ended a trace keeps its row.
[[noreturn]] void throw_as(const Error&, std::string op, SourceLoc);

/// Throws Bailed: "what: parts (at loc)", or with the row's text if there are no parts.
template <class... Parts>
[[noreturn]] void bail(Bail reason, const char* what, SourceLoc loc, const Parts&... parts) {
  if constexpr (sizeof...(parts) == 0) {
    throw Bailed(reason, what, bail_text(reason), loc);
  } else {
    std::ostringstream s;
    (s << ... << parts);
    throw Bailed(reason, what, s.str(), loc);
  }
}

}  // namespace reprise
