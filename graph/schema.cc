#include "graph/schema.h"

#include <array>
#include <utility>

#include "base/errors.h"

namespace reprise::graph {
namespace {

constexpr std::array<std::pair<std::string_view, ArgType>, 24> kTypes = {{
    {"Tensor", ArgType::Tensor},
    {"Tensor?", ArgType::OptionalTensor},
    {"Tensor[]", ArgType::TensorList},
    {"Tensor?[]", ArgType::OptionalTensorList},
    {"Any", ArgType::TensorOrScalar},
    {"Any?", ArgType::OptionalTensorOrScalar},
    {"SymInt", ArgType::Int},
    {"int", ArgType::Int},
    {"SymInt?", ArgType::OptionalInt},
    {"int?", ArgType::OptionalInt},
    {"SymInt[]", ArgType::Ints},
    {"int[]", ArgType::Ints},
    {"SymInt[]?", ArgType::OptionalInts},
    {"int[]?", ArgType::OptionalInts},
    {"Scalar", ArgType::Scalar},
    {"Scalar?", ArgType::OptionalScalar},
    {"float", ArgType::Float},
    {"float?", ArgType::OptionalFloat},
    {"bool", ArgType::Bool},
    {"ScalarType", ArgType::DType},
    {"ScalarType?", ArgType::OptionalDType},
    {"str", ArgType::Str},
    {"str?", ArgType::OptionalStr},
    {"Device", ArgType::Str},
}};

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

[[noreturn]] void bad(std::string_view text, const char* what, std::string_view where) {
  fail(ErrorCode::Internal, "schema", {}, what, " at '", where, "' in \"", text, "\"");
}

/// "Tensor(a!)[]" is type "Tensor[]", annotation "a!".
ArgDef parse_arg(std::string_view piece, std::string_view text) {
  ArgDef arg;
  std::size_t space = piece.find(' ');
  if (space == std::string_view::npos) bad(text, "an argument needs a type and a name", piece);
  std::string type(piece.substr(0, space));
  if (std::size_t open = type.find('('); open != std::string::npos) {
    std::size_t close = type.find(')', open);
    if (close == std::string::npos) bad(text, "unclosed alias annotation", piece);
    arg.written = type.find('!', open) < close;
    type.erase(open, close - open + 1);
  }
  std::string_view rest = trim(piece.substr(space));
  std::size_t eq = rest.find('=');
  arg.name = std::string(trim(rest.substr(0, eq)));
  if (eq != std::string_view::npos) arg.default_text = std::string(trim(rest.substr(eq + 1)));
  if (arg.name.empty()) bad(text, "an argument without a name", piece);
  for (const auto& [name, id] : kTypes) {
    if (name == type) {
      arg.type = id;
      return arg;
    }
  }
  bad(text, "unknown type", type);
}

}  // namespace

Schema parse_schema(std::string_view text) {
  Schema s;
  s.text = std::string(text);
  std::size_t open = text.find('('), arrow = text.find(") -> ");
  if (open == std::string_view::npos || arrow == std::string_view::npos)
    bad(text, "wanted name(arguments) -> results", text);
  s.name = std::string(text.substr(0, open));
  std::string_view body = text.substr(open + 1, arrow - open - 1);
  bool keyword_only = false;
  while (!body.empty()) {
    std::size_t end = 0;
    for (int depth = 0; end < body.size(); ++end) {
      char c = body[end];
      if (c == '(' || c == '[') ++depth;
      if (c == ')' || c == ']') --depth;
      if (c == ',' && depth == 0) break;
    }
    std::string_view piece = trim(body.substr(0, end));
    body = end < body.size() ? body.substr(end + 1) : std::string_view{};
    if (piece == "*") {
      keyword_only = true;
      continue;
    }
    s.args.push_back(parse_arg(piece, text));
    s.args.back().keyword_only = keyword_only;
  }
  std::string_view results = text.substr(arrow + 5);
  if (results == "Tensor[]") {
    s.n_results = -1;
  } else if (results.starts_with("Tensor")) {
    s.n_results = 1;
  } else if (results.starts_with('(')) {
    s.n_results = 1;
    for (char c : results) s.n_results += c == ',';
  } else {
    bad(text, "unknown results", results);
  }
  return s;
}

int Schema::find(std::string_view arg) const {
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i].name == arg) return static_cast<int>(i);
  }
  return -1;
}

bool accepts_none(ArgType t) {
  switch (t) {
    case ArgType::OptionalTensor:
    case ArgType::OptionalTensorOrScalar:
    case ArgType::OptionalInt:
    case ArgType::OptionalInts:
    case ArgType::OptionalScalar:
    case ArgType::OptionalFloat:
    case ArgType::OptionalDType:
    case ArgType::OptionalStr:
      return true;
    default:
      return false;
  }
}

std::string_view arg_type_name(ArgType t) {
  for (const auto& [name, id] : kTypes) {
    if (id == t) return name;
  }
  return "?";
}

}  // namespace reprise::graph
