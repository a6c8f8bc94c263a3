#include "bench/aten/evaluate.h"

namespace reprise::aten {

#define REPRISE_CALL(name) calls[#name] = call_of(&reprise::name);

void add_basic(Calls& calls) {
#define REPRISE_UNARY(name, rule, twin) calls[#name] = call_of<Tensor, const Tensor&, SourceLoc>(&reprise::name);
#define REPRISE_BINARY(name, rule, twin) \
  calls[#name] = call_of<Tensor, const Operand&, const Operand&, SourceLoc>(&reprise::name);
#include "reprise/elementwise_ops.inc"
#undef REPRISE_UNARY
#undef REPRISE_BINARY
#define REPRISE_REDUCTION(name, cls, rule) \
  calls[#name] = call_of<Tensor, const Tensor&, const OptionalDims&, bool, SourceLoc>(&reprise::name);
#define REPRISE_REDUCTION_AS(name, cls, rule) \
  calls[#name] =                              \
      call_of<Tensor, const Tensor&, const OptionalDims&, bool, std::optional<DType>, SourceLoc>(&reprise::name);
#include "reprise/reduction_ops.inc"
#undef REPRISE_REDUCTION
#undef REPRISE_REDUCTION_AS
  REPRISE_CALL(add)
  REPRISE_CALL(sub)
  REPRISE_CALL(div)
  REPRISE_CALL(fmax)
  REPRISE_CALL(fmin)
  REPRISE_CALL(logaddexp)
  REPRISE_CALL(logaddexp2)
  REPRISE_CALL(xlogy)
  REPRISE_CALL(heaviside)
  REPRISE_CALL(lerp)
  REPRISE_CALL(addcmul)
  REPRISE_CALL(addcdiv)
  REPRISE_CALL(isposinf)
  REPRISE_CALL(isneginf)
  REPRISE_CALL(signbit)
  REPRISE_CALL(isclose)
  REPRISE_CALL(logit)
  REPRISE_CALL(deg2rad)
  REPRISE_CALL(rad2deg)
  REPRISE_CALL(nan_to_num)
  REPRISE_CALL(leaky_relu)
  REPRISE_CALL(elu)
  REPRISE_CALL(celu)
  REPRISE_CALL(gelu)
  REPRISE_CALL(softplus)
  REPRISE_CALL(hardtanh)
  REPRISE_CALL(threshold)
  REPRISE_CALL(hardshrink)
  REPRISE_CALL(softshrink)
  REPRISE_CALL(tanhshrink)
  REPRISE_CALL(prelu)
  REPRISE_CALL(glu)
  REPRISE_CALL(where)
  REPRISE_CALL(clamp)
  REPRISE_CALL(clamp_min)
  REPRISE_CALL(clamp_max)
  REPRISE_CALL(masked_fill)
  REPRISE_CALL(logsumexp)
  REPRISE_CALL(norm)
  REPRISE_CALL(argmax)
  REPRISE_CALL(argmin)
  REPRISE_CALL(cumsum)
  REPRISE_CALL(softmax)
  REPRISE_CALL(log_softmax)
  calls["pow"] = call_of<Tensor, const Operand&, const Operand&, SourceLoc>(&reprise::pow);
  calls["to"] = call_of<Tensor, const Tensor&, DType, SourceLoc>(&reprise::to);
  calls["max_dim"] = call_of<TensorPair, const Tensor&, Int, bool, SourceLoc>(&reprise::max);
  calls["min_dim"] = call_of<TensorPair, const Tensor&, Int, bool, SourceLoc>(&reprise::min);
  calls["max_all"] = call_of<Tensor, const Tensor&, SourceLoc>(&reprise::max);
  REPRISE_CALL(var)
  calls["std"] = call_of<Tensor, const Tensor&, const OptionalDims&, Scalar, bool, SourceLoc>(&reprise::std);
}

}  // namespace reprise::aten
