// Where the parts of joins and what they are based on stand (assign_buffers.h).
#include <algorithm>

#include "graph/parts.h"
#include "kernels/plan/assign.h"

namespace reprise::kernels {

using graph::Node;
using graph::ValueId;
using Kind = Item::Kind;
using Id = std::uint32_t;

std::vector<Id> Assign::old_readers(ValueId b, const std::vector<Id>& except) {
  std::vector<Id> out = readers_[b.v];
  take_out(out, except);
  return out;
}

// A write in place makes a join of what it writes into and the part; other joins are operators of the program, or what
// is written into is a copy that the program made (passes/rewrite.h).
Assign::Wanted Assign::base_of(const Node& join) {
  if (join.keeps_self) return {Copy::Of::Ours, "a part is written where the old value cannot be overwritten"};
  return {Copy::Of::EagerToo, "a copy is written into"};
}

Assign::Wanted Assign::part_of(const Node& join) {
  if (join.keeps_part) return {Copy::Of::Ours, "a part is made elsewhere"};
  return {Copy::Of::EagerToo, has_base(join.op) ? "copy_" : "cat"};
}

void Assign::nested_ends(ValueId c, std::vector<Id>& out) const {
  const Node& node = g_.nodes[g_.values[c.v].node];
  out.push_back(static_cast<Id>(p_.maker[c.v]));
  if (!is_join(node) || !has_base(node.op)) return;
  const ValueId base = std::get<ValueId>(node.args[0]);
  if (root_[base.v] != base) return;
  // What reads elements around the part as well comes before any are written; so does what reads an input over which
  // all of it may lie.
  const ValueId over = asked_place(c);
  auto reads_around = [&](const Node& update) {
    if (graph::op(update.op).twin_of) return false;  // parts_read asks it
    bool found = false;
    for (std::size_t a = 1; a < update.args.size(); ++a)
      graph::for_each_value(update.args[a], [&](ValueId v) {
        const graph::Value& r = g_.values[root_[v.v].v];
        found = found || root_[v.v] == base ||
                (r.node == -1 && g_.inputs[r.result].mutates_data && (!over || computed(over) || over == root_[v.v]));
      });
    return found;
  };
  std::vector<Id> inside;
  for (ValueId part = std::get<ValueId>(node.args[1]);;) {
    if (!computed(part) || !wishes_[part.v].empty() || placed(part)) return;
    const ValueId old = old_of(part);
    if (!old || p_.items[p_.maker[part.v]].may_fail) return;
    const Node& inner = g_.nodes[g_.values[part.v].node];
    if (is_join(inner) ? readers_[part.v].size() != 1 : reads_around(inner)) return;
    nested_ends(part, inside);
    if (root_[old.v] != base) {  // made of what was made of it, one update after another
      part = old;
      continue;
    }
    // The old value must be the very region that c fills with it.
    const Layout whole = contiguous_layout(g_.meta(c).layout.sizes);
    const auto plan = plan_join(g_, node, whole);
    const auto at = layout_from_root(g_, old, whole);
    if (at && same_layout(*at, plan->parts[0].region)) out.insert(out.end(), inside.begin(), inside.end());
    return;
  }
}

void Assign::place_join(const Node& node) {
  ValueId c = node.results[0];
  if (is_scattered_in_parts(c)) return;
  Id begin = static_cast<Id>(begin_[c.v]), end = static_cast<Id>(p_.maker[c.v]);
  const TensorMeta& m = g_.meta(c);
  std::vector<std::uint32_t> wishes = wishes_[c.v];
  if (!placed(c)) {
    auto first = std::find_if(wishes.begin(), wishes.end(), [&](std::uint32_t o) { return is_new_value(o); });
    if (first != wishes.end()) {
      std::uint32_t o = *first;
      if (join_over_input(c, o) || (wishes.size() == 1 && slice_in_epilogue(node, o))) wishes.erase(first);
      if (slice_only_) {
        slice_only_ = false;
        return;
      }
    }
    if (!placed(c) && !wishes.empty()) {
      put_in_output(c, wishes.front());
      wishes.erase(wishes.begin());
    }
    if (!placed(c)) {
      p_.place[c.v] = {p_.add_buffer({Buffer::Kind::Temp, 0, m.dtype, bytes_of(m.layout.sizes, m.dtype)}),
                       contiguous_layout(m.layout.sizes)};
    }
  }
  auto plan = plan_join(g_, node, p_.place[c.v].layout);
  Id after = begin;  // what each part's write comes after
  if (plan->base && !base_in_place(c, plan->base)) {
    chain_ends_here(c);
    after = add_copy(plan->base, p_.place[c.v], m.dtype, base_of(node), p_.items[end].node, p_.maker[c.v]);
    edge(begin, after, EdgeKind::Memory);
    edge(after, end, EdgeKind::Memory);
    drop_edge(p_.maker[root_[plan->base.v].v], end);
  }
  for (JoinPlan::Part& part : plan->parts) place_part(c, part, after);
  if (!plan->parts.empty()) drop_edge(begin_[c.v], end);  // there is a way through what writes the parts
  for (std::uint32_t o : wishes) copy_out(o);
}

// An edge to a join's end for which there is a longer way now. With it every later use of the place would be tied to
// all that came before this write, and a chain of writes to the square of its length.
void Assign::drop_edge(std::int32_t from, Id end) {
  constexpr std::size_t kMostLookedAt = 256;
  if (from < 0 || p_.succ[static_cast<Id>(from)].size() > kMostLookedAt) return;
  std::erase_if(p_.succ[static_cast<Id>(from)], [&](const Edge& e) { return e.to == end; });
}

bool Assign::join_over_input(ValueId c, std::uint32_t o) {
  std::uint32_t i = g_.outputs[o].source;
  Id begin = static_cast<Id>(begin_[c.v]);
  if (!asked(c, g_.inputs[i].value)) {
    p_.outputs[o].why = "it is not asked to lie there";
    return false;
  }
  if (!may_stand(c, input_place(i).layout)) {
    p_.outputs[o].why = "a view of it does not take the input's strides";
    return false;
  }
  std::vector<Id> nested;
  chain_ends(c, nested);
  std::vector<Id> before = before_input_write(i, nested);
  // Where nobody reads it here, only the part is made, and the epilogue puts it there.
  if (!readers_[c.v].empty()) leave_to_undo(before, static_cast<Id>(p_.maker[c.v]), begin, input_place(i));
  std::string why = why_waits(begin, before);
  if (why.empty() && (parts_read(nested, g_.inputs[i].value) || base_moves(c, g_.inputs[i].value))) {
    why = "parts of the old value are read after the new one is known";
  }
  if (!why.empty()) {
    p_.outputs[o].why = std::move(why);
    return false;
  }
  edges_before(before, begin);
  before_[c.v] = before;
  p_.place[c.v] = input_place(i);
  in_place(o, "only the parts that change are written, after the last read of the old value");
  return true;
}

void Assign::chain_ends(ValueId c, std::vector<Id>& out) const {
  for (;;) {
    nested_ends(c, out);
    c = old_of(c);
    if (!c || !computed(c) || !wishes_[c.v].empty() || placed(c)) return;
    if (!is_join(g_.nodes[g_.values[c.v].node]) && (!old_of(c) || p_.items[p_.maker[c.v]].may_fail)) return;
  }
}

// What was to be made in an input's place, one after another, did not have to be over before that was written
// (before_input_write). From here on it is made elsewhere after all, or in the kernels that use it, and what reads the
// input for that comes first like any other reader.
void Assign::chain_ends_here(ValueId c) {
  const Buffer& b = p_.buffers[p_.place[c.v].buffer];
  if (b.kind != Buffer::Kind::Input) return;
  std::vector<Id> own, chain;
  nested_ends(c, own);
  chain_ends(c, chain);
  take_out(chain, own);
  const std::vector<Id>& readers = readers_[g_.inputs[b.index].value.v];
  const Id begin = static_cast<Id>(begin_[c.v]);
  for (Id r : chain)
    if (p_.items[r].may_fail || std::find(readers.begin(), readers.end(), r) != readers.end())
      edge(r, begin, kind_before(r));
}

bool Assign::parts_read(const std::vector<Id>& ends, ValueId old) const {
  for (Id e : ends) {
    const Node& node = g_.nodes[p_.items[e].node];
    if (graph::op(node.op).twin_of) {  // what it writes it reads, too
      if (reads_beside(e, old)) return true;
      continue;
    }
    if (is_join(node) && part_beside(node)) continue;
    bool found = false;
    for (std::size_t a = !is_join(node) || has_base(node.op) ? 1 : 0; a < node.args.size(); ++a) {
      graph::for_each_value(node.args[a], [&](ValueId v) { found = found || root_[v.v] == old; });
    }
    if (found) return true;
  }
  return false;
}

bool Assign::part_beside(const Node& join) const {
  if (!has_base(join.op)) return false;
  const ValueId base = std::get<ValueId>(join.args[0]), part = std::get<ValueId>(join.args[1]);
  if (part == base || root_[part.v] != base) return false;
  const Layout whole = contiguous_layout(g_.meta(base).layout.sizes);
  const auto plan = plan_join(g_, join, whole);
  const auto read = layout_from_root(g_, part, whole);
  return plan && read && graph::known_disjoint(*read, plan->parts[0].region);
}

bool Assign::base_moves(ValueId c, ValueId old) const {
  while (ValueId base = old_of(c)) {
    if (root_[base.v] == old) return base != old;
    c = base;
  }
  return false;
}

bool Assign::slice_in_epilogue(const Node& node, std::uint32_t o) {
  std::uint32_t i = g_.outputs[o].source;
  if (!has_base(node.op) || !readers_[node.results[0].v].empty()) return false;
  if (std::get<ValueId>(node.args[0]) != g_.inputs[i].value) return false;
  auto plan = plan_join(g_, node, input_place(i).layout);
  if (!plan) return false;
  ValueId part = plan->parts[0].value;
  const TensorMeta& m = g_.meta(part);
  Place to = output_buffer(o, g_.meta(node.results[0]).dtype, m.layout.sizes);
  if (computed(part) && !placed(part) && wishes_[part.v].empty() && m.dtype == g_.meta(node.results[0]).dtype) {
    p_.place[part.v] = to;
    p_.must_store[part.v] = true;
  } else {
    add_copy(part, to, g_.meta(node.results[0]).dtype, part_of(node), g_.values[node.results[0].v].node);
  }
  set_out(o, to);
  p_.outputs[o].target = plan->parts[0].region;
  slice_only_ = true;
  return true;
}

bool Assign::base_in_place(ValueId c, ValueId base) {
  const Place& at = p_.place[c.v];
  ValueId r = root_[base.v];
  if (g_.meta(base).dtype != g_.meta(c).dtype) return false;
  if (placed(r)) {
    if (p_.place[r.v].buffer != at.buffer) return false;
    auto l = layout_from_root(g_, base, p_.place[r.v].layout);
    return l && same_layout(*l, at.layout);
  }
  if (fails_half_way(base)) return false;
  if (!asked_together(c, base) || r != base || !wishes_[base.v].empty() || !may_stand(base, at.layout)) return false;
  Id begin = static_cast<Id>(begin_[c.v]), base_begin = static_cast<Id>(begin_[base.v]);
  std::vector<Id> nested;
  nested_ends(c, nested);
  std::vector<Id> readers = old_readers(base, nested);
  if (parts_read(nested, base)) return false;
  // c itself reads the old value of its place beside the base: that would be the base by then.
  if (const Buffer& b = p_.buffers[at.buffer];
      b.kind == Buffer::Kind::Input && parts_read(nested, g_.inputs[b.index].value))
    return false;
  const Id maker = static_cast<Id>(p_.maker[base.v]);
  std::vector<Id> before = before_[c.v];
  if (writes_nothing_if_it_fails(maker, at)) std::erase(before, maker);
  leave_to_undo(before, maker, base_begin, at);
  if (paths_to_any(begin, readers) || paths_to_any(base_begin, before)) return false;
  if (p_.items[maker].kind == Kind::Native && !innermost_contiguous(at.layout) &&
      !updates(g_.nodes[p_.items[maker].node]))
    return false;
  // What the maker works over comes there first: if it fails, nobody on a device puts back what was there.
  if (const Buffer& b = p_.buffers[at.buffer]; !may_undo_ && p_.items[maker].may_fail && b.kind == Buffer::Kind::Input)
    if (const ValueId old = old_of(base); old && root_[old.v] != g_.inputs[b.index].value) return false;
  if (std::find(before.begin(), before.end(), maker) != before.end()) return false;
  for (Id rd : readers) edge(rd, begin, EdgeKind::Anti);
  overwriters_[base.v] = {begin};
  edge(static_cast<Id>(p_.maker[base.v]), begin, EdgeKind::Memory);
  if (begin_[c.v] != p_.maker[c.v]) drop_edge(p_.maker[base.v], static_cast<Id>(p_.maker[c.v]));
  move_edges_before(before, begin, base_begin);
  // what comes before it in its place would be written when it fails
  if (p_.items[maker].may_fail) before.push_back(maker);
  before_[base.v] = std::move(before);
  before_[c.v].clear();
  p_.place[base.v] = at;
  p_.must_store[base.v] = true;
  return true;
}

bool Assign::writes_nothing_if_it_fails(Id w, const Place& at) const {
  const Item& it = p_.items[w];
  if (!it.may_fail || it.kind != Kind::Native || !graph::op(g_.nodes[it.node].op).twin_of) return false;
  const Buffer& b = p_.buffers[at.buffer];
  return b.kind != Buffer::Kind::Input || !reads_beside(w, g_.inputs[b.index].value);
}

bool Assign::innermost_contiguous(const Layout& l) {
  for (std::size_t d = l.sizes.size(); d-- > 0;) {
    if (!is_number(l.sizes[d], 1)) return is_number(l.strides[d], 1);
  }
  return true;
}

void Assign::place_part(ValueId c, JoinPlan::Part& part, Id after) {
  const Place& at = p_.place[c.v];
  ValueId p = part.value;
  Id end = static_cast<Id>(p_.maker[c.v]);
  DType dtype = g_.meta(c).dtype;
  bool direct = computed(p) && !fails_half_way(p) && !placed(p) && wishes_[p.v].empty() && g_.meta(p).dtype == dtype &&
                may_stand(p, part.region);
  if (direct && p_.items[p_.maker[p.v]].kind == Kind::Native)
    direct = innermost_contiguous(part.region) || updates(g_.nodes[g_.values[p.v].node]);
  // Where c is overwritten in place later, so is its part: that waits for the part's other readers, too.
  std::vector<Id> others;
  if (direct && !overwriters_[c.v].empty()) others = old_readers(p, {end});
  for (Id w : overwriters_[c.v]) direct = direct && !paths_to_any(w, others);
  if (direct && !path(static_cast<Id>(begin_[p.v]), after)) {
    for (Id w : overwriters_[c.v]) {
      for (Id r : others) edge(r, w, EdgeKind::Anti);
    }
    overwriters_[p.v] = overwriters_[c.v];
    p_.place[p.v] = {at.buffer, part.region};
    p_.must_store[p.v] = true;
    edge(after, static_cast<Id>(begin_[p.v]), EdgeKind::Memory);
    before_[p.v] = {after};
    return;
  }
  Id copy = add_copy(p, {at.buffer, part.region}, dtype, part_of(g_.nodes[p_.items[end].node]), p_.items[end].node,
                     p_.maker[c.v]);
  edge(after, copy, EdgeKind::Memory);
  edge(copy, end, EdgeKind::Memory);
}

}  // namespace reprise::kernels
