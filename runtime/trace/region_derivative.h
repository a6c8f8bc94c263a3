#pragma once
#include <vector>

#include "autograd/engine.h"
#include "graph/thread_state.h"
#include "reprise/autograd.h"
#include "runtime/trace/graph_call.h"
#include "runtime/trace/region_wants.h"
#include "runtime/trace/tracer.h"

namespace reprise::detail {

/// While it lives nothing is written on the tape, and gradients are on or off as they were: around a region, which is a
/// part of one node.
class OffTape {
 public:
  OffTape() : before_(graph::thread_state.answered) { graph::thread_state.answered |= bit(graph::Key::Autograd); }
  ~OffTape() { graph::thread_state.answered = before_; }
  OffTape(const OffTape&) = delete;
  OffTape& operator=(const OffTape&) = delete;

 private:
  const graph::Keys before_;
};

/// While it lives, handles are not what the function does.
class NotTheFunction {
 public:
  explicit NotTheFunction(Tracer& t) : t_(t), before_(t.aside(false)) {}
  ~NotTheFunction() { t_.aside(before_); }
  NotTheFunction(const NotTheFunction&) = delete;
  NotTheFunction& operator=(const NotTheFunction&) = delete;

 private:
  Tracer& t_;
  const bool before_;
};

/// The operands of a region, as the tape knows them.
std::vector<Tensor> seen_operands(const Tracer&, const TracedBranch&);
/// Does the tape see what the region does? Bails where what the region is says too little of its derivative.
bool is_on_tape(const Tracer&, const TracedBranch&, const std::vector<Tensor>& operands, std::size_t carried,
                RegionKind, SourceLoc);
/// What of such a region wants a gradient. Bails likewise.
RegionWants checked_wants(const TracedBranch&, const std::vector<Tensor>& operands, std::size_t carried, RegionKind,
                          SourceLoc);
/// While it lives, a body is traced once more, on the tape, as its graph says it.
class TracedAgain {
  const SettingsOfGraphs said_;
  const autograd::NoNumbersYet traced_;
  const EnableGradScope on_;
};
/// Bails in a walk with create_graph: its gradients are on the tape, and those of this one node are not.
void refuse_second(const char* op, SourceLoc);
/// Throws InvalidArgument unless it is the tracer of this thread's trace.
void check_in_trace(const Tracer&, const char* op, SourceLoc);

/// A body of scan that draws random numbers: where each turn's begin is one more stacked tensor, which becomes input
/// `at`.
TracedBranch with_draws(Tracer&, TracedBranch body, std::size_t at, Int turns, SourceLoc);

// Tracer::add_loop() and add_cond(), as one node of the tape where an operand of a region wants a gradient (Note
// [Derivatives of regions]).
std::vector<Tensor> add_scan_on_tape(Tracer&, TracedBranch body, std::size_t carried, std::size_t stacked, Int turns,
                                     SourceLoc);
/// Of while_loop: the first carried tensor decides, and there is no result in its place.
std::vector<Tensor> add_while_on_tape(Tracer&, TracedBranch body, std::size_t carried, Int at_most, SourceLoc);
std::vector<Tensor> add_cond_on_tape(Tracer&, const Tensor& pred, TracedBranch then, TracedBranch otherwise, SourceLoc);

}  // namespace reprise::detail
