// Sections are read (docs/export_format.md). They may come from anywhere: whatever is wrong in them is one error.
#include "runtime/export/program.h"

#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "base/errors.h"
#include "base/shown.h"
#include "graph/parse_in.h"
#include "graph/register_op.h"
#include "graph/text.h"
#include "guards/expr.h"
#include "operators/read_back.h"
#include "runtime/export/layout_word.h"
#include "runtime/export/sections.h"
#include "tensor/impl.h"

namespace reprise::detail {

using nlohmann::json;

namespace {

constexpr std::pair<SpecLeaf::Kind, std::string_view> kSpecKinds[] = {
    {SpecLeaf::Kind::Tensor, "tensor"}, {SpecLeaf::Kind::Undefined, "undefined"}, {SpecLeaf::Kind::Int, "size"},
    {SpecLeaf::Kind::Float, "float"},   {SpecLeaf::Kind::Integer, "integer"},     {SpecLeaf::Kind::Number, "double"},
    {SpecLeaf::Kind::Flag, "bool"},     {SpecLeaf::Kind::Whole, "int"},           {SpecLeaf::Kind::Enum, "enum"},
    {SpecLeaf::Kind::Length, "length"}, {SpecLeaf::Kind::Presence, "presence"},   {SpecLeaf::Kind::Text, "text"},
};

/// SourceLoc and Guard want text that is never freed; the few of programs are kept for good.
const char* interned(std::string text) {
  static std::mutex mu;
  static auto& all = *new std::set<std::string>;
  std::lock_guard lock(mu);
  return all.insert(std::move(text)).first->c_str();
}

class Reader {
 public:
  Reader(Sections s, const std::string& from, const char* op, SourceLoc loc)
      : from_(from), op_(op), loc_(loc), p_(std::make_shared<Program>()) {
    p_->sections = std::move(s);
  }

  std::shared_ptr<Program> run() {
    check_sections(p_->sections, from_, op_, loc_);
    check_operators();
    try {
      signature();
      graph();
      check_numbers();
      guards();
      expressions();
    } catch (const json::exception& e) {
      bad(shown(e.what()));
    } catch (const std::invalid_argument& e) {
      bad(shown(e.what()));
    }
    p_->signature = signature_of(*p_);
    return std::move(p_);
  }

 private:
  template <class... Parts>
  [[noreturn]] void bad(const Parts&... parts) const {
    fail(ErrorCode::FileFormat, op_, loc_, "'", shown(from_), "': ", parts...);
  }
  const std::string& section(std::string_view name) const {
    const auto at = p_->sections.find(std::string(name));
    if (at == p_->sections.end()) bad("it has no section '", name, "'");
    return at->second;
  }

  void check_operators() {
    operators::read_back_op();
    graph::register_families();  // they are registered when they are first called, which nobody has done here
    json all;
    try {
      all = parsed(kOperatorsSection);
      if (!all.is_array()) bad("its operators are no list");
      for (const json& one : all) {
        const auto text = one.get<std::string>();
        const std::string name = text.substr(0, text.find('('));
        const graph::OpDef* known = nullptr;
        for (const graph::OpDef& o : graph::all_ops())
          if (o.schema.text.substr(0, o.schema.text.find('(')) == name) known = &o;
        if (!known)
          fail(ErrorCode::InvalidArgument, op_, loc_, "'", shown(from_), "' calls ", shown(text),
               ", and no operator of that name is registered: register it before the program is loaded");
        if (known->schema.text != text)
          fail(ErrorCode::InvalidArgument, op_, loc_, "'", shown(from_), "' calls ", shown(text),
               ", which is registered here as ", known->schema.text);
        p_->operators.push_back(text);
      }
    } catch (const json::exception& e) {
      bad(shown(e.what()));
    }
  }

  json parsed(std::string_view name) const {
    constexpr int kDeepest = 8;
    return json::parse(section(name), [&](int depth, json::parse_event_t, json&) {
      if (depth > kDeepest) bad("section '", name, "' nests too deep");
      return true;
    });
  }

  // ---- the signature

  /// A number in [0, n).
  template <class T = std::uint32_t>
  T below(const json& j, std::size_t n, const char* what) const {
    if (!j.is_number_integer() || j.get<std::int64_t>() < 0 || static_cast<std::uint64_t>(j.get<std::int64_t>()) >= n)
      bad(what, " is ", shown(j.dump(), 40), ", wanted a number below ", n);
    return static_cast<T>(j.get<std::int64_t>());
  }
  std::vector<std::uint32_t> list_below(const json& j, std::size_t n, const char* what) const {
    std::vector<std::uint32_t> all;
    if (!j.is_array()) bad(what, " are no list");
    for (const json& one : j) all.push_back(below(one, n, what));
    return all;
  }
  static std::int64_t number_or(const json& j, const char* key, std::int64_t otherwise) {
    return j.contains(key) ? j.at(key).get<std::int64_t>() : otherwise;
  }

  void signature() {
    const json s = parsed(kSignatureSection);
    p_->name = s.at("name").get<std::string>();
    const json& inputs = s.at("inputs");
    const json& symbols = s.at("symbols");
    constexpr std::size_t kMost = std::size_t{1} << 20, kMostSymbols = 10000;
    if (!inputs.is_array() || inputs.size() > kMost) bad("its inputs are no list, or too many");
    if (!symbols.is_array() || symbols.size() > kMostSymbols)
      bad("its symbols are no list, or more than ", kMostSymbols);
    for (const json& j : inputs) p_->inputs.push_back(input(j));
    for (const json& j : symbols) p_->symbols.push_back(symbol(j));
    for (const json& j : s.at("arguments")) p_->arguments.push_back(leaf(j));
    for (const json& j : s.at("results")) p_->results.push_back(leaf(j));
    for (const json& j : s.at("tensor_results")) p_->tensor_results.push_back(j.get<std::int32_t>());
    for (const json& j : s.at("number_results")) number_results_.push_back(j.get<std::string>());
    const std::size_t n = p_->inputs.size();
    if (s.contains("relations"))
      for (const json& j : s["relations"]) {
        constexpr std::string_view kNames[] = {"not_same", "same_storage", "other_storage", "overlap"};
        const auto kind = std::find(std::begin(kNames), std::end(kNames), j.at(0).get<std::string>());
        if (kind == std::end(kNames)) bad("an unknown relation '", shown(j.at(0).dump(), 40), "'");
        p_->relations.push_back({static_cast<Relation::Kind>(kind - std::begin(kNames)),
                                 below(j.at(1), n, "an input of a relation"),
                                 below(j.at(2), n, "an input of a relation")});
      }
    if (s.contains("same_as")) {
      p_->same_as = list_below(s["same_as"], n, "same_as");
      if (p_->same_as.size() != n) bad("same_as has ", p_->same_as.size(), " numbers for ", n, " inputs");
    }
    if (s.contains("random_count")) random_count_ = s["random_count"].get<std::string>();
    if (s.contains("assumed"))
      for (const json& j : s["assumed"])
        assumed_.emplace_back(j.at("sequence").get<std::int32_t>(), j.at("condition").get<std::string>());
    if (s.contains("joint")) {
      const json& j = s["joint"];
      p_->gradients = list_below(j.at("gradients"), n, "gradients");
      if (p_->gradients.size() > p_->tensor_results.size()) bad("it has more gradients than results");
      p_->loss = below<std::int32_t>(j.at("loss"), p_->user_results(), "the loss");
      p_->detached = list_below(j.at("detached"), p_->user_results(), "detached results");
    }
  }

  InputContract input(const json& j) const {
    InputContract in;
    in.name = j.at("name").get<std::string>();
    in.word = read_word(j);
    in.weight = j.value("weight", false), in.any = j.value("any", false);
    in.exact_strides = j.value("exact_strides", false), in.shown_strides = j.value("shown_strides", false);
    in.whole_storage = j.value("whole_storage", false);
    if (j.contains("tied_to")) in.tied_to = below<std::int32_t>(j["tied_to"], p_->inputs.size(), "tied_to");
    if (in.tied_to >= 0 && (!in.weight || !p_->inputs[static_cast<std::size_t>(in.tied_to)].weight))
      bad("input ", p_->inputs.size(), " is tied to one, and one of the two is no weight");
    return in;
  }

  SymbolFact symbol(const json& j) const {
    SymbolFact f;
    const auto of = j.at("of").get<std::string>();
    constexpr std::string_view kNames[] = {"size", "stride", "number", "seed", "offset", "data"};
    const auto kind = std::find(std::begin(kNames), std::end(kNames), of);
    if (kind == std::end(kNames)) bad("a symbol of an unknown kind '", shown(of, 40), "'");
    f.of = static_cast<SymbolFact::Of>(kind - std::begin(kNames));
    f.name = j.at("name").get<std::string>();
    if (f.of <= SymbolFact::Of::Stride) {
      f.at = below(j.at("at"), p_->inputs.size(), "the input of a symbol");
      f.dim = below(j.at("dim"), static_cast<std::size_t>(runtime::rank_of_word(p_->inputs[f.at].word)),
                    "the dimension of a symbol");
    } else {
      f.at = below(j.at("at"), 1 << 20, "the number of a symbol");
    }
    if (j.contains("declared")) f.declared = j["declared"].get<std::string>();
    f.hint = j.at("hint").get<std::int64_t>();
    f.lo = number_or(j, "min", INT64_MIN), f.hi = number_or(j, "max", INT64_MAX);
    f.multiple_of = number_or(j, "multiple_of", 1), f.at_most = number_or(j, "at_most", INT64_MAX);
    f.group = static_cast<std::uint32_t>(number_or(j, "group", 0));
    if (f.lo > f.hi || f.multiple_of < 1 || f.hint < f.lo || f.hint > f.hi || f.hint % f.multiple_of != 0 ||
        f.at_most < 0)
      bad("the bounds of symbol '", shown(f.name), "' do not hold for its own example");
    if (f.of <= SymbolFact::Of::Size && f.lo < 0) bad("size '", shown(f.name), "' may be negative");
    return f;
  }

  SpecLeaf leaf(const json& j) const {
    SpecLeaf l;
    l.path = j.at("path").get<std::string>();
    const auto kind = j.at("kind").get<std::string>();
    const auto at =
        std::find_if(std::begin(kSpecKinds), std::end(kSpecKinds), [&](auto& k) { return k.second == kind; });
    if (at == std::end(kSpecKinds)) bad("an argument or result of an unknown kind '", shown(kind, 40), "'");
    l.kind = at->first;
    l.bound = j.value("bound", false);
    if (j.contains("at")) l.at = below(j["at"], 1 << 24, "the number of an argument or result");
    l.word = number_or(j, "value", 0);
    if (j.contains("text")) l.text = j["text"].get<std::string>();
    return l;
  }

  // ---- the graph

  std::shared_ptr<guards::ShapeEnv> new_env() const {
    auto env = std::make_shared<guards::ShapeEnv>();
    for (std::uint32_t i = 0; i < p_->symbols.size(); ++i) {
      const SymbolFact& f = p_->symbols[i];
      if (f.of == SymbolFact::Of::Data) {
        const Int made = env->new_data_symbol(f.name, f.hint, f.lo, f.hi);
        if (made.is_symbolic()) env->place(made.expr(), static_cast<std::uint32_t>(p_->symbols.size()) + i);
      } else {
        env->new_symbol({i, f.name, f.at_most, f.group}, f.hint, f.lo, f.hi, f.multiple_of);
      }
    }
    return env;
  }

  void graph() {
    try {
      p_->graph = graph::parse_in(section(kGraphSection), [this] { return new_env(); });
    } catch (const Error& e) {
      if (e.code() == ErrorCode::OutOfMemory) throw;
      bad("its graph cannot be read: ", e.message());
    }
    graph::Graph& g = p_->graph;
    if (g.form != graph::Form::Functional) bad("its graph is not a functional one");
    if (g.env->symbols().size() != p_->symbols.size()) bad("its graph has symbols that its signature does not have");
    if (g.inputs.size() != p_->inputs.size())
      bad("its graph has ", g.inputs.size(), " inputs, and its signature ", p_->inputs.size());
    if (!g.metadata_mutations.empty()) bad("its graph changes sizes of its inputs");
    for (std::size_t i = 0; i < g.inputs.size(); ++i) {
      const TensorMeta& m = g.meta(g.inputs[i].value);
      const std::uint64_t w = p_->inputs[i].word;
      if (g.values[g.inputs[i].value.v].name != p_->inputs[i].name ||
          static_cast<std::uint64_t>(m.dtype) + 1 != (w & 0xff) || m.dim() != runtime::rank_of_word(w) ||
          static_cast<std::uint64_t>(m.device.type) != (w >> 32 & 0xff) || m.device.index != (w >> 40 & 0xff))
        bad("input ", i, " is another one in its graph than in its signature");
      for (const Int& size : m.layout.sizes)
        if (!size.is_symbolic() && size.hint() < 0) bad("input ", i, " has a negative size");
    }
    for (std::size_t i = 0; i < g.inputs.size(); ++i) p_->inputs[i].written = g.inputs[i].mutates_data;
    for (const graph::OutputSpec& o : g.outputs) {
      using Kind = graph::OutputSpec::Kind;
      if (o.kind == Kind::HandleOfInput) bad("its graph returns the handle of an input");
      if (o.kind == Kind::AliasOfOutput && !g.outputs.at(o.source).value)
        bad("an output of its graph is a view of one that is a view itself");
    }
  }

  void check_numbers() const {
    const graph::Graph& g = p_->graph;
    const auto inputs = static_cast<std::int32_t>(p_->inputs.size());
    for (const std::int32_t r : p_->tensor_results)
      if (r >= static_cast<std::int32_t>(g.outputs.size()) || r < input_itself(0) - std::max(inputs - 1, 0) ||
          (inputs == 0 && r < -1))
        bad("result ", r, " is no output of its graph");
    if (p_->number_results.size() > (1u << 20)) bad("it has too many results");
    for (const SymbolFact& f : p_->symbols)
      if (f.of >= SymbolFact::Of::Number && f.of <= SymbolFact::Of::Offset && f.at >= g.numbers.size())
        bad("symbol '", shown(f.name), "' is number ", f.at, " of ", g.numbers.size());
    std::vector<bool> given(p_->inputs.size());
    std::size_t numbers = 0;
    for (const SpecLeaf& l : p_->arguments) {
      if (l.kind == SpecLeaf::Kind::Tensor) {
        if (l.at >= p_->inputs.size() || given[l.at] || p_->inputs[l.at].weight != l.bound)
          bad("argument '", shown(l.path), "' is no input");
        given[l.at] = true;
      }
      if (!l.is_number()) continue;
      using Kind = graph::NumberInput::Kind;
      if (l.at != numbers++ || l.at >= g.numbers.size() ||
          (g.numbers[l.at].kind == Kind::Float) != (l.kind == SpecLeaf::Kind::Float) ||
          g.numbers[l.at].kind > Kind::Float)
        bad("argument '", shown(l.path), "' is no number of its graph");
    }
    for (std::size_t i = numbers; i < g.numbers.size(); ++i)
      if (g.numbers[i].kind <= graph::NumberInput::Kind::Float) bad("number ", i, " of its graph is no argument");
    for (std::size_t i = 0; i < given.size(); ++i)
      if (!given[i] && !p_->inputs[i].weight) bad("input ", i, " is neither an argument nor a weight");
    std::size_t tensors = 0, number_results = 0;
    for (const SpecLeaf& l : p_->results) {
      if (l.kind == SpecLeaf::Kind::Tensor || l.kind == SpecLeaf::Kind::Undefined) ++tensors;
      number_results += l.is_number();
      if (l.kind == SpecLeaf::Kind::Tensor && l.at >= p_->user_results())
        bad("result '", shown(l.path), "' is none of the tensors");
      if (l.is_number() && l.at >= number_results_.size()) bad("result '", shown(l.path), "' is none of the numbers");
    }
    if (tensors != p_->user_results() || number_results != number_results_.size())
      bad("its results are ", tensors, " tensors and ", number_results, " numbers, and its graph gives ",
          p_->user_results(), " and ", number_results_.size());
  }

  // ---- guards and other expressions

  const guards::Expr* expression(const std::string& text, const char* what) const {
    try {
      const guards::LibraryScope exact;
      const guards::Expr* e = p_->graph.env->parse(text);
      if (p_->graph.env->symbols().size() != p_->symbols.size()) bad(what, " '", shown(text), "' has unknown symbols");
      return e;
    } catch (const Error& e) {
      if (e.code() == ErrorCode::FileFormat) throw;
      bad(what, " '", shown(text), "': ", e.message());
    }
  }

  void guards() {
    guards::ShapeEnv& env = *p_->graph.env;
    const std::string& text = section(kGuardsSection);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      at = end + 1;
      const std::size_t cut = line.find("  ; ");
      if (cut == std::string::npos) bad("a guard is '", shown(line), "', without a reason");
      const guards::Expr* e = expression(line.substr(0, cut), "guard");
      std::string why = line.substr(cut + 4);
      SourceLoc where;
      if (const std::size_t comma = why.rfind(", "), colon = why.rfind(':');
          comma != std::string::npos && colon != std::string::npos && colon > comma) {
        where.file = interned(why.substr(comma + 2, colon - comma - 2));
        where.line = std::atoi(why.c_str() + colon + 1);
        why.resize(comma);
      }
      if (!e->is_bool() && !e->is_const()) bad("guard '", shown(line), "' is no condition");
      try {
        const guards::LibraryScope exact;
        if (!env.require(e, where, interned(std::move(why))))
          bad("guard '", shown(line), "' does not hold for the traced sizes");
      } catch (const Error& error) {
        if (error.code() == ErrorCode::FileFormat) throw;
        bad("guard '", shown(line), "': ", error.message());
      }
    }
    p_->guards = guards::GuardSet(env, static_cast<std::uint32_t>(p_->symbols.size()));
  }

  void expressions() {
    auto number = [&](const std::string& text, const char* what) {
      const guards::Expr* e = expression(text, what);
      if (e->is_bool()) bad(what, " '", shown(text), "' is a condition");
      return Int(e);
    };
    for (const std::string& text : number_results_) p_->number_results.push_back(number(text, "result"));
    if (!random_count_.empty()) p_->random_count = number(random_count_, "random_count");
    for (const auto& [sequence, text] : assumed_) {
      const guards::Expr* e = expression(text, "assumption");
      if (e->is_const()) continue;
      if (!e->is_bool()) bad("assumption '", shown(text), "' is no condition");
      p_->assumed.push_back({sequence, e});
    }
  }

  const std::string& from_;
  const char* const op_;
  const SourceLoc loc_;
  std::shared_ptr<Program> p_;
  std::vector<std::string> number_results_;
  std::string random_count_;
  std::vector<std::pair<std::int32_t, std::string>> assumed_;
};

}  // namespace

std::string_view spec_kind_name(SpecLeaf::Kind kind) {
  for (const auto& [k, name] : kSpecKinds)
    if (k == kind) return name;
  return "";
}

std::shared_ptr<Program> read_program(Sections s, const std::string& from, const char* op, SourceLoc loc) {
  return Reader(std::move(s), from, op, loc).run();
}

}  // namespace reprise::detail
