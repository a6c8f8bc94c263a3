// stats().copied_bytes: what is copied where eager copies nothing. Programs as models and optimizers are written copy
// nothing.
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "reprise/reprise.h"

namespace reprise {
namespace {

using Program = std::function<std::vector<Tensor>(std::vector<Tensor>, Int)>;

/// The last of a few calls copies `bytes` beyond eager, and all of them do as eager does: results and written
/// arguments.
void expect_copied(const char* name, const Program& program,
                   const std::function<std::vector<Tensor>(std::int64_t n)>& make, std::vector<std::int64_t> numbers,
                   std::int64_t bytes = 0) {
  auto f = compile(program, {.name = name});
  std::int64_t last = 0;
  for (std::int64_t n : {6, 8, 6}) {
    std::vector<Tensor> a = make(n), b;
    for (const Tensor& t : a) b.push_back(t.clone());
    for (std::int64_t at : numbers) {
      const std::int64_t before = f.stats().copied_bytes;
      std::vector<Tensor> got = f(a, Int(at)), want = program(b, Int(at));
      last = f.stats().copied_bytes - before;
      EXPECT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_TRUE(allclose(got[i], want[i], 1e-4, 1e-5)) << name << ": result " << i << ", n " << n << ", at " << at;
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_TRUE(allclose(a[i], b[i], 1e-4, 1e-5)) << name << ": argument " << i << ", n " << n << ", at " << at;
    }
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << name << ": " << f.stats().last_fallback_reason;
  EXPECT_EQ(last, bytes) << f.explain();
}

Tensor norm(Tensor x, Tensor w) { return x * rsqrt((x * x).mean(-1, true) + 1e-5) * w; }

Tensor random_of(Ints sizes) { return randn(sizes); }

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

// ---- buffers and caches

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

// ---- parts

TEST(Copies, ThroughATransposedView) {
  Program all = [](std::vector<Tensor> a, Int) {
    a[0].t().add_(a[1]);
    return std::vector{a[0].sum(0)};
  };
  Program rows = [](std::vector<Tensor> a, Int at) {
    a[0].t().slice(0, 0, at).mul_(2);
    a[0].t().select(0, at).copy_(a[1].select(0, 0));
    return std::vector{a[0].sum(1)};
  };
  auto make = [](std::int64_t n) { return std::vector{random_of({n, 9}), random_of({9, n})}; };
  expect_copied("transposed", all, make, {0});
  expect_copied("transposed_rows", rows, make, {3, 4});
}

TEST(Copies, DisjointColumnBlocks) {
  Program arguments = [](std::vector<Tensor> a, Int at) {
    a[0].slice(1, 0, at).add_(a[0].slice(1, at, 2 * at));
    a[0].slice(1, at, 2 * at).mul_(0.5);
    return std::vector{a[0].sum(0)};
  };
  Program inside = [](std::vector<Tensor> a, Int at) {
    Tensor y = a[0].matmul(a[1]);
    y.slice(1, 0, at).add_(1);
    y.slice(1, at, 2 * at).copy_(a[0].slice(1, 0, at));
    return std::vector{y};
  };
  auto make = [](std::int64_t n) { return std::vector{random_of({n, 12}), random_of({12, 12})}; };
  expect_copied("column_blocks", arguments, make, {4, 5});
  Program rows = [](std::vector<Tensor> a, Int at) {
    a[0].slice(0, 0, at - 2).copy_(a[0].slice(0, at - 2, 2 * at - 4) * 2.0 + a[0].slice(0, 0, at - 2));
    a[0][0].sub_(a[0][1]);
    return std::vector{a[0].sum(0)};
  };
  // Blocks that meet: what one gives the other must be read before it is written. Eager copies the operand for the same
  // reason, where they do meet: for other numbers they would not, so this counts.
  Program meeting = [](std::vector<Tensor> a, Int at) {
    a[0].slice(1, 0, at).add_(a[0].slice(1, 1, at + 1));
    a[0].slice(1, at, 12).mul_(a[0].slice(1, 0, 12 - at));
    return std::vector{a[0].sum(0)};
  };
  expect_copied("row_blocks", rows, make, {4, 5});
  expect_copied("blocks_that_meet", meeting, make, {4, 5}, 4 * 6 * 5 + 4 * 6 * 7);
  expect_copied("column_blocks_inside", inside, make, {4, 5});
}

TEST(Copies, ElementByElement) {
  Program program = [](std::vector<Tensor> a, Int) {
    Tensor x = a[0], o = zeros_like(x);
    for (int i = 1; i < 5; ++i) x[i] = a[1] * static_cast<double>(i);
    for (int i = 1; i < 5; ++i) o[i] = x[i] - o[i - 1] * 0.5;
    return std::vector{o, x * 2};
  };
  expect_copied("rows", program, [](std::int64_t n) { return std::vector{random_of({n, 7}), random_of({7})}; }, {0});
}

TEST(Copies, PartOfACapturedTensor) {
  Tensor state = zeros({20, 4});
  auto f = compile(
      [state](Tensor x, Int at) mutable {
        state.slice(0, at, at + x.size(0)).copy_(x);
        return state.slice(0, 0, at + x.size(0)).sum(0);
      },
      {.name = "captured"});
  Tensor twin = zeros({20, 4});
  for (std::int64_t at : {0, 3, 6, 2}) {
    Tensor x = randn({3, 4});
    twin.slice(0, at, at + 3).copy_(x);
    EXPECT_TRUE(allclose(f(x, at), twin.slice(0, 0, at + 3).sum(0), 1e-5, 1e-5));
    EXPECT_TRUE(equal(state, twin));
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_EQ(f.stats().copied_bytes, 0) << f.explain();
}

// What is read of a value that is written in place meanwhile: nothing of the size of the whole is made, and copied is
// what the program copies, or the part. Rotated into its own place: what one half is made of is where the other half is
// stored.
TEST(Copies, HalvesRotatedInPlace) {
  auto halves = [](const Tensor& x) {
    return cat({-x.slice(-1, x.size(-1) / 2, INT64_MAX), x.slice(-1, 0, x.size(-1) / 2)}, -1);
  };
  auto into_itself = [halves](Tensor x, Tensor c, Tensor s) {
    x.copy_(x * c + halves(x) * s);
    return x + 0;
  };
  auto one_by_one = [halves](Tensor x, Tensor c, Tensor s) {
    x.mul_(c);
    x.copy_(halves(x) * s);
    x.copy_(x * c + halves(x) * s);
    return x.sum();
  };
  auto into_a_part = [halves](Tensor x, Tensor c, Tensor s) {
    const Tensor part = x.slice(0, 1, x.size(0));
    part.copy_(halves(part * c) * s + part);
    return x * 2;
  };
  auto by_its_last_row = [](Tensor x, Tensor c, Tensor) {
    const Tensor last = x.slice(0, Int::min(c.size(0) + 2, x.size(0) - 1), x.size(0)),
                 turned = cat({-x.slice(0, x.size(0) / 2, INT64_MAX), x.slice(0, 0, x.size(0) / 2)}, 0);
    x.copy_(x * x.clone() + turned * tanh(last));
    return x * c;
  };
  for (const std::function<Tensor(Tensor, Tensor, Tensor)>& body :
       std::initializer_list<std::function<Tensor(Tensor, Tensor, Tensor)>>{into_itself, one_by_one, into_a_part,
                                                                            by_its_last_row}) {
    auto f = compile(body);
    for (std::int64_t n : {2, 8, 64, 6})
      for (std::int64_t rows : {2, 4}) {
        const Tensor a = arange(rows * n, {.dtype = kFloat32}).view({rows, n}) * 0.1, b = a.clone();
        const Tensor c = (arange(n, {.dtype = kFloat32}) * 0.3).cos(), s = (arange(n, {.dtype = kFloat32}) * 0.3).sin();
        ASSERT_TRUE(allclose(f(a, c, s), body(b, c, s), 1e-4, 1e-5)) << n;
        ASSERT_TRUE(allclose(a, b, 1e-5, 1e-5)) << n;
      }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  }
}

TEST(Copies, PartsThatChangePlaces) {
  auto make = [](std::int64_t n) { return std::vector{random_of({n + 4, 8}), random_of({8})}; };
  struct Case {
    const char* name;
    Program program;
    std::int64_t bytes;  // for n = 6, at = 3
  };
  const Case cases[] = {
      {"two rows copied",
       [](std::vector<Tensor> a, Int) {
         a[0][0].copy_(a[0][1]);
         a[0][2].copy_(a[0][3]);
         return std::vector<Tensor>{};
       },
       0},
      {"a chain of rows",
       [](std::vector<Tensor> a, Int) {
         for (int i = 0; i < 4; ++i) a[0][i].copy_(a[0][i + 1]);
         return std::vector<Tensor>{};
       },
       0},
      {"a row and the next",
       [](std::vector<Tensor> a, Int at) {
         a[0].select(0, at).copy_(a[0].select(0, at + 1));
         return std::vector{a[0].sum(0)};
       },
       0},
      {"blocks of columns",
       [](std::vector<Tensor> a, Int at) {
         a[0].slice(1, 0, at).copy_(a[0].slice(1, at, 2 * at));
         return std::vector<Tensor>{};
       },
       0},
      {"two rows change places",
       [](std::vector<Tensor> a, Int at) {
         Tensor x = a[0], old = x.select(0, at).clone();
         x.select(0, at).copy_(x.select(0, at + 1));
         x.select(0, at + 1).copy_(old);
         return std::vector<Tensor>{};
       },
       32},
      {"an old row, after all is written",
       [](std::vector<Tensor> a, Int at) {
         Tensor old = a[0].select(0, at).clone();
         a[0].mul_(2);
         return std::vector{a[0].sum(0) - old, old * a[0]};
       },
       32},
      {"less one of its rows",
       [](std::vector<Tensor> a, Int at) {
         a[0].sub_(a[0].select(0, at));
         return std::vector<Tensor>{};
       },
       32},
      {"a row, then all",
       [](std::vector<Tensor> a, Int at) {
         a[0].select(0, at).add_(a[1]);
         a[0].mul_(0.5);
         return std::vector{a[0].sum(0)};
       },
       0},
      {"all, then a row, then all",
       [](std::vector<Tensor> a, Int at) {
         a[0].mul_(0.5);
         a[0].select(0, at).add_(a[1]);
         a[0].add_(1);
         return std::vector<Tensor>{};
       },
       0},
      {"an intermediate's rows",
       [](std::vector<Tensor> a, Int at) {
         Tensor y = a[0] * 2.0, old = y.select(0, at).clone();
         y.select(0, at).copy_(y.select(0, 0));
         y.select(0, 0).copy_(old);
         y.mul_(3.0);
         return std::vector{y};
       },
       0},
      {"rows change places, one after another",
       [](std::vector<Tensor> a, Int) {
         for (int i = 0; i < 3; ++i) {
           Tensor x = a[0], old = x[i].clone();
           x[i].copy_(x[i + 1]);
           x[i + 1].copy_(old);
         }
         return std::vector<Tensor>{};
       },
       32},
      {"halves",
       [](std::vector<Tensor> a, Int) {
         Tensor x = a[0], l = x.slice(1, 0, 4), r = x.slice(1, 4, 8), old = l.clone();
         l.add_(r);
         r.copy_(old - r);
         return std::vector<Tensor>{};
       },
       0},
      {"what is read beside what is written",
       [](std::vector<Tensor> a, Int at) {
         Tensor x = a[0], before = x.select(0, at + 1).clone();
         x.select(0, at).copy_(a[1]);
         return std::vector{before * x.select(0, at), x.select(0, at + 1) + before};
       },
       0},
  };
  for (const Case& c : cases) expect_copied(c.name, c.program, make, {2, 3}, c.bytes);
}

// ---- what counts

// Kernels that write at computed places lie over what they change: an argument, a part of one, an intermediate.
TEST(Copies, AtComputedPlaces) {
  auto make = [](std::int64_t n) { return std::vector{random_of({3, n, 4}), (arange(2) + 3), random_of({2, 4})}; };
  Program argument = [](std::vector<Tensor> a, Int) {
    a[0].index_copy_(1, a[1], a[2].unsqueeze(0).expand({3, 2, 4}));
    return std::vector{a[0].sum(0)};
  };
  Program part = [](std::vector<Tensor> a, Int) {
    a[0][1].index_copy_(0, a[1], a[2]);
    return std::vector{a[0].sum(0)};
  };
  Program intermediate = [](std::vector<Tensor> a, Int) {
    Tensor t = a[0][0].matmul(a[0][1].t());
    t.index_copy_(0, a[1], t.slice(0, 0, 2) * 2.0);
    return std::vector{t};
  };
  Program part_of_an_intermediate = [](std::vector<Tensor> a, Int) {
    Tensor t = a[0] * 2.0;
    t[1].index_copy_(0, a[1], a[2]);
    t[2].index_add_(0, a[1], a[2]);
    return std::vector{t, t.sum(-1)};
  };
  // Of one part twice, of another one, and of all of it: what one lookup finds wrong, another has not written.
  Program several = [](std::vector<Tensor> a, Int) {
    Tensor x = a[0];
    x[0].index_copy_(0, a[1], a[2]);
    x[0].index_add_(0, a[1] - 1, a[2] * 3.0);
    x[2].scatter_(0, a[1].unsqueeze(1).expand({2, 4}), a[2] + 1.0);
    x.index_add_(1, a[1], (a[2] * 0.5).unsqueeze(0).expand({3, 2, 4}));
    x.index_copy_(1, a[1] - 2, a[2].unsqueeze(0).expand({3, 2, 4}));
    return std::vector{x.sum(-1)};
  };
  // What decays, or is scaled, around the update.
  Program scaled = [](std::vector<Tensor> a, Int) {
    Tensor x = a[0];
    x.mul_(0.5);
    x.index_add_(1, a[1], a[2].unsqueeze(0).expand({3, 2, 4}));
    x.add_(1.0);
    x.index_add_(1, a[1] - 1, a[2].unsqueeze(0).expand({3, 2, 4}));
    return std::vector{x.sum(-1)};
  };
  Program scaled_part = [](std::vector<Tensor> a, Int) {
    Tensor x = a[0][1], y = a[0] * 3.0;
    x.mul_(0.5);
    x.index_add_(0, a[1], a[2]);
    x.add_(1.0);
    y[1].index_add_(0, a[1], a[2]);
    y[1].mul_(2.0);
    return std::vector{a[0].sum(-1), y};
  };
  // From beside the part: what is read there would have to be known to be apart from it.
  Program beside = [](std::vector<Tensor> a, Int) {
    a[0][1].index_add_(0, a[1], a[0][0].slice(0, 0, 2));
    return std::vector{a[0].sum(-1)};
  };
  Program beside_twice = [](std::vector<Tensor> a, Int) {
    a[0][1].index_add_(0, a[1], a[2]);
    a[0][2].index_add_(0, a[1], a[0][1].slice(0, 0, 2));
    return std::vector{a[0].sum(-1)};
  };
  expect_copied("beside", beside, make, {0}, 2 * 6 * 4 * 4);
  expect_copied("beside_twice", beside_twice, make, {0}, 2 * 6 * 4 * 4);
  expect_copied("scaled", scaled, make, {0});
  expect_copied("scaled_part", scaled_part, make, {0});
  expect_copied("at_places", argument, make, {0});
  expect_copied("at_places_of_a_part", part, make, {0});
  expect_copied("at_places_of_an_intermediate", intermediate, make, {0});
  expect_copied("at_places_of_a_part_of_an_intermediate", part_of_an_intermediate, make, {0});
  expect_copied("at_several_places", several, make, {0});
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

// What reads the old values, of the part and of all around it, before and after; and a lookup that fails leaves
// everything as it was.
TEST(Copies, WritesAtComputedPlacesKeepTheirOrder) {
  using Body = std::function<std::vector<Tensor>(std::vector<Tensor>)>;
  const std::pair<const char*, Body> bodies[] = {
      {"reads around",
       [](std::vector<Tensor> a) {
         Tensor x = a[0], before = x.sum(0), part = x[1] * 2.0;
         x[1].index_add_(0, a[1], x[0].slice(0, 0, 2));
         Tensor between = x[1] + part;
         x[0].index_copy_(0, a[2], x[1].slice(0, 1, 3) + x[0].slice(0, 0, 2));
         return std::vector{before, between, x.mean(0)};
       }},
      {"rows of itself",
       [](std::vector<Tensor> a) {
         a[0][1].index_copy_(0, a[1], a[0][1].slice(0, 0, 2));
         a[0][1].index_add_(0, a[2], a[0][1].slice(0, 1, 3));
         return std::vector{a[0] + 0.0};
       }},
      {"the old part lives on",
       [](std::vector<Tensor> a) {
         Tensor y = a[0] * 3.0, z = y[1].index_copy(0, a[1], a[3]);
         y[1].index_copy_(0, a[2], a[3] * 2.0);
         return std::vector{y, z, y[1] - z};
       }},
      {"two values of one",
       [](std::vector<Tensor> a) {
         Tensor y = a[0][0].matmul(a[0][1].t()).matmul(a[0][2]), z = y.index_add(0, a[1], a[3]),
                w = y.index_copy(0, a[2], a[3]);
         return std::vector{z, w, y};
       }},
      {"through a transposed view",
       [](std::vector<Tensor> a) {
         a[0].transpose(0, 1).select(1, 1).index_copy_(0, a[1], a[3]);
         a[0].select(2, 1).index_copy_(
             1, a[2],
             a[3].slice(1, 0, 2).t().slice(0, 0, 2).slice(1, 0, 2).expand({2, 2}).sum(0).unsqueeze(0).expand({3, 2}));
         return std::vector{a[0].sum(1)};
       }},
      {"the indices are written, too",
       [](std::vector<Tensor> a) {
         a[0][0].index_copy_(0, a[1], a[3]);
         a[1].add_(1);
         a[0][0].index_add_(0, a[1], a[3]);
         a[1].index_copy_(0, a[1] * 0, a[2].slice(0, 0, 1).expand({2}));
         a[0][2].index_copy_(0, a[1], a[3]);
         return std::vector{a[0].sum(2)};
       }},
      {"scaled between",
       [](std::vector<Tensor> a) {
         Tensor x = a[0], p = x[1], old = x * 2.0;
         p.mul_(0.5);
         Tensor halved = x[1].t() + 0.0, first = x.select(1, 0) * 1.0;
         p.index_add_(0, a[1], a[3]);
         Tensor added = p * 1.0;
         p.mul_(p.slice(0, 0, 1)), p.add_(x[0]);
         p.index_copy_(0, a[2], p.slice(0, 1, 3));
         x.mul_(0.25);
         x.index_add_(1, a[1], x.slice(1, 0, 2) * 2.0);
         x.sub_(x[2]);
         return std::vector{old, halved, first, added, x.sum(1), p + 0.0};
       }},
      {"scaled by what it was",
       [](std::vector<Tensor> a) {
         Tensor x = a[0], y = x + 0.5;
         x.mul_(x.sum());
         x.index_add_(1, a[1], a[3].unsqueeze(0).expand({3, 2, 4}));
         x.mul_(x.transpose(1, 2).sum(1).unsqueeze(2)).clamp_(-5.0, 5.0);
         y.mul_(2.0);
         Tensor z = y * 1.5;
         y.index_add_(1, a[2], a[3].unsqueeze(0).expand({3, 2, 4}));
         y.sub_(z).mul_(y);
         return std::vector{y, z, x.mean(0)};
       }},
      {"a view of it stays",
       [](std::vector<Tensor> a) {
         Tensor y = a[0] + 1.0, p = y[1], q = p.t();
         p.index_copy_(0, a[1], a[3]);
         q.mul_(2.0);
         p.index_add_(0, a[2], a[3]);
         return std::vector{y, p, q, q.sum(0)};
       }},
  };
  auto indices = [](std::int64_t i, std::int64_t j) { return arange(2) * (j - i) + i; };
  for (const auto& [name, body] : bodies) {
    SCOPED_TRACE(name);
    auto f = compile(body, {.name = name});
    for (std::int64_t n : {5, 7, 5}) {
      for (auto [i, j] : {std::pair<std::int64_t, std::int64_t>{0, 2}, {3, 1}, {1, n - 2}, {2, n}, {n + 3, 0}}) {
        for (bool first : {true, false}) {  // which lookup it is
          std::vector<Tensor> a{(arange(0, 12 * n, 1, {.dtype = kFloat32}) * 0.25).view({3, n, 4}),
                                first ? indices(i, j) : indices(1, 3), first ? indices(0, 2) : indices(i, j),
                                randn({2, 4})};
          std::vector<Tensor> b, old;
          for (const Tensor& t : a) b.push_back(t.clone()), old.push_back(t.clone());
          std::optional<ErrorCode> got_error, want_error;
          std::vector<Tensor> got, want;
          try {
            want = body(b);
          } catch (const Error& e) {
            want_error = e.code();
          }
          try {
            got = f(a);
          } catch (const Error& e) {
            got_error = e.code();
          }
          ASSERT_EQ(got_error, want_error) << n << " " << i << " " << j;
          for (std::size_t k = 0; k < a.size(); ++k)
            EXPECT_TRUE(want_error ? equal(a[k], old[k]) : allclose(a[k], b[k], 1e-5, 1e-5))
                << "argument " << k << ", n " << n << ": " << i << ", " << j;
          for (std::size_t k = 0; k < want.size() && !want_error; ++k)
            EXPECT_TRUE(allclose(got[k], want[k], 1e-5, 1e-5))
                << "result " << k << ", n " << n << ": " << i << ", " << j;
          // what is written later shows where it does eagerly
          for (std::size_t k = 0; k < want.size() && !want_error; ++k) {
            got[k].add_(1.0), want[k].add_(1.0);
            for (std::size_t l = 0; l < want.size(); ++l)
              EXPECT_TRUE(allclose(got[l], want[l], 1e-5, 1e-5)) << "result " << l << " after a write to " << k;
            for (std::size_t l = 0; l < a.size(); ++l)
              EXPECT_TRUE(allclose(a[l], b[l], 1e-5, 1e-5)) << "argument " << l << " after a write to " << k;
          }
        }
      }
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  }
}

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
}  // namespace reprise
