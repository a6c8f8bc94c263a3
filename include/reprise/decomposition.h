#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "reprise/scalar.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

namespace detail {

/// One argument of an operator's call. Borrows what it refers to.
using OperatorArg = std::variant<std::monostate, const Tensor*, TensorArrayRef, Int, IntArrayRef, Scalar, bool, DType,
                                 std::string_view>;
inline OperatorArg operator_arg(OperatorArg a) { return a; }
inline OperatorArg operator_arg(const Tensor& t) { return &t; }
inline OperatorArg operator_arg(const std::vector<Tensor>& l) { return TensorArrayRef(l); }
inline OperatorArg operator_arg(const TensorArrayRef& l) { return l; }
inline OperatorArg operator_arg(std::nullopt_t) { return {}; }
inline OperatorArg operator_arg(DType t) { return t; }
inline OperatorArg operator_arg(Int i) { return i; }
inline OperatorArg operator_arg(const Scalar& s) { return s; }
inline OperatorArg operator_arg(const IntArrayRef& l) { return l; }
inline OperatorArg operator_arg(const Ints& l) { return IntArrayRef(l); }
inline OperatorArg operator_arg(const std::vector<Int>& l) { return IntArrayRef(l); }
template <std::same_as<bool> T>
OperatorArg operator_arg(T b) {
  return b;
}
template <IntegralNumber T>
OperatorArg operator_arg(T i) {
  return Int(i);
}
template <std::floating_point T>
OperatorArg operator_arg(T f) {
  return Scalar(f);
}
template <class T>
requires std::is_convertible_v<const T&, std::string_view> OperatorArg operator_arg(const T& s) {
  return std::string_view(s);
}
template <class T>
OperatorArg operator_arg(const std::optional<T>& o) {
  return o ? operator_arg(*o) : OperatorArg{};
}

/// What a parameter of a decomposition takes.
enum class Parameter : std::uint8_t { Tensor, Tensors, Int, Ints, Scalar, Bool, DType, Text };
struct ParameterType {
  Parameter of;
  bool optional = false;  ///< std::optional: None is nothing. (A Tensor that is None is undefined.)
};

template <class T>
struct ParameterOf;
#define REPRISE_PARAMETER(T, kind, get)                   \
  template <>                                             \
  struct ParameterOf<T> {                                 \
    static constexpr ParameterType type{Parameter::kind}; \
    static T from(const OperatorArg& a) { return get; }   \
  };
REPRISE_PARAMETER(Tensor, Tensor, std::holds_alternative<const Tensor*>(a) ? *std::get<const Tensor*>(a) : Tensor())
REPRISE_PARAMETER(std::vector<Tensor>, Tensors,
                  (std::vector<Tensor>(std::get<TensorArrayRef>(a).begin(), std::get<TensorArrayRef>(a).end())))
REPRISE_PARAMETER(Int, Int, std::get<Int>(a))
REPRISE_PARAMETER(Ints, Ints, (Ints(std::get<IntArrayRef>(a).begin(), std::get<IntArrayRef>(a).end())))
REPRISE_PARAMETER(Scalar, Scalar, std::holds_alternative<Int>(a) ? Scalar(std::get<Int>(a)) : std::get<Scalar>(a))
REPRISE_PARAMETER(bool, Bool, std::get<bool>(a))
REPRISE_PARAMETER(DType, DType, std::get<DType>(a))
REPRISE_PARAMETER(std::string, Text, std::string(std::get<std::string_view>(a)))
REPRISE_PARAMETER(std::string_view, Text, std::get<std::string_view>(a))
#undef REPRISE_PARAMETER
template <class T>
struct ParameterOf<std::optional<T>> {
  static constexpr ParameterType type{ParameterOf<T>::type.of, true};
  static std::optional<T> from(const OperatorArg& a) {
    if (std::holds_alternative<std::monostate>(a)) return std::nullopt;
    return ParameterOf<T>::from(a);
  }
};

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class R, class... A>
struct Signature<R (*)(A...)> {
  using Parameters = std::tuple<std::remove_cvref_t<A>...>;
};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> : Signature<R (*)(A...)> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...)> : Signature<R (*)(A...)> {};

inline void give(std::vector<Tensor>& to, const Tensor& t) { to.push_back(t); }
inline void give(std::vector<Tensor>& to, const std::vector<Tensor>& all) {
  to.insert(to.end(), all.begin(), all.end());
}
template <class... T>
void give(std::vector<Tensor>& to, const std::tuple<T...>& all) {
  std::apply([&](const auto&... t) { (give(to, t), ...); }, all);
}
template <class A, class B>
void give(std::vector<Tensor>& to, const std::pair<A, B>& both) {
  give(to, both.first), give(to, both.second);
}

}  // namespace detail

/// What an operator does, told in terms of others: an ordinary function with the schema's parameters, in order. Types:
/// Tensor, std::vector<Tensor>, Int, Ints, Scalar (of "float", "Scalar" and "Any"), bool, DType, std::string;
/// std::optional of them, and an undefined Tensor, for None. It returns the results, a Tensor or a tuple, pair or
/// vector of them: all that the schema names, or only those that are no written argument. What the schema writes it
/// writes with in-place operators and copy_.
class Decomposition {
 public:
  Decomposition() = default;
  template <class F, class Parameters = typename detail::Signature<F>::Parameters>
  Decomposition(F f) {
    [&]<class... A>(const std::tuple<A...>*) {
      parameters_ = {detail::ParameterOf<A>::type...};
      run_ = [f = std::move(f)](std::span<const detail::OperatorArg> args) {
        return [&]<std::size_t... I>(std::index_sequence<I...>) {
          std::vector<Tensor> results;
          if constexpr (std::is_void_v<decltype(f(std::declval<A&>()...))>) f(detail::ParameterOf<A>::from(args[I])...);
          else detail::give(results, f(detail::ParameterOf<A>::from(args[I])...));
          return results;
        }
        (std::index_sequence_for<A...>());
      };
    }(static_cast<const Parameters*>(nullptr));
  }
  explicit operator bool() const { return static_cast<bool>(run_); }
  const std::vector<detail::ParameterType>& parameters() const { return parameters_; }
  /// `args`: one for each parameter, of its kind.
  std::vector<Tensor> operator()(std::span<const detail::OperatorArg> args) const { return run_(args); }

 private:
  std::vector<detail::ParameterType> parameters_;
  std::function<std::vector<Tensor>(std::span<const detail::OperatorArg>)> run_;
};

/// Arguments to try an operator with: those of a call, held.
class OperatorSample {
 public:
  template <class... A>
  OperatorSample(const A&... args) : held_{hold(detail::operator_arg(args))...} {}
  /// Borrowed from the sample.
  std::vector<detail::OperatorArg> arguments() const;
  /// With tensors of their own.
  OperatorSample clone() const;

 private:
  using Held = std::variant<std::monostate, Tensor, std::vector<Tensor>, Int, Ints, Scalar, bool, DType, std::string>;
  static Held hold(const detail::OperatorArg&);
  std::vector<Held> held_;
};

}  // namespace REPRISE_VISIBLE
