// Elements of images by coordinates that are computed, and what moves channels into places and back.
#include <limits>

#include "import/onnx/core.h"
#include "operators/data_sizes.h"

namespace reprise::onnx {
namespace {

void depth_to_space(Call& c) {
  const Tensor x = c.x(0);
  const std::int64_t b = c.i("blocksize", 0);
  if (x.dim() != 4 || b < 1) c.bad("of ", x.dim(), " dimensions in blocks of ", b);
  const Int n = x.size(0), depth = x.size(1) / (b * b), h = x.size(2), w = x.size(3);
  const bool columns = c.s("mode", "DCR") == "CRD";
  const Tensor parts = columns ? x.reshape({n, depth, b, b, h, w}).permute({0, 1, 4, 2, 5, 3})
                               : x.reshape({n, b, b, depth, h, w}).permute({0, 3, 4, 1, 5, 2});
  c.give(parts.reshape({n, depth, h * b, w * b}));
}
void space_to_depth(Call& c) {
  const Tensor x = c.x(0);
  const std::int64_t b = c.i("blocksize", 0);
  if (x.dim() != 4 || b < 1) c.bad("of ", x.dim(), " dimensions in blocks of ", b);
  const Int n = x.size(0), depth = x.size(1), h = x.size(2) / b, w = x.size(3) / b;
  const std::string mode = c.version() < 28 ? "DCR" : c.s("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") c.bad("the mode is '", mode, "'; wanted DCR or CRD");
  const Tensor parts = x.reshape({n, depth, h, b, w, b});
  c.give((mode == "CRD" ? parts.permute({0, 1, 3, 5, 2, 4}) : parts.permute({0, 3, 5, 1, 2, 4}))
             .reshape({n, depth * (b * b), h, w}));
}

// ---- GridSample

struct Sampling {
  std::string mode, padding;
  bool corners = false;
};
/// A coordinate beyond the image, as the padding has it.
Tensor reflected(const Tensor& at, Int n, bool corners) {
  const Scalar low = corners ? Scalar(0.0) : Scalar(-0.5), span = corners ? Scalar(n - 1) * 1.0 : Scalar(n) * 1.0;
  if (corners && bool(n == 1)) return zeros_like(at);
  const Tensor once = remainder(abs(at - low), span * 2.0);
  return minimum(once, span * 2.0 - once) + low;
}
Tensor within(const Tensor& at, Int n, const Sampling& s) {
  if (s.padding == "border") return clamp(at, 0, n - 1);
  if (s.padding == "reflection") return clamp(reflected(at, n, s.corners), 0, n - 1);
  return at;
}
/// Elements of x [n, c, sizes...] at whole places [n, out...] of each dimension, 0 outside: [n, c, out...].
Tensor elements_at(const Tensor& x, const std::vector<Tensor>& places, const Sampling& s) {
  Tensor flat, inside;
  Int plane = 1;
  Ints out{x.size(0), x.size(1)};
  for (int d = 1; d < places[0].dim(); ++d) out.push_back(places[0].size(d));
  for (std::size_t d = 0; d < places.size(); ++d) {
    const Int n = x.size(static_cast<int>(d) + 2);
    plane *= n;
    Tensor at = places[d];
    if (s.padding != "zeros") at = within(at, n, s);
    const Tensor ok = (at >= 0) & (at <= n - 1);
    inside = d == 0 ? ok : inside & ok;
    const Tensor whole = clamp(at, 0, n - 1).to(kInt64);
    flat = d == 0 ? whole : flat * n + whole;
  }
  const Int points = flat.numel() / Int::max(x.size(0), 1);
  const Tensor at = flat.reshape({x.size(0), 1, points}).expand({x.size(0), x.size(1), points});
  const Tensor values = gather(x.reshape({x.size(0), x.size(1), plane}), 2, at).reshape(out);
  return s.padding == "zeros" ? where(inside.unsqueeze(1), values, zeros_like(values)) : values;
}
Tensor cubic(const Tensor& distance) {
  constexpr double a = -0.75;
  const Tensor d = abs(distance);
  return where(d <= 1, ((d * (a + 2) - (a + 3)) * d) * d + 1, ((d * a - 5 * a) * d + 8 * a) * d - 4 * a);
}
void grid_sample(Call& c) {
  const Tensor x = c.x(0), grid = c.x(1);
  Sampling s{c.s("mode", c.version() < 20 ? "bilinear" : "linear"), c.s("padding_mode", "zeros"),
             c.i("align_corners", 0) != 0};
  if (s.mode == "bilinear") s.mode = "linear";
  if (s.mode == "bicubic") s.mode = "cubic";
  if (s.mode != "linear" && s.mode != "nearest" && s.mode != "cubic")
    c.bad("the mode is '", s.mode, "'; wanted linear, nearest or cubic");
  if (s.padding != "zeros" && s.padding != "border" && s.padding != "reflection")
    c.bad("the padding is '", s.padding, "'; wanted zeros, border or reflection");
  const int dims = x.dim() - 2;
  if (dims < 1 || dims > 3 || grid.dim() != x.dim()) c.bad("of ", x.dim(), " dimensions with a grid of ", grid.dim());
  if (grid.size(-1) != dims) c.bad("has a grid of ", grid.size(-1).hint(), " coordinates for ", dims, " dimensions");
  std::vector<Tensor> at;  // the grid's last coordinate is of the first dimension
  for (int d = 0; d < dims; ++d) {
    const Int n = x.size(d + 2);
    const Tensor g = grid.select(-1, dims - 1 - d);
    Tensor v = s.corners ? (g + 1) * (Scalar(n - 1) * 0.5) : ((g + 1) * n - 1) * 0.5;
    // Cubic weights are those of the place that was asked for; what lies outside is moved for each of the neighbours.
    at.push_back(s.mode == "cubic" ? v : within(v, n, s));
  }
  if (s.mode == "nearest") {
    for (Tensor& v : at) v = round(v);
    return c.give(elements_at(x, at, s));
  }
  const int taps = s.mode == "linear" ? 2 : 4, first = s.mode == "linear" ? 0 : -1;
  std::vector<Tensor> begin, part;
  for (const Tensor& v : at) begin.push_back(floor(v)), part.push_back(v - begin.back());
  std::int64_t all = 1;
  for (int d = 0; d < dims; ++d) all *= taps;
  Tensor sum;
  for (std::int64_t k = 0; k < all; ++k) {
    std::vector<Tensor> places;
    Tensor weight;
    std::int64_t rest = k;
    for (std::size_t d = 0; d < at.size(); ++d, rest /= taps) {
      const int tap = static_cast<int>(rest % taps) + first;
      const Tensor w = taps == 2 ? (tap == 0 ? 1 - part[d] : part[d]) : cubic(part[d] - tap);
      weight = d == 0 ? w : weight * w;
      places.push_back(begin[d] + tap);
    }
    const Tensor term = elements_at(x, places, s) * weight.unsqueeze(1).to(x.dtype());
    sum = k == 0 ? term : sum + term;
  }
  c.give(sum);
}

void affine_grid(Call& c) {
  const Tensor theta = c.x(0);
  const std::vector<Int> size = c.ints(1);
  const int dims = static_cast<int>(size.size()) - 2;
  if (dims != 2 && dims != 3) c.bad("has sizes of ", size.size(), " dimensions; wanted 4 or 5");
  const bool corners = c.i("align_corners", 0) != 0;
  Ints all(size.begin() + 2, size.end()), ones_of(static_cast<std::size_t>(dims), Int(1));
  std::vector<Tensor> coordinates;
  for (int d = dims - 1; d >= 0; --d) {
    const Int n = size[static_cast<std::size_t>(d) + 2];
    const Tensor i = arange(n, {.dtype = theta.dtype()});
    const Tensor v = corners ? (bool(n == 1) ? zeros_like(i) : i * 2 / (n - 1) - 1) : (i * 2 + 1) / n - 1;
    Ints of = ones_of;
    of[static_cast<std::size_t>(d)] = n;
    coordinates.push_back(v.view(of).expand(all));
  }
  coordinates.push_back(ones(all, {.dtype = theta.dtype()}));
  const Tensor base = stack(coordinates, -1);
  Int points = 1;
  for (Int n : all) points *= n;
  Ints out{size[0]};
  for (Int n : all) out.push_back(n);
  out.push_back(dims);
  c.give(matmul(base.reshape({points, dims + 1}), theta.mT()).reshape(out));
}

// ---- RoiAlign

/// Samples of the regions along rows or columns: [regions, bins * each].
struct Samples {
  Tensor first, second, part;  ///< the elements that a sample lies between, and how far it is from the first
  Tensor inside;               ///< in the image
  Int each;                    ///< samples of a bin, of the region that has most
  Tensor counts;               ///< with sampling_ratio 0: how many a bin of each region has
};
/// Of regions [regions]; ratio 0: as many to a bin as it has elements, rounded up.
Samples samples_of(const Tensor& start, const Tensor& extent, std::int64_t bins, std::int64_t ratio, Int size) {
  Samples s{.first = {}, .second = {}, .part = {}, .inside = {}, .each = ratio, .counts = {}};
  const TensorOptions real{.dtype = start.dtype()};
  const Tensor bin = extent / static_cast<double>(bins);
  Tensor at;
  if (ratio > 0) {
    const Tensor steps = (arange(Scalar(bins * ratio), real) + 0.5) / static_cast<double>(ratio);
    at = start.unsqueeze(1) + steps * bin.unsqueeze(1);
  } else {
    constexpr std::int64_t kMostSamples = 1 << 20;
    s.counts = clamp(ceil(bin).to(kInt64), 0, kMostSamples);
    s.each = operators::counted(amax(cat({s.counts, ones({1}, {.dtype = kInt64})})).item(), kMostSamples, {});
    const auto beside = [](const Tensor& t) { return t.view({-1, 1, 1}); };
    const Tensor steps =
        (arange(Scalar(s.each), real) + 0.5) * beside(bin) / beside(clamp_min(s.counts, 1).to(start.dtype()));
    const Tensor begin = beside(start) + arange(Scalar(bins), real).unsqueeze(1) * beside(bin);
    at = (begin + steps).reshape({start.size(0), bins * s.each});
  }
  s.inside = (at >= -1) & (at <= size);
  at = clamp_min(at, 0);
  const Tensor first = minimum(floor(at), size - 1);
  s.part = where(first >= size - 1, zeros_like(at), at - first);
  s.first = first.to(kInt64), s.second = minimum(first + 1, size - 1).to(kInt64);
  return s;
}
/// Which of the samples a region has: [regions, each].
Tensor had(const Samples& s) { return arange(Scalar(s.each)) < s.counts.unsqueeze(1); }

void roi_align(Call& c) {
  const Tensor x = c.x(0), rois = c.x(1), batch = c.x(2).to(kInt64);
  const std::int64_t h = c.i("output_height", 1), w = c.i("output_width", 1), ratio = c.i("sampling_ratio", 0);
  if (h < 1 || w < 1 || ratio < 0) c.bad("has bins ", h, " by ", w, " and sampling_ratio ", ratio);
  const double scale = c.f("spatial_scale", 1);
  const bool half = c.version() >= 16 && c.s("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  const std::string mode = c.s("mode", "avg");
  const double offset = half ? 0.5 : 0;
  const auto along = [&](int low, std::int64_t bins, Int size) {
    const Tensor start = rois.select(1, low) * scale - offset;
    Tensor extent = rois.select(1, low + 2) * scale - offset - start;
    if (!half) extent = clamp_min(extent, 1);
    return samples_of(start, extent, bins, ratio, size);
  };
  const Samples rows = along(1, h, x.size(2)), columns = along(0, w, x.size(3));
  const auto at = [&](const Tensor& row, const Tensor& column) {
    // [rois, rows, columns, c]
    return index(x, {batch.view({-1, 1, 1}), Tensor(), row.unsqueeze(2), column.unsqueeze(1)});
  };
  const auto weight = [](const Tensor& row, const Tensor& column) {
    return (row.unsqueeze(2) * column.unsqueeze(1)).unsqueeze(-1);
  };
  const Tensor inside = (rows.inside.unsqueeze(2) & columns.inside.unsqueeze(1)).unsqueeze(-1);
  const Tensor parts[] = {at(rows.first, columns.first) * weight(1 - rows.part, 1 - columns.part),
                          at(rows.first, columns.second) * weight(1 - rows.part, columns.part),
                          at(rows.second, columns.first) * weight(rows.part, 1 - columns.part),
                          at(rows.second, columns.second) * weight(rows.part, columns.part)};
  const bool most = mode == "max";
  Tensor value = most ? maximum(maximum(parts[0], parts[1]), maximum(parts[2], parts[3]))
                      : parts[0] + parts[1] + parts[2] + parts[3];
  value = where(inside, value, zeros_like(value));
  const Tensor bins = value.reshape({rois.size(0), h, rows.each, w, columns.each, x.size(1)});
  if (ratio > 0) return c.give((most ? amax(bins, {2, 4}) : mean(bins, {2, 4})).permute({0, 3, 1, 2}));
  const Tensor own = had(rows).view({-1, 1, rows.each, 1, 1, 1}) & had(columns).view({-1, 1, 1, 1, columns.each, 1});
  const Tensor count = (rows.counts * columns.counts).view({-1, 1, 1, 1});
  Tensor made;
  if (most) {
    made = amax(where(own, bins, -std::numeric_limits<double>::infinity()), {2, 4});
    made = where(count > 0, made, 0);
  } else {
    made = sum(where(own, bins, 0), {2, 4}) / clamp_min(count, 1).to(x.dtype());
  }
  c.give(made.permute({0, 3, 1, 2}));
}

constexpr Row kImageRows[] = {
    {"AffineGrid", 20, 0, affine_grid, 2}, {"DepthToSpace", 1, 0, depth_to_space}, {"GridSample", 16, 0, grid_sample},
    {"RoiAlign", 10, 0, roi_align},        {"SpaceToDepth", 1, 0, space_to_depth},
};

}  // namespace

std::span<const Row> image_rows() { return kImageRows; }

}  // namespace reprise::onnx
