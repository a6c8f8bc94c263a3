#include "bench/device/measure.h"
#include "bench/device/random.h"

namespace reprise::device_figures {

void bandwidth(Setting& s) {
  const std::int64_t bytes = s.quick ? 1 << 18 : std::int64_t{1} << 30;
  Tensor a = zeros({bytes / 4}, {.device = s.device}), b = zeros({bytes / 4}, {.device = s.device});
  device::Backend& d = device::backend(s.device);
  double copy = device_time(s, [&] { d.copy(b.data_ptr(), a.data_ptr(), bytes, d.current_stream()); });
  auto add_up = compile([](Tensor t) { return t.sum(); }, {.name = "read"});
  double read = device_time(s, [&] { add_up(a); });
  s.copy_rate = 2.0 * static_cast<double>(bytes) / copy;
  s.read_rate = static_cast<double>(bytes) / read;
  // What the device can read at least is what it reads while copying; a slow sum must not flatter what is measured
  // against it.
  s.read_rate = std::max(s.read_rate, s.copy_rate);
  s.report({"bandwidth", "copy, read and written", s.copy_rate / 1e9, "GB/s"});
  s.report({"bandwidth", "sum of all", static_cast<double>(bytes) / read / 1e9, "GB/s",
            static_cast<double>(bytes) / read / s.copy_rate, "copy"});
}

void fused_kernels(const Setting& s) {
  const std::int64_t rows = s.quick ? 16 : 65536, cols = s.quick ? 256 : 4096;  // kPastCaches bytes, in two bytes each
  for (DType t : {kFloat32, kBFloat16}) {
    Tensor x = rows_on(s, rows, cols, t), y = rows_on(s, rows, cols, t), w = random_on(s, {cols}, t),
           b = random_on(s, {cols}, t);
    const double moved = static_cast<double>(rows * cols) * item_size(t);
    auto measure = [&](const char* name, double bytes, auto f, bool only_reads = false) {
      const std::string row = std::string(name) + " " + std::string(dtype_short_name(t));
      if (!s.wants(row)) return;
      double rate = bytes / device_time(s, f);
      s.report({"fused kernels", row, rate / 1e9, "GB/s", rate / (only_reads ? s.read_rate : s.copy_rate),
                only_reads ? "read" : "copy"});
    };
    auto chain = compile([](Tensor a, Tensor c) { return gelu(a * 2.0 + c) * c - a; }, {.name = "chain"});
    measure("gelu(2 x + y) y - x", 3 * moved, [&] { chain(x, y); });
    auto rms = compile([](Tensor a, Tensor c) { return rms_norm(a, c, 1e-5); }, {.name = "rms_norm"});
    measure("rms_norm", 2 * moved, [&] { rms(x, w); });
    auto norm = compile([cols](Tensor a, Tensor c, Tensor e) { return layer_norm(a, {cols}, c, e, 1e-5); },
                        {.name = "layer_norm"});
    measure("layer_norm", 2 * moved, [&] { norm(x, w, b); });
    auto soft = compile([](Tensor a) { return softmax(a, -1); }, {.name = "softmax"});
    measure("softmax", 2 * moved, [&] { soft(x); });
    auto gate = compile([](Tensor a, Tensor c) { return silu(a) * c; }, {.name = "silu_mul"});
    measure("silu(x) y", 3 * moved, [&] { gate(x, y); });
    auto columns = compile([](Tensor a) { return a.sum({0}); }, {.name = "columns"});
    measure(
        "sum over rows", moved, [&] { columns(x); }, true);
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

}  // namespace reprise::device_figures
