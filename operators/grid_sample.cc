// Images read at places that a grid names. Each result is a sum of elements around its place, read by computed indices
// that are clamped to the image: nothing is checked.
#include <array>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "operators/spatial.h"
#include "reprise/ops.h"
#include "reprise/vision.h"

namespace reprise {

using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;
using operators::V;
using passes::Build;

namespace {

enum Arg { kInput, kGrid, kMode, kBeyond, kAlign };
// ATen's numbers.
enum Mode : std::int64_t { kBilinear, kNearest, kBicubic };
enum Beyond : std::int64_t { kZeros, kBorder, kReflection };

void sampler_shape(graph::RuleCtx& c) {
  const char* name = c.op.schema.name.c_str();
  const TensorMeta &x = c.tensor(kInput), &grid = c.tensor(kGrid);
  const int n = x.dim() - 2;
  auto sizes = [&] {
    return graph::sizes_text(x.layout.sizes) + " and a grid of sizes " + graph::sizes_text(grid.layout.sizes);
  };
  if (n < 2 || n > 3 || grid.dim() != x.dim())
    fail(ErrorCode::ShapeMismatch, name, c.loc,
         "wants an image [n, c, ...] of two or three spatial dimensions and a grid of as many, got sizes ", sizes());
  if (!is_floating(x.dtype) || x.dtype != grid.dtype)
    fail(ErrorCode::DTypeMismatch, name, c.loc, "wants an image and a grid of one floating dtype, got ",
         dtype_name(x.dtype), " and ", dtype_name(grid.dtype));
  if (!graph::same(x.size(0), grid.size(0), c.loc, "grid_sample: equal batches") ||
      !graph::same(grid.size(n + 1), n, c.loc, "grid_sample: a number for each dimension"))
    fail(ErrorCode::ShapeMismatch, name, c.loc, "a grid has the image's batch, and ", n,
         " numbers for each place: got sizes ", sizes());
  const std::int64_t mode = c.constant_int(kMode), beyond = c.constant_int(kBeyond);
  if (mode < kBilinear || mode > kBicubic || beyond < kZeros || beyond > kReflection)
    fail(ErrorCode::InvalidArgument, name, c.loc, "there is no mode ", mode, " with padding ", beyond);
  Ints made{x.size(0), x.size(1)};
  for (int i = 0; i < n; ++i) {
    if (!graph::require(detail::compare_lt(0, x.size(i + 2), c.loc), "grid_sample: there are elements"))
      fail(ErrorCode::ShapeMismatch, name, c.loc, "dimension ", i + 2, " of an image of sizes ", sizes(),
           " has no elements");
    made.push_back(grid.size(i + 1));
  }
  c.result(x.dtype, made);
}

/// Places along one dimension, all of [n, results...].
struct Dim {
  Build& b;
  Int size;
  std::int64_t beyond;
  bool align;

  V clamped(V v, Scalar low, Scalar high) const { return b.emit(OpId::clamp, {v, low, high}); }
  Scalar last() const { return Scalar(size - 1); }
  /// -1 to 1 as numbers of elements.
  V unscaled(V v) const {
    return align ? b.mul(b.add(v, Scalar(1.0)), Scalar(Float(size - 1) * 0.5))
                 : b.mul(b.sub(b.mul(b.add(v, Scalar(1.0)), Scalar(size)), Scalar(1.0)), Scalar(0.5));
  }
  /// Where a place counts, when it lies beyond the border.
  V brought_in(V v) const {
    if (beyond == kZeros) return v;
    if (beyond == kReflection) v = reflected(v);
    return clamped(v, Scalar(0), last());
  }
  /// At the centers of the elements at the border, or at their outer edges.
  V reflected(V v) const {
    if (align && static_cast<bool>(detail::compare_eq(size, 1, b.loc()))) return b.mul(v, Scalar(0.0));
    const Scalar span(align ? size - 1 : size);
    const double low = align ? 0 : -0.5;
    const V from = b.unary(OpId::abs, b.sub(v, Scalar(low)));
    const V extra = b.emit(OpId::fmod, {from, span}), flips = b.unary(OpId::floor, b.div(from, span));
    const V odd = b.emit(OpId::ne, {b.emit(OpId::fmod, {flips, Scalar(2.0)}), Scalar(0.0)});
    const V back = b.emit(OpId::where, {odd, b.add(b.mul(extra, Scalar(-1.0)), span), extra});
    return b.add(back, Scalar(low));
  }
};

struct Sampler {
  Build& b;
  V x;
  std::vector<Dim> dims;
  V image;  ///< [n, 1...]: whose elements are read

  bool zeros() const { return dims[0].beyond == kZeros; }
  /// The image at whole places, floats: 0 where one lies beyond, with padding of zeros.
  V at(const std::vector<V>& places) const {
    std::vector<V> indices{image, V{}};
    V inside;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const Dim& d = dims[i];
      const V within = d.clamped(places[i], Scalar(0), d.last());
      indices.push_back(b.to(within, DType::Int64));
      if (!zeros()) continue;
      const V is = b.emit(OpId::eq, {within, places[i]});  // no NaN is
      inside = inside ? b.emit(OpId::logical_and, {inside, is}) : is;
    }
    const V seen = operators::taken(b, x, indices);  // [n, results..., c]
    return zeros() ? b.emit(OpId::where, {b.emit(OpId::unsqueeze, {inside, Int(-1)}), seen, Scalar(0.0)}) : seen;
  }
};

/// Keys' cubic convolution (1981) with a = -0.75, by the distance of the place from the element before it.
std::array<V, 4> cubic_weights(Build& b, V t) {
  constexpr double a = -0.75;
  auto near = [&](V v) {
    return b.add(b.mul(b.mul(b.sub(b.mul(v, Scalar(a + 2)), Scalar(a + 3)), v), v), Scalar(1.0));
  };
  auto far = [&](V v) {
    return b.sub(b.mul(b.add(b.mul(b.sub(b.mul(v, Scalar(a)), Scalar(5 * a)), v), Scalar(8 * a)), v), Scalar(4 * a));
  };
  const V left = b.add(b.mul(t, Scalar(-1.0)), Scalar(1.0));
  return {far(b.add(t, Scalar(1.0))), near(t), near(left), far(b.add(left, Scalar(1.0)))};
}

V decompose_sampler(Build& b, DType result) {
  const DType acc = Build::accumulator(result);
  const V x = b.to(b.tensor(kInput), acc), grid = b.to(b.tensor(kGrid), acc);
  const std::size_t n = static_cast<std::size_t>(b.dim(x)) - 2;
  const std::int64_t mode = b.integer(kMode).value(b.loc());
  Ints one_each{b.sizes(x)[0]};
  for (std::size_t i = 0; i < n; ++i) one_each.push_back(1);
  Sampler s{b, x, {}, b.emit(OpId::view, {operators::positions(b, x, b.sizes(x)[0]), one_each})};
  std::vector<V> places;  // of the last dimension first in the grid
  for (std::size_t i = 0; i < n; ++i) {
    s.dims.push_back({b, b.sizes(x)[i + 2], b.integer(kBeyond).value(b.loc()), b.flag(kAlign)});
    const V place =
        s.dims[i].unscaled(b.emit(OpId::select, {grid, Int(-1), Int(static_cast<std::int64_t>(n - 1 - i))}));
    places.push_back(mode == kBicubic ? place : s.dims[i].brought_in(place));
  }
  auto last = [&](V weight) { return b.emit(OpId::unsqueeze, {weight, Int(-1)}); };
  V made;
  if (mode == kNearest) {
    for (V& p : places) p = b.unary(OpId::round, p);
    made = s.at(places);
  } else {
    std::vector<std::vector<V>> elements(n), weights(n);
    for (std::size_t i = 0; i < n; ++i) {
      const V floor = b.unary(OpId::floor, places[i]), t = b.sub(places[i], floor);
      if (mode == kBicubic) {
        const std::array<V, 4> w = cubic_weights(b, t);
        for (int k = 0; k < 4; ++k)
          elements[i].push_back(s.dims[i].brought_in(b.add(floor, Scalar(static_cast<double>(k - 1))))),
              weights[i].push_back(w[static_cast<std::size_t>(k)]);
      } else {
        elements[i] = {floor, b.add(floor, Scalar(1.0))};
        weights[i] = {b.add(b.mul(t, Scalar(-1.0)), Scalar(1.0)), t};
      }
    }
    std::vector<operators::Steps> terms(n, {static_cast<std::int64_t>(elements[0].size())});
    operators::for_each_place(terms, [&](const std::vector<std::int64_t>& k) {
      std::vector<V> at;
      V weight;
      for (std::size_t i = 0; i < n; ++i) {
        at.push_back(elements[i][static_cast<std::size_t>(k[i])]);
        const V w = weights[i][static_cast<std::size_t>(k[i])];
        weight = weight ? b.mul(weight, w) : w;
      }
      const V part = b.mul(s.at(at), last(weight));
      made = made ? b.add(made, part) : part;
    });
  }
  Ints order{0, static_cast<std::int64_t>(n) + 1};
  for (std::size_t i = 0; i < n; ++i) order.push_back(static_cast<std::int64_t>(i) + 1);
  return b.emit(OpId::permute, {b.to(made, result), order});
}

OpId sampler_op() {
  static const OpId id =
      graph::register_op({.schema = "grid_sampler(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
                                    "bool align_corners) -> Tensor",
                          .cls = graph::OpClass::Composite,
                          .shape = sampler_shape},
                         {passes::decompositions().fact({decompose_sampler}),
                          operators::derivative(operators::derivatives::grid_sampler,
                                                autograd::in(0, autograd::of(1)) + autograd::in(1))});
  return id;
}

template <std::size_t N>
std::int64_t number_of(std::string_view word, const std::string_view (&words)[N], const char* what, SourceLoc loc) {
  for (std::size_t i = 0; i < N; ++i)
    if (words[i] == word) return static_cast<std::int64_t>(i);
  fail(ErrorCode::InvalidArgument, "grid_sample", loc, what, " is '", word, "', expected ", words[0], ", ", words[1],
       " or ", words[2]);
}

/// The centers of n elements from -1 to 1, or the elements at the border at these.
Tensor evenly(Int n, bool align_corners, DType t, Device device, SourceLoc loc) {
  const Tensor twice = mul(to(arange(n, {kInt64, device}, loc), t, loc), 2, loc);
  return align_corners ? div(sub(twice, n - 1, 1, loc), Int::max(n - 1, 1), {}, loc)
                       : div(sub(twice, n - 1, 1, loc), n, {}, loc);
}

}  // namespace

Tensor grid_sample(const Tensor& input, const Tensor& grid, std::string_view mode, std::string_view padding_mode,
                   bool align_corners, SourceLoc loc) {
  static constexpr std::string_view kModes[] = {"bilinear", "nearest", "bicubic"},
                                    kBeyonds[] = {"zeros", "border", "reflection"};
  const Int m = number_of(mode, kModes, "mode", loc), p = number_of(padding_mode, kBeyonds, "padding_mode", loc);
  return named("grid_sample", [&] { return grid_sampler(input, grid, m, p, align_corners, loc); });
}
Tensor grid_sampler(const Tensor& input, const Tensor& grid, Int interpolation_mode, Int padding_mode,
                    bool align_corners, SourceLoc loc) {
  return graph::call1(sampler_op(),
                      {arg(input), arg(grid), arg(interpolation_mode), arg(padding_mode), arg(align_corners)}, loc);
}

Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners, SourceLoc loc) {
  const char* name = "affine_grid";
  const TensorMeta m = checked_meta(theta, name, loc);
  const int n = static_cast<int>(size.size()) - 2;
  if (n != 2 && n != 3)
    fail(ErrorCode::InvalidArgument, name, loc, "wants the sizes of an image of two or three spatial dimensions, got ",
         graph::sizes_text(size.vec()));
  if (!is_floating(m.dtype)) fail(ErrorCode::DTypeMismatch, name, loc, "wants floats, got ", dtype_name(m.dtype));
  if (m.dim() != 3 || !graph::same(m.size(0), size[0], loc, "affine_grid: equal batches") ||
      !graph::same(m.size(1), n, loc, "affine_grid: rows") ||
      !graph::same(m.size(2), n + 1, loc, "affine_grid: columns"))
    fail(ErrorCode::ShapeMismatch, name, loc, "for sizes ", graph::sizes_text(size.vec()), " wants a matrix [", size[0],
         ", ", n, ", ", n + 1, "], got sizes ", graph::sizes_text(m.layout.sizes));
  for (Int s : size)
    if (!graph::require(detail::compare_lt(0, s, loc), "affine_grid: positive sizes"))
      fail(ErrorCode::InvalidArgument, name, loc, "sizes must be positive, got ", graph::sizes_text(size.vec()));
  return named(name, [&] {
    Ints beside{size[0]};  // theta's rows behind the places
    for (int i = 0; i < n; ++i) beside.push_back(1);
    beside.push_back(n);
    Tensor sum = reshape(select(theta, 2, n, loc), beside, loc);
    for (int i = 0; i < n; ++i) {
      Ints along(static_cast<std::size_t>(n) + 2, Int(1));
      along[static_cast<std::size_t>(i) + 1] = size[static_cast<std::size_t>(i) + 2];
      const Tensor places =
          view(evenly(size[static_cast<std::size_t>(i) + 2], align_corners, m.dtype, m.device, loc), along, loc);
      sum = add(sum, mul(places, reshape(select(theta, 2, n - 1 - i, loc), beside, loc), loc), 1, loc);
    }
    return sum;
  });
}

namespace operators {
void register_grid_sample() { static_cast<void>(sampler_op()); }
}  // namespace operators

}  // namespace reprise
