#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "tests/operators/operators_test.h"

namespace reprise::test {

using Row = std::vector<double>;
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

/// What f makes of each row of x along dim, in double: the reference of operators that go row by row. The result has
/// rows of the length of f's.
inline Tensor of_rows(const Tensor& x, std::int64_t dim, const std::function<Row(const Row&)>& f, DType t) {
  if (x.dim() == 0) return tensor_of(f({x.to(kFloat64).item().to_double()}), {}).to(t);
  const Tensor rows = x.to(Device::cpu()).to(kFloat64).movedim(dim, -1).contiguous();
  const std::vector<double> v = rows.to_vector<double>();
  const std::int64_t n = rows.size(-1).value();
  std::int64_t count = 1;
  Ints sizes = rows.sizes();
  for (std::size_t d = 0; d + 1 < sizes.size(); ++d) count *= sizes[d].value();
  Row all;
  std::size_t length = f(Row(static_cast<std::size_t>(n), 1.0)).size();
  for (std::int64_t r = 0; r < count; ++r) {
    const Row made = f(Row(v.begin() + r * n, v.begin() + (r + 1) * n));
    all.insert(all.end(), made.begin(), made.end());
  }
  sizes.back() = static_cast<std::int64_t>(length);
  return tensor_of(all, sizes).to(t).movedim(-1, dim);
}

/// Halves between -6 and 6 with NaN, infinities and repetitions among them.
inline Tensor special_numbers(const Ints& sizes, DType t = kFloat32, std::int64_t seed = 0) {
  std::int64_t n = 1;
  for (const Int& s : sizes) n *= s.value();
  Row v;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t k = (i * 29 + seed * 13 + i / 5) % 31;
    v.push_back(k == 30 ? kNan : k == 29 ? kInf : k == 28 ? -kInf : k == 27 ? -0.0 : static_cast<double>(k - 13) / 2);
  }
  return tensor_of(v, sizes).to(t).to(test_device());
}

inline const std::vector<DType> kFloats{kFloat32, kFloat64, kFloat16, kBFloat16};
inline const std::vector<DType> kNumbers{kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kInt8, kUInt8};

}  // namespace reprise::test
