// What changes where one variable of a plan is chosen otherwise.
#include <algorithm>

#include "passes/placement/choices.h"

namespace reprise::passes::placement {

namespace {
std::size_t idx(int i) { return static_cast<std::size_t>(i); }
}  // namespace

Cost ChoiceModel::cost_of(const Link& l, int from_state, int to_state) const {
  return (*l.costs)[idx(from_state) * choices_[idx(l.to)]->all.size() + idx(to_state)];
}

Cost ChoiceModel::around(const std::vector<int>& choice, int v, int state) const {
  Cost cost = choices_[idx(v)]->all[idx(state)].compute;
  if (!output_costs_[idx(v)].empty()) cost += output_costs_[idx(v)][idx(state)];
  for (const std::size_t i : links_of_[idx(v)]) {
    const Link& l = links_[i];
    cost += cost_of(l, l.from == v ? state : choice[idx(l.from)], l.to == v ? state : choice[idx(l.to)]);
  }
  return cost;
}

void ChoiceModel::save_memory(std::vector<int>& choice) const {
  const auto bytes = [&](int v, int state) {
    const Choices& c = *choices_[idx(v)];
    std::int64_t sum = 0;
    for (std::size_t r = 0; r < c.results.size(); ++r) sum += c.results[r]->local_bytes(c.all[idx(state)].results[r]);
    return sum;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (int v = 0; v < static_cast<int>(choices_.size()); ++v) {
      const int before = choice[idx(v)];
      const Cost now = around(choice, v, before);
      for (int s = 0; s < static_cast<int>(choices_[idx(v)]->all.size()); ++s)
        if (bytes(v, s) < bytes(v, choice[idx(v)]) && around(choice, v, s) == now) choice[idx(v)] = s, changed = true;
    }
  }
}

std::vector<Expensive> ChoiceModel::most_expensive(const std::vector<int>& choice) const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const Link& l = links_[i];
    if (l.operand != SIZE_MAX && cost_of(l, choice[idx(l.from)], choice[idx(l.to)]) > 0) order.push_back(i);
  }
  const auto now = [&](std::size_t i) {
    return cost_of(links_[i], choice[idx(links_[i].from)], choice[idx(links_[i].to)]);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return now(a) > now(b); });
  if (order.size() > 5) order.resize(5);
  std::vector<Expensive> all;
  for (const std::size_t i : order) {
    const Link& l = links_[i];
    Expensive e{
        static_cast<std::uint32_t>(-1 - order_[idx(l.to)]), static_cast<std::uint32_t>(l.operand), now(i), {}, {}, 0};
    const int made = choices_[idx(l.from)]->all[idx(choice[idx(l.from)])].results[l.result];
    const int taken = choices_[idx(l.to)]->all[idx(choice[idx(l.to)])].operands[l.operand];
    const auto consider = [&](int v, Expensive::Without how, int wanted, auto&& placed) {
      const Choices& c = *choices_[idx(v)];
      for (int s = 0; s < static_cast<int>(c.all.size()); ++s) {
        if (placed(c.all[idx(s)]) != wanted) continue;
        const Cost change = around(choice, v, s) - around(choice, v, choice[idx(v)]);
        if (e.without != Expensive::Without::Nothing && change >= e.change) continue;
        e.without = how, e.change = change;
        e.placement = choices_[idx(l.from)]->results[l.result]->at(wanted);
      }
    };
    consider(l.from, Expensive::Without::Producer, taken, [&](const Choice& c) { return c.results[l.result]; });
    consider(l.to, Expensive::Without::Consumer, made, [&](const Choice& c) { return c.operands[l.operand]; });
    all.push_back(std::move(e));
  }
  return all;
}

}  // namespace reprise::passes::placement
