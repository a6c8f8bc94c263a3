#include "kernels/cpu/scaled.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <type_traits>

#include "base/errors.h"
#include "device/cpu_info.h"
#include "kernels/cpu/matmul_product.h"
#include "kernels/cpu/packed.h"
#include "kernels/launch/layout.h"
#include "kernels/launch/named.h"
#include "kernels/launch/product.h"
#include "kernels/launch/scales.h"
#include "kernels/reference/reference.h"

namespace reprise::kernels {
namespace {

// Below about 10 us of work a second thread costs more than it gives (see parallel_for); these are such amounts.
constexpr std::int64_t kGrainBytes = 256 << 10;
constexpr std::int64_t kGrainProducts = 4 << 20;

constexpr std::int64_t kColumnsAtOnce = 256;  // of a few rows: their sums stay in the L1 cache
// bytes that several groups of rows share: they stay in the L2 cache
constexpr std::int64_t kWeightsAtOnce = 256 << 10;
constexpr std::int64_t kFloatDepth = 512;   // of panels in Float32: one shares the L2 cache with rows of a
constexpr int kLowTileRows = 6 * kLowRows;  // of a that meet a panel by tiles: their sums stay in the L1 cache
constexpr std::int64_t kLowDepth = 256;     // groups of a panel that they meet, which stay there, too
constexpr std::int64_t kRowsAtOnce = 1024;  // of a for each panel that is packed
constexpr std::int64_t kLeastAtOnce = 192;  // however long rows are: packing is little beside it

/// The micro-kernels of one launch. Integers have sums in Int32, others in Float32.
struct Kernels {
  int bits = 0;
  bool integers = false, bytes = false, halves = false;
  micro::IntDotFn int_dot[2] = {};  ///< 1 and 4 rows
  micro::GemvDotFn dot[2] = {};
  micro::IntTileFn int_tile = nullptr;  ///< null where low_tile is not
  micro::LowTileFn low_tile = nullptr;
  micro::InterleaveFn interleave = nullptr;  ///< of bytes
  micro::GemmFn tile = nullptr;
  micro::TransposeFn transpose = nullptr;                 ///< of Float32 (groups of integers), or of the weights' dtype
  micro::ConvertFn widen_a = nullptr, widen_b = nullptr;  ///< to Float32
  micro::ScaleSumsFn scale = nullptr, round = nullptr;    ///< round: of sums in Float32, which are scaled
  micro::BlockDotFn block_dot[2] = {};                    ///< null where scales are of all of k
  Multiplied form = Multiplied::Floats;

  int lanes() const { return bits / 32; }
  int tile_rows() const { return low_tile ? kLowTileRows : gemm_rows(bits); }
  int width() const { return low_tile ? low_columns(LowForm::Amx, bits) : gemm_vectors(bits) * lanes(); }
  int group() const { return integers ? int_group(bytes) : 1; }
  /// What the elements along k of packed rows and panels are filled up to.
  std::int64_t step() const { return low_tile ? low_step(LowForm::Amx) * 4 : group(); }
};

/// Are products of int8 with many rows those of tiles?
bool by_tiles(int bits, Multiplied form) {
  return form == Multiplied::Bytes && low_form(bits, DType::Int8) == LowForm::Amx;
}

/// The code of a launch, in this order: dots, tile, transposition, interleaving of bytes, ScaleSums, widening of a and
/// b; dots by blocks, ScaleSums of theirs.
std::vector<KernelCode> codes(int bits, Multiplied form, bool tiles, DType a, DType b, DType c, bool bias,
                              bool blocks) {
  const DType f32 = DType::Float32;
  const bool integers = a == DType::Int8, bytes = form == Multiplied::Bytes;
  std::vector<KernelCode> out;
  for (int rows : {1, kGemvRows})
    out.push_back(integers                     ? KernelCode(micro::IntDot{bits, bytes, rows})
                  : form == Multiplied::Halves ? KernelCode(micro::HalfDot{bits, b, rows})
                                               : KernelCode(micro::GemvDot{bits, b, f32, rows}));
  if (tiles) out.push_back(micro::LowTile{bits, LowForm::Amx, a});
  else
    out.push_back(integers ? KernelCode(micro::IntTile{bits, bytes})
                           : KernelCode(micro::Gemm{bits, f32, f32, gemm_rows(bits), gemm_vectors(bits)}));
  const bool turned = bytes && !tiles;
  out.push_back(micro::Transpose{bits, integers ? f32 : b, f32, turned});
  if (bytes) out.push_back(micro::Interleave{bits, 1, turned});
  if (c == DType::Int32) return out;
  out.push_back(micro::ScaleSums{bits, integers ? DType::Int32 : f32, c, bias});
  if (!integers) out.push_back(micro::Convert{bits, a, f32}), out.push_back(micro::Convert{bits, b, f32});
  if (!blocks) return out;
  for (int rows : {1, kGemvRows}) out.push_back(micro::BlockDot{bits, form, b, rows});
  if (integers) out.push_back(micro::ScaleSums{bits, f32, c, bias});
  return out;
}

Kernels kernels_of(const NativeArgs& args, int code_arg, bool integers, bool scaled) {
  const auto form = static_cast<Multiplied>(args.integer(code_arg, 1));
  Kernels f{.bits = static_cast<int>(args.integer(code_arg, 0)),
            .integers = integers,
            .bytes = form == Multiplied::Bytes,
            .halves = form == Multiplied::Halves};
  f.form = form;
  void* const* code = args.micro;
  auto next = [&]<class Fn>(Fn& fn) { fn = reinterpret_cast<Fn>(*code++); };
  for (int i = 0; i < 2; ++i) {
    if (integers) next(f.int_dot[i]);
    else next(f.dot[i]);
  }
  if (args.integer(code_arg, 3)) next(f.low_tile);
  else if (integers) next(f.int_tile);
  else next(f.tile);
  next(f.transpose);
  if (f.bytes) next(f.interleave);
  if (!scaled) return f;
  next(f.scale);
  f.round = f.scale;
  if (!integers) next(f.widen_a), next(f.widen_b);
  if (!args.integer(code_arg, 2)) return f;
  for (int i = 0; i < 2; ++i) next(f.block_dot[i]);
  if (integers) next(f.round);
  return f;
}

/// A product on its way: c has rows of unit stride.
class Product {
 public:
  /// panels: of b (packed.h), or null.
  Product(const Kernels& f, const ScaledCall& s, bool scaled, const char* panels)
      : f_(f), s_(s), scaled_(scaled), panels_(panels), m_(s.a.sizes[0]), n_(s.b.sizes[1]), k_(s.a.sizes[1]),
        k_stride_(k_ == 1 ? 1 : s.b.strides[0]), n_stride_(n_ == 1 ? 0 : s.b.strides[1]) {}

  void run(char* c, std::int64_t c_row) {
    c_ = c, c_row_ = c_row;
    const bool few = m_ <= kDotRows && k_stride_ == 1 && !panels_;
    for (std::int64_t k = 0; k < k_ || k == 0;) {
      const std::int64_t end = end_of_sum(k, few ? k_ : k + kFloatDepth);
      parts_.push_back({k, end, packed_});
      packed_ += round_up(end - k, few ? (f_.halves ? kHalfStep : f_.group()) : f_.step());
      if (end == k) break;
      k = end;
    }
    take_rows(few);
    take_scales(few);
    if (few) few_rows();
    else many_rows();
  }

 private:
  /// Elements of k that are summed before they are scaled, and where they stand in packed rows.
  struct Part {
    std::int64_t begin, end, packed;
  };

  std::int64_t end_of_sum(std::int64_t k, std::int64_t most) const {
    if (!scaled_) return k_;
    const std::int64_t end = s_.end_of_sum(k);
    return f_.integers ? end : std::min(end, most);
  }

  /// Bytes of an element of a as the kernels take it.
  std::int64_t x_size(bool few) const { return f_.integers ? (f_.bytes ? 1 : 2) : few && f_.halves ? 2 : 4; }

  /// A row of Float32 that is exact in bfloat16, as HalfDot takes it, part by part.
  void take_halves(const float* from, std::uint16_t* to) const {
    auto half = [](float x) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16); };
    for (const Part& p : parts_) {
      const std::int64_t n = p.end - p.begin;
      for (std::int64_t i = 0; i < n; i += 8) {  // half_place keeps eight together
        const float* x = from + p.begin + i;
        std::uint16_t* y = to + p.packed + i / kHalfStep * kHalfStep + half_place(static_cast<int>(i % kHalfStep));
        if (i + 8 <= n)
          for (int l = 0; l < 8; ++l) y[l] = half(x[l]);
        else
          for (int l = 0; l < 8; ++l) y[l] = i + l < n ? half(x[l]) : 0;
      }
      for (std::int64_t i = round_up(n, 8); i < round_up(n, kHalfStep); i += 8)
        std::memset(to + p.packed + i / kHalfStep * kHalfStep + half_place(static_cast<int>(i % kHalfStep)), 0, 16);
    }
  }

  /// a's rows as the kernels take them: bytes, words, bfloat16 or Float32, each part filled up to whole groups; and
  /// what sums of bytes start with.
  void take_rows(bool few) {
    const std::int64_t size = item_size(s_.a.dtype), col = s_.a.strides[1];
    const bool unit = col == 1 || k_ <= 1;
    const std::int64_t to_size = x_size(few);
    const bool whole =
        std::all_of(parts_.begin(), parts_.end(), [&](const Part& p) { return (p.end - p.begin) % f_.group() == 0; });
    const bool in_place = unit && (s_.a.dtype == DType::Float32 || (f_.bytes && (few || (whole && !f_.low_tile))));
    if (in_place) {
      rows_ = s_.a.data, row_ = s_.a.strides[0];
      if (!few) take_starts();
      return;
    }
    row_ = few && !f_.halves ? k_ : packed_;
    rows_own_.emplace(std::max<std::int64_t>(1, (f_.low_tile ? round_up(m_, kLowRows) : m_) * row_ * to_size));
    rows_ = rows_own_->get();
    parallel(m_, std::max<std::int64_t>(1, kGrainBytes / std::max<std::int64_t>(1, k_)),
             [&](std::int64_t begin, std::int64_t end) {
               const bool halves = few && f_.halves;
               Scratch dense(unit ? 0 : k_ * size), wide(halves ? k_ * 4 : 0);
               for (std::int64_t i = begin; i < end; ++i) {
                 const char* from = s_.a.data + i * s_.a.strides[0] * size;
                 char* to = rows_own_->get() + i * row_ * to_size;
                 if (!unit) {
                   TensorView v = s_.a;
                   v.rank = 1, v.data = const_cast<char*>(from), v.sizes[0] = k_, v.strides[0] = col;
                   compact(v, dense.get());
                   from = dense.get();
                 }
                 if (!f_.integers) {
                   f_.widen_a(from, 0, halves ? wide.get() : to, 0, 1, k_);
                   if (halves) take_halves(wide.as<float>(), reinterpret_cast<std::uint16_t*>(to));
                   continue;
                 }
                 for (std::size_t p = 0; p < parts_.size(); ++p) {
                   const std::int64_t from_k = parts_[p].begin, n = parts_[p].end - from_k,
                                      at = few ? from_k : parts_[p].packed, room = few ? n : round_up(n, f_.step());
                   const std::int8_t* x = reinterpret_cast<const std::int8_t*>(from) + from_k;
                   if (f_.bytes) {
                     std::int8_t* y = reinterpret_cast<std::int8_t*>(to) + at;
                     std::memcpy(y, x, static_cast<std::size_t>(n));
                     std::memset(y + n, 0, static_cast<std::size_t>(room - n));
                   } else {
                     std::int16_t* y = reinterpret_cast<std::int16_t*>(to) + at;
                     for (std::int64_t j = 0; j < n; ++j) y[j] = x[j];
                     for (std::int64_t j = n; j < room; ++j) y[j] = 0;
                   }
                 }
               }
             });
    if (!few) take_starts();
  }

  /// What sums of integers start with, by part and row: 0, or what the weights' 128 are too much.
  void take_starts() {
    if (!f_.integers || f_.low_tile) return;
    starts_.assign(static_cast<std::size_t>(m_) * parts_.size(), 0);
    if (!f_.bytes || k_ == 0) return;
    std::int64_t deepest = 0;
    for (const Part& p : parts_) deepest = std::max(deepest, p.end - p.begin);
    const std::vector<std::int8_t> ones(static_cast<std::size_t>(deepest), 1);
    parallel(m_, std::max<std::int64_t>(1, kGrainBytes / k_), [&](std::int64_t begin, std::int64_t end) {
      for (std::size_t p = 0; p < parts_.size(); ++p) {
        const std::int64_t at = parts_[p].packed, deep = parts_[p].end - parts_[p].begin;
        std::int32_t* starts = starts_.data() + p * static_cast<std::size_t>(m_);
        for (std::int64_t i = begin, rows; i < end; i += rows) {
          const bool four = end - i >= kGemvRows;
          rows = four ? kGemvRows : 1;
          f_.int_dot[four](rows_ + i * row_ + at, row_, ones.data(), 0, starts + i, 1, 1, deep);
        }
        for (std::int64_t i = begin; i < end; ++i)
          starts[i] = static_cast<std::int32_t>(std::uint32_t{0} - 128u * static_cast<std::uint32_t>(starts[i]));
      }
    });
  }

  /// Of an empty sum any: there may be none.
  float scale(const Scales& s, std::int64_t line, std::int64_t k) const { return k_ ? s.at(line, k) : 1; }

  /// Scales of rows and columns, part by part, each without gaps; bias as Float32.
  void take_scales(bool few) {
    if (!scaled_) return;
    const bool by_parts_a = k_ && s_.scale_a.k_group != 0, by_parts_b = k_ && s_.scale_b.k_group != 0;
    const std::size_t parts_a = by_parts_a ? parts_.size() : 1, parts_b = by_parts_b ? parts_.size() : 1;
    row_scales_.resize(parts_a * static_cast<std::size_t>(m_));
    for (std::size_t p = 0; p < parts_a; ++p)
      for (std::int64_t i = 0; i < m_; ++i)
        row_scales_[p * static_cast<std::size_t>(m_) + static_cast<std::size_t>(i)] =
            scale(s_.scale_a, i, parts_[p].begin);
    row_scales_by_ = by_parts_a ? m_ : 0;
    if (k_ && parts_b == 1 && s_.scale_b.line_group == 1 && s_.scale_b.line_stride == 1) {
      col_scales_ = s_.scale_b.data;
    } else if (!few || !by_blocks()) {
      col_scales_own_.resize(parts_b * static_cast<std::size_t>(n_));
      float* to = col_scales_own_.data();
      for (std::size_t p = 0; p < parts_b; ++p)
        for (std::int64_t j = 0; j < n_;) {
          const float value = scale(s_.scale_b, j, parts_[p].begin);
          for (const std::int64_t end = std::min(n_, j + s_.scale_b.line_group); j < end; ++j) *to++ = value;
        }
      col_scales_ = col_scales_own_.data();
    }
    col_scales_by_ = by_parts_b ? n_ : 0;
    if (few && by_blocks()) {  // by row, blocks together
      ones_.assign(kColumnsAtOnce, 1);
      for (std::int64_t i = 0; i < m_; ++i)
        for (const Part& p : parts_) block_scales_.push_back(s_.scale_a.at(i, p.begin));
    }
    if (!s_.bias) return;
    bias_ = s_.bias->as<const float>();
    if (s_.bias->dtype == DType::Float32 && (s_.bias->strides[0] == 1 || n_ == 1)) return;
    bias_own_.resize(static_cast<std::size_t>(n_));
    gather(*s_.bias, DType::Float32, reinterpret_cast<char*>(bias_own_.data()));
    bias_ = bias_own_.data();
  }

  /// Sums of part p of m rows from `row` on and n columns from `column` on: into the result, or (not the last part)
  /// into `partial`.
  void finish(std::size_t p, std::int64_t row, std::int64_t m, std::int64_t column, std::int64_t n, const void* sums,
              std::int64_t sums_row, float* partial, std::int64_t partial_row) const {
    char* c = c_ + (row * c_row_ + column) * item_size(s_.c.dtype);
    if (!scaled_) {
      for (std::int64_t i = 0; i < m; ++i)
        std::memcpy(c + i * c_row_ * 4, static_cast<const std::int32_t*>(sums) + i * sums_row,
                    static_cast<std::size_t>(n * 4));
      return;
    }
    const std::int64_t part = static_cast<std::int64_t>(p);
    const micro::ScaleTile t{sums,
                             sums_row,
                             partial,
                             partial_row,
                             row_scales_.data() + part * row_scales_by_ + row,
                             col_scales_ + part * col_scales_by_ + column,
                             bias_ ? bias_ + column : nullptr,
                             c,
                             c_row_,
                             m,
                             n,
                             p == 0,
                             p + 1 == parts_.size()};
    f_.scale(&t);
  }

  // ---- few rows: the weights are read once, as they stand

  void few_rows() {
    const std::int64_t line = std::max<std::int64_t>(1, k_);
    parallel(n_, std::max<std::int64_t>(64, kGrainBytes / line), [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t step = m_ <= kGemvRows && (parts_.size() == 1 || by_blocks())
                                    ? kColumnsAtOnce
                                    : std::clamp<std::int64_t>(kWeightsAtOnce / line / 8 * 8, 16, kColumnsAtOnce);
      for (std::int64_t j = begin; j < end; j += step) columns(j, std::min(step, end - j));
    });
  }

  /// The length of blocks that are scaled where their rows are read; 0: not so.
  std::int64_t by_blocks() const {
    const std::int64_t block = std::max(s_.scale_a.k_group, s_.scale_b.k_group);
    return f_.block_dot[0] && parts_.size() > 1 && block <= ScaledCall::kLongestSum &&
                   block % dot_step(f_.form, f_.bits) == 0
               ? block
               : 0;
  }

  void columns(std::int64_t column, std::int64_t n) const {
    alignas(64) std::int32_t sums[kGemvRows * kColumnsAtOnce];
    alignas(64) float partial[kGemvRows * kColumnsAtOnce];
    const std::int64_t size = x_size(true), block = by_blocks();
    for (std::int64_t i = 0; i < m_;) {
      bool four = m_ - i >= kGemvRows;
      // As in Gemv (matmul_product.cc): equal rows give equal results wherever they stand.
      if (m_ > kGemvRows && !four) i = m_ - kGemvRows, four = true;
      const std::int64_t rows = four ? kGemvRows : 1;
      if (block) {
        for (std::int64_t j = 0; j < n;) {  // columns that share a block's scales, together
          const Scales& s = s_.scale_b;
          const std::int64_t first = column + j, group = s.line_group,
                             count = group == 1 ? n - j : std::min(n - j, group - first % group);
          f_.block_dot[four](
              rows_ + i * row_ * size, row_, s_.b.data + first * n_stride_, n_stride_, partial + j, kColumnsAtOnce,
              count, k_, block, block_scales_.data() + i * static_cast<std::int64_t>(parts_.size()),
              static_cast<std::int64_t>(parts_.size()), s.of_line(first), group == 1 ? s.line_stride : 0, s.k_stride);
          j += count;
        }
        const micro::ScaleTile t{partial,
                                 kColumnsAtOnce,
                                 reinterpret_cast<float*>(sums),
                                 kColumnsAtOnce,
                                 ones_.data(),
                                 ones_.data(),
                                 bias_ ? bias_ + column : nullptr,
                                 c_ + (i * c_row_ + column) * item_size(s_.c.dtype),
                                 c_row_,
                                 rows,
                                 n,
                                 1,
                                 1};
        f_.round(&t);
        i += rows;
        continue;
      }
      for (std::size_t p = 0; p < parts_.size(); ++p) {
        const std::int64_t k = parts_[p].begin, deep = parts_[p].end - k;
        const char *x = rows_ + (i * row_ + (f_.halves ? parts_[p].packed : k)) * size,
                   *w = s_.b.data + column * n_stride_ + k;
        if (f_.integers) f_.int_dot[four](x, row_, w, n_stride_, sums, kColumnsAtOnce, n, deep);
        else f_.dot[four](x, row_, w, n_stride_, sums, kColumnsAtOnce, n, deep);
        finish(p, i, rows, column, n, sums, kColumnsAtOnce, partial, kColumnsAtOnce);
      }
      i += rows;
    }
  }

  // ---- many rows: a panel of the weights, as wide as a tile, is packed and meets all rows

  void many_rows() {
    const std::int64_t width = f_.width(), panels = (n_ + width - 1) / width;
    // Few panels: threads share their rows, and each packs for itself.
    const std::int64_t wanted = device::num_threads() == 1 ? 1 : device::num_threads() * 2;
    const std::int64_t splits = std::clamp<std::int64_t>(wanted / panels, 1, (m_ + 63) / 64);
    const std::int64_t share = round_up((m_ + splits - 1) / splits, f_.tile_rows());
    const std::int64_t tasks = panels * ((m_ + share - 1) / share),
                       products = std::max<std::int64_t>(1, std::min(m_, share) * k_ * width);
    parallel(tasks, std::max<std::int64_t>(1, kGrainProducts / products), [&](std::int64_t begin, std::int64_t end) {
      std::int64_t deepest = 0;
      for (const Part& p : parts_) deepest = std::max(deepest, p.end - p.begin);
      const std::int64_t room = round_up(round_up(deepest, f_.group()), f_.lanes() * f_.group());
      Scratch panel(panels_ ? 0 : room / f_.group() * width * 4),
          partial(parts_.size() > 1 ? share * width * 4 : f_.tile_rows() * width * 4),
          loose(panels_ ? 0 : width * room * 2);
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t row = i / panels * share, column = i % panels * width, n = std::min(width, n_ - column);
        for (std::size_t p = 0; p < parts_.size(); ++p) {
          if (!panels_) pack(parts_[p], column, n, panel.get(), loose.get());
          rows_by_panel(p, row, std::min(share, m_ - row), column, n,
                        panels_ ? panels_ + column * round_up(k_, f_.step()) : panel.get(), partial.as<float>());
        }
      }
    });
  }

  /// Part p of some rows times n columns, which stand in a panel.
  void rows_by_panel(std::size_t p, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t n,
                     const char* panel, float* partial) const {
    alignas(64) std::int32_t sums[kLowTileRows * 32];
    const std::int64_t width = f_.width();
    const Part& part = parts_[p];
    for (std::int64_t i = 0; i < rows; i += f_.tile_rows()) {
      const std::int64_t m = std::min<std::int64_t>(f_.tile_rows(), rows - i), first = row + i;
      if (f_.low_tile) {
        const std::int64_t groups = round_up(part.end - part.begin, f_.step()) / 4;
        for (std::int64_t k = 0; k < std::max<std::int64_t>(groups, 1); k += kLowDepth)
          f_.low_tile(rows_ + first * row_ + part.packed + k * 4, row_, panel + k * width * 4, sums,
                      round_up(m, kLowRows), std::min(kLowDepth, groups - k), k == 0);
      } else if (f_.integers) {
        const std::int64_t size = f_.bytes ? 1 : 2;
        const bool straight = !scaled_ && n == width;
        std::int32_t* to = straight ? reinterpret_cast<std::int32_t*>(c_) + first * c_row_ + column : sums;
        f_.int_tile(rows_ + (first * row_ + part.packed) * size, row_ * size, panel,
                    starts_.data() + p * static_cast<std::size_t>(m_) + static_cast<std::size_t>(first), to,
                    straight ? c_row_ : width, m, round_up(part.end - part.begin, f_.group()) / f_.group());
        if (straight) continue;
      } else {
        micro::GemmTile t;
        t.a = rows_ + (first * row_ + part.begin) * 4, t.a_row = row_, t.b = panel, t.b_row = width, t.acc = sums,
        t.acc_row = width, t.c = sums, t.c_row = width;
        t.m = m, t.n = width, t.k = part.end - part.begin, t.first = 1, t.last = 1;
        f_.tile(&t);
      }
      finish(p, first, m, column, n, sums, width, partial + (parts_.size() > 1 ? i * width : 0), width);
    }
  }

  /// Columns [column, column + n) of a part of the weights: by groups along k, each group's columns beside one another;
  /// zeros fill up the last step.
  void pack(const Part& part, std::int64_t column, std::int64_t n, char* panel, char* loose) const {
    pack_groups(part, column, n, panel, loose);
    const std::int64_t deep = part.end - part.begin, groups = round_up(deep, f_.group()) / f_.group(),
                       line = f_.width() * 4;
    std::memset(panel + groups * line, 0,
                static_cast<std::size_t>((round_up(deep, f_.step()) / f_.group() - groups) * line));
  }

  void pack_groups(const Part& part, std::int64_t column, std::int64_t n, char* panel, char* loose) const {
    const std::int64_t group = f_.group(), deep = part.end - part.begin, room = round_up(deep, group),
                       width = f_.width();
    const char* from = s_.b.data + column * n_stride_ + part.begin * k_stride_;
    std::int64_t from_row = n_stride_, size = 1;  // of `from`: bytes from one column to the next, and of an element
    if (n_stride_ == 1 && k_stride_ != 1) return pack_rows(from, deep, n, panel);
    const bool as_is = k_stride_ == 1 && (!f_.integers || (f_.bytes && room == deep && n_stride_ % group == 0 &&
                                                           reinterpret_cast<std::uintptr_t>(from) % 4 == 0));
    if (!as_is) {
      const std::int8_t* src = reinterpret_cast<const std::int8_t*>(from);
      size = f_.integers && !f_.bytes ? 2 : 1;
      auto copy = [&]<class T>(T* dst) {
        for (std::int64_t j = 0; j < n; ++j) {
          T* to = dst + j * room;
          for (std::int64_t i = 0; i < deep; ++i) to[i] = src[j * n_stride_ + i * k_stride_];
          for (std::int64_t i = deep; i < room; ++i) to[i] = 0;
        }
      };
      if (size == 2) copy(reinterpret_cast<std::int16_t*>(loose));
      else copy(reinterpret_cast<std::int8_t*>(loose));
      from = loose, from_row = room;
    }
    const std::int64_t lanes = f_.lanes();
    for (std::int64_t j = 0; j < width; j += lanes) {
      char* to = panel + j * 4;
      if (j >= n) {  // nobody reads what comes of them
        for (std::int64_t i = 0; i < room / group; ++i)
          std::memset(to + i * width * 4, 0, static_cast<std::size_t>(lanes * 4));
        continue;
      }
      f_.transpose(from + j * from_row * size, from_row / group, to, width, std::min(lanes, n - j), room / group);
    }
  }

  /// The same of weights whose columns are neighbours: group by group of rows, as they stand.
  void pack_rows(const char* from, std::int64_t deep, std::int64_t n, char* panel) const {
    const std::int64_t width = f_.width();
    if (!f_.integers) return f_.widen_b(from, k_stride_, panel, width, deep, n);
    if (f_.bytes) return f_.interleave(from, k_stride_, panel, width, deep, n);
    auto* to = reinterpret_cast<std::int16_t*>(panel);
    const std::int8_t* src = reinterpret_cast<const std::int8_t*>(from);
    for (std::int64_t i = 0; i < deep; i += 2, to += width * 2, src += 2 * k_stride_)
      for (std::int64_t j = 0; j < n; ++j)
        to[2 * j] = src[j], to[2 * j + 1] = i + 1 < deep ? src[k_stride_ + j] : std::int8_t{0};
  }

  const Kernels& f_;
  const ScaledCall& s_;
  const bool scaled_;
  const char* const panels_;
  const std::int64_t m_, n_, k_, k_stride_, n_stride_;
  std::vector<Part> parts_;
  std::int64_t packed_ = 0;  ///< elements of a packed row
  std::optional<Scratch> rows_own_;
  const char* rows_ = nullptr;
  std::int64_t row_ = 0;
  std::vector<std::int32_t> starts_;  ///< by part and row
  std::vector<float> row_scales_, col_scales_own_, bias_own_, block_scales_, ones_;
  const float *col_scales_ = nullptr, *bias_ = nullptr;
  std::int64_t row_scales_by_ = 0, col_scales_by_ = 0;  ///< from one part's to the next one's
  char* c_ = nullptr;
  std::int64_t c_row_ = 0;
};

void run(const NativeArgs& args, const ScaledCall& s, int code_arg, bool scaled, const char* panels = nullptr) {
  try {
    if (s.c.numel() == 0) return;
    const Kernels f = kernels_of(args, code_arg, s.a.dtype == DType::Int8, scaled);
    const std::int64_t m = s.c.sizes[0], columns = s.c.sizes[1], size = item_size(s.c.dtype);
    const bool straight = s.c.strides[1] == 1 || columns == 1;
    Scratch copy(straight ? 0 : s.c.numel() * size);
    char* c = straight ? s.c.data : copy.get();
    const std::int64_t c_row = straight ? s.c.strides[0] : columns;
    // Many rows by parts of about kRowsAtOnce: what is packed of them is bounded, and a panel meets as many. All panels
    // meet integers while they are in the L2 cache.
    const std::int64_t row_bytes = std::max<std::int64_t>(1, s.a.sizes[1]) * (f.bytes ? 1 : 2);
    const std::int64_t most =
        f.integers ? std::clamp(device::cpu_info().l2_bytes / 2 / row_bytes, kLeastAtOnce, kRowsAtOnce) : kRowsAtOnce;
    const std::int64_t parts = (m + most - 1) / most, share = (m + parts - 1) / parts;
    for (std::int64_t row = 0; row < m; row += share) {
      ScaledCall part = s;
      part.a.data += row * s.a.strides[0] * item_size(s.a.dtype), part.a.sizes[0] = std::min(share, m - row);
      if (scaled) part.scale_a.data = s.scale_a.of_line(row);
      Product(f, part, scaled, panels).run(c + row * c_row * size, c_row);
    }
    if (!straight) scatter(copy.get(), s.c);
  } catch (const Error& e) {
    *args.fault = {true, e.code(), e.message()};
  } catch (const std::exception& e) {
    *args.fault = {true, ErrorCode::OutOfMemory, e.what()};
  }
}

// The last argument of these launches, which the schema does not have: the vectors' width, what is multiplied, whether
// there may be blocks of scales, and whether many rows are multiplied by tiles.
void scaled_kernel(const NativeArgs& args) { run(args, scaled_call(args), 7, true); }
void int_kernel(const NativeArgs& args) {
  run(args, {args.tensor(0), args.tensor(1), args.result(), {}, {}}, 2, false);
}
void int_packed_kernel(const NativeArgs& args) {
  const bool read = args.tensor(0).sizes[0] > args.integer(3);
  run(args, {args.tensor(0), args.tensor(1), args.result(), {}, {}}, 4, false, read ? args.tensor(2).data : nullptr);
}

}  // namespace

NativeLaunch scaled_launch(const graph::Graph& g, const graph::Node& node, std::vector<Operand> operands) {
  const DType a = operands[0].dtype, b = operands[1].dtype, c = operands.back().dtype;
  const bool scaled = c != DType::Int32;
  NativeLaunch out = native_launch(scaled                                               ? scaled_kernel
                                   : product_forms().at(node.op) == ProductForm::Packed ? int_packed_kernel
                                                                                        : int_kernel,
                                   g, node, std::move(operands));
  const int bits = micro_vector_bits();
  // A row of bfloat16 or float8 is exact as bfloat16.
  const bool halves = is_storage_only(b) && (is_storage_only(a) || a == DType::BFloat16) && has_half_products(bits);
  const Multiplied form = a == DType::Int8 ? (has_byte_products(bits) ? Multiplied::Bytes : Multiplied::Words)
                          : halves         ? Multiplied::Halves
                                           : Multiplied::Floats;
  bool blocks = false;
  for (std::size_t i = 2; scaled && i < 4; ++i) {
    const Layout& s = out.operands[i].layout;
    blocks = blocks || (s.dim() == 2 && !same_number(s.sizes[3 - i], 1));
  }
  const bool tiles = by_tiles(bits, form);
  out.micro = codes(bits, form, tiles, a, b, c, scaled && out.args[4].kind != NativeArg::Kind::None, blocks);
  out.args.push_back({NativeArg::Kind::IntList, static_cast<std::uint32_t>(out.ints.size()), 4});
  out.ints.push_back(bits), out.ints.push_back(static_cast<int>(form)), out.ints.push_back(blocks ? 1 : 0),
      out.ints.push_back(tiles ? 1 : 0);
  return out;
}

NativeFn named::scaled() { return scaled_kernel; }
NativeFn named::integers() { return int_kernel; }
NativeFn named::packed_integers() { return int_packed_kernel; }

}  // namespace reprise::kernels
