// Copies, and writes at computed indices.
#include "jit/gpu/kernels/kernels.h"

namespace reprise::jit {

namespace {

constexpr int kThreads = kernels::kElementThreads;

/// out[at] += x, alone or together with other threads.
void add_element(GpuCode& g, DType t, V out, V at, V x, bool atomically) {
  if (atomically) {
    g.add_atomically(out, at, x);
    return;
  }
  V old = g.read(t, out, at);
  g.write(t, out, at, t == DType::Bool ? old | x : old + x);
}

}  // namespace

void emit(GpuModule& module, const gpu::CopyElements& code) {
  const DType t = code.dtype;
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(module, in, kThreads);
  V from = g.at(t, in.x.buffer, in.x.offset), to = g.at(t, in.y.buffer, in.y.offset);
  V i = thread_of_all(g);
  g.when(i < in.n, [&] {
    Vs at = offsets(in.sizes, {&in.x.strides, &in.y.strides}, i);
    g.write(t, to, at[1], g.read(t, from, at[0]));
  });
  g.finish();
}

void emit(GpuModule& module, const gpu::Scatter& code) {
  using Mode = gpu::Scatter::Mode;
  const DType t = code.dtype;
  const Mode mode = code.mode;
  const bool atomic = kernels::adds_atomically(t);
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(module, in, kThreads);
  V lines = in.lines, n = in.n;
  V index = g.at(code.index, in.index.buffer, in.index.offset), src, out;
  if (in.src) src = g.at(t, in.src->buffer, in.src->offset);
  out = g.at(t, in.out.buffer, in.out.offset);
  V value;
  if (in.value) {
    value = *in.value;
    if (is_floating(t)) value = g.wrap(g.b.CreateBitCast(value.v, g.b.getDoubleTy()));
    value = g.convert(is_floating(t) ? DType::Float64 : DType::Int64, t, value);
  }
  // Of a line: where it begins in each tensor.
  struct At {
    V index, src, out;
  };
  auto line_at = [&](V line) -> At {
    std::vector<const Vs*> strides{&in.index.rows};
    if (in.src) strides.push_back(&in.src->rows);
    strides.push_back(&in.out.rows);
    const Vs at = offsets(in.line_sizes, strides, line);
    return {at[0], in.src ? at[1] : V(), at.back()};
  };
  V id = thread_of_all(g);
  auto index_at = [&](const At& at, V i) {
    return g.convert(code.index, DType::Int64, g.read(code.index, index, at.index + i * in.index.step));
  };
  auto src_at = [&](const At& at, V i) { return g.read(t, src, at.src + i * in.src->step); };
  auto to_of = [&](const At& at, V i) { return at.out + index_at(at, i) * in.out.step; };
  if (mode == Mode::Add && !atomic) {
    g.when(id < lines, [&] {
      At at = line_at(id);
      g.loop(g.i64(0), n, 1, [&](V i) { add_element(g, t, out, to_of(at, i), src_at(at, i), false); });
    });
    return g.finish();
  }
  g.when(id < lines * n, [&] {
    At at = line_at(id / n);
    V i = id % n;
    if (mode == Mode::Add) return add_element(g, t, out, to_of(at, i), src_at(at, i), true);
    if (in.value) return g.write(t, out, to_of(at, i), value);
    V own = index_at(at, i);
    Var later = g.var(i + 1);
    g.loop_while([&] { return (later < n) & (index_at(at, g.min(later, n - 1)) != own); }, [&] { later = later + 1; });
    g.when(later >= n, [&] { g.write(t, out, to_of(at, i), src_at(at, i)); });
  });
  g.finish();
}

void emit(GpuModule& module, const gpu::IndexOffsets& code) {
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(module, in, kThreads);
  V id = thread_of_all(g);
  g.when(id < in.positions, [&] {
    std::vector<const Vs*> strides;
    for (const auto& index : in.indices) strides.push_back(&index.strides);
    Vs at = offsets(in.sizes, strides, id);
    V to = g.i64(0);
    for (std::size_t k = 0; k < at.size(); ++k) {
      const auto& index = in.indices[k];
      const DType t = index.buffer.dtype;
      V v = g.convert(t, DType::Int64, g.read(t, index.buffer, index.offset + at[k]));
      to = to + g.select(v < 0, v + index.extent, v) * index.step;
    }
    g.write(DType::Int64, in.to, id, to);
  });
  g.finish();
}

void emit(GpuModule& module, const gpu::IndexLast& code) {
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(module, in, kThreads);
  V positions = in.positions, id = thread_of_all(g);
  g.when(id < positions, [&] {
    auto to = [&](V i) { return g.read(DType::Int64, in.to, i); };
    V own = to(id);
    Var later = g.var(id + 1);
    g.loop_while([&] { return (later < positions) & (to(g.min(later, positions - 1)) != own); },
                 [&] { later = later + 1; });
    g.write(DType::Int64, in.last, id, g.select(later >= positions, own, -1));
  });
  g.finish();
}

void emit(GpuModule& module, const gpu::IndexPut& code) {
  const DType t = code.dtype;
  const bool add = code.add, atomic = kernels::adds_atomically(t);
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(module, in, kThreads);
  V positions = in.positions, lines = in.lines;
  V values = g.at(t, in.values, in.values_offset), out = g.at(t, in.out, in.out_offset);
  V id = thread_of_all(g);
  auto to = [&](V position) { return g.read(DType::Int64, in.to, position); };
  // Of a line, and of a position: where they begin in the tensors.
  auto line_at = [&](V line) { return offsets(in.line_sizes, {&in.values_lines, &in.out_lines}, line); };
  auto position_at = [&](V position) { return offsets(in.position_sizes, {&in.values_positions}, position)[0]; };
  if (add && !atomic) {
    g.when(id < lines, [&] {
      Vs at = line_at(id);
      g.loop(g.i64(0), positions, 1,
             [&](V p) { add_element(g, t, out, to(p) + at[1], g.read(t, values, position_at(p) + at[0]), false); });
    });
    return g.finish();
  }
  g.when(id < positions * lines, [&] {
    V position = id / lines, there = to(position);
    Vs at = line_at(id % lines);
    auto value = [&] { return g.read(t, values, position_at(position) + at[0]); };
    if (add) return add_element(g, t, out, there + at[1], value(), true);
    g.when(there >= 0, [&] { g.write(t, out, there + at[1], value()); });
  });
  g.finish();
}

}  // namespace reprise::jit
