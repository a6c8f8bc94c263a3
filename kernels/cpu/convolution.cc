// Note [Convolutions by panels]
// A convolution's product has weights [o, c * places] to the left and, for each image, what the windows see, [c * places, results], to the right. The
// blocked product reads the right side as panels of a tile's width that it packs anyway; here they are packed from the image itself. A panel's column is
// a result: where its window begins in the image, and which places of it lie within (a bit for each column). Both are the same for all channels. With steps of 1 and
// a padding that keeps the sizes, neighbouring results see neighbouring elements even over the ends of rows, so that a vector is one load; else it is gathered.
// Panels of all images of a batch are one list, which the threads share out; groups are products of their own.
//
// An image whose channels lie side by side (channels last) is transposed once, a pass over the image where its places would be gathered again for each place of the kernel.
//
// Of one channel to a group (depthwise) there is nothing to multiply twice: each result is summed up from what its window sees, with the same columns and bits.
#include "kernels/cpu/convolution.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "kernels/cpu/matmul_product.h"
#include "kernels/launch/layout.h"
#include "kernels/launch/product.h"
#include "kernels/reference/reference.h"

namespace reprise::kernels {

namespace {

using namespace windows_args;
constexpr int kOwn = windows_args::kCount;  // what is not the schema's: convolution_ints
constexpr int kMostDims = 3;

/// One spatial dimension: sizes of the image, the result and the kernel, and how the image's elements stand.
struct Dim {
  std::int64_t in, out, kernel, step, padding, spread, stride;
};

/// Do the dims from `first` on stand row by row?
bool side_by_side(const TensorView& v, int first) {
  std::int64_t stride = 1;
  for (int d = v.rank; d-- > first; stride *= v.sizes[d])
    if (v.sizes[d] != 1 && v.strides[d] != stride) return false;
  return true;
}
/// Of a weight [o, c, places...] whose channels are the last: do the places and the channels of each result stand row by row?
bool places_first(const TensorView& w) {
  if (w.strides[1] != 1 || w.sizes[1] == 1 || side_by_side(w, 1)) return false;
  std::int64_t stride = w.sizes[1];
  for (int d = w.rank; d-- > 2; stride *= w.sizes[d])
    if (w.sizes[d] != 1 && w.strides[d] != stride) return false;
  return true;
}
std::int64_t count_from(const TensorView& v, int first) {
  std::int64_t n = 1;
  for (int d = first; d < v.rank; ++d) n *= v.sizes[d];
  return n;
}

/// What the windows of some channels see.
class Windows final : public PanelSource {
 public:
  static constexpr std::int64_t kMostColumns = 64, kFewPlaces = 128;

  /// Of x's channels [0, channels); none: every element is 0. A product's rows are channels, then places, or places, then channels.
  Windows(const NativeArgs& args, const TensorView& x, const TensorView& w, const TensorView& y, int bits, micro::PackWindowsFn pack, bool none, bool channels_first)
      : x_(x), lanes_(micro_lanes(bits, acc_dtype(x.dtype))), vectors_(gemm_vectors(bits)), channels_(none ? 0 : w.sizes[1]), n_(x.rank - 2), pack_(pack) {
    for (int d = 0; d < n_; ++d) {
      const auto i = static_cast<std::uint32_t>(d);
      dims_[i] = {x.sizes[d + 2], y.sizes[d + 2], w.sizes[d + 2], args.integer(kStride, i), args.integer(kPadding, i), args.integer(kDilation, i), x.strides[d + 2]};
    }
    if (none) return;
    places_ = count_from(w, 2);
    (channels_first ? to_channel_ : to_place_) = channels_first ? places_ : channels_;
    place_.reserve(static_cast<std::size_t>(places_));
    std::array<std::int64_t, kMostDims> at{};
    for (std::int64_t p = 0; p < places_; ++p) {
      std::int64_t offset = 0;
      for (int d = 0; d < n_; ++d) offset += at[index(d)] * dims_[index(d)].spread * dims_[index(d)].stride;
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
    for (int d = 0; d < n_; ++d) one = one && dims_[index(d)].in == 1 && dims_[index(d)].kernel == 1 && dims_[index(d)].padding == 0;
    return one;
  }

  /// What the windows of some results see: as micro::WindowPanel says it.
  struct Seen {
    std::int64_t column[kMostColumns], dense = 0;
    std::uint64_t few[kFewPlaces];
    std::vector<std::uint64_t> many;
    std::uint64_t* inside = few;
  };
  void look(std::int64_t col, std::int64_t cols, Seen& seen) const {
    std::int64_t begins[kMostDims][kMostColumns];
    begin(col, cols, begins, seen.column);
    if (places_ > kFewPlaces) seen.many.resize(static_cast<std::size_t>(places_)), seen.inside = seen.many.data();
    see(cols, begins, seen.inside);
    for (std::int64_t v = 0; v < vectors_; ++v) {
      bool all = true;
      for (std::int64_t l = v * lanes_ + 1; l < std::min(cols, (v + 1) * lanes_); ++l) all = all && seen.column[l] == seen.column[l - 1] + 1;
      if (all) seen.dense |= std::int64_t{1} << v;
    }
    for (std::int64_t l = cols; l < width(); ++l) seen.column[l] = seen.column[0];
  }
  /// Points into `seen` and this.
  micro::WindowPanel panel(const Seen& seen, std::int64_t image, std::int64_t first_channel, std::int64_t channels, char* to) const {
    return {x_.data + (image * x_.strides[0] + first_channel * x_.strides[1]) * item_size(x_.dtype), place_.data(), seen.inside, seen.column, channels, x_.strides[1], places_, seen.dense, to, to_channel_, to_place_};
  }
  std::int64_t width() const override { return lanes_ * vectors_; }
  std::int64_t places() const { return places_; }

  bool packs_parts() const override { return false; }
  /// Of a kernel of one place; of more most has been read for the panel before.
  Lines columns(std::int64_t image, std::int64_t col, std::int64_t cols) const override {
    if (places_ != 1 || !channels_) return {};
    std::int64_t begins[kMostDims][kMostColumns], column[kMostColumns];
    begin(col, cols, begins, column);
    const std::int64_t size = item_size(x_.dtype);
    if (column[cols - 1] - column[0] != cols - 1) return {};
    return {x_.data + (image * x_.strides[0] + column[0]) * size, channels_, x_.strides[1] * size, cols * size};
  }
  void pack(std::int64_t image, std::int64_t col, std::int64_t cols, std::int64_t, std::int64_t, char* to) const override {
    if (!channels_) return void(std::memset(to, 0, static_cast<std::size_t>(width() * item_size(acc_dtype(x_.dtype)))));  // one row stands for all
    Seen seen;
    look(col, cols, seen);
    const micro::WindowPanel p = panel(seen, image, 0, channels_, to);
    pack_(&p);
  }

 private:
  static std::size_t index(int d) { return static_cast<std::size_t>(d); }

  /// Where the windows of these results begin: in each dimension, and as an offset.
  void begin(std::int64_t col, std::int64_t cols, std::int64_t (&begins)[kMostDims][kMostColumns], std::int64_t* column) const {
    std::array<std::int64_t, kMostDims> at{};
    for (int d = n_; d-- > 0; col /= dims_[index(d)].out) at[index(d)] = col % dims_[index(d)].out;
    for (std::int64_t l = 0; l < cols; ++l) {
      column[l] = 0;
      for (int d = 0; d < n_; ++d) {
        const Dim& dim = dims_[index(d)];
        begins[d][l] = at[index(d)] * dim.step - dim.padding;
        column[l] += begins[d][l] * dim.stride;
      }
      for (int d = n_; d-- > 0 && ++at[index(d)] == dims_[index(d)].out;) at[index(d)] = 0;
    }
  }

  /// For each place, which of the windows have it within the image.
  void see(std::int64_t cols, const std::int64_t (&begins)[kMostDims][kMostColumns], std::uint64_t* inside) const {
    std::fill_n(inside, places_, cols == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << cols) - 1);
    std::int64_t after = 1;  // places of the dimensions behind
    for (int d = n_; d-- > 0; after *= dims_[index(d)].kernel) {
      const Dim& dim = dims_[index(d)];
      const auto [least, most] = std::minmax_element(begins[d], begins[d] + cols);
      if (*least >= 0 && *most + (dim.kernel - 1) * dim.spread < dim.in) continue;
      for (std::int64_t k = 0; k < dim.kernel; ++k) {
        std::uint64_t bits = 0;
        for (std::int64_t l = 0; l < cols; ++l) bits |= std::uint64_t{static_cast<std::uint64_t>(begins[d][l] + k * dim.spread) < static_cast<std::uint64_t>(dim.in)} << l;
        for (std::int64_t first = k * after; first < places_; first += dim.kernel * after)
          for (std::int64_t p = first; p < first + after; ++p) inside[p] &= bits;
      }
    }
  }

  TensorView x_;
  std::int64_t lanes_, vectors_, channels_, places_ = 1;
  int n_;
  micro::PackWindowsFn pack_;
  std::array<Dim, kMostDims> dims_{};
  std::vector<std::int64_t> place_;
  std::int64_t to_channel_ = 1, to_place_ = 1;  // rows of a panel: as the weights' columns stand
};

/// to = from + sum + bias, of rows of n; where there are such.
template <class T>
void finish(const PackedProduct& all, std::int64_t rows, std::int64_t n, const char* from, std::int64_t from_row) {
  const T *made = reinterpret_cast<const T*>(from), *sum = reinterpret_cast<const T*>(all.p.sum), *bias = reinterpret_cast<const T*>(all.bias);
  T* to = reinterpret_cast<T*>(all.p.c);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const std::int64_t at = i * all.c_image + j;
      T v = made[i * from_row + j];
      if (sum) v += sum[at];
      if (bias) v += bias[j];
      to[at] = all.relu && v < 0 ? T(0) : v;
    }
}

/// Images of one element, and kernels of one place: a linear of the images' rows.
void by_rows(const MatmulKernels& f, const TensorView& x, const PackedProduct& all) {
  ProductCall p = all.p;
  p.m = all.images, p.n = all.p.m;
  p.a = x.data, p.a_row = x.strides[0], p.a_col = x.strides[1];
  p.b = all.p.a, p.b_row = 1, p.b_col = all.p.a_row;
  p.c_row = all.c_image, p.sum = nullptr;
  Scratch made(all.p.sum == all.p.c ? p.m * p.n * item_size(p.dtype) : 0);
  if (made.get()) p.c = made.get(), p.c_row = p.n;
  multiply(f, p);
  if (!all.p.sum && !all.bias && !all.relu) return;
  p.dtype == DType::Float64 ? finish<double>(all, p.m, p.n, p.c, p.c_row) : finish<float>(all, p.m, p.n, p.c, p.c_row);
}

constexpr std::int64_t kGrainSums = 1 << 20;  // products a thread should have at least
constexpr std::int64_t kChannelsAtOnce = 128;

/// One channel to a group: y[n, o, ...], `first` the weights [o, places] in the accumulator's dtype.
void depthwise(const NativeArgs& args, micro::SumWindowsFn f, const Windows& windows, const TensorView& x, const TensorView& y, const char* weights, std::int64_t weights_row, const char* sum, const char* bias, bool relu) {
  const std::int64_t channels = x.sizes[1], each = y.sizes[1] / channels, n = count_from(y, 2), width = windows.width();
  const std::int64_t panels = (n + width - 1) / width, parts = (channels + kChannelsAtOnce - 1) / kChannelsAtOnce;
  const std::int64_t size = item_size(y.dtype), acc = item_size(acc_dtype(y.dtype)), products = std::min(channels, kChannelsAtOnce) * each * windows.places() * width;
  static constexpr char kZero[8] = {};
  auto some = [&](std::int64_t begin, std::int64_t end) {
    Windows::Seen seen;
    std::int64_t seen_col = -1;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t part = i % parts, col = i / parts % panels * width, image = i / parts / panels;
      if (col != seen_col) seen.dense = 0, windows.look(col, std::min(width, n - col), seen), seen_col = col;
      const std::int64_t first = part * kChannelsAtOnce;
      for (std::int64_t j = 0; j < each; ++j) {  // results of one channel
        const std::int64_t o = first * each + j, at = image * y.strides[0] + o * y.strides[1] + col;
        micro::WindowRows rows{windows.panel(seen, image, first, std::min(kChannelsAtOnce, channels - first), nullptr),
                               weights + o * weights_row * acc, bias ? bias + o * acc : kZero, sum ? sum + at * acc : nullptr, each * weights_row, bias ? each : 0,
                               y.data + at * size, each * y.strides[1], std::min(width, n - col), relu ? 0 : -std::numeric_limits<double>::infinity()};
        f(&rows);
      }
    }
  };
  parallel(y.sizes[0] * panels * parts, std::max<std::int64_t>(1, kGrainSums / products), [&](std::int64_t begin, std::int64_t end) { reporting(args, [&] { some(begin, end); }); });
}

constexpr unsigned bit(MatmulKernels::Slot s) { return 1u << s; }

/// An image with channels side by side, as planes; any other as it is.
class Planes {
 public:
  Planes(const MatmulKernels& f, const TensorView& x)
      : lanes_(micro_lanes(f.bits, acc_dtype(x.dtype))),
        apart_(f.transpose && x.dtype == acc_dtype(x.dtype) && x.sizes[1] > 1 && x.strides[1] == 1 && x.strides[x.rank - 1] != 1 && x.numel() > 0 && count_from(x, 2) > 1),
        plane_(round_up(count_from(x, 2) + lanes_ - 1)),
        room_(apart_ ? x.sizes[0] * round_up(x.sizes[1]) * plane_ * item_size(x.dtype) : 0),
        view_(x) {
    if (!apart_) return;
    view_.data = room_.get();
    std::int64_t stride = 1;
    for (int d = x.rank; d-- > 2; stride *= x.sizes[d]) view_.strides[d] = stride;
    view_.strides[1] = plane_, view_.strides[0] = round_up(x.sizes[1]) * plane_;
    const std::int64_t parts = (x.sizes[1] + kChannels - 1) / kChannels;
    parallel(x.sizes[0] * parts, std::max<std::int64_t>(1, kGrain / (kChannels * plane_)), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) transpose(f, x, i / parts, i % parts * kChannels);
    });
  }
  const TensorView& view() const { return view_; }

 private:
  static constexpr std::int64_t kChannels = 64, kGrain = 256 << 10;
  std::int64_t round_up(std::int64_t n) const { return (n + lanes_ - 1) / lanes_ * lanes_; }

  /// Row after row: what a vector writes behind a row's end the next one writes again; behind the last there is room.
  void transpose(const MatmulKernels& f, const TensorView& x, std::int64_t image, std::int64_t channel) const {
    const std::int64_t size = item_size(x.dtype), width = x.sizes[x.rank - 1], channels = std::min(kChannels, x.sizes[1] - channel);
    const std::int64_t height = x.rank > 3 ? x.sizes[x.rank - 2] : 1, depth = x.rank > 4 ? x.sizes[2] : 1;
    const char* from = x.data + (image * x.strides[0] + channel) * size;
    char* to = view_.data + (image * view_.strides[0] + channel * plane_) * size;
    for (std::int64_t d = 0; d < depth; ++d)
      for (std::int64_t h = 0; h < height; ++h, to += width * size) {
        const char* row = from + ((x.rank > 4 ? d * x.strides[2] : 0) + (x.rank > 3 ? h * x.strides[x.rank - 2] : 0)) * size;
        for (std::int64_t w = 0; w < width; w += lanes_)
          f.transpose(row + w * x.strides[x.rank - 1] * size, x.strides[x.rank - 1], to + w * size, plane_, std::min(lanes_, width - w), channels);
      }
  }

  std::int64_t lanes_;
  bool apart_;
  std::int64_t plane_;
  Scratch room_;
  TensorView view_;
};

void convolution_kernel(const NativeArgs& args) {
  reporting(args, [&] {
    namespace own = convolution_ints;
    const TensorView &given = args.tensor(kInput), &w = args.tensor(kWeight), &result = args.result();
    if (result.numel() == 0) return;
    const int bits = static_cast<int>(args.integer(kOwn, own::kBits));
    const unsigned which = static_cast<unsigned>(args.integer(kOwn, own::kWhich));
    Sum sum = static_cast<Sum>(args.integer(kOwn, own::kSum));
    const MatmulKernels f = matmul_kernels(bits, which, args.micro);
    const Planes planes(f, given);
    const TensorView& x = planes.view();
    const auto pack = reinterpret_cast<micro::PackWindowsFn>(args.micro[std::popcount(which)]);
    const DType acc = acc_dtype(given.dtype);
    const std::int64_t groups = args.integer(kGroups), size = item_size(x.dtype);
    // The result's places side by side, the weight's rows.
    TensorView y = result;
    const bool in_place = side_by_side(result, 2);
    Scratch made(in_place ? 0 : result.numel() * size);
    if (!in_place) {
      y.data = made.get();
      std::int64_t stride = 1;
      for (int d = y.rank; d-- > 0; stride *= y.sizes[d]) y.strides[d] = stride;
      // What is added stands as the result does.
      if (sum != Sum::None) compact(sum == Sum::InPlace ? result : args.tensors[args.first_result - 1], y.data), sum = Sum::InPlace;
    }
    const std::int64_t places = count_from(w, 1);
    const bool none = places == 0 || x.numel() == 0, channels_first = none || !places_first(w), w_rows = none || !channels_first || side_by_side(w, 1);
    Scratch weights(w_rows ? 0 : w.numel() * size);
    if (!w_rows) compact(w, weights.get());
    Scratch biases(args.has(kBias) ? y.sizes[1] * item_size(acc) : 0);
    if (args.has(kBias)) gather(args.tensor(kBias), acc, biases.get());

    static constexpr char kNothing[16] = {};
    const std::int64_t per_group = y.sizes[1] / groups;
    ProductCall p{.dtype = x.dtype, .a_dtype = x.dtype, .m = per_group, .n = count_from(y, 2), .k = none ? 1 : places, .a_row = none ? 0 : w_rows ? w.strides[0] : places, .a_col = 1, .c_row = y.strides[1]};
    const char* first = none ? kNothing : w_rows ? w.data : weights.get();
    const Windows windows(args, x, w, y, bits, pack, none, channels_first);
    if (groups > 1 && w.sizes[1] == 1 && !none) {
      // Weights are few: they are widened, and come row by row.
      Scratch wide(w.numel() * item_size(acc));
      gather(w, acc, wide.get());
      const char* added = sum == Sum::None ? nullptr : sum == Sum::InPlace ? y.data : args.tensors[args.first_result - 1].data;
      const auto sums = reinterpret_cast<micro::SumWindowsFn>(args.micro[std::popcount(which) + 1]);
      depthwise(args, sums, windows, x, y, wide.get(), places, added, biases.get(), args.integer(kOwn, own::kRelu) != 0);
      if (!in_place) scatter(y.data, result);
      return;
    }
    auto group = [&](std::int64_t g) {
      const Windows seen = windows.from(none ? 0 : g * w.sizes[1]);
      PackedProduct all{.p = p, .source = seen, .images = y.sizes[0], .c_image = y.strides[0], .relu = args.integer(kOwn, own::kRelu) != 0};
      all.p.a = first + g * per_group * p.a_row * size;
      all.p.c = y.data + g * per_group * y.strides[1] * size;
      if (sum != Sum::None) all.p.sum = sum == Sum::InPlace ? all.p.c : args.tensors[args.first_result - 1].data + (all.p.c - y.data);
      if (biases.get()) all.bias = biases.get() + g * per_group * item_size(acc);
      if (groups == 1 && p.n == 1 && windows.of_one_element() && x.dtype == acc && f.dot[0] && (p.m == 1 || y.strides[1] == 1)) return by_rows(f, x, all);
      multiply(f, all);
    };
    const std::int64_t fmas = p.m * p.n * p.k * y.sizes[0];
    if (groups < 2 || fmas > std::int64_t{64} << 20) {  // large products are parallel inside
      for (std::int64_t g = 0; g < groups; ++g) group(g);
    } else {
      parallel(groups, std::max<std::int64_t>(1, (std::int64_t{1} << 20) / (fmas + 1)), [&](std::int64_t begin, std::int64_t end) {
        reporting(args, [&] {
          for (std::int64_t g = begin; g < end; ++g) group(g);
        });
      });
    }
    if (!in_place) scatter(y.data, result);
  });
}

}  // namespace

NativeLaunch convolution_launch(const graph::Graph& g, const graph::Node& node, std::vector<Operand> operands) {
  const DType dtype = operands.back().dtype;
  if (!is_floating(dtype) || std::get<bool>(node.args[kTransposed])) return reference_launch(g, node, std::move(operands));
  using K = MatmulKernels;
  const bool groups = !is_number(std::get<Int>(node.args[kGroups]), 1);
  // An image without channels or elements is a product, too, of nothing.
  unsigned which = kGemmSlots;
  if (is_low_precision(dtype)) which |= bit(K::kConvertIn);
  bool one_element = dtype == acc_dtype(dtype);  // may the image be of one?
  const Layout& y = operands.back().layout;
  for (int d = 2; d < y.dim(); ++d) one_element = one_element && (y.sizes[static_cast<std::size_t>(d)].is_symbolic() || y.sizes[static_cast<std::size_t>(d)].hint() == 1);
  if (one_element) which |= bit(K::kDot1) | bit(K::kDot4) | bit(K::kTranspose);
  const Ints& strides = operands[kInput].layout.strides;
  if (is_number(strides[1], 1) && !is_number(strides.back(), 1) && dtype == acc_dtype(dtype)) which |= bit(K::kTranspose);
  NativeLaunch out = native_launch(convolution_kernel, g, node, std::move(operands));
  const int bits = micro_vector_bits();
  out.args.push_back({NativeArg::Kind::IntList, static_cast<std::uint32_t>(out.ints.size()), convolution_ints::kCount});
  for (std::int64_t i : {std::int64_t{bits}, std::int64_t{which}, static_cast<std::int64_t>(Sum::None), std::int64_t{0}}) out.ints.push_back(i);
  out.micro = matmul_specs(bits, dtype, which);
  out.micro.push_back(micro::PackWindows{bits, dtype});
  if (groups) out.micro.push_back(micro::SumWindows{bits, dtype});
  return out;
}

bool is_convolution(const NativeLaunch& l) { return l.fn == convolution_kernel; }

}  // namespace reprise::kernels
