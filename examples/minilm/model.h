#pragma once
#include <cstdint>
#include <vector>

#include "reprise/nn.h"
#include "reprise/reprise.h"

namespace minilm {

namespace rp = reprise;
namespace nn = reprise::nn;

/// Of BERT's shape. The fields have the names of the file's tensors, so that loading needs no table.
struct Embeddings {
  nn::Embedding word_embeddings, position_embeddings, token_type_embeddings;
  nn::LayerNorm LayerNorm;
};
struct SelfAttention {
  nn::Linear query, key, value;
};
struct Output {
  nn::Linear dense;
  nn::LayerNorm LayerNorm;
};
struct Attention {
  SelfAttention self;
  Output output;
};
struct Intermediate {
  nn::Linear dense;
};
struct Layer {
  Attention attention;
  Intermediate intermediate;
  Output output;
};
struct Encoder {
  std::vector<Layer> layer;
};
struct Model {
  Embeddings embeddings;
  Encoder encoder;
};

/// Random weights of these sizes.
Model random_model(std::int64_t vocabulary, std::int64_t positions, std::int64_t dim, std::int64_t hidden,
                   std::int64_t layers);

/// Sentence vectors [batch, dim] of length 1: the mean over what a sentence has of its last layer. tokens, present:
/// [batch, longest], int64 and bool.
rp::Tensor embed(const Model& m, rp::Tensor tokens, rp::Tensor present, std::int64_t heads, double eps);

}  // namespace minilm
