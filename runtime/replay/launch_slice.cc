#include "runtime/replay/launch_slice.h"

#include <string>

namespace reprise::runtime {

void add_launch_slice(const kernels::Launch& launch, timeline::Time begin, timeline::Time end, std::int64_t bytes) {
  const std::string line =
      launch.loc ? std::string(launch.loc.file) + ":" + std::to_string(launch.loc.line) : std::string();
  timeline::slice("launch", launch.name, begin, end, {{"bytes", bytes}, {"line", line}, {"calls", launch.calls}});
}

}  // namespace reprise::runtime
