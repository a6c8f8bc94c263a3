#pragma once
#include <optional>

#include "reprise/ops.h"
#include "reprise/visible.h"

/// Results into a tensor that is given: `abs_out(out, x)`, `maximum_out(out, x, y)`, `sum_out(out, x, -1)` of all
/// operators whose rows stand in reprise/elementwise_ops.inc and reprise/reduction_ops.inc; of any other function
/// `into(out, softmax(x, -1))`. (Those that take more are in ops.h: add_out, mm_out, cat_out, ...) `out` gets the
/// result's sizes, if it has others (resize_), and its elements, converted; a float result does not go into integers
/// (DTypeMismatch). Returns out, which may also be an input. In compiled functions the result is computed in place
/// where that can be done.
namespace reprise REPRISE_VISIBLE {

namespace detail {
Tensor into(const Tensor& out, const Tensor& made, const char* op, SourceLoc loc);  // graph/api_written.cc
}

inline Tensor into(const Tensor& out, const Tensor& made, SourceLoc loc = SourceLoc::current()) {
  return detail::into(out, made, "into", loc);
}

#define REPRISE_UNARY(name, rule, twin)                                                                   \
  inline Tensor name##_out(const Tensor& out, const Tensor& self, SourceLoc loc = SourceLoc::current()) { \
    return detail::into(out, name(self, loc), #name "_out", loc);                                         \
  }
#define REPRISE_BINARY(name, rule, twin)                                                 \
  inline Tensor name##_out(const Tensor& out, const Operand& self, const Operand& other, \
                           SourceLoc loc = SourceLoc::current()) {                       \
    return detail::into(out, name(self, other, loc), #name "_out", loc);                 \
  }
#include "reprise/elementwise_ops.inc"
#undef REPRISE_UNARY
#undef REPRISE_BINARY
#define REPRISE_REDUCTION(name, cls, rule)                                                                            \
  inline Tensor name##_out(const Tensor& out, const Tensor& self, const OptionalDims& dim = {}, bool keepdim = false, \
                           SourceLoc loc = SourceLoc::current()) {                                                    \
    return detail::into(out, name(self, dim, keepdim, loc), #name "_out", loc);                                       \
  }
#define REPRISE_REDUCTION_AS(name, cls, rule)                                                                         \
  inline Tensor name##_out(const Tensor& out, const Tensor& self, const OptionalDims& dim = {}, bool keepdim = false, \
                           std::optional<DType> dtype = std::nullopt, SourceLoc loc = SourceLoc::current()) {         \
    return detail::into(out, name(self, dim, keepdim, dtype, loc), #name "_out", loc);                                \
  }
#include "reprise/reduction_ops.inc"
#include "reprise/visible.h"
#undef REPRISE_REDUCTION
#undef REPRISE_REDUCTION_AS

}  // namespace REPRISE_VISIBLE
