#pragma once
#include "base/errors.h"
#include "reprise/dtype.h"

/// What operators of families ask of dtypes, in one wording.
namespace reprise::operators {

inline void need_float(const char* op, SourceLoc loc, DType t) {
  if (!is_floating(t))
    fail(ErrorCode::DTypeMismatch, op, loc, "not defined for ", dtype_name(t),
         " (wanted a floating dtype; cast with to())");
}

inline void need_index(const char* op, SourceLoc loc, DType t, const char* argument) {
  if (t != DType::Int64 && t != DType::Int32)
    fail(ErrorCode::DTypeMismatch, op, loc, "'", argument, "' must be int64 or int32, got ", dtype_name(t));
}

}  // namespace reprise::operators
