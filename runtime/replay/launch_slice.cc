#include "runtime/replay/launch_slice.h"

#include "base/line_text.h"

namespace reprise::runtime {

void add_launch_slice(const kernels::Launch& launch, timeline::Time begin, timeline::Time end, std::int64_t bytes) {
  timeline::slice("launch", launch.name, begin, end,
                  {{"bytes", bytes}, {"line", line_text(launch.loc)}, {"calls", launch.calls}});
}

}  // namespace reprise::runtime
