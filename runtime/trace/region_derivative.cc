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

#include "autograd/state.h"
#include "base/bail.h"
#include "base/errors.h"
#include "operators/data_sizes.h"
#include "reprise/autograd.h"
#include "reprise/ops.h"
#include "runtime/trace/graph_call.h"
#include "runtime/trace/joint.h"
#include "runtime/trace/region_operands.h"
#include "runtime/trace/region_writes.h"
#include "tensor/impl.h"

namespace reprise::detail {

std::vector<Tensor> seen_operands(const Tracer& tracer, const TracedBranch& b) {
  std::vector<Tensor> all;
  for (const Tensor& t : b.operands) all.push_back(tracer.as_seen(t));
  return all;
}

bool is_on_tape(const Tracer& tracer, const TracedBranch& b, const std::vector<Tensor>& operands, std::size_t carried,
                RegionKind kind, SourceLoc loc) {
  if (!tracer.tape) return false;
  const auto refuse = [&](const char* what) { refuse_on_tape(kind, loc, what); };
  if (b.views_want && graph::setting(graph::Setting::NoGrad) == 0)
    refuse("sees tensors from outside under several names");
  // Made while gradients were off, it wants none itself: the tape says what becomes of a write.
  for (std::size_t i = carried; i < operands.size(); ++i)
    if (const autograd::State* s = b.written[i] ? autograd::state_of(operands[i]) : nullptr;
        s && s->view && !s->requires_grad() && s->view->base.requires_grad())
      refuse("writes to a view from outside that was made while gradients were off");
  if (b.turns_on &&
      std::any_of(operands.begin(), operands.end(), [](const Tensor& t) { return requires_grad(*t.impl()); }))
    refuse("turns gradients on that are off around it");
  if (std::none_of(operands.begin(), operands.end(), [](const Tensor& t) { return wants_gradient(*t.impl()); }))
    return false;
  if (b.hooked && graph::setting(graph::Setting::NoGrad) == 0) refuse("is called under SavedTensorHooks");
  if (b.writes_unseen && graph::setting(graph::Setting::NoGrad) == 0)
    refuse("writes through detach(), or while gradients are off");
  return true;
}

RegionWants checked_wants(const TracedBranch& b, const std::vector<Tensor>& operands, std::size_t carried,
                          RegionKind kind, SourceLoc loc) {
  RegionWants w = wants_of_region(b, operands, carried);
  const auto refuse = [&](const char* what) { refuse_on_tape(kind, loc, what); };
  if (w.any() && w.cut) refuse("turns gradients off");
  if (w.lost) refuse("gives carried state that wants none, where the first does");
  return w;
}

void check_in_trace(const Tracer& tracer, const char* op, SourceLoc loc) {
  if (around().tracer != &tracer)
    fail(ErrorCode::InvalidArgument, op, loc, "the derivative of a traced region is asked for outside its trace");
}

void refuse_second(const char* op, SourceLoc loc) {
  if (graph::setting(graph::Setting::NoGrad) == 0)
    bail(Bail::branch_changes, op, loc, "a derivative of its derivative is asked for");
}

namespace {

/// What forward leaves for backward, beside tensors: slices and others in the order of the body's inputs, then the
/// states.
struct OfScan {
  Tracer& tracer;
  graph::Graph body;        ///< inputs: state, slices, others; outputs: state, results
  std::vector<bool> wants;  ///< by output
  std::size_t carried, stacked, operands;
  Int turns;
  SourceLoc loc;
};

Tensor zeros_of(const Tensor& t) { return t.new_zeros(t.sizes()); }

Tensor reversed(const Tensor& t) { return t.flip({0}); }

std::vector<Tensor> scan_backward(FunctionContext& c, std::vector<Tensor> grads) {
  auto& of = *static_cast<OfScan*>(c.more.get());
  check_in_trace(of.tracer, "scan", of.loc);
  refuse_second("scan", of.loc);
  const std::vector<Tensor> saved = c.saved_tensors();
  const std::size_t given_to = of.carried + of.stacked;
  const auto operand = [&](std::size_t i) -> const Tensor& { return saved[i - of.carried]; };
  const auto state = [&](std::size_t i) -> const Tensor& { return saved[of.operands - of.carried + i]; };

  // Which operands have gradients: the state that wants one in some turn; of others those that do.
  std::vector<std::size_t> states, slices, others, results;
  for (std::size_t i = 0; i < of.operands; ++i) {
    if (i < of.carried ? !of.wants[i] : !c.needs_input_grad(i)) continue;
    (i < of.carried ? states : i < given_to ? slices : others).push_back(i);
  }
  std::vector<Tensor> carried, stacked;
  for (std::size_t i : states) carried.push_back(grads[i]);
  for (std::size_t i : others) carried.push_back(zeros_of(operand(i)));
  for (std::size_t i = 0; i < of.carried; ++i) stacked.push_back(reversed(state(i)));
  for (std::size_t i = of.carried; i < given_to; ++i) stacked.push_back(reversed(operand(i)));
  for (std::size_t i = of.carried; i < of.body.outputs.size(); ++i)
    if (of.wants[i]) results.push_back(i), stacked.push_back(reversed(grads[i]));

  std::vector<Tensor> inside, made;
  const std::size_t around_it = of.tracer.begin_body(carried, stacked, of.loc, inside);
  TracedBranch body;
  try {
    const std::size_t sums = states.size(), first_slice = carried.size();
    std::vector<Tensor> wanted;
    {
      const TracedAgain on_tape;
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
  refuse_second("cond", of.loc);
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
        const TracedAgain on_tape;
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
  number_inputs(b.graph);
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
  number_inputs(b.graph);
  return b;
}

namespace {

/// What the node runs again for its derivative, by the values that it has seen: its operands may be written behind it,
/// also where no derivative of an operator in it would need them. A copy is the value itself in the graph.
void keep_as_they_are(std::vector<Tensor>& operands, SourceLoc loc) {
  for (Tensor& t : operands) t = t.clone(loc);
}

/// Results of a node of the tape that want no gradient.
std::vector<Tensor> unwanted(const std::vector<Tensor>& made, const std::vector<bool>& wants) {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < wants.size(); ++i)
    if (!wants[i]) all.push_back(made[i]);
  return all;
}

}  // namespace

std::vector<Tensor> add_scan_on_tape(Tracer& tracer, TracedBranch body, std::size_t carried, std::size_t stacked,
                                     Int turns, SourceLoc loc) {
  const NotTheFunction aside(tracer);
  if (!is_on_tape(tracer, body, seen_operands(tracer, body), carried, kBodyOfScan, loc))
    return tracer.add_loop(std::move(body), carried, stacked, turns, loc);
  const RegionWrites writes = RegionWrites::of_loop(tracer, body, carried, stacked, kBodyOfScan, loc);
  const std::vector<Tensor> operands = seen_operands(tracer, body);
  const RegionWants wants = checked_wants(body, operands, carried, kBodyOfScan, loc);
  if (!wants.any()) return writes.write_back(tracer.add_loop(std::move(body), carried, stacked, turns, loc), loc);
  auto of = std::make_shared<OfScan>(
      OfScan{tracer, body.graph, wants.results, carried, stacked, operands.size(), turns, loc});
  const FunctionForward forward = [&](FunctionContext& c) {
    std::vector<Tensor> saved(operands.begin() + static_cast<std::ptrdiff_t>(carried), operands.end());
    keep_as_they_are(saved, loc);
    std::vector<Tensor> made = tracer.add_loop(std::move(body), carried, stacked, turns, loc, kBodyOfScan, true);
    const std::vector<Tensor> states(made.end() - static_cast<std::ptrdiff_t>(carried), made.end());
    saved.insert(saved.end(), states.begin(), states.end());
    c.save_for_backward(std::move(saved));
    std::vector<Tensor> constant = unwanted(made, wants.results);
    constant.insert(constant.end(), states.begin(), states.end());
    c.mark_non_differentiable(std::move(constant));
    c.more = of;
    return made;
  };
  std::vector<Tensor> made = call_function("scan", operands, forward, &scan_backward, loc);
  made.resize(wants.results.size());
  return writes.write_back(std::move(made), loc);
}

std::vector<Tensor> add_cond_on_tape(Tracer& tracer, const Tensor& pred, TracedBranch then, TracedBranch otherwise,
                                     SourceLoc loc) {
  const NotTheFunction aside(tracer);
  const bool on_tape = is_on_tape(tracer, then, seen_operands(tracer, then), 0, kBranchOfCond, loc),
             other_on_tape = is_on_tape(tracer, otherwise, seen_operands(tracer, otherwise), 0, kBranchOfCond, loc);
  if (!on_tape && !other_on_tape) return tracer.add_cond(pred, std::move(then), std::move(otherwise), loc);
  const RegionWrites writes = RegionWrites::of_branches(tracer, then, otherwise, loc);
  const std::vector<Tensor> of_then = seen_operands(tracer, then), of_otherwise = seen_operands(tracer, otherwise);
  const RegionWants wants = checked_wants(then, of_then, 0, kBranchOfCond, loc);
  if (wants.results != checked_wants(otherwise, of_otherwise, 0, kBranchOfCond, loc).results)
    bail(
        Bail::branch_changes, "cond", loc,
        "one branch of cond computes with tensors that want gradients, and the other one does not: whether the results "
        "want some depends on which is taken");
  if (!wants.any()) return writes.write_back(tracer.add_cond(pred, std::move(then), std::move(otherwise), loc), loc);
  if (then.defined != otherwise.defined ||
      std::find(then.defined.begin(), then.defined.end(), false) != then.defined.end())
    bail(Bail::branches_differ, "cond", loc, "a branch gives an undefined tensor where gradients are wanted");
  std::vector<Tensor> operands{pred};
  operands.insert(operands.end(), of_then.begin(), of_then.end());
  operands.insert(operands.end(), of_otherwise.begin(), of_otherwise.end());
  auto of = std::make_shared<OfCond>(
      OfCond{tracer, {then.graph, otherwise.graph}, {then.operands.size(), otherwise.operands.size()}, loc});
  const FunctionForward forward = [&](FunctionContext& c) {
    std::vector<Tensor> saved = operands;
    keep_as_they_are(saved, loc);
    std::vector<Tensor> made = tracer.add_cond(pred, std::move(then), std::move(otherwise), loc);
    c.save_for_backward(std::move(saved));
    c.mark_non_differentiable(unwanted(made, wants.results));
    c.more = of;
    return made;
  };
  return writes.write_back(call_function("cond", operands, forward, &cond_backward, loc), loc);
}

std::vector<Tensor> add_while_on_tape(Tracer& tracer, TracedBranch body, std::size_t carried, Int at_most,
                                      SourceLoc loc) {
  const NotTheFunction aside(tracer);
  auto run = [&] {
    std::vector<Tensor> made = tracer.add_loop(std::move(body), carried, 0, at_most, loc, kBodyOfWhile);
    made.erase(made.begin());
    return made;
  };
  if (!is_on_tape(tracer, body, seen_operands(tracer, body), carried, kBodyOfWhile, loc)) return run();
  const RegionWrites writes = RegionWrites::of_loop(tracer, body, carried, 0, kBodyOfWhile, loc);
  if (!checked_wants(body, seen_operands(tracer, body), carried, kBodyOfWhile, loc).any())
    return writes.write_back(run(), loc, 1);
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
  return writes.write_back(
      add_scan_on_tape(tracer, as_scan(std::move(body), carried, std::move(slices)), carried - 1, 1, turns, loc), loc,
      1);
}

}  // namespace reprise::detail
