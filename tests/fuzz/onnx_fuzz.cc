// onnx::load_bytes: bytes are a model, or one error.
#include <string_view>

#include "reprise/error.h"
#include "reprise/onnx.h"
#include "tests/fuzz/fuzz.h"

using namespace reprise;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try {
    const onnx::Model model = onnx::load_bytes(bytes);
    std::size_t dimensions = 0;
    for (const std::vector<onnx::Port>* ports : {&model.inputs(), &model.outputs()})
      for (const onnx::Port& p : *ports) dimensions += p.sizes ? p.sizes->size() : 0;
    fuzz::promise(dimensions <= size, "more dimensions than bytes");
  } catch (const Error& e) {
    if (e.code() != ErrorCode::FileFormat && e.code() != ErrorCode::InvalidArgument) fuzz::broken(e.what());
    if (e.message().size() > 20000) fuzz::broken("an error of " + std::to_string(e.message().size()) + " bytes");
  }
  return 0;
}
