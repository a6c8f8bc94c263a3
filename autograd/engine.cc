#include "autograd/engine.h"

#include <algorithm>

#include "autograd/course.h"
#include "autograd/gradient.h"
#include "autograd/shadow.h"
#include "autograd/state.h"
#include "autograd/tape.h"
#include "autograd/trace_tape.h"
#include "base/bail.h"
#include "base/errors.h"
#include "base/warning.h"
#include "graph/call_numbers.h"
#include "reprise/ops.h"

namespace reprise::autograd {

namespace {
constinit thread_local std::uint8_t t_anomaly = 0;
}  // namespace
std::uint8_t anomaly() { return t_anomaly; }
std::uint8_t exchange_anomaly(std::uint8_t a) { return std::exchange(t_anomaly, a); }

namespace {

/// A retained tape may be walked by several threads, and its nodes are only read.
class LastWalk {
 public:
  LastWalk(Node& n, bool last) : node_(last ? &n : nullptr) {
    if (node_) node_->walked_last = true;
  }
  ~LastWalk() {
    if (node_) node_->walked_last = false;
  }
  LastWalk(const LastWalk&) = delete;

 private:
  Node* const node_;
};

std::string call_text(const Node& n) {
  return n.loc ? ", called at " + std::string(n.loc.file) + ":" + std::to_string(n.loc.line) : std::string();
}
void look_for_nan(const Node& n, const std::vector<Tensor>& given) {
  const NoGradScope off;
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i].defined() && isnan(given[i]).any().item<bool>())
      fail(ErrorCode::InvalidArgument, n.name().c_str(), n.loc, "its derivative gives a gradient of tensor ", i,
           " that is not a number", call_text(n));
}

}  // namespace

std::vector<Tensor> apply(Node& n, std::vector<Tensor> grads, const std::vector<bool>& used) {
  const Aside aside;
  const std::int32_t before = std::exchange(graph::call_numbers.forward_of, n.traced);
  struct Back {
    std::int32_t was;
    ~Back() { graph::call_numbers.forward_of = was; }
  } back{before};
  std::vector<Tensor> given;
  if (t_anomaly) {
    try {
      given = n.apply(std::move(grads), &used);
    } catch (const Error& e) {
      if (e.code() == ErrorCode::NotTraceable) throw;
      throw Error(e.code(), e.op(), e.message() + " (in the derivative of '" + n.name() + "'" + call_text(n) + ")",
                  n.loc ? n.loc : e.where());
    } catch (const std::exception& e) {  // the program's own, which it may know by its type
      warning(
          Error(ErrorCode::Internal, n.name(), "its derivative" + call_text(n) + " throws: " + e.what(), n.loc).what());
      throw;
    }
    if (t_anomaly > 1) look_for_nan(n, given);
  } else {
    given = n.apply(std::move(grads), &used);
  }
  if (given.size() > n.next.size())
    fail(ErrorCode::InvalidArgument, n.name().c_str(), n.loc, "its derivative gives ", given.size(), " gradients for ",
         n.next.size(), " tensors");
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i].defined() && n.next[i]) {
      const std::vector<ResultMeta>& of = n.next[i].node->results;
      if (n.next[i].result < of.size()) given[i] = as_gradient(given[i], of[n.next[i].result], n, n.loc);
    }
  return given;
}

void run_tensor_hooks(Node& n, std::vector<Tensor>& grads, SourceLoc loc, bool of_leaf) {
  auto run = [&](const HookList& list) {
    for (const HookList::Hook& h : list.all())
      if (h.of_tensor && h.result < grads.size() && grads[h.result].defined())
        if (Tensor other = h.of_tensor(grads[h.result]); other.defined())
          grads[h.result] = as_gradient(other, n.results[h.result], n, loc);
  };
  if (n.hooks) run(*n.hooks);
  if (auto* leaf = of_leaf ? dynamic_cast<const AccumulateGrad*>(&n) : nullptr)
    if (const State* s = state_of(leaf->leaf); s && s->hooks) run(*s->hooks);
}
void run_before_hooks(Node& n, std::vector<Tensor>& grads) {
  if (!n.hooks) return;
  for (const HookList::Hook& h : n.hooks->all())
    if (h.before) h.before(grads);
}
void run_hooks_behind(Node& n, std::vector<Tensor>& given, const std::vector<Tensor>& taken) {
  if (!n.hooks) return;
  for (const HookList::Hook& h : n.hooks->all())
    if (h.behind) h.behind(given, taken);
}

Tensor captured_gradient(const Node& n, std::uint32_t result, const std::vector<Tensor>& grads, SourceLoc loc) {
  if (result >= grads.size() || !grads[result].defined()) return {};
  return as_gradient(grads[result], n.results[result], n, loc);
}

namespace {

class Run {
 public:
  explicit Run(const Walk& w) : w_(w), course_(w), grads_(course_.stops.size()), captured_(w.captured.size()) {}

  std::vector<Tensor> operator()() {
    for (std::size_t i = 0; i < w_.roots.size(); ++i) bring(w_.roots[i], w_.gradients[i]);
    for (std::size_t i = 0; i < course_.stops.size(); ++i) visit(course_.stops[i], std::exchange(grads_[i], {}));
    for (auto& [node, gradient] : leaves_) {
      static_cast<AccumulateGrad&>(*node).add(std::move(gradient), w_.create_graph);
      std::vector<Tensor> none;
      run_hooks_behind(*node, none, {});
    }
    return std::move(captured_);
  }

 private:
  void bring(const Edge& to, const Tensor& gradient) {
    if (!gradient.defined()) return;
    std::vector<Tensor>& grads = grads_[course_.at(*to.node)];
    if (to.result >= grads.size()) grads.resize(std::max<std::size_t>(to.node->results.size(), to.result + 1));
    Tensor& sum = grads[to.result];
    sum = sum.defined() ? sum + gradient : gradient;
  }

  void visit(const Course::Stop& stop, std::vector<Tensor> grads) {
    Node& n = *stop.node;
    grads.resize(std::max(grads.size(), std::max<std::size_t>(n.results.size(), 1)));
    const bool outside = is_outside(w_, n), is_leaf = dynamic_cast<AccumulateGrad*>(&n);
    if (!outside) run_tensor_hooks(n, grads, w_.loc, !w_.of_trace);
    for (std::uint32_t i : stop.captured)
      if (Tensor g = captured_gradient(n, w_.captured[i].result, grads, w_.loc); g.defined())
        captured_[i] = std::move(g);
    if (outside) return;
    const bool any = std::any_of(grads.begin(), grads.end(), [](const Tensor& g) { return g.defined(); });
    std::vector<Tensor> given;
    if (is_leaf) {
      const bool add = w_.accumulate && (w_.captured.empty() || !stop.captured.empty());
      if (add && grads[0].defined()) leaves_.emplace_back(stop.node, as_gradient(grads[0], n.results[0], n, w_.loc));
    } else if (any && stop.needed) {
      if (current_trace && n.in_trace != current_trace) bail(Bail::tape_from_outside, "backward", w_.loc);
      {
        const Aside aside;
        run_before_hooks(n, grads);
      }
      const std::vector<Tensor> taken = n.hooks ? grads : std::vector<Tensor>();
      // apply() ends them where handles are not followed, so that they are to begin there.
      std::vector<Tensor> own;
      {
        const Aside aside;
        own = grads;
      }
      grads.clear();
      const LastWalk last(n, !w_.retain_graph);
      given = apply(n, std::move(own), course_.used_of(n));
      const Aside aside;
      run_hooks_behind(n, given, taken);
    }
    grads.clear();
    for (std::size_t i = 0; i < given.size(); ++i)
      if (i < n.next.size() && n.next[i]) bring(n.next[i], std::exchange(given[i], Tensor()));
    if (!w_.retain_graph) n.release(), n.walked = true;
  }

  const Walk& w_;
  const Course course_;
  std::vector<std::vector<Tensor>> grads_;  // by stop, by result
  std::vector<Tensor> captured_;
  std::vector<std::pair<std::shared_ptr<Node>, Tensor>> leaves_;
};

}  // namespace

std::vector<Tensor> walk(const Walk& w) {
  TraceTape::note_recorded();
  if (const Through* through = exchange_through(nullptr)) {  // what it calls walks by itself
    struct Back {
      const Through* was;
      ~Back() { exchange_through(was); }
    } back{through};
    if (!current_trace)
      if (auto made = (*through)(w)) return *std::move(made);
  }
  const EngineScope scope(w.create_graph);
  return Run(w)();
}

}  // namespace reprise::autograd
