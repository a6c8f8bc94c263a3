// Factorizations and solutions of small matrices, a thread for each matrix; what is made of them; products of other
// shapes.
#include "reprise/linalg.h"

#include <cmath>
#include <numeric>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/plan/columns.h"
#include "operators/checks.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "operators/matrices.h"
#include "passes/decompose_builder.h"

namespace reprise {

using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;

namespace {

using namespace operators;

/// Rows of a above or below its diagonal, first the lower ones: L L^T = a. The order of the first minor that is not
/// positive, or 0.
std::int64_t factor_cholesky(Matrix& a) {
  for (std::int64_t j = 0; j < a.rows; ++j) {
    for (std::int64_t k = 0; k < j; ++k) {  // row j of L, element by element
      double s = a[j][k];
      for (std::int64_t i = 0; i < k; ++i) s -= a[j][i] * a[k][i];
      a[j][k] = s / a[k][k];
    }
    double s = a[j][j];
    for (std::int64_t i = 0; i < j; ++i) s -= a[j][i] * a[j][i];
    if (!(s > 0) || std::isinf(s)) return j + 1;
    a[j][j] = std::sqrt(s);
    for (std::int64_t k = j + 1; k < a.rows; ++k) a[j][k] = 0;
  }
  return 0;
}

void cholesky_kernel(const NativeArgs& a) {
  const TensorView &x = a.tensor(0), &out = a.result();
  const bool upper = a.flag(1);
  const std::int64_t n = x.sizes[x.rank - 1];
  if (out.numel() == 0) return;
  FirstFailure failure;
  each_matrix<2>({x, out}, n * n * n / 3, [&, m = Matrix()](const auto& at, std::int64_t number) mutable {
    m.read(x, at[0], upper);
    if (const std::int64_t order = factor_cholesky(m)) return failure.note(number, order);
    m.write(out, at[1], upper);
  });
  failure.report(a, out.numel() / (n * n), [](std::int64_t order, const std::string& which) {
    return "matrix" + which + " is not positive-definite (the leading minor of order " + std::to_string(order) +
           " is not)";
  });
}

/// P a = L U in a's place, pivots counted from 0. The first k where the pivot is 0, from 1, or 0.
std::int64_t factor_lu(Matrix& a, std::vector<std::int64_t>& pivots) {
  const std::int64_t n = std::min(a.rows, a.columns);
  std::int64_t zero = 0;
  pivots.resize(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t p = k;
    for (std::int64_t r = k + 1; r < a.rows; ++r)
      if (std::abs(a[r][k]) > std::abs(a[p][k])) p = r;
    pivots[static_cast<std::size_t>(k)] = p;
    if (p != k) std::swap_ranges(a[k], a[k] + a.columns, a[p]);
    if (a[k][k] == 0) {
      zero = zero ? zero : k + 1;
      continue;
    }
    const double* top = a[k];
    for (std::int64_t r = k + 1; r < a.rows; ++r) {
      double* row = a[r];
      const double f = row[k] /= top[k];
      for (std::int64_t c = k + 1; f != 0 && c < a.columns; ++c) row[c] -= f * top[c];
    }
  }
  return zero;
}

/// x becomes the solution of t y = x, t triangular.
void substitute(Matrix& t, Matrix& x, bool upper, bool unit) {
  for (std::int64_t i = 0; i < t.rows; ++i) {
    const std::int64_t r = upper ? t.rows - 1 - i : i;
    double* row = x[r];
    for (std::int64_t k = upper ? r + 1 : 0; k < (upper ? t.rows : r); ++k) {
      const double f = t[r][k], *other = x[k];
      for (std::int64_t c = 0; f != 0 && c < x.columns; ++c) row[c] -= f * other[c];
    }
    for (std::int64_t c = 0; !unit && c < x.columns; ++c) row[c] /= t[r][r];
  }
}

void solve_kernel(const NativeArgs& a) {
  const TensorView &m = a.tensor(0), &b = a.tensor(1), &out = a.result();
  if (m.numel() == 0 && out.numel() == 0) return;
  const std::int64_t n = m.sizes[m.rank - 1], columns = b.sizes[b.rank - 1];
  FirstFailure failure;
  each_matrix<3>({m, b, out}, n * n * (n + columns),
                 [&, lu = Matrix(), x = Matrix(), pivots = std::vector<std::int64_t>()](const auto& at,
                                                                                        std::int64_t number) mutable {
                   lu.read(m, at[0]);
                   if (const std::int64_t zero = factor_lu(lu, pivots)) return failure.note(number, zero);
                   x.read(b, at[1]);
                   for (std::int64_t r = 0; r < n; ++r)
                     if (pivots[static_cast<std::size_t>(r)] != r)
                       std::swap_ranges(x[r], x[r] + columns, x[pivots[static_cast<std::size_t>(r)]]);
                   substitute(lu, x, false, true);
                   substitute(lu, x, true, false);
                   x.write(out, at[2]);
                 });
  failure.report(a, n ? m.numel() / (n * n) : 1, [](std::int64_t order, const std::string& which) {
    return "matrix" + which + " is singular (pivot " + std::to_string(order) + " is 0)";
  });
}

void solve_triangular_kernel(const NativeArgs& a) {
  const TensorView &m = a.tensor(0), &b = a.tensor(1), &out = a.result();
  if (out.numel() == 0) return;
  const bool upper = a.flag(2), unit = a.flag(3);
  const std::int64_t n = m.sizes[m.rank - 1];
  each_matrix<3>({m, b, out}, n * n * b.sizes[b.rank - 1],
                 [&, t = Matrix(), x = Matrix()](const auto& at, std::int64_t) mutable {
                   t.read(m, at[0]);
                   x.read(b, at[1]);
                   substitute(t, x, upper, unit);
                   x.write(out, at[2]);
                 });
}

void lu_factor_kernel(const NativeArgs& a) {
  const TensorView &m = a.tensor(0), &out = a.result(0), &places = a.result(1), &moved = a.result(2);
  const std::int64_t rows = m.sizes[m.rank - 2], columns = m.sizes[m.rank - 1];
  each_matrix<4>({m, out, as_one_row(places), as_one_row(moved)}, rows * columns * std::min(rows, columns),
                 [&, lu = Matrix(), pivots = std::vector<std::int64_t>()](const auto& at, std::int64_t) mutable {
                   lu.read(m, at[0]);
                   factor_lu(lu, pivots);
                   lu.write(out, at[1]);
                   std::vector<std::int64_t> order(static_cast<std::size_t>(rows)), place(order.size());
                   std::iota(order.begin(), order.end(), 0);
                   for (std::size_t k = 0; k < pivots.size(); ++k)
                     std::swap(order[k], order[static_cast<std::size_t>(pivots[k]++)]);
                   for (std::size_t k = 0; k < order.size(); ++k)
                     place[static_cast<std::size_t>(order[k])] = static_cast<std::int64_t>(k);
                   write_row(places, at[2], places.strides[places.rank - 1], static_cast<std::int64_t>(pivots.size()),
                             pivots.data());
                   write_row(moved, at[3], moved.strides[moved.rank - 1], rows, place.data());
                 });
}

// ---- shape rules

const char* name(const graph::RuleCtx& c) { return c.op.schema.name.c_str(); }

void cholesky_shape(graph::RuleCtx& c) {
  need_matrix(name(c), c.loc, c.tensor(0), true);
  c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes);
}
/// A [batch, n, n], B [batch, n, k].
void solve_shape(graph::RuleCtx& c) {
  const TensorMeta &m = c.tensor(0), &b = c.tensor(1);
  need_matrix(name(c), c.loc, m, true);
  need_matrix(name(c), c.loc, b, false);
  if (m.dtype != b.dtype)
    fail(ErrorCode::DTypeMismatch, name(c), c.loc, "dtypes ", dtype_name(m.dtype), " and ", dtype_name(b.dtype),
         " differ; cast with to()");
  bool fits = m.dim() == b.dim();
  for (int d = 0; fits && d + 1 < m.dim(); ++d)
    fits = graph::same(m.size(d), b.size(d), c.loc, "linalg: equal batches and rows");
  if (!fits)
    fail(ErrorCode::ShapeMismatch, name(c), c.loc, "matrices of sizes ", graph::sizes_text(m.layout.sizes),
         " do not fit right sides of sizes ", graph::sizes_text(b.layout.sizes));
  c.result(b.dtype, b.layout.sizes);
}
void lu_shape(graph::RuleCtx& c) {
  const TensorMeta& m = c.tensor(0);
  need_matrix(name(c), c.loc, m, false);
  Ints pivots = m.layout.sizes;
  const Int columns = pivots.back();
  pivots.pop_back();
  const Ints rows = pivots;
  pivots.back() = Int::min(pivots.back(), columns);
  c.result(m.dtype, m.layout.sizes);
  c.result(DType::Int32, pivots);
  c.result(DType::Int64, rows);
}
void cdist_shape(graph::RuleCtx& c) {
  const TensorMeta &x = c.tensor(0), &y = c.tensor(1);
  need_matrix("cdist", c.loc, x, false);
  need_matrix("cdist", c.loc, y, false);
  if (x.dtype != y.dtype)
    fail(ErrorCode::DTypeMismatch, "cdist", c.loc, "dtypes ", dtype_name(x.dtype), " and ", dtype_name(y.dtype),
         " differ; cast with to()");
  if (!graph::same(x.size(x.dim() - 1), y.size(y.dim() - 1), c.loc, "cdist: rows of equal length"))
    fail(ErrorCode::ShapeMismatch, "cdist", c.loc, "rows of sizes ", graph::sizes_text(x.layout.sizes), " and ",
         graph::sizes_text(y.layout.sizes), " differ in length");
  const double p = c.scalar(2).to_double(c.loc);
  if (!(p >= 0)) fail(ErrorCode::InvalidArgument, "cdist", c.loc, "p must not be negative, got ", p);
  const Int rows = x.size(x.dim() - 2), columns = y.size(y.dim() - 2);
  Ints a(x.layout.sizes.begin(), x.layout.sizes.end() - 2), b(y.layout.sizes.begin(), y.layout.sizes.end() - 2);
  Ints sizes = graph::broadcast(a, b, "cdist", c.loc);
  sizes.push_back(rows), sizes.push_back(columns);
  c.result(x.dtype, sizes);
}

passes::Build::V decompose_cdist(passes::Build& b, DType result) {
  const DType wide = passes::Build::accumulator(result);
  const double p = b.scalar(2).to_double();
  const auto x = b.emit(OpId::unsqueeze, {b.to(b.tensor(0), wide), Int(-2)}),
             y = b.emit(OpId::unsqueeze, {b.to(b.tensor(1), wide), Int(-3)});
  auto d = b.sub(x, y);
  const Ints last{b.dim(d) - 1};
  if (p == 2) d = b.unary(OpId::sqrt, b.reduce(OpId::sum, b.mul(d, d), last, false));
  else if (p == 0) d = b.to(b.reduce(OpId::sum, b.to(b.emit(OpId::ne, {d, Scalar(0.0)}), wide), last, false), wide);
  else if (p == 1) d = b.reduce(OpId::sum, b.unary(OpId::abs, d), last, false);
  else if (std::isinf(p))
    d = b.is_empty(d, last) ? b.reduce(OpId::sum, d, last, false)
                            : b.reduce(OpId::amax, b.unary(OpId::abs, d), last, false);
  else
    d = b.emit(OpId::pow, {b.reduce(OpId::sum, b.emit(OpId::pow, {b.unary(OpId::abs, d), Scalar(p)}), last, false),
                           Scalar(1 / p)});
  return b.to(d, result);
}

// ---- the operators

OpId cholesky_op() {
  static const OpId id =
      graph::register_op({.schema = "cholesky(Tensor self, bool upper=False) -> Tensor",
                          .shape = cholesky_shape,
                          .effects = {.may_fail = true}},
                         {kernels::reference_kernels().fact({cholesky_kernel}),
                          operators::derivative(operators::derivatives::cholesky, autograd::out(0))});
  return id;
}
OpId solve_op() {
  static const OpId id = graph::register_op(
      {.schema = "linalg_solve(Tensor A, Tensor B) -> Tensor", .shape = solve_shape, .effects = {.may_fail = true}},
      {kernels::reference_kernels().fact({solve_kernel}),
       operators::derivative(operators::derivatives::solve, autograd::in(0) + autograd::out(0, autograd::of(0)))});
  return id;
}
OpId solve_triangular_op() {
  static const OpId id = graph::register_op(
      {.schema = "linalg_solve_triangular(Tensor A, Tensor B, bool upper, bool unitriangular=False) -> Tensor",
       .shape = solve_shape},
      {kernels::reference_kernels().fact({solve_triangular_kernel}),
       operators::derivative(operators::derivatives::solve_triangular,
                             autograd::in(0) + autograd::out(0, autograd::of(0)))});
  return id;
}
/// Of P A = L U, A of as many rows as P has; rows: where each row of A went, [..., rows].
OpId lu_factor_op() {
  static const OpId id = graph::register_op(
      {.schema = "linalg_lu_factor(Tensor A) -> (Tensor LU, Tensor pivots, Tensor rows)", .shape = lu_shape},
      {kernels::reference_kernels().fact({lu_factor_kernel}),
       operators::derivative(operators::derivatives::lu_factor, autograd::out(0) + autograd::out(2))});
  return id;
}
OpId cdist_op() {
  static const OpId id = graph::register_op(
      {.schema = "cdist(Tensor x1, Tensor x2, float p=2.0) -> Tensor",
       .cls = graph::OpClass::Composite,
       .shape = cdist_shape},
      {passes::decompositions().fact({decompose_cdist}),
       operators::derivative(operators::derivatives::cdist, autograd::in(0) + autograd::in(1) + autograd::out(0))});
  return id;
}

/// `t`'s matrices for each of a batch.
Tensor in_batch(const Tensor& t, const Ints& batch, SourceLoc loc) {
  const Ints& own = t.sizes();
  Ints sizes = batch;
  sizes.push_back(own[own.size() - 2]), sizes.push_back(own.back());
  return expand(t, sizes, loc);
}
Ints batch_of(const TensorMeta& m) { return Ints(m.layout.sizes.begin(), m.layout.sizes.end() - 2); }

/// call(A, B) of matrices that have one batch.
template <class F>
Tensor with_right_sides(const Tensor& A, const Tensor& B, bool left, const char* op, SourceLoc loc, F&& call) {
  const TensorMeta a = checked_meta(A, op, loc), b = checked_meta(B, op, loc);
  need_matrix(op, loc, a, true);
  need_matrix(op, loc, b, false);
  const Int rows = b.size(b.dim() - (left ? 2 : 1));
  if (!graph::same(a.size(a.dim() - 1), rows, loc, "linalg: right sides of these rows"))
    fail(ErrorCode::ShapeMismatch, op, loc, "matrices of sizes ", graph::sizes_text(a.layout.sizes),
         " do not fit right sides of sizes ", graph::sizes_text(b.layout.sizes));
  const Ints batch = graph::broadcast(batch_of(a), batch_of(b), op, loc);
  if (left) return call(in_batch(A, batch, loc), in_batch(B, batch, loc));
  return transpose(
      call(transpose(in_batch(A, batch, loc), -2, -1, loc), transpose(in_batch(B, batch, loc), -2, -1, loc)), -2, -1,
      loc);
}

}  // namespace

Tensor cholesky(const Tensor& self, bool upper, SourceLoc loc) {
  return graph::call1(cholesky_op(), {arg(self), arg(upper)}, loc);
}

Tensor solve(const Tensor& A, const Tensor& B, bool left, SourceLoc loc) {
  return named("solve", [&] {
    const TensorMeta a = checked_meta(A, "solve", loc), b = checked_meta(B, "solve", loc);
    need_matrix("solve", loc, a, true);
    bool vectors = b.dim() == 1;
    if (b.dim() > 1 && b.dim() == a.dim() - 1) {
      vectors = true;
      for (int d = 0; vectors && d < b.dim(); ++d)
        vectors = graph::ask(detail::compare_eq(b.size(d), a.size(d), loc), "solve: a vector for each matrix");
    }
    if (vectors && !left)
      fail(ErrorCode::InvalidArgument, "solve", loc, "vectors have no other side: left must be true");
    const Tensor x = with_right_sides(A, vectors ? unsqueeze(B, -1, loc) : B, left, "solve", loc,
                                      [&](const Tensor& m, const Tensor& r) {
                                        return graph::call1(solve_op(), {arg(m), arg(r)}, loc);
                                      });
    return vectors ? squeeze(x, -1, loc) : x;
  });
}

Tensor solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left, bool unitriangular, SourceLoc loc) {
  return named("solve_triangular", [&] {
    const bool over = upper == left;  // transposed, an upper triangle is a lower one
    return with_right_sides(A, B, left, "solve_triangular", loc, [&](const Tensor& m, const Tensor& r) {
      return graph::call1(solve_triangular_op(), {arg(m), arg(r), arg(over), arg(unitriangular)}, loc);
    });
  });
}
TensorPair triangular_solve(const Tensor& self, const Tensor& A, bool upper, bool transposed, bool unitriangular,
                            SourceLoc loc) {
  return named("triangular_solve", [&]() -> TensorPair {
    need_matrix("triangular_solve", loc, checked_meta(A, "triangular_solve", loc), true);
    return {solve_triangular(transposed ? transpose(A, -2, -1, loc) : A, self, upper != transposed, true, unitriangular,
                             loc),
            clone(A, loc)};
  });
}
Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper, SourceLoc loc) {
  return named("cholesky_solve", [&] {
    need_matrix("cholesky_solve", loc, checked_meta(input2, "cholesky_solve", loc), true);
    const Tensor lower = upper ? transpose(input2, -2, -1, loc) : input2;
    return solve_triangular(transpose(lower, -2, -1, loc), solve_triangular(lower, self, false, true, false, loc), true,
                            true, false, loc);
  });
}

Tensor inverse(const Tensor& self, SourceLoc loc) {
  return named("inverse", [&] {
    const TensorMeta m = checked_meta(self, "inverse", loc);
    need_matrix("inverse", loc, m, true);
    return graph::call1(
        solve_op(),
        {arg(self), arg(expand(eye(m.size(m.dim() - 1), std::nullopt, {m.dtype, m.device}, loc), m.layout.sizes, loc))},
        loc);
  });
}
Tensor cholesky_inverse(const Tensor& self, bool upper, SourceLoc loc) {
  return named("cholesky_inverse", [&] {
    const TensorMeta m = checked_meta(self, "cholesky_inverse", loc);
    need_matrix("cholesky_inverse", loc, m, true);
    return cholesky_solve(expand(eye(m.size(m.dim() - 1), std::nullopt, {m.dtype, m.device}, loc), m.layout.sizes, loc),
                          self, upper, loc);
  });
}

TensorPair lu_factor(const Tensor& A, SourceLoc loc) {
  return named("lu_factor", [&] { return graph::api::pair(graph::calln(lu_factor_op(), {arg(A)}, loc)); });
}

namespace {
/// U's diagonal, in at least float32, and the sign that the exchanges of rows give.
TensorPair factors(const Tensor& self, const char* op, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, op, loc);
  need_matrix(op, loc, m, true);
  const Tensor x = is_low_precision(m.dtype) ? to(self, kFloat32, loc) : self;
  const auto [lu, pivots] = lu_factor(x, loc);
  const Tensor moved = ne(pivots, arange(1, Scalar(m.size(m.dim() - 1) + 1), {kInt32, m.device}, loc), loc);
  return {diagonal(lu, 0, -2, -1, loc),
          sub(1, mul(remainder(sum(moved, {-1}, false, std::nullopt, loc), 2, loc), 2, loc), 1, loc)};
}
}  // namespace

Tensor det(const Tensor& self, SourceLoc loc) {
  return named("det", [&] {
    const auto [u, sign] = factors(self, "det", loc);
    return to(mul(prod(u, {-1}, false, std::nullopt, loc), sign, loc), self.dtype(), loc);
  });
}
TensorPair slogdet(const Tensor& self, SourceLoc loc) {
  return named("slogdet", [&]() -> TensorPair {
    const auto [u, exchanges] = factors(self, "slogdet", loc);
    return {to(mul(prod(sign(u, loc), {-1}, false, std::nullopt, loc), exchanges, loc), self.dtype(), loc),
            to(sum(log(abs(u, loc), loc), {-1}, false, std::nullopt, loc), self.dtype(), loc)};
  });
}

Tensor trace(const Tensor& self, SourceLoc loc) {
  if (checked_meta(self, "trace", loc).dim() != 2)
    fail(ErrorCode::ShapeMismatch, "trace", loc, "wants one matrix, got sizes ", graph::sizes_text(self.sizes()));
  return named("trace", [&] { return sum(diagonal(self, 0, 0, 1, loc), {}, false, std::nullopt, loc); });
}

Tensor kron(const Tensor& self, const Tensor& other, SourceLoc loc) {
  return named("kron", [&] {
    Ints a = checked_meta(self, "kron", loc).layout.sizes, b = checked_meta(other, "kron", loc).layout.sizes;
    while (a.size() < b.size()) a.insert(a.begin(), Int(1));
    while (b.size() < a.size()) b.insert(b.begin(), Int(1));
    Ints wide_a, wide_b, sizes;
    for (std::size_t d = 0; d < a.size(); ++d) {
      wide_a.push_back(a[d]), wide_a.push_back(1);
      wide_b.push_back(1), wide_b.push_back(b[d]);
      sizes.push_back(a[d] * b[d]);
    }
    if (2 * a.size() > static_cast<std::size_t>(kMaxRank))
      fail(ErrorCode::ShapeMismatch, "kron", loc, "wants at most ", kMaxRank / 2, " dimensions, got ", a.size());
    return reshape(mul(reshape(self, wide_a, loc), reshape(other, wide_b, loc), loc), sizes, loc);
  });
}

Tensor cross(const Tensor& self, const Tensor& other, Int dim, SourceLoc loc) {
  return named("cross", [&] {
    const TensorMeta a = checked_meta(self, "cross", loc), b = checked_meta(other, "cross", loc);
    if (a.dim() != b.dim())
      fail(ErrorCode::ShapeMismatch, "cross", loc, "sizes ", graph::sizes_text(a.layout.sizes), " and ",
           graph::sizes_text(b.layout.sizes), " must have as many dimensions");
    const int d = graph::api::wrapped(a, dim, "cross", loc);
    for (const TensorMeta* m : {&a, &b})
      if (m->dim() == 0 || !graph::same(m->size(d), 3, loc, "cross: three elements"))
        fail(ErrorCode::ShapeMismatch, "cross", loc, "dimension ", d, " of sizes ", graph::sizes_text(m->layout.sizes),
             " must have size 3");
    const Ints sizes = graph::broadcast(a.layout.sizes, b.layout.sizes, "cross", loc);
    const Tensor x = expand(self, sizes, loc), y = expand(other, sizes, loc);
    std::vector<Tensor> parts;
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      parts.push_back(sub(mul(select(x, d, j, loc), select(y, d, k, loc), loc),
                          mul(select(x, d, k, loc), select(y, d, j, loc), loc), 1, loc));
    }
    return stack(parts, d, loc);
  });
}

Tensor tensordot(const Tensor& self, const Tensor& other, IntArrayRef dims_self, IntArrayRef dims_other,
                 SourceLoc loc) {
  return named("tensordot", [&] {
    TensorMeta a = checked_meta(self, "tensordot", loc), b = checked_meta(other, "tensordot", loc);
    if (dims_self.size() != dims_other.size())
      fail(ErrorCode::InvalidArgument, "tensordot", loc, dims_self.size(), " dimensions of self and ",
           dims_other.size(), " of other");
    std::vector<bool> summed_a(static_cast<std::size_t>(a.dim())), summed_b(static_cast<std::size_t>(b.dim()));
    std::vector<Int> order_a, order_b, in_a, in_b;
    Ints sizes;
    Int inner = 1, rows = 1, columns = 1;
    Tensor left = self, right = other;
    auto is_one = [&](Int n) { return graph::require(detail::compare_eq(n, 1, loc), "tensordot: a size of 1"); };
    auto summed = [&](Tensor& t, TensorMeta& m, int d) {
      t = sum(t, {d}, true, m.dtype, loc), m = checked_meta(t, "tensordot", loc);
    };
    for (std::size_t i = 0; i < dims_self.size(); ++i) {
      const int p = graph::api::wrapped(a, dims_self[i], "tensordot", loc),
                q = graph::api::wrapped(b, dims_other[i], "tensordot", loc);
      if (summed_a[static_cast<std::size_t>(p)] || summed_b[static_cast<std::size_t>(q)])
        fail(ErrorCode::InvalidArgument, "tensordot", loc, "a dimension is given twice");
      if (!graph::same(a.size(p), b.size(q), loc, "tensordot: equal sizes")) {
        // A size of 1 broadcasts: the other's elements meet the same factor.
        if (is_one(b.size(q))) summed(left, a, p);
        else if (is_one(a.size(p))) summed(right, b, q);
        else
          fail(ErrorCode::ShapeMismatch, "tensordot", loc, "dimension ", p, " of sizes ",
               graph::sizes_text(a.layout.sizes), " and ", q, " of ", graph::sizes_text(b.layout.sizes), " differ");
      }
      summed_a[static_cast<std::size_t>(p)] = summed_b[static_cast<std::size_t>(q)] = true;
      in_a.push_back(p), in_b.push_back(q);
      inner = inner * a.size(p);
    }
    for (int d = 0; d < a.dim(); ++d)
      if (!summed_a[static_cast<std::size_t>(d)])
        order_a.push_back(d), sizes.push_back(a.size(d)), rows = rows * a.size(d);
    order_a.insert(order_a.end(), in_a.begin(), in_a.end());
    order_b = in_b;
    for (int d = 0; d < b.dim(); ++d)
      if (!summed_b[static_cast<std::size_t>(d)])
        order_b.push_back(d), sizes.push_back(b.size(d)), columns = columns * b.size(d);
    return reshape(mm(reshape(permute(left, order_a, loc), {rows, inner}, loc),
                      reshape(permute(right, order_b, loc), {inner, columns}, loc), loc),
                   sizes, loc);
  });
}
Tensor tensordot(const Tensor& self, const Tensor& other, Int dims, SourceLoc loc) {
  const std::int64_t n = dims.value(loc);
  const int rank = checked_meta(self, "tensordot", loc).dim(), other_rank = checked_meta(other, "tensordot", loc).dim();
  if (n < 0 || n > rank || n > other_rank)
    fail(ErrorCode::InvalidArgument, "tensordot", loc, "dims is ", n, ", and the operands have ", rank, " and ",
         other_rank, " dimensions");
  std::vector<Int> last, first;
  for (std::int64_t i = 0; i < n; ++i) last.push_back(rank - n + i), first.push_back(i);
  return tensordot(self, other, last, first, loc);
}

Tensor cdist(const Tensor& x1, const Tensor& x2, double p, SourceLoc loc) {
  return graph::call1(cdist_op(), {arg(x1), arg(x2), arg(p)}, loc);
}

namespace operators {
void register_linalg() { cholesky_op(), solve_op(), solve_triangular_op(), lu_factor_op(), cdist_op(); }
}  // namespace operators

}  // namespace reprise
