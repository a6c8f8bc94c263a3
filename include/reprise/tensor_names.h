#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "reprise/flatten.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {
namespace detail {

/// The tensors of one object by name: a visitor of walk().
class TensorNamer {
 public:
  static constexpr bool skips_misfits = true, joins_bases = true;
  struct Names;  // runtime/trace/captured_names.cc
  explicit TensorNamer(Names& to) : names_(to) {}
  void tensor(const Tensor&);
  void integer(const Int&) {}
  void number(const Scalar&) {}
  void constant(std::uint64_t, ConstantKind) {}
  void text(std::string_view) {}
  Path& path() { return path_; }

 private:
  Names& names_;
  Path path_;
};

/// While it lives, traces on this thread may call the object's tensors by name. The walk happens once a trace asks.
class NamedObject {
 public:
  using Walk = void (*)(const void* object, TensorNamer&);
  NamedObject(const NamedObject&) = delete;
  NamedObject& operator=(const NamedObject&) = delete;

 protected:
  NamedObject(const void* object, Walk, std::string_view prefix, bool on) noexcept;
  ~NamedObject();

 private:
  friend struct CapturedNames;  // runtime/trace/captured_names.h
  const void* object_ = nullptr;
  Walk walk_ = nullptr;
  std::string_view prefix_;
  const NamedObject* outer_ = nullptr;
  mutable std::shared_ptr<TensorNamer::Names> names_;
};

template <class T>
void walk_names(const void* object, TensorNamer& namer) {
  if constexpr (!std::is_void_v<T>) walk(*static_cast<const T*>(object), namer);
}

/// Classes whose fields are listed (REPRISE_FIELDS) have names.
template <class T>
constexpr bool has_names() {
  if constexpr (ListsFields<T>) return std::is_same_v<typename T::reprise_fields_of, T>;
  else return false;
}
/// The same where a trace runs in any thread, and nothing otherwise: for calls of modules and of function objects.
template <class T>
class NamesInTrace : NamedObject {
 public:
  explicit NamesInTrace(const T& object) noexcept
      : NamedObject(&object, walk_names<std::conditional_t<has_names<T>(), T, void>>, {},
                    has_names<T>() && traces.load(std::memory_order_relaxed) != 0) {}
};
template <class T>
class NamesInTrace<std::reference_wrapper<T>> : NamesInTrace<std::remove_const_t<T>> {
 public:
  explicit NamesInTrace(const std::reference_wrapper<T>& f) noexcept : NamesInTrace<std::remove_const_t<T>>(f.get()) {}
};
/// What a function object is called by: nothing, unless its class lists its fields.
struct NoNames {
  template <class T>
  explicit NoNames(const T&) noexcept {}
};
template <class T>
struct NamesOf {
  using type = std::conditional_t<has_names<T>(), NamesInTrace<T>, NoNames>;
};
template <class T>
struct NamesOf<std::reference_wrapper<T>> {
  using type =
      std::conditional_t<has_names<std::remove_const_t<T>>(), NamesInTrace<std::reference_wrapper<T>>, NoNames>;
};

}  // namespace detail

/// Names the tensors of an object for traces on this thread while it lives: a tensor that a compiled function captures
/// rather than takes as an argument is then called by its path ("layers[3].wq", or "net.layers[3].wq" with a prefix) in
/// signature(), explain(), graphs and logs, and not "captured 3". The object is anything that may be an argument of a
/// compiled function, and outlives the scope, as the prefix does. Modules (nn::Callable) that are called as functions,
/// and function objects with REPRISE_FIELDS that are compiled themselves, need no such scope. Of several scopes that
/// know a tensor the outermost counts. Names are never part of what is compiled. Costs nothing where nothing is traced.
///
///   auto f = rp::compile([&](const rp::Tensor& x) { return net.encode(x); });
///   rp::TensorNames names(net, "net");
///   f(x);
template <class T>
class TensorNames : detail::NamedObject {
 public:
  explicit TensorNames(const T& object, std::string_view prefix = {}) noexcept
      : NamedObject(&object, detail::walk_names<T>, prefix, true) {}
};

}  // namespace REPRISE_VISIBLE
