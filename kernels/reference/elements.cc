#include "kernels/reference/elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace reprise::kernels::reference {

namespace {

template <class T>
T read(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
void write(char* p, T v) {
  std::memcpy(p, &v, sizeof v);
}

// The float between d and its neighbour with an odd last bit, unless d is a float: rounding that to a half type gives
// the same as rounding d itself (its 24 bits are at least two more than a half type has).
float round_to_odd(double d) {
  float f = static_cast<float>(d);
  double back = f;
  if (back == d || std::isnan(d) || std::isinf(d)) return f;
  if ((std::bit_cast<std::uint32_t>(f) & 1) != 0) return f;
  constexpr float inf = std::numeric_limits<float>::infinity();
  return std::nextafter(f, back < d ? inf : -inf);
}

std::int64_t saturate(double v, double lo, double hi, std::int64_t ilo, std::int64_t ihi) {
  if (std::isnan(v)) return 0;
  return v <= lo ? ilo : v >= hi ? ihi : static_cast<std::int64_t>(v);
}

std::int64_t to_integer(double v, DType t) {
  switch (t) {
    case DType::Int8: return saturate(v, -128, 127, -128, 127);
    case DType::UInt8: return saturate(v, 0, 255, 0, 255);
    case DType::Int32: return saturate(v, INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX);
    case DType::Bool: return v != 0;
    default: return saturate(v, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX);
  }
}

}  // namespace

double round_to(double v, DType t) {
  switch (t) {
    case DType::Float32: return static_cast<float>(v);
    case DType::Float16: return static_cast<float>(Half(round_to_odd(v)));
    case DType::BFloat16: return static_cast<float>(BFloat16(round_to_odd(v)));
    case DType::Float8E4M3FN: return static_cast<float>(Float8E4M3FN(static_cast<float>(v)));
    case DType::Float8E5M2: return static_cast<float>(Float8E5M2(static_cast<float>(v)));
    default: return v;
  }
}

Value convert(Value v, DType t) {
  if (!is_floating(t)) return Value::of(v.is_float ? to_integer(v.f, t) : wrap_to(v.i, t));
  if (v.is_float) return Value::of(round_to(v.f, t));
  if (t == DType::Float64) return Value::of(static_cast<double>(v.i));
  // An int64 does not fit into a double; to float32 it goes in one step (and to the half types, by way of it, as casts
  // do).
  return Value::of(round_to(static_cast<float>(v.i), t));
}

Value load(const TensorView& t, std::int64_t at) {
  const char* p = t.data + at * item_size(t.dtype);
  switch (t.dtype) {
    case DType::Float32: return Value::of(static_cast<double>(read<float>(p)));
    case DType::Float64: return Value::of(read<double>(p));
    case DType::Float16: return Value::of(static_cast<double>(static_cast<float>(read<Half>(p))));
    case DType::BFloat16: return Value::of(static_cast<double>(static_cast<float>(read<BFloat16>(p))));
    case DType::Float8E4M3FN: return Value::of(static_cast<double>(static_cast<float>(read<Float8E4M3FN>(p))));
    case DType::Float8E5M2: return Value::of(static_cast<double>(static_cast<float>(read<Float8E5M2>(p))));
    case DType::Int8: return Value::of(std::int64_t{read<std::int8_t>(p)});
    case DType::UInt8: return Value::of(std::int64_t{read<std::uint8_t>(p)});
    case DType::Int32: return Value::of(std::int64_t{read<std::int32_t>(p)});
    case DType::Int64: return Value::of(read<std::int64_t>(p));
    case DType::Bool: return Value::of(std::int64_t{read<std::uint8_t>(p) != 0});
  }
  return {};
}

void store(const TensorView& t, std::int64_t at, Value v) {
  char* p = t.data + at * item_size(t.dtype);
  v = convert(v, t.dtype);
  switch (t.dtype) {
    case DType::Float32: return write(p, static_cast<float>(v.f));
    case DType::Float64: return write(p, v.f);
    case DType::Float16: return write(p, Half(static_cast<float>(v.f)));
    case DType::BFloat16: return write(p, BFloat16(static_cast<float>(v.f)));
    case DType::Float8E4M3FN: return write(p, Float8E4M3FN(static_cast<float>(v.f)));
    case DType::Float8E5M2: return write(p, Float8E5M2(static_cast<float>(v.f)));
    case DType::Int8:
    case DType::UInt8:
    case DType::Bool: return write(p, static_cast<std::uint8_t>(v.i));
    case DType::Int32: return write(p, static_cast<std::int32_t>(v.i));
    case DType::Int64: return write(p, v.i);
  }
}

Value number(const NativeArgs& a, int i) {
  const NativeArg& arg = a.args[i];
  if (arg.kind != NativeArg::Kind::Number) return Value::of(a.ints[arg.first]);
  const Number& n = a.numbers[arg.first];
  return n.is_float ? Value::of(n.f) : Value::of(n.i);
}

std::vector<std::int64_t> ints(const NativeArgs& a, int i) {
  if (!a.has(i)) return {};
  return {a.ints + a.args[i].first, a.ints + a.args[i].first + a.args[i].count};
}

std::uint32_t dim_mask(const NativeArgs& a, int i, int rank) {
  std::uint32_t mask = 0;
  for (std::int64_t d : ints(a, i)) mask |= 1u << wrap(d, rank);
  return mask ? mask & ((1u << rank) - 1) : (1u << rank) - 1;
}

void fault(const NativeArgs& a, ErrorCode code, std::string message) { *a.fault = {true, code, std::move(message)}; }

Strides broadcast_strides(const TensorView& t, const TensorView& to) {
  Strides s{};
  for (int d = 0; d < t.rank; ++d)
    s[static_cast<std::size_t>(to.rank - t.rank + d)] = t.sizes[d] == 1 ? 0 : t.strides[d];
  return s;
}

TensorView select(TensorView t, int dim, std::int64_t index) {
  t.data += index * t.strides[dim] * item_size(t.dtype);
  for (int d = dim; d + 1 < t.rank; ++d) t.sizes[d] = t.sizes[d + 1], t.strides[d] = t.strides[d + 1];
  --t.rank;
  return t;
}

TensorView keep(const TensorView& t, std::uint32_t dims) {
  TensorView r = t;
  r.rank = 0;
  for (int d = 0; d < t.rank; ++d) {
    if (!(dims >> d & 1)) continue;
    r.sizes[r.rank] = t.sizes[d];
    r.strides[r.rank++] = t.strides[d];
  }
  return r;
}

TensorView at_least_1d(TensorView t) {
  if (t.rank == 0) t.rank = 1, t.sizes[0] = 1, t.strides[0] = 1;
  return t;
}

std::string position_text(const TensorView& t, const std::int64_t* index) {
  std::string s = "[";
  for (int d = 0; d < t.rank; ++d) s += (d ? ", " : "") + std::to_string(index[d]);
  return s + "]";
}

void copy_into(const TensorView& to, const TensorView& from) {
  Strides s = broadcast_strides(from, to);
  // in place
  if (to.data == from.data && to.dtype == from.dtype && std::equal(to.strides, to.strides + to.rank, s.begin())) return;
  if (to.dtype == from.dtype) {  // bits as they are (a NaN keeps its payload), in runs as long as both sides have them
    std::int64_t size = item_size(to.dtype), run = 1;
    int rank = to.rank;
    auto dense = [&](int d) { return to.strides[d] == run && s[static_cast<std::size_t>(d)] == run; };
    while (rank > 0 && (to.sizes[rank - 1] == 1 || dense(rank - 1))) run = times(run, to.sizes[--rank]);
    if (run == 0) return;
    for_each<2>(rank, to.sizes, {to.strides, s.data()}, [&](const auto& at) {
      std::memmove(to.data + at[0] * size, from.data + at[1] * size, static_cast<std::size_t>(run * size));
    });
    return;
  }
  for_each<2>(to.rank, to.sizes, {to.strides, s.data()}, [&](const auto& at) { store(to, at[0], load(from, at[1])); });
}

}  // namespace reprise::kernels::reference
