// Calls of operators that write their arguments (Note [Operators that write] in graph/writers.h).
#include <algorithm>

#include "base/errors.h"
#include "graph/parts.h"
#include "graph/shape_rules.h"
#include "graph/writers.h"
#include "runtime/trace/tracer.h"
#include "tensor/impl.h"

namespace reprise::detail {

// What two arguments write is the operator's business as long as it is not the same element.
void Tracer::check_disjoint(const TracedRef& a, const TracedRef& b, const graph::OpCall& c) {
  if (a.storage != b.storage) return;  // of arguments: asked in the end (find_overlaps)
  const Layout &x = a.user_meta.layout, &y = b.user_meta.layout;
  if (auto conditions = graph::disjoint_conditions(x, y, c.loc)) {
    for (const Bool& condition : *conditions) graph::require(condition, "write: two tensors share no element");
    return;
  }
  // Interleaved in another way: decided on the numbers.
  Storage somewhere{};
  somewhere.data = &somewhere;  // an address: nothing is read there
  TensorImpl numbers[2];
  for (int k = 0; k < 2; ++k) {
    const Layout& l = k ? y : x;
    numbers[k].storage = &somewhere;
    numbers[k].dtype = k ? b.user_meta.dtype : a.user_meta.dtype;
    numbers[k].rank = static_cast<std::uint8_t>(l.dim());
    numbers[k].offset = l.offset.value(c.loc);
    for (int d = 0; d < l.dim(); ++d) {
      numbers[k].sizes[d] = l.sizes[static_cast<std::size_t>(d)].value(c.loc);
      numbers[k].strides[d] = l.strides[static_cast<std::size_t>(d)].value(c.loc);
    }
  }
  if (overlaps(numbers[0], numbers[1])) graph::fail_shared_writes(c);
}

void Tracer::record_writes(const graph::OpCall& c, std::vector<Tensor>& made) {
  std::vector<TracedRef*> written;
  graph::for_each_written(c, [&](const Tensor& t) {
    TracedRef& ref = ref_of(t, c.loc);
    check_writable(ref, c.op.schema.name, c.loc);
    for (const TracedRef* other : written) check_disjoint(*other, ref, c);
    written.push_back(&ref);
    ++ref.storage->writes;
  });
  out_.graph.add(c.op.id, node_args(c), info(c.loc));
  const std::vector<graph::ValueId> values = out_.graph.nodes.back().results;
  for (graph::ValueId v : values) made.push_back(fresh(v));
}

}  // namespace reprise::detail
