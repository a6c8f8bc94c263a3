#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/cuda_sim/stream.h"

namespace sim {

struct Graph;

struct Node : Object {
  static constexpr Kind kKind = Kind::Node;
  Node() : Object(kKind) {}
  std::uint64_t graph = 0;  ///< handle
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  WorkPtr work;
  std::vector<std::uint64_t> after;  ///< handles of the nodes it depends on
  /// of these, those that it does not wait for: its kernel does (programmatic edges)
  std::vector<std::uint64_t> early;
  std::shared_ptr<Graph> child;  ///< owned copy
};

struct Graph : Object {
  static constexpr Kind kKind = Kind::Graph;
  Graph() : Object(kKind) {}
  std::vector<std::uint64_t> nodes;  ///< handles, in the order they were added
  bool child = false;                ///< belongs to a node
};

/// The nodes of an executable graph in one state: what a launch takes with it.
struct GraphRun {
  struct Item {
    WorkPtr work;
    CUgraphNodeType type;
    bool enabled = true;
    std::vector<std::uint32_t> after;  ///< indices, smaller than its own
    std::vector<std::uint32_t> early;  ///< of these, as Node's
  };
  std::vector<Item> items;
};

struct Exec : Object {
  static constexpr Kind kKind = Kind::Exec;
  Exec() : Object(kKind) {}
  ~Exec() override;
  std::uint64_t graph = 0;                                 ///< handle of the graph it was made from
  Clock clock;                                             ///< of its launches
  Stream::Need latest;                                     ///< launch: the next one comes after it, in whatever stream
  std::shared_ptr<GraphRun> run;                           ///< copied before a change when a launch holds it
  std::unordered_map<std::uint64_t, std::uint32_t> index;  ///< of the node handles of `graph`
  std::uint64_t bytes = 0;
  bool uploaded = false;
};

std::shared_ptr<Node> add_node(Graph&, CUgraphNodeType, WorkPtr, const CUgraphNode* after, std::size_t count);
std::shared_ptr<Node> add_node(Graph&, CUgraphNodeType, WorkPtr, std::vector<std::uint64_t> after);
std::shared_ptr<Graph> clone_graph(const Graph&, std::unordered_map<std::uint64_t, std::uint64_t>* map = nullptr);
void destroy_graph(Graph&);
/// Fails with CUDA_ERROR_INVALID_VALUE when the graph has a cycle.
std::shared_ptr<Exec> instantiate(const Graph&);
std::shared_ptr<GraphRun> flatten(const Graph&, std::unordered_map<std::uint64_t, std::uint32_t>* index = nullptr);

}  // namespace sim
