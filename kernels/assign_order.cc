#include <algorithm>

#include "kernels/assign_buffers.h"

namespace reprise::kernels {

using Kind = Item::Kind;

std::uint32_t BufferPlan::add_buffer(Buffer b) {
  buffers.push_back(std::move(b));
  return static_cast<std::uint32_t>(buffers.size() - 1);
}

void drop_markers(BufferPlan& p) {
  std::vector<std::vector<Edge>> pred(p.items.size());
  for (std::uint32_t i = 0; i < p.items.size(); ++i) {
    for (const Edge& e : p.succ[i]) pred[e.to].push_back({i, e.kind});
  }
  for (std::uint32_t k = 0; k < p.items.size(); ++k) {
    if (p.items[k].kind != Kind::Begin && p.items[k].kind != Kind::End) continue;
    for (const Edge& in : pred[k]) {
      std::erase_if(p.succ[in.to], [&](const Edge& e) { return e.to == k; });
      for (const Edge& out : p.succ[k]) {
        EdgeKind kind = in.kind == EdgeKind::Anti ? EdgeKind::Anti : EdgeKind::Memory;
        p.succ[in.to].push_back({out.to, kind});
        pred[out.to].push_back({in.to, kind});
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
