#pragma once
// How arguments and results of compiled functions are walked: not called by users.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "reprise/int.h"
#include "reprise/paths.h"
#include "reprise/scalar.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {
namespace detail {

template <class T>
struct is_vector : std::false_type {};
template <class T, class A>
struct is_vector<std::vector<T, A>> : std::true_type {};
template <class T>
struct is_array : std::false_type {};
template <class T, std::size_t N>
struct is_array<std::array<T, N>> : std::true_type {};
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};
template <class T>
struct is_tuple : std::false_type {};
template <class... T>
struct is_tuple<std::tuple<T...>> : std::true_type {};
template <class A, class B>
struct is_tuple<std::pair<A, B>> : std::true_type {};
template <class T>
struct is_string_map : std::false_type {};
template <class T, class C, class A>
struct is_string_map<std::map<std::string, T, C, A>> : std::true_type {};
template <class T>
struct is_string_hash_map : std::false_type {};
template <class T, class H, class E, class A>
struct is_string_hash_map<std::unordered_map<std::string, T, H, E, A>> : std::true_type {};
template <class T>
struct is_shared : std::false_type {};
template <class T>
struct is_shared<std::shared_ptr<T>> : std::true_type {};
template <class T>
struct is_unique : std::false_type {};
template <class T, class D>
struct is_unique<std::unique_ptr<T, D>> : std::true_type {};
template <class T>
struct is_function : std::false_type {};
template <class T>
struct is_function<std::function<T>> : std::true_type {};
template <class T>
struct is_reference : std::false_type {};
template <class T>
struct is_reference<std::reference_wrapper<T>> : std::true_type {};

/// Converts to anything: counts how many fields an aggregate can be initialised with.
struct AnyField {
  template <class T>
  operator T() const;
};
template <class T, std::size_t... I>
constexpr bool braces_fit(std::index_sequence<I...>) {
  return requires { T{(static_cast<void>(I), AnyField{})...}; };
}
constexpr std::size_t kMostFields = 32, kMostInitializers = 256;
/// How many initializers without inner braces an aggregate takes: an array takes one for each element.
template <class T, std::size_t N = 0>
constexpr std::size_t initializer_count() {
  if constexpr (N > kMostInitializers) return N;
  else if constexpr (!braces_fit<T>(std::make_index_sequence<N + 1>())) return N;
  else return initializer_count<T, N + 1>();
}
template <class T, std::size_t... I, std::size_t... J>
constexpr bool braces_fit_around(std::index_sequence<I...>, std::index_sequence<J...>) {
  return requires { T{(static_cast<void>(I), AnyField{})..., {}, (static_cast<void>(J), AnyField{})...}; };
}
/// How many of them the field takes that begins at the I-th of N: with braces of its own it is one, and so many fewer
/// stand behind it.
template <class T, std::size_t I, std::size_t N, std::size_t Taken = 1>
constexpr std::size_t initializers_of_field() {
  if constexpr (I + Taken >= N ||
                braces_fit_around<T>(std::make_index_sequence<I>(), std::make_index_sequence<N - I - Taken>()))
    return Taken;
  else return initializers_of_field<T, I, N, Taken + 1>();
}
template <class T, std::size_t N, std::size_t I = 0, std::size_t Fields = 0>
constexpr std::size_t fields_from() {
  if constexpr (I >= N) return Fields;
  else if constexpr (Fields > kMostFields) return Fields;
  else return fields_from<T, N, I + initializers_of_field<T, I, N>(), Fields + 1>();
}
template <class T>
constexpr std::size_t field_count() {
  constexpr std::size_t n = initializer_count<T>();
  return n > kMostInitializers ? n : fields_from<T, n>();
}

/// Converts to what T is derived from: is that the first thing that an aggregate is initialised with?
template <class T>
struct AnyBase {
  template <class U>
  requires(std::is_base_of_v<U, T> && !std::is_same_v<U, T>) operator U() const;
};
struct Anything {};
template <class T>
constexpr bool has_base() {
  return requires { T{AnyBase<T>{}}; }
  &&!requires { T{Anything{}}; };
}

/// f(fields...) of an aggregate of up to 32 fields.
template <class T, class F>
constexpr auto with_fields(T& v, F&& f) {
  constexpr std::size_t n = field_count<std::remove_const_t<T>>();
  static_assert(n <= kMostFields);
#define REPRISE_WITH(N, ...)   \
  else if constexpr (n == N) { \
    auto& [__VA_ARGS__] = v;   \
    return f(__VA_ARGS__);     \
  }
  if constexpr (n == 0) return f();
  REPRISE_WITH(1, a)
  REPRISE_WITH(2, a, b)
  REPRISE_WITH(3, a, b, c)
  REPRISE_WITH(4, a, b, c, d)
  REPRISE_WITH(5, a, b, c, d, e)
  REPRISE_WITH(6, a, b, c, d, e, g)
  REPRISE_WITH(7, a, b, c, d, e, g, h)
  REPRISE_WITH(8, a, b, c, d, e, g, h, j)
  REPRISE_WITH(9, a, b, c, d, e, g, h, j, k)
  REPRISE_WITH(10, a, b, c, d, e, g, h, j, k, l)
  REPRISE_WITH(11, a, b, c, d, e, g, h, j, k, l, m)
  REPRISE_WITH(12, a, b, c, d, e, g, h, j, k, l, m, o)
  REPRISE_WITH(13, a, b, c, d, e, g, h, j, k, l, m, o, p)
  REPRISE_WITH(14, a, b, c, d, e, g, h, j, k, l, m, o, p, q)
  REPRISE_WITH(15, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r)
  REPRISE_WITH(16, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r, s)
  REPRISE_WITH(17, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r, s, t)
  REPRISE_WITH(18, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r, s, t, u)
  REPRISE_WITH(19, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r, s, t, u, w)
  REPRISE_WITH(20, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r, s, t, u, w, x)
  REPRISE_WITH(21, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r, s, t, u, w, x, y)
  REPRISE_WITH(22, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r, s, t, u, w, x, y, z)
  REPRISE_WITH(23, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r, s, t, u, w, x, y, z, a1)
  REPRISE_WITH(24, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r, s, t, u, w, x, y, z, a1, b1)
  REPRISE_WITH(25, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r, s, t, u, w, x, y, z, a1, b1, c1)
  REPRISE_WITH(26, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r, s, t, u, w, x, y, z, a1, b1, c1, d1)
  REPRISE_WITH(27, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r, s, t, u, w, x, y, z, a1, b1, c1, d1, e1)
  REPRISE_WITH(28, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r, s, t, u, w, x, y, z, a1, b1, c1, d1, e1, f1)
  REPRISE_WITH(29, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r, s, t, u, w, x, y, z, a1, b1, c1, d1, e1, f1, g1)
  REPRISE_WITH(30, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r, s, t, u, w, x, y, z, a1, b1, c1, d1, e1, f1, g1, h1)
  REPRISE_WITH(31, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r, s, t, u, w, x, y, z, a1, b1, c1, d1, e1, f1, g1, h1, i1)
  REPRISE_WITH(32, a, b, c, d, e, g, h, j, k, l, m, o, p, q, r, s, t, u, w, x, y, z, a1, b1, c1, d1, e1, f1, g1, h1, i1,
               j1)
#undef REPRISE_WITH
}

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
template <class T, std::size_t I>
constexpr auto field_part() {
  return Part{std::get<I>(with_fields(example_of<T>.value, [](auto&... x) { return std::tuple(&x...); }))};
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif
/// The name of a field, or "" where the compiler does not tell (a reference, say).
template <class T, std::size_t I>
constexpr std::string_view field_name() {
  if constexpr (requires { typename std::bool_constant<(field_part<T, I>(), true)>; })
    return last_name(part_as_text<field_part<T, I>()>());
  else return {};
}

/// Of classes that list their fields themselves (REPRISE_FIELDS): the class, so that one that is derived from it does
/// not pass for it.
template <class T>
concept ListsFields = requires {
  typename T::reprise_fields_of;
};
/// The name that ends the i-th part of a list: "w, heads_" has "w" and "heads_".
constexpr std::string_view name_in_list(std::string_view list, std::size_t i) {
  for (; i > 0; --i) list.remove_prefix(std::min(list.size(), list.find(',') + 1));
  return last_name(list.substr(0, list.find(',')));
}
constexpr bool is_base_in_list(std::string_view list, std::size_t i) {
  for (; i > 0; --i) list.remove_prefix(std::min(list.size(), list.find(',') + 1));
  return list.substr(0, list.find(',')).find("REPRISE_BASE") != std::string_view::npos;
}
/// What a class says of its i-th field. Fields of modules (nn::Callable) are parameters, but for those in
/// REPRISE_BUFFERS; a base is asked itself.
template <class U>
constexpr FieldKind field_kind(std::size_t i) {
  if (is_base_in_list(U::reprise_field_names(), i)) return FieldKind::None;
  if constexpr (requires { U::reprise_buffer_names(); }) {
    const std::string_view buffers = U::reprise_buffer_names(), name = name_in_list(U::reprise_field_names(), i);
    const auto last = static_cast<std::size_t>(std::count(buffers.begin(), buffers.end(), ','));
    for (std::size_t b = 0; b <= last; ++b)
      if (name_in_list(buffers, b) == name) return FieldKind::Buffer;
  }
  constexpr bool of_module = requires { typename U::reprise_module; };
  return of_module ? FieldKind::Parameter : FieldKind::None;
}
template <class B, class T>
constexpr auto& base_of(T& derived) {
  return static_cast<std::conditional_t<std::is_const_v<T>, const B, B>&>(derived);
}

/// Why a type can be no argument and no result.
enum class Unfit : std::uint8_t {
  No,
  Pointer,
  UniquePointer,
  Function,
  Reference,
  Array,
  Keys,
  Union,
  TruthValue,
  Base,
  Fields,
  Derived,
  Class
};

/// Of the type itself; its elements and fields are looked at where they are walked.
template <class U>
constexpr Unfit unfit() {
  if constexpr (std::is_same_v<U, Tensor> || std::is_same_v<U, Int> || std::is_same_v<U, Scalar> ||
                std::is_same_v<U, Float> || std::is_same_v<U, double> || std::is_same_v<U, float> ||
                std::is_integral_v<U> || std::is_enum_v<U> || std::is_same_v<U, std::string> ||
                std::is_same_v<U, std::string_view> || std::is_same_v<U, const char*> ||
                std::is_same_v<U, std::monostate> || std::is_same_v<U, std::nullptr_t> || is_optional<U>::value ||
                is_vector<U>::value || is_array<U>::value || is_tuple<U>::value || is_string_map<U>::value ||
                is_string_hash_map<U>::value || is_shared<U>::value || std::is_bounded_array_v<U>)
    return Unfit::No;
  else if constexpr (ListsFields<U>)
    return std::is_same_v<typename U::reprise_fields_of, U> ? Unfit::No : Unfit::Derived;
  else if constexpr (std::is_same_v<U, Bool>) return Unfit::TruthValue;
  else if constexpr (std::is_member_pointer_v<U> || std::is_function_v<std::remove_pointer_t<U>> ||
                     is_function<U>::value)
    return Unfit::Function;
  else if constexpr (std::is_pointer_v<U>) return Unfit::Pointer;
  else if constexpr (is_unique<U>::value) return Unfit::UniquePointer;
  else if constexpr (is_reference<U>::value) return Unfit::Reference;
  else if constexpr (std::is_array_v<U>) return Unfit::Array;
  else if constexpr (std::is_union_v<U>) return Unfit::Union;
  else if constexpr (requires {
                       typename U::key_type;
                       typename U::mapped_type;
                     })
    return Unfit::Keys;
  else if constexpr (!std::is_aggregate_v<U>) return requires {
      &U::operator();
    }
  ? Unfit::Function : Unfit::Class;
  else if constexpr (has_base<U>()) return Unfit::Base;
  else return field_count<U>() > kMostFields ? Unfit::Fields : Unfit::No; }

template <class U>
inline constexpr bool fits = unfit<U>() == Unfit::No;
/// Says once for each type what to do instead. (A class, whose body the compiler looks at once, however many functions
/// ask. It answers nothing: what asks a class that has failed fails, too.)
template <class U>
struct Misfit {
  static constexpr Unfit why = unfit<U>();
  static_assert(why != Unfit::Pointer,
                "reprise: a raw pointer tells a compiled function nothing of what it points to: pass the object itself "
                "(by reference), or a std::shared_ptr to it");
  static_assert(why != Unfit::UniquePointer,
                "reprise: a std::unique_ptr cannot be copied, and arguments of compiled functions are: pass the object "
                "itself (by reference), or a std::shared_ptr to it");
  static_assert(why != Unfit::Function,
                "reprise: a function is no argument of a compiled function, which is compiled for what it calls: let "
                "the compiled function capture it, or list the other members with REPRISE_FIELDS");
  static_assert(why != Unfit::Reference,
                "reprise: a std::reference_wrapper is no argument of a compiled function: pass the object itself (by "
                "reference), or a std::shared_ptr to it");
  static_assert(
      why != Unfit::Array,
      "reprise: an array of unknown length is no argument of a compiled function: pass a std::array or a std::vector");
  static_assert(why != Unfit::Keys,
                "reprise: maps that are arguments or results of compiled functions have keys of std::string: pass a "
                "std::map<std::string, T>, or a std::vector of pairs");
  static_assert(
      why != Unfit::Union,
      "reprise: nobody sees which member of a union is in use: pass a struct with a std::optional for each member");
  static_assert(why != Unfit::TruthValue,
                "reprise: a reprise::Bool is no argument and no result of a compiled function: take and give a bool, "
                "or a tensor of bools");
  static_assert(why != Unfit::Base,
                "reprise: the fields of a struct with a base class are not seen: write REPRISE_FIELDS(Class, "
                "REPRISE_BASE(Base), field, ...) into it");
  static_assert(why != Unfit::Fields,
                "reprise: a struct of more than 32 fields: put some of them into a struct of their own, or write "
                "REPRISE_FIELDS(Class, field, ...) into it");
  static_assert(why != Unfit::Derived,
                "reprise: a class that is derived from one with REPRISE_FIELDS needs REPRISE_FIELDS of its own; "
                "REPRISE_BASE(Base) in it stands for what the base has");
  static_assert(why != Unfit::Class,
                "reprise: compiled functions take and give tensors, Int, Float, Scalar, numbers, bools, enums, "
                "strings; optionals, vectors, arrays, tuples, maps with string keys, "
                "shared_ptrs and plain structs of these; and classes with REPRISE_FIELDS(Class, field, ...) written "
                "into them, as this one needs");
};

/// What a word of a call's structure says, beside those of tensors, Scalars and strings.
enum class ConstantKind : std::uint8_t { Number, Integer, Flag, Enum, Length, Presence };

/// Has it a path() (a Path) that is to say where the walk is?
template <class V>
concept KnowsPath = requires(V& v) {
  v.path().leave();
};

template <class T, class V>
void walk(T& value, V& visitor);
/// A field, an element or an argument. `where`: as Path::enter() takes it.
template <class T, class V, class... Where>
inline void walk_part(T& part, V& visitor, const Where&... where) {
  if constexpr (KnowsPath<V>) visitor.path().enter(where...);
  walk(part, visitor);
  if constexpr (KnowsPath<V>) visitor.path().leave();
}

/// The i-th field that a class U lists.
template <class U, class T, class V>
inline void walk_field(T& field, V& visitor, std::size_t i) {
  const std::string_view name = name_in_list(U::reprise_field_names(), i);
  if constexpr (requires { visitor.path().kind(); }) {
    const FieldKind kind = field_kind<U>(i);
    walk_part(field, visitor, name, i, kind == FieldKind::None ? visitor.path().kind() : kind);
  } else {
    walk_part(field, visitor, name, i);
  }
}

/// Walks a value's leaves in a fixed order. The visitor has:
///   tensor(Tensor&), integer(Int&), number(Scalar&)  leaves that are inputs or outputs
///   tensor_list(const Tensor*, std::size_t) a list of tensors at once, if it has that
///   constant(std::uint64_t, ConstantKind)  what must be equal for the same compilation: numbers, lengths, presence
///   text(std::string_view)                 a string, likewise
///   path()                                 if it wants to know where it is
///   prepare(container)                     an optional, a vector, a map or a shared pointer that is about to be
///   walked, if it has that skips_misfits                          if it has that, what is no argument is passed over
/// const values are walked with const leaves. What is walked otherwise is the walker's own: what a shared pointer in it
/// points to becomes a copy first, unless the visitor has a member `shares`. To one that has `joins_bases` the fields
/// of a base are those of the class.
template <class T, class V>
void walk(T& value, V& visitor) {
  using U = std::remove_const_t<T>;
  if constexpr (requires { visitor.prepare(value); }) visitor.prepare(value);
  if constexpr (!fits<U>) {
    if constexpr (!requires { visitor.skips_misfits; }) static_cast<void>(Misfit<U>());
  } else if constexpr (std::is_same_v<U, Tensor>) {
    visitor.tensor(value);
  } else if constexpr (std::is_same_v<U, Int>) {
    visitor.integer(value);
  } else if constexpr (std::is_same_v<U, Scalar>) {
    visitor.number(value);
  } else if constexpr (std::is_same_v<U, Float>) {
    if constexpr (std::is_const_v<T>) {
      const Scalar s(value);
      visitor.number(s);
    } else {
      Scalar s(value);
      visitor.number(s);
      value = s.to_float({});
    }
  } else if constexpr (std::is_same_v<U, double> || std::is_same_v<U, float>) {
    visitor.constant(std::bit_cast<std::uint64_t>(static_cast<double>(value)), ConstantKind::Number);
  } else if constexpr (std::is_integral_v<U> || std::is_enum_v<U>) {
    visitor.constant(static_cast<std::uint64_t>(value), std::is_same_v<U, bool> ? ConstantKind::Flag
                                                        : std::is_enum_v<U>     ? ConstantKind::Enum
                                                                                : ConstantKind::Integer);
  } else if constexpr (std::is_same_v<U, std::string> || std::is_same_v<U, std::string_view> ||
                       std::is_same_v<U, const char*>) {
    visitor.text(std::string_view(value));
  } else if constexpr (std::is_array_v<U> && std::is_same_v<std::remove_cv_t<std::remove_extent_t<U>>, char>) {
    visitor.text(std::string_view(value));
  } else if constexpr (std::is_same_v<U, std::monostate> || std::is_same_v<U, std::nullptr_t>) {
  } else if constexpr (is_optional<U>::value) {
    visitor.constant(value.has_value(), ConstantKind::Presence);
    if (value) walk(*value, visitor);
  } else if constexpr (std::is_bounded_array_v<U>) {
    for (std::size_t i = 0; i < std::extent_v<U>; ++i) walk_part(value[i], visitor, i);
  } else if constexpr (is_vector<U>::value || is_array<U>::value) {
    if constexpr (is_vector<U>::value) visitor.constant(value.size(), ConstantKind::Length);
    if constexpr (std::is_same_v<typename U::value_type, Tensor> &&
                  requires { visitor.tensor_list(value.data(), value.size()); })
      return visitor.tensor_list(value.data(), value.size());
    else
      for (std::size_t i = 0; i < value.size(); ++i) {
        if constexpr (std::is_same_v<U, std::vector<bool>>) {
          const bool b = value[i];
          walk_part(b, visitor, i);
        } else {
          walk_part(value[i], visitor, i);
        }
      }
  } else if constexpr (is_tuple<U>::value) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (walk_part(std::get<I>(value), visitor, std::string_view(), I), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<U>>{});
  } else if constexpr (is_string_map<U>::value) {
    visitor.constant(value.size(), ConstantKind::Length);
    for (auto& [key, x] : value) {
      visitor.text(key);
      walk_part(x, visitor, key);
    }
  } else if constexpr (is_string_hash_map<U>::value) {  // in the order of the keys, whatever their hashes are
    std::vector<decltype(&*value.begin())> sorted;
    for (auto& entry : value) sorted.push_back(&entry);
    std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->first < b->first; });
    visitor.constant(value.size(), ConstantKind::Length);
    for (auto* entry : sorted) {
      visitor.text(entry->first);
      walk_part(entry->second, visitor, entry->first);
    }
  } else if constexpr (is_shared<U>::value) {
    visitor.constant(value != nullptr, ConstantKind::Presence);
    if (!value) return;
    if constexpr (std::is_const_v<T>) {
      walk(std::as_const(*value), visitor);
    } else if constexpr (requires { visitor.shares; }) {
      walk(*value, visitor);
    } else {
      auto own = std::make_shared<std::remove_const_t<typename U::element_type>>(*value);
      walk(*own, visitor);
      value = std::move(own);
    }
  } else if constexpr (ListsFields<U>) {
    value.reprise_with_fields([&](auto&... x) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        if constexpr (requires { visitor.joins_bases; } || std::is_base_of_v<Tensor, U>) {
          ((is_base_in_list(U::reprise_field_names(), I) ? walk(x, visitor) : walk_field<U>(x, visitor, I)), ...);
        } else {
          (walk_field<U>(x, visitor, I), ...);
        }
      }
      (std::index_sequence_for<decltype(x)...>{});
    });
  } else {
    with_fields(value, [&](auto&... x) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        if constexpr (KnowsPath<V>) (walk_part(x, visitor, field_name<U, I>(), I), ...);
        else (walk(x, visitor), ...);
      }
      (std::index_sequence_for<decltype(x)...>{});
    });
  }
}

/// Visitor of const leaves. Virtual, so that all visitors that run once a compilation share one traversal of each type.
class LeafReader {
 public:
  LeafReader() = default;
  explicit LeafReader(Path path) : path_(std::move(path)) {}
  virtual void tensor(const Tensor&) = 0;
  virtual void integer(const Int&) = 0;
  virtual void number(const Scalar&) = 0;
  virtual void constant(std::uint64_t, ConstantKind) = 0;
  virtual void text(std::string_view) = 0;
  Path& path() { return path_; }

 protected:
  LeafReader(const LeafReader&) = default;
  LeafReader& operator=(const LeafReader&) = default;
  ~LeafReader() = default;
  Path path_;
};
/// Likewise of leaves that it replaces.
class LeafWriter {
 public:
  LeafWriter() = default;
  explicit LeafWriter(Path path) : path_(std::move(path)) {}
  LeafWriter(const LeafWriter&) = delete;
  LeafWriter& operator=(const LeafWriter&) = delete;
  virtual void tensor(Tensor&) = 0;
  virtual void integer(Int&) = 0;
  virtual void number(Scalar&) = 0;
  void constant(std::uint64_t, ConstantKind) {}
  void text(std::string_view) {}
  Path& path() { return path_; }

 protected:
  ~LeafWriter() = default;
  Path path_;
};

/// A growing array of words whose memory is kept when it is cleared.
template <class T>
class FrameArray {
 public:
  FrameArray() = default;
  FrameArray(const FrameArray& o) { *this = o; }
  FrameArray& operator=(const FrameArray& o) {
    if (this != &o) {
      clear();
      if (o.size()) std::memcpy(extend(o.size()), o.data(), o.size() * sizeof(T));
    }
    return *this;
  }
  void push_back(T v) { *extend(1) = v; }
  /// Room for n more, already counted; the caller writes them.
  T* extend(std::size_t n) {
    T* at = room(n);
    end_ = at + n;
    return at;
  }
  /// Room for n more at the end; end_at() then says how many of them were written.
  T* room(std::size_t n) {
    if (!has_room(n)) [[unlikely]]
      grow(size() + n);
    return end_;
  }
  bool has_room(std::size_t n) const { return static_cast<std::size_t>(limit_ - end_) >= n; }
  void end_at(T* end) { end_ = end; }
  void resize(std::size_t n) {  // shorter, or longer with zeros
    if (n > size()) {
      const std::size_t more = n - size();
      std::memset(extend(more), 0, more * sizeof(T));
    } else {
      end_ = data() + n;
    }
  }
  void clear() { end_ = data(); }
  void swap(FrameArray& o) noexcept { data_.swap(o.data_), std::swap(end_, o.end_), std::swap(limit_, o.limit_); }
  std::size_t size() const { return static_cast<std::size_t>(end_ - data()); }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T* begin() { return data(); }
  T* end() { return end_; }
  const T* begin() const { return data(); }
  const T* end() const { return end_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  friend bool operator==(const FrameArray& a, const FrameArray& b) {
    return a.size() == b.size() && (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
  }

 private:
  [[gnu::noinline, gnu::cold]] void grow(std::size_t n) {  // apart, so that walks save no registers for it
    const std::size_t used = size(),
                      capacity = std::max<std::size_t>(64, std::max(n, 2 * static_cast<std::size_t>(limit_ - data())));
    std::unique_ptr<T[]> more(new T[capacity]);
    if (used) std::memcpy(more.get(), data_.get(), used * sizeof(T));
    data_ = std::move(more);
    end_ = data() + used, limit_ = data() + capacity;
  }
  std::unique_ptr<T[]> data_;
  T *end_ = nullptr, *limit_ = nullptr;
};

/// The call signature: what a call is, as flat words. `structure` decides which code could serve it (dtypes, ranks,
/// layout classes, constants), `values` are the numbers that guards look at (sizes, strides, Ints), `tensors` are
/// borrowed. One per thread; clearing keeps the memory, so that a warm call allocates nothing.
struct CallFrame {
  FrameArray<std::uint64_t> structure;
  FrameArray<std::int64_t> values;
  FrameArray<TensorImpl*> tensors;
  // tensors that stand for the whole storages of others (runtime/build/specialization.cc)
  std::shared_ptr<void> wholes;
  bool checked = false;  ///< CompileOptions::check: the function is run beside this call

  void clear() {
    structure.clear();
    tensors.clear();
    values.clear();
    std::int64_t* random = values.extend(2);  // the random numbers' seed and offset
    random[0] = random[1] = 0;
  }
  void constant(std::uint64_t v, ConstantKind = {}) { structure.push_back(v); }
  void integer(const Int& i) { values.push_back(i.hint()); }
  void number(const Scalar& s) {
    constant(static_cast<std::uint64_t>(s.kind()) << 1 |
             static_cast<std::uint64_t>(s.kind() == Scalar::Kind::Bool && s.word().hint()));
    if (s.kind() != Scalar::Kind::Bool) integer(s.word());
  }
  void text(std::string_view s) {
    constant(s.size());
    for (std::size_t at = 0; at < s.size(); at += 8) {
      std::uint64_t w = 0;
      std::memcpy(&w, s.data() + at, std::min<std::size_t>(8, s.size() - at));
      constant(w);
    }
  }
  void tensor(const Tensor& t);                          // runtime/call/call_frame.cc
  void tensor_list(const Tensor* first, std::size_t n);  // the same of each
  std::uint64_t hash() const;                            // of the structure (runtime/call/call_frame.cc)
};

}  // namespace detail
}  // namespace REPRISE_VISIBLE

/// In a class with private members, bases, pointers or anything else that makes it no aggregate: the fields that
/// compiled functions see, as arguments, as results and in what a function captures of it. A class that holds more than
/// it lists promises that the rest does not matter. `REPRISE_BASE(Base)` among them lists the fields of a base.
///
///   class Attention {
///     rp::Tensor wq_, wk_; int heads_;
///    public:
///     REPRISE_FIELDS(Attention, wq_, wk_, heads_)
///   };
#define REPRISE_FIELDS(Class, ...)                                            \
  using reprise_fields_of = Class;                                            \
  static constexpr const char* reprise_field_names() { return #__VA_ARGS__; } \
  template <class ReprisesVisitor>                                            \
  decltype(auto) reprise_with_fields(ReprisesVisitor&& visitor) {             \
    return visitor(__VA_ARGS__);                                              \
  }                                                                           \
  template <class ReprisesVisitor>                                            \
  decltype(auto) reprise_with_fields(ReprisesVisitor&& visitor) const {       \
    return visitor(__VA_ARGS__);                                              \
  }
#define REPRISE_BASE(Base) ::reprise::detail::base_of<Base>(*this)
/// Beside REPRISE_FIELDS, in a module: which of its fields are state rather than weights (running statistics).
/// signature() and explain() call them buffers; nothing else depends on it.
#define REPRISE_BUFFERS(...) \
  static constexpr const char* reprise_buffer_names() { return #__VA_ARGS__; }
