#include "tests/cuda_sim/capture.h"

#include <algorithm>

/// Stream capture.
namespace sim {

namespace {

CUgraphNodeType type_of(const Work& w) {
  if (std::holds_alternative<KernelWork>(w)) return CU_GRAPH_NODE_TYPE_KERNEL;
  if (std::holds_alternative<CopyWork>(w)) return CU_GRAPH_NODE_TYPE_MEMCPY;
  if (std::holds_alternative<MemsetWork>(w)) return CU_GRAPH_NODE_TYPE_MEMSET;
  if (std::holds_alternative<HostWork>(w)) return CU_GRAPH_NODE_TYPE_HOST;
  fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "this cannot be captured");
}

std::vector<std::uint64_t> unique(std::vector<std::uint64_t> v) {
  std::sort(v.begin(), v.end());
  v.erase(std::unique(v.begin(), v.end()), v.end());
  return v;
}

void leave_capture(Capture& c) {
  for (auto& w : c.streams)
    if (auto s = w.lock()) s->capture.reset();
}

}  // namespace

void capture_work(Stream& s, WorkPtr w) {
  auto c = s.capture;
  require(!c->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  const CUgraphNodeType type = type_of(*w);
  auto n = add_node(*c->graph, type, std::move(w), unique(c->last[&s]));
  c->last[&s] = {n->handle};
}

void start_last_early(Stream& s) {
  if (!s.capture || s.capture->invalid || settings().arch < 90 || settings().driver_version < 12030) return;
  for (std::uint64_t h : s.capture->last[&s]) {
    auto n = find<Node>(reinterpret_cast<CUgraphNode>(h));
    for (std::uint64_t before : n->after)
      if (find<Node>(reinterpret_cast<CUgraphNode>(before))->type == CU_GRAPH_NODE_TYPE_KERNEL && n->after.size() == 1)
        n->early.push_back(before);
  }
}

void refuse_in_capture(Stream& s, const char* entry) {
  if (!s.capture) return;
  s.capture->invalid = true;
  fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, entry, " in a capturing stream");
}

}  // namespace sim

using namespace sim;

namespace {

CUresult begin(const char* entry, CUstream h, CUstreamCaptureMode mode, CUgraph into, const CUgraphNode* after,
               std::size_t n) {
  return api(entry, kContext, [&] {
    static std::uint64_t ids = 0;
    require(h != nullptr && h != CU_STREAM_LEGACY, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            "the default stream cannot capture");
    auto s = find<Stream>(h);
    require(!s->capture, CUDA_ERROR_ILLEGAL_STATE, "the stream captures already");
    auto c = std::make_shared<Capture>();
    c->mode = mode;
    c->id = ++ids;
    c->origin = s;
    c->streams.push_back(s);
    c->to_graph = into != nullptr;
    if (into) {
      c->graph = find<Graph>(into);
      for (std::size_t i = 0; i < n; ++i) c->last[s.get()].push_back(find<Node>(after[i])->handle);
    } else {
      c->graph = std::make_shared<Graph>();
      add_handle(c->graph);
    }
    s->capture = c;
  });
}

}  // namespace

SIM_ENTRY cuStreamBeginCapture(CUstream s, CUstreamCaptureMode mode) {
  return begin(__func__, s, mode, nullptr, nullptr, 0);
}
SIM_ENTRY cuStreamBeginCaptureToGraph(CUstream s, CUgraph g, const CUgraphNode* after, const CUgraphEdgeData*,
                                      std::size_t n, CUstreamCaptureMode mode) {
  return begin(__func__, s, mode, g, after, n);
}
SIM_ENTRY cuStreamEndCapture(CUstream h, CUgraph* out) {
  return api(__func__, kContext, [&] {
    auto s = find<Stream>(h);
    *out = nullptr;
    require(s->capture, CUDA_ERROR_ILLEGAL_STATE, "the stream does not capture");
    auto c = s->capture;
    require(c->origin.lock() == s, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture began in another stream");
    leave_capture(*c);
    // Every other stream's last node must have a successor: else its work is lost to whoever waits for the graph's
    // origin.
    std::string why;
    for (auto& w : c->streams) {
      auto o = w.lock();
      if (!o || o == s) continue;
      for (std::uint64_t last : c->last[o.get()]) {
        bool joined = false;
        for (std::uint64_t n : c->graph->nodes) {
          const auto& after = find<Node>(reinterpret_cast<CUgraphNode>(n))->after;
          joined |= std::find(after.begin(), after.end(), last) != after.end();
        }
        const auto& mine = c->last[s.get()];
        joined |= std::find(mine.begin(), mine.end(), last) != mine.end();
        if (!joined) why = "work captured in another stream was not joined";
      }
    }
    if (c->invalid || !why.empty()) {
      if (!c->to_graph) destroy_graph(*c->graph);
      fail(c->invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_ERROR_STREAM_CAPTURE_UNJOINED, why);
    }
    *out = as<CUgraph>(*c->graph);
  });
}
SIM_ENTRY cuStreamIsCapturing(CUstream h, CUstreamCaptureStatus* status) {
  return api(__func__, kContext, [&] {
    auto s = stream_of(h);
    *status = !s->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
              : s->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                    : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  });
}
SIM_ENTRY cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return api(__func__, kContext, [&] {
    thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
    std::swap(current, *mode);
  });
}

namespace {

CUresult capture_info(const char* entry, CUstream h, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                      const CUgraphNode** after, std::size_t* n) {
  return api(entry, kContext, [&] {
    auto s = stream_of(h);
    auto c = s->capture;
    *status = !c           ? CU_STREAM_CAPTURE_STATUS_NONE
              : c->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                           : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (!c) return;
    if (id) *id = c->id;
    if (graph) *graph = as<CUgraph>(*c->graph);
    auto& last = c->last[s.get()];
    last = unique(last);
    if (after) *after = reinterpret_cast<const CUgraphNode*>(last.data());
    if (n) *n = last.size();
  });
}
CUresult set_capture_dependencies(const char* entry, CUstream h, CUgraphNode* nodes, std::size_t n, unsigned flags) {
  return api(entry, kContext, [&] {
    auto s = stream_of(h);
    require(s->capture, CUDA_ERROR_ILLEGAL_STATE, "the stream does not capture");
    auto& last = s->capture->last[s.get()];
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) last.clear();
    for (std::size_t i = 0; i < n; ++i) last.push_back(find<Node>(nodes[i])->handle);
  });
}

}  // namespace

#undef cuStreamGetCaptureInfo
#undef cuStreamUpdateCaptureDependencies
SIM_ENTRY cuStreamGetCaptureInfo_v2(CUstream s, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                    const CUgraphNode** after, std::size_t* n) {
  return capture_info(__func__, s, status, id, graph, after, n);
}
SIM_ENTRY cuStreamGetCaptureInfo_v3(CUstream s, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
                                    const CUgraphNode** after, const CUgraphEdgeData** data, std::size_t* n) {
  if (data) *data = nullptr;
  return capture_info(__func__, s, status, id, graph, after, n);
}
SIM_ENTRY cuStreamUpdateCaptureDependencies(CUstream s, CUgraphNode* nodes, std::size_t n, unsigned flags) {
  return set_capture_dependencies(__func__, s, nodes, n, flags);
}
SIM_ENTRY cuStreamUpdateCaptureDependencies_v2(CUstream s, CUgraphNode* nodes, const CUgraphEdgeData*, std::size_t n,
                                               unsigned flags) {
  return set_capture_dependencies(__func__, s, nodes, n, flags);
}
