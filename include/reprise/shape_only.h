#pragma once
#include <cstdint>

#include "reprise/tensor.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// Tensors without elements (docs/shape_only.md): they have sizes, strides, a dtype and a device, Device::shape_only(),
/// and no bytes.
///
///   rp::Tensor x = rp::empty({8, 4096}, {.device = rp::Device::shape_only()});
///   rp::ShapeOnlyScope shapes;
///   Transformer net(config);      // of any size: nothing is allocated, nothing is drawn
///   rp::Tensor y = net(x);        // sizes, dtype and strides as the real call gives them; nothing is computed
///
/// Operators answer by their shape rules, with all errors that these have; nothing is compiled. Reading an element
/// throws InvalidArgument.

/// While it lives, tensors that this thread makes without a device (zeros, rand, arange, ...) are shape-only; with a
/// device they are on that, of the host's values (tensor, from_blob) on the host. Scopes nest. A function that was
/// compiled outside of the scope, and makes tensors, runs eagerly in it.
class ShapeOnlyScope {
 public:
  ShapeOnlyScope() noexcept;
  ~ShapeOnlyScope();
  ShapeOnlyScope(const ShapeOnlyScope&) = delete;
  ShapeOnlyScope& operator=(const ShapeOnlyScope&) = delete;

 private:
  const std::uint64_t word_before_, own_before_;
};

/// Has it no elements to read, since it was made so? Throws InvalidArgument for an undefined tensor.
bool is_shape_only(const Tensor&);

}  // namespace REPRISE_VISIBLE
