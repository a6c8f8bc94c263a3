#include <fstream>
#include <iterator>

#include "tests/cuda_sim_test/kernels.h"
#include "tests/cuda_sim_test/support.h"

/// Graphs, as the driver has them.
namespace sim_test {
namespace {

class Graphs : public Sim {
 protected:
  void SetUp() override {
    Sim::SetUp();
    // p[t] = p[t] * 2 + n: the order of two of them is seen in the result
    step_ = load("k", {8, 8, 8}, kernel(R"(
  %pp = getelementptr i32, ptr addrspace(1) %p, i32 %t
  %v = load i32, ptr addrspace(1) %pp, align 4
  %d = shl i32 %v, 1
  %m = trunc i64 %n to i32
  %w = add i32 %d, %m
  store i32 %w, ptr addrspace(1) %pp, align 4
)"));
    p_ = device(std::vector<int>(4));
    ASSERT_EQ(CALL(cuGraphCreate)(&graph_, 0), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (exec_) {
      EXPECT_EQ(CALL(cuGraphExecDestroy)(exec_), CUDA_SUCCESS);
    }
    if (graph_) {
      EXPECT_EQ(CALL(cuGraphDestroy)(graph_), CUDA_SUCCESS);
    }
    Sim::TearDown();
  }
  struct Params {
    CUdeviceptr p = 0, q = 0;
    std::uint64_t n = 0;
    void* list[3] = {&p, &q, &n};
    CUDA_KERNEL_NODE_PARAMS node{};
  };
  void fill(Params& a, std::uint64_t n, unsigned threads = 4) {
    a.p = p_;
    a.n = n;
    a.node.func = step_;
    a.node.gridDimX = a.node.gridDimY = a.node.gridDimZ = 1;
    a.node.blockDimX = threads, a.node.blockDimY = a.node.blockDimZ = 1;
    a.node.kernelParams = a.list;
  }
  CUgraphNode add(std::uint64_t n, std::vector<CUgraphNode> after, CUgraph g = nullptr) {
    Params a;
    fill(a, n);
    CUgraphNode node = nullptr;
    EXPECT_EQ(CALL(cuGraphAddKernelNode)(&node, g ? g : graph_, after.data(), after.size(), &a.node), CUDA_SUCCESS);
    a.n = 1000000;  // the node has its own copy by now
    return node;
  }
  CUresult set(CUgraphNode node, std::uint64_t n) {
    Params a;
    fill(a, n);
    return CALL(cuGraphExecKernelNodeSetParams)(exec_, node, &a.node);
  }
  int launched(int start = 1) {
    EXPECT_EQ(CALL(cuMemsetD32)(p_, static_cast<unsigned>(start), 4), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuGraphLaunch)(exec_, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
    return host<int>(p_, 4)[3];
  }
  CUfunction step_ = nullptr;
  CUdeviceptr p_ = 0;
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
};

TEST_F(Graphs, RunsInTheOrderOfDependencies) {
  CUgraphNode a = add(1, {}), b = add(10, {a});
  add(100, {b});
  OK(CALL(cuGraphInstantiate)(&exec_, graph_, 0));
  for (EACH_ORDER) {
    USE_ORDER;
    EXPECT_EQ(launched(), ((1 * 2 + 1) * 2 + 10) * 2 + 100);
  }
  reprise_simulator_counters c;
  CALL(reprise_simulator_get_counters)(&c);
  EXPECT_EQ(c.graph_launches, 3u);
  EXPECT_EQ(c.launches, 9u);
  EXPECT_EQ(c.instantiations, 1u);
}

TEST_F(Graphs, AMissingDependencyIsSeenInSomeOrder) {
  add(1, {});
  add(10, {});
  OK(CALL(cuGraphInstantiate)(&exec_, graph_, 0));
  std::vector<int> got;
  for (EACH_ORDER) {
    USE_ORDER;
    got.push_back(launched());
  }
  EXPECT_EQ(got[0], 16);
  EXPECT_EQ(got[1], 25);
}

TEST_F(Graphs, ParametersOfExecutableGraphs) {
  CUgraphNode a = add(1, {});
  OK(CALL(cuGraphInstantiate)(&exec_, graph_, 0));
  OK(set(a, 5));
  EXPECT_EQ(launched(), 7);
  // The graph's own parameters do not reach the executable graph.
  Params other;
  fill(other, 50);
  OK(CALL(cuGraphKernelNodeSetParams)(a, &other.node));
  EXPECT_EQ(launched(), 7);
  CUDA_KERNEL_NODE_PARAMS seen{};
  OK(CALL(cuGraphKernelNodeGetParams)(a, &seen));
  EXPECT_EQ(*static_cast<std::uint64_t*>(seen.kernelParams[2]), 50u);
  EXPECT_EQ(seen.func, step_);
  OK(CALL(cuGraphNodeSetEnabled)(exec_, a, 0));
  EXPECT_EQ(launched(), 1);
  OK(CALL(cuGraphNodeSetEnabled)(exec_, a, 1));
  EXPECT_EQ(launched(), 7);
  reprise_simulator_counters c;
  CALL(reprise_simulator_get_counters)(&c);
  EXPECT_EQ(c.node_updates, 3u);
}

TEST_F(Graphs, NodesOfOtherGraphsAndOtherTypes) {
  CUgraphNode a = add(1, {}), empty = nullptr;
  OK(CALL(cuGraphAddEmptyNode)(&empty, graph_, &a, 1));
  OK(CALL(cuGraphInstantiate)(&exec_, graph_, 0));
  CUgraph other = nullptr;
  OK(CALL(cuGraphCreate)(&other, 0));
  CUgraphNode foreign = add(1, {}, other);
  EXPECT_EQ(set(foreign, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(set(empty, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(CALL(cuGraphNodeSetEnabled)(exec_, empty, 0), CUDA_ERROR_INVALID_VALUE);
  CUgraphNode x = nullptr;
  EXPECT_EQ(CALL(cuGraphAddEmptyNode)(&x, graph_, &foreign, 1), CUDA_ERROR_INVALID_VALUE);
  OK(CALL(cuGraphDestroy)(other));
  EXPECT_EQ(CALL(cuGraphAddEmptyNode)(&x, graph_, &foreign, 1), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Graphs, UpdatesFromAnotherGraph) {
  CUgraphNode a = add(1, {});
  add(10, {a});
  OK(CALL(cuGraphInstantiate)(&exec_, graph_, 0));
  CUgraph same = nullptr, wider = nullptr, other_type = nullptr;
  for (CUgraph* g : {&same, &wider, &other_type}) OK(CALL(cuGraphCreate)(g, 0));
  CUgraphNode s = add(3, {}, same), w = add(3, {}, wider), t = add(3, {}, other_type), empty = nullptr;
  add(30, {s}, same);
  add(30, {}, wider);
  OK(CALL(cuGraphAddEmptyNode)(&empty, other_type, &t, 1));
  (void)w;
  CUgraphExecUpdateResultInfo info{};
  OK(CALL(cuGraphExecUpdate)(exec_, same, &info));
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  EXPECT_EQ(launched(), (2 + 3) * 2 + 30);
  EXPECT_EQ(CALL(cuGraphExecUpdate)(exec_, wider, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(CALL(cuGraphExecUpdate)(exec_, other_type, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  EXPECT_EQ(info.errorNode, empty);
  EXPECT_EQ(launched(), (2 + 3) * 2 + 30);  // as it was
  for (CUgraph g : {same, wider, other_type}) OK(CALL(cuGraphDestroy)(g));
}

TEST_F(Graphs, DestroyedHandles) {
  CUgraphNode a = add(1, {});
  OK(CALL(cuGraphInstantiate)(&exec_, graph_, 0));
  CUgraphExec gone = exec_;
  OK(CALL(cuGraphDestroy)(graph_));  // the executable graph lives on
  EXPECT_EQ(launched(), 3);
  EXPECT_EQ(set(a, 2), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CALL(cuGraphDestroy)(graph_), CUDA_ERROR_INVALID_HANDLE);
  graph_ = nullptr;
  OK(CALL(cuGraphExecDestroy)(exec_));
  exec_ = nullptr;
  EXPECT_EQ(CALL(cuGraphLaunch)(gone, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(CALL(cuGraphLaunch)(reinterpret_cast<CUgraphExec>(step_), nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Graphs, KernelsOfUnloadedModules) {
  add(1, {});
  OK(CALL(cuGraphInstantiate)(&exec_, graph_, 0));
  OK(CALL(cuModuleUnload)(modules_.back()));
  modules_.pop_back();
  OK(CALL(cuGraphLaunch)(exec_, nullptr));
  EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(last_error().find("unloaded"), std::string::npos) << last_error();
  CALL(reprise_simulator_reset)();
}

TEST_F(Graphs, FreedMemoryOfCopies) {
  const CUdeviceptr q = device(16);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = p_, copy.dstDevice = q;
  copy.WidthInBytes = 16, copy.Height = copy.Depth = 1;
  CUDA_MEMSET_NODE_PARAMS set{};
  set.dst = p_, set.elementSize = 4, set.value = 9, set.width = 4, set.height = 1;
  CUgraphNode a = nullptr, b = nullptr;
  OK(CALL(cuGraphAddMemsetNode)(&a, graph_, nullptr, 0, &set, context_));
  OK(CALL(cuGraphAddMemcpyNode)(&b, graph_, &a, 1, &copy, context_));
  OK(CALL(cuGraphInstantiate)(&exec_, graph_, 0));
  OK(CALL(cuGraphLaunch)(exec_, nullptr));
  EXPECT_EQ(host<int>(q, 4), std::vector<int>(4, 9));
  OK(CALL(cuMemFree)(q));
  memory_.pop_back();
  OK(CALL(cuGraphLaunch)(exec_, nullptr));
  EXPECT_EQ(CALL(cuCtxSynchronize)(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(last_error().find("freed allocation"), std::string::npos) << last_error();
  CALL(reprise_simulator_reset)();
}

TEST_F(Graphs, ChildGraphsAndCycles) {
  CUgraph child = nullptr;
  OK(CALL(cuGraphCreate)(&child, 0));
  add(7, {}, child);
  CUgraphNode a = add(1, {}), c = nullptr;
  OK(CALL(cuGraphAddChildGraphNode)(&c, graph_, &a, 1, child));
  OK(CALL(cuGraphDestroy)(child));  // the node has its own copy
  CUgraphNode b = add(10, {c});
  OK(CALL(cuGraphInstantiate)(&exec_, graph_, 0));
  EXPECT_EQ(launched(), ((2 + 1) * 2 + 7) * 2 + 10);
  std::size_t n = 0;
  OK(CALL(cuGraphGetNodes)(graph_, nullptr, &n));
  EXPECT_EQ(n, 3u);
  OK(CALL(cuGraphGetEdges)(graph_, nullptr, nullptr, nullptr, &n));
  EXPECT_EQ(n, 2u);
  OK(CALL(cuGraphAddDependencies)(graph_, &b, &a, nullptr, 1));
  CUgraphExec never = nullptr;
  EXPECT_EQ(CALL(cuGraphInstantiate)(&never, graph_, 0), CUDA_ERROR_INVALID_VALUE);
  const std::string path = ::testing::TempDir() + "/graph.dot";
  OK(CALL(cuGraphDebugDotPrint)(graph_, path.c_str(), 0));
  std::ifstream in(path);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  EXPECT_NE(text.find("kernel k"), std::string::npos) << text;
}

TEST_F(Graphs, ExecutableGraphsTakeMemory) {
  std::size_t before = 0, with = 0, total = 0;
  for (int i = 0; i < 100; ++i) add(1, {});
  OK(CALL(cuMemGetInfo)(&before, &total));
  OK(CALL(cuGraphInstantiate)(&exec_, graph_, 0));
  OK(CALL(cuMemGetInfo)(&with, &total));
  EXPECT_GT(before - with, 100u * 1024);
  reprise_simulator_counters c;
  CALL(reprise_simulator_get_counters)(&c);
  EXPECT_EQ(c.live_graph_bytes, before - with);
  OK(CALL(cuGraphExecDestroy)(exec_));
  exec_ = nullptr;
  OK(CALL(cuMemGetInfo)(&with, &total));
  EXPECT_EQ(before, with);
}

TEST_F(Graphs, CapturedWork) {
  CUstream s = nullptr, other = nullptr;
  CUevent fork = nullptr, join = nullptr;
  OK(CALL(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING));
  OK(CALL(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING));
  for (CUevent* e : {&fork, &join}) OK(CALL(cuEventCreate)(e, CU_EVENT_DISABLE_TIMING));
  const CUdeviceptr q = device(16);
  std::uint64_t args[] = {p_, 0, 4};
  void* params[] = {&args[0], &args[1], &args[2]};
  auto launch = [&](CUstream in) { return CALL(cuLaunchKernel)(step_, 1, 1, 1, 4, 1, 1, 0, in, params, nullptr); };
  OK(CALL(cuMemsetD32)(p_, 1, 4));
  OK(CALL(cuStreamBeginCapture)(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  OK(launch(s));
  OK(CALL(cuEventRecord)(fork, s));
  OK(CALL(cuStreamWaitEvent)(other, fork, 0));
  OK(CALL(cuMemcpyDtoDAsync)(q, p_, 16, other));
  OK(CALL(cuEventRecord)(join, other));
  OK(CALL(cuStreamWaitEvent)(s, join, 0));
  OK(launch(s));
  CUgraph captured = nullptr;
  OK(CALL(cuStreamEndCapture)(s, &captured));
  EXPECT_EQ(host<int>(p_, 1)[0], 1);  // nothing has run
  std::size_t nodes = 0, edges = 0;
  OK(CALL(cuGraphGetNodes)(captured, nullptr, &nodes));
  OK(CALL(cuGraphGetEdges)(captured, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(nodes, 3u);
  EXPECT_EQ(edges, 3u);  // the second kernel waits for the first and for the copy
  OK(CALL(cuGraphInstantiate)(&exec_, captured, 0));
  EXPECT_EQ(launched(), (1 * 2 + 4) * 2 + 4);
  EXPECT_EQ(host<int>(q, 1)[0], 6);
  OK(CALL(cuGraphDestroy)(captured));

  // What waits cannot be captured.
  OK(CALL(cuStreamBeginCapture)(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_EQ(CALL(cuStreamSynchronize)(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(launch(s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(CALL(cuStreamEndCapture)(s, &captured), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  OK(launch(s));
  OK(CALL(cuStreamSynchronize)(s));
  for (CUstream x : {s, other}) OK(CALL(cuStreamDestroy)(x));
  for (CUevent e : {fork, join}) OK(CALL(cuEventDestroy)(e));
}

}  // namespace
}  // namespace sim_test
