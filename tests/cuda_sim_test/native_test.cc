#include <set>

#include "tests/cuda_sim_test/support.h"

/// Work of stand-ins for libraries (control.h), and child graphs that hold it.
namespace sim_test {
namespace {

struct Add {
  std::uint64_t to, from;  ///< one int64 each: *to = *from + 1
};
void add(void* data) {
  const Add& a = *static_cast<const Add*>(data);
  auto* from = static_cast<std::int64_t*>(CALL(reprise_simulator_reach)(a.from, 8, 0, "add, from"));
  auto* to = static_cast<std::int64_t*>(CALL(reprise_simulator_reach)(a.to, 8, 1, "add, to"));
  if (from && to) *to = *from + 1;
}

std::string trail;  // of the marks, in the order in which they ran
void mark(void* data) { trail += *static_cast<const char*>(data); }

class Native : public Sim {
 protected:
  void SetUp() override {
    Sim::SetUp();
    if (HasFatalFailure()) return;
    OK(CALL(cuStreamCreate)(&stream_, CU_STREAM_NON_BLOCKING));
  }
  void TearDown() override {
    CALL(cuStreamDestroy)(stream_);
    Sim::TearDown();
  }
  template <class T>
  int submit(void (*run)(void*), const T& data) {
    return CALL(reprise_simulator_submit)(stream_, run, &data, sizeof data);
  }
  CUgraph captured(const std::string& marks) {
    CUgraph g = nullptr;
    EXPECT_EQ(CALL(cuStreamBeginCapture)(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    for (char c : marks) submit(mark, c);
    EXPECT_EQ(CALL(cuStreamEndCapture)(stream_, &g), CUDA_SUCCESS);
    return g;
  }
  CUstream stream_ = nullptr;
};

TEST_F(Native, RunsInTheOrderOfItsStream) {
  const CUdeviceptr p = device(std::vector<std::int64_t>{41}), q = device(8), r = device(8);
  CALL(reprise_simulator_set_async)(1);
  OK(submit(add, Add{q, p}));
  OK(submit(add, Add{r, q}));
  OK(CALL(cuStreamSynchronize)(stream_));
  CALL(reprise_simulator_set_async)(0);
  EXPECT_EQ(host<std::int64_t>(r, 1)[0], 43);
}

TEST_F(Native, ItsAccessesAreChecked) {
  const CUdeviceptr p = device(std::vector<std::int64_t>{41}), unwritten = device(8);
  auto expect_error = [&](Add a, const char* words) {
    submit(add, a);
    EXPECT_EQ(CALL(cuStreamSynchronize)(stream_), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_NE(last_error().find(words), std::string::npos) << last_error();
    CALL(reprise_simulator_reset)();
  };
  expect_error({p, unwritten}, "add, from: reads 8 bytes");
  expect_error({p, unwritten}, "nobody wrote 8 of them");
  expect_error({p + 4, p}, "add, to: writes 8 bytes");
  std::int64_t on_host = 0;
  expect_error({reinterpret_cast<std::uint64_t>(&on_host), p}, "no device address");
}

// A captured kernel of a library: its node tells its parameters while it lives, and its attributes go to another node
// by themselves or not at all.
TEST_F(Native, CapturedNodesCanStandInAnotherGraph) {
  const CUdeviceptr p = device(std::vector<std::int64_t>{41}), q = device(8), r = device(8);
  CUgraph from = nullptr, g = nullptr;
  OK(CALL(cuStreamBeginCapture)(stream_, CU_STREAM_CAPTURE_MODE_RELAXED));
  const Add first{q, p}, second{r, q};
  OK(submit(add, first));
  OK(CALL(reprise_simulator_submit_early)(stream_, add, &second, sizeof second));
  OK(CALL(cuStreamEndCapture)(stream_, &from));
  CUgraphNode nodes[2], a[1], b[1], made[2];
  std::size_t n = 2, edges = 1;
  CUgraphEdgeData how{};
  OK(CALL(cuGraphGetNodes)(from, nodes, &n));
  ASSERT_EQ(n, 2u);
  EXPECT_EQ(CALL(cuGraphGetEdges)(from, a, b, nullptr, &edges), CUDA_ERROR_LOSSY_QUERY);
  OK(CALL(cuGraphGetEdges)(from, a, b, &how, &edges));
  ASSERT_EQ(edges, 1u);
  EXPECT_EQ(how.type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
  OK(CALL(cuGraphCreate)(&g, 0));
  for (int i = 0; i < 2; ++i) {
    CUDA_KERNEL_NODE_PARAMS params;
    OK(CALL(cuGraphKernelNodeGetParams)(nodes[i], &params));
    EXPECT_EQ(params.func, nullptr) << "known by its CUkernel";
    OK(CALL(cuGraphAddKernelNode)(&made[i], g, made, static_cast<std::size_t>(i), &params));
  }
  CUgraphExec exec = nullptr;
  OK(CALL(cuGraphInstantiateWithFlags)(&exec, g, 0));
  CALL(cuGraphLaunch)(exec, stream_);
  EXPECT_EQ(CALL(cuStreamSynchronize)(stream_), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_NE(last_error().find("in clusters of 0 x 0 x 0 blocks"), std::string::npos) << last_error();
  CALL(reprise_simulator_reset)();
  OK(CALL(cuGraphExecDestroy)(exec));
  CUkernelNodeAttrValue cluster;
  for (int i = 0; i < 2; ++i) {
    OK(CALL(cuGraphKernelNodeCopyAttributes)(made[i], nodes[i]));
    OK(CALL(cuGraphKernelNodeGetAttribute)(made[i], CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &cluster));
    EXPECT_EQ(cluster.clusterDim.x, 2u);
  }
  OK(CALL(cuGraphDestroy)(from));
  OK(CALL(cuGraphInstantiateWithFlags)(&exec, g, 0));
  OK(CALL(cuGraphLaunch)(exec, stream_));
  OK(CALL(cuStreamSynchronize)(stream_));
  OK(CALL(cuGraphExecDestroy)(exec));
  EXPECT_EQ(host<std::int64_t>(r, 1)[0], 43);
  OK(CALL(cuGraphDestroy)(g));
}

// The nodes of two child graphs that nothing orders run in every order that keeps each graph's own.
TEST_F(Native, ChildGraphsRunSideBySide) {
  CUgraph ab = captured("ab"), xy = captured("xy"), end = captured("."), g = nullptr;
  OK(CALL(cuGraphCreate)(&g, 0));
  CUgraphNode nodes[3];
  OK(CALL(cuGraphAddChildGraphNode)(&nodes[0], g, nullptr, 0, ab));
  OK(CALL(cuGraphAddChildGraphNode)(&nodes[1], g, nullptr, 0, xy));
  OK(CALL(cuGraphAddChildGraphNode)(&nodes[2], g, nodes, 2, end));
  CUgraphExec exec = nullptr;
  OK(CALL(cuGraphInstantiateWithFlags)(&exec, g, 0));
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed < 100; ++seed) {
    CALL(reprise_simulator_set_order)("random", seed);
    trail.clear();
    OK(CALL(cuGraphLaunch)(exec, stream_));
    OK(CALL(cuStreamSynchronize)(stream_));
    seen.insert(trail);
  }
  EXPECT_EQ(seen, (std::set<std::string>{"abxy.", "axby.", "axyb.", "xaby.", "xayb.", "xyab."}));
  // A child graph of another shape is refused, and the old one stays.
  CUgraph three = captured("123");
  EXPECT_EQ(CALL(cuGraphExecChildGraphNodeSetParams)(exec, nodes[0], three), CUDA_ERROR_INVALID_VALUE);
  CUgraph two = captured("12");
  OK(CALL(cuGraphExecChildGraphNodeSetParams)(exec, nodes[0], two));
  CALL(reprise_simulator_set_order)("forward", 1);
  trail.clear();
  OK(CALL(cuGraphLaunch)(exec, stream_));
  OK(CALL(cuStreamSynchronize)(stream_));
  EXPECT_EQ(trail, "12xy.");
  OK(CALL(cuGraphExecDestroy)(exec));
  for (CUgraph x : {ab, xy, end, g, three, two}) OK(CALL(cuGraphDestroy)(x));
}

}  // namespace
}  // namespace sim_test
