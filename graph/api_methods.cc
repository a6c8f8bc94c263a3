// The methods of Tensor that have a function of the same name, and the in-place twins.
#include "graph/api_args.h"
#include "graph/api_index.h"
#include "reprise/ops.h"

namespace reprise {

using graph::call1;
using graph::OpId;
using graph::api::arg;
using graph::api::rounding;

#define REPRISE_TWIN_Inplace(...) __VA_ARGS__
#define REPRISE_TWIN_None(...)
#define REPRISE_UNARY(name, rule, twin)                                          \
  Tensor Tensor::name(SourceLoc loc) const { return reprise::name(*this, loc); } \
  REPRISE_TWIN_##twin(Tensor Tensor::name##_(SourceLoc loc)                      \
                          const { return call1(OpId::name, {arg(*this)}, loc, true); })
#define REPRISE_BINARY(name, rule, twin)                                                                      \
  Tensor Tensor::name(const Operand& other, SourceLoc loc) const { return reprise::name(*this, other, loc); } \
  REPRISE_TWIN_##twin(Tensor Tensor::name##_(const Operand& other, SourceLoc loc) const {                     \
    return call1(OpId::name, {arg(*this), arg(other)}, loc, true);                                            \
  })
#include "reprise/elementwise_ops.inc"
#undef REPRISE_UNARY
#undef REPRISE_BINARY
#undef REPRISE_TWIN_Inplace
#undef REPRISE_TWIN_None

Tensor Tensor::add(const Operand& other, Scalar alpha, SourceLoc loc) const {
  return reprise::add(*this, other, alpha, loc);
}
Tensor Tensor::add_(const Operand& other, Scalar alpha, SourceLoc loc) const {
  return call1(OpId::add, {arg(*this), arg(other), arg(alpha)}, loc, true);
}
Tensor Tensor::sub(const Operand& other, Scalar alpha, SourceLoc loc) const {
  return reprise::sub(*this, other, alpha, loc);
}
Tensor Tensor::sub_(const Operand& other, Scalar alpha, SourceLoc loc) const {
  return call1(OpId::sub, {arg(*this), arg(other), arg(alpha)}, loc, true);
}
Tensor Tensor::div(const Operand& other, std::string_view rounding_mode, SourceLoc loc) const {
  return reprise::div(*this, other, rounding_mode, loc);
}
Tensor Tensor::div_(const Operand& other, std::string_view rounding_mode, SourceLoc loc) const {
  return call1(OpId::div, {arg(*this), arg(other), rounding(rounding_mode)}, loc, true);
}
Tensor Tensor::pow(const Operand& exponent, SourceLoc loc) const { return reprise::pow(*this, exponent, loc); }
Tensor Tensor::pow_(const Operand& exponent, SourceLoc loc) const {
  return call1(OpId::pow, {arg(*this), arg(exponent)}, loc, true);
}
Tensor Tensor::lerp(const Tensor& end, const Operand& weight, SourceLoc loc) const {
  return reprise::lerp(*this, end, weight, loc);
}
Tensor Tensor::lerp_(const Tensor& end, const Operand& weight, SourceLoc loc) const {
  return call1(OpId::lerp, {arg(*this), arg(end), arg(weight)}, loc, true);
}
Tensor Tensor::addcmul(const Tensor& tensor1, const Tensor& tensor2, Scalar value, SourceLoc loc) const {
  return reprise::addcmul(*this, tensor1, tensor2, value, loc);
}
Tensor Tensor::addcmul_(const Tensor& tensor1, const Tensor& tensor2, Scalar value, SourceLoc loc) const {
  return call1(OpId::addcmul, {arg(*this), arg(tensor1), arg(tensor2), arg(value)}, loc, true);
}
Tensor Tensor::addcdiv(const Tensor& tensor1, const Tensor& tensor2, Scalar value, SourceLoc loc) const {
  return reprise::addcdiv(*this, tensor1, tensor2, value, loc);
}
Tensor Tensor::addcdiv_(const Tensor& tensor1, const Tensor& tensor2, Scalar value, SourceLoc loc) const {
  return call1(OpId::addcdiv, {arg(*this), arg(tensor1), arg(tensor2), arg(value)}, loc, true);
}
Tensor Tensor::logit(std::optional<double> eps, SourceLoc loc) const { return reprise::logit(*this, eps, loc); }
Tensor Tensor::logit_(std::optional<double> eps, SourceLoc loc) const {
  return call1(OpId::logit, {arg(*this), arg(eps)}, loc, true);
}
Tensor Tensor::leaky_relu(Scalar negative_slope, SourceLoc loc) const {
  return reprise::leaky_relu(*this, negative_slope, loc);
}
Tensor Tensor::leaky_relu_(Scalar negative_slope, SourceLoc loc) const {
  return call1(OpId::leaky_relu, {arg(*this), arg(negative_slope)}, loc, true);
}
Tensor Tensor::elu(Scalar alpha, Scalar scale, Scalar input_scale, SourceLoc loc) const {
  return reprise::elu(*this, alpha, scale, input_scale, loc);
}
Tensor Tensor::elu_(Scalar alpha, Scalar scale, Scalar input_scale, SourceLoc loc) const {
  return call1(OpId::elu, {arg(*this), arg(alpha), arg(scale), arg(input_scale)}, loc, true);
}
Tensor Tensor::celu(Scalar alpha, SourceLoc loc) const { return reprise::celu(*this, alpha, loc); }
Tensor Tensor::celu_(Scalar alpha, SourceLoc loc) const {
  return call1(OpId::celu, {arg(*this), arg(alpha)}, loc, true);
}
Tensor Tensor::gelu(std::string_view approximate, SourceLoc loc) const {
  return reprise::gelu(*this, approximate, loc);
}
Tensor Tensor::gelu_(std::string_view approximate, SourceLoc loc) const {
  return call1(OpId::gelu, {arg(*this), arg(approximate)}, loc, true);
}
Tensor Tensor::softplus(Scalar beta, Scalar threshold, SourceLoc loc) const {
  return reprise::softplus(*this, beta, threshold, loc);
}
Tensor Tensor::hardtanh(Scalar min_val, Scalar max_val, SourceLoc loc) const {
  return reprise::hardtanh(*this, min_val, max_val, loc);
}
Tensor Tensor::hardtanh_(Scalar min_val, Scalar max_val, SourceLoc loc) const {
  return call1(OpId::hardtanh, {arg(*this), arg(min_val), arg(max_val)}, loc, true);
}
Tensor Tensor::threshold(Scalar threshold, Scalar value, SourceLoc loc) const {
  return reprise::threshold(*this, threshold, value, loc);
}
Tensor Tensor::threshold_(Scalar threshold, Scalar value, SourceLoc loc) const {
  return call1(OpId::threshold, {arg(*this), arg(threshold), arg(value)}, loc, true);
}
Tensor Tensor::glu(Int dim, SourceLoc loc) const { return reprise::glu(*this, dim, loc); }
Tensor Tensor::dropout(double p, bool training, SourceLoc loc) const {
  return reprise::dropout(*this, p, training, loc);
}
Tensor Tensor::clamp(const OptionalOperand& min, const OptionalOperand& max, SourceLoc loc) const {
  return reprise::clamp(*this, min, max, loc);
}
Tensor Tensor::clamp_(const OptionalOperand& min, const OptionalOperand& max, SourceLoc loc) const {
  return call1(OpId::clamp, {arg(*this), arg(min), arg(max)}, loc, true);
}
Tensor Tensor::clamp_min(const Operand& min, SourceLoc loc) const { return reprise::clamp_min(*this, min, loc); }
Tensor Tensor::clamp_max(const Operand& max, SourceLoc loc) const { return reprise::clamp_max(*this, max, loc); }
Tensor Tensor::masked_fill(const Tensor& mask, const Operand& value, SourceLoc loc) const {
  return reprise::masked_fill(*this, mask, value, loc);
}
Tensor Tensor::masked_fill_(const Tensor& mask, const Operand& value, SourceLoc loc) const {
  return call1(OpId::masked_fill, {arg(*this), arg(mask), arg(value)}, loc, true);
}
Tensor Tensor::to(DType dtype, SourceLoc loc) const { return reprise::to(*this, dtype, loc); }
Tensor Tensor::to(Device device, SourceLoc loc) const { return reprise::to(*this, device, loc); }
Tensor Tensor::to(Device device, bool non_blocking, SourceLoc loc) const {
  return reprise::to(*this, device, non_blocking, loc);
}
Tensor Tensor::to(Device device, DType dtype, SourceLoc loc) const {
  return reprise::to(reprise::to(*this, dtype, loc), device, loc);
}
Tensor Tensor::to(const TensorOptions& options, SourceLoc loc) const {
  return to(options.device.value_or(device()), options.dtype.value_or(dtype()), loc);
}
Tensor Tensor::to(const Tensor& other, SourceLoc loc) const { return to(other.device(), other.dtype(), loc); }
Tensor Tensor::pin_memory(Device device, SourceLoc loc) const { return reprise::pin_memory(*this, device, loc); }
bool Tensor::is_pinned(SourceLoc loc) const { return reprise::is_pinned(*this, loc); }
Tensor Tensor::cpu(SourceLoc loc) const { return reprise::to(*this, Device::cpu(), loc); }
Tensor Tensor::cuda(int index, SourceLoc loc) const { return reprise::to(*this, Device::cuda(index), loc); }
Tensor Tensor::type_as(const Tensor& other, SourceLoc loc) const { return reprise::type_as(*this, other, loc); }
Tensor Tensor::clone(SourceLoc loc) const { return reprise::clone(*this, loc); }
Tensor Tensor::contiguous(SourceLoc loc) const { return reprise::contiguous(*this, loc); }
#define REPRISE_REDUCTION(name, cls, rule)                                          \
  Tensor Tensor::name(const OptionalDims& dim, bool keepdim, SourceLoc loc) const { \
    return reprise::name(*this, dim, keepdim, loc);                                 \
  }
#define REPRISE_REDUCTION_AS(name, cls, rule)                                                                   \
  Tensor Tensor::name(const OptionalDims& dim, bool keepdim, std::optional<DType> dtype, SourceLoc loc) const { \
    return reprise::name(*this, dim, keepdim, dtype, loc);                                                      \
  }
#include "reprise/reduction_ops.inc"
#undef REPRISE_REDUCTION
#undef REPRISE_REDUCTION_AS
Tensor Tensor::var(const OptionalDims& dim, Scalar correction, bool keepdim, SourceLoc loc) const {
  return reprise::var(*this, dim, correction, keepdim, loc);
}
Tensor Tensor::std(const OptionalDims& dim, Scalar correction, bool keepdim, SourceLoc loc) const {
  return reprise::std(*this, dim, correction, keepdim, loc);
}
Tensor Tensor::logsumexp(const OptionalDims& dim, bool keepdim, SourceLoc loc) const {
  return reprise::logsumexp(*this, dim, keepdim, loc);
}
Tensor Tensor::norm(Scalar p, const OptionalDims& dim, bool keepdim, SourceLoc loc) const {
  return reprise::norm(*this, p, dim, keepdim, loc);
}
Tensor Tensor::argmax(std::optional<Int> dim, bool keepdim, SourceLoc loc) const {
  return reprise::argmax(*this, dim, keepdim, loc);
}
Tensor Tensor::argmin(std::optional<Int> dim, bool keepdim, SourceLoc loc) const {
  return reprise::argmin(*this, dim, keepdim, loc);
}
TensorPair Tensor::max(Int dim, bool keepdim, SourceLoc loc) const { return reprise::max(*this, dim, keepdim, loc); }
TensorPair Tensor::min(Int dim, bool keepdim, SourceLoc loc) const { return reprise::min(*this, dim, keepdim, loc); }
Tensor Tensor::max(SourceLoc loc) const { return reprise::max(*this, loc); }
Tensor Tensor::min(SourceLoc loc) const { return reprise::min(*this, loc); }
Tensor Tensor::cumsum(Int dim, std::optional<DType> dtype, SourceLoc loc) const {
  return reprise::cumsum(*this, dim, dtype, loc);
}
Tensor Tensor::softmax(Int dim, std::optional<DType> dtype, SourceLoc loc) const {
  return reprise::softmax(*this, dim, dtype, loc);
}
Tensor Tensor::log_softmax(Int dim, std::optional<DType> dtype, SourceLoc loc) const {
  return reprise::log_softmax(*this, dim, dtype, loc);
}
Tensor Tensor::mm(const Tensor& mat2, SourceLoc loc) const { return reprise::mm(*this, mat2, loc); }
Tensor Tensor::bmm(const Tensor& mat2, SourceLoc loc) const { return reprise::bmm(*this, mat2, loc); }
Tensor Tensor::matmul(const Tensor& other, SourceLoc loc) const { return reprise::matmul(*this, other, loc); }
Tensor Tensor::addmm(const Tensor& mat1, const Tensor& mat2, Scalar beta, Scalar alpha, SourceLoc loc) const {
  return reprise::addmm(*this, mat1, mat2, beta, alpha, loc);
}
Tensor Tensor::addmm_(const Tensor& mat1, const Tensor& mat2, Scalar beta, Scalar alpha, SourceLoc loc) const {
  return call1(OpId::addmm, {arg(*this), arg(mat1), arg(mat2), arg(beta), arg(alpha)}, loc, true);
}
Tensor Tensor::mv(const Tensor& vec, SourceLoc loc) const { return reprise::mv(*this, vec, loc); }
Tensor Tensor::dot(const Tensor& other, SourceLoc loc) const { return reprise::dot(*this, other, loc); }
Tensor Tensor::outer(const Tensor& vec2, SourceLoc loc) const { return reprise::outer(*this, vec2, loc); }
Tensor Tensor::index_select(Int dim, const Tensor& index, SourceLoc loc) const {
  return reprise::index_select(*this, dim, index, loc);
}
Tensor Tensor::gather(Int dim, const Tensor& index, SourceLoc loc) const {
  return reprise::gather(*this, dim, index, loc);
}
Tensor Tensor::index(TensorArrayRef indices, SourceLoc loc) const { return reprise::index(*this, indices, loc); }
Tensor Tensor::scatter(Int dim, const Tensor& index, const Operand& src, SourceLoc loc) const {
  return reprise::scatter(*this, dim, index, src, loc);
}
Tensor Tensor::scatter_(Int dim, const Tensor& index, const Operand& src, SourceLoc loc) const {
  if (const auto v = graph::api::as_vectors(*this, index, src.tensor(), loc))
    return call1(OpId::scatter, {arg(v->self), arg(dim), arg(v->index), src.tensor() ? arg(v->src) : arg(src)}, loc,
                 true),
           *this;
  return call1(OpId::scatter, {arg(*this), arg(dim), arg(index), arg(src)}, loc, true);
}
Tensor Tensor::scatter_add(Int dim, const Tensor& index, const Tensor& src, SourceLoc loc) const {
  return reprise::scatter_add(*this, dim, index, src, loc);
}
Tensor Tensor::scatter_add_(Int dim, const Tensor& index, const Tensor& src, SourceLoc loc) const {
  if (const auto v = graph::api::as_vectors(*this, index, &src, loc))
    return call1(OpId::scatter_add, {arg(v->self), arg(dim), arg(v->index), arg(v->src)}, loc, true), *this;
  return call1(OpId::scatter_add, {arg(*this), arg(dim), arg(index), arg(src)}, loc, true);
}
Tensor Tensor::index_put(TensorArrayRef indices, const Tensor& values, bool accumulate, SourceLoc loc) const {
  return reprise::index_put(*this, indices, values, accumulate, loc);
}
Tensor Tensor::index_put_(TensorArrayRef indices, const Tensor& values, bool accumulate, SourceLoc loc) const {
  if (graph::api::has_mask(indices)) return graph::api::put_by_masks(*this, indices, values, accumulate, true, loc);
  return call1(OpId::index_put, {arg(*this), arg(indices), arg(values), arg(accumulate)}, loc, true);
}
Tensor Tensor::index_copy(Int dim, const Tensor& index, const Tensor& source, SourceLoc loc) const {
  return reprise::index_copy(*this, dim, index, source, loc);
}
Tensor Tensor::index_add(Int dim, const Tensor& index, const Tensor& source, SourceLoc loc) const {
  return reprise::index_add(*this, dim, index, source, loc);
}
Tensor Tensor::slice_scatter(const Tensor& src, Int dim, std::optional<Int> start, std::optional<Int> end, Int step,
                             SourceLoc loc) const {
  return reprise::slice_scatter(*this, src, dim, start, end, step, loc);
}
Tensor Tensor::select_scatter(const Tensor& src, Int dim, Int index, SourceLoc loc) const {
  return reprise::select_scatter(*this, src, dim, index, loc);
}
Tensor Tensor::diagonal_scatter(const Tensor& src, Int offset, Int dim1, Int dim2, SourceLoc loc) const {
  return reprise::diagonal_scatter(*this, src, offset, dim1, dim2, loc);
}
Tensor Tensor::as_strided_scatter(const Tensor& src, IntArrayRef size, IntArrayRef stride,
                                  std::optional<Int> storage_offset, SourceLoc loc) const {
  return reprise::as_strided_scatter(*this, src, size, stride, storage_offset, loc);
}
Tensor Tensor::bernoulli(SourceLoc loc) const { return reprise::bernoulli(*this, loc); }
Tensor Tensor::multinomial(Int num_samples, bool replacement, SourceLoc loc) const {
  return reprise::multinomial(*this, num_samples, replacement, loc);
}
TensorPair Tensor::topk(Int k, Int dim, bool largest, bool sorted, SourceLoc loc) const {
  return reprise::topk(*this, k, dim, largest, sorted, loc);
}
TensorPair Tensor::sort(Int dim, bool descending, SourceLoc loc) const {
  return reprise::sort(*this, dim, descending, loc);
}
Tensor Tensor::argsort(Int dim, bool descending, SourceLoc loc) const {
  return reprise::argsort(*this, dim, descending, loc);
}
Tensor Tensor::tril(Int diagonal, SourceLoc loc) const { return reprise::tril(*this, diagonal, loc); }
Tensor Tensor::triu(Int diagonal, SourceLoc loc) const { return reprise::triu(*this, diagonal, loc); }
Tensor Tensor::roll(IntArrayRef shifts, IntArrayRef dims, SourceLoc loc) const {
  return reprise::roll(*this, shifts, dims, loc);
}
Tensor Tensor::flip(IntArrayRef dims, SourceLoc loc) const { return reprise::flip(*this, dims, loc); }
Tensor Tensor::repeat(IntArrayRef repeats, SourceLoc loc) const { return reprise::repeat(*this, repeats, loc); }
Tensor Tensor::repeat_interleave(Int repeats, Int dim, SourceLoc loc) const {
  return reprise::repeat_interleave(*this, repeats, dim, loc);
}
Tensor Tensor::view(IntArrayRef size, SourceLoc loc) const { return reprise::view(*this, size, loc); }
Tensor Tensor::reshape(IntArrayRef shape, SourceLoc loc) const { return reprise::reshape(*this, shape, loc); }
Tensor Tensor::view_as(const Tensor& other, SourceLoc loc) const { return reprise::view_as(*this, other, loc); }
Tensor Tensor::reshape_as(const Tensor& other, SourceLoc loc) const { return reprise::reshape_as(*this, other, loc); }
Tensor Tensor::flatten(Int start_dim, Int end_dim, SourceLoc loc) const {
  return reprise::flatten(*this, start_dim, end_dim, loc);
}
Tensor Tensor::unflatten(Int dim, IntArrayRef sizes, SourceLoc loc) const {
  return reprise::unflatten(*this, dim, sizes, loc);
}
Tensor Tensor::permute(IntArrayRef dims, SourceLoc loc) const { return reprise::permute(*this, dims, loc); }
Tensor Tensor::transpose(Int dim0, Int dim1, SourceLoc loc) const { return reprise::transpose(*this, dim0, dim1, loc); }
Tensor Tensor::swapaxes(Int dim0, Int dim1, SourceLoc loc) const { return reprise::swapaxes(*this, dim0, dim1, loc); }
Tensor Tensor::swapdims(Int dim0, Int dim1, SourceLoc loc) const { return reprise::swapdims(*this, dim0, dim1, loc); }
Tensor Tensor::mT(SourceLoc loc) const { return reprise::mT(*this, loc); }
Tensor Tensor::t(SourceLoc loc) const { return reprise::t(*this, loc); }
Tensor Tensor::movedim(Int source, Int destination, SourceLoc loc) const {
  return reprise::movedim(*this, source, destination, loc);
}
Tensor Tensor::slice(Int dim, std::optional<Int> start, std::optional<Int> end, Int step, SourceLoc loc) const {
  return reprise::slice(*this, dim, start, end, step, loc);
}
Tensor Tensor::narrow(Int dim, Int start, Int length, SourceLoc loc) const {
  return reprise::narrow(*this, dim, start, length, loc);
}
Tensor Tensor::select(Int dim, Int index, SourceLoc loc) const { return reprise::select(*this, dim, index, loc); }
Tensor Tensor::alias(SourceLoc loc) const { return reprise::alias(*this, loc); }
Tensor Tensor::detach(SourceLoc loc) const { return reprise::detach(*this, loc); }
Tensor Tensor::squeeze(const OptionalDims& dim, SourceLoc loc) const { return reprise::squeeze(*this, dim, loc); }
Tensor Tensor::unsqueeze(Int dim, SourceLoc loc) const { return reprise::unsqueeze(*this, dim, loc); }
Tensor Tensor::expand(IntArrayRef size, SourceLoc loc) const { return reprise::expand(*this, size, loc); }
Tensor Tensor::expand_as(const Tensor& other, SourceLoc loc) const { return reprise::expand_as(*this, other, loc); }
Tensor Tensor::broadcast_to(IntArrayRef size, SourceLoc loc) const { return reprise::broadcast_to(*this, size, loc); }
Tensor Tensor::as_strided(IntArrayRef size, IntArrayRef stride, std::optional<Int> storage_offset,
                          SourceLoc loc) const {
  return reprise::as_strided(*this, size, stride, storage_offset, loc);
}
Tensor Tensor::diagonal(Int offset, Int dim1, Int dim2, SourceLoc loc) const {
  return reprise::diagonal(*this, offset, dim1, dim2, loc);
}
Tensor Tensor::unfold(Int dimension, Int size, Int step, SourceLoc loc) const {
  return reprise::unfold(*this, dimension, size, step, loc);
}
std::vector<Tensor> Tensor::split(Int split_size, Int dim, SourceLoc loc) const {
  return reprise::split(*this, split_size, dim, loc);
}
std::vector<Tensor> Tensor::split_with_sizes(IntArrayRef split_sizes, Int dim, SourceLoc loc) const {
  return reprise::split_with_sizes(*this, split_sizes, dim, loc);
}
std::vector<Tensor> Tensor::chunk(Int chunks, Int dim, SourceLoc loc) const {
  return reprise::chunk(*this, chunks, dim, loc);
}
std::vector<Tensor> Tensor::unbind(Int dim, SourceLoc loc) const { return reprise::unbind(*this, dim, loc); }
std::vector<Tensor> Tensor::tensor_split(Int sections, Int dim, SourceLoc loc) const {
  return reprise::tensor_split(*this, sections, dim, loc);
}
std::vector<Tensor> Tensor::hsplit(Int sections, SourceLoc loc) const { return reprise::hsplit(*this, sections, loc); }
std::vector<Tensor> Tensor::vsplit(Int sections, SourceLoc loc) const { return reprise::vsplit(*this, sections, loc); }

const Tensor& Tensor::operator+=(const Operand& other) const {
  call1(OpId::add, {arg(*this), arg(other)}, other.loc(), true);
  return *this;
}
const Tensor& Tensor::operator-=(const Operand& other) const {
  call1(OpId::sub, {arg(*this), arg(other)}, other.loc(), true);
  return *this;
}
const Tensor& Tensor::operator*=(const Operand& other) const {
  call1(OpId::mul, {arg(*this), arg(other)}, other.loc(), true);
  return *this;
}
const Tensor& Tensor::operator/=(const Operand& other) const {
  call1(OpId::div, {arg(*this), arg(other)}, other.loc(), true);
  return *this;
}
const Tensor& Tensor::operator%=(const Operand& other) const {
  call1(OpId::remainder, {arg(*this), arg(other)}, other.loc(), true);
  return *this;
}
const Tensor& Tensor::operator&=(const Operand& other) const {
  call1(OpId::bitwise_and, {arg(*this), arg(other)}, other.loc(), true);
  return *this;
}
const Tensor& Tensor::operator|=(const Operand& other) const {
  call1(OpId::bitwise_or, {arg(*this), arg(other)}, other.loc(), true);
  return *this;
}
const Tensor& Tensor::operator^=(const Operand& other) const {
  call1(OpId::bitwise_xor, {arg(*this), arg(other)}, other.loc(), true);
  return *this;
}

}  // namespace reprise
