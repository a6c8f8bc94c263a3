#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace reprise::passes {

/// Rebuilds a graph node by node. A rule sees each node with its operands already rewritten and either declines
/// (nullopt: the node is copied) or gives the values that stand for its results, emitting what it needs; an unset one
/// where nobody reads a result any more, or where stands_for() will say it in time.
///
/// Why rebuild instead of editing in place: the order stays valid by construction, and a rule cannot leave a
/// half-changed graph behind when it throws.
class Rewriter {
 public:
  explicit Rewriter(const graph::Graph& in);

  /// The node being rewritten: operator, line and results of the old graph, operands of the new one.
  struct Site {
    const graph::Node& node;
    std::vector<graph::NodeArg>& args;
    /// of the first result, as the old graph has it (nodes without results are copied: no rule sees them)
    const TensorMeta& result;
  };
  using Rule = std::function<std::optional<std::vector<graph::ValueId>>(Rewriter&, Site&)>;

  graph::Graph run(const Rule&, bool* changed);

  const graph::Graph& graph() const { return out_; }  ///< the new one, so far
  const TensorMeta& meta(graph::ValueId v) const { return out_.meta(v); }
  guards::ShapeEnv* env() const { return out_.env.get(); }
  /// The id the next value of the new graph will have.
  graph::ValueId next_value() const { return {static_cast<std::uint32_t>(out_.values.size())}; }
  /// Emits a node at the current place, with the current node's info. Where that writes in place, so does what is
  /// emitted with the same first operand.
  graph::ValueId emit(graph::OpId, std::vector<graph::NodeArg> args);
  /// Says of the maker of v what eager copies there (Node::keeps_self).
  void copies_as(graph::ValueId v, bool keeps_self, bool keeps_part);
  /// Emits a node as another graph has it, on these arguments; a view that needs certain strides gets a copy of an
  /// operand that has others.
  std::vector<graph::ValueId> emit_as(const graph::Node&, std::vector<graph::NodeArg> args, const graph::NodeInfo&);
  /// From now on `made` of the new graph stands for a value of the old one, whose maker's rule gave none (an unset
  /// ValueId).
  void stands_for(graph::ValueId old, graph::ValueId made) { map_[old.v] = made; }
  /// What stands for a value of the old graph; unset where nothing does yet.
  graph::ValueId now(graph::ValueId old) const { return map_[old.v]; }
  /// The node of the new graph that makes a value, or null for an input.
  const graph::Node* maker(graph::ValueId) const;

 private:
  bool same_metas(const graph::NodeArg& was, const graph::NodeArg& is) const;
  void make_contiguous(graph::OpId, std::vector<graph::NodeArg>& args, const TensorMeta* was);
  void keep_apart(const graph::Node& node, std::vector<graph::NodeArg>& args);

  const graph::Graph& in_;
  graph::Graph out_;
  std::vector<graph::ValueId> map_;
  std::vector<bool> same_;    ///< by value of the old graph: a copy stands for it, with its metadata
  std::vector<bool> copied_;  ///< by value of the old graph: the program's copy, of which no node is left
  graph::ValueId self_;       ///< what the current node writes into, if eager copies nothing there
  graph::NodeInfo info_;      ///< the current node's, which what is made of it has, too
};

/// Rewrites `g` in place; whether any rule fired.
bool rewrite(graph::Graph& g, const Rewriter::Rule&);

}  // namespace reprise::passes
