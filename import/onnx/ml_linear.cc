// Linear models and support vector machines of ai.onnx.ml.
#include <algorithm>
#include <cmath>

#include "base/shown.h"
#include "import/onnx/ml.h"
#include "reprise/while_loop.h"

namespace reprise::onnx {
namespace {

using List = std::vector<std::int64_t>;
using Doubles = std::vector<double>;
std::int64_t count(const Doubles& all) { return static_cast<std::int64_t>(all.size()); }

/// Rows of coefficients as a matrix [features, rows].
Tensor columns(const Call& c, const Doubles& coefficients, std::int64_t rows, const char* what) {
  if (coefficients.empty() || rows < 1 || count(coefficients) % rows != 0)
    damaged(c, "has ", coefficients.size(), " coefficients of ", rows, " ", what);
  Tensor t = frozen_floats(coefficients, {rows, count(coefficients) / rows}).t().contiguous();
  freeze(t);
  return t;
}

struct Linear {
  Tensor coefficients{}, intercepts{};  ///< [features, targets], [targets] or undefined
  Transform transform = Transform::None;
  std::int64_t targets = 1;
  Labels labels{};
  Tensor scores(Call& c) const {
    const Tensor x = rows_of(c, c.x(0)).to(kFloat32);
    if (x.size(1) != coefficients.size(0))
      c.bad("has coefficients of ", coefficients.size(0).hint(), " features, and is given ", x.size(1).hint());
    return intercepts.defined() ? addmm(intercepts, x, coefficients) : mm(x, coefficients);
  }
};
Linear linear_of(const Call& c, std::int64_t targets, const char* what) {
  Linear l{.transform = transform_of(c), .targets = targets};
  l.coefficients = columns(c, c.floats("coefficients"), targets, what);
  const Doubles intercepts = c.floats("intercepts");
  if (!intercepts.empty() && count(intercepts) != targets)
    damaged(c, "has ", intercepts.size(), " intercepts of ", targets, " ", what);
  if (!intercepts.empty()) l.intercepts = frozen_floats(intercepts, {targets});
  return l;
}
std::shared_ptr<const void> prepare_linear_regressor(Call& c) {
  return std::make_shared<const Linear>(linear_of(c, c.i("targets", 1), "targets"));
}
void linear_regressor(Call& c) {
  const auto& l = *static_cast<const Linear*>(c.node().prepared.get());
  const Tensor s = l.scores(c);
  // One score alone is what no other transform changes.
  c.give(l.targets > 1 || l.transform == Transform::Probit ? transformed(l.transform, s) : s);
}

std::shared_ptr<const void> prepare_linear_classifier(Call& c) {
  Labels labels = labels_of(c, "classlabels_ints");
  const std::int64_t intercepts = count(c.floats("intercepts"));
  Linear l = linear_of(c, intercepts ? intercepts : std::max<std::int64_t>(labels.count(), 1), "classes");
  if (l.targets > 1 && labels.count() < l.targets)
    damaged(c, "has ", labels.count(), " labels of ", l.targets, " classes");
  l.labels = std::move(labels);
  return std::make_shared<const Linear>(std::move(l));
}
void linear_classifier(Call& c) {
  const auto& l = *static_cast<const Linear*>(c.node().prepared.get());
  const Tensor s = l.scores(c);
  if (l.targets > 1) {
    c.give(labels_at(l.labels, argmax(s, 1)), 0);
    return c.give(transformed(l.transform, s), 1);
  }
  const Tensor wins = (s.squeeze(1) > 0).to(kInt64);
  const bool two = l.labels.count() == 2;
  c.give(two ? labels_at(l.labels, wins) : wins, 0);
  if (l.transform == Transform::Probit) c.give(two ? cat({probit(s), zeros_like(s)}, 1) : probit(s), 1);
  else c.give(two ? with_first_class(l.transform, s, true) : s, 1);
}

// ---- support vectors

enum class Kernel : std::uint8_t { Linear, Poly, Rbf, Sigmoid };
struct Support {
  Kernel kernel = Kernel::Linear;
  double gamma = 0, coefficient = 0, degree = 0;
  Tensor vectors{}, squares{};  ///< [features, vectors], and the sums of their squares [vectors]
  Tensor weights{}, rho{};      ///< what products with the vectors are multiplied by; what is added
  Tensor prob_a{}, prob_b{};
  Tensor opposite{}, diagonal{};  ///< where the pairs (i, j) stand among pairs and their complements, [k * k]; [k, k]
  Tensor votes{};                 ///< [2 pairs, classes]: whom pairs vote for that are won, and that are lost
  Transform transform = Transform::None;
  Labels labels{};
  std::int64_t classes = 1;
  bool linear = false, one_class = false, all_positive = false;

  /// Of rows x [n, features] with each vector.
  Tensor products(Call& c, const Tensor& x, const Tensor& of) const {
    if (x.size(1) != of.size(0))
      c.bad("has vectors of ", of.size(0).hint(), " features, and is given ", x.size(1).hint());
    const Tensor p = mm(x, of);
    switch (kernel) {
      case Kernel::Linear: return p;
      case Kernel::Poly: return pow(p * gamma + coefficient, degree);
      case Kernel::Sigmoid: return tanh(p * gamma + coefficient);
      case Kernel::Rbf: break;
    }
    const Tensor apart = sum(x * x, {1}, true) + squares - p * 2;
    return exp(clamp_min(apart, 0) * -gamma);
  }
};
Support support_of(const Call& c, std::int64_t vectors) {
  static constexpr std::string_view kNames[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
  const std::string name = c.s("kernel_type", "LINEAR");
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) damaged(c, "the kernel_type is '", shown(name), "'");
  Support s{.kernel = static_cast<Kernel>(found - std::begin(kNames)), .transform = transform_of(c)};
  const Doubles params = c.floats("kernel_params");
  if (!params.empty() && params.size() < 3) damaged(c, "has ", params.size(), " kernel_params; wanted 3");
  if (!params.empty()) s.gamma = params[0], s.coefficient = params[1], s.degree = params[2];
  s.linear = vectors == 0;
  if (s.linear) return s.kernel = Kernel::Linear, s;
  const Doubles all = c.floats("support_vectors");
  s.vectors = columns(c, all, vectors, "support vectors");
  const std::int64_t features = count(all) / vectors;
  Doubles squares(static_cast<std::size_t>(vectors));
  for (std::size_t i = 0; i < all.size(); ++i) squares[i / static_cast<std::size_t>(features)] += all[i] * all[i];
  s.squares = frozen_floats(squares, {vectors});
  return s;
}

std::shared_ptr<const void> prepare_svm_regressor(Call& c) {
  const std::int64_t vectors = c.i("n_supports", 0);
  if (vectors < 0) damaged(c, "has ", vectors, " support vectors");
  Support s = support_of(c, vectors);
  const Doubles coefficients = c.floats("coefficients"), rho = c.floats("rho");
  if (rho.empty()) damaged(c, "has no rho");
  if (!s.linear && count(coefficients) != vectors)
    damaged(c, "has ", coefficients.size(), " coefficients of ", vectors, " support vectors");
  s.weights = columns(c, coefficients, 1, "targets");
  s.rho = frozen_floats({rho[0]}, {1});
  s.one_class = c.i("one_class", 0) != 0;
  return std::make_shared<const Support>(std::move(s));
}
void svm_regressor(Call& c) {
  const auto& s = *static_cast<const Support*>(c.node().prepared.get());
  const Tensor x = rows_of(c, c.x(0)).to(kFloat32);
  const Tensor y = (s.linear ? s.products(c, x, s.weights) : mm(s.products(c, x, s.vectors), s.weights)) + s.rho;
  c.give(s.one_class ? where(y > 0, 1.0, full({}, -1, {.dtype = kFloat32})) : y);
}

/// The classifiers compare two classes each, (0, 1), (0, 2), ..., (1, 2), ...: their weights as a matrix
/// [vectors, pairs].
std::shared_ptr<const void> prepare_svm_classifier(Call& c) {
  const List each = c.list("vectors_per_class", List());
  std::int64_t vectors = 0;
  for (std::int64_t n : each) {
    if (n < 0 || n > INT32_MAX) damaged(c, "a class has ", n, " support vectors");
    vectors += n;
  }
  Support s = support_of(c, vectors);
  s.labels = labels_of(c, "classlabels_ints");
  s.classes = s.labels.count();
  const Doubles coefficients = c.floats("coefficients"), rho = c.floats("rho"), a = c.floats("prob_a"),
                b = c.floats("prob_b");
  if (s.classes < 1) damaged(c, "has no classes");
  if (rho.empty()) damaged(c, "has no rho");
  s.all_positive = std::none_of(coefficients.begin(), coefficients.end(), [](double w) { return w < 0; });
  if (s.linear) {
    s.weights = columns(c, coefficients, s.classes, "classes");
    s.rho = frozen_floats({rho[0]}, {1});
    return std::make_shared<const Support>(std::move(s));
  }
  constexpr std::int64_t kMostClasses = 256;
  if (s.classes > kMostClasses) c.bad("has ", s.classes, " classes; at most ", kMostClasses, " are supported");
  const std::int64_t k = s.classes, pairs = k * (k - 1) / 2;
  if (k < 2) damaged(c, "has ", k, " classes");
  if (static_cast<std::int64_t>(each.size()) != k)
    damaged(c, "has ", each.size(), " vectors_per_class of ", k, " classes");
  if (count(coefficients) != (k - 1) * vectors)
    damaged(c, "has ", coefficients.size(), " coefficients; wanted ", (k - 1) * vectors);
  if (count(rho) < pairs) damaged(c, "has ", rho.size(), " elements of 'rho'; wanted ", pairs);
  if (a.size() != b.size() || (!a.empty() && count(a) < pairs))
    damaged(c, "has ", a.size(), " elements of 'prob_a', and ", b.size(), " of 'prob_b'; wanted ", pairs);
  if (pairs > (std::int64_t{1} << 24) / vectors) c.bad("has too many support vectors of too many classes");
  Doubles weights(static_cast<std::size_t>(vectors * pairs)), votes(static_cast<std::size_t>(2 * pairs * k));
  List begin(1, 0);
  for (std::int64_t n : each) begin.push_back(begin.back() + n);
  const auto put = [&](std::int64_t pair, std::int64_t of, std::int64_t row) {
    for (std::int64_t v = begin[static_cast<std::size_t>(of)]; v < begin[static_cast<std::size_t>(of) + 1]; ++v)
      weights[static_cast<std::size_t>(v * pairs + pair)] = coefficients[static_cast<std::size_t>(row * vectors + v)];
  };
  std::int64_t pair = 0;
  for (std::int64_t i = 0; i < k; ++i)
    for (std::int64_t j = i + 1; j < k; ++j, ++pair) {
      put(pair, i, j - 1), put(pair, j, i);
      votes[static_cast<std::size_t>(pair * k + i)] = 1, votes[static_cast<std::size_t>((pairs + pair) * k + j)] = 1;
    }
  s.weights = frozen_floats(weights, {vectors, pairs}), s.votes = frozen_floats(votes, {2 * pairs, k});
  const auto first = [&](const Doubles& all) {
    return frozen_floats(Doubles(all.begin(), all.begin() + pairs), {pairs});
  };
  s.rho = first(rho);
  if (a.empty()) return std::make_shared<const Support>(std::move(s));
  constexpr std::int64_t kMostCoupled = 64;
  if (k > kMostCoupled) c.bad("has probabilities of ", k, " classes; at most ", kMostCoupled, " are supported");
  s.prob_a = first(a), s.prob_b = first(b);
  List places(static_cast<std::size_t>(k * k));
  Doubles diagonal(places.size());
  for (std::int64_t i = 0, n = 0; i < k; ++i) {
    diagonal[static_cast<std::size_t>(i * k + i)] = 1;
    for (std::int64_t j = i + 1; j < k; ++j, ++n)
      places[static_cast<std::size_t>(i * k + j)] = n, places[static_cast<std::size_t>(j * k + i)] = pairs + n;
  }
  s.opposite = frozen(places), s.diagonal = frozen_floats(diagonal, {k, k});
  return std::make_shared<const Support>(std::move(s));
}

/// Probabilities [n, k] that agree best with those of the pairs [n, pairs]: libsvm's iteration, which ends for each row
/// by itself (Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling").
Tensor coupled(const Support& s, const Tensor& pairs) {
  const std::int64_t k = s.classes;
  // r[i][j]: that it is i, of i and j.
  const Tensor all = index_select(cat({pairs, 1 - pairs}, 1), 1, s.opposite).view({pairs.size(0), k, k});
  const Tensor r = all * (1 - s.diagonal);
  const Tensor q = sum(r * r, {1}).unsqueeze(1) * s.diagonal - r * r.transpose(1, 2);
  const Int n = pairs.size(0);
  const double enough = 0.005f / static_cast<float>(k);
  const auto product = [&](const Tensor& p) { return sum(q * p.unsqueeze(1), {2}); };
  const auto apart = [&](const Tensor& p) {
    const Tensor qp = product(p);
    return amax(abs(qp - sum(p * qp, {1}, true)), {1}) >= enough;
  };
  const Tensor even = full({n, k}, 1 / static_cast<double>(k), {.dtype = kFloat32});
  constexpr std::int64_t kTurns = 100;
  const Tensor turns = zeros({1}, {.dtype = kInt64});
  using Loop = std::vector<Tensor>;  // p, which rows go on, turns
  const Loop last = while_loop([&](const Loop& s) { return any(s[1]) & (s[2].select(0, 0) < kTurns); },
                               [&](const Loop& s) {
                                 Tensor p = s[0], qp = product(p), pqp = sum(p * qp, {1});
                                 for (std::int64_t i = 0; i < k; ++i) {
                                   const Tensor own = q.select(1, i).select(1, i), diff = (pqp - qp.select(1, i)) / own,
                                                by = 1 + diff;
                                   const Tensor hot = (arange(k) == i).to(kFloat32);
                                   p = p + diff.unsqueeze(1) * hot;
                                   pqp = (pqp + diff * (diff * own + qp.select(1, i) * 2)) / by / by;
                                   qp = (qp + diff.unsqueeze(1) * q.select(1, i)) / by.unsqueeze(1);
                                   p = p / by.unsqueeze(1);
                                 }
                                 p = where(s[1].unsqueeze(1), p, s[0]);
                                 return Loop{p, s[1] & apart(p), s[2] + 1};
                               },
                               Loop{even, apart(even), turns}, kTurns + 1);
  return last[0];
}

void svm_classifier(Call& c) {
  const auto& s = *static_cast<const Support*>(c.node().prepared.get());
  const Tensor x = rows_of(c, c.x(0)).to(kFloat32);
  const std::int64_t k = s.classes;
  if (s.linear) {
    const Tensor all = s.products(c, x, s.weights) + s.rho;
    Tensor at = argmax(all, 1);
    if (k == 2) {
      const Tensor most = amax(all, {1});
      at = where(s.all_positive ? most >= 0.5 : most > 0, 1, at);
    }
    c.give(labels_at(s.labels, at), 0);
    return c.give(k > 1 || s.transform == Transform::Probit ? transformed(s.transform, all) : all, 1);
  }
  const Tensor pairs = mm(s.products(c, x, s.vectors), s.weights) + s.rho;
  // Each pair is a vote. The first of those with the most votes wins.
  const Tensor won = (pairs > 0).to(kFloat32);
  c.give(labels_at(s.labels, argmax(mm(cat({won, 1 - won}, 1), s.votes), 1)), 0);
  if (s.prob_a.defined()) {
    const Tensor p = clamp(1 - sigmoid(pairs * s.prob_a + s.prob_b), 1e-7, 1 - 1e-7);
    return c.give(transformed(s.transform, coupled(s, p)), 1);
  }
  if (k > 2) return c.give(transformed(s.transform, pairs), 1);
  if (s.transform == Transform::Probit) return c.give(cat({probit(pairs), zeros_like(pairs)}, 1), 1);
  c.give(with_first_class(s.transform, pairs, s.transform != Transform::None), 1);
}

constexpr Row kLinearRows[] = {
    {"LinearClassifier", 1, 0, linear_classifier, 0, nullptr, false, kMlDomain, prepare_linear_classifier},
    {"LinearRegressor", 1, 0, linear_regressor, 0, nullptr, false, kMlDomain, prepare_linear_regressor},
    {"SVMClassifier", 1, 0, svm_classifier, 0, nullptr, false, kMlDomain, prepare_svm_classifier},
    {"SVMRegressor", 1, 0, svm_regressor, 0, nullptr, false, kMlDomain, prepare_svm_regressor},
};

}  // namespace

std::span<const Row> ml_linear_rows() { return kLinearRows; }

}  // namespace reprise::onnx
