#pragma once
#include <string>

namespace reprise::comm {

/// A warning of the log, once for each text.
void warn_once(const std::string& text);

}  // namespace reprise::comm
