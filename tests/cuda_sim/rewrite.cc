#include "tests/cuda_sim/rewrite.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>

#include "tests/cuda_sim/memory.h"

namespace sim {

using namespace llvm;

Rewriter::Rewriter(Module& m, Code& code, bool checks)
    : m_(m), c_(m.getContext()), code_(code), checks_(checks), i1_(Type::getInt1Ty(c_)), i8_(Type::getInt8Ty(c_)),
      i16_(Type::getInt16Ty(c_)), i32_(Type::getInt32Ty(c_)), i64_(Type::getInt64Ty(c_)), f32_(Type::getFloatTy(c_)),
      f64_(Type::getDoubleTy(c_)), ptr_(PointerType::get(c_, 0)) {}

void Rewriter::run() {
  // Sites count the module's instructions as it came: messages find them again in the bitcode.
  std::vector<std::pair<Instruction*, std::uint32_t>> work;
  std::uint32_t site = 0;
  for (Function& f : m_)
    for (Instruction& i : instructions(f)) work.emplace_back(&i, site++);
  find_kernels();
  for (Function* k : kernels_) tell_of_empty_blocks(*k);
  place_globals();
  for (auto [i, s] : work) rewrite(i, s);
  for (Function& f : m_) {
    for (const char* a : {"target-cpu", "target-features", "tune-cpu"}) f.removeFnAttr(a);
    f.setCallingConv(CallingConv::C);
    if (!f.isDeclaration()) f.setLinkage(GlobalValue::InternalLinkage);
    f.setComdat(nullptr);
    f.setSection("");
  }
  for (Function* k : kernels_) make_entry(k);
  for (Function& f : make_early_inc_range(m_))
    if (f.isDeclaration() && f.use_empty()) f.eraseFromParent();
}

void Rewriter::find_kernels() {
  for (Function& f : m_)
    if (f.getCallingConv() == CallingConv::PTX_Kernel) kernels_.push_back(&f);
  auto* notes = m_.getNamedMetadata("nvvm.annotations");
  if (!notes) return;
  for (MDNode* n : notes->operands()) {
    auto* f = n->getNumOperands() ? mdconst::dyn_extract_or_null<Function>(n->getOperand(0)) : nullptr;
    if (!f) continue;
    for (unsigned i = 1; i + 1 < n->getNumOperands(); i += 2) {
      auto* key = dyn_cast<MDString>(n->getOperand(i));
      auto* value = mdconst::dyn_extract<ConstantInt>(n->getOperand(i + 1));
      if (!key || !value) continue;
      if (key->getString() == "kernel" && std::find(kernels_.begin(), kernels_.end(), f) == kernels_.end())
        kernels_.push_back(f);
      auto& k = code_.kernels[f->getName().str()];
      const auto v = static_cast<std::uint32_t>(value->getZExtValue());
      for (int d = 0; d < 3; ++d) {
        if (key->getString() == std::string("reqntid") + "xyz"[d]) k.required[d] = v;
        if (key->getString() == std::string("maxntid") + "xyz"[d]) k.max_threads = std::max(k.max_threads, 1u) * v;
      }
    }
  }
  notes->eraseFromParent();
}

namespace {

/// The same for all threads of a block: made of arguments, of what does not tell threads apart, and of memory behind
/// such pointers.
bool is_of_block(const Value* v) {
  if (isa<Constant>(v) || isa<Argument>(v)) return true;
  auto* i = dyn_cast<Instruction>(v);
  if (!i || isa<PHINode>(i)) return false;
  if (auto* c = dyn_cast<CallBase>(i)) {
    const Function* f = c->getCalledFunction();
    if (!f) return false;
    const StringRef n = f->getName();
    if (n.starts_with("llvm.nvvm."))
      return n.starts_with("llvm.nvvm.read.ptx.sreg.ctaid.") || n.starts_with("llvm.nvvm.read.ptx.sreg.nctaid.") ||
             n.starts_with("llvm.nvvm.read.ptx.sreg.ntid.");
    if (!f->isIntrinsic() || c->mayHaveSideEffects()) return false;
  } else if (i->mayHaveSideEffects()) {
    return false;
  }
  return all_of(i->operands(), [](const Use& u) { return is_of_block(u.get()); });
}

}  // namespace

/// From the entry on, while one thing alone can happen: branches on what all threads of a block have in common, one way
/// of which returns at once.
void Rewriter::tell_of_empty_blocks(Function& kernel) {
  auto returns = [](BasicBlock* b) { return isa<ReturnInst>(b->getFirstNonPHIOrDbg()); };
  for (BasicBlock* at = &kernel.getEntryBlock(); at;) {
    for (Instruction& i : *at)
      if (i.mayHaveSideEffects()) return;
    auto* branch = dyn_cast<BranchInst>(at->getTerminator());
    if (!branch) return;
    BasicBlock* next = branch->getSuccessor(0);
    if (branch->isConditional()) {
      if (!is_of_block(branch->getCondition())) return;
      const unsigned leaves = returns(branch->getSuccessor(0)) ? 0 : 1;
      next = branch->getSuccessor(1 - leaves);
      BasicBlock* out = branch->getSuccessor(leaves);
      if (!returns(out) || next == out) return;
      if (out->getSinglePredecessor() == at) {
        IRBuilder<> b(out->getTerminator());
        call(b, "sim_block_leaves", Type::getVoidTy(c_), {});
      }
    }
    at = next->getSinglePredecessor() ? next : nullptr;
  }
}

Constant* Rewriter::address(std::uint64_t a, Type* pointer) {
  return ConstantExpr::getIntToPtr(ConstantInt::get(i64_, a), pointer);
}

void Rewriter::place_globals() {
  const DataLayout& dl = m_.getDataLayout();
  std::vector<GlobalVariable*> shared, rest;
  for (GlobalVariable& g : make_early_inc_range(m_.globals())) {
    if (g.getName().starts_with("llvm.")) {
      g.eraseFromParent();
    } else if (g.getAddressSpace() == 3) {
      shared.push_back(&g);
    } else {
      rest.push_back(&g);
    }
  }
  place_shared(shared);
  for (GlobalVariable* g : rest) {
    require(g->hasInitializer(), CUDA_ERROR_INVALID_PTX, "variable ", g->getName().str(),
            " is declared but not defined");
    const std::uint64_t bytes = dl.getTypeAllocSize(g->getValueType());
    const std::string name = g->getName().str();
    const std::uint64_t at = memory().allocate_global(
        bytes, std::max<std::uint64_t>(g->getAlign().valueOrOne().value(), 16), "variable " + name);
    g->replaceAllUsesWith(address(at, g->getType()));
    code_.variables[name] = {at, bytes};
    // The bytes stay in the linked code under another name; they are copied when the module is loaded.
    auto* init = new GlobalVariable(m_, g->getValueType(), true, GlobalValue::ExternalLinkage, g->getInitializer(),
                                    "sim_init_" + name);
    initials.push_back({init->getName().str(), at, bytes});
    g->eraseFromParent();
  }
}

void Rewriter::place_shared(const std::vector<GlobalVariable*>& shared) {
  const DataLayout& dl = m_.getDataLayout();
  constexpr std::uint64_t kGap = 256;
  std::uint64_t at = g_arena.base + kGap, real = 0;
  auto place = [&](GlobalVariable* g) {
    const std::uint64_t bytes = dl.getTypeAllocSize(g->getValueType());
    const std::uint64_t align =
        std::max<std::uint64_t>({g->getAlign().valueOrOne().value(), dl.getABITypeAlign(g->getValueType()).value(), 1});
    at = (at + align - 1) / align * align;
    real = (real + align - 1) / align * align;
    g->replaceAllUsesWith(address(at, g->getType()));
    if (bytes) code_.shared.push_back({g->getName().str(), at, bytes});
    at += bytes ? (bytes + kGap) / kGap * kGap + kGap : 0;
    real += bytes;
    g->eraseFromParent();
  };
  std::vector<GlobalVariable*> dynamic;
  for (GlobalVariable* g : shared)
    g->hasInitializer() && dl.getTypeAllocSize(g->getValueType()) > 0 ? place(g) : dynamic.push_back(g);
  at = (at + 1023) / 1024 * 1024;
  require(at < g_arena.base + kSharedWindow / 2, CUDA_ERROR_INVALID_PTX, "static shared memory of ", real, " bytes");
  require(real <= 48 << 10, CUDA_ERROR_INVALID_PTX, "static shared memory of ", real, " bytes: more than 49152");
  code_.static_shared = real;
  code_.dynamic_base = at;
  for (GlobalVariable* g : dynamic) {
    g->replaceAllUsesWith(address(at, g->getType()));
    g->eraseFromParent();
  }
}

void Rewriter::replace(Instruction* i, Value* v) {
  if (v) i->replaceAllUsesWith(v);
  i->eraseFromParent();
}

Value* Rewriter::call(IRBuilder<>& b, StringRef function, Type* result, ArrayRef<Value*> args) {
  SmallVector<Type*, 6> types;
  for (Value* a : args) types.push_back(a->getType());
  return b.CreateCall(m_.getOrInsertFunction(function, FunctionType::get(result, types, false)), args);
}

bool Rewriter::on_stack(const Value* p) { return isa<AllocaInst>(getUnderlyingObject(p, 0)); }

void Rewriter::rewrite(Instruction* i, std::uint32_t site) {
  if (auto* l = dyn_cast<LoadInst>(i)) return access(l, 0, l->getType(), l->getAlign(), true, false, site);
  if (auto* s = dyn_cast<StoreInst>(i))
    return access(s, 1, s->getValueOperand()->getType(), s->getAlign(), false, true, site);
  if (auto* r = dyn_cast<AtomicRMWInst>(i))
    return access(r, 0, r->getType(), std::max(r->getAlign(), Align(m_.getDataLayout().getTypeStoreSize(r->getType()))),
                  true, true, site);
  if (auto* x = dyn_cast<AtomicCmpXchgInst>(i))
    return access(x, 0, x->getCompareOperand()->getType(), x->getAlign(), true, true, site);
  if (isa<FenceInst>(i)) return replace(i, nullptr);
  if (auto* o = dyn_cast<BinaryOperator>(i)) return divide(o);
  if (auto* cast = dyn_cast<CastInst>(i)) {
    if (isa<FPToSIInst>(cast) || isa<FPToUIInst>(cast)) return float_to_int(cast);
    if (isa<FPTruncInst>(cast) && cast->getType()->getScalarType()->isBFloatTy()) return to_bfloat(cast);
    return;
  }
  auto* c = dyn_cast<CallBase>(i);
  if (!c) return;
  c->setCallingConv(CallingConv::C);
  if (c->isInlineAsm()) return inline_assembly(c, site);
  Function* f = c->getCalledFunction();
  require(f, CUDA_ERROR_INVALID_PTX, "an indirect call");
  if (isa<MemIntrinsic>(c)) return block_access(c, site);
  if (f->getName().starts_with("llvm.nvvm.")) return intrinsic(c, f->getName().drop_front(10), site);
  if (f->getName() == "llvm.trap" || f->getName() == "llvm.debugtrap") {
    IRBuilder<> b(c);
    call(b, "sim_trap", Type::getVoidTy(c_), {b.getInt32(site)});
    return replace(c, nullptr);
  }
  require(f->isIntrinsic() || !f->isDeclaration(), CUDA_ERROR_INVALID_PTX, "a call of ", f->getName().str(),
          ", which is not defined");
}

void Rewriter::make_entry(Function* k) {
  auto& kernel = code_.kernels[k->getName().str()];
  auto* type = FunctionType::get(Type::getVoidTy(c_), {ptr_}, false);
  auto* entry = Function::Create(type, GlobalValue::ExternalLinkage, entry_name(k->getName().str()), m_);
  IRBuilder<> b(BasicBlock::Create(c_, "", entry));
  std::vector<Value*> args;
  for (Argument& a : k->args()) {
    Value* slot = b.CreateLoad(ptr_, b.CreateConstGEP1_64(ptr_, entry->getArg(0), a.getArgNo()));
    if (a.hasByValAttr()) {
      kernel.param_bytes.push_back(
          static_cast<std::uint32_t>(m_.getDataLayout().getTypeAllocSize(a.getParamByValType())));
      // The kernel may write its copy; it is the thread's own.
      AllocaInst* copy = b.CreateAlloca(a.getParamByValType());
      copy->setAlignment(Align(16));
      b.CreateMemCpy(copy, Align(16), slot, Align(1), kernel.param_bytes.back());
      args.push_back(copy);
      k->removeParamAttr(a.getArgNo(), Attribute::ByVal);
    } else {
      kernel.param_bytes.push_back(static_cast<std::uint32_t>(m_.getDataLayout().getTypeStoreSize(a.getType())));
      args.push_back(b.CreateAlignedLoad(a.getType(), slot, Align(1)));
    }
  }
  b.CreateCall(k->getFunctionType(), k, args);
  b.CreateRetVoid();
}

}  // namespace sim
