#include "autograd/engine.h"

#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>

#include "autograd/gradient.h"
#include "autograd/shadow.h"
#include "autograd/state.h"
#include "autograd/tape.h"
#include "autograd/trace_tape.h"
#include "base/bail.h"
#include "base/errors.h"
#include "graph/call_numbers.h"
#include "reprise/ops.h"

namespace reprise::autograd {

namespace {
constinit thread_local std::uint8_t t_anomaly = 0;
}  // namespace
std::uint8_t anomaly() { return t_anomaly; }
std::uint8_t exchange_anomaly(std::uint8_t a) { return std::exchange(t_anomaly, a); }

namespace {

/// A node that this walk comes by.
struct Visit {
  std::shared_ptr<Node> node;
  int waits_for = 0;                     ///< edges that lead to it and have not brought anything yet
  bool needed = false;                   ///< somebody wants what comes of it
  std::vector<Tensor> grads;             ///< by result
};

class Run {
 public:
  explicit Run(const Walk& w) : w_(w), captured_(w.captured.size()) {}

  std::vector<Tensor> operator()() {
    find_nodes();
    mark_needed();
    for (std::size_t i = 0; i < w_.roots.size(); ++i) bring(w_.roots[i], w_.gradients[i]);
    for (const Edge& e : w_.roots) ready_if_complete(visits_.at(e.node.get()));
    while (!ready_.empty()) {
      Visit& v = *ready_.top();
      ready_.pop();
      visit(v);
    }
    for (auto& [node, gradient] : leaves_) {
      static_cast<AccumulateGrad&>(*node).add(std::move(gradient), w_.create_graph);
      if (node->hooks) run_behind(*node, {});
    }
    return std::move(captured_);
  }

 private:
  struct Later {
    bool operator()(const Visit* a, const Visit* b) const { return a->node->sequence < b->node->sequence; }
  };

  // Depth first without recursion; order_ ends with the roots.
  void find_nodes() {
    struct At {
      Visit* v;
      std::size_t next = 0;
    };
    std::vector<At> stack;
    auto enter = [&](const std::shared_ptr<Node>& n) {
      auto [at, is_new] = visits_.try_emplace(n.get());
      if (!is_new) return;
      at->second.node = n;
      at->second.grads.resize(std::max<std::size_t>(n->results.size(), 1));
      stack.push_back({&at->second});
    };
    for (const Edge& root : w_.roots) {
      enter(root.node);
      while (!stack.empty()) {
        At& at = stack.back();
        if (at.next == at.v->node->next.size() || is_outside(*at.v->node)) {
          order_.push_back(at.v);
          stack.pop_back();
          continue;
        }
        const Edge& e = at.v->node->next[at.next++];
        if (!e) continue;
        enter(e.node);  // `at` may have moved
        ++visits_.at(e.node.get()).waits_for;
      }
    }
  }

  bool is_outside(const Node& n) const { return w_.of_trace && n.in_trace != current_trace; }

  // Where gradients are captured, only what leads to them runs.
  void mark_needed() {
    const bool all = w_.captured.empty();
    for (const Edge& e : w_.captured)
      if (auto at = visits_.find(e.node.get()); at != visits_.end()) wanted_[e.node.get()].push_back(e.result);
    for (Visit* v : order_) {  // those behind a node come before it
      v->needed = all;
      if (is_outside(*v->node)) continue;
      for (const Edge& e : v->node->next)
        if (e && (visits_.at(e.node.get()).needed || wanted_.count(e.node.get()))) v->needed = true;
    }
  }
  void bring(const Edge& to, const Tensor& gradient) {
    if (!gradient.defined()) return;
    Visit& v = visits_.at(to.node.get());
    if (to.result >= v.grads.size()) v.grads.resize(to.result + 1);
    Tensor& sum = v.grads[to.result];
    sum = sum.defined() ? sum + gradient : gradient;
  }
  void ready_if_complete(Visit& v) {
    if (v.waits_for != 0) return;
    v.waits_for = -1;  // once
    ready_.push(&v);
  }

  void visit(Visit& v) {
    Node& n = *v.node;
    std::vector<Tensor> grads = std::move(v.grads);
    const bool outside = is_outside(n);
    auto* const is_leaf = dynamic_cast<AccumulateGrad*>(&n);
    if (n.hooks && !outside) run_tensor_hooks(n, grads);
    if (is_leaf && !outside && !w_.of_trace) run_leaf_hooks(*is_leaf, grads);
    capture(n, grads);
    if (outside) return;
    const bool any = std::any_of(grads.begin(), grads.end(), [](const Tensor& g) { return g.defined(); });
    std::vector<Tensor> given;
    if (is_leaf) {
      const bool add = w_.accumulate && (w_.captured.empty() || wanted_.count(&n));
      if (add && grads[0].defined()) leaves_.emplace_back(v.node, as_gradient(grads[0], n.results[0], n, w_.loc));
    } else if (any && v.needed) {
      given = apply(n, std::move(grads));
    }
    grads.clear();
    for (std::size_t i = 0; i < n.next.size(); ++i) {
      const Edge& e = n.next[i];
      if (!e) continue;
      Visit& to = visits_.at(e.node.get());
      if (i < given.size()) bring(e, std::exchange(given[i], Tensor()));
      --to.waits_for;
      ready_if_complete(to);
    }
    if (!w_.retain_graph) n.release();
  }

  std::vector<Tensor> apply(Node& n, std::vector<Tensor> grads) {
    const Aside aside;
    if (current_trace && n.in_trace != current_trace) bail(Bail::tape_from_outside, "backward", w_.loc);
    std::vector<bool> needed(n.next.size());
    for (std::size_t i = 0; i < needed.size(); ++i) needed[i] = n.next[i] && (visits_.at(n.next[i].node.get()).needed || wanted_.count(n.next[i].node.get()));
    if (n.hooks)
      for (const HookList::Hook& h : n.hooks->all())
        if (h.before) h.before(grads);
    const std::int32_t before = std::exchange(graph::call_numbers.forward_of, n.traced);
    struct Back {
      std::int32_t was;
      ~Back() { graph::call_numbers.forward_of = was; }
    } back{before};
    const std::vector<Tensor> taken = n.hooks ? grads : std::vector<Tensor>();
    std::vector<Tensor> given;
    if (t_anomaly) {
      try {
        given = n.apply(std::move(grads), &needed);
      } catch (const Error& e) {
        if (e.code() == ErrorCode::NotTraceable) throw;
        throw Error(e.code(), e.op(), e.message() + " (in the derivative of '" + n.name() + "'" + call_text(n) + ")", n.loc ? n.loc : e.where());
      }
      if (t_anomaly > 1) look_for_nan(n, given);
    } else {
      given = n.apply(std::move(grads), &needed);
    }
    if (given.size() > n.next.size())
      fail(ErrorCode::InvalidArgument, n.name().c_str(), n.loc, "its derivative gives ", given.size(), " gradients for ", n.next.size(), " tensors");
    for (std::size_t i = 0; i < given.size(); ++i)
      if (given[i].defined() && n.next[i]) {
        const std::vector<ResultMeta>& of = n.next[i].node->results;
        if (n.next[i].result < of.size()) given[i] = as_gradient(given[i], of[n.next[i].result], n, n.loc);
      }
    if (n.hooks) run_behind(n, taken, &given);
    return given;
  }

  static std::string call_text(const Node& n) { return n.loc ? ", called at " + std::string(n.loc.file) + ":" + std::to_string(n.loc.line) : std::string(); }
  void look_for_nan(const Node& n, const std::vector<Tensor>& given) const {
    const NoGradScope off;
    for (std::size_t i = 0; i < given.size(); ++i)
      if (given[i].defined() && isnan(given[i]).any().item<bool>())
        fail(ErrorCode::InvalidArgument, n.name().c_str(), n.loc, "its derivative gives a gradient of tensor ", i, " that is not a number", call_text(n));
  }

  void run_tensor_hooks(Node& n, std::vector<Tensor>& grads) const {
    for (const HookList::Hook& h : n.hooks->all())
      if (h.of_tensor && h.result < grads.size() && grads[h.result].defined())
        if (Tensor other = h.of_tensor(grads[h.result]); other.defined()) grads[h.result] = as_gradient(other, n.results[h.result], n, w_.loc);
  }
  void run_leaf_hooks(AccumulateGrad& n, std::vector<Tensor>& grads) const {
    const State* s = state_of(n.leaf);
    if (!s || !s->hooks || !grads[0].defined()) return;
    for (const HookList::Hook& h : s->hooks->all())
      if (h.of_tensor)
        if (Tensor other = h.of_tensor(grads[0]); other.defined()) grads[0] = as_gradient(other, n.results[0], n, w_.loc);
  }
  static void run_behind(Node& n, const std::vector<Tensor>& taken, std::vector<Tensor>* given = nullptr) {
    std::vector<Tensor> none;
    for (const HookList::Hook& h : n.hooks->all())
      if (h.behind) h.behind(given ? *given : none, taken);
  }

  void capture(const Node& n, const std::vector<Tensor>& grads) {
    if (!wanted_.count(&n)) return;
    for (std::size_t i = 0; i < w_.captured.size(); ++i)
      if (w_.captured[i].node.get() == &n && w_.captured[i].result < grads.size() && grads[w_.captured[i].result].defined())
        captured_[i] = as_gradient(grads[w_.captured[i].result], n.results[w_.captured[i].result], n, w_.loc);
  }

  const Walk& w_;
  std::unordered_map<const Node*, Visit> visits_;
  std::vector<Visit*> order_;            // those behind a node before it
  std::unordered_map<const Node*, std::vector<std::uint32_t>> wanted_;
  std::priority_queue<Visit*, std::vector<Visit*>, Later> ready_;
  std::vector<Tensor> captured_;
  std::vector<std::pair<std::shared_ptr<Node>, Tensor>> leaves_;
};

}  // namespace

std::vector<Tensor> walk(const Walk& w) {
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
