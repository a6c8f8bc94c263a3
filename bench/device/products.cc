#include <cmath>

#include "base/knobs.h"
#include "bench/device/measure.h"
#include "bench/device/random.h"

namespace reprise::device_figures {

namespace {

struct Shape {
  std::int64_t m, n, k;
  std::int64_t multiply_adds() const { return m * n * k; }
};

std::string sizes_of(const Shape& s) {
  return std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k);
}

/// How many products one call is made of: small ones take less time than the host needs to start one, and matrices that
/// a row is multiplied with must not stay in the caches.
std::int64_t links_of(const Setting& s, const Shape& shape, std::int64_t weight_bytes) {
  if (s.quick) return 2;
  const std::int64_t links = shape.m == 1                            ? (kPastCaches + weight_bytes - 1) / weight_bytes
                             : shape.multiply_adds() < 5'000'000'000 ? 32
                                                                     : 8;
  return links + links % 2;
}

// A chain of products over different matrices, one graph; a row of the table is one link of it.
void float_products(const Setting& s, DType t, const std::string& type, const Shape& shape) {
  const bool there_and_back = shape.n != shape.k, by_memory = shape.m == 1;
  const std::string name = sizes_of(shape) + (there_and_back ? " and back " : " ") + type;
  if (!s.wants(name)) return;
  const std::int64_t weight_bytes = shape.n * shape.k * item_size(t), links = links_of(s, shape, weight_bytes);
  const Tensor x = random_on(s, {shape.m, shape.k}, t);
  std::vector<Tensor> weights;
  for (std::int64_t i = 0; i < links; ++i) {
    const bool back = there_and_back && i % 2 == 1;
    const std::int64_t n = back ? shape.k : shape.n, k = back ? shape.n : shape.k;
    weights.push_back(rows_on(s, n, k, t) / std::sqrt(static_cast<double>(k)));  // values stay of one size
  }
  auto measure = [&](const char* who) {
    Scoped<std::string> how(knobs().cuda_products, who);
    auto f = compile(
        [](Tensor a, const std::vector<Tensor>& all) {
          for (const Tensor& w : all) a = linear(a, w);
          return a;
        },
        {.name = "linear"});
    return device_time(s, [&] { f(x, weights); }) / static_cast<double>(links);
  };
  const std::int64_t before = stats().library_products;
  const double theirs = measure("library");
  const bool library = stats().library_products > before;
  const double seconds = measure("own");
  const double bytes = static_cast<double>(weight_bytes),
               work = by_memory ? bytes / 1e9 : 2.0 * static_cast<double>(shape.multiply_adds()) / 1e12;
  auto row = [&](const std::string& what, double took, double part, const char* of) {
    s.report({"products", what, work / took, by_memory ? "GB/s" : "Tflop/s", part, of});
  };
  if (by_memory) row(name, seconds, bytes / seconds / s.read_rate, "read");
  else row(name, seconds, library ? theirs / seconds : 0, "cuBLASLt");
  if (library) row(name + ", cuBLASLt", theirs, by_memory ? bytes / theirs / s.read_rate : 0, "read");
}

// Their results are of another type than their operands, so that they make no chain: one operand by several matrices.
void quantized_products(const Setting& s, DType t, const Shape& shape) {
  const std::string name = sizes_of(shape) + " " + std::string(dtype_short_name(t));
  if (!s.wants(name)) return;
  const std::int64_t links = links_of(s, shape, shape.n * shape.k);
  auto values = [&](std::int64_t rows) {
    return (randn({std::min<std::int64_t>(rows, 64), shape.k}, {}) * 32.0)
        .round()
        .clamp(-127.0, 127.0)
        .to(t)
        .to(s.device);
  };
  auto repeated = [&](std::int64_t rows) {
    return values(rows)
        .unsqueeze(0)
        .expand({std::max<std::int64_t>(rows / 64, 1), std::min<std::int64_t>(rows, 64), shape.k})
        .reshape({rows, shape.k});
  };
  const Tensor x = repeated(shape.m), one = ones({1}, {.device = s.device});
  std::vector<Tensor> weights;
  for (std::int64_t i = 0; i < links; ++i) weights.push_back(repeated(shape.n));
  auto f = compile(
      [](Tensor a, const std::vector<Tensor>& all, Tensor scale) {
        std::vector<Tensor> out;
        for (const Tensor& w : all)
          out.push_back(a.dtype() == kInt8 ? int_mm(a, w.t()) : scaled_mm(a, w.t(), scale, scale, {}, kBFloat16));
        return out;
      },
      {.name = "quantized"});
  const double seconds = device_time(s, [&] { f(x, weights, one); }) / static_cast<double>(links);
  s.report({"products", name, 2.0 * static_cast<double>(shape.multiply_adds()) / 1e12 / seconds, "Tflop/s"});
}

}  // namespace

void products(const Setting& s) {
  const std::vector<Shape> square = s.quick
                                        ? std::vector<Shape>{{32, 32, 32}}
                                        : std::vector<Shape>{{1024, 1024, 1024}, {4096, 4096, 4096}, {128, 4096, 4096}};
  const std::vector<Shape> rows =
      s.quick ? std::vector<Shape>{{1, 64, 32}} : std::vector<Shape>{{1, 4096, 4096}, {1, 14336, 4096}};
  for (DType t : {kFloat32, kBFloat16}) {
    for (const Shape& shape : square) float_products(s, t, std::string(dtype_short_name(t)), shape);
    for (const Shape& shape : rows) float_products(s, t, std::string(dtype_short_name(t)), shape);
  }
  {
    Scoped<std::string> on(knobs().cuda_tf32, "on");
    for (const Shape& shape : square) float_products(s, kFloat32, "tf32", shape);
  }
  for (DType t : {kInt8, kFloat8E4M3FN})
    for (const Shape& shape : square) quantized_products(s, t, shape);
}

}  // namespace reprise::device_figures
