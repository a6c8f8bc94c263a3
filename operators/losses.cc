// Losses, as compositions: they fuse with what makes their input.
#include "reprise/losses.h"

#include <cmath>
#include <numbers>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/shape_rules.h"
#include "operators/checks.h"

namespace reprise {

using graph::api::checked_meta;
using graph::api::named;

namespace {

Tensor widened(const Tensor& t, SourceLoc loc) { return is_low_precision(t.dtype()) ? to(t, kFloat32, loc) : t; }

/// The same of integers, as the floats that a loss of them has.
Tensor as_floats(const Tensor& t, DType loss, SourceLoc loc) {
  return widened(is_floating(t.dtype()) ? t : to(t, loss, loc), loc);
}

/// The dtype that a loss of these has; they must be there. Of integers alone it is the default dtype, where the loss
/// takes them.
DType loss_dtype(const char* op, SourceLoc loc, std::initializer_list<const Tensor*> operands, bool integers = false) {
  std::vector<TensorMeta> metas;
  for (const Tensor* t : operands) metas.push_back(checked_meta(*t, op, loc));
  std::vector<graph::RuleArg> args;
  for (const TensorMeta& m : metas) args.push_back(&m);
  const DType t = graph::result_dtype(args);
  if (integers && is_integral(t)) return get_default_dtype();
  operators::need_float(op, loc, t);
  return t;
}

/// One number of the losses, or they themselves, rounded to t.
Tensor reduced(const Tensor& each, std::string_view reduction, DType t, const char* op, SourceLoc loc) {
  if (reduction == "mean") return to(mean(each, {}, false, std::nullopt, loc), t, loc);
  if (reduction == "sum") return to(sum(each, {}, false, std::nullopt, loc), t, loc);
  if (reduction == "none") return to(each, t, loc);
  fail(ErrorCode::InvalidArgument, op, loc, "reduction is '", reduction, "', expected none, mean or sum");
}

/// of(input, target), each in at least float32.
template <class F>
Tensor of_two(const Tensor& input, const Tensor& target, std::string_view reduction, const char* op, SourceLoc loc,
              F&& of) {
  return named(op, [&] {
    const DType t = loss_dtype(op, loc, {&input, &target});
    return reduced(of(widened(input, loc), widened(target, loc)), reduction, t, op, loc);
  });
}

void need(bool holds, const char* op, SourceLoc loc, const char* parameter, double value, const char* wanted) {
  if (!holds) fail(ErrorCode::InvalidArgument, op, loc, parameter, " must be ", wanted, ", got ", value);
}

}  // namespace

Tensor l1_loss(const Tensor& input, const Tensor& target, std::string_view reduction, SourceLoc loc) {
  return of_two(input, target, reduction, "l1_loss", loc,
                [&](const Tensor& x, const Tensor& y) { return abs(sub(x, y, 1, loc), loc); });
}
Tensor mse_loss(const Tensor& input, const Tensor& target, std::string_view reduction, SourceLoc loc) {
  return of_two(input, target, reduction, "mse_loss", loc,
                [&](const Tensor& x, const Tensor& y) { return square(sub(x, y, 1, loc), loc); });
}
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, std::string_view reduction, double beta,
                      SourceLoc loc) {
  need(beta >= 0, "smooth_l1_loss", loc, "beta", beta, "at least 0");
  if (beta == 0) return named("smooth_l1_loss", [&] { return l1_loss(input, target, reduction, loc); });
  return of_two(input, target, reduction, "smooth_l1_loss", loc, [&](const Tensor& x, const Tensor& y) {
    const Tensor apart = abs(sub(x, y, 1, loc), loc);
    return where(lt(apart, beta, loc), mul(square(apart, loc), 0.5 / beta, loc), sub(apart, 0.5 * beta, 1, loc), loc);
  });
}
Tensor huber_loss(const Tensor& input, const Tensor& target, std::string_view reduction, double delta, SourceLoc loc) {
  need(delta > 0, "huber_loss", loc, "delta", delta, "above 0");
  return of_two(input, target, reduction, "huber_loss", loc, [&](const Tensor& x, const Tensor& y) {
    const Tensor apart = abs(sub(x, y, 1, loc), loc);
    return where(le(apart, delta, loc), mul(square(apart, loc), 0.5, loc),
                 mul(sub(apart, 0.5 * delta, 1, loc), delta, loc), loc);
  });
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight, std::string_view reduction,
                            SourceLoc loc) {
  const TensorMeta a = checked_meta(input, "binary_cross_entropy", loc),
                   b = checked_meta(target, "binary_cross_entropy", loc);
  bool equal = a.dim() == b.dim();
  for (int d = 0; equal && d < a.dim(); ++d)
    equal = graph::same(a.size(d), b.size(d), loc, "binary_cross_entropy: equal sizes");
  if (!equal)
    fail(ErrorCode::ShapeMismatch, "binary_cross_entropy", loc, "input has sizes ", graph::sizes_text(a.layout.sizes),
         ", target ", graph::sizes_text(b.layout.sizes));
  return of_two(input, target, reduction, "binary_cross_entropy", loc, [&](const Tensor& x, const Tensor& y) {
    // Where the logarithm is infinite, it is a number with no slope: its own would make the gradient NaN.
    auto bounded = [&](const Tensor& none, const Tensor& logarithm) {
      return where(none, -100, clamp_min(logarithm, -100, loc), loc);
    };
    const Tensor at_0 = eq(x, 0, loc), at_1 = eq(x, 1, loc);
    const Tensor hit = bounded(at_0, log(where(at_0, 1, x, loc), loc)),
                 miss = bounded(at_1, log1p(neg(where(at_1, 0, x, loc), loc), loc));
    const Tensor each = sub(mul(sub(y, 1, 1, loc), miss, loc), mul(y, hit, loc), 1, loc);
    return weight.defined() ? mul(each, widened(weight, loc), loc) : each;
  });
}
Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target, const Tensor& weight,
                                        const Tensor& pos_weight, std::string_view reduction, SourceLoc loc) {
  return of_two(
      input, target, reduction, "binary_cross_entropy_with_logits", loc, [&](const Tensor& x, const Tensor& y) {
        const Tensor below = log_sigmoid(x, loc),
                     left = sub(1, y, 1, loc);  // log(1 - sigmoid(x)) is log_sigmoid(x) - x
        Tensor each =
            pos_weight.defined()
                ? sub(mul(left, x, loc),
                      mul(add(mul(sub(widened(pos_weight, loc), 1, 1, loc), y, loc), 1, 1, loc), below, loc), 1, loc)
                : sub(mul(left, x, loc), below, 1, loc);
        return weight.defined() ? mul(each, widened(weight, loc), loc) : each;
      });
}

namespace {

/// Where classes stand in input, and target's place in it.
int class_dim(const TensorMeta& input) { return input.dim() > 1 ? 1 : 0; }

void check_weight(const TensorMeta& in, const Tensor& weight, const char* op, SourceLoc loc) {
  if (!weight.defined()) return;
  const TensorMeta w = checked_meta(weight, op, loc);
  if (w.dim() != 1 || !graph::same(w.size(0), in.size(class_dim(in)), loc, "nll_loss: a weight for each class"))
    fail(ErrorCode::ShapeMismatch, op, loc, "weight has sizes ", graph::sizes_text(w.layout.sizes), ", and there are ",
         in.size(class_dim(in)), " classes");
}

void check_classes(const TensorMeta& in, const TensorMeta& t, const Tensor& weight, const char* op, SourceLoc loc) {
  bool fits = in.dim() >= 1 && t.dim() == in.dim() - 1;
  for (int d = 0; fits && d < t.dim(); ++d)
    fits = graph::same(t.size(d), in.size(d == 0 ? 0 : d + 1), loc, "nll_loss: a target for each");
  if (!fits)
    fail(ErrorCode::ShapeMismatch, op, loc, "input of sizes ", graph::sizes_text(in.layout.sizes),
         " wants a target of the same without the classes (dimension 1; of a vector 0), got ",
         graph::sizes_text(t.layout.sizes));
  if (!is_integral(t.dtype))
    fail(ErrorCode::DTypeMismatch, op, loc, "targets must be integers, got ", dtype_name(t.dtype));
  check_weight(in, weight, op, loc);
}

/// weight as [1, classes, 1, ...].
Tensor along_classes(const Tensor& weight, const TensorMeta& in, SourceLoc loc) {
  Ints sizes(in.layout.sizes.size(), Int(1));
  sizes[static_cast<std::size_t>(class_dim(in))] = in.size(class_dim(in));
  return view(contiguous(widened(weight, loc), loc), sizes, loc);
}

struct Targets {
  Tensor counts;  ///< Bool: not ignored
  Tensor index;   ///< int64, 0 where ignored
  Tensor weight;  ///< of each, 0 where ignored
};
Targets targets(const Tensor& target, const Tensor& weight, Int ignore_index, DType t, SourceLoc loc) {
  Targets r;
  r.counts = ne(target, Scalar(ignore_index), loc);
  r.index = to(where(r.counts, target, 0, loc), kInt64, loc);
  const Tensor of_class = weight.defined()
                              ? reshape(index_select(widened(weight, loc), 0, reshape(r.index, {-1}, loc), loc),
                                        checked_meta(target, "nll_loss", loc).layout.sizes, loc)
                              : Tensor();
  r.weight =
      of_class.defined() ? where(r.counts, of_class, 0.0, loc) : to(r.counts, is_low_precision(t) ? kFloat32 : t, loc);
  return r;
}

/// log-probabilities at the targets, negative, times their weights, in at least float32.
Tensor nll_each(const Tensor& x, const TensorMeta& in, const Targets& t, SourceLoc loc) {
  const int d = class_dim(in);
  const Tensor own = squeeze(gather(x, d, unsqueeze(t.index, d, loc), loc), d, loc);
  return where(t.counts, neg(mul(own, t.weight, loc), loc), 0.0, loc);
}

Tensor nll_reduced(const Tensor& each, const Tensor& weights, std::string_view reduction, DType t, const char* op,
                   SourceLoc loc) {
  if (reduction != "mean") return reduced(each, reduction, t, op, loc);
  return to(div(sum(each, {}, false, std::nullopt, loc), sum(weights, {}, false, std::nullopt, loc), {}, loc), t, loc);
}

}  // namespace

Tensor nll_loss(const Tensor& input, const Tensor& target, const Tensor& weight, std::string_view reduction,
                Int ignore_index, SourceLoc loc) {
  return named("nll_loss", [&] {
    const TensorMeta in = checked_meta(input, "nll_loss", loc);
    check_classes(in, checked_meta(target, "nll_loss", loc), weight, "nll_loss", loc);
    const DType t = loss_dtype("nll_loss", loc, {&input});
    const Targets of = targets(target, weight, ignore_index, t, loc);
    return nll_reduced(nll_each(widened(input, loc), in, of, loc), of.weight, reduction, t, "nll_loss", loc);
  });
}

Tensor cross_entropy(const Tensor& input, const Tensor& target, const Tensor& weight, std::string_view reduction,
                     Int ignore_index, double label_smoothing, SourceLoc loc) {
  const char* op = "cross_entropy";
  need(label_smoothing >= 0 && label_smoothing <= 1, op, loc, "label_smoothing", label_smoothing, "within [0, 1]");
  return named(op, [&] {
    const TensorMeta in = checked_meta(input, op, loc), given = checked_meta(target, op, loc);
    const DType t = loss_dtype(op, loc, {&input});
    const int d = class_dim(in);
    if (in.dim() == 0)
      fail(ErrorCode::ShapeMismatch, op, loc, "input must have a dimension of classes, got a 0-dim tensor");
    check_weight(in, weight, op, loc);
    const Tensor x = log_softmax(widened(input, loc), d, std::nullopt, loc);
    const Tensor by_class = weight.defined() ? along_classes(weight, in, loc) : Tensor();
    const Float classes(in.size(d));
    if (is_floating(given.dtype)) {
      bool equal = given.dim() == in.dim();
      for (int k = 0; equal && k < in.dim(); ++k)
        equal = graph::same(in.size(k), given.size(k), loc, "cross_entropy: probabilities of input's sizes");
      if (!equal)
        fail(ErrorCode::ShapeMismatch, op, loc, "input has sizes ", graph::sizes_text(in.layout.sizes),
             ", the probabilities ", graph::sizes_text(given.layout.sizes));
      Tensor p = widened(target, loc);
      if (label_smoothing > 0) p = add(mul(p, 1 - label_smoothing, loc), Scalar(label_smoothing / classes), 1, loc);
      Tensor each = mul(x, p, loc);
      if (by_class.defined()) each = mul(each, by_class, loc);
      each = neg(sum(each, {d}, false, std::nullopt, loc), loc);
      return reduced(each, reduction, t, op, loc);
    }
    check_classes(in, given, weight, op, loc);
    const Targets of = targets(target, weight, ignore_index, t, loc);
    const Tensor each = nll_each(x, in, of, loc);
    if (label_smoothing == 0) return nll_reduced(each, of.weight, reduction, t, op, loc);
    // To all classes alike: their weighted losses, and for the mean divided by the weights that count, as the others.
    const Tensor all =
        where(of.counts, neg(sum(by_class.defined() ? mul(x, by_class, loc) : x, {d}, false, std::nullopt, loc), loc),
              0.0, loc);
    return nll_reduced(
        add(mul(each, 1 - label_smoothing, loc), mul(all, Scalar(label_smoothing / classes), loc), 1, loc), of.weight,
        reduction, t, op, loc);
  });
}

Tensor kl_div(const Tensor& input, const Tensor& target, std::string_view reduction, bool log_target, SourceLoc loc) {
  return named("kl_div", [&] {
    const DType t = loss_dtype("kl_div", loc, {&input, &target});
    const Tensor x = widened(input, loc), y = widened(target, loc);
    const Tensor each =
        log_target ? mul(exp(y, loc), sub(y, x, 1, loc), loc) : sub(xlogy(y, y, loc), mul(y, x, loc), 1, loc);
    if (reduction != "batchmean") return reduced(each, reduction, t, "kl_div", loc);
    const Tensor total = sum(each, {}, false, std::nullopt, loc);
    return to(input.dim() == 0 ? total : div(total, Scalar(checked_meta(input, "kl_div", loc).size(0)), {}, loc), t,
              loc);
  });
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, bool log_input, bool full, double eps,
                        std::string_view reduction, SourceLoc loc) {
  return named("poisson_nll_loss", [&] {
    const DType t = loss_dtype("poisson_nll_loss", loc, {&input, &target}, true);
    const Tensor x = as_floats(input, t, loc), y = as_floats(target, t, loc);
    Tensor each = log_input ? sub(exp(x, loc), mul(y, x, loc), 1, loc)
                            : sub(x, mul(y, log(add(x, eps, 1, loc), loc), loc), 1, loc);
    if (full) {
      const Tensor stirling = add(sub(mul(y, log(y, loc), loc), y, 1, loc),
                                  mul(log(mul(y, 2 * std::numbers::pi, loc), loc), 0.5, loc), 1, loc);
      each = add(each, where(gt(y, 1, loc), stirling, 0.0, loc), 1, loc);
    }
    return reduced(each, reduction, t, "poisson_nll_loss", loc);
  });
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var, bool full, double eps,
                         std::string_view reduction, SourceLoc loc) {
  return named("gaussian_nll_loss", [&] {
    const DType t = loss_dtype("gaussian_nll_loss", loc, {&input, &target, &var});
    Tensor v = widened(var, loc);
    if (v.dim() + 1 == input.dim()) v = unsqueeze(v, -1, loc);  // one for all of the last dimension
    v = clamp_min(v, eps, loc);
    Tensor each = mul(
        add(log(v, loc), div(square(sub(widened(input, loc), widened(target, loc), 1, loc), loc), v, {}, loc), 1, loc),
        0.5, loc);
    if (full) each = add(each, 0.5 * std::log(2 * std::numbers::pi), 1, loc);
    return reduced(each, reduction, t, "gaussian_nll_loss", loc);
  });
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, Int dim, double eps, SourceLoc loc) {
  return named("cosine_similarity", [&] {
    const DType t = loss_dtype("cosine_similarity", loc, {&x1, &x2});
    const Tensor x = widened(x1, loc), y = widened(x2, loc);
    const Tensor product = sum(mul(x, y, loc), dim, false, std::nullopt, loc);
    // Of x and y as they broadcast: the number of elements along dim is that of both.
    const Ints sizes =
        graph::broadcast(checked_meta(x, "cosine_similarity", loc).layout.sizes,
                         checked_meta(y, "cosine_similarity", loc).layout.sizes, "cosine_similarity", loc);
    // The bound is within the root: the root of 0 has no slope.
    auto size_of = [&](const Tensor& v) {
      return sqrt(clamp_min(sum(square(expand(v, sizes, loc), loc), dim, false, std::nullopt, loc), eps * eps, loc),
                  loc);
    };
    return to(div(product, mul(size_of(x), size_of(y), loc), {}, loc), t, loc);
  });
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim, SourceLoc loc) {
  return named("pairwise_distance", [&] {
    const DType t = loss_dtype("pairwise_distance", loc, {&x1, &x2}, true);
    const Tensor apart = sub(as_floats(x1, t, loc), as_floats(x2, t, loc), 1, loc);
    return to(norm(add(apart, eps, 1, loc), p, {-1}, keepdim, loc), t, loc);
  });
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                             std::string_view reduction, SourceLoc loc) {
  return named("cosine_embedding_loss", [&] {
    const DType t = loss_dtype("cosine_embedding_loss", loc, {&input1, &input2}, true);
    const TensorMeta a = checked_meta(input1, "cosine_embedding_loss", loc),
                     y = checked_meta(target, "cosine_embedding_loss", loc);
    if (a.dim() < 1 || a.dim() > 2 || y.dim() != a.dim() - 1)
      fail(ErrorCode::ShapeMismatch, "cosine_embedding_loss", loc,
           "wants [n, d] and a target [n], or [d] and a 0-dim target, got sizes ", graph::sizes_text(a.layout.sizes),
           " and ", graph::sizes_text(y.layout.sizes));
    // Not by cosine_similarity: its eps is within the root.
    const Tensor u = as_floats(input1, t, loc), v = as_floats(input2, t, loc);
    auto dots = [&](const Tensor& p, const Tensor& q) { return sum(mul(p, q, loc), {-1}, false, std::nullopt, loc); };
    constexpr double kEps = 1e-12;
    const Tensor near =
        div(dots(u, v), sqrt(mul(add(dots(u, u), kEps, 1, loc), add(dots(v, v), kEps, 1, loc), loc), loc), {}, loc);
    const Tensor each =
        add(where(eq(target, 1, loc), sub(1, near, 1, loc), 0.0, loc),
            where(eq(target, -1, loc), clamp_min(sub(near, margin, 1, loc), 0.0, loc), 0.0, loc), 1, loc);
    return reduced(each, reduction, t, "cosine_embedding_loss", loc);
  });
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin,
                           double p, double eps, bool swap, std::string_view reduction, SourceLoc loc) {
  need(margin > 0, "triplet_margin_loss", loc, "margin", margin, "above 0");
  return named("triplet_margin_loss", [&] {
    const DType t = loss_dtype("triplet_margin_loss", loc, {&anchor, &positive, &negative}, true);
    const Tensor a = as_floats(anchor, t, loc), near = as_floats(positive, t, loc), far = as_floats(negative, t, loc);
    const Tensor d = pairwise_distance(a, near, p, eps, false, loc);
    Tensor e = pairwise_distance(a, far, p, eps, false, loc);
    if (swap) e = minimum(e, pairwise_distance(near, far, p, eps, false, loc), loc);
    return reduced(clamp_min(sub(add(d, margin, 1, loc), e, 1, loc), 0.0, loc), reduction, t, "triplet_margin_loss",
                   loc);
  });
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                           std::string_view reduction, SourceLoc loc) {
  return named("margin_ranking_loss", [&] {
    const DType t = loss_dtype("margin_ranking_loss", loc, {&input1, &input2, &target}, true);
    const Tensor ahead = sub(as_floats(input1, t, loc), as_floats(input2, t, loc), 1, loc);
    const Tensor each = clamp_min(sub(margin, mul(as_floats(target, t, loc), ahead, loc), 1, loc), 0.0, loc);
    return reduced(each, reduction, t, "margin_ranking_loss", loc);
  });
}
Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, double margin, std::string_view reduction,
                            SourceLoc loc) {
  return of_two(input, target, reduction, "hinge_embedding_loss", loc, [&](const Tensor& x, const Tensor& y) {
    return add(where(eq(y, 1, loc), 0.0, clamp_min(sub(margin, x, 1, loc), 0.0, loc), loc),
               where(eq(y, -1, loc), 0.0, x, loc), 1, loc);
  });
}
Tensor soft_margin_loss(const Tensor& input, const Tensor& target, std::string_view reduction, SourceLoc loc) {
  return of_two(input, target, reduction, "soft_margin_loss", loc,
                [&](const Tensor& x, const Tensor& y) { return log1p(exp(neg(mul(y, x, loc), loc), loc), loc); });
}

}  // namespace reprise
