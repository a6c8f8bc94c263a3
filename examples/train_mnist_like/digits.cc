#include "digits.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <random>
#include <utility>

namespace digits {

namespace {

struct Point {
  double x, y;
};
/// Strokes of a digit, in a square from -1 to 1; y points down.
const std::vector<std::vector<Point>>& strokes_of(int digit) {
  static const std::vector<std::vector<Point>> all[10] = {
      {{{-.5, -.6}, {0, -.9}, {.5, -.6}, {.55, .0}, {.5, .6}, {0, .9}, {-.5, .6}, {-.55, 0}, {-.5, -.6}}},
      {{{-.3, -.5}, {.05, -.9}, {.05, .9}}},
      {{{-.5, -.5}, {-.2, -.9}, {.3, -.85}, {.5, -.45}, {.2, 0}, {-.5, .9}, {.55, .9}}},
      {{{-.5, -.8}, {.1, -.9}, {.5, -.5}, {0, -.05}, {.5, .4}, {.1, .9}, {-.5, .75}}},
      {{{.2, .9}, {.2, -.9}, {-.55, .3}, {.55, .3}}},
      {{{.5, -.9}, {-.4, -.9}, {-.45, -.05}, {.2, -.15}, {.5, .35}, {.15, .85}, {-.5, .8}}},
      {{{.35, -.9}, {-.3, -.4}, {-.5, .35}, {-.1, .9}, {.4, .7}, {.45, .2}, {0, 0}, {-.45, .25}}},
      {{{-.5, -.9}, {.5, -.9}, {-.1, .9}}},
      {{{0, -.05}, {-.4, -.45}, {0, -.9}, {.4, -.45}, {0, -.05}, {-.5, .45}, {0, .9}, {.5, .45}, {0, -.05}}},
      {{{.45, -.3}, {0, .05}, {-.45, -.3}, {-.1, -.9}, {.4, -.7}, {.45, -.2}, {.2, .9}}},
  };
  return all[digit];
}

double distance(Point p, Point a, Point b) {
  const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
  const double t = length > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length, 0.0, 1.0) : 0.0;
  return std::hypot(p.x - a.x - t * dx, p.y - a.y - t * dy);
}

}  // namespace

Batch draw(std::int64_t n, std::uint64_t seed) {
  std::mt19937_64 rng(seed * 0x9e3779b97f4a7c15ull + 1);
  std::uniform_real_distribution<double> unit(-1, 1);
  Batch made;
  made.images.reserve(static_cast<std::size_t>(n * kSize * kSize));
  for (std::int64_t i = 0; i < n; ++i) {
    const int digit = static_cast<int>(rng() % 10);
    made.labels.push_back(digit);
    const double turn = 0.25 * unit(rng), sx = 0.75 + 0.15 * unit(rng), sy = 0.8 + 0.12 * unit(rng),
                 lean = 0.2 * unit(rng);
    const double x0 = 0.15 * unit(rng), y0 = 0.12 * unit(rng), width = 0.1 + 0.03 * unit(rng),
                 noise = 0.15 + 0.1 * unit(rng);
    std::vector<std::pair<Point, Point>> segments;
    for (const std::vector<Point>& stroke : strokes_of(digit)) {
      std::vector<Point> moved;
      for (Point p : stroke) {
        const double x = (p.x + lean * p.y + 0.04 * unit(rng)) * sx, y = (p.y + 0.04 * unit(rng)) * sy;
        moved.push_back({x0 + x * std::cos(turn) - y * std::sin(turn), y0 + x * std::sin(turn) + y * std::cos(turn)});
      }
      for (std::size_t k = 1; k < moved.size(); ++k) segments.emplace_back(moved[k - 1], moved[k]);
    }
    for (std::int64_t r = 0; r < kSize; ++r)
      for (std::int64_t c = 0; c < kSize; ++c) {
        const Point p{(2.0 * static_cast<double>(c) + 1) / kSize - 1, (2.0 * static_cast<double>(r) + 1) / kSize - 1};
        double nearest = 4;
        for (const auto& [a, b] : segments) nearest = std::min(nearest, distance(p, a, b));
        const double ink = 1 / (1 + std::exp((nearest - width) * 40));
        made.images.push_back(static_cast<float>(ink + noise * unit(rng)));
      }
  }
  return made;
}

}  // namespace digits
