#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "tools/commands.h"

namespace {

constexpr const char* kHelp = R"(usage: reprise COMMAND [ARGUMENTS]

  info                 version, CPU and its features, threads, GPU found or why not
  ops [NAME...]        operators with schema, dtypes and how each is computed (all, or those whose name contains NAME)
  settings             every environment variable REPRISE_...: what it is for, its default, what it is now
  log-schema           the JSON Schema that every line of a REPRISE_LOG_FILE keeps
  explain LOG.jsonl    a readable account of what REPRISE_LOG_FILE recorded: compilations, recompilations with their
                       reasons, recordings, memory ("-" reads standard input)
  help                 this text
)";

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty()) {
    std::fputs(kHelp, stderr);
    return 2;
  }
  std::string command = args[0];
  args.erase(args.begin());
  try {
    if (command == "info") return reprise::tool::info(args);
    if (command == "ops") return reprise::tool::ops(args);
    if (command == "settings") return reprise::tool::settings(args);
    if (command == "log-schema") return reprise::tool::log_schema(args);
    if (command == "explain") return reprise::tool::explain(args);
    if (command == "help" || command == "--help" || command == "-h") {
      std::fputs(kHelp, stdout);
      return 0;
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "reprise: %s\n", e.what());
    return 1;
  }
  std::fprintf(stderr, "reprise: unknown command '%s'\n%s", command.c_str(), kHelp);
  return 2;
}
