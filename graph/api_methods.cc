// The methods of Tensor that have a function of the same name, and the in-place twins.
#include "graph/api_args.h"
#include "reprise/ops.h"

namespace reprise {

using graph::call1;
using graph::OpId;
using graph::api::arg;
using graph::api::rounding;

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
Tensor Tensor::mul(const Operand& other, SourceLoc loc) const { return reprise::mul(*this, other, loc); }
Tensor Tensor::mul_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::mul, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::div(const Operand& other, std::string_view rounding_mode, SourceLoc loc) const {
  return reprise::div(*this, other, rounding_mode, loc);
}
Tensor Tensor::div_(const Operand& other, std::string_view rounding_mode, SourceLoc loc) const {
  return call1(OpId::div, {arg(*this), arg(other), rounding(rounding_mode)}, loc, true);
}
Tensor Tensor::floor_divide(const Operand& other, SourceLoc loc) const {
  return reprise::floor_divide(*this, other, loc);
}
Tensor Tensor::floor_divide_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::floor_divide, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::remainder(const Operand& other, SourceLoc loc) const { return reprise::remainder(*this, other, loc); }
Tensor Tensor::remainder_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::remainder, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::fmod(const Operand& other, SourceLoc loc) const { return reprise::fmod(*this, other, loc); }
Tensor Tensor::fmod_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::fmod, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::pow(const Operand& exponent, SourceLoc loc) const { return reprise::pow(*this, exponent, loc); }
Tensor Tensor::pow_(const Operand& exponent, SourceLoc loc) const {
  return call1(OpId::pow, {arg(*this), arg(exponent)}, loc, true);
}
Tensor Tensor::maximum(const Operand& other, SourceLoc loc) const { return reprise::maximum(*this, other, loc); }
Tensor Tensor::minimum(const Operand& other, SourceLoc loc) const { return reprise::minimum(*this, other, loc); }
Tensor Tensor::hypot(const Operand& other, SourceLoc loc) const { return reprise::hypot(*this, other, loc); }
Tensor Tensor::hypot_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::hypot, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::atan2(const Operand& other, SourceLoc loc) const { return reprise::atan2(*this, other, loc); }
Tensor Tensor::atan2_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::atan2, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::copysign(const Operand& other, SourceLoc loc) const { return reprise::copysign(*this, other, loc); }
Tensor Tensor::copysign_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::copysign, {arg(*this), arg(other)}, loc, true);
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
Tensor Tensor::neg(SourceLoc loc) const { return reprise::neg(*this, loc); }
Tensor Tensor::neg_(SourceLoc loc) const { return call1(OpId::neg, {arg(*this)}, loc, true); }
Tensor Tensor::abs(SourceLoc loc) const { return reprise::abs(*this, loc); }
Tensor Tensor::abs_(SourceLoc loc) const { return call1(OpId::abs, {arg(*this)}, loc, true); }
Tensor Tensor::sign(SourceLoc loc) const { return reprise::sign(*this, loc); }
Tensor Tensor::sign_(SourceLoc loc) const { return call1(OpId::sign, {arg(*this)}, loc, true); }
Tensor Tensor::square(SourceLoc loc) const { return reprise::square(*this, loc); }
Tensor Tensor::square_(SourceLoc loc) const { return call1(OpId::square, {arg(*this)}, loc, true); }
Tensor Tensor::reciprocal(SourceLoc loc) const { return reprise::reciprocal(*this, loc); }
Tensor Tensor::reciprocal_(SourceLoc loc) const { return call1(OpId::reciprocal, {arg(*this)}, loc, true); }
Tensor Tensor::sqrt(SourceLoc loc) const { return reprise::sqrt(*this, loc); }
Tensor Tensor::sqrt_(SourceLoc loc) const { return call1(OpId::sqrt, {arg(*this)}, loc, true); }
Tensor Tensor::rsqrt(SourceLoc loc) const { return reprise::rsqrt(*this, loc); }
Tensor Tensor::rsqrt_(SourceLoc loc) const { return call1(OpId::rsqrt, {arg(*this)}, loc, true); }
Tensor Tensor::eq(const Operand& other, SourceLoc loc) const { return reprise::eq(*this, other, loc); }
Tensor Tensor::eq_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::eq, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::ne(const Operand& other, SourceLoc loc) const { return reprise::ne(*this, other, loc); }
Tensor Tensor::ne_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::ne, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::lt(const Operand& other, SourceLoc loc) const { return reprise::lt(*this, other, loc); }
Tensor Tensor::lt_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::lt, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::le(const Operand& other, SourceLoc loc) const { return reprise::le(*this, other, loc); }
Tensor Tensor::le_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::le, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::gt(const Operand& other, SourceLoc loc) const { return reprise::gt(*this, other, loc); }
Tensor Tensor::gt_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::gt, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::ge(const Operand& other, SourceLoc loc) const { return reprise::ge(*this, other, loc); }
Tensor Tensor::ge_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::ge, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::isnan(SourceLoc loc) const { return reprise::isnan(*this, loc); }
Tensor Tensor::isinf(SourceLoc loc) const { return reprise::isinf(*this, loc); }
Tensor Tensor::isfinite(SourceLoc loc) const { return reprise::isfinite(*this, loc); }
Tensor Tensor::logical_and(const Operand& other, SourceLoc loc) const {
  return reprise::logical_and(*this, other, loc);
}
Tensor Tensor::logical_and_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::logical_and, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::logical_or(const Operand& other, SourceLoc loc) const { return reprise::logical_or(*this, other, loc); }
Tensor Tensor::logical_or_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::logical_or, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::logical_xor(const Operand& other, SourceLoc loc) const {
  return reprise::logical_xor(*this, other, loc);
}
Tensor Tensor::logical_xor_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::logical_xor, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::logical_not(SourceLoc loc) const { return reprise::logical_not(*this, loc); }
Tensor Tensor::logical_not_(SourceLoc loc) const { return call1(OpId::logical_not, {arg(*this)}, loc, true); }
Tensor Tensor::bitwise_and(const Operand& other, SourceLoc loc) const {
  return reprise::bitwise_and(*this, other, loc);
}
Tensor Tensor::bitwise_and_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::bitwise_and, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::bitwise_or(const Operand& other, SourceLoc loc) const { return reprise::bitwise_or(*this, other, loc); }
Tensor Tensor::bitwise_or_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::bitwise_or, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::bitwise_xor(const Operand& other, SourceLoc loc) const {
  return reprise::bitwise_xor(*this, other, loc);
}
Tensor Tensor::bitwise_xor_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::bitwise_xor, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::bitwise_not(SourceLoc loc) const { return reprise::bitwise_not(*this, loc); }
Tensor Tensor::bitwise_not_(SourceLoc loc) const { return call1(OpId::bitwise_not, {arg(*this)}, loc, true); }
Tensor Tensor::bitwise_left_shift(const Operand& other, SourceLoc loc) const {
  return reprise::bitwise_left_shift(*this, other, loc);
}
Tensor Tensor::bitwise_left_shift_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::bitwise_left_shift, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::bitwise_right_shift(const Operand& other, SourceLoc loc) const {
  return reprise::bitwise_right_shift(*this, other, loc);
}
Tensor Tensor::bitwise_right_shift_(const Operand& other, SourceLoc loc) const {
  return call1(OpId::bitwise_right_shift, {arg(*this), arg(other)}, loc, true);
}
Tensor Tensor::floor(SourceLoc loc) const { return reprise::floor(*this, loc); }
Tensor Tensor::floor_(SourceLoc loc) const { return call1(OpId::floor, {arg(*this)}, loc, true); }
Tensor Tensor::ceil(SourceLoc loc) const { return reprise::ceil(*this, loc); }
Tensor Tensor::ceil_(SourceLoc loc) const { return call1(OpId::ceil, {arg(*this)}, loc, true); }
Tensor Tensor::round(SourceLoc loc) const { return reprise::round(*this, loc); }
Tensor Tensor::round_(SourceLoc loc) const { return call1(OpId::round, {arg(*this)}, loc, true); }
Tensor Tensor::trunc(SourceLoc loc) const { return reprise::trunc(*this, loc); }
Tensor Tensor::trunc_(SourceLoc loc) const { return call1(OpId::trunc, {arg(*this)}, loc, true); }
Tensor Tensor::frac(SourceLoc loc) const { return reprise::frac(*this, loc); }
Tensor Tensor::frac_(SourceLoc loc) const { return call1(OpId::frac, {arg(*this)}, loc, true); }
Tensor Tensor::exp(SourceLoc loc) const { return reprise::exp(*this, loc); }
Tensor Tensor::exp_(SourceLoc loc) const { return call1(OpId::exp, {arg(*this)}, loc, true); }
Tensor Tensor::exp2(SourceLoc loc) const { return reprise::exp2(*this, loc); }
Tensor Tensor::exp2_(SourceLoc loc) const { return call1(OpId::exp2, {arg(*this)}, loc, true); }
Tensor Tensor::expm1(SourceLoc loc) const { return reprise::expm1(*this, loc); }
Tensor Tensor::expm1_(SourceLoc loc) const { return call1(OpId::expm1, {arg(*this)}, loc, true); }
Tensor Tensor::log(SourceLoc loc) const { return reprise::log(*this, loc); }
Tensor Tensor::log_(SourceLoc loc) const { return call1(OpId::log, {arg(*this)}, loc, true); }
Tensor Tensor::log2(SourceLoc loc) const { return reprise::log2(*this, loc); }
Tensor Tensor::log2_(SourceLoc loc) const { return call1(OpId::log2, {arg(*this)}, loc, true); }
Tensor Tensor::log10(SourceLoc loc) const { return reprise::log10(*this, loc); }
Tensor Tensor::log10_(SourceLoc loc) const { return call1(OpId::log10, {arg(*this)}, loc, true); }
Tensor Tensor::log1p(SourceLoc loc) const { return reprise::log1p(*this, loc); }
Tensor Tensor::log1p_(SourceLoc loc) const { return call1(OpId::log1p, {arg(*this)}, loc, true); }
Tensor Tensor::sin(SourceLoc loc) const { return reprise::sin(*this, loc); }
Tensor Tensor::sin_(SourceLoc loc) const { return call1(OpId::sin, {arg(*this)}, loc, true); }
Tensor Tensor::cos(SourceLoc loc) const { return reprise::cos(*this, loc); }
Tensor Tensor::cos_(SourceLoc loc) const { return call1(OpId::cos, {arg(*this)}, loc, true); }
Tensor Tensor::tan(SourceLoc loc) const { return reprise::tan(*this, loc); }
Tensor Tensor::tan_(SourceLoc loc) const { return call1(OpId::tan, {arg(*this)}, loc, true); }
Tensor Tensor::asin(SourceLoc loc) const { return reprise::asin(*this, loc); }
Tensor Tensor::asin_(SourceLoc loc) const { return call1(OpId::asin, {arg(*this)}, loc, true); }
Tensor Tensor::acos(SourceLoc loc) const { return reprise::acos(*this, loc); }
Tensor Tensor::acos_(SourceLoc loc) const { return call1(OpId::acos, {arg(*this)}, loc, true); }
Tensor Tensor::atan(SourceLoc loc) const { return reprise::atan(*this, loc); }
Tensor Tensor::atan_(SourceLoc loc) const { return call1(OpId::atan, {arg(*this)}, loc, true); }
Tensor Tensor::sinh(SourceLoc loc) const { return reprise::sinh(*this, loc); }
Tensor Tensor::sinh_(SourceLoc loc) const { return call1(OpId::sinh, {arg(*this)}, loc, true); }
Tensor Tensor::cosh(SourceLoc loc) const { return reprise::cosh(*this, loc); }
Tensor Tensor::cosh_(SourceLoc loc) const { return call1(OpId::cosh, {arg(*this)}, loc, true); }
Tensor Tensor::tanh(SourceLoc loc) const { return reprise::tanh(*this, loc); }
Tensor Tensor::tanh_(SourceLoc loc) const { return call1(OpId::tanh, {arg(*this)}, loc, true); }
Tensor Tensor::asinh(SourceLoc loc) const { return reprise::asinh(*this, loc); }
Tensor Tensor::asinh_(SourceLoc loc) const { return call1(OpId::asinh, {arg(*this)}, loc, true); }
Tensor Tensor::acosh(SourceLoc loc) const { return reprise::acosh(*this, loc); }
Tensor Tensor::acosh_(SourceLoc loc) const { return call1(OpId::acosh, {arg(*this)}, loc, true); }
Tensor Tensor::atanh(SourceLoc loc) const { return reprise::atanh(*this, loc); }
Tensor Tensor::atanh_(SourceLoc loc) const { return call1(OpId::atanh, {arg(*this)}, loc, true); }
Tensor Tensor::erf(SourceLoc loc) const { return reprise::erf(*this, loc); }
Tensor Tensor::erf_(SourceLoc loc) const { return call1(OpId::erf, {arg(*this)}, loc, true); }
Tensor Tensor::erfc(SourceLoc loc) const { return reprise::erfc(*this, loc); }
Tensor Tensor::erfc_(SourceLoc loc) const { return call1(OpId::erfc, {arg(*this)}, loc, true); }
Tensor Tensor::lgamma(SourceLoc loc) const { return reprise::lgamma(*this, loc); }
Tensor Tensor::lgamma_(SourceLoc loc) const { return call1(OpId::lgamma, {arg(*this)}, loc, true); }
Tensor Tensor::sigmoid(SourceLoc loc) const { return reprise::sigmoid(*this, loc); }
Tensor Tensor::sigmoid_(SourceLoc loc) const { return call1(OpId::sigmoid, {arg(*this)}, loc, true); }
Tensor Tensor::logit(std::optional<double> eps, SourceLoc loc) const { return reprise::logit(*this, eps, loc); }
Tensor Tensor::logit_(std::optional<double> eps, SourceLoc loc) const {
  return call1(OpId::logit, {arg(*this), arg(eps)}, loc, true);
}
Tensor Tensor::relu(SourceLoc loc) const { return reprise::relu(*this, loc); }
Tensor Tensor::relu_(SourceLoc loc) const { return call1(OpId::relu, {arg(*this)}, loc, true); }
Tensor Tensor::relu6(SourceLoc loc) const { return reprise::relu6(*this, loc); }
Tensor Tensor::relu6_(SourceLoc loc) const { return call1(OpId::relu6, {arg(*this)}, loc, true); }
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
Tensor Tensor::selu(SourceLoc loc) const { return reprise::selu(*this, loc); }
Tensor Tensor::selu_(SourceLoc loc) const { return call1(OpId::selu, {arg(*this)}, loc, true); }
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
Tensor Tensor::silu(SourceLoc loc) const { return reprise::silu(*this, loc); }
Tensor Tensor::silu_(SourceLoc loc) const { return call1(OpId::silu, {arg(*this)}, loc, true); }
Tensor Tensor::mish(SourceLoc loc) const { return reprise::mish(*this, loc); }
Tensor Tensor::mish_(SourceLoc loc) const { return call1(OpId::mish, {arg(*this)}, loc, true); }
Tensor Tensor::softplus(Scalar beta, Scalar threshold, SourceLoc loc) const {
  return reprise::softplus(*this, beta, threshold, loc);
}
Tensor Tensor::hardtanh(Scalar min_val, Scalar max_val, SourceLoc loc) const {
  return reprise::hardtanh(*this, min_val, max_val, loc);
}
Tensor Tensor::hardtanh_(Scalar min_val, Scalar max_val, SourceLoc loc) const {
  return call1(OpId::hardtanh, {arg(*this), arg(min_val), arg(max_val)}, loc, true);
}
Tensor Tensor::hardsigmoid(SourceLoc loc) const { return reprise::hardsigmoid(*this, loc); }
Tensor Tensor::hardsigmoid_(SourceLoc loc) const { return call1(OpId::hardsigmoid, {arg(*this)}, loc, true); }
Tensor Tensor::hardswish(SourceLoc loc) const { return reprise::hardswish(*this, loc); }
Tensor Tensor::hardswish_(SourceLoc loc) const { return call1(OpId::hardswish, {arg(*this)}, loc, true); }
Tensor Tensor::softsign(SourceLoc loc) const { return reprise::softsign(*this, loc); }
Tensor Tensor::log_sigmoid(SourceLoc loc) const { return reprise::log_sigmoid(*this, loc); }
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
Tensor Tensor::to(Device device, bool non_blocking, SourceLoc loc) const { return reprise::to(*this, device, non_blocking, loc); }
Tensor Tensor::to(Device device, DType dtype, SourceLoc loc) const { return reprise::to(reprise::to(*this, dtype, loc), device, loc); }
Tensor Tensor::to(const Tensor& other, SourceLoc loc) const { return to(other.device(), other.dtype(), loc); }
Tensor Tensor::pin_memory(Device device, SourceLoc loc) const { return reprise::pin_memory(*this, device, loc); }
bool Tensor::is_pinned(SourceLoc loc) const { return reprise::is_pinned(*this, loc); }
Tensor Tensor::cpu(SourceLoc loc) const { return reprise::to(*this, Device::cpu(), loc); }
Tensor Tensor::cuda(int index, SourceLoc loc) const { return reprise::to(*this, Device::cuda(index), loc); }
Tensor Tensor::type_as(const Tensor& other, SourceLoc loc) const { return reprise::type_as(*this, other, loc); }
Tensor Tensor::clone(SourceLoc loc) const { return reprise::clone(*this, loc); }
Tensor Tensor::contiguous(SourceLoc loc) const { return reprise::contiguous(*this, loc); }
Tensor Tensor::sum(const OptionalDims& dim, bool keepdim, std::optional<DType> dtype, SourceLoc loc) const {
  return reprise::sum(*this, dim, keepdim, dtype, loc);
}
Tensor Tensor::prod(const OptionalDims& dim, bool keepdim, std::optional<DType> dtype, SourceLoc loc) const {
  return reprise::prod(*this, dim, keepdim, dtype, loc);
}
Tensor Tensor::mean(const OptionalDims& dim, bool keepdim, std::optional<DType> dtype, SourceLoc loc) const {
  return reprise::mean(*this, dim, keepdim, dtype, loc);
}
Tensor Tensor::amax(const OptionalDims& dim, bool keepdim, SourceLoc loc) const {
  return reprise::amax(*this, dim, keepdim, loc);
}
Tensor Tensor::amin(const OptionalDims& dim, bool keepdim, SourceLoc loc) const {
  return reprise::amin(*this, dim, keepdim, loc);
}
Tensor Tensor::any(const OptionalDims& dim, bool keepdim, SourceLoc loc) const {
  return reprise::any(*this, dim, keepdim, loc);
}
Tensor Tensor::all(const OptionalDims& dim, bool keepdim, SourceLoc loc) const {
  return reprise::all(*this, dim, keepdim, loc);
}
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
  return call1(OpId::scatter, {arg(*this), arg(dim), arg(index), arg(src)}, loc, true);
}
Tensor Tensor::scatter_add(Int dim, const Tensor& index, const Tensor& src, SourceLoc loc) const {
  return reprise::scatter_add(*this, dim, index, src, loc);
}
Tensor Tensor::scatter_add_(Int dim, const Tensor& index, const Tensor& src, SourceLoc loc) const {
  return call1(OpId::scatter_add, {arg(*this), arg(dim), arg(index), arg(src)}, loc, true);
}
Tensor Tensor::index_put(TensorArrayRef indices, const Tensor& values, bool accumulate, SourceLoc loc) const {
  return reprise::index_put(*this, indices, values, accumulate, loc);
}
Tensor Tensor::index_put_(TensorArrayRef indices, const Tensor& values, bool accumulate, SourceLoc loc) const {
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
