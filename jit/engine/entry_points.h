#pragma once
#include <string_view>

namespace reprise::jit {

/// What generated code may call by its name in every process that runs it: runtime_calls(), and functions of the C
/// library that LLVM makes of instructions. Null: nothing has that name. The names of exported programs
/// (docs/export_format.md): a function keeps its name and what it does for good.
void* entry_point(std::string_view name) noexcept;

}  // namespace reprise::jit
