#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/errors.h"
#include "base/nearest.h"
#include "reprise/safetensors.h"
#include "tensor/impl.h"
#include "tensor/safetensors_format.h"

namespace reprise {
namespace {

using nlohmann::json;
constexpr const char* op = "load_safetensors";

/// The whole file, private: writes stay in this process.
struct Mapping {
  char* data = nullptr;
  std::int64_t bytes = 0;
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  ~Mapping() {
    if (data) munmap(data, static_cast<std::size_t>(bytes));
  }
};

std::shared_ptr<Mapping> map_file(const std::string& path, SourceLoc loc) {
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(ErrorCode::Io, op, loc, "cannot open '", path, "': ", std::strerror(errno));
  struct stat st {};
  auto map = std::make_shared<Mapping>();
  int error = fstat(fd, &st) != 0 ? errno : S_ISREG(st.st_mode) ? 0 : EINVAL;
  if (!error && st.st_size > 0) {
    void* m = mmap(nullptr, static_cast<std::size_t>(st.st_size), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (m == MAP_FAILED)
      error = errno;
    else
      map->data = static_cast<char*>(m), map->bytes = st.st_size;
  }
  close(fd);
  if (error) fail(ErrorCode::Io, op, loc, "cannot map '", path, "': ", std::strerror(error));
  return map;
}

struct Entry {
  DType dtype = DType::Float32;
  int rank = 0;
  std::int64_t sizes[kMaxRank] = {};
  std::int64_t begin = 0, end = 0;  ///< in the data, which follow the header
};

/// Everything wrong with a header is one of these, so each message starts with the file.
class Reader {
 public:
  Reader(const std::string& path, SourceLoc loc) : path_(path), loc_(loc) {}

  template <class... Parts>
  [[noreturn]] void bad(const Parts&... parts) const {
    fail(ErrorCode::FileFormat, op, loc_, "'", path_, "': ", parts...);
  }

  /// Parses and checks; fills the maps. Returns the offset of the data.
  std::int64_t read(const Mapping& map, std::map<std::string, Entry, std::less<>>& entries,
                    std::map<std::string, std::string>& metadata) const {
    if (map.bytes < 8) bad("the file has ", map.bytes, " bytes; the length of the header alone takes 8");
    std::uint64_t n = 0;
    for (int i = 7; i >= 0; --i) n = n << 8 | static_cast<unsigned char>(map.data[i]);
    if (n > static_cast<std::uint64_t>(safetensors::kMaxHeader))
      bad("the header claims ", n, " bytes; at most ", safetensors::kMaxHeader, " are allowed");
    std::int64_t header = static_cast<std::int64_t>(n);
    if (header > map.bytes - 8) bad("the header claims ", header, " bytes, but ", map.bytes - 8, " follow");
    json root = parse({map.data + 8, static_cast<std::size_t>(header)});
    for (auto& [name, value] : root.items()) {
      if (name == "__metadata__")
        read_metadata(value, metadata);
      else
        entries.emplace(name, read_entry(name, value));
    }
    check_ranges(entries, map.bytes - 8 - header);
    return 8 + header;
  }

 private:
  json parse(std::string_view text) const {
    // One set of keys for each object that is open: JSON itself would let the last of two equal keys win.
    std::vector<std::set<std::string>> open;
    auto check = [&](int, json::parse_event_t event, json& value) {
      if (event == json::parse_event_t::object_start) {
        open.emplace_back();
      } else if (event == json::parse_event_t::object_end) {
        open.pop_back();
      } else if (event == json::parse_event_t::key) {
        if (!open.back().insert(value.get<std::string>()).second)
          bad("the key '", value.get<std::string>(), "' occurs twice in the header");
      }
      if (open.size() > 2) bad("the header nests deeper than tensors and their fields");
      return true;
    };
    json root;
    try {
      root = json::parse(text, check);
    } catch (const json::exception& e) {
      bad("the header is not JSON: ", e.what());
    }
    if (!root.is_object()) bad("the header is a JSON ", root.type_name(), ", not an object");
    return root;
  }

  void read_metadata(const json& value, std::map<std::string, std::string>& metadata) const {
    if (!value.is_object()) bad("__metadata__ is a JSON ", value.type_name(), ", not an object");
    for (auto& [key, text] : value.items()) {
      if (!text.is_string()) bad("__metadata__ '", key, "' is a JSON ", text.type_name(), ", not a string");
      metadata[key] = text.get<std::string>();
    }
  }

  Entry read_entry(const std::string& name, const json& value) const {
    if (!value.is_object()) bad("tensor '", name, "' is a JSON ", value.type_name(), ", not an object");
    for (const char* key : {"dtype", "shape", "data_offsets"})
      if (!value.contains(key)) bad("tensor '", name, "' has no ", key);
    Entry e;
    const json &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];
    if (!dtype.is_string()) bad("tensor '", name, "': dtype is a JSON ", dtype.type_name(), ", not a string");
    std::optional<DType> known = safetensors::dtype_from(dtype.get<std::string>());
    if (!known) bad("tensor '", name, "' has the unknown dtype '", dtype.get<std::string>(), "'");
    e.dtype = *known;
    if (!shape.is_array()) bad("tensor '", name, "': shape is a JSON ", shape.type_name(), ", not an array");
    if (shape.size() > kMaxRank)
      bad("tensor '", name, "' has ", shape.size(), " dimensions; at most ", kMaxRank, " are supported");
    std::int64_t bytes = item_size(e.dtype);
    bool overflow = false, none = false;
    for (const json& s : shape) {
      std::int64_t size = integer(name, "shape", s);
      e.sizes[e.rank++] = size;
      none |= size == 0;
      overflow |= size != 0 && __builtin_mul_overflow(bytes, size, &bytes);
    }
    if (overflow && !none)
      bad("tensor '", name, "': shape ", shape.dump(), " of ", e.dtype, " overflows 63 bits of bytes");
    if (none) bytes = 0;
    if (!offsets.is_array() || offsets.size() != 2)
      bad("tensor '", name, "': data_offsets is not an array of two numbers");
    e.begin = integer(name, "data_offsets", offsets[0]);
    e.end = integer(name, "data_offsets", offsets[1]);
    if (e.end < e.begin) bad("tensor '", name, "': data_offsets are reversed, ", e.begin, " to ", e.end);
    if (e.end - e.begin != bytes)
      bad("tensor '", name, "': data_offsets span ", e.end - e.begin, " bytes, but shape ", shape.dump(), " of ",
          e.dtype, " takes ", bytes);
    return e;
  }

  std::int64_t integer(const std::string& name, const char* what, const json& v) const {
    if (!v.is_number_integer()) bad("tensor '", name, "': ", what, " holds ", v.dump(), ", which is not an integer");
    if (v.is_number_unsigned() ? v.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)
                               : v.get<std::int64_t>() < 0)
      bad("tensor '", name, "': ", what, " holds ", v.dump(), "; wanted 0 to ", INT64_MAX);
    return v.get<std::int64_t>();
  }

  /// The ranges, in order, must tile the data exactly.
  void check_ranges(const std::map<std::string, Entry, std::less<>>& entries, std::int64_t data_bytes) const {
    std::vector<std::pair<const std::string*, const Entry*>> order;
    for (auto& [name, e] : entries) {
      if (e.end > data_bytes)
        bad("tensor '", name, "' ends at byte ", e.end, " of the data, but the file has ", data_bytes);
      order.emplace_back(&name, &e);
    }
    std::sort(order.begin(), order.end(), [](auto& a, auto& b) {
      return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
    });
    std::int64_t at = 0;
    const std::string* before = nullptr;
    for (auto [name, e] : order) {
      if (e->begin < at)
        bad("tensor '", *name, "' begins at byte ", e->begin, " and overlaps tensor '", *before, "', which ends at ",
            at);
      if (e->begin > at) bad("tensor '", *name, "' begins at byte ", e->begin, ", which leaves a hole after byte ", at);
      at = e->end;
      before = name;
    }
    if (at != data_bytes) bad("the tensors end at byte ", at, " of the data, but the file has ", data_bytes);
  }

  const std::string& path_;
  SourceLoc loc_;
};

}  // namespace

struct SafeTensors::File {
  std::string path;
  std::shared_ptr<Mapping> map;
  std::int64_t data_offset = 0;
  std::map<std::string, Entry, std::less<>> entries;
  std::map<std::string, std::string> metadata;
  std::mutex mu;
  std::map<std::string, Tensor, std::less<>> made;  // guarded by mu. They hold the mapping, not this: no cycle

  Tensor make(const std::string& name, const Entry& e, SourceLoc loc) const {
    char* data = map->data + data_offset + e.begin;
    Ints sizes(e.sizes, e.sizes + e.rank);
    if (e.dtype == DType::Bool)
      for (std::int64_t i = 0; i < e.end - e.begin; ++i)
        if (static_cast<unsigned char>(data[i]) > 1)
          fail(ErrorCode::FileFormat, "load_safetensors", loc, "'", path, "': tensor '", name,
               "' is BOOL, but its byte ", i, " is ", int{static_cast<unsigned char>(data[i])}, ", neither 0 nor 1");
    if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(item_size(e.dtype)) == 0)
      return from_blob(data, sizes, e.dtype, [keep = map](void*) {});
    Tensor t = empty_concrete(e.sizes, e.rank, e.dtype, Device::cpu());
    if (e.end > e.begin) std::memcpy(t.impl()->data(), data, static_cast<std::size_t>(e.end - e.begin));
    return t;
  }
};

std::vector<std::string> SafeTensors::names() const {
  std::vector<std::string> all;
  if (file_)
    for (auto& [name, e] : file_->entries) all.push_back(name);
  return all;
}

bool SafeTensors::contains(std::string_view name) const { return file_ && file_->entries.contains(name); }

Tensor SafeTensors::at(std::string_view name, SourceLoc loc) const {
  if (!file_) fail(ErrorCode::InvalidArgument, "SafeTensors::at", loc, "no file was loaded");
  auto found = file_->entries.find(name);
  if (found == file_->entries.end()) {
    std::vector<std::string_view> names;
    for (auto& [n, e] : file_->entries) names.push_back(n);
    std::string hint = names.empty() ? "it holds none" : "did you mean '" + nearest_name(name, names) + "'?";
    fail(ErrorCode::InvalidArgument, "SafeTensors::at", loc, "'", file_->path, "' has no tensor '", name, "'; ", hint);
  }
  std::lock_guard lock(file_->mu);
  Tensor& t = file_->made[found->first];
  if (!t.defined()) t = file_->make(found->first, found->second, loc);
  return t;
}

const std::map<std::string, std::string>& SafeTensors::metadata() const {
  static const auto& none = *new std::map<std::string, std::string>;
  return file_ ? file_->metadata : none;
}

SafeTensors load_safetensors(const std::string& path, SourceLoc loc) {
  not_while_traced("load_safetensors", loc);
  auto file = std::make_shared<SafeTensors::File>();
  file->path = path;
  file->map = map_file(path, loc);
  file->data_offset = Reader(path, loc).read(*file->map, file->entries, file->metadata);
  SafeTensors s;
  s.file_ = std::move(file);
  return s;
}

}  // namespace reprise
