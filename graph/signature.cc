#include "graph/signature.h"

#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "graph/text.h"
#include "tensor/layout.h"

namespace reprise::graph {

namespace {

using nlohmann::json;

json number(Int i) { return i.is_symbolic() ? json(i.str()) : json(i.hint()); }
json numbers(const Ints& l) {
  json out = json::array();
  for (Int i : l) out.push_back(number(i));
  return out;
}
void add_layout(json& to, const Layout& l) {
  to["sizes"] = numbers(l.sizes);
  to["strides"] = numbers(l.strides);
  to["offset"] = number(l.offset);
}
json type(const TensorMeta& m) {
  json t{{"dtype", dtype_name(m.dtype)}, {"device", m.device.str()}};
  add_layout(t, m.layout);
  return t;
}

json argument(const NodeArg& a) {
  return std::visit(
      [](const auto& v) -> json {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::monostate>) return nullptr;
        else if constexpr (std::is_same_v<T, Int>) return number(v);
        else if constexpr (std::is_same_v<T, Ints>) return numbers(v);
        else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) return v;
        else if constexpr (std::is_same_v<T, DType>) return dtype_name(v);
        else if constexpr (std::is_same_v<T, Scalar>) return v.str();
        else fail(ErrorCode::Internal, "signature", {}, "a view's recipe names a value");
      },
      a);
}
json recipe(const std::vector<ViewStep>& steps) {
  json out = json::array();
  for (const ViewStep& s : steps) {
    json args = json::object();
    const std::vector<ArgDef>& defs = op(s.op).schema.args;
    for (std::size_t i = 0; i < s.args.size(); ++i) args[defs[i + 1].name] = argument(s.args[i]);
    out.push_back({{"op", op(s.op).schema.name}, {"args", std::move(args)}});
  }
  return out;
}

std::string_view kind_name(const OutputSpec& o) {
  switch (o.kind) {
    case OutputSpec::Kind::User: return o.role == OutputSpec::Role::Result ? "user" : role_name(o.role);
    case OutputSpec::Kind::AliasOfInput: return "alias_of_input";
    case OutputSpec::Kind::AliasOfOutput: return "alias_of_output";
    case OutputSpec::Kind::NewValueOfInput: return "new_value_of_input";
    case OutputSpec::Kind::Intermediate: return "intermediate";
    case OutputSpec::Kind::HandleOfInput: break;
  }
  fail(ErrorCode::Internal, "signature", {}, "the graph is a traced one");
}

}  // namespace

json signature(const Graph& g) {
  REPRISE_CHECK(g.form != Form::Traced);
  guards::ShowExpressions symbols;
  json out{{"name", g.name}, {"inputs", json::array()}, {"outputs", json::array()}, {"symbols", json::object()}};
  for (const InputSpec& in : g.inputs) {
    json i = type(g.meta(in.value));
    i["name"] = g.values[in.value.v].name;
    i["kind"] = input_kind_name(in.kind);
    if (in.captured) i["captured"] = true;
    i["mutates_data"] = in.mutates_data;
    i["mutates_metadata"] = in.mutates_metadata;
    out["inputs"].push_back(std::move(i));
  }
  for (const OutputSpec& spec : g.outputs) {
    json o{{"kind", kind_name(spec)}};
    const bool of_input = spec.kind == OutputSpec::Kind::AliasOfInput || spec.kind == OutputSpec::Kind::NewValueOfInput;
    const bool alias = spec.kind == OutputSpec::Kind::AliasOfInput || spec.kind == OutputSpec::Kind::AliasOfOutput;
    if (alias) {
      const TensorMeta& source = g.meta(of_input ? g.inputs[spec.source].value : g.outputs[spec.source].value);
      o["dtype"] = dtype_name(source.dtype), o["device"] = source.device.str();
      add_layout(o, spec.layout);
      o["recipe"] = recipe(spec.recipe);
    } else {
      o.update(type(g.meta(spec.value)));
    }
    if (alias || of_input) o["source"] = spec.source;
    if (spec.is_view) o["is_view"] = true;
    if (spec.role != OutputSpec::Role::Result && spec.kind != OutputSpec::Kind::User) o["role"] = role_name(spec.role);
    if (spec.of >= 0) o["of"] = spec.of;
    out["outputs"].push_back(std::move(o));
  }
  for (const MetadataMutation& m : g.metadata_mutations) {
    json after;
    add_layout(after, m.layout);
    if (m.from_output >= 0) after["from_output"] = m.from_output;
    if (m.grows) after["grows"] = true;
    out["inputs"][m.input]["after"] = std::move(after);
  }
  for (const NumberInput& n : g.numbers)
    out["inputs"].push_back(
        {{"name", n.name}, {"kind", number_kind_name(n.kind)}, {"symbol", "s" + std::to_string(n.symbol)}});
  // What the symbols are that are spoken of.
  for (std::uint32_t s : symbols_of_signature(g).all)
    out["symbols"]["s" + std::to_string(s)] = g.env->symbols()[s].source.name;
  return out;
}

}  // namespace reprise::graph
