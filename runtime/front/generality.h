#pragma once
#include "guards/general.h"
#include "runtime/front/compiled.h"
#include "runtime/front/layout_canonicalization.h"

namespace reprise::detail {

/// The generality of the trace for a miss (Note [General traces]). Starts from that of existing specializations of the
/// structure and widens a category after repeated misses: 8 for broadcasting (which sizes are 1), 1 for slice ends and
/// copies of reshapes. Compiled::mu is held.
guards::Generality generality_for(const Compiled&, CallFrame&);

/// The tensors that get any-stride code: a third layout has arrived, and no specialization reads their strides
/// (Compiled::strides_asked). Compiled::mu is held.
StridesAside strides_aside_for(const Compiled&, CallFrame&);

}  // namespace reprise::detail
