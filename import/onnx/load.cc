#include <algorithm>

#include "base/nearest.h"
#include "base/shown.h"
#include "base/warning.h"
#include "import/onnx/plan.h"
#include "reprise/onnx.h"
#include "reprise/parameter.h"

namespace reprise::onnx {

struct detail::Program {
  onnx::Program run{};
  std::int64_t max_steps = 0;
  bool any_decides = false;
  std::vector<Port> inputs{}, outputs{};
};

namespace {

Port port(const ValueInfo& v, const Source& source, const char* what) {
  const std::string who = std::string(what) + " '" + shown(v.name) + "'";
  if (v.kind != ValueInfo::Kind::Tensor)
    source.bad(who + " is no tensor: models take and give tensors", ErrorCode::InvalidArgument);
  const std::optional<DType> dtype = dtype_of_element(v.element);
  if (!dtype && v.element != 0)
    source.bad(who + " is of " + element_name(v.element) + ", which is not supported", ErrorCode::InvalidArgument);
  Port p{.name = v.name, .dtype = dtype.value_or(kFloat32), .sizes = {}};
  if (v.has_shape) p.sizes = v.dims;
  return p;
}

/// As models take a rate, or a mode.
bool is_one_integer(const Port& p) {
  return is_integral(p.dtype) && p.dtype != kBool && p.sizes &&
         std::all_of(p.sizes->begin(), p.sizes->end(), [](const Dimension& d) { return d.size == 1; });
}

/// Weights hardly ever change.
void freeze_constants(const Program& p) {
  for (const Value& v : p.constants)
    if (v.has_tensor) freeze(v.tensor);
  for (const auto& f : p.functions) freeze_constants(f->body);
}

std::shared_ptr<const detail::Program> made(ModelData&& data, const Source& source, const LoadOptions& options) {
  for (const auto& [name, t] : options.constants)
    if (!t.defined())
      fail(ErrorCode::InvalidArgument, "onnx::load", source.loc, "the constant '", shown(name), "' is undefined");
  if (options.max_steps < 1)
    fail(ErrorCode::InvalidArgument, "onnx::load", source.loc, "max_steps is ", options.max_steps,
         "; wanted 1 or more");
  Plan plan = make_plan(data, source, options.constants);
  if (const auto set = data.opsets.find(""); set != data.opsets.end() && set->second > kNewest)
    warning("onnx::load: " + (source.path.empty() ? std::string("a model") : "'" + shown(source.path) + "'") +
            " is of operator set " + std::to_string(set->second) + "; the newest that is known is " +
            std::to_string(kNewest) + ", and its operators are run as that has them");
  freeze_constants(plan.program);
  auto program = std::make_shared<detail::Program>();
  program->max_steps = options.max_steps;
  std::size_t next = 0;
  for (const ValueInfo& v : data.graph.inputs) {
    if (const auto given = options.constants.find(v.name); given != options.constants.end()) {
      const std::optional<DType> dtype = dtype_of_element(v.element);
      if (dtype && *dtype != given->second.dtype())
        fail(ErrorCode::DTypeMismatch, "onnx::load", source.loc, "the constant '", shown(v.name), "' is ", *dtype,
             " in the file, and ", given->second.dtype(), " here");
    }
    // a constant
    if (next >= plan.program.graph.in.size() ||
        plan.names[static_cast<std::size_t>(plan.program.graph.in[next])] != v.name)
      continue;
    Port p = port(v, source, "the input");
    const std::size_t slot = static_cast<std::size_t>(plan.program.graph.in[next]);
    // A flag that ends a loop, or chooses a branch, stays a tensor.
    p.decides_sizes =
        p.dtype == kBool ? plan.wanted[slot] : plan.decides[slot] || (plan.chooses[slot] && is_one_integer(p));
    program->any_decides |= p.decides_sizes;
    program->inputs.push_back(std::move(p));
    ++next;
  }
  for (std::size_t i = 0; i < data.graph.outputs.size(); ++i) {
    ValueInfo v = data.graph.outputs[i];
    if (const std::int32_t element = plan.instead[static_cast<std::size_t>(plan.program.graph.out[i])]) {
      v.has_shape &= v.kind == ValueInfo::Kind::Tensor;
      v.kind = ValueInfo::Kind::Tensor, v.element = element;
    }
    program->outputs.push_back(port(v, source, "the result"));
  }
  program->run = std::move(plan.program);
  return program;
}

const detail::Program& loaded(const std::shared_ptr<const detail::Program>& p) {
  if (!p) fail(ErrorCode::InvalidArgument, "onnx::Model", {}, "no model was loaded into it");
  return *p;
}

std::string sizes_text(const Port& p) {
  std::string text = "[";
  for (const Dimension& d : *p.sizes)
    text += (text.size() > 1 ? ", " : "") + (d.size >= 0      ? std::to_string(d.size)
                                             : d.name.empty() ? "?"
                                                              : shown(d.name));
  return text + "]";
}

Value admitted(const Argument& a, const Port& p) {
  const std::string name = "the input '" + shown(p.name) + "'";
  if (a.values) {
    Numbers n{.dtype = p.dtype, .dims = a.dims, .values = *a.values};
    std::int64_t count = 1;
    for (std::int64_t d : a.dims) count *= d;
    if (count != static_cast<std::int64_t>(n.values.size()) || a.dims.size() > kMaxRank)
      fail(ErrorCode::InvalidArgument, "onnx::Model", {}, name, " is given ", n.values.size(),
           " numbers, whose sizes say ", count);
    for (Scalar& s : n.values) s = converted(s, p.dtype);
    return n;
  }
  if (!a.tensor || !a.tensor->defined()) fail(ErrorCode::InvalidArgument, "onnx::Model", {}, name, " is undefined");
  const Tensor& t = *a.tensor;
  if (t.dtype() != p.dtype)
    fail(ErrorCode::DTypeMismatch, "onnx::Model", {}, name, " is ", p.dtype, " in the file, and ", t.dtype(), " here");
  if (p.sizes) {
    const Ints sizes = t.sizes();
    bool fits = sizes.size() == p.sizes->size();
    for (std::size_t d = 0; fits && d < sizes.size(); ++d)
      if ((*p.sizes)[d].size >= 0) fits = bool(sizes[d] == (*p.sizes)[d].size);
    if (!fits) {
      std::string here = "[";
      for (Int d : sizes) here += (here.size() > 1 ? ", " : "") + std::to_string(d.hint());
      fail(ErrorCode::ShapeMismatch, "onnx::Model", {}, name, " has sizes ", sizes_text(p), " in the file, and ", here,
           "] here");
    }
  }
  return t;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::size_t place(const std::vector<Port>& ports, std::string_view name, const char* what) {
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name == name) return i;
  std::vector<std::string_view> names;
  for (const Port& p : ports) names.push_back(p.name);
  fail(ErrorCode::InvalidArgument, "onnx::Model", {}, "there is no ", what, " '", shown(name), "'; the nearest is '",
       shown(nearest_name(name, names)), "'");
}

}  // namespace

const std::vector<Port>& Model::inputs() const { return loaded(program_).inputs; }
const std::vector<Port>& Model::outputs() const { return loaded(program_).outputs; }
std::size_t Model::input(std::string_view name) const { return place(inputs(), name, "input"); }
std::size_t Model::output(std::string_view name) const { return place(outputs(), name, "result"); }

Argument Argument::numbers_of(const Tensor& t) {
  Numbers n = read_numbers(t);
  Argument a;
  a.values = std::move(n.values), a.dims = std::move(n.dims);
  return a;
}

std::vector<Tensor> Model::operator()(const std::vector<Argument>& inputs) const {
  const detail::Program& p = loaded(program_);
  if (inputs.size() != p.inputs.size())
    fail(ErrorCode::InvalidArgument, "onnx::Model", {}, "takes ", p.inputs.size(), " inputs, and is given ",
         inputs.size());
  Budget budget{p.max_steps, p.max_steps};
  Frame frame{.program = p.run, .values = std::vector<Value>(p.run.constants.size()), .budget = &budget};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    frame.values[static_cast<std::size_t>(p.run.graph.in[i])] = admitted(inputs[i], p.inputs[i]);
  run_graph(p.run.graph, frame);
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < p.run.graph.out.size(); ++i) {
    const Value& v = frame.at(p.run.graph.out[i]);
    if (!v.has_tensor && !v.numbers)
      fail(ErrorCode::InvalidArgument, "onnx::Model", {}, "the result '", shown(p.outputs[i].name), "' is no tensor");
    results.push_back(v.has_tensor ? v.tensor : to_tensor(*v.numbers));
  }
  return results;
}
std::vector<Tensor> Model::operator()(const std::vector<Tensor>& inputs) const {
  std::vector<Argument> arguments;
  for (const Tensor& t : inputs) arguments.emplace_back(t);
  return (*this)(arguments);
}

// ---- compiled

namespace {
/// Each is a symbol of the trace, but flags: other ones are another compilation.
constexpr std::int64_t kMostAsNumbers = 64, kMostFlags = 1;

/// Few, and of the sizes that the file says: what is wrong with others the model tells.
bool may_be_numbers(const Tensor& t, const Port& p) {
  if (!t.defined() || t.dtype() != p.dtype || is_storage_only(p.dtype)) return false;
  const Ints sizes = t.sizes();
  if (p.sizes && p.sizes->size() != sizes.size()) return false;
  Int elements = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (p.sizes && (*p.sizes)[d].size >= 0 && sizes[d] != (*p.sizes)[d].size) return false;
    elements *= sizes[d];
  }
  return elements <= (p.dtype == kBool ? kMostFlags : kMostAsNumbers);
}
}  // namespace

CompiledModel::CompiledModel(Model model, CompileOptions options)
    : CompiledFunction<Model>(model, std::move(options)), program_(model.program_) {}

bool CompiledModel::as_they_are() const {
  // Inside another compiled function there is nothing to read.
  return !program_ || reprise::detail::around().inside || !program_->any_decides;
}

template <class T>
std::vector<Tensor> CompiledModel::call(const std::vector<T>& inputs) const {
  const CompiledFunction<Model>& compiled = *this;
  if (as_they_are() || inputs.size() != program_->inputs.size()) return compiled(inputs);
  std::vector<Argument> arguments(inputs.begin(), inputs.end());
  bool changed = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Argument& a = arguments[i];
    const Port& p = program_->inputs[i];
    if (p.decides_sizes && !a.values && a.tensor && may_be_numbers(*a.tensor, p))
      a = Argument::numbers_of(*a.tensor), changed = true;
  }
  return changed ? compiled(arguments) : compiled(inputs);
}
std::vector<Tensor> CompiledModel::operator()(const std::vector<Tensor>& inputs) const { return call(inputs); }
std::vector<Tensor> CompiledModel::operator()(const std::vector<Argument>& inputs) const { return call(inputs); }

Model load(const std::string& path, const LoadOptions& options, SourceLoc loc) {
  const Source source{path, folder_of(path), loc};
  Model m;
  m.program_ = made(decode_model(read_whole(source), source), source, options);
  return m;
}
Model load_bytes(std::string_view bytes, const LoadOptions& options, SourceLoc loc) {
  const Source source{{}, {}, loc};
  Model m;
  m.program_ = made(decode_model(bytes, source), source, options);
  return m;
}

Tensor load_tensor(const std::string& path, SourceLoc loc) {
  const Source source{path, folder_of(path), loc};
  TensorData t = decode_tensor(read_whole(source), source);
  if (!t.tensor.defined())
    source.bad("the tensor is of " + element_name(t.element) + ", which is not supported", ErrorCode::InvalidArgument);
  return t.tensor;
}

}  // namespace reprise::onnx
