#include <set>
#include <sstream>

#include "base/errors.h"
#include "graph/graph.h"
#include "graph/schema.h"
#include "graph/shape_rules.h"
#include "graph/text.h"
#include "graph/view_column.h"
#include "graph/writers.h"

namespace reprise::graph {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& g) : g_(g), defined_(g.values.size(), false) {}

  std::optional<Mistake> run() {
    try {
      all();
    } catch (Mistake& m) {
      return std::move(m);
    } catch (const Error& e) {  // a size that has no value, such as one modulo 0
      at_.text = where_ + ": " + e.message(), at_.loc = loc_;
      return at_;
    }
    return std::nullopt;
  }

 private:
  void at(Mistake::In in, std::size_t index) { at_.in = in, at_.index = index; }

  void all() {
    for (std::size_t i = 0; i < g_.inputs.size(); ++i) {
      at(Mistake::In::Inputs, i);
      where_ = "input " + std::to_string(i);
      ValueId v = g_.inputs[i].value;
      define(v);
      check(value(v).node == -1 && value(v).result == i, "its value says it is made elsewhere");
      layout(value(v).meta.layout);
    }
    for (std::size_t i = 0; i < g_.nodes.size(); ++i) node(i);
    for (std::size_t i = 0; i < g_.outputs.size(); ++i) output(i);
    numbers();
    for (const InputSpec& in : g_.inputs)
      check(!traced() || !(in.mutates_data || in.mutates_metadata), "a traced graph says what it writes by its nodes");
    check(!traced() || g_.metadata_mutations.empty(), "a traced graph has no metadata mutations");
    for (std::size_t i = 0; i < g_.metadata_mutations.size(); ++i) {
      const MetadataMutation& m = g_.metadata_mutations[i];
      at(Mistake::In::MetadataMutations, i);
      where_ = "metadata mutation " + std::to_string(i);
      check(m.input < g_.inputs.size(), "names input ", m.input, " of ", g_.inputs.size());
      check(m.from_output < static_cast<std::int32_t>(g_.outputs.size()), "names output ", m.from_output, " of ",
            g_.outputs.size());
      check(!m.grows || (m.from_output >= 0 &&
                         g_.outputs[static_cast<std::size_t>(m.from_output)].kind == OutputSpec::Kind::AliasOfOutput),
            "grows, and not to be a fresh output");
      layout(m.layout);
    }
    signature();
  }

  /// Numbers are symbols of the trace, each named once; where the generator stands comes last.
  void numbers() {
    std::set<std::uint32_t> seen;
    int last = 0;
    for (std::size_t i = 0; i < g_.numbers.size(); ++i) {
      const NumberInput& n = g_.numbers[i];
      at(Mistake::In::Inputs, g_.inputs.size() + i);
      where_ = "number " + std::to_string(i) + " (\"" + n.name + "\")";
      check(g_.env && n.symbol < g_.env->symbols().size(), "is no symbol of the trace");
      check(seen.insert(n.symbol).second, "says again what s", n.symbol, " is");
      const int order = n.kind == NumberInput::Kind::Seed ? 1 : n.kind == NumberInput::Kind::Offset ? 2 : 0;
      check(order >= last && (order == 0 || order == last + 1), "is the ", number_kind_name(n.kind),
            ": seed and offset come last, one of each");
      last = order;
    }
    check(last != 1, "is the seed, and there is no offset");
  }

  /// What the inputs say of themselves is what the outputs and the mutations of metadata say of them.
  void signature() {
    if (traced()) return;
    std::vector<int> written(g_.inputs.size()), reshaped(g_.inputs.size());
    for (std::size_t i = 0; i < g_.outputs.size(); ++i) {
      const OutputSpec& o = g_.outputs[i];
      if (o.kind != OutputSpec::Kind::NewValueOfInput) continue;
      at(Mistake::In::Outputs, i);
      where_ = "output " + std::to_string(i);
      check(++written[o.source] == 1, "says again what input ", o.source, " holds after the call");
      check(g_.inputs[o.source].mutates_data, "is the new value of input ", o.source,
            ", which does not say that it is written");
    }
    for (std::size_t i = 0; i < g_.metadata_mutations.size(); ++i) {
      const MetadataMutation& m = g_.metadata_mutations[i];
      at(Mistake::In::MetadataMutations, i);
      where_ = "metadata mutation " + std::to_string(i);
      check(++reshaped[m.input] == 1, "says again what input ", m.input, " looks like after the call");
      check(g_.inputs[m.input].mutates_metadata, "changes input ", m.input,
            ", which does not say that its metadata change");
    }
    for (std::size_t i = 0; i < g_.inputs.size(); ++i) {
      at(Mistake::In::Inputs, i);
      where_ = "input " + std::to_string(i);
      check(!g_.inputs[i].mutates_data || written[i], "says that it is written, and no output is its new value");
      check(!g_.inputs[i].mutates_metadata || reshaped[i], "says that its metadata change, and nothing says to what");
    }
  }

  template <class... Parts>
  void check(bool ok, const Parts&... parts) const {
    if (ok) return;
    std::ostringstream s;
    s << where_ << ": ";
    (s << ... << parts);
    Mistake m = at_;
    m.text = s.str(), m.loc = loc_;
    throw m;
  }
  const Value& value(ValueId v) const { return g_.values[v.v]; }

  void define(ValueId v) {
    check(v.v < g_.values.size(), "defines a value that does not exist");
    check(!defined_[v.v], "value %", v.v, " is defined twice");
    defined_[v.v] = true;
  }

  void use(ValueId v) const {
    check(v && v.v < g_.values.size(), "uses a value that does not exist");
    check(defined_[v.v], "uses %", v.v, " before it is defined");
  }

  /// Shapes are made of this graph's symbols, and sizes and strides come in pairs.
  void layout(const Layout& l) const {
    check(l.sizes.size() == l.strides.size(), "has ", l.sizes.size(), " sizes and ", l.strides.size(), " strides");
    check(l.sizes.size() <= kMaxRank, "has ", l.sizes.size(), " dimensions");
    for (Int s : l.sizes) integer(s);
    for (Int s : l.strides) integer(s);
    integer(l.offset);
  }
  void integer(Int i) const {
    check(!i.is_symbolic() || (g_.env && &i.expr()->env() == g_.env.get()), "'", i, "' belongs to another trace");
    check(!i.is_symbolic() || !i.expr()->is_bool(), "'", i, "' is a truth value");
  }

  void argument(const ArgDef& def, const NodeArg& a) const {
    auto holds = [&](auto tag) { return std::holds_alternative<decltype(tag)>(a); };
    bool ok = holds(std::monostate{}) && accepts_none(def.type);
    switch (def.type) {
      case ArgType::Tensor:
      case ArgType::OptionalTensor:
        ok = ok || holds(ValueId{}) || holds(ViewArg{});  // node() asks where it stands
        break;
      case ArgType::TensorOrScalar:
      case ArgType::OptionalTensorOrScalar: ok = ok || holds(ValueId{}) || holds(Scalar{}); break;
      case ArgType::TensorList:
      case ArgType::OptionalTensorList: ok = holds(std::vector<ValueId>{}); break;
      case ArgType::Int:
      case ArgType::OptionalInt: ok = ok || holds(Int{}); break;
      case ArgType::Ints:
      case ArgType::OptionalInts: ok = ok || holds(Ints{}); break;
      case ArgType::Scalar:
      case ArgType::OptionalScalar:
      case ArgType::Float:
      case ArgType::OptionalFloat: ok = ok || holds(Scalar{}) || holds(Int{}); break;
      case ArgType::Bool: ok = holds(bool{}); break;
      case ArgType::DType:
      case ArgType::OptionalDType: ok = ok || holds(DType{}); break;
      case ArgType::Str:
      case ArgType::OptionalStr: ok = ok || holds(std::string{}); break;
      case ArgType::Region: ok = holds(Region{}) && std::get<Region>(a) != nullptr; break;
      case ArgType::OptionalGenerator: break;
    }
    check(ok, "argument '", def.name, "' is no ", arg_type_name(def.type));
    if (auto* list = std::get_if<std::vector<ValueId>>(&a); list && def.type == ArgType::TensorList) {
      for (ValueId v : *list) use(v);
    }
    for_each_value(a, [&](ValueId v) { use(v); });
    if (auto* i = std::get_if<Int>(&a)) integer(*i);
    if (auto* l = std::get_if<Ints>(&a))
      for (Int i : *l) integer(i);
    if (auto* s = std::get_if<Scalar>(&a); s && s->is_symbolic()) integer(s->word());
    if (auto* r = std::get_if<Region>(&a)) region(def.name, **r);
  }

  /// A graph of its own, but for the environment: functional (in place where the one around it is), without effects on
  /// what it is given, whose results are values. What is wrong inside is told as of this node.
  void region(const std::string& name, const Graph& r) const {
    check(r.env == g_.env, "region ", name, " belongs to another trace");
    check(r.form == (g_.form == Form::InPlace ? Form::InPlace : Form::Functional), "region ", name,
          " is of another form than the graph around it");
    check(r.numbers.empty() && r.metadata_mutations.empty(), "region ", name,
          " has numbers or metadata mutations: these are the outer graph's");
    for (const InputSpec& in : r.inputs)
      check(!in.mutates_data && !in.mutates_metadata, "region ", name, " says that it writes what it is given");
    for (const OutputSpec& o : r.outputs)
      check(o.kind == OutputSpec::Kind::User && !o.is_view && o.role == OutputSpec::Role::Result, "region ", name,
            " has an output that is no value of its own");
    if (std::optional<Mistake> inside = first_mistake(r)) {
      Mistake m = at_;
      m.text = where_ + ", region " + name + ", " + inside->text, m.loc = inside->loc ? inside->loc : loc_;
      throw m;
    }
  }

  void node(std::size_t index) {
    const Node& n = g_.nodes[index];
    at(Mistake::In::Nodes, index);
    where_ = "node " + std::to_string(index);
    check(is_op(n.op), "has no operator");
    const OpDef& def = op(n.op);
    where_ += " (" + def.schema.name + ")";
    loc_ = n.info.loc;
    check(def.cls != OpClass::Transfer, "is in no graph: it is done as it is called");
    check(n.args.size() == def.schema.args.size(), "has ", n.args.size(), " arguments, the schema is ",
          def.schema.text);
    for (std::size_t i = 0; i < n.args.size(); ++i) {
      argument(def.schema.args[i], n.args[i]);
      if (auto* view = std::get_if<ViewArg>(&n.args[i])) written_view(def, i, *view);
    }
    check(!n.inplace || traced(), "writes in place, in a graph that is not traced");
    check(def.writes.empty() || traced(), "writes its arguments, in a graph that is not traced");
    if (n.inplace)
      check(n.results.empty() && def.has_inplace && std::holds_alternative<ValueId>(n.args[0]), "is no in-place call");
    else
      check(def.twin_of ? n.results.size() == twin_results(def, n.args)
                        : def.n_made < 0 || static_cast<int>(n.results.size()) == def.n_made,
            "has ", n.results.size(), " results");
    for (std::size_t i = 0; i < n.results.size(); ++i) {
      define(n.results[i]);
      const Value& v = value(n.results[i]);
      check(v.node == static_cast<std::int32_t>(index) && v.result == i, "result ", i, " says it is made by node ",
            v.node, " as result ", v.result);
      layout(v.meta.layout);
    }
    results_match(n, def);
    ties(n);
    // A storage's value is its elements in order, row by row: what counts from the start of the storage reads it so.
    if (!traced() && graph::names_places(n.op))
      check(is_storage(std::get<ValueId>(n.args[0])), "its operand is not known to be row-major");
    loc_ = {};
  }
  /// What is asked to lie in another value's memory could: it is as large, of the same elements, and made later.
  void ties(const Node& n) const {
    check(n.tied.empty() || g_.form == Form::InPlace, "asks for a place, in a graph that is not in_place");
    check(n.tied.empty() || n.tied.size() == n.results.size(), "asks for ", n.tied.size(), " places of ",
          n.results.size(), " results");
    for (std::size_t i = 0; i < n.tied.size(); ++i) {
      if (!n.tied[i]) continue;
      use(n.tied[i]);
      check(value(n.tied[i]).node < value(n.results[i]).node, "result ", i, " is asked into a result beside it");
      const TensorMeta &have = g_.meta(n.results[i]), &want = g_.meta(n.tied[i]);
      bool fits = have.dtype == want.dtype && have.device == want.device && have.dim() == want.dim();
      for (int d = 0; fits && d < want.dim(); ++d) fits = equal_sizes(have.size(d), want.size(d));
      check(fits, "result ", i, " is ", dtype_name(have.dtype), " of sizes ", sizes_text(have.layout.sizes),
            ", and asked into the place of ", dtype_name(want.dtype), " of sizes ", sizes_text(want.layout.sizes));
      for (std::size_t k = 0; k < i; ++k)
        check(n.tied[k] != n.tied[i], "results ", k, " and ", i, " are asked into one place");
    }
  }
  bool is_storage(ValueId v) const {
    const Layout& l = value(v).meta.layout;
    return known_contiguous(l) && identical(l.offset, Int(0));
  }

  bool traced() const { return g_.form == Form::Traced; }

  /// Of elements: strides of dimensions of size 0 and 1 lead nowhere, and what is known of sizes may have grown since
  /// the rule was asked.
  static bool same_places(const Layout& a, const Layout& b) {
    for (Int n : a.sizes)
      if (n.hint() == 0) return true;
    for (std::size_t d = 0; d < a.sizes.size(); ++d)
      if (a.sizes[d].hint() > 1 && !equal_sizes(a.strides[d], b.strides[d])) return false;
    return equal_sizes(a.offset, b.offset);
  }

  /// The shape rule agrees on dtype, device and sizes; of views, and in traced graphs, on strides and offset, too.
  void results_match(const Node& n, const OpDef& def) const {
    std::vector<TensorMeta> made;
    try {
      made = result_metas(g_, def, n.args, n.info.loc);
      if (n.inplace) check_inplace(def, g_.meta(std::get<ValueId>(n.args[0])), made.at(0), n.info.loc);
    } catch (const Error& e) {
      check(false, "its shape rule refuses: ", e.message());
    }
    if (n.inplace) return;
    check(made.size() == n.results.size(), "its shape rule gives ", made.size(), " results");
    for (std::size_t i = 0; i < n.results.size(); ++i) {
      const TensorMeta &want = made[i], &have = g_.meta(n.results[i]);
      check(want.dtype == have.dtype, "result ", i, " is ", dtype_name(have.dtype), ", its shape rule gives ",
            dtype_name(want.dtype));
      check(want.device == have.device, "result ", i, " is on ", have.device.str(), ", its shape rule gives ",
            want.device.str());
      bool equal = want.dim() == have.dim();
      for (int d = 0; equal && d < want.dim(); ++d) equal = equal_sizes(want.size(d), have.size(d));
      check(equal, "result ", i, " has sizes ", sizes_text(have.layout.sizes), ", its shape rule gives ",
            sizes_text(want.layout.sizes));
      if (traced() || def.cls == OpClass::View)
        check(same_places(want.layout, have.layout), "result ", i, " has strides ", sizes_text(have.layout.strides),
              " and offset ", have.layout.offset, ", its rule gives ", sizes_text(want.layout.strides), " and ",
              want.layout.offset);
    }
  }

  /// Equal under the guards taken. Two expressions whose equality is beyond the prover pass if it held in the traced
  /// call.
  static bool equal_sizes(Int a, Int b) {
    if (identical(a, b)) return true;
    if (!a.is_symbolic() && !b.is_symbolic()) return false;
    return detail::compare_eq(a, b, {}).hint();
  }

  void output(std::size_t i) {
    const OutputSpec& o = g_.outputs[i];
    at(Mistake::In::Outputs, i);
    where_ = "output " + std::to_string(i);
    check(o.of < 0 || o.role == OutputSpec::Role::Gradient, "names what it is the gradient of, and is none");
    const bool handle = o.kind == OutputSpec::Kind::HandleOfInput;
    check(traced() ? handle || o.kind == OutputSpec::Kind::User : !handle,
          traced() ? "is no output of a traced graph" : "is one of a traced graph");
    bool aliases = o.kind == OutputSpec::Kind::AliasOfInput || o.kind == OutputSpec::Kind::AliasOfOutput;
    if (aliases) {
      check(!o.value, "an alias has a value");
      layout(o.layout);
      check(o.recipe.empty() ||
                o.source < (o.kind == OutputSpec::Kind::AliasOfInput ? g_.inputs.size() : g_.outputs.size()),
            "aliases what is not there");
      if (!o.recipe.empty()) recipe(o);
    } else {
      use(o.value);
    }
    if (o.kind == OutputSpec::Kind::AliasOfInput || o.kind == OutputSpec::Kind::NewValueOfInput || handle) {
      check(o.source < g_.inputs.size(), "names input ", o.source, " of ", g_.inputs.size());
    }
    if (handle) {
      const TensorMeta &now = g_.meta(o.value), &before = g_.meta(g_.inputs[o.source].value);
      check(now.dtype == before.dtype && now.device == before.device, "the handle of input ", o.source, " cannot be ",
            dtype_name(now.dtype), " on ", now.device.str());
      handles_.resize(g_.inputs.size());
      check(!handles_[o.source], "says again what the handle of input ", o.source, " is");
      handles_[o.source] = true;
    }
    if (o.kind == OutputSpec::Kind::AliasOfOutput) {
      check(o.source < g_.outputs.size() && o.source != i, "names output ", o.source, " of ", g_.outputs.size());
      check(bool(g_.outputs[o.source].value), "aliases output ", o.source, ", which has no buffer of its own");
    }
    if (o.kind == OutputSpec::Kind::NewValueOfInput) {
      const TensorMeta &have = g_.meta(o.value), &want = g_.meta(g_.inputs[o.source].value);
      bool equal = have.dtype == want.dtype && have.dim() == want.dim();
      for (int d = 0; equal && d < want.dim(); ++d) equal = equal_sizes(want.size(d), have.size(d));
      check(equal, "the new value has sizes ", sizes_text(have.layout.sizes), " (", dtype_name(have.dtype), "), input ",
            o.source, " has ", sizes_text(want.layout.sizes), " (", dtype_name(want.dtype), ")");
    }
  }

  /// Note [Written views] in graph/writers.h.
  void written_view(const OpDef& def, std::size_t i, const ViewArg& view) const {
    const std::string& name = def.schema.args[i].name;
    check(!traced() && def.twin_of && is_written(op(*def.twin_of), i), "argument '", name,
          "' is a view, and nothing that the functional twin of an operator writes");
    check(!view.steps.empty(), "argument '", name, "' is a view without a step");
    for (const ViewStep& s : view.steps) step(s, "argument '" + name + "'");
    try {
      layouts_of(g_, view, {});
    } catch (const Error& e) {
      check(false, "argument '", name, "': ", e.op(), " refuses: ", e.message());
    }
  }
  /// Of a recipe, or a view that is written: is it a view with what the schema wants behind the tensor?
  void step(const ViewStep& s, const std::string& whose) const {
    check(is_op(s.op) && op(s.op).cls == OpClass::View, whose, " has a step that is no view");
    const OpDef& def = op(s.op);
    check(s.args.size() + 1 == def.schema.args.size(), whose, ": ", def.schema.name, " has ", s.args.size(),
          " arguments behind the tensor");
    for (std::size_t i = 0; i < s.args.size(); ++i) {
      argument(def.schema.args[i + 1], s.args[i]);
      for_each_value(s.args[i], [&](ValueId) { check(false, whose, ": ", def.schema.name, " takes a second tensor"); });
    }
  }

  /// The views of the recipe, one after another, give the alias' sizes. (Its strides are what is known of them in all
  /// dimensions; a rule tells those of elements.)
  void recipe(const OutputSpec& o) {
    const ValueId source =
        o.kind == OutputSpec::Kind::AliasOfInput ? g_.inputs[o.source].value : g_.outputs[o.source].value;
    check(bool(source), "aliases what has no buffer");
    TensorMeta at = g_.meta(source);
    for (const ViewStep& step : o.recipe) {
      this->step(step, "its recipe");
      const OpDef& def = op(step.op);
      NodeRuleArgs rest(g_, step.args);
      std::vector<RuleArg> args{&at};
      args.insert(args.end(), rest.args().begin(), rest.args().end());
      try {
        Layout made = apply_view(def, args, at.layout, {});
        at.layout = std::move(made);
      } catch (const Error& e) {
        check(false, "its recipe's ", def.schema.name, " refuses: ", e.message());
      }
    }
    bool equal = at.dim() == o.layout.dim();
    for (int d = 0; equal && d < at.dim(); ++d)
      equal = equal_sizes(at.size(d), o.layout.sizes[static_cast<std::size_t>(d)]);
    check(equal, "its recipe gives sizes ", sizes_text(at.layout.sizes), ", not ", sizes_text(o.layout.sizes));
  }

  const Graph& g_;
  Mistake at_;  ///< no text: where it would be
  std::vector<bool> defined_, handles_;
  std::string where_;
  SourceLoc loc_;
};

}  // namespace

std::optional<Mistake> first_mistake(const Graph& g) { return Verifier(g).run(); }

void verify(const Graph& g, std::string_view after) {
  if (std::optional<Mistake> m = first_mistake(g))
    fail(ErrorCode::Internal, "verify", m->loc, "after ", after, ": ", m->text);
}

}  // namespace reprise::graph
