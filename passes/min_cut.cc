#include "passes/min_cut.h"

#include <algorithm>

namespace reprise::passes {

void MinCut::add(std::size_t v, std::int64_t cost_of_0, std::int64_t cost_of_1) { with_[v] += cost_of_1 - cost_of_0; }

bool MinCut::add(std::size_t a, std::size_t b, const std::int64_t (&cost)[2][2]) {
  const std::int64_t apart = cost[0][1] + cost[1][0] - cost[0][0] - cost[1][1];
  if (apart < 0) return false;
  with_[a] += cost[1][0] - cost[0][0];
  with_[b] += cost[1][1] - cost[1][0];
  if (apart > 0 && a != b) edge(a, b, apart, 0);
  return true;
}

void MinCut::edge(std::size_t from, std::size_t to, std::int64_t there, std::int64_t back) {
  edges_of_[from].push_back(static_cast<std::uint32_t>(edges_.size()));
  edges_.push_back({static_cast<std::uint32_t>(to), there});
  edges_of_[to].push_back(static_cast<std::uint32_t>(edges_.size()));
  edges_.push_back({static_cast<std::uint32_t>(from), back});
}

/// Distances from the source along edges with room; whether the sink has one.
bool MinCut::find_levels() {
  level_.assign(n_ + 2, -1);
  std::vector<std::uint32_t> queue{static_cast<std::uint32_t>(n_)};
  level_[n_] = 0;
  for (std::size_t at = 0; at < queue.size(); ++at)
    for (std::uint32_t e : edges_of_[queue[at]])
      if (const Edge& edge = edges_[e]; edge.left > 0 && level_[edge.to] < 0)
        level_[edge.to] = level_[queue[at]] + 1, queue.push_back(edge.to);
  return level_[n_ + 1] >= 0;
}

/// One more path from the source to the sink; 0: there is none of this length.
std::int64_t MinCut::push_flow() {
  std::vector<std::uint32_t> path;  // edges
  std::size_t at = n_;
  while (at != n_ + 1) {
    std::uint32_t& next = next_[at];
    if (next == edges_of_[at].size()) {
      if (path.empty()) return 0;
      at = edges_[path.back() ^ 1].to;
      path.pop_back();
      ++next_[at];
      continue;
    }
    const std::uint32_t e = edges_of_[at][next];
    if (edges_[e].left > 0 && level_[edges_[e].to] == level_[at] + 1) path.push_back(e), at = edges_[e].to;
    else ++next;
    if (!spend(1)) return 0;
  }
  std::int64_t most = INT64_MAX;
  for (std::uint32_t e : path) most = std::min(most, edges_[e].left);
  for (std::uint32_t e : path) edges_[e].left -= most, edges_[e ^ 1].left += most;
  return spend(path.size()) ? most : 0;
}

std::optional<std::vector<bool>> MinCut::solve() {
  for (std::size_t v = 0; v < n_; ++v)
    if (with_[v] > 0) edge(n_, v, with_[v], 0);
    else if (with_[v] < 0) edge(v, n_ + 1, -with_[v], 0);
  constexpr std::int64_t kEach = 256, kLeast = 1 << 16;
  budget_ = kLeast + kEach * static_cast<std::int64_t>(n_ + edges_.size());
  while (find_levels()) {
    next_.assign(n_ + 2, 0);
    while (push_flow() > 0) {
    }
    if (!spend(n_ + edges_.size())) return std::nullopt;
  }
  // What reaches the sink yet is on its side.
  std::vector<bool> one(n_ + 2);
  std::vector<std::size_t> todo{n_ + 1};
  one[n_ + 1] = true;
  while (!todo.empty()) {
    const std::size_t at = todo.back();
    todo.pop_back();
    for (std::uint32_t e : edges_of_[at])
      if (const std::uint32_t from = edges_[e].to; !one[from] && edges_[e ^ 1].left > 0)
        one[from] = true, todo.push_back(from);
  }
  one.resize(n_);
  return one;
}

}  // namespace reprise::passes
