#pragma once
#include <array>
#include <vector>

#include "graph/op.h"
#include "passes/decompose_builder.h"
#include "reprise/arguments.h"

/// What operators over windows of images have in common: convolutions, pooling, normalization over channels, resizing.
/// Images are [n, c, ...] with one to three spatial dimensions.
namespace reprise::operators {

/// One number for each of `n` dimensions: one stands for all. Throws InvalidArgument naming `op` and `what`.
Ints per_dim(IntArrayRef given, int n, const char* op, const char* what, SourceLoc loc);
/// The constants of an int[] argument of a node.
std::vector<std::int64_t> constants(const Ints& given, SourceLoc loc);

/// An image without its batch dimension gets one; `batched` says whether there was one. Throws ShapeMismatch naming
/// `op` for other ranks than n + 1 and n + 2.
struct Batch {
  Tensor image;
  bool batched;
  Tensor result(const Tensor& made, SourceLoc loc) const;  ///< without it again
};
Batch with_batch(const Tensor& image, int n, const char* op, SourceLoc loc);

/// How a window moves along one dimension.
struct Steps {
  std::int64_t kernel, stride = 1, dilation = 1;
  std::int64_t reach() const { return dilation * (kernel - 1) + 1; }
};
/// How often it fits into `size` elements: size >= reach.
Int windows(Int size, const Steps&);

using V = passes::Build::V;

/// `x` with `value` before and after it along the last front.size() dimensions; x itself where nothing is added.
/// Row-major then.
V padded(passes::Build&, V x, const Ints& front, const Ints& back, Scalar value);
/// The windows over the last dimensions of x as a view: [..., i...] is [..., o..., k...]. Whatever x's strides are,
/// nothing is copied. `counts`: how many along each, which must fit; all that fit, if empty.
V window_view(passes::Build&, V x, const std::vector<Steps>&, const Ints& counts = {});
/// Of such a view, the elements that place `at` of each window sees: [..., o...].
V seen_at(passes::Build&, V windows, const std::vector<std::int64_t>& at);
/// What windows give, [n, c, k..., o...], added up where they stand in an image of these sizes, one place of the window
/// after the other.
V added_up(passes::Build&, V given, const std::vector<Steps>&, const Ints& sizes);
/// f(place) for every place of a window, the last dimension fastest.
template <class F>
void for_each_place(const std::vector<Steps>& steps, F&& f) {
  std::vector<std::int64_t> at(steps.size());
  for (;;) {
    f(static_cast<const std::vector<std::int64_t>&>(at));
    std::size_t d = steps.size();
    while (d > 0 && ++at[d - 1] == steps[d - 1].kernel) at[--d] = 0;
    if (d == 0) return;
  }
}
/// How many there are.
std::int64_t places(const std::vector<Steps>&);
/// Up to so many places are written out, one expression that reads each; of more a loop runs over the window.
inline constexpr std::int64_t kUnrolledPlaces = 64;

/// int64, 0 to n - 1.
V positions(passes::Build&, V like, Int n);
/// x.index(indices), an unset one for a dimension that stays, where all are known to lie within their dimensions:
/// nothing is checked.
V taken(passes::Build&, V x, std::vector<V> indices);
/// What is less, or not more, than any other number of the dtype.
Scalar lowest(DType);

/// x.slice(dim, start, end, step), of sizes that are known to fit.
V slice(passes::Build&, V x, int dim, Int start, Int end, Int step = 1);
/// A [c] as [1, c, 1, ...] of `rank` dimensions.
V per_channel(passes::Build&, V, int rank);

}  // namespace reprise::operators
