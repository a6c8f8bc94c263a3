// Optimizers, in place over all parameters (reprise/optim.h). What is the same for all elements of a parameter is
// computed for all parameters at once, in vectors of one number for each, in float64: 1 - beta^step would lose half its
// digits in float32.
#include "reprise/optim.h"

#include <string>

#include "graph/api_args.h"
#include "graph/shape_rules.h"
#include "operators/checks.h"
#include "reprise/autograd.h"
#include "reprise/number_functions.h"
#include "reprise/ops.h"

namespace reprise::optim {

using graph::api::checked_meta;

namespace {

std::string place(const char* list, std::size_t i) { return std::string("'") + list + "' [" + std::to_string(i) + "]"; }

/// One call: its parameters that have a gradient, each with sizes that fit.
class Call {
 public:
  Call(const char* op, const Tensors& params, const Tensors& grads, const Tensor& step, SourceLoc loc)
      : op_(op), loc_(loc), params_(params), grads_(grads), step_(step) {
    if (grads.size() != params.size())
      fail(ErrorCode::InvalidArgument, op, loc, params.size(), " parameters and ", grads.size(),
           " gradients: one each, undefined where there is none");
    const TensorMeta counts = checked_meta(step, op, loc);
    if (counts.dim() != 1 ||
        !graph::same(counts.size(0), static_cast<std::int64_t>(params.size()), loc, "optim: a step for each parameter"))
      fail(ErrorCode::ShapeMismatch, op, loc, "the state's 'step' has sizes ", graph::sizes_text(counts.layout.sizes),
           ", and there are ", params.size(), " parameters");
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (!grads[i].defined()) continue;
      const TensorMeta p = checked_meta(params[i], op, loc);
      operators::need_float(op, loc, p.dtype);
      fits(grads[i], p.layout.sizes, "grads", i);
      with_gradient_.push_back(i);
    }
  }
  const std::vector<std::size_t>& with_gradient() const { return with_gradient_; }
  Ints sizes(std::size_t i) const { return checked_meta(params_[i], op_, loc_).layout.sizes; }
  /// Throws unless a tensor of the state, or a gradient, has these sizes.
  void fits(const Tensor& t, const Ints& sizes, const char* list, std::size_t i) const {
    const TensorMeta m = checked_meta(t, op_, loc_);
    bool equal = m.dim() == static_cast<int>(sizes.size());
    for (int d = 0; equal && d < m.dim(); ++d)
      equal = graph::same(m.size(d), sizes[static_cast<std::size_t>(d)], loc_, "optim: sizes of the parameter");
    if (!equal)
      fail(ErrorCode::ShapeMismatch, op_, loc_, place(list, i), " has sizes ", graph::sizes_text(m.layout.sizes),
           ", the parameter wants ", graph::sizes_text(sizes));
  }
  void fits(const Tensors& list, const char* name) const {
    counted(list, name);
    for (const std::size_t i : with_gradient_) fits(list[i], sizes(i), name, i);
  }
  void counted(const Tensors& list, const char* name) const {
    if (list.size() != params_.size())
      fail(ErrorCode::InvalidArgument, op_, loc_, "the state's '", name, "' is of ", list.size(),
           " tensors, and there are ", params_.size(), " parameters",
           list.empty() ? " (the state was made for other options)" : "");
  }
  void at_least(const Scalar& v, double least, const char* name) const {
    if (!(v >= least)) refuse(v, name, "at least ", least);
  }
  void below(const Scalar& v, double bound, const char* name) const {
    at_least(v, 0, name);
    if (!(v < bound)) refuse(v, name, "below ", bound);
  }
  /// Counts this step. Each of the state's tensors is there by now: what follows does not fail half-way.
  void begin() const {
    if (with_gradient_.size() == params_.size()) step_.add_(1, 1, loc_);
    else
      for (const std::size_t i : with_gradient_) own(step_, i).add_(1, 1, loc_);
  }
  /// The number of a vector that belongs to a parameter, as a 0-dim tensor.
  Tensor own(const Tensor& of_all, std::size_t i) const { return of_all.select(0, static_cast<std::int64_t>(i), loc_); }
  Tensor grad(std::size_t i, bool maximize) const { return maximize ? neg(grads_[i], loc_) : grads_[i]; }

 private:
  [[noreturn]] void refuse(const Scalar& v, const char* name, const char* relation, double bound) const {
    fail(ErrorCode::InvalidArgument, op_, loc_, "'", name, "' is ", v.to_float({}).hint(), ", and must be ", relation,
         bound);
  }
  const char* op_;
  SourceLoc loc_;
  const Tensors &params_, &grads_;
  const Tensor& step_;
  std::vector<std::size_t> with_gradient_;
};

Tensor new_steps(const Tensors& params) {
  return zeros({static_cast<std::int64_t>(params.size())},
               {.dtype = kFloat64, .device = params.empty() ? Device::cpu() : params[0].device()});
}
Tensors zeros_of(const Tensors& params) {
  Tensors all;
  for (const Tensor& p : params) all.push_back(zeros_like(p.detach()));
  return all;
}

/// What Adam, NAdam and RAdam have in common: what is asked of the options, and the moving averages of a parameter's
/// gradient, which follow_moments gives.
template <class State, class Options>
void check_moments(const Call& call, const State& state, const Options& o) {
  call.at_least(o.lr, 0, "lr"), call.at_least(o.eps, 0, "eps"), call.at_least(o.weight_decay, 0, "weight_decay");
  call.below(o.beta1, 1, "beta1"), call.below(o.beta2, 1, "beta2");
  call.fits(state.exp_avg, "exp_avg"), call.fits(state.exp_avg_sq, "exp_avg_sq");
}
template <class State, class Options>
Tensor follow_moments(const Call& call, const Tensor& p, std::size_t i, const State& state, const Options& o,
                      bool decay_apart, SourceLoc loc) {
  Tensor g = call.grad(i, o.maximize);
  if (o.weight_decay != 0.0) {
    if (decay_apart) p.mul_(1.0 - o.lr * o.weight_decay, loc);
    else g = add(g, p, o.weight_decay, loc);
  }
  state.exp_avg[i].lerp_(g, 1.0 - o.beta1, loc);
  state.exp_avg_sq[i].mul_(o.beta2, loc);
  state.exp_avg_sq[i].addcmul_(g, g, 1.0 - o.beta2, loc);
  return g;
}

/// Adam and AdamW, which differ in what becomes of the weights' decay.
template <class Options>
void adam_like(const char* op, bool decay_apart, const Tensors& params, const Tensors& grads, const AdamState& state,
               const Options& o, SourceLoc loc) {
  const NoGradScope off;
  const Call call(op, params, grads, state.step, loc);
  check_moments(call, state, o);
  if (o.amsgrad) call.fits(state.max_exp_avg_sq, "max_exp_avg_sq");
  call.begin();

  const Tensor step_sizes = div(o.lr, sub(1.0, pow(o.beta1, state.step, loc), 1, loc), {}, loc);
  const Tensor corrections = sqrt(sub(1.0, pow(o.beta2, state.step, loc), 1, loc), loc);
  for (const std::size_t i : call.with_gradient()) {
    const Tensor& p = params[i];
    follow_moments(call, p, i, state, o, decay_apart, loc);
    Tensor second = state.exp_avg_sq[i];
    if (o.amsgrad) {
      second = maximum(state.max_exp_avg_sq[i], second, loc);
      state.max_exp_avg_sq[i].copy_(second, loc);
    }
    const Tensor root = add(div(sqrt(second, loc), call.own(corrections, i), {}, loc), o.eps, 1, loc);
    p.sub_(mul(div(state.exp_avg[i], root, {}, loc), call.own(step_sizes, i), loc), 1, loc);
  }
}

double epsilon(DType t) { return t == kFloat64 ? 0x1p-52 : t == kFloat32 ? 0x1p-23 : t == kFloat16 ? 0x1p-10 : 0x1p-7; }
DType wide(DType t) { return t == kFloat64 ? kFloat64 : kFloat32; }
Tensor mean_square(const Tensor& t, OptionalDims dims, SourceLoc loc) {
  return mean(square(t.to(wide(t.dtype())), loc), dims, dims.given(), std::nullopt, loc);
}

}  // namespace

SGDState SGDState::of(const Tensors& params, const SGDOptions& o) {
  return {new_steps(params), o.momentum != 0.0 ? zeros_of(params) : Tensors()};
}

void sgd_(const Tensors& params, const Tensors& grads, const SGDState& state, const SGDOptions& o, SourceLoc loc) {
  const NoGradScope off;
  const Call call("sgd_", params, grads, state.step, loc);
  call.at_least(o.lr, 0, "lr"), call.at_least(o.momentum, 0, "momentum"),
      call.at_least(o.weight_decay, 0, "weight_decay");
  const bool follows = o.momentum != 0.0, dampens = o.dampening != 0.0, decays = o.weight_decay != 0.0;
  if (o.nesterov && (!follows || dampens))
    fail(ErrorCode::InvalidArgument, "sgd_", loc, "'nesterov' wants a momentum, and a dampening of 0");
  if (follows) call.fits(state.momentum_buffer, "momentum_buffer");
  call.begin();

  const Tensor shares =
      dampens ? sub(1.0, mul(ne(state.step, 1, loc).to(kFloat64), o.dampening, loc), 1, loc) : Tensor();
  for (const std::size_t i : call.with_gradient()) {
    const Tensor& p = params[i];
    Tensor g = call.grad(i, o.maximize);
    if (decays) g = add(g, p, o.weight_decay, loc);
    if (follows) {
      const Tensor& buffer = state.momentum_buffer[i];
      buffer.mul_(o.momentum, loc);
      buffer.add_(dampens ? mul(g, call.own(shares, i), loc) : g, 1, loc);
      g = o.nesterov ? add(g, buffer, o.momentum, loc) : buffer;
    }
    p.sub_(g, o.lr, loc);
  }
}

AdamState AdamState::of(const Tensors& params, const AdamOptions& o) {
  return {new_steps(params), zeros_of(params), zeros_of(params), o.amsgrad ? zeros_of(params) : Tensors()};
}

AdamState AdamState::of(const Tensors& params, const RAdamOptions&) { return of(params); }

void adam_(const Tensors& params, const Tensors& grads, const AdamState& state, const AdamOptions& o, SourceLoc loc) {
  adam_like("adam_", false, params, grads, state, o, loc);
}
void adamw_(const Tensors& params, const Tensors& grads, const AdamState& state, const AdamWOptions& o, SourceLoc loc) {
  adam_like("adamw_", true, params, grads, state, o, loc);
}

AdafactorState AdafactorState::of(const Tensors& params, const AdafactorOptions&) {
  AdafactorState s{new_steps(params), {}, {}, {}};
  for (const Tensor& p : params) {
    const bool factored = p.dim() >= 2;
    const Tensor whole = p.detach();
    s.row_var.push_back(factored ? zeros_like(whole.narrow(-1, 0, 1)).contiguous() : Tensor());
    s.col_var.push_back(factored ? zeros_like(whole.narrow(-2, 0, 1)).contiguous() : Tensor());
    s.variance.push_back(factored ? Tensor() : zeros_like(whole));
  }
  return s;
}

void adafactor_(const Tensors& params, const Tensors& grads, const AdafactorState& state, const AdafactorOptions& o,
                SourceLoc loc) {
  const NoGradScope off;
  const Call call("adafactor_", params, grads, state.step, loc);
  call.at_least(o.lr, 0, "lr"), call.at_least(o.eps2, 0, "eps2"), call.at_least(o.d, 1, "d"),
      call.at_least(o.weight_decay, 0, "weight_decay");
  if (!(o.beta2_decay <= 0.0))
    fail(ErrorCode::InvalidArgument, "adafactor_", loc, "'beta2_decay' is ", o.beta2_decay.to_float({}).hint(),
         ", and must be at most 0");
  call.counted(state.row_var, "row_var"), call.counted(state.col_var, "col_var"),
      call.counted(state.variance, "variance");
  for (const std::size_t i : call.with_gradient()) {
    Ints rows = call.sizes(i), columns = rows;
    if (rows.size() < 2) {
      call.fits(state.variance[i], rows, "variance", i);
      continue;
    }
    rows[rows.size() - 1] = 1, columns[columns.size() - 2] = 1;
    call.fits(state.row_var[i], rows, "row_var", i), call.fits(state.col_var[i], columns, "col_var", i);
  }
  call.begin();

  const Tensor largest = minimum(o.lr, rsqrt(state.step, loc), loc), forgets = pow(state.step, o.beta2_decay, loc);
  const bool decays = o.weight_decay != 0.0;
  for (const std::size_t i : call.with_gradient()) {
    const Tensor& p = params[i];
    const Tensor g = call.grad(i, o.maximize);
    const Scalar eps1 = o.eps1 ? *o.eps1 : Scalar(epsilon(p.dtype()));
    auto follow = [&](const Tensor& variance, const Tensor& seen) {
      variance.lerp_(seen.to(variance.dtype()), call.own(forgets, i).to(variance.dtype()), loc);
    };
    const Tensor size = mul(clamp_min(sqrt(mean_square(p, {}, loc), loc), o.eps2, loc), call.own(largest, i), loc);
    if (decays) p.mul_(1.0 - o.lr * o.weight_decay, loc);
    Tensor estimate;
    if (p.dim() >= 2) {
      follow(state.row_var[i], mean_square(g, {-1}, loc)), follow(state.col_var[i], mean_square(g, {-2}, loc));
      const Tensor whole = clamp_min(mean(state.row_var[i], {-2}, true, std::nullopt, loc), eps1, loc);
      estimate = div(mul(state.row_var[i], state.col_var[i], loc), whole, {}, loc);
    } else {
      follow(state.variance[i], square(g, loc));
      estimate = state.variance[i];
    }
    const Tensor update = mul(rsqrt(clamp_min(estimate, eps1 * eps1, loc), loc), g, loc);
    const Tensor excess = clamp_min(div(sqrt(mean_square(update, {}, loc), loc), o.d, {}, loc), 1.0, loc);
    p.sub_(mul(update, div(size, excess, {}, loc), loc), 1, loc);
  }
}

RMSpropState RMSpropState::of(const Tensors& params, const RMSpropOptions& o) {
  return {new_steps(params), zeros_of(params), o.centered ? zeros_of(params) : Tensors(),
          o.momentum != 0.0 ? zeros_of(params) : Tensors()};
}

void rmsprop_(const Tensors& params, const Tensors& grads, const RMSpropState& state, const RMSpropOptions& o,
              SourceLoc loc) {
  const NoGradScope off;
  const Call call("rmsprop_", params, grads, state.step, loc);
  call.at_least(o.lr, 0, "lr"), call.at_least(o.eps, 0, "eps"), call.at_least(o.alpha, 0, "alpha");
  call.at_least(o.momentum, 0, "momentum"), call.at_least(o.weight_decay, 0, "weight_decay");
  const bool follows = o.momentum != 0.0, decays = o.weight_decay != 0.0;
  call.fits(state.square_avg, "square_avg");
  if (o.centered) call.fits(state.grad_avg, "grad_avg");
  if (follows) call.fits(state.momentum_buffer, "momentum_buffer");
  call.begin();

  for (const std::size_t i : call.with_gradient()) {
    const Tensor& p = params[i];
    Tensor g = call.grad(i, o.maximize);
    if (decays) g = add(g, p, o.weight_decay, loc);
    state.square_avg[i].mul_(o.alpha, loc);
    state.square_avg[i].addcmul_(g, g, 1.0 - o.alpha, loc);
    Tensor square = state.square_avg[i];
    if (o.centered) {
      state.grad_avg[i].lerp_(g, 1.0 - o.alpha, loc);
      square = addcmul(square, state.grad_avg[i], state.grad_avg[i], -1.0, loc);
    }
    g = div(g, add(sqrt(square, loc), o.eps, 1, loc), {}, loc);
    if (follows) {
      state.momentum_buffer[i].mul_(o.momentum, loc);
      g = state.momentum_buffer[i].add_(g, 1, loc);
    }
    p.sub_(g, o.lr, loc);
  }
}

AdagradState AdagradState::of(const Tensors& params, const AdagradOptions& o) {
  Tensors sums;
  for (const Tensor& p : params) sums.push_back(full_like(p.detach(), o.initial_accumulator_value));
  return {new_steps(params), std::move(sums)};
}

void adagrad_(const Tensors& params, const Tensors& grads, const AdagradState& state, const AdagradOptions& o,
              SourceLoc loc) {
  const NoGradScope off;
  const Call call("adagrad_", params, grads, state.step, loc);
  call.at_least(o.lr, 0, "lr"), call.at_least(o.lr_decay, 0, "lr_decay"), call.at_least(o.eps, 0, "eps");
  call.at_least(o.weight_decay, 0, "weight_decay"),
      call.at_least(o.initial_accumulator_value, 0, "initial_accumulator_value");
  call.fits(state.sum, "sum");
  call.begin();

  const Tensor step_sizes = div(o.lr, add(mul(sub(state.step, 1, 1, loc), o.lr_decay, loc), 1.0, 1, loc), {}, loc);
  const bool decays = o.weight_decay != 0.0;
  for (const std::size_t i : call.with_gradient()) {
    const Tensor& p = params[i];
    Tensor g = call.grad(i, o.maximize);
    if (decays) g = add(g, p, o.weight_decay, loc);
    state.sum[i].addcmul_(g, g, 1, loc);
    p.sub_(mul(div(g, add(sqrt(state.sum[i], loc), o.eps, 1, loc), {}, loc), call.own(step_sizes, i), loc), 1, loc);
  }
}

NAdamState NAdamState::of(const Tensors& params, const NAdamOptions&) {
  const Tensor steps = new_steps(params);
  return {steps, ones_like(steps), zeros_of(params), zeros_of(params)};
}

void nadam_(const Tensors& params, const Tensors& grads, const NAdamState& state, const NAdamOptions& o,
            SourceLoc loc) {
  const NoGradScope off;
  const Call call("nadam_", params, grads, state.step, loc);
  check_moments(call, state, o);
  call.at_least(o.momentum_decay, 0, "momentum_decay");
  call.fits(state.mu_product, {static_cast<std::int64_t>(params.size())}, "mu_product", 0);
  call.begin();

  auto mu_at = [&](const Tensor& step) {
    return mul(sub(1.0, mul(pow(0.96, mul(step, o.momentum_decay, loc), loc), 0.5, loc), 1, loc), o.beta1, loc);
  };
  const Tensor mu = mu_at(state.step), next = mu_at(add(state.step, 1, 1, loc));
  if (call.with_gradient().size() == params.size()) state.mu_product.mul_(mu, loc);
  else
    for (const std::size_t i : call.with_gradient()) call.own(state.mu_product, i).mul_(call.own(mu, i), loc);
  const Tensor of_gradient = div(mul(sub(1.0, mu, 1, loc), o.lr, loc), sub(1.0, state.mu_product, 1, loc), {}, loc);
  const Tensor of_average = div(mul(next, o.lr, loc), sub(1.0, mul(state.mu_product, next, loc), 1, loc), {}, loc);
  const Tensor corrections = sub(1.0, pow(o.beta2, state.step, loc), 1, loc);
  for (const std::size_t i : call.with_gradient()) {
    const Tensor& p = params[i];
    const Tensor g = follow_moments(call, p, i, state, o, o.decoupled_weight_decay, loc);
    const Tensor root = add(sqrt(div(state.exp_avg_sq[i], call.own(corrections, i), {}, loc), loc), o.eps, 1, loc);
    const Tensor both =
        add(mul(g, call.own(of_gradient, i), loc), mul(state.exp_avg[i], call.own(of_average, i), loc), 1, loc);
    p.sub_(div(both, root, {}, loc), 1, loc);
  }
}

void radam_(const Tensors& params, const Tensors& grads, const AdamState& state, const RAdamOptions& o, SourceLoc loc) {
  const NoGradScope off;
  const Call call("radam_", params, grads, state.step, loc);
  check_moments(call, state, o);
  call.begin();

  // The length of the average that can be known: from 5 on its variance is rectified, below that only the gradient's
  // average counts.
  const Scalar longest = 2.0 / (1.0 - o.beta2) - 1.0;
  const Tensor powers = pow(o.beta2, state.step, loc), correction = sub(1.0, powers, 1, loc);
  const Tensor length = sub(longest, div(mul(mul(state.step, powers, loc), 2.0, loc), correction, {}, loc), 1, loc),
               known = clamp_min(length, 5.0, loc);
  const Scalar whole = longest / ((longest - 4.0) * (longest - 2.0));
  const Tensor rectified =
      sqrt(mul(div(mul(sub(known, 4.0, 1, loc), sub(known, 2.0, 1, loc), loc), known, {}, loc), whole, loc), loc);
  const Tensor adaptive = mul(rectified, sqrt(correction, loc), loc), is_known = gt(length, 5.0, loc);
  const Tensor step_sizes = div(o.lr, sub(1.0, pow(o.beta1, state.step, loc), 1, loc), {}, loc);
  for (const std::size_t i : call.with_gradient()) {
    const Tensor& p = params[i];
    follow_moments(call, p, i, state, o, o.decoupled_weight_decay, loc);
    const Tensor root = add(sqrt(state.exp_avg_sq[i], loc), o.eps, 1, loc);
    const Tensor by = where(call.own(is_known, i), div(call.own(adaptive, i), root, {}, loc), 1.0, loc);
    p.sub_(mul(mul(state.exp_avg[i], by, loc), call.own(step_sizes, i), loc), 1, loc);
  }
}

namespace {
/// A matrix of about the same singular vectors, whose singular values are near 1, by steps of Newton and Schulz.
Tensor orthogonal(const Tensor& matrix, bool tall, const MuonOptions& o, SourceLoc loc) {
  Tensor x = to(matrix, kBFloat16, loc);
  if (tall) x = mT(x, loc);
  x = div(x, clamp_min(norm(x, 2, {}, false, loc), o.eps, loc), {}, loc);
  for (std::int64_t n = 0; n < o.ns_steps; ++n) {
    const Tensor gram = mm(x, mT(x, loc), loc);
    const Tensor both = addmm(gram, gram, gram, o.ns_coefficients[1], o.ns_coefficients[2], loc);
    x = addmm(x, both, x, o.ns_coefficients[0], 1, loc);
  }
  return tall ? mT(x, loc) : x;
}
}  // namespace

MuonState MuonState::of(const Tensors& params, const MuonOptions&) { return {new_steps(params), zeros_of(params)}; }

void muon_(const Tensors& params, const Tensors& grads, const MuonState& state, const MuonOptions& o, SourceLoc loc) {
  const char* op = "muon_";
  const NoGradScope off;
  const Call call(op, params, grads, state.step, loc);
  call.at_least(o.lr, 0, "lr"), call.at_least(o.momentum, 0, "momentum");
  call.at_least(o.weight_decay, 0, "weight_decay");
  if (o.ns_steps < 0 || o.ns_steps >= 100)
    fail(ErrorCode::InvalidArgument, op, loc, "'ns_steps' is ", o.ns_steps, ", and must be within 0 and 99");
  const bool original = o.adjust_lr_fn == "original", like_adamw = o.adjust_lr_fn == "match_rms_adamw";
  if (!original && !like_adamw && o.adjust_lr_fn != "spectral_unclamped")
    fail(ErrorCode::InvalidArgument, op, loc, "'adjust_lr_fn' is '", o.adjust_lr_fn,
         "', expected original, match_rms_adamw or spectral_unclamped");
  call.fits(state.momentum_buffer, "momentum_buffer");
  for (const std::size_t i : call.with_gradient())
    if (call.sizes(i).size() != 2)
      fail(ErrorCode::ShapeMismatch, op, loc, place("params", i), " has sizes ", graph::sizes_text(call.sizes(i)),
           ", and must be a matrix");
  call.begin();

  for (const std::size_t i : call.with_gradient()) {
    const Tensor &p = params[i], &buffer = state.momentum_buffer[i];
    const Tensor g = call.grad(i, false);
    buffer.lerp_(g, 1.0 - o.momentum, loc);
    const Ints sizes = call.sizes(i);
    const Int n = sizes[0], m = sizes[1];
    const Tensor update = orthogonal(o.nesterov ? lerp(g, buffer, o.momentum, loc) : buffer, n > m, o, loc);
    const Float factor = like_adamw ? 0.2 * reprise::sqrt(Float(Int::max(n, m)))
                                    : reprise::sqrt(Float(original ? Int::max(n, m) : n) / Float(m));
    p.mul_(1.0 - o.lr * o.weight_decay, loc);
    p.sub_(to(update, p.dtype(), loc), o.lr * Scalar(factor), loc);
  }
}

Tensor clip_grad_norm_(const Tensors& grads, Scalar max_norm, SourceLoc loc) {
  const char* op = "clip_grad_norm_";
  const NoGradScope off;
  if (!(max_norm >= 0.0))
    fail(ErrorCode::InvalidArgument, op, loc, "'max_norm' is ", max_norm.to_float({}).hint(),
         ", and must be at least 0");
  Tensor total;
  for (const Tensor& g : grads) {
    if (!g.defined()) continue;
    const DType t = checked_meta(g, op, loc).dtype;
    operators::need_float(op, loc, t);
    const Tensor own = sum(square(g.to(wide(t)), loc), {}, false, std::nullopt, loc);
    total = total.defined() ? add(total, own, 1, loc) : own;
  }
  if (!total.defined()) return zeros({});
  total = sqrt(total, loc);
  const Tensor factor = clamp_max(div(max_norm, add(total, 1e-6, 1, loc), {}, loc), 1.0, loc);
  for (const Tensor& g : grads)
    if (g.defined()) g.mul_(factor, loc);
  return total;
}

}  // namespace reprise::optim
