#include "jit/gpu/loop/rounded.h"

#include <llvm/IR/IntrinsicsNVPTX.h>

#include <utility>

#include "jit/gpu/loop/emitter.h"

namespace reprise::jit {

using kernels::BodyNode;
using kernels::ReduceOp;
using kernels::ScalarOp;
using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

namespace {

/// Is the relative error of a result no more than a small multiple of its operands' (of a sum's: of the larger one's)?
bool keeps_error(ScalarOp o) {
  switch (o) {
    case ScalarOp::Neg:
    case ScalarOp::Abs:
    case ScalarOp::Sqrt:
    case ScalarOp::Rsqrt:
    case ScalarOp::Reciprocal:
    case ScalarOp::Sigmoid:
    case ScalarOp::Tanh:
    case ScalarOp::Erf:
    case ScalarOp::Add:
    case ScalarOp::Mul:
    case ScalarOp::Div:
    case ScalarOp::Max:
    case ScalarOp::Min:
    case ScalarOp::Where:
    case ScalarOp::Fma: return true;
    default: return false;
  }
}

}  // namespace

std::vector<bool> rounded_to_16_bits(const kernels::LoopKernel& k) {
  std::vector<bool> rounded(k.body.size());
  for (std::size_t i = 0; i < k.body.size(); ++i) rounded[i] = k.body[i].dtype == DType::Float32;
  for (std::size_t i = k.body.size(); i-- > 0;) {
    const BodyNode& n = k.body[i];
    auto asks_for_more = [&](std::uint32_t operand) {
      if (operand != ~0u) rounded[operand] = false;
    };
    if (n.access != ~0u)
      for (const kernels::Access::Gather& g : k.accesses[n.access].gathers) asks_for_more(g.node);
    bool passes = false;
    switch (n.kind) {
      case BodyNode::Kind::Store:
      case BodyNode::Kind::Cast: passes = is_low_precision(n.dtype); break;
      case BodyNode::Kind::Op: passes = rounded[i] && keeps_error(n.op); break;
      case BodyNode::Kind::Reduce:
        passes = rounded[i] && (n.reduce == ReduceOp::Sum || n.reduce == ReduceOp::Max || n.reduce == ReduceOp::Min);
        break;
      default: break;
    }
    if (!passes) asks_for_more(n.a), asks_for_more(n.b), asks_for_more(n.c);
    else if (n.kind == BodyNode::Kind::Store) asks_for_more(n.b);
    else if (n.kind == BodyNode::Kind::Op && n.op == ScalarOp::Where) asks_for_more(n.a);
  }
  return rounded;
}

namespace {
bool is_one(const BodyNode& n) { return n.kind == BodyNode::Kind::Const && is_floating(n.dtype) && n.fimm == 1; }
bool is_op(const BodyNode& n, ScalarOp o) { return n.kind == BodyNode::Kind::Op && n.op == o; }
}  // namespace

std::vector<bool> known_beside_one(const kernels::LoopKernel& k) {
  std::vector<bool> beside(k.body.size(), true);
  for (const BodyNode& n : k.body)
    for (std::uint32_t o : {n.a, n.b, n.c})
      if (o != ~0u && !(is_op(n, ScalarOp::Add) && (is_one(k.body[n.a]) || is_one(k.body[n.b])))) beside[o] = false;
  for (const kernels::Access& a : k.accesses)
    for (const kernels::Access::Gather& g : a.gathers) beside[g.node] = false;
  return beside;
}

namespace {

/// Of scalars; see Note [Values of 16 bits].
class RoundedMath {
 public:
  explicit RoundedMath(GpuEmitter& emitter) : e(emitter), b(emitter.b) {}
  Value* exp2(Value* x) { return b.CreateIntrinsic(Intrinsic::nvvm_ex2_approx_ftz_f, {}, {x}); }
  Value* exp(Value* x) { return exp2(b.CreateFMul(x, c(kLog2e))); }
  Value* sigmoid(Value* x) { return inverse(b.CreateFAdd(exp2(b.CreateFMul(x, c(-kLog2e))), c(1))); }
  /// 1 - 2 / (e^2x + 1), which loses digits near 0.
  Value* tanh(Value* x) {
    Value* far = e.fma(inverse(b.CreateFAdd(exp2(b.CreateFMul(x, c(2 * kLog2e))), c(1))), c(-2), c(1));
    Value* near = e.fma(b.CreateFMul(x, c(-1.0 / 3)), b.CreateFMul(x, x), x);
    return b.CreateSelect(b.CreateFCmpOLT(e.call(Intrinsic::fabs, x), c(0.06)), near, far);
  }
  /// 1 - 2^-q(|x|), q of degree 6 without a constant: of erfc to 2^-14.5 up to 4, beyond which erf is 1 (coefficients:
  /// scripts/math_coefficients.py).
  Value* erf(Value* x, bool beside_one) {
    Value* magnitude = e.call(Intrinsic::fabs, x);
    Value* a = e.gpu.sm >= 80 ? e.call(Intrinsic::minimum, magnitude, c(4))
                              : b.CreateSelect(b.CreateFCmpOGT(magnitude, c(4)), c(4), magnitude);
    Value* p = c(0.0002150424992487742);
    for (double of :
         {-0.00382791625062122, 0.03045256067211035, -0.14828293180327476, -0.9191400251373266, -1.627838450826898})
      p = e.fma(p, a, c(of));
    Value* far = e.call(Intrinsic::copysign, b.CreateFSub(c(1), exp2(b.CreateFMul(p, a))), x);
    if (beside_one) return far;
    return b.CreateSelect(b.CreateFCmpOLT(magnitude, c(0x1p-7)), b.CreateFMul(x, c(1.1283791670955126)), far);
  }

 private:
  static constexpr double kLog2e = 1.44269504088896340736;
  Value* c(double v) { return llvm::ConstantFP::get(b.getFloatTy(), v); }
  Value* inverse(Value* x) { return b.CreateIntrinsic(Intrinsic::nvvm_rcp_approx_ftz_f, {}, {x}); }
  GpuEmitter& e;
  llvm::IRBuilder<>& b;
};

}  // namespace

Value* GpuLoopEmitter::compute_rounded(std::uint32_t i, int j) {
  const BodyNode& n = k_.body[i];
  if (kernels::register_dtype(k_.body[n.a].dtype) != DType::Float32) return nullptr;
  RoundedMath m(e_);
  Value* x = operand(n.a, j);
  switch (n.op) {
    case ScalarOp::Exp: return m.exp(x);
    case ScalarOp::Exp2: return m.exp2(x);
    case ScalarOp::Sigmoid: return m.sigmoid(x);
    case ScalarOp::Tanh: return m.tanh(x);
    case ScalarOp::Erf: return m.erf(x, near_one_[i]);
    case ScalarOp::Add:
    case ScalarOp::Sub: {
      // Of a product and another value, once rounded. Which of two products is the one does not depend on where this is
      // computed.
      const bool first = is_op(k_.body[n.a], ScalarOp::Mul);
      if (!first && !is_op(k_.body[n.b], ScalarOp::Mul)) return nullptr;
      const BodyNode& product = k_.body[first ? n.a : n.b];
      value(product.a), value(product.b);
      Value *p = operand(product.a, j), *q = operand(product.b, j), *rest = operand(first ? n.b : n.a, j);
      if (n.op == ScalarOp::Sub) (first ? rest : p) = b_.CreateFNeg(first ? rest : p);
      return e_.fma(p, q, rest);
    }
    case ScalarOp::Mul: {
      // (y + 1) x as y x + x.
      for (const auto& [sum, factor] : {std::pair(n.b, n.a), std::pair(n.a, n.b)}) {
        const BodyNode& s = k_.body[sum];
        if (!is_op(s, ScalarOp::Add) || !rounded_[sum] || (!is_one(k_.body[s.a]) && !is_one(k_.body[s.b]))) continue;
        const std::uint32_t y = is_one(k_.body[s.a]) ? s.b : s.a;
        value(y);
        return e_.fma(operand(y, j), operand(factor, j), operand(factor, j));
      }
      return nullptr;
    }
    default: return nullptr;
  }
}

Value* GpuLoopEmitter::add_product(std::uint32_t sum, std::uint32_t of, int j, Value* acc) {
  const BodyNode& n = k_.body[of];
  if (!rounded_[sum] || k_.body[sum].reduce != ReduceOp::Sum || !is_op(n, ScalarOp::Mul) || n.dtype != DType::Float32)
    return nullptr;
  value(n.a), value(n.b);
  return e_.fma(operand(n.a, j), operand(n.b, j), acc);
}

}  // namespace reprise::jit
