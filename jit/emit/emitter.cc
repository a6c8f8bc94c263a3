#include "jit/emit/emitter.h"

#include <cmath>

#include "jit/emit/library.h"
#include "kernels/loop/analysis.h"

namespace reprise::jit {

using llvm::Type;
using llvm::Value;

Type* Emitter::shaped(Type* scalar, int lanes) {
  return lanes == 0 ? scalar : llvm::FixedVectorType::get(scalar, static_cast<unsigned>(lanes));
}

int Emitter::lanes_of(const Value* v) {
  auto* t = llvm::dyn_cast<llvm::FixedVectorType>(v->getType());
  return t ? static_cast<int>(t->getNumElements()) : 0;
}

Type* Emitter::register_type(DType t, int lanes) {
  switch (t) {
    case DType::Float32:
    case DType::Float16:
    case DType::BFloat16:
    case DType::Float8E4M3FN:
    case DType::Float8E5M2: return f32(lanes);
    case DType::Float64: return f64(lanes);
    case DType::Bool: return i(1, lanes);
    default: return i(item_size(t) * 8, lanes);
  }
}

Type* Emitter::memory_type(DType t, int lanes) {
  if (t == DType::Float32) return f32(lanes);
  if (t == DType::Float64) return f64(lanes);
  return i(item_size(t) * 8, lanes);
}

Value* Emitter::splat(Value* v, int lanes) {
  if (lanes == 0 || lanes_of(v) != 0) return v;
  return b.CreateVectorSplat(static_cast<unsigned>(lanes), v);
}

Value* Emitter::iota(Type* element, int lanes) {
  std::vector<llvm::Constant*> c;
  for (int l = 0; l < lanes; ++l) c.push_back(llvm::ConstantInt::get(element, static_cast<std::uint64_t>(l)));
  return llvm::ConstantVector::get(c);
}

Value* Emitter::lane_mask(Value* remaining, int lanes) {
  Value* n = call(llvm::Intrinsic::umin, remaining, i64(lanes));
  // A mask register straight from a scalar. Not of 8 lanes: where LLVM 19 widens a store of 8 bytes to 16 it takes the
  // upper half of such a mask for zero, and it is not.
  if (cx.host.avx512 && lanes >= 16 && lanes <= 32) {
    Value* ones = b.CreateNot(b.CreateShl(i64(-1), n));
    return b.CreateBitCast(b.CreateTrunc(ones, i(lanes)), i(1, lanes));
  }
  const int bits = lanes > 32 ? 8 : 32;  // the compare has the width of the data it guards
  return b.CreateICmpULT(iota(i(bits), lanes), splat(b.CreateTrunc(n, i(bits)), lanes));
}

Value* Emitter::to_register(DType t, Value* m) {
  switch (t) {
    case DType::Bool: return b.CreateICmpNE(m, integer(m, 0));
    case DType::BFloat16: return floats(b.CreateShl(b.CreateZExt(m, like(m, i(32))), 16));
    case DType::Float16: return b.CreateFPExt(b.CreateBitCast(m, like(m, b.getHalfTy())), like(m, f32()));
    case DType::Float8E5M2: {  // the upper half of a float16
      Value* half = b.CreateShl(b.CreateZExt(m, like(m, i(16))), 8);
      return b.CreateFPExt(b.CreateBitCast(half, like(m, b.getHalfTy())), like(m, f32()));
    }
    case DType::Float8E4M3FN: {
      // With its fields where a float16 has them the value is 2^-8 of what it should be, denormals included: these are
      // widened without the delay that arithmetic on denormals of float32 has.
      Value* x = b.CreateSExt(m, like(m, i(16)));
      Value* half = b.CreateAnd(b.CreateShl(x, 7), integer(x, 0xbf80));
      Value* small = b.CreateFPExt(b.CreateBitCast(half, like(m, b.getHalfTy())), like(m, f32()));
      Value* nan = b.CreateICmpEQ(b.CreateOr(m, integer(m, 0x80)), integer(m, 0xff));
      Value* pattern = bits(small);
      Value* signed_nan =
          floats(b.CreateOr(b.CreateAnd(pattern, integer(pattern, 0x80000000)), integer(pattern, 0x7fc00000)));
      return b.CreateSelect(nan, signed_nan, b.CreateFMul(small, constant(small, 256)));
    }
    default: return m;
  }
}

Value* Emitter::to_memory(DType t, Value* r) {
  switch (t) {
    case DType::Bool: return b.CreateZExt(r, like(r, i(8)));
    case DType::Float16: return b.CreateBitCast(b.CreateFPTrunc(r, like(r, b.getHalfTy())), like(r, i(16)));
    case DType::BFloat16: {
      if (cx.host.rounds_to_bfloat16)
        return b.CreateBitCast(b.CreateFPTrunc(r, like(r, b.getBFloatTy())), like(r, i(16)));
      // By integer arithmetic, not vcvtneps2bf16: that flushes denormals. Nearest even; a NaN keeps its sign and stays
      // one.
      Value* x = bits(r);
      Value* odd = b.CreateAnd(b.CreateLShr(x, 16), integer(x, 1));
      Value* rounded = b.CreateAdd(x, b.CreateAdd(odd, integer(x, 0x7fff)));
      Value* nan = b.CreateOr(x, integer(x, 0x400000));
      Value* chosen = b.CreateSelect(b.CreateFCmpUNO(r, r), nan, rounded);
      return b.CreateTrunc(b.CreateLShr(chosen, 16), like(r, i(16)));
    }
    case DType::Float8E4M3FN: return to_float8(r, 3, 7, 0x43f00000);  // from 480 on: NaN, which is the number after 448
    case DType::Float8E5M2: return to_float8(r, 2, 15, 0x47800000);   // from 65536 on: infinite; a NaN is one
    default: return r;
  }
}

Value* Emitter::to_float8(Value* r, int mantissa, int bias, std::uint32_t limit) {
  const bool infinite = bias == 15;
  Value* x = bits(r);
  Value* magnitude = b.CreateAnd(x, integer(x, 0x7fffffff));
  // what is beyond, NaN too, becomes the number after the last
  Value* within = call(llvm::Intrinsic::umin, magnitude, integer(x, limit));
  // The addition of a power of two whose last place is the unit of the result rounds to nearest even, and leaves the
  // count of units below it. The unit is that of the operand's exponent, of denormals the smallest one's.
  const int drop = 23 - mantissa, least = 128 - bias;
  Value* exponent = call(llvm::Intrinsic::umax, b.CreateAnd(within, integer(x, 0x7f800000)), integer(x, least << 23));
  Value* power = b.CreateAdd(exponent, integer(x, drop << 23));
  Value* units = b.CreateSub(bits(b.CreateFAdd(floats(within), floats(power))), power);
  // A normal number's units begin at 1 << mantissa, which is the step of its exponent: the smallest one has exponent 1.
  Value* steps = b.CreateSub(b.CreateLShr(exponent, static_cast<std::uint64_t>(drop)), integer(x, least << mantissa));
  Value* count = b.CreateAdd(units, steps);
  if (infinite) count = b.CreateSelect(b.CreateICmpUGT(magnitude, integer(x, 0x7f800000)), integer(x, 0x7f), count);
  Value* sign = b.CreateAnd(b.CreateLShr(x, 24), integer(x, 0x80));
  return b.CreateTrunc(b.CreateOr(count, sign), like(r, i(8)));
}

Value* Emitter::load(DType t, Value* p, int lanes, Value* mask, Value* whole) {
  const llvm::Align align(static_cast<std::uint64_t>(item_size(t)));
  Type* type = memory_type(t, lanes);
  auto all = [&]() -> Value* { return b.CreateAlignedLoad(type, p, align); };
  auto some = [&]() -> Value* { return b.CreateMaskedLoad(type, p, align, mask, llvm::Constant::getNullValue(type)); };
  if (!mask || !lanes) return to_register(t, all());
  if (!whole) return to_register(t, some());
  std::pair<Value*, llvm::BasicBlock*> from[2];
  emit_if(
      *this, whole,
      [&] {
        from[0] = {all(), b.GetInsertBlock()};
      },
      [&] {
        from[1] = {some(), b.GetInsertBlock()};
      });
  llvm::PHINode* m = b.CreatePHI(type, 2);
  for (const auto& [value, block] : from) m->addIncoming(value, block);
  return to_register(t, m);
}

void Emitter::store(DType t, Value* v, Value* p, Value* mask, Value* whole) {
  const llvm::Align align(static_cast<std::uint64_t>(item_size(t)));
  Value* m = to_memory(t, v);
  auto all = [&] { b.CreateAlignedStore(m, p, align); };
  auto some = [&] { b.CreateMaskedStore(m, p, align, mask); };
  if (!mask || !lanes_of(v)) all();
  else if (whole) emit_if(*this, whole, all, some);
  else some();
}

void Emitter::store_streaming(DType t, Value* v, Value* p) {
  Value* m = to_memory(t, v);
  const int bytes = std::min(kCacheLine, lanes_of(v) * item_size(t));
  llvm::StoreInst* s = b.CreateAlignedStore(m, p, llvm::Align(static_cast<std::uint64_t>(bytes)));
  s->setMetadata(llvm::LLVMContext::MD_nontemporal,
                 llvm::MDNode::get(cx.context, llvm::ConstantAsMetadata::get(b.getInt32(1))));
}

Value* Emitter::gather(DType t, Value* base, Value* offsets, Value* mask) {
  const int lanes = lanes_of(offsets);
  const llvm::Align align(static_cast<std::uint64_t>(item_size(t)));
  Type* element = memory_type(t);
  if (item_size(t) >= 4) {
    if (!mask) mask = llvm::Constant::getAllOnesValue(i(1, lanes));
    return to_register(t, b.CreateMaskedGather(memory_type(t, lanes), at(element, base, offsets), align, mask,
                                               llvm::Constant::getNullValue(memory_type(t, lanes))));
  }
  Value* v = llvm::PoisonValue::get(memory_type(t, lanes));  // no gather of such elements exists: lane by lane
  for (int l = 0; l < lanes; ++l) {
    Value* p = at(element, base, b.CreateExtractElement(offsets, static_cast<std::uint64_t>(l)));
    v = b.CreateInsertElement(v, b.CreateAlignedLoad(element, p, align), static_cast<std::uint64_t>(l));
  }
  return to_register(t, v);
}

void Emitter::scatter(DType t, Value* v, Value* base, Value* offsets, Value* mask) {
  const int lanes = lanes_of(offsets);
  if (!mask) mask = llvm::Constant::getAllOnesValue(i(1, lanes));
  b.CreateMaskedScatter(to_memory(t, v), at(memory_type(t), base, offsets),
                        llvm::Align(static_cast<std::uint64_t>(item_size(t))), mask);
}

// What fptosi.sat means (towards zero, held at the ends of the range, 0 of NaN), of which LLVM makes a scalar
// conversion for each lane.
Value* Emitter::vector_to_integer(DType to, Value* v) {
  const bool small = item_size(to) == 1, wide = item_size(to) == 8,
             from_double = v->getType()->getScalarType()->isDoubleTy();
  const double low = to == DType::UInt8 ? 0 : small ? -128 : wide ? -0x1p63 : -0x1p31;
  const double end = to == DType::UInt8 ? 256 : small ? 128 : wide ? 0x1p63 : 0x1p31;  // the first that is too large
  // The last that is not: an integer where the floats hold it, or else the float before `end`.
  const bool exact = small || (from_double && !wide);
  const double high = exact         ? end - 1
                      : from_double ? std::nextafter(end, 0.0)
                                    : static_cast<double>(std::nextafter(static_cast<float>(end), 0.0f));
  Value *lo = constant(v, low), *hi = constant(v, high);
  Value* x = b.CreateSelect(b.CreateFCmpOGT(v, lo), v, lo);  // NaN as well
  x = b.CreateSelect(b.CreateFCmpOLT(x, hi), x, hi);
  // Of small integers as Int32, the width vectors convert to.
  Value* n = b.CreateFPToSI(x, like(v, i(wide ? 64 : 32)));
  n = b.CreateSelect(b.CreateFCmpORD(v, v), n, integer(n, 0));
  if (small) return b.CreateTrunc(n, like(v, register_type(to)));
  if (exact) return n;
  return b.CreateSelect(b.CreateFCmpOGE(v, constant(v, end)), integer(n, wide ? INT64_MAX : INT32_MAX), n);
}

Value* Emitter::cast(DType from, DType to, Value* v) {
  if (is_low_precision(to)) {
    Value* f = cast(from, DType::Float32, v);
    return to_register(to, to_memory(to, f));
  }
  from = kernels::register_dtype(from);
  if (from == to) return v;
  Type* type = like(v, register_type(to));
  if (is_floating(from)) {
    if (to == DType::Bool) return b.CreateFCmpUNE(v, constant(v, 0));
    if (is_floating(to)) return to == DType::Float64 ? b.CreateFPExt(v, type) : b.CreateFPTrunc(v, type);
    if (lanes_of(v) > 1) return vector_to_integer(to, v);
    const auto id = to == DType::UInt8 ? llvm::Intrinsic::fptoui_sat : llvm::Intrinsic::fptosi_sat;
    if (item_size(to) >= 4) return b.CreateIntrinsic(id, {type, v->getType()}, {v});
    // Small integers: clamped as Int32, the width vectors convert to.
    Value* wide = b.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {like(v, i(32)), v->getType()}, {v});
    const int lo = to == DType::UInt8 ? 0 : -128, hi = to == DType::UInt8 ? 255 : 127;
    wide = call(llvm::Intrinsic::smin, call(llvm::Intrinsic::smax, wide, integer(wide, lo)), integer(wide, hi));
    return b.CreateTrunc(wide, type);
  }
  const bool is_unsigned = from == DType::UInt8 || from == DType::Bool;
  if (is_floating(to)) return is_unsigned ? b.CreateUIToFP(v, type) : b.CreateSIToFP(v, type);
  if (to == DType::Bool) return b.CreateICmpNE(v, integer(v, 0));
  return is_unsigned ? b.CreateZExtOrTrunc(v, type) : b.CreateSExtOrTrunc(v, type);
}

Value* Emitter::call_runtime(const std::string& name, llvm::ArrayRef<Value*> operands) {
  Type* type = operands[0]->getType();
  if (!cx.host.runtime_calls)
    return b.CreateCall(library_function(cx, name, type, static_cast<int>(operands.size())), operands);
  llvm::Function* f = b.GetInsertBlock()->getParent();
  llvm::IRBuilder<> entry(&f->getEntryBlock(), f->getEntryBlock().begin());
  llvm::SmallVector<Value*, 4> arguments;
  llvm::SmallVector<Type*, 4> types;
  for (Value* v : operands) {
    Value* slot = entry.CreateAlloca(type);
    b.CreateStore(v, slot);
    arguments.push_back(slot);
    types.push_back(b.getPtrTy());
  }
  Value* out = entry.CreateAlloca(type);
  arguments.push_back(out), types.push_back(b.getPtrTy());
  arguments.push_back(i64(std::max(1, lanes_of(operands[0])))), types.push_back(b.getInt64Ty());
  b.CreateCall(cx.module.getOrInsertFunction(name, llvm::FunctionType::get(b.getVoidTy(), types, false)), arguments);
  return b.CreateLoad(type, out);
}

StackArray::StackArray(Emitter& e, Type* type, int count) : e_(&e), type_(type) {
  llvm::BasicBlock& entry = e.b.GetInsertBlock()->getParent()->getEntryBlock();
  auto* array = llvm::ArrayType::get(type, static_cast<std::uint64_t>(count));
  all_ = llvm::IRBuilder<>(&entry, entry.begin()).CreateAlloca(array);
  all_->setAlignment(llvm::Align(kCacheLine));
  const std::uint64_t step = e.cx.module.getDataLayout().getTypeAllocSize(type).getFixedValue();
  each_ = llvm::commonAlignment(llvm::Align(kCacheLine), step);
}
Value* StackArray::place(Value* index) { return e_->b.CreateGEP(type_, all_, index); }
void StackArray::put(Value* index, Value* v) { e_->b.CreateAlignedStore(v, place(index), each_); }
Value* StackArray::get(Value* index) { return e_->b.CreateAlignedLoad(type_, place(index), each_); }

void emit_loop(Emitter& e, Value* begin, Value* end, Value* step, std::vector<Value*>& carried,
               const std::function<void(Value*)>& body, const char* name) {
  llvm::IRBuilder<>& b = e.b;
  llvm::Function* f = b.GetInsertBlock()->getParent();
  auto block = [&](const char* part) { return llvm::BasicBlock::Create(e.cx.context, llvm::Twine(name) + part, f); };
  llvm::BasicBlock *before = b.GetInsertBlock(), *head = block(".head"), *inside = block("");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* iv = b.CreatePHI(begin->getType(), 2, name);
  iv->addIncoming(begin, before);
  std::vector<llvm::PHINode*> phis;
  for (Value*& c : carried) {
    llvm::PHINode* phi = b.CreatePHI(c->getType(), 2);
    phi->addIncoming(c, before);
    phis.push_back(phi);
    c = phi;
  }
  llvm::BranchInst* exit_branch = b.CreateCondBr(b.CreateICmpSLT(iv, end), inside, inside);
  b.SetInsertPoint(inside);
  body(iv);
  iv->addIncoming(b.CreateAdd(iv, step), b.GetInsertBlock());
  for (std::size_t j = 0; j < phis.size(); ++j) {
    phis[j]->addIncoming(carried[j], b.GetInsertBlock());
    carried[j] = phis[j];
  }
  b.CreateBr(head);
  llvm::BasicBlock* after = block(".end");
  exit_branch->setSuccessor(1, after);
  b.SetInsertPoint(after);
}

void emit_runs(Emitter& e, Value* begin, Value* end, Value* step, const std::function<void(Value*)>& body,
               const char* name) {
  llvm::IRBuilder<>& b = e.b;
  llvm::BasicBlock *before = b.GetInsertBlock(),
                   *inside = llvm::BasicBlock::Create(e.cx.context, name, before->getParent());
  llvm::BranchInst* any = b.CreateCondBr(b.CreateICmpSLT(begin, end), inside, inside);
  b.SetInsertPoint(inside);
  llvm::PHINode* iv = b.CreatePHI(begin->getType(), 2, name);
  iv->addIncoming(begin, before);
  body(iv);
  Value* next = b.CreateAdd(iv, step);
  iv->addIncoming(next, b.GetInsertBlock());
  llvm::BranchInst* more = b.CreateCondBr(b.CreateICmpSLT(next, end), inside, inside);
  llvm::BasicBlock* after = llvm::BasicBlock::Create(e.cx.context, llvm::Twine(name) + ".end", before->getParent());
  any->setSuccessor(1, after), more->setSuccessor(1, after);
  b.SetInsertPoint(after);
}

void emit_if(Emitter& e, Value* condition, const std::function<void()>& body, const std::function<void()>& other) {
  llvm::Function* f = e.b.GetInsertBlock()->getParent();
  llvm::BasicBlock* then = llvm::BasicBlock::Create(e.cx.context, "then", f);
  llvm::BranchInst* branch = e.b.CreateCondBr(condition, then, then);
  e.b.SetInsertPoint(then);
  body();
  llvm::BranchInst* jump = nullptr;
  if (other) {
    llvm::BasicBlock* otherwise = llvm::BasicBlock::Create(e.cx.context, "else", f);
    jump = e.b.CreateBr(otherwise);
    branch->setSuccessor(1, otherwise);
    e.b.SetInsertPoint(otherwise);
    other();
  }
  llvm::BasicBlock* after = llvm::BasicBlock::Create(e.cx.context, "endif", f);
  e.b.CreateBr(after);
  if (jump) jump->setSuccessor(0, after);
  else branch->setSuccessor(1, after);
  e.b.SetInsertPoint(after);
}

}  // namespace reprise::jit
