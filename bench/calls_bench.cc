// Calls of compiled functions, as a user makes them: dispatch, replay, eager, and small products.
#include <benchmark/benchmark.h>

#include "reprise/reprise.h"

namespace reprise {
namespace {

void WarmCall(benchmark::State& state) {
  auto f = compile([](Tensor x) { return x + 1; }, {.name = "x_plus_1"});
  Tensor x = ones({state.range(0)});
  f(x);
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
}
BENCHMARK(WarmCall)->Arg(16)->Arg(1024);

void EagerCall(benchmark::State& state) {
  Tensor x = ones({state.range(0)});
  benchmark::DoNotOptimize(x + 1);
  for (auto _ : state) benchmark::DoNotOptimize(x + 1);
}
BENCHMARK(EagerCall)->Arg(16)->Arg(1024);

void Dispatch(benchmark::State& state) {
  std::vector<Tensor> args;
  for (int i = 0; i < state.range(0); ++i) args.push_back(ones({2, 3}));
  auto f = compile([](const std::vector<Tensor>& t) { return t.front() + t.back(); }, {.name = "dispatch"});
  f(args);
  double ns = 0;
  std::int64_t rounds = 0;
  for (auto _ : state) {
    ns += f.measure_dispatch_ns(args, 1000);
    ++rounds;
  }
  state.counters["ns_per_call"] = ns / static_cast<double>(rounds);
}
BENCHMARK(Dispatch)->Arg(1)->Arg(8)->Arg(32);

void NewSize(benchmark::State& state) {
  auto f = compile(
      [](Tensor x, Tensor w) {
        for (int i = 0; i < 20; ++i) x = relu(mm(x, w));
        return x;
      },
      {.name = "new_size", .recordings_max = 4});
  Tensor w = zeros({8, 8});
  std::int64_t n = 2;
  f(ones({n, 8}), w);
  for (auto _ : state) {
    state.PauseTiming();
    Tensor x = ones({2 + n++ % 64, 8});
    state.ResumeTiming();
    benchmark::DoNotOptimize(f(x, w));
  }
}
BENCHMARK(NewSize);

void PeerMm(benchmark::State& state) {
  set_num_threads(1);
  Tensor a = rand({state.range(0), state.range(0)}), b = rand({state.range(0), state.range(0)});
  auto f = compile([](Tensor x, Tensor y) { return mm(x, y); }, {.name = "mm"});
  f(a, b);
  for (auto _ : state) benchmark::DoNotOptimize(f(a, b));
  set_num_threads(default_num_threads());
}
BENCHMARK(PeerMm)->Name("Peer/mm_128")->Arg(128);
BENCHMARK(PeerMm)->Name("Peer/mm_512")->Arg(512);
BENCHMARK(PeerMm)->Name("Peer/mm_1024")->Arg(1024);

void PeerSoftmax(benchmark::State& state) {
  set_num_threads(1);
  Tensor x = rand({4096, 1024});
  auto f = compile([](Tensor t) { return softmax(t, -1); }, {.name = "softmax"});
  f(x);
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
  set_num_threads(default_num_threads());
}
BENCHMARK(PeerSoftmax)->Name("Peer/softmax_4096x1024");

void PeerSmall(benchmark::State& state) {
  Tensor x = rand({16});
  auto f = compile([](Tensor t) { return t + 1; }, {.name = "small"});
  f(x);
  for (auto _ : state) benchmark::DoNotOptimize(f(x));
}
BENCHMARK(PeerSmall)->Name("Peer/x_+_1_on_16");

}  // namespace
}  // namespace reprise
