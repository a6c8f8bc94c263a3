// Arg-reductions and running sums.
#include "jit/gpu/kernels/kernels.h"

namespace reprise::jit {

// Every thread keeps the best of its elements, as (key, place); then lanes and, where a block has a row or a chunk of
// one, its 8 warps. A thread asks for several elements before it looks at them: a row alone has few threads to wait.
void emit(GpuModule& module, const gpu::ArgReduce& code) {
  using Step = gpu::ArgReduce::Step;
  constexpr int kThreads = kernels::kArgReduceThreads, kWarps = kThreads / kWarp, kAhead = 4;
  const DType t = code.dtype;
  const bool least = code.least, chunked = code.step == Step::Chunks;
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(module, in, kThreads);
  V rows = in.rows, n = in.n, chunks = in.chunks;
  V px = g.at(t, in.x, in.x_offset), out = g.at(DType::Int64, in.out, in.out_offset);
  const DType key_type = item_size(t) == 8 ? DType::Int64 : DType::Int32;
  V keys = g.shared(key_type, kWarps), places = g.shared(DType::Int64, kWarps);

  V length = chunked ? g.ceil_div(n, chunks) : in.found ? chunks : n, teams = chunked ? rows * chunks : rows;
  V by_warp = length <= kernels::kArgReduceWarp;
  V team = g.select(by_warp, g.block_id * kWarps + g.i64(g.warp_id), g.block_id), there = g.min(team, teams - 1);
  V row = chunked ? there / chunks : there, begin = chunked ? there % chunks * length : g.i64(0);
  V end = chunked ? g.min(begin + length, n) : length;
  Vs at = offsets(in.row_sizes, {&in.x_rows, &in.out_rows}, row);
  V x = g.at(t, px, at[0]);
  llvm::Type* key_llvm = g.register_type(key_type);
  V least_key =
      g.wrap(llvm::ConstantInt::get(key_llvm, llvm::APInt::getSignedMinValue(key_llvm->getIntegerBitWidth())));
  Var key = g.var(least_key), place = g.var(g.wrap(g.b.getInt64(INT64_MAX)));
  auto take = [&](V other, V other_place) {
    V better = (other > key) | ((other == key) & (other_place < place));
    V k = g.select(better, other, key), p = g.select(better, other_place, place);
    key = k, place = p;
  };
  V stride = g.i64(g.select(by_warp, g.i32(kWarp), g.i32(kThreads)));
  g.loop(begin + g.i64(g.select(by_warp, g.lane_id, g.tid)), end, stride * kAhead, [&](V first) {
    Vs found, values;
    for (int u = 0; u < kAhead; ++u) {
      V i = g.min(first + stride * u, end - 1);  // beyond the end: the last one once more
      if (in.found) {
        i = g.read(DType::Int64, *in.found, row * chunks + i);
        i = g.select(i < n, i, g.i64(0));  // of an empty chunk: any other one of the row
      }
      found.push_back(i);
    }
    for (const V& i : found) values.push_back(g.read(t, x, offsets(in.sizes, {&in.strides}, i)[0]));
    for (int u = 0; u < kAhead; ++u) {
      V v = values[static_cast<std::size_t>(u)], k = order_key(g, t, v);
      if (least) {
        V flipped = k ^ -1;
        k = is_floating(t) ? g.select(v == v, flipped, k) : flipped;
      }
      take(k, found[static_cast<std::size_t>(u)]);
    }
  });
  auto fold = [&](int width) {
    for (int step = width / 2; step >= 1; step /= 2) {
      V k = g.from_xor(key, step), p = g.from_xor(place, step);
      take(k, p);
    }
  };
  fold(kWarp);
  auto write = [&] { g.write(DType::Int64, out, chunked ? team : at[1], place); };
  g.when(g.lane_id == 0, [&] {
    g.write(key_type, keys, g.warp_id, key);
    g.write(DType::Int64, places, g.warp_id, place);
  });
  g.barrier();
  g.when(
      by_warp, [&] { g.when((g.lane_id == 0) & (team < teams), write); },
      [&] {
        g.when(g.warp_id == 0, [&] {
          V slot = g.lane_id & (kWarps - 1);
          key = g.read(key_type, keys, slot);
          place = g.read(DType::Int64, places, slot);
          fold(kWarps);
          g.when(g.lane_id == 0, write);
        });
      });
  g.finish();
}

// A block has a row or a chunk of one, in turns of 4 elements a thread: sums within a thread, over lanes (Hillis and
// Steele), over warps, and what came before the turn.
void emit(GpuModule& module, const gpu::Cumsum& code) {
  using Step = gpu::Cumsum::Step;
  constexpr int kThreads = kernels::kCumsumThreads, kWarps = kThreads / kWarp, kEach = 4;
  const DType from = code.from, to = code.to;
  const DType sum = kernels::cumsum_sum(to);
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(module, in, kThreads);
  V n = in.n, row = g.block_id, begin = g.i64(0), end = n, chunk = g.i64(0);
  if (code.step != Step::Whole) {
    row = g.block_id / in.chunks, chunk = g.block_id - row * in.chunks;
    begin = n * chunk / in.chunks, end = n * (chunk + 1) / in.chunks;
  }
  V px = g.at(from, in.x.buffer, in.x.offset), pout = g.at(to, in.out.buffer, in.out.offset);
  Vs at = offsets(in.row_sizes, {&in.x.rows, &in.out.rows}, row);
  V x = g.at(from, px, at[0]), out = g.at(to, pout, at[1]);
  V totals = g.shared(sum, kWarps);
  auto element = [&](V i) {
    V v = g.read(from, x, g.min(i, end - 1) * in.x.step);
    return g.select(i < end, g.convert(to, sum, g.convert(from, to, v)), 0);
  };
  auto over_lanes = [&](V v) {
    for (int step = 1; step < kWarp; step *= 2) {
      V below = g.from_below(v, step);
      v = g.select(g.lane_id >= step, v + below, v);
    }
    return v;
  };
  /// Of a value of each thread; all threads come here.
  auto over_block = [&](V v) {
    V lanes = over_lanes(v);
    g.when(g.lane_id == kWarp - 1, [&] { g.write(sum, totals, g.warp_id, lanes); });
    g.barrier();
    V all = g.read(sum, totals, 0);
    for (int w = 1; w < kWarps; ++w) all = all + g.read(sum, totals, w);
    g.barrier();
    return all;
  };
  if (code.step == Step::Totals) {
    Var mine = g.var(sum, 0);
    g.loop(begin + g.i64(g.tid), end, kThreads * kEach, [&](V first) {
      Vs values;
      for (int i = 0; i < kEach; ++i) values.push_back(element(first + i * kThreads));
      for (const V& v : values) mine = mine + v;
    });
    V all = over_block(mine);
    g.when(g.tid == 0, [&] { g.write(sum, *in.given, g.block_id, all); });
    return g.finish();
  }
  Var before = g.var(sum, 0);
  if (code.step == Step::Rest) {
    V first = row * in.chunks;
    g.loop(g.i64(g.tid), chunk, kThreads, [&](V i) { before = before + g.read(sum, *in.before, first + i); });
    before = over_block(before);
  }
  g.loop(begin, end, kThreads * kEach, [&](V turn) {
    V first = turn + g.i64(g.tid * kEach);
    Vs own;
    V running = g.constant(sum, 0);
    for (int i = 0; i < kEach; ++i) {
      running = running + element(first + i);
      own.push_back(running);
    }
    V lanes = over_lanes(running);
    g.when(g.lane_id == kWarp - 1, [&] { g.write(sum, totals, g.warp_id, lanes); });
    g.barrier();
    V start = before, all = before;
    for (int w = 0; w < kWarps; ++w) {
      V total = g.read(sum, totals, w);
      start = g.select(g.warp_id > w, start + total, start);
      all = all + total;
    }
    before = all;
    V below = g.from_below(lanes, 1);
    start = g.select(g.lane_id > 0, start + below, start);
    for (int i = 0; i < kEach; ++i)
      g.when(first + i < end, [&] {
        g.write(to, out, (first + i) * in.out.step, g.convert(sum, to, start + own[static_cast<std::size_t>(i)]));
      });
    g.barrier();
  });
  g.finish();
}

}  // namespace reprise::jit
