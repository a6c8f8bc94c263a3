// Factories and random numbers.
#include <cmath>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/data_answers.h"
#include "graph/shape_rules.h"
#include "reprise/ops.h"
#include "tensor/impl.h"
#include "tensor/trace_questions.h"

namespace reprise {

using graph::call1;
using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;

namespace {

/// The device's name as operators take it; lives on the caller's stack (short strings need no heap).
struct DeviceName {
  std::string text;
  explicit DeviceName(const TensorOptions& o) : DeviceName(o.device ? *o.device : graph::default_device()) {}
  explicit DeviceName(Device d) : text(d.str()) {
    if (is_shape_only(d)) any_shape_only.store(true, std::memory_order_relaxed);
  }
  operator std::string_view() const { return text; }
};

/// Sizes of a tensor that `op` makes: an error names it, not what it is made of.
void check_made(const Ints& sizes, DType dtype, const char* op, SourceLoc loc) {
  graph::checked_dtype(dtype, op, loc);
  for (Int s : sizes)
    if (graph::depends_on_data(s) ? graph::answered(detail::compare_lt(s, 0, loc)) : s.hint() < 0)
      fail(ErrorCode::InvalidArgument, op, loc, "negative size in ", graph::sizes_text(sizes));
  graph::check_sizes(sizes, item_size(dtype), op, loc);
}

/// The dtype of floats that are made.
DType floats_of(const TensorOptions& o) { return o.dtype ? *o.dtype : graph::default_dtype(); }

TensorOptions like(const Tensor& self, const TensorOptions& o, const char* op, SourceLoc loc) {
  TensorMeta m = checked_meta(self, op, loc);
  return {o.dtype.value_or(m.dtype), o.device.value_or(m.device)};
}

Tensor draw(OpId id, IntArrayRef size, const TensorOptions& o, SourceLoc loc) {
  guards::LibraryScope operators;
  DeviceName device(o);
  Ints sizes = size.vec();
  const DType dtype = floats_of(o);
  graph::checked_dtype(dtype, id == OpId::rand ? "rand" : "randn", loc);
  for (Int s : sizes) {
    if (!graph::require(detail::compare_le(0, s, loc), "size not negative")) {
      fail(ErrorCode::InvalidArgument, id == OpId::rand ? "rand" : "randn", loc, "negative size in ",
           graph::sizes_text(sizes));
    }
  }
  graph::check_sizes(sizes, item_size(dtype), id == OpId::rand ? "rand" : "randn", loc);
  auto [seed, offset] = graph::next_random(numel(sizes));
  return call1(id, {size, dtype, std::string_view(device), seed, offset}, loc);
}

}  // namespace

Tensor full(IntArrayRef size, Scalar fill_value, const TensorOptions& options, SourceLoc loc) {
  DeviceName device(options);
  const DType dtype = fill_value.is_float() ? floats_of(options) : options.dtype.value_or(fill_value.dtype());
  return call1(OpId::full, {size, fill_value, dtype, std::string_view(device)}, loc);
}
Tensor zeros(IntArrayRef size, const TensorOptions& options, SourceLoc loc) {
  const DType dtype = floats_of(options);
  check_made(size.vec(), dtype, "zeros", loc);
  return full(size, 0, {dtype, options.device}, loc);
}
Tensor ones(IntArrayRef size, const TensorOptions& options, SourceLoc loc) {
  const DType dtype = floats_of(options);
  check_made(size.vec(), dtype, "ones", loc);
  return full(size, 1, {dtype, options.device}, loc);
}
// Elements have a value even here, so that a compiled function and an eager one agree.
Tensor empty(IntArrayRef size, const TensorOptions& options, SourceLoc loc) {
  check_made(size.vec(), floats_of(options), "empty", loc);
  return zeros(size, options, loc);
}

Tensor full_like(const Tensor& self, Scalar fill_value, const TensorOptions& options, SourceLoc loc) {
  return full(checked_meta(self, "full_like", loc).layout.sizes, fill_value, like(self, options, "full_like", loc),
              loc);
}
Tensor zeros_like(const Tensor& self, const TensorOptions& options, SourceLoc loc) {
  return full_like(self, 0, options, loc);
}
Tensor ones_like(const Tensor& self, const TensorOptions& options, SourceLoc loc) {
  return full_like(self, 1, options, loc);
}
Tensor empty_like(const Tensor& self, const TensorOptions& options, SourceLoc loc) {
  return full_like(self, 0, options, loc);
}
Tensor scalar_tensor(Scalar value, const TensorOptions& options, SourceLoc loc) {
  return full(IntArrayRef(), value, options, loc);
}

Tensor arange(Scalar start, Scalar end, Scalar step, const TensorOptions& options, SourceLoc loc) {
  DeviceName device(options);
  bool floats = start.is_float() || end.is_float() || step.is_float();
  return call1(
      OpId::arange,
      {start, end, step, floats ? floats_of(options) : options.dtype.value_or(kInt64), std::string_view(device)}, loc);
}
Tensor arange(Scalar start, Scalar end, const TensorOptions& options, SourceLoc loc) {
  return arange(start, end, 1, options, loc);
}
Tensor arange(Scalar end, const TensorOptions& options, SourceLoc loc) { return arange(0, end, 1, options, loc); }

Tensor linspace(Scalar start, Scalar end, Int steps, const TensorOptions& options, SourceLoc loc) {
  std::int64_t n = steps.value(loc);
  if (n < 0) fail(ErrorCode::InvalidArgument, "linspace", loc, "steps must not be negative, got ", n);
  const DType dtype = floats_of(options);
  if (dtype == kBool) fail(ErrorCode::DTypeMismatch, "linspace", loc, "not defined for bool");
  check_made({n}, dtype, "linspace", loc);
  // Half types are rounded once. Integers are what numbers between two integers are cut off to.
  const bool floats = is_floating(dtype);
  const DType t = !floats ? kFloat64 : is_low_precision(dtype) ? kFloat32 : dtype;
  double a = start.to_double(), b = end.to_double();
  if (!floats) a = std::trunc(a), b = std::trunc(b);
  const double by = n > 1 ? (b - a) / static_cast<double>(n - 1) : 0;
  // From both ends towards the middle: both bounds come out exactly.
  Tensor i = to(arange(0, n, 1, {kInt64, options.device}, loc), t, loc);
  Tensor from_end = sub(b, mul(sub(n - 1, i, 1, loc), by, loc), 1, loc);
  return to(where(lt(i, static_cast<double>(n / 2 + n % 2), loc), add(mul(i, by, loc), a, 1, loc), from_end, loc),
            dtype, loc);
}

// As few operators as make them: all equal, equal steps between integers, else parts of equal numbers.
Tensor detail::traced_constant(const std::vector<Scalar>& numbers, IntArrayRef sizes, DType dtype,
                               std::optional<Device> device, SourceLoc loc) {
  if (!trace_questions()) return {};
  const TensorOptions o{dtype, device};
  const auto n = static_cast<std::int64_t>(numbers.size());
  auto run_from = [&](std::size_t at) {
    std::size_t to = at + 1;
    while (to < numbers.size() && identical(numbers[to], numbers[at])) ++to;
    return to - at;
  };
  if (numbers.empty()) return zeros(sizes, o, loc);
  if (run_from(0) == numbers.size()) return full(sizes, numbers[0], o, loc);
  if (numbers[0].kind() == Scalar::Kind::Int) {
    auto number = [&](std::int64_t i) { return numbers[static_cast<std::size_t>(i)].word().hint(); };
    const std::int64_t first = number(0);
    std::int64_t step = 0, span = 0, end = 0;
    bool equal = !__builtin_sub_overflow(number(1), first, &step) && !__builtin_mul_overflow(step, n, &span) &&
                 !__builtin_add_overflow(first, span, &end);
    for (std::int64_t i = 2; equal && i < n; ++i) equal = number(i) == first + step * i;
    if (equal) return view(to(arange(first, end, step, {kInt64, device}, loc), dtype, loc), sizes, loc);
  }
  std::vector<Tensor> parts;
  for (std::size_t at = 0, many = 0; at < numbers.size(); at += many) {
    many = run_from(at);
    parts.push_back(full({static_cast<std::int64_t>(many)}, numbers[at], o, loc));
  }
  return view(cat(parts, 0, loc), sizes, loc);
}

Tensor eye(Int n, std::optional<Int> m, const TensorOptions& options, SourceLoc loc) {
  const DType dtype = floats_of(options);
  check_made({n, m.value_or(n)}, dtype, "eye", loc);
  TensorOptions index{kInt64, options.device};
  // Nothing on the way is larger than what is asked for.
  if (graph::ask(detail::compare_eq(n, 0, loc), "eye: no rows") ||
      graph::ask(detail::compare_eq(m.value_or(n), 0, loc), "eye: no columns"))
    return zeros({n, m.value_or(n)}, {dtype, options.device}, loc);
  Tensor rows = unsqueeze(arange(n, index, loc), 1, loc), columns = arange(m.value_or(n), index, loc);
  return to(eq(rows, columns, loc), dtype, loc);
}

// ---- random numbers

void manual_seed(std::uint64_t seed) {
  if (current_trace) current_trace->not_traceable(Bail::seeds_generator, "manual_seed", {});
  graph::seed_generator(seed);
}

Tensor rand(IntArrayRef size, const TensorOptions& options, SourceLoc loc) {
  return draw(OpId::rand, size, options, loc);
}
Tensor randn(IntArrayRef size, const TensorOptions& options, SourceLoc loc) {
  return draw(OpId::randn, size, options, loc);
}
Tensor rand_like(const Tensor& self, const TensorOptions& options, SourceLoc loc) {
  return rand(checked_meta(self, "rand_like", loc).layout.sizes, like(self, options, "rand_like", loc), loc);
}
Tensor randn_like(const Tensor& self, const TensorOptions& options, SourceLoc loc) {
  return randn(checked_meta(self, "randn_like", loc).layout.sizes, like(self, options, "randn_like", loc), loc);
}

Tensor randint(Int low, Int high, IntArrayRef size, const TensorOptions& options, SourceLoc loc) {
  if (!graph::require(detail::compare_lt(low, high, loc), "randint: low below high")) {
    fail(ErrorCode::InvalidArgument, "randint", loc, "the range [", low, ", ", high, ") is empty");
  }
  if (!graph::difference_fits(high, low, "randint: the range fits"))
    fail(ErrorCode::InvalidArgument, "randint", loc, "the range [", low, ", ", high, ") is more than 63 bits count");
  // float64 has 53 random bits: even over every range a tensor can be indexed with.
  Tensor unit = rand(size, {kFloat64, options.device}, loc);
  Tensor steps = to(floor(mul(unit, high - low, loc), loc), kInt64, loc);
  return to(add(steps, low, 1, loc), options.dtype.value_or(kInt64), loc);
}

Tensor bernoulli(const Tensor& self, SourceLoc loc) {
  TensorMeta m = checked_meta(self, "bernoulli", loc);
  if (!is_floating(m.dtype))
    fail(ErrorCode::DTypeMismatch, "bernoulli", loc, "probabilities must be floats, got ", dtype_name(m.dtype));
  return to(lt(rand_like(self, {kFloat32, std::nullopt}, loc), self, loc), m.dtype, loc);
}

Tensor multinomial(const Tensor& self, Int num_samples, bool replacement, SourceLoc loc) {
  TensorMeta m = checked_meta(self, "multinomial", loc);
  guards::LibraryScope operators;
  auto [seed, offset] = graph::next_random(numel(m.layout.sizes) * num_samples);
  return call1(OpId::multinomial, {arg(self), num_samples, replacement, seed, offset}, loc);
}

Tensor Tensor::uniform_(double from, double to, SourceLoc loc) const {
  return copy_(reprise::add(reprise::mul(rand_like(*this, {}, loc), to - from, loc), from, 1, loc), loc);
}
Tensor Tensor::normal_(double mean, double std, SourceLoc loc) const {
  return copy_(reprise::add(reprise::mul(randn_like(*this, {}, loc), std, loc), mean, 1, loc), loc);
}

Tensor Tensor::new_zeros(IntArrayRef size, const TensorOptions& options, SourceLoc loc) const {
  return zeros(size, like(*this, options, "new_zeros", loc), loc);
}
Tensor Tensor::new_ones(IntArrayRef size, const TensorOptions& options, SourceLoc loc) const {
  return ones(size, like(*this, options, "new_ones", loc), loc);
}
Tensor Tensor::new_empty(IntArrayRef size, const TensorOptions& options, SourceLoc loc) const {
  return empty(size, like(*this, options, "new_empty", loc), loc);
}
Tensor Tensor::new_full(IntArrayRef size, Scalar fill_value, const TensorOptions& options, SourceLoc loc) const {
  return full(size, fill_value, like(*this, options, "new_full", loc), loc);
}

}  // namespace reprise
