// Note [Convolutions by panels]
// A convolution's product has weights [o, c * places] to the left and, for each image, what the windows see, [c *
// places, results], to the right. The blocked product reads the right side as panels of a tile's width that it packs
// anyway; here they are packed from the image itself. A panel's column is a result: where its window begins in the
// image, and which places of it lie within (a bit for each column). Both are the same for all channels. With steps of 1
// and a padding that keeps the sizes, neighbouring results see neighbouring elements even over the ends of rows, so
// that a vector is one load; else it is gathered. Panels of all images of a batch are one list, which the threads share
// out; groups are products of their own. Where results step over every second element, an image is dealt out by phases
// before, in all dimensions: what one place of the kernel sees in a row are neighbours again (Phases).
//
// Results are rows instead, and weights the panels, where that is better: Note [Convolutions by rows] in
// convolution_rows.cc. Where it is not, an image whose channels lie side by side (channels last) is transposed once, a
// pass over the image where its places would be gathered again for each place of the kernel.
//
// Of one channel to a group (depthwise) there is nothing to multiply twice, of few little: Note [Depthwise
// convolutions] in depthwise.cc. Those of one that have no code there are summed up from what their windows see, with
// the same columns and bits.
#include "kernels/cpu/convolution.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "kernels/cpu/convolution_rows.h"
#include "kernels/cpu/depthwise.h"
#include "kernels/cpu/matmul_product.h"
#include "kernels/cpu/windows.h"
#include "kernels/launch/layout.h"
#include "kernels/launch/named.h"
#include "kernels/launch/product.h"
#include "kernels/reference/reference.h"

namespace reprise::kernels {

namespace {

using namespace windows_args;
/// to = from + sum + bias, of rows of n; where there are such.
template <class T>
void finish(const PackedProduct& all, std::int64_t rows, std::int64_t n, const char* from, std::int64_t from_row) {
  const T *made = reinterpret_cast<const T*>(from), *sum = reinterpret_cast<const T*>(all.p.sum),
          *bias = reinterpret_cast<const T*>(all.bias);
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
void depthwise(const NativeArgs& args, micro::SumWindowsFn f, const Windows& windows, const TensorView& x,
               const TensorView& y, const char* weights, std::int64_t weights_row, const char* sum, const char* bias,
               bool relu) {
  const std::int64_t channels = x.sizes[1], each = y.sizes[1] / channels, n = count_from(y, 2), width = windows.width();
  const std::int64_t panels = (n + width - 1) / width, parts = (channels + kChannelsAtOnce - 1) / kChannelsAtOnce;
  const std::int64_t size = item_size(y.dtype), acc = item_size(acc_dtype(y.dtype)),
                     products = std::min(channels, kChannelsAtOnce) * each * windows.places() * width;
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
                               weights + o * weights_row * acc,
                               bias ? bias + o * acc : kZero,
                               sum ? sum + at * acc : nullptr,
                               each * weights_row,
                               bias ? each : 0,
                               y.data + at * size,
                               each * y.strides[1],
                               std::min(width, n - col),
                               relu ? 0 : -std::numeric_limits<double>::infinity()};
        f(&rows);
      }
    }
  };
  parallel(y.sizes[0] * panels * parts, std::max<std::int64_t>(1, kGrainSums / products),
           [&](std::int64_t begin, std::int64_t end) { reporting(args, [&] { some(begin, end); }); });
}

constexpr unsigned bit(MatmulKernels::Slot s) { return 1u << s; }

void convolution_kernel(const NativeArgs& args) {
  reporting(args, [&] {
    namespace own = convolution_ints;
    const int kOwn = static_cast<int>(args.n_args) - 1;  // what is not the schema's
    const TensorView &given = args.tensor(kInput), &w = args.tensor(kWeight), &result = args.result();
    if (result.numel() == 0) return;
    const int bits = static_cast<int>(args.integer(kOwn, own::kBits));
    const unsigned which = static_cast<unsigned>(args.integer(kOwn, own::kWhich));
    Sum sum = static_cast<Sum>(args.integer(kOwn, own::kSum));
    const MatmulKernels f = matmul_kernels(bits, which, args.micro);
    const std::int64_t groups = args.integer(kGroups), channel_rows = args.integer(kOwn, own::kChannelRows);
    void* const* more = args.micro + std::popcount(which) + 1;  // behind what packs windows
    const auto deal = args.integer(kOwn, own::kDeals) != 0 ? reinterpret_cast<micro::DealRowsFn>(*more++) : nullptr;
    const bool one_channel = groups > 1 && w.sizes[1] == 1;
    if (channel_rows == kLanes && one_channel && w.sizes[0] == groups && given.numel() > 0 && w.numel() > 0) {
      const char* added = sum == Sum::None      ? nullptr
                          : sum == Sum::InPlace ? result.data
                                                : args.tensors[args.first_result - 1].data;
      return sum_lanes(args, f, more[1], added, args.integer(kOwn, own::kRelu) != 0);
    }
    const Planes planes(f, given);
    const auto pack = reinterpret_cast<micro::PackWindowsFn>(args.micro[std::popcount(which)]);
    const DType acc = acc_dtype(given.dtype);
    const std::int64_t size = item_size(given.dtype);
    const bool few = channel_rows > 0 && groups > 1 && few_channels(w.sizes[1], w.sizes[0] / groups);
    const Phases phases(args, one_channel || few ? nullptr : deal, planes.view());
    const TensorView& x = phases.view();
    // The result's places side by side, the weight's rows.
    TensorView y = result;
    const bool in_place = side_by_side(result, 2);
    Scratch made(in_place ? 0 : result.numel() * size);
    if (!in_place) {
      y.data = made.get();
      std::int64_t stride = 1;
      for (int d = y.rank; d-- > 0; stride *= y.sizes[d]) y.strides[d] = stride;
      // What is added stands as the result does.
      if (sum != Sum::None)
        compact(sum == Sum::InPlace ? result : args.tensors[args.first_result - 1], y.data), sum = Sum::InPlace;
    }
    const std::int64_t places = count_from(w, 1);
    const bool none = places == 0 || x.numel() == 0, channels_first = none || !places_first(w),
               w_rows = none || !channels_first || side_by_side(w, 1);
    Scratch weights(w_rows ? 0 : w.numel() * size);
    if (!w_rows) compact(w, weights.get());
    Scratch biases(args.has(kBias) ? y.sizes[1] * item_size(acc) : 0);
    if (args.has(kBias)) gather(args.tensor(kBias), acc, biases.get());

    static constexpr char kNothing[16] = {};
    const std::int64_t per_group = y.sizes[1] / groups;
    ProductCall p{.dtype = x.dtype,
                  .a_dtype = x.dtype,
                  .m = per_group,
                  .n = count_from(y, 2),
                  .k = none ? 1 : places,
                  .a_row = none     ? 0
                           : w_rows ? w.strides[0]
                                    : places,
                  .a_col = 1,
                  .c_row = y.strides[1]};
    const char* first = none ? kNothing : w_rows ? w.data : weights.get();
    const Windows windows(args, x, w, y, bits, pack, none, channels_first, phases.dims());
    if ((one_channel || few) && !none) {
      // Weights are few: they are widened, and come row by row.
      Scratch wide(w.numel() * item_size(acc));
      gather(w, acc, wide.get());
      const char* added = sum == Sum::None      ? nullptr
                          : sum == Sum::InPlace ? y.data
                                                : args.tensors[args.first_result - 1].data;
      if (few) {
        sum_channels(args, more + 1, channel_rows,
                     {x, y, groups, wide.get(), places, added, biases.get(), args.integer(kOwn, own::kRelu) != 0});
        if (!in_place) scatter(y.data, result);
        return;
      }
      const auto sums = reinterpret_cast<micro::SumWindowsFn>(*more);
      depthwise(args, sums, windows, x, y, wide.get(), places, added, biases.get(),
                args.integer(kOwn, own::kRelu) != 0);
      if (!in_place) scatter(y.data, result);
      return;
    }
    auto group = [&](std::int64_t g) {
      const Windows seen = windows.from(none ? 0 : g * w.sizes[1]);
      PackedProduct all{.p = p,
                        .source = seen,
                        .images = y.sizes[0],
                        .c_image = y.strides[0],
                        .relu = args.integer(kOwn, own::kRelu) != 0};
      all.p.a = first + g * per_group * p.a_row * size;
      all.p.c = y.data + g * per_group * y.strides[1] * size;
      if (sum != Sum::None)
        all.p.sum = sum == Sum::InPlace ? all.p.c : args.tensors[args.first_result - 1].data + (all.p.c - y.data);
      if (biases.get()) all.bias = biases.get() + g * per_group * item_size(acc);
      if (groups == 1 && p.n == 1 && windows.of_one_element() && x.dtype == acc && f.dot[0] &&
          (p.m == 1 || y.strides[1] == 1))
        return by_rows(f, x, all);
      multiply(f, all);
    };
    const std::int64_t fmas = p.m * p.n * p.k * y.sizes[0];
    if (groups < 2 || fmas > std::int64_t{64} << 20) {  // large products are parallel inside
      for (std::int64_t g = 0; g < groups; ++g) group(g);
    } else {
      parallel(groups, std::max<std::int64_t>(1, (std::int64_t{1} << 20) / (fmas + 1)),
               [&](std::int64_t begin, std::int64_t end) {
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
  if (!is_floating(dtype) || std::get<bool>(node.args[kTransposed]))
    return reference_launch(g, node, std::move(operands));
  using K = MatmulKernels;
  if (std::optional<NativeLaunch> rows = rows_launch(g, node, operands)) return std::move(*rows);
  const bool groups = !is_number(std::get<Int>(node.args[kGroups]), 1);
  // An image without channels or elements is a product, too, of nothing.
  unsigned which = kGemmSlots;
  if (is_low_precision(dtype)) which |= bit(K::kConvertIn);
  bool one_element = dtype == acc_dtype(dtype);  // may the image be of one?
  const Layout& y = operands.back().layout;
  for (int d = 2; d < y.dim(); ++d)
    one_element = one_element && (y.sizes[static_cast<std::size_t>(d)].is_symbolic() ||
                                  y.sizes[static_cast<std::size_t>(d)].hint() == 1);
  if (one_element) which |= bit(K::kDot1) | bit(K::kDot4) | bit(K::kTranspose);
  const Ints& strides = operands[kInput].layout.strides;
  if (is_number(strides[1], 1) && !is_number(strides.back(), 1) && dtype == acc_dtype(dtype))
    which |= bit(K::kTranspose);
  std::vector<KernelCode> channel;
  const int channel_rows = groups ? channel_kernels(node, operands, channel) : 0;
  const bool deals = deals_phases(node, dtype);
  NativeLaunch out = native_launch(convolution_kernel, g, node, std::move(operands));
  const int bits = micro_vector_bits();
  out.args.push_back({NativeArg::Kind::IntList, static_cast<std::uint32_t>(out.ints.size()), convolution_ints::kCount});
  for (std::int64_t i :
       {std::int64_t{bits}, std::int64_t{which}, static_cast<std::int64_t>(Sum::None), std::int64_t{0}, std::int64_t{0},
        std::int64_t{0}, std::int64_t{0}, std::int64_t{channel_rows}, std::int64_t{deals}, std::int64_t{0}})
    out.ints.push_back(i);
  out.micro = matmul_specs(bits, dtype, which);
  out.micro.push_back(micro::PackWindows{bits, dtype});
  if (deals) out.micro.push_back(micro::DealRows{bits, dtype, 2});
  if (groups) out.micro.push_back(micro::SumWindows{bits, dtype});
  out.micro.insert(out.micro.end(), channel.begin(), channel.end());
  return out;
}

bool is_convolution(const NativeLaunch& l) { return l.fn == convolution_kernel || is_rows_convolution(l); }

NativeFn named::convolution() { return convolution_kernel; }

}  // namespace reprise::kernels
