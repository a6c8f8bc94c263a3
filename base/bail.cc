#include "base/bail.h"

namespace reprise {

namespace {
struct Row {
  const char *name, *text;
};
constexpr Row kRows[] = {
#define REPRISE_BAIL(name, text) {#name, text},
#include "base/bail_reasons.def"
#undef REPRISE_BAIL
};
}  // namespace

const char* bail_name(Bail b) noexcept { return kRows[static_cast<std::size_t>(b)].name; }
const char* bail_text(Bail b) noexcept { return kRows[static_cast<std::size_t>(b)].text; }

Bail bail_of(const Error& e) noexcept {
  if (e.code() == ErrorCode::Internal) return Bail::compile_failed;
  const auto* bailed = dynamic_cast<const Bailed*>(&e);
  return bailed ? bailed->reason() : Bail::said_so;
}

void throw_as(const Error& e, std::string op, SourceLoc loc) {
  if (const auto* bailed = dynamic_cast<const Bailed*>(&e))
    throw Bailed(bailed->reason(), op.c_str(), e.message(), loc);
  throw Error(e.code(), std::move(op), e.message(), loc);
}

}  // namespace reprise
