// Registered patterns: what is written in one of several ways becomes what shall stand for it, with the same results,
// and nothing else does.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include "graph/interpreter.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/plan/columns.h"
#include "reprise/patterns.h"
#include "reprise/reprise.h"

namespace reprise {
namespace {

/// A pattern for the time of a test.
struct Pattern {
  template <class... A>
  explicit Pattern(std::string n, A&&... rest) : name(n) {
    register_pattern(std::move(n), std::forward<A>(rest)...);
  }
  ~Pattern() { unregister_pattern(name); }
  std::string name;
};

std::int64_t matches(const Stats& s, const std::string& pattern) {
  for (const Stats::Match& m : s.matches)
    if (m.pattern == pattern) return m.matches;
  return 0;
}

Tensor x(std::int64_t rows = 3, DType t = kFloat32) {
  return arange(rows * 8, {.dtype = kFloat32}).view({rows, 8}).mul(0.1).sub(0.7).to(t);
}
Tensor w() { return arange(8, {.dtype = kFloat32}).mul(0.25).add(1); }

Tensor rms_norm_by_hand(Tensor a, Tensor g, Scalar eps) { return a * rsqrt((a * a).mean(-1, true) + eps) * g; }

void expect_close(const Tensor& a, const Tensor& b) {
  ASSERT_LT(((a.to(kFloat64) - b.to(kFloat64)).abs() / (1 + b.to(kFloat64).abs())).max().item<double>(), 1e-5)
      << a.str() << "\nagainst\n"
      << b.str();
}

// What takes the place is seen in the results: it is another number.
TEST(Patterns, AreReplacedWhereverTheyStand) {
  Pattern p(
      "silu_mul", [](Tensor a, Tensor b) { return silu(a) * b; }, [](Tensor a, Tensor b) { return a + b; },
      std::tuple(x(), x()));
  auto f = compile([](Tensor a, Tensor b) { return silu(a) * b; });
  auto twice = compile([](Tensor a, Tensor b) { return silu(b * silu(a)) * (a - b); });
  EXPECT_TRUE(equal(f(x(), x()), x() + x()));
  EXPECT_TRUE(equal(f(x(5), x(5)), x(5) + x(5)));
  EXPECT_EQ(matches(f.stats(), "silu_mul"), 1);
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_TRUE(equal(twice(x(), x()), x() + x() + (x() - x())));
  EXPECT_EQ(matches(twice.stats(), "silu_mul"), 2);
}

// Composites, primitives, in place, through views, with casts that do nothing: one form.
TEST(Patterns, EveryWayToWriteItMatches) {
  Pattern p(
      "rms_norm", rms_norm_by_hand, [](Tensor a, Tensor g, Scalar) { return a * g; },
      std::tuple(x(), w(), Scalar(1e-5)));
  auto expect_one = [&](auto f, const char* how) {
    auto c = compile(f);
    EXPECT_TRUE(equal(c(x(), w()), x() * w())) << how;
    EXPECT_EQ(matches(c.stats(), "rms_norm"), 1) << how << "\n" << c.explain();
  };
  expect_one([](Tensor a, Tensor g) { return rms_norm(a, {8}, g, 1e-6); }, "composite");
  expect_one([](Tensor a, Tensor g) { return a * rsqrt((a * a).mean(-1, true) + 1e-6) * g; }, "primitives");
  expect_one([](Tensor a, Tensor g) { return g * (rsqrt(1e-6 + (a * a).mean(-1, true)) * a); }, "other orders");
  expect_one(
      [](Tensor a, Tensor g) {
        Tensor n = a.clone();
        n.mul_(rsqrt((a * a).mean(-1, true).add_(1e-6)));
        return n.mul_(g);
      },
      "in place");
  expect_one(
      [](Tensor a, Tensor g) {
        return rms_norm(a.to(kFloat32).view({-1, 8}), {8}, g.slice(0, 0, 8), 1e-6);
      },
      "views that do nothing");
}

TEST(Patterns, ResultsStayRight) {
  // The replacement computes the same in another way.
  Pattern p(
      "rms_norm", rms_norm_by_hand,
      [](Tensor a, Tensor g, Scalar eps) { return a / sqrt((a * a).mean(-1, true) + eps) * g; },
      std::vector{std::tuple(x(), w(), Scalar(1e-5)), std::tuple(x(4).view({2, 2, 8}), w(), Scalar(1e-5))});
  auto f = compile([](Tensor a, Tensor g, Scalar eps) {
    Tensor h = g * (a * rsqrt(eps + (a * a).mean(-1, true)));
    a.add_(h);
    return rms_norm(a, {8}, g, 1e-3).matmul(a.t());
  });
  for (std::int64_t rows : {2, 7, 3}) {
    Tensor a = x(rows), b = x(rows);
    Tensor got = f(a, w(), 1e-5 * static_cast<double>(rows));
    b.add_(rms_norm(b, {8}, w(), 1e-5 * static_cast<double>(rows)));
    expect_close(a, b);
    expect_close(got, rms_norm(b, {8}, w(), 1e-3).matmul(b.t()));
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(matches(f.stats(), "rms_norm"), 2) << f.explain();
  auto ranked = compile([](Tensor a, Tensor g) { return rms_norm(a.view({2, -1, 8}), {8}, g, 1e-5); });
  expect_close(ranked(x(4), w()), rms_norm(x(4).view({2, 2, 8}), {8}, w(), 1e-5));
  EXPECT_EQ(matches(ranked.stats(), "rms_norm"), 1);
}

TEST(Patterns, WhatIsReadElsewhereIsNotReplaced) {
  Pattern p(
      "silu_mul", [](Tensor a, Tensor b) { return silu(a) * b; }, [](Tensor a, Tensor b) { return a + b; },
      std::tuple(x(), x()));
  auto f = compile([](Tensor a, Tensor b) {
    Tensor s = silu(a);
    return std::pair(s * b, s);
  });
  auto [r, s] = f(x(), x());
  expect_close(r, silu(x()) * x());
  EXPECT_TRUE(f.stats().matches.empty());
  EXPECT_NE(f.explain().find("pattern silu_mul is nearly there"), std::string::npos) << f.explain();
}

TEST(Patterns, SeveralResults) {
  Pattern p(
      "add_norm",
      [](Tensor a, Tensor r, Tensor g) {
        Tensor sum = a + r;
        return std::pair(rms_norm(sum, {sum.size(-1)}, g, 1e-5), sum);
      },
      [](Tensor a, Tensor r, Tensor g) {
        Tensor sum = a * r;
        return std::pair(sum * g, sum);
      },
      std::tuple(x(), x(), w()));
  auto f = compile([](Tensor a, Tensor residual, Tensor g) {
    residual.add_(a);
    return rms_norm(residual, {8}, g, 1e-5);
  });
  Tensor residual = x() * 2;
  Tensor got = f(x(), residual, w());
  EXPECT_EQ(matches(f.stats(), "add_norm"), 1) << f.explain();
  expect_close(residual, x() * x() * 2);
  expect_close(got, x() * x() * 2 * w());
  EXPECT_EQ(f.stats().copied_bytes, 0);
  // Both results come of one part that neither is above.
  Pattern both(
      "exp_both", [](Tensor a) { return std::pair(exp(a).neg(), exp(a).sqrt()); },
      [](Tensor a) { return std::pair(a, a + a); }, std::tuple(x()));
  auto g = compile([](Tensor a) {
    Tensor e = exp(a * 2);
    return sqrt(e) - neg(e);
  });
  EXPECT_TRUE(equal(g(x()), (x() * 2 + x() * 2) - x() * 2));
  EXPECT_EQ(matches(g.stats(), "exp_both"), 1) << g.explain();
}

TEST(Patterns, AWriteIsNotCrossed) {
  Pattern p(
      "add_mul", [](Tensor a, Tensor b, Tensor c) { return (a + b) * c; },
      [](Tensor a, Tensor b, Tensor c) { return a - b - c; }, std::tuple(x(), x(), x()));
  // c is written between the parts: what the product reads is the new value.
  auto f = compile([](Tensor a, Tensor b, Tensor c) {
    Tensor s = a + b;
    c.add_(1);
    Tensor r = s * c;
    c.add_(1);
    return r;
  });
  Tensor c = x();
  EXPECT_TRUE(equal(f(x(), x() * 3, c), x() - x() * 3 - (x() + 1)));
  EXPECT_TRUE(equal(c, x() + 2));
  EXPECT_EQ(matches(f.stats(), "add_mul"), 1);
  // c is made of the sum, which is read there: it is no part of the pattern alone.
  auto g = compile([](Tensor a, Tensor b) {
    Tensor s = a + b;
    return s * exp(s);
  });
  expect_close(g(x(), x()), (x() + x()) * exp(x() + x()));
  EXPECT_TRUE(g.stats().matches.empty());
}

TEST(Patterns, TheLargestIsFirstAndPriorityBeforeIt) {
  Pattern small(
      "small", [](Tensor a) { return exp(a).neg(); }, [](Tensor a) { return a * 2; }, std::tuple(x()));
  Pattern large(
      "large", [](Tensor a) { return exp(a).neg().abs(); }, [](Tensor a) { return a * 3; }, std::tuple(x()));
  auto body = [](Tensor a) { return exp(a).neg().abs(); };
  auto f = compile(body);
  EXPECT_TRUE(equal(f(x()), x() * 3));
  Pattern first(
      "first", [](Tensor a) { return exp(a).neg(); }, [](Tensor a) { return a * 5; }, std::tuple(x()),
      PatternOptions{.priority = 1});
  EXPECT_TRUE(equal(f(x()), x() * 3)) << "what is compiled stays";
  auto g = compile(body);
  EXPECT_TRUE(equal(g(x()), (x() * 5).abs()));
  ASSERT_EQ(registered_patterns().size(), 3u);
  EXPECT_EQ(registered_patterns()[0].name, "first");
  EXPECT_EQ(registered_patterns()[1].name, "large");
  EXPECT_NE(registered_patterns()[2].graphs.at(0).find("neg("), std::string::npos);
}

// What takes the place may be an operand itself, or a view of one.
TEST(Patterns, OperandsAndViewsTakeTheirPlace) {
  Pattern p(
      "log_exp", [](Tensor a) { return log(exp(a)); }, [](Tensor a) { return a; }, std::tuple(x()));
  Pattern t(
      "turned", [](Tensor a) { return neg(neg(a.t())); }, [](Tensor a) { return a.t(); }, std::tuple(x()));
  auto f = compile([](Tensor a) { return log(exp(a)); });
  auto g = compile([](Tensor a) { return neg(neg(a.t())).view({2, -1}) + 1; });
  Tensor a = x(), r = f(a);
  EXPECT_TRUE(equal(r, a));
  EXPECT_FALSE(r.shares_storage_with(a)) << "the program returns a new tensor";
  r.add_(1);
  EXPECT_TRUE(equal(f(a), a)) << "and it stays one";
  EXPECT_TRUE(equal(g(x(4)), x(4).t().contiguous().view({2, -1}) + 1));
  EXPECT_EQ(matches(f.stats(), "log_exp") + matches(g.stats(), "turned"), 2);
}

// Matches lie side by side and in a row, each node in one.
TEST(Patterns, ManyMatches) {
  Pattern p(
      "twice", [](Tensor a, Tensor b) { return exp(a) + b; }, [](Tensor a, Tensor b) { return a - b; },
      std::tuple(x(), x()));
  auto f = compile([](Tensor a, Tensor b) {
    for (int i = 0; i < 50; ++i) a = exp(a) + b;
    return a;
  });
  Tensor want = x();
  for (int i = 0; i < 50; ++i) want = want - x() * 0.5;
  expect_close(f(x(), x() * 0.5), want);
  EXPECT_EQ(matches(f.stats(), "twice"), 50);
}

TEST(Patterns, NumbersAndConditions) {
  Pattern p(
      "scale", [](Tensor a, Scalar by, Int k) { return (a * by).slice(1, 0, k).neg(); },
      [](Tensor a, Scalar by, Int k) { return a.slice(1, 0, k) + by; }, std::tuple(x(), Scalar(2.5), Int(3)),
      PatternOptions{.may_match = [](const PatternMatch& m) {
        if (m.dtype(0) != kFloat32) return std::string("is no float32");
        return (m.integer(0) % 2 == 0).known_true() ? "" : std::string("an even number of columns is wanted");
      }});
  auto even = compile([](Tensor a, Scalar by) { return (a * by).slice(1, 0, 4).neg(); });
  EXPECT_TRUE(equal(even(x(), 3.5), x().slice(1, 0, 4) + 3.5));
  EXPECT_TRUE(equal(even(x(), -1.0), x().slice(1, 0, 4) - 1.0));
  auto constant = compile([](Tensor a, Int k) { return (a * 2).slice(1, 0, k * 2).neg(); });
  EXPECT_TRUE(equal(constant(x(), 1), x().slice(1, 0, 2) + 2.0));
  EXPECT_TRUE(equal(constant(x(), 3), x().slice(1, 0, 6) + 2.0));
  EXPECT_EQ(constant.stats().compilations, 1) << "nothing is guarded for a match";
  auto odd = compile([](Tensor a) { return (a * 2).slice(1, 0, 5).neg(); });
  EXPECT_TRUE(equal(odd(x()), (x() * 2).slice(1, 0, 5).neg()));
  EXPECT_NE(odd.explain().find("an even number of columns is wanted"), std::string::npos) << odd.explain();
  auto any = compile([](Tensor a, Int k) { return (a * 2).slice(1, 0, k).neg(); });
  EXPECT_TRUE(equal(any(x(), 4), (x() * 2).slice(1, 0, 4).neg())) << "4 in this call, and no multiple of 2 in others";
}

// A pattern that wants the same sizes finds them only where they are known to be.
TEST(Patterns, SizesAreProved) {
  Pattern p(
      "outer", [](Tensor a, Tensor b) { return exp(a) * b; }, [](Tensor a, Tensor b) { return a + b; },
      std::tuple(x(), x()));
  auto f = compile([](Tensor a, Tensor b) { return exp(a) * b; });
  expect_close(f(x(3), x(1)), exp(x(3)) * x(1));  // broadcast: another function
  EXPECT_TRUE(f.stats().matches.empty());
  EXPECT_TRUE(equal(f(x(3), x(3)), x(3) + x(3)));
  EXPECT_EQ(matches(f.stats(), "outer"), 1);
}

TEST(Patterns, DtypesAreTheExamples) {
  auto pattern = [](Tensor a) { return exp(a).neg(); };
  Pattern p(
      "half", pattern, [](Tensor a) { return a * 2; },
      std::vector{std::tuple(x(3, kBFloat16)), std::tuple(x(3, kFloat16))});
  auto f = compile(pattern);
  EXPECT_TRUE(equal(f(x(3, kBFloat16)), x(3, kBFloat16) * 2));
  EXPECT_TRUE(equal(f(x(3, kFloat16)), x(3, kFloat16) * 2));
  expect_close(f(x()), exp(x()).neg());
}

// An operator that writes its argument is sought as what it computes, and found through a view.
TEST(Patterns, OperatorsThatWrite) {
  static const graph::OpId shift = graph::register_op(
      {.schema = "patterns::shift(Tensor(a!) self, Scalar by) -> ()", .shape = [](graph::RuleCtx&) {}},
      {kernels::reference_kernels().fact({[](const kernels::NativeArgs& a) {
        kernels::TensorView t = a.tensor(0);
        for (std::int64_t i = 0; i < t.sizes[0]; ++i)
          for (std::int64_t j = 0; j < t.sizes[1]; ++j)
            reinterpret_cast<float*>(t.data)[i * t.strides[0] + j * t.strides[1]] +=
                static_cast<float>(a.number(1).is_float ? a.number(1).f : static_cast<double>(a.number(1).i));
      }})});
  auto call = [](Tensor& t, Scalar by) {
    graph::calln(shift, std::initializer_list<graph::CallArg>{&t, by}, SourceLoc::current());
  };
  Pattern p(
      "shift_exp",
      [=](Tensor a, Scalar by) {
        call(a, by);
        return exp(a);
      },
      [](Tensor a, Scalar by) {
        a.sub_(by);
        return a * 2;
      },
      std::tuple(x(), Scalar(1.0)));
  auto f = compile([=](Tensor a) {
    Tensor part = a.slice(0, 1, 3);
    call(part, 2.0);
    return exp(part);
  });
  Tensor a = x(), want = x();
  want.slice(0, 1, 3).sub_(2.0);
  EXPECT_TRUE(equal(f(a), want.slice(0, 1, 3) * 2)) << f.explain();
  EXPECT_TRUE(equal(a, want));
}

// Compilations on several threads seek the same patterns.
TEST(Patterns, ManyThreads) {
  Pattern p(
      "rms_norm", rms_norm_by_hand, [](Tensor a, Tensor g, Scalar) { return a * g; },
      std::tuple(x(), w(), Scalar(1e-5)));
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&right, t] {
      for (int i = 0; i < 10; ++i) {
        auto f = compile([t, i](Tensor a, Tensor g) { return rms_norm_by_hand(a, g, 1e-6 * (1 + t) * (1 + i)); });
        right += equal(f(x(), w()), x() * w()) && matches(f.stats(), "rms_norm") == 1;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 40);
}

std::string refusal(auto&&... args) {
  try {
    register_pattern(args...);
    unregister_pattern("p");
    return "";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
    return e.message();
  }
}

TEST(Patterns, Mistakes) {
  auto pattern = [](Tensor a) { return exp(a).neg(); };
  const auto example = std::tuple(x());
  auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' lacks '" << part << "'";
  };
  has(refusal(
          "p", pattern, [](Tensor a) { return a.to(kFloat64); }, example),
      "result 0 is float32 [s0, s1], of the replacement float64 [s0, s1]");
  has(refusal(
          "p", pattern, [](Tensor a) { return a.sum(0); }, example),
      "result 0 is float32 [s0, s1], of the replacement float32 [s1]");
  has(refusal(
          "p", [](Tensor a, Tensor) { return exp(a).neg(); }, [](Tensor a, Tensor b) { return a + b; },
          std::tuple(x(), x())),
      "the replacement reads 'arg 1', which the pattern does not");
  has(refusal(
          "p", [](Tensor a) { return std::pair(exp(a), a); }, [](Tensor a) { return std::pair(a, a); }, example),
      "it returns 'arg 0' as it is");
  has(refusal(
          "p", [](Tensor a) { return std::pair(exp(a), Tensor()); }, [](Tensor a) { return std::pair(a, a); }, example),
      "returns an undefined tensor");
  has(refusal(
          "p", [](Tensor a) { return a + rand({8}); }, pattern, example),
      "draws random numbers");
  has(refusal(
          "p", [](Tensor a) { return a * a.sum().item<float>(); }, pattern, example),
      "the pattern cannot be traced");
  const Tensor outside = x();
  has(refusal(
          "p", [&](Tensor a) { return exp(a) + outside; }, pattern, example),
      "reads a tensor that is none of its arguments");
  has(refusal("", pattern, pattern, example), "needs a name");
  has(refusal(
          "p", [](Tensor a, Tensor b) { return std::pair(exp(a), exp(b)); },
          [](Tensor a, Tensor b) { return std::pair(a + 1, b + 1); }, std::tuple(x(), x())),
      "not found in itself");
  Pattern p("p", pattern, pattern, example);
  has(refusal("p", pattern, pattern, example), "registered already");
  EXPECT_FALSE(unregister_pattern("another"));
  EXPECT_EQ(registered_patterns().size(), 1u) << "nothing half-registered";
}

}  // namespace
}  // namespace reprise
