// Random programs with nested branches on values, writes and sizes that depend on data: equal to eager execution, and
// no call below the bound of paths runs eagerly. BRANCH_PROGRAMS (10), BRANCH_SEED (0): how many, from which.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "reprise/autograd.h"
#include "reprise/data_sizes.h"
#include "reprise/generator.h"
#include "reprise/reprise.h"
#include "tests/support/device.h"

namespace reprise::test {
namespace {

struct Step {
  int kind = 0;
  double c = 0;
  std::vector<Step> then, otherwise;
};
using Block = std::vector<Step>;

constexpr int kPlain = 6, kKinds = 12;  // from kPlain on they branch

Block draw(std::mt19937& rng, int depth, int& branches) {
  Block b;
  for (int n = 1 + static_cast<int>(rng() % 3); n > 0; --n) {
    Step s;
    s.kind = static_cast<int>(rng() % (depth < 3 && branches < 3 ? kKinds : kPlain));
    s.c = static_cast<double>(rng() % 1000) / 1000 + 0.00137;
    if (s.kind >= kPlain) {
      ++branches;
      s.then = draw(rng, depth + 1, branches);
      if (rng() % 2) s.otherwise = draw(rng, depth + 1, branches);
    }
    b.push_back(std::move(s));
  }
  return b;
}

bool holds(const Step& s, const Tensor& x, const Tensor& w) {
  switch (s.kind) {
    case 6: return x.sum().item() > s.c * 4;
    case 7: return static_cast<bool>((x.detach() > s.c).any());
    case 8: return (x > s.c).sum().item().to_int() > 3;
    case 9: return w.detach().sum().to(kInt64).item<std::int64_t>() % 2 == 0;
    case 10: return x.index({x > s.c}).size(0) == 2;
    default: return x.max().item() - w.min().item() * 2 > s.c;
  }
}

void run(const Block& b, Tensor& x, Tensor& w) {
  for (const Step& s : b) {
    switch (s.kind) {
      case 0: x = x * (1 + s.c) - 0.2; break;
      case 1: x = tanh(x + s.c); break;
      case 2: w.add_(s.c); break;
      case 3: w.slice(0, 0, 2).mul_(s.c); break;
      case 4: x = x + w.sum() * 0.1; break;
      case 5: x = x - x.index({x > s.c}).sum() * 0.05; break;
      default: run(holds(s, x, w) ? s.then : s.otherwise, x, w);
    }
  }
}

std::int64_t from_environment(const char* name, std::int64_t otherwise) {
  const char* v = std::getenv(name);
  return v ? std::atoll(v) : otherwise;
}

TEST(BranchPrograms, AgreeWithEagerExecution) {
  const std::int64_t first = from_environment("BRANCH_SEED", 0), programs = from_environment("BRANCH_PROGRAMS", 10);
  std::int64_t calls = 0, paths = 0, dispatches = 0;
  for (std::int64_t seed = first; seed < first + programs; ++seed) {
    std::mt19937 rng(static_cast<unsigned>(seed));
    int branches = 0;
    auto block = std::make_shared<const Block>(draw(rng, 0, branches));
    const bool derived = seed % 4 == 3;
    auto body = [block](Tensor x, Tensor w) {
      run(*block, x, w);
      return x * 1;
    };
    auto f = compile(body);
    for (int call = 0; call < 12; ++call) {
      manual_seed(static_cast<std::uint64_t>(seed * 100 + call % 6));
      const Ints sizes = {2 + call % 3, 3};
      const Tensor at = (rand(sizes, {kFloat32, Device::cpu()}) * 2 - 0.7).to(test_device());
      const Tensor weights = (rand({4}, {kFloat32, Device::cpu()}) * 3).to(test_device());
      Tensor out[2], gradient[2], written[2];
      for (int compiled = 0; compiled < 2; ++compiled) {
        Tensor x = at.clone(), w = weights.clone();
        if (derived) x.requires_grad_();
        out[compiled] = compiled ? f(x, w) : body(x, w);
        if (derived) {
          out[compiled].sum().backward();
          gradient[compiled] = x.grad();
        }
        written[compiled] = w;
      }
      ASSERT_TRUE(allclose(out[1], out[0], 1e-4, 1e-5)) << "seed " << seed << ", call " << call;
      ASSERT_TRUE(allclose(written[1], written[0], 1e-4, 1e-5)) << "seed " << seed << ", call " << call;
      if (derived) {
        ASSERT_TRUE(allclose(gradient[1], gradient[0], 1e-4, 1e-5)) << "seed " << seed << ", call " << call;
      }
      ++calls;
    }
    const Stats s = f.stats();
    ASSERT_EQ(s.eager_fallbacks, 0) << "seed " << seed << ": " << s.last_fallback_reason;
    paths += s.branches.paths, dispatches += s.branches.dispatches;
  }
  std::printf("%lld programs, %lld calls, %lld paths, %lld changes of path\n", static_cast<long long>(programs),
              static_cast<long long>(calls), static_cast<long long>(paths), static_cast<long long>(dispatches));
}

}  // namespace
}  // namespace reprise::test
