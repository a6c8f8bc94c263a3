#include "runtime/trace/region_writes.h"

#include <algorithm>
#include <string>
#include <utility>

#include "autograd/state.h"
#include "graph/thread_state.h"
#include "reprise/ops.h"
#include "runtime/trace/joint.h"
#include "runtime/trace/region_operands.h"
#include "tensor/impl.h"

namespace reprise::detail {

namespace {

void check_target(const Tracer& tracer, const Tensor& t, RegionKind kind, SourceLoc loc) {
  const auto refuse = [&](const char* what) {
    refuse_on_tape(kind, loc, ("writes to a tensor from outside " + std::string(what)).c_str());
  };
  // An error, but only where there is a turn, or that branch is taken.
  const Tensor seen = tracer.as_seen(t);
  const autograd::State* s = autograd::state_of(seen);
  // The old view's place on the tape would be that of an operand, whose hooks are the caller's.
  if (s && s->view && wants_or_shows(*seen.impl()) && tracer.is_input(t))
    refuse("that is a view of what the tape knows");
  if (s && graph::setting(graph::Setting::NoGrad) == 0 && s->requires_grad() &&
      autograd::is_leaf(s->view ? s->view->base : seen))
    refuse("that is a leaf, or a view of one");
  if (ref_of_traced(t).is_storage) refuse("that it sees under several names");
  if (!known_contiguous(user_meta_of(t).layout)) refuse("whose elements do not stand row by row");
}

graph::OutputSpec output(graph::ValueId v) {
  graph::OutputSpec o;
  o.value = v;
  return o;
}

}  // namespace

RegionWrites RegionWrites::of_loop(Tracer& tracer, TracedBranch& b, std::size_t& carried, std::size_t stacked,
                                   RegionKind kind, SourceLoc loc) {
  RegionWrites w;
  graph::Graph& g = b.graph;
  const std::size_t first_other = carried + stacked;
  for (std::size_t i = first_other; i < b.written.size(); ++i) {
    if (!b.written[i]) continue;
    check_target(tracer, b.operands[i], kind, loc);
    const auto to = static_cast<std::ptrdiff_t>(carried), from = static_cast<std::ptrdiff_t>(i);
    auto move = [&](auto& all) { std::rotate(all.begin() + to, all.begin() + from, all.begin() + from + 1); };
    move(b.operands), move(b.written), move(g.inputs);
    g.outputs.insert(g.outputs.begin() + to, output(std::exchange(b.written[carried], {})));
    w.writes_.push_back({tracer.as_seen(b.operands[carried]), carried});
    ++carried;
  }
  number_inputs(g);
  for (std::size_t i = carried; i < carried + stacked; ++i) {
    if (!b.written[i]) continue;
    check_target(tracer, b.operands[i], kind, loc);
    w.writes_.push_back({tracer.as_seen(b.operands[i]), g.outputs.size()});
    g.outputs.push_back(output(std::exchange(b.written[i], {})));
  }
  return w;
}

RegionWrites RegionWrites::of_branches(Tracer& tracer, TracedBranch& then, TracedBranch& otherwise, SourceLoc loc) {
  RegionWrites w;
  std::vector<Tensor> targets;
  for (const TracedBranch* b : {&then, &otherwise})
    for (std::size_t i = 0; i < b->operands.size(); ++i) {
      const Tensor& t = b->operands[i];
      auto is_known = [&](const Tensor& target) { return is_same_value(target, t); };
      if (!b->written[i] || std::any_of(targets.begin(), targets.end(), is_known)) continue;
      check_target(tracer, t, kBranchOfCond, loc);
      // each would put back the old elements of what the other has written
      for (const Tensor& target : targets)
        if (may_meet(target, t)) tracer.want_bases(loc, "the branches write to one memory under two names");
      targets.push_back(t);
    }
  for (const Tensor& target : targets) {
    w.writes_.push_back({tracer.as_seen(target), then.defined.size()});
    for (TracedBranch* b : {&then, &otherwise}) {
      graph::Graph& g = b->graph;
      const auto at = std::find_if(b->operands.begin(), b->operands.end(),
                                   [&](const Tensor& t) { return is_same_value(target, t); });
      const auto i = static_cast<std::size_t>(at - b->operands.begin());
      if (at == b->operands.end()) {
        TensorMeta meta = user_meta_of(target);
        meta.layout.offset = 0;
        g.add_input(std::move(meta), "");
        b->operands.push_back(target), b->written.emplace_back();
      }
      const graph::ValueId now = std::exchange(b->written[i], {});
      g.outputs.push_back(output(now ? now : g.inputs[i].value));
      b->defined.push_back(true);
    }
  }
  return w;
}

std::vector<Tensor> RegionWrites::write_back(std::vector<Tensor> results, SourceLoc loc, std::size_t first) const {
  std::vector<bool> is_new_value(results.size());
  for (const Write& w : writes_) {
    Tensor target = w.target;
    target.copy_(results[w.result - first], loc);
    is_new_value[w.result - first] = true;
  }
  std::vector<Tensor> others;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (!is_new_value[i]) others.push_back(std::move(results[i]));
  return others;
}

}  // namespace reprise::detail
