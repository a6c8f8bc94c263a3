#include "generate.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>

namespace llama {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

rp::Tensor token_tensor(const std::string& text, std::size_t first, std::size_t count, rp::Device device) {
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < count; ++i) ids.push_back(static_cast<unsigned char>(text[first + i]));
  return rp::tensor_of(ids).to(device);
}

// A number that exactly the k largest of x reach (more where some are equal): -inf when fewer than k are numbers.
// Bisection over the bits of a float, in the order of its value: each step is one branch-free pass.
float kth_largest(const float* x, int n, int k) {
  std::uint32_t key = 0;
  constexpr std::uint32_t kLowest = 0x007fffff;  // -inf; what lies below and far above are NaNs
  auto value = [](std::uint32_t of) { return std::bit_cast<float>(of & 0x80000000u ? of ^ 0x80000000u : ~of); };
  for (std::uint32_t bit = 0x80000000u; bit != 0; bit >>= 1) {
    const std::uint32_t trial = key | bit;
    const float least = value(trial);
    int reached = 0;
    for (int i = 0; i < n; ++i) reached += x[i] >= least;
    if (reached == k) return least;
    if (reached > k || trial <= kLowest) key = trial;
  }
  return key <= kLowest ? -INFINITY : value(key);
}

}  // namespace

int Sampler::operator()(const float* logits, int n) {
  // Damaged weights give NaNs and infinities; there is no likelihood in them to draw by.
  int unusable = 0;
  for (int i = 0; i < n; ++i) unusable += !(logits[i] < INFINITY);
  if (unusable > 0 || n < 1 || *std::max_element(logits, logits + n) == -INFINITY)
    throw rp::Error(rp::ErrorCode::InvalidArgument, "sample",
                    std::to_string(unusable > 0 ? unusable : n) + " of " + std::to_string(n) +
                        " logits are NaN or infinite: the weights are not those of a trained model");
  if (options_.temperature <= 0) return static_cast<int>(std::max_element(logits, logits + n) - logits);
  // The k likeliest, in order of their number.
  int k = options_.top_k > 0 ? std::min(options_.top_k, n) : n;
  float least = -INFINITY;
  if (k < n) least = kth_largest(logits, n, k);
  float most = *std::max_element(logits, logits + n);
  kept_.clear();
  weight_.clear();
  double total = 0;
  for (int i = 0; i < n && static_cast<int>(kept_.size()) < k; ++i) {
    if (!(logits[i] >= least)) continue;
    kept_.push_back(i);
    weight_.push_back(std::exp((logits[i] - most) / options_.temperature));
    total += weight_.back();
  }
  // 53 random bits: std::uniform_real_distribution may differ between standard libraries.
  double at = static_cast<double>(random_() >> 11) * 0x1p-53 * total;
  for (std::size_t i = 0; i < kept_.size(); ++i)
    if ((at -= weight_[i]) < 0) return kept_[i];
  return kept_.back();
}

Generated generate(const Model& model, const Step& step, const std::string& prompt, std::int64_t tokens,
                   SamplingOptions options, const std::function<void(char)>& emit) {
  const std::size_t context = static_cast<std::size_t>(model.config.context);
  if (prompt.empty()) throw rp::Error(rp::ErrorCode::InvalidArgument, "generate", "the prompt is empty");
  if (prompt.size() > context)
    throw rp::Error(
        rp::ErrorCode::InvalidArgument, "generate",
        "the prompt has " + std::to_string(prompt.size()) + " bytes, the cache holds " + std::to_string(context));

  for (unsigned char c : prompt)
    if (c >= model.config.vocab_size)
      throw rp::Error(rp::ErrorCode::InvalidArgument, "generate",
                      "the prompt has the byte " + std::to_string(c) + ", the model knows " +
                          std::to_string(model.config.vocab_size) + " of them");

  const rp::Device device = model.weights.embedding.device();
  Sampler sample(options);
  Cache cache = new_cache(model.config, model.weights.embedding.dtype(), device);
  std::string all = prompt;
  std::size_t start = 0;  // the text position that stands at cache position 0
  Generated out;

  auto begin = std::chrono::steady_clock::now();
  rp::Tensor logits = step(cache, token_tensor(all, 0, all.size(), device), 0, true).cpu();
  out.prefill_seconds = seconds_since(begin);

  for (std::int64_t i = 0; i < tokens; ++i) {
    begin = std::chrono::steady_clock::now();
    int token = sample(logits.data<float>(), static_cast<int>(model.config.vocab_size));
    all.push_back(static_cast<char>(token));
    emit(static_cast<char>(token));
    ++out.tokens;
    if (i + 1 == tokens) break;
    std::size_t pos = all.size() - 1 - start;
    if (pos < context) {
      const rp::Tensor one = token_tensor(all, all.size() - 1, 1, device);
      rp::mark_static(one, 0);  // always one: code for products of a single row
      logits = step(cache, one, static_cast<std::int64_t>(pos), false).cpu();
    } else {
      std::size_t keep = std::max<std::size_t>(context / 2, 1);
      start = all.size() - keep;
      logits = step(cache, token_tensor(all, start, keep, device), 0, true).cpu();
    }
    if (i == 0) continue;
    out.decode_seconds += seconds_since(begin);
    ++out.timed_tokens;
  }
  out.text = all.substr(prompt.size());
  return out;
}

// (An ifunc is resolved before ThreadSanitizer is ready for instrumented code.)
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static std::uint64_t
sum_words(const std::uint64_t* p, std::int64_t n) {
  std::uint64_t lanes[32] = {};
  std::int64_t i = 0;
  for (; i + 32 <= n; i += 32)
    for (int j = 0; j < 32; ++j) lanes[j] += p[i + j];
  for (; i < n; ++i) lanes[0] += p[i];
  return std::accumulate(lanes, lanes + 32, std::uint64_t{0});
}

static double device_read_bandwidth(std::int64_t bytes, rp::Device device) {
  auto add_up = rp::compile([](rp::Tensor t) { return t.sum(); }, {.name = "read"});
  rp::Tensor buffer = rp::ones({bytes / 4 + 1}, {.device = device});
  std::vector<double> rates;
  for (int pass = 0; pass < 51; ++pass) {
    auto begin = std::chrono::steady_clock::now();
    add_up(buffer).item();
    rates.push_back(static_cast<double>(bytes) / seconds_since(begin));
  }
  std::nth_element(rates.begin(), rates.begin() + 25, rates.end());
  return rates[25];
}

double read_bandwidth(std::int64_t bytes, rp::Device device) {
  if (device != rp::Device::cpu()) return device_read_bandwidth(bytes, device);
  std::vector<std::uint64_t> buffer(static_cast<std::size_t>(bytes) / 8 + 1, 1);
  volatile std::uint64_t sink = 0;
  std::vector<double> rates;
  for (int pass = 0; pass < 51; ++pass) {
    auto begin = std::chrono::steady_clock::now();
    sink = sink + sum_words(buffer.data(), static_cast<std::int64_t>(buffer.size()));
    rates.push_back(static_cast<double>(buffer.size() * 8) / seconds_since(begin));
  }
  std::nth_element(rates.begin(), rates.begin() + 25, rates.end());
  return rates[25];
}

}  // namespace llama
