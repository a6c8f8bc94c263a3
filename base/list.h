#pragma once
#include <string_view>

namespace reprise {

/// f(name) for each part of a comma-separated list, as it stands there: spaces are parts of names, and nothing between
/// two commas is an empty one. Behind the last comma none begins.
template <class F>
void for_each_listed(std::string_view list, F&& f) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    f(list.substr(0, comma));
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
}

}  // namespace reprise
