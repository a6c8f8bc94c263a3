// Checks of values before they are used: of indices, of weights. One block each, so that the first fault is noted.
#include <limits>

#include "jit/gpu/kernels/kernels.h"

namespace reprise::jit {

namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

/// The record of faults as one thread writes it (kernels::kFaultRecord).
class Record {
 public:
  Record(GpuCode& g, V memory, V number, V first) : g_(g), memory_(memory), number_(number) {
    g.when(first != 0, [&] { write(0, 0, 0); });
  }
  /// Where `failed` holds and nothing has been noted before.
  void note(V failed, V place, const std::function<V()>& value) {
    g_.when(failed & (g_.read(DType::Int64, memory_, 0) == 0), [&] { write(number_, place, value()); });
  }

 private:
  void write(V number, V place, V value) {
    g_.write(DType::Int64, memory_, 1, place), g_.write(DType::Int64, memory_, 2, value);
    g_.write(DType::Int64, memory_, 0, number);
  }
  GpuCode& g_;
  V memory_, number_;
};

}  // namespace

void emit(GpuModule& module, const gpu::CheckIndex& code) {
  const DType t = code.dtype;
  const int threads = code.threads;
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(module, in, threads);
  V n = in.n, extent = in.extent, index = g.at(t, in.index.buffer, in.index.offset);
  V least = code.wraps ? -extent : g.i64(0);
  auto value_at = [&](V i) {
    return g.convert(t, DType::Int64, g.read(t, index, offsets(in.sizes, {&in.index.strides}, i)[0]));
  };
  Var found = g.var(g.i64(kNone));
  g.loop(g.i64(g.tid), n, threads, [&](V i) {
    V value = value_at(i);
    found = g.select((value < least) | (value >= extent), g.min(found, i), found);
  });
  auto less = [&](llvm::Value* a, llvm::Value* c) { return g.call(llvm::Intrinsic::smin, a, c); };
  V place = g.wrap(g.block_reduce(V(found).v, g.i64(kNone).v, less, threads));
  g.when(g.tid == 0, [&] {
    Record(g, in.record, in.number, in.first).note(place != kNone, place, [&] { return value_at(place); });
  });
  g.finish();
}

// Row by row: its first bad weight, and how many are positive.
void emit(GpuModule& module, const gpu::CheckWeights& code) {
  constexpr int kThreads = kernels::kCheckThreads;
  const DType t = code.dtype;
  auto in = gpu::shaped<InCode>(code);
  GpuCode g(module, in, kThreads);
  V rows = in.rows, n = in.n, wanted = in.wanted;
  V weights = g.at(t, in.weights, in.offset);
  auto weight_at = [&](V row, V i) {
    return g.convert(t, DType::Float64, g.read(t, weights, row * in.row_step + i * in.step));
  };
  auto less = [&](llvm::Value* a, llvm::Value* c) { return g.call(llvm::Intrinsic::smin, a, c); };
  auto sum = [&](llvm::Value* a, llvm::Value* c) { return g.b.CreateAdd(a, c); };
  Var place = g.var(g.i64(kNone)), value = g.var(g.i64(0));  // of the first fault; the same in all threads
  Var row = g.var(g.i64(0));
  g.loop_while([&] { return (row < rows) & (place == kNone); },
               [&] {
                 Var bad = g.var(g.i64(kNone)), positive = g.var(g.i64(0));
                 g.loop(g.i64(g.tid), n, kThreads, [&](V i) {
                   V w = weight_at(row, i);
                   V good = (w >= 0.0) & (w < std::numeric_limits<double>::infinity());
                   bad = g.select(good, bad, g.min(bad, i));
                   positive = g.select(w > 0.0, positive + 1, positive);
                 });
                 V worst = g.wrap(g.block_reduce(V(bad).v, g.i64(kNone).v, less, kThreads));
                 V count = g.wrap(g.block_reduce(V(positive).v, g.i64(0).v, sum, kThreads));
                 V few = count < wanted, is_bad = worst != kNone;
                 place = g.select(is_bad, row * n + worst, g.select(few, -1 - row, place));
                 value = count;
                 row = row + 1;
               });
  g.when(g.tid == 0, [&] {
    V where = place;
    g.when((where >= 0) & (where != kNone), [&] { value = g.wrap(g.bits(weight_at(where / n, where % n).v)); });
    Record(g, in.record, in.number, in.first).note(where != kNone, where, [&] { return V(value); });
  });
  g.finish();
}

}  // namespace reprise::jit
