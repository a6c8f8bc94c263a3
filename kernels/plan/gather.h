#pragma once
#include <optional>
#include <vector>

#include "graph/op_column.h"
#include "kernels/plan/fuse_map.h"

namespace reprise::kernels {

/// A read at computed indices (embedding, index_select, gather, index) as a loop kernel does it: a load from a table,
/// some of whose coordinates are values of index tensors.
struct GatherForm {
  struct Index {
    graph::ValueId value;
    int dim = 0;           ///< of the table
    int at = 0, rank = 0;  ///< the index tensor is broadcast over the result's dims [at, at + rank)
  };
  graph::ValueId table;
  std::vector<int> result_dim;  ///< by table dim: the result's dim that walks it, or -1 where it is indexed
  std::vector<Index> indices;
  bool wraps = false;  ///< negative values count from the end
};

/// nullopt: not one of these operators, or a 0-dim table (the reference kernel serves).
std::optional<GatherForm> gather_form(const graph::Graph&, const graph::Node&);
/// The element of an index tensor that the result's element at `map` uses.
IndexMap index_map(const graph::Graph&, const graph::Node&, const GatherForm::Index&, const IndexMap& map);
/// The table's coordinates; 0 where it is indexed.
IndexMap table_map(const GatherForm&, const IndexMap& map);

using GatherRule = std::optional<GatherForm> (*)(const graph::Graph&, const graph::Node&);
graph::OpColumn<GatherRule>& gather_rules();

}  // namespace reprise::kernels
