// Optimizers with their state inside (reprise/optim.h): a compiled function over reprise::optim's.
#include <algorithm>
#include <string>
#include <utility>

#include "base/bail.h"
#include "base/errors.h"
#include "reprise/autograd.h"
#include "reprise/compile.h"
#include "reprise/optim.h"
#include "reprise/ops.h"

namespace reprise::optim {

namespace {

/// What an optimizer of a kind is called, and what it does.
template <class Rule>
struct Kind;
template <>
struct Kind<SGDRule> {
  static constexpr const char* name = "sgd";
  static constexpr auto* apply = &sgd_;
};
template <>
struct Kind<AdamRule> {
  static constexpr const char* name = "adam";
  static constexpr auto* apply = &adam_;
};
template <>
struct Kind<AdamWRule> {
  static constexpr const char* name = "adamw";
  static constexpr auto* apply = &adamw_;
};
template <>
struct Kind<AdafactorRule> {
  static constexpr const char* name = "adafactor";
  static constexpr auto* apply = &adafactor_;
};
template <>
struct Kind<RMSpropRule> {
  static constexpr const char* name = "rmsprop";
  static constexpr auto* apply = &rmsprop_;
};
template <>
struct Kind<AdagradRule> {
  static constexpr const char* name = "adagrad";
  static constexpr auto* apply = &adagrad_;
};
template <>
struct Kind<NAdamRule> {
  static constexpr const char* name = "nadam";
  static constexpr auto* apply = &nadam_;
};
template <>
struct Kind<RAdamRule> {
  static constexpr const char* name = "radam";
  static constexpr auto* apply = &radam_;
};

AdamState new_state(AdamWRule, const Tensors& params, const AdamWOptions& o) { return AdamState::of(params, {.amsgrad = o.amsgrad}); }
template <class Rule>
typename Rule::State new_state(Rule, const Tensors& params, const typename Rule::Options& o) {
  return Rule::State::of(params, o);
}

/// f(name, tensors) for each list of a state.
template <class F>
void each_list(const SGDState& s, F&& f) {
  f("momentum_buffer", s.momentum_buffer);
}
template <class F>
void each_list(const AdamState& s, F&& f) {
  f("exp_avg", s.exp_avg), f("exp_avg_sq", s.exp_avg_sq), f("max_exp_avg_sq", s.max_exp_avg_sq);
}
template <class F>
void each_list(const AdafactorState& s, F&& f) {
  f("row_var", s.row_var), f("col_var", s.col_var), f("variance", s.variance);
}
template <class F>
void each_list(const RMSpropState& s, F&& f) {
  f("square_avg", s.square_avg), f("grad_avg", s.grad_avg), f("momentum_buffer", s.momentum_buffer);
}
template <class F>
void each_list(const AdagradState& s, F&& f) {
  f("sum", s.sum);
}
template <class F>
void each_list(const NAdamState& s, F&& f) {
  f("exp_avg", s.exp_avg), f("exp_avg_sq", s.exp_avg_sq);
}
template <class F>
void each_list(const RAdamState& s, F&& f) {
  f("exp_avg", s.exp_avg), f("exp_avg_sq", s.exp_avg_sq);
}

template <class Rule>
auto compiled_step() {
  using Options = typename Rule::Options;
  using State = typename Rule::State;
  return compile([](const Tensors& params, const Tensors& grads, const State& state, const Options& options) { Kind<Rule>::apply(params, grads, state, options, {}); },
                 {.name = Kind<Rule>::name, .arguments = {"params", "grads", "state", "options"}});
}

}  // namespace

template <class Rule>
struct Optimizer<Rule>::Step {
  Tensors params;
  State state;
  decltype(compiled_step<Rule>()) function = compiled_step<Rule>();
};

template <class Rule>
Optimizer<Rule>::Optimizer(Tensors params, Options o, SourceLoc loc) : options(std::move(o)) {
  const char* name = Kind<Rule>::name;
  if (params.empty()) fail(ErrorCode::InvalidArgument, name, loc, "no parameters");
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Tensor& p = params[i];
    if (!p.defined()) fail(ErrorCode::InvalidArgument, name, loc, "parameter ", i, " is undefined");
    if (!is_floating(p.dtype())) fail(ErrorCode::DTypeMismatch, name, loc, "parameter ", i, " is of ", dtype_name(p.dtype()), " (wanted a floating dtype)");
    if (!p.is_leaf()) fail(ErrorCode::InvalidArgument, name, loc, "parameter ", i, " is no leaf: an operator made it, and backward() keeps no gradient of it (detach() it)");
    for (std::size_t j = 0; j < i; ++j)
      if (p.is_same(params[j])) fail(ErrorCode::InvalidArgument, name, loc, "parameters ", j, " and ", i, " are the same tensor");
  }
  const NoGradScope off;
  State state = new_state(Rule(), params, options);
  step_ = std::make_unique<Step>(Step{std::move(params), std::move(state)});
}
template <class Rule>
Optimizer<Rule>::Optimizer(Optimizer&&) noexcept = default;
template <class Rule>
Optimizer<Rule>& Optimizer<Rule>::operator=(Optimizer&&) noexcept = default;
template <class Rule>
Optimizer<Rule>::~Optimizer() = default;

template <class Rule>
void Optimizer<Rule>::step(SourceLoc loc) {
  const NoGradScope off;
  Tensors grads;
  grads.reserve(step_->params.size());
  for (const Tensor& p : step_->params) grads.push_back(p.grad());
  try {
    step_->function(step_->params, grads, step_->state, options);
  } catch (const Error& e) {
    throw_as(e, Kind<Rule>::name, loc);
  }
}

template <class Rule>
void Optimizer<Rule>::zero_grad() const {
  for (const Tensor& p : step_->params) p.set_grad(Tensor());
}

template <class Rule>
const Tensors& Optimizer<Rule>::params() const {
  return step_->params;
}
template <class Rule>
const typename Rule::State& Optimizer<Rule>::state() const {
  return step_->state;
}

template <class Rule>
std::map<std::string, Tensor> Optimizer<Rule>::state_dict() const {
  std::map<std::string, Tensor> all{{"step", step_->state.step}};
  if constexpr (requires(const State& s) { s.mu_product; }) all.emplace("mu_product", step_->state.mu_product);
  each_list(step_->state, [&](const char* name, const Tensors& list) {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].defined()) all.emplace(std::string(name) + "." + std::to_string(i), list[i]);
  });
  return all;
}

template <class Rule>
void Optimizer<Rule>::load_state_dict(const std::map<std::string, Tensor>& tensors, SourceLoc loc) {
  const NoGradScope off;
  const std::map<std::string, Tensor> own = state_dict();
  for (const auto& [name, to] : own) {
    const auto from = tensors.find(name);
    if (from == tensors.end() || !from->second.defined()) fail(ErrorCode::InvalidArgument, Kind<Rule>::name, loc, "the state to load has no '", name, "'");
    const Ints a = from->second.sizes(), b = to.sizes();
    if (!std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Int& x, const Int& y) { return identical(x, y); }))
      fail(ErrorCode::ShapeMismatch, Kind<Rule>::name, loc, "'", name, "' to load has other sizes than this optimizer's parameter");
  }
  for (const auto& [name, to] : own) to.copy_(tensors.at(name), loc);
}

template <class Rule>
Stats Optimizer<Rule>::stats() const {
  return step_->function.stats();
}
template <class Rule>
std::string Optimizer<Rule>::explain() const {
  return step_->function.explain();
}

template class Optimizer<SGDRule>;
template class Optimizer<AdamRule>;
template class Optimizer<AdamWRule>;
template class Optimizer<AdafactorRule>;
template class Optimizer<RMSpropRule>;
template class Optimizer<AdagradRule>;
template class Optimizer<NAdamRule>;
template class Optimizer<RAdamRule>;

}  // namespace reprise::optim
