#include "kernels/assign_buffers.h"

#include <algorithm>

#include "base/errors.h"
#include "kernels/lower_gather.h"
#include "kernels/lower_join.h"

namespace reprise::kernels {

using graph::Graph;
using graph::Node;
using graph::OpClass;
using graph::OpId;
using graph::OutputSpec;
using graph::ValueId;

namespace {

using Kind = Item::Kind;
using Id = std::uint32_t;

class Assign {
 public:
  Assign(const Graph& g, bool (*fused)(const Graph&, const Node&)) : g_(g), fused_(fused) {
    p_.place.resize(g.values.size());
    p_.must_store.resize(g.values.size());
    p_.maker.assign(g.values.size(), -1);
    begin_.assign(g.values.size(), -1);
    wishes_.resize(g.values.size());
    readers_.resize(g.values.size());
    views_.resize(g.values.size());
    before_.resize(g.values.size());
    overwriters_.resize(g.values.size());
    root_.resize(g.values.size());
  }

  BufferPlan run() {
    for (std::uint32_t i = 0; i < g_.inputs.size(); ++i) {
      const TensorMeta& m = g_.meta(g_.inputs[i].value);
      Layout l = m.layout;
      l.offset = 0;
      p_.place[g_.inputs[i].value.v] = {p_.add_buffer({Buffer::Kind::Input, i, m.dtype, 0}), l};
    }
    for (std::uint32_t v = 0; v < g_.values.size(); ++v) {
      root_[v] = root_of(g_, ValueId{v});
      if (root_[v].v != v) views_[root_[v].v].push_back(ValueId{v});
    }
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
    drop_markers(p_);
    return std::move(p_);
  }

 private:
  // ---- items
  static Item new_item(Kind kind, std::int32_t node) {
    Item it;
    it.kind = kind;
    it.node = node;
    return it;
  }
  Id add_item(Item it) {
    p_.items.push_back(std::move(it));
    p_.succ.emplace_back();
    return static_cast<Id>(p_.items.size() - 1);
  }
  void edge(Id a, Id b, EdgeKind k) { p_.succ[a].push_back({b, k}); }
  bool is_join(const Node& n) const { return graph::op(n.op).cls == OpClass::Join && n.op != OpId::as_strided_scatter; }
  bool computed(ValueId v) const { return root_[v.v] == v && g_.values[v.v].node >= 0; }
  bool placed(ValueId v) const { return p_.place[v.v].buffer != ~0u; }

  /// `item` reads value v: it comes after v's maker, and counts as a reader of v's storage.
  void reads(Id item, ValueId v) {
    ValueId r = root_[v.v];
    readers_[r.v].push_back(item);
    std::int32_t m = p_.maker[r.v];
    if (m < 0) return;
    bool in_register = p_.items[m].kind == Kind::Fused && (p_.items[item].kind == Kind::Fused || p_.items[item].kind == Kind::Copy);
    if (p_.items[m].kind == Kind::Fused && !in_register && p_.items[item].kind != Kind::End) p_.must_store[r.v] = true;
    edge(static_cast<Id>(m), item, in_register ? EdgeKind::Value : EdgeKind::Memory);
  }

  void make_items(std::uint32_t n) {
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
    it.may_fail = def.may_fail && it.kind == Kind::Native;
    bool first_unread = node.op == OpId::copy || node.op == OpId::fill;
    for (std::size_t a = first_unread ? 1 : 0; a < node.args.size(); ++a) {
      graph::for_each_value(node.args[a], [&](ValueId v) { it.reads.push_back(v); });
    }
    std::vector<Id> checks;
    if (it.kind == Kind::Fused) it.made = node.results[0];
    if (it.kind == Kind::Fused && def.may_fail) checks = make_checks(n, node);
    std::vector<ValueId> in = it.reads;
    bool fused = it.kind == Kind::Fused;
    Id id = add_item(std::move(it));
    for (Id check : checks) edge(check, id, EdgeKind::Memory);
    for (ValueId r : node.results) p_.maker[r.v] = static_cast<std::int32_t>(id), begin_[r.v] = static_cast<std::int32_t>(id);
    for (ValueId v : in) reads(id, v);
    if (fused && def.cls == OpClass::Gather) {  // its table is read at computed places: from memory
      ValueId table = root_[std::get<ValueId>(node.args[0]).v];
      if (p_.maker[table.v] >= 0 && p_.items[p_.maker[table.v]].kind == Kind::Fused) {
        p_.must_store[table.v] = true;
        edge(static_cast<Id>(p_.maker[table.v]), id, EdgeKind::Memory);
      }
    }
  }

  std::vector<Id> make_checks(std::uint32_t n, const Node& node) {
    std::vector<Id> out;
    auto form = gather_form(g_, node);
    for (const GatherForm::Index& index : form->indices) {
      Item it = new_item(Kind::Check, static_cast<std::int32_t>(n));
      it.from = index.value;
      it.reads = {index.value};
      it.dim = index.dim;
      it.extent = g_.meta(form->table).size(index.dim);
      it.wraps = form->wraps;
      it.may_fail = true;
      Id id = add_item(std::move(it));
      reads(id, index.value);
      out.push_back(id);
    }
    return out;
  }

  // ---- order
  bool path(Id from, Id to) const {
    if (from == to) return true;
    std::vector<bool> seen(p_.items.size());
    std::vector<Id> stack{from};
    seen[from] = true;
    while (!stack.empty()) {
      Id i = stack.back();
      stack.pop_back();
      for (const Edge& e : p_.succ[i]) {
        if (e.to == to) return true;
        if (!seen[e.to]) seen[e.to] = true, stack.push_back(e.to);
      }
    }
    return false;
  }
  bool paths_to_any(Id from, const std::vector<Id>& to) const {
    std::vector<bool> seen(p_.items.size());
    std::vector<Id> stack{from};
    seen[from] = true;
    while (!stack.empty()) {
      Id i = stack.back();
      stack.pop_back();
      for (const Edge& e : p_.succ[i]) {
        if (!seen[e.to]) seen[e.to] = true, stack.push_back(e.to);
      }
    }
    return std::any_of(to.begin(), to.end(), [&](Id t) { return seen[t]; });
  }
  /// Everything that must have run before input i's memory is written: readers of the old value and what may still fail.
  std::vector<Id> before_input_write(std::uint32_t i, const std::vector<Id>& except) const {
    std::vector<Id> out = readers_[g_.inputs[i].value.v];
    for (Id k = 0; k < p_.items.size(); ++k) {
      if (p_.items[k].may_fail) out.push_back(k);
    }
    std::erase_if(out, [&](Id r) { return std::find(except.begin(), except.end(), r) != except.end(); });
    return out;
  }
  void edges_before(const std::vector<Id>& before, Id writer) {
    for (Id r : before) edge(r, writer, p_.items[r].may_fail ? EdgeKind::Memory : EdgeKind::Anti);
  }

  // ---- outputs
  const Place& input_place(std::uint32_t i) const { return p_.place[g_.inputs[i].value.v]; }
  Place output_buffer(std::uint32_t o, DType t, const Ints& sizes) {
    return {p_.add_buffer({Buffer::Kind::Output, o, t, bytes_of(sizes, t)}), contiguous_layout(sizes)};
  }
  void set_out(std::uint32_t o, const Place& at) {
    p_.outputs[o].buffer = static_cast<std::int32_t>(at.buffer);
    p_.outputs[o].layout = at.layout;
  }
  bool views_fit(ValueId v, const Layout& at) const {
    for (ValueId w : views_[v.v]) {
      if (!layout_from_root(g_, w, at)) return false;
    }
    return true;
  }
  Id add_copy(ValueId from, Place to, DType dtype, std::int32_t node) {
    Item it = new_item(Kind::Copy, node);
    it.from = from;
    it.to = std::move(to);
    it.to_dtype = dtype;
    it.reads = {from};
    Id id = add_item(std::move(it));
    reads(id, from);
    return id;
  }

  void make_wishes() {
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

  /// Output o is a copy of its value.
  void copy_out(std::uint32_t o) { finish_copy(o, start_copy(o)); }
  Id start_copy(std::uint32_t o) {
    ValueId v = g_.outputs[o].value;
    return add_copy(v, {}, g_.meta(v).dtype, -1);
  }
  void finish_copy(std::uint32_t o, Id id) {
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

  void in_place(std::uint32_t o, std::string why) {
    set_out(o, input_place(g_.outputs[o].source));
    p_.outputs[o].in_place = true;
    p_.outputs[o].why = std::move(why);
  }
  bool is_new_value(std::uint32_t o) const { return g_.outputs[o].kind == OutputSpec::Kind::NewValueOfInput; }

  /// Output o takes the whole of v's storage. A dense view returns its own layout over it.
  void put_in_output(ValueId v, std::uint32_t o) {
    const TensorMeta& m = g_.meta(v);
    p_.place[v.v] = output_buffer(o, m.dtype, m.layout.sizes);
    p_.must_store[v.v] = true;
    set_out(o, p_.place[v.v]);
    if (g_.outputs[o].value != v) p_.outputs[o].layout = g_.meta(g_.outputs[o].value).layout;
  }

  // ---- results that are not joins
  void place_result(ValueId v) {
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
      p_.place[v.v] = {p_.add_buffer({Buffer::Kind::Temp, 0, m.dtype, bytes_of(m.layout.sizes, m.dtype)}), contiguous_layout(m.layout.sizes)};
    }
    for (std::uint32_t o : wishes) copy_out(o);
  }

  /// v is the new value of an input: written into the input's memory by the kernel that makes it, if nothing forbids.
  bool write_over_input(ValueId v, std::uint32_t o) {
    std::uint32_t i = g_.outputs[o].source;
    Id w = static_cast<Id>(p_.maker[v.v]);
    auto refuse = [&](const char* why) { return p_.outputs[o].why = why, false; };
    const std::vector<Id>& readers = readers_[g_.inputs[i].value.v];
    bool native = p_.items[w].kind == Kind::Native;
    if (native && std::find(readers.begin(), readers.end(), w) != readers.end() && !updates_in_place(w, i)) {
      return refuse("its kernel reads the old value");
    }
    if (!native && !reads_same_element(w, i)) return refuse("it reads the old value at other indices than it writes");
    if (!views_fit(v, input_place(i).layout)) return refuse("the new value is viewed in ways the input's strides do not allow");
    std::vector<Id> before = before_input_write(i, {w});
    if (paths_to_any(w, before)) return refuse("the old value is read, or a kernel may fail, after the new one is known");
    edges_before(before, w);
    p_.place[v.v] = input_place(i);
    p_.must_store[v.v] = true;
    in_place(o, "written over the old value by the kernel that makes the new one");
    return true;
  }

  /// Its kernel makes the result from its first operand by changing some elements, and works when both are one memory.
  bool updates_in_place(Id w, std::uint32_t i) const {
    const Node& node = g_.nodes[p_.items[w].node];
    if (node.op != OpId::scatter && node.op != OpId::scatter_add && node.op != OpId::index_put) return false;
    const std::vector<ValueId>& r = p_.items[w].reads;
    auto of_input = [&](ValueId v) { return root_[v.v] == g_.inputs[i].value; };
    return r[0] == g_.inputs[i].value && std::count_if(r.begin(), r.end(), of_input) == 1;
  }
  /// Whatever item w reads of input i, it reads at the index it writes.
  bool reads_same_element(Id w, std::uint32_t i) const {
    const Place& at = input_place(i);
    for (ValueId r : p_.items[w].reads) {
      if (root_[r.v] != g_.inputs[i].value) continue;
      auto l = layout_from_root(g_, r, at.layout);
      if (!l || !same_layout(*l, at.layout)) return false;
    }
    return graph::op(g_.nodes[p_.items[w].node].op).cls == OpClass::Pointwise || !reads_input(w, i);
  }
  bool reads_input(Id w, std::uint32_t i) const {
    const std::vector<ValueId>& r = p_.items[w].reads;
    return std::any_of(r.begin(), r.end(), [&](ValueId v) { return root_[v.v] == g_.inputs[i].value; });
  }

  // ---- joins
  /// Reads of the old contents of `b` by work other than join c. (A join that only holds b as its base and is itself in
  /// c's place does not read.)
  std::vector<Id> old_readers(ValueId b, const std::vector<Id>& except) const {
    std::vector<Id> out = readers_[b.v];
    std::erase_if(out, [&](Id r) { return std::find(except.begin(), except.end(), r) != except.end(); });
    return out;
  }

  /// End markers of joins nested in c that write in place inside it: c = select_scatter(b, slice_scatter(select(b), src)).
  void nested_ends(ValueId c, std::vector<Id>& out) const {
    const Node& node = g_.nodes[g_.values[c.v].node];
    out.push_back(static_cast<Id>(p_.maker[c.v]));
    if (node.op == OpId::cat) return;
    ValueId part = std::get<ValueId>(node.args[1]), base = std::get<ValueId>(node.args[0]);
    if (!computed(part) || readers_[part.v].size() != 1 || !wishes_[part.v].empty() || placed(part)) return;
    const Node& inner = g_.nodes[g_.values[part.v].node];
    if (!is_join(inner) || inner.op == OpId::cat) return;
    // The inner base must be the very region that c fills with it.
    auto whole = contiguous_layout(g_.meta(c).layout.sizes);
    auto plan = plan_join(g_, node, whole);
    ValueId inner_base = std::get<ValueId>(inner.args[0]);
    if (root_[inner_base.v] != root_[base.v] || root_[base.v] != base) return;
    auto at = layout_from_root(g_, inner_base, whole);
    if (at && same_layout(*at, plan->parts[0].region)) nested_ends(part, out);
  }

  void place_join(const Node& node) {
    ValueId c = node.results[0];
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
        p_.place[c.v] = {p_.add_buffer({Buffer::Kind::Temp, 0, m.dtype, bytes_of(m.layout.sizes, m.dtype)}), contiguous_layout(m.layout.sizes)};
      }
    }
    auto plan = plan_join(g_, node, p_.place[c.v].layout);
    Id after = begin;  // what each part's write comes after
    if (plan->base && !base_in_place(c, plan->base)) {
      after = add_copy(plan->base, p_.place[c.v], m.dtype, p_.items[end].node);
      edge(begin, after, EdgeKind::Memory);
      edge(after, end, EdgeKind::Memory);
    }
    for (JoinPlan::Part& part : plan->parts) place_part(c, part, after);
    for (std::uint32_t o : wishes) copy_out(o);
  }

  bool join_over_input(ValueId c, std::uint32_t o) {
    std::uint32_t i = g_.outputs[o].source;
    Id begin = static_cast<Id>(begin_[c.v]);
    if (!views_fit(c, input_place(i).layout)) {
      p_.outputs[o].why = "the new value is viewed in ways the input's strides do not allow";
      return false;
    }
    std::vector<Id> nested;
    chain_ends(c, nested);
    std::vector<Id> before = before_input_write(i, nested);
    if (parts_read(nested, g_.inputs[i].value) || base_moves(c, g_.inputs[i].value) || paths_to_any(begin, before)) {
      p_.outputs[o].why = "the old value is read, or a kernel may fail, after the new one is known";
      return false;
    }
    edges_before(before, begin);
    before_[c.v] = before;
    p_.place[c.v] = input_place(i);
    in_place(o, "only the parts that change are written, after the last read of the old value");
    return true;
  }
  /// Joins whose result becomes c's contents without leaving c's place: c, those nested in it, and those it is based on.
  void chain_ends(ValueId c, std::vector<Id>& out) const {
    nested_ends(c, out);
    const Node& node = g_.nodes[g_.values[c.v].node];
    if (node.op == OpId::cat) return;
    ValueId base = std::get<ValueId>(node.args[0]);
    if (computed(base) && is_join(g_.nodes[g_.values[base.v].node]) && wishes_[base.v].empty() && !placed(base)) chain_ends(base, out);
  }

  /// A part of one of these joins is `old` itself or a view of it: copying it while `old` is overwritten is not safe.
  bool parts_read(const std::vector<Id>& ends, ValueId old) const {
    for (Id e : ends) {
      const Node& node = g_.nodes[p_.items[e].node];
      bool found = false;
      for (std::size_t a = node.op == OpId::cat ? 0 : 1; a < node.args.size(); ++a) {
        graph::for_each_value(node.args[a], [&](ValueId v) { found = found || root_[v.v] == old; });
      }
      if (found) return true;
    }
    return false;
  }

  /// What c is based on is `old` seen in another way (transposed, a part): its elements would move within `old`'s memory.
  bool base_moves(ValueId c, ValueId old) const {
    const Node& node = g_.nodes[g_.values[c.v].node];
    if (node.op == OpId::cat) return false;
    ValueId base = std::get<ValueId>(node.args[0]);
    if (root_[base.v] == old) return base != old;
    return computed(base) && is_join(g_.nodes[g_.values[base.v].node]) && base_moves(base, old);
  }

  /// c is nothing but an input's new value: only its part is computed, the epilogue puts it into the input.
  bool slice_in_epilogue(const Node& node, std::uint32_t o) {
    std::uint32_t i = g_.outputs[o].source;
    if (node.op == OpId::cat || !readers_[node.results[0].v].empty()) return false;
    if (std::get<ValueId>(node.args[0]) != g_.inputs[i].value) return false;
    auto plan = plan_join(g_, node, input_place(i).layout);
    ValueId part = plan->parts[0].value;
    const TensorMeta& m = g_.meta(part);
    Place to = output_buffer(o, g_.meta(node.results[0]).dtype, m.layout.sizes);
    if (computed(part) && !placed(part) && wishes_[part.v].empty() && m.dtype == g_.meta(node.results[0]).dtype) {
      p_.place[part.v] = to;
      p_.must_store[part.v] = true;
    } else {
      add_copy(part, to, g_.meta(node.results[0]).dtype, g_.values[node.results[0].v].node);
    }
    set_out(o, to);
    p_.outputs[o].target = plan->parts[0].region;
    slice_only_ = true;
    return true;
  }

  /// The base already stands where c will: nothing to copy. Otherwise, when nobody reads it later, it is put there.
  bool base_in_place(ValueId c, ValueId base) {
    const Place& at = p_.place[c.v];
    ValueId r = root_[base.v];
    if (g_.meta(base).dtype != g_.meta(c).dtype) return false;
    if (placed(r)) {
      if (p_.place[r.v].buffer != at.buffer) return false;
      auto l = layout_from_root(g_, base, p_.place[r.v].layout);
      return l && same_layout(*l, at.layout);
    }
    if (r != base || !wishes_[base.v].empty() || !views_fit(base, at.layout)) return false;
    Id begin = static_cast<Id>(begin_[c.v]), base_begin = static_cast<Id>(begin_[base.v]);
    std::vector<Id> nested;
    nested_ends(c, nested);
    std::vector<Id> readers = old_readers(base, nested);
    if (parts_read(nested, base)) return false;
    if (paths_to_any(begin, readers) || paths_to_any(base_begin, before_[c.v])) return false;
    if (p_.items[p_.maker[base.v]].kind == Kind::Native && !innermost_contiguous(at.layout)) return false;
    for (Id b : before_[c.v]) {
      if (b == static_cast<Id>(p_.maker[base.v])) return false;
    }
    for (Id rd : readers) edge(rd, begin, EdgeKind::Anti);
    overwriters_[base.v] = {begin};
    edge(static_cast<Id>(p_.maker[base.v]), begin, EdgeKind::Memory);
    edges_before(before_[c.v], base_begin);
    before_[base.v] = before_[c.v];
    p_.place[base.v] = at;
    p_.must_store[base.v] = true;
    return true;
  }

  static bool innermost_contiguous(const Layout& l) {
    for (std::size_t d = l.sizes.size(); d-- > 0;) {
      if (!is_number(l.sizes[d], 1)) return is_number(l.strides[d], 1);
    }
    return true;
  }

  void place_part(ValueId c, JoinPlan::Part& part, Id after) {
    const Place& at = p_.place[c.v];
    ValueId p = part.value;
    Id end = static_cast<Id>(p_.maker[c.v]);
    DType dtype = g_.meta(c).dtype;
    bool direct = computed(p) && !placed(p) && wishes_[p.v].empty() && g_.meta(p).dtype == dtype && views_fit(p, part.region);
    if (direct && p_.items[p_.maker[p.v]].kind == Kind::Native) direct = innermost_contiguous(part.region);
    // Where c is overwritten in place later, so is its part: that waits for the part's other readers, too.
    std::vector<Id> others = old_readers(p, {end});
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
    Id copy = add_copy(p, {at.buffer, part.region}, dtype, p_.items[end].node);
    edge(after, copy, EdgeKind::Memory);
    edge(copy, end, EdgeKind::Memory);
  }

  const Graph& g_;
  bool (*fused_)(const Graph&, const Node&);
  BufferPlan p_;
  std::vector<std::int32_t> begin_;                     // by value: the first item that writes it
  std::vector<std::vector<std::uint32_t>> wishes_;      // by value: outputs that want its storage
  std::vector<std::vector<Id>> readers_;                // by root value: items that read its elements
  std::vector<std::vector<ValueId>> views_;             // by root value: views of it
  std::vector<std::vector<Id>> before_;                 // by value: what runs before its place may be written
  std::vector<std::vector<Id>> overwriters_;            // by value: Begin markers of joins written over its place
  std::vector<ValueId> root_;
  bool slice_only_ = false;
};

}  // namespace

BufferPlan assign_buffers(const Graph& g, bool (*fused)(const Graph&, const Node&)) { return Assign(g, fused).run(); }

}  // namespace reprise::kernels
