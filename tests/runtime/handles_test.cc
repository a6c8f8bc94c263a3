// Which handles are one and which share memory, and what the signature says of it: as eager, compiled, call after call.
#include <nlohmann/json.hpp>

#include "tests/runtime/scene.h"

namespace reprise {
namespace {

using namespace test;

// Traced with two handles on one storage, then called with one handle twice: its sizes change under both names.
TEST(Handles, TwoHandlesOnAStorageAreNotOneHandleTwice) {
  auto body = [](Tensor x, Tensor w) { w.resize_({w.size(0) - 1, w.size(1)}), x.clamp_(-0.5, 0.5); };
  auto f = compile(body, {.name = "handles"});
  auto memory = [] { return arange(Int(24)).to(kFloat32) + 1.0; };
  for (bool twice : {false, true, false, true}) {
    Tensor want = memory(), got = memory();
    auto call = [&](auto& function, Tensor m) {
      Tensor x = m.as_strided({3, 2}, {3, 1}, 4), w = twice ? x : m.as_strided({3, 2}, {3, 1}, 13);
      function(x, w);
    };
    call(body, want), call(f, got);
    EXPECT_EQ(want.to_vector<float>(), got.to_vector<float>()) << twice;
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

TEST(Handles, ArgumentsThatShareMemory) {
  auto pair = [](auto first, auto second) {
    return [=](std::int64_t n) {
      Tensor memory = ramp((n + 2) * 6), m = memory.view({n + 2, 6});
      Tensor x = first(m, n);
      return Scene{memory, {x, second(m, n, x)}};
    };
  };
  auto rows = [](Tensor m, std::int64_t n) { return m.slice(0, 0, n); };
  auto columns = [](Tensor m, std::int64_t n) { return m.slice(0, 0, n).slice(1, 0, 4); };
  const std::pair<const char*, Make> scenes[] = {
      {"one tensor twice", pair(rows, [](Tensor, std::int64_t, Tensor x) { return x; })},
      {"two handles of one view", pair(columns, [](Tensor, std::int64_t n, Tensor x) { return x.slice(0, 0, n); })},
      {"rows", pair(rows, [](Tensor m, std::int64_t n, Tensor) { return m.slice(0, 1, n + 1); })},
      {"columns", pair(columns, [](Tensor m, std::int64_t n, Tensor) { return m.slice(0, 0, n).slice(1, 2, 6); })},
      {"disjoint columns", pair([](Tensor m, std::int64_t n) { return m.slice(0, 0, n).slice(1, 0, 3); },
                                [](Tensor m, std::int64_t n, Tensor) { return m.slice(0, 0, n).slice(1, 3, 6); })},
      {"transposed", pair([](Tensor m, std::int64_t) { return m.slice(0, 0, 5).slice(1, 0, 5); },
                          [](Tensor, std::int64_t, Tensor x) { return x.t(); })},
  };
  const std::pair<const char*, Body> bodies[] = {
      {"read",
       [](Tensors a) {
         return Tensors{a[0] + a[1], a[1]};
       }},
      {"add_",
       [](Tensors a) {
         a[0].add_(a[1]);
         return Tensors{a[1] * 2, a[0]};
       }},
      {"in turns",
       [](Tensors a) {
         a[0].add_(1);
         a[1].mul_(2);
         a[0].sub_(a[1]);
         return Tensors{a[0].slice(0, 1, 2), a[1].t()};
       }},
      {"t_",
       [](Tensors a) {
         Tensor y = a[1].clone();
         a[0].t_();
         return Tensors{a[0] + 1, a[1] * 2, y};
       }},
      {"t_ and written",
       [](Tensors a) {
         a[0].t_();
         a[1].slice(0, 1, 2).fill_(7);
         a[0].add_(1);
         return Tensors{a[0], a[1]};
       }},
      {"copied over",
       [](Tensors a) {
         a[0].copy_(a[1].clone());
         a[1].slice(1, 0, 1).fill_(0);
         return Tensors{};
       }},
      {"by place",
       [](Tensors a) {
         a[0].as_strided({4}, {3}, 1).mul_(10);
         a[1].select(0, 0).add_(1);
         return Tensors{a[0].sum()};
       }},
  };
  for (auto& [what, body] : bodies)
    for (auto& [kind, make] : scenes) check(std::string(what) + ", " + kind, make, body, {5, 6, 8});
}

TEST(Handles, OneTensorTwiceBesideOneThatOverlapsIt) {
  auto make = [](std::int64_t n) {
    Tensor m = ramp((n + 1) * 3), x = m.view({n + 1, 3}).slice(0, 0, n);
    return Scene{m, {x, x, m.view({n + 1, 3}).slice(0, 1, n + 1)}};
  };
  check("three", make, [](Tensors a) {
    a[0].add_(a[2]);
    a[2].mul_(2);
    a[1].t_();
    return Tensors{a[0] + a[2].t(), a[1]};
  });
  check("written after resize_", vector_of(), [](Tensors a) {
    a[0].resize_({a[0].size(0) + 1});
    a[0].add_(1);
    return Tensors{};
  });
}

// Who is on one storage stays there when it grows, and no tensor has more elements than its storage.
TEST(Handles, StoragesThatAreTakenAndGrow) {
  auto two = [](std::int64_t n) {
    Tensor y = ramp(n) + 10;
    return Scene{y.alias(), {ramp(n + 1).clone(), y}};
  };
  auto three = [](std::int64_t n) {
    Tensor y = ramp(n) + 10;
    return Scene{y.alias(), {ramp(n + 1).clone(), y, ramp(n * 2) - 5}};
  };
  const std::pair<const char*, Body> bodies[] = {
      {"set_, more, written",
       [](Tensors a) {
         a[0].set_(a[1]), a[0].resize_({a[1].size(0) + 2}), a[0].fill_(7);
         return a;
       }},
      {"set_, more",
       [](Tensors a) {
         a[0].set_(a[1]), a[0].resize_({a[1].size(0) + 2});
         return a;
       }},
      {"set_, less, written",
       [](Tensors a) {
         a[0].set_(a[1]), a[0].resize_({2}), a[0].fill_(7);
         return a;
       }},
      {"more, set_",
       [](Tensors a) {
         a[1].resize_({a[1].size(0) + 2}), a[0].set_(a[1]);
         return a;
       }},
      {"more, written, set_",
       [](Tensors a) {
         a[1].resize_({a[1].size(0) + 2}), a[1].fill_(7), a[0].set_(a[1]);
         return a;
       }},
      {"more, written, set_, written",
       [](Tensors a) {
         a[1].resize_({a[1].size(0) + 2}), a[1].fill_(7), a[0].set_(a[1]), a[0].add_(1);
         return a;
       }},
      {"set_, the other more",
       [](Tensors a) {
         a[0].set_(a[1]), a[1].resize_({a[0].size(0) + 2}), a[1].fill_(7);
         return a;
       }},
      {"set_, the other more, both written",
       [](Tensors a) {
         a[0].set_(a[1]), a[1].resize_({a[0].size(0) + 2}), a[0].add_(1), a[1].mul_(2);
         return a;
       }},
      {"set_, written",
       [](Tensors a) {
         a[0].set_(a[1]), a[0].fill_(7);
         return a;
       }},
      {"more, and still more",
       [](Tensors a) {
         a[0].set_(a[1]), a[0].resize_({a[1].size(0) + 2}), a[0].add_(1), a[1].resize_({a[0].size(0) + 3}),
             a[1].mul_(2);
         return a;
       }},
      {"set_ to a part, more",
       [](Tensors a) {
         Int n = a[1].size(0);
         a[0].set_(a[1].slice(0, 1, 3)), a[0].resize_({n + 3}), a[0].fill_(7);
         return a;
       }},
      {"set_ to a part that is more",
       [](Tensors a) {
         Int n = a[1].size(0);
         a[1].resize_({n + 3}), a[0].set_(a[1].slice(0, 1, n + 2)), a[0].fill_(7);
         return a;
       }},
      {"to and fro",
       [](Tensors a) {
         a[0].set_(a[1]), a[1].set_(a[0]), a[0].resize_({a[0].size(0) + 2}), a[1].add_(1);
         return a;
       }},
      {"an intermediate, more",
       [](Tensors a) {
         Tensor t = a[1] + 1;
         a[0].set_(t), a[0].resize_({t.size(0) + 2}), a[0].fill_(7), t.mul_(2);
         a.push_back(t);
         return a;
       }},
      {"a view made before",
       [](Tensors a) {
         Tensor old = a[1].slice(0, 1);
         a[0].set_(a[1]), a[0].resize_({a[1].size(0) + 2}), a[0].fill_(7), old.add_(1);
         a.push_back(old);
         return a;
       }},
  };
  for (const auto& [what, body] : bodies) check(what, two, body);
  const std::pair<const char*, Body> of_three[] = {
      {"two take it",
       [](Tensors a) {
         a[0].set_(a[1]), a[2].set_(a[1]), a[2].resize_({a[1].size(0) + 2}), a[0].add_(1), a[2].mul_(2);
         return a;
       }},
      {"one takes it, another more",
       [](Tensors a) {
         a[1].resize_({a[1].size(0) + 2}), a[0].set_(a[1]), a[2].set_(a[0]), a[2].fill_(7);
         return a;
       }},
      {"in turns",
       [](Tensors a) {
         a[0].set_(a[2]), a[2].resize_({a[2].size(0) + 1}), a[1].resize_({a[1].size(0) + 3}), a[1].add_(a[1]),
             a[0].add_(1);
         return a;
       }},
      {"both grow",
       [](Tensors a) {
         a[1].resize_({a[1].size(0) + 3}), a[2].resize_({a[2].size(0) + 3}), a[0].set_(a[2]), a[0].fill_(7),
             a[1].add_(1);
         return a;
       }},
  };
  for (const auto& [what, body] : of_three) check(what, three, body);
  // Of a storage that nobody is on in the end, or that an argument had before: eagerly at worst.
  check(
      "moves on", three,
      [](Tensors a) {
        a[0].set_(a[1]), a[1].set_(a[2]), a[0].resize_({a[0].size(0) + 4}), a[0].fill_(7);
        return a;
      },
      {4, 6}, 2);
  check(
      "its own more, then another", two,
      [](Tensors a) {
        a[0].resize_({a[0].size(0) + 4}), a[0].fill_(1), a[0].set_(a[1]);
        return a;
      },
      {4, 6}, 2);
}

// One function, called with all of them in turn.
TEST(Handles, SharingIsPartOfTheCall) {
  auto body = [](Tensor x, Tensor y) {
    x.t_();
    x.add_(1);
    return x + y.t();
  };
  auto f = compile(body);
  for (int round = 0; round < 3; ++round)
    for (int kind = 0; kind < 3; ++kind) {
      auto make = [&] {
        Tensor m = ramp(72).view({8, 9}), x = m.slice(0, 0, 4).slice(1, 0, 4);
        return std::pair(x, kind == 0 ? x : kind == 1 ? m.slice(0, 1, 5).slice(1, 0, 4) : ramp(16).view({4, 4}));
      };
      auto [x, y] = make();
      auto [x2, y2] = make();
      Tensor want = body(x, y), got = f(x2, y2);
      EXPECT_EQ(show(want), show(got)) << kind;
      EXPECT_EQ(show(x), show(x2)) << kind;
      EXPECT_EQ(show(y), show(y2)) << kind;
    }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

// What overlapping arguments need serves calls in which they overlap, and no others.
TEST(Handles, BlocksThatAreApartCopyNothingAfterOthers) {
  auto body = [](Tensor a, Tensor b) { a.add_(b), a.mul_(0.5); };
  for (const bool apart_first : {true, false}) {
    auto f = compile(body);
    Tensor want = ramp(64 * 8).view({64, 8}), got = want.clone();
    auto call = [&](int at) {
      const std::int64_t before = f.stats().copied_bytes;
      body(want.slice(0, 0, 16), want.slice(0, at, at + 16));
      f(got.slice(0, 0, 16), got.slice(0, at, at + 16));
      EXPECT_EQ(show(want), show(got)) << at;
      return f.stats().copied_bytes - before;
    };
    if (apart_first) {
      EXPECT_EQ(call(32), 0);
    }
    call(8);
    for (int at : {32, 16, 40}) EXPECT_EQ(call(at), 0) << at;
    call(4);
    EXPECT_EQ(call(24), 0);
    EXPECT_EQ(f.stats().compilations, 2);
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  }
}

TEST(Handles, ACapturedArgumentIsMetAfterItWasReshaped) {
  for (bool resized : {true, false}) {
    Tensor captured;
    auto body = [&](Tensor x) {
      if (resized) x.resize_({x.size(0) - 1, x.size(1)});
      else x.t_();
      captured.mul_(3);
      return captured + 1;
    };
    auto f = compile(body);
    for (std::int64_t n : {2, 3, 2}) {
      auto make = [n] { return ramp(4).slice(0, 0, 2).unsqueeze(0).expand({n, 2}).clone(); };
      Tensor x = captured = make(), want = body(x), y = captured = make(), got = f(y);
      EXPECT_EQ(show(want), show(got));
      EXPECT_EQ(show(x), show(y));
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  }
  // Expanded, it may be written once the program has given it a row of its own.
  Tensor captured;
  auto f = compile([&](Tensor x) {
    x.resize_({x.size(0) - 1, x.size(1)});
    captured.mul_(3);
  });
  Tensor memory = ramp(8);
  captured = memory.slice(0, 0, 2).unsqueeze(0).expand({3, 2});
  f(captured);
  EXPECT_EQ(memory.to_vector<float>(), (std::vector<float>{0, 3, 6, 9, 4, 5, 6, 7}));
}

TEST(Handles, CapturedTensorsThatAreArgumentsToo) {
  Tensor memory = ramp(24), w = memory.view({4, 6}).slice(1, 0, 3);
  auto body = [&w](Tensor x) {
    x.mul_(2);
    return w + x;
  };
  auto f = compile(body);
  for (int kind = 0; kind < 3; ++kind) {
    Tensor x = kind == 0 ? w : kind == 1 ? memory.view({4, 6}).slice(1, 1, 4) : ramp(12).view({4, 3});
    Tensor before = memory.clone(), want = body(x), after = memory.clone();
    memory.copy_(before);
    if (kind == 2) x.copy_(ramp(12).view({4, 3}));
    EXPECT_TRUE(equal(f(x), want)) << kind;
    EXPECT_TRUE(equal(memory, after)) << kind;
    memory.copy_(before);
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

// Who is who, who shares memory and where a view begins are answers that are right at each call.
TEST(Handles, QuestionsOfHandlesAndStorages) {
  Tensor captured = ramp(4);
  auto f = compile([&](Tensor x, Tensor y) {
    Tensor z = x.slice(0, 1, 3), w = x * 2;
    EXPECT_TRUE(x.is_same(x) && z.shares_storage_with(x) && !z.is_same(x) && !w.is_same(x) &&
                !w.shares_storage_with(x));
    EXPECT_TRUE(w.slice(0, 1, 2).shares_storage_with(w));
    return x * ((x.is_same(y) ? 2 : 1) + (x.shares_storage_with(y) ? 10 : 0) +
                (y.shares_storage_with(captured) ? 100 : 0) + (y.is_same(captured) ? 1000 : 0));
  });
  for (int round = 0; round < 2; ++round) {
    Tensor x = ramp(4), other = ramp(4);
    EXPECT_EQ(f(x, other).to_vector<float>()[1], 1);
    EXPECT_EQ(f(x, x).to_vector<float>()[1], 12);
    EXPECT_EQ(f(x, x.slice(0, 0, 4)).to_vector<float>()[1], 11);
    EXPECT_EQ(f(x, captured).to_vector<float>()[1], 1101);
    EXPECT_EQ(f(x, captured.slice(0, 0, 4)).to_vector<float>()[1], 101);
    EXPECT_EQ(f(captured, captured).to_vector<float>()[1], 1112);
    captured = ramp(4);
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_LE(f.stats().compilations, 6);

  auto offset = compile([](Tensor x) {
    return x + (x.storage_offset() + 10 * x.slice(0, 1, 3).storage_offset() +
                100 * (x * 2).slice(0, 2, 3).storage_offset());
  });
  Tensor memory = ramp(16);
  for (std::int64_t at : {0, 3, 5, 1}) {
    Tensor x = memory.slice(0, at, at + 4);
    EXPECT_EQ(offset(x).to_vector<float>()[0], static_cast<float>(at + at + 10 * (at + 1) + 200));
  }
  EXPECT_EQ(offset.stats().eager_fallbacks, 0) << offset.stats().last_fallback_reason;
  EXPECT_EQ(offset.stats().compilations, 1);

  check("moved by resize_ and set_", vector_of(3), [](Tensors a) {
    Tensor x = a[0], y = x.slice(0, 1, 3), z = zeros({3});
    const bool before = y.shares_storage_with(x);
    y.resize_({x.size(0) + 9});
    z.set_(x.slice(0, 2, 3));
    return Tensors{x * (before ? 2 : 3) * (y.shares_storage_with(x) ? 5 : 7) * (z.shares_storage_with(x) ? 11 : 13) +
                   z.storage_offset() + y.storage_offset()};
  });
}

// Another handle on the same elements: what is written through one shows through the other, what it looks like is its
// own.
TEST(Handles, AliasAndDetachAreOtherHandles) {
  auto body = [](Tensor x) {
    Tensor y = x * 2, z = y.detach();
    z.add_(1);
    Tensor a = x.alias();
    a.t_().select(0, 0).mul_(10);
    return std::tuple(y, z, a, x.detach().slice(0, 1), y.is_same(z), x.is_same(a), x.shares_storage_with(a));
  };
  auto f = compile(body);
  for (int n : {2, 3, 5}) {
    Tensor e = ramp(3 * n).view({n, 3}), c = e.clone();
    auto [y, z, a, part, same, again, shared] = body(e);
    auto [fy, fz, fa, fpart, fsame, fagain, fshared] = f(c);
    EXPECT_TRUE(equal(e, c) && equal(y, fy) && equal(z, fz) && equal(a, fa) && equal(part, fpart));
    EXPECT_TRUE(fz.shares_storage_with(fy) && !fz.is_same(fy) && fa.shares_storage_with(c) &&
                fpart.shares_storage_with(c) && !fa.is_same(c));
    EXPECT_EQ(fa.stride(0).value(), 1);
    EXPECT_EQ(c.stride(0).value(), 3);
    EXPECT_TRUE(!same && !again && shared && !fsame && !fagain && fshared);
    fz.fill_(7), fa.fill_(8);
    EXPECT_EQ(fy.sum().item<float>(), 21.0f * static_cast<float>(n));
    EXPECT_EQ(c.sum().item<float>(), 24.0f * static_cast<float>(n));
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

// What a caller must know, as data: a wrapper of a compiled function has nothing else.
TEST(Handles, TheSignatureTellsThem) {
  Tensor weight = ones({5}), count = zeros({1});
  auto f = compile(
      [&](Tensor x, Tensor y, Int at, Scalar scale) {
        x.select(0, at).add_(1);
        y.t_();
        count.add_(1);
        Tensor z = x * weight * scale + rand({x.size(1)});
        return std::tuple(x.t().slice(0, 1, at + 3), z, z.detach(), y);
      },
      {.name = "told", .arguments = {"x", "y", "at", "scale"}});
  f(ones({4, 5}), ones({2, 3}), 1, Scalar(0.5));
  const auto all = nlohmann::json::parse(f.signature());
  EXPECT_EQ(all["function"], "told");
  ASSERT_EQ(all["specializations"].size(), 1u);
  const auto s = all["specializations"][0];
  ASSERT_EQ(s["inputs"].size(), 8u) << f.signature();
  // Behind the tensors the numbers, which are symbols, as they come; where the generator stands is last.
  std::vector<std::string> kinds;
  for (const auto& i : s["inputs"]) kinds.push_back(i["kind"]);
  EXPECT_EQ(kinds, (std::vector<std::string>{"user", "user", "buffer", "parameter", "size", "float", "seed", "offset"}))
      << f.signature();
  EXPECT_EQ(s["inputs"][4]["name"], "at");
  EXPECT_EQ(s["inputs"][5]["name"], "scale");
  EXPECT_EQ(s["symbols"][s["inputs"][4]["symbol"].get<std::string>()], "at");
  const auto x = s["inputs"][0], y = s["inputs"][1];
  EXPECT_EQ(x["name"], "x");
  EXPECT_TRUE(x["mutates_data"] == true && x["mutates_metadata"] == false && y["mutates_data"] == false &&
              y["mutates_metadata"] == true);
  EXPECT_EQ(y["after"]["sizes"], nlohmann::json({y["sizes"][1], y["sizes"][0]}));
  EXPECT_EQ(s["symbols"][x["sizes"][1].get<std::string>()], "x .size(1)");
  ASSERT_EQ(s["results"].size(), 4u);
  const auto part = s["outputs"][s["results"][0]["output"].get<int>()];
  EXPECT_EQ(part["kind"], "alias_of_input");
  EXPECT_EQ(part["source"], 0);
  EXPECT_EQ(part["recipe"][0]["op"], "permute");
  EXPECT_EQ(part["recipe"][1]["op"], "slice");
  EXPECT_EQ(part["recipe"][1]["args"]["start"], 1);
  EXPECT_EQ(part["recipe"][1]["args"]["end"], s["inputs"][4]["symbol"].get<std::string>() + " + 3")
      << "a symbol that only a recipe speaks of is listed, too";
  const auto same = s["outputs"][s["results"][2]["output"].get<int>()];
  EXPECT_EQ(same["kind"], "alias_of_output");
  EXPECT_EQ(same["recipe"][0]["op"], "detach");
  EXPECT_EQ(s["results"][3]["input"], 1);
  bool in_place = false;
  for (const auto& o : s["outputs"]) in_place |= o["kind"] == "new_value_of_input" && o["in_place"] == true;
  EXPECT_TRUE(in_place) << f.signature();
  EXPECT_FALSE(s["guards"].empty());
}

}  // namespace
}  // namespace reprise
