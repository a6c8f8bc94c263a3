#pragma once
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>

#include "kernels/cpu/fragment.h"
#include "kernels/cpu/matmul_product.h"

namespace reprise::kernels {

/// Panels of products that are whole for some rows, and wait for the fragment that reads them (Note [Fragments]): those
/// of the same columns of all products come one after the other. Products that have no place are made in memory of the
/// thread's own.
class EndedPanels {
 public:
  /// `columns` of each of so many rows are what memory of one's own has room for, bytes_of() of it: for those that
  /// wait, or, from column `from` on, for all.
  EndedPanels(const Fragment& fragment, std::span<const ProductCall> all, std::int64_t first_row, std::int64_t row,
              std::int64_t rows, char* own, std::int64_t columns, std::int64_t at_once, std::int64_t from = -1)
      : fragment_(fragment), all_(all), first_row_(first_row), row_(row), rows_(rows), own_(own), columns_(columns),
        at_once_(at_once), from_(from), item_(item_size(all[0].dtype)) {}

  static std::int64_t own_products(std::span<const ProductCall> all) {
    return std::count_if(all.begin(), all.end(), [](const ProductCall& p) { return !p.c; });
  }
  static std::int64_t bytes_of(std::span<const ProductCall> all, std::int64_t rows, std::int64_t columns) {
    return own_products(all) * rows * columns * item_size(all[0].dtype);
  }
  /// How many columns of panels of such a width the fragment takes at once: blocks of so many rows stay in the L2 cache
  /// together.
  static std::int64_t columns_at_once(std::span<const ProductCall> all, std::int64_t rows, std::int64_t width,
                                      std::int64_t l2_bytes) {
    const std::int64_t most =
        l2_bytes / 4 / std::max<std::int64_t>(1, rows * item_size(all[0].dtype) * std::ssize(all));
    return std::clamp<std::int64_t>(std::min(kColumns, most) / width, 1, (all[0].n + width - 1) / width) * width;
  }

  /// From here on rows are those of another matrix, whose results stand so many elements further on.
  void set_matrix(std::int64_t c_offset, std::int64_t first_row) { c_offset_ = c_offset, first_row_ = first_row; }
  /// Where a panel of a product is made, the next one to be whole; it begins at column `col`.
  Block place(std::int64_t product, std::int64_t col) const {
    return place_in(product, col, from_ >= 0 ? col - from_ : cols_ ? col - first_ : 0);
  }
  /// It is whole. The fragment runs when there are as many columns as it takes at once, at the end of a matrix, or if
  /// it is the `last`.
  void add(std::int64_t product, std::int64_t col, std::int64_t cols, bool last) {
    if (cols_ == 0) first_ = col;
    cols_ = col + cols - first_;
    if (product + 1 < std::ssize(all_) || (!last && cols_ < at_once_ && col + cols < all_[0].n)) return;
    Block blocks[Fragment::kMostProducts];
    for (std::int64_t i = 0; i < std::ssize(all_); ++i)
      blocks[i] = place_in(i, first_, from_ >= 0 ? first_ - from_ : 0);
    fragment_.run(first_row_ + row_, rows_, first_, cols_, blocks);
    cols_ = 0;
  }

 private:
  static constexpr std::int64_t kColumns = 384;
  Block place_in(std::int64_t product, std::int64_t col, std::int64_t own_col) const {
    const ProductCall& p = all_[static_cast<std::size_t>(product)];
    if (p.c) return {p.c + (c_offset_ + row_ * p.c_row + col) * item_, p.c_row};
    return {own_ + (own_products(all_.first(static_cast<std::size_t>(product))) * rows_ * columns_ + own_col) * item_,
            columns_};
  }

  const Fragment& fragment_;
  std::span<const ProductCall> all_;
  std::int64_t first_row_, row_, rows_;
  char* own_;
  std::int64_t columns_, at_once_, from_, item_, c_offset_ = 0;
  std::int64_t first_ = 0, cols_ = 0;  // what waits
};

}  // namespace reprise::kernels
