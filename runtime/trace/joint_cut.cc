// The cut of a joint graph into the forward and the backward.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "autograd/trace_tape.h"
#include "base/bail.h"
#include "base/log.h"
#include "graph/text.h"
#include "guards/expr.h"
#include "kernels/loop/pointwise.h"
#include "operators/joint_marks.h"
#include "passes/partition.h"
#include "passes/registered.h"
#include "reprise/autograd.h"
#include "reprise/partition.h"
#include "runtime/trace/gradients.h"
#include "runtime/trace/graph_call.h"
#include "runtime/trace/joint_table.h"
#include "runtime/trace/tracer.h"

namespace reprise::detail {

std::vector<Tensor> BackwardFunction::operator()(const std::vector<Tensor>& tensors,
                                                 const std::vector<Int>& numbers) const {
  const SettingsOfGraphs said(of->default_dtype);
  return call_graph(of->graph, tensors, NumbersOf(of->numbers, numbers));
}

namespace {

/// Views are those of the signature: what shares memory there shares it on the tape.
void check_views(const Joint& joint, const TapeViews* views) {
  auto is_known = [&](const Joint::Output& o) {
    switch (o.of) {
      case Joint::Output::Of::Input: return true;
      case Joint::Output::Of::Result:
      case Joint::Output::Of::OwnBase: return !views || views->place(o.index) == TapeViews::Place::Own;
      case Joint::Output::Of::Base: return views && views->base_of(o.index) >= 0;
    }
    return false;
  };
  if (!std::all_of(joint.outputs.begin(), joint.outputs.end(), is_known) ||
      !std::all_of(joint.views.begin(), joint.views.end(),
                   [&](std::uint32_t leaf) { return views && views->place(leaf) == TapeViews::Place::OfBase; }))
    bail(Bail::changes_tape, "compile", {}, "a result is a view on the tape of another tensor than in memory");
}

/// Which of the joint graph's outputs a base is; ~0: none.
std::uint32_t output_of_base(const Joint& joint, const TapeViews& views, std::int32_t base) {
  const auto is_it = [&](const Joint::Output& o) {
    return o.of != Joint::Output::Of::Input && o.of != Joint::Output::Of::OwnBase && views.base_of(o.index) == base;
  };
  const auto at = std::find_if(joint.outputs.begin(), joint.outputs.end(), is_it);
  return at == joint.outputs.end() ? ~0u : static_cast<std::uint32_t>(at - joint.outputs.begin());
}

passes::Keep kept_by(const autograd::TraceTape::CheckpointOf& c, std::string_view op) {
  switch (c.rule ? c.rule(op) : CheckpointPolicy::PreferRecompute) {
    case CheckpointPolicy::MustSave: return passes::Keep::MustSave;
    case CheckpointPolicy::MustRecompute: return passes::Keep::MustRecompute;
    case CheckpointPolicy::PreferSave: return passes::Keep::PreferSave;
    case CheckpointPolicy::PreferRecompute: return passes::Keep::PreferRecompute;
  }
  return passes::Keep::AsItCosts;
}

/// By node: does a call outside of its checkpoint read what it makes? Of a checkpoint the arguments are kept, and what
/// is computed of its results keeps these as it would of others'.
std::vector<bool> leaves_checkpoint(const graph::Graph& g, const Joint& joint) {
  std::vector<bool> leaves(g.nodes.size());
  if (joint.checkpoints.empty()) return leaves;
  auto checkpoint_of = [&](const graph::Node& n) -> std::ptrdiff_t {
    for (const auto& c : joint.checkpoints)
      if (n.info.sequence >= c.first && n.info.sequence <= c.last) return &c - joint.checkpoints.data();
    return -1;
  };
  std::vector<bool> of_derivative(g.values.size());
  for (const graph::Node& n : g.nodes) {
    bool derives = n.info.forward_of >= 0 || n.op == operators::tangent_op() || n.op == operators::gradient_op();
    graph::for_each_value(n, [&](graph::ValueId v) { derives = derives || of_derivative[v.v]; });
    for (graph::ValueId r : n.results) of_derivative[r.v] = derives;
    if (derives) continue;
    const std::ptrdiff_t reader = checkpoint_of(n);
    graph::for_each_value(n, [&](graph::ValueId v) {
      for (std::int32_t at = g.values[v.v].node; at >= 0;) {
        const graph::Node& maker = g.nodes[static_cast<std::size_t>(at)];
        if (const std::ptrdiff_t its = checkpoint_of(maker); its < 0 || its == reader) break;
        leaves[static_cast<std::size_t>(at)] = true;
        if (graph::op(maker.op).cls != graph::OpClass::View) break;
        at = g.values[std::get<graph::ValueId>(maker.args[0]).v].node;  // a view is made again of what is kept
      }
    });
  }
  return leaves;
}

bool is_joint_mark(graph::OpId op) { return op == operators::tangent_op() || op == operators::gradient_op(); }

/// The program's own partitioner sees values by their names.
std::function<void(std::vector<passes::CutChoice>&)> asked(const graph::Graph& g, const PartitionFunction& partition) {
  if (!partition) return {};
  return [&](std::vector<passes::CutChoice>& choices) {
    JointRequest request{g.name, g, graph::print(g), {}};
    for (const passes::CutChoice& c : choices) {
      const graph::Node& n = g.nodes[static_cast<std::size_t>(g.values[c.value.v].node)];
      request.values.push_back({"%" + std::to_string(c.value.v), graph::op(n.op).name(), n.info.loc, n.info.sequence,
                                c.bytes, c.is_read, c.is_result, c.can_be_recomputed, c.in_forward, c.save});
    }
    const std::size_t n = request.values.size();
    try {
      partition(request);
      if (request.values.size() != n)
        fail(ErrorCode::InvalidArgument, "partition", {}, "the partitioner of ", std::string(request.name), " leaves ",
             request.values.size(), " values of ", n, ": it may change what is saved, and nothing else");
    } catch (const Error& e) {
      throw PartitionRefused(e);
    }
    for (std::size_t i = 0; i < n; ++i) choices[i].save = request.values[i].save;
  };
}

passes::Partition cut(graph::Graph& g, const Joint& joint, const CutBy& by,
                      std::vector<passes::PatternRecord>& patterns) {
  const guards::LibraryScope operators;  // the program's own arithmetic is over
  auto keep = [&](const graph::Node& n) {
    for (const auto& c : joint.checkpoints)
      if (n.info.sequence >= c.first && n.info.sequence <= c.last) return kept_by(c, graph::op(n.op).name());
    return passes::Keep::AsItCosts;
  };
  // Rules know the operators that the program calls: what they say of a composite holds for its parts, which are the
  // same call's.
  std::unordered_map<std::int32_t, passes::Keep> of_composites;
  if (!joint.checkpoints.empty())
    for (const graph::Node& n : g.nodes)
      if (graph::op(n.op).cls == graph::OpClass::Composite) of_composites.emplace(n.info.sequence, keep(n));
  passes::normalize(g);
  if (by.registered)
    for (passes::PassRecord& r : passes::open_joint_graph(g, *by.registered, is_joint_mark))
      std::move(r.patterns.begin(), r.patterns.end(), std::back_inserter(patterns));
  if (logs::on(logs::Channel::Joint)) {
    const std::string table = joint_table(g);
    logs::event(logs::Event::joint, g.name, "joint graph of " + std::to_string(g.nodes.size()) + " nodes:\n" + table,
                {{"nodes", g.nodes.size()}, {"table", table}, {"graph", graph::print(g)}});
  }
  const std::vector<bool> leaves = leaves_checkpoint(g, joint);
  try {
    return passes::partition(g, {operators::tangent_op(), operators::gradient_op()},
                             {by.partitioner,
                              [&](const graph::Node& n) {
                                if (leaves[static_cast<std::size_t>(&n - g.nodes.data())])
                                  return passes::Keep::MustSave;
                                const auto known = of_composites.find(n.info.sequence);
                                return known == of_composites.end() ? keep(n) : known->second;
                              },
                              kernels::is_costly, asked(g, by.choose), g.name});
  } catch (const PartitionRefused&) {
    throw;
  } catch (const Error& e) {
    if (e.code() != ErrorCode::InvalidArgument) throw;
    throw PartitionRefused(e);
  }
}

}  // namespace

bool is_random(const graph::NumberInput& n) {
  return n.kind == graph::NumberInput::Kind::Seed || n.kind == graph::NumberInput::Kind::Offset;
}

void describe_numbers(BackwardGraph& back, const graph::Graph& forward) {
  for (const guards::Expr* e : back.numbers) {
    graph::NumberInput n;
    n.name = e->kind() == guards::ExprKind::Symbol ? forward.env->symbols()[e->symbol()].source.name : Int(e).str();
    for (const graph::NumberInput& known : forward.numbers)
      if (e->kind() == guards::ExprKind::Symbol && known.symbol == e->symbol()) n.kind = known.kind;
    if (e->kind() >= guards::ExprKind::Real && e->kind() <= guards::ExprKind::FCeil)
      n.kind = graph::NumberInput::Kind::Float;  // computed of floats
    back.described.push_back(std::move(n));
  }
  auto rank = [](const graph::NumberInput& n) {
    return !is_random(n) ? 0 : n.kind == graph::NumberInput::Kind::Seed ? 1 : 2;
  };
  std::vector<std::size_t> order(back.numbers.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank(back.described[a]) < rank(back.described[b]); });
  const std::vector<const guards::Expr*> numbers = back.numbers;
  const std::vector<graph::NumberInput> described = back.described;
  for (std::size_t i = 0; i < order.size(); ++i)
    back.numbers[i] = numbers[order[i]], back.described[i] = described[order[i]];
}

namespace {

// The forward's names for what the backward takes and gives.
void name_backward(const Gradients& of, BackwardGraph& back, const graph::Graph& forward) {
  auto input = [&](std::size_t i) -> const std::string& { return forward.values[forward.inputs[i].value.v].name; };
  auto name = [&](std::size_t i) -> std::string& { return back.graph.values[back.graph.inputs[i].value.v].name; };
  std::size_t own = 0, at = 0;
  for (const SavedValue& s : of.saved) {
    switch (s.where) {
      case SavedValue::Where::Input: name(at++) = input(s.index); break;
      case SavedValue::Where::Result: name(at++) = "result " + std::to_string(s.index); break;
      case SavedValue::Where::Base: name(at++) = "base " + std::to_string(s.index); break;
      case SavedValue::Where::Own: name(at++) = "saved " + std::to_string(own++); break;
    }
  }
  for (const std::uint32_t k : of.tangents) {
    const Joint::Output& o = of.joint.outputs[k];
    const bool written = o.of == Joint::Output::Of::Input;
    name(at++) = "tangent of " + (written ? input(o.index) : "result " + std::to_string(o.index));
  }
  for (std::size_t i = 0; i < of.gradients.size(); ++i)
    if (const std::int32_t o = of.gradients[i]; o >= 0)
      back.graph.outputs[static_cast<std::size_t>(o)].of = static_cast<std::int32_t>(of.joint.inputs[i].index);
  describe_numbers(back, forward);
}

// Of the backward as it is called: its tensors are the saved values and the tangents, its results the gradients.
void describe_backward(const BackwardGraph& of, Traced& t) {
  graph::Graph& g = t.graph;
  for (std::size_t i = 0; i < of.graph.inputs.size() && i < g.inputs.size(); ++i) {
    g.inputs[i].kind = of.graph.inputs[i].kind;
    g.values[g.inputs[i].value.v].name = of.graph.values[of.graph.inputs[i].value.v].name;
  }
  // A backward that draws numbers itself (a hook, say) has a seed of its own.
  const auto random_numbers = std::count_if(of.described.begin(), of.described.end(), is_random);
  const bool draws = random_numbers != 2 || g.numbers.size() > of.described.size();
  for (std::size_t i = 0; i < of.described.size() && i < g.numbers.size(); ++i) {
    const graph::NumberInput& n = of.described[i];
    if (!is_random(n) || !draws) g.numbers[i].kind = n.kind;
    g.numbers[i].name = n.name;
    // Another float is no other recording.
    const guards::Symbol& symbol = g.env->symbols()[g.numbers[i].symbol];
    if (n.kind == graph::NumberInput::Kind::Float) t.floats.emplace_back(symbol.source.word, Int(symbol.expr));
  }
  for (std::size_t i = 0; i < of.graph.outputs.size() && i < t.tensor_results.size(); ++i)
    if (const std::int32_t o = t.tensor_results[i]; o >= 0) {
      g.outputs[static_cast<std::size_t>(o)].role = graph::OutputSpec::Role::Gradient;
      g.outputs[static_cast<std::size_t>(o)].of = of.graph.outputs[i].of;
    }
}

/// What a tangent's result is once the call has ended: the value that is written to an input lies as the input does.
TensorMeta shown(const graph::Graph& g, const Joint::Output& o, TensorMeta value) {
  if (o.of != Joint::Output::Of::Input) return value;
  value.layout = g.meta(g.inputs[o.index].value).layout;
  for (const graph::MetadataMutation& m : g.metadata_mutations)
    if (m.input == o.index) value.layout = m.layout;
  return value;
}

/// By output of the backward: the results whose tangents, its last inputs, it is computed of.
std::vector<std::uint64_t> results_that_reach(const graph::Graph& g, const std::vector<std::uint32_t>& tangents) {
  std::vector<std::uint64_t> of(g.values.size());
  const std::size_t first = g.inputs.size() - tangents.size();
  for (std::size_t i = 0; i < tangents.size(); ++i) of[g.inputs[first + i].value.v] = bit_of_result(tangents[i]);
  for (const graph::Node& n : g.nodes) {
    std::uint64_t bits = 0;
    graph::for_each_value(n, [&](graph::ValueId v) { bits |= of[v.v]; });
    for (graph::ValueId r : n.results) of[r.v] = bits;
  }
  std::vector<std::uint64_t> made;
  for (const graph::OutputSpec& o : g.outputs) made.push_back(of[o.value.v]);
  return made;
}

}  // namespace

std::shared_ptr<const Gradients> cut_gradients(Traced& t, const Joint& joint, const CutBy& by) {
  auto made = std::make_shared<Gradients>();
  made->joint = joint;
  made->name = t.graph.name;
  graph::Graph& g = t.graph;
  std::unique_ptr<const TapeViews> views;
  if (!joint.by_value) {
    views = TapeViews::of(g, t.tensor_results, t.bases, t.made);
    check_views(joint, views.get());
  }
  if (joint.outputs.empty()) return nullptr;
  made->again =
      derivative_again(g, joint, by.off_tape, static_cast<DType>(graph::setting(graph::Setting::DefaultDType)));
  made->second_order = by.second_order;
  if (made->again->function)
    describe_traces(*compiled_of(*made->again->function),
                    [of = made->again->graph](Traced& t) { describe_backward(*of, t); });
  auto back = std::make_shared<BackwardGraph>();
  for (const graph::Node& n : g.nodes)
    if (n.info.forward_of < 0 && n.info.sequence >= 0)
      back->calls.emplace(n.info.sequence, ForwardCall{n.op, n.info.loc});
  passes::Partition p = cut(g, joint, by, t.joint_patterns);
  made->bytes_saved = p.bytes_saved, made->bytes_of_all = p.bytes_of_all;
  for (std::size_t i = g.outputs.size() - p.saved; i < g.outputs.size(); ++i)
    made->expected.push_back(g.meta(g.outputs[i].value));
  for (std::size_t i = 0; i < p.tangents.size(); ++i)
    made->expected.push_back(shown(g, joint.outputs[p.tangents[i]], std::move(p.of_tangents[i])));
  made->tangents = std::move(p.tangents);
  made->gradients = std::move(p.gradients);
  made->gradients.resize(joint.inputs.size(), -1);
  // Saved values that a result or an input is need no output of their own.
  const std::size_t first = g.outputs.size() - p.saved;
  std::vector<graph::OutputSpec> outputs(g.outputs.begin(), g.outputs.begin() + static_cast<std::ptrdiff_t>(first));
  std::vector<std::int32_t> own;
  for (std::size_t i = first; i < g.outputs.size(); ++i) {
    const graph::ValueId v = g.outputs[i].value;
    const graph::Value& value = g.values[v.v];
    if (value.node < 0 && !g.inputs[value.result].mutates_data && !g.inputs[value.result].mutates_metadata) {
      made->saved.push_back({SavedValue::Where::Input, value.result});
      continue;
    }
    std::uint32_t leaf = 0;
    for (; leaf < t.tensor_results.size(); ++leaf)
      if (const std::int32_t o = t.tensor_results[leaf];
          o >= 0 && outputs[static_cast<std::size_t>(o)].kind == graph::OutputSpec::Kind::User &&
          outputs[static_cast<std::size_t>(o)].value == v)
        break;
    if (leaf < t.tensor_results.size() && t.kept.empty()) {
      std::uint32_t output = ~0u;
      for (std::uint32_t k = 0; k < joint.outputs.size(); ++k)
        if ((joint.outputs[k].of == Joint::Output::Of::Result || joint.outputs[k].of == Joint::Output::Of::OwnBase) &&
            t.tensor_results[joint.outputs[k].index] == t.tensor_results[leaf])
          output = k;
      made->saved.push_back({SavedValue::Where::Result, leaf, output});
      continue;
    }
    std::int32_t base = -1;
    for (std::uint32_t j = 0; views && base < 0 && j < outputs.size(); ++j)
      if (outputs[j].kind == graph::OutputSpec::Kind::Intermediate && outputs[j].value == v) base = views->base_on(j);
    if (base >= 0 && t.kept.empty()) {
      made->saved.push_back(
          {SavedValue::Where::Base, static_cast<std::uint32_t>(base), output_of_base(joint, *views, base)});
      continue;
    }
    graph::OutputSpec o = g.outputs[i];
    if (value.node < 0) {  // an input that the call overwrites
      o.value = g.add(graph::OpId::clone, {v});
      made->expected[i - first] = g.meta(o.value);
    }
    made->saved.push_back({SavedValue::Where::Own});
    own.push_back(static_cast<std::int32_t>(outputs.size()));
    outputs.push_back(std::move(o));
  }
  g.outputs = std::move(outputs);
  for (std::int32_t o : own) t.tensor_results.push_back(o);
  made->own = own.size();
  back->graph = std::move(p.backward);
  const std::vector<std::uint64_t> by_output = results_that_reach(back->graph, made->tangents);
  for (const std::int32_t o : made->gradients)
    made->reached.push_back(o < 0 ? 0 : by_output[static_cast<std::size_t>(o)]);
  back->default_dtype = static_cast<DType>(graph::setting(graph::Setting::DefaultDType));
  back->numbers = NumbersOf::of(back->graph);
  name_backward(*made, *back, g);
  for (const guards::Expr* e : back->numbers) t.int_results.push_back(Int(e));
  made->numbers = back->numbers.size();
  made->graph = back;
  if (logs::on(logs::Channel::Graph)) {
    const std::string text = graph::print(back->graph);
    logs::event(logs::Event::partitioned, made->name,
                "backward, " + std::to_string(p.bytes_saved) + " bytes saved of " + std::to_string(p.bytes_of_all) +
                    ":\n" + text,
                {{"nodes", back->graph.nodes.size()},
                 {"bytes_saved", p.bytes_saved},
                 {"bytes_of_all", p.bytes_of_all},
                 {"graph", text}});
  }
  expect_arguments(*made);
  if (!back->graph.outputs.empty())
    made->backward = std::make_unique<const CompiledFunction<BackwardFunction>>(
        BackwardFunction{back}, CompileOptions{.name = made->name + " backward", .arguments = {"tensors", "numbers"}});
  if (made->backward)
    describe_traces(*compiled_of(*made->backward), [back](Traced& t) { describe_backward(*back, t); });
  return made;
}

}  // namespace reprise::detail
