// Walks in pieces between hooks (Note [Shadows of tapes] in autograd/shadow.h).
#include <algorithm>
#include <map>

#include "autograd/course.h"
#include "autograd/gradient.h"
#include "autograd/shadow.h"
#include "autograd/state.h"
#include "autograd/tape.h"
#include "base/errors.h"
#include "reprise/ops.h"

namespace reprise::autograd {

namespace {

ResultMeta meta_of(const Edge& e) {
  return e.result < e.node->results.size() ? e.node->results[e.result] : ResultMeta{};
}

/// Where gradients leave a copy.
struct End final : Node {
  explicit End(ResultMeta m) : Node({}) {
    sequence = ~std::uint64_t{0};
    results = {std::move(m)};
  }
  std::string name() const override { return "end"; }
  std::vector<Tensor> apply(std::vector<Tensor>, Needed) override { return {}; }
};

/// What the nodes of a segment have kept lives until it has run; it ends by their number, not by bytes, so that all
/// sizes are cut in the same places.
constexpr std::size_t kNodesOfSegment = 64;

class BySegments {
 public:
  BySegments(const Walk& w, const std::function<std::vector<Tensor>(Segment&)>& run)
      : w_(w), run_(run), course_(w), came_(course_.stops.size()), captured_(w.captured.size()) {}

  std::vector<Tensor> operator()() {
    for (std::size_t i = 0; i < w_.roots.size(); ++i) bring(w_.roots[i], w_.gradients[i]);
    for (std::size_t i = 0; i < course_.stops.size();) i = pass(i);
    for (auto& [node, gradient] : leaves_) {
      static_cast<AccumulateGrad&>(*node).add(std::move(gradient), false);
      std::vector<Tensor> none;
      run_hooks_behind(*node, none, {});
    }
    return std::move(captured_);
  }

 private:
  using Stop = Course::Stop;
  /// Gradients of one result of a node, not summed yet.
  using Came = std::map<std::uint32_t, std::vector<Tensor>>;

  void bring(const Edge& to, Tensor gradient) {
    if (gradient.defined()) came_[course_.at(*to.node)][to.result].push_back(std::move(gradient));
  }
  std::vector<Tensor> sums(std::size_t i) {
    std::vector<Tensor> grads(std::max<std::size_t>(course_.stops[i].node->results.size(), 1));
    for (auto& [result, all] : std::exchange(came_[i], {})) {
      if (result >= grads.size()) grads.resize(result + 1);
      for (Tensor& g : all) grads[result] = grads[result].defined() ? grads[result] + g : std::move(g);
    }
    return grads;
  }

  struct Hooks {
    bool before = false, behind = false;
  };
  Hooks hooks_of(const Node& n) const {
    Hooks found;
    if (n.hooks)
      for (const HookList::Hook& h : n.hooks->all()) (h.behind ? found.behind : found.before) = true;
    return found;
  }

  /// Goes on from stop i; gives the one after.
  std::size_t pass(std::size_t i) {
    const Stop& stop = course_.stops[i];
    Node& n = *stop.node;
    if (is_end(stop)) return at_end(i), i + 1;
    const Hooks hooks = hooks_of(n);
    if (hooks.before) {
      std::vector<Tensor> grads = sums(i);
      run_tensor_hooks(n, grads, w_.loc);
      capture(stop, grads);
      if (stop.needed && any(grads)) run_before_hooks(n, grads);
      for (std::size_t r = 0; r < grads.size(); ++r)
        if (grads[r].defined()) came_[i][static_cast<std::uint32_t>(r)].push_back(std::move(grads[r]));
    }
    Segment s;
    const std::size_t end = hooks.behind ? i + 1 : end_of_segment(i);
    const std::size_t next = gather(s, i, end, hooks);
    if (next == i) return by_itself(i, hooks), i + 1;
    run(s, i, next, hooks);
    return next;
  }

  static bool any(const std::vector<Tensor>& grads) {
    return std::any_of(grads.begin(), grads.end(), [](const Tensor& g) { return g.defined(); });
  }
  void capture(const Stop& stop, const std::vector<Tensor>& grads) {
    for (std::uint32_t c : stop.captured)
      if (Tensor g = captured_gradient(*stop.node, w_.captured[c].result, grads, w_.loc); g.defined())
        captured_[c] = std::move(g);
  }
  /// Does nothing go on from there?
  static bool is_end(const Stop& s) { return !s.needed || dynamic_cast<const AccumulateGrad*>(s.node.get()); }
  void at_end(std::size_t i) {
    const Stop& stop = course_.stops[i];
    std::vector<Tensor> grads = sums(i);
    run_tensor_hooks(*stop.node, grads, w_.loc);
    capture(stop, grads);
    if (!w_.retain_graph) stop.node->release();
    if (!dynamic_cast<const AccumulateGrad*>(stop.node.get())) return;
    const bool add = w_.accumulate && (w_.captured.empty() || !stop.captured.empty());
    if (add && grads[0].defined())
      leaves_.emplace_back(stop.node, as_gradient(grads[0], stop.node->results[0], *stop.node, w_.loc));
  }
  /// Where the program next does something, or so much has been kept that it is to go before more is made. Ends are met
  /// when the segment has run.
  std::size_t end_of_segment(std::size_t i) const {
    for (std::size_t nodes = 1; ++i < course_.stops.size();) {
      if (is_end(course_.stops[i])) continue;
      if (++nodes > kNodesOfSegment) break;
      if (const Hooks h = hooks_of(*course_.stops[i].node); h.before || h.behind) break;
    }
    return i;
  }

  /// Stops from i on, until `end` or the first that cannot tell of itself; gives where the segment ends.
  std::size_t gather(Segment& s, std::size_t i, std::size_t end, Hooks hooks) {
    std::vector<Shadow> told;
    std::map<std::size_t, std::size_t> of;  // by stop: which node of it
    std::size_t at = i;
    for (; at < end; ++at) {
      const Stop& stop = course_.stops[at];
      if (is_end(stop)) continue;
      Shadow own;
      try {
        if (!stop.node->tell(own)) break;
      } catch (const Error&) {  // it is for its derivative to find out whether it is asked for at all
        break;
      }
      of.emplace(at, s.nodes.size());
      s.nodes.push_back(stop.node);
      told.push_back(std::move(own));
    }
    if (at == i) return i;
    s.apart = hooks.behind;
    for (auto [k, node] : of) {
      for (auto& [result, gradients] : std::exchange(came_[k], {}))
        for (Tensor& g : gradients)
          s.roots.push_back({Segment::To::Inside, node, result}), s.of.tensors.push_back(std::move(g));
      if (k == i && hooks.before) continue;  // captured before its hooks
      for (std::uint32_t c : course_.stops[k].captured)
        s.captured.push_back({Segment::To::Inside, node, w_.captured[c].result}), s.given.push_back(w_.captured[c]);
    }
    std::map<std::pair<const Node*, std::uint32_t>, std::size_t> out;
    for (const auto& n : s.nodes) {
      auto& edges = s.edges.emplace_back();
      for (const Edge& e : n->next) {
        if (!course_.uses(e)) {
          edges.emplace_back();
        } else if (const auto in = of.find(course_.at(*e.node)); in != of.end()) {
          edges.push_back({Segment::To::Inside, in->second, e.result});
        } else {
          std::size_t& place = out.try_emplace({e.node.get(), e.result}, s.given.size()).first->second;
          if (s.apart) place = s.given.size();
          if (place == s.given.size()) s.given.push_back(e);
          edges.push_back({Segment::To::Out, place, 0});
        }
      }
    }
    tell(s, told);
    return at;
  }
  /// Its own part of the shadow, then the nodes'.
  static void tell(Segment& s, std::vector<Shadow>& nodes) {
    Shadow& all = s.of;
    auto to = [&](const Segment::To& t) {
      all.word(static_cast<std::uint64_t>(t.where) << 56 | static_cast<std::uint64_t>(t.index) << 16 | t.result);
    };
    all.word(s.apart), all.word(s.nodes.size()), all.word(s.roots.size()), all.word(s.captured.size()),
        all.word(s.given.size());
    for (const Segment::To& r : s.roots) to(r);
    for (const Segment::To& c : s.captured) to(c);
    for (std::size_t i = s.captured.size(); i < s.given.size(); ++i) all.add(meta_of(s.given[i]));
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      all.word(s.edges[i].size());
      for (const Segment::To& t : s.edges[i]) to(t);
      all.word(s.nodes[i]->results.size());
      for (const ResultMeta& m : s.nodes[i]->results) all.add(m);
      all.key.insert(all.key.end(), nodes[i].key.begin(), nodes[i].key.end());
      all.tensors.insert(all.tensors.end(), nodes[i].tensors.begin(), nodes[i].tensors.end());
      all.ints.insert(all.ints.end(), nodes[i].ints.begin(), nodes[i].ints.end());
      all.numbers.insert(all.numbers.end(), nodes[i].numbers.begin(), nodes[i].numbers.end());
    }
    nodes.clear();
  }

  void run(Segment& s, std::size_t from, std::size_t to, Hooks hooks) {
    if (!s.roots.empty()) {
      std::vector<Tensor> taken;  // by result
      for (std::size_t i = 0; hooks.behind && i < s.roots.size(); ++i) {
        taken.resize(std::max(taken.size(), std::max<std::size_t>(s.nodes[0]->results.size(), s.roots[i].result + 1)));
        Tensor& sum = taken[s.roots[i].result];
        sum = sum.defined() ? sum + s.of.tensors[i] : s.of.tensors[i];
      }
      s.last = !w_.retain_graph;
      std::vector<Tensor> given = run_(s);
      for (std::size_t i = 0; i < s.captured.size(); ++i)
        if (given[i].defined()) capture_at(s.given[i], given[i]);
      if (s.apart) {
        std::vector<Tensor> by_next;
        for (const Segment::To& t : s.edges[0])
          by_next.push_back(t.where == Segment::To::Out ? std::move(given[t.index]) : Tensor());
        run_hooks_behind(*s.nodes[0], by_next, taken);
        hand_on(*s.nodes[0], std::move(by_next));
      } else {
        for (std::size_t i = s.captured.size(); i < s.given.size(); ++i) bring(s.given[i], std::move(given[i]));
      }
    }
    s.of.tensors.clear();
    for (const auto& n : s.nodes)
      if (!w_.retain_graph) n->release();
    for (std::size_t i = from; i < to; ++i)
      if (is_end(course_.stops[i])) at_end(i);
  }
  void capture_at(const Edge& e, const Tensor& g) {
    for (std::uint32_t c : course_.stops[course_.at(*e.node)].captured)
      if (w_.captured[c].result == e.result) captured_[c] = g;
  }
  void hand_on(const Node& n, std::vector<Tensor> given) {
    for (std::size_t i = 0; i < given.size() && i < n.next.size(); ++i)
      if (n.next[i]) bring(n.next[i], std::move(given[i]));
  }

  /// A node that cannot tell of itself. Its hooks before it have been called.
  void by_itself(std::size_t i, Hooks hooks) {
    const Stop& stop = course_.stops[i];
    std::vector<Tensor> grads = sums(i);
    if (!hooks.before) capture(stop, grads);
    if (stop.needed && any(grads)) {
      const std::vector<Tensor> taken = hooks.behind ? grads : std::vector<Tensor>();
      std::vector<Tensor> given = apply(*stop.node, std::move(grads), course_.used_of(*stop.node));
      run_hooks_behind(*stop.node, given, taken);
      hand_on(*stop.node, std::move(given));
    }
    if (!w_.retain_graph) stop.node->release();
  }

  const Walk& w_;
  const std::function<std::vector<Tensor>(Segment&)>& run_;
  const Course course_;
  std::vector<Came> came_;  // by stop
  std::vector<Tensor> captured_;
  std::vector<std::pair<std::shared_ptr<Node>, Tensor>> leaves_;
};

}  // namespace

std::vector<Tensor> walk_by_segments(const Walk& w, const std::function<std::vector<Tensor>(Segment&)>& run) {
  const EngineScope scope(false);
  return BySegments(w, run)();
}

std::vector<Tensor> walk_copy(const Segment& s, Traced& traced) {
  Walk copy;
  for (std::size_t i = 0; i < s.roots.size(); ++i) copy.gradients.push_back(traced.tensor());
  std::vector<std::shared_ptr<Node>> copies, ends;
  for (std::size_t i = s.captured.size(); i < s.given.size(); ++i)
    ends.push_back(std::make_shared<End>(traced.meta(meta_of(s.given[i]))));
  for (const auto& n : s.nodes) {
    std::vector<ResultMeta> results;
    for (const ResultMeta& m : n->results) results.push_back(traced.meta(m));
    copies.push_back(n->copy(traced));
    Node& made = *copies.back();
    made.results = std::move(results);
    made.sequence = n->sequence, made.loc = n->loc, made.traced = n->traced;
  }
  auto of = [&](const Segment::To& t) {
    if (t.where == Segment::To::Nowhere) return Edge{};
    return t.where == Segment::To::Inside ? Edge{copies[t.index], t.result}
                                          : Edge{ends[t.index - s.captured.size()], 0};
  };
  for (std::size_t i = 0; i < copies.size(); ++i)
    for (const Segment::To& t : s.edges[i]) copies[i]->next.push_back(of(t));
  for (const Segment::To& r : s.roots) copy.roots.push_back(of(r));
  for (const Segment::To& c : s.captured) copy.captured.push_back(of(c));
  for (const auto& e : ends) copy.captured.push_back({e, 0});
  return copy.captured.empty() ? std::vector<Tensor>() : walk(copy);
}

}  // namespace reprise::autograd
