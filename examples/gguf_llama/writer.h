#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "reprise/gguf.h"

namespace gguf_llama {

namespace rp = reprise;

/// Makes a GGUF file: what of the format this example needs. (Models come with such files; nobody has to write one to
/// use one.)
class Writer {
 public:
  void text(const std::string& key, const std::string& value);
  void integer(const std::string& key, std::uint32_t value);
  void number(const std::string& key, float value);
  void texts(const std::string& key, const std::vector<std::string>& values);
  /// A matrix in Q8_0 or Q4_0 where its rows are multiples of 32, anything else in float32.
  void tensor(const std::string& name, const rp::Tensor& values, rp::gguf::Type type);
  void save(const std::string& path) const;

 private:
  void key(const std::string& name, std::uint32_t type);
  std::string values_, infos_, data_;
  std::uint64_t n_values_ = 0, n_tensors_ = 0;
};

}  // namespace gguf_llama
