// Functions of one word that are a few others.
#include "reprise/conveniences.h"

#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/shape_rules.h"
#include "operators/checks.h"
#include "reprise/linalg.h"
#include "reprise/searching.h"

namespace reprise {

using graph::api::checked_meta;
using graph::api::named;
using graph::api::wrapped;

namespace {

std::vector<Tensor> each(TensorArrayRef tensors, Tensor (*f)(const Tensor&, SourceLoc), SourceLoc loc) {
  std::vector<Tensor> made;
  for (const Tensor& t : tensors) made.push_back(f(t, loc));
  return made;
}

void need_vector(const Tensor& t, const char* op, const char* what, SourceLoc loc) {
  const TensorMeta m = checked_meta(t, op, loc);
  if (m.dim() != 1)
    fail(ErrorCode::ShapeMismatch, op, loc, what, " must be a vector, got sizes ", graph::sizes_text(m.layout.sizes));
}
void need_dims(const Tensor& t, int n, const char* op, SourceLoc loc) {
  const TensorMeta m = checked_meta(t, op, loc);
  if (m.dim() < n)
    fail(ErrorCode::ShapeMismatch, op, loc, "needs at least ", n, n == 1 ? " dimension" : " dimensions", ", got sizes ",
         graph::sizes_text(m.layout.sizes));
}

/// In t, or what half types are computed in.
Tensor wide(const Tensor& x, DType t, SourceLoc loc) { return to(x, is_low_precision(t) ? kFloat32 : t, loc); }

}  // namespace

// ---- sizes

Tensor atleast_1d(const Tensor& self, SourceLoc loc) {
  return checked_meta(self, "atleast_1d", loc).dim() == 0 ? unsqueeze(self, 0, loc) : self;
}
Tensor atleast_2d(const Tensor& self, SourceLoc loc) {
  return checked_meta(self, "atleast_2d", loc).dim() < 2 ? unsqueeze(atleast_1d(self, loc), 0, loc) : self;
}
Tensor atleast_3d(const Tensor& self, SourceLoc loc) {
  return checked_meta(self, "atleast_3d", loc).dim() < 3 ? unsqueeze(atleast_2d(self, loc), -1, loc) : self;
}

std::vector<Tensor> broadcast_tensors(TensorArrayRef tensors, SourceLoc loc) {
  Ints sizes;
  for (const Tensor& t : tensors)
    sizes = graph::broadcast(sizes, checked_meta(t, "broadcast_tensors", loc).layout.sizes, "broadcast_tensors", loc);
  std::vector<Tensor> made;
  for (const Tensor& t : tensors) made.push_back(expand(t, sizes, loc));
  return made;
}

Tensor tile(const Tensor& self, IntArrayRef dims, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, "tile", loc);
  Ints repeats = dims.vec();
  while (static_cast<int>(repeats.size()) < m.dim()) repeats.insert(repeats.begin(), 1);
  return named("tile", [&] { return repeat(self, repeats, loc); });
}

Tensor ravel(const Tensor& self, SourceLoc loc) {
  return named("ravel", [&] {
    return view(contiguous(self, loc), {-1}, loc);
  });  // not reshape: what is not contiguous is copied, as in ATen
}
Tensor moveaxis(const Tensor& self, Int source, Int destination, SourceLoc loc) {
  return movedim(self, source, destination, loc);
}
Tensor adjoint(const Tensor& self, SourceLoc loc) { return mT(self, loc); }

Tensor detail::move_dims(const Tensor& self, IntArrayRef source, IntArrayRef destination, const char* op,
                         SourceLoc loc) {
  const TensorMeta m = checked_meta(self, op, loc);
  if (source.size() != destination.size())
    fail(ErrorCode::InvalidArgument, op, loc, source.size(), " dimensions to move, and ", destination.size(),
         " places for them");
  const auto rank = static_cast<std::size_t>(m.dim());
  std::vector<int> dims(rank, -1);  // by place
  std::vector<bool> moved(rank, false);
  for (std::size_t i = 0; i < source.size(); ++i) {
    const auto from = static_cast<std::size_t>(wrapped(m, source[i], op, loc)),
               to = static_cast<std::size_t>(wrapped(m, destination[i], op, loc));
    if (rank == 0) return permute(self, {}, loc);
    if (moved[from]) fail(ErrorCode::InvalidArgument, op, loc, "dimension ", from, " is moved twice");
    if (dims[to] >= 0) fail(ErrorCode::InvalidArgument, op, loc, "two dimensions are moved to place ", to);
    moved[from] = true, dims[to] = static_cast<int>(from);
  }
  Ints order;
  std::size_t next = 0;
  for (std::size_t place = 0; place < rank; ++place) {
    while (dims[place] < 0 && moved[next]) ++next;
    order.push_back(dims[place] >= 0 ? Int(dims[place]) : Int(next++));
  }
  return permute(self, order, loc);
}

// ---- joining

Tensor concat(TensorArrayRef tensors, Int dim, SourceLoc loc) { return cat(tensors, dim, loc); }
Tensor concatenate(TensorArrayRef tensors, Int dim, SourceLoc loc) { return cat(tensors, dim, loc); }
Tensor row_stack(TensorArrayRef tensors, SourceLoc loc) { return vstack(tensors, loc); }

Tensor column_stack(TensorArrayRef tensors, SourceLoc loc) {
  return named("column_stack", [&] {
    return cat(each(
                   tensors,
                   [](const Tensor& t, SourceLoc at) {
                     return checked_meta(t, "column_stack", at).dim() < 2 ? unsqueeze(atleast_1d(t, at), 1, at) : t;
                   },
                   loc),
               1, loc);
  });
}
Tensor dstack(TensorArrayRef tensors, SourceLoc loc) {
  return named("dstack", [&] {
    return cat(each(
                   tensors, [](const Tensor& t, SourceLoc at) { return atleast_3d(t, at); }, loc),
               2, loc);
  });
}

Tensor block_diag(TensorArrayRef tensors, SourceLoc loc) {
  if (tensors.size() == 0) fail(ErrorCode::InvalidArgument, "block_diag", loc, "wants one tensor at least");
  Int columns = 0;
  for (const Tensor& t : tensors) {
    const TensorMeta m = checked_meta(t, "block_diag", loc);
    if (m.dim() > 2)
      fail(ErrorCode::ShapeMismatch, "block_diag", loc, "wants matrices, got sizes ",
           graph::sizes_text(m.layout.sizes));
    columns = columns + (m.dim() ? m.size(m.dim() - 1) : Int(1));
  }
  return named("block_diag", [&] {
    std::vector<Tensor> rows;
    Int before = 0;
    for (const Tensor& t : tensors) {
      const Tensor block = atleast_2d(t, loc);
      const Int behind = before + block.size(1, loc);
      rows.push_back(pad(block, {before, columns - behind}, 0, loc));
      before = behind;
    }
    return cat(rows, 0, loc);
  });
}

// ---- diagonals

Tensor diag_embed(const Tensor& self, Int offset, Int dim1, Int dim2, SourceLoc loc) {
  need_dims(self, 1, "diag_embed", loc);
  const TensorMeta m = checked_meta(self, "diag_embed", loc);
  const std::int64_t by = offset.value(loc);
  const int rank = m.dim() + 1, first = wrap_dim(dim1.value(loc), rank, "diag_embed", loc),
            second = wrap_dim(dim2.value(loc), rank, "diag_embed", loc);
  if (first == second) fail(ErrorCode::InvalidArgument, "diag_embed", loc, "dim1 and dim2 are both ", first);
  const Int side = m.size(m.dim() - 1) + (by < 0 ? -by : by);
  Ints sizes;
  for (int d = 0, from = 0; d < rank; ++d) sizes.push_back(d == first || d == second ? side : m.size(from++));
  return named("diag_embed", [&] {
    return diagonal_scatter(zeros(sizes, {m.dtype, m.device}, loc), self, by, first, second, loc);
  });
}

Tensor diag(const Tensor& self, Int diagonal, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, "diag", loc);
  if (m.dim() != 1 && m.dim() != 2)
    fail(ErrorCode::ShapeMismatch, "diag", loc, "wants a vector or a matrix, got sizes ",
         graph::sizes_text(m.layout.sizes));
  return named("diag", [&] {
    return m.dim() == 1 ? diag_embed(self, diagonal, 0, 1, loc)
                        : clone(reprise::diagonal(self, diagonal, 0, 1, loc), loc);
  });
}
Tensor diagflat(const Tensor& self, Int offset, SourceLoc loc) {
  return named("diagflat", [&] { return diag_embed(reshape(self, {-1}, loc), offset, 0, 1, loc); });
}

// ---- turning

Tensor fliplr(const Tensor& self, SourceLoc loc) { return need_dims(self, 2, "fliplr", loc), flip(self, {1}, loc); }
Tensor flipud(const Tensor& self, SourceLoc loc) { return need_dims(self, 1, "flipud", loc), flip(self, {0}, loc); }

Tensor rot90(const Tensor& self, Int k, IntArrayRef dims, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, "rot90", loc);
  const Ints plane = dims.vec();
  if (plane.size() != 2)
    fail(ErrorCode::InvalidArgument, "rot90", loc, "turns in two dimensions, not in ", plane.size());
  const int from = wrapped(m, plane[0], "rot90", loc), to = wrapped(m, plane[1], "rot90", loc);
  if (from == to) fail(ErrorCode::InvalidArgument, "rot90", loc, "turns in two dimensions, both are ", from);
  switch (((k.value(loc) % 4) + 4) % 4) {
    case 1: return transpose(flip(self, {to}, loc), from, to, loc);
    case 2: return flip(self, {from, to}, loc);
    case 3: return transpose(flip(self, {from}, loc), from, to, loc);
    default: return clone(self, loc);
  }
}

// ---- arithmetic

Tensor divide(const Operand& self, const Operand& other, std::string_view rounding_mode, SourceLoc loc) {
  return div(self, other, rounding_mode, loc);
}
Tensor true_divide(const Operand& self, const Operand& other, SourceLoc loc) { return div(self, other, {}, loc); }
Tensor subtract(const Operand& self, const Operand& other, Scalar alpha, SourceLoc loc) {
  return sub(self, other, alpha, loc);
}
Tensor rsub(const Operand& self, const Operand& other, Scalar alpha, SourceLoc loc) {
  return named("rsub", [&] { return sub(other, self, alpha, loc); });
}

Tensor round(const Tensor& self, Int decimals, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, "round", loc);
  operators::need_float("round", loc, m.dtype);
  const std::int64_t places = decimals.value(loc);
  if (places == 0) return round(self, loc);
  return named("round", [&] {
    const double power = std::pow(10.0, static_cast<double>(std::abs(places)));
    const Tensor x = wide(self, m.dtype, loc),
                 scaled = round(places > 0 ? mul(x, power, loc) : div(x, power, {}, loc), loc);
    return to(places > 0 ? div(scaled, power, {}, loc) : mul(scaled, power, loc), m.dtype, loc);
  });
}

Tensor polar(const Tensor& abs, const Tensor& angle, SourceLoc loc) {
  return named("polar", [&] {
    return stack({mul(abs, cos(angle, loc), loc), mul(abs, sin(angle, loc), loc)}, -1, loc);
  });
}
namespace {
Tensor as_pairs(const Tensor& self, const char* op, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, op, loc);
  if (m.dim() == 0 || !graph::same(m.size(m.dim() - 1), 2, loc, "complex numbers are pairs"))
    fail(ErrorCode::ShapeMismatch, op, loc, "wants pairs, a last dimension of size 2, got sizes ",
         graph::sizes_text(m.layout.sizes));
  return alias(self, loc);
}
}  // namespace
Tensor view_as_complex(const Tensor& self, SourceLoc loc) { return as_pairs(self, "view_as_complex", loc); }
Tensor view_as_real(const Tensor& self, SourceLoc loc) { return as_pairs(self, "view_as_real", loc); }

Tensor logspace(Scalar start, Scalar end, Int steps, double base, const TensorOptions& options, SourceLoc loc) {
  const DType t = options.dtype.value_or(get_default_dtype());
  return named("logspace", [&] {
    return to(pow(base, linspace(start, end, steps, {kFloat64, options.device}, loc), loc), t, loc);
  });
}

Tensor vander(const Tensor& self, std::optional<Int> n, bool increasing, SourceLoc loc) {
  need_vector(self, "vander", "self", loc);
  const TensorMeta m = checked_meta(self, "vander", loc);
  const Int columns = n.value_or(m.size(0));
  if (!graph::require(detail::compare_le(0, columns, loc), "vander: n"))
    fail(ErrorCode::InvalidArgument, "vander", loc, "n must not be negative, got ", columns);
  return named("vander", [&] {
    const DType t = m.dtype == kBool ? kInt64 : m.dtype;
    const Tensor exponents = arange(0, columns, 1, {t, m.device}, loc);
    return pow(to(unsqueeze(self, 1, loc), t, loc), increasing ? exponents : flip(exponents, {0}, loc), loc);
  });
}

namespace {
/// Sums of neighbours along d.
Tensor neighbours(const Tensor& y, int d, SourceLoc loc) {
  return add(slice(y, d, 1, std::nullopt, 1, loc), slice(y, d, 0, -1, 1, loc), 1, loc);
}
}  // namespace

Tensor trapezoid(const Tensor& y, Scalar dx, Int dim, SourceLoc loc) {
  need_dims(y, 1, "trapezoid", loc);
  const int d = wrapped(checked_meta(y, "trapezoid", loc), dim, "trapezoid", loc);
  return named("trapezoid", [&] {
    return mul(sum(neighbours(y, d, loc), {d}, false, std::nullopt, loc), dx.to_double(loc) / 2, loc);
  });
}
Tensor trapezoid(const Tensor& y, const Tensor& x, Int dim, SourceLoc loc) {
  need_dims(y, 1, "trapezoid", loc);
  need_dims(x, 1, "trapezoid", loc);
  const TensorMeta m = checked_meta(y, "trapezoid", loc), at = checked_meta(x, "trapezoid", loc);
  const int d = wrapped(m, dim, "trapezoid", loc);
  return named("trapezoid", [&] {
    Tensor places = x;
    if (at.dim() == 1) {
      if (!graph::same(at.size(0), m.size(d), loc, "trapezoid: a place for each"))
        fail(ErrorCode::ShapeMismatch, "trapezoid", loc, "x has ", at.size(0), " places for ", m.size(d), " values");
      Ints own(static_cast<std::size_t>(m.dim()), 1);
      own[static_cast<std::size_t>(d)] = m.size(d);
      places = reshape(x, own, loc);
    }
    const int along = wrapped(checked_meta(places, "trapezoid", loc), dim, "trapezoid", loc);
    const Tensor widths =
        sub(slice(places, along, 1, std::nullopt, 1, loc), slice(places, along, 0, -1, 1, loc), 1, loc);
    return div(sum(mul(widths, neighbours(y, d, loc), loc), {dim}, false, std::nullopt, loc), 2.0, {}, loc);
  });
}

// ---- statistics

TensorPair var_mean(const Tensor& self, const OptionalDims& dim, Scalar correction, bool keepdim, SourceLoc loc) {
  return {var(self, dim, correction, keepdim, loc), mean(self, dim, keepdim, std::nullopt, loc)};
}
TensorPair std_mean(const Tensor& self, const OptionalDims& dim, Scalar correction, bool keepdim, SourceLoc loc) {
  return {reprise::std(self, dim, correction, keepdim, loc), mean(self, dim, keepdim, std::nullopt, loc)};
}

Tensor cov(const Tensor& self, Int correction, const Tensor& fweights, const Tensor& aweights, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, "cov", loc);
  if (m.dim() > 2)
    fail(ErrorCode::ShapeMismatch, "cov", loc, "wants rows of observations, got sizes ",
         graph::sizes_text(m.layout.sizes));
  if (m.dtype == kBool)
    fail(ErrorCode::DTypeMismatch, "cov", loc, "not defined for bool (wanted integers or floats; cast with to())");
  const DType own = is_floating(m.dtype) ? m.dtype : get_default_dtype();
  const bool weighs = aweights.defined() && is_floating(checked_meta(aweights, "cov", loc).dtype);
  const DType t = weighs ? promote(own, aweights.dtype()) : own, w = is_low_precision(t) ? kFloat32 : t;
  return named("cov", [&] {
    Tensor x = wide(atleast_2d(self, loc), t, loc), weights;
    const Int observations = x.size(1, loc);
    for (const Tensor* given : {&fweights, &aweights}) {
      if (!given->defined()) continue;
      const bool counts = given == &fweights;
      const char* what = counts ? "fweights" : "aweights";
      need_vector(*given, "cov", what, loc);
      if (is_floating(given->dtype()) == counts)
        fail(ErrorCode::DTypeMismatch, "cov", loc, what, " must be ", counts ? "integers" : "floats", ", got ",
             dtype_name(given->dtype()));
      if (!graph::same(given->size(0, loc), observations, loc, "cov: a weight for each"))
        fail(ErrorCode::ShapeMismatch, "cov", loc, what, " has ", given->size(0, loc), " elements for ", observations,
             " observations");
      weights = weights.defined() ? mul(weights, *given, loc) : to(*given, w, loc);
    }
    if (!weights.defined()) weights = ones({observations}, {w, m.device}, loc);
    const Tensor total = sum(weights, {}, false, std::nullopt, loc);
    x = sub(x, div(sum(mul(x, weights, loc), {1}, true, std::nullopt, loc), total, {}, loc), 1, loc);
    // The observations that count less one for each degree that the mean has taken.
    const Tensor taken = aweights.defined()
                             ? div(sum(mul(weights, aweights, loc), {}, false, std::nullopt, loc), total, {}, loc)
                             : ones_like(total, {}, loc);
    const Tensor by = clamp_min(sub(total, mul(taken, correction, loc), 1, loc), 0.0, loc);
    const Tensor all = to(div(matmul(x, mT(mul(x, weights, loc), loc), loc), by, {}, loc), t, loc);
    const bool one_row = m.dim() < 2 || graph::ask(detail::compare_eq(m.size(0), 1, loc), "cov: one row");
    return one_row ? reshape(all, {}, loc) : all;
  });
}

Tensor corrcoef(const Tensor& self, SourceLoc loc) {
  return named("corrcoef", [&] {
    const DType t = checked_meta(self, "corrcoef", loc).dtype;
    const Tensor c = cov(wide(self, is_floating(t) ? t : get_default_dtype(), loc), 1, {}, {}, loc);
    if (c.dim() == 0) return to(div(c, c, {}, loc), is_floating(t) ? t : c.dtype(), loc);
    const Tensor deviations = sqrt(diagonal(c, 0, 0, 1, loc), loc);
    return to(clamp(div(div(c, unsqueeze(deviations, 1, loc), {}, loc), deviations, {}, loc), -1.0, 1.0, loc),
              is_floating(t) ? t : c.dtype(), loc);
  });
}

Tensor renorm(const Tensor& self, Scalar p, Int dim, Scalar maxnorm, SourceLoc loc) {
  need_dims(self, 2, "renorm", loc);
  const TensorMeta m = checked_meta(self, "renorm", loc);
  operators::need_float("renorm", loc, m.dtype);
  const int along = wrapped(m, dim, "renorm", loc);
  std::vector<Int> others;
  for (int d = 0; d < m.dim(); ++d)
    if (d != along) others.push_back(d);
  return named("renorm", [&] {
    const Tensor x = wide(self, m.dtype, loc), length = norm(x, p, others, true, loc);
    // 1e-7: as ATen
    return to(mul(x, where(gt(length, maxnorm, loc), div(maxnorm, add(length, 1e-7, 1, loc), {}, loc), 1.0, loc), loc),
              m.dtype, loc);
  });
}

Tensor dist(const Tensor& self, const Tensor& other, Scalar p, SourceLoc loc) {
  return named("dist", [&] { return norm(sub(self, other, 1, loc), p, {}, false, loc); });
}

Tensor normalize(const Tensor& self, Scalar p, Int dim, double eps, SourceLoc loc) {
  operators::need_float("normalize", loc, checked_meta(self, "normalize", loc).dtype);
  return named("normalize", [&] { return div(self, clamp_min(norm(self, p, dim, true, loc), eps, loc), {}, loc); });
}

// ---- indices

Tensor index_add(const Tensor& self, Int dim, const Tensor& index, const Tensor& source, Scalar alpha, SourceLoc loc) {
  return named("index_add",
               [&] { return index_add(self, dim, index, to(mul(source, alpha, loc), source.dtype(), loc), loc); });
}
Tensor scatter(const Tensor& self, Int dim, const Tensor& index, const Operand& src, std::string_view reduce,
               SourceLoc loc) {
  if (reduce != "add" && reduce != "multiply")
    fail(ErrorCode::InvalidArgument, "scatter", loc, "reduce is '", reduce, "', expected add or multiply");
  return named("scatter", [&] {
    const TensorMeta m = checked_meta(self, "scatter", loc);
    const Tensor from =
        src.tensor() ? *src.tensor()
                     : full(checked_meta(index, "scatter", loc).layout.sizes, src.number(), {m.dtype, m.device}, loc);
    return reduce == "add" ? scatter_add(self, dim, index, from, loc)
                           : scatter_reduce(self, dim, index, from, "prod", true, loc);
  });
}

// ---- products

Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, Scalar beta, Scalar alpha,
              SourceLoc loc) {
  const TensorMeta a = checked_meta(batch1, "addbmm", loc), b = checked_meta(batch2, "addbmm", loc);
  const bool fits = a.dim() == 3 && b.dim() == 3 &&
                    graph::same(a.size(0), b.size(0), loc, "addbmm: as many matrices") &&
                    graph::same(a.size(2), b.size(1), loc, "addbmm: columns are rows");
  if (!fits)
    fail(ErrorCode::ShapeMismatch, "addbmm", loc, "wants [b, n, m] and [b, m, p], got sizes ",
         graph::sizes_text(a.layout.sizes), " and ", graph::sizes_text(b.layout.sizes));
  // One product whose inner dimension is that of all matrices.
  return named("addbmm", [&] {
    const Tensor rows = reshape(permute(batch1, {1, 0, 2}, loc), {a.size(1), a.size(0) * a.size(2)}, loc);
    return addmm(self, rows, reshape(batch2, {b.size(0) * b.size(1), b.size(2)}, loc), beta, alpha, loc);
  });
}
Tensor inner(const Tensor& self, const Tensor& other, SourceLoc loc) {
  return named("inner", [&] {
    if (checked_meta(self, "inner", loc).dim() == 0 || checked_meta(other, "inner", loc).dim() == 0)
      return mul(self, other, loc);
    return tensordot(self, other, {-1}, {-1}, loc);
  });
}
Tensor ger(const Tensor& self, const Tensor& vec2, SourceLoc loc) { return outer(self, vec2, loc); }
Tensor vdot(const Tensor& self, const Tensor& other, SourceLoc loc) { return dot(self, other, loc); }

// ---- order

Tensor isin(const Tensor& elements, const Tensor& test_elements, bool, bool invert, SourceLoc loc) {
  return named("isin", [&] {
    const TensorMeta m = checked_meta(elements, "isin", loc), among = checked_meta(test_elements, "isin", loc);
    const std::vector<graph::RuleArg> both{&m, &among};
    DType t = graph::result_dtype(both);
    if (t == kBool) t = kUInt8;
    const Tensor e = to(elements, t, loc),
                 sorted = sort(to(reshape(test_elements, {-1}, loc), t, loc), 0, false, loc).first;
    const Int n = sorted.size(0, loc);
    const Tensor place = searchsorted(sorted, e, false, false, {}, {}, loc);
    // behind the last there is one that does not count
    const Tensor found = reprise::index(pad(sorted, {0, 1}, 0, loc), {place}, loc);
    const Tensor is = logical_and(lt(place, n, loc), eq(found, e, loc), loc);
    return invert ? logical_not(is, loc) : is;
  });
}

Tensor msort(const Tensor& self, SourceLoc loc) {
  return named("msort", [&] { return sort(self, 0, false, loc).first; });
}

Tensor randperm(Int n, const TensorOptions& options, SourceLoc loc) {
  if (!graph::require(detail::compare_le(0, n, loc), "randperm: n"))
    fail(ErrorCode::InvalidArgument, "randperm", loc, "n must not be negative, got ", n);
  return named("randperm", [&] {
    return to(argsort(rand({n}, {kFloat64, options.device}, loc), 0, false, loc), options.dtype.value_or(kInt64), loc);
  });
}

}  // namespace reprise
