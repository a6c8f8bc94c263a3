#pragma once
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "model.h"

namespace llama {

struct SamplingOptions {
  double temperature = 0.8;  ///< 0: always the likeliest byte
  int top_k = 40;            ///< 0: all
  std::uint64_t seed = 0;
};

/// Draws the next token from logits. The same seed gives the same text on every machine whose logits agree.
class Sampler {
 public:
  explicit Sampler(SamplingOptions o) : options_(o), random_(o.seed) {}
  /// Throws rp::Error(InvalidArgument) when a logit is NaN or +infinity, or none is a number.
  int operator()(const float* logits, int n);

 private:
  SamplingOptions options_;
  std::mt19937_64 random_;
  std::vector<int> kept_;
  std::vector<double> weight_;
};

/// One step of the model: eager `forward`, or the same function compiled.
using Step = std::function<rp::Tensor(Cache&, rp::Tensor tokens, rp::Int pos, bool causal)>;

struct Generated {
  std::string text;
  std::int64_t tokens = 0;
  double prefill_seconds = 0;     ///< of the prompt
  double decode_seconds = 0;      ///< of the tokens that `timed_tokens` counts
  std::int64_t timed_tokens = 0;  ///< all but the first decoded one, which may compile
};

/// Writes `tokens` bytes after `prompt`, giving each to `emit` as it comes. When the cache is full, the newest half of
/// the text is read again at the start of the cache and writing goes on.
/// Throws rp::Error(InvalidArgument) for an empty prompt, one longer than the cache or with bytes that the model does
/// not know, and for logits that are no numbers.
Generated generate(const Model& model, const Step& step, const std::string& prompt, std::int64_t tokens,
                   SamplingOptions, const std::function<void(char)>& emit);

/// Bytes per second that one thread (or the device) reads from a buffer of this size, in a loop that only adds them up:
/// the median of 51 passes, as token rates are means over many steps; the buffer is touched before.
double read_bandwidth(std::int64_t bytes, rp::Device device = rp::Device::cpu());

}  // namespace llama
