// How the time of a first call grows with the length of a program: each shape at 100, 1,000 and 10,000 nodes, each in a process of
// its own, so that none finds the kernels of another. The exponent is that of a power fitted by least squares.
#include <ctime>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

#include "bench/figures.h"
#include "reprise/reprise.h"

namespace reprise::figures {

namespace {

/// Of this process: other work on the machine does not count.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

template <class F, class... Args>
double first_call(F f, const Args&... args) {
  compile([](Tensor x) { return exp(x) + 1; }, {.name = "warm"})(ones({3}));  // what is set up once for a process
  auto compiled = compile(f, {.name = "growth"});
  double t = cpu_seconds();
  compiled(args...);
  t = cpu_seconds() - t;
  if (compiled.stats().eager_fallbacks) std::fprintf(stderr, "growth: served eagerly\n%s\n", compiled.explain().c_str());
  return compiled.stats().eager_fallbacks ? -1 : t;
}

struct Shape { const char* name; double (*run)(int n); };
const Shape kShapes[] = {
    {"chain",
     [](int n) {
       return first_call([n](Tensor x) {
         for (int i = 0; i < n; ++i) x = i % 2 ? x * 1.0009765 : x + 0.001 * (i % 97);
         return x;
       }, ones({64}));
     }},
    {"layers",
     [](int n) {
       return first_call([n](Tensor x, Tensor w, Tensor g) {
         for (int i = 0; i < n / 5; ++i) x = x + relu(mm(rms_norm(x, g, 1e-5), w)) * 0.5;
         return x;
       }, ones({4, 16}), ones({16, 16}), ones({16}));
     }},
    {"slice writes",
     [](int n) {
       return first_call([n](Tensor x) {
         for (int i = 0; i < n; ++i) x.slice(0, i, i + 1).copy_(x.slice(0, i, i + 1) * 2 + 1);
         return x.sum();
       }, ones({n, 4}));
     }},
    {"select writes",
     [](int n) {
       return first_call([n](Tensor x) {
         for (int i = 0; i < n; ++i) x.select(0, i).add_(1);
         return x.sum();
       }, ones({n, 4}));
     }},
    {"branches on sizes",
     [](int n) {
       return first_call([](Tensor x, Int a, Int b) {
         int taken = 0;
         for (Int k = 0; k < x.size(0); k += 1) taken += (a + k < b * 2) ? 1 : 0;
         return x + taken;
       }, ones({n}), Int(5), Int(n / 4));
     }},
    {"cat",
     [](int n) {
       return first_call([](std::vector<Tensor> parts) { return cat(parts, 0); }, std::vector<Tensor>(static_cast<std::size_t>(n), ones({3, 4})));
     }},
};

const int kSizes[] = {100, 1000, 10000};
constexpr unsigned kMostSeconds = 60;

/// Seconds in a process of its own; negative: it did not end, or was served eagerly.
double in_a_child(const char* self, const char* shape, int n) {
  std::string command = "'" + std::string(self) + "' --growth '" + shape + "' " + std::to_string(n);
  double seconds = -1;
  FILE* p = popen(command.c_str(), "r");
  if (!p || std::fscanf(p, "%lf", &seconds) != 1) seconds = -1;
  if (p) pclose(p);
  return seconds;
}

}  // namespace

int growth_child(const char* shape, int n) {
  alarm(kMostSeconds);
  for (const Shape& s : kShapes)
    if (!std::strcmp(s.name, shape)) return std::printf("%.6f\n", s.run(n)), 0;
  return 1;
}

std::vector<Figure> growth_figures(const char* self) {
  std::vector<Figure> out;
  for (const Shape& s : kShapes) {
    std::string took;
    double sx = 0, sy = 0, sxx = 0, sxy = 0, count = 0;
    bool all = true;
    for (int n : kSizes) {
      const double t = in_a_child(self, s.name, n);
      char text[32];
      std::snprintf(text, sizeof text, t < 0 ? "not in %.0f" : "%.3f", t < 0 ? static_cast<double>(kMostSeconds) : t);
      took += (took.empty() ? "" : ", ") + std::string(text);
      all = all && t > 0;
      if (!all) continue;
      const double x = std::log(n), y = std::log(t);
      sx += x, sy += y, sxx += x * x, sxy += x * y, count += 1;
    }
    constexpr double kWithoutEnd = 99;
    Figure f{"trace and compile: " + std::string(s.name) + ", fitted exponent", kWithoutEnd, "power of n", 1.15, Figure::Better::Lower, true,
             took + " s of one processor at 100, 1,000, 10,000"};
    if (all) f.measured = (count * sxy - sx * sy) / (count * sxx - sx * sx);
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace reprise::figures
