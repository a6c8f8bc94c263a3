#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "reprise/arguments.h"
#include "reprise/int.h"
#include "reprise/source_location.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

/// Coordinates: grids of vectors, and the places of a triangle.
namespace reprise REPRISE_VISIBLE {

/// For vectors of sizes n1, n2, ... (a 0-dim tensor is one of size 1) as many views [n1, n2, ...] of them, each varying
/// along its own dimension. "xy" swaps the first two dimensions. All have one dtype (DTypeMismatch).
std::vector<Tensor> meshgrid(TensorArrayRef tensors, std::string_view indexing = "ij",
                             SourceLoc loc = SourceLoc::current());
/// The rows of the product of vectors as sets: [n1 * n2 * ..., number of tensors]; of one vector, that vector.
Tensor cartesian_prod(TensorArrayRef tensors, SourceLoc loc = SourceLoc::current());
/// int64 [2, n]: rows and columns, row by row, of the elements at and below (tril) or at and above (triu) the diagonal
/// `offset` of a [row, col] matrix. Sizes are constants of a trace. InvalidArgument for negative ones.
Tensor tril_indices(std::int64_t row, std::int64_t col, std::int64_t offset = 0, const TensorOptions& options = {},
                    SourceLoc loc = SourceLoc::current());
Tensor triu_indices(std::int64_t row, std::int64_t col, std::int64_t offset = 0, const TensorOptions& options = {},
                    SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
