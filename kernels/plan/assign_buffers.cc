#include "kernels/plan/assign_buffers.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "graph/view_column.h"
#include "graph/writers.h"
#include "kernels/cpu/host_kernels.h"
#include "kernels/loop/pointwise.h"
#include "kernels/plan/assign.h"
#include "kernels/plan/gather.h"
#include "kernels/plan/index_bounds.h"
#include "kernels/plan/places.h"
#include "kernels/plan/scatter.h"
#include "kernels/reference/reference.h"

namespace reprise::kernels {

using graph::Graph;
using graph::Node;
using graph::OpClass;
using graph::OutputSpec;
using graph::ValueId;
using Kind = Item::Kind;
using Id = std::uint32_t;

namespace {
constexpr std::size_t kMostAlike = 64;  // checks looked at for an equal one, the latest
}  // namespace

BufferPlan Assign::run() {
  for (std::uint32_t i = 0; i < g_.inputs.size(); ++i) {
    const TensorMeta& m = g_.meta(g_.inputs[i].value);
    Layout l = m.layout;
    l.offset = 0;
    p_.place[g_.inputs[i].value.v] = {p_.add_buffer({Buffer::Kind::Input, i, m.dtype, 0}), l};
  }
  for (std::uint32_t v = 0; v < g_.values.size(); ++v) {
    if (root_[v].v != v) views_[root_[v].v].push_back(ValueId{v});
  }
  alone_ = std::count_if(g_.nodes.begin(), g_.nodes.end(),
                         [](const Node& n) { return graph::op(n.op).cls != OpClass::View; }) == 1;
  for (std::uint32_t n = 0; n < g_.nodes.size(); ++n) make_items(n);
  make_wishes();
  for (std::size_t n = g_.nodes.size(); n-- > 0;) {
    const Node& node = g_.nodes[n];
    if (graph::op(node.op).cls == OpClass::View) continue;
    if (is_join(node)) {
      place_join(node);
    } else {
      for (ValueId v : node.results) place_result(v);
    }
  }
  for (std::uint32_t o = 0; o < g_.outputs.size(); ++o) {
    const OutputSpec& spec = g_.outputs[o];
    if (spec.kind == OutputSpec::Kind::AliasOfOutput) p_.outputs[o].buffer = p_.outputs[spec.source].buffer;
  }
  settle_scatters();
  drop_markers(p_);
  return std::move(p_);
}

Item Assign::new_item(Kind kind, std::int32_t node) {
  Item it;
  it.kind = kind;
  it.node = node;
  return it;
}

Id Assign::add_item(Item it, std::int32_t at) {
  Id id = at < 0 ? order_.push_back() : order_.insert_before(static_cast<Id>(at));
  if (it.may_fail) may_fail_.push_back(id);
  p_.items.push_back(std::move(it));
  p_.succ.emplace_back();
  marked_.push_back(0);
  return id;
}

void Assign::reads(Id item, ValueId v, bool in_loop) {
  ValueId r = root_[v.v];
  readers_[r.v].push_back(item);
  std::int32_t m = p_.maker[r.v];
  if (m < 0) return;
  bool in_register = p_.items[m].kind == Kind::Fused && in_loop;
  if (p_.items[m].kind == Kind::Fused && !in_register && p_.items[item].kind != Kind::End) p_.must_store[r.v] = true;
  edge(static_cast<Id>(m), item, in_register ? EdgeKind::Value : EdgeKind::Memory);
}

void Assign::make_items(std::uint32_t n) {
  const Node& node = g_.nodes[n];
  const graph::OpDef& def = graph::op(node.op);
  if (def.cls == OpClass::View) return;
  if (is_join(node)) {
    ValueId c = node.results[0];
    begin_[c.v] = static_cast<std::int32_t>(add_item(new_item(Kind::Begin, static_cast<std::int32_t>(n))));
    Id end = add_item(new_item(Kind::End, static_cast<std::int32_t>(n)));
    p_.maker[c.v] = static_cast<std::int32_t>(end);
    edge(static_cast<Id>(begin_[c.v]), end, EdgeKind::Memory);
    graph::for_each_value(node, [&](ValueId v) { reads(end, v); });
    return;
  }
  Item it = new_item(fused_(g_, node) ? Kind::Fused : Kind::Native, static_cast<std::int32_t>(n));
  const graph::Effects effects = graph::effects_of(node);
  it.may_fail = effects.may_end_call() && it.kind == Kind::Native;
  const std::uint32_t unread = unread_operands(node.op);
  for (std::size_t a = 0; a < node.args.size(); ++a) {
    if (unread >> a & 1) continue;
    const auto* view = std::get_if<graph::ViewArg>(&node.args[a]);
    const bool again = view && std::any_of(node.args.begin(), node.args.begin() + static_cast<std::ptrdiff_t>(a),
                                           [&](const graph::NodeArg& b) {
                                             auto* before = std::get_if<graph::ViewArg>(&b);
                                             return before && before->base == view->base;
                                           });
    if (!again) graph::for_each_value(node.args[a], [&](ValueId v) { it.reads.push_back(v); });
  }
  std::vector<Id> checks;
  if (it.kind == Kind::Fused) it.made = node.results[0];
  if (it.kind == Kind::Fused && def.effects.may_fail) {
    const std::optional<GatherForm> form = gather_form(g_, node);
    for (const GatherForm::Index& index : form->indices)
      make_check(n, index.value, index.dim, form->table, form->wraps, checks);
  }
  if (it.may_fail && !alone_ && !def.effects.exit && updates(node)) {
    if (const std::optional<PlaceIndices> places = place_indices(g_, node)) {
      for (const PlaceIndices::Index& index : places->all)
        make_check(n, index.value, index.dim, std::get<ValueId>(node.args[0]), places->wraps, checks);
      it.may_fail = false;
      it.checked = true;
    }
  }
  std::optional<ScatterForm> scatter;
  if (it.checked && (scatter = scatter_form(g_, node))) {
    it.from = scatter->values;
    if (const Int count = numel(scatter->positions()); count.is_symbolic() || count.hint() > 1) {
      const Id last = make_last(n, *scatter, checks);
      checks.push_back(last);
      it.last = static_cast<std::int32_t>(last);
    }
  }
  std::vector<ValueId> in = it.reads;
  bool fused = it.kind == Kind::Fused;
  Id id = add_item(std::move(it));
  for (Id check : checks) edge(check, id, EdgeKind::Memory);
  if (const std::uint8_t lane = effects.lane) {  // these are of OpClass::Reference: not fused
    if (auto [before, first] = lanes_.try_emplace(lane, id); !first)
      edge(std::exchange(before->second, id), id, EdgeKind::Memory);
  }
  for (ValueId r : node.results)
    p_.maker[r.v] = static_cast<std::int32_t>(id), begin_[r.v] = static_cast<std::int32_t>(id);
  for (ValueId v : in) {
    if (scatter && v == scatter->values) reads(id, v, true);
    else reads(id, v);
  }
  if (scatter) scatters_.push_back(id);
  if (fused && def.cls == OpClass::Gather) {  // its table is read at computed places: from memory
    ValueId table = root_[std::get<ValueId>(node.args[0]).v];
    if (p_.maker[table.v] >= 0 && p_.items[p_.maker[table.v]].kind == Kind::Fused) {
      p_.must_store[table.v] = true;
      edge(static_cast<Id>(p_.maker[table.v]), id, EdgeKind::Memory);
    }
  }
}

void Assign::make_check(std::uint32_t n, ValueId index, int dim, ValueId of, bool wraps, std::vector<Id>& checks) {
  const Int extent = g_.meta(of).size(dim);
  if (const std::optional<Int> bound = index_bound(g_, index);
      bound && (same_number(*bound, extent) ||
                (!bound->is_symbolic() && !extent.is_symbolic() && bound->hint() <= extent.hint())))
    return;
  for (std::size_t k = checks_.size(), tried = 0; k-- > 0 && tried < kMostAlike; ++tried) {
    const Item& c = p_.items[checks_[k]];
    if (c.from == index && c.dim == dim && c.wraps == wraps && identical(c.extent, extent))
      return checks.push_back(checks_[k]);
  }
  Item it = new_item(Kind::Check, static_cast<std::int32_t>(n));
  it.from = index;
  it.reads = {index};
  it.dim = dim;
  it.extent = extent;
  it.wraps = wraps;
  it.may_fail = true;
  const Id id = add_item(std::move(it));
  reads(id, index);
  checks_.push_back(id);
  checks.push_back(id);
}

Id Assign::make_last(std::uint32_t n, const ScatterForm& form, const std::vector<Id>& checks) {
  const TensorMeta& self = g_.meta(form.self);
  auto alike = [&](const Item& it) {
    const ScatterForm other = *scatter_form(g_, g_.nodes[it.node]);
    const TensorMeta& its = g_.meta(other.self);
    bool same = other.indices.size() == form.indices.size();
    for (std::size_t k = 0; same && k < form.indices.size(); ++k) {
      const GatherForm::Index &a = form.indices[k], &b = other.indices[k];
      same = a.value == b.value && identical(self.size(a.dim), its.size(b.dim));
    }
    return same;
  };
  for (std::size_t k = lasts_.size(), tried = 0; k-- > 0 && tried < kMostAlike; ++tried)
    if (alike(p_.items[lasts_[k]])) return lasts_[k];
  Item it = new_item(Kind::Last, static_cast<std::int32_t>(n));
  for (const GatherForm::Index& index : form.indices) it.reads.push_back(index.value);
  const Id id = add_item(std::move(it));
  for (const GatherForm::Index& index : form.indices) reads(id, index.value);
  for (Id check : checks) edge(check, id, EdgeKind::Memory);
  lasts_.push_back(id);
  return id;
}

bool Assign::updates(const Node& node) const {
  if (is_join(node) || fused_(g_, node)) return false;
  if (graph::op(node.op).twin_of) return true;
  const HostKernel* kernel = reference_kernels().find(node.op);
  return kernel && kernel->over_self;
}

bool Assign::fails_half_way(ValueId v) const {
  if (!computed(v)) return false;
  const Item& it = p_.items[p_.maker[v.v]];
  if (it.kind != Kind::Native || graph::op(g_.nodes[it.node].op).cls != OpClass::Control) return false;
  // A loop writes turn by turn: what a later launch's failure undoes is known of launches that run once.
  return it.may_fail || graph::turns_of(g_.nodes[it.node]);
}

ValueId Assign::old_of(ValueId c) const {
  if (!computed(c)) return {};
  const Node& node = g_.nodes[g_.values[c.v].node];
  if (const graph::OpDef& def = graph::op(node.op); def.twin_of) {
    const std::vector<ValueId> bases = graph::written_bases(def, node.args);
    const std::uint32_t result = g_.values[c.v].result;
    return result < bases.size() ? bases[result] : ValueId{};
  }
  if (is_join(node)) return has_base(node.op) ? std::get<ValueId>(node.args[0]) : ValueId{};
  return updates(node) || beside_update(c) ? std::get<ValueId>(node.args[0]) : ValueId{};
}

// Others stay in registers where they can, and are no links of such a chain.
bool Assign::beside_update(ValueId m) const {
  const Item& it = p_.items[p_.maker[m.v]];
  if (it.kind != Kind::Fused) return false;
  const Node& node = g_.nodes[it.node];
  const ValueId* old = graph::op(node.op).cls == OpClass::Pointwise && !node.args.empty()
                           ? std::get_if<ValueId>(&node.args[0])
                           : nullptr;
  if (!old || it.reads.empty() || it.reads[0] != *old || g_.meta(*old).dtype != g_.meta(m).dtype) return false;
  const Ints &from = g_.meta(*old).layout.sizes, &to = g_.meta(m).layout.sizes;
  if (from.size() != to.size() || !std::equal(from.begin(), from.end(), to.begin(), same_number)) return false;
  auto update_of = [&](ValueId v, ValueId of) {
    if (!computed(v) || p_.items[p_.maker[v.v]].kind != Kind::Native) return false;
    const ValueId before = updates(g_.nodes[g_.values[v.v].node]) ? old_of(v) : ValueId{};
    return before && (!of || before == of);
  };
  const bool of_join = computed(*old) && p_.items[p_.maker[old->v]].kind == Kind::End && node.keeps_self;
  if (of_join ? has_base(g_.nodes[g_.values[old->v].node].op) : update_of(*old, {}))
    return readers_[old->v].size() == 1;
  for (Id r : readers_[m.v]) {  // of joins other readers are what makes the part
    if (p_.items[r].kind != Kind::End || !node.keeps_self) continue;
    const Node& join = g_.nodes[p_.items[r].node];
    if (has_base(join.op) && join.keeps_self && std::get<ValueId>(join.args[0]) == m) return true;
  }
  if (readers_[m.v].size() != 1) return false;
  const std::int32_t next = p_.items[readers_[m.v][0]].node;
  if (next < 0 || p_.items[readers_[m.v][0]].kind != Kind::Native) return false;
  const std::vector<ValueId>& results = g_.nodes[next].results;
  return std::any_of(results.begin(), results.end(), [&](ValueId r) { return update_of(r, m); });
}

void Assign::edge(Id a, Id b, EdgeKind k) {
  REPRISE_CHECK(order_.put_before(a, b, successors()), " the order of the work has a cycle");
  p_.succ[a].push_back({b, k});
}

bool Assign::path(Id from, Id to) { return paths_to_any(from, {to}); }

bool Assign::paths_to_any(Id from, const std::vector<Id>& to) {
  if (to.empty()) return false;
  ++question_;
  Id last = to[0];
  for (Id t : to) {
    marked_[t] = question_;
    if (order_.before(last, t)) last = t;
  }
  const Id start[] = {from};
  return order_.reaches(
      start, last, [&](Id w) { return marked_[w] == question_; }, successors());
}

std::string Assign::why_waits(Id from, const std::vector<Id>& before) {
  if (!paths_to_any(from, before)) return "";
  for (Id b : before) {
    if (!p_.items[b].may_fail || !path(from, b)) continue;
    const graph::Node& n = g_.nodes[p_.items[b].node];
    std::string who = graph::op(n.op).schema.name;
    if (n.info.loc) who += " at " + std::string(n.info.loc.file) + ":" + std::to_string(n.info.loc.line);
    return "a kernel that runs after the new value is known may fail: " + who;
  }
  return "the old value is read after the new one is known";
}

void Assign::take_out(std::vector<Id>& list, const std::vector<Id>& those) {
  ++question_;
  for (Id i : those) marked_[i] = question_;
  std::erase_if(list, [&](Id i) { return marked_[i] == question_; });
}

std::vector<Id> Assign::before_input_write(std::uint32_t i, const std::vector<Id>& except) {
  std::vector<Id> out = readers_[g_.inputs[i].value.v];
  out.insert(out.end(), may_fail_.begin(), may_fail_.end());
  take_out(out, except);
  return out;
}

void Assign::edges_before(std::vector<Id>& before, Id writer) {
  // Each of many writes over one place takes over the edges of the one after it (move_edges_before).
  constexpr std::ptrdiff_t kMany = 32;
  auto only_reads = [&](Id r) { return !p_.items[r].may_fail; };
  if (std::count_if(before.begin(), before.end(), only_reads) > kMany) {
    const Id all = add_item(new_item(Kind::Begin, p_.items[writer].node), static_cast<std::int32_t>(writer));
    for (Id r : before)
      if (only_reads(r)) edge(r, all, EdgeKind::Anti);
    std::erase_if(before, only_reads);
    before.push_back(all);
  }
  for (Id r : before) edge(r, writer, kind_before(r));
}

// With many writes over one place, each waiting for all the readers by itself, the edges would be as many as their
// product.
void Assign::move_edges_before(const std::vector<Id>& before, Id writer, Id earlier) {
  constexpr std::ptrdiff_t kMostLookedAt = 16;
  for (Id r : before) {
    std::vector<Edge>& all = p_.succ[r];
    auto end = all.rbegin() + std::min<std::ptrdiff_t>(kMostLookedAt, static_cast<std::ptrdiff_t>(all.size()));
    auto old =
        std::find_if(all.rbegin(), end, [&](const Edge& e) { return e.to == writer && e.kind == kind_before(r); });
    if (old != end) all.erase(std::next(old).base());
    edge(r, earlier, kind_before(r));
  }
}

Place Assign::output_buffer(std::uint32_t o, DType t, const Ints& sizes) {
  return {p_.add_buffer({Buffer::Kind::Output, o, t, bytes_of(sizes, t)}), contiguous_layout(sizes)};
}

void Assign::set_out(std::uint32_t o, const Place& at) {
  p_.outputs[o].buffer = static_cast<std::int32_t>(at.buffer);
  p_.outputs[o].layout = at.layout;
}

bool Assign::may_stand(ValueId v, const Layout& at) const {
  // What counts from the start of a storage is a storage, row by row.
  if (const std::int32_t n = g_.values[v.v].node; n >= 0) {
    const Node& maker = g_.nodes[static_cast<std::size_t>(n)];
    if (graph::is_scatter_in_storage(maker.op) && !is_row_major(at)) return false;
    const graph::OpDef& def = graph::op(maker.op);
    // Kernels of users find new values contiguous (reprise/kernel.h), and written arguments where those lie.
    const bool is_users = static_cast<std::size_t>(maker.op) >= graph::kBuiltinOps && !host_launches().has(maker.op);
    if (is_users && !is_row_major(at) && !(def.twin_of && old_of(v))) return false;
    if (def.twin_of && !is_row_major(at))
      for (std::uint32_t a : graph::op(*def.twin_of).writes)
        if (auto* view = std::get_if<graph::ViewArg>(&maker.args[a]);
            view && old_of(v) == view->base && !layout_of_view(g_, *view, at, maker.info.loc))
          return false;
  }
  for (ValueId w : views_[v.v]) {
    if (!layout_from_root(g_, w, at)) return false;
  }
  return true;
}

Id Assign::add_copy(ValueId from, Place to, DType dtype, Wanted wanted, std::int32_t node, std::int32_t at) {
  Item it = new_item(Kind::Copy, node);
  it.of = wanted.of, it.why = wanted.why;
  it.from = from;
  it.to = std::move(to);
  it.to_dtype = dtype;
  it.reads = {from};
  Id id = add_item(std::move(it), at);
  reads(id, from);
  return id;
}

void Assign::make_wishes() {
  std::vector<std::pair<std::uint32_t, Id>> copies;
  p_.outputs.resize(g_.outputs.size());
  for (std::uint32_t o = 0; o < g_.outputs.size(); ++o) {
    const OutputSpec& spec = g_.outputs[o];
    if (spec.kind == OutputSpec::Kind::AliasOfInput) {
      p_.outputs[o].buffer = static_cast<std::int32_t>(input_place(spec.source).buffer);
      p_.outputs[o].layout = spec.layout;
      continue;
    }
    if (spec.kind == OutputSpec::Kind::AliasOfOutput) {
      p_.outputs[o].layout = spec.layout;
      continue;
    }
    bool of_input = spec.kind == OutputSpec::Kind::NewValueOfInput;
    if (of_input) p_.outputs[o].target = input_place(spec.source).layout;
    if (computed(spec.value)) {
      wishes_[spec.value.v].push_back(o);
      continue;
    }
    ValueId r = root_[spec.value.v];
    if (!of_input && computed(r) && wishes_[r.v].empty()) {
      Layout l = output_layout(g_, spec.value);
      if (same_layout(l, g_.meta(spec.value).layout) && same_number(numel(l.sizes), numel(g_.meta(r).layout.sizes))) {
        wishes_[r.v].push_back(o);
        continue;
      }
    }
    copies.push_back({o, start_copy(o)});
  }
  // All copies exist before the first is put in place: two inputs may swap their values.
  for (auto [o, id] : copies) finish_copy(o, id);
}

Id Assign::start_copy(std::uint32_t o) {
  const OutputSpec& spec = g_.outputs[o];
  const Wanted wanted = spec.is_view      ? Wanted{Copy::Of::Ours, "a view is returned as a tensor of its own"}
                        : is_new_value(o) ? Wanted{Copy::Of::EagerToo, "copy_"}
                                          : Wanted{Copy::Of::EagerToo, "a result of its own"};
  return add_copy(spec.value, {}, g_.meta(spec.value).dtype, wanted, -1);
}

void Assign::finish_copy(std::uint32_t o, Id id) {
  const OutputSpec& spec = g_.outputs[o];
  const TensorMeta& m = g_.meta(spec.value);
  if (spec.kind == OutputSpec::Kind::NewValueOfInput) {
    std::vector<Id> before = before_input_write(spec.source, {id});
    bool moves_itself = root_[spec.value.v] == g_.inputs[spec.source].value;
    if (!moves_itself && !paths_to_any(id, before)) {
      edges_before(before, id);
      p_.items[id].to = input_place(spec.source);
      return in_place(o, "a copy after the last read of the old value");
    }
    p_.items[id].to = output_buffer(o, m.dtype, m.layout.sizes);
    set_out(o, p_.items[id].to);
    p_.outputs[o].why = "the old value is read after the new one is known";
    return;
  }
  Place to = output_buffer(o, m.dtype, m.layout.sizes);
  to.layout = output_layout(g_, spec.value);
  p_.items[id].to = to;
  set_out(o, to);
}

void Assign::in_place(std::uint32_t o, std::string why) {
  set_out(o, input_place(g_.outputs[o].source));
  p_.outputs[o].in_place = true;
  p_.outputs[o].why = std::move(why);
}

void Assign::put_in_output(ValueId v, std::uint32_t o) {
  const TensorMeta& m = g_.meta(v);
  p_.place[v.v] = output_buffer(o, m.dtype, m.layout.sizes);
  p_.must_store[v.v] = true;
  set_out(o, p_.place[v.v]);
  if (g_.outputs[o].value != v) p_.outputs[o].layout = g_.meta(g_.outputs[o].value).layout;
}

void Assign::place_result(ValueId v) {
  std::vector<std::uint32_t> wishes = wishes_[v.v];
  bool native = p_.items[p_.maker[v.v]].kind == Kind::Native;
  if (!placed(v) && !wishes.empty()) {
    auto first = std::find_if(wishes.begin(), wishes.end(), [&](std::uint32_t o) { return !is_new_value(o); });
    if (first == wishes.end()) first = wishes.begin();
    std::uint32_t o = *first;
    wishes.erase(first);
    if (!is_new_value(o) || !write_over_input(v, o)) put_in_output(v, o);
  }
  if (!placed(v) && native) {
    const TensorMeta& m = g_.meta(v);
    p_.place[v.v] = {p_.add_buffer({Buffer::Kind::Temp, 0, m.dtype, bytes_of(m.layout.sizes, m.dtype)}),
                     contiguous_layout(m.layout.sizes)};
  }
  if (placed(v))
    if (ValueId old = old_of(v); old && !base_in_place(v, old)) chain_ends_here(v);  // its kernel copies
  for (std::uint32_t o : wishes) copy_out(o);
}

bool Assign::may_be_undone(Id w) const {
  const Item& it = p_.items[w];
  return may_undo_ && (it.kind == Kind::End || (it.kind == Kind::Native && graph::op(g_.nodes[it.node].op).twin_of));
}

void Assign::leave_to_undo(std::vector<Id>& before, Id w, Id first, const Place& at) {
  const Buffer& b = p_.buffers[at.buffer];
  if (!may_be_undone(w) || b.kind != Buffer::Kind::Input) return;
  const std::vector<Id>& readers = readers_[g_.inputs[b.index].value.v];
  std::erase_if(before, [&](Id r) {
    return p_.items[r].may_fail && order_.before(first, r) &&
           std::find(readers.begin(), readers.end(), r) == readers.end() && path(first, r);
  });
}

ValueId Assign::asked_place(ValueId v) const {
  const graph::Value& value = g_.values[v.v];
  if (value.node < 0) return {};
  const std::vector<ValueId>& tied = g_.nodes[static_cast<std::size_t>(value.node)].tied;
  return value.result < tied.size() ? tied[value.result] : ValueId{};
}

bool Assign::write_over_input(ValueId v, std::uint32_t o) {
  std::uint32_t i = g_.outputs[o].source;
  Id w = static_cast<Id>(p_.maker[v.v]);
  auto refuse = [&](std::string why) { return p_.outputs[o].why = std::move(why), false; };
  if (!asked(v, g_.inputs[i].value)) return refuse("it is not asked to lie there");
  if (fails_half_way(v))
    return refuse("a region may fail after it has written a part of it, or writes it turn by turn");
  const std::vector<Id>& readers = readers_[g_.inputs[i].value.v];
  bool native = p_.items[w].kind == Kind::Native;
  if (native && std::find(readers.begin(), readers.end(), w) != readers.end() && !updates_in_place(v, i)) {
    return refuse("its kernel reads the old value");
  }
  if (!native && !reads_same_element(w, i)) return refuse("it reads the old value at other indices than it writes");
  if (!may_stand(v, input_place(i).layout))
    return refuse("its kernel, or a view of it, does not take the input's strides");
  std::vector<Id> mine{w};  // what was made of the input in its place needs not be over before w
  if (old_of(v)) {
    chain_ends(v, mine);
    if (parts_read(mine, g_.inputs[i].value) || base_moves(v, g_.inputs[i].value)) mine = {w};
  }
  std::vector<Id> before = before_input_write(i, mine);
  leave_to_undo(before, w, w, input_place(i));
  if (std::string why = why_waits(w, before); !why.empty()) return refuse(std::move(why));
  // What w works over comes there first: if w fails, that must be undone, too.
  if (const ValueId old = old_of(v); p_.items[w].may_fail && old) {
    // a view of what was made
    const bool brought_there = computed(old) ? !may_be_undone(static_cast<Id>(p_.maker[old.v]))
                                             : !may_undo_ && root_[old.v] != g_.inputs[i].value;
    if (brought_there) return refuse("its kernel may fail when the place is written");
  }
  edges_before(before, w);
  if (p_.items[w].may_fail) before.push_back(w);  // what comes before w in its place would be written when w fails
  before_[v.v] = std::move(before);
  p_.place[v.v] = input_place(i);
  p_.must_store[v.v] = true;
  in_place(o, "written over the old value by the kernel that makes the new one");
  return true;
}

std::ptrdiff_t Assign::count_reads(Id w, ValueId root) const {
  const std::vector<ValueId>& r = p_.items[w].reads;
  return std::count_if(r.begin(), r.end(), [&](ValueId v) { return root_[v.v] == root; });
}

bool Assign::updates_in_place(ValueId v, std::uint32_t i) const {
  const ValueId input = g_.inputs[i].value;
  return updates(g_.nodes[g_.values[v.v].node]) && old_of(v) == input &&
         !reads_beside(static_cast<Id>(p_.maker[v.v]), input);
}

bool Assign::reads_beside(Id w, ValueId old) const {
  const Node& node = g_.nodes[p_.items[w].node];
  const graph::OpDef& def = graph::op(node.op);
  if (!def.twin_of) return count_reads(w, old) > 1;
  const std::vector<ValueId> bases = graph::written_bases(def, node.args);
  return count_reads(w, old) > 0 &&
         std::count_if(bases.begin(), bases.end(), [&](ValueId b) { return root_[b.v] == old; }) != 1;
}

bool Assign::reads_same_element(Id w, std::uint32_t i) const {
  const Place& at = input_place(i);
  for (ValueId r : p_.items[w].reads) {
    if (root_[r.v] != g_.inputs[i].value) continue;
    auto l = layout_from_root(g_, r, at.layout);
    if (!l || !same_layout(*l, at.layout)) return false;
  }
  return graph::op(g_.nodes[p_.items[w].node].op).cls == OpClass::Pointwise || !reads_input(w, i);
}

bool Assign::reads_input(Id w, std::uint32_t i) const {
  const std::vector<ValueId>& r = p_.items[w].reads;
  return std::any_of(r.begin(), r.end(), [&](ValueId v) { return root_[v.v] == g_.inputs[i].value; });
}

BufferPlan assign_buffers(const Graph& g, bool (*fused)(const Graph&, const Node&), bool may_undo) {
  return Assign(g, fused, may_undo).run();
}

}  // namespace reprise::kernels
