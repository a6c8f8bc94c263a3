#pragma once
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// Where a value's elements are. The layout counts from the buffer's first byte (of an input: from its first element).
struct Place {
  std::uint32_t buffer = ~0u;
  Layout layout;
};

/// Equal for every call the guards admit: the same canonical expression, or proved. Never adds a guard.
bool same_number(Int a, Int b);
bool same_numbers(const Ints& a, const Ints& b);
bool is_number(Int a, std::int64_t k);
/// Sizes, strides (of dims that are not 1) and offset agree.
bool same_layout(const Layout& a, const Layout& b);

Layout contiguous_layout(const Ints& sizes);
/// [n, ..., c] seen as [n, c, ...], and back.
Layout with_channels_second(const Layout&);
Layout with_channels_last(const Layout&);
Int bytes_of(const Ints& sizes, DType);

/// Consecutive dims of two sizes lists that cover the same elements in the same order: [old_begin, old_end) against
/// [new_begin, new_end). Constant 1s that stand alone get a range whose other side is empty.
struct DimMatch {
  int old_begin, old_end, new_begin, new_end;
};
/// The finest match that is provable; nullopt when there is none.
std::optional<std::vector<DimMatch>> match_dims(const Ints& old_sizes, const Ints& new_sizes);

/// `of` seen with other sizes, if the strides provably join up where dims are merged.
std::optional<Layout> known_view(const Layout& of, const Ints& sizes);

/// graph::apply_view for any view of its operand (ViewOf::Operand), without asking: what the shape rule asked while
/// tracing was decided by the traced sizes and is guarded, so those sizes decide it again here and no guard is added.
/// `args`: the view's arguments with self first; `sizes`: of the result.
Layout known_view_of(const graph::Graph&, graph::OpId, const std::vector<graph::NodeArg>& args, const Layout& in,
                     const Ints& sizes, SourceLoc);

/// The value that a chain of views ends at: `v` itself when its maker is not a view.
graph::ValueId root_of(const graph::Graph&, graph::ValueId v);
bool is_view(const graph::Graph&, graph::ValueId v);
/// The same for every value of the graph.
std::vector<graph::ValueId> roots_of(const graph::Graph&);

/// The layout of value `v` when its root stands at `root`; nullopt if a view in between needs strides that the root's
/// place does not have.
std::optional<Layout> layout_from_root(const graph::Graph&, graph::ValueId v, const Layout& root);

/// The layout of a view that is written (Note [Written views] in graph/writers.h) when its base stands at `base`;
/// nullopt as above.
std::optional<Layout> layout_of_view(const graph::Graph&, const graph::ViewArg&, const Layout& base, SourceLoc);

/// The layout in which a result of this value is returned: what the user's program saw when that fills its storage
/// densely (a permuted result stays permuted), otherwise contiguous.
Layout output_layout(const graph::Graph&, graph::ValueId v);

}  // namespace reprise::kernels
