#include "kernels/reference/weights.h"

#include <cmath>

#include "kernels/reference/elements.h"

namespace reprise::kernels {

namespace reference {

std::vector<double> weights_of(const TensorView& row) {
  std::vector<double> w(static_cast<std::size_t>(row.sizes[0]));
  if (row.dtype == DType::Float32) {
    const float* p = reinterpret_cast<const float*>(row.data);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = p[static_cast<std::int64_t>(i) * row.strides[0]];
  } else {
    for (std::size_t i = 0; i < w.size(); ++i) w[i] = load_number(row, static_cast<std::int64_t>(i) * row.strides[0]);
  }
  return w;
}

TensorView row_of(const TensorView& t, std::int64_t row) { return t.rank == 2 ? select(t, 0, row) : t; }

}  // namespace reference

std::string weight_fault(double weight, std::int64_t category, std::int64_t row) {
  return "weight " + std::to_string(weight) + " of category " + std::to_string(category) + " in row " +
         std::to_string(row) + " is negative or not finite";
}

std::string few_weights_fault(std::int64_t positive, std::int64_t wanted, std::int64_t row) {
  const std::string in_row = " in row " + std::to_string(row);
  if (positive == 0) return "the weights" + in_row + " are all zero";
  return "cannot draw " + std::to_string(wanted) + " samples without replacement from " + std::to_string(positive) +
         " categories of positive weight" + in_row;
}

std::string refuse_weights(const TensorView& weights, std::int64_t wanted) {
  const std::int64_t rows = weights.rank == 2 ? weights.sizes[0] : 1;
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::vector<double> w = reference::weights_of(reference::row_of(weights, r));
    std::int64_t positive = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (!(w[i] >= 0) || std::isinf(w[i])) return weight_fault(w[i], static_cast<std::int64_t>(i), r);
      positive += w[i] > 0;
    }
    if (positive < wanted) return few_weights_fault(positive, wanted, r);
  }
  return "";
}

}  // namespace reprise::kernels
