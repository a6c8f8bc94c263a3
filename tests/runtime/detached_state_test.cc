// Variables that a differentiable function assigns: state that no gradient reaches (truncated backpropagation), and
// state that carries the tape from call to call.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

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

// What is on the tape stays on it: an assigned tensor is one more result of the call's node.
TEST(StateOnTheTape, IsAssignedByCompiledCalls) {
  same("beside a result", [](const Tensor& x, const Tensor& w, Tensor& state) {
    const Tensor h = tanh(matmul(x + state.detach(), w));
    state = h * 0.5;
    return h.square().sum();
  });
  same("a view of what is saved", [](const Tensor& x, const Tensor& w, Tensor& state) {
    const Tensor h = tanh(matmul(x + state.detach(), w));
    state = h.t().t();
    return h.square().sum() + h.sum();
  });
  same("the argument plus a weight's row", [](const Tensor& x, const Tensor& w, Tensor& state) {
    state = x + w.select(0, 1);
    return (state * state).sum();
  });
}

/// Steps whose state carries the tape from call to call; `between` is done behind each.
template <class Step, class Between>
std::string carried(bool compiled, Step step, Between between, std::string* reason = nullptr) {
  const Tensor w = ((arange(9, {.dtype = kFloat32}) * 0.1 - 0.4).view({3, 3})).clone().requires_grad_();
  Tensor state = zeros({2, 3}), other = ones({2, 3});
  auto run = [&](const Tensor& x) { return step(x, w, state, other); };
  auto f = compile(run);
  std::string seen;
  Tensor sum = zeros({});
  try {
    for (int i = 1; i <= 4; ++i) {
      const Tensor x = ones({2, 3}) * (0.25 * i);
      sum = sum + (compiled ? f(x) : run(x));
      seen += test::show(state.detach()) + (state.requires_grad() ? " wants\n" : "\n");
      between(i, state, other);
    }
    (sum + other.sum()).backward();
  } catch (const Error& e) {
    seen += "throws " + std::string(error_code_name(e.code()));
  }
  if (reason && f.stats().eager_fallbacks) *reason = f.stats().last_fallback_reason;
  return seen + (w.grad().defined() ? test::show(w.grad()) : "no gradient");
}

template <class Step, class Between>
void same_carried(const char* what, Step step, Between between) {
  std::string reason = "none is eager";
  EXPECT_EQ(carried(false, step, between), carried(true, step, between, &reason)) << what;
  EXPECT_EQ(reason, "none is eager") << what;
}

TEST(StateOnTheTape, CarriesGradientsFromCallToCall) {
  const auto nothing = [](int, Tensor&, Tensor&) {};
  const auto step = [](const Tensor& x, const Tensor& w, Tensor& state, Tensor&) {
    state = tanh(matmul(x + state, w));
    return state.square().sum();
  };
  same_carried("backpropagation through time", step, nothing);
  same_carried(
      "two that change places",
      [](const Tensor& x, const Tensor& w, Tensor& state, Tensor& other) {
        const Tensor h = tanh(matmul(x + state, w)) + other;
        other = state, state = h;
        return h.square().sum();
      },
      nothing);
  same_carried(
      "undefined at first",
      [](const Tensor& x, const Tensor& w, Tensor& state, Tensor& other) {
        other = matmul(x, w);
        state = Tensor(other.t().t());
        return other.sum();
      },
      nothing);
  std::string hooked[2];
  for (bool compiled : {false, true})
    hooked[compiled] = carried(compiled, step, [&, compiled](int i, Tensor& state, Tensor&) {
      if (i == 2)
        state.register_hook([&, compiled](const Tensor& g) {
          hooked[compiled] += test::show(g);
          return g;
        });
    });
  EXPECT_EQ(hooked[0], hooked[1]);
}

TEST(StateOnTheTape, IsWrittenByTheCaller) {
  same_carried(
      "what the tape has saved: an error",
      [](const Tensor& x, const Tensor& w, Tensor& state, Tensor&) {
        state = tanh(matmul(x + state, w));
        return state.square().sum();
      },
      [](int i, Tensor& state, Tensor&) {
        if (i == 3) state.mul_(0.5);
      });
  same_carried(
      "what it has not saved",
      [](const Tensor& x, const Tensor& w, Tensor& state, Tensor&) {
        state = matmul(x + state * 0.5, w);
        return state.sum();
      },
      [](int, Tensor& state, Tensor&) { state.mul_(0.5); });
  same_carried(
      "the detached value of what the tape has saved: an error",
      [](const Tensor& x, const Tensor& w, Tensor& state, Tensor&) {
        const Tensor h = tanh(matmul(x + state, w));
        state = h.detach();
        return h.square().sum();
      },
      [](int i, Tensor& state, Tensor&) {
        if (i == 3) state.mul_(0.5);
      });
}

// A container that grows takes tensors on the tape; such a call is served by what its trace has made.
TEST(StateOnTheTape, IsLeftInContainers) {
  std::string seen[2];
  for (const bool compiled : {false, true}) {
    const Tensor w = full({3}, 0.5).requires_grad_();
    std::vector<Tensor> losses, cache;
    std::optional<Tensor> last;
    auto plain = [&](const Tensor& x) {
      if (cache.empty()) cache.push_back(w * 2.0);
      const Tensor y = tanh(x * cache[0]);
      losses.push_back((y * y).sum());
      last = last ? *last + y : y * 1.0;
      return y;
    };
    auto f = compile(plain);
    for (int i = 1; i <= 4; ++i) {
      const Tensor x = ones({3}) * (0.25 * i), y = compiled ? f(x) : plain(x);
      seen[compiled] += test::show(y.detach());
    }
    Tensor sum = (*last).sum();
    for (const Tensor& loss : losses) sum = sum + loss;
    sum.backward();
    seen[compiled] += std::to_string(losses.size()) + test::show(sum.detach()) + test::show(w.grad());
  }
  EXPECT_EQ(seen[0], seen[1]);
}

// A leaf of the function's own: what its walk has let go of, a later one does not find.
TEST(StateOnTheTape, IsWalkedByTheFunction) {
  const auto step = [](const Tensor& x, const Tensor& w, Tensor& state, Tensor& other) {
    const Tensor p = x.detach().requires_grad_(), q = p * p;
    other = q;
    state = grad({q.sum()}, {p})[0];
    return matmul(x, w).sum();
  };
  const auto nothing = [](int, Tensor&, Tensor&) {};
  const std::string want = carried(false, step, nothing);
  EXPECT_NE(want.find("throws"), std::string::npos);
  EXPECT_EQ(want, carried(true, step, nothing));
}

}  // namespace
}  // namespace reprise
