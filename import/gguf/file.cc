// Reading of GGUF: a header of counts, metadata and places of tensors, then the data. All numbers are little-endian.
//
// Nothing is believed: every count and every length is held against the bytes that follow before anything is allocated,
// so that time and memory follow the file's length whatever it says. The header is read, not mapped: a file that
// somebody changes meanwhile gives an error, and nothing worse.
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>

#include "base/errors.h"
#include "base/nearest.h"
#include "base/shown.h"
#include "import/gguf/types.h"
#include "reprise/gguf.h"
#include "tensor/file_tensor.h"
#include "tensor/impl.h"

namespace reprise::gguf {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr const char* op = "gguf::File";
constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr std::int64_t kLongestName = 65535;  // of keys, the format's bound; held for tensors, too
constexpr std::uint32_t kAlignment = 32, kLargestAlignment = 1 << 20;
constexpr int kItemBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, -1, -1, 8, 8, 8};  // by ValueType

int item_bytes(ValueType t) { return kItemBytes[static_cast<int>(t)]; }
bool is_integer(ValueType t) { return t <= ValueType::I32 || t == ValueType::U64 || t == ValueType::I64; }
bool is_number(ValueType t) { return t == ValueType::F32 || t == ValueType::F64; }

template <class T>
T from_bytes(const char* p) {
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}
double number_of(ValueType t, const char* p) {
  return t == ValueType::F32 ? static_cast<double>(from_bytes<float>(p)) : from_bytes<double>(p);
}

/// A value of the metadata: where it is in the file.
struct Value {
  ValueType type = ValueType::U8, element = ValueType::U8;
  std::int64_t count = 1;              ///< of an array
  std::int64_t offset = 0, bytes = 0;  ///< of what it holds: of a text its characters, of texts with their lengths
};

}  // namespace

struct File::Contents : TensorFile {
  int version = 0;
  std::vector<std::string> order;  ///< of the keys
  std::map<std::string, Value, std::less<>> values;
  std::map<std::string, TensorInfo, std::less<>> tensors;

  Contents(const std::string& path_, SourceLoc loc) : TensorFile(op, path_, loc) {}
  const Value& value(std::string_view key, SourceLoc loc) const {
    const auto found = values.find(key);
    if (found != values.end()) return found->second;
    missing("key", key, values, loc);
  }
  const TensorInfo& tensor_info(std::string_view name, SourceLoc loc) const {
    const auto found = tensors.find(name);
    if (found != tensors.end()) return found->second;
    missing("tensor", name, tensors, loc);
  }
  [[noreturn]] void wrong_kind(std::string_view key, const Value& v, const char* wanted, SourceLoc loc) const {
    std::string is(value_type_name(v.type));
    if (v.type == ValueType::Array) is += " of " + std::string(value_type_name(v.element));
    fail(ErrorCode::DTypeMismatch, op, loc, "'", shown(path), "': '", shown(key), "' is ", is, ", not ", wanted);
  }
  std::string bytes_of(const Value& v, SourceLoc loc) const {
    std::string all(static_cast<std::size_t>(v.bytes), '\0');
    read(v.offset, all.data(), v.bytes, loc);
    return all;
  }
  std::int64_t integer_of(std::string_view key, ValueType t, const char* p, SourceLoc loc) const {
    switch (t) {
      case ValueType::U8: return from_bytes<std::uint8_t>(p);
      case ValueType::I8: return from_bytes<std::int8_t>(p);
      case ValueType::U16: return from_bytes<std::uint16_t>(p);
      case ValueType::I16: return from_bytes<std::int16_t>(p);
      case ValueType::U32: return from_bytes<std::uint32_t>(p);
      case ValueType::I32: return from_bytes<std::int32_t>(p);
      default: {
        const std::int64_t i = from_bytes<std::int64_t>(p);
        if (t == ValueType::U64 && i < 0)
          fail(ErrorCode::DTypeMismatch, op, loc, "'", shown(path), "': '", shown(key), "' is ",
               from_bytes<std::uint64_t>(p), ", which is beyond 63 bits");
        return i;
      }
    }
  }

 private:
  template <class Map>
  [[noreturn]] void missing(const char* what, std::string_view name, const Map& all, SourceLoc loc) const {
    std::vector<std::string_view> names;
    for (const auto& entry : all) names.push_back(entry.first);
    const std::string hint =
        names.empty() ? "it holds none" : "did you mean '" + shown(nearest_name(name, names)) + "'?";
    fail(ErrorCode::InvalidArgument, op, loc, "'", shown(path), "' has no ", what, " '", shown(name), "'; ", hint);
  }
};

namespace {

/// Goes through the header once.
class Header {
 public:
  Header(const TensorFile& file, SourceLoc loc) : file_(file), loc_(loc) {}

  template <class... Parts>
  [[noreturn]] void bad(const Parts&... parts) const {
    fail(ErrorCode::FileFormat, op, loc_, "'", shown(file_.path), "': ", parts...);
  }

  template <class C>
  void read(C& into) {
    if (number<std::uint32_t>("the magic number") != kMagic) bad("the file does not begin with 'GGUF'");
    const auto version = number<std::uint32_t>("the version");
    if (version == 0x03000000 || version == 0x02000000) bad("the file is big-endian, which is not read");
    if (version != 2 && version != 3) bad("version ", version, "; versions 2 and 3 are read");
    into.version = static_cast<int>(version);
    constexpr int kLeastTensor = 24, kLeastValue = 13;  // bytes of one with an empty name
    const std::uint64_t n_tensors = number<std::uint64_t>("the number of tensors"),
                        n_values = number<std::uint64_t>("the number of metadata values");
    at_most(n_tensors, kLeastTensor, "tensors");
    at_most(n_values, kLeastValue, "metadata values");
    for (std::uint64_t i = 0; i < n_values; ++i) read_value(into);
    std::uint32_t alignment = kAlignment;
    if (const auto found = into.values.find("general.alignment"); found != into.values.end()) {
      if (found->second.type != ValueType::U32)
        bad("general.alignment is ", value_type_name(found->second.type), ", not uint32");
      file_.read(found->second.offset, &alignment, 4, loc_);
      if (alignment == 0 || alignment % 8 || alignment > kLargestAlignment)
        bad("general.alignment is ", alignment, "; wanted a multiple of 8 up to ", kLargestAlignment);
    }
    for (std::uint64_t i = 0; i < n_tensors; ++i) read_tensor(into, alignment);
    const std::int64_t begin = (at_ + alignment - 1) / alignment * alignment;
    for (auto& [name, t] : into.tensors) {
      if (__builtin_add_overflow(t.offset, begin, &t.offset) || t.offset > file_.bytes ||
          (t.bytes > 0 && t.bytes > file_.bytes - t.offset)) {
        if (t.bytes > 0 || (t.bytes < 0 && t.offset > file_.bytes))
          bad("tensor '", shown(name), "' of ", t.bytes < 0 ? "unknown" : std::to_string(t.bytes), " bytes at ",
              t.offset, " does not lie in the file, which has ", file_.bytes);
        t.offset = file_.bytes;  // of no bytes: it is nowhere
      }
    }
    check_overlap(into.tensors);
  }

 private:
  void need(std::int64_t n, const char* what) const {
    if (n > file_.bytes - at_) bad(what, " of ", n, " bytes begins at byte ", at_, ", but the file has ", file_.bytes);
  }
  void take(void* to, std::int64_t n, const char* what) {
    need(n, what);
    while (n > 0) {
      if (at_ < chunk_at_ || at_ >= chunk_at_ + static_cast<std::int64_t>(chunk_.size())) {
        constexpr std::int64_t kChunk = 1 << 16;
        chunk_.resize(static_cast<std::size_t>(std::min(kChunk, file_.bytes - at_)));
        chunk_at_ = at_;
        file_.read(at_, chunk_.data(), static_cast<std::int64_t>(chunk_.size()), loc_);
      }
      const std::int64_t here = std::min(n, chunk_at_ + static_cast<std::int64_t>(chunk_.size()) - at_);
      std::memcpy(to, chunk_.data() + (at_ - chunk_at_), static_cast<std::size_t>(here));
      to = static_cast<char*>(to) + here, at_ += here, n -= here;
    }
  }
  template <class T>
  T number(const char* what) {
    T v;
    take(&v, sizeof(T), what);
    return v;
  }
  void at_most(std::uint64_t n, int each, const char* what) const {
    const std::int64_t left = file_.bytes - at_;
    if (n > static_cast<std::uint64_t>(left / each))
      bad("it claims ", n, " ", what, "; at most ", left / each, " fit into the ", left, " bytes that follow");
  }
  std::int64_t length(const char* what) {
    const auto n = number<std::uint64_t>(what);
    if (n > static_cast<std::uint64_t>(file_.bytes - at_))
      bad(what, " at byte ", at_ - 8, " claims ", n, " bytes, but ", file_.bytes - at_, " follow");
    return static_cast<std::int64_t>(n);
  }
  std::string name(const char* what) {
    const std::int64_t n = length(what);
    if (n > kLongestName) bad(what, " at byte ", at_ - 8, " has ", n, " bytes; at most ", kLongestName, " are allowed");
    std::string text(static_cast<std::size_t>(n), '\0');
    take(text.data(), n, what);
    return text;
  }
  ValueType value_type(const std::string& key) {
    const auto t = number<std::uint32_t>("a value's type");
    if (t > static_cast<std::uint32_t>(ValueType::F64)) bad("'", shown(key), "' is of the unknown type ", t);
    return static_cast<ValueType>(t);
  }

  template <class C>
  void read_value(C& into) {
    std::string key = name("a key");
    Value v;
    v.type = v.element = value_type(key);
    if (v.type == ValueType::Array) {
      v.element = value_type(key);
      if (v.element == ValueType::Array) bad("'", shown(key), "' is an array of arrays, which is not read");
      const auto n = number<std::uint64_t>("an array's length");
      at_most(n, v.element == ValueType::String ? 8 : item_bytes(v.element), "elements of an array");
      v.count = static_cast<std::int64_t>(n);
    }
    if (v.element == ValueType::String) {
      const std::int64_t first = at_;
      for (std::int64_t i = 0; i < v.count; ++i) at_ += length("a text");
      v.offset = v.type == ValueType::Array ? first : first + 8;
    } else {
      v.offset = at_;
      need(v.count * item_bytes(v.element), "a value");  // which at_most() has bounded
      if (v.element == ValueType::Bool && v.type == ValueType::Bool) {
        const auto b = number<std::uint8_t>("a value");
        if (b > 1) bad("'", shown(key), "' is bool, but its byte is ", int{b}, ", neither 0 nor 1");
      } else {
        at_ += v.count * item_bytes(v.element);
      }
    }
    v.bytes = at_ - v.offset;
    if (!into.values.emplace(key, v).second) bad("the key '", shown(key), "' occurs twice");
    into.order.push_back(std::move(key));
  }

  template <class C>
  void read_tensor(C& into, std::uint32_t alignment) {
    const std::string named = name("a tensor's name"), told = shown(named);
    TensorInfo t;
    const auto rank = number<std::uint32_t>("a tensor's number of dimensions");
    if (rank > kMaxRank) bad("tensor '", told, "' has ", rank, " dimensions; at most ", kMaxRank, " are supported");
    std::int64_t elements = 1, of_row = 1;
    bool none = false;
    for (std::uint32_t d = 0; d < rank; ++d) {
      const auto size = number<std::uint64_t>("a tensor's size");
      // Of the sizes that are not 0: strides are made of them.
      if (size > static_cast<std::uint64_t>(INT64_MAX) ||
          (size && __builtin_mul_overflow(elements, static_cast<std::int64_t>(size), &elements)))
        bad("tensor '", told, "': its sizes overflow 63 bits");
      none |= size == 0;
      if (d == 0) of_row = static_cast<std::int64_t>(size);
      t.sizes.insert(t.sizes.begin(), static_cast<std::int64_t>(size));
    }
    t.type = static_cast<Type>(number<std::uint32_t>("a tensor's type"));
    const auto offset = number<std::uint64_t>("a tensor's offset");
    if (offset % alignment)
      bad("tensor '", told, "' begins at byte ", offset, " of the data, which is no multiple of the alignment ",
          alignment);
    if (offset > static_cast<std::uint64_t>(INT64_MAX))
      bad("tensor '", told, "' begins at byte ", offset, " of the data, but the file has ", file_.bytes);
    t.offset = static_cast<std::int64_t>(offset);
    t.bytes = -1;
    if (const TypeFacts* f = facts_of(t.type)) {
      if (of_row % f->elements)
        bad("tensor '", told, "' of ", f->name, " has rows of ", of_row, " elements, which is no multiple of ",
            f->elements);
      if (__builtin_mul_overflow(elements / f->elements, f->bytes, &t.bytes))
        bad("tensor '", told, "': its bytes overflow 63 bits");
      if (none) t.bytes = 0;
    }
    if (!into.tensors.emplace(named, std::move(t)).second) bad("the tensor '", told, "' occurs twice");
  }

  void check_overlap(const std::map<std::string, TensorInfo, std::less<>>& tensors) const {
    std::vector<std::pair<const std::string*, const TensorInfo*>> order;
    for (const auto& [name, t] : tensors)
      if (t.bytes > 0) order.emplace_back(&name, &t);
    std::sort(order.begin(), order.end(),
              [](const auto& a, const auto& b) { return a.second->offset < b.second->offset; });
    for (std::size_t i = 1; i < order.size(); ++i)
      if (const auto& [before, a] = order[i - 1]; order[i].second->offset < a->offset + a->bytes)
        bad("tensor '", shown(*order[i].first), "' begins at byte ", order[i].second->offset, " and overlaps tensor '",
            shown(*before), "', which ends at ", a->offset + a->bytes);
  }

  const TensorFile& file_;
  SourceLoc loc_;
  std::int64_t at_ = 0, chunk_at_ = 0;
  std::string chunk_;
};

}  // namespace

std::string_view value_type_name(ValueType t) {
  constexpr std::string_view kNames[] = {"uint8", "int8",   "uint16",   "int16",  "uint32", "int32",  "float32",
                                         "bool",  "a text", "an array", "uint64", "int64",  "float64"};
  return kNames[static_cast<int>(t)];
}

File File::open(const std::string& path, Reading how, SourceLoc loc) {
  not_while_traced("gguf::File::open", loc);
  auto contents = std::make_shared<Contents>(path, loc);
  Header(*contents, loc).read(*contents);
  if (how == Reading::Mapped) contents->map_all(loc);
  File f;
  f.contents_ = std::move(contents);
  return f;
}

const std::string& File::path() const { return contents_->path; }
int File::version() const { return contents_->version; }
std::vector<std::string> File::keys() const { return contents_->order; }
bool File::has(std::string_view key) const { return contents_->values.contains(key); }
ValueType File::type(std::string_view key, SourceLoc loc) const { return contents_->value(key, loc).type; }
ValueType File::element_type(std::string_view key, SourceLoc loc) const {
  const Value& v = contents_->value(key, loc);
  if (v.type != ValueType::Array) contents_->wrong_kind(key, v, "an array", loc);
  return v.element;
}
std::int64_t File::length(std::string_view key, SourceLoc loc) const {
  element_type(key, loc);
  return contents_->value(key, loc).count;
}

std::int64_t File::integer(std::string_view key, std::optional<std::int64_t> otherwise, SourceLoc loc) const {
  if (otherwise && !has(key)) return *otherwise;
  const Value& v = contents_->value(key, loc);
  if (!is_integer(v.type)) contents_->wrong_kind(key, v, "an integer", loc);
  return contents_->integer_of(key, v.type, contents_->bytes_of(v, loc).data(), loc);
}
double File::number(std::string_view key, std::optional<double> otherwise, SourceLoc loc) const {
  if (otherwise && !has(key)) return *otherwise;
  const Value& v = contents_->value(key, loc);
  if (!is_number(v.type)) contents_->wrong_kind(key, v, "a float", loc);
  return number_of(v.type, contents_->bytes_of(v, loc).data());
}
bool File::flag(std::string_view key, std::optional<bool> otherwise, SourceLoc loc) const {
  if (otherwise && !has(key)) return *otherwise;
  const Value& v = contents_->value(key, loc);
  if (v.type != ValueType::Bool) contents_->wrong_kind(key, v, "a bool", loc);
  return contents_->bytes_of(v, loc)[0] != 0;
}
std::string File::text(std::string_view key, std::optional<std::string> otherwise, SourceLoc loc) const {
  if (otherwise && !has(key)) return *otherwise;
  const Value& v = contents_->value(key, loc);
  if (v.type != ValueType::String) contents_->wrong_kind(key, v, "a text", loc);
  return contents_->bytes_of(v, loc);
}

std::vector<std::int64_t> File::integers(std::string_view key, SourceLoc loc) const {
  const Value& v = contents_->value(key, loc);
  if (v.type != ValueType::Array || !is_integer(v.element)) contents_->wrong_kind(key, v, "an array of integers", loc);
  const std::string raw = contents_->bytes_of(v, loc);
  std::vector<std::int64_t> all(static_cast<std::size_t>(v.count));
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] =
        contents_->integer_of(key, v.element, raw.data() + i * static_cast<std::size_t>(item_bytes(v.element)), loc);
  return all;
}
std::vector<double> File::numbers(std::string_view key, SourceLoc loc) const {
  const Value& v = contents_->value(key, loc);
  if (v.type != ValueType::Array || !is_number(v.element)) contents_->wrong_kind(key, v, "an array of floats", loc);
  const std::string raw = contents_->bytes_of(v, loc);
  std::vector<double> all(static_cast<std::size_t>(v.count));
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = number_of(v.element, raw.data() + i * static_cast<std::size_t>(item_bytes(v.element)));
  return all;
}
std::vector<bool> File::flags(std::string_view key, SourceLoc loc) const {
  const Value& v = contents_->value(key, loc);
  if (v.type != ValueType::Array || v.element != ValueType::Bool)
    contents_->wrong_kind(key, v, "an array of bools", loc);
  std::vector<bool> all;
  for (char b : contents_->bytes_of(v, loc)) {
    if (static_cast<unsigned char>(b) > 1)
      fail(ErrorCode::FileFormat, op, loc, "'", shown(path()), "': '", shown(key), "' holds bools, but one is ",
           int{static_cast<unsigned char>(b)});
    all.push_back(b != 0);
  }
  return all;
}
std::vector<std::string> File::texts(std::string_view key, SourceLoc loc) const {
  const Value& v = contents_->value(key, loc);
  if (v.type != ValueType::Array || v.element != ValueType::String)
    contents_->wrong_kind(key, v, "an array of texts", loc);
  const std::string raw = contents_->bytes_of(v, loc);
  std::vector<std::string> all;
  all.reserve(static_cast<std::size_t>(v.count));
  std::size_t at = 0;
  for (std::int64_t i = 0; i < v.count; ++i) {
    const std::size_t left = raw.size() - at;
    const std::uint64_t n = left >= 8 ? from_bytes<std::uint64_t>(raw.data() + at) : 0;
    if (left < 8 || n > left - 8) fail(ErrorCode::Io, op, loc, "'", shown(path()), "' was changed after it was opened");
    all.emplace_back(raw, at + 8, n);
    at += 8 + n;
  }
  return all;
}

std::vector<std::string> File::names() const {
  std::vector<std::string> all;
  for (const auto& entry : contents_->tensors) all.push_back(entry.first);
  return all;
}
bool File::contains(std::string_view name) const { return contents_->tensors.contains(name); }
TensorInfo File::info(std::string_view name, SourceLoc loc) const { return contents_->tensor_info(name, loc); }

Tensor File::at(std::string_view name, SourceLoc loc) const {
  const TensorInfo& t = contents_->tensor_info(name, loc);
  const TypeFacts* f = facts_of(t.type);
  if (!f || !f->dtype)
    fail(ErrorCode::DTypeMismatch, "gguf::File::at", loc, "'", shown(path()), "': tensor '", shown(name), "' is ",
         type_name(t.type), f && f->format ? ": it is read with blocks()" : ", which is not read");
  return contents_->tensor(std::string(name), t.offset, t.sizes.data(), static_cast<int>(t.sizes.size()), *f->dtype,
                           loc);
}

Blocks File::blocks(std::string_view name, SourceLoc loc) const {
  const TensorInfo& t = contents_->tensor_info(name, loc);
  const TypeFacts* f = facts_of(t.type);
  if (!f || !f->format) return {t.type, at(name, loc), {}};
  std::vector<std::int64_t> stored = t.sizes;
  stored.back() = stored.back() / f->elements * f->bytes;
  const Tensor bytes =
      contents_->tensor(std::string(name), t.offset, stored.data(), static_cast<int>(stored.size()), kUInt8, loc);
  if (t.bytes > 0) return {t.type, bytes, bytes.view(kFloat16, loc)};
  stored.back() /= 2;  // of no bytes: they have no strides that could be seen otherwise
  return {
      t.type, bytes,
      contents_->tensor(std::string(name), t.offset, stored.data(), static_cast<int>(stored.size()), kFloat16, loc)};
}

namespace detail {

std::vector<Blocks> load(const File& file, std::vector<reprise::detail::Weight>& weights,
                         const std::vector<bool>& is_blocks, const WeightOptions& o, SourceLoc loc) {
  std::vector<Blocks> blocks;
  const auto at = [&](const std::string& name, std::size_t i) {
    if (!is_blocks[i]) {
      const TypeFacts* f = facts_of(file.info(name, loc).type);
      return f && f->format ? file.blocks(name, loc).dequantize(o.dtype.value_or(kFloat32), loc) : file.at(name, loc);
    }
    blocks.push_back(file.blocks(name, loc));
    if (o.device) blocks.back() = blocks.back().to(*o.device, loc);
    return Tensor();
  };
  reprise::detail::load_weights({"load_gguf", file.path(), file.names(), at}, weights, o, loc);
  return blocks;
}

}  // namespace detail

}  // namespace reprise::gguf
