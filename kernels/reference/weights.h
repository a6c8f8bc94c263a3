#pragma once
#include <string>
#include <vector>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

// Weights to draw by: [n], or [rows, n].

std::string weight_fault(double weight, std::int64_t category, std::int64_t row);
/// Of `wanted` categories that are drawn without replacement (1: any draw) only `positive` have a weight.
std::string few_weights_fault(std::int64_t positive, std::int64_t wanted, std::int64_t row);
/// Why `wanted` categories cannot be drawn from each row; empty when they can.
std::string refuse_weights(const TensorView&, std::int64_t wanted);

namespace reference {
std::vector<double> weights_of(const TensorView& row);
TensorView row_of(const TensorView&, std::int64_t row);
}  // namespace reference

}  // namespace reprise::kernels
