// Writes to views, and to what they are views of, by compiled calls and behind them: gradients and hooks.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reprise/reprise.h"
#include "tests/autograd/views.h"

namespace reprise::test {
namespace {

// Hooks of a view that the call is given. A write goes to its base, behind which is the base's old place: the view's,
// whose hooks stay with it, is gone by.
TEST(ViewsOnTheTape, HooksOfWhatACallWrites) {
  struct Case {
    const char* name;
    Tensor (*f)(const Tensor& x);
    bool compiles = true;
  };
  auto times = [](double by) { return [by](const Tensor& g) { return g * by; }; };
  static const auto seven = times(7);
  const Case cases[] = {
      {"reads", [](const Tensor& x) { return x * 5; }},
      {"a view", [](const Tensor& x) { return x.t(); }},
      {"writes", [](const Tensor& x) { return x.mul_(3) * 1; }},
      {"returns it", [](const Tensor& x) { return x.mul_(3); }},
      {"reads, then writes",
       [](const Tensor& x) {
         Tensor r = x * 5;
         x.mul_(3);
         return r;
       }},
      {"writes a part",
       [](const Tensor& x) {
         x.select(0, 0).mul_(3);
         return x * 2;
       }},
      {"writes through a view",
       [](const Tensor& x) {
         Tensor v = x.t();
         v.mul_(3);
         v.add_(x);
         return v;
       }},
      {"a view, then writes",
       [](const Tensor& x) {
         Tensor v = x.t();
         x.mul_(3);
         return v * x;
       }},
      {"by what it was", [](const Tensor& x) { return x.mul_(x * 2) * 1; }},
      {"all of it",
       [](const Tensor& x) {
         Tensor y = tanh(x);
         x.fill_(2);
         return y;
       }},
      {"copy_", [](const Tensor& x) { return x.copy_(x * 2); }},
      {"off",
       [](const Tensor& x) {
         {
           const NoGradScope no;
           x.mul_(3);
         }
         return x * 2;
       }},
      {"off, returned",
       [](const Tensor& x) {
         {
           const NoGradScope no;
           x.mul_(3);
         }
         return x.mul_(2).t();
       }},
      {"detached",
       [](const Tensor& x) {
         x.detach().mul_(2);
         return x * 2;
       }},
      {"a hook between writes",
       [](const Tensor& x) {
         x.mul_(3);
         x.register_hook(seven);
         return x.mul_(5);
       }},
      {"a hook behind a write",
       [](const Tensor& x) {
         x.mul_(3);
         x.register_hook(seven);
         return x * 2;
       }},
      {"a hook of a result",
       [](const Tensor& x) {
         Tensor y = x * 2;
         y.register_hook(seven);
         return y;
       }},
      // What stays with a tensor of the caller's is not done by a replay.
      {"a hook of what was",
       [](const Tensor& x) {
         x.register_hook(seven);
         return x * 2;
       },
       false},
      {"of its node",
       [](const Tensor& x) {
         x.grad_fn().register_prehook([](List& g) { g[0] = g[0] * 7; });
         return x * 2;
       },
       false},
      {"retains",
       [](const Tensor& x) {
         x.retain_grad();
         return x.mul_(2) * 1;
       },
       false},
      {"a result retains",
       [](const Tensor& x) {
         Tensor y = x * 2;
         y.retain_grad();
         return y;
       },
       false},
  };
  for (const Case& c : cases)
    for (const bool view : {true, false}) {
      auto compiled = compile(c.f, {.name = "f"});
      std::vector<std::vector<double>> all;
      for (const int how : {0, 1, 1}) {
        const Tensor leaf = arange(1, 5).to(kFloat64).requires_grad_(), base = (leaf * 1).view({2, 2}),
                     x = view ? base.view({2, 2}) : base * 1;
        x.register_hook(times(2));
        const Tensor out = how ? compiled(x) : c.f(x);
        ((out * 1).sum() + (x * leaf.detach().view({2, 2})).sum() * 100).backward();
        all.push_back(leaf.grad().to_vector<double>());
        for (const Tensor& t : {x.grad(), out.grad()})
          all.back().push_back(t.defined() ? t.sum().item().to_double() : 0);
      }
      EXPECT_EQ(all[1], all[0]) << c.name << (view ? ", a view" : "");
      EXPECT_EQ(all[2], all[0]) << c.name << (view ? ", a view" : "");
      const Stats stats = compiled.stats();
      EXPECT_EQ(stats.eager_fallbacks == 0, c.compiles) << c.name << ": " << stats.last_fallback_reason;
    }
}

// Sizes, strides and memory of views change where gradients are off, after calls with tensors that are none.
TEST(ViewsOnTheTape, ThatACallReshapes) {
  struct Case {
    const char* name;
    void (*f)(const Tensor& x, const Tensor& y);
  };
  const Case cases[] = {
      {"set_", [](const Tensor& x, const Tensor& y) { x.set_(y); }},
      {"transpose_", [](const Tensor& x, const Tensor&) { x.transpose_(0, 1); }},
      {"written, transpose_", [](const Tensor& x, const Tensor&) { x.mul_(3).transpose_(0, 1); }},
      {"unsqueeze_ of another", [](const Tensor& x, const Tensor& y) { x.mul_(3), y.unsqueeze_(0); }},
  };
  const Tensor first = ones({1}).requires_grad_();  // from here on the tape follows views
  for (const Case& c : cases) {
    auto compiled = compile(c.f, {.name = "f"});
    std::vector<std::string> told;
    for (const bool eager : {false, true}) {
      std::ostringstream out;
      for (const int kind : {0, 1, 2, 1, 2, 0}) {
        const Tensor leaf = arange(1, 7).to(kFloat64).requires_grad_(kind == 2), base = leaf * 1,
                     x = kind ? base.view({2, 3}) : base.view({2, 3}).clone(), y = ones({2, 3}, {.dtype = kFloat64});
        try {
          const NoGradScope off;
          eager ? c.f(x, y) : compiled(x, y);
        } catch (const Error& e) {
          out << e.message().substr(0, 30);
        }
        out << kind << ": " << x << x.requires_grad();
        const Tensor w = (leaf.detach() * 2).view({2, 3}).requires_grad_();
        try {
          x.mul_(w.view(x.sizes()));
          Tensor loss = (x * w.detach().view(x.sizes())).sum() + base.sum() + y.sum();
          loss.backward();
          out << w.grad() << (leaf.grad().defined() ? leaf.grad() : leaf.detach());
        } catch (const Error& e) {
          if (kind || eager) out << e.message().substr(0, 30);
        }
        out << "\n";
      }
      told.push_back(out.str());
    }
    EXPECT_EQ(told[0], told[1]) << c.name;
  }
}

// A gradient lies as whoever makes it likes; the part that was written is a part of what lies as the base.
TEST(ViewsOnTheTape, WrittenPartsTakeGradientsOfAnyLayout) {
  void (*const writes[])(const Tensor& y) = {
      [](const Tensor& y) { y.t().slice(0, 0, 1).mul_(0.5); },
      [](const Tensor& y) { y.slice(0, 0, 1).mul_(0.5); },
      [](const Tensor& y) { y.t().slice(0, 0, 2).slice(1, 0, 1).fill_(2.0); },
      [](const Tensor& y) { (y.is_contiguous() ? y : y.t()).view({-1}).slice(0, 1, 3).mul_(0.25); },
      [](const Tensor& y) {
        (y.is_contiguous() ? y : y.t()).unflatten(0, {1, -1}).select(2, 1).mul_(y.sum());
      },
      [](const Tensor& y) { y.diagonal().copy_(y.select(1, 0).slice(0, 0, 2)); },
      [](const Tensor& y) {  // dimensions of size 1 beside those that are turned
        const Tensor base = y.unsqueeze(1).transpose(0, 2).clone();
        (base.is_contiguous() ? base : base.transpose(0, 2)).view({-1}).slice(0, 1, 3).mul_(0.25);
        y.copy_(base.squeeze(1).t());
      },
  };
  for (std::size_t k = 0; k < std::size(writes); ++k)
    for (const bool column_major : {false, true}) {
      Tensor want;
      for (const bool compiled : {false, true})
        for (const int tangent : {0, 1, 2, 3}) {
          const Tensor x = (arange(6) + 1).to(kFloat64).view({2, 3}).requires_grad_();
          auto body = [&](const Tensor& p) {
            const Tensor y = column_major ? (p.t() * 1.5).contiguous().t().view({2, 3}) : p * 1.5;
            writes[k](y);
            return y;
          };
          auto f = compile(body);
          const Tensor r = compiled ? f(x) : body(x);
          const Tensor g = (arange(6) - 2).to(kFloat64).view({2, 3});
          r.backward(tangent == 0   ? g
                     : tangent == 1 ? g.t().contiguous().t()
                     : tangent == 2 ? cat({g, g}, 1).slice(1, 0, 3)
                                    : stack({g, g}, -1).select(2, 0));
          if (!want.defined()) want = x.grad();
          EXPECT_TRUE(equal(x.grad(), want)) << k << column_major << compiled << tangent << x.grad() << want;
          EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
        }
    }
}

// A write that the tape does not see makes a view's place anew: what it retains, and its hooks, go along.
TEST(ViewsOnTheTape, RetainTheirGradientBehindAWriteAside) {
  Tensor (*const writes[])(Tensor) = {
      [](Tensor x) { return x.detach().mul_(2.0), x * 2.0; },
      [](Tensor x) {
        const NoGradScope off;
        x.mul_(2.0);
        const EnableGradScope on;
        return x * 2.0;
      },
      [](Tensor x) {
        const Tensor before = x * 3.0;
        x.detach().select(0, 0).zero_();
        return before + x * x;
      },
      [](Tensor x) { return x.detach().t().fill_(0.5), x.t() * 2.0 + x.select(0, 1); },
  };
  for (std::size_t k = 0; k < std::size(writes); ++k)
    for (const int watches : {0, 1, 2})
      for (const bool slice : {false, true}) {
        List told[2];
        for (const bool compiled : {false, true}) {
          const Tensor w = (arange(9) + 1).to(kFloat64).view({3, 3}).requires_grad_(), p = w * 1.5;
          const Tensor x = slice ? p.slice(0, 0, 2).slice(1, 1, 3) : p.t();
          Tensor seen;
          if (watches == 1) x.retain_grad();
          if (watches == 2) x.register_hook([&](const Tensor& g) { return seen = g * 2.0, g * 3.0; });
          auto f = compile(writes[k]);
          const Tensor r = compiled ? f(x) : writes[k](x);
          ((r * r).sum() + (x * 3.0).sum()).backward();
          told[compiled] = {w.grad(), watches == 1 ? x.grad() : watches == 2 && seen.defined() ? seen : zeros({0})};
        }
        for (std::size_t i : {0, 1})
          EXPECT_TRUE(equal(told[0][i], told[1][i])) << k << " " << watches << slice << "\n"
                                                     << told[0][i] << told[1][i];
      }
}

// A write that the tape refuses is refused before what fails behind it.
TEST(ViewsOnTheTape, RefusedWritesComeFirst) {
  auto body = [](const Tensor& a, const Tensor& row) {
    a.alias().mul_(2);
    return a + row;
  };
  auto message_of = [](auto call) {
    try {
      call();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing was thrown");
  };
  for (const Argument& argument : kArguments) {
    auto f = compile(body);
    const Tensor leaf = ones({2, 4}).requires_grad_(), row = ones({3}), a = argument.make(leaf);
    const std::string expected = message_of([&] { body(a, row); });
    for (int times = 0; times < 3; ++times)
      EXPECT_EQ(message_of([&] { f(a, row); }), expected) << argument.name << ", call " << times;
  }
}

// A view that names places of its storage is that view of its base, also where gradients are off.
TEST(ViewsOnTheTape, ThatNamePlaces) {
  using Body = void (*)(const Tensor& t, const Tensor& y);
  const std::pair<const char*, Body> bodies[] = {
      {"a view",
       [](const Tensor& t, const Tensor& y) {
         const Tensor v = t.t();
         v.as_strided_({2}, {1}, 1), v.mul_(y);
       }},
      {"off",
       [](const Tensor& t, const Tensor& y) {
         const Tensor v = t.t();
         {
           const NoGradScope scope;
           v.as_strided_({2}, {1}, 1);
         }
         v.mul_(y);
       }},
      {"where it is",
       [](const Tensor& t, const Tensor& y) {
         const Tensor v = t.select(0, 1);
         {
           const NoGradScope scope;
           v.as_strided_({1, 2}, {2, 1});
         }
         v.mul_(y);
       }},
      {"twice",
       [](const Tensor& t, const Tensor& y) {
         const Tensor v = t.t().select(0, 0);
         {
           const NoGradScope scope;
           v.as_strided_({2}, {2}, 1), v.as_strided_({2}, {1}, 1);
         }
         v.mul_(y);
       }},
      {"a view of it",
       [](const Tensor& t, const Tensor& y) {
         const Tensor v = t.t();
         {
           const NoGradScope scope;
           v.as_strided_({2}, {1}, 1);
         }
         v.unsqueeze(0).mul_(y);
       }},
  };
  const Tensor weights = tensor({0.0, 1.0, 2.0, 3.0}).view({2, 2});
  for (const auto& [name, body] : bodies)
    for (bool wants : {false, true}) {
      auto f = compile(body);
      for (int times = 0; times < 3; ++times) {
        const Tensor x = weights.clone().requires_grad_(wants), t = x * 1, y = full({2}, 3.0).requires_grad_();
        if (wants && std::string_view(name) == "a view") continue;  // is refused
        times ? f(t, y) : body(t, y);
        ASSERT_TRUE(t.requires_grad()) << name;
        (t * weights).sum().backward();
        const bool row = std::string_view(name) == "where it is";
        const Tensor of_x = row ? tensor({0.0, 1.0, 6.0, 9.0}) : tensor({0.0, 3.0, 6.0, 3.0});
        EXPECT_TRUE(equal(y.grad(), row ? tensor({4.0, 9.0}) : tensor({1.0, 4.0}))) << name << y.grad();
        if (wants) EXPECT_TRUE(equal(x.grad(), of_x.view({2, 2}))) << name << x.grad();
      }
    }
}

}  // namespace
}  // namespace reprise::test
