#include <algorithm>

#include "graph/shape_rules.h"
#include "import/onnx/fold.h"

namespace reprise::onnx {
namespace {

using List = std::vector<std::int64_t>;

void shape(Call& c) {
  const Value& v = c.value(0);
  Ints sizes;
  if (v.has_tensor) sizes = v.tensor.sizes();
  else
    for (std::int64_t d : v.numbers ? v.numbers->dims : std::vector<std::int64_t>()) sizes.push_back(d);
  const std::int64_t rank = static_cast<std::int64_t>(sizes.size());
  const auto bound = [&](const char* name, std::int64_t otherwise) {
    const std::int64_t v = c.i(name, otherwise);
    return std::clamp<std::int64_t>(v < 0 ? v + rank : v, 0, rank);
  };
  Numbers n;
  for (std::int64_t d = bound("start", 0), end = bound("end", rank); d < end; ++d)
    n.values.push_back(sizes[static_cast<std::size_t>(d)]);
  n.dims = {static_cast<std::int64_t>(n.values.size())};
  c.give(std::move(n));
}
void size(Call& c) {
  const Value& v = c.value(0);
  if (v.sequence) c.bad("of a sequence");
  c.give(Numbers{.values = {v.has_tensor ? Scalar(v.tensor.numel())
                                         : Scalar(static_cast<std::int64_t>(c.numbers(0)->values.size()))}});
}

void reshape_to(Call& c) {
  const Tensor x = c.x(0);
  std::vector<Int> wanted;
  if (c.version() < 5) {
    for (std::int64_t n : c.list("shape", List())) wanted.push_back(n);
  } else {
    wanted = c.ints(1);
  }
  const Ints from = x.sizes(), sizes = reshaped_sizes(c, wanted, from, c.i("allowzero", 0) != 0);
  // Of one dimension nobody asks which of its sizes, that depend on data, are those of the result.
  const auto of_data = [](const Ints& all) { return std::any_of(all.begin(), all.end(), graph::depends_on_data); };
  c.give(x.dim() > 1 && (of_data(from) || of_data(sizes)) ? x.reshape({x.numel()}).reshape(sizes) : x.reshape(sizes));
}
void flatten_to(Call& c) {
  const Tensor x = c.x(0);
  const int at = flattened_from(c, x.dim());
  Int rows = 1, columns = 1;
  for (int d = 0; d < x.dim(); ++d) (d < at ? rows : columns) *= x.size(d);
  c.give(x.reshape({rows, columns}));
}
void squeeze_of(Call& c) {
  const Tensor x = c.x(0);
  const auto axes = axes_of(c, 1, 13);
  if (!axes) return c.give(squeeze(x));
  Ints sizes;
  std::vector<bool> gone(static_cast<std::size_t>(x.dim()));
  for (std::int64_t a : *axes) {
    const int d = axis_of(c, a, x.dim());
    if (x.size(d) != 1) c.bad("axis ", a, " has size ", x.size(d).hint(), ", not 1");
    gone[static_cast<std::size_t>(d)] = true;
  }
  for (int d = 0; d < x.dim(); ++d)
    if (!gone[static_cast<std::size_t>(d)]) sizes.push_back(x.size(d));
  c.give(x.reshape(sizes));
}
void unsqueeze_of(Call& c) {
  const Tensor x = c.x(0);
  const auto axes = axes_of(c, 1, 13);
  if (!axes) c.bad("names no axes");
  const int rank = x.dim() + static_cast<int>(axes->size());
  if (rank > kMaxRank) c.bad("gives ", rank, " dimensions; at most ", kMaxRank, " are supported");
  std::vector<bool> is_new(static_cast<std::size_t>(rank));
  for (std::int64_t a : *axes) {
    const std::size_t d = static_cast<std::size_t>(axis_of(c, a, rank));
    if (is_new[d]) c.bad("names axis ", a, " twice");
    is_new[d] = true;
  }
  Tensor made = x;
  for (int d = 0; d < rank; ++d)
    if (is_new[static_cast<std::size_t>(d)]) made = made.unsqueeze(d);
  c.give(made);
}
void transpose_of(Call& c) {
  const Tensor x = c.x(0);
  List order;
  for (int d = x.dim() - 1; d >= 0; --d) order.push_back(d);
  c.give(permute(x, c.list("perm", order)));
}
void concat(Call& c) {
  std::vector<Tensor> parts;
  for (int i = 0; i < c.inputs(); ++i) parts.push_back(c.x(i));
  if (parts.empty()) c.bad("has no inputs");
  c.give(parts.size() == 1 ? parts[0] : cat(parts, axis_of(c, c.i("axis", 1), parts[0].dim())));
}
void split_of(Call& c) {
  const Tensor x = c.x(0);
  const int axis = axis_of(c, c.i("axis", 0), x.dim());
  const Int n = x.size(axis), outputs = c.outputs();
  std::vector<Int> sizes;
  if (c.version() >= 13 && c.has(1)) sizes = c.ints(1);
  else if (const auto given = c.version() < 13 ? c.list("split") : std::nullopt)
    for (std::int64_t s : *given) sizes.push_back(s);
  else
    for (Int i = 0, each = Int::ceil_div(n, outputs); i < outputs; ++i)
      sizes.push_back(Int::max(0, Int::min(each, n - i * each)));
  if (static_cast<int>(sizes.size()) != c.outputs())
    c.bad("has ", c.outputs(), " outputs, and ", sizes.size(), " sizes");
  std::vector<Tensor> parts = split_with_sizes(x, sizes, axis);
  for (std::size_t i = 0; i < parts.size(); ++i) c.give(parts[i], static_cast<int>(i));
}

/// From `start` on, towards the front, every -step-th.
Tensor slice_back(const Tensor& x, int axis, Int start, Int end, std::int64_t step) {
  const Int n = x.size(axis);
  // Places of the flipped tensor. A start before the first element is the first one; an end may lie before it.
  const auto place = [&](Int v, Int least) {
    return n - 1 - (is_negative(v) ? Int::max(v + n, least) : Int::min(v, n - 1));
  };
  return x.flip(axis).slice(axis, place(start, 0), place(end, -1), -std::max(step, -INT64_MAX));
}
void slice_of(Call& c) {
  Tensor x = c.x(0);
  std::vector<Int> starts, ends;
  List axes, steps;
  if (c.version() < 10) {
    for (std::int64_t v : c.list("starts", List())) starts.push_back(v);
    for (std::int64_t v : c.list("ends", List())) ends.push_back(v);
    axes = c.list("axes", List());
  } else {
    starts = c.ints(1), ends = c.ints(2);
    if (c.has(3)) axes = c.constants(3);
    if (c.has(4)) steps = c.constants(4);
  }
  if (axes.empty())
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (steps.empty()) steps.assign(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size())
    c.bad("has ", starts.size(), " starts, ", ends.size(), " ends, ", axes.size(), " axes and ", steps.size(),
          " steps");
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const int axis = axis_of(c, axes[i], x.dim());
    if (steps[i] == 0) c.bad("has a step of 0");
    x = steps[i] > 0 ? x.slice(axis, starts[i], ends[i], steps[i]) : slice_back(x, axis, starts[i], ends[i], steps[i]);
  }
  c.give(x);
}

void expand_of(Call& c) {
  const Tensor x = c.x(0);
  std::vector<Int> sizes = c.ints(1);
  const Ints from = x.sizes();
  if (sizes.size() < from.size()) sizes.insert(sizes.begin(), from.size() - sizes.size(), Int(1));
  // Both ways: a 1 of the sizes that are asked for takes the input's.
  for (std::size_t i = 0; i < from.size(); ++i) {
    Int& n = sizes[sizes.size() - from.size() + i];
    if (!n.is_symbolic() && n == 1) n = from[i];
    else if (n.is_symbolic() && !identical(n, from[i]) && !(!from[i].is_symbolic() && from[i] == 1) && bool(n == 1))
      n = from[i];
  }
  c.give(x.expand(sizes));
}
void tile_of(Call& c) {
  const Tensor x = c.x(0);
  if (c.version() >= 6) return c.give(repeat(x, c.ints(1)));
  std::vector<Int> times(static_cast<std::size_t>(x.dim()), Int(1));
  times[static_cast<std::size_t>(axis_of(c, c.scalar(2).to_int().value(), x.dim()))] = c.scalar(1).to_int();
  c.give(repeat(x, times));
}

/// Along one dimension: where each element of the padded one is taken from.
Tensor padded_places(Call& c, const std::string& mode, Int n, Int before, Int after) {
  const Tensor at = arange(Scalar(-before), Scalar(n + after));
  if (mode == "edge") return clamp(at, 0, n - 1);
  if (mode == "wrap") return remainder(at, n);
  if (mode != "reflect") c.bad("the mode is '", mode, "'; wanted constant, reflect, edge or wrap");
  const Int period = Int::max(2 * (n - 1), 1);
  const Tensor once = remainder(at, period);
  return minimum(once, period - once);
}
void pad_of(Call& c) {
  const Tensor x = c.x(0);
  const int rank = x.dim();
  std::vector<Int> pads;
  if (c.version() < 11)
    for (std::int64_t p : c.list(c.version() < 2 ? "paddings" : "pads", List())) pads.push_back(p);
  else pads = c.ints(1);
  List axes;
  if (c.version() >= 18 && c.has(3)) axes = c.constants(3);
  else
    for (int d = 0; d < rank; ++d) axes.push_back(d);
  if (pads.size() != 2 * axes.size()) c.bad("has ", pads.size(), " pads for ", axes.size(), " axes");
  std::vector<Int> before(static_cast<std::size_t>(rank), Int(0)), after = before;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t d = static_cast<std::size_t>(axis_of(c, axes[i], rank));
    before[d] = pads[i], after[d] = pads[i + axes.size()];
  }
  const std::string mode = c.s("mode", "constant");
  if (mode != "constant") {
    Tensor made = x;
    for (int d = 0; d < rank; ++d) {
      const Int b = before[static_cast<std::size_t>(d)], a = after[static_cast<std::size_t>(d)];
      if (!b.is_symbolic() && !a.is_symbolic() && b == 0 && a == 0) continue;
      made = index_select(made, d, padded_places(c, mode, x.size(d), b, a));
    }
    return c.give(made);
  }
  Ints all;
  for (int d = rank - 1; d >= 0; --d)
    all.push_back(before[static_cast<std::size_t>(d)]), all.push_back(after[static_cast<std::size_t>(d)]);
  if (c.version() < 11) return c.give(reprise::pad(x, all, c.f("value", 0)));
  if (!c.has(2)) return c.give(reprise::pad(x, all, x.dtype() == kBool ? Scalar(false) : Scalar(0)));
  if (c.value(2).numbers) {
    Scalar v = c.value(2).numbers->values.empty() ? Scalar(0) : c.scalar(2);
    return c.give(reprise::pad(x, all, v));
  }
  // Of a tensor: the padding is where padded ones are not.
  const Tensor inside = reprise::pad(ones_like(x, {.dtype = kBool}), all, false);
  c.give(where(inside, reprise::pad(x, all, 0), c.x(2).reshape(IntArrayRef()).to(x.dtype())));
}

void constant_of_shape(Call& c) {
  const Attribute* a = c.attribute("value");
  Scalar value = 0.0;
  DType dtype = kFloat32;
  if (a) {
    const std::shared_ptr<const Numbers>& given = c.node().value;
    if (!given || given->values.size() != 1) c.bad("the value is no tensor of one element");
    dtype = given->dtype, value = given->values[0];
  }
  c.give(full(c.ints(0), value, {.dtype = dtype}));
}
void range(Call& c) {
  const Scalar start = c.scalar(0), limit = c.scalar(1), delta = c.scalar(2);
  const DType dtype = c.numbers(0)->dtype;
  if (!delta.is_symbolic() && delta.to_double() == 0) c.bad("has a step of 0");
  // A range that would run the other way is empty.
  if (!start.is_symbolic() && !limit.is_symbolic() && !delta.is_symbolic() &&
      (limit.to_double() - start.to_double()) * delta.to_double() <= 0)
    return c.give(empty({0}, {.dtype = dtype}));
  c.give(arange(start, limit, delta, {.dtype = dtype}));
}
void eye_like(Call& c) {
  const Tensor x = c.x(0);
  if (x.dim() != 2) c.bad("wants a matrix, not ", x.dim(), " dimensions");
  const std::optional<DType> dtype =
      c.attribute("dtype") ? dtype_of_element(static_cast<std::int32_t>(c.i("dtype", 1))) : x.dtype();
  if (!dtype) c.bad("the dtype is not supported");
  const Tensor row = arange(x.size(0)).unsqueeze(1), column = arange(x.size(1)).unsqueeze(0);
  c.give((column - row == c.i("k", 0)).to(*dtype));
}
void trilu(Call& c) {
  const Int k = c.has(1) ? c.scalar(1).to_int() : Int(0);
  c.give(c.i("upper", 1) != 0 ? triu(c.x(0), k) : tril(c.x(0), k));
}
void center_crop_pad(Call& c) {
  Tensor x = c.x(0);
  const std::vector<Int> wanted = c.ints(1);
  List axes = c.list("axes", List());
  if (axes.empty())
    for (std::size_t i = 0; i < wanted.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (axes.size() != wanted.size()) c.bad("has ", wanted.size(), " sizes for ", axes.size(), " axes");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int d = axis_of(c, axes[i], x.dim());
    const Int n = x.size(d), to = wanted[i];
    if (n > to) {
      x = x.narrow(d, (n - to) / 2, to);
    } else {
      Ints pads;
      for (int e = x.dim() - 1; e >= d; --e)
        pads.push_back(e == d ? (to - n) / 2 : Int(0)), pads.push_back(e == d ? to - n - (to - n) / 2 : Int(0));
      x = reprise::pad(x, pads, 0);
    }
  }
  c.give(x);
}

constexpr Row kShapeRows[] = {
    {"CenterCropPad", 18, 0, center_crop_pad, 2},
    {"Concat", 4, 0, concat, 0, fold::concat},
    {"ConstantOfShape", 9, 0, constant_of_shape, 1, fold::constant_of_shape},
    {"Expand", 8, 0, expand_of, 2, fold::expand},
    {"EyeLike", 9, 0, eye_like},
    {"Flatten", 1, 0, flatten_to, 0, fold::reshaped, true},
    {"Pad", 2, 0, pad_of, 2 | 8},
    {"Range", 11, 0, range, 7, fold::range},
    {"Reshape", 1, 0, reshape_to, 2, fold::reshaped, true},
    {"Shape", 1, 0, shape, 0, nullptr, true},
    {"Size", 1, 0, size, 0, nullptr, true},
    {"Slice", 1, 0, slice_of, 2 | 4 | 8 | 16, fold::slice},
    {"Split", 2, 0, split_of, 2, fold::split},
    {"Squeeze", 1, 0, squeeze_of, 2, fold::reshaped, true},
    {"Tile", 6, 0, tile_of, 2, fold::tile},
    {"Transpose", 1, 0, transpose_of, 0, fold::transpose, true},
    {"Trilu", 14, 0, trilu, 2},
    {"Unsqueeze", 1, 0, unsqueeze_of, 2, fold::reshaped, true},
};

}  // namespace

std::span<const Row> shape_rows() { return kShapeRows; }

}  // namespace reprise::onnx
