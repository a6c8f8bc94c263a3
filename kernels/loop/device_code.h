#pragma once
#include <algorithm>

#include "kernels/loop/ir.h"

namespace reprise::kernels {

/// Is there code for it on devices? Functions of Float64 (and Lgamma) are the host's library's: no double-precision
/// versions of them are written here, and devices compute them slowly anyway.
inline bool has_device_code(const LoopKernel& k) {
  return std::all_of(k.body.begin(), k.body.end(), [](const BodyNode& n) {
    if (n.kind != BodyNode::Kind::Op) return true;
    const ScalarDevice d = scalar_op(n.op).device;
    return d == ScalarDevice::All || (d == ScalarDevice::NotFloat64 && n.dtype != DType::Float64);
  });
}

}  // namespace reprise::kernels
