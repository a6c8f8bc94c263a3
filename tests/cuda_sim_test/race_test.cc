// Planted races of each kind are found in one order, and what is ordered is let be.
#include "tests/cuda_sim_test/kernels.h"
#include "tests/cuda_sim_test/support.h"

namespace sim_test {
namespace {

class Race : public Sim {
 protected:
  void SetUp() override {
    Sim::SetUp();
    CALL(reprise_simulator_set_races)("1");
  }
  void TearDown() override {
    CALL(reprise_simulator_set_races)("0");
    Sim::TearDown();
  }
  void expect_race(const char* between) {
    const std::string e = last_error();
    EXPECT_NE(e.find(std::string("a race between ") + between), std::string::npos) << e;
    CALL(reprise_simulator_reset)();
  }
  void expect_none() { EXPECT_EQ(last_error(), ""); }
};

/// Each thread writes a word of shared memory, does what `between` says, and reads the word of thread ^ `shift`.
std::string exchange(const std::string& between, int shift) {
  return kThreadRegisters + R"(
declare void @llvm.nvvm.barrier0()
declare void @llvm.nvvm.bar.warp.sync(i32)
@line = internal addrspace(3) global [128 x i32] undef, align 4
define ptx_kernel void @exchange(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %mine = getelementptr [128 x i32], ptr addrspace(3) @line, i32 0, i32 %t
  store i32 %t, ptr addrspace(3) %mine, align 4
  )" + between +
         R"(
  %other = xor i32 %t, )" +
         std::to_string(shift) + R"(
  %theirs = getelementptr [128 x i32], ptr addrspace(3) @line, i32 0, i32 %other
  %v = load i32, ptr addrspace(3) %theirs, align 4
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %v, ptr addrspace(1) %to, align 4
  ret void
})";
}

/// Each thread of each block adds 1 to out[0], atomically or by a load and a store.
std::string count(bool atomic) {
  return kThreadRegisters + "define ptx_kernel void @count(ptr addrspace(1) %out) {\n" +
         (atomic ? "  %o = atomicrmw add ptr addrspace(1) %out, i32 1 monotonic, align 4\n"
                 : "  %o = load i32, ptr addrspace(1) %out, align 4\n  %n = add i32 %o, 1\n  store i32 %n, ptr "
                   "addrspace(1) %out, align 4\n") +
         "  ret void\n}";
}

TEST_F(Race, BetweenThreadsAndBlocksOfALaunch) {
  const CUdeviceptr out = device(std::vector<int>{0});
  const CUfunction atomic = load("count", {8}, count(true)), plain = load("count", {8}, count(false));
  EXPECT_EQ(run(atomic, 3, 32, {out}), CUDA_SUCCESS);
  expect_none();
  EXPECT_EQ(run(plain, 1, 1, {out}), CUDA_SUCCESS) << "launches of one stream are ordered";
  expect_none();
  EXPECT_NE(run(plain, 2, 1, {out}), CUDA_SUCCESS);
  expect_race("blocks of a launch");
  EXPECT_NE(run(plain, 1, 2, {out}), CUDA_SUCCESS);
  expect_race("threads of a block");
  CALL(reprise_simulator_set_races)("tell");
  EXPECT_EQ(run(plain, 2, 1, {out}), CUDA_SUCCESS) << "told, and it goes on";
}

/// Each block writes out[2 + its number] and counts itself in out[0]; the last of three sums up what all have written.
std::string gather(bool before, bool behind) {
  const std::string fence = "  call void @llvm.nvvm.membar.gl()\n";
  return kThreadRegisters + "declare void @llvm.nvvm.membar.gl()\n" + R"(
define ptx_kernel void @gather(ptr addrspace(1) %out) {
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %i = add i32 %b, 2
  %mine = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 7, ptr addrspace(1) %mine, align 4
)" + (before ? fence : "") +
         R"(
  %n = atomicrmw add ptr addrspace(1) %out, i32 1 monotonic, align 4
  %last = icmp eq i32 %n, 2
  br i1 %last, label %sum, label %end
sum:
)" + (behind ? fence : "") +
         R"(
  %p2 = getelementptr i32, ptr addrspace(1) %out, i32 2
  %p3 = getelementptr i32, ptr addrspace(1) %out, i32 3
  %p4 = getelementptr i32, ptr addrspace(1) %out, i32 4
  %v2 = load i32, ptr addrspace(1) %p2, align 4
  %v3 = load i32, ptr addrspace(1) %p3, align 4
  %v4 = load i32, ptr addrspace(1) %p4, align 4
  %s = add i32 %v2, %v3
  %t = add i32 %s, %v4
  %to = getelementptr i32, ptr addrspace(1) %out, i32 1
  store i32 %t, ptr addrspace(1) %to, align 4
  br label %end
end:
  ret void
})";
}

TEST_F(Race, BlocksMeetByFencesAndAnAtomicOperation) {
  for (const auto& [before, behind] : {std::pair{true, true}, {false, true}, {true, false}}) {
    const CUdeviceptr out = device(std::vector<int>{0, 0, 0, 0, 0});
    const CUresult r = run(load("gather", {8}, gather(before, behind)), 3, 1, {out});
    if (before && behind) {
      EXPECT_EQ(r, CUDA_SUCCESS);
      expect_none();
      EXPECT_EQ(host<int>(out, 2), (std::vector<int>{3, 21}));
    } else {
      EXPECT_NE(r, CUDA_SUCCESS);
      expect_race("blocks of a launch");
    }
  }
}

/// Every thread writes to out[0]: its number, or 7.
std::string put(const char* what) {
  return kThreadRegisters +
         "define ptx_kernel void @put(ptr addrspace(1) %out) {\n  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n  "
         "store i32 " +
         what + ", ptr addrspace(1) %out, align 4\n  ret void\n}";
}

TEST_F(Race, StoresOfOneNumberAreNone) {
  const CUdeviceptr out = device(4);
  EXPECT_EQ(run(load("put", {8}, put("7")), 3, 32, {out}), CUDA_SUCCESS);
  expect_none();
  EXPECT_NE(run(load("put", {8}, put("%t")), 1, 2, {out}), CUDA_SUCCESS) << "also the last access of a launch";
  expect_race("threads of a block");
}

TEST_F(Race, BarriersOrderTheThreadsThatTheyAreOf) {
  const CUdeviceptr out = device(128 * 4);
  const std::string barrier = "call void @llvm.nvvm.barrier0()", warp = "call void @llvm.nvvm.bar.warp.sync(i32 -1)";
  EXPECT_EQ(run(load("exchange", {8}, exchange(barrier, 64)), 1, 128, {out}), CUDA_SUCCESS);
  EXPECT_EQ(run(load("exchange", {8}, exchange(warp, 1)), 1, 128, {out}), CUDA_SUCCESS);
  expect_none();
  // Both barriers, so that each thread finds something written, and another store between: only who orders what
  // differs.
  const std::string again = barrier + "\n  store i32 7, ptr addrspace(3) %mine, align 4\n  ";
  EXPECT_NE(run(load("exchange", {8}, exchange(again, 1)), 1, 128, {out}), CUDA_SUCCESS);
  expect_race("threads of a block");
  EXPECT_NE(run(load("exchange", {8}, exchange(again + warp, 64)), 1, 128, {out}), CUDA_SUCCESS);
  expect_race("threads of a block");
  EXPECT_EQ(run(load("exchange", {8}, exchange(again + warp, 1)), 1, 128, {out}), CUDA_SUCCESS);
  EXPECT_EQ(run(load("exchange", {8}, exchange(again + barrier, 64)), 1, 128, {out}), CUDA_SUCCESS);
  expect_none();
}

TEST_F(Race, BetweenNodesOfAGraph) {
  const CUdeviceptr out = device(std::vector<int>{0});
  const CUfunction f = load("count", {8}, count(false));
  for (bool path : {true, false}) {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    OK(CALL(cuGraphCreate)(&graph, 0));
    CUdeviceptr arg = out;
    void* params[] = {&arg};
    CUDA_KERNEL_NODE_PARAMS p{};
    p.func = f, p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1,
    p.kernelParams = params;
    CUgraphNode first = nullptr, empty = nullptr, second = nullptr;
    OK(CALL(cuGraphAddKernelNode)(&first, graph, nullptr, 0, &p));
    OK(CALL(cuGraphAddEmptyNode)(&empty, graph, &first, 1));
    OK(CALL(cuGraphAddKernelNode)(&second, graph, &empty, path ? 1 : 0, &p));
    OK(CALL(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    for (int i = 0; i < 2; ++i) CALL(cuGraphLaunch)(exec, nullptr);
    if (path) {
      OK(CALL(cuCtxSynchronize)());
      expect_none();
    } else {
      EXPECT_NE(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
      expect_race("nodes of a graph");
    }
    OK(CALL(cuGraphExecDestroy)(exec));
    OK(CALL(cuGraphDestroy)(graph));
  }
}

/// Adds 1 to out[0] behind what `before` says.
std::string early(const std::string& before, const std::string& after = "") {
  return kThreadRegisters + "define ptx_kernel void @early(ptr addrspace(1) %out) {\n" + before +
         "  %o = load i32, ptr addrspace(1) %out, align 4\n  %n = add i32 %o, 1\n  store i32 %n, ptr addrspace(1) "
         "%out, align 4\n" +
         after + "  ret void\n}";
}

// A node with a programmatic edge comes after the one before it once it has waited, and every thread of its first block
// must: others with nothing to do may leave.
TEST_F(Race, BeforeAKernelHasWaitedForTheOneBeforeIt) {
  const std::string next = "  call void asm sideeffect \"griddepcontrol.launch_dependents;\", \"~{memory}\"()\n",
                    wait = "  call void asm sideeffect \"griddepcontrol.wait;\", \"~{memory}\"()\n";
  const CUdeviceptr out = device(std::vector<int>{0});
  const CUfunction waits = load("early", {8}, early(next + wait)), late = load("early", {8}, early(next, wait)),
                   never = load("early", {8}, early(next)),
                   others = load("others", {8},
                                 kThreadRegisters + "define ptx_kernel void @others(ptr addrspace(1) %out) {\n" + next +
                                     "  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n  %z = icmp eq i32 %c, 0\n  "
                                     "br i1 %z, label %first, label %end\nfirst:\n" +
                                     wait + "  br label %end\nend:\n  ret void\n}"),
                   idle = load("idle", {8},
                               kThreadRegisters + "define ptx_kernel void @idle(ptr addrspace(1) %out) {\n" + next +
                                   "  ret void\n}");
  struct Chain {
    CUfunction first, second, third;
    const char* wrong;
  };
  for (const auto& [first, second, third, wrong] : {Chain{waits, waits, waits, nullptr},
                                                    {never, waits, waits, nullptr},
                                                    {waits, late, waits, "has not waited for it"},
                                                    {waits, waits, late, "has not waited for it"},
                                                    {waits, never, waits, "has not waited for it"},
                                                    {waits, idle, waits, "ends without having waited"},
                                                    {waits, others, waits, nullptr}}) {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    OK(CALL(cuGraphCreate)(&graph, 0));
    CUdeviceptr arg = out;
    void* params[] = {&arg};
    CUDA_KERNEL_NODE_PARAMS p{};
    p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1, p.kernelParams = params;
    CUgraphNode before = nullptr;
    CUgraphEdgeData edge{};
    edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    for (CUfunction f : {first, second, third}) {
      CUgraphNode node = nullptr;
      p.func = f, p.gridDimX = f == others ? 3 : 1;
      OK(CALL(cuGraphAddKernelNode)(&node, graph, nullptr, 0, &p));
      if (before) {
        OK(CALL(cuGraphAddDependencies_v2)(graph, &before, &node, &edge, 1));
      }
      before = node;
    }
    OK(CALL(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    CALL(cuGraphLaunch)(exec, nullptr);
    if (wrong) {
      EXPECT_NE(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
      EXPECT_NE(last_error().find(wrong), std::string::npos) << last_error();
      CALL(reprise_simulator_reset)();
    } else {
      OK(CALL(cuCtxSynchronize)());
      expect_none();
    }
    OK(CALL(cuGraphExecDestroy)(exec));
    OK(CALL(cuGraphDestroy)(graph));
  }
}

TEST_F(Race, BetweenStreams) {
  const CUdeviceptr out = device(std::vector<int>{0});
  const CUfunction f = load("count", {8}, count(false));
  CUstream a = nullptr, b = nullptr;
  CUevent event = nullptr;
  OK(CALL(cuStreamCreate)(&a, CU_STREAM_NON_BLOCKING));
  OK(CALL(cuStreamCreate)(&b, CU_STREAM_NON_BLOCKING));
  OK(CALL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
  CUdeviceptr arg = out;
  void* params[] = {&arg};
  auto in = [&](CUstream s) { return CALL(cuLaunchKernel)(f, 1, 1, 1, 1, 1, 1, 0, s, params, nullptr); };
  OK(CALL(cuCtxSynchronize)());  // the copy of the 0
  OK(in(a));
  OK(CALL(cuEventRecord)(event, a));
  OK(CALL(cuStreamWaitEvent)(b, event, 0));
  OK(in(b));
  OK(CALL(cuStreamSynchronize)(b));  // the host waits, and what it submits then comes after
  OK(in(a));
  expect_none();
  OK(in(b));
  EXPECT_NE(CALL(cuCtxSynchronize)(), CUDA_SUCCESS) << "no event was recorded behind the last one of a";
  expect_race("streams");
  // Copies count, too; and memory that was given back and comes again has no past.
  OK(CALL(cuCtxSynchronize)());
  OK(in(a));
  OK(CALL(cuMemcpyDtoDAsync)(out, out, 4, b));
  EXPECT_NE(CALL(cuCtxSynchronize)(), CUDA_SUCCESS);
  expect_race("streams");
  OK(CALL(cuEventDestroy)(event));
  OK(CALL(cuStreamDestroy)(a));
  OK(CALL(cuStreamDestroy)(b));
}

}  // namespace
}  // namespace sim_test
