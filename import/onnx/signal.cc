#include "import/onnx/core.h"

namespace reprise::onnx {

std::span<const Row> signal_rows() { return {}; }

}  // namespace reprise::onnx
