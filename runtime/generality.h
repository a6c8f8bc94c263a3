#pragma once
#include "guards/general.h"
#include "runtime/compiled.h"

namespace reprise::detail {

/// How general the trace of a call that nothing admits should be (Note [General traces]): as general as what its structure was compiled for,
/// and where that has failed in one kind of question for a second time (where slices end), an eighth (which sizes are 1) or a first (whether a reshape copies), in this kind, too. With Compiled::mu held.
guards::Generality generality_for(const Compiled&, CallFrame&);

}  // namespace reprise::detail
