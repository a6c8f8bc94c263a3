// Operators of sequence models (sets 23 to 28) against loops in plain C++, over their attributes. Each runs eagerly and
// compiled, at two lengths.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "reprise/compile.h"
#include "reprise/onnx.h"
#include "reprise/ops.h"
#include "tests/onnx/model_file.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

namespace file = onnx_file;
using file::attribute;
using file::node;
using file::value;
using Attributes = std::vector<file::Message>;
using Reals = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();

file::Message whole(const char* name, std::int64_t v) { return attribute(name, v); }

/// A model of one node whose inputs are all given in the call; "" is left out.
std::string one_node(const std::string& op, int set, const Attributes& attributes, const file::Names& inputs,
                     const std::vector<Tensor>& given, int results) {
  file::Graph g;
  std::size_t next = 0;
  for (const std::string& name : inputs) {
    if (name.empty()) continue;
    const Tensor& t = given[next++];
    const int element = t.dtype() == kFloat32 ? file::kFloat : t.dtype() == kBool ? file::kBool : file::kInt64;
    g.inputs.push_back(value(name, element, std::vector<file::Dim>(static_cast<std::size_t>(t.dim()), "d")));
  }
  file::Names made;
  for (int i = 0; i < results; ++i) {
    made.push_back("y" + std::to_string(i));
    g.outputs.push_back(file::Message().text(1, made.back()));
  }
  g.nodes = {node(op, inputs, made, attributes, "the_node")};
  return file::model(g, set);
}

Tensor waves(IntArrayRef sizes, double step) {
  Int n = 1;
  for (Int d : sizes) n *= d;
  return sin(arange(n, {.dtype = kFloat32}) * step + 0.3).view(sizes);
}

struct AttentionCase {
  const char* name;
  std::int64_t q_heads = 2, kv_heads = 2, past = -1;
  int mask =
      0;  ///< 1: bools [L, T]; 2: floats [heads, L, T]; 3: floats that end one key early; 4: bools, a row of none
  bool padded = false;  ///< nonpad_kv_seqlen
  double softcap = 0, scale = 0;
  bool causal = false;
  std::int64_t left = -1, right = -1;
  int mode = 0;
};

/// y and what is between the products, by loops.
std::pair<Reals, Reals> by_loops(const AttentionCase& k, const Tensor& q, const Tensor& key, const Tensor& v,
                                 const std::optional<Tensor>& mask, const std::vector<std::int64_t>& held) {
  const std::int64_t B = q.size(0).value(), H = q.size(1).value(), L = q.size(2).value(), E = q.size(3).value(),
                     G = key.size(1).value(), T = key.size(2).value(), V = v.size(3).value();
  const auto a = q.to_vector<float>(), b = key.to_vector<float>(), c = v.to_vector<float>();
  std::vector<double> m;
  if (mask) m = mask->to(kFloat64).to_vector<double>();
  const std::int64_t M = mask ? mask->size(-1).value() : 0;
  const double scale = k.scale > 0 ? k.scale : 1 / std::sqrt(static_cast<double>(E));
  Reals y, between;
  for (std::int64_t n = 0; n < B; ++n)
    for (std::int64_t h = 0; h < H; ++h)
      for (std::int64_t i = 0; i < L; ++i) {
        const std::int64_t g = h / (H / G), offset = k.padded ? held[static_cast<std::size_t>(n)] - L
                                                              : std::max<std::int64_t>(k.past, 0);
        Reals score, p;
        double most = -kInf, sum = 0;
        for (std::int64_t j = 0; j < T; ++j) {
          double s = 0;
          for (std::int64_t e = 0; e < E; ++e)
            s += static_cast<double>(a[static_cast<std::size_t>(((n * H + h) * L + i) * E + e)]) *
                 static_cast<double>(b[static_cast<std::size_t>(((n * G + g) * T + j) * E + e)]);
          s *= scale;
          if (k.mode == 0) between.push_back(s);
          if (k.softcap > 0) s = k.softcap * std::tanh(s / k.softcap);
          if (k.mode == 1) between.push_back(s);
          if (mask) {
            const std::int64_t row = mask->dim() == 2 ? i : h * L + i;
            const double entry = j < M ? m[static_cast<std::size_t>(row * M + j)] : k.mask == 1 ? 0 : -kInf;
            if (mask->dtype() == kBool) s = entry != 0 ? s : -kInf;
            else s += entry;
          }
          if (k.padded && j >= held[static_cast<std::size_t>(n)]) s = -kInf;
          if (k.causal && j > i + offset) s = -kInf;
          if (k.left >= 0 && j < i + offset - k.left) s = -kInf;
          if (k.right >= 0 && j > i + offset + k.right) s = -kInf;
          if (k.mode == 2) between.push_back(s);
          score.push_back(s), most = std::max(most, s);
        }
        for (double s : score) p.push_back(most == -kInf ? 0 : std::exp(s - most)), sum += p.back();
        for (double& s : p) s = sum > 0 ? s / sum : 0;
        if (k.mode == 3) between.insert(between.end(), p.begin(), p.end());
        for (std::int64_t e = 0; e < V; ++e) {
          double s = 0;
          for (std::int64_t j = 0; j < T; ++j)
            s += p[static_cast<std::size_t>(j)] *
                 static_cast<double>(c[static_cast<std::size_t>(((n * G + g) * T + j) * V + e)]);
          y.push_back(s);
        }
      }
  return {y, between};
}

void near(const Tensor& got, const Reals& wanted, const std::string& what) {
  const std::vector<float> all = got.contiguous().to_vector<float>();
  ASSERT_EQ(all.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (std::isinf(wanted[i]) && static_cast<double>(all[i]) == wanted[i]) continue;
    ASSERT_NEAR(static_cast<double>(all[i]), wanted[i], 2e-5) << what << ", element " << i;
  }
}

TEST(OnnxAttention, IsWhatLoopsGive) {
  const AttentionCase all[] = {
      {.name = "plain"},
      {.name = "scaled, causal", .scale = 0.3, .causal = true},
      {.name = "groups of heads", .q_heads = 4},
      {.name = "one head of keys, mask of bools", .q_heads = 3, .kv_heads = 1, .mask = 1},
      {.name = "mask of floats by head, causal", .mask = 2, .causal = true},
      {.name = "mask that ends early", .mask = 3},
      {.name = "a row that sees nothing", .mask = 4},
      {.name = "past, causal", .past = 3, .causal = true},
      {.name = "past, soft cap, probabilities", .past = 2, .mask = 2, .softcap = 0.7, .mode = 3},
      {.name = "padded keys", .padded = true},
      {.name = "padded keys, causal, bools", .mask = 1, .padded = true, .causal = true},
      {.name = "a window", .left = 1, .right = 1},
      {.name = "a window and a past", .past = 2, .causal = true, .left = 1},
      {.name = "a window of padded keys", .mask = 1, .padded = true, .left = 2, .right = 0},
      {.name = "scores", .mask = 1, .softcap = 0.5, .mode = 0},
      {.name = "scores with a cap", .softcap = 0.5, .mode = 1},
      {.name = "scores with a mask", .mask = 4, .causal = true, .mode = 2},
      {.name = "probabilities of a row that sees nothing", .mask = 4, .mode = 3},
  };
  for (const AttentionCase& k : all)
    for (const bool rows : {false, true}) {
      Attributes attributes{whole("is_causal", k.causal), whole("qk_matmul_output_mode", k.mode),
                            attribute("softcap", static_cast<float>(k.softcap))};
      if (k.scale > 0) attributes.push_back(attribute("scale", static_cast<float>(k.scale)));
      if (rows)
        attributes.push_back(whole("q_num_heads", k.q_heads)), attributes.push_back(whole("kv_num_heads", k.kv_heads));
      if (k.left >= 0) attributes.push_back(whole("left_window_size", k.left));
      if (k.right >= 0) attributes.push_back(whole("right_window_size", k.right));
      const bool steps = k.softcap > 0 || k.mode > 0;
      std::optional<onnx::CompiledModel> compiled;
      std::optional<onnx::Model> model;
      for (const std::int64_t length : {3, 5}) {
        SCOPED_TRACE(std::string(k.name) + (rows ? ", rows" : "") + " of " + std::to_string(length));
        const std::int64_t keys = length + 1;
        const Tensor q = waves({2, k.q_heads, length, 4}, 0.7), key = waves({2, k.kv_heads, keys, 4}, 1.1),
                     v = waves({2, k.kv_heads, keys, 3}, 0.4);
        const auto in_rows = [&](const Tensor& t) {
          return rows ? t.transpose(1, 2).reshape({t.size(0), t.size(2), t.size(1) * t.size(3)}) : t;
        };
        file::Names names{"q", "k", "v"};
        std::vector<Tensor> given{in_rows(q), in_rows(key), in_rows(v)};
        Tensor present = key, values = v;
        if (k.past >= 0) {
          const Tensor pk = waves({2, k.kv_heads, k.past, 4}, 0.2), pv = waves({2, k.kv_heads, k.past, 3}, 0.9);
          present = cat({pk, key}, 2), values = cat({pv, v}, 2);
        }
        const std::int64_t total = present.size(2).value();
        std::optional<Tensor> mask;
        if (k.mask == 1) mask = waves({length, total}, 2.3) > -0.5;
        if (k.mask == 2) mask = waves({k.q_heads, length, total}, 1.7);
        if (k.mask == 3) mask = waves({length, total - 1}, 1.7);
        if (k.mask == 4) mask = (arange(length) != 1).unsqueeze(1).expand({length, total}).contiguous();
        names.push_back(mask ? "m" : "");
        if (mask) given.push_back(*mask);
        for (const char* name : {"pk", "pv"}) names.push_back(k.past >= 0 ? name : "");
        if (k.past >= 0)
          given.push_back(present.slice(2, 0, k.past).contiguous()),
              given.push_back(values.slice(2, 0, k.past).contiguous());
        std::vector<std::int64_t> held{keys - 1, 2};
        if (k.padded) names.push_back("n"), given.push_back(tensor_of(held));
        if (!model) {
          model = onnx::load_bytes(one_node("Attention", 25, attributes, names, given, steps ? 4 : 3));
          compiled.emplace(*model, CompileOptions{});
        }
        const auto [y, between] = by_loops(k, q, present, values, mask, held);
        for (const std::vector<Tensor>& got : {(*model)(given), (*compiled)(given)}) {
          const Tensor heads = rows ? got[0].view({2, length, k.q_heads, 3}).transpose(1, 2) : got[0];
          near(heads, y, "y");
          EXPECT_TRUE(equal(got[1], present));
          EXPECT_TRUE(equal(got[2], values));
          if (steps) near(got[3], between, "between the products");
        }
      }
      EXPECT_EQ(compiled->stats().eager_fallbacks, 0) << k.name;
      EXPECT_EQ(compiled->stats().compilations, 1) << k.name;
    }
}

/// One node at two lengths, eagerly and compiled once.
template <class Given, class Wanted>
void at_two_lengths(const std::string& op, int set, const Attributes& attributes, const file::Names& names, int results,
                    Given&& given, Wanted&& wanted, std::int64_t compilations = 1) {
  std::optional<onnx::Model> model;
  std::optional<onnx::CompiledModel> compiled;
  for (const std::int64_t length : {3, 5}) {
    SCOPED_TRACE(op + " of " + std::to_string(length));
    const std::vector<Tensor> in = given(length), expected = wanted(in, length);
    if (!model) {
      model = onnx::load_bytes(one_node(op, set, attributes, names, in, results));
      compiled.emplace(*model, CompileOptions{});
    }
    for (const std::vector<Tensor>& got : {(*model)(in), (*compiled)(in)})
      for (std::size_t i = 0; i < expected.size(); ++i) {
        ASSERT_EQ(got[i].sizes(), expected[i].sizes());
        EXPECT_TRUE(allclose(got[i], expected[i], 1e-5, 1e-6)) << got[i].str() << " expected " << expected[i].str();
      }
  }
  EXPECT_EQ(compiled->stats().eager_fallbacks, 0) << compiled->explain(Detail::Summary);
  EXPECT_EQ(compiled->stats().compilations, compilations);
}

TEST(OnnxAttention, RotaryEmbeddingsTurnPairs) {
  for (const bool rows : {false, true})
    for (const bool pairs : {false, true})
      for (const std::int64_t dim : {0, 4})
        for (const bool placed : {false, true}) {
          const std::int64_t half = (dim ? dim : 6) / 2;
          Attributes attributes{whole("interleaved", pairs), whole("rotary_embedding_dim", dim)};
          if (rows) attributes.push_back(whole("num_heads", 2));
          at_two_lengths(
              "RotaryEmbedding", 23, attributes, placed ? file::Names{"x", "c", "s", "p"} : file::Names{"x", "c", "s"},
              1,
              [&](std::int64_t n) {
                std::vector<Tensor> in{rows ? waves({2, n, 12}, 0.7) : waves({2, 2, n, 6}, 0.7)};
                const Ints sizes = placed ? Ints{9, half} : Ints{2, n, half};
                in.push_back(waves(sizes, 0.3)), in.push_back(waves(sizes, 0.5));
                if (placed) in.push_back(((arange(2 * n) * 5) % 9).view({2, n}));
                return in;
              },
              [&](const std::vector<Tensor>& in, std::int64_t n) {
                const Tensor x = rows ? in[0].view({2, n, 2, 6}).transpose(1, 2).contiguous() : in[0];
                const auto v = x.to_vector<float>(), c = in[1].to_vector<float>(), s = in[2].to_vector<float>();
                std::vector<std::int64_t> at;
                if (placed) at = in[3].to_vector<std::int64_t>();
                std::vector<float> y = v;
                for (std::int64_t b = 0; b < 2; ++b)
                  for (std::int64_t h = 0; h < 2; ++h)
                    for (std::int64_t t = 0; t < n; ++t)
                      for (std::int64_t i = 0; i < half; ++i) {
                        const std::size_t row = static_cast<std::size_t>(((b * 2 + h) * n + t) * 6),
                                          from = row + static_cast<std::size_t>(pairs ? 2 * i : i),
                                          to = row + static_cast<std::size_t>(pairs ? 2 * i + 1 : i + half),
                                          cell = static_cast<std::size_t>(
                                              (placed ? at[static_cast<std::size_t>(b * n + t)] : b * n + t) * half +
                                              i);
                        y[from] = c[cell] * v[from] - s[cell] * v[to];
                        y[to] = s[cell] * v[from] + c[cell] * v[to];
                      }
                const Tensor made = tensor_of(y, {2, 2, n, 6});
                return std::vector<Tensor>{rows ? made.transpose(1, 2).reshape({2, n, 12}) : made};
              });
        }
}

TEST(OnnxAttention, CachesAreWrittenWhereIndicesSay) {
  for (const std::int64_t axis : {-2, 1})
    for (const bool circular : {false, true}) {
      const Attributes attributes{whole("axis", axis),
                                  attribute("mode", std::string(circular ? "circular" : "linear"))};
      const std::vector<std::int64_t> first{circular ? 6 : 1, 2};
      at_two_lengths(
          "TensorScatter", 24, attributes, {"p", "u", "w"}, 1,
          [&](std::int64_t n) {
            return std::vector<Tensor>{waves(axis == 1 ? Ints{2, 8, 2, 3} : Ints{2, 2, 8, 3}, 0.7),
                                       waves(axis == 1 ? Ints{2, n, 2, 3} : Ints{2, 2, n, 3}, 0.3) + 5,
                                       tensor_of(first)};
          },
          [&](const std::vector<Tensor>& in, std::int64_t n) {
            Tensor y = in[0].clone();
            for (std::int64_t b = 0; b < 2; ++b)
              for (std::int64_t t = 0; t < n; ++t) {
                const std::int64_t at = (first[static_cast<std::size_t>(b)] + t) % 8;
                const int d = axis == 1 ? 0 : 1;
                y.select(0, b).select(d, at).copy_(in[1].select(0, b).select(d, t));
              }
            return std::vector<Tensor>{y};
          });
    }
  const auto bad = [&](const Tensor& update, std::int64_t place, const char* told) {
    const std::vector<Tensor> in{zeros({1, 2, 4, 3}), update, tensor_of(std::vector<std::int64_t>{place})};
    const onnx::Model m = onnx::load_bytes(one_node("TensorScatter", 24, {}, {"p", "u", "w"}, in, 1));
    const Error e = error_of([&] { m(in); });
    EXPECT_NE(e.message().find(told), std::string::npos) << e.what();
    EXPECT_NE(e.message().find("(node 'the_node', TensorScatter of set 24)"), std::string::npos) << e.what();
  };
  bad(ones({1, 2, 2, 3}), 3, "index 4");
  bad(ones({1, 2, 5, 3}), 0, "writes 5 into 4");
  bad(ones({1, 3, 2, 3}), 0, "writes 3 into 2");
}

TEST(OnnxAttention, RecurrencesKeepTheirState) {
  for (const bool past : {false, true})
    at_two_lengths(
        "CausalConvWithState", 27, {attribute("activation", std::string(past ? "silu" : "none"))},
        past ? file::Names{"x", "w", "b", "s"} : file::Names{"x", "w"}, 2,
        [&](std::int64_t n) {
          std::vector<Tensor> in{waves({2, 3, n}, 0.7), waves({3, 1, 3}, 0.3)};
          if (past) in.push_back(waves({3}, 1.0)), in.push_back(waves({2, 3, 2}, 0.9));
          return in;
        },
        [&](const std::vector<Tensor>& in, std::int64_t n) {
          const Tensor all = cat({past ? in[3] : zeros({2, 3, 2}), in[0]}, 2);
          Tensor y = zeros({2, 3, n});
          for (int k = 0; k < 3; ++k) y = y + all.slice(2, k, k + n) * in[1].select(2, k).view({1, 3, 1});
          if (past) y = y + in[2].view({1, 3, 1}), y = y * sigmoid(y);
          return std::vector<Tensor>{y, all.slice(2, n)};
        });
  for (const char* rule : {"linear", "gated", "delta", "gated_delta"}) {
    const std::string r = rule;
    const bool gated = r.starts_with("gated"), corrects = r.ends_with("delta");
    at_two_lengths(
        "LinearAttention", 27,
        {whole("q_num_heads", 4), whole("kv_num_heads", 2), attribute("update_rule", r),
         attribute("scale", gated ? 0.5f : 0.f)},
        {"q", "k", "v", gated ? "s" : "", gated ? "g" : "", corrects ? "b" : ""}, 2,
        [&](std::int64_t n) {
          std::vector<Tensor> in{waves({1, n, 12}, 0.7), waves({1, n, 6}, 0.3), waves({1, n, 4}, 0.5)};
          if (gated) in.push_back(waves({1, 2, 3, 2}, 0.8)), in.push_back(waves({1, n, corrects ? 2 : 6}, 1.1) - 1);
          if (corrects) in.push_back(sigmoid(waves({1, n, gated ? 1 : 2}, 0.9)));
          return in;
        },
        [&](const std::vector<Tensor>& in, std::int64_t n) {
          const double scale = gated ? 0.5 : 1 / std::sqrt(3.0);
          Tensor state = gated ? in[3].clone() : zeros({1, 2, 3, 2}), y = zeros({1, n, 8});
          const Tensor beta = corrects ? in.back() : Tensor();
          for (std::int64_t t = 0; t < n; ++t)
            for (std::int64_t h = 0; h < 2; ++h) {
              const Tensor k = in[1][0][t].slice(0, 3 * h, 3 * h + 3).unsqueeze(1),
                           v = in[2][0][t].slice(0, 2 * h, 2 * h + 2).unsqueeze(0);
              Tensor s = state[0][h].clone();
              if (gated) {
                const Tensor g = in[4][0][t];
                s = s * exp(corrects ? g[h] : g.slice(0, 3 * h, 3 * h + 3).unsqueeze(1));
              }
              Tensor add = v;
              if (corrects) add = beta[0][t][gated ? 0 : h] * (v - matmul(k.t(), s));
              s = s + matmul(k, add);
              state[0][h].copy_(s);
              for (std::int64_t q = 2 * h; q < 2 * h + 2; ++q)
                y[0][t]
                    .slice(0, 2 * q, 2 * q + 2)
                    .copy_(matmul(in[0][0][t].slice(0, 3 * q, 3 * q + 3).unsqueeze(0), s)[0] * scale);
            }
          return std::vector<Tensor>{y, state};
        },
        2);  // turns are traced one by one
  }
}

}  // namespace
}  // namespace reprise::test
