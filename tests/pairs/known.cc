#include "tests/pairs/known.h"

#include <algorithm>
#include <cstdlib>

namespace reprise::pairs {

const Known* known_kind(const std::string& program, const std::string& difference) {
  static const std::vector<Known> all = {};
  if (std::getenv("PAIRS_KNOWN_FAIL")) return nullptr;
  for (const Known& k : all) {
    auto stands = [&](const char* t) { return program.find(t) != std::string::npos; };
    if (std::all_of(k.program.begin(), k.program.end(), stands) && difference.find(k.difference) != std::string::npos)
      return &k;
  }
  return nullptr;
}

}  // namespace reprise::pairs
