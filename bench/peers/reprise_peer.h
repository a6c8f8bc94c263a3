#pragma once
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "examples/llama/model.h"
#include "reprise/reprise.h"

namespace reprise::peers {

namespace rp = reprise;

using Tensors = std::map<std::string, rp::Tensor>;

/// What is to be prepared: a net of nets.py, at a point, with inputs of one or several calls.
struct Job {
  std::string net;
  nlohmann::json point;
  std::vector<Tensors> sets;
  std::string weights;  ///< a safetensors file, or empty
  std::string onnx;     ///< the model that the peers run, where it is to be read from there; or empty

  std::int64_t size(const char* name, std::int64_t otherwise = 0) const { return point.value(name, otherwise); }
};

/// A call on the inputs of a set. What it gives is wanted where there is a place for it.
using Call = std::function<void(std::size_t set, std::vector<rp::Tensor>* results)>;

inline void append(std::vector<rp::Tensor>& to, rp::Tensor t) { to.push_back(std::move(t)); }
inline void append(std::vector<rp::Tensor>& to, std::vector<rp::Tensor> all) {
  to.insert(to.end(), all.begin(), all.end());
}
inline void append(std::vector<rp::Tensor>& to, std::tuple<rp::Tensor, rp::Tensor> two) {
  to.push_back(std::get<0>(two)), to.push_back(std::get<1>(two));
}

/// The function, compiled, on tensors that are inputs, or else weights, which are frozen, of these names.
template <std::size_t N, class F>
Call on(const Job& job, const char* const (&names)[N], F f) {
  std::vector<std::array<rp::Tensor, N>> sets;
  Tensors weights;
  if (!job.weights.empty()) {
    const rp::SafeTensors file = rp::load_safetensors(job.weights);
    for (const std::string& name : file.names()) rp::freeze(weights[name] = file.at(name));
  }
  for (const Tensors& inputs : job.sets) {
    std::array<rp::Tensor, N>& set = sets.emplace_back();
    for (std::size_t i = 0; i < N; ++i) set[i] = inputs.contains(names[i]) ? inputs.at(names[i]) : weights.at(names[i]);
  }
  auto compiled = std::make_shared<decltype(rp::compile(f))>(rp::compile(f, {.name = job.net}));
  return [compiled, sets](std::size_t i, std::vector<rp::Tensor>* results) {
    auto r = std::apply([&](const auto&... t) { return (*compiled)(t...); }, sets[i]);
    if (results) append(*results, std::move(r));
  };
}

/// Null where there is no such net.
Call small_net(const Job&);
Call model(const Job&);
Call quantized_llama(const Job&);
Call training_step(const Job&);

/// Without the angles.
llama::Weights llama_weights(const rp::SafeTensors&);
// What Llamas of all dtypes have: sizes, angles of all positions, and a cache with the keys and values of those before.
llama::Config llama_config(const Job&, const rp::Tensor& embedding, std::int64_t hidden, std::int64_t layers);
std::pair<rp::Tensor, rp::Tensor> llama_angles(const Job&, const llama::Config&);
llama::Cache llama_cache(const Job&, const llama::Config&, rp::DType);

}  // namespace reprise::peers
