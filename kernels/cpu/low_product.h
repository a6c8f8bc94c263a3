#pragma once
#include <span>

#include "kernels/cpu/matmul_product.h"

namespace reprise::kernels {

/// A product of bfloat16 with more rows and columns than matrix-vector forms take, on the instructions made for it
/// (f.low): what multiply() calls. k > 0, nothing is added. Throws OutOfMemory when there is no room to pack. Several
/// are of one A, of as many columns, all or none with panels, for a fragment that reads all of them.
void multiply_low(const MatmulKernels& f, std::span<const ProductCall>, const Fragment* = nullptr,
                  std::int64_t first_row = 0);

/// B by groups of two rows, 4 bytes for each column: row i of a panel holds those of rows 2i and 2i + 1. The
/// micro-kernels LowTile read such panels, of low_columns() columns.
class PairPanels {
 public:
  PairPanels(const MatmulKernels& f, const ProductCall& p);
  /// Bytes of a panel: k filled up with zeros to what the micro-kernels take.
  std::int64_t bytes() const { return rows_ * width_ * 4; }
  std::int64_t width() const { return width_; }
  /// Columns [col, col + cols) of B, cols <= width(). What stands in the panel's other columns does not matter. Any
  /// number of threads.
  void pack(std::int64_t col, std::int64_t cols, char* panel) const;

 private:
  const MatmulKernels& f_;
  const ProductCall& p_;
  std::int64_t width_, rows_;
};

}  // namespace reprise::kernels
