#pragma once
#include "import/onnx/core.h"

namespace reprise::onnx {

struct Plan {
  Program program{};
  std::vector<bool> decides{};           ///< by slot: its elements decide sizes
  std::vector<bool> wanted{};            ///< by slot: the same, but for what only says whether a loop goes on
  std::vector<bool> chooses{};           ///< by slot: its elements decide which branch of an If is taken
  std::vector<std::string> names{};      ///< by slot
  std::vector<std::int32_t> elements{};  ///< by slot: what is held wider than the file says (is_held_wider); 0: nothing
  /// by slot: the elements of the tensor that is given where the file says strings or maps (ml.h); 0: what the file
  /// says
  std::vector<std::int32_t> instead{};
};

/// Resolves names, versions and functions. Constants' nodes are gone. Throws FileFormat (cycles, names that nothing
/// makes, that two make), and one InvalidArgument for all that is not supported.
Plan make_plan(ModelData&, const Source&, const std::map<std::string, Tensor>& constants);

}  // namespace reprise::onnx
