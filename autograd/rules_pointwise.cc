// Derivatives of operators that work on each element.
#include "autograd/rules.h"
#include "reprise/ops.h"

namespace reprise::autograd::rules {

void add(Backward& b) {
  b.give(0, b.grad());
  if (b.wants(1)) b.give(1, b.grad() * b.number(2));
}
void mul(Backward& b) {
  if (b.wants(0)) b.give(0, b.grad() * b.operand(1));
  if (b.wants(1)) b.give(1, b.grad() * b.operand(0));
}
void neg(Backward& b) { b.give(0, -b.grad()); }
void exp(Backward& b) { b.give(0, b.grad() * b.result()); }

}  // namespace reprise::autograd::rules
