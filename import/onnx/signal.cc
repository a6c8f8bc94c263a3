#include <cmath>

#include "import/onnx/core.h"
#include "reprise/fft.h"
#include "reprise/linalg.h"

namespace reprise::onnx {
namespace {

DType output_dtype(Call& c) {
  const std::optional<DType> t = dtype_of_element(static_cast<std::int32_t>(c.i("output_datatype", 1)));
  if (!t) c.bad("the dtype is not supported");
  return *t;
}
/// a0 - a1 cos + a2 cos(2 x) over one period, in double.
void window(Call& c, double a0, double a1, double a2) {
  const Int n = c.scalar(0).to_int();
  const Int period = c.i("periodic", 1) != 0 ? n : n - 1;
  const Tensor x = arange(n, {.dtype = kFloat64}) * (Scalar(2 * M_PI) / Scalar(Int::max(period, 1)));
  c.give((a0 - cos(x) * a1 + cos(x * 2) * a2).to(output_dtype(c)));
}

/// Real numbers have a last dimension of 1, pairs one of 2.
Tensor pairs(Call& c, const Tensor& x) {
  const std::int64_t parts = x.size(-1).value();
  if (parts == 2) return x;
  if (parts != 1) c.bad("the last dimension has size ", parts, "; wanted 1 or 2");
  return cat({x, zeros_like(x)}, -1);
}
void dft(Call& c) {
  const Tensor x = pairs(c, c.x(0));
  const std::int64_t rank = x.dim() - 1;
  std::int64_t axis = c.version() < 20 ? c.i("axis", 1) : c.has(2) ? c.scalar(2).to_int().value() : -2;
  axis = axis_of(c, axis, static_cast<int>(rank) + 1);
  if (axis >= rank) c.bad("goes along the dimension of the parts");
  const std::optional<Int> n = c.has(1) ? std::optional(c.scalar(1).to_int()) : std::nullopt;
  const bool inverse = c.i("inverse", 0) != 0;
  const bool onesided = c.i("onesided", 0) != 0;
  if (inverse && onesided) return c.give(irfft(x, n, axis).unsqueeze(-1));
  Tensor made = inverse ? ifft(x, n, axis) : fft(x, n, axis);
  if (onesided) {
    made = made.slice(static_cast<int>(axis), 0, made.size(static_cast<int>(axis)) / 2 + 1);
  }
  c.give(made);
}
void stft_of(Call& c) {
  const Tensor signal = c.x(0);
  const Int step = c.scalar(1).to_int();
  const Int length = c.has(3) ? c.scalar(3).to_int() : c.has(2) ? c.x(2).size(0) : Int(0);
  if (length.hint() < 1) c.bad("has neither a window nor a frame length");
  const Tensor x = pairs(c, signal.dim() == 2 ? signal.unsqueeze(-1) : signal);  // [batch, samples, 2]
  Tensor frames = x.unfold(1, length, step).movedim(2, -1);                      // [batch, frames, length, 2]
  if (c.has(2)) frames = frames * c.x(2).unsqueeze(-1);
  Tensor made = fft(frames, std::nullopt, -1);
  if (c.i("onesided", 1) != 0) made = made.slice(2, 0, length / 2 + 1);
  c.give(made);
}

/// Triangles over the frequencies of a transform, whose corners are even on the mel scale.
void mel_weights(Call& c) {
  const std::int64_t bins = c.scalar(0).to_int().value(), length = c.scalar(1).to_int().value();
  const double rate = c.scalar(2).to_double(), low = c.scalar(3).to_double(), high = c.scalar(4).to_double();
  if (bins < 1 || bins > 1'000'000 || length < 1 || length > 100'000'000)
    c.bad("has ", bins, " bins of a transform of ", length);
  const auto mel = [](double hz) { return 2595 * std::log10(1 + hz / 700); };
  const double from = mel(low), step = (mel(high) - from) / static_cast<double>(bins + 2);
  const Tensor hz = (pow(10, (arange(bins + 2, {.dtype = kFloat64}) * step + from) / 2595) - 1) * 700;
  const Tensor corner = floor(hz * (static_cast<double>(length + 1) / rate));
  const Tensor at = arange(length / 2 + 1, {.dtype = kFloat64}).unsqueeze(1);
  const Tensor a = corner.slice(0, 0, bins), b = corner.slice(0, 1, bins + 1), d = corner.slice(0, 2, bins + 2);
  const Tensor up = where(b == a, (at == b).to(kFloat64), (at - a) / (b - a)), down = (d - at) / (d - b);
  c.give(where((at >= a) & (at <= b), up, where((at > b) & (at < d), down, 0)).to(output_dtype(c)));
}

constexpr Row kSignalRows[] = {
    {"BlackmanWindow", 17, 0, [](Call& c) { window(c, 0.42, 0.5, 0.08); }, 1},
    {"DFT", 17, 19, dft, 2},
    {"DFT", 20, 0, dft, 2 | 4},
    {"Det", 11, 0, [](Call& c) { c.give(det(c.x(0))); }},
    {"HammingWindow", 17, 0, [](Call& c) { window(c, 25.0 / 46, 21.0 / 46, 0); }, 1},
    {"HannWindow", 17, 0, [](Call& c) { window(c, 0.5, 0.5, 0); }, 1},
    {"MelWeightMatrix", 17, 0, mel_weights, 31},
    {"STFT", 17, 0, stft_of, 2 | 8},
};

}  // namespace

std::span<const Row> signal_rows() { return kSignalRows; }

}  // namespace reprise::onnx
