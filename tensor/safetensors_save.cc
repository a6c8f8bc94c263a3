#include <fcntl.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/files.h"
#include "base/shown.h"
#include "reprise/safetensors.h"
#include "tensor/impl.h"
#include "tensor/safetensors_format.h"
#include "tensor/strided.h"
#include "tensor/transfer.h"

namespace reprise {
namespace {

constexpr const char* op = "save_safetensors";

/// files::NewFile whose failures are Errors.
class AtomicFile {
 public:
  AtomicFile(const std::string& path, SourceLoc loc) : path_(path), loc_(loc), file_(AT_FDCWD, path, 0644) { check(); }
  void write(const char* p, std::int64_t n) {
    file_.write(p, n);
    check();
  }
  void publish() {
    file_.publish(true);
    check();
  }

 private:
  void check() const {
    if (!file_.good()) fail(ErrorCode::Io, op, loc_, "cannot write '", shown(path_), "': ", file_.why());
  }
  std::string path_;
  SourceLoc loc_;
  files::NewFile file_;
};

void write_tensor(AtomicFile& out, TensorImpl& t) {
  const std::int64_t item = item_size(t.dtype);
  if (t.numel() == 0) return;
  const bool is_bool = t.dtype == DType::Bool;  // foreign memory may hold other bytes than 0 and 1; the file may not
  if (!is_bool && is_contiguous(meta_of(Tensor::share(&t)).layout)) return out.write(t.data(), t.numel() * item);
  std::vector<char> buffer;
  constexpr std::size_t kBuffer = std::size_t{1} << 20;
  buffer.reserve(kBuffer + 8);
  const char* base = t.data();
  for_each_offset(t, [&](std::int64_t at) {
    if (is_bool) buffer.push_back(base[at] != 0);
    else buffer.insert(buffer.end(), base + at * item, base + (at + 1) * item);
    if (buffer.size() < kBuffer) return;
    out.write(buffer.data(), static_cast<std::int64_t>(buffer.size()));
    buffer.clear();
  });
  out.write(buffer.data(), static_cast<std::int64_t>(buffer.size()));
}

}  // namespace

void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata, SourceLoc loc) {
  std::vector<std::pair<const std::string*, TensorImpl*>> order;
  std::vector<Tensor> readable;  // copies of tensors of other devices live until the file is written
  for (auto& [name, t] : tensors) {
    if (name == "__metadata__") fail(ErrorCode::InvalidArgument, op, loc, "the name '__metadata__' is reserved");
    if (!t.defined()) fail(ErrorCode::InvalidArgument, op, loc, "tensor '", name, "' is undefined");
    readable.push_back(on_host(t, op, loc));
    order.emplace_back(&name, readable.back().impl());
  }
  // Wide elements first: with a header of a multiple of 8 bytes all data are aligned.
  std::stable_sort(order.begin(), order.end(),
                   [](auto& a, auto& b) { return item_size(a.second->dtype) > item_size(b.second->dtype); });
  // Only texts are values of the JSON library: objects and lists allocate where they are destroyed, and end the process
  // when memory is exhausted.
  auto quoted = [](const std::string& text) { return nlohmann::json(text).dump(); };
  std::string header = "{";
  auto begin = [&](const std::string& key) { header += (header.back() == '{' ? "" : ",") + quoted(key) + ":"; };
  try {
    std::map<std::string, std::string> entries;
    std::int64_t at = 0;
    for (auto [name, t] : order) {
      const std::int64_t end = at + t->numel() * item_size(t->dtype);
      std::string& e = entries[*name];
      e = "{\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(end) + "],\"dtype\":\"" +
          std::string(safetensors::name_of(t->dtype)) + "\",\"shape\":[";
      for (int d = 0; d < t->rank; ++d) e += (d ? "," : "") + std::to_string(t->sizes[d]);
      e += "]}";
      at = end;
    }
    if (!metadata.empty()) {
      begin("__metadata__");
      header += '{';
      for (const auto& [key, text] : metadata) begin(key), header += quoted(text);
      header += '}';
    }
    for (const auto& [name, e] : entries) begin(name), header += e;
    header += '}';
  } catch (const nlohmann::json::exception& e) {
    fail(ErrorCode::InvalidArgument, op, loc, "a name or a metadata text is not UTF-8: ", e.what());
  }
  header.resize((header.size() + 7) / 8 * 8, ' ');
  if (static_cast<std::int64_t>(header.size()) > safetensors::kMaxHeader)
    fail(ErrorCode::InvalidArgument, op, loc, "the header takes ", header.size(), " bytes; the format allows ",
         safetensors::kMaxHeader);
  char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> (8 * i));
  AtomicFile out(path, loc);
  out.write(length, 8);
  out.write(header.data(), static_cast<std::int64_t>(header.size()));
  for (auto [name, t] : order) write_tensor(out, *t);
  out.publish();
}

}  // namespace reprise
