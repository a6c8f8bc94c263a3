#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "reprise/communicator.h"

/// Memory through which the ranks of a group talk: of one process, or shared among processes. All zeros is its first
/// state, so that whoever maps it first has nothing to prepare.
namespace reprise::comm {

inline constexpr std::size_t kSlotBytes = std::size_t{128} << 10, kChannelBytes = std::size_t{32} << 10;
inline constexpr std::size_t kPlaceBytes = 104;

/// What a rank calls: compared with what the others do.
struct CallRecord {
  std::uint8_t kind, dtype, reduce, unused;
  std::int32_t root;
  std::int64_t n;
  char place[kPlaceBytes];

  bool fits(const CallRecord& o) const {
    return kind == o.kind && dtype == o.dtype && reduce == o.reduce && root == o.root && n == o.n;
  }
};

/// Counts what one rank has posted; others sleep on it.
struct alignas(64) Counter {
  std::atomic<std::uint32_t> value, sleepers;
};
struct alignas(64) Slot {
  CallRecord call;
  alignas(64) char data[kSlotBytes];
};
struct alignas(64) RankBlock {
  Counter posted;
  Slot slots[2];  ///< by the parity of the step
};
/// From one rank to another.
struct alignas(64) Channel {
  Counter written, read;
  CallRecord call;
  alignas(64) char data[kChannelBytes];
};

/// A view of such memory. `hold` keeps it mapped.
struct Region {
  int size = 0;
  char* base = nullptr;
  std::shared_ptr<void> hold;

  static std::size_t bytes(int size) {
    const auto n = static_cast<std::size_t>(size);
    return n * sizeof(RankBlock) + n * n * sizeof(Channel);
  }
  RankBlock& rank(int r) const { return reinterpret_cast<RankBlock*>(base)[r]; }
  Channel& channel(int from, int to) const {
    char* const channels = base + static_cast<std::size_t>(size) * sizeof(RankBlock);
    return reinterpret_cast<Channel*>(
        channels)[static_cast<std::size_t>(from) * static_cast<std::size_t>(size) + static_cast<std::size_t>(to)];
  }
};

/// What the ranks of a world know of each other: shared, too.
struct alignas(64) Ending {
  enum State : std::uint32_t { Running, Claimed, Told };
  std::atomic<std::uint32_t> state;
  std::int32_t rank;  ///< who ended the run
  char why[2000];
};
struct RankLife {
  std::atomic<std::int32_t> process;  ///< 0: not there yet, or a thread
  std::atomic<std::uint32_t> left;    ///< it makes no more calls
};

/// The world of a run: where groups find their regions. One object for all threads of a process.
class World {
 public:
  World(int size, double timeout_s) : size(size), timeout_s(timeout_s) {}
  virtual ~World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  /// The memory of these ranks, zeros where this rank is the first to ask. Throws Io.
  virtual Region region(const std::vector<int>& members) = 0;
  virtual Ending& ending() = 0;
  virtual RankLife& life(int rank) = 0;
  virtual const char* backend() const = 0;

  /// Ends the run, unless somebody has before: `why` is what the others are told.
  void end(int rank, const std::string& why) noexcept;
  /// Empty while it runs; else whom it ended at, and why.
  std::string ended();
  /// Has this rank died without saying so?
  bool is_dead(int rank);

  const int size;
  const double timeout_s;
};

/// The ranks as threads of this process.
std::shared_ptr<World> world_of_threads(int size, double timeout_s);
/// As processes, by shared memory of this name, which stays in the file system until it is removed.
std::shared_ptr<World> world_of_processes(const std::string& name, int size, double timeout_s);
/// Takes away what a run of this name has left in the file system.
void remove_shared_memory(const std::string& name) noexcept;

/// Rank `rank` of a world, all of its ranks.
std::shared_ptr<Communicator> member_of(std::shared_ptr<World>, int rank);

}  // namespace reprise::comm
