#include <algorithm>
#include <unordered_map>

#include "graph/region_call.h"
#include "graph/text.h"
#include "graph/view_column.h"
#include "passes/inline_regions.h"
#include "passes/regions.h"
#include "passes/view_chains.h"

namespace reprise::passes {

using graph::Graph;
using graph::Node;
using graph::OpClass;

namespace {

void add_lines(const Graph& g, std::string& text) {
  for (const Node& n : g.nodes) {
    // A file's name is a literal of the program: of one place it is one address.
    text += '\n' + std::to_string(reinterpret_cast<std::uintptr_t>(n.info.loc.file)) + ':' +
            std::to_string(n.info.loc.line);
    for (const graph::NodeArg& a : n.args)
      if (const auto* r = std::get_if<graph::Region>(&a)) add_lines(**r, text);
  }
}

/// May what it computes become parts of loops around it?
bool is_small(const Graph& g) {
  constexpr std::size_t kMost = 32;
  return g.nodes.size() <= kMost && std::all_of(g.nodes.begin(), g.nodes.end(), [](const Node& n) {
           switch (graph::op(n.op).cls) {
             case OpClass::Pointwise:
             case OpClass::View:
             case OpClass::Creation:
             case OpClass::Reduction: return true;
             default: return false;
           }
         });
}

/// Does it give new values of its inputs, which the program has written into?
bool writes_inputs(const Graph& g) {
  auto is_input = [&](graph::ValueId v) {
    std::int32_t by = g.values[v.v].node;
    for (; by >= 0 && is_view(g.nodes[static_cast<std::size_t>(by)]); by = g.values[v.v].node)
      v = operand(g.nodes[static_cast<std::size_t>(by)]);
    return by < 0;
  };
  return std::any_of(g.nodes.begin(), g.nodes.end(), [&](const Node& n) {
    const auto* into = n.args.empty() ? nullptr : std::get_if<graph::ValueId>(&n.args[0]);
    return into && (n.keeps_self || graph::view_of_scatter(n.op)) && is_input(*into);
  });
}

}  // namespace

std::string text_with_lines(const Graph& g) {
  std::string text = graph::print(g, false);
  add_lines(g, text);
  return text;
}

bool share_regions(Graph& g) {
  struct Use {
    graph::Region first;
    std::size_t calls = 0;
  };
  std::unordered_map<std::string, Use> known;
  std::unordered_map<const Graph*, Use*> of;  // regions are held by their nodes, and by `before`
  std::vector<graph::Region> before;
  for (const Node& n : g.nodes)
    for (const graph::NodeArg& a : n.args)
      if (const auto* r = std::get_if<graph::Region>(&a)) {
        Use*& use = of[r->get()];
        if (!use) {
          use = &known[text_with_lines(**r)];
          if (!use->first) use->first = *r;
          before.push_back(*r);
        }
        ++use->calls;
      }
  if (known.empty()) return false;
  auto dissolves = [&](const Node& n) {
    if (!graph::calls_region(n)) return false;
    const Graph& body = *std::get<graph::Region>(n.args[0]);
    const auto use = of.find(&body);  // what stands in a body that dissolves has been asked there
    if (use == of.end()) return false;
    return use->second->calls == 1 || is_small(body) || writes_inputs(body);
  };
  bool changed = std::any_of(g.nodes.begin(), g.nodes.end(), dissolves);
  if (changed) inline_calls(g, dissolves);
  for (Node& n : g.nodes)
    for (graph::NodeArg& a : n.args)
      if (auto* r = std::get_if<graph::Region>(&a)) {
        const auto it = of.find(r->get());  // one that stood in a body has not been asked
        if (it == of.end() || it->second->first == *r) continue;
        *r = it->second->first, changed = true;
      }
  return changed;
}

}  // namespace reprise::passes
