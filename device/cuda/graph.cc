#include "device/cuda/graph.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/counters.h"
#include "base/errors.h"
#include "base/log.h"
#include "device/cuda/edges.h"
#include "device/cuda/queue.h"

#include <nlohmann/json.hpp>

namespace reprise::device::cuda {

namespace {

// Runs in which nothing moved after which the uploads are disabled: changing that costs the host some time.
constexpr int kUnmovedRuns = 2;

bool same_shape(const GraphNode& a, const GraphNode& b) {
  if (a.what.index() != b.what.index() || a.after != b.after || a.cells() != b.cells()) return false;
  const auto *x = std::get_if<KernelNode>(&a.what), *y = std::get_if<KernelNode>(&b.what);
  return !x || (x->kernel == y->kernel && x->params.size() == y->params.size());
}

/// The driver does not make of an executable graph what it is asked to, as it may. It is made anew then.
bool refused(CUresult r, std::string_view node) {
  if (r != CUDA_ERROR_INVALID_VALUE && r != CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE && r != CUDA_ERROR_NOT_SUPPORTED)
    return false;
  if (logs::on(logs::Channel::Recordings)) {
    const std::string status = name_of(r), which(node);
    logs::event(logs::Event::graph_rebuilt, node,
                which + " is not changed in its executable graph (" + status + "): the graph is made anew",
                {{"node", which}, {"status", status}});
  }
  return true;
}

bool is_captured(const GraphNode& n) { return std::holds_alternative<CapturedNode>(n.what); }

}  // namespace

CudaGraphExec::CudaGraphExec(const GraphHome& home, std::uint32_t cells, std::vector<GraphNode> nodes)
    : home_(home), n_cells_(cells), nodes_(std::move(nodes)), users_(cells), last_(cells, nullptr),
      stale_(nodes_.size()) {
  home_.context.enter();
  if (home_.indirect) block_ = home_.blocks.take(cells);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i)
    if (!home_.indirect || is_captured(nodes_[i]))
      for (std::uint32_t c : nodes_[i].cells())
        if (users_[c].empty() || users_[c].back() != i) users_[c].push_back(i);
  // The account of a graph that its first run makes begins with an estimate.
  bytes_ = static_cast<std::int64_t>(nodes_.size()) * GraphSizes::kNodeBytes;
  home_.graph_bytes += bytes_;
  try {
    if (std::none_of(nodes_.begin(), nodes_.end(), is_captured)) make();
  } catch (...) {
    home_.graph_bytes -= bytes_;
    release();
    throw;
  }
}

void CudaGraphExec::make() {
  try {
    check(cu().cuGraphCreate(&graph_, 0), "making a graph");
    std::vector<CUgraphNode> after, uploads;
    if (home_.indirect) add_uploads();
    for (const Upload& u : uploads_) uploads.push_back(u.node);
    const Edges edges(nodes_, home_.early);
    starts_early_ = std::find(edges.early.begin(), edges.early.end(), true) != edges.early.end();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const GraphNode& n = nodes_[i];
      after.clear();
      for (Graph::Node before : edges.after[i])
        if (auto several = flat_.find(before); several != flat_.end())
          after.insert(after.end(), several->second.ends.begin(), several->second.ends.end());
        else if (!edges.early[i]) after.push_back(handles_[before]);
      if (edges.after[i].empty()) after = uploads;
      handles_.push_back(nullptr);
      if (is_captured(n)) {
        add_captured(i, after);
      } else {
        const CUDA_KERNEL_NODE_PARAMS& p = params_.of(std::get<KernelNode>(n.what), home_, block_, last_);
        check(cu().cuGraphAddKernelNode(&handles_[i], graph_, after.data(), after.size(), &p), "recording kernel",
              n.name());
      }
      if (edges.early[i]) start_early(handles_[edges.after[i][0]], handles_[i], n.name());
    }
    std::size_t made = nodes_.size() + uploads_.size();
    for (const auto& [i, several] : flat_) made += several.nodes.size() - 1;
    const std::int64_t bytes = home_.sizes.of(static_cast<std::int64_t>(made), [&] {
      check(cu().cuGraphInstantiateWithFlags(&exec_, graph_, 0), "instantiating a graph");
    });
    if (logs::on(logs::Channel::Recordings)) {
      const auto early = std::count(edges.early.begin(), edges.early.end(), true);
      logs::event(logs::Event::launched_early, nodes_.empty() ? std::string() : nodes_[0].name(),
                  std::to_string(early) + " of " + std::to_string(nodes_.size()) +
                      " kernels start while the one before them ends" +
                      (home_.early ? "" : ", since this device, its driver or REPRISE_CUDA_EARLY does without"),
                  {{"nodes", nodes_.size()},
                   {"early", early},
                   {"why", home_.early ? edges.why(nodes_) : std::vector<std::string>()}});
    }
    home_.graph_bytes += bytes - bytes_;
    bytes_ = bytes;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (const auto* k = std::get_if<KernelNode>(&nodes_[i].what); k && k->grid.count() == 0)
        check(cu().cuGraphNodeSetEnabled(exec_, handles_[i], 0), "disabling a node of kernel", k->name);
  } catch (...) {
    release_graphs();
    throw;
  }
  stale_.assign(nodes_.size(), false);
}

void CudaGraphExec::add_captured(std::size_t i, const std::vector<CUgraphNode>& after) {
  const CapturedNode& n = std::get<CapturedNode>(nodes_[i].what);
  capture(n, [&](CapturedGraph& work) {
    if (home_.flat && work.flat()) {
      if (FlatNodes several = add_steps(work, graph_, after); !several.nodes.empty()) {
        flat_.emplace(i, std::move(several));
        return;
      }
    }
    if (home_.flat && logs::on(logs::Channel::Recordings))
      logs::event(logs::Event::captured_whole, n.name, n.name + " stays a graph within the graph: " + work.why_whole(),
                  {{"node", n.name}, {"why", work.why_whole()}});
    check(cu().cuGraphAddChildGraphNode(&handles_[i], graph_, after.data(), after.size(), work.graph()),
          "recording the work of", n.name);
  });
}

/// Ordered by the kernel's own waiting.
void CudaGraphExec::start_early(CUgraphNode before, CUgraphNode node, std::string_view name) {
  CUgraphEdgeData edge{};
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  check(cu().cuGraphAddDependencies_v2(graph_, &before, &node, &edge, 1), "ordering the early start of kernel", name);
}

CudaGraphExec::~CudaGraphExec() {
  home_.graph_bytes -= bytes_;
  release();
}

void CudaGraphExec::release_graphs() noexcept {
  if (exec_) warn(cu().cuGraphExecDestroy(exec_), "destroying an executable graph");
  if (graph_) warn(cu().cuGraphDestroy(graph_), "destroying a graph");
  exec_ = nullptr, graph_ = nullptr;
  handles_.clear(), flat_.clear(), uploads_.clear();
}

void CudaGraphExec::release() noexcept {
  home_.context.enter_quietly();
  release_graphs();
  if (block_) home_.blocks.give_back(block_, n_cells_, ran_in_);
}

void CudaGraphExec::capture(const CapturedNode& n, const std::function<void(CapturedGraph&)>& use) const {
  std::vector<void*> addresses;
  for (std::uint32_t c : n.cells) addresses.push_back(last_[c]);
  home_.captures.with(n, addresses, home_.flat, use);
}

void CudaGraphExec::add_uploads() {
  for (std::size_t part = 0; part < uploads_of(n_cells_); ++part) {
    const CUDA_KERNEL_NODE_PARAMS& p = params_.upload(home_, block_, last_, part);
    CUgraphNode node = nullptr;
    check(cu().cuGraphAddKernelNode(&node, graph_, nullptr, 0, &p), "recording the upload of addresses");
    uploads_.push_back({node});
  }
}

bool CudaGraphExec::set_uploads() {
  for (std::size_t part = 0; part < uploads_.size(); ++part) {
    Upload& u = uploads_[part];
    if (!u.stale) continue;
    if (!u.on) enable(u, true);
    const CUDA_KERNEL_NODE_PARAMS& p = params_.upload(home_, block_, last_, part);
    const CUresult r = cu().cuGraphExecKernelNodeSetParams(exec_, u.node, &p);
    if (refused(r, "reprise_upload_cells")) return false;
    check(r, "changing the upload of addresses");
    u.stale = false, u.unmoved = 0;
  }
  return true;
}

void CudaGraphExec::enable(Upload& u, bool on) {
  check(cu().cuGraphNodeSetEnabled(exec_, u.node, on), "switching the upload of addresses");
  u.on = on;
}

// An earlier run has uploaded these very cells.
void CudaGraphExec::rest_uploads() {
  for (Upload& u : uploads_)
    if (u.on && !u.stale && u.unmoved > kUnmovedRuns) home_.context.enter(), enable(u, false);
}

bool CudaGraphExec::set_node(std::size_t i) {
  if (const auto* other = std::get_if<CapturedNode>(&nodes_[i].what)) {
    CUresult r = CUDA_SUCCESS;
    capture(*other, [&](CapturedGraph& work) {
      const auto several = flat_.find(i);
      r = several != flat_.end() ? set_steps(work, exec_, several->second, home_.context.handle)
                                 : cu().cuGraphExecChildGraphNodeSetParams(exec_, handles_[i], work.graph());
    });
    // The library may do it in other steps where the alignment or the sizes are others.
    if (refused(r, other->name)) return false;
    check(r, "changing the work of", other->name);
    counters().product_updates.add();
  } else {
    const KernelNode& kernel = std::get<KernelNode>(nodes_[i].what);
    const CUDA_KERNEL_NODE_PARAMS& p = params_.of(kernel, home_, block_, last_);
    const CUresult r = cu().cuGraphExecKernelNodeSetParams(exec_, handles_[i], &p);
    if (refused(r, kernel.name)) return false;
    check(r, "changing a node of kernel", kernel.name);
  }
  stale_[i] = false;
  return true;
}

bool CudaGraphExec::prepare(void* const* cells, bool may_make) {
  prepared_ = nullptr;
  if (!any_stale_ && std::memcmp(cells, last_.data(), n_cells_ * sizeof(void*)) == 0) {
    rest_uploads();
    prepared_ = cells;
    return true;
  }
  home_.context.enter();
  any_stale_ = true;                  // until everything below is done: what fails half-way is done by the next run
  constexpr std::uint32_t kRun = 32;  // few of many cells move
  for (std::uint32_t first = 0; first < n_cells_; first += kRun) {
    const std::uint32_t end = std::min(first + kRun, n_cells_);
    if (std::memcmp(cells + first, last_.data() + first, (end - first) * sizeof(void*)) == 0) continue;
    for (std::uint32_t c = first; c < end; ++c) {
      if (cells[c] == last_[c]) continue;
      last_[c] = cells[c];
      if (!uploads_.empty()) uploads_[upload_of(c, n_cells_)].stale = true;
      for (std::uint32_t n : users_[c]) stale_[n] = nodes_stale_ = true;
    }
  }
  bool changed = exec_ != nullptr;
  if (changed) {
    rest_uploads();
    changed = set_uploads();
  }
  for (std::size_t i = 0; i < nodes_.size() && changed && nodes_stale_; ++i)
    if (stale_[i]) changed = set_node(i);
  if (!changed) {
    if (!may_make) return false;
    release_graphs();
    // Runs of the graph that goes may still read its block, and nothing orders them before the new one's.
    if (block_ && ran_in_) {
      void* other = home_.blocks.take(n_cells_);
      home_.blocks.give_back(std::exchange(block_, other), n_cells_, std::exchange(ran_in_, 0));
    }
    make();
  }
  any_stale_ = nodes_stale_ = false;
  prepared_ = cells;
  return true;
}

void CudaGraphExec::launch(Stream& stream, void* const* cells) {
  if (std::exchange(prepared_, nullptr) != cells) prepare(cells, true), prepared_ = nullptr;
  home_.context.enter();
  ran_in_ = stream.id();
  check(cu().cuGraphLaunch(exec_, static_cast<CudaStream&>(stream).handle()), "launching a graph whose first kernel is",
        nodes_.empty() ? std::string_view() : nodes_[0].name());
  for (Upload& u : uploads_) ++u.unmoved;
}

// A launch does it by itself, so only what is made ahead of all calls is uploaded.
void CudaGraphExec::upload(Stream& stream) {
  if (!exec_) return;
  home_.context.enter();
  check(cu().cuGraphUpload(exec_, static_cast<CudaStream&>(stream).handle()), "uploading a graph whose first kernel is",
        nodes_.empty() ? std::string_view() : nodes_[0].name());
}

bool CudaGraphExec::change_to(std::uint32_t cells, const std::vector<GraphNode>& nodes) {
  if (!exec_ || cells != n_cells_ || nodes.size() != nodes_.size()) return false;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!same_shape(nodes[i], nodes_[i])) return false;
    // A node that is disabled lets those that start early go before what comes before it has ended.
    const auto *was = std::get_if<KernelNode>(&nodes_[i].what), *is = std::get_if<KernelNode>(&nodes[i].what);
    if (starts_early_ && was && (was->grid.count() == 0) != (is->grid.count() == 0)) return false;
  }
  home_.context.enter();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (const auto* now = std::get_if<CapturedNode>(&nodes[i].what)) {
      CapturedNode& old = std::get<CapturedNode>(nodes_[i].what);
      // The next run captures it, with the addresses that it has then.
      if (old.work.key.empty() || old.work.key != now->work.key) any_stale_ = nodes_stale_ = stale_[i] = true;
      old = *now;
      continue;
    }
    KernelNode& old = std::get<KernelNode>(nodes_[i].what);
    const KernelNode& now = std::get<KernelNode>(nodes[i].what);
    bool was = old.grid.count() != 0, is = now.grid.count() != 0;
    bool differs = old.params != now.params || !(old.grid == now.grid) || !(old.block == now.block) ||
                   old.shared_bytes != now.shared_bytes;
    old = now;
    if (differs && !set_node(i)) any_stale_ = nodes_stale_ = stale_[i] = true;  // the next run makes the graph anew
    if (was != is) check(cu().cuGraphNodeSetEnabled(exec_, handles_[i], is), "switching a node of kernel", now.name);
  }
  return true;
}

Graph::Node CudaGraph::add(KernelNode what, std::span<const Node> after) {
  REPRISE_CHECK(what.kernel != nullptr);
  for (std::uint32_t c : what.cells) REPRISE_CHECK(c < cells_);
  nodes_.push_back({std::move(what), {after.begin(), after.end()}});
  return static_cast<Node>(nodes_.size() - 1);
}

Graph::Node CudaGraph::add(CapturedNode what, std::span<const Node> after) {
  REPRISE_CHECK(what.work.enqueue != nullptr);
  for (std::uint32_t c : what.cells) REPRISE_CHECK(c < cells_);
  nodes_.push_back({std::move(what), {after.begin(), after.end()}});
  return static_cast<Node>(nodes_.size() - 1);
}

std::unique_ptr<GraphExec> CudaGraph::changed(std::unique_ptr<GraphExec> reuse) const {
  auto* graph = dynamic_cast<CudaGraphExec*>(reuse.get());
  return graph && graph->change_to(cells_, nodes_) ? std::move(reuse) : nullptr;
}

std::unique_ptr<GraphExec> CudaGraph::instantiate(std::unique_ptr<GraphExec> reuse) {
  if (runs_serially()) return std::make_unique<CudaQueue>(home_, cells_, std::move(nodes_));
  if (std::unique_ptr<GraphExec> same = changed(std::move(reuse))) return same;
  return std::make_unique<CudaGraphExec>(home_, cells_, std::move(nodes_));
}

std::unique_ptr<GraphExec> CudaGraph::queue(std::unique_ptr<GraphExec> reuse) {
  if (std::unique_ptr<GraphExec> same = changed(std::move(reuse))) return same;
  return std::make_unique<CudaQueue>(home_, cells_, std::move(nodes_));
}

}  // namespace reprise::device::cuda
