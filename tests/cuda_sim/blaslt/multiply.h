#pragma once
#include <cstdint>

namespace sim_blaslt {

enum class Type : std::uint64_t { F32, F64, F16, BF16 };
constexpr std::uint64_t bytes_of(Type t) { return t == Type::F32 ? 4 : t == Type::F64 ? 8 : 2; }

struct Matrix {
  std::uint64_t address;
  std::int64_t rows, columns, ld, batch;  ///< batch: stride, in elements
  std::uint64_t transposed;
};
/// One launch, copied into the stream. Everything is in columns.
struct Work {
  Type type;
  std::int64_t m, n, k, batches;
  Matrix a, b, c, d;
  double alpha, beta;
  std::uint64_t bias;       ///< address, or 0
  std::uint64_t workspace;  ///< of the two halves of a sum that is split
};

void whole(void* work);   ///< d = alpha op(a) op(b) + beta c + bias
void halves(void* work);  ///< the sums over either half of k, to the workspace
void join(void* work);    ///< d from the halves
/// Bytes of the workspace.
inline std::uint64_t split_bytes(const Work& w) {
  return 2 * static_cast<std::uint64_t>(w.m * w.n * w.batches) * (w.type == Type::F64 ? 8 : 4);
}

}  // namespace sim_blaslt
