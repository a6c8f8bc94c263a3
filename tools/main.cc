#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "base/shown.h"
#include "tools/commands.h"

namespace {

constexpr const char* kHelp = R"(usage: reprise COMMAND [ARGUMENTS]

  info                 version, CPU and its features, threads, GPU found or why not
  ops [NAME...]        operators with schema, dtypes and how each is computed (all, or those whose name contains NAME)
  gguf FILE            what a GGUF file holds: metadata, tensors, and how they are stored
  show FILE.rpx        what an exported program takes, gives, writes and promises, and its graph
  diff A.rpx B.rpx     in what two of them differ
  settings             every environment variable REPRISE_...: what it is for, its default, what it is now
  log-schema           the JSON Schema that every line of a REPRISE_LOG_FILE keeps
  explain LOG.jsonl... a readable account of what REPRISE_LOG_FILE recorded: what to do first, compilations with their times by
                       phase, recompilations with their reasons, recordings, memory ("-" reads standard input)
  report LOG.jsonl... [--trace x.json] -o report.html
                       the same as one HTML file, with specializations as a tree, their graphs and launches; with a timeline
                       (REPRISE_TRACE) also measured times of launches and calls
  help                 this text; "reprise COMMAND --help" says what one command takes
)";

struct Command {
  const char* name;
  int (*run)(const std::vector<std::string>&);
  const char* help;
};
constexpr Command kCommands[] = {
    {"info", reprise::tool::info, "usage: reprise info\n"},
    {"ops", reprise::tool::ops,
     "usage: reprise ops [NAME...]\nOperators whose names contain one of these; without names, all.\n"},
    {"gguf", reprise::tool::gguf,
     "usage: reprise gguf FILE\nMetadata (of long arrays how many, and the last), tensors with type and sizes, sums by "
     "type.\n"},
    {"show", reprise::tool::show,
     "usage: reprise show FILE.rpx\nSignature, guards, operators, graph and weights of an exported program "
     "(docs/export.md).\n"},
    {"diff", reprise::tool::diff,
     "usage: reprise diff A.rpx B.rpx\nThe lines of `show` that differ, and weights by their bytes. Exits with 1 where "
     "something does.\n"},
    {"settings", reprise::tool::settings, "usage: reprise settings\n"},
    {"log-schema", reprise::tool::log_schema, "usage: reprise log-schema\n"},
    {"explain", reprise::tool::explain,
     "usage: reprise explain LOG.jsonl...\nFiles of REPRISE_LOG_FILE, of one process or several; - is standard "
     "input.\n"},
    {"report", reprise::tool::report,
     "usage: reprise report LOG.jsonl [MORE...] [--trace x.json] -o report.html\n"
     "LOG.jsonl: files of REPRISE_LOG_FILE, of one process or several. x.json: of REPRISE_TRACE in the same run.\n"},
};

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
    for (const Command& c : kCommands) {
      if (command != c.name) continue;
      if (args.size() == 1 && (args[0] == "--help" || args[0] == "-h")) {
        std::fputs(c.help, stdout);
        return 0;
      }
      return c.run(args);
    }
    if (command == "help" || command == "--help" || command == "-h") {
      std::fputs(kHelp, stdout);
      return 0;
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "reprise: %s\n", e.what());
    return 1;
  }
  std::vector<std::string_view> names{"help"};
  for (const Command& c : kCommands) names.push_back(c.name);
  std::fprintf(stderr, "reprise: unknown command '%s'; did you mean '%s'?\n%s", reprise::shown(command).c_str(),
               reprise::nearest_name(command, names).c_str(), kHelp);
  return 2;
}
