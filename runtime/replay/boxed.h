#pragma once
#include <atomic>
#include <cstdint>
#include <vector>

#include "runtime/call/given.h"
#include "runtime/replay/program.h"

namespace reprise {
struct Storage;
}

namespace reprise::runtime {

// Note [Boxed replays]
// Of a replay whose caller gives up arguments (Note [Given arguments] in runtime/call/given.h) each result is allocated
// right before the first step that writes it, and what was given goes behind the last step that uses it. Temporaries
// stand in the pool where that is large enough as it is; otherwise they come and go like results. So at each step so
// much is alive as a walk of eager operators would have alive. On the host alone, and of programs whose steps run once
// each, in order, and cannot fail once they are running: what has gone is not there for another attempt.

/// Bytes that must be given: below it the time for allocations is worth more than the memory. (Tests set it.)
extern constinit std::atomic<std::int64_t> boxed_worth;

/// What lives between which steps of a program. Of the program alone: sizes decide nothing about it.
struct BoxedPlan {
  explicit BoxedPlan(const Program&);
  bool is_possible = false;
  static constexpr std::uint32_t kUnread = ~0u;
  std::vector<std::uint32_t> last_read;  ///< by input: the last step that uses it
  struct Moment {
    std::uint32_t step, buffer;
  };
  std::vector<Moment> made;  ///< results and temporaries, ascending: before their first step
  std::vector<Moment> gone;  ///< temporaries, ascending: behind their last
};

/// One such replay.
class BoxedReplay {
 public:
  /// `base`: by buffer; those of results are set when they are made, and so are those of temporaries unless they stand
  /// `in_pool`.
  BoxedReplay(const Program&, const BoxedPlan&, SlotValues, void** base, bool in_pool);
  ~BoxedReplay();  ///< what is left of temporaries goes
  BoxedReplay(const BoxedReplay&) = delete;
  /// Is it worth it? What is given, and is nobody else's, is to go as it is read. From then on the replay must run.
  static bool is_worth_it(const detail::Given&, TensorImpl* const* inputs, std::size_t n_inputs);
  void give(const detail::Given&, TensorImpl* const* inputs, std::size_t n_inputs);
  /// A result's storage, which gets its bytes when it is made.
  Storage* result(std::uint32_t buffer);

  void before(std::uint32_t step) {
    while (next_made_ < plan_.made.size() && plan_.made[next_made_].step <= step) make(plan_.made[next_made_++].buffer);
  }
  void behind(std::uint32_t step) {
    while (next_gone_ < plan_.gone.size() && plan_.gone[next_gone_].step <= step) drop(plan_.gone[next_gone_++].buffer);
    while (next_given_ < given_.size() && given_[next_given_].step <= step) release(*given_[next_given_++].storage);
  }
  static std::int64_t released_bytes();  ///< by all of the process so far

 private:
  struct Going {
    std::uint32_t step;
    Storage* storage;
  };
  void make(std::uint32_t buffer);
  void drop(std::uint32_t buffer) noexcept;
  void release(Storage&) noexcept;

  const Program& program_;
  const BoxedPlan& plan_;
  const SlotValues slots_;
  void** const base_;
  const bool in_pool_;
  std::vector<Storage*> results_;  ///< by buffer; null: a temporary
  std::vector<Going> given_;       ///< ascending
  std::size_t next_made_ = 0, next_gone_ = 0, next_given_ = 0;
};

}  // namespace reprise::runtime
