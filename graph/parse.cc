#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <set>

#include "base/mutex.h"
#include "graph/graph.h"
#include "graph/name_scopes.h"
#include "graph/parse_in.h"
#include "graph/shape_rules.h"
#include "graph/text.h"
#include "graph/text_cursor.h"
#include "guards/expr.h"

namespace reprise::graph {
namespace {

/// SourceLoc wants text that is never freed; the few file names of graph texts are kept for good.
const char* interned(std::string_view file) {
  static Mutex mutex;
  static auto& names = *new std::set<std::string, std::less<>>;
  const MutexLock lock(mutex);
  return names.emplace(file).first->c_str();
}

class Parser {
 public:
  explicit Parser(std::string_view text, std::shared_ptr<guards::ShapeEnv> env = std::make_shared<guards::ShapeEnv>())
      : in_(text) {
    g_.env = std::move(env);
  }

  /// Every error is this parser's, with a place: also what names, devices and expressions say of themselves.
  Graph run() {
    try {
      return all();
    } catch (const Error& e) {
      if (e.op() == "parse graph") throw;
      in_.bad(e.message());
    }
  }

  [[noreturn]] void bad(const Mistake& m) const {
    const std::vector<std::size_t>& of = places_[static_cast<std::size_t>(m.in)];
    in_.bad(m.text, m.index < of.size() ? of[m.index] : in_.at());
  }

 private:
  Graph all() {
    ahead_first();
    in_.expect("graph");
    g_.name = in_.peek() == '"' ? in_.quoted('"') : std::string(in_.word());
    inputs();
    if (!in_.take_word("traced")) in_.take_word("in_place");  // read by ahead_first, as the next
    if (in_.take_word("where")) in_.until("{");
    body();
    if (!in_.done()) in_.bad("text after the graph");
    return std::move(g_);
  }

  void inputs() {
    in_.expect("(");
    while (!in_.take(")")) {
      if (!g_.inputs.empty() || !g_.numbers.empty()) in_.expect(",");
      if (in_.peek() == 's') number_input();
      else input();
    }
  }

  void body() {
    in_.expect("{");
    while (!in_.take_word("return")) node();
    if (in_.peek() != '}' && in_.peek() != 'm') do
        output();
      while (in_.take(","));
    while (in_.take_word("metadata_of")) {
      if (traced()) in_.bad("a traced graph says 'handle_of', not 'metadata_of'");
      place(Mistake::In::MetadataMutations);
      MetadataMutation m;
      m.input = in_.number();
      m.layout = layout();
      if (in_.take_word("from_output")) {
        m.from_output = static_cast<std::int32_t>(in_.number());
        m.grows = in_.take_word("grows");
      }
      g_.metadata_mutations.push_back(std::move(m));
    }
    in_.expect("}");
  }

  /// region(%0 "x": f32[s0]) { ... }: values are numbered by themselves; the symbols and the form are those of the
  /// graph around it.
  Region region() {
    constexpr int kDeepest = 64;  // what reads and checks it calls itself
    if (!in_.take_word("region")) in_.bad("wanted a region");
    if (++depth_ > kDeepest) in_.bad("regions stand in each other more than " + std::to_string(kDeepest) + " deep");
    Graph outer = std::exchange(g_, Graph());
    const std::uint32_t pending = std::exchange(pending_, 0);
    auto places = std::exchange(places_, {});
    g_.env = outer.env;
    g_.form = outer.form == Form::InPlace ? Form::InPlace : Form::Functional;
    inputs();
    body();
    Graph made = std::exchange(g_, std::move(outer));
    places_ = std::move(places);
    pending_ = pending;
    --depth_;
    made.name = g_.name;
    return std::make_shared<const Graph>(std::move(made));
  }

  void place(Mistake::In in) { places_[static_cast<std::size_t>(in)].push_back(in_.at()); }

  bool traced() const { return g_.form == Form::Traced; }

  /// The form and symbols' hints stand behind the inputs but are needed for them: a symbol keeps the hint it is made
  /// with.
  void ahead_first() {
    TextCursor ahead = in_;
    ahead.expect("graph");
    if (ahead.peek() == '"') ahead.quoted('"');
    else ahead.word();
    ahead.expect("(");
    for (bool inside = true; inside;) {
      if (ahead.peek() == '"') {
        ahead.quoted('"');
      } else if (ahead.take(")")) {
        inside = false;
      } else if (ahead.peek() == '(') {
        ahead.take("(");
        ahead.until(")");
        ahead.expect(")");
      } else if (ahead.peek() == '\0') {
        ahead.bad("the inputs do not end");
      } else {
        ahead.take(std::string_view(std::string(1, ahead.peek())));
      }
    }
    if (ahead.take_word("traced")) g_.form = Form::Traced;
    else if (ahead.take_word("in_place")) g_.form = Form::InPlace;
    if (!ahead.take_word("where")) return;
    do {
      std::string symbol(ahead.word());
      ahead.expect("=");
      g_.env->symbol_named(symbol, hint(ahead.until(",{"), ahead));
    } while (ahead.take(","));
  }

  /// A float stands for its bits.
  static std::int64_t hint(std::string_view s, const TextCursor& at) {
    if (s.find_first_of(".einf") == std::string_view::npos) return constant(s, at);
    const std::string text(s);
    char* end = nullptr;
    const double v = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || *end != '\0') at.bad("wanted a number, got '" + text + "'");
    return std::bit_cast<std::int64_t>(v);
  }
  static std::int64_t constant(std::string_view s, const TextCursor& at) {
    std::int64_t v = 0;
    auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
    if (error != std::errc() || end != s.data() + s.size()) at.bad("wanted a number, got '" + std::string(s) + "'");
    return v;
  }

  Int integer(std::string_view s) {
    if (s.empty()) in_.bad("wanted an integer or an expression");
    std::int64_t v = 0;
    auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
    if (error == std::errc() && end == s.data() + s.size()) return v;
    try {
      return Int(g_.env->parse(s));
    } catch (const Error& e) {
      in_.bad("in '" + std::string(s) + "': " + e.message());
    }
  }

  Ints integers(char open, char close) {
    Ints v;
    in_.expect(std::string_view(&open, 1));
    const char stops[] = {',', close, '\0'};
    while (!in_.take(std::string_view(&close, 1))) {
      if (!v.empty()) in_.expect(",");
      v.push_back(integer(in_.until(stops)));
    }
    return v;
  }

  Layout layout() {
    Layout l;
    l.sizes = integers('[', ']');
    l.strides = integers('[', ']');
    l.offset = in_.peek() == '(' ? parenthesised() : Int(static_cast<std::int64_t>(in_.number()));
    if (std::size_t n = l.sizes.size(); n != l.strides.size()) in_.bad("as many strides as sizes are wanted");
    return l;
  }

  Int parenthesised() {
    in_.expect("(");
    Int v = integer(in_.until(")"));
    in_.expect(")");
    return v;
  }

  DType dtype() {
    std::string name(in_.word());
    try {
      return dtype_from_name(name);
    } catch (const Error&) {
      in_.bad("unknown dtype '" + name + "'");
    }
  }

  TensorMeta type() {
    TensorMeta m;
    m.dtype = dtype();
    m.layout.sizes = integers('[', ']');
    m.layout.strides = in_.peek() == '{' ? integers('{', '}') : contiguous_strides(m.layout.sizes);
    if (m.layout.strides.size() != m.layout.sizes.size()) in_.bad("as many strides as sizes are wanted");
    if (in_.take("+"))
      m.layout.offset = in_.peek() == '(' ? parenthesised() : Int(static_cast<std::int64_t>(in_.number()));
    if (in_.take("@")) {
      std::string name(in_.word());
      if (in_.take(":")) name += ":" + std::to_string(in_.number());
      m.device = device_from_name(name);
    }
    return m;
  }
  ValueId use() {
    in_.expect("%");
    std::uint32_t n = in_.number();
    if (n >= g_.values.size()) in_.bad("%" + std::to_string(n) + " is used before it is defined");
    return {n};
  }

  void define() {
    in_.expect("%");
    if (std::uint32_t n = in_.number(); n != g_.values.size() + pending_)
      in_.bad("values are numbered in order: wanted %" + std::to_string(g_.values.size() + pending_));
  }

  /// s15 "at": size
  void number_input() {
    const std::string symbol(in_.word());
    NumberInput n;
    n.symbol = g_.env->symbol_named(symbol).expr()->symbol();
    n.name = in_.quoted('"');
    in_.expect(":");
    const std::size_t at = in_.at();
    const std::string kind(in_.word());
    constexpr NumberInput::Kind kKinds[] = {NumberInput::Kind::Size, NumberInput::Kind::Integer,
                                            NumberInput::Kind::Float, NumberInput::Kind::Seed,
                                            NumberInput::Kind::Offset};
    const auto* known = std::find_if(std::begin(kKinds), std::end(kKinds),
                                     [&](NumberInput::Kind k) { return number_kind_name(k) == kind; });
    if (known == std::end(kKinds))
      in_.bad("a number is a size, an integer, a float, a seed or an offset, no '" + kind + "'", at);
    n.kind = *known;
    g_.numbers.push_back(std::move(n));
  }

  void input() {
    if (!g_.numbers.empty()) in_.bad("tensors stand before numbers");
    define();
    place(Mistake::In::Inputs);
    std::string name = in_.quoted('"');
    in_.expect(":");
    g_.add_input(type(), name);
    InputSpec& spec = g_.inputs.back();
    spec.captured = in_.take_word("captured");
    spec.kind = implied_kind(spec);
    for (InputSpec::Kind k : kInputKinds)
      if (in_.take_word(input_kind_name(k))) spec.kind = k;
    if (traced() && in_.peek() == 'm') in_.bad("a traced graph says what it writes by its nodes, not of its inputs");
    if (in_.take_word("mutates_data")) spec.mutates_data = true;
    if (in_.take_word("mutates_metadata")) spec.mutates_metadata = true;
  }

  void node() {
    in_.skip();
    place(Mistake::In::Nodes);
    std::size_t n_results = 0;
    // an operator without results, or one that writes in place
    const bool bare = std::isalpha(static_cast<unsigned char>(in_.peek()));
    bool inplace = false;
    if (!bare) {
      do {
        pending_ = static_cast<std::uint32_t>(n_results++);
        define();
      } while (in_.take(","));
      pending_ = 0;
      in_.expect("=");
    }
    const std::size_t at = in_.at();
    const std::string name = operator_name();
    const OpDef* def = find_op(name);
    if (const OpDef* twin =
            def || !name.ends_with('_') ? nullptr : find_op(std::string_view(name).substr(0, name.size() - 1))) {
      if (!traced())
        in_.bad("'" + name + "' writes in place, and only a traced graph may ('traced' stands behind the inputs)", at);
      if (!bare) in_.bad("'" + name + "' writes in place and has no result");
      if (!twin->has_inplace) in_.bad("'" + name + "': the operator has no in-place form");
      def = twin, inplace = true;
    } else if (def && bare && def->n_made > 0) {
      in_.bad("'" + name + "' has results: wanted '%'", at);
    } else if (def && !bare && def->n_made == 0) {
      in_.bad("'" + name + "' makes no results", at);
    }
    if (!def) in_.bad("unknown operator '" + name + "'");
    if (!def->writes.empty() && !traced())
      in_.bad("'" + name + "' writes its arguments, and only a traced graph may ('traced' stands behind the inputs)",
              at);
    Node node{def->id, {}, {}, {}, inplace};
    in_.expect("(");
    for (const ArgDef& a : def->schema.args) {
      if (!node.args.empty()) in_.expect(",");
      node.args.push_back(argument(a));
    }
    in_.expect(")");
    if (!bare) in_.expect(":");
    std::vector<Value> made;  // a result may not be asked into one beside it
    for (std::size_t i = 0; i < n_results; ++i) {
      if (i) in_.expect(",");
      Value v;
      v.meta = type();
      v.node = static_cast<std::int32_t>(g_.nodes.size());
      v.result = static_cast<std::uint32_t>(i);
      node.results.push_back({static_cast<std::uint32_t>(g_.values.size() + i)});
      made.push_back(std::move(v));
      if (in_.peek() != 'i' || !in_.take_word("in")) continue;
      if (g_.form != Form::InPlace) in_.bad("only a graph with 'in_place' behind its inputs asks for places");
      node.tied.resize(n_results);
      node.tied[i] = use();
    }
    g_.values.insert(g_.values.end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
    if (g_.form == Form::InPlace && in_.peek() == 'k' && in_.take_word("keeps")) {
      node.keeps_self = in_.take_word("self");
      node.keeps_part = in_.take_word("part");
      if (!node.keeps_self && !node.keeps_part) in_.bad("wanted 'self' or 'part'");
    }
    if (in_.take(";")) {
      node.info = info(in_.line());
    }
    g_.nodes.push_back(std::move(node));
  }

  /// "#3 layers[3].attention loop.cpp:41", "#7 of #3"
  NodeInfo info(std::string_view s) const {
    NodeInfo n;
    auto number = [&](std::string_view sign) -> std::int32_t {
      if (!s.starts_with(sign)) return -1;
      s.remove_prefix(sign.size());
      const std::size_t end = std::min(s.find(' '), s.size());
      const std::int64_t v = constant(s.substr(0, end), in_);
      if (v < 0 || v > INT32_MAX) in_.bad("the number of a call is not " + std::to_string(v));
      s.remove_prefix(std::min(end + 1, s.size()));
      return static_cast<std::int32_t>(v);
    };
    n.sequence = number("#");
    n.forward_of = number("of #");
    if (s.empty() && (n.sequence >= 0 || n.forward_of >= 0)) return n;
    // A name of scopes, then file and line. What has blanks is quoted.
    std::string name;
    auto word = [&] {
      name.clear();
      if (!s.starts_with('"')) {
        const std::size_t end = std::min(s.find(' '), s.size());
        name = s.substr(0, end);
        s.remove_prefix(end);
        return;
      }
      std::size_t at = 1;
      for (; at < s.size() && s[at] != '"'; ++at) {
        if (s[at] == '\\' && at + 1 < s.size()) ++at;
        name += s[at];
      }
      if (at == s.size()) in_.bad("an unclosed string");
      s.remove_prefix(at + 1);
      if (s.starts_with(':')) {
        const std::size_t end = std::min(s.find(' '), s.size());
        name += s.substr(0, end);
        s.remove_prefix(end);
      } else {
        n.scope = NameScopes::kept(name);
        name.clear();
      }
    };
    auto blank = [&] {
      while (s.starts_with(' ')) s.remove_prefix(1);
    };
    word(), blank();
    if (!name.empty() && name.find(':') == std::string::npos && !n.scope)
      n.scope = NameScopes::kept(std::exchange(name, {}));
    if (name.empty() && !s.empty()) word(), blank();
    if (name.empty() && s.empty() && n.scope) return n;
    const std::size_t colon = name.rfind(':');
    if (colon == std::string::npos || !s.empty()) in_.bad("a location is file:line");
    n.loc = {interned(name.substr(0, colon)),
             static_cast<std::uint32_t>(constant(std::string_view(name).substr(colon + 1), in_))};
    return n;
  }

  /// "mm", "my::scale_", "my::scale_.functional"
  std::string operator_name() {
    std::string name(in_.word());
    if (in_.take("::")) name += "::" + std::string(in_.word());
    if (in_.take(".")) name += "." + std::string(in_.word());
    return name;
  }

  /// One of an alias' recipe, or of a view that is written: `slice(1, 0, s2, 1)`.
  ViewStep view_step() {
    const std::string name = operator_name();
    const OpDef* def = find_op(name);
    if (!def || def->cls != OpClass::View) in_.bad("'" + name + "' is no view operator");
    ViewStep step{def->id, {}};
    in_.expect("(");
    for (std::size_t i = 1; i < def->schema.args.size(); ++i) {
      if (i > 1) in_.expect(",");
      step.args.push_back(argument(def->schema.args[i]));
    }
    in_.expect(")");
    return step;
  }

  Scalar scalar(bool floating) {
    std::string s(in_.until(",)"));
    if (s == "true" || s == "false") return s == "true";
    if (s.starts_with("float(") && s.ends_with(")"))
      return Scalar(0.0).with_word(integer(std::string_view(s).substr(6, s.size() - 7)));
    bool number = s.find_first_of("0123456789") == 0 || s.starts_with("-") || s == "inf" || s == "nan";
    if (number && (floating || s.find_first_of(".einf") != std::string::npos)) {
      char* end = nullptr;
      double v = std::strtod(s.c_str(), &end);
      if (*end == '\0') return v;
    }
    const Int i = integer(s);
    if (floating && !i.is_symbolic()) return static_cast<double>(i.value());
    return i;
  }

  NodeArg argument(const ArgDef& a) {
    if (in_.take_word("None")) return std::monostate{};
    switch (a.type) {
      case ArgType::Tensor:
      case ArgType::OptionalTensor: {
        const ValueId v = use();
        if (in_.peek() != '.') return v;
        ViewArg view{v, {}};
        while (in_.take(".")) view.steps.push_back(view_step());
        return view;
      }
      case ArgType::TensorOrScalar:
      case ArgType::OptionalTensorOrScalar:
        if (in_.peek() == '%') return use();
        return scalar(false);
      case ArgType::TensorList:
      case ArgType::OptionalTensorList: {
        std::vector<ValueId> list;
        in_.expect("[");
        while (!in_.take("]")) {
          if (!list.empty()) in_.expect(",");
          list.push_back(in_.take_word("None") ? ValueId{} : use());
        }
        return list;
      }
      case ArgType::Int:
      case ArgType::OptionalInt: return integer(in_.until(",)"));
      case ArgType::Ints:
      case ArgType::OptionalInts: return integers('[', ']');
      case ArgType::Scalar:
      case ArgType::OptionalScalar: return scalar(false);
      case ArgType::Float:
      case ArgType::OptionalFloat: return scalar(true);
      case ArgType::Bool:
        if (in_.take_word("true")) return true;
        if (in_.take_word("false")) return false;
        in_.bad("wanted true or false for '" + a.name + "'");
      case ArgType::DType:
      case ArgType::OptionalDType: return dtype();
      case ArgType::Str:
      case ArgType::OptionalStr: return in_.quoted('\'');
      case ArgType::Region: return region();
      case ArgType::OptionalGenerator: break;  // None is its only value
    }
    in_.bad("unreadable argument");
  }

  void output() {
    std::string kind(in_.word());
    place(Mistake::In::Outputs);
    OutputSpec o;
    const bool of_traced = kind == "handle_of";
    if (traced() &&
        (kind == "alias_of_input" || kind == "alias_of_output" || kind == "new_value_of" || kind == "intermediate"))
      in_.bad("a traced graph has 'user' and 'handle_of' outputs, no '" + kind + "'");
    if (of_traced && !traced())
      in_.bad("only a traced graph has 'handle_of' outputs ('traced' stands behind the inputs)");
    if (kind == "user" || (kind == "user_view" && !traced())) {
      o.kind = OutputSpec::Kind::User;
      o.is_view = kind == "user_view";
      o.value = use();
    } else if (kind == "intermediate") {
      o.kind = OutputSpec::Kind::Intermediate;
      o.value = use();
    } else if (kind == "new_value_of" || of_traced) {
      o.kind = of_traced ? OutputSpec::Kind::HandleOfInput : OutputSpec::Kind::NewValueOfInput;
      o.source = in_.number();
      o.value = use();
      o.grows = of_traced && in_.take_word("grows");
    } else if (kind == "alias_of_input" || kind == "alias_of_output") {
      o.kind = kind == "alias_of_input" ? OutputSpec::Kind::AliasOfInput : OutputSpec::Kind::AliasOfOutput;
      o.source = in_.number();
      o.layout = layout();
      if (in_.take_word("by")) do
          o.recipe.push_back(view_step());
        while (in_.take("."));
    } else {
      in_.bad("unknown kind of output '" + kind + "'");
    }
    if (in_.take_word("as")) {
      const std::size_t at = in_.at();
      const std::string role(in_.word());
      const auto* known =
          std::find_if(std::begin(kRoles), std::end(kRoles), [&](OutputSpec::Role r) { return role_name(r) == role; });
      if (known == std::end(kRoles))
        in_.bad("an output is no '" + role + "': wanted result, custom_view, loss, gradient or saved", at);
      o.role = *known;
      if (in_.take_word("of")) o.of = static_cast<std::int32_t>(in_.number());
    }
    g_.outputs.push_back(std::move(o));
  }

  TextCursor in_;
  Graph g_;
  std::array<std::vector<std::size_t>, 4> places_;  ///< where each thing that a Mistake can name stands
  int depth_ = 0;                                   ///< of regions in each other
  std::uint32_t pending_ = 0;                       ///< results of the line being read that have no value yet
};

}  // namespace

Graph parse_unverified(std::string_view text) {
  guards::LibraryScope exact;  // what it says of sizes is no program's arithmetic
  return Parser(text).run();
}

Graph parse(std::string_view text) {
  guards::LibraryScope exact;
  // The rules note what they ask in the graph's environment, so they are asked of another copy.
  Parser parser(text);
  const Graph asked = parser.run();
  if (std::optional<Mistake> m = first_mistake(asked)) parser.bad(*m);
  return Parser(text).run();
}

Graph parse_in(std::string_view text, const std::function<std::shared_ptr<guards::ShapeEnv>()>& new_env) {
  guards::LibraryScope exact;
  Parser parser(text, new_env());
  const Graph asked = parser.run();
  if (std::optional<Mistake> m = first_mistake(asked)) parser.bad(*m);
  return Parser(text, new_env()).run();
}

}  // namespace reprise::graph
