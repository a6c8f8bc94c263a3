#pragma once
#include <exception>
#include <string>
#include <string_view>

#include "reprise/source_location.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// What kind of thing went wrong. Stable: users may switch on it.
enum class ErrorCode {
  InvalidArgument,    ///< a value no call could accept (negative size, unknown dtype, empty prompt)
  ShapeMismatch,      ///< sizes of two operands do not fit each other
  DTypeMismatch,      ///< dtypes do not fit the operator or each other
  DeviceMismatch,     ///< tensors on two devices
  IndexOutOfRange,    ///< an index value or dimension outside its range
  StorageFreed,       ///< a tensor whose storage was released is used
  AliasConflict,      ///< a write to memory that overlaps itself or another operand
  FileFormat,         ///< a file that is truncated or lies about its contents
  Io,                 ///< the operating system refused
  OutOfMemory,        ///< no bytes left, with who holds what
  DeviceUnavailable,  ///< no such device, and why
  DeviceFailed,       ///< a device or its driver reported a failure: its name, and the kernel's
  NotTraceable,       ///< only inside a trace: the call cannot be recorded; `compile` falls back to eager
  Sealed,             ///< a sealed function would have to compile; names the guard that failed
  Internal,           ///< our mistake
  CheckFailed,        ///< CompileOptions::check: a replay is not what the function does now; names the first difference
};

/// "ShapeMismatch", ...: the code's name as a literal.
std::string_view error_code_name(ErrorCode);

/// The one family of exceptions. `what()` is "<op>: <message> (at file:line)", with the parts that are known.
class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string op, std::string message, SourceLoc loc = {});
  ErrorCode code() const noexcept { return code_; }
  const std::string& op() const noexcept { return op_; }            ///< operator or function name, may be empty
  const std::string& message() const noexcept { return message_; }  ///< both sides of what did not match
  SourceLoc where() const noexcept { return loc_; }                 ///< the user's line, if known
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  ErrorCode code_;
  std::string op_, message_, what_;
  SourceLoc loc_;
};

}  // namespace REPRISE_VISIBLE
