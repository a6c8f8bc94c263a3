#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "reprise/tensor.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// Elements of a tensor of N dimensions on the host, by `a[i][j]`: no bounds are checked. Valid as long as the tensor's
/// memory.
template <class T, std::size_t N>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const std::int64_t* sizes, const std::int64_t* strides) : data_(data) {
    for (std::size_t d = 0; d < N; ++d) sizes_[d] = sizes[d], strides_[d] = strides[d];
  }
  decltype(auto) operator[](std::int64_t i) const {
    if constexpr (N == 1) return (data_[i * strides_[0]]);
    else return TensorAccessor<T, N - 1>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
  }
  std::int64_t size(std::size_t dim) const { return sizes_[dim]; }
  std::int64_t stride(std::size_t dim) const { return strides_[dim]; }
  T* data() const { return data_; }

 private:
  T* data_;
  std::int64_t sizes_[N], strides_[N];
};

/// Throws ShapeMismatch unless the tensor has N dimensions, and what data<T>() throws. Inside a trace it ends the
/// capture, as reading an element does.
template <class T, std::size_t N>
TensorAccessor<T, N> Tensor::accessor(SourceLoc loc) const {
  static_assert(N > 0, "reprise: a 0-dim tensor has no accessor: item<T>()");
  T* first = data<T>(loc);
  if (dim() != static_cast<int>(N))
    throw Error(ErrorCode::ShapeMismatch, "accessor",
                "of " + std::to_string(N) + " dimensions, of a tensor of " + std::to_string(dim()), loc);
  std::int64_t all_sizes[N], all_strides[N];
  const Ints s = sizes(), t = strides();
  for (std::size_t d = 0; d < N; ++d) all_sizes[d] = s[d].value(loc), all_strides[d] = t[d].value(loc);
  return {first, all_sizes, all_strides};
}

}  // namespace REPRISE_VISIBLE
