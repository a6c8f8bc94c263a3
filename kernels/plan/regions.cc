#include "kernels/plan/regions.h"

#include <utility>

#include "base/errors.h"
#include "graph/map_values.h"
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

class Branch {
 public:
  Branch(const Node& node, std::uint32_t n, Condition when, Mode mode,
         const std::function<std::uint32_t(Buffer)>& add_buffer, std::vector<Launch>& out)
      : node_(node), n_(n), when_(std::move(when)), mode_(mode), add_buffer_(add_buffer), out_(out) {}

  void run(const Graph& region, std::span<const Operand> inputs, std::span<const Operand> results) {
    const std::vector<Operand> in = stand_ins(region, inputs);
    std::vector<Layout> layouts;
    for (const Operand& o : in) layouts.push_back(from_start(o.layout));
    Lowered l = lower(needs_relaying(region, layouts) ? with_inputs(region, layouts) : region, mode_);

    std::vector<std::uint32_t> to;
    std::vector<Int> by;
    for (std::uint32_t b = 0; b < l.buffers.size(); ++b) {
      const Buffer& buffer = l.buffers[b];
      if (buffer.kind == Buffer::Kind::Input) {
        to.push_back(in[buffer.index].buffer), by.push_back(in[buffer.index].layout.offset);
      } else if (buffer.kind == Buffer::Kind::Output && stands_in(l, b, results[buffer.index])) {
        to.push_back(results[buffer.index].buffer), by.push_back(results[buffer.index].layout.offset);
      } else {
        to.push_back(add_buffer_({Buffer::Kind::Temp, 0, buffer.dtype, buffer.bytes})), by.push_back(0);
      }
    }
    for (Launch& launch : l.launches) {
      move_uses(launch, to, by);
      add(std::move(launch));
    }
    for (std::size_t o = 0; o < results.size(); ++o) {
      const auto b = static_cast<std::size_t>(l.outputs[o].buffer);
      Operand from{to[b], results[o].dtype, l.outputs[o].layout, false};
      from.layout.offset = from.layout.offset + by[b];
      if (from.buffer == results[o].buffer && same_layout(from.layout, results[o].layout)) continue;
      copy(from, results[o],
           {Copy::Of::Ours, "what a branch gives stands elsewhere",
            bytes_of(results[o].layout.sizes, results[o].dtype)});
    }
  }

 private:
  /// The buffer of an output is where the node's result stands.
  static bool stands_in(const Lowered& l, std::uint32_t b, const Operand& result) {
    const Lowered::Out& out = l.outputs[l.buffers[b].index];
    return out.buffer == static_cast<std::int32_t>(b) && is_number(out.layout.offset, 0) &&
           same_layout(out.layout, from_start(result.layout));
  }
  /// An operand that does not stand as the region's input says, nor row by row, is copied: then any view of it is
  /// possible that was.
  std::vector<Operand> stand_ins(const Graph& region, std::span<const Operand> inputs) {
    std::vector<Operand> in(inputs.begin(), inputs.end());
    for (std::size_t i = 0; i < in.size(); ++i) {
      const TensorMeta& m = region.meta(region.inputs[i].value);
      const Layout rows = contiguous_layout(m.layout.sizes), now = from_start(in[i].layout);
      if (same_layout(now, from_start(m.layout)) || same_layout(now, rows)) continue;
      Operand made{add_buffer_({Buffer::Kind::Temp, 0, m.dtype, bytes_of(m.layout.sizes, m.dtype)}), m.dtype, rows,
                   true};
      copy(in[i], made, {Copy::Of::Ours, "a branch takes it in another layout", bytes_of(m.layout.sizes, m.dtype)});
      made.written = false;
      in[i] = std::move(made);
    }
    return in;
  }
  static bool needs_relaying(const Graph& region, const std::vector<Layout>& layouts) {
    for (std::size_t i = 0; i < layouts.size(); ++i)
      if (!same_layout(layouts[i], from_start(region.meta(region.inputs[i].value).layout))) return true;
    return false;
  }
  void copy(const Operand& from, const Operand& to, Copy of) {
    Launch l{copy_loop(from, to), "copy", node_.info.loc, false, {}};
    l.copies = {std::move(of)};
    l.scope = node_.info.scope;
    add(std::move(l));
  }
  void add(Launch l) {
    l.nodes = {n_};
    l.when.insert(l.when.begin(), when_);
    out_.push_back(std::move(l));
  }

  const Node& node_;
  const std::uint32_t n_;
  const Condition when_;
  const Mode mode_;
  const std::function<std::uint32_t(Buffer)>& add_buffer_;
  std::vector<Launch>& out_;
};

}  // namespace

void region_launches(const Graph& g, std::uint32_t n, std::span<const Operand> operands, Mode mode,
                     const std::function<std::uint32_t(Buffer)>& add_buffer, std::vector<Launch>& out) {
  const Node& node = g.nodes[n];
  const std::size_t results = node.results.size();
  const Operand& pred = operands.front();
  bool wanted = true;
  for (const NodeArg& a : node.args)
    if (const auto* region = std::get_if<graph::Region>(&a)) {
      Branch branch(node, n, {pred.buffer, pred.layout.offset, wanted}, mode, add_buffer, out);
      branch.run(**region, operands.subspan(1, operands.size() - 1 - results), operands.last(results));
      wanted = false;
    }
}

}  // namespace reprise::kernels
