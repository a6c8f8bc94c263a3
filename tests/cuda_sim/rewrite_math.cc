#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>

#include "tests/cuda_sim/rewrite.h"

/// Arithmetic intrinsics. What the device approximates is computed exactly here (README.md).
namespace sim {

using namespace llvm;

namespace {

/// "ex2.approx.ftz.f" -> "ex2"; the variants differ in rounding and in subnormals alone.
StringRef stem(StringRef n) {
  return n.take_until([](char c) { return c == '.'; });
}

}  // namespace

bool Rewriter::math(CallBase* c, StringRef n) {
  IRBuilder<> b(c);
  auto arg = [&](unsigned i) { return c->getArgOperand(i); };
  Type* t = c->getType();
  const StringRef op = stem(n);
  // In float for every type but double; rounded back to the type at the end.
  auto widen = [&](Value* v) {
    Type* s = v->getType()->getScalarType();
    return s->isHalfTy() || s->isBFloatTy() ? b.CreateFPExt(v, v->getType()->getWithNewType(f32_)) : v;
  };
  auto narrow = [&](Value* v) {
    if (v->getType() == t) return v;
    return t->getScalarType()->isBFloatTy() ? round_to_bfloat(b, v) : b.CreateFPTrunc(v, t);
  };
  auto by_call = [&](StringRef function) {
    Value* x = widen(arg(0));
    if (x->getType()->isDoubleTy()) return replace(c, call(b, cat(function.str(), "_f64"), f64_, {x})), true;
    if (auto* v = dyn_cast<FixedVectorType>(x->getType())) {
      Value* r = PoisonValue::get(v);
      for (unsigned i = 0; i < v->getNumElements(); ++i)
        r = b.CreateInsertElement(r, call(b, function, f32_, {b.CreateExtractElement(x, i)}), i);
      return replace(c, narrow(r)), true;
    }
    return replace(c, narrow(call(b, function, f32_, {x}))), true;
  };
  auto saturated = [&](Value* v) {
    if (!n.contains(".sat")) return v;
    Type* ft = v->getType();
    return static_cast<Value*>(b.CreateMinNum(b.CreateMaxNum(v, ConstantFP::get(ft, 0)), ConstantFP::get(ft, 1)));
  };
  auto relu = [&](Value* v) {
    return n.contains(".relu") ? static_cast<Value*>(b.CreateMaxNum(v, ConstantFP::get(v->getType(), 0))) : v;
  };
  auto unary = [&](Intrinsic::ID id) { return replace(c, narrow(b.CreateUnaryIntrinsic(id, widen(arg(0))))), true; };

  for (const char* f : {"ex2", "lg2", "sin", "cos", "rsqrt", "tanh"})
    if (op == f) return by_call(cat("sim_", f));
  if (op == "rcp") return replace(c, b.CreateFDiv(ConstantFP::get(t, 1), arg(0))), true;
  if (op == "div" && t->isFloatingPointTy()) return replace(c, b.CreateFDiv(arg(0), arg(1))), true;
  if (op == "sqrt") return unary(Intrinsic::sqrt);
  if (op == "fabs") return unary(Intrinsic::fabs);
  if (op == "ceil") return unary(Intrinsic::ceil);
  if (op == "floor") return unary(Intrinsic::floor);
  if (op == "trunc") return unary(Intrinsic::trunc);
  if (op == "round") return unary(Intrinsic::roundeven);
  if (op == "saturate") {
    Value* v = arg(0);
    return replace(c, b.CreateMinNum(b.CreateMaxNum(v, ConstantFP::get(t, 0)), ConstantFP::get(t, 1))), true;
  }
  if (op == "fma") {
    Value *x = widen(arg(0)), *y = widen(arg(1)), *z = widen(arg(2));
    Value* r = b.CreateIntrinsic(Intrinsic::fma, {x->getType()}, {x, y, z});
    return replace(c, narrow(relu(saturated(r)))), true;
  }
  if (op == "fmin" || op == "fmax") {
    require(!n.contains("xorsign"), CUDA_ERROR_INVALID_PTX, "llvm.nvvm.", n.str());
    const bool nan = n.contains(".nan");
    const auto id = op == "fmin" ? (nan ? Intrinsic::minimum : Intrinsic::minnum)
                    : nan        ? Intrinsic::maximum
                                 : Intrinsic::maxnum;
    return replace(c, narrow(b.CreateBinaryIntrinsic(id, widen(arg(0)), widen(arg(1))))), true;
  }
  if (op == "add" && t->isFloatingPointTy()) return replace(c, saturated(b.CreateFAdd(arg(0), arg(1)))), true;
  if (op == "mul" && t->isFloatingPointTy()) return replace(c, saturated(b.CreateFMul(arg(0), arg(1)))), true;
  if (op == "mulhi") {
    const bool is_unsigned = n.starts_with("mulhi.u");
    const unsigned bits = t->getIntegerBitWidth();
    Type* wide = Type::getIntNTy(c_, 2 * bits);
    auto extend = [&](Value* v) { return is_unsigned ? b.CreateZExt(v, wide) : b.CreateSExt(v, wide); };
    return replace(c, b.CreateTrunc(b.CreateLShr(b.CreateMul(extend(arg(0)), extend(arg(1))), bits), t)), true;
  }
  // Conversions. The first of two operands goes to the upper half.
  if (n.starts_with("f2bf16.rn") || n.starts_with("f2bf16.rz")) {
    require(n.starts_with("f2bf16.rn"), CUDA_ERROR_INVALID_PTX, "llvm.nvvm.", n.str());
    return replace(c, round_to_bfloat(b, relu(arg(0)))), true;
  }
  if (n.starts_with("ff2bf16x2.rn") || n.starts_with("ff2f16x2.rn")) {
    Value* v = PoisonValue::get(FixedVectorType::get(f32_, 2));
    v = relu(b.CreateInsertElement(b.CreateInsertElement(v, arg(1), std::uint64_t{0}), arg(0), std::uint64_t{1}));
    Value* r =
        op == "ff2f16x2" ? b.CreateFPTrunc(v, FixedVectorType::get(Type::getHalfTy(c_), 2)) : round_to_bfloat(b, v);
    return replace(c, b.CreateBitCast(r, t)), true;
  }
  if (n.starts_with("ff.to.e4m3x2.rn") || n.starts_with("ff.to.e5m2x2.rn"))
    return replace(c, call(b, n.starts_with("ff.to.e4m3") ? "sim_to_e4m3x2" : "sim_to_e5m2x2", i16_,
                           {relu(arg(0)), relu(arg(1))})),
           true;
  if (n.starts_with("e4m3x2.to.f16x2") || n.starts_with("e5m2x2.to.f16x2")) {
    const char* f = n.starts_with("e4m3") ? "sim_from_e4m3" : "sim_from_e5m2";
    Value* both = b.CreateZExt(arg(0), i32_);
    Value* v = PoisonValue::get(FixedVectorType::get(f32_, 2));
    v = b.CreateInsertElement(v, call(b, f, f32_, {b.CreateAnd(both, 255)}), std::uint64_t{0});
    v = b.CreateInsertElement(v, call(b, f, f32_, {b.CreateLShr(both, 8)}), std::uint64_t{1});
    return replace(c, b.CreateBitCast(b.CreateFPTrunc(relu(v), FixedVectorType::get(Type::getHalfTy(c_), 2)), t)), true;
  }
  if (n.starts_with("bitcast.")) return replace(c, b.CreateBitCast(arg(0), t)), true;
  if (op == "prmt") return replace(c, call(b, "sim_prmt", i32_, {arg(0), arg(1), arg(2)})), true;
  // float to integer: f2i.rn, f2ui.rz.ftz, d2ll.rm ...; integer to float: i2f.rn, ull2d.rz ...
  if (n.starts_with("f2") || n.starts_with("d2")) {
    StringRef to = op.drop_front(2);
    if (to != "i" && to != "ui" && to != "ll" && to != "ull") return false;
    const auto id = n.contains(".rn")   ? Intrinsic::roundeven
                    : n.contains(".rm") ? Intrinsic::floor
                    : n.contains(".rp") ? Intrinsic::ceil
                                        : Intrinsic::trunc;
    Value* v = b.CreateUnaryIntrinsic(id, arg(0));
    return replace(c, b.CreateIntrinsic(to.starts_with("u") ? Intrinsic::fptoui_sat : Intrinsic::fptosi_sat,
                                        {t, v->getType()}, {v})),
           true;
  }
  if ((op.ends_with("2f") || op.ends_with("2d")) && t->isFloatingPointTy() && arg(0)->getType()->isIntegerTy())
    return replace(c, op.starts_with("u") ? b.CreateUIToFP(arg(0), t) : b.CreateSIToFP(arg(0), t)), true;
  return false;
}

}  // namespace sim
