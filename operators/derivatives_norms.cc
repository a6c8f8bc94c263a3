// Derivatives of normalizations over channels and places.
#include "autograd/rule_parts.h"
#include "operators/derivatives.h"

namespace reprise::operators::derivatives {

using namespace autograd::rules;
using autograd::Backward;

// Running statistics are constants to it, as they are to ATen's.
void batch_norm(Backward& b) {
  enum { kInput, kWeight, kBias, kMean, kVar, kOwnStatistics, kEps };
  const SourceLoc loc = b.loc();
  Ints over{0}, channels{b.sizes(kInput)[1]};
  for (int d = 2; d < b.dim(kInput); ++d) over.push_back(d), channels.push_back(1);
  const OptionalDims dims{IntArrayRef(over)};
  const Tensor g = wide(b.grad(), loc);
  if (b.wants(kBias)) b.give(kBias, sum(g, dims, false, std::nullopt, loc));
  if (!b.wants(kInput) && !b.wants(kWeight)) return;
  auto like_channels = [&](int i) { return reshape(to(b.tensor(i), g.dtype(), loc), channels, loc); };
  const bool own = b.flag(kOwnStatistics);
  const Tensor x = wide(b.tensor(kInput), loc), centred = x - (own ? mean_of(x, dims, loc) : like_channels(kMean));
  const Tensor scale = rsqrt((own ? mean_of(centred * centred, dims, loc) : like_channels(kVar)) + b.number(kEps), loc),
               row = centred * scale;
  if (b.wants(kWeight)) b.give(kWeight, sum(g * row, dims, false, std::nullopt, loc));
  if (!b.wants(kInput)) return;
  const Tensor weighted = b.has(kWeight) ? g * like_channels(kWeight) : g;
  b.give(kInput, own ? through_row(weighted, row, scale, true, dims, loc) : weighted * scale);
}

void group_norm(Backward& b) {
  enum { kInput, kGroups, kWeight, kBias, kEps };
  const SourceLoc loc = b.loc();
  const Ints& sizes = b.sizes(kInput);
  const Int groups = b.integer(kGroups), each = sizes[1] / groups,
            places = numel_of(Ints(sizes.begin() + 2, sizes.end()));
  const Ints grouped{sizes[0], groups, each, places}, channels{1, groups, each, 1};
  const OptionalDims row_of{2, 3}, others{0, 3};
  const Tensor g = reshape(wide(b.grad(), loc), grouped, loc);
  auto of_channels = [&](const Tensor& t) {
    return reshape(sum(t, others, false, std::nullopt, loc), {sizes[1]}, loc);
  };
  if (b.wants(kBias)) b.give(kBias, of_channels(g));
  if (!b.wants(kInput) && !b.wants(kWeight)) return;
  const Tensor x = reshape(wide(b.tensor(kInput), loc), grouped, loc), centred = x - mean_of(x, row_of, loc);
  const Tensor scale = rsqrt(mean_of(centred * centred, row_of, loc) + b.number(kEps), loc), row = centred * scale;
  if (b.wants(kWeight)) b.give(kWeight, of_channels(g * row));
  if (!b.wants(kInput)) return;
  const Tensor weighted = b.has(kWeight) ? g * reshape(to(b.tensor(kWeight), g.dtype(), loc), channels, loc) : g;
  b.give(kInput, reshape(through_row(weighted, row, scale, true, row_of, loc), sizes, loc));
}

// y = x / (k + alpha s / size)^beta, s the sum of squares of `size` neighbouring channels.
void local_response_norm(Backward& b) {
  enum { kInput, kSize, kAlpha, kBeta, kK };
  const SourceLoc loc = b.loc();
  if (b.sizes(kInput)[1] == 0) return;
  const std::int64_t size = b.integer(kSize).value(loc);
  auto of_neighbours = [&](const Tensor& t, std::int64_t front, std::int64_t back) {
    std::vector<Int> around(static_cast<std::size_t>(2 * (t.dim() - 2)), 0);
    around.push_back(front), around.push_back(back);
    return sum(unfold(pad(t, around, 0, loc), 1, size, 1, loc), -1, false, std::nullopt, loc);
  };
  const Tensor x = wide(b.tensor(kInput), loc), g = wide(b.grad(), loc);
  const Scalar alpha = b.number(kAlpha) / size, beta = b.number(kBeta);
  const Tensor base = of_neighbours(x * x, size / 2, (size - 1) / 2) * alpha + b.number(kK),
               by = g * pow(base, -beta, loc);
  b.give(kInput, by - x * of_neighbours(by * x / base, (size - 1) / 2, size / 2) * (alpha * beta * 2));
}

}  // namespace reprise::operators::derivatives
