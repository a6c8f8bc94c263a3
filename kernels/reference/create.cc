// full, arange and random tensors.
#include <cmath>

#include "base/checked_math.h"
#include "device/parallel.h"
#include "kernels/reference/draws.h"
#include "kernels/reference/elements.h"
#include "kernels/reference/philox.h"

namespace reprise::kernels::reference {

void full(const NativeArgs& a) {
  Value v = number(a, 1);
  for_each(a.result(), [&](std::int64_t at) { store(a.result(), at, v); });
}

void arange(const NativeArgs& a) {
  const TensorView& out = a.result();
  Value start = number(a, 0), step = number(a, 2);
  bool floating = is_floating(out.dtype);
  if (!floating) start = convert(start, DType::Int64), step = convert(step, DType::Int64);
  for (std::int64_t i = 0; i < out.sizes[0]; ++i) {
    Value v =
        floating ? Value::of(start.number() + static_cast<double>(i) * step.number()) : Value::of(start.i + i * step.i);
    store(out, i * out.strides[0], v);
  }
}

namespace {

int precision(DType t) {
  switch (t) {
    case DType::Float64: return 53;
    case DType::Float16: return 11;
    case DType::BFloat16: return 8;
    default: return 24;
  }
}

// draw(the dtype, the words of an element): its value
template <class F>
void random(const NativeArgs& a, DrawsFrom from, F&& draw) {
  const TensorView& out = a.result();
  const std::uint64_t seed = from.seed, offset = from.offset;
  std::int64_t dense = 1;
  bool contiguous = true;
  for (int d = out.rank - 1; d >= 0; --d) {
    contiguous = contiguous && (out.sizes[d] == 1 || out.strides[d] == dense);
    dense = times(dense, out.sizes[d]);
  }
  if (contiguous) {
    auto fill = [&](std::int64_t begin, std::int64_t end) {
      float* p = out.dtype == DType::Float32 ? reinterpret_cast<float*>(out.data) : nullptr;
      for (std::int64_t i = begin; p && i < end; ++i)
        p[i] = static_cast<float>(draw(out.dtype, philox(seed, offset + static_cast<std::uint64_t>(i))));
      for (std::int64_t i = begin; !p && i < end; ++i)
        store(out, i, Value::of(draw(out.dtype, philox(seed, offset + static_cast<std::uint64_t>(i)))));
    };
    device::parallel_for(
        out.numel(), 4096, [](void* f, std::int64_t b, std::int64_t e) { (*static_cast<decltype(fill)*>(f))(b, e); },
        &fill);
    return;
  }
  std::uint64_t i = 0;
  for_each(out, [&](std::int64_t at) { store(out, at, Value::of(draw(out.dtype, philox(seed, offset + i++)))); });
}

}  // namespace

DrawsFrom draws_from(const NativeArgs& a, int first, int plus) {
  auto element = [&](int i) {
    return static_cast<std::uint64_t>(*reinterpret_cast<const std::int64_t*>(a.tensor(i).data));
  };
  return {element(first), element(first + 1) + static_cast<std::uint64_t>(a.integer(plus))};
}

static DrawsFrom told(const NativeArgs& a) {
  return {static_cast<std::uint64_t>(a.integer(3)), static_cast<std::uint64_t>(a.integer(4))};
}
static void uniforms(const NativeArgs& a, DrawsFrom from) {
  random(a, from, [](DType t, const auto& words) { return uniform(words, precision(t)); });
}
static void normals(const NativeArgs& a, DrawsFrom from) {
  random(a, from, [](DType, const auto& words) { return normal(words); });
}
void rand(const NativeArgs& a) { uniforms(a, told(a)); }
void randn(const NativeArgs& a) { normals(a, told(a)); }
void rand_at(const NativeArgs& a) { uniforms(a, draws_from(a, 0, 5)); }
void randn_at(const NativeArgs& a) { normals(a, draws_from(a, 0, 5)); }

}  // namespace reprise::kernels::reference
