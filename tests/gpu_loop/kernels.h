#pragma once
#include <string>
#include <utility>
#include <vector>

#include "kernels/loop/ir.h"

namespace reprise::test {

/// Makes loop kernels by hand.
struct KernelBuilder {
  kernels::LoopKernel k;
  explicit KernelBuilder(Ints extents, int n_kept) { k.extents = std::move(extents), k.n_kept = n_kept; }
  std::uint32_t buffer(DType t, bool written = false) {
    k.buffers.push_back({t, written});
    return static_cast<std::uint32_t>(k.buffers.size() - 1);
  }
  std::uint32_t access(std::uint32_t buffer, Ints strides, Int offset = 0) {
    k.accesses.push_back({buffer, std::move(strides), offset, {}});
    return static_cast<std::uint32_t>(k.accesses.size() - 1);
  }
  std::uint32_t add(kernels::BodyNode n) {
    k.body.push_back(n);
    return static_cast<std::uint32_t>(k.body.size() - 1);
  }
  /// A new buffer of dtype `t` read with these strides.
  std::uint32_t input(DType t, Ints strides) {
    kernels::BodyNode n{kernels::BodyNode::Kind::Load, is_low_precision(t) ? DType::Float32 : t};
    n.access = access(buffer(t), std::move(strides));
    return add(n);
  }
  void output(DType t, std::uint32_t value, Ints strides, std::uint32_t predicate = ~0u) {
    kernels::BodyNode n{kernels::BodyNode::Kind::Store, t};
    n.access = access(buffer(t, true), std::move(strides));
    n.a = value, n.b = predicate;
    add(n);
  }
  std::uint32_t op(kernels::ScalarOp o, DType t, std::uint32_t a, std::uint32_t b = ~0u, std::uint32_t c = ~0u) {
    kernels::BodyNode n{kernels::BodyNode::Kind::Op, t};
    n.op = o, n.a = a, n.b = b, n.c = c;
    return add(n);
  }
  std::uint32_t cast(DType t, std::uint32_t a) {
    kernels::BodyNode n{kernels::BodyNode::Kind::Cast, t};
    n.a = a;
    return add(n);
  }
  std::uint32_t reduce(kernels::ReduceOp o, DType t, std::uint32_t a, bool within = false) {
    kernels::BodyNode n{kernels::BodyNode::Kind::Reduce, t};
    n.reduce = o, n.a = a, n.within = within;
    return add(n);
  }
};

inline constexpr DType kLoopDTypes[] = {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::Int8,
                                        DType::UInt8,   DType::Int32,   DType::Int64,   DType::Bool};

/// Every operation of every dtype that there is code for, some in each kernel.
std::vector<std::pair<std::string, kernels::LoopKernel>> operations();
/// x of dtype `from` cast to every dtype.
kernels::LoopKernel casts(DType from, const Ints& extents, const Ints& strides);
/// Reduction of n x m to n: of rows (the reduced dim has stride 1) or columns (the kept one).
kernels::LoopKernel reduction(kernels::ReduceOp, DType, bool rows, std::int64_t n, std::int64_t m);
/// Softmax over the m of n x m, laid out likewise.
kernels::LoopKernel softmax(DType, bool rows, std::int64_t n, std::int64_t m);
/// (x - mean) * rsqrt(variance + eps) * weight + bias over the 4 x m of n x 4 x m, and the mean.
kernels::LoopKernel layer_norm(DType, bool rows, std::int64_t n, std::int64_t m);

}  // namespace reprise::test
