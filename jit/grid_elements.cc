// Copies, random numbers, and writes at computed indices.
#include <cmath>
#include <limits>

#include "jit/emit_math.h"
#include "jit/grid_kernels.h"

namespace reprise::jit {

namespace {

constexpr int kThreads = kernels::kElementThreads;

V thread_of_grid(GridCode& g) { return g.block_id * kThreads + g.i64(g.tid); }
V zero_extended(GridCode& g, V x) { return g.wrap(g.b.CreateZExt(x.v, g.b.getInt64Ty())); }

/// out[at] += x, alone or together with other threads.
void add_element(GridCode& g, DType t, V out, V at, V x, bool atomically) {
  if (atomically) {
    g.b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, g.at(t, out, at).v, x.v,
                        llvm::MaybeAlign(static_cast<std::uint64_t>(item_size(t))), llvm::AtomicOrdering::Monotonic);
    return;
  }
  V old = g.read(t, out, at);
  g.write(t, out, at, t == DType::Bool ? old | x : old + x);
}

}  // namespace

void emit_check_index(GridModule& module, const GridParams& params) {
  constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  const DType t = static_cast<DType>(params[0]);
  const int dims = static_cast<int>(params[2]), threads = static_cast<int>(params[3]);
  GridCode g(module, {t, DType::Int64}, 5 + GridWalk::ints(dims, 1), threads);
  V n = g.take(), extent = g.take(), number = g.take(), first = g.take(), index = g.at(t, g.pointer(0), g.take());
  V record = g.pointer(1);
  GridWalk walk(g, dims, 1);
  V least = params[1] ? -extent : g.i64(0);
  auto value_at = [&](V i) { return g.convert(t, DType::Int64, g.read(t, index, walk.offsets(i)[0])); };
  Var found = g.var(g.i64(kNone));
  g.loop(g.i64(g.tid), n, threads, [&](V i) {
    V value = value_at(i);
    found = g.select((value < least) | (value >= extent), g.min(found, i), found);
  });
  auto less = [&](llvm::Value* a, llvm::Value* c) { return g.call(llvm::Intrinsic::smin, a, c); };
  V place = g.wrap(g.block_reduce(V(found).v, g.i64(kNone).v, less, threads));
  g.when(g.tid == 0, [&] {
    auto note = [&](V who, V where, V what) {
      g.write(DType::Int64, record, 1, where), g.write(DType::Int64, record, 2, what), g.write(DType::Int64, record, 0, who);
    };
    g.when(first != 0, [&] { note(0, 0, 0); });
    g.when((place != kNone) & (g.read(DType::Int64, record, 0) == 0), [&] { note(number, place, value_at(place)); });
  });
  g.finish();
}

void emit_copy(GridModule& module, const GridParams& params) {
  const DType t = static_cast<DType>(params[0]);
  const int dims = static_cast<int>(params[1]);
  GridCode g(module, {t, t}, 3 + GridWalk::ints(dims, 2), kThreads);
  V n = g.take(), from = g.at(t, g.pointer(0), g.take()), to = g.at(t, g.pointer(1), g.take());
  GridWalk walk(g, dims, 2);
  V i = thread_of_grid(g);
  g.when(i < n, [&] {
    Vs at = walk.offsets(i);
    g.write(t, to, at[1], g.read(t, from, at[0]));
  });
  g.finish();
}

namespace {

/// Philox4x32-10 (kernels/philox.h), stream 0: its first two words.
std::pair<V, V> philox(GridCode& g, V seed, V counter) {
  V c0 = g.i32(counter), c1 = g.i32(counter >> 32), c2 = g.i32(0), c3 = g.i32(0), k0 = g.i32(seed),
    k1 = g.i32(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    V p0 = zero_extended(g, c0) * std::int64_t{0xD2511F53}, p1 = zero_extended(g, c2) * std::int64_t{0xCD9E8D57};
    V n0 = g.i32(p1 >> 32) ^ c1 ^ k0, n2 = g.i32(p0 >> 32) ^ c3 ^ k1;
    c1 = g.i32(p1), c3 = g.i32(p0), c0 = n0, c2 = n2;
    k0 = k0 + std::int64_t{0x9E3779B9}, k1 = k1 + std::int64_t{0xBB67AE85};
  }
  return {c0, c1};
}

V unsigned_to_double(GridCode& g, V x) { return g.wrap(g.b.CreateUIToFP(x.v, g.b.getDoubleTy())); }

/// cos(2 pi * w / 2^32) in Float64, by the series at the nearest quarter turn: error below 1e-12.
V cosine_of_turns(GridCode& g, V w) {
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

void emit_random(GridModule& module, const GridParams& params) {
  const DType t = static_cast<DType>(params[0]);
  const int dims = static_cast<int>(params[2]);
  GridCode g(module, {DType::Int64, t}, 2 + GridWalk::ints(dims, 1), kThreads);
  V n = g.take(), out = g.at(t, g.pointer(1), g.take());
  GridWalk walk(g, dims, 1);
  V i = thread_of_grid(g);
  g.when(i < n, [&] {
    V seed = g.read(DType::Int64, g.pointer(0), 0), offset = g.read(DType::Int64, g.pointer(0), 1);
    auto [w0, w1] = philox(g, seed, offset + i);
    V x;
    if (params[1]) {
      V u = (unsigned_to_double(g, w0) + 1.0) * 0x1p-32;
      V log = g.wrap(MathEmitter(g).log2_wide(u.v)) * 0.6931471805599453094;
      x = g.wrap(g.call(llvm::Intrinsic::sqrt, (log * -2.0).v)) * cosine_of_turns(g, w1);
    } else {
      V word = (zero_extended(g, w0) << 32) | zero_extended(g, w1);
      x = unsigned_to_double(g, word >> (64 - precision(t))) * std::ldexp(1.0, -precision(t));
    }
    g.write(t, out, walk.offsets(i)[0], g.convert(DType::Float64, t, x));
  });
  g.finish();
}

void emit_scatter(GridModule& module, const GridParams& params) {
  const DType t = static_cast<DType>(params[0]), index_type = static_cast<DType>(params[1]);
  const auto mode = static_cast<kernels::GridScatter>(params[2]);
  const bool number = mode == kernels::GridScatter::Number, atomic = kernels::adds_atomically(t);
  const int dims = static_cast<int>(params[3]), tensors = number ? 2 : 3;
  std::vector<DType> buffers{index_type};
  if (!number) buffers.push_back(t);
  buffers.push_back(t);
  GridCode g(module, buffers, 2 + 2 * tensors + (number ? 1 : 0) + GridWalk::ints(dims, tensors), kThreads);
  V lines = g.take(), n = g.take();
  V index = g.at(index_type, g.pointer(0), g.take()), src, out;
  if (!number) src = g.at(t, g.pointer(1), g.take());
  out = g.at(t, g.pointer(tensors - 1), g.take());
  V index_step = g.take(), src_step = number ? V() : g.take(), out_step = g.take(), value;
  if (number) {
    value = g.take();
    if (is_floating(t)) value = g.wrap(g.b.CreateBitCast(value.v, g.b.getDoubleTy()));
    value = g.convert(is_floating(t) ? DType::Float64 : DType::Int64, t, value);
  }
  GridWalk walk(g, dims, tensors);
  V id = thread_of_grid(g);
  auto index_at = [&](const Vs& at, V i) {
    return g.convert(index_type, DType::Int64, g.read(index_type, index, at[0] + i * index_step));
  };
  auto to_of = [&](const Vs& at, V i) { return at.back() + index_at(at, i) * out_step; };
  if (mode == kernels::GridScatter::Add && !atomic) {
    g.when(id < lines, [&] {
      Vs at = walk.offsets(id);
      g.loop(g.i64(0), n, 1,
             [&](V i) { add_element(g, t, out, to_of(at, i), g.read(t, src, at[1] + i * src_step), false); });
    });
    return g.finish();
  }
  g.when(id < lines * n, [&] {
    Vs at = walk.offsets(id / n);
    V i = id % n;
    if (mode == kernels::GridScatter::Add)
      return add_element(g, t, out, to_of(at, i), g.read(t, src, at[1] + i * src_step), true);
    if (number) return g.write(t, out, to_of(at, i), value);
    V own = index_at(at, i);
    Var later = g.var(i + 1);
    g.loop_while([&] { return (later < n) & (index_at(at, g.min(later, n - 1)) != own); }, [&] { later = later + 1; });
    g.when(later >= n, [&] { g.write(t, out, to_of(at, i), g.read(t, src, at[1] + i * src_step)); });
  });
  g.finish();
}

void emit_index_offsets(GridModule& module, const GridParams& params) {
  const int count = static_cast<int>(params.size()) - 1, dims = static_cast<int>(params.back());
  std::vector<DType> buffers;
  for (int k = 0; k < count; ++k) buffers.push_back(static_cast<DType>(params[static_cast<std::size_t>(k)]));
  buffers.push_back(DType::Int64);
  GridCode g(module, buffers, 1 + 3 * count + GridWalk::ints(dims, count), kThreads);
  V positions = g.take();
  Vs offset, extent, step;
  for (int k = 0; k < count; ++k) offset.push_back(g.take()), extent.push_back(g.take()), step.push_back(g.take());
  GridWalk walk(g, dims, count);
  V id = thread_of_grid(g);
  g.when(id < positions, [&] {
    Vs at = walk.offsets(id);
    V to = g.i64(0);
    for (std::size_t k = 0; k < at.size(); ++k) {
      DType t = buffers[k];
      V v = g.convert(t, DType::Int64, g.read(t, g.pointer(static_cast<int>(k)), offset[k] + at[k]));
      to = to + g.select(v < 0, v + extent[k], v) * step[k];
    }
    g.write(DType::Int64, g.pointer(count), id, to);
  });
  g.finish();
}

void emit_index_last(GridModule& module, const GridParams&) {
  GridCode g(module, {DType::Int64, DType::Int64}, 1, kThreads);
  V positions = g.take(), id = thread_of_grid(g);
  g.when(id < positions, [&] {
    auto to = [&](V i) { return g.read(DType::Int64, g.pointer(0), i); };
    V own = to(id);
    Var later = g.var(id + 1);
    g.loop_while([&] { return (later < positions) & (to(g.min(later, positions - 1)) != own); },
                 [&] { later = later + 1; });
    g.write(DType::Int64, g.pointer(1), id, g.select(later >= positions, own, -1));
  });
  g.finish();
}

void emit_index_put(GridModule& module, const GridParams& params) {
  const DType t = static_cast<DType>(params[0]);
  const bool add = params[1] != 0, atomic = kernels::adds_atomically(t);
  const int position_dims = static_cast<int>(params[2]), line_dims = static_cast<int>(params[3]);
  GridCode g(module, {DType::Int64, t, t}, 4 + GridWalk::ints(position_dims, 1) + GridWalk::ints(line_dims, 2),
             kThreads);
  V positions = g.take(), lines = g.take();
  V values = g.at(t, g.pointer(1), g.take()), out = g.at(t, g.pointer(2), g.take());
  GridWalk position_walk(g, position_dims, 1), line_walk(g, line_dims, 2);
  V id = thread_of_grid(g);
  auto to = [&](V position) { return g.read(DType::Int64, g.pointer(0), position); };
  if (add && !atomic) {
    g.when(id < lines, [&] {
      Vs at = line_walk.offsets(id);
      g.loop(g.i64(0), positions, 1, [&](V p) {
        add_element(g, t, out, to(p) + at[1], g.read(t, values, position_walk.offsets(p)[0] + at[0]), false);
      });
    });
    return g.finish();
  }
  g.when(id < positions * lines, [&] {
    V position = id / lines, there = to(position);
    Vs at = line_walk.offsets(id % lines);
    auto value = [&] { return g.read(t, values, position_walk.offsets(position)[0] + at[0]); };
    if (add) return add_element(g, t, out, there + at[1], value(), true);
    g.when(there >= 0, [&] { g.write(t, out, there + at[1], value()); });
  });
  g.finish();
}

}  // namespace reprise::jit
