#pragma once
#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

/// Values as bytes and back, for this very build of the library: nothing in them says what they are.
///
/// A struct names its fields once, in a function `archived(x)` beside it that gives them as a tuple of references; both
/// directions go by that. It takes them apart with a structured binding, so that a struct that gets one more field does
/// not compile until it is told here, too:
///
///   REPRISE_ARCHIVED(Operand, buffer, dtype, layout, written, kept)
///
/// What means something only in its surroundings (an expression of an environment, a function) is written and read by
/// the class that knows these: one that derives from the two here and has functions `own(x)`.
namespace reprise {

#define REPRISE_ARCHIVED(Type, ...)                   \
  template <class X>                                  \
  requires std::same_as<std::remove_const_t<X>, Type> \
  auto archived(X& x) {                               \
    auto& [__VA_ARGS__] = x;                          \
    return std::tie(__VA_ARGS__);                     \
  }

/// What is to be written has no form as bytes, and why: a function of the user's, a kind of kernel that nobody told
/// here.
struct NotArchived : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Bytes that no archive of this build has.
struct DamagedArchive : std::runtime_error {
  DamagedArchive() : std::runtime_error("the archive is damaged") {}
};

namespace archive {

template <class T>
inline constexpr bool is_vector = false;
template <class T>
inline constexpr bool is_vector<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_variant = false;
template <class... T>
inline constexpr bool is_variant<std::variant<T...>> = true;
template <class T>
inline constexpr bool is_pair = false;
template <class A, class B>
inline constexpr bool is_pair<std::pair<A, B>> = true;
template <class T>
concept Described = requires(T& x) {
  archived(x);
};

/// Small numbers of either sign are small.
constexpr std::uint64_t zigzag(std::int64_t v) {
  return static_cast<std::uint64_t>(v) << 1 ^ static_cast<std::uint64_t>(v >> 63);
}
constexpr std::int64_t zagzig(std::uint64_t v) { return static_cast<std::int64_t>(v >> 1 ^ (0 - (v & 1))); }

}  // namespace archive

class ArchiveWriter {
 public:
  void number(std::uint64_t v) {
    char part[10];
    std::size_t n = 0;
    for (; v >= 0x80; v >>= 7) part[n++] = static_cast<char>(v | 0x80);
    part[n++] = static_cast<char>(v);
    bytes_.append(part, n);
  }
  /// Each text stands there once. Its number.
  std::size_t text(std::string_view s) {
    const auto [it, is_new] = texts_.try_emplace(std::string(s), texts_.size());
    number(it->second);
    if (is_new) number(s.size()), bytes_.append(s);
    return it->second;
  }
  /// A text that stays at its address while this lives.
  void text_at(const void* address, std::string_view s) {
    if (const auto it = places_.find(address); it != places_.end()) number(it->second);
    else places_.emplace(address, text(s));
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::unordered_map<std::string, std::size_t> texts_;
  std::unordered_map<const void*, std::size_t> places_;
};

/// Throws DamagedArchive. What it reads of `bytes` it copies, but for text().
class ArchiveReader {
 public:
  explicit ArchiveReader(std::string_view bytes) : rest_(bytes) {}
  std::uint64_t number() {
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto part = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      v |= static_cast<std::uint64_t>(part & 0x7f) << shift;
      if (part < 0x80) return v;
    }
    throw DamagedArchive();
  }
  /// How many of something follow, each of a byte at least.
  std::size_t count() {
    const std::uint64_t n = number();
    if (n > rest_.size()) throw DamagedArchive();
    return static_cast<std::size_t>(n);
  }
  std::string_view text() { return texts_[text_number()]; }
  /// The same of a text that is to stay for good: one address for each.
  const char* kept_text() {
    const std::size_t at = text_number();
    kept_.resize(texts_.size());
    if (!kept_[at]) kept_[at] = keep_text(texts_[at]);
    return kept_[at];
  }
  bool done() const { return rest_.empty(); }

 private:
  std::size_t text_number() {
    const std::uint64_t at = number();
    if (at > texts_.size()) throw DamagedArchive();
    if (at == texts_.size()) {
      const std::size_t n = count();
      texts_.push_back(rest_.substr(0, n));
      rest_.remove_prefix(n);
    }
    return static_cast<std::size_t>(at);
  }
  static const char* keep_text(std::string_view);
  std::string_view rest_;
  std::vector<std::string_view> texts_;
  std::vector<const char*> kept_;
};

template <class A, class T>
void write(A& a, const T& x) {
  if constexpr (std::is_same_v<T, bool>) {
    a.number(x);
  } else if constexpr (std::is_enum_v<T> && requires { a.own(x); }) {
    a.own(x);
  } else if constexpr (std::is_enum_v<T>) {
    write(a, static_cast<std::underlying_type_t<T>>(x));
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>) a.number(archive::zigzag(x));
    else a.number(x);
  } else if constexpr (std::is_same_v<T, double>) {
    a.number(std::bit_cast<std::uint64_t>(x));
  } else if constexpr (std::is_same_v<T, std::string>) {
    a.text(x);
  } else if constexpr (archive::is_vector<T>) {
    a.number(x.size());
    for (const typename T::value_type& e : x) write(a, e);
  } else if constexpr (archive::is_optional<T>) {
    a.number(x.has_value());
    if (x) write(a, *x);
  } else if constexpr (archive::is_pair<T>) {
    write(a, x.first), write(a, x.second);
  } else if constexpr (archive::is_variant<T>) {
    a.number(x.index());
    std::visit([&](const auto& e) { write(a, e); }, x);
  } else if constexpr (std::is_same_v<T, std::monostate>) {
  } else if constexpr (archive::Described<const T>) {
    std::apply([&](const auto&... field) { (write(a, field), ...); }, archived(x));
  } else {
    a.own(x);
  }
}

template <class A, class T>
void read(A& a, T& x);

template <class T, class A>
T read(A& a) {
  if constexpr (requires { a.make(std::type_identity<T>()); }) {
    return a.make(std::type_identity<T>());
  } else {
    T x{};
    read(a, x);
    return x;
  }
}

namespace archive {
template <class A, class... T>
void read_alternative(A& a, std::variant<T...>& x) {
  using Read = void (*)(A&, std::variant<T...>&);
  static constexpr Read kReads[] = {[](A& from, std::variant<T...>& to) { to = read<T>(from); }...};
  const std::uint64_t which = a.number();
  if (which >= sizeof...(T)) throw DamagedArchive();
  kReads[which](a, x);
}
}  // namespace archive

template <class A, class T>
void read(A& a, T& x) {
  if constexpr (std::is_same_v<T, bool>) {
    x = a.number() != 0;
  } else if constexpr (std::is_enum_v<T> && requires { a.own(x); }) {
    a.own(x);
  } else if constexpr (std::is_enum_v<T>) {
    x = static_cast<T>(read<std::underlying_type_t<T>>(a));
  } else if constexpr (std::is_integral_v<T>) {
    const std::uint64_t bits = a.number();
    if constexpr (std::is_signed_v<T>) x = static_cast<T>(archive::zagzig(bits));
    else x = static_cast<T>(bits);
  } else if constexpr (std::is_same_v<T, double>) {
    x = std::bit_cast<double>(a.number());
  } else if constexpr (std::is_same_v<T, std::string>) {
    x = a.text();
  } else if constexpr (archive::is_vector<T>) {
    const std::size_t n = a.count();
    x.clear();
    x.reserve(n);
    for (std::size_t i = 0; i < n; ++i) x.push_back(read<typename T::value_type>(a));
  } else if constexpr (archive::is_optional<T>) {
    x.reset();
    if (a.number()) x = read<typename T::value_type>(a);
  } else if constexpr (archive::is_pair<T>) {
    read(a, x.first), read(a, x.second);
  } else if constexpr (archive::is_variant<T>) {
    archive::read_alternative(a, x);
  } else if constexpr (std::is_same_v<T, std::monostate>) {
  } else if constexpr (archive::Described<T>) {
    std::apply([&](auto&... field) { (read(a, field), ...); }, archived(x));
  } else {
    a.own(x);
  }
}

}  // namespace reprise
