#pragma once
#include <vector>

#include "base/errors.h"
#include "reprise/tensor.h"

namespace reprise::operators {

/// Throws unless these are leaves that an optimizer can step.
inline void check_parameters(const char* name, const std::vector<Tensor>& params, SourceLoc loc) {
  if (params.empty()) fail(ErrorCode::InvalidArgument, name, loc, "no parameters");
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Tensor& p = params[i];
    if (!p.defined()) fail(ErrorCode::InvalidArgument, name, loc, "parameter ", i, " is undefined");
    if (!is_floating(p.dtype()))
      fail(ErrorCode::DTypeMismatch, name, loc, "parameter ", i, " is of ", dtype_name(p.dtype()),
           " (wanted a floating dtype)");
    if (!p.is_leaf())
      fail(ErrorCode::InvalidArgument, name, loc, "parameter ", i,
           " is no leaf: an operator made it, and backward() keeps no gradient of it (detach() it)");
    for (std::size_t j = 0; j < i; ++j)
      if (p.is_same(params[j]))
        fail(ErrorCode::InvalidArgument, name, loc, "parameters ", j, " and ", i, " are the same tensor");
  }
}

}  // namespace reprise::operators
