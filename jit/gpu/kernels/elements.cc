// Copies, and writes at computed indices.
#include "jit/gpu/kernels/kernels.h"

namespace reprise::jit {

namespace {

constexpr int kThreads = kernels::kElementThreads;

/// out[at] += x, alone or together with other threads.
void add_element(GpuCode& g, DType t, V out, V at, V x, bool atomically) {
  if (atomically) {
    g.b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, g.at(t, out, at).v, x.v,
                        llvm::MaybeAlign(static_cast<std::uint64_t>(item_size(t))), llvm::AtomicOrdering::Monotonic);
    return;
  }
  V old = g.read(t, out, at);
  g.write(t, out, at, t == DType::Bool ? old | x : old + x);
}

}  // namespace

void emit_copy(GpuModule& module, const GpuParams& params) {
  const DType t = static_cast<DType>(params[0]);
  const int dims = static_cast<int>(params[1]);
  GpuCode g(module, {t, t}, 3 + GpuWalk::ints(dims, 2), kThreads);
  V n = g.take(), from = g.at(t, g.pointer(0), g.take()), to = g.at(t, g.pointer(1), g.take());
  GpuWalk walk(g, dims, 2);
  V i = thread_of_grid(g);
  g.when(i < n, [&] {
    Vs at = walk.offsets(i);
    g.write(t, to, at[1], g.read(t, from, at[0]));
  });
  g.finish();
}

void emit_scatter(GpuModule& module, const GpuParams& params) {
  const DType t = static_cast<DType>(params[0]), index_type = static_cast<DType>(params[1]);
  const auto mode = static_cast<kernels::GpuScatter>(params[2]);
  const bool number = mode == kernels::GpuScatter::Number, atomic = kernels::adds_atomically(t);
  const int dims = static_cast<int>(params[3]), tensors = number ? 2 : 3;
  std::vector<DType> buffers{index_type};
  if (!number) buffers.push_back(t);
  buffers.push_back(t);
  GpuCode g(module, buffers, 2 + 2 * tensors + (number ? 1 : 0) + GpuWalk::ints(dims, tensors), kThreads);
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
  GpuWalk walk(g, dims, tensors);
  V id = thread_of_grid(g);
  auto index_at = [&](const Vs& at, V i) {
    return g.convert(index_type, DType::Int64, g.read(index_type, index, at[0] + i * index_step));
  };
  auto to_of = [&](const Vs& at, V i) { return at.back() + index_at(at, i) * out_step; };
  if (mode == kernels::GpuScatter::Add && !atomic) {
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
    if (mode == kernels::GpuScatter::Add)
      return add_element(g, t, out, to_of(at, i), g.read(t, src, at[1] + i * src_step), true);
    if (number) return g.write(t, out, to_of(at, i), value);
    V own = index_at(at, i);
    Var later = g.var(i + 1);
    g.loop_while([&] { return (later < n) & (index_at(at, g.min(later, n - 1)) != own); }, [&] { later = later + 1; });
    g.when(later >= n, [&] { g.write(t, out, to_of(at, i), g.read(t, src, at[1] + i * src_step)); });
  });
  g.finish();
}

void emit_index_offsets(GpuModule& module, const GpuParams& params) {
  const int count = static_cast<int>(params.size()) - 1, dims = static_cast<int>(params.back());
  std::vector<DType> buffers;
  for (int k = 0; k < count; ++k) buffers.push_back(static_cast<DType>(params[static_cast<std::size_t>(k)]));
  buffers.push_back(DType::Int64);
  GpuCode g(module, buffers, 1 + 3 * count + GpuWalk::ints(dims, count), kThreads);
  V positions = g.take();
  Vs offset, extent, step;
  for (int k = 0; k < count; ++k) offset.push_back(g.take()), extent.push_back(g.take()), step.push_back(g.take());
  GpuWalk walk(g, dims, count);
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

void emit_index_last(GpuModule& module, const GpuParams&) {
  GpuCode g(module, {DType::Int64, DType::Int64}, 1, kThreads);
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

void emit_index_put(GpuModule& module, const GpuParams& params) {
  const DType t = static_cast<DType>(params[0]);
  const bool add = params[1] != 0, atomic = kernels::adds_atomically(t);
  const int position_dims = static_cast<int>(params[2]), line_dims = static_cast<int>(params[3]);
  GpuCode g(module, {DType::Int64, t, t}, 4 + GpuWalk::ints(position_dims, 1) + GpuWalk::ints(line_dims, 2),
             kThreads);
  V positions = g.take(), lines = g.take();
  V values = g.at(t, g.pointer(1), g.take()), out = g.at(t, g.pointer(2), g.take());
  GpuWalk position_walk(g, position_dims, 1), line_walk(g, line_dims, 2);
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
