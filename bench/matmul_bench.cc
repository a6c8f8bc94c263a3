// Matrix products and attention, without the runtime around them: what the kernels themselves reach.
//   reprise_bench --benchmark_filter='Gemm|Gemv|Attention|ReadL3|Peak|OpenBlas'
//   --benchmark_enable_random_interleaving=true --benchmark_repetitions=9
// OpenBLAS is loaded if this machine has it (libopenblas.so.0), for scale.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstring>
#include <memory>
#include <vector>

#include "device/parallel.h"
#include "graph/graph.h"
#include "jit/cpu/micro/compile.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/micro_kernels.h"

namespace reprise::kernels {
namespace {

using graph::OpId;
using graph::ValueId;

struct Matrix {
  DType dtype;
  std::vector<std::int64_t> sizes, strides;
};
Matrix contiguous(DType t, std::vector<std::int64_t> sizes) {
  Matrix m{t, sizes, std::vector<std::int64_t>(sizes.size(), 1)};
  for (int d = static_cast<int>(sizes.size()) - 2; d >= 0; --d) m.strides[d] = m.strides[d + 1] * sizes[d + 1];
  return m;
}

/// One launch with everything resolved, as a recording holds it.
class Call {
 public:
  Call(OpId op, std::vector<graph::NodeArg> args, const std::vector<Matrix>& tensors) {
    graph_.env = std::make_shared<guards::ShapeEnv>();
    std::vector<Operand> operands;
    std::size_t next = 0;
    for (const Matrix& m : tensors) {
      TensorMeta meta;
      meta.dtype = m.dtype;
      TensorView v;
      v.dtype = m.dtype, v.rank = static_cast<int>(m.sizes.size());
      for (int d = 0; d < v.rank; ++d) {
        meta.layout.sizes.push_back(m.sizes[d]), meta.layout.strides.push_back(m.strides[d]);
        v.sizes[d] = m.sizes[d], v.strides[d] = m.strides[d];
      }
      operands.push_back({static_cast<std::uint32_t>(next++), m.dtype, meta.layout, false});
      metas_.push_back(meta), views_.push_back(v);
    }
    next = 0;
    for (auto& a : args)
      if (std::holds_alternative<ValueId>(a)) a = graph_.add_input(metas_[next++], "x");
    graph_.add(op, args);
    const graph::Node& node = graph_.nodes.back();
    launch_ = op == OpId::scaled_dot_product_attention ? attention_launch(graph_, node, operands)
                                                       : matmul_launch(graph_, node, operands);
    for (Int i : launch_.ints) ints_.push_back(i.hint());
    for (const KernelCode& s : launch_.micro) code_.push_back(jit::compile(s)), micro_.push_back(code_.back()->entry);
  }
  void run(std::initializer_list<void*> data) {
    auto v = views_.begin();
    for (void* p : data) (v++)->data = static_cast<char*>(p);
    launch_.fn({views_.data(), launch_.args.data(), ints_.data(), nullptr, nullptr,
                static_cast<std::uint32_t>(launch_.args.size()), launch_.first_result, launch_.n_results, micro_.data(),
                &fault_});
    benchmark::ClobberMemory();
  }

 private:
  graph::Graph graph_;
  std::vector<TensorMeta> metas_;
  std::vector<TensorView> views_;
  NativeLaunch launch_;
  std::vector<std::int64_t> ints_;
  std::vector<jit::CodePtr> code_;
  std::vector<void*> micro_;
  KernelFault fault_;
};

/// Bytes of small numbers of a dtype, at a cache line.
struct Bytes {
  Bytes(std::int64_t elements, DType t) : store(static_cast<std::size_t>(elements * item_size(t) + 128)) {
    p = reinterpret_cast<char*>((reinterpret_cast<std::uintptr_t>(store.data()) + 63) & ~std::uintptr_t{63});
    for (std::int64_t i = 0; i < elements; ++i) {
      float f = static_cast<float>(i * 7919 % 1000 - 500) / 1000;
      if (t == DType::Float32) reinterpret_cast<float*>(p)[i] = f;
      if (t == DType::Float16) reinterpret_cast<Half*>(p)[i] = Half(f);
      if (t == DType::BFloat16) reinterpret_cast<BFloat16*>(p)[i] = BFloat16(f);
    }
  }
  std::vector<char> store;
  char* p;
};

void flops(benchmark::State& s, double per_call) {
  s.counters["GF/s"] = benchmark::Counter(per_call * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}
void bytes(benchmark::State& s, double per_call) {
  s.counters["GB/s"] = benchmark::Counter(per_call * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

/// The micro-kernel on operands in the L1 cache: what the core can do.
void Peak(benchmark::State& s) {
  int bits = micro_vector_bits(), n = gemm_vectors(bits) * micro_lanes(bits, DType::Float32), m = gemm_rows(bits);
  auto code = jit::compile(micro::Gemm{bits, DType::Float32, DType::Float32, m, gemm_vectors(bits)});
  Bytes a(m * 128, DType::Float32), b(n * 128, DType::Float32), c(m * n, DType::Float32);
  micro::GemmTile t{a.p, 128, b.p, n, c.p, n, c.p, n, m, n, 128, 1, 1};
  for (auto _ : s) reinterpret_cast<micro::GemmFn>(code->entry)(&t), benchmark::ClobberMemory();
  flops(s, 2.0 * m * n * 128);
}
BENCHMARK(Peak);

void Gemm(benchmark::State& s, DType t, OpId op, int threads) {
  std::int64_t m = s.range(0), k = s.range(1), n = s.range(2);
  bool linear = op == OpId::linear;
  Call call(
      op,
      linear ? std::vector<graph::NodeArg>{ValueId{}, ValueId{}, {}}
             : std::vector<graph::NodeArg>{ValueId{}, ValueId{}},
      {contiguous(t, {m, k}), contiguous(t, linear ? std::vector{n, k} : std::vector{k, n}), contiguous(t, {m, n})});
  Bytes a(m * k, t), b(k * n, t), c(m * n, t);
  device::set_num_threads(threads);
  for (auto _ : s) call.run({a.p, b.p, c.p});
  device::set_num_threads(1 << 10);
  flops(s, 2.0 * static_cast<double>(m * n * k));
}
void squares(benchmark::internal::Benchmark* b) {
  for (int n : {64, 128, 256, 512, 1024, 2048}) b->Args({n, n, n});
}
void layers(benchmark::internal::Benchmark* b) {
  for (int m : {8, 16, 64, 128})
    for (auto [k, n] : {std::pair{256, 256}, std::pair{256, 704}, std::pair{704, 256}}) b->Args({m, k, n});
}
BENCHMARK_CAPTURE(Gemm, f32, DType::Float32, OpId::mm, 1)->Apply(squares);
BENCHMARK_CAPTURE(Gemm, f32_two_threads, DType::Float32, OpId::mm, 2)->Args({1024, 1024, 1024})->UseRealTime();
BENCHMARK_CAPTURE(Gemm, bf16, DType::BFloat16, OpId::mm, 1)->Args({1024, 1024, 1024});
BENCHMARK_CAPTURE(Gemm, linear_f16, DType::Float16, OpId::linear, 1)->Apply(layers);
BENCHMARK_CAPTURE(Gemm, linear_f32, DType::Float32, OpId::linear, 1)->Apply(layers);

void OpenBlas(benchmark::State& s) {
  using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
  static void* library = dlopen("libopenblas.so.0", RTLD_NOW);
  static auto sgemm = reinterpret_cast<Sgemm>(library ? dlsym(library, "cblas_sgemm") : nullptr);
  static auto set_threads =
      reinterpret_cast<void (*)(int)>(library ? dlsym(library, "openblas_set_num_threads") : nullptr);
  if (!sgemm) return s.SkipWithError("no libopenblas.so.0 here");
  if (set_threads) set_threads(1);
  int m = static_cast<int>(s.range(0)), k = static_cast<int>(s.range(1)), n = static_cast<int>(s.range(2));
  Bytes a(std::int64_t{m} * k, DType::Float32), b(std::int64_t{k} * n, DType::Float32),
      c(std::int64_t{m} * n, DType::Float32);
  for (auto _ : s) {
    sgemm(101, 111, 111, m, n, k, 1, reinterpret_cast<float*>(a.p), k, reinterpret_cast<float*>(b.p), n, 0,
          reinterpret_cast<float*>(c.p), n);
    benchmark::ClobberMemory();
  }
  flops(s, 2.0 * m * n * k);
}
BENCHMARK(OpenBlas)->Apply(squares);

constexpr std::int64_t kCacheBytes = 8 << 20;  // a model's weights, in the L3 cache

typedef long Vector __attribute__((vector_size(64)));
template <class>
inline __attribute__((always_inline)) void read_all(const char* p) {
  Vector x[4] = {};
  for (std::int64_t i = 0; i < kCacheBytes / 64; i += 4)
    for (int j = 0; j < 4; ++j) x[j] ^= reinterpret_cast<const Vector*>(p)[i + j];
  x[0] ^= x[1] ^ x[2] ^ x[3];
  long any = x[0][0];
  benchmark::DoNotOptimize(any);
}
__attribute__((target("avx512f"))) void read_512(const char* p) { read_all<int>(p); }
void read_any(const char* p) { read_all<int>(p); }

void ReadL3(benchmark::State& s) {
  Bytes w(kCacheBytes / 2, DType::Float16);
  auto* read = micro_vector_bits() == 512 ? read_512 : read_any;
  for (auto _ : s) read(w.p);
  bytes(s, kCacheBytes);
}
BENCHMARK(ReadL3);

/// One call reads its own matrix out of kCacheBytes of them; time is of one call.
void Gemv(benchmark::State& s, DType t, OpId op) {
  std::int64_t m = s.range(0), k = s.range(1), n = s.range(2), size = n * k * item_size(t), count = kCacheBytes / size;
  bool linear = op == OpId::linear;
  Call call(
      op,
      linear ? std::vector<graph::NodeArg>{ValueId{}, ValueId{}, {}}
             : std::vector<graph::NodeArg>{ValueId{}, ValueId{}},
      {contiguous(t, {m, k}), contiguous(t, linear ? std::vector{n, k} : std::vector{k, n}), contiguous(t, {m, n})});
  Bytes a(m * k, t), w(kCacheBytes / item_size(t), t), c(m * n, t);
  std::int64_t i = 0;
  for (auto _ : s) {
    call.run({a.p, w.p + i * size, c.p});
    if (++i == count) i = 0;
  }
  bytes(s, static_cast<double>(size));
}
void decode_layers(benchmark::internal::Benchmark* b) {
  for (auto [k, n] :
       {std::pair{256, 128}, std::pair{256, 256}, std::pair{256, 704}, std::pair{704, 256}, std::pair{512, 512}})
    b->Args({1, k, n});
  b->Args({4, 256, 704});
  b->Args({1, 16, 8});  // next to nothing: the cost of a call
}
BENCHMARK_CAPTURE(Gemv, linear_f16, DType::Float16, OpId::linear)->Apply(decode_layers);
BENCHMARK_CAPTURE(Gemv, linear_bf16, DType::BFloat16, OpId::linear)->Apply(decode_layers);
BENCHMARK_CAPTURE(Gemv, linear_f32, DType::Float32, OpId::linear)->Apply(decode_layers);
BENCHMARK_CAPTURE(Gemv, mm_f16, DType::Float16, OpId::mm)->Apply(decode_layers);

/// Arguments: batch, heads, heads of keys, queries, keys, size of a head. Masks: of the keys of a batch, of pairs of
/// query and key, added to these.
enum class Masked { No, Padding, Pairs, Bias };
void Attention(benchmark::State& s, DType t, bool causal, Masked masked) {
  const std::int64_t b = s.range(0), h = s.range(1), kv = s.range(2), l = s.range(3), n = s.range(4), d = s.range(5);
  const bool has_mask = masked != Masked::No;
  std::vector<Matrix> tensors{contiguous(t, {b, h, l, d}), contiguous(t, {b, kv, n, d}), contiguous(t, {b, kv, n, d})};
  if (has_mask)
    tensors.push_back(contiguous(masked == Masked::Bias ? t : DType::Bool,
                                 {masked == Masked::Padding ? b : 1, 1, masked == Masked::Padding ? 1 : l, n}));
  tensors.push_back(contiguous(t, {b, h, l, d}));
  std::vector<graph::NodeArg> args{ValueId{}, ValueId{}, ValueId{}, {}, Scalar(0.0), causal, {}, true};
  if (has_mask) args[3] = ValueId{};
  Call call(OpId::scaled_dot_product_attention, args, tensors);
  Bytes q(b * h * l * d, t), k(b * kv * n * d, t), v(b * kv * n * d, t),
      m(b * l * n, masked == Masked::Bias ? t : DType::Bool), o(b * h * l * d, t);
  if (has_mask && masked != Masked::Bias) std::memset(m.p, 1, static_cast<std::size_t>(b * l * n));
  device::set_num_threads(1);
  for (auto _ : s) has_mask ? call.run({q.p, k.p, v.p, m.p, o.p}) : call.run({q.p, k.p, v.p, o.p});
  device::set_num_threads(1 << 10);
  flops(s, 4.0 * static_cast<double>(b * h * l * n * d) * (causal ? 0.5 : 1));
}
void decode_lengths(benchmark::internal::Benchmark* b) {
  for (std::int64_t n : {128, 512, 4096}) b->Args({1, 12, 12, 1, n, 64})->Args({1, 32, 8, 1, n, 64});
}
void prefill_shapes(benchmark::internal::Benchmark* b) {
  for (std::int64_t n : {17, 128, 512, 1024}) b->Args({1, 12, 12, n, n, 64});
  b->Args({1, 32, 32, 512, 512, 128})
      ->Args({8, 12, 12, 128, 128, 32})
      ->Args({1, 16, 4, 256, 256, 64})
      ->Args({1, 8, 8, 256, 256, 80})
      ->Args({1, 8, 8, 256, 256, 256});
}
void mask_shapes(benchmark::internal::Benchmark* b) {
  b->Args({4, 12, 12, 128, 128, 32})->Args({4, 12, 12, 128, 128, 64})->Args({1, 12, 12, 512, 512, 64});
}
BENCHMARK_CAPTURE(Attention, decode_f16, DType::Float16, false, Masked::No)->Apply(decode_lengths);
BENCHMARK_CAPTURE(Attention, decode_f32, DType::Float32, false, Masked::No)->Apply(decode_lengths);
BENCHMARK_CAPTURE(Attention, prefill_f32, DType::Float32, false, Masked::No)->Apply(prefill_shapes);
BENCHMARK_CAPTURE(Attention, prefill_f32_causal, DType::Float32, true, Masked::No)->Apply(prefill_shapes);
BENCHMARK_CAPTURE(Attention, prefill_bf16, DType::BFloat16, false, Masked::No)->Apply(prefill_shapes);
BENCHMARK_CAPTURE(Attention, prefill_f16_causal, DType::Float16, true, Masked::No)->Apply(prefill_shapes);
BENCHMARK_CAPTURE(Attention, mask_padding, DType::Float32, false, Masked::Padding)->Apply(mask_shapes);
BENCHMARK_CAPTURE(Attention, mask_pairs, DType::Float32, false, Masked::Pairs)->Apply(mask_shapes);
BENCHMARK_CAPTURE(Attention, mask_bias, DType::Float32, false, Masked::Bias)->Apply(mask_shapes);
BENCHMARK_CAPTURE(Attention, mask_bias_bf16, DType::BFloat16, false, Masked::Bias)->Apply(mask_shapes);

}  // namespace
}  // namespace reprise::kernels
