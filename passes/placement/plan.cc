#include "passes/placement/plan.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/errors.h"
#include "passes/placement/choices.h"
#include "passes/placement/relation.h"

namespace reprise::passes::placement {

using graph::Graph;
using graph::Node;
using graph::ValueId;

namespace {

constexpr const char* kOp = "plan_parallel";

std::size_t idx(int i) { return static_cast<std::size_t>(i); }

Cost sum_of(const std::vector<Step>& steps) {
  Cost sum = 0;
  for (const Step& s : steps) sum += s.cost;
  return sum;
}

/// Do the steps leave another copy than they found? Slices are views.
bool copies(const std::vector<Step>& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const Step& s) { return s.kind != Collective::Slice; });
}

std::int64_t bytes_of(const Graph& g, ValueId v, const Placements& p, const MeshShape& mesh) {
  std::int64_t bytes = item_size(g.meta(v).dtype);
  for (const std::int64_t s : local_sizes(hints_of(g.meta(v).layout.sizes), p, mesh)) bytes *= s;
  return bytes;
}

}  // namespace

Cost PlannedNode::cost() const {
  Cost sum = compute;
  for (const std::vector<Step>& s : steps) sum += sum_of(s);
  return sum;
}
Cost PlannedOutput::cost() const { return sum_of(steps); }

Lifetimes lifetimes_of(const Graph& g) {
  Lifetimes l{std::vector<std::uint32_t>(g.values.size()), std::vector<std::int32_t>(g.values.size(), -1)};
  const auto end = static_cast<std::int32_t>(g.nodes.size());
  for (std::uint32_t v = 0; v < g.values.size(); ++v) l.root[v] = v;
  for (std::int32_t n = 0; n < end; ++n) {
    const Node& node = g.nodes[idx(n)];
    const std::vector<ValueId> operands = operands_of(node);
    for (const ValueId r : node.results) {
      if (graph::op(node.op).cls == graph::OpClass::View && !operands.empty()) l.root[r.v] = l.root[operands[0].v];
      l.last[l.root[r.v]] = std::max(l.last[l.root[r.v]], n);
    }
    for (const ValueId v : operands) l.last[l.root[v.v]] = n;
  }
  for (const graph::InputSpec& in : g.inputs) l.last[l.root[in.value.v]] = end;
  for (const graph::OutputSpec& o : g.outputs)
    if (o.value) l.last[l.root[o.value.v]] = end;
  return l;
}

MemoryUse memory_of(const Graph& g, const Plan& plan) {
  const Lifetimes l = lifetimes_of(g);
  const std::size_t end = g.nodes.size();
  std::vector<std::int64_t> change(end + 2, 0);
  const auto live = [&](std::int64_t bytes, std::int32_t from, std::int32_t to) {
    change[idx(from)] += bytes, change[idx(to) + 1] -= bytes;
  };
  for (std::size_t i = 0; i < g.inputs.size(); ++i)
    live(bytes_of(g, g.inputs[i].value, plan.inputs[i], plan.mesh), 0, static_cast<std::int32_t>(end));
  for (std::size_t n = 0; n < end; ++n) {
    const Node& node = g.nodes[n];
    const PlannedNode& of = plan.nodes[n];
    const auto now = static_cast<std::int32_t>(n);
    const bool view = graph::op(node.op).cls == graph::OpClass::View;
    const std::vector<ValueId> operands = operands_of(node);
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (copies(of.steps[i]))  // of a view: the copy is what it shows, as long as it is used
        live(bytes_of(g, operands[i], of.operands[i], plan.mesh), now, view ? l.last[l.root[node.results[0].v]] : now);
    if (view) continue;
    for (std::size_t r = 0; r < node.results.size(); ++r)
      live(bytes_of(g, node.results[r], of.results[r], plan.mesh), now, l.last[node.results[r].v]);
  }
  for (std::size_t o = 0; o < g.outputs.size(); ++o)
    if (g.outputs[o].value && copies(plan.outputs[o].steps))
      live(bytes_of(g, g.outputs[o].value, plan.outputs[o].placement, plan.mesh), static_cast<std::int32_t>(end),
           static_cast<std::int32_t>(end));
  MemoryUse use;
  std::int64_t sum = 0;
  for (std::size_t n = 0; n <= end; ++n) {
    sum += change[n];
    use.at.push_back(sum);
    if (sum > use.peak) use.peak = sum, use.peak_node = static_cast<std::int32_t>(n);
  }
  return use;
}

namespace {

// Note [Memory budgets]
// Memory is priced: the solver minimizes cost + price * bytes that are live at some times. The price is the least that
// leaves a peak within the budget, found by bisection; the times are those at which plans so far were above it. What is
// live at the chosen times is at most the peak, so that (least of cost + price * bytes) - price * budget bounds the
// cost of every plan within the budget: the bound that is told is the best of these.
class Budget {
 public:
  Budget(const Graph& g, const ChoiceModel& model, std::int64_t bytes, const SolverLimits& limits)
      : g_(g), model_(model), limits_(limits), budget_(bytes), lives_(lifetimes_of(g)) {}

  Plan run() {
    Plan first = solve(0);
    if (budget_ == 0 || first.peak <= budget_) return first;
    consider(first);
    double low = 0, high = static_cast<double>(std::max<Cost>(first.cost, 1)) / static_cast<double>(first.peak);
    for (int i = 0; i < 10 && !best_; ++i, high *= 8) {
      consider(solve(high));
      if (!best_) low = high;
      else break;
    }
    if (!best_)
      fail(ErrorCode::InvalidArgument, kOp, {}, "no plan was found within ", budget_,
           " bytes on each rank: the least peak is ", least_, " bytes on ", to_string(first.mesh));
    for (int i = 0; i < 7; ++i) {
      const double middle = low == 0 ? high / 16 : std::sqrt(low * high);
      const bool within = consider(solve(middle));
      (within ? high : low) = middle;
    }
    best_->bound = std::min(std::max(bound_, first.bound), best_->cost);
    best_->exact = best_->bound == best_->cost;
    return *best_;
  }

 private:
  Plan solve(double price) {
    std::vector<double> weight(g_.values.size(), 0);
    if (price > 0) {
      for (std::uint32_t v = 0; v < weight.size(); ++v) {
        if (lives_.root[v] != v) continue;
        const std::int32_t from = g_.values[v].node < 0 ? 0 : g_.values[v].node;
        for (const std::int32_t t : times_) weight[v] += from <= t && t <= lives_.last[v];
        weight[v] /= static_cast<double>(times_.size());
      }
    }
    const Problem problem = model_.problem(price, weight);
    Solution s = minimize(problem, limits_);
    model_.save_memory(s.choice);
    Plan plan = model_.plan(s.choice);
    plan.most_expensive = model_.most_expensive(s.choice);
    REPRISE_CHECK(price > 0 || plan.cost == s.cost, "a plan's lines are not its cost");
    plan.bound = s.bound, plan.exact = s.exact, plan.core = s.core, plan.iterations = s.iterations;
    if (price > 0) {
      const double free = static_cast<double>(s.bound) - price * static_cast<double>(budget_) - 1;
      bound_ = std::max(bound_, static_cast<Cost>(std::floor(free)));
    }
    const MemoryUse use = memory_of(g_, plan);
    plan.peak = use.peak, plan.peak_node = use.peak_node;
    return plan;
  }
  bool consider(Plan p) {
    least_ = std::min(least_, p.peak);
    if (p.peak > budget_) {
      if (std::find(times_.begin(), times_.end(), p.peak_node) == times_.end() && times_.size() < 8)
        times_.push_back(p.peak_node);
      return false;
    }
    if (!best_ || p.cost < best_->cost) best_ = std::move(p);
    return true;
  }

  const Graph& g_;
  const ChoiceModel& model_;
  const SolverLimits limits_;
  const std::int64_t budget_;
  const Lifetimes lives_;
  std::vector<std::int32_t> times_;
  std::optional<Plan> best_;
  Cost bound_ = 0;
  std::int64_t least_ = INT64_MAX;
};

}  // namespace

Plan make_plan(const Graph& g, const MeshShape& mesh, const PlanConstraints& constraints, const PlacementCosts& costs,
               const SolverLimits& limits) {
  REPRISE_CHECK(g.form == graph::Form::Functional);
  check_costs(costs, kOp);
  if (constraints.memory_per_rank < 0)
    fail(ErrorCode::InvalidArgument, kOp, {}, "memory_per_rank is ", constraints.memory_per_rank);
  RedistributionTables tables(mesh, costs);
  const ChoiceModel model(g, tables, constraints);
  return Budget(g, model, constraints.memory_per_rank, limits).run();
}

}  // namespace reprise::passes::placement
