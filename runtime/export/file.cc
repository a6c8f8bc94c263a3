// A program as a file: a safetensors file whose metadata are its sections (docs/export_format.md).
#include <algorithm>

#include "base/errors.h"
#include "base/shown.h"
#include "reprise/ops.h"
#include "reprise/parameter.h"
#include "runtime/export/code_file.h"
#include "runtime/export/loaded.h"
#include "runtime/export/sections.h"
#include "tensor/impl.h"

namespace reprise {

namespace detail {

namespace {

/// The dimensions of a weight as its elements lie in memory: files have row-major tensors.
std::vector<std::int64_t> memory_order(std::uint64_t word) {
  std::vector<std::int64_t> order;
  const runtime::DimOrder o = runtime::order_of(word);
  for (int i = 0; i < o.rank; ++i) order.push_back(o.dims[static_cast<std::size_t>(i)]);
  return order;
}
bool is_dense(std::uint64_t word) { return runtime::layout_class(word) == runtime::LayoutClass::Dense; }

/// Errors of the tensors' file are the program's.
template <class F>
auto as_program(const char* op, SourceLoc loc, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    if (e.code() != ErrorCode::FileFormat && e.code() != ErrorCode::Io && e.code() != ErrorCode::InvalidArgument) throw;
    fail_text(e.code(), op, loc, e.message());
  }
}

}  // namespace

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

Tensor laid_out(const Tensor& read, const InputContract& in, const std::string& from, const char* op, SourceLoc loc) {
  const TensorImpl& t = *read.impl();
  if (t.rank != runtime::rank_of_word(in.word))
    fail(ErrorCode::FileFormat, op, loc, "'", shown(from), "': weight '", shown(in.name), "' has ",
         static_cast<int>(t.rank), " dimensions, and the program takes ", runtime::rank_of_word(in.word));
  if (!is_dense(in.word)) return read;
  const std::vector<std::int64_t> order = memory_order(in.word);
  std::int64_t sizes[kMaxRank], strides[kMaxRank];
  for (std::size_t i = 0; i < order.size(); ++i) sizes[order[i]] = t.sizes[i], strides[order[i]] = t.strides[i];
  retain(t.storage);
  return Tensor::adopt(new_impl(t.dtype, t.device, sizes, strides, t.rank, t.offset, t.storage));
}

void save_program(const Program& p, const std::string& path, const std::string& beside, SourceLoc loc) {
  constexpr const char* kSave = "ExportedProgram::save";
  std::map<std::string, Tensor> tensors;
  for (const InputContract& in : p.inputs) {
    const auto at = in.weight ? p.weights.find(in.name) : p.weights.end();
    if (at == p.weights.end()) continue;
    if (runtime::layout_class(in.word) == runtime::LayoutClass::Strided)
      fail(ErrorCode::InvalidArgument, kSave, loc, "weight ", in.name, " is ", runtime::layout_name(in.word),
           ", which a file does not keep: make it contiguous() before the program is exported");
    if (in.name.starts_with("reprise."))
      fail(ErrorCode::InvalidArgument, kSave, loc, "weight ", in.name, " has a name that the format reserves");
    tensors.emplace(in.name, is_dense(in.word) ? at->second.permute(memory_order(in.word)) : at->second);
  }
  Sections sections = p.sections;
  as_program(kSave, loc, [&] {
    if (!beside.empty()) {
      sections[std::string(kBesideSection)] = beside;
      sections[std::string(kHashSection)] = hash_of(sections);
      save_safetensors(folder_of(path) + beside, tensors, {}, loc);
      tensors.clear();
    }
    for (const auto& [level, code] : p.code)
      tensors.emplace(std::string(kCodeTensor) + level,
                      from_blob(const_cast<char*>(code.data()), {static_cast<std::int64_t>(code.size())}, kUInt8));
    save_safetensors(path, tensors, sections, loc);
  });
}

std::shared_ptr<Program> open_program(const std::string& path, Reading how, SourceLoc loc) {
  constexpr const char* kLoad = "load_program";
  const SafeTensors file = as_program(kLoad, loc, [&] { return load_safetensors(path, how, loc); });
  if (!file.metadata().contains(std::string(kVersionSection)))
    fail(ErrorCode::FileFormat, kLoad, loc, "'", shown(path), "': it holds tensors, and no program");
  std::shared_ptr<Program> p = read_program(file.metadata(), path, kLoad, loc);
  std::optional<SafeTensors> other;
  if (const auto at = p->sections.find(std::string(kBesideSection)); at != p->sections.end()) {
    if (at->second.find('/') != std::string::npos)
      fail(ErrorCode::FileFormat, kLoad, loc, "'", shown(path), "': its weights are in '", shown(at->second),
           "', which is no file beside it");
    other = as_program(kLoad, loc, [&] { return load_safetensors(folder_of(path) + at->second, how, loc); });
  }
  const SafeTensors& weights = other ? *other : file;
  for (const InputContract& in : p->inputs) {
    if (!in.weight || !weights.contains(in.name)) continue;
    const Tensor read = as_program(kLoad, loc, [&] { return weights.at(in.name, loc); });
    p->weights.emplace(in.name, laid_out(read, in, path, kLoad, loc));
  }
  for (const std::string& name : file.names()) {
    if (!name.starts_with(kCodeTensor)) continue;
    const Tensor bytes = as_program(kLoad, loc, [&] { return file.at(name, loc); });
    if (bytes.dtype() != kUInt8 || bytes.dim() != 1)
      fail(ErrorCode::FileFormat, kLoad, loc, "'", shown(path), "': '", shown(name), "' is no machine code");
    p->code.emplace(name.substr(kCodeTensor.size()),
                    std::string(bytes.impl()->data(), static_cast<std::size_t>(bytes.impl()->numel())));
  }
  return p;
}

}  // namespace detail

LoadedProgram load_program(const std::string& path, LoadOptions options, SourceLoc loc) {
  const std::shared_ptr<const detail::Program> p = detail::open_program(path, options.how, loc);
  auto f = std::make_shared<detail::LoadedFunction>(p, std::move(options.compile));
  std::map<std::string, Tensor> weights;
  for (std::size_t i = 0; i < p->inputs.size(); ++i) {
    const detail::InputContract& in = p->inputs[i];
    const auto at = p->weights.find(in.name);
    if (at == p->weights.end()) continue;
    Device device;
    device.type = static_cast<DeviceType>(in.word >> 32 & 0xff);
    device.index = static_cast<std::uint8_t>(in.word >> 40 & 0xff);
    const Tensor t = device == Device::cpu() ? at->second : at->second.to(device);
    if (options.freeze_weights && !p->graph.inputs[i].mutates_data) freeze(t);
    weights.emplace(in.name, t);
  }
  try {
    return detail::ProgramAccess::loaded(f->bind(weights, loc));
  } catch (const Error& e) {
    if (e.op() != "bind") throw;
    fail(ErrorCode::FileFormat, "load_program", loc, "'", shown(path), "': ", e.message());
  }
}

}  // namespace reprise
