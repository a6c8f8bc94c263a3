#pragma once
#include <cstdint>
#include <optional>
#include <string>

/// The file that this library's code was loaded from: the program, or a shared library.
namespace reprise {

/// Of this build alone: its build id, and the size and time of that file. Empty: nobody knows.
const std::string& build_identity();

/// Where a function of that file stands in it: the same in every process of this build. None for other files'
/// functions.
std::optional<std::uint64_t> place_in_image(const void* function);
/// Null where that is no place of code.
const void* function_at(std::uint64_t place);

}  // namespace reprise
