#include "kernels/cpu/low_product.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <optional>

#include "base/errors.h"
#include "device/cpu_info.h"
#include "kernels/cpu/ended_panels.h"
#include "kernels/cpu/fragment.h"
#include "kernels/cpu/panel_blocks.h"

namespace reprise::kernels {
namespace {

// Below about 10 us of work a second thread costs more than it gives (see parallel_for); these are such amounts.
constexpr std::int64_t kGrainAmx = 4 << 20, kGrainPairs = 1280 << 10;
constexpr std::int64_t kGrainPacked = 32 << 10;  // elements of B

constexpr std::int64_t kPackedBytes = 8 << 20;  // of B at a time: stays in the L3 cache
constexpr std::int64_t kMostRows = 384;         // of A that meet a panel: their sums stay in the L1 and L2 caches

using Word = std::uint16_t;
Word half_of(float x) { return static_cast<Word>(std::bit_cast<std::uint32_t>(x) >> 16); }  // of one that is exact

/// Panels of B, some at a time, meet blocks of A's rows; a panel is taken in parts of k that stay in the L1 cache,
/// between which sums are kept in Float32: they are the same for any parts.
class LowProduct {
 public:
  LowProduct(const MatmulKernels& f, std::span<const ProductCall> all, const Fragment* fragment, std::int64_t first_row)
      : f_(f), all_(all), p_(all[0]), fragment_(fragment), first_row_(first_row), panels_(f, p_) {
    const ProductCall& p = p_;
    REPRISE_CHECK(!p.sum && p.dtype == DType::BFloat16 && (fragment || all.size() == 1));
    const device::CpuInfo& cpu = device::cpu_info();
    const std::int64_t step = 2 * low_step(f.low);
    k_room_ = round_up(p.k, step);
    depth_ = std::max<std::int64_t>(128, cpu.l1d_bytes * 2 / 3 / (panels_.width() * 2) / step * step);
    in_place_ = p.a_dtype == p.dtype && p.a_col == 1 && p.k % step == 0;
    const std::int64_t most = std::clamp<std::int64_t>(cpu.l2_bytes / 2 / (k_room_ * 2) / kTileRows * kTileRows,
                                                       kTileRows, kMostRows),
                       blocks = (p.m + most - 1) / most;
    block_rows_ = round_up((p.m + blocks - 1) / blocks, kTileRows);
  }

  void run() {
    // Panels of the same columns of all products are neighbours.
    const std::int64_t width = panels_.width();
    const PanelBlocks blocks{.panels = (p_.n + width - 1) / width * together(),
                             .bytes = panels_.bytes(),
                             .most_bytes = kPackedBytes,
                             .row_blocks = (p_.m + block_rows_ - 1) / block_rows_,
                             .packing = panels_.bytes() / 2,
                             .least_packing = kGrainPacked,
                             .work = block_rows_ * (p_.k + (fragment_ ? fragment_->cost() : 0)) * width,
                             .least_work = f_.low == LowForm::Amx ? kGrainAmx : kGrainPairs,
                             .together = together()};
    by_panel_blocks(
        blocks, !p_.panels,
        [&](std::int64_t i, char* to) {
          const std::int64_t col = column_of(i);
          PairPanels(f_, product_of(i)).pack(col, std::min(width, p_.n - col), to);
        },
        [&](std::int64_t row_block, std::int64_t first, const char* packed, std::int64_t begin, std::int64_t end) {
          block(row_block * block_rows_, first, packed, begin, end);
        });
  }

 private:
  static constexpr std::int64_t kTileRows = 2 * kLowRows;

  std::int64_t together() const { return std::ssize(all_); }
  /// Of panel i of all.
  std::int64_t column_of(std::int64_t i) const { return i / together() * panels_.width(); }
  const ProductCall& product_of(std::int64_t i) const { return all_[static_cast<std::size_t>(i % together())]; }

  /// Rows of A from `row` on, filled up with zeros along k, as bfloat16.
  void take_rows(std::int64_t row, std::int64_t rows, Word* to, std::int64_t to_row) const {
    const std::int64_t size = item_size(p_.a_dtype);
    const char* from = p_.a + row * p_.a_row * size;
    auto each = [&]<class T>(const T* x, auto&& half) {
      if (p_.a_col == 1 && std::is_same_v<T, Word>) {
        for (std::int64_t i = 0; i < rows; ++i)
          std::memcpy(to + i * to_row, x + i * p_.a_row, static_cast<std::size_t>(p_.k * 2));
      } else {
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t l = 0; l < p_.k; ++l) to[i * to_row + l] = half(x[i * p_.a_row + l * p_.a_col]);
      }
    };
    if (p_.a_dtype == p_.dtype) each(reinterpret_cast<const Word*>(from), [](Word x) { return x; });
    else each(reinterpret_cast<const float*>(from), half_of);
    for (std::int64_t i = 0; i < rows; ++i)
      std::memset(to + i * to_row + p_.k, 0, static_cast<std::size_t>((k_room_ - p_.k) * 2));
  }

  /// A block of rows times panels [first + panel, first + panel_end); those from `first` on stand at `packed`, where
  /// they were packed.
  void block(std::int64_t row, std::int64_t first, const char* packed, std::int64_t panel,
             std::int64_t panel_end) const {
    if (panel == panel_end) return;
    const std::int64_t rows = std::min(block_rows_, p_.m - row), width = panels_.width();
    // The rows that stand where they are, and those that are copied: all, or what no whole tile is left of.
    const std::int64_t here = in_place_ ? rows / kLowRows * kLowRows : 0, copied = round_up(rows - here, kLowRows);
    const std::int64_t row_bytes = k_room_ * 2 + 64;  // not a power of two
    const Scratch sums(round_up(rows, kLowRows) * width * 4), own(copied * row_bytes);
    if (copied) {
      take_rows(row + here, rows - here, own.as<Word>(), row_bytes / 2);
      for (std::int64_t i = rows - here; i < copied; ++i)
        std::memset(own.get() + i * row_bytes, 0, static_cast<std::size_t>(row_bytes));
    }
    std::optional<EndedPanels> ended;
    const std::int64_t columns =
        fragment_ ? EndedPanels::columns_at_once(all_, rows, width, device::cpu_info().l2_bytes) : 0;
    const Scratch own_c(fragment_ ? EndedPanels::bytes_of(all_, rows, columns) : 0);
    if (fragment_) ended.emplace(*fragment_, all_, first_row_, row, rows, own_c.get(), columns, columns);
    for (std::int64_t j = panel; j < panel_end; ++j) {
      const std::int64_t i = first + j, number = i % together(), col = column_of(i), cols = std::min(width, p_.n - col);
      const ProductCall& p = product_of(i);
      const char* const at = p.panels ? p.panels + i / together() * panels_.bytes() : packed + j * panels_.bytes();
      for (std::int64_t k = 0; k < k_room_; k += depth_) {
        const std::int64_t groups = std::min(depth_, k_room_ - k) / 2;
        const char* b = at + k / 2 * width * 4;
        if (here) f_.low_tile(p_.a + (row * p_.a_row + k) * 2, p_.a_row * 2, b, sums.get(), here, groups, k == 0);
        if (copied) f_.low_tile(own.get() + k * 2, row_bytes, b, sums.get() + here * width * 4, copied, groups, k == 0);
      }
      const Block c = ended ? ended->place(number, col) : Block{p_.c + (row * p_.c_row + col) * 2, p_.c_row};
      f_.convert_out(sums.get(), width, c.data, c.row, rows, cols);
      if (ended) ended->add(number, col, cols, j + 1 == panel_end);
    }
  }

  const MatmulKernels& f_;
  const std::span<const ProductCall> all_;
  const ProductCall& p_;
  const Fragment* fragment_;
  const std::int64_t first_row_;
  const PairPanels panels_;
  std::int64_t k_room_, depth_, block_rows_;
  bool in_place_;
};

}  // namespace

PairPanels::PairPanels(const MatmulKernels& f, const ProductCall& p)
    : f_(f), p_(p), width_(low_columns(f.low, f.bits)),
      rows_(round_up((p.k + 1) / 2, micro_lanes(f.bits, DType::Float32))) {}

void PairPanels::pack(std::int64_t col, std::int64_t cols, char* panel) const {
  const std::int64_t lanes = micro_lanes(f_.bits, DType::Float32), k = p_.k, row = p_.b_row, column = p_.b_col;
  const char* from = p_.b + col * column * 2;
  if (column == 1 && f_.interleave) {
    f_.interleave(from, row * 2, panel, width_, k, cols);
  } else {
    // Pairs are what is transposed.
    const bool as_is = row == 1 && k % 2 == 0 && column % 2 == 0 && reinterpret_cast<std::uintptr_t>(from) % 4 == 0;
    std::int64_t pairs = column / 2;
    const Scratch loose(as_is ? 0 : cols * rows_ * 4);
    if (!as_is) {
      const Word* src = reinterpret_cast<const Word*>(from);
      for (std::int64_t j = 0; j < cols; ++j) {
        Word* to = loose.as<Word>() + j * rows_ * 2;
        if (row == 1) std::memcpy(to, src + j * column, static_cast<std::size_t>(k * 2));
        else
          for (std::int64_t i = 0; i < k; ++i) to[i] = src[j * column + i * row];
        if (k % 2) to[k] = 0;
      }
      from = loose.get(), pairs = rows_;
    }
    for (std::int64_t j = 0; j < cols; j += lanes)
      f_.turn(from + j * pairs * 4, pairs, panel + j * 4, width_, std::min(lanes, cols - j), (k + 1) / 2);
  }
  const std::int64_t filled = (k + 1) / 2;
  std::memset(panel + filled * width_ * 4, 0, static_cast<std::size_t>((rows_ - filled) * width_ * 4));
}

void multiply_low(const MatmulKernels& f, std::span<const ProductCall> all, const Fragment* fragment,
                  std::int64_t first_row) {
  LowProduct(f, all, fragment, first_row).run();
}

}  // namespace reprise::kernels
