#include <algorithm>
#include <cctype>
#include <string>

#include "base/errors.h"
#include "graph/text.h"

namespace reprise::graph {
namespace {

std::string quoted(std::string_view s, char quote) {
  std::string out(1, quote);
  for (char c : s) {
    if (c == quote || c == '\\') out += '\\';
    out += c;
  }
  return out + quote;
}

std::string list(const Ints& v, char open, char close) {
  std::string s(1, open);
  for (std::size_t i = 0; i < v.size(); ++i) s += (i ? ", " : "") + v[i].str();
  return s + close;
}

std::string base_name(const char* path) {
  std::string_view p = path;
  std::size_t slash = p.find_last_of("/\\");
  return std::string(slash == std::string_view::npos ? p : p.substr(slash + 1));
}

std::string offset_text(Int i) { return i.is_symbolic() ? "(" + i.str() + ")" : i.str(); }

/// f32[s0, 8], with {strides} and +offset unless row-major from 0, and @device unless the CPU.
std::string type_text(const TensorMeta& m) {
  std::string s = std::string(dtype_short_name(m.dtype)) + list(m.layout.sizes, '[', ']');
  bool offset = !identical(m.layout.offset, Int(0));
  if (!known_row_major(m.layout)) s += list(m.layout.strides, '{', '}');
  if (offset) s += "+" + offset_text(m.layout.offset);
  if (m.device != Device::cpu()) s += "@" + m.device.str();
  return s;
}

class Printer {
 public:
  Printer(const Graph& g, bool with_locations, std::string indent = "")
      : g_(g), with_locations_(with_locations), number_(g.values.size(), ~0u), indent_(std::move(indent)) {}

  std::string run() {
    guards::ShowExpressions symbols;
    text_ = "graph " + (g_.name.empty() ? std::string("f") : quoted_name(g_.name)) + "(";
    inputs();
    text_ += ")";
    if (g_.form == Form::Traced) text_ += " traced";
    if (g_.form == Form::InPlace) text_ += " in_place";
    if (with_locations_) text_ += hints();
    body();
    return text_ + "\n";
  }

  /// As an argument: its form and its symbols are those of the graph around it.
  std::string region() {
    text_ = "region(";
    inputs();
    text_ += ")";
    body();
    return text_;
  }

 private:
  void body() {
    text_ += " {\n";
    for (const Node& n : g_.nodes) node(n);
    returns();
    text_ += indent_ + "}";
  }

  // Numbers are by order of definition, so that a graph with unused values prints as its compacted self.
  void define(ValueId v) {
    REPRISE_CHECK(v.v < number_.size() && number_[v.v] == ~0u, "a value is defined twice");
    number_[v.v] = next_++;
  }
  std::string name(ValueId v) const {
    if (!v) return "None";
    return v.v < number_.size() && number_[v.v] != ~0u ? "%" + std::to_string(number_[v.v])
                                                       : "%?" + std::to_string(v.v);
  }

  void inputs() {
    for (const InputSpec& in : g_.inputs) define(in.value);
    for (const Node& n : g_.nodes)
      for (ValueId r : n.results) define(r);
    for (std::size_t i = 0; i < g_.inputs.size(); ++i) {
      const InputSpec& in = g_.inputs[i];
      const Value& v = g_.values[in.value.v];
      text_ += (i ? ", " : "") + name(in.value) + " " + quoted(v.name, '"') + ": " + type_text(v.meta);
      if (in.captured) text_ += " captured";
      if (in.kind != implied_kind(in)) text_ += " " + std::string(input_kind_name(in.kind));
      if (in.mutates_data) text_ += " mutates_data";
      if (in.mutates_metadata) text_ += " mutates_metadata";
    }
    for (std::size_t i = 0; i < g_.numbers.size(); ++i) {
      const NumberInput& n = g_.numbers[i];
      text_ += (i || !g_.inputs.empty() ? ", s" : "s") + std::to_string(n.symbol) + " " + quoted(n.name, '"') + ": " +
               std::string(number_kind_name(n.kind));
    }
  }

  static std::string quoted_name(const std::string& s) {
    for (char c : s) {
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') return quoted(s, '"');
    }
    return s;
  }

  /// " where s0 = 5": the values in the traced call of the symbols that occur.
  std::string hints() const {
    const UsedSymbols used = symbols_of(g_);
    std::string s;
    for (std::uint32_t i : used.all) {
      const std::int64_t hint = g_.env->symbols()[i].hint;
      s += (s.empty() ? " where s" : ", s") + std::to_string(i) + " = " +
           (used.floats.count(i) ? Scalar(0.0).with_word(hint).str() : std::to_string(hint));
    }
    return s;
  }

  std::string argument(const NodeArg& a) const {
    return std::visit(
        [&](const auto& v) -> std::string {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, std::monostate>) return "None";
          else if constexpr (std::is_same_v<T, ValueId>) return name(v);
          else if constexpr (std::is_same_v<T, std::vector<ValueId>>) {
            std::string s = "[";
            for (std::size_t i = 0; i < v.size(); ++i) s += (i ? ", " : "") + name(v[i]);
            return s + "]";
          } else if constexpr (std::is_same_v<T, Ints>) return list(v, '[', ']');
          else if constexpr (std::is_same_v<T, bool>) return v ? "true" : "false";
          else if constexpr (std::is_same_v<T, DType>) return std::string(dtype_short_name(v));
          else if constexpr (std::is_same_v<T, std::string>) return quoted(v, '\'');
          else if constexpr (std::is_same_v<T, ViewArg>) {
            std::string s = name(v.base);
            for (const ViewStep& step : v.steps) s += "." + call(step);
            return s;
          } else if constexpr (std::is_same_v<T, Region>)
            return v ? Printer(*v, with_locations_, indent_ + "  ").region() : "region";
          else return v.str();
        },
        a);
  }

  void node(const Node& n) {
    text_ += indent_ + "  ";
    for (std::size_t i = 0; i < n.results.size(); ++i) text_ += (i ? ", " : "") + name(n.results[i]);
    text_ += (n.results.empty() ? "" : " = ") + op(n.op).schema.name + (n.inplace ? "_(" : "(");
    for (std::size_t i = 0; i < n.args.size(); ++i) text_ += (i ? ", " : "") + argument(n.args[i]);
    text_ += ")";
    for (std::size_t i = 0; i < n.results.size(); ++i) {
      text_ += (i ? ", " : " : ") + type_text(g_.values[n.results[i].v].meta);
      if (i < n.tied.size() && n.tied[i]) text_ += " in " + name(n.tied[i]);
    }
    if (g_.form == Form::InPlace && (n.keeps_self || n.keeps_part))
      text_ += std::string(" keeps") + (n.keeps_self ? " self" : "") + (n.keeps_part ? " part" : "");
    if (with_locations_) text_ += info(n.info);
    text_ += "\n";
  }

  /// "  ; #3 layers[3].attention loop.cpp:41"
  static std::string info(const NodeInfo& n) {
    std::string s;
    if (n.sequence >= 0) s += " #" + std::to_string(n.sequence);
    if (n.forward_of >= 0) s += " of #" + std::to_string(n.forward_of);
    if (n.scope) s += " " + (is_plain(*n.scope) ? *n.scope : quoted(*n.scope, '"'));
    if (n.loc) {
      const std::string file = base_name(n.loc.file);
      s += " " + (file.find_first_of(" \"") == std::string::npos ? file : quoted(file, '"')) + ":" +
           std::to_string(n.loc.line);
    }
    return s.empty() ? s : "  ;" + s;
  }

  /// A name of scopes that is told from what stands beside it.
  static bool is_plain(const std::string& s) {
    return std::all_of(s.begin(), s.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || std::string_view("._[]-").find(c) != std::string_view::npos;
    });
  }

  std::string layout(const Layout& l) const {
    return list(l.sizes, '[', ']') + " " + list(l.strides, '[', ']') + " " + offset_text(l.offset);
  }

  /// "select(1, 0)"
  std::string call(const ViewStep& step) const {
    std::string s = op(step.op).schema.name + "(";
    for (std::size_t i = 0; i < step.args.size(); ++i) s += (i ? ", " : "") + argument(step.args[i]);
    return s + ")";
  }
  std::string recipe(const OutputSpec& o) const {
    std::string s;
    for (const ViewStep& step : o.recipe) s += (s.empty() ? " by " : ".") + call(step);
    return s;
  }

  void returns() {
    text_ += indent_ + "  return";
    for (std::size_t i = 0; i < g_.outputs.size(); ++i) {
      const OutputSpec& o = g_.outputs[i];
      text_ += i ? ", " : " ";
      switch (o.kind) {
        case OutputSpec::Kind::User: text_ += (o.is_view ? "user_view " : "user ") + name(o.value); break;
        case OutputSpec::Kind::AliasOfInput:
          text_ += "alias_of_input " + std::to_string(o.source) + " " + layout(o.layout) + recipe(o);
          break;
        case OutputSpec::Kind::AliasOfOutput:
          text_ += "alias_of_output " + std::to_string(o.source) + " " + layout(o.layout) + recipe(o);
          break;
        case OutputSpec::Kind::NewValueOfInput:
          text_ += "new_value_of " + std::to_string(o.source) + " " + name(o.value);
          break;
        case OutputSpec::Kind::Intermediate: text_ += "intermediate " + name(o.value); break;
        case OutputSpec::Kind::HandleOfInput:
          text_ += "handle_of " + std::to_string(o.source) + " " + name(o.value) + (o.grows ? " grows" : "");
          break;
      }
      if (o.role != OutputSpec::Role::Result) text_ += " as " + std::string(role_name(o.role));
      if (o.of >= 0) text_ += " of " + std::to_string(o.of);
    }
    text_ += "\n";
    for (const MetadataMutation& m : g_.metadata_mutations) {
      text_ += indent_ + "  metadata_of " + std::to_string(m.input) + " " + layout(m.layout);
      if (m.from_output >= 0) text_ += " from_output " + std::to_string(m.from_output) + (m.grows ? " grows" : "");
      text_ += "\n";
    }
  }

  const Graph& g_;
  bool with_locations_;
  std::vector<std::uint32_t> number_;
  std::string indent_;  ///< of a region: what its lines begin with
  std::uint32_t next_ = 0;
  std::string text_;
};

}  // namespace

std::string print(const Graph& g, bool with_locations) { return Printer(g, with_locations).run(); }

}  // namespace reprise::graph
