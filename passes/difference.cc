#include "passes/difference.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace reprise::passes {

namespace {
std::vector<std::string_view> lines(std::string_view text) {
  std::vector<std::string_view> all;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    all.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return all;
}
void add(std::string& to, char sign, std::string_view line) { (to += sign) += ' ', (to += line) += '\n'; }
}  // namespace

std::string difference(std::string_view was, std::string_view is) {
  std::vector<std::string_view> a = lines(was), b = lines(is);
  std::size_t first = 0, a_end = a.size(), b_end = b.size();
  while (first < a_end && first < b_end && a[first] == b[first]) ++first;
  while (a_end > first && b_end > first && a[a_end - 1] == b[b_end - 1]) --a_end, --b_end;
  const std::size_t n = a_end - first, m = b_end - first;
  std::string text;
  // The longest common subsequence, by its lengths from (i, j) to the ends.
  constexpr std::size_t kMostCells = std::size_t{1} << 22;
  if (n != 0 && m != 0 && n <= kMostCells / m) {
    std::vector<std::uint16_t> length((n + 1) * (m + 1));
    auto at = [&](std::size_t i, std::size_t j) -> std::uint16_t& { return length[i * (m + 1) + j]; };
    for (std::size_t i = n; i-- > 0;)
      for (std::size_t j = m; j-- > 0;)
        at(i, j) = a[first + i] == b[first + j] ? static_cast<std::uint16_t>(at(i + 1, j + 1) + 1)
                                                : std::max(at(i + 1, j), at(i, j + 1));
    std::size_t i = 0, j = 0;
    while (i < n || j < m) {
      if (i < n && j < m && a[first + i] == b[first + j]) ++i, ++j;
      else if (j == m || (i < n && at(i + 1, j) >= at(i, j + 1))) add(text, '-', a[first + i++]);
      else add(text, '+', b[first + j++]);
    }
    return text;
  }
  for (std::size_t i = first; i < a_end; ++i) add(text, '-', a[i]);
  for (std::size_t j = first; j < b_end; ++j) add(text, '+', b[j]);
  return text;
}

}  // namespace reprise::passes
