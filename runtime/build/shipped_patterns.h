#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "passes/registered.h"
#include "reprise/patterns.h"

namespace reprise::detail {

/// The library's own patterns of which this graph may have some, in the order in which they are sought
/// (Registered::shipped); nearly always none. They are declared as a user's are (reprise/patterns.h) and made when a
/// graph first has the operators, dtype and number of dimensions that they are for. The knob `patterns` says which
/// there are. Any thread.
std::vector<std::shared_ptr<const passes::RegisteredPattern>> shipped_for(const graph::Graph&);

/// A pattern in the form in which those are sought, which is before composites are taken apart. On a thread without
/// modes.
passes::RegisteredPattern shipped_pattern(std::string name, const PatternExample&, PatternCondition);
/// Says that one of them cannot be made.
void warn_unmade(const std::string& why);
/// Says that the knob names what is none of them.
void warn_unknown_pattern(std::string_view name, const std::vector<std::string_view>& there);

}  // namespace reprise::detail
