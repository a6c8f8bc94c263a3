#pragma once
#include <cstdint>

#include "reprise/flatten.h"
#include "tensor/impl.h"

namespace reprise::runtime {

using detail::CallFrame;

/// The structure word of a tensor: everything about it that code is compiled for. 0 is an undefined tensor.
///   bits 0-7 dtype + 1 | 8-11 rank | 12 contiguous | 13 more than kModestElements | 16-31 two bits a dim: stride 1, 0 or other (0 when contiguous)
///   32-47 device
/// A contiguous tensor's strides follow from its sizes and stand nowhere; any other has them in the values, after the sizes.
enum class StrideClass : std::uint64_t { Other = 0, One = 1, Zero = 2 };

/// Of most tensors all sizes together are known to be small, so that sums and products of them need no guard against overflow; views
/// that show one element many times (expand) may have any number of elements. Sizes of 0 count as 1.
/// No stride is larger either.
constexpr std::int64_t kModestElements = std::int64_t{1} << 44;

inline bool is_large(const TensorImpl& t) {
  std::int64_t n = 1;
  for (int d = 0; d < t.rank; ++d)
    if (t.strides[d] < 0 || t.strides[d] > kModestElements || (t.sizes[d] > 1 && (__builtin_mul_overflow(n, t.sizes[d], &n) || n > kModestElements)))
      return true;
  return false;
}

inline bool row_major(const TensorImpl& t) {
  std::int64_t want = 1;
  for (int d = t.rank - 1; d >= 0; --d) {
    if (t.sizes[d] == 0) return true;
    if (t.sizes[d] != 1 && t.strides[d] != want) {
      // A size of 0 further out makes any strides row-major: nothing is there to be read.
      for (int e = 0; e < d; ++e)
        if (t.sizes[e] == 0) return true;
      return false;
    }
    if (__builtin_mul_overflow(want, t.sizes[d], &want)) want = -1;  // only beside a size of 0: no stride is that
  }
  return true;
}

inline std::uint64_t structure_word(const TensorImpl& t) {
  std::uint64_t w = (static_cast<std::uint64_t>(t.dtype) + 1) | static_cast<std::uint64_t>(t.rank) << 8 |
                    static_cast<std::uint64_t>(t.device.type) << 32 | static_cast<std::uint64_t>(t.device.index) << 40;
  w |= static_cast<std::uint64_t>(is_large(t)) << 13;
  if (row_major(t)) return w | 1u << 12;
  for (int d = 0; d < t.rank; ++d) {
    StrideClass c = t.strides[d] == 1 ? StrideClass::One : t.strides[d] == 0 ? StrideClass::Zero : StrideClass::Other;
    w |= static_cast<std::uint64_t>(c) << (16 + 2 * d);
  }
  return w;
}
inline bool is_row_major_word(std::uint64_t w) { return w >> 12 & 1; }
inline bool is_large_word(std::uint64_t w) { return w >> 13 & 1; }
inline int rank_of_word(std::uint64_t w) { return static_cast<int>(w >> 8 & 15); }
inline StrideClass stride_class(std::uint64_t w, int d) { return static_cast<StrideClass>(w >> (16 + 2 * d) & 3); }
/// How many values stand for a tensor of this word.
inline std::size_t value_count(std::uint64_t w) {
  return w == 0 ? 0 : static_cast<std::size_t>(rank_of_word(w)) * (is_row_major_word(w) ? 1 : 2);
}

/// Appends a concrete tensor; an undefined one (null) leaves a word of structure alone. Throws InvalidArgument for one of a finished trace, StorageFreed for a released one.
void add_tensor(CallFrame&, const TensorImpl*);

}  // namespace reprise::runtime
