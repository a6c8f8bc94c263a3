// The functions that are several operators, eagerly and compiled, against their definitions in plain C++ over float64:
// dtypes, layouts, sizes of 0 and 1, and sizes that change from call to call.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "reprise/reprise.h"
#include "tests/support/device.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

using Sizes = std::vector<std::int64_t>;
using Index = std::vector<std::int64_t>;

std::int64_t count(const Sizes& s) {
  std::int64_t n = 1;
  for (std::int64_t d : s) n *= d;
  return n;
}
Index index_of(std::int64_t flat, const Sizes& s) {
  Index i(s.size());
  for (std::size_t d = s.size(); d-- > 0; flat /= s[d]) i[d] = flat % s[d];
  return i;
}

/// A tensor's elements in row-major order.
struct Values {
  Sizes sizes;
  std::vector<double> data;
  double operator()(const Index& i) const {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) at = at * sizes[d] + i[d];
    return data[static_cast<std::size_t>(at)];
  }
};
Values read(const Tensor& t) {
  Values v;
  for (Int s : t.sizes()) v.sizes.push_back(s.value());
  v.data = t.to_vector<double>();
  return v;
}

enum class Layout : std::uint8_t { Dense, Transposed, Gaps };

/// Halves for floats, otherwise small integers; the same for equal sizes and seeds.
Tensor make(const Sizes& sizes, DType t, Layout layout, int seed = 0) {
  Ints wanted(sizes.begin(), sizes.end());
  const std::int64_t rank = static_cast<std::int64_t>(sizes.size());
  auto fill = [&](const Ints& s) {
    std::int64_t n = 1;
    for (Int d : s) n *= d.value();
    std::vector<double> v(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < v.size(); ++i) {
      const auto k = static_cast<double>((i * 7 + static_cast<std::size_t>(seed) * 5) % 13);
      v[i] = is_floating(t) ? (k - 6) / 2 : t == DType::UInt8 ? k : t == DType::Bool ? static_cast<int>(k) % 2 : k - 6;
    }
    return tensor_of(v, s).to(t).to(test_device());
  };
  if (layout == Layout::Dense || rank == 0) return fill(wanted);
  if (layout == Layout::Transposed) {
    Ints back, stored;
    for (std::int64_t d = rank; d-- > 0;) back.push_back(d), stored.push_back(wanted[static_cast<std::size_t>(d)]);
    return fill(stored).permute(back);
  }
  Ints wide = wanted;
  wide.back() = wide.back() * 2;
  return fill(wide).slice(-1, 0, std::nullopt, 2);
}

struct Composed : ::testing::Test {
  using Function = std::function<Tensor(Tensor)>;
  /// `expected`: from the argument's elements, the result's.
  void check(const char* name, const Function& f, const std::function<Values(const Values&)>& expected,
             const std::vector<Sizes>& shapes,
             const std::vector<DType>& dtypes = {kFloat32, kFloat64, kBFloat16, kInt64, kInt32, kUInt8},
             double tolerance = 0, bool may_fall_back = false) {
    for (DType t : dtypes) {
      auto compiled = compile([&](Tensor x) { return f(x); }, {.name = name});
      for (const Sizes& sizes : shapes)
        for (Layout layout : {Layout::Dense, Layout::Transposed, Layout::Gaps}) {
          Tensor x = make(sizes, t, layout);
          const Values want = expected(read(x));
          for (bool is_compiled : {false, true}) {
            SCOPED_TRACE(std::string(name) + " of " + std::string(dtype_name(t)) +
                         (is_compiled ? ", compiled" : ", eager"));
            const Values got = read(is_compiled ? compiled(x) : f(x));
            ASSERT_EQ(got.sizes, want.sizes);
            for (std::size_t i = 0; i < want.data.size(); ++i) {
              const double a = got.data[i], b = want.data[i],
                           allowed = (t == kBFloat16 ? 0.01 : tolerance) * (std::abs(b) + 1);
              ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= allowed)
                  << "element " << i << " of " << want.data.size() << ": " << a << " for " << b;
            }
          }
        }
      EXPECT_TRUE(may_fall_back || compiled.stats().eager_fallbacks == 0) << name;
    }
  }
  /// Elements of a result of these sizes, one by one.
  static std::function<Values(const Values&)> each(const std::function<Sizes(const Sizes&)>& sizes,
                                                   const std::function<double(const Values&, const Index&)>& element) {
    return [=](const Values& x) {
      Values r{sizes(x.sizes), {}};
      for (std::int64_t i = 0; i < count(r.sizes); ++i) r.data.push_back(element(x, index_of(i, r.sizes)));
      return r;
    };
  }
  static std::function<Values(const Values&)> pointwise(const std::function<double(double)>& f) {
    return each(same, [f](const Values& x, const Index& i) { return f(x(i)); });
  }
  static Sizes same(const Sizes& s) { return s; }

  const std::vector<DType> floats{kFloat32, kFloat64, kBFloat16};
  const std::vector<Sizes> any{{3, 4}, {1, 5}, {0, 3}, {2, 3, 4}, {6}, {5, 1}},
      matrices{{3, 4}, {4, 3}, {1, 1}, {5, 0}, {2, 3, 4}}, nonempty{{3, 4}, {1, 5}, {2, 3, 4}, {6}};
};

TEST_F(Composed, Triangles) {
  for (std::int64_t diagonal : {-1, 0, 2}) {
    auto keeps = [=](bool lower) {
      return each(same, [=](const Values& x, const Index& i) {
        const std::int64_t row = i[i.size() - 2], column = i.back();
        return (lower ? column <= row + diagonal : column >= row + diagonal) ? x(i) : 0;
      });
    };
    check(
        "tril", [=](Tensor x) { return tril(x, diagonal); }, keeps(true), matrices);
    check(
        "triu", [=](Tensor x) { return triu(x, diagonal); }, keeps(false), matrices);
  }
}

// What is one operator to its caller is rounded once, eagerly and compiled: the same bits as the Float32 result
// rounded.
TEST_F(Composed, HalvesAreRoundedOnce) {
  const std::pair<const char*, Function> functions[] = {
      {"tanhshrink", [](Tensor x) { return tanhshrink(x); }},
      {"logaddexp", [](Tensor x) { return logaddexp(x, x * 0.5); }},
      {"logaddexp of a number", [](Tensor x) { return logaddexp(x, 1.5); }},
      {"logaddexp2", [](Tensor x) { return logaddexp2(1.5, x); }},
      {"xlogy", [](Tensor x) { return xlogy(x, x.abs()); }},
      {"xlogy of a number", [](Tensor x) { return xlogy(3.0, x.abs()); }},
      {"glu", [](Tensor x) { return glu(x, 0); }},
  };
  for (DType t : {kFloat16, kBFloat16}) {
    // Numbers that are halves, and so are halves of them.
    Tensor x = ((arange(400).to(kFloat32) - 200) * 0.03125).to(t).to(test_device());
    for (const auto& [name, f] : functions) {
      SCOPED_TRACE(std::string(name) + " of " + std::string(dtype_name(t)));
      auto compiled = compile(f, {.name = name});
      const Tensor eager = f(x), once = f(x.to(kFloat32)).to(t);
      EXPECT_EQ(eager.dtype(), t);
      EXPECT_TRUE(equal(eager, once)) << (eager.to(kFloat64) - once.to(kFloat64)).abs().max().item().to_double();
      EXPECT_TRUE(equal(compiled(x), eager));
    }
  }
}

TEST_F(Composed, Rearranging) {
  auto wrapped = [](std::int64_t i, std::int64_t n) { return (i % n + n) % n; };
  for (std::int64_t shift : {1, -2, 7})
    check(
        "roll", [=](Tensor x) { return roll(x, {shift}, {-1}); },
        each(same,
             [=](const Values& x, Index i) { return i.back() = wrapped(i.back() - shift, x.sizes.back()), x(i); }),
        any);
  check(
      "roll of all", [](Tensor x) { return roll(x, {2}); },
      [&](const Values& x) {
        Values r = x;
        const auto n = static_cast<std::int64_t>(x.data.size());
        for (std::int64_t i = 0; i < n; ++i)
          r.data[static_cast<std::size_t>(wrapped(i + 2, n))] = x.data[static_cast<std::size_t>(i)];
        return r;
      },
      any);
  check("flip",
        [](Tensor x) {
          return flip(x, {0, -1});
        },
        each(same,
             [](const Values& x, Index i) {
               const bool both = i.size() > 1;
               i[0] = x.sizes[0] - 1 - i[0];
               if (both) i.back() = x.sizes.back() - 1 - i.back();
               return x(i);
             }),
        {{3, 4}, {1, 5}, {0, 3}, {2, 3, 4}});
  auto in_front = [](const Values& x, Index i) {
    i.erase(i.begin());
    for (std::size_t d = 0; d < i.size(); ++d) i[d] %= std::max<std::int64_t>(1, x.sizes[d]);
    return x(i);
  };
  check("repeat",
        [](Tensor x) {
          return repeat(x, {3, 1, 2});
        },
        each(
            [](const Sizes& s) {
              return Sizes{3, s[0], s[1] * 2};
            },
            in_front),
        {{3, 4}, {1, 5}, {0, 3}, {2, 1}});
  check(
      "repeat_interleave", [](Tensor x) { return repeat_interleave(x, 3, 0); },
      each([](Sizes s) { return s[0] *= 3, s; }, [](const Values& x, Index i) { return i[0] /= 3, x(i); }), any);
  check(
      "pad",
      [](Tensor x) {
        return pad(x, {1, 2, 0, 1}, 7);
      },
      each([](Sizes s) { return s.back() += 3, s[s.size() - 2] += 1, s; },
           [](const Values& x, Index i) {
             i.back() -= 1;
             const std::size_t row = i.size() - 2;
             return i.back() < 0 || i.back() >= x.sizes.back() || i[row] >= x.sizes[row] ? 7 : x(i);
           }),
      matrices);
  check(
      "unfold", [](Tensor x) { return x.unfold(-1, 2, 2) * 1; },
      each(
          [](Sizes s) {
            s.back() = (s.back() - 2) / 2 + 1;
            return s.push_back(2), s;
          },
          [](const Values& x, Index i) {
            const std::int64_t inside = i.back();
            i.pop_back();
            return i.back() = i.back() * 2 + inside, x(i);
            // an argument with gaps is no base of as_strided
          }),
      {{3, 4}, {5}, {1, 2}, {0, 6}}, {kFloat32, kFloat64, kBFloat16, kInt64}, 0, true);
  check(
      "stack",
      [](Tensor x) {
        return stack({x, x * 2, x}, 1);
      },
      each([](Sizes s) { return s.insert(s.begin() + 1, 3), s; },
           [](const Values& x, Index i) {
             const double by = i[1] == 1 ? 2 : 1;
             i.erase(i.begin() + 1);
             return x(i) * by;
           }),
      any);
  check(
      "split and join",
      [](Tensor x) {
        std::vector<Tensor> parts = split(x, 2, -1), back;
        for (std::size_t i = parts.size(); i-- > 0;) back.push_back(parts[i]);
        return cat(back, -1);
      },
      [](const Values& x) {
        Values r = x;
        const std::int64_t n = x.sizes.back(), rows = count(x.sizes) / std::max<std::int64_t>(1, n);
        for (std::int64_t row = 0; row < rows; ++row) {
          std::int64_t to = row * n;
          for (std::int64_t part = (n + 1) / 2; part-- > 0;)
            for (std::int64_t i = part * 2; i < std::min(n, part * 2 + 2); ++i)
              r.data[static_cast<std::size_t>(to++)] = x.data[static_cast<std::size_t>(row * n + i)];
        }
        return r;
      },
      nonempty);
  check("unbind",
        [](Tensor x) {
          std::vector<Tensor> rows = unbind(x, 0);
          return rows.front() - rows.back();
        },
        each([](const Sizes& s) { return Sizes(s.begin() + 1, s.end()); },
             [](const Values& x, Index i) {
               Index last = i;
               i.insert(i.begin(), 0), last.insert(last.begin(), x.sizes[0] - 1);
               return x(i) - x(last);
             }),
        nonempty, {kFloat32, kFloat64, kInt64, kInt32});
}

TEST_F(Composed, IndexedWrites) {
  const Tensor three = tensor_of(std::vector<std::int64_t>{2, 0, 2}).to(test_device());
  auto source = [](Tensor x) { return (x.slice(0, 0, 3) * 0 + 3); };
  for (bool add : {false, true})
    for (bool in_place : {false, true})
      check(add ? "index_add" : "index_copy",
            [=](Tensor x) {
              if (in_place)
                return add ? x.clone().index_add_(0, three, source(x)) : x.clone().index_copy_(0, three, source(x));
              return add ? index_add(x, 0, three, source(x)) : index_copy(x, 0, three, source(x));
            },
            each(same,
                 [=](const Values& x, const Index& i) {
                   const int times = i[0] == 2 ? 2 : i[0] == 0 ? 1 : 0;
                   return add ? x(i) + 3 * times : times ? 3 : x(i);
                 }),
            {{3, 4}, {4}, {3, 0}, {5, 2, 3}});
  check("one_hot", [](Tensor x) { return one_hot(x.abs(), 8); },
        each([](Sizes s) { return s.push_back(8), s; },
             [](const Values& x, Index i) {
               const std::int64_t category = i.back();
               i.pop_back();
               return std::abs(x(i)) == static_cast<double>(category);
             }),
        any, {kInt64, kInt32});
  check(
      "argsort", [](Tensor x) { return argsort(x, -1, true); },
      each(same,
           [](const Values& x, Index i) {
             // The place of the element that has i.back() greater, or equal and earlier ones.
             const std::int64_t rank = i.back(), n = x.sizes.back();
             for (std::int64_t c = 0; c < n; ++c) {
               Index at = i, other = i;
               at.back() = c;
               std::int64_t before = 0;
               for (std::int64_t o = 0; o < n; ++o)
                 other.back() = o, before += x(other) > x(at) || (x(other) == x(at) && o < c);
               if (before == rank) return static_cast<double>(c);
             }
             return -1.0;
           }),
      any);
}

TEST_F(Composed, FoldedByIndex) {
  const Tensor three = tensor_of(std::vector<std::int64_t>{2, 0, 2}).to(test_device());
  // Rows 0, 1 and 2 of the source go to rows 2, 0 and 2.
  auto rows_to = [](std::int64_t row) {
    return row == 2   ? std::vector<std::int64_t>{0, 2}
           : row == 0 ? std::vector<std::int64_t>{1}
                      : std::vector<std::int64_t>{};
  };
  for (const std::string reduce : {"sum", "prod", "mean", "amax", "amin"})
    for (bool include_self : {true, false})
      for (bool by_slices : {false, true})
        for (bool in_place : {false, true}) {
          if (by_slices && reduce == "sum") continue;
          check((by_slices ? "index_reduce " + reduce : "scatter_reduce " + reduce).c_str(),
                [=](Tensor x) {
                  Tensor source = x.slice(0, 0, 3) + 1, self = in_place ? x.clone() : x;
                  if (by_slices)
                    return in_place ? self.index_reduce_(0, three, source, reduce, include_self)
                                    : index_reduce(self, 0, three, source, reduce, include_self);
                  Ints one(static_cast<std::size_t>(x.dim()), 1);
                  one[0] = 3;
                  Tensor at = three.view(one).expand(source.sizes());
                  return in_place ? self.scatter_reduce_(0, at, source, reduce, include_self)
                                  : scatter_reduce(self, 0, at, source, reduce, include_self);
                },
                [=](const Values& x) {
                  Values made = x;
                  const std::size_t width = x.sizes[0] ? x.data.size() / static_cast<std::size_t>(x.sizes[0]) : 0;
                  for (std::int64_t row : {0, 2})
                    for (std::size_t c = 0; c < width; ++c) {
                      std::vector<double> all;
                      if (include_self) all.push_back(x.data[static_cast<std::size_t>(row) * width + c]);
                      for (std::int64_t from : rows_to(row))
                        all.push_back(x.data[static_cast<std::size_t>(from) * width + c] + 1);
                      double r = all[0];
                      for (std::size_t i = 1; i < all.size(); ++i)
                        r = reduce == "prod"   ? r * all[i]
                            : reduce == "amax" ? std::max(r, all[i])
                            : reduce == "amin" ? std::min(r, all[i])
                                               : r + all[i];
                      if (reduce == "mean") r /= static_cast<double>(all.size());
                      made.data[static_cast<std::size_t>(row) * width + c] = r;
                    }
                  return made;
                },
                {{3, 4}, {4}, {3, 0}, {5, 2, 3}},
                reduce == "mean" ? std::vector<DType>{kFloat32, kBFloat16, kFloat64}
                                 : std::vector<DType>{kFloat32, kBFloat16, kFloat64, kInt64, kInt32},
                1e-6);
        }
  // Means of integers are rounded down; counts of halves go beyond what a half can count; NaNs stay.
  Tensor whole = tensor_of(std::vector<std::int64_t>{-4, 5}).to(test_device()),
         both = tensor_of(std::vector<std::int64_t>{0, 0}).to(test_device());
  EXPECT_EQ(whole.scatter_reduce(0, both, tensor_of(std::vector<std::int64_t>{-1, 0}).to(test_device()), "mean")
                .to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{-2, 5}));
  const TensorOptions half{.dtype = kFloat16, .device = test_device()};
  EXPECT_EQ(zeros({1}, half)
                .scatter_reduce(0, zeros({3000}, {.dtype = kInt64, .device = test_device()}), full({3000}, 0.5, half),
                                "mean", false)
                .item<double>(),
            0.5);
  Tensor nan = full({3}, std::nan(""), {.device = test_device()}),
         to = zeros({3}, {.dtype = kInt64, .device = test_device()});
  EXPECT_TRUE(std::isnan(zeros({1}, {.device = test_device()}).scatter_reduce(0, to, nan, "amax").item<double>()));
  // Of bools, and the ends of narrow integers.
  Tensor bits = tensor_of(std::vector<std::uint8_t>{0, 1, 1}).to(kBool).to(test_device()),
         ones_of = ones({3}, {.dtype = kBool, .device = test_device()});
  EXPECT_EQ(bits.scatter_reduce(0, to, ones_of, "amin", false).to_vector<bool>(),
            (std::vector<bool>{true, true, true}));
  Tensor small = full({1}, -128, {.dtype = kInt8, .device = test_device()});
  EXPECT_EQ(full({1}, 5, {.dtype = kInt8, .device = test_device()})
                .scatter_reduce(0, to.slice(0, 0, 1), small, "amax", false)
                .item<int>(),
            -128);
}

TEST_F(Composed, Products) {
  const std::vector<DType> exact{kFloat32, kFloat64, kInt64};
  auto sum = [](const Values& x, std::int64_t n, const std::function<double(std::int64_t)>& term) {
    double r = 0;
    for (std::int64_t k = 0; k < n; ++k) r += term(k);
    return (void)x, r;
  };
  const std::vector<Sizes> two{{3, 4}, {1, 5}, {4, 1}, {2, 0}};
  check(
      "einsum ij,kj->ik",
      [](Tensor x) {
        return einsum("ij,kj->ik", {x, x});
      },
      each(
          [](const Sizes& s) {
            return Sizes{s[0], s[0]};
          },
          [=](const Values& x, const Index& i) {
            return sum(x, x.sizes[1], [&](std::int64_t k) { return x({i[0], k}) * x({i[1], k}); });
          }),
      two, exact, 1e-6);
  check(
      "einsum ij->ji", [](Tensor x) { return einsum("ij->ji", {x}) * 1; },
      each(
          [](const Sizes& s) {
            return Sizes{s[1], s[0]};
          },
          [](const Values& x, const Index& i) {
            return x({i[1], i[0]});
          }),
      two, exact);
  check(
      "einsum ij->j", [](Tensor x) { return einsum("ij->j", {x}); },
      each([](const Sizes& s) { return Sizes{s[1]}; },
           [=](const Values& x, const Index& i) {
             return sum(x, x.sizes[0], [&](std::int64_t k) { return x({k, i[0]}); });
           }),
      two, exact, 1e-6);
  check(
      "einsum bij,bjk->bik",
      [](Tensor x) {
        return einsum("bij,bkj->bik", {x, x});
      },
      each(
          [](const Sizes& s) {
            return Sizes{s[0], s[1], s[1]};
          },
          [=](const Values& x, const Index& i) {
            return sum(x, x.sizes[2], [&](std::int64_t k) { return x({i[0], i[1], k}) * x({i[0], i[2], k}); });
          }),
      {{2, 3, 4}, {1, 2, 5}}, exact, 1e-6);
  check(
      "outer", [](Tensor x) { return outer(x, x * 2); },
      each(
          [](const Sizes& s) {
            return Sizes{s[0], s[0]};
          },
          [](const Values& x, const Index& i) { return x({i[0]}) * x({i[1]}) * 2; }),
      {{4}, {1}, {0}}, exact);
  check(
      "dot", [](Tensor x) { return dot(x, x); },
      each([](const Sizes&) { return Sizes{}; },
           [=](const Values& x, const Index&) {
             return sum(x, x.sizes[0], [&](std::int64_t k) { return x({k}) * x({k}); });
           }),
      {{4}, {1}, {0}, {70}}, exact, 1e-6);
  check(
      "mv", [](Tensor x) { return mv(x, x.select(0, 0)); },
      each([](const Sizes& s) { return Sizes{s[0]}; },
           [=](const Values& x, const Index& i) {
             return sum(x, x.sizes[1], [&](std::int64_t k) { return x({i[0], k}) * x({0, k}); });
           }),
      {{3, 4}, {1, 5}}, exact, 1e-6);
}

TEST_F(Composed, Pointwise) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  check(
      "clamp_max", [](Tensor x) { return clamp_max(x, 2); }, pointwise([](double v) { return std::min(v, 2.0); }), any);
  check(
      "clip", [](Tensor x) { return x.clip(1, 2); }, pointwise([](double v) { return std::clamp(v, 1.0, 2.0); }), any);
  check(
      "glu", [](Tensor x) { return glu(x, -1); },
      each([](Sizes s) { return s.back() /= 2, s; },
           [](const Values& x, Index i) {
             Index gate = i;
             gate.back() += x.sizes.back() / 2;
             return x(i) / (1 + std::exp(-x(gate)));
           }),
      {{3, 4}, {2}, {0, 2}, {1, 6}}, floats, 1e-6);
  check(
      "type_as", [](Tensor x) { return x.type_as(ones({1}, {.dtype = kFloat64, .device = x.device()})); },
      pointwise([](double v) { return v; }), any);
  check(
      "hardshrink", [](Tensor x) { return hardshrink(x, 1); },
      pointwise([](double v) { return std::abs(v) <= 1 ? 0 : v; }), any, floats);
  check(
      "softshrink", [](Tensor x) { return softshrink(x); },
      pointwise([](double v) { return v > 0.5    ? v - 0.5
                                      : v < -0.5 ? v + 0.5
                                                 : 0; }), any, floats);
  check(
      "tanhshrink", [](Tensor x) { return tanhshrink(x); }, pointwise([](double v) { return v - std::tanh(v); }), any,
      floats, 1e-6);
  check(
      "prelu", [](Tensor x) { return prelu(x, full({1}, 0.25, {.dtype = x.dtype(), .device = x.device()})); },
      pointwise([](double v) { return v > 0 ? v : v / 4; }), any, floats);
  check(
      "deg2rad", [](Tensor x) { return deg2rad(x); }, pointwise([](double v) { return v * M_PI / 180; }), any, floats,
      1e-6);
  check(
      "rad2deg", [](Tensor x) { return rad2deg(x); }, pointwise([](double v) { return v * 180 / M_PI; }), any, floats,
      1e-6);
  check(
      "heaviside", [](Tensor x) { return heaviside(x, 5); }, pointwise([](double v) { return v == 0 ? 5 : v > 0; }),
      any);
  check(
      "xlogy", [](Tensor x) { return xlogy(x, x.abs()); },
      pointwise([](double v) { return v == 0 ? 0 : v * std::log(std::abs(v)); }), any, {kFloat32, kFloat64, kInt64},
      1e-6);
  check(
      "xlogy of a number", [](Tensor x) { return xlogy(x, 3.0); },
      pointwise([](double v) { return v * std::log(3.0); }), any, {kFloat32, kFloat64, kInt64}, 1e-6);
  check(
      "logaddexp", [](Tensor x) { return logaddexp(x * 100, x * 90); },
      pointwise([](double v) { return std::max(v * 100, v * 90) + std::log1p(std::exp(-std::abs(v * 10))); }), any,
      floats, 1e-6);
  check(
      "logaddexp2", [](Tensor x) { return logaddexp2(x, 1.5); },
      pointwise([](double v) { return std::log2(std::exp2(v) + std::exp2(1.5)); }), any, floats, 1e-6);
  check(
      "signbit", [](Tensor x) { return signbit(x * -1.0); }, pointwise([](double v) { return std::signbit(-v); }), any,
      floats);
  check("signbit of integers", [](Tensor x) { return signbit(x); }, pointwise([](double v) { return v < 0; }), any,
        {kInt64, kUInt8});
  // -3 becomes NaN, the ends infinite.
  auto broken = [=](Tensor x) { return where(eq(x, -2), nan, where(eq(x, 2), inf, where(eq(x, -1), -inf, x))); };
  auto as_broken = [=](double v) { return v == -2 ? nan : v == 2 ? inf : v == -1 ? -inf : v; };
  check(
      "fmax", [=](Tensor x) { return fmax(broken(x), 0.5); },
      pointwise([=](double v) { return std::fmax(as_broken(v), 0.5); }), any, floats);
  check(
      "fmin", [=](Tensor x) { return fmin(x, broken(x)); },
      pointwise([=](double v) { return std::fmin(v, as_broken(v)); }), any, floats);
  check(
      "fmax with NaN", [=](Tensor x) { return fmax(x, nan); }, pointwise([](double v) { return v; }), any, floats);
  check(
      "nan_to_num", [=](Tensor x) { return nan_to_num(broken(x), 9.0, 100.0, -100.0); }, pointwise([=](double v) {
        const double b = as_broken(v);
        return std::isnan(b) ? 9 : b == inf ? 100 : b == -inf ? -100 : b;
      }),
      any, floats);
  check(
      "isposinf", [=](Tensor x) { return logical_or(isposinf(broken(x)), isneginf(broken(x))); },
      pointwise([](double v) { return v == 2 || v == -1; }), any, floats);
  check("isclose", [=](Tensor x) { return isclose(broken(x), broken(x) + 1e-7); },
        pointwise([=](double v) { return v != 0 && !std::isnan(as_broken(v)); }), any, {kFloat64});
  check(
      "isclose with NaN", [=](Tensor x) { return isclose(broken(x), broken(x), 0, 0, true); },
      pointwise([](double) { return 1; }), any, floats);
}

TEST_F(Composed, Creation) {
  auto like = [](Tensor x) { return TensorOptions{.dtype = x.dtype(), .device = x.device()}; };
  check("eye", [=](Tensor x) { return eye(x.size(0), x.size(1), like(x)); },
        each(same, [](const Values&, const Index& i) { return i[0] == i[1]; }), {{3, 4}, {4, 3}, {1, 1}, {0, 2}});
  check(
      "zeros_like", [](Tensor x) { return zeros_like(x) + ones_like(x) * 2; }, pointwise([](double) { return 2; }),
      any);
  check(
      "linspace", [](Tensor x) { return linspace(-1, 1, x.size(0), {.device = x.device()}); },
      each([](const Sizes& s) { return Sizes{s[0]}; },
           [](const Values& x, const Index& i) {
             return -1 + 2.0 * static_cast<double>(i[0]) / static_cast<double>(x.sizes[0] - 1);
           }),
      {{5}, {2, 3}, {101}}, {kFloat32}, 1e-6);
}

TEST_F(Composed, RandomOnesAreWhatTheySay) {
  manual_seed(3);
  auto draw = compile(
      [](Tensor p) {
        return std::tuple(bernoulli(p), dropout(p + 1, 0.25), randint(-2, 5, {p.size(0)}, {.device = p.device()}));
      },
      {.name = "draw"});
  const std::int64_t n = 20000;
  auto [b, d, r] = draw(full({n}, 0.3, {.device = test_device()}));
  EXPECT_NEAR(b.to(kFloat32).mean().item().to_double(), 0.3, 0.02);
  std::vector<float> kept = d.to_vector<float>();
  EXPECT_NEAR(static_cast<double>(std::count(kept.begin(), kept.end(), 0.0f)) / static_cast<double>(n), 0.25, 0.02);
  for (float v : kept) ASSERT_TRUE(v == 0 || std::abs(v - 1.3f / 0.75f) < 1e-5) << v;
  for (std::int64_t v : r.to_vector<std::int64_t>()) ASSERT_TRUE(v >= -2 && v < 5) << v;
}

TEST_F(Composed, ElementsOutsideAreReadAsTheyAre) {
  Tensor x = tensor({{1.5, 2.5}, {-1.0, 4.0}});
  EXPECT_EQ(x.dtype(), kFloat32);
  EXPECT_EQ(x[1][0].item<float>(), -1);
  EXPECT_EQ(x[-1][1].item<int>(), 4);
  EXPECT_EQ(x.data_ptr<float>()[1], 2.5f);
  EXPECT_EQ(tensor({1, 2, 3}).dtype(), kInt64);
  EXPECT_EQ(tensor({1, 2}, {.dtype = kBFloat16}).dtype(), kBFloat16);
  EXPECT_EQ(tensor(7).dim(), 0);
  EXPECT_TRUE(tensor({true, false})[0].item<bool>());
  EXPECT_EQ(error_of([] { tensor({{1, 2}, {3}}); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { x[2]; }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(error_of([&] { x.data_ptr<double>(); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_TRUE(equal(x.flip(0)[0], x[1]));
  EXPECT_TRUE(equal(roll(x, 1, 0)[0], x[1]));
  EXPECT_EQ(zeros(5).size(0).value(), 5);
  EXPECT_TRUE(equal(max(x, zeros({2, 2})), x.clamp_min(0)));
  EXPECT_EQ(x.to(Device::cpu(), kHalf).scalar_type(), kFloat16);
  EXPECT_EQ(x.to(tensor(1)).dtype(), kLong);
  EXPECT_TRUE(equal(x, x.clone()));
  EXPECT_FALSE(equal(x, x[0]));
  EXPECT_FALSE(equal(x, x + 1e-6));
  EXPECT_TRUE(allclose(x, x + 1e-6));
  EXPECT_FALSE(x.allclose(x + 1));
}

TEST_F(Composed, BadArgumentsAreNamed) {
  Tensor x = ones({2, 3}), i = ones({2, 3}, {.dtype = kInt64});
  EXPECT_EQ(error_of([&] { logaddexp(i, i); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { hardshrink(i); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { softshrink(x, -1); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { isclose(x, x, -1); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { prelu(x, ones({2})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { prelu(x, x); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { fmax(x, ones({4})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { x.scatter_reduce(0, i, x, "median"); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { x.scatter_reduce(0, x, x, "sum"); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { x.to(kBool).scatter_reduce(0, i, x.to(kBool), "mean"); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { x.index_reduce(0, i[0], x, "prod"); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { x.index_reduce(0, i[0].slice(0, 0, 2), x, "sum"); }).code(), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace reprise::test
