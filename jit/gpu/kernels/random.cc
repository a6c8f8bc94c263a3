// Random numbers, and draws by weights.
#include <cmath>
#include <limits>

#include "jit/emit/math.h"
#include "jit/gpu/kernels/kernels.h"

namespace reprise::jit {

namespace {

constexpr int kThreads = kernels::kElementThreads, kDrawBits = 53;

V zero_extended(GpuCode& g, V x) { return g.wrap(g.b.CreateZExt(x.v, g.b.getInt64Ty())); }

/// Philox4x32-10 (kernels/reference/philox.h): its first two words as one.
V philox(GpuCode& g, V seed, V counter, V stream) {
  V c0 = g.i32(counter), c1 = g.i32(counter >> 32), c2 = g.i32(stream), c3 = g.i32(stream >> 32), k0 = g.i32(seed),
    k1 = g.i32(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    V p0 = zero_extended(g, c0) * std::int64_t{0xD2511F53}, p1 = zero_extended(g, c2) * std::int64_t{0xCD9E8D57};
    V n0 = g.i32(p1 >> 32) ^ c1 ^ k0, n2 = g.i32(p0 >> 32) ^ c3 ^ k1;
    c1 = g.i32(p1), c3 = g.i32(p0), c0 = n0, c2 = n2;
    k0 = k0 + std::int64_t{0x9E3779B9}, k1 = k1 + std::int64_t{0xBB67AE85};
  }
  return (zero_extended(g, c0) << 32) | zero_extended(g, c1);
}

/// The generator's numbers of a call.
template <class Args>
struct Generator {
  Generator(GpuCode& g, const Args& in) : g(g), in(in) {}
  V words(V counter, V stream) { return philox(g, in.seed, in.first + counter, stream); }
  GpuCode& g;
  const Args& in;
};

V unsigned_to_double(GpuCode& g, V x) { return g.wrap(g.b.CreateUIToFP(x.v, g.b.getDoubleTy())); }

/// In [0, 1), with so many bits (kernels/reference/philox.h).
V uniform(GpuCode& g, V words, int bits) {
  return unsigned_to_double(g, words >> (64 - bits)) * std::ldexp(1.0, -bits);
}
V natural_log(GpuCode& g, V x) { return g.wrap(MathEmitter(g).log2_wide(x.v)) * 0.6931471805599453094; }

/// cos(2 pi * w / 2^32) in Float64, by the series at the nearest quarter turn: error below 1e-12.
V cosine_of_turns(GpuCode& g, V w) {
  V quarter = (w + (std::int64_t{1} << 29)) >> 30, rest = w - (quarter << 30);  // rest: signed, an eighth turn at most
  V x = g.wrap(g.b.CreateSIToFP(rest.v, g.b.getDoubleTy())) * (6.283185307179586477 / 4294967296.0), z = x * x;
  auto series = [&](std::initializer_list<double> c) {
    V r = g.constant(DType::Float64, 0);
    for (double k : c) r = g.multiply_add(r, z, g.constant(DType::Float64, k));
    return r;
  };
  V sine = x * series({-1.0 / 1307674368000, 1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120,
                       -1.0 / 6, 1});
  V cosine = series({1.0 / 20922789888000, -1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720,
                     1.0 / 24, -1.0 / 2, 1});
  V y = g.select((quarter & 1) == 1, sine, cosine);
  V negative = ((quarter + 1) & 2) == 2;  // the second and third quarters
  return g.select(negative, -y, y);
}

int precision(DType t) { return t == DType::Float64 ? 53 : t == DType::Float16 ? 11 : t == DType::BFloat16 ? 8 : 24; }

}  // namespace

void emit(GpuModule& module, const gpu::Random& code) {
  const DType t = code.dtype;
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(module, in, kThreads);
  V out = g.at(t, in.out.buffer, in.out.offset);
  V i = thread_of_all(g);
  g.when(i < in.n, [&] {
    V words = Generator(g, in).words(i, g.i64(0)), x;
    if (code.normal) {
      V u = (unsigned_to_double(g, words >> 32) + 1.0) * 0x1p-32;
      x = g.wrap(g.call(llvm::Intrinsic::sqrt, (natural_log(g, u) * -2.0).v)) * cosine_of_turns(g, g.i32(words));
    } else {
      x = uniform(g, words, precision(t));
    }
    g.write(t, out, offsets(in.sizes, {&in.out.strides}, i)[0], g.convert(DType::Float64, t, x));
  });
  g.finish();
}

void emit(GpuModule& module, const gpu::Arrivals& code) {
  constexpr double kNever = std::numeric_limits<double>::infinity(), kLate = std::numeric_limits<double>::max();
  const DType t = code.dtype;
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(module, in, kThreads);
  V rows = in.rows, n = in.n, weights = g.at(t, in.weights, in.weights_offset), id = thread_of_all(g);
  g.when(id < rows * n, [&] {
    V row = id / n, i = id % n;
    V w = g.convert(t, DType::Float64, g.read(t, weights, row * in.weights_row + i * in.weights_step));
    V u = uniform(g, Generator(g, in).words(row * in.samples, i + 1), kDrawBits);
    V time = g.min(-natural_log(g, g.constant(DType::Float64, 1) - u) / w, g.constant(DType::Float64, kLate));
    g.write(DType::Float64, in.times, id, g.select(w > 0.0, time, kNever));
  });
  g.finish();
}

void emit(GpuModule& module, const gpu::Draw& code) {
  const DType t = code.dtype;
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(module, in, kThreads);
  V rows = in.rows, n = in.n, samples = in.samples;
  V weights = g.at(t, in.weights, in.weights_offset), out = g.at(DType::Int64, in.out, in.out_offset);
  V id = thread_of_all(g);
  g.when(id < rows * samples, [&] {
    V row = id / samples, sample = id % samples;
    V running = g.at(DType::Float64, in.running, row * n), total = g.read(DType::Float64, running, n - 1);
    V target = uniform(g, Generator(g, in).words(id, g.i64(0)), kDrawBits) * total;
    // The first place where the sum is greater than `target`, or at least the total.
    Var low = g.var(g.i64(0)), high = g.var(n - 1);
    g.loop_while([&] { return low < high; },
                 [&] {
                   V middle = (low + high) >> 1, sum = g.read(DType::Float64, running, middle);
                   V passed = (sum > target) | (sum >= total);
                   high = g.select(passed, middle, high);
                   low = g.select(passed, low, middle + 1);
                 });
    // A sum that is made in parts may rise by a rounding where a weight is 0: the category before it is meant.
    auto is_zero = [&](V i) { return g.read(t, weights, row * in.weights_row + i * in.weights_step); };
    V zero = g.constant(t, 0);
    Var found = g.var(V(low));
    g.loop_while([&] { return (found > 0) & (is_zero(g.max(found, 0)) == zero); }, [&] { found = found - 1; });
    g.loop_while([&] { return (found < n - 1) & (is_zero(found) == zero); }, [&] { found = found + 1; });
    g.write(DType::Int64, out, row * in.out_row + sample * in.out_step, found);
  });
  g.finish();
}

}  // namespace reprise::jit
