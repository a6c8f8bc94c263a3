#include <cstdio>

#include "graph/op.h"
#include "kernels/pointwise.h"
#include "tools/commands.h"

namespace reprise::tool {

int ops(const std::vector<std::string>& args) {
  int shown = 0;
  for (const graph::OpDef& def : graph::all_ops()) {
    bool wanted = args.empty();
    for (const std::string& a : args) wanted = wanted || def.name().find(a) != std::string_view::npos;
    if (!wanted) continue;
    ++shown;
    std::printf("%s\n", def.schema.text.c_str());
    std::printf("    %s%s%s\n", kernels::list_computed_by(def.id).c_str(), def.has_inplace ? "; in-place twin" : "",
                def.may_fail ? "; may raise on index values" : "");
    std::string dtypes = graph::accepted_dtypes(def.id);
    std::printf("    dtypes: %s\n", dtypes.c_str());
  }
  if (shown == 0) {
    std::fprintf(stderr, "reprise: no operator's name contains what was asked for; 'reprise ops' lists all\n");
    return 1;
  }
  std::printf("%d operators\n", shown);
  return 0;
}

}  // namespace reprise::tool
