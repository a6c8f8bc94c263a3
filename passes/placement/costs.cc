#include "passes/placement/costs.h"

#include <algorithm>
#include <cmath>
#include <queue>
#include <tuple>

#include "base/errors.h"

namespace reprise::passes::placement {

std::string to_string(Collective c) {
  switch (c) {
    case Collective::Slice: return "slice";
    case Collective::Part: return "part";
    case Collective::AllGather: return "all_gather";
    case Collective::ReduceScatter: return "reduce_scatter";
    case Collective::AllReduce: return "all_reduce";
    case Collective::AllToAll: return "all_to_all";
  }
  return "?";
}

Sizes local_sizes(const Sizes& sizes, const Placements& p, const MeshShape& mesh) {
  Sizes local = sizes;
  for (int a = 0; a < mesh.axes(); ++a)
    if (const Placement& on = p[static_cast<std::size_t>(a)]; on.is_shard())
      local[static_cast<std::size_t>(on.dim())] /= mesh.size(a);
  return local;
}

bool fits(const Sizes& sizes, const Placements& p, const MeshShape& mesh) {
  if (static_cast<int>(p.size()) != mesh.axes()) return false;
  Sizes rest = sizes;
  const Placement* partial = nullptr;
  for (int a = 0; a < mesh.axes(); ++a) {
    const Placement& on = p[static_cast<std::size_t>(a)];
    if (on.is_partial()) {
      if (partial && partial->reduce() != on.reduce()) return false;
      partial = &on;
    }
    if (!on.is_shard()) continue;
    const auto d = static_cast<std::size_t>(on.dim());
    if (d >= rest.size() || rest[d] % mesh.size(a) != 0 || rest[d] == 0) return false;
    rest[d] /= mesh.size(a);
  }
  return true;
}

void check_costs(const PlacementCosts& c, const char* op) {
  const auto need = [&](bool ok, const char* what, double given) {
    if (!ok) fail(ErrorCode::InvalidArgument, op, {}, "costs: ", what, " is ", given);
  };
  for (const LinkCosts& l : c.axes) {
    need(l.latency_us >= 0 && std::isfinite(l.latency_us), "latency_us", l.latency_us);
    need(l.bytes_per_us > 0, "bytes_per_us of an axis", l.bytes_per_us);
  }
  need(c.flops_per_us > 0, "flops_per_us", c.flops_per_us);
  need(c.bytes_per_us > 0, "bytes_per_us", c.bytes_per_us);
}

Redistributions::Redistributions(const MeshShape& mesh, const PlacementCosts& costs, Sizes sizes,
                                 std::int64_t item_size, const std::vector<ReduceOp>& more)
    : mesh_(mesh), costs_(costs) {
  choices_.push_back(Replicate());
  for (std::size_t d = 0; d < sizes.size(); ++d) choices_.push_back(Shard(static_cast<int>(d)));
  choices_.push_back(Partial());
  for (const ReduceOp r : more)
    if (r != ReduceOp::Sum) choices_.push_back(Partial(r));
  std::size_t codes = 1;
  for (int a = 0; a < mesh_.axes(); ++a) codes *= choices_.size();
  number_of_code_.assign(codes, -1);
  for (std::size_t c = 0; c < codes; ++c) {
    Placements p(static_cast<std::size_t>(mesh_.axes()));
    std::size_t rest = c;
    for (std::size_t a = p.size(); a-- > 0; rest /= choices_.size()) p[a] = choices_[rest % choices_.size()];
    if (!fits(sizes, p, mesh_)) continue;
    bool one = false;  // an axis of one rank has nothing to shard
    for (int a = 0; a < mesh_.axes(); ++a)
      one = one || (mesh_.size(a) == 1 && !p[static_cast<std::size_t>(a)].is_replicate());
    if (one) continue;
    number_of_code_[c] = static_cast<int>(all_.size());
    std::int64_t bytes = item_size;
    for (const std::int64_t s : local_sizes(sizes, p, mesh_)) bytes *= s;
    bytes_.push_back(bytes);
    partial_.push_back(std::any_of(p.begin(), p.end(), [](const Placement& x) { return x.is_partial(); }));
    all_.push_back(std::move(p));
  }
  rows_.resize(all_.size());
}

std::size_t Redistributions::code(const Placements& p) const {
  std::size_t c = 0;
  for (const Placement& x : p) {
    const auto at = std::find(choices_.begin(), choices_.end(), x);
    if (at == choices_.end()) return number_of_code_.size();
    c = c * choices_.size() + static_cast<std::size_t>(at - choices_.begin());
  }
  return c;
}

int Redistributions::index(const Placements& p) const {
  if (static_cast<int>(p.size()) != mesh_.axes()) return -1;
  const std::size_t c = code(p);
  return c < number_of_code_.size() ? number_of_code_[c] : -1;
}

bool Redistributions::legal(const Placements& p, int axis, const Placement& to) const {
  const Placement& from = p[static_cast<std::size_t>(axis)];
  if (to.is_partial() && !from.is_replicate()) return false;
  for (std::size_t later = static_cast<std::size_t>(axis) + 1; later < p.size(); ++later)
    if (p[later].is_shard() && (p[later] == from || p[later] == to)) return false;
  return true;
}

Step Redistributions::step(int from, int axis, const Placement& to) const {
  const Placement& was = at(from)[static_cast<std::size_t>(axis)];
  const auto n = static_cast<double>(mesh_.size(axis));
  const auto bytes = static_cast<double>(local_bytes(from));
  LinkCosts link;
  if (!costs_.axes.empty())
    link = costs_.axes[std::min<std::size_t>(static_cast<std::size_t>(axis), costs_.axes.size() - 1)];
  Step s{axis, was, to, Collective::Slice, 0, 0};
  double sent = 0;
  int times = 1;  // an all_reduce is a reduce_scatter and an all_gather, and costs as much
  if (was.is_replicate()) {
    s.kind = to.is_shard() ? Collective::Slice : Collective::Part;
    return s;
  }
  if (was.is_shard()) {
    s.kind = to.is_shard() ? Collective::AllToAll : Collective::AllGather;
    sent = to.is_shard() ? bytes * (n - 1) / n : bytes * (n - 1);
  } else {
    s.kind = to.is_shard() ? Collective::ReduceScatter : Collective::AllReduce;
    sent = bytes * (n - 1) / n;
    if (to.is_replicate()) times = 2;
  }
  s.bytes = times * static_cast<std::int64_t>(std::ceil(sent));
  s.cost = times * static_cast<Cost>(std::llround(1000 * ((n - 1) * link.latency_us + sent / link.bytes_per_us)));
  return s;
}

const Redistributions::Row& Redistributions::row(int from) const {
  std::unique_ptr<Row>& made = rows_[static_cast<std::size_t>(from)];
  if (made) return *made;
  made = std::make_unique<Row>();
  Row& r = *made;
  const std::size_t n = all_.size();
  r.cost.assign(n, INT64_MAX);
  r.before.assign(n, -1);
  r.hops.assign(n, 0);
  // Dijkstra; of equal costs fewer steps, then the smaller number.
  using Entry = std::tuple<Cost, int, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
  r.cost[static_cast<std::size_t>(from)] = 0;
  open.emplace(0, 0, from);
  while (!open.empty()) {
    const auto [cost, hops, v] = open.top();
    open.pop();
    const auto at_v = static_cast<std::size_t>(v);
    if (cost != r.cost[at_v] || hops != r.hops[at_v]) continue;
    for (int a = 0; a < mesh_.axes(); ++a) {
      Placements next = all_[at_v];
      for (const Placement& to : choices_) {
        if (to == all_[at_v][static_cast<std::size_t>(a)] || !legal(all_[at_v], a, to)) continue;
        next[static_cast<std::size_t>(a)] = to;
        const int w = index(next);
        if (w < 0) continue;
        const Cost c = cost + step(v, a, to).cost;
        const auto at_w = static_cast<std::size_t>(w);
        if (c > r.cost[at_w] || (c == r.cost[at_w] && hops + 1 >= r.hops[at_w])) continue;
        r.cost[at_w] = c, r.hops[at_w] = hops + 1, r.before[at_w] = v;
        open.emplace(c, hops + 1, w);
      }
    }
  }
  return r;
}

std::vector<Step> Redistributions::steps(int from, int to) const {
  const Row& r = row(from);
  std::vector<Step> out;
  for (int at = to; at != from;) {
    const int before = r.before[static_cast<std::size_t>(at)];
    REPRISE_CHECK(before >= 0, "a placement cannot be reached");
    for (int a = 0; a < mesh_.axes(); ++a)
      if (const Placement& p = all_[static_cast<std::size_t>(at)][static_cast<std::size_t>(a)];
          p != all_[static_cast<std::size_t>(before)][static_cast<std::size_t>(a)])
        out.push_back(step(before, a, p));
    at = before;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

const Redistributions& RedistributionTables::of(const Sizes& sizes, DType t, const std::vector<ReduceOp>& more) {
  std::string key = std::to_string(item_size(t));
  for (const std::int64_t s : sizes) key += "," + std::to_string(s);
  key += "|";
  for (const ReduceOp r : more) key += to_string(r);
  std::unique_ptr<Redistributions>& made = made_[key];
  if (!made) made = std::make_unique<Redistributions>(mesh_, costs_, sizes, item_size(t), more);
  return *made;
}

}  // namespace reprise::passes::placement
