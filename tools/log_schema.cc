#include <cstdio>

#include "base/log.h"
#include "tools/commands.h"

namespace reprise::tool {

int log_schema(const std::vector<std::string>& args) {
  if (!args.empty()) {
    std::fprintf(stderr, "reprise: log-schema takes no arguments\n");
    return 2;
  }
  std::puts(logs::schema().c_str());
  return 0;
}

}  // namespace reprise::tool
