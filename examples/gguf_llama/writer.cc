#include "writer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

namespace gguf_llama {

namespace {

constexpr std::int64_t kBlock = 32;
constexpr std::size_t kAlignment = 32;

template <class T>
void append(std::string& to, T v) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &v, sizeof(T));
  to.append(bytes, sizeof(T));
}
void append_text(std::string& to, const std::string& s) { append<std::uint64_t>(to, s.size()), to += s; }

/// 32 bytes with a sign: the largest becomes 127.
void q8_0(std::string& to, const float* x) {
  float most = 0;
  for (int i = 0; i < kBlock; ++i) most = std::max(most, std::fabs(x[i]));
  const float d = most / 127;
  append(to, rp::Half(d).bits);
  for (int i = 0; i < kBlock; ++i) append(to, static_cast<std::int8_t>(d == 0 ? 0 : std::round(x[i] / d)));
}

/// 16 bytes of two: the one that is largest becomes -8.
void q4_0(std::string& to, const float* x) {
  float most = 0;
  for (int i = 0; i < kBlock; ++i)
    if (std::fabs(x[i]) > std::fabs(most)) most = x[i];
  const float d = most / -8;
  append(to, rp::Half(d).bits);
  auto bits = [&](float v) { return d == 0 ? 8 : std::clamp(static_cast<int>(v / d + 8.5f), 0, 15); };
  for (int i = 0; i < kBlock / 2; ++i) append(to, static_cast<std::uint8_t>(bits(x[i]) | bits(x[i + kBlock / 2]) << 4));
}

}  // namespace

void Writer::key(const std::string& name, std::uint32_t type) {
  append_text(values_, name), append(values_, type), ++n_values_;
}
void Writer::text(const std::string& name, const std::string& value) { key(name, 8), append_text(values_, value); }
void Writer::integer(const std::string& name, std::uint32_t value) { key(name, 4), append(values_, value); }
void Writer::number(const std::string& name, float value) { key(name, 6), append(values_, value); }
void Writer::texts(const std::string& name, const std::vector<std::string>& values) {
  key(name, 9), append<std::uint32_t>(values_, 8), append<std::uint64_t>(values_, values.size());
  for (const std::string& v : values) append_text(values_, v);
}

void Writer::tensor(const std::string& name, const rp::Tensor& values, rp::gguf::Type type) {
  data_.resize((data_.size() + kAlignment - 1) / kAlignment * kAlignment, '\0');
  const std::vector<float> all = values.to_vector<float>();
  const rp::Ints sizes = values.sizes();
  if (sizes.size() != 2 || sizes.back().value() % kBlock != 0) type = rp::gguf::Type::F32;
  append_text(infos_, name), append<std::uint32_t>(infos_, static_cast<std::uint32_t>(sizes.size()));
  for (std::size_t d = sizes.size(); d-- > 0;)
    append<std::uint64_t>(infos_, static_cast<std::uint64_t>(sizes[d].value()));
  append(infos_, static_cast<std::uint32_t>(type)), append<std::uint64_t>(infos_, data_.size());
  ++n_tensors_;
  if (type == rp::gguf::Type::F32)
    for (const float v : all) append(data_, v);
  else
    for (std::size_t i = 0; i < all.size(); i += kBlock)
      (type == rp::gguf::Type::Q8_0 ? q8_0 : q4_0)(data_, all.data() + i);
}

void Writer::save(const std::string& path) const {
  std::string header = "GGUF";
  append<std::uint32_t>(header, 3), append(header, n_tensors_), append(header, n_values_);
  header += values_ + infos_;
  header.resize((header.size() + kAlignment - 1) / kAlignment * kAlignment, '\0');
  std::ofstream(path, std::ios::binary) << header << data_;
}

}  // namespace gguf_llama
