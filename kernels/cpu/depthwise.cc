// Note [Depthwise convolutions]
// Of one channel to a group there is nothing to multiply twice, and what a kernel has to do beside its sums counts. The kernel's sizes and steps are constants of its code
// (SumChannel), so that a window unrolls into registers: of several rows of results, a row of the image is loaded once for each place along it, and every row of results that sees it
// adds its product. A plane is copied before, with its margin of zeros, widened, and where results step over elements the elements are dealt out by what they leave divided by the
// step; then every load is a vector of neighbours, and no mask is needed. The copy stays in the caches nearest to the core; it is a few per cent of the sums.
// Each result is summed in the order of the kernel's places, from 0.
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

constexpr std::int64_t kMostPlaces = 128;        // of a kernel that is unrolled
constexpr std::int64_t kMostSums = 1200;         // places times vectors of results
constexpr std::int64_t kGrainFmas = 256 << 10;   // about 10 us

/// Of a dimension, or of one of size 1 that is not there.
struct Extent {
  std::int64_t in = 1, out = 1, kernel = 1, step = 1, padding = 0, spread = 1, stride = 0;
};

}  // namespace

int channel_kernels(const graph::Node& node, const std::vector<Operand>& operands, std::vector<KernelCode>& to) {
  const Ints &w = operands[kWeight].layout.sizes, &y = operands.back().layout.sizes;
  const std::size_t n = w.size() - 2;
  if (n > 2 || w[1].hint() != 1) return 0;
  std::int64_t kernel[2] = {1, 1}, step[2] = {1, 1}, spread[2] = {1, 1}, out[2] = {1, 1};
  for (std::size_t d = 0; d < n; ++d) {
    const Int k = w[d + 2], s = std::get<Ints>(node.args[kStride])[d], i = std::get<Ints>(node.args[kDilation])[d];
    if (k.is_symbolic() || s.is_symbolic() || i.is_symbolic()) return 0;
    const std::size_t at = d + 2 - n;
    kernel[at] = k.hint(), step[at] = s.hint(), spread[at] = i.hint(), out[at] = y[d + 2].hint();
  }
  if (kernel[0] * kernel[1] > kMostPlaces || kernel[0] * kernel[1] < 1 || step[1] > 2 || step[0] > 64 || spread[0] > 64 || spread[1] > 64) return 0;
  const int bits = micro_vector_bits();
  const DType t = operands.back().dtype;
  const std::int64_t lanes = micro_lanes(bits, acc_dtype(t));
  // As many sums at once as keep a core busy; more vectors of one row where there are few rows.
  std::int64_t rows = out[0] == 1 ? 1 : out[0] < 8 ? out[0] : out[0] % 8 != 0 && out[0] % 7 == 0 ? 7 : 8, vectors = out[1] <= lanes ? 1 : rows < 4 ? 4 : 2;
  if (bits != 512) rows = std::min<std::int64_t>(rows, vectors == 1 ? 8 : 4), vectors = std::min<std::int64_t>(vectors, rows < 4 ? 4 : 2);
  while (rows > 1 && rows * vectors * kernel[0] * kernel[1] > kMostSums) --rows;
  auto number = [](std::int64_t i) { return static_cast<int>(i); };
  to.push_back(micro::DealRows{bits, t, number(step[1])});
  to.push_back(micro::SumChannel{bits, t, number(rows), number(vectors), number(kernel[0]), number(kernel[1]), number(step[0]), number(step[1]), number(spread[0]), number(spread[1])});
  return number(rows);
}

void sum_channels(const NativeArgs& args, void* const* code, std::int64_t rows, const ChannelSums& of) {
  const auto deal = reinterpret_cast<micro::DealRowsFn>(code[0]);
  const auto sums = reinterpret_cast<micro::SumChannelFn>(code[1]);
  const std::int64_t size = item_size(of.y.dtype), acc = item_size(acc_dtype(of.y.dtype)), lanes = micro_lanes(micro_vector_bits(), acc_dtype(of.y.dtype));
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
  const int n = x.rank - 2;
  for (int d = 0; d < n; ++d) {
    const auto i = static_cast<std::uint32_t>(d);
    e[d + 2 - n] = {x.sizes[d + 2], of.y.sizes[d + 2], args.tensor(kWeight).sizes[d + 2], args.integer(kStride, i), args.integer(kPadding, i), args.integer(kDilation, i), x.strides[d + 2]};
  }
  const Extent &down = e[0], &along = e[1];
  // The plane with its margin, so large that tiles of results need no end.
  const std::int64_t step = along.step, reach = (along.kernel - 1) * along.spread;
  const std::int64_t tall = (round_up(down.out, rows) - 1) * down.step + (down.kernel - 1) * down.spread + 1, phase = round_up(round_up(along.out, lanes) + reach / step + 1, lanes);
  const std::int64_t row = phase * step, channels = x.sizes[1], each = of.y.sizes[1] / channels;
  const std::int64_t copied = std::clamp<std::int64_t>(tall - down.padding, 0, down.in), wide = std::clamp<std::int64_t>(phase * step - along.padding, 0, along.in);
  const std::int64_t fmas = std::max<std::int64_t>(1, each * down.out * along.out * down.kernel * along.kernel);
  parallel(x.sizes[0] * channels, std::max<std::int64_t>(1, kGrainFmas / fmas), [&](std::int64_t begin, std::int64_t end) {
    Scratch room(tall * row * acc);
    std::memset(room.get(), 0, static_cast<std::size_t>(tall * row * acc));
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t image = i / channels, channel = i % channels;
      micro::RowDeal plane{x.data + (image * x.strides[0] + channel * x.strides[1]) * size, down.stride, {}, row, copied, wide};
      for (std::int64_t f = 0; f < step; ++f) {
        const std::int64_t at = f + along.padding;
        plane.to[f] = room.get() + (down.padding * row + at % step * phase + at / step) * acc;
      }
      if (copied > 0 && wide > 0) deal(&plane);
      for (std::int64_t j = 0; j < each; ++j) {
        const std::int64_t o = channel * each + j, at = image * of.y.strides[0] + o * of.y.strides[1];
        const micro::ChannelRows sum{room.get(), row, phase, of.weights + o * of.weights_row * acc, of.bias ? of.bias + o * acc : nullptr, of.sum ? of.sum + at * acc : nullptr,
                                     of.y.data + at * size, along.out, down.out, along.out, of.relu};
        sums(&sum);
      }
    }
  });
}

}  // namespace reprise::kernels
