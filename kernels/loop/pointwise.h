#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "graph/op_column.h"
#include "kernels/loop/body_builder.h"

namespace reprise::kernels {

/// One schema argument of a pointwise operator: what a shape rule sees of it and, for a tensor, the node that holds its
/// element at the loop's index (loaded or computed; not yet converted).
struct PointwiseArg {
  graph::RuleArg value;
  std::uint32_t node = ~0u;
};

class FormulaWriter;  // kernels/loop/formula_writer.h

/// How a pointwise operator is computed: its value is a scalar expression of its operands' elements.
struct Formula {
  std::uint32_t (*write)(FormulaWriter&) = nullptr;  ///< writes the expression, gives its node
  /// more than a few instructions for an element: better computed once than again
  bool costly = false;
  /// computed in the result's dtype (it only chooses or converts), not in the operands' common one
  bool as_result = false;
  std::uint32_t apart = 0;  ///< operands that take no part in the common dtype, a bit each
  /// operands whose elements are not read (their sizes and dtype say what is made), a bit each
  std::uint32_t unread = 0;
};
graph::OpColumn<Formula>& pointwise_formulas();
/// Is computing it again for an element more than a few instructions?
bool is_costly(graph::OpId);
/// Formula::unread; 0 for operators of other classes.
std::uint32_t unread_operands(graph::OpId);

/// The lowering of OpClass::Pointwise: writes the scalar expression of an operator into the body and gives the node of
/// its value, whose register dtype is that of `result`. Operands are converted as ATen does: to the common dtype of the
/// operands, numbers included; half types compute in Float32. The value of a half result is not rounded (store does
/// it), except by the operators that only choose or convert (to, copy, where, ...). Throws Internal for other classes.
std::uint32_t emit_pointwise(BodyBuilder&, graph::OpId, const std::vector<PointwiseArg>& args, DType result);

/// The dtype in which a pointwise operator computes: ATen's promotion of its operands, joined with the result's dtype
/// (true division of integers computes in float32). The reference kernels convert to the same one.
DType computation_dtype(graph::OpId, std::span<const graph::RuleArg> args, DType result);

}  // namespace reprise::kernels
