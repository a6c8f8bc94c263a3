// Derivatives of cond and scan in a trace.
//
// Note [Derivatives of regions]
// A region is traced off the tape; the node that runs it is one node of the tape, which keeps its operands. Backward
// runs the region once more, on the tape, in a region of its own, and walks that tape there.
//
// cond: each branch gives the gradients of all operands of both, zeros for what it does not use.
//
// scan: forward keeps the state that each turn begins with, stacked, too. Backward is a scan over the slices in
// reverse: its state is the gradient of the state, and the sums so far of gradients of what the body uses from outside;
// its stacked results are gradients of slices. So it is one region as well, whatever the number of turns.
//
// while_loop: once to count its turns, whose number is read (Note [Sizes that depend on data]), then as a scan of as
// many turns.
#include "runtime/trace/region_derivative.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "autograd/derivative.h"
#include "autograd/state.h"
#include "base/bail.h"
#include "base/errors.h"
#include "operators/data_sizes.h"
#include "reprise/autograd.h"
#include "reprise/ops.h"
#include "runtime/trace/graph_call.h"
#include "runtime/trace/joint.h"
#include "tensor/impl.h"

namespace reprise::detail {

std::vector<Tensor> seen_operands(const Tracer& tracer, const TracedBranch& b) {
  std::vector<Tensor> all;
  for (const Tensor& t : b.operands) all.push_back(tracer.as_seen(t));
  return all;
}

namespace {

/// What of a region wants gradients, as the tape would see it.
struct Wanted {
  bool any = false;   ///< a result does
  bool lost = false;  ///< carried state does at first, and no turn's does
  bool cut = false;   ///< something that does is used where gradients are off
};
Wanted wanted_of(const TracedBranch& b, const std::vector<Tensor>& operands, std::size_t carried) {
  const graph::Graph& g = b.graph;
  std::vector<bool> wants(g.values.size());
  for (std::size_t i = 0; i < operands.size(); ++i) wants[g.inputs[i].value.v] = wants_gradient(*operands[i].impl());
  auto is_off = [&](std::int32_t call) {
    return std::find(b.calls_off.begin(), b.calls_off.end(), call) != b.calls_off.end();
  };
  Wanted w;
  for (bool again = true; std::exchange(again, false);) {
    for (const graph::Node& n : g.nodes) {
      bool reads = false;
      graph::for_each_value(n, [&](graph::ValueId v) { reads = reads || wants[v.v]; });
      const autograd::Derivative* d = autograd::derivatives().find(n.op);
      if (!reads || (d && !d->rule)) continue;  // it is a constant to the tape, as what detach() gives
      if (is_off(n.info.sequence)) {
        w.cut = true;
        continue;
      }
      for (graph::ValueId r : n.results) wants[r.v] = autograd::is_differentiable(g.meta(r).dtype);
    }
    for (std::size_t i = 0; i < carried; ++i)  // in the next turn
      if (wants[g.outputs[i].value.v] && !wants[g.inputs[i].value.v]) again = wants[g.inputs[i].value.v] = true;
  }
  for (const graph::OutputSpec& o : g.outputs) w.any = w.any || wants[o.value.v];
  for (std::size_t i = 0; i < carried; ++i)
    w.lost = w.lost || (wants_gradient(*operands[i].impl()) && !wants[g.outputs[i].value.v]);
  // Calls in a region of the region: what they read is not known here.
  for (std::int32_t call : b.calls_off)
    w.cut = w.cut ||
            std::none_of(g.nodes.begin(), g.nodes.end(), [&](const graph::Node& n) { return n.info.sequence == call; });
  return w;
}

}  // namespace

bool wants_derivative(const Tracer& tracer, const TracedBranch& b, const std::vector<Tensor>& operands,
                      std::size_t carried, RegionKind kind, SourceLoc loc) {
  if (!tracer.tape) return false;
  auto refuse = [&](const char* what) {
    bail(Bail::branch_changes, kind.op, loc, kind.part, " of ", kind.op, ' ', what,
         ", and computes with tensors that want gradients");
  };
  if (b.views_want && graph::setting(graph::Setting::NoGrad) == 0)
    refuse("sees tensors from outside under several names");
  // Made while gradients were off, it wants none itself: the tape says what becomes of a write.
  for (std::size_t i = carried; i < operands.size(); ++i)
    if (const autograd::State* s = b.written[i] ? autograd::state_of(operands[i]) : nullptr;
        s && s->view && s->view->base.requires_grad())
      refuse("writes to a tensor from outside");
  if (std::none_of(operands.begin(), operands.end(), [](const Tensor& t) { return wants_gradient(*t.impl()); }))
    return false;
  if (b.writes_unseen && graph::setting(graph::Setting::NoGrad) == 0)
    refuse("writes through detach(), or while gradients are off");
  const Wanted w = wanted_of(b, operands, carried);
  if (std::any_of(b.written.begin() + static_cast<std::ptrdiff_t>(carried), b.written.end(),
                  [](graph::ValueId v) { return static_cast<bool>(v); }))
    refuse("writes to a tensor from outside");
  if (w.any && w.cut) refuse("turns gradients off");
  if (w.lost) refuse("gives carried state that wants none, where the first does");
  return w.any;
}

void check_in_trace(const Tracer& tracer, const char* op, SourceLoc loc) {
  if (around().tracer != &tracer)
    fail(ErrorCode::InvalidArgument, op, loc, "the derivative of a traced region is asked for outside its trace");
}

namespace {

/// What forward leaves for backward, beside tensors: operands of the body in its inputs' order, then the states.
struct OfScan {
  Tracer& tracer;
  graph::Graph body;  ///< inputs: state, slices, others; outputs: state, results
  std::size_t carried, stacked, operands;
  Int turns;
  SourceLoc loc;
};

bool differentiable(const Tensor& t) { return autograd::is_differentiable(t.dtype()); }

Tensor zeros_of(const Tensor& t) { return t.new_zeros(t.sizes()); }

Tensor reversed(const Tensor& t) { return t.flip({0}); }

std::vector<Tensor> scan_backward(FunctionContext& c, std::vector<Tensor> grads) {
  auto& of = *static_cast<OfScan*>(c.more.get());
  check_in_trace(of.tracer, "scan", of.loc);
  const std::vector<Tensor> saved = c.saved_tensors();
  const std::size_t given_to = of.carried + of.stacked;
  const auto operand = [&](std::size_t i) -> const Tensor& { return saved[i]; };
  const auto state = [&](std::size_t i) -> const Tensor& { return saved[of.operands + i]; };

  // Which operands have gradients: the state, since what it is made of may want one; of others those that want it.
  std::vector<std::size_t> states, slices, others, results;
  for (std::size_t i = 0; i < of.operands; ++i) {
    if (i < of.carried ? !differentiable(operand(i)) : !c.needs_input_grad(i)) continue;
    (i < of.carried ? states : i < given_to ? slices : others).push_back(i);
  }
  std::vector<Tensor> carried, stacked;
  for (std::size_t i : states) carried.push_back(grads[i]);
  for (std::size_t i : others) carried.push_back(zeros_of(operand(i)));
  for (std::size_t i = 0; i < of.carried; ++i) stacked.push_back(reversed(state(i)));
  for (std::size_t i = of.carried; i < given_to; ++i) stacked.push_back(reversed(operand(i)));
  for (std::size_t i = of.carried; i < of.body.outputs.size(); ++i)
    if (autograd::is_differentiable(of.body.meta(of.body.outputs[i].value).dtype))
      results.push_back(i), stacked.push_back(reversed(grads[i]));

  std::vector<Tensor> inside, made;
  const std::size_t around_it = of.tracer.begin_body(carried, stacked, of.loc, inside);
  TracedBranch body;
  try {
    const std::size_t sums = states.size(), first_slice = carried.size();
    std::vector<Tensor> wanted;
    {
      const EnableGradScope on;
      std::vector<Tensor> inputs, leaves, roots, weights;
      for (std::size_t i = 0; i < of.operands; ++i) {
        inputs.push_back((i < given_to ? inside[first_slice + i] : operand(i)).detach());
        const std::vector<std::size_t>& those = i < of.carried ? states : i < given_to ? slices : others;
        if (std::find(those.begin(), those.end(), i) != those.end()) leaves.push_back(inputs.back().requires_grad_());
      }
      const std::vector<Tensor> outputs = call_graph(of.body, inputs, NumbersOf());
      auto root = [&](std::size_t i, const Tensor& weight) {
        if (requires_grad(*outputs[i].impl())) roots.push_back(outputs[i]), weights.push_back(weight);
      };
      for (std::size_t k = 0; k < states.size(); ++k) root(states[k], inside[k]);
      for (std::size_t k = 0; k < results.size(); ++k) root(results[k], inside[first_slice + given_to + k]);
      if (roots.empty()) wanted.resize(leaves.size());
      else wanted = grad(roots, leaves, weights, {.allow_unused = true}, of.loc);
    }
    // In the order of leaves: states, slices, others.
    const NoGradScope off;
    auto or_zeros = [](const Tensor& t, const Tensor& like) { return t.defined() ? t : zeros_of(like); };
    for (std::size_t k = 0; k < states.size(); ++k) made.push_back(or_zeros(wanted[k], inside[k]));
    for (std::size_t k = 0; k < others.size(); ++k) {
      const Tensor& g = wanted[states.size() + slices.size() + k];
      made.push_back(g.defined() ? inside[sums + k].add(g) : inside[sums + k]);
    }
    for (std::size_t k = 0; k < slices.size(); ++k)
      made.push_back(or_zeros(wanted[states.size() + k], inside[first_slice + slices[k]]));
    wanted.clear(), inside.clear();
    of.tracer.tape->recorded = false;  // what the body has written down is gone with it
    body = of.tracer.end_branch(std::move(made), of.loc);
  } catch (...) {
    of.tracer.abandon_branch(around_it);
    throw;
  }
  std::vector<Tensor> done = of.tracer.add_loop(std::move(body), carried.size(), stacked.size(), of.turns, of.loc);
  std::vector<Tensor> out(of.operands);
  for (std::size_t k = 0; k < states.size(); ++k) out[states[k]] = done[k];
  for (std::size_t k = 0; k < others.size(); ++k) out[others[k]] = done[states.size() + k];
  for (std::size_t k = 0; k < slices.size(); ++k) out[slices[k]] = reversed(done[carried.size() + k]);
  for (std::size_t i = 0; i < of.carried; ++i)
    if (!c.needs_input_grad(i)) out[i] = Tensor();
  return out;
}

/// The same of cond. Tensors: what decides, then operands of the one, then of the other.
struct OfCond {
  Tracer& tracer;
  graph::Graph branches[2];
  std::size_t operands[2];
  SourceLoc loc;
};

std::vector<Tensor> cond_backward(FunctionContext& c, std::vector<Tensor> grads) {
  auto& of = *static_cast<OfCond*>(c.more.get());
  check_in_trace(of.tracer, "cond", of.loc);
  const std::vector<Tensor> saved = c.saved_tensors();
  std::vector<std::size_t> wanted;  // of saved
  for (std::size_t i = 1; i < saved.size(); ++i)
    if (c.needs_input_grad(i)) wanted.push_back(i);
  TracedBranch branches[2];
  std::size_t first = 1;
  for (int b = 0; b < 2; ++b) {
    const std::size_t around_it = of.tracer.begin_branch();
    try {
      std::vector<Tensor> given, made;
      {
        const EnableGradScope on;
        std::vector<Tensor> inputs, leaves, roots, weights;
        for (std::size_t i = first; i < first + of.operands[b]; ++i) {
          inputs.push_back(saved[i].detach());
          if (c.needs_input_grad(i)) leaves.push_back(inputs.back().requires_grad_());
        }
        const std::vector<Tensor> outputs = call_graph(of.branches[b], inputs, NumbersOf());
        for (std::size_t i = 0; i < outputs.size(); ++i)
          if (requires_grad(*outputs[i].impl())) roots.push_back(outputs[i]), weights.push_back(grads[i]);
        if (roots.empty() || leaves.empty()) given.resize(leaves.size());
        else given = grad(roots, leaves, weights, {.allow_unused = true}, of.loc);
      }
      const NoGradScope off;
      std::size_t next = 0;
      for (std::size_t i : wanted) {
        const bool own = i >= first && i < first + of.operands[b];
        const Tensor g = own ? given[next++] : Tensor();
        made.push_back(g.defined() ? g : zeros_of(saved[i]));
      }
      given.clear();
      of.tracer.tape->recorded = false;  // what the branch has written down is gone with it
      branches[b] = of.tracer.end_branch(std::move(made), of.loc);
    } catch (...) {
      of.tracer.abandon_branch(around_it);
      throw;
    }
    first += of.operands[b];
  }
  const std::vector<Tensor> done = of.tracer.add_cond(saved[0], std::move(branches[0]), std::move(branches[1]), of.loc);
  std::vector<Tensor> out(saved.size());
  for (std::size_t k = 0; k < wanted.size(); ++k) out[wanted[k]] = done[k];
  return out;
}

/// The same body with one more carried tensor, behind the others: how many turns there have been.
TracedBranch with_count(TracedBranch b, std::size_t carried, const Tensor& zero) {
  const auto at = static_cast<std::ptrdiff_t>(carried);
  graph::Graph& g = b.graph;
  const graph::ValueId count = g.add_input({kInt64, zero.device(), {}}, "turns");
  std::rotate(g.inputs.begin() + at, g.inputs.end() - 1, g.inputs.end());
  graph::OutputSpec next;
  next.value = g.add(graph::OpId::add, {count, Scalar(1), Scalar(1)});
  g.outputs.insert(g.outputs.begin() + at, std::move(next));
  b.operands.insert(b.operands.begin() + at, zero);
  b.written.insert(b.written.begin() + at, graph::ValueId{});
  return b;
}

/// The body of a scan of as many turns: in the place of what decides stands a slice of a tensor that it does not read.
TracedBranch as_scan(TracedBranch b, std::size_t carried, Tensor slices) {
  auto move_behind = [&](auto& all) {
    std::rotate(all.begin(), all.begin() + 1, all.begin() + static_cast<std::ptrdiff_t>(carried));
  };
  b.operands[0] = std::move(slices);
  move_behind(b.operands), move_behind(b.written), move_behind(b.graph.inputs);
  b.graph.outputs.erase(b.graph.outputs.begin());
  for (std::size_t i = 0; i < b.graph.inputs.size(); ++i)
    b.graph.values[b.graph.inputs[i].value.v].result = static_cast<std::uint32_t>(i);
  return b;
}

}  // namespace

TracedBranch with_draws(Tracer& tracer, TracedBranch b, std::size_t at, Int turns, SourceLoc loc) {
  const NotTheFunction aside(tracer);
  const OffTape off;
  const guards::LibraryScope operators;
  const Tensor first = tracer.place_of_draws(turns * b.drawn, loc);
  const Tensor turn = arange(turns, {.dtype = kInt64}, loc);
  const auto from = static_cast<std::ptrdiff_t>(std::exchange(b.draws, -1)), to = static_cast<std::ptrdiff_t>(at);
  b.operands[static_cast<std::size_t>(from)] = turn.mul(b.drawn, loc).add(first, 1, loc);
  auto move = [&](auto& all) { std::rotate(all.begin() + to, all.begin() + from, all.begin() + from + 1); };
  move(b.operands), move(b.written), move(b.graph.inputs);
  for (std::size_t i = 0; i < b.graph.inputs.size(); ++i)
    b.graph.values[b.graph.inputs[i].value.v].result = static_cast<std::uint32_t>(i);
  return b;
}

std::vector<Tensor> add_scan_on_tape(Tracer& tracer, TracedBranch body, std::size_t carried, std::size_t stacked,
                                     Int turns, SourceLoc loc) {
  const NotTheFunction aside(tracer);
  const std::vector<Tensor> operands = seen_operands(tracer, body);
  if (!wants_derivative(tracer, body, operands, carried, kBodyOfScan, loc))
    return tracer.add_loop(std::move(body), carried, stacked, turns, loc);
  auto of = std::make_shared<OfScan>(OfScan{tracer, body.graph, carried, stacked, operands.size(), turns, loc});
  const FunctionForward forward = [&](FunctionContext& c) {
    std::vector<Tensor> made = tracer.add_loop(std::move(body), carried, stacked, turns, loc, kBodyOfScan, true);
    const std::vector<Tensor> states(made.end() - static_cast<std::ptrdiff_t>(carried), made.end());
    std::vector<Tensor> saved = operands;
    saved.insert(saved.end(), states.begin(), states.end());
    c.save_for_backward(std::move(saved));
    c.mark_non_differentiable(states);
    c.more = of;
    return made;
  };
  return call_function("scan", operands, forward, &scan_backward, loc);
}

std::vector<Tensor> add_cond_on_tape(Tracer& tracer, const Tensor& pred, TracedBranch then, TracedBranch otherwise,
                                     SourceLoc loc) {
  const NotTheFunction aside(tracer);
  const std::vector<Tensor> of_then = seen_operands(tracer, then), of_otherwise = seen_operands(tracer, otherwise);
  const bool wants = wants_derivative(tracer, then, of_then, 0, kBranchOfCond, loc),
             other = wants_derivative(tracer, otherwise, of_otherwise, 0, kBranchOfCond, loc);
  if (!wants && !other) return tracer.add_cond(pred, std::move(then), std::move(otherwise), loc);
  if (!wants || !other)
    bail(
        Bail::branch_changes, "cond", loc,
        "one branch of cond computes with tensors that want gradients, and the other one does not: whether the results "
        "want some depends on which is taken");
  if (then.defined != otherwise.defined ||
      std::find(then.defined.begin(), then.defined.end(), false) != then.defined.end())
    bail(Bail::branches_differ, "cond", loc, "a branch gives an undefined tensor where gradients are wanted");
  std::vector<Tensor> operands{pred};
  operands.insert(operands.end(), of_then.begin(), of_then.end());
  operands.insert(operands.end(), of_otherwise.begin(), of_otherwise.end());
  auto of = std::make_shared<OfCond>(
      OfCond{tracer, {then.graph, otherwise.graph}, {then.operands.size(), otherwise.operands.size()}, loc});
  const FunctionForward forward = [&](FunctionContext& c) {
    std::vector<Tensor> made = tracer.add_cond(pred, std::move(then), std::move(otherwise), loc);
    c.save_for_backward(operands);
    c.more = of;
    return made;
  };
  return call_function("cond", operands, forward, &cond_backward, loc);
}

std::vector<Tensor> add_while_on_tape(Tracer& tracer, TracedBranch body, std::size_t carried, Int at_most,
                                      SourceLoc loc) {
  const NotTheFunction aside(tracer);
  if (!wants_derivative(tracer, body, seen_operands(tracer, body), carried, kBodyOfWhile, loc)) {
    std::vector<Tensor> made = tracer.add_loop(std::move(body), carried, 0, at_most, loc, kBodyOfWhile);
    made.erase(made.begin());
    return made;
  }
  if (tracer.in_region())
    bail(Bail::reads_value, "while_loop", loc,
         "its derivative asks how many turns there were, which inside another region nobody knows");
  Tensor slices;
  {
    const OffTape off;
    const Tensor zero = zeros({}, {.dtype = kInt64, .device = body.operands[0].device()}, loc);
    const std::vector<Tensor> counted =
        tracer.add_loop(with_count(body, carried, zero), carried + 1, 0, at_most, loc, kBodyOfWhile);
    const Int turns = operators::counted(counted[carried].item(loc), at_most, loc);
    slices = zeros({turns}, {.dtype = kBool, .device = zero.device()}, loc);
  }
  const Int turns = slices.size(0);
  return add_scan_on_tape(tracer, as_scan(std::move(body), carried, std::move(slices)), carried - 1, 1, turns, loc);
}

}  // namespace reprise::detail
