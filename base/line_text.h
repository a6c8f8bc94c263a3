#pragma once
#include <string>

#include "reprise/source_location.h"

namespace reprise {

/// "net.cc:41"; `otherwise` where no line is known.
inline std::string line_text(SourceLoc loc, const char* otherwise = "") {
  return loc ? std::string(loc.file) + ":" + std::to_string(loc.line) : std::string(otherwise);
}

}  // namespace reprise
