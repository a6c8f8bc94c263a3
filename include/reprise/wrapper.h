#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "reprise/flatten.h"
#include "reprise/scalar.h"
#include "reprise/source_location.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

/// Wrapper tensors: a struct of tensors and metadata that is used as one Tensor. docs/wrappers.md has examples.
///
/// The handle of a wrapper (Wrapper::tensor) has sizes, a dtype and a device, and no bytes. Operators that are called
/// with it go to `T::dispatch`, which answers them with operators on the inner tensors. Autocast and the tape stand
/// above that: derivatives are those of the operator, and compute with the handle again. The trace stands below it:
/// compiled functions see inner tensors alone.
///
/// In a call of a compiled function a handle stands for itself (its sizes, and its place on the tape) and for the
/// fields of T, as a struct would: inner tensors are arguments, everything else is structure, whose change is another
/// compilation. Programs without wrappers pay nothing.
namespace reprise REPRISE_VISIBLE {

class WrapperCall;

/// What the handle of a wrapper looks like.
struct Looks {
  Ints sizes;
  DType dtype;
};

/// The default of most wrappers: the operator is called with T::plain() of each wrapper among its tensors. What is
/// written in place becomes plain, is written, and is given to T::store(). Throws InvalidArgument where T lacks these.
void unwrap(WrapperCall&);

namespace detail {

/// A class of wrappers without its type.
struct WrapperType {
  std::string name;
  void (*dispatch)(WrapperCall&);
  Looks (*looks)(const void*);
  Tensor (*plain)(const void*, SourceLoc);               ///< null: it has no plain meaning
  void (*store)(const void*, const Tensor&, SourceLoc);  ///< null: it is not written
  void (*read)(const void*, LeafReader&);
  void (*write)(void*, LeafWriter&);
  void (*flatten)(const void*, CallFrame&);
  std::shared_ptr<void> (*copy)(const void*);
};

template <class T>
std::string wrapper_name() {
  if constexpr (requires { std::string(T::wrapper_name); }) {
    return T::wrapper_name;
  } else {
    std::string_view s = __PRETTY_FUNCTION__;
    const std::size_t at = s.find("T = ");
    s = at == std::string_view::npos ? s : s.substr(at + 4);
    s = s.substr(0, s.find_first_of(";]"));
    const std::size_t scope = s.rfind("::");
    return std::string(scope == std::string_view::npos ? s : s.substr(scope + 2));
  }
}

template <class T>
const WrapperType& wrapper_type() {
  static const WrapperType type{
      wrapper_name<T>(),
      [](WrapperCall& c) { T::dispatch(c); },
      [](const void* w) { return static_cast<const T*>(w)->looks(); },
      [] {
        Tensor (*f)(const void*, SourceLoc) = nullptr;
        if constexpr (requires(const T& w, SourceLoc loc) { w.plain(loc); })
          f = [](const void* w, SourceLoc loc) -> Tensor { return static_cast<const T*>(w)->plain(loc); };
        return f;
      }(),
      [] {
        void (*f)(const void*, const Tensor&, SourceLoc) = nullptr;
        if constexpr (requires(const T& w, const Tensor& t, SourceLoc loc) { w.store(t, loc); })
          f = [](const void* w, const Tensor& t, SourceLoc loc) { static_cast<const T*>(w)->store(t, loc); };
        return f;
      }(),
      [](const void* w, LeafReader& r) { walk(*static_cast<const T*>(w), r); },
      [](void* w, LeafWriter& r) { walk(*static_cast<T*>(w), r); },
      [](const void* w, CallFrame& f) { walk(*static_cast<const T*>(w), f); },
      [](const void* w) -> std::shared_ptr<void> { return std::make_shared<T>(*static_cast<const T*>(w)); }};
  return type;
}

/// The handle of what `value` holds. Throws InvalidArgument, DeviceMismatch.
Tensor wrap_value(const WrapperType&, std::shared_ptr<void> value, SourceLoc);
/// Null: it is none of that class.
const void* value_of_wrapper(const Tensor&, const WrapperType*) noexcept;
[[noreturn]] void not_a_wrapper(const Tensor&, const WrapperType&, SourceLoc);

}  // namespace detail

/// The base of a class of wrappers. T lists its fields, inner tensors first or not, and metadata: numbers, bools,
/// enums, strings, and structs, vectors and optionals of these (no Int, Float or Scalar, which vary from call to call).
/// T has
///   static void dispatch(WrapperCall&)        answers operators (WrapperCall::on, otherwise)
/// and, where the defaults are not right,
///   Looks looks() const                       sizes and dtype of the handle; else those of the first inner tensor
///   Tensor plain(SourceLoc) const             what it means, as a plain tensor
///   void store(const Tensor&, SourceLoc) const  writes its inner tensors, in place, so that it means that
/// Values are immutable: a handle's fields are copied when it is made. Inner tensors may be wrappers themselves, but
/// not of the same class.
template <class T>
struct Wrapper {
  /// The handle. Throws InvalidArgument where there is no inner tensor, one is undefined for looks(), or is a wrapper
  /// of the same class; DeviceMismatch for inner tensors on several devices.
  Tensor tensor(SourceLoc loc = SourceLoc::current()) const {
    return detail::wrap_value(detail::wrapper_type<T>(), std::make_shared<T>(static_cast<const T&>(*this)), loc);
  }
  /// What a handle wraps; null for any other tensor.
  static const T* of(const Tensor& t) noexcept {
    return static_cast<const T*>(detail::value_of_wrapper(t, &detail::wrapper_type<T>()));
  }
  /// The same; throws InvalidArgument for any other tensor.
  static const T& from(const Tensor& t, SourceLoc loc = SourceLoc::current()) {
    const T* w = of(t);
    if (!w) detail::not_a_wrapper(t, detail::wrapper_type<T>(), loc);
    return *w;
  }
  Looks looks() const {
    struct First final : detail::LeafReader {
      Tensor first;
      void tensor(const Tensor& t) override {
        if (!first.defined()) first = t;
      }
      void integer(const Int&) override {}
      void number(const Scalar&) override {}
      void constant(std::uint64_t, detail::ConstantKind) override {}
      void text(std::string_view) override {}
    } reader;
    detail::wrapper_type<T>().read(static_cast<const T*>(this), reader);
    if (!reader.first.defined()) return {};
    return {reader.first.sizes(), reader.first.dtype()};
  }
};

/// Is it the handle of a wrapper?
bool is_wrapper(const Tensor&) noexcept;
/// The name of its class; "" for a plain tensor.
std::string_view wrapper_name(const Tensor&) noexcept;
/// What it means: T::plain(), of nested wrappers until it is a plain tensor. A plain tensor is itself. Throws
/// InvalidArgument where a class has no plain meaning.
Tensor plain(const Tensor&, SourceLoc loc = SourceLoc::current());

/// A call of an operator with a wrapper among its tensors, as `dispatch` sees it. Arguments are counted as in the
/// operator's schema (docs/operators.md). Borrows: it is gone when dispatch returns.
class WrapperCall {
 public:
  struct State;  // graph/wrapper.cc
  explicit WrapperCall(State& s) : state_(s) {}
  WrapperCall(const WrapperCall&) = delete;

  std::string_view op() const;  ///< "linear", "add"
  bool inplace() const;         ///< of `add_`: the result is argument 0, written
  bool is_view() const;         ///< shows elements of argument 0 in another way
  bool is_pointwise() const;
  SourceLoc loc() const;          ///< the user's line
  std::size_t size() const;       ///< how many arguments there are
  bool has(std::size_t i) const;  ///< it is not None
  bool is_tensor(std::size_t i) const;
  /// Undefined where it is no tensor.
  const Tensor& tensor(std::size_t i) const;
  std::vector<Tensor> tensors(std::size_t i) const;  ///< of a list
  template <class T>
  const T* as(std::size_t i) const {
    return T::of(tensor(i));
  }
  // Throw InvalidArgument for an argument of another kind.
  Scalar number(std::size_t i) const;
  Int integer(std::size_t i) const;
  Ints ints(std::size_t i) const;
  bool flag(std::size_t i) const;
  DType dtype(std::size_t i) const;
  std::string text(std::size_t i) const;
  const Looks& expected(std::size_t result = 0) const;  ///< what the operator says of its result

  /// `rule` answers the operator of that name, in place or not, with a Tensor, a std::vector of them, or nothing after
  /// answer(). An undefined Tensor: it does not know this call; what follows is asked. The name of a class of operators
  /// that write in place is that without "_".
  template <class R>
  WrapperCall& on(std::string_view op, R&& rule) {
    if (wants(op)) run(rule);
    return *this;
  }
  template <class R>
  WrapperCall& on(std::initializer_list<std::string_view> ops, R&& rule) {
    for (const std::string_view op : ops) on(op, rule);
    return *this;
  }
  /// The same of what no rule has answered. Rules of other wrappers among the tensors go before it.
  template <class R>
  void otherwise(R&& rule) {
    if (wants_default()) run(rule);
  }
  void answer(Tensor result);
  void answer(std::vector<Tensor> results);
  /// Calls the same operator with each tensor t replaced by each(t). A wrapper among the new tensors is dispatched
  /// again.
  std::vector<Tensor> call(const std::function<Tensor(const Tensor&)>& each);

 private:
  friend void unwrap(WrapperCall&);
  bool is_written(std::size_t i) const;
  TensorArrayRef list(std::size_t i) const;  ///< empty where it is none
  bool wants(std::string_view op) const;
  bool wants_default() const;
  template <class R>
  void run(R& rule) {
    using Given = std::invoke_result_t<R&, WrapperCall&>;
    if constexpr (std::is_void_v<Given>) rule(*this);
    else answer(rule(*this));
  }
  State& state_;
};

}  // namespace REPRISE_VISIBLE
