#include "kernels/cpu/matmul_product.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cpu/fragment.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/gemv.h"
#include "kernels/cpu/low_product.h"
#include "kernels/cpu/panel_sources.h"

namespace reprise::kernels {

std::vector<KernelCode> matmul_specs(int bits, DType t, unsigned which) {
  DType acc = acc_dtype(t);
  const KernelCode all[MatmulKernels::kSlots] = {micro::Gemm{bits, acc, t, gemm_rows(bits), gemm_vectors(bits)},
                                                 micro::Gemm{bits, acc, t, gemm_rows(bits), 2},
                                                 micro::Gemm{bits, acc, t, gemm_rows(bits), 1},
                                                 micro::Gemm{bits, acc, t, kGemmFewRows, gemm_vectors(bits)},
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
          reinterpret_cast<micro::GemmFn>(f[K::kGemmFew]),
          {reinterpret_cast<micro::GemvDotFn>(f[K::kDot1]), reinterpret_cast<micro::GemvDotFn>(f[K::kDot4])},
          {reinterpret_cast<micro::GemvSumFn>(f[K::kSum1]), reinterpret_cast<micro::GemvSumFn>(f[K::kSum4])},
          reinterpret_cast<micro::TransposeFn>(f[K::kTranspose]),
          reinterpret_cast<micro::ConvertFn>(f[K::kConvertIn]),
          reinterpret_cast<micro::ConvertFn>(f[K::kConvertOut]),
          reinterpret_cast<micro::LowTileFn>(f[K::kLowAmx] ? f[K::kLowAmx] : f[K::kLowPairs]),
          reinterpret_cast<micro::InterleaveFn>(f[K::kInterleave]),
          reinterpret_cast<micro::TransposeFn>(f[K::kTurn]),
          f[K::kLowAmx]     ? LowForm::Amx
          : f[K::kLowPairs] ? LowForm::Pairs
                            : LowForm::None};
}

namespace {

constexpr std::int64_t kPackedBytes = 8 << 20;  // of B at a time: stays in the L3 cache
constexpr std::int64_t kLeastPacked = 512 << 10;
constexpr std::int64_t kDeepest = 768;  // a k up to this is one block
// else blocks of about this: A's block and B's panel share the L2 cache
constexpr std::int64_t kDepth = 512;

/// Is the matrix-vector form worth it, and does it have the code it needs? Panels that are there are read.
bool use_gemv(const MatmulKernels& f, const ProductCall& p) {
  if (p.panels) return false;
  if (p.b_row == 1 && f.dot[0]) return p.m <= dot_rows(p.dtype, p.k);
  return p.m <= kGemvRows && p.b_col == 1 && f.sum[0];
}

void gemv(const MatmulKernels& f, const ProductCall& p) { Gemv(f, {&p, 1}).run(); }

/// A matrix times few columns is few rows times its transpose. Panels that are there are read: nobody may have B any
/// more.
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
    case DType::Float64: return add_rows<double>(from, row, to);
    case DType::Float32: return add_rows<float>(from, row, to);
    case DType::Int64: return add_rows<std::uint64_t>(from, row, to);
    default: return add_rows<std::uint32_t>(from, row, to);
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
    TensorView c = matrix_view(p.c, p.dtype, p.n, p.m, 1, p.c_row);
    return scatter(t->c, c);
  }
  if (f.low_tile) return multiply_low(f, {&p, 1});
  const MatrixSource b(f, p);
  Gemm(f, {p, b}, kPackedBytes).run();
}

bool multiply_batch(const MatmulKernels& f, const ProductCall& p, std::int64_t batch, const Steps& steps,
                    const Fragment* fragment) {
  if (f.low_tile || p.m == 0 || p.n <= kGemvRows || p.k == 0 || use_gemv(f, p)) return false;
  const MatrixSource b(f, p, steps.b);
  const PackedProduct all{
      .p = p, .source = b, .images = batch, .c_image = steps.c, .a_image = steps.a, .fragment = fragment};
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

void multiply(const MatmulKernels& f, std::span<const ProductCall> all, const Fragment& fragment,
              std::int64_t first_row) {
  const ProductCall& p = all[0];
  if (p.m == 0 || p.n == 0) return;
  // Which way a product is computed is decided as above: it has the same bits.
  auto each = [&](auto&& holds) { return p.k > 0 && std::all_of(all.begin(), all.end(), holds); };
  if (each([&](const ProductCall& q) { return use_gemv(f, q) && q.b_row == p.b_row && Gemv(f, {&q, 1}).direct(); }))
    return Gemv(f, all, &fragment, first_row).run();
  if (each([&](const ProductCall& q) { return !use_gemv(f, q) && !as_rows(f, q) && !q.panels == !p.panels; })) {
    if (f.low_tile) return multiply_low(f, all, &fragment, first_row);
    const MatricesSource b(f, all);
    Gemm(f,
         {.p = p, .source = b, .images = std::ssize(all), .fragment = &fragment, .each = all, .first_row = first_row},
         kPackedBytes)
        .run();
    return;
  }
  // Whole products, then the fragment.
  const std::int64_t bytes = p.m * p.n * item_size(p.dtype),
                     own = std::count_if(all.begin(), all.end(), [](const ProductCall&q) { return !q.c; });
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
