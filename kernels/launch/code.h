#pragma once
#include <any>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/launch/fields.h"
#include "reprise/dtype.h"

namespace reprise::kernels {

namespace field_list {

inline std::string parameter_text(DType t) { return std::string(dtype_short_name(t)); }
template <class T>
std::string parameter_text(const T& x) {
  if constexpr (requires { name_of(x); }) return std::string(name_of(x));
  else return std::to_string(x);
}
template <class T>
std::string parameter_text(const std::vector<T>& list) {
  std::string s = "[";
  for (const T& x : list) s += (s.size() > 1 ? ", " : "") + parameter_text(x);
  return s + ']';
}

}  // namespace field_list

/// A kind of kernel is a struct that holds the parameters of its code, with their names (REPRISE_DESCRIBE), and the
/// kind's: K::kKind. An enum among the parameters has a function name_of.
template <class K>
concept KernelKind = Described<K> && requires {
  std::string_view(K::kKind);
};

/// Code that the JIT makes: a kernel of some kind with these parameters. As a value: the kinds are known to who asks
/// and to who makes it.
class KernelCode {
 public:
  template <KernelKind K>
  KernelCode(K code) : kind_(K::kKind), text_(kind_) {  // NOLINT: a kind with its parameters is code
    std::string list;
    for_each_field(std::as_const(code), [&](std::string_view name, const auto& x) {
      list += (list.empty() ? "" : ", ") + std::string(name) + '=' + field_list::parameter_text(x);
    });
    text_ += '(' + list + ')';
    code_ = std::move(code);
  }
  std::string_view kind() const { return kind_; }
  /// "gemm(bits=512, acc=f32, c=bf16, vectors=3)": equal for equal code alone
  const std::string& text() const { return text_; }
  template <KernelKind K>
  const K* as() const {
    return std::any_cast<K>(&code_);
  }  ///< null where it is of another kind
  friend bool operator==(const KernelCode& a, const KernelCode& b) { return a.text_ == b.text_; }

 private:
  std::string_view kind_;
  std::string text_;
  std::any code_;
};

}  // namespace reprise::kernels
