#include "kernels/plan/fuse.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/errors.h"
#include "base/hash.h"
#include "base/log.h"
#include "kernels/loop/pointwise.h"
#include "kernels/plan/fuse_order.h"
#include "kernels/plan/kept_bytes.h"
#include "kernels/plan/scatter.h"

namespace reprise::kernels {

using graph::Graph;
using graph::Node;
using graph::OpClass;
using graph::OpId;
using graph::ValueId;
using Id = std::uint32_t;

namespace {

constexpr std::size_t kMaxLoops = 12;
constexpr std::size_t kMaxStores = 8;  // a kernel with very many outputs runs out of registers
// Making code takes longer than in proportion to its length, so a kernel's length has a bound.
constexpr std::size_t kMaxItems = 256;
constexpr int kMaxReductions = 16;

// What is asked for one item has a bound, so that the whole is linear. Where it is reached the item gets a kernel of
// its own.
constexpr std::size_t kMostUnits = 8;    // kernels tried for a store
constexpr std::size_t kMostBeside = 32;  // kernels over the same space looked at, the latest ones
constexpr std::size_t kMostRead = 64;    // values followed to see whether two kernels read the same
constexpr std::size_t kMostCopies = 64;  // kernels that each compute a cheap item for themselves

class Fuse {
 public:
  /// `kept`: what is asked whether it would keep too much; null: nothing.
  Fuse(const Graph& g, BufferPlan& p, bool on, FuseOrder order, const std::vector<ValueId>& root, KeptBytes* kept)
      : g_(g), p_(p), on_(on), order_(std::move(order)), uses_(g.values.size()), root_(root), kept_(kept),
        mine_(g.values.size()), its_(g.values.size()) {}

  std::vector<Unit> run() {
    for (std::size_t k = order_.items().size(); k-- > 0;) {
      Id i = order_.items()[k];
      const Item& it = p_.items[i];
      switch (it.kind) {
        case Item::Kind::Begin:
        case Item::Kind::End: break;
        case Item::Kind::Native:
        case Item::Kind::Check:
        case Item::Kind::Last: new_unit(i).loop = false; break;
        case Item::Kind::Copy:
        case Item::Kind::Scatter: store(i); break;
        case Item::Kind::Fused:
          if (p_.must_store[it.made.v] || !inline_everywhere(i)) store(i);
          break;
      }
      order_.connect(i);
    }
    return order_.sorted(std::move(units_));
  }

 private:
  struct Use {
    std::uint32_t unit;
    std::size_t demand;
  };
  // ---- order
  /// May item i, wanted at `map`, be computed in unit u? `everywhere`: each of its users computes it for itself.
  bool legal(Id i, std::uint32_t u, const IndexMap& map, bool everywhere, const char** why) {
    const Item& it = p_.items[i];
    const std::vector<std::uint32_t>& memory = units_[u].from_memory;
    if (it.kind == Item::Kind::Fused && std::find(memory.begin(), memory.end(), it.made.v) != memory.end()) {
      return *why = "a user reads it through a view that merges dimensions", false;
    }
    // Of an extent of 0 no map tells how its elements lie in a merged dimension, and there is nothing to gain.
    if (is_empty(sizes_of(value_of(i))) || is_empty(units_[u].extents))
      return *why = "there are no elements to compute", false;
    starts_.clear();
    for (const Edge& e : p_.succ[i]) {
      if (everywhere && e.kind == EdgeKind::Value) continue;
      for (std::uint32_t w : order_.units_of(e.to)) {
        if (w != u) {
          starts_.push_back(w);
          continue;
        }
        if (e.kind == EdgeKind::Memory) return *why = "its user reads it from memory", false;
        if (e.kind == EdgeKind::Anti && !overwrites_same_element(i, map, u, e.to)) {
          return *why = "its user overwrites what it reads, at other indices", false;
        }
      }
    }
    if (order_.leads_to(starts_, u)) return *why = "other work stands between it and its user", false;
    return true;
  }

  /// Item i reads, at `map`, contents that item w (stored in unit u) overwrites: is it the same element each time, or
  /// one that w does not write at all? What else writes there in u is asked for itself. Then it is right also where u
  /// reduces: what varies over reduced loops is stored in their last run, when each sum is finished, and no other index
  /// reads what is stored at this one.
  bool overwrites_same_element(Id i, const IndexMap& map, std::uint32_t u, Id w) const {
    if (p_.items[w].kind == Item::Kind::Scatter) return false;  // which it overwrites nobody knows
    const Place& to = store_place(w);
    const IndexMap* at = nullptr;
    for (const Unit::Store& s : units_[u].stores) {
      if (s.item == w) at = &s.map;
    }
    if (!at || to.buffer == ~0u || is_gather(i)) return false;
    Unit loops;  // as they are when i has joined
    loops.extents = units_[u].extents, loops.reduced = units_[u].reduced, loops.part = units_[u].part;
    if (is_reduction(i)) loops.fold(left_out(map));
    Access written = access_of(*at, to.layout);
    const DType to_dtype =
        p_.items[w].kind == Item::Kind::Copy ? p_.items[w].to_dtype : g_.meta(p_.items[w].made).dtype;
    bool met = false;
    for (const Unit::Demand& d : operand_maps(g_, p_.items[i], map, loops)) {
      ValueId r = root_of(d.value);
      const Place& from = p_.place[r.v];
      if (from.buffer != to.buffer) continue;
      auto layout = layout_from_root(g_, d.value, from.layout);
      if (!layout || (!same_access(access_of(d.map, *layout), written) &&
                      !(g_.meta(d.value).dtype == to_dtype && known_disjoint(*layout, to.layout))))
        return false;
      met = true;
    }
    return met;
  }
  const Place& store_place(Id i) const {
    const Item& it = p_.items[i];
    return it.kind == Item::Kind::Copy ? it.to : p_.place[it.made.v];
  }

  /// Does little stay alive when i is computed inside all its users, and nowhere stored?
  bool keeps_little(Id i, const std::vector<Use>& uses) {
    std::uint32_t at = 0;
    for (const Use& use : uses) at = std::max(at, runs_at_[use.unit]);
    return !kept_ || kept_->run_at(i, order_.rank(i), at, false);
  }
  /// The same where u stores it: u then runs in its turn, or when all that u reads is there.
  bool store_keeps_little(Id i, std::uint32_t u) {
    if (!kept_) return true;
    std::uint32_t at = order_.rank(i);
    for (std::uint32_t r : units_[u].reads) {
      const std::int32_t m = p_.maker[r];
      if (m < 0 || static_cast<Id>(m) == i) continue;
      const std::vector<std::uint32_t>& in = order_.units_of(static_cast<Id>(m));
      if (std::find(in.begin(), in.end(), u) == in.end()) at = std::max(at, order_.rank(static_cast<Id>(m)) + 1);
    }
    std::vector<ValueId> beside;
    for (const Unit::Store& s : units_[u].stores)
      if (p_.items[s.item].kind == Item::Kind::Fused) beside.push_back(p_.items[s.item].made);
    at = std::min(at, runs_at_[u]);
    if (!kept_->run_at(i, order_.rank(i), at, true, beside)) return false;
    runs_at_[u] = at;
    return true;
  }

  // ---- what an item is
  const Node& node_of(Id i) const { return g_.nodes[p_.items[i].node]; }
  OpClass class_of(Id i) const { return graph::op(node_of(i).op).cls; }
  bool is_reduction(Id i) const { return p_.items[i].kind == Item::Kind::Fused && class_of(i) == OpClass::Reduction; }
  bool is_gather(Id i) const { return p_.items[i].kind == Item::Kind::Fused && class_of(i) == OpClass::Gather; }
  bool cheap(Id i) const { return !is_reduction(i) && !is_costly(node_of(i).op); }
  ValueId root_of(ValueId v) const { return root_[v.v]; }
  ValueId value_of(Id i) const { return p_.items[i].kind == Item::Kind::Fused ? p_.items[i].made : p_.items[i].from; }
  /// The space that a store of i runs over.
  Ints stored_sizes(Id i) const {
    return p_.items[i].kind == Item::Kind::Scatter && p_.items[i].part_dim < 0 ? scatter_form(g_, node_of(i))->walk
                                                                               : sizes_of(value_of(i));
  }
  const Ints& sizes_of(ValueId v) const { return g_.meta(v).layout.sizes; }
  static bool is_empty(const Ints& extents) {
    return std::any_of(extents.begin(), extents.end(), [](Int n) { return is_number(n, 0); });
  }
  bool fused_maker(ValueId root) const {
    std::int32_t m = p_.maker[root.v];
    return m >= 0 && p_.items[m].kind == Item::Kind::Fused;
  }
  /// Worth computing again in each of several users: one cheap step from memory.
  bool recomputable(Id i) const {
    if (!cheap(i) || is_gather(i)) return false;
    int operands = 0;
    for (ValueId v : p_.items[i].reads) {
      ValueId r = root_of(v);
      if (fused_maker(r) && !p_.must_store[r.v] && class_of(static_cast<Id>(p_.maker[r.v])) != OpClass::Creation)
        return false;
      operands += class_of_value(r) != OpClass::Creation;
    }
    return operands <= 1;
  }
  OpClass class_of_value(ValueId r) const {
    std::int32_t n = g_.values[r.v].node;
    return n < 0 ? OpClass::Reference : graph::op(g_.nodes[n].op).cls;
  }

  // ---- inside the users
  /// In the order of the units.
  std::vector<Use> uses_of(ValueId v) const {
    std::vector<Use> out = uses_[v.v];
    std::sort(out.begin(), out.end(),
              [](const Use& a, const Use& b) { return std::pair(a.unit, a.demand) < std::pair(b.unit, b.demand); });
    return out;
  }

  /// True when i is computed inside all its users (or has none).
  bool inline_everywhere(Id i) {
    ValueId v = p_.items[i].made;
    std::vector<Use> uses = uses_of(v);
    if (uses.empty()) return true;
    if (!on_) return false;
    bool one_unit = std::all_of(uses.begin(), uses.end(), [&](const Use& u) { return u.unit == uses[0].unit; });
    if (uses.size() > 1 && !(one_unit ? cheap(i) && uses.size() <= 4 : uses.size() <= kMostCopies && recomputable(i)))
      return note(i, uses, "several users want it"), false;
    const char* why = "";
    for (const Use& use : uses) {
      const Unit& u = units_[use.unit];
      const IndexMap& map = u.demands[use.demand].map;
      if (is_full(i, u)) return note(i, uses, "its user's kernel is long already"), false;
      bool again = !is_reduction(i) && !cheap(i) && repeats(u, map, &why) && !of_a_row(i, use.unit, map, 8);
      if (again || (is_reduction(i) && !fits_reduction(i, u, map, &why))) return note(i, uses, why), false;
      if (!legal(i, use.unit, map, true, &why)) return note(i, uses, why), false;
    }
    if (!keeps_little(i, uses)) return note(i, uses, "what it reads would be kept too long"), false;
    for (const Use& use : uses) {
      if (!units_[use.unit].has(i)) join_unit(i, use.unit);
      if (is_reduction(i)) units_[use.unit].fold(left_out(units_[use.unit].demands[use.demand].map));
    }
    for (const Use& use : uses)
      demand_operands(i, use.unit, [&]() -> const IndexMap& { return units_[use.unit].demands[use.demand].map; });
    return true;
  }

  bool is_full(Id i, const Unit& u) const {
    if (u.has(i)) return false;
    if (!is_reduction(i)) return u.items.size() >= kMaxItems;
    return std::count_if(u.items.begin(), u.items.end(), [&](Id o) { return is_reduction(o); }) >= kMaxReductions;
  }

  /// Would the item be computed again and again because a kept loop does not move it?
  bool repeats(const Unit& u, const IndexMap& map, const char** why) const {
    for (std::size_t l = 0; l < u.extents.size(); ++l) {
      if (u.reduced[l] || is_number(u.extents[l], 1)) continue;
      bool moves = false;
      for (const Coord& c : map.dims) moves = moves || !is_number(c.coefs[l], 0);
      if (!moves) return *why = "it is expensive and its user would compute it again for every repetition", true;
    }
    return false;
  }

  /// The item works on a reduction over the very loops that do not move it (log of a softmax's sum): that reduction
  /// will join unit u, and then the item is computed once for each kept index.
  bool of_a_row(Id i, std::uint32_t u, const IndexMap& map, int depth) const {
    if (depth == 0) return false;
    for (Unit::Demand d : operand_maps(g_, p_.items[i], map, units_[u])) {
      ValueId root = root_of(d.value);
      if (!fused_maker(root)) continue;
      bool affine = true;
      while (d.value != root && affine) {
        const Node& view = g_.nodes[g_.values[d.value.v].node];
        auto inner = through_view(g_, view, d.map, units_[u].extents);
        affine = inner.has_value();
        if (affine) d = {std::get<ValueId>(view.args[0]), std::move(*inner)};
      }
      if (!affine) continue;
      Id maker = static_cast<Id>(p_.maker[root.v]);
      const char* why = "";
      if (is_reduction(maker) ? fits_reduction(maker, units_[u], d.map, &why)
                              : !is_gather(maker) && of_a_row(maker, u, d.map, depth - 1))
        return true;
    }
    return false;
  }

  void join_unit(Id i, std::uint32_t u) {
    units_[u].items.push_back(i);
    order_.units_of(i).push_back(u);
  }

  /// Tells unit u what i needs. `map()` is asked again after a loop was split, which rewrites every map of the unit.
  template <class Map>
  void demand_operands(Id i, std::uint32_t u, Map&& map) {
    for (bool again = true; again;) {
      again = false;
      for (const Unit::Demand& d : operand_maps(g_, p_.items[i], map(), units_[u])) {
        if (demand(u, d.value, d.map)) {
          again = true;
          break;
        }
      }
    }
    if (is_gather(i)) note_read(u, root_of(std::get<ValueId>(node_of(i).args[0])));
  }
  void note_read(std::uint32_t u, ValueId root) {
    auto& reads = units_[u].reads;
    if (std::find(reads.begin(), reads.end(), root.v) == reads.end()) reads.push_back(root.v);
  }

  /// Unit u looks at v's element `map`. True: a loop of the unit was split, maps must be made again.
  bool demand(std::uint32_t u, ValueId v, IndexMap map) {
    ValueId root = root_of(v);
    note_read(u, root);
    if (!fused_maker(root)) return false;
    while (v != root) {
      const Node& view = g_.nodes[g_.values[v.v].node];
      auto inner = through_view(g_, view, map, units_[u].extents);
      if (!inner) {
        Ints into;
        int l = loop_to_split(g_, view, map, units_[u].extents, into);
        if (on_ && l >= 0 && (!units_[u].has_reduce() || units_[u].reduced[static_cast<std::size_t>(l)]) &&
            units_[u].extents.size() + into.size() <= kMaxLoops) {
          units_[u].split(l, into);
          note_space(u);
          return true;
        }
        p_.must_store[root.v] = true;
        units_[u].from_memory.push_back(root.v);
        return false;
      }
      map = std::move(*inner);
      v = std::get<ValueId>(view.args[0]);
    }
    for (const Unit::Demand& d : units_[u].demands) {
      if (d.value == v && identical_maps(d.map, map)) return false;
    }
    uses_[v.v].push_back({u, units_[u].demands.size()});
    units_[u].demands.push_back({v, std::move(map)});
    return false;
  }

  // ---- reductions
  /// Can reduction i, wanted at `map`, run over the loops of u that the map leaves out?
  bool fits_reduction(Id i, const Unit& u, const IndexMap& map, const char** why) const {
    *why = "its user runs over another space";
    const Ints& in = sizes_of(std::get<ValueId>(node_of(i).args[0]));
    const std::optional<std::vector<bool>> used = loops_over(u, map, sizes_of(p_.items[i].made));
    if (!used) return false;
    std::vector<bool> folded = *used;
    folded.flip();
    std::vector<bool> reduced = reduced_dims(g_, node_of(i));
    std::size_t l = 0;
    Int count = 1;
    for (std::size_t d = 0; d < in.size(); ++d) {
      if (!reduced[d]) continue;
      count = count * in[d];
      if (is_number(in[d], 1)) continue;
      Int covered = 1;
      for (bool any = false; !any || !same_number(covered, in[d]); ++l) {
        if (l == folded.size()) return false;
        if (folded[l]) covered = covered * u.extents[l], any = true;
      }
    }
    if (std::find(folded.begin() + static_cast<std::ptrdiff_t>(l), folded.end(), true) != folded.end()) return false;
    if (std::find(folded.begin(), folded.end(), true) == folded.end()) return false;
    if (!u.may_fold(folded)) return *why = "its user reduces over other dimensions", false;
    const bool any_kept = std::find(used->begin(), used->end(), true) != used->end();
    if (!any_kept && count.hint() > Unit::kSerialReduction)
      return *why = "a large reduction to one number gets a kernel of its own", false;
    return true;
  }

  // ---- stores
  void add_unit(Id first, Unit unit) {
    units_.push_back(std::move(unit));
    runs_at_.push_back(order_.rank(first));
    order_.add_unit();
  }
  Unit& new_unit(Id i) {
    order_.units_of(i) = {static_cast<std::uint32_t>(units_.size())};
    add_unit(i, {});
    units_.back().items = {i};
    return units_.back();
  }

  void store(Id i) {
    ValueId v = value_of(i);
    if (p_.items[i].kind == Item::Kind::Fused) {
      p_.must_store[v.v] = true;
      if (p_.place[v.v].buffer == ~0u) {
        const TensorMeta& m = g_.meta(v);
        p_.place[v.v] = {p_.add_buffer({Buffer::Kind::Temp, 0, m.dtype, bytes_of(m.layout.sizes, m.dtype)}),
                         contiguous_layout(m.layout.sizes)};
      }
    }
    if (!on_ || !store_in_user(i)) {
      if (!on_ || !store_beside(i)) store_alone(i);
    }
  }

  void add_store(Id i, std::uint32_t u, IndexMap map) {
    if (!units_[u].has(i)) join_unit(i, u);
    units_[u].stores.push_back({i, std::move(map)});
    std::size_t at = units_[u].stores.size() - 1;
    demand_operands(i, u, [&]() -> const IndexMap& { return units_[u].stores[at].map; });
  }

  /// Which loops of u move `map`, if it runs over every element of `sizes` exactly once as they do.
  static std::optional<std::vector<bool>> loops_over(const Unit& u, const IndexMap& map, const Ints& sizes) {
    std::vector<bool> used(u.extents.size());
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      if (is_zero(map.dims[d]) && is_number(sizes[d], 1)) continue;
      const std::vector<std::size_t> loops = loops_through(map.dims[d], sizes[d], u.extents);
      if (loops.empty()) return std::nullopt;
      for (std::size_t l : loops) {
        if (used[l]) return std::nullopt;
        used[l] = true;
      }
    }
    return used;
  }
  /// May item i, wanted at `map`, be stored by u as its loops move? `rows`: once they are kept and reduced ones, those
  /// that move it kept. Nothing but what is made of a reduction asks for that: it joins the kernel next, and one kernel
  /// goes over the rows as often as it must.
  bool stores_as_it_runs(Id i, std::uint32_t n, const IndexMap& map, bool* rows) const {
    const Unit& u = units_[n];
    const std::optional<std::vector<bool>> used = loops_over(u, map, sizes_of(p_.items[i].made));
    if (!used) return false;
    const bool all = std::find(used->begin(), used->end(), false) == used->end();
    if (all) return true;
    std::vector<bool> folded = *used;
    folded.flip();
    if (u.has_reduce() && u.folds(folded)) return true;
    return *rows = u.may_fold(folded) && of_a_row(i, n, map, 8);
  }

  bool store_in_user(Id i) {
    if (p_.items[i].kind != Item::Kind::Fused) return false;
    ValueId v = p_.items[i].made;
    const char* why = "no user runs over exactly its elements";
    std::vector<Use> uses = uses_of(v);
    std::size_t tried = 0;
    for (std::size_t k = 0; k < uses.size() && tried < kMostUnits; ++k) {
      const Use& use = uses[k];
      const Unit& u = units_[use.unit];
      bool alone = (k == 0 || uses[k - 1].unit != use.unit) && (k + 1 == uses.size() || uses[k + 1].unit != use.unit);
      if (!alone || u.stores.size() >= kMaxStores || is_full(i, u)) continue;
      const IndexMap map = u.demands[use.demand].map;
      bool rows = is_reduction(i);
      if (rows ? !fits_reduction(i, u, map, &why) : !stores_as_it_runs(i, use.unit, map, &rows)) continue;
      ++tried;
      if (!legal(i, use.unit, map, false, &why) || !writes_where_nobody_reads(i, use.unit) ||
          !store_keeps_little(i, use.unit))
        continue;
      if (rows) units_[use.unit].fold(left_out(map));
      add_store(i, use.unit, map);
      return true;
    }
    note(i, uses, why);
    return false;
  }

  /// A store over an input's old value shares a kernel only with readers that are ordered before it; those that were
  /// placed in u before are users of new values, so nothing in u may still look at the place otherwise.
  bool writes_where_nobody_reads(Id i, std::uint32_t u) const {
    std::uint32_t b = store_place(i).buffer;
    if (p_.buffers[b].kind != Buffer::Kind::Input) return true;
    for (std::uint32_t r : units_[u].reads) {
      if (p_.place[r].buffer == b && p_.maker[r] < 0) return false;
    }
    return true;
  }

  /// Values marked one after the other, and all forgotten at once.
  struct Marked {
    explicit Marked(std::size_t values) : at(values) {}
    bool add(ValueId v) { return std::exchange(at[v.v], turn) != turn; }
    bool has(ValueId v) const { return at[v.v] == turn; }
    std::vector<std::uint32_t> at;
    std::uint32_t turn = 0;
  };
  /// Of what is read: the roots, and what those that are made on the way read in their turn, the nearest kMostRead.
  /// Marks them in `seen` until `stop` says so of one; true then.
  template <class Stop>
  bool looks_at(std::vector<ValueId> read, Marked& seen, Stop&& stop) const {
    ++seen.turn;
    for (std::size_t k = 0; k < read.size() && k < kMostRead; ++k) {
      ValueId r = root_of(read[k]);
      if (!seen.add(r)) continue;
      if (stop(r)) return true;
      if (!fused_maker(r) || p_.must_store[r.v]) continue;
      const std::vector<ValueId>& more = p_.items[static_cast<std::size_t>(p_.maker[r.v])].reads;
      read.insert(read.end(), more.begin(), more.end());
    }
    return false;
  }

  /// Units by the sizes of their loops in the traced call: those over the same space are among them.
  static std::uint64_t space_key(const Ints& extents) {
    std::uint64_t h = kHashSeed;
    for (Int e : extents) h = hash_mix(h, static_cast<std::uint64_t>(e.hint()));
    return h;
  }
  void note_space(std::uint32_t u) { over_[space_key(units_[u].extents)].push_back(u); }

  /// A kernel over the same space that reads the same values.
  bool store_beside(Id i) {
    Unit probe = space_of(i);
    auto open = [&](std::uint32_t n) { return units_[n].stores.size() < kMaxStores; };
    // The latest that are open; those met on the way that are not are forgotten, so that nobody meets them again.
    std::vector<std::uint32_t>& all = over_[space_key(probe.extents)];
    auto first = all.end();
    for (std::size_t n = 0; n < kMostBeside && first != all.begin();) n += open(*--first);
    all.erase(std::remove_if(first, all.end(), [&](std::uint32_t n) { return !open(n); }), all.end());
    std::vector<std::uint32_t> candidates(all.end() - static_cast<std::ptrdiff_t>(std::min(all.size(), kMostBeside)),
                                          all.end());
    // The nearest first: in a program of many layers others read the same values, too (angles of positions), but come
    // too late or too soon.
    std::sort(candidates.begin(), candidates.end(), std::greater<>());
    looks_at(p_.items[i].reads, mine_, [](ValueId) { return false; });
    const char* why = "";
    std::size_t tried = 0;
    for (std::uint32_t n : candidates) {
      Unit& u = units_[n];
      if (tried == kMostUnits) break;
      if (!open(n) || is_full(i, u)) continue;
      std::vector<ValueId> read;
      for (std::uint32_t r : u.reads) read.push_back({r});
      if (!looks_at(std::move(read), its_, [&](ValueId r) { return mine_.has(r); })) continue;
      if (!same_numbers(u.extents, probe.extents)) continue;  // last of what costs something: it is a proof
      if (probe.has_reduce() && !u.may_fold(probe.reduced)) continue;
      IndexMap map = probe.stores[0].map;
      bool elsewhere = std::any_of(u.demands.begin(), u.demands.end(), [&](const Unit::Demand& d) {
        return d.value == p_.items[i].made && !identical_maps(d.map, map);
      });
      if (elsewhere) continue;  // u also looks at other elements of it than it would make
      ++tried;
      if (!legal(i, n, map, false, &why) || !writes_where_nobody_reads(i, n) || !store_keeps_little(i, n)) continue;
      if (probe.has_reduce()) u.fold(probe.reduced);
      add_store(i, n, map);
      return true;
    }
    return false;
  }
  void store_alone(Id i) {
    Unit probe = space_of(i);
    IndexMap map = probe.stores[0].map;
    probe.stores.clear();
    probe.items = {};
    add_unit(i, std::move(probe));
    order_.units_of(i).clear();
    note_space(static_cast<std::uint32_t>(units_.size() - 1));
    add_store(i, static_cast<std::uint32_t>(units_.size() - 1), std::move(map));
  }

  /// A unit over the item's own space with one store: its map. Loops stand in the order of the dims (of a reduction's
  /// operand).
  Unit space_of(Id i) const {
    Unit u;
    u.loop = true;
    bool reduction = is_reduction(i);
    const Ints space = reduction ? sizes_of(std::get<ValueId>(node_of(i).args[0])) : stored_sizes(i);
    std::vector<bool> reduced(space.size());
    if (reduction) reduced = reduced_dims(g_, node_of(i));
    std::vector<int> loop_of(space.size(), -1);
    for (std::size_t d = 0; d < space.size(); ++d) {
      if (is_number(space[d], 1)) continue;
      loop_of[d] = static_cast<int>(u.extents.size());
      u.extents.push_back(space[d]);
      u.reduced.push_back(reduced[d]);
    }
    if (reduction && !u.has_reduce()) {  // of nothing but dims of size 1
      u.extents.push_back(1);
      u.reduced.push_back(true);
    }
    IndexMap map;
    map.loops = u.extents.size();
    bool keep = !reduction || keeps_dims(node_of(i));
    for (std::size_t d = 0; d < space.size(); ++d) {
      if (reduced[d] && !keep) continue;
      map.dims.push_back(loop_of[d] < 0 || reduced[d] ? constant_coord(0, map.loops)
                                                      : loop_coord(static_cast<std::size_t>(loop_of[d]), map.loops));
    }
    u.stores.push_back({i, std::move(map)});
    return u;
  }

  // ---- the log
  void note(Id i, const std::vector<Use>& uses, const char* why) const {
    if (uses.empty() || !logs::on(logs::Channel::Fusion)) return;
    std::string name(graph::op(node_of(i).op).name());
    logs::event(logs::Event::not_fused, g_.name, name + " is stored: " + why,
                {{"op", name}, {"why", why}, {"users", uses.size()}});
  }

  const Graph& g_;
  BufferPlan& p_;
  bool on_;
  FuseOrder order_;
  std::vector<Unit> units_;
  std::vector<std::vector<Use>> uses_;  // by value
  // by space_key; a unit may stand under former keys, too
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> over_;
  std::vector<std::uint32_t> starts_;  // of a search
  const std::vector<ValueId>& root_;   // by value
  KeptBytes* kept_;
  // by unit: the turn in which it will run, as far as that is known
  std::vector<std::uint32_t> runs_at_;
  Marked mine_, its_;
};

}  // namespace

std::vector<Unit> fuse(const Graph& g, BufferPlan& plan, bool on) {
  const FuseOrder order(plan);
  const std::vector<ValueId> root = roots_of(g);
  if (!on) return Fuse(g, plan, false, order, root, nullptr).run();
  KeptBytes kept(g, plan, order.items(), root);
  const std::size_t buffers = plan.buffers.size();
  const std::vector<bool> must_store = plan.must_store;
  std::vector<Unit> units = Fuse(g, plan, true, order, root, nullptr).run();
  const std::int64_t freely = most_kept(g, plan, units, root);
  if (freely <= kept.bound()) return units;
  // As it was before.
  for (Place& at : plan.place)
    if (at.buffer != ~0u && at.buffer >= buffers) at = {};
  plan.buffers.erase(plan.buffers.begin() + static_cast<std::ptrdiff_t>(buffers), plan.buffers.end());
  plan.must_store = must_store;
  units = Fuse(g, plan, true, order, root, &kept).run();
  if (logs::on(logs::Channel::Fusion)) {
    const std::int64_t now = most_kept(g, plan, units, root);
    auto text = [](std::int64_t bytes) { return std::to_string(bytes) + " bytes"; };
    logs::event(logs::Event::kept_apart, g.name,
                "fusion would keep " + text(freely) + " at a time, single operators " + text(kept.unfused()) + "; " +
                    std::to_string(kept.apart()) + " operators did not join a kernel for that: " + text(now),
                {{"fused", freely}, {"unfused", kept.unfused()}, {"kept", now}, {"apart", kept.apart()}});
  }
  return units;
}

}  // namespace reprise::kernels
