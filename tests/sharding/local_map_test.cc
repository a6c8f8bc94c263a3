// Functions of parts: three regions, their derivatives, what a body must not do.
#include "tests/sharding/ranks.h"

namespace reprise::test {

namespace {

const Placement R = Replicate();
Placement S(int dim) { return Shard(dim); }

/// A region, its arguments on one device, and how they lie before.
struct Region {
  const char* name;
  std::vector<std::vector<std::int64_t>> sizes;
  std::vector<Placements> given;
  LocalMapOptions options;
  detail::LocalBody body;
};

Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v) { return scaled_dot_product_attention(q, k, v); }

/// Those of AutoParallel's example, on three axes.
std::vector<Region> regions() {
  return {{"sharded_pointwise",
           {{8, 6}},
           {{R, R, R}},
           {.name = "sharded_pointwise", .in = {{S(0), S(0), R}}, .out = {{S(0), S(0), R}}},
           [](auto& x) { return std::vector<Tensor>{silu(x[0]) * 2}; }},
          {"replicate_linear",
           {{6, 6}, {4, 6}},
           {{S(0), R, R}, {S(0), S(0), R}},
           {.name = "replicate_linear", .in = {{R, R, R}, {R, R, R}}, .out = {{R, R, R}}},
           [](auto& x) { return std::vector<Tensor>{linear(x[1], x[0])}; }},
          {"context_parallel",
           {{2, 2, 4, 4}, {2, 2, 4, 4}, {2, 2, 4, 4}},
           {{S(0), S(1), S(2)}, {S(0), S(1), S(2)}, {S(0), R, S(1)}},
           {.name = "context_parallel",
            .in = {{S(0), S(1), S(2)}, {S(0), S(1), R}, {S(0), S(1), R}},
            .out = {{S(0), S(1), S(2)}}},
           [](auto& x) { return std::vector<Tensor>{attend(x[0], x[1], x[2])}; }}};
}

std::vector<Tensor> operands(const Region& r) {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < r.sizes.size(); ++i) all.push_back(numbers(r.sizes[i], static_cast<int>(i)));
  return all;
}

/// The region with as many arguments as it has.
Tensor call(const Region& r, const DeviceMesh& mesh, const std::vector<Tensor>& x) {
  LocalMapOptions o = r.options;
  o.mesh = mesh, o.redistribute_inputs = true;
  const auto f = [&](auto... n) { return local_map([&](const decltype(n)&... t) { return r.body({t...})[0]; }, o); };
  if (x.size() == 1) return f(x[0])(x[0]);
  if (x.size() == 2) return f(x[0], x[1])(x[0], x[1]);
  return f(x[0], x[1], x[2])(x[0], x[1], x[2]);
}

}  // namespace

TEST(LocalMap, ThreeRegions) {
  for (const Region& r : regions()) {
    const std::vector<Tensor> x = operands(r);
    std::vector<Tensor> leaves;
    for (const Tensor& t : x) leaves.push_back(t.clone().requires_grad_());
    const Tensor want = r.body(leaves)[0], weight = numbers({want.numel().value()}, 9).reshape(want.sizes());
    const std::vector<Tensor> gradients = grad({(want * weight).sum()}, leaves);
    auto compiled = compile([&](const std::vector<Tensor>& x) {
      return call(r, init_device_mesh({2, 2, 2}, {"dp", "tp", "cp"}), x);
    });
    auto derived = compile([&](const std::vector<Tensor>& x, const Tensor& weight) {
      std::vector<Tensor> leaves;
      for (const Tensor& t : x) leaves.push_back(t.detach().requires_grad_());
      const Tensor y = call(r, init_device_mesh({2, 2, 2}, {"dp", "tp", "cp"}), leaves);
      return grad({(full_tensor(y) * weight).sum()}, leaves);
    });
    on_ranks(8, [&](Communicator&) {
      const DeviceMesh mesh = init_device_mesh({2, 2, 2}, {"dp", "tp", "cp"});
      std::vector<Tensor> given, with_gradients;
      for (std::size_t i = 0; i < x.size(); ++i) {
        given.push_back(distribute(x[i], mesh, r.given[i]));
        with_gradients.push_back(distribute(x[i], mesh, r.given[i]).requires_grad_());
      }
      const Tensor eager = call(r, mesh, given), replayed = compiled(given);
      EXPECT_EQ(placements_of(eager), r.options.out[0]) << r.name;
      EXPECT_EQ(placements_of(replayed), r.options.out[0]) << r.name;
      EXPECT_TRUE(same(full_tensor(eager), want)) << r.name;
      EXPECT_TRUE(same(full_tensor(replayed), want)) << r.name;
      const Tensor loss = (full_tensor(call(r, mesh, with_gradients)) * weight).sum();
      const std::vector<Tensor> g = grad({loss}, with_gradients), c = derived(given, weight);
      for (std::size_t i = 0; i < g.size(); ++i) {
        EXPECT_TRUE(same(full_tensor(g[i]), gradients[i])) << r.name << ", gradient " << i;
        EXPECT_TRUE(same(full_tensor(c[i]), gradients[i])) << r.name << ", gradient " << i << " compiled";
      }
    });
    EXPECT_EQ(compiled.stats().compilations, 1) << r.name;
    EXPECT_EQ(compiled.stats().eager_fallbacks + derived.stats().eager_fallbacks, 0) << r.name;
  }
}

// A body that communicates, several results, plain arguments, no mesh.
TEST(LocalMap, Bodies) {
  const Tensor x = numbers({4, 6}), w = numbers({6, 2}, 1);
  on_ranks(2, [&](Communicator&) {
    const DeviceMesh mesh = init_device_mesh({2}, {"tp"});
    auto both = local_map(
        [&](const Tensor& x, const Tensor& w) {
          const Tensor y = x.matmul(w);
          return std::pair(all_reduce(y, mesh, "tp"), y);
        },
        {.mesh = mesh, .in = {{S(1)}, {S(0)}}, .out = {{R}, {Partial()}}});
    Tensor a = x.clone().requires_grad_(), b = w.clone().requires_grad_();
    const auto [sum, partial] = both(a, b);
    EXPECT_TRUE(same(full_tensor(sum), x.matmul(w)));
    EXPECT_TRUE(same(full_tensor(partial), x.matmul(w)));
    const auto g = grad({(full_tensor(sum).square() + full_tensor(partial)).sum()}, {a, b});
    Tensor c = x.clone().requires_grad_(), d = w.clone().requires_grad_();
    const Tensor y = c.matmul(d);
    const auto want = grad({(y.square() + y).sum()}, {c, d});
    EXPECT_TRUE(same(g[0], want[0]));
    EXPECT_TRUE(same(g[1], want[1]));
    EXPECT_TRUE(same(local_map([](const Tensor& x) { return x * 2; }, {})(x), x * 2));
  });
}

TEST(LocalMap, WhatIsRefused) {
  struct Refused {
    const char* says;
    std::function<Tensor(const DeviceMesh&, const Tensor&)> f;
  };
  const auto map = [](const DeviceMesh& m, auto body) {
    return local_map(body, {.name = "part", .mesh = m, .in = {{S(0)}}, .out = {{S(0)}}});
  };
  const Refused all[] = {
      {"its body writes to argument 0 (add_)",
       [=](auto& m, auto& x) {
         return map(m, [](const Tensor& x) {
           x.add_(1);
           return x * 2;
         })(x);
       }},
      {"its body writes to argument 0 (fill_)",
       [=](auto& m, auto& x) {
         return map(m, [](const Tensor& x) {
           x.slice(0, 0, 1).t().fill_(1);
           return x * 2;
         })(x);
       }},
      {"result 0 of its body is argument 0, or a view of it",
       [=](auto& m, auto& x) { return map(m, [](const Tensor& x) { return x; })(x); }},
      {"result 0 of its body is argument 0, or a view of it",
       [=](auto& m, auto& x) { return map(m, [](const Tensor& x) { return x.t().t(); })(x); }},
      {"its body draws random numbers",
       [=](auto& m, auto& x) { return map(m, [](const Tensor& x) { return x + rand_like(x); })(x); }},
      {"argument 0 is R, and it takes S(0) (redistribute_inputs is off)",
       [=](auto& m, auto& x) { return map(m, [](const Tensor& x) { return x * 2; })(redistribute(x, {R})); }},
      {"its body gives 2 tensors, and placements are of 1",
       [=](auto& m, auto& x) {
         return map(m, [](const Tensor& x) { return std::vector<Tensor>{x * 2, x * 3}; })(x)[0];
       }},
      {"2 arguments, and placements of 1",
       [=](auto& m, auto& x) { return map(m, [](const Tensor& x, const Tensor&) { return x * 2; })(x, x); }},
      {"2 placements, S(0)S(0), for the 1 axes",
       [=](auto& m, auto& x) {
         return local_map([](const Tensor& x) { return x * 2; }, {.mesh = m, .in = {{S(0), S(0)}}, .out = {{S(0)}}})(x);
       }},
  };
  for (const bool compiled : {false, true})
    for (const Refused& k : all) {
      const std::string what = error_on_ranks(2, [&](Communicator&) {
        const DeviceMesh mesh = init_device_mesh({2}, {"tp"});
        const Tensor x = distribute(numbers({4, 4}), mesh, {S(0)});
        const Tensor before = full_tensor(x).clone();
        try {
          if (compiled) compile([&](Tensor x) { return k.f(mesh, x); })(x);
          else k.f(mesh, x);
        } catch (const Error&) {
          EXPECT_TRUE(same(full_tensor(x), before)) << k.says;
          throw;
        }
      });
      EXPECT_NE(what.find(k.says), std::string::npos) << k.says << "\n" << what;
      EXPECT_NE(what.find("local_map_test.cc:"), std::string::npos) << what;
    }
}

}  // namespace reprise::test
