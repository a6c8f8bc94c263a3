// Rows by index and what is made of them.
#include "reprise/selection.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/plan/columns.h"
#include "operators/checks.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "operators/rows.h"

namespace reprise {

using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;

namespace {

using namespace operators;
using kernels::reference::fault;
using kernels::reference::load;
using kernels::reference::load_number;
using kernels::reference::store;
using kernels::reference::Value;

// ---- bags

void embedding_bag_kernel(const NativeArgs& a) {
  const TensorView &weight = a.tensor(0), &indices = a.tensor(1), &offsets = a.tensor(2), &out = a.result();
  const std::string_view mode = a.text(4);
  const std::int64_t padding = a.has(6) ? a.integer(6) : -1, bags = out.sizes[0], d = out.sizes[1],
                     m = indices.sizes[0], rows = weight.sizes[0];
  auto begin_of = [&](std::int64_t bag) {
    return bag < offsets.sizes[0] ? load(offsets, bag * offsets.strides[0]).i : m;
  };
  for (std::int64_t i = 0; i < m; ++i)
    if (const std::int64_t v = load(indices, i * indices.strides[0]).i; v < 0 || v >= rows)
      return fault(a, ErrorCode::IndexOutOfRange,
                   "index " + std::to_string(v) + " at position [" + std::to_string(i) + "] is out of range for " +
                       std::to_string(rows) + " rows");
  for (std::int64_t b = 0, last = 0; b < offsets.sizes[0]; ++b) {
    const std::int64_t v = begin_of(b);
    if (b == 0 ? v != 0 : v < last || v > m)
      return fault(a, ErrorCode::IndexOutOfRange,
                   "offset " + std::to_string(v) + " at position [" + std::to_string(b) +
                       "]: offsets begin with 0, do not fall, and end at " + std::to_string(m) + " at most");
    last = v;
  }
  const bool mean = mode == "mean", max = mode == "max";
  parallel(bags, std::max<std::int64_t>(1, m / std::max<std::int64_t>(1, bags)) * d,
           [&](std::int64_t first, std::int64_t end) {
             std::vector<double> sum(static_cast<std::size_t>(d)), row(sum.size());
             for (std::int64_t b = first; b < end; ++b) {
               std::fill(sum.begin(), sum.end(), 0);
               std::int64_t count = 0;
               for (std::int64_t i = begin_of(b); i < begin_of(b + 1); ++i) {
                 const std::int64_t at = load(indices, i * indices.strides[0]).i;
                 if (at == padding) continue;
                 read_row(weight, at * weight.strides[0], weight.strides[1], d, row.data());
                 const double by = a.has(3) ? load_number(a.tensor(3), i * a.tensor(3).strides[0]) : 1;
                 for (std::size_t k = 0; k < row.size(); ++k)
                   if (!max) sum[k] += by * row[k];
                   else if (count == 0 || row[k] > sum[k] || std::isnan(row[k]))
                     sum[k] = std::isnan(sum[k]) && count ? sum[k] : row[k];
                 ++count;
               }
               for (double& s : sum)
                 if (mean && count) s /= static_cast<double>(count);
               write_row(out, b * out.strides[0], out.strides[1], d, sum.data());
             }
           });
}

const char* name(const graph::RuleCtx& c) { return c.op.schema.name.c_str(); }

void embedding_bag_shape(graph::RuleCtx& c) {
  const TensorMeta &weight = c.tensor(0), &indices = c.tensor(1), &offsets = c.tensor(2), *by = c.optional_tensor(3);
  need_float(name(c), c.loc, weight.dtype), need_index(name(c), c.loc, indices.dtype, "indices"),
      need_index(name(c), c.loc, offsets.dtype, "offsets");
  if (weight.dim() != 2 || indices.dim() != 1 || offsets.dim() != 1)
    fail(ErrorCode::ShapeMismatch, name(c), c.loc, "wants weight [n, d], indices [m] and offsets [bags], got sizes ",
         graph::sizes_text(weight.layout.sizes), ", ", graph::sizes_text(indices.layout.sizes), " and ",
         graph::sizes_text(offsets.layout.sizes));
  const std::string_view mode = c.str(4);
  if (mode != "sum" && mode != "mean" && mode != "max")
    fail(ErrorCode::InvalidArgument, name(c), c.loc, "mode is '", mode, "', expected sum, mean or max");
  if (by && mode != "sum")
    fail(ErrorCode::InvalidArgument, name(c), c.loc, "per_sample_weights go with mode 'sum', not with '", mode, "'");
  if (by && (by->dim() != 1 || !graph::same(by->size(0), indices.size(0), c.loc, "embedding_bag: a weight for each")))
    fail(ErrorCode::ShapeMismatch, name(c), c.loc, "per_sample_weights have sizes ",
         graph::sizes_text(by->layout.sizes), ", indices ", graph::sizes_text(indices.layout.sizes));
  Int bags = offsets.size(0);
  if (c.flag(5)) {
    if (!graph::require(detail::compare_lt(0, bags, c.loc), "embedding_bag: a last offset"))
      fail(ErrorCode::ShapeMismatch, name(c), c.loc, "there is no last offset");
    bags = bags - 1;
  }
  c.result(weight.dtype, {bags, weight.size(1)});
}

// ---- groups

/// c = a x b, matrices of any strides; b's elements are read once.
template <class T>
void product(const TensorView& a, const TensorView& b, const TensorView& c) {
  const std::int64_t m = c.sizes[0], n = c.sizes[1], k = a.sizes[1];
  if (m == 0 || n == 0) return;
  std::vector<T> right(static_cast<std::size_t>(k * n));
  std::vector<double> row(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < k; ++i) {
    read_row(b, i * b.strides[0], b.strides[1], n, row.data());
    std::transform(row.begin(), row.end(), right.begin() + i * n, [](double v) { return static_cast<T>(v); });
  }
  parallel(m, k * n, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> sum(static_cast<std::size_t>(n));
    std::vector<double> left(static_cast<std::size_t>(k)), out(sum.size());
    for (std::int64_t i = begin; i < end; ++i) {
      read_row(a, i * a.strides[0], a.strides[1], k, left.data());
      std::fill(sum.begin(), sum.end(), T(0));
      const double* f = left.data();
      T* to = sum.data();
      std::int64_t p = 0;
      for (; p + 4 <= k; p += 4) {  // four rows at a time: a sum is read and written once for them
        const T *from = right.data() + p * n, f0 = static_cast<T>(f[p]), f1 = static_cast<T>(f[p + 1]),
                f2 = static_cast<T>(f[p + 2]), f3 = static_cast<T>(f[p + 3]);
        for (std::int64_t j = 0; j < n; ++j)
          to[j] += (f0 * from[j] + f1 * from[n + j]) + (f2 * from[2 * n + j] + f3 * from[3 * n + j]);
      }
      for (; p < k; ++p)
        for (std::int64_t j = 0; j < n; ++j) to[j] += static_cast<T>(f[p]) * right[static_cast<std::size_t>(p * n + j)];
      std::transform(sum.begin(), sum.end(), out.begin(), [](T v) { return static_cast<double>(v); });
      write_row(c, i * c.strides[0], c.strides[1], n, out.data());
    }
  });
}

/// [from, to) of a dimension.
TensorView part(TensorView v, int dim, std::int64_t from, std::int64_t to) {
  v.data += from * v.strides[dim] * item_size(v.dtype);
  v.sizes[dim] = to - from;
  return v;
}

void grouped_mm_kernel(const NativeArgs& a) {
  const TensorView &x = a.tensor(0), &w = a.tensor(1), &offs = a.tensor(2), &out = a.result();
  const std::int64_t groups = offs.sizes[0], size = x.rank == 3 ? w.sizes[1] : w.rank == 3 ? x.sizes[0] : x.sizes[1];
  std::int64_t last = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t end = load(offs, g * offs.strides[0]).i;
    if (end < last || end > size)
      return fault(a, ErrorCode::IndexOutOfRange,
                   "group " + std::to_string(g) + " ends at " + std::to_string(end) + ", the one before at " +
                       std::to_string(last) + " of " + std::to_string(size));
    last = end;
  }
  auto multiply = [&](const TensorView& p, const TensorView& q, const TensorView& r) {
    out.dtype == DType::Float64 ? product<double>(p, q, r) : product<float>(p, q, r);
  };
  auto clear = [](const TensorView& v) {
    kernels::reference::for_each(v, [&](std::int64_t at) { store(v, at, Value::of(0.0)); });
  };
  using kernels::reference::select;
  last = 0;
  for (std::int64_t g = 0; g < groups; ++g) {
    const std::int64_t end = load(offs, g * offs.strides[0]).i;
    if (x.rank == 3) multiply(select(x, 0, g), part(w, 1, last, end), part(out, 1, last, end));
    else if (w.rank == 3) multiply(part(x, 0, last, end), select(w, 0, g), part(out, 0, last, end));
    else multiply(part(x, 1, last, end), part(w, 0, last, end), select(out, 0, g));
    last = end;
  }
  if (x.rank == 3) clear(part(out, 1, last, size));
  else if (w.rank == 3) clear(part(out, 0, last, size));
}

void grouped_mm_shape(graph::RuleCtx& c) {
  const TensorMeta &x = c.tensor(0), &w = c.tensor(1), &offs = c.tensor(2);
  need_float(name(c), c.loc, x.dtype);
  if (x.dtype != w.dtype)
    fail(ErrorCode::DTypeMismatch, name(c), c.loc, "dtypes ", dtype_name(x.dtype), " and ", dtype_name(w.dtype),
         " differ; cast with to()");
  if (offs.dtype != DType::Int32)
    fail(ErrorCode::DTypeMismatch, name(c), c.loc, "offs must be int32, got ", dtype_name(offs.dtype));
  const bool kinds =
      (x.dim() == 2 || x.dim() == 3) && (w.dim() == 2 || w.dim() == 3) && x.dim() + w.dim() < 6 && offs.dim() == 1;
  bool fits = kinds && graph::same(x.size(x.dim() - 1), w.size(w.dim() - 2), c.loc, "grouped_mm: equal inner sizes");
  if (fits && x.dim() + w.dim() == 5)
    fits = graph::same(x.dim() == 3 ? x.size(0) : w.size(0), offs.size(0), c.loc, "grouped_mm: an end for each group");
  if (!fits)
    fail(ErrorCode::ShapeMismatch, name(c), c.loc, "sizes ", graph::sizes_text(x.layout.sizes), ", ",
         graph::sizes_text(w.layout.sizes), " and offs ", graph::sizes_text(offs.layout.sizes),
         " make no products of groups");
  const Int m = x.size(x.dim() - 2), n = w.size(w.dim() - 1);
  if (x.dim() == 2 && w.dim() == 2) c.result(x.dtype, {offs.size(0), m, n});
  else c.result(x.dtype, {m, n});
}

OpId embedding_bag_op() {
  static const OpId id = graph::register_op(
      {.schema = "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, Tensor? per_sample_weights=None, str "
                 "mode='sum', bool include_last_offset=False, int? padding_idx=None) -> Tensor",
       .shape = embedding_bag_shape,
       .effects = {.may_fail = true}},
      {kernels::reference_kernels().fact({embedding_bag_kernel}),
       operators::derivative(
           operators::derivatives::embedding_bag,
           autograd::in(0) + autograd::in(1) + autograd::in(2) + autograd::in(3, autograd::of(0)) + autograd::out(0))});
  return id;
}
OpId grouped_mm_op() {
  static const OpId id = graph::register_op(
      {.schema = "grouped_mm(Tensor self, Tensor mat2, Tensor offs) -> Tensor",
       .shape = grouped_mm_shape,
       .effects = {.may_fail = true}},
      {kernels::reference_kernels().fact({grouped_mm_kernel}),
       operators::derivative(operators::derivatives::grouped_mm,
                             autograd::in(0, autograd::of(1)) + autograd::in(1, autograd::of(0)) + autograd::in(2))});
  return id;
}

}  // namespace

Tensor take(const Tensor& self, const Tensor& index, SourceLoc loc) {
  return named("take", [&] { return reprise::index(reshape(self, {-1}, loc), {index}, loc); });
}

Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<Int> dim, SourceLoc loc) {
  return named("take_along_dim", [&] {
    if (!dim) return gather(reshape(self, {-1}, loc), 0, reshape(indices, {-1}, loc), loc);
    const TensorMeta m = checked_meta(self, "take_along_dim", loc), at = checked_meta(indices, "take_along_dim", loc);
    const int d = graph::api::wrapped(m, *dim, "take_along_dim", loc);
    if (m.dim() != at.dim())
      fail(ErrorCode::ShapeMismatch, "take_along_dim", loc, "self of sizes ", graph::sizes_text(m.layout.sizes),
           " and indices of sizes ", graph::sizes_text(at.layout.sizes), " must have as many dimensions");
    if (m.dim() == 0) return gather(self, 0, indices, loc);
    operators::need_index("take_along_dim", loc, at.dtype, "indices");
    const Tensor from_start = where(lt(indices, 0, loc), add(indices, Scalar(m.size(d)), 1, loc), indices, loc);
    Ints a = m.layout.sizes, b = at.layout.sizes;
    a[static_cast<std::size_t>(d)] = b[static_cast<std::size_t>(d)] = 1;
    const Ints common = graph::broadcast(a, b, "take_along_dim", loc);
    a = b = common;
    a[static_cast<std::size_t>(d)] = m.size(d), b[static_cast<std::size_t>(d)] = at.size(d);
    return gather(expand(self, a, loc), d, expand(from_start, b, loc), loc);
  });
}

Tensor embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets, std::string_view mode,
                     const Tensor& per_sample_weights, bool include_last_offset, std::optional<Int> padding_idx,
                     SourceLoc loc) {
  return named("embedding_bag", [&] {
    const TensorMeta w = checked_meta(weight, "embedding_bag", loc), m = checked_meta(indices, "embedding_bag", loc);
    if (padding_idx && w.dim() == 2) {
      guards::LibraryScope operators;
      if (!graph::require(detail::compare_le(-w.size(0), *padding_idx, loc), "embedding_bag: padding_idx") ||
          !graph::require(detail::compare_lt(*padding_idx, w.size(0), loc), "embedding_bag: padding_idx"))
        fail(ErrorCode::IndexOutOfRange, "embedding_bag", loc, "padding_idx ", *padding_idx, " is out of range for ",
             w.size(0), " rows");
      if (graph::ask(detail::compare_lt(*padding_idx, 0, loc), "embedding_bag: padding_idx"))
        padding_idx = *padding_idx + w.size(0);
    }
    if (m.dim() == 2) {
      if (offsets.defined())
        fail(ErrorCode::InvalidArgument, "embedding_bag", loc, "indices of sizes ", graph::sizes_text(m.layout.sizes),
             " are bags themselves: no offsets");
      if (per_sample_weights.defined() && checked_meta(per_sample_weights, "embedding_bag", loc).dim() != 2)
        fail(ErrorCode::ShapeMismatch, "embedding_bag", loc, "per_sample_weights have sizes ",
             graph::sizes_text(per_sample_weights.sizes()), ", indices ", graph::sizes_text(m.layout.sizes));
      const Tensor begins = mul(arange(m.size(0), {kInt64, m.device}, loc), Scalar(m.size(1)), loc),
                   by = per_sample_weights.defined() ? reshape(per_sample_weights, {-1}, loc) : Tensor();
      return graph::call1(embedding_bag_op(),
                          {arg(weight), arg(reshape(indices, {-1}, loc)), arg(begins), arg(by), arg(mode), arg(false),
                           arg(padding_idx)},
                          loc);
    }
    if (!offsets.defined())
      fail(ErrorCode::InvalidArgument, "embedding_bag", loc, "indices of sizes ", graph::sizes_text(m.layout.sizes),
           " want offsets");
    return graph::call1(embedding_bag_op(),
                        {arg(weight), arg(indices), arg(offsets), arg(per_sample_weights), arg(mode),
                         arg(include_last_offset), arg(padding_idx)},
                        loc);
  });
}

Tensor grouped_mm(const Tensor& self, const Tensor& mat2, const Tensor& offs, SourceLoc loc) {
  return named("grouped_mm", [&] {
    const bool both =
        checked_meta(self, "grouped_mm", loc).dim() == 3 && checked_meta(mat2, "grouped_mm", loc).dim() == 3;
    if (both != !offs.defined())
      fail(ErrorCode::InvalidArgument, "grouped_mm", loc,
           both ? "two tensors of three dimensions take no offs" : "offs must tell where the groups end");
    return both ? bmm(self, mat2, loc) : graph::call1(grouped_mm_op(), {arg(self), arg(mat2), arg(offs)}, loc);
  });
}

// ---- random numbers

namespace {
/// of(uniform on [0, 1)) becomes self's elements.
template <class F>
Tensor drawn(const Tensor& self, const char* op, SourceLoc loc, F&& of) {
  return named(op, [&] {
    const TensorMeta m = checked_meta(self, op, loc);
    need_float(op, loc, m.dtype);
    return self.copy_(of(rand(m.layout.sizes, {m.dtype == kFloat64 ? kFloat64 : kFloat32, m.device}, loc)), loc);
  });
}
}  // namespace

Tensor exponential_(const Tensor& self, double lambd, SourceLoc loc) {
  if (!(lambd > 0)) fail(ErrorCode::InvalidArgument, "exponential_", loc, "lambd must be above 0, got ", lambd);
  return drawn(self, "exponential_", loc,
               [&](const Tensor& u) { return mul(log1p(neg(u, loc), loc), -1 / lambd, loc); });
}
Tensor cauchy_(const Tensor& self, double median, double sigma, SourceLoc loc) {
  if (!(sigma > 0)) fail(ErrorCode::InvalidArgument, "cauchy_", loc, "sigma must be above 0, got ", sigma);
  return drawn(self, "cauchy_", loc, [&](const Tensor& u) {
    return add(mul(tan(mul(sub(u, 0.5, 1, loc), std::numbers::pi, loc), loc), sigma, loc), median, 1, loc);
  });
}
Tensor log_normal_(const Tensor& self, double mean, double std, SourceLoc loc) {
  if (!(std > 0)) fail(ErrorCode::InvalidArgument, "log_normal_", loc, "std must be above 0, got ", std);
  return named("log_normal_", [&] {
    const TensorMeta m = checked_meta(self, "log_normal_", loc);
    need_float("log_normal_", loc, m.dtype);
    return self.copy_(
        exp(add(mul(randn(m.layout.sizes, {m.dtype == kFloat64 ? kFloat64 : kFloat32, m.device}, loc), std, loc), mean,
                1, loc),
            loc),
        loc);
  });
}
Tensor geometric_(const Tensor& self, double p, SourceLoc loc) {
  if (!(p > 0 && p < 1)) fail(ErrorCode::InvalidArgument, "geometric_", loc, "p must lie in (0, 1), got ", p);
  return drawn(self, "geometric_", loc, [&](const Tensor& u) {
    return clamp_min(ceil(mul(log1p(neg(u, loc), loc), 1 / std::log1p(-p), loc), loc), 1.0, loc);
  });
}

namespace operators {
void register_selection() { embedding_bag_op(), grouped_mm_op(); }
}  // namespace operators

}  // namespace reprise
