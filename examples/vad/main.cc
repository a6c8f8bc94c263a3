// A detector of voice as a program for processes without a compiler: this makes the file, examples/vad/vad.c runs it.
//
//   example_vad vad.rpx
//
// Nothing of it is learned. Energies of bands are compared with a floor that follows what is there between words: it
// falls at once and rises slowly, as in R. Martin, "Noise power spectral density estimation based on optimal smoothing
// and minimum statistics" (2001). The floor and the latest answer are the network's state.
#include <cmath>
#include <cstdio>
#include <numbers>
#include <string>
#include <vector>

#include "reprise/export.h"
#include "reprise/nn.h"
#include "reprise/reprise.h"

namespace rp = reprise;

namespace {

constexpr int kRate = 16000, kBlock = 512, kWindow = 256, kStep = 128, kBands = 24;

/// Cosines and sines of the bands' frequencies, 120 to 4,000 Hz, under a Hann window: filters of a convolution.
rp::Tensor filters() {
  std::vector<float> all;
  for (const bool sine : {false, true})
    for (int band = 0; band < kBands; ++band) {
      const double hz = 120 * std::pow(4000.0 / 120, static_cast<double>(band) / (kBands - 1));
      for (int i = 0; i < kWindow; ++i) {
        const double window = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * (i + 0.5) / kWindow);
        const double at = 2 * std::numbers::pi * hz * i / kRate;
        all.push_back(static_cast<float>(window * (sine ? std::sin(at) : std::cos(at)) / kWindow * 4));
      }
    }
  return rp::from_blob(all.data(), {2 * kBands, 1, kWindow}, rp::kFloat32).clone();
}

struct Vad : rp::nn::Callable<Vad> {
  rp::Tensor bands = filters(), floor = rp::full({kBands}, 100.0), latest = rp::zeros({1});
  /// f32[1, 512], of -1 to 1: the probability of a voice, f32[1].
  rp::Tensor forward(const rp::Tensor& x) {
    const rp::Tensor parts = rp::conv1d(x.unsqueeze(1), bands, {}, {kStep});
    const rp::Tensor real = parts.narrow(1, 0, kBands), imaginary = parts.narrow(1, kBands, kBands);
    const rp::Tensor energy = rp::log((real * real + imaginary * imaginary).mean({0, 2}) + 1e-9);
    const rp::Tensor follows = rp::where(energy < floor, floor * 0.6 + energy * 0.4, floor + 0.01);
    const rp::Tensor now = rp::where(floor > 50.0, energy, follows);  // the first block is taken for silence
    floor.copy_(now);
    const rp::Tensor above = rp::relu(energy - now).mean();
    latest.copy_(rp::maximum(rp::sigmoid((above - 1.8) * 3.0).reshape({1}), latest * 0.8));
    return latest * 1.0;
  }
  REPRISE_FIELDS(Vad, bands, floor, latest)
  REPRISE_BUFFERS(floor, latest)
};

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "vad.rpx";
  try {
    const rp::ExportedProgram p = rp::export_module(Vad(), std::tuple(rp::zeros({1, kBlock})),
                                                    {.name = "vad", .arguments = {"x"}, .static_sizes = true});
    p.compile({.levels = {"x86_64_v2", "avx2", "avx512", "aarch64"}}).save(path);
    std::printf("%s: %zu buffers, %zu weights\n", path.c_str(), p.signature().buffers.size(),
                p.signature().parameters.size());
    if (argc < 2) std::remove(path.c_str());
    return 0;
  } catch (const rp::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
