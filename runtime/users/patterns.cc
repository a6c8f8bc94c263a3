// Registered patterns: two functions are traced and made normal.
#include "reprise/patterns.h"

#include "autograd/trace_tape.h"
#include "base/errors.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/shown.h"
#include "graph/interpreter.h"
#include "passes/functionalize.h"
#include "passes/registered.h"
#include "reprise/autograd.h"
#include "runtime/build/shipped_patterns.h"
#include "runtime/trace/tracer.h"

namespace reprise {

namespace detail {

namespace {

/// What a function gives, in order, then what it writes: as values, whatever they share memory with. Unset: an
/// undefined tensor.
std::vector<graph::OutputSpec> values_of(graph::Graph& g, const std::vector<std::int32_t>& results) {
  using Kind = graph::OutputSpec::Kind;
  auto of_input = [&](std::size_t i) {
    for (const graph::OutputSpec& o : g.outputs)
      if (o.kind == Kind::NewValueOfInput && o.source == i) return o.value;
    return g.inputs[i].value;
  };
  std::vector<graph::OutputSpec> all;
  for (std::int32_t leaf : results) {
    all.emplace_back();
    if (leaf == -1) continue;
    graph::ValueId& v = all.back().value;
    if (leaf < -1) {
      v = of_input(static_cast<std::size_t>(-2 - leaf));
      continue;
    }
    const graph::OutputSpec& o = g.outputs[static_cast<std::size_t>(leaf)];
    v = o.kind == Kind::AliasOfInput    ? of_input(o.source)
        : o.kind == Kind::AliasOfOutput ? g.outputs[o.source].value
                                        : o.value;
    for (const graph::ViewStep& step : o.recipe) {
      std::vector<graph::NodeArg> args{v};
      args.insert(args.end(), step.args.begin(), step.args.end());
      v = g.add(step.op, std::move(args));
    }
  }
  for (const graph::OutputSpec& o : g.outputs)
    if (o.kind == Kind::NewValueOfInput) all.push_back(o);
  return all;
}

graph::Graph traced(const std::string& name, const char* which, const PatternFunction& f, bool shipped = false) {
  auto refuse = [&](const std::string& why) {
    fail(ErrorCode::InvalidArgument, "register_pattern", {}, "pattern '", name, "': ", which, " ", why);
  };
  CallFrame frame;
  frame.clear();
  f.flatten(f.held.get(), frame);
  for (InputPlan plan;;) {
    Tracer tracer(name, frame, nullptr, plan);
    autograd::TraceTape tape;
    tracer.tape = &tape;
    try {
      graph::ModeScope scope(tracer);
      TraceScope hook(&tracer);
      f.trace(f.held.get(), tracer, frame);
      {
        const autograd::Aside aside;
        tape.end();
        tracer.drop_places();
      }
      passes::FirstFormScope values;
      Traced made = tracer.finish();
      if (made.unrepeatable) refuse(bail_text(*made.unrepeatable));
      if (!made.int_results.empty()) refuse("returns a number");
      if (!made.wholes.empty() || !made.whole_storage.empty()) refuse("names places in an argument's storage");
      graph::Graph g = std::move(made.graph);
      g.outputs = values_of(g, made.tensor_results);
      for (const graph::OutputSpec& o : g.outputs)
        if (!o.value) refuse("returns an undefined tensor");
      if (shipped) {
        passes::normalize_for_compose(g);
      } else {
        passes::Registered own;
        own.shipped = shipped_for(g);
        passes::normalize(g, &own);
      }
      return g;
    } catch (const Error& e) {
      if (e.op() == "register_pattern") throw;
      if (e.code() != ErrorCode::NotTraceable || tracer.wanted().size() == plan.size())
        refuse("cannot be traced: " + e.message());
      plan = tracer.wanted();
    }
  }
}

}  // namespace

passes::RegisteredPattern shipped_pattern(std::string name, const PatternExample& e, PatternCondition may_match) {
  passes::RegisteredPattern p{name, 0, {}, std::move(may_match)};
  p.graphs.emplace_back(traced(name, "the pattern", e.pattern, true),
                        traced(name, "the replacement", e.replacement, true));
  passes::check_pattern(name, p.graphs[0]);
  p.graphs[0].pattern.env->freeze();
  p.graphs[0].replacement.env->freeze();
  return p;
}

Tensor pattern_leaf(const Tensor& t, std::vector<Tensor>& leaves) {
  if (!t.defined() || !is_floating(t.dtype())) return t;
  leaves.push_back(t.detach().requires_grad_());
  return leaves.back();
}
std::vector<Tensor> pattern_results(const Tensor& result, const std::vector<Tensor>& leaves, const Tensor& tangent) {
  std::vector<Tensor> all{result.detach()};
  for (Tensor& g : grad({result}, leaves, {tangent}, {.allow_unused = true}))
    if (g.defined()) all.push_back(std::move(g));
  return all;
}
Tensor pattern_tangent(const Tensor& result) { return result.detach().clone(); }

void warn_unknown_pattern(std::string_view name, const std::vector<std::string_view>& there) {
  logs::warn("REPRISE_PATTERNS names the unknown pattern '" + shown(name) + "'; did you mean '" +
             nearest_name(name, there) + "'? There are: " + listed(there));
}
void warn_unmade(const std::string& why) { logs::warn("a pattern of the library's own is not there: " + why); }

void register_pattern(std::string name, const std::vector<PatternExample>& examples, PatternOptions options) {
  if (examples.empty())
    fail(ErrorCode::InvalidArgument, "register_pattern", {}, "pattern '", name, "' has no example of its arguments");
  if (around().inside)
    fail(ErrorCode::InvalidArgument, "register_pattern", {},
         "a pattern is registered inside a compiled function: register it before");
  passes::RegisteredPattern p{name, options.priority, {}, std::move(options.may_match)};
  for (const PatternExample& e : examples)
    (e.is_pair ? p.pairs : p.graphs)
        .emplace_back(traced(name, "the pattern", e.pattern), traced(name, "the replacement", e.replacement),
                      e.is_pair ? 0 : -1);
  passes::add_pattern(std::move(p));
}

}  // namespace detail

bool unregister_pattern(std::string_view name) { return passes::remove_pattern(name); }

std::vector<PatternInfo> registered_patterns() {
  std::vector<PatternInfo> all;
  const std::shared_ptr<const passes::Registered> now = passes::registered();
  if (!now) return all;
  for (const auto& p : now->patterns) {
    all.push_back({p->name, p->priority, {}});
    for (const passes::PatternGraphs& g : p->graphs) all.back().graphs.push_back(graph::print(g.pattern));
  }
  return all;
}

}  // namespace reprise
