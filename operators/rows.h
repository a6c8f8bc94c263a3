#pragma once
#include <cstdint>
#include <vector>

#include "kernels/reference/elements.h"
#include "kernels/reference/parallel_rows.h"

/// What kernels of families go by: rows of views of any strides, shared among threads.
namespace reprise::operators {

using kernels::NativeArgs;
using kernels::TensorView;

using kernels::reference::parallel;
using kernels::reference::parallel_each;

/// All dimensions of a view but one, or but the last few.
inline TensorView without(const TensorView& v, int dim) {
  return kernels::reference::keep(v, ~(1u << dim) & ((1u << v.rank) - 1));
}
inline TensorView without_last(const TensorView& v, int n) {
  return kernels::reference::keep(v, (1u << (v.rank - n)) - 1);
}

/// `n` elements, `step` apart from offset `at` on, of any dtype: as doubles or as 64-bit integers.
void read_row(const TensorView&, std::int64_t at, std::int64_t step, std::int64_t n, double* to);
void read_row(const TensorView&, std::int64_t at, std::int64_t step, std::int64_t n, std::int64_t* to);
/// Rounded once, wrapped; floats into integers saturate.
void write_row(const TensorView&, std::int64_t at, std::int64_t step, std::int64_t n, const double* from);
void write_row(const TensorView&, std::int64_t at, std::int64_t step, std::int64_t n, const std::int64_t* from);

/// f(T{}), T the type that elements of this dtype are computed in: double or std::int64_t.
template <class F>
void in_registers(DType t, F&& f) {
  if (is_floating(t)) f(double{});
  else f(std::int64_t{});
}

}  // namespace reprise::operators
