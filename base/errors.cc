#include "base/errors.h"

#include "base/errors_aside.h"

namespace reprise {
namespace {
std::string describe(const std::string& op, const std::string& message, SourceLoc loc) {
  std::string s = op.empty() ? message : op + ": " + message;
  if (loc) s += std::string(" (at ") + loc.file + ":" + std::to_string(loc.line) + ")";
  return s;
}
}  // namespace

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument: return "InvalidArgument";
    case ErrorCode::ShapeMismatch: return "ShapeMismatch";
    case ErrorCode::DTypeMismatch: return "DTypeMismatch";
    case ErrorCode::DeviceMismatch: return "DeviceMismatch";
    case ErrorCode::IndexOutOfRange: return "IndexOutOfRange";
    case ErrorCode::StorageFreed: return "StorageFreed";
    case ErrorCode::AliasConflict: return "AliasConflict";
    case ErrorCode::FileFormat: return "FileFormat";
    case ErrorCode::Io: return "Io";
    case ErrorCode::OutOfMemory: return "OutOfMemory";
    case ErrorCode::DeviceUnavailable: return "DeviceUnavailable";
    case ErrorCode::DeviceFailed: return "DeviceFailed";
    case ErrorCode::NotTraceable: return "NotTraceable";
    case ErrorCode::Sealed: return "Sealed";
    case ErrorCode::CheckFailed: return "CheckFailed";
    case ErrorCode::Internal: return "Internal";
  }
  return "Unknown";
}

namespace {
constinit thread_local std::uint64_t made = 0;
}
std::uint64_t errors_made() noexcept { return made; }
void ErrorsAside::set_errors_made(std::uint64_t n) noexcept { made = n; }

Error::Error(ErrorCode code, std::string op, std::string message, SourceLoc loc)
    : code_(code), op_(std::move(op)), message_(std::move(message)), what_(describe(op_, message_, loc)), loc_(loc) {
  ++made;
}

void fail_text(ErrorCode code, const char* op, SourceLoc loc, std::string message) {
  throw Error(code, op ? op : "", std::move(message), loc);
}

}  // namespace reprise
