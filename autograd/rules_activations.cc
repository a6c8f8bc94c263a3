// Derivatives of activations. Those with a corner take ATen's side of it.
#include <numbers>

#include "autograd/rule_parts.h"
#include "autograd/rules.h"

namespace reprise::autograd::rules {

void relu(Backward& b) { b.give(0, unless(b.result() <= 0, b.grad(), b.loc())); }
void threshold(Backward& b) { b.give(0, unless(le(b.tensor(0), b.number(1), b.loc()), b.grad(), b.loc())); }

namespace {
/// Passes strictly between the two.
Tensor between(Backward& b, const Scalar& low, const Scalar& high, const Tensor& g) {
  const Tensor x = b.tensor(0);
  return unless(le(x, low, b.loc()) | ge(x, high, b.loc()), g, b.loc());
}
/// scale * x above 0, scale * alpha * (exp(inner * x) - 1) below.
void exponential_unit(Backward& b, const Scalar& alpha, const Scalar& scale, const Scalar& inner) {
  const Tensor x = b.tensor(0), below = x <= 0;
  // What is above 0 is kept from the exponential: its derivative would be inf there, and 0 times that.
  const Tensor tail = exp(where(below, x, 0, b.loc()) * inner, b.loc()) * (scale * alpha * inner);
  b.give(0, b.grad() * where(below, tail, scale, b.loc()));
}
constexpr double kSeluAlpha = 1.6732632423543772848170429916717, kSeluScale = 1.0507009873554804934193349852946;
}  // namespace

void relu6(Backward& b) { b.give(0, between(b, 0, 6, b.grad())); }
void hardtanh(Backward& b) { b.give(0, between(b, b.number(1), b.number(2), b.grad())); }
void hardsigmoid(Backward& b) { b.give(0, between(b, -3, 3, b.grad() / 6)); }
void hardswish(Backward& b) {
  const Tensor x = b.tensor(0), g = b.grad();
  b.give(0, unless(x <= -3, where(x < 3, g * (x / 3 + 0.5), g, b.loc()), b.loc()));
}
void elu(Backward& b) { exponential_unit(b, b.number(1), b.number(2), b.number(3)); }
void celu(Backward& b) { exponential_unit(b, b.number(1), 1.0, 1 / b.number(1)); }
void selu(Backward& b) { exponential_unit(b, kSeluAlpha, kSeluScale, 1.0); }
void leaky_relu(Backward& b) { b.give(0, where(b.tensor(0) > 0, b.grad(), b.grad() * b.number(1), b.loc())); }

void silu(Backward& b) {
  const Tensor x = b.tensor(0), s = sigmoid(x, b.loc());
  b.give(0, b.grad() * (s * (1 + x * (1 - s))));
}
void mish(Backward& b) {
  const Tensor x = b.tensor(0), t = tanh(softplus(x, 1, 20, b.loc()), b.loc());
  b.give(0, b.grad() * (t + x * sigmoid(x, b.loc()) * (1 - t * t)));
}
void softsign(Backward& b) {
  b.give(0, b.grad() / square(abs(to(b.tensor(0), b.result_dtype(), b.loc()), b.loc()) + 1, b.loc()));
}
void log_sigmoid(Backward& b) { b.give(0, b.grad() * sigmoid(-b.tensor(0), b.loc())); }
void softplus(Backward& b) {
  const Tensor x = b.tensor(0) * b.number(1);
  b.give(0, b.grad() * where(gt(x, b.number(2), b.loc()), 1, sigmoid(x, b.loc()), b.loc()));
}

void gelu(Backward& b) {
  const Tensor x = wide(b.tensor(0), b.loc());
  if (b.text(1) == "tanh") {
    constexpr double k = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, c = 0.044715;
    const Tensor t = tanh((x + x * x * x * c) * k, b.loc());
    b.give(0, b.grad() * ((1 + t) * 0.5 + x * 0.5 * (1 - t * t) * ((1 + x * x * (3 * c)) * k)));
  } else {
    const Tensor below = (erf(x * (1 / std::numbers::sqrt2), b.loc()) + 1) * 0.5;
    const Tensor density = exp(x * x * -0.5, b.loc()) * (0.5 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi);
    b.give(0, b.grad() * (below + x * density));
  }
}

}  // namespace reprise::autograd::rules
