// Derivatives of a compiled function's derivative (create_graph). The gradients are a function of the arguments and the
// tangents: the joint graph without what the function returns. It is a differentiable compiled function like any other,
// which is compiled when it is first asked for, with a joint graph of its own: so derivatives of any order follow.
#include <algorithm>

#include "autograd/off_tape.h"
#include "autograd/state.h"
#include "base/errors.h"
#include "graph/map_values.h"
#include "guards/shape_env.h"
#include "operators/joint_marks.h"
#include "passes/pass.h"
#include "reprise/autograd.h"
#include "runtime/trace/gradients.h"
#include "runtime/trace/graph_call.h"
#include "tensor/impl.h"

namespace reprise::detail {

namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

std::size_t number_of(const Node& mark) { return static_cast<std::size_t>(std::get<Int>(mark.args[1]).hint()); }

/// By node: is it needed for a gradient?
std::vector<bool> needed_for_gradients(const Graph& g) {
  std::vector<bool> needed(g.nodes.size());
  std::vector<std::size_t> stack;
  for (std::size_t i = 0; i < g.nodes.size(); ++i)
    if (g.nodes[i].op == operators::gradient_op()) stack.push_back(i), needed[i] = true;
  while (!stack.empty()) {
    const std::size_t i = stack.back();
    stack.pop_back();
    if (g.nodes[i].op == operators::tangent_op()) continue;
    graph::for_each_value(g.nodes[i], [&](ValueId v) {
      const std::int32_t maker = g.values[v.v].node;
      if (maker < 0 || needed[static_cast<std::size_t>(maker)]) return;
      needed[static_cast<std::size_t>(maker)] = true;
      stack.push_back(static_cast<std::size_t>(maker));
    });
  }
  return needed;
}

/// Empty: the gradients follow from the arguments as they were before the call, and computing them does nothing else.
std::string why_not(const Graph& g, const Joint& joint, const autograd::OffTape& off, const std::vector<bool>& needed) {
  if (off.region)
    return "it runs a loop, a branch of cond or a region as one node (CompileOptions::second_order makes regions "
           "parts of the function)";
  if (off.custom) return "it calls a Function, whose derivative is the program's";
  if (off.gradients_off) return "it turns gradients off for a part";
  if (off.detached) return "it takes a tensor off the tape (detach_)";
  for (const Joint::Input& i : joint.inputs)
    if (i.by_base) return "an argument is a view that is written";
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    if (!needed[i] || g.nodes[i].op == operators::tangent_op() || g.nodes[i].op == operators::gradient_op()) continue;
    const graph::Effects& effects = graph::effects_of(g.nodes[i]);
    if (graph::op(g.nodes[i].op).cls == graph::OpClass::Control) return "it has a branch or a loop";
    if (!effects.repeatable() || effects.exit) return std::string(graph::op(g.nodes[i].op).name()) + " has an effect";
    std::string written;
    graph::for_each_value(g.nodes[i], [&](ValueId v) {
      const graph::Value& value = g.values[v.v];
      if (value.node < 0 && (g.inputs[value.result].mutates_data || g.inputs[value.result].mutates_metadata))
        written = "'" + value.name + "' is written";
    });
    if (!written.empty()) return written;
  }
  return "";
}

}  // namespace

std::shared_ptr<DerivativeAgain> derivative_again(const Graph& g, const Joint& joint, const autograd::OffTape& off,
                                                  DType default_dtype) {
  auto made = std::make_shared<DerivativeAgain>();
  const std::vector<bool> needed = needed_for_gradients(g);
  made->why_not = why_not(g, joint, off, needed);
  if (!made->why_not.empty()) return made;
  auto of = std::make_shared<BackwardGraph>();
  Graph& b = of->graph;
  b.form = graph::Form::Functional;
  b.name = g.name + " derivative";
  b.env = g.env;
  of->default_dtype = default_dtype;
  std::vector<ValueId> now(g.values.size());
  std::vector<bool> read(g.inputs.size());
  for (std::size_t i = 0; i < g.nodes.size(); ++i)
    if (needed[i] && g.nodes[i].op != operators::tangent_op())
      graph::for_each_value(g.nodes[i], [&](ValueId v) {
        if (g.values[v.v].node < 0) read[g.values[v.v].result] = true;
      });
  for (std::uint32_t i = 0; i < g.inputs.size(); ++i) {
    if (!read[i]) continue;
    const ValueId v = g.inputs[i].value;
    now[v.v] = b.add_input(g.meta(v), g.values[v.v].name, graph::InputSpec::Kind::User);
    made->inputs.push_back(i);
    made->names.push_back(g.values[v.v].name);
  }
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    if (!needed[i] || n.op != operators::tangent_op()) continue;
    TensorMeta m = g.meta(n.results[0]);
    m.layout.strides = contiguous_strides(m.layout.sizes), m.layout.offset = 0;
    now[n.results[0].v] =
        b.add_input(std::move(m), "tangent " + std::to_string(number_of(n)), graph::InputSpec::Kind::Tangent);
    made->tangents.push_back(static_cast<std::uint32_t>(number_of(n)));
  }
  made->gradients.assign(joint.inputs.size(), -1);
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const Node& n = g.nodes[i];
    if (!needed[i] || n.op == operators::tangent_op()) continue;
    // A node's own result has its place where it is read: a derivative does not end there.
    if (n.info.loc.file == autograd::kReadsOwnResult) {
      now[n.results[0].v] = now[std::get<ValueId>(n.args[0]).v];
      continue;
    }
    if (n.op != operators::gradient_op()) {
      graph::append_copy(g, n, b, now);
      continue;
    }
    made->gradients[number_of(n)] = static_cast<std::int32_t>(b.outputs.size());
    graph::OutputSpec o;
    o.value = now[std::get<ValueId>(n.args[0]).v];
    o.role = graph::OutputSpec::Role::Gradient;
    b.outputs.push_back(std::move(o));
  }
  of->numbers = NumbersOf::of(b);
  describe_numbers(*of, g);
  for (const guards::Expr* e : of->numbers) {
    if (g.env->of_data(e)) return made->why_not = "a size depends on data", made;
    made->slots.push_back(made->exprs.add(e));
  }
  const std::vector<std::uint32_t> words = made->exprs.words();
  made->n_values = words.empty() ? 0 : words.back() + std::size_t{1};
  made->function = std::make_unique<const CompiledFunction<BackwardFunction>>(
      BackwardFunction{of}, CompileOptions{.name = b.name, .arguments = {"tensors", "numbers"}});
  made->graph = std::move(of);
  return made;
}

KeptForAgain::KeptForAgain(const DerivativeAgain& of, const CallFrame& f, bool all) {
  values.assign(f.values.begin(), f.values.begin() + of.n_values);
  for (std::uint32_t i : of.inputs) {
    const Tensor t = Tensor::share(f.tensors[i]);
    const autograd::State* s = autograd::state_of(t);
    const bool is_leaf = s && s->requires_grad() && autograd::is_leaf(t);  // the tape holds it anyway
    inputs.push_back(all || is_leaf ? autograd::Saved::input(t) : autograd::Saved());
  }
}

std::vector<Tensor> call_again(const DerivativeAgain& of, const KeptForAgain& kept,
                               const std::function<Tensor(std::uint32_t input)>& saved, std::vector<Tensor> tangents,
                               autograd::Node& node) {
  auto refuse = [&](const std::string& why) {
    fail(ErrorCode::InvalidArgument, node.name().c_str(), {},
         "a derivative of the derivative of a compiled function (create_graph): ", why);
  };
  if (!of.why_not.empty())
    refuse(of.why_not + ". Compile a function that takes both derivatives inside, with rp::grad, or run it eagerly");
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < of.inputs.size(); ++i) {
    Tensor t = kept.inputs[i].is_there() ? kept.inputs[i].unpack(node) : saved(of.inputs[i]);
    if (!t.defined()) refuse("it needs '" + of.names[i] + "', which was not kept: set CompileOptions::second_order");
    tensors.push_back(std::move(t));
  }
  for (Tensor& t : tangents) tensors.push_back(std::move(t));
  std::vector<std::int64_t> computed(of.exprs.size());
  of.exprs.evaluate(kept.values.data(), computed.data());
  std::vector<Int> numbers;
  for (std::uint32_t slot : of.slots) numbers.emplace_back(computed[slot]);
  return (*of.function)(tensors, numbers);
}

}  // namespace reprise::detail
