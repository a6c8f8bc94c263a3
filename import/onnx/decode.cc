// From bytes to structs. What a message claims (sizes, lengths, kinds) is compared with what it holds before memory is
// taken for it, so that time and memory follow the file's length. Only this file sees protobuf.
#include <google/protobuf/io/coded_stream.h>

#include <bit>
#include <climits>
#include <cstring>
#include <optional>

#include "base/shown.h"
#include "import/onnx/format.h"
#include "import/onnx/format.pb.h"
#include "reprise/ops.h"

namespace reprise::onnx {
namespace {

static_assert(std::endian::native == std::endian::little, "raw data are read as they stand");

/// Bytes and what keeps them.
struct Held {
  const char* data = nullptr;
  std::shared_ptr<void> owner{};
};
template <class T>
Held hold(T&& value) {
  auto kept = std::make_shared<std::decay_t<T>>(std::forward<T>(value));
  return {reinterpret_cast<const char*>(kept->data()), kept};
}

class Decoder {
 public:
  explicit Decoder(const Source& source) : source_(source), files_(source) {}

  ModelData model(wire::Model& m) {
    if (!m.has_graph()) source_.bad("the file holds no graph: it is no ONNX model");
    ModelData made;
    if (m.ir_version() < 1) source_.bad("the model has IR version " + std::to_string(m.ir_version()));
    made.opsets = opsets(m.opset_import());
    if (made.opsets.empty()) source_.bad("the model names no operator set");
    made.graph = graph(*m.mutable_graph());
    for (wire::Function& f : *m.mutable_functions()) made.functions.push_back(function(f));
    return made;
  }

  TensorData tensor(wire::Tensor& t) {
    TensorData made{.name = t.name(), .element = t.data_type()};
    const std::string who = "tensor '" + shown(made.name) + "'";
    if (t.dims_size() > kMaxRank)
      source_.bad(who + " has " + std::to_string(t.dims_size()) + " dimensions; at most " + std::to_string(kMaxRank) +
                  " are supported");
    std::int64_t elements = 1, strides = 1;
    bool none = false, too_many = false;
    for (std::int64_t d : t.dims()) {
      if (d < 0) source_.bad(who + " has a dimension of size " + std::to_string(d));
      made.dims.push_back(d);
      none |= d == 0;
      too_many |= d != 0 && __builtin_mul_overflow(strides, d, &strides);
    }
    if (too_many || strides > INT64_MAX / 16) source_.bad(who + ": its sizes overflow 63 bits of bytes");
    elements = none ? 0 : strides;
    const std::optional<DType> dtype = dtype_of_element(t.data_type());
    if (!dtype) return made;  // told where it is used
    Ints sizes;
    for (std::int64_t d : made.dims) sizes.push_back(d);
    Held bytes = data(t, who, elements, *dtype);
    if (elements == 0) {
      made.tensor = empty(sizes, {.dtype = *dtype});
    } else {
      if (reinterpret_cast<std::uintptr_t>(bytes.data) % static_cast<std::size_t>(item_size(*dtype)) != 0)
        bytes = hold(std::string(bytes.data, static_cast<std::size_t>(elements * item_size(*dtype))));
      made.tensor = from_blob(const_cast<char*>(bytes.data), sizes, *dtype, [owner = bytes.owner](void*) {});
    }
    return made;
  }

 private:
  static std::string domain(const std::string& d) { return d == "ai.onnx" ? "" : d; }

  template <class List>
  std::map<std::string, std::int64_t> opsets(const List& list) {
    std::map<std::string, std::int64_t> made;
    for (const wire::OperatorSet& o : list) {
      const auto [at, is_new] = made.emplace(domain(o.domain()), o.version());
      if (!is_new && at->second != o.version())
        source_.bad("the operator set '" + shown(o.domain()) + "' is named twice, as " + std::to_string(at->second) +
                    " and " + std::to_string(o.version()));
    }
    return made;
  }

  template <class To, class List>
  static Held numbers(const List& list) {
    std::vector<To> all;
    all.reserve(static_cast<std::size_t>(list.size()));
    for (auto v : list) all.push_back(static_cast<To>(v));
    return hold(std::move(all));
  }
  void count(const std::string& who, const char* field, std::int64_t has, std::int64_t wanted) {
    if (has != wanted)
      source_.bad(who + ": " + field + " holds " + std::to_string(has) + " elements, but its sizes want " +
                  std::to_string(wanted));
  }

  Held data(wire::Tensor& t, const std::string& who, std::int64_t elements, DType dtype) {
    const std::int64_t bytes = elements * item_size(dtype);
    const Element element = static_cast<Element>(t.data_type());
    if (is_held_wider(t.data_type())) return widened(t, who, elements, element);
    if (t.data_location() == 1) return external(t, who, bytes);
    if (t.has_raw_data()) {
      if (static_cast<std::int64_t>(t.raw_data().size()) != bytes)
        source_.bad(who + ": raw_data has " + std::to_string(t.raw_data().size()) + " bytes, but its sizes and " +
                    element_name(t.data_type()) + " take " + std::to_string(bytes));
      return hold(std::move(*t.mutable_raw_data()));
    }
    switch (dtype) {
      case DType::Float32:
        count(who, "float_data", t.float_data_size(), elements);
        return numbers<float>(t.float_data());
      case DType::Float64:
        count(who, "double_data", t.double_data_size(), elements);
        return numbers<double>(t.double_data());
      case DType::Int64:
        count(who, "int64_data", t.int64_data_size(), elements);
        return numbers<std::int64_t>(t.int64_data());
      default: break;
    }
    count(who, "int32_data", t.int32_data_size(), elements);
    switch (item_size(dtype)) {
      case 1:
        if (dtype == DType::Bool) {
          std::string all;
          for (std::int32_t v : t.int32_data()) all.push_back(v != 0);
          return hold(std::move(all));
        }
        return numbers<std::uint8_t>(t.int32_data());
      case 2: return numbers<std::uint16_t>(t.int32_data());
      default: return numbers<std::int32_t>(t.int32_data());
    }
  }

  /// Bytes as the file has them, where elements are held wider.
  std::string packed(wire::Tensor& t, const std::string& who, std::int64_t bytes, int each) {
    if (t.data_location() == 1)
      return bytes == 0 ? std::string() : std::string(external(t, who, bytes).data, static_cast<std::size_t>(bytes));
    std::string all;
    if (t.has_raw_data()) all = t.raw_data();
    const auto put = [&](std::uint64_t v) {
      all.append(reinterpret_cast<const char*>(&v), static_cast<std::size_t>(each));
    };
    if (!t.has_raw_data() && each == 4)
      for (std::uint64_t v : t.uint64_data()) put(v);
    else if (!t.has_raw_data())
      for (std::int32_t v : t.int32_data()) put(static_cast<std::uint64_t>(v));
    count(who, "its data, in bytes,", static_cast<std::int64_t>(all.size()), bytes);
    return all;
  }
  /// Elements of 2 and 4 bits stand in bytes, the lowest bits first.
  Held widened(wire::Tensor& t, const std::string& who, std::int64_t elements, Element element) {
    const IntegerElement integer = integer_element(t.data_type());
    const int bits = integer.bits ? integer.bits : element == Element::Float4E2M1 ? 4 : 8, each = std::max(bits / 8, 1);
    const std::int64_t bytes = bits >= 8 ? elements * each : elements / (8 / bits) + (elements % (8 / bits) != 0);
    const std::string from = packed(t, who, bytes, each);
    const auto code = [&](std::size_t i) {
      std::uint32_t v = 0;
      if (bits >= 8) std::memcpy(&v, from.data() + i * static_cast<std::size_t>(each), static_cast<std::size_t>(each));
      else
        v = static_cast<unsigned char>(from[i * static_cast<std::size_t>(bits) / 8]) >>
            i * static_cast<std::size_t>(bits) % 8;
      return bits == 32 ? v : v & ((1u << bits) - 1);
    };
    const auto made = [&]<class T>(T, auto&& value) {
      std::vector<T> all(static_cast<std::size_t>(elements));
      for (std::size_t i = 0; i < all.size(); ++i) all[i] = value(code(i));
      return hold(std::move(all));
    };
    if (element == Element::Float8E8M0)
      return made(0.f, [](std::uint32_t c) {
        return std::bit_cast<float>(c == 0 ? 1u << 22 : c == 255 ? 0x7fc00000u : c << 23);
      });
    if (element == Element::Float4E2M1) {
      static constexpr std::uint8_t kAsFloat8[] = {0x00, 0x30, 0x38, 0x3c,
                                                   0x40, 0x44, 0x48, 0x4c};  // 0 0.5 1 1.5 2 3 4 6
      return made(std::uint8_t{},
                  [](std::uint32_t c) { return static_cast<std::uint8_t>(kAsFloat8[c & 7] | (c & 8) << 4); });
    }
    const std::int64_t half = integer.is_signed ? std::int64_t{1} << (bits - 1) : 0;
    const auto whole = [&](std::uint32_t c) { return (static_cast<std::int64_t>(c) ^ half) - half; };
    if (bits == 32) return made(std::int64_t{}, whole);
    if (bits == 16) return made(std::int32_t{}, [&](std::uint32_t c) { return static_cast<std::int32_t>(whole(c)); });
    return made(std::int8_t{}, [&](std::uint32_t c) { return static_cast<std::int8_t>(whole(c)); });
  }

  std::int64_t number(const std::string& who, const char* key, const std::string& text) {
    std::int64_t n = 0;
    if (text.empty() || text.size() > 19)
      source_.bad(who + ": external " + key + " '" + shown(text) + "' is no number");
    for (char c : text) {
      if (c < '0' || c > '9' || __builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, c - '0', &n))
        source_.bad(who + ": external " + key + " '" + shown(text) + "' is no number");
    }
    return n;
  }
  Held external(const wire::Tensor& t, const std::string& who, std::int64_t bytes) {
    std::string location;
    std::int64_t offset = 0;
    std::optional<std::int64_t> length;
    for (const wire::Entry& e : t.external_data()) {
      if (e.key() == "location") location = e.value();
      else if (e.key() == "offset") offset = number(who, "offset", e.value());
      else if (e.key() == "length") length = number(who, "length", e.value());
    }
    if (length.value_or(bytes) != bytes)
      source_.bad(who + ": " + std::to_string(*length) +
                  " bytes lie outside of the model, but its sizes and dtype take " + std::to_string(bytes));
    if (bytes == 0) return {};
    auto [data, owner] = files_.bytes(who, location, offset, bytes);
    return {data, std::move(owner)};
  }

  ValueInfo value(const wire::ValueInfo& v) {
    ValueInfo made{.name = v.name()};
    const wire::Type* type = &v.type();
    made.kind = ValueInfo::Kind::Tensor;
    for (int depth = 0; depth < 4 && !type->has_tensor_type(); ++depth) {
      if (type->has_optional_type()) made.kind = ValueInfo::Kind::Optional, type = &type->optional_type().elem_type();
      else if (type->has_sequence_type())
        made.kind = ValueInfo::Kind::Sequence, type = &type->sequence_type().elem_type();
      else break;
    }
    if (!type->has_tensor_type()) {
      if (v.type().has_sequence_type() || v.type().has_optional_type() || !v.has_type())
        made.kind = v.has_type() ? ValueInfo::Kind::Other : ValueInfo::Kind::Tensor;
      return made;
    }
    made.element = type->tensor_type().elem_type();
    made.has_shape = type->tensor_type().has_shape() && made.kind == ValueInfo::Kind::Tensor;
    if (!made.has_shape) return made;
    for (const wire::Shape::Dimension& d : type->tensor_type().shape().dim()) {
      // -1 is what Paddle writes for a dynamic one.
      if (d.has_dim_value() && d.dim_value() < -1)
        source_.bad("'" + shown(made.name) + "' has a dimension of size " + std::to_string(d.dim_value()));
      made.dims.push_back({d.dim_param(), d.has_dim_value() ? d.dim_value() : -1});
    }
    if (made.dims.size() > kMaxRank)
      source_.bad("'" + shown(made.name) + "' has " + std::to_string(made.dims.size()) + " dimensions; at most " +
                  std::to_string(kMaxRank) + " are supported");
    return made;
  }

  Attribute attribute(wire::Attribute& a) {
    using Kind = Attribute::Kind;
    Attribute made{.name = a.name(), .of_caller = a.ref_attr_name()};
    switch (a.type()) {
      case 0:
        if (!made.of_caller.empty()) break;
        source_.bad("attribute '" + shown(made.name) + "' has no type");
      case 1: made.kind = Kind::Float, made.f = a.f(); break;
      case 2: made.kind = Kind::Int, made.i = a.i(); break;
      case 3: made.kind = Kind::String, made.s = a.s(); break;
      case 4:
        if (!a.has_t() && made.of_caller.empty())
          source_.bad("attribute '" + shown(made.name) + "' is said to be a tensor, and holds none");
        made.kind = Kind::Tensor, made.tensor = std::make_shared<TensorData>(tensor(*a.mutable_t()));
        break;
      case 5:
        if (!a.has_g()) source_.bad("attribute '" + shown(made.name) + "' is said to be a graph, and holds none");
        made.kind = Kind::Graph, made.graph = std::make_shared<GraphData>(graph(*a.mutable_g()));
        break;
      case 6: made.kind = Kind::Floats, made.floats.assign(a.floats().begin(), a.floats().end()); break;
      case 7: made.kind = Kind::Ints, made.ints.assign(a.ints().begin(), a.ints().end()); break;
      case 8: made.kind = Kind::Strings, made.strings.assign(a.strings().begin(), a.strings().end()); break;
      default: made.kind = Kind::Other;
    }
    return made;
  }

  NodeData node(wire::Node& n) {
    NodeData made{.name = n.name(), .op = n.op_type(), .domain = domain(n.domain())};
    made.inputs.assign(n.input().begin(), n.input().end());
    made.outputs.assign(n.output().begin(), n.output().end());
    if (made.op.empty()) source_.bad("node '" + shown(made.name) + "' names no operator");
    for (wire::Attribute& a : *n.mutable_attribute()) {
      made.attributes.push_back(attribute(a));
      for (std::size_t i = 0; i + 1 < made.attributes.size(); ++i)
        if (made.attributes[i].name == made.attributes.back().name)
          source_.bad("node '" + shown(made.name) + "' has the attribute '" + shown(a.name()) + "' twice");
      if (made.attributes.size() > kMostAttributes)
        source_.bad("node '" + shown(made.name) + "' has more than " + std::to_string(kMostAttributes) + " attributes");
    }
    return made;
  }
  static constexpr std::size_t kMostAttributes = 256;

  GraphData graph(wire::Graph& g) {
    GraphData made{.name = g.name()};
    for (const wire::ValueInfo& v : g.input()) made.inputs.push_back(value(v));
    for (const wire::ValueInfo& v : g.output()) made.outputs.push_back(value(v));
    for (wire::Tensor& t : *g.mutable_initializer()) made.initializers.push_back(tensor(t));
    for (wire::Node& n : *g.mutable_node()) made.nodes.push_back(node(n));
    return made;
  }

  FunctionData function(wire::Function& f) {
    FunctionData made{.name = f.name(), .domain = domain(f.domain())};
    made.inputs.assign(f.input().begin(), f.input().end());
    made.outputs.assign(f.output().begin(), f.output().end());
    made.opsets = opsets(f.opset_import());
    for (wire::Attribute& a : *f.mutable_attribute_proto()) made.defaults.push_back(attribute(a));
    for (wire::Node& n : *f.mutable_node()) made.nodes.push_back(node(n));
    return made;
  }

  const Source& source_;
  ExternalFiles files_;
};

template <class Message>
void parse(Message& to, std::string_view bytes, const char* what, const Source& source) {
  if (bytes.size() > static_cast<std::size_t>(INT_MAX))
    source.bad("it has " + std::to_string(bytes.size()) + " bytes; the format ends at 2 GB");
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetTotalBytesLimit(INT_MAX);
  if (!to.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    source.bad(std::string("the bytes are no ") + what + " (cut off, damaged, or another format)");
}

}  // namespace

ModelData decode_model(std::string_view bytes, const Source& source) {
  wire::Model message;
  parse(message, bytes, "ONNX model", source);
  return Decoder(source).model(message);
}

TensorData decode_tensor(std::string_view bytes, const Source& source) {
  wire::Tensor message;
  parse(message, bytes, "ONNX tensor", source);
  return Decoder(source).tensor(message);
}

}  // namespace reprise::onnx
