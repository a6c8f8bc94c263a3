// What fusion asks of single items: the elements their operands are read at, the loops they reduce over, their cost.
#include <algorithm>

#include "kernels/plan/fuse.h"
#include "kernels/plan/gather.h"
#include "kernels/plan/scatter.h"

namespace reprise::kernels {

using graph::Graph;
using graph::Node;
using graph::OpClass;
using graph::OpId;
using graph::ValueId;
using Id = std::uint32_t;

// Note [Reductions of rows and of their parts]
// A kernel folds its reduced loops; beside that it may fold the inner ones of them alone, which makes the others count
// the parts of a row (a row's norm, then the greatest of each 128 of it: [T, K] seen as [T, K / 128, 128]). The loops
// over parts come first in the order of the space, so that a row's dimension is counted through by both. A row is one
// task's: it must be short, or there must be many.
namespace {

constexpr std::int64_t kLongestRow = 1 << 17, kManyRows = 64;  // of a kernel that also reduces parts of rows

bool covers(const std::vector<bool>& a, const std::vector<bool>& b) {
  for (std::size_t l = 0; l < a.size(); ++l)
    if (b[l] && !a[l]) return false;
  return true;
}

}  // namespace

bool Unit::has_reduce() const { return std::find(reduced.begin(), reduced.end(), true) != reduced.end(); }
bool Unit::has_parts() const { return std::find(part.begin(), part.end(), true) != part.end(); }
bool Unit::folds(const std::vector<bool>& loops) const {
  if (loops == reduced) return true;
  bool inside = has_parts();
  for (std::size_t l = 0; inside && l < loops.size(); ++l) inside = loops[l] == (reduced[l] && !part[l]);
  return inside;
}
bool Unit::may_fold(const std::vector<bool>& loops) const {
  if (!has_reduce() || folds(loops)) return true;
  if (has_parts()) return false;
  const bool outer = covers(loops, reduced), inner = covers(reduced, loops);
  if (!outer && !inner) return false;
  const std::vector<bool>& all = outer ? loops : reduced;
  const std::vector<bool>& inside = outer ? reduced : loops;
  std::int64_t row = 1, kept = 1;
  bool met_inside = false;
  for (std::size_t l = 0; l < all.size(); ++l) {
    std::int64_t& n = all[l] ? row : kept;
    if (__builtin_mul_overflow(n, extents[l].hint(), &n)) return false;
    if (all[l] && !inside[l] && met_inside) return false;
    met_inside = met_inside || inside[l];
  }
  return row <= kSerialReduction || (row <= kLongestRow && kept >= kManyRows);
}
void Unit::fold(const std::vector<bool>& loops) {
  if (has_reduce() && folds(loops)) return;
  if (!has_reduce()) return void(reduced = loops);
  part.assign(loops.size(), false);
  for (std::size_t l = 0; l < loops.size(); ++l) {
    part[l] = loops[l] != reduced[l];
    reduced[l] = loops[l] || reduced[l];
  }
}
void Unit::split(int l, const Ints& into) {
  for (Store& s : stores) split_loop(s.map, l, into);
  for (Demand& d : demands) split_loop(d.map, l, into);
  extents.erase(extents.begin() + l);
  const bool was_reduced = reduced[static_cast<std::size_t>(l)];
  reduced.erase(reduced.begin() + l);
  const bool was_part = has_parts() && part[static_cast<std::size_t>(l)];
  if (!part.empty()) part.erase(part.begin() + l), part.insert(part.begin() + l, into.size(), was_part);
  for (std::size_t i = 0; i < into.size(); ++i) {
    extents.insert(extents.begin() + l + static_cast<int>(i), into[i]);
    reduced.insert(reduced.begin() + l, was_reduced);
  }
}
bool Unit::has(Id item) const { return std::find(items.begin(), items.end(), item) != items.end(); }

std::vector<bool> reduced_dims(const Graph& g, const Node& node) {
  int rank = g.meta(std::get<ValueId>(node.args[0])).dim();
  const Ints* dims = std::get_if<Ints>(&node.args[1]);
  std::vector<bool> out(static_cast<std::size_t>(rank), !dims || dims->empty());
  if (dims && rank > 0) {
    for (Int d : *dims) out[static_cast<std::size_t>(wrap_dim(d.hint(), rank, "reduction", node.info.loc))] = true;
  }
  return out;
}

bool keeps_dims(const Node& node) { return std::get<bool>(node.args[2]); }

std::vector<Unit::Demand> operand_maps(const Graph& g, const Item& item, const IndexMap& map, const Unit& unit) {
  if (item.kind == Item::Kind::Copy) return {{item.from, map}};
  const Node& node = g.nodes[item.node];
  std::vector<Unit::Demand> out;
  if (item.kind == Item::Kind::Scatter) {
    const auto form = scatter_form(g, node);
    const IndexMap whole = whole_map(map, item.part_dim, item.part_at);
    out.push_back({item.from, item.part_dim >= 0 ? map : values_map(g, *form, map)});
    for (const GatherForm::Index& i : form->indices) out.push_back({i.value, index_map(g, *form, i, whole)});
    return out;
  }
  const Ints& sizes = g.meta(item.made).layout.sizes;
  switch (graph::op(node.op).cls) {
    case OpClass::Reduction: {
      ValueId x = std::get<ValueId>(node.args[0]);
      std::vector<bool> reduced = reduced_dims(g, node);
      const Ints& in = g.meta(x).layout.sizes;
      IndexMap m;
      m.loops = map.loops;
      const std::vector<bool> folded = left_out(map);
      std::size_t kept = 0, l = 0;
      bool keep = keeps_dims(node);
      for (std::size_t d = 0; d < in.size(); ++d) {
        if (!reduced[d]) {
          m.dims.push_back(map.dims[kept++]);
          continue;
        }
        if (keep) ++kept;
        // One loop, or several that count through it: parts and what is inside them.
        std::vector<std::size_t> through;
        for (Int covered = 1;
             !is_number(in[d], 1) && l < folded.size() && (through.empty() || !same_number(covered, in[d])); ++l) {
          if (folded[l]) through.push_back(l), covered = covered * unit.extents[l];
        }
        Coord c = constant_coord(0, m.loops);
        Int step = 1;
        for (std::size_t t = through.size(); t-- > 0; step = step * unit.extents[through[t]])
          c.coefs[through[t]] = step;
        m.dims.push_back(std::move(c));
      }
      out.push_back({x, std::move(m)});
      return out;
    }
    case OpClass::Gather: {
      auto form = gather_form(g, node);
      for (const GatherForm::Index& i : form->indices) out.push_back({i.value, index_map(g, node, i, map)});
      return out;
    }
    default:
      for (ValueId r : item.reads) out.push_back({r, through_broadcast(map, sizes, g.meta(r).layout.sizes)});
      return out;
  }
}

}  // namespace reprise::kernels
