#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace reprise::passes {

/// Gives each of some variables one of two labels so that the sum of costs is least: a minimum cut between two
/// terminals, by Dinic's algorithm (E. A. Dinic, 1970); costs of pairs become edges as in V. Kolmogorov, R. Zabih,
/// "What energy functions can be minimized via graph cuts?" (2004). Costs are not negative. Deterministic: of the least
/// labellings it gives the one with the fewest labels 1.
class MinCut {
 public:
  explicit MinCut(std::size_t variables) : n_(variables), with_(variables), edges_of_(variables + 2) {}

  void add(std::size_t v, std::int64_t cost_of_0, std::int64_t cost_of_1);
  /// Cost by the labels of a and b. Where cost[0][0] + cost[1][1] > cost[0][1] + cost[1][0] no cut says it: false, and
  /// nothing is added.
  bool add(std::size_t a, std::size_t b, const std::int64_t (&cost)[2][2]);

  /// By variable, is it 1? nullopt: it would take much longer than in proportion to what was added.
  std::optional<std::vector<bool>> solve();

 private:
  struct Edge {
    std::uint32_t to;
    std::int64_t left;  ///< what more can flow
  };
  void edge(std::size_t from, std::size_t to, std::int64_t there, std::int64_t back);
  bool find_levels();
  std::int64_t push_flow();
  bool spend(std::size_t steps) { return (budget_ -= static_cast<std::int64_t>(steps)) >= 0; }

  std::size_t n_;                   // the terminals are n_ (label 0) and n_ + 1
  std::vector<std::int64_t> with_;  // cost of 1 less cost of 0
  std::vector<Edge> edges_;         // the one back is beside each
  std::vector<std::vector<std::uint32_t>> edges_of_;
  std::vector<std::int32_t> level_;
  std::vector<std::uint32_t> next_;
  std::int64_t budget_ = 0;
};

}  // namespace reprise::passes
