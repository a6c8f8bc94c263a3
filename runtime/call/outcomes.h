#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reprise/source_location.h"

namespace reprise::detail {

/// What a call has decided where the function branches on a value of a tensor (Note [Branches on values] in
/// runtime/build/branches.h).
struct Outcome {
  std::int64_t value = 0;  ///< 0 or 1; of an integer that becomes a constant what it is
  SourceLoc loc;           ///< who asks; a question elsewhere is another one
  friend bool operator==(const Outcome& a, const Outcome& b) { return a.value == b.value && a.loc.line == b.loc.line; }
};
/// From the first on.
using Outcomes = std::vector<Outcome>;

/// The longest path: more decisions than that are a loop.
constexpr std::size_t kMostDecisions = 128;

}  // namespace reprise::detail
