// Operators of a user's own, through the public headers alone (reprise/library.h).
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "reprise/library.h"
#include "reprise/patterns.h"
#include "reprise/reprise.h"

namespace reprise {
namespace {

const Library& lib() {
  static const Library l("testlib");
  return l;
}

Tensor ramp(std::int64_t rows, std::int64_t columns) {
  return arange(rows * columns, {.dtype = kFloat32}).view({rows, columns}).mul(0.25).sub(1);
}
float& at(const TensorView& t, std::int64_t i, std::int64_t j) {
  return t.as<float>()[i * t.strides[0] + j * t.strides[1]];
}

/// out = x / rms(x) * w, by rows; returns nothing.
const Operator& rms_norm_out() {
  static const Operator op =
      lib().define({.schema = "rms_norm_out(Tensor(a!) out, Tensor x, Tensor w, float eps=1e-6) -> ()",
                    .shape =
                        [](ShapeCall& c) {
                          if (c.dtype(0) != kFloat32 || c.dtype(1) != kFloat32 || c.dim(1) != 2)
                            c.fail(ErrorCode::DTypeMismatch, "wants matrices of float32");
                          c.expect_equal(c.size(0, 0), c.size(1, 0), "rows of out and x");
                          c.expect_equal(c.size(0, 1), c.size(1, 1), "columns of out and x");
                          c.expect_equal(c.size(2, 0), c.size(1, -1), "columns of x and the weight");
                        },
                    .cpu =
                        [](const KernelCall& k) {
                          const TensorView &out = k.tensor(0), &x = k.tensor(1), &w = k.tensor(2);
                          for (std::int64_t i = 0; i < x.sizes[0]; ++i) {
                            double sum = 0;
                            for (std::int64_t j = 0; j < x.sizes[1]; ++j) sum += double(at(x, i, j)) * at(x, i, j);
                            const double scale = 1 / std::sqrt(sum / double(x.sizes[1]) + k.number(3).to_double());
                            for (std::int64_t j = 0; j < x.sizes[1]; ++j)
                              at(out, i, j) = static_cast<float>(at(x, i, j) * scale * w.as<float>()[j * w.strides[0]]);
                          }
                        }});
  return op;
}
/// Two results of other sizes and dtypes; takes all kinds of arguments.
const Operator& stats_operator() {
  static const Operator op =
      lib().define({.schema = "stats(Tensor[] all, int[] dims, Scalar by=1, bool twice=False, ScalarType? dtype=None, "
                              "str how=\"sum\", Tensor? extra=None, int shift=0) -> (Tensor, Tensor)",
                    .shape =
                        [](ShapeCall& c) {
                          c.result(kFloat64, {Int(static_cast<std::int64_t>(c.count(0)))});
                          c.result(c.dtype_argument(4, kInt64), c.integers(1));
                        },
                    .cpu =
                        [](const KernelCall& k) {
                          double* sums = k.result(0).as<double>();
                          for (std::uint32_t i = 0; i < k.count(0); ++i) {
                            const TensorView& t = k.tensor(0, i);
                            sums[i] = 0;
                            for (std::int64_t j = 0; j < t.numel(); ++j)
                              sums[i] += static_cast<double>(t.as<float>()[j]);
                            sums[i] = (sums[i] * k.number(2).to_double() * (k.flag(3) ? 2 : 1)) +
                                      (k.text(5) == "sum" ? 0 : 1000) +
                                      (k.has(6) ? static_cast<double>(k.tensor(6).as<float>()[0]) : 0) +
                                      static_cast<double>(k.integer(7));
                          }
                          for (std::int64_t j = 0; j < k.result(1).numel(); ++j)
                            k.result(1).as<std::int64_t>()[j] = k.integer(1, 0) * 100 + j;
                        }});
  return op;
}

void expect_close(const Tensor& a, const Tensor& b) {
  ASSERT_LT((a - b).abs().max().item<float>(), 1e-5f) << a.str() << "\nagainst\n" << b.str();
}

TEST(Library, AnOperatorThatWritesRunsEagerlyAndCompiled) {
  auto body = [](Tensor out, Tensor x, Tensor w) {
    rms_norm_out()(out.slice(1, 2, 6), x, w);
    return out * 2;
  };
  auto f = compile(body);
  for (std::int64_t rows : {3, 5, 1}) {
    Tensor a = zeros({rows, 8}), b = zeros({rows, 8}), x = ramp(rows, 4), w = arange(4, {.dtype = kFloat32});
    const Tensor got = f(a, x, w), want = body(b, x, w);
    expect_close(a, b);
    expect_close(got, want);
    expect_close(b.slice(1, 2, 6), rms_norm(x, {4}, w, 1e-6));
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_NE(f.explain().find("testlib::rms_norm_out"), std::string::npos);
}

/// Writes its result from the first byte to the last, as one that is contiguous may be.
Tensor doubled(const Tensor& x) {
  static const Operator op = lib().define({.schema = "doubled(Tensor x) -> Tensor", .cpu = [](const KernelCall& k) {
                                             const TensorView &in = k.tensor(0), &out = k.result();
                                             EXPECT_TRUE(out.contiguous());
                                             for (std::int64_t i = 0; i < in.sizes[0]; ++i)
                                               for (std::int64_t j = 0; j < in.sizes[1]; ++j)
                                                 out.as<float>()[i * in.sizes[1] + j] = 2 * at(in, i, j);
                                           }});
  return op(x);
}

TEST(Library, ResultsAreContiguousWhereverTheyGo) {
  using Body = Tensor (*)(Tensor, Tensor);
  const Body bodies[] = {
      [](Tensor x, Tensor) {
        return cat({doubled(x), x}, 1);
      },
      [](Tensor x, Tensor) {
        return cat({x, doubled(x)}, 0);
      },
      [](Tensor x, Tensor) {
        return stack({x, doubled(x)}, 1);
      },
      [](Tensor x, Tensor) {
        return stack({doubled(x), x}, 2);
      },
      [](Tensor x, Tensor) {
        return pad(doubled(x), {1, 1});
      },
      [](Tensor x, Tensor) {
        return pad(doubled(x), {0, 0, 1, 2});
      },
      [](Tensor x, Tensor y) { return y.copy_(doubled(x)), y * 2; },
      [](Tensor x, Tensor y) { return y.t().copy_(doubled(x.t())), y * 2; },
      [](Tensor x, Tensor y) { return y.slice(1, 1, 3).copy_(doubled(x).slice(1, 1, 3)), y * 2; },
      [](Tensor x, Tensor y) { return y.select(1, 0).copy_(doubled(x).select(1, 2)), y * 2; },
      [](Tensor x, Tensor y) { return y.add_(1).copy_(doubled(x)), x + y; },
      [](Tensor x, Tensor) {
        return zeros({4, x.size(0)}).t().copy_(doubled(x));
      },
      [](Tensor x, Tensor) {
        return slice_scatter(zeros({x.size(0), 9}), doubled(x), 1, 2, 6);
      },
  };
  for (const Body& body : bodies) {
    auto f = compile(body);
    for (std::int64_t rows : {3, 5, 1})
      for (const bool transposed : {false, true}) {
        SCOPED_TRACE(testing::Message() << &body - bodies << ", " << rows << " rows, transposed: " << transposed);
        const Tensor x = ramp(rows, 4);
        auto place = [&] { return transposed ? ramp(4, rows).t() : ramp(rows, 4); };
        Tensor a = place(), b = place();
        const Tensor got = f(x, a), want = body(x, b);
        expect_close(a, b);
        expect_close(got, want);
      }
    EXPECT_EQ(f.stats().eager_fallbacks, 0);
  }
}

TEST(Library, ArgumentsOfAllKinds) {
  const Tensor a = ones({3}), b = ones({2, 2});
  for (bool compiled : {false, true}) {
    auto body = [](Tensor x, Tensor y, Int shift) {
      Operator::Results r = stats_operator()(std::vector<Tensor>{x, y}, Ints{}, 2.5);
      Operator::Results s = stats_operator()(std::vector<Tensor>{x, y}, Ints{2, 3}, 1, true, kInt64, "more", x, shift);
      return std::tuple(r[0], r[1], s[0], s[1]);
    };
    auto f = compile(body);
    auto [sums, shape, more, shape2] = compiled ? f(a, b, 7) : body(a, b, 7);
    EXPECT_EQ(sums.to_vector<double>(), (std::vector<double>{7.5, 10}));
    EXPECT_EQ(shape.dim(), 0);
    EXPECT_EQ(more.to_vector<double>(), (std::vector<double>{6 + 1001 + 7, 8 + 1001 + 7}));
    EXPECT_EQ(shape2.sizes(), (Ints{2, 3}));
    EXPECT_EQ(shape2.to_vector<std::int64_t>()[4], 204);
    if (compiled) {
      f(ones({5}), b, 9);
      EXPECT_EQ(f.stats().compilations, 1);
    }
  }
}

std::string message(auto&& f) {
  try {
    f();
    return "no error";
  } catch (const Error& e) {
    return std::string(error_code_name(e.code())) + " " + e.op() + ": " + e.message() +
           (std::string(e.what()).find("library_test.cc:") != std::string::npos ? " (here)" : "");
  }
}

TEST(Library, MistakesOfCallsNameTheOperatorAndTheLine) {
  Tensor out = zeros({2, 4}), x = ramp(2, 4), w = ones({4});
  const std::string schema = " (testlib::rms_norm_out(Tensor(a!) out, Tensor x, Tensor w, float eps=1e-6) -> ())";
  EXPECT_EQ(message([&] { rms_norm_out()(out, x); }),
            "InvalidArgument testlib::rms_norm_out: 'w' is missing" + schema + " (here)");
  EXPECT_EQ(message([&] { rms_norm_out()(out, x, w, 1, 2); }),
            "InvalidArgument testlib::rms_norm_out: takes 4 arguments, not 5" + schema + " (here)");
  EXPECT_EQ(message([&] { rms_norm_out()(out, x, 3); }),
            "InvalidArgument testlib::rms_norm_out: 'w' is an integer" + schema + " (here)");
  EXPECT_EQ(message([&] { rms_norm_out()(out, std::nullopt, w); }),
            "InvalidArgument testlib::rms_norm_out: 'x' is None" + schema + " (here)");
  EXPECT_EQ(message([&] { rms_norm_out()(out, x, ones({5})); }),
            "ShapeMismatch testlib::rms_norm_out: sizes 5 and 4 of columns of x and the weight (here)");
  EXPECT_EQ(message([&] { rms_norm_out()(out, x.to(kFloat64), w); }),
            "DTypeMismatch testlib::rms_norm_out: wants matrices of float32 (here)");
  EXPECT_EQ(message([&] { Tensor t = stats_operator()(std::vector<Tensor>{x}, Ints{}); }),
            "InvalidArgument testlib::stats: gives 2 results, and one is wanted");
  auto f = compile([&](Tensor o, Tensor a, Tensor b) { rms_norm_out()(o, a, b); });
  EXPECT_EQ(message([&] { f(out, x, ones({5})); }),
            "ShapeMismatch testlib::rms_norm_out: sizes 5 and 4 of columns of x and the weight (here)");
  EXPECT_TRUE(equal(out, zeros({2, 4})));
}

TEST(Library, MistakesOfRegistration) {
  auto kernel = [](const KernelCall&) {};
  auto define = [&](OperatorDef d) { return message([&] { lib().define(d); }); };
  EXPECT_EQ(message([] { Library l("no good"); }),
            "InvalidArgument Library: 'no good' can be no namespace of operators");
  EXPECT_NE(define({.schema = "oops(Tensor x, -> Tensor", .cpu = kernel}).find("column"), std::string::npos)
      << define({.schema = "oops(Tensor x, -> Tensor", .cpu = kernel});
  EXPECT_EQ(define({.schema = "oops(Tensor x) -> Tensor"}),
            "InvalidArgument testlib::oops: has no kernel, and no decomposition");
  EXPECT_EQ(define({.schema = "other::oops(Tensor x) -> Tensor", .cpu = kernel}),
            "InvalidArgument other::oops: is defined by the library 'testlib'");
  EXPECT_EQ(define({.schema = "oops(Tensor x) -> (Tensor, Tensor)", .cpu = kernel}),
            "InvalidArgument testlib::oops: has several results, and no shape function");
  EXPECT_EQ(define({.schema = "oops(Tensor x) -> ()", .cpu = kernel}).substr(0, 74),
            "InvalidArgument testlib::oops: has no results, writes nothing and has no e");
  EXPECT_EQ(define({.schema = "oops(Tensor x) -> Tensor",
                    .cpu = kernel,
                    .workspace = [](const std::vector<WorkspaceTensor>&) { return Int(1); }}),
            "InvalidArgument testlib::oops: says how much memory its kernel for a device works in, and has none");
  EXPECT_EQ(message([] { lib().find("oops"); }),
            "InvalidArgument Library: the library 'testlib' has no operator 'oops'")
      << "nothing half-registered";
  stats_operator();
  EXPECT_EQ(lib().find("stats").name(), "testlib::stats");
  EXPECT_EQ(define({.schema = "stats(Tensor x) -> Tensor", .cpu = kernel}),
            "InvalidArgument testlib::stats: there is an operator of this name");
}

// What an operator writes and what another computes are one, in compiled functions and for patterns.
TEST(Library, FunctionalForms) {
  static const Operator scaled =
      lib().define({.schema = "scaled(Tensor x, Tensor by) -> Tensor", .cpu = [](const KernelCall& k) {
                      for (std::int64_t i = 0; i < k.result().numel(); ++i)
                        k.result().as<float>()[i] =
                            k.tensor(0).as<float>()[i * k.tensor(0).strides[0]] * k.tensor(1).as<float>()[0];
                    }});
  static const Operator scale_ = lib().define({.schema = "scale_(Tensor(a!) x, Tensor by) -> Tensor(a!)",
                                               .cpu =
                                                   [](const KernelCall& k) {
                                                     for (std::int64_t i = 0; i < k.tensor(0).numel(); ++i)
                                                       k.tensor(0).as<float>()[i * k.tensor(0).strides[0]] *=
                                                           k.tensor(1).as<float>()[0];
                                                   },
                                               .functional = "testlib::scaled"});
  auto body = [](Tensor x, Tensor by) {
    scale_(x, by);
    return Tensor(scaled(x.slice(0, 0, 2), by));
  };
  auto f = compile(body);
  Tensor x = arange(4, {.dtype = kFloat32}), y = x.clone(), by = full({1}, 3.0);
  expect_close(f(x, by), body(y, by));
  expect_close(x, y);
  register_pattern(
      "scaled_exp", [](Tensor a, Tensor b) { return exp(Tensor(scaled(a, b))); },
      [](Tensor a, Tensor b) { return exp(a * b); }, std::tuple(x, by));
  auto g = compile([](Tensor a, Tensor b) {
    scale_(a, b);
    return std::pair(exp(a), exp(Tensor(scaled(b, b))));
  });
  auto h = compile([](Tensor a, Tensor b) {
    Tensor t = a.clone();
    scale_(t, b);
    return exp(t);
  });
  const Tensor z = full({4}, 0.5);
  g(x.clone(), full({1}, 2.0));
  expect_close(h(z, by), exp(z * by));
  ASSERT_EQ(h.stats().matches.size(), 1u) << h.explain();
  ASSERT_EQ(g.stats().matches.size(), 1u) << g.explain();
  EXPECT_EQ(g.stats().matches[0].matches, 1) << "what is written into an argument is no inner part of a match";
  unregister_pattern("scaled_exp");
  EXPECT_NE(message([] {
              lib().define({.schema = "bad_(Tensor(a!) y, Tensor by) -> ()",
                            .cpu = [](const KernelCall&) {},
                            .functional = "testlib::scaled"});
            }),
            "no error");
  EXPECT_NE(message([] { lib().find("bad_"); }), "no error") << "nothing half-registered";
}

// An operator that is told in terms of others is what it is made of: eagerly, in compiled functions, for patterns.
TEST(Library, Decompositions) {
  static const Operator gated =
      lib().define({.schema = "gated(Tensor x, Tensor? by=None, float scale=1, int[] dims=[-1], bool twice=False, "
                              "ScalarType? dtype=None, str how=\"silu\") -> Tensor",
                    .decomposition = [](Tensor x, Tensor by, Scalar scale, const Ints& dims, bool twice,
                                        std::optional<DType> dtype, std::string_view how) {
                      Tensor y = (how == "silu" ? silu(x) : relu(x)) * scale;
                      if (by.defined()) y.mul_(by);
                      if (twice) y = y * 2;
                      for (Int d : dims) y = y - y.mean({d}, true);
                      return dtype ? y.to(*dtype) : y;
                    }});
  static const Operator halve_ =
      lib().define({.schema = "halve_(Tensor(a!) x, Tensor[] others) -> (Tensor(a!), Tensor, Tensor)",
                    .decomposition = [](Tensor x, std::vector<Tensor> others) {
                      for (const Tensor& o : others) x.add_(o);
                      const Tensor sum = x.sum();
                      x.mul_(0.5);
                      return std::pair(sum, x.amax());
                    }});
  static const Operator note_ =
      lib().define({.schema = "note_(Tensor(a!) log, Tensor x, SymInt at) -> ()",
                    .decomposition = [](Tensor log, Tensor x, Int at) { log.select(0, at).copy_(x.sum()); }});
  auto body = [](Tensor x, Tensor by, Tensor log, Int at) {
    const auto both = halve_(x, std::vector{by, by});
    note_(log, both[0], at);
    const Tensor y = gated(both[1] + both[2] + x, by, 0.5, Ints{0, 1}, true, kFloat64);
    return std::tuple(y, Tensor(gated(x, std::nullopt, 2, Ints{-1}, false, std::nullopt, "relu")), both[0]);
  };
  auto f = compile(body);
  for (std::int64_t rows : {3, 5, 1}) {
    Tensor x = ramp(rows, 4), y = x.clone(), by = ramp(rows, 4).cos(), log = zeros({4}), other = log.clone();
    const auto got = f(x, by, log, 2), want = body(y, by, other, 2);
    expect_close(std::get<0>(got).to(kFloat32), std::get<0>(want).to(kFloat32));
    expect_close(std::get<1>(got), std::get<1>(want));
    expect_close(x, y);
    expect_close(log, other);
    EXPECT_TRUE(std::get<2>(want).is_same(y)) << "the argument itself";
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_NE(f.explain().find("testlib::gated"), std::string::npos) << f.explain();
  // A pattern over it is one over what it is made of.
  register_pattern(
      "gated_relu", [](Tensor x) { return Tensor(gated(x, std::nullopt, 3, Ints{-1}, false, std::nullopt, "relu")); },
      [](Tensor x) {
        const Tensor y = clamp_min(x, 0.0) * 3;
        return y - y.sum({-1}, true) / Scalar(x.size(-1));
      },
      std::tuple(ramp(2, 4)));
  auto g = compile([](Tensor x) {
    const Tensor y = relu(x) * 3;
    return y - y.mean({-1}, true);
  });
  expect_close(g(ramp(3, 4)), gated(ramp(3, 4), std::nullopt, 3, Ints{-1}, false, std::nullopt, "relu"));
  ASSERT_EQ(g.stats().matches.size(), 1u) << g.explain();
  EXPECT_EQ(g.stats().matches[0].pattern, "gated_relu");
  unregister_pattern("gated_relu");
  EXPECT_EQ(message([] { gated(Tensor()); }),
            "InvalidArgument testlib::gated: argument 'x' is an undefined tensor (here)");
  const std::string inner = message([] { gated(ramp(2, 4), ramp(3, 3)); });
  EXPECT_EQ(inner.substr(0, 19), "ShapeMismatch mul_:") << inner;
}

// Beside a kernel it serves the devices that the kernel is not for, and both must agree on samples, as the functional
// form must.
TEST(Library, SamplesAreTriedBeforeAnOperatorIsKnown) {
  const Tensor x = ramp(3, 4), w = ramp(1, 4).view({4});
  const Kernel doubles = [](const KernelCall& k) {
    for (std::int64_t i = 0; i < k.result().numel(); ++i) k.result().as<float>()[i] = 2 * k.tensor(0).as<float>()[i];
  };
  const Operator twice = lib().define({.schema = "twice(Tensor x, float by=2) -> Tensor",
                                       .cpu = doubles,
                                       .decomposition = [](Tensor t, Scalar by) { return t * by; },
                                       .samples = {{x}, {x, 2}}});
  expect_close(twice(x), x * 2);
  auto define = [&](OperatorDef d) { return message([&] { lib().define(std::move(d)); }); };
  EXPECT_EQ(define({.schema = "thrice(Tensor x, float by=2) -> Tensor",
                    .cpu = doubles,
                    .decomposition = [](Tensor t, Scalar by) { return t * by; },
                    .samples = {{x}, {x, 3}}}),
            "InvalidArgument testlib::thrice: sample 2: element [0, 0] is -3 by its decomposition and -2 by its kernel "
            "(and 10 more)");
  EXPECT_EQ(message([] { lib().find("thrice"); }),
            "InvalidArgument Library: the library 'testlib' has no operator 'thrice'")
      << "nothing half-registered";
  EXPECT_EQ(lib().define({.schema = "thrice(Tensor x) -> Tensor", .cpu = doubles}).name(), "testlib::thrice")
      << "and the name is free";
  // What is written, too.
  auto kernel = [](const KernelCall& k) {
    for (std::int64_t i = 0; i < k.tensor(0).numel(); ++i) k.tensor(0).as<float>()[i] *= 2;
  };
  EXPECT_EQ(define({.schema = "double_(Tensor(a!) x) -> ()",
                    .cpu = kernel,
                    .functional = "testlib::thrice(Tensor x) -> Tensor",
                    .samples = {{x}}}),
            "no error");
  expect_close(x, ramp(3, 4));
  EXPECT_EQ(define({.schema = "again_(Tensor(a!) x) -> ()",
                    .cpu = kernel,
                    .decomposition = [](Tensor t) { t.mul_(3); },
                    .samples = {{x}}}),
            "InvalidArgument testlib::again_: sample 1: element [0, 0] is -3 by its decomposition and -2 by its kernel "
            "(and 10 more)");
  EXPECT_EQ(define({.schema = "again_(Tensor(a!) x) -> ()",
                    .cpu = kernel,
                    .decomposition = [](Tensor t) { t.mul_(2); },
                    .samples = {{x, 1}}}),
            "InvalidArgument testlib::again_: sample 1: by its kernel: takes 1 arguments, not 2 "
            "(testlib::again_(Tensor(a!) x) -> ())");
  EXPECT_EQ(define({.schema = "again_(Tensor(a!) x) -> ()", .cpu = kernel, .samples = {{x}}}),
            "InvalidArgument testlib::again_: has samples, and no two ways to compute them");
  // Parameters that are not the schema's.
  EXPECT_EQ(define({.schema = "odd(Tensor x, int n) -> Tensor", .decomposition = [](Tensor t) { return t; }}),
            "InvalidArgument odd: its decomposition has 1 parameters, not 2 (odd(Tensor x, int n) -> Tensor)");
  EXPECT_EQ(define({.schema = "odd(Tensor x, int? n) -> Tensor", .decomposition = [](Tensor t, Int) { return t; }}),
            "InvalidArgument odd: its decomposition takes an Int for 'n', which is SymInt? (odd(Tensor x, int? n) -> "
            "Tensor)");
  EXPECT_EQ(
      define({.schema = "odd(Tensor x) -> Tensor", .may_fail = true, .decomposition = [](Tensor t) { return t; }}),
      "InvalidArgument testlib::odd: has a decomposition alone, which decides what else is told of it");
  static const Operator odd =
      lib().define({.schema = "odd(Tensor x) -> Tensor", .decomposition = [](Tensor t) { return std::pair(t, t); }});
  EXPECT_EQ(
      message([] { odd(ramp(2, 2)); }),
      "InvalidArgument testlib::odd: its decomposition gives 2 tensors (testlib::odd(Tensor x) -> Tensor) (here)");
}

// A fault comes before anything is written, eagerly and compiled, and leaves arguments as they were.
TEST(Library, FaultsAndExceptions) {
  static const Operator half = lib().define({.schema = "half_(Tensor(a!) x) -> Tensor(a!)",
                                             .cpu =
                                                 [](const KernelCall& k) {
                                                   const TensorView& x = k.tensor(0);
                                                   for (std::int64_t i = 0; i < x.sizes[0]; ++i)
                                                     if (x.as<float>()[i * x.strides[0]] < 0)
                                                       return k.fail(ErrorCode::InvalidArgument,
                                                                     "element " + std::to_string(i) + " is negative");
                                                   for (std::int64_t i = 0; i < x.sizes[0]; ++i)
                                                     x.as<float>()[i * x.strides[0]] /= 2;
                                                 },
                                             .may_fail = true});
  auto body = [](Tensor x) {
    x.add_(1);
    Tensor same = half(x);
    return std::pair(same.is_same(x), same.sum());
  };
  auto f = compile(body);
  Tensor x = ones({3});
  EXPECT_TRUE(body(x).first);
  EXPECT_TRUE(f(x).first);
  expect_close(x, full({3}, 1.0));
  Tensor bad = full({3}, -4.0);
  EXPECT_EQ(message([&] { f(bad); }), "InvalidArgument testlib::half_: element 0 is negative (here)");
  expect_close(bad, full({3}, -4.0));
  static const Operator throws = lib().define({.schema = "throws(Tensor x) -> Tensor",
                                               .shape = [](ShapeCall&) { throw std::runtime_error("no idea"); },
                                               .cpu = [](const KernelCall&) {}});
  EXPECT_EQ(message([&] { throws(x); }), "InvalidArgument testlib::throws: its shape function throws: no idea (here)");
  static const Operator few =
      lib().define({.schema = "few(Tensor x) -> Tensor", .shape = [](ShapeCall&) {}, .cpu = [](const KernelCall&) {}});
  EXPECT_EQ(message([&] { few(x); }),
            "InvalidArgument testlib::few: its shape rule gives 0 results; its schema says 1 (here)");
}

// Calls of a lane happen in order, each of them, in every replay.
TEST(Library, Lanes) {
  static std::vector<float> seen;
  static const Operator note =
      lib().define({.schema = "note(Tensor x) -> ()",
                    .cpu = [](const KernelCall& k) { seen.push_back(*k.tensor(0).as<float>()); },
                    .lane = 1});
  auto f = compile([](Tensor x) {
    note(x);
    note(x);
    x.add_(1);
    note(x);
  });
  Tensor x = zeros({1});
  f(x);
  f(x);
  EXPECT_EQ(seen, (std::vector<float>{0, 0, 1, 1, 1, 2}));
}

}  // namespace
}  // namespace reprise
