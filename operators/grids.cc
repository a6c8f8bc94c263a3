// Functions over views and creations: grids, and the places of a triangle.
#include "reprise/grids.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/shape_rules.h"
#include "reprise/ops.h"

namespace reprise {

using graph::api::checked_meta;
using graph::api::named;

std::vector<Tensor> meshgrid(TensorArrayRef tensors, std::string_view indexing, SourceLoc loc) {
  if (indexing != "ij" && indexing != "xy")
    fail(ErrorCode::InvalidArgument, "meshgrid", loc, "indexing must be 'ij' or 'xy', got '", indexing, "'");
  if (tensors.size() == 0) fail(ErrorCode::InvalidArgument, "meshgrid", loc, "wants one tensor at least");
  std::vector<Tensor> vectors(tensors.begin(), tensors.end());
  Ints sizes;
  for (Tensor& t : vectors) {
    const TensorMeta m = checked_meta(t, "meshgrid", loc), first = checked_meta(tensors[0], "meshgrid", loc);
    if (m.dim() > 1)
      fail(ErrorCode::ShapeMismatch, "meshgrid", loc, "wants vectors, got sizes ", graph::sizes_text(m.layout.sizes));
    if (m.dtype != first.dtype)
      fail(ErrorCode::DTypeMismatch, "meshgrid", loc, "dtypes ", dtype_name(first.dtype), " and ", dtype_name(m.dtype),
           " differ; cast with to()");
    if (m.dim() == 0) t = view(t, Ints{1}, loc);
    sizes.push_back(t.size(0, loc));
  }
  const std::size_t n = vectors.size();
  const bool swapped = indexing == "xy" && n > 1;
  if (swapped) std::swap(sizes[0], sizes[1]);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at = swapped && i < 2 ? 1 - i : i;
    Ints own(n, 1);
    own[at] = sizes[at];
    vectors[i] = named("meshgrid", [&] { return expand(view(vectors[i], own, loc), sizes, loc); });
  }
  return vectors;
}

Tensor cartesian_prod(TensorArrayRef tensors, SourceLoc loc) {
  return named("cartesian_prod", [&] {
    if (tensors.size() == 1 && checked_meta(tensors[0], "cartesian_prod", loc).dim() == 1) return tensors[0];
    std::vector<Tensor> columns = meshgrid(tensors, "ij", loc);
    for (Tensor& t : columns) t = reshape(t, Ints{-1}, loc);
    return columns.size() == 1 ? columns[0] : stack(columns, 1, loc);
  });
}

namespace {

/// The places of [row, col] in order, of which those outside of the triangle are sorted behind the others.
Tensor triangle_indices(std::int64_t row, std::int64_t col, std::int64_t offset, bool lower,
                        const TensorOptions& options, const char* op, SourceLoc loc) {
  if (row < 0 || col < 0)
    fail(ErrorCode::InvalidArgument, op, loc, "sizes must not be negative, got ", row, " and ", col);
  const DType dtype = options.dtype.value_or(kInt64);
  if (dtype != kInt64 && dtype != kInt32)
    fail(ErrorCode::DTypeMismatch, op, loc, "gives int64 or int32, not ", dtype_name(dtype));
  offset = std::clamp(offset, -row - 1, col + 1);  // diagonals beyond the corners are as the corners
  std::int64_t n = 0;
  for (std::int64_t r = 0; r < row; ++r)
    n += lower ? std::clamp<std::int64_t>(r + offset + 1, 0, col) : col - std::clamp<std::int64_t>(r + offset, 0, col);
  return named(op, [&] {
    const TensorOptions index{kInt64, options.device};
    if (n == 0) return zeros({2, 0}, {dtype, options.device}, loc);
    const Tensor place = arange(row * col, index, loc),
                 from_diagonal = sub(remainder(place, col, loc), div(place, col, "floor", loc), 1, loc);
    const Tensor within = lower ? le(from_diagonal, offset, loc) : ge(from_diagonal, offset, loc);
    const Tensor kept = narrow(sort(where(within, place, row * col, loc), 0, false, loc).first, 0, 0, n, loc);
    return to(stack({div(kept, col, "floor", loc), remainder(kept, col, loc)}, 0, loc), dtype, loc);
  });
}

}  // namespace

Tensor tril_indices(std::int64_t row, std::int64_t col, std::int64_t offset, const TensorOptions& options,
                    SourceLoc loc) {
  return triangle_indices(row, col, offset, true, options, "tril_indices", loc);
}
Tensor triu_indices(std::int64_t row, std::int64_t col, std::int64_t offset, const TensorOptions& options,
                    SourceLoc loc) {
  return triangle_indices(row, col, offset, false, options, "triu_indices", loc);
}

}  // namespace reprise
