#include "jit/emit/library.h"

#include <map>

#include "base/errors.h"
#include "jit/emit/emitter.h"

namespace reprise::jit {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

namespace {

struct Body {
  Emitter& e;
  llvm::IRBuilder<>& b = e.b;
  Value* infinity(Value* x) { return e.constant(x, std::numeric_limits<double>::infinity()); }
  Value* nan(Value* x) { return e.constant(x, std::numeric_limits<double>::quiet_NaN()); }

  /// A loop of which only the condition tells when it ends. `state` goes around.
  template <class Condition, class Step>
  void loop(std::vector<Value*>& state, Condition&& condition, Step&& step) {
    llvm::Function* f = b.GetInsertBlock()->getParent();
    auto block = [&](const char* name) { return llvm::BasicBlock::Create(e.cx.context, name, f); };
    llvm::BasicBlock *before = b.GetInsertBlock(), *head = block("while"), *inside = block("do"),
                     *after = block("done");
    b.CreateBr(head);
    b.SetInsertPoint(head);
    std::vector<llvm::PHINode*> phis;
    for (Value*& s : state) {
      phis.push_back(b.CreatePHI(s->getType(), 2));
      phis.back()->addIncoming(s, before);
      s = phis.back();
    }
    b.CreateCondBr(condition(), inside, after);
    b.SetInsertPoint(inside);
    step();
    for (std::size_t j = 0; j < phis.size(); ++j)
      phis[j]->addIncoming(state[j], b.GetInsertBlock()), state[j] = phis[j];
    b.CreateBr(head);
    b.SetInsertPoint(after);
  }

  /// x modulo y with x's sign, exactly.
  Value* fmod(Value* x, Value* y) {
    Value *ax = e.call(Intrinsic::fabs, x), *ay = e.call(Intrinsic::fabs, y);
    Value* r = x->getType()->isFloatTy() ? fmod_by_doubles(ax, ay) : fmod_by_integers(ax, ay);
    r = b.CreateSelect(b.CreateFCmpOLT(ax, ay), ax, r);
    Value* none = b.CreateOr(b.CreateFCmpUEQ(ay, e.constant(x, 0)), b.CreateFCmpUEQ(ax, infinity(x)));
    return e.call(Intrinsic::copysign, b.CreateSelect(none, nan(x), r), x);
  }

  /// Of floats, both positive. In double every step is exact: quotients have at most 25 bits and divisors 24.
  Value* fmod_by_doubles(Value* ax, Value* ay) {
    llvm::Type* wide = b.getDoubleTy();
    Value* finite = b.CreateFCmpOLT(ax, infinity(ax));
    Value* some = b.CreateFCmpOGT(ay, e.constant(ay, 0));
    Value* divisor = b.CreateFPExt(ay, wide);
    std::vector<Value*> state{
        b.CreateSelect(b.CreateAnd(finite, some), b.CreateFPExt(ax, wide), llvm::ConstantFP::get(wide, 0.0))};
    Value*& r = state[0];
    auto exponent = [&](Value* v) { return b.CreateLShr(e.bits(v), 52); };
    loop(
        state, [&] { return b.CreateFCmpOGE(r, divisor); },
        [&] {
          Value* ahead = b.CreateSub(b.CreateSub(exponent(r), exponent(divisor)), e.i64(24));
          ahead = e.call(Intrinsic::smax, ahead, e.i64(0));
          Value* step = e.floats(b.CreateAdd(e.bits(divisor), b.CreateShl(ahead, 52)));
          Value* q = e.call(Intrinsic::trunc, b.CreateFDiv(r, step));
          r = e.fma(b.CreateFNeg(q), step, r);
        });
    return b.CreateFPTrunc(r, ax->getType());
  }

  /// Of doubles, both positive: long division of the mantissas, 11 bits at a time.
  Value* fmod_by_integers(Value* ax, Value* ay) {
    struct Parts {
      Value *mantissa, *exponent;  // value = mantissa * 2^(exponent - 1075), mantissa of 53 bits unless the value is 0
    };
    auto split = [&](Value* v) -> Parts {
      Value* bits = e.bits(v);
      Value* exponent = b.CreateLShr(bits, 52);
      Value* tiny = b.CreateICmpEQ(exponent, e.i64(0));
      Value* zeros = b.CreateBinaryIntrinsic(Intrinsic::ctlz, bits, b.getFalse());
      Value* shift = b.CreateAnd(b.CreateSub(zeros, e.i64(11)), 63);
      Value* normal = b.CreateOr(b.CreateAnd(bits, (std::uint64_t{1} << 52) - 1), std::uint64_t{1} << 52);
      return {b.CreateSelect(tiny, b.CreateShl(bits, shift), normal),
              b.CreateSelect(tiny, b.CreateSub(e.i64(1), shift), exponent)};
    };
    const Parts x = split(ax), y = split(ay);
    Value* divisor = e.call(Intrinsic::umax, y.mantissa, e.i64(1));
    Value* distance = b.CreateSub(x.exponent, y.exponent);
    std::vector<Value*> state{b.CreateURem(x.mantissa, divisor), distance};
    Value *&r = state[0], *&left = state[1];
    loop(
        state, [&] { return b.CreateAnd(b.CreateICmpSGT(left, e.i64(0)), b.CreateICmpNE(r, e.i64(0))); },
        [&] {
          Value* n = e.call(Intrinsic::smin, left, e.i64(11));
          r = b.CreateURem(b.CreateShl(r, n), divisor);
          left = b.CreateSub(left, n);
        });
    // Times a power of two that may itself be below every double: in two factors.
    Value* power = b.CreateSub(y.exponent, e.i64(1075));
    Value* half = b.CreateAShr(power, 1);
    auto two_to = [&](Value* n) { return e.floats(b.CreateShl(b.CreateAdd(n, e.i64(1023)), 52)); };
    Value* whole = b.CreateUIToFP(r, ax->getType());
    return b.CreateFMul(b.CreateFMul(whole, two_to(half)), two_to(b.CreateSub(power, half)));
  }

  Value* signs_differ(Value* x, Value* y) {
    return b.CreateXor(b.CreateFCmpOLT(x, e.constant(x, 0)), b.CreateFCmpOLT(y, e.constant(y, 0)));
  }
  Value* not_zero(Value* x) { return b.CreateFCmpUNE(x, e.constant(x, 0)); }

  Value* remainder(Value* x, Value* y) {
    Value* r = fmod(x, y);
    return b.CreateSelect(b.CreateAnd(not_zero(r), signs_differ(r, y)), b.CreateFAdd(r, y), r);
  }

  Value* floor_divide(Value* x, Value* y) {
    Value *r = fmod(x, y), *quotient = b.CreateFDiv(x, y);
    Value* q = b.CreateFDiv(b.CreateFSub(x, r), y);
    q = b.CreateSelect(b.CreateAnd(not_zero(r), signs_differ(r, y)), b.CreateFSub(q, e.constant(q, 1)), q);
    Value* floor = e.call(Intrinsic::floor, q);
    Value* up = b.CreateFCmpOGT(b.CreateFSub(q, floor), e.constant(q, 0.5));
    floor = b.CreateSelect(up, b.CreateFAdd(floor, e.constant(q, 1)), floor);
    Value* zero = e.call(Intrinsic::copysign, e.constant(q, 0), quotient);
    q = b.CreateSelect(b.CreateFCmpOEQ(q, e.constant(q, 0)), zero, floor);
    return b.CreateSelect(not_zero(y), q, quotient);
  }

  Value* integer_power(Value* x, Value* n) {
    std::vector<Value*> state{e.i64(1), x, e.call(Intrinsic::smax, n, e.i64(0))};
    Value *&r = state[0], *&square = state[1], *&left = state[2];
    loop(
        state, [&] { return b.CreateICmpNE(left, e.i64(0)); },
        [&] {
          Value* odd = b.CreateICmpNE(b.CreateAnd(left, 1), e.i64(0));
          r = b.CreateSelect(odd, b.CreateMul(r, square), r);
          square = b.CreateMul(square, square);
          left = b.CreateLShr(left, 1);
        });
    Value* odd = b.CreateICmpNE(b.CreateAnd(n, 1), e.i64(0));
    Value* of_minus_one = b.CreateSelect(odd, e.i64(-1), e.i64(1));
    Value* inverse = b.CreateSelect(b.CreateICmpEQ(x, e.i64(1)), e.i64(1),
                                    b.CreateSelect(b.CreateICmpEQ(x, e.i64(-1)), of_minus_one, e.i64(0)));
    return b.CreateSelect(b.CreateICmpSLT(n, e.i64(0)), inverse, r);
  }
};

using Make = Value* (Body::*)(Value*, Value*);
const std::map<std::string, Make>& functions() {
  static const auto& all = *new std::map<std::string, Make>{
      {"reprise_Fmod_f32", &Body::fmod},
      {"reprise_Fmod_f64", &Body::fmod},
      {"reprise_Remainder_f32", &Body::remainder},
      {"reprise_Remainder_f64", &Body::remainder},
      {"reprise_FloorDiv_f32", &Body::floor_divide},
      {"reprise_FloorDiv_f64", &Body::floor_divide},
      {"reprise_Pow_i64", &Body::integer_power},
  };
  return all;
}

}  // namespace

llvm::Function* library_function(EmitContext& cx, const std::string& name, llvm::Type* type, int arity) {
  if (llvm::Function* there = cx.module.getFunction(name)) return there;
  const auto it = functions().find(name);
  if (it == functions().end())
    fail(ErrorCode::Internal, "jit", {}, "no code is made for ", name, " in a module of its own");
  const std::vector<llvm::Type*> operands(static_cast<std::size_t>(arity), type);
  llvm::Function* f = llvm::Function::Create(llvm::FunctionType::get(type, operands, false),
                                             llvm::Function::InternalLinkage, name, cx.module);
  f->setDoesNotThrow();
  Emitter e(cx);
  e.b.SetInsertPoint(llvm::BasicBlock::Create(cx.context, "entry", f));
  Body body{e};
  e.b.CreateRet((body.*it->second)(f->getArg(0), f->getArg(1)));
  return f;
}

}  // namespace reprise::jit
