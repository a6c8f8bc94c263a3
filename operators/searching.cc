// Binary searches in sorted rows, histograms, and the order statistics that one element of a row answers.
#include "reprise/searching.h"
#include "base/mutex.h"

#include <cmath>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/plan/columns.h"
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
using kernels::reference::at_least_1d;
using kernels::reference::broadcast_strides;
using kernels::reference::load;
using kernels::reference::store;
using kernels::reference::Value;
using kernels::reference::wrap;

/// Is `x` behind the element `b`? A comparison with NaN is none, so NaN is behind all.
bool behind(const Value& b, const Value& x, bool right) {
  if (x.is_float) return right ? !(b.f > x.f) : !(b.f >= x.f);
  return right ? b.i <= x.i : b.i < x.i;
}

void searchsorted_kernel(const NativeArgs& a) {
  const TensorView &sorted = a.tensor(0), &x = a.tensor(1), &out = a.result();
  const bool right = a.flag(3);
  const int last = sorted.rank - 1;
  const std::int64_t n = sorted.sizes[last], step = sorted.strides[last];
  // A row of `sorted` for each element of x: none of its own where there is one for all.
  TensorView rows = x;
  for (int d = 0; d < rows.rank; ++d) rows.strides[d] = last > 0 && d < last ? sorted.strides[d] : 0;
  rows.data = sorted.data, rows.dtype = sorted.dtype;
  parallel_each<3>({out, x, rows}, 16, [&](const auto& at) {
    const Value v = load(x, at[1]);
    std::int64_t low = 0, high = n;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (behind(load(sorted, at[2] + middle * step), v, right)) low = middle + 1;
      else high = middle;
    }
    store(out, at[0], Value::of(low));
  });
}

void searchsorted_shape(graph::RuleCtx& c) {
  const TensorMeta &sorted = c.tensor(0), &self = c.tensor(1);
  if (sorted.dim() == 0)
    fail(ErrorCode::ShapeMismatch, "searchsorted", c.loc, "sorted_sequence must have a dimension, got a 0-dim tensor");
  if (sorted.dtype != self.dtype)
    fail(ErrorCode::DTypeMismatch, "searchsorted", c.loc, "sorted_sequence is ", dtype_name(sorted.dtype),
         " and self is ", dtype_name(self.dtype), "; cast with to()");
  bool fits = sorted.dim() == 1 || sorted.dim() == self.dim();
  for (int d = 0; fits && d + 1 < sorted.dim(); ++d)
    fits = graph::same(sorted.size(d), self.size(d), c.loc, "searchsorted: equal sizes");
  if (!fits)
    fail(ErrorCode::ShapeMismatch, "searchsorted", c.loc, "sorted_sequence of sizes ",
         graph::sizes_text(sorted.layout.sizes), " must have one dimension, or self's sizes ",
         graph::sizes_text(self.layout.sizes), " but for the last");
  c.result(c.flag(2) ? DType::Int32 : DType::Int64, self.layout.sizes);
}

/// Counts of T's, computed with as ATen does: a value at the edge of two bins is where T's rounding puts it.
template <class T>
void count_bins(const TensorView& x, const TensorView& out, double low_number, double high_number,
                const NativeArgs& a) {
  const std::int64_t bins = out.sizes[0];
  std::vector<std::int64_t> count(static_cast<std::size_t>(bins));
  T low = static_cast<T>(low_number), high = static_cast<T>(high_number);
  if (low == high && x.numel() > 0) {  // of no elements it stays 0
    double least = std::numeric_limits<double>::infinity(), most = -least;
    bool is_number = true;
    kernels::reference::for_each(x, [&](std::int64_t at) {
      const double v = load(x, at).number();
      least = std::min(least, v), most = std::max(most, v), is_number = is_number && !std::isnan(v);
    });
    low = static_cast<T>(least), high = static_cast<T>(most);
    if (!is_number) low = high = std::numeric_limits<T>::quiet_NaN();
  }
  if (low == high) low -= 1, high += 1;
  if (!std::isfinite(low) || !std::isfinite(high))
    return kernels::reference::fault(
        a, ErrorCode::InvalidArgument,
        "the range [" + std::to_string(low) + ", " + std::to_string(high) + "] is not finite");
  Mutex adding;
  parallel(x.numel(), 4, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int64_t> own(count.size());
    std::int64_t index[kMaxRank] = {}, rest = begin, at = 0;
    for (int d = x.rank; d-- > 0; rest /= x.sizes[d]) index[d] = rest % x.sizes[d], at += index[d] * x.strides[d];
    for (std::int64_t n = begin; n < end; ++n) {
      const T v = static_cast<T>(load(x, at).number());
      if (v >= low && v <= high)
        ++own[static_cast<std::size_t>(std::min<std::int64_t>(
            static_cast<std::int64_t>((v - low) * static_cast<T>(bins) / (high - low)), bins - 1))];
      for (int d = x.rank; d-- > 0;) {
        at += x.strides[d];
        if (++index[d] < x.sizes[d]) break;
        at -= x.strides[d] * x.sizes[d];
        index[d] = 0;
      }
    }
    const MutexLock lock(adding);
    for (std::size_t i = 0; i < own.size(); ++i) count[i] += own[i];
  });
  write_row(out, 0, out.strides[0], bins, count.data());
}

void histc_kernel(const NativeArgs& a) {
  const TensorView& x = a.tensor(0);
  const double low = a.number(2).to_double(), high = a.number(3).to_double();
  if (high < low)
    return kernels::reference::fault(
        a, ErrorCode::InvalidArgument,
        "max " + std::to_string(high) + " must not be less than min " + std::to_string(low));
  if (is_low_precision(x.dtype) || x.dtype == DType::Float32) count_bins<float>(x, a.result(), low, high, a);
  else count_bins<double>(x, a.result(), low, high, a);
}

void histc_shape(graph::RuleCtx& c) {
  const TensorMeta& self = c.tensor(0);
  if (self.dtype == DType::Bool)
    fail(ErrorCode::DTypeMismatch, "histc", c.loc, "not defined for bool (wanted integers or floats; cast with to())");
  const Int bins = c.integer(1);
  if (!graph::require(detail::compare_lt(0, bins, c.loc), "histc: at least one bin"))
    fail(ErrorCode::InvalidArgument, "histc", c.loc, "bins must be at least 1, got ", bins);
  c.result(self.dtype, {bins});
}

/// The order of sort: NaN last.
bool comes_before(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }
bool comes_before(std::int64_t a, std::int64_t b) { return a < b; }

// Runs of equal elements in the sorted row; the last of a run's places, ties by place.
void mode_kernel(const NativeArgs& a) {
  const TensorView x = at_least_1d(a.tensor(0));
  const int dim = static_cast<int>(wrap(a.integer(1), x.rank));
  const std::int64_t n = x.sizes[dim];
  TensorView values = a.result(0), places = a.result(1);
  const TensorView rows = without(x, dim);
  for (TensorView* v : {&values, &places}) {  // what keepdim left, or the one element of a 0-dim tensor, is no row
    if (v->rank > rows.rank) *v = without(*v, dim);
  }
  in_registers(x.dtype, [&]<class T>(T) {
    parallel_each<3>({rows, values, places}, 8 * n,
                     [&, row = std::vector<T>(), order = std::vector<std::int64_t>()](const auto& at) mutable {
                       row.resize(static_cast<std::size_t>(n));
                       order.resize(row.size());
                       read_row(x, at[0], x.strides[dim], n, row.data());
                       for (std::int64_t i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
                       const T* r = row.data();
                       std::sort(order.begin(), order.end(), [r](std::int64_t i, std::int64_t k) {
                         if (comes_before(r[i], r[k])) return true;
                         return !comes_before(r[k], r[i]) && i < k;
                       });
                       std::int64_t best = 0, longest = 0, run = 0;
                       for (std::size_t i = 0; i < order.size(); ++i) {
                         ++run;
                         if (i + 1 < order.size() && r[order[i]] == r[order[i + 1]]) continue;
                         if (run > longest) longest = run, best = order[i];
                         run = 0;
                       }
                       write_row(values, at[1], 0, 1, r + best);
                       write_row(places, at[2], 0, 1, &best);
                     });
  });
}

void mode_shape(graph::RuleCtx& c) {
  const TensorMeta& self = c.tensor(0);
  const int d = wrap_dim(c.constant_int(1), self.dim(), "mode", c.loc);
  Ints sizes = self.layout.sizes;
  if (self.dim() && !graph::require(detail::compare_lt(0, self.size(d), c.loc), "mode: at least one element"))
    fail(ErrorCode::ShapeMismatch, "mode", c.loc, "dimension ", d, " of sizes ", graph::sizes_text(sizes),
         " has no elements");
  if (self.dim()) sizes = graph::reduced_sizes(sizes, {d}, c.flag(2));
  c.result(self.dtype, sizes);
  c.result(DType::Int64, sizes);
}

OpId searchsorted_op() {
  static const OpId id = graph::register_op(
      {.schema =
           "searchsorted(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False) -> Tensor",
       .shape = searchsorted_shape},
      {kernels::reference_kernels().fact({searchsorted_kernel}), operators::constant()});
  return id;
}
OpId histc_op() {
  static const OpId id =
      graph::register_op({.schema = "histc(Tensor self, SymInt bins=100, Scalar min=0, Scalar max=0) -> Tensor",
                          .shape = histc_shape,
                          .effects = {.may_fail = true}},
                         {kernels::reference_kernels().fact({histc_kernel}), operators::constant()});
  return id;
}
OpId mode_op() {
  static const OpId id = graph::register_op(
      {.schema = "mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
       .shape = mode_shape},
      {kernels::reference_kernels().fact({mode_kernel}),
       operators::derivative(operators::derivatives::mode, autograd::out(1))});
  return id;
}

}  // namespace

Tensor searchsorted(const Tensor& sorted_sequence, const Operand& self, bool out_int32, bool right,
                    std::string_view side, const Tensor& sorter, SourceLoc loc) {
  const TensorMeta m = checked_meta(sorted_sequence, "searchsorted", loc);
  if (!side.empty() && side != "left" && side != "right")
    fail(ErrorCode::InvalidArgument, "searchsorted", loc, "side is '", side, "', expected 'left' or 'right'");
  if (right && side == "left")
    fail(ErrorCode::InvalidArgument, "searchsorted", loc, "side is 'left' and right is true");
  Tensor sorted = sorted_sequence;
  if (sorter.defined()) {
    const TensorMeta s = checked_meta(sorter, "searchsorted", loc);
    bool fits = s.dim() == m.dim();
    for (int d = 0; fits && d < m.dim(); ++d)
      fits = graph::same(s.size(d), m.size(d), loc, "searchsorted: a sorter of these sizes");
    if (!fits)
      fail(ErrorCode::ShapeMismatch, "searchsorted", loc, "sorter has sizes ", graph::sizes_text(s.layout.sizes),
           ", sorted_sequence ", graph::sizes_text(m.layout.sizes));
    sorted = named("searchsorted", [&] { return gather(sorted_sequence, -1, sorter, loc); });
  }
  const Tensor x = self.tensor() ? *self.tensor() : full({}, self.number(), {m.dtype, m.device}, loc);
  return graph::call1(searchsorted_op(), {arg(sorted), arg(x), arg(out_int32), arg(right || side == "right")}, loc);
}

Tensor bucketize(const Operand& self, const Tensor& boundaries, bool out_int32, bool right, SourceLoc loc) {
  if (checked_meta(boundaries, "bucketize", loc).dim() != 1)
    fail(ErrorCode::ShapeMismatch, "bucketize", loc, "boundaries must have one dimension, got sizes ",
         graph::sizes_text(boundaries.sizes()));
  return named("bucketize", [&] { return searchsorted(boundaries, self, out_int32, right, {}, {}, loc); });
}

Tensor histc(const Tensor& self, Int bins, Scalar min, Scalar max, SourceLoc loc) {
  return graph::call1(histc_op(), {arg(self), arg(bins), arg(min), arg(max)}, loc);
}

namespace {

Tensor counted(const Tensor& self, Int size, const Tensor& weights, const char* op, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, op, loc);
  if (m.dim() != 1)
    fail(ErrorCode::ShapeMismatch, op, loc, "wants one dimension, got sizes ", graph::sizes_text(m.layout.sizes));
  if (!is_integral(m.dtype)) fail(ErrorCode::DTypeMismatch, op, loc, "wants integers, got ", dtype_name(m.dtype));
  const Tensor index = m.dtype == kInt32 || m.dtype == kInt64 ? self : to(self, kInt64, loc);
  if (!weights.defined())
    return named(op, [&] {
      return scatter_add(zeros({size}, {kInt64, m.device}, loc), 0, index, ones({m.size(0)}, {kInt64, m.device}, loc),
                         loc);
    });
  const TensorMeta w = checked_meta(weights, op, loc);
  if (w.dim() != 1 || !graph::same(w.size(0), m.size(0), loc, "bincount: a weight for each"))
    fail(ErrorCode::ShapeMismatch, op, loc, "weights have sizes ", graph::sizes_text(w.layout.sizes), ", self ",
         graph::sizes_text(m.layout.sizes));
  const DType t = w.dtype == kFloat32 ? kFloat32 : kFloat64;
  return named(op, [&] { return scatter_add(zeros({size}, {t, m.device}, loc), 0, index, to(weights, t, loc), loc); });
}

}  // namespace

Tensor bincount_within(const Tensor& self, Int size, const Tensor& weights, SourceLoc loc) {
  return counted(self, size, weights, "bincount_within", loc);
}

Tensor bincount(const Tensor& self, const Tensor& weights, Int minlength, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, "bincount", loc);
  if (!graph::require(detail::compare_le(0, minlength, loc), "bincount: minlength"))
    fail(ErrorCode::InvalidArgument, "bincount", loc, "minlength must not be negative, got ", minlength);
  if (m.dim() != 1 || !is_integral(m.dtype) || graph::ask(detail::compare_eq(m.size(0), 0, loc), "of nothing"))
    return counted(self, minlength, weights, "bincount", loc);
  const Int most = amax(self, {}, false, loc).item(loc).to_int();
  return counted(self, Int::max(minlength, most + 1), weights, "bincount", loc);
}

TensorPair kthvalue(const Tensor& self, Int k, Int dim, bool keepdim, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, "kthvalue", loc);
  const int d = graph::api::wrapped(m, dim, "kthvalue", loc);
  const Int n = m.dim() ? m.size(d) : Int(1);
  if (!graph::require(detail::compare_le(1, k, loc), "kthvalue: k at least 1") ||
      !graph::require(detail::compare_le(k, n, loc), "kthvalue: k within the size"))
    fail(ErrorCode::IndexOutOfRange, "kthvalue", loc, "k = ", k, " is out of range for dimension ", d, " of sizes ",
         graph::sizes_text(m.layout.sizes));
  return named("kthvalue", [&]() -> TensorPair {
    if (m.dim() == 0) return topk(self, 1, 0, false, true, loc);
    const auto [values, places] = topk(self, k, d, false, true, loc);
    const Tensor v = narrow(values, d, k - 1, 1, loc), p = narrow(places, d, k - 1, 1, loc);
    if (keepdim) return {v, p};
    return {squeeze(v, d, loc), squeeze(p, d, loc)};
  });
}

TensorPair mode(const Tensor& self, Int dim, bool keepdim, SourceLoc loc) {
  return graph::api::pair(graph::calln(mode_op(), {arg(self), arg(dim), arg(keepdim)}, loc));
}

namespace operators {
void register_searching() { searchsorted_op(), histc_op(), mode_op(); }
}  // namespace operators

}  // namespace reprise
