#include "graph/text.h"

namespace reprise::graph {
namespace {

class Collector {
 public:
  void layout(const Layout& l) { many(l.sizes), many(l.strides), one(l.offset); }
  void arguments(const std::vector<NodeArg>& args) {
    for (const NodeArg& a : args) {
      if (auto* i = std::get_if<Int>(&a)) one(*i);
      if (auto* l = std::get_if<Ints>(&a)) many(*l);
      if (auto* r = std::get_if<Region>(&a)) signature(**r), nodes(**r);
      if (auto* s = std::get_if<Scalar>(&a); s && s->is_symbolic()) {
        expression(s->word().expr(), s->is_float());
      }
      if (auto* w = std::get_if<ViewArg>(&a))
        for (const ViewStep& step : w->steps) arguments(step.args);
    }
  }
  void signature(const Graph& g) {
    for (const InputSpec& in : g.inputs) layout(g.meta(in.value).layout);
    for (const NumberInput& n : g.numbers) {
      used_.all.insert(n.symbol);
      if (n.kind == NumberInput::Kind::Float) used_.floats.insert(n.symbol);
    }
    for (const OutputSpec& o : g.outputs) {
      if (o.value) layout(g.meta(o.value).layout);
      layout(o.layout);
      for (const ViewStep& step : o.recipe) arguments(step.args);
    }
    for (const MetadataMutation& m : g.metadata_mutations) layout(m.layout);
  }
  void nodes(const Graph& g) {
    for (const Node& n : g.nodes) {
      for (ValueId r : n.results) layout(g.meta(r).layout);
      arguments(n.args);
    }
  }
  UsedSymbols used() && { return std::move(used_); }

 private:
  void one(Int i) {
    if (i.is_symbolic()) expression(i.expr(), false);
  }
  void many(const Ints& l) {
    for (Int i : l) one(i);
  }
  void expression(const guards::Expr* e, bool floating) {
    if (e->kind() == guards::ExprKind::Symbol) {
      used_.all.insert(e->symbol());
      if (floating) used_.floats.insert(e->symbol());
    }
    const bool inside = e->kind() != guards::ExprKind::Real && e->is_float();
    for (const guards::Expr* a : e->args()) expression(a, inside);
  }

  UsedSymbols used_;
};

}  // namespace

std::string_view input_kind_name(InputSpec::Kind k) {
  switch (k) {
    case InputSpec::Kind::User: return "user";
    case InputSpec::Kind::Parameter: return "parameter";
    case InputSpec::Kind::Buffer: return "buffer";
    case InputSpec::Kind::Saved: return "saved";
    case InputSpec::Kind::Tangent: return "tangent";
  }
  return "";
}

std::string_view role_name(OutputSpec::Role r) {
  switch (r) {
    case OutputSpec::Role::Result: return "result";
    case OutputSpec::Role::CustomView: return "custom_view";
    case OutputSpec::Role::Loss: return "loss";
    case OutputSpec::Role::Gradient: return "gradient";
    case OutputSpec::Role::Saved: return "saved";
  }
  return "";
}

std::string_view number_kind_name(NumberInput::Kind k) {
  switch (k) {
    case NumberInput::Kind::Size: return "size";
    case NumberInput::Kind::Integer: return "integer";
    case NumberInput::Kind::Float: return "float";
    case NumberInput::Kind::Seed: return "seed";
    case NumberInput::Kind::Offset: return "offset";
  }
  return "";
}

UsedSymbols symbols_of_signature(const Graph& g) {
  Collector c;
  c.signature(g);
  return std::move(c).used();
}

UsedSymbols symbols_of(const Graph& g) {
  Collector c;
  c.signature(g);
  c.nodes(g);
  return std::move(c).used();
}

}  // namespace reprise::graph
