#include "tests/pairs/known.h"

#include <algorithm>
#include <cstdlib>

namespace reprise::pairs {

const Known* known_kind(const std::string& program, const std::string& difference) {
  static const std::vector<Known> all = {
      // docs/differences.md, "Compiled calls".
      {"a backward keeps other tensors than eager execution",
       {"tape: "},
       {"backward: eager ", "runs", "was written since"}},
      {"what only the other branch of cond uses has a gradient of zeros",
       {"cond("},
       {"gradient of ", "only compiled has one, of zeros"}},
      {"what no turn of a loop has used has a gradient of zeros",
       {"while_loop("},
       {"gradient of ", "only compiled has one, of zeros"}},
      {"what the body of a loop overwrites has a gradient of zeros",
       {"scan("},
       {"gradient of ", "only compiled has one, of zeros"}},
      {"a second gradient of what the first does not depend on is zeros",
       {"gradients of gradients"},
       {"second gradient of ", "only compiled has one, of zeros"}},
      {"version() counts the writes of a loop without a turn", {"while_loop("}, {"only compiled counts a write"}},
      {"the state of a loop without a turn", {"while_loop("}, {"only compiled wants a gradient"}},
      {"a loop whose body chooses what wants a gradient", {"cond(", "scan("}, {"only compiled wants a gradient"}},
      {"the gradient of a loop whose body chooses what wants one",
       {"cond(", "scan("},
       {"eager throws InvalidArgument (grad: ", "wants no gradient", "compiled does not throw"}},
      {"version() of a view that a body of scan changes the metadata of", {"scan("}, {"only eager counts a write"}},
      {"version() counts the writes of a branch of cond that is not taken",
       {"cond("},
       {"only compiled counts a write"}},
      {"version() of what another handle shows in another order is not counted",
       {".t_()"},
       {"only eager counts a write"}},
      {"a view wants a gradient of zeros since another part of its base was written",
       {" overlap"},
       {"only eager wants a gradient"}},
      {"a difference from a mean, which cancels, is rounded in other places",
       {"return a - mean(a, -1, true)"},
       {": element ", "apart by 0.0"}},
      {"a loaded program has no tape, and lets set_ move a view of a leaf",
       {"export, save", ".set_("},
       {"eager throws InvalidArgument (set_: of a tensor on the tape", "compiled does not throw"}},
      {"of two mistakes a loaded program tells another one first",
       {"export, save"},
       {"eager throws", "compiled throws"}},
  };
  if (std::getenv("PAIRS_KNOWN_FAIL")) return nullptr;
  for (const Known& k : all) {
    auto stands_in = [](const std::string& text, const std::vector<const char*>& all) {
      return std::all_of(all.begin(), all.end(), [&](const char* t) { return text.find(t) != std::string::npos; });
    };
    if (stands_in(program, k.program) && stands_in(difference, k.difference)) return &k;
  }
  return nullptr;
}

}  // namespace reprise::pairs
