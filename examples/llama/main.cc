// Streams text from a small language model written in plain C++ (model.cc) and compiled while it runs.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "generate.h"

namespace rp = reprise;

namespace {

constexpr const char* kHelp = R"(usage: llama [PROMPT] [options]

Writes text after PROMPT with a byte-level language model, compiled while it runs.

  --tokens N        bytes to write (default 300)
  --temperature X   0 is always the likeliest byte; higher is wilder (default 0.8)
  --top-k N         choose among the N likeliest bytes, 0 for all (default 40)
  --seed N          random seed (default 0)
  --eager           run the same code without compiling
  --threads N       threads to use (default 1: this model is small enough that one is quickest)
  --device NAME     cpu or cuda (default cpu)
  --model FILE      a safetensors file (default: the one beside this example)
  --json            print one JSON object instead of text and table
  --help            this text
)";

struct Options {
  std::string prompt = "In the beginning", model = REPRISE_LLAMA_MODEL, device = "cpu";
  std::int64_t tokens = 300;
  llama::SamplingOptions sampling;
  int threads = 1;
  bool eager = false, json = false;
};

[[noreturn]] void usage_error(const std::string& what) {
  std::fprintf(stderr, "llama: %s\nllama: --help lists the options\n", what.c_str());
  std::exit(2);
}

double number(const char* option, const char* text, double lo, double hi) {
  char* end = nullptr;
  double v = std::strtod(text, &end);
  if (end == text || *end != 0 || !(v >= lo && v <= hi)) {
    char range[96];
    std::snprintf(range, sizeof range, "expected a number from %g to %g", lo, hi);
    usage_error(std::string(option) + " is '" + text + "', " + range);
  }
  return v;
}

std::int64_t integer(const char* option, const char* text, double lo, double hi) {
  double v = number(option, text, lo, hi);
  if (v != std::floor(v)) usage_error(std::string(option) + " is '" + text + "', expected a whole number");
  return static_cast<std::int64_t>(v);
}

Options parse(int argc, char** argv) {
  Options o;
  bool have_prompt = false, only_words = false;
  for (int i = 1; i < argc; ++i) {
    std::string a = argv[i];
    auto value = [&]() -> const char* {
      if (i + 1 >= argc) usage_error(a + " needs a value");
      return argv[++i];
    };
    if (only_words || a.rfind("--", 0) != 0) {
      if (have_prompt) usage_error("one prompt at a time: put it in quotes ('" + a + "' is a second one)");
      o.prompt = a;
      have_prompt = true;
    } else if (a == "--") only_words = true;
    else if (a == "--tokens") o.tokens = integer("--tokens", value(), 1, 1e9);
    else if (a == "--temperature") o.sampling.temperature = number("--temperature", value(), 0, 100);
    else if (a == "--top-k") o.sampling.top_k = static_cast<int>(integer("--top-k", value(), 0, 1e6));
    else if (a == "--seed") o.sampling.seed = static_cast<std::uint64_t>(integer("--seed", value(), 0, 9e15));
    else if (a == "--threads") o.threads = static_cast<int>(integer("--threads", value(), 1, 1024));
    else if (a == "--device") o.device = value();
    else if (a == "--model") o.model = value();
    else if (a == "--eager") o.eager = true;
    else if (a == "--json") o.json = true;
    else if (a == "--help") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    } else usage_error("unknown option '" + a + "'");
  }
  return o;
}

// Bytes as JSON text: the model may write any byte, so those that are not ASCII are given by their code point.
std::string json_string(const std::string& s) {
  std::string out = "\"";
  for (unsigned char c : s) {
    if (c == '"' || c == '\\') out += std::string("\\") + static_cast<char>(c);
    else if (c >= 0x20 && c < 0x7f) out += static_cast<char>(c);
    else {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    }
  }
  return out + "\"";
}

rp::Device device_of(const std::string& name) {
  if (std::string why = rp::why_unavailable(name); why != "available")
    throw rp::Error(rp::ErrorCode::DeviceUnavailable, "llama", "device '" + name + "': " + why);
  if (name == "cpu") return rp::Device::cpu();
  return rp::Device::cuda(name == "cuda" ? 0 : std::stoi(name.substr(5)));
}

int run(const Options& o) {
  rp::Device device = device_of(o.device);
  rp::set_num_threads(o.threads);
  llama::Model model = llama::load(o.model, device);

  // A position is decoded once: old recordings are not worth keeping.
  auto step = rp::compile(
      llama::forward,
      {.name = "llama", .recordings_max = 16, .arguments = {"config", "weights", "cache", "tokens", "pos", "causal"}});
  llama::Step eager = [&](llama::Cache& cache, rp::Tensor tokens, rp::Int pos, bool causal) {
    return llama::forward(model.config, model.weights, cache, tokens, pos, causal);
  };
  llama::Step compiled = [&](llama::Cache& cache, rp::Tensor tokens, rp::Int pos, bool causal) {
    return step(model.config, model.weights, cache, tokens, pos, causal);
  };

  if (!o.json) {
    std::fputs(o.prompt.c_str(), stdout);
    std::fflush(stdout);
  }
  const bool terminal = isatty(STDOUT_FILENO);
  auto emit = [&](char c) {
    if (o.json) return;
    // What a model writes may not steer a terminal.
    const bool control = (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
    std::putchar(terminal && control ? '?' : c);
    std::fflush(stdout);
  };
  llama::Generated g = llama::generate(model, o.eager ? eager : compiled, o.prompt, o.tokens, o.sampling, emit);
  auto rate = [](const llama::Generated& r) {
    return r.timed_tokens ? static_cast<double>(r.timed_tokens) / r.decode_seconds : 0.0;
  };

  // The same job without compiling, for the table: as many tokens, but no more than a moment's worth (which a simulated
  // device has in each).(which a simulated device has in each).(which a simulated device has in each).
  double eager_rate = rate(g);
  if (!o.eager) {
    std::int64_t n = std::clamp<std::int64_t>(o.tokens, device == rp::Device::cpu() ? 32 : 1, 128);
    eager_rate = rate(llama::generate(model, eager, o.prompt, n, o.sampling, [](char) {}));
  }
  double bandwidth = llama::read_bandwidth(model.weight_bytes, device);
  double fraction = rate(g) * static_cast<double>(model.weight_bytes) / bandwidth;
  rp::Stats s = step.stats();

  if (o.json) {
    std::printf(
        "{\"text\": %s, \"prompt_tokens\": %zu, \"tokens\": %lld, \"tokens_per_second\": %.1f, "
        "\"eager_tokens_per_second\": %.1f, "
        "\"compilations\": %lld, \"recordings\": %lld, \"pool_bytes\": %lld, \"copied_bytes\": %lld, \"dispatch_ns\": "
        "%.1f, "
        "\"bandwidth_fraction\": %.3f}\n",
        json_string(g.text).c_str(), o.prompt.size(), static_cast<long long>(g.tokens), rate(g), eager_rate,
        static_cast<long long>(s.compilations), static_cast<long long>(s.recordings),
        static_cast<long long>(s.pool_bytes), static_cast<long long>(s.copied_bytes), s.dispatch_ns, fraction);
    return 0;
  }
  std::printf("\n\n");
  if (!o.eager) std::printf("%-28s %12.0f tokens/s\n", "compiled", rate(g));
  std::printf("%-28s %12.0f tokens/s\n", "eager", eager_rate);
  std::printf("%-28s %12.2f ms for %zu tokens\n", "prompt (with compilation)", g.prefill_seconds * 1e3,
              o.prompt.size());
  if (!o.eager) {
    std::printf("%-28s %12lld\n", "compilations", static_cast<long long>(s.compilations));
    std::printf("%-28s %12lld\n", "recordings", static_cast<long long>(s.recordings));
    std::printf("%-28s %12lld bytes\n", "pool", static_cast<long long>(s.pool_bytes));
    std::printf("%-28s %12lld bytes\n", "copied beyond eager", static_cast<long long>(s.copied_bytes));
    std::printf("%-28s %12.0f ns a call\n", "guards and dispatch", s.dispatch_ns);
    std::printf("%-28s %12.2f of reading %.1f MB of weights a token at %.1f GB/s\n", "read bandwidth used", fraction,
                static_cast<double>(model.weight_bytes) / 1e6, bandwidth / 1e9);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "llama: %s\n", e.what());
    return 1;
  }
}
