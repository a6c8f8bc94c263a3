#pragma once
#include "autograd/derivative.h"

/// The derivatives of the built-in operators, by theme (rules_*.cc).
namespace reprise::autograd::rules {

// Operators may share a rule: declaring it again is harmless.
#define REPRISE_DERIVATIVE(op, rule, saves) void rule(Backward&);
#define REPRISE_CONSTANT(op)
#include "autograd/derivatives.def"
#undef REPRISE_DERIVATIVE
#undef REPRISE_CONSTANT

}  // namespace reprise::autograd::rules
