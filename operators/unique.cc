// Different elements and slices: in order, the first of each run of equal ones.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "guards/shape_env.h"
#include "kernels/plan/columns.h"
#include "operators/data_sizes.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "operators/rows.h"
#include "reprise/data_sizes.h"
#include "reprise/ops.h"

namespace reprise {

using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;
using graph::api::wrapped;

namespace {

using namespace operators;

// ---- the order of rows

void order_shape(graph::RuleCtx& c) {
  const TensorMeta& rows = c.tensor(0);
  if (rows.dim() != 2)
    fail(ErrorCode::ShapeMismatch, "lexicographic_order", c.loc, "wants rows [n, m], got sizes ",
         graph::sizes_text(rows.layout.sizes));
  c.result(kInt64, {rows.size(0)});
}

// NaN behind all numbers, as sort has it.
void order_kernel(const NativeArgs& a) {
  const TensorView &rows = a.tensor(0), &out = a.result();
  const std::int64_t n = rows.sizes[0], m = rows.sizes[1];
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  in_registers(rows.dtype, [&]<class T>(T) {
    std::vector<T> all(static_cast<std::size_t>(n * m));
    for (std::int64_t i = 0; i < n; ++i) read_row(rows, i * rows.strides[0], rows.strides[1], m, all.data() + i * m);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t k) {
      const T *p = all.data() + i * m, *q = all.data() + k * m;
      for (std::int64_t d = 0; d < m; ++d) {
        if (p[d] < q[d]) return true;
        if (q[d] < p[d]) return false;
        if constexpr (std::is_floating_point_v<T>)
          if (std::isnan(p[d]) != std::isnan(q[d])) return std::isnan(q[d]);
      }
      return false;
    });
  });
  write_row(out, 0, out.strides[0], n, order.data());
}

/// int64 [n]: the rows [n, m] in ascending order, by the first element in which two differ; equal ones in the order in
/// which they stand.
OpId lexicographic_order_op() {
  static const OpId id =
      graph::register_op({.schema = "lexicographic_order(Tensor rows) -> Tensor", .shape = order_shape},
                         {kernels::reference_kernels().fact({order_kernel}), operators::constant()});
  return id;
}

// ---- runs

/// Of elements [n] or rows [n, m], where equal ones follow each other: the first of each run. `into`: where each of
/// them stands in the result's inverse. Unique::values are the places of the first ones.
Unique first_of_runs(const Tensor& sorted, const Tensor* into, bool inverse, bool counts, SourceLoc loc) {
  const Int n = sorted.size(0, loc);
  const Tensor position = arange(0, n, 1, {kInt64, sorted.device()}, loc);
  const Tensor before = index_select(sorted, 0, clamp(sub(position, 1, 1, loc), 0, std::nullopt, loc), loc);
  Tensor differs = ne(sorted, before, loc);
  if (sorted.dim() == 2) differs = any(differs, {1}, false, loc);
  const Tensor first = logical_or(eq(position, 0, loc), differs, loc);
  const Int found = count_of(first, loc);
  Unique out{select(nonzero_static(first, found, -1, loc), 1, 0, loc), {}, {}};
  if (!inverse && !counts) return out;
  const Tensor run = sub(cumsum(first, 0, kInt64, loc), 1, 1, loc);
  if (inverse) out.inverse = into ? scatter(zeros_like(run, {}, loc), 0, *into, run, loc) : run;
  if (counts) {
    guards::LibraryScope operators;
    out.counts = scatter_add(zeros({found}, {kInt64, sorted.device()}, loc), 0, run, ones_like(run, {}, loc), loc);
  }
  return out;
}

Unique of_all(const Tensor& self, bool ordered, bool inverse, bool counts, const char* op, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, op, loc);
  Tensor flat = reshape(self, {-1}, loc), from;
  const bool as_numbers = ordered && m.dtype == kBool;
  if (ordered) {
    TensorPair sorted = sort(as_numbers ? flat.to(kUInt8, loc) : flat, 0, false, loc);
    flat = std::move(sorted.first), from = std::move(sorted.second);
  }
  Unique out = first_of_runs(flat, ordered ? &from : nullptr, inverse, counts, loc);
  out.values = index_select(flat, 0, out.values, loc);
  if (as_numbers) out.values = out.values.to(kBool, loc);
  if (inverse) out.inverse = out.inverse.view(m.layout.sizes, loc);
  return out;
}

Unique of_slices(const Tensor& self, Int dim, bool ordered, bool inverse, bool counts, const char* op, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, op, loc);
  if (m.dim() == 0) fail(ErrorCode::ShapeMismatch, op, loc, "a tensor of 0 dimensions has no slices");
  const int d = wrapped(m, dim, op, loc);
  const Tensor slices = movedim(self, d, 0, loc);
  Int width = 1;
  {
    guards::LibraryScope operators;
    for (int i = 0; i < m.dim(); ++i)
      if (i != d) width = width * m.size(i);
  }
  Tensor rows = reshape(slices, {m.size(d), width}, loc), order;
  if (ordered) {
    order = graph::call1(lexicographic_order_op(), {arg(rows)}, loc);
    rows = index_select(rows, 0, order, loc);
  }
  Unique out = first_of_runs(rows, ordered ? &order : nullptr, inverse, counts, loc);
  const Tensor at = ordered ? index_select(order, 0, out.values, loc) : out.values;
  out.values = movedim(index_select(slices, 0, at, loc), 0, d, loc);
  return out;
}

}  // namespace

Unique unique(const Tensor& self, bool return_inverse, bool return_counts, SourceLoc loc) {
  return named("unique", [&] { return of_all(self, true, return_inverse, return_counts, "unique", loc); });
}
Unique unique_dim(const Tensor& self, Int dim, bool return_inverse, bool return_counts, SourceLoc loc) {
  return named("unique_dim",
               [&] { return of_slices(self, dim, true, return_inverse, return_counts, "unique_dim", loc); });
}
Unique unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts, std::optional<Int> dim,
                          SourceLoc loc) {
  return named("unique_consecutive", [&] {
    return dim ? of_slices(self, *dim, false, return_inverse, return_counts, "unique_consecutive", loc)
               : of_all(self, false, return_inverse, return_counts, "unique_consecutive", loc);
  });
}

namespace operators {
void register_unique() { lexicographic_order_op(); }
}  // namespace operators

}  // namespace reprise
