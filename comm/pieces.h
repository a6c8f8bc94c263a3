#pragma once
#include <algorithm>
#include <cstdint>

#include "reprise/communicator.h"

namespace reprise::comm {

inline const char* in_of(const Communicator::Call& c, std::int64_t element) {
  return static_cast<const char*>(c.in) + element * item_size(c.dtype);
}
inline char* out_of(const Communicator::Call& c, std::int64_t element) {
  return static_cast<char*>(c.out) + element * item_size(c.dtype);
}
inline std::size_t bytes_of(const Communicator::Call& c, std::int64_t n) {
  return static_cast<std::size_t>(n * item_size(c.dtype));
}

/// f(first, n) for pieces of at most `most` elements, at least once: an empty call is compared with the others', too.
template <class F>
void for_each_piece(std::int64_t n, std::int64_t most, F&& f) {
  std::int64_t at = 0;
  do {
    f(at, std::min(most, n - at));
    at += most;
  } while (at < n);
}

}  // namespace reprise::comm
