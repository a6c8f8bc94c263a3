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

bool decompose(graph::Graph& g) {
  return rewrite(g, [](Rewriter& rw, Rewriter::Site& site) -> std::optional<std::vector<ValueId>> {
    const graph::OpDef& def = graph::op(site.node.op);
    // On the host the addition becomes part of what follows, or reads a result that is still in the caches; where each launch
    // goes over memory, the product's kernels add the bias themselves.
    bool with_bias = site.node.op == OpId::linear && !std::holds_alternative<std::monostate>(site.args[2]) && device::runs_host_code(site.result.device);
    if (def.cls != graph::OpClass::Composite && !with_bias) return std::nullopt;

    // The composite's own rule decides the result dtype; it has run on the old graph, whose metas are the same.
    Build b(rw, site.node, site.args);
    DType result = site.result.dtype;
    switch (site.node.op) {
      case OpId::mean: return {{decompose_mean(b, result)}};
      case OpId::var: return {{decompose_var(b, result, false)}};
      case OpId::std: return {{decompose_var(b, result, true)}};
      case OpId::logsumexp: return {{decompose_logsumexp(b, result)}};
      case OpId::norm: return {{decompose_norm(b, result)}};
      case OpId::softmax: return {{decompose_softmax(b, result, false)}};
      case OpId::log_softmax: return {{decompose_softmax(b, result, true)}};
      case OpId::layer_norm: return {{decompose_layer_norm(b, result)}};
      case OpId::rms_norm: return {{decompose_rms_norm(b, result)}};
      case OpId::matmul: return {{decompose_matmul(b)}};
      case OpId::addmm: return {{decompose_addmm(b)}};
      case OpId::linear: return {{decompose_linear_with_bias(b)}};
      default: fail(ErrorCode::Internal, "decompose", site.node.loc, "no decomposition for the composite ", std::string(def.name()));
    }
  });
}

}  // namespace reprise::passes
