#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

/// The candidate with the smallest edit distance to `name` (the first of several), for "did you mean" texts.
/// Empty when there are no candidates.
std::string nearest_name(std::string_view name, const std::vector<std::string_view>& candidates);
/// "a, b, c".
std::string listed(const std::vector<std::string_view>& names);

}  // namespace reprise
