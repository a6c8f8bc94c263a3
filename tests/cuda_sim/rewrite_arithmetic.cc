#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>

#include "tests/cuda_sim/rewrite.h"

namespace sim {

using namespace llvm;

/// A GPU divides by zero without a trap (all bits set; the remainder is the dividend), and the smallest integer by -1.
void Rewriter::divide(BinaryOperator* o) {
  const auto op = o->getOpcode();
  const bool is_signed = op == Instruction::SDiv || op == Instruction::SRem;
  const bool is_rem = op == Instruction::SRem || op == Instruction::URem;
  if (!is_signed && !is_rem && op != Instruction::UDiv) return;
  if (auto* d = dyn_cast<ConstantInt>(o->getOperand(1)); d && !d->isZero() && !d->isMinusOne()) return;
  IRBuilder<> b(o);
  Type* t = o->getType();
  Value *x = o->getOperand(0), *d = o->getOperand(1);
  Value* zero = b.CreateICmpEQ(d, Constant::getNullValue(t));
  Value* safe = b.CreateSelect(zero, ConstantInt::get(t, 1), d);
  if (is_signed) {
    Value* overflow =
        b.CreateAnd(b.CreateICmpEQ(d, Constant::getAllOnesValue(t)),
                    b.CreateICmpEQ(x, ConstantInt::get(t, APInt::getSignedMinValue(t->getScalarSizeInBits()))));
    safe = b.CreateSelect(overflow, ConstantInt::get(t, 1), safe);
  }
  Value* r = b.CreateBinOp(op, x, safe);
  replace(o, b.CreateSelect(zero, is_rem ? x : Constant::getAllOnesValue(t), r));
}

/// cvt.rzi saturates, and makes 0 of a NaN.
void Rewriter::float_to_int(CastInst* c) {
  const unsigned bits = c->getType()->getScalarSizeInBits();
  if (bits == 1 || bits > 64) return;
  IRBuilder<> b(c);
  Value* v = c->getOperand(0);
  if (!v->getType()->getScalarType()->isFloatTy() && !v->getType()->getScalarType()->isDoubleTy())
    v = b.CreateFPExt(v, v->getType()->getWithNewType(f32_));
  // Integers of 8 bits are converted as 16 bits and cut off.
  Type* wide = c->getType()->getWithNewType(bits < 16 ? i16_ : bits < 32 ? i16_ : c->getType()->getScalarType());
  Intrinsic::ID id = isa<FPToSIInst>(c) ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat;
  replace(c, b.CreateTrunc(b.CreateIntrinsic(id, {wide, v->getType()}, {v}), c->getType()));
}

/// Round to nearest even, subnormals kept, every NaN the device's canonical one.
Value* Rewriter::round_to_bfloat(IRBuilder<>& b, Value* v) {
  if (!v->getType()->getScalarType()->isFloatTy()) v = b.CreateFPCast(v, v->getType()->getWithNewType(f32_));
  Type *t32 = v->getType()->getWithNewType(i32_), *t16 = v->getType()->getWithNewType(i16_);
  Value* bits = b.CreateBitCast(v, t32);
  Value* odd = b.CreateAnd(b.CreateLShr(bits, 16), ConstantInt::get(t32, 1));
  Value* rounded = b.CreateLShr(b.CreateAdd(b.CreateAdd(bits, ConstantInt::get(t32, 0x7fff)), odd), 16);
  Value* nan = b.CreateFCmpUNO(v, v);
  Value* r = b.CreateSelect(nan, ConstantInt::get(t32, 0x7fff), rounded);
  return b.CreateBitCast(b.CreateTrunc(r, t16), v->getType()->getWithNewType(Type::getBFloatTy(c_)));
}

void Rewriter::to_bfloat(CastInst* c) {
  IRBuilder<> b(c);
  replace(c, round_to_bfloat(b, c->getOperand(0)));
}

}  // namespace sim
