// Calls of operators that write their arguments (Note [Operators that write] in graph/writers.h).
#include <algorithm>

#include "base/errors.h"
#include "graph/shape_rules.h"
#include "graph/writers.h"
#include "runtime/tracer.h"
#include "tensor/impl.h"

namespace reprise::detail {

namespace {

/// Conditions, true in the traced call, under which two views of one storage have no element in common: one ends before the other begins,
/// or they are different parts of the same rows (of one dimension, or of one that neither of them has). Nothing: it is none of these.
std::optional<std::vector<Bool>> disjoint_conditions(const Layout& a, const Layout& b, SourceLoc loc) {
  guards::LibraryScope exact;
  if (detail::compare_lt(b.offset, a.offset, loc).hint()) return disjoint_conditions(b, a, loc);
  for (const Layout* l : {&a, &b})
    if (Int n = numel(l->sizes); n.hint() == 0) return std::vector{detail::compare_eq(n, 0, loc)};
  if (Bool before = detail::compare_lt(graph::last_of(a), b.offset, loc); before.hint()) return std::vector{before};
  const bool same_rows = a.dim() == b.dim() && std::equal(a.strides.begin(), a.strides.end(), b.strides.begin(), [](Int x, Int y) { return identical(x, y); });
  if (!same_rows) return std::nullopt;
  // Both lie in a tensor of these sizes and strides, b some steps behind a in one of its dimensions.
  const Int between = b.offset - a.offset;
  if (between.hint() <= 0) return std::nullopt;
  Ints sizes, strides = a.strides;
  for (std::size_t d = 0; d < a.sizes.size(); ++d) sizes.push_back(Int::max(a.sizes[d], b.sizes[d]));
  auto with = [&](std::vector<Bool> conditions, const Ints& all, const Ints& by) -> std::optional<std::vector<Bool>> {
    auto apart = graph::apart_conditions(all, by, loc);
    if (!apart) return std::nullopt;
    conditions.insert(conditions.end(), apart->begin(), apart->end());
    conditions.push_back(detail::compare_lt(0, between, loc));
    return conditions;
  };
  Ints more = sizes, by = strides;
  more.push_back(2), by.push_back(between);
  if (auto found = with({}, more, by)) return found;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (strides[d].hint() <= 0 || between.hint() % strides[d].hint() != 0) continue;
    const Int steps = between / strides[d];
    std::vector<Bool> conditions{detail::compare_eq(steps * strides[d], between, loc), detail::compare_le(a.sizes[d], steps, loc)};
    if (!conditions[0].hint() || !conditions[1].hint()) continue;
    more = sizes;
    more[d] = steps + b.sizes[d];
    if (auto found = with(std::move(conditions), more, strides)) return found;
  }
  return std::nullopt;
}

}  // namespace

// What two arguments write is the operator's business as long as it is not the same element.
void Tracer::check_disjoint(const TracedRef& a, const TracedRef& b, const graph::OpCall& c) {
  if (a.storage != b.storage) return;  // of arguments: asked in the end (find_overlaps)
  const Layout &x = a.user_meta.layout, &y = b.user_meta.layout;
  if (auto conditions = disjoint_conditions(x, y, c.loc)) {
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
  });
  out_.graph.add(c.op.id, node_args(c), info(c.loc));
  const std::vector<graph::ValueId> values = out_.graph.nodes.back().results;
  for (graph::ValueId v : values) made.push_back(fresh(v));
}

}  // namespace reprise::detail
