#include <algorithm>

#include "tests/cuda_sim_test/kernels.h"
#include "tests/cuda_sim_test/support.h"

/// Deferred execution: work that nothing waited for may not have happened yet.
namespace sim_test {
namespace {

class Deferred : public Sim {
 protected:
  void SetUp() override {
    Sim::SetUp();
    for (CUstream* s : {&a_, &b_}) ASSERT_EQ(CALL(cuStreamCreate)(s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuEventCreate)(&event_, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    ASSERT_EQ(CALL(cuMemHostAlloc)(&pinned_, 4096, 0), CUDA_SUCCESS);
    p_ = device(std::vector<int>(16, 1));
    CALL(reprise_simulator_set_async)(1);
  }
  void TearDown() override {
    CALL(reprise_simulator_set_async)(0);
    EXPECT_EQ(CALL(cuMemFreeHost)(pinned_), CUDA_SUCCESS);
    EXPECT_EQ(CALL(cuEventDestroy)(event_), CUDA_SUCCESS);
    for (CUstream s : {a_, b_}) EXPECT_EQ(CALL(cuStreamDestroy)(s), CUDA_SUCCESS);
    Sim::TearDown();
  }
  int pinned() const { return *static_cast<volatile int*>(pinned_); }
  CUstream a_ = nullptr, b_ = nullptr;
  CUevent event_ = nullptr;
  CUdeviceptr p_ = 0;
  void* pinned_ = nullptr;
};

TEST_F(Deferred, CopiesToPinnedMemoryComeLate) {
  int stale = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CALL(reprise_simulator_set_order)("forward", seed);
    *static_cast<int*>(pinned_) = -1;
    OK(CALL(cuMemsetD32Async)(p_, 7, 1, a_));
    OK(CALL(cuMemcpyDtoHAsync)(pinned_, p_, 4, a_));
    stale += pinned() != 7;
    OK(CALL(cuStreamSynchronize)(a_));
    EXPECT_EQ(pinned(), 7);
  }
  EXPECT_GT(stale, 10);
}

TEST_F(Deferred, PageableMemoryIsReadAtOnceAndWrittenBeforeTheReturn) {
  int v = 5, got = 0;
  OK(CALL(cuMemcpyHtoDAsync)(p_, &v, 4, a_));
  v = 6;
  OK(CALL(cuMemcpyDtoHAsync)(&got, p_, 4, a_));
  EXPECT_EQ(got, 5);
}

TEST_F(Deferred, PinnedSourcesAreReadLate) {
  int seen_late = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CALL(reprise_simulator_set_order)("forward", seed);
    *static_cast<int*>(pinned_) = 5;
    OK(CALL(cuMemcpyHtoDAsync)(p_, pinned_, 4, a_));
    *static_cast<int*>(pinned_) = 6;
    OK(CALL(cuStreamSynchronize)(a_));
    seen_late += host<int>(p_, 1)[0] == 6;
  }
  EXPECT_GT(seen_late, 10);
}

TEST_F(Deferred, RunsOfOneExecutableGraphComeInTheOrderOfTheirLaunches) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  OK(CALL(cuGraphCreate)(&graph, 0));
  OK(CALL(cuGraphAddEmptyNode)(&node, graph, nullptr, 0));
  OK(CALL(cuGraphInstantiate)(&exec, graph, 0));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CALL(reprise_simulator_set_order)("forward", seed);
    *static_cast<int*>(pinned_) = -1;
    OK(CALL(cuMemcpyDtoHAsync)(pinned_, p_, 4, a_));
    OK(CALL(cuGraphLaunch)(exec, a_));
    OK(CALL(cuGraphLaunch)(exec, b_));  // after the one before, and so after the copy
    OK(CALL(cuStreamSynchronize)(b_));
    EXPECT_EQ(pinned(), 1) << seed;
    OK(CALL(cuStreamSynchronize)(a_));
  }
  OK(CALL(cuGraphExecDestroy)(exec));
  OK(CALL(cuGraphDestroy)(graph));
}

TEST_F(Deferred, StreamsAreOrderedByEventsAlone) {
  int wrong = 0;
  for (int with_event = 0; with_event < 2; ++with_event) {
    wrong = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      CALL(reprise_simulator_set_order)("forward", seed);
      OK(CALL(cuMemsetD32Async)(p_, 1, 1, a_));
      if (with_event) {
        OK(CALL(cuEventRecord)(event_, a_));
        OK(CALL(cuStreamWaitEvent)(b_, event_, 0));
      }
      OK(CALL(cuMemsetD32Async)(p_, 2, 1, b_));
      OK(CALL(cuStreamSynchronize)(b_));
      OK(CALL(cuStreamSynchronize)(a_));
      wrong += host<int>(p_, 1)[0] != 2;
    }
    if (with_event) EXPECT_EQ(wrong, 0);
    else EXPECT_GT(wrong, 0);
  }
}

TEST_F(Deferred, TheDefaultStreamWaitsForBlockingStreams) {
  CUstream blocking = nullptr;
  OK(CALL(cuStreamCreate)(&blocking, CU_STREAM_DEFAULT));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    CALL(reprise_simulator_set_order)("forward", seed);
    OK(CALL(cuMemsetD32Async)(p_, 1, 1, blocking));
    OK(CALL(cuMemsetD32Async)(p_, 2, 1, nullptr));
    OK(CALL(cuMemsetD32Async)(p_ + 4, 3, 1, blocking));
    OK(CALL(cuStreamSynchronize)(blocking));
    EXPECT_EQ(host<int>(p_, 2), (std::vector<int>{2, 3}));
  }
  OK(CALL(cuStreamDestroy)(blocking));
}

TEST_F(Deferred, EventsAndQueriesEndByThemselves) {
  OK(CALL(cuMemsetD32Async)(p_, 3, 4, a_));
  OK(CALL(cuEventRecord)(event_, a_));
  int asked = 0;
  CUresult r;
  while ((r = CALL(cuEventQuery)(event_)) == CUDA_ERROR_NOT_READY) ASSERT_LT(++asked, 100000);
  EXPECT_EQ(r, CUDA_SUCCESS);
  OK(CALL(cuStreamQuery)(a_));
}

TEST_F(Deferred, HostFunctionsRunInOrderAndMayTakeLocks) {
  OK(CALL(cuMemcpyHtoDAsync)(p_, pinned_, 4, a_));
  static int calls = 0;
  OK(CALL(cuLaunchHostFunc)(
      a_, [](void* p) { ++*static_cast<int*>(p); }, &calls));
  OK(CALL(cuEventRecord)(event_, a_));
  OK(CALL(cuEventSynchronize)(event_));
  EXPECT_EQ(calls, 1);
}

TEST_F(Deferred, AFreeInTheStreamsOrder) {
  CUdeviceptr q = 0;
  OK(CALL(cuMemAllocAsync)(&q, 64, a_));
  OK(CALL(cuMemsetD32Async)(q, 1, 16, a_));
  OK(CALL(cuMemcpyDtoDAsync)(p_, q, 64, a_));
  OK(CALL(cuMemFreeAsync)(q, a_));
  OK(CALL(cuStreamSynchronize)(a_));
  EXPECT_EQ(host<int>(p_, 16), std::vector<int>(16, 1));
  // A use in another stream that nothing orders before the free is found when it runs late.
  int found = 0;
  for (std::uint64_t seed = 0; seed < 40 && !found; ++seed) {
    CALL(reprise_simulator_set_order)("forward", seed);
    OK(CALL(cuMemAllocAsync)(&q, 64, a_));
    OK(CALL(cuMemsetD32Async)(q, 1, 16, b_));
    OK(CALL(cuMemFreeAsync)(q, a_));
    found = CALL(cuStreamSynchronize)(a_) != CUDA_SUCCESS || CALL(cuCtxSynchronize)() == CUDA_ERROR_ILLEGAL_ADDRESS;
    CALL(reprise_simulator_reset)();
  }
  EXPECT_TRUE(found);
}

TEST_F(Deferred, PartsOfAnAllocationInTheStreamsOrder) {
  OK(CALL(cuMemsetD32Async)(p_, 1, 16, a_));
  CALL(reprise_simulator_suballocate)(p_, 0, 64, a_);  // the memset before it is right
  CALL(reprise_simulator_suballocate)(p_, 40, 64, a_);
  OK(CALL(cuMemsetD32Async)(p_, 2, 10, a_));
  OK(CALL(cuStreamSynchronize)(a_));
  EXPECT_EQ(host<int>(p_, 10), std::vector<int>(10, 2));
  OK(CALL(cuMemsetD32Async)(p_, 2, 11, a_));  // one more than was handed out
  EXPECT_EQ(CALL(cuStreamSynchronize)(a_), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_NE(last_error().find("given back"), std::string::npos) << last_error();
  CALL(reprise_simulator_reset)();
}

TEST_F(Deferred, DestroyedStreamsFinishTheirWork) {
  CUstream s = nullptr;
  OK(CALL(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING));
  OK(CALL(cuMemsetD32Async)(p_, 11, 1, s));
  OK(CALL(cuStreamDestroy)(s));
  EXPECT_EQ(CALL(cuStreamSynchronize)(s), CUDA_ERROR_INVALID_HANDLE);
  OK(CALL(cuCtxSynchronize)());
  EXPECT_EQ(host<int>(p_, 1)[0], 11);
}

TEST_F(Deferred, LaunchedGraphsKeepTheirParameters) {
  CUfunction f = load("k", {8, 8, 8}, kernel(R"(
  %m = trunc i64 %n to i32
  store i32 %m, ptr addrspace(1) %p, align 4
)"));
  CUgraph g = nullptr;
  CUgraphExec e = nullptr;
  CUgraphNode node = nullptr;
  std::uint64_t args[] = {p_, 0, 21};
  void* list[] = {&args[0], &args[1], &args[2]};
  CUDA_KERNEL_NODE_PARAMS p{};
  p.func = f;
  p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
  p.kernelParams = list;
  OK(CALL(cuGraphCreate)(&g, 0));
  OK(CALL(cuGraphAddKernelNode)(&node, g, nullptr, 0, &p));
  OK(CALL(cuGraphInstantiate)(&e, g, 0));
  OK(CALL(cuGraphLaunch)(e, a_));
  OK(CALL(cuMemcpyDtoHAsync)(pinned_, p_, 4, a_));
  args[2] = 22;
  OK(CALL(cuGraphExecKernelNodeSetParams)(e, node, &p));
  OK(CALL(cuGraphExecDestroy)(e));  // what was launched still runs
  OK(CALL(cuGraphDestroy)(g));
  OK(CALL(cuStreamSynchronize)(a_));
  EXPECT_EQ(pinned(), 21);
}

}  // namespace
}  // namespace sim_test
