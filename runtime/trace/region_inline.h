#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/errors.h"
#include "graph/graph.h"
#include "reprise/source_location.h"
#include "reprise/tensor.h"

namespace reprise::detail {

// For what the library makes a region of where a trace is on its way, and else runs as it stands (Note [Regions that
// are called]). `where` names it, and need be no line.

/// False: nothing is traced, or this was tried and is no region.
bool becomes_region(SourceLoc where);
/// Called with what has ended the trace, which the caller throws on: the function is traced again without that region.
void is_no_region(SourceLoc where, const std::string& name, const Error& why);

// Where a graph calls one body again and again (call_graph), it becomes a region of the trace once.

/// A body as a region of the trace on its way. `order`: which of the operands of a call its inputs are.
struct KnownBody {
  graph::Region region;
  std::vector<std::size_t> order;
};
/// Of traced operands that want no gradient; none where others are among them.
std::vector<TensorMeta> metas_of_operands(const std::vector<Tensor>&);
/// Do calls with such operands say the same, by what is known of sizes now?
bool are_alike(const std::vector<TensorMeta>&, const std::vector<TensorMeta>&);
/// What the call of `region` behind which this is asked became, if nothing but a call of a body with `operands`.
std::optional<KnownBody> body_of_last_region(const std::vector<Tensor>& operands);
std::vector<Tensor> call_known(const KnownBody&, const std::vector<Tensor>& operands, const std::string& name,
                               SourceLoc);

}  // namespace reprise::detail
