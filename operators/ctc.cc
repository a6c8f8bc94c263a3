// Connectionist temporal classification: the sum over all alignments, a thread for each of the batch, in logarithms.
#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/plan/columns.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "operators/rows.h"
#include "reprise/losses.h"

namespace reprise {

using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;

namespace {

using namespace operators;

enum Arg { kLogProbs, kTargets, kInputLengths, kTargetLengths, kBlank, kZeroInfinity, kGrad };

constexpr double kNever = -std::numeric_limits<double>::infinity();

double added(double a, double b) {
  const double most = std::max(a, b);
  return most == kNever ? kNever : most + std::log(std::exp(a - most) + std::exp(b - most));
}

/// One of the batch: log_probs [T, C] from offset `at` on, and the ways to align them with a target. States: a blank, a
/// class, a blank, ..., a blank. From each to itself, the next one, and over a blank where the classes beside it
/// differ.
struct Alignments {
  const TensorView& log_probs;
  std::int64_t at;
  const std::vector<std::int64_t>& target;
  std::int64_t blank;

  std::size_t states() const { return 2 * target.size() + 1; }
  std::int64_t label(std::size_t s) const { return s % 2 ? target[s / 2] : blank; }
  bool leaps(std::size_t s) const { return s > 1 && s % 2 && label(s) != label(s - 2); }  ///< to s, from two before
  double log_prob(std::int64_t t, std::size_t s) const {
    return kernels::reference::load_number(log_probs, at + t * log_probs.strides[0] + label(s) * log_probs.strides[2]);
  }

  /// `to`, unless null: [frames, states], of all ways to be in a state at a frame.
  double loss(std::int64_t frames, double* to = nullptr) const {
    const std::size_t n = states();
    std::vector<double> before(n, kNever), now(n);
    before[0] = 0;  // before the first frame
    for (std::int64_t t = 0; t < frames; ++t) {
      for (std::size_t s = 0; s < n; ++s) {
        double sum = before[s];
        if (s > 0) sum = added(sum, before[s - 1]);
        if (leaps(s)) sum = added(sum, before[s - 2]);
        now[s] = sum + log_prob(t, s);
      }
      if (to) to = std::copy(now.begin(), now.end(), to);
      std::swap(before, now);
    }
    return -(n > 1 ? added(before[n - 1], before[n - 2]) : before[0]);
  }
};

/// of(n, at, frames, target) for each of the batch, on several threads, where its numbers are in range.
template <class F>
void each_of_batch(const NativeArgs& a, F&& of) {
  using namespace kernels::reference;
  const TensorView &log_probs = a.tensor(kLogProbs), &targets = a.tensor(kTargets), &in = a.tensor(kInputLengths),
                   &out = a.tensor(kTargetLengths);
  const std::int64_t batch = log_probs.sizes[1], frames = log_probs.sizes[0], classes = log_probs.sizes[2];
  const bool in_a_row = targets.rank == 1;
  std::vector<std::int64_t> first(static_cast<std::size_t>(batch) + 1);
  auto refuse = [&](const char* what, std::int64_t n, std::int64_t value, std::int64_t most) {
    fault(a, ErrorCode::IndexOutOfRange,
          std::string(what) + " " + std::to_string(value) + " at [" + std::to_string(n) + "] is out of range 0 to " +
              std::to_string(most));
  };
  for (std::int64_t n = 0; n < batch; ++n) {
    const std::int64_t length = load(out, n * out.strides[0]).i, given = load(in, n * in.strides[0]).i,
                       from = first[static_cast<std::size_t>(n)];
    const std::int64_t room = in_a_row ? targets.sizes[0] - from : targets.sizes[1];
    if (given < 0 || given > frames) return refuse("input length", n, given, frames);
    if (length < 0 || length > room) return refuse("target length", n, length, room);
    first[static_cast<std::size_t>(n) + 1] = from + length;
    for (std::int64_t i = 0; i < length; ++i)
      if (const std::int64_t c = load(targets, in_a_row ? (from + i) * targets.strides[0]
                                                        : n * targets.strides[0] + i * targets.strides[1])
                                     .i;
          c < 0 || c >= classes)
        return refuse("class", from + i, c, classes - 1);
  }
  parallel(batch, frames * 64, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int64_t> target;
    for (std::int64_t n = begin; n < end; ++n) {
      target.resize(
          static_cast<std::size_t>(first[static_cast<std::size_t>(n) + 1] - first[static_cast<std::size_t>(n)]));
      const std::int64_t at = in_a_row ? first[static_cast<std::size_t>(n)] * targets.strides[0]
                                       : n * targets.strides[0],
                         step = targets.strides[targets.rank - 1];
      read_row(targets, at, step, static_cast<std::int64_t>(target.size()), target.data());
      of(n, n * log_probs.strides[1], load(in, n * in.strides[0]).i, target);
    }
  });
}

void ctc_kernel(const NativeArgs& a) {
  each_of_batch(a, [&](std::int64_t n, std::int64_t at, std::int64_t frames, const std::vector<std::int64_t>& target) {
    const double loss = Alignments{a.tensor(kLogProbs), at, target, a.integer(kBlank)}.loss(frames);
    kernels::reference::store(a.result(), n * a.result().strides[0],
                              kernels::reference::Value::of(a.flag(kZeroInfinity) && std::isinf(loss) ? 0.0 : loss));
  });
}

// What a log-probability adds to the loss is minus the part of all alignments that pass through it.
void ctc_backward_kernel(const NativeArgs& a) {
  const TensorView &log_probs = a.tensor(kLogProbs), &g = a.tensor(kGrad), &out = a.result();
  const std::int64_t classes = log_probs.sizes[2];
  each_of_batch(a, [&](std::int64_t n, std::int64_t at, std::int64_t frames, const std::vector<std::int64_t>& target) {
    const Alignments paths{log_probs, at, target, a.integer(kBlank)};
    const std::size_t states = paths.states();
    std::vector<double> to(static_cast<std::size_t>(frames) * states), behind(states, kNever), next(states),
        row(static_cast<std::size_t>(classes));
    const double loss = paths.loss(frames, to.data()), by = kernels::reference::load_number(g, n * g.strides[0]);
    const bool counts = !(a.flag(kZeroInfinity) && std::isinf(loss));
    behind[states - 1] = 0;
    if (states > 1) behind[states - 2] = 0;
    for (std::int64_t t = log_probs.sizes[0]; t-- > 0;) {
      std::fill(row.begin(), row.end(), 0.0);
      if (t < frames && counts) {
        if (t + 1 < frames) {
          for (std::size_t s = 0; s < states; ++s) next[s] = behind[s] + paths.log_prob(t + 1, s);
          for (std::size_t s = 0; s < states; ++s) {
            behind[s] = next[s];
            if (s + 1 < states) behind[s] = added(behind[s], next[s + 1]);
            if (s + 2 < states && paths.leaps(s + 2)) behind[s] = added(behind[s], next[s + 2]);
          }
        }
        for (std::size_t s = 0; s < states; ++s)
          row[static_cast<std::size_t>(paths.label(s))] -=
              by * std::exp(to[static_cast<std::size_t>(t) * states + s] + behind[s] + loss);
      }
      write_row(out, t * out.strides[0] + n * out.strides[1], out.strides[2], classes, row.data());
    }
  });
}

void ctc_shape(graph::RuleCtx& c) {
  const TensorMeta &log_probs = c.tensor(kLogProbs), &targets = c.tensor(kTargets);
  if (!is_floating(log_probs.dtype))
    fail(ErrorCode::DTypeMismatch, "ctc_loss", c.loc, "log_probs must be floats, got ", dtype_name(log_probs.dtype));
  for (int i : {kTargets, kInputLengths, kTargetLengths})
    if (c.tensor(i).dtype != kInt64 && c.tensor(i).dtype != kInt32)
      fail(ErrorCode::DTypeMismatch, "ctc_loss", c.loc, c.op.schema.args[static_cast<std::size_t>(i)].name,
           " must be int64 or int32, got ", dtype_name(c.tensor(i).dtype));
  bool fits = log_probs.dim() == 3 &&
              (targets.dim() == 1 || (targets.dim() == 2 && graph::same(targets.size(0), log_probs.size(1), c.loc,
                                                                        "ctc_loss: a target for each of the batch")));
  for (int i : {kInputLengths, kTargetLengths})
    fits = fits && c.tensor(i).dim() == 1 &&
           graph::same(c.tensor(i).size(0), log_probs.size(1), c.loc, "ctc_loss: a length for each of the batch");
  if (!fits)
    fail(ErrorCode::ShapeMismatch, "ctc_loss", c.loc, "log_probs of sizes ", graph::sizes_text(log_probs.layout.sizes),
         ", targets of ", graph::sizes_text(targets.layout.sizes), " and lengths of ",
         graph::sizes_text(c.tensor(kInputLengths).layout.sizes), " and ",
         graph::sizes_text(c.tensor(kTargetLengths).layout.sizes), " do not fit");
  if (!graph::require(detail::compare_le(0, c.integer(kBlank), c.loc), "ctc_loss: the blank is a class") ||
      !graph::require(detail::compare_lt(c.integer(kBlank), log_probs.size(2), c.loc),
                      "ctc_loss: the blank is a class"))
    fail(ErrorCode::IndexOutOfRange, "ctc_loss", c.loc, "blank is ", c.integer(kBlank), ", and there are ",
         log_probs.size(2), " classes");
  c.result(log_probs.dtype, {log_probs.size(1)});
}

OpId ctc_op() {
  static const OpId id = graph::register_op(
      {.schema = "ctc_loss(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, SymInt "
                 "blank=0, bool zero_infinity=False) -> Tensor",
       .shape = ctc_shape,
       .effects = {.may_fail = true}},
      {kernels::reference_kernels().fact({ctc_kernel}),
       operators::derivative(operators::derivatives::ctc_loss,
                             autograd::in(0) + autograd::in(1) + autograd::in(2) + autograd::in(3))});
  return id;
}

// Without a derivative of its own, as ATen's.
OpId ctc_backward_op() {
  static const OpId id = graph::register_op(
      {.schema = "reprise::ctc_loss_backward(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor "
                 "target_lengths, SymInt blank, bool zero_infinity, Tensor grad) -> Tensor",
       .shape =
           [](graph::RuleCtx& c) {
             ctc_shape(c);
             c.results.clear();
             c.result(c.tensor(kLogProbs).dtype, c.tensor(kLogProbs).layout.sizes);
           },
       .effects = {.may_fail = true}},
      {kernels::reference_kernels().fact({ctc_backward_kernel})});
  return id;
}

}  // namespace

void operators::derivatives::ctc_loss(autograd::Backward& b) {
  const Tensor log_probs = b.tensor(kLogProbs), targets = b.tensor(kTargets), in = b.tensor(kInputLengths),
               lengths = b.tensor(kTargetLengths);
  const Tensor& g = b.grad();
  b.give(0, graph::call1(ctc_backward_op(),
                         {arg(log_probs), arg(targets), arg(in), arg(lengths), arg(b.integer(kBlank)),
                          arg(b.flag(kZeroInfinity)), arg(g)},
                         b.loc()));
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, Int blank, std::string_view reduction, bool zero_infinity,
                SourceLoc loc) {
  return named("ctc_loss", [&] {
    if (reduction != "none" && reduction != "mean" && reduction != "sum")
      fail(ErrorCode::InvalidArgument, "ctc_loss", loc, "reduction is '", reduction, "', expected none, mean or sum");
    const TensorMeta x = checked_meta(log_probs, "ctc_loss", loc);
    const bool alone = x.dim() == 2;
    auto listed = [&](const Tensor& t) { return alone ? reshape(t, {1}, loc) : t; };
    // Rounded once: what is summed up is of a wider dtype.
    const Tensor wide = is_low_precision(x.dtype) ? to(log_probs, kFloat32, loc) : log_probs,
                 lengths = listed(target_lengths);
    Tensor each = graph::call1(ctc_op(),
                               {arg(alone ? unsqueeze(wide, 1, loc) : wide), arg(targets), arg(listed(input_lengths)),
                                arg(lengths), arg(blank), arg(zero_infinity)},
                               loc);
    if (reduction == "mean") each = mean(div(each, clamp_min(lengths, 1, loc), {}, loc), {}, false, std::nullopt, loc);
    else if (reduction == "sum") each = sum(each, {}, false, std::nullopt, loc);
    else if (alone) each = select(each, 0, 0, loc);
    return to(each, x.dtype, loc);
  });
}

namespace operators {
void register_ctc() { static_cast<void>(ctc_op()), static_cast<void>(ctc_backward_op()); }
}  // namespace operators

}  // namespace reprise
