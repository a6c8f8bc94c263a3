#include "kernels/plan/interpret.h"

#include "base/errors.h"
#include "kernels/launch/layout.h"
#include "kernels/plan/join.h"
#include "kernels/reference/native_launches.h"
#include "kernels/reference/reference.h"

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
  Operand fresh(ValueId v) {
    const TensorMeta& m = g_.meta(v);
    std::int32_t o = output_of_[v.v];
    Buffer b{o >= 0 ? Buffer::Kind::Output : Buffer::Kind::Temp, static_cast<std::uint32_t>(o >= 0 ? o : 0), m.dtype, bytes_of(m.layout.sizes, m.dtype)};
    place_[v.v] = {add_buffer(b), contiguous_layout(m.layout.sizes)};
    Operand r = operand(v);
    r.written = true;
    return r;
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
    if (def.cls == OpClass::Join && !reference_kernel(node.op)) return join(n, name);
    std::vector<Operand> operands;
    graph::for_each_value(node, [&](ValueId v) { operands.push_back(operand(v)); });
    for (ValueId r : node.results) operands.push_back(fresh(r));
    out_.launches.push_back({reference_launch(g_, node, std::move(operands)), name, node.loc, def.effects.may_end_call(), {n}});
  }

  void join(std::uint32_t n, const std::string& name) {
    const Node& node = g_.nodes[n];
    Operand to = fresh(node.results[0]);
    auto plan = plan_join(g_, node, to.layout);
    REPRISE_CHECK(plan.has_value());
    auto copy = [&](ValueId from, Layout region, bool ours) {
      Operand part = to;
      part.layout = std::move(region);
      Launch l = copy_launch(operand(from), part, name, node.loc);
      l.copies = {Copy{ours ? Copy::Of::Ours : Copy::Of::EagerToo, "a join", bytes_of(part.layout.sizes, part.dtype)}};
      l.nodes = {n};
      out_.launches.push_back(std::move(l));
    };
    if (plan->base) copy(plan->base, to.layout, node.keeps_self);
    for (JoinPlan::Part& p : plan->parts) copy(p.value, p.region, node.keeps_part);
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
        out_.launches.back().copies = {Copy{spec.is_view ? Copy::Of::Ours : Copy::Of::EagerToo, "a result of its own", bytes_of(l.sizes, m.dtype)}};
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
