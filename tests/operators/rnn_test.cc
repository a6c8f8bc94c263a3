#include "reprise/rnn.h"

#include <gtest/gtest.h>

#include "tests/operators/rows_reference.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

enum class Kind : std::uint8_t { Lstm, Gru, Tanh, Relu };
std::int64_t gates_of(Kind k) { return k == Kind::Lstm ? 4 : k == Kind::Gru ? 3 : 1; }

std::vector<Tensor> weights(Kind kind, std::int64_t inputs, std::int64_t hidden, std::int64_t layers, bool both,
                            bool biases, DType t) {
  std::vector<Tensor> w;
  std::int64_t seed = 0;
  for (std::int64_t l = 0; l < layers; ++l)
    for (int d = 0; d < (both ? 2 : 1); ++d) {
      const std::int64_t n = gates_of(kind) * hidden, m = l ? hidden * (both ? 2 : 1) : inputs;
      w.push_back(numbers({n, m}, t, ++seed) / 4), w.push_back(numbers({n, hidden}, t, ++seed) / 4);
      if (biases) w.push_back(numbers({n}, t, ++seed) / 4), w.push_back(numbers({n}, t, ++seed) / 4);
    }
  return w;
}

struct Made {
  Tensor outputs, h, c;
};
Made run(Kind kind, const Tensor& x, const Tensor& h, const Tensor& c, const std::vector<Tensor>& w, bool biases,
         std::int64_t layers, bool both, bool batch_first) {
  if (kind == Kind::Lstm) {
    const auto [o, hn, cn] = lstm(x, h.defined() ? std::vector<Tensor>{h, c} : std::vector<Tensor>{}, w, biases, layers,
                                  0.5, false, both, batch_first);
    return {o, hn, cn};
  }
  const auto [o, hn] =
      (kind == Kind::Gru    ? gru
       : kind == Kind::Tanh ? rnn_tanh
                            : rnn_relu)(x, h, w, biases, layers, 0.5, false, both, batch_first, SourceLoc::current());
  return {o, hn, {}};
}

/// One layer and direction in double, by loops: x[t][b][inputs] to [t][b][hidden], the states changed.
using Steps = std::vector<std::vector<Row>>;
Steps by_loops(Kind kind, const Steps& x, std::vector<Row>& h, std::vector<Row>& c, const Tensor* w, bool biases,
               bool reverse) {
  const std::size_t hidden = h[0].size(), gates = static_cast<std::size_t>(gates_of(kind));
  const Row wi = w[0].to_vector<double>(), wh = w[1].to_vector<double>(),
            bi = biases ? w[2].to_vector<double>() : Row(gates * hidden),
            bh = biases ? w[3].to_vector<double>() : Row(gates * hidden);
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  Steps out(x.size(), std::vector<Row>(h.size(), Row(hidden)));
  for (std::size_t s = 0; s < x.size(); ++s) {
    const std::size_t t = reverse ? x.size() - 1 - s : s;
    for (std::size_t b = 0; b < h.size(); ++b) {
      Row p(gates * hidden), q(gates * hidden);
      for (std::size_t r = 0; r < p.size(); ++r) {
        p[r] = bi[r], q[r] = bh[r];
        for (std::size_t k = 0; k < x[t][b].size(); ++k) p[r] += wi[r * x[t][b].size() + k] * x[t][b][k];
        for (std::size_t k = 0; k < hidden; ++k) q[r] += wh[r * hidden + k] * h[b][k];
      }
      for (std::size_t k = 0; k < hidden; ++k) {
        auto sum = [&](std::size_t g) { return p[g * hidden + k] + q[g * hidden + k]; };
        if (kind == Kind::Lstm) {
          c[b][k] = sigmoid(sum(1)) * c[b][k] + sigmoid(sum(0)) * std::tanh(sum(2));
          out[t][b][k] = sigmoid(sum(3)) * std::tanh(c[b][k]);
        } else if (kind == Kind::Gru) {
          const double z = sigmoid(sum(1)), n = std::tanh(p[2 * hidden + k] + sigmoid(sum(0)) * q[2 * hidden + k]);
          out[t][b][k] = (1 - z) * n + z * h[b][k];
        } else {
          out[t][b][k] = kind == Kind::Tanh ? std::tanh(sum(0)) : std::max(sum(0), 0.0);
        }
      }
      h[b] = out[t][b];
    }
  }
  return out;
}
Steps steps_of(const Tensor& t) {
  Steps s;
  const Row v = t.to_vector<double>();
  const std::size_t n = static_cast<std::size_t>(t.size(0).value()), b = static_cast<std::size_t>(t.size(1).value()),
                    k = static_cast<std::size_t>(t.size(2).value());
  for (std::size_t i = 0; i < n; ++i) {
    s.emplace_back();
    for (std::size_t j = 0; j < b; ++j)
      s.back().emplace_back(v.begin() + static_cast<std::ptrdiff_t>((i * b + j) * k),
                            v.begin() + static_cast<std::ptrdiff_t>((i * b + j + 1) * k));
  }
  return s;
}
Tensor tensor_of_steps(const Steps& s) {
  Row v;
  for (const auto& a : s)
    for (const Row& r : a) v.insert(v.end(), r.begin(), r.end());
  return tensor_of(v, {static_cast<std::int64_t>(s.size()), static_cast<std::int64_t>(s[0].size()),
                       static_cast<std::int64_t>(s[0][0].size())});
}

TEST(Rnn, AgreeWithTheirRecurrence) {
  const std::int64_t time = 4, batch = 2, inputs = 3, hidden = 5, layers = 2;
  for (DType t : kFloats)
    for (Kind kind : {Kind::Lstm, Kind::Gru, Kind::Tanh, Kind::Relu})
      for (bool both : {false, true})
        for (bool biases : {false, true}) {
          SCOPED_TRACE(static_cast<int>(kind));
          const std::int64_t states = layers * (both ? 2 : 1);
          const std::vector<Tensor> w = weights(kind, inputs, hidden, layers, both, biases, t);
          const Tensor x = numbers({time, batch, inputs}, t), h = numbers({states, batch, hidden}, t, 7) / 2,
                       c = numbers({states, batch, hidden}, t, 8) / 2;
          Steps in = steps_of(x), hs = steps_of(h), cs = steps_of(c);
          std::size_t at = 0;
          for (std::size_t l = 0, s = 0; l < static_cast<std::size_t>(layers); ++l) {
            Steps out(in.size(), std::vector<Row>(static_cast<std::size_t>(batch)));
            for (int d = 0; d < (both ? 2 : 1); ++d, ++s, at += biases ? 4 : 2) {
              const Steps part = by_loops(kind, in, hs[s], cs[s], &w[at], biases, d == 1);
              for (std::size_t i = 0; i < out.size(); ++i)
                for (std::size_t b = 0; b < out[i].size(); ++b)
                  out[i][b].insert(out[i][b].end(), part[i][b].begin(), part[i][b].end());
            }
            in = out;
          }
          const double allowed = t == kFloat64 ? 1e-12 : 1e-5;
          const Made r = run(kind, x, h, c, w, biases, layers, both, false),
                     f = run(kind, x.transpose(0, 1), h, c, w, biases, layers, both, true),
                     one = run(kind, x.select(1, 1), h.select(1, 1), c.select(1, 1), w, biases, layers, both, false);
          expect_same({r.outputs, r.h}, {tensor_of_steps(in).to(t), tensor_of_steps(hs).to(t)}, allowed, allowed);
          expect_same({f.outputs.transpose(0, 1), f.h, one.outputs, one.h},
                      {r.outputs, r.h, r.outputs.select(1, 1), r.h.select(1, 1)}, 1e-5, 1e-5);
          if (kind == Kind::Lstm) expect_same({r.c}, {tensor_of_steps(cs).to(t)}, allowed, allowed);
          expect_same({run(kind, x, {}, {}, w, biases, layers, both, false).outputs},
                      {run(kind, x, h * 0, c * 0, w, biases, layers, both, false).outputs}, 0, 0);
        }
}

TEST(Rnn, ACellIsAStep) {
  for (DType t : kFloats) {
    const Tensor x = numbers({1, 4, 3}, t), h = numbers({1, 4, 5}, t, 7) / 2, c = numbers({1, 4, 5}, t, 8) / 2;
    for (Kind kind : {Kind::Lstm, Kind::Gru, Kind::Tanh, Kind::Relu}) {
      const std::vector<Tensor> w = weights(kind, 3, 5, 1, false, true, t);
      const Made r = run(kind, x, h, c, w, true, 1, false, false);
      const Tensor x0 = x.select(0, 0), h0 = h.select(0, 0), c0 = c.select(0, 0);
      Tensor made;
      if (kind == Kind::Lstm) {
        const auto [hn, cn] = lstm_cell(x0, {h0, c0}, w[0], w[1], w[2], w[3]);
        expect_same({cn}, {r.c.select(0, 0)}, 1e-5, 1e-5);
        made = hn;
      } else {
        made = (kind == Kind::Gru    ? gru_cell
                : kind == Kind::Tanh ? rnn_tanh_cell
                                     : rnn_relu_cell)(x0, h0, w[0], w[1], w[2], w[3], SourceLoc::current());
      }
      expect_same({made}, {r.h.select(0, 0)}, 1e-5, 1e-5);
    }
  }
}

TEST(Rnn, CompileOnceForAllLengths) {
  const std::vector<Tensor> w = weights(Kind::Lstm, 3, 5, 2, true, true, kFloat32),
                            g = weights(Kind::Gru, 3, 5, 1, false, true, kFloat32);
  expect_compiled(
      [&](const std::vector<Tensor>& a) {
        const auto [o, h, c] = lstm(a[0] * 2, {}, w, true, 2, 0, false, true);
        const auto [p, q] = gru(a[0], a[1], g);
        return std::vector<Tensor>{o + 1, h, c,
                                   p,     q, gru_cell(a[0].select(0, 0), a[1].select(0, 0), g[0], g[1], g[2], g[3])};
      },
      [](std::int64_t n) {
        return std::vector<Tensor>{numbers({n, 4, 3}), numbers({1, 4, 5})};
      },
      {3, 7, 20, 1});
  auto f = compile([&](Tensor x) { return std::get<0>(lstm(x, {}, w, true, 2, 0, false, true, true)); });
  for (std::int64_t n : {3, 6, 40}) f(numbers({n + 1, n, 3}));
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Rnn, RefuseWhatDoesNotFit) {
  const std::vector<Tensor> w = weights(Kind::Gru, 3, 5, 1, false, true, kFloat32);
  const Tensor x = zeros({4, 2, 3}).to(test_device());
  EXPECT_EQ(error_of([&] { gru(x, {}, w, true, 2); }).message(),
            "2 layers of 1 directions have 8 weights and biases, got 4");
  EXPECT_EQ(error_of([&] {
              gru(x, zeros({1, 3, 5}).to(test_device()), w);
            }).message(),
            "hx has sizes [1, 3, 5], expected [1, 2, 5]");
  EXPECT_EQ(error_of([&] { gru(zeros({0, 2, 3}).to(test_device()), {}, w); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { gru(zeros({4, 2, 4}).to(test_device()), {}, w); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { gru(x.to(kInt64), {}, w); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { rnn_tanh(x, {}, w); }).op(), "rnn_tanh");
  EXPECT_EQ(error_of([&] { lstm(x, {x}, w); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { gru(x, {}, w, true, 1, 2.0); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([&] { gru_cell(x, x, w[0], w[1]); }).code(), ErrorCode::ShapeMismatch);
}

}  // namespace
}  // namespace reprise::test
