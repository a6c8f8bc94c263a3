#pragma once
#include <tuple>

#include "reprise/ops.h"

/// Recurrent networks with ATen's weights: for each layer, and in each layer for each direction, weight_ih [gates *
/// hidden, inputs], weight_hh [gates * hidden, hidden] and, with has_biases, bias_ih and bias_hh [gates * hidden];
/// inputs are those of the network, above the first layer hidden * directions. Gates are input, forget, cell, output of
/// an LSTM; reset, update, new of a GRU.
///
/// input: [time, batch, inputs], with batch_first [batch, time, inputs], or without a batch [time, inputs]. hx: [layers
/// * directions, batch, hidden] (without a batch [layers * directions, hidden]); undefined: zeros. Results: the last
/// layer's outputs at each time, [..., hidden * directions] in input's order, and hx after the last step. One dtype,
/// floats (DTypeMismatch); sizes that do not fit and no steps: ShapeMismatch. dropout (with train) is between the
/// layers. Under AutocastScope a layer is cast as a whole, but for float64 tensors. The time is symbolic: one
/// compilation serves sequences of any length.
namespace reprise REPRISE_VISIBLE {

/// (outputs, h_n, c_n). hx: {h_0, c_0}, or empty.
std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, TensorArrayRef hx, TensorArrayRef params,
                                        bool has_biases = true, Int num_layers = 1, double dropout = 0.0,
                                        bool train = false, bool bidirectional = false, bool batch_first = false,
                                        SourceLoc loc = SourceLoc::current());
/// (outputs, h_n).
TensorPair gru(const Tensor& input, const Tensor& hx, TensorArrayRef params, bool has_biases = true, Int num_layers = 1,
               double dropout = 0.0, bool train = false, bool bidirectional = false, bool batch_first = false,
               SourceLoc loc = SourceLoc::current());
TensorPair rnn_tanh(const Tensor& input, const Tensor& hx, TensorArrayRef params, bool has_biases = true,
                    Int num_layers = 1, double dropout = 0.0, bool train = false, bool bidirectional = false,
                    bool batch_first = false, SourceLoc loc = SourceLoc::current());
TensorPair rnn_relu(const Tensor& input, const Tensor& hx, TensorArrayRef params, bool has_biases = true,
                    Int num_layers = 1, double dropout = 0.0, bool train = false, bool bidirectional = false,
                    bool batch_first = false, SourceLoc loc = SourceLoc::current());

/// One step: input [batch, inputs] or [inputs], hx [batch, hidden] or [hidden]. lstm_cell: hx is {h, c}, and so is the
/// result.
TensorPair lstm_cell(const Tensor& input, TensorArrayRef hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih = {}, const Tensor& b_hh = {}, SourceLoc loc = SourceLoc::current());
Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih = {},
                const Tensor& b_hh = {}, SourceLoc loc = SourceLoc::current());
Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih = {}, const Tensor& b_hh = {}, SourceLoc loc = SourceLoc::current());
Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh,
                     const Tensor& b_ih = {}, const Tensor& b_hh = {}, SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
