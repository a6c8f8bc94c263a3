#pragma once
#include <string>

#include "base/errors.h"
#include "reprise/source_location.h"

namespace reprise::detail {

// For what the library makes a region of where a trace is on its way, and else runs as it stands (Note [Regions that
// are called]). `where` names it, and need be no line.

/// False: nothing is traced, or this was tried and is no region.
bool becomes_region(SourceLoc where);
/// Called with what has ended the trace, which the caller throws on: the function is traced again without that region.
void is_no_region(SourceLoc where, const std::string& name, const Error& why);

}  // namespace reprise::detail
