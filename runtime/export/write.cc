// The texts of a traced call (docs/export_format.md).
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/errors.h"
#include "base/hash.h"
#include "base/shown.h"
#include "graph/op.h"
#include "guards/expr.h"
#include "runtime/export/capture.h"
#include "runtime/export/layout_word.h"
#include "runtime/export/sections.h"
#include "tensor/impl.h"

namespace reprise::detail {

using nlohmann::json;

namespace {

constexpr std::string_view kOfModule = "module.";

/// A module's tensors are called by their paths in it.
std::string outside_module(const std::string& name, bool module) {
  return module && name.starts_with(kOfModule) ? name.substr(kOfModule.size()) : name;
}

json leaf(const SpecLeaf& l, bool module) {
  json j{{"path", outside_module(l.path, module && l.bound)}, {"kind", spec_kind_name(l.kind)}};
  if (l.kind == SpecLeaf::Kind::Tensor || l.is_number()) j["at"] = l.at;
  if (l.bound) j["bound"] = true;
  if (l.kind == SpecLeaf::Kind::Text) j["text"] = l.text;
  else if (l.is_constant() || (l.is_number() && l.bound)) j["value"] = l.word;
  return j;
}
json leaves(const std::vector<SpecLeaf>& all, bool module) {
  json j = json::array();
  for (const SpecLeaf& l : all) j.push_back(leaf(l, module));
  return j;
}

void collect_operators(const graph::Graph& g, std::set<graph::OpId>& all) {
  auto step = [&](const graph::ViewStep& s) { all.insert(s.op); };
  for (const graph::Node& n : g.nodes) {
    all.insert(n.op);
    for (const graph::NodeArg& a : n.args) {
      if (auto* w = std::get_if<graph::ViewArg>(&a)) std::for_each(w->steps.begin(), w->steps.end(), step);
      if (auto* r = std::get_if<graph::Region>(&a)) collect_operators(**r, all);
    }
  }
  for (const graph::OutputSpec& o : g.outputs) std::for_each(o.recipe.begin(), o.recipe.end(), step);
}

json operators_of(const graph::Graph& g) {
  std::set<graph::OpId> all;
  collect_operators(g, all);
  json j = json::array();
  for (const graph::OpId id : all)
    if (static_cast<std::size_t>(id) >= graph::kBuiltinOps) j.push_back(graph::op(id).schema.text);
  return j;
}

class Writer {
 public:
  Writer(const CapturedCall& c, SourceLoc loc) : c_(c), t_(c.traced), g_(c.traced.graph), loc_(loc) {
    g_.name = c.options.name;
    for (graph::Value& v : g_.values) v.name = outside_module(v.name, c.module);
    n_arguments_ = c.values.size();
  }

  Sections sections() {
    guards::ShowExpressions expressions;
    json s;
    s["name"] = c_.options.name;
    s["symbols"] = symbols();
    s["inputs"] = inputs();
    s["arguments"] = leaves(c_.arguments, c_.module);
    s["results"] = leaves(c_.results, false);
    s["tensor_results"] = t_.tensor_results;
    s["number_results"] = json::array();
    for (Int i : t_.int_results) s["number_results"].push_back(i.str());
    if (!t_.relations.empty()) {
      constexpr const char* kNames[] = {"not_same", "same_storage", "other_storage", "overlap"};
      for (const Relation& r : t_.relations)
        s["relations"].push_back(json::array({kNames[static_cast<int>(r.kind)], r.a, r.b}));
    }
    if (!t_.same_as.empty()) s["same_as"] = t_.same_as;
    if (t_.uses_random) s["random_count"] = t_.random_count.str();
    for (const auto& [sequence, condition] : t_.assumed)
      s["assumed"].push_back({{"sequence", sequence}, {"condition", guards::to_string(condition)}});
    if (c_.options.trace_joint)
      s["joint"] = {{"loss", c_.options.loss}, {"gradients", c_.gradients}, {"detached", c_.detached}};
    Sections all;
    all[std::string(kSignatureSection)] = s.dump();
    all[std::string(kGraphSection)] = graph::print(g_);
    all[std::string(kGuardsSection)] = guards();
    all[std::string(kOperatorsSection)] = operators_of(g_).dump();
    all[std::string(kVersionSection)] = version_text();
    all[std::string(kHashSection)] = hash_of(all);
    return all;
  }

  std::map<std::string, Tensor> weights() const {
    std::map<std::string, Tensor> all;
    for (std::size_t i = 0; i < g_.inputs.size(); ++i) {
      if (!is_weight(i) || tied_to(i) >= 0) continue;
      Tensor t = value(i);
      if (t.defined() && !is_shape_only(t.device())) all.emplace(name(i), std::move(t));
    }
    return all;
  }

 private:
  const std::string& name(std::size_t input) const { return g_.values[g_.inputs[input].value.v].name; }
  /// The caller's own tensor, or the captured one.
  Tensor value(std::size_t input) const {
    if (input < n_arguments_) return c_.values[input];
    const Captured& captured = t_.captured[input - n_arguments_];
    TensorImpl* now = captured.now();
    return now ? Tensor::share(now) : Tensor();
  }
  bool is_weight(std::size_t input) const {
    if (input >= n_arguments_) return true;
    const auto at = std::find_if(c_.arguments.begin(), c_.arguments.end(),
                                 [&](const SpecLeaf& l) { return l.kind == SpecLeaf::Kind::Tensor && l.at == input; });
    return at != c_.arguments.end() && at->bound;
  }
  std::int32_t tied_to(std::size_t input) const {
    const Tensor t = value(input);
    for (std::size_t j = 0; j < input; ++j)
      if (is_weight(j) && value(j).impl() == t.impl()) return static_cast<std::int32_t>(j);
    return -1;
  }

  json symbols() const {
    json all = json::array();
    const guards::ShapeEnv& env = *g_.env;
    for (std::uint32_t i = 0; i < env.symbols().size(); ++i) {
      const guards::Symbol& symbol = env.symbols()[i];
      const guards::ShapeEnv::Declared declared = env.declared(symbol);
      json j{{"hint", symbol.hint}};
      describe(j, i, symbol);
      if (declared.lo != INT64_MIN) j["min"] = declared.lo;
      if (declared.hi != INT64_MAX) j["max"] = declared.hi;
      if (declared.multiple_of != 1) j["multiple_of"] = declared.multiple_of;
      if (symbol.source.at_most != INT64_MAX) j["at_most"] = symbol.source.at_most;
      if (symbol.source.group) j["group"] = symbol.source.group;
      all.push_back(std::move(j));
    }
    return all;
  }

  void describe(json& j, std::uint32_t number, const guards::Symbol& symbol) const {
    j["name"] = outside_module(symbol.source.name, c_.module);
    for (std::size_t k = 0; k < t_.data.size(); ++k)
      if (t_.data[k].symbol.is_symbolic() && t_.data[k].symbol.expr()->symbol() == number) {
        j["of"] = "data", j["at"] = k;
        return;
      }
    for (std::size_t k = 0; k < g_.numbers.size(); ++k)
      if (g_.numbers[k].symbol == number) {
        using Kind = graph::NumberInput::Kind;
        const Kind kind = g_.numbers[k].kind;
        j["of"] = kind == Kind::Seed ? "seed" : kind == Kind::Offset ? "offset" : "number";
        j["at"] = k;
        return;
      }
    for (std::size_t i = 0; i < t_.input_values.size(); ++i) {
      const auto [first, count] = t_.input_values[i];
      const std::uint32_t word = symbol.source.word;
      if (word < first || word >= first + count) continue;
      const auto rank = static_cast<std::uint32_t>(runtime::rank_of_word(t_.input_words[i]));
      const bool size = word - first < rank;
      j["of"] = size ? "size" : "stride", j["at"] = i, j["dim"] = (word - first) % rank;
      if (size)
        for (const NamedSize& s : c_.options.sizes)
          if (s.argument == name(i) &&
              static_cast<std::uint32_t>(s.dim < 0 ? s.dim + static_cast<int>(rank) : s.dim) == word - first)
            j["declared"] = s.size.name;
      return;
    }
    fail(ErrorCode::Internal, "export_program", loc_, "nobody knows what ", symbol.source.name, " is");
  }

  json inputs() const {
    json all = json::array();
    auto has = [](const std::vector<std::uint32_t>& list, std::size_t i) {
      return std::find(list.begin(), list.end(), i) != list.end();
    };
    for (std::size_t i = 0; i < g_.inputs.size(); ++i) {
      json j{{"name", name(i)}};
      write_word(j, t_.input_words[i]);
      if (is_weight(i)) j["weight"] = true;
      if (has(t_.unused, i)) j["any"] = true;
      if (has(t_.exact_strides, i)) j["exact_strides"] = true;
      if (has(t_.shown_strides, i)) j["shown_strides"] = true;
      if (has(t_.whole_storage, i)) j["whole_storage"] = true;
      if (is_weight(i))
        if (const std::int32_t tied = tied_to(i); tied >= 0) j["tied_to"] = tied;
      all.push_back(std::move(j));
    }
    return all;
  }

  std::string guards() const {
    std::string text;
    for (const guards::Guard& g : g_.env->guards()) {
      text += guards::to_string(g.condition) + "  ; " + g.why;
      if (g.where) {
        const std::string_view file = g.where.file;
        text += ", " + std::string(file.substr(file.find_last_of('/') + 1)) + ":" + std::to_string(g.where.line);
      }
      text += "\n";
    }
    return text;
  }

  const CapturedCall& c_;
  const Traced& t_;
  graph::Graph g_;
  const SourceLoc loc_;
  std::size_t n_arguments_ = 0;
};

}  // namespace

std::shared_ptr<const Program> write_program(CapturedCall c, SourceLoc loc) {
  Writer w(c, loc);
  std::shared_ptr<Program> p;
  try {
    p = read_program(w.sections(), c.options.name, "export_program", loc);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::FileFormat) throw;
    fail(ErrorCode::Internal, "export_program", loc, "what was written cannot be read: ", e.message());
  } catch (const json::exception& e) {
    fail(ErrorCode::InvalidArgument, "export_program", loc, "a name or a text is not UTF-8: ", e.what());
  }
  p->weights = w.weights();
  return p;
}

std::string hash_of(const Sections& all) {
  std::uint64_t h = kHashSeed;
  for (const auto& [name, text] : all)
    if (name != kHashSection) h = hash_mix(hash_mix(h, name), text);
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(h));
  return hex;
}

void check_sections(const Sections& all, const std::string& from, const char* op, SourceLoc loc) {
  auto bad = [&](const auto&... parts) { fail(ErrorCode::FileFormat, op, loc, "'", shown(from), "': ", parts...); };
  auto section = [&](std::string_view name) {
    const auto at = all.find(std::string(name));
    if (at == all.end()) bad("it has no section '", name, "'");
    return at->second;
  };
  const std::string version = section(kVersionSection);
  int major = 0, minor = 0, end = 0;
  if (std::sscanf(version.c_str(), "%5d.%5d%n", &major, &minor, &end) != 2 || end != static_cast<int>(version.size()) ||
      major < 1 || minor < 0)
    bad("its version is '", shown(version, 40), "', which is none");
  if (major > kFormatMajor)
    bad("it has version ", version, " of the format, and this library reads version ", kFormatMajor,
        ": it was written by a newer one");
  if (section(kHashSection) != hash_of(all)) bad("it is damaged: its hash is not that of its contents");
}

std::string version_text() { return std::to_string(kFormatMajor) + "." + std::to_string(kFormatMinor); }

}  // namespace reprise::detail
