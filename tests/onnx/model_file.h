#pragma once
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

/// ONNX files for tests, field by field: what is written is what is asked for, lies too. Field numbers are those of
/// import/onnx/format.proto.
namespace reprise::test::onnx_file {

struct Message {
  std::string bytes;
  static std::string varint(std::uint64_t v) {
    std::string s;
    for (; v >= 128; v >>= 7) s.push_back(static_cast<char>(v | 128));
    return s.append(1, static_cast<char>(v));
  }
  Message& number(int field, std::int64_t v) {
    bytes += varint(static_cast<std::uint64_t>(field) << 3) + varint(static_cast<std::uint64_t>(v));
    return *this;
  }
  Message& text(int field, const std::string& s) {
    bytes += varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(s.size()) + s;
    return *this;
  }
  Message& real(int field, float f) {
    char four[4];
    std::memcpy(four, &f, 4);
    bytes += varint(static_cast<std::uint64_t>(field) << 3 | 5) + std::string(four, 4);
    return *this;
  }
  Message& in(int field, const Message& m) { return text(field, m.bytes); }
};

enum : int { kFloat = 1, kInt64 = 7, kBool = 9 };

template <class T>
Message tensor(const std::string& name, int element, const std::vector<std::int64_t>& dims,
               const std::vector<T>& values) {
  Message m;
  for (std::int64_t d : dims) m.number(1, d);
  m.number(2, element).text(8, name);
  return m.text(9, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
}
inline Message floats(const std::string& name, const std::vector<std::int64_t>& dims,
                      const std::vector<float>& values) {
  return tensor(name, kFloat, dims, values);
}
inline Message ints(const std::string& name, const std::vector<std::int64_t>& values) {
  return tensor(name, kInt64, {static_cast<std::int64_t>(values.size())}, values);
}
inline Message number(const std::string& name, std::int64_t value) {
  return tensor(name, kInt64, {}, std::vector<std::int64_t>{value});
}

/// A dimension: a size, or a name.
struct Dim {
  std::int64_t size = -1;
  std::string name{};
  Dim(int n) : size(n) {}
  Dim(const char* s) : name(s) {}
};
inline Message value(const std::string& name, int element, const std::vector<Dim>& dims) {
  Message shape;
  for (const Dim& d : dims) {
    Message dim;
    d.name.empty() ? dim.number(1, d.size) : dim.text(2, d.name);
    shape.in(1, dim);
  }
  return Message().text(1, name).in(2, Message().in(1, Message().number(1, element).in(2, shape)));
}

inline Message attribute(const std::string& name, std::int64_t i) {
  return Message().text(1, name).number(3, i).number(20, 2);
}
inline Message attribute(const std::string& name, float f) { return Message().text(1, name).real(2, f).number(20, 1); }
inline Message attribute(const std::string& name, const std::string& s) {
  return Message().text(1, name).text(4, s).number(20, 3);
}
inline Message attribute(const std::string& name, const std::vector<std::int64_t>& all) {
  Message m = Message().text(1, name);
  for (std::int64_t i : all) m.number(8, i);
  return m.number(20, 7);
}
inline Message floats_attribute(const std::string& name, const std::vector<float>& all) {
  Message m = Message().text(1, name);
  for (float f : all) m.real(7, f);
  return m.number(20, 6);
}
inline Message strings_attribute(const std::string& name, const std::vector<std::string>& all) {
  Message m = Message().text(1, name);
  for (const std::string& s : all) m.text(9, s);
  return m.number(20, 8);
}
inline Message graph_attribute(const std::string& name, const Message& g) {
  return Message().text(1, name).in(6, g).number(20, 5);
}
inline Message tensor_attribute(const std::string& name, const Message& t) {
  return Message().text(1, name).in(5, t).number(20, 4);
}

using Names = std::vector<std::string>;
inline Message node(const std::string& op, const Names& inputs, const Names& outputs,
                    const std::vector<Message>& attributes = {}, const std::string& name = {},
                    const std::string& domain = {}) {
  Message m;
  for (const std::string& s : inputs) m.text(1, s);
  for (const std::string& s : outputs) m.text(2, s);
  m.text(3, name).text(4, op);
  for (const Message& a : attributes) m.in(5, a);
  return domain.empty() ? m : m.text(7, domain);
}

struct Graph {
  std::vector<Message> inputs{}, outputs{}, initializers{}, nodes{};
  Message message() const {
    Message m;
    for (const Message& n : nodes) m.in(1, n);
    m.text(2, "graph");
    for (const Message& t : initializers) m.in(5, t);
    for (const Message& v : inputs) m.in(11, v);
    for (const Message& v : outputs) m.in(12, v);
    return m;
  }
};
inline Message opset(std::int64_t version, const std::string& domain = {}) {
  return Message().text(1, domain).number(2, version);
}
inline std::string model(const Message& graph, std::int64_t version = 17, const std::vector<Message>& functions = {}) {
  Message m;
  m.number(1, 8).in(7, graph).in(8, opset(version));
  for (const Message& f : functions) m.in(25, f);
  if (!functions.empty()) m.in(8, opset(1, "local"));
  return m.bytes;
}
inline std::string model(const Graph& graph, std::int64_t version = 17) { return model(graph.message(), version); }
/// One with classical operators, of this version of their domain.
inline std::string ml_model(const Graph& graph, std::int64_t version) {
  return model(graph) + Message().in(8, opset(version, "ai.onnx.ml")).bytes;
}

}  // namespace reprise::test::onnx_file
