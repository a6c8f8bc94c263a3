// The functions of reprise/ops.h that are one operator each.
#include <algorithm>

#include "graph/api_args.h"
#include "graph/api_index.h"
#include "reprise/ops.h"

namespace reprise {

using graph::call1;
using graph::calln;
using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;
using graph::api::pair;
using graph::api::rounding;

// ---- pointwise: operators of one tensor, and of two operands
#define REPRISE_UNARY(name, rule, twin) \
  Tensor name(const Tensor& self, SourceLoc loc) { return call1(OpId::name, {arg(self)}, loc); }
#define REPRISE_BINARY(name, rule, twin)                                  \
  Tensor name(const Operand& self, const Operand& other, SourceLoc loc) { \
    return call1(OpId::name, {arg(self), arg(other)}, loc);               \
  }
#include "reprise/elementwise_ops.inc"
#undef REPRISE_UNARY
#undef REPRISE_BINARY

// ---- pointwise: arithmetic
Tensor add(const Operand& self, const Operand& other, Scalar alpha, SourceLoc loc) {
  return call1(OpId::add, {arg(self), arg(other), arg(alpha)}, loc);
}
Tensor sub(const Operand& self, const Operand& other, Scalar alpha, SourceLoc loc) {
  return call1(OpId::sub, {arg(self), arg(other), arg(alpha)}, loc);
}
Tensor div(const Operand& self, const Operand& other, std::string_view rounding_mode, SourceLoc loc) {
  return call1(OpId::div, {arg(self), arg(other), rounding(rounding_mode)}, loc);
}
Tensor pow(const Operand& self, const Operand& exponent, SourceLoc loc) {
  return call1(OpId::pow, {arg(self), arg(exponent)}, loc);
}
Tensor lerp(const Tensor& self, const Tensor& end, const Operand& weight, SourceLoc loc) {
  return call1(OpId::lerp, {arg(self), arg(end), arg(weight)}, loc);
}
Tensor addcmul(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, Scalar value, SourceLoc loc) {
  return call1(OpId::addcmul, {arg(self), arg(tensor1), arg(tensor2), arg(value)}, loc);
}
Tensor addcdiv(const Tensor& self, const Tensor& tensor1, const Tensor& tensor2, Scalar value, SourceLoc loc) {
  return call1(OpId::addcdiv, {arg(self), arg(tensor1), arg(tensor2), arg(value)}, loc);
}

// ---- pointwise: rounding, exponentials, trigonometry, special functions
Tensor logit(const Tensor& self, std::optional<double> eps, SourceLoc loc) {
  return call1(OpId::logit, {arg(self), arg(eps)}, loc);
}

// ---- pointwise: activations
Tensor leaky_relu(const Tensor& self, Scalar negative_slope, SourceLoc loc) {
  return call1(OpId::leaky_relu, {arg(self), arg(negative_slope)}, loc);
}
Tensor elu(const Tensor& self, Scalar alpha, Scalar scale, Scalar input_scale, SourceLoc loc) {
  return call1(OpId::elu, {arg(self), arg(alpha), arg(scale), arg(input_scale)}, loc);
}
Tensor celu(const Tensor& self, Scalar alpha, SourceLoc loc) { return call1(OpId::celu, {arg(self), arg(alpha)}, loc); }
Tensor gelu(const Tensor& self, std::string_view approximate, SourceLoc loc) {
  return call1(OpId::gelu, {arg(self), arg(approximate)}, loc);
}
Tensor softplus(const Tensor& self, Scalar beta, Scalar threshold, SourceLoc loc) {
  return call1(OpId::softplus, {arg(self), arg(beta), arg(threshold)}, loc);
}
Tensor hardtanh(const Tensor& self, Scalar min_val, Scalar max_val, SourceLoc loc) {
  return call1(OpId::hardtanh, {arg(self), arg(min_val), arg(max_val)}, loc);
}
Tensor threshold(const Tensor& self, Scalar threshold, Scalar value, SourceLoc loc) {
  return call1(OpId::threshold, {arg(self), arg(threshold), arg(value)}, loc);
}

// ---- pointwise: choice, conversion, copies
Tensor where(const Tensor& condition, const Operand& self, const Operand& other, SourceLoc loc) {
  return call1(OpId::where, {arg(condition), arg(self), arg(other)}, loc);
}
Tensor clamp(const Tensor& self, const OptionalOperand& min, const OptionalOperand& max, SourceLoc loc) {
  return call1(OpId::clamp, {arg(self), arg(min), arg(max)}, loc);
}
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Operand& value, SourceLoc loc) {
  return call1(OpId::masked_fill, {arg(self), arg(mask), arg(value)}, loc);
}
Tensor clone(const Tensor& self, SourceLoc loc) { return call1(OpId::clone, {arg(self)}, loc); }

// ---- reductions
#define REPRISE_REDUCTION(name, cls, rule)                                                \
  Tensor name(const Tensor& self, const OptionalDims& dim, bool keepdim, SourceLoc loc) { \
    return call1(OpId::name, {arg(self), arg(dim), arg(keepdim)}, loc);                   \
  }
#define REPRISE_REDUCTION_AS(name, cls, rule)                                                                         \
  Tensor name(const Tensor& self, const OptionalDims& dim, bool keepdim, std::optional<DType> dtype, SourceLoc loc) { \
    return call1(OpId::name, {arg(self), arg(dim), arg(keepdim), arg(dtype)}, loc);                                   \
  }
#include "reprise/reduction_ops.inc"
#undef REPRISE_REDUCTION
#undef REPRISE_REDUCTION_AS
Tensor var(const Tensor& self, const OptionalDims& dim, Scalar correction, bool keepdim, SourceLoc loc) {
  return call1(OpId::var, {arg(self), arg(dim), arg(correction), arg(keepdim)}, loc);
}
Tensor std(const Tensor& self, const OptionalDims& dim, Scalar correction, bool keepdim, SourceLoc loc) {
  return call1(OpId::std, {arg(self), arg(dim), arg(correction), arg(keepdim)}, loc);
}
Tensor logsumexp(const Tensor& self, const OptionalDims& dim, bool keepdim, SourceLoc loc) {
  return call1(OpId::logsumexp, {arg(self), arg(dim), arg(keepdim)}, loc);
}
Tensor norm(const Tensor& self, Scalar p, const OptionalDims& dim, bool keepdim, SourceLoc loc) {
  return call1(OpId::norm, {arg(self), arg(p), arg(dim), arg(keepdim)}, loc);
}
Tensor argmax(const Tensor& self, std::optional<Int> dim, bool keepdim, SourceLoc loc) {
  return call1(OpId::argmax, {arg(self), arg(dim), arg(keepdim)}, loc);
}
Tensor argmin(const Tensor& self, std::optional<Int> dim, bool keepdim, SourceLoc loc) {
  return call1(OpId::argmin, {arg(self), arg(dim), arg(keepdim)}, loc);
}
Tensor cumsum(const Tensor& self, Int dim, std::optional<DType> dtype, SourceLoc loc) {
  return call1(OpId::cumsum, {arg(self), arg(dim), arg(dtype)}, loc);
}

// ---- normalisation
Tensor softmax(const Tensor& self, Int dim, std::optional<DType> dtype, SourceLoc loc) {
  return call1(OpId::softmax, {arg(self), arg(dim), arg(dtype)}, loc);
}
Tensor log_softmax(const Tensor& self, Int dim, std::optional<DType> dtype, SourceLoc loc) {
  return call1(OpId::log_softmax, {arg(self), arg(dim), arg(dtype)}, loc);
}
Tensor layer_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight, const Tensor& bias,
                  double eps, SourceLoc loc) {
  return call1(OpId::layer_norm, {arg(input), arg(normalized_shape), arg(weight), arg(bias), arg(eps)}, loc);
}
Tensor rms_norm(const Tensor& input, IntArrayRef normalized_shape, const Tensor& weight, std::optional<double> eps,
                SourceLoc loc) {
  return call1(OpId::rms_norm, {arg(input), arg(normalized_shape), arg(weight), arg(eps)}, loc);
}

// ---- matrix products, attention
Tensor mm(const Tensor& self, const Tensor& mat2, SourceLoc loc) {
  return call1(OpId::mm, {arg(self), arg(mat2)}, loc);
}
Tensor bmm(const Tensor& self, const Tensor& mat2, SourceLoc loc) {
  return call1(OpId::bmm, {arg(self), arg(mat2)}, loc);
}
Tensor matmul(const Tensor& self, const Tensor& other, SourceLoc loc) {
  return call1(OpId::matmul, {arg(self), arg(other)}, loc);
}
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias, SourceLoc loc) {
  if (!bias.defined() && weight.defined() && weight.dim() == 1)
    return graph::api::named("linear", [&] { return matmul(input, weight, loc); });
  return call1(OpId::linear, {arg(input), arg(weight), arg(bias)}, loc);
}
Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, Scalar beta, Scalar alpha, SourceLoc loc) {
  return call1(OpId::addmm, {arg(self), arg(mat1), arg(mat2), arg(beta), arg(alpha)}, loc);
}
Tensor int_mm(const Tensor& self, const Tensor& mat2, SourceLoc loc) {
  return call1(OpId::int_mm, {arg(self), arg(mat2)}, loc);
}
Tensor scaled_mm(const Tensor& self, const Tensor& mat2, const Tensor& scale_a, const Tensor& scale_b,
                 const Tensor& bias, std::optional<DType> out_dtype, const OptionalDims& block, SourceLoc loc) {
  return call1(OpId::scaled_mm,
               {arg(self), arg(mat2), arg(scale_a), arg(scale_b), arg(bias), arg(out_dtype), arg(block)}, loc);
}
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& attn_mask, double dropout_p, bool is_causal,
                                    std::optional<double> scale, bool enable_gqa, SourceLoc loc) {
  if (!(dropout_p >= 0 && dropout_p <= 1))
    fail(ErrorCode::InvalidArgument, "scaled_dot_product_attention", loc, "dropout_p must lie in [0, 1], got ",
         dropout_p);
  if (enable_gqa) {  // heads are the dimension -3 of all three: what has fewer dimensions has a batch of 1
    const int rank = std::max({checked_meta(query, "scaled_dot_product_attention", loc).dim(),
                               checked_meta(key, "scaled_dot_product_attention", loc).dim(),
                               checked_meta(value, "scaled_dot_product_attention", loc).dim()});
    auto is_less = [&](const Tensor& t) { return t.dim() >= 3 && t.dim() < rank; };
    auto raised = [&](Tensor t) {
      while (is_less(t)) t = unsqueeze(t, 0, loc);
      return t;
    };
    if (is_less(query) || is_less(key) || is_less(value))
      return scaled_dot_product_attention(raised(query), raised(key), raised(value), attn_mask, dropout_p, is_causal,
                                          scale, true, loc);
  }
  if (dropout_p > 0) {
    return named("scaled_dot_product_attention", [&] {
      const TensorMeta k = checked_meta(key, "scaled_dot_product_attention", loc);
      checked_meta(value, "scaled_dot_product_attention", loc);
      if (k.dim() < 2)
        return scaled_dot_product_attention(query, key, value, attn_mask, 0, is_causal, scale, enable_gqa, loc);
      // The weights are what attention gives of the identity.
      const Int keys = k.size(k.dim() - 2);
      Ints sizes(k.layout.sizes.begin(), k.layout.sizes.end() - 1);
      sizes.push_back(keys);
      const Tensor one = expand(eye(keys, std::nullopt, key.options(), loc), sizes, loc);
      const Tensor weights =
          scaled_dot_product_attention(query, key, one, attn_mask, 0, is_causal, scale, enable_gqa, loc);
      const Int heads = enable_gqa ? weights.size(-3) / value.size(-3) : 1;
      const Tensor values = enable_gqa ? repeat_interleave(value, heads, -3, loc) : value;
      return matmul(dropout(weights, dropout_p, true, loc), values, loc);
    });
  }
  return call1(
      OpId::scaled_dot_product_attention,
      {arg(query), arg(key), arg(value), arg(attn_mask), arg(dropout_p), arg(is_causal), arg(scale), arg(enable_gqa)},
      loc);
}

// ---- indexing
std::optional<graph::api::AsVectors> graph::api::as_vectors(const Tensor& self, const Tensor& index, const Tensor* src,
                                                            SourceLoc loc) {
  int least = 1;
  for (const Tensor* t : {&self, &index, src}) {
    if (!t) continue;
    if (!t->defined() || t->dim() > 1) return {};  // the operator's own rule says what is wrong
    least = std::min(least, static_cast<int>(t->dim()));
  }
  if (least == 1) return {};
  auto vector = [&](const Tensor& t) { return t.dim() == 0 ? view(t, Ints{1}, loc) : t; };
  return AsVectors{vector(self), vector(index), src ? vector(*src) : Tensor()};
}
Tensor embedding(const Tensor& weight, const Tensor& indices, SourceLoc loc) {
  return call1(OpId::embedding, {arg(weight), arg(indices)}, loc);
}
Tensor index_select(const Tensor& self, Int dim, const Tensor& index, SourceLoc loc) {
  return call1(OpId::index_select, {arg(self), arg(dim), arg(index)}, loc);
}
Tensor gather(const Tensor& self, Int dim, const Tensor& index, SourceLoc loc) {
  if (const auto v = graph::api::as_vectors(self, index, nullptr, loc))
    return view(call1(OpId::gather, {arg(v->self), arg(dim), arg(v->index)}, loc), index.sizes(), loc);
  return call1(OpId::gather, {arg(self), arg(dim), arg(index)}, loc);
}
Tensor index(const Tensor& self, TensorArrayRef indices, SourceLoc loc) {
  if (graph::api::has_mask(indices)) {
    const graph::api::MaskIndices m = graph::api::mask_indices(self, indices, false, "index", loc);
    return call1(OpId::index, {arg(m.self), TensorArrayRef(m.list)}, loc);
  }
  return call1(OpId::index, {arg(self), arg(indices)}, loc);
}
Tensor scatter(const Tensor& self, Int dim, const Tensor& index, const Operand& src, SourceLoc loc) {
  if (const auto v = graph::api::as_vectors(self, index, src.tensor(), loc))
    return view(
        call1(OpId::scatter, {arg(v->self), arg(dim), arg(v->index), src.tensor() ? arg(v->src) : arg(src)}, loc),
        self.sizes(), loc);
  return call1(OpId::scatter, {arg(self), arg(dim), arg(index), arg(src)}, loc);
}
Tensor scatter_add(const Tensor& self, Int dim, const Tensor& index, const Tensor& src, SourceLoc loc) {
  if (const auto v = graph::api::as_vectors(self, index, &src, loc))
    return view(call1(OpId::scatter_add, {arg(v->self), arg(dim), arg(v->index), arg(v->src)}, loc), self.sizes(), loc);
  return call1(OpId::scatter_add, {arg(self), arg(dim), arg(index), arg(src)}, loc);
}
Tensor index_put(const Tensor& self, TensorArrayRef indices, const Tensor& values, bool accumulate, SourceLoc loc) {
  if (graph::api::has_mask(indices)) return graph::api::put_by_masks(self, indices, values, accumulate, false, loc);
  return call1(OpId::index_put, {arg(self), arg(indices), arg(values), arg(accumulate)}, loc);
}

// ---- joining, and writing a part
Tensor cat(TensorArrayRef tensors, Int dim, SourceLoc loc) { return call1(OpId::cat, {arg(tensors), arg(dim)}, loc); }
Tensor slice_scatter(const Tensor& self, const Tensor& src, Int dim, std::optional<Int> start, std::optional<Int> end,
                     Int step, SourceLoc loc) {
  return call1(OpId::slice_scatter, {arg(self), arg(src), arg(dim), arg(start), arg(end), arg(step)}, loc);
}
Tensor select_scatter(const Tensor& self, const Tensor& src, Int dim, Int index, SourceLoc loc) {
  return call1(OpId::select_scatter, {arg(self), arg(src), arg(dim), arg(index)}, loc);
}
Tensor diagonal_scatter(const Tensor& self, const Tensor& src, Int offset, Int dim1, Int dim2, SourceLoc loc) {
  return call1(OpId::diagonal_scatter, {arg(self), arg(src), arg(offset), arg(dim1), arg(dim2)}, loc);
}
Tensor as_strided_scatter(const Tensor& self, const Tensor& src, IntArrayRef size, IntArrayRef stride,
                          std::optional<Int> storage_offset, SourceLoc loc) {
  return call1(OpId::as_strided_scatter, {arg(self), arg(src), arg(size), arg(stride), arg(storage_offset)}, loc);
}

// ---- ordering
TensorPair topk(const Tensor& self, Int k, Int dim, bool largest, bool sorted, SourceLoc loc) {
  return pair(calln(OpId::topk, {arg(self), arg(k), arg(dim), arg(largest), arg(sorted)}, loc));
}
TensorPair sort(const Tensor& self, Int dim, bool descending, SourceLoc loc) {
  return pair(calln(OpId::sort, {arg(self), arg(dim), arg(descending)}, loc));
}

// ---- views
Tensor view(const Tensor& self, IntArrayRef size, SourceLoc loc) {
  return call1(OpId::view, {arg(self), arg(size)}, loc);
}
Tensor permute(const Tensor& self, IntArrayRef dims, SourceLoc loc) {
  return call1(OpId::permute, {arg(self), arg(dims)}, loc);
}
Tensor slice(const Tensor& self, Int dim, std::optional<Int> start, std::optional<Int> end, Int step, SourceLoc loc) {
  return call1(OpId::slice, {arg(self), arg(dim), arg(start), arg(end), arg(step)}, loc);
}
Tensor select(const Tensor& self, Int dim, Int index, SourceLoc loc) {
  return call1(OpId::select, {arg(self), arg(dim), arg(index)}, loc);
}
Tensor alias(const Tensor& self, SourceLoc loc) { return call1(OpId::alias, {arg(self)}, loc); }
Tensor detach(const Tensor& self, SourceLoc loc) { return call1(OpId::detach, {arg(self)}, loc); }
Tensor squeeze(const Tensor& self, const OptionalDims& dim, SourceLoc loc) {
  return call1(OpId::squeeze, {arg(self), arg(dim)}, loc);
}
Tensor unsqueeze(const Tensor& self, Int dim, SourceLoc loc) {
  return call1(OpId::unsqueeze, {arg(self), arg(dim)}, loc);
}
Tensor expand(const Tensor& self, IntArrayRef size, SourceLoc loc) {
  return call1(OpId::expand, {arg(self), arg(size)}, loc);
}
Tensor as_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<Int> storage_offset,
                  SourceLoc loc) {
  return call1(OpId::as_strided, {arg(self), arg(size), arg(stride), arg(storage_offset)}, loc);
}
Tensor diagonal(const Tensor& self, Int offset, Int dim1, Int dim2, SourceLoc loc) {
  return call1(OpId::diagonal, {arg(self), arg(offset), arg(dim1), arg(dim2)}, loc);
}

}  // namespace reprise
