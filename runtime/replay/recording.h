#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kernels/plan/temp_plan.h"
#include "reprise/compile.h"
#include "runtime/call/call_frame.h"
#include "runtime/replay/boxed.h"
#include "runtime/replay/device_replay.h"
#include "runtime/replay/epilogue.h"
#include "runtime/replay/host_steps.h"
#include "runtime/replay/pool.h"
#include "runtime/replay/program.h"
#include "runtime/replay/recording_budget.h"

namespace reprise::runtime {

/// The latest plan of temporaries: sizes that leave all of them as large as they were share it (a position that moves
/// in a cache changes no temporary).
struct PlanMemory {
  std::vector<std::int64_t> bytes;
  kernels::TempPlan plan;
  std::uint64_t version = 0, plans = 0;  ///< number of this plan, 0: there is none; how many there were
};

// Note [Words of a recording]
// On a device, numbers that kernels take stand in cells beside the addresses (Program::word_cells), which a graph's
// first node uploads. A recording is for what cannot be there: the sizes of products that a library computes, of other
// libraries' work, of checks and of steps of the host (key_words). All other values of the call move (moving_words),
// seeds, positions, floats and lengths alike: each replay evaluates what depends on them. Where they decide about grids
// and about the bytes of temporaries a recording has upper bounds for these, of a class of sizes (Program::bounds), and
// its key is the values of key words and the bounds: a block with nothing to do reads how many have, and ends. So sizes
// that grow make a logarithmic number of recordings, and one while grids fit a device at once. A grid of nothing is a
// class of its own: its node is left out.

/// A program bound to one set of sizes: every size, stride, grid and offset resolved. What still moves from call to
/// call are the addresses of inputs and results, which a replay fills in.
class Recording {
 public:
  /// `budget`: within which it is kept; null: none.
  static std::shared_ptr<Recording> make(const Program&, const std::int64_t* values, PlanMemory&,
                                         std::shared_ptr<const RecordingBudget> budget = nullptr);
  /// For other values, with the memory and the executable graphs that are there; only what the values change is
  /// resolved again. While nobody replays it. After a throw it is of no use any more.
  void rebind(const std::int64_t* values, PlanMemory& memory) { bind(values, memory); }

  /// Runs every launch and builds the results. Throws what a kernel reports, with the operator's name and line; then
  /// the arguments are as before (a launch that may fail stands before every write to an argument). `inputs`: impls in
  /// graph order. Threads: any number at once.
  void replay(const std::int64_t* values, TensorImpl* const* inputs, detail::Outputs& outputs,
              const std::vector<std::int32_t>& tensor_results, std::int64_t* copied_bytes);

  /// Ahead of all calls: sees that the pool has the memory that a replay on this thread takes, and that graphs are on
  /// the device.
  void reserve();

  std::int64_t bytes() const { return bytes_; }
  std::int64_t temp_bytes() const { return temp_bytes_; }
  /// device memory of its executable graphs; part of bytes()
  std::int64_t graph_bytes() const { return graph_bytes_; }

 private:
  /// What one replay writes into. Replays at once have one each.
  struct Instance {
    explicit Instance(const Program& p) : host(p) {}
    HostSteps host;
    std::unique_ptr<DeviceReplay> device;  // null on the host
    std::vector<void*> base;               // Program::cells
    // of this call, when the program draws random numbers or has words that move
    std::vector<std::int64_t> slots;
    // What the latest call has left here, and the next one with the same words finds as it needs it: slots, cells of
    // words, addresses of temporaries.
    bool resolved = false;
    std::vector<std::int64_t> words;  // by Program::moving_words
    char* lane = nullptr;
    // of Program::word_cells, those that are a float's bits: they are no moving words
    std::vector<std::uint32_t> float_cells;
    std::vector<std::int64_t> params;  // of this call, when floats are among them
    std::vector<std::int64_t> floats;  // Program::float_exprs of this call
    std::vector<Storage*> results;     // by graph output
    std::vector<MovedStorage> moved;   // room for the epilogue, which may not allocate
    std::unique_ptr<BoxedPlan> boxed;  // null: nobody has given it anything
  };
  Recording(const Program& p, std::shared_ptr<const RecordingBudget> budget)
      : program_(p), budget_(std::move(budget)) {}
  bool is_sealed() const { return budget_ && budget_->sealed.load(std::memory_order_relaxed); }
  void bind(const std::int64_t* values, PlanMemory&);
  SlotValues slots() const { return SlotValues(slots_.data()); }
  void plan_temps(PlanMemory&);
  /// `old`: one for other slots, of which `changed` are different now; or null.
  std::int64_t lane_bytes(const Instance&) const;  ///< of the pool, of which the last are the workspace
  std::unique_ptr<Instance> make_instance(std::unique_ptr<Instance> old, const std::vector<Slot>& changed) const;
  Instance* take_instance();  // one that waits, or null
  /// Resolves what moves from call to call; most calls have the words of the one before.
  SlotValues resolve(Instance&, const std::int64_t* values, const Lane&) const;
  /// How a replay runs that is given arguments; null: as any other.
  const BoxedPlan* boxed_plan(Instance&, const detail::Given&, TensorImpl* const* inputs) const;
  struct Returner;

  const Program& program_;  // the specialization outlives its recordings
  const std::shared_ptr<const RecordingBudget> budget_;
  std::vector<std::int64_t> slots_, old_slots_;  // old_slots_: of the values before; kept for its memory
  std::vector<Slot> changed_;                    // between the two
  std::vector<std::int64_t> bounds_;             // Program::bounds
  std::vector<std::int64_t> params_;             // of loop steps, in a row
  std::vector<std::int64_t> temp_offset_;        // by buffer, -1: not a temp
  std::uint64_t plan_version_ = 0;               // that temp_offset_ is of
  std::int64_t temp_bytes_ = 0, bytes_ = 0, graph_bytes_ = 0;
  /// Instances that wait for the next replays: as many as threads usually overlap.
  std::array<std::atomic<Instance*>, 4> free_{};

 public:
  ~Recording() {
    for (std::atomic<Instance*>& i : free_) delete i.load();
  }
};

/// The recordings of one specialization, by the values they depend on. Threads: any; who frees them when is in
/// Note [Who frees what] (runtime/front/compiled.h).
class RecordingCache {
 public:
  explicit RecordingCache(const Program& p) : program_(p) {}
  ~RecordingCache();  ///< while no call is in it; other caches of its budget may be in use
  /// Once, before the first get().
  void keep_within(std::shared_ptr<RecordingBudget>);
  /// Finds or makes. The pointer keeps an evicted recording alive until its replay is over.
  /// `made`: set where it was made, and told whether `ahead` of all calls (then it is none that served one call alone).
  std::shared_ptr<Recording> get(const std::int64_t* values, const std::string& name, bool* made = nullptr,
                                 bool ahead = false);
  /// Is there one for these values?
  bool has(const std::int64_t* values) const;
  struct Counts {
    std::int64_t live, made, evicted, bytes;
  };
  Counts counts() const;

  // For the budget.
  static constexpr std::uint64_t kNone = UINT64_MAX;
  /// when it was used; kNone: there is none
  std::uint64_t oldest() const { return oldest_.load(std::memory_order_relaxed); }
  /// False where another thread has the lock.
  bool try_drop_oldest();

 private:
  struct Entry {
    std::vector<std::int64_t> key;  // values of the key words, bounds
    // where there are bounds: values of the moving words of the latest call that it has served; or empty
    std::vector<std::int64_t> moving;
    std::uint64_t hash;
    std::shared_ptr<Recording> recording;
    std::uint64_t used = 0;  // when (RecordingBudget::now)
    bool hit = false;        // it has served more than the call that it was made for
  };
  using Entries = std::list<Entry>;
  using ByHash = std::unordered_multimap<std::uint64_t, Entries::iterator>;
  /// Program::bounds of these values.
  std::vector<std::int64_t> bounds_of(const std::int64_t* values) const;
  std::uint64_t hash_of(const std::int64_t* values, const std::vector<std::int64_t>& bounds) const;
  bool is_for(const Entry&, std::uint64_t hash, const std::int64_t* values,
              const std::vector<std::int64_t>& bounds) const;
  // All under mu_:
  /// Does it serve these values because it has served the same ones? Asks no bounds.
  bool has_served(const Entry&, const std::int64_t* values) const;
  void add(std::uint64_t hash, const std::int64_t* values, const std::vector<std::int64_t>& bounds);  // in front
  /// One that a new recording may be made out of rather than anew; end(): none. `returns`: its sizes have been here
  /// before.
  Entries::iterator spare(bool returns);
  /// To the front, for these values.
  void recycle(Entries::iterator, std::uint64_t hash, const std::int64_t* values,
               const std::vector<std::int64_t>& bounds);
  void drop(Entries::iterator);
  ByHash::iterator position(Entries::iterator);
  /// So many more entries are there, of so many bytes more; or fewer. The one place where that is counted.
  void account(std::int64_t count, std::int64_t bytes);
  void note_evicted(const Entry&) const;
  void publish_oldest() { oldest_.store(entries_.empty() ? kNone : entries_.back().used, std::memory_order_relaxed); }

  const Program& program_;
  std::shared_ptr<RecordingBudget> budget_;
  std::atomic<std::uint64_t> oldest_{kNone};  // written under mu_
  mutable std::mutex mu_;
  // guarded by mu_; whose recordings they are, for the log
  std::string name_;
  Entries entries_;                                  // guarded by mu_; most recently used first
  ByHash by_hash_;                                   // guarded by mu_
  PlanMemory plan_;                                  // guarded by mu_
  std::int64_t bytes_ = 0, made_ = 0, evicted_ = 0;  // guarded by mu_; bytes_ by account()
  std::int64_t misses_ = 0;                          // guarded by mu_; since the latest hit
  // guarded by mu_; hashes of sizes whose recording was changed to others
  std::unordered_set<std::uint64_t> changed_;
};

}  // namespace reprise::runtime
