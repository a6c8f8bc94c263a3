// Images of other sizes. Along each dimension an element of the result is a sum of weighted elements: which ones and
// with which weights are two vectors for each term, and an image's dimensions are independent of each other.
// - nearest to bicubic: all terms of all dimensions are one expression that reads the image 1, 2^n or 4^n times (a loop
// kernel).
// - antialias: the number of terms follows from the sizes; one dimension after the other, each a sum over a table
// [results, terms], the last dimension first. Places are computed in float32, those of float64 images (but nearest) in
// float64, as ATen does.
#include <algorithm>
#include <cmath>
#include <functional>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "operators/spatial.h"
#include "reprise/number_functions.h"
#include "reprise/ops.h"
#include "reprise/pooling.h"
#include "reprise/vision.h"

namespace reprise {

using graph::NodeArg;
using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;
using operators::V;
using passes::Build;

namespace {

enum Arg { kSelf, kSize, kMode, kAlign, kAntialias, kScale0 };

enum class Mode : std::uint8_t { Nearest, NearestExact, Linear, Cubic };
struct Named {
  std::string_view name;
  Mode mode;
};
constexpr Named kModes[] = {{"nearest", Mode::Nearest},
                            {"nearest-exact", Mode::NearestExact},
                            {"linear", Mode::Linear},
                            {"cubic", Mode::Cubic}};
Mode mode_named(std::string_view name) {
  return std::find_if(std::begin(kModes), std::end(kModes), [&](const Named& n) { return n.name == name; })->mode;
}
bool is_nearest(Mode m) { return m == Mode::Nearest || m == Mode::NearestExact; }

void interpolate_shape(graph::RuleCtx& c) {
  const char* name = c.op.schema.name.c_str();
  const TensorMeta& x = c.tensor(kSelf);
  const Ints& out = c.ints(kSize);
  const std::string_view mode = c.str(kMode);
  const std::size_t n = out.size();
  if (std::none_of(std::begin(kModes), std::end(kModes), [&](const Named& m) { return m.name == mode; }))
    fail(ErrorCode::InvalidArgument, name, c.loc, "mode is '", mode,
         "', expected nearest, nearest-exact, linear or cubic");
  if (n < 1 || n > 3 || x.dim() != static_cast<int>(n) + 2)
    fail(ErrorCode::ShapeMismatch, name, c.loc,
         "wants an image [n, c, ...] and a size for each of one to three spatial dimensions, got sizes ",
         graph::sizes_text(x.layout.sizes), " and ", graph::sizes_text(out));
  if (!is_nearest(mode_named(mode)) && !is_floating(x.dtype))
    fail(ErrorCode::DTypeMismatch, name, c.loc, "mode '", mode, "' wants floats, got ", dtype_name(x.dtype));
  Ints sizes{x.size(0), x.size(1)};
  for (std::size_t i = 0; i < n; ++i) {
    if (!graph::require(detail::compare_lt(0, x.size(static_cast<int>(i) + 2), c.loc),
                        "interpolate: there are elements") ||
        !graph::require(detail::compare_lt(0, out[i], c.loc), "interpolate: a size"))
      fail(ErrorCode::ShapeMismatch, name, c.loc, "sizes must be positive, got an image of sizes ",
           graph::sizes_text(x.layout.sizes), " for ", graph::sizes_text(out));
    sizes.push_back(out[i]);
  }
  c.result(x.dtype, sizes);
}

/// One dimension of the image: how far results are apart in it.
struct Dim {
  Build& b;
  V like;
  DType dtype;  ///< of places and weights
  Int in, out;
  bool align;
  std::optional<double> factor;

  Scalar scale() const {
    if (align) return Float((in - 1) * Int::min(out - 1, 1)) / Float(Int::max(out - 1, 1));  // 0 to one element
    return factor ? Scalar(1.0 / *factor) : Scalar(Float(in) / Float(out));
  }
  V results() const { return b.to(operators::positions(b, like, out), dtype); }
  /// Where results stand in the image, as centers of elements or their numbers.
  V centers() const {
    return align ? b.mul(results(), scale()) : b.sub(b.mul(b.add(results(), Scalar(0.5)), scale()), Scalar(0.5));
  }
  V whole(V at) const { return b.to(b.unary(OpId::floor, at), DType::Int64); }
  V within(V at) const { return b.emit(OpId::clamp, {at, Scalar(0), Scalar(in - 1)}); }
};

struct Term {
  V element, weight;  ///< [results]; no weight: 1
};

/// Keys' cubic convolution (1981) with a = -0.75: of what is at most one away, and at most two.
V cubic_near(Build& b, V t) {
  return b.add(b.mul(b.mul(b.sub(b.mul(t, Scalar(1.25)), Scalar(2.25)), t), t), Scalar(1.0));
}
V cubic_far(Build& b, V t, double a) {
  return b.sub(b.mul(b.add(b.mul(b.sub(b.mul(t, Scalar(a)), Scalar(5 * a)), t), Scalar(8 * a)), t), Scalar(4 * a));
}

std::vector<Term> cubic_terms(const Dim& d, V at) {
  Build& b = d.b;
  const V floor = b.unary(OpId::floor, at), t = b.sub(at, floor), first = b.to(floor, DType::Int64);
  std::vector<Term> terms;
  for (int k = -1; k <= 2; ++k) {
    const V away = k <= 0 ? b.add(t, Scalar(static_cast<double>(-k)))
                          : b.emit(OpId::sub, {b.mul(t, Scalar(-1.0)), Scalar(static_cast<double>(-k)), Scalar(1)});
    terms.push_back(
        {d.within(b.add(first, Scalar(k))), k == 0 || k == 1 ? cubic_near(b, away) : cubic_far(b, away, -0.75)});
  }
  return terms;
}

std::vector<Term> terms_of(const Dim& d, Mode mode) {
  Build& b = d.b;
  switch (mode) {
    case Mode::Nearest: return {{d.within(d.whole(b.mul(d.results(), d.scale()))), {}}};
    case Mode::NearestExact: return {{d.within(d.whole(b.mul(b.add(d.results(), Scalar(0.5)), d.scale()))), {}}};
    case Mode::Linear: {
      const V at = d.align ? d.centers() : b.emit(OpId::clamp, {d.centers(), Scalar(0.0), std::monostate{}});
      const V first = d.within(d.whole(at)),
              part = b.emit(OpId::clamp, {b.sub(at, b.to(first, d.dtype)), Scalar(0.0), Scalar(1.0)});
      return {{first, b.add(b.mul(part, Scalar(-1.0)), Scalar(1.0))}, {d.within(b.add(first, Scalar(1))), part}};
    }
    case Mode::Cubic: return cubic_terms(d, d.centers());
  }
  return {};
}

/// v [n] as [n, 1, ...] with `behind` dimensions behind.
V before(Build& b, V v, std::size_t behind) {
  if (behind == 0) return v;
  Ints sizes = b.sizes(v);
  for (std::size_t i = 0; i < behind; ++i) sizes.push_back(1);
  return b.emit(OpId::view, {v, sizes});
}

/// The sum over the terms of dimensions from i on of weight * what the rest gives.
V summed(Build& b, V x, const std::vector<std::vector<Term>>& dims, std::size_t i, std::vector<V>& indices) {
  if (i == dims.size()) return operators::taken(b, x, indices);
  V sum;
  for (const Term& t : dims[i]) {
    indices[i + 2] = before(b, t.element, dims.size() - 1 - i);
    V part = summed(b, x, dims, i + 1, indices);
    if (t.weight) part = b.mul(part, before(b, t.weight, dims.size() - 1 - i));
    sum = sum ? b.add(sum, part) : part;
  }
  return sum;
}

/// Along dimension `dim` of x, with a filter that is `scale` times as wide where the image gets smaller (Pillow's way).
V filtered(const Dim& d, V x, int dim, Mode mode) {
  Build& b = d.b;
  const bool cubic = mode == Mode::Cubic;
  const std::int64_t reach = cubic ? 2 : 1;
  // At least 1, so that the filter never falls between two elements.
  const Scalar given = d.scale();
  const Float scale = max(given.to_float(b.loc()), Float(1.0));
  Int most;  // terms: what a window that is so wide meets
  if (d.align) most = Int::max(Int::ceil_div((d.in - 1) * reach, Int::max(d.out - 1, 1)), reach) * 2 + 1;
  else if (d.factor)
    most = static_cast<std::int64_t>(std::ceil(std::max(1 / *d.factor, 1.0) * static_cast<double>(reach))) * 2 + 1;
  else most = Int::max(Int::ceil_div(d.in * reach, d.out), reach) * 2 + 1;
  const V center = b.mul(b.add(d.results(), Scalar(0.5)), given);
  const Scalar support(scale * static_cast<double>(reach));
  const V from = b.emit(OpId::clamp,
                        {b.to(b.add(b.sub(center, support), Scalar(0.5)), DType::Int64), Scalar(0), std::monostate{}});
  const V to = b.emit(OpId::clamp,
                      {b.to(b.add(b.add(center, support), Scalar(0.5)), DType::Int64), std::monostate{}, Scalar(d.in)});
  auto beside = [&](V v) { return b.emit(OpId::unsqueeze, {v, Int(1)}); };
  const V at = b.add(beside(from), operators::positions(b, x, most));  // [results, terms]
  const V away = b.unary(
      OpId::abs, b.mul(b.add(b.sub(b.to(at, d.dtype), beside(center)), Scalar(0.5)), Scalar(Float(1.0) / scale)));
  // Here a = -0.5.
  const V near = cubic ? b.add(b.mul(b.mul(b.sub(b.mul(away, Scalar(1.5)), Scalar(2.5)), away), away), Scalar(1.0))
                       : b.add(b.mul(away, Scalar(-1.0)), Scalar(1.0));
  V weight = b.emit(OpId::where, {b.emit(OpId::lt, {away, Scalar(1.0)}), near, Scalar(0.0)});
  if (cubic) {
    const V far = b.emit(OpId::where, {b.emit(OpId::lt, {away, Scalar(2.0)}), cubic_far(b, away, -0.5), Scalar(0.0)});
    weight = b.emit(OpId::where, {b.emit(OpId::lt, {away, Scalar(1.0)}), near, far});
  }
  weight = b.emit(OpId::where, {b.emit(OpId::lt, {at, beside(to)}), weight, Scalar(0.0)});
  weight = b.div(weight, b.reduce(OpId::sum, weight, {1}, true));
  std::vector<V> indices(static_cast<std::size_t>(dim) + 1);
  indices.back() = d.within(at);
  const V seen = operators::taken(b, x, indices);
  return b.reduce(OpId::sum, b.mul(seen, before(b, weight, static_cast<std::size_t>(b.dim(x) - dim - 1))), {dim + 1},
                  false);
}

V decompose_interpolate(Build& b, DType result) {
  const V given = b.tensor(kSelf);
  const Mode mode = mode_named(b.text(kMode));
  const Ints& out = b.ints(kSize);
  const DType acc = Build::accumulator(result);
  auto dim = [&](std::size_t i) {
    std::optional<double> factor;
    if (const int k = kScale0 + static_cast<int>(i); b.has(k)) factor = b.scalar(k).to_double(b.loc());
    return Dim{b,     given, is_nearest(mode) ? DType::Float32 : acc, b.sizes(given)[i + 2], out[i], b.flag(kAlign),
               factor};
  };
  if (b.flag(kAntialias)) {
    V x = b.to(given, acc);
    for (std::size_t i = out.size(); i-- > 0;) x = filtered(dim(i), x, static_cast<int>(i) + 2, mode);
    return b.to(x, result);
  }
  std::vector<std::vector<Term>> dims;
  for (std::size_t i = 0; i < out.size(); ++i) dims.push_back(terms_of(dim(i), mode));
  std::vector<V> indices(out.size() + 2);
  const V x = is_nearest(mode) ? given : b.to(given, acc);
  const V made = summed(b, x, dims, 0, indices);
  return is_nearest(mode) ? made : b.to(made, result);
}

OpId interpolate_op() {
  static const OpId id = graph::register_op(
      {.schema = "interpolate(Tensor self, SymInt[] output_size, str mode, bool align_corners=False, bool "
                 "antialias=False, float? scales_0=None, float? scales_1=None, float? scales_2=None) -> Tensor",
       .cls = graph::OpClass::Composite,
       .shape = interpolate_shape,
       .moves = false},
      {passes::decompositions().fact({decompose_interpolate}),
       operators::derivative(operators::derivatives::interpolate, autograd::kNothing)});
  return id;
}

Tensor resized(const char* name, const Tensor& image, const Ints& size, std::string_view mode, bool align,
               bool antialias, const std::vector<double>& scales, SourceLoc loc) {
  for (double s : scales)
    if (!(s > 0) || std::isinf(s)) fail(ErrorCode::InvalidArgument, name, loc, "scales must be positive, got ", s);
  auto scale = [&](std::size_t i) { return i < scales.size() ? std::optional<double>(scales[i]) : std::nullopt; };
  return named(name, [&] {
    return graph::call1(interpolate_op(),
                        {arg(image), arg(IntArrayRef(size)), arg(mode), arg(align), arg(antialias), arg(scale(0)),
                         arg(scale(1)), arg(scale(2))},
                        loc);
  });
}

/// floor(size * factor), as it is of doubles. A factor of few binary digits makes a symbolic size of one.
Int scaled(Int size, double factor, SourceLoc loc) {
  for (std::int64_t below = 1; below <= (1 << 10); below *= 2)
    if (const double n = factor * static_cast<double>(below); n == std::floor(n) && n < 0x1p30)
      return below == 1 ? size * static_cast<std::int64_t>(n) : size * static_cast<std::int64_t>(n) / below;
  return static_cast<std::int64_t>(std::floor(static_cast<double>(size.value(loc)) * factor));
}

struct Word {
  std::string_view name, mode;
  int n;  ///< spatial dimensions; 0: any
};
constexpr Word kWords[] = {{"nearest", "nearest", 0},  {"nearest-exact", "nearest-exact", 0},
                           {"linear", "linear", 1},    {"bilinear", "linear", 2},
                           {"trilinear", "linear", 3}, {"bicubic", "cubic", 2},
                           {"area", "area", 0}};

}  // namespace

Tensor interpolate(const Tensor& input, const InterpolateOptions& o, SourceLoc loc) {
  const char* name = "interpolate";
  const TensorMeta m = checked_meta(input, name, loc);
  const int n = m.dim() - 2;
  if (n < 1 || n > 3)
    fail(ErrorCode::ShapeMismatch, name, loc,
         "wants an image [n, c, ...] of one to three spatial dimensions, got sizes ",
         graph::sizes_text(m.layout.sizes));
  const Word* word =
      std::find_if(std::begin(kWords), std::end(kWords), [&](const Word& w) { return w.name == o.mode; });
  if (word == std::end(kWords))
    fail(ErrorCode::InvalidArgument, name, loc, "mode is '", o.mode,
         "', expected nearest, nearest-exact, linear, bilinear, trilinear, bicubic or area");
  if (word->n && word->n != n)
    fail(ErrorCode::ShapeMismatch, name, loc, "mode '", o.mode, "' is of ", word->n,
         " spatial dimensions, the image has sizes ", graph::sizes_text(m.layout.sizes));
  if (o.size.has_value() == !o.scale_factor.empty())
    fail(ErrorCode::InvalidArgument, name, loc, "wants one of size and scale_factor");
  if (o.align_corners && !word->n)
    fail(ErrorCode::InvalidArgument, name, loc, "align_corners is of linear to bicubic, not of '", o.mode, "'");
  if (o.antialias && (n != 2 || !word->n))
    fail(ErrorCode::InvalidArgument, name, loc, "antialias is of bilinear and bicubic, not of '", o.mode, "'");
  if (o.recompute_scale_factor && o.size)
    fail(ErrorCode::InvalidArgument, name, loc, "recompute_scale_factor is of scale_factor, not of size");
  std::vector<double> scales = o.scale_factor;
  if (scales.size() == 1) scales.resize(static_cast<std::size_t>(n), scales[0]);
  if (!scales.empty() && scales.size() != static_cast<std::size_t>(n))
    fail(ErrorCode::InvalidArgument, name, loc, "scale_factor wants one number or ", n, ", got ", scales.size());
  Ints size;
  if (o.size) size = operators::per_dim(*o.size, n, name, "size", loc);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!(scales[i] > 0) || std::isinf(scales[i]))
      fail(ErrorCode::InvalidArgument, name, loc, "scale_factor must be positive, got ", scales[i]);
    size.push_back(scaled(m.size(static_cast<int>(i) + 2), scales[i], loc));
  }
  if (word->mode == "area")
    return named(name, [&] {
      return n == 1   ? adaptive_avg_pool1d(input, size, loc)
             : n == 2 ? adaptive_avg_pool2d(input, size, loc)
                      : adaptive_avg_pool3d(input, size, loc);
    });
  if (o.recompute_scale_factor) scales.clear();
  return resized(name, input, size, word->mode, o.align_corners.value_or(false), o.antialias, scales, loc);
}

#define REPRISE_UPSAMPLE(name, n)                                                                                \
  Tensor name(const Tensor& self, IntArrayRef output_size, const std::vector<double>& scales, SourceLoc loc) {   \
    return resized(#name, self, operators::per_dim(output_size, n, #name, "output_size", loc), "nearest", false, \
                   false, scales, loc);                                                                          \
  }
REPRISE_UPSAMPLE(upsample_nearest1d, 1)
REPRISE_UPSAMPLE(upsample_nearest2d, 2)
REPRISE_UPSAMPLE(upsample_nearest3d, 3)
#undef REPRISE_UPSAMPLE
#define REPRISE_UPSAMPLE(name, mode, n)                                                                             \
  Tensor name(const Tensor& self, IntArrayRef output_size, bool align_corners, const std::vector<double>& scales,   \
              SourceLoc loc) {                                                                                      \
    return resized(#name, self, operators::per_dim(output_size, n, #name, "output_size", loc), mode, align_corners, \
                   false, scales, loc);                                                                             \
  }
REPRISE_UPSAMPLE(upsample_linear1d, "linear", 1)
REPRISE_UPSAMPLE(upsample_bilinear2d, "linear", 2)
REPRISE_UPSAMPLE(upsample_trilinear3d, "linear", 3)
REPRISE_UPSAMPLE(upsample_bicubic2d, "cubic", 2)
#undef REPRISE_UPSAMPLE

namespace operators {
void register_resize() { static_cast<void>(interpolate_op()); }
}  // namespace operators

}  // namespace reprise
