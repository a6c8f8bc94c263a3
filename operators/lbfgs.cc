// L-BFGS (reprise/optim.h), which computes with numbers of its loss and gradient: eagerly. The order of its conditions
// is that of torch.optim.LBFGS, and of its line search, so that both go the same way.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/errors.h"
#include "operators/parameters.h"
#include "reprise/autograd.h"
#include "reprise/ops.h"
#include "reprise/optim.h"

namespace reprise::optim {

namespace {

double largest(const Tensor& t, SourceLoc loc) { return amax(abs(t, loc), {}, false, loc).item(loc).to_double(loc); }
double product(const Tensor& a, const Tensor& b, SourceLoc loc) { return dot(a, b, loc).item(loc).to_double(loc); }

/// A place on the line that is searched: how far, the loss, the gradient and its part along the line.
struct Trial {
  double at = 0, loss = 0;
  Tensor grad;
  double slope = 0;
};

/// Where the cubic through two places with their slopes is least, within bounds.
double least_of_cubic(const Trial& a, const Trial& b, double low, double high) {
  const double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.at - b.at), square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const double least = a.at <= b.at ? b.at - (b.at - a.at) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
                                    : a.at - (a.at - b.at) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2));
  return std::min(std::max(least, low), high);
}

/// A place that meets Wolfe's strong conditions, or the best of `most` trials. `reach`: the direction's largest
/// element.
template <class F>
Trial strong_wolfe(const Trial& start, double at, double reach, double tolerance_change, std::int64_t most,
                   const F& trial_at) {
  constexpr double c1 = 1e-4, c2 = 0.9;
  auto too_high = [&](const Trial& t) { return t.loss > start.loss + c1 * t.at * start.slope; };
  auto is_flat = [&](const Trial& t) { return std::abs(t.slope) <= -c2 * start.slope; };
  Trial now = trial_at(at), before = start;
  std::array<Trial, 2> ends;
  bool bracketed = false;
  std::int64_t n = 0;
  for (; n < most; ++n) {
    if (too_high(now) || (n > 1 && now.loss >= before.loss) || (!is_flat(now) && now.slope >= 0)) {
      ends = {before, now}, bracketed = true;
      break;
    }
    if (is_flat(now)) return now;
    const double next = least_of_cubic(before, now, now.at + 0.01 * (now.at - before.at), now.at * 10);
    before = now, now = trial_at(next);
  }
  if (!bracketed) ends = {start, now};
  std::size_t low = ends[0].loss <= ends[1].loss ? 0 : 1;
  bool slow = false;
  while (n < most && std::abs(ends[1].at - ends[0].at) * reach >= tolerance_change) {
    const double from = std::min(ends[0].at, ends[1].at), to = std::max(ends[0].at, ends[1].at);
    double next = least_of_cubic(ends[0], ends[1], from, to);
    const double margin = 0.1 * (to - from);
    if (std::min(to - next, next - from) < margin) {  // near an end: the second time it is moved inside
      if (slow || next >= to || next <= from)
        next = std::abs(next - to) < std::abs(next - from) ? to - margin : from + margin, slow = false;
      else slow = true;
    } else {
      slow = false;
    }
    now = trial_at(next), ++n;
    if (too_high(now) || now.loss >= ends[low].loss) {
      ends[1 - low] = now;
      low = ends[0].loss <= ends[1].loss ? 0 : 1;
      continue;
    }
    const bool done = is_flat(now);
    if (!done && now.slope * (ends[1 - low].at - ends[low].at) >= 0) ends[1 - low] = ends[low];
    ends[low] = now;
    if (done) break;
  }
  return ends[low];
}

void check_options(const LBFGSOptions& o, SourceLoc loc) {
  auto refuse = [&](const char* name, auto value, const char* wanted) {
    fail(ErrorCode::InvalidArgument, "lbfgs", loc, "'", name, "' is ", value, ", and must be ", wanted);
  };
  if (!(o.lr >= 0)) refuse("lr", o.lr, "at least 0");
  if (o.max_iter < 1) refuse("max_iter", o.max_iter, "at least 1");
  if (o.history_size < 1) refuse("history_size", o.history_size, "at least 1");
  if (!o.line_search_fn.empty() && o.line_search_fn != "strong_wolfe")
    fail(ErrorCode::InvalidArgument, "lbfgs", loc, "'line_search_fn' is '", o.line_search_fn,
         "', expected strong_wolfe or none");
}

}  // namespace

LBFGS::LBFGS(Tensors params, LBFGSOptions o, SourceLoc loc) : options(std::move(o)), params_(std::move(params)) {
  operators::check_parameters("lbfgs", params_, loc);
  check_options(options, loc);
}

void LBFGS::zero_grad() const {
  for (const Tensor& p : params_) p.set_grad(Tensor());
}

LBFGS::Point LBFGS::point_of(const Tensor& loss, SourceLoc loc) const {
  if (!loss.defined()) fail(ErrorCode::InvalidArgument, "lbfgs", loc, "the closure gave no loss");
  const NoGradScope off;
  Tensors rows;
  for (const Tensor& p : params_) {
    const Tensor g = p.grad();
    rows.push_back(g.defined() ? reshape(g, {-1}, loc) : zeros({p.numel()}, p.options(), loc));
  }
  const double value = loss.item(loc).to_double(loc);
  const Tensor all = cat(rows, 0, loc);
  return options.maximize ? Point{-value, neg(all, loc)} : Point{value, rows.size() == 1 ? all.clone(loc) : all};
}

void LBFGS::move(double by, const Tensor& direction, SourceLoc loc) const {
  const NoGradScope off;
  Int at = 0;
  for (const Tensor& p : params_) {
    p.add_(reshape(narrow(direction, 0, at, p.numel(), loc), p.sizes(), loc), by, loc);
    at = at + p.numel();
  }
}

/// Minus the gradient times what the history tells of the inverse Hessian.
Tensor LBFGS::direction_from(const Tensor& grad, SourceLoc loc) {
  if (n_iter_ == 1) {
    history_.clear(), scale_ = 1;
    return neg(grad, loc);
  }
  const Tensor y = sub(grad, last_grad_, 1, loc), s = mul(direction_, step_size_, loc);
  const double ys = product(y, s, loc);
  if (ys > 1e-10) {
    if (static_cast<std::int64_t>(history_.size()) >= options.history_size) history_.erase(history_.begin());
    history_.push_back({y, s, 1 / ys});
    scale_ = ys / product(y, y, loc);
  }
  Tensor q = neg(grad, loc);
  std::vector<double> taken(history_.size());
  for (std::size_t i = history_.size(); i-- > 0;) {
    taken[i] = product(history_[i].of_params, q, loc) * history_[i].inverse;
    q = sub(q, history_[i].of_grad, taken[i], loc);
  }
  q = mul(q, scale_, loc);
  for (std::size_t i = 0; i < history_.size(); ++i) {
    const double given = product(history_[i].of_grad, q, loc) * history_[i].inverse;
    q = add(q, history_[i].of_params, taken[i] - given, loc);
  }
  return q;
}

Tensor LBFGS::step(const std::function<Tensor()>& closure, SourceLoc loc) {
  check_options(options, loc);
  auto evaluated = [&] {
    const EnableGradScope on;
    const Tensor loss = closure();
    ++func_evals_;
    return std::pair{loss, point_of(loss, loc)};
  };
  auto [first_loss, point] = evaluated();
  const NoGradScope off;
  if (point.grad.size(0) == 0 || largest(point.grad, loc) <= options.tolerance_grad) return first_loss;

  const std::int64_t most = options.max_eval.value_or(options.max_iter * 5 / 4);
  std::int64_t evaluations = 1;
  for (std::int64_t n = 1; n <= options.max_iter; ++n) {
    ++n_iter_;
    direction_ = direction_from(point.grad, loc);
    last_grad_ = point.grad;
    const double last_loss = point.loss;
    step_size_ = options.lr;
    if (n_iter_ == 1)
      step_size_ *= std::min(1.0, 1 / sum(abs(point.grad, loc), {}, false, std::nullopt, loc).item(loc).to_double(loc));
    const double slope = product(point.grad, direction_, loc);
    if (slope > -options.tolerance_change) break;
    if (!options.line_search_fn.empty()) {
      Tensors start;
      for (const Tensor& p : params_) start.push_back(p.detach().clone(loc));
      auto put_back = [&] {
        for (std::size_t i = 0; i < params_.size(); ++i) params_[i].copy_(start[i], loc);
      };
      auto trial_at = [&](double at) {
        move(at, direction_, loc);
        Point there;
        try {
          there = evaluated().second;
        } catch (...) {
          put_back();
          throw;
        }
        put_back();
        ++evaluations;
        return Trial{at, there.loss, there.grad, product(there.grad, direction_, loc)};
      };
      const Trial best = strong_wolfe({0, point.loss, point.grad, slope}, step_size_, largest(direction_, loc),
                                      options.tolerance_change, most - evaluations, trial_at);
      point = {best.loss, best.grad}, step_size_ = best.at;
      move(step_size_, direction_, loc);
    } else {
      move(step_size_, direction_, loc);
      if (n != options.max_iter) point = evaluated().second, ++evaluations;
    }
    if (n == options.max_iter || evaluations >= most || largest(point.grad, loc) <= options.tolerance_grad) break;
    if (largest(direction_, loc) * std::abs(step_size_) <= options.tolerance_change) break;
    if (std::abs(point.loss - last_loss) < options.tolerance_change) break;
  }
  return first_loss;
}

}  // namespace reprise::optim
