#include "kernels/plan/interpret.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "kernels/launch/layout.h"
#include "kernels/plan/lower.h"
#include "kernels/plan/regions.h"
#include "kernels/reference/native_launches.h"
#include "kernels/reference/reference.h"
#include "passes/pass.h"

namespace reprise::kernels {

using graph::Graph;
using graph::Node;
using graph::OpClass;
using graph::OutputSpec;
using graph::ValueId;

namespace {

class Interpret {
 public:
  explicit Interpret(const Graph& g) : g_(g), place_(g.values.size()) {}

  Lowered run() {
    for (std::uint32_t i = 0; i < g_.inputs.size(); ++i) {
      const TensorMeta& m = g_.meta(g_.inputs[i].value);
      Layout l = m.layout;
      l.offset = 0;
      place_[g_.inputs[i].value.v] = {add_buffer({Buffer::Kind::Input, i, m.dtype, 0}), l};
    }
    output_of_.assign(g_.values.size(), -1);
    for (std::uint32_t o = 0; o < g_.outputs.size(); ++o) {
      ValueId v = g_.outputs[o].value;
      if (!v || g_.values[v.v].node < 0 || is_view(g_, v)) continue;
      if (output_of_[v.v] < 0) output_of_[v.v] = static_cast<std::int32_t>(o);
    }
    for (std::uint32_t n = 0; n < g_.nodes.size(); ++n) node(n);
    outputs();
    return std::move(out_);
  }

 private:
  std::uint32_t add_buffer(Buffer b) {
    out_.buffers.push_back(std::move(b));
    return static_cast<std::uint32_t>(out_.buffers.size() - 1);
  }
  Operand operand(ValueId v) const {
    const Place& p = place_[v.v];
    return {p.buffer, g_.meta(v).dtype, p.layout, false};
  }
  /// Row by row in a buffer of its own: an output's (-1: a temporary).
  Place new_place(ValueId v, std::int32_t o) {
    const TensorMeta& m = g_.meta(v);
    Buffer b{o >= 0 ? Buffer::Kind::Output : Buffer::Kind::Temp, static_cast<std::uint32_t>(o >= 0 ? o : 0), m.dtype,
             bytes_of(m.layout.sizes, m.dtype)};
    return {add_buffer(b), contiguous_layout(m.layout.sizes)};
  }
  Operand fresh(ValueId v) {
    place_[v.v] = new_place(v, output_of_[v.v]);
    Operand r = operand(v);
    r.written = true;
    return r;
  }
  Place copied(ValueId v, std::int32_t o, SourceLoc loc) {
    Place to = new_place(v, o);
    out_.launches.push_back(copy_launch(operand(v), {to.buffer, g_.meta(v).dtype, to.layout, true}, "copy", loc));
    return to;
  }

  void node(std::uint32_t n) {
    const Node& node = g_.nodes[n];
    const graph::OpDef& def = graph::op(node.op);
    if (def.cls == OpClass::View) {
      ValueId v = node.results[0], root = root_of(g_, v);
      // The root stands as the program saw it, so every view the program could make is expressible.
      auto layout = layout_from_root(g_, v, place_[root.v].layout);
      REPRISE_CHECK(layout.has_value());
      place_[v.v] = {place_[root.v].buffer, *layout};
      return;
    }
    std::string name(def.name());
    if (def.cls == OpClass::Control) {
      std::vector<Operand> all;
      graph::for_each_value(node, [&](ValueId v) { all.push_back(operand(v)); });
      for (ValueId r : node.results) all.push_back(fresh(r));
      return region_launches(g_, n, all, Mode::Interpret,
                             {[&](Buffer b) { return add_buffer(std::move(b)); }, out_.launches, out_.repeats});
    }
    if (!reference_kernel(node.op)) return by_what_it_has(n);
    std::vector<Operand> operands;
    graph::for_each_value(node, [&](ValueId v) { operands.push_back(operand(v)); });
    for (ValueId r : node.results) operands.push_back(fresh(r));
    std::uint32_t copied = 0;  // results that are copies already: views of one base have one
    for (const WrittenOperand& w : written_operands(node)) {
      if (w.result <= std::exchange(copied, std::max(copied, w.result))) continue;
      Launch l = copy_launch(operands[w.argument], operands[w.result], name, node.info.loc);
      l.copies = {Copy{node.keeps_self ? Copy::Of::Ours : Copy::Of::EagerToo, "an argument is written",
                       bytes_of(operands[w.result].layout.sizes, operands[w.result].dtype)}};
      l.nodes = {n};
      out_.launches.push_back(std::move(l));
    }
    out_.launches.push_back({reference_launch(g_, node, std::move(operands)),
                             name,
                             node.info.loc,
                             graph::effects_of(node).may_end_call(),
                             {n}});
    if (def.twin_of) out_.launches.back().op = graph::op(*def.twin_of).schema.name;
  }

  /// Operators that are registered need not have a reference kernel: a decomposition, a formula, a fold do. What
  /// lowering makes of the call alone stands here, over its operands.
  void by_what_it_has(std::uint32_t n) {
    const Node& node = g_.nodes[n];
    Graph one;
    one.env = g_.env;
    std::vector<Place> operands;  // by the inputs of `one`
    auto input = [&](ValueId& v) {
      TensorMeta m = g_.meta(v);
      Place at = place_[v.v];
      if (!identical(at.layout.offset, Int(0))) at = copied(v, -1, node.info.loc);
      m.layout = at.layout;
      operands.push_back(at);
      v = one.add_input(std::move(m), "arg" + std::to_string(operands.size()));
    };
    std::vector<graph::NodeArg> args = node.args;
    for (graph::NodeArg& a : args) {
      if (auto* v = std::get_if<ValueId>(&a)) input(*v);
      if (auto* view = std::get_if<graph::ViewArg>(&a)) input(view->base);
      if (auto* list = std::get_if<std::vector<ValueId>>(&a))
        for (ValueId& v : *list)
          if (v) input(v);
    }
    std::vector<TensorMeta> metas;
    for (ValueId r : node.results) metas.push_back(g_.meta(r));
    const ValueId first = one.append(node.op, std::move(args), std::move(metas), node.info);
    for (std::uint32_t r = 0; r < node.results.size(); ++r) {
      OutputSpec result;
      result.value = {first.v + r};
      one.outputs.push_back(std::move(result));
    }
    passes::decompose(one);
    Lowered made = lower(one, Mode::NoFuse);

    std::vector<std::uint32_t> to;  // by the buffers of `made`
    for (Buffer& b : made.buffers) {
      if (b.kind == Buffer::Kind::Input) {
        to.push_back(operands[b.index].buffer);
        continue;
      }
      const std::int32_t o = b.kind == Buffer::Kind::Output ? output_of_[node.results[b.index].v] : -1;
      b.kind = o >= 0 ? Buffer::Kind::Output : Buffer::Kind::Temp;
      b.index = static_cast<std::uint32_t>(o >= 0 ? o : 0);
      to.push_back(add_buffer(std::move(b)));
    }
    for (Launch& l : made.launches) {
      for_each_buffer(l, [&](std::uint32_t& b) { b = to[b]; });
      l.nodes = {n};
      l.op = graph::op(node.op).name();
      out_.launches.push_back(std::move(l));
    }
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      const ValueId v = node.results[r];
      const std::int32_t o = output_of_[v.v];
      place_[v.v] = {to[static_cast<std::size_t>(made.outputs[r].buffer)], std::move(made.outputs[r].layout)};
      // Views of it are made as of what stands row by row. And an operand may have come back, or one value as two
      // results.
      Buffer& b = out_.buffers[place_[v.v].buffer];
      const bool in_output = b.kind == Buffer::Kind::Output && o >= 0 && b.index == static_cast<std::uint32_t>(o);
      if (in_output == (o >= 0) && same_layout(place_[v.v].layout, contiguous_layout(g_.meta(v).layout.sizes)))
        continue;
      if (in_output) b.kind = Buffer::Kind::Temp, b.index = 0;
      place_[v.v] = copied(v, o, node.info.loc);
    }
  }

  void outputs() {
    for (std::uint32_t o = 0; o < g_.outputs.size(); ++o) {
      const OutputSpec& spec = g_.outputs[o];
      Lowered::Out out;
      if (spec.kind == OutputSpec::Kind::AliasOfInput) {
        out.buffer = static_cast<std::int32_t>(place_[g_.inputs[spec.source].value.v].buffer);
        out.layout = spec.layout;
      } else if (spec.kind == OutputSpec::Kind::AliasOfOutput) {
        out.buffer = -1;
        out.layout = spec.layout;
      } else if (output_of_[spec.value.v] == static_cast<std::int32_t>(o)) {
        out.buffer = static_cast<std::int32_t>(place_[spec.value.v].buffer);
        out.layout = place_[spec.value.v].layout;
      } else {
        const TensorMeta& m = g_.meta(spec.value);
        Layout l = output_layout(g_, spec.value);
        std::uint32_t b = add_buffer({Buffer::Kind::Output, o, m.dtype, bytes_of(m.layout.sizes, m.dtype)});
        out_.launches.push_back(copy_launch(operand(spec.value), {b, m.dtype, l, true}, "copy", {}));
        out_.launches.back().copies = {Copy{spec.is_view ? Copy::Of::Ours : Copy::Of::EagerToo, "a result of its own",
                                            bytes_of(l.sizes, m.dtype)}};
        out.buffer = static_cast<std::int32_t>(b);
        out.layout = l;
      }
      if (spec.kind == OutputSpec::Kind::NewValueOfInput) {
        out.target = place_[g_.inputs[spec.source].value.v].layout;
        out.why = "mode interpret writes nothing in place";
      }
      out_.outputs.push_back(std::move(out));
    }
    for (std::uint32_t o = 0; o < g_.outputs.size(); ++o) {
      const OutputSpec& spec = g_.outputs[o];
      if (spec.kind == OutputSpec::Kind::AliasOfOutput) out_.outputs[o].buffer = out_.outputs[spec.source].buffer;
    }
  }

  const Graph& g_;
  Lowered out_;
  std::vector<Place> place_;
  std::vector<std::int32_t> output_of_;  // by value: the output whose buffer its maker writes directly, or -1
};

}  // namespace

Lowered lower_interpret(const Graph& g) { return Interpret(g).run(); }

}  // namespace reprise::kernels
