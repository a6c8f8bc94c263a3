#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/errors.h"
#include "graph/functional_form.h"
#include "graph/view_column.h"
#include "graph/writers.h"
#include "passes/pass.h"

namespace reprise::passes {

using graph::Form;
using graph::Graph;
using graph::Node;
using graph::OpClass;
using graph::OutputSpec;
using graph::ValueId;

namespace {

class Reinplace {
 public:
  explicit Reinplace(Graph& g) : g_(g), asked_(g.values.size()) {}

  void run() {
    for (Node& n : g_.nodes) back_to_its_writer(n);
    // What is the new value of an input belongs into the input's memory, whoever makes it.
    for (const OutputSpec& o : g_.outputs)
      if (o.kind == OutputSpec::Kind::NewValueOfInput && computed(o.value) && !asked_[o.value.v])
        asked_[o.value.v] = g_.inputs[o.source].value;
    for (std::size_t n = g_.nodes.size(); n-- > 0;) node(g_.nodes[n]);
    for (Node& n : g_.nodes)
      for (std::size_t i = 0; i < n.results.size(); ++i) {
        const ValueId in = asked_[n.results[i].v];
        if (!in || std::find(n.tied.begin(), n.tied.end(), in) != n.tied.end()) continue;
        n.tied.resize(n.results.size());
        n.tied[i] = in;
      }
    g_.form = Form::InPlace;
  }

 private:
  /// A named functional form that a kernel of its own computes, made of a write: the operator that writes does it where
  /// it stands (Note [Named functional forms] in graph/functional_form.h).
  void back_to_its_writer(Node& n) {
    const graph::OpDef& def = graph::op(n.op);
    if (!n.keeps_self || def.cls != OpClass::Reference || def.twin_of) return;
    if (!writers_) {
      writers_.emplace();
      for (const graph::OpDef& writer : graph::all_ops()) {
        const graph::FunctionalForm* form = writer.writes.empty() ? nullptr : graph::functional_forms().find(writer.id);
        if (form) (*writers_)[form->op].push_back(writer.id);
      }
    }
    const auto all = writers_->find(n.op);
    if (all == writers_->end()) return;
    for (const graph::OpId id : all->second) {
      const graph::OpDef& writer = graph::op(id);
      const graph::FunctionalForm& form = *graph::functional_forms().find(id);
      if (form.args.size() != writer.schema.args.size()) continue;
      std::vector<graph::NodeArg> args(n.args.size());
      for (std::size_t i = 0; i < args.size(); ++i) args[form.args[i]] = std::move(n.args[i]);
      n.op = *writer.functional;
      n.args = std::move(args);
      return;
    }
  }

  bool computed(ValueId v) const {
    const std::int32_t n = g_.values[v.v].node;
    return n >= 0 && graph::op(g_.nodes[static_cast<std::size_t>(n)].op).cls != OpClass::View;
  }

  void node(const Node& n) {
    const graph::OpDef& def = graph::op(n.op);
    if (def.cls == OpClass::View) return;
    if (def.twin_of) {
      const std::vector<ValueId> bases = graph::written_bases(def, n.args);
      for (std::size_t i = 0; i < bases.size(); ++i) ask(n.results[i], bases[i]);
      return;
    }
    // Joins and updates are their first operand but for some elements: a copy is saved also where the program does not
    // write in place.
    const bool mostly_self = graph::view_of_scatter(n.op) || graph::is_scatter_in_storage(n.op) ||
                             (def.cls == OpClass::Reference && def.has_inplace);
    if (!mostly_self && !n.keeps_self) return;
    const ValueId* self = n.args.empty() ? nullptr : std::get_if<ValueId>(&n.args[0]);
    if (self && n.results.size() == 1 && fits(n.results[0], *self)) ask(n.results[0], *self);
  }

  bool fits(ValueId v, ValueId in) const {
    const TensorMeta &a = g_.meta(v), &b = g_.meta(in);
    bool same = a.dtype == b.dtype && a.device == b.device && a.dim() == b.dim();
    for (int d = 0; same && d < a.dim(); ++d)
      same = identical(a.size(d), b.size(d)) || detail::compare_eq(a.size(d), b.size(d), {}).known_true();
    return same;
  }

  /// `made` is `old` with something written into it. Where it is asked into another memory already, `old` is asked
  /// there, too: then nothing moves.
  void ask(ValueId made, ValueId old) {
    ValueId& in = asked_[made.v];
    if (!in) in = old;
    else if (in != old && computed(old) && !asked_[old.v]) asked_[old.v] = in;
  }

  Graph& g_;
  std::vector<ValueId> asked_;  ///< by value
  /// by named functional form; made when the first is met
  std::optional<std::unordered_map<graph::OpId, std::vector<graph::OpId>>> writers_;
};

}  // namespace

bool reinplace(Graph& g) {
  REPRISE_CHECK(g.form != Form::Traced);
  if (g.form == Form::InPlace) return false;
  Reinplace(g).run();
  return true;
}

}  // namespace reprise::passes
