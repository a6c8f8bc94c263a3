#include "operators/families.h"

#include "graph/register_op.h"
#include "graph/while_loop.h"

namespace reprise::graph {

// Each family's operators are static objects of its functions: made once, by whoever comes first.
void register_families() {
#define REPRISE_FAMILY(name) operators::register_##name();
#include "operators/families.def"
#undef REPRISE_FAMILY
  while_loop_op();
}

}  // namespace reprise::graph
