#include "kernels/cpu/packed.h"

#include <algorithm>

#include "kernels/cpu/matmul_product.h"

namespace reprise::kernels {
namespace {

/// T: unsigned numbers of the elements' size.
template <class T>
void pack(const TensorView& w, const PanelForm& form, T* out) {
  const std::int64_t width = form.width, group = form.group, n = w.sizes[0], k = w.sizes[1],
                     deep = round_up(k, form.deep);
  const T* from = reinterpret_cast<const T*>(w.data);
  const T turned = static_cast<T>(form.turned ? 0x80 : 0);
  constexpr std::int64_t kTile = 16;  // of k: lines that are read and written stay in the cache meanwhile
  static_assert(kTile % 4 == 0);
  parallel((n + width - 1) / width,
           std::max<std::int64_t>(1, (std::int64_t{128} << 10) / std::max<std::int64_t>(1, deep * width)),
           [&](std::int64_t begin, std::int64_t end) {
             for (std::int64_t p = begin; p < end; ++p) {
               T* panel = out + p * width * deep;
               const std::int64_t cols = std::min(width, n - p * width);
               for (std::int64_t tile = 0; tile < deep; tile += kTile) {
                 const std::int64_t last = std::min(deep, tile + kTile);
                 for (std::int64_t c = 0; c < width; ++c) {
                   const T* row = from + (p * width + c) * w.strides[0];
                   for (std::int64_t i = tile; i < last; i += group)
                     for (std::int64_t g = 0; g < group; ++g)
                       panel[i * width + c * group + g] =
                           static_cast<T>((c < cols && i + g < k ? row[(i + g) * w.strides[1]] : T{0}) ^ turned);
                 }
               }
             }
           });
}

}  // namespace

std::optional<PanelForm> panel_form(DType t) {
  const int bits = micro_vector_bits();
  const std::int64_t lanes = micro_lanes(bits, t == DType::Float64 ? t : DType::Float32),
                     width = gemm_vectors(bits) * lanes;
  const LowForm low = low_form(bits, t);
  switch (t) {
    case DType::Float64:
    case DType::Float32:
    case DType::Float16: return PanelForm{width, lanes};
    case DType::BFloat16:
      if (low != LowForm::None) return PanelForm{low_columns(low, bits), 2 * lanes, 2};
      return PanelForm{width, lanes};
    case DType::Int8: {
      constexpr int kBytes = int_group(true);
      if (low == LowForm::Amx) return PanelForm{low_columns(low, bits), low_step(low) * kBytes, kBytes};
      return PanelForm{width, kBytes, kBytes, true};
    }
    default: return std::nullopt;
  }
}

std::string panel_forms_text() {
  std::string text;
  for (DType t : {DType::Float64, DType::Float32, DType::Float16, DType::BFloat16, DType::Int8})
    if (const PanelForm f = panel_form(t).value(); reads_panels(t))
      text += std::to_string(f.width) + 'x' + std::to_string(f.deep) + 'x' + std::to_string(f.group) +
              (f.turned ? "t " : " ");
  return text;
}

bool reads_panels(DType t) {
  return t == DType::Int8 ? has_byte_products(micro_vector_bits()) : panel_form(t).has_value();
}

void prepack_kernel(const NativeArgs& args) {
  const TensorView& w = args.tensor(0);
  if (args.result().numel() == 0) return;
  const PanelForm form = panel_form(w.dtype).value();
  switch (item_size(w.dtype)) {
    case 1: return pack(w, form, args.result().as<std::uint8_t>());
    case 2: return pack(w, form, args.result().as<std::uint16_t>());
    case 4: return pack(w, form, args.result().as<std::uint32_t>());
    default: return pack(w, form, args.result().as<std::uint64_t>());
  }
}

}  // namespace reprise::kernels
