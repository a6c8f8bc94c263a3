#include <llvm/IR/Instructions.h>
#include <llvm/IR/ValueSymbolTable.h>

#include <utility>

#include "tests/cuda_sim/rewrite.h"
#include "tests/cuda_sim/runtime.h"
#include "tests/cuda_sim/tensor.h"

namespace sim {

using namespace llvm;

Value* Rewriter::stack_array(Function* f, Type* type, StringRef name) {
  Value* there = f->getValueSymbolTable()->lookup(name);
  return there ? there : IRBuilder<>(&*f->getEntryBlock().getFirstInsertionPt()).CreateAlloca(type, nullptr, name);
}

/// mma.sync and ldmatrix. Registers pass through one array of the thread's stack, which all calls of a function share.
bool Rewriter::tensor(CallBase* c, StringRef n, std::uint32_t site) {
  std::uint32_t operation = 0;
  const std::pair<StringRef, Tensor> products[] = {{"mma.m16n8k16.row.col.bf16", Tensor::BFloat16},
                                                   {"mma.m16n8k16.row.col.f32.f32", Tensor::Float16},
                                                   {"mma.m16n8k8.row.col.tf32", Tensor::Tf32},
                                                   {"mma.m16n8k32.row.col.s8", Tensor::Int8}};
  bool product = false;
  for (const auto& [name, kind] : products)
    if (n == name) product = true, operation = static_cast<std::uint32_t>(kind);
  std::uint32_t matrices = 0;
  if (!product) {
    if (!n.consume_front("ldmatrix.sync.aligned.m8n8.x") || n.empty()) return false;
    matrices = static_cast<std::uint32_t>(n.front() - '0');
    n = n.drop_front();
    const bool transposed = n.consume_front(".trans");
    if ((matrices != 1 && matrices != 2 && matrices != 4) || !n.starts_with(".b16")) return false;
    operation = kLoadMatrices + matrices + (transposed ? 8 : 0);
  }
  Type* fragment = ArrayType::get(i32_, 10);
  Value* array = stack_array(c->getFunction(), fragment, "sim_fragment");
  IRBuilder<> b(c);
  auto at = [&](unsigned i) { return b.CreateConstInBoundsGEP2_32(fragment, array, 0, i); };
  if (product) {
    for (unsigned i = 0; i < 10; ++i) b.CreateStore(b.CreateBitCast(c->getArgOperand(i), i32_), at(i));
  } else {
    // Lanes behind the last row name no address: they read the row of a lane that does.
    Value* p = c->getArgOperand(0);
    Value* own = b.CreateZExtOrTrunc(b.CreatePtrToInt(p, i64_), i64_);
    Value* lane = b.CreateLoad(i32_, address(reinterpret_cast<std::uint64_t>(&g_ids.lane), ptr_));
    Value* from = b.CreateAnd(lane, b.getInt32(8 * matrices - 1));
    auto of_lane = [&](Value* part) {
      Value* got =
          call(b, "sim_shuffle", i64_,
               {b.getInt32(3), b.getInt32(~0u), b.CreateTrunc(part, i32_), from, b.getInt32(31), b.getInt32(site)});
      return b.CreateZExt(b.CreateTrunc(got, i32_), i64_);
    };
    Value* low = of_lane(own);
    Value* high = of_lane(b.CreateLShr(own, 32));
    Value* row = b.CreateIntToPtr(b.CreateOr(low, b.CreateShl(high, 32)), p->getType());
    Type* registers = FixedVectorType::get(i32_, 4);
    b.CreateAlignedStore(b.CreateAlignedLoad(registers, host_pointer(b, row, 16, 16, "read", site), Align(16)), at(0),
                         Align(4));
  }
  call(b, "sim_tensor", Type::getVoidTy(c_), {b.getInt32(operation), at(0), at(0), b.getInt32(site)});
  code_.cooperates = true;
  auto* several = dyn_cast<StructType>(c->getType());
  if (!several) return replace(c, b.CreateLoad(c->getType(), at(0))), true;
  Value* result = PoisonValue::get(several);
  for (unsigned i = 0; i < several->getNumElements(); ++i)
    result = b.CreateInsertValue(result, b.CreateLoad(several->getElementType(i), at(i)), i);
  replace(c, result);
  return true;
}

}  // namespace sim
