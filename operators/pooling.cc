// Pooling: what stands in graphs is an operator for each kind and any number of dimensions. Windows are a view of the
// image with its padding; up to kUnrolledPlaces of a window are one expression, of more a reduction.
#include "reprise/pooling.h"

#include <functional>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "operators/spatial.h"
#include "reprise/ops.h"

namespace reprise {

using graph::NodeArg;
using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;
using operators::Steps;
using operators::V;
using passes::Build;

namespace {

// The first arguments of all of them: self, kernel_size, stride, padding; max pools go on with dilation, ceil_mode,
// averages with ceil_mode, ...
enum Arg { kSelf, kKernel, kStride, kPadding, kDilation, kCeilOfMax };
enum ArgOfAverage { kCeil = 4, kCountIncludePad, kDivisor };

struct Pool {
  std::vector<Steps> steps;
  Ints padding;
  bool ceil;

  std::size_t n() const { return steps.size(); }
  /// How many windows: with ceil_mode also one that begins before the end of the image and reaches beyond.
  Int count(Int size, std::size_t i) const {
    const Steps& s = steps[i];
    const Int room = graph::is_plain(padding[i], 0) ? size : size + 2 * padding[i];
    if (!ceil) return operators::windows(room, s);
    return Int::min((room - s.reach() + (s.stride - 1)) / s.stride + 1, (size + padding[i] - 1) / s.stride + 1);
  }
  Ints counts(const Ints& sizes) const {
    Ints all;
    for (std::size_t i = 0; i < n(); ++i) all.push_back(count(sizes[i + 2], i));
    return all;
  }
  /// The image with so much around it that all windows lie within.
  V room(Build& b, V x, Scalar value) const {
    Ints back = padding;
    // The last window may begin with the last element: it reaches less than a step beyond what it would without
    // ceil_mode.
    for (std::size_t i = 0; i < n() && ceil; ++i) back[i] = back[i] + (steps[i].stride - 1);
    return operators::padded(b, x, padding, back, value);
  }
};

Pool pool_of(const Ints& kernel, const Ints& stride, const Ints& padding, const Ints* dilation, bool ceil,
             SourceLoc loc) {
  Pool p{{}, padding, ceil};
  for (std::size_t i = 0; i < kernel.size(); ++i)
    p.steps.push_back({kernel[i].value(loc), stride[i].value(loc), dilation ? (*dilation)[i].value(loc) : 1});
  return p;
}
Pool max_pool_of(const Build& b) {
  return pool_of(b.ints(kKernel), b.ints(kStride), b.ints(kPadding), &b.ints(kDilation), b.flag(kCeilOfMax), b.loc());
}
Pool average_of(const Build& b) {
  return pool_of(b.ints(kKernel), b.ints(kStride), b.ints(kPadding), nullptr, b.flag(kCeil), b.loc());
}

void refuse_image(const graph::RuleCtx& c, const TensorMeta& x, std::size_t n) {
  if (n < 1 || n > 3 || x.dim() != static_cast<int>(n) + 2)
    fail(ErrorCode::ShapeMismatch, c.op.schema.name.c_str(), c.loc, "wants an image [n, c, ...] with ", n,
         " spatial dimensions, got sizes ", graph::sizes_text(x.layout.sizes));
}

/// Sizes of the result; asks that there is one.
Ints pooled_sizes(graph::RuleCtx& c, const Ints* dilation, bool ceil) {
  const char* name = c.op.schema.name.c_str();
  const TensorMeta& x = c.tensor(kSelf);
  const Ints &kernel = c.ints(kKernel), &stride = c.ints(kStride), &padding = c.ints(kPadding);
  const std::size_t n = kernel.size();
  refuse_image(c, x, n);
  if (x.dtype == DType::Bool) fail(ErrorCode::DTypeMismatch, name, c.loc, "pools no bools");
  if (stride.size() != n || padding.size() != n || (dilation && dilation->size() != n))
    fail(ErrorCode::InvalidArgument, name, c.loc, "wants as many strides, paddings and dilations as kernel sizes, ", n);
  auto positive = [&](const Ints& list, const char* what) {
    for (Int i : list)
      if (i.value(c.loc) < 1)
        fail(ErrorCode::InvalidArgument, name, c.loc, "'", what, "' must be positive, got ", graph::sizes_text(list));
  };
  positive(kernel, "kernel_size"), positive(stride, "stride");
  if (dilation) positive(*dilation, "dilation");
  const Pool p = pool_of(kernel, stride, padding, dilation, ceil, c.loc);
  Ints sizes{x.size(0), x.size(1)};
  for (std::size_t i = 0; i < n; ++i) {
    if (const std::int64_t pad = padding[i].value(c.loc); pad < 0 || pad > p.steps[i].reach() / 2)
      fail(ErrorCode::InvalidArgument, name, c.loc,
           "padding must be at most half of the kernel, and not negative: ", pad, " of ", p.steps[i].reach());
    const Int size = x.size(static_cast<int>(i) + 2), room = size + 2 * padding[i];
    // With ceil_mode a window that does not fit counts, as long as it would without the last steps.
    const Int needed = ceil ? Int(p.steps[i].reach() - p.steps[i].stride + 1) : Int(p.steps[i].reach());
    if (!graph::require(detail::compare_le(needed, room, c.loc), "pooling: a window fits") ||
        !graph::require(detail::compare_lt(0, size, c.loc), "pooling: there are elements"))
      fail(ErrorCode::ShapeMismatch, name, c.loc, "a window that reaches over ", p.steps[i].reach(),
           " elements does not fit dimension ", i + 2, " of sizes ", graph::sizes_text(x.layout.sizes), " with ",
           padding[i], " on both sides");
    sizes.push_back(p.count(size, i));
  }
  return sizes;
}

// ---- the greatest

void max_pool_shape(graph::RuleCtx& c) {
  c.result(c.tensor(kSelf).dtype, pooled_sizes(c, &c.ints(kDilation), c.flag(kCeilOfMax)));
}
void max_pool_indices_shape(graph::RuleCtx& c) {
  c.result(DType::Int64, pooled_sizes(c, &c.ints(kDilation), c.flag(kCeilOfMax)));
}

/// [1, ..., n, ..., 1]: v along dimension d of `rank`.
V along(Build& b, V v, int d, int rank) {
  Ints sizes(static_cast<std::size_t>(rank), Int(1));
  sizes[static_cast<std::size_t>(d)] = b.sizes(v)[0];
  return b.emit(OpId::view, {v, sizes});
}
Ints last_dims(int rank, std::size_t n) {
  Ints dims;
  for (std::size_t i = 0; i < n; ++i) dims.push_back(rank - static_cast<std::int64_t>(n - i));
  return dims;
}

V decompose_max_pool(Build& b, DType) {
  const Pool p = max_pool_of(b);
  const V x = b.tensor(kSelf), room = p.room(b, x, operators::lowest(b.meta(x).dtype)),
          seen = operators::window_view(b, room, p.steps, p.counts(b.sizes(x)));
  if (operators::places(p.steps) > operators::kUnrolledPlaces)
    return b.reduce(OpId::amax, seen, last_dims(b.dim(seen), p.n()), false);
  V most;
  operators::for_each_place(p.steps, [&](const std::vector<std::int64_t>& at) {
    const V here = operators::seen_at(b, seen, at);
    most = most ? b.emit(OpId::maximum, {most, here}) : here;
  });
  return operators::places(p.steps) == 1 ? b.unary(OpId::clone, most) : most;
}

/// Which of each row of [..., n] is the greatest: the first of equal ones, the last NaN.
V greatest(Build& b, V rows) {
  const V first = b.emit(OpId::argmax, {rows, Int(-1), false});
  if (!is_floating(b.meta(rows).dtype)) return first;
  const V last = b.reduce(OpId::amax,
                          b.emit(OpId::where, {b.unary(OpId::isnan, rows),
                                               operators::positions(b, rows, b.sizes(rows).back()), Scalar(-1)}),
                          Ints{b.dim(rows) - 1}, false);
  return b.emit(OpId::where, {b.emit(OpId::ge, {last, Scalar(0)}), last, first});
}

/// Where windows begin along dimension i: [o], counted in the image; negative in the padding before it.
V begins(Build& b, V x, const Pool& p, std::size_t i) {
  V at = operators::positions(b, x, p.count(b.sizes(x)[i + 2], i));
  if (p.steps[i].stride != 1) at = b.mul(at, Scalar(p.steps[i].stride));
  return graph::is_plain(p.padding[i], 0) ? at : b.sub(at, Scalar(p.padding[i]));
}

constexpr std::int64_t kNoPlace = 255;

V decompose_max_pool_indices(Build& b, DType) {
  const Pool p = max_pool_of(b);
  const V x = b.tensor(kSelf), room = p.room(b, x, operators::lowest(b.meta(x).dtype));
  const Ints counts = p.counts(b.sizes(x));
  const V seen = operators::window_view(b, room, p.steps, counts);
  const int rank = b.dim(x);
  std::vector<V> begin;
  for (std::size_t i = 0; i < p.n(); ++i) begin.push_back(begins(b, x, p, i));
  auto flat = [&](const std::function<V(std::size_t)>& index) {  // of a plane
    V all;
    for (std::size_t i = 0; i < p.n(); ++i) {
      const V own = index(i);
      all = all ? b.add(b.mul(all, Scalar(b.sizes(x)[i + 2])), own) : own;
    }
    return all;
  };
  // Where nothing is greater than what is padded, it is the first place in the image.
  const V first = flat([&](std::size_t i) {
    V at = begin[i];
    if (!graph::is_plain(p.padding[i], 0)) {
      const std::int64_t d = p.steps[i].dilation;
      V short_by = b.emit(OpId::clamp, {b.mul(at, Scalar(-1)), Scalar(0), std::monostate{}});
      if (d != 1)
        short_by =
            b.mul(b.emit(OpId::div, {b.add(short_by, Scalar(d - 1)), Scalar(d), std::string("floor")}), Scalar(d));
      at = b.add(at, short_by);
    }
    return along(b, at, static_cast<int>(i) + 2, rank);
  });
  Ints sizes{b.sizes(x)[0], b.sizes(x)[1]};
  sizes.append(counts.begin(), counts.end());
  if (operators::places(p.steps) > operators::kUnrolledPlaces) {
    Ints rows = sizes;
    rows.push_back(operators::places(p.steps));
    V place = greatest(b, b.reshape(seen, rows));
    const V none = b.emit(OpId::eq, {decompose_max_pool(b, {}), operators::lowest(b.meta(x).dtype)});
    std::vector<V> within(p.n());
    for (std::size_t i = p.n(); i-- > 0;) {
      within[i] = i ? b.emit(OpId::remainder, {place, Scalar(p.steps[i].kernel)}) : place;
      if (i) place = b.emit(OpId::div, {place, Scalar(p.steps[i].kernel), std::string("floor")});
    }
    const V found = flat([&](std::size_t i) {
      return b.add(along(b, begin[i], static_cast<int>(i) + 2, rank), b.mul(within[i], Scalar(p.steps[i].dilation)));
    });
    return b.emit(OpId::where, {none, first, found});
  }
  // Which of the window's places, in a byte: where a derivative is computed later, that is all that is kept (Note
  // [Joint graphs]).
  static_assert(operators::kUnrolledPlaces < kNoPlace);
  V most, place = b.emit(OpId::full, {sizes, Scalar(kNoPlace), DType::UInt8, b.meta(x).device.str()});
  std::int64_t number = 0;
  operators::for_each_place(p.steps, [&](const std::vector<std::int64_t>& at) {
    const V here = operators::seen_at(b, seen, at);
    V taken = b.emit(OpId::gt, {here, most ? NodeArg(most) : NodeArg(operators::lowest(b.meta(x).dtype))});
    if (is_floating(b.meta(x).dtype)) taken = b.emit(OpId::logical_or, {taken, b.unary(OpId::isnan, here)});
    place = b.emit(OpId::where, {taken, Scalar(number++), place});
    most = most ? b.emit(OpId::where, {taken, here, most}) : here;
  });
  // Where along each dimension: how many rows of places it has behind it, by comparisons. Integers are divided slowly.
  V rest = place;
  std::int64_t inner = number;
  const V found = flat([&](std::size_t i) {
    V within = rest;
    if (i + 1 < p.n()) {
      inner /= p.steps[i].kernel;
      within = {};
      for (std::int64_t row = 1; row < p.steps[i].kernel; ++row) {
        const V behind = b.to(b.emit(OpId::ge, {rest, Scalar(row * inner)}), DType::UInt8);
        within = within ? b.add(within, behind) : behind;
      }
      if (within) rest = b.sub(rest, b.mul(within, Scalar(inner)));
    }
    const V begin_here = along(b, begin[i], static_cast<int>(i) + 2, rank);
    return within ? b.add(begin_here, b.mul(b.to(within, DType::Int64), Scalar(p.steps[i].dilation))) : begin_here;
  });
  return b.emit(OpId::where, {b.emit(OpId::eq, {place, Scalar(kNoPlace)}), first, found});
}

OpId max_pool_op() {
  static const OpId id = graph::register_op({.schema = "max_pool(Tensor self, int[] kernel_size, int[] stride, int[] "
                                                       "padding, int[] dilation, bool ceil_mode) -> Tensor",
                                             .cls = graph::OpClass::Composite,
                                             .shape = max_pool_shape},
                                            {passes::decompositions().fact({decompose_max_pool}),
                                             operators::derivative(operators::derivatives::max_pool, autograd::in(0))});
  return id;
}
OpId max_pool_indices_op() {
  static const OpId id =
      graph::register_op({.schema = "max_pool_indices(Tensor self, int[] kernel_size, int[] stride, int[] padding, "
                                    "int[] dilation, bool ceil_mode) -> Tensor",
                          .cls = graph::OpClass::Composite,
                          .shape = max_pool_indices_shape},
                         {passes::decompositions().fact({decompose_max_pool_indices}), operators::constant()});
  return id;
}

// ---- averages

void average_dtype(const graph::RuleCtx& c) {
  if (const DType t = c.tensor(kSelf).dtype; !is_floating(t) && t != DType::Int64)
    fail(ErrorCode::DTypeMismatch, c.op.schema.name.c_str(), c.loc, "averages floats, and int64; got ", dtype_name(t));
}
void avg_pool_shape(graph::RuleCtx& c) {
  average_dtype(c);
  if (c.has(kDivisor) && c.constant_int(kDivisor) == 0)
    fail(ErrorCode::InvalidArgument, c.op.schema.name.c_str(), c.loc, "'divisor_override' must not be 0");
  c.result(c.tensor(kSelf).dtype, pooled_sizes(c, nullptr, c.flag(kCeil)));
}

V decompose_avg_pool(Build& b, DType result) {
  const Pool p = average_of(b);
  const V x = b.tensor(kSelf), room = p.room(b, x, Scalar(0));
  const Ints counts = p.counts(b.sizes(x));
  const V seen = b.to(operators::window_view(b, room, p.steps, counts), Build::accumulator(result));
  V sum;
  if (operators::places(p.steps) > operators::kUnrolledPlaces) {
    sum = b.reduce(OpId::sum, seen, last_dims(b.dim(seen), p.n()), false);
  } else {
    operators::for_each_place(p.steps, [&](const std::vector<std::int64_t>& at) {
      const V here = operators::seen_at(b, seen, at);
      sum = sum ? b.add(sum, here) : here;
    });
  }
  auto divided = [&](V by_all, graph::NodeArg by) {
    return is_floating(result) ? b.to(b.div(by_all, std::move(by)), result)
                               : b.emit(OpId::div, {by_all, std::move(by), std::string("trunc")});
  };
  if (b.has(kDivisor)) return divided(sum, Scalar(b.integer(kDivisor)));
  const bool with_padding = b.flag(kCountIncludePad);
  std::int64_t whole = 1;
  V divisor;
  for (std::size_t i = 0; i < p.n(); ++i) {
    const Int size = b.sizes(x)[i + 2], pad = p.padding[i];
    const std::int64_t k = p.steps[i].kernel;
    if (!p.ceil && (with_padding || graph::is_plain(pad, 0))) {
      whole *= k;
      continue;
    }
    V from = begins(b, x, p, i),
      to = b.emit(OpId::clamp, {b.add(from, Scalar(k)), std::monostate{}, Scalar(with_padding ? size + pad : size)});
    if (!with_padding) from = b.emit(OpId::clamp, {from, Scalar(0), std::monostate{}});
    const V own = along(b, b.sub(to, from), static_cast<int>(i) + 2, b.dim(x));
    divisor = divisor ? b.mul(divisor, own) : own;
  }
  if (!divisor) return divided(sum, Scalar(whole));
  if (whole != 1) divisor = b.mul(divisor, Scalar(whole));
  return divided(sum, is_floating(result) ? b.to(divisor, b.meta(sum).dtype) : divisor);
}

OpId avg_pool_op() {
  static const OpId id = graph::register_op(
      {.schema = "avg_pool(Tensor self, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode=False, bool "
                 "count_include_pad=True, int? divisor_override=None) -> Tensor",
       .cls = graph::OpClass::Composite,
       .shape = avg_pool_shape},
      {passes::decompositions().fact({decompose_avg_pool}),
       operators::derivative(operators::derivatives::avg_pool, autograd::kNothing)});
  return id;
}

// ---- windows that follow from the sizes of the result

Ints adaptive_sizes(graph::RuleCtx& c) {
  const char* name = c.op.schema.name.c_str();
  const TensorMeta& x = c.tensor(kSelf);
  refuse_image(c, x, c.ints(1).size());
  Ints sizes{x.size(0), x.size(1)};
  for (std::size_t i = 0; i < c.ints(1).size(); ++i) {
    // Of three sizes the product is known to fit 64 bits only where no other size is 0: then the last two are
    // constants.
    if (c.ints(1).size() == 3 && i > 0) static_cast<void>(c.ints(1)[i].value(c.loc));
    if (!graph::require(detail::compare_le(0, c.ints(1)[i], c.loc), "pooling: an output size"))
      fail(ErrorCode::InvalidArgument, name, c.loc, "'output_size' must not be negative, got ",
           graph::sizes_text(c.ints(1)));
    if (!graph::require(detail::compare_lt(0, x.size(static_cast<int>(i) + 2), c.loc), "pooling: there are elements"))
      fail(ErrorCode::ShapeMismatch, name, c.loc, "dimension ", i + 2, " of sizes ", graph::sizes_text(x.layout.sizes),
           " has no elements");
    sizes.push_back(c.ints(1)[i]);
  }
  return sizes;
}
void adaptive_avg_shape(graph::RuleCtx& c) {
  if (!is_floating(c.tensor(0).dtype))
    fail(ErrorCode::DTypeMismatch, c.op.schema.name.c_str(), c.loc, "averages floats, got ",
         dtype_name(c.tensor(0).dtype));
  c.result(c.tensor(0).dtype, adaptive_sizes(c));
}
Ints adaptive_max_sizes(graph::RuleCtx& c) {
  if (c.tensor(0).dtype == DType::Bool)
    fail(ErrorCode::DTypeMismatch, c.op.schema.name.c_str(), c.loc, "pools no bools");
  return adaptive_sizes(c);
}
void adaptive_max_shape(graph::RuleCtx& c) { c.result(c.tensor(0).dtype, adaptive_max_sizes(c)); }
void adaptive_max_indices_shape(graph::RuleCtx& c) { c.result(DType::Int64, adaptive_max_sizes(c)); }

/// Of `out` windows over `size` elements: where they begin and end, and their elements, [out, longest]; those beyond a
/// window's end stand for its last one.
struct Windows {
  V begin, end, elements, beyond;
};
Windows windows_of(Build& b, V like, Int size, Int out) {
  const V i = operators::positions(b, like, out);
  // Of no windows there are no ends; the division must be one all the same.
  const Scalar by(Int::max(out, 1));
  const V begin = b.emit(OpId::div, {b.mul(i, Scalar(size)), by, std::string("floor")}),
          end = b.emit(OpId::div, {b.add(b.mul(b.add(i, Scalar(1)), Scalar(size)), Scalar(Int::max(out, 1) - 1)), by,
                                   std::string("floor")});
  const Int longest = Int::min((size + Int::max(out, 1) - 1) / Int::max(out, 1) + 1, size);
  const V all = b.add(b.emit(OpId::unsqueeze, {begin, Int(1)}), operators::positions(b, like, longest)),
          last = b.sub(b.emit(OpId::unsqueeze, {end, Int(1)}), Scalar(1));
  return {begin, end, b.emit(OpId::minimum, {all, last}), b.emit(OpId::gt, {all, last})};
}

/// One dimension after the other: the average of averages of equally many, the greatest of the greatest.
template <class Whole, class Each>
V by_dims(Build& b, V x, const Ints& out, Whole&& whole, Each&& each) {
  for (std::size_t k = out.size(); k-- > 0;) {
    const int d = static_cast<int>(k) + 2;
    const Int size = b.sizes(x)[static_cast<std::size_t>(d)];
    if (graph::is_plain(out[k], 1)) {
      x = whole(x, d);
    } else if (!identical(size, out[k])) {
      const Windows w = windows_of(b, x, size, out[k]);
      std::vector<V> indices(static_cast<std::size_t>(d) + 1);
      indices.back() = w.elements;
      x = each(operators::taken(b, x, indices), w, d + 1);  // [..., out, longest, ...]
    }
  }
  return x;
}

V decompose_adaptive_avg(Build& b, DType result) {
  const DType acc = Build::accumulator(result);
  const V x = b.to(b.tensor(0), acc);
  const V made = by_dims(
      b, x, b.ints(1),
      [&](V v, int d) {
        return b.div(b.reduce(OpId::sum, v, {d}, true), Scalar(b.sizes(v)[static_cast<std::size_t>(d)]));
      },
      [&](V v, const Windows& w, int d) {
        const int behind = b.dim(v) - d - 1;
        Ints sizes = b.sizes(w.elements);
        for (int i = 0; i < behind; ++i) sizes.push_back(1);
        const V counted = b.emit(OpId::where, {b.emit(OpId::view, {w.beyond, sizes}), Scalar(0.0), v});
        Ints each{b.sizes(w.begin)[0]};
        for (int i = 0; i < behind; ++i) each.push_back(1);
        return b.div(b.reduce(OpId::sum, counted, {d}, false),
                     b.emit(OpId::view, {b.to(b.sub(w.end, w.begin), acc), each}));
      });
  return b.to(made == b.tensor(0) ? b.unary(OpId::clone, made) : made, result);
}

V decompose_adaptive_max(Build& b, DType) {
  const V made = by_dims(
      b, b.tensor(0), b.ints(1), [&](V v, int d) { return b.reduce(OpId::amax, v, {d}, true); },
      [&](V v, const Windows&, int d) { return b.reduce(OpId::amax, v, {d}, false); });
  return made == b.tensor(0) ? b.unary(OpId::clone, made) : made;
}

V decompose_adaptive_max_indices(Build& b, DType) {
  const V x = b.tensor(0);
  const Ints& out = b.ints(1);
  const std::size_t n = out.size();
  // [n, c, o0, l0, o1, l1, ...], the windows of all dimensions, as rows [n, c, o0, o1, ..., elements of a window].
  V seen = x;
  std::vector<Windows> all;
  for (std::size_t k = 0; k < n; ++k) {
    all.push_back(windows_of(b, x, b.sizes(x)[k + 2], out[k]));
    std::vector<V> indices(3 + 2 * k);
    indices.back() = all[k].elements;
    seen = operators::taken(b, seen, indices);
  }
  Ints order{0, 1}, rows{b.sizes(x)[0], b.sizes(x)[1]};
  Int length = 1;
  for (std::size_t k = 0; k < n; ++k)
    order.push_back(static_cast<std::int64_t>(2 + 2 * k)), rows.push_back(out[k]),
        length = length * b.sizes(all[k].elements)[1];
  for (std::size_t k = 0; k < n; ++k) order.push_back(static_cast<std::int64_t>(3 + 2 * k));
  rows.push_back(length);
  V place = greatest(b, b.reshape(b.emit(OpId::permute, {seen, order}), rows));
  V flat;
  std::vector<V> index(n);
  for (std::size_t k = n; k-- > 0;) {
    const Int longest = b.sizes(all[k].elements)[1];
    const V within = k ? b.emit(OpId::remainder, {place, Scalar(longest)}) : place;
    if (k) place = b.emit(OpId::div, {place, Scalar(longest), std::string("floor")});
    const V last = b.sub(all[k].end, Scalar(1));  // what stands for it beyond the window's end
    index[k] = b.emit(OpId::minimum, {b.add(within, along(b, all[k].begin, static_cast<int>(k) + 2, b.dim(x))),
                                      along(b, last, static_cast<int>(k) + 2, b.dim(x))});
  }
  for (std::size_t k = 0; k < n; ++k) flat = flat ? b.add(b.mul(flat, Scalar(b.sizes(x)[k + 2])), index[k]) : index[k];
  return flat;
}

#define REPRISE_ADAPTIVE(name, shape_rule, saves)                                                                    \
  OpId name##_op() {                                                                                                 \
    static const OpId id = graph::register_op({.schema = #name "_pool(Tensor self, SymInt[] output_size) -> Tensor", \
                                               .cls = graph::OpClass::Composite,                                     \
                                               .shape = shape_rule},                                                 \
                                              {passes::decompositions().fact({decompose_##name}),                    \
                                               operators::derivative(operators::derivatives::name##_pool, saves)});  \
    return id;                                                                                                       \
  }
REPRISE_ADAPTIVE(adaptive_avg, adaptive_avg_shape, autograd::kNothing)
REPRISE_ADAPTIVE(adaptive_max, adaptive_max_shape, autograd::in(0))
#undef REPRISE_ADAPTIVE
OpId adaptive_max_indices_op() {
  static const OpId id =
      graph::register_op({.schema = "adaptive_max_pool_indices(Tensor self, SymInt[] output_size) -> Tensor",
                          .cls = graph::OpClass::Composite,
                          .shape = adaptive_max_indices_shape},
                         {passes::decompositions().fact({decompose_adaptive_max_indices}), operators::constant()});
  return id;
}

// ---- the public functions

struct Of {
  int n;
  const char* name;
  SourceLoc loc;
  Ints list(IntArrayRef given, const char* what) const { return operators::per_dim(given, n, name, what, loc); }
};

template <class Op>
Tensor max_pool(const Of& of, Op op, const Tensor& image, IntArrayRef kernel_size, IntArrayRef stride,
                IntArrayRef padding, IntArrayRef dilation, bool ceil_mode) {
  const Ints kernel = of.list(kernel_size, "kernel_size"), step = stride.empty() ? kernel : of.list(stride, "stride"),
             pad = of.list(padding, "padding"), spread = of.list(dilation, "dilation");
  return named(of.name, [&] {
    return graph::call1(op,
                        {arg(image), arg(IntArrayRef(kernel)), arg(IntArrayRef(step)), arg(IntArrayRef(pad)),
                         arg(IntArrayRef(spread)), arg(ceil_mode)},
                        of.loc);
  });
}

Tensor avg_pool(const Of& of, const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,
                bool ceil_mode, bool count_include_pad, std::optional<Int> divisor) {
  const operators::Batch batch = operators::with_batch(self, of.n, of.name, of.loc);
  const Ints kernel = of.list(kernel_size, "kernel_size"), step = stride.empty() ? kernel : of.list(stride, "stride"),
             pad = of.list(padding, "padding");
  return batch.result(named(of.name,
                            [&] {
                              return graph::call1(
                                  avg_pool_op(),
                                  {arg(batch.image), arg(IntArrayRef(kernel)), arg(IntArrayRef(step)),
                                   arg(IntArrayRef(pad)), arg(ceil_mode), arg(count_include_pad), arg(divisor)},
                                  of.loc);
                            }),
                      of.loc);
}

template <class Op>
Tensor adaptive(const Of& of, Op op, const Tensor& image, IntArrayRef output_size) {
  const Ints out = of.list(output_size, "output_size");
  return named(of.name, [&] { return graph::call1(op, {arg(image), arg(IntArrayRef(out))}, of.loc); });
}

Tensor lp_pool(const Of& of, const Tensor& self, double p, IntArrayRef kernel_size, IntArrayRef stride,
               bool ceil_mode) {
  std::int64_t count = 1;
  for (Int k : of.list(kernel_size, "kernel_size")) count *= k.value(of.loc);
  const Tensor average = avg_pool(of, pow(self, p, of.loc), kernel_size, stride, 0, ceil_mode, true, std::nullopt);
  return pow(mul(average, count, of.loc), 1 / p, of.loc);
}

}  // namespace

#define REPRISE_POOLS(n)                                                                                              \
  Tensor max_pool##n##d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,         \
                        IntArrayRef dilation, bool ceil_mode, SourceLoc loc) {                                        \
    const Of of{n, "max_pool" #n "d", loc};                                                                           \
    const operators::Batch batch = operators::with_batch(self, n, of.name, loc);                                      \
    return batch.result(max_pool(of, max_pool_op(), batch.image, kernel_size, stride, padding, dilation, ceil_mode),  \
                        loc);                                                                                         \
  }                                                                                                                   \
  TensorPair max_pool##n##d_with_indices(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride,             \
                                         IntArrayRef padding, IntArrayRef dilation, bool ceil_mode, SourceLoc loc) {  \
    const Of of{n, "max_pool" #n "d_with_indices", loc};                                                              \
    const operators::Batch batch = operators::with_batch(self, n, of.name, loc);                                      \
    return {batch.result(max_pool(of, max_pool_op(), batch.image, kernel_size, stride, padding, dilation, ceil_mode), \
                         loc),                                                                                        \
            batch.result(                                                                                             \
                max_pool(of, max_pool_indices_op(), batch.image, kernel_size, stride, padding, dilation, ceil_mode),  \
                loc)};                                                                                                \
  }                                                                                                                   \
  Tensor avg_pool##n##d(const Tensor& self, IntArrayRef kernel_size, IntArrayRef stride, IntArrayRef padding,         \
                        bool ceil_mode, bool count_include_pad, std::optional<Int> divisor_override, SourceLoc loc) { \
    return avg_pool({n, "avg_pool" #n "d", loc}, self, kernel_size, stride, padding, ceil_mode, count_include_pad,    \
                    divisor_override);                                                                                \
  }                                                                                                                   \
  Tensor adaptive_avg_pool##n##d(const Tensor& self, IntArrayRef output_size, SourceLoc loc) {                        \
    const Of of{n, "adaptive_avg_pool" #n "d", loc};                                                                  \
    const operators::Batch batch = operators::with_batch(self, n, of.name, loc);                                      \
    return batch.result(adaptive(of, adaptive_avg_op(), batch.image, output_size), loc);                              \
  }                                                                                                                   \
  TensorPair adaptive_max_pool##n##d(const Tensor& self, IntArrayRef output_size, SourceLoc loc) {                    \
    const Of of{n, "adaptive_max_pool" #n "d", loc};                                                                  \
    const operators::Batch batch = operators::with_batch(self, n, of.name, loc);                                      \
    return {batch.result(adaptive(of, adaptive_max_op(), batch.image, output_size), loc),                             \
            batch.result(adaptive(of, adaptive_max_indices_op(), batch.image, output_size), loc)};                    \
  }                                                                                                                   \
  Tensor lp_pool##n##d(const Tensor& self, double norm_type, IntArrayRef kernel_size, IntArrayRef stride,             \
                       bool ceil_mode, SourceLoc loc) {                                                               \
    return lp_pool({n, "lp_pool" #n "d", loc}, self, norm_type, kernel_size, stride, ceil_mode);                      \
  }
REPRISE_POOLS(1)
REPRISE_POOLS(2)
REPRISE_POOLS(3)
#undef REPRISE_POOLS

namespace operators {
void register_pooling() {
  for (OpId (*op)() :
       {max_pool_op, max_pool_indices_op, avg_pool_op, adaptive_avg_op, adaptive_max_op, adaptive_max_indices_op})
    static_cast<void>(op());
}
}  // namespace operators

}  // namespace reprise
