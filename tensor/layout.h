#pragma once
#include <cstdint>

#include "reprise/device.h"
#include "reprise/dtype.h"
#include "reprise/int.h"

namespace reprise {

/// Sizes, strides and offset of a strided view, in elements; symbolic inside a trace. `sizes` and `strides` have the
/// same length. The view rules (graph/shape_rules) and the buffer plan (kernels) are formulas over this.
struct Layout {
  Ints sizes, strides;
  Int offset = 0;
  int dim() const { return static_cast<int>(sizes.size()); }
};

/// Everything about a tensor but its bytes.
struct TensorMeta {
  DType dtype = DType::Float32;
  Device device;
  Layout layout;
  int dim() const { return layout.dim(); }
  Int size(int d) const { return layout.sizes[d]; }
};

Ints contiguous_strides(const Ints& sizes);  ///< row-major; a size of 0 counts as 1, as in ATen
Int numel(const Ints& sizes);
/// -dim..dim-1 to 0..dim-1; throws IndexOutOfRange naming `op`. A 0-dim tensor is treated as 1-dim (ATen).
int wrap_dim(std::int64_t d, int dim, const char* op, SourceLoc loc);
/// ATen's is_contiguous. On symbolic layouts asks `Bool`s, so it may guard; use the known_ form in passes.
bool is_contiguous(const Layout&);
/// True only if it follows from the guards taken so far, without a new one (sizes known to be 1 do not count).
bool known_contiguous(const Layout&);
/// The same of all strides, also those of dimensions of size 0 and 1: they are what contiguous_strides() gives.
bool known_row_major(const Layout&);

}  // namespace reprise
