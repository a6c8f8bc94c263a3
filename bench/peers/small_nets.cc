// The small ones of nets.py, as a user of Reprise writes them.
#include "reprise_peer.h"

namespace reprise::peers {

Call small_net(const Job& job) {
  using rp::Tensor;
  const std::string& net = job.net;
  if (net == "mm") return on(job, {"a", "b"}, [](Tensor a, Tensor b) { return rp::matmul(a, b); });
  if (net == "linear")
    return on(job, {"x", "w", "b"}, [](Tensor x, Tensor w, Tensor b) { return rp::linear(x, w, b); });
  if (net == "int8") return on(job, {"a", "b"}, [](Tensor a, Tensor b) { return rp::int_mm(a, b); });
  if (net == "transpose") return on(job, {"x"}, [](Tensor x) { return x.transpose(0, 1).contiguous(); });
  if (net == "heads_first") return on(job, {"x"}, [](Tensor x) { return x.transpose(1, 2).contiguous(); });
  if (net == "cat") return on(job, {"a", "b", "c"}, [](Tensor a, Tensor b, Tensor c) { return rp::cat({a, b, c}, 1); });
  if (net == "gather")
    return on(job, {"table", "at"}, [](Tensor table, Tensor at) { return rp::embedding(table, at); });
  if (net == "add") return on(job, {"x", "y"}, [](Tensor x, Tensor y) { return x + y; });
  if (net == "gelu") return on(job, {"x"}, [](Tensor x) { return rp::gelu(x); });
  if (net == "tanh") return on(job, {"x"}, [](Tensor x) { return rp::tanh(x); });
  if (net == "swiglu") return on(job, {"x", "y"}, [](Tensor x, Tensor y) { return rp::silu(x) * y; });
  if (net == "chain")
    return on(job, {"x", "y"},
              [](Tensor x, Tensor y) { return rp::tanh(rp::sigmoid(x) * y + x) * 0.5 - rp::exp(y * -1.0); });
  if (net == "softmax") return on(job, {"x"}, [](Tensor x) { return rp::softmax(x, -1); });
  if (net == "layer_norm")
    return on(job, {"x", "w", "b"},
              [](Tensor x, Tensor w, Tensor b) { return rp::layer_norm(x, {x.size(-1)}, w, b, 1e-5); });
  if (net == "residual_rms_norm") {
    return on(job, {"x", "r", "w"}, [](Tensor x, Tensor r, Tensor w) {
      Tensor sum = x + r;
      return std::tuple(rp::rms_norm(sum, w, 1e-5), sum);
    });
  }
  if (net == "norm_quantize") {
    return on(job, {"x", "w"}, [](Tensor x, Tensor w) {
      Tensor y = rp::rms_norm(x, w, 1e-5);
      Tensor scale = y.abs().amax({-1}, true) / 127.0 + 1e-12;
      return std::tuple(rp::round(y / scale).to(rp::kInt8), scale);
    });
  }
  if (net == "attention") {
    const bool causal = job.size("causal") != 0;
    if (job.sets[0].contains("mask"))
      return on(job, {"q", "k", "v", "mask"}, [](Tensor q, Tensor k, Tensor v, Tensor mask) {
        return rp::scaled_dot_product_attention(q, k, v, mask);
      });
    if (causal)
      return on(job, {"q", "k", "v"},
                [](Tensor q, Tensor k, Tensor v) { return rp::scaled_dot_product_attention(q, k, v, {}, 0.0, true); });
    return on(job, {"q", "k", "v"},
              [](Tensor q, Tensor k, Tensor v) { return rp::scaled_dot_product_attention(q, k, v); });
  }
  if (net == "conv") {
    const std::int64_t step = job.size("step"), pad = job.size("places") / 2, groups = job.size("groups");
    return on(job, {"x", "w", "b"},
              [=](Tensor x, Tensor w, Tensor b) { return rp::conv2d(x, w, b, step, pad, 1, groups); });
  }
  if (net == "plus_one") return on(job, {"x"}, [](Tensor x) { return x + 1.0; });
  if (net == "cell") {
    return on(job, {"x", "h", "wi", "bi", "wh", "bh"},
              [](Tensor x, Tensor h, Tensor wi, Tensor bi, Tensor wh, Tensor bh) {
                Tensor gi = rp::linear(x, wi, bi), gh = rp::linear(h, wh, bh);
                const rp::Int n = h.size(1);
                auto part = [&](const Tensor& g, std::int64_t i) { return g.slice(1, n * i, n * (i + 1)); };
                Tensor reset = rp::sigmoid(part(gi, 0) + part(gh, 0)), keep = rp::sigmoid(part(gi, 1) + part(gh, 1));
                Tensor fresh = rp::tanh(part(gi, 2) + reset * part(gh, 2));
                return fresh + keep * (h - fresh);
              });
  }
  return {};
}

}  // namespace reprise::peers
