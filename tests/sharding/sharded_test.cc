// Sharded tensors: how they are made, moved and computed with.
#include "tests/sharding/ranks.h"

namespace reprise::test {

namespace {

/// All lists of `axes` of these placements.
std::vector<Placements> all_placements(int axes, const std::vector<Placement>& of) {
  std::vector<Placements> all{{}};
  for (int a = 0; a < axes; ++a) {
    std::vector<Placements> more;
    for (const Placements& p : all)
      for (const Placement& one : of) more.push_back(p), more.back().push_back(one);
    all = more;
  }
  return all;
}

}  // namespace

// Every pair of placements on three meshes: the same parts that distribution gives, the same whole.
TEST(Sharded, RedistributesAllPairs) {
  const Tensor x = numbers({8, 8, 2});
  struct Mesh {
    std::vector<std::int64_t> sizes;
    std::vector<Placement> of;
  };
  const Mesh meshes[] = {
      {{2}, {Replicate(), Shard(0), Shard(2), Partial(), Partial(ReduceOp::Mean), Partial(ReduceOp::Max)}},
      {{2, 2}, {Replicate(), Shard(0), Shard(1), Partial()}},
      {{2, 1, 2}, {Replicate(), Shard(0)}}};
  for (const Mesh& m : meshes)
    on_ranks(static_cast<int>(MeshShape(m.sizes).ranks()), [&](Communicator&) {
      const DeviceMesh mesh = init_device_mesh(m.sizes);
      for (const Placements& from : all_placements(mesh.axes(), m.of)) {
        const Tensor d = distribute(x, mesh, from);
        EXPECT_EQ(to_string(placements_of(d)), to_string(from));
        EXPECT_TRUE(same(full_tensor(d), x)) << to_string(from);
        for (const Placements& to : all_placements(mesh.axes(), m.of)) {
          const Tensor moved = redistribute(d, to);
          ASSERT_EQ(placements_of(moved), to);
          const bool partial = std::any_of(to.begin(), to.end(), [](const Placement& p) { return p.is_partial(); });
          if (partial) EXPECT_TRUE(same(full_tensor(moved), x)) << to_string(from) << " -> " << to_string(to);
          else
            EXPECT_TRUE(same(to_local(moved), to_local(distribute(x, mesh, to))))
                << to_string(from) << " -> " << to_string(to);
        }
      }
    });
}

TEST(Sharded, LooksLikeTheWhole) {
  on_ranks(4, [](Communicator& c) {
    const DeviceMesh mesh = init_device_mesh({2, 2}, {"dp", "tp"});
    const Tensor x = numbers({8, 6}), d = distribute(x, mesh, {Shard(0), Shard(0)});
    EXPECT_EQ(d.size(0).value(), 8);
    EXPECT_EQ(to_local(d).size(0).value(), 2);
    EXPECT_TRUE(same(to_local(d), x.slice(0, c.rank() * 2, c.rank() * 2 + 2)));
    EXPECT_TRUE(is_sharded(d));
    EXPECT_FALSE(is_sharded(x));
    EXPECT_TRUE(same(d, x));  // to_vector: all of it
    EXPECT_EQ(wrapper_name(d), "Sharded");
    // Of parts that each rank has computed.
    const Tensor p = from_local(full({2}, c.rank() + 1.0), mesh, {Partial(), Shard(0)});
    EXPECT_TRUE(same(full_tensor(p), tensor({4.0f, 4.0f, 6.0f, 6.0f})));
  });
}

namespace {

struct Case {
  const char* name;
  std::function<Tensor(const std::vector<Tensor>&)> f;
  std::vector<std::vector<std::int64_t>> sizes;
  std::vector<const char*> placements;  // of each operand, on [2, 2]
  const char* result = nullptr;         // its placements
};

std::vector<Case> cases() {
  using V = const std::vector<Tensor>&;
  return {
      {"add", [](V x) { return x[0] + x[1]; }, {{4, 8}, {4, 8}}, {"S(0)R", "S(0)R"}, "S(0)R"},
      {"add of other shards", [](V x) { return x[0] + x[1]; }, {{4, 8}, {4, 8}}, {"S(0)R", "S(1)S(0)"}},
      {"broadcast", [](V x) { return x[0] * x[1]; }, {{4, 8}, {8}}, {"S(0)S(1)", "RR"}, "S(0)S(1)"},
      {"broadcast of a shard", [](V x) { return x[0] - x[1]; }, {{4, 8}, {4, 1}}, {"RR", "S(0)R"}},
      {"partial sums", [](V x) { return x[0] + x[1]; }, {{4, 8}, {4, 8}}, {"PR", "PR"}, "PR"},
      {"partial and whole", [](V x) { return x[0] - x[1] * 2; }, {{4, 8}, {4, 8}}, {"PR", "RR"}, "PR"},
      {"partial and shard", [](V x) { return x[0] + x[1]; }, {{4, 8}, {4, 8}}, {"PR", "S(1)R"}, "S(1)R"},
      {"a number to partial", [](V x) { return (x[0] + 1) * 2; }, {{4, 8}}, {"PP"}, "RR"},
      {"scaled partial", [](V x) { return -(x[0] * 3) / 2; }, {{4, 8}}, {"PP(mean)"}, "PP(mean)"},
      {"squared partial", [](V x) { return x[0] * x[0]; }, {{4, 8}}, {"PR"}, "RR"},
      {"relu of partial", [](V x) { return relu(x[0]); }, {{4, 8}}, {"PS(1)"}, "RS(1)"},
      {"where", [](V x) { return where(x[0] > 0, x[0], x[1]); }, {{4, 8}, {8}}, {"S(0)S(1)", "S(0)R"}, "S(0)S(1)"},
      {"columns", [](V x) { return x[0].matmul(x[1]); }, {{4, 8}, {8, 6}}, {"S(0)R", "RS(1)"}, "S(0)S(1)"},
      {"rows", [](V x) { return x[0].matmul(x[1]); }, {{4, 8}, {8, 6}}, {"RS(1)", "RS(0)"}, "RP"},
      {"product of partial", [](V x) { return x[0].mm(x[1]); }, {{4, 8}, {8, 6}}, {"PR", "RR"}, "PR"},
      {"batches", [](V x) { return x[0].matmul(x[1]); }, {{4, 2, 8}, {4, 8, 6}}, {"S(0)R", "S(0)S(2)"}, "S(0)S(2)"},
      {"batches of one", [](V x) { return x[0].matmul(x[1]); }, {{4, 2, 8}, {8, 6}}, {"S(0)S(2)", "RR"}, "S(0)P"},
      {"bmm", [](V x) { return bmm(x[0], x[1]); }, {{4, 2, 8}, {4, 8, 6}}, {"S(0)S(0)", "RR"}, "S(0)S(0)"},
      {"a vector", [](V x) { return x[0].matmul(x[1]); }, {{4, 8}, {8}}, {"S(0)S(1)", "RR"}, "S(0)P"},
      {"linear by columns",
       [](V x) { return linear(x[0], x[1], x[2]); },
       {{4, 8}, {6, 8}, {6}},
       {"S(0)R", "RS(0)", "RS(0)"},
       "S(0)S(1)"},
      {"linear by rows",
       [](V x) { return linear(x[0], x[1], x[2]); },
       {{2, 4, 8}, {6, 8}, {6}},
       {"S(1)S(2)", "RS(1)", "RR"},
       "S(1)P"},
      {"addmm",
       [](V x) { return addmm(x[0], x[1], x[2]); },
       {{6}, {4, 8}, {8, 6}},
       {"RR", "S(0)R", "RS(1)"},
       "S(0)S(1)"},
      {"sum", [](V x) { return x[0].sum(); }, {{4, 8}}, {"S(0)S(1)"}, "PP"},
      {"sum of rows", [](V x) { return x[0].sum({1}, true); }, {{4, 8}}, {"S(0)S(1)"}, "S(0)P"},
      {"mean", [](V x) { return x[0].mean({0}); }, {{4, 8}}, {"S(0)S(1)"}, "P(mean)S(0)"},
      {"largest", [](V x) { return x[0].amax({1}); }, {{4, 8}}, {"S(0)S(1)"}, "S(0)P(max)"},
      {"variance", [](V x) { return x[0].var({1}); }, {{4, 8}}, {"S(0)S(1)"}, "S(0)R"},
      {"argmax", [](V x) { return x[0].argmax(1); }, {{4, 8}}, {"S(0)S(1)"}, "S(0)R"},
      {"softmax", [](V x) { return softmax(x[0], -1); }, {{4, 8}}, {"S(0)S(1)"}, "S(0)R"},
      {"layer norm", [](V x) { return layer_norm(x[0], {8}, x[1]); }, {{4, 8}, {8}}, {"S(0)S(1)", "S(0)R"}, "S(0)R"},
      {"transpose", [](V x) { return x[0].t(); }, {{4, 8}}, {"S(0)P"}, "S(1)P"},
      {"heads",
       [](V x) {
         return x[0].view({2, 4, 4, 2}).permute({0, 2, 1, 3});
       },
       {{2, 4, 8}},
       {"S(0)S(2)"},
       "S(0)S(1)"},
      {"heads joined",
       [](V x) {
         return x[0].reshape({2, 4, 8});
       },
       {{2, 4, 4, 2}},
       {"S(1)S(2)"},
       "S(1)S(2)"},
      {"too few heads",
       [](V x) {
         return x[0].view({4, 1, 8});
       },
       {{4, 8}},
       {"S(1)S(0)"},
       "S(2)S(0)"},
      {"flat", [](V x) { return x[0].reshape({-1}); }, {{4, 8}}, {"S(0)S(1)"}, "S(0)R"},
      {"unsqueeze",
       [](V x) {
         return x[0].unsqueeze(0).expand({3, 4, 8}).squeeze();
       },
       {{4, 8}},
       {"S(0)P"},
       "S(1)P"},
      {"squeeze", [](V x) { return x[0].squeeze(); }, {{4, 1, 2}}, {"S(0)S(2)"}, "S(0)S(1)"},
      {"slices", [](V x) { return x[0].slice(1, 2, 6).select(0, 1); }, {{4, 8}}, {"S(0)S(1)"}, "RR"},
      {"cat",
       [](V x) {
         return cat({x[0], x[1]}, 1);
       },
       {{4, 8}, {4, 2}},
       {"S(0)S(1)", "RS(0)"},
       "S(0)S(0)"},
      {"attention",
       [](V x) { return scaled_dot_product_attention(x[0], x[1], x[2]); },
       {{2, 2, 4, 8}, {2, 2, 6, 8}, {2, 2, 6, 8}},
       {"S(0)S(2)", "S(0)S(2)", "S(0)S(1)"}},
      {"causal attention",
       [](V x) { return scaled_dot_product_attention(x[0], x[1], x[2], {}, 0, true); },
       {{2, 2, 4, 8}, {2, 2, 4, 8}, {2, 2, 4, 8}},
       {"S(0)S(2)", "S(0)R", "S(0)S(1)"},
       "S(0)S(1)"},
      {"no rule", [](V x) { return flip(x[0], {0}); }, {{4, 8}}, {"S(0)P"}, "RR"},
      {"in place",
       [](V x) {
         Tensor y = x[0].clone();
         y.add_(x[1]).mul_(2).sub_(1);
         return y;
       },
       {{4, 8}, {4, 8}},
       {"S(0)R", "PS(1)"},
       "S(0)R"},
      {"a row in place",
       [](V x) {
         Tensor y = x[0].clone();
         y.copy_(x[1]);
         return y;
       },
       {{4, 8}, {8}},
       {"RS(1)", "S(0)R"},
       "RS(1)"},
  };
}

}  // namespace

TEST(Sharded, Operators) {
  const std::vector<Case> all = cases();
  std::vector<std::vector<Tensor>> operands(all.size());
  std::vector<Tensor> want;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = 0; k < all[i].sizes.size(); ++k)
      operands[i].push_back(numbers(all[i].sizes[k], static_cast<int>(k)));
    want.push_back(all[i].f(operands[i]));
  }
  // All of them as one function of the parts, which ranks share.
  auto together = compile([&](const std::vector<std::vector<Tensor>>& x) {
    std::vector<Tensor> results;
    for (std::size_t i = 0; i < all.size(); ++i) results.push_back(all[i].f(x[i]));
    return results;
  });
  on_ranks(4, [&](Communicator&) {
    const DeviceMesh mesh = init_device_mesh({2, 2}, {"dp", "tp"});
    std::vector<std::vector<Tensor>> given(all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t k = 0; k < operands[i].size(); ++k)
        given[i].push_back(distribute(operands[i][k], mesh, parse_placements(all[i].placements[k])));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Tensor got = all[i].f(given[i]);
      ASSERT_TRUE(is_sharded(got)) << all[i].name;
      if (all[i].result) {
        EXPECT_EQ(to_string(placements_of(got)), all[i].result) << all[i].name;
      }
      EXPECT_TRUE(same(full_tensor(got), want[i])) << all[i].name;
    }
    const std::vector<Tensor> got = together(given);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].result) {
        EXPECT_EQ(to_string(placements_of(got[i])), all[i].result) << all[i].name;
      }
      EXPECT_TRUE(same(full_tensor(got[i]), want[i])) << all[i].name << " compiled";
    }
  });
  EXPECT_EQ(together.stats().eager_fallbacks, 0);
  EXPECT_EQ(together.stats().compilations, 1);
}

namespace {

/// Megatron's pair of layers: the first by columns, the second by rows.
Tensor mlp(const Tensor& x, const Tensor& w1, const Tensor& w2) { return linear(silu(linear(x, w1)), w2); }

}  // namespace

TEST(Sharded, TrainsATensorParallelMlp) {
  const Tensor x = numbers({8, 6}), w1 = numbers({12, 6}, 1), w2 = numbers({6, 12}, 2);
  // One device: two steps.
  Tensor p1 = w1.clone(), p2 = w2.clone();
  std::vector<double> losses;
  for (int i = 0; i < 2; ++i) {
    Tensor a = p1.detach().requires_grad_(), b = p2.detach().requires_grad_();
    const Tensor loss = (mlp(x, a, b) - x).square().mean();
    losses.push_back(loss.item<double>());
    const auto g = grad({loss}, {a, b});
    p1 = p1 - g[0], p2 = p2 - g[1];
  }
  struct Layout {
    const char *x, *w1, *w2;
  };
  for (const Layout& l :
       {Layout{"S(0)R", "RS(0)", "RS(1)"}, Layout{"S(0)S(0)", "S(0)S(0)", "S(1)S(1)"}, Layout{"S(0)R", "RR", "RR"}}) {
    auto step = compile([](Tensor x, Tensor w1, Tensor w2) {
      Tensor a = w1.detach().requires_grad_(), b = w2.detach().requires_grad_();
      const Tensor loss = (mlp(x, a, b) - x).square().mean();
      const auto g = grad({loss}, {a, b});
      w1.sub_(g[0]), w2.sub_(g[1]);
      return full_tensor(loss.detach());
    });
    on_ranks(4, [&](Communicator&) {
      const DeviceMesh mesh = init_device_mesh({2, 2}, {"dp", "tp"});
      const Tensor dx = distribute(x, mesh, parse_placements(l.x));
      // Eager, the tape's gradients; and a compiled step.
      Tensor a = distribute(w1.clone(), mesh, parse_placements(l.w1)).requires_grad_(),
             b = distribute(w2.clone(), mesh, parse_placements(l.w2)).requires_grad_();
      const Tensor c1 = distribute(w1.clone(), mesh, parse_placements(l.w1)),
                   c2 = distribute(w2.clone(), mesh, parse_placements(l.w2));
      for (int i = 0; i < 2; ++i) {
        const Tensor loss = (mlp(dx, a, b) - dx).square().mean();
        EXPECT_NEAR(loss.item<double>(), losses[static_cast<std::size_t>(i)], 1e-5);
        loss.backward();
        {
          const NoGradScope off;
          a.sub_(a.grad()), b.sub_(b.grad());
        }
        a.set_grad({}), b.set_grad({});
        EXPECT_NEAR(step(dx, c1, c2).item<double>(), losses[static_cast<std::size_t>(i)], 1e-5) << l.x;
      }
      EXPECT_EQ(to_string(placements_of(a)), l.w1);
      EXPECT_TRUE(same(full_tensor(a.detach()), p1)) << l.x;
      EXPECT_TRUE(same(full_tensor(b.detach()), p2)) << l.x;
      EXPECT_TRUE(same(full_tensor(c1), p1)) << l.x;
      EXPECT_TRUE(same(full_tensor(c2), p2)) << l.x;
    });
    EXPECT_EQ(step.stats().compilations, 1);
    EXPECT_EQ(step.stats().eager_fallbacks, 0);
  }
}

// Through distribute, redistribute, full_tensor and parts.
TEST(Sharded, GradientsOfMoves) {
  const Tensor x = numbers({4, 8}), w = numbers({4, 8}, 1);
  on_ranks(4, [&](Communicator&) {
    const DeviceMesh mesh = init_device_mesh({2, 2});
    for (const char* from : {"S(0)R", "PS(1)", "RR", "S(0)S(0)"})
      for (const char* to : {"RS(1)", "PR", "S(1)S(0)"}) {
        const Tensor leaf = x.clone().requires_grad_();
        const Tensor d = distribute(leaf, mesh, parse_placements(from));
        const Tensor y = redistribute(d * d, parse_placements(to));
        const Tensor again = from_local(to_local(y), mesh, placements_of(y));
        const Tensor g = grad({(full_tensor(again) * w).sum()}, {leaf})[0];
        EXPECT_FALSE(is_sharded(g));
        EXPECT_TRUE(same(g, x * w * 2)) << from << " " << to;
      }
  });
}

// The bias is added once, whichever axes its shards decide.
TEST(Sharded, ABiasIsAddedOnce) {
  const Tensor x = numbers({4, 8}), w = numbers({4, 8}, 1), b = numbers({4}, 2), want = linear(x, w, b);
  const Placement of[] = {Replicate(), Shard(0), Shard(1), Partial()};
  on_ranks(8, [&](Communicator&) {
    const DeviceMesh mesh = init_device_mesh({2, 2, 2});
    const Placements whole(3, Replicate());
    auto placed = [&](const Tensor& t, const Placements& p) { return redistribute(distribute(t, mesh, whole), p); };
    const Placements bias{Shard(0), Shard(0), Replicate()};
    EXPECT_TRUE(same(full_tensor(linear(placed(x, {Replicate(), Replicate(), Shard(1)}),
                                        placed(w, {Shard(0), Replicate(), Shard(0)}), placed(b, bias))),
                     want));
    std::uint32_t drawn = 1;
    auto draw = [&](std::uint32_t n) { return (drawn = drawn * 1664525 + 1013904223) >> 16 & (n - 1); };
    for (int i = 0; i < 200; ++i) {
      Placements on_x, on_w, on_b;
      for (int a = 0; a < 3; ++a)
        on_x.push_back(of[draw(4)]), on_w.push_back(of[draw(4)]), on_b.push_back(of[draw(2) ? draw(2) : 3]);
      Tensor parts[3];
      try {
        parts[0] = placed(x, on_x), parts[1] = placed(w, on_w), parts[2] = placed(b, on_b);
      } catch (const Error&) {
        continue;  // shards that are not equal
      }
      EXPECT_TRUE(same(full_tensor(linear(parts[0], parts[1], parts[2])), want))
          << to_string(on_x) << " " << to_string(on_w) << " " << to_string(on_b);
    }
  });
}

// A view for which shards are moved is a copy, and says so where it is written; others are views.
TEST(Sharded, ViewsThatShareNoMemoryAreNotWritten) {
  const Tensor x = numbers({4, 8});
  struct View {
    const char* name;
    Tensor (*of)(const Tensor&);
  };
  const View views[] = {
      {"select", [](const Tensor& t) { return t.select(0, 1); }},
      {"slice", [](const Tensor& t) { return t.slice(0, 1, 3); }},
      {"of the other dimension", [](const Tensor& t) { return t.slice(1, 1, 3); }},
      {"reshape", [](const Tensor& t) { return t.reshape({32}); }},
      {"chunk", [](const Tensor& t) { return t.chunk(2, 0)[1]; }},
      {"diagonal", [](const Tensor& t) { return t.diagonal(); }},
      {"a view of a view", [](const Tensor& t) { return t.t().select(1, 0).unsqueeze(0); }},
      {"transpose", [](const Tensor& t) { return t.t(); }},
  };
  on_ranks(2, [&](Communicator&) {
    const DeviceMesh mesh = init_device_mesh({2});
    for (const Placement& p : {Shard(0), Shard(1), Replicate()})
      for (const View& v : views) {
        const Tensor plain = x.clone(), shards = distribute(x, mesh, {p}).clone();
        v.of(plain).mul_(3.0);
        bool written = true;
        try {
          v.of(shards).mul_(3.0);
        } catch (const Error& e) {
          written = false;
          EXPECT_EQ(e.code(), ErrorCode::InvalidArgument) << e.what();
          EXPECT_NE(std::string(e.what()).find("shares no memory"), std::string::npos) << e.what();
        }
        EXPECT_TRUE(same(full_tensor(shards), written ? plain : x)) << v.name << " of " << to_string({p});
        if (!p.is_shard()) EXPECT_TRUE(written) << v.name;
      }
    const Tensor rows = distribute(x, mesh, {Shard(0)}).clone();
    rows.select(1, 2).mul_(3.0);  // each rank's own part
    EXPECT_FALSE(same(full_tensor(rows), x));
  });
}

TEST(Sharded, WhatIsRefused) {
  struct Refused {
    const char* says;
    std::function<void(const DeviceMesh&)> f;
  };
  const Refused all[] = {
      {"distribute: uneven shards: dimension 0, of which a rank holds 3, is no multiple of the 2 ranks of axis 'dp' of "
       "the mesh [dp=2, tp=1] (RR -> S(0)R)",
       [](auto& m) {
         distribute(ones({3}), m, {Shard(0), Replicate()});
       }},
      {"1 placements, R, for the 2 axes of the mesh [dp=2, tp=1]",
       [](auto& m) { distribute(ones({4}), m, {Replicate()}); }},
      {"placements S(1)R of a tensor of 1 dimensions",
       [](auto& m) {
         distribute(ones({4}), m, {Shard(1), Replicate()});
       }},
      {"the tensor is a plain one, no Sharded", [](auto&) { redistribute(ones({4}), {Replicate()}); }},
      {"add: tensors of two meshes, [dp=2, tp=1] and [0=2]",
       [](auto& m) {
         distribute(ones({4}), m, {Shard(0), Replicate()}) + distribute(ones({4}), init_device_mesh({2}), {Shard(0)});
       }},
      {"from_local: wants a plain tensor",
       [](auto& m) {
         from_local(distribute(ones({4}), m, {Replicate(), Replicate()}), m, {Replicate(), Replicate()});
       }},
  };
  for (const Refused& k : all) {
    const std::string what = error_on_ranks(2, [&](Communicator&) { k.f(init_device_mesh({2, 1}, {"dp", "tp"})); });
    EXPECT_NE(what.find(k.says), std::string::npos) << what;
    EXPECT_NE(what.find("sharded_test.cc:"), std::string::npos) << what;
  }
}

}  // namespace reprise::test
