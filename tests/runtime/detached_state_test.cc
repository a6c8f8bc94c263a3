// Variables that a differentiable function assigns: state that no gradient reaches (truncated backpropagation).
#include <gtest/gtest.h>

#include <string>

#include "reprise/autograd.h"
#include "reprise/reprise.h"
#include "tests/runtime/scene.h"

namespace reprise {
namespace {

/// Four training steps, whose variables the caller writes between the calls.
template <class Step>
std::string trained(bool compiled, Step step, std::int64_t* eager = nullptr, std::string* reason = nullptr) {
  const Tensor w = ((arange(9, {.dtype = kFloat32}) * 0.1 - 0.4).view({3, 3})).clone().requires_grad_();
  Tensor state = zeros({2, 3});
  auto run = [&](const Tensor& x) { return step(x, w, state); };
  auto f = compile(run);
  std::string seen;
  for (int i = 1; i <= 4; ++i) {
    const Tensor x = ones({2, 3}) * (0.25 * i);
    const Tensor y = compiled ? f(x) : run(x);
    y.backward();
    seen += test::show(y.detach()) + test::show(state.detach()) + (state.requires_grad() ? " wants\n" : "\n");
    if (i == 3) state.mul_(0.5);
  }
  if (eager) *eager = f.stats().eager_fallbacks, *reason = f.stats().last_fallback_reason;
  return seen + test::show(w.grad());
}

template <class Step>
void same(const char* what, Step step, bool is_eager = false) {
  std::int64_t eager = -1;
  std::string reason;
  EXPECT_EQ(trained(false, step), trained(true, step, &eager, &reason)) << what;
  EXPECT_EQ(eager > 0, is_eager) << what << ": " << reason;
}

TEST(DetachedState, IsAssignedByCompiledCalls) {
  same("detached", [](const Tensor& x, const Tensor& w, Tensor& state) {
    const Tensor h = tanh(matmul(x + state, w));
    state = h.detach();
    return h.square().sum();
  });
  same("computed of what is detached", [](const Tensor& x, const Tensor& w, Tensor& state) {
    const Tensor h = tanh(matmul(x + state, w));
    state = state * 0.9 + h.detach() * 0.1;
    return (h - state).square().sum();
  });
  same(
      "while gradients are off",
      [](const Tensor& x, const Tensor& w, Tensor& state) {
        const Tensor h = tanh(matmul(x + state, w));
        {
          const NoGradScope off;
          state = h * 1.0;
        }
        return h.square().sum();
      },
      false);
}

// What is on the tape is: an assigned tensor is no result, and the tape of a compiled call ends there.
TEST(DetachedState, OnTheTapeItIsEager) {
  same(
      "on the tape",
      [](const Tensor& x, const Tensor& w, Tensor& state) {
        const Tensor h = tanh(matmul(x + state.detach(), w));
        state = h * 0.5;
        const Tensor y = h.square().sum();
        return y;
      },
      true);
}

}  // namespace
}  // namespace reprise
