// Normalization over channels and places. What is written to running statistics is written by in-place operators around
// the node.
#include "reprise/normalization.h"

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/autocast.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "operators/spatial.h"
#include "reprise/autograd.h"
#include "reprise/ops.h"

namespace reprise {

using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;
using operators::V;
using passes::Build;

namespace {

void need_floats(const char* name, const TensorMeta& x, SourceLoc loc) {
  if (!is_floating(x.dtype)) fail(ErrorCode::DTypeMismatch, name, loc, "normalizes floats, got ", dtype_name(x.dtype));
}
/// One number a channel, of the input's dtype or float32.
void per_channel(const graph::RuleCtx& c, int i, Int channels, DType t) {
  const TensorMeta* m = c.optional_tensor(i);
  if (!m) return;
  const char *name = c.op.schema.name.c_str(), *what = c.op.schema.args[static_cast<std::size_t>(i)].name.c_str();
  if (m->dtype != t && m->dtype != DType::Float32)
    fail(ErrorCode::DTypeMismatch, name, c.loc, "'", what, "' is ", dtype_name(m->dtype), ", the input ", dtype_name(t),
         "; cast one with to()");
  if (m->dim() != 1 || !graph::same(m->size(0), channels, c.loc, "normalization: a number for each channel"))
    fail(ErrorCode::ShapeMismatch, name, c.loc, "'", what, "' has sizes ", graph::sizes_text(m->layout.sizes),
         ", not one number for each of ", channels, " channels");
}
Int channels_of(const graph::RuleCtx& c, int least) {
  const TensorMeta& x = c.tensor(0);
  need_floats(c.op.schema.name.c_str(), x, c.loc);
  if (x.dim() < least)
    fail(ErrorCode::ShapeMismatch, c.op.schema.name.c_str(), c.loc, "wants ", least,
         " dimensions or more, [n, c, ...], got sizes ", graph::sizes_text(x.layout.sizes));
  return x.size(1);
}

/// (x - mean) * rsqrt(var + eps) * weight + bias, of an accumulator's dtype; numbers of channels come as
/// `like_channels` makes them.
template <class F>
V normalized(Build& b, V x, V mean, V var, const Scalar& eps, int weight, F&& like_channels) {
  V y = b.mul(b.sub(x, mean), b.unary(OpId::rsqrt, b.add(var, eps)));
  if (b.has(weight)) y = b.mul(y, like_channels(b.tensor(weight)));
  if (b.has(weight + 1)) y = b.add(y, like_channels(b.tensor(weight + 1)));
  return y;
}
V mean_over(Build& b, V x, const Ints& dims) {
  return b.div(b.reduce(OpId::sum, x, dims, true), Scalar(b.count(x, dims)));
}

// ---- by channels: with given statistics, or with those of the input over all that is not the channels

enum Batch { kInput, kWeight, kBias, kMean, kVar, kOwnStatistics, kEps };

void batch_shape(graph::RuleCtx& c) {
  const Int channels = channels_of(c, 2);
  for (int i : {kWeight, kBias, kMean, kVar}) per_channel(c, i, channels, c.tensor(0).dtype);
  if (!c.flag(kOwnStatistics) && !(c.has(kMean) && c.has(kVar)))
    fail(ErrorCode::InvalidArgument, c.op.schema.name.c_str(), c.loc,
         "needs running statistics where it does not take the input's");
  c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes);
}

V decompose_batch(Build& b, DType result) {
  const DType acc = Build::accumulator(result);
  const V x = b.to(b.tensor(kInput), acc);
  auto like_channels = [&](V v) { return operators::per_channel(b, b.to(v, acc), b.dim(x)); };
  V mean, var;
  if (b.flag(kOwnStatistics)) {
    Ints dims{0};
    for (int d = 2; d < b.dim(x); ++d) dims.push_back(d);
    mean = mean_over(b, x, dims);
    const V d = b.sub(x, mean);
    var = mean_over(b, b.mul(d, d), dims);
  } else {
    mean = like_channels(b.tensor(kMean)), var = like_channels(b.tensor(kVar));
  }
  return b.to(normalized(b, x, mean, var, b.scalar(kEps), kWeight, like_channels), result);
}

OpId batch_op() {
  static const OpId id = graph::register_op(
      {.schema = "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
                 "bool training, float eps) -> Tensor",
       .cls = graph::OpClass::Composite,
       .shape = batch_shape},
      {passes::decompositions().fact({decompose_batch}),
       operators::derivative(operators::derivatives::batch_norm,
                             autograd::in(0, autograd::of(0, 1)) + autograd::in(1, autograd::of(0)) +
                                 autograd::in(3, autograd::of(0, 1)) + autograd::in(4, autograd::of(0, 1)),
                             autograd::of(0, 1, 2))});
  return id;
}

// ---- by images and groups of channels

void group_shape(graph::RuleCtx& c) {
  const Int channels = channels_of(c, 2);
  const std::int64_t groups = c.constant_int(1);
  const char* name = c.op.schema.name.c_str();
  if (groups < 1) fail(ErrorCode::InvalidArgument, name, c.loc, "'num_groups' must be positive, got ", groups);
  if (!graph::require(detail::compare_eq(channels % groups, 0, c.loc), "group_norm: groups divide the channels"))
    fail(ErrorCode::InvalidArgument, name, c.loc, groups, " groups do not divide the ", channels, " channels of sizes ",
         graph::sizes_text(c.tensor(0).layout.sizes));
  for (int i : {2, 3}) per_channel(c, i, channels, c.tensor(0).dtype);
  c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes);
}

V decompose_group(Build& b, DType result) {
  const DType acc = Build::accumulator(result);
  const Ints sizes = b.sizes(b.tensor(0));
  const Int groups = b.integer(1), each = sizes[1] / groups;
  Int places = 1;
  for (std::size_t d = 2; d < sizes.size(); ++d) places = places * sizes[d];
  const V x = b.to(b.reshape(b.tensor(0), Ints{sizes[0], groups, each, places}), acc);
  const Ints dims{2, 3};
  const V mean = mean_over(b, x, dims), d = b.sub(x, mean), var = mean_over(b, b.mul(d, d), dims);
  const V y = normalized(b, x, mean, var, b.scalar(4), 2, [&](V v) {
    return b.reshape(b.to(v, acc), Ints{1, groups, each, 1});
  });
  return b.reshape(b.to(y, result), sizes);
}

OpId group_op() {
  static const OpId id = graph::register_op(
      {.schema = "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> "
                 "Tensor",
       .cls = graph::OpClass::Composite,
       .shape = group_shape},
      {passes::decompositions().fact({decompose_group}), graph::autocast_rules().fact(graph::AutocastRule::Float32),
       operators::derivative(operators::derivatives::group_norm,
                             autograd::in(0, autograd::of(0, 2)) + autograd::in(2, autograd::of(0)))});
  return id;
}

// ---- by neighbouring channels

void neighbours_shape(graph::RuleCtx& c) {
  channels_of(c, 3);
  if (c.constant_int(1) < 1)
    fail(ErrorCode::InvalidArgument, c.op.schema.name.c_str(), c.loc, "'size' must be positive, got ", c.integer(1));
  c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes);
}

V decompose_neighbours(Build& b, DType result) {
  const V x = b.to(b.tensor(0), Build::accumulator(result));
  const std::int64_t size = b.integer(1).value(b.loc());
  Ints last{0}, back{0, static_cast<std::int64_t>(b.dim(x)) - 1};
  for (int d = 2; d < b.dim(x); ++d) last.push_back(d), back.push_back(d - 1);
  last.push_back(1);
  const V squares = operators::padded(b, b.emit(OpId::permute, {b.mul(x, x), last}), Ints{size / 2},
                                      Ints{(size - 1) / 2}, Scalar(0.0));
  const std::vector<operators::Steps> steps{{size}};
  const V seen = operators::window_view(b, squares, steps, Ints{b.sizes(x)[1]});
  V sum;
  if (size > operators::kUnrolledPlaces) {
    sum = b.reduce(OpId::sum, seen, Ints{b.dim(seen) - 1}, false);
  } else {
    operators::for_each_place(steps, [&](const std::vector<std::int64_t>& at) {
      const V here = operators::seen_at(b, seen, at);
      sum = sum ? b.add(sum, here) : here;
    });
  }
  const V mean = b.emit(OpId::permute, {b.div(sum, Scalar(static_cast<double>(size))), back});
  const V by = b.emit(OpId::pow, {b.add(b.mul(mean, b.scalar(2)), b.scalar(4)), b.scalar(3)});
  return b.to(b.div(x, by), result);
}

OpId neighbours_op() {
  static const OpId id = graph::register_op(
      {.schema =
           "local_response_norm(Tensor input, int size, float alpha=0.0001, float beta=0.75, float k=1.0) -> Tensor",
       .cls = graph::OpClass::Composite,
       .shape = neighbours_shape},
      {passes::decompositions().fact({decompose_neighbours}),
       operators::derivative(operators::derivatives::local_response_norm, autograd::in(0))});
  return id;
}

// ---- running statistics

/// running = (1 - momentum) * running + momentum * now.
void keep(const Tensor& running, const Tensor& now, double momentum, SourceLoc loc) {
  if (running.defined()) running.copy_(add(mul(running, 1 - momentum, loc), mul(now, momentum, loc), 1, loc), loc);
}
/// Does the input have statistics? Dimensions from `first` on, but the channels, hold the values of each one. No value:
/// the result is empty, and running statistics stay. A single one has no variance: an error, as in torch.nn.functional.
bool has_statistics(const char* name, const TensorMeta& m, int first, SourceLoc loc) {
  Int each = 1;
  for (int d = first; d < m.dim(); ++d)
    if (d != 1) each = each * m.size(d);
  if (graph::ask(detail::compare_lt(1, each, loc), "normalization: more than one value for each statistic")) {
    if (first == 0 || graph::ask(detail::compare_lt(0, m.size(0), loc), "normalization: an image")) return true;
    return false;
  }
  if (!graph::require(detail::compare_lt(each, 1, loc), "normalization: more than one value for each statistic"))
    fail(ErrorCode::ShapeMismatch, name, loc, "training wants more than one value for each ", first ? "image and " : "",
         "channel, got sizes ", graph::sizes_text(m.layout.sizes));
  return false;
}
/// What statistics are computed of: half types in float32.
Tensor widened(const Tensor& x, SourceLoc loc) { return is_low_precision(x.dtype()) ? to(x, kFloat32, loc) : x; }

Tensor by_channels(const char* name, const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& mean,
                   const Tensor& var, bool own, double eps, SourceLoc loc) {
  return named(name, [&] {
    return graph::call1(batch_op(), {arg(input), arg(weight), arg(bias), arg(mean), arg(var), arg(own), arg(eps)}, loc);
  });
}

}  // namespace

Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, bool training, double momentum, double eps, bool, SourceLoc loc) {
  const TensorMeta m = checked_meta(input, "batch_norm", loc);
  const bool follows = training && m.dim() >= 2 && has_statistics("batch_norm", m, 0, loc) &&
                       (running_mean.defined() || running_var.defined());
  Tensor result = by_channels("batch_norm", input, weight, bias, running_mean, running_var, training, eps, loc);
  if (!follows) return result;
  const NoGradScope off;  // running statistics are no part of any derivative
  Ints dims{0};
  for (int d = 2; d < m.dim(); ++d) dims.push_back(d);
  const Tensor x = widened(input, loc);
  const OptionalDims over{IntArrayRef(dims)};
  keep(running_mean, mean(x, over, false, std::nullopt, loc), momentum, loc),
      keep(running_var, var(x, over, 1, false, loc), momentum, loc);
  return result;
}

Tensor group_norm(const Tensor& input, Int num_groups, const Tensor& weight, const Tensor& bias, double eps, bool,
                  SourceLoc loc) {
  return graph::call1(group_op(), {arg(input), arg(num_groups), arg(weight), arg(bias), arg(eps)}, loc);
}

Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                     const Tensor& running_var, bool use_input_stats, double momentum, double eps, bool,
                     SourceLoc loc) {
  const TensorMeta m = checked_meta(input, "instance_norm", loc);
  if (m.dim() < 3)
    fail(ErrorCode::ShapeMismatch, "instance_norm", loc, "wants 3 dimensions or more, [n, c, ...], got sizes ",
         graph::sizes_text(m.layout.sizes));
  if (!use_input_stats)
    return by_channels("instance_norm", input, weight, bias, running_mean, running_var, false, eps, loc);
  const bool follows = has_statistics("instance_norm", m, 2, loc) && (running_mean.defined() || running_var.defined());
  // All images of a channel are a channel each.
  Ints sizes = m.layout.sizes;
  sizes[1] = sizes[0] * sizes[1], sizes[0] = 1;
  auto repeated = [&](const Tensor& t) {
    return t.defined()
               ? reshape(expand(unsqueeze(t, 0, loc), {m.size(0), checked_meta(t, "instance_norm", loc).size(0)}, loc),
                         {-1}, loc)
               : t;
  };
  for (const Tensor* t : {&weight, &bias, &running_mean, &running_var})
    if (t->defined())
      if (const TensorMeta own = checked_meta(*t, "instance_norm", loc);
          own.dim() != 1 || !graph::same(own.size(0), m.size(1), loc, "normalization: a number for each channel"))
        fail(ErrorCode::ShapeMismatch, "instance_norm", loc, "sizes ", graph::sizes_text(own.layout.sizes),
             " are not one number for each of ", m.size(1), " channels");
  const Tensor rows = reshape(input, sizes, loc);
  const Tensor result = by_channels("instance_norm", rows, repeated(weight), repeated(bias), {}, {}, true, eps, loc);
  if (follows) {
    const NoGradScope off;
    Ints dims;
    for (int d = 2; d < m.dim(); ++d) dims.push_back(d);
    const Tensor x = widened(input, loc);
    const OptionalDims over{IntArrayRef(dims)};
    keep(running_mean, mean(mean(x, over, false, std::nullopt, loc), {0}, false, std::nullopt, loc), momentum, loc);
    keep(running_var, mean(var(x, over, 1, false, loc), {0}, false, std::nullopt, loc), momentum, loc);
  }
  return view(result, m.layout.sizes, loc);
}

Tensor local_response_norm(const Tensor& input, Int size, double alpha, double beta, double k, SourceLoc loc) {
  return graph::call1(neighbours_op(), {arg(input), arg(size), arg(alpha), arg(beta), arg(k)}, loc);
}

namespace operators {
void register_normalization() {
  for (OpId (*op)() : {batch_op, group_op, neighbours_op}) static_cast<void>(op());
}
}  // namespace operators

}  // namespace reprise
