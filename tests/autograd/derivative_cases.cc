// Calls whose derivatives are checked. Numbers lie where the function has a derivative; derivatives_test.cc moves them
// a little, off corners and apart from each other.
#include "tests/autograd/derivative_cases.h"

#include <limits>

namespace reprise::test {

namespace {

using Args = std::vector<OpArg>;

Tensor places(const Ints& sizes, std::int64_t below, std::int64_t seed = 0) {
  std::int64_t n = 1;
  for (const Int& s : sizes) n *= s.value();
  std::vector<std::int64_t> v(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = (i * 7 + i / 3 + seed) % below;
  return tensor_of(v, sizes).to(test_device());
}
/// Numbers in (low, high).
Tensor between(const Asked& a, const Ints& sizes, double low, double high, std::int64_t seed = 0) {
  return a.of((numbers(sizes, kFloat64, seed) + 3) * ((high - low) * 0.15) + (low + (high - low) * 0.05));
}
/// Matrices and vectors of 1 to 3 rows beside [n, 3], so that operands are broadcast.
RowCase row(const char* name, RowArgs args) { return {.row = name, .dtypes = kFloatDTypes, .args = std::move(args)}; }

void pointwise(std::vector<RowCase>& all) {
  auto add = [&](const char* name, RowArgs args) { all.push_back(row(name, std::move(args))); };
  const struct {
    const char* name;
    double low, high;
  } kUnary[] = {
      {"neg", -3, 3},         {"abs", -3, 3},    {"sign", -3, 3},        {"square", -3, 3},    {"reciprocal", 0.5, 3},
      {"sqrt", 0.25, 3},      {"rsqrt", 0.5, 3}, {"floor", -3, 3},       {"ceil", -3, 3},      {"round", -3, 3},
      {"trunc", -3, 3},       {"frac", -3, 3},   {"exp", -2, 2},         {"exp2", -2, 2},      {"expm1", -2, 2},
      {"log", 0.5, 3},        {"log2", 0.5, 3},  {"log10", 0.5, 3},      {"log1p", -0.5, 3},   {"sin", -3, 3},
      {"cos", -3, 3},         {"tan", -1, 1},    {"asin", -0.8, 0.8},    {"acos", -0.8, 0.8},  {"atan", -3, 3},
      {"sinh", -2, 2},        {"cosh", -2, 2},   {"tanh", -2, 2},        {"asinh", -3, 3},     {"acosh", 1.5, 3},
      {"atanh", -0.8, 0.8},   {"erf", -2, 2},    {"erfc", -2, 2},        {"lgamma", 0.5, 3},   {"sigmoid", -3, 3},
      {"i0", -2, 2},          {"sinc", 0.2, 2},  {"relu", -3, 3},        {"relu6", -4, 9},     {"selu", -3, 3},
      {"silu", -3, 3},        {"mish", -3, 3},   {"hardsigmoid", -5, 5}, {"hardswish", -5, 5}, {"softsign", 0.2, 3},
      {"log_sigmoid", -3, 3}, {"clone", -3, 3}};
  for (const auto& u : kUnary) add(u.name, [u](const Asked& a) { return Args{between(a, {a.n, 3}, u.low, u.high)}; });
  const struct {
    const char* name;
    double low;
  } kBinary[] = {{"mul", -3},     {"floor_divide", 0.5}, {"remainder", 0.5}, {"fmod", 0.5},    {"maximum", -3},
                 {"minimum", -3}, {"hypot", 0.5},        {"atan2", 0.5},     {"copysign", -3}, {"pow", 0.5}};
  for (const auto& o : kBinary) {
    add(o.name, [o](const Asked& a) {
      return Args{between(a, {a.n, 3}, o.low, 3), between(a, {a.n, 3}, o.low, 2, 4)};
    });
    add(o.name, [o](const Asked& a) {
      return Args{between(a, {2, 1, 3}, o.low, 3), between(a, {a.n, 1}, o.low, 2, 4)};
    });
    add(o.name, [o](const Asked& a) { return Args{between(a, {a.n, 3}, o.low, 3), Scalar(1.5)}; });
    if (std::string_view(o.name) != "hypot")
      add(o.name, [o](const Asked& a) { return Args{Scalar(2.5), between(a, {a.n, 3}, o.low, 3)}; });
  }
  for (const char* name : {"add", "sub"}) {
    add(name, [](const Asked& a) { return Args{a({a.n, 3}), a({3}, 1), Scalar(0.5)}; });
    add(name, [](const Asked& a) { return Args{Scalar(2.0), a({a.n, 3}), Scalar(2)}; });
  }
  for (OpArg rounding : {kNone, OpArg(std::string("floor")), OpArg(std::string("trunc"))})
    add("div", [rounding](const Asked& a) { return Args{a({a.n, 3}), between(a, {3}, 0.5, 3, 1), rounding}; });
  add("div", [](const Asked& a) { return Args{Scalar(2.0), between(a, {a.n, 3}, 0.5, 3), kNone}; });
  for (double e : {0.0, 1.0, 2.0, -1.5})
    add("pow", [e](const Asked& a) { return Args{between(a, {a.n, 3}, 0.5, 3), Scalar(e)}; });
  add("lerp", [](const Asked& a) { return Args{a({a.n, 3}), a({3}, 1), a({a.n, 1}, 2)}; });
  add("lerp", [](const Asked& a) { return Args{a({a.n, 3}), a({3}, 1), Scalar(0.25)}; });
  add("addcmul", [](const Asked& a) { return Args{a({a.n, 3}), a({3}, 1), a({a.n, 1}, 2), Scalar(0.5)}; });
  add("addcdiv", [](const Asked& a) {
    return Args{a({a.n, 3}), a({3}, 1), between(a, {a.n, 1}, 0.5, 3, 2), Scalar(0.5)};
  });
  add("logit", [](const Asked& a) { return Args{between(a, {a.n, 3}, 0.2, 0.8), kNone}; });
  add("logit", [](const Asked& a) { return Args{between(a, {a.n, 3}, -0.2, 1.2), Scalar(0.15)}; });
  add("leaky_relu", [](const Asked& a) { return Args{a({a.n, 3}), Scalar(0.125)}; });
  add("elu", [](const Asked& a) { return Args{a({a.n, 3}), Scalar(1.5), Scalar(2.0), Scalar(0.5)}; });
  add("celu", [](const Asked& a) { return Args{a({a.n, 3}), Scalar(1.5)}; });
  for (const char* by : {"none", "tanh"})
    add("gelu", [by](const Asked& a) { return Args{a({a.n, 3}), std::string(by)}; });
  add("softplus", [](const Asked& a) { return Args{a({a.n, 3}), Scalar(1.5), Scalar(2.0)}; });
  add("hardtanh", [](const Asked& a) { return Args{a({a.n, 3}), Scalar(-1.125), Scalar(2.125)}; });
  add("threshold", [](const Asked& a) { return Args{a({a.n, 3}), Scalar(0.5), Scalar(2.0)}; });
  auto mask = [](const Ints& sizes) { return numbers(sizes, kBool); };
  add("where", [mask](const Asked& a) { return Args{mask({a.n, 3}), a({3}, 1), a({a.n, 1}, 2)}; });
  add("where", [mask](const Asked& a) { return Args{mask({3}), a({a.n, 3}), Scalar(1.5)}; });
  add("clamp", [](const Asked& a) { return Args{a({a.n, 3}), Scalar(-1.125), Scalar(1.125)}; });
  add("clamp", [](const Asked& a) { return Args{a({a.n, 3}), a({3}, 1) * 0.25 - 1, a({a.n, 1}, 2) * 0.25 + 1}; });
  add("clamp", [](const Asked& a) { return Args{a({a.n, 3}), kNone, a({3}, 2)}; });
  add("masked_fill", [mask](const Asked& a) { return Args{a({a.n, 3}), mask({3}), a({}, 2)}; });
  add("to", [](const Asked& a) { return Args{a({a.n, 3}), kFloat64}; });
  add("copy", [](const Asked& a) { return Args{a({a.n, 3}), a({3}, 1)}; });
  add("fill", [](const Asked& a) { return Args{a({a.n, 3}), a({}, 1)}; });
}

void reductions(std::vector<RowCase>& all) {
  auto add = [&](const char* name, RowArgs args) { all.push_back(row(name, std::move(args))); };
  struct Dims {
    OpArg dims;
    bool keep;
  };
  for (const Dims& d : {Dims{List{-1}, false}, Dims{List{0, 2}, true}, Dims{kNone, false}}) {
    for (const char* name : {"sum", "mean", "nansum"})
      add(name, [d](const Asked& a) { return Args{a({a.n, 3, 2}), d.dims, d.keep, kNone}; });
    add("prod", [d](const Asked& a) { return Args{a({a.n, 3, 2}).clamp(-1.25, 1.25), d.dims, d.keep, kNone}; });
    for (const char* name : {"amax", "amin"})
      add(name, [d](const Asked& a) { return Args{a({a.n, 3, 2}), d.dims, d.keep}; });
    for (const char* name : {"var", "std"})
      add(name, [d](const Asked& a) { return Args{a({a.n, 3, 2}), d.dims, Scalar(1), d.keep}; });
    add("logsumexp", [d](const Asked& a) { return Args{a({a.n, 3, 2}), d.dims, d.keep}; });
    for (double p : {0.0, 1.0, 2.0, 2.5, 1.5, std::numeric_limits<double>::infinity()})
      add("norm", [d, p](const Asked& a) { return Args{a({a.n, 3, 2}), Scalar(p), d.dims, d.keep}; });
  }
  for (std::int64_t dim : {0, -1}) {
    add("cumsum", [dim](const Asked& a) { return Args{a({a.n, 3}), Int(dim), kNone}; });
    for (const char* name : {"softmax", "log_softmax"})
      add(name, [dim](const Asked& a) { return Args{a({a.n, 3}), Int(dim), kNone}; });
  }
  add("layer_norm", [](const Asked& a) { return Args{a({a.n, 2, 4}), List{4}, a({4}, 1), a({4}, 2), Scalar(0.125)}; });
  add("layer_norm", [](const Asked& a) { return Args{a({3, 2, a.n}), List{2, a.n}, kNone, kNone, Scalar(0.125)}; });
  add("rms_norm", [](const Asked& a) { return Args{a({a.n, 2, 4}), List{4}, a({4}, 1), Scalar(0.125)}; });
  add("rms_norm", [](const Asked& a) { return Args{a({a.n, 4}), List{4}, kNone, kNone}; });
}

void products(std::vector<RowCase>& all) {
  auto add = [&](const char* name, RowArgs args) { all.push_back(row(name, std::move(args))); };
  add("mm", [](const Asked& a) { return Args{a({a.n, 4}), a({4, 3}, 1)}; });
  add("bmm", [](const Asked& a) { return Args{a({2, a.n, 4}), a({2, 4, 3}, 1)}; });
  add("linear", [](const Asked& a) { return Args{a({2, a.n, 4}), a({3, 4}, 1), a({3}, 2)}; });
  add("linear", [](const Asked& a) { return Args{a({4}), a({a.n, 4}, 1), kNone}; });
  add("addmm", [](const Asked& a) { return Args{a({3}), a({a.n, 4}, 1), a({4, 3}, 2), Scalar(0.5), Scalar(2.0)}; });
  const std::pair<Ints, Ints> kMatmul[] = {
      {{4}, {4}},          {{4}, {4, 3}},       {{2, 4}, {4}},    {{2, 1, 2, 4}, {3, 4, 3}},
      {{3, 2, 4}, {4, 3}}, {{2, 4}, {3, 4, 2}}, {{4}, {2, 4, 3}}, {{2, 3, 4}, {4}}};
  for (const auto& [x, y] : kMatmul)
    add("matmul", [x = x, y = y](const Asked& a) {
      Ints p = x, q = y;
      (p.size() > 1 ? p : q)[p.size() > 1 ? 0 : q.size() - 1] = p.size() > 1 || q.size() > 1 ? Int(a.n) : Int(4);
      return Args{a(p), a(q, 1)};
    });
  add("scaled_mm", [](const Asked& a) {
    return Args{a({a.n, 8}), numbers({8, 6}, kInt8, 1), a({}, 2).abs() + 0.5, a({1, 6}, 3), a({6}, 4), kFloat32, kNone};
  });
  add("scaled_mm", [](const Asked& a) {
    return Args{a({a.n, 7}), numbers({7, 6}, kInt8, 1), a({a.n, 2}, 2), a({2, 3}, 3), kNone, kFloat32, List{4, 2}};
  });
  auto attention = [&](const Ints& k, const Ints& v, std::function<OpArg(const Asked&)> mask, bool causal, OpArg scale,
                       bool grouped) {
    add("scaled_dot_product_attention", [=](const Asked& a) {
      return Args{a({2, 4, a.n, 3}) * 0.5, a(k, 1) * 0.5, a(v, 2), mask(a), Scalar(0.0), causal, scale, grouped};
    });
  };
  auto no_mask = [](const Asked&) { return kNone; };
  attention({2, 4, 5, 3}, {2, 4, 5, 2}, no_mask, false, kNone, false);
  attention({2, 4, 3, 3}, {2, 4, 3, 2}, no_mask, true, Scalar(0.25), false);
  attention({2, 2, 5, 3}, {2, 2, 5, 2}, no_mask, false, kNone, true);
  attention(
      {2, 4, 5, 3}, {2, 4, 5, 2},
      [](const Asked& a) {
        return a({2, 1, a.n, 5}, 3);
      },
      false, kNone, false);
  // One query sees no key.
  attention(
      {2, 4, 5, 3}, {2, 4, 5, 2},
      [](const Asked& a) {
        return logical_and(numbers({a.n, 5}, kBool), unsqueeze(arange(a.n) > 0, 1).to(test_device()));
      },
      false, kNone, false);
}

void indexing(std::vector<RowCase>& all) {
  auto add = [&](const char* name, RowArgs args) { all.push_back(row(name, std::move(args))); };
  add("embedding", [](const Asked& a) { return Args{a({4, 3}), places({a.n, 2}, 4)}; });
  for (std::int64_t dim : {0, -1}) {
    add("index_select", [dim](const Asked& a) { return Args{a({3, 4}), Int(dim), places({a.n}, 3)}; });
    add("gather", [dim](const Asked& a) { return Args{a({3, a.n + 2}), Int(dim), places({2, a.n}, 3)}; });
    add("scatter_add", [dim](const Asked& a) {
      return Args{a({3, a.n + 2}), Int(dim), places({2, a.n}, 3), a({2, a.n + 1}, 1)};
    });
  }
  add("scatter", [](const Asked& a) {
    return Args{a({3, a.n}), Int(0), remainder(arange(a.n), 3).view({1, a.n}).to(test_device()), a({1, a.n}, 1)};
  });
  add("scatter", [](const Asked& a) { return Args{a({3, a.n}), Int(0), places({1, a.n}, 3), Scalar(1.5)}; });
  for (const char* reduce : {"sum", "prod", "amax", "amin"})
    for (bool include : {true, false})
      add("scatter_reduce", [=](const Asked& a) {
        return Args{a({3, a.n + 1}), Int(0), places({2, a.n}, 3), a({2, a.n}, 1), std::string(reduce), include};
      });
  add("index", [](const Asked& a) { return Args{a({4, 3}), std::vector<Tensor>{places({a.n, 2}, 4)}}; });
  add("index", [](const Asked& a) {
    return Args{a({4, 3, 2}), std::vector<Tensor>{places({a.n}, 4), Tensor(), places({a.n}, 2, 1)}};
  });
  add("index_put", [](const Asked& a) {
    return Args{a({4, 3}), std::vector<Tensor>{places({a.n, 2}, 4)}, a({3}, 1), true};
  });
  add("index_put", [](const Asked& a) {
    return Args{a({a.n, 3}), std::vector<Tensor>{arange(a.n).to(test_device())}, a({a.n, 3}, 1), false};
  });
  add("topk", [](const Asked& a) { return Args{a({3, a.n + 1}), Int(2), Int(-1), true, true}; });
  add("sort", [](const Asked& a) { return Args{a({3, a.n}), Int(1), true}; });
}

void layouts(std::vector<RowCase>& all) {
  auto add = [&](const char* name, RowArgs args) { all.push_back(row(name, std::move(args))); };
  add("cat", [](const Asked& a) { return Args{std::vector<Tensor>{a({a.n, 3}), a({2, 3}, 1), a({0, 3})}, Int(0)}; });
  add("cat", [](const Asked& a) { return Args{std::vector<Tensor>{a({2, a.n}), a({2, 3}, 1)}, Int(-1)}; });
  add("slice_scatter", [](const Asked& a) {
    return Args{a({a.n, 5}), a({a.n, 2}, 1), Int(1), Int(1), Int(4), Int(2)};
  });
  add("select_scatter", [](const Asked& a) { return Args{a({a.n, 5}), a({a.n}, 1), Int(1), Int(-1)}; });
  add("diagonal_scatter", [](const Asked& a) { return Args{a({a.n + 2, 3}), a({2}, 1), Int(1), Int(0), Int(1)}; });
  add("as_strided_scatter", [](const Asked& a) {
    return Args{a({a.n, 4}), a({2, 2}, 1), List{2, 2}, List{2, 1}, Int(0)};
  });
  add("alias", [](const Asked& a) { return Args{a({a.n, 3})}; });
  add("view", [](const Asked& a) { return Args{a({a.n, 6}).contiguous(), List{a.n * 2, 3}}; });
  add("permute", [](const Asked& a) { return Args{a({a.n, 3, 2}), List{2, 0, -2}}; });
  add("slice", [](const Asked& a) { return Args{a({3, a.n + 2}), Int(1), Int(1), kNone, Int(2)}; });
  add("select", [](const Asked& a) { return Args{a({3, a.n}), Int(0), Int(-1)}; });
  add("squeeze", [](const Asked& a) { return Args{a({a.n, 1, 3, 1}), List{1}}; });
  add("squeeze", [](const Asked& a) { return Args{a({a.n, 1, 3, 1}), kNone}; });
  add("unsqueeze", [](const Asked& a) { return Args{a({a.n, 3}), Int(-2)}; });
  add("expand", [](const Asked& a) { return Args{a({a.n, 1}), List{2, a.n, 3}}; });
  // places overlap
  add("as_strided", [](const Asked& a) {
    return Args{a({a.n + 3, 4}).contiguous(), List{3, 2, 2}, List{2, 1, 1}, Int(1)};
  });
  add("diagonal", [](const Asked& a) { return Args{a({a.n + 2, 3, 2}), Int(-1), Int(0), Int(1)}; });
}

}  // namespace

std::vector<RowCase> built_in_derivative_cases() {
  std::vector<RowCase> all;
  for (void (*part)(std::vector<RowCase>&) : {pointwise, reductions, products, indexing, layouts}) part(all);
  return all;
}

}  // namespace reprise::test
