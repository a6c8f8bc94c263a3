#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/op.h"
#include "kernels/body_builder.h"

namespace reprise::kernels {

/// One schema argument of a pointwise operator: what a shape rule sees of it and, for a tensor, the node that holds its
/// element at the loop's index (loaded or computed; not yet converted).
struct PointwiseArg {
  graph::RuleArg value;
  std::uint32_t node = ~0u;
};

/// The lowering of OpClass::Pointwise: writes the scalar expression of an operator into the body and gives the node of
/// its value, whose register dtype is that of `result`. Operands are converted as ATen does: to the common dtype of the
/// operands, numbers included; half types compute in Float32. The value of a half result is not rounded (store does
/// it), except by the operators that only choose or convert (to, copy, where, ...). Throws Internal for other classes.
std::uint32_t emit_pointwise(BodyBuilder&, graph::OpId, const std::vector<PointwiseArg>& args, DType result);

/// The dtype in which a pointwise operator computes: ATen's promotion of its operands, joined with the result's dtype
/// (true division of integers computes in float32). The reference kernels convert to the same one.
DType computation_dtype(graph::OpId, std::span<const graph::RuleArg> args, DType result);

/// "fused loop kernel", "matrix product", "reference kernel", "view: no kernel", "composite: ...": how an operator is
/// computed, for people. Follows from its class and the kernel tables.
std::string list_computed_by(graph::OpId);

}  // namespace reprise::kernels
