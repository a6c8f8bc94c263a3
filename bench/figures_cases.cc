#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "bench/figures.h"
#include "generate.h"
#include "model.h"
#include "reprise/reprise.h"

namespace reprise::figures {

namespace rp = reprise;
using Better = Figure::Better;

namespace {

Figure unmeasurable(std::string name, std::string unit, double target, Better better, std::string why) {
  return {std::move(name), 0, std::move(unit), target, better, false, std::move(why)};
}

/// Plain copy of `bytes` (read and written), one thread: what memory-bound kernels are held against.
void copy_loop(float* dst, const float* src, std::int64_t n) { std::memcpy(dst, src, static_cast<std::size_t>(n) * 4); }

struct Two {
  double a, b;
};
/// Two things in turn, so that drift of the machine hits both; medians of each.
template <class A, class B>
Two interleaved(A&& a, B&& b, int rounds = 15) {
  std::vector<double> ta, tb;
  a();
  b();
  for (int i = 0; i < rounds; ++i) {
    double t = now();
    a();
    ta.push_back(now() - t);
    t = now();
    b();
    tb.push_back(now() - t);
  }
  return {median(ta), median(tb)};
}

}  // namespace

std::vector<Figure> call_figures() {
  std::vector<Figure> out;
  auto f = compile([](Tensor x) { return x + 1; }, {.name = "x_plus_1"});
  Tensor x = ones({16});
  for (int i = 0; i < 100; ++i) f(x);
  out.push_back(
      {"whole warm call: x + 1 on 16 elements", time_call([&] { f(x); }) * 1e9, "ns", 200, Better::Lower, true, ""});

  // A pointwise chain of ten operators that no earlier call has compiled: constants differ each time.
  std::vector<double> ms;
  for (int i = 0; i < 9; ++i) {
    double c = 1.0 + 0.001 * i;
    auto chain =
        compile([c](Tensor a, Tensor b, Tensor d) { return ((exp(a * c) + b) * tanh(b - d) - a) * 0.5 + d * b - c; },
                {.name = "chain10"});
    Tensor a = rand({1000}), b = rand({1000}), d = rand({1000});
    double t = now();
    chain(a, b, d);
    ms.push_back((now() - t) * 1e3);
  }
  out.push_back({"first call of a new 10-operator pointwise chain", median(ms), "ms", 6, Better::Lower, true,
                 "process warm, median of 9"});
  return out;
}

std::vector<Figure> kernel_figures() {
  std::vector<Figure> out;
  set_num_threads(1);
  const std::int64_t rows = 8192, cols = 2048, n = rows * cols;  // 64 MiB each way
  Tensor x = rand({rows, cols}), w = rand({cols}), b = rand({rows, cols});
  std::vector<float> src(static_cast<std::size_t>(n), 1), dst(static_cast<std::size_t>(n));
  auto against_copy = [&](const char* name, auto&& f, double moved) {
    f();
    Two t = interleaved(
        f, [&] { copy_loop(dst.data(), src.data(), n); }, 9);
    double copied = 2.0 * static_cast<double>(n) * 4;
    out.push_back(
        {name, (moved / t.a) / (copied / t.b), "of copy", 0.95, Better::Higher, true, "one thread, 64 MiB arrays"});
  };
  double tensor_bytes = static_cast<double>(n) * 4;
  auto chain = compile([](Tensor a, Tensor c) { return relu(a * 2 + c) * c - 1; }, {.name = "pointwise"});
  against_copy(
      "fused pointwise, 2 in 1 out", [&] { chain(x, b); }, 3 * tensor_bytes);
  auto norm = compile([](Tensor a, Tensor c) { return rms_norm(a, c, 1e-5); }, {.name = "rms_norm"});
  against_copy(
      "rms_norm", [&] { norm(x, w); }, 2 * tensor_bytes);
  auto soft = compile([](Tensor a) { return softmax(a, -1); }, {.name = "softmax"});
  against_copy(
      "softmax over rows", [&] { soft(x); }, 2 * tensor_bytes);
  auto layer =
      compile([](Tensor a, Tensor c) { return layer_norm(a, {c.size(0)}, c, c, 1e-5); }, {.name = "layer_norm"});
  against_copy(
      "layer_norm", [&] { layer(x, w); }, 2 * tensor_bytes);
  // not along memory: less than a copy's rate is to be expected
  auto moved = [&](const char* name, auto&& f, double bytes, double target) {
    against_copy(name, f, bytes);
    out.back().target = target;
  };
  auto turned = compile([](Tensor a) { return a.t().contiguous(); }, {.name = "transpose"});
  moved(
      "transpose", [&] { turned(x); }, 2 * tensor_bytes, 0.5);
  auto activated = compile([](Tensor a) { return gelu(a); }, {.name = "gelu"});
  moved(
      "gelu", [&] { activated(x); }, 2 * tensor_bytes, 0.5);
  Tensor index = randint(0, rows, {rows}, {.dtype = kInt64});
  auto taken = compile([](Tensor a, Tensor i) { return index_select(a, 0, i); }, {.name = "gather"});
  moved(
      "gather", [&] { taken(x, index); }, 2 * tensor_bytes, 0.9);
  auto added = compile([](Tensor a, Tensor i, Tensor c) { return index_add(a, 0, i, c); }, {.name = "index_add"});
  moved(
      "index_add", [&] { added(x, index, b); }, 5 * tensor_bytes, 0.5);
  set_num_threads(default_num_threads());
  return out;
}

namespace {
/// The machine's matrix-product rate here: the best that a large float32 product reaches on one thread, flop/s.
double product_rate() {
  Tensor a = rand({1024, 1024}), b = rand({1024, 1024});
  auto f = compile([](Tensor p, Tensor q) { return mm(p, q); }, {.name = "mm1024"});
  f(a, b);
  return 2.0 * 1024 * 1024 * 1024 / time_call([&] { f(a, b); }, 9, 0.05);
}
}  // namespace

/// A 7 x 7 convolution that a program writes as a sum of products, one for each place of the window: fused against
/// single operators.
void add_convolution(std::vector<Figure>& out) {
  constexpr std::int64_t kSide = 112;
  auto convolve = [](Tensor x, Tensor w) {
    Tensor sum;
    for (int i = 0; i < 49; ++i) {
      const Tensor window = x.slice(1, i / 7, i / 7 + 2 * kSide - 1, 2)
                                .slice(2, i % 7, i % 7 + 2 * kSide - 1, 2)
                                .reshape({3, kSide * kSide});
      const Tensor product = matmul(w.select(3, i % 7).select(2, i / 7), window);
      sum = sum.defined() ? sum + product : product;
    }
    return relu(sum);
  };
  const Tensor x = randn({3, 2 * kSide + 6, 2 * kSide + 6}), w = randn({64, 3, 7, 7});
  auto fused = compile(convolve, {.name = "fused"}), apart = compile(convolve, {.name = "apart", .mode = "no-fuse"});
  auto pool = [&](auto& f) {
    release_pool();
    f(x, w);
    return static_cast<double>(f.stats().pool_bytes);
  };
  const double bytes = pool(fused), bytes_apart = pool(apart);
  std::vector<double> one, two;
  for (int i = 0; i < 15; ++i) {
    double start = now();
    fused(x, w);
    one.push_back(now() - start);
    start = now();
    apart(x, w);
    two.push_back(now() - start);
  }
  out.push_back({"sum of 49 products, memory of single operators", bytes / bytes_apart, "ratio", 1.1, Better::Lower,
                 true,
                 std::to_string(static_cast<int>(bytes / 1e6)) + " MB against " +
                     std::to_string(static_cast<int>(bytes_apart / 1e6))});
  out.push_back({"sum of 49 products, time of single operators", median(one) / median(two), "ratio", 0.7, Better::Lower,
                 true,
                 "3 x 230 x 230 to 64 x 112 x 112, interleaved, median of 15: " +
                     std::to_string(static_cast<int>(median(one) * 1e6)) + " us against " +
                     std::to_string(static_cast<int>(median(two) * 1e6))});
}

std::vector<Figure> matmul_figures() {
  set_num_threads(1);
  double rate = product_rate();
  std::vector<Figure> out;
  add_convolution(out);
  set_num_threads(default_num_threads());
  out.push_back(unmeasurable(
      "matrix product 1024, float32, one thread, of the best peer", "ratio", 0.97, Better::Higher,
      "needs peers (./run bench --peers); alone: " + std::to_string(static_cast<int>(rate / 1e9)) + " Gflop/s"));
  return out;
}

std::vector<Figure> model_figures() {
  std::vector<Figure> out;
  set_num_threads(1);
  llama::Model model = llama::load(REPRISE_LLAMA_MODEL);
  auto step = compile(llama::forward, {.name = "llama", .recordings_max = 16});
  llama::Step run = [&](llama::Cache& c, Tensor t, Int pos, bool causal) {
    return step(model.config, model.weights, c, t, pos, causal);
  };
  auto quiet = [](char) {};
  llama::generate(model, run, "It is a truth", 32, {}, quiet);
  std::vector<double> fractions;
  for (int i = 0; i < 5; ++i) {
    llama::Generated g = llama::generate(model, run, "It is a truth", 200, {}, quiet);
    double bandwidth = llama::read_bandwidth(model.weight_bytes);
    fractions.push_back(static_cast<double>(g.timed_tokens) / g.decode_seconds *
                        static_cast<double>(model.weight_bytes) / bandwidth);
  }
  out.push_back({"language model decode, of reading the weights", median(fractions), "ratio", 0.70, Better::Higher,
                 true, "one thread, median of 5 x 200 tokens"});

  llama::Cache cache = llama::new_cache(model.config, model.weights.embedding.dtype());
  Tensor tokens = tensor_of(std::vector<std::int64_t>(128, 'e'));
  run(cache, tokens, 0, true);
  double seconds = time_call([&] { run(cache, tokens, 0, true); }, 9, 0.05);
  // Two operations a weight and token; attention's own products are not counted, nor the last layer's single row.
  double flops = 2.0 * 128 * static_cast<double>(model.weight_bytes / 2 - model.config.vocab_size * model.config.dim);
  double rate = product_rate();
  out.push_back({"language model prefill of 128, of the product rate", flops / seconds / rate, "ratio", 0.60,
                 Better::Higher, true,
                 std::to_string(static_cast<int>(flops / seconds / 1e9)) + " of " +
                     std::to_string(static_cast<int>(rate / 1e9)) + " Gflop/s, one thread"});
  out.push_back({"language model compilations, any length", static_cast<double>(step.stats().compilations), "count", 3,
                 Better::Lower, true, ""});
  set_num_threads(default_num_threads());
  return out;
}

std::vector<Figure> recording_figures() {
  std::vector<Figure> out;
  // 500 launches that fusion cannot join: every step is a product of small matrices.
  auto f = compile(
      [](Tensor x, Tensor w) {
        for (int i = 0; i < 500; ++i) x = mm(x, w);
        return x;
      },
      {.name = "chain500"});
  Tensor w = zeros({8, 8});
  f(ones({4, 8}), w);
  std::vector<double> extra;
  for (int n = 5; n < 25; ++n) {
    Tensor x = ones({n, 8});
    double t = now();
    f(x, w);
    double first = now() - t;
    t = now();
    f(x, w);
    extra.push_back((first - (now() - t)) * 1e3);
  }
  out.push_back({"a new size at 500 kernels, beyond a replay", median(extra), "ms", 2, Better::Lower, true,
                 std::to_string(f.stats().compilations) + " compilation(s) for 21 sizes"});

  auto g = compile([](Tensor x, Tensor v) { return mm(softmax(mm(x, v), -1), v); }, {.name = "pool"});
  Tensor v = zeros({64, 64});
  auto need = [&](std::int64_t n) {
    release_pool();
    auto once = compile([](Tensor x, Tensor u) { return mm(softmax(mm(x, u), -1), u); }, {.name = "pool"});
    once(ones({n, 64}), v);
    return static_cast<double>(once.stats().pool_bytes);
  };
  double largest = need(4096);
  release_pool();
  for (std::int64_t n = 16; n <= 4096; n *= 2) g(ones({n, 64}), v);
  out.push_back({"pool of 9 sizes over the largest size's need", static_cast<double>(g.stats().pool_bytes) / largest,
                 "ratio", 1, Better::Lower, true, ""});
  return out;
}

namespace {
struct EncoderLayer {
  Tensor q, k, v, o, up, down, norm;
};
Tensor encoder_layer(Tensor x, const EncoderLayer& l) {
  constexpr std::int64_t kWidth = 128, kHeads = 4;
  const rp::Int b = x.size(0), t = x.size(1);
  Tensor n = layer_norm(x, {kWidth}, l.norm);
  auto heads = [&](const Tensor& y) { return y.reshape({b, t, kHeads, kWidth / kHeads}).transpose(1, 2); };
  Tensor a = scaled_dot_product_attention(heads(linear(n, l.q)), heads(linear(n, l.k)), heads(linear(n, l.v)));
  x = x + linear(a.transpose(1, 2).reshape({b, t, kWidth}), l.o);
  return x + linear(gelu(linear(layer_norm(x, {kWidth}, l.norm), l.up)), l.down);
}
}  // namespace

int encoder_child(int layers) {
  std::vector<EncoderLayer> all;
  for (int i = 0; i < layers; ++i) {
    auto w = [](std::int64_t o, std::int64_t k) { return full({o, k}, 0.01); };
    all.push_back({w(128, 128), w(128, 128), w(128, 128), w(128, 128), w(512, 128), w(128, 512), ones({128})});
  }
  auto f = compile(
      [](Tensor x, const std::vector<EncoderLayer>& layers) {
        for (const EncoderLayer& l : layers) x = encoder_layer(x, l);
        return x;
      },
      {.name = "encoder"});
  const Tensor x = ones({2, 16, 128});
  const double start = now();
  f(x, all);
  const double first = now() - start;
  f(x, all);
  std::printf("%.3f\n", (2 * first - (now() - start)) * 1e3);
  return 0;
}

int child() {
  double start = now();
  auto f = compile([](Tensor x, Tensor w) { return softmax(mm(x, w) + 1, -1); }, {.name = "child"});
  f(ones({8, 16}), ones({16, 4}));
  std::printf("%.3f %lld\n", (now() - start) * 1e3, static_cast<long long>(rp::stats().kernels_compiled));
  return 0;
}

std::vector<Figure> process_figures(const char* self) {
  char folder[] = "/tmp/reprise_figures_XXXXXX";
  if (!mkdtemp(folder))
    return {unmeasurable("second process: kernels it compiles", "count", 0, Better::Lower,
                         "no folder can be made in /tmp")};
  const std::string command = "REPRISE_CACHE_DIR=" + std::string(folder) + " '" + std::string(self) + "' --child";
  double ms[2] = {}, wall[2] = {};
  long long compiled[2] = {};
  for (int i = 0; i < 2; ++i) {  // the first one fills the folder
    double t = now();
    FILE* p = popen(command.c_str(), "r");
    if (!p || std::fscanf(p, "%lf %lld", &ms[i], &compiled[i]) != 2) compiled[i] = -1;
    if (p) pclose(p);
    wall[i] = (now() - t) * 1e3;
  }
  std::vector<Figure> recipes;
  for (int layers : {1, 12, 48}) {
    std::vector<double> took[2];  // without recipes, and with them
    for (int i = 0; i < 18; ++i) {
      const std::string encoder =
          "REPRISE_RECIPES=" + std::string(i % 2 ? "on " : "off ") + command + "-encoder " + std::to_string(layers);
      double t = -1;
      FILE* p = popen(encoder.c_str(), "r");
      if (!p || std::fscanf(p, "%lf", &t) != 1) t = -1;
      if (p) pclose(p);
      if (i > 1 && t > 0) took[i % 2].push_back(t);  // the first of each fill the folder
    }
    if (took[0].empty() || took[1].empty()) continue;
    const double without = median(took[0]), with = median(took[1]);
    recipes.push_back({"second process: first call of " + std::to_string(layers) +
                           " layers beyond a replay, with recipes over without",
                       with / without, "ratio", layers == 1 ? 1.1 : 0.8, Better::Lower, true,
                       std::to_string(with) + " and " + std::to_string(without) + " ms"});
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (compiled[0] < 0 || compiled[1] < 0)
    return {unmeasurable("second process: kernels it compiles", "count", 0, Better::Lower,
                         "the child process could not be run")};
  std::vector<Figure> out{{"second process: kernels it compiles", static_cast<double>(compiled[1]), "count", 0,
                           Better::Lower, true, "the first one: " + std::to_string(compiled[0])},
                          {"second process: first result from start", wall[1], "ms", 100, Better::Lower, true,
                           "of which the call: " + std::to_string(ms[1]) + " ms; the first process: " +
                               std::to_string(wall[0]) + " and " + std::to_string(ms[0]) + " ms"}};
  std::move(recipes.begin(), recipes.end(), std::back_inserter(out));
  return out;
}

std::vector<Figure> other_machines() {
  return {
      unmeasurable("matrix product, bfloat16, of the best peer", "ratio", 0.97, Better::Higher, "needs peers"),
      unmeasurable("transformer with changing sizes, over the best peer", "ratio", 1.2, Better::Higher, "needs peers"),
      unmeasurable("decode 8B on a GPU, of read bandwidth", "ratio", 0.90, Better::Higher, "no GPU"),
      unmeasurable("decode 1B on a GPU, of read bandwidth", "ratio", 0.80, Better::Higher, "no GPU")};
}

}  // namespace reprise::figures
