#include "base/nearest.h"

#include <algorithm>
#include <numeric>

namespace reprise {
namespace {
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row.back();
}
}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string_view>& candidates) {
  std::string_view best;
  std::size_t best_distance = static_cast<std::size_t>(-1);
  // The work grows with the product of the lengths, and names may come out of a file.
  constexpr std::size_t kCompared = 128;
  name = name.substr(0, kCompared);
  for (std::string_view c : candidates) {
    std::size_t d = edit_distance(name, c.substr(0, kCompared));
    if (d < best_distance) best = c, best_distance = d;
  }
  return std::string(best);
}

std::string listed(const std::vector<std::string_view>& names) {
  std::string all;
  for (std::string_view n : names) all.append(all.empty() ? "" : ", ").append(n);
  return all;
}

}  // namespace reprise
