#include "operators/families.h"

#include "graph/region_call.h"
#include "graph/register_op.h"
#include "graph/while_loop.h"
#include "operators/draws.h"

namespace reprise::graph {

// Each family's operators are static objects of its functions: made once, by whoever comes first.
void register_families() {
#define REPRISE_FAMILY(name) operators::register_##name();
#include "operators/families.def"
#undef REPRISE_FAMILY
  while_loop_op();
  region_op();
  operators::register_draws();
}

}  // namespace reprise::graph
