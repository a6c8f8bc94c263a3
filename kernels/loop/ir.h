#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/dtype.h"
#include "reprise/int.h"

namespace reprise::kernels {

/// Scalar operations of loop kernels. Types: `Elem` of the operation is its node's dtype. Float32/64, the integers and
/// Bool are computed in themselves; Float16/BFloat16 exist only at loads and stores (values are Float32 in between).
enum class ScalarOp : std::uint8_t {
#define REPRISE_SCALAR_OP(name, ...) name,
#include "kernels/loop/scalar_ops.def"
#undef REPRISE_SCALAR_OP
};
enum class ScalarYields : std::uint8_t { Same, Truth };
enum class ScalarDomain : std::uint8_t { Any, Floats, Integers };
enum class ScalarCost : std::uint8_t { Simple, Division, Function, Function2 };
enum class ScalarDevice : std::uint8_t { All, NotFloat64, None };
/// All that is known of a scalar operation but what it means (scalar_eval.cc) and the code that computes it
/// (jit/emit/ops.cc): a row of scalar_ops.def, which says what the fields are.
struct ScalarOpInfo {
  std::string_view name;
  int arity;
  ScalarYields yields;
  ScalarDomain domain;
  ScalarCost cost;
  ScalarDevice device;
  bool called_for_floats, called_for_integers;
};
const ScalarOpInfo& scalar_op(ScalarOp);
std::span<const ScalarOpInfo> scalar_ops();  ///< by ScalarOp
inline std::string_view scalar_op_name(ScalarOp op) { return scalar_op(op).name; }
inline int scalar_op_arity(ScalarOp op) { return scalar_op(op).arity; }
inline bool is_function(ScalarOp op) {
  return scalar_op(op).cost == ScalarCost::Function || scalar_op(op).cost == ScalarCost::Function2;
}

enum class ReduceOp : std::uint8_t { Sum, Prod, Max, Min, Any, All };  ///< Max/Min propagate NaN

/// How one buffer is read or written over the loop's index: element address =
///   offset + sum over loop dims d of index[d] * strides[d]  (+ sum over gathers of value(node) * stride), in elements.
struct Access {
  std::uint32_t buffer = 0;
  Ints strides;  ///< one for each loop dim; 0 where the buffer does not vary
  Int offset = 0;
  /// node: an integer value; negative means + extent; in range (checked before)
  struct Gather {
    std::uint32_t node;
    Int stride;
    Int extent;
  };
  std::vector<Gather> gathers;
};

/// One node of the body, in SSA order. Operands are indices of earlier nodes.
struct BodyNode {
  enum class Kind : std::uint8_t { Load, Const, Param, Index, Op, Cast, Reduce, Store } kind;
  DType dtype = DType::Float32;  ///< of the value (Load: after widening half types to Float32; Store: of memory)
  ScalarOp op{};                 ///< Op
  ReduceOp reduce{};             ///< Reduce: over all reduced dims; the value then varies over kept dims only
  bool within = false;           ///< Reduce: over the dims inside a part alone; the value varies over parts, too
  std::uint32_t a = ~0u, b = ~0u, c = ~0u;  ///< operands; Store: a = value, b = predicate or ~0u
  std::uint32_t access = ~0u;               ///< Load, Store
  double fimm = 0;                          ///< Const of a floating dtype
  std::int64_t iimm = 0;                    ///< Const of an integer dtype or Bool; Index: the loop dim
  Int param = 0;      ///< Param: an integer known when the kernel is recorded (converted to dtype)
  bool bits = false;  ///< Param: its integer is the bits of a double, which is what is converted
};

struct BufferArg {
  DType dtype;
  bool written = false;
};

/// A fused loop nest. Semantics: for every index of the kept dims, for every index of the reduced dims, the body; nodes
/// that depend on a Reduce see its finished value (the emitter runs the reduced loops once per reduction depth and
/// recomputes what it needs). A Store whose access varies over reduced dims (or whose value does) happens at every
/// index, otherwise once per kept index. No store may alias a load of another index (the planner guarantees it).
/// The first `n_parts` reduced dims may count parts of a row ([K] seen as [K / B, B]). A Reduce `within` folds each
/// part by itself; a Store that varies over parts but not inside them happens once for each part. Per part, too, what
/// depends on such a Reduce sees its finished value. Reductions of Float32 accumulate in Float32 over a fixed order
/// that depends on sizes only; of Float64 in Float64; Sum/Prod of integers in Int64.
struct LoopKernel {
  std::string name;  ///< for people and profilers: "rms_norm_mul"; not part of identity
  Ints extents;      ///< kept dims first
  int n_kept = 0;    ///< dims [0, n_kept) are kept, the rest are reduced
  /// of the reduced dims the first so many count the parts of a row; what follows them lies inside a part
  int n_parts = 0;
  /// one dim of parts, one inside: every access that moves inside a part steps through both as through one
  bool in_line = false;
  std::vector<BufferArg> buffers;
  std::vector<Access> accesses;
  std::vector<BodyNode> body;
  /// 32 bits are enough for its indices (kernels/gpu/index_width.h): GPUs make use of it, hosts do not
  bool narrow = false;
};

/// The Ints that a kernel reads at run time, in the order its code expects them: extents, then each access's offset,
/// strides, gather strides and extents, then Params, those that are floats last; plain numbers that the code has baked
/// in (0 and 1 strides, constants) are left out. Two kernels with equal `canonical_text` share code and differ only in
/// these.
std::vector<Int> runtime_params(const LoopKernel&);
/// Identity of the code: structure, dtypes, baked constants; run-time Ints as p0, p1, ... Deterministic.
std::string canonical_text(const LoopKernel&);
/// For people, with symbolic extents and strides as they are.
std::string print(const LoopKernel&);
/// Throws Internal when operands, dtypes or accesses are inconsistent.
void verify(const LoopKernel&);
/// Runs it directly, slowly, in the kernel's own types (an oracle for the emitter). params as runtime_params evaluates
/// to.
void interpret(const LoopKernel&, void* const* buffers, const std::int64_t* params);

/// The parallel grain: how many tasks the code splits into (kernel(…, begin, end) runs tasks [begin, end)).
/// Tasks are kept-dim points, except that the vector dim when kept counts in chunks of kChunk elements; of tiled
/// kernels they are blocks (Note [Tiles] in kernels/loop/analysis.h).
inline constexpr std::int64_t kChunk = 4096;
/// The dim the emitter vectorises (chosen from the strides: the last dim most accesses are contiguous or constant in).
int vector_dim(const LoopKernel&);
Int task_count(const LoopKernel&);
Int work_per_task(const LoopKernel&);  ///< body nodes times elements, for the parallel grain

}  // namespace reprise::kernels
