#include "import/onnx/core.h"

namespace reprise::onnx {

std::span<const Row> image_rows() { return {}; }

}  // namespace reprise::onnx
