// Resize, one dimension after the other: where each new place lies among the old ones, and the old places that it is
// made of with their weights. Where each takes a few they are gathered; antialiasing takes as many as the scale says,
// and is a product with the matrix of weights.
#include <cmath>

#include "import/onnx/fold.h"

namespace reprise::onnx {
namespace {

struct Along {
  Int from, to;
  Scalar scale;   ///< a float
  Scalar length;  ///< from * scale, which may be no whole number
  Scalar roi_start = 0.0, roi_end = 1.0;
};
struct How {
  std::string mode, coordinates, nearest;
  double cubic = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

/// The specification of set 10 leaves open which element is nearest; as ONNX Runtime: the one before, where it shrinks
/// the one after.
constexpr const char* kOfSet10 = "set 10";

/// Places of the new elements among the old ones: float32 [to].
Tensor coordinates(Call& c, const Along& a, const How& how) {
  const Tensor x = arange(a.to, {.dtype = kFloat32});
  const std::string& mode = how.coordinates;
  if (mode == "half_pixel") return (x + 0.5) / a.scale - 0.5;
  if (mode == "asymmetric") return x / a.scale;
  if (mode == "pytorch_half_pixel") return bool(a.to > 1) ? (x + 0.5) / a.scale - 0.5 : zeros_like(x);
  if (mode == "align_corners")
    return bool(a.to > 1) ? x * ((Scalar(a.from - 1) * 1.0) / (a.length - Scalar(1.0))) : zeros_like(x);
  if (mode == "half_pixel_symmetric") {
    const Scalar adjustment = Scalar(Scalar(a.to) * 1.0) / a.length, centre = Scalar(a.from) * 0.5;
    return (x + 0.5) / a.scale - 0.5 + centre * (Scalar(1.0) - adjustment);
  }
  if (mode == "tf_crop_and_resize") {
    const Scalar last = Scalar(a.from - 1) * 1.0;
    if (bool(a.to > 1)) return x * ((a.roi_end - a.roi_start) * last / Scalar(a.to - 1)) + a.roi_start * last;
    return zeros_like(x) + (a.roi_start + a.roi_end) * last * 0.5;
  }
  c.bad("the coordinates are by '", mode,
        "', which is none of half_pixel, asymmetric, pytorch_half_pixel, align_corners, half_pixel_symmetric, "
        "tf_crop_and_resize");
}

Tensor cubic_weight(const Tensor& distance, double a) {
  const Tensor d = abs(distance);
  const Tensor near = ((d * (a + 2) - (a + 3)) * d) * d + 1, far = ((d * a - 5 * a) * d + 8 * a) * d - 4 * a;
  return where(d <= 1, near, where(d < 2, far, zeros_like(d)));
}

/// A list [to] or a matrix [to, k] beside x along dimension d.
Tensor beside(const Tensor& t, int rank, int d) {
  Ints sizes(static_cast<std::size_t>(rank), Int(1));
  sizes[static_cast<std::size_t>(d)] = t.size(0);
  return t.view(sizes);
}

Tensor resized(Call& c, const Tensor& x, int d, const Along& a, const How& how) {
  const Tensor at = coordinates(c, a, how);
  const Int last = a.from - 1;
  Tensor made;
  if (how.mode == "nearest") {
    const Tensor place = how.nearest == "round_prefer_floor"                                           ? ceil(at - 0.5)
                         : how.nearest == "round_prefer_ceil"                                          ? floor(at + 0.5)
                         : how.nearest == "floor" || (how.nearest == kOfSet10 && bool(a.scale >= 1.0)) ? floor(at)
                                                                                                       : ceil(at);
    made = index_select(x, d, clamp(place.to(kInt64), 0, last));
  } else {
    const bool linear = how.mode == "linear";
    if (!linear && how.mode != "cubic") c.bad("the mode is '", how.mode, "'; wanted nearest, linear or cubic");
    const Tensor real = x.dtype() == kFloat64 ? x : x.to(kFloat32);
    if (how.antialias && bool(a.scale < 1.0)) {
      // As wide as the scale says; what lies outside is the border's element.
      const std::int64_t reach = static_cast<std::int64_t>((linear ? 1 : 2) / std::max(a.scale.to_double(), 1e-6)) + 1;
      const Tensor place = arange(Scalar(-reach), Scalar(a.from + reach));
      const Tensor distance = (at.unsqueeze(1) - place.to(kFloat32).unsqueeze(0)) * a.scale;
      Tensor weights = linear ? clamp_min(1 - abs(distance), 0) : cubic_weight(distance, how.cubic);
      if (how.exclude_outside) weights = where((place >= 0) & (place <= last), weights, 0);
      weights = weights / sum(weights, 1, true);
      made = matmul(index_select(real, d, clamp(place, 0, last)).movedim(d, -1), weights.to(real.dtype()).t())
                 .movedim(-1, d);
    } else {
      const Tensor first = floor(at), part = at - first;
      const Tensor begin = first.to(kInt64);
      const int taps = linear ? 2 : 4;
      std::vector<Tensor> weights;
      for (int k = 0; k < taps; ++k) {
        Tensor w = linear ? (k == 0 ? 1 - part : part) : cubic_weight(part - (k - 1), how.cubic);
        const Tensor place = begin + (linear ? k : k - 1);
        if (how.exclude_outside) w = where((place >= 0) & (place <= last), w, 0);
        weights.push_back(w);
      }
      if (how.exclude_outside) {
        Tensor all = weights[0];
        for (int k = 1; k < taps; ++k) all = all + weights[static_cast<std::size_t>(k)];
        for (Tensor& w : weights) w = w / all;
      }
      for (int k = 0; k < taps; ++k) {
        const Tensor part_of = index_select(real, d, clamp(begin + (linear ? k : k - 1), 0, last)) *
                               beside(weights[static_cast<std::size_t>(k)].to(real.dtype()), x.dim(), d);
        made = k == 0 ? part_of : made + part_of;
      }
    }
    made = is_floating(x.dtype()) ? made.to(x.dtype()) : round(made).to(x.dtype());
  }
  if (how.coordinates != "tf_crop_and_resize") return made;
  const Tensor inside = beside((at >= 0) & (at <= last), x.dim(), d);
  return where(inside, made, full({}, how.extrapolation, {.dtype = x.dtype()}));
}

/// floor(from * scale): of whole scales without a question.
Int scaled(Int from, const Scalar& scale) {
  if (scale.is_symbolic())
    return Int(static_cast<std::int64_t>(std::floor(static_cast<double>(from.value()) * scale.to_double())));
  const double s = scale.to_double();
  if (s == std::floor(s) && s < 1e9) return from * static_cast<std::int64_t>(s);
  if (s > 0 && 1 / s == std::floor(1 / s)) return from / static_cast<std::int64_t>(1 / s);
  return Int(static_cast<std::int64_t>(std::floor(static_cast<double>(from.value()) * s)));
}

void resize_to(Call& c, const Tensor& x, std::vector<Scalar> scales, std::vector<Int> sizes,
               const std::vector<Scalar>& roi, How how) {
  std::vector<std::int64_t> axes =
      c.version() >= 18 ? c.list("axes", std::vector<std::int64_t>()) : std::vector<std::int64_t>();
  if (axes.empty())
    for (int d = 0; d < x.dim(); ++d) axes.push_back(d);
  const std::size_t n = axes.size();
  if (scales.empty() == sizes.empty()) c.bad("wants scales or sizes, one of the two");
  if ((scales.empty() ? sizes.size() : scales.size()) != n)
    c.bad("has ", scales.empty() ? sizes.size() : scales.size(), " scales or sizes for ", n, " axes");
  const std::string policy = c.version() >= 18 ? c.s("keep_aspect_ratio_policy", "stretch") : "stretch";
  if (!sizes.empty() && policy != "stretch") {
    double one = policy == "not_larger" ? HUGE_VAL : 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double s =
          static_cast<double>(sizes[i].value()) / static_cast<double>(x.size(axis_of(c, axes[i], x.dim())).value());
      one = policy == "not_larger" ? std::min(one, s) : std::max(one, s);
    }
    for (std::size_t i = 0; i < n; ++i)
      sizes[i] = static_cast<std::int64_t>(
          std::floor(static_cast<double>(x.size(axis_of(c, axes[i], x.dim())).value()) * one + 0.5)),
      scales.push_back(one);
  }
  Tensor made = x;
  for (std::size_t i = 0; i < n; ++i) {
    const int d = axis_of(c, axes[i], x.dim());
    Along a{.from = x.size(d), .to = 0, .scale = 1.0, .length = 1.0};
    if (sizes.empty()) a.to = scaled(a.from, scales[i]);
    else a.to = sizes[i];
    a.scale = scales.empty() ? Scalar(Float(a.to) / Float(a.from)) : scales[i];
    a.length = scales.empty() ? Scalar(a.to) * 1.0 : Scalar(a.from) * scales[i];
    const bool crops = how.coordinates == "tf_crop_and_resize" && roi.size() == 2 * n;
    if (crops) a.roi_start = roi[i], a.roi_end = roi[i + n];
    const bool whole = crops && !(!a.roi_start.is_symbolic() && !a.roi_end.is_symbolic() &&
                                  a.roi_start.to_double() == 0 && a.roi_end.to_double() == 1);
    // Of a dimension that stays nothing is asked.
    if (!whole &&
        (scales.empty() ? identical(a.to, a.from) || (!a.to.is_symbolic() && !a.from.is_symbolic() && a.to == a.from)
                        : !a.scale.is_symbolic() && a.scale.to_double() == 1))
      continue;
    made = resized(c, made, d, a, how);
  }
  c.give(made);
}

std::vector<Scalar> floats_of(const Call& c, int input) {
  std::vector<Scalar> all;
  if (!c.has(input)) return all;
  const auto given = c.numbers(input);
  for (const Scalar& s : given->values) all.push_back(s.is_float() ? s : Scalar(s.to_float()));
  return all;
}

void resize(Call& c) {
  How how{.mode = c.s("mode", "nearest"),
          .coordinates = c.s("coordinate_transformation_mode", "half_pixel"),
          .nearest = c.s("nearest_mode", "round_prefer_floor"),
          .cubic = c.f("cubic_coeff_a", -0.75),
          .extrapolation = c.f("extrapolation_value", 0),
          .exclude_outside = c.i("exclude_outside", 0) != 0,
          .antialias = c.i("antialias", 0) != 0};
  if (c.version() < 11) {
    how.coordinates = "asymmetric", how.nearest = kOfSet10;
    return resize_to(c, c.x(0), floats_of(c, 1), {}, {}, how);
  }
  const std::vector<Scalar> scales = floats_of(c, 2);
  resize_to(c, c.x(0), scales, scales.empty() && c.has(3) ? c.ints(3) : std::vector<Int>(), floats_of(c, 1), how);
}
void upsample(Call& c) {
  const How how{.mode = c.s("mode", "nearest"), .coordinates = "asymmetric", .nearest = "floor"};
  std::vector<Scalar> scales;
  if (c.version() < 9)
    for (double s : c.floats("scales")) scales.push_back(s);
  else scales = floats_of(c, 1);
  resize_to(c, c.x(0), scales, {}, {}, how);
}

constexpr Row kResizeRows[] = {
    {"Resize", 10, 10, resize, 2},
    {"Resize", 11, 0, resize, 2 | 4 | 8},
    {"Upsample", 7, 9, upsample, 2},
};

}  // namespace

std::span<const Row> resize_rows() { return kResizeRows; }

}  // namespace reprise::onnx
