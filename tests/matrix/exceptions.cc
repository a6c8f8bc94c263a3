#include "tests/matrix/cells.h"

namespace reprise::matrix {

// What is served eagerly (docs/mutation.md says the same). A cell of these that is compiled fails the test, too.
std::span<const Exception> exceptions() {
  static const Exception all[] = {
      {"no_inverse", "a write through a registered view without an inverse",
       [](const Cell& c) { return std::string_view(c.write->name) == "through a user's view without a way back"; }},
      {"overlap",
       "a write to one of two arguments that overlap though their storages are two (from_blob twice over the same "
       "memory)",
       [](const Cell& c) {
         const unsigned inputs = kOfX | kOfY | (c.target == Target::Input ? kOfTarget : 0);
         return c.relation == Relation::TwoStorages && (c.write->elements & inputs) != 0;
       },
       // Where it writes to a copy, or has grown before, nothing that overlaps is written.
       [](const Cell& c) {
         const std::string_view write = c.write->name;
         return write == "a part of what may be a copy" || write.starts_with("resize_");
       }},
  };
  return all;
}

}  // namespace reprise::matrix
