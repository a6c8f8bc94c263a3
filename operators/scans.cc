// Running products, extremes and sums of exponentials: a row is read, scanned in double or in 64-bit integers, and
// written.
#include "reprise/scans.h"

#include <cmath>

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

namespace {

using namespace operators;
using kernels::reference::at_least_1d;
using kernels::reference::wrap;

/// scan(elements, their places, n) changes the elements of a row, and tells places where there is a result for them.
template <class Scan>
void scan_rows(const NativeArgs& a, Scan&& scan) {
  const TensorView x = at_least_1d(a.tensor(0)), out = at_least_1d(a.result(0));
  const bool placed = a.n_results > 1;
  const TensorView places = placed ? at_least_1d(a.result(1)) : out;
  const int dim = static_cast<int>(wrap(a.integer(1), x.rank));
  const std::int64_t n = x.sizes[dim];
  in_registers(out.dtype, [&]<class T>(T) {
    parallel_each<3>({without(x, dim), without(out, dim), without(places, dim)}, n,
                     [&, row = std::vector<T>(), place = std::vector<std::int64_t>()](const auto& at) mutable {
                       row.resize(static_cast<std::size_t>(n));
                       if (placed) place.resize(row.size());
                       read_row(x, at[0], x.strides[dim], n, row.data());
                       scan(row.data(), place.data(), n);
                       write_row(out, at[1], out.strides[dim], n, row.data());
                       if (placed) write_row(places, at[2], places.strides[dim], n, place.data());
                     });
  });
}

void cumprod_kernel(const NativeArgs& a) {
  scan_rows(a, [](auto* row, std::int64_t*, std::int64_t n) {
    using T = std::remove_pointer_t<decltype(row)>;
    for (std::int64_t i = 1; i < n; ++i)
      if constexpr (std::is_same_v<T, double>) row[i] *= row[i - 1];
      else row[i] = static_cast<T>(static_cast<std::uint64_t>(row[i]) * static_cast<std::uint64_t>(row[i - 1]));
  });
}

template <bool max>
void cumulative_extreme(const NativeArgs& a) {
  scan_rows(a, [](auto* row, std::int64_t* place, std::int64_t n) {
    for (std::int64_t i = 0, best = 0; i < n; ++i) {
      const auto v = row[i], top = row[best];
      if (v != v || (top == top && (max ? v >= top : v <= top))) best = i;
      row[i] = row[best];
      place[i] = best;
    }
  });
}

// The running sum is sum * exp(greatest): nothing overflows, and what is far below is lost as it should be.
void logcumsumexp_kernel(const NativeArgs& a) {
  scan_rows(a, [](auto* row, std::int64_t*, std::int64_t n) {
    using T = std::remove_pointer_t<decltype(row)>;
    if constexpr (std::is_same_v<T, double>) {
      double greatest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const double v = row[i];
        if (std::isnan(v) || std::isnan(greatest)) greatest = std::numeric_limits<double>::quiet_NaN();
        else if (v == greatest) sum += 1;
        else if (v < greatest) sum += std::exp(v - greatest);
        else sum = sum * std::exp(greatest - v) + 1, greatest = v;
        row[i] = sum > 0 ? greatest + std::log(sum) : greatest;
      }
    }
  });
}

int scanned_dim(const graph::RuleCtx& c) {
  return wrap_dim(c.constant_int(1), c.tensor(0).dim(), c.op.schema.name.c_str(), c.loc);
}

void with_places(graph::RuleCtx& c) {
  scanned_dim(c);
  c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes);
  c.result(DType::Int64, c.tensor(0).layout.sizes);
}
void of_floats(graph::RuleCtx& c) {
  scanned_dim(c);
  const TensorMeta& self = c.tensor(0);
  need_float(c.op.schema.name.c_str(), c.loc, self.dtype);
  c.result(self.dtype, self.layout.sizes);
}

OpId cumprod_op() {
  static const OpId id = graph::register_op(
      {.schema = "cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", .shape = graph::rules::cumsum},
      {kernels::reference_kernels().fact({cumprod_kernel}),
       operators::derivative(operators::derivatives::cumprod, autograd::in(0) + autograd::out(0))});
  return id;
}
OpId cummax_op() {
  static const OpId id = graph::register_op(
      {.schema = "cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)", .shape = with_places},
      {kernels::reference_kernels().fact({cumulative_extreme<true>}),
       operators::derivative(operators::derivatives::chosen_along, autograd::out(1))});
  return id;
}
OpId cummin_op() {
  static const OpId id = graph::register_op(
      {.schema = "cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)", .shape = with_places},
      {kernels::reference_kernels().fact({cumulative_extreme<false>}),
       operators::derivative(operators::derivatives::chosen_along, autograd::out(1))});
  return id;
}
OpId logcumsumexp_op() {
  static const OpId id = graph::register_op(
      {.schema = "logcumsumexp(Tensor self, int dim) -> Tensor", .shape = of_floats},
      {kernels::reference_kernels().fact({logcumsumexp_kernel}),
       operators::derivative(operators::derivatives::logcumsumexp, autograd::in(0) + autograd::out(0))});
  return id;
}

}  // namespace

Tensor cumprod(const Tensor& self, Int dim, std::optional<DType> dtype, SourceLoc loc) {
  // Cast first, as ATen does: what a narrow dtype wraps is wrapped before it is multiplied.
  const Tensor x = dtype ? to(self, *dtype, loc) : self;
  return graph::call1(cumprod_op(), {arg(x), arg(dim), arg(dtype)}, loc);
}
TensorPair cummax(const Tensor& self, Int dim, SourceLoc loc) {
  return graph::api::pair(graph::calln(cummax_op(), {arg(self), arg(dim)}, loc));
}
TensorPair cummin(const Tensor& self, Int dim, SourceLoc loc) {
  return graph::api::pair(graph::calln(cummin_op(), {arg(self), arg(dim)}, loc));
}
Tensor logcumsumexp(const Tensor& self, Int dim, SourceLoc loc) {
  return graph::call1(logcumsumexp_op(), {arg(self), arg(dim)}, loc);
}

Tensor diff(const Tensor& self, Int n, Int dim, const Tensor& prepend, const Tensor& append, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, "diff", loc);
  if (m.dim() == 0) fail(ErrorCode::ShapeMismatch, "diff", loc, "wants at least one dimension, got a 0-dim tensor");
  const int d = graph::api::wrapped(m, dim, "diff", loc);
  const std::int64_t times = n.value(loc);
  if (times < 0) fail(ErrorCode::InvalidArgument, "diff", loc, "n must not be negative, got ", times);
  if (times == 0) return clone(self, loc);
  return graph::api::named("diff", [&] {
    std::vector<Tensor> parts;
    for (const Tensor* t : {&prepend, &self, &append})
      if (t->defined()) parts.push_back(*t);
    Tensor x = parts.size() > 1 ? cat(parts, d, loc) : self;
    for (std::int64_t i = 0; i < times && !detail::compare_eq(x.size(d), 0, loc); ++i) {
      const Tensor later = slice(x, d, 1, std::nullopt, 1, loc), earlier = slice(x, d, 0, -1, 1, loc);
      x = x.dtype() == kBool ? logical_xor(later, earlier, loc) : sub(later, earlier, 1, loc);
    }
    return x;
  });
}

namespace operators {
void register_scans() { cumprod_op(), cummax_op(), cummin_op(), logcumsumexp_op(); }
}  // namespace operators

}  // namespace reprise
