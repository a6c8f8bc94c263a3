// What a process may have set: the floating-point state of a calling thread (base/float_state.h), a limit of files'
// sizes.
#include <fenv.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "reprise/library.h"
#include "reprise/reprise.h"
#include "tests/process/probe.h"

namespace reprise {
namespace {

using test::Ended;
using test::run_probe;
namespace fs = std::filesystem;

/// What a program may have set for its thread.
struct Setting {
  const char* name;
  void (*set)();
};

#if defined(__x86_64__)
unsigned control() { return _mm_getcsr() & ~0x3fu; }  // without flags
#else
unsigned control() { return static_cast<unsigned>(fegetround()); }
#endif

constexpr int kTraps = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW;
const std::vector<Setting>& settings() {
  static const std::vector<Setting> all = {
    {"traps", [] { feenableexcept(kTraps); }},
    {"upward", [] { fesetround(FE_UPWARD); }},
    {"towards zero", [] { fesetround(FE_TOWARDZERO); }},
#if defined(__x86_64__)
    {"denormals flushed", [] { _mm_setcsr(_mm_getcsr() | 0x8040); }},
    {"all of them",
     [] {
       feenableexcept(kTraps);
       fesetround(FE_DOWNWARD);
       _mm_setcsr(_mm_getcsr() | 0x8040);
     }},
#endif
  };
  return all;
}

/// The thread's state as a program has it, for a scope.
class Set {
 public:
  explicit Set(const Setting& s) {
    fegetenv(&before_);
    feclearexcept(FE_ALL_EXCEPT);
    s.set();
  }
  ~Set() { fesetenv(&before_); }

 private:
  fenv_t before_;
};

struct Row {
  const char* name;
  std::function<Tensor(Tensor, Tensor)> body;
};
const std::vector<Row>& rows() {
  static const std::vector<Row> all = {
      {"division", [](Tensor x, Tensor y) { return x / y; }},
      {"pow, atan2", [](Tensor x, Tensor y) { return pow(x.abs(), y) + atan2(x, y); }},
      {"log, lgamma", [](Tensor x, Tensor y) { return log(x.abs()) + lgamma(y.abs() + 0.5); }},
      {"softmax", [](Tensor x, Tensor y) { return softmax(x * 100, -1) + log_softmax(y, -1); }},
      {"exp, denormals", [](Tensor x, Tensor y) { return exp(x * 40) * y * 1e-30; }},
      {"sums", [](Tensor x, Tensor y) { return x.sum(-1, true) * 1e-3 + (y / 3).cumsum(-1); }},
      {"mm", [](Tensor x, Tensor y) { return mm(x, y.t()); }},
      {"norm", [](Tensor x, Tensor y) { return layer_norm(x, {x.size(1)}) + rsqrt(y * y); }},
      {"attention",
       [](Tensor x, Tensor y) {
         auto head = [](const Tensor& t) { return t.unsqueeze(0).unsqueeze(0); };
         return scaled_dot_product_attention(head(x), head(y), head(y));
       }},
      {"to half types, integers",
       [](Tensor x, Tensor y) { return (x * 7e4).to(kFloat16).to(kFloat32) + (y * 3e9).to(kInt32); }},
      {"remainder, i0", [](Tensor x, Tensor y) { return remainder(x, y) + i0(x); }},
  };
  return all;
}

std::vector<float> bits_of(const Tensor& t) { return t.to(kFloat32).to_vector<float>(); }

// One thread and several, eagerly, compiled and by reference kernels: bits as without a setting, and the state as it
// was, flags included.
TEST(Floats, ResultsDoNotDependOnTheCallersState) {
  const int threads = num_threads();
  for (const Row& row : rows())
    for (const bool large : {false, true}) {
      const std::int64_t n = large ? 160 : 3, m = large ? 331 : 5;
      if (large && std::string(row.name).find("i0") != std::string::npos) continue;  // no code, and slow
      Tensor x = (remainder(arange(n * m) * 37, 101) - 50).to(kFloat32).view({n, m}) / 7, y = x.flip({1}) * 0.5;
      auto compiled = compile(row.body, {.name = row.name}), interpreted = compile(row.body, {.mode = "interpret"});
      const std::vector<float> want = bits_of(row.body(x, y)), by_code = bits_of(compiled(x, y));
      const std::vector<float> plain = large ? want : bits_of(interpreted(x, y));
      for (const Setting& s : settings())
        for (const int t : {1, threads}) {
          SCOPED_TRACE(std::string(row.name) + ", " + s.name + (large ? ", large, " : ", ") + std::to_string(t));
          set_num_threads(t);
          Tensor eager, made, kept;
          unsigned before = 0, after = 0;
          int flags = 0;
          {
            const Set now(s);
            before = control();
            eager = row.body(x, y);
            made = compiled(x, y);
            if (!large) kept = interpreted(x, y);
            after = control();
            flags = fetestexcept(kTraps);
          }
          EXPECT_EQ(after, before);
          EXPECT_TRUE(flags == 0 || std::string(row.name).ends_with("i0")) << flags;  // long doubles, interpreted
          auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
            return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
          };
          EXPECT_TRUE(same(bits_of(eager), want));
          EXPECT_TRUE(same(bits_of(made), by_code));
          EXPECT_TRUE(large || same(bits_of(kept), plain));
        }
    }
  set_num_threads(threads);
}

// Code is made and constants are folded under the library's state; a call that throws puts the caller's back.
TEST(Floats, CompilationAndErrors) {
  for (const Setting& s : settings()) {
    SCOPED_TRACE(s.name);
    auto body = [](Tensor x) { return x / zeros({3}) + full({3}, 1e-40) * exp(full({3}, 200.0)) + log(zeros({3})); };
    Tensor x = zeros({3}), made, index = tensor({5, 5, 5}).to(kInt64);
    const Tensor want = body(x);
    auto f = compile(body);
    auto g = compile([](Tensor x, Tensor i) { return x.index_select(0, i) / 0; });
    unsigned before = 0, after = 0;
    std::string shown;
    int thrown = 0;
    {
      const Set now(s);
      before = control();
      made = f(x);
      shown = made.str();
      for (int i = 0; i < 2; ++i) {
        try {
          g(x, index);
        } catch (const Error&) {
          ++thrown;
        }
      }
      after = control();
    }
    EXPECT_EQ(after, before);
    EXPECT_EQ(thrown, 2);
    EXPECT_EQ(made.str(), want.str());
    EXPECT_EQ(shown, want.str());
  }
}

// A user's kernel finds the library's state, and what it leaves is put back.
TEST(Floats, CustomKernelsFindTheLibrarysState) {
  static int rounding = -1;
  static const Operator op = Library("floats").define({.schema = "peek(Tensor x) -> Tensor",
                                                       .shape = [](ShapeCall& c) { c.result(c.dtype(0), c.sizes(0)); },
                                                       .cpu =
                                                           [](const KernelCall& k) {
                                                             rounding = fegetround();
                                                             k.result(0).as<float>()[0] =
                                                                 k.tensor(0).as<float>()[0] / 3;
                                                             fesetround(FE_DOWNWARD);
                                                           }});
  const Tensor x = ones({1}), want = op(x);
  const Set now({"", [] { fesetround(FE_UPWARD); }});
  const Tensor got = op(x);
  EXPECT_EQ(fegetround(), FE_UPWARD);
  EXPECT_EQ(rounding, FE_TONEAREST);
  EXPECT_EQ(got.item<float>(), want.item<float>());
}

// ---- files that may not grow

TEST(Probe, FewBytesInFiles) {
  PROBE_ONLY();
  const char* dir = std::getenv("REPRISE_TEST_FOLDER");
  ASSERT_TRUE(dir);
  const rlimit limit{2048, 2048};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  auto f = compile([](Tensor x, Tensor w) { return mm(tanh(x) / 3, w).sum(0); }, {.name = "few_bytes"});
  for (std::int64_t n : {4, 40}) EXPECT_EQ(f(zeros({n, 8}), ones({8, 8})).to_vector<float>().back(), 0) << n;
  try {
    save_safetensors(std::string(dir) + "/big", {{"x", ones({4096})}});
    ADD_FAILURE() << "16 KiB in 2";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("File too large"), std::string::npos) << e.what();
  }
  EXPECT_FALSE(fs::exists(std::string(dir) + "/big"));
}

TEST(Files, ALimitOfTheirSizeEndsNothing) {
  std::string name = ::testing::TempDir() + "reprise_limit_XXXXXX";
  const fs::path dir = mkdtemp(name.data());
  const std::string at = dir.string();
  const std::string variables = "REPRISE_TEST_FOLDER=" + at + " REPRISE_CACHE_DIR=" + at + "/kernels";
  const std::string others = " REPRISE_LOG_FILE=" + at + "/log REPRISE_TRACE=" + at + "/trace REPRISE_DUMP=" + at;
  const Ended e = run_probe("FewBytesInFiles", variables + others);
  EXPECT_EQ(e.status, 0) << e.text;
  EXPECT_NE(e.text.find("REPRISE_LOG_FILE: File too large"), std::string::npos) << e.text;
  const Ended kept = run_probe("FewBytesInFiles", variables);
  EXPECT_EQ(kept.status, 0) << kept.text;
  const std::size_t said = kept.text.find("kernels are not kept on disk");
  EXPECT_NE(said, std::string::npos) << kept.text;
  EXPECT_EQ(kept.text.find("kernels are not kept on disk", said + 1), std::string::npos) << kept.text;
  fs::remove_all(dir);
}

}  // namespace
}  // namespace reprise
