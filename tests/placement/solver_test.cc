// The solver against an oracle that tries every choice, and its bound.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "passes/placement/choices.h"
#include "passes/placement/plan.h"

namespace reprise::test {
namespace {

using namespace passes::placement;
using graph::Graph;
using graph::OpId;
using graph::ValueId;

/// The least cost of all choices: depth first, leaving a branch that costs as much as the best one so far.
class Oracle {
 public:
  explicit Oracle(const Problem& p) : p_(p), choice_(static_cast<std::size_t>(p.variables())), to_(choice_.size()) {
    for (const Problem::Edge& e : p.edges()) to_[static_cast<std::size_t>(e.b)].push_back(&e);
    least_after_.assign(choice_.size() + 1, 0);
    for (std::size_t v = choice_.size(); v-- > 0;)
      least_after_[v] = least_after_[v + 1] +
                        *std::min_element(p.costs(static_cast<int>(v)).begin(), p.costs(static_cast<int>(v)).end());
  }
  Cost run() {
    walk(0, 0);
    return best_;
  }

 private:
  void walk(std::size_t v, Cost so_far) {
    if (v == choice_.size()) {
      best_ = so_far;
      return;
    }
    const int of = static_cast<int>(v);
    std::vector<std::pair<Cost, int>> next;
    for (std::size_t s = 0; s < p_.states(of); ++s) {
      Cost c = so_far + p_.costs(of)[s];
      for (const Problem::Edge* e : to_[v])
        c += (*e->costs)[static_cast<std::size_t>(choice_[static_cast<std::size_t>(e->a)]) * p_.states(e->b) + s];
      next.emplace_back(c, static_cast<int>(s));
    }
    std::sort(next.begin(), next.end());
    for (const auto& [c, s] : next) {
      if (c + least_after_[v + 1] >= best_) break;
      choice_[v] = s;
      walk(v + 1, c);
    }
  }
  const Problem& p_;
  std::vector<int> choice_;
  std::vector<std::vector<const Problem::Edge*>> to_;
  std::vector<Cost> least_after_;
  Cost best_ = INT64_MAX;
};

PairCosts random_pairs(std::size_t a, std::size_t b, std::mt19937& rng) {
  auto costs = std::make_shared<std::vector<Cost>>(a * b);
  for (Cost& c : *costs) c = rng() % 3 == 0 ? 0 : static_cast<Cost>(rng() % 1000);
  return costs;
}

TEST(Solver, FindsTheLeastOfRandomProblems) {
  std::mt19937 rng(5);
  double gaps = 0;
  for (int i = 0; i < 150; ++i) {
    Problem p;
    const int n = 2 + static_cast<int>(rng() % 9);
    for (int v = 0; v < n; ++v) {
      std::vector<Cost> costs(1 + rng() % 4);
      for (Cost& c : costs) c = static_cast<Cost>(rng() % 1000);
      p.add(costs);
    }
    for (int e = static_cast<int>(rng() % static_cast<unsigned>(2 * n)); e > 0; --e) {
      const int a = static_cast<int>(rng() % static_cast<unsigned>(n)),
                b = static_cast<int>(rng() % static_cast<unsigned>(n));
      if (a == b) p.connect_self(a, random_pairs(p.states(a), p.states(a), rng));
      else p.connect(a, b, random_pairs(p.states(a), p.states(b), rng));
    }
    const Cost least = Oracle(p).run();
    const Solution exact = minimize(p);
    EXPECT_TRUE(exact.exact);
    EXPECT_EQ(exact.cost, least) << "problem " << i;
    EXPECT_EQ(p.cost(exact.choice), exact.cost);
    // Messages alone, without any elimination: never below the least, nor a bound above it.
    const Solution near = minimize(p, {.table_entries = 0});
    EXPECT_GE(near.cost, least);
    EXPECT_LE(near.bound, least) << "problem " << i;
    gaps += static_cast<double>(near.cost - least) / static_cast<double>(std::max<Cost>(least, 1));
  }
  EXPECT_LT(gaps / 150, 0.01);
}

/// A graph of at most 12 nodes: products, sums, pointwise operators and views of square matrices.
Graph random_graph(std::mt19937& rng) {
  Graph g;
  g.env = std::make_shared<guards::ShapeEnv>();
  std::vector<ValueId> values;
  const auto any = [&] { return values[rng() % values.size()]; };
  for (unsigned i = 1 + rng() % 3; i > 0; --i) {
    TensorMeta m;
    m.layout.sizes = {8 << rng() % 2, 8 << rng() % 2};
    if (rng() % 2) m.layout.sizes = {8, 8};
    m.layout.strides = contiguous_strides(m.layout.sizes);
    values.push_back(g.add_input(m, "x" + std::to_string(i)));
  }
  const unsigned nodes = 1 + rng() % 12;
  for (int tries = 0; g.nodes.size() < nodes && tries < 60; ++tries) {
    const ValueId a = any(), b = any();
    try {
      switch (rng() % 7) {
        case 0:
        case 1: values.push_back(g.add(OpId::mm, {a, b})); break;
        case 2: values.push_back(g.add(OpId::add, {a, b, Scalar(1)})); break;
        case 3: values.push_back(g.add(OpId::mul, {a, b})); break;
        case 4: values.push_back(g.add(OpId::relu, {a})); break;
        case 5: values.push_back(g.add(OpId::permute, {a, Ints{1, 0}})); break;
        default: values.push_back(g.add(OpId::softmax, {a, Int(1), {}}));
      }
    } catch (const Error&) {  // sizes that do not fit
    }
  }
  for (unsigned i = 1 + rng() % 2; i > 0; --i) {
    graph::OutputSpec o;
    o.value = i == 1 ? values.back() : any();
    if (rng() % 3 == 0) o.role = graph::OutputSpec::Role::Gradient, o.of = 0;
    if (o.of == 0 && hints_of(g.meta(o.value).layout.sizes) != hints_of(g.meta(g.inputs[0].value).layout.sizes))
      o.role = graph::OutputSpec::Role::Result, o.of = -1;
    g.outputs.push_back(o);
  }
  return g;
}

PlacementCosts random_costs(std::mt19937& rng) {
  PlacementCosts c;
  for (int a = 0; a < 2; ++a) c.axes.push_back({static_cast<double>(rng() % 8) / 10, 20.0 + rng() % 300});
  c.flops_per_us = 50 + rng() % 3000, c.bytes_per_us = 50 + rng() % 1000;
  return c;
}

TEST(Solver, EqualsTheOracleOnRandomGraphs) {
  std::mt19937 rng(11);
  int communicates = 0;
  for (int i = 0; i < 500; ++i) {
    const Graph g = random_graph(rng);
    const MeshShape mesh = i % 20 == 0 && g.nodes.size() < 5 ? MeshShape({2, 2}) : MeshShape({i % 2 ? 2 : 4});
    const PlacementCosts costs = random_costs(rng);
    const Plan plan = make_plan(g, mesh, {}, costs);
    ASSERT_TRUE(plan.exact);
    RedistributionTables tables(mesh, costs);
    const Cost least = Oracle(ChoiceModel(g, tables, {}).problem(0, {})).run();
    ASSERT_EQ(plan.cost, least) << graph::print(g);
    for (const PlannedNode& n : plan.nodes) communicates += n.cost() > n.compute;
    if (i % 10 == 0) {  // the same again
      const Plan again = make_plan(g, mesh, {}, costs);
      for (std::size_t n = 0; n < g.nodes.size(); ++n) {
        EXPECT_EQ(again.nodes[n].operands, plan.nodes[n].operands);
        EXPECT_EQ(again.nodes[n].results, plan.nodes[n].results);
      }
    }
  }
  EXPECT_GT(communicates, 100);
}

TEST(Solver, KeepsABudgetWhereOneIs) {
  std::mt19937 rng(23);
  int tighter = 0;
  for (int i = 0; i < 40; ++i) {
    const Graph g = random_graph(rng);
    const MeshShape mesh({2});
    const PlacementCosts costs = random_costs(rng);
    const Plan free = make_plan(g, mesh, {}, costs);
    PlanConstraints c;
    c.memory_per_rank = free.peak * 9 / 10;
    try {
      const Plan plan = make_plan(g, mesh, c, costs);
      EXPECT_LE(plan.peak, c.memory_per_rank);
      EXPECT_EQ(plan.peak, memory_of(g, plan).peak);
      EXPECT_GE(plan.cost, free.cost);
      EXPECT_GE(plan.bound, free.cost);
      EXPECT_LE(plan.bound, plan.cost);
      ++tighter;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
      EXPECT_NE(std::string(e.what()).find("the least peak is"), std::string::npos) << e.what();
    }
  }
  EXPECT_GT(tighter, 5);
}

}  // namespace
}  // namespace reprise::test
