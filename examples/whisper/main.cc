// An encoder of Whisper's shape (Radford et al. 2022): sound in, one vector for every 20 ms out. Frames of the sound
// become logarithms of mel energies, two convolutions make vectors of them, and blocks of attention follow. Fourier
// transforms of so short windows are matrix products here, and compile with the rest. Weights are random, the sound is
// made.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <vector>

#include "../common/example.h"
#include "reprise/convolution.h"

namespace rp = reprise;

namespace {

// samples a second, samples, samples
constexpr std::int64_t kRate = 16000, kWindow = 400, kHop = 160, kMels = 80, kBins = kWindow / 2 + 1;

struct Config {
  std::int64_t layers = 4, dim = 384, heads = 6, seconds = 10;
};

struct Linear {
  rp::Tensor weight, bias;
  rp::Tensor operator()(const rp::Tensor& x) const { return rp::linear(x, weight, bias); }
};
struct Norm {
  rp::Tensor weight, bias;
  rp::Tensor operator()(const rp::Tensor& x) const { return rp::layer_norm(x, {x.size(-1)}, weight, bias); }
};
/// A convolution along time of [channels, time].
struct Conv {
  rp::Tensor weight, bias;  // [out, in, 3], [out]
  std::int64_t stride;
  rp::Tensor operator()(const rp::Tensor& x) const { return rp::conv1d(x, weight, bias, stride, 1); }
};
struct Block {
  Norm before_attention;
  Linear q, k, v, out;
  Norm before_mlp;
  Linear up, down;
};
struct Weights {
  rp::Tensor cosines, sines, mels;  // [bins, window] each, with the window in them; [mels, bins]
  Conv first, second;
  rp::Tensor positions;  // [places, dim]
  std::vector<Block> blocks;
  Norm last;
};

/// Triangles that are evenly spaced in mel (O'Shaughnessy 1987), [mels, bins], each of area 1.
std::vector<float> mel_filters() {
  auto mel = [](double hz) { return 2595 * std::log10(1 + hz / 700); };
  auto hz = [](double m) { return 700 * (std::pow(10, m / 2595) - 1); };
  std::vector<float> all(static_cast<std::size_t>(kMels * kBins));
  for (std::int64_t m = 0; m < kMels; ++m) {
    double at[3];
    for (int i = 0; i < 3; ++i) at[i] = hz(mel(kRate / 2.0) * static_cast<double>(m + i) / (kMels + 1));
    for (std::int64_t b = 0; b < kBins; ++b) {
      const double f = static_cast<double>(b * kRate) / kWindow, up = (f - at[0]) / (at[1] - at[0]),
                   down = (at[2] - f) / (at[2] - at[1]);
      all[static_cast<std::size_t>(m * kBins + b)] =
          static_cast<float>(std::max(0.0, std::min(up, down)) * 2 / (at[2] - at[0]));
    }
  }
  return all;
}

double window(std::int64_t i) { return 0.5 - 0.5 * std::cos(2 * std::numbers::pi * static_cast<double>(i) / kWindow); }

Weights random_weights(const Config& c) {
  auto linear = [](std::int64_t out, std::int64_t in) {
    return Linear{rp::randn({out, in}) * (0.7 / std::sqrt(static_cast<double>(in))), rp::randn({out}) * 0.02};
  };
  auto norm = [&] { return Norm{1.0 + rp::randn({c.dim}) * 0.02, rp::randn({c.dim}) * 0.02}; };
  auto conv = [](std::int64_t out, std::int64_t in, std::int64_t stride) {
    return Conv{rp::randn({out, in, 3}) * (0.7 / std::sqrt(3.0 * static_cast<double>(in))), rp::randn({out}) * 0.02,
                stride};
  };
  std::vector<float> cosines, sines;
  for (std::int64_t b = 0; b < kBins; ++b)
    for (std::int64_t i = 0; i < kWindow; ++i) {
      const double turn = 2 * std::numbers::pi * static_cast<double>(b * i % kWindow) / kWindow;
      cosines.push_back(static_cast<float>(window(i) * std::cos(turn))),
          sines.push_back(static_cast<float>(window(i) * std::sin(turn)));
    }
  Weights w{rp::tensor_of(cosines, {kBins, kWindow}),
            rp::tensor_of(sines, {kBins, kWindow}),
            rp::tensor_of(mel_filters(), {kMels, kBins}),
            conv(c.dim, kMels, 1),
            conv(c.dim, c.dim, 2),
            {},
            {},
            norm()};
  // Sines and cosines of wavelengths from 2 pi to 20,000 pi (Vaswani et al. 2017), halves beside each other.
  const rp::Tensor place = rp::arange(c.seconds * 50, {.dtype = rp::kFloat32}).unsqueeze(1);
  const rp::Tensor rate = rp::exp(rp::arange(c.dim / 2, {.dtype = rp::kFloat32}) *
                                  (-std::log(10000.0) / (static_cast<double>(c.dim) / 2 - 1)));
  w.positions = rp::cat({rp::sin(place * rate), rp::cos(place * rate)}, 1);
  for (std::int64_t i = 0; i < c.layers; ++i)
    w.blocks.push_back({norm(), linear(c.dim, c.dim), linear(c.dim, c.dim), linear(c.dim, c.dim), linear(c.dim, c.dim),
                        norm(), linear(4 * c.dim, c.dim), linear(c.dim, 4 * c.dim)});
  return w;
}

/// Sound [samples] as logarithms of mel energies [frames, mels], one frame for every 10 ms, scaled as Whisper's.
rp::Tensor log_mel(const Weights& w, rp::Tensor sound) {
  rp::Tensor frames = rp::pad(sound, {kWindow / 2, kWindow / 2 - kHop}).unfold(0, kWindow, kHop);  // [frames, window]
  rp::Tensor power = rp::linear(frames, w.cosines).square() + rp::linear(frames, w.sines).square();
  rp::Tensor logs = rp::log10(rp::clamp_min(rp::linear(power, w.mels), 1e-10));
  return (rp::maximum(logs, logs.max() - 8.0) + 4.0) / 4.0;
}

rp::Tensor attention(const Config& c, const Block& b, rp::Tensor h) {
  const rp::Int t = h.size(0);
  auto heads = [&](rp::Tensor x) { return x.view({t, c.heads, c.dim / c.heads}).transpose(0, 1); };
  return b.out(rp::scaled_dot_product_attention(heads(b.q(h)), heads(b.k(h)), heads(b.v(h)))
                   .transpose(0, 1)
                   .reshape({t, c.dim}));
}

/// Plain eager code: sound [samples] of any length, at least 40 ms, to [samples / 320, dim].
rp::Tensor encode(const Config& c, const Weights& w, rp::Tensor sound) {
  rp::Tensor x = rp::gelu(w.second(rp::gelu(w.first(log_mel(w, sound).t())))).t();
  x = x + w.positions.slice(0, 0, x.size(0));
  for (std::size_t i = 0; i < w.blocks.size(); ++i) {
    rp::NameScope layer("blocks", static_cast<std::int64_t>(i));
    const Block& b = w.blocks[i];
    x = x + attention(c, b, b.before_attention(x));
    x = x + b.down(rp::gelu(b.up(b.before_mlp(x))));
  }
  return w.last(x);
}

/// A chord that fades, with some noise.
rp::Tensor sound_of(std::int64_t samples) {
  rp::Tensor t = rp::arange(samples, {.dtype = rp::kFloat32}) / static_cast<double>(kRate),
             x = rp::randn({samples}) * 0.01;
  for (double hz : {220.0, 277.2, 329.6, 1760.0})
    x = x + rp::sin(t * (2 * std::numbers::pi * hz)) * rp::exp(t * -0.5) * 0.2;
  return x;
}

/// The same energies without the library: loops over the definition, in double, [frames, mels].
rp::Tensor log_mel_by_loops(rp::Tensor sound) {
  const std::vector<double> x = sound.to_vector<double>();
  const std::vector<float> filters = mel_filters();
  const std::int64_t samples = static_cast<std::int64_t>(x.size()), frames = samples / kHop;
  std::vector<double> logs;
  double most = -INFINITY;
  for (std::int64_t f = 0; f < frames; ++f) {
    std::vector<double> power;
    for (std::int64_t b = 0; b < kBins; ++b) {
      double re = 0, im = 0;
      for (std::int64_t i = 0; i < kWindow; ++i) {
        const std::int64_t at = f * kHop + i - kWindow / 2;
        if (at < 0 || at >= samples) continue;
        const double turn = 2 * std::numbers::pi * static_cast<double>(b * i % kWindow) / kWindow,
                     s = x[static_cast<std::size_t>(at)] * window(i);
        re += s * std::cos(turn), im += s * std::sin(turn);
      }
      power.push_back(re * re + im * im);
    }
    for (std::int64_t m = 0; m < kMels; ++m) {
      double sum = 0;
      for (std::int64_t b = 0; b < kBins; ++b)
        sum +=
            power[static_cast<std::size_t>(b)] * static_cast<double>(filters[static_cast<std::size_t>(m * kBins + b)]);
      logs.push_back(std::log10(std::max(sum, 1e-10)));
      most = std::max(most, logs.back());
    }
  }
  for (double& v : logs) v = (std::max(v, most - 8) + 4) / 4;
  return rp::tensor_of(logs, {frames, kMels});
}

int program(int argc, char** argv) {
  Config c;
  std::int64_t clips = 10, threads = 1, seed = 1;
  example::Options options("whisper",
                           "Encodes sound with an encoder of Whisper's shape and random weights, compiled while it "
                           "runs; clips have different lengths.\n"
                           "The defaults are its smallest size; the next are --layers 6 --dim 512 --heads 8 and "
                           "--layers 12 --dim 768 --heads 12.");
  options.integer("--layers", &c.layers, 1, 100, "blocks")
      .integer("--dim", &c.dim, 4, 8192, "width, an even multiple of --heads")
      .integer("--heads", &c.heads, 1, 128, "heads of attention")
      .integer("--seconds", &c.seconds, 1, 3600, "of the longest clip")
      .integer("--clips", &clips, 2, 100000, "clips to encode")
      .integer("--threads", &threads, 1, 1024, "threads to use")
      .integer("--seed", &seed, 0, INT32_MAX, "of weights and noise")
      .parse(argc, argv);
  if (c.dim % (2 * c.heads) != 0)
    options.fail("--dim " + std::to_string(c.dim) + " is no even multiple of --heads " + std::to_string(c.heads));

  rp::set_num_threads(static_cast<int>(threads));
  rp::manual_seed(static_cast<std::uint64_t>(seed));
  const Weights w = random_weights(c);
  rp::freeze(w);  // what is computed of them alone is computed once
  auto encoder = rp::compile(encode, {.name = "whisper", .arguments = {"config", "weights", "sound"}});

  // Lengths from the longest down to half of it, none twice.
  std::vector<rp::Tensor> sounds;
  for (std::int64_t i = 0; i < clips; ++i)
    sounds.push_back(sound_of(c.seconds * kRate - i * c.seconds * kRate / (2 * clips)));
  double begin = example::now();
  const rp::Tensor first = encoder(c, w, sounds[0]);
  const double cold = example::now() - begin;
  double seconds = 0, took = 0, eager_took = 0, eager_seconds = 0;
  rp::Tensor last;
  for (std::size_t i = 1; i < sounds.size(); ++i) {
    begin = example::now();
    last = encoder(c, w, sounds[i]);
    took += example::now() - begin;
    seconds += static_cast<double>(sounds[i].size(0).value()) / kRate;
  }
  const rp::Stats stats = encoder.stats();

  example::Checks checks;
  const rp::Tensor part = sounds[0].slice(0, 0, kRate / 2);
  checks.close("mel energies against loops in double", rp::compile(log_mel)(w, part), log_mel_by_loops(part), 1e-3);
  checks.close("the longest clip, compiled against eager", first, encode(c, w, sounds[0]));
  begin = example::now();
  const rp::Tensor same = encode(c, w, sounds.back());
  eager_took = example::now() - begin, eager_seconds = static_cast<double>(sounds.back().size(0).value()) / kRate;
  checks.close("the shortest clip, compiled against eager", last, same);
  checks.equal("compilations for all lengths", stats.compilations, 1);
  checks.equal("calls served eagerly", stats.eager_fallbacks, 0);

  std::printf("\n");
  example::row("compiled", seconds / took, "seconds of sound a second", 1);
  example::row("eager", eager_seconds / eager_took, "seconds of sound a second", 1);
  example::row("compiled", 50 * seconds / took, "vectors/s");
  example::row("first clip (with compilation)", cold * 1e3, "ms", 1);
  example::rows(stats);
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) { return example::guarded("whisper", program, argc, argv); }
