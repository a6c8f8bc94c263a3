#include "import/onnx/core.h"

namespace reprise::onnx {

std::span<const Row> recurrent_rows() { return {}; }

}  // namespace reprise::onnx
