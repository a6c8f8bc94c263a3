#pragma once
#include <string>

namespace reprise::golden {

/// Compares `text` with tests/golden/<file> and fails at the first line that differs. With GOLDEN_WRITE in the
/// environment
/// (`./run golden`) writes the file instead.
void expect_golden(const std::string& file, const std::string& text);

}  // namespace reprise::golden
