// Other libraries' work as nodes of a graph like others (REPRISE_CUDA_CAPTURES=flat; device/cuda/captured_graph.h).
#include <cuda.h>
#include <list>

#include "reprise/library.h"
#include "tests/cuda/blend_fixture.h"
#include "tests/runtime/log_lines.h"

namespace reprise::test {
namespace {

/// With a library of products in cuBLASLt's place.
class CudaFlat : public CudaBlend {
 protected:
  static std::uint64_t graphs_within() { return Simulator::calls("cuGraphAddChildGraphNode"); }
  Tensor numbers(Ints sizes, int seed) {
    return (arange(numel(sizes)).to(kFloat32) * (0.25 * seed)).sin().reshape(sizes).to(d);
  }
  static Tensor want(const Tensor& x, const Tensor& y, double t) { return x * (1 - t) + y * t; }

  const Scoped<std::string> flat_{knobs().cuda_captures, "flat"};
  const Scoped<std::string> library_{knobs().cuda_products, "library"};
};

/// Why, of what stayed a graph.
std::vector<std::string> kept_whole(const testing::LogLines& log) {
  std::vector<std::string> all;
  for (const std::string& line : log.lines())
    if (line.find("captured_whole") != std::string::npos) all.push_back(line);
  return all;
}

// The stand-in's second step comes after its first by an edge of its own kind, and each runs in clusters alone: the
// simulator says when either is lost.
TEST_F(CudaFlat, AProductsNodesStandInTheGraph) {
  auto body = [](Tensor x, Tensor w, Tensor v) { return linear(gelu(linear(x, w)), v) + x.sum(); };
  auto f = compile(body, {.name = "products"});
  const Tensor w = numbers({320, 300}, 1) * 0.1, v = numbers({20, 320}, 2) * 0.1;
  const std::uint64_t within = graphs_within();
  std::vector<Tensor> all;  // at addresses of their own
  auto expect = [&](Int rows, int seed, const char* what) {
    const Tensor x = all.emplace_back(numbers({rows, 300}, seed));
    EXPECT_TRUE(allclose(f(x, w, v).cpu(), body(x.cpu(), w.cpu(), v.cpu()), 1e-4, 1e-4)) << what;
  };
  const testing::LogLines log;
  expect(12, 1, "first");
  const auto made = Simulator::counters().instantiations;
  const std::int64_t updates = stats().product_updates;
  expect(12, 3, "another argument");
  EXPECT_GT(stats().product_updates, updates);
  EXPECT_EQ(Simulator::counters().instantiations, made) << "its nodes were changed";
  for (Int rows : {13, 40, 12, 200}) expect(rows, 4, "other sizes");
  EXPECT_EQ(graphs_within(), within);
  EXPECT_EQ(kept_whole(log).size(), 0u);
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST_F(CudaFlat, WhatTheDriverRefusesStaysAGraph) {
  std::list<Tensor> kept;  // at addresses of their own: what was captured serves again
  for (const char* entry : {"cuGraphGetNodes", "cuGraphGetEdges", "cuGraphNodeGetType", "cuGraphKernelNodeGetParams",
                            "cuGraphKernelNodeGetAttribute", "cuGraphKernelNodeCopyAttributes"}) {
    const Tensor &x = kept.emplace_back(numbers({6, 5}, 1)), y = numbers({6, 5}, 2);
    const testing::LogLines log;
    const std::uint64_t within = graphs_within();
    Simulator::fail_next(entry, CUDA_ERROR_INVALID_HANDLE);
    const Tensor got = compile([](Tensor a, Tensor b) { return Blend::of(a * 2, b, 0.25); }, {.name = "refused"})(x, y);
    EXPECT_TRUE(allclose(got, want(x * 2, y, 0.25), 1e-6, 1e-6)) << entry;
    EXPECT_EQ(graphs_within(), within + 1) << entry;
    const std::vector<std::string> told = kept_whole(log);
    ASSERT_EQ(told.size(), 1u) << entry;
    EXPECT_NE(told[0].find("CUDA_ERROR_INVALID_HANDLE"), std::string::npos) << told[0];
  }
}

/// Queues nothing but what the driver does by itself: out = value, by a memset, twice where self is not aligned; and
/// then out = self, by a copy, where `copied`.
const Operator& filled() {
  static const Operator op =
      Library("testflat")
          .define({.schema = "filled(Tensor self, int value, bool copied) -> Tensor", .cuda = [](const KernelCall& k) {
                     const TensorView& out = k.result();
                     auto* set = Simulator::find<decltype(cuMemsetD32Async)>("cuMemsetD32Async");
                     auto* copy = Simulator::find<decltype(cuMemcpyDtoDAsync)>("cuMemcpyDtoDAsync_v2");
                     const auto stream = static_cast<CUstream>(k.stream);
                     const auto n = static_cast<std::size_t>(out.numel());
                     const auto to = reinterpret_cast<CUdeviceptr>(out.data);
                     const float value = static_cast<float>(k.integer(1));
                     unsigned bits = 0;
                     std::memcpy(&bits, &value, 4);
                     CUresult r = set(to, bits, n, stream);
                     if (r == CUDA_SUCCESS && reinterpret_cast<CUdeviceptr>(k.tensor(0).data) % 256)
                       r = set(to, bits, n, stream);
                     if (r == CUDA_SUCCESS && k.flag(2))
                       r = copy(to, reinterpret_cast<CUdeviceptr>(k.tensor(0).data), 4 * n, stream);
                     if (r != CUDA_SUCCESS) k.fail(ErrorCode::DeviceFailed, "cannot be queued");
                   }});
  return op;
}

TEST_F(CudaFlat, MemsetsAreNodesAndCopiesStayInGraphs) {
  for (bool copied : {false, true}) {
    auto f = compile([copied](Tensor x) { return filled()(x * 2, 7, copied)[0] + 1; }, {.name = "filled"});
    const testing::LogLines log;
    const std::uint64_t within = graphs_within();
    for (int i = 0; i < 3; ++i) {
      const Tensor x = numbers({5, 4}, i + 1);
      EXPECT_TRUE(allclose(f(x), copied ? x * 2 + 1 : full({5, 4}, 8.0, {.device = d})));
    }
    EXPECT_EQ(graphs_within() - within, copied ? 1u : 0u);
    const std::vector<std::string> told = kept_whole(log);
    EXPECT_EQ(told.size(), copied ? 1u : 0u);
    for (const std::string& line : told) EXPECT_NE(line.find("it has a copy"), std::string::npos) << line;
  }
}

TEST_F(CudaFlat, AnotherShapeOfTheWorkMakesTheGraphAnew) {
  auto f = compile([](Tensor x) { return filled()(x, 3, false)[0] * 2 + x; }, {.name = "reshaped"});
  const Tensor all = numbers({21}, 1);
  f(all.slice(0, 0, 20));
  const testing::LogLines log;
  for (Int first : {0, 1, 1, 0}) {
    const Tensor x = all.slice(0, first, first + 20);
    EXPECT_TRUE(allclose(f(x), x + 6)) << first;
  }
  int rebuilt = 0;
  for (const std::string& line : log.lines())
    rebuilt += line.find("graph_rebuilt") != std::string::npos && line.find("filled") != std::string::npos;
  EXPECT_EQ(rebuilt, 2);
}

TEST_F(CudaFlat, AddressesThatTakeTurns) {
  auto f = compile([](Tensor x, Tensor y) { return Blend::of(x, y, 0.25) + Blend::of(y, x) * 3; }, {.name = "turns"});
  const Tensor x = numbers({6, 5}, 1), y = numbers({6, 5}, 2), z = numbers({6, 5}, 3);
  f(x, y);
  const auto made = Simulator::counters().instantiations;
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(allclose(f(x, z), want(x, z, 0.25) + want(z, x, 0.5) * 3, 1e-6, 1e-6));
    EXPECT_TRUE(allclose(f(z, y), want(z, y, 0.25) + want(y, z, 0.5) * 3, 1e-6, 1e-6));
  }
  const int queued = Blend::queued;
  EXPECT_TRUE(allclose(f(x, z), want(x, z, 0.25) + want(z, x, 0.5) * 3, 1e-6, 1e-6));
  EXPECT_EQ(Blend::queued, queued) << "captured once";
  EXPECT_LE(Simulator::counters().instantiations, made + 8) << "but for eager operators";
}

}  // namespace
}  // namespace reprise::test
