#pragma once
#include <string>

#include "runtime/compiled.h"

namespace reprise::detail {

/// Which guard, or which part of the structure, of which specialization came closest to admitting a call, in words.
struct NearestMiss {
  std::string name;            ///< the specialization's; empty: there is none
  std::string failed, remedy;  ///< "x.size(0) is 8, was 4"; what the user can do
};

/// With `mu` held. Of other structures the one that differs in the fewest arguments, the latest first. `names`: of the call's words.
NearestMiss nearest_miss(const Compiled&, CallFrame&, const StructureNames& names);

}  // namespace reprise::detail
