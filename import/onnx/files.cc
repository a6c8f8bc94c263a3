#include "base/files.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "base/errors.h"
#include "base/shown.h"
#include "import/onnx/format.h"

namespace reprise::onnx {

void Source::bad(const std::string& what, ErrorCode code) const {
  fail_text(code, "onnx::load", loc, path.empty() ? what : "'" + shown(path) + "': " + what);
}

namespace {
struct ElementFact {
  const char* name;
  std::optional<DType> dtype;
};
/// By the format's numbers.
constexpr ElementFact kElements[] = {
    {"undefined", {}},        {"float", kFloat32},
    {"uint8", kUInt8},        {"int8", kInt8},
    {"uint16", kInt32},       {"int16", kInt32},
    {"int32", kInt32},        {"int64", kInt64},
    {"string", {}},           {"bool", kBool},
    {"float16", kFloat16},    {"double", kFloat64},
    {"uint32", kInt64},       {"uint64", {}},
    {"complex64", {}},        {"complex128", {}},
    {"bfloat16", kBFloat16},  {"float8e4m3fn", kFloat8E4M3FN},
    {"float8e4m3fnuz", {}},   {"float8e5m2", kFloat8E5M2},
    {"float8e5m2fnuz", {}},   {"uint4", kUInt8},
    {"int4", kInt8},          {"float4e2m1", kFloat8E4M3FN},
    {"float8e8m0", kFloat32}, {"uint2", kUInt8},
    {"int2", kInt8},
};
constexpr std::int32_t kElementCount = sizeof kElements / sizeof *kElements;
}  // namespace

std::string element_name(std::int32_t e) {
  return e >= 0 && e < kElementCount ? kElements[e].name : "element type " + std::to_string(e);
}
std::optional<DType> dtype_of_element(std::int32_t e) {
  return e >= 0 && e < kElementCount ? kElements[e].dtype : std::nullopt;
}
IntegerElement integer_element(std::int32_t e) {
  switch (static_cast<Element>(e)) {
    case Element::UInt2: return {2, false};
    case Element::Int2: return {2, true};
    case Element::UInt4: return {4, false};
    case Element::Int4: return {4, true};
    case Element::UInt16: return {16, false};
    case Element::Int16: return {16, true};
    case Element::UInt32: return {32, false};
    default: return {};
  }
}
bool is_held_wider(std::int32_t e) {
  const Element element = static_cast<Element>(e);
  return integer_element(e).bits != 0 || element == Element::Float4E2M1 || element == Element::Float8E8M0;
}

struct ExternalFiles::Mapped {
  char* data = nullptr;
  std::int64_t size = 0;
  Mapped() = default;
  Mapped(const Mapped&) = delete;
  ~Mapped() {
    if (data) munmap(data, static_cast<std::size_t>(size));
  }
};

namespace {
/// Without links; none where there is no such file.
std::optional<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? std::optional<std::string>(real.get()) : std::nullopt;
}
/// In the folder where the model was named, or in the one that its own link leads to: caches name all files of a model
/// by links into one folder.
bool lies_in_folder(const std::string& real, const Source& source) {
  const auto inside = [&](std::optional<std::string> folder) {
    if (!folder) return false;
    if (!folder->ends_with('/')) folder->push_back('/');
    return real.starts_with(*folder);
  };
  if (inside(real_path(source.folder))) return true;
  const std::optional<std::string> model = real_path(source.path);
  return model && inside(model->substr(0, model->rfind('/')));
}
}  // namespace

std::pair<const char*, std::shared_ptr<void>> ExternalFiles::bytes(const std::string& who, const std::string& location,
                                                                   std::int64_t offset, std::int64_t length) {
  if (location.empty()) source_.bad(who + " lies outside of the model, and no location says where");
  if (source_.folder.empty())
    source_.bad(who + " lies in '" + shown(location) + "': a model that is given as bytes has no folder to look in");
  // A path that climbs, begins at the root or hides its end names nothing in the folder.
  bool inside = location.front() != '/' && location.find('\0') == std::string::npos;
  for (std::size_t at = 0; inside && at <= location.size();) {
    const std::size_t end = std::min(location.find('/', at), location.size());
    if (location.compare(at, end - at, "..") == 0) inside = false;
    at = end + 1;
  }
  if (!inside) source_.bad(who + ": its data lie in '" + shown(location) + "', outside of the model's folder");
  std::shared_ptr<Mapped>& file = files_[location];
  if (!file) {
    const std::string path = source_.folder + "/" + location;
    std::string why;
    const std::optional<std::string> real = real_path(path);
    if (!real)
      source_.bad(who + ": cannot open its data, '" + shown(path) + "': " + std::strerror(errno), ErrorCode::Io);
    if (!lies_in_folder(*real, source_))
      source_.bad(who + ": its data lie in '" + shown(location) +
                  "', a link that leads outside of the model's folder, to '" + shown(*real) + "'");
    const files::File opened = files::open_to_read(*real, why);
    if (!opened) source_.bad(who + ": cannot open its data, '" + shown(path) + "': " + why, ErrorCode::Io);
    auto mapped = std::make_shared<Mapped>();
    const std::int64_t size = files::size_of(opened);
    if (size > 0) {
      // Private: what is written into a weight stays in this process.
      void* at = mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE, MAP_PRIVATE, opened.fd(), 0);
      if (at == MAP_FAILED) source_.bad("cannot map '" + shown(path) + "': " + std::strerror(errno), ErrorCode::Io);
      mapped->data = static_cast<char*>(at), mapped->size = size;
    }
    file = std::move(mapped);
  }
  if (offset > file->size || length > file->size - offset)
    source_.bad(who + ": its data are bytes " + std::to_string(offset) + " to " + std::to_string(offset) + " + " +
                std::to_string(length) + " of '" + shown(location) + "', which has " + std::to_string(file->size));
  return {file->data + offset, file};
}

std::string read_whole(const Source& source) {
  std::string why;
  const files::File file = files::open_to_read(source.path, why);
  if (!file) source.bad("cannot open it: " + why, ErrorCode::Io);
  const std::int64_t size = files::size_of(file);
  if (size < 0) source.bad("the system does not say how large it is", ErrorCode::Io);
  if (size > INT32_MAX)
    source.bad("it has " + std::to_string(size) + " bytes; the format ends at 2 GB (larger weights are external data)");
  std::string bytes(static_cast<std::size_t>(size), '\0');
  if (size > 0 && !files::read_at(file, 0, bytes.data(), size, why))
    source.bad("cannot read it: " + why, ErrorCode::Io);
  return bytes;
}

}  // namespace reprise::onnx
