#include "import/onnx/fold.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graph/shape_rules.h"

namespace reprise::onnx {

bool is_negative(Int n) { return !is_size(n) && bool(n < 0); }
bool is_size(Int n) { return n.is_symbolic() && (n >= 0).known_true() && !(n == 0).known_true(); }

Ints reshaped_sizes(const Call& c, const std::vector<Int>& wanted, const Ints& from, bool allow_zero) {
  Ints sizes;
  int rest = -1;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    Int n = wanted[i];
    // A size that was computed is no -1. One that comes out as 0 copies, too, unless it is the size that it would copy.
    // Where it depends on data nobody can ask: it is meant as it is.
    const bool computed = is_size(n),
               as_it_is = computed && ((i < from.size() && identical(n, from[i])) || graph::depends_on_data(n));
    if (!computed && bool(n < 0)) {
      if (n.hint() < -1) c.bad("size ", i, " is ", n.hint());
      if (rest >= 0) c.bad("more than one size is -1");
      rest = static_cast<int>(i);
      sizes.push_back(-1);
      continue;
    }
    if (!allow_zero && !as_it_is && bool(n == 0)) {
      if (i >= from.size()) c.bad("size ", i, " is 0, and the input has ", from.size(), " dimensions to copy it from");
      n = from[i];
    }
    sizes.push_back(n);
  }
  return sizes;
}

namespace fold {
namespace {

using List = std::vector<Scalar>;
std::int64_t count(const std::vector<std::int64_t>& dims) {
  std::int64_t n = 1;
  for (std::int64_t d : dims)
    if (__builtin_mul_overflow(n, d, &n)) return INT64_MAX;
  return n;
}
bool small(const std::vector<std::int64_t>& dims) {
  for (std::int64_t d : dims)
    if (d < 0) return false;
  return dims.size() <= kMaxRank && count(dims) <= static_cast<std::int64_t>(Numbers::kMost);
}

/// Sizes that they have together; false where they do not fit.
bool broadcast(std::vector<std::int64_t>& to, const std::vector<std::int64_t>& other) {
  if (to.size() < other.size()) to.insert(to.begin(), other.size() - to.size(), 1);
  for (std::size_t i = 0; i < other.size(); ++i) {
    std::int64_t& d = to[to.size() - other.size() + i];
    if (d != other[i] && d != 1 && other[i] != 1) return false;
    if (d == 1) d = other[i];
  }
  return true;
}
/// The element of `n` that broadcasts to the place `at` of `dims`.
const Scalar& element(const Numbers& n, const std::vector<std::int64_t>& dims, std::int64_t at) {
  std::int64_t place = 0, step = 1;
  for (std::size_t i = dims.size(), j = n.dims.size(); j > 0; --i, --j) {
    const std::int64_t index = at % dims[i - 1];
    at /= dims[i - 1];
    if (n.dims[j - 1] != 1) place += index * step;
    step *= n.dims[j - 1];
  }
  return n.values[static_cast<std::size_t>(place)];
}

/// Sizes, bounds and the like decide how many numbers there are: where one is symbolic, it is a tensor's affair, and
/// not pinned for this.
bool plain(Call& c, int first) {
  for (int i = first; i < c.inputs(); ++i)
    if (c.has(i))
      for (const Scalar& s : c.value(i).numbers->values)
        if (s.is_symbolic()) return false;
  return true;
}

template <class F>
bool unary(Call& c, F&& f) {
  const auto a = c.numbers(0);
  Numbers made{.dtype = a->dtype, .dims = a->dims};
  for (const Scalar& s : a->values) made.values.push_back(converted(f(s), made.dtype));
  c.give(std::move(made));
  return true;
}
template <class F>
bool pairwise(Call& c, F&& f, bool compares = false) {
  Numbers made = *c.numbers(0);
  for (int i = 1; i < c.inputs(); ++i) {
    const auto b = c.numbers(i);
    Numbers next{.dtype = compares ? kBool : made.dtype, .dims = made.dims};
    if (!broadcast(next.dims, b->dims) || !small(next.dims)) return false;
    for (std::int64_t at = 0, n = count(next.dims); at < n; ++at)
      next.values.push_back(converted(f(element(made, next.dims, at), element(*b, next.dims, at)), next.dtype));
    made = std::move(next);
  }
  c.give(std::move(made));
  return true;
}
bool floats(const Scalar& a, const Scalar& b) { return a.is_float() || b.is_float(); }

}  // namespace

bool add(Call& c) {
  return pairwise(c, [](const Scalar& a, const Scalar& b) { return a + b; });
}
bool sub(Call& c) {
  return pairwise(c, [](const Scalar& a, const Scalar& b) { return a - b; });
}
bool mul(Call& c) {
  return pairwise(c, [](const Scalar& a, const Scalar& b) { return a * b; });
}
bool div(Call& c) {
  return pairwise(
      c, [](const Scalar& a, const Scalar& b) { return floats(a, b) ? a / b : Scalar(a.to_int() / b.to_int()); });
}
bool mod(Call& c) {
  if (c.i("fmod", 0) != 0 || is_floating(c.numbers(0)->dtype)) return false;
  return pairwise(c, [](const Scalar& a, const Scalar& b) {
    const Int x = a.to_int(), y = b.to_int(), r = x % y;  // of the divisor's sign
    if (!x.is_symbolic() && !y.is_symbolic()) return Scalar(bool(r != 0) && bool(r < 0) != bool(y < 0) ? r + y : r);
    return Scalar(is_negative(x) || is_negative(y) ? Int(((r.value() % y.value()) + y.value()) % y.value()) : r);
  });
}
bool max(Call& c) {
  return pairwise(c, [](const Scalar& a, const Scalar& b) {
    return floats(a, b) ? Scalar(std::max(a.to_double(), b.to_double())) : Scalar(Int::max(a.to_int(), b.to_int()));
  });
}
bool min(Call& c) {
  return pairwise(c, [](const Scalar& a, const Scalar& b) {
    return floats(a, b) ? Scalar(std::min(a.to_double(), b.to_double())) : Scalar(Int::min(a.to_int(), b.to_int()));
  });
}
bool equal(Call& c) {
  return pairwise(
      c, [](const Scalar& a, const Scalar& b) { return Scalar(bool(a == b)); }, true);
}
bool less(Call& c) {
  return pairwise(
      c, [](const Scalar& a, const Scalar& b) { return Scalar(bool(a < b)); }, true);
}
bool less_or_equal(Call& c) {
  return pairwise(
      c, [](const Scalar& a, const Scalar& b) { return Scalar(bool(a <= b)); }, true);
}
bool greater(Call& c) {
  return pairwise(
      c, [](const Scalar& a, const Scalar& b) { return Scalar(bool(a > b)); }, true);
}
bool greater_or_equal(Call& c) {
  return pairwise(
      c, [](const Scalar& a, const Scalar& b) { return Scalar(bool(a >= b)); }, true);
}
bool logical_and(Call& c) {
  return pairwise(
      c, [](const Scalar& a, const Scalar& b) { return Scalar(bool(a.to_int() != 0) && bool(b.to_int() != 0)); }, true);
}
bool logical_or(Call& c) {
  return pairwise(
      c, [](const Scalar& a, const Scalar& b) { return Scalar(bool(a.to_int() != 0) || bool(b.to_int() != 0)); }, true);
}
bool logical_not(Call& c) {
  return unary(c, [](const Scalar& a) { return Scalar(bool(a.to_int() == 0)); });
}
bool neg(Call& c) {
  return unary(c, [](const Scalar& a) { return -a; });
}
bool abs(Call& c) {
  return unary(c, [](const Scalar& a) { return bool(a < 0) ? -a : a; });
}
bool relu(Call& c) {
  return unary(c, [](const Scalar& a) {
    return a.is_float() ? Scalar(std::max(a.to_double(), 0.0)) : Scalar(Int::max(a.to_int(), 0));
  });
}
bool floor(Call& c) {
  return unary(c, [](const Scalar& a) { return a.is_float() ? Scalar(std::floor(a.to_double())) : a; });
}
bool ceil(Call& c) {
  return unary(c, [](const Scalar& a) { return a.is_float() ? Scalar(std::ceil(a.to_double())) : a; });
}
bool sqrt(Call& c) {
  if (!is_floating(c.numbers(0)->dtype)) return false;
  return unary(c, [](const Scalar& a) {
    return a.is_symbolic() ? Scalar(reprise::sqrt(a.to_float())) : Scalar(std::sqrt(a.to_double()));
  });
}
bool cast(Call& c) {
  const std::int32_t element = static_cast<std::int32_t>(c.i("to", 1));
  if (is_held_wider(element)) return false;
  const std::optional<DType> to = dtype_of_element(element);
  if (!to || is_low_precision(*to)) return false;
  const auto a = c.numbers(0);
  Numbers made{.dtype = *to, .dims = a->dims};
  for (const Scalar& s : a->values) made.values.push_back(converted(s, *to));
  c.give(std::move(made));
  return true;
}
bool where(Call& c) {
  const auto p = c.numbers(0), a = c.numbers(1), b = c.numbers(2);
  Numbers made{.dtype = a->dtype, .dims = p->dims};
  if (!broadcast(made.dims, a->dims) || !broadcast(made.dims, b->dims) || !small(made.dims)) return false;
  for (std::int64_t at = 0, n = count(made.dims); at < n; ++at)
    made.values.push_back(bool(element(*p, made.dims, at).to_int() != 0) ? element(*a, made.dims, at)
                                                                         : element(*b, made.dims, at));
  c.give(std::move(made));
  return true;
}
bool identity(Call& c) {
  c.give(c.value(0));
  return true;
}

// ---- shapes: elements move, of any rank

namespace {
using Dims = std::vector<std::int64_t>;

/// Row-major steps of `dims`.
Dims steps_of(const Dims& dims) {
  Dims steps(dims.size(), 1);
  for (std::size_t d = dims.size(); d-- > 1;) steps[d - 1] = steps[d] * dims[d];
  return steps;
}
/// The elements of `a` at `first` + the sum of index * step, row by row. False where there are too many.
bool strided(Call& c, const Numbers& a, const Dims& dims, std::int64_t first, const Dims& steps, int output = 0) {
  if (!small(dims)) return false;
  Numbers made{.dtype = a.dtype, .dims = dims};
  for (std::int64_t i = 0, n = count(dims); i < n; ++i) {
    std::int64_t rest = i, at = first;
    for (std::size_t d = dims.size(); d-- > 0; rest /= dims[d]) at += rest % dims[d] * steps[d];
    made.values.push_back(a.values[static_cast<std::size_t>(at)]);
  }
  c.give(std::move(made), output);
  return true;
}
std::int64_t from_front(std::int64_t i, std::int64_t n, const char* op) {
  if (i < -n || i >= n) fail(ErrorCode::IndexOutOfRange, op, {}, "index ", i, " of ", n, " elements");
  return i < 0 ? i + n : i;
}
}  // namespace

bool gather(Call& c) {
  const auto a = c.numbers(0), index = c.numbers(1);
  if (a->dims.empty() || !plain(c, 1)) return false;
  const std::size_t axis = static_cast<std::size_t>(axis_of(c, c.i("axis", 0), static_cast<int>(a->dims.size())));
  const std::int64_t n = a->dims[axis], row = steps_of(a->dims)[axis];
  Numbers made{.dtype = a->dtype, .dims = Dims(a->dims.begin(), a->dims.begin() + static_cast<std::ptrdiff_t>(axis))};
  const std::int64_t before = count(made.dims);
  made.dims.insert(made.dims.end(), index->dims.begin(), index->dims.end());
  made.dims.insert(made.dims.end(), a->dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, a->dims.end());
  if (!small(made.dims)) return false;
  for (std::int64_t b = 0; b < before; ++b)
    for (const Scalar& s : index->values) {
      const auto from = a->values.begin() + (b * n + from_front(s.to_int().value(), n, "Gather")) * row;
      made.values.insert(made.values.end(), from, from + row);
    }
  c.give(std::move(made));
  return true;
}
bool concat(Call& c) {
  if (c.inputs() == 0) return false;
  const Dims first = c.numbers(0)->dims;
  if (first.empty()) return false;
  const std::size_t axis = static_cast<std::size_t>(axis_of(c, c.i("axis", 1), static_cast<int>(first.size())));
  Numbers made{.dtype = c.numbers(0)->dtype, .dims = first};
  made.dims[axis] = 0;
  for (int i = 0; i < c.inputs(); ++i) {
    Dims dims = c.numbers(i)->dims;
    if (dims.size() != first.size()) return false;
    made.dims[axis] += std::exchange(dims[axis], first[axis]);
    if (dims != first) return false;
  }
  if (!small(made.dims)) return false;
  std::int64_t before = 1;
  for (std::size_t d = 0; d < axis; ++d) before *= first[d];
  for (std::int64_t b = 0; b < before; ++b)
    for (int i = 0; i < c.inputs(); ++i) {
      const auto part = c.numbers(i);
      const std::int64_t each = static_cast<std::int64_t>(part->values.size()) / before;
      made.values.insert(made.values.end(), part->values.begin() + b * each, part->values.begin() + (b + 1) * each);
    }
  c.give(std::move(made));
  return true;
}
bool reshaped(Call& c) {
  if (!plain(c, 1)) return false;
  const auto a = c.numbers(0);
  Numbers made = *a;
  const std::string_view op = c.op();
  const int rank = static_cast<int>(a->dims.size());
  if (op == "Reshape") {
    made.dims = c.version() < 5 ? c.list("shape", Dims()) : c.constants(1);
    std::int64_t known = 1, rest = -1;
    for (std::size_t i = 0; i < made.dims.size(); ++i) {
      if (made.dims[i] == 0 && c.i("allowzero", 0) == 0 && i < a->dims.size()) made.dims[i] = a->dims[i];
      if (made.dims[i] < 0) rest = static_cast<std::int64_t>(i);
      else if (__builtin_mul_overflow(known, made.dims[i], &known)) return false;
    }
    if (rest >= 0) {
      if (known == 0) return false;
      made.dims[static_cast<std::size_t>(rest)] = static_cast<std::int64_t>(a->values.size()) / known;
    }
    if (!small(made.dims) || count(made.dims) != static_cast<std::int64_t>(a->values.size())) return false;
  } else if (op == "Unsqueeze") {
    const auto axes = axes_of(c, 1, 13);
    if (!axes) return false;
    const int to = rank + static_cast<int>(axes->size());
    if (to > kMaxRank) return false;
    std::vector<bool> is_new(static_cast<std::size_t>(to));
    for (std::int64_t axis : *axes) is_new[static_cast<std::size_t>(axis_of(c, axis, to))] = true;
    if (std::count(is_new.begin(), is_new.end(), true) != static_cast<std::ptrdiff_t>(axes->size())) return false;
    made.dims.clear();
    std::size_t from = 0;
    for (bool n : is_new) made.dims.push_back(n ? 1 : a->dims[from++]);
  } else if (op == "Squeeze") {
    const auto axes = axes_of(c, 1, 13);
    std::vector<bool> drop(static_cast<std::size_t>(rank));
    if (axes)
      for (std::int64_t axis : *axes) drop[static_cast<std::size_t>(axis_of(c, axis, rank))] = true;
    made.dims.clear();
    for (int d = 0; d < rank; ++d) {
      const std::size_t i = static_cast<std::size_t>(d);
      if (axes ? !drop[i] : a->dims[i] != 1) made.dims.push_back(a->dims[i]);
      else if (a->dims[i] != 1) return false;
    }
  } else if (op == "Flatten") {
    const std::ptrdiff_t at = flattened_from(c, rank);
    made.dims = {count(Dims(a->dims.begin(), a->dims.begin() + at)), count(Dims(a->dims.begin() + at, a->dims.end()))};
  } else {
    return false;
  }
  c.give(std::move(made));
  return true;
}
bool slice(Call& c) {
  const auto a = c.numbers(0);
  if (!plain(c, 1)) return false;
  const bool by_inputs = c.version() >= 10;
  const Dims starts = by_inputs ? c.constants(1) : c.list("starts", Dims()),
             ends = by_inputs ? c.constants(2) : c.list("ends", Dims());
  Dims axes = !by_inputs ? c.list("axes", Dims())
              : c.has(3) ? c.constants(3)
                         : Dims(),
       strides = by_inputs && c.has(4) ? c.constants(4) : Dims(starts.size(), 1);
  if (axes.empty())
    for (std::size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (ends.size() != starts.size() || axes.size() != starts.size() || strides.size() != starts.size()) return false;
  Dims dims = a->dims, steps = steps_of(dims);
  std::vector<bool> cut(dims.size());
  std::int64_t first = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t d = static_cast<std::size_t>(axis_of(c, axes[i], static_cast<int>(dims.size())));
    const std::int64_t n = a->dims[d], high = strides[i] > 0 ? n : n - 1;
    if (strides[i] == 0 || cut[d]) return false;
    cut[d] = true;
    // Backwards a start before the first element is the first one; an end may lie before it.
    const auto bound = [&](std::int64_t v, std::int64_t least) {
      return std::clamp<std::int64_t>(v < 0 ? (v < -n ? -1 : v + n) : v, least, std::max(least, high));
    };
    const std::int64_t from = bound(starts[i], 0), to = bound(ends[i], strides[i] > 0 ? 0 : -1),
                       step = std::clamp<std::int64_t>(strides[i], -n - 1, n + 1);
    dims[d] = n == 0     ? 0
              : step > 0 ? std::max<std::int64_t>((to - from + step - 1) / step, 0)
                         : std::max<std::int64_t>((from - to - step - 1) / -step, 0);
    first += from * steps[d];
    steps[d] *= step;
  }
  return strided(c, *a, dims, first, steps);
}
bool split(Call& c) {
  const auto a = c.numbers(0);
  if (a->dims.empty() || !plain(c, 1)) return false;
  const std::size_t axis = static_cast<std::size_t>(axis_of(c, c.i("axis", 0), static_cast<int>(a->dims.size())));
  Dims parts = c.version() >= 13 ? (c.has(1) ? c.constants(1) : Dims()) : c.list("split", Dims());
  const std::int64_t n = a->dims[axis], outputs = c.outputs();
  if (parts.empty())
    for (std::int64_t i = 0, each = (n + outputs - 1) / outputs; i < outputs; ++i)
      parts.push_back(std::clamp<std::int64_t>(n - i * each, 0, each));
  std::int64_t at = 0;
  for (std::int64_t p : parts) at = p < 0 || p > n - at ? n + 1 : at + p;
  if (at != n || static_cast<std::int64_t>(parts.size()) != outputs) return false;
  const Dims steps = steps_of(a->dims);
  at = 0;
  for (std::size_t i = 0; i < parts.size(); at += parts[i++]) {
    Dims dims = a->dims;
    dims[axis] = parts[i];
    if (!strided(c, *a, dims, at * steps[axis], steps, static_cast<int>(i))) return false;
  }
  return true;
}
bool transpose(Call& c) {
  const auto a = c.numbers(0);
  const std::size_t rank = a->dims.size();
  Dims order = c.list("perm", Dims());
  if (order.empty())
    for (std::size_t d = rank; d-- > 0;) order.push_back(static_cast<std::int64_t>(d));
  if (order.size() != rank) return false;
  const Dims from = steps_of(a->dims);
  Dims dims, steps;
  std::vector<bool> seen(rank);
  for (std::int64_t d : order) {
    const std::size_t i = static_cast<std::size_t>(axis_of(c, d, static_cast<int>(rank)));
    if (seen[i]) return false;
    seen[i] = true;
    dims.push_back(a->dims[i]), steps.push_back(from[i]);
  }
  return strided(c, *a, dims, 0, steps);
}
bool expand(Call& c) {
  if (!plain(c, 1)) return false;
  const auto a = c.numbers(0);
  Numbers made{.dtype = a->dtype, .dims = c.constants(1)};
  if (!small(made.dims) || !broadcast(made.dims, a->dims) || !small(made.dims)) return false;
  for (std::int64_t at = 0, n = count(made.dims); at < n; ++at) made.values.push_back(element(*a, made.dims, at));
  c.give(std::move(made));
  return true;
}
bool tile(Call& c) {
  if (c.version() < 6 || !plain(c, 1)) return false;
  const auto a = c.numbers(0);
  const Dims repeats = c.constants(1);
  if (repeats.size() != a->dims.size()) return false;
  Numbers made{.dtype = a->dtype, .dims = a->dims};
  for (std::size_t d = 0; d < repeats.size(); ++d)
    if (repeats[d] < 0 || __builtin_mul_overflow(made.dims[d], repeats[d], &made.dims[d])) return false;
  if (!small(made.dims)) return false;
  const Dims steps = steps_of(a->dims);
  for (std::int64_t i = 0, n = count(made.dims); i < n; ++i) {
    std::int64_t rest = i, at = 0;
    for (std::size_t d = made.dims.size(); d-- > 0; rest /= made.dims[d])
      at += rest % made.dims[d] % a->dims[d] * steps[d];
    made.values.push_back(a->values[static_cast<std::size_t>(at)]);
  }
  c.give(std::move(made));
  return true;
}
/// Elements, or rows of them, of `data` replaced at places.
bool scatter_nd(Call& c) {
  Numbers made = *c.numbers(0);
  const auto at = c.numbers(1), updates = c.numbers(2);
  for (const Scalar& s : at->values)
    if (s.is_symbolic()) return false;
  if (at->dims.empty() || c.s("reduction", "none") != "none" || updates->dtype != made.dtype) return false;
  const std::size_t depth = static_cast<std::size_t>(at->dims.back());
  if (depth < 1 || depth > made.dims.size()) return false;
  Dims wanted(at->dims.begin(), at->dims.end() - 1);
  const std::int64_t places = count(wanted);
  wanted.insert(wanted.end(), made.dims.begin() + static_cast<std::ptrdiff_t>(depth), made.dims.end());
  if (updates->dims != wanted) return false;
  const Dims steps = steps_of(made.dims);
  const std::int64_t row = steps[depth - 1];
  for (std::int64_t p = 0; p < places; ++p) {
    std::int64_t to = 0;
    for (std::size_t d = 0; d < depth; ++d)
      to +=
          from_front(at->values[static_cast<std::size_t>(p) * depth + d].to_int().value(), made.dims[d], "ScatterND") *
          steps[d];
    std::copy_n(updates->values.begin() + p * row, row, made.values.begin() + to);
  }
  c.give(std::move(made));
  return true;
}
bool range(Call& c) {
  const Scalar start = c.scalar(0), limit = c.scalar(1), delta = c.scalar(2);
  if (start.is_float() || start.is_symbolic() || limit.is_symbolic() || delta.is_symbolic()) return false;
  const std::int64_t from = start.to_int().value(), to = limit.to_int().value(), step = delta.to_int().value();
  std::int64_t distance = 0;
  if (step == 0 || __builtin_sub_overflow(to, from, &distance)) return false;
  const std::int64_t n =
      (step > 0) == (distance > 0) && distance != 0 ? (std::abs(distance) - 1) / std::abs(step) + 1 : 0;
  Numbers made{.dtype = c.numbers(0)->dtype, .dims = {n}};
  if (!small(made.dims)) return false;
  for (std::int64_t i = 0; i < n; ++i) made.values.push_back(from + i * step);
  c.give(std::move(made));
  return true;
}
bool constant_of_shape(Call& c) {
  const Attribute* a = c.attribute("value");
  std::vector<Int> sizes = c.ints(0);
  Numbers made{.dtype = kFloat32};
  for (Int n : sizes) {
    if (n.is_symbolic()) return false;
    made.dims.push_back(n.hint());
  }
  Scalar value = 0.0;
  if (a) {
    const std::shared_ptr<const Numbers>& given = c.node().value;
    if (!given || given->values.size() != 1 || is_low_precision(given->dtype)) return false;
    made.dtype = given->dtype, value = given->values[0];
  }
  if (!small(made.dims)) return false;
  made.values.assign(static_cast<std::size_t>(count(made.dims)), value);
  c.give(std::move(made));
  return true;
}

namespace {
template <class F>
bool reduce(Call& c, const Scalar& first, F&& f) {
  const auto a = c.numbers(0);
  if (!plain(c, 1)) return false;
  const std::optional<Dims> axes = axes_of(c, 1, std::string_view(c.op()) == "ReduceSum" ? 13 : 18);
  const bool all = !axes || axes->empty(), keep = c.i("keepdims", 1) != 0;
  if (all && c.i("noop_with_empty_axes", 0) != 0) return identity(c);
  std::vector<bool> gone(a->dims.size(), all);
  if (!all)
    for (std::int64_t axis : *axes)
      gone[static_cast<std::size_t>(axis_of(c, axis, static_cast<int>(gone.size())))] = true;
  Numbers made{.dtype = a->dtype};
  Dims steps(gone.size(), 0);  // of the result
  std::int64_t results = 1;
  for (std::size_t d = gone.size(); d-- > 0;)
    if (!gone[d]) steps[d] = results, results *= a->dims[d];
  for (std::size_t d = 0; d < gone.size(); ++d)
    if (!gone[d] || keep) made.dims.push_back(gone[d] ? 1 : a->dims[d]);
  if (!small(made.dims)) return false;
  std::vector<bool> begun(static_cast<std::size_t>(results));
  made.values.assign(static_cast<std::size_t>(results), converted(first, a->dtype));
  for (std::size_t i = 0; i < a->values.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), to = 0;
    for (std::size_t d = gone.size(); d-- > 0; rest /= a->dims[d]) to += rest % a->dims[d] * steps[d];
    const std::size_t r = static_cast<std::size_t>(to);
    made.values[r] = begun[r] ? converted(f(made.values[r], a->values[i]), a->dtype) : a->values[i];
    begun[r] = true;
  }
  c.give(std::move(made));
  return true;
}
}  // namespace

bool reduce_prod(Call& c) {
  return reduce(c, 1, [](const Scalar& a, const Scalar& b) { return a * b; });
}
bool reduce_sum(Call& c) {
  return reduce(c, 0, [](const Scalar& a, const Scalar& b) { return a + b; });
}
bool reduce_max(Call& c) {
  if (c.numbers(0)->values.empty() || is_floating(c.numbers(0)->dtype)) return false;
  return reduce(c, c.numbers(0)->values[0],
                [](const Scalar& a, const Scalar& b) { return Scalar(Int::max(a.to_int(), b.to_int())); });
}
bool reduce_min(Call& c) {
  if (c.numbers(0)->values.empty() || is_floating(c.numbers(0)->dtype)) return false;
  return reduce(c, c.numbers(0)->values[0],
                [](const Scalar& a, const Scalar& b) { return Scalar(Int::min(a.to_int(), b.to_int())); });
}

}  // namespace fold
}  // namespace reprise::onnx
