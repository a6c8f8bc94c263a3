#pragma once
#include "guards/general.h"
#include "runtime/compiled.h"
#include "runtime/seen_as.h"

namespace reprise::detail {

/// How general the trace of a call that nothing admits should be (Note [General traces]): as general as what its structure was compiled for,
/// and where that has failed in one kind of question for an eighth time (which sizes are 1) or once (where slices end, whether a
/// reshape copies), in this kind, too. With Compiled::mu held.
guards::Generality generality_for(const Compiled&, CallFrame&);

/// Which of its tensors may have any strides: those of which something was compiled for another layout, where that is so of a third layout of the call,
/// and what that is looks at none (Compiled::strides_asked). With Compiled::mu held.
StridesAside strides_aside_for(const Compiled&, CallFrame&);

}  // namespace reprise::detail
