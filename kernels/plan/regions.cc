#include "kernels/plan/regions.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/errors.h"
#include "graph/map_values.h"
#include "graph/name_scopes.h"
#include "graph/region_call.h"
#include "graph/while_loop.h"
#include "kernels/launch/layout.h"
#include "kernels/plan/epilogue.h"

namespace reprise::kernels {

using graph::Graph;
using graph::Node;
using graph::NodeArg;
using graph::ValueId;

namespace {

Layout from_start(Layout l) {
  l.offset = 0;
  return l;
}

/// The region with inputs of other strides: what is a view of them has other ones, too.
Graph with_inputs(const Graph& g, const std::vector<Layout>& layouts) {
  Graph out;
  out.form = g.form, out.name = g.name, out.env = g.env;
  std::vector<ValueId> to(g.values.size());
  for (std::size_t i = 0; i < g.inputs.size(); ++i) {
    TensorMeta m = g.meta(g.inputs[i].value);
    m.layout = layouts[i];
    to[g.inputs[i].value.v] = out.add_input(std::move(m), g.values[g.inputs[i].value.v].name);
  }
  for (const Node& n : g.nodes) {
    std::vector<NodeArg> args = n.args;
    for (NodeArg& a : args) graph::map_values(a, [&](ValueId v) { return to[v.v]; });
    out.add(n.op, std::move(args), n.info);
    Node& made = out.nodes.back();
    for (std::size_t i = 0; i < n.results.size(); ++i) to[n.results[i].v] = made.results[i];
    made.keeps_self = n.keeps_self, made.keeps_part = n.keeps_part;
    for (ValueId t : n.tied) made.tied.push_back(t ? to[t.v] : ValueId{});
  }
  out.outputs = g.outputs;
  for (graph::OutputSpec& o : out.outputs) o.value = to[o.value.v];
  return out;
}

/// What stood in a buffer of its own stands `by` elements further on in another one.
void move_uses(Launch& l, const std::vector<std::uint32_t>& to, const std::vector<Int>& by) {
  if (auto* loop = std::get_if<LoopLaunch>(&l.what)) {
    for (Access& a : loop->kernel.accesses) a.offset = a.offset + by[loop->buffers[a.buffer]];
  } else {
    for (Operand& o : std::get<NativeLaunch>(l.what).operands) o.layout.offset = o.layout.offset + by[o.buffer];
  }
  for (Condition& c : l.when) c.offset = c.offset + by[c.buffer];
  for_each_buffer(l, [&](std::uint32_t& b) { b = to[b]; });
}

/// The buffers of launches and loops that another lowering has made: which they are here, and how many elements further
/// on what stood there stands.
struct Moved {
  std::vector<std::uint32_t> to;
  std::vector<Int> by;
};
void move_uses(Repeat& r, const Moved& m) {
  for (Repeat::Window& w : r.windows) w.offset = w.offset + m.by[w.of];
  for_each_buffer(r, [&](std::uint32_t& b) { b = m.to[b]; });
}

bool stands_row_by_row(const Layout& l) { return same_layout(from_start(l), contiguous_layout(l.sizes)); }

/// What one turn sees of a stacked tensor, from its beginning.
Layout slice_of(const Layout& l) {
  return {{l.sizes.begin() + 1, l.sizes.end()}, {l.strides.begin() + 1, l.strides.end()}, 0};
}

/// Launches of one node.
class OfNode {
 public:
  OfNode(const Node& node, std::uint32_t n, Mode mode, const RegionSink& sink)
      : node_(node), n_(n), mode_(mode), sink_(sink) {}

  void branch(const Graph& region, const Condition& when, std::span<const Operand> inputs,
              std::span<const Operand> results) {
    std::vector<Launch> made;
    std::vector<Operand> in(inputs.begin(), inputs.end());
    stand_in(region, in, made);
    body(region, in, results, "what a branch gives stands elsewhere", made);
    for (Launch& l : made) {
      l.when.insert(l.when.begin(), when);
      sink_.launches.push_back(std::move(l));
    }
  }

  void call(const Graph& region, std::span<const Operand> inputs, std::span<const Operand> results) {
    std::vector<Launch> made;
    std::vector<Operand> in(inputs.begin(), inputs.end());
    stand_in(region, in, made);
    body(region, in, results, "what a region gives stands elsewhere", made);
    for (Launch& l : made) {
      if (l.scope != node_.info.scope) l.scope = NameScopes::joined(node_.info.scope, l.scope);
      sink_.launches.push_back(std::move(l));
    }
  }

  /// `operands`: carried state, stacked tensors, others; `results`: the state behind the last turn, stacked results.
  void loop(const Graph& region, std::size_t carried, std::size_t stacked, const Int& turns,
            std::span<const Operand> operands, std::span<const Operand> results) {
    Repeat loop;
    loop.count = turns, loop.decided = graph::decides_turns(node_), loop.loc = node_.info.loc;
    std::vector<Operand> in, out;
    std::vector<Launch> behind;
    for (std::size_t i = 0; i < carried; ++i) {
      Operand read = temp_like(operands[i]), made = temp_like(operands[i]);
      copy(operands[i], read, Copy::Of::Ours, "the state that a loop begins with", sink_.launches);
      read.written = false;
      loop.swaps.push_back({read.buffer, made.buffer});
      copy(read, results[i], Copy::Of::Ours, "the state that a loop ends with", behind);
      in.push_back(std::move(read)), out.push_back(std::move(made));
    }
    auto window = [&](const Operand& all) {
      const Layout one = slice_of(all.layout);
      const std::uint32_t b = sink_.add_buffer({Buffer::Kind::Window, 0, all.dtype, bytes_of(one.sizes, all.dtype)});
      loop.windows.push_back({b, all.buffer, all.layout.offset, all.layout.strides[0]});
      return Operand{b, all.dtype, contiguous_layout(one.sizes), all.written};
    };
    for (const Operand& all : operands.subspan(carried, stacked)) {
      Operand from = all;
      if (!stands_row_by_row(slice_of(all.layout))) {
        from = temp_like(all);
        copy(all, from, Copy::Of::Ours, "what is stacked stands in another layout", sink_.launches);
        from.written = false;
      }
      in.push_back(window(from));
    }
    for (const Operand& other : operands.subspan(carried + stacked)) in.push_back(other);
    for (const Operand& all : results.subspan(carried)) {
      Operand to = all;
      if (!stands_row_by_row(slice_of(all.layout))) {
        to = temp_like(all);
        Operand from = to;
        from.written = false;
        copy(from, all, Copy::Of::Ours, "stacked results stand in another layout", behind);
      }
      to.written = true;
      out.push_back(window(to));
    }
    stand_in(region, in, sink_.launches);
    std::vector<Launch> made;
    body(region, in, out, "what a turn gives stands elsewhere", made);
    const auto id = static_cast<std::uint32_t>(sink_.repeats.size());
    std::vector<bool> seen(loop.windows.size());
    for (Launch& l : made) {
      l.repeats.insert(l.repeats.begin(), id);
      for (Copy& c : l.copies) c.bytes = c.bytes * turns;  // at most, where the loop decides itself
      std::vector<std::uint32_t> used;
      for_each_buffer(l, [&](std::uint32_t& b) { used.push_back(b); });
      for (std::size_t w = 0; w < loop.windows.size(); ++w) {
        if (std::find(used.begin(), used.end(), loop.windows[w].buffer) == used.end()) continue;
        l.seen.push_back({loop.windows[w].buffer, loop.windows[w].of});
        seen[w] = true;
      }
      sink_.launches.push_back(std::move(l));
    }
    for (std::size_t w = loop.windows.size(); w-- > 0;)
      if (!seen[w]) loop.windows.erase(loop.windows.begin() + static_cast<std::ptrdiff_t>(w));
    if (!made.empty()) sink_.repeats.push_back(std::move(loop));
    std::move(behind.begin(), behind.end(), std::back_inserter(sink_.launches));
  }

 private:
  /// What the region is lowered to, where its inputs and results stand.
  void body(const Graph& region, const std::vector<Operand>& in, std::span<const Operand> results,
            const char* elsewhere, std::vector<Launch>& out) {
    std::vector<Layout> layouts;
    for (const Operand& o : in) layouts.push_back(from_start(o.layout));
    Lowered l = needs_relaying(region, layouts) ? lower(with_inputs(region, layouts), mode_) : lowered(region);

    Moved m;
    for (std::uint32_t b = 0; b < l.buffers.size(); ++b) {
      const Buffer& buffer = l.buffers[b];
      if (buffer.kind == Buffer::Kind::Input) {
        m.to.push_back(in[buffer.index].buffer), m.by.push_back(in[buffer.index].layout.offset);
      } else if (buffer.kind == Buffer::Kind::Output && stands_in(l, b, results[buffer.index])) {
        m.to.push_back(results[buffer.index].buffer), m.by.push_back(results[buffer.index].layout.offset);
      } else {
        const Buffer::Kind kind = buffer.kind == Buffer::Kind::Window ? buffer.kind : Buffer::Kind::Temp;
        m.to.push_back(sink_.add_buffer({kind, 0, buffer.dtype, buffer.bytes})), m.by.push_back(0);
      }
    }
    const auto inner = static_cast<std::uint32_t>(sink_.repeats.size());
    for (Repeat& r : l.repeats) {
      move_uses(r, m);
      sink_.repeats.push_back(std::move(r));
    }
    for (Launch& launch : l.launches) {
      move_uses(launch, m.to, m.by);
      for (std::uint32_t& r : launch.repeats) r += inner;
      add(std::move(launch), out);
    }
    for (std::size_t o = 0; o < results.size(); ++o) {
      const auto b = static_cast<std::size_t>(l.outputs[o].buffer);
      Operand from{m.to[b], results[o].dtype, l.outputs[o].layout, false};
      from.layout.offset = from.layout.offset + m.by[b];
      if (from.buffer == results[o].buffer && same_layout(from.layout, results[o].layout)) continue;
      copy(from, results[o], Copy::Of::Ours, elsewhere, out);
    }
  }

  Lowered lowered(const Graph& region) const {
    if (!sink_.known || !graph::calls_region(node_)) return lower(region, mode_);
    auto it = sink_.known->find(&region);
    if (it == sink_.known->end()) it = sink_.known->emplace(&region, lower(region, mode_)).first;
    return it->second;
  }

  /// The buffer of an output is where the node's result stands.
  static bool stands_in(const Lowered& l, std::uint32_t b, const Operand& result) {
    const Lowered::Out& out = l.outputs[l.buffers[b].index];
    return out.buffer == static_cast<std::int32_t>(b) && is_number(out.layout.offset, 0) &&
           same_layout(out.layout, from_start(result.layout));
  }
  /// An operand that does not stand as the region's input says, nor row by row, is copied: then any view of it is
  /// possible that was.
  void stand_in(const Graph& region, std::vector<Operand>& in, std::vector<Launch>& out) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Layout now = from_start(in[i].layout);
      if (same_layout(now, from_start(region.meta(region.inputs[i].value).layout)) || stands_row_by_row(now)) continue;
      Operand made = temp_like(in[i]);
      copy(in[i], made, Copy::Of::Ours, "a region takes it in another layout", out);
      made.written = false;
      in[i] = std::move(made);
    }
  }
  static bool needs_relaying(const Graph& region, const std::vector<Layout>& layouts) {
    for (std::size_t i = 0; i < layouts.size(); ++i)
      if (!same_layout(layouts[i], from_start(region.meta(region.inputs[i].value).layout))) return true;
    return false;
  }
  /// Row by row in a temporary of its own.
  Operand temp_like(const Operand& o) {
    const Int bytes = bytes_of(o.layout.sizes, o.dtype);
    return {sink_.add_buffer({Buffer::Kind::Temp, 0, o.dtype, bytes}), o.dtype, contiguous_layout(o.layout.sizes),
            true};
  }
  void copy(const Operand& from, const Operand& to, Copy::Of of, const char* why, std::vector<Launch>& out) {
    Launch l{copy_loop(from, to), "copy", node_.info.loc, false, {}};
    l.copies = {{of, why, bytes_of(to.layout.sizes, to.dtype)}};
    l.scope = node_.info.scope;
    add(std::move(l), out);
  }
  void add(Launch l, std::vector<Launch>& out) const {
    l.nodes = {n_};
    out.push_back(std::move(l));
  }

  const Node& node_;
  const std::uint32_t n_;
  const Mode mode_;
  const RegionSink& sink_;
};

}  // namespace

void region_launches(const Graph& g, std::uint32_t n, std::span<const Operand> operands, Mode mode, RegionSink sink) {
  const Node& node = g.nodes[n];
  const std::size_t results = node.results.size();
  const std::span<const Operand> of_results = operands.last(results);
  OfNode make(node, n, mode, sink);
  if (const Int* turns = graph::turns_of(node)) {
    auto count = [&](std::size_t i) { return std::get<std::vector<ValueId>>(node.args[i]).size(); };
    const std::size_t stacked = graph::decides_turns(node) ? 0 : count(2);
    return make.loop(*std::get<graph::Region>(node.args[0]), count(1), stacked, *turns,
                     operands.first(operands.size() - results), of_results);
  }
  if (graph::calls_region(node))
    return make.call(*std::get<graph::Region>(node.args[0]), operands.first(operands.size() - results), of_results);
  const Operand& pred = operands.front();
  bool wanted = true;
  for (const NodeArg& a : node.args)
    if (const auto* region = std::get_if<graph::Region>(&a)) {
      make.branch(**region, {pred.buffer, pred.layout.offset, wanted},
                  operands.subspan(1, operands.size() - 1 - results), of_results);
      wanted = false;
    }
}

}  // namespace reprise::kernels
