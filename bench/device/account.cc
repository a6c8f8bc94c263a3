// What decoding a token takes, counted on the device that computes nothing: scripts/gpu_model.py goes by it.
#include "bench/device/account.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "bench/device/llama_shapes.h"
#include "device/null/null_device.h"

namespace reprise::device_figures {

namespace {

struct Step {
  std::int64_t nodes = 0, depth = 0, weight_bytes = 0;  ///< depth: nodes on the longest way through the graph
  std::map<std::string, std::int64_t> names;
};

/// Weights are never touched there, so that they take no memory.
Step step_at(const llama::Config& config, std::int64_t at) {
  const Device null = Device::null();
  const llama::Model m = model_of(
      config,
      [&](std::int64_t rows, std::int64_t cols) {
        return empty({rows, cols}, {.dtype = kBFloat16, .device = null});
      },
      [&](std::vector<Int> sizes, DType t, double) { return empty(sizes, {.dtype = t, .device = null}); });
  llama::Cache cache = llama::new_cache(m.config, kBFloat16, null);
  const Tensor token = tensor_of(std::vector<std::int64_t>{7}).to(null);
  mark_static(token, 0);
  auto step = compile(llama::forward, {.name = "decode"});
  for (std::int64_t pos = at - 3; pos < at; ++pos) step(m.config, m.weights, cache, token, pos, false);
  device::take_null_record();
  step(m.config, m.weights, cache, token, at, false);
  const device::NullRecord record = device::take_null_record();
  if (record.graph_launches + record.queued != 1) throw std::runtime_error("a token is not one graph");
  Step s;
  s.weight_bytes = m.weight_bytes;
  std::vector<std::int64_t> depths;
  for (const device::NullLaunch& l : record.launches) {
    std::int64_t before = 0;
    for (std::uint32_t a : l.after) before = std::max(before, depths.at(a));
    depths.push_back(before + 1);
    s.depth = std::max(s.depth, before + 1);
    s.nodes += 1;
    s.names[l.name] += 1;
  }
  return s;
}

}  // namespace

nlohmann::json account() {
  device::set_null_kernels(true);
  constexpr std::int64_t kAt = 100;  // figures are of positions 20 to 200
  nlohmann::json out;
  for (const LlamaShape& shape : llama_shapes()) {
    const llama::Config& c = shape.config;
    llama::Config two = c, three = c;
    two.n_layers = 2, three.n_layers = 3;
    const Step a = step_at(two, kAt), b = step_at(three, kAt);
    auto of_all = [&](std::int64_t Step::*what) { return a.*what + (b.*what - a.*what) * (c.n_layers - 2); };
    nlohmann::json of_a_layer = nlohmann::json::object(), beside = nlohmann::json::object();
    for (const auto& [name, n] : b.names) {
      const auto before = a.names.find(name);
      const std::int64_t more = n - (before == a.names.end() ? 0 : before->second);
      if (more > 0) of_a_layer[name] = more;
      if (n - 3 * more > 0) beside[name] = n - 3 * more;
    }
    out[shape.name] = {{"layers", c.n_layers},
                       {"dim", c.dim},
                       {"hidden", c.hidden_dim},
                       {"vocabulary", c.vocab_size},
                       {"heads", c.n_heads},
                       {"kv_heads", c.n_kv_heads},
                       {"head_dim", c.head_dim},
                       {"position", kAt},
                       {"weight_bytes", of_all(&Step::weight_bytes)},
                       {"nodes", of_all(&Step::nodes)},
                       {"depth", of_all(&Step::depth)},
                       {"depth_of_a_layer", b.depth - a.depth},
                       {"nodes_of_a_layer", of_a_layer},
                       {"other_nodes", beside}};
  }
  device::set_null_kernels(false);
  return out;
}

}  // namespace reprise::device_figures
