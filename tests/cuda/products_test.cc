// Matrix products by a library: in graphs with our own kernels, beside the CPU's results; and what happens when the
// library is not there, is broken, or refuses.
#include <cuda.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "tests/cuda/support.h"
#include "tests/cuda_sim/blaslt/control.h"

namespace reprise::test {
namespace {

class CudaProducts : public Cuda {
 protected:
  void SetUp() override {
    Cuda::SetUp();
    if (IsSkipped()) return;
    Scoped<std::string> all(knobs().cuda_products, "auto");
    std::string library = backend().product_library();
    if (library.find("cuBLASLt") != 0) GTEST_SKIP() << library;
  }
  /// The stand-in's controls; null for the real library.
  static void* stand_in() {
    static void* const l = dlopen(knobs().cublaslt.c_str(), RTLD_NOW);
    return l && dlsym(l, "reprise_blaslt_stand_in") ? l : nullptr;
  }
  static std::uint64_t calls(const char* entry) {
    return reinterpret_cast<decltype(&reprise_blaslt_calls)>(dlsym(stand_in(), "reprise_blaslt_calls"))(entry);
  }
  static void fail_next(const char* entry, int status) {
    reinterpret_cast<decltype(&reprise_blaslt_fail_next)>(dlsym(stand_in(), "reprise_blaslt_fail_next"))(entry, status);
  }
  static void split_from(std::int64_t k) {
    if (stand_in())
      reinterpret_cast<decltype(&reprise_blaslt_split_from)>(dlsym(stand_in(), "reprise_blaslt_split_from"))(k);
  }

  /// Numbers between -1 and 1 that halves hold exactly.
  static Tensor numbers(std::vector<Int> sizes, DType t, int seed) {
    Int n = 1;
    for (Int s : sizes) n = n * s;
    Tensor x = (arange(n).to(kFloat32) * (0.37 + 0.11 * seed)).sin();
    return ((x * 8.0).round() * 0.125).reshape(sizes).to(t);
  }
  static double distance(const Tensor& x, const Tensor& y) {
    return (x.to(kFloat64) - y.to(kFloat64)).abs().max().item().to_double();
  }

  /// f on the CPU and with the library; how many products the library got.
  template <class F>
  std::int64_t compare(F f, const std::vector<Tensor>& args, const std::string& what) {
    std::vector<Tensor> there;
    for (const Tensor& a : args) there.push_back(a.to(d));
    std::int64_t before = stats().library_products;
    Tensor got = compile(f, {.name = "product"})(there).to(Device::cpu()), want = f(args);
    EXPECT_EQ(got.sizes(), want.sizes()) << what;
    EXPECT_EQ(got.dtype(), want.dtype()) << what;
    if (want.numel() > 0) {
      double exact = want.dtype() == kFloat64   ? 1e-12
                     : want.dtype() == kFloat32 ? 1e-5
                     : want.dtype() == kFloat16 ? 2e-3
                                                : 2e-2;
      double scale = std::max(1.0, want.to(kFloat64).abs().max().item().to_double());
      EXPECT_LE(distance(got, want), exact * scale) << what;
    }
    return stats().library_products - before;
  }
};

using Args = std::vector<Tensor>;

TEST_F(CudaProducts, Float32MayBeOfFewerBits) {
  Scoped<std::string> on(knobs().cuda_tf32, "on");
  for (const char* who : {"library", "own"}) {
    Scoped<std::string> products(knobs().cuda_products, who);
    const Tensor x = arange(40 * 24).to(kFloat32).sin().reshape({40, 24}),
                 y = arange(24 * 30).to(kFloat32).cos().reshape({24, 30});
    const std::int64_t before = stats().library_products;
    const double off = distance(
        compile([](Tensor a, Tensor b) { return mm(a, b); }, {.name = "product"})(x.to(d), y.to(d)).cpu(), mm(x, y));
    EXPECT_LT(off, 24 * 2e-3);
    EXPECT_EQ(stats().library_products - before, *who == 'l' ? 1 : 0);
    if (*who == 'o') EXPECT_GT(off, 1e-5) << "all bits were multiplied";
  }
}

TEST_F(CudaProducts, EveryShapeAndDtypeIsThatOfTheCpu) {
  Scoped<std::string> all(knobs().cuda_products, "library");
  for (DType t : {kFloat32, kFloat16, kBFloat16, kFloat64}) {
    std::string name(dtype_name(t));
    auto x = [&](std::vector<Int> sizes, int seed) { return numbers(std::move(sizes), t, seed); };
    auto mm_of = [](const Args& a) { return mm(a[0], a[1]); };
    EXPECT_EQ(compare(mm_of, {x({12, 20}, 1), x({20, 10}, 2)}, name + " mm"), 1);
    EXPECT_EQ(compare(mm_of, {x({20, 12}, 1).t(), x({20, 10}, 2)}, name + " mm, a transposed"), 1);
    EXPECT_EQ(compare(mm_of, {x({12, 20}, 1), x({10, 20}, 2).t()}, name + " mm, b transposed"), 1);
    EXPECT_EQ(compare(mm_of, {x({20, 12}, 1).t(), x({10, 20}, 2).t()}, name + " mm, both transposed"), 1);
    EXPECT_EQ(compare(mm_of, {x({1, 20}, 1), x({20, 10}, 2)}, name + " one row"), 1);
    EXPECT_EQ(compare(mm_of, {x({12, 20}, 1), x({20, 1}, 2)}, name + " one column"), 1);
    EXPECT_EQ(compare(mm_of, {x({12, 1}, 1), x({1, 10}, 2)}, name + " depth one"), 1);
    EXPECT_EQ(compare(mm_of, {x({12, 300}, 1), x({300, 10}, 2)}, name + " a long sum"), 1);
    EXPECT_EQ(compare([](const Args& a) { return mm(a[0].slice(1, 1, 17), a[1].slice(0, 2, 18)); },
                      {x({12, 20}, 1), x({20, 10}, 2)}, name + " slices"),
              1);
    EXPECT_EQ(
        compare([](const Args& a) { return linear(a[0], a[1]); }, {x({2, 6, 20}, 1), x({10, 20}, 2)}, name + " linear"),
        1);
    EXPECT_EQ(compare([](const Args& a) { return linear(a[0], a[1], a[2]); },
                      {x({12, 20}, 1), x({10, 20}, 2), x({10}, 3)}, name + " linear with bias"),
              1);
    EXPECT_EQ(compare([](const Args& a) { return linear(a[0], a[1], a[2]); },
                      {x({1, 20}, 1), x({10, 20}, 2), x({10}, 3)}, name + " one row with bias"),
              1);
    EXPECT_EQ(compare([](const Args& a) { return linear(a[0], a[1], a[2]); },
                      {x({12, 20}, 1), x({1, 20}, 2), x({1}, 3)}, name + " one column with bias"),
              1);
    EXPECT_EQ(compare([](const Args& a) { return linear(a[0].slice(1, 1, 11), a[1], a[2]); },
                      {x({2, 12, 20}, 1), x({10, 20}, 2), x({10}, 3)}, name + " rows in two dims"),
              1);
    auto bmm_of = [](const Args& a) { return bmm(a[0], a[1]); };
    EXPECT_EQ(compare(bmm_of, {x({3, 12, 20}, 1), x({3, 20, 10}, 2)}, name + " bmm"), 1);
    EXPECT_EQ(compare(bmm_of, {x({3, 12, 300}, 1), x({3, 300, 10}, 2)}, name + " bmm with a long sum"), 1);
    EXPECT_EQ(compare(
                  [](const Args& a) {
                    return bmm(a[0].transpose(1, 2), a[1].expand({3, 20, 10}));
                  },
                  {x({3, 20, 12}, 1), x({1, 20, 10}, 2)}, name + " bmm, one b for all"),
              1);
    EXPECT_EQ(compare([](const Args& a) { return addmm(a[0], a[1], a[2]); },
                      {x({10}, 3), x({12, 20}, 1), x({20, 10}, 2)}, name + " addmm"),
              1);
    EXPECT_EQ(compare(
                  [](const Args& a) {
                    return einsum("bij,bjk->bik", {a[0], a[1]});
                  },
                  {x({3, 12, 20}, 1), x({3, 20, 10}, 2)}, name + " einsum"),
              1);
  }
}

TEST_F(CudaProducts, WhatTheLibraryDoesNotServe) {
  Scoped<std::string> all(knobs().cuda_products, "library");
  auto mm_of = [](const Args& a) { return mm(a[0], a[1]); };
  auto x = [&](std::vector<Int> sizes, int seed) { return numbers(std::move(sizes), kFloat32, seed); };
  EXPECT_EQ(compare(mm_of, {x({0, 20}, 1), x({20, 10}, 2)}, "no rows"), 0);
  EXPECT_EQ(compare(mm_of, {x({12, 0}, 1), x({0, 10}, 2)}, "no depth"), 0);
  EXPECT_EQ(compare([](const Args& a) { return mm(a[0].slice(1, 0, 40, 2), a[1]); }, {x({12, 40}, 1), x({20, 10}, 2)},
                    "strides in both dims"),
            0);
  EXPECT_EQ(compare(
                [](const Args& a) {
                  return mm(a[0].expand({12, 20}), a[1]);
                },
                {x({1, 20}, 1), x({20, 10}, 2)}, "one row for all"),
            0);
  EXPECT_EQ(compare([](const Args& a) { return mm(a[0].to(kInt32), a[1].to(kInt32)); },
                    {x({12, 20}, 1), x({20, 10}, 2)}, "integers"),
            0);
}

TEST_F(CudaProducts, FewRowsAreServedByOwnKernels) {
  auto f = [](const Args& a) { return linear(a[0], a[1]); };
  auto of = [&](Int rows, Int columns) {
    return compare(f, {numbers({rows, 32}, kFloat32, 1), numbers({columns, 32}, kFloat32, 2)}, "auto");
  };
  Scoped<std::string> how(knobs().cuda_products, "auto");
  EXPECT_EQ(of(8, 16), 0);
  EXPECT_EQ(of(16, 8), 0);
  EXPECT_EQ(of(9, 9), 1);
  knobs().cuda_products = "own";
  EXPECT_EQ(of(9, 9), 0);
  knobs().cuda_products = "theirs";
  Error e = error_of([&] { of(9, 9); });
  EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
  EXPECT_NE(e.message().find("\"theirs\" is none of own, library, auto"), std::string::npos) << e.message();
}

// Rows that may be few or many have several kernels; a recording has the one that works.
TEST_F(CudaProducts, KernelsWithoutWorkAreNotRecorded) {
  if (!Simulator::library()) GTEST_SKIP() << "a real driver does not tell its nodes' bytes";
  Scoped<std::string> own(knobs().cuda_products, "own");
  auto f = compile([](Tensor x, Tensor w) { return linear(x, w); }, {.name = "rows"});
  Tensor w = numbers({16, 16}, kFloat32, 1).to(d);
  auto bytes = [&](Int rows) {
    const std::int64_t before = device_memory(d).graphs;
    Tensor x = ones({rows, 16}, {.device = d});
    const std::int64_t filled = device_memory(d).graphs - before;  // of the operator that made x
    f(x, w);
    return device_memory(d).graphs - before - filled;
  };
  const std::int64_t first = bytes(20);
  for (Int rows : {30, 2, 1}) EXPECT_EQ(bytes(rows), first) << rows << " rows";
  EXPECT_LE(f.stats().compilations, 3);
}

// Temporaries and weights stay where they are. An argument that moves changes the child graph of its own product, which
// is captured once for each address, and nothing is instantiated.
TEST_F(CudaProducts, WhatMovesChangesItsOwnProductAlone) {
  Scoped<std::string> all(knobs().cuda_products, "library");
  auto body = [](Tensor x, Tensor w, Tensor v) { return linear(gelu(linear(x, w)), v).sum({1}); };
  auto f = compile(body, {.name = "moving"});
  Tensor w = numbers({24, 16}, kFloat32, 1).to(d), v = numbers({12, 24}, kFloat32, 2).to(d);
  std::vector<Tensor> xs, want;
  for (int i = 0; i < 3; ++i) {
    Tensor x = numbers({10, 16}, kFloat32, 3 + i);
    xs.push_back(x.to(d));
    want.push_back(body(x, w.cpu(), v.cpu()));
  }
  f(xs[0], w, v);
  f(xs[0], w, v);
  const std::int64_t captures = stats().product_captures, updates = stats().product_updates;
  reprise_simulator_counters before = Simulator::library() ? Simulator::counters() : reprise_simulator_counters{};
  for (int i = 0; i < 5; ++i) EXPECT_LE(distance(f(xs[0], w, v).cpu(), want[0]), 1e-4);
  EXPECT_EQ(stats().product_updates, updates) << "nothing moved";
  for (int i = 1; i < 7; ++i)
    EXPECT_LE(distance(f(xs[static_cast<std::size_t>(i % 3)], w, v).cpu(), want[static_cast<std::size_t>(i % 3)]), 1e-4)
        << i;
  EXPECT_EQ(stats().product_updates, updates + 6) << "of two products only that of the argument";
  EXPECT_EQ(stats().product_captures, captures + 2) << "of two new addresses";
  if (Simulator::library()) {
    EXPECT_EQ(Simulator::counters().instantiations, before.instantiations);
    EXPECT_EQ(Simulator::counters().bytes_on_device, before.bytes_on_device) << "nothing is copied to a fixed place";
  }
}

// Addresses of another alignment want another algorithm, and sizes want another number of steps: the graph is made
// anew.
TEST_F(CudaProducts, WorkThatChangesItsShapeMakesTheGraphAnew) {
  Scoped<std::string> all(knobs().cuda_products, "library");
  Tensor flat = numbers({12 * 20 + 1}, kFloat16, 1), w = numbers({10, 20}, kFloat16, 2);
  Tensor there = flat.to(d), w_there = w.to(d);
  auto f = compile([](Tensor x, Tensor w) { return linear(x, w); }, {.name = "aligned"});
  for (Int first : {0, 1, 0}) {
    Tensor want = linear(flat.slice(0, first, first + 240).reshape({12, 20}), w);
    EXPECT_LE(distance(f(there.slice(0, first, first + 240).view({12, 20}), w_there).cpu(), want), 2e-2) << first;
  }
  auto g = compile([](Tensor x, Tensor y) { return mm(x, y).exp().sum({0}); }, {.name = "steps", .recordings_max = 2});
  for (std::int64_t k : {100, 300, 101, 302, 103, 304, 305, 306}) {
    Tensor x = numbers({10, k}, kFloat32, 1) * 0.01, y = numbers({k, 9}, kFloat32, 2);
    EXPECT_LE(distance(g(x.to(d), y.to(d)).cpu(), mm(x, y).exp().sum({0})), 1e-3) << k;
  }
}

// A recording for other sizes of something else has the same products at the same places.
TEST_F(CudaProducts, RecordingsShareWhatWasCaptured) {
  Scoped<std::string> all(knobs().cuda_products, "library");
  auto f = compile([](Tensor x, Tensor w, Tensor c) { return linear(x, w).sum() + c; }, {.name = "shared"});
  Tensor x = numbers({10, 16}, kFloat32, 1).to(d), w = numbers({24, 16}, kFloat32, 2).to(d);
  f(x, w, ones({2}, {.device = d}));
  const std::int64_t captures = stats().product_captures, products = stats().library_products;
  for (Int n : {1 << 17, 1 << 18, 1 << 19}) f(x, w, ones({n}, {.device = d}));  // of three classes
  EXPECT_EQ(stats().library_products, products + 3);
  EXPECT_EQ(stats().product_captures, captures);
}

TEST_F(CudaProducts, ConcurrentReplaysHaveWorkspacesOfTheirOwn) {
  Scoped<std::string> all(knobs().cuda_products, "library");
  // Two products that could run side by side but share the workspace, then one of both.
  auto body = [](Tensor x, Tensor w, Tensor v) { return mm(linear(x, w), linear(x, v).t()); };
  auto f = compile(body, {.name = "streams"});
  Tensor w = numbers({12, 300}, kFloat32, 1), v = numbers({12, 300}, kFloat32, 2);
  Tensor w_there = w.to(d), v_there = v.to(d);
  std::vector<Tensor> xs, want, got(4);
  for (int i = 0; i < 4; ++i) {
    xs.push_back(numbers({10, 300}, kFloat32, 3 + i));
    want.push_back(body(xs.back(), w, v));
  }
  synchronize(d);  // the weights are there before other streams read them
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      Stream s = Stream::create(d);
      StreamGuard guard(s);
      Tensor x = xs[i].to(d);
      for (int n = 0; n < 4; ++n) got[i] = f(x, w_there, v_there).cpu();
    });
  for (std::thread& t : threads) t.join();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_LE(distance(got[i], want[i]), 1e-4 * 300) << i;
}

// Products that nothing orders but the workspace that both use, in orders that a device may take.
TEST_F(CudaProducts, OneProductHasTheWorkspaceAtATime) {
  if (!stand_in()) GTEST_SKIP() << "the order of a device is not ours to choose";
  Scoped<std::string> all(knobs().cuda_products, "library");
  auto body = [](Tensor x, Tensor w, Tensor v) { return mm(linear(x, w), linear(x, v).t()); };
  Tensor x = numbers({10, 300}, kFloat32, 1), w = numbers({12, 300}, kFloat32, 2), v = numbers({12, 300}, kFloat32, 3);
  Tensor want = body(x, w, v), x_there = x.to(d), w_there = w.to(d), v_there = v.to(d);
  auto f = compile(body, {.name = "workspace"});
  auto set_order = Simulator::find<decltype(reprise_simulator_set_order)>("reprise_simulator_set_order");
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    set_order("random", seed);
    EXPECT_LE(distance(f(x_there, w_there, v_there).cpu(), want), 1e-4 * 300) << seed;
  }
  set_order("forward", 1);
}

// The driver refuses to wait for the whole device while a stream captures.
TEST_F(CudaProducts, WaitingForTheDeviceWhileAnotherThreadCaptures) {
  Scoped<std::string> all(knobs().cuda_products, "library");
  auto f = compile([](Tensor x, Tensor w) { return linear(x, w); }, {.name = "captures"});
  Tensor w = numbers({11, 16}, kFloat32, 1).to(d), x = ones({400, 16}, {.device = d});
  std::atomic<bool> over{false};
  std::string failure;
  std::thread waits([&] {
    try {
      while (!over) synchronize(d);
    } catch (const Error& e) {
      failure = e.what();
    }
  });
  for (Int rows = 1; rows < 300; ++rows) f(x.slice(0, 0, rows), w);
  over = true;
  waits.join();
  EXPECT_EQ(failure, "");
}

TEST_F(CudaProducts, TheWorkspaceIsOfThePoolAndGraphsAreCounted) {
  if (!stand_in()) GTEST_SKIP() << "the real library chooses its workspaces itself";
  Scoped<std::string> all(knobs().cuda_products, "library");
  release_pool();
  const std::int64_t graphs = device_memory(d).graphs;
  Tensor x = numbers({10, 300}, kFloat32, 1).to(d), w = numbers({12, 300}, kFloat32, 2).to(d);
  auto f = compile([](Tensor x, Tensor w) { return linear(x, w); }, {.name = "accounts"});
  f(x, w);
  EXPECT_GE(device_memory(d).pool, 2 * 10 * 12 * 4) << "there are no temporaries but the workspace";
  EXPECT_GT(device_memory(d).graphs, graphs);
  f.reset();
  EXPECT_EQ(device_memory(d).graphs, graphs);
  release_pool();
  EXPECT_EQ(device_memory(d).pool, 0);
}

TEST_F(CudaProducts, StatusesThatTheLibraryReports) {
  if (!stand_in()) GTEST_SKIP() << "the real library does not fail on request";
  Scoped<std::string> all(knobs().cuda_products, "library");
  Tensor x = numbers({17, 20}, kFloat16, 1), w = numbers({11, 20}, kFloat16, 2), want = linear(x, w);
  Tensor x_there = x.to(d), w_there = w.to(d);
  auto run = [&] {
    return compile([](Tensor x, Tensor w) { return linear(x, w); }, {.name = "status"})(x_there, w_there);
  };
  std::int64_t before = stats().library_products;
  fail_next("cublasLtMatmulAlgoGetHeuristic", 14);
  Error e = error_of(run);
  EXPECT_EQ(e.code(), ErrorCode::DeviceFailed);
  EXPECT_NE(e.message().find("linear [17, 20] x [20, 11] float16: cuBLASLt CUBLAS_STATUS_INTERNAL_ERROR"),
            std::string::npos)
      << e.message();
  fail_next("cublasLtMatrixLayoutCreate", 3);
  e = error_of(run);
  EXPECT_EQ(e.code(), ErrorCode::OutOfMemory);
  EXPECT_NE(e.message().find("CUBLAS_STATUS_ALLOC_FAILED"), std::string::npos) << e.message();
  EXPECT_EQ(stats().library_products, before);
  // It cannot do this one: own kernels do, and it is not asked again.
  fail_next("cublasLtMatmulAlgoGetHeuristic", 15);
  EXPECT_LE(distance(run().cpu(), want), 1e-2);
  std::uint64_t asked = calls("cublasLtMatmulAlgoGetHeuristic");
  EXPECT_LE(distance(run().cpu(), want), 1e-2);
  EXPECT_EQ(calls("cublasLtMatmulAlgoGetHeuristic"), asked);
  EXPECT_EQ(stats().library_products, before);
}

// Where nobody asked for the library, what it says beside "no memory" and "not started" leaves the product to own
// kernels.
TEST_F(CudaProducts, StatusesThatLeaveAProductToOwnKernels) {
  if (!stand_in()) GTEST_SKIP() << "the real library does not fail on request";
  Scoped<std::string> automatic(knobs().cuda_products, "auto");
  int columns = 30;  // of a problem that it was not asked for before
  for (const char* entry : {"cublasLtMatmulAlgoGetHeuristic", "cublasLtMatrixLayoutCreate", "cublasLtMatmul"}) {
    for (int status : {7, 13, 14}) {
      Tensor x = numbers({17, 20}, kFloat32, 1), w = numbers({++columns, 20}, kFloat32, 2), want = linear(x, w);
      auto f = compile([](Tensor x, Tensor w) { return linear(x, w); }, {.name = "status"});
      fail_next(entry, status);
      EXPECT_LE(distance(f(x.to(d), w.to(d)).cpu(), want), 1e-3) << entry << " " << status;
    }
  }
  Tensor x = numbers({17, 20}, kFloat32, 1), w = numbers({++columns, 20}, kFloat32, 2);
  fail_next("cublasLtMatrixLayoutCreate", 3);
  EXPECT_EQ(error_of([&] {
              compile([](Tensor x, Tensor w) { return linear(x, w); }, {.name = "status"})(x.to(d), w.to(d));
            }).code(),
            ErrorCode::OutOfMemory);
}

TEST_F(CudaProducts, FailuresOnTheWayLeaveArgumentsAndTheDeviceAlone) {
  if (!stand_in()) GTEST_SKIP() << "nothing fails on request";
  Scoped<std::string> all(knobs().cuda_products, "library");
  auto f = compile(
      [](Tensor x, Tensor w) {
        x.add_(linear(x, w));
        return x * 2.0;
      },
      {.name = "failing"});
  Tensor x = ones({10, 10}, {.device = d}), other = ones({10, 10}, {.device = d}), w = zeros({10, 10}, {.device = d});
  fail_next("cublasLtMatmul", 13);
  Error e = error_of([&] { f(x, w); });
  EXPECT_NE(e.message().find("linear [10, 10] x [10, 10] float32: cuBLASLt CUBLAS_STATUS_EXECUTION_FAILED"),
            std::string::npos)
      << e.message();
  const bool flat = knobs().cuda_captures == "flat";
  for (const char* entry : {"cuStreamBeginCapture", "cuGraphAddChildGraphNode", "cuGraphInstantiateWithFlags"}) {
    if (flat && !std::strcmp(entry, "cuGraphAddChildGraphNode")) continue;
    Simulator::fail_next(entry, CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(error_of([&] { f(x, w); }).code(), ErrorCode::DeviceFailed) << entry;
    EXPECT_EQ(x.select(0, 3).to_vector<float>(), std::vector<float>(10, 1)) << entry;
  }
  EXPECT_EQ(f(x, w).select(0, 3).to_vector<float>(), std::vector<float>(10, 2));
  // An update that fails is made up for by the next run.
  fail_next("cublasLtMatmul", 13);
  EXPECT_EQ(error_of([&] { f(other, w); }).code(), ErrorCode::DeviceFailed);
  Simulator::fail_next(flat ? "cuGraphExecKernelNodeSetParams" : "cuGraphExecChildGraphNodeSetParams",
                       CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(f(other, w).select(0, 3).to_vector<float>(), std::vector<float>(10, 2)) << "made anew";
  EXPECT_EQ(f(x, w).select(0, 3).to_vector<float>(), std::vector<float>(10, 2));
}

// Asked, the library takes a product, and told to do it, it does not: own kernels do, and nothing has run twice.
TEST_F(CudaProducts, AProductThatIsRefusedLate) {
  if (!stand_in()) GTEST_SKIP() << "nothing fails on request";
  Scoped<std::string> all(knobs().cuda_products, "library");
  // lgamma is a step of the host: the recording has two graphs, with a product in each.
  auto body = [](Tensor x, Tensor w) {
    x.mul_(2.0);
    return linear(lgamma(linear(x, w).abs() + 1.0), w);
  };
  auto f = compile(body, {.name = "late"});
  Tensor x = numbers({13, 13}, kFloat32, 1), w = numbers({13, 13}, kFloat32, 2), x_there = x.to(d), w_there = w.to(d);
  const std::uint64_t told = calls("cublasLtMatmul");
  for (int run = 0; run < 2; ++run) {
    if (run == 0) fail_next("cublasLtMatmul", 15);
    Tensor want = body(x, w);
    EXPECT_LE(distance(f(x_there, w_there).cpu(), want), 1e-3);
    EXPECT_EQ(distance(x_there.cpu(), x), 0) << "written once";
  }
  EXPECT_EQ(calls("cublasLtMatmul"), told + 1) << "both products are the same problem";
}

// ---- libraries that are of no use: another process each, since a library is opened once.

std::string output_with(const std::string& environment) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  return output_of("REPRISE_TEST_PRODUCTS=1 " + environment + " '" + self + "' --gtest_filter=ProductsProbe.* 2>&1");
}

TEST(ProductsProbe, SaysWhoServes) {
  if (!std::getenv("REPRISE_TEST_PRODUCTS")) GTEST_SKIP() << "for the tests below";
  take_simulator();
  Device d = Device::cuda(0);
  std::printf("products by %s\n", device::backend(d).product_library().c_str());
  std::printf("a product is %g\n",
              mm(ones({10, 10}, {.device = d}), ones({10, 10}, {.device = d})).sum().item().to_double());
  std::printf("of the library: %d\n", static_cast<int>(stats().library_products));
}

TEST_F(Cuda, LibrariesThatAreOfNoUse) {
  if (!Simulator::library()) GTEST_SKIP() << "would open the machine's own library";
  auto expect = [](const std::string& environment, const std::string& who, int by_library) {
    std::string out = output_with(environment);
    EXPECT_NE(out.find("products by " + who), std::string::npos) << out;
    EXPECT_NE(out.find("a product is 1000\nof the library: " + std::to_string(by_library)), std::string::npos) << out;
  };
  expect("REPRISE_CUBLASLT=off", "own kernels (REPRISE_CUBLASLT is off)", 0);
  expect("REPRISE_CUBLASLT=/nonexistent/libcublasLt.so", "own kernels (/nonexistent/libcublasLt.so: cannot open", 0);
  expect("REPRISE_CUBLASLT=libm.so.6", "own kernels (libm.so.6 has no cublasLtCreate)", 0);
  expect("REPRISE_CUDA_PRODUCTS=own", "own kernels (REPRISE_CUDA_PRODUCTS=own)", 0);
#ifdef REPRISE_BLASLT_SIM
  const std::string there = std::string("REPRISE_CUBLASLT='") + REPRISE_BLASLT_SIM + "' ";
  expect(there, "cuBLASLt 13.1.0", 1);
  expect(there + "REPRISE_BLASLT_FAIL=cublasLtCreate=1",
         std::string("own kernels (") + REPRISE_BLASLT_SIM + " does not start: CUBLAS_STATUS_NOT_INITIALIZED)", 0);
#endif
}

}  // namespace
}  // namespace reprise::test
