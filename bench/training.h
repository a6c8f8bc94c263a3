#pragma once
#include <vector>

#include "examples/llama/model.h"
#include "reprise/optim.h"
#include "reprise/reprise.h"

/// A step of training the gallery's Llama: what bench/figures_training.cc and the peers' row "training step" measure.
namespace reprise::training {

/// All but the angles, which do not learn.
optim::Tensors parameters(const llama::Weights&);
/// The same tensors as leaves that want gradients.
llama::Weights leaves(const llama::Weights&);
llama::Weights random_weights(const llama::Config&);

/// Cross entropy of the next tokens. tokens: [n, t + 1], int64.
Tensor loss(const llama::Config&, const llama::Weights&, const Tensor& tokens);

/// Writes the weights and the optimizer's state, and gives the loss and the gradients of the norms, the last one's
/// first.
std::vector<Tensor> step(const llama::Config&, const llama::Weights&, const optim::AdamState&,
                         const optim::AdamWOptions&, const Tensor& tokens);

}  // namespace reprise::training
