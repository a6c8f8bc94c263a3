// What fusion keeps alive: temporaries of programs of a family, fused and as single operators.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "executor.h"
#include "kernels/plan/lower.h"
#include "kernels/plan/temp_plan.h"
#include "passes/pass.h"

namespace reprise::kernels {
namespace {

using graph::ValueId;

/// Programs over matrices of one size, s0 x s0: products, which are launches of their own, and what may be fused.
class Builder {
 public:
  explicit Builder(std::int64_t hint) {
    g_.name = "sums";
    g_.env = std::make_shared<guards::ShapeEnv>();
    n_ = g_.env->new_symbol({0, "s0"}, hint, 0);
    x_ = g_.add_input(meta({n_, n_}), "x");
  }
  ValueId x() const { return x_; }
  Int n() const { return n_; }
  ValueId product(ValueId v) { return add(graph::OpId::mm, {v, x_}); }
  ValueId sum(ValueId a, ValueId b) { return add(graph::OpId::add, {a, b, Scalar(1)}); }
  ValueId add(graph::OpId op, std::vector<graph::NodeArg> args) { return g_.add(op, std::move(args)); }
  graph::Graph returns(ValueId v) {
    graph::OutputSpec o;
    o.value = v;
    g_.outputs.push_back(o);
    passes::run_pipeline(g_);
    return g_;
  }

 private:
  static TensorMeta meta(Ints sizes) {
    TensorMeta m;
    m.layout = {sizes, contiguous_strides(sizes), 0};
    return m;
  }
  graph::Graph g_;
  Int n_;
  ValueId x_;
};

struct Pools {
  std::int64_t fused = 0, apart = 0;
  std::size_t launches_fused = 0, launches_apart = 0;
};
Pools pools(const graph::Graph& g, const Numbers& n) {
  const Lowered fused = lower(g, Mode::Full), apart = lower(g, Mode::NoFuse);
  return {pool_bytes(fused, n), pool_bytes(apart, n), fused.launches.size(), apart.launches.size()};
}

// One kernel would keep all of them.
TEST(KeptAlive, ASumOfManyProducts) {
  for (int many : {8, 49, 300}) {
    for (bool products_first : {false, true}) {
      Builder b(64);
      std::vector<ValueId> all;
      ValueId sum;
      for (int i = 0; i < many; ++i) {
        const ValueId p = b.product(b.add(graph::OpId::add, {b.x(), Scalar(i), Scalar(1)}));
        if (products_first) all.push_back(p);
        else sum = i ? b.sum(sum, p) : p;
      }
      for (int i = 0; products_first && i < many; ++i) sum = i ? b.sum(sum, all[static_cast<std::size_t>(i)]) : all[0];
      const Pools p = pools(b.returns(b.add(graph::OpId::relu, {sum})), {64});
      EXPECT_LE(p.fused, p.apart + p.apart / 10) << many;
      // All are there before the first is read: then they may as well be read at once.
      if (products_first) {
        EXPECT_LT(p.launches_fused, static_cast<std::size_t>(2 * many + 3));
      }
    }
  }
}

// A sum that stays apart is made where the one before stands, by the product that is added: one buffer, and no launch
// of its own.
TEST(KeptAlive, ProductsAddToTheirSum) {
  for (const bool returned : {false, true}) {
    Builder b(3);
    ValueId sum = b.product(b.x());
    for (int i = 1; i < 16; ++i) {
      const ValueId p = b.product(b.add(graph::OpId::add, {b.x(), Scalar(i), Scalar(1)}));
      sum = i < 12 ? b.sum(sum, p) : b.sum(p, sum);
    }
    if (!returned) sum = b.add(graph::OpId::amax, {sum, Ints{1}, true});
    const graph::Graph g = b.returns(sum);
    const Lowered fused = lower(g, Mode::Full), apart = lower(g, Mode::NoFuse);
    for (std::int64_t n : {3, 1, 7, 40, 780}) {  // of the last one the product is summed in two steps
      if (n > 40 && !returned) continue;
      Elements x;
      for (std::int64_t i = 0; i < n * n; ++i) x.push_back(static_cast<double>(i * 7 % 5 - 2));
      const Outcome want = execute(g, apart, {n}, {x}), got = execute(g, fused, {n}, {x});
      EXPECT_EQ(got.outputs, want.outputs) << n << print(fused);
      EXPECT_EQ(got.fault, "");
    }
    EXPECT_LE(pool_bytes(fused, {40}), pool_bytes(apart, {40})) << print(fused);
    const auto adds =
        std::count_if(fused.launches.begin(), fused.launches.end(), [](const Launch& l) { return l.name == "mm_add"; });
    EXPECT_GE(adds, 14) << print(fused);
  }
  // Added to an argument, which stays as it is.
  Builder a(3);
  const graph::Graph h = a.returns(a.sum(a.x(), a.product(a.x())));
  const Lowered one = lower(h, Mode::Full);
  EXPECT_EQ(one.launches.size(), 1u) << print(one);
  for (std::int64_t n : {3, 5, 40, 780}) {
    Elements x;
    for (std::int64_t i = 0; i < n * n; ++i) x.push_back(static_cast<double>(i * 7 % 5 - 2));
    const Outcome got = execute(h, one, {n}, {x});
    EXPECT_EQ(got.outputs, execute(h, lower(h, Mode::NoFuse), {n}, {x}).outputs) << n;
    EXPECT_EQ(got.inputs[0], x);
  }
  // What is multiplied is no place for the sum.
  Builder b(3);
  const ValueId y = b.product(b.product(b.x()));
  const graph::Graph g = b.returns(b.sum(b.add(graph::OpId::mm, {y, b.x()}), y));
  const Lowered l = lower(g, Mode::Full);
  const Elements x{1, 0, 2, 0, 1, -1, 3, 0, 1};
  EXPECT_EQ(execute(g, l, {3}, {x}).outputs, execute(g, lower(g, Mode::NoFuse), {3}, {x}).outputs) << print(l);
  EXPECT_EQ(l.launches.size(), 3u) << print(l);
}

// What is never stored may be larger than any memory.
TEST(KeptAlive, ValuesThatFitNowhere) {
  Builder b(std::int64_t{1} << 20);
  ValueId wide = b.add(graph::OpId::add, {b.add(graph::OpId::unsqueeze, {b.x(), Int(0)}),
                                          b.add(graph::OpId::unsqueeze, {b.x(), Int(1)}), Scalar(1)});
  for (int i = 0; i < 4; ++i) wide = b.add(graph::OpId::add, {wide, Scalar(i + 1), Scalar(1)});
  const Lowered l = lower(b.returns(b.add(graph::OpId::amax, {wide, Ints{2}, false})), Mode::Full);
  EXPECT_EQ(l.launches.size(), 1u) << print(l);
}

// What costs no memory is fused as ever.
TEST(KeptAlive, ASumOfManyShiftedRowsIsOneKernel) {
  Builder b(1024);
  ValueId sum;
  for (int i = 0; i < 49; ++i) {
    const ValueId part = b.add(graph::OpId::slice, {b.x(), Int(0), Int(i), b.n() - 49 + i, Int(1)});
    const ValueId p = b.add(graph::OpId::mul, {part, Scalar(0.5 + i)});
    sum = i ? b.sum(sum, p) : p;
  }
  const Pools p = pools(b.returns(sum), {1024});
  EXPECT_EQ(p.launches_fused, 1u);
  EXPECT_EQ(p.fused, 0);
}

// Places in one block leave gaps, so that the bound is not kept to the byte.
TEST(KeptAlive, RandomProgramsKeepLittleMore) {
  int above = 0;
  std::int64_t fused = 0, apart = 0;
  for (std::uint32_t seed = 1; seed <= 1000; ++seed) {
    std::mt19937 rng(seed);
    auto pick = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(rng); };
    Builder b(64);
    std::vector<ValueId> made{b.x()};
    const std::size_t nodes = 5 + pick(60), near = 1 + pick(8);
    auto any = [&] { return made[made.size() - 1 - pick(std::min(near, made.size()))]; };
    for (std::size_t i = 0; i < nodes; ++i) {
      switch (pick(6)) {
        case 0:
        case 1: made.push_back(b.product(any())); break;
        case 2: made.push_back(b.add(graph::OpId::tanh, {any()})); break;
        case 3:
          made.push_back(b.add(graph::OpId::sub, {any(), b.add(graph::OpId::amax, {any(), Ints{1}, true}), Scalar(1)}));
          break;
        default: made.push_back(b.sum(any(), any())); break;
      }
    }
    const Pools p = pools(b.returns(made.back()), {64});
    fused += p.fused, apart += p.apart;
    above += p.fused > p.apart + p.apart / 10;
    EXPECT_LE(p.fused, p.apart + p.apart / 4) << "seed " << seed;
  }
  EXPECT_LE(above, 10);
  EXPECT_LT(fused, apart);
}

// The time is in proportion to the program: of ten times as many products at most some twenty times as much.
TEST(KeptAlive, WeighsInProportion) {
  double seconds[2];
  for (int k = 0; k < 2; ++k) {
    Builder b(64);
    ValueId sum = b.x();
    for (int i = 0; i < (k ? 4000 : 400); ++i)
      sum = b.sum(sum, b.product(b.add(graph::OpId::add, {b.x(), Scalar(i), Scalar(1)})));
    const graph::Graph g = b.returns(b.add(graph::OpId::relu, {sum}));
    seconds[k] = 1e9;
    for (int round = 0; round < 3; ++round) {
      const auto start = std::chrono::steady_clock::now();
      lower(g, Mode::Full);
      seconds[k] =
          std::min(seconds[k], std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  }
  EXPECT_LT(seconds[1], 25 * seconds[0] + 0.05);
  RecordProperty("ms", static_cast<int>(seconds[1] * 1e3));
}

}  // namespace
}  // namespace reprise::kernels
