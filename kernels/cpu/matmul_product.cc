#include "kernels/cpu/matmul_product.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "device/cpu_info.h"
#include "kernels/cpu/ended_panels.h"
#include "kernels/cpu/fragment.h"
#include "kernels/cpu/low_product.h"
#include "kernels/cpu/panel_blocks.h"

namespace reprise::kernels {

std::vector<KernelCode> matmul_specs(int bits, DType t, unsigned which) {
  DType acc = acc_dtype(t);
  const KernelCode all[MatmulKernels::kSlots] = {micro::Gemm{bits, acc, t, gemm_vectors(bits)},
                                                      micro::Gemm{bits, acc, t, 2},
                                                      micro::Gemm{bits, acc, t, 1},
                                                      micro::GemvDot{bits, t, t, 1},
                                                      micro::GemvDot{bits, t, t, kGemvRows},
                                                      micro::GemvSum{bits, t, 1},
                                                      micro::GemvSum{bits, t, kGemvRows},
                                                      micro::Transpose{bits, t},
                                                      micro::Convert{bits, t, acc, true},
                                                      micro::Convert{bits, acc, t},
                                                      micro::LowTile{bits, LowForm::Pairs, t},
                                                      micro::LowTile{bits, LowForm::Amx, t},
                                                      micro::Interleave{bits, 2},
                                                      micro::Transpose{bits, DType::Float32}};
  std::vector<KernelCode> out;
  for (int s = 0; s < MatmulKernels::kSlots; ++s)
    if (which >> s & 1) out.push_back(all[s]);
  return out;
}

MatmulKernels matmul_kernels(int bits, unsigned which, void* const* micro) {
  void* f[MatmulKernels::kSlots];
  for (int s = 0; s < MatmulKernels::kSlots; ++s) f[s] = which >> s & 1 ? *micro++ : nullptr;
  using K = MatmulKernels;
  return {bits,
          reinterpret_cast<micro::GemmFn>(f[K::kGemmFull]),
          reinterpret_cast<micro::GemmFn>(f[K::kGemmTwo]),
          reinterpret_cast<micro::GemmFn>(f[K::kGemmOne]),
          {reinterpret_cast<micro::GemvDotFn>(f[K::kDot1]), reinterpret_cast<micro::GemvDotFn>(f[K::kDot4])},
          {reinterpret_cast<micro::GemvSumFn>(f[K::kSum1]), reinterpret_cast<micro::GemvSumFn>(f[K::kSum4])},
          reinterpret_cast<micro::TransposeFn>(f[K::kTranspose]),
          reinterpret_cast<micro::ConvertFn>(f[K::kConvertIn]),
          reinterpret_cast<micro::ConvertFn>(f[K::kConvertOut]),
          reinterpret_cast<micro::LowTileFn>(f[K::kLowAmx] ? f[K::kLowAmx] : f[K::kLowPairs]),
          reinterpret_cast<micro::InterleaveFn>(f[K::kInterleave]),
          reinterpret_cast<micro::TransposeFn>(f[K::kTurn]),
          f[K::kLowAmx] ? LowForm::Amx : f[K::kLowPairs] ? LowForm::Pairs : LowForm::None};
}

namespace {

// About 10 us of work for one thread each (see parallel_for): weights from a core's own cache or the one behind it, multiplications, elements of B.
constexpr std::int64_t kGrainBytes = 384 << 10;
constexpr std::int64_t kGrainFmas = 640 << 10;
constexpr std::int64_t kGrainPacked = 32 << 10;

constexpr std::int64_t kChunkBytes = 256 << 10;  // of weights that several rows share: stays in the L2 cache
constexpr std::int64_t kPackedBytes = 8 << 20;   // of B at a time: stays in the L3 cache
constexpr std::int64_t kLeastPacked = 512 << 10;
constexpr std::int64_t kDeepest = 768;           // a k up to this is one block
constexpr std::int64_t kDepth = 512;      // else blocks of about this: A's block and B's panel share the L2 cache
constexpr std::int64_t kBlockRows = 192;  // of A at most

TensorView matrix(const char* p, DType t, std::int64_t rows, std::int64_t cols, std::int64_t row, std::int64_t col) {
  TensorView v;
  v.data = const_cast<char*>(p), v.dtype = t, v.rank = 2;
  v.sizes[0] = rows, v.sizes[1] = cols, v.strides[0] = row, v.strides[1] = col;
  return v;
}


/// Widened copy of src[rows, cols] with rows of `out_row` elements; `out` has room for its rows and columns rounded up to lanes. What is written
/// there are numbers that nothing slows down: none is subnormal by chance. The fastest way the strides allow.
void widen(const MatmulKernels& f, DType t, const char* src, std::int64_t row, std::int64_t col, char* out,
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
    gather(matrix(src + i * row * item_size(t), t, 1, cols, row, col), acc, to);
    std::memset(to + cols * item_size(acc), 0, static_cast<std::size_t>((round_up(cols, lanes) - cols) * item_size(acc)));
  }
}

/// m <= kGemvRows times 1 or 4 rows against streamed weights: of one product, or of several with dots (see `dots`).
class Gemv {
 public:
  Gemv(const MatmulKernels& f, std::span<const ProductCall> all, const Fragment* fragment = nullptr, std::int64_t first_row = 0)
      : f_(f), all_(all), p_(all[0]), fragment_(fragment), first_row_(first_row), acc_(acc_dtype(p_.dtype)), size_(item_size(acc_)), dot_(dots(f, p_)) {}

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
      if (filled_) std::memset(scratch + p_.m * k_row * size_, 0, static_cast<std::size_t>((kGemvRows - p_.m) * k_row * size_));
      x_ = scratch, x_row_ = k_row;
    }
    if (!direct) sums_ = scratch + in_rows * k_row * size_, sums_row_ = n_row;
    std::int64_t line = p_.k * item_size(p_.dtype), n = 0;
    if (fragment_) {
      line = (line + p_.m * fragment_->cost()) * static_cast<std::int64_t>(all_.size());
      if (p_.n * line <= kGrainBytes / 3) return ended_columns(0, p_.n);
      return parallel(p_.n, std::max<std::int64_t>(32, kGrainBytes / line), [this](std::int64_t begin, std::int64_t end) { ended_columns(begin, end); });
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
      for (std::int64_t i = 0; i < p_.m; ++i) std::memcpy(out + i * row * size_, p_.a + i * p_.a_row * size_, static_cast<std::size_t>(p_.k * size_));
      return;
    }
    if (p_.a_col == 1 && f_.convert_in) return f_.convert_in(p_.a, p_.a_row, out, row, p_.m, p_.k);
    for (std::int64_t i = 0; i < p_.m; ++i)
      gather(matrix(p_.a + i * p_.a_row * item_size(p_.a_dtype), p_.a_dtype, 1, p_.k, 0, p_.a_col), acc_,
             out + i * row * size_);
  }

  static constexpr std::int64_t kFilledColumns = 512;

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
    const std::int64_t item = item_size(p_.dtype), most = std::clamp<std::int64_t>(kEndedBytes / (p_.m * item * std::ssize(all_)) / 8 * 8, 32, kChunk);
    const std::int64_t own = std::count_if(all_.begin(), all_.end(), [](const ProductCall& p) { return !p.c; }), step = std::min(most, end - begin), bytes = p_.m * step * item;
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
  char* result(const ProductCall& p, std::int64_t col) const { return sums_ ? sums_ + col * size_ : p.c + col * item_size(p.dtype); }
  std::int64_t result_row(const ProductCall& p) const { return sums_ ? sums_row_ : p.c_row; }

  void columns(const ProductCall& p, std::int64_t begin, std::int64_t end, char* y, std::int64_t y_row) const {
    // More rows than one call serves: the weights come from memory once, and from the cache after that.
    std::int64_t chunk = filled_ ? kFilledColumns : p.m <= kGemvRows
                             ? end - begin
                             : std::max<std::int64_t>(32, kChunkBytes / (p.k * item_size(p.dtype)) / 8 * 8);
    const std::int64_t y_size = dot_ ? item_size(p.dtype) : size_;
    for (; begin < end; begin += chunk, y += chunk * y_size) chunk_of_columns(p, begin, std::min(end, begin + chunk), y, y_row);
  }

  void chunk_of_columns(const ProductCall& p, std::int64_t begin, std::int64_t end, char* y_first, std::int64_t y_row) const {
    std::int64_t w_size = item_size(p.dtype), y_size = dot_ ? w_size : size_;
    const char* w = p.b + begin * p.b_col * w_size;
    if (filled_) {
      alignas(64) char sums[kGemvRows * kFilledColumns * sizeof(double)];
      f_.dot[1](x_, x_row_, w, p.b_col, sums, kFilledColumns, end - begin, p.k);
      for (std::int64_t i = 0; i < p.m; ++i) std::memcpy(y_first + i * y_row * w_size, sums + i * kFilledColumns * w_size, static_cast<std::size_t>((end - begin) * w_size));
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

/// The L2 cache of a core, or what the smallest that matters has.
std::int64_t l2_bytes() { return std::max<std::int64_t>(256 << 10, device::cpu_info().l2_bytes); }

/// B as it stands in memory, or in panels that were packed before.
class Matrix final : public PanelSource {
 public:
  Matrix(const MatmulKernels& f, const ProductCall& p, std::int64_t image = 0)
      : f_(f), p_(p), image_(image), lanes_(micro_lanes(f.bits, acc_dtype(p.dtype))), size_(item_size(p.dtype)) {
    // Four vectors are two panels of two: one alone has too few sums to keep a core busy. Those that were packed before have the full width (packed.h).
    const std::int64_t most = gemm_vectors(f.bits);
    width_ = (most == 3 && !p.panels && (p.n + lanes_ - 1) / lanes_ == 4 ? 2 : most) * lanes_;
    // A tile may read rows where they stand if they are side by side in the caches, or hardly read twice. Rows a page apart meet in few sets.
    const std::int64_t bytes = p.k * p.n * size_, tiles = (p.m + gemm_rows(f.bits) - 1) / gemm_rows(f.bits);
    in_place_ = p.b_col == 1 && p.dtype == acc_dtype(p.dtype) && (tiles == 1 || (bytes <= l2_bytes() / 4 && p.b_row * size_ % 1024 != 0) || bytes <= kSmall);
  }
  std::int64_t width() const override { return width_; }
  void pack(std::int64_t image, std::int64_t col, std::int64_t cols, std::int64_t k, std::int64_t deep, char* panel) const override {
    if (p_.panels) return f_.convert_in(p_.panels + (col * room() + k * width_) * size_, 0, panel, 0, 1, deep * width_);
    widen(f_, p_.dtype, p_.b + (image * image_ + k * p_.b_row + col * p_.b_col) * size_, p_.b_row, p_.b_col, panel, width_, deep, cols);
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
    if ((p_.b_row == 1 && p_.b_col == p_.k) || (cols == p_.n && p_.b_col == 1 && p_.b_row == p_.n)) return Lines::dense(first, cols * p_.k * size_);
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
class Matrices final : public PanelSource {
 public:
  Matrices(const MatmulKernels& f, std::span<const ProductCall> all) {
    for (std::size_t i = 0; i < all.size(); ++i) all_[i].emplace(f, all[i]);
  }
  std::int64_t width() const override { return at(0).width(); }
  void pack(std::int64_t image, std::int64_t col, std::int64_t cols, std::int64_t k, std::int64_t deep, char* panel) const override { at(image).pack(0, col, cols, k, deep, panel); }
  bool packs_parts() const override { return true; }
  const char* as_it_stands(std::int64_t image, std::int64_t col, std::int64_t cols, std::int64_t& row) const override { return at(image).as_it_stands(0, col, cols, row); }
  Lines columns(std::int64_t image, std::int64_t col, std::int64_t cols) const override { return at(image).columns(0, col, cols); }

 private:
  const Matrix& at(std::int64_t image) const { return *all_[static_cast<std::size_t>(image)]; }
  std::array<std::optional<Matrix>, Fragment::kMostProducts> all_;  // no allocator on a call's way
};

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

/// Blocked product, in one of two ways. The split of k depends on k alone, and so does the order of sums in a tile: both give equal bits.
///
/// Few rows, or few bytes of A: every panel of B, one tile wide, is packed (or read where it stands) and meets all rows at once, while it is in
/// the nearest caches. Panels run in parallel.
///
/// Many rows: B is packed into panels that are all of k deep, as many at a time as kPackedBytes holds; then blocks of rows times groups of
/// panels run in parallel. A block of A is widened (or read in place), and every tile of it meets every panel of the group.
class Gemm {
 public:
  Gemm(const MatmulKernels& f, const PackedProduct& all, std::int64_t packed_bytes)
      : f_(f),
        all_(all),
        p_(all.p),
        acc_(acc_dtype(all.p.dtype)),
        size_(item_size(acc_)),
        lanes_(micro_lanes(f.bits, acc_)),
        width_(all.source.width()),
        tile_rows_(gemm_rows(f.bits)),
        packed_bytes_(packed_bytes),
        image_panels_((all.p.n + width_ - 1) / width_),
        panels_(image_panels_ * all.images),
        together_(all.each.empty() ? 1 : all.images),
        each_(all.each.empty() ? std::span<const ProductCall>(&all.p, 1) : all.each),
        own_(all.fragment ? EndedPanels::own_products(each_) : 0),
        c_size_(item_size(all.p.dtype)) {
    const ProductCall& p = p_;
    depth_ = product_depth(p.k, lanes_);
    blocks_ = p.k <= depth_ ? 1 : (p.k + depth_ - 1) / depth_;
    k_room_ = round_up(p.k, lanes_);
    a_in_place_ = p.a_dtype == acc_ && p.a_col == 1;
    std::int64_t blocks = (p.m + kBlockRows - 1) / kBlockRows;
    block_rows_ = round_up((p.m + blocks - 1) / blocks, tile_rows_);
    // An odd number of lines to a row, so that a power of two does not put all rows into one set of the cache.
    wide_row_ = round_up(p.k, 64 / size_) | (64 / size_);
  }

  /// Are panels by themselves better than blocks of rows?
  bool by_panels() const { return p_.m <= block_rows_ || (p_.m * k_room_ * size_ <= l2_bytes() / 2 && panels_ >= 2 * device::num_threads()); }

  void run() {
    by_panels() ? run_by_panels() : run_by_blocks();
  }

 private:
  /// Panel i: the columns [col, col + cols) of an image. The same columns of images that a fragment reads together come one after the other.
  struct Panel {
    std::int64_t image, col, cols;
  };
  Panel panel_at(std::int64_t i) const {
    if (together_ > 1) {
      const std::int64_t col = i / together_ * width_;
      return {i % together_, col, std::min(width_, p_.n - col)};
    }
    const std::int64_t image = image_panels_ == panels_ ? 0 : i / image_panels_, col = (i - image * image_panels_) * width_;
    return {image, col, std::min(width_, p_.n - col)};
  }
  std::int64_t c_at(const Panel& at) const { return at.image * all_.c_image + at.col; }

  /// Where elements of a panel's result stand from some row on, where no fragment decides that.
  Block place(const Panel& at, std::int64_t row) const { return {p_.c + (row * p_.c_row + c_at(at)) * c_size_, p_.c_row}; }
  std::int64_t product_of(const Panel& at) const { return together_ > 1 ? at.image : 0; }
  std::int64_t ended_columns(std::int64_t rows) const { return EndedPanels::columns_at_once(each_, rows, width_, l2_bytes()); }
  /// Panels of such rows, in front of a fragment if there is one.
  std::optional<EndedPanels> ended(std::int64_t row, std::int64_t rows, char* own, std::int64_t columns, std::int64_t from = -1) const {
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
  void tiles(const Panel& at, const char* b, std::int64_t b_row, std::int64_t k, std::int64_t deep, const Rows& rows, Ahead& ahead) const {
    micro::GemmTile t;
    t.a_row = rows.a_row, t.a_col = 1, t.b_row = b_row, t.c_row = rows.c.row, t.k = deep;
    t.first = k == 0 && !p_.sum, t.last = k + deep >= p_.k, t.relu = all_.relu;
    t.acc_row = sums_in_c() ? rows.c.row : rows.sums_row;
    each_columns(at.cols, [&](const Columns& columns) {
      const std::int64_t v = columns.first;
      t.n = columns.count;
      t.b = b + v * size_;
      for (std::int64_t i = 0; i < rows.count; i += tile_rows_) {
        t.m = std::min<std::int64_t>(tile_rows_, rows.count - i);
        t.a = rows.a + i * t.a_row * size_;
        if (all_.bias) t.bias = all_.bias + (rows.first + i) * size_;
        t.c = rows.c.data + (i * rows.c.row + v) * c_size_;
        t.acc = sum_apart() ? const_cast<char*>(p_.sum) + (static_cast<char*>(t.c) - p_.c) : sums_in_c() ? t.c : rows.sums + (i * rows.sums_row + v) * size_;
        ahead.take(t);
        columns.f(&t);
      }
    });
  }

  /// Rows of A from [row, k] on in the accumulator's dtype, for lanes to be a whole number of rows.
  void widen_rows(std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t deep, char* to, std::int64_t to_row, std::int64_t image = 0) const {
    const std::int64_t a_size = item_size(p_.a_dtype);
    const char* a = p_.a + (image * all_.a_image + row * p_.a_row + k * p_.a_col) * a_size;
    if (p_.a_dtype == p_.dtype) return widen(f_, p_.dtype, a, p_.a_row, p_.a_col, to, to_row, rows, deep);
    for (std::int64_t i = 0; i < rows; ++i) gather(matrix(a + i * p_.a_row * a_size, p_.a_dtype, 1, deep, 0, p_.a_col), acc_, to + i * to_row * size_);
  }

  void run_by_panels() {
    if (images_stand()) return run_by_images();
    // One A for all is widened before; of several each thread widens those that it meets.
    const bool before = !a_in_place_ && all_.a_image == 0;
    Scratch wide(before ? wide_bytes() : 0);
    if (before) widen_rows(0, p_.m, 0, p_.k, wide.get(), wide_row_);
    const Rows rows{0, p_.m, before ? wide.get() : p_.a, before ? wide_row_ : p_.a_row, nullptr, width_};
    // A fragment runs over rows of few vectors slowly: it gets several panels, where there are enough for all threads.
    const std::int64_t units = panels_ / together_, least = all_.fragment ? std::clamp<std::int64_t>(units / (4 * device::num_threads()), 1, ended_columns(p_.m) / width_) : 1;
    parallel(units, std::max(least, kGrainFmas / std::max<std::int64_t>(1, p_.m * work() * std::min(p_.n, width_) * together_)),
             [&](std::int64_t b, std::int64_t e) { some_panels(b * together_, e * together_, rows); });
  }
  std::int64_t wide_bytes() const { return round_up(p_.m, lanes_) * wide_row_ * size_; }

  /// Are there matrices that tiles read and write where they stand, each in one go? Then nothing is asked or made for each.
  bool images_stand() const {
    if (all_.a_image == 0 || all_.fragment || all_.bias || p_.sum || !a_in_place_ || !sums_in_c() || blocks_ > 1 || p_.n > kMostColumns * lanes_) return false;
    const std::int64_t first = std::min(width_, p_.n), tail = p_.n % width_;
    std::int64_t row;
    return all_.source.as_it_stands(0, 0, first, row) && (tail == 0 || all_.source.as_it_stands(0, 0, tail, row));
  }
  static constexpr std::int64_t kMostColumns = 16;

  /// Columns that a tile takes, and which.
  struct Columns {
    std::int64_t first, count;
    micro::GemmFn f;
  };
  /// Of a panel, whose columns may be fewer.
  template <class F>
  void each_columns(std::int64_t cols, F&& take) const {
    for (std::int64_t v = 0, step; v < cols; v += step) {
      const std::int64_t left = cols - v;
      step = left > 2 * lanes_ ? width_ : left > lanes_ ? 2 * lanes_ : lanes_;
      take(Columns{v, std::min(step, left), left > 2 * lanes_ ? f_.gemm_full : left > lanes_ ? f_.gemm_two : f_.gemm_one});
    }
  }

  void run_by_images() const {
    parallel(all_.images, std::max<std::int64_t>(1, kGrainFmas / std::max<std::int64_t>(1, p_.m * p_.n * p_.k)), [&](std::int64_t begin, std::int64_t end) {
      Columns columns[kMostColumns];
      std::int64_t count = 0;
      for (std::int64_t col = 0; col < p_.n; col += width_)
        each_columns(std::min(width_, p_.n - col), [&](Columns of) { of.first += col, columns[count++] = of; });
      micro::GemmTile t;
      t.a_row = p_.a_row, t.a_col = 1, t.c_row = t.acc_row = p_.c_row, t.k = p_.k, t.first = t.last = true, t.relu = all_.relu, t.ahead_step = 64;
      auto b_of = [&](std::int64_t image) { return all_.source.as_it_stands(image, 0, std::min(width_, p_.n), t.b_row); };
      const char* b = b_of(begin);
      // Meanwhile the next image's matrices are fetched as far as they are dense, a line for each k.
      const std::int64_t a_bytes = p_.a_row == p_.k ? p_.m * p_.k * size_ : 0, b_bytes = t.b_row == p_.n ? p_.k * p_.n * size_ : 0, c_bytes = p_.c_row == p_.n ? p_.m * p_.n * c_size_ : 0;
      for (std::int64_t image = begin; image < end; ++image) {
        const bool next = image + 1 < end;
        const char* a = p_.a + image * all_.a_image * size_;
        char* c = p_.c + image * all_.c_image * c_size_;
        const char *a_ahead = a + all_.a_image * size_, *b_ahead = next ? b_of(image + 1) : nullptr, *c_ahead = c + all_.c_image * c_size_;
        std::int64_t fetched = 0;
        for (std::int64_t v = 0; v < count; ++v) {
          t.n = columns[v].count, t.b = b + columns[v].first * size_;
          for (std::int64_t i = 0; i < p_.m; i += tile_rows_, fetched += t.k * 64) {
            t.m = std::min<std::int64_t>(tile_rows_, p_.m - i);
            t.a = a + i * t.a_row * size_;
            t.acc = t.c = c + (i * p_.c_row + columns[v].first) * c_size_;
            const std::int64_t of_b = fetched - a_bytes, of_c = of_b - b_bytes;
            t.ahead = !next ? nullptr : of_b < 0 ? a_ahead + fetched : of_c < 0 ? b_ahead + of_b : of_c < c_bytes ? c_ahead + of_c : nullptr;
            columns[v].f(&t);
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
      stands = stands && (p_.n < width_ || source.as_it_stands(i, 0, width_, b_row)) && (tail == 0 || source.as_it_stands(i, 0, tail, b_row));
    const std::int64_t panel_bytes = stands ? 0 : (parts ? depth_ : k_room_) * width_ * size_, sums_bytes = sums_in_c() ? 0 : p_.m * width_ * size_;
    const std::int64_t wide_a = own_a ? wide_bytes() : 0, own_columns = own_ ? std::min(ended_columns(p_.m), (end - begin) / together_ * width_) : 0;
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
        [&](std::int64_t row_block, std::int64_t first, const char* packed, std::int64_t begin, std::int64_t end) { block(row_block * block_rows_, first, packed, begin, end); });
  }

  /// A block of rows times panels [first + panel, first + panel_end); those from `first` on stand at `packed`, where they were packed.
  void block(std::int64_t row, std::int64_t first, const char* packed, std::int64_t panel, std::int64_t panel_end) const {
    const std::int64_t count = std::min(block_rows_, p_.m - row), room = round_up(block_rows_, lanes_);
    const std::int64_t a_row = round_up(depth_, 64 / size_) | (64 / size_), sums_row = (panel_end - panel) * width_;
    if (panel == panel_end) return;
    for (std::int64_t j = panel; j < panel_end; ++j) begin_sums(panel_at(first + j), row, count);
    const std::int64_t a_bytes = a_in_place_ ? 0 : room * a_row * size_, sums_bytes = sums_in_c() ? 0 : count * sums_row * size_;
    // Sums that stand in blocks of one's own are kept for all panels until the last of k.
    const bool keeps = sums_in_c() && blocks_ > 1;
    const std::int64_t columns = sums_row / together_, own_columns = own_ ? keeps ? columns : std::min(ended_columns(count), columns) : 0;
    Scratch scratch(a_bytes + sums_bytes + own_ * count * own_columns * c_size_);
    std::optional<EndedPanels> ended = this->ended(row, count, scratch.get() + a_bytes + sums_bytes, own_columns, keeps ? panel_at(first + panel).col : -1);
    for (std::int64_t k = 0; k < p_.k; k += depth_) {
      const std::int64_t deep = std::min(depth_, p_.k - k);
      Rows rows{row, count, p_.a + (row * p_.a_row + k * p_.a_col) * item_size(p_.a_dtype), p_.a_row, nullptr, sums_row};
      if (!a_in_place_) widen_rows(row, count, k, deep, scratch.get(), a_row), rows.a = scratch.get(), rows.a_row = a_row;
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

/// Is the matrix-vector form worth it, and does it have the code it needs? Panels that are there are read.
bool use_gemv(const MatmulKernels& f, const ProductCall& p) {
  if (p.panels) return false;
  if (p.b_row == 1 && f.dot[0]) return p.m <= dot_rows(p.dtype, p.k);
  return p.m <= kGemvRows && p.b_col == 1 && f.sum[0];
}

void gemv(const MatmulKernels& f, const ProductCall& p) { Gemv(f, {&p, 1}).run(); }

/// A matrix times few columns is few rows times its transpose. Panels that are there are read: nobody may have B any more.
std::optional<ProductCall> as_rows(const MatmulKernels& f, const ProductCall& p) {
  if (p.panels) return std::nullopt;
  const ProductCall t{p.dtype, p.dtype, p.n, p.m, p.k, p.b, p.b_col, p.b_row, p.a, p.a_col, p.a_row, p.c, p.m};
  if (p.n <= kGemvRows && p.a_dtype == p.dtype && use_gemv(f, t)) return t;
  return std::nullopt;
}

template <class T>
void add_rows(const char* from, std::int64_t from_row, const ProductCall& to) {
  for (std::int64_t i = 0; i < to.m; ++i) {
    const T* x = reinterpret_cast<const T*>(from) + i * from_row;
    T* y = reinterpret_cast<T*>(to.c) + i * to.c_row;
    for (std::int64_t j = 0; j < to.n; ++j) y[j] += x[j];
  }
}

/// Few rows or columns: the product, and then the sum.
void multiply_and_add(const MatmulKernels& f, ProductCall p) {
  const ProductCall to = p;
  Scratch made(p.sum == p.c ? p.m * p.n * item_size(p.dtype) : 0);
  if (made.get()) p.c = made.get(), p.c_row = p.n;
  p.sum = nullptr;
  multiply(f, p);
  const char* from = made.get() ? made.get() : to.sum;
  const std::int64_t row = made.get() ? to.n : to.c_row;
  switch (p.dtype) {
    case DType::Float64:
      return add_rows<double>(from, row, to);
    case DType::Float32:
      return add_rows<float>(from, row, to);
    case DType::Int64:
      return add_rows<std::uint64_t>(from, row, to);
    default:
      return add_rows<std::uint32_t>(from, row, to);
  }
}

}  // namespace

std::int64_t product_depth(std::int64_t k, std::int64_t lanes) {
  const std::int64_t parts = k <= kDeepest ? 1 : (k + kDepth - 1) / kDepth;
  return round_up((k + parts - 1) / parts, lanes);
}

void multiply(const MatmulKernels& f, const ProductCall& p) {
  if (p.m == 0 || p.n == 0) return;
  if (p.sum && (p.k == 0 || use_gemv(f, p) || p.n <= kGemvRows)) return multiply_and_add(f, p);
  if (p.k == 0) {
    for (std::int64_t i = 0; i < p.m; ++i)
      std::memset(p.c + i * p.c_row * item_size(p.dtype), 0, static_cast<std::size_t>(p.n * item_size(p.dtype)));
    return;
  }
  if (use_gemv(f, p)) return gemv(f, p);
  if (std::optional<ProductCall> t = as_rows(f, p)) {
    if (p.n == 1 && p.c_row == 1) return gemv(f, *t);
    Scratch transposed(p.n * p.m * item_size(p.dtype));
    t->c = transposed.get();
    gemv(f, *t);
    TensorView c = matrix(p.c, p.dtype, p.n, p.m, 1, p.c_row);
    return scatter(t->c, c);
  }
  if (f.low_tile) return multiply_low(f, {&p, 1});
  const Matrix b(f, p);
  Gemm(f, {p, b}, kPackedBytes).run();
}

bool multiply_batch(const MatmulKernels& f, const ProductCall& p, std::int64_t batch, const Steps& steps, const Fragment* fragment) {
  if (f.low_tile || p.m == 0 || p.n <= kGemvRows || p.k == 0 || use_gemv(f, p)) return false;
  const Matrix b(f, p, steps.b);
  const PackedProduct all{.p = p, .source = b, .images = batch, .c_image = steps.c, .a_image = steps.a, .fragment = fragment};
  Gemm gemm(f, all, kPackedBytes);
  if (!gemm.by_panels()) return false;
  gemm.run();
  return true;
}

void multiply(const MatmulKernels& f, const PackedProduct& all) {
  // Few weights are read again for each group of panels, which then stay in the L2 cache.
  Gemm(f, all, std::clamp(all.p.m * all.p.k * item_size(all.p.dtype), kLeastPacked, kPackedBytes)).run();
}

void multiply(const MatmulKernels& f, std::span<const ProductCall> all) {
  bool together = all.size() > 1 && all[0].k > 0 && all[0].m > 0;
  for (const ProductCall& p : all) together = together && p.n > 0 && p.b_row == 1 && use_gemv(f, p) && Gemv::dots(f, p);
  if (together) return Gemv(f, all).run();
  for (const ProductCall& p : all) multiply(f, p);
}

void multiply(const MatmulKernels& f, std::span<const ProductCall> all, const Fragment& fragment, std::int64_t first_row) {
  const ProductCall& p = all[0];
  if (p.m == 0 || p.n == 0) return;
  // Which way a product is computed is decided as above: it has the same bits.
  auto each = [&](auto&& holds) { return p.k > 0 && std::all_of(all.begin(), all.end(), holds); };
  if (each([&](const ProductCall& q) { return use_gemv(f, q) && q.b_row == p.b_row && Gemv(f, {&q, 1}).direct(); })) return Gemv(f, all, &fragment, first_row).run();
  if (each([&](const ProductCall& q) { return !use_gemv(f, q) && !as_rows(f, q) && !q.panels == !p.panels; })) {
    if (f.low_tile) return multiply_low(f, all, &fragment, first_row);
    const Matrices b(f, all);
    Gemm(f, {.p = p, .source = b, .images = std::ssize(all), .fragment = &fragment, .each = all, .first_row = first_row}, kPackedBytes).run();
    return;
  }
  // Whole products, then the fragment.
  const std::int64_t bytes = p.m * p.n * item_size(p.dtype), own = std::count_if(all.begin(), all.end(), [](const ProductCall& q) { return !q.c; });
  const Scratch memory(own * bytes);
  char* room = memory.get();
  Block blocks[Fragment::kMostProducts];
  for (std::size_t i = 0; i < all.size(); ++i) {
    ProductCall whole = all[i];
    if (!whole.c) whole.c = std::exchange(room, room + bytes), whole.c_row = p.n;
    blocks[i] = {whole.c, whole.c_row};
    multiply(f, whole);
  }
  fragment.run_all(first_row, p.m, p.n, blocks);
}

}  // namespace reprise::kernels
