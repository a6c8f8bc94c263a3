#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

/// Races, found in whatever order was run: for each byte of memory, who wrote it last and who has read it since. Two
/// accesses, one of which writes, are a race unless something orders them: a barrier between threads of a block
/// (bar.warp.sync between lanes of a warp); a path between nodes of a graph; the order of a stream, events and waits of
/// the host between what is launched. Blocks of a launch are ordered where one has a fence before an atomic operation,
/// and the other one a fence behind a later one on the same place. Atomic operations do not race with each other, nor
/// do stores of a number that is there already. (REPRISE_SIM_RACES, README.md)
///
/// What is executed at a time is a task: a kernel, a copy, a memset. A number that grows with each task, block and
/// barrier, the epoch, says who an access came from. All of it is under the lock.
namespace sim {

/// Of each stream, how many of its operations come before: a vector clock, by Stream::line. Shorter ones end with
/// zeros.
using Clock = std::vector<std::uint64_t>;
void join(Clock& into, const Clock& from);

enum class Races { Off, Tell, Fail };  ///< Tell: each pair of instructions once, and go on

struct RaceState {
  Races what = Races::Off;
  std::uint32_t epoch = 0;                        ///< now
  std::uint32_t task_begin = 0, block_begin = 0;  ///< epochs
  bool kernel = false;                            ///< the task has threads
  bool early = false;                             ///< and they must wait for what comes before
  std::uint64_t waited[32] = {};                  ///< those that have, bit by bit; of this block
  std::uint8_t phase[32] = {};                    ///< by warp: barriers of its own
};
extern RaceState g_race;
inline bool races() { return g_race.what != Races::Off; }

// ---- orders

/// A host that has waited for what `c` says: all that it submits later comes after. Threads of the host count as one.
void host_waited_for(const Clock& c);
const Clock& host_clock();

/// The operation of a stream that runs now.
void race_operation(std::shared_ptr<const Clock>, std::uint32_t line, std::uint64_t number);
/// The run of a graph begins: by step, those it comes after, which have smaller numbers, and of these the ones that its
/// threads wait for by themselves (griddepcontrol.wait): until then a thread comes after what those came after before
/// they waited. Then each step; then its end.
void race_graph(const std::vector<const std::vector<std::uint32_t>*>& after,
                const std::vector<const std::vector<std::uint32_t>*>& early);
/// The running thread waits for them; it ends, which it may not without.
void race_wait();
/// A fence for all of the device, of the running thread.
void race_fence();
void race_thread_end();
void race_step(std::uint32_t step);
void race_graph_end();
void race_task(const std::string& name, bool kernel);
void race_kernel_end();  ///< of a task with threads

void race_block_begins();
inline void race_block() {
  if (!races()) return;
  g_race.block_begin = ++g_race.epoch;
  race_block_begins();
  if (g_race.early) std::memset(g_race.waited, 0, sizeof g_race.waited);
}
inline void race_barrier() { g_race.epoch += races(); }
inline void race_warp_barrier(std::uint32_t warp) { ++g_race.phase[warp & 31]; }

// ---- accesses

enum class Touch { Read, Write, Atomic };
void race_touch(std::uint64_t p, std::uint64_t bytes, Touch, std::uint32_t site);
inline void race_access(std::uint64_t p, std::uint64_t bytes, Touch t, std::uint32_t site) {
  if (races()) [[unlikely]]
    race_touch(p, bytes, t, site);
}
/// The memory is given back: what comes there later has nothing to do with it.
void race_forget(std::uint64_t p, std::uint64_t bytes);

}  // namespace sim
