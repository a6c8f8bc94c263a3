#include "import/onnx/core.h"

namespace reprise::onnx {
namespace {

/// Of log-probabilities [n, c, ...] and classes [n, ...].
Tensor nll(Call& c, const Tensor& x, const Tensor& target) {
  const Tensor classes = target.to(kInt64);
  const bool ignores = c.attribute("ignore_index") != nullptr;
  const Tensor ignored = ignores ? classes == c.i("ignore_index", 0) : Tensor();
  const Tensor at = ignores ? where(ignored, 0, classes) : classes;
  Tensor loss = -gather(x, 1, at.unsqueeze(1)).squeeze(1), weight;
  if (c.has(2)) weight = index(c.x(2), {at});
  if (ignores) weight = c.has(2) ? where(ignored, 0, weight) : where(ignored, 0, ones_like(loss));
  const bool weighs = c.has(2) || ignores;
  if (weighs) loss = loss * weight;
  const std::string how = c.s("reduction", "mean");
  if (how == "none") return loss;
  if (how == "sum") return sum(loss);
  if (how != "mean") c.bad("the reduction is '", how, "'; wanted none, sum or mean");
  return weighs ? sum(loss) / sum(weight) : mean(loss);
}

void negative_log_likelihood(Call& c) { c.give(nll(c, c.x(0), c.x(1))); }
void softmax_cross_entropy(Call& c) {
  const Tensor logs = log_softmax(c.x(0), 1);
  c.give(nll(c, logs, c.x(1)), 0);
  c.give(logs, 1);
}

constexpr Row kLossRows[] = {
    {"NegativeLogLikelihoodLoss", 12, 0, negative_log_likelihood},
    {"SoftmaxCrossEntropyLoss", 12, 0, softmax_cross_entropy},
};

}  // namespace

std::span<const Row> loss_rows() { return kLossRows; }

}  // namespace reprise::onnx
