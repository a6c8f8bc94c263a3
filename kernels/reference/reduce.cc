// Reductions over a set of dims, argmax and argmin, cumsum.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/reference/elements.h"
#include "kernels/reference/parallel_rows.h"

namespace reprise::kernels::reference {

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// `input` taken apart: for each element of the result one walk over `reduced`.
struct Split {
  TensorView kept, reduced, out;
  std::int64_t count;  // elements of one walk
};

Split split(const TensorView& input, const TensorView& result, std::uint32_t mask) {
  std::uint32_t others = ~mask & ((1u << input.rank) - 1);
  Split s{keep(input, others), keep(input, mask), result, 1};
  if (result.rank == input.rank) s.out = keep(result, others);  // keepdim (or nothing is reduced)
  s.count = s.reduced.numel();
  return s;
}

// f(a walk over the elements of one group) -> the group's value. `walk` calls back with each element as `type` holds
// it.
template <class F>
void each_group(const TensorView& input, const TensorView& result, std::uint32_t mask, DType type, F&& f) {
  Split s = split(input, result, mask);
  for_each(s.kept, s.out, [&](std::int64_t from, std::int64_t to) {
    auto walk = [&](auto&& element) {
      for_each(s.reduced, [&](std::int64_t at) { element(convert(load(input, from + at), type)); });
    };
    store(result, to, f(walk, s.count));
  });
}

double maximum(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double minimum(double a, double b) { return std::isnan(a) || a < b ? a : b; }

template <class Walk>
double sum_of(Walk&& walk) {
  double s = 0;
  walk([&](Value v) { s += v.number(); });
  return s;
}

enum class Fold { Sum, Prod };

template <class Walk>
Value fold(Fold f, bool floating, Walk&& walk) {
  const bool sum = f == Fold::Sum;
  if (floating) {
    double r = sum ? 0 : 1;
    walk([&](Value v) { r = sum ? r + v.f : r * v.f; });
    return Value::of(r);
  }
  std::uint64_t r = sum ? 0 : 1;
  walk([&](Value v) { r = sum ? r + static_cast<std::uint64_t>(v.i) : r * static_cast<std::uint64_t>(v.i); });
  return Value::of(static_cast<std::int64_t>(r));
}

template <class Walk>
Value extreme(bool max, bool floating, Walk&& walk) {
  if (floating) {
    double r = max ? -kInf : kInf;
    walk([&](Value v) { r = max ? maximum(v.f, r) : minimum(v.f, r); });
    return Value::of(r);
  }
  std::int64_t r = max ? INT64_MIN : INT64_MAX;
  walk([&](Value v) { r = max ? std::max(v.i, r) : std::min(v.i, r); });
  return Value::of(r);
}

// In two passes: the mean first, then the squared distances from it.
template <class Walk>
double variance_of(Walk&& walk, std::int64_t n, double correction) {
  double mean = sum_of(walk) / static_cast<double>(n), squares = 0;
  walk([&](Value v) { squares += (v.f - mean) * (v.f - mean); });
  return squares / std::max(static_cast<double>(n) - correction, 0.0);
}

template <class Walk>
double logsumexp_of(Walk&& walk) {
  double top = -kInf, s = 0;
  walk([&](Value v) { top = maximum(v.f, top); });
  double shift = std::isinf(top) ? 0 : top;  // inf - inf is no number
  walk([&](Value v) { s += std::exp(v.f - shift); });
  return std::log(s) + shift;
}

template <class Walk>
double norm_of(Walk&& walk, double p) {
  double r = p == -kInf ? kInf : 0;
  walk([&](Value v) {
    double x = std::fabs(v.f);
    if (p == kInf) r = maximum(x, r);
    else if (p == -kInf) r = minimum(x, r);
    else if (p == 0) r += x != 0;
    else r += std::pow(x, p);
  });
  return p == 0 || std::isinf(p) ? r : std::pow(r, 1 / p);
}

// ATen: converts to the result's dtype first.
void fold_groups(Fold f, const NativeArgs& a) {
  const TensorView& x = a.tensor(0);
  const DType result = a.result().dtype;
  each_group(x, a.result(), dim_mask(a, 1, x.rank), result,
             [&](auto& walk, std::int64_t) { return fold(f, is_floating(result), walk); });
}

void extreme_of_groups(bool max, const NativeArgs& a) {
  const TensorView& x = a.tensor(0);
  each_group(x, a.result(), dim_mask(a, 1, x.rank), x.dtype,
             [&](auto& walk, std::int64_t) { return extreme(max, is_floating(x.dtype), walk); });
}

// Of no elements: `none`. The other truth, found once, is the answer.
void truth_of_groups(bool none, const NativeArgs& a) {
  const TensorView& x = a.tensor(0);
  each_group(x, a.result(), dim_mask(a, 1, x.rank), DType::Bool, [&](auto& walk, std::int64_t) {
    bool r = none;
    walk([&](Value v) { r = v.truth() == none ? r : !none; });
    return Value::of(std::int64_t{r});
  });
}

void variance_of_groups(bool root, const NativeArgs& a) {
  const TensorView& x = a.tensor(0);
  const double correction = number(a, 2).number();
  each_group(x, a.result(), dim_mask(a, 1, x.rank), x.dtype, [&](auto& walk, std::int64_t n) {
    const double v = variance_of(walk, n, correction);
    return Value::of(root ? std::sqrt(v) : v);
  });
}

}  // namespace

void sum(const NativeArgs& a) { fold_groups(Fold::Sum, a); }
void prod(const NativeArgs& a) { fold_groups(Fold::Prod, a); }
void amax(const NativeArgs& a) { extreme_of_groups(true, a); }
void amin(const NativeArgs& a) { extreme_of_groups(false, a); }
void any(const NativeArgs& a) { truth_of_groups(false, a); }
void all(const NativeArgs& a) { truth_of_groups(true, a); }
void variance(const NativeArgs& a) { variance_of_groups(false, a); }
void deviation(const NativeArgs& a) { variance_of_groups(true, a); }

void nansum(const NativeArgs& a) {
  const TensorView& x = a.tensor(0);
  const DType result = a.result().dtype;
  each_group(x, a.result(), dim_mask(a, 1, x.rank), x.dtype, [&](auto& walk, std::int64_t) {
    auto numbers = [&](auto&& element) {
      walk([&](Value v) {
        if (!v.is_float || !std::isnan(v.f)) element(convert(v, result));
      });
    };
    return fold(Fold::Sum, is_floating(result), numbers);
  });
}

void mean(const NativeArgs& a) {
  const TensorView& x = a.tensor(0);
  each_group(x, a.result(), dim_mask(a, 1, x.rank), a.result().dtype,
             [&](auto& walk, std::int64_t n) { return Value::of(sum_of(walk) / static_cast<double>(n)); });
}

void logsumexp(const NativeArgs& a) {
  const TensorView& x = a.tensor(0);
  each_group(x, a.result(), dim_mask(a, 1, x.rank), register_dtype(a.result().dtype),
             [&](auto& walk, std::int64_t) { return Value::of(logsumexp_of(walk)); });
}

void norm(const NativeArgs& a) {
  const TensorView& x = a.tensor(0);
  const double p = number(a, 1).number();
  each_group(x, a.result(), dim_mask(a, 2, x.rank), x.dtype,
             [&](auto& walk, std::int64_t) { return Value::of(norm_of(walk, p)); });
}

namespace {

// Of `n` elements `step` apart: the first NaN, or else the first of the greatest. Blocks without anything that beats
// the best so far (which is most of them) cost one comparison an element and no branch.
template <class T>
std::int64_t first_best(const T* p, std::int64_t n, std::int64_t step, bool max) {
  constexpr std::int64_t kBlock = 64;
  std::int64_t best = 0;
  T top = p[0];
  auto beats = [&](T v) { return max ? !(v <= top) : !(v >= top); };  // a NaN does
  for (std::int64_t from = 0; from < n && top == top; from += kBlock) {
    std::int64_t end = std::min(from + kBlock, n);
    int any = 0;
    if (step == 1 && max)
      for (std::int64_t i = from; i < end; ++i) any |= !(p[i] <= top);
    else
      for (std::int64_t i = from; i < end; ++i) any |= beats(p[i * step]);
    for (std::int64_t i = from; any && i < end && top == top; ++i)
      if (beats(p[i * step])) top = p[i * step], best = i;
  }
  return best;
}

/// The same of a long row in parts, on several threads: what is found does not depend on where it is cut.
template <class T>
std::int64_t first_best_in_parts(const T* p, std::int64_t n, std::int64_t step, bool max) {
  constexpr std::int64_t kPart = 1 << 15;
  if (n < 2 * kPart) return first_best(p, n, step, max);
  std::vector<std::int64_t> found(static_cast<std::size_t>((n + kPart - 1) / kPart));
  parallel(static_cast<std::int64_t>(found.size()), kPart, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      found[static_cast<std::size_t>(i)] =
          i * kPart + first_best(p + i * kPart * step, std::min(kPart, n - i * kPart), step, max);
  });
  std::int64_t best = found[0];
  for (std::int64_t at : found) {
    const T v = p[at * step], top = p[best * step];
    if (top == top && (max ? !(v <= top) : !(v >= top))) best = at;
  }
  return best;
}

std::int64_t first_best(const TensorView& x, const TensorView& reduced, std::int64_t from, bool max) {
  if (reduced.rank == 1) {  // the sampling loop's case: one dim, read directly
    const char* p = x.data + from * item_size(x.dtype);
    std::int64_t n = reduced.sizes[0], step = reduced.strides[0];
    if (x.dtype == DType::Float32) return first_best_in_parts(reinterpret_cast<const float*>(p), n, step, max);
    if (x.dtype == DType::Float64) return first_best_in_parts(reinterpret_cast<const double*>(p), n, step, max);
    if (x.dtype == DType::Int64) return first_best_in_parts(reinterpret_cast<const std::int64_t*>(p), n, step, max);
  }
  std::int64_t best = -1, i = 0;
  Value top;
  for_each(reduced, [&](std::int64_t at) {
    Value v = load(x, from + at);
    bool nan = v.is_float && std::isnan(v.f), done = best >= 0 && top.is_float && std::isnan(top.f);
    bool better = v.is_float ? (max ? v.f > top.f : v.f < top.f) : (max ? v.i > top.i : v.i < top.i);
    if (best < 0 || (!done && (better || nan))) top = v, best = i;
    ++i;
  });
  return best;
}

constexpr std::int64_t kColumns = 64;  // that are gone down side by side: some lines of memory at each step

/// As many columns, one element apart: the row of the best so far of each.
template <class T>
void first_best_of_columns(const T* p, std::int64_t n, std::int64_t step, std::int64_t columns, bool max,
                           std::int64_t* best) {
  T top[kColumns];
  for (std::int64_t c = 0; c < columns; ++c) top[c] = p[c], best[c] = 0;
  auto down = [&](auto beats) {
    for (std::int64_t i = 1; i < n; ++i) {
      const T* row = p + i * step;
      bool any = false;
      for (std::int64_t c = 0; c < columns; ++c) any |= beats(row[c], top[c]);
      for (std::int64_t c = 0; any && c < columns; ++c)
        if (beats(row[c], top[c]) && top[c] == top[c]) top[c] = row[c], best[c] = i;
    }
  };
  if (max) down([](T v, T t) { return !(v <= t); });
  else down([](T v, T t) { return !(v >= t); });
}

/// False: the elements are not such that this is for them.
bool best_of_columns(const NativeArgs& a, const TensorView& x, const Split& s, bool max) {
  if (s.reduced.rank != 1 || s.kept.rank != 1 || s.kept.strides[0] != 1 || s.reduced.strides[0] == 1 || s.count == 0)
    return false;
  const std::int64_t n = s.kept.sizes[0], step = s.reduced.strides[0];
  auto go = [&]<class T>(T) {
    parallel((n + kColumns - 1) / kColumns, s.count * kColumns, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t block = begin; block < end; ++block) {
        const std::int64_t first = block * kColumns, columns = std::min(kColumns, n - first);
        std::int64_t best[kColumns];
        first_best_of_columns(reinterpret_cast<const T*>(x.data) + first, s.count, step, columns, max, best);
        for (std::int64_t c = 0; c < columns; ++c)
          store(a.result(), (first + c) * s.out.strides[0], Value::of(best[c]));
      }
    });
    return true;
  };
  switch (x.dtype) {
    case DType::Float32: return go(float{});
    case DType::Float64: return go(double{});
    case DType::Int64: return go(std::int64_t{});
    case DType::Int32: return go(std::int32_t{});
    default: return false;
  }
}

void position_of_best(bool max, const NativeArgs& a) {
  const TensorView& x = a.tensor(0);
  std::uint32_t all = (1u << x.rank) - 1, mask = a.has(1) && x.rank ? 1u << wrap(a.integer(1), x.rank) : all;
  Split s = split(x, a.result(), mask);
  if (best_of_columns(a, x, s, max)) return;
  parallel_each<2>({s.kept, s.out}, s.count,
                   [&](const auto& at) { store(a.result(), at[1], Value::of(first_best(x, s.reduced, at[0], max))); });
}

}  // namespace

void argmax(const NativeArgs& a) { position_of_best(true, a); }
void argmin(const NativeArgs& a) { position_of_best(false, a); }

namespace {

/// Running sums of Float32 along the first of two dims: columns side by side, each summed in double as a row is. False:
/// they are not such.
bool sum_down_columns(const TensorView& x, const TensorView& out, int dim) {
  if (x.dtype != DType::Float32 || out.dtype != DType::Float32 || x.rank != 2 || dim != 0 || x.strides[1] != 1 ||
      out.strides[1] != 1)
    return false;
  const std::int64_t n = x.sizes[1];
  parallel((n + kColumns - 1) / kColumns, x.sizes[0] * kColumns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t first = block * kColumns, columns = std::min(kColumns, n - first);
      double sum[kColumns] = {};
      for (std::int64_t i = 0; i < x.sizes[0]; ++i) {
        const float* from = reinterpret_cast<const float*>(x.data) + i * x.strides[0] + first;
        float* to = reinterpret_cast<float*>(out.data) + i * out.strides[0] + first;
        for (std::int64_t c = 0; c < columns; ++c) to[c] = static_cast<float>(sum[c] += static_cast<double>(from[c]));
      }
    }
  });
  return true;
}

}  // namespace

void cumsum(const NativeArgs& a) {
  TensorView x = at_least_1d(a.tensor(0)), out = at_least_1d(a.result());
  int dim = static_cast<int>(wrap(a.integer(1), x.rank));
  std::int64_t n = x.sizes[dim], step = x.strides[dim], out_step = out.strides[dim];
  std::uint32_t others = ~(1u << dim) & ((1u << x.rank) - 1);
  bool floating = is_floating(out.dtype);
  if (sum_down_columns(x, out, dim)) return;
  parallel_each<2>({keep(x, others), keep(out, others)}, n, [&](const auto& at) {
    const std::int64_t from = at[0], to = at[1];
    double sum = 0;
    std::uint64_t count = 0;
    if (x.dtype == DType::Float32 && out.dtype == DType::Float32) {
      const float* p = reinterpret_cast<const float*>(x.data) + from;
      float* q = reinterpret_cast<float*>(out.data) + to;
      for (std::int64_t i = 0; i < n; ++i) q[i * out_step] = static_cast<float>(sum += p[i * step]);
      return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      Value v = convert(load(x, from + i * step), out.dtype);
      if (floating) store(out, to + i * out_step, Value::of(sum += v.f));
      else
        store(out, to + i * out_step, Value::of(static_cast<std::int64_t>(count += static_cast<std::uint64_t>(v.i))));
    }
  });
}

}  // namespace reprise::kernels::reference
