// A step of training: nets.py's training, in one compiled function.
#include "bench/training.h"

#include "reprise_peer.h"

namespace reprise::peers {

Call training_step(const Job& job) {
  struct State {
    llama::Config config;
    llama::Weights weights;
    rp::optim::AdamState adam;
    decltype(rp::compile(training::step)) step = rp::compile(training::step, {.name = "training"});
    std::vector<rp::Tensor> tokens;
  };
  auto s = std::make_shared<State>();
  llama::Weights& w = s->weights;
  w = llama_weights(rp::load_safetensors(job.weights));
  llama::each_weight(w, [](rp::Tensor& t) { t = t.clone(); });  // they are written
  w.cos = job.sets.at(0).at("cos"), w.sin = job.sets.at(0).at("sin");
  s->config =
      llama_config(job, w.embedding, w.layers.at(0).w1.size(0).value(), static_cast<std::int64_t>(w.layers.size()));
  s->adam = rp::optim::AdamState::of(training::parameters(w));
  for (const Tensors& x : job.sets) s->tokens.push_back(x.at("tokens"));
  return [s](std::size_t i, std::vector<rp::Tensor>* results) {
    std::vector<rp::Tensor> y =
        s->step(s->config, s->weights, s->adam, rp::optim::AdamWOptions{.lr = 0.0}, s->tokens[i]);
    if (results) append(*results, std::move(y));
  };
}

}  // namespace reprise::peers
