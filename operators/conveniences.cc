// Functions over the others: no rows.
#include "reprise/conveniences.h"

#include <limits>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/shape_rules.h"
#include "reprise/linalg.h"
#include "reprise/scans.h"

namespace reprise {

using graph::api::checked_meta;
using graph::api::named;
using graph::api::wrapped;

Tensor tile(const Tensor& self, IntArrayRef dims, SourceLoc loc) {
  return named("tile", [&] {
    Ints all = dims.vec();
    while (static_cast<int>(all.size()) < checked_meta(self, "tile", loc).dim()) all.insert(all.begin(), Int(1));
    return repeat(self, all, loc);
  });
}

Tensor atleast_1d(const Tensor& self, SourceLoc loc) { return named("atleast_1d", [&] { return checked_meta(self, "atleast_1d", loc).dim() == 0 ? unsqueeze(self, 0, loc) : self; }); }
Tensor atleast_2d(const Tensor& self, SourceLoc loc) {
  return named("atleast_2d", [&] { return checked_meta(self, "atleast_2d", loc).dim() < 2 ? unsqueeze(atleast_1d(self, loc), 0, loc) : self; });
}
Tensor atleast_3d(const Tensor& self, SourceLoc loc) {
  return named("atleast_3d", [&] { return checked_meta(self, "atleast_3d", loc).dim() < 3 ? unsqueeze(atleast_2d(self, loc), -1, loc) : self; });
}
Tensor column_stack(TensorArrayRef tensors, SourceLoc loc) {
  return named("column_stack", [&] {
    std::vector<Tensor> all(tensors.begin(), tensors.end());
    for (Tensor& t : all)
      if (checked_meta(t, "column_stack", loc).dim() < 2) t = unsqueeze(atleast_1d(t, loc), -1, loc);
    return cat(all, 1, loc);
  });
}
Tensor dstack(TensorArrayRef tensors, SourceLoc loc) {
  return named("dstack", [&] {
    std::vector<Tensor> all(tensors.begin(), tensors.end());
    for (Tensor& t : all) t = atleast_3d(t, loc);
    return cat(all, 2, loc);
  });
}
std::vector<Tensor> broadcast_tensors(TensorArrayRef tensors, SourceLoc loc) {
  return named("broadcast_tensors", [&] {
    Ints sizes;
    for (const Tensor& t : tensors) sizes = graph::broadcast(sizes, checked_meta(t, "broadcast_tensors", loc).layout.sizes, "broadcast_tensors", loc);
    std::vector<Tensor> all;
    for (const Tensor& t : tensors) all.push_back(expand(t, sizes, loc));
    return all;
  });
}

Tensor rot90(const Tensor& self, std::int64_t k, IntArrayRef dims, SourceLoc loc) {
  return named("rot90", [&] {
    const TensorMeta m = checked_meta(self, "rot90", loc);
    if (dims.size() != 2) fail(ErrorCode::InvalidArgument, "rot90", loc, "wants two dimensions, got ", graph::sizes_text(dims.vec()));
    const int from = wrapped(m, dims[0], "rot90", loc), to = wrapped(m, dims[1], "rot90", loc);
    if (from == to) fail(ErrorCode::InvalidArgument, "rot90", loc, "the dimensions must differ, got ", graph::sizes_text(dims.vec()));
    switch ((k % 4 + 4) % 4) {
      case 0: return clone(self, loc);
      case 1: return transpose(flip(self, {to}, loc), from, to, loc);
      case 2: return flip(self, {from, to}, loc);
      default: return transpose(flip(self, {from}, loc), from, to, loc);
    }
  });
}
Tensor fliplr(const Tensor& self, SourceLoc loc) {
  if (checked_meta(self, "fliplr", loc).dim() < 2) fail(ErrorCode::ShapeMismatch, "fliplr", loc, "wants 2 dimensions or more, got sizes ", graph::sizes_text(self.sizes()));
  return named("fliplr", [&] { return flip(self, {1}, loc); });
}
Tensor flipud(const Tensor& self, SourceLoc loc) {
  if (checked_meta(self, "flipud", loc).dim() < 1) fail(ErrorCode::ShapeMismatch, "flipud", loc, "wants a dimension, got a 0-dim tensor");
  return named("flipud", [&] { return flip(self, {0}, loc); });
}

Tensor diag_embed(const Tensor& self, Int offset, Int dim1, Int dim2, SourceLoc loc) {
  return named("diag_embed", [&] {
    const TensorMeta m = checked_meta(self, "diag_embed", loc);
    if (m.dim() == 0) fail(ErrorCode::ShapeMismatch, "diag_embed", loc, "wants a dimension, got a 0-dim tensor");
    const int rank = m.dim() + 1, first = wrap_dim(dim1.value(loc), rank, "diag_embed", loc), second = wrap_dim(dim2.value(loc), rank, "diag_embed", loc);
    if (first == second) fail(ErrorCode::InvalidArgument, "diag_embed", loc, "dim1 and dim2 are both ", first);
    const std::int64_t apart = offset.value(loc);
    const Int size = m.layout.sizes.back() + (apart < 0 ? -Int(apart) : Int(apart));
    Ints sizes;
    for (int d = 0, own = 0; d < rank; ++d) sizes.push_back(d == first || d == second ? size : m.size(own++));
    const Tensor made = zeros(sizes, {m.dtype, m.device}, loc);
    diagonal(made, apart, first, second, loc).copy_(self, loc);
    return made;
  });
}
Tensor diagflat(const Tensor& self, Int offset, SourceLoc loc) {
  return named("diagflat", [&] { return diag_embed(reshape(self, {-1}, loc), offset, -2, -1, loc); });
}
Tensor diag(const Tensor& self, Int offset, SourceLoc loc) {
  return named("diag", [&] {
    const int rank = checked_meta(self, "diag", loc).dim();
    if (rank != 1 && rank != 2) fail(ErrorCode::ShapeMismatch, "diag", loc, "wants a vector or a matrix, got sizes ", graph::sizes_text(self.sizes()));
    return rank == 1 ? diag_embed(self, offset, -2, -1, loc) : clone(diagonal(self, offset, 0, 1, loc), loc);
  });
}
Tensor block_diag(TensorArrayRef tensors, SourceLoc loc) {
  return named("block_diag", [&] {
    if (tensors.size() == 0) fail(ErrorCode::InvalidArgument, "block_diag", loc, "wants one tensor at least");
    std::vector<TensorMeta> metas;
    Int rows = 0, columns = 0;
    for (const Tensor& t : tensors) {
      TensorMeta m = checked_meta(t, "block_diag", loc);
      if (m.dim() > 2) fail(ErrorCode::ShapeMismatch, "block_diag", loc, "wants at most 2 dimensions, got sizes ", graph::sizes_text(m.layout.sizes));
      rows = rows + (m.dim() < 2 ? Int(1) : m.size(0)), columns = columns + (m.dim() == 0 ? Int(1) : m.size(m.dim() - 1));
      metas.push_back(m);
    }
    const std::vector<graph::RuleArg> args = [&] {
      std::vector<graph::RuleArg> all;
      for (const TensorMeta& m : metas) all.push_back(&m);
      return all;
    }();
    const Tensor made = zeros({rows, columns}, {graph::result_dtype(args), metas[0].device}, loc);
    Int row = 0, column = 0;
    for (const Tensor& t : tensors) {
      const Tensor block = atleast_2d(t, loc);
      const Int below = row + block.size(0, loc), beside = column + block.size(1, loc);
      slice(slice(made, 0, row, below, 1, loc), 1, column, beside, 1, loc).copy_(block, loc);
      row = below, column = beside;
    }
    return made;
  });
}

Tensor isin(const Tensor& elements, const Tensor& test_elements, bool, bool invert, SourceLoc loc) {
  return named("isin", [&] {
    checked_meta(elements, "isin", loc), checked_meta(test_elements, "isin", loc);
    const Tensor found = any(eq(unsqueeze(elements, -1, loc), reshape(test_elements, {-1}, loc), loc), {-1}, false, loc);
    return invert ? logical_not(found, loc) : found;
  });
}
Tensor msort(const Tensor& self, SourceLoc loc) {
  return named("msort", [&] { return checked_meta(self, "msort", loc).dim() == 0 ? clone(self, loc) : sort(self, 0, false, loc).first; });
}
Tensor randperm(Int n, const TensorOptions& options, SourceLoc loc) {
  return named("randperm", [&] {
    const DType t = options.dtype.value_or(kInt64);
    const Tensor order = argsort(rand({n}, {.dtype = kFloat64, .device = options.device}, loc), 0, false, loc);
    return t == kInt64 ? order : to(order, t, loc);
  });
}

Tensor inner(const Tensor& self, const Tensor& other, SourceLoc loc) {
  return named("inner", [&] {
    if (checked_meta(self, "inner", loc).dim() == 0 || checked_meta(other, "inner", loc).dim() == 0) return mul(self, other, loc);
    return tensordot(self, other, {-1}, {-1}, loc);
  });
}
Tensor vdot(const Tensor& self, const Tensor& other, SourceLoc loc) {
  return named("vdot", [&] { return dot(self, other, loc); });
}
TensorPair var_mean(const Tensor& self, const OptionalDims& dim, Scalar correction, bool keepdim, SourceLoc loc) {
  return named("var_mean", [&]() -> TensorPair { return {var(self, dim, correction, keepdim, loc), mean(self, dim, keepdim, std::nullopt, loc)}; });
}
TensorPair std_mean(const Tensor& self, const OptionalDims& dim, Scalar correction, bool keepdim, SourceLoc loc) {
  return named("std_mean", [&]() -> TensorPair { return {std(self, dim, correction, keepdim, loc), mean(self, dim, keepdim, std::nullopt, loc)}; });
}

namespace {
/// Covariances in at least float32: [variables, variables].
Tensor covariances(const Tensor& self, Int correction, const char* op, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, op, loc);
  if (m.dim() > 2) fail(ErrorCode::ShapeMismatch, op, loc, "wants at most 2 dimensions, got sizes ", graph::sizes_text(m.layout.sizes));
  if (!is_floating(m.dtype)) fail(ErrorCode::DTypeMismatch, op, loc, "not defined for ", dtype_name(m.dtype), " (wanted a floating dtype; cast with to())");
  const Tensor x = atleast_2d(is_low_precision(m.dtype) ? to(self, kFloat32, loc) : self, loc);
  const Tensor apart = sub(x, mean(x, {-1}, true, std::nullopt, loc), 1, loc);
  return div(mm(apart, transpose(apart, 0, 1, loc), loc), Scalar(Int::max(x.size(1, loc) - correction, 0)), {}, loc);
}
Tensor of_one(const Tensor& made, const Tensor& self, SourceLoc loc) { return to(self.dim() < 2 ? reshape(made, Ints{}, loc) : made, self.dtype(), loc); }
}  // namespace

Tensor cov(const Tensor& self, Int correction, SourceLoc loc) {
  return named("cov", [&] { return of_one(covariances(self, correction, "cov", loc), self, loc); });
}
Tensor corrcoef(const Tensor& self, SourceLoc loc) {
  return named("corrcoef", [&] {
    const Tensor c = covariances(self, 1, "corrcoef", loc), deviation = sqrt(diagonal(c, 0, 0, 1, loc), loc);
    return of_one(clamp(div(div(c, unsqueeze(deviation, 1, loc), {}, loc), deviation, {}, loc), -1.0, 1.0, loc), self, loc);
  });
}
Tensor dist(const Tensor& self, const Tensor& other, Scalar p, SourceLoc loc) {
  return named("dist", [&] { return norm(sub(self, other, 1, loc), p, {}, false, loc); });
}
Tensor renorm(const Tensor& self, Scalar p, Int dim, Scalar maxnorm, SourceLoc loc) {
  return named("renorm", [&] {
    const TensorMeta m = checked_meta(self, "renorm", loc);
    if (!is_floating(m.dtype)) fail(ErrorCode::DTypeMismatch, "renorm", loc, "not defined for ", dtype_name(m.dtype), " (wanted a floating dtype; cast with to())");
    if (m.dim() < 2) fail(ErrorCode::ShapeMismatch, "renorm", loc, "wants 2 dimensions or more, got sizes ", graph::sizes_text(m.layout.sizes));
    const int along = wrapped(m, dim, "renorm", loc);
    std::vector<Int> others;
    for (int d = 0; d < m.dim(); ++d)
      if (d != along) others.push_back(d);
    const Tensor x = is_low_precision(m.dtype) ? to(self, kFloat32, loc) : self, length = norm(x, p, others, true, loc);
    const Tensor factor = where(gt(length, maxnorm, loc), div(maxnorm, add(length, 1e-7, 1, loc), {}, loc), 1.0, loc);
    return to(mul(x, factor, loc), m.dtype, loc);
  });
}
Tensor rsub(const Tensor& self, const Operand& other, Scalar alpha, SourceLoc loc) {
  return named("rsub", [&] { return sub(other, self, alpha, loc); });
}

namespace {
/// The sum over dim of the means of neighbours, `apart` times.
Tensor trapezoids(const Tensor& y, const Operand& apart, int dim, SourceLoc loc) {
  const Tensor after = slice(y, dim, 1, std::nullopt, 1, loc), before = slice(y, dim, 0, y.size(dim, loc) - 1, 1, loc);
  return div(sum(mul(add(after, before, 1, loc), apart, loc), {dim}, false, std::nullopt, loc), 2.0, {}, loc);
}
/// Nothing where there is no pair.
bool has_pairs(const TensorMeta& m, int dim, SourceLoc loc) { return static_cast<bool>(detail::compare_lt(0, m.size(dim), loc)); }
}  // namespace

Tensor trapezoid(const Tensor& y, Scalar dx, Int dim, SourceLoc loc) {
  return named("trapezoid", [&] {
    const TensorMeta m = checked_meta(y, "trapezoid", loc);
    const int d = wrapped(m, dim, "trapezoid", loc);
    if (m.dim() == 0) fail(ErrorCode::ShapeMismatch, "trapezoid", loc, "wants a dimension, got a 0-dim tensor");
    return has_pairs(m, d, loc) ? trapezoids(y, dx, d, loc) : div(sum(y, {d}, false, std::nullopt, loc), 1, {}, loc);
  });
}
Tensor trapezoid(const Tensor& y, const Tensor& x, Int dim, SourceLoc loc) {
  return named("trapezoid", [&] {
    const TensorMeta m = checked_meta(y, "trapezoid", loc), at = checked_meta(x, "trapezoid", loc);
    const int d = wrapped(m, dim, "trapezoid", loc);
    if (m.dim() == 0 || at.dim() == 0) fail(ErrorCode::ShapeMismatch, "trapezoid", loc, "wants a dimension, got sizes ", graph::sizes_text(m.layout.sizes), " and ", graph::sizes_text(at.layout.sizes));
    if (const int along = at.dim() == 1 ? 0 : wrapped(at, dim, "trapezoid", loc); !graph::same(at.size(along), m.size(d), loc, "trapezoid: a place for each"))
      fail(ErrorCode::ShapeMismatch, "trapezoid", loc, "y of sizes ", graph::sizes_text(m.layout.sizes), " wants ", m.size(d), " places along dimension ", d, ", got x of sizes ", graph::sizes_text(at.layout.sizes));
    if (!has_pairs(m, d, loc)) return div(sum(y, {d}, false, std::nullopt, loc), 1, {}, loc);
    Tensor apart = x;
    if (at.dim() == 1) {
      Ints sizes(static_cast<std::size_t>(m.dim()), Int(1));
      sizes[static_cast<std::size_t>(d)] = at.size(0);
      apart = reshape(x, sizes, loc);
    }
    return trapezoids(y, diff(apart, 1, at.dim() == 1 ? Int(d) : dim, {}, {}, loc), d, loc);
  });
}
Tensor vander(const Tensor& x, std::optional<Int> N, bool increasing, SourceLoc loc) {
  return named("vander", [&] {
    const TensorMeta m = checked_meta(x, "vander", loc);
    if (m.dim() != 1) fail(ErrorCode::ShapeMismatch, "vander", loc, "wants a vector, got sizes ", graph::sizes_text(m.layout.sizes));
    const Tensor powers = arange(Scalar(N.value_or(m.size(0))), {kInt64, m.device}, loc);
    const Tensor base = m.dtype == kBool || is_integral(m.dtype) ? to(x, kInt64, loc) : x;
    const Tensor made = pow(unsqueeze(base, -1, loc), is_floating(m.dtype) ? to(powers, m.dtype, loc) : powers, loc);
    return increasing ? made : flip(made, {1}, loc);
  });
}
Tensor logspace(Scalar start, Scalar end, Int steps, double base, const TensorOptions& options, SourceLoc loc) {
  return named("logspace", [&] {
    const Tensor exponents = linspace(start, end, steps, {.dtype = kFloat64, .device = options.device}, loc);
    return to(pow(base, exponents, loc), options.dtype.value_or(kFloat32), loc);
  });
}

}  // namespace reprise
