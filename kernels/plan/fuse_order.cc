#include "kernels/plan/fuse_order.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "base/errors.h"

namespace reprise::kernels {

namespace {
// What is asked for one item has a bound, so that the whole is linear: edges looked at to find out whether one kernel
// leads to another.
constexpr std::size_t kMostEdges = 2048;
}  // namespace

FuseOrder::FuseOrder(const BufferPlan& p) : p_(p), units_of_(p.items.size()) {
  std::vector<std::uint32_t> waits(p_.items.size());
  for (const auto& edges : p_.succ) {
    for (const Edge& e : edges) ++waits[e.to];
  }
  // The program's own order where nothing forbids it: copies come right after what made them possible.
  auto rank = [&](Id i) { return std::pair(p_.items[i].node < 0 ? INT32_MAX : p_.items[i].node, i); };
  auto later = [&](Id a, Id b) { return rank(a) > rank(b); };
  std::priority_queue<Id, std::vector<Id>, decltype(later)> ready(later);
  for (Id i = 0; i < p_.items.size(); ++i) {
    if (waits[i] == 0) ready.push(i);
  }
  while (!ready.empty()) {
    Id i = ready.top();
    ready.pop();
    items_.push_back(i);
    for (const Edge& e : p_.succ[i]) {
      if (--waits[e.to] == 0) ready.push(e.to);
    }
  }
  REPRISE_CHECK(items_.size() == p_.items.size(), " the order of the work has a cycle");
  rank_.resize(items_.size());
  for (std::uint32_t k = 0; k < items_.size(); ++k) rank_[items_[k]] = k;
}

void FuseOrder::add_unit() {
  after_.emplace_back();
  order_.push_front();
}

void FuseOrder::connect(Id i) {
  const std::vector<std::uint32_t>& own = units_of_[i];
  auto each = [&](std::uint32_t u, auto&& f) { std::for_each(after_[u].begin(), after_[u].end(), f); };
  for (const Edge& e : p_.succ[i]) {
    if (e.kind == EdgeKind::Value && own.size() > 1) continue;
    for (std::uint32_t w : units_of_[e.to]) {
      for (std::uint32_t u : own) {
        if (u == w || !edges_.insert(static_cast<std::uint64_t>(u) << 32 | w).second) continue;
        REPRISE_CHECK(order_.put_before(u, w, each), " the kernels depend on each other in a cycle");
        after_[u].push_back(w);
      }
    }
  }
}

bool FuseOrder::leads_to(const std::vector<std::uint32_t>& from, std::uint32_t unit) {
  auto each = [&](std::uint32_t w, auto&& f) { std::for_each(after_[w].begin(), after_[w].end(), f); };
  return order_.reaches(
      from, unit, [&](std::uint32_t w) { return w == unit; }, each, kMostEdges);
}

std::vector<Unit> FuseOrder::sorted(std::vector<Unit> units) const {
  std::vector<std::uint32_t> waits(units.size());
  for (const std::vector<std::uint32_t>& after : after_) {
    for (std::uint32_t w : after) ++waits[w];
  }
  std::vector<std::uint32_t> rank(units.size(), 0);
  for (std::uint32_t u = 0; u < units.size(); ++u) {
    rank[u] = rank_[units[u].items[0]];
    for (const Unit::Store& s : units[u].stores) rank[u] = std::min(rank[u], rank_[s.item]);
  }
  auto later = [&](std::uint32_t a, std::uint32_t b) { return std::pair(rank[a], a) > std::pair(rank[b], b); };
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, decltype(later)> ready(later);
  for (std::uint32_t u = 0; u < units.size(); ++u) {
    if (waits[u] == 0) ready.push(u);
  }
  std::vector<Unit> out;
  while (!ready.empty()) {
    std::uint32_t u = ready.top();
    ready.pop();
    for (std::uint32_t w : after_[u]) {
      if (--waits[w] == 0) ready.push(w);
    }
    out.push_back(std::move(units[u]));
  }
  REPRISE_CHECK(out.size() == units.size(), " the kernels depend on each other in a cycle");
  return out;
}

}  // namespace reprise::kernels
