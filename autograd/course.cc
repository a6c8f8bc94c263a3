#include "autograd/course.h"

#include <algorithm>
#include <queue>

#include "graph/interpreter.h"
#include "tensor/impl.h"

namespace reprise::autograd {

bool is_outside(const Walk& w, const Node& n) { return w.of_trace && n.in_trace != current_trace; }

Course::Course(const Walk& w) {
  // Depth first without recursion; those behind a node come before it.
  struct Found {
    std::shared_ptr<Node> node;
    int waits_for = 0;
  };
  std::vector<Found> found;
  std::vector<std::size_t> behind_first;
  std::vector<std::pair<std::size_t, std::size_t>> stack;  // which of them, and its next edge
  auto enter = [&](const std::shared_ptr<Node>& n) {
    if (!at_.try_emplace(n.get(), found.size()).second) return;
    stack.emplace_back(found.size(), 0);
    found.push_back({n});
  };
  for (const Edge& root : w.roots) {
    enter(root.node);
    while (!stack.empty()) {
      auto& [at, next] = stack.back();
      const Node& n = *found[at].node;
      if (next == n.next.size() || is_outside(w, n)) {
        behind_first.push_back(at);
        stack.pop_back();
        continue;
      }
      const Edge& e = n.next[next++];
      if (!e) continue;
      enter(e.node);  // `at` and `next` may have moved
      ++found[at_.at(e.node.get())].waits_for;
    }
  }

  std::vector<Stop> all(found.size());
  for (std::size_t i = 0; i < w.captured.size(); ++i)
    if (auto at = at_.find(w.captured[i].node.get()); at != at_.end())
      all[at->second].captured.push_back(static_cast<std::uint32_t>(i));
  for (std::size_t i : behind_first) {
    all[i].needed = w.captured.empty();  // where gradients are captured, only what leads to them runs
    if (is_outside(w, *found[i].node)) continue;
    for (const Edge& e : found[i].node->next)
      if (e)
        if (const Stop& to = all[at_.at(e.node.get())]; to.needed || !to.captured.empty()) all[i].needed = true;
  }

  auto later = [&](std::size_t a, std::size_t b) { return found[a].node->sequence < found[b].node->sequence; };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> ready(later);
  auto ready_if_complete = [&](std::size_t i) {
    if (found[i].waits_for != 0) return;
    found[i].waits_for = -1;  // once
    ready.push(i);
  };
  for (const Edge& e : w.roots) ready_if_complete(at_.at(e.node.get()));
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t i = ready.top();
    ready.pop();
    order.push_back(i);
    if (is_outside(w, *found[i].node)) continue;
    for (const Edge& e : found[i].node->next) {
      if (!e) continue;
      const std::size_t to = at_.at(e.node.get());
      --found[to].waits_for;
      ready_if_complete(to);
    }
  }
  for (std::size_t i : order) {
    at_.at(found[i].node.get()) = stops.size();
    all[i].node = std::move(found[i].node);
    stops.push_back(std::move(all[i]));
  }
}

bool Course::uses(const Edge& e) const {
  if (!e) return false;
  const Stop& to = stops[at(*e.node)];
  return to.needed || !to.captured.empty();
}

std::vector<bool> Course::used_of(const Node& n) const {
  std::vector<bool> used;
  for (const Edge& e : n.next) used.push_back(uses(e));
  return used;
}

}  // namespace reprise::autograd
