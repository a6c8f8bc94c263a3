// Which convolutions want which layout.
#include "operators/convolution_layouts.h"

#include <algorithm>
#include <cmath>

#include "kernels/launch/product.h"

namespace reprise::operators {

namespace {

using namespace kernels::windows_args;

double count(const Ints& sizes, std::size_t first) {
  double n = 1;
  for (std::size_t i = first; i < sizes.size(); ++i) n *= static_cast<double>(sizes[i].hint());
  return n;
}

}  // namespace

passes::LayoutCost convolution_cost(const graph::Graph& g, const graph::Node& n) {
  const TensorMeta &image = g.meta(std::get<graph::ValueId>(n.args[kInput])), &made = g.meta(n.results[0]);
  // The kernel works on planes: an image with channels side by side is transposed, and so is the result.
  const double bytes = 4 * (count(image.layout.sizes, 0) + count(made.layout.sizes, 0)) * item_size(made.dtype);
  return {0, static_cast<std::int64_t>(std::min(bytes, 0x1p46))};
}

}  // namespace reprise::operators
