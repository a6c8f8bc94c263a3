#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/LowerAtomic.h>

#include "tests/cuda_sim/memory.h"
#include "tests/cuda_sim/rewrite.h"

namespace sim {

using namespace llvm;

/// Where the bytes of device address p are. With checks a call (access.cc) that ends the kernel on an error.
Value* Rewriter::host_pointer(IRBuilder<>& b, Value* p, std::uint64_t bytes, std::uint64_t align, const char* what,
                              std::uint32_t site) {
  if (checks_) {
    const bool plain = align == bytes && bytes <= 16 && what != std::string("update");
    if (plain) return call(b, cat("sim_", what, "_", bytes), ptr_, {p, b.getInt32(site)});
    return call(b, cat("sim_", what), ptr_,
                {p, b.getInt64(bytes), b.getInt32(static_cast<std::uint32_t>(align)), b.getInt32(site)});
  }
  Value* n = b.CreatePtrToInt(p, i64_);
  Value* delta = b.getInt64(g_arena.data_delta);
  if (p->getType()->getPointerAddressSpace() == 0) {
    Value* inside = b.CreateICmpULT(b.CreateSub(n, b.getInt64(g_arena.base)), b.getInt64(kArenaBytes));
    delta = b.CreateSelect(inside, delta, b.getInt64(0));
  }
  return b.CreateIntToPtr(b.CreateAdd(n, delta), ptr_);
}

void Rewriter::access(Instruction* i, unsigned operand, Type* type, Align align, bool read, bool write,
                      std::uint32_t site) {
  Value* p = i->getOperand(operand);
  if (!on_stack(p)) {
    IRBuilder<> b(i);
    const std::uint64_t bytes = m_.getDataLayout().getTypeStoreSize(type);
    i->setOperand(operand, host_pointer(b, p, bytes, align.value(),
                                        read && write ? "update"
                                        : read        ? "read"
                                                      : "write",
                                        site));
  }
  if (auto* l = dyn_cast<LoadInst>(i)) {
    l->setAtomic(AtomicOrdering::NotAtomic);
    // Another thread may have written since the last call: what the device promised of the address does not hold here.
    l->setMetadata(LLVMContext::MD_invariant_load, nullptr);
    l->setMetadata(LLVMContext::MD_noalias, nullptr);
    l->setMetadata(LLVMContext::MD_alias_scope, nullptr);
  } else if (auto* s = dyn_cast<StoreInst>(i)) {
    s->setAtomic(AtomicOrdering::NotAtomic);
    s->setMetadata(LLVMContext::MD_noalias, nullptr);
    s->setMetadata(LLVMContext::MD_alias_scope, nullptr);
  } else if (auto* r = dyn_cast<AtomicRMWInst>(i)) {
    lowerAtomicRMWInst(r);
  } else if (auto* x = dyn_cast<AtomicCmpXchgInst>(i)) {
    lowerAtomicCmpXchgInst(x);
  }
}

void Rewriter::block_access(CallBase* c, std::uint32_t site) {
  IRBuilder<> b(c);
  auto* mem = cast<MemIntrinsic>(c);
  Value* to = b.CreateAddrSpaceCast(mem->getRawDest(), ptr_);
  Value* n = b.CreateZExtOrTrunc(mem->getLength(), i64_);
  if (auto* t = dyn_cast<MemTransferInst>(mem)) {
    call(b, "sim_copy_bytes", Type::getVoidTy(c_),
         {to, b.CreateAddrSpaceCast(t->getRawSource(), ptr_), n, b.getInt32(site)});
  } else {
    Value* v = b.CreateZExtOrTrunc(cast<MemSetInst>(mem)->getValue(), i32_);
    call(b, "sim_set_bytes", Type::getVoidTy(c_), {to, v, n, b.getInt32(site)});
  }
  replace(c, nullptr);
}

/// llvm.nvvm.ldg.global.*(pointer, align)
void Rewriter::load_through_cache(CallBase* c, std::uint32_t site) {
  IRBuilder<> b(c);
  const std::uint64_t align = cast<ConstantInt>(c->getArgOperand(1))->getZExtValue();
  const std::uint64_t bytes = m_.getDataLayout().getTypeStoreSize(c->getType());
  Value* p = host_pointer(b, c->getArgOperand(0), bytes, align, "read", site);
  replace(c, b.CreateAlignedLoad(c->getType(), p, Align(align)));
}

}  // namespace sim
