#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/errors.h"
#include "base/mutex.h"
#include "base/nearest.h"
#include "base/shown.h"
#include "reprise/safetensors.h"
#include "tensor/file_tensor.h"
#include "tensor/impl.h"
#include "tensor/safetensors_format.h"

namespace reprise {
namespace {

using nlohmann::json;
constexpr const char* op = "load_safetensors";

/// A value of the header, of at most two containers. (Those of the JSON library allocate where they are destroyed, and
/// end the process when memory is exhausted.)
struct Value {
  enum class Kind : std::uint8_t { Null, Boolean, Number, String, Array, Object };
  Kind kind = Kind::Null;
  bool fits = false;   ///< a number: an integer of 0 to INT64_MAX, which is `integer`
  bool whole = false;  ///< a number: an integer
  std::int64_t integer = 0;
  std::string text{};  ///< of a string; of a number or a boolean as JSON writes it
  std::vector<Value> items{};
  std::map<std::string, Value, std::less<>> fields{};

  const char* type_name() const {
    constexpr const char* kNames[] = {"null", "boolean", "number", "string", "array", "object"};
    return kNames[static_cast<int>(kind)];
  }
  std::string dump() const {
    switch (kind) {
      case Kind::Null: return "null";
      case Kind::String: return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
      case Kind::Array: {
        std::string all = "[";
        for (const Value& v : items) all += (all.size() > 1 ? "," : "") + v.dump();
        return all + "]";
      }
      case Kind::Object: return "{...}";
      default: return text;
    }
  }
};

struct Entry {
  DType dtype = DType::Float32;
  int rank = 0;
  std::int64_t sizes[kMaxRank] = {};
  std::int64_t begin = 0, end = 0;  ///< in the data, which follow the header
};

/// Everything wrong with a header is one of these, so each message starts with the file.
class Reader {
 public:
  Reader(const TensorFile& file, SourceLoc loc) : file_(file), path_(file.path), loc_(loc) {}

  template <class... Parts>
  [[noreturn]] void bad(const Parts&... parts) const {
    fail(ErrorCode::FileFormat, op, loc_, "'", shown(path_), "': ", parts...);
  }

  /// Parses and checks the file; fills the maps. Returns the offset of the data. Reads, and does not look at a mapping:
  /// a file that somebody changes meanwhile may give an error, and nothing worse.
  std::int64_t read(std::map<std::string, Entry, std::less<>>& entries,
                    std::map<std::string, std::string>& metadata) const {
    const std::int64_t bytes = file_.bytes;
    if (bytes < 8) bad("the file has ", bytes, " bytes; the length of the header alone takes 8");
    unsigned char length[8];
    file_.read(0, length, 8, loc_);
    std::uint64_t n = 0;
    for (int i = 7; i >= 0; --i) n = n << 8 | length[i];
    if (n > static_cast<std::uint64_t>(safetensors::kMaxHeader))
      bad("the header claims ", n, " bytes; at most ", safetensors::kMaxHeader, " are allowed");
    std::int64_t header = static_cast<std::int64_t>(n);
    if (header > bytes - 8) bad("the header claims ", header, " bytes, but ", bytes - 8, " follow");
    std::string text(n, '\0');
    file_.read(8, text.data(), header, loc_);
    Events events{*this, entries, metadata};
    json::sax_parse(text, &events);
    check_ranges(entries, bytes - 8 - header);
    return 8 + header;
  }

 private:
  /// Takes the header as it is read, one tensor at a time, so that time and memory follow its length whatever it says:
  /// the JSON reader's own tree looks through all that came before at the end of each object, and is destroyed by
  /// recursion.
  struct Events {
    const Reader& reader;
    std::map<std::string, Entry, std::less<>>& entries;
    std::map<std::string, std::string>& metadata;
    int depth = 0;                ///< containers that are open: the header, a tensor's entry, a list in it
    std::string name{}, field{};  ///< keys of the header and of the entry
    Value entry{};                ///< what the header's object holds under `name`
    Value* list = nullptr;        ///< the list that is open in `entry`
    bool had_metadata = false;

    bool null() { return put({}); }
    bool boolean(bool v) { return put({.kind = Value::Kind::Boolean, .text = v ? "true" : "false"}); }
    bool number_integer(std::int64_t v) {
      return put({.kind = Value::Kind::Number, .fits = v >= 0, .whole = true, .integer = v, .text = std::to_string(v)});
    }
    bool number_unsigned(std::uint64_t v) {
      return put({.kind = Value::Kind::Number,
                  .fits = v <= static_cast<std::uint64_t>(INT64_MAX),
                  .whole = true,
                  .integer = static_cast<std::int64_t>(v),
                  .text = std::to_string(v)});
    }
    bool number_float(double, const std::string& text) { return put({.kind = Value::Kind::Number, .text = text}); }
    bool string(std::string& v) { return put({.kind = Value::Kind::String, .text = std::move(v)}); }
    bool binary(json::binary_t&) { return put({}); }
    bool start_object(std::size_t) {
      if (depth > 1) reader.bad("the header nests deeper than tensors and their fields");
      if (depth == 1) put({.kind = Value::Kind::Object});
      ++depth;
      return true;
    }
    bool start_array(std::size_t) {
      if (depth > 2) reader.bad("the header nests deeper than tensors and their fields");
      put({.kind = Value::Kind::Array});
      if (++depth == 3) list = entry.kind == Value::Kind::Array ? &entry.items.back() : &entry.fields[field];
      return true;
    }
    bool end_object() { return end(); }
    bool end_array() { return end(); }
    bool key(std::string& k) {
      if (depth == 1) name = std::move(k);
      else if (field = std::move(k); entry.fields.contains(field)) twice(field);
      return true;
    }
    bool parse_error(std::size_t, const std::string&, const json::exception& e) {
      reader.bad("the header is not JSON: ", shown(e.what()));
    }

   private:
    [[noreturn]] void twice(const std::string& k) const {
      reader.bad("the key '", shown(k), "' occurs twice in the header");
    }
    bool put(Value v) {
      constexpr std::size_t kLongest = 1000;
      if (depth == 0) reader.bad("the header is a JSON ", v.type_name(), ", not an object");
      if (depth == 1) {
        entry = std::move(v);
        if (entry.kind < Value::Kind::Array) take();
        return true;
      }
      Value& into = depth == 3 ? *list : entry;
      if (into.kind == Value::Kind::Object) return into.fields[field] = std::move(v), true;
      if (into.items.size() == kLongest)
        reader.bad("'", shown(name), "' holds a list of more than ", kLongest, " values");
      into.items.push_back(std::move(v));
      return true;
    }
    bool end() {
      if (--depth == 1) take();
      return true;
    }
    void take() {
      if (name == "__metadata__") {
        if (std::exchange(had_metadata, true)) twice(name);
        reader.read_metadata(entry, metadata);
      } else if (!entries.emplace(name, reader.read_entry(shown(name), entry)).second) {
        twice(name);
      }
    }
  };

  void read_metadata(const Value& value, std::map<std::string, std::string>& metadata) const {
    if (value.kind != Value::Kind::Object) bad("__metadata__ is a JSON ", value.type_name(), ", not an object");
    for (auto& [key, text] : value.fields) {
      if (text.kind != Value::Kind::String)
        bad("__metadata__ '", shown(key), "' is a JSON ", text.type_name(), ", not a string");
      metadata[key] = text.text;
    }
  }

  Entry read_entry(const std::string& name, const Value& value) const {
    if (value.kind != Value::Kind::Object) bad("tensor '", name, "' is a JSON ", value.type_name(), ", not an object");
    for (const char* key : {"dtype", "shape", "data_offsets"})
      if (!value.fields.contains(key)) bad("tensor '", name, "' has no ", key);
    Entry e;
    const Value &dtype = value.fields.find("dtype")->second, &shape = value.fields.find("shape")->second,
                &offsets = value.fields.find("data_offsets")->second;
    if (dtype.kind != Value::Kind::String)
      bad("tensor '", name, "': dtype is a JSON ", dtype.type_name(), ", not a string");
    std::optional<DType> known = safetensors::dtype_from(dtype.text);
    if (!known) bad("tensor '", name, "' has the unknown dtype '", shown(dtype.text), "'");
    e.dtype = *known;
    if (shape.kind != Value::Kind::Array)
      bad("tensor '", name, "': shape is a JSON ", shape.type_name(), ", not an array");
    if (shape.items.size() > kMaxRank)
      bad("tensor '", name, "' has ", shape.items.size(), " dimensions; at most ", kMaxRank, " are supported");
    std::int64_t bytes = item_size(e.dtype);
    std::int64_t elements = 1;  // of the sizes that are not 0: strides are made of them
    bool overflow = false, none = false, too_many = false;
    for (const Value& s : shape.items) {
      std::int64_t size = integer(name, "shape", s);
      e.sizes[e.rank++] = size;
      none |= size == 0;
      overflow |= size != 0 && __builtin_mul_overflow(bytes, size, &bytes);
      too_many |= size != 0 && __builtin_mul_overflow(elements, size, &elements);
    }
    if ((overflow && !none) || too_many)
      bad("tensor '", name, "': shape ", shown(shape.dump()), " of ", e.dtype, " overflows 63 bits of bytes");
    if (none) bytes = 0;
    if (offsets.kind != Value::Kind::Array || offsets.items.size() != 2)
      bad("tensor '", name, "': data_offsets is not an array of two numbers");
    e.begin = integer(name, "data_offsets", offsets.items[0]);
    e.end = integer(name, "data_offsets", offsets.items[1]);
    if (e.end < e.begin) bad("tensor '", name, "': data_offsets are reversed, ", e.begin, " to ", e.end);
    if (e.end - e.begin != bytes)
      bad("tensor '", name, "': data_offsets span ", e.end - e.begin, " bytes, but shape ", shown(shape.dump()), " of ",
          e.dtype, " takes ", bytes);
    return e;
  }

  std::int64_t integer(const std::string& name, const char* what, const Value& v) const {
    if (!v.whole) bad("tensor '", name, "': ", what, " holds ", shown(v.dump()), ", which is not an integer");
    if (!v.fits) bad("tensor '", name, "': ", what, " holds ", shown(v.dump()), "; wanted 0 to ", INT64_MAX);
    return v.integer;
  }

  /// The ranges, in order, must tile the data exactly.
  void check_ranges(const std::map<std::string, Entry, std::less<>>& entries, std::int64_t data_bytes) const {
    std::vector<std::pair<const std::string*, const Entry*>> order;
    for (auto& [name, e] : entries) {
      if (e.end > data_bytes)
        bad("tensor '", shown(name), "' ends at byte ", e.end, " of the data, but the file has ", data_bytes);
      order.emplace_back(&name, &e);
    }
    std::sort(order.begin(), order.end(), [](auto& a, auto& b) {
      return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
    });
    std::int64_t at = 0;
    const std::string* before = nullptr;
    for (auto [name, e] : order) {
      if (e->begin < at)
        bad("tensor '", shown(*name), "' begins at byte ", e->begin, " and overlaps tensor '", shown(*before),
            "', which ends at ", at);
      if (e->begin > at)
        bad("tensor '", shown(*name), "' begins at byte ", e->begin, ", which leaves a hole after byte ", at);
      at = e->end;
      before = name;
    }
    if (at != data_bytes) bad("the tensors end at byte ", at, " of the data, but the file has ", data_bytes);
  }

  const TensorFile& file_;
  const std::string& path_;
  SourceLoc loc_;
};

}  // namespace

struct SafeTensors::File : TensorFile {
  File(const std::string& path_, SourceLoc loc) : TensorFile(op, path_, loc) {}
  std::int64_t data_offset = 0;
  std::map<std::string, Entry, std::less<>> entries;
  std::map<std::string, std::string> metadata;
  Mutex mu;
  // They hold the mapping, not this: no cycle.
  std::map<std::string, Tensor, std::less<>> made REPRISE_GUARDED_BY(mu);

  Tensor make(const std::string& name, const Entry& e, SourceLoc loc) const {
    const std::int64_t bytes = e.end - e.begin;
    Tensor t = tensor(name, data_offset + e.begin, e.sizes, e.rank, e.dtype, loc);
    const char* data = bytes > 0 ? t.impl()->data() : nullptr;
    if (e.dtype == DType::Bool)
      for (std::int64_t i = 0; i < bytes; ++i)
        if (static_cast<unsigned char>(data[i]) > 1)
          fail(ErrorCode::FileFormat, op, loc, "'", shown(path), "': tensor '", shown(name), "' is BOOL, but its byte ",
               i, " is ", int{static_cast<unsigned char>(data[i])}, ", neither 0 nor 1");
    return t;
  }
};

std::vector<std::string> SafeTensors::names() const {
  std::vector<std::string> all;
  if (file_)
    for (auto& [name, e] : file_->entries) all.push_back(name);
  return all;
}

const std::string& SafeTensors::path() const {
  static const auto& none = *new std::string;
  return file_ ? file_->path : none;
}

bool SafeTensors::contains(std::string_view name) const { return file_ && file_->entries.contains(name); }

Tensor SafeTensors::at(std::string_view name, SourceLoc loc) const {
  if (!file_) fail(ErrorCode::InvalidArgument, "SafeTensors::at", loc, "no file was loaded");
  auto found = file_->entries.find(name);
  if (found == file_->entries.end()) {
    std::vector<std::string_view> names;
    for (auto& [n, e] : file_->entries) names.push_back(n);
    std::string hint = names.empty() ? "it holds none" : "did you mean '" + shown(nearest_name(name, names)) + "'?";
    fail(ErrorCode::InvalidArgument, "SafeTensors::at", loc, "'", shown(file_->path), "' has no tensor '", shown(name),
         "'; ", hint);
  }
  const MutexLock lock(file_->mu);
  Tensor& t = file_->made[found->first];
  if (!t.defined()) t = file_->make(found->first, found->second, loc);
  return t;
}

const std::map<std::string, std::string>& SafeTensors::metadata() const {
  static const auto& none = *new std::map<std::string, std::string>;
  return file_ ? file_->metadata : none;
}

SafeTensors load_safetensors(const std::string& path, Reading how, SourceLoc loc) {
  not_while_traced(op, loc);
  auto file = std::make_shared<SafeTensors::File>(path, loc);
  file->data_offset = Reader(*file, loc).read(file->entries, file->metadata);
  if (how == Reading::Mapped) file->map_all(loc);
  SafeTensors s;
  s.file_ = std::move(file);
  return s;
}

SafeTensors load_safetensors(const std::string& path, SourceLoc loc) {
  return load_safetensors(path, Reading::Mapped, loc);
}

}  // namespace reprise
