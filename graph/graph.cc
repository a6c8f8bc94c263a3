#include "graph/graph.h"

#include <algorithm>
#include <iterator>

#include "base/bail.h"
#include "base/errors.h"
#include "graph/text.h"
#include "graph/writers.h"

namespace reprise::graph {

NodeRuleArgs::NodeRuleArgs(const Graph& g, const std::vector<NodeArg>& args) {
  lists_.reserve(args.size());  // spans into it must stay valid
  for (const NodeArg& a : args) {
    args_.push_back(std::visit(
        [&](const auto& v) -> RuleArg {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, ValueId>) {
            return &g.values[v.v].meta;
          } else if constexpr (std::is_same_v<T, std::vector<ValueId>>) {
            std::vector<const TensorMeta*> metas;
            for (ValueId x : v) metas.push_back(x ? &g.values[x.v].meta : nullptr);
            lists_.push_back(std::move(metas));
            return std::span<const TensorMeta* const>(lists_.back());
          } else if constexpr (std::is_same_v<T, std::string>) {
            return std::string_view(v);
          } else if constexpr (std::is_same_v<T, Region>) {
            return v.get();
          } else if constexpr (std::is_same_v<T, ViewArg>) {
            fail(ErrorCode::Internal, "graph", {}, "no shape rule takes a view");
          } else {
            return v;
          }
        },
        a));
  }
}

Effects effects_of(const Node& node) {
  Effects all = op(node.op).effects;
  for (const NodeArg& a : node.args) {
    const Region* region = std::get_if<Region>(&a);
    if (!region) continue;
    for (const Node& n : (*region)->nodes) {
      const Effects e = effects_of(n);
      all.may_fail |= e.may_fail, all.exit |= e.exit, all.opaque |= e.opaque;
      if (e.lane) all.lane = e.lane;
    }
  }
  return all;
}

const Int* turns_of(const Node& node) {
  const int i = op(node.op).cls == OpClass::Control ? op(node.op).schema.find("turns") : -1;
  return i < 0 ? nullptr : std::get_if<Int>(&node.args[static_cast<std::size_t>(i)]);
}

ValueId Graph::add_input(TensorMeta meta, std::string input_name, InputSpec::Kind kind, bool captured) {
  ValueId id{static_cast<std::uint32_t>(values.size())};
  Value v;
  v.meta = std::move(meta);
  v.result = static_cast<std::uint32_t>(inputs.size());
  v.name = std::move(input_name);
  values.push_back(std::move(v));
  inputs.push_back({id, kind, false, false, captured});
  return id;
}

ValueId Graph::add(OpId id, std::vector<NodeArg> args, NodeInfo info) {
  return insert(nodes.size(), id, std::move(args), info);
}

namespace {
/// Of a functional twin: its rule sees the views, and has a result for each; what there is are the bases' new values.
std::vector<TensorMeta> metas_of_written_views(const Graph& g, const OpDef& def, std::vector<NodeArg> args,
                                               SourceLoc loc) {
  const std::vector<ValueId> bases = written_bases(def, args);
  std::vector<std::optional<TensorMeta>> views(args.size());
  std::size_t written = 0;
  for (std::uint32_t i : op(*def.twin_of).writes) for_each_value(args[i], [&](ValueId) { ++written; });
  for (std::size_t i = 0; i < args.size(); ++i) {
    const auto* view = std::get_if<ViewArg>(&args[i]);
    if (!view) continue;
    views[i] = g.meta(view->base);
    if (!view->steps.empty()) views[i]->layout = layouts_of(g, *view, loc).back();
    args[i] = ValueId{view->base};
  }
  NodeRuleArgs plain(g, args);
  std::vector<RuleArg> rule_args(plain.args().begin(), plain.args().end());
  for (std::size_t i = 0; i < args.size(); ++i)
    if (views[i]) rule_args[i] = &*views[i];
  RuleCtx c{def, rule_args, loc, {}};
  infer(c);
  std::vector<TensorMeta> metas;
  for (ValueId base : bases) {
    metas.push_back(g.meta(base));
    metas.back().layout = {metas.back().layout.sizes, contiguous_strides(metas.back().layout.sizes), 0};
  }
  metas.insert(metas.end(), std::make_move_iterator(c.results.begin() + static_cast<std::ptrdiff_t>(written)),
               std::make_move_iterator(c.results.end()));
  return metas;
}
}  // namespace

std::vector<TensorMeta> result_metas(const Graph& g, const OpDef& def, const std::vector<NodeArg>& args,
                                     SourceLoc loc) {
  if (def.twin_of &&
      std::any_of(args.begin(), args.end(), [](const NodeArg& a) { return std::holds_alternative<ViewArg>(a); }))
    return metas_of_written_views(g, def, args, loc);
  NodeRuleArgs rule_args(g, args);
  RuleCtx c{def, rule_args.args(), loc, {}, g.form != Form::Traced};
  infer(c);
  return std::move(c.results);
}

namespace {
void check_arguments(const Graph& g, const OpDef& def, const std::vector<NodeArg>& args, SourceLoc loc) {
  if (args.size() != def.schema.args.size()) {
    fail(ErrorCode::Internal, def.schema.name.c_str(), loc, "a node needs ", def.schema.args.size(), " arguments (",
         def.schema.text, "), got ", args.size());
  }
  for (const NodeArg& a : args) for_each_value(a, [&](ValueId v) { REPRISE_CHECK(v.v < g.values.size()); });
}
}  // namespace

void Graph::add_inplace(OpId id, std::vector<NodeArg> args, NodeInfo info) {
  const SourceLoc loc = info.loc;
  const OpDef& def = op(id);
  REPRISE_CHECK(form == Form::Traced);
  check_arguments(*this, def, args, loc);
  const ValueId* self = std::get_if<ValueId>(&args[0]);
  if (!self) fail(ErrorCode::Internal, def.schema.name.c_str(), loc, "an in-place node needs a tensor that it writes");
  try {
    check_inplace(def, meta(*self), result_metas(*this, def, args, loc).front(), loc);
  } catch (const Error& e) {  // the rule knows the operator by the other twin's name
    if (e.code() == ErrorCode::NotTraceable || e.op() != def.schema.name) throw;
    throw_as(e, def.schema.name + "_", e.where());
  }
  nodes.push_back({id, std::move(args), {}, info, true});
}

ValueId Graph::insert(std::size_t at, OpId id, std::vector<NodeArg> args, NodeInfo info) {
  const OpDef& def = op(id);
  REPRISE_CHECK(at <= nodes.size());
  check_arguments(*this, def, args, info.loc);
  std::vector<TensorMeta> metas = result_metas(*this, def, args, info.loc);
  if (at < nodes.size()) {
    for (Value& v : values) {
      if (v.node >= static_cast<std::int32_t>(at)) ++v.node;
    }
  }
  Node node{id, std::move(args), {}, info};
  add_results(node, at, std::move(metas));
  const ValueId first = node.results.empty() ? ValueId{} : node.results.front();
  nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(at), std::move(node));
  return first;
}

ValueId Graph::append(OpId id, std::vector<NodeArg> args, std::vector<TensorMeta> results, NodeInfo info) {
  nodes.push_back({id, std::move(args), {}, info});
  add_results(nodes.back(), nodes.size() - 1, std::move(results));
  return nodes.back().results.empty() ? ValueId{} : nodes.back().results.front();
}

void Graph::add_results(Node& node, std::size_t at, std::vector<TensorMeta> metas) {
  node.results.reserve(metas.size());
  for (std::size_t i = 0; i < metas.size(); ++i) {
    node.results.push_back({static_cast<std::uint32_t>(values.size())});
    Value& v = values.emplace_back();
    v.meta = std::move(metas[i]);
    v.node = static_cast<std::int32_t>(at);
    v.result = static_cast<std::uint32_t>(i);
  }
}

namespace {

template <class F>
void map_values(NodeArg& a, F&& f) {
  if (auto* v = std::get_if<ValueId>(&a)) {
    *v = f(*v);
  } else if (auto* l = std::get_if<std::vector<ValueId>>(&a)) {
    for (ValueId& x : *l) {
      if (x) x = f(x);
    }
  } else if (auto* w = std::get_if<ViewArg>(&a)) {
    w->base = f(w->base);
  }
}

}  // namespace

void Graph::erase_nodes(const std::vector<bool>& keep) {
  REPRISE_CHECK(keep.size() == nodes.size());
  std::vector<std::int32_t> moved(nodes.size(), -1);
  std::int32_t next = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (keep[i]) moved[i] = next++;
  }
  std::vector<bool> gone(values.size(), false);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!keep[i])
      for (ValueId r : nodes[i].results) gone[r.v] = true;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (keep[i])
      for_each_value(nodes[i], [&](ValueId v) { REPRISE_CHECK(!gone[v.v], "a result of an erased node is used"); });
  }
  for (const OutputSpec& o : outputs)
    REPRISE_CHECK(!o.value || !gone[o.value.v], "a result of an erased node is an output");
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (keep[i] && moved[i] != static_cast<std::int32_t>(i))
      nodes[static_cast<std::size_t>(moved[i])] = std::move(nodes[i]);
  }
  nodes.resize(static_cast<std::size_t>(next));
  for (std::size_t v = 0; v < values.size(); ++v) {
    // A value whose node is gone keeps its meta until compact(); it looks like no input and no result.
    if (values[v].node >= 0) values[v].node = gone[v] ? kErasedNode : moved[static_cast<std::size_t>(values[v].node)];
  }
}

void Graph::compact() {
  std::vector<ValueId> renamed(values.size());
  std::vector<Value> kept;
  auto keep = [&](ValueId old) {
    renamed[old.v] = {static_cast<std::uint32_t>(kept.size())};
    kept.push_back(std::move(values[old.v]));
  };
  for (const InputSpec& in : inputs) keep(in.value);
  for (const Node& n : nodes)
    for (ValueId r : n.results) keep(r);
  auto rename = [&](ValueId v) {
    REPRISE_CHECK(renamed[v.v], "a used value has no maker");
    return renamed[v.v];
  };
  for (InputSpec& in : inputs) in.value = rename(in.value);
  for (Node& n : nodes) {
    for (NodeArg& a : n.args) map_values(a, rename);
    for (ValueId& r : n.results) r = rename(r);
    for (ValueId& t : n.tied)
      if (t) t = rename(t);
  }
  for (OutputSpec& o : outputs) {
    if (o.value) o.value = rename(o.value);
  }
  values = std::move(kept);
}

}  // namespace reprise::graph
