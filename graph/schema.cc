#include "graph/schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "base/errors.h"

namespace reprise::graph {
namespace {

struct Type {
  std::string_view name;
  ArgType type;
  bool none = false;
};
// The first of a type is how it is written in messages.
constexpr Type kTypes[] = {
    {"Tensor", ArgType::Tensor},
    {"Tensor?", ArgType::OptionalTensor, true},
    {"Tensor[]", ArgType::TensorList},
    {"Tensor?[]", ArgType::OptionalTensorList},
    {"Any", ArgType::TensorOrScalar},
    {"Any?", ArgType::OptionalTensorOrScalar, true},
    {"SymInt", ArgType::Int},
    {"int", ArgType::Int},
    {"SymInt?", ArgType::OptionalInt, true},
    {"int?", ArgType::OptionalInt, true},
    {"SymInt[]", ArgType::Ints},
    {"int[]", ArgType::Ints},
    {"SymInt[]?", ArgType::OptionalInts, true},
    {"int[]?", ArgType::OptionalInts, true},
    {"Scalar", ArgType::Scalar},
    {"Scalar?", ArgType::OptionalScalar, true},
    {"float", ArgType::Float},
    {"float?", ArgType::OptionalFloat, true},
    {"bool", ArgType::Bool},
    {"ScalarType", ArgType::DType},
    {"ScalarType?", ArgType::OptionalDType, true},
    {"str", ArgType::Str},
    {"str?", ArgType::OptionalStr, true},
    {"Device", ArgType::Str},
    {"Device?", ArgType::OptionalStr, true},
    {"Generator?", ArgType::OptionalGenerator, true},
    {"Region", ArgType::Region},
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
template <class T>
std::optional<T> number(std::string_view t) {
  T v;
  const auto [end, error] = std::from_chars(t.data(), t.data() + t.size(), v);
  return error == std::errc() && end == t.data() + t.size() ? std::optional<T>(v) : std::nullopt;
}

/// "[]", "[1, 2]"; of lists with a length also one number for all.
std::optional<ArgDefault> read_list(std::string_view t, int length) {
  if (!t.starts_with('[')) {
    const auto all = number<std::int64_t>(t);
    if (length == 0 || !all) return std::nullopt;
    return Ints(static_cast<std::size_t>(length), Int(*all));
  }
  Ints list;
  t = t.substr(1, t.size() - 2);
  while (!t.empty()) {
    const std::size_t end = std::min(t.find(','), t.size());
    std::string one(t.substr(0, end));
    one.erase(std::remove(one.begin(), one.end(), ' '), one.end());
    const auto value = number<std::int64_t>(one);
    if (!value) return std::nullopt;
    list.push_back(Int(*value));
    t.remove_prefix(std::min(end + 1, t.size()));
  }
  if (length != 0 && list.size() != static_cast<std::size_t>(length)) return std::nullopt;
  return list;
}

/// What a default's text (not empty) stands for; nothing where it is no value of the type.
std::optional<ArgDefault> read_default(const ArgDef& a, std::string_view t) {
  using Default = std::optional<ArgDefault>;
  if (t == "None") return accepts_none(a.type) ? Default(std::monostate()) : std::nullopt;
  auto integer = number<std::int64_t>(t);
  auto real = number<double>(t);
  switch (a.type) {
    case ArgType::Bool: return t == "True" || t == "False" ? Default(t == "True") : std::nullopt;
    case ArgType::Int:
    case ArgType::OptionalInt: return integer ? Default(Int(*integer)) : std::nullopt;
    case ArgType::Float:
    case ArgType::OptionalFloat: return real ? Default(Scalar(*real)) : std::nullopt;
    case ArgType::Scalar:
    case ArgType::OptionalScalar:
    case ArgType::TensorOrScalar:
    case ArgType::OptionalTensorOrScalar:
      if (integer) return Scalar(*integer);
      return real ? Default(Scalar(*real)) : std::nullopt;
    case ArgType::Str:
    case ArgType::OptionalStr:
      return t.front() == '\'' || t.front() == '"' ? Default(std::string(t.substr(1, t.size() - 2))) : std::nullopt;
    case ArgType::Ints:
    case ArgType::OptionalInts: return read_list(t, a.length);
    // Values of these have no text.
    case ArgType::Tensor:
    case ArgType::OptionalTensor:
    case ArgType::TensorList:
    case ArgType::OptionalTensorList:
    case ArgType::DType:
    case ArgType::OptionalDType:
    case ArgType::OptionalGenerator:
    case ArgType::Region: break;
  }
  return std::nullopt;
}

bool holds_tensors(ArgType t) {
  return t == ArgType::Tensor || t == ArgType::OptionalTensor || t == ArgType::TensorList ||
         t == ArgType::OptionalTensorList;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Schema run() {
    Schema s;
    s.text = std::string(text_);
    s.name = word("an operator's name");
    if (accept("::")) s.name += "::" + word("a name after '::'");
    if (peek() == '.') {
      ++at_;
      s.overload = word("an overload's name after '.'");
    }
    expect("(", "the arguments");
    arguments(s);
    expect("->", "the results");
    results(s);
    spaces();
    if (at_ < text_.size()) bad("nothing more is expected");
    check_sets(s);
    return s;
  }

 private:
  [[noreturn]] void bad(const std::string& what, std::size_t at) const {
    const std::string_view rest = text_.substr(std::min(at, text_.size())).substr(0, 16);
    fail(ErrorCode::InvalidArgument, "schema", {}, "column ", at + 1, ": ", what, ", got ",
         rest.empty() ? "the end" : "'" + std::string(rest) + "'", " in \"", text_, "\"");
  }
  [[noreturn]] void bad(const std::string& what) const { bad(what, at_); }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void spaces() {
    while (peek() == ' ') ++at_;
  }
  bool accept(std::string_view token) {
    spaces();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token, const char* for_what) {
    if (!accept(token)) bad("wanted '" + std::string(token) + "' (" + for_what + ")");
  }
  std::string word(const char* what) {
    spaces();
    const std::size_t from = at_;
    if (!is_letter(peek())) bad(std::string("wanted ") + what);
    while (is_letter(peek()) || is_digit(peek())) ++at_;
    return std::string(text_.substr(from, at_ - from));
  }

  // ---- types

  std::vector<std::string> sets() {
    std::vector<std::string> names;
    do {
      names.push_back(accept("*") ? "*" : word("an alias set (a letter or '*')"));
    } while (accept("|"));
    return names;
  }
  std::optional<AliasSet> alias() {
    if (peek() != '(') return std::nullopt;
    ++at_;
    AliasSet a;
    if (accept(")")) return a;
    a.before = sets();
    a.written = accept("!");
    a.after = accept("->") ? sets() : a.before;
    expect(")", "the end of an alias set");
    return a;
  }

  struct Typed {
    ArgType type;
    std::optional<AliasSet> alias;
    int length;
  };
  Typed type() {
    spaces();
    const std::size_t from = at_;
    std::string name = word("a type");
    Typed t{{}, alias(), 0};
    while (peek() == '[' || peek() == '?') {
      if (text_[at_++] == '?') {
        name += '?';
        continue;
      }
      const std::size_t digits = at_;
      while (is_digit(peek())) ++at_;
      if (at_ > digits && (at_ - digits > 2 || (t.length = std::atoi(text_.data() + digits)) == 0 ||
                           t.length > static_cast<int>(kMaxRank)))
        bad("a list's length is between 1 and " + std::to_string(kMaxRank), digits);
      if (peek() != ']') bad("wanted ']'");
      ++at_, name += "[]";
    }
    for (const Type& known : kTypes) {
      if (known.name != name) continue;
      t.type = known.type;
      if (t.alias && !holds_tensors(t.type)) bad("only tensors have alias sets", from);
      if (t.length && t.type != ArgType::Ints && t.type != ArgType::OptionalInts)
        bad("only lists of integers have a length", from);
      return t;
    }
    bad("there is no type '" + name + "'", from);
  }

  // ---- arguments

  void arguments(Schema& s) {
    if (accept(")")) return;
    bool keyword_only = false, defaulted = false;
    do {
      spaces();
      const std::size_t from = at_;
      if (accept("*")) {
        if (keyword_only) bad("'*' stands twice", from);
        keyword_only = true;
        spaces();
        if (peek() != ',') bad("wanted arguments after '*'");
        continue;
      }
      Typed t = type();
      ArgDef a{t.type, {}, std::move(t.alias), keyword_only, {}, t.length};
      spaces();
      const std::size_t name_at = at_;
      a.name = word("the argument's name");
      if (s.find(a.name) >= 0) bad("a second argument '" + a.name + "'", name_at);
      if (accept("=")) {
        spaces();
        const std::size_t value_at = at_;
        a.otherwise = read_default(a, value());
        if (!a.otherwise) bad("the default is no " + std::string(arg_type_name(a.type)), value_at);
      } else if (defaulted && !keyword_only) {
        bad("'" + a.name + "' needs a default, as the one before has", name_at);
      }
      defaulted = defaulted || a.otherwise;
      s.args.push_back(std::move(a));
    } while (accept(","));
    expect(")", "the end of the arguments");
  }

  std::string value() {
    const std::size_t from = at_;
    if (char quote = peek(); quote == '\'' || quote == '"') {
      const std::size_t end = text_.find(quote, at_ + 1);
      if (end == std::string_view::npos) bad("the string has no end");
      at_ = end + 1;
    } else if (quote == '[') {
      const std::size_t end = text_.find(']', at_);
      if (end == std::string_view::npos) bad("the list has no end");
      at_ = end + 1;
    } else {
      while (peek() && peek() != ',' && peek() != ')' && peek() != ' ') ++at_;
    }
    if (at_ == from) bad("wanted a default");
    return std::string(text_.substr(from, at_ - from));
  }

  // ---- results

  ResultDef result() {
    spaces();
    const std::size_t from = at_;
    Typed t = type();
    if (t.type != ArgType::Tensor && t.type != ArgType::TensorList) bad("results are Tensor or Tensor[]", from);
    ResultDef r{t.type, {}, std::move(t.alias)};
    spaces();
    if (is_letter(peek())) r.name = word("the result's name");
    return r;
  }
  void results(Schema& s) {
    spaces();
    results_at_ = at_;
    if (!accept("(")) {
      s.results.push_back(result());
    } else if (!accept(")")) {
      do s.results.push_back(result());
      while (accept(","));
      expect(")", "the end of the results");
    }
    const bool list = std::any_of(s.results.begin(), s.results.end(),
                                  [](const ResultDef& r) { return r.type == ArgType::TensorList; });
    if (list && s.results.size() > 1) bad("a list of tensors is the only result", results_at_);
    s.n_results = list ? -1 : static_cast<int>(s.results.size());
  }

  // What a result may share is what an argument has.
  void check_sets(const Schema& s) const {
    for (const ResultDef& r : s.results) {
      if (!r.alias) continue;
      for (const std::string& set : r.alias->before) {
        const bool named =
            set == "*" || std::any_of(s.args.begin(), s.args.end(), [&](const ArgDef& a) {
              return a.alias && std::find(a.alias->before.begin(), a.alias->before.end(), set) != a.alias->before.end();
            });
        if (!named) bad("a result is in alias set '" + set + "', and no argument is", results_at_);
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0, results_at_ = 0;
};

}  // namespace

Schema parse_schema(std::string_view text) { return Parser(text).run(); }

CallArg default_value(const ArgDef& a) {
  if (!a.otherwise) return {};
  return std::visit(
      [](const auto& v) -> CallArg {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, Ints>) return IntArrayRef(v);
        else if constexpr (std::is_same_v<T, std::string>) return std::string_view(v);
        else return v;
      },
      *a.otherwise);
}

int Schema::find(std::string_view arg) const {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].name == arg) return static_cast<int>(i);
  }
  return -1;
}

bool accepts_none(ArgType t) {
  static constexpr auto kNone = [] {
    std::array<bool, static_cast<std::size_t>(ArgType::Region) + 1> none{};
    for (const Type& x : kTypes) none[static_cast<std::size_t>(x.type)] = x.none;
    return none;
  }();
  return kNone[static_cast<std::size_t>(t)];
}

std::string_view arg_type_name(ArgType t) {
  for (const Type& x : kTypes) {
    if (x.type == t) return x.name;
  }
  return "?";
}

}  // namespace reprise::graph
