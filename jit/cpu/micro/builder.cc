#include "jit/cpu/micro/builder.h"

#include <llvm/IR/Intrinsics.h>

#include "base/errors.h"
#include "jit/cpu/micro/compile.h"
#include "jit/engine/engine.h"

namespace reprise::jit {

using llvm::Value;

MicroBuilder::MicroBuilder(llvm::Module& m, const std::string& name, const char* params, int bits_, DType acc_)
    : b(m.getContext()), bits(bits_), lanes(kernels::micro_lanes(bits_, acc_)), acc(acc_) {
  elem = acc == DType::Float64 ? b.getDoubleTy() : b.getFloatTy();
  vec = of(elem);
  std::vector<llvm::Type*> types;
  for (const char* p = params; *p; ++p)
    types.push_back(*p == 'p'   ? static_cast<llvm::Type*>(b.getPtrTy())
                    : *p == 'f' ? b.getFloatTy()
                                : static_cast<llvm::Type*>(b.getInt64Ty()));
  fn = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), types, false), llvm::Function::ExternalLinkage,
                              name, m);
  fn->addFnAttr(llvm::Attribute::NoUnwind);
  // Without these LLVM splits 512-bit vectors in two on CPUs it thinks prefer 256.
  fn->addFnAttr("prefer-vector-width", std::to_string(bits));
  fn->addFnAttr("min-legal-vector-width", std::to_string(bits));
  b.SetInsertPoint(llvm::BasicBlock::Create(m.getContext(), "entry", fn));
}

llvm::Function* MicroBuilder::finish() {
  b.CreateRetVoid();
  return fn;
}

Value* MicroBuilder::at(Value* p, DType t, Value* index) {
  llvm::Type* type = item_size(t) == 8   ? b.getInt64Ty()
                     : item_size(t) == 4 ? b.getInt32Ty()
                     : item_size(t) == 2 ? b.getInt16Ty()
                                         : b.getInt8Ty();
  return b.CreateGEP(type, p, index);
}

Value* MicroBuilder::mask_below(Value* n) {
  std::vector<llvm::Constant*> iota;
  for (int i = 0; i < lanes; ++i) iota.push_back(b.getInt32(static_cast<std::uint32_t>(i)));
  Value* lo = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, n, i64(0));
  Value* n32 = b.CreateTrunc(min(lo, i64(lanes)), b.getInt32Ty());
  return b.CreateICmpULT(llvm::ConstantVector::get(iota), splat(n32));
}

Value* MicroBuilder::load(DType t, Value* p, Value* mask) {
  bool half = is_low_precision(t);
  llvm::Type* memory = half ? b.getInt16Ty() : t == DType::Float64 ? b.getDoubleTy() : b.getFloatTy();
  llvm::Align align(static_cast<std::uint64_t>(item_size(t)));
  llvm::FixedVectorType* type = of(memory);
  Value* v = mask ? static_cast<Value*>(b.CreateMaskedLoad(type, p, align, mask, llvm::Constant::getNullValue(type)))
                  : b.CreateAlignedLoad(type, p, align);
  if (t == DType::Float16) v = b.CreateFPExt(b.CreateBitCast(v, of(b.getHalfTy())), of(b.getFloatTy()));
  if (t == DType::BFloat16)
    v = b.CreateBitCast(b.CreateShl(b.CreateZExt(v, of(b.getInt32Ty())), 16), of(b.getFloatTy()));
  if (acc == DType::Float64 && t != DType::Float64) v = b.CreateFPExt(v, vec);
  return v;
}

void MicroBuilder::store(DType t, Value* v, Value* p, Value* mask) {
  unsigned n = llvm::cast<llvm::FixedVectorType>(v->getType())->getNumElements();
  auto as = [&](llvm::Type* type) { return llvm::FixedVectorType::get(type, n); };
  if (t == DType::Float32 && acc == DType::Float64) v = b.CreateFPTrunc(v, as(b.getFloatTy()));
  if (t == DType::Float16) v = b.CreateBitCast(b.CreateFPTrunc(v, as(b.getHalfTy())), as(b.getInt16Ty()));
  if (t == DType::BFloat16) {
    // Round to nearest even on the bits (the bf16 instruction would flush subnormals); NaN keeps its sign and stays
    // NaN.
    Value* u = b.CreateBitCast(v, as(b.getInt32Ty()));
    auto k = [&](std::uint32_t c) { return b.CreateVectorSplat(n, b.getInt32(c)); };
    Value* odd = b.CreateAnd(b.CreateLShr(u, 16), k(1));
    Value* rounded = b.CreateLShr(b.CreateAdd(b.CreateAdd(u, k(0x7fff)), odd), 16);
    Value* nan = b.CreateOr(b.CreateLShr(u, 16), k(0x40));
    v = b.CreateTrunc(b.CreateSelect(b.CreateFCmpUNO(v, v), nan, rounded), as(b.getInt16Ty()));
  }
  llvm::Align align(static_cast<std::uint64_t>(item_size(t)));
  if (mask)
    b.CreateMaskedStore(v, p, align, mask);
  else
    b.CreateAlignedStore(v, p, align);
}

MicroBuilder::Values MicroBuilder::loop(Value* begin, Value* end, std::int64_t step, Values carried,
                                        const std::function<Values(Value*, Values)>& body) {
  llvm::LLVMContext& cx = b.getContext();
  llvm::BasicBlock* before = b.GetInsertBlock();
  llvm::BasicBlock* head = llvm::BasicBlock::Create(cx, "loop", fn);
  llvm::BasicBlock* exit = llvm::BasicBlock::Create(cx, "done", fn);
  b.CreateCondBr(b.CreateICmpSLT(begin, end), head, exit);
  b.SetInsertPoint(head);
  llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
  i->addIncoming(begin, before);
  std::vector<llvm::PHINode*> phis;
  Values in;
  for (Value* c : carried) {
    phis.push_back(b.CreatePHI(c->getType(), 2));
    phis.back()->addIncoming(c, before);
    in.push_back(phis.back());
  }
  Values out = body(i, in);
  Value* next = b.CreateAdd(i, i64(step));
  llvm::BasicBlock* last = b.GetInsertBlock();
  i->addIncoming(next, last);
  for (std::size_t j = 0; j < phis.size(); ++j) phis[j]->addIncoming(out[j], last);
  b.CreateCondBr(b.CreateICmpSLT(next, end), head, exit);
  b.SetInsertPoint(exit);
  Values results;
  for (std::size_t j = 0; j < carried.size(); ++j) {
    llvm::PHINode* r = b.CreatePHI(carried[j]->getType(), 2);
    r->addIncoming(carried[j], before);
    r->addIncoming(out[j], last);
    results.push_back(r);
  }
  return results;
}

Value* MicroBuilder::fold(Value* v, const std::function<Value*(Value*, Value*)>& op) {
  for (int d = lanes / 2; d > 0; d /= 2) {
    std::vector<int> m;
    for (int l = 0; l < lanes; ++l) m.push_back(l ^ d);
    v = op(v, shuffle(v, v, m));
  }
  return v;
}

Value* MicroBuilder::exp(Value* x) {
  // exp(x) = 2^n * exp(r), |r| <= ln 2 / 2; the polynomial is the well-known degree-5 minimax one.
  auto keep_nan = [&](Value* limit, Value* v, bool upper) {
    return b.CreateSelect(upper ? b.CreateFCmpOGT(v, limit) : b.CreateFCmpOLT(v, limit), limit, v);
  };
  Value* clamped = keep_nan(constant(-103.97f), keep_nan(constant(88.72283f), x, true), false);
  Value* n = b.CreateUnaryIntrinsic(llvm::Intrinsic::rint, b.CreateFMul(clamped, constant(1.44269504088896341)));
  Value* r = fma(n, constant(-0.693359375), clamped);
  r = fma(n, constant(2.12194440e-4), r);
  Value* p = constant(1.9875691500e-4);
  for (double c : {1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1})
    p = fma(p, r, constant(c));
  p = b.CreateFAdd(fma(p, b.CreateFMul(r, r), r), constant(1));
  // 2^n in two factors, so that results below the smallest normal number come out right.
  llvm::Type* ints = of(b.getInt32Ty());
  auto splat32 = [&](std::int32_t c) {
    return b.CreateVectorSplat(static_cast<unsigned>(lanes), b.getInt32(static_cast<std::uint32_t>(c)));
  };
  Value* k = b.CreateFPToSI(b.CreateSelect(b.CreateFCmpUNO(n, n), zero(), n), ints);
  Value* k1 = b.CreateAShr(k, 1);
  auto pow2 = [&](Value* e) { return b.CreateBitCast(b.CreateShl(b.CreateAdd(e, splat32(127)), 23), vec); };
  Value* y = b.CreateFMul(b.CreateFMul(p, pow2(k1)), pow2(b.CreateSub(k, k1)));
  return b.CreateSelect(b.CreateFCmpOLT(x, constant(-103.97f)), zero(), y);
}

llvm::Function* emit_micro_kernel(llvm::Module& m, const kernels::MicroKernelSpec& spec, const std::string& name) {
  if (spec.kind == "gemm") return emit_gemm(m, name, spec.params);
  if (spec.kind == "gemv_dot") return emit_gemv_dot(m, name, spec.params);
  if (spec.kind == "gemv_sum") return emit_gemv_sum(m, name, spec.params);
  if (spec.kind == "convert") return emit_convert(m, name, spec.params);
  if (spec.kind == "transpose") return emit_transpose(m, name, spec.params);
  if (spec.kind == "softmax") return emit_softmax(m, name, spec.params);
  if (spec.kind == "scale") return emit_scale(m, name, spec.params);
  fail(ErrorCode::Internal, "jit", {}, "unknown micro-kernel kind '", spec.kind, "'");
}

CodePtr compile(const kernels::MicroKernelSpec& spec) {
  std::string key = "micro ";
  key += spec.kind;
  for (std::int64_t p : spec.params) key += ' ', key += std::to_string(p);
  return compile_module(key, [&](EmitContext& cx) { emit_micro_kernel(cx.module, spec, cx.entry); });
}

}  // namespace reprise::jit
