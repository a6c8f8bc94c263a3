#include "graph/graph_archive.h"

#include <algorithm>

#include "graph/name_scopes.h"

namespace reprise::graph {

namespace {
/// All but the environment.
template <class G>
auto parts(G& g) {
  auto& [form, name, env, values, nodes, inputs, numbers, outputs, metadata_mutations] = g;
  return std::tie(form, name, values, nodes, inputs, numbers, outputs, metadata_mutations);
}

bool is_built_in(OpId op) { return static_cast<std::size_t>(op) < kBuiltinOps; }
/// The library's families have names without a namespace, or in its own.
bool is_registered(OpId id) {
  const std::string_view name = op(id).schema.name;
  return !is_built_in(id) && name.find("::") != name.npos && !name.starts_with("reprise::");
}
bool has_registered(const std::vector<NodeArg>& args) {
  return std::any_of(args.begin(), args.end(), [](const NodeArg& a) {
    if (const auto* region = std::get_if<Region>(&a)) return names_registered(**region);
    const auto* view = std::get_if<ViewArg>(&a);
    return view && std::any_of(view->steps.begin(), view->steps.end(),
                               [](const ViewStep& s) { return is_registered(s.op) || has_registered(s.args); });
  });
}
}  // namespace

void GraphWriter::own(const Graph& g) {
  std::apply([&](const auto&... part) { (write(*this, part), ...); }, parts(g));
}

void GraphReader::own(Graph& g) {
  g.env = shared_;
  std::apply([&](auto&... part) { (read(*this, part), ...); }, parts(g));
}

void GraphReader::own(Region& r) {
  auto made = std::make_shared<Graph>();
  own(*made);
  r = std::move(made);
}

void GraphWriter::own(OpId id) {
  number(is_built_in(id) ? static_cast<std::uint64_t>(id) + 1 : 0);
  if (!is_built_in(id)) text(op(id).schema.name);
}

void GraphReader::own(OpId& id) {
  const std::uint64_t n = number();
  if (n > kBuiltinOps) throw DamagedArchive();
  const OpDef* def = n ? nullptr : find_op(text());
  if (!n && !def) throw DamagedArchive();
  id = n ? static_cast<OpId>(n - 1) : def->id;
}

void GraphReader::own(const std::string*& scope) { scope = NameScopes::kept(text()); }

bool names_registered(const Graph& g) {
  return std::any_of(g.nodes.begin(), g.nodes.end(),
                     [](const Node& n) { return is_registered(n.op) || has_registered(n.args); }) ||
         std::any_of(g.outputs.begin(), g.outputs.end(), [](const OutputSpec& o) {
           return std::any_of(o.recipe.begin(), o.recipe.end(),
                              [](const ViewStep& s) { return is_registered(s.op) || has_registered(s.args); });
         });
}

}  // namespace reprise::graph
