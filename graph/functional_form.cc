#include "graph/functional_form.h"

#include <algorithm>
#include <string>

#include "base/errors.h"
#include "graph/schema.h"

namespace reprise::graph {

namespace {

constinit OpColumn<FunctionalForm> g_column("functional form");

bool same_effects(Effects a, Effects b) {
  return a.may_fail == b.may_fail && a.exit == b.exit && a.opaque == b.opaque && a.lane == b.lane;
}
bool same_arguments(const Schema& a, const Schema& b) {
  return a.n_results == b.n_results &&
         std::equal(a.args.begin(), a.args.end(), b.args.begin(), b.args.end(),
                    [](const ArgDef& x, const ArgDef& y) { return x.name == y.name && x.type == y.type; });
}

}  // namespace

OpColumn<FunctionalForm>& functional_forms() { return g_column; }

FunctionalForm functional_form(const Schema& writer, const Writes& w, Effects effects, std::string_view text) {
  auto bad = [&](auto&&... what) {
    fail(ErrorCode::InvalidArgument, writer.name.c_str(), {}, "its functional form '", std::string(text), "' ",
         what...);
  };
  if (w.writes.empty()) bad("is none: the operator writes no argument: \"", writer.text, "\"");
  const std::string_view name = text.substr(0, text.find('('));
  const OpDef* def = find_op(name);
  if (!def) bad("is not registered: register it first");
  if (name.size() != text.size())
    if (const Schema said = parse_schema(text); !same_arguments(said, def->schema))
      bad("is registered as \"", def->schema.text, "\"");
  if (!def->writes.empty() || def->cls == OpClass::View || def->cls == OpClass::Random || def->cls == OpClass::Transfer)
    bad("is no function: \"", def->schema.text, "\"");
  if (!same_effects(def->effects, effects)) bad("has other effects");
  FunctionalForm form{def->id, {}};
  for (const ArgDef& a : def->schema.args) {
    const int at = writer.find(a.name);
    if (at < 0) bad("takes '", a.name, "', which \"", writer.text, "\" does not");
    if (writer.args[static_cast<std::size_t>(at)].type != a.type)
      bad("takes '", a.name, "' as ", arg_type_name(a.type), ", not ",
          arg_type_name(writer.args[static_cast<std::size_t>(at)].type));
    form.args.push_back(static_cast<std::uint32_t>(at));
  }
  for (std::uint32_t i = 0; i < writer.args.size(); ++i) {
    const bool written = std::find(w.writes.begin(), w.writes.end(), i) != w.writes.end();
    if (written && writer.args[i].type != ArgType::Tensor)
      bad("has no result for the list '", writer.args[i].name, "'");
    if (!written && std::find(form.args.begin(), form.args.end(), i) == form.args.end())
      bad("does not take '", writer.args[i].name, "'");
  }
  const auto made = std::count(w.returns.begin(), w.returns.end(), -1);
  const auto wanted = static_cast<std::ptrdiff_t>(w.writes.size()) + made;
  if (def->schema.n_results != wanted)
    bad("has ", def->schema.n_results, " results; ", wanted, " are wanted: what is written, then what is made");
  return form;
}

}  // namespace reprise::graph
