#pragma once
#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// Note [Kept parts]
/// A call that fails leaves its arguments as they were. What writes into an argument's memory therefore comes after all
/// that may fail; where it cannot (a cache is appended to, attention reads it, the next layer's append may fail),
/// copying the whole argument would take time by its size. Instead the part is written where it stands, and what was
/// there is copied before (the account calls it ours): if a later launch fails, it is put back. Placement does so for
/// operators that write and for joins around them (Assign::may_be_undone), in programs that the host runs: on a device
/// work goes on before the host hears of a fault.
///
/// Adds a copy before each launch that writes an input before number `last`, the last one that may fail, and at the end
/// what puts them back (Lowered::undo).
void keep_for_faults(const graph::Graph&, Lowered&, std::size_t last);

}  // namespace reprise::kernels
