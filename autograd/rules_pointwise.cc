// Derivatives of arithmetic, of choice, and of copies.
#include "autograd/rule_parts.h"
#include "autograd/rules.h"

namespace reprise::autograd::rules {

// ---- shared by many

void zero(Backward&) {}
void pass(Backward& b) { b.give(0, b.grad()); }
void second(Backward& b) { b.give(1, b.grad()); }

// ---- arithmetic

void add(Backward& b) {
  b.give(0, b.grad());
  if (b.wants(1)) b.give(1, mul(b.grad(), b.number(2), b.loc()));
}
void sub(Backward& b) {
  b.give(0, b.grad());
  if (b.wants(1)) b.give(1, mul(b.grad(), -b.number(2), b.loc()));
}
void mul(Backward& b) {
  if (b.wants(0)) b.give(0, mul(b.grad(), b.operand(1), b.loc()));
  if (b.wants(1)) b.give(1, mul(b.grad(), b.operand(0), b.loc()));
}
void div(Backward& b) {
  if (b.has(2)) return;  // rounded: a staircase
  if (b.wants(0)) b.give(0, div(b.grad(), b.operand(1), {}, b.loc()));
  if (b.wants(1)) b.give(1, -b.grad() * (div(div(b.operand(0), b.operand(1), {}, b.loc()), b.operand(1), {}, b.loc())));
}
void remainder(Backward& b) {
  b.give(0, b.grad());
  if (b.wants(1)) b.give(1, -b.grad() * div(b.operand(0), b.operand(1), "floor", b.loc()));
}
void fmod(Backward& b) {
  b.give(0, b.grad());
  if (b.wants(1)) b.give(1, -b.grad() * div(b.operand(0), b.operand(1), "trunc", b.loc()));
}

namespace {

/// A tensor or a number as a tensor of the result's dtype.
Tensor as_result(Backward& b, int arg) {
  return b.is_tensor(arg) ? to(b.tensor(arg), b.result_dtype(), b.loc())
                          : full({}, b.number(arg), {b.result_dtype(), b.grad().device()}, b.loc());
}

}  // namespace

// x^e. What is not defined where x is 0 is kept out of the formulas by a 1 in x's place, so that their own derivatives
// are defined there, too.
void pow(Backward& b) {
  const Tensor& g = b.grad();
  if (b.wants(0) && !b.is_tensor(1)) {
    const Scalar e = b.number(1);
    if (e == 0) b.give(0, {});
    else b.give(0, g * (pow(b.tensor(0), e - 1, b.loc()) * e));
  } else if (b.wants(0)) {
    const Tensor x = as_result(b, 0), e = as_result(b, 1);
    const Tensor base = where((x == 0) & (e == 0), 1, x, b.loc());
    b.give(0, g * (e * pow(base, e - 1, b.loc())));
  }
  if (b.wants(1)) {
    const Tensor x = as_result(b, 0), e = as_result(b, 1);
    b.give(1, g * (b.result() * log(where((x == 0) & (e >= 0), 1, x, b.loc()), b.loc())));
  }
}

void lerp(Backward& b) {
  const Tensor& g = b.grad();
  if (b.wants(0)) b.give(0, b.is_tensor(2) ? g * (1 - b.tensor(2)) : g * (1 - b.number(2)));
  if (b.wants(1)) b.give(1, mul(g, b.operand(2), b.loc()));
  if (b.wants(2)) b.give(2, g * (b.tensor(1) - b.tensor(0)));
}
void addcmul(Backward& b) {
  b.give(0, b.grad());
  if (b.wants(1)) b.give(1, b.grad() * (b.tensor(2) * b.number(3)));
  if (b.wants(2)) b.give(2, b.grad() * (b.tensor(1) * b.number(3)));
}
void addcdiv(Backward& b) {
  b.give(0, b.grad());
  if (b.wants(1)) b.give(1, b.grad() * b.number(3) / b.tensor(2));
  if (b.wants(2)) b.give(2, -b.grad() * (b.tensor(1) / b.tensor(2) / b.tensor(2) * b.number(3)));
}

namespace {

/// Both get half where they are equal.
void extreme_of_two(Backward& b, bool largest) {
  const Operand x = b.operand(0), y = b.operand(1);
  const Tensor g = where(eq(x, y, b.loc()), b.grad() * 0.5, b.grad(), b.loc()), x_below = lt(x, y, b.loc()),
               y_below = gt(x, y, b.loc());
  if (b.wants(0)) b.give(0, unless(largest ? x_below : y_below, g, b.loc()));
  if (b.wants(1)) b.give(1, unless(largest ? y_below : x_below, g, b.loc()));
}

}  // namespace

void maximum(Backward& b) { extreme_of_two(b, true); }
void minimum(Backward& b) { extreme_of_two(b, false); }

void hypot(Backward& b) {
  const Tensor r = b.result(), at_0 = r == 0, slope = unless(at_0, b.grad(), b.loc()) / where(at_0, 1, r, b.loc());
  if (b.wants(0)) b.give(0, mul(slope, b.operand(0), b.loc()));
  if (b.wants(1)) b.give(1, mul(slope, b.operand(1), b.loc()));
}
void atan2(Backward& b) {
  const Tensor y = as_result(b, 0), x = as_result(b, 1), r = x * x + y * y, at_0 = r == 0;
  const Tensor slope = unless(at_0, b.grad(), b.loc()) / where(at_0, 1, r, b.loc());
  if (b.wants(0)) b.give(0, slope * x);
  if (b.wants(1)) b.give(1, -slope * y);
}
void copysign(Backward& b) {
  if (!b.wants(0)) return;
  const Tensor x = as_result(b, 0);
  b.give(0, b.grad() * (sign(x, b.loc()) * copysign(ones_like(x, {}, b.loc()), b.operand(1), b.loc())));
}
void neg(Backward& b) { b.give(0, -b.grad()); }
void abs(Backward& b) { b.give(0, b.grad() * sign(b.tensor(0), b.loc())); }
void square(Backward& b) { b.give(0, b.grad() * (b.tensor(0) * 2)); }
void reciprocal(Backward& b) {
  const Tensor r = b.result();
  b.give(0, -b.grad() * (r * r));
}
void sqrt(Backward& b) { b.give(0, b.grad() / (b.result() * 2)); }
void rsqrt(Backward& b) {
  const Tensor r = b.result();
  b.give(0, b.grad() * (r * r * r * -0.5));
}

// ---- choice

void where(Backward& b) {
  if (b.wants(1)) b.give(1, only(b.tensor(0), b.grad(), b.loc()));
  if (b.wants(2)) b.give(2, unless(b.tensor(0), b.grad(), b.loc()));
}
void masked_fill(Backward& b) {
  if (b.wants(0)) b.give(0, unless(b.tensor(1), b.grad(), b.loc()));
  if (b.wants(2)) b.give(2, only(b.tensor(1), b.grad(), b.loc()));
}

// min(max(x, low), high): at a bound x passes; where the bounds cross it is high everywhere.
void clamp(Backward& b) {
  const bool low = b.has(1), high = b.has(2);
  const Tensor& g = b.grad();
  const Tensor x = b.tensor(0);
  if (b.wants(0)) {
    Tensor inside = low ? ge(x, b.operand(1), b.loc()) : le(x, b.operand(2), b.loc());
    if (low && high) inside = inside & le(x, b.operand(2), b.loc());
    b.give(0, only(inside, g, b.loc()));
  }
  if (b.wants(1)) {
    Tensor below = lt(x, b.operand(1), b.loc());
    if (high) below = below & lt(b.operand(1), b.operand(2), b.loc());
    b.give(1, only(below, g, b.loc()));
  }
  if (b.wants(2)) {
    Tensor above = gt(x, b.operand(2), b.loc());
    if (b.wants(2) && low) above = above | gt(b.operand(1), b.operand(2), b.loc());
    b.give(2, only(above, g, b.loc()));
  }
}

}  // namespace reprise::autograd::rules
