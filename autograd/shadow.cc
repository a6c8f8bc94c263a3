#include "autograd/shadow.h"

#include <algorithm>
#include <unordered_map>

#include "autograd/state.h"
#include "reprise/autograd.h"

namespace reprise::autograd {

void Shadow::add(const ResultMeta& m) {
  word(static_cast<std::uint64_t>(m.dtype) << 32 | static_cast<std::uint64_t>(m.device.type) << 24 | static_cast<std::uint64_t>(m.device.index) << 16 | m.sizes.size());
  for (Int s : m.sizes) ints.push_back(s);
}

void Shadow::add(const Call& c) {
  word(static_cast<std::uint64_t>(c.op.id) << 1 | c.inplace);
  for (const Call::Arg& a : c.args) {
    word(a.index());
    if (auto* m = std::get_if<ResultMeta>(&a)) add(*m);
    if (auto* l = std::get_if<std::vector<ResultMeta>>(&a)) {
      word(l->size());
      for (const ResultMeta& m : *l) add(m);
    }
    if (auto* i = std::get_if<Int>(&a)) ints.push_back(*i);
    if (auto* l = std::get_if<Ints>(&a)) {
      word(l->size());
      for (Int i : *l) ints.push_back(i);
    }
    if (auto* s = std::get_if<Scalar>(&a)) {
      word(static_cast<std::uint64_t>(s->kind()));
      if (s->kind() == Scalar::Kind::Bool) word(static_cast<std::uint64_t>(s->to_double()));
      else numbers.push_back(*s);
    }
    if (auto* b = std::get_if<bool>(&a)) word(*b);
    if (auto* t = std::get_if<DType>(&a)) word(static_cast<std::uint64_t>(*t));
    if (auto* s = std::get_if<std::string>(&a)) word(*s);
  }
}

void Shadow::add(const Saved& s, Node& of) {
  const NoGradScope off;
  const Tensor t = s.unpack(of);  // throws what a walk would
  tensors.push_back(t.defined() ? t.detach() : t);
}

ResultMeta Traced::meta(const ResultMeta& of) {
  ResultMeta m{{}, of.dtype, of.device};
  for (std::size_t i = 0; i < of.sizes.size(); ++i) m.sizes.push_back(integer());
  return m;
}

std::shared_ptr<const Call> Traced::call(const Call& of) {
  auto made = std::make_shared<Call>(of);
  for (Call::Arg& a : made->args) {
    if (auto* m = std::get_if<ResultMeta>(&a)) *m = meta(*m);
    if (auto* l = std::get_if<std::vector<ResultMeta>>(&a))
      for (ResultMeta& m : *l) m = meta(m);
    if (auto* i = std::get_if<Int>(&a)) *i = integer();
    if (auto* l = std::get_if<Ints>(&a))
      for (Int& i : *l) i = integer();
    if (auto* s = std::get_if<Scalar>(&a); s && s->kind() != Scalar::Kind::Bool) *s = number();
  }
  return made;
}

namespace {
/// Where gradients of a leaf end, in the copy.
struct End final : Node {
  explicit End(ResultMeta m) : Node({}) {
    sequence = ~std::uint64_t{0};
    results = {std::move(m)};
  }
  std::string name() const override { return "end"; }
  std::vector<Tensor> apply(std::vector<Tensor>, Needed) override { return {}; }
};
}  // namespace

std::unique_ptr<WalkShadow> shadow_of(const Walk& w) {
  auto shadow = std::make_unique<WalkShadow>();
  if (w.create_graph || current_trace || anomaly()) return nullptr;
  std::unordered_map<const Node*, std::uint64_t> numbers;
  std::vector<const Node*> stack;
  auto enter = [&](const std::shared_ptr<Node>& n) {
    if (!numbers.try_emplace(n.get(), 0).second) return;
    shadow->nodes.push_back(n);
    stack.push_back(n.get());
  };
  for (const Edge& e : w.roots) enter(e.node);
  while (!stack.empty()) {
    const Node& n = *stack.back();
    stack.pop_back();
    for (const Edge& e : n.next)
      if (e) enter(e.node);
  }
  auto is_leaf = [](const Node& n) { return dynamic_cast<const AccumulateGrad*>(&n) != nullptr; };
  std::stable_sort(shadow->nodes.begin(), shadow->nodes.end(), [](const auto& a, const auto& b) { return a->sequence > b->sequence; });
  for (std::size_t i = 0; i < shadow->nodes.size(); ++i) numbers[shadow->nodes[i].get()] = i;
  Shadow& s = shadow->of;
  auto edge = [&](const Edge& e) { s.word(e ? numbers.at(e.node.get()) << 16 | e.result : ~std::uint64_t{0}); };
  s.word(w.accumulate), s.word(w.roots.size()), s.word(w.captured.size());
  for (const Edge& e : w.roots) edge(e);
  for (const Edge& e : w.captured) {
    if (e.node && !numbers.count(e.node.get())) s.word(~std::uint64_t{1});
    else edge(e);
  }
  for (const Tensor& g : w.gradients) s.tensors.push_back(g.detach());
  for (const auto& n : shadow->nodes) {
    if (n->hooks && !n->hooks->all().empty()) return nullptr;
    s.word(n->next.size());
    for (const Edge& e : n->next) edge(e);
    s.word(n->results.size());
    for (const ResultMeta& m : n->results) s.add(m);
    if (is_leaf(*n)) {
      const State* state = state_of(static_cast<const AccumulateGrad&>(*n).leaf);
      if (!state || (state->hooks && !state->hooks->all().empty())) return nullptr;
      s.word(0);
      if (w.captured.empty()) shadow->wanted.push_back({n, 0});
      continue;
    }
    try {
      if (!n->tell(s)) return nullptr;
    } catch (const Error&) {  // it is the engine that finds out whether its gradients are asked for
      return nullptr;
    }
  }
  if (!w.captured.empty()) shadow->wanted = w.captured;
  return shadow;
}

std::vector<Tensor> walk_copy(const Walk& w, const WalkShadow& shadow, Traced& traced) {
  std::unordered_map<const Node*, std::shared_ptr<Node>> copies;
  Walk copy;
  copy.loc = w.loc;
  for (std::size_t i = 0; i < w.gradients.size(); ++i) copy.gradients.push_back(traced.tensor());
  for (const auto& n : shadow.nodes) {
    std::vector<ResultMeta> results;
    for (const ResultMeta& m : n->results) results.push_back(traced.meta(m));
    std::shared_ptr<Node> made = dynamic_cast<const AccumulateGrad*>(n.get()) ? std::make_shared<End>(results.at(0)) : n->copy(traced);
    made->results = std::move(results);
    made->sequence = n->sequence;
    made->loc = n->loc;
    made->traced = n->traced;
    copies.emplace(n.get(), std::move(made));
  }
  auto of = [&](const Edge& e) {
    const auto at = e.node ? copies.find(e.node.get()) : copies.end();
    return at == copies.end() ? Edge{} : Edge{at->second, e.result};
  };
  for (const auto& n : shadow.nodes)
    for (const Edge& e : n->next) copies.at(n.get())->next.push_back(of(e));
  for (const Edge& e : w.roots) copy.roots.push_back(of(e));
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < shadow.wanted.size(); ++i)
    if (Edge e = of(shadow.wanted[i])) copy.captured.push_back(std::move(e)), places.push_back(i);
  std::vector<Tensor> made(shadow.wanted.size());
  if (copy.captured.empty()) return made;
  std::vector<Tensor> found = walk(copy);
  for (std::size_t i = 0; i < places.size(); ++i) made[places[i]] = std::move(found[i]);
  return made;
}

namespace {
constinit thread_local const Through* t_through = nullptr;
}  // namespace
const Through* exchange_through(const Through* t) { return std::exchange(t_through, t); }

}  // namespace reprise::autograd
