#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/cuda_sim/runtime.h"
#include "tests/cuda_sim/work.h"

/// The kernel that is running. Its threads run one at a time on stacks of their own and switch where they wait; a
/// kernel whose threads never wait runs all of them on one stack.
namespace sim {

struct AsyncCopy {
  std::uint64_t to, from;
  std::uint32_t bytes, from_bytes, site;
};

/// A product that a warpgroup has asked for (wgmma.mma_async), as one of its threads told it.
struct AsyncProduct {
  std::uint32_t what = 0, site = 0;  ///< WarpgroupProduct (tensor.h)
  std::uint32_t sums = 0;            ///< which
  std::uint64_t a = 0, b = 0;        ///< descriptors; of a only where it is in shared memory
  std::array<std::uint32_t, 4> fragment{};
};
/// Sums that are not there until somebody waits for them: registers hold tokens meanwhile.
struct AsyncSums {
  std::vector<std::uint32_t> values;
  std::uint32_t taken = 0;  ///< how many of them somebody has
};

struct Thread {
  enum class State : std::uint8_t { Ready, Barrier, Warp, Done } state = State::Ready;
  void* stack = nullptr;  ///< pointer where it left off; null: it has not run
  std::uint32_t stack_number = 0;
  std::uint32_t tid[3] = {0, 0, 0};
  std::uint32_t lane = 0, warp = 0;
  std::uint32_t site = kNoSite;  ///< where it waits
  // At a barrier.
  std::uint32_t barrier = 0;
  // In an operation of its warp.
  std::uint32_t operation = 0, mask = 0;
  std::uint32_t in[3] = {0, 0, 0};
  std::uint64_t wide = 0, result = 0;
  std::array<std::uint32_t, 10> fragment{};    ///< of mma: a, b, c, then the result
  std::vector<std::vector<AsyncCopy>> groups;  ///< cp.async: committed ones, then the open one
  std::vector<AsyncCopy> open;
  std::vector<std::vector<AsyncProduct>> product_groups;  ///< wgmma: committed ones, then the open one
  std::vector<AsyncProduct> open_products;
  std::map<std::uint32_t, AsyncSums> sums;
  std::uint32_t next_sums = 0;
  bool products_fenced = false;  ///< wgmma.fence since registers were last somebody else's
};

struct Execution {
  const KernelWork* work = nullptr;
  const Code* code = nullptr;
  std::vector<void*> params;
  std::vector<Thread> threads;  ///< of the block; one when they share a stack
  Thread* current = nullptr;
  void* scheduler = nullptr;  ///< its stack pointer while a thread runs
  bool failed = false;
  bool restart = false;          ///< a barrier opened: the scheduler starts from its first thread
  bool leaves = false;           ///< a thread has come to where all of its block return at once: no other need run
  bool shared_is_fresh = false;  ///< no thread has run since shared memory was last made unknown
  std::uint64_t shared_end = 0;  ///< end of dynamic shared memory
  struct Warp {
    std::uint32_t present = 0, waiting = 0, ended = 0;  ///< lanes
  };
  std::vector<Warp> warps;
  struct Barrier {
    std::uint32_t arrived = 0, expected = 0;
  } barriers[16];
};
extern Execution g_exec;

/// kernel_error with a message that outlives the thread that reports it.
[[noreturn]] void refuse(std::string text, std::uint32_t site);
/// Leaves the running thread; returns when the scheduler picks it again.
void yield();
/// Waits until every lane of the mask that has not ended does the same; then `result` is set.
std::uint64_t together(std::uint32_t operation, std::uint32_t mask, std::uint32_t site);
/// Operations from here on are perform_tensor's (tensor.cc), less this.
constexpr std::uint32_t kTensorOperation = 128;
void perform_tensor(std::uint32_t operation, Thread* warp, std::uint32_t members);
/// A thread ended: those of its warp that waited for it go on.
void end_lane(const Thread&);
bool on_kernel_stack(std::uint64_t p, std::uint64_t bytes);
/// "12 threads wait at ..., 4 have ended": for a block in which nobody can go on.
std::string describe_waiting();
/// What instruction a site is, for messages.
std::string site_text(std::uint32_t site);

}  // namespace sim
