// Which writes at computed places are stores of loop kernels (Note [Scatters in loops] in scatter.h).
#include <algorithm>
#include <utility>

#include "kernels/plan/assign.h"

namespace reprise::kernels {

using graph::Node;
using graph::ValueId;
using Kind = Item::Kind;
using Id = std::uint32_t;

bool Assign::scatters_in_place(Id id) const {
  const Node& node = g_.nodes[p_.items[id].node];
  const ValueId self = std::get<ValueId>(node.args[0]);
  const Place &to = p_.place[node.results[0].v], &old = p_.place[root_[self.v].v];
  if (to.buffer == ~0u || to.buffer != old.buffer) return false;
  const auto stands = layout_from_root(g_, self, old.layout);
  bool apart = stands && same_layout(*stands, to.layout);
  graph::for_each_value(node,
                        [&](ValueId v) { apart = apart && (v == self || p_.place[root_[v.v].v].buffer != to.buffer); });
  return apart;
}

int Assign::dim_of_parts(ValueId c) const {
  const Node& join = g_.nodes[g_.values[c.v].node];
  const Layout whole = contiguous_layout(g_.meta(c).layout.sizes);
  const auto plan = has_parts(join.op) && !has_base(join.op) ? plan_join(g_, join, whole) : std::nullopt;
  for (int d = 0; plan && d < whole.dim(); ++d) {
    const auto dim = static_cast<std::size_t>(d);
    Int at = 0;
    bool follow = true;
    for (const JoinPlan::Part& p : plan->parts) {
      Ints sizes = p.region.sizes;
      follow = follow && sizes.size() == whole.sizes.size() && same_number(p.region.offset, at * whole.strides[dim]);
      if (!follow) break;
      at = at + std::exchange(sizes[dim], whole.sizes[dim]);
      follow = same_numbers(sizes, whole.sizes);
    }
    if (follow && same_number(at, whole.sizes[dim])) return d;
  }
  return -1;
}

bool Assign::is_scattered_in_parts(ValueId c) {
  const Node& join = g_.nodes[g_.values[c.v].node];
  if (!has_parts(join.op) || has_base(join.op) || placed(c) || !wishes_[c.v].empty() || !views_[c.v].empty() ||
      readers_[c.v].size() != 1)
    return false;
  const Id id = readers_[c.v][0], end = static_cast<Id>(p_.maker[c.v]);
  if (std::find(scatters_.begin(), scatters_.end(), id) == scatters_.end() || !scatters_in_place(id)) return false;
  const auto form = scatter_form(g_, g_.nodes[p_.items[id].node]);
  if (form->values != c || !same_numbers(form->walk, g_.meta(c).layout.sizes) || dim_of_parts(c) < 0) return false;
  for (const Edge& e : p_.succ[end])
    if (e.to != id) return false;
  // Made for this alone: then nobody writes over them meanwhile.
  const auto plan = plan_join(g_, join, contiguous_layout(form->walk));
  for (const JoinPlan::Part& part : plan->parts) {
    const ValueId p = part.value;
    const bool here = computed(p) && !placed(p) && p_.items[p_.maker[p.v]].kind == Kind::Fused &&
                      readers_[p.v].size() == 1 && readers_[p.v][0] == end && wishes_[p.v].empty() &&
                      views_[p.v].empty();
    if (!here || g_.meta(p).dtype != g_.meta(c).dtype || g_.meta(p).dim() != g_.meta(c).dim()) return false;
  }
  in_parts_[id] = c;
  return true;
}

void Assign::settle_scatters() {
  std::vector<bool> wanted(p_.items.size());  // Last items
  // by item: the scatters of a join's other parts
  std::vector<std::vector<Id>> like(in_parts_.empty() ? 0 : p_.items.size());
  for (Id id : scatters_) {
    Item& it = p_.items[id];
    const Node& node = g_.nodes[it.node];
    const auto joined = in_parts_.find(id);
    const std::int32_t maker = p_.maker[root_[it.from.v].v];
    const bool made_here = maker >= 0 && p_.items[maker].kind == Kind::Fused;
    if (joined == in_parts_.end() && !(made_here && scatters_in_place(id))) {
      it.last = -1;
      if (!made_here) continue;
      p_.must_store[root_[it.from.v].v] = true;
      for (Edge& e : p_.succ[static_cast<Id>(maker)])
        if (e.to == id) e.kind = EdgeKind::Memory;
      continue;
    }
    it.kind = Kind::Scatter;
    it.made = node.results[0];
    if (it.last >= 0) wanted[static_cast<Id>(it.last)] = true;
    if (joined == in_parts_.end()) continue;
    const Node& join = g_.nodes[g_.values[joined->second.v].node];
    const std::vector<JoinPlan::Part> parts =
        plan_join(g_, join, contiguous_layout(g_.meta(joined->second).layout.sizes))->parts;
    const Id end = static_cast<Id>(p_.maker[joined->second.v]);
    std::erase_if(p_.succ[end], [&](const Edge& e) { return e.to == id; });
    const int dim = dim_of_parts(joined->second);
    Item part = it;
    part.part_dim = dim;
    const std::vector<ValueId> reads = it.reads;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      part.from = parts[k].value;
      part.reads = reads;
      std::replace(part.reads.begin(), part.reads.end(), joined->second, part.from);
      Id own = id;
      if (k == 0) {
        p_.items[id] = part;
      } else {
        own = static_cast<Id>(p_.items.size());
        p_.items.push_back(part);
        p_.succ.push_back(p_.succ[id]);
        like[id].push_back(own);
      }
      p_.succ[static_cast<Id>(p_.maker[part.from.v])].push_back({own, EdgeKind::Value});
      part.part_at = part.part_at + g_.meta(part.from).size(dim);
    }
  }
  // What comes before the scatter of the first part comes before the others'.
  for (Id i = 0; i < p_.items.size() && !like.empty(); ++i) {
    const std::vector<Edge> own = p_.succ[i];
    for (const Edge& e : own)
      if (e.to < like.size() && e.kind != EdgeKind::Value)
        for (Id other : like[e.to]) p_.succ[i].push_back({other, e.kind});
  }
  for (Id last : lasts_) {
    Item& it = p_.items[last];
    if (!wanted[last]) {
      it.kind = Kind::Begin;  // a marker, which goes
      continue;
    }
    const Ints sizes = scatter_form(g_, g_.nodes[it.node])->positions();
    it.to = {p_.add_buffer({Buffer::Kind::Temp, 0, DType::Int64, bytes_of(sizes, DType::Int64)}),
             contiguous_layout(sizes)};
  }
}

}  // namespace reprise::kernels
