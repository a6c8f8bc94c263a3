#include "jit/gpu/kernels/tensor_cores.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include "base/errors.h"

namespace reprise::jit {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

bool has_roomy_multiprocessors(const std::string& arch) {
  return arch == "sm_90" || arch == "sm_100" || arch == "sm_103";
}

TensorCores::TensorCores(GpuCode& code, DType dtype) : g(code), t(dtype) {
  REPRISE_CHECK(there(g.gpu.sm) && (item_size(t) == 2 || t == DType::Int8 || t == DType::Float32),
                " tensor cores of sm_", g.gpu.sm, " for ", dtype_name(t));
}

Vs TensorCores::load(const V& row, bool transposed) {
  const auto id = transposed ? Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                             : Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16;
  Value* all = g.b.CreateIntrinsic(id, {row.v->getType()}, {row.v});
  Vs r;
  for (unsigned i = 0; i < 4; ++i) r.push_back(g.wrap(g.b.CreateExtractValue(all, i)));
  return r;
}

Vs TensorCores::read(const V& p) {
  Value* all = g.read_raw(p).v;
  Vs r;
  for (unsigned i = 0; i < 4; ++i) r.push_back(g.wrap(g.b.CreateExtractElement(all, i)));
  return r;
}

void TensorCores::multiply_add(const Vs& a, const Vs& b, Vars& sums, std::size_t from) {
  const bool half = t == DType::Float16;
  const auto id = t == DType::Float32 ? Intrinsic::nvvm_mma_m16n8k8_row_col_tf32
                  : t == DType::Int8  ? Intrinsic::nvvm_mma_m16n8k32_row_col_s8
                  : half              ? Intrinsic::nvvm_mma_m16n8k16_row_col_f32_f32
                                      : Intrinsic::nvvm_mma_m16n8k16_row_col_bf16;
  llvm::Type* two_halves = llvm::FixedVectorType::get(g.b.getHalfTy(), 2);
  std::vector<Value*> in;
  for (const Vs* side : {&a, &b})
    for (const V& v : *side) in.push_back(half ? g.b.CreateBitCast(v.v, two_halves) : v.v);
  for (std::size_t i = 0; i < 4; ++i) in.push_back(static_cast<V>(sums[from + i]).v);
  Value* all = g.b.CreateIntrinsic(id, {}, in);
  for (unsigned i = 0; i < 4; ++i) sums[from + i] = g.wrap(g.b.CreateExtractValue(all, i));
}

V TensorCores::pack(const V& low, const V& high) {
  const auto id = t == DType::Float16 ? Intrinsic::nvvm_ff2f16x2_rn : Intrinsic::nvvm_ff2bf16x2_rn;
  return g.wrap(g.b.CreateBitCast(g.b.CreateIntrinsic(id, {}, {high.v, low.v}), g.b.getInt32Ty()));
}

void TensorCores::copy(const V& to, const V& from) {
  g.b.CreateIntrinsic(Intrinsic::nvvm_cp_async_cg_shared_global_16, {}, {to.v, from.v});
}
void TensorCores::copy(const V& to, const V& from, const V& real) {
  copy_some(to, from, g.select(real, g.i32(16), g.i32(0)));
}
void TensorCores::copy_some(const V& to, const V& from, const V& bytes) {
  g.b.CreateIntrinsic(Intrinsic::nvvm_cp_async_cg_shared_global_16_s, {}, {to.v, from.v, bytes.v});
}

void TensorCores::wait() { g.b.CreateIntrinsic(Intrinsic::nvvm_cp_async_wait_all, {}, {}); }
void TensorCores::commit() { g.b.CreateIntrinsic(Intrinsic::nvvm_cp_async_commit_group, {}, {}); }
void TensorCores::wait_for_all_but(int n) {
  g.b.CreateIntrinsic(Intrinsic::nvvm_cp_async_wait_group, {}, {g.i32(n).v});
}

}  // namespace reprise::jit
