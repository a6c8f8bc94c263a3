#include "tests/pairs/known.h"

#include <algorithm>
#include <cstdlib>

namespace reprise::pairs {

const Known* known_kind(const std::string& program, const std::string& difference) {
  static const std::vector<Known> all = {
      // The partition chooses what a backward keeps, an argument or a result: a write to it is refused by one alone.
      {"a backward keeps other tensors than eager execution", {}, "was written since"},
      {"version() counts the writes of a branch of cond that is not taken", {"cond("}, "only compiled counts a write"},
      {"a tensor in a variable is another handle of the same memory", {"var."}, "is the same tensor as"},
      {"an error leaves what requires_grad_() did", {"requires_grad_()"}, "wants a gradient"},
      {"set_ of a tensor on the tape is refused by eager execution alone", {".set_("}, "set_: of a tensor on the tape"},
      {"an assumption of data fails in a function that cannot run again", {"item().to_int()"}, "it does not hold that"},
      {"an assumption of data fails in a function that cannot run again", {"masked_select"}, "it does not hold that"},
  };
  if (std::getenv("PAIRS_KNOWN_FAIL")) return nullptr;
  for (const Known& k : all) {
    auto stands = [&](const char* t) { return program.find(t) != std::string::npos; };
    if (std::all_of(k.program.begin(), k.program.end(), stands) && difference.find(k.difference) != std::string::npos)
      return &k;
  }
  return nullptr;
}

}  // namespace reprise::pairs
