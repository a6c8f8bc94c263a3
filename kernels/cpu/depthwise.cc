// Note [Depthwise convolutions]
// Of one channel to a group there is nothing to multiply twice, and what a kernel has to do beside its sums counts. The
// kernel's sizes and steps are constants of its code (SumChannel), so that a window unrolls into registers: of several
// rows of results, a row of the image is loaded once for each place along it, and every row of results that sees it
// adds its product. A plane is copied before, with its margin of zeros, widened, and where results step over elements
// the elements are dealt out by what they leave divided by the step; then every load is a vector of neighbours, and no
// mask is needed. The copy stays in the caches nearest to the core; it is a few per cent of the sums. Groups of few
// channels are the same with several planes: their products have too few rows for a tile. Where channels lie side by
// side in image and result, vectors are of channels: some neighbouring results at once, which find each place's pixel,
// or zeros, by a table (SumLanes). Each result is summed in the order of channels, then of the kernel's places, from 0.
#include "kernels/cpu/depthwise.h"

#include <algorithm>
#include <cstring>

#include "kernels/cpu/convolution_kernels.h"
#include "kernels/cpu/matmul_product.h"
#include "kernels/cpu/windows.h"
#include "kernels/launch/layout.h"
#include "kernels/launch/product.h"

namespace reprise::kernels {

namespace {

using namespace windows_args;

constexpr std::int64_t kMostPlaces = 128;       // of a kernel that is unrolled
constexpr std::int64_t kMostSums = 1200;        // places times vectors of results
constexpr std::int64_t kGrainFmas = 256 << 10;  // about 10 us

/// Of a dimension, or of one of size 1 that is not there. Strides: of the image, of the result.
struct Extent {
  std::int64_t in = 1, out = 1, kernel = 1, step = 1, padding = 0, spread = 1, stride = 0, to_stride = 0;
};
void extents(const NativeArgs& args, const TensorView& x, const TensorView& y, Extent (&e)[2]) {
  const int n = x.rank - 2;
  for (int d = 0; d < n; ++d) {
    const auto i = static_cast<std::uint32_t>(d);
    e[d + 2 - n] = {x.sizes[d + 2],
                    y.sizes[d + 2],
                    args.tensor(kWeight).sizes[d + 2],
                    args.integer(kStride, i),
                    args.integer(kPadding, i),
                    args.integer(kDilation, i),
                    x.strides[d + 2],
                    y.strides[d + 2]};
  }
}

}  // namespace

bool wants_lanes(const Ints& w, const Int& groups, DType t) {
  std::int64_t places = 1;
  for (std::size_t d = 2; d < w.size(); ++d) places *= w[d].hint();
  return w.size() <= 4 && w[1].hint() == 1 && w[0].hint() == groups.hint() && groups.hint() > 1 &&
         places <= kMostPlaces && t == acc_dtype(t);
}

int channel_kernels(const graph::Node& node, const std::vector<Operand>& operands, std::vector<KernelCode>& to) {
  const Ints &w = operands[kWeight].layout.sizes, &y = operands.back().layout.sizes;
  const std::size_t n = w.size() - 2;
  const std::int64_t groups = std::get<Int>(node.args[kGroups]).hint();
  if (n > 2 || groups < 1 || !few_channels(w[1].hint(), w[0].hint() / groups)) return 0;
  std::int64_t kernel[2] = {1, 1}, step[2] = {1, 1}, spread[2] = {1, 1}, out[2] = {1, 1};
  for (std::size_t d = 0; d < n; ++d) {
    const Int k = w[d + 2], s = std::get<Ints>(node.args[kStride])[d], i = std::get<Ints>(node.args[kDilation])[d];
    if (k.is_symbolic() || s.is_symbolic() || i.is_symbolic()) return 0;
    const std::size_t at = d + 2 - n;
    kernel[at] = k.hint(), step[at] = s.hint(), spread[at] = i.hint(), out[at] = y[d + 2].hint();
  }
  if (kernel[0] * kernel[1] > kMostPlaces || kernel[0] * kernel[1] < 1 || step[0] > 64 || step[1] > 64 ||
      spread[0] > 64 || spread[1] > 64)
    return 0;
  const int bits = micro_vector_bits();
  const DType t = operands.back().dtype;
  const std::int64_t lanes = micro_lanes(bits, acc_dtype(t));
  auto number = [](std::int64_t i) { return static_cast<int>(i); };
  const Layout &image = operands[kInput].layout, &result = operands.back().layout;
  auto last = [](const Layout& l) {
    return is_number(l.strides[1], 1) && !is_number(l.strides.back(), 1) && l.sizes[1].hint() > 1;
  };
  if (last(image) && last(result) && wants_lanes(w, std::get<Int>(node.args[kGroups]), t)) {
    const int results = bits != 512 ? 4 : out[1] % 8 == 0 ? 8 : out[1] % 7 == 0 ? 7 : 6;
    to.push_back(micro::SumLanes{bits, t, results,
                                 bits != 512    ? 2
                                 : results == 6 ? 4
                                                : 3,
                                 number(kernel[0]), number(kernel[1]), number(step[1]), number(spread[1])});
    return kLanes;
  }
  if (step[1] > 2) return 0;
  // As many sums at once as keep a core busy; more vectors of one row where there are few rows.
  std::int64_t rows = out[0] == 1                          ? 1
                      : out[0] < 8                         ? out[0]
                      : out[0] % 8 != 0 && out[0] % 7 == 0 ? 7
                                                           : 8,
               vectors = out[1] <= lanes ? 1
                         : rows < 4      ? 4
                                         : 2;
  if (bits != 512)
    rows = std::min<std::int64_t>(rows, vectors == 1 ? 8 : 4),
    vectors = std::min<std::int64_t>(vectors, rows < 4 ? 4 : 2);
  while (rows > 1 && rows * vectors * kernel[0] * kernel[1] > kMostSums) --rows;
  to.push_back(micro::DealRows{bits, t, number(step[1])});
  to.push_back(micro::SumChannel{bits, t, number(rows), number(vectors), number(kernel[0]), number(kernel[1]),
                                 number(step[0]), number(step[1]), number(spread[0]), number(spread[1])});
  return number(rows);
}

void sum_channels(const NativeArgs& args, void* const* code, std::int64_t rows, const ChannelSums& of) {
  const auto deal = reinterpret_cast<micro::DealRowsFn>(code[0]);
  const auto sums = reinterpret_cast<micro::SumChannelFn>(code[1]);
  const std::int64_t size = item_size(of.y.dtype), acc = item_size(acc_dtype(of.y.dtype)),
                     lanes = micro_lanes(micro_vector_bits(), acc_dtype(of.y.dtype));
  // Rows whose elements are not neighbours are copied once.
  TensorView x = of.x;
  const bool dense = x.strides[x.rank - 1] == 1 || x.sizes[x.rank - 1] == 1;
  Scratch compacted(dense ? 0 : x.numel() * size);
  if (!dense) {
    compact(of.x, compacted.get());
    x.data = compacted.get();
    std::int64_t stride = 1;
    for (int d = x.rank; d-- > 0; stride *= x.sizes[d]) x.strides[d] = stride;
  }
  Extent e[2];
  extents(args, x, of.y, e);
  const Extent &down = e[0], &along = e[1];
  // The plane with its margin, so large that tiles of results need no end.
  const std::int64_t step = along.step, reach = (along.kernel - 1) * along.spread;
  const std::int64_t tall = (round_up(down.out, rows) - 1) * down.step + (down.kernel - 1) * down.spread + 1,
                     phase = round_up(round_up(along.out, lanes) + reach / step + 1, lanes);
  const std::int64_t row = phase * step, channels = x.sizes[1] / of.groups, each = of.y.sizes[1] / of.groups,
                     plane_room = tall * row;
  const std::int64_t copied = std::clamp<std::int64_t>(tall - down.padding, 0, down.in),
                     wide = std::clamp<std::int64_t>(phase * step - along.padding, 0, along.in);
  const std::int64_t fmas =
      std::max<std::int64_t>(1, each * channels * down.out * along.out * down.kernel * along.kernel);
  parallel(
      x.sizes[0] * of.groups, std::max<std::int64_t>(1, kGrainFmas / fmas), [&](std::int64_t begin, std::int64_t end) {
        Scratch room(channels * plane_room * acc);
        std::memset(room.get(), 0, static_cast<std::size_t>(channels * plane_room * acc));
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t image = i / of.groups, group = i % of.groups;
          for (std::int64_t c = 0; c < channels && copied > 0 && wide > 0; ++c) {
            micro::RowDeal plane{x.data + (image * x.strides[0] + (group * channels + c) * x.strides[1]) * size,
                                 down.stride,
                                 {},
                                 row,
                                 copied,
                                 wide};
            for (std::int64_t f = 0; f < step; ++f) {
              const std::int64_t at = f + along.padding;
              plane.to[f] = room.get() + (c * plane_room + down.padding * row + at % step * phase + at / step) * acc;
            }
            deal(&plane);
          }
          for (std::int64_t j = 0; j < each; ++j) {
            const std::int64_t o = group * each + j, at = image * of.y.strides[0] + o * of.y.strides[1];
            const micro::ChannelRows sum{room.get(),
                                         channels,
                                         plane_room,
                                         row,
                                         phase,
                                         of.weights + o * of.weights_row * acc,
                                         of.bias ? of.bias + o * acc : nullptr,
                                         of.sum ? of.sum + at * acc : nullptr,
                                         of.y.data + at * size,
                                         along.out,
                                         down.out,
                                         along.out,
                                         of.relu};
            sums(&sum);
          }
        }
      });
}

void sum_lanes(const NativeArgs& args, const MatmulKernels& f, void* code, const char* sum, bool relu) {
  const auto sums = reinterpret_cast<micro::SumLanesFn>(code);
  const TensorView &x = args.tensor(kInput), &w = args.tensor(kWeight), &y = args.result();
  const std::int64_t size = item_size(y.dtype), lanes = micro_lanes(f.bits, y.dtype), channels = x.sizes[1],
                     places = count_from(w, 2), wide = round_up(channels, lanes);
  Extent e[2];
  extents(args, x, y, e);
  const Extent &down = e[0], &along = e[1];
  // Weights place by place.
  Scratch rows(channels * places * size), weights(round_up(places, lanes) * wide * size),
      bias(args.has(kBias) ? channels * size : 0);
  gather(w, y.dtype, rows.get());
  for (std::int64_t c = 0; c < channels; c += lanes)
    f.transpose(rows.get() + c * places * size, places, weights.get() + c * size, wide, std::min(lanes, channels - c),
                places);
  if (args.has(kBias)) gather(args.tensor(kBias), y.dtype, bias.get());
  const std::vector<double> zeros(static_cast<std::size_t>(channels));
  const std::int64_t seen = (along.out - 1) * along.step + (along.kernel - 1) * along.spread + 1,
                     fmas = std::max<std::int64_t>(1, along.out * channels * places);
  parallel(x.sizes[0] * down.out, std::max<std::int64_t>(1, kGrainFmas / fmas),
           [&](std::int64_t begin, std::int64_t end) {
             std::vector<const void*> pixels(static_cast<std::size_t>(down.kernel * seen));
             for (std::int64_t i = begin; i < end; ++i) {
               const std::int64_t image = i / down.out, row = i % down.out;
               for (std::int64_t k = 0; k < down.kernel; ++k) {
                 const std::int64_t at = row * down.step + k * down.spread - down.padding;
                 const void** to = pixels.data() + k * seen;
                 std::fill_n(to, seen, zeros.data());
                 if (at < 0 || at >= down.in) continue;
                 const char* from = x.data + (image * x.strides[0] + at * down.stride) * size;
                 for (std::int64_t j = along.padding; j < std::min(seen, along.in + along.padding); ++j)
                   to[j] = from + (j - along.padding) * along.stride * size;
               }
               const std::int64_t at = (image * y.strides[0] + row * down.to_stride) * size;
               const micro::LaneSums all{
                   pixels.data(),   seen,      weights.get(), wide, bias.get(), sum ? sum + at : nullptr, y.data + at,
                   along.to_stride, along.out, channels,      relu};
               sums(&all);
             }
           });
}

}  // namespace reprise::kernels
