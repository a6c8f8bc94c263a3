#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/plan/assign_buffers.h"
#include "kernels/plan/fuse.h"

namespace reprise::kernels {

// Note [What fusion keeps alive]
// An operator that is computed inside its user stores nothing, but what it reads must stay until the user runs: a sum
// of many products in one kernel keeps all the products, where one addition after the other keeps two. So fusion is
// asked what it keeps. Where that is notably more than the same program keeps without fusion, it is done again, and
// whatever would bring the program above the bound then stays apart. The bytes are those of the traced call: they rank
// choices, each of which is right for all sizes.

/// Bytes of temporaries while a program runs, before any has its place in the pool.
class KeptBytes {
 public:
  using Id = std::uint32_t;
  /// Of the plan as it is before fusion. `order`: its items, every edge leading forward; `root`: by value. Borrows the
  /// plan's items.
  KeptBytes(const graph::Graph&, const BufferPlan&, std::span<const Id> order, std::span<const graph::ValueId> root);

  /// The most at a time where each item is a launch of its own.
  std::int64_t unfused() const { return unfused_; }
  /// The most that a fused program may keep.
  std::int64_t bound() const { return bound_; }

  /// Asked of the items from the last one on: may item i, whose turn in the order is `from`, run at `at`, so that what
  /// it reads is kept until then? What it makes is kept from then on, or nowhere if it is not `stored`; what is stored
  /// beside it, `beside`, is there from then on as well. True: it is so from now on.
  bool run_at(Id i, std::uint32_t from, std::uint32_t at, bool stored, std::span<const graph::ValueId> beside = {});
  /// Of how many items the answer was no.
  std::int64_t apart() const { return apart_; }

 private:
  /// Something that takes memory: a buffer, or a value that would get one.
  struct Holder {
    std::int64_t bytes = 0;
    std::uint32_t first = ~0u, last = 0;  ///< in the order
    bool value = false;                   ///< nothing else is there
  };
  void add(std::uint32_t first, std::uint32_t last, std::int64_t bytes);
  std::int64_t most_in(std::uint32_t first, std::uint32_t last) const;
  void plant();

  const std::vector<Item>& items_;
  std::vector<Holder> holders_;
  std::vector<std::int32_t> of_;  ///< by value: what its root is held by; -1: no temporary
  std::int64_t unfused_ = 0, bound_ = 0, apart_ = 0;
  Id refused_ = ~0u;  ///< the last one
  // A tree over the order, made when it is first asked: of each node, what was added to all of it, and with that the
  // most below it.
  std::size_t leaves_ = 0;
  std::vector<std::int64_t> added_, most_;
};

/// The most that the units keep at a time, run in their order.
std::int64_t most_kept(const graph::Graph&, const BufferPlan&, const std::vector<Unit>&,
                       std::span<const graph::ValueId> root);

}  // namespace reprise::kernels
