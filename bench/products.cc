// Float32 products through the whole library, a call after a call of each BLAS that is given, one thread, medians:
//   reprise_products [--blas libopenblas.so.0]... [WORD]...
// A WORD picks the rows with it in their names. A library needs the Fortran function sgemm_ (of 32-bit integers) or
// sgemm_64_, any prefix scipy_. Prints "name,gflops,of_<library>...": the last are peer's time by ours (> 1: Reprise is
// faster).
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "reprise/reprise.h"

namespace rp = reprise;

namespace {

/// c[m, n] = a[m, k] * b, all by rows: b is [k, n], or [n, k] if b_t; a is [k, m] if a_t.
struct Shape {
  std::int64_t batch, m, n, k;
  bool a_t, b_t;
  std::string name;
};

std::vector<Shape> shapes() {
  std::vector<Shape> out;
  auto str = [](std::int64_t x) { return std::to_string(x); };
  for (std::int64_t n : {64, 128, 256, 512, 1024, 2048}) out.push_back({1, n, n, n, false, false, "square " + str(n)});
  for (std::int64_t n : {64, 256, 1024}) {
    out.push_back({1, n, n, n, false, true, "square_nt " + str(n)});
    out.push_back({1, n, n, n, true, false, "square_tn " + str(n)});
  }
  for (std::int64_t n : {384, 1024, 4096})
    for (std::int64_t m : {1, 2, 4, 5, 8, 12, 16, 24, 32, 64, 128})
      out.push_back({1, m, n, n, false, true, "linear " + str(n) + " rows " + str(m)});
  for (std::int64_t n : {16, 32, 64, 128}) out.push_back({64, n, n, n, false, false, "batched 64 x " + str(n)});
  for (std::int64_t n : {32, 64}) out.push_back({64, n, n, n, false, true, "batched_nt 64 x " + str(n)});
  for (std::int64_t n : {50, 100}) out.push_back({64, n, n, n, false, false, "batched 64 x " + str(n)});
  return out;
}

class Blas {
 public:
  explicit Blas(const char* path) : name(path) {
    name = name.substr(name.rfind('/') + 1), name = name.substr(0, name.find('.'));
    void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) std::fprintf(stderr, "%s\n", dlerror()), std::exit(1);
    for (const char* symbol : {"sgemm_", "scipy_sgemm_", "sgemm_64_", "scipy_sgemm_64_"})
      if (!f_ && (f_ = dlsym(library, symbol))) wide_ = std::strstr(symbol, "64");
    if (!f_) std::fprintf(stderr, "%s has no sgemm\n", path), std::exit(1);
  }
  void run(const Shape& s, const float* a, const float* b, float* c) const {
    wide_ ? run_as<std::int64_t>(s, a, b, c) : run_as<int>(s, a, b, c);
  }
  std::string name;

 private:
  template <class I>
  void run_as(const Shape& s, const float* a, const float* b, float* c) const {
    using Sgemm = void (*)(const char*, const char*, const I*, const I*, const I*, const float*, const float*, const I*,
                           const float*, const I*, const float*, float*, const I*, std::size_t, std::size_t);
    const I m = static_cast<I>(s.m), n = static_cast<I>(s.n), k = static_cast<I>(s.k), a_row = s.a_t ? m : k,
            b_row = s.b_t ? k : n;
    const float one = 1, zero = 0;
    // By columns it is the transpose of everything.
    for (std::int64_t i = 0; i < s.batch; ++i, a += s.m * s.k, b += s.k * s.n, c += s.m * s.n)
      reinterpret_cast<Sgemm>(f_)(s.b_t ? "T" : "N", s.a_t ? "T" : "N", &n, &m, &k, &one, b, &b_row, a, &a_row, &zero,
                                  c, &n, 1, 1);
  }
  void* f_ = nullptr;
  bool wide_ = false;
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

void measure(const Shape& s, const std::vector<Blas>& peers, double seconds) {
  rp::Tensor a = rp::randn({s.batch, s.a_t ? s.k : s.m, s.a_t ? s.m : s.k}),
             b = rp::randn({s.batch, s.b_t ? s.n : s.k, s.b_t ? s.k : s.n});
  if (s.batch == 1) a = a.select(0, 0), b = b.select(0, 0);
  auto f = rp::compile(
      [&](rp::Tensor x, rp::Tensor y) {
        return rp::matmul(s.a_t ? x.transpose(-1, -2) : x, s.b_t ? y.transpose(-1, -2) : y);
      },
      {.name = "product"});
  auto linear = rp::compile([](rp::Tensor x, rp::Tensor w) { return rp::linear(x, w); }, {.name = "linear"});
  const bool is_linear = s.name.rfind("linear", 0) == 0;
  rp::Tensor c = is_linear ? linear(a, b) : f(a, b);
  std::vector<float> theirs(static_cast<std::size_t>(s.batch * s.m * s.n));
  std::vector<std::function<void()>> runs{[&] { c = is_linear ? linear(a, b) : f(a, b); }};
  for (const Blas& p : peers) runs.push_back([&] { p.run(s, a.data<float>(), b.data<float>(), theirs.data()); });
  std::vector<std::vector<double>> times(runs.size());
  const double flops = 2.0 * static_cast<double>(s.batch * s.m * s.n * s.k);
  const int together = std::max(1, static_cast<int>(20e-6 / (flops / 1e11)));  // calls of one sample
  const double end = now() + seconds * static_cast<double>(runs.size());
  for (int round = 0; round < 7 || (now() < end && round < 4000); ++round)
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const double begin = now();
      for (int j = 0; j < together; ++j) runs[i]();
      if (round > 1) times[i].push_back((now() - begin) / together);
    }
  const double ours = median(times[0]);
  std::printf("%s,%.1f", s.name.c_str(), flops / ours * 1e-9);
  for (std::size_t i = 1; i < runs.size(); ++i) {
    double off = 0;
    for (std::int64_t j = 0; j < s.batch * s.m * s.n; ++j)
      off = std::max(off, std::fabs(static_cast<double>(theirs[static_cast<std::size_t>(j)]) - c.data<float>()[j]));
    if (off > 1e-3 * static_cast<double>(s.k)) std::printf(",differs");
    else std::printf(",%.2f", median(times[i]) / ours);
  }
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  // before a library is opened
  for (const char* name : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"})
    setenv(name, "1", 1);
  rp::set_num_threads(1);
  std::vector<Blas> peers;
  std::vector<std::string> words;
  double seconds = 0.15;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--blas") && i + 1 < argc) peers.emplace_back(argv[++i]);
    else if (!std::strcmp(argv[i], "--seconds") && i + 1 < argc) seconds = std::atof(argv[++i]);
    else words.push_back(argv[i]);
  }
  std::printf("name,gflops");
  for (const Blas& p : peers) std::printf(",of_%s", p.name.c_str());
  std::printf("\n");
  for (const Shape& s : shapes())
    if (words.empty() || std::any_of(words.begin(), words.end(),
                                     [&](const std::string& w) { return s.name.find(w) != std::string::npos; }))
      measure(s, peers, seconds);
}
