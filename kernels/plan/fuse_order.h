#pragma once
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "kernels/plan/assign_buffers.h"
#include "kernels/plan/fuse.h"
#include "kernels/plan/kept_order.h"

namespace reprise::kernels {

/// What must run before what, while fusion makes units of items: the order in which it takes the items, which units
/// wait for which, and whether one leads to another. Units are numbered as they are added; the last item comes first,
/// so each is added before all others.
class FuseOrder {
 public:
  using Id = std::uint32_t;
  /// The plan is borrowed; its items and edges stay as they are. Throws Internal when its edges have a cycle.
  explicit FuseOrder(const BufferPlan&);

  /// The items, every edge leading forward.
  const std::vector<Id>& items() const { return items_; }
  /// The place of an item among them.
  std::uint32_t rank(Id item) const { return rank_[item]; }
  /// The units that hold an item: one stores it, or each of several computes it for itself. Fusion fills it.
  std::vector<std::uint32_t>& units_of(Id item) { return units_of_[item]; }
  const std::vector<std::uint32_t>& units_of(Id item) const { return units_of_[item]; }

  void add_unit();
  /// Item i has its place: notes which units come after those that hold it. (Where several compute it, each of its
  /// users does so for itself and waits for none.) Throws Internal when two units would wait for each other.
  void connect(Id i);
  /// Is `unit` one of `from`, or does one of them lead to it? True as well where the search is too long to be finished.
  bool leads_to(const std::vector<std::uint32_t>& from, std::uint32_t unit);
  /// The units in an order that is valid for launches, the program's own where nothing forbids it.
  std::vector<Unit> sorted(std::vector<Unit> units) const;

 private:
  const BufferPlan& p_;
  std::vector<Id> items_;
  std::vector<std::uint32_t> rank_;                   // by item: position in items_
  std::vector<std::vector<std::uint32_t>> units_of_;  // by item
  KeptOrder order_;                                   // of the units
  std::vector<std::vector<std::uint32_t>> after_;     // by unit: those that wait for it, each once
  std::unordered_set<std::uint64_t> edges_;           // the same as pairs
};

}  // namespace reprise::kernels
