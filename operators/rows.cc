#include "operators/rows.h"

namespace reprise::operators {

using kernels::reference::load;
using kernels::reference::store;
using kernels::reference::Value;

namespace {

/// f(E{}), E the type of the elements, where that converts by itself; false otherwise.
template <class F>
bool by_type(DType t, F&& f) {
  switch (t) {
    case DType::Float32: return f(float{}), true;
    case DType::Float64: return f(double{}), true;
    case DType::Int64: return f(std::int64_t{}), true;
    case DType::Int32: return f(std::int32_t{}), true;
    case DType::Int8: return f(std::int8_t{}), true;
    case DType::UInt8: return f(std::uint8_t{}), true;
    default: return false;
  }
}

template <class T>
T of(const Value& v) {
  if constexpr (std::is_same_v<T, double>) return v.number();
  else return kernels::reference::convert(v, DType::Int64).i;
}

template <class T>
void read_as(const TensorView& v, std::int64_t at, std::int64_t step, std::int64_t n, T* to) {
  const bool done = by_type(v.dtype, [&]<class E>(E) {
    const E* from = v.as<E>() + at;
    for (std::int64_t i = 0; i < n; ++i)
      if constexpr (std::is_floating_point_v<E> && !std::is_floating_point_v<T>)
        to[i] = of<T>(Value::of(static_cast<double>(from[i * step])));
      else to[i] = static_cast<T>(from[i * step]);
  });
  for (std::int64_t i = 0; !done && i < n; ++i) to[i] = of<T>(load(v, at + i * step));
}

template <class T>
void write_as(const TensorView& v, std::int64_t at, std::int64_t step, std::int64_t n, const T* from) {
  const bool plain = is_floating(v.dtype) || std::is_same_v<T, std::int64_t>;
  const bool done = plain && by_type(v.dtype, [&]<class E>(E) {
                      E* to = v.as<E>() + at;
                      for (std::int64_t i = 0; i < n; ++i) to[i * step] = static_cast<E>(from[i]);
                    });
  for (std::int64_t i = 0; !done && i < n; ++i) store(v, at + i * step, Value::of(from[i]));
}

}  // namespace

void read_row(const TensorView& v, std::int64_t at, std::int64_t step, std::int64_t n, double* to) {
  read_as(v, at, step, n, to);
}
void read_row(const TensorView& v, std::int64_t at, std::int64_t step, std::int64_t n, std::int64_t* to) {
  read_as(v, at, step, n, to);
}
void write_row(const TensorView& v, std::int64_t at, std::int64_t step, std::int64_t n, const double* from) {
  write_as(v, at, step, n, from);
}
void write_row(const TensorView& v, std::int64_t at, std::int64_t step, std::int64_t n, const std::int64_t* from) {
  write_as(v, at, step, n, from);
}

}  // namespace reprise::operators
