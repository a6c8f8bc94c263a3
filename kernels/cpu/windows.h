#pragma once
#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "kernels/cpu/convolution_kernels.h"
#include "kernels/cpu/matmul_product.h"
#include "kernels/launch/layout.h"
#include "kernels/launch/product.h"

/// What the kernels of convolutions know of images, weights and what windows see (Note [Convolutions by panels] in
/// convolution.cc).
namespace reprise::kernels {

inline constexpr int kMostWindowDims = 3;

/// How a dimension stands whose elements were dealt out by what their index leaves divided by `step`: those that leave
/// f begin f * phase after the first. 1: it was not.
struct Dealt {
  std::int64_t step = 1, phase = 0;
};
/// One spatial dimension: sizes of the image, the result and the kernel, and how the image's elements stand; of one
/// that was dealt out, those of a phase.
struct Dim {
  std::int64_t in, out, kernel, step, padding, spread, stride;
  Dealt dealt{};

  /// What place k of windows sees: where, after a window's begin, in elements of a phase; how many a phase has; and
  /// where it stands.
  struct Place {
    std::int64_t shift, limit, offset;
  };
  Place place(std::int64_t k) const {
    const std::int64_t at = k * spread;
    if (dealt.step == 1) return {at, in, at * stride};
    const std::int64_t from = at - padding, left = from % dealt.step, phase = left < 0 ? left + dealt.step : left,
                       shift = (from - phase) / dealt.step;
    return {shift, in > phase ? (in - phase + dealt.step - 1) / dealt.step : 0, phase * dealt.phase + shift * stride};
  }
  /// Where the window of a result begins.
  std::int64_t begin(std::int64_t result) const { return dealt.step == 1 ? result * step - padding : result; }
};
using Dims = std::array<Dealt, kMostWindowDims>;

/// Do the dims from `first` on stand row by row?
inline bool side_by_side(const TensorView& v, int first) {
  std::int64_t stride = 1;
  for (int d = v.rank; d-- > first; stride *= v.sizes[d])
    if (v.sizes[d] != 1 && v.strides[d] != stride) return false;
  return true;
}
/// Of a weight [o, c, places...] whose channels are the last: do the places and the channels of each result stand row
/// by row?
inline bool places_first(const TensorView& w) {
  if (w.strides[1] != 1 || w.sizes[1] == 1 || side_by_side(w, 1)) return false;
  std::int64_t stride = w.sizes[1];
  for (int d = w.rank; d-- > 2; stride *= w.sizes[d])
    if (w.sizes[d] != 1 && w.strides[d] != stride) return false;
  return true;
}
inline std::int64_t count_from(const TensorView& v, int first) {
  std::int64_t n = 1;
  for (int d = first; d < v.rank; ++d) n *= v.sizes[d];
  return n;
}

/// What the windows of some channels see.
class Windows final : public PanelSource {
 public:
  static constexpr std::int64_t kMostColumns = 64, kFewPlaces = 128;

  /// Of x's channels [0, channels); none: every element is 0. A product's rows are channels, then places, or places,
  /// then channels.
  Windows(const NativeArgs& args, const TensorView& x, const TensorView& w, const TensorView& y, int bits,
          micro::PackWindowsFn pack, bool none, bool channels_first, const Dims& dealt = {})
      : x_(x), lanes_(micro_lanes(bits, acc_dtype(x.dtype))), vectors_(gemm_vectors(bits)),
        channels_(none ? 0 : w.sizes[1]), n_(x.rank - 2), pack_(pack) {
    for (int d = 0; d < n_; ++d) {
      const auto i = static_cast<std::uint32_t>(d);
      dims_[i] = {x.sizes[d + 2],
                  y.sizes[d + 2],
                  w.sizes[d + 2],
                  args.integer(windows_args::kStride, i),
                  args.integer(windows_args::kPadding, i),
                  args.integer(windows_args::kDilation, i),
                  x.strides[d + 2],
                  dealt[i]};
    }
    if (none) return;
    places_ = count_from(w, 2);
    (channels_first ? to_channel_ : to_place_) = channels_first ? places_ : channels_;
    place_.reserve(static_cast<std::size_t>(places_));
    std::array<std::int64_t, kMostWindowDims> at{};
    for (std::int64_t p = 0; p < places_; ++p) {
      std::int64_t offset = 0;
      for (int d = 0; d < n_; ++d) offset += dims_[index(d)].place(at[index(d)]).offset;
      place_.push_back(offset);
      for (int d = n_; d-- > 0 && ++at[index(d)] == dims_[index(d)].kernel;) at[index(d)] = 0;
    }
  }
  /// From this channel on.
  Windows from(std::int64_t channel) const {
    Windows w = *this;
    w.x_.data += channel * x_.strides[1] * item_size(x_.dtype);
    return w;
  }

  /// The image has one element, which the kernel's one place sees.
  bool of_one_element() const {
    bool one = channels_ > 0;
    for (int d = 0; d < n_; ++d)
      one = one && dims_[index(d)].in == 1 && dims_[index(d)].kernel == 1 && dims_[index(d)].padding == 0;
    return one;
  }

  /// Is each window one element, and do all of an image's stand side by side in a channel?
  bool sees_planes() const {
    std::int64_t stride = 1;
    for (int d = n_; d-- > 0; stride *= dims_[index(d)].in) {
      const Dim& dim = dims_[index(d)];
      if (dim.kernel != 1 || dim.step != 1 || dim.padding != 0 || (dim.in != 1 && dim.stride != stride)) return false;
    }
    return true;
  }

  /// What the windows of some results see: as micro::WindowPanel says it.
  struct Seen {
    std::int64_t column[kMostColumns], dense = 0;
    std::uint64_t few[kFewPlaces];
    std::vector<std::uint64_t> many;
    std::uint64_t* inside = few;
  };
  void look(std::int64_t col, std::int64_t cols, Seen& seen) const {
    std::int64_t begins[kMostWindowDims][kMostColumns];
    begin(col, cols, begins, seen.column);
    if (places_ > kFewPlaces) seen.many.resize(static_cast<std::size_t>(places_)), seen.inside = seen.many.data();
    see(cols, begins, seen.inside);
    for (std::int64_t v = 0; v < vectors_; ++v) {
      bool all = true;
      for (std::int64_t l = v * lanes_ + 1; l < std::min(cols, (v + 1) * lanes_); ++l)
        all = all && seen.column[l] == seen.column[l - 1] + 1;
      if (all) seen.dense |= std::int64_t{1} << v;
    }
    for (std::int64_t l = cols; l < width(); ++l) seen.column[l] = seen.column[0];
  }
  /// Points into `seen` and this.
  micro::WindowPanel panel(const Seen& seen, std::int64_t image, std::int64_t first_channel, std::int64_t channels,
                           char* to) const {
    return {x_.data + (image * x_.strides[0] + first_channel * x_.strides[1]) * item_size(x_.dtype),
            place_.data(),
            seen.inside,
            seen.column,
            channels,
            x_.strides[1],
            places_,
            seen.dense,
            to,
            to_channel_,
            to_place_};
  }
  /// A panel of some channels.
  void pack(const Seen& seen, std::int64_t image, std::int64_t first_channel, std::int64_t channels, char* to) const {
    const micro::WindowPanel p = panel(seen, image, first_channel, channels, to);
    pack_(&p);
  }
  std::int64_t channels() const { return channels_; }
  std::int64_t width() const override { return lanes_ * vectors_; }
  std::int64_t places() const { return places_; }
  /// Where place p of a window is, after the window's begin.
  std::int64_t place(std::int64_t p) const { return place_[static_cast<std::size_t>(p)]; }

  bool packs_parts() const override { return false; }
  /// Of a kernel of one place; of more most has been read for the panel before.
  Lines columns(std::int64_t image, std::int64_t col, std::int64_t cols) const override {
    if (places_ != 1 || !channels_) return {};
    std::int64_t begins[kMostWindowDims][kMostColumns], column[kMostColumns];
    begin(col, cols, begins, column);
    const std::int64_t size = item_size(x_.dtype);
    if (column[cols - 1] - column[0] != cols - 1) return {};
    return {x_.data + (image * x_.strides[0] + column[0] + place_[0]) * size, channels_, x_.strides[1] * size,
            cols * size};
  }
  void pack(std::int64_t image, std::int64_t col, std::int64_t cols, std::int64_t, std::int64_t,
            char* to) const override {
    // one row stands for all
    if (!channels_) return void(std::memset(to, 0, static_cast<std::size_t>(width() * item_size(acc_dtype(x_.dtype)))));
    Seen seen;
    look(col, cols, seen);
    const micro::WindowPanel p = panel(seen, image, 0, channels_, to);
    pack_(&p);
  }

 private:
  static std::size_t index(int d) { return static_cast<std::size_t>(d); }

  /// Where the windows of these results begin: in each dimension, and as an offset.
  void begin(std::int64_t col, std::int64_t cols, std::int64_t (&begins)[kMostWindowDims][kMostColumns],
             std::int64_t* column) const {
    std::array<std::int64_t, kMostWindowDims> at{};
    for (int d = n_; d-- > 0; col /= dims_[index(d)].out) at[index(d)] = col % dims_[index(d)].out;
    for (std::int64_t l = 0; l < cols; ++l) {
      column[l] = 0;
      for (int d = 0; d < n_; ++d) {
        const Dim& dim = dims_[index(d)];
        begins[d][l] = dim.begin(at[index(d)]);
        column[l] += begins[d][l] * dim.stride;
      }
      for (int d = n_; d-- > 0 && ++at[index(d)] == dims_[index(d)].out;) at[index(d)] = 0;
    }
  }

  /// For each place, which of the windows have it within the image.
  void see(std::int64_t cols, const std::int64_t (&begins)[kMostWindowDims][kMostColumns],
           std::uint64_t* inside) const {
    std::fill_n(inside, places_, cols == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << cols) - 1);
    std::int64_t after = 1;  // places of the dimensions behind
    for (int d = n_; d-- > 0; after *= dims_[index(d)].kernel) {
      const Dim& dim = dims_[index(d)];
      const auto [least, most] = std::minmax_element(begins[d], begins[d] + cols);
      for (std::int64_t k = 0; k < dim.kernel; ++k) {
        const auto [shift, limit, offset] = dim.place(k);
        if (*least + shift >= 0 && *most + shift < limit) continue;
        std::uint64_t bits = 0;
        for (std::int64_t l = 0; l < cols; ++l)
          bits |= std::uint64_t{static_cast<std::uint64_t>(begins[d][l] + shift) < static_cast<std::uint64_t>(limit)}
                  << l;
        for (std::int64_t first = k * after; first < places_; first += dim.kernel * after)
          for (std::int64_t p = first; p < first + after; ++p) inside[p] &= bits;
      }
    }
  }

  TensorView x_;
  std::int64_t lanes_, vectors_, channels_, places_ = 1;
  int n_;
  micro::PackWindowsFn pack_;
  std::array<Dim, kMostWindowDims> dims_{};
  std::vector<std::int64_t> place_;
  std::int64_t to_channel_ = 1, to_place_ = 1;  // rows of a panel: as the weights' columns stand
};

/// An image whose results step over every second element of a row, of which the kernel has several places, dealt out by
/// phases in all dimensions that are stepped over, so that neighbouring windows see neighbours; any other as it is.
/// `deal`: null, or micro::DealRows of step 2 and the image's dtype, which is an accumulator's.
class Phases {
 public:
  Phases(const NativeArgs& args, micro::DealRowsFn deal, const TensorView& x) : view_(x) {
    const int n = x.rank - 2;
    auto step = [&](int d) { return args.integer(windows_args::kStride, static_cast<std::uint32_t>(d)); };
    if (!deal || x.numel() == 0 || step(n - 1) != 2 || args.tensor(windows_args::kWeight).sizes[x.rank - 1] < 2 ||
        x.sizes[x.rank - 1] < 2 || x.strides[x.rank - 1] != 1)
      return;
    for (int d = 0; d < n; ++d)
      if (step(d) > x.sizes[d + 2]) return;  // phases without elements would take memory, too
    std::int64_t stride = 1, room = 1, phases = 1, each[kMostWindowDims];
    for (int d = n; d-- > 0;) {
      const std::int64_t s = step(d);
      each[d] = (x.sizes[d + 2] + s - 1) / s;
      view_.strides[d + 2] = stride, stride *= each[d], phases *= s;
    }
    for (int d = 0; d < n; ++d) dims_[static_cast<std::size_t>(d)] = {step(d), room * stride}, room *= step(d);
    const std::int64_t size = item_size(x.dtype), channels = x.sizes[1];
    view_.strides[1] = stride * phases, view_.strides[0] = view_.strides[1] * channels;
    room_.emplace(x.sizes[0] * view_.strides[0] * size);
    view_.data = room_->get();
    const std::int64_t row_step = n > 1 ? step(n - 2) : 1, tall = n > 1 ? x.sizes[x.rank - 2] : 1,
                       deep = n > 2 ? x.sizes[2] : 1, deep_step = n > 2 ? step(0) : 1;
    parallel(x.sizes[0] * channels, std::max<std::int64_t>(1, kGrain / view_.strides[1]),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i)
                 for (std::int64_t z = 0; z < deep; ++z)
                   for (std::int64_t f = 0; f < std::min(row_step, tall); ++f) {
                     const char* from =
                         x.data + (i / channels * x.strides[0] + i % channels * x.strides[1] +
                                   (n > 2 ? z * x.strides[2] : 0) + (n > 1 ? f * x.strides[x.rank - 2] : 0)) *
                                      size;
                     std::int64_t at = i * view_.strides[1];
                     if (n > 2) at += z % deep_step * dims_[0].phase + z / deep_step * view_.strides[2];
                     if (n > 1) at += f * dims_[static_cast<std::size_t>(n) - 2].phase;
                     char* to = view_.data + at * size;
                     const micro::RowDeal rows{from,
                                               n > 1 ? x.strides[x.rank - 2] * row_step : 0,
                                               {to, to + dims_[static_cast<std::size_t>(n) - 1].phase * size},
                                               n > 1 ? view_.strides[x.rank - 2] : 0,
                                               (tall - f + row_step - 1) / row_step,
                                               x.sizes[x.rank - 1]};
                     deal(&rows);
                   }
             });
  }
  const TensorView& view() const { return view_; }
  const Dims& dims() const { return dims_; }

 private:
  static constexpr std::int64_t kGrain = 64 << 10;
  TensorView view_;
  Dims dims_{};
  std::optional<Scratch> room_;
};

/// An image with channels side by side, as planes; any other as it is.
class Planes {
 public:
  Planes(const MatmulKernels& f, const TensorView& x)
      : lanes_(micro_lanes(f.bits, acc_dtype(x.dtype))),
        apart_(f.transpose && x.dtype == acc_dtype(x.dtype) && x.sizes[1] > 1 && x.strides[1] == 1 &&
               x.strides[x.rank - 1] != 1 && x.numel() > 0 && count_from(x, 2) > 1),
        plane_(round_up(count_from(x, 2) + lanes_ - 1, lanes_)),
        room_(apart_ ? x.sizes[0] * round_up(x.sizes[1], lanes_) * plane_ * item_size(x.dtype) : 0), view_(x) {
    if (!apart_) return;
    view_.data = room_.get();
    std::int64_t stride = 1;
    for (int d = x.rank; d-- > 2; stride *= x.sizes[d]) view_.strides[d] = stride;
    view_.strides[1] = plane_, view_.strides[0] = round_up(x.sizes[1], lanes_) * plane_;
    const std::int64_t parts = (x.sizes[1] + kChannels - 1) / kChannels;
    parallel(x.sizes[0] * parts, std::max<std::int64_t>(1, kGrain / (kChannels * plane_)),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i) transpose(f, x, i / parts, i % parts * kChannels);
             });
  }
  const TensorView& view() const { return view_; }

 private:
  static constexpr std::int64_t kChannels = 64, kGrain = 256 << 10;

  /// Row after row: what a vector writes behind a row's end the next one writes again; behind the last there is room.
  void transpose(const MatmulKernels& f, const TensorView& x, std::int64_t image, std::int64_t channel) const {
    const std::int64_t size = item_size(x.dtype), width = x.sizes[x.rank - 1],
                       channels = std::min(kChannels, x.sizes[1] - channel);
    const std::int64_t height = x.rank > 3 ? x.sizes[x.rank - 2] : 1, depth = x.rank > 4 ? x.sizes[2] : 1;
    const char* from = x.data + (image * x.strides[0] + channel) * size;
    char* to = view_.data + (image * view_.strides[0] + channel * plane_) * size;
    for (std::int64_t d = 0; d < depth; ++d)
      for (std::int64_t h = 0; h < height; ++h, to += width * size) {
        const char* row =
            from + ((x.rank > 4 ? d * x.strides[2] : 0) + (x.rank > 3 ? h * x.strides[x.rank - 2] : 0)) * size;
        for (std::int64_t w = 0; w < width; w += lanes_)
          f.transpose(row + w * x.strides[x.rank - 1] * size, x.strides[x.rank - 1], to + w * size, plane_,
                      std::min(lanes_, width - w), channels);
      }
  }

  std::int64_t lanes_;
  bool apart_;
  std::int64_t plane_;
  Scratch room_;
  TensorView view_;
};

/// Does a launch of such steps, of this dtype, take micro::DealRows for Phases?
inline bool deals_phases(const graph::Node& node, DType t) {
  const Ints& step = std::get<Ints>(node.args[windows_args::kStride]);
  return t == acc_dtype(t) && is_number(step.back(), 2);
}

}  // namespace reprise::kernels
