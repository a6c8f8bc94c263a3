// TreeEnsembleRegressor, TreeEnsembleClassifier and TreeEnsemble: what their attributes say of trees, and what becomes
// of the scores. Which class wins, and what a second one is given, is as ONNX Runtime has it.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/shown.h"
#include "import/onnx/trees.h"

namespace reprise::onnx {
namespace {

using List = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

/// The attribute's floats, or those of the tensor "NAME_as_tensor".
Doubles doubles(const Call& c, const std::string& name) {
  Doubles all = c.floats(name);
  const Attribute* t = c.attribute(name + "_as_tensor");
  if (!t) return all;
  if (t->kind != Attribute::Kind::Tensor || !t->tensor || !t->tensor->tensor.defined())
    damaged(c, "the attribute '", name, "_as_tensor' is no tensor of numbers");
  if (!all.empty()) damaged(c, "has the attributes '", name, "' and '", name, "_as_tensor'");
  return t->tensor->tensor.to(kFloat64).to_vector<double>();
}
List list(const Call& c, const std::string& name) { return c.list(name, List()); }
/// Throws where an attribute is not as long as the first of its kind.
template <class T>
void same_length(const Call& c, const std::string& name, const std::vector<T>& all, std::size_t wanted) {
  if (all.size() != wanted) damaged(c, "the attribute '", name, "' has ", all.size(), " elements; wanted ", wanted);
}

Aggregate aggregate_of(const Call& c, const std::string& name) {
  static constexpr std::string_view kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) damaged(c, "the aggregate_function is '", shown(name), "'");
  return static_cast<Aggregate>(found - std::begin(kNames));
}
std::optional<Compare> compare_of(const Call& c, const std::string& mode) {
  static constexpr std::string_view kNames[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                                "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  if (mode == "LEAF") return std::nullopt;
  const auto found = std::find(std::begin(kNames), std::end(kNames), mode);
  if (found == std::end(kNames)) damaged(c, "the mode of a node is '", shown(mode), "'");
  return static_cast<Compare>(found - std::begin(kNames));
}

/// Trees whose nodes are named by their tree and a number in it; `what`: "target" or "class", of which weights are.
Forest forest_of(const Call& c, const std::string& what, std::int64_t targets) {
  const List tree = list(c, "nodes_treeids"), number = list(c, "nodes_nodeids"), feature = list(c, "nodes_featureids"),
             on_true = list(c, "nodes_truenodeids"), on_false = list(c, "nodes_falsenodeids"),
             missing = list(c, "nodes_missing_value_tracks_true");
  const Doubles threshold = doubles(c, "nodes_values");
  const Attribute* given = c.attribute("nodes_modes");
  if (!given || given->kind != Attribute::Kind::Strings || given->strings.empty()) damaged(c, "has no nodes");
  const std::vector<std::string>& modes = given->strings;
  const std::size_t n = modes.size();
  same_length(c, "nodes_treeids", tree, n), same_length(c, "nodes_nodeids", number, n);
  same_length(c, "nodes_featureids", feature, n), same_length(c, "nodes_values", threshold, n);
  same_length(c, "nodes_truenodeids", on_true, n), same_length(c, "nodes_falsenodeids", on_false, n);
  if (!missing.empty()) same_length(c, "nodes_missing_value_tracks_true", missing, n);

  Forest f{.targets = targets};
  List ids(n);  // as Forest numbers them
  using Key = std::pair<std::int64_t, std::int64_t>;
  std::vector<std::pair<Key, std::size_t>> places;
  std::set<std::int64_t> trees;
  for (std::size_t i = 0; i < n; ++i) {
    const std::optional<Compare> compare = compare_of(c, modes[i]);
    ids[i] = compare ? static_cast<std::int64_t>(f.branches.size()) : ~static_cast<std::int64_t>(f.leaves.size());
    if (compare)
      f.branches.push_back({.feature = feature[i],
                            .compare = *compare,
                            .threshold = threshold[i],
                            .missing_is_true = !missing.empty() && missing[i] == 1});
    else f.leaves.emplace_back();
    places.push_back({{tree[i], number[i]}, i});
    if (trees.insert(tree[i]).second) f.roots.push_back(ids[i]);
  }
  std::sort(places.begin(), places.end());
  for (std::size_t i = 0; i + 1 < n; ++i)
    if (places[i].first == places[i + 1].first)
      damaged(c, "the node ", places[i].first.second, " of the tree ", places[i].first.first, " is there twice");
  const auto find = [&](std::int64_t of_tree, std::int64_t node) {
    const auto found = std::lower_bound(places.begin(), places.end(), std::pair(Key(of_tree, node), std::size_t{0}));
    if (found == places.end() || found->first != Key(of_tree, node))
      damaged(c, "there is no node ", node, " in the tree ", of_tree);
    return ids[found->second];
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (ids[i] < 0) continue;
    Branch& b = f.branches[static_cast<std::size_t>(ids[i])];
    b.on_true = find(tree[i], on_true[i]), b.on_false = find(tree[i], on_false[i]);
  }
  const List targeted = list(c, what + "_ids"), weight_tree = list(c, what + "_treeids"),
             weight_node = list(c, what + "_nodeids");
  const Doubles weight = doubles(c, what + "_weights");
  same_length(c, what + "_treeids", weight_tree, targeted.size());
  same_length(c, what + "_nodeids", weight_node, targeted.size());
  same_length(c, what + "_weights", weight, targeted.size());
  for (std::size_t i = 0; i < targeted.size(); ++i) {
    const std::int64_t id = find(weight_tree[i], weight_node[i]);
    if (id < 0) f.leaves[static_cast<std::size_t>(~id)].push_back({targeted[i], weight[i]});
  }
  return f;
}

/// Values of each target that are added to its score.
struct Bases {
  Doubles values{};
  Tensor single{}, whole{};
  const Tensor& of(DType t) const { return t == kFloat64 ? whole : single; }
};
Bases bases_of(const Call& c, std::int64_t targets, bool one_will_do) {
  Bases b{.values = doubles(c, "base_values")};
  const std::int64_t n = static_cast<std::int64_t>(b.values.size());
  if (n > 0 && n != targets && !(n == 1 && one_will_do))
    damaged(c, "the attribute 'base_values' has ", n, " elements of ", targets, " targets");
  b.single = frozen_floats(b.values, {n}), b.whole = frozen(b.values);
  return b;
}

struct Regressor {
  Trees trees;
  Transform transform = Transform::None;
  Bases bases{};
};
Tensor regressed(Call& c, const Regressor& r, const Tensor& x) {
  const Tensor leaves = r.trees.leaves(c, x);
  Tensor all = r.trees.scores(leaves, x.dtype());
  if (!r.bases.values.empty()) {
    all = all + r.bases.of(x.dtype());
    // A target that no leaf has a weight of stays 0.
    if (r.trees.targets() > 1 && !r.trees.all_scored()) all = where(r.trees.has_scores(leaves), all, 0);
  }
  // One score alone is what no other transform changes.
  if (r.trees.targets() > 1) return r.transform == Transform::None ? all : transformed(r.transform, all);
  return r.transform == Transform::Probit ? probit(all.to(kFloat32)) : all;
}
std::shared_ptr<const void> prepare_regressor(Call& c) {
  const std::int64_t targets = c.i("n_targets", 1);
  const Aggregate aggregate = aggregate_of(c, c.s("aggregate_function", "SUM"));
  return std::make_shared<const Regressor>(
      Regressor{{c, forest_of(c, "target", targets), aggregate}, transform_of(c), bases_of(c, targets, false)});
}
void regressor(Call& c) {
  const auto& r = *static_cast<const Regressor*>(c.node().prepared.get());
  c.give(regressed(c, r, real(rows_of(c, c.x(0)))).to(kFloat32));
}

struct Classifier {
  Trees trees;
  Transform transform = Transform::None;
  Bases bases{};
  Labels labels{};
  bool one_class = false;     ///< of two classes the weights are all of one
  bool all_positive = false;  ///< no weight is negative
};
std::shared_ptr<const void> prepare_classifier(Call& c) {
  Labels labels = labels_of(c, "classlabels_int64s");
  if (labels.values.empty()) damaged(c, "has no classes");
  const List ids = list(c, "class_ids");
  const Doubles weights = doubles(c, "class_weights");
  const std::set<std::int64_t> classes(ids.begin(), ids.end());
  const bool positive = std::none_of(weights.begin(), weights.end(), [](double w) { return w < 0; });
  const std::int64_t n = labels.count();
  return std::make_shared<const Classifier>(Classifier{{c, forest_of(c, "class", n), Aggregate::Sum},
                                                       transform_of(c),
                                                       bases_of(c, n, n == 2),
                                                       std::move(labels),
                                                       n == 2 && classes.size() == 1,
                                                       positive});
}

/// Whether the second of two classes wins by this score: 1 or 0.
Tensor second_wins(const Classifier& k, const Tensor& score) {
  return (score > (k.one_class && k.all_positive ? 0.5 : 0.0)).to(kInt64);
}
/// Of one class, and of two: a class that no leaf of a row has a weight of has no score.
void classify_two(Call& c, const Classifier& k, const Tensor& all, const Tensor& has) {
  const Tensor base = k.bases.of(all.dtype());
  const std::size_t bases = k.bases.values.size();
  const auto column = [](const Tensor& t, Int i) { return t.narrow(t.dim() - 1, i, 1); };
  // Without a weight of any of two classes but one, the labels are 0 and 1, whatever they are named.
  const auto give = [&](const Tensor& wins, const Tensor& z) {
    const Tensor at = wins.squeeze(1);
    c.give(k.one_class || k.labels.strings ? labels_at(k.labels, at) : at, 0);
    c.give(z, 1);
  };
  if (k.trees.targets() == 1) {
    const Tensor s = bases == 1 ? all + base : all;
    return give(second_wins(k, s), (k.transform == Transform::Probit ? probit(s.to(kFloat32)) : s.to(kFloat32)));
  }
  const Tensor first = column(all, 0), second = column(all, 1), has_second = column(has, 1);
  const auto if_first = [&](const Tensor& a) {
    return k.trees.scored(0) == Trees::Scored::Always ? a : where(column(has, 0), a, zeros_like(a));
  };
  // Where the second class has a score. Of two bases the second one alone counts, beside the first score.
  const auto both = [&] {
    const Tensor b = bases == 2 ? first + base.narrow(0, 1, 1) : second;
    const Tensor a = if_first(bases == 2 ? -b : bases == 1 ? first + base : first);
    return std::pair(second_wins(k, b), transformed(k.transform, cat({a, b}, 1)));
  };
  // Where it has none the one score makes two. Between two bases, and of one where both classes have weights, the
  // second one stays 0.
  const auto one = [&] {
    const Tensor a = if_first(bases == 0 ? first : first + base.narrow(0, 0, 1)), nothing = zeros_like(a).to(kFloat32);
    const Tensor wins = second_wins(k, a);
    if (bases == 2) return std::pair(wins, transformed(k.transform, cat({a, zeros_like(a)}, 1)));
    if (k.transform == Transform::Probit) return std::pair(wins, cat({probit(a.to(kFloat32)), nothing}, 1));
    if (bases == 1 && !k.one_class) return std::pair(wins, cat({a.to(kFloat32), nothing}, 1));
    return std::pair(wins, with_first_class(k.transform, a, k.one_class && k.all_positive));
  };
  using Scored = Trees::Scored;
  if (k.trees.scored(1) == Scored::Always) return std::apply(give, both());
  if (k.trees.scored(1) == Scored::Never) return std::apply(give, one());
  const auto [wins_two, two] = both();
  const auto [wins_one, of_one] = one();
  give(where(has_second, wins_two, wins_one), where(has_second, two, of_one));
}
void classifier(Call& c) {
  const auto& k = *static_cast<const Classifier*>(c.node().prepared.get());
  const Tensor x = real(rows_of(c, c.x(0)));
  const Tensor leaves = k.trees.leaves(c, x), has = k.trees.has_scores(leaves);
  Tensor all = k.trees.scores(leaves, x.dtype());
  if (k.trees.targets() <= 2) return classify_two(c, k, all, has);
  // A class with a base has a score.
  const bool any = k.trees.all_scored() || !k.bases.values.empty();
  if (!k.bases.values.empty()) all = all + k.bases.of(x.dtype());
  c.give(labels_at(k.labels, argmax(any ? all : where(has, all, -HUGE_VAL), 1)), 0);
  c.give(transformed(k.transform, all), 1);
}

// ---- TreeEnsemble, of version 5

Doubles tensor_values(const Call& c, const char* name) {
  const Attribute* t = c.attribute(name);
  if (!t) return {};
  if (t->kind != Attribute::Kind::Tensor || !t->tensor || !t->tensor->tensor.defined())
    damaged(c, "the attribute '", name, "' is no tensor of numbers");
  return t->tensor->tensor.to(kFloat64).to_vector<double>();
}

/// Is a value one of `members`? A search by halves, of branches that end in `on_true` and `on_false`. The branch `id`
/// is its first.
void add_search(Forest& f, std::int64_t id, const Branch& like, const Doubles& members) {
  struct Part {
    std::int64_t id;
    std::size_t begin, end;
  };
  std::vector<Part> open{{id, 0, members.size()}};
  while (!open.empty()) {
    const Part p = open.back();
    open.pop_back();
    Branch b = like;
    if (p.end - p.begin <= 1) {
      b.compare = Compare::Eq, b.threshold = members.empty() ? NAN : members[p.begin];
    } else {
      const std::size_t middle = p.begin + (p.end - p.begin) / 2;
      b.compare = Compare::Lt, b.threshold = members[middle], b.missing_is_true = false;
      b.on_true = static_cast<std::int64_t>(f.branches.size()), b.on_false = b.on_true + 1;
      f.branches.resize(f.branches.size() + 2);
      open.push_back({b.on_true, p.begin, middle}), open.push_back({b.on_false, middle, p.end});
    }
    f.branches[static_cast<std::size_t>(p.id)] = b;
  }
}

Forest forest_of_ensemble(const Call& c, std::int64_t targets) {
  const List feature = list(c, "nodes_featureids"), on_true = list(c, "nodes_truenodeids"),
             on_false = list(c, "nodes_falsenodeids"), true_leaf = list(c, "nodes_trueleafs"),
             false_leaf = list(c, "nodes_falseleafs"), missing = list(c, "nodes_missing_value_tracks_true"),
             target = list(c, "leaf_targetids");
  const Doubles split = tensor_values(c, "nodes_splits"), mode = tensor_values(c, "nodes_modes"),
                weight = tensor_values(c, "leaf_weights"), members = tensor_values(c, "membership_values");
  const std::size_t n = feature.size();
  same_length(c, "nodes_truenodeids", on_true, n), same_length(c, "nodes_falsenodeids", on_false, n);
  same_length(c, "nodes_trueleafs", true_leaf, n), same_length(c, "nodes_falseleafs", false_leaf, n);
  same_length(c, "nodes_splits", split, n), same_length(c, "nodes_modes", mode, n);
  same_length(c, "leaf_weights", weight, target.size());
  if (!missing.empty()) same_length(c, "nodes_missing_value_tracks_true", missing, n);
  Forest f{.roots = list(c, "tree_roots"), .targets = targets};
  for (std::size_t i = 0; i < target.size(); ++i) f.leaves.push_back({{target[i], weight[i]}});
  for (std::int64_t root : f.roots)
    if (root < 0 || root >= static_cast<std::int64_t>(n)) damaged(c, "a tree begins at the node ", root, " of ", n);
  f.branches.resize(n);
  std::size_t next_member = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto id = [&](std::int64_t to, bool leaf) {
      const std::size_t most = leaf ? target.size() : n;
      if (to < 0 || static_cast<std::size_t>(to) >= most)
        damaged(c, "the node ", i, " leads to the ", leaf ? "leaf " : "node ", to, " of ", most);
      return leaf ? ~to : to;
    };
    Branch b{.feature = feature[i],
             .threshold = split[i],
             .missing_is_true = !missing.empty() && missing[i] == 1,
             .on_true = id(on_true[i], true_leaf[i] != 0),
             .on_false = id(on_false[i], false_leaf[i] != 0)};
    if (!(mode[i] >= 0 && mode[i] <= 6)) damaged(c, "the mode of a node is ", mode[i]);
    if (mode[i] < 6) {
      b.compare = static_cast<Compare>(static_cast<int>(mode[i]));
      f.branches[i] = b;
      continue;
    }
    Doubles own;
    for (; next_member < members.size() && !std::isnan(members[next_member]); ++next_member)
      own.push_back(members[next_member]);
    ++next_member;
    std::sort(own.begin(), own.end());
    add_search(f, static_cast<std::int64_t>(i), b, own);
  }
  return f;
}
std::shared_ptr<const void> prepare_ensemble(Call& c) {
  const std::int64_t targets = c.i("n_targets", 1), how = c.i("aggregate_function", 1), then = c.i("post_transform", 0);
  if (how < 0 || how > 3) damaged(c, "the aggregate_function is ", how);
  if (then < 0 || then > 4) damaged(c, "the post_transform is ", then);
  return std::make_shared<const Regressor>(
      Regressor{{c, forest_of_ensemble(c, targets), static_cast<Aggregate>(how)}, static_cast<Transform>(then), {}});
}
void ensemble(Call& c) {
  const auto& r = *static_cast<const Regressor*>(c.node().prepared.get());
  const Tensor x = c.x(0);
  c.give(regressed(c, r, real(rows_of(c, x))).to(x.dtype()));
}

constexpr Row kTreeRows[] = {
    {"TreeEnsemble", 5, 0, ensemble, 0, nullptr, false, kMlDomain, prepare_ensemble},
    {"TreeEnsembleClassifier", 1, 0, classifier, 0, nullptr, false, kMlDomain, prepare_classifier},
    {"TreeEnsembleRegressor", 1, 0, regressor, 0, nullptr, false, kMlDomain, prepare_regressor},
};

}  // namespace

std::span<const Row> tree_rows() { return kTreeRows; }

}  // namespace reprise::onnx
