#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "device/cpu_info.h"
#include "kernels/cpu/fragment.h"
#include "kernels/cpu/matmul_product.h"

namespace reprise::kernels {

/// Widened copy of src[rows, cols] with rows of `out_row` elements; `out` has room for its rows and columns rounded up
/// to lanes. What is written there are numbers that nothing slows down: none is subnormal by chance. The fastest way
/// the strides allow.
inline void widen(const MatmulKernels& f, DType t, const char* src, std::int64_t row, std::int64_t col, char* out,
                  std::int64_t out_row, std::int64_t rows, std::int64_t cols) {
  DType acc = acc_dtype(t);
  std::int64_t lanes = micro_lanes(f.bits, acc);
  if (col == 1 && f.convert_in) return f.convert_in(src, row, out, out_row, rows, cols);
  if (row == 1 && f.transpose) {
    for (std::int64_t j = 0; j < cols; j += lanes)
      f.transpose(src + j * col * item_size(t), col, out + j * item_size(acc), out_row, std::min(lanes, cols - j),
                  rows);
    return;
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    char* to = out + i * out_row * item_size(acc);
    gather(matrix_view(src + i * row * item_size(t), t, 1, cols, row, col), acc, to);
    std::memset(to + cols * item_size(acc), 0,
                static_cast<std::size_t>((round_up(cols, lanes) - cols) * item_size(acc)));
  }
}

/// The L2 cache of a core, or what the smallest that matters has.
inline std::int64_t l2_bytes() { return std::max<std::int64_t>(256 << 10, device::cpu_info().l2_bytes); }

/// B as it stands in memory, or in panels that were packed before.
class MatrixSource final : public PanelSource {
 public:
  MatrixSource(const MatmulKernels& f, const ProductCall& p, std::int64_t image = 0)
      : f_(f), p_(p), image_(image), lanes_(micro_lanes(f.bits, acc_dtype(p.dtype))), size_(item_size(p.dtype)) {
    // Four vectors are two panels of two: one alone has too few sums to keep a core busy. Those that were packed before
    // have the full width (packed.h).
    const std::int64_t most = gemm_vectors(f.bits);
    width_ = (most == 3 && !p.panels && (p.n + lanes_ - 1) / lanes_ == 4 ? 2 : most) * lanes_;
    // A tile may read rows where they stand if they are side by side in the caches, or hardly read twice. Rows a page
    // apart meet in few sets.
    const std::int64_t bytes = p.k * p.n * size_, tiles = (p.m + gemm_rows(f.bits) - 1) / gemm_rows(f.bits);
    in_place_ = p.b_col == 1 && p.dtype == acc_dtype(p.dtype) &&
                (tiles == 1 || (bytes <= l2_bytes() / 4 && p.b_row * size_ % 1024 != 0) || bytes <= kSmall);
  }
  std::int64_t width() const override { return width_; }
  void pack(std::int64_t image, std::int64_t col, std::int64_t cols, std::int64_t k, std::int64_t deep,
            char* panel) const override {
    if (p_.panels) return f_.convert_in(p_.panels + (col * room() + k * width_) * size_, 0, panel, 0, 1, deep * width_);
    widen(f_, p_.dtype, p_.b + (image * image_ + k * p_.b_row + col * p_.b_col) * size_, p_.b_row, p_.b_col, panel,
          width_, deep, cols);
  }
  bool packs_parts() const override { return true; }
  const char* as_it_stands(std::int64_t image, std::int64_t col, std::int64_t cols, std::int64_t& row) const override {
    if (p_.panels) return row = width_, p_.dtype == acc_dtype(p_.dtype) ? panel(col) : nullptr;
    row = p_.b_row;
    return in_place_ && cols % lanes_ == 0 ? p_.b + (image * image_ + col) * size_ : nullptr;
  }
  Lines columns(std::int64_t image, std::int64_t col, std::int64_t cols) const override {
    if (p_.panels) return Lines::dense(panel(col), room() * width_ * size_);
    const char* first = p_.b + (image * image_ + col * p_.b_col) * size_;
    if ((p_.b_row == 1 && p_.b_col == p_.k) || (cols == p_.n && p_.b_col == 1 && p_.b_row == p_.n))
      return Lines::dense(first, cols * p_.k * size_);
    if (p_.b_col == 1) return {first, p_.k, p_.b_row * size_, cols * size_};
    return {};
  }

 private:
  static constexpr std::int64_t kSmall = 32 << 10;
  std::int64_t room() const { return (p_.k + lanes_ - 1) / lanes_ * lanes_; }
  const char* panel(std::int64_t col) const { return p_.panels + col * room() * size_; }

  const MatmulKernels& f_;
  const ProductCall& p_;
  std::int64_t image_, lanes_, size_, width_;
  bool in_place_;
};

/// The B's of several products of one A, all of as many columns.
class MatricesSource final : public PanelSource {
 public:
  MatricesSource(const MatmulKernels& f, std::span<const ProductCall> all) {
    for (std::size_t i = 0; i < all.size(); ++i) all_[i].emplace(f, all[i]);
  }
  std::int64_t width() const override { return at(0).width(); }
  void pack(std::int64_t image, std::int64_t col, std::int64_t cols, std::int64_t k, std::int64_t deep,
            char* panel) const override {
    at(image).pack(0, col, cols, k, deep, panel);
  }
  bool packs_parts() const override { return true; }
  const char* as_it_stands(std::int64_t image, std::int64_t col, std::int64_t cols, std::int64_t& row) const override {
    return at(image).as_it_stands(0, col, cols, row);
  }
  Lines columns(std::int64_t image, std::int64_t col, std::int64_t cols) const override {
    return at(image).columns(0, col, cols);
  }

 private:
  const MatrixSource& at(std::int64_t image) const { return *all_[static_cast<std::size_t>(image)]; }
  std::array<std::optional<MatrixSource>, Fragment::kMostProducts> all_;  // no allocator on a call's way
};

}  // namespace reprise::kernels
