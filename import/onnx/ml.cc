// What models of ai.onnx.ml do beside predicting: scaling, filling, encoding and picking of features.
#include "import/onnx/ml.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/shown.h"
#include "reprise/searching.h"

namespace reprise::onnx {
namespace {

using List = std::vector<std::int64_t>;

/// One value for all features or one for each, along the last dimension.
struct PerFeature {
  Tensor single{}, whole{};
  std::int64_t count = 0;
  bool given() const { return count > 0; }
  const Tensor& of(DType t) const { return t == kFloat64 ? whole : single; }
};
PerFeature per_feature(const std::vector<double>& all) {
  const std::int64_t n = static_cast<std::int64_t>(all.size());
  return {frozen_floats(all, {n}), frozen(all), n};
}
void check_features(const Call& c, const Tensor& x, const char* name, std::int64_t count) {
  if (count > 1 && (x.dim() == 0 || x.size(x.dim() - 1) != count))
    c.bad("has ", count, " elements of '", name, "' for ", x.dim() == 0 ? 1 : x.size(x.dim() - 1).hint(), " features");
}

struct Scale {
  PerFeature scale{}, offset{};
};
std::shared_ptr<const void> prepare_scaler(Call& c) {
  return std::make_shared<const Scale>(Scale{per_feature(c.floats("scale")), per_feature(c.floats("offset"))});
}
void scaler(Call& c) {
  const auto& s = *static_cast<const Scale*>(c.node().prepared.get());
  Tensor x = real(c.x(0));
  check_features(c, x, "offset", s.offset.count), check_features(c, x, "scale", s.scale.count);
  if (s.offset.given()) x = x - s.offset.of(x.dtype());
  if (s.scale.given()) x = x * s.scale.of(x.dtype());
  c.give(x.to(kFloat32));
}

void normalizer(Call& c) {
  const Tensor x = real(c.x(0));
  if (x.dim() == 0) c.bad("wants rows, not a tensor of no dimensions");
  const std::string norm = c.s("norm", "MAX");
  const int axis = x.dim() > 1 ? 1 : 0;
  Tensor by;
  if (norm == "MAX") by = amax(x, {axis}, true);
  else if (norm == "L1") by = sum(abs(x), {axis}, true);
  else if (norm == "L2") by = sqrt(sum(x * x, {axis}, true));
  else c.bad("the norm is '", shown(norm), "'; wanted MAX, L1 or L2");
  c.give((x / where(by == 0, 1, by)).to(kFloat32));
}

void binarizer(Call& c) {
  const Tensor x = c.x(0);
  c.give((x > c.f("threshold", 0)).to(x.dtype()));
}

struct Fill {
  PerFeature floats{};
  Tensor integers{};
  std::int64_t count = 0;
};
std::shared_ptr<const void> prepare_imputer(Call& c) {
  const List integers = c.list("imputed_value_int64s", List());
  Fill f{per_feature(c.floats("imputed_value_floats")), frozen(integers), static_cast<std::int64_t>(integers.size())};
  if (!f.floats.given() && f.count == 0) damaged(c, "has no imputed values");
  return std::make_shared<const Fill>(std::move(f));
}
void imputer(Call& c) {
  const auto& f = *static_cast<const Fill*>(c.node().prepared.get());
  const Tensor x = c.x(0);
  if (is_floating(x.dtype())) {
    if (!f.floats.given()) c.bad("of floats has no imputed_value_floats");
    check_features(c, x, "imputed_value_floats", f.floats.count);
    const double from = c.f("replaced_value_float", 0);
    return c.give(where(std::isnan(from) ? isnan(x) : x == from, f.floats.of(x.dtype()), x));
  }
  if (f.count == 0) c.bad("of integers has no imputed_value_int64s");
  check_features(c, x, "imputed_value_int64s", f.count);
  c.give(where(x == c.i("replaced_value_int64", 0), f.integers.to(x.dtype()), x));
}

void array_feature_extractor(Call& c) {
  Tensor x = c.x(0);
  const Tensor at = c.x(1);
  if (x.dim() == 0) c.bad("of a tensor of no dimensions");
  if (x.dim() == 1) x = x.unsqueeze(0);
  c.give(index_select(x, x.dim() - 1, at.reshape({at.numel()})));
}

void feature_vectorizer(Call& c) {
  const List wanted = c.list("inputdimensions", List());
  std::vector<Tensor> parts;
  for (int i = 0; i < c.inputs(); ++i) {
    Tensor x = c.x(i);
    if (x.dim() == 0) c.bad("input ", i, " has no dimensions");
    x = x.dim() == 1 ? x.unsqueeze(0) : x.flatten(1);
    if (static_cast<std::size_t>(i) < wanted.size()) {
      const Int n = wanted[static_cast<std::size_t>(i)];
      if (n < 0) c.bad("input ", i, " is to have ", n.hint(), " features");
      if (n < x.size(1)) x = x.narrow(1, 0, n);
      else if (n > x.size(1)) x = cat({x, zeros({x.size(0), n - x.size(1)}, {.dtype = x.dtype()})}, 1);
    }
    parts.push_back(x.to(kFloat32));
  }
  if (parts.empty()) c.bad("has no inputs");
  c.give(cat(parts, 1));
}

std::shared_ptr<const void> prepare_one_hot(Call& c) {
  if (c.attribute("cats_strings")) c.bad("the attribute 'cats_strings': there are no tensors of strings");
  const List categories = c.list("cats_int64s", List());
  if (categories.empty()) damaged(c, "has no categories");
  return std::make_shared<const Tensor>(frozen(categories));
}
void one_hot_encoder(Call& c) {
  const auto& categories = *static_cast<const Tensor*>(c.node().prepared.get());
  c.give((c.x(0).to(kInt64).unsqueeze(-1) == categories).to(kFloat32));
}

/// Keys in order, and what they become.
struct Encoding {
  Tensor keys{}, values{};  ///< `otherwise` stands last in the values, behind what NaN becomes
  std::int64_t count = 0;
};
Tensor one_dimension(const Call& c, const char* name) {
  const Attribute* a = c.attribute(name);
  if (!a) return {};
  if (a->kind != Attribute::Kind::Tensor || !a->tensor) damaged(c, "the attribute '", name, "' is no tensor");
  if (!a->tensor->tensor.defined())
    c.bad("the attribute '", name, "' is of ", element_name(a->tensor->element), ", which is not supported");
  return a->tensor->tensor.reshape({a->tensor->tensor.numel()});
}
template <class T>
std::shared_ptr<const void> encoding(const Call& c, const std::vector<T>& keys, const Tensor& values,
                                     const Tensor& otherwise) {
  if (static_cast<std::int64_t>(keys.size()) != values.numel().value())
    damaged(c, "has ", keys.size(), " keys, and ", values.numel().value(), " values");
  if (keys.empty()) damaged(c, "has no keys");
  // Of equal keys the last one counts.
  std::vector<std::int64_t> order;
  std::int64_t nan = -1;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] != keys[i]) nan = static_cast<std::int64_t>(i);
    else order.push_back(static_cast<std::int64_t>(i));
  }
  const auto key = [&](std::int64_t i) { return keys[static_cast<std::size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return key(a) < key(b); });
  std::vector<T> sorted;
  std::vector<std::int64_t> from;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i + 1 < order.size() && key(order[i]) == key(order[i + 1])) continue;
    sorted.push_back(key(order[i])), from.push_back(order[i]);
  }
  const std::int64_t n = static_cast<std::int64_t>(keys.size());
  from.push_back(nan < 0 || c.version() < 4 ? n : nan), from.push_back(n);
  Encoding e{.keys = frozen(sorted), .values = {}, .count = static_cast<std::int64_t>(sorted.size())};
  const Tensor fallback = otherwise.to(values.dtype()).reshape({1});
  e.values = index_select(cat({values, fallback}, 0), 0, tensor_of(from));
  freeze(e.values);
  return std::make_shared<const Encoding>(std::move(e));
}
std::shared_ptr<const void> prepare_label_encoder(Call& c) {
  for (const char* name : {"keys_strings", "values_strings", "classes_strings"})
    if (c.attribute(name)) c.bad("the attribute '", name, "': there are no tensors of strings");
  Tensor values = one_dimension(c, "values_tensor"), otherwise = one_dimension(c, "default_tensor");
  if (!values.defined()) {
    const List integers = c.list("values_int64s", List());
    const std::vector<double> floats = c.floats("values_floats");
    if (integers.empty() == floats.empty()) damaged(c, "wants values of one kind");
    values = floats.empty() ? tensor_of(integers) : tensor_of(std::vector<float>(floats.begin(), floats.end()));
    if (!otherwise.defined())
      otherwise =
          floats.empty() ? tensor(c.i("default_int64", -1)) : tensor(static_cast<float>(c.f("default_float", -0.0)));
  }
  if (!otherwise.defined()) otherwise = is_floating(values.dtype()) ? tensor(-0.0) : tensor(std::int64_t{-1});
  if (otherwise.numel().value() != 1) damaged(c, "the attribute 'default_tensor' has more than one element");
  const Tensor keys = one_dimension(c, "keys_tensor");
  const List integers = c.list("keys_int64s", List());
  const std::vector<double> floats = c.floats("keys_floats");
  if (keys.defined())
    return is_floating(keys.dtype()) ? encoding(c, keys.to(kFloat64).to_vector<double>(), values, otherwise)
                                     : encoding(c, keys.to(kInt64).to_vector<std::int64_t>(), values, otherwise);
  if (integers.empty() == floats.empty()) damaged(c, "wants keys of one kind");
  return floats.empty() ? encoding(c, integers, values, otherwise) : encoding(c, floats, values, otherwise);
}
void label_encoder(Call& c) {
  const auto& e = *static_cast<const Encoding*>(c.node().prepared.get());
  const Tensor x = c.x(0).to(e.keys.dtype());
  Tensor at = full({}, e.count + 1, {.dtype = kInt64});
  if (e.count > 0) {
    const Tensor place = clamp(searchsorted(e.keys, x), 0, e.count - 1);
    at = where(index(e.keys, {place}) == x, place, e.count + 1);
  } else {
    at = at.expand(x.sizes());
  }
  if (is_floating(x.dtype())) at = where(isnan(x), e.count, at);
  c.give(index(e.values, {at}));
}

/// One map for each row: given as the rows, whose columns stand in the labels' order.
void zip_map(Call& c) { c.give(rows_of(c, c.x(0))); }

constexpr Row kMlRows[] = {
    {"ArrayFeatureExtractor", 1, 0, array_feature_extractor, 0, nullptr, false, kMlDomain},
    {"Binarizer", 1, 0, binarizer, 0, nullptr, false, kMlDomain},
    {"FeatureVectorizer", 1, 0, feature_vectorizer, 0, nullptr, false, kMlDomain},
    {"Imputer", 1, 0, imputer, 0, nullptr, false, kMlDomain, prepare_imputer},
    {"LabelEncoder", 1, 0, label_encoder, 0, nullptr, false, kMlDomain, prepare_label_encoder},
    {"Normalizer", 1, 0, normalizer, 0, nullptr, false, kMlDomain},
    {"OneHotEncoder", 1, 0, one_hot_encoder, 0, nullptr, false, kMlDomain, prepare_one_hot},
    {"Scaler", 1, 0, scaler, 0, nullptr, false, kMlDomain, prepare_scaler},
    {"ZipMap", 1, 0, zip_map, 0, nullptr, false, kMlDomain},
};

}  // namespace

Transform transform_of(const Call& c) {
  static constexpr std::string_view kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const std::string name = c.s("post_transform", "NONE");
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) damaged(c, "the post_transform is '", shown(name), "'");
  return static_cast<Transform>(found - std::begin(kNames));
}

/// The inverse of the normal distribution, as ONNX Runtime approximates it.
Tensor probit(const Tensor& p) {
  constexpr double kA = 0.147, kPi = 3.14159;
  const Tensor x = p * 2 - 1, l = log((1 - x) * (1 + x)), v = l * 0.5 + 2 / (kPi * kA);
  return sqrt(sqrt(v * v - l / kA) - v) * where(x < 0, -std::sqrt(2.0), full({}, std::sqrt(2.0), {.dtype = x.dtype()}));
}
Tensor transformed(Transform how, const Tensor& scores) {
  const Tensor s = scores.to(kFloat32);
  switch (how) {
    case Transform::None: return s;
    case Transform::Softmax: return softmax(scores, 1).to(kFloat32);
    case Transform::Logistic: return sigmoid(s);
    case Transform::Probit: return probit(s);
    case Transform::SoftmaxZero: break;
  }
  // Scores of 0 take no part: they stay (nearly) 0.
  const Tensor most = amax(s, {1}, true), zero = abs(s) <= 1e-7;
  const Tensor e = where(zero, s * exp(-most), exp(s - most));
  return e / sum(where(zero, 0, e), {1}, true);
}
Tensor with_first_class(Transform how, const Tensor& score, bool complement) {
  const Tensor s = score.to(kFloat32);
  if (how == Transform::Logistic) return cat({sigmoid(-s), sigmoid(s)}, 1);
  return cat({complement ? 1 - s : -s, s}, 1);
}

Labels labels_of(const Call& c, const char* integers) {
  const Attribute* strings = c.attribute("classlabels_strings");
  Labels l;
  if (strings && strings->kind == Attribute::Kind::Strings && !strings->strings.empty()) {
    l.strings = true;
    l.values.resize(strings->strings.size());
    std::iota(l.values.begin(), l.values.end(), 0);
  } else {
    l.values = c.list(integers, List());
    bool plain = true;
    for (std::size_t i = 0; i < l.values.size(); ++i) plain &= l.values[i] == static_cast<std::int64_t>(i);
    if (!plain) l.table = frozen(l.values);
  }
  return l;
}
Tensor labels_at(const Labels& l, const Tensor& at) { return l.table.defined() ? index(l.table, {at}) : at; }

std::span<const Row> ml_rows() { return kMlRows; }

}  // namespace reprise::onnx
