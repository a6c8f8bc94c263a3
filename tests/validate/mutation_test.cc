// Would the validator notice? Each check of each guard set of many functions is dropped, and made weaker, one at a
// time: either what the specialization relies on does not follow any more, or the other checks imply it, which is
// counted.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "base/knobs.h"
#include "graph/interpreter.h"
#include "reprise/reprise.h"
#include "runtime/build/specialization.h"
#include "runtime/build/validation.h"
#include "tests/golden/programs.h"
#include "tests/ops/cases.h"
#include "validate/validate.h"

namespace reprise::validate {
namespace {

using guards::GuardSet;

struct Tally {
  int sets = 0, checks = 0, mutants = 0, noticed = 0, by_accesses_alone = 0, implied = 0;
  std::vector<std::string> unnoticed, redundant;
};

/// Weaker checks in the place of one.
std::vector<Check> weaker(const Check& c) {
  auto with = [&](std::uint8_t kind, std::int64_t k) { return Check{kind, c.a, c.b, k}; };
  switch (c.kind) {
    case GuardSet::kEqual: return {with(GuardSet::kAtLeast, c.k), with(GuardSet::kAtMost, c.k)};
    case GuardSet::kAtLeast: return c.k > INT64_MIN ? std::vector{with(c.kind, c.k - 1)} : std::vector<Check>{};
    case GuardSet::kAtMost: return c.k < INT64_MAX ? std::vector{with(c.kind, c.k + 1)} : std::vector<Check>{};
    case GuardSet::kLowBitsZero: return c.k > 1 ? std::vector{with(c.kind, c.k >> 1)} : std::vector<Check>{};
    case GuardSet::kDivisible:
      for (std::int64_t by = 2; by * by <= c.k; ++by)
        if (c.k % by == 0) return {with(c.kind, c.k / by)};
      return {};
    default: return {};
  }
}

void mutate(const detail::Specialization& s, const std::vector<Claim>& claims, Tally& tally) {
  const std::vector<Check>& all = s.guards.checks();
  ++tally.sets;
  for (std::size_t i = 0; i < all.size(); ++i) {
    ++tally.checks;
    std::vector<Check> rest = all;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    std::vector<std::vector<Check>> mutants{rest};
    for (const Check& w : weaker(all[i])) {
      mutants.push_back(all);
      mutants.back()[i] = w;
    }
    for (std::size_t m = 0; m < mutants.size(); ++m) {
      ++tally.mutants;
      const std::string what =
          s.name + ": " + s.guards.text(static_cast<std::uint32_t>(i)) + (m ? "  (weaker)" : "  (dropped)");
      if (!failures(s, claims, {mutants[m], true, true, true}).empty()) {
        ++tally.noticed;
        if (m == 0) tally.by_accesses_alone += !failures(s, claims, {mutants[m], false, true, true}).empty();
      } else if (imply(s, mutants[m], all[i])) {
        ++tally.implied;
        if (m == 0) tally.redundant.push_back(what);
      } else {
        tally.unnoticed.push_back(what);
      }
    }
  }
}

class Mutation : public testing::Test {
 protected:
  void SetUp() override {
    observer = [this](const detail::Specialization& s, const std::vector<Claim>& claims) { mutate(s, claims, tally); };
  }
  void TearDown() override {
    observer = nullptr;
    std::printf(
        "%d guard sets, %d checks, %d mutants: %d noticed, %d implied by the other checks; %d of the dropped are "
        "noticed by accesses alone\n",
        tally.sets, tally.checks, tally.mutants, tally.noticed, tally.implied, tally.by_accesses_alone);
    for (const std::string& r : tally.redundant) std::printf("  implied: %s\n", r.c_str());
    EXPECT_LE(static_cast<int>(tally.redundant.size()) * 100, 10 * tally.checks)
        << "checks that the others imply cost every call";
    for (const std::string& u : tally.unnoticed) ADD_FAILURE() << "nobody notices: " << u;
    EXPECT_GT(tally.noticed, 0);
  }
  Scoped<std::int64_t> on{knobs().validate, 1};
  Tally tally;
};

/// All operators, in the layouts of their cases.
TEST_F(Mutation, OfOperators) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::int64_t at = 0;
  for ([[maybe_unused]] const graph::OpDef& def : graph::all_ops()) {
    const auto id = static_cast<graph::OpId>(at++);
    int cases = 0;
    for (const test::OpCase& c : test::cases_of(id)) {
      if (++cases % 7 != 1 || cases > 30) continue;  // the first, and some with other layouts
      std::vector<std::vector<Tensor>> lists;
      std::vector<graph::CallArg> args;
      lists.reserve(c.args.size());
      for (const test::OpArg& a : c.args)
        args.push_back(std::visit(
            [&](const auto& v) -> graph::CallArg {
              using T = std::decay_t<decltype(v)>;
              if constexpr (std::is_same_v<T, Tensor>)
                return v.defined() ? graph::CallArg(&v) : graph::CallArg(std::monostate{});
              else if constexpr (std::is_same_v<T, std::vector<Tensor>>) return TensorArrayRef(lists.emplace_back(v));
              else if constexpr (std::is_same_v<T, std::vector<Int>>) return IntArrayRef(v);
              else if constexpr (std::is_same_v<T, std::string>) return std::string_view(v);
              else return v;
            },
            a));
      std::vector<Tensor> results;
      try {
        graph::forward({graph::op(id), args, false, {}}, results);
      } catch (const Error& e) {
        EXPECT_EQ(e.message().find("not proved"), std::string::npos) << e.message();
      }
    }
    ASSERT_LT(std::chrono::steady_clock::now(), until) << "at " << graph::op(id).name();
  }
}

TEST_F(Mutation, OfPrograms) {
  for (const golden::Program& p : golden::programs()) p.call("mutated " + p.name);
}

TEST_F(Mutation, OfBranchesAndNumbers) {
  auto run = [](auto f, auto... args) { compile(f)(args...); };
  const Tensor x = randn({8, 6}), v = randn({6}), cache = randn({16, 6});
  run([](Tensor a) { return a.size(0) % 4 == 0 ? a * 2.0 : a; }, x);
  run([](Tensor a) { return a.size(0) % 6 == 2 ? a * 2.0 : a; }, x);
  run([](Tensor a) { return a.size(0) > a.size(1) ? a.sum(0) : a.sum(1); }, x);
  run([](Tensor a) { return a.size(0) < 10 && a.size(1) > 3 ? a + 1.0 : a; }, x);
  run([](Tensor a, Int n) { return a.slice(0, 0, n); }, x, Int(3));
  run([](Tensor a, Int n) { return a.slice(0, n, n + 2) * 2.0; }, x, Int(3));
  run([](Tensor a, Int n) { return a.slice(0, 0, n * 2); }, x, Int(3));
  run(
      [](Tensor c, Tensor a, Int n) {
        c.slice(0, n, n + a.size(0)).copy_(a);
        return c.slice(0, 0, n + a.size(0)).sum(0);
      },
      cache, x, Int(4));
  run(
      [](Tensor a) {
        assume(a.size(0) % 2 == 0);
        return a.view({2, a.size(0) / 2, a.size(1)}).sum(0);
      },
      x);
  run([](Tensor a) { return a.view({-1}); }, x);
  run([](Tensor a) { return a.view({a.size(0) / 2, a.size(1) * 2}); }, x);
  run([](Tensor a, Tensor b) { return matmul(a, b); }, x, randn({6, 5}));
  run([](Tensor a, Tensor b) { return cat({a, b}, 0) * 2.0; }, x, randn({3, 6}));
  run([](Tensor a, Int n) { return a * static_cast<double>(n.value()); }, x, Int(3));
  run([](Tensor a, Float f) { return f > 0.5 ? a * f : a; }, x, Float(0.75));
  run([](Tensor a) { return softmax(a.t(), 0); }, x);
  run([](Tensor a) { return a.slice(1, 1, 5, 2).sum(1); }, x.t());
  run([](Tensor a, Tensor b) { return a + b; }, x, v);
  run([](Tensor a, Int n) { return a.expand({n, a.size(0)}) + 1.0; }, v, Int(4));
  run([](Int n, Int m) { return zeros({n, m}) + 1.0; }, Int(4), Int(3));
  run([](Tensor a, Int n) { return a.as_strided({n, 2}, {2, 1}, 1) * 2.0; }, v, Int(2));
  run(
      [](Tensor a) {
        a.add_(1.0);
        return a.sum();
      },
      x.clone());
  run([](Tensor a) { return Int::min(a.size(0), a.size(1)) == a.size(1) ? a.slice(0, 0, a.size(1)) : a; }, x);
  run([](Tensor a) { return a.unbind(0)[1]; }, randn({3, 4}));
  run([](Tensor a) { return a.split(3, 0)[1]; }, x);
  run([](Tensor a, Int s) { return a.size(0) * s + 3 < 100 ? a : a + 1.0; }, x, Int(5));
  run([](Tensor a, Tensor b) { return a.size(0) * a.size(1) == b.size(0) ? a.view({-1}) + b : b; }, x, randn({48}));
}

/// One size is divided by 160 and by 320 where places of convolutions are counted, beside a width that is a symbol.
TEST(Proofs, OfStridesOfStrides) {
  Scoped<std::int64_t> on(knobs().validate, 1);
  auto f = compile([](Tensor sound, Tensor a, Tensor b) {
    Tensor x = linear(pad(sound, {200, 40}).unfold(0, 400, 160), a), p = pad(x, {0, 0, 1, 1});
    const Int time = x.size(0);
    return linear(p.slice(0, 0, time, 2), b) + linear(p.slice(0, 1, 1 + time, 2), b) +
           linear(p.slice(0, 2, 2 + time, 2), b);
  });
  f(randn({4000}), randn({8, 400}), randn({4, 8}));
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

TEST(Exceptions, AreTold) {
  std::ifstream in(std::string(REPRISE_SOURCE_DIR) + "/docs/validation.md");
  const std::string page((std::istreambuf_iterator<char>(in)), {});
  int rows = 0;
#define REPRISE_VALIDATE_EXCEPTION(name, what, why)                                           \
  EXPECT_NE(page.find("\n| " #name " | " what " | " why " |\n"), std::string::npos) << #name; \
  ++rows;
#include "validate/exceptions.def"
#undef REPRISE_VALIDATE_EXCEPTION
  EXPECT_GT(rows, 0);
}

}  // namespace
}  // namespace reprise::validate
