#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/shown.h"
#include "reprise/error.h"
#include "tools/commands.h"

namespace reprise::tool {

namespace {

using nlohmann::json;

/// What the log told of one compiled function ("attend" of "attend/2").
struct Function {
  struct Compilation {
    std::string name;
    double at_ms = 0;
    std::int64_t trace_us = 0, build_us = 0, guards = 0, launches = 0;
    std::string against, failed, remedy;
  };
  std::vector<Compilation> compilations;
  std::map<std::string, std::size_t> by_name;  ///< the latest of a name in `compilations`
  std::vector<std::string> mutations, refusals;
  std::int64_t recordings_made = 0, recordings_evicted = 0, recordings_live = 0, largest_pool = 0;
};

std::string text_of(const json& e, const char* key) {
  auto at = e.find(key);
  return at != e.end() && at->is_string() ? at->get<std::string>() : "";
}
/// 0 for what is no number of 64 bits.
std::int64_t number_of(const json& e, const char* key) {
  auto at = e.find(key);
  if (at == e.end() || !at->is_number_integer()) return 0;
  return at->is_number_unsigned() && at->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX) ? 0 : at->get<std::int64_t>();
}

void take(std::map<std::string, Function>& functions, std::vector<std::string>& order, std::int64_t& pool, const json& e) {
  std::string event = text_of(e, "event"), name = text_of(e, "function");
  if (event == "pool_grew") pool = std::max(pool, number_of(e, "bytes"));
  if (name.empty()) return;
  std::string function = name.substr(0, name.rfind('/'));
  // Events of guards, traces and graphs are detail; the account is of what was compiled, recorded and refused.
  static const char* const told[] = {"compiled", "recompiled", "not_traceable", "compile_failed", "mutation", "recording_made", "recording_evicted"};
  if (std::none_of(std::begin(told), std::end(told), [&](const char* t) { return event == t; })) return;
  if (!functions.count(function)) order.push_back(function);
  Function& f = functions[function];
  if (event == "compiled") {
    f.by_name[name] = f.compilations.size();
    f.compilations.push_back({name, static_cast<double>(number_of(e, "t_us")) / 1e3, number_of(e, "trace_us"), number_of(e, "build_us"), number_of(e, "guards"),
                              number_of(e, "launches"), "", "", ""});
  } else if (event == "recompiled") {
    // The event follows its compilation.
    if (auto made = f.by_name.find(name); made != f.by_name.end()) {
      Function::Compilation& c = f.compilations[made->second];
      c.against = text_of(e, "against"), c.failed = text_of(e, "failed"), c.remedy = text_of(e, "remedy");
    }
  } else if (event == "mutation") {
    f.mutations.push_back(name + ": " + text_of(e, "text"));
  } else if (event == "recording_made") {
    ++f.recordings_made;
    f.recordings_live = number_of(e, "live");
    f.largest_pool = std::max(f.largest_pool, number_of(e, "pool_bytes"));
  } else if (event == "recording_evicted") {
    ++f.recordings_evicted;
    f.recordings_live = number_of(e, "live");
  } else {
    f.refusals.push_back(text_of(e, "reason"));
  }
}

/// A log is text that somebody gave us: what it says stands on the terminal, what it would do to the terminal does not.
std::string safe(const std::string& text) { return shown(text, 4000); }

void print(const std::string& name, const Function& f) {
  std::printf("%s\n", safe(name).c_str());
  std::printf("  %zu compilation%s\n", f.compilations.size(), f.compilations.size() == 1 ? "" : "s");
  for (const Function::Compilation& c : f.compilations) {
    std::printf("    %-24s at %10.3f ms: traced in %lld us, compiled in %lld us; %lld guards, %lld launches\n", safe(c.name).c_str(), c.at_ms,
                static_cast<long long>(c.trace_us), static_cast<long long>(c.build_us), static_cast<long long>(c.guards), static_cast<long long>(c.launches));
    if (c.against.empty()) continue;
    std::printf("      because %s did not fit: %s\n", safe(c.against).c_str(), safe(c.failed).c_str());
    std::printf("      to avoid it: %s\n", safe(c.remedy).c_str());
  }
  for (const std::string& m : f.mutations) std::printf("  %s\n", safe(m).c_str());
  for (const std::string& r : f.refusals) std::printf("  served eagerly: %s\n", safe(r).c_str());
  std::printf("  recordings: %lld made, %lld evicted, %lld live at the end; at most %lld bytes of the pool\n\n", static_cast<long long>(f.recordings_made),
              static_cast<long long>(f.recordings_evicted), static_cast<long long>(f.recordings_live), static_cast<long long>(f.largest_pool));
}

}  // namespace

int explain(const std::vector<std::string>& args) {
  if (args.size() != 1) {
    std::fprintf(stderr, "reprise: explain takes one file, as REPRISE_LOG_FILE wrote it (or -)\n");
    return 2;
  }
  std::ifstream file;
  if (args[0] != "-") {
    std::error_code ignored;
    if (!std::filesystem::is_directory(args[0], ignored)) file.open(args[0]);
    if (!file.is_open()) {
      std::fprintf(stderr, "reprise: cannot read '%s'\n", safe(args[0]).c_str());
      return 1;
    }
  }
  std::istream& in = args[0] == "-" ? std::cin : file;
  std::map<std::string, Function> functions;
  std::vector<std::string> order;
  std::int64_t pool = 0;
  long lines = 0, bad = 0, first_bad = 0;
  for (std::string line; std::getline(in, line);) {
    ++lines;
    if (line.empty()) continue;
    json e = json::parse(line, nullptr, false);
    if (e.is_discarded() || !e.is_object()) {
      if (bad++ == 0) first_bad = lines;
      continue;
    }
    take(functions, order, pool, e);
  }
  for (const std::string& name : order) print(name, functions[name]);
  std::printf("%zu functions (operators served eagerly are functions of one operator), pool %lld bytes, %ld events\n", functions.size(), static_cast<long long>(pool), lines - bad);
  if (bad) {
    std::fprintf(stderr, "reprise: %ld lines are not JSON objects, the first is line %ld (a log that is still being written, or cut off)\n", bad, first_bad);
    return lines == bad ? 1 : 0;
  }
  return 0;
}

}  // namespace reprise::tool
