// Figures for docs/performance.md: what a call of one function takes by size, eagerly, compiled, and as a loop written
// by hand. One thread, in turns, medians. Prints "elements,eager_us,compiled_us,by_hand_us"; scripts/pictures.py draws
// it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <vector>

#include "reprise/reprise.h"

namespace rp = reprise;

namespace {

/// A norm of rows of 64, a gate and a residual: what stands between two products.
rp::Tensor between(rp::Tensor x, rp::Tensor gate, rp::Tensor w) {
  return x + rp::rms_norm(x, w, 1e-5) * rp::sigmoid(gate);
}

void by_hand(const float* x, const float* gate, const float* w, float* y, std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; ++r, x += 64, gate += 64, y += 64) {
    float sum = 0;
    for (int i = 0; i < 64; ++i) sum += x[i] * x[i];
    const float scale = 1 / std::sqrt(sum / 64 + 1e-5f);
    for (int i = 0; i < 64; ++i) y[i] = x[i] + x[i] * scale * w[i] / (1 + std::exp(-gate[i]));
  }
}

template <class F>
double microseconds(F&& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
}
double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

}  // namespace

int main() {
  rp::set_num_threads(1);
  auto compiled = rp::compile(between, {.name = "between"});
  const rp::Tensor w = rp::ones({64});
  std::printf("elements,eager_us,compiled_us,by_hand_us\n");
  for (std::int64_t rows = 1; rows <= 65536; rows *= 4) {
    const rp::Tensor x = rp::randn({rows, 64}), gate = rp::randn({rows, 64});
    std::vector<float> y(static_cast<std::size_t>(rows * 64));
    std::vector<double> eager, call, hand;
    for (int i = 0; i < 20; ++i) between(x, gate, w), compiled(x, gate, w);
    for (int i = 0; i < 301; ++i) {
      eager.push_back(microseconds([&] { between(x, gate, w); }));
      call.push_back(microseconds([&] { compiled(x, gate, w); }));
      hand.push_back(
          microseconds([&] { by_hand(x.data<float>(), gate.data<float>(), w.data<float>(), y.data(), rows); }));
    }
    std::printf("%lld,%.2f,%.2f,%.2f\n", static_cast<long long>(rows * 64), median(eager), median(call), median(hand));
    std::fflush(stdout);
  }
}
