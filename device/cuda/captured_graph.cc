#include "device/cuda/captured_graph.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace reprise::device::cuda {

namespace {

/// The driver says all that must be known of a graph to make its nodes elsewhere.
bool tells_nodes() {
  const Driver& d = cu();
  return d.cuGraphGetNodes && d.cuGraphGetEdges_v2 && d.cuGraphNodeGetType && d.cuGraphKernelNodeGetParams &&
         d.cuGraphKernelNodeGetAttribute && d.cuGraphKernelNodeCopyAttributes && d.cuGraphDestroyNode &&
         d.cuGraphAddDependencies_v2 && d.cuGraphMemsetNodeGetParams && d.cuGraphAddMemsetNode &&
         d.cuGraphExecMemsetNodeSetParams;
}

std::string refusal(const char* doing, CUresult r) { return std::string(doing) + ": " + name_of(r); }

bool is_plain(const CUgraphEdgeData& e) { return !e.from_port && !e.to_port && !e.type; }

const char* type_name(CUgraphNodeType t) {
  switch (t) {
    case CU_GRAPH_NODE_TYPE_MEMCPY: return "a copy";
    case CU_GRAPH_NODE_TYPE_HOST: return "a function of the host";
    case CU_GRAPH_NODE_TYPE_GRAPH: return "a graph within it";
    case CU_GRAPH_NODE_TYPE_EMPTY: return "an empty node";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return "an event";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return "an allocation";
    default: return "a node of another type than kernels and memsets";
  }
}

}  // namespace

bool operator==(const CapturedGraph::Shape& a, const CapturedGraph::Shape& b) {
  return a.type == b.type && std::memcmp(a.attributes.data(), b.attributes.data(), sizeof a.attributes) == 0 &&
         std::equal(a.after.begin(), a.after.end(), b.after.begin(), b.after.end(), [](const auto& x, const auto& y) {
           return x.step == y.step && x.how.from_port == y.how.from_port && x.how.to_port == y.how.to_port &&
                  x.how.type == y.how.type;
         });
}

CapturedGraph::CapturedGraph(CUgraph g, bool flat) : graph_(g) {
  try {
    keep_whole("nobody asked for its nodes");
    if (!flat) return;
    std::string why = tells_nodes() ? take_apart() : "the driver does not tell its nodes";
    if (why.empty()) why_whole_.clear();
    else keep_whole(std::move(why));
  } catch (...) {
    warn(cu().cuGraphDestroy(graph_), "destroying a graph");
    throw;
  }
}

CapturedGraph::~CapturedGraph() { warn(cu().cuGraphDestroy(graph_), "destroying a graph"); }

std::string CapturedGraph::describe(Step& s) const {
  if (CUresult r = cu().cuGraphNodeGetType(s.node, &s.shape.type); r != CUDA_SUCCESS)
    return refusal("asking for a node's type", r);
  if (s.shape.type == CU_GRAPH_NODE_TYPE_MEMSET) {
    const CUresult r = cu().cuGraphMemsetNodeGetParams(s.node, &s.memset);
    return r == CUDA_SUCCESS ? "" : refusal("asking for a memset's parameters", r);
  }
  if (s.shape.type != CU_GRAPH_NODE_TYPE_KERNEL) return std::string("it has ") + type_name(s.shape.type);
  if (CUresult r = cu().cuGraphKernelNodeGetParams(s.node, &s.kernel); r != CUDA_SUCCESS)
    return refusal("asking for a kernel's parameters", r);
  if (!s.kernel.func && !s.kernel.kern) return "the driver does not say which kernel a node runs";
  for (std::size_t i = 0; i < Shape::kAttributes.size(); ++i) {
    CUlaunchAttributeValue value;
    std::memset(&value, 0, sizeof value);
    // What the driver or the device does not know, the node does not have.
    const CUresult r =
        cu().cuGraphKernelNodeGetAttribute(s.node, static_cast<CUkernelNodeAttrID>(Shape::kAttributes[i]), &value);
    if (r == CUDA_SUCCESS) s.shape.attributes[i] = value;
    else if (r != CUDA_ERROR_INVALID_VALUE && r != CUDA_ERROR_NOT_SUPPORTED)
      return refusal("asking for a kernel's attributes", r);
  }
  return "";
}

std::string CapturedGraph::take_apart() {
  std::size_t n = 0, edges = 0;
  CUresult r = cu().cuGraphGetNodes(graph_, nullptr, &n);
  std::vector<CUgraphNode> nodes(n);
  if (r == CUDA_SUCCESS && n) r = cu().cuGraphGetNodes(graph_, nodes.data(), &n);
  if (r == CUDA_SUCCESS) r = cu().cuGraphGetEdges_v2(graph_, nullptr, nullptr, nullptr, &edges);
  std::vector<CUgraphNode> from(edges), to(edges);
  std::vector<CUgraphEdgeData> how(edges);
  if (r == CUDA_SUCCESS && edges) r = cu().cuGraphGetEdges_v2(graph_, from.data(), to.data(), how.data(), &edges);
  if (r != CUDA_SUCCESS) return refusal("asking for its nodes", r);
  if (n == 0) return "it is empty";

  // The driver gives nodes in no order that it promises.
  std::map<CUgraphNode, std::vector<std::size_t>> into;  // edges
  for (std::size_t e = 0; e < edges; ++e) into[to[e]].push_back(e);
  std::map<CUgraphNode, std::uint32_t> step;
  while (steps_.size() < n) {
    const std::size_t before = steps_.size();
    for (CUgraphNode node : nodes) {
      const std::vector<std::size_t>& mine = into[node];
      if (step.count(node) ||
          !std::all_of(mine.begin(), mine.end(), [&](std::size_t e) { return step.count(from[e]) != 0; }))
        continue;
      Step s{};
      s.node = node;
      for (std::size_t e : mine) s.shape.after.push_back({step.at(from[e]), how[e]});
      std::sort(s.shape.after.begin(), s.shape.after.end(),
                [](const auto& x, const auto& y) { return x.step < y.step; });
      if (std::string why = describe(s); !why.empty()) return why;
      step[node] = static_cast<std::uint32_t>(steps_.size());
      steps_.push_back(std::move(s));
    }
    if (steps_.size() == before) return "its nodes wait for each other";
  }
  return "";
}

FlatNodes add_steps(CapturedGraph& g, CUgraph into, std::span<const CUgraphNode> after) {
  FlatNodes f;
  CUcontext context = nullptr;
  const char* doing = "asking for the context";
  CUresult r = cu().cuCtxGetCurrent(&context);
  std::vector<bool> end(g.steps().size(), true);
  for (const CapturedGraph::Step& s : g.steps()) {
    if (r != CUDA_SUCCESS) break;
    std::vector<CUgraphNode> plain;
    for (const auto& b : s.shape.after)
      if (is_plain(b.how)) plain.push_back(f.nodes[b.step]), end[b.step] = false;
    if (s.shape.after.empty()) plain.assign(after.begin(), after.end());
    CUgraphNode made = nullptr;
    doing = "adding its nodes to another graph";
    if (s.shape.type == CU_GRAPH_NODE_TYPE_MEMSET)
      r = cu().cuGraphAddMemsetNode(&made, into, plain.data(), plain.size(), &s.memset, context);
    else r = cu().cuGraphAddKernelNode(&made, into, plain.data(), plain.size(), &s.kernel);
    if (r != CUDA_SUCCESS) break;
    f.nodes.push_back(made);
    f.shapes.push_back(s.shape);
    if (s.shape.type == CU_GRAPH_NODE_TYPE_KERNEL) {
      doing = "copying a kernel's attributes";
      r = cu().cuGraphKernelNodeCopyAttributes(made, s.node);
    }
    for (const auto& b : s.shape.after) {
      if (r != CUDA_SUCCESS || is_plain(b.how)) continue;
      doing = "ordering its nodes";
      r = cu().cuGraphAddDependencies_v2(into, &f.nodes[b.step], &made, &b.how, 1);
    }
  }
  if (r != CUDA_SUCCESS) {
    for (auto n = f.nodes.rbegin(); n != f.nodes.rend(); ++n)
      warn(cu().cuGraphDestroyNode(*n), "taking nodes out of a graph");
    g.keep_whole(refusal(doing, r));
    return {};
  }
  // Also what others merely start after: they end when they like.
  for (std::size_t i = 0; i < end.size(); ++i)
    if (end[i]) f.ends.push_back(f.nodes[i]);
  return f;
}

CUresult set_steps(const CapturedGraph& g, CUgraphExec exec, const FlatNodes& f, CUcontext context) {
  if (!g.flat() || g.steps().size() != f.nodes.size()) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  for (std::size_t i = 0; i < f.nodes.size(); ++i)
    if (!(g.steps()[i].shape == f.shapes[i])) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    const CapturedGraph::Step& s = g.steps()[i];
    const CUresult r = s.shape.type == CU_GRAPH_NODE_TYPE_MEMSET
                           ? cu().cuGraphExecMemsetNodeSetParams(exec, f.nodes[i], &s.memset, context)
                           : cu().cuGraphExecKernelNodeSetParams(exec, f.nodes[i], &s.kernel);
    if (r != CUDA_SUCCESS) return r;
  }
  return CUDA_SUCCESS;
}

}  // namespace reprise::device::cuda
