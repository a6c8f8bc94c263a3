#include "operators/spatial.h"

#include <limits>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "graph/view_column.h"
#include "kernels/plan/gather.h"
#include "kernels/reference/reference.h"
#include "operators/families.h"
#include "reprise/ops.h"

namespace reprise::operators {

using graph::OpId;
using passes::Build;

Ints per_dim(IntArrayRef given, int n, const char* op, const char* what, SourceLoc loc) {
  if (given.size() == 1) return Ints(static_cast<std::size_t>(n), given[0]);
  if (given.size() != static_cast<std::size_t>(n))
    fail(ErrorCode::InvalidArgument, op, loc, "'", what, "' wants one number or ", n, ", got ",
         graph::sizes_text(given.vec()));
  return given.vec();
}

std::vector<std::int64_t> constants(const Ints& given, SourceLoc loc) {
  std::vector<std::int64_t> all;
  for (Int i : given) all.push_back(i.value(loc));
  return all;
}

Batch with_batch(const Tensor& image, int n, const char* op, SourceLoc loc) {
  const TensorMeta m = graph::api::checked_meta(image, op, loc);
  if (m.dim() == n + 2) return {image, true};
  if (m.dim() != n + 1)
    fail(ErrorCode::ShapeMismatch, op, loc, "wants ", n + 2, " dimensions, or ", n + 1, " without a batch, got sizes ",
         graph::sizes_text(m.layout.sizes));
  return {unsqueeze(image, 0, loc), false};
}
Tensor Batch::result(const Tensor& made, SourceLoc loc) const { return batched ? made : select(made, 0, 0, loc); }

Int windows(Int size, const Steps& s) {
  return s.stride == 1 ? size - (s.reach() - 1) : (size - s.reach()) / s.stride + 1;
}

V slice(Build& b, V x, int dim, Int start, Int end, Int step) {
  return b.emit(OpId::slice, {x, Int(dim), start, end, step});
}

V per_channel(Build& b, V v, int rank) {
  Ints sizes(static_cast<std::size_t>(rank), Int(1));
  sizes[1] = b.sizes(v)[0];
  return b.reshape(v, sizes);
}

namespace {
/// `base` with x in the place [front[d], front[d] + size) of the dimensions from d on.
V put(Build& b, V base, V x, const Ints& front, int d) {
  const int first = b.dim(x) - static_cast<int>(front.size());
  while (d < b.dim(x) && identical(b.sizes(base)[static_cast<std::size_t>(d)], b.sizes(x)[static_cast<std::size_t>(d)]))
    ++d;
  if (d == b.dim(x)) return x;
  const Int start = front[static_cast<std::size_t>(d - first)], end = start + b.sizes(x)[static_cast<std::size_t>(d)];
  const V part = slice(b, base, d, start, end);
  return b.emit(OpId::slice_scatter, {base, put(b, part, x, front, d + 1), Int(d), start, end, Int(1)});
}
}  // namespace

V padded(Build& b, V x, const Ints& front, const Ints& back, Scalar value) {
  Ints sizes = b.sizes(x);
  const int first = b.dim(x) - static_cast<int>(front.size());
  bool any = false;
  for (std::size_t i = 0; i < front.size(); ++i) {
    any = any || !graph::is_plain(front[i], 0) || !graph::is_plain(back[i], 0);
    Int& size = sizes[static_cast<std::size_t>(first) + i];
    size = size + front[i] + back[i];
  }
  if (!any) return x;
  const V base = b.emit(OpId::full, {sizes, value, b.meta(x).dtype, b.meta(x).device.str()});
  return put(b, base, x, front, first);
}

namespace {

// windows(self, size, step, dilation, count): the last dimensions of self, as many as there are sizes, become as many
// that count the windows, then as many within one. A view that graphs alone have: what is written through it is put
// back nowhere.
Layout windows_layout(const graph::ViewCtx& v) {
  const std::vector<std::int64_t> size = constants(v.c.ints(1), v.c.loc), step = constants(v.c.ints(2), v.c.loc),
                                  dilation = constants(v.c.ints(3), v.c.loc);
  const Ints& count = v.c.ints(4);
  const std::size_t n = size.size(), first = v.in.sizes.size() - n;
  if (n == 0 || n > v.in.sizes.size() || step.size() != n || dilation.size() != n || count.size() != n)
    fail(ErrorCode::InvalidArgument, v.name(), v.c.loc,
         "wants a size, a step, a dilation and a count for each of the last dimensions of sizes ",
         graph::sizes_text(v.in.sizes));
  Layout out = v.in;
  for (std::size_t i = 0; i < n; ++i) {
    const Steps s{size[i], step[i], dilation[i]};
    if (s.kernel < 1 || s.stride < 1 || s.dilation < 1)
      fail(ErrorCode::InvalidArgument, v.name(), v.c.loc, "sizes, steps and dilations must be positive");
    const Int stride = v.in.strides[first + i];
    out.sizes[first + i] = count[i], out.strides[first + i] = stride * s.stride;
    out.sizes.push_back(s.kernel), out.strides.push_back(stride * s.dilation);
  }
  return out;
}

OpId windows_op() {
  static const OpId id = graph::register_op(
      {.schema = "windows(Tensor(a) self, int[] size, int[] step, int[] dilation, SymInt[] count) -> Tensor(a)",
       .cls = graph::OpClass::View,
       .shape = graph::rules::view_rule},
      {graph::view_facts().fact({windows_layout})});
  return id;
}

}  // namespace

V window_view(Build& b, V x, const std::vector<Steps>& steps, const Ints& counts) {
  Ints size, step, dilation, count = counts;
  for (const Steps& s : steps) size.push_back(s.kernel), step.push_back(s.stride), dilation.push_back(s.dilation);
  const std::size_t first = b.sizes(x).size() - steps.size();
  for (std::size_t i = count.size(); i < steps.size(); ++i) count.push_back(windows(b.sizes(x)[first + i], steps[i]));
  return b.emit(windows_op(), {x, size, step, dilation, count});
}

namespace {

OpId index_within_op() {
  static const OpId id =
      graph::register_op({.schema = "index_within(Tensor self, Tensor?[] indices) -> Tensor",
                          .cls = graph::OpClass::Gather,
                          .shape = graph::rules::index,
                          .moves = true},
                         {kernels::gather_rules().fact(kernels::gather_rules().at(OpId::index)),
                          kernels::reference_kernels().fact(kernels::reference_kernels().at(OpId::index))});
  return id;
}

}  // namespace

V taken(Build& b, V x, std::vector<V> indices) { return b.emit(index_within_op(), {x, std::move(indices)}); }
V positions(Build& b, V like, Int n) {
  return b.emit(OpId::arange, {Scalar(0), Scalar(n), Scalar(1), DType::Int64, b.meta(like).device.str()});
}

Scalar lowest(DType t) {
  if (is_floating(t)) return -std::numeric_limits<double>::infinity();
  switch (t) {
    case DType::Int64: return std::numeric_limits<std::int64_t>::min();
    case DType::Int32: return std::numeric_limits<std::int32_t>::min();
    case DType::Int8: return std::numeric_limits<std::int8_t>::min();
    default: return 0;
  }
}

V seen_at(Build& b, V windows, const std::vector<std::int64_t>& at) {
  const int first = b.dim(windows) - static_cast<int>(at.size());
  for (std::int64_t i : at) windows = b.emit(OpId::select, {windows, Int(first), Int(i)});
  return windows;
}

void register_spatial() { static_cast<void>(windows_op()), static_cast<void>(index_within_op()); }

namespace {
/// `to` with `part` added to every stride-th element from the place on, in the dimensions from i on.
V added_at(Build& b, V to, V part, const std::vector<Steps>& steps, const std::vector<std::int64_t>& at,
           std::size_t i) {
  if (i == steps.size()) return b.add(to, part);
  const int d = static_cast<int>(i) + 2;
  const Int start = at[i] * steps[i].dilation, end = start + (b.sizes(part)[i + 2] - 1) * steps[i].stride + 1;
  const V inner = added_at(b, slice(b, to, d, start, end, steps[i].stride), part, steps, at, i + 1);
  return b.emit(OpId::slice_scatter, {to, inner, Int(d), start, end, Int(steps[i].stride)});
}
}  // namespace

V added_up(Build& b, V given, const std::vector<Steps>& steps, const Ints& sizes) {
  V sum = b.emit(OpId::full, {sizes, Scalar(0), b.meta(given).dtype, b.meta(given).device.str()});
  for_each_place(steps, [&](const std::vector<std::int64_t>& at) {
    V part = given;
    for (std::int64_t i : at) part = b.emit(OpId::select, {part, Int(2), Int(i)});
    sum = added_at(b, sum, part, steps, at, 0);
  });
  return sum;
}

std::int64_t places(const std::vector<Steps>& steps) {
  std::int64_t n = 1;
  for (const Steps& s : steps)
    if (__builtin_mul_overflow(n, s.kernel, &n)) return INT64_MAX;
  return n;
}

}  // namespace reprise::operators
