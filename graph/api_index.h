#pragma once
#include <algorithm>
#include <vector>

#include "reprise/tensor.h"
#include "tensor/impl.h"

namespace reprise::graph::api {

/// A tensor and integer indices of its dimensions.
struct MaskIndices {
  Tensor self;
  std::vector<Tensor> list;
};
/// What index tensors mean among which there are masks (bool): a mask stands for the places where it holds, of as many
/// dimensions as it has. Where these are several, they become one dimension of `self`; `by_dimension`: each has an
/// index of its own, and self stays. Declared here and defined in operators/data_sizes.cc, as eager_interpreter() is.
MaskIndices mask_indices(const Tensor& self, TensorArrayRef indices, bool by_dimension, const char* op, SourceLoc loc);
/// index_put of such indices, or index_put_.
Tensor put_by_masks(const Tensor& self, TensorArrayRef indices, const Tensor& values, bool accumulate, bool inplace,
                    SourceLoc loc);

inline bool has_mask(TensorArrayRef indices) {
  return std::any_of(indices.begin(), indices.end(),
                     [](const Tensor& t) { return t.defined() && t.impl()->dtype == DType::Bool; });
}

}  // namespace reprise::graph::api
