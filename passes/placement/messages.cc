// Sequential tree-reweighted message passing (Kolmogorov, 2006) with its lower bound, and local search.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "passes/placement/problem.h"

namespace reprise::passes::placement {

namespace {

std::size_t idx(int i) { return static_cast<std::size_t>(i); }

// Note [The bound]
// Each edge has one message, at any time towards one of its ends; the costs of a variable with all messages that come
// in are D, and an edge's costs are less by its message, so that the sum stays what it was. Going down through the
// variables, s sends to each earlier r what is least of gamma * D(s) - message(r -> s) + costs(r, s), and `delta` is
// taken off so that its least is 0. gamma is 1 / max(earlier, later neighbours): all that s gives away is at most its
// D, which is not negative once its least c was taken off. So no choice costs less than the sum of all c and delta.

class Messages {
 public:
  explicit Messages(const Problem& p)
      : p_(p), later_(idx(p.variables())), earlier_(later_), message_(p.edges().size()) {
    for (std::size_t e = 0; e < p.edges().size(); ++e) {
      later_[idx(p.edges()[e].a)].push_back(static_cast<int>(e));
      earlier_[idx(p.edges()[e].b)].push_back(static_cast<int>(e));
      message_[e].assign(p.states(p.edges()[e].a), 0);  // towards a: the first pass goes up
    }
  }

  /// One pass up, which chooses states on its way, and one down. Gives the bound.
  double iterate(std::vector<int>& choice) {
    for (int s = 0; s < p_.variables(); ++s) {
      choose(s, choice);
      sums(s);
      const double gamma = gamma_of(s);
      for (const int e : later_[idx(s)]) send(e, true, gamma);
    }
    double bound = 0;
    for (int s = p_.variables(); s-- > 0;) {
      sums(s);
      const double least = *std::min_element(d_.begin(), d_.end());
      for (double& x : d_) x -= least;
      bound += least;
      const double gamma = gamma_of(s);
      for (const int e : earlier_[idx(s)]) bound += send(e, false, gamma);
    }
    return bound;
  }

 private:
  double gamma_of(int s) const {
    return 1.0 / static_cast<double>(std::max<std::size_t>({later_[idx(s)].size(), earlier_[idx(s)].size(), 1}));
  }
  void sums(int s) {
    d_.assign(p_.costs(s).begin(), p_.costs(s).end());
    for (const auto* edges : {&later_[idx(s)], &earlier_[idx(s)]})
      for (const int e : *edges)
        for (std::size_t i = 0; i < d_.size(); ++i) d_[i] += message_[idx(e)][i];
  }
  /// From the end that d_ is of to the other one.
  double send(int e, bool up, double gamma) {
    const Problem::Edge& edge = p_.edges()[idx(e)];
    std::vector<double>& m = message_[idx(e)];
    const std::size_t na = p_.states(edge.a), nb = p_.states(edge.b);
    from_.resize(d_.size());
    for (std::size_t i = 0; i < d_.size(); ++i) from_[i] = gamma * d_[i] - m[i];
    m.assign(up ? nb : na, std::numeric_limits<double>::infinity());
    const Cost* costs = edge.costs->data();
    for (std::size_t i = 0; i < na; ++i, costs += nb) {
      if (up) {
        const double base = from_[i];
        for (std::size_t j = 0; j < nb; ++j) m[j] = std::min(m[j], base + static_cast<double>(costs[j]));
      } else {
        double least = m[i];
        for (std::size_t j = 0; j < nb; ++j) least = std::min(least, from_[j] + static_cast<double>(costs[j]));
        m[i] = least;
      }
    }
    const double delta = *std::min_element(m.begin(), m.end());
    for (double& x : m) x -= delta;
    return delta;
  }
  void choose(int s, std::vector<int>& choice) {
    d_.assign(p_.costs(s).begin(), p_.costs(s).end());
    for (const int e : later_[idx(s)])
      for (std::size_t i = 0; i < d_.size(); ++i) d_[i] += message_[idx(e)][i];
    for (const int e : earlier_[idx(s)]) {
      const Problem::Edge& edge = p_.edges()[idx(e)];
      const Cost* costs = edge.costs->data() + idx(choice[idx(edge.a)]) * d_.size();
      for (std::size_t i = 0; i < d_.size(); ++i) d_[i] += static_cast<double>(costs[i]);
    }
    choice[idx(s)] = static_cast<int>(std::min_element(d_.begin(), d_.end()) - d_.begin());
  }

  const Problem& p_;
  std::vector<std::vector<int>> later_, earlier_;
  std::vector<std::vector<double>> message_;
  std::vector<double> d_, from_;
};

/// Chooses anew, exactly, for variables that together are a forest, while all others stay.
class LocalSearch {
 public:
  LocalSearch(const Problem& p, std::vector<int>& choice) : p_(p), choice_(choice), edges_(idx(p.variables())) {
    for (std::size_t e = 0; e < p.edges().size(); ++e) {
      edges_[idx(p.edges()[e].a)].push_back(static_cast<int>(e));
      edges_[idx(p.edges()[e].b)].push_back(static_cast<int>(e));
    }
  }

  /// Variables enter the forest in this order.
  void run(const std::vector<int>& order) {
    std::vector<int> root(idx(p_.variables()), -1);  // union-find; -1: not in the forest
    std::vector<bool> in(idx(p_.variables()));
    const auto find = [&](int v) {
      while (root[idx(v)] != v) v = root[idx(v)] = root[idx(root[idx(v)])];
      return v;
    };
    for (const int v : order) {
      std::vector<int> trees;
      for (const int e : edges_[idx(v)])
        if (const int w = other(e, v); in[idx(w)]) trees.push_back(find(w));
      std::sort(trees.begin(), trees.end());
      if (std::adjacent_find(trees.begin(), trees.end()) != trees.end()) continue;
      root[idx(v)] = v, in[idx(v)] = true;
      for (const int t : trees) root[idx(t)] = v;
    }
    std::vector<bool> seen(idx(p_.variables()));
    for (const int v : order)
      if (in[idx(v)] && !seen[idx(v)]) solve_tree(v, in, seen);
  }

 private:
  int other(int e, int v) const {
    const Problem::Edge& edge = p_.edges()[idx(e)];
    return edge.a == v ? edge.b : edge.a;
  }
  Cost pair(int e, int v, std::size_t of_v, std::size_t of_other) const {
    const Problem::Edge& edge = p_.edges()[idx(e)];
    return (*edge.costs)[edge.a == v ? of_v * p_.states(edge.b) + of_other : of_other * p_.states(edge.b) + of_v];
  }

  void solve_tree(int top, const std::vector<bool>& in, std::vector<bool>& seen) {
    struct Visit {
      int v, edge, parent;
      std::vector<Cost> costs;
      std::vector<int> best;  // by the parent's state
    };
    std::vector<Visit> order{{top, -1, -1, {}, {}}};
    seen[idx(top)] = true;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const int v = order[i].v;
      order[i].costs = p_.costs(v);
      for (const int e : edges_[idx(v)]) {
        const int w = other(e, v);
        if (in[idx(w)]) {
          if (!seen[idx(w)]) seen[idx(w)] = true, order.push_back({w, e, static_cast<int>(i), {}, {}});
          continue;
        }
        for (std::size_t s = 0; s < order[i].costs.size(); ++s)
          order[i].costs[s] += pair(e, v, s, idx(choice_[idx(w)]));
      }
    }
    for (std::size_t i = order.size(); i-- > 1;) {
      Visit& x = order[i];
      Visit& up = order[idx(x.parent)];
      x.best.resize(up.costs.size());
      for (std::size_t t = 0; t < up.costs.size(); ++t) {
        Cost least = std::numeric_limits<Cost>::max();
        for (std::size_t s = 0; s < x.costs.size(); ++s)
          if (const Cost c = x.costs[s] + pair(x.edge, x.v, s, t); c < least)
            least = c, x.best[t] = static_cast<int>(s);
        up.costs[t] += least;
      }
    }
    choice_[idx(top)] =
        static_cast<int>(std::min_element(order[0].costs.begin(), order[0].costs.end()) - order[0].costs.begin());
    for (std::size_t i = 1; i < order.size(); ++i)
      choice_[idx(order[i].v)] = order[i].best[idx(choice_[idx(order[idx(order[i].parent)].v)])];
  }

  const Problem& p_;
  std::vector<int>& choice_;
  std::vector<std::vector<int>> edges_;
};

void search(const Problem& p, std::vector<int>& choice, std::mt19937& rng, int rounds) {
  LocalSearch local(p, choice);
  std::vector<int> order(idx(p.variables()));
  std::iota(order.begin(), order.end(), 0);
  Cost now = p.cost(choice);
  for (int idle = 0; idle < rounds;) {
    local.run(order);
    const Cost then = p.cost(choice);
    idle = then < now ? 0 : idle + 1;
    now = then;
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng() % i]);
  }
}

}  // namespace

Solution pass_messages(const Problem& p, const SolverLimits& limits) {
  Messages messages(p);
  std::mt19937 rng(1);
  Solution best;
  best.choice.assign(idx(p.variables()), 0);
  std::vector<int> choice = best.choice;
  best.cost = p.cost(choice);
  double bound = 0, long_ago = -1;
  for (int i = 0; i < limits.iterations; ++i) {
    bound = std::max(bound, messages.iterate(choice));
    best.iterations = i + 1;
    const bool last = i + 1 == limits.iterations;
    if (i % 20 == 19 || last) search(p, choice, rng, last ? 8 : 2);
    if (const Cost c = p.cost(choice); c < best.cost) best.cost = c, best.choice = choice;
    if (static_cast<double>(best.cost) - bound <= limits.gap * static_cast<double>(best.cost)) break;
    if (i % 40 == 39) {
      if (bound - long_ago <= 1e-6 * bound) break;
      long_ago = bound;
    }
  }
  choice = best.choice;
  search(p, choice, rng, 8);
  if (const Cost c = p.cost(choice); c < best.cost) best.cost = c, best.choice = choice;
  // Rounding of doubles: sums of at most some 10^5 terms below 2^53.
  const double slack = 1e-9 * std::abs(bound) + 1;
  best.bound = std::min(best.cost, static_cast<Cost>(std::floor(bound - slack)));
  best.bound = std::max<Cost>(best.bound, 0);
  return best;
}

}  // namespace reprise::passes::placement
