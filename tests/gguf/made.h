#pragma once
#include <unistd.h>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "reprise/gguf.h"

/// GGUF files as tests want them, written from the format's description; and what blocks mean, in loops that share
/// nothing with the library.
namespace made {

namespace gguf = reprise::gguf;

template <class T>
std::string raw(T v) {
  std::string s(sizeof(T), '\0');
  std::memcpy(s.data(), &v, sizeof(T));
  return s;
}
inline std::string text(const std::string& s) { return raw<std::uint64_t>(s.size()) + s; }

struct Gguf {
  std::uint32_t version = 3, alignment = 32;
  std::uint64_t n_tensors = 0, n_values = 0;
  std::string values, infos, data;

  Gguf& value(const std::string& key, std::uint32_t type, const std::string& bytes) {
    values += text(key) + raw(type) + bytes;
    ++n_values;
    return *this;
  }
  Gguf& array(const std::string& key, std::uint32_t element, std::uint64_t n, const std::string& bytes) {
    return value(key, 9, raw(element) + raw(n) + bytes);
  }
  /// sizes: rows first.
  Gguf& tensor(const std::string& name, std::vector<std::uint64_t> sizes, std::uint32_t type,
               const std::string& bytes) {
    data.resize((data.size() + alignment - 1) / alignment * alignment, '\0');
    infos += text(name) + raw<std::uint32_t>(static_cast<std::uint32_t>(sizes.size()));
    for (std::size_t d = sizes.size(); d-- > 0;) infos += raw(sizes[d]);
    infos += raw(type) + raw<std::uint64_t>(data.size());
    data += bytes;
    ++n_tensors;
    return *this;
  }
  std::string header() const { return "GGUF" + raw(version) + raw(n_tensors) + raw(n_values) + values + infos; }
  std::string all() const {
    std::string h = header();
    h.resize((h.size() + alignment - 1) / alignment * alignment, '\0');
    return h + data;
  }
};

/// A file of the test's that goes with it.
class Temporary {
 public:
  explicit Temporary(const std::string& bytes) {
    char name[] = "/tmp/reprise_gguf_XXXXXX";
    const int fd = mkstemp(name);
    path = name;
    if (fd >= 0) close(fd);
    std::ofstream(path, std::ios::binary) << bytes;
  }
  ~Temporary() { std::remove(path.c_str()); }
  Temporary(const Temporary&) = delete;
  std::string path;
};

struct Format {
  gguf::Type type;
  int elements, bytes;
  int halves[2];  ///< where scales are; -1: no second
};
inline constexpr Format kFormats[] = {{gguf::Type::Q8_0, 32, 34, {0, -1}},     {gguf::Type::Q4_0, 32, 18, {0, -1}},
                                      {gguf::Type::Q4_K, 256, 144, {0, 2}},    {gguf::Type::Q6_K, 256, 210, {208, -1}},
                                      {gguf::Type::Q4_1, 32, 20, {0, 2}},      {gguf::Type::Q5_0, 32, 22, {0, -1}},
                                      {gguf::Type::Q5_1, 32, 24, {0, 2}},      {gguf::Type::Q2_K, 256, 84, {80, 82}},
                                      {gguf::Type::Q3_K, 256, 110, {108, -1}}, {gguf::Type::Q5_K, 256, 176, {0, 2}},
                                      {gguf::Type::IQ4_NL, 32, 18, {0, -1}},   {gguf::Type::IQ4_XS, 256, 136, {0, -1}}};

inline void put_half(std::string& s, std::size_t at, float f) {
  const reprise::Half h(f);
  std::memcpy(s.data() + at, &h.bits, 2);
}
inline float half(const std::uint8_t* p) {
  reprise::Half h;
  std::memcpy(&h.bits, p, 2);
  return static_cast<float>(h);
}

/// n blocks of random bits with scales about as large as models have them.
inline std::string blocks(const Format& f, std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::string all(static_cast<std::size_t>(n * f.bytes), '\0');
  for (char& c : all) c = static_cast<char>(random());
  std::uniform_real_distribution<float> scale(-0.02f, 0.02f);
  for (std::int64_t b = 0; b < n; ++b) {
    const auto at = static_cast<std::size_t>(b * f.bytes);
    for (const int half : f.halves)
      if (half >= 0) put_half(all, at + static_cast<std::size_t>(half), scale(random));
  }
  return all;
}

/// What four bits stand for in IQ4_NL and IQ4_XS.
inline float iq4(int q) {
  constexpr int kTable[] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
  return static_cast<float>(kTable[q]);
}
/// a b + c, rounded twice.
inline float product_and_sum(float a, float b, float c) {
  const volatile float product = a * b;
  return product + c;
}

/// Element e of a block.
inline float element(const Format& f, const std::uint8_t* b, int e) {
  switch (f.type) {
    case gguf::Type::Q8_0: return half(b) * static_cast<float>(static_cast<std::int8_t>(b[2 + e]));
    case gguf::Type::Q4_0: return half(b) * static_cast<float>((e < 16 ? b[2 + e] % 16 : b[2 + e - 16] / 16) - 8);
    case gguf::Type::Q4_1:
      return product_and_sum(half(b), static_cast<float>(e < 16 ? b[4 + e] % 16 : b[4 + e - 16] / 16), half(b + 2));
    case gguf::Type::Q5_0:
    case gguf::Type::Q5_1: {
      const std::uint8_t* bits = b + (f.type == gguf::Type::Q5_0 ? 2 : 4);
      const int fifth = bits[e / 8] / (1 << e % 8) % 2,
                q = (e < 16 ? bits[4 + e] % 16 : bits[4 + e - 16] / 16) + 16 * fifth;
      return f.type == gguf::Type::Q5_0 ? half(b) * static_cast<float>(q - 16)
                                        : product_and_sum(half(b), static_cast<float>(q), half(b + 2));
    }
    case gguf::Type::Q2_K: {
      const int q = b[16 + 32 * (e / 128) + e % 32] / (1 << 2 * (e % 128 / 32)) % 4, s = b[e / 16];
      const volatile float scale = half(b + 80) * static_cast<float>(s % 16),
                           least = half(b + 82) * static_cast<float>(s / 16);
      return product_and_sum(scale, static_cast<float>(q), -least);
    }
    case gguf::Type::Q3_K: {
      const int q = b[32 + 32 * (e / 128) + e % 32] / (1 << 2 * (e % 128 / 32)) % 4 -
                    (b[e % 32] / (1 << e / 32) % 2 ? 0 : 4),
                i = e / 16;
      const int s = (i < 8 ? b[96 + i] % 16 : b[96 + i - 8] / 16) + 16 * (b[104 + i % 4] / (1 << 2 * (i / 4)) % 4);
      const volatile float scale = half(b + 108) * static_cast<float>(s - 32);
      return scale * static_cast<float>(q);
    }
    case gguf::Type::Q4_K:
    case gguf::Type::Q5_K: {
      const int group = e / 32, j = e % 32;
      const std::uint8_t* s = b + 4;
      const int scale = group < 4 ? s[group] % 64 : s[group + 4] % 16 + s[group - 4] / 64 * 16;
      const int least = group < 4 ? s[group + 4] % 64 : s[group + 4] / 16 + s[group] / 64 * 16;
      const std::uint8_t byte = b[(f.type == gguf::Type::Q4_K ? 16 : 48) + group / 2 * 32 + j];
      const int q =
          (group % 2 ? byte / 16 : byte % 16) + (f.type == gguf::Type::Q4_K ? 0 : b[16 + j] / (1 << group) % 2 * 16);
      const volatile float by = half(b) * static_cast<float>(scale), minimum = half(b + 2) * static_cast<float>(least);
      return product_and_sum(by, static_cast<float>(q), -minimum);
    }
    case gguf::Type::IQ4_NL: return half(b) * iq4(e < 16 ? b[2 + e] % 16 : b[2 + e - 16] / 16);
    case gguf::Type::IQ4_XS: {
      const int group = e / 32, j = e % 32, high = b[2] + 256 * b[3];
      const int s = (group % 2 ? b[4 + group / 2] / 16 : b[4 + group / 2] % 16) + 16 * (high / (1 << 2 * group) % 4);
      const volatile float scale = half(b) * static_cast<float>(s - 32);
      const std::uint8_t byte = b[8 + 16 * group + j % 16];
      return scale * iq4(j < 16 ? byte % 16 : byte / 16);
    }
    default: {
      const int h = e / 128, in_half = e % 128;
      const std::uint8_t low = b[64 * h + in_half % 64], high = b[128 + 32 * h + in_half % 32];
      const int bits = (in_half < 64 ? low % 16 : low / 16) + (high >> (2 * (in_half / 32))) % 4 * 16;
      const volatile float scale = half(b + 208) * static_cast<float>(static_cast<std::int8_t>(b[192 + e / 16]));
      return scale * static_cast<float>(bits - 32);
    }
  }
}
inline std::vector<float> elements(const Format& f, const std::string& all) {
  std::vector<float> made;
  for (std::size_t b = 0; b * static_cast<std::size_t>(f.bytes) < all.size(); ++b)
    for (int e = 0; e < f.elements; ++e)
      made.push_back(
          element(f, reinterpret_cast<const std::uint8_t*>(all.data()) + b * static_cast<std::size_t>(f.bytes), e));
  return made;
}

/// One of everything.
inline Gguf everything() {
  Gguf g;
  g.value("general.architecture", 8, text("llama"))
      .value("a.u8", 0, raw<std::uint8_t>(200))
      .value("a.i8", 1, raw<std::int8_t>(-5))
      .value("a.u16", 2, raw<std::uint16_t>(60000))
      .value("a.i16", 3, raw<std::int16_t>(-300))
      .value("a.u32", 4, raw<std::uint32_t>(4000000000u))
      .value("a.i32", 5, raw<std::int32_t>(-70000))
      .value("a.f32", 6, raw(1.5f))
      .value("a.bool", 7, std::string(1, '\1'))
      .value("a.u64", 10, raw<std::uint64_t>(1ull << 63))
      .value("a.i64", 11, raw<std::int64_t>(-(1ll << 40)))
      .value("a.f64", 12, raw(0.1))
      .array("tokenizer.ggml.tokens", 8, 3, text("<s>") + text("") + text("\xe2\x96\x81the"))
      .array("tokenizer.ggml.scores", 6, 3, raw(0.f) + raw(-1.f) + raw(-2.5f))
      .array("tokenizer.ggml.token_type", 5, 3, raw(3) + raw(1) + raw(1))
      .array("a.bools", 7, 2, std::string("\0\1", 2))
      .array("a.none", 4, 0, "");
  std::string f32, f16, bf16;
  for (int i = 0; i < 6; ++i)
    f32 += raw(static_cast<float>(i)), f16 += raw(reprise::Half(static_cast<float>(i)).bits),
        bf16 += raw(reprise::BFloat16(static_cast<float>(i)).bits);
  g.tensor("f32", {2, 3}, 0, f32)
      .tensor("f16", {2, 3}, 1, f16)
      .tensor("bf16", {6}, 30, bf16)
      .tensor("empty", {0, 32}, 8, "")
      .tensor("i32", {2}, 26, raw(7) + raw(-8));
  unsigned seed = 1;
  for (const Format& f : kFormats)
    g.tensor(gguf::type_name(f.type), {3, static_cast<std::uint64_t>(2 * f.elements)},
             static_cast<std::uint32_t>(f.type), blocks(f, 6, seed++));
  g.tensor("iq2_s", {1, 256}, 22, std::string(82, 'x')).tensor("later", {1}, 1234, std::string(8, 'x'));
  return g;
}

}  // namespace made
