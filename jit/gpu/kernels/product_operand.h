#pragma once
#include <algorithm>
#include <functional>

#include "jit/gpu/kernels/kernels.h"

namespace reprise::jit {

/// An operand of a tiled product: a block's threads bring tiles of it into shared memory, k outermost, as the type that
/// is summed. `line` is a row of a or a column of b.
class ProductOperand {
 public:
  static constexpr int kTile = static_cast<int>(kernels::kProductTile),
                       kDepth = static_cast<int>(kernels::kProductDepth);
  static constexpr int kRow = kTile + 4;  // of shared memory: keeps runs of 16 bytes aligned
  static constexpr int kProductThreads = kernels::kProductThreads;
  static constexpr int kEach = kTile * kDepth / kProductThreads;  // elements of a tile that a thread moves

  /// Of dtype `t`; its tiles are of `sum`. `offset_of`: of a line, in elements. `lines`: how many there are.
  ProductOperand(GpuCode& g, gpu::Lines kind, DType t, DType sum, V p, V first, V lines, V depth, V k_stride,
                 const std::function<V(V)>& offset_of, const Vs& line_strides)
      : g_(g), kind_(kind), t_(t), sum_(sum), p_(p), depth_(depth), k_stride_(k_stride) {
    tile_ = g.shared(sum_, kDepth * kRow);
    run_ = std::min(8, 16 / static_cast<int>(item_size(t)));
    V last = lines - 1;
    auto offset = [&](V line) { return offset_of(g.min(first + g.i64(line), last)); };
    switch (kind) {
      case gpu::Lines::Deep: {  // runs of k; kDepth / run_ threads for a line
        int across = kDepth / run_;
        k_ = (g.tid % across) * run_;
        for (int i = 0; i < kEach / run_; ++i) {
          lines_.push_back(g.tid / across + i * (kProductThreads / across));
          offsets_.push_back(offset(lines_.back()));
        }
        fast_ = g.aligned(p, run_ * static_cast<int>(item_size(t)));
        for (const V& s : line_strides) fast_ = fast_ & (s % run_ == 0);
        break;
      }
      case gpu::Lines::Wide: {  // runs of lines; kTile / run_ threads for a k
        int across = kTile / run_;
        V line = (g.tid % across) * run_;
        k_ = g.tid / across;
        for (int i = 0; i < run_; ++i) lines_.push_back(line + i), offsets_.push_back(offset(line + i));
        fast_ = g.aligned(p, run_ * static_cast<int>(item_size(t))) & (k_stride % run_ == 0) & (first + kTile <= lines);
        break;
      }
      case gpu::Lines::Any:
        lines_ = {g.tid % kTile};
        k_ = g.tid / kTile;
        offsets_ = {offset(lines_[0])};
    }
    for (int i = 0; i < kEach; ++i) held_.push_back(g.var(sum_, 0));
  }

  /// Starts the loads of the tile whose first k is `from`; beyond the depth, or `end`, there are zeros.
  void fetch(V from) { fetch(from, depth_); }
  void fetch(V from, V end) {
    end_ = end;
    if (kind_ == gpu::Lines::Any) return fetch_single(from);
    g_.when(
        kind_ == gpu::Lines::Deep ? fast_ & (from + kDepth <= end_) : fast_, [&] { fetch_runs(from); },
        [&] { fetch_single(from); });
  }
  void put() {
    for (int i = 0; i < kEach; ++i)
      g_.write(sum_, tile_, k_of(i) * kRow + line_of(i), held_[static_cast<std::size_t>(i)]);
  }
  /// `n` neighbouring lines' elements at k.
  Vs read(V k, V line, int n) {
    Vs r;
    int run = 16 / static_cast<int>(item_size(sum_));
    for (int i = 0; i < n; i += run)
      for (V& v : g_.read_run(sum_, g_.at(sum_, tile_, k * kRow + line + i), run)) r.push_back(v);
    return r;
  }

 private:
  // Element i of this thread: its k and line in the tile.
  V k_of(int i) const {
    switch (kind_) {
      case gpu::Lines::Deep: return k_ + i % run_;
      case gpu::Lines::Wide: return k_ + i / run_ * (kProductThreads / (kTile / run_));
      default: return k_ + i * (kProductThreads / kTile);
    }
  }
  std::size_t index_of(int i) const {
    return static_cast<std::size_t>(kind_ == gpu::Lines::Deep ? i / run_ : kind_ == gpu::Lines::Wide ? i % run_ : 0);
  }
  V line_of(int i) const { return lines_[index_of(i)]; }

  V element(V x) { return is_low_precision(t_) ? x : g_.convert(t_, sum_, x); }

  void fetch_single(V from) {
    V last = end_ - 1;
    for (int i = 0; i < kEach; ++i) {
      V k = from + g_.i64(k_of(i));
      V x = element(g_.read(t_, p_, offsets_[index_of(i)] + g_.min(k, last) * k_stride_));
      held_[static_cast<std::size_t>(i)] = g_.select(k < end_, x, 0);
    }
  }
  void fetch_runs(V from) {
    V last = end_ - 1;
    for (int i = 0; i < kEach; i += run_) {
      V k = from + g_.i64(k_of(i));
      V at = kind_ == gpu::Lines::Deep ? offsets_[index_of(i)] + k : offsets_[0] + g_.min(k, last) * k_stride_;
      Vs x = g_.read_run(t_, g_.at(t_, p_, at), run_);
      for (int j = 0; j < run_; ++j) {
        V v = element(x[static_cast<std::size_t>(j)]);
        held_[static_cast<std::size_t>(i + j)] = kind_ == gpu::Lines::Deep ? v : g_.select(k < end_, v, 0);
      }
    }
  }

  GpuCode& g_;
  gpu::Lines kind_;
  DType t_, sum_;
  V p_, depth_, end_, k_stride_, tile_, k_, fast_;
  int run_;
  Vs lines_, offsets_;
  Vars held_;
};

}  // namespace reprise::jit
