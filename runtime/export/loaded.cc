// A program is called (Note [Exported programs]).
#include "runtime/export/loaded.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <ostream>

#include "autograd/call.h"
#include "autograd/node.h"
#include "autograd/state.h"
#include "base/bail.h"
#include "base/errors.h"
#include "base/nearest.h"
#include "base/shown.h"
#include "graph/interpreter.h"
#include "guards/expr.h"
#include "reprise/autograd.h"
#include "reprise/cond.h"
#include "reprise/parameter.h"
#include "reprise/settings.h"
#include "runtime/export/layout_word.h"
#include "runtime/export/machine_code.h"
#include "runtime/front/compiled.h"
#include "runtime/trace/joint.h"
#include "tensor/impl.h"

namespace reprise::detail {

using guards::Expr;
using guards::ExprKind;
using OutputKind = graph::OutputSpec::Kind;

namespace {

/// One run of a program's graph.
class Run final : public OtherNodes {
 public:
  Run(const ProgramFunction& f, const std::vector<Tensor>& inputs, const std::vector<Scalar>& numbers,
      const std::vector<Int>& computed)
      : p_(*f.of), told_(f.told), inputs_(inputs) {
    std::optional<std::pair<Int, Int>> random;
    std::size_t next_computed = 0;
    for (const Expr* e : told_) {
      if (e->kind() != ExprKind::Symbol) {
        values_.push_back(computed[next_computed++]);
        continue;
      }
      const SymbolFact& s = p_.symbols[e->symbol()];
      switch (s.of) {
        case SymbolFact::Of::Size: values_.push_back(inputs[s.at].size(s.dim)); break;
        case SymbolFact::Of::Stride: values_.push_back(inputs[s.at].stride(s.dim)); break;
        case SymbolFact::Of::Number: values_.push_back(numbers[s.at].word()); break;
        default: values_.push_back(0);  // below, or at its read_back
      }
    }
    const bool draws = std::any_of(p_.symbols.begin(), p_.symbols.end(),
                                   [](const SymbolFact& s) { return s.of == SymbolFact::Of::Seed; });
    if (!draws) return;
    random = graph::next_random(this->numbers()(p_.random_count));
    for (std::size_t i = 0; i < told_.size(); ++i) {
      if (told_[i]->kind() != ExprKind::Symbol) continue;
      const SymbolFact::Of of = p_.symbols[told_[i]->symbol()].of;
      if (of == SymbolFact::Of::Seed) values_[i] = random->first;
      if (of == SymbolFact::Of::Offset) values_[i] = random->second;
    }
  }

  NumbersOf numbers() const { return NumbersOf(told_, values_); }

  ProgramFunction::Results run() {
    const SettingsOfGraphs said;
    const graph::Graph& g = p_.graph;
    std::vector<Tensor> made = call_graph(g, inputs_, numbers(), this);
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (!g.outputs[i].value) continue;
      if (is_input_memory(g.outputs[i].value)) made[i] = made[i].clone();
      if (known_contiguous(g.meta(g.outputs[i].value).layout)) made[i] = row_major(made[i]);
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
      const graph::OutputSpec& o = g.outputs[i];
      if (o.kind == OutputKind::AliasOfInput) made[i] = view(inputs_[o.source], o);
      if (o.kind == OutputKind::AliasOfOutput) made[i] = view(made[o.source], o);
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
      const graph::OutputSpec& o = g.outputs[i];
      if (o.kind != OutputKind::NewValueOfInput) continue;
      inputs_[o.source].copy_(made[i]);
    }
    ProgramFunction::Results results;
    for (const std::int32_t r : p_.tensor_results)
      results.tensors.push_back(r == -1  ? Tensor()
                                : r < -1 ? inputs_[static_cast<std::size_t>(-2 - r)]
                                         : made[static_cast<std::size_t>(r)]);
    for (const Int& n : p_.number_results) results.numbers.push_back(numbers()(n));
    return results;
  }

  std::vector<Tensor> call(const graph::Node& n, std::span<const Tensor> values, const NumbersOf& numbers) override {
    if (n.results.empty()) return read_back(n, values);
    if (graph::op(n.op).twin_of) return write(n, values, numbers);
    bail(Bail::asks_state, graph::op(n.op).schema.name.c_str(), n.info.loc);
  }

 private:
  /// Operators choose the strides of dims of size 1 otherwise where they compute instead of writing.
  static Tensor row_major(const Tensor& t) {
    const Ints strides = contiguous_strides(t.sizes());
    const IntArrayRef now = t.strides();
    if (std::equal(now.begin(), now.end(), strides.begin(), strides.end())) return t;
    return t.is_contiguous() ? t.as_strided(t.sizes(), strides, t.storage_offset()) : t;
  }
  /// Does the value show an input's elements? A result has its own.
  bool is_input_memory(graph::ValueId v) const {
    const graph::Graph& g = p_.graph;
    for (;;) {
      const graph::Value& value = g.values[v.v];
      if (value.node < 0) return true;
      const graph::Node& n = g.nodes[static_cast<std::size_t>(value.node)];
      const auto* self = n.args.empty() ? nullptr : std::get_if<graph::ValueId>(&n.args[0]);
      if (graph::op(n.op).cls != graph::OpClass::View || !self) return false;
      v = *self;
    }
  }

  Tensor apply(Tensor t, const std::vector<graph::ViewStep>& steps) const {
    for (const graph::ViewStep& s : steps) {
      std::deque<Ints> ints;
      std::vector<graph::CallArg> args{&t};
      for (const graph::NodeArg& a : s.args) args.push_back(without_tensors(a, numbers(), ints));
      Tensor made = graph::calln(s.op, args, {})[0];
      t = std::move(made);
    }
    return t;
  }
  Tensor view(const Tensor& of, const graph::OutputSpec& o) const {
    return o.recipe.empty() ? of.alias() : apply(of, o.recipe);
  }

  // The number's symbol here is the one that reading it makes.
  std::vector<Tensor> read_back(const graph::Node& n, std::span<const Tensor> values) {
    const auto number = static_cast<std::uint32_t>(std::get<Int>(n.args.at(1)).hint());
    const Scalar read = values[std::get<graph::ValueId>(n.args.at(0)).v].item(n.info.loc);
    for (std::size_t i = 0; i < told_.size(); ++i)
      if (told_[i]->kind() == ExprKind::Symbol) {
        const SymbolFact& s = p_.symbols[told_[i]->symbol()];
        if (s.of == SymbolFact::Of::Data && s.at == number) values_[i] = read.word();
      }
    return {};
  }

  // An operator that writes, on copies of what it writes: their new contents, then what it makes.
  std::vector<Tensor> write(const graph::Node& n, std::span<const Tensor> values, const NumbersOf& numbers) {
    const graph::OpDef& writer = graph::op(*graph::op(n.op).twin_of);
    std::deque<Tensor> tensors;
    std::deque<std::vector<Tensor>> lists;
    std::deque<Ints> ints;
    std::vector<graph::CallArg> args;
    std::vector<Tensor> results;
    std::vector<std::pair<graph::ValueId, Tensor>> copies;  // one for all views of a value
    auto copy_of = [&](graph::ValueId v) {
      for (const auto& [known, copy] : copies)
        if (known == v) return copy;
      copies.emplace_back(v, values[v.v].clone());
      results.push_back(copies.back().second);
      return results.back();
    };
    for (std::uint32_t i = 0; i < n.args.size(); ++i) {
      const bool written = std::find(writer.writes.begin(), writer.writes.end(), i) != writer.writes.end();
      const graph::NodeArg& a = n.args[i];
      if (auto* w = std::get_if<graph::ViewArg>(&a)) {
        tensors.push_back(apply(copy_of(w->base), w->steps));
        args.push_back(&tensors.back());
      } else if (auto* v = std::get_if<graph::ValueId>(&a)) {
        tensors.push_back(!*v ? Tensor() : written ? copy_of(*v) : values[v->v]);
        args.push_back(&tensors.back());
      } else if (auto* l = std::get_if<std::vector<graph::ValueId>>(&a)) {
        std::vector<Tensor>& list = lists.emplace_back();
        for (graph::ValueId x : *l) list.push_back(x ? (written ? values[x.v].clone() : values[x.v]) : Tensor());
        if (written) results.insert(results.end(), list.begin(), list.end());
        args.push_back(TensorArrayRef(list));
      } else {
        args.push_back(without_tensors(a, numbers, ints));
      }
    }
    std::vector<Tensor> given = graph::calln(writer.id, args, n.info.loc);
    for (std::size_t r = 0; r < given.size(); ++r)
      if (r >= writer.returns.size() || writer.returns[r] < 0) results.push_back(std::move(given[r]));
    return results;
  }

  const Program& p_;
  const std::vector<const Expr*>& told_;
  const std::vector<Tensor>& inputs_;
  std::vector<Int> values_;
};

/// What the graph means is in it: casts that the thread's settings would add are not.
struct PlainSettings {
  std::optional<AutocastScope> no_casts;
  std::optional<DefaultDTypeScope> floats;
  PlainSettings() {
    if (autocast_dtype()) no_casts.emplace(*autocast_dtype(), false);
    if (get_default_dtype() != kFloat32) floats.emplace(kFloat32);
  }
};

/// "layers[0].w_" as "layers.0.w".
std::string plain_path(std::string_view path) {
  std::string s;
  for (char c : path) {
    if ((c == '[' || c == '.') && s.ends_with('_')) s.pop_back();
    if (c == '[') s += '.';
    else if (c != ']' && c != '"') s += c;
  }
  if (s.ends_with('_')) s.pop_back();
  return s;
}

}  // namespace

ProgramFunction::ProgramFunction(std::shared_ptr<const Program> p) : of(std::move(p)) {
  told = NumbersOf::of(of->graph);
  for (const graph::OutputSpec& o : of->graph.outputs)
    for (const graph::ViewStep& s : o.recipe)
      for (const graph::NodeArg& a : s.args) NumbersOf::add(a, told);
  for (const Int& n : of->number_results) NumbersOf::add(n, told);
  NumbersOf::add(of->random_count, told);
}

ProgramFunction::Results ProgramFunction::operator()(const std::vector<Tensor>& inputs,
                                                     const std::vector<Scalar>& numbers,
                                                     const std::vector<Int>& computed) const {
  const PlainSettings plain;
  return Run(*this, inputs, numbers, computed).run();
}

// ---- calls

struct LoadedFunction::Arguments {
  std::vector<Tensor> inputs;
  std::vector<Scalar> numbers;
  std::vector<Int> computed;
};

LoadedFunction::LoadedFunction(std::shared_ptr<const Program> p, CompileOptions options)
    : program(p), weights(p->inputs.size()), told(ProgramFunction(p).told), function(ProgramFunction(p), [&] {
        if (options.name.empty()) options.name = p->name;
        options.arguments = {"inputs", "numbers", "computed"};
        return std::move(options);
      }()) {
  describe_traces(*compiled_of(function), [p](Traced& t) {
    for (std::size_t i = 0; i < p->inputs.size() && i < t.graph.inputs.size(); ++i) {
      t.graph.inputs[i].kind = p->graph.inputs[i].kind;
      t.graph.values[t.graph.inputs[i].value.v].name = p->inputs[i].name;
    }
  });
}

namespace {
constexpr const char* kCall = "load_program";

[[noreturn]] void refuse(const Program& p, const std::string& why) {
  fail(ErrorCode::InvalidArgument, p.name.c_str(), {}, why, "; it is called as ", p.signature.in_spec);
}

/// Is what a call gives what the program was traced with?
bool is_constant(const SpecLeaf& l, const GivenArguments::Leaf& g) {
  using Kind = GivenArguments::Leaf::Kind;
  if (l.kind == SpecLeaf::Kind::Text) return g.kind == Kind::Text && g.text == l.text;
  return g.kind == Kind::Constant && static_cast<std::int64_t>(g.word) == l.word;
}
std::optional<Scalar> number_of(const SpecLeaf& l, const GivenArguments::Leaf& g) {
  using Kind = GivenArguments::Leaf::Kind;
  Scalar s;
  if (g.kind == Kind::Int) s = Scalar(g.integer);
  else if (g.kind == Kind::Scalar) s = g.number;
  else if (g.kind == Kind::Constant && g.constant == ConstantKind::Number) s = Scalar(std::bit_cast<double>(g.word));
  else if (g.kind == Kind::Constant && g.constant == ConstantKind::Integer)
    s = Scalar(static_cast<std::int64_t>(g.word));
  else return std::nullopt;
  if (l.kind == SpecLeaf::Kind::Float) return Scalar(s.to_double({}));
  return s.kind() == Scalar::Kind::Int ? std::optional(s) : std::nullopt;
}
}  // namespace

LoadedFunction::Arguments LoadedFunction::arguments(const GivenArguments& given) const {
  const Program& p = *program;
  using Kind = GivenArguments::Leaf::Kind;
  std::vector<const GivenArguments::Leaf*> leaves;
  for (const GivenArguments::Leaf& l : given.all)
    if (l.kind != Kind::Length) leaves.push_back(&l);
  std::vector<const SpecLeaf*> all, variable;
  for (const SpecLeaf& l : p.arguments) {
    if (l.bound || l.kind == SpecLeaf::Kind::Length || l.kind == SpecLeaf::Kind::Presence) continue;
    all.push_back(&l);
    if (!l.is_constant()) variable.push_back(&l);
  }
  const bool whole = leaves.size() == all.size();
  if (!whole && leaves.size() != variable.size())
    refuse(p, "it is called with " + std::to_string(leaves.size()) + " tensors and numbers, wanted " +
                  std::to_string(variable.size()));
  Arguments a{weights, std::vector<Scalar>(p.graph.numbers.size()), {}};
  for (const SpecLeaf& l : p.arguments)
    if (l.bound && l.is_number())
      a.numbers[l.at] = (l.kind == SpecLeaf::Kind::Float ? Scalar(0.0) : Scalar(0)).with_word(l.word);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const SpecLeaf& l = whole ? *all[i] : *variable[i];
    const GivenArguments::Leaf& g = *leaves[i];
    if (l.kind == SpecLeaf::Kind::Tensor || l.kind == SpecLeaf::Kind::Undefined) {
      if (g.kind != Kind::Tensor) refuse(p, l.path + " is no tensor");
      if (g.tensor->defined() != (l.kind == SpecLeaf::Kind::Tensor))
        refuse(p, l.path + (g.tensor->defined() ? " is a tensor, and was undefined when it was exported"
                                                : " is undefined, and was a tensor when it was exported"));
      if (l.kind == SpecLeaf::Kind::Tensor) a.inputs[l.at] = *g.tensor;
    } else if (l.is_number()) {
      const std::optional<Scalar> n = number_of(l, g);
      if (!n) refuse(p, l.path + " is no " + std::string(l.kind == SpecLeaf::Kind::Float ? "number" : "integer"));
      a.numbers[l.at] = *n;
    } else if (!is_constant(l, g)) {
      refuse(p, l.path + " is another constant than the one that it was exported with");
    }
  }
  check(a);
  return a;
}

void LoadedFunction::check_input(std::size_t i, const Tensor& t, const char* op, SourceLoc loc) const {
  if (t.impl()->trace) bail(Bail::asks_state, op, loc);
  detail::check_input(*program, i, *t.impl(), op, loc);
}

namespace {
std::vector<std::int64_t> words_of(const std::vector<Scalar>& numbers) {
  std::vector<std::int64_t> words;
  for (const Scalar& n : numbers) words.push_back(n.word().hint());
  return words;
}
std::vector<const TensorImpl*> impls_of(const std::vector<Tensor>& inputs) {
  std::vector<const TensorImpl*> impls;
  for (const Tensor& t : inputs) impls.push_back(t.impl());
  return impls;
}
}  // namespace

void LoadedFunction::check(const Arguments& a) const {
  for (const Tensor& t : a.inputs)
    if (t.defined() && t.impl()->trace) bail(Bail::asks_state, program->name.c_str(), {});
  check_call(*program, impls_of(a.inputs), words_of(a.numbers));
}

namespace {
/// What is told and computed in another way than integers are.
std::vector<Int> computed_of(const Program& p, const std::vector<const Expr*>& told, const std::vector<Tensor>& inputs,
                             const std::vector<Scalar>& numbers) {
  std::vector<Int> all;
  if (std::all_of(told.begin(), told.end(), [](const Expr* e) { return e->kind() == ExprKind::Symbol; })) return all;
  guards::ExprProgram program;
  std::vector<std::uint32_t> slots;
  for (const Expr* e : told)
    if (e->kind() != ExprKind::Symbol) slots.push_back(program.add(e));
  std::vector<std::int64_t> words = symbol_words(p, impls_of(inputs), words_of(numbers)), values(program.size());
  program.evaluate(words.data(), values.data());
  for (const std::uint32_t s : slots) all.push_back(values[s]);
  return all;
}
}  // namespace

namespace {
/// Where a derivative through a loaded program ends, with the reason.
struct NoDerivative final : autograd::Node {
  explicit NoDerivative(const std::string& of) : Node({}), of(of) {}
  std::string name() const override { return of; }
  std::vector<Tensor> apply(std::vector<Tensor>, autograd::Needed) override {
    fail(ErrorCode::InvalidArgument, of.c_str(), {},
         "the program was exported without its derivative, which its graph does not tell: export it with trace_joint, "
         "or by export_joint; or call it under NoGradScope");
  }
  const std::string of;
};

/// Results of a call that gradients are wanted through say that there are none, once they are asked for one.
void refuse_derivatives(const Program& p, const std::vector<Tensor>& inputs, const std::vector<Tensor>& results) {
  if (!is_grad_enabled() || !p.gradients.empty()) return;
  std::vector<autograd::Edge> next;
  for (const Tensor& t : inputs)
    if (t.requires_grad()) next.push_back(autograd::edge_of(t));
  if (next.empty()) return;
  const auto node = std::make_shared<NoDerivative>(p.name);
  node->next = std::move(next);
  for (const Tensor& t : results) {
    if (!t.defined() || !is_floating(t.dtype()) || t.requires_grad()) continue;
    if (std::any_of(inputs.begin(), inputs.end(), [&](const Tensor& in) { return in.impl() == t.impl(); })) continue;
    node->results.push_back(autograd::meta_of_result(t));
    autograd::set_made_by(t, node, static_cast<std::uint32_t>(node->results.size() - 1));
  }
}
}  // namespace

ProgramResults LoadedFunction::run(const GivenArguments& given) const {
  const Program& p = *program;
  Arguments a = arguments(given);
  a.computed = computed_of(p, told, a.inputs, a.numbers);
  ProgramFunction::Results made = [&] {
    const NoGradScope off;  // the graph does not say where the function had gradients off, or detached a tensor
    return function(a.inputs, a.numbers, a.computed);
  }();
  refuse_derivatives(p, a.inputs, made.tensors);
  ProgramResults results;
  const std::size_t user = p.user_results();
  for (std::size_t i = 0; i < user; ++i) results.tensors.push_back(std::move(made.tensors[i]));
  for (std::size_t k = 0; k < p.gradients.size(); ++k)
    results.gradients.emplace(p.inputs[p.gradients[k]].name, std::move(made.tensors[user + k]));
  for (const SpecLeaf& l : p.results) {
    if (!l.is_number()) continue;
    const Scalar kind = l.kind == SpecLeaf::Kind::Float ? Scalar(0.0) : Scalar(0);
    results.numbers.push_back(kind.with_word(made.numbers[l.at]));
  }
  return results;
}

WarmedUp LoadedFunction::warm(const GivenArguments& given) const {
  Arguments a = arguments(given);
  a.computed = computed_of(*program, told, a.inputs, a.numbers);
  const NoGradScope off;
  return function.warm_up(a.inputs, a.numbers, a.computed);
}

std::shared_ptr<const LoadedFunction> LoadedFunction::bind(const std::map<std::string, Tensor>& named,
                                                           SourceLoc loc) const {
  const Program& p = *program;
  auto made = std::make_shared<LoadedFunction>(*this);
  std::map<std::string, std::size_t> by_path;
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < p.inputs.size(); ++i)
    if (p.inputs[i].weight) {
      by_path.emplace(plain_path(p.inputs[i].name), i);
      names.push_back(p.inputs[i].name);
    }
  for (const auto& [name, t] : named) {
    if (t.defined() && is_shape_only(t.device())) continue;
    const auto at = by_path.find(plain_path(name));
    if (at == by_path.end())
      fail(ErrorCode::InvalidArgument, "bind", loc, "'", shown(name), "' is no weight of ", p.name,
           names.empty() ? ", which has none" : "; did you mean '" + std::string(nearest_name(name, names)) + "'?");
    if (!t.defined()) fail(ErrorCode::InvalidArgument, "bind", loc, "'", shown(name), "' is undefined");
    check_input(at->second, t, "bind", loc);
    made->weights[at->second] = t;
    const std::int32_t tied = p.inputs[at->second].tied_to;
    for (std::size_t i = 0; i < p.inputs.size(); ++i)
      if (tied < 0 && p.inputs[i].tied_to == static_cast<std::int32_t>(at->second)) made->weights[i] = t;
  }
  return made;
}

}  // namespace reprise::detail

namespace reprise {

const GraphSignature& ExportedProgram::signature() const { return program_->signature; }
const std::string& ExportedProgram::name() const { return program_->name; }
std::string ExportedProgram::graph() const { return graph::print(program_->graph); }
std::vector<std::string> ExportedProgram::guards() const { return detail::guard_texts(*program_); }
void ExportedProgram::print_readable(std::ostream& out) const { detail::print_readable(*program_, out); }
void ExportedProgram::print_tabular(std::ostream& out) const { detail::print_tabular(*program_, out); }
void ExportedProgram::print_sequence_table(std::ostream& out) const { detail::print_sequence_table(*program_, out); }
void ExportedProgram::save(const std::string& path, const std::string& beside, SourceLoc loc) const {
  detail::save_program(*program_, path, beside, loc);
}
ExportedProgram ExportedProgram::compile(const CodeOptions& options, SourceLoc loc) const {
  auto made = std::make_shared<detail::Program>(*program_);
  for (const std::string& level : options.levels) made->code[level] = detail::machine_code(program_, level, loc);
  return detail::ProgramAccess::exported(std::move(made));
}
LoadedProgram ExportedProgram::program(CompileOptions options) const {
  if (options.name == CompileOptions().name) options.name = "";
  auto f = std::make_shared<detail::LoadedFunction>(program_, std::move(options));
  return detail::ProgramAccess::loaded(f->bind(program_->weights, {}));
}

const GraphSignature& LoadedProgram::signature() const { return function_->program->signature; }
const std::string& LoadedProgram::name() const { return function_->program->name; }
std::string LoadedProgram::graph() const { return graph::print(function_->program->graph); }
std::vector<std::string> LoadedProgram::guards() const { return detail::guard_texts(*function_->program); }
void LoadedProgram::print_readable(std::ostream& out) const { detail::print_readable(*function_->program, out); }
void LoadedProgram::print_tabular(std::ostream& out) const { detail::print_tabular(*function_->program, out); }
void LoadedProgram::print_sequence_table(std::ostream& out) const {
  detail::print_sequence_table(*function_->program, out);
}
ProgramResults LoadedProgram::run(const detail::GivenArguments& given) const { return function_->run(given); }
WarmedUp LoadedProgram::warm(const detail::GivenArguments& given) const { return function_->warm(given); }
LoadedProgram LoadedProgram::bind(const std::map<std::string, Tensor>& weights, SourceLoc loc) const {
  return LoadedProgram(function_->bind(weights, loc));
}
LoadedProgram LoadedProgram::bind(const SafeTensors& file, SourceLoc loc) const {
  std::map<std::string, Tensor> weights;
  for (const std::string& name : file.names()) weights.emplace(name, file.at(name, loc));
  return bind(weights, loc);
}
std::map<std::string, Tensor> LoadedProgram::weights() const {
  std::map<std::string, Tensor> all;
  for (std::size_t i = 0; i < function_->weights.size(); ++i)
    if (function_->weights[i].defined()) all.emplace(function_->program->inputs[i].name, function_->weights[i]);
  return all;
}
void LoadedProgram::seal() { detail::seal(*detail::compiled_of(function_->function)); }
void LoadedProgram::profile(bool on) { detail::profile(*detail::compiled_of(function_->function), on); }
Stats LoadedProgram::stats() const { return function_->function.stats(); }
std::string LoadedProgram::explain(Detail detail) const { return function_->function.explain(detail); }

}  // namespace reprise
