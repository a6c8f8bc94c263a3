#include <limits>

#include "import/onnx/fold.h"
#include "reprise/scans.h"

namespace reprise::onnx {
namespace {

using Axes = std::vector<std::int64_t>;

/// What is reduced, and over what. Nothing where axes are empty and that is to mean none.
struct Reduction {
  Tensor x;
  std::optional<Axes> axes;  ///< none: all
  bool keep = true;
  bool nothing = false;
  OptionalDims dims() const { return axes && !axes->empty() ? OptionalDims(*axes) : OptionalDims(); }
  /// How many elements go into one.
  Int count() const {
    Int n = 1;
    if (!axes || axes->empty()) return x.numel();
    for (std::int64_t a : *axes) n *= x.size(static_cast<int>(a));
    return n;
  }
  Ints sizes() const {
    Ints s = x.sizes();
    std::vector<bool> gone(s.size(), !axes || axes->empty());
    if (axes)
      for (std::int64_t a : *axes) gone[static_cast<std::size_t>(a < 0 ? a + x.dim() : a)] = true;
    Ints made;
    for (std::size_t d = 0; d < s.size(); ++d) {
      if (!gone[d]) made.push_back(s[d]);
      else if (keep) made.push_back(1);
    }
    return made;
  }
};
Reduction reduction(Call& c, int input_since = 18) {
  Reduction r{.x = c.x(0), .axes = axes_of(c, 1, input_since)};
  if (r.axes)
    for (std::int64_t a : *r.axes) axis_of(c, a, r.x.dim());
  r.keep = c.i("keepdims", 1) != 0;
  r.nothing = (!r.axes || r.axes->empty()) && c.i("noop_with_empty_axes", 0) != 0;
  return r;
}

Tensor sum_as(const Reduction& r, const Tensor& x) { return sum(x, r.dims(), r.keep).to(x.dtype()); }

/// `before` and `after` each element apply even where nothing is reduced: ReduceL1 over no axes is Abs.
template <class Before, class After>
void sum_of(Call& c, Before&& before, After&& after, int input_since = 18) {
  const Reduction r = reduction(c, input_since);
  const Tensor x = before(r.x);
  c.give(after(r.nothing ? x : sum_as(r, x)).to(r.x.dtype()));
}
Tensor as_is(const Tensor& x) { return x; }
void reduce_sum(Call& c) { sum_of(c, as_is, as_is, 13); }
void reduce_l1(Call& c) {
  sum_of(
      c, [](const Tensor& x) { return abs(x); }, as_is);
}
void reduce_l2(Call& c) {
  sum_of(
      c, [](const Tensor& x) { return square(x); }, [](const Tensor& x) { return sqrt(x); });
}
void reduce_log_sum(Call& c) {
  sum_of(c, as_is, [](const Tensor& x) { return log(x); });
}
void reduce_sum_square(Call& c) {
  sum_of(
      c, [](const Tensor& x) { return square(x); }, as_is);
}
void reduce_mean(Call& c) {
  const Reduction r = reduction(c);
  if (r.nothing) return c.give(r.x);
  c.give(is_floating(r.x.dtype()) ? mean(r.x, r.dims(), r.keep)
                                  : div(sum(r.x, r.dims(), r.keep), r.count(), "trunc").to(r.x.dtype()));
}
void reduce_prod(Call& c) {
  const Reduction r = reduction(c);
  c.give(r.nothing ? r.x : prod(r.x, r.dims(), r.keep).to(r.x.dtype()));
}
/// The extreme of nothing is the one that any element replaces.
Scalar least_or_most(DType t, bool most) {
  if (is_floating(t)) return most ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  const auto of = [&](auto type) {
    return Scalar(static_cast<std::int64_t>(most ? std::numeric_limits<decltype(type)>::max()
                                                 : std::numeric_limits<decltype(type)>::min()));
  };
  switch (t) {
    case DType::Int8: return of(std::int8_t());
    case DType::UInt8: return of(std::uint8_t());
    case DType::Int32: return of(std::int32_t());
    default: return of(std::int64_t());
  }
}
void extreme(Call& c, bool largest) {
  const Reduction r = reduction(c);
  if (r.nothing) return c.give(r.x);
  if (r.x.dtype() == kBool) return c.give(largest ? any(r.x, r.dims(), r.keep) : all(r.x, r.dims(), r.keep));
  if (bool(r.count() == 0)) return c.give(full(r.sizes(), least_or_most(r.x.dtype(), !largest), r.x.options()));
  c.give(largest ? amax(r.x, r.dims(), r.keep) : amin(r.x, r.dims(), r.keep));
}
void reduce_log_sum_exp(Call& c) {
  const Reduction r = reduction(c);
  if (r.nothing) return c.give(r.x);
  if (bool(r.count() == 0)) return c.give(full(r.sizes(), -std::numeric_limits<double>::infinity(), r.x.options()));
  Axes all;
  for (int d = 0; d < r.x.dim(); ++d) all.push_back(d);
  const Tensor x = is_floating(r.x.dtype()) ? r.x : r.x.to(kFloat64);
  c.give(x.dim() == 0 ? r.x
                      : logsumexp(x, OptionalDims(r.axes && !r.axes->empty() ? *r.axes : all), r.keep).to(r.x.dtype()));
}

void arg_extreme(Call& c, bool largest) {
  const Tensor x = c.x(0);
  const int axis = axis_of(c, c.i("axis", 0), x.dim());
  const bool keep = c.i("keepdims", 1) != 0;
  const auto first = [&](const Tensor& of) { return largest ? argmax(of, axis, keep) : argmin(of, axis, keep); };
  if (c.i("select_last_index", 0) == 0) return c.give(first(x));
  c.give(x.size(axis) - 1 - first(x.flip(axis)));
}

void cumulative(Call& c, bool adds) {
  const Tensor x = c.x(0);
  const int axis = axis_of(c, c.scalar(1).to_int().value(), x.dim());
  const bool reverse = c.i("reverse", 0) != 0;
  Tensor from = reverse ? x.flip(axis) : x;
  const bool exclusive = c.i("exclusive", 0) != 0;
  if (exclusive) {  // the neutral element in front: subtracting the element itself would give NaN of an infinity
    Ints pads;
    for (int d = x.dim() - 1; d > axis; --d) pads.push_back(0), pads.push_back(0);
    pads.push_back(1), pads.push_back(0);
    from = reprise::pad(from, pads, adds ? 0 : 1);
  }
  Tensor made = (adds ? cumsum(from, axis) : cumprod(from, axis)).to(x.dtype());
  if (exclusive) made = made.narrow(axis, 0, x.size(axis));
  c.give(reverse ? made.flip(axis) : made);
}

void top_k(Call& c) {
  const Tensor x = c.x(0);
  const int axis = axis_of(c, c.i("axis", -1), x.dim());
  const Int k = c.version() < 10 ? Int(c.i("k", 0)) : c.scalar(1).to_int();
  const auto [values, indices] = topk(x, k, axis, c.version() < 11 || c.i("largest", 1) != 0, true);
  c.give(values, 0);
  c.give(indices, 1);
}

/// Before version 13 what is from `axis` on is one dimension.
template <class F>
void along(Call& c, F&& f) {
  const Tensor x = c.x(0);
  if (c.version() >= 13) return c.give(f(x, axis_of(c, c.i("axis", -1), x.dim())));
  const int axis = flattened_from(c, x.dim());
  Int rows = 1, columns = 1;
  for (int d = 0; d < x.dim(); ++d) (d < axis ? rows : columns) *= x.size(d);
  c.give(f(x.reshape({rows, columns}), 1).view(x.sizes()));
}
Tensor hardmax(const Tensor& x, int axis) {
  Ints places;
  for (int d = 0; d < x.dim(); ++d) places.push_back(d == axis ? x.size(d) : Int(1));
  return (arange(x.size(axis)).view(places) == argmax(x, axis, true)).to(x.dtype());
}

constexpr Row kReduceRows[] = {
    {"ArgMax", 1, 0, [](Call& c) { arg_extreme(c, true); }},
    {"ArgMin", 1, 0, [](Call& c) { arg_extreme(c, false); }},
    {"CumProd", 26, 0, [](Call& c) { cumulative(c, false); }, 2},
    {"CumSum", 11, 0, [](Call& c) { cumulative(c, true); }, 2},
    {"Hardmax", 1, 0, [](Call& c) { along(c, hardmax); }},
    {"LogSoftmax", 1, 0, [](Call& c) { along(c, [](const Tensor& x, int axis) { return log_softmax(x, axis); }); }},
    {"ReduceL1", 1, 0, reduce_l1, 2},
    {"ReduceL2", 1, 0, reduce_l2, 2},
    {"ReduceLogSum", 1, 0, reduce_log_sum, 2},
    {"ReduceLogSumExp", 1, 0, reduce_log_sum_exp, 2},
    {"ReduceMax", 1, 0, [](Call& c) { extreme(c, true); }, 2, fold::reduce_max},
    {"ReduceMean", 1, 0, reduce_mean, 2},
    {"ReduceMin", 1, 0, [](Call& c) { extreme(c, false); }, 2, fold::reduce_min},
    {"ReduceProd", 1, 0, reduce_prod, 2, fold::reduce_prod},
    {"ReduceSum", 1, 0, reduce_sum, 2, fold::reduce_sum},
    {"ReduceSumSquare", 1, 0, reduce_sum_square, 2},
    {"Softmax", 1, 0, [](Call& c) { along(c, [](const Tensor& x, int axis) { return softmax(x, axis); }); }},
    {"TopK", 1, 0, top_k, 2},
};

}  // namespace

std::span<const Row> reduce_rows() { return kReduceRows; }

}  // namespace reprise::onnx
