#include "reprise/plan_parallel.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/shown.h"
#include "passes/placement/check.h"
#include "passes/placement/plan.h"
#include "passes/placement/report.h"
#include "runtime/export/program.h"

namespace reprise {

namespace placing = passes::placement;

namespace detail {
struct PlannedProgram {
  ExportedProgram program;
  std::shared_ptr<const Program> traced;
  placing::PlanConstraints constraints;
  placing::Plan plan;
  std::vector<placing::Violation> violations;
  std::map<std::string, Placements> inputs;
  std::vector<Placements> results;
  std::vector<PlacedNode> nodes;
  std::string report;
};
}  // namespace detail

namespace {

constexpr const char* kOp = "plan_parallel";

using graph::Graph;

/// What a user's options are in a graph.
class OptionReader {
 public:
  OptionReader(const Graph& g, const detail::Program& p, const ParallelOptions& o, SourceLoc loc)
      : g_(g), p_(p), options_(o), loc_(loc) {}

  placing::PlanConstraints run() {
    placing::PlanConstraints c;
    for (const auto& [name, placed] : options_.inputs) c.inputs[input(name, "input")] = placed;
    for (const auto& [name, placed] : options_.gradients) {
      const std::uint32_t of = input(name, "gradient");
      const auto o = std::find_if(g_.outputs.begin(), g_.outputs.end(), [&](const graph::OutputSpec& s) {
        return s.role == graph::OutputSpec::Role::Gradient && s.of == static_cast<std::int32_t>(of);
      });
      if (o == g_.outputs.end())
        fail(ErrorCode::InvalidArgument, kOp, loc_, "gradients: the program gives no gradient of '", name,
             "'; is it traced with trace_joint?");
      c.outputs[static_cast<std::uint32_t>(o - g_.outputs.begin())] = placed;
    }
    for (const auto& [at, placed] : options_.results) {
      const std::int32_t o = at >= 0 && static_cast<std::size_t>(at) < p_.user_results()
                                 ? p_.tensor_results[static_cast<std::size_t>(at)]
                                 : -1;
      if (o < 0)
        fail(ErrorCode::InvalidArgument, kOp, loc_, "results: ", at, " is no tensor result of its own; there are ",
             p_.user_results());
      c.outputs[static_cast<std::uint32_t>(o)] = placed;
    }
    for (const RegionPlacement& r : options_.regions) region(r, c);
    c.memory_per_rank = options_.memory_per_rank;
    return c;
  }

 private:
  std::uint32_t input(const std::string& name, const char* what) const {
    std::string known;
    for (std::uint32_t i = 0; i < g_.inputs.size(); ++i) {
      const std::string& is = g_.values[g_.inputs[i].value.v].name;
      if (is == name) return i;
      if (i < 20) known += (i ? ", '" : "'") + is + "'";
    }
    fail(ErrorCode::InvalidArgument, kOp, loc_, what, "s: no input is called '", shown(name), "'; there are ", known,
         g_.inputs.size() > 20 ? ", ..." : "");
  }
  void region(const RegionPlacement& r, placing::PlanConstraints& c) const {
    bool any = false;
    for (std::uint32_t n = 0; n < g_.nodes.size(); ++n) {
      const graph::Node& node = g_.nodes[n];
      if (graph::op(node.op).schema.name != r.op || node.info.forward_of >= 0) continue;
      const std::string scope = node.info.scope ? *node.info.scope : "";
      const bool within = r.scope.empty() || scope == r.scope || scope.starts_with(r.scope + ".");
      if (!within) continue;
      std::size_t operands = 0;
      graph::for_each_value(node, [&](graph::ValueId v) { operands += static_cast<bool>(v); });
      if (r.in.size() > operands || r.out.size() > node.results.size())
        fail(ErrorCode::InvalidArgument, kOp, node.info.loc, "region '", shown(r.name), "' places ", r.in.size(),
             " operands and ", r.out.size(), " results, and ", r.op, " has ", operands, " and ", node.results.size());
      c.nodes.push_back({n, r.in, r.out, "local_map " + r.name});
      any = true;
    }
    if (!any)
      fail(ErrorCode::InvalidArgument, kOp, loc_, "region '", shown(r.name), "': no ", shown(r.op), " is called",
           r.scope.empty() ? "" : " in scope '" + shown(r.scope) + "'");
  }

  const Graph& g_;
  const detail::Program& p_;
  const ParallelOptions& options_;
  const SourceLoc loc_;
};

double in_us(placing::Cost ns) { return static_cast<double>(ns) / 1000; }

}  // namespace

ParallelPlan plan_parallel(const ExportedProgram& program, const MeshShape& mesh, const ParallelOptions& options,
                           SourceLoc loc) {
  const std::shared_ptr<const detail::Program> traced = detail::ProgramAccess::program(program);
  const Graph& g = traced->graph;
  placing::PlanConstraints constraints = OptionReader(g, *traced, options, loc).run();
  placing::Plan plan = placing::make_plan(g, mesh, constraints, options.costs);
  auto made = std::make_shared<detail::PlannedProgram>(
      detail::PlannedProgram{program, traced, std::move(constraints), std::move(plan), {}, {}, {}, {}, {}});
  made->violations = placing::check_plan(g, made->plan, made->constraints);
  made->report = placing::report_text(g, made->plan, made->constraints, made->violations);
  for (std::size_t i = 0; i < g.inputs.size(); ++i)
    made->inputs[g.values[g.inputs[i].value.v].name] = made->plan.inputs[i];
  for (std::size_t r = 0; r < traced->user_results(); ++r) {
    const std::int32_t o = traced->tensor_results[r];
    made->results.push_back(o < 0 ? Placements() : made->plan.outputs[static_cast<std::size_t>(o)].placement);
  }
  const std::vector<placing::NodeText> texts = placing::node_texts(g);
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    const placing::PlannedNode& of = made->plan.nodes[n];
    PlacedNode node{texts[n].call, texts[n].place, of.operands, of.results, {}, in_us(of.compute), of.memory, of.known};
    for (const std::vector<placing::Step>& steps : of.steps) {
      placing::Cost sum = 0;
      for (const placing::Step& s : steps) sum += s.cost;
      node.costs_us.push_back(in_us(sum));
    }
    made->nodes.push_back(std::move(node));
  }
  return ParallelPlan(std::move(made));
}

const MeshShape& ParallelPlan::mesh() const { return planned_->plan.mesh; }
double ParallelPlan::cost_us() const { return in_us(planned_->plan.cost); }
double ParallelPlan::bound_us() const { return in_us(planned_->plan.bound); }
std::int64_t ParallelPlan::peak_memory() const { return planned_->plan.peak; }
bool ParallelPlan::respected() const { return planned_->violations.empty(); }
const std::map<std::string, Placements>& ParallelPlan::inputs() const { return planned_->inputs; }
const std::vector<Placements>& ParallelPlan::results() const { return planned_->results; }
const std::vector<PlacedNode>& ParallelPlan::placements() const { return planned_->nodes; }
const std::string& ParallelPlan::report() const { return planned_->report; }
std::string ParallelPlan::json() const {
  return placing::report_data(planned_->traced->graph, planned_->plan, planned_->constraints, planned_->violations)
      .dump(1);
}
const ExportedProgram& ParallelPlan::program() const { return planned_->program; }

}  // namespace reprise
