// Numbers that stand in the code, rp::tensor({0, 2}), are constants of a compiled function.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "reprise/reprise.h"

namespace reprise::test {
namespace {

TEST(Literals, AreConstants) {
  struct Case {
    const char* name;
    std::function<Tensor()> make;
  };
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const Case cases[] = {
      {"a number", [] { return tensor(3); }},
      {"a float", [] { return tensor(1.5); }},
      {"true", [] { return tensor(true); }},
      {"one", [] { return tensor({7}); }},
      {"indices",
       [] {
         return tensor({0, 2});
       }},
      {"falling",
       [] {
         return tensor({5, 3, 1, -1});
       }},
      {"in no order",
       [] {
         return tensor({3, 1, 2, 2, 2, 0});
       }},
      {"equal",
       [] {
         return tensor({4, 4, 4});
       }},
      {"extremes",
       [most] {
         return tensor({most, -most - 1, most});
       }},
      {"floats",
       [=] {
         return tensor({1.5, -0.0, 0.0, inf, nan, 1e-300, 0.1});
       }},
      {"C++ floats",
       [] {
         return tensor({1.5f, 2.5f, 0.1f});
       }},
      {"bytes",
       [] {
         return tensor({std::uint8_t(255), std::uint8_t(0), std::uint8_t(1)});
       }},
      {"small",
       [] {
         return tensor({std::int8_t(-128), std::int8_t(127)});
       }},
      {"bools",
       [] {
         return tensor({true, false, true, true});
       }},
      {"rows",
       [] {
         return tensor({{1.0, 2.0, 1.0}, {0.0, 0.0, 0.0}, {-1.0, -2.0, -1.0}});
       }},
      {"rows of integers",
       [] {
         return tensor({{1, 2, 3}, {4, 5, 6}});
       }},
      {"halves",
       [] {
         return tensor({Half(1.5f), Half(0.1f)});
       }},
      {"of another dtype",
       [] {
         return tensor({1.7, -2.7, 3.0}, {.dtype = kInt64});
       }},
      {"rounded",
       [] {
         return tensor({1.7, 0.1, 3.0}, {.dtype = kBFloat16});
       }},
      {"nothing", [] { return tensor(std::initializer_list<float>{}); }},
      {"the default dtype",
       [] {
         const DefaultDTypeScope s(kFloat64);
         return tensor({0.1, 0.3});
       }},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    auto f = compile([&c](const Tensor& x) { return std::make_pair(c.make(), x + 1); });
    const Tensor want = c.make();
    for (int n = 2; n < 5; ++n) {
      const Tensor got = f(ones({n})).first;
      EXPECT_EQ(got.dtype(), want.dtype());
      ASSERT_EQ(got.sizes(), want.sizes());
      EXPECT_EQ(got.strides(), want.strides());
      EXPECT_TRUE(allclose(got, want, 0, 0, true)) << got.str() << " not " << want.str();
      if (is_floating(want.dtype())) {
        EXPECT_TRUE(equal(signbit(got), signbit(want)));
      }
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
    EXPECT_EQ(f.stats().compilations, 1);
  }
}

TEST(Literals, AreUsedAndWrittenLikeOthers) {
  auto body = [](const Tensor& x) {
    const Tensor kernel = tensor({{0.0, 1.0, 0.0}, {1.0, -4.0, 1.0}, {0.0, 1.0, 0.0}});
    Tensor table = tensor({1.0, 2.0, 5.0, 2.0});
    table[0] += x.sum();
    return std::vector<Tensor>{x.index({tensor({0, 2})}), index_select(x, 0, tensor({2, 0, 1})),
                               conv2d(x.view({1, 1, x.size(0), x.size(1)}), kernel.view({1, 1, 3, 3})), table,
                               x * tensor({1.0, 0.0, 2.0, 3.0})};
  };
  auto f = compile(body);
  for (int n = 3; n < 6; ++n) {
    const Tensor x = arange(4 * n).to(kFloat32).view({n, 4});
    const std::vector<Tensor> got = f(x), want = body(x);
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(allclose(got[i], want[i])) << i;
    EXPECT_EQ(got[3][1].item<float>(), 2);  // a new table at each call
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  // A table of many different numbers compiles, too.
  auto table = compile([](const Tensor& x) {
    return x + tensor({3.1, 4.1, 5.9, 2.6, 5.3, 5.8, 9.7, 9.3, 2.3, 8.4, 6.2, 6.4, 3.3,
                       8.3, 2.7, 9.5, 0.2, 8.8, 4.1, 9.7, 1.6, 9.3, 9.9, 3.7, 5.1});
  });
  EXPECT_EQ(table(zeros({2, 25}))[1][24].item<float>(), 5.1f);
  EXPECT_EQ(table.stats().eager_fallbacks, 0);
  // What a vector holds may differ at the next call.
  std::vector<float> data{1, 2, 3};
  auto of_data = compile([&](const Tensor& x) { return x + tensor_of(data); });
  for (float v : {1.0f, 7.0f}) {
    data[0] = v;
    EXPECT_EQ(of_data(zeros({3}))[0].item<float>(), v);
  }
  EXPECT_EQ(of_data.stats().eager_fallbacks, 2);
}

}  // namespace
}  // namespace reprise::test
