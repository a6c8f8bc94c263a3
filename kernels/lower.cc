#include "base/errors.h"
#include "kernels/launch.h"
#include "kernels/lower_interpret.h"

namespace reprise::kernels {

Lowered lower(const graph::Graph& g, std::string_view mode) {
  if (mode == "interpret" || mode == "no-fuse" || mode == "full") return lower_interpret(g);
  fail(ErrorCode::InvalidArgument, "lower", {}, "no mode \"", std::string(mode), "\"; there are interpret, no-fuse and full");
}

}  // namespace reprise::kernels
