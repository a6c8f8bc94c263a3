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
/// Loads of 16 bytes that a thread has under way: half as many where they wait for the row to be made, in registers
/// that it needs.
constexpr int kInFlight = 8, kInFlightOfRow = 4;
/// As many loads, those under way and others, of which the second cache has the bytes or is about to have them (12 KiB
/// of a warp): what the memory gives while the row is made, and no more than that cache holds of all blocks.
constexpr int kAhead = 24;
constexpr std::size_t kOperands = 12;  // of all parts that are kept in registers

class Joined {
 public:
  Joined(GpuModule& module, const gpu::ProductJoined& code)
      // Blocks that make a row wait for it one after the other: several must be there, and some of the next kernel's.
      : code_(code), in_(gpu::shaped<InCode>(code)), g(module, in_, kThreads,
                                                       code.row.empty()               ? 1
                                                       : is_low_precision(code.dtype) ? 5
                                                                                      : 4),
        t_(code.dtype), size_(static_cast<int>(item_size(t_))), run_(16 / size_), runs_(code.depth / run_) {
    for (std::size_t i = 0; i < code.parts.size(); ++i)
      loops_.push_back(std::make_unique<GpuLoopEmitter>(g, code.parts[i].kernel,
                                                        arguments(code.parts[i], in_.parts[i], nullptr), kThreads));
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
      for (std::size_t c = 0; c < columns(); ++c) held.push_back(g.var(g.raw_zeros()));
    g.when(fast, [&] {
      for (int i = 0; i < first; ++i)
        for (std::size_t c = 0; c < columns(); ++c)
          ahead[static_cast<std::size_t>(i)][c] = read_raw(lines_[c], element_of(g.i64(i)));
      ask_for(g.i64(first), asked());
    });
    if (!code_.row.empty()) ask_for_row();
    if (code_.early) g.wait_for_earlier();
    read_operands();
    if (!code_.row.empty())
      GpuLoopEmitter(g, code_.row[0].kernel, arguments(code_.row[0], in_.row[0], row_.v), kThreads, code_.depth).row();

    for (std::size_t c = 0; c < columns(); ++c) sums_.push_back({g.var(DType::Float32, 0), g.var(DType::Float32, 0)});
    g.when(
        fast,
        [&] {
          for (int i = 0; i < first; ++i) add(ahead[static_cast<std::size_t>(i)], element_of(g.i64(i)));
          const int batches = (whole - first) / batch();
          if (batches > 0)
            g.loop(g.i64(first), g.i64(first + batches * batch()), g.i64(batch()), [&](V i) {
              if (first + asked() < turns()) ask_for(i + asked(), batch());
              some(i, batch());
            });
          some(g.i64(first + batches * batch()), whole - first - batches * batch());
          if (runs_ % kWarp) g.when(g.lane_id < runs_ % kWarp, [&] { some(g.i64(whole), 1); });
        },
        [&] {
          g.loop(g.i64(g.lane_id), g.i64(code_.depth), g.i64(kWarp), [&](V i) {
            V x = g.read(t_, row_, i);
            for (std::size_t c = 0; c < columns(); ++c)
              sums_[c][0] = g.multiply_add(x, g.read(t_, lines_[c], i), sums_[c][0]);
          });
        });
    for (auto& s : sums_) totals_.push_back(g.sum_lanes(s[0] + s[1]));
    g.when(g.lane_id == 0, [&] { in_parts([&](std::size_t part, V block) { finish(part, block); }); });
    g.finish();
  }

 private:
  std::size_t columns() const { return static_cast<std::size_t>(code_.columns); }
  int turns() const { return (runs_ + kWarp - 1) / kWarp; }
  int batch() const { return std::max(1, (code_.row.empty() ? kInFlight : kInFlightOfRow) / code_.columns); }
  /// turns of which the second cache is asked for the bytes
  int asked() const { return kAhead / code_.columns - batch(); }
  /// The first element of this lane's run in turn i.
  V element_of(V i) { return (i * kWarp + g.i64(g.lane_id)) * run_; }

  V read_raw(V line, V element) { return g.read_raw(g.at(t_, line, element)); }
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
      for (std::size_t c = 0; c < columns(); ++c)
        held[static_cast<std::size_t>(j)].push_back(g.var(read_raw(lines_[c], element_of(i + j))));
    for (int j = 0; j < n; ++j) add(held[static_cast<std::size_t>(j)], element_of(i + j));
  }

  template <class Args>
  static InnerArguments arguments(const gpu::InnerLoop& l, const Args& args, llvm::Value* own) {
    const gpu::InnerAccesses of(l);
    InnerArguments r;
    r.buffers.resize(l.kernel.buffers.size(), own);
    for (std::size_t i = 0; i < of.loads.size(); ++i)
      r.buffers[l.kernel.accesses[of.loads[i]].buffer] = args.sources[i].v;
    for (std::size_t i = 0; i < of.stores.size(); ++i)
      r.buffers[l.kernel.accesses[of.stores[i]].buffer] = args.targets[i].v;
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
    g.when(
        block < blocks, [&] { f(part, block); }, [&] { in_parts(part + 1, block - blocks, f); });
  }
  /// f(point, the first of its columns) for the points of this warp. Those behind the last one have a number all the
  /// same.
  void for_points(std::size_t part, V block, const std::function<void(V, std::size_t)>& f) {
    const int mine = points_of_warp(part);
    V first = (block * kWarps + g.i64(g.warp_id)) * mine;
    for (int j = 0; j < mine; ++j)
      f(first + j, static_cast<std::size_t>(j * gpu::ProductJoined::reads(code_.parts[part])));
  }
  /// f(access, its product, its column) for the elements of products that a point of a part reads, in order.
  void for_reads(std::size_t part, std::size_t column,
                 const std::function<void(std::size_t, std::size_t, std::size_t)>& f) {
    const std::vector<int>& product = code_.parts[part].product;
    for (std::size_t a = 0; a < product.size(); ++a)
      if (product[a] >= 0) f(a, static_cast<std::size_t>(product[a]), column++);
  }

  // from memory, at a place that depends on the point alone
  static bool is_read(const gpu::InnerLoop& l, std::size_t access) {
    return l.product[access] < 0 && !l.kernel.buffers[l.kernel.accesses[access].buffer].written &&
           l.kernel.accesses[access].gathers.empty();
  }
  V pointer(const gpu::InnerLoop& l, const InnerArguments& of, std::size_t access) {
    return g.wrap(of.buffers[l.kernel.accesses[access].buffer]);
  }
  static DType dtype_of(const gpu::InnerLoop& l, std::size_t access) {
    return l.kernel.buffers[l.kernel.accesses[access].buffer].dtype;
  }

  /// Asks for what the row is made of: but for what the kernel before this one makes, a norm's weights, no cache has
  /// it.
  void ask_for_row() {
    const gpu::InnerLoop& l = code_.row[0];
    const InnerArguments of = arguments(l, in_.row[0], row_.v);
    GpuLoopEmitter row(g, l.kernel, of, kThreads);
    for (std::size_t a = 0; a < l.kernel.accesses.size(); ++a) {
      if (!is_read(l, a)) continue;
      const int each = GpuEmitter::kCacheLine / static_cast<int>(item_size(dtype_of(l, a)));
      g.loop(g.i64(g.tid * each), g.wrap(row.points()), g.i64(kThreads * each), [&](V point) {
        row.at_point(point.v, [&] { g.prefetch(g.at(dtype_of(l, a), pointer(l, of, a), g.wrap(row.place_of(a))).v); });
      });
    }
  }

  /// What is computed of the products reads this, too. It comes while the products are made.
  void read_operands() {
    std::size_t n = 0;
    for (const gpu::InnerLoop& l : code_.parts)
      for (std::size_t a = 0; a < l.product.size(); ++a)
        n += is_read(l, a) ? static_cast<std::size_t>(code_.points(l)) : 0;
    if (n > kOperands) return;
    for (const gpu::InnerLoop& l : code_.parts) {
      std::vector<Var>& operands = operands_.emplace_back();
      for (int j = 0; j < code_.points(l); ++j)
        for (std::size_t a = 0; a < l.product.size(); ++a)
          operands.push_back(
              is_read(l, a) ? g.var(g.wrap(llvm::Constant::getNullValue(g.register_type(dtype_of(l, a))))) : Var());
    }
    in_parts([&](std::size_t part, V block) {
      const gpu::InnerLoop& l = code_.parts[part];
      const InnerArguments of = arguments(l, in_.parts[part], nullptr);
      std::size_t at = 0;
      for_points(part, block, [&](V point, std::size_t) {
        loops_[part]->at_point(g.min(point, points(part) - 1).v, [&] {
          for (std::size_t a = 0; a < l.product.size(); ++a, ++at)
            if (is_read(l, a))
              operands_[part][at] = g.read(dtype_of(l, a), pointer(l, of, a), g.wrap(loops_[part]->place_of(a)));
        });
      });
    });
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
    std::size_t at = 0;
    for_points(part, block, [&](V point, std::size_t column) {
      g.when(point < points(part), [&] {
        loops_[part]->at_point(point.v, [&] {
          std::vector<llvm::Value*> loaded(code_.parts[part].product.size());
          for (std::size_t a = 0; a < loaded.size() && !operands_.empty(); ++a, ++at)
            if (is_read(code_.parts[part], a)) loaded[a] = static_cast<V>(operands_[part][at]).v;
          for_reads(part, column, [&](std::size_t access, std::size_t product, std::size_t c) {
            const auto& m = in_.products[product];
            V x = totals_[c];
            if (m.bias)
              x = x + g.read(t_, *m.bias, *m.bias_offset + g.wrap(loops_[part]->place_of(access)) * *m.bias_step);
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
  Vars lines_;  ///< by column: its first element
  /// by part: by point and access; none: read where they are needed
  std::vector<std::vector<Var>> operands_;
  std::vector<std::array<Var, 2>> sums_;
  Vs totals_;
};

}  // namespace

void emit(GpuModule& module, const gpu::ProductJoined& code) {
  module.waits_later = code.early;
  Joined(module, code).run();
}

}  // namespace reprise::jit
