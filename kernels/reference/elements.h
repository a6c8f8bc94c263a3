#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/launch/launch.h"
#include "kernels/loop/registers.h"

/// What the reference kernels stand on: elements of any dtype as a Value, walks over any strides. Written for being
/// plainly right; nothing here is fast. Floats are computed in double and rounded once, integers in int64 and wrapped.
namespace reprise::kernels::reference {

using Strides = std::array<std::int64_t, kMaxRank>;

/// An element: a double, or an int64 (integers and Bool).
struct Value {
  bool is_float = false;
  double f = 0;
  std::int64_t i = 0;
  static Value of(double v) { return {true, v, 0}; }
  static Value of(std::int64_t v) { return {false, 0, v}; }
  double number() const { return is_float ? f : static_cast<double>(i); }
  bool truth() const { return is_float ? f != 0 : i != 0; }
};

/// `at`: element offset from the view's first element.
Value load(const TensorView&, std::int64_t at);
void store(const TensorView&, std::int64_t at, Value);  ///< converts
/// As `t` holds it: rounded once to nearest even, wrapped; a float outside an integer's range saturates, NaN is 0.
Value convert(Value, DType t);
double round_to(double, DType t);
inline double load_number(const TensorView& t, std::int64_t at) { return load(t, at).number(); }

// ---- arguments
Value number(const NativeArgs&, int i);                    ///< a Scalar, whatever kind it came as
std::vector<std::int64_t> ints(const NativeArgs&, int i);  ///< empty when None
inline std::int64_t wrap(std::int64_t dim, int rank) { return dim < 0 ? dim + (rank ? rank : 1) : dim; }
/// Mask of the dims an int[]? argument means: none or empty is all.
std::uint32_t dim_mask(const NativeArgs&, int i, int rank);
void fault(const NativeArgs&, ErrorCode, std::string message);

// ---- views
Strides broadcast_strides(const TensorView&, const TensorView& to);
TensorView select(TensorView, int dim, std::int64_t index);               ///< without `dim`; first element moved
TensorView keep(const TensorView&, std::uint32_t dims);                   ///< only the dims of the mask, in order
TensorView at_least_1d(TensorView);                                       ///< a 0-dim view as [1]
std::string position_text(const TensorView&, const std::int64_t* index);  ///< "[2, 0]"

/// Visits every index of `sizes` in row-major order; f(offsets) with the element offset under each of the strides.
template <std::size_t N, class F>
void for_each(int rank, const std::int64_t* sizes, const std::array<const std::int64_t*, N>& strides, F&& f) {
  for (int d = 0; d < rank; ++d)
    if (sizes[d] == 0) return;
  std::array<std::int64_t, N> at{};
  std::int64_t index[kMaxRank] = {};
  for (;;) {
    f(at);
    int d = rank - 1;
    for (; d >= 0; --d) {
      for (std::size_t n = 0; n < N; ++n) at[n] += strides[n][d];
      if (++index[d] < sizes[d]) break;
      for (std::size_t n = 0; n < N; ++n) at[n] -= strides[n][d] * sizes[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}
template <class F>
void for_each(const TensorView& a, F&& f) {
  for_each<1>(a.rank, a.sizes, {a.strides}, [&](const auto& at) { f(at[0]); });
}
/// Two views of equal sizes.
template <class F>
void for_each(const TensorView& a, const TensorView& b, F&& f) {
  for_each<2>(a.rank, a.sizes, {a.strides, b.strides}, [&](const auto& at) { f(at[0], at[1]); });
}
/// Copies with conversion; sizes are those of `to`, `from` broadcasts.
void copy_into(const TensorView& to, const TensorView& from);

// ---- the kernels, one function per row of the table in reference.cc (of pointwise operators it is their meaning,
// pointwise.cc)
void pointwise(graph::OpId, const NativeArgs&);
void sum(const NativeArgs&);  // ... norm: over a set of dims
void prod(const NativeArgs&);
void nansum(const NativeArgs&);
void amax(const NativeArgs&);
void amin(const NativeArgs&);
void any(const NativeArgs&);
void all(const NativeArgs&);
void mean(const NativeArgs&);
void variance(const NativeArgs&);
void deviation(const NativeArgs&);
void logsumexp(const NativeArgs&);
void norm(const NativeArgs&);
void argmax(const NativeArgs&);
void argmin(const NativeArgs&);
void cumsum(const NativeArgs&);
void softmax(const NativeArgs&);
void log_softmax(const NativeArgs&);
void layer_norm(const NativeArgs&);
void rms_norm(const NativeArgs&);
void batched_product(const NativeArgs&);  ///< mm, bmm
void linear(const NativeArgs&);
void matmul(const NativeArgs&);
void addmm(const NativeArgs&);
void scaled_mm(const NativeArgs&);
void attention(const NativeArgs&);
void embedding(const NativeArgs&);
void index_select(const NativeArgs&);
void gather(const NativeArgs&);
void index(const NativeArgs&);
void scatter(const NativeArgs&);
void scatter_add(const NativeArgs&);
void scatter_reduce(const NativeArgs&);
void index_put(const NativeArgs&);
void cat(const NativeArgs&);
void slice_scatter(const NativeArgs&);
void select_scatter(const NativeArgs&);
void diagonal_scatter(const NativeArgs&);
void as_strided_scatter(const NativeArgs&);
void full(const NativeArgs&);
void arange(const NativeArgs&);
void rand(const NativeArgs&);
void randn(const NativeArgs&);
void multinomial(const NativeArgs&);
void topk(const NativeArgs&);
void sort(const NativeArgs&);

}  // namespace reprise::kernels::reference
