// Optimizers with their state inside (reprise/optim.h): a compiled function over reprise::optim's.
#include <algorithm>
#include <string>
#include <utility>

#include "base/bail.h"
#include "base/errors.h"
#include "operators/parameters.h"
#include "reprise/autograd.h"
#include "reprise/compile.h"
#include "reprise/ops.h"
#include "reprise/optim.h"

namespace reprise::optim {

namespace {

/// What an optimizer of a kind is called, and what it does.
template <class Rule>
struct Kind;
#define REPRISE_OPTIMIZER(Name, function)          \
  template <>                                      \
  struct Kind<Name##Rule> {                        \
    static constexpr const char* name = #function; \
    static constexpr auto* apply = &function##_;   \
  };
#define REPRISE_OPTIMIZERS(row)                                                                   \
  row(SGD, sgd) row(Adam, adam) row(AdamW, adamw) row(Adafactor, adafactor) row(RMSprop, rmsprop) \
      row(Adagrad, adagrad) row(NAdam, nadam) row(RAdam, radam) row(Muon, muon)
REPRISE_OPTIMIZERS(REPRISE_OPTIMIZER)
#undef REPRISE_OPTIMIZER

AdamState new_state(AdamWRule, const Tensors& params, const AdamWOptions& o) {
  return AdamState::of(params, {.amsgrad = o.amsgrad});
}
template <class Rule>
typename Rule::State new_state(Rule, const Tensors& params, const typename Rule::Options& o) {
  return Rule::State::of(params, o);
}

/// f(name, tensors) for each list that a state has.
template <class State, class F>
void each_list(const State& s, F&& f) {
#define REPRISE_LIST(name) \
  if constexpr (requires { s.name; }) f(#name, s.name);
  REPRISE_LIST(exp_avg)
  REPRISE_LIST(exp_avg_sq)
  REPRISE_LIST(max_exp_avg_sq)
  REPRISE_LIST(square_avg)
  REPRISE_LIST(grad_avg)
  REPRISE_LIST(momentum_buffer)
  REPRISE_LIST(sum)
  REPRISE_LIST(row_var)
  REPRISE_LIST(col_var)
  REPRISE_LIST(variance)
#undef REPRISE_LIST
}

template <class Rule>
auto compiled_step() {
  using Options = typename Rule::Options;
  using State = typename Rule::State;
  return compile([](const Tensors& params, const Tensors& grads, const State& state,
                    const Options& options) { Kind<Rule>::apply(params, grads, state, options, {}); },
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
  operators::check_parameters(Kind<Rule>::name, params, loc);
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
    if (from == tensors.end() || !from->second.defined())
      fail(ErrorCode::InvalidArgument, Kind<Rule>::name, loc, "the state to load has no '", name, "'");
    const Ints a = from->second.sizes(), b = to.sizes();
    if (!std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Int& x, const Int& y) { return identical(x, y); }))
      fail(ErrorCode::ShapeMismatch, Kind<Rule>::name, loc, "'", name,
           "' to load has other sizes than this optimizer's parameter");
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

#define REPRISE_OPTIMIZER(Name, function) template class Optimizer<Name##Rule>;
REPRISE_OPTIMIZERS(REPRISE_OPTIMIZER)
#undef REPRISE_OPTIMIZER

}  // namespace reprise::optim
