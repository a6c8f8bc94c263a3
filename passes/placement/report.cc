#include "passes/placement/report.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "passes/placement/relation.h"

namespace reprise::passes::placement {

using graph::Graph;
using graph::ValueId;

namespace {

std::string us(Cost ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%s%lld.%03lld", ns < 0 ? "-" : "", static_cast<long long>(std::abs(ns) / 1000),
                static_cast<long long>(std::abs(ns) % 1000));
  return text;
}

std::string size_text(std::int64_t bytes) {
  char text[40];
  if (bytes < 1024) return std::to_string(bytes) + " B";
  const double kib = static_cast<double>(bytes) / 1024;
  if (kib < 1024) std::snprintf(text, sizeof text, "%.1f KiB", kib);
  else if (kib < 1024 * 1024) std::snprintf(text, sizeof text, "%.1f MiB", kib / 1024);
  else std::snprintf(text, sizeof text, "%.1f GiB", kib / 1024 / 1024);
  return text;
}

Cost sum_of(const std::vector<Step>& steps) {
  Cost sum = 0;
  for (const Step& s : steps) sum += s.cost;
  return sum;
}

/// "%3" by value, as graph::print numbers them.
std::vector<std::string> names_of(const Graph& g) {
  std::vector<std::string> names(g.values.size());
  int next = 0;
  for (const graph::InputSpec& in : g.inputs) names[in.value.v] = "%" + std::to_string(next++);
  for (const graph::Node& n : g.nodes)
    for (const ValueId r : n.results) names[r.v] = "%" + std::to_string(next++);
  return names;
}

/// Without the regions, whose text has lines of its own.
Graph flat(const Graph& g) {
  Graph copy = g;
  for (graph::Node& n : copy.nodes)
    for (graph::NodeArg& a : n.args)
      if (auto* r = std::get_if<graph::Region>(&a)) *r = nullptr;
  return copy;
}

struct Sum {
  int count = 0;
  std::int64_t bytes = 0;
  Cost cost = 0;
};
/// By axis and collective.
std::map<std::pair<int, Collective>, Sum> sums_of(const Plan& plan) {
  std::map<std::pair<int, Collective>, Sum> sums;
  const auto add = [&](const std::vector<Step>& steps) {
    for (const Step& s : steps) {
      Sum& to = sums[{s.axis, s.kind}];
      ++to.count, to.bytes += s.bytes, to.cost += s.cost;
    }
  };
  for (const PlannedNode& n : plan.nodes)
    for (const std::vector<Step>& s : n.steps) add(s);
  for (const PlannedOutput& o : plan.outputs) add(o.steps);
  return sums;
}

Cost compute_of(const Plan& plan) {
  Cost sum = 0;
  for (const PlannedNode& n : plan.nodes) sum += n.compute;
  return sum;
}

std::string steps_text(const std::vector<Step>& steps, const MeshShape& mesh) {
  std::string s;
  for (const Step& x : steps)
    if (x.cost > 0 || x.bytes > 0)
      s += (s.empty() ? "" : ", ") + to_string(x.kind) + " along '" + mesh.name(x.axis) + "' of " + size_text(x.bytes);
  return s;
}

std::string gap_text(const Plan& plan) {
  if (plan.exact) return "exact";
  char text[60];
  std::snprintf(text, sizeof text, "bound %s, gap %.3f %%", us(plan.bound).c_str(),
                plan.cost ? 100 * static_cast<double>(plan.cost - plan.bound) / static_cast<double>(plan.cost) : 0);
  return text;
}

const char* without_name(Expensive::Without w) {
  return w == Expensive::Without::Nothing ? "nothing" : w == Expensive::Without::Producer ? "producer" : "consumer";
}

}  // namespace

std::vector<NodeText> node_texts(const Graph& g) {
  const std::string all = graph::print(flat(g));
  std::vector<NodeText> texts;
  std::size_t at = all.find('\n') + 1;
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    const std::size_t end = all.find('\n', at);
    REPRISE_CHECK(end != std::string::npos, "a node has no line");
    std::string line = all.substr(at + 2, end - at - 2), place;
    at = end + 1;
    if (const std::size_t note = line.rfind("  ; "); note != std::string::npos)
      place = line.substr(note + 4), line.erase(note);
    if (const std::size_t type = line.rfind(") : "); type != std::string::npos) line.erase(type + 1);
    texts.push_back({std::move(line), std::move(place)});
  }
  return texts;
}

std::string report_text(const Graph& g, const Plan& plan, const PlanConstraints& constraints,
                        const std::vector<Violation>& violations) {
  const std::vector<std::string> names = names_of(g);
  const std::vector<NodeText> texts = node_texts(g);
  std::map<std::int32_t, std::string> regions;
  for (const PlanConstraints::AtNode& c : constraints.nodes) regions[static_cast<std::int32_t>(c.node)] = c.name;
  const auto respected = [&](std::int32_t n) {
    return std::none_of(violations.begin(), violations.end(), [&](const Violation& v) { return v.node == n; });
  };
  std::string s =
      "plan of " + g.name + " on " + to_string(plan.mesh) + ": " + us(plan.cost) + " us, " + gap_text(plan) + "\n";
  for (std::size_t i = 0; i < g.inputs.size(); ++i) {
    const ValueId v = g.inputs[i].value;
    s += "  " + names[v.v] + " \"" + g.values[v.v].name + "\"  # placement=" + to_string(plan.inputs[i]) + "\n";
  }
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    const PlannedNode& of = plan.nodes[n];
    s += "  " + texts[n].call + "  # placement=(";
    for (std::size_t i = 0; i < of.operands.size(); ++i) s += (i ? ", " : "") + to_string(of.operands[i]);
    s += ") -> ";
    for (std::size_t i = 0; i < of.results.size(); ++i) s += (i ? ", " : "") + to_string(of.results[i]);
    s += ", cost=[";
    for (std::size_t i = 0; i < of.steps.size(); ++i) s += (i ? ", " : "") + us(sum_of(of.steps[i]));
    s += "], compute " + us(of.compute) + ", memory " + size_text(of.memory);
    if (!of.known) s += ", no relation known";
    if (const auto r = regions.find(static_cast<std::int32_t>(n)); r != regions.end())
      s += ", in " + r->second + " (respected: " + (respected(r->first) ? "yes" : "no") + ")";
    if (!texts[n].place.empty()) s += "  ; " + texts[n].place;
    s += "\n";
  }
  for (std::size_t o = 0; o < g.outputs.size(); ++o) {
    if (!g.outputs[o].value) continue;
    s += "  return " + names[g.outputs[o].value.v] + "  # placement=" + to_string(plan.outputs[o].placement) +
         ", cost=[" + us(plan.outputs[o].cost()) + "]\n";
  }
  s += "sums\n  computation " + us(compute_of(plan)) + "\n";
  for (const auto& [key, sum] : sums_of(plan))
    if (sum.cost > 0 || sum.bytes > 0)
      s += "  " + to_string(key.second) + " along '" + plan.mesh.name(key.first) + "' " + us(sum.cost) + ", " +
           std::to_string(sum.count) + (sum.count == 1 ? " call, " : " calls, ") + size_text(sum.bytes) + "\n";
  if (!plan.most_expensive.empty()) s += "most expensive redistributions\n";
  for (const Expensive& e : plan.most_expensive) {
    const std::string value = names[operands_of(g.nodes[e.node])[e.operand].v];
    const std::string call = texts[e.node].call;
    s += "  " + us(e.cost) + " of " + value + " for " + call + ": " +
         steps_text(plan.nodes[e.node].steps[e.operand], plan.mesh) + "\n";
    if (e.without == Expensive::Without::Nothing) {
      s += "    no other choice at one place leaves it out\n";
      continue;
    }
    s += "    left out by " +
         (e.without == Expensive::Without::Producer ? "making " + value + " as " : "taking " + value + " as it is, ") +
         to_string(e.placement) + ": " + (e.change < 0 ? "" : "+") + us(e.change) + " in all\n";
  }
  s += "memory on each rank: " + size_text(plan.peak) + " at its peak";
  if (plan.peak_node >= 0)
    s += plan.peak_node < static_cast<std::int32_t>(g.nodes.size())
             ? ", in " + texts[static_cast<std::size_t>(plan.peak_node)].call
             : ", when all is done";
  if (constraints.memory_per_rank) s += ", of " + size_text(constraints.memory_per_rank);
  s += "\nsolved: " + std::to_string(plan.variables) + " choices of " + std::to_string(plan.kinds) + " kinds";
  if (plan.core)
    s += ", " + std::to_string(plan.core) + " of them by " + std::to_string(plan.iterations) + " rounds of messages";
  s += "\nrespected: " + std::string(violations.empty() ? "yes" : "no") + "\n";
  for (const Violation& v : violations)
    s += "  " + (v.node < 0 ? "" : texts[static_cast<std::size_t>(v.node)].call + ": ") + v.text + "\n";
  return s;
}

nlohmann::json report_data(const Graph& g, const Plan& plan, const PlanConstraints& constraints,
                           const std::vector<Violation>& violations) {
  using nlohmann::json;
  const std::vector<std::string> names = names_of(g);
  const std::vector<NodeText> texts = node_texts(g);
  const auto steps = [&](const std::vector<Step>& of) {
    json all = json::array();
    for (const Step& x : of)
      all.push_back({{"collective", to_string(x.kind)},
                     {"axis", plan.mesh.name(x.axis)},
                     {"from", to_string(x.from)},
                     {"to", to_string(x.to)},
                     {"bytes", x.bytes},
                     {"cost_ns", x.cost}});
    return all;
  };
  json all{{"name", g.name},
           {"mesh", to_string(plan.mesh)},
           {"cost_ns", plan.cost},
           {"bound_ns", plan.bound},
           {"exact", plan.exact},
           {"peak_bytes", plan.peak},
           {"peak_node", plan.peak_node},
           {"budget_bytes", constraints.memory_per_rank},
           {"respected", violations.empty()}};
  for (const char* list : {"inputs", "nodes", "outputs", "sums", "most_expensive", "violations"})
    all[list] = json::array();
  for (std::size_t i = 0; i < g.inputs.size(); ++i) {
    const ValueId v = g.inputs[i].value;
    all["inputs"].push_back(
        {{"value", names[v.v]}, {"name", g.values[v.v].name}, {"placement", to_string(plan.inputs[i])}});
  }
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    const PlannedNode& of = plan.nodes[n];
    json one{{"call", texts[n].call},     {"operator", graph::op(g.nodes[n].op).schema.name},
             {"where", texts[n].place},   {"compute_ns", of.compute},
             {"memory_bytes", of.memory}, {"known", of.known}};
    one["operands"] = json::array(), one["results"] = json::array();
    for (std::size_t i = 0; i < of.operands.size(); ++i)
      one["operands"].push_back(
          {{"placement", to_string(of.operands[i])}, {"cost_ns", sum_of(of.steps[i])}, {"steps", steps(of.steps[i])}});
    for (std::size_t r = 0; r < of.results.size(); ++r)
      one["results"].push_back({{"value", names[g.nodes[n].results[r].v]}, {"placement", to_string(of.results[r])}});
    all["nodes"].push_back(std::move(one));
  }
  for (std::size_t o = 0; o < g.outputs.size(); ++o)
    if (g.outputs[o].value)
      all["outputs"].push_back({{"value", names[g.outputs[o].value.v]},
                                {"placement", to_string(plan.outputs[o].placement)},
                                {"cost_ns", plan.outputs[o].cost()},
                                {"steps", steps(plan.outputs[o].steps)}});
  for (const auto& [key, sum] : sums_of(plan))
    all["sums"].push_back({{"axis", plan.mesh.name(key.first)},
                           {"collective", to_string(key.second)},
                           {"calls", sum.count},
                           {"bytes", sum.bytes},
                           {"cost_ns", sum.cost}});
  for (const Expensive& e : plan.most_expensive)
    all["most_expensive"].push_back({{"node", e.node},
                                     {"operand", e.operand},
                                     {"cost_ns", e.cost},
                                     {"without", without_name(e.without)},
                                     {"placement", to_string(e.placement)},
                                     {"change_ns", e.change}});
  for (const Violation& v : violations) all["violations"].push_back({{"node", v.node}, {"text", v.text}});
  return all;
}

}  // namespace reprise::passes::placement
