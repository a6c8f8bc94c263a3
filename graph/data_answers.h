#pragma once
#include <optional>

#include "reprise/int.h"

namespace reprise::graph {

/// The answer that a rule got: as in the traced call, which a guard holds to. Of data (docs/data_sizes.md), whose
/// traced numbers are made up: whether it is known.
bool answered(const Bool&);
/// The same, and nothing where only data tell.
std::optional<bool> answer_of(const Bool&);

}  // namespace reprise::graph
