#include <cstdio>
#include <cstdlib>

#include "base/knobs.h"
#include "tools/commands.h"

namespace reprise::tool {

int settings(const std::vector<std::string>& args) {
  if (!args.empty()) {
    std::fprintf(stderr, "reprise: settings takes no arguments\n");
    return 2;
  }
  for (const KnobInfo& k : knob_table()) {
    const char* now = std::getenv(k.variable.c_str());
    std::printf("%s (%s%s%s)%s%s\n    %s\n", k.variable.c_str(), k.type.c_str(),
                k.default_value.empty() ? "" : ", default ", k.default_value.c_str(), now ? " = " : "", now ? now : "",
                k.help.c_str());
  }
  std::vector<std::string> problems;  // the log has named them (base/log.cc)
  knobs_from_environment(&problems);
  return problems.empty() ? 0 : 1;
}

}  // namespace reprise::tool
