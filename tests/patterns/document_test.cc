// docs/custom_operators.md: its examples, compiled and run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>

#include "passes/registered.h"
#include "passes/rewrite.h"
#include "reprise/backend.h"
#include "reprise/library.h"
#include "reprise/patterns.h"
#include "reprise/reprise.h"
#include "tests/support/document.h"

namespace rp = reprise;

namespace {

TEST(CustomOperatorsDocument, ItsExamplesAreThese) {
  reprise::test::expect_examples_of("docs/custom_operators.md", "tests/patterns/document_test.cc", 8);
}

void expect_close(const rp::Tensor& a, const rp::Tensor& b) {
  ASSERT_LT((a - b).abs().max().item<float>(), 1e-5f) << a.str() << "\nagainst\n" << b.str();
}

TEST(CustomOperatorsDocument, OperatorPatternAndPass) {
  const rp::Library my("my");
  const rp::Operator swiglu =
      my.define({.schema = "swiglu(Tensor gate, Tensor up) -> Tensor",
                 .shape =
                     [](rp::ShapeCall& c) {
                       if (c.dtype(0) != rp::kFloat32 || c.dtype(1) != rp::kFloat32)
                         c.fail(rp::ErrorCode::DTypeMismatch, "wants float32");
                       if (c.dim(0) != 2 || c.dim(1) != 2) c.fail(rp::ErrorCode::ShapeMismatch, "wants matrices");
                       c.expect_equal(c.size(0, 0), c.size(1, 0), "rows");
                       c.expect_equal(c.size(0, 1), c.size(1, 1), "columns");
                       c.result(rp::kFloat32, c.sizes(0));
                     },
                 .cpu =
                     [](const rp::KernelCall& k) {
                       const rp::TensorView &gate = k.tensor(0), &up = k.tensor(1), &out = k.result();
                       for (std::int64_t i = 0; i < gate.sizes[0]; ++i)
                         for (std::int64_t j = 0; j < gate.sizes[1]; ++j) {
                           const float g = gate.as<float>()[i * gate.strides[0] + j * gate.strides[1]];
                           out.as<float>()[i * gate.sizes[1] + j] =
                               g / (1 + std::exp(-g)) * up.as<float>()[i * up.strides[0] + j * up.strides[1]];
                         }
                     }});
  auto mlp = rp::compile(
      [=](rp::Tensor x, rp::Tensor a, rp::Tensor b) { return rp::Tensor(swiglu(x.matmul(a), x.matmul(b))); });
  for (std::int64_t rows : {3, 5}) {
    const rp::Tensor x = rp::randn({rows, 4}), a = rp::randn({4, 6}), b = rp::randn({4, 6});
    expect_close(mlp(x, a, b), rp::silu(x.matmul(a)) * x.matmul(b));
  }
  EXPECT_EQ(mlp.stats().compilations, 1);

  const auto example = std::tuple(rp::randn({2, 8}), rp::randn({2, 8}));
  rp::register_pattern(
      "swiglu", [](rp::Tensor a, rp::Tensor b) { return rp::silu(a) * b; },
      [=](rp::Tensor a, rp::Tensor b) { return rp::Tensor(swiglu(a, b)); }, example);
  auto f = rp::compile([](rp::Tensor a, rp::Tensor b) {
    rp::Tensor h = a.clone();
    h.silu_().mul_(b);
    return h;
  });
  f(rp::randn({3, 4}), rp::randn({3, 4}));
  ASSERT_EQ(f.stats().matches.size(), 1u) << f.explain();
  EXPECT_NE(f.explain().find("my::swiglu("), std::string::npos);
  const rp::Tensor u = rp::randn({3, 4}), v = rp::randn({3, 4});
  expect_close(f(u, v), rp::silu(u) * v);

  rp::register_pattern(
      "swiglu_wide", [](rp::Tensor a, rp::Tensor b) { return rp::silu(a) * b; },
      [=](rp::Tensor a, rp::Tensor b) { return rp::Tensor(swiglu(a, b)); }, example,
      {.priority = 1, .may_match = [](const rp::PatternMatch& m) {
         return (m.sizes(0)[1] % 64 == 0).known_true() ? ""
                                                       : std::string("columns are not known to be a multiple of 64");
       }});
  EXPECT_TRUE(rp::unregister_pattern("swiglu"));
  f.reset();
  f(u, v);
  EXPECT_NE(f.explain().find("columns are not known to be a multiple of 64"), std::string::npos) << f.explain();
  rp::unregister_pattern("swiglu_wide");
  // What the document quotes.
  rp::register_pattern(
      "swiglu", [](rp::Tensor a, rp::Tensor b) { return rp::silu(a) * b; },
      [=](rp::Tensor a, rp::Tensor b) { return rp::Tensor(swiglu(a, b)); }, example);
  auto near = rp::compile([](rp::Tensor a, rp::Tensor b) {
    rp::Tensor s = rp::silu(a);
    return std::pair(s * b, s + 1);
  });
  near(u, v);
  EXPECT_NE(
      near.explain().find(
          "pattern swiglu is nearly there: silu: its result is read by add, too, which is no part of the pattern (at "),
      std::string::npos)
      << near.explain();
  rp::unregister_pattern("swiglu");

  namespace passes = rp::passes;
  passes::register_pass(
      {.name = "relu_for_abs", .place = {passes::Place::Point::AfterFunctionalization}, .run = [](rp::graph::Graph& g) {
         return passes::rewrite(
             g, [](passes::Rewriter& rw, passes::Rewriter::Site& s) -> std::optional<std::vector<rp::graph::ValueId>> {
               if (rp::graph::op(s.node.op).name() != "abs") return std::nullopt;
               return {{rw.emit(rp::graph::OpId::relu, {s.args[0]})}};
             });
       }});
  auto g = rp::compile([](rp::Tensor a) { return rp::abs(a); });
  EXPECT_TRUE(rp::equal(g(u), rp::relu(u)));
  passes::unregister_pass("relu_for_abs");
}

TEST(CustomOperatorsDocument, PairOfAFunctionAndItsDerivative) {
  rp::register_pattern(
      "my_attention",
      [](rp::Tensor q, rp::Tensor k, rp::Tensor v) {
        return rp::matmul(rp::softmax(rp::matmul(q, k.mT()) * 0.125, -1), v);
      },
      [](rp::Tensor q, rp::Tensor k, rp::Tensor v) { return rp::scaled_dot_product_attention(q, k, v); },
      std::tuple(rp::randn({2, 4, 8, 64}), rp::randn({2, 4, 8, 64}), rp::randn({2, 4, 8, 64})),
      {.with_derivative = true});
  auto attention = [](rp::Tensor q, rp::Tensor k, rp::Tensor v) {
    return rp::matmul(rp::softmax(rp::matmul(q, k.mT()) * 0.125, -1), v).square().mean();
  };
  const rp::Tensor q = rp::randn({2, 3, 16, 64}).requires_grad_(), k = rp::randn({2, 3, 16, 64}).requires_grad_(),
                   v = rp::randn({2, 3, 16, 64}).requires_grad_();
  auto f = rp::compile(attention);
  const std::vector<rp::Tensor> got = rp::grad({f(q, k, v)}, {q, k, v}),
                                want = rp::grad({attention(q, k, v)}, {q, k, v});
  for (std::size_t i = 0; i < want.size(); ++i) expect_close(got[i], want[i]);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  const auto matches = f.stats().matches;
  EXPECT_TRUE(std::any_of(matches.begin(), matches.end(), [](const auto& m) {
    return m.pattern == "my_attention" && m.matches >= 1;
  })) << f.explain();
  rp::unregister_pattern("my_attention");
}

TEST(CustomOperatorsDocument, OneThatWrites) {
  const rp::Operator push = rp::Library("my").define(
      {.schema = "push(Tensor(a!) ring, Tensor row, SymInt at) -> ()",
       .shape = [](rp::ShapeCall& c) { c.expect_equal(c.size(0, 1), c.size(1, 0), "columns of the ring and the row"); },
       .cpu =
           [](const rp::KernelCall& k) {
             const rp::TensorView &ring = k.tensor(0), &row = k.tensor(1);
             const std::int64_t at = k.integer(2) % ring.sizes[0];
             for (std::int64_t j = 0; j < ring.sizes[1]; ++j)
               ring.as<float>()[at * ring.strides[0] + j * ring.strides[1]] = row.as<float>()[j * row.strides[0]];
           }});
  auto step = rp::compile([=](rp::Tensor rings, rp::Tensor row, rp::Int layer, rp::Int at) {
    push(rings.select(0, layer), row * 2, at);
    return rings.select(0, layer).sum(0);
  });
  rp::Tensor rings = rp::zeros({2, 3, 4}), want = rp::zeros({2, 3, 4});
  for (std::int64_t at = 0; at < 7; ++at) {
    const rp::Tensor row = rp::full({4}, static_cast<double>(at + 1));
    const rp::Tensor sum = step(rings, row, at % 2, at);
    want[at % 2][at % 3].copy_(row * 2);
    EXPECT_TRUE(rp::equal(rings, want));
    EXPECT_TRUE(rp::equal(sum, want[at % 2].sum(0)));
  }
  EXPECT_EQ(step.stats().compilations, 1);
  EXPECT_EQ(step.stats().eager_fallbacks, 0);
}

TEST(CustomOperatorsDocument, OneThatIsMadeOfOthers) {
  const rp::Operator rescale =
      rp::Library("my").define({.schema = "rescale_(Tensor(a!) x, Tensor w, float eps=1e-6) -> ()",
                                .decomposition = [](rp::Tensor x, rp::Tensor w, rp::Scalar eps) {
                                  x.mul_(rp::rsqrt(x.square().mean({-1}, true) + eps)).mul_(w);
                                }});
  auto norm = rp::compile([=](rp::Tensor x, rp::Tensor w) {
    rescale(x, w);
    return x.sum();
  });
  for (std::int64_t rows : {3, 5}) {
    rp::Tensor x = rp::randn({rows, 4}), w = rp::randn({4}), want = rp::rms_norm(x, {4}, w, 1e-6);
    const rp::Tensor sum = norm(x, w);
    expect_close(x, want);
    expect_close(sum, want.sum());
  }
  EXPECT_EQ(norm.stats().compilations, 1);
  EXPECT_EQ(norm.stats().eager_fallbacks, 0);
}

TEST(CustomOperatorsDocument, ACompilerOfYourOwn) {
  testing::internal::CaptureStdout();
  rp::Backend backend = [](const rp::BackendRequest& request) -> rp::BackendFunction {
    std::cout << request.name << "\n" << request.text;  // "f/0", and the graph
    return {};                                          // left to Reprise
  };
  auto f = rp::compile([](rp::Tensor x, rp::Tensor y) { return x.add_(y).relu(); }, {.name = "f", .backend = backend});
  const rp::Tensor x = rp::ones({3}), got = f(x, rp::ones({3}));
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(rp::equal(got, rp::full({3}, 2.0)) && rp::equal(x, got));
  EXPECT_EQ(text.find("f/0\ngraph \"f/0\"("), 0u) << text;
}

}  // namespace
