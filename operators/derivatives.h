#pragma once
#include "autograd/derivative.h"

/// Derivatives of the families' operators, told with their registration. The rules stand by theme in derivatives_*.cc.
namespace reprise::operators {

inline graph::OpFact derivative(void (*rule)(autograd::Backward&), autograd::Saves saves,
                                autograd::Args differentiable = autograd::kAnyArg) {
  return autograd::derivatives().fact({rule, saves, differentiable});
}
/// Results want no gradients.
inline graph::OpFact constant() { return autograd::derivatives().fact({}); }

namespace derivatives {
using autograd::in;
using autograd::of;
using autograd::out;
using Rule = void(autograd::Backward&);

// derivatives_images.cc
Rule convolution, max_pool, avg_pool, adaptive_avg_pool, adaptive_max_pool, interpolate, im2col, col2im, reflection_pad,
    replication_pad, circular_pad;
// derivatives_sampling.cc
Rule grid_sampler;
// detection.cc
Rule roi_align;
// derivatives_norms.cc
Rule batch_norm, group_norm, local_response_norm;
// derivatives_rows.cc
Rule cumprod, chosen_along, logcumsumexp, mode, digamma, erfinv, i0e, i1, i1e, polygamma, zeta, fft_c2c, fft_r2c,
    fft_c2r, overlap_add, embedding_bag, grouped_mm;
// derivatives_matrices.cc
Rule cholesky, solve, solve_triangular, lu_factor, qr, eigh, svd, cdist, bilinear, block_linear;
// derivatives_rnn.cc
Rule lstm_steps, gru_steps, rnn_tanh_steps, rnn_relu_steps;
// ctc.cc
Rule ctc_loss;
// collectives.cc
Rule all_reduce, all_extreme, all_gather, reduce_scatter, all_to_all, mesh_broadcast;
}  // namespace derivatives

}  // namespace reprise::operators
