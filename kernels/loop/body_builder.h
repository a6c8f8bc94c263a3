#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "kernels/loop/ir.h"
#include "reprise/scalar.h"

namespace reprise::kernels {

/// Writes the body of one LoopKernel. Equal nodes are made once (a load of the same elements, too: all loads of a
/// kernel see what the buffers held before it). Values are node indices; half types are widened by load and narrowed by
/// store, so dtype() never is one of them. Throws Error(Internal) when operands do not fit.
class BodyBuilder {
 public:
  /// The kernel is borrowed; buffers and extents may be added to it while building.
  explicit BodyBuilder(LoopKernel& kernel) : k_(kernel) {}
  BodyBuilder(const BodyBuilder&) = delete;
  LoopKernel& kernel() { return k_; }

  std::uint32_t buffer(DType, bool written = false);  ///< a further buffer of the kernel
  std::uint32_t load(Access);
  /// A number as `dtype` holds it: rounded for floats (half types: to their precision, in a Float32 node), wrapped for
  /// integers. A symbolic one becomes a Param.
  std::uint32_t constant(const Scalar&, DType);
  std::uint32_t param(Int, DType);
  std::uint32_t index(int dim);  ///< Int64
  std::uint32_t op(ScalarOp, std::uint32_t a, std::uint32_t b = ~0u, std::uint32_t c = ~0u);
  /// Of the value to `dtype`. To a half type: rounded to its precision, held as Float32; nothing when it has it
  /// already.
  std::uint32_t cast(std::uint32_t node, DType);
  /// Sum and Prod of integers and bools in Int64; Any and All of the value as a bool.
  std::uint32_t reduce(ReduceOp, std::uint32_t node, bool within = false);  ///< within: of each part by itself
  /// Casts to the buffer's dtype. Marks the buffer as written. Never merged with another store.
  std::uint32_t store(Access, std::uint32_t node, std::uint32_t predicate = ~0u);

  /// The dtype the value has in registers.
  DType dtype(std::uint32_t node) const;

 private:
  std::uint32_t access(Access);
  std::uint32_t add(BodyNode);

  LoopKernel& k_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> nodes_;  ///< by hash of the fields
};

}  // namespace reprise::kernels
