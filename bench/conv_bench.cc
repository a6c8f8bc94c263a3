// Convolutions of known models, as a user calls them.
#include <benchmark/benchmark.h>

#include <algorithm>

#include "bench/conv_shapes.h"
#include "reprise/convolution.h"
#include "reprise/reprise.h"

namespace reprise {
namespace {

[[maybe_unused]] const bool registered = [] {
  for (const bench::ConvShape& s : bench::kConvShapes) {
    std::string name = "Peer/" + s.name();
    std::replace(name.begin(), name.end(), ' ', '_');
    benchmark::RegisterBenchmark(name.c_str(), [&s](benchmark::State& state) {
      set_num_threads(1);
      const Tensor x = randn({s.batch, s.channels, s.side, s.side}),
                   w = randn({s.results, s.channels / s.groups, s.places, s.places}), bias = randn({s.results});
      auto f = compile(
          [&](Tensor x, Tensor w, Tensor bias) { return conv2d(x, w, bias, s.step, s.places / 2, 1, s.groups); },
          {.name = "conv"});
      f(x, w, bias);
      for (auto _ : state) benchmark::DoNotOptimize(f(x, w, bias));
      set_num_threads(default_num_threads());
    });
  }
  return true;
}();

}  // namespace
}  // namespace reprise
