#include "jit/emit/emitter.h"
#include "kernels/loop/analysis.h"

namespace reprise::jit {

using kernels::ScalarOp;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

namespace {

/// A number that is not 0 (nor NaN): the greater, or the lesser, of it and x is one comparison and a choice, which is x
/// where x is NaN, and one instruction of most processors.
bool is_bound(Value* v) {
  auto* c = llvm::dyn_cast<llvm::Constant>(v);
  if (c && c->getType()->isVectorTy()) c = c->getSplatValue();
  auto* number = llvm::dyn_cast_or_null<llvm::ConstantFP>(c);
  return number && !number->getValueAPF().isZero() && !number->getValueAPF().isNaN();
}
bool is_unsigned(DType t) { return t == DType::UInt8 || t == DType::Bool; }
}  // namespace

Value* Emitter::op(ScalarOp o, DType result, DType operand, Value* a, Value* c, Value* d) {
  operand = kernels::register_dtype(operand);
  const bool floating = is_floating(operand);
  auto truth = [&](Value* v) { return cast(operand, DType::Bool, v); };
  if (operand == DType::Bool && (o == ScalarOp::Lt || o == ScalarOp::Le)) {  // NVPTX selects no order of single bits
    Value* not_a = b.CreateNot(a);
    return o == ScalarOp::Lt ? b.CreateAnd(not_a, c) : b.CreateOr(not_a, c);
  }
  switch (o) {
    case ScalarOp::Where: return b.CreateSelect(a, c, d);
    case ScalarOp::Not: return b.CreateNot(truth(a));
    case ScalarOp::And: return b.CreateAnd(truth(a), truth(c));
    case ScalarOp::Or: return b.CreateOr(truth(a), truth(c));
    case ScalarOp::Xor: return b.CreateXor(truth(a), truth(c));
    case ScalarOp::IsNan: return floating ? b.CreateFCmpUNO(a, a) : llvm::ConstantInt::getFalse(like(a, i(1)));
    case ScalarOp::IsInf:
      if (!floating) return llvm::ConstantInt::getFalse(like(a, i(1)));
      return b.CreateFCmpOEQ(call(Intrinsic::fabs, a), constant(a, std::numeric_limits<double>::infinity()));
    case ScalarOp::Eq: return floating ? b.CreateFCmpOEQ(a, c) : b.CreateICmpEQ(a, c);
    case ScalarOp::Ne: return floating ? b.CreateFCmpUNE(a, c) : b.CreateICmpNE(a, c);
    case ScalarOp::Lt:
      return floating ? b.CreateFCmpOLT(a, c) : is_unsigned(operand) ? b.CreateICmpULT(a, c) : b.CreateICmpSLT(a, c);
    case ScalarOp::Le:
      return floating ? b.CreateFCmpOLE(a, c) : is_unsigned(operand) ? b.CreateICmpULE(a, c) : b.CreateICmpSLE(a, c);
    default: return is_floating(result) ? float_op(o, result, a, c, d) : integer_op(o, result, a, c, d);
  }
}

Value* Emitter::float_op(ScalarOp o, DType t, Value* a, Value* c, Value* d) {
  switch (o) {
    case ScalarOp::Neg: return b.CreateFNeg(a);
    case ScalarOp::Abs: return call(Intrinsic::fabs, a);
    case ScalarOp::Sign: {
      Value *one = constant(a, 1), *zero = constant(a, 0);
      Value* up = b.CreateSelect(b.CreateFCmpOGT(a, zero), one, zero);
      return b.CreateSelect(b.CreateFCmpOLT(a, zero), constant(a, -1), up);
    }
    case ScalarOp::Sqrt: return call(Intrinsic::sqrt, a);
    case ScalarOp::Rsqrt: return b.CreateFDiv(constant(a, 1), call(Intrinsic::sqrt, a));
    case ScalarOp::Reciprocal: return b.CreateFDiv(constant(a, 1), a);
    case ScalarOp::Floor: return call(Intrinsic::floor, a);
    case ScalarOp::Ceil: return call(Intrinsic::ceil, a);
    case ScalarOp::Round: return call(Intrinsic::roundeven, a);
    case ScalarOp::Trunc: return call(Intrinsic::trunc, a);
    case ScalarOp::Add: return b.CreateFAdd(a, c);
    case ScalarOp::Sub: return b.CreateFSub(a, c);
    case ScalarOp::Mul: return b.CreateFMul(a, c);
    case ScalarOp::Div: return b.CreateFDiv(a, c);
    case ScalarOp::TruncDiv: return call(Intrinsic::trunc, b.CreateFDiv(a, c));
    // The select is one max instruction, which returns c when either is NaN; then a NaN in a wins. A GPU joins both
    // comparisons instead.
    case ScalarOp::Max:
      if (is_bound(c)) return b.CreateSelect(b.CreateFCmpOGT(c, a), c, a);
      if (cx.host.approximates) return b.CreateSelect(b.CreateOr(b.CreateFCmpUNO(a, a), b.CreateFCmpOGT(a, c)), a, c);
      return b.CreateSelect(b.CreateFCmpUNO(a, a), a, b.CreateSelect(b.CreateFCmpOGT(a, c), a, c));
    case ScalarOp::Min:
      if (is_bound(c)) return b.CreateSelect(b.CreateFCmpOLT(c, a), c, a);
      if (cx.host.approximates) return b.CreateSelect(b.CreateOr(b.CreateFCmpUNO(a, a), b.CreateFCmpOLT(a, c)), a, c);
      return b.CreateSelect(b.CreateFCmpUNO(a, a), a, b.CreateSelect(b.CreateFCmpOLT(a, c), a, c));
    case ScalarOp::CopySign: return call(Intrinsic::copysign, a, c);
    case ScalarOp::Fma: return fma(a, c, d);
    default: break;
  }
  if (t == DType::Float32)
    if (Value* v = math_f32(o, a, c)) return v;
  const std::string name =
      "reprise_" + std::string(kernels::scalar_op_name(o)) + (t == DType::Float32 ? "_f32" : "_f64");
  return c ? call_runtime(name, {a, c}) : call_runtime(name, {a});
}

Value* Emitter::integer_op(ScalarOp o, DType t, Value* a, Value* c, Value* d) {
  const bool u = is_unsigned(t);
  if (t == DType::Bool) {
    switch (o) {
      case ScalarOp::Add:
      case ScalarOp::Max: o = ScalarOp::BitOr; break;
      case ScalarOp::Mul:
      case ScalarOp::Min: o = ScalarOp::BitAnd; break;
      case ScalarOp::Sub: o = ScalarOp::BitXor; break;
      default: break;
    }
  }
  switch (o) {
    case ScalarOp::Neg: return b.CreateNeg(a);
    case ScalarOp::Abs: return u ? a : b.CreateBinaryIntrinsic(Intrinsic::abs, a, b.getFalse());
    case ScalarOp::Sign: {
      Value* zero = integer(a, 0);
      Value* up = b.CreateZExt(b.CreateICmpNE(a, zero), a->getType());
      return u ? up : b.CreateSelect(b.CreateICmpSLT(a, zero), integer(a, -1), up);
    }
    case ScalarOp::Floor:
    case ScalarOp::Ceil:
    case ScalarOp::Round:
    case ScalarOp::Trunc: return a;
    case ScalarOp::BitNot: return b.CreateNot(a);
    case ScalarOp::Add: return b.CreateAdd(a, c);
    case ScalarOp::Sub: return b.CreateSub(a, c);
    case ScalarOp::Mul: return b.CreateMul(a, c);
    case ScalarOp::Max: return call(u ? Intrinsic::umax : Intrinsic::smax, a, c);
    case ScalarOp::Min: return call(u ? Intrinsic::umin : Intrinsic::smin, a, c);
    case ScalarOp::BitAnd: return b.CreateAnd(a, c);
    case ScalarOp::BitOr: return b.CreateOr(a, c);
    case ScalarOp::BitXor: return b.CreateXor(a, c);
    case ScalarOp::Shl:
    case ScalarOp::Shr: {
      Value* n = b.CreateAnd(c, integer(c, item_size(t) * 8 - 1));
      return o == ScalarOp::Shl ? b.CreateShl(a, n) : u ? b.CreateLShr(a, n) : b.CreateAShr(a, n);
    }
    case ScalarOp::Fma: return b.CreateAdd(b.CreateMul(a, c), d);
    case ScalarOp::TruncDiv:
    case ScalarOp::FloorDiv:
    case ScalarOp::Fmod:
    case ScalarOp::Remainder:
      if (!cx.host.runtime_calls) return scalar_divide(o, t, a, c);
      if (t != DType::Int64) return small_divide(o, t, a, c);
      break;
    default: break;
  }
  // Int64 division and power: called, in Int64.
  Value *wide_a = cast(t, DType::Int64, a), *wide_c = cast(t, DType::Int64, c);
  return cast(DType::Int64, t,
              call_runtime("reprise_" + std::string(kernels::scalar_op_name(o)) + "_i64", {wide_a, wide_c}));
}

/// Where processors have scalar integer division. By zero gives 0, by -1 a negation that wraps.
Value* Emitter::scalar_divide(ScalarOp o, DType t, Value* a, Value* c) {
  const bool u = is_unsigned(t);
  llvm::Type* whole = item_size(t) == 8 ? b.getInt64Ty() : b.getInt32Ty();
  auto widen = [&](Value* v) { return u ? b.CreateZExt(v, whole) : b.CreateSExt(v, whole); };
  Value *x = widen(a), *y = widen(c), *zero = integer(x, 0);
  Value* none = b.CreateICmpEQ(y, zero);
  Value* special = u ? none : b.CreateOr(none, b.CreateICmpEQ(y, integer(y, -1)));
  Value* safe = b.CreateSelect(special, integer(y, 1), y);
  Value* q = u ? b.CreateUDiv(x, safe) : b.CreateSDiv(x, safe);
  Value* r = b.CreateSub(x, b.CreateMul(q, safe));
  if (!u) q = b.CreateSelect(b.CreateICmpEQ(y, integer(y, -1)), b.CreateNeg(x), q);
  Value* uneven = b.CreateAnd(b.CreateICmpNE(r, zero), b.CreateICmpSLT(b.CreateXor(r, safe), zero));
  Value* result = nullptr;
  switch (o) {
    case ScalarOp::TruncDiv: result = q; break;
    case ScalarOp::FloorDiv: result = b.CreateSub(q, b.CreateZExt(uneven, whole)); break;
    case ScalarOp::Fmod: result = r; break;
    default: result = b.CreateSelect(uneven, b.CreateAdd(r, safe), r); break;
  }
  return b.CreateTrunc(b.CreateSelect(none, zero, result), a->getType());
}

/// Division of integers of at most 32 bits through a floating type that holds every quotient exactly enough: vectors
/// have no integer division, and this one cannot trap. By zero gives 0.
Value* Emitter::small_divide(ScalarOp o, DType t, Value* a, Value* c) {
  const bool u = is_unsigned(t), wide = item_size(t) == 4;
  llvm::Type* real = like(a, wide ? b.getDoubleTy() : b.getFloatTy());
  llvm::Type* whole = like(a, wide ? b.getInt64Ty() : b.getInt32Ty());
  auto widen = [&](Value* v) { return u ? b.CreateZExt(v, whole) : b.CreateSExt(v, whole); };
  Value* zero_divisor = b.CreateICmpEQ(c, integer(c, 0));
  Value* safe = b.CreateSelect(zero_divisor, integer(c, 1), c);
  Value *x = widen(a), *y = widen(safe);
  Value* q = b.CreateFPToSI(b.CreateFDiv(b.CreateSIToFP(x, real), b.CreateSIToFP(y, real)), whole);
  Value* r = b.CreateSub(x, b.CreateMul(q, y));
  Value* zero = integer(x, 0);
  // Floored forms: one less (and the remainder one divisor more) when the remainder's sign is not the divisor's.
  Value* uneven = b.CreateAnd(b.CreateICmpNE(r, zero), b.CreateICmpSLT(b.CreateXor(r, y), zero));
  Value* result = nullptr;
  switch (o) {
    case ScalarOp::TruncDiv: result = q; break;
    case ScalarOp::FloorDiv: result = b.CreateSelect(uneven, b.CreateSub(q, integer(q, 1)), q); break;
    case ScalarOp::Fmod: result = r; break;
    default: result = b.CreateSelect(uneven, b.CreateAdd(r, y), r); break;
  }
  return b.CreateSelect(zero_divisor, integer(a, 0), b.CreateTrunc(result, a->getType()));
}

}  // namespace reprise::jit
