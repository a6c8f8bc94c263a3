#pragma once
// What the parts of an argument are called: not called by users.
//
// Names of fields are found when compiling. C++20 lets a pointer to a part of an object be a template's argument, and
// compilers write the part's name where they write the function's: [with auto P = Part<const int*>{(&
// example_of<Sizes>.Example<Sizes>::value.Sizes::width)}]. The technique is the one that Boost.PFR documents
// (core_name). The object is declared, and never defined.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {
namespace detail {

template <class T>
struct Example {
  T value;
};
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
template <class T>
extern const Example<T> example_of;
#ifdef __clang__
#pragma clang diagnostic pop
#endif

template <class P>
struct Part {
  P at;
};
template <class P>
Part(P) -> Part<P>;

template <auto P>
constexpr const char* part_as_text() {  // its type has no parameters: g++ would write them, too
  return __PRETTY_FUNCTION__;
}
/// The identifier before the closing brackets.
constexpr std::string_view last_name(std::string_view s) {
  auto in_names = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
  };
  while (!s.empty() && !in_names(s.back())) s.remove_suffix(1);
  std::size_t n = 0;
  while (n < s.size() && in_names(s[s.size() - 1 - n])) ++n;
  return s.substr(s.size() - n);
}

/// What a module says of its fields.
enum class FieldKind : std::uint8_t { None, Parameter, Buffer };

/// Where a walk is, in the user's words: `arg 1.layers[0].wq`, or `weights.layers[0].wq` where
/// CompileOptions::arguments names it.
class Path {
 public:
  Path() = default;                                                 ///< of a result: "", ".logits", "[3]"
  static Path of_arguments(const std::vector<std::string>& names);  ///< borrows them
  void enter(std::string_view field, std::size_t index) {
    enter(field, index, kind_);
  }  ///< a field ("": it has no name), or an argument
  void enter(std::string_view field, std::size_t index, FieldKind);
  void enter(std::size_t element);
  void enter(const std::string& key);
  void leave();
  const std::string& text() const { return text_; }
  std::size_t argument() const { return argument_; }  ///< that the walk is in
  FieldKind kind() const { return kind_; }  ///< what the innermost module says of its field that the walk is in

 private:
  bool arguments_ = false;
  const std::vector<std::string>* names_ = nullptr;
  std::size_t argument_ = 0;
  std::string text_;
  FieldKind kind_ = FieldKind::None;
  std::vector<std::size_t> lengths_;  // of the text around
  std::vector<FieldKind> kinds_;      // of the places around
};

}  // namespace detail
}  // namespace REPRISE_VISIBLE
