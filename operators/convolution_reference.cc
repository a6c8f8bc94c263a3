// Convolutions by their definition: each result is a sum over channels and places, in double and rounded once; integers
// wrap.
#include "operators/convolution_reference.h"

#include <array>
#include <vector>

#include "kernels/launch/product.h"
#include "kernels/reference/elements.h"

namespace reprise::operators {

using kernels::NativeArgs;
using kernels::TensorView;
namespace reference = kernels::reference;

namespace {

using namespace kernels::windows_args;

struct Sums {
  const TensorView &x, &w, &y;
  std::vector<std::int64_t> stride, padding, dilation;
  bool transposed;
  std::int64_t groups;

  /// The element of the image that a place of the kernel meets at a result; false: none.
  bool meets(std::size_t d, std::int64_t result, std::int64_t place, std::int64_t& at) const {
    const std::int64_t in = x.sizes[d + 2];
    if (!transposed) return at = result * stride[d] - padding[d] + place * dilation[d], at >= 0 && at < in;
    const std::int64_t from = result + padding[d] - place * dilation[d];
    return at = from / stride[d], from >= 0 && from % stride[d] == 0 && at < in;
  }

  /// f(element of x, element of w) for all that the result at `to` [n, o, ...] is a sum of.
  template <class F>
  void each(const std::int64_t* to, F&& f) const {
    const std::int64_t per_out = y.sizes[1] / groups, group = to[1] / per_out, channels = x.sizes[1] / groups;
    const std::size_t n = stride.size();
    std::array<std::int64_t, kMaxRank> place{};
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t channel = group * channels + c;
      const std::int64_t rows = transposed ? channel * w.strides[0] + to[1] % per_out * w.strides[1]
                                           : to[1] * w.strides[0] + c * w.strides[1];
      for (;;) {
        std::int64_t at_x = to[0] * x.strides[0] + channel * x.strides[1], at_w = rows;
        bool inside = true;
        for (std::size_t d = 0; d < n && inside; ++d) {
          std::int64_t at = 0;
          inside = meets(d, to[d + 2], place[d], at);
          at_x += at * x.strides[d + 2], at_w += place[d] * w.strides[d + 2];
        }
        if (inside) f(at_x, at_w);
        std::size_t d = n;
        while (d > 0 && ++place[d - 1] == w.sizes[d + 1]) place[--d] = 0;
        if (d == 0) break;
      }
    }
  }
};

}  // namespace

void convolution_reference(const NativeArgs& args) {
  const TensorView& y = args.result();
  const Sums sums{args.tensor(kInput),
                  args.tensor(kWeight),
                  y,
                  reference::ints(args, kStride),
                  reference::ints(args, kPadding),
                  reference::ints(args, kDilation),
                  args.flag(kTransposed),
                  args.integer(kGroups)};
  const TensorView* bias = args.has(kBias) ? &args.tensor(kBias) : nullptr;
  const bool floats = is_floating(y.dtype);
  if (y.numel() == 0) return;
  std::array<std::int64_t, kMaxRank> to{};
  for (;;) {
    std::int64_t at = 0;
    for (int d = 0; d < y.rank; ++d) at += to[static_cast<std::size_t>(d)] * y.strides[d];
    const reference::Value seed = bias ? reference::load(*bias, to[1] * bias->strides[0]) : reference::Value{};
    if (floats) {
      double sum = seed.number();
      sums.each(to.data(), [&](std::int64_t x, std::int64_t w) {
        sum += reference::load_number(sums.x, x) * reference::load_number(sums.w, w);
      });
      reference::store(y, at, reference::Value::of(sum));
    } else {
      auto sum = static_cast<std::uint64_t>(seed.i);
      sums.each(to.data(), [&](std::int64_t x, std::int64_t w) {
        sum += static_cast<std::uint64_t>(reference::load(sums.x, x).i) *
               static_cast<std::uint64_t>(reference::load(sums.w, w).i);
      });
      reference::store(y, at, reference::Value::of(static_cast<std::int64_t>(sum)));
    }
    int d = y.rank - 1;
    while (d >= 0 && ++to[static_cast<std::size_t>(d)] == y.sizes[d]) to[static_cast<std::size_t>(d--)] = 0;
    if (d < 0) return;
  }
}

}  // namespace reprise::operators
