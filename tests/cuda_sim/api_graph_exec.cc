#include "tests/cuda_sim/capture.h"
#include "tests/cuda_sim/memory.h"
#include "tests/cuda_sim/node_params.h"

/// Executable graphs.
using namespace sim;

namespace {

CUresult make_exec(const char* entry, CUgraphExec* out, CUgraph h, unsigned long long flags) {
  return api(entry, kContext, [&] {
    require(out, CUDA_ERROR_INVALID_VALUE);
    require((flags & ~static_cast<unsigned long long>(CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY |
                                                      CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                                      CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)) == 0,
            CUDA_ERROR_NOT_SUPPORTED, "instantiation flags ", hex(flags), " are not simulated");
    auto e = instantiate(*find<Graph>(h));
    e->uploaded = flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
    *out = as<CUgraphExec>(*e);
  });
}

/// The item of an executable graph that came from this node of the graph it was instantiated from. A node of another
/// graph, or of a destroyed one, names nothing.
GraphRun::Item& item_of(Exec& e, CUgraphNode h) {
  auto n = find<Node>(h);
  auto at = e.index.find(n->handle);
  require(at != e.index.end(), CUDA_ERROR_INVALID_VALUE,
          "the node is not of the graph that the executable graph was made from");
  // A launch that has not run yet keeps the parameters it was made with.
  if (e.run.use_count() > 1) e.run = std::make_shared<GraphRun>(*e.run);
  return e.run->items[at->second];
}

/// New parameters for a node of an executable graph: the type stays.
void update(Exec& e, CUgraphNode h, CUgraphNodeType type, WorkPtr w) {
  auto& item = item_of(e, h);
  require(item.type == type, CUDA_ERROR_INVALID_VALUE, "the node is of another type");
  if (type == CU_GRAPH_NODE_TYPE_KERNEL) w = with_attributes(w, std::get<KernelWork>(*item.work).attributes);
  item.work = std::move(w);
  ++counters().node_updates;
}

/// Memory nodes of an executable graph may change addresses and sizes, but not between host and device.
void check_copy_update(const Work& before, const Work& after) {
  const auto &a = std::get<CopyWork>(before), &b = std::get<CopyWork>(after);
  require(is_device_address(a.to) == is_device_address(b.to) && is_device_address(a.from) == is_device_address(b.from),
          CUDA_ERROR_INVALID_VALUE, "the kind of memory that a copy reads or writes changed");
}

/// What forbids taking over `to`'s parameters; success when nothing does. `at`: where.
CUgraphExecUpdateResult compare(const GraphRun& from, const GraphRun& to, std::size_t* at) {
  *at = 0;
  if (from.items.size() != to.items.size()) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
  for (std::size_t i = 0; i < to.items.size(); ++i) {
    const auto &a = from.items[i], &b = to.items[i];
    *at = i;
    if (a.after != b.after || a.early != b.early) return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (a.type != b.type) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    if (auto* k = std::get_if<KernelWork>(b.work.get()); k && k->function->unloaded)
      return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
    if (auto* c = std::get_if<CopyWork>(b.work.get())) {
      const auto& o = std::get<CopyWork>(*a.work);
      if (is_device_address(c->to) != is_device_address(o.to) ||
          is_device_address(c->from) != is_device_address(o.from))
        return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
    }
    if (auto* c = std::get_if<ChildWork>(b.work.get())) {
      std::size_t inner = 0;
      if (auto r = compare(*std::get<ChildWork>(*a.work).graph, *c->graph, &inner); r != CU_GRAPH_EXEC_UPDATE_SUCCESS)
        return r;
    }
  }
  return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

}  // namespace

#undef cuGraphInstantiate
SIM_ENTRY cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph g, unsigned long long flags) {
  return make_exec(__func__, out, g, flags);
}
SIM_ENTRY cuGraphInstantiateWithParams(CUgraphExec* out, CUgraph g, CUDA_GRAPH_INSTANTIATE_PARAMS* p) {
  const CUresult r = make_exec(__func__, out, g, p->flags);
  p->result_out = r == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
  p->hErrNode_out = nullptr;
  return r;
}
SIM_ENTRY cuGraphInstantiate(CUgraphExec* out, CUgraph g, CUgraphNode* bad, char* text, std::size_t size) {
  if (bad) *bad = nullptr;
  if (text && size) *text = 0;
  return make_exec(__func__, out, g, 0);
}
SIM_ENTRY cuGraphInstantiate_v2(CUgraphExec* out, CUgraph g, CUgraphNode* bad, char* text, std::size_t size) {
  if (bad) *bad = nullptr;
  if (text && size) *text = 0;
  return make_exec(__func__, out, g, 0);
}
SIM_ENTRY cuGraphExecDestroy(CUgraphExec h) {
  return api(__func__, kAfterFailure, [&] { remove_handle(find<Exec>(h)->handle); });
}
SIM_ENTRY cuGraphUpload(CUgraphExec h, CUstream s) {
  return api(__func__, kContext, [&] { stream_of(s), find<Exec>(h)->uploaded = true; });
}
SIM_ENTRY cuGraphLaunch(CUgraphExec h, CUstream s) {
  return api(__func__, kContext, [&] {
    auto e = find<Exec>(h);
    auto stream = stream_of(s);
    refuse_in_capture(*stream, "cuGraphLaunch");
    ++counters().graph_launches;
    // One run of an executable graph at a time, in the order of their launches.
    if (e->latest.stream && e->latest.stream != stream && e->latest.stream->done < e->latest.number)
      stream->waits.push_back(e->latest);
    join(stream->clock, e->clock);
    submit(stream, ChildWork{e->run});
    e->clock = stream->clock;
    e->latest = {stream, stream->enqueued};
  });
}

SIM_ENTRY cuGraphExecKernelNodeSetParams(CUgraphExec h, CUgraphNode n, const CUDA_KERNEL_NODE_PARAMS* p) {
  return api(__func__, kContext, [&] { update(*find<Exec>(h), n, CU_GRAPH_NODE_TYPE_KERNEL, kernel_node_work(*p)); });
}
SIM_ENTRY cuGraphExecMemcpyNodeSetParams(CUgraphExec h, CUgraphNode n, const CUDA_MEMCPY3D* p, CUcontext) {
  return api(__func__, kContext, [&] {
    auto e = find<Exec>(h);
    WorkPtr w = copy_node_work(*p, "cuGraphExecMemcpyNodeSetParams");
    if (auto& item = item_of(*e, n); item.type == CU_GRAPH_NODE_TYPE_MEMCPY) check_copy_update(*item.work, *w);
    update(*e, n, CU_GRAPH_NODE_TYPE_MEMCPY, std::move(w));
  });
}
SIM_ENTRY cuGraphExecMemsetNodeSetParams(CUgraphExec h, CUgraphNode n, const CUDA_MEMSET_NODE_PARAMS* p, CUcontext) {
  return api(__func__, kContext, [&] {
    update(*find<Exec>(h), n, CU_GRAPH_NODE_TYPE_MEMSET, memset_node_work(*p, "cuGraphExecMemsetNodeSetParams"));
  });
}
SIM_ENTRY cuGraphExecNodeSetParams(CUgraphExec h, CUgraphNode n, CUgraphNodeParams* p) {
  return api(__func__, kContext,
             [&] { update(*find<Exec>(h), n, p->type, node_work(*p, "cuGraphExecNodeSetParams")); });
}
SIM_ENTRY cuGraphExecChildGraphNodeSetParams(CUgraphExec h, CUgraphNode n, CUgraph child) {
  return api(__func__, kContext, [&] {
    auto e = find<Exec>(h);
    auto run = flatten(*find<Graph>(child));
    auto& item = item_of(*e, n);
    std::size_t at = 0;
    require(item.type == CU_GRAPH_NODE_TYPE_GRAPH &&
                compare(*std::get<ChildWork>(*item.work).graph, *run, &at) == CU_GRAPH_EXEC_UPDATE_SUCCESS,
            CUDA_ERROR_INVALID_VALUE, "the child graph has another shape");
    update(*e, n, CU_GRAPH_NODE_TYPE_GRAPH, std::make_shared<const Work>(ChildWork{run}));
  });
}
SIM_ENTRY cuGraphNodeSetEnabled(CUgraphExec h, CUgraphNode n, unsigned on) {
  return api(__func__, kContext, [&] {
    auto& item = item_of(*find<Exec>(h), n);
    require(item.type == CU_GRAPH_NODE_TYPE_KERNEL || item.type == CU_GRAPH_NODE_TYPE_MEMCPY ||
                item.type == CU_GRAPH_NODE_TYPE_MEMSET,
            CUDA_ERROR_INVALID_VALUE, "only kernel, memcpy and memset nodes can be disabled");
    item.enabled = on != 0;
    ++counters().node_updates;
  });
}
SIM_ENTRY cuGraphNodeGetEnabled(CUgraphExec h, CUgraphNode n, unsigned* on) {
  return api(__func__, kContext, [&] { *on = item_of(*find<Exec>(h), n).enabled; });
}
SIM_ENTRY cuGraphExecUpdate(CUgraphExec h, CUgraph g, CUgraphExecUpdateResultInfo* info) {
  return api(__func__, kContext, [&] {
    auto e = find<Exec>(h);
    auto graph = find<Graph>(g);
    std::unordered_map<std::uint64_t, std::uint32_t> index;
    auto run = flatten(*graph, &index);
    ++counters().graph_updates;
    std::size_t at = 0;
    const auto r = compare(*e->run, *run, &at);
    if (info) {
      *info = {};
      info->result = r;
      for (auto& [node, i] : index)
        if (r != CU_GRAPH_EXEC_UPDATE_SUCCESS && i == at) info->errorNode = reinterpret_cast<CUgraphNode>(node);
    }
    require(r == CU_GRAPH_EXEC_UPDATE_SUCCESS, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "result ", static_cast<int>(r),
            " at node ", at);
    for (std::size_t i = 0; i < run->items.size(); ++i) run->items[i].enabled = e->run->items[i].enabled;
    e->run = run;
  });
}
