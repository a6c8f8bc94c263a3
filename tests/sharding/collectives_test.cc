// Collectives as operators: eager, compiled, derived.
#include "tests/sharding/ranks.h"

namespace reprise::test {

namespace {

/// What rank r holds.
Tensor of_rank(int r, std::vector<std::int64_t> sizes) { return numbers(std::move(sizes), r); }

struct Case {
  const char* name;
  std::function<Tensor(const Tensor& x, const DeviceMesh&)> f;
  std::function<Tensor(const std::vector<Tensor>& xs, int rank)> want;
};

/// Of ranks 0 to 3 of [2, 2]: axis 0 joins r and r ^ 2, axis 1 joins r and r ^ 1.
std::vector<Case> cases() {
  const auto of = [](int r, int axis, const std::vector<Tensor>& xs) {
    const int bit = axis == 0 ? 2 : 1;
    return std::vector<Tensor>{xs[static_cast<std::size_t>(r & ~bit)], xs[static_cast<std::size_t>(r | bit)]};
  };
  const auto at = [](int r, int axis) { return axis == 0 ? r / 2 : r % 2; };
  return {
      {"sum", [](const Tensor& x, const DeviceMesh& m) { return all_reduce(x, m, "b"); },
       [=](auto& xs, int r) { return of(r, 1, xs)[0] + of(r, 1, xs)[1]; }},
      {"mean of a transpose",
       [](const Tensor& x, const DeviceMesh& m) { return all_reduce(x.t(), m, 0, ReduceOp::Mean); },
       [=](auto& xs, int r) { return (of(r, 0, xs)[0] + of(r, 0, xs)[1]).t() / 2; }},
      {"max", [](const Tensor& x, const DeviceMesh& m) { return all_reduce(x, m, 1, ReduceOp::Max); },
       [=](auto& xs, int r) { return maximum(of(r, 1, xs)[0], of(r, 1, xs)[1]); }},
      {"gather rows", [](const Tensor& x, const DeviceMesh& m) { return all_gather(x, m, "a"); },
       [=](auto& xs, int r) { return cat(of(r, 0, xs), 0); }},
      {"gather columns", [](const Tensor& x, const DeviceMesh& m) { return all_gather(x, m, "b", -1); },
       [=](auto& xs, int r) { return cat(of(r, 1, xs), 1); }},
      {"scatter columns", [](const Tensor& x, const DeviceMesh& m) { return reduce_scatter(x, m, "b", 1); },
       [=](auto& xs, int r) { return (of(r, 1, xs)[0] + of(r, 1, xs)[1]).slice(1, at(r, 1) * 3, at(r, 1) * 3 + 3); }},
      {"exchange", [](const Tensor& x, const DeviceMesh& m) { return all_to_all(x, m, "a", 1, 0); },
       [=](auto& xs, int r) {
         const auto g = of(r, 0, xs);
         const std::int64_t c = at(r, 0) * 3;
         return cat({g[0].slice(1, c, c + 3), g[1].slice(1, c, c + 3)}, 0);
       }},
      {"into a part of a larger tensor",
       [](const Tensor& x, const DeviceMesh& m) {
         const Tensor y = all_reduce(x, m, 1);
         return cat({y, x}, 1);
       },
       [=](auto& xs, int r) {
         return cat({of(r, 1, xs)[0] + of(r, 1, xs)[1], xs[static_cast<std::size_t>(r)]}, 1);
       }},
      {"broadcast", [](const Tensor& x, const DeviceMesh& m) { return broadcast(x, m, "a", 1); },
       [=](auto& xs, int r) { return of(r, 0, xs)[1]; }},
      {"part", [](const Tensor& x, const DeviceMesh& m) { return local_part(x, m, "b", 0); },
       [=](auto& xs, int r) { return xs[static_cast<std::size_t>(r)].slice(0, at(r, 1) * 2, at(r, 1) * 2 + 2); }},
      {"coordinate", [](const Tensor& x, const DeviceMesh& m) { return mesh_coordinate(x, m, "a"); },
       [=](auto&, int r) { return full({}, at(r, 0), {kInt64}); }},
  };
}

std::vector<Tensor> all_ranks() {
  std::vector<Tensor> xs;
  for (int r = 0; r < 4; ++r) xs.push_back(of_rank(r, {4, 6}));
  return xs;
}

}  // namespace

TEST(Collectives, EagerAndCompiled) {
  const std::vector<Tensor> xs = all_ranks();
  const std::vector<Case> all = cases();
  on_ranks(4, [&](Communicator& c) {
    const DeviceMesh mesh = init_device_mesh({2, 2}, {"a", "b"});
    auto together = compile([&](Tensor x) {
      std::vector<Tensor> results;
      for (const Case& k : all) results.push_back(k.f(x, mesh));
      return results;
    });
    const Tensor& x = xs[static_cast<std::size_t>(c.rank())];
    const std::vector<Tensor> made = together(x);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Tensor want = all[i].want(xs, c.rank());
      EXPECT_TRUE(same(all[i].f(x, mesh), want)) << all[i].name;
      EXPECT_TRUE(same(made[i], want)) << all[i].name;
    }
    EXPECT_EQ(together.stats().eager_fallbacks, 0);
  });
}

// One compiled function of all ranks, of any sizes; equal calls stay two, unread ones stay, lines and meshes are
// arguments.
TEST(Collectives, AreNeitherMergedNorDropped) {
  auto f = compile([](Tensor x) {
    const DeviceMesh mesh = init_device_mesh({2}, {"dp"});
    all_reduce(x * 3, mesh, "dp", ReduceOp::Max);
    return all_reduce(x, mesh, "dp") + all_reduce(x, mesh, "dp");
  });
  for (std::int64_t n : {5, 7})
    on_ranks(2, [&](Communicator& c) { EXPECT_TRUE(same(f(full({n}, c.rank() + 1.0)), full({n}, 6.0))); });
  EXPECT_EQ(f.stats().compilations, 1);
  const std::string text = f.explain();
  std::size_t calls = 0;
  for (std::size_t at = 0; (at = text.find(", '[dp=2]', 0, '", at)) != std::string::npos; ++at) ++calls;
  EXPECT_EQ(calls, 3u) << text;
  EXPECT_NE(text.find("'max', 'collectives_test.cc:"), std::string::npos) << text;
}

// The loss is the sum of what all ranks compute; each gets the gradient of its own part.
TEST(Collectives, Derivatives) {
  const std::vector<Tensor> xs = all_ranks();
  const std::vector<Case> all = cases();
  const auto weighted = [](const Tensor& y, int r) {
    const Tensor w = numbers({y.numel().value()}, 100 + r).reshape(y.sizes());
    return (y * w).sum();
  };
  // By differences of one element of one rank, on all ranks.
  const double step = 1e-2;
  for (const Case& k : all) {
    if (std::string_view(k.name) == "coordinate") continue;
    std::vector<Tensor> g(4);
    on_ranks(4, [&](Communicator& c) {
      const DeviceMesh mesh = init_device_mesh({2, 2}, {"a", "b"});
      Tensor x = xs[static_cast<std::size_t>(c.rank())].clone().requires_grad_();
      g[static_cast<std::size_t>(c.rank())] = grad({weighted(k.f(x, mesh), c.rank())}, {x})[0];
    });
    for (int r = 0; r < 4; ++r)
      for (std::int64_t at : {0, 8, 23}) {
        const auto loss = [&](double by) {
          std::vector<Tensor> moved = xs;
          std::vector<float> v = xs[static_cast<std::size_t>(r)].to_vector<float>();
          v[static_cast<std::size_t>(at)] += static_cast<float>(by);
          moved[static_cast<std::size_t>(r)] = tensor_of(v).reshape({4, 6});
          double sum = 0;
          for (int s = 0; s < 4; ++s) sum += weighted(k.want(moved, s).to(kFloat32), s).item<double>();
          return sum;
        };
        ASSERT_TRUE(g[static_cast<std::size_t>(r)].defined()) << k.name;
        const double got = g[static_cast<std::size_t>(r)].to_vector<float>()[static_cast<std::size_t>(at)];
        EXPECT_NEAR(got, (loss(step) - loss(-step)) / (2 * step), 2e-3) << k.name << ", rank " << r << ", " << at;
      }
  }
}

TEST(Collectives, WhatIsRefused) {
  struct Refused {
    int ranks;
    const char* says;
    std::function<void(int rank, const DeviceMesh&)> f;
  };
  const Refused all[] = {
      {2, "all_reduce: axis 'cp' of the mesh [tp=2]", [](int, auto& m) { all_reduce(ones({2}), m, "cp"); }},
      {2, "all_reduce: axis 1 of the mesh [tp=2]", [](int, auto& m) { all_reduce(ones({2}), m, 1); }},
      {2, "no mean of int64 elements", [](int, auto& m) { all_reduce(arange(2), m, 0, ReduceOp::Mean); }},
      {2, "dimension 0 of sizes [3] has no equal parts for 2 ranks",
       [](int, auto& m) { reduce_scatter(ones({3}), m, 0); }},
      {2, "dimension 1 is out of range", [](int, auto& m) { all_gather(ones({3}), m, 0, 1); }},
      {2, "root 2 of 2 ranks", [](int, auto& m) { broadcast(ones({3}), m, 0, 2); }},
      {2, "ranks call different collectives: rank 0 calls all_reduce of 3 float32, sum (",
       [](int r, auto& m) { all_reduce(ones({3 + r}), m, 0); }},
      {2, "rank 1 calls all_gather of 3 float32 (",
       [](int r, auto& m) { r ? all_gather(ones({3}), m, 0) : all_reduce(ones({3}), m, 0); }},
      {2, "planted",
       [](int r, auto& m) {
         if (r) throw std::runtime_error("planted");
         all_reduce(ones({3}), m, 0);
       }},
  };
  for (const Refused& k : all) {
    const std::string what =
        error_on_ranks(k.ranks, [&](Communicator& c) { k.f(c.rank(), init_device_mesh({2}, {"tp"})); });
    EXPECT_NE(what.find(k.says), std::string::npos) << what;
  }
  EXPECT_NE(error_on_ranks(3,
                           [](Communicator&) {
                             init_device_mesh({2, 2});
                           })
                .find("a mesh [0=2, 1=2] of 4 ranks, and the world has 3"),
            std::string::npos);
  // In a replay, with the line of the other rank.
  auto f = compile([](Tensor x) { return all_reduce(x, init_device_mesh({2}), 0); });
  on_ranks(2, [&](Communicator&) { f(ones({4})); });
  const std::string what = error_on_ranks(2, [&](Communicator& c) { f(ones({4 + c.rank()})); });
  EXPECT_NE(what.find("rank 1 calls all_reduce of 5 float32, sum ("), std::string::npos) << what;
  EXPECT_NE(what.find("collectives_test.cc:"), std::string::npos) << what;
}

}  // namespace reprise::test
