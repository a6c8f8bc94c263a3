#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "runtime/export/program.h"

namespace reprise::detail {

/// The program compiled for a level of x86-64, as a file holds it (runtime/export/code_file.h). Nothing of it is run or
/// linked here. Throws NotTraceable, with the reason and where there is one the line, for a program that a runtime
/// without a compiler does not run; InvalidArgument for an unknown level.
std::string machine_code(const std::shared_ptr<const Program>&, std::string_view level, SourceLoc);

}  // namespace reprise::detail
