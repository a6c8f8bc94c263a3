#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "kernels/cpu/ended_panels.h"
#include "kernels/cpu/fragment.h"
#include "kernels/cpu/matmul_product.h"
#include "kernels/cpu/panel_blocks.h"
#include "kernels/cpu/panel_sources.h"

namespace reprise::kernels {

/// What a loop over tiles will use next, handed out in parts: each tile fetches one.
class Ahead {
 public:
  void add(const Lines& lines) {
    if (lines.first && lines.rows * lines.bytes <= l2_bytes() / 2) all_[count_++] = lines;
  }
  /// A tile of so many k fetches the next ones.
  void take(micro::GemmTile& t) {
    t.ahead = nullptr;
    while (at_ < count_) {
      const Lines& of = all_[at_];
      const char* p = of.first + row_ * of.step + line_ * 64;
      // Rows that are few end before the tile does, and it would run on far behind them.
      const bool fits = of.step == 64 || of.rows - row_ >= t.k;
      if (line_ += 1; line_ * 64 >= of.bytes || !fits) line_ = 0, row_ += t.k;
      if (row_ >= of.rows) ++at_, row_ = 0;
      if (fits) return void((t.ahead = p, t.ahead_step = of.step));
    }
  }

 private:
  Lines all_[3];
  int count_ = 0, at_ = 0;
  std::int64_t row_ = 0, line_ = 0;
};

/// Blocked product, in one of two ways. The split of k depends on k alone, and so does the order of sums in a tile:
/// both give equal bits.
///
/// Few rows, or few bytes of A: every panel of B, one tile wide, is packed (or read where it stands) and meets all rows
/// at once, while it is in the nearest caches. Panels run in parallel.
///
/// Many rows: B is packed into panels that are all of k deep, as many at a time as packed_bytes holds; then blocks of
/// rows times groups of panels run in parallel. A block of A is widened (or read in place), and every tile of it meets
/// every panel of the group.
class Gemm {
 public:
  Gemm(const MatmulKernels& f, const PackedProduct& all, std::int64_t packed_bytes)
      : f_(f), all_(all), p_(all.p), acc_(acc_dtype(all.p.dtype)), size_(item_size(acc_)),
        lanes_(micro_lanes(f.bits, acc_)), width_(all.source.width()), tile_rows_(gemm_rows(f.bits)),
        packed_bytes_(packed_bytes), image_panels_((all.p.n + width_ - 1) / width_),
        panels_(image_panels_ * all.images), together_(all.each.empty() ? 1 : all.images),
        each_(all.each.empty() ? std::span<const ProductCall>(&all.p, 1) : all.each),
        own_(all.fragment ? EndedPanels::own_products(each_) : 0), c_size_(item_size(all.p.dtype)) {
    const ProductCall& p = p_;
    depth_ = product_depth(p.k, lanes_);
    blocks_ = p.k <= depth_ ? 1 : (p.k + depth_ - 1) / depth_;
    k_room_ = round_up(p.k, lanes_);
    a_in_place_ = p.a_dtype == acc_ && p.a_col == 1;
    // A block of A stays in the L2 cache, with room for what passes through it.
    const std::int64_t most_rows = std::clamp<std::int64_t>(l2_bytes() / 2 / (depth_ * size_), tile_rows_, kBlockRows),
                       blocks = (p.m + most_rows - 1) / most_rows;
    block_rows_ = round_up((p.m + blocks - 1) / blocks, tile_rows_);
    // An odd number of lines to a row, so that a power of two does not put all rows into one set of the cache.
    wide_row_ = round_up(p.k, 64 / size_) | (64 / size_);
  }

  /// Are panels by themselves better than blocks of rows?
  bool by_panels() const {
    return p_.m <= block_rows_ || (p_.m * k_room_ * size_ <= l2_bytes() / 2 && panels_ >= 2 * device::num_threads());
  }

  void run() { by_panels() ? run_by_panels() : run_by_blocks(); }

 private:
  // About 10 us of work for one thread (see parallel_for): multiplications, elements of B.
  static constexpr std::int64_t kGrainFmas = 640 << 10, kGrainPacked = 32 << 10;
  static constexpr std::int64_t kBlockRows = 192;  // of A at most

  /// Panel i: the columns [col, col + cols) of an image. The same columns of images that a fragment reads together come
  /// one after the other.
  struct Panel {
    std::int64_t image, col, cols;
  };
  Panel panel_at(std::int64_t i) const {
    if (together_ > 1) {
      const std::int64_t col = i / together_ * width_;
      return {i % together_, col, std::min(width_, p_.n - col)};
    }
    const std::int64_t image = image_panels_ == panels_ ? 0 : i / image_panels_,
                       col = (i - image * image_panels_) * width_;
    return {image, col, std::min(width_, p_.n - col)};
  }
  std::int64_t c_at(const Panel& at) const { return at.image * all_.c_image + at.col; }

  /// Where elements of a panel's result stand from some row on, where no fragment decides that.
  Block place(const Panel& at, std::int64_t row) const {
    return {p_.c + (row * p_.c_row + c_at(at)) * c_size_, p_.c_row};
  }
  std::int64_t product_of(const Panel& at) const { return together_ > 1 ? at.image : 0; }
  std::int64_t ended_columns(std::int64_t rows) const {
    return EndedPanels::columns_at_once(each_, rows, width_, l2_bytes());
  }
  /// Panels of such rows, in front of a fragment if there is one.
  std::optional<EndedPanels> ended(std::int64_t row, std::int64_t rows, char* own, std::int64_t columns,
                                   std::int64_t from = -1) const {
    if (!all_.fragment) return std::nullopt;
    return EndedPanels(*all_.fragment, each_, all_.first_row, row, rows, own, columns, ended_columns(rows), from);
  }
  /// Multiplications that an element of a result takes, or as much other work.
  std::int64_t work() const { return p_.k + (all_.fragment ? all_.fragment->cost() : 0); }

  /// What tiles read of A, where the panel's sums stand that are not whole yet, and its results: rows from `first` on.
  struct Rows {
    std::int64_t first, count;
    const char* a;
    std::int64_t a_row;
    char* sums;
    std::int64_t sums_row;
    Block c{};
  };
  /// Were B's panels packed before, as tiles read them?
  bool panels_stand() const { return p_.panels && p_.dtype == acc_; }
  bool sums_in_c() const { return p_.dtype == acc_ || blocks_ == 1; }
  bool sum_apart() const { return p_.sum && blocks_ == 1; }

  /// What is added stands in C before the first of several blocks of k.
  void begin_sums(const Panel& of, std::int64_t row, std::int64_t rows) const {
    if (!p_.sum || p_.sum == p_.c || sum_apart()) return;
    for (std::int64_t i = row; i < row + rows; ++i) {
      const std::int64_t at = (i * p_.c_row + c_at(of)) * size_;
      std::memcpy(p_.c + at, p_.sum + at, static_cast<std::size_t>(of.cols * size_));
    }
  }

  /// Rows [k, k + deep) of one panel, which stand at b, times some rows. a: at their element k.
  void tiles(const Panel& at, const char* b, std::int64_t b_row, std::int64_t k, std::int64_t deep, const Rows& rows,
             Ahead& ahead) const {
    micro::GemmTile t;
    t.a_row = rows.a_row, t.b_row = b_row, t.c_row = rows.c.row, t.k = deep;
    t.first = k == 0 && !p_.sum, t.last = k + deep >= p_.k, t.relu = all_.relu;
    t.acc_row = sums_in_c() ? rows.c.row : rows.sums_row;
    each_columns(at.cols, [&](const Columns& columns) {
      const std::int64_t v = columns.first;
      t.n = columns.count;
      t.b = b + v * size_;
      for (std::int64_t i = 0; i < rows.count; i += t.m) {
        const micro::GemmFn f = tile(columns, rows.count - i, t.m);
        t.a = rows.a + i * t.a_row * size_;
        if (all_.bias) t.bias = all_.bias + (rows.first + i) * size_;
        t.c = rows.c.data + (i * rows.c.row + v) * c_size_;
        t.acc = sum_apart()   ? const_cast<char*>(p_.sum) + (static_cast<char*>(t.c) - p_.c)
                : sums_in_c() ? t.c
                              : rows.sums + (i * rows.sums_row + v) * size_;
        ahead.take(t);
        f(&t);
      }
    });
  }

  /// Rows of A from [row, k] on in the accumulator's dtype, for lanes to be a whole number of rows.
  void widen_rows(std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t deep, char* to, std::int64_t to_row,
                  std::int64_t image = 0) const {
    const std::int64_t a_size = item_size(p_.a_dtype);
    const char* a = p_.a + (image * all_.a_image + row * p_.a_row + k * p_.a_col) * a_size;
    if (p_.a_dtype == p_.dtype) return widen(f_, p_.dtype, a, p_.a_row, p_.a_col, to, to_row, rows, deep);
    for (std::int64_t i = 0; i < rows; ++i)
      gather(matrix_view(a + i * p_.a_row * a_size, p_.a_dtype, 1, deep, 0, p_.a_col), acc_, to + i * to_row * size_);
  }

  void run_by_panels() {
    if (images_stand()) return run_by_images();
    // One A for all is widened before; of several each thread widens those that it meets.
    const bool before = !a_in_place_ && all_.a_image == 0;
    Scratch wide(before ? wide_bytes() : 0);
    if (before) widen_rows(0, p_.m, 0, p_.k, wide.get(), wide_row_);
    const Rows rows{0, p_.m, before ? wide.get() : p_.a, before ? wide_row_ : p_.a_row, nullptr, width_};
    // A fragment runs over rows of few vectors slowly: it gets several panels, where there are enough for all threads.
    const std::int64_t units = panels_ / together_,
                       least = all_.fragment ? std::clamp<std::int64_t>(units / (4 * device::num_threads()), 1,
                                                                        ended_columns(p_.m) / width_)
                                             : 1;
    parallel(
        units,
        std::max(least, kGrainFmas / std::max<std::int64_t>(1, p_.m * work() * std::min(p_.n, width_) * together_)),
        [&](std::int64_t b, std::int64_t e) { some_panels(b * together_, e * together_, rows); });
  }
  std::int64_t wide_bytes() const { return round_up(p_.m, lanes_) * wide_row_ * size_; }

  /// Are there matrices that tiles read and write where they stand, each in one go? Then nothing is asked or made for
  /// each.
  bool images_stand() const {
    if (all_.a_image == 0 || all_.fragment || all_.bias || p_.sum || !a_in_place_ || !sums_in_c() || blocks_ > 1 ||
        p_.n > kMostColumns * lanes_)
      return false;
    const std::int64_t first = std::min(width_, p_.n), tail = p_.n % width_;
    std::int64_t row;
    return all_.source.as_it_stands(0, 0, first, row) && (tail == 0 || all_.source.as_it_stands(0, 0, tail, row));
  }
  static constexpr std::int64_t kMostColumns = 16;

  /// Columns that a tile takes, and which.
  struct Columns {
    std::int64_t first, count;
    micro::GemmFn f, few;  ///< few: of kGemmFewRows rows, or null
  };
  /// What takes the first of so many rows, and how many.
  micro::GemmFn tile(const Columns& columns, std::int64_t left, std::int64_t& rows) const {
    // Where a tile has 6, 7 and 8 are two of the small ones: most rows of a second large one would be computed for
    // nothing.
    const bool few = columns.few && (left <= kGemmFewRows || (left > tile_rows_ && left <= 2 * kGemmFewRows));
    rows = std::min<std::int64_t>(few ? kGemmFewRows : tile_rows_, left);
    return few ? columns.few : columns.f;
  }
  /// Of a panel, whose columns may be fewer.
  template <class F>
  void each_columns(std::int64_t cols, F&& take) const {
    for (std::int64_t v = 0, step; v < cols; v += step) {
      const std::int64_t left = cols - v;
      step = left > 2 * lanes_ ? width_ : left > lanes_ ? 2 * lanes_ : lanes_;
      take(Columns{v, std::min(step, left),
                   left > 2 * lanes_ ? f_.gemm_full
                   : left > lanes_   ? f_.gemm_two
                                     : f_.gemm_one,
                   step == gemm_vectors(f_.bits) * lanes_ ? f_.gemm_few : nullptr});
    }
  }

  void run_by_images() const {
    parallel(all_.images, std::max<std::int64_t>(1, kGrainFmas / std::max<std::int64_t>(1, p_.m * p_.n * p_.k)),
             [&](std::int64_t begin, std::int64_t end) {
               Columns columns[kMostColumns];
               std::int64_t count = 0;
               for (std::int64_t col = 0; col < p_.n; col += width_)
                 each_columns(std::min(width_, p_.n - col),
                              [&](Columns of) { of.first += col, columns[count++] = of; });
               micro::GemmTile t;
               t.a_row = p_.a_row, t.c_row = t.acc_row = p_.c_row, t.k = p_.k, t.first = t.last = true,
               t.relu = all_.relu, t.ahead_step = 64;
               auto b_of = [&](std::int64_t image) {
                 return all_.source.as_it_stands(image, 0, std::min(width_, p_.n), t.b_row);
               };
               const char* b = b_of(begin);
               // Meanwhile the next image's matrices are fetched as far as they are dense, a line for each k.
               const std::int64_t a_bytes = p_.a_row == p_.k ? p_.m * p_.k * size_ : 0,
                                  b_bytes = t.b_row == p_.n ? p_.k * p_.n * size_ : 0,
                                  c_bytes = p_.c_row == p_.n ? p_.m * p_.n * c_size_ : 0;
               for (std::int64_t image = begin; image < end; ++image) {
                 const bool next = image + 1 < end;
                 const char* a = p_.a + image * all_.a_image * size_;
                 char* c = p_.c + image * all_.c_image * c_size_;
                 const char *a_ahead = a + all_.a_image * size_, *b_ahead = next ? b_of(image + 1) : nullptr,
                            *c_ahead = c + all_.c_image * c_size_;
                 std::int64_t fetched = 0;
                 for (std::int64_t v = 0; v < count; ++v) {
                   t.n = columns[v].count, t.b = b + columns[v].first * size_;
                   for (std::int64_t i = 0; i < p_.m; i += t.m, fetched += t.k * 64) {
                     const micro::GemmFn f = tile(columns[v], p_.m - i, t.m);
                     t.a = a + i * t.a_row * size_;
                     t.acc = t.c = c + (i * p_.c_row + columns[v].first) * c_size_;
                     const std::int64_t of_b = fetched - a_bytes, of_c = of_b - b_bytes;
                     t.ahead = !next            ? nullptr
                               : of_b < 0       ? a_ahead + fetched
                               : of_c < 0       ? b_ahead + of_b
                               : of_c < c_bytes ? c_ahead + of_c
                                                : nullptr;
                     f(&t);
                   }
                 }
                 b = b_ahead;
               }
             });
  }

  /// What comes after image i: its matrices as far as they are dense.
  Ahead ahead_of_image(std::int64_t i) const {
    Ahead ahead;
    if (all_.a_image == 0 || i + 1 >= all_.images) return ahead;
    auto dense = [&](const char* p, std::int64_t image, std::int64_t row, std::int64_t cols) {
      if (row == cols) ahead.add(Lines::dense(p + (i + 1) * image * size_, p_.m * cols * size_));
    };
    if (a_in_place_) dense(p_.a, all_.a_image, p_.a_row, p_.k);
    ahead.add(all_.source.columns(i + 1, 0, p_.n));
    if (p_.dtype == acc_) dense(p_.c, all_.c_image, p_.c_row, p_.n);
    return ahead;
  }

  void some_panels(std::int64_t begin, std::int64_t end, Rows rows) const {
    const PanelSource& source = all_.source;
    const bool parts = source.packs_parts(), own_a = !a_in_place_ && all_.a_image != 0;
    const std::int64_t tail = p_.n % width_;
    std::int64_t b_row;
    bool stands = true;
    for (std::int64_t i = 0; i < together_; ++i)
      stands = stands && (p_.n < width_ || source.as_it_stands(i, 0, width_, b_row)) &&
               (tail == 0 || source.as_it_stands(i, 0, tail, b_row));
    const std::int64_t panel_bytes = stands ? 0 : (parts ? depth_ : k_room_) * width_ * size_,
                       sums_bytes = sums_in_c() ? 0 : p_.m * width_ * size_;
    const std::int64_t wide_a = own_a ? wide_bytes() : 0,
                       own_columns = own_ ? std::min(ended_columns(p_.m), (end - begin) / together_ * width_) : 0;
    Scratch scratch(panel_bytes + sums_bytes + wide_a + own_ * p_.m * own_columns * c_size_);
    char *packed = scratch.get(), *wide = packed + panel_bytes + sums_bytes;
    rows.sums = packed + panel_bytes;
    std::optional<EndedPanels> ended = this->ended(0, p_.m, wide + wide_a, own_columns);
    const char *const first_a = rows.a, *a = first_a;
    if (own_a) rows.a_row = wide_row_;
    std::int64_t image = -1;
    Ahead of_image;
    for (std::int64_t j = begin; j < end; ++j) {
      const Panel at = panel_at(j);
      if (at.image != image) {
        image = at.image;
        of_image = ahead_of_image(image);
        if (ended && together_ == 1) ended->set_matrix(image * all_.c_image, all_.first_row + image * p_.m);
        if (own_a) widen_rows(0, p_.m, 0, p_.k, wide, wide_row_, image);
        a = own_a ? wide : first_a + image * all_.a_image * size_;
      }
      const char* b = source.as_it_stands(at.image, at.col, at.cols, b_row);
      const bool pack = !b;
      if (pack) b = packed, b_row = width_;
      if (pack && !parts) source.pack(at.image, at.col, at.cols, 0, p_.k, packed);
      Ahead of_panel;
      if ((pack || p_.panels) && j + 1 < end && all_.a_image == 0) {
        const Panel next = panel_at(j + 1);
        of_panel.add(source.columns(next.image, next.col, next.cols));
      }
      begin_sums(at, 0, p_.m);
      rows.c = ended ? ended->place(product_of(at), at.col) : place(at, 0);
      for (std::int64_t k = 0; k < p_.k; k += depth_) {
        const std::int64_t deep = std::min(depth_, p_.k - k);
        if (pack && parts) source.pack(at.image, at.col, at.cols, k, deep, packed);
        rows.a = a + k * size_;
        tiles(at, pack && parts ? b : b + k * b_row * size_, b_row, k, deep, rows, all_.a_image ? of_image : of_panel);
      }
      if (ended) ended->add(product_of(at), at.col, at.cols, j + 1 == end);
    }
  }

  void run_by_blocks() {
    const PanelBlocks blocks{.panels = panels_,
                             .bytes = k_room_ * width_ * size_,
                             .most_bytes = packed_bytes_,
                             .row_blocks = (p_.m + block_rows_ - 1) / block_rows_,
                             .packing = k_room_ * width_,
                             .least_packing = kGrainPacked,
                             .work = block_rows_ * work() * width_,
                             .least_work = kGrainFmas,
                             .together = together_};
    by_panel_blocks(
        blocks, !panels_stand(),
        [&](std::int64_t i, char* to) {
          const Panel at = panel_at(i);
          all_.source.pack(at.image, at.col, at.cols, 0, p_.k, to);
        },
        [&](std::int64_t row_block, std::int64_t first, const char* packed, std::int64_t begin, std::int64_t end) {
          block(row_block * block_rows_, first, packed, begin, end);
        });
  }

  /// A block of rows times panels [first + panel, first + panel_end); those from `first` on stand at `packed`, where
  /// they were packed.
  void block(std::int64_t row, std::int64_t first, const char* packed, std::int64_t panel,
             std::int64_t panel_end) const {
    const std::int64_t count = std::min(block_rows_, p_.m - row), room = round_up(block_rows_, lanes_);
    const std::int64_t a_row = round_up(depth_, 64 / size_) | (64 / size_), sums_row = (panel_end - panel) * width_;
    if (panel == panel_end) return;
    for (std::int64_t j = panel; j < panel_end; ++j) begin_sums(panel_at(first + j), row, count);
    const std::int64_t a_bytes = a_in_place_ ? 0 : room * a_row * size_,
                       sums_bytes = sums_in_c() ? 0 : count * sums_row * size_;
    // Sums that stand in blocks of one's own are kept for all panels until the last of k.
    const bool keeps = sums_in_c() && blocks_ > 1;
    const std::int64_t columns = sums_row / together_,
                       own_columns = own_ ? keeps ? columns : std::min(ended_columns(count), columns) : 0;
    Scratch scratch(a_bytes + sums_bytes + own_ * count * own_columns * c_size_);
    std::optional<EndedPanels> ended = this->ended(row, count, scratch.get() + a_bytes + sums_bytes, own_columns,
                                                   keeps ? panel_at(first + panel).col : -1);
    for (std::int64_t k = 0; k < p_.k; k += depth_) {
      const std::int64_t deep = std::min(depth_, p_.k - k);
      Rows rows{row,      count,   p_.a + (row * p_.a_row + k * p_.a_col) * item_size(p_.a_dtype),
                p_.a_row, nullptr, sums_row};
      if (!a_in_place_)
        widen_rows(row, count, k, deep, scratch.get(), a_row), rows.a = scratch.get(), rows.a_row = a_row;
      auto b = [&](std::int64_t j) {
        if (!panels_stand()) return packed + (j * k_room_ + k) * width_ * size_;
        const Panel at = panel_at(first + j);
        std::int64_t b_row;
        return all_.source.as_it_stands(at.image, at.col, at.cols, b_row) + k * width_ * size_;
      };
      for (std::int64_t j = panel; j < panel_end; ++j) {
        rows.sums = scratch.get() + a_bytes + (j - panel) * width_ * size_;
        Ahead ahead;
        if (j + 1 < panel_end) ahead.add(Lines::dense(b(j + 1), deep * width_ * size_));
        const Panel at = panel_at(first + j);
        rows.c = ended ? ended->place(product_of(at), at.col) : place(at, row);
        tiles(at, b(j), width_, k, deep, rows, ahead);
        if (ended && k + deep >= p_.k) ended->add(product_of(at), at.col, at.cols, j + 1 == panel_end);
      }
    }
  }

  const MatmulKernels& f_;
  const PackedProduct& all_;
  const ProductCall& p_;
  DType acc_;
  std::int64_t size_, lanes_, width_, tile_rows_, packed_bytes_, image_panels_, panels_, together_;
  std::span<const ProductCall> each_;  ///< what a fragment reads
  std::int64_t own_, c_size_, block_rows_, blocks_, depth_, k_room_, wide_row_;
  bool a_in_place_;
};

}  // namespace reprise::kernels
