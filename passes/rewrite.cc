#include "passes/rewrite.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "graph/map_values.h"
#include "graph/view_column.h"
#include "graph/writers.h"

namespace reprise::passes {

using graph::Graph;
using graph::Node;
using graph::NodeArg;
using graph::ValueId;

namespace {

bool identical(const Ints& a, const Ints& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](Int x, Int y) { return identical(x, y); });
}
/// What a node that keeps_self is written over: its first operand, of a functional twin the first tensor that its
/// operator writes.
ValueId written(const Node& n) {
  const graph::OpDef& def = graph::op(n.op);
  if (def.twin_of) return graph::written_bases(def, n.args).at(0);
  const ValueId* self = std::get_if<ValueId>(&n.args[0]);
  return self ? *self : ValueId{};
}
bool identical(const TensorMeta& a, const TensorMeta& b) {
  return a.dtype == b.dtype && a.device == b.device && identical(a.layout.sizes, b.layout.sizes) &&
         identical(a.layout.strides, b.layout.strides) && identical(a.layout.offset, b.layout.offset);
}

}  // namespace

Rewriter::Rewriter(const Graph& in)
    : in_(in), map_(in.values.size()), same_(in.values.size()), copied_(in.values.size()) {
  out_.name = in.name;
  out_.env = in.env;
  out_.numbers = in.numbers;
  for (const graph::InputSpec& spec : in.inputs) {
    const graph::Value& v = in.values[spec.value.v];
    map_[spec.value.v] = out_.add_input(v.meta, v.name, spec.kind, spec.captured);
    same_[spec.value.v] = true;
    out_.inputs.back().mutates_data = spec.mutates_data;
    out_.inputs.back().mutates_metadata = spec.mutates_metadata;
  }
}

ValueId Rewriter::emit(graph::OpId op, std::vector<NodeArg> args) {
  const ValueId* self = args.empty() ? nullptr : std::get_if<ValueId>(&args[0]);
  const bool keeps_self = self && self_ && *self == self_;
  const ValueId made = out_.add(op, std::move(args), info_);
  out_.nodes.back().keeps_self = keeps_self;
  return made;
}

void Rewriter::copies_as(ValueId v, bool keeps_self, bool keeps_part) {
  Node& n = out_.nodes[static_cast<std::size_t>(out_.values[v.v].node)];
  n.keeps_self = keeps_self, n.keeps_part = keeps_part;
}

const Node* Rewriter::maker(ValueId v) const {
  std::int32_t n = out_.values[v.v].node;
  return n < 0 ? nullptr : &out_.nodes[static_cast<std::size_t>(n)];
}

/// Of operands before and after: has each value the metadata that it had?
bool Rewriter::same_metas(const NodeArg& was, const NodeArg& is) const {
  auto same = [&](ValueId a, ValueId b) {
    return !a || (same_[a.v] && map_[a.v] == b) || identical(in_.meta(a), out_.meta(b));
  };
  if (auto* v = std::get_if<ValueId>(&was)) return same(*v, std::get<ValueId>(is));
  if (auto* w = std::get_if<graph::ViewArg>(&was)) return same(w->base, std::get<graph::ViewArg>(is).base);
  auto* list = std::get_if<std::vector<ValueId>>(&was);
  if (!list) return true;
  const auto& now = std::get<std::vector<ValueId>>(is);
  return std::equal(list->begin(), list->end(), now.begin(), now.end(), same);
}

// A rule may have put a value of another layout (an expanded or permuted one) where another one stood (`was`, if it is
// known); a view that needs certain strides was accepted on the strength of the old layout.
void Rewriter::make_contiguous(graph::OpId op, std::vector<NodeArg>& args, const TensorMeta* was) {
  const bool names_places = graph::names_places(op);
  const graph::ViewFacts* view = names_places ? nullptr : graph::view_facts().find(op);
  if (!names_places && !(view && view->of == graph::ViewOf::JoinedDims)) return;
  ValueId& on = std::get<ValueId>(args[0]);
  const Layout& is = out_.meta(on).layout;
  if ((!known_contiguous(is) && !(was && identical(*was, out_.meta(on)))) ||
      (names_places && !identical(is.offset, Int(0))))
    on = emit(graph::OpId::clone, {on});
}

std::vector<ValueId> Rewriter::emit_as(const Node& like, std::vector<NodeArg> args, const graph::NodeInfo& info) {
  make_contiguous(like.op, args, nullptr);
  out_.add(like.op, std::move(args), info);
  out_.nodes.back().keeps_self = like.keeps_self;
  out_.nodes.back().keeps_part = like.keeps_part;
  return out_.nodes.back().results;
}

/// Bases of views that are written are memory each: where a pass has found two of them equal, one is a copy (Note
/// [Written views]).
void Rewriter::keep_apart(const Node& node, std::vector<NodeArg>& args) {
  std::vector<std::pair<ValueId, ValueId>> bases;  // before and after
  for (std::size_t i = 0; i < args.size(); ++i) {
    auto* view = std::get_if<graph::ViewArg>(&args[i]);
    if (!view) continue;
    const ValueId was = std::get<graph::ViewArg>(node.args[i]).base;
    auto known = std::find_if(bases.begin(), bases.end(), [&](const auto& b) { return b.first == was; });
    if (known == bases.end()) {
      if (std::any_of(bases.begin(), bases.end(), [&](const auto& b) { return b.second == view->base; }))
        view->base = emit(graph::OpId::clone, {view->base});
      known = bases.insert(bases.end(), {was, view->base});
    }
    view->base = known->second;
  }
}

Graph Rewriter::run(const Rule& rule, bool* changed) {
  out_.values.reserve(in_.values.size());
  out_.nodes.reserve(in_.nodes.size());
  for (const Node& node : in_.nodes) {
    std::vector<NodeArg> args = node.args;
    bool left_out = false;
    for (NodeArg& a : args)
      graph::map_values(a, [&](ValueId v) {
        left_out = left_out || !now(v);
        return now(v);
      });
    info_ = node.info;
    self_ = {};
    if (!left_out) keep_apart(node, args);
    // A write into a copy that was the program's: what copies for it now is that copy.
    const ValueId self = node.keeps_self ? written(node) : ValueId{};
    self_ = self && !copied_[self.v] ? map_[self.v] : ValueId{};
    std::optional<Site> site;
    if (!node.results.empty()) site.emplace(Site{node, args, in_.meta(node.results[0])});
    if (std::optional<std::vector<ValueId>> made = site ? rule(*this, *site) : std::nullopt) {
      REPRISE_CHECK(made->size() == node.results.size());
      for (std::size_t i = 0; i < made->size(); ++i) map_[node.results[i].v] = (*made)[i];
      copied_[node.results[0].v] = graph::is_copy(node.op) && !node.keeps_self;
      *changed = true;
      continue;
    }
    REPRISE_CHECK(!left_out, "a value that was left out is read");
    if (!node.args.empty())
      if (const ValueId* on = std::get_if<ValueId>(&node.args[0])) make_contiguous(node.op, args, &in_.meta(*on));
    // What stands for an operand is nearly always what the operand was: then the results are, too.
    bool same_operands = true;
    for (std::size_t a = 0; a < args.size() && same_operands; ++a) same_operands = same_metas(node.args[a], args[a]);
    if (same_operands) {
      std::vector<TensorMeta> metas;
      metas.reserve(node.results.size());
      for (ValueId r : node.results) metas.push_back(in_.meta(r));
      out_.append(node.op, std::move(args), std::move(metas), node.info);
    } else {
      out_.add(node.op, std::move(args), node.info);
    }
    out_.nodes.back().keeps_self = bool(self_);
    out_.nodes.back().keeps_part = node.keeps_part;
    const std::vector<ValueId>& results = out_.nodes.back().results;
    for (std::size_t i = 0; i < results.size(); ++i) {
      map_[node.results[i].v] = results[i];
      same_[node.results[i].v] = same_operands;
    }
  }
  out_.outputs = in_.outputs;
  for (graph::OutputSpec& o : out_.outputs) {
    if (!o.value) continue;
    const graph::Value& old = in_.values[o.value.v];
    o.value = now(o.value);
    REPRISE_CHECK(bool(o.value), "a value that was left out is returned");
    // The same for a result: its strides are seen, and aliases of it are given as places in its storage.
    if (o.kind == graph::OutputSpec::Kind::NewValueOfInput) continue;
    if (known_contiguous(old.meta.layout) && !known_contiguous(out_.meta(o.value).layout)) {
      info_ = old.node < 0 ? graph::NodeInfo{} : in_.nodes[static_cast<std::size_t>(old.node)].info;
      o.value = emit(graph::OpId::clone, {o.value});
    }
  }
  out_.metadata_mutations = in_.metadata_mutations;
  return std::move(out_);
}

bool rewrite(Graph& g, const Rewriter::Rule& rule) {
  bool changed = false;
  Graph made = Rewriter(g).run(rule, &changed);
  if (changed) g = std::move(made);
  return changed;
}

}  // namespace reprise::passes
