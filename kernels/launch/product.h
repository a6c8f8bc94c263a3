#pragma once
#include "graph/op_column.h"

namespace reprise::kernels {

/// Which dimensions of a matrix product's operands are its rows, its columns, and what is summed.
enum class ProductForm : std::uint8_t {
  Matrix,   ///< [m, k] x [k, n]
  Batched,  ///< the same after one leading dimension
  Scaled,   ///< the same as Matrix; scales of both operands come third and fourth, then a bias
  Rows,     ///< [..., k] x [n, k]: any number of leading dimensions, the second operand by rows; a bias may come third
  /// the same as Rows; the second operand's panels come third (kernels/cpu/packed.h), then up to how many rows they are
  /// not read. Host alone
  Packed,
  /// of convolutions: [n, c, ...] x [o, c / groups, places...], the image second in the product; a bias may come third
  Windows,
  WindowsLast,  ///< the same; the result is [n, ..., o] (Note [Layouts] in passes/layouts.cc). Host alone
};
constexpr bool is_windows(ProductForm f) { return f == ProductForm::Windows || f == ProductForm::WindowsLast; }
/// The arguments of an operator of these two.
namespace windows_args {
enum Arg { kInput, kWeight, kBias, kStride, kPadding, kDilation, kTransposed, kOutputPadding, kGroups, kCount };
}

/// "form of a product", of operators of class Matmul.
graph::OpColumn<ProductForm>& product_forms();

}  // namespace reprise::kernels
