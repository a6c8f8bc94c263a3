// Typical programs that branch on values of tensors: what a call gives, and that none runs eagerly.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "reprise/autograd.h"
#include "reprise/data_sizes.h"
#include "reprise/generator.h"
#include "reprise/reprise.h"
#include "tests/support/device.h"

namespace reprise::test {
namespace {

using List = std::vector<Tensor>;

Tensor scaled(double by, Ints sizes = {8, 6}, int seed = 0) {
  manual_seed(static_cast<std::uint64_t>(seed) + 1);
  return (rand(sizes, {kFloat32, Device::cpu()}) * by).to(test_device());
}
Tensor number(double v, DType t = kFloat32) { return full({}, v, {t, test_device()}); }

struct Program {
  const char* name;
  List (*run)(List& in);
  List (*arguments)(int call);
  int paths;            ///< that the calls take
  bool derives = true;  ///< also eagerly
  int calls = 24;
};

const Program kPrograms[] = {
    {"early stop",
     [](List& in) {
       Tensor h = in[0];
       for (int layer = 0; layer < 4; ++layer) {
         h = tanh(h * 1.5);
         if (h.abs().mean().item() > 0.6) return List{h * 2};
       }
       return List{h};
     },
     [](int call) { return List{scaled(0.1 + 0.4 * (call % 5))}; }, 4},
    {"clipping by norm",
     [](List& in) {
       const Tensor norm = (in[0] * in[0]).sum().sqrt();
       if (norm.item() > 5.0) in[0].mul_(5.0 / norm);
       return List{in[0].sum(0), norm};
     },
     [](int call) { return List{scaled(0.25 + call % 3)}; }, 2, false},
    {"a skipped step",
     [](List& in) {
       if (static_cast<bool>(in[1].isnan().any())) return List{in[0]};
       in[0].sub_(in[1] * 0.1);
       return List{in[0]};
     },
     [](int call) {
       return List{scaled(1), call % 3 == 2 ? scaled(1) / zeros({8, 6}, {kFloat32, test_device()}) * 0 : scaled(2)};
     },
     2},
    {"beam pruning",
     [](List& in) {
       const Tensor best = in[0].max(), keep = in[0].sum(-1) > best * 3;
       const Int n = keep.sum().item().to_int();
       if (n > 2) return List{in[0].index({keep}).mean(0)};
       return List{in[0].mean(0)};
     },
     [](int call) {
       return List{scaled(1, {4 + call % 3, 6}, call)};
     },
     2},
    {"rejection sampling",
     [](List& in) {
       Tensor x = in[0];
       for (int tries = 0; tries < 6; ++tries) {
         x = x * 7.13 + 0.37;
         x = x - floor(x);
         if (x.mean().item() < 0.45) break;
       }
       return List{x};
     },
     [](int call) {
       return List{scaled(1, {3, 3}, call)};
     },
     -1},
    {"Newton until converged",
     [](List& in) {
       Tensor x = in[0] + 1;
       for (int i = 0; i < 12; ++i) {
         const Tensor next = (x + in[0] / x) * 0.5;
         const Tensor err = (next - x).abs().max();
         x = next;
         if (err.item() < 1e-3) break;
       }
       return List{x};
     },
     [](int call) { return List{scaled(1 + 40 * (call % 3), {5}, 0) + 0.5}; }, -1},
    {"an adaptive step",
     [](List& in) {
       Tensor y = in[0], h = in[1];
       for (int i = 0; i < 3; ++i) {
         const Tensor full_step = y - h * y, half = y - h * 0.5 * y, two = half - h * 0.5 * half;
         if ((two - full_step).abs().max().item() > 0.05) {
           h = h * 0.5;
         } else {
           y = two;
         }
       }
       return List{y, h};
     },
     [](int call) {
       return List{scaled(1, {6}, 0) + 1, number(0.2 + 0.4 * (call % 4))};
     },
     -1},
    {"a mode in a tensor",
     [](List& in) {
       switch (in[1].item<std::int64_t>()) {
         case 0: return List{relu(in[0])};
         case 1: return List{tanh(in[0])};
         default: return List{in[0] * in[1]};
       }
     },
     [](int call) {
       return List{scaled(2), number(call % 4, kInt64)};
     },
     4},
    {"a loss scale",
     [](List& in) {
       const Tensor g = in[0] * in[1];
       if (static_cast<bool>((g.abs() > 100).any())) {
         in[1].mul_(0.5);
         in[2].zero_();
         return List{in[0]};
       }
       in[2].add_(1);
       if (in[2].item() >= 3) in[1].mul_(2), in[2].zero_();
       return List{in[0] - g};
     },
     [](int call) {
       return List{scaled(1), number(call % 4 == 3 ? 900 : 4), number(call % 4)};
     },
     3, false},
    {"an empty selection",
     [](List& in) {
       const Tensor some = in[0].index({in[0] > 0.75});
       if (some.size(0) == 0) return List{zeros({}, in[0].options())};
       return List{some.mean()};
     },
     [](int call) { return List{scaled(call % 2 ? 0.5 : 2, {9}, call)}; }, 2, false},
    {"bisection",
     [](List& in) {
       Tensor lo = in[0], hi = in[1];
       for (int i = 0; i < 3; ++i) {
         const Tensor mid = (lo + hi) * 0.5;
         if ((mid * mid - in[2]).item() > 0) hi = mid;
         else lo = mid;
       }
       return List{lo, hi};
     },
     [](int call) {
       return List{number(0), number(8), number(1 + 7 * (call % 8))};
     },
     -1},
    {"a flag and a count",
     [](List& in) {
       const bool training = in[1].item<bool>();
       const Int n = (in[0] > 0.5).sum().item().to_int();
       Tensor y = training ? in[0] * 2 : in[0];
       if (n > 20 && training) y = y - y.mean();
       else if (n <= 20) y.add_(1);
       return List{y};
     },
     [](int call) {
       return List{scaled(call % 3 ? 1 : 0.6, {8, 6}, call), number(call % 2, kInt64) > 0};
     },
     -1},
};

void expect_same(const List& got, const List& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(allclose(got[i], want[i], 1e-5, 1e-6, true)) << what << ", " << i << ":\n"
                                                             << got[i].str() << "\n"
                                                             << want[i].str();
}

class Branches : public testing::TestWithParam<Program> {};

TEST_P(Branches, AreCompiledPathByPath) {
  const Program& p = GetParam();
  auto run = [&p](List& in) { return p.run(in); };
  auto f = compile([run](List in) { return run(in); }, {.name = "program"});
  std::int64_t warm = 0;
  for (int round = 0; round < 2; ++round) {
    for (int call = 0; call < p.calls; ++call) {
      List mine = p.arguments(call), theirs = p.arguments(call);
      const List got = f(mine), want = run(theirs);
      const std::string what = "call " + std::to_string(call);
      expect_same(got, want, what);
      expect_same(mine, theirs, what + ", arguments");
    }
    if (round == 0) warm = f.stats().compilations;
  }
  const Stats s = f.stats();
  EXPECT_EQ(s.eager_fallbacks, 0) << s.last_fallback_reason;
  EXPECT_EQ(s.compilations, warm) << "a warm tree compiles";
  if (p.paths >= 0) {
    EXPECT_EQ(s.branches.paths, p.paths) << f.explain();
  }
  EXPECT_GE(s.branches.paths, 2) << f.explain();
  EXPECT_GT(s.branches.dispatches, 0);
}

// The backward is the leaf's.
TEST_P(Branches, AreDerived) {
  const Program& p = GetParam();
  if (!p.derives) GTEST_SKIP();
  auto run = [&p](List& in) { return p.run(in); };
  auto f = compile([run](List in) { return run(in); }, {.name = "program"});
  for (int call = 0; call < 6; ++call) {
    Tensor gradients[2];
    for (int compiled = 0; compiled < 2; ++compiled) {
      List in = p.arguments(call);
      Tensor x = in[0].clone().requires_grad_();
      in[0] = x * 1;
      const List out = compiled ? f(in) : run(in);
      (out[0] * 3).sum().backward();
      gradients[compiled] = x.grad();
    }
    expect_same({gradients[1]}, {gradients[0]}, "call " + std::to_string(call));
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

INSTANTIATE_TEST_SUITE_P(Programs, Branches, testing::ValuesIn(kPrograms), [](const auto& p) {
  std::string name;
  for (const char* c = p.param.name; *c; ++c)
    if (*c != ' ') name += *c;
  return name;
});

}  // namespace
}  // namespace reprise::test
