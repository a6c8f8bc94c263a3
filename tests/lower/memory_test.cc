// What fusion keeps alive: temporaries of programs of a family, fused and as single operators.
#include <gtest/gtest.h>

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
        case 3: made.push_back(b.add(graph::OpId::sub, {any(), b.add(graph::OpId::amax, {any(), Ints{1}, true}), Scalar(1)})); break;
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
    for (int i = 0; i < (k ? 4000 : 400); ++i) sum = b.sum(sum, b.product(b.add(graph::OpId::add, {b.x(), Scalar(i), Scalar(1)})));
    const graph::Graph g = b.returns(b.add(graph::OpId::relu, {sum}));
    seconds[k] = 1e9;
    for (int round = 0; round < 3; ++round) {
      const auto start = std::chrono::steady_clock::now();
      lower(g, Mode::Full);
      seconds[k] = std::min(seconds[k], std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  }
  EXPECT_LT(seconds[1], 25 * seconds[0] + 0.05);
  RecordProperty("ms", static_cast<int>(seconds[1] * 1e3));
}

}  // namespace
}  // namespace reprise::kernels
