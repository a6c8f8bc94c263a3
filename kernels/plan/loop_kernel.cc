#include "kernels/plan/loop_kernel.h"

#include <algorithm>

#include "base/errors.h"
#include "base/knobs.h"
#include "kernels/launch/elements.h"
#include "kernels/loop/pointwise.h"
#include "kernels/plan/gather.h"
#include "kernels/plan/scatter.h"

namespace reprise::kernels {

using graph::Graph;
using graph::Node;
using graph::OpClass;
using graph::OpId;
using graph::ValueId;
using N = std::uint32_t;

namespace {

constinit graph::OpColumn<Fold> g_folds("fold of loop kernels",
                                        {
                                            {OpId::sum, {ReduceOp::Sum, true}},
                                            {OpId::prod, {ReduceOp::Prod, true}},
                                            {OpId::amax, {ReduceOp::Max}},
                                            {OpId::amin, {ReduceOp::Min}},
                                            {OpId::any, {ReduceOp::Any}},
                                            {OpId::all, {ReduceOp::All}},
                                        },
                                        graph::is_of<OpClass::Reduction>);

N full(BodyBuilder& b, const Node& node, DType t, const std::function<N(int)>&) {
  return b.constant(std::get<Scalar>(node.args[1]), t);
}
N arange(BodyBuilder& b, const Node& node, DType t, const std::function<N(int)>& index) {
  const DType in = is_floating(t) ? DType::Float64 : DType::Int64;
  const N start = b.constant(std::get<Scalar>(node.args[0]), in), step = b.constant(std::get<Scalar>(node.args[2]), in);
  const N i = b.cast(index(0), in);
  return b.cast(b.op(ScalarOp::Add, start, b.op(ScalarOp::Mul, i, step)), t);
}
constinit graph::OpColumn<CreationFormula> g_creation("formula of an element",
                                                      {
#define REPRISE_ROW_Creation(id) {OpId::id, {id}},
#include "graph/op_rows.inc"
                                                      },
                                                      graph::is_of<OpClass::Creation>);

/// Kept loops before reduced ones, of these the ones over parts first; a nest without loops gets one of extent 1.
Unit in_kernel_order(const Unit& u) {
  std::vector<std::size_t> order;
  auto level = [&](std::size_t l) { return !u.reduced[l] ? 0 : u.has_parts() && u.part[l] ? 1 : 2; };
  for (int of : {0, 1, 2}) {
    for (std::size_t l = 0; l < u.extents.size(); ++l) {
      if (level(l) == of) order.push_back(l);
    }
  }
  bool empty = order.empty();
  Unit out;
  out.items = u.items;
  for (std::size_t l : order) {
    out.extents.push_back(u.extents[l]);
    out.reduced.push_back(u.reduced[l]);
    out.part.push_back(level(l) == 1);
  }
  if (empty) out.extents.push_back(1), out.reduced.push_back(false), out.part.push_back(false);
  for (const Unit::Store& s : u.stores) {
    IndexMap map;
    map.loops = out.extents.size();
    for (const Coord& c : s.map.dims) {
      Coord moved = constant_coord(c.offset, map.loops);
      for (std::size_t k = 0; k < order.size(); ++k) moved.coefs[k] = c.coefs[order[k]];
      map.dims.push_back(std::move(moved));
    }
    out.stores.push_back({s.item, std::move(map)});
  }
  return out;
}

class Emit {
 public:
  Emit(const Graph& g, const BufferPlan& p, const Unit& u) : g_(g), p_(p), u_(in_kernel_order(u)), b_(launch_.kernel) {
    launch_.kernel.extents = u_.extents;
    launch_.kernel.n_kept = static_cast<int>(std::count(u_.reduced.begin(), u_.reduced.end(), false));
    launch_.kernel.n_parts = static_cast<int>(std::count(u_.part.begin(), u_.part.end(), true));
  }

  LoopLaunch run() {
    std::vector<N> values;
    for (const Unit::Store& s : u_.stores) {
      const Item& it = p_.items[s.item];
      if (it.kind == Item::Kind::Scatter) values.push_back(scattered(it, s.map));
      else values.push_back(value(it.kind == Item::Kind::Copy ? it.from : it.made, s.map));
    }
    for (std::size_t i = 0; i < u_.stores.size(); ++i) {
      const Item& it = p_.items[u_.stores[i].item];
      if (it.kind == Item::Kind::Scatter) {
        scatter(it, u_.stores[i].map, values[i]);
        continue;
      }
      bool copy = it.kind == Item::Kind::Copy;
      const Place& to = copy ? it.to : p_.place[it.made.v];
      Access a = access_of(u_.stores[i].map, to.layout);
      a.buffer = buffer(to.buffer, copy ? it.to_dtype : g_.meta(it.made).dtype);
      b_.store(std::move(a), values[i]);
    }
    walk_in_memory_order();
    merge_loops();
    see_rows_in_line();
    return std::move(launch_);
  }

 private:
  std::uint32_t buffer(std::uint32_t program_buffer, DType t) {
    for (std::uint32_t i = 0; i < launch_.buffers.size(); ++i) {
      if (launch_.buffers[i] == program_buffer && launch_.kernel.buffers[i].dtype == t) return i;
    }
    launch_.buffers.push_back(program_buffer);
    return b_.buffer(t);
  }

  /// The node of v's element at `map`: computed here when this kernel makes it, loaded otherwise.
  N value(ValueId v, IndexMap map) {
    ValueId root = root_of(g_, v);
    std::int32_t maker = p_.maker[root.v];
    if (maker < 0 || p_.items[maker].kind != Item::Kind::Fused || !u_.has(static_cast<std::uint32_t>(maker))) {
      const Place& at = p_.place[root.v];
      REPRISE_CHECK(at.buffer != ~0u, " a value that is read was not stored");
      auto layout = layout_from_root(g_, v, at.layout);
      REPRISE_CHECK(layout.has_value());
      Access a = access_of(map, *layout);
      Ints to = a.strides;
      to.insert(to.begin(), a.offset);
      note(ElementRead::By::Place, v, root, map, {}, at.layout, std::move(to));
      a.buffer = buffer(at.buffer, g_.meta(v).dtype);
      return b_.load(std::move(a));
    }
    while (v != root) {
      const Node& view = g_.nodes[g_.values[v.v].node];
      auto inner = through_view(g_, view, map, u_.extents);
      REPRISE_CHECK(inner.has_value());
      note(ElementRead::By::View, v, std::get<ValueId>(view.args[0]), map, *inner);
      map = std::move(*inner);
      v = std::get<ValueId>(view.args[0]);
    }
    for (const Known& k : known_) {
      if (k.value == v && identical_maps(k.map, map)) return k.node;
    }
    N n = expression(p_.items[maker], map);
    known_.push_back({v, std::move(map), n});
    return n;
  }

  N expression(const Item& it, const IndexMap& map) {
    const Node& node = g_.nodes[it.node];
    switch (graph::op(node.op).cls) {
      case OpClass::Reduction: return reduction(it, node, map);
      case OpClass::Gather: return gather(it, node, map);
      case OpClass::Creation: return creation(it, node, map);
      default: return pointwise(it, node, map);
    }
  }

  N pointwise(const Item& it, const Node& node, const IndexMap& map) {
    graph::NodeRuleArgs rule(g_, node.args);
    std::vector<PointwiseArg> args;
    for (const graph::RuleArg& a : rule.args()) args.push_back({a, ~0u});
    std::vector<Unit::Demand> operands = operand_maps(g_, it, map, u_);
    std::size_t next = 0;
    const std::uint32_t unread = unread_operands(node.op);
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (unread >> i & 1 || !std::holds_alternative<ValueId>(node.args[i])) continue;
      note(ElementRead::By::Broadcast, it.made, operands[next].value, map, operands[next].map);
      args[i].node = value(operands[next].value, operands[next].map);
      ++next;
    }
    return emit_pointwise(b_, node.op, args, g_.meta(it.made).dtype);
  }

  N reduction(const Item& it, const Node& node, const IndexMap& map) {
    std::vector<Unit::Demand> operands = operand_maps(g_, it, map, u_);
    N x = value(operands[0].value, operands[0].map);
    DType result = g_.meta(it.made).dtype;
    const DType held = is_low_precision(result) ? DType::Float32 : result;
    const Fold& fold = g_folds.at(node.op);
    if (fold.casts_first) x = b_.cast(x, held);
    const std::vector<bool> folded = left_out(map);
    bool within = false;  // parts of a row: they move what is made of each
    for (std::size_t l = 0; l < folded.size(); ++l) within = within || (u_.part[l] && !folded[l]);
    return b_.cast(b_.reduce(fold.op, x, within), held);
  }

  N gather(const Item& it, const Node& node, const IndexMap& map) {
    auto form = gather_form(g_, node);
    std::vector<N> indices;
    for (const Unit::Demand& d : operand_maps(g_, it, map, u_)) indices.push_back(value(d.value, d.map));
    const Place& place = p_.place[root_of(g_, form->table).v];
    auto layout = layout_from_root(g_, form->table, place.layout);
    REPRISE_CHECK(layout.has_value());
    Access a = access_of(table_map(*form, map), *layout);
    a.buffer = buffer(place.buffer, g_.meta(form->table).dtype);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      int dim = form->indices[i].dim;
      a.gathers.push_back({indices[i], layout->strides[dim], layout->sizes[dim]});
    }
    return b_.load(std::move(a));
  }

  /// What is stored; its indices, which are loaded, are known from then on.
  N scattered(const Item& it, const IndexMap& map) {
    const std::vector<Unit::Demand> operands = operand_maps(g_, it, map, u_);
    for (std::size_t i = 1; i < operands.size(); ++i) value(operands[i].value, operands[i].map);
    return value(operands[0].value, operands[0].map);
  }

  void scatter(const Item& it, const IndexMap& part, N stored) {
    const IndexMap map = whole_map(part, it.part_dim, it.part_at);
    const auto form = scatter_form(g_, g_.nodes[it.node]);
    const std::vector<Unit::Demand> operands = operand_maps(g_, it, part, u_);
    const Place& to = p_.place[it.made.v];
    Access a = access_of(self_map(*form, map), to.layout);
    a.buffer = buffer(to.buffer, g_.meta(it.made).dtype);
    for (std::size_t i = 0; i < form->indices.size(); ++i) {
      const auto dim = static_cast<std::size_t>(form->indices[i].dim);
      a.gathers.push_back(
          {value(operands[i + 1].value, operands[i + 1].map), to.layout.strides[dim], to.layout.sizes[dim]});
    }
    if (it.last < 0) return void(b_.store(std::move(a), stored));
    const Place& last = p_.items[static_cast<std::size_t>(it.last)].to;
    Access flag = access_of(positions_map(*form, map), last.layout);
    flag.buffer = buffer(last.buffer, DType::Int64);
    const N place = b_.load(std::move(flag));
    b_.store(std::move(a), stored, b_.op(ScalarOp::Le, b_.constant(Scalar(0), DType::Int64), place));
  }

  N coordinate(const Coord& c) {
    N sum = b_.constant(Scalar(c.offset), DType::Int64);
    for (std::size_t l = 0; l < c.coefs.size(); ++l) {
      if (is_number(c.coefs[l], 0)) continue;
      N term = b_.index(static_cast<int>(l));
      if (!is_number(c.coefs[l], 1)) term = b_.op(ScalarOp::Mul, term, b_.constant(Scalar(c.coefs[l]), DType::Int64));
      sum = is_number(c.offset, 0) && l == 0 ? term : b_.op(ScalarOp::Add, sum, term);
    }
    return sum;
  }

  N creation(const Item& it, const Node& node, const IndexMap& map) {
    return g_creation.at(node.op).write(b_, node, g_.meta(it.made).dtype,
                                        [&](int d) { return coordinate(map.dims[static_cast<std::size_t>(d)]); });
  }

  /// Loops stand in the order of a value's dimensions. Where all that is read and written stands in memory in another
  /// one (arguments that are transposed, channels-last), they are taken in that: every index is computed by itself, so
  /// any order is right. The sizes of the traced call say which; it costs no guard. Sums add up in the order of the
  /// loops, and keep theirs.
  void walk_in_memory_order() {
    LoopKernel& k = launch_.kernel;
    if (k.n_kept < static_cast<int>(k.extents.size())) return;
    // Does some access step further in b than in a, and none less far? Of equal steps the dimension of size 1 is
    // inside.
    auto belongs_outside = [&](std::size_t b, std::size_t a) {
      bool any = false;
      for (const Access& x : k.accesses) {
        const std::int64_t in_a = x.strides[a].hint(), in_b = x.strides[b].hint();
        if (in_a == 0 || in_b == 0) continue;
        if (in_b < in_a || (in_b == in_a && k.extents[b].hint() <= 1)) return false;
        any = any || in_b > in_a || k.extents[a].hint() <= 1;
      }
      return any;
    };
    std::vector<std::size_t> order;
    for (std::size_t d = 0; d < k.extents.size(); ++d) {
      std::size_t at = order.size();
      while (at > 0 && belongs_outside(d, order[at - 1])) --at;
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(at), d);
    }
    auto in_order = [&](const Ints& by_loop) {
      Ints out;
      for (std::size_t d : order) out.push_back(by_loop[d]);
      return out;
    };
    k.extents = in_order(k.extents);
    for (Access& a : k.accesses) a.strides = in_order(a.strides);
    for (BodyNode& n : k.body)
      if (n.kind == BodyNode::Kind::Index)
        n.iimm = std::find(order.begin(), order.end(), static_cast<std::size_t>(n.iimm)) - order.begin();
  }

  /// Loops that every access steps through as one become one.
  void merge_loops() {
    LoopKernel& k = launch_.kernel;
    std::vector<bool> indexed(k.extents.size());
    for (const BodyNode& n : k.body) {
      if (n.kind == BodyNode::Kind::Index) indexed[static_cast<std::size_t>(n.iimm)] = true;
    }
    for (std::size_t d = k.extents.size(); d-- > 1;) {
      std::size_t o = d - 1;
      if (static_cast<int>(d) == k.n_kept || static_cast<int>(d) == k.n_kept + k.n_parts || indexed[o] || indexed[d])
        continue;
      bool joined = std::all_of(k.accesses.begin(), k.accesses.end(), [&](const Access& a) {
        return same_number(a.strides[o], a.strides[d] * k.extents[d]);
      });
      if (!joined) continue;
      k.extents[o] = k.extents[o] * k.extents[d];
      k.extents.erase(k.extents.begin() + static_cast<std::ptrdiff_t>(d));
      indexed.erase(indexed.begin() + static_cast<std::ptrdiff_t>(d));
      for (Access& a : k.accesses) {
        a.strides[o] = a.strides[d];
        a.strides.erase(a.strides.begin() + static_cast<std::ptrdiff_t>(d));
      }
      if (static_cast<int>(d) < k.n_kept) --k.n_kept;
      else if (static_cast<int>(d) < k.n_kept + k.n_parts) --k.n_parts;
      for (BodyNode& n : k.body) {
        if (n.kind == BodyNode::Kind::Index && n.iimm > static_cast<std::int64_t>(d)) --n.iimm;
      }
    }
  }

  /// LoopKernel::in_line.
  void see_rows_in_line() {
    LoopKernel& k = launch_.kernel;
    const auto parts = static_cast<std::size_t>(k.n_kept), inside = parts + 1;
    k.in_line = k.n_parts == 1 && k.extents.size() == inside + 1 &&
                std::all_of(k.accesses.begin(), k.accesses.end(), [&](const Access& a) {
                  return is_number(a.strides[inside], 0) ||
                         same_number(a.strides[parts], a.strides[inside] * k.extents[inside]);
                });
  }

  void note(ElementRead::By by, ValueId made, ValueId of, const IndexMap& at, const IndexMap& read, Layout place = {},
            Ints to = {}) {
    if (!knobs().validate || !g_.env) return;
    auto forms = [](const IndexMap& m) {
      std::vector<Ints> out;
      for (const Coord& c : m.dims) out.emplace_back(c.coefs).insert(out.back().begin(), c.offset);
      return out;
    };
    note_read(*g_.env, {by, "%" + std::to_string(of.v), g_.meta(made).layout, g_.meta(of).layout, u_.extents, forms(at),
                        forms(read), std::move(place), std::move(to)});
  }

  struct Known {
    ValueId value;
    IndexMap map;
    N node;
  };
  const Graph& g_;
  const BufferPlan& p_;
  Unit u_;
  LoopLaunch launch_;
  BodyBuilder b_;
  std::vector<Known> known_;
};

}  // namespace

graph::OpColumn<Fold>& folds() { return g_folds; }
graph::OpColumn<CreationFormula>& creation_formulas() { return g_creation; }

std::string launch_name(const Graph& g, const BufferPlan& p, const std::vector<std::uint32_t>& items) {
  std::vector<std::uint32_t> order = items;
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    auto key = [&](std::uint32_t i) { return std::pair(p.items[i].node < 0 ? INT32_MAX : p.items[i].node, i); };
    return key(a) < key(b);
  });
  std::string out, last;
  for (std::uint32_t i : order) {
    std::string name = p.items[i].node < 0 ? "copy" : std::string(graph::op(g.nodes[p.items[i].node].op).name());
    if (name == last) continue;
    if (out.size() + name.size() > 56) return out + "_...";
    out += (out.empty() ? "" : "_") + name;
    last = std::move(name);
  }
  return out;
}

Launch loop_launch(const Graph& g, const BufferPlan& p, const Unit& u) {
  Launch out;
  LoopLaunch loop = Emit(g, p, u).run();
  out.name = launch_name(g, p, u.items);
  loop.kernel.name = out.name;
  out.what = std::move(loop);
  for (std::uint32_t i : u.items) {
    if (p.items[i].node >= 0) out.nodes.push_back(static_cast<std::uint32_t>(p.items[i].node));
  }
  std::sort(out.nodes.begin(), out.nodes.end());
  out.nodes.erase(std::unique(out.nodes.begin(), out.nodes.end()), out.nodes.end());
  if (!out.nodes.empty()) out.loc = g.nodes[out.nodes[0]].info.loc;
  return out;
}

}  // namespace reprise::kernels
