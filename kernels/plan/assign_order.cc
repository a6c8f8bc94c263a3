#include <algorithm>
#include <unordered_set>

#include "kernels/plan/assign_buffers.h"

namespace reprise::kernels {

using Kind = Item::Kind;

std::uint32_t BufferPlan::add_buffer(Buffer b) {
  buffers.push_back(std::move(b));
  return static_cast<std::uint32_t>(buffers.size() - 1);
}

// Taking a marker out joins what came before it with what came after. What is joined already is not joined again: edges
// would double with each marker.
void drop_markers(BufferPlan& p) {
  auto is_marker = [&](std::uint32_t i) { return p.items[i].kind == Kind::Begin || p.items[i].kind == Kind::End; };
  std::unordered_set<std::uint64_t> have;
  auto is_new = [&](std::uint32_t from, Edge e) {
    return have.insert((static_cast<std::uint64_t>(from) << 32 | e.to) * 3 + static_cast<std::uint64_t>(e.kind)).second;
  };
  std::vector<std::vector<Edge>> pred(p.items.size());
  for (std::uint32_t i = 0; i < p.items.size(); ++i) {
    for (const Edge& e : p.succ[i])
      if (is_new(i, e)) pred[e.to].push_back({i, e.kind});
  }
  auto gone = [&](std::uint32_t i, std::uint32_t now) { return i < now && is_marker(i); };
  for (std::uint32_t k = 0; k < p.items.size(); ++k) {
    if (!is_marker(k)) continue;
    for (const Edge& in : pred[k]) {
      if (gone(in.to, k)) continue;
      for (const Edge& out : p.succ[k]) {
        Edge joined{out.to, in.kind == EdgeKind::Anti ? EdgeKind::Anti : EdgeKind::Memory};
        if (gone(out.to, k) || !is_new(in.to, joined)) continue;
        p.succ[in.to].push_back(joined);
        pred[out.to].push_back({in.to, joined.kind});
      }
    }
    p.succ[k].clear();
    pred[k].clear();
  }
  for (auto& edges : p.succ) std::erase_if(edges, [&](const Edge& e) { return is_marker(e.to); });
  for (auto& edges : p.succ) {
    auto key = [](const Edge& e) { return std::pair(e.to, static_cast<int>(e.kind)); };
    std::sort(edges.begin(), edges.end(), [&](const Edge& a, const Edge& b) { return key(a) < key(b); });
    edges.erase(std::unique(edges.begin(), edges.end(), [&](const Edge& a, const Edge& b) { return key(a) == key(b); }),
                edges.end());
  }
}

}  // namespace reprise::kernels
