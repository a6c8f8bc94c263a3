#pragma once
#include <string_view>

namespace reprise {

/// logs::warn for sources in which `log` is the operator.
void warning(std::string_view text);

}  // namespace reprise
