#pragma once
#include <optional>
#include <vector>

#include "kernels/cpu/micro_kernels.h"
#include "kernels/launch/launch.h"

/// Convolutions whose results are a product's rows and whose weights are its panels: Note [Convolutions by rows] in
/// convolution_rows.cc.
namespace reprise::kernels {

/// How a weight [o, c, places...] stands in panels.
struct RowPanels {
  int vectors = 0;         ///< of a panel's row
  bool by_places = false;  ///< rows of a panel are places, then channels; else channels, then places
};
/// How many elements the panels of so many results, each of k weights, have. T: a number, or a symbolic one.
template <class T>
T row_panel_elements(const T& results, const T& k, DType t, int vectors) {
  const std::int64_t width = vectors * micro_lanes(micro_vector_bits(), t);
  return (results + (width - 1)) / width * width * k;
}
/// Operands: a weight of Float32 or Float64, any strides; its panels. `vectors` and `by_places` follow the weight.
void prepack_windows_kernel(const NativeArgs&);

/// What a convolution would have of such panels that are made before; nullopt: it is computed in another way. Arguments
/// and metas are those of the operator convolution.
std::optional<RowPanels> row_panels_wanted(const TensorMeta& image, const TensorMeta& weight, const TensorMeta& result,
                                           const Int& groups, bool transposed);

/// A launch of a node of the form Windows whose results are computed as rows, as convolution_launch has it; nullopt:
/// they are not. Of a convolution with panels (operators/packed_windows.h) they are always.
std::optional<NativeLaunch> rows_launch(const graph::Graph&, const graph::Node&,
                                        const std::vector<Operand>& tensors_then_results);
bool is_rows_convolution(const NativeLaunch&);

}  // namespace reprise::kernels
