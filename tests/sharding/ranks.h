#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "reprise/reprise.h"
#include "reprise/sharding.h"

namespace reprise::test {

/// Numbers of both signs, the same in every run and on every rank.
inline Tensor numbers(std::vector<std::int64_t> sizes, int seed = 0) {
  Ints of(sizes.begin(), sizes.end());
  std::int64_t n = 1;
  for (const std::int64_t s : sizes) n *= s;
  std::vector<float> v;
  for (std::int64_t i = 0; i < n; ++i)
    v.push_back(static_cast<float>(std::sin(0.7 * static_cast<double>(i + 13 * seed + 1))));
  return tensor_of(v).reshape(of);
}

/// Equal sizes, and elements up to 1e-5.
inline ::testing::AssertionResult same(const Tensor& got, const Tensor& want) {
  if (got.sizes().size() != want.sizes().size() || got.numel().value() != want.numel().value())
    return ::testing::AssertionFailure() << "sizes differ: " << got.numel() << " and " << want.numel() << " elements";
  const std::vector<double> a = got.to(kFloat64).to_vector<double>(), b = want.to(kFloat64).to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= 1e-5 * std::max(1.0, std::abs(b[i]))))
      return ::testing::AssertionFailure() << "element " << i << " is " << a[i] << ", not " << b[i];
  return ::testing::AssertionSuccess();
}

/// Runs f on n ranks, threads; what the first to fail has thrown fails the test.
inline void on_ranks(int n, const std::function<void(Communicator&)>& f) {
  try {
    comm::threads(n, f, {.timeout_s = 60});
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
}

/// What f throws on ranks, or "".
inline std::string error_on_ranks(int n, const std::function<void(Communicator&)>& f, double timeout_s = 60) {
  try {
    comm::threads(n, f, {.timeout_s = timeout_s});
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

}  // namespace reprise::test
