#pragma once
#include <vector>

#include "linear.h"
#include "model.h"

namespace quantized {

/// The weights of examples/llama, with Linears in the place of matrices.
struct Layer {
  rp::Tensor attention_norm;  // [dim]
  Linear wq, wk, wv, wo;
  rp::Tensor ffn_norm;  // [dim]
  Linear w1, w2, w3;
};
struct Weights {
  rp::Tensor embedding;  // [vocab, dim]
  std::vector<Layer> layers;
  rp::Tensor norm;      // [dim]
  Linear head;          // [vocab, dim]
  rp::Tensor cos, sin;  // [context, hd/2], float32

  std::int64_t bytes() const;  ///< that a decoded token reads
};
/// The same model in another format; activations, norms and the cache are bfloat16 in each.
Weights weights_of(const llama::Weights&, Format);
/// Weights of nothing, for measurements: normal numbers, as large as trained ones.
llama::Weights random_weights(const llama::Config&, rp::Device);

/// tokens [t] (int64) at positions pos .. pos+t-1: the logits of the last one, [vocab] float32. Keys and values go into
/// the cache. Plain code, in which nothing knows of formats, patterns or compilation.
rp::Tensor forward(const llama::Config&, const Weights&, llama::Cache&, rp::Tensor tokens, rp::Int pos, bool causal);

}  // namespace quantized
