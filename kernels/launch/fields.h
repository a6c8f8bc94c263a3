#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace reprise::kernels {

/// Names the fields of a struct, in the order in which they are declared. Whoever reads, writes or prints all of them
/// goes by this list, so that a field is told once.
#define REPRISE_DESCRIBE(...)                               \
  static constexpr std::string_view kFields = #__VA_ARGS__; \
  auto fields() { return std::tie(__VA_ARGS__); }           \
  auto fields() const { return std::tie(__VA_ARGS__); }

template <class T>
concept Described = requires {
  std::remove_const_t<T>::kFields;
};

namespace field_list {

template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// Size of a struct of members of these types.
template <class... F>
constexpr std::size_t laid_out(std::size_t align, std::type_identity<std::tuple<F&...>>) {
  std::size_t end = 0;
  ((end = (end + alignof(F) - 1) / alignof(F) * alignof(F) + sizeof(F)), ...);
  end = (end + align - 1) / align * align;
  return end ? end : 1;
}

/// The names of a list of N.
template <std::size_t N>
consteval std::array<std::string_view, N> names_of(std::string_view list) {
  std::array<std::string_view, N> names{};
  std::size_t at = 0;
  for (std::string_view& name : names) {
    while (list[at] == ' ') ++at;
    std::size_t end = at;
    while (end < list.size() && list[end] != ',') ++end;
    name = list.substr(at, end - at);
    at = end + 1;
  }
  return names;
}

}  // namespace field_list

/// f(name, field) for every field.
template <Described T, class F>
void for_each_field(T& x, F&& f) {
  using Plain = std::remove_const_t<T>;
  static_assert(field_list::laid_out(alignof(Plain), std::type_identity<decltype(std::declval<Plain&>().fields())>{}) ==
                    sizeof(Plain),
                "REPRISE_DESCRIBE names every field, in the order of declaration");
  [[maybe_unused]] static constexpr auto names =
      field_list::names_of<std::tuple_size_v<decltype(x.fields())>>(Plain::kFields);
  std::apply(
      [&](auto&... field) {
        [[maybe_unused]] std::size_t i = 0;
        (f(names[i++], field), ...);
      },
      x.fields());
}

/// f(name, leaf) for every field that has no fields of its own, in order: "n", "a.offset", "rows[0]". Optional ones
/// that are not there are left out.
template <class T, class F>
void for_each_leaf(const std::string& name, T& x, F&& f) {
  using Plain = std::remove_const_t<T>;
  if constexpr (Described<Plain>) {
    for_each_field(x, [&](std::string_view own, auto& field) {
      for_each_leaf(name.empty() ? std::string(own) : name + '.' + std::string(own), field, f);
    });
  } else if constexpr (field_list::is_list<Plain>) {
    for (std::size_t i = 0; i < x.size(); ++i) for_each_leaf(name + '[' + std::to_string(i) + ']', x[i], f);
  } else if constexpr (field_list::is_optional<Plain>) {
    if (x) for_each_leaf(name, *x, f);
  } else {
    f(name, x);
  }
}

}  // namespace reprise::kernels
