// topk and sort. A block of 256 threads has a row, or the first elements of a row's chunks, which blocks have found
// before. Elements become unsigned keys that ascend in the wanted order; an entry is a key with its place.
//
//   1. Of a long row the k first are selected: the k-th key is found by its digits, most significant first, from
//   histograms
//      (radix selection: Alabi et al., Fast k-selection algorithms for graphics processing units, 2012); then entries
//      below it are kept, and as many of its equals as are missing, in order of place.
//   2. Up to 1024 entries of narrow keys are sorted in shared memory as words of key and place (bitonic, Batcher 1968),
//   so
//      they need not come in order. Others are sorted in global scratch by digits of 8 bits, least significant first,
//      each pass stable: an entry's place in its digit is the count of equals in the chunks, warps and lanes before it
//      (Merrill and Grimshaw: Revisiting sorting for GPGPU stream architectures, 2010).
#include "jit/gpu/kernels/kernels.h"

namespace reprise::jit {

namespace {

constexpr int kThreads = kernels::kOrderThreads, kWarps = kThreads / kWarp, kDigits = 256;
constexpr DType kPlace = DType::Int32;

class OrderCode {
 public:
  using Step = gpu::Order::Step;
  OrderCode(GpuModule& module, const gpu::Order& code)
      : t(code.dtype), wide(kernels::order_is_wide(t)), key_type(wide ? DType::Int64 : DType::Int32),
        bits(wide ? 64 : 32), descending(code.descending), step(code.step), in(gpu::shaped<InCode>(code)),
        g(module, in, kThreads) {
    n = in.n, k = in.k, room = in.room;
    V row = g.block_id;
    if (step == Step::Chunks) {
      row = g.block_id / in.chunks;
      V chunk = g.block_id - row * in.chunks;
      begin = n * chunk / in.chunks;
      n = n * (chunk + 1) / in.chunks - begin;
    }
    Vs at = offsets(in.row_sizes, {&in.x.rows, &in.values.rows, &in.places.rows}, row);
    x = g.at(t, in.x.buffer, step == Step::Join ? g.block_id * n : in.x.offset + at[0]);
    if (step == Step::Chunks) x = g.at(t, x, begin * in.x.step);
    if (step == Step::Join) found_places = g.at(DType::Int64, *in.found, g.block_id * n);
    keys = g.at(key_type, in.keys, g.block_id * room * 2);
    places = g.at(kPlace, in.key_places, g.block_id * room * 2);
    values = g.at(t, in.values.buffer, step == Step::Chunks ? g.block_id * k : in.values.offset + at[1]);
    out_places = g.at(DType::Int64, in.places.buffer, step == Step::Chunks ? g.block_id * k : in.places.offset + at[2]);
    histogram = g.shared(DType::Int32, kDigits);
    counts = g.shared(DType::Int32, kWarps * kDigits);
    found = g.shared(DType::Int64, 4);
    if (!wide) entries = g.shared(DType::Int64, kernels::kOrderShared);
  }

  void run() {
    V few = n <= kernels::kOrderShared;
    V count = g.select(few, n, k);  // entries that are sorted
    in_shared = count <= kernels::kOrderShared;
    g.when((!few) & (k < n), [&] { select_first(); },
           [&] { g.loop(g.i64(g.tid), n, kThreads, [&](V i) { put(i, key_at(i), i); }); });
    g.barrier();
    if (wide) {
      V last = sort_by_digits(count);
      write_from_scratch(last);
    } else {
      g.when(
          in_shared,
          [&] {
            sort_in_shared(count);
            g.loop(g.i64(g.tid), k, kThreads,
                   [&](V i) { result(i, g.i64(g.i32(g.read(DType::Int64, entries, i))) & std::int64_t{0xffffffff}); });
          },
          [&] { write_from_scratch(sort_by_digits(count)); });
    }
    g.finish();
  }

 private:
  V unsigned_less(V a, V c) { return g.wrap(g.b.CreateICmpULT(a.v, c.as(a.v->getType()))); }

  V key_at(V i) {
    V v = order_key(g, t, element(i));
    v = v ^ g.wrap(llvm::ConstantInt::get(v.v->getType(), llvm::APInt::getSignMask(static_cast<unsigned>(bits))));
    return descending ? v ^ -1 : v;
  }
  V entry(V key, V place) { return (g.wrap(g.b.CreateZExt(key.v, g.b.getInt64Ty())) << 32) | place; }
  void put(V position, V key, V place) {
    auto to_scratch = [&] {
      g.write(key_type, keys, position, key);
      g.write(kPlace, places, position, g.i32(place));
    };
    if (wide) return to_scratch();
    g.when(
        in_shared, [&] { g.write(DType::Int64, entries, position, entry(key, place)); }, to_scratch);
  }
  void result(V i, V place) {
    const bool compact = step == Step::Chunks;
    g.write(t, values, compact ? i : i * in.values.step, element(place));
    if (step == Step::Chunks) place = begin + place;
    if (step == Step::Join) place = g.read(DType::Int64, found_places, place);
    g.write(DType::Int64, out_places, compact ? i : i * in.places.step, place);
  }
  V element(V i) { return g.read(t, x, step == Step::Join ? i : i * in.x.step); }

  V digit(V key, V shift) {
    V d = key >> (wide ? g.i64(shift) : shift);
    return (wide ? g.i32(d) : d) & (kDigits - 1);
  }
  V add_shared(V array, V index, V amount) {
    llvm::Value* p = g.at(DType::Int32, array, index).v;
    return g.wrap(g.b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, p, amount.as(g.b.getInt32Ty()), llvm::MaybeAlign(4),
                                      llvm::AtomicOrdering::Monotonic));
  }
  /// Thread d gets the sum of the values of the threads before it; all threads come here.
  V sum_before(V value) {
    V lanes = value;
    for (int step = 1; step < kWarp; step *= 2) {
      V below = g.from_below(lanes, step);
      lanes = g.select(g.lane_id >= step, lanes + below, lanes);
    }
    g.when(g.lane_id == kWarp - 1, [&] { g.write(DType::Int32, counts, g.warp_id, lanes); });
    g.barrier();
    V start = lanes - value;
    for (int w = 0; w + 1 < kWarps; ++w)
      start = g.select(g.warp_id > w, start + g.read(DType::Int32, counts, w), start);
    g.barrier();
    return start;
  }
  /// Rank of this thread among those where `condition` holds, and how many there are in the block.
  std::pair<V, V> rank(V condition) {
    V mask = g.votes(condition);
    V before = g.count_bits(mask & ((g.i32(1) << g.lane_id) - 1));
    g.when(g.lane_id == 0, [&] { g.write(DType::Int32, counts, g.warp_id, g.count_bits(mask)); });
    g.barrier();
    V total = g.i32(0);
    for (int w = 0; w < kWarps; ++w) {
      V c = g.read(DType::Int32, counts, w);
      before = g.select(g.warp_id > w, before + c, before);
      total = total + c;
    }
    g.barrier();
    return {before, total};
  }

  /// Finds the k-th key and keeps the first k entries, in order of place.
  void select_first() {
    Var prefix = g.var(key_type, 0),
        wanted = g.var(k);  // of keys that begin with `prefix`, the wanted-th is looked for
    g.loop(g.i32(0), bits, 8, [&](V done) {
      V shift = bits - 8 - done;
      g.write(DType::Int32, histogram, g.tid, g.i32(0));
      g.barrier();
      g.loop(g.i64(g.tid), n, kThreads, [&](V i) {
        V key = key_at(i);
        // All bits above this digit agree: a shift by all of them is none, so it is made in two steps.
        V high = wide ? ((key ^ prefix) >> g.i64(shift)) >> 8 : ((key ^ prefix) >> shift) >> 8;
        g.when(high == 0, [&] { add_shared(histogram, digit(key, shift), 1); });
      });
      g.barrier();
      V here = g.read(DType::Int32, histogram, g.tid), below = g.i64(sum_before(here));
      g.when((below < wanted) & (wanted <= below + g.i64(here)), [&] {
        g.write(DType::Int64, found, 0, g.i64(g.tid));
        g.write(DType::Int64, found, 1, wanted - below);
      });
      g.barrier();
      V d = g.read(DType::Int64, found, 0);
      prefix = prefix | (wide ? d << g.i64(shift) : g.i32(d) << shift);
      wanted = g.read(DType::Int64, found, 1);
      g.barrier();
    });
    V last = prefix, ties = wanted;
    Var kept = g.var(g.i64(0)), equals = g.var(g.i64(0));
    g.loop(g.i64(0), n, kThreads, [&](V chunk) {
      V i = chunk + g.i64(g.tid), there = i < n;
      V key = key_at(g.min(i, n - 1));
      V equal = there & (key == last);
      auto [tie_rank, tie_count] = rank(equal);
      V keep = (there & unsigned_less(key, last)) | (equal & (equals + g.i64(tie_rank) < ties));
      const auto ranked = rank(keep);  // (clang before 16 captures no structured bindings)
      V place = ranked.first, count = ranked.second;
      g.when(keep, [&] { put(kept + g.i64(place), key, i); });
      kept = kept + g.i64(count);
      equals = equals + g.i64(tie_count);
    });
  }

  void sort_in_shared(V count) {
    Var size = g.var(g.i32(1));
    g.loop_while([&] { return g.i64(size) < count; }, [&] { size = size << 1; });
    V padded = size;
    g.loop(g.i64(g.tid) + count, g.i64(padded), kThreads, [&](V i) { g.write(DType::Int64, entries, i, g.i64(-1)); });
    g.barrier();
    Var run = g.var(g.i32(2));
    g.loop_while([&] { return run <= padded; },
                 [&] {
                   Var distance = g.var(run >> 1);
                   g.loop_while([&] { return distance > 0; },
                                [&] {
                                  V d = distance;
                                  g.loop(g.tid, padded >> 1, kThreads, [&](V i) {
                                    V low = i * 2 - (i & (d - 1)), high = low + d;
                                    V a = g.read(DType::Int64, entries, low), c = g.read(DType::Int64, entries, high);
                                    V up = (low & run) == 0, less = unsigned_less(c, a);
                                    g.when(up == less, [&] {
                                      g.write(DType::Int64, entries, low, c);
                                      g.write(DType::Int64, entries, high, a);
                                    });
                                  });
                                  g.barrier();
                                  distance = d >> 1;
                                });
                   run = run << 1;
                 });
  }

  /// Sorts `count` entries in scratch; gives the offset of the half where they end up.
  V sort_by_digits(V count) {
    Var from = g.var(g.i64(0));
    g.loop(g.i32(0), bits, 8, [&](V shift) {
      g.write(DType::Int32, histogram, g.tid, g.i32(0));
      g.barrier();
      g.loop(g.i64(g.tid), count, kThreads,
             [&](V i) { add_shared(histogram, digit(g.read(key_type, keys, from + i), shift), 1); });
      g.barrier();
      V here = g.read(DType::Int32, histogram, g.tid), start = sum_before(here);
      g.when(g.tid == 0, [&] { g.write(DType::Int64, found, 2, g.i64(0)); });
      g.barrier();
      // One digit for all: nothing would move.
      g.when(g.i64(here) == count, [&] { g.write(DType::Int64, found, 2, g.i64(1)); });
      g.write(DType::Int32, histogram, g.tid, start);
      g.barrier();
      V to = room - from;
      g.when(g.read(DType::Int64, found, 2) == 0, [&] {
        g.loop(g.i64(0), count, kThreads, [&](V chunk) { scatter_chunk(chunk, count, from, to, shift); });
        from = to;
      });
      g.barrier();
    });
    return from;
  }
  void scatter_chunk(V chunk, V count, V from, V to, V shift) {
    for (int w = 0; w < kWarps; ++w) g.write(DType::Int32, counts, g.tid + w * kDigits, g.i32(0));
    g.barrier();
    V i = chunk + g.i64(g.tid), there = i < count, at = from + g.min(i, count - 1);
    V key = g.read(key_type, keys, at), place = g.read(kPlace, places, at);
    V d = digit(key, shift), same = g.votes(there);
    for (int bit = 0; bit < 8; ++bit) {
      V set = ((d >> bit) & 1) == 1, mask = g.votes(set);
      same = same & g.select(set, mask, mask ^ -1);
    }
    V before = g.count_bits(same & ((g.i32(1) << g.lane_id) - 1));
    V slot = g.warp_id * kDigits + d;
    g.when(there & (before == 0), [&] { g.write(DType::Int32, counts, slot, g.count_bits(same)); });
    g.barrier();
    Var next = g.var(g.read(DType::Int32, histogram, g.tid));
    for (int w = 0; w < kWarps; ++w) {
      V c = g.read(DType::Int32, counts, g.tid + w * kDigits);
      g.write(DType::Int32, counts, g.tid + w * kDigits, next);
      next = next + c;
    }
    g.write(DType::Int32, histogram, g.tid, next);
    g.barrier();
    g.when(there, [&] {
      V position = to + g.i64(g.read(DType::Int32, counts, slot) + before);
      g.write(key_type, keys, position, key);
      g.write(kPlace, places, position, place);
    });
    g.barrier();
  }
  void write_from_scratch(V from) {
    g.loop(g.i64(g.tid), k, kThreads, [&](V i) { result(i, g.i64(g.read(kPlace, places, from + i))); });
  }

  DType t;
  bool wide;
  DType key_type;
  int bits;
  bool descending;
  Step step;
  gpu::Order::Args<InCode> in;
  GpuCode g;
  V n, k, room, x, keys, places, values, out_places, histogram, counts, found, entries, in_shared;
  V begin, found_places;  // Chunks: of the chunk; Join
};

}  // namespace

void emit(GpuModule& module, const gpu::Order& code) { OrderCode(module, code).run(); }

}  // namespace reprise::jit
