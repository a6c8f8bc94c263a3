#pragma once
#include <cstdint>

#include "reprise/dtype.h"

namespace reprise::kernels {

/// The dtype a value has in registers: half types live as Float32.
constexpr DType register_dtype(DType t) { return is_low_precision(t) ? DType::Float32 : t; }

/// An integer's low bits as a value of t; as Bool: is it not 0?
constexpr std::int64_t wrap_to(std::int64_t v, DType t) {
  switch (t) {
    case DType::Int8: return static_cast<std::int8_t>(v);
    case DType::UInt8: return static_cast<std::uint8_t>(v);
    case DType::Int32: return static_cast<std::int32_t>(v);
    case DType::Bool: return v != 0;
    default: return v;
  }
}

}  // namespace reprise::kernels
