#include "bench/device/measure.h"

namespace reprise::device_figures {

void prefill_attention(const Setting& s) {
  const std::int64_t heads = s.quick ? 2 : 32;
  for (std::int64_t length : s.quick ? std::vector<std::int64_t>{64} : std::vector<std::int64_t>{2048, 8192})
    for (std::int64_t depth : {64, 128}) {
      const std::string name = "causal, " + std::to_string(heads) + " heads of " + std::to_string(depth) + ", " +
                               std::to_string(length) + " tokens bf16";
      if (!s.wants(name)) continue;
      // A few random rows, repeated: the host would take seconds to draw them all.
      auto random = [&] {
        return randn({heads, 1, 64, depth}, {})
            .to(kBFloat16)
            .to(s.device)
            .expand({heads, length / 64, 64, depth})
            .reshape({1, heads, length, depth});
      };
      const Tensor q = random(), k = random(), v = random();
      auto f =
          compile([](Tensor a, Tensor b, Tensor c) { return scaled_dot_product_attention(a, b, c, {}, 0.0, true); },
                  {.name = "attention", .static_sizes = true});
      // Half of the scores are masked: what of them is computed all the same does not count.
      const double flops = 4.0 * static_cast<double>(heads * length * length * depth) / 2;
      s.report({"prefill attention", name, flops / device_time(s, [&] { f(q, k, v); }) / 1e12, "Tflop/s"});
    }
}

}  // namespace reprise::device_figures
