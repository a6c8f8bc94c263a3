#pragma once
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "guards/substitution.h"
#include "reprise/pattern_match.h"

namespace reprise::passes {

/// A pattern for one choice of dtypes and ranks: two functional graphs with the same inputs and outputs, in the normal
/// form in which graphs are searched (patterns.h). Their environments' symbols are numbered alike.
struct PatternGraphs {
  graph::Graph pattern, replacement;
  /// What the traces of the two relied on, beside what stands in their metadata (equal sizes are one expression there).
  std::vector<const guards::Expr*> conditions;
  /// Of a function with its derivative, as one pair: by node, does it depend on the input that is the tangent? Such
  /// nodes stand where the derivative does, the others where the function does. Empty: it is no pair.
  std::vector<bool> behind, replacement_behind;

  /// `tangent`: the number of that input; -1: it is no pair
  PatternGraphs(graph::Graph pattern, graph::Graph replacement, std::int32_t tangent = -1);
  bool is_pair() const { return !behind.empty(); }
};

/// A place in a graph where a pattern stands.
struct Match {
  const PatternGraphs* graphs;
  std::vector<std::uint32_t> nodes;  ///< of the graph, ascending: what is replaced
  /// by value of the pattern: what stands for it; unset where the pattern does not use it
  std::vector<graph::ValueId> values;
  guards::Substitution symbols;  ///< the pattern's symbols in the graph's terms
  Device device;                 ///< that it computes on
  /// before this node of `nodes` everything that it reads is there, and nothing has read what it makes
  std::uint32_t at = 0;
  /// The same of the derivative of a pair, and its nodes, ascending; `at` is of the others.
  std::uint32_t at_behind = ~0u;
  std::vector<std::uint32_t> behind{};
  bool is_behind(std::uint32_t node) const { return std::binary_search(behind.begin(), behind.end(), node); }
  std::uint32_t at_of(std::uint32_t node) const { return is_behind(node) ? at_behind : at; }
};

/// How far a pattern came that was not found, where it came farthest.
struct NearMatch {
  std::size_t nodes = 0;  ///< of the pattern, that were found
  std::string why;
  SourceLoc loc;  ///< of the node that is not as the pattern wants it
};

/// What all searches of one graph ask of it, found out once. Of a graph that stays as it is meanwhile.
class SearchedGraph {
 public:
  explicit SearchedGraph(const graph::Graph&);
  ~SearchedGraph();
  const graph::Graph& graph() const { return g_; }
  struct Uses;  ///< match.cc
  const Uses& uses() const { return *uses_; }

 private:
  const graph::Graph& g_;
  const std::unique_ptr<const Uses> uses_;
};

/// Searches a functional graph without dead nodes. Matches do not overlap: the first in the order of the program
/// counts, and a node that was taken (`taken`, by node; matches found are added) is no part of another one.
///
/// A graph matches where its operators and arguments are the pattern's (operands of commutative ones in either order),
/// every size of the pattern stands for one that is known to be the same wherever it occurs, what the pattern's trace
/// relied on is known of them, no value within is read elsewhere, and the results can be made where the operands are
/// there and before they are read. Nothing is guarded for it. `may_match`: asked last; "" lets it count.
std::vector<Match> find_matches(const SearchedGraph&, const PatternGraphs&, const PatternCondition& may_match,
                                std::vector<bool>& taken, NearMatch* nearest);

/// Puts the replacements in their places.
void replace(graph::Graph&, const std::vector<Match>&);

}  // namespace reprise::passes
