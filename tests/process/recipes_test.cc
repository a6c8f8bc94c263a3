// What passes and lowering make, kept for later processes (Note [Recipes] in runtime/build/recipe.h).
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/files.h"
#include "passes/registered.h"
#include "reprise/convolution.h"
#include "reprise/reprise.h"
#include "reprise/scans.h"
#include "reprise/searching.h"
#include "tests/process/probe.h"

namespace reprise {
namespace {

using test::begin_probe;
using test::end_probe;
using test::Ended;
using test::run_probe;

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() { path = mkdtemp(path.data()) ? path : ""; }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  std::string environment(const std::string& more = "") const {
    return "REPRISE_CACHE_DIR='" + path + "' REPRISE_LOG=compile " + more;
  }
  /// Those files that hold recipes.
  std::vector<fs::path> recipes() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(path))
      if (text_of(entry.path()).find("\nrecipe ") != std::string::npos) found.push_back(entry.path());
    return found;
  }
  static std::string text_of(const fs::path& p) {
    std::ifstream in(p, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string path = "/tmp/reprise_recipes_XXXXXX";
};

struct Layer {
  Tensor wq, wk, wv, wo, w1, w2, norm;
};

Tensor attend(Tensor x, const Layer& l, bool causal) {
  const Int b = x.size(0), t = x.size(1), d = x.size(2);
  Tensor n = layer_norm(x, {d}, l.norm);
  auto heads = [&](const Tensor& y) { return y.reshape({b, t, 2, d / 2}).transpose(1, 2); };
  Tensor scores = matmul(heads(linear(n, l.wq)), heads(linear(n, l.wk)).transpose(-1, -2)) / 2.0;
  if (causal) scores = scores.masked_fill(arange(t).unsqueeze(0).gt(arange(t).unsqueeze(1)), -1e9);
  x = x + linear(matmul(softmax(scores, -1), heads(linear(n, l.wv))).transpose(1, 2).reshape({b, t, d}), l.wo);
  return x + linear(gelu(linear(x, l.w1)), l.w2);
}

/// Programs of several kinds, each called with two sizes; prints what came out, and what it took.
TEST(Probe, CompilesPrograms) {
  PROBE_ONLY();
  std::string out;
  auto say = [&](const Tensor& t) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", t.to(DType::Float64).sum().item().to_double());
    out += std::string(" ") + text;
  };
  manual_seed(7);
  std::vector<Layer> layers;
  for (int i = 0; i < 2; ++i) {
    auto w = [](Int o, Int k) { return randn({o, k}) * 0.1; };
    layers.push_back({w(8, 8), w(8, 8), w(8, 8), w(8, 8), w(16, 8), w(8, 16), ones({8})});
  }
  auto encoder = compile(
      [](Tensor x, const std::vector<Layer>& all, bool causal) {
        for (const Layer& l : all) x = attend(x, l, causal);
        return x;
      },
      {.name = "encoder"});
  for (int t : {5, 9}) say(encoder(randn({2, t, 8}), layers, false)), say(encoder(randn({3, t, 8}), layers, true));
  auto writes = compile(
      [](Tensor cache, Tensor x, Int at) {
        cache.slice(0, at, at + x.size(0)).copy_(x * 2);
        x.add_(1);
        Tensor y = cat({cache, x}, 0);
        for (int i = 0; i < 4; ++i)
          y = y.index_select(0, arange(y.size(0)).flip({0})) + y.amax(0, true) * 0.5 + y.cumsum(0);
        return std::pair(y, y.size(0) * 3 + at);
      },
      {.name = "writes"});
  Tensor cache = zeros({10, 4});
  for (int n : {2, 3}) {
    auto [y, number] = writes(cache, randn({n, 4}), n);
    say(y), say(cache);
    out += " " + std::to_string(std::int64_t(number));
  }
  EXPECT_EQ(encoder.stats().eager_fallbacks + writes.stats().eager_fallbacks, 0);
  const std::string guards =
      std::regex_replace(encoder.explain() + writes.explain(), std::regex("[0-9.]+ (us|ms|s|ns)\\b|0x[0-9a-f]+"), "-");
  if (std::getenv("REPRISE_TEST_EXPLAIN")) std::printf("%s\n", guards.c_str());
  const CounterSnapshot c = counter_snapshot();
  std::printf("came:%s %zu\n", out.c_str(), std::hash<std::string>()(guards));
  std::printf("took: made %d found %d kernels %d\n", static_cast<int>(c.recipes_made),
              static_cast<int>(c.recipes_found), static_cast<int>(c.kernel_compiles));
}

std::string line(const Ended& e, const std::string& name) {
  const std::size_t at = e.text.find("\n" + name + ":");
  if (e.status != 0 || at == std::string::npos) return "status " + std::to_string(e.status) + "\n" + e.text;
  return e.text.substr(at + 1, e.text.find('\n', at + 1) - at - 1);
}

TEST(Recipes, ASecondProcessMakesNothing) {
  const Folder folder;
  const Ended first = run_probe("CompilesPrograms", folder.environment()),
              second = run_probe("CompilesPrograms", folder.environment());
  EXPECT_EQ(line(first, "took").substr(0, 22), "took: made 3 found 0 k") << first.text;
  EXPECT_EQ(line(second, "took"), "took: made 0 found 3 kernels 0") << second.text;
  EXPECT_EQ(line(second, "came"), line(first, "came"));
  EXPECT_EQ(folder.recipes().size(), 3u);
}

TEST(Recipes, AreAsTheyWouldBeMade) {
  const Folder folder;
  const Ended first = run_probe("CompilesPrograms", folder.environment("REPRISE_RECIPES=verify")),
              second = run_probe("CompilesPrograms", folder.environment("REPRISE_RECIPES=verify"));
  const Ended third = run_probe("CompilesPrograms", folder.environment("REPRISE_RECIPES=off"));
  EXPECT_NE(second.text.find("recipe verified"), std::string::npos) << second.text;
  EXPECT_EQ(line(second, "took"), "took: made 3 found 0 kernels 0");
  EXPECT_EQ(line(third, "took"), "took: made 0 found 0 kernels 0");
  EXPECT_EQ(line(second, "came"), line(first, "came"));
  EXPECT_EQ(line(third, "came"), line(first, "came"));
}

TEST(Recipes, WhatIsDamagedIsMadeAnew) {
  const Folder folder;
  const std::string came = line(run_probe("CompilesPrograms", folder.environment()), "came");
  std::vector<fs::path> files = folder.recipes();
  ASSERT_EQ(files.size(), 3u);
  std::string text = Folder::text_of(files[0]);
  text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
  std::ofstream(files[0], std::ios::binary) << text;
  fs::resize_file(files[1], fs::file_size(files[1]) / 2);
  chmod(files[2].c_str(), 0666);
  const Ended again = run_probe("CompilesPrograms", folder.environment());
  EXPECT_EQ(line(again, "took"), "took: made 3 found 0 kernels 0") << again.text;
  EXPECT_EQ(line(again, "came"), came);
  EXPECT_NE(again.text.find("recipe not used: the file " + files[0].filename().string() + " is damaged"),
            std::string::npos)
      << again.text;
  EXPECT_NE(again.text.find("recipe not used: the file " + files[1].filename().string() + " is damaged"),
            std::string::npos)
      << again.text;
  EXPECT_NE(again.text.find("recipe not used: the file " + files[2].filename().string() + " may be somebody else's"),
            std::string::npos)
      << again.text;
  EXPECT_EQ(line(run_probe("CompilesPrograms", folder.environment()), "took"), "took: made 0 found 3 kernels 0");
}

TEST(Recipes, OfOtherSettingsAreOthers) {
  const Folder folder;
  const std::string came = line(run_probe("CompilesPrograms", folder.environment()), "came");
  for (const char* other : {"REPRISE_MODE=no-fuse", "REPRISE_WRITERS=values", "REPRISE_PATTERNS=none"})
    EXPECT_EQ(line(run_probe("CompilesPrograms", folder.environment(other)), "took").substr(0, 22),
              "took: made 3 found 0 k")
        << other;
  EXPECT_EQ(line(run_probe("CompilesPrograms", folder.environment("REPRISE_LOG=passes")), "took"),
            "took: made 0 found 0 kernels 0");
  EXPECT_EQ(
      line(run_probe("CompilesPrograms",
                     folder.environment("REPRISE_RECORDINGS_MAX=4 REPRISE_THREADS=1 REPRISE_CACHE_BYTES=100000000")),
           "came"),
      came);
}

TEST(Recipes, SeveralProcessesAtOnce) {
  const Folder folder;
  std::vector<FILE*> running;
  for (int i = 0; i < 4; ++i) running.push_back(begin_probe("CompilesPrograms", folder.environment()));
  std::vector<std::string> came;
  for (FILE* p : running) came.push_back(line(end_probe(p), "came"));
  for (const std::string& c : came) EXPECT_EQ(c, came[0]);
  EXPECT_EQ(line(run_probe("CompilesPrograms", folder.environment()), "took"), "took: made 0 found 3 kernels 0");
}

/// Operators that register themselves when they are first called have other numbers in each process.
TEST(Probe, CallsFamilies) {
  PROBE_ONLY();
  if (std::getenv("REPRISE_TEST_OTHER_ORDER")) searchsorted(arange(4), arange(2)), cumprod(ones({3}), 0);
  auto f = compile([](Tensor x, const Tensor& w, const Tensor& edges) {
    for (int i = 0; i < 4; ++i) x = relu(conv2d(x, w, {}, {1, 1}, {1, 1}) + x * 0.5) / 4.0;
    return std::pair(cumprod(x.amax({2, 3}), 1), searchsorted(edges, x.select(3, 0).reshape({-1})));
  });
  manual_seed(3);
  auto [y, at] = f(randn({2, 3, 6, 6}), randn({3, 3, 3, 3}), arange(0, 1, 0.125));
  const CounterSnapshot c = counter_snapshot();
  std::printf("\ncame: %.17g %.17g\n", y.to(kFloat64).sum().item<double>(), at.to(kFloat64).sum().item<double>());
  std::printf("took: made %d found %d kernels %d\n", static_cast<int>(c.recipes_made),
              static_cast<int>(c.recipes_found), static_cast<int>(c.kernel_compiles));
}

TEST(Recipes, OfOperatorsThatRegisterThemselves) {
  const Folder folder;
  const Ended first = run_probe("CallsFamilies", folder.environment()),
              second = run_probe("CallsFamilies", folder.environment("REPRISE_TEST_OTHER_ORDER=1"));
  EXPECT_EQ(line(first, "took").substr(0, 22), "took: made 1 found 0 k") << first.text;
  EXPECT_EQ(line(second, "took").substr(0, 20), "took: made 0 found 1") << second.text;
  EXPECT_EQ(line(second, "came"), line(first, "came"));
}

TEST(Probe, HasAPassOfItsOwn) {
  PROBE_ONLY();
  passes::register_pass({"none_of_yours", {}, [](graph::Graph&) { return false; }});
  auto f = compile([](Tensor x) {
    for (int i = 0; i < 20; ++i) x = sin(x).sum(-1, true) + x * static_cast<double>(i);
    return x;
  });
  f(ones({3, 4}));
  const CounterSnapshot c = counter_snapshot();
  std::printf("\ntook: made %d found %d\n", static_cast<int>(c.recipes_made), static_cast<int>(c.recipes_found));
}

TEST(Recipes, NoneOfWhatOthersDoNotHave) {
  const Folder folder;
  const Ended e = run_probe("HasAPassOfItsOwn", folder.environment());
  EXPECT_EQ(line(e, "took"), "took: made 0 found 0") << e.text;
  EXPECT_NE(e.text.find("recipe not kept: the program has registered passes or patterns"), std::string::npos) << e.text;
}

}  // namespace
}  // namespace reprise
