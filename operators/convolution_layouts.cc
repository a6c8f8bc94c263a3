// Which convolutions want which layout.
#include "operators/convolution_layouts.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/convolution_rows.h"
#include "kernels/cpu/depthwise.h"
#include "kernels/launch/layout.h"
#include "kernels/launch/product.h"

namespace reprise::operators {

namespace {

using namespace kernels::windows_args;

double count(const Ints& sizes, std::size_t first) {
  double n = 1;
  for (std::size_t i = first; i < sizes.size(); ++i) n *= static_cast<double>(sizes[i].hint());
  return n;
}

constexpr double kFewRows = 64;  // results of a batch and channel
constexpr double kSmallPlane = 256;
constexpr double kPacking = 4;  // bytes that are copied while one of a weight is packed

}  // namespace

// What was measured on one core, frozen weights, ResNet-50's shapes: with channels last, times of 0.78 to 1.1 of those
// by planes, 0.92 in the mean; of one image of 7 x 7 1.05. A byte is copied in the time of ten operations.
passes::LayoutCost convolution_cost(const graph::Graph& g, const graph::Node& n, bool frozen) {
  TensorMeta image = g.meta(std::get<graph::ValueId>(n.args[kInput]));
  const TensorMeta &weight = g.meta(std::get<graph::ValueId>(n.args[kWeight])), &made = g.meta(n.results[0]);
  constexpr double kFlopsOfAByte = 10, kFaster = 0.08, kSlower = 0.05;
  const double size = static_cast<double>(item_size(made.dtype)), results = count(made.layout.sizes, 0),
               places = count(made.layout.sizes, 2);
  auto bytes = [](double b) { return static_cast<std::int64_t>(std::min(b, 0x1p46)); };
  Int stride = 1;  // of the image with channels last
  for (int d = 0; d < image.dim(); ++d) {
    const auto i = static_cast<std::size_t>(d == 0 ? 1 : d == image.dim() - 1 ? 0 : image.dim() - d);
    image.layout.strides[i] = stride, stride = stride * image.layout.sizes[i];
  }
  // Depthwise ones have kernels of both. That of planes copies them and loads each row once for all results that see
  // it: of large planes it is the faster one, by a quarter of a byte for a product.
  if (kernels::wants_lanes(weight.layout.sizes, std::get<Int>(n.args[kGroups]), made.dtype)) {
    const Ints& step = std::get<Ints>(n.args[kStride]);
    const bool large = kernels::is_number(step.back(), 1) && places > kSmallPlane;
    return {0, large ? bytes(0.24 * results * count(weight.layout.sizes, 2)) : 0};
  }
  // The other kernels work on planes: an image with channels side by side is turned, and what they make is, too.
  if (!kernels::row_panels_wanted(image, weight, made, std::get<Int>(n.args[kGroups]),
                                  std::get<bool>(n.args[kTransposed])))
    return {0, bytes((4 * count(image.layout.sizes, 0) + 12 * results) * size)};
  const double work = 2 * results * count(weight.layout.sizes, 1) / kFlopsOfAByte;
  passes::LayoutCost cost;
  if (places * static_cast<double>(made.layout.sizes[0].hint()) >= kFewRows)
    cost.channels_first = bytes(kFaster * work);
  else cost.channels_last = bytes(kSlower * work);
  if (!frozen) cost.channels_last += bytes(kPacking * count(weight.layout.sizes, 0) * size);
  return cost;
}

}  // namespace reprise::operators
