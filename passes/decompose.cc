#include "base/errors.h"
#include "device/backend.h"
#include "passes/decompose_builder.h"
#include "passes/pass.h"

namespace reprise::passes {

using graph::OpId;
using graph::ValueId;

Ints Build::reduced_dims(int arg, V of) const {
  int rank = dim(of);
  Ints all;
  for (int d = 0; d < rank; ++d) all.push_back(d);
  if (!has(arg) || ints(arg).empty()) return all;
  if (rank == 0) return {};
  Ints dims;
  for (Int d : ints(arg)) dims.push_back(wrap_dim(d.value(loc()), rank, "reduction", loc()));
  return dims;
}

Int Build::count(V of, const Ints& dims) const {
  Int n = 1;
  for (Int d : dims) n *= sizes(of)[static_cast<std::size_t>(d.value(loc()))];
  return n;
}

Build::V Build::reshape(V v, const Ints& to) {
  if (!known_contiguous(meta(v).layout)) v = unary(OpId::clone, v);
  return emit(OpId::view, {v, to});
}

namespace {

constinit graph::OpColumn<Decomposition> g_column(
    "decomposition",
    {
#define REPRISE_ROW_Composite(id) {OpId::id, {decompose_##id}},
#include "graph/op_rows.inc"
        // On the host the addition becomes part of what follows, or reads a result that is still in the caches; where
        // each launch goes over memory, the product's kernels add the bias themselves.
        {OpId::linear,
         {decompose_linear_with_bias, [](const Build& b, Device d) { return b.has(2) && device::runs_host_code(d); }}},
    },
    graph::is_of<graph::OpClass::Composite>);

}  // namespace

graph::OpColumn<Decomposition>& decompositions() { return g_column; }

bool decompose(graph::Graph& g) {
  return rewrite(g, [](Rewriter& rw, Rewriter::Site& site) -> std::optional<std::vector<ValueId>> {
    const Decomposition* d = g_column.find(site.node.op);
    if (!d) {
      const graph::OpDef& def = graph::op(site.node.op);
      if (def.cls == graph::OpClass::Composite)
        fail(ErrorCode::InvalidArgument, def.schema.name.c_str(), site.node.info.loc, "has no ", g_column.name());
      return std::nullopt;
    }
    // The composite's own rule decides the result dtype; it has run on the old graph, whose metas are the same.
    Build b(rw, site.node, site.args);
    if (d->applies && !d->applies(b, site.result.device)) return std::nullopt;
    return {{d->write(b, site.result.dtype)}};
  });
}

}  // namespace reprise::passes
