#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "reprise/scalar.h"
#include "reprise/tensor.h"
#include "tensor/layout.h"

namespace reprise::graph {

class Graph;

/// How an operator is computed; `reprise ops` prints it. One row of graph/ops.def per operator says it.
enum class OpClass : std::uint8_t {
  Pointwise,  ///< one scalar expression over broadcast operands (kernels/loop/pointwise.cc); fuses
  Reduction,  ///< sum amax amin prod any all over dims: one Reduce node of a loop kernel; fuses
  View,       ///< metadata only: a rule from layout to layout; costs nothing
  /// rewritten into other operators by passes/decompose.cc (softmax, rms_norm, var; on the host linear with bias)
  Composite,
  Gather,     ///< embedding, index_select: a load at a computed index; fuses; may fail (index out of range)
  Join,       ///< cat, stack, *_scatter: parts written into their place in one buffer
  Matmul,     ///< mm, bmm, linear: kernels/matmul; with bias on devices alone
  Attention,  ///< scaled_dot_product_attention: kernels/attention
  Creation,   ///< full, arange, ...: no tensor operand; a loop kernel over the output index
  Random,     ///< takes (seed, offset) as its last two arguments
  /// to another device, or to the program: served as it is called (graph/transfer_call.h), and in no graph
  Transfer,
  Reference,  ///< rare: the reference kernel (kernels/reference) serves eager and compiled alike
  /// cond: which of its regions runs is decided by a value; lowering serves it (kernels/plan/regions.h), and no call
  /// makes it
  Control,
};

/// A handle into the table of operators. The enumerators are the built-in ones (rows of ops.def); what is registered
/// while the program runs gets the next numbers (register_op.h). Numbers are of this process alone and never used
/// again.
enum class OpId : std::uint16_t {
#define REPRISE_OP(name, ...) name,
#include "graph/ops.def"
#undef REPRISE_OP
};
/// How many are built in: their ids are below.
inline constexpr std::size_t kBuiltinOps = 0
#define REPRISE_OP(...) +1
#include "graph/ops.def"
#undef REPRISE_OP
    ;

enum class ArgType : std::uint8_t {
  /// lists of Tensor?: a missing one is an undefined Tensor, a null meta, an unset ValueId
  Tensor,
  OptionalTensor,
  TensorList,
  OptionalTensorList,
  TensorOrScalar,
  OptionalTensorOrScalar,  ///< "Any", "Any?": a tensor or a Scalar
  Int,
  OptionalInt,
  Ints,
  OptionalInts,
  Scalar,
  OptionalScalar,
  Float,
  OptionalFloat,  ///< held as Scalar
  Bool,
  DType,
  OptionalDType,
  Str,
  OptionalStr,
  OptionalGenerator,  ///< always None: random operators take seed and offset
  Region,             ///< a graph that the node may run (graph::Region)
};

/// What a schema says of the memory of a tensor, or of the tensors of a list: `(a)` shares it with what else is in set
/// a, `(a!)` is written, `(a -> *)` is in set a before the call and may be in any afterwards, `(a|b)` is in either,
/// `()` is in none.
struct AliasSet {
  std::vector<std::string> before, after;  ///< set names, "*" for any; equal without "->"
  bool written = false;
};
/// What an argument is when it is left out. An optional one may be left out as None.
using ArgDefault = std::variant<std::monostate, Int, Ints, Scalar, bool, std::string>;
/// One argument as a schema declares it.
struct ArgDef {
  ArgType type;
  std::string name;
  std::optional<AliasSet> alias;  ///< nothing: only read, and shared with no result
  bool keyword_only = false;
  std::optional<ArgDefault> otherwise;  ///< its default; nothing: required
  int length = 0;                       ///< int[2]: as a default one number stands for so many; 0: of any length
};
struct ResultDef {
  ArgType type;                   ///< Tensor or TensorList
  std::string name;               ///< "" if it has none
  std::optional<AliasSet> alias;  ///< nothing: new memory
};
/// An ATen-style schema, parsed once at start-up: "add(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor".
struct Schema {
  std::string name;      ///< "ns::name" where a namespace is given
  std::string overload;  ///< what follows the dot of "add.Tensor"
  std::vector<ArgDef> args;
  std::vector<ResultDef> results;
  int n_results = 1;  ///< "-> (Tensor, Tensor)" is 2, "-> ()" is 0, "-> Tensor[]" is -1
  std::string text;
  int find(std::string_view arg) const;  ///< index, or -1
};

/// An argument as a shape rule sees it: tensors are their metadata. The same rule serves eager calls, traces and the
/// parser.
using RuleArg = std::variant<std::monostate, const TensorMeta*, std::span<const TensorMeta* const>, Int, Ints, Scalar,
                             bool, DType, std::string_view, const Graph*>;

struct OpDef;
/// What a shape rule gets and gives. It throws Error with `loc` for operands that do not fit; it may ask Bools
/// (guards).
struct RuleCtx {
  const OpDef& op;
  std::span<const RuleArg> args;
  SourceLoc loc;
  std::vector<TensorMeta> results;  ///< non-view results: contiguous strides, offset 0
  /// operand 0 is all of its storage: what names places in it stays within (not so in a traced graph)
  bool shows_storage = true;

  const TensorMeta& tensor(int i) const;  ///< throws InvalidArgument when undefined
  const TensorMeta* optional_tensor(int i) const;
  std::span<const TensorMeta* const> tensors(int i) const;
  Int integer(int i) const;
  std::int64_t constant_int(int i) const;  ///< dims and flags: pins a symbolic one
  const Ints& ints(int i) const;
  bool has(int i) const { return !std::holds_alternative<std::monostate>(args[i]); }
  Scalar scalar(int i) const;
  bool flag(int i) const;
  DType dtype(int i, DType otherwise) const;
  std::string_view str(int i) const;
  const Graph& region(int i) const;
  void result(DType, const Ints& sizes);  ///< a contiguous result on the operands' device
  void view(const Layout&);               ///< a view of operand 0
};
using ShapeRule = void (*)(RuleCtx&);
/// Runs the operator's shape rule and what holds for all operators: storage-only dtypes are for those that move
/// elements, and there are as many results as the schema says (throws InvalidArgument).
void infer(RuleCtx&);

/// What a call does beside computing its results.
struct Effects {
  bool may_fail = false;  ///< can raise at run time (index values)
  bool exit = false;      ///< can end the call without raising
  bool opaque = false;    ///< its results do not follow from its arguments
  std::uint8_t lane = 0;  ///< not 0: it happens in the order of the program with all else of this lane
  /// Happens though nobody reads its results: dead-code elimination keeps it.
  constexpr bool any() const { return may_fail || exit || opaque || lane != 0; }
  /// Calls of equal arguments may become one.
  constexpr bool repeatable() const { return !opaque && lane == 0; }
  /// Writes to inputs wait until it is over.
  constexpr bool may_end_call() const { return may_fail || exit; }
};

/// An argument of an operator call as the user gives it. Borrows: valid while the call runs.
using CallArg = std::variant<std::monostate, const Tensor*, TensorArrayRef, Int, IntArrayRef, Scalar, bool, DType,
                             std::string_view>;
/// Arguments that an operator may have at most.
inline constexpr std::size_t kMaxArgs = 12;

/// Everything about an operator but how it is computed (kernels/ and passes/ keep their columns by OpId, op_column.h).
/// Never moves, never goes away.
struct OpDef {
  OpId id;
  OpClass cls;
  Schema schema;
  ShapeRule shape;
  /// `name_` exists: same arguments, result written into argument 0 (dtype and sizes kept)
  bool has_inplace;
  bool moves;  ///< takes storage-only dtypes: moves, makes or casts elements, and computes with none
  Effects effects;
  /// Not empty: a call writes these arguments, "(a!)", tensors or lists of tensors, in the order of the schema. Traced
  /// graphs alone have nodes of such an operator; in functional ones its functional twin stands for it (Note [Operators
  /// that write], register_op.h).
  std::vector<std::uint32_t> writes;
  /// Of an operator that writes, by result: the argument that it is, or -1: new memory. Nodes and shape rules have the
  /// latter alone.
  std::vector<std::int32_t> returns;
  std::optional<OpId> functional;  ///< of an operator that writes: its functional twin
  std::optional<OpId> twin_of;     ///< of a functional twin: the operator that writes
  /// results that are new memory; -1: as many as its arguments say (a twin that writes a list)
  int n_made;
  std::vector<CallArg> defaults;  ///< one for each argument, None where it is required; borrow from `schema`
  std::string_view name() const { return schema.name; }
};

// The table. Any thread, without a lock; what is registered meanwhile appears whole.
const OpDef& op(OpId);
const OpDef* find_op(std::string_view name);  ///< null when unknown; "add_" finds nothing (twins are not rows)
std::size_t op_count();                       ///< ids below are operators
inline bool is_op(OpId id) { return static_cast<std::size_t>(id) < op_count(); }
/// All operators there are now: `for (const OpDef& o : all_ops())`.
struct AllOps {
  struct iterator {
    std::size_t id;
    const OpDef& operator*() const { return op(static_cast<OpId>(id)); }
    iterator& operator++() { return ++id, *this; }
    bool operator==(const iterator&) const = default;
  };
  std::size_t n;
  iterator begin() const { return {0}; }
  iterator end() const { return {n}; }
  std::size_t size() const { return n; }
};
inline AllOps all_ops() { return {op_count()}; }

// Rules shared with other rooms.
/// Does it only copy its operand (clone)? So does a pointwise operator that takes one tensor and nothing else, and
/// computes with none of it.
bool is_copy(OpId);
/// ATen's; equal first, then "is it 1?"; throws ShapeMismatch
Ints broadcast(const Ints& a, const Ints& b, const char* op, SourceLoc);
/// ATen's promotion over categories (dim, 0-dim, scalar)
DType result_dtype(std::span<const RuleArg> tensors_and_scalars);
/// What an in-place twin must satisfy before anything is written: the twin exists, the result's dtype may be cast to
/// self's (no float into integers), and its sizes equal self's. Throws otherwise.
void check_inplace(const OpDef&, const TensorMeta& self, const TensorMeta& result, SourceLoc);
/// How much of a view's layout must be right. Strides of dimensions of size 0 and 1 lead nowhere: only who reads them
/// (and where a view of nothing begins) needs them, and then each call must be told from those that make others.
enum class Strides { OfElements, All };
/// The layout a view operator makes of `in`. Throws as the rule does. `in`'s strides may be anything.
Layout apply_view(const OpDef&, std::span<const RuleArg> args_with_self_first, const Layout& in, SourceLoc,
                  Strides = Strides::OfElements);
/// slice of slice_scatter, and so on: the view whose place a scatter writes its `src` into (arguments: self, src, then
/// the view's). Nothing for other operators.
std::optional<OpId> view_of_scatter(OpId);
/// slice_scatter of slice, and so on: the inverse of a view by which one part of a value is replaced. Nothing for views
/// that reach all elements, and other operators.
std::optional<OpId> scatter_of_view(OpId);

}  // namespace reprise::graph
