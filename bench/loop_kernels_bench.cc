// Loop kernels against a copy that moves bytes the same way, and what compiling one costs.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "jit/cpu/loop/compile.h"
#include "kernels/loop/body_builder.h"

namespace reprise {
namespace {

using kernels::BodyBuilder;
using kernels::LoopKernel;
using kernels::ReduceOp;
using S = kernels::ScalarOp;
constexpr DType kF = DType::Float32;

LoopKernel loop(Ints extents, int kept) {
  LoopKernel k;
  k.extents = std::move(extents), k.n_kept = kept;
  return k;
}

LoopKernel copy(std::int64_t n) {
  LoopKernel k = loop({n}, 1);
  BodyBuilder b(k);
  auto x = b.load({b.buffer(kF), {1}, 0, {}});
  b.store({b.buffer(kF, true), {1}, 0, {}}, x);
  return k;
}

LoopKernel add(std::int64_t n) {
  LoopKernel k = loop({n}, 1);
  BodyBuilder b(k);
  auto x = b.load({b.buffer(kF), {1}, 0, {}}), y = b.load({b.buffer(kF), {1}, 0, {}});
  b.store({b.buffer(kF, true), {1}, 0, {}}, b.op(S::Add, x, y));
  return k;
}

/// Ten operations on three inputs; with `functions`, two of them are tanh and exp. `salt` makes it a kernel of its own.
LoopKernel chain(std::int64_t n, bool functions, double salt = 0) {
  LoopKernel k = loop({n}, 1);
  BodyBuilder b(k);
  auto x = b.load({b.buffer(kF), {1}, 0, {}}), y = b.load({b.buffer(kF), {1}, 0, {}}),
       w = b.load({b.buffer(kF), {1}, 0, {}});
  auto c = [&](double v) { return b.constant(v, kF); };
  auto v = b.op(S::Add, b.op(S::Mul, x, y), w);
  v = functions ? b.op(S::Tanh, v) : b.op(S::Sub, v, y);
  v = b.op(S::Sub, b.op(S::Mul, v, c(0.5 + salt)), x);
  v = functions ? b.op(S::Exp, v) : b.op(S::Mul, v, x);
  v = b.op(S::Max, b.op(S::Add, v, c(1)), y);
  v = b.op(S::Min, b.op(S::Mul, v, w), c(10));
  b.store({b.buffer(kF, true), {1}, 0, {}}, v);
  return k;
}

LoopKernel softmax(std::int64_t rows, std::int64_t cols) {
  LoopKernel k = loop({rows, cols}, 1);
  BodyBuilder b(k);
  auto x = b.load({b.buffer(kF), {cols, 1}, 0, {}});
  auto e = b.op(S::Exp, b.op(S::Sub, x, b.reduce(ReduceOp::Max, x)));
  b.store({b.buffer(kF, true), {cols, 1}, 0, {}}, b.op(S::Div, e, b.reduce(ReduceOp::Sum, e)));
  return k;
}

LoopKernel rms_norm(std::int64_t rows, std::int64_t cols) {
  LoopKernel k = loop({rows, cols}, 1);
  BodyBuilder b(k);
  auto x = b.load({b.buffer(kF), {cols, 1}, 0, {}}), w = b.load({b.buffer(kF), {0, 1}, 0, {}});
  auto mean = b.op(S::Div, b.reduce(ReduceOp::Sum, b.op(S::Mul, x, x)), b.constant(static_cast<double>(cols), kF));
  auto scale = b.op(S::Rsqrt, b.op(S::Add, mean, b.constant(1e-5, kF)));
  b.store({b.buffer(kF, true), {cols, 1}, 0, {}}, b.op(S::Mul, b.op(S::Mul, x, scale), w));
  return k;
}

LoopKernel transpose(std::int64_t rows, std::int64_t cols) {
  LoopKernel k = loop({rows, cols}, 2);
  BodyBuilder b(k);
  auto x = b.load({b.buffer(kF), {1, rows}, 0, {}});
  b.store({b.buffer(kF, true), {cols, 1}, 0, {}}, x);
  return k;
}

/// Runs `k` on buffers of `elements` floats; `bytes` are those that must move.
void run(benchmark::State& state, const LoopKernel& k, std::int64_t elements, std::int64_t bytes) {
  const jit::CodePtr code = jit::compile(k);
  std::vector<std::int64_t> params;
  for (Int v : kernels::runtime_params(k)) params.push_back(v.hint());
  std::vector<std::vector<float>> memory(k.buffers.size());
  std::vector<void*> buffers;
  for (auto& m : memory) {
    m.assign(static_cast<std::size_t>(elements), 0.25f);
    buffers.push_back(m.data());
  }
  const std::int64_t tasks = kernels::task_count(k).hint();
  for (auto _ : state) {
    code->loop()(buffers.data(), params.data(), 0, tasks);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes);
}

constexpr std::int64_t kLarge = 1 << 24;
void BM_Copy(benchmark::State& s) { run(s, copy(s.range(0)), s.range(0), 8 * s.range(0)); }
void BM_Add(benchmark::State& s) { run(s, add(s.range(0)), s.range(0), 12 * s.range(0)); }
void BM_CheapChain(benchmark::State& s) { run(s, chain(s.range(0), false), s.range(0), 16 * s.range(0)); }
void BM_ExpTanhChain(benchmark::State& s) { run(s, chain(s.range(0), true), s.range(0), 16 * s.range(0)); }
void BM_Softmax(benchmark::State& s) {
  run(s, softmax(s.range(0), s.range(1)), s.range(0) * s.range(1), 8 * s.range(0) * s.range(1));
}
void BM_RmsNorm(benchmark::State& s) {
  run(s, rms_norm(s.range(0), s.range(1)), s.range(0) * s.range(1), 8 * s.range(0) * s.range(1));
}
void BM_Transpose(benchmark::State& s) {
  run(s, transpose(s.range(0), s.range(1)), s.range(0) * s.range(1), 8 * s.range(0) * s.range(1));
}
BENCHMARK(BM_Copy)->Arg(2048)->Arg(32768)->Arg(kLarge);
BENCHMARK(BM_Add)->Arg(2048)->Arg(32768)->Arg(kLarge);
BENCHMARK(BM_CheapChain)->Arg(2048)->Arg(32768)->Arg(kLarge);
BENCHMARK(BM_ExpTanhChain)->Arg(2048)->Arg(32768)->Arg(kLarge);
BENCHMARK(BM_Softmax)->Args({64, 1024})->Args({4096, 4096});
BENCHMARK(BM_RmsNorm)->Args({64, 1024})->Args({4096, 4096});
BENCHMARK(BM_Transpose)->Args({256, 256})->Args({4096, 4096});

/// Compiling a kernel nobody has asked for before.
void BM_CompileExpTanhChain(benchmark::State& state) {
  double salt = 1;
  for (auto _ : state) benchmark::DoNotOptimize(jit::compile(chain(1, true, salt += 1)));
}
void BM_CompileCheapChain(benchmark::State& state) {
  double salt = 1;
  for (auto _ : state) benchmark::DoNotOptimize(jit::compile(chain(1, false, salt += 1)));
}
BENCHMARK(BM_CompileExpTanhChain)->Iterations(60)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_CompileCheapChain)->Iterations(60)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace reprise
