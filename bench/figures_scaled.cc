// Products of quantized matrices against those of floats: what a token costs, and many of them.
#include <functional>
#include <string>

#include "bench/figures.h"
#include "generate.h"
#include "reprise/reprise.h"

namespace reprise::figures {

namespace {

constexpr std::int64_t kSize = 4096;

/// Products of one kind, [m, 4096] x [4096, 4096]. Of one row the weights change from call to call: they come from
/// memory.
struct Kind {
  Kind(const char* name, DType x, DType w, bool blocks = false) : name(name), x(x), w(w), blocks(blocks) {
    const int count = 160 / (16 * item_size(w)) + 1;
    for (int i = 0; i < count; ++i)
      weights.push_back(w == kInt8 ? (rand({kSize, kSize}) * 254 - 127).to(kInt8) : (rand({kSize, kSize}) - 0.5).to(w));
    scale_w = rand({blocks ? kSize / 128 : 1, blocks ? kSize / 128 : kSize}) * 0.01, scale_one = ones({});
  }

  const char* name;
  DType x, w;
  bool blocks;  ///< scales of blocks of 128, not of rows and columns
  std::vector<Tensor> weights;
  Tensor scale_w, scale_one;

  /// Seconds of a product of m rows.
  double time(std::int64_t m) {
    const bool quantized = w == kInt8 || is_storage_only(w);
    const Tensor in = x == kInt8 ? (rand({m, kSize}) * 254 - 127).to(kInt8) : rand({m, kSize}).to(x);
    const Tensor scale_x = item_size(x) == 1 ? rand({m, blocks ? kSize / 128 : 1}) : scale_one;
    auto f = compile([=](Tensor x, Tensor w, Tensor sx,
                         Tensor sw) { return quantized ? scaled_mm(x, w.t(), sx, sw, {}, kBFloat16) : linear(x, w); },
                     {.name = "product"});
    std::vector<double> seconds;
    for (int i = 0; i < (m == 1 ? 40 : 6); ++i) {
      const Tensor& w = weights[static_cast<std::size_t>(i) % weights.size()];
      if (i == 0) f(in, w, scale_x, scale_w);
      const double start = now();
      f(in, w, scale_x, scale_w);
      seconds.push_back(now() - start);
    }
    return median(seconds);
  }
};

}  // namespace

std::vector<Figure> scaled_figures() {
  using Better = Figure::Better;
  set_num_threads(1);
  Kind kinds[] = {{"float32", kFloat32, kFloat32},
                  {"bfloat16", kBFloat16, kBFloat16},
                  {"int8", kInt8, kInt8},
                  {"bfloat16 x int8", kBFloat16, kInt8},
                  {"bfloat16 x float8", kBFloat16, kFloat8E4M3FN},
                  {"int8 by blocks", kInt8, kInt8, true},
                  {"float8 by blocks", kFloat8E4M3FN, kFloat8E4M3FN, true}};
  constexpr int kCount = 7;
  const std::int64_t rows[] = {1, 128, 512};
  double time[3][kCount];
  for (int r = 0; r < 3; ++r) {
    std::vector<double> rounds[kCount];  // in turns: a drift of the machine hits all
    for (int round = 0; round < 5; ++round)
      for (int k = 0; k < kCount; ++k) rounds[k].push_back(kinds[k].time(rows[r]));
    for (int k = 0; k < kCount; ++k) time[r][k] = median(rounds[k]);
  }
  const double read = llama::read_bandwidth(64 << 20);
  set_num_threads(default_num_threads());
  auto note = [&](int r, int k) {
    std::string s = std::to_string(static_cast<int>(time[r][k] * 1e6)) + " us, float32 " +
                    std::to_string(static_cast<int>(time[r][0] * 1e6)) + ", bfloat16 " +
                    std::to_string(static_cast<int>(time[r][1] * 1e6));
    if (rows[r] == 1)
      s += "; " + std::to_string(static_cast<int>(kSize * kSize / time[r][k] / 1e9)) +
           " GB/s of weights, reading alone " + std::to_string(static_cast<int>(read / 1e9));
    else
      s += "; " + std::to_string(static_cast<int>(2e-9 * kSize * kSize * static_cast<double>(rows[r]) / time[r][k])) +
           " Gop/s";
    return s + "; one thread";
  };
  std::vector<Figure> out;
  for (int k = 2; k < kCount; ++k) {
    const std::string of = std::string("one row of ") + kinds[k].name + ", ";
    if (k == 2)
      out.push_back(
          {of + "time of float32's", time[0][k] / time[0][0], "ratio", 0.35, Better::Lower, true, note(0, k)});
    out.push_back({of + "time of bfloat16's", time[0][k] / time[0][1], "ratio", kinds[k].blocks ? 0.75 : 0.6,
                   Better::Lower, true, note(0, k)});
  }
  for (int r = 1; r < 3; ++r)
    for (int k = 2; k < kCount; ++k)
      out.push_back({std::to_string(rows[r]) + " rows of " + kinds[k].name + ", time of float32's",
                     time[r][k] / time[r][0], "ratio", kinds[k].x == kInt8 ? 0.5 : 1.2, Better::Lower, true,
                     note(r, k)});
  return out;
}

}  // namespace reprise::figures
