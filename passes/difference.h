#pragma once
#include <string>
#include <string_view>

namespace reprise::passes {

/// The lines that are in one text and not in the other, in order: "- " before what was, "+ " before what is; "" if
/// there are none. The fewest that will do, or (of long texts that have little in common) more.
std::string difference(std::string_view was, std::string_view is);

}  // namespace reprise::passes
