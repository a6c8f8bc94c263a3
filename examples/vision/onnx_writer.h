#pragma once
// Writes models in ONNX's format: as much of it as a convolutional network takes.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/tensor.h"

namespace vision {

/// A message of protobuf: fields by number, in the order of the calls.
class Message {
 public:
  Message& number(int field, std::int64_t value);
  Message& bytes(int field, std::string_view value);
  Message& message(int field, const Message& m) { return bytes(field, m.text_); }
  const std::string& text() const { return text_; }

 private:
  void varint(std::uint64_t);
  std::string text_;
};

/// A graph of nodes; each node gives one value, by name.
class Graph {
 public:
  using Attribute = std::pair<std::string, std::vector<std::int64_t>>;  // of integers
  /// Float32 of these sizes: numbers, or names of dynamic dimensions.
  void input(const std::string& name, const std::vector<std::string>& sizes);
  void output(const std::string& name, const std::vector<std::string>& sizes);
  /// A Float32 constant. Returns its name.
  std::string constant(const std::string& name, const reprise::Tensor& value);
  /// Returns the result's name, which is the node's. One number is an attribute of type INT if `single` lists its name,
  /// else INTS.
  std::string node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<Attribute>& attributes = {}, const std::vector<std::string>& single = {});
  /// Throws std::runtime_error where the file cannot be written.
  void save(const std::string& path) const;

 private:
  Message nodes_, constants_, ports_;
};

}  // namespace vision
