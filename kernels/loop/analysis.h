#pragma once
#include <cstdint>
#include <vector>

#include "kernels/loop/ir.h"
#include "kernels/loop/registers.h"

namespace reprise::kernels {

/// What the emitter and the interpreter must agree on about a kernel, derived from its structure alone.
struct LoopAnalysis {
  std::vector<std::uint32_t>
      dims;  ///< by node: bit d is set when its value (Store: its address or value) varies over loop dim d
  std::vector<int> depth;       ///< by node: how many reductions (but those within parts) lie on the longest path to it
  int max_depth = 0;            ///< the reduced loops run max_depth times, plus once for stores that vary over them
  std::vector<int> part_depth;  ///< by node: the same of reductions within parts, since the last reduction of all
  int max_part_depth = 0;
  std::uint32_t kept_mask = 0, reduced_mask = 0;
  /// of the reduced dims: those that count parts, those inside a part (all without parts)
  std::uint32_t parts_mask = 0, inside_mask = 0;
};
LoopAnalysis analyse(const LoopKernel&);

/// Where each run-time Int of a kernel stands in runtime_params; -1 for one that the code has baked in.
struct ParamSlots {
  struct OfAccess {
    int offset = -1;
    std::vector<int> strides;  ///< by loop dim
    std::vector<int> gather_strides, gather_extents;
  };
  std::vector<int> extents;
  std::vector<OfAccess> accesses;
  std::vector<int> params;  ///< by body node; -1 unless a Param
  int count = 0;
  int floats = 0;  ///< the last so many are floats' bits (BodyNode::bits)
};
ParamSlots param_slots(const LoopKernel&);
/// May extents differ from call to call, and with them how many blocks of threads have something to do?
inline bool grid_moves(const LoopKernel& k) {
  return std::any_of(k.extents.begin(), k.extents.end(), [](Int e) { return e.is_symbolic(); });
}

/// The value that a store encodes: of one that is cast to the store's narrow dtype first what is cast, which becomes
/// the same bits once.
inline std::uint32_t stored_value(const LoopKernel& k, const BodyNode& store) {
  const BodyNode& n = k.body[store.a];
  const bool once = n.kind == BodyNode::Kind::Cast && n.dtype == store.dtype && is_low_precision(n.dtype) &&
                    register_dtype(k.body[n.a].dtype) == DType::Float32;
  return once ? n.a : store.a;
}

/// Note [Tiles]
/// Where a value is read that stands contiguously along another kept dim than the one that is vectorised (a transposed
/// operand), one element of a cache line would be read at a time. So these two dims are walked in blocks, inside them
/// in tiles of as many rows as a vector has lanes, which are loaded the way they stand and transposed in registers
/// (jit/cpu/loop/tiles.cc).
struct Tiling {
  int dim = -1;                      ///< the other dim; -1: nothing to gain
  std::vector<std::uint32_t> loads;  ///< nodes that are contiguous along it
};
Tiling tiling(const LoopKernel&);
/// Elements of a block, which is a task: along Tiling::dim, and along the vector dim.
inline constexpr std::int64_t kBlockRows = 64, kBlockColumns = 512;

inline bool is_plain(Int v, std::int64_t k) { return !v.is_symbolic() && v.hint() == k; }

}  // namespace reprise::kernels
