#pragma once
#include "import/onnx/core.h"

/// What operators give of numbers (fold.cc): each is false where the result is too large for numbers, or not an affair
/// of sizes.
namespace reprise::onnx::fold {

bool add(Call&);
bool sub(Call&);
bool mul(Call&);
bool div(Call&);
bool mod(Call&);
bool max(Call&);
bool min(Call&);
bool equal(Call&);
bool less(Call&);
bool less_or_equal(Call&);
bool greater(Call&);
bool greater_or_equal(Call&);
bool logical_and(Call&);
bool logical_or(Call&);
bool logical_not(Call&);
bool neg(Call&);
bool abs(Call&);
bool relu(Call&);
bool floor(Call&);
bool ceil(Call&);
bool sqrt(Call&);
bool cast(Call&);
bool where(Call&);
bool identity(Call&);

bool gather(Call&);
bool concat(Call&);
bool reshaped(Call&);  ///< Squeeze, Unsqueeze, Reshape, Flatten: the same elements
bool slice(Call&);
bool split(Call&);
bool transpose(Call&);
bool expand(Call&);
bool tile(Call&);
bool scatter_nd(Call&);
bool range(Call&);
bool constant_of_shape(Call&);
bool reduce_prod(Call&);
bool reduce_sum(Call&);
bool reduce_max(Call&);
bool reduce_min(Call&);

}  // namespace reprise::onnx::fold
namespace reprise::onnx {
/// Sizes that Reshape gives: 0 copies a size unless `allow_zero`, -1 is what is left. (view's -1 is not asked for where
/// sizes are known.)
Ints reshaped_sizes(const Call&, const std::vector<Int>& wanted, const Ints& from, bool allow_zero);
/// Is it symbolic, and known to be a size? Then it is not asked about.
bool is_size(Int);
bool is_negative(Int);
}  // namespace reprise::onnx
