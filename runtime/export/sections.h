#pragma once
#include <string>

#include "runtime/export/program.h"

namespace reprise::detail {

inline constexpr std::string_view kBesideSection = "reprise.weights";
/// Of a file's metadata: throws FileFormat where it is of no or of a newer version, or not what its hash says. Programs
/// are read by what comes behind it.
void check_sections(const Sections&, const std::string& from, const char* op, SourceLoc);
/// The folder of a path, with the slash; "" of one without.
std::string folder_of(const std::string& path);
/// A weight of a file, as the program's layout has it: files have row-major tensors. Throws FileFormat for one of
/// another rank.
Tensor laid_out(const Tensor& read, const InputContract&, const std::string& from, const char* op, SourceLoc);

/// A reader takes each file of its major version; what a minor version adds may be passed over.
inline constexpr int kFormatMajor = 1, kFormatMinor = 1;
std::string version_text();
/// Of all sections but the hash itself, as hexadecimal digits.
std::string hash_of(const Sections&);

}  // namespace reprise::detail
