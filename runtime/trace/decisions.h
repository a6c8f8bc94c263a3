#pragma once
#include <cstdint>
#include <string>

#include "guards/expr.h"
#include "reprise/source_location.h"
#include "runtime/call/outcomes.h"

namespace reprise::detail {

/// A branch on a value of a tensor, as a trace has taken it (Note [Branches on values] in runtime/build/branches.h).
struct Decision {
  const guards::Expr* assumed = nullptr;  ///< what is assumed: the condition, its negation, or an equation
  const guards::Expr* number = nullptr;   ///< of an integer that became a constant: the integer; else null
  std::int64_t outcome = 0;               ///< 0 or 1; of such an integer what it is
  bool of_floats = false;                 ///< no size can follow from it
  SourceLoc loc;
  std::string condition;  ///< as it was asked
};

}  // namespace reprise::detail
