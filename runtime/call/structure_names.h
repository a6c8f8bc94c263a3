#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/call/call.h"

namespace reprise::detail {

/// Where the words of tensors, or undefined ones, stand in a frame's structure.
std::vector<std::uint32_t> tensor_words_of(const StructureNames&);

/// How a call differs in structure from the one that something was compiled for.
struct StructureDifference {
  std::string failed;         ///< the first difference: "causal (arg 5) is false, was true"
  std::string remedy;         ///< what its user can do
  std::size_t arguments = 0;  ///< how many differ
  /// of the first: "causal (arg 5)", "false", "true"; empty where there is no such thing
  std::string argument{}, seen{}, expected{};
};
/// Of one tensor, by its words: "is float64, was float32".
StructureDifference difference_of_tensors(std::uint64_t now, std::uint64_t before);
StructureDifference difference_of(const StructureNames& made, const FrameArray<std::uint64_t>& made_words,
                                  const StructureNames& call, const FrameArray<std::uint64_t>& call_words);

}  // namespace reprise::detail
