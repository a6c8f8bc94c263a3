#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/op_column.h"
#include "passes/pass.h"

namespace reprise::passes {

/// What an operator's kernel takes by the layout of its image and result, each beyond the faster one, in the bytes that
/// are copied in that time.
struct LayoutCost {
  std::int64_t channels_first = 0, channels_last = 0;
};

using LayoutCosts = LayoutCost (*)(const graph::Graph&, const graph::Node&, bool frozen);

/// Of an operator whose first argument is an image [n, c, ...], and whose result is another one.
struct LayoutWish {
  /// The operator of the same arguments whose result is [n, ..., c], row by row. Its image is told as ever, [n, c,
  /// ...], and its channels lie side by side.
  graph::OpId (*channels_last)();
  bool (*applies)(const graph::Graph&, const graph::Node&);  ///< could that one stand for this node?
  /// By hints; whatever it says, results are right. `frozen`: what else it reads is computed once.
  LayoutCosts cost;
};
/// "wish for a layout"
graph::OpColumn<LayoutWish>& layout_wishes();

/// One of the library's own patterns by its name (REPRISE_PATTERNS).
inline constexpr std::string_view kChannelsLast = "channels_last";

/// Chooses in which order images between operators stand in memory (Note [Layouts] in layouts.cc).
bool layouts(graph::Graph&, PassRecord&);
/// The same, whatever is wanted, by other costs.
bool layouts(graph::Graph&, PassRecord&, LayoutCosts);

/// As long as it is there, the pass knows on this thread which inputs of the graph are frozen (runtime/build/freeze.h).
/// What both refer to lives as long.
class FrozenInputs {
 public:
  FrozenInputs(const graph::Graph& of, const std::vector<std::uint32_t>& inputs);
  ~FrozenInputs();
  FrozenInputs(const FrozenInputs&) = delete;
  FrozenInputs& operator=(const FrozenInputs&) = delete;

 private:
  friend bool layouts(graph::Graph&, PassRecord&, LayoutCosts);
  const graph::Graph* of_;
  const std::vector<std::uint32_t>& inputs_;
  const FrozenInputs* before_;
};

}  // namespace reprise::passes
