// Variables that held nothing before a call: what the call leaves there, and what later calls find.
#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reprise/reprise.h"
#include "tests/support/element.h"

namespace reprise::test {
namespace {

// What the first call leaves in variables that nobody knew before it is the very tensor that it returns, or was given.
TEST(CapturedVariable, HoldTheSameHandle) {
  struct Held {
    Tensor a, b;
  };
  using F = std::vector<Tensor> (*)(Held&, const Tensor&);
  const std::pair<const char*, F> cases[] = {
      {"an argument",
       [](Held& h, const Tensor& x) {
         h.a = x;
         return std::vector{x};
       }},
      {"a result",
       [](Held& h, const Tensor& x) {
         h.a = x * 2;
         return std::vector{x, h.a};
       }},
      {"twice",
       [](Held& h, const Tensor& x) {
         h.a = h.b = x + 1;
         return std::vector<Tensor>{};
       }},
      {"beside a view",
       [](Held& h, const Tensor& x) {
         h.a = x + 1;
         h.b = h.a.t();
         return std::vector{h.b, h.a.t()};
       }},
      {"a view of an argument",
       [](Held& h, const Tensor& x) {
         h.a = x.t();
         h.b = x;
         return std::vector{h.a};
       }},
      {"set_",
       [](Held& h, const Tensor& x) {
         Tensor r = x + 1;
         x.set_(r);
         h.a = x;
         return std::vector{r};
       }},
      {"set_, and views",
       [](Held& h, const Tensor& x) {
         h.b = x * 2;
         x.set_(h.b);
         return std::vector{h.b, h.b.t(), x.t()};
       }},
      {"set_, and others",
       [](Held& h, const Tensor& x) {
         Tensor r = x + 1;
         h.a = r.t();
         x.set_(r);
         return std::vector{r, x};
       }},
  };
  const Tensor first = ones({1}).requires_grad_();  // from here on the tape follows views
  for (const auto& [name, f] : cases) {
    std::vector<std::string> same;
    for (const bool eager : {true, false}) {
      auto held = std::make_shared<Held>();
      auto compiled = compile([&held, f = f](const Tensor& x) { return f(*held, x); });
      for (int call = 0; call < 2; ++call) {
        const Tensor x = ones({2, 2});
        std::vector<Tensor> all = eager ? f(*held, x) : compiled(x);
        for (const Tensor& t : {x, held->a, held->b}) all.push_back(t);
        std::string& s = same.emplace_back();
        for (const Tensor& t : all)
          for (const Tensor& u : all) s += t.defined() && u.defined() && t.is_same(u) ? '1' : '0';
      }
    }
    EXPECT_EQ(same[2], same[0]) << name;
    EXPECT_EQ(same[3], same[1]) << name;
  }
}

Tensor g_state;

// A variable that held nothing was there before if it stands where nothing is made while the function runs: with who
// called it, in the function object, among those that live as long as the program.
TEST(AssignedVariable, ThatHeldNothing) {
  Tensor h, last;
  auto f = compile([&](Tensor x) {
    if (!h.defined()) h = zeros({2});
    h = h + x;
    last = x * 3.0;
    return h * 1.0;
  });
  struct Member {
    Tensor sum;
    Tensor operator()(Tensor x) {
      sum = sum.defined() ? sum + x : x * 1.0;
      return sum + 0.0;
    }
  };
  auto member = compile(Member());
  auto global = compile([](Tensor x) {
    if (!g_state.defined()) g_state = x * 0.0;
    g_state.add_(x);
    return g_state * 1.0;
  });
  for (int round = 0; round < 2; ++round) {
    for (int i = 1; i < 5; ++i) {
      const Tensor x = ones({2});
      EXPECT_EQ(at(f(x), 1), static_cast<float>(i));
      EXPECT_EQ(at(last, 0), 3);
      EXPECT_EQ(at(global(x), 0), static_cast<float>(i));
      EXPECT_EQ(at(member(x), 0), static_cast<float>(i + 4 * round));
    }
    h = last = g_state = Tensor();
  }
  for (const Stats& s : {f.stats(), member.stats(), global.stats()}) {
    EXPECT_EQ(s.eager_fallbacks, 0) << s.last_fallback_reason;
    EXPECT_LE(s.compilations, 2);
  }
  // Two change places, one of which holds nothing; one gets nothing.
  Tensor a = ones({2}), b;
  auto swaps = compile([&](Tensor x) {
    std::swap(a, b);
    return x + 1.0;
  });
  for (int i = 0; i < 5; ++i) {
    swaps(ones({2}));
    EXPECT_EQ(a.defined(), i % 2 == 1);
    EXPECT_EQ(b.defined(), i % 2 == 0);
    EXPECT_EQ(at(i % 2 ? a : b, 0), 1);
  }
  EXPECT_EQ(swaps.stats().eager_fallbacks, 0) << swaps.stats().last_fallback_reason;
}

// Elsewhere it may have been made by the function, with the object that it is in: a replay could not tell which. The
// first call serves itself alone, and the variable is known from then on.
TEST(AssignedVariable, ThatHeldNothingOnTheHeap) {
  struct Cell {
    Tensor state;
  };
  auto cell = std::make_shared<Cell>();
  auto f = compile([cell](Tensor x) {
    if (!cell->state.defined()) cell->state = x * 0.0;
    cell->state = cell->state + x;
    return cell->state * 1.0;
  });
  for (int round = 0; round < 4; ++round) {
    for (int i = 1; i < 4; ++i) EXPECT_EQ(at(f(ones({2})), 1), static_cast<float>(i));
    cell->state = Tensor();
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 1) << f.stats().last_fallback_reason;
  EXPECT_EQ(f.stats().compilations, 2);
  // What a map makes at its first look is watched, and forgotten where the map drops it.
  std::map<std::string, Tensor> found;
  auto h = compile([&](Tensor x) {
    found["sum"] = x + 1.0;
    return x * 2.0;
  });
  for (int i = 0; i < 9; ++i) {
    h(full({2}, static_cast<double>(i)));
    EXPECT_EQ(found.size(), 1u);
    EXPECT_EQ(at(found["sum"], 0), static_cast<float>(i + 1));
    if (i == 4) found.clear();
    if (i == 6) found["sum"] = Tensor();
  }
  // One more slot of an array is filled at every call: never the same one twice.
  std::array<Tensor, 6> slots;
  int filled = 0;
  auto fills = compile([&](Tensor x) {
    Tensor& slot = slots[static_cast<std::size_t>(filled)];
    filled += !slot.defined();
    slot = x * 1.0;
    return x + 1.0;
  });
  for (int i = 0; i < 6; ++i) {
    fills(full({2}, static_cast<double>(i)));
    for (int k = 0; k <= i; ++k) EXPECT_EQ(at(slots[static_cast<std::size_t>(k)], 0), static_cast<float>(k)) << i;
  }
}

TEST(AssignedVariable, InContainersThatGrow) {
  struct Node {
    Tensor value;
  };
  std::deque<Node> nodes;
  auto g = compile([&](Tensor x) {
    nodes.emplace_back();
    nodes.back().value = x * 2.0;
    return x + 1.0;
  });
  for (int i = 1; i < 4; ++i) {
    g(full({2}, static_cast<double>(i)));
    EXPECT_EQ(nodes.size(), static_cast<std::size_t>(i));
    EXPECT_EQ(at(nodes.back().value, 0), 2.0f * static_cast<float>(i));
  }
}

// What a first call leaves where nothing was is what the function has left there: an argument, a captured tensor, a
// result.
TEST(ChangedVariable, HoldsTheTensorsThemselves) {
  std::vector<Tensor> list;
  Tensor w = ones({2});
  using Body = std::function<Tensor(const Tensor& x, const Tensor& y)>;
  const std::tuple<const char*, Body, const char*> bodies[] = {
      {"list = {x, y}",
       [&](const Tensor& x, const Tensor& y) {
         list = {x, y};
         return x * 2;
       },
       "xy"},
      {"a result",
       [&](const Tensor& x, const Tensor& y) {
         Tensor r = x * 2;
         list = {y, r, r};
         return r;
       },
       "yrr"},
      {"captured",
       [&](const Tensor& x, const Tensor&) {
         list = {w, x};
         return x * 2;
       },
       "wx"},
      {"push_back",
       [&](const Tensor& x, const Tensor& y) {
         list.push_back(x), list.push_back(y), list.push_back(x);
         return x * 2;
       },
       "xyx"},
      {"moved",
       [&](const Tensor& x, const Tensor& y) {
         std::vector<Tensor> made{x, y};
         list = std::move(made);
         return x * 2;
       },
       "xy"},
      {"swapped",
       [&](const Tensor& x, const Tensor& y) {
         std::vector<Tensor> made{x, y};
         std::swap(list, made);
         return x * 2;
       },
       "xy"},
      {"copied",
       [&](const Tensor& x, const Tensor& y) {
         const std::vector<Tensor> made{y, x};
         list = made;
         return x * 2;
       },
       "yx"},
      {"written",
       [&](const Tensor& x, const Tensor& y) {
         y.add_(1), list = {x, y};
         return x * 2;
       },
       "xy"},
      {"a view",
       [&](const Tensor& x, const Tensor& y) {
         list = {x.view({2, 1}), y};
         return x * 2;
       },
       "-y"},
  };
  for (const auto& [name, body, expected] : bodies)
    for (bool reserved : {false, true}) {
      auto f = compile(body);
      for (int times = 0; times < 3; ++times) {
        list = {};
        if (reserved) list.reserve(8);
        Tensor x = ones({2}), y = zeros({3});
        const Tensor r = f(x, y);
        std::string held;
        for (const Tensor& t : list)
          held += t.is_same(x) ? 'x' : t.is_same(y) ? 'y' : t.is_same(w) ? 'w' : t.is_same(r) ? 'r' : '-';
        EXPECT_EQ(held, expected) << name << ", call " << times;
        EXPECT_EQ(at(r, 0), 2);
      }
    }
}

}  // namespace
}  // namespace reprise::test
