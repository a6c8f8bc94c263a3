// stats().copied_bytes: what is copied where eager copies nothing. Programs as models and optimizers are written copy
// nothing.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/runtime/copies.h"

namespace reprise::test {
namespace {

Tensor norm(Tensor x, Tensor w) { return x * rsqrt((x * x).mean(-1, true) + 1e-5) * w; }

// ---- rotary embedding of slices of one projection

std::pair<Tensor, Tensor> halves(Tensor x) {
  Int d = x.size(-1) / 2;
  return {x.slice(-1, 0, d), x.slice(-1, d, 2 * d)};
}
Tensor rotated(Tensor x, Tensor cos, Tensor sin) {
  auto [a, b] = halves(x);
  return cat({a * cos - b * sin, b * cos + a * sin}, -1);
}
void rotate_in_place(Tensor x, Tensor cos, Tensor sin) {
  auto [a, b] = halves(x);
  Tensor first = a * cos - b * sin, second = b * cos + a * sin;
  a.copy_(first);
  b.copy_(second);
}
Tensor heads_of(Tensor qkv, Int from, Int dim) {
  return qkv.slice(-1, from * dim, (from + 1) * dim).view({qkv.size(0), 4, dim / 4}).transpose(0, 1);
}

std::vector<Tensor> rope_arguments(std::int64_t n) {
  return {random_of({n, 16}), random_of({48, 16}), random_of({n, 2}), random_of({n, 2})};
}

TEST(Copies, RotaryOnSlicesOfAFusedProjection) {
  Program joined = [](std::vector<Tensor> a, Int) {
    Tensor qkv = linear(a[0], a[1]);
    Tensor q = rotated(heads_of(qkv, 0, 16), a[2], a[3]), k = rotated(heads_of(qkv, 1, 16), a[2], a[3]),
           v = heads_of(qkv, 2, 16);
    return std::vector{scaled_dot_product_attention(q, k, v)};
  };
  Program written = [](std::vector<Tensor> a, Int) {
    Tensor qkv = linear(a[0], a[1]);
    Tensor q = heads_of(qkv, 0, 16), k = heads_of(qkv, 1, 16), v = heads_of(qkv, 2, 16);
    rotate_in_place(q, a[2], a[3]);
    rotate_in_place(k, a[2], a[3]);
    return std::vector{scaled_dot_product_attention(q, k, v)};
  };
  expect_copied("rope_joined", joined, rope_arguments, {0});
  expect_copied("rope_written", written, rope_arguments, {0});
}

TEST(Copies, RotaryOfAnArgumentInPlace) {
  Program program = [](std::vector<Tensor> a, Int) {
    rotate_in_place(a[0], a[1], a[2]);
    return std::vector{a[0].sum(-1)};
  };
  expect_copied("rope_argument", program,
                [](std::int64_t n) {
                  return std::vector{random_of({3, n, 8}), random_of({n, 4}), random_of({n, 4})};
                },
                {0});
}

// ---- writes of whole arguments

TEST(Copies, ResidualInPlaceThenANorm) {
  Program program = [](std::vector<Tensor> a, Int) {
    a[0].add_(a[1]);
    return std::vector{norm(a[0], a[2])};
  };
  expect_copied("residual", program,
                [](std::int64_t n) {
                  return std::vector{random_of({n, 16}), random_of({n, 16}), random_of({16})};
                },
                {0});
  Program twice = [](std::vector<Tensor> a, Int) {
    a[0].add_(a[1]);
    Tensor h = norm(a[0], a[2]).matmul(a[3]);
    a[0].add_(h);
    return std::vector{norm(a[0], a[2])};
  };
  expect_copied("residual_twice", twice,
                [](std::int64_t n) {
                  return std::vector{random_of({n, 16}), random_of({n, 16}), random_of({16}), random_of({16, 16})};
                },
                {0});
}

TEST(Copies, OptimizerStep) {
  Program adam = [](std::vector<Tensor> a, Int) {
    for (std::size_t i = 0; i < a.size(); i += 4) {
      Tensor w = a[i], g = a[i + 1], m = a[i + 2], v = a[i + 3];
      m.mul_(0.9).add_(g, 0.1);
      v.mul_(0.99).addcmul_(g, g, 0.01);
      w.addcdiv_(m, v.sqrt().add_(1e-8), -0.01);
    }
    return std::vector<Tensor>{};
  };
  Program plain = [](std::vector<Tensor> a, Int) {
    for (std::size_t i = 0; i < a.size(); i += 4) {
      a[i + 2].mul_(0.9).add_(a[i + 1]);
      a[i].sub_(a[i + 2] * 0.01);
    }
    return std::vector<Tensor>{};
  };
  auto parameters = [](std::int64_t n) {
    std::vector<Tensor> a;
    for (Ints sizes : {Ints{n, 16}, Ints{16}, Ints{n, n}})
      a.insert(a.end(), {random_of(sizes), random_of(sizes), random_of(sizes), rand(sizes)});
    return a;
  };
  expect_copied("adam", adam, parameters, {0});
  expect_copied("momentum", plain, parameters, {0});
}

// ---- what counts

// Whose copy it is: the program's own, or what keeps a value that a write would destroy.
TEST(Copies, WhoseTheyAre) {
  auto cloned = compile(
      [](Tensor x) {
        Tensor old = x.matmul(x), changed = old.clone();
        changed.slice(0, 0, 1).fill_(7);
        return std::pair(old, changed);
      },
      {.name = "cloned"});
  // A lookup that may fail comes after the write: the argument is written when it has not failed. What is looked up is
  // made of the new value, so it cannot be checked before.
  auto held = compile(
      [](Tensor x, Tensor i) {
        x.add_(1);
        return x.index_select(0, (x.sum() * 0).to(kInt64) + i);
      },
      {.name = "held"});
  // A part of a product is a tensor of its own: the product stands in the pool, and eagerly the part keeps all of it
  // alive.
  auto viewed = compile([](Tensor x) { return x.matmul(x).slice(0, 0, 2); }, {.name = "viewed"});
  for (int times = 1; times <= 3; ++times) {
    cloned(ones({4, 4}));
    EXPECT_EQ(cloned.stats().copied_bytes, 0) << cloned.explain();
    Tensor x = ones({4, 6});
    held(x, zeros({2}, {.dtype = kInt64}));
    EXPECT_TRUE(equal(x, full({4, 6}, 2.0)));
    EXPECT_EQ(held.stats().copied_bytes, times * 4 * 6 * 4) << held.explain();
    viewed(ones({4, 4}));
    EXPECT_EQ(viewed.stats().copied_bytes, times * 2 * 4 * 4) << viewed.explain();
  }
  // By the sizes of each call.
  viewed(ones({5, 5}));
  EXPECT_EQ(viewed.stats().copied_bytes, 3 * 2 * 4 * 4 + 2 * 5 * 4);
}

}  // namespace
}  // namespace reprise::test
