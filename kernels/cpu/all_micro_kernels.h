#pragma once
#include <type_traits>

#include "kernels/cpu/attention_kernels.h"
#include "kernels/cpu/block_kernels.h"
#include "kernels/cpu/convolution_kernels.h"
#include "kernels/cpu/fragment.h"
#include "kernels/cpu/micro_kernels.h"

namespace reprise::kernels {

template <class... K>
struct Kinds {
  /// f(std::type_identity<K>()) of one after another, until one says true.
  template <class F>
  static bool any(F&& f) {
    return (f(std::type_identity<K>()) || ...);
  }
};
/// Every kind of micro-kernel. Code is made of them, and recipes are read, by this list.
using MicroKernels =
    Kinds<micro::Gemm, micro::GemvDot, micro::GemvSum, micro::Convert, micro::Transpose, micro::PackWindows,
          micro::SumWindows, micro::RowTiles, micro::Turn, micro::DealRows, micro::SumChannel, micro::SumLanes,
          micro::Strip, micro::Softmax, micro::Scale, micro::IntDot, micro::HalfDot, micro::BlockDot, micro::IntTile,
          micro::ScaleSums, micro::UnpackDot, micro::Unpack, micro::UnpackBytes, micro::PackBytes, micro::QuantizeRows,
          micro::MultiplyBytes, micro::LowTile, micro::Interleave, micro::Fragment>;

}  // namespace reprise::kernels
