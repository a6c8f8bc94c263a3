#pragma once
#include <map>
#include <string>

#include "programs.h"

namespace reprise::golden {

/// Calls the program once. "traced", "functionalized", "optimized": its graph at these stages, as logged; "launches";
/// "explain": what the function says of itself then. Without lines of the tests' sources, which move.
std::map<std::string, std::string> stages_of(const Program&);
std::string without_lines(const std::string& text);

}  // namespace reprise::golden
