// The derivative of sampling an image at places of a grid.
#include <array>

#include "autograd/rule_parts.h"
#include "operators/derivatives.h"

namespace reprise::operators::derivatives {

using namespace autograd::rules;
using autograd::Backward;

namespace {

// ATen's numbers, as in grid_sample.cc.
enum Mode : std::int64_t { kBilinear, kNearest, kBicubic };
enum Beyond : std::int64_t { kZeros, kBorder, kReflection };

/// A place along one dimension, and how it moves with the grid's number.
struct Place {
  Tensor at, slope;
};

/// Along one dimension of `size` elements.
struct Line {
  Int size;
  std::int64_t beyond;
  bool align;
  SourceLoc loc;

  Place of_grid(const Tensor& v) const {
    if (align) return {(v + 1) * (Float(size - 1) * 0.5), full_like(v, Scalar(Float(size - 1) * 0.5), {}, loc)};
    return {((v + 1) * size - 1) * 0.5, full_like(v, Scalar(Float(size) * 0.5), {}, loc)};
  }
  /// Where a place counts, when it lies beyond the border: there it stands still.
  Place brought_in(Place p) const {
    if (beyond == kZeros) return p;
    if (beyond == kReflection) p = reflected(p);
    const Tensor outside = le(p.at, 0, loc) | ge(p.at, size - 1, loc);
    return {clamp(p.at, 0, size - 1, loc), unless(outside, p.slope, loc)};
  }
  Place reflected(const Place& p) const {
    if (align && size == 1) return {p.at * 0, p.slope * 0};
    const Int span = align ? size - 1 : size;
    const double low = align ? 0 : -0.5;
    const Tensor from = p.at - low, far = abs(from, loc), extra = fmod(far, span, loc),
                 odd = fmod(floor(far / span, loc), 2, loc) != 0;
    const Tensor turned = p.slope * where(from < 0, -1.0, ones_like(from, {}, loc), loc);
    return {where(odd, span - extra, extra, loc) + low, where(odd, -turned, turned, loc)};
  }
};

/// Of the elements that a place lies between: which they are, what each weighs, and how that moves with the place.
struct Terms {
  std::vector<Tensor> elements, weights, slopes;
};

Terms linear_terms(const Tensor& at, SourceLoc loc) {
  const Tensor floor_ = floor(at, loc), t = at - floor_, one = ones_like(t, {}, loc);
  return {{floor_, floor_ + 1}, {1 - t, t}, {-one, one}};
}
/// Keys' cubic convolution (1981) with a = -0.75.
Terms cubic_terms(const Tensor& at, const Line& line, SourceLoc loc) {
  constexpr double a = -0.75;
  const Tensor floor_ = floor(at, loc), t = at - floor_;
  auto near = [](const Tensor& v) { return (v * (a + 2) - (a + 3)) * v * v + 1; };
  auto near_slope = [](const Tensor& v) { return (v * (3 * (a + 2)) - 2 * (a + 3)) * v; };
  auto far = [](const Tensor& v) { return ((v * a - 5 * a) * v + 8 * a) * v - 4 * a; };
  auto far_slope = [](const Tensor& v) { return (v * (3 * a) - 10 * a) * v + 8 * a; };
  const Tensor left = 1 - t;
  Terms r{{},
          {far(t + 1), near(t), near(left), far(left + 1)},
          {far_slope(t + 1), near_slope(t), -near_slope(left), -far_slope(left + 1)}};
  for (int k = 0; k < 4; ++k) r.elements.push_back(line.brought_in({floor_ + (k - 1), floor_}).at);
  return r;
}

}  // namespace

void grid_sampler(Backward& b) {
  enum { kInput, kGrid, kMode, kBeyond, kAlign };
  const SourceLoc loc = b.loc();
  const Ints& sizes = b.sizes(kInput);
  const std::size_t n = sizes.size() - 2;
  const std::int64_t mode = b.integer(kMode).value(loc), beyond = b.integer(kBeyond).value(loc);
  const Tensor grid = wide(b.tensor(kGrid), loc), g = movedim(wide(b.grad(), loc), 1, -1, loc);  // [n, results..., c]
  Ints each(n + 1, 1);
  each[0] = sizes[0];
  const Tensor image = reshape(arange(Scalar(sizes[0]), {kInt64, g.device()}, loc), each, loc);
  std::vector<Place> places;
  std::vector<Terms> terms;
  std::vector<Line> lines;
  for (std::size_t i = 0; i < n; ++i) {
    lines.push_back({sizes[i + 2], beyond, b.flag(kAlign), loc});
    const Place p = lines[i].of_grid(select(grid, -1, Int(n - 1 - i), loc));  // of the last dimension first in the grid
    places.push_back(mode == kBicubic ? p : lines[i].brought_in(p));
    const Tensor& at = places[i].at;
    if (mode == kNearest) terms.push_back({{round(at, loc)}, {ones_like(at, {}, loc)}, {zeros_like(at, {}, loc)}});
    else terms.push_back(mode == kBicubic ? cubic_terms(at, lines[i], loc) : linear_terms(at, loc));
  }
  const Tensor x = b.wants(kGrid) && mode != kNearest ? movedim(wide(b.tensor(kInput), loc), 1, -1, loc) : Tensor();
  Tensor into;
  std::vector<Tensor> of_places(n);
  if (b.wants(kInput)) {
    Ints last{sizes[0]};
    last.append(sizes.begin() + 2, sizes.end());
    last.push_back(sizes[1]);
    into = zeros(last, g.options(), loc);
  }
  std::vector<std::size_t> k(n, 0);
  for (bool more = true; more;) {
    std::vector<Tensor> at{image};
    Tensor inside, weight;
    for (std::size_t i = 0; i < n; ++i) {
      const Tensor &place = terms[i].elements[k[i]], &w = terms[i].weights[k[i]];
      const Tensor within = clamp(place, 0, lines[i].size - 1, loc), is = within == place;  // no NaN is
      at.push_back(to(within, kInt64, loc));
      inside = i ? inside & is : is, weight = i ? weight * w : w;
    }
    const Tensor given = only(unsqueeze(inside, -1, loc), g, loc);
    if (into.defined()) into = index_put(into, at, given * unsqueeze(weight, -1, loc), true, loc);
    if (x.defined()) {
      const Tensor seen = sum(index(x, at, loc) * given, -1, false, std::nullopt, loc);
      for (std::size_t i = 0; i < n; ++i) {
        Tensor moved = seen;
        for (std::size_t j = 0; j < n; ++j) moved = moved * (j == i ? terms[j].slopes : terms[j].weights)[k[j]];
        of_places[i] = of_places[i].defined() ? of_places[i] + moved : moved;
      }
    }
    more = false;
    for (std::size_t i = n; i-- > 0 && !more;) {
      more = ++k[i] < terms[i].elements.size();
      if (!more) k[i] = 0;
    }
  }
  if (into.defined()) b.give(kInput, movedim(into, -1, 1, loc));
  if (x.defined()) {
    std::vector<Tensor> numbers;
    for (std::size_t i = n; i-- > 0;) numbers.push_back(of_places[i] * places[i].slope);
    b.give(kGrid, stack(numbers, -1, loc));
  }
}

}  // namespace reprise::operators::derivatives
