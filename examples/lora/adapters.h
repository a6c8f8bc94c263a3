#pragma once
#include <map>
#include <string>
#include <vector>

#include "model.h"

namespace lora {

namespace rp = reprise;

/// What is added to one weight W [out, in]: scale * up * down. E. Hu et al., LoRA: low-rank adaptation of large
/// language models (2021).
struct Adapter {
  rp::Tensor down, up;  // [rank, in], [out, rank]; up is 0 at the beginning
};
struct LayerAdapters {
  Adapter wq, wk, wv, wo, w1, w2, w3;
};
struct Adapters {
  std::vector<LayerAdapters> layers;
};

Adapters new_adapters(const llama::Weights&, std::int64_t rank);
/// All of their tensors, by name ("layers.0.wq.down") and in a fixed order.
std::vector<rp::Tensor> parameters(const Adapters&);
std::map<std::string, rp::Tensor> named(const Adapters&);
/// The same tensors as leaves that want gradients.
Adapters leaves(const Adapters&);

/// Logits [n, t, vocab] of sequences [n, t] (int64) from position 0, with what the adapters add (none where there are
/// no layers).
rp::Tensor forward(const llama::Config&, const llama::Weights&, const Adapters&, double scale,
                   const rp::Tensor& tokens);

/// Cross entropy of what follows in each piece [n, t + 1] (int64).
rp::Tensor loss(const llama::Config&, const llama::Weights&, const Adapters&, double scale, const rp::Tensor& pieces);

/// Weights of their own with the adapters added.
llama::Weights merged(const llama::Weights&, const Adapters&, double scale);

}  // namespace lora
