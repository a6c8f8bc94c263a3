#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>

#include <cstddef>

#include "tests/cuda_sim/memory.h"
#include "tests/cuda_sim/rewrite.h"
#include "tests/cuda_sim/runtime.h"

namespace sim {

using namespace llvm;

void Rewriter::intrinsic(CallBase* c, StringRef n, std::uint32_t site) {
  if (special_register(c, n) || cooperation(c, n, site) || memory_intrinsic(c, n, site) || tensor(c, n, site) ||
      math(c, n))
    return;
  fail(CUDA_ERROR_INVALID_PTX, "the simulator does not know the intrinsic llvm.nvvm.", n.str(), " (in ",
       c->getFunction()->getName().str(), ")");
}

bool Rewriter::special_register(CallBase* c, StringRef n) {
  if (!n.consume_front("read.ptx.sreg.")) return false;
  IRBuilder<> b(c);
  const void* at = nullptr;
  const std::pair<StringRef, const std::uint32_t*> triples[] = {
      {"tid.", g_ids.tid}, {"ntid.", g_ids.ntid}, {"ctaid.", g_ids.ctaid}, {"nctaid.", g_ids.nctaid}};
  for (auto [prefix, field] : triples)
    if (n.starts_with(prefix) && n.size() == prefix.size() + 1) {
      if (n.back() == 'w') return replace(c, ConstantInt::get(c->getType(), prefix.starts_with("n") ? 1 : 0)), true;
      at = field + (n.back() - 'x');
    }
  if (n == "laneid") at = &g_ids.lane;
  if (n == "warpid") at = &g_ids.warp;
  if (n == "nwarpid") at = &g_ids.warps;
  if (n == "dynamic_smem_size" || n == "dynamic.smem.size") at = &g_ids.dynamic_shared;
  if (at) {
    Constant* p = address(reinterpret_cast<std::uint64_t>(at), ptr_);
    return replace(c, b.CreateZExtOrTrunc(b.CreateLoad(i32_, p), c->getType())), true;
  }
  if (n == "warpsize") return replace(c, ConstantInt::get(c->getType(), 32)), true;
  if (n.starts_with("lanemask."))
    return replace(c, call(b, cat("sim_lanemask_", n.drop_front(9).str()), i32_, {})), true;
  if (n.starts_with("clock") || n == "globaltimer") {
    Value* v = call(b, "sim_clock", i64_, {});
    return replace(c, b.CreateZExtOrTrunc(v, c->getType())), true;
  }
  return false;
}

bool Rewriter::cooperation(CallBase* c, StringRef n, std::uint32_t site) {
  IRBuilder<> b(c);
  Value* where = b.getInt32(site);
  auto arg = [&](unsigned i) { return c->getArgOperand(i); };
  Type* none = Type::getVoidTy(c_);
  auto cooperates = [&](Value* result) {
    code_.cooperates = true;
    replace(c, c->getType()->isVoidTy() ? nullptr : result);
    return true;
  };
  if (n == "barrier0") return cooperates(call(b, "sim_barrier", none, {b.getInt32(0), b.getInt32(0), where}));
  if (n == "bar.warp.sync") return cooperates(call(b, "sim_warp_barrier", none, {arg(0), where}));
  if (n == "barrier.n" || n == "bar.sync" || n == "barrier.sync")
    return cooperates(call(b, "sim_barrier", none, {arg(0), b.getInt32(0), where}));
  if (n == "barrier" || n == "barrier.sync.cnt")
    return cooperates(call(b, "sim_barrier", none, {arg(0), arg(1), where}));
  if (n.starts_with("barrier0.")) {
    const int kind = n == "barrier0.popc" ? 0 : n == "barrier0.and" ? 1 : 2;
    return cooperates(call(b, "sim_barrier_reduce", i32_, {b.getInt32(kind), arg(0), where}));
  }
  if (n.consume_front("shfl.sync.")) {
    const int mode = n.starts_with("up.") ? 0 : n.starts_with("down.") ? 1 : n.starts_with("bfly.") ? 2 : 3;
    const bool with_predicate = n.ends_with("p");
    Value* v = arg(1);
    Type* t = v->getType();
    Value* r =
        call(b, "sim_shuffle", i64_, {b.getInt32(mode), arg(0), b.CreateBitCast(v, i32_), arg(2), arg(3), where});
    Value* got = b.CreateBitCast(b.CreateTrunc(r, i32_), t);
    if (!with_predicate) return cooperates(got);
    Value* pair = b.CreateInsertValue(PoisonValue::get(c->getType()), got, 0);
    return cooperates(b.CreateInsertValue(pair, b.CreateTrunc(b.CreateLShr(r, 32), i1_), 1));
  }
  if (n.consume_front("vote.")) {
    const bool sync = n.consume_back(".sync");
    Value* mask = sync ? arg(0) : b.getInt32(~0u);
    Value* predicate = b.CreateZExt(arg(sync ? 1 : 0), i32_);
    const int kind = n == "ballot" ? 0 : n == "any" ? 1 : n == "all" ? 2 : 3;
    Value* r = call(b, "sim_vote", i32_, {b.getInt32(kind), mask, predicate, where});
    return cooperates(b.CreateTrunc(r, c->getType()));
  }
  if (n.consume_front("redux.sync.")) {
    const char* const kinds[] = {"add", "umin", "umax", "min", "max", "and", "or", "xor"};
    for (int k = 0; k < 8; ++k)
      if (n == kinds[k]) return cooperates(call(b, "sim_reduce", i32_, {b.getInt32(k), arg(1), arg(0), where}));
    return false;
  }
  if (n.starts_with("match.any.sync.")) {
    Value* v = b.CreateZExt(arg(1), i64_);
    return cooperates(call(b, "sim_match_any", i32_, {arg(0), v, where}));
  }
  if (n == "exit") {
    code_.cooperates = true;
    return cooperates(call(b, "sim_exit", none, {}));
  }
  if (n.starts_with("membar.gl") || n.starts_with("membar.sys"))
    return call(b, "sim_fence", none, {}), replace(c, nullptr), true;
  if (n.starts_with("membar") || n.starts_with("fence") || n == "nanosleep") return replace(c, nullptr), true;
  return false;
}

bool Rewriter::memory_intrinsic(CallBase* c, StringRef n, std::uint32_t site) {
  IRBuilder<> b(c);
  auto arg = [&](unsigned i) { return c->getArgOperand(i); };
  if (n.starts_with("ldg.global.") || n.starts_with("ldu.global.")) return load_through_cache(c, site), true;
  if (n.starts_with("ptr."))  // between address spaces: one and the same address here
    return replace(c, b.CreateAddrSpaceCast(arg(0), c->getType())), true;
  if (n.starts_with("isspacep.")) {
    Value* offset = b.CreateSub(b.CreatePtrToInt(arg(0), i64_), b.getInt64(g_arena.base));
    Value* shared = b.CreateICmpULT(offset, b.getInt64(kSharedWindow));
    Value* arena = b.CreateICmpULT(offset, b.getInt64(kArenaBytes));
    n.consume_front("isspacep.");
    Value* r = n.starts_with("shared") ? shared
               : n == "global"         ? b.CreateAnd(arena, b.CreateNot(shared))
               : n == "local"          ? b.CreateNot(arena)
                                       : b.getFalse();
    return replace(c, r), true;
  }
  if (n.consume_front("cp.async.")) {
    Type* none = Type::getVoidTy(c_);
    if (n == "commit.group") return call(b, "sim_async_commit", none, {}), replace(c, nullptr), true;
    if (n == "wait.all")
      return call(b, "sim_async_wait", none, {b.getInt32(0), b.getInt32(1)}), replace(c, nullptr), true;
    if (n == "wait.group") return call(b, "sim_async_wait", none, {arg(0), b.getInt32(0)}), replace(c, nullptr), true;
    if (n.consume_front("ca.shared.global.") || n.consume_front("cg.shared.global.")) {
      const bool sized = n.consume_back(".s");
      unsigned bytes = 0;
      if (n.getAsInteger(10, bytes)) return false;
      code_.cooperates = true;  // copies wait in the thread's own list
      Value* from_bytes = sized ? b.CreateZExtOrTrunc(arg(2), i32_) : b.getInt32(bytes);
      call(b, "sim_async_copy", none,
           {b.CreateAddrSpaceCast(arg(0), ptr_), b.CreateAddrSpaceCast(arg(1), ptr_), b.getInt32(bytes), from_bytes,
            b.getInt32(site)});
      return replace(c, nullptr), true;
    }
  }
  return false;
}

void Rewriter::inline_assembly(CallBase* c, std::uint32_t site) {
  auto* text = cast<InlineAsm>(c->getCalledOperand());
  std::string s;  // without spaces and semicolons at the ends
  for (char ch : text->getAsmString())
    if (ch != ';' && !isspace(static_cast<unsigned char>(ch))) s.push_back(ch);
  IRBuilder<> b(c);
  auto unary = [&](const char* function) { replace(c, call(b, function, f32_, {c->getArgOperand(0)})); };
  if (s.empty()) {
    require(c->getType()->isVoidTy(), CUDA_ERROR_INVALID_PTX, "empty inline assembly with a result");
    return replace(c, nullptr);
  }
  if (s == "tanh.approx.f32$0,$1") return unary("sim_tanh");
  if (s == "ex2.approx.f32$0,$1" || s == "ex2.approx.ftz.f32$0,$1") return unary("sim_ex2");
  if (s == "lg2.approx.f32$0,$1" || s == "lg2.approx.ftz.f32$0,$1") return unary("sim_lg2");
  if (s == "rcp.approx.ftz.f32$0,$1" || s == "rcp.approx.f32$0,$1") return unary("sim_rcp");
  if (s == "rsqrt.approx.f32$0,$1" || s == "rsqrt.approx.ftz.f32$0,$1") return unary("sim_rsqrt");
  if (s == "membar.gl" || s == "membar.cta" || s == "fence.acq_rel.gpu" || s == "fence.acq_rel.cta")
    return replace(c, nullptr);
  if (s == "griddepcontrol.launch_dependents") return replace(c, nullptr);
  if (s == "griddepcontrol.wait") {
    call(b, "sim_wait_for_earlier", Type::getVoidTy(c_), {});
    return replace(c, nullptr);
  }
  if (s == "cp.async.bulk.prefetch.L2.global[$0],$1") {
    call(b, "sim_prefetch", Type::getVoidTy(c_), {c->getArgOperand(0), c->getArgOperand(1), b.getInt32(site)});
    return replace(c, nullptr);
  }
  if (s == "prefetch.global.L2[$0]") {
    call(b, "sim_prefetch_line", Type::getVoidTy(c_), {c->getArgOperand(0), b.getInt32(site)});
    return replace(c, nullptr);
  }
  if (s == "activemask.b32$0") {
    code_.cooperates = true;
    return replace(c, call(b, "sim_active_mask", i32_, {}));
  }
  if (warpgroup(c, s, site)) return;
  fail(CUDA_ERROR_INVALID_PTX, "the simulator does not know the inline assembly \"", text->getAsmString(), "\" (in ",
       c->getFunction()->getName().str(), ")");
}

}  // namespace sim
