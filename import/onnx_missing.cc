// A build without protobuf: what include/reprise/onnx.h declares says so.
#include "base/errors.h"
#include "reprise/onnx.h"

namespace reprise::onnx {

struct detail::Program {
  std::vector<Port> none{};
};

namespace {
[[noreturn]] void missing(SourceLoc loc = {}) {
  fail(ErrorCode::InvalidArgument, "onnx::load", loc,
       "this build has no reader of ONNX files: it was configured without protobuf (REPRISE_ONNX)");
}
}  // namespace

const std::vector<Port>& Model::inputs() const { missing(); }
const std::vector<Port>& Model::outputs() const { missing(); }
std::size_t Model::input(std::string_view) const { missing(); }
std::size_t Model::output(std::string_view) const { missing(); }
Argument Argument::numbers_of(const Tensor&) { missing(); }
std::vector<Tensor> Model::operator()(const std::vector<Argument>&) const { missing(); }
std::vector<Tensor> Model::operator()(const std::vector<Tensor>&) const { missing(); }
CompiledModel::CompiledModel(Model model, CompileOptions options)
    : CompiledFunction<Model>(std::move(model), std::move(options)) {}
bool CompiledModel::as_they_are() const { return true; }
std::vector<Tensor> CompiledModel::operator()(const std::vector<Tensor>&) const { missing(); }
std::vector<Tensor> CompiledModel::operator()(const std::vector<Argument>&) const { missing(); }
Model load(const std::string&, const LoadOptions&, SourceLoc loc) { missing(loc); }
Model load_bytes(std::string_view, const LoadOptions&, SourceLoc loc) { missing(loc); }
Tensor load_tensor(const std::string&, SourceLoc loc) { missing(loc); }

}  // namespace reprise::onnx
