#pragma once
#include "reprise/ops.h"

/// What ATen's users write in one word and other functions are made of. Sizes that do not fit: ShapeMismatch; dtypes:
/// DTypeMismatch.
namespace reprise REPRISE_VISIBLE {

// ---- sizes
/// Views with one, two, three dimensions at least: a vector is [1, n], [1, n, 1], a matrix [n, m, 1].
Tensor atleast_1d(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor atleast_2d(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor atleast_3d(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// Views of all in the sizes that they broadcast to.
std::vector<Tensor> broadcast_tensors(TensorArrayRef tensors, SourceLoc loc = SourceLoc::current());
/// repeat, where missing leading repeats are 1.
Tensor tile(const Tensor& self, IntArrayRef dims, SourceLoc loc = SourceLoc::current());
/// One dimension: a view of what is contiguous, else a copy.
Tensor ravel(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor moveaxis(const Tensor& self, Int source, Int destination, SourceLoc loc = SourceLoc::current());
namespace detail {
Tensor move_dims(const Tensor& self, IntArrayRef source, IntArrayRef destination, const char* op, SourceLoc loc);
}
/// Dimensions source[i] at places destination[i]; the others keep their order. InvalidArgument for one that is named
/// twice. (Templates: of two numbers it is the function above.)
template <int = 0>
Tensor movedim(const Tensor& self, IntArrayRef source, IntArrayRef destination, SourceLoc loc = SourceLoc::current()) {
  return detail::move_dims(self, source, destination, "movedim", loc);
}
template <int = 0>
Tensor moveaxis(const Tensor& self, IntArrayRef source, IntArrayRef destination, SourceLoc loc = SourceLoc::current()) {
  return detail::move_dims(self, source, destination, "moveaxis", loc);
}
/// mT: there are no complex numbers.
Tensor adjoint(const Tensor& self, SourceLoc loc = SourceLoc::current());

// ---- joining
Tensor concat(TensorArrayRef tensors, Int dim = 0, SourceLoc loc = SourceLoc::current());
Tensor concatenate(TensorArrayRef tensors, Int dim = 0, SourceLoc loc = SourceLoc::current());
Tensor row_stack(TensorArrayRef tensors, SourceLoc loc = SourceLoc::current());
/// cat along the second dimension, where vectors are columns; along the third of atleast_3d.
Tensor column_stack(TensorArrayRef tensors, SourceLoc loc = SourceLoc::current());
Tensor dstack(TensorArrayRef tensors, SourceLoc loc = SourceLoc::current());
/// Matrices (vectors are rows, numbers [1, 1]) along the diagonal of zeros.
Tensor block_diag(TensorArrayRef tensors, SourceLoc loc = SourceLoc::current());

// ---- diagonals
/// A vector as the diagonal of a matrix of zeros; of a matrix a copy of its diagonal.
Tensor diag(const Tensor& self, Int diagonal = 0, SourceLoc loc = SourceLoc::current());
/// The last dimension as diagonals of matrices of zeros, which have the result's dimensions dim1 and dim2. offset is a
/// constant of a trace.
Tensor diag_embed(const Tensor& self, Int offset = 0, Int dim1 = -2, Int dim2 = -1,
                  SourceLoc loc = SourceLoc::current());
/// diag of all elements.
Tensor diagflat(const Tensor& self, Int offset = 0, SourceLoc loc = SourceLoc::current());

// ---- turning
/// flip along the second dimension, along the first.
Tensor fliplr(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor flipud(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// k times by 90 degrees from dims[0] towards dims[1]. k is a constant of a trace.
Tensor rot90(const Tensor& self, Int k = 1, IntArrayRef dims = {0, 1}, SourceLoc loc = SourceLoc::current());

// ---- arithmetic
Tensor divide(const Operand& self, const Operand& other, std::string_view rounding_mode = {},
              SourceLoc loc = SourceLoc::current());
Tensor true_divide(const Operand& self, const Operand& other, SourceLoc loc = SourceLoc::current());
Tensor subtract(const Operand& self, const Operand& other, Scalar alpha = 1, SourceLoc loc = SourceLoc::current());
/// other - alpha * self.
Tensor rsub(const Operand& self, const Operand& other, Scalar alpha = 1, SourceLoc loc = SourceLoc::current());
/// Rounded to `decimals` places behind the point, or with a negative number before it; halves to even. Floats. decimals
/// is a constant of a trace.
Tensor round(const Tensor& self, Int decimals, SourceLoc loc = SourceLoc::current());
/// The complex numbers of these magnitudes and angles, as pairs [..., 2] (reprise/fft.h says why).
Tensor polar(const Tensor& abs, const Tensor& angle, SourceLoc loc = SourceLoc::current());
/// Pairs are what complex numbers are here: views of self, whose last dimension must have size 2.
Tensor view_as_complex(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor view_as_real(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// base ** linspace(start, end, steps).
Tensor logspace(Scalar start, Scalar end, Int steps, double base = 10.0, const TensorOptions& options = {},
                SourceLoc loc = SourceLoc::current());
/// self's powers 0 to n - 1 (n: self's size if none; a constant of a trace) as columns, falling unless `increasing`. A
/// vector.
Tensor vander(const Tensor& self, std::optional<Int> n = std::nullopt, bool increasing = false,
              SourceLoc loc = SourceLoc::current());
/// The integral of y along dim by trapezoids, `dx` apart or at x: a vector, or of sizes that broadcast to y's. Integers
/// give floats.
Tensor trapezoid(const Tensor& y, Scalar dx = 1, Int dim = -1, SourceLoc loc = SourceLoc::current());
Tensor trapezoid(const Tensor& y, const Tensor& x, Int dim = -1, SourceLoc loc = SourceLoc::current());

// ---- statistics
/// (var or std, mean).
TensorPair var_mean(const Tensor& self, const OptionalDims& dim = {}, Scalar correction = 1, bool keepdim = false,
                    SourceLoc loc = SourceLoc::current());
TensorPair std_mean(const Tensor& self, const OptionalDims& dim = {}, Scalar correction = 1, bool keepdim = false,
                    SourceLoc loc = SourceLoc::current());
/// The covariance of the rows of a matrix, whose columns are observations; a vector is one row and gives a number.
/// fweights (integers) count observations, aweights (floats) weigh them.
Tensor cov(const Tensor& self, Int correction = 1, const Tensor& fweights = {}, const Tensor& aweights = {},
           SourceLoc loc = SourceLoc::current());
/// The same divided by both deviations, within [-1, 1].
Tensor corrcoef(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// Each slice along dim whose p-norm is more than maxnorm is scaled to it. Floats of two dimensions at least.
Tensor renorm(const Tensor& self, Scalar p, Int dim, Scalar maxnorm, SourceLoc loc = SourceLoc::current());
/// norm(self - other, p).
Tensor dist(const Tensor& self, const Tensor& other, Scalar p = 2, SourceLoc loc = SourceLoc::current());
/// self / max(p-norm along dim, eps), of floats.
Tensor normalize(const Tensor& self, Scalar p = 2.0, Int dim = 1, double eps = 1e-12,
                 SourceLoc loc = SourceLoc::current());

// ---- indices
/// index_add of alpha * source.
Tensor index_add(const Tensor& self, Int dim, const Tensor& index, const Tensor& source, Scalar alpha,
                 SourceLoc loc = SourceLoc::current());
/// What scatter would put in a place is added to it ("add") or multiplied with it ("multiply"). InvalidArgument for
/// another word.
Tensor scatter(const Tensor& self, Int dim, const Tensor& index, const Operand& src, std::string_view reduce,
               SourceLoc loc = SourceLoc::current());

// ---- products
/// beta * self + alpha * the sum of batch1[i] @ batch2[i], of [b, n, m] and [b, m, p]; self broadcasts to [n, p], and
/// is not read where beta is 0.
Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, Scalar beta = 1, Scalar alpha = 1,
              SourceLoc loc = SourceLoc::current());
/// Sums of products over the last dimensions: self's other sizes, then other's. With a number: mul.
Tensor inner(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current());
Tensor ger(const Tensor& self, const Tensor& vec2, SourceLoc loc = SourceLoc::current());
Tensor vdot(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current());

// ---- order
/// Which of the elements are among test_elements (bool, of the elements' sizes); invert: which are not. NaN is among
/// nothing. n log m for n elements among m.
Tensor isin(const Tensor& elements, const Tensor& test_elements, bool assume_unique = false, bool invert = false,
            SourceLoc loc = SourceLoc::current());
/// Sorted along the first dimension.
Tensor msort(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// 0 to n - 1 in random order (int64, or what the options say).
Tensor randperm(Int n, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
