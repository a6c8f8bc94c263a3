// What a compiled function does to its arguments and what its results share: as eager, call after call.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "reprise/reprise.h"

namespace reprise {
namespace {

using Body = std::function<std::vector<Tensor>(Tensor, Tensor)>;

std::vector<float> ramp(std::int64_t n) {
  std::vector<float> v;
  for (std::int64_t i = 0; i < n; ++i) v.push_back(static_cast<float>(i % 7) - 2.0f);
  return v;
}

std::string show(const Tensor& t) {
  std::string s = t.str() + " strides";
  for (Int i : t.strides()) s += " " + i.str();
  return s;
}

struct Case {
  const char* name;
  Body body;
};

const Case kWrites[] = {
    {"whole",
     [](Tensor x, Tensor y) {
       x.add_(y);
       return std::vector<Tensor>{x * 2};
     }},
    {"slice",
     [](Tensor x, Tensor y) {
       x.slice(0, 1, x.size(0)).mul_(3);
       return std::vector<Tensor>{x + y};
     }},
    {"select, returned",
     [](Tensor x, Tensor) {
       Tensor r = x.select(1, 0);
       r.fill_(4);
       return std::vector<Tensor>{r, x};
     }},
    {"through a transpose",
     [](Tensor x, Tensor y) {
       x.transpose(0, 1).add_(y.transpose(0, 1));
       return std::vector<Tensor>{x.sum()};
     }},
    {"through a view",
     [](Tensor x, Tensor) {
       x.view({-1}).slice(0, 0, 3).copy_(x.view({-1}).slice(0, 3, 6).clone());
       return std::vector<Tensor>{};
     }},
    {"both",
     [](Tensor x, Tensor y) {
       x.copy_(y);
       y.add_(1);
       return std::vector<Tensor>{x - y};
     }},
    {"written and read before and after",
     [](Tensor x, Tensor y) {
       Tensor before = x + 0.5;
       x.mul_(y);
       return std::vector<Tensor>{before, x + before};
     }},
    {"the second only",
     [](Tensor x, Tensor y) {
       y.slice(1, 0, 1).add_(x.slice(1, 0, 1));
       return std::vector<Tensor>{y.slice(1, 0, 1)};
     }},
    {"two views of an intermediate",
     [](Tensor x, Tensor y) {
       Tensor t = x + y;
       return std::vector<Tensor>{t.slice(0, 0, 1), t.transpose(0, 1)};
     }},
    {"an intermediate written through a view",
     [](Tensor x, Tensor y) {
       Tensor t = x * 2;
       t.slice(0, 0, 1).add_(y.slice(0, 0, 1));
       return std::vector<Tensor>{t, t};
     }},
};

TEST(Mutation, TheMatrix) {
  for (const Case& c : kWrites) {
    auto f = compile(c.body, {.name = c.name});
    for (std::int64_t n : {3, 5, 3, 8}) {
      for (int alias = 0; alias < 4; ++alias) {
        // 0: apart; 1: the same tensor twice; 2: overlapping rows of one storage; 3: disjoint column blocks of one
        // storage.
        auto make = [&](Tensor& x, Tensor& y) {
          Tensor base = tensor_of(ramp((n + 1) * 6), {n + 1, Int(6)});
          x = alias == 3 ? base.slice(0, 0, n).slice(1, 0, 3) : base.slice(0, 0, n);
          y = alias == 0   ? tensor_of(ramp(n * 6), {n, Int(6)})
              : alias == 1 ? x
              : alias == 2 ? base.slice(0, 1, n + 1)
                           : base.slice(0, 0, n).slice(1, 3, 6);
          if (alias == 3 && std::string(c.name) == "through a view") x = x.clone();
          return base;
        };
        Tensor x, y, x2, y2;
        Tensor base = make(x, y), base2 = make(x2, y2);
        std::vector<Tensor> want = c.body(x, y), got = f(x2, y2);
        std::string at = std::string(c.name) + ", n " + std::to_string(n) + ", alias " + std::to_string(alias);
        ASSERT_EQ(show(base), show(base2)) << at;
        ASSERT_EQ(show(y), show(y2)) << at;
        ASSERT_EQ(want.size(), got.size()) << at;
        for (std::size_t i = 0; i < want.size(); ++i) ASSERT_EQ(want[i].str(), got[i].str()) << at << ", result " << i;
        for (std::size_t i = 0; i < want.size(); ++i) {  // who shares memory with whom
          want[i].add_(1);
          got[i].add_(1);
          ASSERT_EQ(show(base), show(base2)) << at << ", after a write to result " << i;
          for (std::size_t j = 0; j < want.size(); ++j)
            ASSERT_EQ(want[j].str(), got[j].str()) << at << ", result " << j << " after a write to " << i;
        }
      }
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << c.name << ": " << f.stats().last_fallback_reason;
  }
}

// Sizes that are known to be equal make a transposed value look like the value: it is not.
TEST(Mutation, OfSquaresThroughTransposedViews) {
  const Case cases[] = {
      {"copy of itself",
       [](Tensor x, Tensor) {
         Tensor y = x.t();
         y.copy_(x.t());
         return std::vector<Tensor>{x + x.t()};
       }},
      {"of an intermediate",
       [](Tensor x, Tensor) {
         Tensor s = x + x.t(), y = x.clone(), z = y.t();
         z.copy_(y.t());
         return std::vector<Tensor>{s, y};
       }},
      {"into its transposed self",
       [](Tensor x, Tensor) {
         Tensor s = x.mm(x), y = x.clone(), z = y.t();
         z.copy_(y);
         return std::vector<Tensor>{s, y};
       }},
      {"after t_",
       [](Tensor x, Tensor) {
         Tensor s = x + x.t(), y = x.t();
         x.t_();
         x.copy_(y);
         return std::vector<Tensor>{s};
       }},
      {"t_ of what is copied",
       [](Tensor x, Tensor) {
         Tensor s = x + x.t();
         x.t_();
         Tensor m = maximum(x, x);
         m.t_();
         x.copy_(m);
         return std::vector<Tensor>{s};
       }},
      {"from another",
       [](Tensor x, Tensor y) {
         Tensor s = x + x.t() + y;
         x.t().copy_(y.t());
         y.t_();
         y.copy_(x + 1);
         return std::vector<Tensor>{s, x.t()};
       }},
  };
  for (const Case& c : cases) {
    auto f = compile(c.body, {.name = c.name});
    for (std::int64_t n : {2, 3, 1, 5}) {
      auto make = [&](int shift) {
        return tensor_of(ramp(n * n + shift), {n * n + shift}).slice(0, shift, n * n + shift).view({n, n});
      };
      Tensor x = make(0), y = make(3), x2 = make(0), y2 = make(3);
      std::vector<Tensor> want = c.body(x, y), got = f(x2, y2);
      std::string at = std::string(c.name) + ", n " + std::to_string(n);
      EXPECT_EQ(show(x), show(x2)) << at;
      EXPECT_EQ(show(y), show(y2)) << at;
      for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(want[i].str(), got[i].str()) << at << ", result " << i;
    }
  }
}

TEST(Mutation, MetadataOfArguments) {
  const std::pair<const char*, std::function<void(Tensor)>> cases[] = {
      {"t_", [](Tensor x) { x.t_(); }},
      {"transpose_, then a write",
       [](Tensor x) {
         x.transpose_(0, 1);
         x.slice(0, 0, 1).add_(1);
       }},
      {"unsqueeze_", [](Tensor x) { x.unsqueeze_(1); }},
      {"squeeze_ after unsqueeze_",
       [](Tensor x) {
         x.unsqueeze_(0);
         x.squeeze_(0);
       }},
      {"swapaxes_", [](Tensor x) { x.swapaxes_(0, 1); }},
      {"resize_ to less",
       [](Tensor x) {
         x.resize_({2, 2});
       }},
  };
  for (auto& [name, body] : cases) {
    auto f = compile(body, {.name = name});
    for (std::int64_t n : {2, 4, 5}) {
      Tensor a = tensor_of(ramp(n * 3), {n, Int(3)}), b = a.clone();
      body(a);
      f(b);
      ASSERT_EQ(show(a), show(b)) << name << " n " << n;
    }
  }
}

TEST(Mutation, WritesInPlaceCopyNothing) {
  auto add = compile([](Tensor x) { x.add_(1); }, {.name = "add"});
  Tensor x = zeros({100});
  add(x);
  add(x);
  EXPECT_EQ(x.sum().item().to_double(), 200);
  EXPECT_EQ(add.stats().copied_bytes, 0);

  auto cache = compile(
      [](Tensor k, Tensor row, Int pos) {
        k.slice(1, pos, pos + 1).copy_(row);
        return scaled_dot_product_attention(row, k.slice(1, 0, pos + 1), k.slice(1, 0, pos + 1));
      },
      {.name = "cache"});
  Tensor k = zeros({2, 64, 8});
  for (int pos = 0; pos < 64; ++pos) cache(k, full({2, 1, 8}, 0.25), pos);
  EXPECT_EQ(cache.stats().copied_bytes, 0);
  EXPECT_EQ(cache.stats().eager_fallbacks, 0);
  EXPECT_LE(cache.stats().compilations, 2);
}

// Index writes change some elements: through views that show all of an argument in another order or shape, where they
// stand.
TEST(Mutation, IndexWritesThroughViewsCopyNothing) {
  using Write = void (*)(Tensor x, Tensor i, Tensor v);
  const std::pair<const char*, Write> writes[] = {
      {"index_put_", [](Tensor x, Tensor i, Tensor v) { x.index_put_({i}, v); }},
      {"index_put_, added up", [](Tensor x, Tensor i, Tensor v) { x.index_put_({i}, v, true); }},
      {"index_copy_", [](Tensor x, Tensor i, Tensor v) { x.index_copy_(0, i, v); }},
      {"index_add_", [](Tensor x, Tensor i, Tensor v) { x.index_add_(0, i, v); }},
      {"scatter_",
       [](Tensor x, Tensor i, Tensor v) {
         x.scatter_(0, i.unsqueeze(1).expand({3, v.size(1)}), v);
       }},
      {"two", [](Tensor x, Tensor i, Tensor v) { x.index_put_({i}, v), x.index_copy_(0, i + 1, v * 2); }},
  };
  const std::pair<const char*, Tensor (*)(Tensor)> views[] = {
      {"transposed", [](Tensor m) { return m.t(); }},
      {"a part, transposed", [](Tensor m) { return m.slice(0, 1, 6).t(); }},
      {"a part of the transposed", [](Tensor m) { return m.t().slice(0, 1); }},
      {"in blocks",
       [](Tensor m) {
         return m.view({-1, 4});
       }},
      {"in blocks, transposed",
       [](Tensor m) {
         return m.view({4, 2, 12}).permute({2, 0, 1}).select(2, 1);
       }},
  };
  for (const auto& [how, write] : writes)
    for (const auto& [what, view] : views) {
      auto body = [write = write, view = view](Tensor m, Tensor i, Tensor v) { write(view(m), i, v); };
      auto f = compile(body);
      const Tensor i = arange(3) * 2;
      for (int round = 0; round < 2; ++round) {
        Tensor want = arange(96, {.dtype = kFloat32}).view({8, 12}), got = want.clone();
        const Tensor v = ones({3, view(want).size(1)}) * (round + 7);
        body(want, i, v), f(got, i, v);
        EXPECT_TRUE(equal(want, got)) << how << ", " << what;
      }
      EXPECT_EQ(f.stats().copied_bytes, 0) << how << ", " << what << "\n" << f.explain();
      EXPECT_EQ(f.stats().eager_fallbacks, 0) << how << ", " << what << ": " << f.stats().last_fallback_reason;
    }
}

TEST(Mutation, VersionsCountWrites) {
  auto f = compile([](Tensor x) { x.add_(1); }, {.name = "version"});
  Tensor x = zeros({3});
  f(x);
  std::uint64_t v = x.version();
  f(x);
  EXPECT_GT(x.version(), v);
}

// All of an intermediate is written through a transposed view: its storage stays row by row, and so do aliases of it.
TEST(Mutation, OfAllOfAnIntermediateThroughATransposedView) {
  auto one = [](Tensor x) {
    Tensor y = x * 1;
    y.transpose(0, 1).copy_(x.transpose(0, 1) + 1);
    return y;
  };
  auto aliases = [](Tensor x) {
    Tensor y = x * 2, all = y.slice(1, 0, y.size(1)).transpose(0, 1), part = all.narrow(1, 1, 2);
    part.mul_(-0.5);
    return std::vector<Tensor>{part, y, all};
  };
  Tensor x = rand({5, 3});
  auto f = compile(one, {.name = "one"});
  Tensor got = f(x), want = one(x);
  EXPECT_EQ(got.to_vector<float>(), want.to_vector<float>());
  EXPECT_EQ(got.stride(0).value(), 3);
  for (const char* mode : {"full", "no-fuse", "interpret"}) {
    auto g = compile(aliases, {.name = "aliases", .mode = mode});
    std::vector<Tensor> a = g(x), b = aliases(x);
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].to_vector<float>(), b[i].to_vector<float>()) << mode << " " << i;
      EXPECT_EQ(a[i].stride(0).value(), b[i].stride(0).value()) << mode << " " << i;
    }
  }
}

// The time to compile must not grow out of hand with the number of writes to one tensor.
TEST(Mutation, ManyPartsOfOneTensor) {
  constexpr int kRows = 40;
  auto rows = [](Tensor x) {
    Tensor o = zeros({kRows, 8});
    for (int i = 0; i < kRows; ++i) o[i].copy_(x * i);
    return o;
  };
  auto filter = [](Tensor x) {
    Tensor y = zeros_like(x);
    for (Int i = 1; i < x.size(0); i += 1) y[i].copy_(x[i] - y[i - 1] * 0.5);
    return y;
  };
  Tensor x = arange(8, {.dtype = kFloat32}), signal = arange(kRows, {.dtype = kFloat32});
  EXPECT_TRUE(equal(compile(rows)(x), rows(x)));
  EXPECT_TRUE(equal(compile(filter)(signal), filter(signal)));
}

TEST(Mutation, OneCacheOfAllLayers) {
  constexpr int kLayers = 12;
  auto step = [](Tensor cache, Tensor x, Int pos) {
    for (int l = 0; l < kLayers; ++l) {
      Tensor k = cache[l][0], v = cache[l][1];
      k.slice(0, pos, pos + 1).copy_(x * 2.0);
      v.slice(0, pos, pos + 1).copy_(x + 1.0);
      x = x + x.matmul(k.slice(0, 0, pos + 1).t()).softmax(-1).matmul(v.slice(0, 0, pos + 1));
    }
    return x * 0.001;
  };
  Tensor cache = zeros({kLayers, 2, 16, 8}), twin = zeros({kLayers, 2, 16, 8});
  auto f = compile(step);
  for (int pos = 0; pos < 4; ++pos) {
    Tensor x = full({1, 8}, 0.1 * (pos + 1));
    EXPECT_TRUE(allclose(f(cache, x, pos), step(twin, x, pos))) << pos;
    EXPECT_TRUE(allclose(cache, twin)) << pos;
  }
  EXPECT_LE(f.stats().compilations, 2);
  EXPECT_EQ(f.stats().copied_bytes, 0);
}

// The end of a row is written under a mask: not a byte beyond it.
TEST(Mutation, RowsEndWhereTheyEnd) {
  auto f = compile([](Tensor mask, Tensor bytes, Tensor c, Tensor x) {
    Tensor t = c.logical_not();
    mask.copy_(eq(x, x).logical_xor(t));
    bytes.copy_(t);
    return std::pair((x * x).exp(), remainder(x, x));
  });
  for (DType wide : {kFloat64, kInt64, kFloat32, kFloat16})
    for (DType narrow : {kBool, kUInt8, kInt8, kFloat16})
      for (int n : {1, 3, 7, 8, 9, 15, 17, 20, 31, 33}) {
        std::vector<std::uint8_t> memory(256, 77);
        Tensor mask = from_blob(memory.data(), {n}, narrow), bytes = zeros({n}, {.dtype = kBool});
        Tensor x = ones({n}, {.dtype = wide}), c = ones({n}, {.dtype = kBool});
        f(mask, bytes, c, x);
        EXPECT_TRUE(equal(mask, ones({n}, {.dtype = narrow})));
        for (std::size_t i = static_cast<std::size_t>(n * item_size(narrow)); i < memory.size(); ++i)
          ASSERT_EQ(memory[i], 77) << "byte " << i << " beyond " << n << " elements of " << dtype_name(narrow)
                                   << ", loop of " << dtype_name(wide);
      }
}

// So many that they are put in order before they are compared: other memory at each call, parts of one storage that
// interleave, and ones that meet.
TEST(Mutation, ManyWrittenArgumentsElsewhereAtEachCall) {
  constexpr int n = 60;
  auto f = compile([](const std::vector<Tensor>& written, const std::vector<Tensor>& read) {
    for (std::size_t i = 0; i < written.size(); ++i) written[i].add_(read[i]);
  });
  auto parts_of = [](const Tensor& all) {  // columns of one matrix: their addresses interleave
    std::vector<Tensor> parts;
    for (int i = 0; i < n; ++i) parts.push_back(all.select(1, i));
    return parts;
  };
  const std::vector<Tensor> read = parts_of(arange(4 * n, {.dtype = kFloat32}).view({4, n}));
  for (int call = 0; call < 4; ++call) {
    Tensor written = zeros({4, n});
    f(parts_of(written), read);
    EXPECT_TRUE(equal(written, arange(4 * n, {.dtype = kFloat32}).view({4, n}))) << call;
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  for (auto [i, j] : {std::pair(3, 50), std::pair(50, 3), std::pair(58, 59)}) {
    Tensor compiled = zeros({4, n}), eager = zeros({4, n});
    std::vector<Tensor> c = parts_of(compiled), e = parts_of(eager);
    c[static_cast<std::size_t>(i)] = c[static_cast<std::size_t>(j)],
    e[static_cast<std::size_t>(i)] = e[static_cast<std::size_t>(j)];
    f(c, read);
    for (std::size_t k = 0; k < n; ++k) e[k].add_(read[k]);
    EXPECT_TRUE(equal(compiled, eager)) << i << " is " << j;
    std::vector<Tensor> given = parts_of(zeros({4, n})), looked = read;
    looked[static_cast<std::size_t>(i)] = given[static_cast<std::size_t>(j)];
    f(given, looked);
    EXPECT_TRUE(equal(given[static_cast<std::size_t>(i)], i < j ? zeros({4}) : read[static_cast<std::size_t>(j)]))
        << i << " reads " << j;
  }
}

}  // namespace
}  // namespace reprise
