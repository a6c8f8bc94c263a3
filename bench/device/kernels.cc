#include "base/knobs.h"
#include "bench/device/measure.h"

namespace reprise::device_figures {

namespace {
Tensor random_on(const Setting& s, std::vector<Int> sizes, DType t) { return randn(sizes, {.dtype = kFloat32}).to(t).to(s.device); }
}  // namespace

std::vector<Row> bandwidth(Setting& s) {
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
  return {{"bandwidth", "copy, read and written", s.copy_rate / 1e9, "GB/s"},
          {"bandwidth", "sum of 1 GiB", static_cast<double>(bytes) / read / 1e9, "GB/s", static_cast<double>(bytes) / read / s.copy_rate, "copy"}};
}

std::vector<Row> fused_kernels(const Setting& s) {
  const std::int64_t rows = s.quick ? 16 : 16384, cols = s.quick ? 256 : 4096;
  std::vector<Row> out;
  for (DType t : {kFloat32, kBFloat16}) {
    Tensor x = random_on(s, {rows, cols}, t), y = random_on(s, {rows, cols}, t), w = random_on(s, {cols}, t), b = random_on(s, {cols}, t);
    const double moved = static_cast<double>(rows * cols) * item_size(t);
    auto measure = [&](const char* name, double bytes, auto f) {
      double seconds = device_time(s, f);
      out.push_back({"fused kernels", std::string(name) + " " + std::string(dtype_short_name(t)), bytes / seconds / 1e9, "GB/s", bytes / seconds / s.copy_rate, "copy"});
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
    measure("sum over rows", moved, [&] { columns(x); });
  }
  return out;
}

std::vector<Row> products(const Setting& s) {
  std::vector<Row> out;
  struct Shape { std::int64_t m, n, k; };
  std::vector<Shape> shapes = s.quick ? std::vector<Shape>{{32, 32, 32}, {1, 64, 64}} : std::vector<Shape>{{1024, 1024, 1024}, {4096, 4096, 4096}, {128, 4096, 4096}, {1, 4096, 4096}, {1, 14336, 4096}};
  for (DType t : {kFloat32, kBFloat16})
    for (Shape shape : shapes) {
      Tensor x = random_on(s, {shape.m, shape.k}, t), w = random_on(s, {shape.n, shape.k}, t);
      auto measure = [&](const char* who) {
        Scoped<std::string> how(knobs().cuda_products, who);
        auto f = compile([](Tensor a, Tensor c) { return linear(a, c); }, {.name = "linear"});
        return device_time(s, [&] { f(x, w); });
      };
      const std::int64_t before = stats().library_products;
      const double theirs = measure("library"), seconds = measure("own");
      const bool library = stats().library_products > before;
      std::string name = std::to_string(shape.m) + " x " + std::to_string(shape.n) + " x " + std::to_string(shape.k) + " " + std::string(dtype_short_name(t));
      double bytes = static_cast<double>(shape.n * shape.k) * item_size(t);
      const double work = shape.m == 1 ? bytes / 1e9 : 2.0 * static_cast<double>(shape.m * shape.n * shape.k) / 1e12;
      auto row = [&](const std::string& what, double took) {
        out.push_back({"products", what, work / took, shape.m == 1 ? "GB/s" : "Tflop/s"});
        if (shape.m == 1) out.back().part = bytes / took / s.read_rate, out.back().of = "read";
      };
      row(name, seconds);
      if (!library) continue;
      if (shape.m > 1) out.back().part = theirs / seconds, out.back().of = "cuBLASLt";
      row(name + ", cuBLASLt", theirs);
    }
  return out;
}

}  // namespace reprise::device_figures
