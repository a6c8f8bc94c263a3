#include "picture.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numbers>
#include <stdexcept>
#include <vector>

namespace vision {

namespace {

/// Is a point within the shape of radius 1 around the origin?
bool within(std::int64_t shape, double x, double y) {
  const double r = std::hypot(x, y), a = std::abs(x), b = std::abs(y);
  switch (shape) {
    case 0: return r < 1;
    case 1: return r < 1 && r > 0.55;
    case 2: return std::max(a, b) < 0.8;
    case 3: return y > -0.5 && a * std::numbers::sqrt3 + y < 1;
    case 4: return std::max(a, b) < 1 && std::min(a, b) < 0.25;
    case 5: return r < 0.6 + 0.4 * std::cos(5 * std::atan2(y, x));
    case 6: return std::sin(6 * x) > 0;
    default: return std::sin(5 * x) * std::sin(5 * y) > 0;
  }
}

}  // namespace

reprise::Tensor draw(std::int64_t shape, std::int64_t size, std::mt19937& random) {
  auto uniform = [&](double least, double most) { return std::uniform_real_distribution<double>(least, most)(random); };
  const double scale = uniform(0.34, 0.4), x0 = uniform(0.45, 0.55), y0 = uniform(0.45, 0.55),
               turn = uniform(-0.2, 0.2);
  double colours[2][3];
  for (int c = 0; c < 3; ++c) colours[0][c] = uniform(20, 60), colours[1][c] = uniform(170, 230);
  std::vector<std::uint8_t> pixels;
  for (std::int64_t i = 0; i < size; ++i)
    for (std::int64_t j = 0; j < size; ++j) {
      const double x = ((static_cast<double>(j) + 0.5) / static_cast<double>(size) - x0) / scale,
                   y = ((static_cast<double>(i) + 0.5) / static_cast<double>(size) - y0) / scale;
      const auto& colour =
          colours[within(shape, x * std::cos(turn) + y * std::sin(turn), y * std::cos(turn) - x * std::sin(turn))];
      for (double c : colour) pixels.push_back(static_cast<std::uint8_t>(std::clamp(c + uniform(-12, 12), 0.0, 255.0)));
    }
  return reprise::tensor_of(pixels, {size, size, 3});
}

reprise::Tensor read_ppm(const std::string& path) {
  auto refuse = [&](const std::string& what) { throw std::runtime_error(path + ": " + what); };
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse("cannot be read");
  std::string word;
  std::int64_t header[3];  // width, height, most
  if (!(in >> word) || word != "P6") refuse("is no binary PPM: it does not begin with P6");
  for (std::int64_t& n : header) {
    while (in >> std::ws && in.peek() == '#') std::getline(in, word);
    if (!(in >> n) || n < 1 || n > (1 << 16))
      refuse("its header has no width, height and largest value from 1 to 65536");
  }
  if (header[2] != 255) refuse("has colours up to " + std::to_string(header[2]) + "; 255 is what is read");
  in.get();
  in.seekg(0, std::ios::end);  // what is there, before memory is taken for what the header says
  const std::int64_t end = in.tellg();
  in.clear();
  in.seekg(0);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(0));
  const std::int64_t bytes = header[0] * header[1] * 3;
  if (end < bytes)
    refuse("has " + std::to_string(end) + " bytes, less than " + std::to_string(header[1]) + " rows of " +
           std::to_string(header[0]) + " pixels");
  pixels.resize(static_cast<std::size_t>(bytes));
  in.seekg(end - bytes);
  in.read(reinterpret_cast<char*>(pixels.data()), bytes);
  if (!in) refuse("cannot be read");
  return reprise::tensor_of(pixels, {header[1], header[0], 3});
}

}  // namespace vision
