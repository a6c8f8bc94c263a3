// Plans of small programs: known optima, reports, the check, and the planned program run on ranks.
#include <gtest/gtest.h>

#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/errors.h"
#include "passes/placement/check.h"
#include "passes/placement/plan.h"
#include "passes/placement/relation.h"
#include "passes/placement/report.h"
#include "runtime/export/program.h"
#include "tests/golden/golden.h"
#include "tests/placement/programs.h"
#include "tests/placement/ranks.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

using namespace passes::placement;
using graph::Graph;
using graph::ValueId;

const Graph& graph_of(const ExportedProgram& p) { return detail::ProgramAccess::program(p)->graph; }
Placements placed(const char* text) { return parse_placements(text); }
bool shards(const Placements& p) {
  return std::any_of(p.begin(), p.end(), [](const Placement& x) { return x.is_shard(); });
}
/// The collectives of a kind that a plan has.
int calls(const ParallelPlan& p, const std::string& collective) {
  const auto all = nlohmann::json::parse(p.json());
  int n = 0;
  for (const auto& s : all["sums"])
    if (s["collective"] == collective && s["bytes"] > 0) n += s["calls"].get<int>();
  return n;
}

TEST(Plans, OfSmallWeightsAreDataParallel) {
  const ParallelPlan p = plan_parallel(mlp_step(65536, 256, 512), MeshShape({8}, {"dp"}));
  EXPECT_TRUE(p.respected()) << p.report();
  EXPECT_EQ(p.inputs().at("x"), placed("S(0)"));
  EXPECT_EQ(p.inputs().at("y"), placed("S(0)"));
  // Each weight's gradient is summed among the ranks once; nothing of the batch moves.
  EXPECT_EQ(calls(p, "all_reduce") + calls(p, "reduce_scatter"), 3) << p.report();  // two weights and the loss
  EXPECT_EQ(calls(p, "all_to_all"), 0);
}

TEST(Plans, OfOneRowAreColumnsThenRows) {
  ParallelOptions o;
  o.inputs["x"] = placed("R"), o.results[0] = placed("R");
  const ParallelPlan p = plan_parallel(mlp(1, 8192, 32768), MeshShape({8}, {"tp"}), o);
  EXPECT_TRUE(p.respected()) << p.report();
  EXPECT_EQ(p.inputs().at("w1"), placed("S(0)"));
  EXPECT_EQ(p.inputs().at("w2"), placed("S(1)"));
  EXPECT_EQ(calls(p, "all_reduce"), 1) << p.report();
  EXPECT_EQ(calls(p, "all_gather") + calls(p, "all_to_all") + calls(p, "reduce_scatter"), 0);
}

TEST(Plans, WithinATightBudgetShardWeights) {
  const ExportedProgram program = mlp_step(8192, 2048, 4096);
  ParallelOptions o;
  o.inputs["x"] = o.inputs["y"] = placed("S(0)");
  o.costs.axes = {{1, 400e3}};
  const ParallelPlan wide = plan_parallel(program, MeshShape({8}, {"dp"}), o);
  o.inputs["w1"] = o.inputs["w2"] = placed("R");
  const std::int64_t replicated = plan_parallel(program, MeshShape({8}, {"dp"}), o).peak_memory();
  o.inputs.erase("w1"), o.inputs.erase("w2");
  o.memory_per_rank = replicated * 72 / 100;
  const ParallelPlan p = plan_parallel(program, MeshShape({8}, {"dp"}), o);
  EXPECT_TRUE(p.respected()) << p.report();
  EXPECT_LE(p.peak_memory(), o.memory_per_rank);
  EXPECT_GE(p.cost_us(), wide.cost_us());
  EXPECT_TRUE(shards(p.inputs().at("w1")) && shards(p.inputs().at("w2"))) << p.report();
  EXPECT_GT(calls(p, "all_gather"), 0);
  EXPECT_GT(calls(p, "reduce_scatter"), 0) << p.report();
  o.memory_per_rank = 1 << 20;
  const Error e = error_of([&] { plan_parallel(program, MeshShape({8}, {"dp"}), o); });
  EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
  EXPECT_NE(std::string(e.what()).find("no plan was found within 1048576 bytes"), std::string::npos) << e.what();
}

ParallelOptions context_parallel() {
  ParallelOptions o;
  o.regions.push_back({"context_parallel",
                       "scaled_dot_product_attention",
                       "",
                       {placed("S(0)S(1)S(2)"), placed("S(0)S(1)R"), placed("S(0)S(1)R")},
                       {placed("S(0)S(1)S(2)")}});
  return o;
}

void expect_report(const std::string& file, const ParallelPlan& p) {
  golden::expect_golden(file, std::regex_replace(p.report(), std::regex("([a-z_]+\\.cc):[0-9]+"), "$1"));
}

/// The sum of what the lines say, in nanoseconds.
Cost sum_of_lines(const std::string& report) {
  const auto ns = [](const std::string& us) {
    return static_cast<Cost>(std::stoll(us.substr(0, us.find('.')) + us.substr(us.find('.') + 1)));
  };
  Cost sum = 0;
  const std::regex line("  # placement=.*cost=\\[([^\\]]*)\\](, compute ([0-9.]+))?"), number("[0-9]+\\.[0-9]{3}");
  for (std::sregex_iterator l(report.begin(), report.end(), line), end; l != end; ++l) {
    const std::string costs = (*l)[1], compute = (*l)[3];
    for (std::sregex_iterator c(costs.begin(), costs.end(), number); c != end; ++c) sum += ns(c->str());
    if (!compute.empty()) sum += ns(compute);
  }
  return sum;
}

TEST(Reports, AreTheGoldenOnes) {
  const MeshShape cube({2, 4, 2}, {"dp", "tp", "cp"});
  const ParallelPlan row = plan_parallel(mlp(64, 8192, 32768), MeshShape({2, 4}, {"dp", "tp"}));
  const ParallelPlan context = plan_parallel(attention(8, 256, 16, 2048), cube, context_parallel());
  const ParallelPlan step = plan_parallel(mlp_step(4096, 1024, 4096), MeshShape({4, 2}, {"dp", "tp"}));
  expect_report("plan_mlp.txt", row);
  expect_report("plan_attention.txt", context);
  expect_report("plan_mlp_step.txt", step);
  for (const ParallelPlan* p : {&row, &context, &step}) {
    EXPECT_TRUE(p->respected()) << p->report();
    EXPECT_EQ(sum_of_lines(p->report()), std::llround(p->cost_us() * 1000)) << p->report();
    const auto data = nlohmann::json::parse(p->json());
    EXPECT_EQ(data["nodes"].size(), p->placements().size());
    Cost sum = 0;
    for (const auto& s : data["sums"]) sum += s["cost_ns"].get<Cost>();
    for (const auto& n : data["nodes"]) sum += n["compute_ns"].get<Cost>();
    EXPECT_EQ(sum, data["cost_ns"].get<Cost>());
  }
  EXPECT_NE(context.report().find("placement=(S(0)S(1)S(2), S(0)S(1)R, S(0)S(1)R) -> S(0)S(1)S(2)"), std::string::npos);
  EXPECT_NE(context.report().find("in local_map context_parallel (respected: yes)"), std::string::npos);
}

// ---- the planned program on ranks

using ByRank = std::vector<Elements>;

/// A collective, as the ranks along its axis carry it out.
ByRank carry_out(const ByRank& all, const Step& s, const MeshShape& mesh, std::mt19937& rng) {
  ByRank out(all.size());
  const MeshShape line({mesh.size(s.axis)});
  for (std::int64_t r = 0; r < mesh.ranks(); ++r) {
    std::vector<std::int64_t> at = mesh.coordinates(r);
    if (at[static_cast<std::size_t>(s.axis)] != 0) continue;
    std::vector<std::size_t> group;
    for (std::int64_t i = 0; i < mesh.size(s.axis); ++i)
      at[static_cast<std::size_t>(s.axis)] = i, group.push_back(static_cast<std::size_t>(mesh.rank(at)));
    ByRank parts;
    for (const std::size_t i : group) parts.push_back(all[i]);
    std::string why;
    parts = take_apart(put_together(parts, {s.from}, line, why), {s.to}, line, rng);
    for (std::size_t i = 0; i < group.size(); ++i) out[group[i]] = std::move(parts[i]);
  }
  return out;
}

/// Runs a graph whole and by its plan; tells the first difference of an output.
std::string run_both(const Graph& g, const Plan& plan, std::mt19937& rng) {
  std::vector<Elements> whole(g.values.size());
  std::vector<ByRank> parts(g.values.size());
  const auto ranks = static_cast<std::size_t>(plan.mesh.ranks());
  for (std::size_t i = 0; i < g.inputs.size(); ++i) {
    const ValueId v = g.inputs[i].value;
    whole[v.v] = random_elements(g.meta(v).dtype, hints_of(g.meta(v).layout.sizes), rng);
    parts[v.v] = take_apart(whole[v.v], plan.inputs[i], plan.mesh, rng);
  }
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    const graph::Node& node = g.nodes[n];
    std::vector<Elements> operands;
    std::vector<std::vector<Elements>> by_rank(ranks);
    const std::vector<ValueId> values = operands_of(node);
    for (std::size_t i = 0; i < values.size(); ++i) {
      operands.push_back(whole[values[i].v]);
      ByRank now = parts[values[i].v];
      for (const Step& s : plan.nodes[n].steps[i]) now = carry_out(now, s, plan.mesh, rng);
      for (std::size_t r = 0; r < ranks; ++r) by_rank[r].push_back(now[r]);
    }
    const std::vector<Elements> want = call_node(node, node.args, operands);
    std::vector<std::vector<Elements>> made;
    try {
      made = call_on_ranks(g, node, by_rank, plan.nodes[n].results.at(0), plan.mesh);
    } catch (const Error& e) {
      return "a rank throws: " + std::string(e.what());
    }
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      whole[node.results[r].v] = want[r];
      for (std::size_t k = 0; k < ranks; ++k) parts[node.results[r].v].push_back(made[k][r]);
    }
  }
  for (std::size_t o = 0; o < g.outputs.size(); ++o) {
    if (!g.outputs[o].value) continue;
    ByRank now = parts[g.outputs[o].value.v];
    for (const Step& s : plan.outputs[o].steps) now = carry_out(now, s, plan.mesh, rng);
    std::string why;
    const Elements got = put_together(now, plan.outputs[o].placement, plan.mesh, why);
    if (why.empty()) why = difference(got, whole[g.outputs[o].value.v]);
    if (!why.empty()) return "output " + std::to_string(o) + ": " + why;
  }
  return "";
}

/// Costs at which small tensors are worth being sharded, so that plans of them communicate.
PlacementCosts slow_ranks(double scale) {
  return {.axes = {{0.01 * scale, 2e3}, {0.02 * scale, 1e3}}, .flops_per_us = 200, .bytes_per_us = 200};
}

TEST(Plans, GiveWhatOneRankGives) {
  std::mt19937 rng(17);
  const MeshShape mesh({2, 2}, {"dp", "tp"});
  int communicates = 0;
  const ExportedProgram programs[] = {mlp(4, 8, 16), mlp_step(4, 8, 8), attention(4, 4, 4, 16),
                                      llama_step(1, 4, 4, 8, 16, 2, 8)};
  for (const ExportedProgram& program : programs) {
    const Graph& g = graph_of(program);
    for (const double scale : {0.1, 3.0}) {
      const Plan plan = make_plan(g, mesh, {}, slow_ranks(scale));
      EXPECT_TRUE(check_plan(g, plan, {}).empty()) << report_text(g, plan, {}, check_plan(g, plan, {}));
      EXPECT_EQ(run_both(g, plan, rng), "") << report_text(g, plan, {}, {});
      for (const PlannedNode& n : plan.nodes) communicates += n.cost() > n.compute;
    }
  }
  EXPECT_GT(communicates, 20);
}

TEST(Checks, ReportPlantedMistakes) {
  std::mt19937 rng(19);
  const ExportedProgram program = mlp_step(4, 8, 8);
  const Graph& g = graph_of(program);
  const MeshShape mesh({2, 4}, {"dp", "tp"});
  const Plan right = make_plan(g, mesh, {}, slow_ranks(0.1));
  ASSERT_TRUE(check_plan(g, right, {}).empty());
  int planted = 0;
  const auto expect_found = [&](const Plan& wrong, const std::string& what) {
    ++planted;
    const std::vector<Violation> found = check_plan(g, wrong, {});
    EXPECT_FALSE(found.empty()) << what;
    EXPECT_NE(report_text(g, wrong, {}, found).find("respected: no"), std::string::npos);
  };
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    for (std::size_t i = 0; i < right.nodes[n].steps.size(); ++i) {
      for (std::size_t s = 0; s < right.nodes[n].steps[i].size(); ++s) {
        Plan dropped = right, swapped = right;
        dropped.nodes[n].steps[i].erase(dropped.nodes[n].steps[i].begin() + static_cast<std::ptrdiff_t>(s));
        expect_found(dropped, "a dropped step");
        swapped.nodes[n].steps[i][s].axis ^= 1;
        expect_found(swapped, "a swapped axis");
      }
      Plan moved = right;
      Placement& p = moved.nodes[n].operands[i][0];
      p = p.is_replicate() ? Partial() : Replicate();
      expect_found(moved, "a wrong placement of an operand");
    }
    Plan moved = right;
    Placement& p = moved.nodes[n].results[0][1];
    p = p.is_replicate() ? Partial() : Replicate();
    if (!g.nodes[n].results.empty()) expect_found(moved, "a wrong placement of a result");
  }
  Plan left = right;
  left.outputs[0].steps.clear(), left.outputs[0].placement = Placements(2);
  if (!right.outputs[0].steps.empty()) expect_found(left, "an output that is not reduced");
  EXPECT_GT(planted, 60);
  PlanConstraints c;
  c.inputs[0] = placed(right.inputs[0] == placed("RR") ? "S(0)R" : "RR");
  EXPECT_FALSE(check_plan(g, right, c).empty());
}

TEST(Plans, RefuseWhatIsNotThere) {
  const ExportedProgram p = mlp(8, 16, 32);
  const MeshShape mesh({4});
  const auto message = [&](ParallelOptions o) {
    const Error e = error_of([&] { plan_parallel(p, mesh, o); });
    EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
    return std::string(e.what());
  };
  EXPECT_NE(message({.inputs = {{"z", placed("R")}}}).find("no input is called 'z'; there are 'x', 'w1', 'w2'"),
            std::string::npos);
  EXPECT_NE(message({.inputs = {{"x", placed("S(2)")}}}).find("input 'x' cannot be placed as S(2)"), std::string::npos);
  EXPECT_NE(message({.inputs = {{"x", placed("RR")}}}).find("cannot be placed as RR"), std::string::npos);
  EXPECT_NE(message({.gradients = {{"w1", placed("R")}}}).find("no gradient of 'w1'"), std::string::npos);
  EXPECT_NE(message({.results = {{1, placed("R")}}}).find("1 is no tensor result"), std::string::npos);
  EXPECT_NE(message({.regions = {{"r", "softmax"}}}).find("no softmax is called"), std::string::npos);
  EXPECT_NE(
      message({.regions = {{"r", "relu", "", {placed("P")}}}}).find("local_map r: relu cannot be computed as (P)"),
      std::string::npos);
  EXPECT_NE(message({.memory_per_rank = -1}).find("memory_per_rank is -1"), std::string::npos);
  EXPECT_NE(message({.costs = {.flops_per_us = 0}}).find("flops_per_us is 0"), std::string::npos);
}

// `LAYERS=32 MESH='[dp=8, tp=8]' build/tests/test_placement --gtest_filter=*Llama*`
// prints the figures of docs/placement.md.
TEST(Plans, OfLlamaAreNearTheirBound) {
  const char *given = std::getenv("LAYERS"), *mesh = std::getenv("MESH");
  using Clock = std::chrono::steady_clock;
  const auto ms = [](Clock::time_point from) {
    return std::chrono::duration<double, std::milli>(Clock::now() - from).count();
  };
  const auto start = Clock::now();
  const ExportedProgram program = llama_step(given ? std::atoi(given) : 2, 64, 4096, 4096, 14336, 32, 128256);
  const double traced = ms(start);
  const auto then = Clock::now();
  const Plan plan = make_plan(graph_of(program), parse_mesh_shape(mesh ? mesh : "[dp=8, tp=8]"));
  const double solved = ms(then);
  if (given)
    std::cout << plan.nodes.size() << " nodes, traced in " << traced << " ms, planned in " << solved
              << " ms: " << plan.cost << " ns, bound " << plan.bound << ", gap "
              << 100.0 * static_cast<double>(plan.cost - plan.bound) / static_cast<double>(plan.cost) << " %, "
              << plan.kinds << " kinds, core " << plan.core << ", rounds " << plan.iterations << "\n";
  EXPECT_TRUE(check_plan(graph_of(program), plan, {}).empty());
  EXPECT_LE(static_cast<double>(plan.cost - plan.bound), 0.005 * static_cast<double>(plan.cost));
}

}  // namespace
}  // namespace reprise::test
