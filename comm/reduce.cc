#include "comm/reduce.h"

#include <algorithm>
#include <cstring>

namespace reprise::comm {

namespace {

template <class A>
struct Add {
  A operator()(A a, A b) const { return static_cast<A>(a + b); }
};
// A NaN of either side stays.
template <class A>
struct Larger {
  A operator()(A a, A b) const { return a != a || a > b ? a : b; }
};
template <class A>
struct Smaller {
  A operator()(A a, A b) const { return a != a || a < b ? a : b; }
};

/// Blocks that stay in the first cache while operand after operand is added to them.
constexpr std::int64_t kBlock = 1024;

template <class T, class A, class F>
void fold(const char* const* from, int k, char* to, std::int64_t n, double scale, F f) {
  A block[kBlock];
  for (std::int64_t at = 0; at < n; at += kBlock) {
    const std::int64_t m = std::min(kBlock, n - at);
    const T* first = reinterpret_cast<const T*>(from[0]) + at;
    for (std::int64_t i = 0; i < m; ++i) block[i] = static_cast<A>(first[i]);
    for (int j = 1; j < k; ++j) {
      const T* next = reinterpret_cast<const T*>(from[j]) + at;
      for (std::int64_t i = 0; i < m; ++i) block[i] = f(block[i], static_cast<A>(next[i]));
    }
    T* out = reinterpret_cast<T*>(to) + at;
    if (scale != 1)
      for (std::int64_t i = 0; i < m; ++i) block[i] = static_cast<A>(static_cast<double>(block[i]) / scale);
    for (std::int64_t i = 0; i < m; ++i) out[i] = static_cast<T>(block[i]);
  }
}

template <class T, class A = T>
void reduce_as(const char* const* from, int k, char* to, std::int64_t n, ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum: return fold<T, A>(from, k, to, n, 1, Add<A>{});
    case ReduceOp::Mean: return fold<T, A>(from, k, to, n, k, Add<A>{});
    case ReduceOp::Max: return fold<T, A>(from, k, to, n, 1, Larger<A>{});
    case ReduceOp::Min: return fold<T, A>(from, k, to, n, 1, Smaller<A>{});
  }
}

}  // namespace

bool reduces(DType t, ReduceOp op) {
  if (is_storage_only(t)) return false;
  if (op == ReduceOp::Mean) return is_floating(t);
  return t != DType::Bool || op != ReduceOp::Sum;
}

void reduce(const char* const* from, int k, char* to, std::int64_t n, DType t, ReduceOp op) {
  switch (t) {
    case DType::Float32: return reduce_as<float>(from, k, to, n, op);
    case DType::Float64: return reduce_as<double>(from, k, to, n, op);
    case DType::Float16: return reduce_as<Half, float>(from, k, to, n, op);
    case DType::BFloat16: return reduce_as<BFloat16, float>(from, k, to, n, op);
    case DType::Int8: return reduce_as<std::int8_t>(from, k, to, n, op);
    case DType::UInt8:
    case DType::Bool: return reduce_as<std::uint8_t>(from, k, to, n, op);
    // Sums wrap around, as they do elsewhere.
    case DType::Int32:
      if (op == ReduceOp::Sum) return reduce_as<std::uint32_t>(from, k, to, n, op);
      return reduce_as<std::int32_t>(from, k, to, n, op);
    case DType::Int64:
      if (op == ReduceOp::Sum) return reduce_as<std::uint64_t>(from, k, to, n, op);
      return reduce_as<std::int64_t>(from, k, to, n, op);
    case DType::Float8E4M3FN:
    case DType::Float8E5M2: return;
  }
}

}  // namespace reprise::comm
