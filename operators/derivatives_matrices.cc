// Derivatives of factors and solutions of matrices, of distances and bilinear forms. M. Giles, Collected matrix
// derivative results for forward and reverse mode algorithmic differentiation (2008); S. Walter, L. Lehmann,
// Algorithmic differentiation of linear algebra functions (2010), for the factors.
#include <cmath>

#include "autograd/rule_parts.h"
#include "base/errors.h"
#include "graph/api_args.h"
#include "operators/block_linear.h"
#include "operators/derivatives.h"
#include "reprise/linalg.h"

namespace reprise::operators::derivatives {

using namespace autograd::rules;
using autograd::Backward;
using graph::api::arg;

namespace {

/// x of tri x = b, and of x tri = b.
Tensor solved(const Tensor& tri, const Tensor& rhs, bool upper, SourceLoc loc, bool unit = false) {
  return reprise::solve_triangular(tri, rhs, upper, true, unit, loc);
}
Tensor solved_from_right(const Tensor& tri, const Tensor& rhs, bool upper, SourceLoc loc, bool unit = false) {
  return mT(solved(mT(tri, loc), mT(rhs, loc), !upper, loc, unit), loc);
}
/// The lower triangle on both sides of the diagonal.
Tensor mirrored(const Tensor& t, SourceLoc loc) { return tril(t, 0, loc) + mT(tril(t, -1, loc), loc); }
/// One row's or column's numbers on a diagonal.
Tensor on_diagonal(const Tensor& v, SourceLoc loc) {
  return unsqueeze(v, -1, loc) * eye(v.size(-1), std::nullopt, v.options(), loc);
}
Tensor is_diagonal(Int n, const Tensor& like, SourceLoc loc) {
  return eye(n, std::nullopt, {kBool, like.device()}, loc);
}

}  // namespace

void solve(Backward& b) {
  const Tensor given = reprise::solve(mT(b.tensor(0), b.loc()), b.grad(), true, b.loc());
  b.give(1, given);
  if (b.wants(0)) b.give(0, -matmul(given, mT(b.result(), b.loc()), b.loc()));
}
void solve_triangular(Backward& b) {
  const SourceLoc loc = b.loc();
  const bool upper = b.flag(2), unit = b.flag(3);
  const Tensor given = solved(mT(b.tensor(0), loc), b.grad(), !upper, loc, unit);
  b.give(1, given);
  if (!b.wants(0)) return;
  const Tensor all = -matmul(given, mT(b.result(), loc), loc);
  b.give(0, upper ? triu(all, unit ? 1 : 0, loc) : tril(all, unit ? -1 : 0, loc));
}

void cholesky(Backward& b) {
  const SourceLoc loc = b.loc();
  const bool upper = b.flag(1);
  const Tensor l = upper ? mT(b.result(), loc) : b.result(), g = upper ? mT(b.grad(), loc) : b.grad();
  const Tensor inner = solved(mT(l, loc), mirrored(matmul(mT(l, loc), g, loc), loc), true, loc);
  b.give(0, solved_from_right(l, inner, false, loc) * 0.5);
}

// P A = L U, of the square part as of square matrices. Columns beyond it are those of U alone: P A_2 = L U_2; rows
// beyond it those of L alone: (P A)_2 = L_2 U.
void lu_factor(Backward& b) {
  const SourceLoc loc = b.loc();
  const Ints& sizes = b.sizes(0);
  const Int m = sizes[sizes.size() - 2], n = sizes.back();
  const bool flat = m < n, tall = n < m;
  const Int k = flat ? m : n;
  const Tensor all = b.result(0), given = b.grad(0);
  auto square = [&](const Tensor& t) { return flat ? narrow(t, -1, 0, k, loc) : tall ? narrow(t, -2, 0, k, loc) : t; };
  auto beyond = [&](const Tensor& t) { return flat ? narrow(t, -1, k, n - k, loc) : narrow(t, -2, k, m - k, loc); };
  const Tensor lu = square(all), g = square(given), lower = tril(lu, -1, loc) + eye(k, std::nullopt, lu.options(), loc);
  Tensor of_lower = matmul(mT(lower, loc), tril(g, -1, loc), loc),
         of_upper = matmul(triu(g, 0, loc), mT(triu(lu, 0, loc), loc), loc);
  if (flat) of_lower = of_lower - matmul(beyond(given), mT(beyond(all), loc), loc);
  if (tall) of_upper = of_upper - matmul(mT(beyond(all), loc), beyond(given), loc);
  const Tensor inner = tril(of_lower, -1, loc) + triu(of_upper, 0, loc);
  Tensor moved = solved_from_right(mT(lu, loc), solved(mT(lu, loc), inner, true, loc, true), false, loc);
  if (flat) moved = cat({moved, solved(mT(lu, loc), beyond(given), true, loc, true)}, -1, loc);
  if (tall) moved = cat({moved, solved_from_right(mT(lu, loc), beyond(given), false, loc)}, -2, loc);
  b.give(0, gather(moved, -2, expand(unsqueeze(b.result(2), -1, loc), sizes, loc), loc));
}

// Of as many rows as columns, or more; of fewer, the first columns are factored so, and the others follow.
void qr(Backward& b) {
  const SourceLoc loc = b.loc();
  const Ints& sizes = b.sizes(0);
  const Int m = sizes[sizes.size() - 2], n = sizes.back();
  const std::string_view mode = b.text(1);
  if (mode == "r")
    fail(ErrorCode::InvalidArgument, "linalg_qr", loc,
         "mode 'r' has no derivative, which is made of Q: take 'reduced'");
  const bool wide_ = m < n;
  if (mode == "complete" && m > n)
    fail(ErrorCode::InvalidArgument, "linalg_qr", loc,
         "mode 'complete' has a derivative only where there are no more rows than columns: take 'reduced'");
  const Tensor q = b.result(0), all_r = b.result(1), g_r = b.grad(1);
  Tensor g_q = b.grad(0), last;
  if (wide_) {
    const Tensor g_v = narrow(g_r, -1, m, n - m, loc), y = narrow(b.tensor(0), -1, m, n - m, loc);
    g_q = g_q + matmul(y, mT(g_v, loc), loc), last = matmul(q, g_v, loc);
  }
  const Tensor r = wide_ ? narrow(all_r, -1, 0, m, loc) : all_r, g_u = wide_ ? narrow(g_r, -1, 0, m, loc) : g_r;
  const Tensor inner = matmul(r, mT(triu(g_u, 0, loc), loc), loc) - matmul(mT(g_q, loc), q, loc);
  const Tensor given = solved_from_right(mT(r, loc), g_q + matmul(q, mirrored(inner, loc), loc), false, loc);
  b.give(0, wide_ ? cat({given, last}, -1, loc) : given);
}

// A is symmetric to it, whichever triangle was read.
void eigh(Backward& b) {
  const SourceLoc loc = b.loc();
  const Tensor v = b.result(1);
  Tensor inner = on_diagonal(b.grad(0), loc);
  if (b.has_grad(1)) {
    const Tensor l = b.result(0), same = is_diagonal(l.size(-1), l, loc),
                 apart = unsqueeze(l, -2, loc) - unsqueeze(l, -1, loc);
    inner = inner + unless(same, matmul(mT(v, loc), b.grad(1), loc) / where(same, 1, apart, loc), loc);
  }
  b.give(0, matmul(matmul(v, inner, loc), mT(v, loc), loc));
}

// Vectors that full_matrices adds are any that complete a basis: constants to it, as to ATen's.
void svd(Backward& b) {
  const SourceLoc loc = b.loc();
  const Ints& sizes = b.sizes(0);
  const Int m = sizes[sizes.size() - 2], n = sizes.back(), k = Int::min(m, n);
  const bool tall = m > n, flat = m < n;
  auto first = [&](const Tensor& t, int dim) { return b.flag(1) ? narrow(t, dim, 0, k, loc) : t; };
  const Tensor u = first(b.result(0), -1), s = b.result(1), vh = first(b.result(2), -2), v = mT(vh, loc);
  Tensor inner = on_diagonal(b.grad(1), loc);
  const Tensor same = is_diagonal(k, s, loc), squares = s * s,
               apart = where(same, 1, unsqueeze(squares, -2, loc) - unsqueeze(squares, -1, loc), loc);
  auto skew = [&](const Tensor& t) { return (t - mT(t, loc)) / apart; };
  Tensor beside;
  if (b.has_grad(0)) {
    const Tensor g = first(b.grad(0), -1);
    inner = inner + skew(matmul(mT(u, loc), g, loc)) * unsqueeze(s, -2, loc);
    if (tall) {
      const Tensor out = (g - matmul(u, matmul(mT(u, loc), g, loc), loc)) / unsqueeze(s, -2, loc);
      beside = matmul(out, vh, loc);
    }
  }
  if (b.has_grad(2)) {
    const Tensor g = mT(first(b.grad(2), -2), loc);
    inner = inner + unsqueeze(s, -1, loc) * skew(matmul(vh, g, loc));
    if (flat) beside = matmul(u, mT((g - matmul(v, matmul(vh, g, loc), loc)) / unsqueeze(s, -2, loc), loc), loc);
  }
  const Tensor given = matmul(matmul(u, inner, loc), vh, loc);
  b.give(0, beside.defined() ? given + beside : given);
}

// ---- distances

void cdist(Backward& b) {
  const SourceLoc loc = b.loc();
  const double p = b.number(2).to_double(loc);
  if (p == 0) return;
  const Tensor x = wide(b.tensor(0), loc), y = wide(b.tensor(1), loc), g = wide(b.grad(), loc),
               d = wide(b.result(), loc), at_0 = d == 0;
  const Tensor some = unless(at_0, g, loc), safe = where(at_0, 1, d, loc);
  if (p == 2) {  // all differences at once would be larger than either side
    const Tensor by = some / safe;
    if (b.wants(0)) b.give(0, x * sum(by, -1, true, std::nullopt, loc) - matmul(by, y, loc));
    if (b.wants(1))
      b.give(1, y * unsqueeze(sum(by, -2, false, std::nullopt, loc), -1, loc) - matmul(mT(by, loc), x, loc));
    return;
  }
  const Tensor apart = unsqueeze(x, -2, loc) - unsqueeze(y, -3, loc), signs = sign(apart, loc);
  Tensor each;
  if (p == 1) {
    each = signs * unsqueeze(g, -1, loc);
  } else if (std::isinf(p)) {
    const Tensor far = abs(apart, loc);  // the result may have been rounded to a half type
    each = only(far == amax(far, -1, true, loc), signs * unsqueeze(g, -1, loc), loc);
  } else {
    const Tensor is_0 = apart == 0, far = where(is_0, 1, abs(apart, loc), loc);
    each = unless(is_0, signs * pow(far / unsqueeze(safe, -1, loc), p - 1, loc) * unsqueeze(some, -1, loc), loc);
  }
  if (b.wants(0)) b.give(0, sum(each, -2, false, std::nullopt, loc));
  if (b.wants(1)) b.give(1, -sum(each, -3, false, std::nullopt, loc));
}

// ---- bilinear forms

void bilinear(Backward& b) {
  const SourceLoc loc = b.loc();
  const Tensor& g = b.grad();
  if (b.wants(3)) b.give(3, g);
  const Ints& w = b.sizes(2);
  const Int n = numel_of(Ints(b.result_sizes().begin(), b.result_sizes().end() - 1)), o = w[0], i = w[1], j = w[2];
  const Tensor of = reshape(g, {n, o}, loc);
  auto rows = [&](int arg_, Int width) { return reshape(b.tensor(arg_), {n, width}, loc); };
  /// All products of two rows' numbers: [n, left * right].
  auto pairs = [&](const Tensor& left, Int nl, const Tensor& right, Int nr) {
    return reshape(unsqueeze(left, 2, loc) * unsqueeze(right, 1, loc), {n, nl * nr}, loc);
  };
  if (b.wants(0))
    b.give(0,
           reshape(mm(pairs(of, o, rows(1, j), j), reshape(permute(b.tensor(2), {0, 2, 1}, loc), {o * j, i}, loc), loc),
                   b.sizes(0), loc));
  if (b.wants(1))
    b.give(1, reshape(mm(pairs(of, o, rows(0, i), i), reshape(b.tensor(2), {o * i, j}, loc), loc), b.sizes(1), loc));
  if (b.wants(2)) b.give(2, reshape(mm(mT(of, loc), pairs(rows(0, i), i, rows(1, j), j), loc), w, loc));
}

// The weight is what the operator makes of the unit vectors.
void block_linear(Backward& b) {
  const SourceLoc loc = b.loc();
  const Tensor weight = b.tensor(1), unit = eye(b.sizes(0).back(), std::nullopt, {b.dtype(0), b.device(0)}, loc);
  // [in, out]
  const Tensor rows =
      operators::block_linear(unit, weight, *kernels::block_format(b.text(2)), Activations::Float32, loc);
  b.give(0, matmul(b.grad(), mT(rows, loc), loc));
}

}  // namespace reprise::operators::derivatives
