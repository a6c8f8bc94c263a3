#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace reprise {

/// Where the last element of a strided view stands: offset + sum over dims of (size(d) - 1) * stride(d). Nothing if a
/// number on the way does not fit 64 bits. Of a view that has elements.
template <class Size, class Stride>
std::optional<std::int64_t> last_element(int rank, std::int64_t offset, Size&& size, Stride&& stride) {
  std::int64_t step = 0;
  for (int d = 0; d < rank; ++d)
    if (__builtin_mul_overflow(size(d) - 1, stride(d), &step) || __builtin_add_overflow(offset, step, &offset))
      return std::nullopt;
  return offset;
}

/// A number for arithmetic modulo 2^64: strides that nothing steps along, of single rows and of what has no elements,
/// may be anything.
inline std::uint64_t wrapping(std::int64_t n) { return static_cast<std::uint64_t>(n); }
/// A product of sizes, modulo 2^64: beside a size of 0 others may be anything.
inline std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(wrapping(a) * wrapping(b));
}
/// A sum, modulo 2^64.
inline std::int64_t plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(wrapping(a) + wrapping(b));
}

/// last_element for a message: "the view reaches element 12".
inline std::string element_text(std::optional<std::int64_t> last) {
  return last ? std::to_string(*last) : "2^63 and more";
}

}  // namespace reprise
