#include "passes/placement/problem.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/errors.h"

namespace reprise::passes::placement {

namespace {
std::size_t idx(int i) { return static_cast<std::size_t>(i); }
}  // namespace

int Problem::add(std::vector<Cost> states) {
  REPRISE_CHECK(!states.empty(), "a variable has no state");
  states_.push_back(std::move(states));
  return variables() - 1;
}

void Problem::connect(int a, int b, PairCosts costs) {
  REPRISE_CHECK(a != b && costs->size() == states(a) * states(b));
  if (a > b) {
    auto turned = std::make_shared<std::vector<Cost>>(costs->size());
    for (std::size_t i = 0; i < states(a); ++i)
      for (std::size_t j = 0; j < states(b); ++j) (*turned)[j * states(a) + i] = (*costs)[i * states(b) + j];
    std::swap(a, b);
    costs = std::move(turned);
  }
  const auto [at, fresh] = edge_of_.emplace(std::pair(a, b), edges_.size());
  if (fresh) {
    edges_.push_back({a, b, std::move(costs)});
    return;
  }
  Edge& e = edges_[at->second];
  auto sum = std::make_shared<std::vector<Cost>>(*e.costs);
  for (std::size_t i = 0; i < sum->size(); ++i) (*sum)[i] += (*costs)[i];
  e.costs = std::move(sum);
}

void Problem::connect_self(int a, const PairCosts& costs) {
  for (std::size_t i = 0; i < states(a); ++i) states_[idx(a)][i] += (*costs)[i * states(a) + i];
}

Cost Problem::cost(const std::vector<int>& choice) const {
  Cost sum = 0;
  for (int v = 0; v < variables(); ++v) sum += costs(v)[idx(choice[idx(v)])];
  for (const Edge& e : edges_) sum += (*e.costs)[idx(choice[idx(e.a)]) * states(e.b) + idx(choice[idx(e.b)])];
  return sum;
}

namespace {

/// Costs over the states of several variables.
struct Factor {
  std::vector<int> vars;  ///< ascending; the last one's states are neighbours
  PairCosts costs;
};

/// Variable elimination.
class Elimination {
 public:
  explicit Elimination(const Problem& p) : p_(p), factors_of_(idx(p.variables())), gone_(idx(p.variables())) {
    for (int v = 0; v < p.variables(); ++v) put({{v}, std::make_shared<std::vector<Cost>>(p.costs(v))});
    for (const Problem::Edge& e : p.edges()) put({{e.a, e.b}, e.costs});
    neighbours_.resize(idx(p.variables()));
    for (const Problem::Edge& e : p.edges()) neighbours_[idx(e.a)].insert(e.b), neighbours_[idx(e.b)].insert(e.a);
  }

  /// Those whose neighbours are two at most, and are cheap to eliminate.
  void reduce(double most) {
    std::set<int> open;
    for (int v = 0; v < p_.variables(); ++v)
      if (!gone_[idx(v)]) open.insert(v);
    while (!open.empty()) {
      const int v = *open.begin();
      open.erase(open.begin());
      if (neighbours_[idx(v)].size() > 2 || entries(v, neighbours_[idx(v)]) > most) continue;
      const std::set<int> beside = neighbours_[idx(v)];
      eliminate(v);
      open.insert(beside.begin(), beside.end());
    }
  }

  /// An order for all that is left, and the entries that its tables have; nothing where they are more than `most`.
  std::vector<int> order(double most) const {
    std::vector<std::set<int>> around = neighbours_;
    std::vector<int> all = left(), order;
    std::vector<double> price(idx(p_.variables()));
    for (const int v : all) price[idx(v)] = entries(v, around[idx(v)]);
    double sum = 0;
    while (!all.empty()) {
      const auto best =
          std::min_element(all.begin(), all.end(), [&](int a, int b) { return price[idx(a)] < price[idx(b)]; });
      const int v = *best;
      all.erase(best);
      sum += price[idx(v)];
      if (sum > most || price[idx(v)] > most / 8) return {};
      order.push_back(v);
      for (const int a : around[idx(v)]) {
        for (const int b : around[idx(v)])
          if (a != b) around[idx(a)].insert(b);
        around[idx(a)].erase(v);
      }
      for (const int a : around[idx(v)]) price[idx(a)] = entries(a, around[idx(a)]);
    }
    return order;
  }

  std::vector<int> left() const {
    std::vector<int> all;
    for (int v = 0; v < p_.variables(); ++v)
      if (!gone_[idx(v)]) all.push_back(v);
    return all;
  }

  void eliminate(int v) {
    const std::set<int> around = neighbours_[idx(v)];
    const std::vector<int> vars(around.begin(), around.end());
    std::vector<const Factor*> of;
    for (const int f : factors_of_[idx(v)]) of.push_back(&factors_[idx(f)]);
    // Strides of each factor by variable of the new table, then by v.
    const std::size_t n = vars.size();
    std::vector<std::vector<std::size_t>> strides(of.size(), std::vector<std::size_t>(n + 1, 0));
    for (std::size_t f = 0; f < of.size(); ++f) {
      std::size_t stride = 1;
      for (std::size_t i = of[f]->vars.size(); i-- > 0;) {
        const int x = of[f]->vars[i];
        strides[f][x == v ? n : idx(static_cast<int>(std::find(vars.begin(), vars.end(), x) - vars.begin()))] = stride;
        stride *= p_.states(x);
      }
    }
    std::size_t total = 1;
    for (const int x : vars) total *= p_.states(x);
    auto table = std::make_shared<std::vector<Cost>>(total);
    Gone gone{v, vars, std::vector<std::uint16_t>(total)};
    std::vector<std::size_t> state(n, 0), at(of.size(), 0);
    const std::size_t of_v = p_.states(v);
    for (std::size_t t = 0; t < total; ++t) {
      Cost best = std::numeric_limits<Cost>::max();
      for (std::size_t s = 0; s < of_v; ++s) {
        Cost sum = 0;
        for (std::size_t f = 0; f < of.size(); ++f) sum += (*of[f]->costs)[at[f] + s * strides[f][n]];
        if (sum < best) best = sum, gone.choice[t] = static_cast<std::uint16_t>(s);
      }
      (*table)[t] = best;
      for (std::size_t i = n; i-- > 0;) {
        for (std::size_t f = 0; f < of.size(); ++f) at[f] += strides[f][i];
        if (++state[i] < p_.states(vars[i])) break;
        for (std::size_t f = 0; f < of.size(); ++f) at[f] -= strides[f][i] * p_.states(vars[i]);
        state[i] = 0;
      }
    }
    for (const int f : std::set<int>(factors_of_[idx(v)])) drop(f);
    gone_[idx(v)] = true;
    for (const int a : around) {
      for (const int b : around)
        if (a != b) neighbours_[idx(a)].insert(b);
      neighbours_[idx(a)].erase(v);
    }
    if (vars.empty()) constant_ += (*table)[0];
    else put({vars, std::move(table)});
    order_.push_back(std::move(gone));
  }

  /// What is left, pairs at most; its variables in the order of left().
  Problem rest() const {
    Problem q;
    std::map<int, int> number;
    for (const int v : left()) number[v] = q.add(std::vector<Cost>(p_.states(v), 0));
    for (const Factor& f : factors_) {
      if (f.vars.size() == 2) q.connect(number.at(f.vars[0]), number.at(f.vars[1]), f.costs);
      if (f.vars.size() != 1) continue;
      const int v = number.at(f.vars[0]);
      auto diagonal = std::make_shared<std::vector<Cost>>(q.states(v) * q.states(v), 0);
      for (std::size_t i = 0; i < q.states(v); ++i) (*diagonal)[i * q.states(v) + i] = (*f.costs)[i];
      q.connect_self(v, diagonal);
    }
    return q;
  }

  /// The states of what was eliminated, by those of the rest.
  void fill_in(std::vector<int>& choice) const {
    for (std::size_t i = order_.size(); i-- > 0;) {
      const Gone& g = order_[i];
      std::size_t t = 0;
      for (const int x : g.vars) t = t * p_.states(x) + idx(choice[idx(x)]);
      choice[idx(g.v)] = g.choice[t];
    }
  }
  Cost constant() const { return constant_; }

 private:
  struct Gone {
    int v;
    std::vector<int> vars;
    std::vector<std::uint16_t> choice;
  };
  double entries(int v, const std::set<int>& around) const {
    double n = static_cast<double>(p_.states(v));
    for (const int x : around) n *= static_cast<double>(p_.states(x));
    return n;
  }
  void put(Factor f) {
    for (const int v : f.vars) factors_of_[idx(v)].insert(static_cast<int>(factors_.size()));
    factors_.push_back(std::move(f));
  }
  void drop(int f) {
    for (const int v : factors_[idx(f)].vars) factors_of_[idx(v)].erase(f);
    factors_[idx(f)] = {};
  }

  const Problem& p_;
  std::vector<Factor> factors_;
  std::vector<std::set<int>> factors_of_;
  std::vector<std::set<int>> neighbours_;
  std::vector<bool> gone_;
  std::vector<Gone> order_;
  Cost constant_ = 0;
};

}  // namespace

Solution minimize(const Problem& p, const SolverLimits& limits) {
  for (int v = 0; v < p.variables(); ++v) REPRISE_CHECK(p.states(v) < 65536, "a variable has too many states");
  Elimination e(p);
  Solution s;
  s.choice.assign(idx(p.variables()), 0);
  if (limits.table_entries > 0) e.reduce(limits.table_entries / 100);
  const std::vector<int> left = e.left();
  const std::vector<int> order = e.order(limits.table_entries);
  if (order.size() == left.size()) {
    for (const int v : order) e.eliminate(v);
    s.exact = true;
  } else {
    const Problem rest = e.rest();
    const Solution of_rest = pass_messages(rest, limits);
    for (std::size_t i = 0; i < left.size(); ++i) s.choice[idx(left[i])] = of_rest.choice[i];
    s.bound = of_rest.bound + e.constant();
    s.core = static_cast<int>(left.size());
    s.iterations = of_rest.iterations;
  }
  e.fill_in(s.choice);
  s.cost = p.cost(s.choice);
  if (s.exact) s.bound = s.cost;
  s.exact = s.bound == s.cost;
  return s;
}

}  // namespace reprise::passes::placement
