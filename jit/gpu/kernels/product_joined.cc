// Note [Joined products] in kernels/gpu/product_joined.h.
#include "kernels/gpu/product_joined.h"

#include <algorithm>
#include <array>
#include <memory>

#include "jit/gpu/kernels/kernels.h"
#include "jit/gpu/loop/emitter.h"

namespace reprise::jit {

namespace {

constexpr int kThreads = gpu::kProductJoinedThreads, kWarps = kThreads / kWarp;
constexpr int kInFlight = 8;  // loads of 16 bytes that a thread has under way
/// Batches of such loads, behind those that are under way, that the second cache has or is about to have (12 KiB of a warp in all): what the memory
/// gives while the row is made, and no more than that cache holds of all blocks.
constexpr int kAhead = 2;

class Joined {
 public:
  Joined(GpuModule& module, const gpu::ProductJoined& code)
      : code_(code), in_(gpu::shaped<InCode>(code)), g(module, in_, kThreads), t_(code.dtype), size_(static_cast<int>(item_size(t_))), run_(16 / size_), runs_(code.depth / run_) {
    for (std::size_t i = 0; i < code.parts.size(); ++i) loops_.push_back(std::make_unique<GpuLoopEmitter>(g, code.parts[i].kernel, arguments(code.parts[i], in_.parts[i], nullptr), kThreads));
  }

  void run() {
    find_lines();
    if (code_.row.empty()) row_ = g.at(t_, *in_.a, *in_.a_offset);
    else row_ = g.shared(t_, code_.depth);
    V fast = g.aligned(row_, 16);
    for (const Var& line : lines_) fast = fast & g.aligned(line, 16);
    const int whole = runs_ / kWarp, first = std::min(whole, batch());
    std::vector<Vars> ahead(static_cast<std::size_t>(first));
    for (Vars& held : ahead)
      for (std::size_t c = 0; c < columns(); ++c) held.push_back(g.var(g.wrap(llvm::Constant::getNullValue(raw_type()))));
    g.when(fast, [&] {
      for (int i = 0; i < first; ++i)
        for (std::size_t c = 0; c < columns(); ++c) ahead[static_cast<std::size_t>(i)][c] = read_raw(lines_[c], element_of(g.i64(i)));
      ask_for(g.i64(first), kAhead * batch());
    });
    if (code_.early) g.wait_for_earlier();
    if (!code_.row.empty()) GpuLoopEmitter(g, code_.row[0].kernel, arguments(code_.row[0], in_.row[0], row_.v), kThreads).row();

    for (std::size_t c = 0; c < columns(); ++c) sums_.push_back({g.var(DType::Float32, 0), g.var(DType::Float32, 0)});
    g.when(
        fast,
        [&] {
          for (int i = 0; i < first; ++i) add(ahead[static_cast<std::size_t>(i)], element_of(g.i64(i)));
          const int batches = (whole - first) / batch();
          if (batches > 0) g.loop(g.i64(first), g.i64(first + batches * batch()), g.i64(batch()), [&](V i) {
            if (first + kAhead * batch() < turns()) ask_for(i + kAhead * batch(), batch());
            some(i, batch());
          });
          some(g.i64(first + batches * batch()), whole - first - batches * batch());
          if (runs_ % kWarp) g.when(g.lane_id < runs_ % kWarp, [&] { some(g.i64(whole), 1); });
        },
        [&] {
          g.loop(g.i64(g.lane_id), g.i64(code_.depth), g.i64(kWarp), [&](V i) {
            V x = g.read(t_, row_, i);
            for (std::size_t c = 0; c < columns(); ++c) sums_[c][0] = g.multiply_add(x, g.read(t_, lines_[c], i), sums_[c][0]);
          });
        });
    for (auto& s : sums_) totals_.push_back(g.sum_lanes(s[0] + s[1]));
    g.when(g.lane_id == 0, [&] { in_parts([&](std::size_t part, V block) { finish(part, block); }); });
    g.finish();
  }

 private:
  std::size_t columns() const { return static_cast<std::size_t>(code_.columns); }
  int turns() const { return (runs_ + kWarp - 1) / kWarp; }
  int batch() const { return std::max(1, kInFlight / code_.columns); }
  /// The first element of this lane's run in turn i.
  V element_of(V i) { return (i * kWarp + g.i64(g.lane_id)) * run_; }

  llvm::Type* raw_type() { return llvm::FixedVectorType::get(g.b.getInt32Ty(), 4); }
  V read_raw(V line, V element) { return g.wrap(g.b.CreateAlignedLoad(raw_type(), g.at(t_, line, element).v, llvm::Align(16))); }
  void add(const Vars& held, V element) {
    const Vs x = g.read_run(t_, g.at(t_, row_, element), run_);
    for (std::size_t c = 0; c < columns(); ++c) {
      const auto w = g.elements_of(t_, static_cast<V>(held[c]).v);
      // Two sums, that half of the additions wait for each other.
      for (std::size_t i = 0; i < x.size(); ++i) sums_[c][i % 2] = g.multiply_add(x[i], g.wrap(w[i]), sums_[c][i % 2]);
    }
  }
  /// `n` turns from i on, as far as there are so many, for the second cache. Lines are aligned to 16 bytes.
  void ask_for(V i, int n) {
    if (g.gpu.sm < 90) return;
    V from = i * kWarp, bytes = g.i32(g.min(g.i64(runs_) - from, n * kWarp)) * 16;
    g.when((g.lane_id == 0) & (from < runs_), [&] {
      for (const Var& line : lines_) g.prefetch(g.at(t_, line, from * run_).v, bytes.v);
    });
  }
  /// `n` turns from i on, whose loads are all under way before the first is used.
  void some(V i, int n) {
    std::vector<Vars> held(static_cast<std::size_t>(n));
    for (int j = 0; j < n; ++j)
      for (std::size_t c = 0; c < columns(); ++c) held[static_cast<std::size_t>(j)].push_back(g.var(read_raw(lines_[c], element_of(i + j))));
    for (int j = 0; j < n; ++j) add(held[static_cast<std::size_t>(j)], element_of(i + j));
  }

  template <class Args>
  static InnerArguments arguments(const gpu::InnerLoop& l, const Args& args, llvm::Value* own) {
    const gpu::InnerAccesses of(l);
    InnerArguments r;
    r.buffers.resize(l.kernel.buffers.size(), own);
    for (std::size_t i = 0; i < of.loads.size(); ++i) r.buffers[l.kernel.accesses[of.loads[i]].buffer] = args.sources[i].v;
    for (std::size_t i = 0; i < of.stores.size(); ++i) r.buffers[l.kernel.accesses[of.stores[i]].buffer] = args.targets[i].v;
    for (const V& p : args.params) r.params.push_back(p.v);
    return r;
  }

  int points_of_warp(std::size_t part) const { return code_.points(code_.parts[part]); }
  V points(std::size_t part) { return g.wrap(loops_[part]->points()); }
  /// f(part, this block's number in it), in the part that the block is of: the same for all of its threads.
  void in_parts(const std::function<void(std::size_t, V)>& f) { in_parts(0, g.block_id, f); }
  void in_parts(std::size_t part, V block, const std::function<void(std::size_t, V)>& f) {
    if (part + 1 == code_.parts.size()) return f(part, block);
    V blocks = g.ceil_div(points(part), g.i64(points_of_warp(part) * kWarps));
    g.when(block < blocks, [&] { f(part, block); }, [&] { in_parts(part + 1, block - blocks, f); });
  }
  /// f(point, the first of its columns) for the points of this warp. Those behind the last one have a number all the same.
  void for_points(std::size_t part, V block, const std::function<void(V, std::size_t)>& f) {
    const int mine = points_of_warp(part);
    V first = (block * kWarps + g.i64(g.warp_id)) * mine;
    for (int j = 0; j < mine; ++j) f(first + j, static_cast<std::size_t>(j * gpu::ProductJoined::reads(code_.parts[part])));
  }
  /// f(access, its product, its column) for the elements of products that a point of a part reads, in order.
  void for_reads(std::size_t part, std::size_t column, const std::function<void(std::size_t, std::size_t, std::size_t)>& f) {
    const std::vector<int>& product = code_.parts[part].product;
    for (std::size_t a = 0; a < product.size(); ++a)
      if (product[a] >= 0) f(a, static_cast<std::size_t>(product[a]), column++);
  }

  void find_lines() {
    for (std::size_t c = 0; c < columns(); ++c) lines_.push_back(g.var(static_cast<V>(in_.products[0].buffer)));
    in_parts([&](std::size_t part, V block) {
      for_points(part, block, [&](V point, std::size_t column) {
        loops_[part]->at_point(g.min(point, points(part) - 1).v, [&] {
          for_reads(part, column, [&](std::size_t access, std::size_t product, std::size_t c) {
            const auto& m = in_.products[product];
            lines_[c] = g.at(t_, m.buffer, m.offset + g.wrap(loops_[part]->place_of(access)) * m.step);
          });
        });
      });
    });
  }

  void finish(std::size_t part, V block) {
    for_points(part, block, [&](V point, std::size_t column) {
      g.when(point < points(part), [&] {
        loops_[part]->at_point(point.v, [&] {
          std::vector<llvm::Value*> loaded(code_.parts[part].product.size());
          for_reads(part, column, [&](std::size_t access, std::size_t product, std::size_t c) {
            const auto& m = in_.products[product];
            V x = totals_[c];
            if (m.bias) x = x + g.read(t_, *m.bias, *m.bias_offset + g.wrap(loops_[part]->place_of(access)) * *m.bias_step);
            loaded[access] = g.to_register(t_, g.to_memory(t_, x.v));
          });
          loops_[part]->compute_point(loaded);
        });
      });
    });
  }

  const gpu::ProductJoined& code_;
  gpu::ProductJoined::Args<InCode> in_;
  GpuCode g;
  const DType t_;
  const int size_, run_, runs_;  ///< of an element, in bytes; elements of 16 bytes; runs of a line
  std::vector<std::unique_ptr<GpuLoopEmitter>> loops_;  ///< by part
  V row_;
  Vars lines_;                                          ///< by column: its first element
  std::vector<std::array<Var, 2>> sums_;
  Vs totals_;
};

}  // namespace

void emit(GpuModule& module, const gpu::ProductJoined& code) {
  module.waits_later = code.early;
  Joined(module, code).run();
}

}  // namespace reprise::jit
