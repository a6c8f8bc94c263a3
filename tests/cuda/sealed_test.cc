// Behind seal(): nothing is loaded or instantiated, whichever sizes come.
#include <thread>

#include "reprise/library.h"
#include "tests/cuda/blend_fixture.h"

namespace reprise::test {
namespace {

class CudaSealed : public CudaBlend {
 protected:
  static Tensor numbers(Int rows, int seed) {
    return (arange(rows * 6).to(kFloat32) * (0.125 * seed)).sin().reshape({rows, 6});
  }
  static void expect_close(const Tensor& got, const Tensor& want, std::int64_t n) {
    EXPECT_TRUE(allclose(got.cpu(), want, 1e-5, 1e-5)) << n;
  }
};

/// Kernels, a step of the host between them, and many buffers.
Tensor body(const Tensor& x, const Tensor& w) {
  Tensor h = softmax(x * w, -1);
  for (int i = 0; i < 6; ++i) h = (h + x.sum({0}, true)).cumsum(0) * 0.125;
  return h - w;
}

TEST_F(CudaSealed, NewSizesAreQueuedAndInstantiateNothing) {
  auto f = compile(body, {.name = "sealed"});
  const Tensor w = numbers(1, 3);
  auto call = [&](std::int64_t n) { expect_close(f(numbers(n, 1).to(d), w.to(d)), body(numbers(n, 1), w), n); };
  call(4), call(5);
  f.seal();
  const reprise_simulator_counters before = Simulator::counters();
  for (std::int64_t n : {4, 5, 9, 30, 9, 4, 2, 60, 31, 30, 9}) call(n);
  const reprise_simulator_counters after = Simulator::counters();
  EXPECT_EQ(after.instantiations, before.instantiations);
  EXPECT_EQ(after.modules_loaded, before.modules_loaded);
  EXPECT_EQ(f.stats().compilations, 1);
  f.reset();
  call(7);
  EXPECT_GT(Simulator::counters().instantiations, after.instantiations) << "sealed no more";
}

TEST_F(CudaSealed, SizesThatOtherKernelsServeAreLoadedBefore) {
  auto products = [](const Tensor& x, const Tensor& w) { return mm(x, w.transpose(0, 1)); };
  auto f = compile(products, {.name = "products"});
  auto call = [&](std::int64_t n) {
    expect_close(f(numbers(n, 1).to(d), numbers(10, 2).to(d)), products(numbers(n, 1), numbers(10, 2)), n);
  };
  call(2), call(3);  // few rows
  f.seal();
  const reprise_simulator_counters before = Simulator::counters();
  for (std::int64_t n : {100, 33, 7, 2, 300}) call(n);
  EXPECT_EQ(Simulator::counters().instantiations, before.instantiations);
  EXPECT_EQ(Simulator::counters().modules_loaded, before.modules_loaded);
}

TEST_F(CudaSealed, WorkOfOtherLibrariesIsQueuedInTheStream) {
  auto blends = [](const Tensor& x, const Tensor& y) { return Blend::of(x * 2, y, 0.25) + Blend::of(y, x) * 3; };
  auto want = [](const Tensor& x, const Tensor& y) { return (x * 2 * 0.75 + y * 0.25) + (y * 0.5 + x * 0.5) * 3; };
  auto f = compile(blends, {.name = "blends"});
  auto call = [&](std::int64_t n) {
    expect_close(f(numbers(n, 1).to(d), numbers(n, 2).to(d)), want(numbers(n, 1), numbers(n, 2)), n);
  };
  call(4);
  f.seal();
  const reprise_simulator_counters before = Simulator::counters();
  for (std::int64_t n : {4, 6, 12, 6, 4}) call(n);
  EXPECT_EQ(Simulator::counters().instantiations, before.instantiations);
}

TEST_F(CudaSealed, StreamsAndThreadsDoNotShareAddresses) {
  auto f = compile(body, {.name = "streams"});
  const Tensor w = numbers(1, 3).to(d);
  f(numbers(4, 1).to(d), w);
  f.seal();
  const reprise_simulator_counters before = Simulator::counters();
  std::vector<std::vector<float>> got(4), want(4);
  std::vector<Tensor> xs;
  for (std::size_t i = 0; i < 4; ++i) {
    xs.push_back(numbers(12, static_cast<int>(i) + 1).to(d));
    want[i] = f(xs[i], w).to_vector<float>();
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      Stream s = Stream::create(d);
      StreamGuard guard(s);
      for (int n = 0; n < 8; ++n) got[i] = f(xs[i], w).to_vector<float>();
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(got, want);
  EXPECT_EQ(Simulator::counters().instantiations, before.instantiations)
      << "threads at once have no graphs of their own";
}

}  // namespace
}  // namespace reprise::test
