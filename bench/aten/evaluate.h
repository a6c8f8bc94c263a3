#pragma once
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reprise/ops.h"

/// Calls of public functions that are told in JSON (evaluate.cc has the form).
namespace reprise::aten {

using Json = nlohmann::json;

/// The results of a call; where its gradients are wanted, its floating tensors, which require them.
struct Followed {
  bool gradients = false;
  std::vector<Tensor> given, made;
};
inline Followed* followed = nullptr;

/// The tensors and numbers of a call, in the order in which they are read from its text. A second reading can be given
/// others in their place: the arguments of a compiled function.
struct Supply {
  std::vector<Tensor> tensors;
  std::vector<Scalar> numbers;
  bool replay = false;
  std::size_t next_tensor = 0, next_number = 0;
};
inline Supply* supply = nullptr;

Tensor tensor_from(const Json&);
Json tensor_text(const Tensor&);
Scalar scalar_from(const Json&);
Int int_from(const Json&);
std::vector<Int> ints_from(const Json&);

/// What an argument is held as while a call runs, and how it is given to a parameter of type P.
template <class P>
struct Argument;
template <>
struct Argument<Tensor> {
  Tensor held;
  explicit Argument(const Json& j) : held(j.is_null() ? Tensor() : tensor_from(j)) {}
  const Tensor& get() const { return held; }
};
template <>
struct Argument<Operand> {
  Tensor tensor;
  Scalar number;
  explicit Argument(const Json& j) { j.is_object() ? void(tensor = tensor_from(j)) : void(number = scalar_from(j)); }
  Operand get() const { return tensor.defined() ? Operand(tensor) : Operand(number); }
};
template <>
struct Argument<OptionalOperand> {
  Tensor tensor;
  Scalar number;
  bool given;
  explicit Argument(const Json& j) : given(!j.is_null()) {
    if (j.is_object()) tensor = tensor_from(j);
    else if (given) number = scalar_from(j);
  }
  OptionalOperand get() const {
    return !given             ? OptionalOperand(std::nullopt)
           : tensor.defined() ? OptionalOperand(tensor)
                              : OptionalOperand(number);
  }
};
template <>
struct Argument<Scalar> {
  Scalar held;
  explicit Argument(const Json& j) : held(scalar_from(j)) {}
  const Scalar& get() const { return held; }
};
template <>
struct Argument<Int> {
  Int held;
  explicit Argument(const Json& j) : held(int_from(j)) {}
  Int get() const { return held; }
};
template <>
struct Argument<std::int64_t> {
  std::int64_t held;
  explicit Argument(const Json& j) : held(int_from(j).value()) {}
  std::int64_t get() const { return held; }
};
template <>
struct Argument<double> {
  double held;
  explicit Argument(const Json& j) : held(scalar_from(j).to_double()) {}
  double get() const { return held; }
};
template <>
struct Argument<bool> {
  bool held;
  explicit Argument(const Json& j) : held(!j.is_null() && j.get<bool>()) {}
  bool get() const { return held; }
};
template <>
struct Argument<std::string_view> {
  std::string held;
  explicit Argument(const Json& j) : held(j.is_null() ? "" : j.get<std::string>()) {}
  std::string_view get() const { return held; }
};
template <>
struct Argument<DType> {
  DType held;
  explicit Argument(const Json& j) : held(dtype_from_name(j.get<std::string>())) {}
  DType get() const { return held; }
};
template <>
struct Argument<IntArrayRef> {
  std::vector<Int> held;
  explicit Argument(const Json& j) : held(ints_from(j)) {}
  IntArrayRef get() const { return held; }
};
template <>
struct Argument<OptionalDims> {
  OptionalDims held;
  explicit Argument(const Json& j) {
    if (j.is_number()) held = OptionalDims(int_from(j).value());
    else if (!j.is_null()) held = OptionalDims(IntArrayRef(ints_from(j)));
  }
  const OptionalDims& get() const { return held; }
};
template <>
struct Argument<TensorArrayRef> {
  std::vector<Tensor> held;
  explicit Argument(const Json& j) {
    for (const Json& t : j) held.push_back(t.is_null() ? Tensor() : tensor_from(t));
  }
  TensorArrayRef get() const { return held; }
};
template <>
struct Argument<TensorOptions> {
  TensorOptions held;
  explicit Argument(const Json& j) {
    if (!j.is_null()) held.dtype = dtype_from_name(j.get<std::string>());
  }
  const TensorOptions& get() const { return held; }
};
template <class T>
struct Argument<std::optional<T>> {
  std::optional<Argument<T>> held;
  explicit Argument(const Json& j) {
    if (!j.is_null()) held.emplace(j);
  }
  std::optional<T> get() const { return held ? std::optional<T>(held->get()) : std::nullopt; }
};

inline void give(Json& to, const Tensor& t) {
  if (followed) followed->made.push_back(t);
  if (!supply || !supply->replay) to.push_back(tensor_text(t));  // in a trace there is nothing to read
}
inline void give(Json& to, bool b) { to.push_back(b); }
inline void give(Json& to, const std::vector<Tensor>& list) {
  for (const Tensor& t : list) give(to, t);
}
template <class A, class B>
void give(Json& to, const std::pair<A, B>& p) {
  give(to, p.first), give(to, p.second);
}
template <class... A>
void give(Json& to, const std::tuple<A...>& all) {
  std::apply([&](const A&... a) { (give(to, a), ...); }, all);
}

using Call = std::function<Json(const Json& arguments)>;

/// A call of a function whose last parameter is the caller's line.
template <class R, class... P>
Call call_of(R (*f)(P...)) {
  return [f](const Json& given) {
    using Held = std::tuple<std::decay_t<P>...>;
    constexpr std::size_t n = sizeof...(P) - 1;
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      static const Json none;
      if (given.size() > n) throw std::runtime_error("too many arguments");
      const std::tuple<Argument<std::tuple_element_t<I, Held>>...> arguments{
          Argument<std::tuple_element_t<I, Held>>(I < given.size() ? given[I] : none)...};
      Json results = Json::array();
      give(results, f(std::get<I>(arguments).get()..., SourceLoc{}));
      return results;
    }
    (std::make_index_sequence<n>());
  };
}

using Calls = std::map<std::string, Call>;
void add_basic(Calls&);     ///< pointwise.cc: elementwise, reductions
void add_shaping(Calls&);   ///< indexing, rearranging, products, normalisation
void add_vision(Calls&);    ///< convolution, pooling, normalization over channels, images
void add_families(Calls&);  ///< functions of the headers beside reprise/ops.h

}  // namespace reprise::aten
