#include "import/onnx/trees.h"

#include <algorithm>
#include <cmath>

#include "reprise/regions.h"

namespace reprise::onnx {
namespace {

using List = std::vector<std::int64_t>;
constexpr std::int64_t kSmall = std::int64_t{1} << 22;  ///< weights that a table may have whatever the file says
constexpr std::int64_t kMostDepth = 10'000;
constexpr std::int64_t kUnrolled = 24;  ///< steps; deeper trees are a loop

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

Tensor compared(Compare how, const Tensor& v, const Tensor& t) {
  switch (how) {
    case Compare::Leq: return v <= t;
    case Compare::Lt: return v < t;
    case Compare::Gte: return v >= t;
    case Compare::Gt: return v > t;
    case Compare::Eq: return v == t;
    default: return v != t;
  }
}
/// Where the comparison holds: for smaller values, equal ones, larger ones, and NaN.
struct Outcomes {
  bool smaller, equal, larger, nan;
};
Outcomes outcomes(const Branch& b) {
  const bool nan = b.missing_is_true || b.compare == Compare::Neq;
  if (std::isnan(b.threshold)) {
    const bool other = b.compare == Compare::Neq;
    return {other, other, other, nan};
  }
  switch (b.compare) {
    case Compare::Leq: return {true, true, false, nan};
    case Compare::Lt: return {true, false, false, nan};
    case Compare::Gte: return {false, true, true, nan};
    case Compare::Gt: return {false, false, true, nan};
    case Compare::Eq: return {false, true, false, nan};
    default: return {true, false, true, nan};
  }
}

}  // namespace

Trees::Trees(const Call& c, Forest f, Aggregate aggregate) : aggregate_(aggregate), targets_(f.targets) {
  f.leaves.emplace_back();  // one that says nothing
  check(c, f);
  make_leaves(c, f);
  make_branches(f);
}

/// Numbers are inside of the tables, and no branch leads back to itself. Finds the depth.
void Trees::check(const Call& c, const Forest& f) {
  leaf_count_ = static_cast<std::int64_t>(f.leaves.size());
  branch_count_ = static_cast<std::int64_t>(f.branches.size());
  trees_ = static_cast<std::int64_t>(f.roots.size());
  if (f.roots.empty()) damaged(c, "has no trees");
  constexpr std::int64_t kMostNodes = INT32_MAX / 4;  // places by outcomes are int32
  if (leaf_count_ + branch_count_ > kMostNodes) c.bad("has more than ", kMostNodes, " nodes");
  if (targets_ < 1) damaged(c, "has ", targets_, " targets");
  for (const Branch& b : f.branches) {
    if (b.feature < 0 || b.feature > INT32_MAX) damaged(c, "a node compares feature ", b.feature);
    features_ = std::max(features_, b.feature + 1);
  }
  for (const auto& leaf : f.leaves)
    for (const Weight& w : leaf)
      if (w.target < 0 || w.target >= targets_)
        damaged(c, "a leaf has a weight of target ", w.target, ", and there are ", targets_);
  // Depth first, with a stack of its own. A branch is open while what is below it is visited.
  List height(f.branches.size(), -1), open;
  std::vector<bool> is_open(f.branches.size());
  const auto below = [&](std::int64_t id) { return id < 0 ? 0 : height[at(id)]; };
  for (std::int64_t root : f.roots) {
    if (root >= 0 && height[at(root)] < 0) open.push_back(root);
    while (!open.empty()) {
      const std::int64_t id = open.back();
      const Branch& b = f.branches[at(id)];
      is_open[at(id)] = true;
      bool ready = true;
      for (std::int64_t next : {b.on_true, b.on_false}) {
        if (below(next) >= 0) continue;
        if (is_open[at(next)]) damaged(c, "the nodes of a tree make a cycle");
        open.push_back(next), ready = false;
        break;
      }
      if (!ready) continue;
      height[at(id)] = 1 + std::max(below(b.on_true), below(b.on_false));
      is_open[at(id)] = false;
      open.pop_back();
    }
    depth_ = std::max(depth_, below(root));
  }
  if (depth_ > kMostDepth) c.bad("a tree is ", depth_, " nodes deep; at most ", kMostDepth, " are supported");
}

/// Of each tree the targets that its leaves have weights of; of how many leaves, and whether these are all. Nothing
/// where trees share so many nodes that finding it takes too long.
std::optional<std::vector<Trees::Spoken>> Trees::spoken(const Forest& f) const {
  std::vector<Spoken> all;
  List seen(f.branches.size(), -1), open;
  std::int64_t left = 4 * (branch_count_ + leaf_count_ + trees_);
  for (std::int64_t tree = 0; tree < trees_; ++tree) {
    Spoken& s = all.emplace_back();
    open.assign(1, f.roots[at(tree)]);
    while (!open.empty()) {
      const std::int64_t id = open.back();
      open.pop_back();
      if (--left < 0) return std::nullopt;
      if (id >= 0) {
        if (std::exchange(seen[at(id)], tree) == tree) continue;
        open.push_back(f.branches[at(id)].on_true), open.push_back(f.branches[at(id)].on_false);
        continue;
      }
      List told;
      for (const Weight& w : f.leaves[at(~id)]) told.push_back(w.target);
      std::sort(told.begin(), told.end());
      told.erase(std::unique(told.begin(), told.end()), told.end());
      ++s.leaves;
      for (std::int64_t t : told) ++s.times[t];
    }
  }
  return all;
}

/// Trees whose leaves all speak of one target are put into groups, one for each target, where that takes no more than
/// about twice as many trees: then a leaf has one weight.
void Trees::group(const Call& c, const Forest& f, const std::optional<std::vector<Spoken>>& spoken) {
  std::vector<List> groups;
  std::int64_t size = 1;
  bool one_each = targets_ == 1 || (spoken && targets_ <= 2 * trees_ + 2);
  for (std::int64_t tree = 0; one_each && targets_ > 1 && tree < trees_; ++tree)
    one_each = (*spoken)[at(tree)].times.size() <= 1;
  if (one_each) {
    groups.resize(at(targets_));
    for (std::int64_t tree = 0; tree < trees_; ++tree) {
      const bool any = targets_ > 1 && !(*spoken)[at(tree)].times.empty();
      List& g = groups[any ? at((*spoken)[at(tree)].times.begin()->first) : 0];
      g.push_back(f.roots[at(tree)]);
      size = std::max(size, static_cast<std::int64_t>(g.size()));
    }
    if (size * targets_ <= 2 * trees_ + targets_ + 2) {
      const std::int64_t silent = ~(leaf_count_ - 1);
      for (List& g : groups) {
        g.resize(at(size), silent);
        for (std::int64_t root : g) roots_.push_back(place(root));
      }
      grouped_ = size;
      return;
    }
  }
  // A table of all targets holds no more than a multiple of the file's weights.
  std::int64_t weights = 0;
  for (const auto& leaf : f.leaves) weights += static_cast<std::int64_t>(leaf.size());
  const std::int64_t most = std::max(kSmall, 32 * weights);
  if (leaf_count_ > most / targets_)
    c.bad("has ", leaf_count_, " leaves of ", targets_, " targets; at most ", most, " weights are supported");
}

void Trees::make_leaves(const Call& c, const Forest& f) {
  const std::optional<std::vector<Spoken>> each = spoken(f);
  group(c, f, each);
  if (!grouped_)
    for (std::int64_t root : f.roots) roots_.push_back(place(root));

  const std::int64_t columns = grouped_ ? 1 : targets_;
  const double nothing = aggregate_ == Aggregate::Min ? HUGE_VAL : aggregate_ == Aggregate::Max ? -HUGE_VAL : 0;
  std::vector<double> weights(at(leaf_count_ * columns), nothing);
  std::vector<float> has(weights.size());
  scored_.assign(at(targets_), Scored::Never);
  for (std::size_t i = 0; i < f.leaves.size(); ++i)
    for (const Weight& w : f.leaves[i]) {
      const std::size_t k = i * at(columns) + (grouped_ ? 0 : at(w.target));
      double& to = weights[k];
      if (aggregate_ == Aggregate::Min) to = std::min(to, w.weight);
      else if (aggregate_ == Aggregate::Max) to = std::max(to, w.weight);
      else to += w.weight;
      has[k] = 1;
      scored_[at(w.target)] = Scored::Sometimes;
    }
  Ints sizes{leaf_count_};
  if (!grouped_) sizes.push_back(targets_);
  single_.weight = frozen_floats(weights, sizes), double_.weight = frozen(weights, sizes);

  if (each)
    for (const Spoken& s : *each)
      for (const auto& [target, n] : s.times)
        if (n == s.leaves) scored_[at(target)] = Scored::Always;
  any_sometimes_ = std::any_of(scored_.begin(), scored_.end(), [](Scored s) { return s == Scored::Sometimes; });
  all_scored_ = std::all_of(scored_.begin(), scored_.end(), [](Scored s) { return s == Scored::Always; });
  if (any_sometimes_) {
    has_ = frozen(has, sizes);
  } else {
    std::vector<float> all;
    for (Scored s : scored_) all.push_back(s == Scored::Always ? 1.0f : 0.0f);
    has_ = frozen(all);
  }
}

void Trees::make_branches(const Forest& f) {
  const std::int64_t places = leaf_count_ + branch_count_;
  bool same = true, nan = false;
  for (const Branch& b : f.branches) same &= b.compare == f.branches[0].compare, nan |= b.missing_is_true;
  if (same && !nan && !f.branches.empty()) compare_ = f.branches[0].compare;
  const std::int64_t ways = compare_ ? 2 : 4;
  std::vector<std::int32_t> next(at(places * ways)), feature(at(places)), first;
  std::vector<double> threshold(at(places));
  for (std::int64_t i = 0; i < places; ++i) {
    std::int32_t* to = next.data() + i * ways;
    if (i < leaf_count_) {
      std::fill(to, to + ways, static_cast<std::int32_t>(i));
      continue;
    }
    const Branch& b = f.branches[at(i - leaf_count_)];
    feature[at(i)] = static_cast<std::int32_t>(b.feature);
    threshold[at(i)] = compare_ || !std::isnan(b.threshold) ? b.threshold : 0;
    const auto way = [&](bool yes) { return static_cast<std::int32_t>(place(yes ? b.on_true : b.on_false)); };
    if (compare_) {
      to[0] = way(false), to[1] = way(true);
    } else {
      const Outcomes o = outcomes(b);
      to[0] = way(o.smaller), to[1] = way(o.equal), to[2] = way(o.larger), to[3] = way(o.nan);
    }
  }
  std::vector<std::int32_t> first_feature;
  std::vector<double> first_threshold;
  for (std::int64_t root : roots_)
    first_feature.push_back(feature[at(root)]), first_threshold.push_back(threshold[at(root)]),
        first.push_back(static_cast<std::int32_t>(root));
  next_ = frozen(next), feature_ = frozen(feature), first_ = frozen(first), first_feature_ = frozen(first_feature);
  const Ints all{places}, roots{static_cast<std::int64_t>(roots_.size())};
  single_.threshold = frozen_floats(threshold, all), double_.threshold = frozen(threshold, all);
  single_.first_threshold = frozen_floats(first_threshold, roots);
  double_.first_threshold = frozen(first_threshold, roots);
}

/// The places behind `now`, of the values that are compared there with thresholds.
Tensor Trees::step(const Tensor& now, const Tensor& v, const Tensor& t) const {
  if (compare_) return index(next_, {now * 2 + compared(*compare_, v, t).to(kInt32)});
  const Tensor way = where(v < t, 0, where(v == t, 1, where(v > t, 2, full({}, 3, {.dtype = kInt32}))));
  return index(next_, {now * 4 + way});
}

Tensor Trees::leaves(Call& c, const Tensor& x) const {
  if (x.size(1) < features_) c.bad("compares ", features_, " features, and is given ", x.size(1).hint());
  c.spend(depth_);
  const Ints all{x.size(0), static_cast<std::int64_t>(roots_.size())};
  if (depth_ == 0) return first_.unsqueeze(0).expand(all);
  const Of& of = x.dtype() == kFloat64 ? double_ : single_;
  Tensor made = step(first_, index_select(x, 1, first_feature_), of.first_threshold);
  const auto next = [&](const Tensor& now) {
    return step(now, gather(x, 1, index(feature_, {now})), index(of.threshold, {now}));
  };
  if (depth_ <= kUnrolled) {
    for (std::int64_t i = 1; i < depth_; ++i) made = next(made);
    return made;
  }
  return reprise::scan([&](const Tensor& now, const Tensor&) { return next(now); }, made,
                       zeros({depth_ - 1}, {.dtype = kBool}));
}

Tensor Trees::reduced(const Tensor& by_leaf, const Tensor& leaves, Aggregate how) const {
  Tensor all = index(by_leaf, {leaves});  // [n, trees], [n, trees, targets]
  if (grouped_) all = all.view({leaves.size(0), targets_, grouped_});
  const int trees = grouped_ ? 2 : 1;
  return how == Aggregate::Min ? amin(all, {trees}) : how == Aggregate::Max ? amax(all, {trees}) : sum(all, {trees});
}

Tensor Trees::scores(const Tensor& leaves, DType dtype) const {
  const Tensor all = reduced(dtype == kFloat64 ? double_.weight : single_.weight, leaves, aggregate_);
  if (aggregate_ == Aggregate::Average) return all / static_cast<double>(trees_);
  if (aggregate_ == Aggregate::Sum || all_scored_) return all;
  return where(all == (aggregate_ == Aggregate::Min ? HUGE_VAL : -HUGE_VAL), 0, all);
}
Tensor Trees::has_scores(const Tensor& leaves) const {
  return any_sometimes_ ? reduced(has_, leaves, Aggregate::Max) > 0 : has_ > 0;
}

}  // namespace reprise::onnx
