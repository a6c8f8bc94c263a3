#pragma once
#include <functional>
#include <vector>

#include "model.h"

namespace reprise::device_figures {

struct LlamaShape {
  const char* name;
  llama::Config config;
};
/// 0.1B, 1B, 8B.
std::vector<LlamaShape> llama_shapes();
llama::Config llama_config(std::int64_t dim, std::int64_t layers, std::int64_t heads, std::int64_t kv,
                           std::int64_t hidden, std::int64_t vocab, std::int64_t context);

/// A model of this shape: `weight` makes a bfloat16 matrix, `filled` what is all one number.
llama::Model model_of(const llama::Config&, const std::function<Tensor(std::int64_t rows, std::int64_t cols)>& weight,
                      const std::function<Tensor(std::vector<Int> sizes, DType, double value)>& filled);

}  // namespace reprise::device_figures
