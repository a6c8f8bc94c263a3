#include "kernels/plan/fuse_map.h"

#include <algorithm>

#include "graph/view_column.h"
#include "guards/expr.h"
#include "kernels/launch/elements.h"

namespace reprise::kernels {

using graph::ValueId;

Coord constant_coord(Int at, std::size_t loops) { return {at, Ints(loops, Int(0))}; }

Coord loop_coord(std::size_t loop, std::size_t loops) {
  Coord c = constant_coord(0, loops);
  c.coefs[loop] = 1;
  return c;
}

bool identical_maps(const IndexMap& a, const IndexMap& b) {
  if (a.dims.size() != b.dims.size()) return false;
  for (std::size_t d = 0; d < a.dims.size(); ++d) {
    if (!identical(a.dims[d].offset, b.dims[d].offset)) return false;
    for (std::size_t l = 0; l < a.dims[d].coefs.size(); ++l) {
      if (!identical(a.dims[d].coefs[l], b.dims[d].coefs[l])) return false;
    }
  }
  return true;
}

int single_loop(const Coord& c) {
  if (!is_number(c.offset, 0)) return -1;
  int found = -1;
  for (std::size_t l = 0; l < c.coefs.size(); ++l) {
    if (is_number(c.coefs[l], 0)) continue;
    if (found >= 0 || !is_number(c.coefs[l], 1)) return -1;
    found = static_cast<int>(l);
  }
  return found;
}

bool is_zero(const Coord& c) {
  if (!is_number(c.offset, 0)) return false;
  for (Int k : c.coefs) {
    if (!is_number(k, 0)) return false;
  }
  return true;
}

namespace {

void add_scaled(Coord& to, const Coord& c, Int k) {
  if (is_number(k, 0)) return;
  to.offset = to.offset + c.offset * k;
  for (std::size_t l = 0; l < c.coefs.size(); ++l) {
    if (!is_number(c.coefs[l], 0)) to.coefs[l] = to.coefs[l] + c.coefs[l] * k;
  }
}

}  // namespace

IndexMap dims_of(const IndexMap& map, int at, int rank) {
  IndexMap out;
  out.loops = map.loops;
  out.dims.assign(map.dims.begin() + at, map.dims.begin() + at + rank);
  return out;
}

IndexMap picked_dims(const IndexMap& map, const std::vector<int>& dims) {
  IndexMap out;
  out.loops = map.loops;
  for (int d : dims) out.dims.push_back(d < 0 ? constant_coord(0, map.loops) : map.dims[static_cast<std::size_t>(d)]);
  return out;
}

IndexMap through_broadcast(const IndexMap& map, const Ints& from, const Ints& to) {
  IndexMap out;
  out.loops = map.loops;
  std::size_t lead = from.size() - to.size();
  for (std::size_t d = 0; d < to.size(); ++d) {
    const std::optional<Int> step = broadcast_step(to[d], from[lead + d]);
    const bool either = step && !is_number(*step, 1);
    out.dims.push_back(step && !either ? map.dims[lead + d] : constant_coord(0, map.loops));
    if (either) add_scaled(out.dims.back(), map.dims[lead + d], *step);
  }
  return out;
}

namespace {

/// The coordinates of the dims `sizes` that were merged into the dim whose coordinate is c, when c counts through loops
/// in mixed radix and some of them cover each size. Empty: they do not.
std::vector<Coord> unmerged(const Coord& c, const Ints& sizes, const Ints& extents) {
  std::vector<Coord> out(sizes.size(), constant_coord(0, c.coefs.size()));
  if (!is_number(c.offset, 0)) return {};
  std::vector<bool> used(c.coefs.size());
  Int step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    Int covered = 1;
    while (!same_number(covered, sizes[i])) {
      std::size_t l = 0;
      while (l < used.size() && (used[l] || is_number(c.coefs[l], 0) || !same_number(c.coefs[l], step))) ++l;
      if (l == used.size()) return {};
      used[l] = true;
      out[i].coefs[l] = covered;
      covered = covered * extents[l];
      step = step * extents[l];
    }
  }
  for (std::size_t l = 0; l < used.size(); ++l) {
    if (!used[l] && !is_number(c.coefs[l], 0)) return {};
  }
  return out;
}

}  // namespace

std::vector<std::size_t> loops_through(const Coord& c, Int size, const Ints& extents) {
  if (const int l = single_loop(c); l >= 0) {
    if (same_number(extents[static_cast<std::size_t>(l)], size)) return {static_cast<std::size_t>(l)};
    return {};
  }
  std::vector<std::size_t> out;
  const std::vector<Coord> one = unmerged(c, {size}, extents);
  for (std::size_t l = 0; !one.empty() && l < one[0].coefs.size(); ++l)
    if (!is_number(one[0].coefs[l], 0)) out.push_back(l);
  return out;
}

std::vector<bool> left_out(const IndexMap& map) {
  std::vector<bool> out(map.loops, true);
  for (const Coord& c : map.dims)
    for (std::size_t l = 0; l < c.coefs.size(); ++l)
      if (!is_number(c.coefs[l], 0)) out[l] = false;
  return out;
}

namespace {

/// The dims of a match on the operand's side that have extent. One without which the others are as large as the view is
/// 1 (or nothing has elements), though nobody may know it of the dim itself: of s0 * (s1 - 1) = 0 only the product is
/// known.
std::vector<int> wide_dims(const DimMatch& m, const Ints& sizes, const Ints& viewed) {
  std::vector<int> out;
  for (int d = m.old_begin; d < m.old_end; ++d) {
    if (!is_number(sizes[d], 1)) out.push_back(d);
  }
  auto product = [&](auto begin, auto end, const Ints& of, int but) {
    Int n = 1;
    for (; begin != end; ++begin)
      if (*begin != but) n = n * of[*begin];
    return n;
  };
  std::vector<int> all;
  for (int d = m.new_begin; d < m.new_end; ++d) all.push_back(d);
  for (std::size_t i = 0; out.size() > 1 && i < out.size();) {
    if (same_number(product(out.begin(), out.end(), sizes, out[i]), product(all.begin(), all.end(), viewed, -1)))
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
    else ++i;
  }
  return out;
}

Ints sizes_of(const std::vector<int>& dims, const Ints& sizes) {
  Ints out;
  for (int d : dims) out.push_back(sizes[d]);
  return out;
}

}  // namespace

int loop_to_split(const graph::Graph& g, const graph::Node& view, const IndexMap& map, const Ints& extents,
                  Ints& into) {
  if (graph::view_facts_of(view.op).of != graph::ViewOf::JoinedDims) return -1;
  const Ints& from = g.meta(std::get<ValueId>(view.args[0])).layout.sizes;
  const Ints& to = g.meta(view.results[0]).layout.sizes;
  auto matches = match_dims(from, to);
  if (!matches) return -1;
  for (const DimMatch& m : *matches) {
    std::vector<int> wide = wide_dims(m, from, to);
    if (wide.size() < 2 || m.new_end - m.new_begin != 1) continue;
    into = sizes_of(wide, from);
    const Coord& c = map.dims[m.new_begin];
    if (!unmerged(c, into, extents).empty()) continue;
    int l = single_loop(c);
    if (l >= 0 && same_number(extents[l], numel(into))) return l;
  }
  return -1;
}

void split_loop(IndexMap& map, int l, const Ints& into) {
  map.loops += into.size() - 1;
  for (Coord& c : map.dims) {
    Int k = c.coefs[l];
    Ints coefs;
    for (int i = 0; i < l; ++i) coefs.push_back(c.coefs[i]);
    Int step = k;
    Ints parts(into.size(), Int(0));
    for (std::size_t i = into.size(); i-- > 0;) {
      parts[i] = step;
      if (!is_number(k, 0)) step = step * into[i];
    }
    for (Int p : parts) coefs.push_back(p);
    for (std::size_t i = static_cast<std::size_t>(l) + 1; i < c.coefs.size(); ++i) coefs.push_back(c.coefs[i]);
    c.coefs = std::move(coefs);
  }
}

std::optional<IndexMap> through_view(const graph::Graph& g, const graph::Node& view, const IndexMap& map,
                                     const Ints& extents) {
  const Layout& in = g.meta(std::get<ValueId>(view.args[0])).layout;
  std::size_t rank = in.sizes.size();
  IndexMap out;
  out.loops = map.loops;
  out.dims.assign(rank, constant_coord(0, map.loops));
  const graph::ViewOf of = graph::view_facts_of(view.op).of;
  if (of == graph::ViewOf::Storage) return std::nullopt;
  if (of == graph::ViewOf::JoinedDims) {
    const Ints& to = g.meta(view.results[0]).layout.sizes;
    auto matches = match_dims(in.sizes, to);
    if (!matches) return std::nullopt;
    for (const DimMatch& m : *matches) {
      std::vector<int> wide = wide_dims(m, in.sizes, to);
      if (wide.empty()) continue;
      if (wide.size() > 1) {
        if (m.new_end - m.new_begin != 1) return std::nullopt;
        std::vector<Coord> coords = unmerged(map.dims[m.new_begin], sizes_of(wide, in.sizes), extents);
        if (coords.empty()) return std::nullopt;
        for (std::size_t i = 0; i < wide.size(); ++i) out.dims[wide[i]] = std::move(coords[i]);
        continue;
      }
      Int step = 1;
      for (int d = m.new_end - 1; d >= m.new_begin; --d) {
        add_scaled(out.dims[wide[0]], map.dims[d], step);
        step = step * to[d];
      }
    }
    return out;
  }
  // Every other view is linear in the strides: with a stride of 1 in dim d alone, the view's strides and offset are how
  // coordinate d moves.
  const Ints& to = g.meta(view.results[0]).layout.sizes;
  for (std::size_t d = 0; d < rank; ++d) {
    Layout unit{in.sizes, Ints(rank, Int(0)), 0};
    unit.strides[d] = 1;
    Layout moved = known_view_of(g, view.op, view.args, unit, to, view.info.loc);
    out.dims[d].offset = moved.offset;
    for (std::size_t j = 0; j < moved.strides.size(); ++j) add_scaled(out.dims[d], map.dims[j], moved.strides[j]);
  }
  return out;
}

Access access_of(const IndexMap& map, const Layout& layout) {
  Access a;
  std::size_t loops = map.loops;
  a.strides = Ints(loops, Int(0));
  a.offset = layout.offset;
  for (std::size_t d = 0; d < map.dims.size(); ++d) {
    Int s = layout.strides[d];
    if (is_number(s, 0)) continue;
    a.offset = a.offset + map.dims[d].offset * s;
    for (std::size_t l = 0; l < loops; ++l) {
      Int k = map.dims[d].coefs[l];
      if (!is_number(k, 0)) a.strides[l] = a.strides[l] + k * s;
    }
  }
  return a;
}

namespace {

bool known_le(Int a, Int b) { return detail::compare_le(a, b, {}).known_true(); }

/// Elements from the first to the last; nullopt where a stride may be negative.
std::optional<Int> span_of(const Layout& l) {
  Int span = 1;
  for (std::size_t d = 0; d < l.sizes.size(); ++d) {
    if (!known_le(0, l.strides[d])) return std::nullopt;
    span = span + (l.sizes[d] - 1) * l.strides[d];
  }
  return span;
}

/// How many steps of `step` make `stride`, where that is a whole number of them.
std::optional<Int> steps_of(Int stride, Int step) {
  if (step.hint() == 0) return std::nullopt;
  const Int n = is_number(step, 1) ? stride : stride / step;
  return same_number(n * step, stride) ? std::optional(n) : std::nullopt;
}

/// Blocks of equal strides, `b` further on by a number of steps in dimension d, both within one step of the dimensions
/// around d.
bool beside(const Layout& a, const Layout& b, Int distance, std::size_t d) {
  const auto k = steps_of(distance, a.strides[d]);
  if (!k || !known_le(a.sizes[d], *k)) return false;
  std::vector<std::size_t> order;
  for (std::size_t e = 0; e < a.sizes.size(); ++e)
    if (e == d || !is_number(a.sizes[e], 1) || !is_number(b.sizes[e], 1)) order.push_back(e);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return a.strides[x].hint() < a.strides[y].hint(); });
  if (!known_le(1, a.strides[order[0]])) return false;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) {
    const std::size_t e = order[i];
    const auto steps = steps_of(a.strides[order[i + 1]], a.strides[e]);
    if (!steps || !known_le(a.sizes[e], *steps) || !known_le(e == d ? *k + b.sizes[e] : b.sizes[e], *steps))
      return false;
  }
  return true;
}

}  // namespace

// Each stride is a multiple of the smaller ones, and no dimension reaches into the next step of one around it: then a
// place's coordinate in dimension d is the same whichever of the parts it is counted in, below a.sizes[d] in one and
// from there on in the other.
bool known_disjoint(const Layout& a, const Layout& b) {
  guards::LibraryScope exact;
  if (b.offset.hint() < a.offset.hint()) return known_disjoint(b, a);
  const Int distance = b.offset - a.offset;
  if (auto span = span_of(a); span && span_of(b) && known_le(*span, distance)) return true;
  if (!same_numbers(a.strides, b.strides)) return false;
  for (std::size_t d = 0; d < a.sizes.size(); ++d)
    if (beside(a, b, distance, d)) return true;
  return false;
}

bool same_access(const Access& a, const Access& b) {
  return a.buffer == b.buffer && a.gathers.empty() && b.gathers.empty() && same_numbers(a.strides, b.strides) &&
         same_number(a.offset, b.offset);
}

}  // namespace reprise::kernels
