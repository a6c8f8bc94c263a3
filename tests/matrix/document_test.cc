// docs/mutation.md: its examples, compiled and run, and its list of what is served eagerly.
#include <gtest/gtest.h>

#include "tests/matrix/cells.h"
#include "tests/support/document.h"
#include "tests/support/error_of.h"

namespace rp = reprise;

namespace reprise::matrix {
namespace {

TEST(MutationDocument, ItsExamplesAreThese) {
  reprise::test::expect_examples_of("docs/mutation.md", "tests/matrix/document_test.cc", 6);
}

TEST(MutationDocument, ItListsTheExceptions) {
  const std::string document = reprise::test::read_source("docs/mutation.md");
  for (const Exception& e : exceptions())
    EXPECT_NE(document.find("| `" + std::string(e.reason) + "` | " + e.what + " |"), std::string::npos) << e.what;
}

TEST(MutationDocument, Append) {
  auto append = rp::compile([](rp::Tensor cache, rp::Tensor row, rp::Int at) {
    cache.slice(0, at, at + 1).copy_(row);
    cache.t().select(0, 0).mul_(0.5);
    return cache.slice(0, 0, at + 1).sum(0);
  });
  Tensor cache = zeros({6, 3});
  for (int at = 0; at < 4; ++at) append(cache, ones({1, 3}), at);
  EXPECT_TRUE(equal(cache.select(1, 0).slice(0, 0, 4), tensor({0.0625, 0.125, 0.25, 0.5})));
  EXPECT_TRUE(equal(cache.select(1, 1).sum(), tensor(4.0)));
  EXPECT_EQ(append.stats().copied_bytes + append.stats().eager_fallbacks, 0) << append.explain();
}

TEST(MutationDocument, Exchange) {
  auto exchange = rp::compile([](rp::Tensor x, rp::Int i) {
    rp::Tensor old = x[i].clone();
    x[i] = x[0];
    x[0] = old;
  });
  Tensor x = arange(12, {.dtype = kFloat32}).view({4, 3}), was = x.clone();
  for (int i : {2, 2, 3}) exchange(x, i);
  EXPECT_TRUE(equal(x, cat({was.slice(0, 3, 4), was.slice(0, 1, 3), was.slice(0, 0, 1)})));
  EXPECT_EQ(exchange.stats().eager_fallbacks, 0);
  EXPECT_LE(exchange.stats().copied_bytes, 3 * 2 * 3 * 4) << exchange.explain();
}

TEST(MutationDocument, Blend) {
  auto blend = rp::compile([](rp::Tensor a, rp::Tensor b) {
    a.mul_(0.5);
    a.add_(b);
  });
  rp::Tensor m = rp::ones({4, 6});
  blend(m.slice(1, 0, 3), m.slice(1, 3, 6));  // beside each other
  blend(m, m);                                // one tensor: 0.5, then 1
  blend(m.slice(0, 0, 3), m.slice(0, 1, 4));  // overlapping rows
  Tensor eager = ones({4, 6});
  eager.slice(1, 0, 3).mul_(0.5).add_(eager.slice(1, 3, 6));
  eager.mul_(0.5).add_(eager);
  Tensor a = eager.slice(0, 0, 3), b = eager.slice(0, 1, 4);
  a.mul_(0.5).add_(b);
  EXPECT_TRUE(equal(m, eager));
  EXPECT_EQ(m[0][0].item<float>(), 1.5f);
  EXPECT_EQ(m[2][5].item<float>(), 1.5f);
  for (int round = 0; round < 2; ++round) {
    Tensor other = ones({4, 6});
    blend(other.slice(1, 0, 3), other.slice(1, 3, 6));
    blend(other, other);
    blend(other.slice(0, 0, 3), other.slice(0, 1, 4));
  }
  EXPECT_EQ(blend.stats().eager_fallbacks, 0) << blend.stats().last_fallback_reason;
  EXPECT_EQ(blend.stats().compilations, 3);
}

TEST(MutationDocument, Smooth) {
  rp::Tensor state = rp::zeros({2});
  auto smooth = rp::compile([&](rp::Tensor x) {
    state = state * 0.5 + x;
    return state;
  });
  for (double want : {1.0, 1.5, 1.75}) {
    EXPECT_TRUE(smooth(ones({2})).is_same(state));
    EXPECT_TRUE(equal(state, full({2}, want)));
  }
  EXPECT_EQ(smooth.stats().eager_fallbacks, 0) << smooth.stats().last_fallback_reason;
}

TEST(MutationDocument, Store) {
  auto store = rp::compile([](rp::Tensor cache, rp::Tensor slots, rp::Tensor keys, rp::Tensor scale) {
    cache.index_copy_(0, slots, keys * scale);
  });
  Tensor cache = zeros({5, 2});
  store(cache, tensor({3, 1, 3, -5}), arange(8).to(kFloat32).view({4, 2}), full({1}, 2.0));
  EXPECT_EQ(cache.to_vector<float>(), (std::vector<float>{12, 14, 4, 6, 0, 0, 8, 10, 0, 0}));
  EXPECT_EQ(store.stats().eager_fallbacks, 0);
  EXPECT_EQ(store.stats().copied_bytes, 0);
  EXPECT_EQ(store.explain().find("native index_put("), std::string::npos) << store.explain();
}

TEST(MutationDocument, FillRows) {
  auto fill_rows = rp::compile([](rp::Tensor x, rp::Tensor rows) {
    x.mul_(2);
    x.index_copy_(0, rows, rp::zeros({rows.size(0), x.size(1)}));
  });
  Tensor x = ones({4, 3});
  EXPECT_EQ(test::error_of([&] { fill_rows(x, tensor({1, 7})); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_TRUE(equal(x, ones({4, 3})));
  fill_rows(x, tensor({1, 3}));
  EXPECT_EQ(x.sum().item<float>(), 12.0f);
  EXPECT_EQ(fill_rows.stats().eager_fallbacks, 0);
}

}  // namespace
}  // namespace reprise::matrix
