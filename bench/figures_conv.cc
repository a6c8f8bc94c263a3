// Convolutions against what a program writes without them, compiled as well: the windows as slices beside each other
// and a product; of one channel to a group a sum of slices times weights.
#include <cmath>
#include <string>
#include <vector>

#include "bench/conv_shapes.h"
#include "bench/figures.h"
#include "reprise/convolution.h"
#include "reprise/reprise.h"

namespace reprise::figures {

namespace {

using bench::ConvShape;

/// What place (i, j) of every window sees.
Tensor seen(const Tensor& image, const ConvShape& s, std::int64_t i, std::int64_t j) {
  const std::int64_t out = (s.side - 1) / s.step + 1;
  return image.slice(2, i, i + (out - 1) * s.step + 1, s.step).slice(3, j, j + (out - 1) * s.step + 1, s.step);
}

/// weight: [o, places * places * c] for products, [o, places, places] of one channel to a group.
Tensor by_hand(const ConvShape& s, Tensor x, Tensor weight) {
  const std::int64_t margin = s.places / 2, out = (s.side - 1) / s.step + 1;
  const Tensor image = margin ? pad(x, {margin, margin, margin, margin}) : x;
  if (s.groups == s.channels) {
    Tensor sum;
    for (std::int64_t i = 0; i < s.places; ++i)
      for (std::int64_t j = 0; j < s.places; ++j) {
        const Tensor part = seen(image, s, i, j) * weight.select(2, j).select(1, i).view({s.results, 1, 1});
        sum = sum.defined() ? sum + part : part;
      }
    return sum;
  }
  std::vector<Tensor> windows;
  for (std::int64_t i = 0; i < s.places; ++i)
    for (std::int64_t j = 0; j < s.places; ++j) windows.push_back(seen(image, s, i, j));
  const Tensor columns = (windows.size() == 1 ? windows[0] : cat(windows, 1))
                             .reshape({s.batch, s.places * s.places * s.channels, out * out});
  return matmul(weight, columns).view({s.batch, s.results, out, out});
}

}  // namespace

std::vector<Figure> conv_figures() {
  std::vector<Figure> out;
  set_num_threads(1);
  double logs = 0;
  int count = 0;
  for (const ConvShape& s : bench::kConvShapes) {
    if (s.groups != 1 && s.groups != s.channels) continue;  // by hand that is a product for each group
    const Tensor x = randn({s.batch, s.channels, s.side, s.side}),
                 w = randn({s.results, s.channels / s.groups, s.places, s.places});
    const Tensor weight =
        s.groups == s.channels
            ? w.view({s.results, s.places, s.places})
            : w.permute({0, 2, 3, 1}).contiguous().view({s.results, s.places * s.places * s.channels});
    auto conv = compile([&](Tensor x, Tensor w) { return conv2d(x, w, {}, s.step, s.places / 2, 1, s.groups); },
                        {.name = "conv"});
    auto hand = compile([&](Tensor x, Tensor w) { return by_hand(s, x, w); }, {.name = "by_hand"});
    const Tensor a = conv(x, w), b = hand(x, weight);
    const bool agree = allclose(a, b, 1e-3, 1e-2);
    std::vector<double> one, two;
    for (int i = 0; i < 15; ++i) {
      double start = now();
      conv(x, w);
      one.push_back(now() - start);
      start = now();
      hand(x, weight);
      two.push_back(now() - start);
    }
    const double ratio = agree ? median(one) / median(two) : INFINITY;
    // Of one place by hand is the same product.
    out.push_back({s.name() + ", of the same by hand", ratio, "ratio", s.places == 1 ? 1.1 : 1.0, Figure::Better::Lower,
                   true,
                   agree ? "one thread, " + std::to_string(static_cast<int>(median(one) * 1e6)) + " us against " +
                               std::to_string(static_cast<int>(median(two) * 1e6))
                         : "results differ"});
    logs += std::log(ratio), ++count;
  }
  out.push_back({"convolutions, of the same by hand, geometric mean", std::exp(logs / count), "ratio", 0.8,
                 Figure::Better::Lower, true, "one thread, interleaved, medians of 15"});
  set_num_threads(default_num_threads());
  return out;
}

}  // namespace reprise::figures
