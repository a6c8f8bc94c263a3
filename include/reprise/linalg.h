#pragma once
#include <tuple>

#include "reprise/ops.h"

/// Linear algebra of matrices, the last two dimensions; those before are batches, and of two operands broadcast. Made
/// for small matrices, many at a time: computed in double and rounded once. Floats (DTypeMismatch), square where that
/// is said (ShapeMismatch). A size of 0 is an empty matrix.
namespace reprise REPRISE_VISIBLE {

/// The lower triangular L with L L^T = self, or with upper the upper one. Of self the lower (upper) triangle is read.
/// Not positive-definite: InvalidArgument that names the first such matrix and the order of its leading minor.
Tensor cholesky(const Tensor& self, bool upper = false, SourceLoc loc = SourceLoc::current());
/// x with A x = self, where the triangle of A = L L^T is given.
Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper = false,
                      SourceLoc loc = SourceLoc::current());
Tensor cholesky_inverse(const Tensor& self, bool upper = false, SourceLoc loc = SourceLoc::current());

/// X with A X = B, or with left false X A = B. B is [..., n, k]; or a vector for each matrix: of one dimension, or of
/// A's sizes without the last. Singular: InvalidArgument that names the first such matrix.
Tensor solve(const Tensor& A, const Tensor& B, bool left = true, SourceLoc loc = SourceLoc::current());
/// The same where of A, with zeros beyond, one triangle is given; with unitriangular its diagonal counts as ones. A
/// zero on the diagonal gives infinities.
Tensor solve_triangular(const Tensor& A, const Tensor& B, bool upper, bool left = true, bool unitriangular = false,
                        SourceLoc loc = SourceLoc::current());
/// solve_triangular(A, self), or with A transposed; the second result is A.
TensorPair triangular_solve(const Tensor& self, const Tensor& A, bool upper = true, bool transpose = false,
                            bool unitriangular = false, SourceLoc loc = SourceLoc::current());
/// Singular: InvalidArgument.
Tensor inverse(const Tensor& self, SourceLoc loc = SourceLoc::current());

/// (LU, pivots) of P A = L U: L below the diagonal of LU, whose own is ones, U from it on; pivots (int32, counted from
/// 1): row i changed places with row pivots[i]. Singular matrices have a zero on U's diagonal.
TensorPair lu_factor(const Tensor& A, SourceLoc loc = SourceLoc::current());
/// 0 of singular matrices, 1 of empty ones.
Tensor det(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// (sign, logarithm of the absolute value), which neither overflow nor vanish; (0, -inf) of singular matrices.
TensorPair slogdet(const Tensor& self, SourceLoc loc = SourceLoc::current());

/// log(det): NaN where the determinant is negative, -inf where it is 0.
Tensor logdet(const Tensor& self, SourceLoc loc = SourceLoc::current());

/// (Q, R) with A = Q R: Q's columns are orthonormal, R is upper triangular. A is [..., m, n]; "reduced": Q is [..., m,
/// min(m, n)]; "complete": [..., m, m]; "r": R alone, and Q of size 0.
TensorPair qr(const Tensor& A, std::string_view mode = "reduced", SourceLoc loc = SourceLoc::current());
/// (eigenvalues in ascending order, eigenvectors as columns) of symmetric matrices; reads the lower triangle, with UPLO
/// "U" the upper one. Signs of vectors are arbitrary. Non-finite input throws InvalidArgument, which names the first
/// such matrix.
TensorPair eigh(const Tensor& A, std::string_view UPLO = "L", SourceLoc loc = SourceLoc::current());
Tensor eigvalsh(const Tensor& A, std::string_view UPLO = "L", SourceLoc loc = SourceLoc::current());
/// (U, S, Vh) with A = U diag(S) Vh, S in descending order; with full_matrices U is [..., m, m] and Vh [..., n, n],
/// otherwise they have min(m, n) columns and rows. Not finite: InvalidArgument.
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& A, bool full_matrices = true,
                                       SourceLoc loc = SourceLoc::current());
Tensor svdvals(const Tensor& A, SourceLoc loc = SourceLoc::current());
/// The Moore-Penrose inverse: singular values below rtol (max(m, n) times the dtype's epsilon) times the largest count
/// as 0.
Tensor pinv(const Tensor& A, std::optional<double> rtol = std::nullopt, SourceLoc loc = SourceLoc::current());

/// The sum of the diagonal of one matrix, of any sizes; integers give int64.
Tensor trace(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// Each element of self times all of other, as blocks; any dtypes and numbers of dimensions.
Tensor kron(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current());
/// The vector product along dim, of size 3; operands of as many dimensions broadcast.
Tensor cross(const Tensor& self, const Tensor& other, Int dim = -1, SourceLoc loc = SourceLoc::current());
/// Sums of products over the last dims of self and the first of other, or over the dimensions that are listed.
Tensor tensordot(const Tensor& self, const Tensor& other, Int dims = 2, SourceLoc loc = SourceLoc::current());
Tensor tensordot(const Tensor& self, const Tensor& other, IntArrayRef dims_self, IntArrayRef dims_other,
                 SourceLoc loc = SourceLoc::current());
/// x1 [..., p, m], x2 [..., r, m]: [..., p, r], the p-norms of the differences of their rows, each computed as it
/// stands.
Tensor cdist(const Tensor& x1, const Tensor& x2, double p = 2.0, SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
