#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reprise/nn.h"
#include "reprise/rnn.h"

/// Recurrent networks and their single steps, as torch::nn has them: structs of layers, as reprise/nn.h says.
namespace reprise REPRISE_VISIBLE {
namespace nn {

struct RecurrentOptions {
  std::int64_t num_layers = 1;
  bool bias = true, batch_first = false, bidirectional = false;
  double dropout = 0;  ///< between the layers, where `training` is set
};
namespace detail {
using NamedTensors = std::map<std::string, Tensor>;
/// The weights of all layers by the names that files have for them: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0,
/// weight_ih_l0_reverse, weight_ih_l1, ....
struct RecurrentWeights : NamedTensors {
  RecurrentWeights() = default;
  RecurrentWeights(std::int64_t gates, std::int64_t inputs, std::int64_t hidden, const RecurrentOptions& o) {
    for (std::int64_t layer = 0; layer < o.num_layers; ++layer)
      for (int back = 0; back <= (o.bidirectional ? 1 : 0); ++back) {
        const std::int64_t in = layer ? hidden * (o.bidirectional ? 2 : 1) : inputs;
        set("weight_ih", layer, back, {gates * hidden, in}, hidden);
        set("weight_hh", layer, back, {gates * hidden, hidden}, hidden);
        if (!o.bias) continue;
        set("bias_ih", layer, back, {gates * hidden}, hidden);
        set("bias_hh", layer, back, {gates * hidden}, hidden);
      }
  }
  /// In ATen's order.
  std::vector<Tensor> in_order(const RecurrentOptions& o) const {
    std::vector<Tensor> all;
    for (std::int64_t layer = 0; layer < o.num_layers; ++layer)
      for (int back = 0; back <= (o.bidirectional ? 1 : 0); ++back)
        for (const char* kind : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"})
          if (o.bias || kind[0] == 'w') all.push_back(at(name(kind, layer, back)));
    return all;
  }

 private:
  static std::string name(const char* kind, std::int64_t layer, int back) {
    return std::string(kind) + "_l" + std::to_string(layer) + (back ? "_reverse" : "");
  }
  void set(const char* kind, std::int64_t layer, int back, std::vector<std::int64_t> sizes, std::int64_t hidden) {
    (*this)[name(kind, layer, back)] = drawn(sizes, hidden);
  }
};
}  // namespace detail

/// forward(x, {h_0, c_0}) gives (outputs, h_n, c_n); sizes as reprise/rnn.h says.
struct LSTM : detail::RecurrentWeights, Callable<LSTM> {
  RecurrentOptions options;
  bool training = false;
  LSTM() = default;
  LSTM(std::int64_t inputs, std::int64_t hidden, RecurrentOptions o = {})
      : RecurrentWeights(4, inputs, hidden, o), options(o) {}
  std::tuple<Tensor, Tensor, Tensor> forward(const Tensor& x, const std::vector<Tensor>& hx = {},
                                             SourceLoc loc = SourceLoc::current()) const {
    return lstm(x, hx, in_order(options), options.bias, options.num_layers, options.dropout, training,
                options.bidirectional, options.batch_first, loc);
  }
  REPRISE_FIELDS(LSTM, REPRISE_BASE(detail::NamedTensors), options, training)
};
/// forward(x, h_0) gives (outputs, h_n).
struct GRU : detail::RecurrentWeights, Callable<GRU> {
  RecurrentOptions options;
  bool training = false;
  GRU() = default;
  GRU(std::int64_t inputs, std::int64_t hidden, RecurrentOptions o = {})
      : RecurrentWeights(3, inputs, hidden, o), options(o) {}
  TensorPair forward(const Tensor& x, const Tensor& hx = {}, SourceLoc loc = SourceLoc::current()) const {
    return gru(x, hx, in_order(options), options.bias, options.num_layers, options.dropout, training,
               options.bidirectional, options.batch_first, loc);
  }
  REPRISE_FIELDS(GRU, REPRISE_BASE(detail::NamedTensors), options, training)
};
/// The same without gates; nonlinearity: "tanh" or "relu".
struct RNN : detail::RecurrentWeights, Callable<RNN> {
  RecurrentOptions options;
  std::string nonlinearity = "tanh";
  bool training = false;
  RNN() = default;
  RNN(std::int64_t inputs, std::int64_t hidden, RecurrentOptions o = {}, std::string how = "tanh")
      : RecurrentWeights(1, inputs, hidden, o), options(o), nonlinearity(std::move(how)) {}
  TensorPair forward(const Tensor& x, const Tensor& hx = {}, SourceLoc loc = SourceLoc::current()) const {
    const auto rnn = nonlinearity == "relu" ? rnn_relu : rnn_tanh;
    return rnn(x, hx, in_order(options), options.bias, options.num_layers, options.dropout, training,
               options.bidirectional, options.batch_first, loc);
  }
  REPRISE_FIELDS(RNN, REPRISE_BASE(detail::NamedTensors), options, nonlinearity, training)
};

namespace detail {
/// Of one step: what its gates are made of.
struct CellWeights {
  Tensor weight_ih, weight_hh;             ///< [gates * hidden, inputs], [gates * hidden, hidden]
  std::optional<Tensor> bias_ih, bias_hh;  ///< [gates * hidden]
  CellWeights() = default;
  CellWeights(std::int64_t gates, std::int64_t inputs, std::int64_t hidden, bool with_bias)
      : weight_ih(drawn({gates * hidden, inputs}, hidden)), weight_hh(drawn({gates * hidden, hidden}, hidden)),
        bias_ih(made_if(with_bias, [&] { return drawn({gates * hidden}, hidden); })),
        bias_hh(made_if(with_bias, [&] { return drawn({gates * hidden}, hidden); })) {}
  /// What a step begins with where nothing is given: zeros.
  Tensor state_for(const Tensor& x, SourceLoc loc) const {
    const Int hidden = weight_hh.size(1);
    return x.dim() == 1 ? zeros({hidden}, x.options(), loc) : zeros({x.size(0), hidden}, x.options(), loc);
  }
  REPRISE_FIELDS(CellWeights, weight_ih, weight_hh, bias_ih, bias_hh)
};
}  // namespace detail
/// One step of an LSTM: forward(x, {h, c}) gives the next (h, c).
struct LSTMCell : detail::CellWeights, Callable<LSTMCell> {
  LSTMCell() = default;
  LSTMCell(std::int64_t inputs, std::int64_t hidden, bool with_bias = true)
      : CellWeights(4, inputs, hidden, with_bias) {}
  TensorPair forward(const Tensor& x, const std::vector<Tensor>& hx = {}, SourceLoc loc = SourceLoc::current()) const {
    const std::vector<Tensor> from = hx.empty() ? std::vector<Tensor>(2, state_for(x, loc)) : hx;
    return lstm_cell(x, from, weight_ih, weight_hh, detail::or_none(bias_ih), detail::or_none(bias_hh), loc);
  }
  REPRISE_FIELDS(LSTMCell, REPRISE_BASE(detail::CellWeights))
};
/// One step of a GRU: forward(x, h) gives the next h.
struct GRUCell : detail::CellWeights, Callable<GRUCell> {
  GRUCell() = default;
  GRUCell(std::int64_t inputs, std::int64_t hidden, bool with_bias = true)
      : CellWeights(3, inputs, hidden, with_bias) {}
  Tensor forward(const Tensor& x, const Tensor& hx = {}, SourceLoc loc = SourceLoc::current()) const {
    return gru_cell(x, hx.defined() ? hx : state_for(x, loc), weight_ih, weight_hh, detail::or_none(bias_ih),
                    detail::or_none(bias_hh), loc);
  }
  REPRISE_FIELDS(GRUCell, REPRISE_BASE(detail::CellWeights))
};
/// The same without gates; nonlinearity: "tanh" or "relu".
struct RNNCell : detail::CellWeights, Callable<RNNCell> {
  std::string nonlinearity = "tanh";
  RNNCell() = default;
  RNNCell(std::int64_t inputs, std::int64_t hidden, bool with_bias = true, std::string how = "tanh")
      : CellWeights(1, inputs, hidden, with_bias), nonlinearity(std::move(how)) {}
  Tensor forward(const Tensor& x, const Tensor& hx = {}, SourceLoc loc = SourceLoc::current()) const {
    const auto cell = nonlinearity == "relu" ? rnn_relu_cell : rnn_tanh_cell;
    return cell(x, hx.defined() ? hx : state_for(x, loc), weight_ih, weight_hh, detail::or_none(bias_ih),
                detail::or_none(bias_hh), loc);
  }
  REPRISE_FIELDS(RNNCell, REPRISE_BASE(detail::CellWeights), nonlinearity)
};

}  // namespace nn
}  // namespace REPRISE_VISIBLE
