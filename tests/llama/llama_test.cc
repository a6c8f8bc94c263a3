// The language model end to end. reference.json holds the logits that scripts/train_demo_model.py --reference computed
// in float32, apart from this library.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/knobs.h"
#include "device/null/null_device.h"
#include "generate.h"
#include "model.h"
#include "tests/support/device.h"

namespace {

namespace rp = reprise;

const llama::Model& model() {
  static const llama::Model m =
      llama::load(REPRISE_SOURCE_DIR "/examples/llama/model.safetensors", rp::test::test_device());
  return m;
}

struct CompiledModel {
  decltype(rp::compile(llama::forward)) step = rp::compile(llama::forward, {.name = "llama"});
  llama::Step run = [this](llama::Cache& c, rp::Tensor t, rp::Int pos, bool causal) {
    return step(model().config, model().weights, c, t, pos, causal);
  };
};

rp::Tensor eager(llama::Cache& c, rp::Tensor t, rp::Int pos, bool causal) {
  return llama::forward(model().config, model().weights, c, t, pos, causal);
}

rp::Tensor tokens(const std::string& s) {
  std::vector<std::int64_t> ids;
  for (unsigned char c : s) ids.push_back(c);
  return rp::tensor_of(ids).to(rp::test::test_device());
}

void quiet(char) {}

TEST(Llama, LogitsAgreeWithAnIndependentImplementation) {
  nlohmann::json ref = nlohmann::json::parse(std::ifstream(REPRISE_SOURCE_DIR "/tests/llama/reference.json"));
  std::vector<float> want = ref["logits"].get<std::vector<float>>();
  CompiledModel compiled;
  for (bool through_compile : {false, true}) {
    llama::Cache cache = llama::new_cache(model().config, rp::kFloat16, rp::test::test_device());
    rp::Tensor t = tokens(ref["prompt"].get<std::string>());
    std::vector<float> got =
        (through_compile ? compiled.run(cache, t, 0, true) : eager(cache, t, 0, true)).to_vector<float>();
    ASSERT_EQ(got.size(), want.size());
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
      worst = std::max(worst, std::abs(static_cast<double>(got[i]) - want[i]));
    // Activations are float16 here: 5 layers of rounding at 2^-11 on logits up to about 14.
    EXPECT_LT(worst, 0.15) << (through_compile ? "compiled" : "eager");
    EXPECT_EQ(std::max_element(got.begin(), got.end()) - got.begin(),
              std::max_element(want.begin(), want.end()) - want.begin());
  }
}

TEST(Llama, AtMostThreeCompilationsForAnyPromptAndAnyNumberOfTokens) {
  CompiledModel compiled;
  std::string text(500, 'a');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = "She said that it was "[i % 21];
  bool slow = rp::test::simulated();
  for (std::size_t n :
       slow ? std::vector<std::size_t>{13, 1, 2, 3} : std::vector<std::size_t>{13, 1, 2, 3, 64, 128, 500})
    llama::generate(model(), compiled.run, text.substr(0, n), slow ? 2 : 8, {}, quiet);
  llama::generate(model(), compiled.run, "The", slow ? 6 : 600, {}, quiet);  // 600: past the end of the cache
  rp::Stats s = compiled.step.stats();
  EXPECT_LE(s.compilations, 3);
  EXPECT_EQ(s.eager_fallbacks, 0) << s.last_fallback_reason;
  EXPECT_EQ(s.copied_bytes, 0) << "the cache is written in place";
}

TEST(Llama, CompiledAndEagerWriteTheSameText) {
  CompiledModel compiled;
  const std::int64_t length = rp::test::simulated() ? 5 : 60;
  llama::SamplingOptions greedy{.temperature = 0, .top_k = 0, .seed = 0};
  std::string a = llama::generate(model(), compiled.run, "It is a truth", length, greedy, quiet).text;
  std::string b = llama::generate(model(), eager, "It is a truth", length, greedy, quiet).text;
  EXPECT_EQ(a, b);
}

TEST(Llama, OneTokenAtATimeGivesWhatThePromptAtOnceGives) {
  CompiledModel compiled;
  std::string text = rp::test::simulated() ? "She said" : "She said that she was ";
  llama::Cache at_once = llama::new_cache(model().config, rp::kFloat16, rp::test::test_device()),
               one_by_one = llama::new_cache(model().config, rp::kFloat16, rp::test::test_device());
  std::vector<float> a = compiled.run(at_once, tokens(text), 0, true).to_vector<float>(), b;
  for (std::size_t i = 0; i < text.size(); ++i)
    b = compiled.run(one_by_one, tokens(text.substr(i, 1)), static_cast<std::int64_t>(i), false).to_vector<float>();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 0.15) << i;
}

// Products of a library have addresses in what was captured: weights, temporaries and logits that are read at once stay
// where they are from token to token.
TEST(Llama, DecodingCapturesNoProductAgain) {
  CompiledModel compiled;
  llama::Cache cache = llama::new_cache(model().config, rp::kFloat16, rp::test::test_device());
  rp::Tensor t = tokens("a");
  auto step = [&](std::int64_t pos) { compiled.run(cache, t, pos, false).to_vector<float>(); };
  const rp::ProcessStats first = rp::stats();
  step(1), step(2);
  const rp::ProcessStats before = rp::stats();
  if (before.library_products == first.library_products) GTEST_SKIP() << "no library serves products";
  step(1), step(2), step(3), step(4);
  const rp::ProcessStats after = rp::stats();
  EXPECT_EQ(after.library_products, before.library_products)
      << "no more recordings: positions are words of the one there is";
  EXPECT_EQ(after.product_captures, before.product_captures);
  EXPECT_EQ(after.product_updates, before.product_updates);
}

// Query, key and value with the norm, rotation and caches; attention; its output with the residual; gate and up with
// the norm; down with the residual.
TEST(Llama, ALayerOfADecodedTokenIsFiveKernels) {
  if (rp::knobs().cuda_products == "library") GTEST_SKIP() << "a library has the products";
  const rp::Device null = rp::Device::null();
  rp::device::set_null_kernels(true);
  auto launches = [&](std::int64_t layers, rp::DType t) {
    llama::Config c;
    c.dim = 64, c.n_layers = layers, c.n_heads = 4, c.n_kv_heads = 2, c.head_dim = 16, c.hidden_dim = 96,
    c.vocab_size = 32, c.context = 64;
    auto empty = [&](rp::Ints sizes, rp::DType of) { return rp::empty(sizes, {.dtype = of, .device = null}); };
    llama::Weights w;
    w.embedding = empty({c.vocab_size, c.dim}, t), w.norm = empty({c.dim}, t),
    w.cos = empty({c.context, 8}, rp::kFloat32), w.sin = empty({c.context, 8}, rp::kFloat32);
    for (std::int64_t i = 0; i < layers; ++i)
      w.layers.push_back({empty({64}, t), empty({64, 64}, t), empty({32, 64}, t), empty({32, 64}, t),
                          empty({64, 64}, t), empty({64}, t), empty({96, 64}, t), empty({64, 96}, t),
                          empty({96, 64}, t)});
    llama::Cache cache = llama::new_cache(c, t, null);
    const rp::Tensor token = rp::tensor_of(std::vector<std::int64_t>{7}).to(null);
    auto step = rp::compile(llama::forward, {.name = "decode", .static_sizes = true});
    step(c, w, cache, token, 5, false), step(c, w, cache, token, 6, false);
    rp::device::take_null_record();
    step(c, w, cache, token, 7, false);
    return rp::device::take_null_record().launches;
  };
  for (rp::DType t : {rp::kFloat32, rp::kFloat16, rp::kBFloat16}) {
    const auto two = launches(2, t), three = launches(3, t);
    std::string names;
    for (const auto& l : three) names += l.name + '\n';
    EXPECT_EQ(three.size() - two.size(), 5u) << names;
    // One after the other: each comes after the one before it, whatever else it comes after.
    for (std::size_t i = 2; i < three.size(); ++i) {
      const auto& after = three[i].after;
      EXPECT_NE(std::find(after.begin(), after.end(), i - 1), after.end()) << i << "\n" << names;
    }
  }
  rp::device::set_null_kernels(false);
}

TEST(Llama, RefusesBadPromptsAndFiles) {
  auto code = [](auto&& f) {
    try {
      f();
    } catch (const rp::Error& e) {
      return e.code();
    }
    return rp::ErrorCode::Internal;
  };
  EXPECT_EQ(code([] { llama::generate(model(), eager, "", 3, {}, quiet); }), rp::ErrorCode::InvalidArgument);
  EXPECT_EQ(code([] { llama::generate(model(), eager, std::string(513, 'a'), 3, {}, quiet); }),
            rp::ErrorCode::InvalidArgument);
  EXPECT_EQ(code([] { llama::load("/nonexistent/model.safetensors"); }), rp::ErrorCode::Io);
  EXPECT_EQ(code([] { llama::load(REPRISE_SOURCE_DIR "/tests/llama/reference.json"); }), rp::ErrorCode::FileFormat);
}

TEST(Llama, LogitsThatAreNoNumbersAreAnError) {
  const float inf = INFINITY, nan = NAN;
  for (double temperature : {0.0, 0.8})
    for (int top_k : {0, 2, 40}) {
      llama::Sampler sample({.temperature = temperature, .top_k = top_k, .seed = 1});
      for (std::vector<float> logits :
           {std::vector<float>{nan, nan, nan}, {1, nan, 2}, {1, 2, inf}, {-inf, -inf, -inf}, {}, {-nan, -inf, nan}}) {
        try {
          sample(logits.data(), static_cast<int>(logits.size()));
          ADD_FAILURE() << "drew from them";
        } catch (const rp::Error& e) {
          EXPECT_EQ(e.code(), rp::ErrorCode::InvalidArgument);
          EXPECT_NE(e.message().find("logits are NaN or infinite"), std::string::npos) << e.what();
        }
      }
      for (int i = 0; i < 20; ++i) EXPECT_EQ(sample(std::vector<float>{-inf, 3, -inf}.data(), 3), 1);
      EXPECT_LT(sample(std::vector<float>{3e38f, -3e38f, 3e38f}.data(), 3), 3);
    }
}

/// A model file with other metadata or weights is an error that names the file, whatever it says.
TEST(Llama, HostileModelFilesAreErrors) {
  const std::string path = ::testing::TempDir() + "reprise_llama_" + std::to_string(getpid()) + ".safetensors";
  auto outcome = [&](const std::map<std::string, std::string>& other, float weight) -> std::string {
    std::map<std::string, std::string> config = {
        {"dim", "8"},        {"n_layers", "1"},    {"n_heads", "2"},  {"n_kv_heads", "1"},  {"head_dim", "4"},
        {"hidden_dim", "8"}, {"vocab_size", "16"}, {"context", "32"}, {"norm_eps", "1e-5"}, {"rope_base", "1e4"}};
    for (const auto& [k, v] : other) config[k] = v;
    std::map<std::string, rp::Tensor> w;
    auto add = [&](const std::string& name, std::vector<std::int64_t> sizes) {
      w[name] = rp::full(rp::Ints(sizes.begin(), sizes.end()), weight, {.dtype = rp::kFloat32});
    };
    add("tok_embeddings.weight", {16, 8}), add("norm.weight", {8});
    const std::string p = "layers.0.";
    add(p + "attention_norm.weight", {8}), add(p + "attention.wq.weight", {8, 8}),
        add(p + "attention.wk.weight", {4, 8}), add(p + "attention.wv.weight", {4, 8});
    add(p + "attention.wo.weight", {8, 8}), add(p + "ffn_norm.weight", {8}), add(p + "feed_forward.w1.weight", {8, 8}),
        add(p + "feed_forward.w2.weight", {8, 8});
    add(p + "feed_forward.w3.weight", {8, 8});
    rp::save_safetensors(path, w, config);
    try {
      llama::Model m = llama::load(path, rp::test::test_device());
      llama::Step step = [&](llama::Cache& c, rp::Tensor t, rp::Int pos, bool causal) {
        return llama::forward(m.config, m.weights, c, t, pos, causal);
      };
      return llama::generate(m, step, "\x01\x02", 3, {}, quiet).text;
    } catch (const rp::Error& e) {
      return e.what();
    }
  };
  EXPECT_EQ(outcome({}, 0.5f).size(), 3u);
  EXPECT_NE(outcome({}, NAN).find("logits are NaN or infinite"), std::string::npos);
  EXPECT_NE(outcome({}, INFINITY).find("logits are NaN or infinite"), std::string::npos);
  for (const char* key :
       {"dim", "n_layers", "n_heads", "n_kv_heads", "head_dim", "hidden_dim", "vocab_size", "context"})
    for (const char* value :
         {"9223372036854775807", "9223372036854775808", "2147483648", "2147483646", "0", "-1", "", "x", "1e3"}) {
      const std::string text = outcome({{key, value}}, 0.5f);
      EXPECT_GT(text.size(), 20u) << key << " = " << value << " was taken";
    }
  for (const char* key : {"norm_eps", "rope_base"})
    for (const char* value : {"inf", "nan", "0", "-1", "", "1e999"})
      EXPECT_NE(outcome({{key, value}}, 0.5f).find(key), std::string::npos) << value;
  unlink(path.c_str());
}

TEST(Llama, TheSameSeedGivesTheSameText) {
  CompiledModel compiled;
  auto write = [&](std::uint64_t seed) {
    return llama::generate(model(), compiled.run, "The ", rp::test::simulated() ? 4 : 40, {.seed = seed}, quiet).text;
  };
  std::string a = write(1), b = write(2);
  EXPECT_EQ(a, write(1));
  EXPECT_NE(a, b);
}

}  // namespace
