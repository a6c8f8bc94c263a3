#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

#include "kernels/cpu/fragment.h"
#include "kernels/cpu/matmul_product.h"

namespace reprise::kernels {

/// m <= kGemvRows times 1 or 4 rows against streamed weights: of one product, or of several with dots (see `dots`).
class Gemv {
 public:
  Gemv(const MatmulKernels& f, std::span<const ProductCall> all, const Fragment* fragment = nullptr,
       std::int64_t first_row = 0)
      : f_(f), all_(all), p_(all[0]), fragment_(fragment), first_row_(first_row), acc_(acc_dtype(p_.dtype)),
        size_(item_size(acc_)), dot_(dots(f, p_)) {}

  /// Does it make all of the result in one step? Only then it takes a fragment.
  bool direct() const { return p_.dtype == acc_ || dot_; }

  /// Are the weights' rows contiguous, and is there code for dots with them?
  static bool dots(const MatmulKernels& f, const ProductCall& p) { return (p.b_row == 1 || p.k == 1) && f.dot[0]; }

  void run() {
    // Two or three rows are four: the weights are what takes the time.
    filled_ = dot_ && f_.dot[1] && p_.m > 1 && p_.m < kGemvRows;
    std::int64_t in_rows = filled_ ? kGemvRows : p_.a_dtype == acc_ && (p_.a_col == 1 || p_.k <= 1) ? 0 : p_.m;
    const bool direct = this->direct();
    std::int64_t k_row = round_up(p_.k, 64 / size_), n_row = round_up(p_.n, 64 / size_);
    std::int64_t need = (in_rows * k_row + (direct ? 0 : p_.m * n_row)) * size_;
    // Small products are a microsecond or two: no allocator on their way.
    alignas(64) char small[32 << 10];
    Scratch large(need > static_cast<std::int64_t>(sizeof small) ? need : 0);
    char* scratch = large.get() ? large.get() : small;
    x_ = p_.a, x_row_ = p_.a_row;
    if (in_rows) {
      widen_rows(scratch, k_row);
      if (filled_)
        std::memset(scratch + p_.m * k_row * size_, 0, static_cast<std::size_t>((kGemvRows - p_.m) * k_row * size_));
      x_ = scratch, x_row_ = k_row;
    }
    if (!direct) sums_ = scratch + in_rows * k_row * size_, sums_row_ = n_row;
    std::int64_t line = p_.k * item_size(p_.dtype), n = 0;
    if (fragment_) {
      line = (line + p_.m * fragment_->cost()) * static_cast<std::int64_t>(all_.size());
      if (p_.n * line <= kGrainBytes / 3) return ended_columns(0, p_.n);
      return parallel(p_.n, std::max<std::int64_t>(32, kGrainBytes / line),
                      [this](std::int64_t begin, std::int64_t end) { ended_columns(begin, end); });
    }
    for (const ProductCall& p : all_) n += p.n;
    if (n * line <= kGrainBytes / 3)
      for (const ProductCall& p : all_) columns(p, 0, p.n, result(p, 0), result_row(p));
    else
      parallel(n, std::max<std::int64_t>(32, kGrainBytes / line),
               [this](std::int64_t begin, std::int64_t end) { columns_of_all(begin, end); });
    if (!direct) f_.convert_out(sums_, sums_row_, p_.c, p_.c_row, p_.m, p_.n);
  }

 private:
  void widen_rows(char* out, std::int64_t row) {
    if (p_.a_col == 1 && p_.a_dtype == acc_) {
      for (std::int64_t i = 0; i < p_.m; ++i)
        std::memcpy(out + i * row * size_, p_.a + i * p_.a_row * size_, static_cast<std::size_t>(p_.k * size_));
      return;
    }
    if (p_.a_col == 1 && f_.convert_in) return f_.convert_in(p_.a, p_.a_row, out, row, p_.m, p_.k);
    for (std::int64_t i = 0; i < p_.m; ++i)
      gather(matrix_view(p_.a + i * p_.a_row * item_size(p_.a_dtype), p_.a_dtype, 1, p_.k, 0, p_.a_col), acc_,
             out + i * row * size_);
  }

  static constexpr std::int64_t kFilledColumns = 512;
  // weights from a core's own cache or the one behind it: about 10 us of work for one thread (see parallel_for)
  static constexpr std::int64_t kGrainBytes = 384 << 10;
  static constexpr std::int64_t kChunkBytes = 256 << 10;  // of weights that several rows share: stays in the L2 cache

  /// [begin, end) of the products' columns, one product's after the other's.
  void columns_of_all(std::int64_t begin, std::int64_t end) const {
    for (const ProductCall& p : all_) {
      if (end <= 0) return;
      const std::int64_t first = std::max<std::int64_t>(begin, 0);
      if (begin < p.n) columns(p, first, std::min(end, p.n), result(p, first), result_row(p));
      begin -= p.n, end -= p.n;
    }
  }

  /// Columns of all products, and the fragment over them.
  void ended_columns(std::int64_t begin, std::int64_t end) const {
    const std::int64_t item = item_size(p_.dtype),
                       most =
                           std::clamp<std::int64_t>(kEndedBytes / (p_.m * item * std::ssize(all_)) / 8 * 8, 32, kChunk);
    const std::int64_t own = std::count_if(all_.begin(), all_.end(), [](const ProductCall&p) { return !p.c; }),
                       step = std::min(most, end - begin), bytes = p_.m * step * item;
    alignas(64) char small[16 << 10];
    const Scratch large(own * bytes > static_cast<std::int64_t>(sizeof small) ? own * bytes : 0);
    char* const memory = large.get() ? large.get() : small;
    for (; begin < end; begin += step) {
      Block blocks[Fragment::kMostProducts];
      const std::int64_t cols = std::min(step, end - begin);
      char* room = memory;
      for (std::size_t i = 0; i < all_.size(); ++i) {
        const ProductCall& p = all_[i];
        blocks[i] = p.c ? Block{p.c + begin * item, p.c_row} : Block{std::exchange(room, room + bytes), step};
        columns(p, begin, begin + cols, blocks[i].data, blocks[i].row);
      }
      fragment_->run(first_row_, p_.m, begin, cols, blocks);
    }
  }
  static constexpr std::int64_t kEndedBytes = 128 << 10;  // of products before the fragment: in the L2 cache

  /// Where the sums of columns from `col` on stand, and how many elements apart rows are there.
  char* result(const ProductCall& p, std::int64_t col) const {
    return sums_ ? sums_ + col * size_ : p.c + col * item_size(p.dtype);
  }
  std::int64_t result_row(const ProductCall& p) const { return sums_ ? sums_row_ : p.c_row; }

  void columns(const ProductCall& p, std::int64_t begin, std::int64_t end, char* y, std::int64_t y_row) const {
    // More rows than one call serves: the weights come from memory once, and from the cache after that.
    std::int64_t chunk = filled_ ? kFilledColumns
                         : p.m <= kGemvRows
                             ? end - begin
                             : std::max<std::int64_t>(32, kChunkBytes / (p.k * item_size(p.dtype)) / 8 * 8);
    const std::int64_t y_size = dot_ ? item_size(p.dtype) : size_;
    for (; begin < end; begin += chunk, y += chunk * y_size)
      chunk_of_columns(p, begin, std::min(end, begin + chunk), y, y_row);
  }

  void chunk_of_columns(const ProductCall& p, std::int64_t begin, std::int64_t end, char* y_first,
                        std::int64_t y_row) const {
    std::int64_t w_size = item_size(p.dtype), y_size = dot_ ? w_size : size_;
    const char* w = p.b + begin * p.b_col * w_size;
    if (filled_) {
      alignas(64) char sums[kGemvRows * kFilledColumns * sizeof(double)];
      f_.dot[1](x_, x_row_, w, p.b_col, sums, kFilledColumns, end - begin, p.k);
      for (std::int64_t i = 0; i < p.m; ++i)
        std::memcpy(y_first + i * y_row * w_size, sums + i * kFilledColumns * w_size,
                    static_cast<std::size_t>((end - begin) * w_size));
      return;
    }
    for (std::int64_t i = 0; i < p.m;) {
      bool four = p.m - i >= kGemvRows && (dot_ ? static_cast<bool>(f_.dot[1]) : static_cast<bool>(f_.sum[1]));
      // The last rows together with some that are there already (and come out the same): one row alone is summed in
      // another order, and equal rows shall give equal results wherever they stand.
      if (dot_ && f_.dot[1] && p.m > kGemvRows && !four) i = p.m - kGemvRows, four = true;
      const char* x = x_ + i * x_row_ * size_;
      char* y = y_first + i * y_row * y_size;
      if (dot_) {
        f_.dot[four](x, x_row_, w, p.b_col, y, y_row, end - begin, p.k);
      } else {
        for (int r = 0; r < (four ? kGemvRows : 1); ++r)
          std::memset(y + r * y_row * size_, 0, static_cast<std::size_t>((end - begin) * size_));
        f_.sum[four](x, x_row_, w, p.b_row, y, y_row, end - begin, p.k);
      }
      i += four ? kGemvRows : 1;
    }
  }

  const MatmulKernels& f_;
  std::span<const ProductCall> all_;
  const ProductCall& p_;
  const Fragment* fragment_;
  std::int64_t first_row_;
  DType acc_;
  std::int64_t size_;
  bool dot_, filled_ = false;  // filled_: rows are added up to kGemvRows
  const char* x_ = nullptr;
  char* sums_ = nullptr;  // where a product without dots is summed up before it is converted
  std::int64_t x_row_ = 0, sums_row_ = 0;
};

}  // namespace reprise::kernels
