#include "tests/gpu_loop/kernels.h"

#include "jit/gpu/loop/compile.h"

namespace reprise::test {

using kernels::BodyNode;
using kernels::LoopKernel;
using kernels::ReduceOp;
using kernels::ScalarOp;

namespace {

/// Bools have no arithmetic but this (and comparisons).
bool of_bools(ScalarOp o) {
  switch (o) {
    case ScalarOp::Add:
    case ScalarOp::Sub:
    case ScalarOp::Mul:
    case ScalarOp::Max:
    case ScalarOp::Min:
    case ScalarOp::BitAnd:
    case ScalarOp::BitOr:
    case ScalarOp::BitXor:
    case ScalarOp::BitNot:
    case ScalarOp::Where: return true;
    default: return (o >= ScalarOp::Eq && o <= ScalarOp::Xor) || o == ScalarOp::Not;
  }
}

/// Operations from one number to another that there is code for.
LoopKernel operations(DType t, int from, int to) {
  device::CodeTarget target;
  target.arch = "sm_80";
  KernelBuilder b({7, 24}, 2);
  const Ints strides{24, 1};
  const std::uint32_t x = b.input(t, strides), y = b.input(t, strides), z = b.input(t, {0, 1});
  const std::uint32_t condition = b.input(DType::Bool, {1, 0});
  for (int o = from; o < to; ++o) {
    const ScalarOp op = static_cast<ScalarOp>(o);
    if (t == DType::Bool && !of_bools(op)) continue;
    const int arity = kernels::scalar_op_arity(op);
    for (const DType result : {t, DType::Bool}) {
      KernelBuilder attempt = b;
      const std::uint32_t v = op == ScalarOp::Where
                                  ? attempt.op(op, t, condition, x, y)
                                  : attempt.op(op, result, x, arity > 1 ? y : ~0u, arity > 2 ? z : ~0u);
      attempt.output(op == ScalarOp::Where ? t : result, v, strides);
      try {
        kernels::verify(attempt.k);
      } catch (const Error&) {
        continue;
      }
      if (jit::compile_gpu(attempt.k, target)) b = attempt;
      break;
    }
  }
  return b.k;
}

}  // namespace

std::vector<std::pair<std::string, LoopKernel>> operations() {
  std::vector<std::pair<std::string, LoopKernel>> out;
  constexpr int end = static_cast<int>(ScalarOp::Fma) + 1, group = 8;
  for (const DType t :
       {DType::Float32, DType::Float64, DType::Int8, DType::UInt8, DType::Int32, DType::Int64, DType::Bool})
    for (int from = 0; from < end; from += group) {
      LoopKernel k = operations(t, from, std::min(from + group, end));
      if (k.buffers.size() > 4)
        out.emplace_back(std::string(dtype_name(t)) + " from operation " + std::to_string(from), std::move(k));
    }
  return out;
}

LoopKernel casts(DType from, const Ints& extents, const Ints& strides) {
  KernelBuilder b(extents, static_cast<int>(extents.size()));
  const std::uint32_t x = b.input(from, strides);
  for (const DType to : kLoopDTypes) b.output(to, b.cast(to, x), strides);
  return b.k;
}

LoopKernel softmax(DType t, bool rows, std::int64_t n, std::int64_t m) {
  KernelBuilder b({n, m}, 1);
  const Ints strides = rows ? Ints{m, 1} : Ints{1, n};
  const std::uint32_t x = b.input(t, strides);
  const std::uint32_t top = b.reduce(ReduceOp::Max, DType::Float32, x);
  const std::uint32_t e = b.op(ScalarOp::Exp, DType::Float32, b.op(ScalarOp::Sub, DType::Float32, x, top));
  const std::uint32_t sum = b.reduce(ReduceOp::Sum, DType::Float32, e);
  b.output(t, b.op(ScalarOp::Div, DType::Float32, e, sum), strides);
  return b.k;
}

LoopKernel layer_norm(DType t, bool rows, std::int64_t n, std::int64_t m) {
  KernelBuilder b({n, 4, m}, 1);
  const Ints strides = rows ? Ints{4 * m, m, 1} : Ints{1, n, 4 * n};
  const DType f = DType::Float32;
  auto number = [&](double v) {
    BodyNode n{BodyNode::Kind::Const, f};
    n.fimm = v;
    return b.add(n);
  };
  const std::uint32_t x = b.input(t, strides), w = b.input(t, {0, m, 1}), bias = b.input(t, {0, m, 1});
  const std::uint32_t inverse = number(1.0 / static_cast<double>(4 * m));
  const std::uint32_t mean = b.op(ScalarOp::Mul, f, b.reduce(ReduceOp::Sum, f, x), inverse);
  const std::uint32_t centred = b.op(ScalarOp::Sub, f, x, mean);
  const std::uint32_t square = b.op(ScalarOp::Mul, f, centred, centred);
  const std::uint32_t variance = b.op(ScalarOp::Mul, f, b.reduce(ReduceOp::Sum, f, square), inverse);
  const std::uint32_t scale = b.op(ScalarOp::Rsqrt, f, b.op(ScalarOp::Add, f, variance, number(1e-5)));
  b.output(t, b.op(ScalarOp::Fma, f, b.op(ScalarOp::Mul, f, centred, scale), w, bias), strides);
  b.output(f, mean, {1, 0, 0});
  return b.k;
}

LoopKernel reduction(ReduceOp o, DType t, bool rows, std::int64_t n, std::int64_t m) {
  KernelBuilder b({n, m}, 1);
  const DType r = is_low_precision(t) ? DType::Float32 : t;
  const std::uint32_t x = b.input(t, rows ? Ints{m, 1} : Ints{1, n});
  b.output(r, b.reduce(o, r, x), {1, 0});
  return b.k;
}

}  // namespace reprise::test
