#include "passes/pass.h"

namespace reprise::passes {

using graph::NodeArg;

namespace {

class KnownSizes {
 public:
  explicit KnownSizes(guards::ShapeEnv& env) : env_(env) {}
  bool changed() const { return changed_; }

  void use(Int& i) {
    if (!i.is_symbolic()) return;
    const guards::Expr* now = env_.simplify(i.expr());
    if (now == i.expr()) return;
    i = now->is_const() ? Int(now->value()) : Int(now);
    changed_ = true;
  }
  void use(Ints& all) {
    for (Int& i : all) use(i);
  }
  void use(Layout& l) { use(l.sizes), use(l.strides), use(l.offset); }
  void use(NodeArg& a) {
    if (auto* i = std::get_if<Int>(&a)) return use(*i);
    if (auto* l = std::get_if<Ints>(&a)) return use(*l);
    if (auto* w = std::get_if<graph::ViewArg>(&a)) {
      for (graph::ViewStep& step : w->steps)
        for (NodeArg& x : step.args) use(x);
      return;
    }
    auto* s = std::get_if<Scalar>(&a);
    if (!s || !s->is_symbolic()) return;
    Int i = s->word();
    use(i);
    *s = s->with_word(i);
  }

 private:
  guards::ShapeEnv& env_;
  bool changed_ = false;
};

}  // namespace

bool use_known_sizes(graph::Graph& g) {
  if (!g.env) return false;
  KnownSizes known(*g.env);
  for (graph::Value& v : g.values) known.use(v.meta.layout);
  for (graph::Node& node : g.nodes)
    for (NodeArg& a : node.args) known.use(a);
  for (graph::OutputSpec& o : g.outputs) {
    known.use(o.layout);
    for (graph::ViewStep& step : o.recipe)
      for (NodeArg& a : step.args) known.use(a);
  }
  for (graph::MetadataMutation& m : g.metadata_mutations) known.use(m.layout);
  return known.changed();
}

}  // namespace reprise::passes
