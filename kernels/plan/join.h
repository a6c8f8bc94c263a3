#pragma once
#include <optional>
#include <vector>

#include "graph/op_column.h"
#include "kernels/launch/layout.h"

namespace reprise::kernels {

/// A join (cat, slice_scatter, ...) as writes into its result: `base`'s elements first (unset for cat, whose parts
/// cover the result), then each part into its region.
struct JoinPlan {
  struct Part {
    graph::ValueId value;
    Layout region;  ///< over the result's buffer
  };
  graph::ValueId base;
  std::vector<Part> parts;
};

/// Is it a join that is written part by part? All are but as_strided_scatter, for which is_region_join tells.
bool has_parts(graph::OpId);
/// Are its parts (arguments from 1 on) written over argument 0? Otherwise they cover the result.
bool has_base(graph::OpId);
/// Does an as_strided_scatter write places of their own in a storage that stands row by row? Then it is a join like
/// others.
bool is_region_join(const graph::Graph&, const graph::Node&);
/// Row-major from its offset on.
bool is_row_major(const Layout&);

/// Where the parts go when the result stands at `result`. nullopt: no region form (an as_strided_scatter that is no
/// region join), the reference kernel serves.
std::optional<JoinPlan> plan_join(const graph::Graph&, const graph::Node&, const Layout& result);

struct JoinRule {
  std::optional<JoinPlan> (*plan)(const graph::Graph&, const graph::Node&, const Layout& result) = nullptr;
  bool always = true;  ///< false: only where is_region_join
  bool base = true;    ///< has_base
};
graph::OpColumn<JoinRule>& join_rules();

}  // namespace reprise::kernels
