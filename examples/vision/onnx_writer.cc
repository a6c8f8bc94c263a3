#include "onnx_writer.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace vision {

namespace rp = reprise;

void Message::varint(std::uint64_t v) {
  for (; v >= 128; v >>= 7) text_ += static_cast<char>(v | 128);
  text_ += static_cast<char>(v);
}
Message& Message::number(int field, std::int64_t value) {
  varint(static_cast<std::uint64_t>(field) << 3);
  varint(static_cast<std::uint64_t>(value));
  return *this;
}
Message& Message::bytes(int field, std::string_view value) {
  varint(static_cast<std::uint64_t>(field) << 3 | 2);
  varint(value.size());
  text_ += value;
  return *this;
}

namespace {

constexpr int kFloat = 1, kInt = 2, kInts = 7;  // TensorProto.DataType; AttributeProto.AttributeType

/// ValueInfoProto of a Float32 tensor.
Message port(const std::string& name, const std::vector<std::string>& sizes) {
  Message shape;
  for (const std::string& size : sizes) {
    const bool number = size.find_first_not_of("0123456789") == std::string::npos;
    shape.message(1, number ? Message().number(1, std::stoll(size)) : Message().bytes(2, size));
  }
  return Message().bytes(1, name).message(2, Message().message(1, Message().number(1, kFloat).message(2, shape)));
}

}  // namespace

void Graph::input(const std::string& name, const std::vector<std::string>& sizes) {
  ports_.message(11, port(name, sizes));
}
void Graph::output(const std::string& name, const std::vector<std::string>& sizes) {
  ports_.message(12, port(name, sizes));
}

std::string Graph::constant(const std::string& name, const rp::Tensor& value) {
  const std::vector<float> elements = value.to_vector<float>();
  Message m;
  for (rp::Int d : value.sizes()) m.number(1, d.value());
  m.number(2, kFloat).bytes(8, name).bytes(
      9, {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(float)});
  constants_.message(5, m);
  return name;
}

std::string Graph::node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<Attribute>& attributes, const std::vector<std::string>& single) {
  Message m;
  for (const std::string& i : inputs) m.bytes(1, i);
  m.bytes(2, name).bytes(3, name).bytes(4, op);
  for (const auto& [attribute, values] : attributes) {
    Message a;
    a.bytes(1, attribute);
    if (std::find(single.begin(), single.end(), attribute) != single.end()) {
      a.number(3, values.at(0)).number(20, kInt);
    } else {
      for (std::int64_t v : values) a.number(8, v);
      a.number(20, kInts);
    }
    m.message(5, a);
  }
  nodes_.message(1, m);
  return name;
}

void Graph::save(const std::string& path) const {
  Message graph;
  graph.bytes(2, "graph");
  const std::string all = nodes_.text() + graph.text() + constants_.text() + ports_.text();
  Message model;
  model.number(1, 8).bytes(2, "reprise").bytes(7, all).message(8, Message().bytes(1, "").number(2, 17));
  std::ofstream out(path, std::ios::binary);
  out.write(model.text().data(), static_cast<std::streamsize>(model.text().size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace vision
