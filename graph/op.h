#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "reprise/scalar.h"
#include "reprise/tensor.h"
#include "tensor/layout.h"

namespace reprise::graph {

/// How an operator is computed; `reprise ops` prints it. One row of graph/ops.def per operator says it.
enum class OpClass : std::uint8_t {
  Pointwise,   ///< one scalar expression over broadcast operands (kernels/pointwise.cc); fuses
  Reduction,   ///< sum amax amin prod any all over dims: one Reduce node of a loop kernel; fuses
  View,        ///< metadata only: a rule from layout to layout; costs nothing
  Composite,   ///< rewritten into other operators by passes/decompose.cc (softmax, rms_norm, var, linear with bias, ...)
  Gather,      ///< embedding, index_select: a load at a computed index; fuses; may fail (index out of range)
  Join,        ///< cat, stack, *_scatter: parts written into their place in one buffer
  Matmul,      ///< mm, bmm, linear without bias: kernels/matmul
  Attention,   ///< scaled_dot_product_attention: kernels/attention
  Creation,    ///< full, arange, ...: no tensor operand; a loop kernel over the output index
  Random,      ///< takes (seed, offset) as its last two arguments
  Reference,   ///< rare: the reference kernel (kernels/reference) serves eager and compiled alike
};

enum class OpId : std::uint16_t {
#define REPRISE_OP(name, ...) name,
#include "graph/ops.def"
#undef REPRISE_OP
  count_
};

enum class ArgType : std::uint8_t {
  Tensor, OptionalTensor, TensorList, OptionalTensorList,  ///< lists of Tensor?: a missing one is an undefined Tensor, a null meta, an unset ValueId
  TensorOrScalar, OptionalTensorOrScalar,                  ///< "Any", "Any?": a tensor or a Scalar
  Int, OptionalInt, Ints, OptionalInts, Scalar, OptionalScalar,
  Float, OptionalFloat,                                    ///< held as Scalar
  Bool, DType, OptionalDType, Str, OptionalStr,
};

/// One argument as a schema declares it.
struct ArgDef {
  ArgType type;
  std::string name;
  bool written = false;          ///< Tensor(a!)
  bool keyword_only = false;
  std::string default_text;      ///< "" when required
};
/// An ATen-style schema, parsed once at start-up: "add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".
struct Schema {
  std::string name;
  std::vector<ArgDef> args;
  int n_results = 1;             ///< "-> (Tensor, Tensor)" is 2, "-> Tensor[]" is -1
  std::string text;
  int find(std::string_view arg) const;  ///< index, or -1
};

/// An argument as a shape rule sees it: tensors are their metadata. The same rule serves eager calls, traces and the parser.
using RuleArg = std::variant<std::monostate, const TensorMeta*, std::span<const TensorMeta* const>, Int, Ints, Scalar, bool, DType, std::string_view>;

struct OpDef;
/// What a shape rule gets and gives. It throws Error with `loc` for operands that do not fit; it may ask Bools (guards).
struct RuleCtx {
  const OpDef& op;
  std::span<const RuleArg> args;
  SourceLoc loc;
  std::vector<TensorMeta> results;     ///< non-view results: contiguous strides, offset 0

  const TensorMeta& tensor(int i) const;                 ///< throws InvalidArgument when undefined
  const TensorMeta* optional_tensor(int i) const;
  std::span<const TensorMeta* const> tensors(int i) const;
  Int integer(int i) const;
  std::int64_t constant_int(int i) const;                ///< dims and flags: pins a symbolic one
  const Ints& ints(int i) const;
  bool has(int i) const { return !std::holds_alternative<std::monostate>(args[i]); }
  Scalar scalar(int i) const;
  bool flag(int i) const;
  DType dtype(int i, DType otherwise) const;
  std::string_view str(int i) const;
  void result(DType, const Ints& sizes);                 ///< a contiguous result on the operands' device
  void view(const Layout&);                              ///< a view of operand 0
};
using ShapeRule = void (*)(RuleCtx&);
/// Runs the operator's shape rule, after what holds for all operators: storage-only dtypes are for those that move elements.
void infer(RuleCtx&);

/// Everything about an operator but how it is computed (kernels/ and passes/ keep their columns by OpId).
struct OpDef {
  OpId id;
  OpClass cls;
  Schema schema;
  ShapeRule shape;
  bool has_inplace;              ///< `name_` exists: same arguments, result written into argument 0 (dtype and sizes kept)
  bool moves;                    ///< takes storage-only dtypes: moves, makes or casts elements, and computes with none
  bool may_fail;                 ///< can raise at run time (index values); scheduled before writes to inputs
  std::string_view name() const { return schema.name; }
};

const OpDef& op(OpId);
const OpDef* find_op(std::string_view name);   ///< null when unknown; "add_" finds nothing (twins are not rows)
std::span<const OpDef> all_ops();

// Rules shared with other rooms.
Ints broadcast(const Ints& a, const Ints& b, const char* op, SourceLoc);  ///< ATen's; equal first, then "is it 1?"; throws ShapeMismatch
DType result_dtype(std::span<const RuleArg> tensors_and_scalars);         ///< ATen's promotion over categories (dim, 0-dim, scalar)
/// What an in-place twin must satisfy before anything is written: the twin exists, the result's dtype may be cast to
/// self's (no float into integers), and its sizes equal self's. Throws otherwise.
void check_inplace(const OpDef&, const TensorMeta& self, const TensorMeta& result, SourceLoc);
/// How much of a view's layout must be right. Strides of dimensions of size 0 and 1 lead nowhere: only who reads them (and where a
/// view of nothing begins) needs them, and then each call must be told from those that make others.
enum class Strides { OfElements, All };
/// The layout a view operator makes of `in`. Throws as the rule does. `in`'s strides may be anything.
Layout apply_view(const OpDef&, std::span<const RuleArg> args_with_self_first, const Layout& in, SourceLoc, Strides = Strides::OfElements);

}  // namespace reprise::graph
