#pragma once
#include <string>
#include <vector>

namespace reprise::pairs {

/// A kind of failure that is known and not mended yet: counted, not failed. The list is meant to be empty.
struct Known {
  const char* name;
  std::vector<const char*> program;     ///< all of these stand in the shrunk program's text
  std::vector<const char*> difference;  ///< all of these stand in the difference
};
const Known* known_kind(const std::string& program, const std::string& difference);

}  // namespace reprise::pairs
