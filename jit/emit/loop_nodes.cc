#include "jit/emit/loop_nodes.h"

#include "jit/emit/emitter.h"

namespace reprise::jit {

using kernels::BodyNode;
using kernels::ReduceOp;
using kernels::ScalarOp;
using llvm::Value;

std::vector<bool> needed_by(const kernels::LoopKernel& k, const kernels::LoopAnalysis& info,
                            const std::vector<std::uint32_t>& roots, int stage, std::uint32_t stashed, int part_stage) {
  std::vector<bool> need(k.body.size(), false);
  for (std::uint32_t r : roots) need[r] = true;
  for (std::uint32_t i = static_cast<std::uint32_t>(k.body.size()); i-- > 0;) {
    const BodyNode& n = k.body[i];
    if (!need[i] || i == stashed) continue;
    if (n.kind == BodyNode::Kind::Reduce && (n.within ? info.part_depth[i] <= part_stage : info.depth[i] <= stage))
      continue;
    for (std::uint32_t o : {n.a, n.b, n.c})
      if (o != ~0u) need[o] = true;
    if (n.access != ~0u)
      for (const kernels::Access::Gather& g : k.accesses[n.access].gathers) need[g.node] = true;
  }
  return need;
}

std::vector<std::uint32_t> within_parts(const kernels::LoopKernel& k, const kernels::LoopAnalysis& info,
                                        const std::vector<bool>& need, int part_depth) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < k.body.size(); ++i)
    if (need[i] && k.body[i].kind == BodyNode::Kind::Reduce && k.body[i].within && info.part_depth[i] == part_depth)
      out.push_back(i);
  return out;
}

Stores::Stores(const kernels::LoopKernel& k, const kernels::LoopAnalysis& info) {
  for (std::uint32_t i = 0; i < k.body.size(); ++i)
    if (k.body[i].kind == BodyNode::Kind::Store)
      (info.dims[i] & info.inside_mask ? inside : info.dims[i] & info.parts_mask ? per_part : here).push_back(i);
}

Value* constant_of(Emitter& e, const BodyNode& n) {
  llvm::Type* t = e.register_type(n.dtype);
  if (!is_floating(n.dtype)) return llvm::ConstantInt::get(t, static_cast<std::uint64_t>(n.iimm), true);
  Value* f = n.dtype == DType::Float64 ? llvm::ConstantFP::get(t, n.fimm)
                                       : llvm::ConstantFP::get(t, static_cast<double>(static_cast<float>(n.fimm)));
  return is_low_precision(n.dtype) ? e.cast(DType::Float32, n.dtype, f) : f;
}

Value* identity_of(Emitter& e, const BodyNode& n) {
  llvm::Type* t = e.register_type(n.dtype);
  const bool floating = is_floating(n.dtype), top = n.reduce == ReduceOp::Max;
  switch (n.reduce) {
    case ReduceOp::Sum:
    case ReduceOp::Any: return llvm::Constant::getNullValue(t);
    case ReduceOp::Prod: return floating ? llvm::ConstantFP::get(t, 1) : llvm::ConstantInt::get(t, 1);
    case ReduceOp::All: return llvm::ConstantInt::getTrue(t);
    default: break;
  }
  if (floating) return llvm::ConstantFP::getInfinity(t, top);
  const unsigned bits = t->getIntegerBitWidth();
  const bool is_unsigned = n.dtype == DType::UInt8 || n.dtype == DType::Bool;
  const llvm::APInt least = is_unsigned ? llvm::APInt::getZero(bits) : llvm::APInt::getSignedMinValue(bits);
  const llvm::APInt most = is_unsigned ? llvm::APInt::getMaxValue(bits) : llvm::APInt::getSignedMaxValue(bits);
  return llvm::ConstantInt::get(t, top ? least : most);
}

Value* combine_into(Emitter& e, const BodyNode& n, Value* x, Value* acc) {
  static constexpr ScalarOp kFold[] = {ScalarOp::Add, ScalarOp::Mul,   ScalarOp::Max,
                                       ScalarOp::Min, ScalarOp::BitOr, ScalarOp::BitAnd};
  return e.op(kFold[static_cast<int>(n.reduce)], n.dtype, n.dtype, x, acc);
}

void add_compensated(Emitter& e, Value*& total, Value*& correction, Value* x) {
  auto& b = e.b;
  Value* sum = b.CreateFAdd(total, x);
  Value* share = b.CreateFSub(sum, total);
  Value* lost = b.CreateFAdd(b.CreateFSub(total, b.CreateFSub(sum, share)), b.CreateFSub(x, share));
  correction = b.CreateFAdd(correction, lost);
  total = sum;
}

Value* compensated_sum(Emitter& e, Value* total, Value* correction) {
  Value* sum = e.b.CreateFAdd(total, correction);
  return e.b.CreateSelect(e.b.CreateFCmpUNO(correction, correction), total, sum);
}

}  // namespace reprise::jit
