// The three accounts of device memory: results, the pool, executable graphs.
#include <cuda.h>

#include <random>
#include <thread>

#include "tests/cuda/support.h"

namespace reprise::test {
namespace {

using CudaMemory = Cuda;

TEST_F(CudaMemory, BlocksServeAgainOnTheirStreamAtOnce) {
  void* p = backend().allocate(1000);
  backend().deallocate(p, 1000);
  void* q = backend().allocate(900);  // the same class of sizes
  EXPECT_EQ(p, q);
  Stream other = Stream::create(d);
  {
    StreamGuard guard(other);
    void* r = backend().allocate(1000);
    EXPECT_NE(r, q);
    backend().deallocate(r, 1000);
    EXPECT_EQ(backend().allocate(1000), r) << "the stream has blocks of its own";
    backend().deallocate(r, 1000);
    backend().deallocate(q, 900);  // made under the default stream, freed under this one
  }
  synchronize(d);
  EXPECT_EQ(backend().allocate(1000), q) << "after the other stream's work it serves its own stream again";
  backend().deallocate(q, 1000);
}

TEST_F(CudaMemory, ExhaustionSaysWhoHoldsWhatAndIsOverAfterAFree) {
  const std::int64_t mib = 1 << 20;
  empty_cache(d);
  std::int64_t live = device_memory(d).results;
  set_memory_limit(d, live + 10 * mib);
  Tensor a = empty({4 * mib}, {.dtype = kUInt8, .device = d}), b = empty({4 * mib}, {.dtype = kUInt8, .device = d});
  Error e = error_of([&] { empty({4 * mib}, {.dtype = kUInt8, .device = d}); });
  EXPECT_EQ(e.code(), ErrorCode::OutOfMemory);
  for (const char* part : {"4.0 MiB on cuda:0", "results hold", "the pool and executable graphs", "the limit is"})
    EXPECT_NE(e.message().find(part), std::string::npos) << e.message();
  a = Tensor();
  Tensor c = empty({4 * mib}, {.dtype = kUInt8, .device = d});
  EXPECT_TRUE(c.defined());
  a = b = c = Tensor();
  Tensor larger = empty({9 * mib}, {.dtype = kUInt8, .device = d});  // needs the cache given back
  EXPECT_LE(device_memory(d).cached, mib);
  set_memory_limit(d, 0);
}

TEST_F(CudaMemory, TheDriverHasNoMemoryLeft) {
  if (!Simulator::library()) GTEST_SKIP() << "a real driver does not fail on request";
  empty_cache(d);
  Simulator::fail_next("cuMemAlloc", CUDA_ERROR_OUT_OF_MEMORY);
  Error e = error_of([&] { empty({777777}, {.dtype = kUInt8, .device = d}); });
  EXPECT_EQ(e.code(), ErrorCode::OutOfMemory) << e.what();
  EXPECT_NE(e.message().find("the driver has"), std::string::npos) << e.message();
  EXPECT_TRUE(empty({777777}, {.dtype = kUInt8, .device = d}).defined());
}

TEST_F(CudaMemory, RangesGrowWithoutMoving) {
  auto range = backend().reserve(std::int64_t{1} << 30);
  range->ensure(1000);
  char* base = range->base();
  std::int64_t first = range->backed();
  EXPECT_GE(first, 1000);
  std::vector<char> data(1000, 7), back(1000);
  backend().copy_from_host(base, data.data(), 1000, backend().current_stream());
  range->ensure(first + 1);
  EXPECT_EQ(range->base(), base);
  EXPECT_GT(range->backed(), first);
  backend().copy_to_host(back.data(), base, 1000, backend().current_stream());
  EXPECT_EQ(data, back);
  std::int64_t before = range->backed();
  if (Simulator::library()) {
    Simulator::fail_next("cuMemCreate", CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(error_of([&] { range->ensure(before + (4 << 20)); }).code(), ErrorCode::OutOfMemory);
    Simulator::fail_next("cuMemMap", CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(error_of([&] { range->ensure(before + (4 << 20)); }).code(), ErrorCode::DeviceFailed);
    EXPECT_EQ(range->backed(), before) << "what fails leaves the range as it was";
  }
  EXPECT_EQ(error_of([&] { range->ensure(std::int64_t{1} << 50); }).code(), ErrorCode::OutOfMemory);
  range->ensure(before + (4 << 20));
}

// A thousand sizes, one compilation; the pool is what the largest of them needs alone, and the recordings keep their
// budget.
TEST_F(CudaMemory, AThousandSizesShareOnePool) {
  auto body = [](Tensor x, Tensor w) {
    Tensor h = gelu(x * w);
    return softmax(h - h.sum({1}, true), -1) * w;
  };
  Tensor w = (ones({8}) * 0.01).to(d);
  const std::int64_t most = Simulator::library() ? 400 : 4096;
  release_pool();
  auto alone = compile(body, {.name = "alone", .mode = "no-fuse"});
  alone(zeros({most, 8}, {.device = d}), w);
  const std::int64_t largest = device_memory(d).pool;
  EXPECT_GT(largest, 0);
  alone.reset();
  release_pool();

  const std::int64_t others = device_memory(d).graphs;  // of operators that ran eagerly
  auto f = compile(body, {.name = "sizes", .recordings_max = 20, .mode = "no-fuse"});
  std::mt19937 rng(3);
  std::uniform_int_distribution<std::int64_t> size(1, most);
  Tensor x = zeros({most, 8}, {.device = d});
  for (int i = 0; i < 1000; ++i) f(x.slice(0, 0, i == 500 ? most : size(rng)), w);
  synchronize(d);
  Stats s = f.stats();
  EXPECT_EQ(device_memory(d).pool, largest) << "the largest need, not the sum";
  EXPECT_LE(s.compilations, 2);
  EXPECT_LE(s.recordings, 20 * s.specializations);
  EXPECT_LE(s.recordings_made, 4 * s.compilations) << "sizes of one class share one";
  EXPECT_GT(device_memory(d).graphs, others);
  EXPECT_LE(device_memory(d).graphs - others, s.recording_bytes)
      << "executable graphs count towards the recordings' bytes";
  if (Simulator::library()) {
    reprise_simulator_counters before = Simulator::counters();
    for (int i = 0; i < 50; ++i) f(x.slice(0, 0, size(rng)), w);
    EXPECT_LE(Simulator::counters().instantiations - before.instantiations, 10u)
        << "evicted graphs change their size instead";
  }
}

TEST_F(CudaMemory, NothingIsCopiedWhenArgumentsMove) {
  auto f = compile([](Tensor x, Tensor y) { return x * 2.0 + y; }, {.name = "moving"});
  std::vector<Tensor> xs, ys;
  for (int i = 0; i < 4; ++i) xs.push_back(full({1000}, i).to(d)), ys.push_back(full({1000}, 10 * i).to(d));
  f(xs[0], ys[0]);
  reprise_simulator_counters before{};
  if (Simulator::library()) before = Simulator::counters();
  std::vector<Tensor> results;
  for (int i = 0; i < 40; ++i) results.push_back(f(xs[i % 4], ys[i / 2 % 4]));
  if (Simulator::library()) {
    reprise_simulator_counters after = Simulator::counters();
    EXPECT_EQ(after.bytes_on_device, before.bytes_on_device);
    EXPECT_EQ(after.bytes_to_device, before.bytes_to_device);
    EXPECT_EQ(after.instantiations, before.instantiations) << "one recording serves them all";
  }
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(results[static_cast<std::size_t>(i)].select(0, 999).item().to_double(), 2.0 * (i % 4) + 10 * (i / 2 % 4))
        << i;
}

TEST_F(CudaMemory, ThreadsAndStreamsDoNotShareScratch) {
  auto f = compile([](Tensor x) { return softmax(x, -1).cumsum(0).sum({0}); }, {.name = "threads", .mode = "no-fuse"});
  std::vector<std::vector<float>> want(4), got(4);
  std::vector<Tensor> xs;
  for (int i = 0; i < 4; ++i) {
    xs.push_back((arange(32 * 16).to(kFloat32).reshape({32, 16}) * (0.01 * (i + 1))).to(d));
    want[static_cast<std::size_t>(i)] = f(xs.back()).to_vector<float>();
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      Stream s = Stream::create(d);
      StreamGuard guard(s);
      for (int n = 0; n < 5; ++n) got[i] = f(xs[i]).to_vector<float>();
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(got, want);
}

}  // namespace
}  // namespace reprise::test
