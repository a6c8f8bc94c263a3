#include <cmath>

#include "base/knobs.h"
#include "bench/device/measure.h"

namespace reprise::device_figures {

namespace {

Tensor random_on(const Setting& s, std::vector<Int> sizes, DType t) { return randn(sizes, {.dtype = kFloat32}).to(t).to(s.device); }

/// A few random rows, repeated: speed does not depend on the values, and the host would take seconds to draw them all.
Tensor rows_on(const Setting& s, std::int64_t rows, std::int64_t cols, DType t) {
  const std::int64_t few = std::min<std::int64_t>(rows, 64);
  return random_on(s, {few, cols}, t).unsqueeze(0).expand({rows / few, few, cols}).reshape({rows, cols});
}

}  // namespace

void bandwidth(Setting& s) {
  const std::int64_t bytes = s.quick ? 1 << 18 : std::int64_t{1} << 30;
  Tensor a = zeros({bytes / 4}, {.device = s.device}), b = zeros({bytes / 4}, {.device = s.device});
  device::Backend& d = device::backend(s.device);
  double copy = device_time(s, [&] { d.copy(b.data_ptr(), a.data_ptr(), bytes, d.current_stream()); });
  auto add_up = compile([](Tensor t) { return t.sum(); }, {.name = "read"});
  double read = device_time(s, [&] { add_up(a); });
  s.copy_rate = 2.0 * static_cast<double>(bytes) / copy;
  s.read_rate = static_cast<double>(bytes) / read;
  // What the device can read at least is what it reads while copying; a slow sum must not flatter what is measured against it.
  s.read_rate = std::max(s.read_rate, s.copy_rate);
  s.report({"bandwidth", "copy, read and written", s.copy_rate / 1e9, "GB/s"});
  s.report({"bandwidth", "sum of all", static_cast<double>(bytes) / read / 1e9, "GB/s", static_cast<double>(bytes) / read / s.copy_rate, "copy"});
}

void fused_kernels(const Setting& s) {
  const std::int64_t rows = s.quick ? 16 : 65536, cols = s.quick ? 256 : 4096;  // kPastCaches bytes, in two bytes each
  for (DType t : {kFloat32, kBFloat16}) {
    Tensor x = rows_on(s, rows, cols, t), y = rows_on(s, rows, cols, t), w = random_on(s, {cols}, t), b = random_on(s, {cols}, t);
    const double moved = static_cast<double>(rows * cols) * item_size(t);
    auto measure = [&](const char* name, double bytes, auto f, bool only_reads = false) {
      const std::string row = std::string(name) + " " + std::string(dtype_short_name(t));
      if (!s.wants(row)) return;
      double rate = bytes / device_time(s, f);
      s.report({"fused kernels", row, rate / 1e9, "GB/s", rate / (only_reads ? s.read_rate : s.copy_rate), only_reads ? "read" : "copy"});
    };
    auto chain = compile([](Tensor a, Tensor c) { return gelu(a * 2.0 + c) * c - a; }, {.name = "chain"});
    measure("gelu(2 x + y) y - x", 3 * moved, [&] { chain(x, y); });
    auto rms = compile([](Tensor a, Tensor c) { return rms_norm(a, c, 1e-5); }, {.name = "rms_norm"});
    measure("rms_norm", 2 * moved, [&] { rms(x, w); });
    auto norm = compile([cols](Tensor a, Tensor c, Tensor e) { return layer_norm(a, {cols}, c, e, 1e-5); }, {.name = "layer_norm"});
    measure("layer_norm", 2 * moved, [&] { norm(x, w, b); });
    auto soft = compile([](Tensor a) { return softmax(a, -1); }, {.name = "softmax"});
    measure("softmax", 2 * moved, [&] { soft(x); });
    auto gate = compile([](Tensor a, Tensor c) { return silu(a) * c; }, {.name = "silu_mul"});
    measure("silu(x) y", 3 * moved, [&] { gate(x, y); });
    auto columns = compile([](Tensor a) { return a.sum({0}); }, {.name = "columns"});
    measure("sum over rows", moved, [&] { columns(x); }, true);
  }
}

void long_rows(const Setting& s) {
  const std::int64_t n = s.quick ? 16384 : 131072;
  const Tensor x = random_on(s, {1, n}, kFloat32);
  auto best = compile([](Tensor a) { return topk(a, 50, -1, true, true); }, {.name = "topk"});
  s.report({"rows", "top-k of 131072, k = 50, f32", device_time(s, [&] { best(x); }) * 1e6, "us"});
  auto sums = compile([](Tensor a) { return a.cumsum(-1); }, {.name = "cumsum"});
  s.report({"rows", "cumsum of 131072, f32", device_time(s, [&] { sums(x); }) * 1e6, "us"});
}

// One row times a matrix takes less time than the host needs to start it, and small matrices stay in the caches. So a
// row of the table is a chain of products, one graph, over different matrices; the name says one link of it.
void products(const Setting& s) {
  struct Shape { std::int64_t m, n, k; };
  std::vector<Shape> shapes = s.quick ? std::vector<Shape>{{32, 32, 32}, {1, 64, 32}} : std::vector<Shape>{{1024, 1024, 1024}, {4096, 4096, 4096}, {128, 4096, 4096}, {1, 4096, 4096}, {1, 14336, 4096}};
  for (DType t : {kFloat32, kBFloat16})
    for (Shape shape : shapes) {
      const std::string sizes = std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " + std::to_string(shape.k);
      const bool there_and_back = shape.n != shape.k, by_memory = shape.m == 1;
      const std::string name = sizes + (there_and_back ? " and back " : " ") + std::string(dtype_short_name(t));
      if (!s.wants(name)) continue;
      const std::int64_t weight_bytes = shape.n * shape.k * item_size(t);
      const double flops = 2.0 * static_cast<double>(shape.m * shape.n * shape.k);
      std::int64_t links = s.quick ? 2 : by_memory ? (kPastCaches + weight_bytes - 1) / weight_bytes : flops < 1e10 ? 32 : 8;
      links += links % 2;
      Tensor x = random_on(s, {shape.m, shape.k}, t);
      std::vector<Tensor> weights;
      for (std::int64_t i = 0; i < links; ++i) {
        const bool back = there_and_back && i % 2 == 1;
        const std::int64_t n = back ? shape.k : shape.n, k = back ? shape.n : shape.k;
        weights.push_back(rows_on(s, n, k, t) / std::sqrt(static_cast<double>(k)));  // values stay of one size
      }
      auto measure = [&](const char* who) {
        Scoped<std::string> how(knobs().cuda_products, who);
        auto f = compile([](Tensor a, const std::vector<Tensor>& all) {
          for (const Tensor& w : all) a = linear(a, w);
          return a;
        }, {.name = "linear"});
        return device_time(s, [&] { f(x, weights); }) / static_cast<double>(links);
      };
      const std::int64_t before = stats().library_products;
      const double theirs = measure("library");
      const bool library = stats().library_products > before;
      const double seconds = measure("own");
      const double bytes = static_cast<double>(weight_bytes);
      const double work = by_memory ? bytes / 1e9 : flops / 1e12;
      auto row = [&](const std::string& what, double took, double part, const char* of) {
        s.report({"products", what, work / took, by_memory ? "GB/s" : "Tflop/s", part, of});
      };
      if (by_memory) row(name, seconds, bytes / seconds / s.read_rate, "read");
      else row(name, seconds, library ? theirs / seconds : 0, "cuBLASLt");
      if (library) row(name + ", cuBLASLt", theirs, by_memory ? bytes / theirs / s.read_rate : 0, "read");
    }
}

}  // namespace reprise::device_figures
