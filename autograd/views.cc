#include "autograd/views.h"

#include <algorithm>

#include "autograd/op_node.h"
#include "autograd/shadow.h"
#include "autograd/tape.h"
#include "autograd/tape_undo.h"
#include "autograd/trace_tape.h"
#include "base/bail.h"
#include "base/errors.h"
#include "graph/view_column.h"
#include "reprise/ops.h"
#include "tensor/memory_order.h"

namespace reprise::autograd {

using graph::OpId;
using graph::ViewMade;

void follow_view(const graph::OpCall& c, const Tensor& of, const Tensor& made, bool gradients) {
  const State* before = state_of(of);
  State& s = make_state(made);
  s.unfollowed = false;
  auto call = std::make_shared<const Call>(c);
  s.view = std::make_unique<ViewOf>();
  if (before && before->view) {
    s.view->base = before->view->base;
    s.view->steps = before->view->steps;
  } else {
    s.view->base = of;
  }
  s.view->steps.push_back(call);
  s.view->version = version_of(*made.impl());
  s.view->made = before && before->view && before->view->made != ViewMade::Followed ? before->view->made
                 : gradients                                                        ? ViewMade::Followed
                                                                                    : ViewMade::GradientsOff;
  if (!gradients) return;
  if (Edge e = edge_of(of)) {
    auto node = std::make_shared<OpNode>(call);
    node->next = {std::move(e)};
    node->results = {meta_of_result(made)};
    s.made_by = {std::move(node), 0};
  }
}

Edge place_by_base(const State& s) {
  const ViewOf& v = *s.view;
  Edge at = edge_of(v.base);
  for (std::size_t i = 0; at && i < v.steps.size(); ++i) {
    auto node = std::make_shared<OpNode>(v.steps[i]);
    node->next = {std::move(at)};
    node->results = {i + 1 < v.steps.size() ? std::get<ResultMeta>(v.steps[i + 1]->args[0])
                                            : meta_of_result(Tensor::share(s.self))};
    at = {std::move(node), 0};
  }
  return at;
}

void bring_up_to_date(const State& s) {
  ViewOf& v = *s.view;
  if (v.made == ViewMade::InFunction) return;
  const std::uint64_t now = version_of(*s.self);
  if (v.version == now) return;
  const Aside aside;
  TapeUndo::note(Tensor::share(s.self));
  if (TraceTape* trace = TraceTape::current()) trace->note(Tensor::share(s.self));
  v.version = now;
  Edge at = place_by_base(s);
  if (!at) return;  // nothing to go on to: what was written wants no gradient
  const Edge before = std::exchange(s.made_by, std::move(at));
  const_cast<State&>(s).move_retained(before);
}

void check_up_to_date(const State& s) {
  if (s.view->made != ViewMade::InFunction || !s.made_by || s.view->version == version_of(*s.self)) return;
  fail(ErrorCode::InvalidArgument, s.made_by.node->name().c_str(), s.made_by.node->loc,
       "a view that a Function has returned was written since, or what it is a view of was, in place",
       last_write_text(Tensor::share(s.self)),
       ": the Function's derivative is of what was there before; clone() the view, or write to a copy");
}

void note_view(const Tensor& made, ViewMade how) {
  State& s = make_state(made);
  s.unfollowed = false;
  auto view = std::make_unique<ViewOf>();
  {
    const NoGradScope off;
    view->base = s.view ? s.view->base : detach(made);
  }
  view->version = version_of(*made.impl());
  view->made = how;
  s.view = std::move(view);
}

namespace {
/// A view of somebody's memory who may still be there, made where the tape did not look.
bool is_unfollowed(const Tensor& t) {
  const State* s = state_of(t);
  if (s ? !s->unfollowed : !t.impl()->is_view) return false;
  return t.impl()->trace || t.impl()->storage->refs.load(std::memory_order_relaxed) > 1;
}
}  // namespace

void check_may_write(const Tensor& self, const std::string& op, bool gradients, SourceLoc loc) {
  if (!gradients) return;
  auto refuse = [&](const auto&... what) { fail(ErrorCode::InvalidArgument, op.c_str(), loc, what...); };
  auto refuse_unfollowed = [&] {
    refuse(
        "writes through a view that was made before gradients were asked for (or in an InferenceScope), so that the "
        "tape does not know what it is a view of: make it after the first requires_grad_()");
  };
  const State* s = state_of(self);
  if (!s || !s->view) {
    if (requires_grad(*self.impl()) && is_leaf(self))
      refuse("writes to a leaf that wants a gradient: write where gradients are off (NoGradScope), or to a copy");
    if (is_unfollowed(self)) refuse_unfollowed();
    return;
  }
  if (s->view->made == ViewMade::InFunction)
    refuse("writes to a view that a Function ", s->made_by ? "('" + s->made_by.node->name() + "') " : std::string(),
           "has returned, whose derivative a write would replace by that of the view: clone() it first");
  if (s->view->made == ViewMade::GradientsOff)
    refuse(
        "writes through a view that was made while gradients were off, and what is written, or what it is a view of, "
        "wants one: make the view where they are on, write where they are off (NoGradScope), or detach() it");
  if (is_unfollowed(s->view->base)) refuse_unfollowed();
  if (requires_grad(*s->view->base.impl()) && is_leaf(s->view->base))
    refuse(
        "writes through a view of a leaf that wants a gradient: write where gradients are off (NoGradScope), or to a "
        "copy");
  if (s->wants && !s->made_by)
    refuse("writes to a leaf that wants a gradient: write where gradients are off (NoGradScope), or to a copy");
}

bool may_write(const Tensor& self) {
  try {
    check_may_write(self, "", true, {});
    return true;
  } catch (const Error&) {
    return false;
  }
}

namespace {

/// Of a tensor; empty: it lies row by row. Views of it are views of what lies in this order.
std::vector<int> order_of(const Tensor& t) {
  std::vector<int> order = memory_order(t.sizes(), t.strides());
  if (std::is_sorted(order.begin(), order.end())) order.clear();
  return order;
}
/// A copy that lies in this order, densely.
Tensor copy_in_order(const Tensor& t, const std::vector<int>& order, SourceLoc loc) {
  auto copy = [&](const Tensor& x) { return x.is_contiguous() ? x.clone(loc) : x.contiguous(loc); };
  if (order.empty()) return copy(t);
  const Permutation p(order);
  return copy(t.permute(p.to, loc)).permute(p.back, loc);
}

/// What a base is after a write through a view of it.
struct CopySlices final : Node {
  CopySlices(const Tensor& base, std::vector<std::shared_ptr<const Call>> steps, std::shared_ptr<Node> write,
             std::uint32_t result)
      : Node(write->loc), steps(std::move(steps)), write(std::move(write)), result(result), order(order_of(base)) {
    next = {edge_of(base)};
    next.insert(next.end(), this->write->next.begin() + 1, this->write->next.end());
    results = {meta_of_result(base)};
  }
  CopySlices(std::vector<std::shared_ptr<const Call>> steps, std::shared_ptr<Node> write, std::uint32_t result,
             std::vector<int> order)
      : Node(write->loc), steps(std::move(steps)), write(std::move(write)), result(result), order(std::move(order)) {}
  bool tell(Shadow& s) override {
    s.word(2), s.word(result), s.word(steps.size()), s.word(write->results.size());
    for (const auto& step : steps) s.add(*step);
    s.word(order.size());
    for (const int d : order) s.word(static_cast<std::uint64_t>(d));
    for (const ResultMeta& m : write->results) s.add(m);
    return write->tell(s);
  }
  std::shared_ptr<Node> copy(Traced& t) const override {
    std::vector<std::shared_ptr<const Call>> own;
    for (const auto& step : steps) own.push_back(t.call(*step));
    std::vector<ResultMeta> metas;
    for (const ResultMeta& m : write->results) metas.push_back(t.meta(m));
    std::shared_ptr<Node> its = write->copy(t);
    its->results = std::move(metas);
    return std::make_shared<CopySlices>(std::move(own), std::move(its), result, order);
  }
  std::string name() const override { return "copy_slices of " + write->name(); }
  void release() override { write->release(); }

  std::vector<Tensor> apply(std::vector<Tensor> grads, Needed needed) override {
    const Tensor whole = copy_in_order(grads[0], order, loc);  // the steps are views of what lies as the base
    Tensor part = whole;
    for (const auto& step : steps) {
      const Tensor of[] = {part};
      part = graph::calln(step->op.id, step->with(of), loc)[0];
    }
    if (write->next.size() != next.size()) write->next = next;  // a copy's
    std::vector<Tensor> of_results(write->results.size());
    of_results[result] = part.clone(loc);
    std::vector<Tensor> given = write->apply(std::move(of_results), needed);
    if (next[0] && (!needed || (*needed)[0])) {
      if (!given.empty() && given[0].defined()) part.copy_(given[0], loc);
      else part.fill_(0, loc);
    }
    if (!given.empty()) given[0] = next[0] ? whole : Tensor();
    return given;
  }

  const std::vector<std::shared_ptr<const Call>> steps;
  const std::shared_ptr<Node> write;
  const std::uint32_t result;
  const std::vector<int> order;  ///< of the base in memory
};

bool names_places(const ViewOf& v) {
  for (const auto& step : v.steps)
    if (graph::is_view_of_storage(step->op.id)) return true;
  return false;
}

}  // namespace

void written_by(const Tensor& self, const std::shared_ptr<Node>& node, std::uint32_t result) {
  State& s = make_state(self);
  if (!s.view) return set_made_by(self, node, result);
  const Tensor& base = s.view->base;
  if (names_places(*s.view) && !(base.is_contiguous() && identical(base.storage_offset(), Int(0)))) {
    // Where an argument begins, no trace knows.
    if (base.impl()->trace) bail(Bail::changes_tape, node->name().c_str(), node->loc);
    fail(ErrorCode::InvalidArgument, node->name().c_str(), node->loc,
         "writes through as_strided to a tensor that does not begin and lie as its storage: clone() that first");
  }
  REPRISE_CHECK(!node->next.empty());
  auto made = std::make_shared<CopySlices>(base, s.view->steps, node, result);
  set_made_by(base, made, 0);
  TapeUndo::note(self);
  if (TraceTape* trace = TraceTape::current()) trace->note(self);
  s.view->version = kStale;
  bring_up_to_date(s);
}

void replaced_by(const Tensor& self, const std::shared_ptr<Node>& node, std::uint32_t result) {
  if (const State* s = state_of(self); !s || !s->view) return set_made_by(self, node, result);
  const graph::CallArg args[] = {&self, &self};
  auto copy = std::make_shared<OpNode>(
      std::make_shared<const Call>(graph::OpCall{graph::op(OpId::copy), args, true, node->loc}));
  copy->next = {Edge{}, Edge{node, result}};
  copy->results = {meta_of_result(self)};
  written_by(self, copy, 0);
}

}  // namespace reprise::autograd
