#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

/// Products whose weights stand in memory as the kernel reads them, panel by panel (kernels/cpu/packed.h). No user
/// calls them: where weights are frozen, compilation puts them in the place of linear, mm and int_mm (Note [Frozen
/// tensors] in runtime/build/freeze.h). Host alone.
namespace reprise::operators {

/// reprise::prepack(Tensor weight) -> Tensor: the panels of a weight [n, k], one dimension of its dtype.
graph::OpId prepack_op();
/// reprise::linear_packed(Tensor input, Tensor weight, Tensor panels, int from) -> Tensor: linear. Of `from` rows or
/// fewer the panels are not read, and need not be there: then it is bit by bit what linear gives, as of all rows where
/// linear packs its weight. Where linear takes dots (dot_rows), sums have another order.
graph::OpId linear_packed_op();

/// reprise::int_mm_packed(Tensor self, Tensor mat2, Tensor panels, int from) -> Tensor: int_mm, and the panels of
/// mat2's transpose, which are not read of `from` rows or fewer.
graph::OpId int_mm_packed_op();

/// Gives products whose weights are `constant` (by value), and whose input is not, panels, or weights whose elements
/// lie as the kernel likes them; whether there were any.
bool pack_products(graph::Graph&, const std::vector<bool>& constant);

/// Who reads panels: rows of its input, and up to how many of them it does not.
struct PanelReader {
  Int rows;
  std::int64_t unread_up_to;
};
/// By value of the graph: who reads it as panels. None: it is no panels, or several products read it.
std::vector<std::optional<PanelReader>> readers_of_panels(const graph::Graph&);

/// Of a product of panels: who reads its weight `v` as it stands, and up to how many rows; none where `n` is no such
/// product, or reads `v` otherwise, too.
std::optional<PanelReader> reader_of_few_rows(const graph::Graph&, const graph::Node& n, graph::ValueId v);

}  // namespace reprise::operators
