#include "passes/registered.h"

#include <algorithm>

#include "base/errors.h"
#include "base/knobs.h"
#include "base/list.h"
#include "base/mutex.h"
#include "graph/text.h"
#include "passes/pass.h"

namespace reprise::passes {

using graph::Graph;
using graph::OutputSpec;

namespace {

Mutex g_mutex;
/// Of both lists; registrations make a new one.
std::shared_ptr<const Registered>& table() {
  static auto& all = *new std::shared_ptr<const Registered>;
  return all;
}

bool is_built_in(std::string_view name) {
  return std::any_of(pipeline().begin(), pipeline().end(), [&](const Pass& p) { return p.name == name; });
}
template <class Of>
auto named(const std::vector<std::shared_ptr<const Of>>& all, std::string_view name) {
  return std::find_if(all.begin(), all.end(), [&](const auto& p) { return p->name == name; });
}

std::size_t size_of(const RegisteredPattern& p) {
  std::size_t n = 0;
  for (const PatternGraphs& g : p.graphs) n = std::max(n, g.pattern.nodes.size());
  return n;
}

/// A changed copy, which becomes the table. False: `change` did nothing.
template <class F>
bool update(F&& change) {
  const MutexLock lock(g_mutex);
  auto next = table() ? std::make_shared<Registered>(*table()) : std::make_shared<Registered>();
  if (!change(*next)) return false;
  if (next->passes.empty() && next->patterns.empty()) table().reset();
  else table() = std::move(next);
  return true;
}

}  // namespace

bool is_wanted(std::string_view name) {
  const std::string& knob = knobs().patterns;
  if (knob == "shipped") return true;
  bool found = false;
  for_each_listed(knob, [&](std::string_view listed) { found = found || listed == name; });
  return found;
}

void register_pass(RegisteredPass p) {
  if (p.name.empty()) fail(ErrorCode::InvalidArgument, "register_pass", {}, "a pass needs a name");
  if (!p.run) fail(ErrorCode::InvalidArgument, "register_pass", {}, "pass '", p.name, "' has no function");
  if (is_built_in(p.name))
    fail(ErrorCode::InvalidArgument, "register_pass", {}, "'", p.name, "' is the name of a pass of the library");
  const bool by_name = p.place.point == Place::Point::Before || p.place.point == Place::Point::After;
  if (by_name && !is_built_in(p.place.pass)) {
    std::string names;
    for (const Pass& of : pipeline())
      if (names.find(of.name) == std::string::npos) names += (names.empty() ? "" : ", ") + std::string(of.name);
    fail(ErrorCode::InvalidArgument, "register_pass", {}, "pass '", p.name, "' wants to run by '", p.place.pass,
         "', which is none of ", names);
  }
  if (by_name && p.place.point == Place::Point::After && p.place.pass == pipeline().back().name)
    p.place = {Place::Point::AfterReinplacing, {}};
  update([&](Registered& all) {
    if (named(all.passes, p.name) != all.passes.end())
      fail(ErrorCode::InvalidArgument, "register_pass", {}, "a pass '", p.name, "' is registered already");
    all.passes.push_back(std::make_shared<RegisteredPass>(std::move(p)));
    return true;
  });
}

bool unregister_pass(std::string_view name) {
  return update([&](Registered& all) {
    auto it = named(all.passes, name);
    return it != all.passes.end() && (all.passes.erase(it), true);
  });
}

void add_pattern(RegisteredPattern p) {
  if (p.name.empty()) fail(ErrorCode::InvalidArgument, "register_pattern", {}, "a pattern needs a name");
  for (const PatternGraphs& g : p.graphs) {
    check_pattern(p.name, g);
    // Compilations on several threads will ask of its expressions.
    g.pattern.env->freeze();
    g.replacement.env->freeze();
  }
  for (const PatternGraphs& g : p.pairs) {
    check_pattern(p.name, g);
    g.pattern.env->freeze();
    g.replacement.env->freeze();
  }
  update([&](Registered& all) {
    if (named(all.patterns, p.name) != all.patterns.end())
      fail(ErrorCode::InvalidArgument, "register_pattern", {}, "a pattern '", p.name, "' is registered already");
    all.patterns.push_back(std::make_shared<RegisteredPattern>(std::move(p)));
    std::stable_sort(all.patterns.begin(), all.patterns.end(), [](const auto& a, const auto& b) {
      return std::pair(a->priority, size_of(*a)) > std::pair(b->priority, size_of(*b));
    });
    return true;
  });
}

bool remove_pattern(std::string_view name) {
  return update([&](Registered& all) {
    auto it = named(all.patterns, name);
    return it != all.patterns.end() && (all.patterns.erase(it), true);
  });
}

std::shared_ptr<const Registered> registered() {
  const MutexLock lock(g_mutex);
  return table();
}

namespace {

std::string type_text(const TensorMeta& m) {
  std::string s = std::string(dtype_name(m.dtype)) + " [";
  for (int d = 0; d < m.dim(); ++d) s += (d ? ", " : "") + m.size(d).str();
  return s + "]";
}

}  // namespace

void check_pattern(std::string_view name, const PatternGraphs& g) {
  auto refuse = [&](const auto&... why) {
    fail(ErrorCode::InvalidArgument, "register_pattern", {}, "pattern '", name, "': ", why...);
  };
  for (const Graph* of : {&g.pattern, &g.replacement}) {
    const char* which = of == &g.pattern ? "the pattern" : "the replacement";
    if (of->outputs.empty()) refuse(which, " returns and writes nothing");
    for (const graph::InputSpec& in : of->inputs) {
      if (in.captured) refuse(which, " reads a tensor that is none of its arguments");
      if (in.mutates_metadata) refuse(which, " changes the sizes or strides of '", of->values[in.value.v].name, "'");
    }
    for (const graph::NumberInput& n : of->numbers)
      if (n.kind == graph::NumberInput::Kind::Seed) refuse(which, " draws random numbers");
    for (const OutputSpec& o : of->outputs)
      if (of == &g.pattern && of->values[o.value.v].node < 0)
        refuse("it returns '", of->values[o.value.v].name, "' as it is");
    for (const graph::Node& n : of->nodes)
      if (n.results.empty()) refuse(which, " has ", graph::op(n.op).schema.name, ", which makes nothing");
  }
  const Graph &p = g.pattern, &r = g.replacement;
  if (p.nodes.empty()) refuse("there is nothing to seek: it computes nothing");
  if (p.inputs.size() != r.inputs.size())
    refuse("it takes ", p.inputs.size(), " tensors, its replacement ", r.inputs.size());
  if (p.outputs.size() != r.outputs.size())
    refuse("it gives ", p.outputs.size(), " results, its replacement ", r.outputs.size());
  for (std::size_t i = 0; i < p.outputs.size(); ++i) {
    if (p.outputs[i].kind != r.outputs[i].kind || p.outputs[i].source != r.outputs[i].source)
      refuse("it and its replacement write other arguments");
    // Their symbols are numbered alike, but of two environments: the texts say the same.
    const std::string a = type_text(p.meta(p.outputs[i].value)), b = type_text(r.meta(r.outputs[i].value));
    if (a != b) refuse("result ", i, " is ", a, ", of the replacement ", b);
  }
  std::vector<bool> read(p.values.size());
  for (const graph::Node& n : p.nodes) graph::for_each_value(n, [&](graph::ValueId v) { read[v.v] = true; });
  for (const graph::Node& n : r.nodes)
    graph::for_each_value(n, [&](graph::ValueId v) {
      if (r.values[v.v].node < 0 && !read[p.inputs[r.values[v.v].result].value.v])
        refuse("the replacement reads '", r.values[v.v].name, "', which the pattern does not");
    });
  // It is found in itself, and then all of it is replaced.
  Graph self = p;
  std::vector<bool> taken(self.nodes.size());
  NearMatch nearest;
  std::vector<Match> found = find_matches(SearchedGraph(self), g, {}, taken, &nearest);
  if (found.size() != 1)
    refuse("it is not found in itself: ", nearest.why.empty() ? "its parts are not connected" : nearest.why, "\n",
           graph::print(p, false));
  try {
    replace(self, found);
    graph::verify(self, "replacing");
  } catch (const Error& e) {
    refuse("its replacement cannot stand for it: ", e.message());
  }
}

}  // namespace reprise::passes
