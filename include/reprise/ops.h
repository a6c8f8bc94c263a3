#pragma once
#include <concepts>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "reprise/error.h"
#include "reprise/number_functions.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

/// The operators. Names, argument order, broadcasting and type promotion are ATen's; most are methods of Tensor too.
/// Every call names the operator and the caller's line in its errors (ShapeMismatch, DTypeMismatch, IndexOutOfRange,
/// InvalidArgument), throws before anything is written, and inside a trace is recorded instead of run.
/// Arguments of type Int may be symbolic inside a trace; dimensions, flags and the like are constants of a trace.
namespace reprise REPRISE_VISIBLE {

// ---- pointwise: operators of one tensor, and of two operands
// reprise/elementwise_ops.inc lists them, with what is particular to each.
#define REPRISE_UNARY(name, rule, twin) Tensor name(const Tensor& self, SourceLoc loc = SourceLoc::current());
#define REPRISE_BINARY(name, rule, twin) \
  Tensor name(const Operand& self, const Operand& other, SourceLoc loc = SourceLoc::current());
#include "reprise/elementwise_ops.inc"
#undef REPRISE_UNARY
#undef REPRISE_BINARY

// ---- pointwise: arithmetic
/// Elementwise with ATen's broadcasting and type promotion; operands are tensors or numbers (at least one tensor).
/// The result is row-major contiguous. `name_` writes the result into self: its dtype and sizes stay, so a float result
/// does not go into an integer tensor (DTypeMismatch) and self does not grow (ShapeMismatch).
/// add: self + alpha * other. sub: self - alpha * other (not for two bools).
Tensor add(const Operand& self, const Operand& other, Scalar alpha = 1, SourceLoc loc = SourceLoc::current());
Tensor sub(const Operand& self, const Operand& other, Scalar alpha = 1, SourceLoc loc = SourceLoc::current());
/// True division gives floats (integers become float32). rounding_mode "trunc" or "floor" keeps the promoted dtype.
/// Integers divided by zero give 0, and so do floor_divide, remainder and fmod of integers by zero.
Tensor div(const Operand& self, const Operand& other, std::string_view rounding_mode = {},
           SourceLoc loc = SourceLoc::current());
Tensor pow(const Operand& self, const Operand& exponent, SourceLoc loc = SourceLoc::current());
/// The larger / smaller of each pair; NaN only if both are.
Tensor fmax(const Operand& self, const Operand& other, SourceLoc loc = SourceLoc::current());
Tensor fmin(const Operand& self, const Operand& other, SourceLoc loc = SourceLoc::current());
/// log(exp(self) + exp(other)), and the same to base 2, without overflow. Floats.
Tensor logaddexp(const Operand& self, const Operand& other, SourceLoc loc = SourceLoc::current());
Tensor logaddexp2(const Operand& self, const Operand& other, SourceLoc loc = SourceLoc::current());
/// self * log(other), 0 where self is 0 (and other no NaN).
Tensor xlogy(const Operand& self, const Operand& other, SourceLoc loc = SourceLoc::current());
/// 0 below 0, `values` at 0, 1 above.
Tensor heaviside(const Tensor& self, const Operand& values, SourceLoc loc = SourceLoc::current());
/// self + weight * (end - self).
Tensor lerp(const Tensor& self, const Tensor& end, const Operand& weight, SourceLoc loc = SourceLoc::current());
/// self + value * tensor1 * tensor2, and self + value * tensor1 / tensor2.
Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, Scalar value = 1,
               SourceLoc loc = SourceLoc::current());
Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, Scalar value = 1,
               SourceLoc loc = SourceLoc::current());

// ---- pointwise: comparison, logical, bitwise
Tensor isposinf(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor isneginf(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// Is it negative, or a negative zero?
Tensor signbit(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// |self - other| <= atol + rtol * |other|, elementwise; equal infinities are close.
Tensor isclose(const Tensor& self, const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false,
               SourceLoc loc = SourceLoc::current());
/// Of all elements, as a plain bool: they read values, which ends a capture. equal: of sizes, too.
bool equal(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current());
bool allclose(const Tensor& self, const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false,
              SourceLoc loc = SourceLoc::current());

// ---- pointwise: rounding, exponentials, trigonometry, special functions
/// log(p / (1 - p)); with eps, p is clamped to [eps, 1 - eps] first.
Tensor logit(const Tensor& self, std::optional<double> eps = std::nullopt, SourceLoc loc = SourceLoc::current());

Tensor deg2rad(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor rad2deg(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// NaN, infinity and negative infinity replaced: by 0 and the dtype's extremes unless given.
Tensor nan_to_num(const Tensor& self, std::optional<double> nan = std::nullopt,
                  std::optional<double> posinf = std::nullopt, std::optional<double> neginf = std::nullopt,
                  SourceLoc loc = SourceLoc::current());

// ---- pointwise: activations
/// Of floats (relu, relu6, hardtanh, threshold: integers too). Parameters and defaults are ATen's.
Tensor leaky_relu(const Tensor& self, Scalar negative_slope = 0.01, SourceLoc loc = SourceLoc::current());
Tensor elu(const Tensor& self, Scalar alpha = 1, Scalar scale = 1, Scalar input_scale = 1,
           SourceLoc loc = SourceLoc::current());
Tensor celu(const Tensor& self, Scalar alpha = 1.0, SourceLoc loc = SourceLoc::current());
/// approximate: "none" (erf) or "tanh".
Tensor gelu(const Tensor& self, std::string_view approximate = "none", SourceLoc loc = SourceLoc::current());
Tensor softplus(const Tensor& self, Scalar beta = 1, Scalar threshold = 20, SourceLoc loc = SourceLoc::current());
Tensor hardtanh(const Tensor& self, Scalar min_val = -1, Scalar max_val = 1, SourceLoc loc = SourceLoc::current());
/// self where self > threshold, otherwise value.
Tensor threshold(const Tensor& self, Scalar threshold, Scalar value, SourceLoc loc = SourceLoc::current());
/// Towards 0: what is within lambd becomes 0 (hardshrink), the rest moves by it (softshrink); self - tanh(self).
Tensor hardshrink(const Tensor& self, Scalar lambd = 0.5, SourceLoc loc = SourceLoc::current());
Tensor softshrink(const Tensor& self, Scalar lambd = 0.5, SourceLoc loc = SourceLoc::current());
Tensor tanhshrink(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// self where positive, otherwise weight * self; weight: one number, or one for each index of dimension 1.
Tensor prelu(const Tensor& self, const Tensor& weight, SourceLoc loc = SourceLoc::current());
/// First half times sigmoid of the second half along dim; the size must be even.
Tensor glu(const Tensor& self, Int dim = -1, SourceLoc loc = SourceLoc::current());
/// With training: zeroes elements with probability p and scales the others by 1 / (1 - p). Otherwise self.
Tensor dropout(const Tensor& self, double p = 0.5, bool training = true, SourceLoc loc = SourceLoc::current());

// ---- pointwise: choice, conversion, copies
/// self where condition (bool) holds, otherwise other; all broadcast.
Tensor where(const Tensor& condition, const Operand& self, const Operand& other, SourceLoc loc = SourceLoc::current());
/// Limits to [min, max]; either may be std::nullopt, not both.
Tensor clamp(const Tensor& self, const OptionalOperand& min = std::nullopt, const OptionalOperand& max = std::nullopt,
             SourceLoc loc = SourceLoc::current());
inline Tensor clip(const Tensor& self, const OptionalOperand& min = std::nullopt,
                   const OptionalOperand& max = std::nullopt, SourceLoc loc = SourceLoc::current()) {
  return clamp(self, min, max, loc);
}
Tensor clamp_min(const Tensor& self, const Operand& min, SourceLoc loc = SourceLoc::current());
Tensor clamp_max(const Tensor& self, const Operand& max, SourceLoc loc = SourceLoc::current());
/// value (a number or a 0-dim tensor) where mask (bool, broadcast) holds.
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Operand& value, SourceLoc loc = SourceLoc::current());
/// Casts. The same tensor if it has that dtype already. A float becomes the integer it is rounded to towards zero;
/// outside the integer dtype's range it becomes the nearest bound, and NaN becomes 0 (so does a number that full() is
/// given). Integers wrap.
Tensor to(const Tensor& self, DType dtype, SourceLoc loc = SourceLoc::current());
/// The same elements on another device; self when it is there already. Dense tensors keep their strides, others become
/// row-major. Ordered with the devices' current streams; what the host gets is complete. Inside a trace a move between
/// devices ends the capture. Throws DeviceUnavailable, OutOfMemory.
Tensor to(const Tensor& self, Device device, SourceLoc loc = SourceLoc::current());
/// With non_blocking the call returns as soon as the copy is queued: to a device, when self is pinned for it (otherwise
/// it waits until self may be changed); to the host always, into pinned memory. Then self must stay as it is, and what
/// the host gets must not be looked at, until the current stream has been waited for (Stream::synchronize).
Tensor to(const Tensor& self, Device device, bool non_blocking, SourceLoc loc = SourceLoc::current());
/// A copy in host memory that `device` reads and writes by itself (page-locked); self when it is such already. Its
/// blocks are kept for reuse, and serve again when copies that were queued on them are over. Throws DeviceUnavailable,
/// OutOfMemory.
Tensor pin_memory(const Tensor& self, Device device = Device::cuda(0), SourceLoc loc = SourceLoc::current());
bool is_pinned(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor type_as(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current());
/// A contiguous copy with its own storage.
Tensor clone(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// The same tensor if it is row-major contiguous, otherwise a clone.
Tensor contiguous(const Tensor& self, SourceLoc loc = SourceLoc::current());

// ---- reductions
// reprise/reduction_ops.inc lists those that take dimensions and nothing else but keepdim and a dtype.
#define REPRISE_REDUCTION(name, cls, rule)                                            \
  Tensor name(const Tensor& self, const OptionalDims& dim = {}, bool keepdim = false, \
              SourceLoc loc = SourceLoc::current());
#define REPRISE_REDUCTION_AS(name, cls, rule)                                         \
  Tensor name(const Tensor& self, const OptionalDims& dim = {}, bool keepdim = false, \
              std::optional<DType> dtype = std::nullopt, SourceLoc loc = SourceLoc::current());
#include "reprise/reduction_ops.inc"
#undef REPRISE_REDUCTION
#undef REPRISE_REDUCTION_AS
/// `dim`: none or {} for all dimensions, one, or several; negative counts from the end. keepdim leaves size 1. All want
/// floats. Divides by n - correction.
Tensor var(const Tensor& self, const OptionalDims& dim = {}, Scalar correction = 1, bool keepdim = false,
           SourceLoc loc = SourceLoc::current());
Tensor std(const Tensor& self, const OptionalDims& dim = {}, Scalar correction = 1, bool keepdim = false,
           SourceLoc loc = SourceLoc::current());
Tensor logsumexp(const Tensor& self, const OptionalDims& dim, bool keepdim = false,
                 SourceLoc loc = SourceLoc::current());
/// The vector p-norm; p may be infinity.
Tensor norm(const Tensor& self, Scalar p = 2, const OptionalDims& dim = {}, bool keepdim = false,
            SourceLoc loc = SourceLoc::current());
/// Index (int64) of the first largest / smallest along dim, or in the flattened tensor.
Tensor argmax(const Tensor& self, std::optional<Int> dim = std::nullopt, bool keepdim = false,
              SourceLoc loc = SourceLoc::current());
Tensor argmin(const Tensor& self, std::optional<Int> dim = std::nullopt, bool keepdim = false,
              SourceLoc loc = SourceLoc::current());
/// (values, indices) along dim.
TensorPair max(const Tensor& self, Int dim, bool keepdim = false, SourceLoc loc = SourceLoc::current());
TensorPair min(const Tensor& self, Int dim, bool keepdim = false, SourceLoc loc = SourceLoc::current());
/// The larger / smaller of each pair: maximum, minimum.
inline Tensor max(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current()) {
  return maximum(self, other, loc);
}
inline Tensor min(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current()) {
  return minimum(self, other, loc);
}
/// Of all elements, as a 0-dim tensor.
Tensor max(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor min(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// Running sums along dim; integers and bools give int64.
Tensor cumsum(const Tensor& self, Int dim, std::optional<DType> dtype = std::nullopt,
              SourceLoc loc = SourceLoc::current());

// ---- normalisation
/// Along dim; floats. `dtype` casts first.
Tensor softmax(const Tensor& self, Int dim, std::optional<DType> dtype = std::nullopt,
               SourceLoc loc = SourceLoc::current());
Tensor log_softmax(const Tensor& self, Int dim, std::optional<DType> dtype = std::nullopt,
                   SourceLoc loc = SourceLoc::current());
/// Over the last normalized_shape.size() dimensions. weight and bias have normalized_shape's sizes; an undefined one is
/// left out.
Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5, SourceLoc loc = SourceLoc::current());
/// x / sqrt(mean(x^2) + eps) * weight. eps: the dtype's epsilon if none. The second form takes normalized_shape from
/// weight.
Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = std::nullopt, SourceLoc loc = SourceLoc::current());
Tensor rms_norm(const Tensor& input, const Tensor& weight, std::optional<double> eps = std::nullopt,
                SourceLoc loc = SourceLoc::current());

// ---- matrix products, attention
/// Operands of one dtype. mm: [n, k] x [k, m]. bmm: [b, n, k] x [b, k, m]. matmul: ATen's rule for 1 to n dimensions.
Tensor mm(const Tensor& self, const Tensor& mat2, SourceLoc loc = SourceLoc::current());
Tensor bmm(const Tensor& self, const Tensor& mat2, SourceLoc loc = SourceLoc::current());
Tensor matmul(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current());
/// input [..., in] x weight [out, in] transposed (+ bias [out]).
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {}, SourceLoc loc = SourceLoc::current());
/// beta * self + alpha * (mat1 x mat2); self broadcasts to the product.
Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, Scalar beta = 1, Scalar alpha = 1,
             SourceLoc loc = SourceLoc::current());
/// Matrix times vector, inner and outer product of vectors.
Tensor mv(const Tensor& self, const Tensor& vec, SourceLoc loc = SourceLoc::current());
Tensor dot(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current());
/// beta * self + alpha * (batch1 x batch2), of matrices and a vector, of the outer product of vectors. Where beta is 0
/// self does not count. Of integers beta and alpha must be integers (DTypeMismatch). Of half types the product is
/// rounded as bmm's, and the sum once.
Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, Scalar beta = 1, Scalar alpha = 1,
               SourceLoc loc = SourceLoc::current());
Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, Scalar beta = 1, Scalar alpha = 1,
             SourceLoc loc = SourceLoc::current());
Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, Scalar beta = 1, Scalar alpha = 1,
            SourceLoc loc = SourceLoc::current());
Tensor outer(const Tensor& self, const Tensor& vec2, SourceLoc loc = SourceLoc::current());
/// Sums of products in index notation: einsum("bij,bjk->bik", {a, b}). One or two operands, letters, no ellipsis.
Tensor einsum(std::string_view equation, TensorArrayRef operands, SourceLoc loc = SourceLoc::current());
/// Of int8 matrices, as int32: [m, k] x [k, n], summed exactly (beyond 32 bits it wraps). Other dtypes: DTypeMismatch.
Tensor int_mm(const Tensor& self, const Tensor& mat2, SourceLoc loc = SourceLoc::current());
/// The product of quantized matrices, [m, k] x [k, n] (+ bias [n]), each element times its scale: what models call is
/// scaled_mm(x8, w8.t(), scale_x, scale_w, bias, kBFloat16) with a weight [n, k] that stands row by row.
/// self x mat2: int8 x int8; float8 x float8, of either kind; weights alone quantized: float32, bfloat16 or float16 x
/// int8 or float8. Scales are float32, of one element (at most one dimension), or matrices. scale_a: [m or 1, 1] or [m
/// or 1, ceil(k / block_k)]; scale_b: [1, n or 1] or, by blocks, [ceil(k / block_k), n or 1 or ceil(n / block_n)];
/// `block` is {block_k, block_n}, {128, 128} if none. (Along each dimension a size of 1 is one scale for all of it.
/// Which of these a scale is may change from call to call of a compiled function.) int8 products are summed in
/// integers, exactly within 65536 elements of k, and scaled in float32; others are summed in float32. bias, of a float
/// dtype, is added in float32, and the result rounded once, to out_dtype: float32, bfloat16 or float16; if none bias's
/// dtype, else self's if it is one of these, else bfloat16 (ATen's default for float8 is float8, which needs a scale of
/// its own). DTypeMismatch, ShapeMismatch or InvalidArgument (block) otherwise.
Tensor scaled_mm(const Tensor& self, const Tensor& mat2, const Tensor& scale_a, const Tensor& scale_b,
                 const Tensor& bias = {}, std::optional<DType> out_dtype = std::nullopt, const OptionalDims& block = {},
                 SourceLoc loc = SourceLoc::current());
/// query [..., L, E], key [..., S, E], value [..., S, Ev] -> [..., L, Ev]. attn_mask (bool: true takes part; or a float
/// added to the scores) broadcasts to [..., L, S] and excludes is_causal. scale: 1/sqrt(E) if none. enable_gqa: key and
/// value may have fewer heads (dimension -3), a divisor of query's. With dropout_p each weight is dropped with that
/// probability, and the others are scaled up by 1 / (1 - dropout_p): for training only.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask = {}, double dropout_p = 0.0, bool is_causal = false,
                                    std::optional<double> scale = std::nullopt, bool enable_gqa = false,
                                    SourceLoc loc = SourceLoc::current());

// ---- indexing
/// Index tensors are int64 or int32; negative values count from the end where ATen allows it; values out of range throw
/// IndexOutOfRange before anything is written.
/// Rows of weight [n, d]: indices' sizes + [d].
Tensor embedding(const Tensor& weight, const Tensor& indices, SourceLoc loc = SourceLoc::current());
Tensor index_select(const Tensor& self, Int dim, const Tensor& index, SourceLoc loc = SourceLoc::current());
/// out[i][j] = self[index[i][j]][j] for dim 0, and so on.
Tensor gather(const Tensor& self, Int dim, const Tensor& index, SourceLoc loc = SourceLoc::current());
/// self[indices[0], indices[1], ...]; an undefined Tensor keeps its dimension (":").
Tensor index(const Tensor& self, TensorArrayRef indices, SourceLoc loc = SourceLoc::current());
/// self[index[i][j]][j] = src[i][j] (a tensor or a number), or += for scatter_add.
Tensor scatter(const Tensor& self, Int dim, const Tensor& index, const Operand& src,
               SourceLoc loc = SourceLoc::current());
Tensor scatter_add(const Tensor& self, Int dim, const Tensor& index, const Tensor& src,
                   SourceLoc loc = SourceLoc::current());
/// What scatter would put in one place is folded: `reduce` is "sum", "prod", "mean" (integers: rounded down), "amax" or
/// "amin". Elements that index names begin with self's, or without include_self with nothing; the others stay self's.
/// Throws InvalidArgument for another word.
Tensor scatter_reduce(const Tensor& self, Int dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                      bool include_self = true, SourceLoc loc = SourceLoc::current());
/// The same of slices: self's slices index[i] along dim with source's slices i. Not "sum": index_add.
Tensor index_reduce(const Tensor& self, Int dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                    bool include_self = true, SourceLoc loc = SourceLoc::current());
/// self[indices...] = values (broadcast), or += with accumulate.
Tensor index_put(const Tensor& self, TensorArrayRef indices, const Tensor& values, bool accumulate = false,
                 SourceLoc loc = SourceLoc::current());
/// self's slices index[i] along dim become source's slices i, or are added to.
Tensor index_copy(const Tensor& self, Int dim, const Tensor& index, const Tensor& source,
                  SourceLoc loc = SourceLoc::current());
Tensor index_add(const Tensor& self, Int dim, const Tensor& index, const Tensor& source,
                 SourceLoc loc = SourceLoc::current());
/// int64 of indices' sizes + [num_classes]; an index outside [0, num_classes) is an IndexOutOfRange. num_classes -1:
/// one more than the largest index, a size that depends on data (InvalidArgument if there is none).
Tensor one_hot(const Tensor& self, Int num_classes = -1, SourceLoc loc = SourceLoc::current());

/// self's slices index[i] along dim become one value (a number or a 0-dim tensor).
Tensor index_fill(const Tensor& self, Int dim, const Tensor& index, const Operand& value,
                  SourceLoc loc = SourceLoc::current());
/// source's elements, in order, where mask (bool, broadcast) holds; there must be enough of them (IndexOutOfRange).
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source,
                      SourceLoc loc = SourceLoc::current());
/// The elements that index counts in row-major order become source's, or are added to.
Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate = false,
           SourceLoc loc = SourceLoc::current());

// ---- results into a tensor that is given
/// `out` gets the result's sizes, if it has others (resize_), and its elements, converted; a float result does not go
/// into integers (DTypeMismatch). Returns out, which may also be an input. Other operators: reprise/out.h.
Tensor add_out(const Tensor& out, const Operand& self, const Operand& other, Scalar alpha = 1,
               SourceLoc loc = SourceLoc::current());
Tensor sub_out(const Tensor& out, const Operand& self, const Operand& other, Scalar alpha = 1,
               SourceLoc loc = SourceLoc::current());
Tensor div_out(const Tensor& out, const Operand& self, const Operand& other, SourceLoc loc = SourceLoc::current());
Tensor where_out(const Tensor& out, const Tensor& condition, const Operand& self, const Operand& other,
                 SourceLoc loc = SourceLoc::current());
Tensor mm_out(const Tensor& out, const Tensor& self, const Tensor& mat2, SourceLoc loc = SourceLoc::current());
Tensor bmm_out(const Tensor& out, const Tensor& self, const Tensor& mat2, SourceLoc loc = SourceLoc::current());
Tensor matmul_out(const Tensor& out, const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current());
Tensor addmm_out(const Tensor& out, const Tensor& self, const Tensor& mat1, const Tensor& mat2, Scalar beta = 1,
                 Scalar alpha = 1, SourceLoc loc = SourceLoc::current());
Tensor cat_out(const Tensor& out, TensorArrayRef tensors, Int dim = 0, SourceLoc loc = SourceLoc::current());
Tensor index_select_out(const Tensor& out, const Tensor& self, Int dim, const Tensor& index,
                        SourceLoc loc = SourceLoc::current());

// ---- joining, and writing a part
/// Along an existing dimension, and along a new one. All other sizes are equal; dtypes are promoted. cat skips tensors
/// of one dimension and no elements beside others: out = zeros({0}); out = cat({out, y}).
Tensor cat(TensorArrayRef tensors, Int dim = 0, SourceLoc loc = SourceLoc::current());
Tensor stack(TensorArrayRef tensors, Int dim = 0, SourceLoc loc = SourceLoc::current());
/// cat along the second dimension, of tensors of one dimension along it. Numbers count as [1].
Tensor hstack(TensorArrayRef tensors, SourceLoc loc = SourceLoc::current());
/// cat along the first dimension; tensors of one dimension are rows.
Tensor vstack(TensorArrayRef tensors, SourceLoc loc = SourceLoc::current());
/// self with src in the place of that view of it: the functional forms of self.slice(...).copy_(src) and so on.
Tensor slice_scatter(const Tensor& self, const Tensor& src, Int dim = 0, std::optional<Int> start = std::nullopt,
                     std::optional<Int> end = std::nullopt, Int step = 1, SourceLoc loc = SourceLoc::current());
Tensor select_scatter(const Tensor& self, const Tensor& src, Int dim, Int index, SourceLoc loc = SourceLoc::current());
Tensor diagonal_scatter(const Tensor& self, const Tensor& src, Int offset = 0, Int dim1 = 0, Int dim2 = 1,
                        SourceLoc loc = SourceLoc::current());
Tensor as_strided_scatter(const Tensor& self, const Tensor& src, IntArrayRef size, IntArrayRef stride,
                          std::optional<Int> storage_offset = std::nullopt, SourceLoc loc = SourceLoc::current());
/// Constant padding: pad = {last dim front, last dim back, next to last front, ...}; negative amounts crop.
Tensor pad(const Tensor& self, IntArrayRef pad, Scalar value = 0, SourceLoc loc = SourceLoc::current());

// ---- creation
/// dtype defaults to get_default_dtype() (full: that of the value, if it has no point; arange: int64 if all bounds are
/// integers), device to the CPU.
Tensor zeros(IntArrayRef size, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());
Tensor ones(IntArrayRef size, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());
Tensor empty(IntArrayRef size, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());
Tensor full(IntArrayRef size, Scalar fill_value, const TensorOptions& options = {},
            SourceLoc loc = SourceLoc::current());
/// Sizes, and unless given dtype and device, of self.
Tensor zeros_like(const Tensor& self, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());
Tensor ones_like(const Tensor& self, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());
Tensor empty_like(const Tensor& self, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());
Tensor full_like(const Tensor& self, Scalar fill_value, const TensorOptions& options = {},
                 SourceLoc loc = SourceLoc::current());
/// A 0-dim tensor.
Tensor scalar_tensor(Scalar value, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());
Tensor arange(Scalar end, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());
Tensor arange(Scalar start, Scalar end, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());
Tensor arange(Scalar start, Scalar end, Scalar step, const TensorOptions& options = {},
              SourceLoc loc = SourceLoc::current());
/// `steps` values from start to end, both included.
Tensor linspace(Scalar start, Scalar end, Int steps, const TensorOptions& options = {},
                SourceLoc loc = SourceLoc::current());
Tensor eye(Int n, std::optional<Int> m = std::nullopt, const TensorOptions& options = {},
           SourceLoc loc = SourceLoc::current());

// ---- random numbers
/// Restarts the process's generator of random numbers. Inside a trace ends the capture.
void manual_seed(std::uint64_t seed);
/// From the process's generator (manual_seed); inside a compiled function every call draws anew.
/// rand: uniform on [0, 1). randn: normal. randint: integers in [low, high).
Tensor rand(IntArrayRef size, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());
Tensor randn(IntArrayRef size, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());
Tensor randint(Int low, Int high, IntArrayRef size, const TensorOptions& options = {},
               SourceLoc loc = SourceLoc::current());
Tensor rand_like(const Tensor& self, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());
Tensor randn_like(const Tensor& self, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());
/// 1 with probability self, otherwise 0. Probabilities are floats and not looked at: above 1 counts as 1, below 0 and
/// NaN as 0.
Tensor bernoulli(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// num_samples category indices (int64) for each row of weights [n] or [m, n].
Tensor multinomial(const Tensor& self, Int num_samples, bool replacement = false, SourceLoc loc = SourceLoc::current());

// ---- ordering
/// (values, indices) along dim. Ties keep their order in sort.
TensorPair topk(const Tensor& self, Int k, Int dim = -1, bool largest = true, bool sorted = true,
                SourceLoc loc = SourceLoc::current());
TensorPair sort(const Tensor& self, Int dim = -1, bool descending = false, SourceLoc loc = SourceLoc::current());
Tensor argsort(const Tensor& self, Int dim = -1, bool descending = false, SourceLoc loc = SourceLoc::current());

// ---- rearranging (copies)
/// The lower / upper triangle of the last two dimensions, the rest 0; diagonal > 0 is above the main one.
Tensor tril(const Tensor& self, Int diagonal = 0, SourceLoc loc = SourceLoc::current());
Tensor triu(const Tensor& self, Int diagonal = 0, SourceLoc loc = SourceLoc::current());
/// Moves elements along dims, the last to the front; without dims the flattened tensor.
Tensor roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims = {}, SourceLoc loc = SourceLoc::current());
Tensor flip(const Tensor& self, IntArrayRef dims, SourceLoc loc = SourceLoc::current());
/// Tiles: repeats[d] times along dimension d; may add leading dimensions.
Tensor repeat(const Tensor& self, IntArrayRef repeats, SourceLoc loc = SourceLoc::current());
/// Each slice along dim `repeats` times in a row.
Tensor repeat_interleave(const Tensor& self, Int repeats, Int dim, SourceLoc loc = SourceLoc::current());

// ---- views
/// No copy: the result shares self's storage, and writing into it writes self.
/// view throws ShapeMismatch when no strides give those sizes; reshape copies then. One size may be -1.
Tensor view(const Tensor& self, IntArrayRef size, SourceLoc loc = SourceLoc::current());
/// The same bytes as elements of another dtype. Of another element size the last dimension has as many more or fewer,
/// which must stand beside each other (stride 1), and sizes, strides and offset must divide (ShapeMismatch). Inside a
/// trace it ends the capture.
template <std::same_as<DType> T>  // {} are sizes
Tensor view(const Tensor& self, T dtype, SourceLoc loc = SourceLoc::current()) {
  return self.view(dtype, loc);
}
Tensor reshape(const Tensor& self, IntArrayRef shape, SourceLoc loc = SourceLoc::current());
Tensor view_as(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current());
Tensor reshape_as(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current());
Tensor flatten(const Tensor& self, Int start_dim = 0, Int end_dim = -1, SourceLoc loc = SourceLoc::current());
Tensor unflatten(const Tensor& self, Int dim, IntArrayRef sizes, SourceLoc loc = SourceLoc::current());
Tensor permute(const Tensor& self, IntArrayRef dims, SourceLoc loc = SourceLoc::current());
Tensor transpose(const Tensor& self, Int dim0, Int dim1, SourceLoc loc = SourceLoc::current());
Tensor swapaxes(const Tensor& self, Int dim0, Int dim1, SourceLoc loc = SourceLoc::current());
Tensor swapdims(const Tensor& self, Int dim0, Int dim1, SourceLoc loc = SourceLoc::current());
/// The last two dimensions swapped.
Tensor mT(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor t(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor movedim(const Tensor& self, Int source, Int destination, SourceLoc loc = SourceLoc::current());
/// Elements start, start + step, ... below end; bounds beyond the size are clamped, negative ones count from the end.
Tensor slice(const Tensor& self, Int dim = 0, std::optional<Int> start = std::nullopt,
             std::optional<Int> end = std::nullopt, Int step = 1, SourceLoc loc = SourceLoc::current());
/// [start, start + length), which must lie within the size.
Tensor narrow(const Tensor& self, Int dim, Int start, Int length, SourceLoc loc = SourceLoc::current());
Tensor select(const Tensor& self, Int dim, Int index, SourceLoc loc = SourceLoc::current());
/// The same elements under another handle (is_same() tells them apart): metadata that one changes are not the other's.
Tensor alias(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// alias(), where derivatives end.
Tensor detach(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// Drops dimensions of size 1 (all, or of those given).
Tensor squeeze(const Tensor& self, const OptionalDims& dim = {}, SourceLoc loc = SourceLoc::current());
Tensor unsqueeze(const Tensor& self, Int dim, SourceLoc loc = SourceLoc::current());
/// Repeats dimensions of size 1 without a copy; -1 keeps a size; may add leading dimensions.
Tensor expand(const Tensor& self, IntArrayRef size, SourceLoc loc = SourceLoc::current());
Tensor expand_as(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current());
Tensor broadcast_to(const Tensor& self, IntArrayRef size, SourceLoc loc = SourceLoc::current());
Tensor as_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride,
                  std::optional<Int> storage_offset = std::nullopt, SourceLoc loc = SourceLoc::current());
Tensor diagonal(const Tensor& self, Int offset = 0, Int dim1 = 0, Int dim2 = 1, SourceLoc loc = SourceLoc::current());
/// Windows of `size` every `step` along dim, as a new last dimension.
Tensor unfold(const Tensor& self, Int dimension, Int size, Int step, SourceLoc loc = SourceLoc::current());
/// Views of split_size (the last may be shorter), of the given sizes, or of `chunks` about equal parts; how many is a
/// constant of the trace.
std::vector<Tensor> split(const Tensor& self, Int split_size, Int dim = 0, SourceLoc loc = SourceLoc::current());
std::vector<Tensor> split_with_sizes(const Tensor& self, IntArrayRef split_sizes, Int dim = 0,
                                     SourceLoc loc = SourceLoc::current());
std::vector<Tensor> chunk(const Tensor& self, Int chunks, Int dim = 0, SourceLoc loc = SourceLoc::current());
std::vector<Tensor> unbind(const Tensor& self, Int dim = 0, SourceLoc loc = SourceLoc::current());
/// Views of `sections` parts (the first size % sections have one element more), or of the parts between indices.
/// hsplit: along dimension 1 (0 of a vector), vsplit: along 0, into equal parts (ShapeMismatch otherwise).
std::vector<Tensor> tensor_split(const Tensor& self, Int sections, Int dim = 0, SourceLoc loc = SourceLoc::current());
std::vector<Tensor> tensor_split(const Tensor& self, IntArrayRef indices, Int dim = 0,
                                 SourceLoc loc = SourceLoc::current());
std::vector<Tensor> hsplit(const Tensor& self, Int sections, SourceLoc loc = SourceLoc::current());
std::vector<Tensor> vsplit(const Tensor& self, Int sections, SourceLoc loc = SourceLoc::current());

// ---- ATen's second names: reprise/second_names.inc, and reprise/conveniences.h
#define REPRISE_SECOND_UNARY(name, of, twin) \
  inline Tensor name(const Tensor& self, SourceLoc loc = SourceLoc::current()) { return of(self, loc); }
#define REPRISE_SECOND_BINARY(name, of, twin)                                                           \
  inline Tensor name(const Operand& self, const Operand& other, SourceLoc loc = SourceLoc::current()) { \
    return of(self, other, loc);                                                                        \
  }
#define REPRISE_SECOND_METHOD(name, of, twin)
#include "reprise/second_names.inc"
#undef REPRISE_SECOND_UNARY
#undef REPRISE_SECOND_BINARY
#undef REPRISE_SECOND_METHOD

// ---- operators; at least one side is a tensor, the other a tensor, a number or an Int
inline Tensor operator+(TensorOperand a, Operand b) { return add(a, b, 1, a.loc()); }
inline Tensor operator+(NumberOperand a, TensorOperand b) { return add(a, b, 1, b.loc()); }
inline Tensor operator-(TensorOperand a, Operand b) { return sub(a, b, 1, a.loc()); }
inline Tensor operator-(NumberOperand a, TensorOperand b) { return sub(a, b, 1, b.loc()); }
inline Tensor operator*(TensorOperand a, Operand b) { return mul(a, b, a.loc()); }
inline Tensor operator*(NumberOperand a, TensorOperand b) { return mul(a, b, b.loc()); }
inline Tensor operator/(TensorOperand a, Operand b) { return div(a, b, {}, a.loc()); }
inline Tensor operator/(NumberOperand a, TensorOperand b) { return div(a, b, {}, b.loc()); }
inline Tensor operator%(TensorOperand a, Operand b) { return remainder(a, b, a.loc()); }
inline Tensor operator%(NumberOperand a, TensorOperand b) { return remainder(a, b, b.loc()); }
inline Tensor operator&(TensorOperand a, Operand b) { return bitwise_and(a, b, a.loc()); }
inline Tensor operator&(NumberOperand a, TensorOperand b) { return bitwise_and(a, b, b.loc()); }
inline Tensor operator|(TensorOperand a, Operand b) { return bitwise_or(a, b, a.loc()); }
inline Tensor operator|(NumberOperand a, TensorOperand b) { return bitwise_or(a, b, b.loc()); }
inline Tensor operator^(TensorOperand a, Operand b) { return bitwise_xor(a, b, a.loc()); }
inline Tensor operator^(NumberOperand a, TensorOperand b) { return bitwise_xor(a, b, b.loc()); }
inline Tensor operator==(TensorOperand a, Operand b) { return eq(a, b, a.loc()); }
inline Tensor operator==(NumberOperand a, TensorOperand b) { return eq(a, b, b.loc()); }
inline Tensor operator!=(TensorOperand a, Operand b) { return ne(a, b, a.loc()); }
inline Tensor operator!=(NumberOperand a, TensorOperand b) { return ne(a, b, b.loc()); }
inline Tensor operator<(TensorOperand a, Operand b) { return lt(a, b, a.loc()); }
inline Tensor operator<(NumberOperand a, TensorOperand b) { return lt(a, b, b.loc()); }
inline Tensor operator<=(TensorOperand a, Operand b) { return le(a, b, a.loc()); }
inline Tensor operator<=(NumberOperand a, TensorOperand b) { return le(a, b, b.loc()); }
inline Tensor operator>(TensorOperand a, Operand b) { return gt(a, b, a.loc()); }
inline Tensor operator>(NumberOperand a, TensorOperand b) { return gt(a, b, b.loc()); }
inline Tensor operator>=(TensorOperand a, Operand b) { return ge(a, b, a.loc()); }
inline Tensor operator>=(NumberOperand a, TensorOperand b) { return ge(a, b, b.loc()); }
inline Tensor operator-(TensorOperand a) { return neg(*a.tensor(), a.loc()); }
inline Tensor operator~(TensorOperand a) { return bitwise_not(*a.tensor(), a.loc()); }

}  // namespace REPRISE_VISIBLE
