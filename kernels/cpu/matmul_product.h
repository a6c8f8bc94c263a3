#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "device/host_memory.h"
#include "device/parallel.h"
#include "kernels/cpu/micro_kernels.h"
#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// The micro-kernels of one launch, by slot. What the operands' known strides rule out is null: see matmul_specs.
struct MatmulKernels {
  enum Slot {
    kGemmFull,
    kGemmTwo,
    kGemmOne,
    kGemmFew,
    kDot1,
    kDot4,
    kSum1,
    kSum4,
    kTranspose,
    kConvertIn,
    kConvertOut,
    kLowPairs,
    kLowAmx,
    kInterleave,
    kTurn,
    kSlots
  };
  int bits;
  micro::GemmFn gemm_full, gemm_two, gemm_one;  ///< gemm_vectors(bits) vectors, two, one
  micro::GemmFn gemm_few;                       ///< kGemmFewRows rows of gemm_vectors(bits) vectors
  micro::GemvDotFn dot[2];                      ///< 1 and 4 rows
  micro::GemvSumFn sum[2];
  micro::TransposeFn transpose;              ///< operand dtype to accumulator
  micro::ConvertFn convert_in, convert_out;  ///< operand dtype to accumulator, accumulator to operand dtype
  // What stands for the gemm tiles where the processor has products of the operands' dtype (low_form;
  // kernels/cpu/low_product.h). With convert_out.
  micro::LowTileFn low_tile;
  micro::InterleaveFn interleave;
  micro::TransposeFn turn;  ///< of 4 bytes
  LowForm low;
};
/// `which`: bit s set asks for slot s. The specs come in slot order.
std::vector<KernelCode> matmul_specs(int bits, DType dtype, unsigned which);
MatmulKernels matmul_kernels(int bits, unsigned which, void* const* micro);

/// The slots of blocked products.
constexpr unsigned kGemmSlots = 1u << MatmulKernels::kGemmFull | 1u << MatmulKernels::kGemmTwo |
                                1u << MatmulKernels::kGemmOne | 1u << MatmulKernels::kGemmFew;

/// Up to this many rows dots are faster than packing by transposition; sums, up to kGemvRows. What is converted on the
/// way dots convert for every four rows. Of others the lanes are added up for each sum, however short it is.
inline constexpr std::int64_t kDotRows = 16, kMostDotRows = 32;
constexpr std::int64_t dot_rows(DType t, std::int64_t k) {
  return t != acc_dtype(t) ? kDotRows : k < 8 * kGemvRows ? kGemvRows : k > 8 * kMostDotRows ? kMostDotRows : k / 8;
}

/// Memory that will be read soon: so many rows of so many bytes, `step` bytes apart.
struct Lines {
  const char* first = nullptr;
  std::int64_t rows = 0, step = 0, bytes = 0;
  static Lines dense(const char* p, std::int64_t bytes) { return {p, (bytes + 63) / 64, 64, 64}; }
};

class Fragment;  // fragment.h

/// B of products whose elements do not stand in memory as a matrix.
class PanelSource {
 public:
  /// Columns of a panel: whole vectors, gemm_vectors at most.
  virtual std::int64_t width() const = 0;
  /// Of the B of image `image`: rows [k, k + deep) of columns [col, col + cols), cols <= width, as a panel of that
  /// width in the accumulator's dtype. Columns beyond are written with something, as rows are up to a multiple of
  /// lanes. Called by several threads. Throws OutOfMemory.
  virtual void pack(std::int64_t image, std::int64_t col, std::int64_t cols, std::int64_t k, std::int64_t deep,
                    char* panel) const = 0;
  /// Can it pack some rows? Otherwise it is asked for all of them.
  virtual bool packs_parts() const = 0;
  /// Of image, col, cols: B's first row, if tiles may read it as it stands, `row` elements to a row; null: it is
  /// packed. That depends on cols alone.
  virtual const char* as_it_stands(std::int64_t, std::int64_t, std::int64_t, std::int64_t& row) const {
    return row = 0, nullptr;
  }
  /// Where image, col, cols stand, to be fetched in time. Empty: nothing is known.
  virtual Lines columns(std::int64_t, std::int64_t, std::int64_t) const { return {}; }

 protected:
  ~PanelSource() = default;
};

/// C[m, n] = A[m, k] * B[k, n]. Strides in elements; C's columns have stride 1. A is of `a_dtype`: the operands' dtype,
/// or the accumulator's when it was widened before.
struct ProductCall {
  DType dtype, a_dtype;
  std::int64_t m, n, k;
  const char* a = nullptr;
  std::int64_t a_row = 0, a_col = 0;
  const char* b = nullptr;
  std::int64_t b_row = 0, b_col = 0;
  char* c = nullptr;
  std::int64_t c_row = 0;
  const char* sum = nullptr;  ///< what is added, of the accumulator's dtype, with c's rows: c itself, or apart from it
  const char* panels = nullptr;  ///< B once more, in the dtype's form (packed.h); null: it is packed
};
/// Products of one A, or of A's a_image elements apart, with each of so many B's, which `source` packs: c_image
/// elements apart in C (and in what is added). p.b is not read.
struct PackedProduct {
  ProductCall p;
  const PanelSource& source;
  std::int64_t images = 1, c_image = 0, a_image = 0;
  const char* bias = nullptr;  ///< of the accumulator's dtype, one for each row; null: none
  bool relu = false;           ///< none below 0, of what is whole
  /// Runs over blocks of the results. Of several B's of one A it reads all at once, each of which is made where its
  /// `each` says; else p.c may be null.
  const Fragment* fragment = nullptr;
  std::span<const ProductCall> each{};
  std::int64_t first_row = 0;  ///< which of the fragment's rows is row 0
};
/// As below. Wants kGemmSlots and kConvertIn; k > 0.
void multiply(const MatmulKernels&, const PackedProduct&);
/// May use device::parallel_for. Throws OutOfMemory when there is no room to pack.
void multiply(const MatmulKernels&, const ProductCall&);
/// So many products of matrices that stand such steps apart (in elements). False: one after the other is better;
/// nothing is done.
struct Steps {
  std::int64_t a, b, c;
};
bool multiply_batch(const MatmulKernels&, const ProductCall&, std::int64_t batch, const Steps&,
                    const Fragment* = nullptr);
/// Products of one A (all of a_* and of m, k and the dtypes are the same). Few rows are converted once, and all columns
/// are shared out among the threads at once.
void multiply(const MatmulKernels&, std::span<const ProductCall>);
/// The same, of as many columns each, for a fragment that reads all of them, in rows from `first_row` on. Where c is
/// null a product is nowhere but in blocks; nothing is added to any.
void multiply(const MatmulKernels&, std::span<const ProductCall>, const Fragment&, std::int64_t first_row = 0);

/// Runs one launch's products; what goes wrong becomes the launch's fault. Several threads may do so at once.
template <class F>
void reporting(const NativeArgs& args, F&& f) {
  auto report = [&](ErrorCode code, std::string message) {
    static Mutex mu;
    const MutexLock lock(mu);
    *args.fault = {true, code, std::move(message)};
  };
  try {
    f();
  } catch (const Error& e) {
    report(e.code(), e.message());
  } catch (const std::exception& e) {
    report(ErrorCode::OutOfMemory, e.what());
  }
}

/// Is something added to a product, and does it stand where the result will?
enum class Sum : std::int64_t { None, Apart, InPlace };

/// Bytes for the time of a scope.
class Scratch {
 public:
  explicit Scratch(std::int64_t bytes)
      : bytes_(bytes), p_(bytes ? static_cast<char*>(device::host_allocate(bytes)) : nullptr) {}
  ~Scratch() {
    if (p_) device::host_free(p_, bytes_);
  }
  Scratch(const Scratch&) = delete;
  char* get() const { return p_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(p_);
  }

 private:
  std::int64_t bytes_;
  char* p_;
};

/// device::parallel_for over a callable (begin, end). What one of the threads throws is thrown here, when all are done.
template <class F>
void parallel(std::int64_t n, std::int64_t grain, F&& f) {
  struct Shared {
    std::remove_reference_t<F>& f;
    std::atomic<bool> failed{false};
    std::exception_ptr failure{};
  } shared{f};
  device::parallel_for(
      n, grain,
      [](void* ctx, std::int64_t b, std::int64_t e) {
        auto& s = *static_cast<Shared*>(ctx);
        try {
          s.f(b, e);
        } catch (...) {
          if (!s.failed.exchange(true)) s.failure = std::current_exception();
        }
      },
      &shared);
  if (shared.failure) std::rethrow_exception(shared.failure);
}

/// Sums of k products are made of parts of so many (the last has what is left): the one order of summation of blocked
/// products.
std::int64_t product_depth(std::int64_t k, std::int64_t lanes);

constexpr std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

inline TensorView matrix_view(const char* p, DType t, std::int64_t rows, std::int64_t cols, std::int64_t row,
                              std::int64_t col) {
  TensorView v;
  v.data = const_cast<char*>(p), v.dtype = t, v.rank = 2;
  v.sizes[0] = rows, v.sizes[1] = cols, v.strides[0] = row, v.strides[1] = col;
  return v;
}
/// Copies any strided view, converting: to a row-major array of `to` (widening), or from one.
void gather(const TensorView& from, DType to, char* out);
void scatter(const char* in, const TensorView& to);
/// The same elements as a row-major array of the same dtype.
void compact(const TensorView& from, char* out);

}  // namespace reprise::kernels
