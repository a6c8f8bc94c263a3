#pragma once
#include <cstdint>
#include <string_view>

#include "graph/graph.h"
#include "graph/op_column.h"
#include "passes/pass.h"

namespace reprise::passes {

/// What an operator's kernel takes by the layout of its image and result, each beyond the faster one, in the bytes that are copied in that time.
struct LayoutCost {
  std::int64_t channels_first = 0, channels_last = 0;
};

/// Of an operator whose first argument is an image [n, c, ...], and whose result is another one.
struct LayoutWish {
  /// The operator of the same arguments whose result is [n, ..., c], row by row. Its image is told as ever, [n, c, ...], and its channels lie side by side.
  graph::OpId (*channels_last)();
  bool (*applies)(const graph::Graph&, const graph::Node&);   ///< could that one stand for this node?
  LayoutCost (*cost)(const graph::Graph&, const graph::Node&);  ///< by hints; whatever it says, results are right
};
/// "wish for a layout"
graph::OpColumn<LayoutWish>& layout_wishes();

/// One of the library's own patterns by its name (REPRISE_PATTERNS).
inline constexpr std::string_view kChannelsLast = "channels_last";

/// Chooses in which order images between operators stand in memory (Note [Layouts] in layouts.cc).
bool layouts(graph::Graph&, PassRecord&);
/// The same, whatever is wanted, by other costs.
bool layouts(graph::Graph&, PassRecord&, LayoutCost (*)(const graph::Graph&, const graph::Node&));

}  // namespace reprise::passes
