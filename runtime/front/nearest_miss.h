#pragma once
#include <string>

#include "runtime/front/compiled.h"

namespace reprise::detail {

/// Which guard, or which part of the structure, of which specialization came closest to admitting a call, in words.
struct NearestMiss {
  std::string name;                                    ///< the specialization's; empty: there is none
  std::string failed, remedy;                          ///< "x.size(0) is 8, was 4"; what the user can do
  std::string argument{}, seen{}, expected{}, line{};  ///< as in Miss
};

/// With `mu` held. The one of whose structure the fewest arguments are another, of these the one of whose guards the
/// fewest fail, of these the one that was traced with the nearest values, and then the latest. `names`: of the call's
/// words.
NearestMiss nearest_miss(const Compiled&, CallFrame&, const StructureNames& names);

}  // namespace reprise::detail
