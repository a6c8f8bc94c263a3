// A log as a readable account: what to do first, then each function.
#include <algorithm>
#include <cstdio>
#include <exception>

#include "base/shown.h"
#include "tools/account.h"
#include "tools/commands.h"
#include "tools/log_file.h"

namespace reprise::tool {

namespace {

using Count = long long;  // as printf calls it

void print_advice(const Account& a) {
  constexpr std::size_t kMost = 10;
  const auto first = a.advice(kMost);
  if (first.empty()) return;
  std::printf("What to do first\n");
  int n = 0;
  for (const Account::Advice& x : first) std::printf("  %d. %s\n", ++n, safe(x.text).c_str());
  std::printf("\n");
}

void print_phases(const Account& a) {
  constexpr std::size_t kMost = 20;
  std::vector<const Function*> all = a.by_time();
  std::erase_if(all, [](const Function* f) { return f->compiled == 0; });
  if (all.empty()) return;
  std::printf("Time of compilations\n  %-32s %8s %10s", "function", "number", "all");
  for (const char* phase : kPhaseNames) std::printf(" %13s", phase);
  std::printf("\n");
  auto row = [](const std::string& name, std::int64_t n, std::int64_t us, const PhaseUs& phases) {
    std::printf("  %-32s %8lld %10s", name.c_str(), static_cast<Count>(n), time_text(us).c_str());
    for (std::int64_t p : phases) std::printf(" %13s", time_text(p).c_str());
    std::printf("\n");
  };
  std::int64_t n = 0, us = 0;
  PhaseUs phases{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Function& f = *all[i];
    n += f.compiled, us += f.lost_us;
    for (std::size_t p = 0; p < phases.size(); ++p) phases[p] += f.phases[p];
    if (i < kMost) row(shown(f.name, 60), f.compiled, f.lost_us, f.phases);
  }
  if (all.size() > kMost) std::printf("  and %zu others\n", all.size() - kMost);
  if (all.size() > 1) row("together", n, us, phases);
  std::printf("\n");
}

void print_causes(const Function& f) {
  constexpr std::size_t kMost = 20;
  std::vector<const Cause*> causes;
  for (const Cause& c : f.causes) causes.push_back(&c);
  std::stable_sort(causes.begin(), causes.end(), [](const Cause* a, const Cause* b) { return a->times > b->times; });
  for (std::size_t i = 0; i < std::min(causes.size(), kMost); ++i) {
    const Cause& c = *causes[i];
    if (c.times < 2) break;
    std::printf("  %lld times for %s%s%s, %s:", static_cast<Count>(c.times), safe(c.what).c_str(),
                c.line.empty() ? "" : " at ", safe(c.line).c_str(), time_text(c.lost_us).c_str());
    for (const std::string& v : c.values) std::printf(" %s", safe(v).c_str());
    std::printf("%s\n    to avoid it: %s\n", c.values_left_out ? " ..." : "", safe(c.remedy).c_str());
  }
  if (f.causes_left_out)
    std::printf("  and %lld compilations for other causes\n", static_cast<Count>(f.causes_left_out));
}

void print(const Function& f, bool name_file) {
  constexpr std::size_t kMost = 50;
  std::printf("%s\n", safe(f.name).c_str());
  if (name_file) std::printf("  of %s\n", safe(f.file).c_str());
  std::printf("  %lld compilation%s\n", static_cast<Count>(f.compiled), f.compiled == 1 ? "" : "s");
  print_causes(f);
  for (std::size_t i = 0; i < std::min(f.compilations.size(), kMost); ++i) {
    const Compilation& c = f.compilations[i];
    std::printf("    %-24s at %10.3f ms: traced in %lld us, compiled in %lld us; %lld guards, %lld launches\n",
                safe(c.name).c_str(), c.at_ms, static_cast<Count>(c.trace_us), static_cast<Count>(c.build_us),
                static_cast<Count>(c.guards), static_cast<Count>(c.launches));
    if (c.against.empty()) continue;
    std::printf("      because %s did not fit: %s\n", safe(c.against).c_str(), safe(c.failed).c_str());
    std::printf("      to avoid it: %s\n", safe(c.remedy).c_str());
  }
  if (f.compiled > static_cast<std::int64_t>(kMost))
    std::printf("    and %lld others\n", static_cast<Count>(f.compiled) - static_cast<Count>(kMost));
  for (const std::string& m : f.mutations) std::printf("  %s\n", safe(m).c_str());
  if (f.mutations_left_out) std::printf("  and %lld other writes\n", static_cast<Count>(f.mutations_left_out));
  for (const auto& [reason, times] : f.refusals) std::printf("  served eagerly: %s\n", safe(reason).c_str());
  std::printf("  recordings: %lld made, %lld evicted, %lld live at the end (%s); at most %lld bytes of the pool\n\n",
              static_cast<Count>(f.recordings_made), static_cast<Count>(f.recordings_evicted),
              static_cast<Count>(f.recordings_live), bytes_text(f.recording_bytes).c_str(),
              static_cast<Count>(f.largest_pool));
}

}  // namespace

int explain(const std::vector<std::string>& args) {
  if (args.empty()) {
    std::fprintf(stderr, "reprise: explain takes files, as REPRISE_LOG_FILE wrote them (or -)\n");
    return 2;
  }
  constexpr std::size_t kMostFunctions = 200;
  Account account;
  std::int64_t bad = 0;
  for (const std::string& path : args) {
    account.begin_file(path);
    const LogFile log = read_log(path, [&](const nlohmann::json& e) { account.take(e); });
    bad += log.bad;
    if (log.bad)
      std::fprintf(
          stderr, "reprise: %lld lines of '%s' are not JSON objects of events, the first is line %lld%s\n",
          static_cast<Count>(log.bad), safe(path).c_str(), static_cast<Count>(log.first_bad),
          log.cut ? " (the last line is cut off: the log is still being written, or its process was killed)" : "");
  }
  print_advice(account);
  print_phases(account);
  for (std::size_t i = 0; i < std::min(account.functions.size(), kMostFunctions); ++i)
    print(account.functions[i], args.size() > 1);
  if (account.functions.size() > kMostFunctions)
    std::printf("and %zu other functions\n", account.functions.size() - kMostFunctions);
  if (account.functions_left_out)
    std::printf("%lld events of still others\n", static_cast<Count>(account.functions_left_out));
  for (const auto& [text, times] : account.warnings) std::printf("warning: %s\n", safe(text).c_str());
  std::printf("%zu functions (operators served eagerly are functions of one operator), pool %lld bytes, %lld events\n",
              account.functions.size(), static_cast<Count>(account.pool_bytes), static_cast<Count>(account.events));
  return 0;
}

}  // namespace reprise::tool
