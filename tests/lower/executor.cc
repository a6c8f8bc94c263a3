#include "executor.h"

#include <gtest/gtest.h>

#include <cstring>

#include "guards/expr.h"
#include "jit/cpu/loop/compile.h"
#include "jit/cpu/micro/compile.h"
#include "kernels/plan/temp_plan.h"

namespace reprise::kernels {

using guards::Expr;
using guards::ExprKind;

namespace {

std::int64_t evaluate(const Expr* e, const Numbers& n) {
  auto arg = [&](std::size_t i) { return evaluate(e->args()[i], n); };
  auto fold = [&](auto f) {
    std::int64_t r = arg(0);
    for (std::size_t i = 1; i < e->args().size(); ++i) r = f(r, arg(i));
    return r;
  };
  switch (e->kind()) {
    case ExprKind::Const: return e->value();
    case ExprKind::Symbol: return n.at(e->symbol());
    case ExprKind::Add: return fold([](auto a, auto b) { return a + b; });
    case ExprKind::Mul: return fold([](auto a, auto b) { return a * b; });
    case ExprKind::Div: return arg(1) ? arg(0) / arg(1) : 0;
    case ExprKind::Mod: return arg(1) ? arg(0) % arg(1) : 0;
    case ExprKind::Min: return fold([](auto a, auto b) { return std::min(a, b); });
    case ExprKind::Max: return fold([](auto a, auto b) { return std::max(a, b); });
    case ExprKind::Eq: return arg(0) == arg(1);
    case ExprKind::Ne: return arg(0) != arg(1);
    case ExprKind::Lt: return arg(0) < arg(1);
    case ExprKind::Le: return arg(0) <= arg(1);
    case ExprKind::And: return fold([](auto a, auto b) { return a && b; });
    case ExprKind::Or: return fold([](auto a, auto b) { return a || b; });
    case ExprKind::Not: return !arg(0);
    case ExprKind::Wrap: return arg(0);
    case ExprKind::Fits: return 1;
    default: break;  // of doubles: no kernel that is run here has any
  }
  return 0;
}

constexpr std::size_t kGuard = 64;
constexpr unsigned char kGuardByte = 0xA7;

struct Memory {
  std::vector<unsigned char> bytes;
  char* data() { return reinterpret_cast<char*>(bytes.data() + kGuard); }
  void allocate(std::int64_t n, unsigned char poison) {
    bytes.assign(static_cast<std::size_t>(n) + 2 * kGuard, kGuardByte);
    std::memset(data(), poison, static_cast<std::size_t>(n));
  }
  bool intact() const {
    for (std::size_t i = 0; i < kGuard; ++i) {
      if (bytes[i] != kGuardByte || bytes[bytes.size() - 1 - i] != kGuardByte) return false;
    }
    return true;
  }
};

TensorView view_of(char* base, DType t, const Layout& l, const Numbers& n) {
  TensorView v;
  v.dtype = t;
  v.rank = l.dim();
  for (int d = 0; d < v.rank; ++d) v.sizes[d] = number(l.sizes[d], n), v.strides[d] = number(l.strides[d], n);
  v.data = base + number(l.offset, n) * item_size(t);
  return v;
}

double get(DType t, const char* p) {
  switch (t) {
    case DType::Float32: {
      float f;
      std::memcpy(&f, p, 4);
      return f;
    }
    case DType::Float64: {
      double f;
      std::memcpy(&f, p, 8);
      return f;
    }
    case DType::Float16: {
      Half h;
      std::memcpy(&h, p, 2);
      return static_cast<float>(h);
    }
    case DType::BFloat16: {
      BFloat16 h;
      std::memcpy(&h, p, 2);
      return static_cast<float>(h);
    }
    case DType::Float8E4M3FN: {
      Float8E4M3FN h;
      std::memcpy(&h, p, 1);
      return static_cast<float>(h);
    }
    case DType::Float8E5M2: {
      Float8E5M2 h;
      std::memcpy(&h, p, 1);
      return static_cast<float>(h);
    }
    case DType::Int8: return *reinterpret_cast<const std::int8_t*>(p);
    case DType::UInt8: return *reinterpret_cast<const std::uint8_t*>(p);
    case DType::Int32: {
      std::int32_t i;
      std::memcpy(&i, p, 4);
      return i;
    }
    case DType::Int64: {
      std::int64_t i;
      std::memcpy(&i, p, 8);
      return static_cast<double>(i);
    }
    case DType::Bool: return *p != 0;
  }
  return 0;
}

void put(DType t, char* p, double v) {
  switch (t) {
    case DType::Float32: {
      float f = static_cast<float>(v);
      std::memcpy(p, &f, 4);
      break;
    }
    case DType::Float64: std::memcpy(p, &v, 8); break;
    case DType::Float16: {
      Half h(static_cast<float>(v));
      std::memcpy(p, &h, 2);
      break;
    }
    case DType::BFloat16: {
      BFloat16 h(static_cast<float>(v));
      std::memcpy(p, &h, 2);
      break;
    }
    case DType::Float8E4M3FN: {
      Float8E4M3FN h(static_cast<float>(v));
      std::memcpy(p, &h, 1);
      break;
    }
    case DType::Float8E5M2: {
      Float8E5M2 h(static_cast<float>(v));
      std::memcpy(p, &h, 1);
      break;
    }
    case DType::Int8: *p = static_cast<char>(v); break;
    case DType::UInt8: *p = static_cast<char>(static_cast<std::uint8_t>(v)); break;
    case DType::Int32: {
      std::int32_t i = static_cast<std::int32_t>(v);
      std::memcpy(p, &i, 4);
      break;
    }
    case DType::Int64: {
      std::int64_t i = static_cast<std::int64_t>(v);
      std::memcpy(p, &i, 8);
      break;
    }
    case DType::Bool: *p = v != 0; break;
  }
}

template <class F>
void each_element(const TensorView& v, F&& f) {
  std::int64_t count = v.numel();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i, at = 0;
    for (int d = v.rank - 1; d >= 0; --d) at += rest % v.sizes[d] * v.strides[d], rest /= v.sizes[d];
    f(v.data + at * item_size(v.dtype));
  }
}

Elements read(const TensorView& v) {
  Elements out;
  each_element(v, [&](const char* p) { out.push_back(get(v.dtype, p)); });
  return out;
}

void write(const TensorView& v, const Elements& from) {
  std::size_t i = 0;
  ASSERT_EQ(static_cast<std::size_t>(v.numel()), from.size());
  each_element(v, [&](char* p) { put(v.dtype, p, from[i++]); });
}

class Run {
 public:
  Run(const graph::Graph& g, const Lowered& l, const Numbers& n, bool jit)
      : g_(g), l_(l), n_(n), jit_(jit), memory_(l.buffers.size()), at_(l.buffers.size()) {}

  Outcome run(const std::vector<Elements>& inputs) {
    Outcome out;
    allocate(inputs);
    auto run_one = [&](const Launch& launch) {
      if (const auto* loop = std::get_if<LoopLaunch>(&launch.what)) return run_loop(*loop), std::string();
      return run_native(std::get<NativeLaunch>(launch.what));
    };
    const std::size_t n = l_.launches.size() - l_.undo.size();
    for (std::size_t i = 0; i < n && out.fault.empty(); ++i) {
      out.fault = run_one(l_.launches[i]);
      for (std::size_t k = l_.undo.size(); k-- > 0 && !out.fault.empty();)
        if (l_.undo[k] < i) run_one(l_.launches[n + k]);
    }
    if (out.fault.empty()) epilogue();
    for (std::uint32_t i = 0; i < g_.inputs.size(); ++i) out.inputs.push_back(read(input(i)));
    for (std::size_t o = 0; out.fault.empty() && o < l_.outputs.size(); ++o) {
      const graph::OutputSpec& spec = g_.outputs[o];
      if (spec.kind == graph::OutputSpec::Kind::NewValueOfInput) {
        out.outputs.push_back(out.inputs[spec.source]);
        continue;
      }
      std::size_t b = static_cast<std::size_t>(l_.outputs[o].buffer);
      DType t = spec.value ? g_.meta(spec.value).dtype : l_.buffers[b].dtype;
      out.outputs.push_back(read(view_of(at_[b], t, l_.outputs[o].layout, n_)));
    }
    for (const Memory& m : memory_) EXPECT_TRUE(m.bytes.empty() || m.intact()) << "bytes around a buffer were written";
    EXPECT_TRUE(temps_.bytes.empty() || temps_.intact()) << "bytes around the temps were written";
    return out;
  }

 private:
  TensorView input(std::uint32_t i) {
    const TensorMeta& m = g_.meta(g_.inputs[i].value);
    Layout layout = m.layout;
    layout.offset = 0;
    return view_of(at_[input_buffer_[i]], m.dtype, layout, n_);
  }

  void allocate(const std::vector<Elements>& inputs) {
    input_buffer_.resize(g_.inputs.size());
    for (std::size_t b = 0; b < l_.buffers.size(); ++b) {
      const Buffer& buffer = l_.buffers[b];
      if (buffer.kind == Buffer::Kind::Temp) continue;
      std::int64_t bytes = number(buffer.bytes, n_);
      if (buffer.kind == Buffer::Kind::Input) {
        input_buffer_[buffer.index] = b;
        const Layout& layout = g_.meta(g_.inputs[buffer.index].value).layout;
        std::int64_t last = 1;
        for (std::size_t d = 0; d < layout.sizes.size(); ++d)
          last += std::max<std::int64_t>(number(layout.sizes[d], n_) - 1, 0) * number(layout.strides[d], n_);
        bytes = last * item_size(buffer.dtype);
      }
      memory_[b].allocate(bytes, 0xEE);
      at_[b] = memory_[b].data();
    }
    for (std::uint32_t i = 0; i < g_.inputs.size(); ++i) write(input(i), inputs[i]);
    std::vector<TempLife> lives = temp_lives(l_);
    std::vector<std::int64_t> bytes;
    for (const TempLife& t : lives) bytes.push_back(number(l_.buffers[t.buffer].bytes, n_));
    TempPlan plan = plan_offsets(lives, bytes);
    temps_.allocate(plan.total, 0xDD);
    for (std::size_t i = 0; i < lives.size(); ++i) at_[lives[i].buffer] = temps_.data() + plan.offsets[i];
  }

  void run_loop(const LoopLaunch& loop) {
    verify(loop.kernel);
    std::vector<void*> buffers;
    for (std::uint32_t b : loop.buffers) buffers.push_back(at_[b]);
    std::vector<std::int64_t> params;
    for (Int p : runtime_params(loop.kernel)) params.push_back(number(p, n_));
    if (!jit_) return interpret(loop.kernel, buffers.data(), params.data());
    jit::CodePtr code = jit::compile(loop.kernel);
    std::int64_t tasks = number(task_count(loop.kernel), n_), half = tasks / 2;
    code->loop()(buffers.data(), params.data(), half, tasks);
    code->loop()(buffers.data(), params.data(), 0, half);
  }

  std::string run_native(const NativeLaunch& native) {
    std::vector<TensorView> tensors;
    for (const Operand& o : native.operands) tensors.push_back(view_of(at_[o.buffer], o.dtype, o.layout, n_));
    std::vector<std::int64_t> ints;
    for (Int i : native.ints) ints.push_back(number(i, n_));
    std::vector<Number> numbers;
    for (const Scalar& s : native.numbers)
      numbers.push_back({s.is_float(), s.to_double(), s.is_float() ? 0 : number(s.to_int(), n_)});
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (!numbers[i].is_float) numbers[i].f = static_cast<double>(numbers[i].i);
    }
    std::vector<jit::CodePtr> code;
    std::vector<void*> micro;
    for (const KernelCode& spec : native.micro) micro.push_back(code.emplace_back(jit::compile(spec))->entry);
    KernelFault fault;
    NativeArgs args{tensors.data(),        native.args.data(),
                    ints.data(),           numbers.data(),
                    native.strings.data(), static_cast<std::uint32_t>(native.args.size()),
                    native.first_result,   native.n_results,
                    micro.data(),          &fault};
    native.fn(args);
    return fault.failed ? fault.message : "";
  }

  void epilogue() {
    std::vector<std::pair<TensorView, Elements>> writes;
    for (std::size_t o = 0; o < l_.outputs.size(); ++o) {
      const graph::OutputSpec& spec = g_.outputs[o];
      const Lowered::Out& out = l_.outputs[o];
      if (spec.kind != graph::OutputSpec::Kind::NewValueOfInput || out.in_place) continue;
      DType t = g_.meta(spec.value).dtype;
      writes.push_back({view_of(at_[input_buffer_[spec.source]], t, out.target, n_),
                        read(view_of(at_[static_cast<std::size_t>(out.buffer)], t, out.layout, n_))});
    }
    for (auto& [to, from] : writes) write(to, from);
  }

  const graph::Graph& g_;
  const Lowered& l_;
  const Numbers& n_;
  bool jit_;
  std::vector<Memory> memory_;
  Memory temps_;
  std::vector<char*> at_;
  std::vector<std::size_t> input_buffer_;
};

}  // namespace

std::int64_t number(Int i, const Numbers& n) { return i.is_symbolic() ? evaluate(i.expr(), n) : i.hint(); }

Outcome execute(const graph::Graph& g, const Lowered& l, const Numbers& n, const std::vector<Elements>& inputs,
                bool jit) {
  return Run(g, l, n, jit).run(inputs);
}

std::int64_t pool_bytes(const Lowered& l, const Numbers& n) {
  const std::vector<TempLife> lives = temp_lives(l);
  std::vector<std::int64_t> bytes;
  for (const TempLife& t : lives) bytes.push_back(number(l.buffers[t.buffer].bytes, n));
  return plan_offsets(lives, bytes, 1).total;
}

}  // namespace reprise::kernels
