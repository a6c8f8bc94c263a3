#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernels/reference/reference.h"
#include "tensor/impl.h"
#include "tests/support/error_of.h"

namespace reprise::test {

using graph::CallArg;
using graph::OpId;
using kernels::reference_call;

inline Tensor make(const std::vector<float>& v, std::vector<Int> sizes) { return tensor_of(v, sizes); }
inline Tensor make(const std::vector<float>& v) { return tensor_of(v); }
inline Tensor make_long(const std::vector<std::int64_t>& v, std::vector<Int> sizes) { return tensor_of(v, sizes); }
inline Tensor make_long(const std::vector<std::int64_t>& v) { return tensor_of(v); }
inline Tensor scalar_tensor(float v) { return make({v}, {}); }

/// One operator by its reference kernel; missing trailing arguments are None or as given.
inline std::vector<Tensor> calln(OpId op, std::vector<CallArg> args) { return reference_call(op, args); }
inline Tensor call(OpId op, std::vector<CallArg> args) { return reference_call(op, args)[0]; }

inline Tensor cast(const Tensor& t, DType d) { return call(OpId::to, {&t, d}); }
inline Tensor make_as(DType d, const std::vector<double>& v, std::vector<Int> sizes) {
  return cast(tensor_of(v, sizes), d);
}
inline Tensor make_as(DType d, const std::vector<double>& v) { return cast(tensor_of(v), d); }

inline std::vector<double> values(const Tensor& t) { return t.to_vector<double>(); }
inline std::vector<std::int64_t> longs(const Tensor& t) { return t.to_vector<std::int64_t>(); }
inline std::vector<std::int64_t> sizes_of(const Tensor& t) {
  std::vector<std::int64_t> s;
  for (Int i : t.sizes()) s.push_back(i.value());
  return s;
}

inline void expect_near(const std::vector<double>& got, const std::vector<double>& want, double relative = 1e-6,
                        double absolute = 1e-30, const std::string& what = "") {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      EXPECT_TRUE(std::isnan(got[i])) << what << " element " << i << " is " << got[i] << ", wanted nan";
    } else if (std::isinf(want[i]) || std::isinf(got[i])) {
      EXPECT_EQ(got[i], want[i]) << what << " element " << i;
    } else {
      EXPECT_LE(std::abs(got[i] - want[i]), absolute + relative * std::abs(want[i]))
          << what << " element " << i << " is " << got[i] << ", wanted " << want[i];
    }
  }
}
inline void expect_near(const Tensor& got, const std::vector<double>& want, double relative = 1e-6,
                        double absolute = 1e-30, const std::string& what = "") {
  expect_near(values(got), want, relative, absolute, what);
}

/// The same elements through other strides: `t` as a view whose memory is laid out differently.
inline Tensor transposed_memory(const Tensor& t) {  // 2-dim
  std::int64_t m = t.size(0).value(), n = t.size(1).value();
  Tensor copy = call(OpId::clone, {&t});
  Tensor base = empty_concrete(std::vector<std::int64_t>{n, m}.data(), 2, t.dtype(), Device::cpu());
  std::int64_t sizes[] = {m, n}, strides[] = {1, m};
  Storage* s = base.impl()->storage;
  retain(s);
  Tensor view = Tensor::adopt(new_impl(t.dtype(), Device::cpu(), sizes, strides, 2, 0, s));
  int size = item_size(t.dtype());
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      std::copy_n(copy.impl()->data() + (i * n + j) * size, size, view.impl()->data() + (i + j * m) * size);
  return view;
}
/// Any view of t's storage.
inline Tensor view_of(const Tensor& t, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides,
                      std::int64_t offset = 0) {
  Storage* s = t.impl()->storage;
  retain(s);
  return Tensor::adopt(new_impl(t.dtype(), Device::cpu(), sizes.data(), strides.data(), static_cast<int>(sizes.size()),
                                t.impl()->offset + offset, s));
}

inline Tensor random_tensor(std::mt19937& rng, DType d, std::vector<Int> sizes, double lo = -3, double hi = 3) {
  std::int64_t n = 1;
  for (Int s : sizes) n *= s.value();
  std::uniform_real_distribution<double> u(lo, hi);
  std::vector<double> v(static_cast<std::size_t>(n));
  for (double& x : v) x = u(rng);
  return make_as(d, v, sizes);
}

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline const CallArg kNone = std::monostate{};

}  // namespace reprise::test
