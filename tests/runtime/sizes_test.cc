// Sizes at the ends of what a tensor can have: errors and results are the same eagerly and compiled.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

#include "reprise/reprise.h"

namespace reprise {
namespace {

using Body = std::function<Tensor(Tensor)>;
using Sized = std::function<Tensor(Tensor, Int, Int)>;

struct Case {
  const char* name;
  Body body;
};

/// "<code> <operator>: <message>" of what f throws; "" if nothing.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return std::string(error_code_name(e.code())) + " " + e.op() + ": " + e.message();
  }
  return "";
}

/// Both throw, and say the same.
void expect_refused(const Case& c, const Tensor& x, std::string_view code, std::string_view part) {
  auto f = compile(c.body, {.name = c.name});
  std::string eager = error_of([&] { c.body(x.clone()); }), compiled = error_of([&] { f(x.clone()); });
  EXPECT_EQ(eager, compiled) << c.name;
  EXPECT_TRUE(eager.starts_with(code)) << c.name << ": " << eager;
  EXPECT_NE(eager.find(part), std::string::npos) << c.name << ": " << eager;
}

void expect_same(const Case& c, const Tensor& x, const Tensor& want) {
  auto f = compile(c.body, {.name = c.name});
  EXPECT_EQ(c.body(x.clone()).str(), want.str()) << c.name;
  EXPECT_EQ(f(x.clone()).str(), want.str()) << c.name;
}

constexpr std::int64_t kMax = INT64_MAX, kMin = INT64_MIN;

TEST(Sizes, AtMostEightDimensions) {
  const std::vector<Int> nine(9, 1), twos{1, 2, 2, 2, 2, 2, 2, 2, 2};
  const Case cases[] = {
      {"unsqueeze", [](Tensor x) { return x.unsqueeze(0); }},
      {"unsqueeze, then summed", [](Tensor x) { return x.unsqueeze(0).sum(0); }},
      {"expand", [=](Tensor x) { return x.expand(twos); }},
      {"view", [=](Tensor x) { return x.view(twos); }},
      {"unflatten",
       [](Tensor x) {
         return x.unflatten(0, {1, 2});
       }},
      {"unfold", [](Tensor x) { return x.unfold(0, 1, 1); }},
      {"as_strided", [=](Tensor x) { return x.as_strided(nine, nine); }},
      {"unsqueeze_", [](Tensor x) { return x.unsqueeze_(0); }},
      {"stack",
       [](Tensor x) {
         return stack({x, x});
       }},
      {"index",
       [](Tensor x) {
         return x.index({zeros({1, 1}, {.dtype = kInt64})});
       }},
      {"repeat", [=](Tensor x) { return x.repeat(nine); }},
      {"zeros", [=](Tensor x) { return zeros(nine) + x.sum(); }},
  };
  Tensor x = arange(256).to(kFloat32).view({2, 2, 2, 2, 2, 2, 2, 2});
  for (const Case& c : cases) expect_refused(c, x, "InvalidArgument", "at most 8");
}

TEST(Sizes, ProductsDoNotWrap) {
  const Case cases[] = {
      {"view",
       [](Tensor x) {
         return x.view({kMax, kMax});
       }},
      {"reshape",
       [](Tensor x) {
         return x.reshape({kMax, kMax});
       }},
      {"expand",
       [](Tensor x) {
         return x.expand({kMax, kMax});
       }},
      {"zeros",
       [](Tensor x) {
         return zeros({kMax, kMax}) + x;
       }},
      {"zeros of bytes", [](Tensor x) { return zeros({kMax / 4 + 1}) + x; }},
      {"ones",
       [](Tensor x) {
         return ones({kMax, 2}) + x;
       }},
      {"empty",
       [](Tensor x) {
         return empty({kMax, 2}) + x;
       }},
      {"full",
       [](Tensor x) {
         return full({kMax, 8}, 3) + x;
       }},
      {"rand",
       [](Tensor x) {
         return rand({kMax, 8}) + x;
       }},
      {"eye", [](Tensor x) { return eye(kMax) + x; }},
      {"eye, summed", [](Tensor x) { return eye(kMax).sum() + x; }},
      {"repeat",
       [](Tensor x) {
         return x.repeat({kMax, kMax});
       }},
      {"resize_",
       [](Tensor x) {
         return x.resize_({kMax, kMax});
       }},
      {"as_strided",
       [](Tensor x) {
         return x.as_strided({kMax, kMax}, {0, 0});
       }},
  };
  for (const Case& c : cases) expect_refused(c, ones({1}), "InvalidArgument", "63 bits");
  expect_same({"no elements",
               [](Tensor x) {
                 return x.view({kMax, kMax, 0}).sum();
               }},
              zeros({0}), tensor_of(std::vector<float>{0}, {}));
}

// One specialization serves every size that is a number of the call, and refuses what no memory holds.
TEST(Sizes, ProductsOfTheCallsNumbersDoNotWrap) {
  struct {
    const char* name;
    Sized body;
  } const cases[] = {
      {"zeros",
       [](Tensor x, Int n, Int m) {
         return zeros({n, m}) + x;
       }},
      {"summed",
       [](Tensor x, Int n, Int m) {
         return (zeros({n, m}) + x).sum();
       }},
      {"eye", [](Tensor x, Int n, Int m) { return (eye(n, m) * x).sum(); }},
      {"view",
       [](Tensor x, Int n, Int m) {
         return x.view({n, m}) + 1;
       }},
      {"a view that is returned",
       [](Tensor x, Int n, Int m) {
         return x.view({n, m});
       }},
      {"expand",
       [](Tensor x, Int n, Int m) {
         return x.expand({n, m}).sum();
       }},
  };
  for (const auto& c : cases) {
    auto f = compile(c.body, {.name = c.name});
    EXPECT_EQ(f(ones({1}), 1, 1).str(), c.body(ones({1}), 1, 1).str()) << c.name;
    for (auto [n, m] : {std::pair{kMax, kMax}, std::pair{std::int64_t{1} << 32, std::int64_t{1} << 32}}) {
      std::string eager = error_of([&] { c.body(ones({1}), n, m); }), compiled = error_of([&] { f(ones({1}), n, m); });
      EXPECT_NE(eager, "") << c.name;
      EXPECT_EQ(eager.substr(0, eager.find(' ')), compiled.substr(0, compiled.find(' ')))
          << c.name << ": eager " << eager << ", compiled " << compiled;
    }
    EXPECT_EQ(f(ones({1}), 1, 1).str(), c.body(ones({1}), 1, 1).str()) << c.name << ", after a refusal";
  }
}

// What has too many elements and is asked for a few of them is never made: that is no error then. Numbers that count
// them are.
TEST(Sizes, ProductsOfValuesThatNothingMakesDoNotWrap) {
  struct Row {
    const char* name;
    std::function<Tensor(Int, Int)> body;
    bool throws = true;
  };
  auto corner = [](const Tensor& t) { return t.slice(0, 0, 2).slice(1, 0, 2) + 1; };
  auto wide = [](Int n, Int m) { return ones({1, 1}).expand({n, m}); };
  const Row rows[] = {
      {"zeros",
       [=](Int n, Int m) {
         return corner(zeros({n, m}));
       },
       false},
      {"zeros + 1",
       [=](Int n, Int m) {
         return corner(zeros({n, m}) + 1);
       },
       false},
      {"expand + 1", [=](Int n, Int m) { return corner(wide(n, m) + 1); }, false},
      {"expand to float64", [=](Int n, Int m) { return corner(wide(n, m).to(kFloat64)); }, false},
      {"rows * columns", [=](Int n, Int m) { return corner(wide(n, 1) * wide(1, m)); }, false},
      {"as_strided",
       [=](Int n, Int m) {
         return corner(ones({2}).as_strided({n, m}, {0, 0}));
       },
       false},
      {"nbytes", [=](Int n, Int m) { return full({2}, 1) + wide(n, m).nbytes(); }},
      {"of no elements",
       [=](Int n, Int m) {
         return ones({1, 1, 1}).expand({n, m, 1}).slice(2, 0, 0) + 1;
       }},
  };
  constexpr std::int64_t kMost = INT64_MAX, k32 = std::int64_t{1} << 32;
  const std::pair<std::int64_t, std::int64_t> sizes[] = {
      {k32, k32}, {k32 / 2, k32}, {kMost, 2}, {kMost, kMost}, {kMost / 2 + 1, 2}, {3037000500, 3037000500}, {4, 3}};
  for (const Row& row : rows) {
    auto f = compile(row.body, {.name = row.name});
    EXPECT_EQ(f(3, 2).str(), row.body(3, 2).str()) << row.name;
    if (!row.throws) {
      EXPECT_EQ(f(k32, k32).str(), row.body(3, 2).str()) << row.name;
    }
    for (auto [n, m] : sizes) {
      auto code = [](const std::string& error) { return error.substr(0, error.find(' ')); };
      const std::string eager = error_of([&] { row.body(n, m); }), compiled = error_of([&] { f(n, m); });
      EXPECT_EQ(code(compiled), row.throws ? code(eager) : "")
          << row.name << " of " << n << ", " << m << ": " << eager << compiled;
      EXPECT_EQ(code(eager), n == 4 ? "" : "InvalidArgument") << row.name << " of " << n << ", " << m;
    }
  }
}

// 2^63 - 4 bytes are a number, but no memory: neither a result nor a temporary of the pool.
TEST(Sizes, AsManyBytesAsANumberHoldsAreNoMemory) {
  const std::int64_t n = (std::int64_t{1} << 61) - 1;
  auto wide = [](Int n) { return ones({1}).expand({n}); };
  const std::pair<const char*, std::function<Tensor(Int)>> rows[] = {
      {"cat",
       [=](Int n) {
         return cat({wide(n), wide(1)}).slice(0, 0, 2) + 1;
       }},
      {"copied",
       [=](Int n) {
         return wide(n).reshape({-1, 1}).slice(0, 0, 2) + 1;
       }},
      {"rand", [=](Int n) { return rand({n}).slice(0, 0, 2) * 0; }},
      {"written",
       [=](Int n) {
         Tensor t = zeros({n});
         t.slice(0, 0, 1).fill_(2);
         return t.slice(0, 0, 2) + 1;
       }},
      {"cumsum", [=](Int n) { return wide(n).cumsum(0).slice(0, 0, 2); }},
  };
  for (const auto& [name, body] : rows) {
    auto f = compile(body, {.name = name});
    const std::string few = f(3).str();
    for (const std::int64_t size : {n, n / 2, n - 1}) {
      const std::string error = error_of([&] { f(size); });
      EXPECT_TRUE(error.empty() || error.starts_with("OutOfMemory") || error.starts_with("InvalidArgument")) << error;
    }
    EXPECT_EQ(f(3).str(), few) << name;
  }
}

// In time by their length, and shown in part.
TEST(Sizes, EquationsOfAMillionLetters) {
  const std::size_t n = std::size_t{1} << 20;
  std::string terms;
  for (std::size_t i = 0; i < n; ++i) terms += "a,";
  const Tensor x = ones({2});
  for (const std::string& equation :
       {std::string(n, 'a'), terms + "a", terms + "a->b", std::string(n, '\x1b'), std::string("a\x1b[2J")}) {
    const std::string error = error_of([&] { einsum(equation, {x}); });
    EXPECT_TRUE(error.starts_with("InvalidArgument einsum: ")) << error.substr(0, 300);
    EXPECT_LT(error.size(), 1000u);
    EXPECT_EQ(error.find('\x1b'), std::string::npos);
  }
}

TEST(Sizes, BoundsAtTheEndsOfTheRange) {
  Tensor x = arange(6).to(kFloat32).view({2, 3});
  expect_refused({"narrow", [](Tensor t) { return t.narrow(0, kMax, 1); }}, x, "IndexOutOfRange", "narrow");
  expect_refused({"narrow, length", [](Tensor t) { return t.narrow(0, 1, kMax); }}, x, "IndexOutOfRange", "narrow");
  expect_refused({"pad", [](Tensor t) { return pad(t, {kMax, kMax}); }}, x, "InvalidArgument", "pad");
  expect_refused({"chunk of nothing", [](Tensor t) { return chunk(t.slice(0, 0, 0), kMax, 0)[0]; }}, x,
                 "InvalidArgument", "chunk");
  expect_same({"slice", [](Tensor t) { return t.slice(0, kMin, kMax, kMax) + 0; }}, x, x.slice(0, 0, 1));
  expect_same({"chunk", [](Tensor t) { return chunk(t, kMax, 0)[1] + 0; }}, x, x.slice(0, 1, 2));
  expect_same({"split", [](Tensor t) { return split(t, kMax, 0)[0] + 0; }}, x, x);
  for (std::int64_t d : {kMax, kMin, kMax - 1}) {
    Tensor none = zeros({2, 3});
    expect_same({"triu", [d](Tensor t) { return triu(t, d); }}, x, d > 0 ? none : x);
    expect_same({"tril", [d](Tensor t) { return tril(t, d); }}, x, d > 0 ? x : none);
  }
}

TEST(Sizes, StridedViewsStayWithinTheStorage) {
  Tensor x = arange(6).to(kFloat32).view({2, 3});
  expect_refused({"strides", [](Tensor t) { return t.as_strided({2}, {kMax}); }}, x, "IndexOutOfRange", "as_strided");
  expect_refused({"offset", [](Tensor t) { return t.as_strided({1}, {1}, kMax) + 0; }}, x, "IndexOutOfRange",
                 "as_strided");
  expect_refused({"one too many",
                  [](Tensor t) {
                    return t.as_strided({2, 2}, {3, 2}, 1) + 0;
                  }},
                 x, "IndexOutOfRange", "element 6 of a storage of 6");
  expect_refused({"nothing",
                  [](Tensor t) {
                    return t.as_strided({2, 2}, {0, 0}) + 0;
                  }},
                 x.slice(0, 0, 0), "IndexOutOfRange", "as_strided");
  expect_same({"the last",
               [](Tensor t) {
                 return t.as_strided({2, 2}, {3, 2}) + 0;
               }},
              x, tensor_of(std::vector<float>{0, 2, 3, 5}, {2, 2}));
  expect_same({"none of them",
               [](Tensor t) {
                 return t.as_strided({0, 2}, {3, 2}, 9).sum();
               }},
              x, zeros(IntArrayRef()));
  auto window = [](Tensor t, Int start) { return t.as_strided({2}, {1}, start) + 0; };
  auto f = compile(window);
  for (std::int64_t start : {0, 2, 4}) EXPECT_EQ(f(x, start).str(), window(x, start).str());
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_THROW(f(x, 5), Error);
  EXPECT_THROW(f(x, kMax), Error);
}

TEST(Sizes, MinusOneBesideAZeroIsAmbiguous) {
  Case c{"view", [](Tensor x) { return x.view({x.size(0), -1}); }};
  expect_refused(c, zeros({0, 3}), "InvalidArgument", "ambiguous");
  auto f = compile(c.body);
  EXPECT_EQ(f(ones({2, 3})).str(), ones({2, 3}).str());
  EXPECT_THROW(f(zeros({0, 3})), Error);
  EXPECT_EQ(f(ones({4, 3})).str(), ones({4, 3}).str());
}

TEST(Sizes, CatSkipsTensorsOfNothing) {
  Tensor x = arange(6).to(kFloat32).view({2, 3});
  expect_same({"last", [](Tensor t) { return cat({t, zeros({0})}, 1); }}, x, x);
  expect_same({"first", [](Tensor t) { return cat({zeros({0}), t * 1, t}, 0); }}, x, x.repeat({2, 1}));
  auto grow = [](Tensor out, Tensor y) { return cat({out, y}); };
  auto f = compile(grow);
  Tensor eager = zeros({0}), compiled = zeros({0});
  for (int i = 0; i < 3; ++i) eager = grow(eager, x + i), compiled = f(compiled, x + i);
  EXPECT_EQ(eager.str(), compiled.str());
  EXPECT_EQ(compiled.size(0), 6);
  expect_refused({"something", [](Tensor t) { return cat({t, zeros({1})}, 0); }}, x, "ShapeMismatch", "cat");
}

TEST(Sizes, AnIndexThatIsNoClass) {
  for (std::int64_t bad : {3, -1}) {
    Tensor ids = tensor_of(std::vector<std::int64_t>{0, bad, 2});
    auto f = compile([](Tensor i) { return one_hot(i, 3); });
    EXPECT_TRUE(error_of([&] { one_hot(ids, 3); }).starts_with("IndexOutOfRange one_hot"))
        << error_of([&] { one_hot(ids, 3); });
    EXPECT_TRUE(error_of([&] { f(ids); }).starts_with("IndexOutOfRange")) << error_of([&] { f(ids); });
    EXPECT_EQ(f(arange(3)).str(), eye(3).to(kInt64).str());
  }
  EXPECT_EQ(one_hot(tensor_of(std::vector<std::int64_t>{1, 0}).to(kUInt8), 2).str(),
            tensor_of(std::vector<std::int64_t>{0, 1, 1, 0}, {2, 2}).str());
  EXPECT_EQ(one_hot(zeros({0}, {.dtype = kInt64}), 0).numel(), 0);
}

TEST(Sizes, AttentionOfNoHeads) {
  for (bool causal : {false, true})
    for (std::vector<Int> q : {std::vector<Int>{2, 0, 0, 8}, {0, 0, 4}, {0, 4, 5, 8}, {2, 4, 0, 8}, {2, 0, 5, 8}}) {
      auto attend = [causal](Tensor t) { return scaled_dot_product_attention(t, t, t, {}, 0.0, causal); };
      Tensor t = zeros(q);
      EXPECT_EQ(attend(t).numel(), 0);
      EXPECT_EQ(compile(attend)(t).numel(), 0);
    }
}

TEST(Sizes, FilledIntegersAreCastAsToCasts) {
  for (double v : {std::nan(""), 1e30, -1e30, 300.5, -3.75}) {
    for (DType t : {kInt64, kInt32, kUInt8, kInt8}) {
      Tensor want = full({2}, v, {.dtype = kFloat64}).to(t);
      EXPECT_EQ(full({2}, v, {.dtype = t}).str(), want.str()) << v << " " << dtype_name(t);
      EXPECT_EQ(compile([=](Tensor x) { return full({2}, v, {.dtype = t}) + x; })(zeros({2}, {.dtype = t})).str(),
                want.str())
          << v << " " << dtype_name(t);
    }
  }
}

TEST(Sizes, ComparedUpToTheEndsOf64Bits) {
  auto check = [](auto condition) {
    auto f = compile([&](Tensor x, Int a) { return x * (condition(x.size(0), a) ? 1 : 0); });
    for (std::int64_t a :
         {std::int64_t{1}, std::int64_t{-9}, std::int64_t{9}, std::int64_t{INT64_MAX}, std::int64_t{INT64_MIN + 1}})
      EXPECT_EQ(f(ones({3}), a).sum().template item<int>(), condition(Int(3), Int(a)) ? 3 : 0) << a;
  };
  check([](Int, Int a) { return static_cast<bool>(a > -5); });
  check([](Int, Int a) { return static_cast<bool>(a >= -5); });
  check([](Int, Int a) { return static_cast<bool>(a < 5); });
  check([](Int, Int a) { return static_cast<bool>(a != -1); });
  check([](Int n, Int a) { return static_cast<bool>(a > n); });
  check([](Int n, Int a) { return static_cast<bool>(Int::min(a, n) == n); });
}

TEST(Sizes, ToBeInferredThroughAnArgument) {
  auto f = compile([](Tensor x, Int rows, Int wide) {
    return x.reshape({rows, 3}).unsqueeze(1).expand({-1, 2, wide});
  });
  for (int rows : {2, 4, -1, 2, -1}) {
    Tensor y = f(ones({rows == 4 ? 4 : 2, 3}), rows, rows == 4 ? 3 : -1);
    EXPECT_EQ(y.size(0), rows == 4 ? 4 : 2);
    EXPECT_EQ(y.size(2), 3);
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

}  // namespace
}  // namespace reprise
