#include "kernels/cpu/packed.h"

#include <algorithm>

#include "kernels/cpu/matmul_product.h"

namespace reprise::kernels {
namespace {

template <class T>
void pack(const TensorView& w, T* out) {
  const int bits = micro_vector_bits();
  const std::int64_t lanes = micro_lanes(bits, w.dtype), width = panel_width(bits, w.dtype), n = w.sizes[0], k = w.sizes[1], deep = round_up(k, lanes);
  const T* from = reinterpret_cast<const T*>(w.data);
  constexpr std::int64_t kTile = 16;             // of k: lines that are read and written stay in the cache meanwhile
  parallel((n + width - 1) / width, std::max<std::int64_t>(1, (std::int64_t{128} << 10) / std::max<std::int64_t>(1, deep * width)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p) {
      T* panel = out + p * width * deep;
      const std::int64_t cols = std::min(width, n - p * width);
      for (std::int64_t tile = 0; tile < deep; tile += kTile) {
        const std::int64_t last = std::min(deep, tile + kTile);
        for (std::int64_t c = 0; c < width; ++c) {
          const T* row = from + (p * width + c) * w.strides[0];
          for (std::int64_t i = tile; i < last; ++i) panel[i * width + c] = c < cols && i < k ? row[i * w.strides[1]] : T{0};
        }
      }
    }
  });
}

}  // namespace

void prepack_kernel(const NativeArgs& args) {
  const TensorView& w = args.tensor(0);
  if (args.result().numel() == 0) return;
  if (w.dtype == DType::Float64) pack(w, args.result().as<double>());
  else pack(w, args.result().as<float>());
}

}  // namespace reprise::kernels
