// How the time of a first call grows with the length of a program: each shape at 100, 1,000 and 10,000 nodes, each in a
// process of its own, so that none finds the kernels of another. The exponent is that of a power fitted by least
// squares.
#include <unistd.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bench/figures.h"
#include "bench/growth_shapes.h"

namespace reprise::figures {

namespace {

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
  for (const GrowthShape& s : growth_shapes())
    if (!std::strcmp(s.name, shape)) return std::printf("%.6f\n", s.run(n)), 0;
  return 1;
}

std::vector<Figure> growth_figures(const char* self) {
  std::vector<Figure> out;
  for (const GrowthShape& s : growth_shapes()) {
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
    Figure f{"trace and compile: " + std::string(s.name) + ", fitted exponent",
             kWithoutEnd,
             "power of n",
             1.15,
             Figure::Better::Lower,
             true,
             took + " s of one processor at 100, 1,000, 10,000"};
    if (all) f.measured = (count * sxy - sx * sy) / (count * sxx - sx * sx);
    out.push_back(std::move(f));
  }
  return out;
}

}  // namespace reprise::figures
