#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tests/cuda_sim/execution.h"
#include "tests/cuda_sim/graph.h"
#include "tests/cuda_sim/memory.h"
#include "tests/cuda_sim/race.h"

// Saves what a function must keep, changes stacks, and returns on the other one. Without a system call (unlike
// swapcontext, which is an order of magnitude slower).
asm(R"(
.text
.p2align 4
.hidden sim_switch_stack
.globl sim_switch_stack
.type sim_switch_stack,@function
sim_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size sim_switch_stack,.-sim_switch_stack
)");
extern "C" void sim_switch_stack(void** save, void* to);

namespace sim {

ThreadIds g_ids;
Execution g_exec;

namespace {

constexpr std::uint64_t kStack = 128 << 10, kGuard = 4096, kMaxThreads = 1024;

/// Memory of stacks for a block's threads. Their pages are touched as they are used.
char* stacks() {
  static char* const all = [] {
    void* p =
        mmap(nullptr, kStack * kMaxThreads, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) fail(CUDA_ERROR_OUT_OF_MEMORY, "no stacks for the threads of a block");
    for (std::uint64_t i = 0; i < kMaxThreads; ++i) mprotect(static_cast<char*>(p) + i * kStack, kGuard, PROT_NONE);
    return static_cast<char*>(p);
  }();
  return all;
}

/// Stacks that no thread has. The one given back last is taken next: threads that end before anybody waits, as all of
/// an empty block do, follow one another on one stack, which stays in the nearest cache.
class FreeStacks {
 public:
  FreeStacks() { give_all(); }
  /// After a kernel that failed: its threads never end.
  void give_all() {
    free_.clear();
    for (std::uint32_t i = kMaxThreads; i-- > 0;) free_.push_back(i);
  }
  std::uint32_t take() {
    const std::uint32_t i = free_.back();
    free_.pop_back();
    return i;
  }
  void give(std::uint32_t i) { free_.push_back(i); }

 private:
  std::vector<std::uint32_t> free_;
};
FreeStacks& free_stacks() {
  static FreeStacks all;
  return all;
}

using Main = void (*)();

/// The thread starts in `main` when it runs first.
void prepare(Thread& t, Main main) {
  t.stack_number = free_stacks().take();
  // 8 past a multiple of 16, as at the start of any function; and not all at the same place of a page, where they would
  // contend for the same lines of the cache.
  const std::uint64_t index = t.stack_number, from_end = 56 + index % 61 * 64;
  auto* top = reinterpret_cast<void**>(stacks() + (index + 1) * kStack - from_end);
  top[0] = nullptr;  // where `main` would return to
  top[-1] = reinterpret_cast<void*>(main);
  for (int r = 2; r <= 7; ++r) top[-r] = nullptr;  // six registers
  t.stack = top - 7;
}

void resume(Thread& t) {
  g_exec.current = &t;
  sim_switch_stack(&g_exec.scheduler, t.stack);
}

void set_thread(std::uint32_t x, std::uint32_t y, std::uint32_t z, std::uint32_t linear) {
  g_ids.tid[0] = x, g_ids.tid[1] = y, g_ids.tid[2] = z;
  g_ids.lane = linear % 32, g_ids.warp = linear / 32;
}

/// Numbers [0, n) in the order that the settings ask for.
void order_of(std::vector<std::uint32_t>& order, std::uint64_t n) {
  order.resize(n);
  std::iota(order.begin(), order.end(), 0u);
  if (settings().order == Order::Reverse) std::reverse(order.begin(), order.end());
  if (settings().order == Order::Random)
    for (std::uint64_t i = n; i > 1; --i) std::swap(order[i - 1], order[random_number() % i]);
}

void start_block(std::uint32_t linear) {
  race_block();
  const Dim& g = g_exec.work->grid;
  g_ids.ctaid[0] = linear % g.x, g_ids.ctaid[1] = linear / g.x % g.y, g_ids.ctaid[2] = linear / g.x / g.y;
  const std::uint64_t window = g_arena.base;
  g_exec.leaves = false;
  if (!g_exec.shared_is_fresh && g_exec.shared_end > window)
    memory().mark(window, g_exec.shared_end - window, kUnknown);
  g_exec.shared_is_fresh = true;
}

std::vector<std::uint32_t>& block_order() {
  static std::vector<std::uint32_t> order;
  return order;
}

/// All threads of all blocks, one after another, on one stack.
void run_all() {
  const Dim& b = g_exec.work->block;
  const auto entry = g_exec.work->function->kernel.entry;
  static std::vector<std::uint32_t> order;
  const std::uint32_t n = b.x * b.y * b.z;
  for (std::uint32_t block : block_order()) {
    start_block(block);
    if (settings().order == Order::Forward) {
      std::uint32_t linear = 0;
      for (std::uint32_t z = 0; z < b.z && !g_exec.leaves; ++z)
        for (std::uint32_t y = 0; y < b.y && !g_exec.leaves; ++y)
          for (std::uint32_t x = 0; x < b.x && !g_exec.leaves; ++x) {
            set_thread(x, y, z, linear++);
            entry(g_exec.params.data());
            race_thread_end();
          }
    } else {
      order_of(order, n);
      for (std::uint32_t i : order) {
        set_thread(i % b.x, i / b.x % b.y, i / b.x / b.y, i);
        entry(g_exec.params.data());
        race_thread_end();
        if (g_exec.leaves) break;
      }
    }
    g_exec.shared_is_fresh = g_exec.leaves;
  }
  g_exec.current->state = Thread::State::Done;
  yield();
}

void run_one() {
  g_exec.work->function->kernel.entry(g_exec.params.data());
  race_thread_end();
  g_exec.current->state = Thread::State::Done;
  yield();
}

void run_block() {
  const Dim& b = g_exec.work->block;
  const std::uint32_t n = b.x * b.y * b.z;
  for (std::uint32_t i = 0; i < n; ++i) {
    Thread& t = g_exec.threads[i];
    t.state = Thread::State::Ready;
    t.tid[0] = i % b.x, t.tid[1] = i / b.x % b.y, t.tid[2] = i / b.x / b.y;
    t.lane = i % 32, t.warp = i / 32;
    t.groups.clear(), t.open.clear();
    t.product_groups.clear(), t.open_products.clear(), t.sums.clear(), t.next_sums = 0, t.products_fenced = false;
    t.stack = nullptr;
  }
  g_exec.warps.assign((n + 31) / 32, {~0u, 0, 0});
  if (n % 32) g_exec.warps.back().present = (1u << n % 32) - 1;
  for (auto& bar : g_exec.barriers) bar = {};
  static std::vector<std::uint32_t> order;
  order_of(order, n);
  std::uint32_t ended = 0;
  for (;;) {
    bool progress = false;
    g_exec.restart = false;
    for (std::uint32_t i : order) {
      Thread& t = g_exec.threads[i];
      if (t.state != Thread::State::Ready) continue;
      set_thread(t.tid[0], t.tid[1], t.tid[2], i);
      if (!t.stack) prepare(t, run_one);
      resume(t);
      if (g_exec.failed) return;
      progress = true;
      if (g_exec.leaves) return free_stacks().give(t.stack_number);
      if (t.state == Thread::State::Done) ++ended, free_stacks().give(t.stack_number), end_lane(t);
      if (g_exec.failed) return;
      if (g_exec.restart) break;
    }
    if (ended == n) return;
    if (!progress) {
      const Thread* waiting = nullptr;
      for (const Thread& t : g_exec.threads)
        if (t.state != Thread::State::Done && !waiting) waiting = &t;
      set_thread(waiting->tid[0], waiting->tid[1], waiting->tid[2],
                 static_cast<std::uint32_t>(waiting - g_exec.threads.data()));
      g_exec.failed = true;
      report_error(CUDA_ERROR_LAUNCH_FAILED,
                   cat("kernel ", g_exec.work->function->name, ", block (", g_ids.ctaid[0], ",", g_ids.ctaid[1], ",",
                       g_ids.ctaid[2], "): no thread can go on: ", describe_waiting()));
      return;
    }
    if (settings().order == Order::Random) order_of(order, n);
  }
}

std::string where() {
  return cat("kernel ", g_exec.work->function->name, ", block (", g_ids.ctaid[0], ",", g_ids.ctaid[1], ",",
             g_ids.ctaid[2], "), thread (", g_ids.tid[0], ",", g_ids.tid[1], ",", g_ids.tid[2], ")");
}

}  // namespace

void yield() { sim_switch_stack(&g_exec.current->stack, g_exec.scheduler); }

bool on_kernel_stack(std::uint64_t p, std::uint64_t bytes) {
  const std::uint64_t offset = p - reinterpret_cast<std::uint64_t>(stacks());
  return offset < kStack * kMaxThreads && offset + bytes <= kStack * kMaxThreads;
}

std::string site_text(std::uint32_t site) {
  std::string s = site == kNoSite ? "" : instruction_text(g_exec.code->bitcode, site);
  return s.empty() ? "" : cat(" [", s, "]");
}

void report_kernel_error(int result, const char* what, std::uint32_t site) {
  if (!g_exec.failed) report_error(static_cast<CUresult>(result), cat(where(), ": ", what, site_text(site)));
  g_exec.failed = true;
}

void kernel_error(int result, const char* what, std::uint32_t site) {
  report_kernel_error(result, what, site);
  yield();
  __builtin_unreachable();
}

void run_kernel(const KernelWork& w) {
  ++counters().launches;
  const std::uint64_t blocks = std::uint64_t{w.grid.x} * w.grid.y * w.grid.z;
  const std::uint64_t threads = std::uint64_t{w.block.x} * w.block.y * w.block.z;
  counters().threads += blocks * threads;
  const LoadedKernel& f = *w.function;
  if (f.unloaded)
    return report_error(CUDA_ERROR_ILLEGAL_ADDRESS, cat("kernel ", f.name, " runs after its module was unloaded"));
  race_task(f.name, !f.native && !f.stand_in);
  if (f.stand_in) return run_stand_in(w);
  if (f.native) return f.native(w.params.data(), w.params.size());

  Execution& e = g_exec;
  e.work = &w;
  e.code = f.code.get();
  e.failed = false;
  e.shared_is_fresh = false;
  e.params.clear();
  for (const Parameter& p : f.params) e.params.push_back(const_cast<char*>(w.params.data()) + p.offset);
  const std::uint32_t grid[3] = {w.grid.x, w.grid.y, w.grid.z}, block[3] = {w.block.x, w.block.y, w.block.z};
  std::memcpy(g_ids.nctaid, grid, sizeof grid);
  std::memcpy(g_ids.ntid, block, sizeof block);
  g_ids.warps = static_cast<std::uint32_t>((threads + 31) / 32);
  g_ids.dynamic_shared = w.shared_bytes;
  e.shared_end = e.code->static_shared || w.shared_bytes ? e.code->dynamic_base + w.shared_bytes : 0;
  order_of(block_order(), blocks);
  if (!e.code->cooperates) {
    e.threads.resize(std::max<std::size_t>(e.threads.size(), 1));
    e.threads[0].state = Thread::State::Ready;
    prepare(e.threads[0], run_all);
    resume(e.threads[0]);
    free_stacks().give(e.threads[0].stack_number);
    return race_kernel_end();
  }
  e.threads.resize(threads);
  for (std::uint32_t b : block_order()) {
    start_block(b);
    run_block();
    e.shared_is_fresh = e.leaves;
    if (!e.failed) continue;
    free_stacks().give_all();
    break;
  }
  race_kernel_end();
}

}  // namespace sim
