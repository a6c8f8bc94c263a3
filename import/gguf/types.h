#pragma once
#include <cstdint>
#include <optional>

#include "kernels/launch/block_format.h"
#include "reprise/gguf.h"

/// What is known of the types that tensors are stored as.
namespace reprise::gguf {

struct TypeFacts {
  Type type;
  const char* name;
  std::int64_t elements, bytes;                     ///< of a block; a row is a number of blocks
  std::optional<DType> dtype = {};                  ///< of one that is not quantized and that tensors here have
  std::optional<kernels::BlockFormat> format = {};  ///< of one that is unpacked
};
/// Null for a number that nobody knows.
const TypeFacts* facts_of(Type);

}  // namespace reprise::gguf
