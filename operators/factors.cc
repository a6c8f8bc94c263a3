// QR, the eigenvalues of symmetric matrices and singular values, a thread for each matrix. By reflections (Householder)
// and rotations (Jacobi), which are slower than the reductions to three diagonals that large matrices want, and
// simpler.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "graph/api_args.h"
#include "graph/register_op.h"
#include "kernels/plan/columns.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "operators/matrices.h"
#include "reprise/linalg.h"

namespace reprise {

using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;

namespace {

using namespace operators;

double dot(const double* a, const double* b, std::int64_t n) { return std::inner_product(a, a + n, b, 0.0); }

/// The largest magnitude, NaN and infinity where there is one.
double magnitude(const Matrix& m) {
  double most = 0;
  for (double v : m.v) most = std::isfinite(v) ? std::max(most, std::abs(v)) : std::isfinite(most) ? v : most;
  return std::abs(most);
}
void scale(Matrix& m, double by) {
  for (double& v : m.v) v *= by;
}
/// A power of two that brings the largest magnitude to 1, so that squares neither overflow nor vanish.
double unit(double largest) {
  return largest == 0 ? 1 : std::ldexp(1.0, -std::clamp(std::ilogb(largest), -1000, 1000));
}

// ---- QR

/// Columns of a as rows become, from the diagonal on, R; below it the vectors of the reflections I - tau v v^T, the
/// first element of which is 1. The sign of a diagonal element is the opposite of what stood there, as LAPACK has it.
void reflect(Matrix& columns, std::vector<double>& taus) {
  const std::int64_t m = columns.columns, n = columns.rows, k = std::min(m, n);
  taus.assign(static_cast<std::size_t>(k), 0.0);
  for (std::int64_t j = 0; j < k; ++j) {
    double* v = columns[j];
    double rest = 0;
    for (std::int64_t i = j + 1; i < m; ++i) rest = std::hypot(rest, v[i]);
    if (rest == 0) continue;
    const double alpha = v[j], beta = -std::copysign(std::hypot(alpha, rest), alpha), tau = (beta - alpha) / beta;
    for (std::int64_t i = j + 1; i < m; ++i) v[i] /= alpha - beta;
    v[j] = beta, taus[static_cast<std::size_t>(j)] = tau;
    for (std::int64_t c = j + 1; c < n; ++c) {
      double* x = columns[c];
      const double f = tau * (x[j] + dot(v + j + 1, x + j + 1, m - j - 1));
      x[j] -= f;
      for (std::int64_t i = j + 1; i < m; ++i) x[i] -= f * v[i];
    }
  }
}
/// The first `count` columns of the product of the reflections, as rows.
void product_of_reflections(Matrix& columns, const std::vector<double>& taus, std::int64_t count, Matrix& q) {
  const std::int64_t m = columns.columns;
  q.resize(count, m);
  std::fill(q.v.begin(), q.v.end(), 0.0);
  for (std::int64_t c = 0; c < count; ++c) {
    double* x = q[c];
    x[c] = 1;
    for (std::int64_t j = static_cast<std::int64_t>(taus.size()); j-- > 0;) {
      const double* v = columns[j];
      const double f = taus[static_cast<std::size_t>(j)] * (x[j] + dot(v + j + 1, x + j + 1, m - j - 1));
      x[j] -= f;
      for (std::int64_t i = j + 1; i < m; ++i) x[i] -= f * v[i];
    }
  }
}

void qr_kernel(const NativeArgs& a) {
  const TensorView &x = a.tensor(0), &q = a.result(0), &r = a.result(1);
  const std::int64_t m = x.sizes[x.rank - 2], n = x.sizes[x.rank - 1], made = r.sizes[r.rank - 2];
  const bool wants_q = a.text(1) != "r";
  if (r.numel() == 0 && (!wants_q || q.numel() == 0)) return;
  each_matrix<3>({x, r, wants_q ? q : r}, 2 * m * n * std::min(m, n),
                 [&, columns = Matrix(), upper = Matrix(), all = Matrix(), taus = std::vector<double>()](
                     const auto& at, std::int64_t) mutable {
                   columns.read(x, at[0], true);
                   reflect(columns, taus);
                   upper.resize(made, n);
                   for (std::int64_t i = 0; i < made; ++i)
                     for (std::int64_t j = 0; j < n; ++j) upper[i][j] = i <= j ? columns[j][i] : 0;
                   upper.write(r, at[1]);
                   if (!wants_q) return;
                   product_of_reflections(columns, taus, q.sizes[q.rank - 1], all);
                   all.write(q, at[2], true);
                 });
}

// ---- eigenvalues of symmetric matrices

/// Most sweeps over all pairs: each squares what is left, so that about ten do.
constexpr int kSweeps = 60;

void rotate(double* a, double* b, std::int64_t n, double c, double s) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double x = a[i], y = b[i];
    a[i] = c * x - s * y, b[i] = s * x + c * y;
  }
}

/// Rotations of a, whose elements are not above 2, until what stands beside the diagonal is rounding; `vectors` as
/// rows.
void diagonalize(Matrix& a, Matrix& vectors) {
  const std::int64_t n = a.rows;
  vectors.resize(n, n);
  std::fill(vectors.v.begin(), vectors.v.end(), 0.0);
  for (std::int64_t i = 0; i < n; ++i) vectors[i][i] = 1;
  constexpr double kNothing = std::numeric_limits<double>::epsilon() / 16;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool still = true;
    for (std::int64_t p = 0; p < n; ++p)
      for (std::int64_t q = p + 1; q < n; ++q) {
        const double beside = a[p][q];
        if (std::abs(beside) <= kNothing) continue;
        still = false;
        const double theta = (a[q][q] - a[p][p]) / (2 * beside),
                     t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::hypot(theta, 1.0)), c = 1 / std::hypot(t, 1.0),
                     s = t * c;
        rotate(a[p], a[q], n, c, s);
        for (std::int64_t i = 0; i < n; ++i) {
          const double x = a[i][p], y = a[i][q];
          a[i][p] = c * x - s * y, a[i][q] = s * x + c * y;
        }
        a[p][q] = a[q][p] = 0;
        rotate(vectors[p], vectors[q], n, c, s);
      }
    if (still) return;
  }
}

std::string not_finite(std::int64_t, const std::string& which) {
  return "matrix" + which + " has elements that are not finite";
}

std::vector<std::int64_t> in_order(const std::vector<double>& values, bool descending) {
  std::vector<std::int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    const double x = values[static_cast<std::size_t>(i)], y = values[static_cast<std::size_t>(j)];
    return descending ? x > y : x < y;
  });
  return order;
}

void eigh_kernel(const NativeArgs& a) {
  const TensorView &x = a.tensor(0), &values = a.result(0), &vectors = a.result(1);
  const bool upper = a.text(1) == "U";
  const std::int64_t n = x.sizes[x.rank - 1];
  if (x.numel() == 0) return;
  FirstFailure failure;
  each_matrix<3>({x, vectors, as_one_row(values)}, 10 * n * n * n,
                 [&, m = Matrix(), v = Matrix(), sorted = Matrix(), found = std::vector<double>()](
                     const auto& at, std::int64_t number) mutable {
                   m.read(x, at[0], upper);  // the lower triangle counts
                   for (std::int64_t i = 0; i < n; ++i)
                     for (std::int64_t j = i + 1; j < n; ++j) m[i][j] = m[j][i];
                   const double largest = magnitude(m), by = unit(largest);
                   if (!std::isfinite(largest)) return failure.note(number, 0);
                   scale(m, by);
                   diagonalize(m, v);
                   found.resize(static_cast<std::size_t>(n));
                   for (std::int64_t i = 0; i < n; ++i) found[static_cast<std::size_t>(i)] = m[i][i] / by;
                   const std::vector<std::int64_t> order = in_order(found, false);
                   sorted.resize(n, n);
                   for (std::int64_t i = 0; i < n; ++i) {
                     const std::int64_t from = order[static_cast<std::size_t>(i)];
                     std::copy_n(v[from], n, sorted[i]);
                     write_row(values, at[2] + i * values.strides[values.rank - 1], 0, 1,
                               &found[static_cast<std::size_t>(from)]);
                   }
                   sorted.write(vectors, at[1], true);
                 });
  failure.report(a, x.numel() / (n * n), not_finite);
}

// ---- singular values

/// Rows of `a` become orthogonal to each other, by rotations that `v` is given, too: what they are then are the left
/// vectors times the singular values.
void orthogonalize(Matrix& a, Matrix& v) {
  const std::int64_t n = a.rows, m = a.columns;
  constexpr double kNothing = std::numeric_limits<double>::epsilon();
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool still = true;
    for (std::int64_t p = 0; p < n; ++p)
      for (std::int64_t q = p + 1; q < n; ++q) {
        const double x = dot(a[p], a[p], m), y = dot(a[q], a[q], m), z = dot(a[p], a[q], m);
        if (std::abs(z) <= kNothing * std::sqrt(x) * std::sqrt(y) || z == 0) continue;
        still = false;
        const double theta = (y - x) / (2 * z), t = (theta < 0 ? -1 : 1) / (std::abs(theta) + std::hypot(theta, 1.0)),
                     c = 1 / std::hypot(t, 1.0), s = t * c;
        rotate(a[p], a[q], m, c, s);
        rotate(v[p], v[q], v.columns, c, s);
      }
    if (still) return;
  }
}
/// Rows from `known` on become what completes the rows before to orthonormal ones.
void complete(Matrix& rows, std::int64_t known) {
  const std::int64_t n = rows.columns;
  std::int64_t axis = 0;
  for (std::int64_t r = known; r < rows.rows; ++r) {
    double* x = rows[r];
    // of all axes one is at least so far from what r rows span
    for (double left = 0; left < 0.5 / std::sqrt(static_cast<double>(n)); ++axis) {
      std::fill_n(x, n, 0.0);
      x[axis % n] = 1;
      for (int twice = 0; twice < 2; ++twice)
        for (std::int64_t k = 0; k < r; ++k) {
          const double f = dot(x, rows[k], n);
          for (std::int64_t i = 0; i < n; ++i) x[i] -= f * rows[k][i];
        }
      left = std::sqrt(dot(x, x, n));
      for (std::int64_t i = 0; left > 0 && i < n; ++i) x[i] /= left;
    }
  }
}

void svd_kernel(const NativeArgs& a) {
  const TensorView &x = a.tensor(0), &u = a.result(0), &values = a.result(1), &vh = a.result(2);
  const std::int64_t m = x.sizes[x.rank - 2], n = x.sizes[x.rank - 1], k = std::min(m, n);
  if (u.numel() == 0 && vh.numel() == 0) return;
  const bool tall = m >= n;  // otherwise of the transposed matrix, whose vectors change places
  FirstFailure failure;
  each_matrix<4>({x, u, vh, as_one_row(values)}, 10 * m * n * k,
                 [&, rows = Matrix(), v = Matrix(), left = Matrix(), right = Matrix(), found = std::vector<double>()](
                     const auto& at, std::int64_t number) mutable {
                   rows.read(x, at[0], tall);  // k rows
                   const double largest = magnitude(rows), by = unit(largest);
                   if (!std::isfinite(largest)) return failure.note(number, 0);
                   scale(rows, by);
                   v.resize(k, k);
                   std::fill(v.v.begin(), v.v.end(), 0.0);
                   for (std::int64_t i = 0; i < k; ++i) v[i][i] = 1;
                   orthogonalize(rows, v);
                   found.resize(static_cast<std::size_t>(k));
                   for (std::int64_t i = 0; i < k; ++i)
                     found[static_cast<std::size_t>(i)] = std::sqrt(dot(rows[i], rows[i], rows.columns));
                   const std::vector<std::int64_t> order = in_order(found, true);
                   left.resize((tall ? u.sizes[u.rank - 1] : vh.sizes[vh.rank - 2]), std::max(m, n));
                   right.resize(k, k);
                   // What is rounding beside the largest has no direction of its own: those vectors are made orthogonal
                   // to the others.
                   const double nothing =
                       k ? found[static_cast<std::size_t>(order[0])] * std::numeric_limits<double>::epsilon() : 0;
                   std::int64_t known = 0;
                   for (std::int64_t i = 0; i < k; ++i) {
                     const std::int64_t from = order[static_cast<std::size_t>(i)];
                     const double s = found[static_cast<std::size_t>(from)], told = s / by;
                     std::copy_n(v[from], k, right[i]);
                     for (std::int64_t c = 0; s > nothing && c < left.columns; ++c) left[i][c] = rows[from][c] / s;
                     known += s > nothing;
                     write_row(values, at[3] + i * values.strides[values.rank - 1], 0, 1, &told);
                   }
                   complete(left, known);
                   (tall ? left : right).write(u, at[1], true);
                   (tall ? right : left).write(vh, at[2]);
                 });
  failure.report(a, k > 0 ? x.numel() / (m * n) : 1, not_finite);
}

// ---- shape rules

const char* name(const graph::RuleCtx& c) { return c.op.schema.name.c_str(); }

/// The batch of m with these sizes behind it.
Ints behind(const TensorMeta& m, std::initializer_list<Int> sizes) {
  Ints all(m.layout.sizes.begin(), m.layout.sizes.end() - 2);
  all.append(sizes.begin(), sizes.end());
  return all;
}
void qr_shape(graph::RuleCtx& c) {
  const TensorMeta& x = c.tensor(0);
  need_matrix(name(c), c.loc, x, false);
  const std::string_view mode = c.str(1);
  if (mode != "reduced" && mode != "complete" && mode != "r")
    fail(ErrorCode::InvalidArgument, name(c), c.loc, "mode is '", mode, "', expected reduced, complete or r");
  const Int m = x.size(x.dim() - 2), n = x.size(x.dim() - 1), k = mode == "complete" ? m : Int::min(m, n);
  c.result(x.dtype, mode == "r" ? Ints{0} : behind(x, {m, k}));
  c.result(x.dtype, behind(x, {k, n}));
}
void eigh_shape(graph::RuleCtx& c) {
  const TensorMeta& x = c.tensor(0);
  need_matrix(name(c), c.loc, x, true);
  if (c.str(1) != "L" && c.str(1) != "U")
    fail(ErrorCode::InvalidArgument, name(c), c.loc, "UPLO is '", c.str(1), "', expected L or U");
  c.result(x.dtype, behind(x, {x.size(x.dim() - 1)}));
  c.result(x.dtype, x.layout.sizes);
}
void svd_shape(graph::RuleCtx& c) {
  const TensorMeta& x = c.tensor(0);
  need_matrix(name(c), c.loc, x, false);
  const Int m = x.size(x.dim() - 2), n = x.size(x.dim() - 1), k = Int::min(m, n);
  const bool full = c.flag(1);
  c.result(x.dtype, behind(x, {m, full ? m : k}));
  c.result(x.dtype, behind(x, {k}));
  c.result(x.dtype, behind(x, {full ? n : k, n}));
}

OpId qr_op() {
  static const OpId id = graph::register_op(
      {.schema = "linalg_qr(Tensor A, str mode='reduced') -> (Tensor Q, Tensor R)", .shape = qr_shape},
      {kernels::reference_kernels().fact({qr_kernel}),
       operators::derivative(operators::derivatives::qr, autograd::in(0) + autograd::out(0) + autograd::out(1))});
  return id;
}
OpId eigh_op() {
  static const OpId id = graph::register_op(
      {.schema = "linalg_eigh(Tensor self, str UPLO='L') -> (Tensor eigenvalues, Tensor eigenvectors)",
       .shape = eigh_shape,
       .effects = {.may_fail = true}},
      {kernels::reference_kernels().fact({eigh_kernel}),
       operators::derivative(operators::derivatives::eigh, autograd::out(0) + autograd::out(1))});
  return id;
}
OpId svd_op() {
  static const OpId id = graph::register_op(
      {.schema = "linalg_svd(Tensor A, bool full_matrices=True) -> (Tensor U, Tensor S, Tensor Vh)",
       .shape = svd_shape,
       .effects = {.may_fail = true}},
      {kernels::reference_kernels().fact({svd_kernel}),
       operators::derivative(operators::derivatives::svd, autograd::out(0) + autograd::out(1) + autograd::out(2))});
  return id;
}

}  // namespace

TensorPair qr(const Tensor& A, std::string_view mode, SourceLoc loc) {
  return named("qr", [&] { return graph::api::pair(graph::calln(qr_op(), {arg(A), arg(mode)}, loc)); });
}
TensorPair eigh(const Tensor& A, std::string_view UPLO, SourceLoc loc) {
  return named("eigh", [&] { return graph::api::pair(graph::calln(eigh_op(), {arg(A), arg(UPLO)}, loc)); });
}
Tensor eigvalsh(const Tensor& A, std::string_view UPLO, SourceLoc loc) {
  return named("eigvalsh", [&] { return eigh(A, UPLO, loc).first; });
}
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& A, bool full_matrices, SourceLoc loc) {
  return named("svd", [&] {
    const std::vector<Tensor> r = graph::calln(svd_op(), {arg(A), arg(full_matrices)}, loc);
    return std::tuple(r[0], r[1], r[2]);
  });
}
Tensor svdvals(const Tensor& A, SourceLoc loc) {
  return named("svdvals", [&] { return std::get<1>(svd(A, false, loc)); });
}

Tensor pinv(const Tensor& A, std::optional<double> rtol, SourceLoc loc) {
  return named("pinv", [&] {
    const TensorMeta m = checked_meta(A, "pinv", loc);
    need_matrix("pinv", loc, m, false);
    // Rounded once: the factors are of a wider dtype where there is one.
    const Tensor x = is_low_precision(m.dtype) ? to(A, kFloat32, loc) : A;
    const auto [u, s, vh] = svd(x, false, loc);
    const Int rows = m.size(m.dim() - 2), columns = m.size(m.dim() - 1);
    const double epsilon = x.dtype() == kFloat64 ? std::numeric_limits<double>::epsilon()
                                                 : static_cast<double>(std::numeric_limits<float>::epsilon());
    const Scalar of_largest = rtol ? Scalar(*rtol) : Scalar(Int::max(rows, columns)) * Scalar(epsilon);
    const bool none = graph::ask(detail::compare_eq(Int::min(rows, columns), 0, loc), "pinv: is there a value?");
    const Tensor least = mul(none ? s : amax(abs(s, loc), {-1}, true, loc), of_largest, loc);
    const Tensor inverse = where(gt(s, least, loc), reciprocal(s, loc), 0.0, loc);
    return to(matmul(mul(transpose(vh, -2, -1, loc), unsqueeze(inverse, -2, loc), loc), transpose(u, -2, -1, loc), loc),
              m.dtype, loc);
  });
}
Tensor logdet(const Tensor& self, SourceLoc loc) {
  return named("logdet", [&] {
    const auto [sign, logarithm] = slogdet(self, loc);
    return where(lt(sign, 0, loc), std::numeric_limits<double>::quiet_NaN(), logarithm, loc);
  });
}

namespace operators {
void register_factors() { qr_op(), eigh_op(), svd_op(); }
}  // namespace operators

}  // namespace reprise
