#include "base/knobs.h"
#include "bench/device/llama_shapes.h"
#include "bench/device/measure.h"

namespace reprise::device_figures {

namespace {

/// One row of random numbers, repeated: the speed does not depend on the values, and 8 billion would take a while.
llama::Model random_model(const Setting& s, const llama::Config& c) {
  return model_of(
      c,
      [&](std::int64_t rows, std::int64_t cols) {
        return (randn({cols}, {}) * 0.02).to(kBFloat16).to(s.device).unsqueeze(0).expand({rows, cols}).contiguous();
      },
      [&](std::vector<Int> sizes, DType t, double value) {
        return full(sizes, value, {.dtype = t, .device = s.device});
      });
}

}  // namespace

void decode(const Setting& s) {
  const std::vector<LlamaShape> shapes =
      s.quick ? std::vector<LlamaShape>{{"tiny", llama_config(64, 2, 4, 2, 128, 256, 32)}} : llama_shapes();
  for (const LlamaShape& shape : shapes) {
    const std::string row = std::string("Llama ") + shape.name + " bfloat16, batch 1" +
                            (knobs().cuda_early == "off" ? ", no early launches" : "");
    if (!s.wants(row)) continue;
    llama::Model m = random_model(s, shape.config);
    llama::Cache cache = llama::new_cache(m.config, kBFloat16, s.device);
    Tensor token = tensor_of(std::vector<std::int64_t>{7}).to(s.device);
    mark_static(token, 0);
    // Every position is a new size. With few recordings each is made out of one before it, so that its graph is
    // updated: what a long text costs once the default bound is reached, too.
    auto step = compile(llama::forward, {.name = "decode", .recordings_max = 4});
    auto next = [&](std::int64_t pos) { step(m.config, m.weights, cache, token, pos, false).argmax().item(); };
    const std::int64_t warm = s.quick || s.once ? 2 : 20, most = s.once ? 3 : s.quick ? 8 : 200;
    for (std::int64_t pos = 0; pos < warm; ++pos) next(pos);
    double start = now();
    for (std::int64_t pos = warm; !s.quick && !s.once && now() - start < 0.12; pos = pos + 1 < most ? pos + 1 : warm)
      next(pos);
    std::vector<double> times;
    for (std::int64_t pos = warm; pos < most; ++pos) {
      const Profiled looked_at(s);
      double t = now();
      next(pos);
      times.push_back(now() - t);
    }
    double seconds = median(times), bytes = static_cast<double>(m.weight_bytes);
    s.report({"decode", row, 1 / seconds, "tokens/s", bytes / seconds / s.read_rate, "read"});
    Stats stats = step.stats();
    s.report({"decode", std::string("compilations of ") + shape.name, static_cast<double>(stats.compilations), ""});
  }
}

}  // namespace reprise::device_figures
