// One model in three formats: the same source runs in bfloat16, int8 and float8, because quantization is a switch
// inside its Linear. What each costs, and how far it is from the first.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "block.h"
#include "fused_norm.h"

namespace rp = reprise;

namespace {

constexpr const char* kHelp = R"(usage: quantized_llama [PROMPT] [options]

Continues PROMPT with a byte-level language model in bfloat16, and runs the same source with weights and activations quantized to int8 and
float8: tokens per second, bytes read a token, patterns that matched, and how often each agrees with bfloat16 on the next byte.

  --tokens N          bytes to write (default 200)
  --formats LIST      of bf16, int8, fp8 (default bf16,int8,fp8); the first one writes, the others read what it wrote
  --random DIMxLAYERS random weights of this size in place of a model: for measurements (default: the model of examples/llama)
  --fused-norm        replace rms_norm and quantization to int8 by a kernel of this example's own, found by a pattern
  --threads N         threads to use (default 1)
  --device NAME       cpu or cuda (default cpu)
  --model FILE        a safetensors file
  --json              print one JSON object instead of text and table
  --help              this text
)";

struct Options {
  std::string prompt = "In the beginning", model = REPRISE_LLAMA_MODEL, device = "cpu";
  std::int64_t tokens = 200, random_dim = 0, random_layers = 0;
  std::vector<quantized::Format> formats{quantized::Format::BFloat16, quantized::Format::Int8,
                                         quantized::Format::Float8};
  int threads = 1;
  bool fused_norm = false, json = false;
};

[[noreturn]] void usage_error(const std::string& what) {
  std::fprintf(stderr, "quantized_llama: %s\nquantized_llama: --help lists the options\n", what.c_str());
  std::exit(2);
}

/// A whole number at the start of `text`, which `rest` then follows.
std::int64_t integer(const std::string& option, const std::string& text, std::int64_t lo, std::int64_t hi,
                     std::string* rest = nullptr) {
  char* end = nullptr;
  const long long v = std::strtoll(text.c_str(), &end, 10);
  const bool whole = end != text.c_str() && (rest || *end == 0);
  if (!whole || v < lo || v > hi)
    usage_error(option + " is '" + text + "', expected a whole number from " + std::to_string(lo) + " to " +
                std::to_string(hi));
  if (rest) *rest = end;
  return v;
}

std::vector<quantized::Format> formats(const std::string& list) {
  std::vector<quantized::Format> all;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::string name = list.substr(at, comma - at);
    at = comma + 1;
    bool known = false;
    for (quantized::Format f : {quantized::Format::BFloat16, quantized::Format::Int8, quantized::Format::Float8})
      if (name == quantized::name_of(f)) all.push_back(f), known = true;
    if (!known) usage_error("--formats has '" + name + "', expected bf16, int8 or fp8");
  }
  return all;
}

Options parse(int argc, char** argv) {
  Options o;
  bool have_prompt = false;
  for (int i = 1; i < argc; ++i) {
    const std::string a = argv[i];
    auto value = [&]() -> std::string {
      if (i + 1 >= argc) usage_error(a + " needs a value");
      return argv[++i];
    };
    if (a == "--help") std::fputs(kHelp, stdout), std::exit(0);
    else if (a == "--tokens") o.tokens = integer(a, value(), 2, 100000);
    else if (a == "--formats") o.formats = formats(value());
    else if (a == "--threads") o.threads = static_cast<int>(integer(a, value(), 1, 1024));
    else if (a == "--device") o.device = value();
    else if (a == "--model") o.model = value();
    else if (a == "--fused-norm") o.fused_norm = true;
    else if (a == "--json") o.json = true;
    else if (a == "--random") {
      std::string layers;
      const std::string size = value();
      o.random_dim = integer(a, size, 64, 16384, &layers);
      if (o.random_dim % 64 != 0)
        usage_error("--random is '" + size + "': the dimension is a multiple of 64, the size of a head");
      if (layers.empty() || layers[0] != 'x')
        usage_error("--random is '" + size + "', expected DIMxLAYERS, such as 2048x4");
      o.random_layers = integer(a, layers.substr(1), 1, 200);
    } else if (a.starts_with("--")) usage_error("unknown option '" + a + "'");
    else if (have_prompt) usage_error("one prompt at a time: put it in quotes ('" + a + "' is a second one)");
    else o.prompt = a, have_prompt = true;
  }
  if (o.prompt.empty()) usage_error("the prompt is empty");
  return o;
}

rp::Device device_of(const std::string& name) {
  if (const std::string why = rp::why_unavailable(name); why != "available")
    throw rp::Error(rp::ErrorCode::DeviceUnavailable, "quantized_llama", "device '" + name + "': " + why);
  return name == "cpu" ? rp::Device::cpu() : rp::Device::cuda(name == "cuda" ? 0 : std::stoi(name.substr(5)));
}

llama::Model model_of(const Options& o, rp::Device device) {
  if (!o.random_dim) return llama::load(o.model, device);
  llama::Model m;
  m.config = {.dim = o.random_dim,
              .n_layers = o.random_layers,
              .n_heads = o.random_dim / 64,
              .n_kv_heads = o.random_dim % 256 == 0 ? o.random_dim / 256 : o.random_dim / 64,
              .head_dim = 64,
              .hidden_dim = (o.random_dim * 8 / 3 + 63) / 64 * 64,
              .vocab_size = 256,
              .context = std::max<std::int64_t>(o.tokens + static_cast<std::int64_t>(o.prompt.size()), 256)};
  m.weights = quantized::random_weights(m.config, device);
  return m;
}

struct Row {
  quantized::Format format;
  double tokens_per_second = 0, agrees = 0, bits_per_byte = 0;
  std::int64_t bytes = 0, copied = 0, compilations = 0, fallbacks = 0;
  std::string matches;
};

/// -log2 of the probability that the logits give to a byte.
double bits(const float* logits, int n, int byte) {
  const float most = *std::max_element(logits, logits + n);
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += std::exp(static_cast<double>(logits[i] - most));
  return (std::log(sum) - static_cast<double>(logits[byte] - most)) / std::log(2.0);
}

/// Runs the model over the prompt and then byte by byte: over `text`, or what is likeliest where that is empty, which
/// it then holds.
Row run(const Options& o, const llama::Model& model, quantized::Format format, rp::Device device, std::string& text) {
  const llama::Config& c = model.config;
  const quantized::Weights weights = quantized::weights_of(model.weights, format);
  llama::Cache cache = llama::new_cache(c, rp::kBFloat16, device);
  auto step = rp::compile(quantized::forward, {.name = "forward_" + std::string(quantized::name_of(format)),
                                               .recordings_max = 16,
                                               .arguments = {"config", "weights", "cache", "tokens", "pos", "causal"}});
  std::vector<std::int64_t> ids;
  for (unsigned char byte : o.prompt) ids.push_back(byte);
  rp::Tensor logits = step(c, weights, cache, rp::tensor_of(ids).to(device), 0, true).cpu();
  const bool writes = text.empty();
  const int n = static_cast<int>(c.vocab_size);
  Row row;
  row.format = format, row.bytes = weights.bytes();
  std::vector<double> seconds;
  std::int64_t agreed = 0;
  double all_bits = 0;
  for (std::int64_t i = 0; i < o.tokens; ++i) {
    const float* l = logits.data<float>();
    const int likeliest = static_cast<int>(std::max_element(l, l + n) - l);
    if (writes) text.push_back(static_cast<char>(likeliest));
    const int next = static_cast<unsigned char>(text[static_cast<std::size_t>(i)]);
    agreed += next == likeliest;
    all_bits += bits(l, n, next);
    if (i + 1 == o.tokens) break;
    const auto begin = std::chrono::steady_clock::now();
    logits = step(c, weights, cache, rp::tensor_of(std::vector<std::int64_t>{next}).to(device),
                  static_cast<std::int64_t>(ids.size()) + i, false)
                 .cpu();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(seconds.begin(), seconds.end());  // the first one compiles
  row.tokens_per_second = 1 / seconds[seconds.size() / 2];
  row.agrees = static_cast<double>(agreed) / static_cast<double>(o.tokens);
  row.bits_per_byte = all_bits / static_cast<double>(o.tokens);
  const rp::Stats s = step.stats();
  row.copied = s.copied_bytes, row.compilations = s.compilations, row.fallbacks = s.eager_fallbacks;
  for (const auto& m : s.matches)
    row.matches += (row.matches.empty() ? "" : ", ") + m.pattern + " " + std::to_string(m.matches);
  return row;
}

int main_of(const Options& o) {
  const rp::Device device = device_of(o.device);
  rp::set_num_threads(o.threads);
  const llama::Model model = model_of(o, device);
  if (static_cast<std::int64_t>(o.prompt.size()) + o.tokens > model.config.context)
    usage_error("the prompt and --tokens are " + std::to_string(static_cast<std::int64_t>(o.prompt.size()) + o.tokens) +
                " bytes together; the model's context holds " + std::to_string(model.config.context));
  if (o.fused_norm) quantized::register_fused_norm(model.config.norm_eps);

  std::string text;
  std::vector<Row> rows;
  for (quantized::Format f : o.formats) rows.push_back(run(o, model, f, device, text));

  if (o.json) {
    std::printf("[");
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row& r = rows[i];
      std::printf(
          "%s{\"format\": \"%s\", \"tokens_per_second\": %.1f, \"weight_bytes\": %lld, \"agrees\": %.3f, "
          "\"bits_per_byte\": %.4f, \"copied_bytes\": %lld, \"compilations\": %lld, "
          "\"eager_fallbacks\": %lld, \"matches\": \"%s\"}",
          i ? ", " : "", std::string(quantized::name_of(r.format)).c_str(), r.tokens_per_second,
          static_cast<long long>(r.bytes), r.agrees, r.bits_per_byte, static_cast<long long>(r.copied),
          static_cast<long long>(r.compilations), static_cast<long long>(r.fallbacks), r.matches.c_str());
    }
    std::printf("]\n");
    return 0;
  }
  if (!o.random_dim) std::printf("%s%s\n\n", o.prompt.c_str(), text.c_str());
  std::printf("%-6s %12s %16s %9s %11s %14s %8s  %s\n", "", "tokens/s", "bytes a token", "GB/s", "agrees",
              "bits per byte", "copied", "matches");
  for (const Row& r : rows)
    std::printf("%-6s %12.0f %16lld %9.1f %10.1f%% %14.3f %8lld  %s\n",
                std::string(quantized::name_of(r.format)).c_str(), r.tokens_per_second, static_cast<long long>(r.bytes),
                r.tokens_per_second * static_cast<double>(r.bytes) / 1e9, 100 * r.agrees, r.bits_per_byte,
                static_cast<long long>(r.copied), r.matches.empty() ? "-" : r.matches.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return main_of(parse(argc, argv));
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "quantized_llama: %s\n", e.what());
    return 1;
  }
}
