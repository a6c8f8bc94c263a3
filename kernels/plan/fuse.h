#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/plan/assign_buffers.h"
#include "kernels/plan/fuse_map.h"

namespace reprise::kernels {

/// One future launch: a native item alone, or the items of one loop kernel.
struct Unit {
  struct Store {
    std::uint32_t item;  ///< Fused (stores what it makes), Copy or Scatter
    IndexMap map;        ///< element of the stored value (Scatter: of its walk) at each loop index
  };
  struct Demand {
    graph::ValueId value;  ///< a Fused value (never a view) this kernel uses
    IndexMap map;
  };
  bool loop = false;
  std::vector<std::uint32_t> items;  ///< stored ones and those recomputed inside
  Ints extents;                      ///< loops, in the order of the space they came from
  std::vector<bool> reduced;
  /// by loop: reduced, and counts the parts of a row that other reductions fold each by itself; empty: none does
  std::vector<bool> part;
  std::vector<Store> stores;
  std::vector<Demand> demands;
  std::vector<std::uint32_t> reads;        ///< root values it looks at (through memory or not); for sharing
  std::vector<std::uint32_t> from_memory;  ///< Fused root values it can only read from memory: never made here

  bool has_reduce() const;
  bool has_parts() const;
  /// The loops that `map` leaves out, if these are what the kernel folds: all that is reduced, or all inside parts.
  bool folds(const std::vector<bool>& loops) const;
  /// Can it fold these loops beside what it folds already?
  bool may_fold(const std::vector<bool>& loops) const;
  void fold(const std::vector<bool>& loops);
  /// Loop l becomes loops over `into`.
  void split(int l, const Ints& into);
  bool has(std::uint32_t item) const;

  /// elements one task may reduce before its users get their own kernel
  static constexpr std::int64_t kSerialReduction = 1 << 14;
};

/// Groups the Fused, Copy and Scatter items into loop kernels, in an order that is valid for the launches. `fuse` off:
/// every item is a unit of its own. Fills plan.place for the values that end up in memory.
///
/// Items are taken consumers first. Each is either computed inside every kernel that uses it (its only user, or cheap),
/// or stored: by a user whose loops run over exactly its elements, by a kernel over the same space that reads the same
/// values, or by a new kernel. An item never joins a kernel that depends on it through other work.
std::vector<Unit> fuse(const graph::Graph&, BufferPlan& plan, bool fuse);

/// The operands of Fused, Copy or Scatter item `item` that are evaluated (not its gather table; of Scatter the value,
/// then the indices), with the element each is read at, when the item's value is wanted at `map`.
std::vector<Unit::Demand> operand_maps(const graph::Graph&, const Item& item, const IndexMap& map, const Unit& unit);
/// Dims that a Reduction node reduces.
std::vector<bool> reduced_dims(const graph::Graph&, const graph::Node&);
bool keeps_dims(const graph::Node&);

}  // namespace reprise::kernels
