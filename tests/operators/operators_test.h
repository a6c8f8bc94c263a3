#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "graph/shape_rules.h"
#include "reprise/reprise.h"
#include "tests/support/device.h"

namespace reprise::test {

/// Numbers in [-3, 3] that are the same in every run: quarters for floats, which half types hold exactly; small
/// integers.
inline Tensor numbers(const Ints& sizes, DType t = kFloat32, std::int64_t seed = 0) {
  std::int64_t n = 1;
  for (const Int& s : sizes) n *= s.value();
  std::vector<double> v(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    const auto k = static_cast<double>((i * 11 + seed * 5 + i / 7) % 25 - 12);
    v[static_cast<std::size_t>(i)] = is_floating(t) ? k / 4
                                     : t == kBool   ? std::fmod(k + 12, 2)
                                     : t == kUInt8  ? k + 12
                                                    : std::trunc(k / 2);
  }
  return tensor_of(v, sizes).to(t).to(test_device());
}

/// The same elements where the dimensions are stored in the opposite order, or every second element of a wider buffer.
inline Tensor transposed_memory(const Tensor& t) {
  Ints back;
  for (std::int64_t d = t.dim(); d-- > 0;) back.push_back(d);
  return t.permute(back).contiguous().permute(back);
}
inline Tensor with_gaps(const Tensor& t) {
  if (t.dim() == 0) return t;
  return stack({t, t}, -1).flatten(-2).slice(-1, 0, std::nullopt, 2);
}

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

struct Expected {
  double rtol = 1e-5, atol = 1e-5;
  std::int64_t compilations = -1;  ///< -1: at most as many as there are layouts, plus one where sizes decide (0, 1)
  bool may_be_eager = false;
  std::vector<std::string> modes = {"full", "interpret"};
};

inline void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& want, double rtol, double atol) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const Tensor g = got[i].to(Device::cpu()), w = want[i].to(Device::cpu());
    ASSERT_EQ(g.dtype(), w.dtype()) << i;
    ASSERT_EQ(graph::sizes_text(g.sizes()), graph::sizes_text(w.sizes())) << i;
    const double loose = is_low_precision(w.dtype()) ? 2e-2 : 0;
    EXPECT_TRUE(allclose(g.to(kFloat64), w.to(kFloat64), std::max(rtol, loose), std::max(atol, loose), true))
        << "result " << i;
  }
}

/// f compiled is f eager: for the arguments that `make` gives for each n, in three layouts, in each mode; nothing falls
/// back to eager.
inline void expect_compiled(const Function& f, const std::function<std::vector<Tensor>(std::int64_t)>& make,
                            const std::vector<std::int64_t>& sizes, const Expected& e = {}) {
  for (const std::string& mode : e.modes) {
    SCOPED_TRACE(mode);
    auto compiled = compile([&](std::vector<Tensor> a) { return f(a); }, {.mode = mode});
    for (Tensor (*layout)(const Tensor&) :
         {+[](const Tensor& t) { return t; }, +[](const Tensor& t) { return transposed_memory(t); },
          +[](const Tensor& t) { return with_gaps(t); }})
      for (std::int64_t n : sizes) {
        SCOPED_TRACE(n);
        std::vector<Tensor> given, own;
        for (const Tensor& t : make(n)) given.push_back(layout(t)), own.push_back(layout(t.clone()));
        const std::vector<Tensor> got = compiled(given), want = f(own);
        expect_same(got, want, e.rtol, e.atol);
        expect_same(given, own, e.rtol, e.atol);  // what is written
      }
    if (!e.may_be_eager) {
      EXPECT_EQ(compiled.stats().eager_fallbacks, 0);
    }
    if (e.compilations >= 0) {
      EXPECT_LE(compiled.stats().compilations, e.compilations);
    }
  }
}

}  // namespace reprise::test
