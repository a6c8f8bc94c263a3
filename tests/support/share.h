#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace reprise::test {

/// Whether NAME is in the share that an environment variable asks for, as "2/3": the second of three shares of all
/// names, by a hash of the name that is the same everywhere. Without the variable, everything is.
inline bool in_share(const char* variable, std::string_view name) {
  const char* const asked = std::getenv(variable);
  if (!asked || !*asked) return true;
  unsigned share = 1, of = 1;
  if (std::sscanf(asked, "%u/%u", &share, &of) != 2 || share == 0 || share > of)
    throw std::invalid_argument(std::string(variable) + "=" + asked + " is not like 2/3");
  std::uint64_t h = 0xcbf29ce484222325;  // FNV-1a, with its last bits mixed: the remainder reads those
  for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return (h ^ h >> 32) % of == share - 1;
}

/// CASE_SHARE: a share of the cases that a test goes through, beside the first.
inline bool in_case_share(std::string_view name) { return in_share("CASE_SHARE", name); }

}  // namespace reprise::test
