#include "kernels/plan/kept_bytes.h"

#include <algorithm>
#include <utility>

namespace reprise::kernels {

using graph::Graph;
using graph::ValueId;

namespace {

// Of few bytes there is nothing to weigh; of sizes that may be others in the next call nobody knows that they are few.
constexpr std::int64_t kFew = 64 << 10;

bool is_temp(const BufferPlan& p, std::uint32_t buffer) {
  return buffer != ~0u && p.buffers[buffer].kind == Buffer::Kind::Temp;
}

// Nobody has so much (what is never stored may be more), and sums of it do not wrap.
constexpr std::int64_t kMost = std::int64_t{1} << 45;

/// value(v) for each value that item `it` writes, buffer(b) where it writes what is none.
template <class V, class B>
void for_each_written(const Graph& g, const Item& it, V&& value, B&& buffer) {
  switch (it.kind) {
    case Item::Kind::Fused:
    case Item::Kind::Scatter: return value(it.made);
    case Item::Kind::Copy:
    case Item::Kind::Last: return buffer(it.to.buffer);
    case Item::Kind::Native:
      for (ValueId r : g.nodes[static_cast<std::size_t>(it.node)].results) value(r);
      return;
    case Item::Kind::Check:
    case Item::Kind::Begin:
    case Item::Kind::End: return;
  }
}

/// Sums over an order, from what begins and what ends at each place.
class Sweep {
 public:
  explicit Sweep(std::size_t places) : change_(places + 1) {}
  void add(std::uint32_t first, std::uint32_t last, std::int64_t bytes) {
    change_[first] += bytes, change_[last + 1] -= bytes;
  }
  std::int64_t most() const {
    std::int64_t now = 0, most = 0;
    for (std::int64_t c : change_) most = std::max(most, now += c);
    return most;
  }

 private:
  std::vector<std::int64_t> change_;
};

}  // namespace

KeptBytes::KeptBytes(const Graph& g, const BufferPlan& p, std::span<const Id> order, std::span<const ValueId> root)
    : items_(p.items), of_(g.values.size(), -1) {
  bool symbolic = false;
  std::vector<std::int32_t> of_buffer(p.buffers.size(), -1);
  auto hold = [&](Int bytes, bool value) {
    symbolic = symbolic || bytes.is_symbolic();
    holders_.push_back({.bytes = std::min(bytes.hint(), kMost), .value = value});
    return static_cast<std::int32_t>(holders_.size() - 1);
  };
  auto by_buffer = [&](std::uint32_t b) {
    if (!is_temp(p, b)) return -1;
    if (of_buffer[b] < 0) of_buffer[b] = hold(p.buffers[b].bytes, false);
    return of_buffer[b];
  };
  auto by_value = [&](ValueId v) {
    const ValueId r = root[v.v];
    if (of_[r.v] < 0) {
      const Place& at = p.place[r.v];
      const TensorMeta& m = g.meta(r);
      if (at.buffer != ~0u) of_[r.v] = by_buffer(at.buffer);
      else if (p.maker[r.v] >= 0) of_[r.v] = hold(bytes_of(m.layout.sizes, m.dtype), true);
    }
    return of_[v.v] = of_[r.v];
  };
  for (std::uint32_t at = 0; at < order.size(); ++at) {
    const Item& it = p.items[order[at]];
    auto held = [&](std::int32_t h) {
      if (h < 0) return;
      Holder& holder = holders_[static_cast<std::size_t>(h)];
      holder.first = std::min(holder.first, at), holder.last = std::max(holder.last, at);
    };
    for (ValueId r : it.reads) held(by_value(r));
    for_each_written(
        g, it, [&](ValueId v) { held(by_value(v)); }, [&](std::uint32_t b) { held(by_buffer(b)); });
  }
  Sweep sweep(order.size());
  for (const Holder& h : holders_) sweep.add(h.first, h.last, h.bytes);
  unfused_ = sweep.most();
  leaves_ = order.size();
  bound_ = std::max(unfused_ + unfused_ / 10, symbolic ? 0 : unfused_ + kFew);
}

void KeptBytes::plant() {
  added_.assign(4 * leaves_, 0), most_.assign(4 * leaves_, 0);
  for (const Holder& h : holders_) add(h.first, h.last, h.bytes);
}

void KeptBytes::add(std::uint32_t first, std::uint32_t last, std::int64_t bytes) {
  auto below = [&](auto&& self, std::size_t node, std::size_t from, std::size_t to) -> void {
    if (last < from || to < first) return;
    if (first <= from && to <= last) return void((added_[node] += bytes, most_[node] += bytes));
    const std::size_t middle = from + (to - from) / 2;
    self(self, 2 * node, from, middle), self(self, 2 * node + 1, middle + 1, to);
    most_[node] = added_[node] + std::max(most_[2 * node], most_[2 * node + 1]);
  };
  below(below, 1, 0, leaves_ - 1);
}

std::int64_t KeptBytes::most_in(std::uint32_t first, std::uint32_t last) const {
  auto below = [&](auto&& self, std::size_t node, std::size_t from, std::size_t to) -> std::int64_t {
    if (last < from || to < first) return 0;
    if (first <= from && to <= last) return most_[node];
    const std::size_t middle = from + (to - from) / 2;
    return added_[node] + std::max(self(self, 2 * node, from, middle), self(self, 2 * node + 1, middle + 1, to));
  };
  return below(below, 1, 0, leaves_ - 1);
}

bool KeptBytes::run_at(Id i, std::uint32_t from, std::uint32_t at, bool stored, std::span<const ValueId> beside) {
  if (added_.empty()) plant();
  struct Was {
    std::int32_t holder;
    Holder was;
  };
  std::vector<Was> changed;
  auto put = [&](Holder& now, const Holder& to) {
    if (now.bytes) add(now.first, now.last, -now.bytes);
    if (to.bytes) add(to.first, to.last, to.bytes);
    now = to;
  };
  auto change = [&](std::int32_t h, const Holder& to) {
    changed.push_back({h, holders_[static_cast<std::size_t>(h)]});
    put(holders_[static_cast<std::size_t>(h)], to);
  };
  for (ValueId r : items_[i].reads) {
    const std::int32_t h = of_[r.v];
    if (h < 0 || holders_[static_cast<std::size_t>(h)].last >= at) continue;
    Holder longer = holders_[static_cast<std::size_t>(h)];
    longer.last = at;
    change(h, longer);
  }
  std::uint32_t until = at;
  for (ValueId v : beside) {
    const std::int32_t h = of_[v.v];
    if (h < 0 || !holders_[static_cast<std::size_t>(h)].value || holders_[static_cast<std::size_t>(h)].first <= at)
      continue;
    Holder longer = holders_[static_cast<std::size_t>(h)];
    until = std::max(until, std::exchange(longer.first, at));
    change(h, longer);
  }
  const bool kept_more = !changed.empty();
  // A buffer that is there already others write, too.
  if (items_[i].kind == Item::Kind::Fused)
    if (const std::int32_t h = of_[items_[i].made.v]; h >= 0 && holders_[static_cast<std::size_t>(h)].value) {
      Holder less = holders_[static_cast<std::size_t>(h)];
      if (!stored) less.bytes = 0;
      else less.first = std::min(at, less.last);
      change(h, less);
    }
  if (!kept_more || most_in(std::min(from, at), until) <= bound_) return true;
  for (std::size_t k = changed.size(); k-- > 0;) {
    const Was back = changed[k];
    put(holders_[static_cast<std::size_t>(back.holder)], back.was);
  }
  if (std::exchange(refused_, i) != i) ++apart_;
  return false;
}

std::int64_t most_kept(const Graph& g, const BufferPlan& p, const std::vector<Unit>& units,
                       std::span<const ValueId> root) {
  constexpr std::uint32_t kNever = ~0u;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> lives(p.buffers.size(), {kNever, 0});
  for (std::uint32_t at = 0; at < units.size(); ++at) {
    auto held = [&](std::uint32_t b) {
      if (is_temp(p, b)) lives[b] = {std::min(lives[b].first, at), at};
    };
    for (std::uint32_t i : units[at].items) {
      for (ValueId r : p.items[i].reads) held(p.place[root[r.v].v].buffer);
      for_each_written(
          g, p.items[i], [&](ValueId v) { held(p.place[v.v].buffer); }, held);
    }
  }
  Sweep sweep(units.size());
  for (std::size_t b = 0; b < lives.size(); ++b)
    if (lives[b].first != kNever)
      sweep.add(lives[b].first, lives[b].second, std::min(p.buffers[b].bytes.hint(), kMost));
  return sweep.most();
}

}  // namespace reprise::kernels
