#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tests/cuda_sim/memory.h"
#include "tests/cuda_sim/node_params.h"

/// Graphs: nodes, their parameters, dependencies.
namespace sim {

namespace {

CUDA_MEMCPY3D to_params(const CopyWork& c) {
  CUDA_MEMCPY3D p{};
  const bool from_device = is_device_address(c.from), to_device = is_device_address(c.to);
  p.srcMemoryType = from_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  p.dstMemoryType = to_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  if (from_device) p.srcDevice = c.from;
  else p.srcHost = reinterpret_cast<const void*>(c.from);
  if (to_device) p.dstDevice = c.to;
  else p.dstHost = reinterpret_cast<void*>(c.to);
  p.srcPitch = c.from_pitch, p.dstPitch = c.to_pitch;
  p.srcHeight = c.from_pitch ? c.from_slice / c.from_pitch : 0;
  p.dstHeight = c.to_pitch ? c.to_slice / c.to_pitch : 0;
  p.WidthInBytes = c.width, p.Height = c.height, p.Depth = c.depth;
  return p;
}

/// The driver's way with lists: without a list it gives the length.
void give_list(const std::vector<std::uint64_t>& from, CUgraphNode* to, std::size_t* count) {
  if (to) {
    for (std::size_t i = 0; i < *count; ++i) to[i] = reinterpret_cast<CUgraphNode>(i < from.size() ? from[i] : 0);
    *count = std::min(*count, from.size());
  } else {
    *count = from.size();
  }
}

/// Edges other than plain ones would change what may overlap.
void refuse_edge_data(const CUgraphEdgeData* data, std::size_t n) {
  for (std::size_t i = 0; data && i < n; ++i)
    require(!data[i].from_port && !data[i].to_port && !data[i].type, CUDA_ERROR_NOT_SUPPORTED,
            "nodes are not added with ports here; edges are");
}
/// Is it the edge of a programmatic dependent launch? Of other ports there is no simulation.
bool is_programmatic(const CUgraphEdgeData& e, const Node& from, const Node& to) {
  if (!e.from_port && !e.to_port && !e.type) return false;
  require(e.from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC && !e.to_port &&
              e.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC,
          CUDA_ERROR_NOT_SUPPORTED, "of ports the programmatic one is simulated");
  require(settings().arch >= 90 && settings().driver_version >= 12030, CUDA_ERROR_NOT_SUPPORTED,
          "programmatic edges need sm_90 and CUDA 12.3");
  require(from.type == CU_GRAPH_NODE_TYPE_KERNEL && to.type == CU_GRAPH_NODE_TYPE_KERNEL, CUDA_ERROR_INVALID_VALUE,
          "a programmatic edge connects kernels");
  return true;
}

const char* type_name(CUgraphNodeType t) {
  switch (t) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return "kernel";
    case CU_GRAPH_NODE_TYPE_MEMCPY: return "memcpy";
    case CU_GRAPH_NODE_TYPE_MEMSET: return "memset";
    case CU_GRAPH_NODE_TYPE_HOST: return "host";
    case CU_GRAPH_NODE_TYPE_GRAPH: return "graph";
    default: return "empty";
  }
}

CUresult add(const char* entry, CUgraphNode* out, CUgraph graph, const CUgraphNode* after, std::size_t count,
             CUgraphNodeType type, auto&& make) {
  return api(entry, kContext, [&] {
    require(out, CUDA_ERROR_INVALID_VALUE);
    auto g = find<Graph>(graph);
    *out = as<CUgraphNode>(*add_node(*g, type, make(), after, count));
  });
}

void add_child(CUgraphNode* out, Graph& g, const CUgraphNode* after, std::size_t count, const Graph& child) {
  auto n = add_node(g, CU_GRAPH_NODE_TYPE_GRAPH, nullptr, after, count);
  n->child = clone_graph(child);
  n->child->child = true;
  *out = as<CUgraphNode>(*n);
}

}  // namespace

WorkPtr copy_node_work(const CUDA_MEMCPY3D& p, const char* entry) {
  CopyWork c{.width = p.WidthInBytes, .height = p.Height, .depth = p.Depth};
  require(c.width && c.height && c.depth, CUDA_ERROR_INVALID_VALUE, entry, ": an empty copy");
  require(p.srcMemoryType != CU_MEMORYTYPE_ARRAY && p.dstMemoryType != CU_MEMORYTYPE_ARRAY, CUDA_ERROR_NOT_SUPPORTED,
          "arrays are not simulated");
  auto base = [](CUmemorytype t, const void* host, CUdeviceptr device) {
    return t == CU_MEMORYTYPE_HOST ? reinterpret_cast<std::uint64_t>(host) : device;
  };
  c.from_pitch = p.srcPitch ? p.srcPitch : c.width;
  c.to_pitch = p.dstPitch ? p.dstPitch : c.width;
  c.from_slice = c.from_pitch * (p.srcHeight ? p.srcHeight : c.height);
  c.to_slice = c.to_pitch * (p.dstHeight ? p.dstHeight : c.height);
  require(c.from_pitch >= c.width && c.to_pitch >= c.width, CUDA_ERROR_INVALID_VALUE, entry,
          ": a pitch smaller than a row");
  c.from =
      base(p.srcMemoryType, p.srcHost, p.srcDevice) + p.srcXInBytes + p.srcY * c.from_pitch + p.srcZ * c.from_slice;
  c.to = base(p.dstMemoryType, p.dstHost, p.dstDevice) + p.dstXInBytes + p.dstY * c.to_pitch + p.dstZ * c.to_slice;
  require(c.from && c.to, CUDA_ERROR_INVALID_VALUE, entry, ": a null address");
  auto whole = [&](std::uint64_t pitch, std::uint64_t slice) {
    return (c.depth - 1) * slice + (c.height - 1) * pitch + c.width;
  };
  if (is_device_address(c.from)) memory().require_range(c.from, whole(c.from_pitch, c.from_slice), entry);
  if (is_device_address(c.to)) memory().require_range(c.to, whole(c.to_pitch, c.to_slice), entry);
  return std::make_shared<const Work>(std::move(c));
}

WorkPtr node_work(const CUgraphNodeParams& p, const char* entry) {
  switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return kernel_node_work(p.kernel);
    case CU_GRAPH_NODE_TYPE_MEMCPY: return copy_node_work(p.memcpy.copyParams, entry);
    case CU_GRAPH_NODE_TYPE_MEMSET: return memset_node_work(p.memset, entry);
    case CU_GRAPH_NODE_TYPE_HOST: return std::make_shared<const Work>(HostWork{p.host.fn, p.host.userData});
    case CU_GRAPH_NODE_TYPE_EMPTY: return std::make_shared<const Work>(EmptyWork{});
    default: fail(CUDA_ERROR_NOT_SUPPORTED, "graph nodes of type ", static_cast<int>(p.type), " are not simulated");
  }
}

}  // namespace sim

using namespace sim;

SIM_ENTRY cuGraphCreate(CUgraph* out, unsigned flags) {
  return api(__func__, kContext, [&] {
    require(out && flags == 0, CUDA_ERROR_INVALID_VALUE);
    auto g = std::make_shared<Graph>();
    add_handle(g);
    *out = as<CUgraph>(*g);
  });
}
SIM_ENTRY cuGraphDestroy(CUgraph h) {
  return api(__func__, kAfterFailure, [&] {
    auto g = find<Graph>(h);
    require(!g->child, CUDA_ERROR_INVALID_VALUE, "the graph belongs to a node");
    destroy_graph(*g);
  });
}
SIM_ENTRY cuGraphClone(CUgraph* out, CUgraph h) {
  return api(__func__, kContext, [&] { *out = as<CUgraph>(*clone_graph(*find<Graph>(h))); });
}

SIM_ENTRY cuGraphAddKernelNode(CUgraphNode* out, CUgraph g, const CUgraphNode* after, std::size_t n,
                               const CUDA_KERNEL_NODE_PARAMS* p) {
  return add(__func__, out, g, after, n, CU_GRAPH_NODE_TYPE_KERNEL, [&] { return kernel_node_work(*p); });
}
SIM_ENTRY cuGraphAddMemcpyNode(CUgraphNode* out, CUgraph g, const CUgraphNode* after, std::size_t n,
                               const CUDA_MEMCPY3D* p, CUcontext) {
  return add(__func__, out, g, after, n, CU_GRAPH_NODE_TYPE_MEMCPY,
             [&] { return copy_node_work(*p, "cuGraphAddMemcpyNode"); });
}
SIM_ENTRY cuGraphAddMemsetNode(CUgraphNode* out, CUgraph g, const CUgraphNode* after, std::size_t n,
                               const CUDA_MEMSET_NODE_PARAMS* p, CUcontext) {
  return add(__func__, out, g, after, n, CU_GRAPH_NODE_TYPE_MEMSET,
             [&] { return memset_node_work(*p, "cuGraphAddMemsetNode"); });
}
SIM_ENTRY cuGraphAddHostNode(CUgraphNode* out, CUgraph g, const CUgraphNode* after, std::size_t n,
                             const CUDA_HOST_NODE_PARAMS* p) {
  return add(__func__, out, g, after, n, CU_GRAPH_NODE_TYPE_HOST, [&] {
    return std::make_shared<const Work>(HostWork{p->fn, p->userData});
  });
}
SIM_ENTRY cuGraphAddEmptyNode(CUgraphNode* out, CUgraph g, const CUgraphNode* after, std::size_t n) {
  return add(__func__, out, g, after, n, CU_GRAPH_NODE_TYPE_EMPTY,
             [] { return std::make_shared<const Work>(EmptyWork{}); });
}
SIM_ENTRY cuGraphAddChildGraphNode(CUgraphNode* out, CUgraph h, const CUgraphNode* after, std::size_t n,
                                   CUgraph child) {
  return api(__func__, kContext, [&] { add_child(out, *find<Graph>(h), after, n, *find<Graph>(child)); });
}
SIM_ENTRY cuGraphChildGraphNodeGetGraph(CUgraphNode h, CUgraph* out) {
  return api(__func__, kContext, [&] {
    auto n = find<Node>(h);
    require(n->child, CUDA_ERROR_INVALID_VALUE, "the node is of another type");
    *out = as<CUgraph>(*n->child);
  });
}

namespace {
CUresult add_any(const char* entry, CUgraphNode* out, CUgraph h, const CUgraphNode* after, const CUgraphEdgeData* data,
                 std::size_t n, CUgraphNodeParams* p) {
  return api(entry, kContext, [&] {
    refuse_edge_data(data, n);
    auto g = find<Graph>(h);
    if (p->type == CU_GRAPH_NODE_TYPE_GRAPH) return add_child(out, *g, after, n, *find<Graph>(p->graph.graph));
    *out = as<CUgraphNode>(*add_node(*g, p->type, node_work(*p, entry), after, n));
  });
}
}  // namespace
#if CUDA_VERSION >= 13000
SIM_ENTRY cuGraphAddNode(CUgraphNode* out, CUgraph g, const CUgraphNode* after, const CUgraphEdgeData* data,
                         std::size_t n, CUgraphNodeParams* p) {
  return add_any(__func__, out, g, after, data, n, p);
}
#else
SIM_ENTRY cuGraphAddNode(CUgraphNode* out, CUgraph g, const CUgraphNode* after, std::size_t n, CUgraphNodeParams* p) {
  return add_any(__func__, out, g, after, nullptr, n, p);
}
SIM_ENTRY cuGraphAddNode_v2(CUgraphNode* out, CUgraph g, const CUgraphNode* after, const CUgraphEdgeData* data,
                            std::size_t n, CUgraphNodeParams* p) {
  return add_any(__func__, out, g, after, data, n, p);
}
#endif

SIM_ENTRY cuGraphMemcpyNodeGetParams(CUgraphNode h, CUDA_MEMCPY3D* p) {
  return api(__func__, kContext, [&] { *p = to_params(work_of<CopyWork>(*find<Node>(h))); });
}
SIM_ENTRY cuGraphMemcpyNodeSetParams(CUgraphNode h, const CUDA_MEMCPY3D* p) {
  return api(__func__, kContext, [&] { set_work<CopyWork>(h, copy_node_work(*p, "cuGraphMemcpyNodeSetParams")); });
}
SIM_ENTRY cuGraphMemsetNodeGetParams(CUgraphNode h, CUDA_MEMSET_NODE_PARAMS* p) {
  return api(__func__, kContext, [&] {
    const auto& m = work_of<MemsetWork>(*find<Node>(h));
    *p = {};
    p->dst = m.to, p->pitch = m.pitch, p->value = m.value, p->elementSize = m.element, p->width = m.width,
    p->height = m.height;
  });
}
SIM_ENTRY cuGraphMemsetNodeSetParams(CUgraphNode h, const CUDA_MEMSET_NODE_PARAMS* p) {
  return api(__func__, kContext, [&] { set_work<MemsetWork>(h, memset_node_work(*p, "cuGraphMemsetNodeSetParams")); });
}
SIM_ENTRY cuGraphNodeSetParams(CUgraphNode h, CUgraphNodeParams* p) {
  return api(__func__, kContext, [&] {
    auto n = find<Node>(h);
    require(n->type == p->type && !n->child, CUDA_ERROR_INVALID_VALUE, "the node is of another type");
    n->work = node_work(*p, "cuGraphNodeSetParams");
  });
}
SIM_ENTRY cuGraphNodeGetType(CUgraphNode h, CUgraphNodeType* t) {
  return api(__func__, kContext, [&] { *t = find<Node>(h)->type; });
}

SIM_ENTRY cuGraphGetNodes(CUgraph h, CUgraphNode* nodes, std::size_t* count) {
  return api(__func__, kContext, [&] { give_list(find<Graph>(h)->nodes, nodes, count); });
}
SIM_ENTRY cuGraphGetRootNodes(CUgraph h, CUgraphNode* nodes, std::size_t* count) {
  return api(__func__, kContext, [&] {
    std::vector<std::uint64_t> roots;
    for (std::uint64_t n : find<Graph>(h)->nodes)
      if (find<Node>(reinterpret_cast<CUgraphNode>(n))->after.empty()) roots.push_back(n);
    give_list(roots, nodes, count);
  });
}
SIM_ENTRY cuGraphDestroyNode(CUgraphNode h) {
  return api(__func__, kAfterFailure, [&] {
    auto n = find<Node>(h);
    auto g = find<Graph>(reinterpret_cast<CUgraph>(n->graph));
    std::erase(g->nodes, n->handle);
    for (std::uint64_t o : g->nodes) {
      auto other = find<Node>(reinterpret_cast<CUgraphNode>(o));
      std::erase(other->after, n->handle), std::erase(other->early, n->handle);
    }
    if (n->child) destroy_graph(*n->child);
    remove_handle(n->handle);
  });
}

namespace {

CUresult add_dependencies(const char* entry, CUgraph h, const CUgraphNode* from, const CUgraphNode* to,
                          const CUgraphEdgeData* data, std::size_t n) {
  return api(entry, kContext, [&] {
    auto g = find<Graph>(h);
    for (std::size_t i = 0; i < n; ++i) {
      auto a = find<Node>(from[i]), b = find<Node>(to[i]);
      require(a->graph == g->handle && b->graph == g->handle, CUDA_ERROR_INVALID_VALUE,
              "an edge between nodes of other graphs");
      require(std::find(b->after.begin(), b->after.end(), a->handle) == b->after.end(), CUDA_ERROR_INVALID_VALUE,
              "the edge exists");
      if (data && is_programmatic(data[i], *a, *b)) b->early.push_back(a->handle), ++counters().early_edges;
      b->after.push_back(a->handle);
    }
  });
}
CUresult remove_dependencies(const char* entry, CUgraph h, const CUgraphNode* from, const CUgraphNode* to,
                             std::size_t n) {
  return api(entry, kContext, [&] {
    find<Graph>(h);
    for (std::size_t i = 0; i < n; ++i) {
      std::erase(find<Node>(to[i])->early, find<Node>(from[i])->handle);
      require(std::erase(find<Node>(to[i])->after, find<Node>(from[i])->handle), CUDA_ERROR_INVALID_VALUE,
              "no such edge");
    }
  });
}
/// An edge's data, from which a query without a place for it would hide something.
CUgraphEdgeData data_of(const Node& from, const Node& to) {
  CUgraphEdgeData e{};
  if (std::find(to.early.begin(), to.early.end(), from.handle) == to.early.end()) return e;
  e.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  e.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  return e;
}
CUresult get_edges(const char* entry, CUgraph h, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                   std::size_t* count) {
  return api(entry, kContext, [&] {
    std::vector<std::uint64_t> a, b;
    std::vector<CUgraphEdgeData> of;
    for (std::uint64_t n : find<Graph>(h)->nodes)
      for (std::uint64_t d : find<Node>(reinterpret_cast<CUgraphNode>(n))->after) {
        a.push_back(d), b.push_back(n);
        of.push_back(
            data_of(*find<Node>(reinterpret_cast<CUgraphNode>(d)), *find<Node>(reinterpret_cast<CUgraphNode>(n))));
      }
    for (const CUgraphEdgeData& e : of)
      require(data || !from || !e.type, CUDA_ERROR_LOSSY_QUERY, "an edge has data, and there is no place for it");
    for (std::size_t i = 0; data && i < *count; ++i) data[i] = i < of.size() ? of[i] : CUgraphEdgeData{};
    std::size_t first = *count;
    give_list(a, from, &first);
    give_list(b, to, count);
  });
}
CUresult get_dependencies(const char* entry, CUgraphNode h, CUgraphNode* list, CUgraphEdgeData* data,
                          std::size_t* count) {
  return api(entry, kContext, [&] {
    auto n = find<Node>(h);
    if (data) std::memset(data, 0, std::min(*count, n->after.size()) * sizeof *data);
    give_list(n->after, list, count);
  });
}
CUresult get_dependents(const char* entry, CUgraphNode h, CUgraphNode* list, CUgraphEdgeData* data,
                        std::size_t* count) {
  return api(entry, kContext, [&] {
    auto n = find<Node>(h);
    std::vector<std::uint64_t> after;
    for (std::uint64_t o : find<Graph>(reinterpret_cast<CUgraph>(n->graph))->nodes) {
      const auto& d = find<Node>(reinterpret_cast<CUgraphNode>(o))->after;
      if (std::find(d.begin(), d.end(), n->handle) != d.end()) after.push_back(o);
    }
    if (data) std::memset(data, 0, std::min(*count, after.size()) * sizeof *data);
    give_list(after, list, count);
  });
}

}  // namespace

// CUDA 13 dropped the forms without edge data: their names stand for the second versions there.
#if CUDA_VERSION >= 13000
#define SIM_WITH_EDGES(name) name
#else
#define SIM_WITH_EDGES(name) name##_v2
SIM_ENTRY cuGraphAddDependencies(CUgraph g, const CUgraphNode* from, const CUgraphNode* to, std::size_t n) {
  return add_dependencies(__func__, g, from, to, nullptr, n);
}
SIM_ENTRY cuGraphRemoveDependencies(CUgraph g, const CUgraphNode* from, const CUgraphNode* to, std::size_t n) {
  return remove_dependencies(__func__, g, from, to, n);
}
SIM_ENTRY cuGraphGetEdges(CUgraph g, CUgraphNode* from, CUgraphNode* to, std::size_t* n) {
  return get_edges(__func__, g, from, to, nullptr, n);
}
SIM_ENTRY cuGraphNodeGetDependencies(CUgraphNode h, CUgraphNode* list, std::size_t* n) {
  return get_dependencies(__func__, h, list, nullptr, n);
}
SIM_ENTRY cuGraphNodeGetDependentNodes(CUgraphNode h, CUgraphNode* list, std::size_t* n) {
  return get_dependents(__func__, h, list, nullptr, n);
}
#endif
SIM_ENTRY SIM_WITH_EDGES(cuGraphAddDependencies)(CUgraph g, const CUgraphNode* from, const CUgraphNode* to,
                                                 const CUgraphEdgeData* data, std::size_t n) {
  return add_dependencies(__func__, g, from, to, data, n);
}
SIM_ENTRY SIM_WITH_EDGES(cuGraphRemoveDependencies)(CUgraph g, const CUgraphNode* from, const CUgraphNode* to,
                                                    const CUgraphEdgeData*, std::size_t n) {
  return remove_dependencies(__func__, g, from, to, n);
}
SIM_ENTRY SIM_WITH_EDGES(cuGraphGetEdges)(CUgraph g, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                                          std::size_t* n) {
  return get_edges(__func__, g, from, to, data, n);
}
SIM_ENTRY SIM_WITH_EDGES(cuGraphNodeGetDependencies)(CUgraphNode h, CUgraphNode* list, CUgraphEdgeData* data,
                                                     std::size_t* n) {
  return get_dependencies(__func__, h, list, data, n);
}
SIM_ENTRY SIM_WITH_EDGES(cuGraphNodeGetDependentNodes)(CUgraphNode h, CUgraphNode* list, CUgraphEdgeData* data,
                                                       std::size_t* n) {
  return get_dependents(__func__, h, list, data, n);
}

SIM_ENTRY cuGraphDebugDotPrint(CUgraph h, const char* path, unsigned) {
  return api(__func__, kContext, [&] {
    auto g = find<Graph>(h);
    std::FILE* f = std::fopen(path, "w");
    require(f, CUDA_ERROR_OPERATING_SYSTEM, "cannot write ", path);
    std::fprintf(f, "digraph dot {\n");
    for (std::uint64_t id : g->nodes) {
      auto n = find<Node>(reinterpret_cast<CUgraphNode>(id));
      const auto* k = n->work ? std::get_if<KernelWork>(n->work.get()) : nullptr;
      std::fprintf(f, "\"%s\" [label=\"%s %s\"];\n", hex(id).c_str(), type_name(n->type),
                   k ? k->function->name.c_str() : "");
      for (std::uint64_t d : n->after) std::fprintf(f, "\"%s\" -> \"%s\";\n", hex(d).c_str(), hex(id).c_str());
    }
    std::fprintf(f, "}\n");
    std::fclose(f);
  });
}
