#include "kernels/cpu/matmul_product.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>

namespace reprise::kernels {

std::vector<KernelCode> matmul_specs(int bits, DType t, unsigned which) {
  DType acc = acc_dtype(t);
  const KernelCode all[MatmulKernels::kSlots] = {micro::Gemm{bits, acc, t, gemm_vectors(bits)},
                                                      micro::Gemm{bits, acc, t, 1},
                                                      micro::GemvDot{bits, t, t, 1},
                                                      micro::GemvDot{bits, t, t, kGemvRows},
                                                      micro::GemvSum{bits, t, 1},
                                                      micro::GemvSum{bits, t, kGemvRows},
                                                      micro::Transpose{bits, t},
                                                      micro::Convert{bits, t, acc},
                                                      micro::Convert{bits, acc, t}};
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
          reinterpret_cast<micro::GemmFn>(f[K::kGemmOne]),
          {reinterpret_cast<micro::GemvDotFn>(f[K::kDot1]), reinterpret_cast<micro::GemvDotFn>(f[K::kDot4])},
          {reinterpret_cast<micro::GemvSumFn>(f[K::kSum1]), reinterpret_cast<micro::GemvSumFn>(f[K::kSum4])},
          reinterpret_cast<micro::TransposeFn>(f[K::kTranspose]),
          reinterpret_cast<micro::ConvertFn>(f[K::kConvertIn]),
          reinterpret_cast<micro::ConvertFn>(f[K::kConvertOut])};
}

namespace {

// Below about 10 us of work a second thread costs more than it gives (see parallel_for); these are such amounts.
constexpr std::int64_t kGrainBytes = 1 << 20;
constexpr std::int64_t kGrainFmas = 2 << 20;
constexpr std::int64_t kGrainPacked = 128 << 10;

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

std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

/// Widened copy of src[rows, cols] with rows of `out_row` elements; `out` has room for its rows rounded up to lanes.
/// The fastest way the strides allow.
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
  for (std::int64_t i = 0; i < rows; ++i)
    gather(matrix(src + i * row * item_size(t), t, 1, cols, row, col), acc, out + i * out_row * item_size(acc));
}

/// m <= kGemvRows times 1 or 4 rows against streamed weights: of one product, or of several with dots (see `dots`).
class Gemv {
 public:
  Gemv(const MatmulKernels& f, std::span<const ProductCall> all)
      : f_(f), all_(all), p_(all[0]), acc_(acc_dtype(p_.dtype)), size_(item_size(acc_)), dot_(dots(f, p_)) {}

  /// Are the weights' rows contiguous, and is there code for dots with them?
  static bool dots(const MatmulKernels& f, const ProductCall& p) { return (p.b_row == 1 || p.k == 1) && f.dot[0]; }

  void run() {
    std::int64_t in_rows = p_.a_dtype == acc_ && (p_.a_col == 1 || p_.k <= 1) ? 0 : p_.m;
    bool direct = p_.dtype == acc_ || dot_;
    std::int64_t k_row = round_up(p_.k, 64 / size_), n_row = round_up(p_.n, 64 / size_);
    std::int64_t need = (in_rows * k_row + (direct ? 0 : p_.m * n_row)) * size_;
    // Small products are a microsecond or two: no allocator on their way.
    alignas(64) char small[32 << 10];
    Scratch large(need > static_cast<std::int64_t>(sizeof small) ? need : 0);
    char* scratch = large.get() ? large.get() : small;
    x_ = p_.a, x_row_ = p_.a_row;
    if (in_rows) {
      widen_rows(scratch, k_row);
      x_ = scratch, x_row_ = k_row;
    }
    if (!direct) sums_ = scratch + in_rows * k_row * size_, sums_row_ = n_row;
    std::int64_t line = p_.k * item_size(p_.dtype), n = 0;
    for (const ProductCall& p : all_) n += p.n;
    if (n * line <= kGrainBytes)
      for (const ProductCall& p : all_) columns(p, 0, p.n);
    else
      parallel(n, std::max<std::int64_t>(64, kGrainBytes / line),
               [this](std::int64_t begin, std::int64_t end) { columns_of_all(begin, end); });
    if (!direct) f_.convert_out(sums_, sums_row_, p_.c, p_.c_row, p_.m, p_.n);
  }

 private:
  void widen_rows(char* out, std::int64_t row) {
    if (p_.a_col == 1 && f_.convert_in) return f_.convert_in(p_.a, p_.a_row, out, row, p_.m, p_.k);
    for (std::int64_t i = 0; i < p_.m; ++i)
      gather(matrix(p_.a + i * p_.a_row * item_size(p_.a_dtype), p_.a_dtype, 1, p_.k, 0, p_.a_col), acc_,
             out + i * row * size_);
  }

  /// [begin, end) of the products' columns, one product's after the other's.
  void columns_of_all(std::int64_t begin, std::int64_t end) const {
    for (const ProductCall& p : all_) {
      if (end <= 0) return;
      if (begin < p.n) columns(p, std::max<std::int64_t>(begin, 0), std::min(end, p.n));
      begin -= p.n, end -= p.n;
    }
  }

  void columns(const ProductCall& p, std::int64_t begin, std::int64_t end) const {
    // More rows than one call serves: the weights come from memory once, and from the cache after that.
    std::int64_t chunk = p.m <= kGemvRows
                             ? end - begin
                             : std::max<std::int64_t>(32, kChunkBytes / (p.k * item_size(p.dtype)) / 8 * 8);
    for (; begin < end; begin += chunk) chunk_of_columns(p, begin, std::min(end, begin + chunk));
  }

  void chunk_of_columns(const ProductCall& p, std::int64_t begin, std::int64_t end) const {
    std::int64_t w_size = item_size(p.dtype), y_size = dot_ ? w_size : size_;
    char* y_first = sums_ ? sums_ : p.c;
    std::int64_t y_row = sums_ ? sums_row_ : p.c_row;
    const char* w = p.b + begin * p.b_col * w_size;
    for (std::int64_t i = 0; i < p.m;) {
      bool four = p.m - i >= kGemvRows && (dot_ ? static_cast<bool>(f_.dot[1]) : static_cast<bool>(f_.sum[1]));
      // The last rows together with some that are there already (and come out the same): one row alone is summed in
      // another order, and equal rows shall give equal results wherever they stand.
      if (dot_ && f_.dot[1] && p.m > kGemvRows && !four) i = p.m - kGemvRows, four = true;
      const char* x = x_ + i * x_row_ * size_;
      char* y = y_first + (i * y_row + begin) * y_size;
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
  DType acc_;
  std::int64_t size_;
  bool dot_;
  const char* x_ = nullptr;
  char* sums_ = nullptr;  // where a product without dots is summed up before it is converted
  std::int64_t x_row_ = 0, sums_row_ = 0;
};

/// B as it stands in memory.
class Matrix final : public PanelSource {
 public:
  Matrix(const MatmulKernels& f, const ProductCall& p, std::int64_t width) : f_(f), p_(p), width_(width) {}
  void pack(std::int64_t, std::int64_t col, std::int64_t cols, char* panel) const override {
    widen(f_, p_.dtype, p_.b + col * p_.b_col * item_size(p_.dtype), p_.b_row, p_.b_col, panel, width_, p_.k, cols);
  }

 private:
  const MatmulKernels& f_;
  const ProductCall& p_;
  std::int64_t width_;
};

/// Blocked product. B is packed into panels of one tile's width, all of k deep, as many panels at a time as
/// kPackedBytes holds; then blocks of rows times groups of panels run in parallel. A block of A is widened (or read in
/// place), and every tile of it meets every panel of the group. The split of k depends on k alone, so any grouping
/// gives equal bits.
class Gemm {
 public:
  Gemm(const MatmulKernels& f, const PackedProduct& all, std::int64_t packed_bytes)
      : f_(f),
        all_(all),
        p_(all.p),
        acc_(acc_dtype(all.p.dtype)),
        size_(item_size(acc_)),
        lanes_(micro_lanes(f.bits, acc_)),
        width_(lanes_ * gemm_vectors(f.bits)),
        tile_rows_(gemm_rows(f.bits)),
        packed_bytes_(packed_bytes),
        image_panels_((all.p.n + width_ - 1) / width_) {
    const ProductCall& p = p_;
    blocks_ = p.k <= kDeepest ? 1 : (p.k + kDepth - 1) / kDepth;
    depth_ = round_up((p.k + blocks_ - 1) / blocks_, lanes_);
    k_room_ = round_up(p.k, lanes_);
    a_in_place_ = p.a_dtype == acc_ && p.a_col == 1;
    std::int64_t blocks = (p.m + kBlockRows - 1) / kBlockRows;
    block_rows_ = round_up((p.m + blocks - 1) / blocks, tile_rows_);
  }

  void run() {
    std::int64_t panel_bytes = k_room_ * width_ * size_, panels = image_panels_ * all_.images;
    std::int64_t at_once = std::clamp<std::int64_t>(packed_bytes_ / panel_bytes, 1, panels);
    Scratch packed(p_.panels ? 0 : at_once * panel_bytes);
    packed_ = packed.get();
    for (std::int64_t first = 0; first < panels && !failure_; first += at_once) {
      first_ = first;
      std::int64_t count = std::min(at_once, panels - first);
      if (p_.panels) packed_ = p_.panels + first * panel_bytes;
      else parallel(count, std::max<std::int64_t>(1, kGrainPacked / (k_room_ * width_)),
               [this](std::int64_t b, std::int64_t e) {
                 guarded([&] {
                   for (std::int64_t i = b; i < e; ++i) pack(i);
                 });
               });
      std::int64_t row_blocks = (p_.m + block_rows_ - 1) / block_rows_;
      // Few blocks of rows: split the panels too, so that every thread has some.
      std::int64_t wanted = device::num_threads() * 3;
      std::int64_t groups = std::clamp<std::int64_t>((wanted + row_blocks - 1) / row_blocks, 1, (count + 3) / 4);
      if (device::num_threads() == 1) groups = 1;
      std::int64_t fmas = block_rows_ * p_.k * width_ * count / groups;
      parallel(row_blocks * groups, std::max<std::int64_t>(1, kGrainFmas / std::max<std::int64_t>(1, fmas)),
               [&](std::int64_t b, std::int64_t e) {
                 guarded([&] {
                   for (std::int64_t i = b; i < e; ++i) {
                     std::int64_t g = i % groups;
                     block(i / groups * block_rows_, count * g / groups, count * (g + 1) / groups);
                   }
                 });
               });
    }
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  template <class F>
  void guarded(F&& f) {  // what a worker throws is thrown again by the caller
    try {
      f();
    } catch (...) {
      if (!failed_.exchange(true)) failure_ = std::current_exception();
    }
  }

  /// Where panel first_ + i stands: the columns [col, col + cols) of an image.
  struct Panel {
    std::int64_t image, col, cols;
  };
  Panel panel_at(std::int64_t i) const {
    const std::int64_t at = first_ + i, image = at / image_panels_, col = (at - image * image_panels_) * width_;
    return {image, col, std::min(width_, p_.n - col)};
  }
  std::int64_t c_at(const Panel& at) const { return at.image * all_.c_image + at.col; }

  void pack(std::int64_t i) const {
    const Panel at = panel_at(i);
    all_.source.pack(at.image, at.col, at.cols, const_cast<char*>(packed_) + i * k_room_ * width_ * size_);
  }

  void block(std::int64_t row, std::int64_t panel, std::int64_t panel_end) const {
    std::int64_t rows = std::min(block_rows_, p_.m - row), room = round_up(block_rows_, lanes_);
    // An odd number of lines to a row, so that a power of two does not put all rows into one set of the cache.
    std::int64_t a_row = round_up(depth_, 64 / size_) | (64 / size_), sums_row = (panel_end - panel) * width_;
    bool in_c = p_.dtype == acc_ || blocks_ == 1, sum_apart = p_.sum && blocks_ == 1;
    if (p_.sum && p_.sum != p_.c && !sum_apart)
      for (std::int64_t j = panel; j < panel_end; ++j) {
        const Panel of = panel_at(j);
        for (std::int64_t i = row; i < row + rows; ++i) {
          const std::int64_t at = (i * p_.c_row + c_at(of)) * size_;
          std::memcpy(p_.c + at, p_.sum + at, static_cast<std::size_t>(of.cols * size_));
        }
      }
    std::int64_t a_bytes = a_in_place_ ? 0 : room * a_row * size_;
    Scratch scratch(a_bytes + (in_c ? 0 : rows * sums_row * size_));
    char* sums = scratch.get() + a_bytes;
    std::int64_t a_size = item_size(p_.a_dtype), c_size = item_size(p_.dtype);
    for (std::int64_t k = 0; k < p_.k; k += depth_) {
      std::int64_t deep = std::min(depth_, p_.k - k);
      const char* a = p_.a + (row * p_.a_row + k * p_.a_col) * a_size;
      micro::GemmTile t;
      t.a_row = p_.a_row, t.a_col = 1, t.b_row = width_, t.c_row = p_.c_row, t.k = deep;
      t.first = k == 0 && !p_.sum, t.last = k + depth_ >= p_.k, t.relu = all_.relu;
      if (!a_in_place_) {
        if (p_.a_dtype == p_.dtype)
          widen(f_, p_.dtype, a, p_.a_row, p_.a_col, scratch.get(), a_row, rows, deep);
        else
          for (std::int64_t i = 0; i < rows; ++i)
            gather(matrix(a + i * p_.a_row * a_size, p_.a_dtype, 1, deep, 0, p_.a_col), acc_,
                   scratch.get() + i * a_row * size_);
        a = scratch.get(), t.a_row = a_row;
      }
      for (std::int64_t j = panel; j < panel_end; ++j) {
        const Panel at = panel_at(j);
        const std::int64_t cols = at.cols;
        // A last panel that is not full is cheaper in single vectors.
        bool full = cols > width_ - lanes_ || lanes_ == width_;
        std::int64_t step = full ? width_ : lanes_;
        for (std::int64_t v = 0; v < cols; v += step) {
          t.n = std::min(step, cols - v);
          t.b = packed_ + ((j * k_room_ + k) * width_ + v) * size_;
          for (std::int64_t i = 0; i < rows; i += tile_rows_) {
            t.m = std::min<std::int64_t>(tile_rows_, rows - i);
            t.a = a + i * t.a_row * size_;
            if (all_.bias) t.bias = all_.bias + (row + i) * size_;
            t.c = p_.c + ((row + i) * p_.c_row + c_at(at) + v) * c_size;
            t.acc = sum_apart ? const_cast<char*>(p_.sum) + (static_cast<char*>(t.c) - p_.c) : in_c ? t.c : sums + (i * sums_row + (j - panel) * width_ + v) * size_;
            t.acc_row = in_c ? p_.c_row : sums_row;
            (full ? f_.gemm_full : f_.gemm_one)(&t);
          }
        }
      }
    }
  }

  const MatmulKernels& f_;
  const PackedProduct& all_;
  const ProductCall& p_;
  DType acc_;
  std::int64_t size_, lanes_, width_, tile_rows_, packed_bytes_, image_panels_, block_rows_, blocks_, depth_, k_room_, first_ = 0;
  bool a_in_place_;
  const char* packed_ = nullptr;
  std::atomic<bool> failed_{false};
  std::exception_ptr failure_;
};

/// Is the matrix-vector form worth it, and does it have the code it needs?
bool use_gemv(const MatmulKernels& f, const ProductCall& p) {
  if (p.b_row == 1 && f.dot[0]) return p.m <= kDotRows;
  return p.m <= kGemvRows && p.b_col == 1 && f.sum[0];
}

void gemv(const MatmulKernels& f, const ProductCall& p) { Gemv(f, {&p, 1}).run(); }

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
  if (p.dtype == DType::Float64) add_rows<double>(from, row, to);
  else add_rows<float>(from, row, to);
}

}  // namespace

void multiply(const MatmulKernels& f, const ProductCall& p) {
  if (p.m == 0 || p.n == 0) return;
  if (p.sum && (p.k == 0 || use_gemv(f, p) || p.n <= kGemvRows)) return multiply_and_add(f, p);
  if (p.k == 0) {
    for (std::int64_t i = 0; i < p.m; ++i)
      std::memset(p.c + i * p.c_row * item_size(p.dtype), 0, static_cast<std::size_t>(p.n * item_size(p.dtype)));
    return;
  }
  if (use_gemv(f, p)) return gemv(f, p);
  // A matrix times few columns is few rows times its transpose.
  ProductCall t{p.dtype, p.dtype, p.n, p.m, p.k, p.b, p.b_col, p.b_row, p.a, p.a_col, p.a_row, p.c, p.m};
  if (p.n <= kGemvRows && p.a_dtype == p.dtype && use_gemv(f, t)) {
    if (p.n == 1 && p.c_row == 1) return gemv(f, t);
    Scratch transposed(p.n * p.m * item_size(p.dtype));
    t.c = transposed.get();
    gemv(f, t);
    TensorView c = matrix(p.c, p.dtype, p.n, p.m, 1, p.c_row);
    return scatter(t.c, c);
  }
  const Matrix b(f, p, gemm_vectors(f.bits) * micro_lanes(f.bits, acc_dtype(p.dtype)));
  Gemm(f, {p, b}, kPackedBytes).run();
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

}  // namespace reprise::kernels
