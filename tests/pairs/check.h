#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/pairs/program.h"

namespace reprise::pairs {

/// What became of the calls of programs.
struct Counts {
  std::int64_t programs = 0, calls = 0, compiled = 0, refused = 0, writes = 0, derived = 0, derived_twice = 0;
  std::int64_t prepared = 0;  ///< calls that were warmed up and sealed, with their backwards
  std::map<std::string, std::int64_t> fallbacks;
  Counts& operator+=(const Counts&);
};

/// Runs the calls eagerly and compiled. Empty if everything that a caller can see agrees, else the first difference.
std::string check(const Program&, const std::vector<Call>&, Counts&);
/// Drops calls, settings, steps, wraps and results while some difference stays, and makes sizes small.
void shrink(Program&, std::vector<Call>&);

}  // namespace reprise::pairs
