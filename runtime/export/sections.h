#pragma once
#include <string>

#include "runtime/export/program.h"

namespace reprise::detail {

/// A reader takes each file of its major version; what a minor version adds may be passed over.
inline constexpr int kFormatMajor = 1, kFormatMinor = 0;
std::string version_text();
/// Of all sections but the hash itself, as hexadecimal digits.
std::string hash_of(const Sections&);

}  // namespace reprise::detail
