#include <algorithm>

#include "kernels/assign_buffers.h"

namespace reprise::kernels {

using Kind = Item::Kind;

std::uint32_t BufferPlan::add_buffer(Buffer b) {
  buffers.push_back(std::move(b));
  return static_cast<std::uint32_t>(buffers.size() - 1);
}

// Taking a marker out joins what came before it with what came after: without the check, edges would double with each one.
void drop_markers(BufferPlan& p) {
  auto add = [](std::vector<Edge>& edges, Edge e) {
    if (std::none_of(edges.begin(), edges.end(), [&](const Edge& o) { return o.to == e.to && o.kind == e.kind; })) edges.push_back(e);
  };
  std::vector<std::vector<Edge>> pred(p.items.size());
  for (std::uint32_t i = 0; i < p.items.size(); ++i) {
    for (const Edge& e : p.succ[i]) add(pred[e.to], {i, e.kind});
  }
  for (std::uint32_t k = 0; k < p.items.size(); ++k) {
    if (p.items[k].kind != Kind::Begin && p.items[k].kind != Kind::End) continue;
    for (const Edge& in : pred[k]) {
      std::erase_if(p.succ[in.to], [&](const Edge& e) { return e.to == k; });
      for (const Edge& out : p.succ[k]) {
        EdgeKind kind = in.kind == EdgeKind::Anti ? EdgeKind::Anti : EdgeKind::Memory;
        add(p.succ[in.to], {out.to, kind});
        add(pred[out.to], {in.to, kind});
      }
    }
    for (const Edge& out : p.succ[k]) std::erase_if(pred[out.to], [&](const Edge& e) { return e.to == k; });
    p.succ[k].clear();
    pred[k].clear();
  }
  for (auto& edges : p.succ) {
    auto key = [](const Edge& e) { return std::pair(e.to, static_cast<int>(e.kind)); };
    std::sort(edges.begin(), edges.end(), [&](const Edge& a, const Edge& b) { return key(a) < key(b); });
    edges.erase(std::unique(edges.begin(), edges.end(), [&](const Edge& a, const Edge& b) { return key(a) == key(b); }), edges.end());
  }
}

}  // namespace reprise::kernels
