// Copies of programs that write buffers and caches: none beyond eager.
#include <gtest/gtest.h>

#include <vector>

#include "tests/runtime/copies.h"

namespace reprise::test {
namespace {

TEST(Copies, RingBuffer) {
  Program program = [](std::vector<Tensor> a, Int at) {
    Tensor buf = a[0], x = a[1], row = a[2];
    buf.slice(0, at, at + x.size(0)).copy_(x);
    buf.select(0, at).copy_(row);
    return std::vector{buf.slice(0, at, at + x.size(0)).mean(0), buf.slice(0, 0, at + 1) * 2};
  };
  expect_copied("ring", program,
                [](std::int64_t n) {
                  return std::vector{random_of({3 * n, 5}), random_of({n, 5}), random_of({5})};
                },
                {2, 3, 4});
}

// What comes after the cache is read may fail (an index that follows from it): the part is kept, not the cache (Note
// [Kept parts] in kernels/plan/undo.h), and put back.
TEST(Copies, CacheBeforeAKernelThatMayFail) {
  Program program = [](std::vector<Tensor> a, Int at) {
    Tensor layer = a[0].select(0, 1), row = layer.slice(0, at, at + 1);
    row.copy_(a[1]);
    Tensor h = layer.slice(0, 0, 5).sum(0);
    layer.select(0, 0).mul_(2);
    return std::vector{index_select(h, 0, a[2] + (h.sum() * 0.0).to(kInt64))};
  };
  auto make = [](std::int64_t n) {
    return std::vector{random_of({n, 8, 4}), random_of({1, 4}), zeros({2}, {.dtype = kInt64})};
  };
  expect_copied("sampled", program, make, {1, 3}, 4 * 4);  // the other write waits
  auto f = compile(program, {.name = "sampled"});
  std::vector<Tensor> a = make(6);
  f(a, Int(2));
  for (std::int64_t bad : {4, -1, 7}) {
    a[2].fill_(bad);
    const Tensor before = a[0].clone();
    EXPECT_THROW(f(a, Int(3)), Error) << bad;
    EXPECT_TRUE(equal(a[0], before)) << bad << "\n" << f.explain();
  }
}

// [layers, 2, heads, n, d], written layer by layer, each read by the attention of its layer.
TEST(Copies, CacheOfAllLayersInOneTensor) {
  Program program = [](std::vector<Tensor> a, Int at) {
    Tensor cache = a[0], x = a[1];
    for (int layer = 0; layer < 3; ++layer) {
      Tensor k = cache[layer][0], v = cache[layer][1];
      k.slice(1, at, at + x.size(1)).copy_(x * 2.0);
      v.slice(1, at, at + x.size(1)).copy_(x + 1.0);
      x = x + scaled_dot_product_attention(x, k.slice(1, 0, at + x.size(1)), v.slice(1, 0, at + x.size(1)));
    }
    return std::vector{x};
  };
  expect_copied("cache_of_layers", program,
                [](std::int64_t n) {
                  return std::vector{random_of({3, 2, 2, 4 * n, 8}), random_of({2, 1, 8})};
                },
                {3, 4, 5});
}

TEST(Copies, QuantisedCacheWithScales) {
  Program program = [](std::vector<Tensor> a, Int at) {
    Tensor cache = a[0], scales = a[1], x = a[2];
    Tensor scale = x.abs().amax(-1, true) / 127.0;
    cache.slice(0, at, at + x.size(0)).copy_((x / scale).round());
    scales.slice(0, at, at + x.size(0)).copy_(scale);
    Tensor k = cache.slice(0, 0, at + x.size(0)).to(kFloat32) * scales.slice(0, 0, at + x.size(0));
    return std::vector{x.matmul(k.t()).softmax(-1).matmul(k)};
  };
  auto make = [](std::int64_t n) {
    return std::vector{zeros({4 * n, 16}, {.dtype = kInt8}), zeros({4 * n, 1}), random_of({2, 16})};
  };
  expect_copied("int8_cache", program, make, {3, 4, 5});
}

// [layers, heads, n, d] each, at positions that the caller computes: serving of several sequences at once.
TEST(Copies, CachesWrittenAtPositions) {
  Program program = [](std::vector<Tensor> a, Int) {
    Tensor x = a[0], at = a[1];
    for (int layer = 0; layer < 2; ++layer) {
      Tensor k = a[2][layer], v = a[3][layer];
      k.index_copy_(1, at, x * 2.0);
      v.index_copy_(1, at, x + 1.0);
      x = x + scaled_dot_product_attention(x, k, v);
    }
    return std::vector{x};
  };
  expect_copied(
      "caches_at_positions", program,
      [](std::int64_t n) {
        return std::vector{random_of({2, 3, 8}), arange(3) * 2, random_of({2, 2, n, 8}), random_of({2, 2, n, 8})};
      },
      {0});
}

// What is written at the places is another argument that is written itself.
TEST(Copies, CachesAndWhatIsWrittenToThem) {
  Program program = [](std::vector<Tensor> a, Int) {
    Tensor x = a[0];
    for (int layer = 0; layer < 2; ++layer) {
      a[2][layer].index_copy_(0, a[1], x);
      x = x + a[2][layer].slice(0, 0, 3);
    }
    a[0].copy_(x * 0.5);
    return std::vector<Tensor>{};
  };
  expect_copied("caches_and_input", program,
                [](std::int64_t n) {
                  return std::vector{random_of({3, 8}), arange(3) * 2, random_of({2, n, 8})};
                },
                {0});
}

}  // namespace
}  // namespace reprise::test
