#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

/// What libFuzzer calls, and driver.cc where libFuzzer is not: one of them for each executable. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace reprise::fuzz {

/// A promise is broken: ends the process, with the input kept by whoever drives.
[[noreturn]] inline void broken(const std::string& what) {
  std::fprintf(stderr, "broken: %s\n", what.c_str());
  std::abort();
}
inline void promise(bool holds, const char* what) {
  if (!holds) broken(what);
}

/// Numbers out of the input; zeros where it has ended.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}
  std::uint8_t byte() { return at_ < end_ ? *at_++ : 0; }
  bool done() const { return at_ == end_; }
  /// One of those that integers go wrong at, or a small one, or any.
  std::int64_t number() {
    constexpr std::int64_t kEdges[] = {
        INT64_MAX, INT64_MIN, INT64_MAX / 2, INT64_MIN / 2, std::int64_t{1} << 31, std::int64_t{1} << 32,
        -1,        -2,        INT64_MAX / 3, INT64_MAX - 1};
    const std::uint8_t how = byte();
    if (how < 128) return how % 9;
    if (how < 200) return kEdges[how % 10];
    std::uint64_t v = 0;
    for (int i = 0; i < 8; ++i) v = v << 8 | byte();
    return static_cast<std::int64_t>(v);
  }

 private:
  const std::uint8_t *at_, *end_;
};

}  // namespace reprise::fuzz
