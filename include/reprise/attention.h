#pragma once
#include "reprise/ops.h"

/// Attention of several heads with its projections: what torch::nn::MultiheadAttention computes (reprise/nn.h has the
/// layer, reprise/ops.h scaled_dot_product_attention).
namespace reprise REPRISE_VISIBLE {

/// Weights and masks of multi_head_attention_forward. Undefined tensors are left out, but for the weights of the
/// projections: in_proj_weight, or the three of one each.
struct MultiHeadAttentionOptions {
  Int num_heads = 1;
  Tensor in_proj_weight = {};                                         ///< [3 e, e]: of query, key and value
  Tensor q_proj_weight = {}, k_proj_weight = {}, v_proj_weight = {};  ///< [e, e], [e, key's size], [e, value's size]
  Tensor in_proj_bias = {};                                           ///< [3 e]
  Tensor bias_k = {}, bias_v = {};                  ///< [1, 1, e]: a key more, with its value, after the others
  bool add_zero_attn = false;                       ///< a key of zeros more, with a value of zeros
  double dropout_p = 0;                             ///< of the weights, where `training` is set
  Tensor out_proj_weight = {}, out_proj_bias = {};  ///< [e, e], [e]
  bool training = false;
  Tensor key_padding_mask = {};  ///< [batch, keys]: bool, true takes no part; or floats that are added to the scores
  Tensor attn_mask = {};         ///< the same of [queries, keys] or [batch * num_heads, queries, keys]
  bool is_causal = false;        ///< no query sees keys after its own place
  bool need_weights = true, average_attn_weights = true;
};

/// query [queries, batch, e], key and value [keys, batch, sizes], or all without a batch. Gives the result, of query's
/// sizes, and with need_weights the weights [batch, queries, keys], or of each head [batch, num_heads, queries, keys];
/// otherwise the second is undefined. A query that sees no key gives zeros before the last projection. Throws
/// ShapeMismatch for sizes that do not fit and DTypeMismatch for a mask that is neither bool nor of query's dtype.
TensorPair multi_head_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                        const MultiHeadAttentionOptions& options, SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
