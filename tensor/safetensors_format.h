#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "reprise/dtype.h"

namespace reprise::safetensors {

inline constexpr std::int64_t kMaxHeader = 100'000'000;  ///< bytes; the format's own bound

/// How the format writes dtypes, in the order of DType.
inline constexpr std::string_view kDTypeNames[kDTypeCount] = {"F32", "F64", "F16",  "BF16",    "I8",     "U8",
                                                              "I32", "I64", "BOOL", "F8_E4M3", "F8_E5M2"};

constexpr std::string_view name_of(DType t) { return kDTypeNames[static_cast<int>(t)]; }
constexpr std::optional<DType> dtype_from(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (kDTypeNames[i] == name) return static_cast<DType>(i);
  return std::nullopt;
}

}  // namespace reprise::safetensors
