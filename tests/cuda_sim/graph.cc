#include "tests/cuda_sim/graph.h"

#include <algorithm>

#include "tests/cuda_sim/memory.h"
#include "tests/cuda_sim/race.h"

namespace sim {

namespace {

/// What an executable graph is said to hold of the device: the order of magnitude of real ones.
constexpr std::uint64_t kBytesPerExec = 64 << 10, kBytesPerNode = 1 << 10;

std::shared_ptr<Node> node_of(std::uint64_t handle) {
  return std::static_pointer_cast<Node>(find_handle(handle, Kind::Node));
}

/// Node handles so that each comes after what it depends on; among those that could be next, in order of addition.
std::vector<std::uint64_t> sorted(const Graph& g) {
  std::unordered_map<std::uint64_t, std::size_t> left;
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> before;
  for (std::uint64_t n : g.nodes) {
    left[n] = node_of(n)->after.size();
    for (std::uint64_t d : node_of(n)->after) before[d].push_back(n);
  }
  std::vector<std::uint64_t> order;
  for (std::uint64_t n : g.nodes)
    if (left[n] == 0) order.push_back(n);
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::uint64_t n : before[order[i]])
      if (--left[n] == 0) order.push_back(n);
  require(order.size() == g.nodes.size(), CUDA_ERROR_INVALID_VALUE, "the graph has a cycle");
  return order;
}

}  // namespace

std::shared_ptr<Node> add_node(Graph& g, CUgraphNodeType type, WorkPtr work, std::vector<std::uint64_t> after) {
  for (std::uint64_t d : after)
    require(node_of(d)->graph == g.handle, CUDA_ERROR_INVALID_VALUE, "a node depends on a node of another graph");
  std::vector<std::uint64_t> unique = after;
  std::sort(unique.begin(), unique.end());
  require(std::adjacent_find(unique.begin(), unique.end()) == unique.end(), CUDA_ERROR_INVALID_VALUE,
          "a node depends twice on another");
  auto n = std::make_shared<Node>();
  n->graph = g.handle;
  n->type = type;
  n->work = std::move(work);
  n->after = std::move(after);
  add_handle(n);
  g.nodes.push_back(n->handle);
  return n;
}

std::shared_ptr<Node> add_node(Graph& g, CUgraphNodeType type, WorkPtr work, const CUgraphNode* after,
                               std::size_t count) {
  require(after || count == 0, CUDA_ERROR_INVALID_VALUE, count, " dependencies, and no list of them");
  std::vector<std::uint64_t> handles;
  for (std::size_t i = 0; i < count; ++i) handles.push_back(reinterpret_cast<std::uint64_t>(after[i]));
  return add_node(g, type, std::move(work), std::move(handles));
}

std::shared_ptr<Graph> clone_graph(const Graph& g, std::unordered_map<std::uint64_t, std::uint64_t>* out) {
  auto copy = std::make_shared<Graph>();
  add_handle(copy);
  std::unordered_map<std::uint64_t, std::uint64_t> map;
  for (std::uint64_t h : sorted(g)) {
    auto n = node_of(h);
    std::vector<std::uint64_t> after;
    for (std::uint64_t d : n->after) after.push_back(map.at(d));
    auto c = add_node(*copy, n->type, n->work, std::move(after));
    for (std::uint64_t d : n->early) c->early.push_back(map.at(d));
    if (n->child) {
      c->child = clone_graph(*n->child);
      c->child->child = true;
    }
    map[h] = c->handle;
  }
  if (out) *out = std::move(map);
  return copy;
}

void destroy_graph(Graph& g) {
  for (std::uint64_t h : g.nodes) {
    if (auto n = std::static_pointer_cast<Node>(find_handle_or_null(h)); n && n->child) destroy_graph(*n->child);
    remove_handle(h);
  }
  remove_handle(g.handle);
}

std::shared_ptr<GraphRun> flatten(const Graph& g, std::unordered_map<std::uint64_t, std::uint32_t>* out) {
  auto run = std::make_shared<GraphRun>();
  std::unordered_map<std::uint64_t, std::uint32_t> index;
  for (std::uint64_t h : sorted(g)) {
    auto n = node_of(h);
    GraphRun::Item item{n->work, n->type, true, {}, {}};
    for (std::uint64_t d : n->after) item.after.push_back(index.at(d));
    for (std::uint64_t d : n->early) item.early.push_back(index.at(d));
    if (n->child) item.work = std::make_shared<const Work>(ChildWork{flatten(*n->child)});
    index[h] = static_cast<std::uint32_t>(run->items.size());
    run->items.push_back(std::move(item));
  }
  if (out) *out = std::move(index);
  return run;
}

std::shared_ptr<Exec> instantiate(const Graph& g) {
  auto e = std::make_shared<Exec>();
  e->graph = g.handle;
  e->run = flatten(g, &e->index);
  for (const auto& item : e->run->items)
    if (auto* k = std::get_if<KernelWork>(item.work.get()))
      require(!k->function->unloaded, CUDA_ERROR_INVALID_HANDLE, "kernel ", k->function->name, " was unloaded");
  const std::uint64_t bytes = kBytesPerExec + kBytesPerNode * g.nodes.size();
  memory().charge(static_cast<std::int64_t>(bytes));
  e->bytes = bytes;
  counters().live_graph_bytes += bytes;
  ++counters().instantiations;
  add_handle(e);
  return e;
}

Exec::~Exec() {
  memory().charge(-static_cast<std::int64_t>(bytes));
  counters().live_graph_bytes -= bytes;
}

namespace {

/// A graph with its child graphs taken apart: their nodes run side by side with those around them, as on a device.
struct Step {
  const Work* work;
  std::vector<std::uint32_t> after, early;
};
/// Adds g's steps, which come after `before`; returns those that nothing in g comes after.
std::vector<std::uint32_t> take_apart(const GraphRun& g, const std::vector<std::uint32_t>& before,
                                      std::vector<Step>& out) {
  std::vector<std::vector<std::uint32_t>> ends(g.items.size());
  std::vector<bool> last(g.items.size(), true);
  for (std::size_t i = 0; i < g.items.size(); ++i) {
    const GraphRun::Item& item = g.items[i];
    std::vector<std::uint32_t> after = item.after.empty() ? before : std::vector<std::uint32_t>(), early;
    for (std::uint32_t d : item.after) {
      after.insert(after.end(), ends[d].begin(), ends[d].end());
      if (std::find(item.early.begin(), item.early.end(), d) != item.early.end())
        early.insert(early.end(), ends[d].begin(), ends[d].end());
      last[d] = false;
    }
    if (auto* child = item.enabled ? std::get_if<ChildWork>(item.work.get()) : nullptr) {
      ends[i] = take_apart(*child->graph, after, out);
    } else {
      ends[i] = {static_cast<std::uint32_t>(out.size())};
      out.push_back({item.enabled ? item.work.get() : nullptr, std::move(after), std::move(early)});
    }
  }
  if (g.items.empty()) return before;
  std::vector<std::uint32_t> all;
  for (std::size_t i = 0; i < g.items.size(); ++i)
    if (last[i]) all.insert(all.end(), ends[i].begin(), ends[i].end());
  return all;
}

}  // namespace

void run_graph(const GraphRun& g) {
  // Any order that the dependencies allow: forward, the reverse of it as far as possible, or random.
  std::vector<Step> steps;
  take_apart(g, {}, steps);
  std::vector<const std::vector<std::uint32_t>*> after, early;
  for (const Step& s : steps) after.push_back(&s.after), early.push_back(&s.early);
  race_graph(after, early);
  const std::size_t n = steps.size();
  const Order order = settings().order;
  std::vector<std::uint32_t> left(n), ready;
  std::vector<std::vector<std::uint32_t>> before(n);
  if (order != Order::Forward)
    for (std::uint32_t i = 0; i < n; ++i) {
      left[i] = static_cast<std::uint32_t>(steps[i].after.size());
      for (std::uint32_t d : steps[i].after) before[d].push_back(i);
      if (left[i] == 0) ready.push_back(i);
    }
  for (std::uint32_t step = 0; step < n && sticky_error() == CUDA_SUCCESS; ++step) {
    std::uint32_t i = step;
    if (order != Order::Forward) {
      const std::size_t at = order == Order::Reverse ? ready.size() - 1 : random_number() % ready.size();
      i = ready[at];
      ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(at));
      for (std::uint32_t b : before[i])
        if (--left[b] == 0) ready.push_back(b);
    }
    race_step(i);
    if (steps[i].work) execute(*steps[i].work);
  }
  race_graph_end();
}

}  // namespace sim
