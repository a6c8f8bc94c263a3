#pragma once
#include <vector>

#include "reprise/ops.h"

/// Functions over the others, by ATen's names: matrices of diagonals, stacks, orders, statistics of two.
namespace reprise REPRISE_VISIBLE {

// ---- shapes
/// repeat, where dims lists fewer numbers than self has dimensions: the last ones.
Tensor tile(const Tensor& self, IntArrayRef dims, SourceLoc loc = SourceLoc::current());
/// With dimensions of size 1 as far as there are too few: of three, [1, n, 1] and [n, m, 1]. A view.
Tensor atleast_1d(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor atleast_2d(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor atleast_3d(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// Vectors as columns side by side with matrices; all of at least three dimensions, along the third.
Tensor column_stack(TensorArrayRef tensors, SourceLoc loc = SourceLoc::current());
Tensor dstack(TensorArrayRef tensors, SourceLoc loc = SourceLoc::current());
/// All as views of one size.
std::vector<Tensor> broadcast_tensors(TensorArrayRef tensors, SourceLoc loc = SourceLoc::current());
/// Turned by k quarters from the first of two dimensions towards the second.
Tensor rot90(const Tensor& self, std::int64_t k = 1, IntArrayRef dims = {0, 1}, SourceLoc loc = SourceLoc::current());
/// The columns, the rows in opposite order.
Tensor fliplr(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor flipud(const Tensor& self, SourceLoc loc = SourceLoc::current());

// ---- diagonals
/// Of a vector the matrix with it as a diagonal; of a matrix a diagonal, copied.
Tensor diag(const Tensor& self, Int diagonal = 0, SourceLoc loc = SourceLoc::current());
/// Vectors of self's last dimension as diagonals of matrices in dim1 and dim2 of the result.
Tensor diag_embed(const Tensor& self, Int offset = 0, Int dim1 = -2, Int dim2 = -1, SourceLoc loc = SourceLoc::current());
Tensor diagflat(const Tensor& self, Int offset = 0, SourceLoc loc = SourceLoc::current());
/// Matrices (vectors and numbers count as rows) one after the other along the diagonal, zeros beside them.
Tensor block_diag(TensorArrayRef tensors, SourceLoc loc = SourceLoc::current());

// ---- order and sets
/// Which elements are among test_elements: bools.
Tensor isin(const Tensor& elements, const Tensor& test_elements, bool assume_unique = false, bool invert = false, SourceLoc loc = SourceLoc::current());
/// sort along the first dimension.
Tensor msort(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// 0 to n - 1 in random order: int64.
Tensor randperm(Int n, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());

// ---- products and statistics
/// Sums of products along the last dimensions; of 0-dim tensors mul.
Tensor inner(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current());
Tensor vdot(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current());
TensorPair var_mean(const Tensor& self, const OptionalDims& dim = {}, Scalar correction = 1, bool keepdim = false, SourceLoc loc = SourceLoc::current());
TensorPair std_mean(const Tensor& self, const OptionalDims& dim = {}, Scalar correction = 1, bool keepdim = false, SourceLoc loc = SourceLoc::current());
/// Of variables in rows, observations in columns: their covariances; divided by the standard deviations. Floats.
Tensor cov(const Tensor& self, Int correction = 1, SourceLoc loc = SourceLoc::current());
Tensor corrcoef(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// The p-norm of self - other.
Tensor dist(const Tensor& self, const Tensor& other, Scalar p = 2, SourceLoc loc = SourceLoc::current());
/// Each slice along dim that is longer than maxnorm (p-norm) shortened to it.
Tensor renorm(const Tensor& self, Scalar p, Int dim, Scalar maxnorm, SourceLoc loc = SourceLoc::current());
/// other - alpha * self.
Tensor rsub(const Tensor& self, const Operand& other, Scalar alpha = 1, SourceLoc loc = SourceLoc::current());
/// The integral of y by trapezoids, dx apart or at x.
Tensor trapezoid(const Tensor& y, Scalar dx = 1, Int dim = -1, SourceLoc loc = SourceLoc::current());
Tensor trapezoid(const Tensor& y, const Tensor& x, Int dim = -1, SourceLoc loc = SourceLoc::current());
/// Powers 0 to N - 1 (N: as many as elements) of a vector's elements as columns, the highest first.
Tensor vander(const Tensor& x, std::optional<Int> N = std::nullopt, bool increasing = false, SourceLoc loc = SourceLoc::current());
/// base to the power of linspace.
Tensor logspace(Scalar start, Scalar end, Int steps, double base = 10.0, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());

}  // namespace reprise
