// A log, and a timeline, as one HTML file.
#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/files.h"
#include "tools/account.h"
#include "tools/commands.h"
#include "tools/html.h"
#include "tools/log_file.h"
#include "tools/report_template.h"
#include "tools/timeline_account.h"

namespace reprise::tool {

namespace {

/// What a browser can show. What is more is counted, and the count stands there.
constexpr std::size_t kMostFunctions = 1000, kMostCompilations = 10000, kMostAdvice = 20, kMostLaunchTables = 30;
// of the file, beyond which graphs and functions are left out
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

std::string count(std::int64_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }
std::string us_text(double us) {
  char s[32];
  if (us < 1e3) std::snprintf(s, sizeof s, us < 10 ? "%.2f us" : "%.0f us", us);
  else std::snprintf(s, sizeof s, "%s", time_text(static_cast<std::int64_t>(us)).c_str());
  return s;
}

void write_head(Html& h, const Account& a) {
  h.raw(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n");
  h.element("title", "Reprise: " + (a.files.empty() ? std::string() : a.files.front()))
      .raw("<style>")
      .raw(kReportStyle)
      .raw("</style>\n</head>\n<body>\n");
  h.element("h1", "What was compiled, and why");
  for (const std::string& f : a.files) h.element("p", f, "class=\"soft\"");
}

void write_summary(Html& h, const Account& a, const TimelineAccount* t) {
  std::int64_t compiled = 0, us = 0;
  for (const Function& f : a.functions) compiled += f.compiled, us += f.lost_us;
  h.element("p", count(static_cast<std::int64_t>(a.functions.size()), "function") + ", " +
                     count(compiled, "compilation") + " in " + time_text(us) + ", the pool " +
                     bytes_text(a.pool_bytes) + ", " + count(a.events, "event") +
                     (t ? ", " + count(t->events, "event") + " of the timeline" : ""));
  h.element("h2", "What to do first");
  const auto first = a.advice(kMostAdvice);
  if (first.empty()) {
    h.element("p", "Nothing: no function was compiled again, and none runs eagerly.");
  } else {
    h.raw("<ol class=\"first\">\n");
    for (const Account::Advice& x : first) h.element("li", x.text);
    h.raw("</ol>\n");
  }
  for (const auto& [text, times] : a.warnings) h.element("p", "warning: " + text);
}

void write_times(Html& h, const Account& a, const TimelineAccount* t) {
  h.element("h2", "Time of compilations").raw("<div class=\"wide\"><table>\n");
  std::vector<std::string> head = {"function", "compilations", "all"};
  head.insert(head.end(), kPhaseNames.begin(), kPhaseNames.end());
  if (t) head.insert(head.end(), {"calls", "a call"});
  h.row("th", head);
  const std::vector<const Function*> all = a.by_time();
  std::size_t shown = 0;
  for (const Function* f : all) {
    if (!f->compiled) continue;
    if (++shown > 100) break;
    std::vector<std::string> cells = {shortened(f->name, 200), std::to_string(f->compiled), time_text(f->lost_us)};
    for (std::int64_t p : f->phases) cells.push_back(time_text(p));
    if (t) {
      auto timed = t->functions.find(f->name);
      const bool known = timed != t->functions.end();
      cells.push_back(known ? std::to_string(timed->second.calls) : "");
      cells.push_back(
          known ? us_text(timed->second.us / static_cast<double>(std::max<std::int64_t>(timed->second.calls, 1))) : "");
    }
    h.row("td", cells);
  }
  h.raw("</table></div>\n");
  if (shown > 100) h.element("p", "The 100 that took longest are shown.", "class=\"soft\"");
}

void write_memory(Html& h, const Account& a, const TimelineAccount* t) {
  Plot plot{.x = "ms",
            .y = "bytes",
            .steps = true,
            .y_text = [](double v) { return bytes_text(static_cast<std::int64_t>(v)); },
            .series = {}};
  constexpr std::size_t kMostCurves = 6;
  for (const auto& [name, curve] : t && !t->memory.empty() ? t->memory : a.memory)
    if (plot.series.size() < kMostCurves) plot.series.push_back({name, curve.points});
  const std::string picture = svg(plot);
  if (picture.empty()) return;
  h.element("h2", "Memory").raw(picture);
}

void write_text(Html& h, const char* title, const std::string& text) {
  if (text.empty() || h.size() > kMostBytes) return;
  h.details(title).pre(text).raw("</details>\n");
}

void write_launch_times(Html& h, const TimedFunction& t, const std::string& specialization) {
  auto launches = t.launches.find(specialization);
  if (launches == t.launches.end()) return;
  std::vector<std::pair<std::pair<std::string, std::string>, LaunchTimes>> all(launches->second.begin(),
                                                                               launches->second.end());
  std::stable_sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.second.us > y.second.us; });
  h.raw("<div class=\"wide\"><table>\n")
      .row("th", {"launch", "line", "times", "together", "mean", "least", "bytes of one", "GB/s"});
  for (const auto& [key, l] : all) {
    const double n = static_cast<double>(std::max<std::int64_t>(l.times, 1));
    char rate[32] = "";
    if (l.us > 0) std::snprintf(rate, sizeof rate, "%.1f", static_cast<double>(l.bytes) / l.us / 1e3);
    h.row("td", {key.first, key.second, std::to_string(l.times), us_text(l.us), us_text(l.us / n), us_text(l.least_us),
                 bytes_text(static_cast<std::int64_t>(static_cast<double>(l.bytes) / n)), rate});
  }
  h.raw("</table></div>\n");
}

/// Specializations below the one that came nearest to their call, with the guard that split them.
class Tree {
 public:
  Tree(Html& h, const Function& f, const TimedFunction* timed)
      : h_(h), f_(f), timed_(timed), below_(f.compilations.size()) {
    std::map<std::string, std::size_t> by_name;
    for (std::size_t i = 0; i < f.compilations.size(); ++i) {
      const std::string& against = f.compilations[i].against;
      auto parent = by_name.find(against);
      if (against.empty() || parent == by_name.end()) roots_.push_back(i);
      else below_[parent->second].push_back(i);
      by_name[f.compilations[i].name] = i;
    }
  }
  void write() {
    h_.raw("<ul class=\"tree\">\n");
    // Without recursion: each may stand below the one before it.
    struct Open {
      const std::vector<std::size_t>* of;
      bool inside;
      std::size_t next;
    };
    std::vector<Open> open{{&roots_, false, 0}};
    while (!open.empty()) {
      Open& top = open.back();
      if (top.next == top.of->size()) {
        if (top.inside) h_.raw("</ul></li>\n");
        open.pop_back();
        continue;
      }
      const std::size_t i = (*top.of)[top.next++];
      h_.raw("<li>");
      one(f_.compilations[i]);
      if (below_[i].empty()) {
        h_.raw("</li>\n");
        continue;
      }
      // As deep as can be read; from there on those below stand beside.
      const bool inside = open.size() < kDeepest;
      h_.raw(inside ? "<ul class=\"tree\">\n" : "</li>\n");
      open.push_back({&below_[i], inside, 0});
    }
    h_.raw("</ul>\n");
  }

 private:
  static constexpr std::size_t kDeepest = 24;

  void one(const Compilation& c) {
    std::string title = c.name + ": " + time_text(c.trace_us + c.build_us) + ", " + count(c.guards, "guard") + ", " +
                        std::to_string(c.launches) + (c.launches == 1 ? " launch" : " launches");
    if (!c.failed.empty()) title += " — " + shortened(c.failed.substr(0, c.failed.find("; wanted")), 200);
    h_.details(title);
    if (!c.against.empty())
      h_.element("p", "Because " + c.against + " did not fit: " + c.failed + ". To avoid it: " + c.remedy);
    write_text(h_, "what the function did (traced)", c.traced);
    write_text(h_, "before passes (functional)", c.functional);
    write_text(h_, "after passes", c.optimized);
    write_text(h_, "launches", c.listing);
    if (timed_ && tables_ < kMostLaunchTables && timed_->launches.contains(c.name))
      ++tables_, write_launch_times(h_, *timed_, c.name);
    h_.raw("</details>");
  }
  Html& h_;
  const Function& f_;
  const TimedFunction* timed_;
  std::vector<std::vector<std::size_t>> below_;
  std::vector<std::size_t> roots_;
  std::size_t tables_ = 0;
};

void write_latency(Html& h, const TimedFunction& t) {
  Plot plot{.x = "elements of the call's tensors",
            .y = "least time of a call",
            .logarithmic = true,
            .dots = true,
            .y_text = [](double us) { return us_text(us); },
            .series = {{"calls", {}}}};
  for (const auto& [elements, times] : t.by_elements)
    if (elements > 0 && times.least_us > 0)
      plot.series[0].points.emplace_back(static_cast<double>(elements), times.least_us);
  const std::string picture = svg(plot);
  if (picture.empty()) return;
  h.element("h3", "Latency against size").raw(picture);
  if (t.left_out) h.element("p", count(t.left_out, "call") + " of further sizes are not shown.", "class=\"soft\"");
}

void write_function(Html& h, const Function& f, const TimedFunction* timed) {
  std::string title = shortened(f.name, 500) + " — " + count(f.compiled, "compilation") + ", " + time_text(f.lost_us);
  if (timed) title += ", " + count(timed->calls, "call");
  h.details(title, "class=\"function\" data-name=\"" + escaped(shortened(f.name, 500)) + "\"");
  if (f.causes.size()) {
    h.element("h3", "Why it was compiled again")
        .raw("<div class=\"wide\"><table>\n")
        .row("th", {"what", "line", "times", "cost", "values", "to avoid it"});
    for (const Cause& c : f.causes) {
      std::string values;
      for (const std::string& v : c.values) values += (values.empty() ? "" : ", ") + v;
      h.row("td", {c.what, c.line, std::to_string(c.times), time_text(c.lost_us),
                   values + (c.values_left_out ? ", ..." : ""), c.remedy});
    }
    h.raw("</table></div>\n");
  }
  for (const auto& [reason, times] : f.refusals) h.element("p", "Runs eagerly: " + reason);
  if (!f.compilations.empty()) {
    h.element("h3", "Specializations");
    Tree(h, f, timed).write();
    if (f.compiled > static_cast<std::int64_t>(f.compilations.size()))
      h.element(
          "p",
          count(f.compiled - static_cast<std::int64_t>(f.compilations.size()), "compilation") + " more are not shown.",
          "class=\"soft\"");
  }
  if (!f.mutations.empty()) {
    h.details("what is written");
    for (const std::string& m : f.mutations) h.element("p", m);
    if (f.mutations_left_out) h.element("p", count(f.mutations_left_out, "other") + ".", "class=\"soft\"");
    h.raw("</details>\n");
  }
  h.element("p",
            "Recordings: " + std::to_string(f.recordings_made) + " made, " + std::to_string(f.recordings_evicted) +
                " dropped, " + std::to_string(f.recordings_live) + " at the end (" + bytes_text(f.recording_bytes) +
                ").",
            "class=\"soft\"");
  if (timed) write_latency(h, *timed);
  h.raw("</details>\n");
}

void write_functions(Html& h, const Account& a, const TimelineAccount* t) {
  h.element("h2", "Functions");
  h.raw(
      "<div class=\"tools\" id=\"tools\" hidden><input id=\"filter\" placeholder=\"names that contain\" "
      "aria-label=\"names that contain\"><button id=\"open\" type=\"button\">open all</button>"
      "<button id=\"close\" type=\"button\">close all</button><span id=\"status\" class=\"soft\"></span></div>\n");
  std::size_t shown = 0;
  const std::vector<const Function*> all = a.by_time();
  for (const Function* f : all) {
    if (shown >= kMostFunctions || h.size() > kMostBytes) break;
    ++shown;
    const TimedFunction* timed = nullptr;
    if (t)
      if (auto at = t->functions.find(f->name); at != t->functions.end()) timed = &at->second;
    write_function(h, *f, timed);
  }
  if (shown < all.size())
    h.element("p",
              count(static_cast<std::int64_t>(all.size() - shown), "function") +
                  " more are not shown: those that compiled for the shortest time.",
              "class=\"soft\"");
  if (a.functions_left_out)
    h.element("p", count(a.functions_left_out, "event") + " of still other functions are not counted.",
              "class=\"soft\"");
}

std::string page(const Account& a, const TimelineAccount* t) {
  Html h;
  write_head(h, a);
  write_summary(h, a, t);
  write_times(h, a, t);
  write_memory(h, a, t);
  write_functions(h, a, t);
  return h.raw("<script>").raw(kReportScript).raw("</script>\n</body>\n</html>\n").take();
}

struct Request {
  std::vector<std::string> logs;
  std::string timeline, out, mistake;
};
Request request_of(const std::vector<std::string>& args) {
  Request r;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (args[i] == "-o" || args[i] == "--trace") {
      std::string& to = args[i] == "-o" ? r.out : r.timeline;
      if (!to.empty()) r.mistake = args[i] + " is there twice";
      if (i + 1 == args.size()) return r.mistake = args[i] + " wants a file", r;
      to = args[++i];
    } else if (args[i].size() > 1 && args[i][0] == '-') {
      return r.mistake = "unknown option '" + safe(args[i]) + "'", r;
    } else {
      r.logs.push_back(args[i]);
    }
  }
  if (r.logs.empty()) r.mistake = "report takes a log, as REPRISE_LOG_FILE wrote it";
  else if (r.out.empty()) r.mistake = "report wants the file to write: -o report.html";
  std::error_code ignored;
  std::vector<std::string> inputs = r.logs;
  if (!r.timeline.empty()) inputs.push_back(r.timeline);
  for (const std::string& in : inputs)
    if (r.mistake.empty() && (in == r.out || std::filesystem::equivalent(in, r.out, ignored)))
      r.mistake = "'" + safe(in) + "' is to be read and to be written";
  return r;
}

void write_file(const std::string& path, const std::string& text) {
  files::NewFile file(AT_FDCWD, path, 0666);
  if (!file.good() || !file.write(text.data(), static_cast<std::int64_t>(text.size())) || !file.publish(false))
    throw std::runtime_error("cannot write '" + safe(path) + "': " + file.why());
}

}  // namespace

int report(const std::vector<std::string>& args) {
  const Request r = request_of(args);
  if (!r.mistake.empty()) {
    std::fprintf(stderr, "reprise: %s\nusage: reprise report LOG.jsonl [MORE...] [--trace x.json] -o report.html\n",
                 r.mistake.c_str());
    return 2;
  }
  const Bounds bounds{.compilations = kMostCompilations, .graphs = true};
  Account account(bounds);
  for (const std::string& path : r.logs) {
    account.begin_file(path);
    const LogFile log = read_log(path, [&](const nlohmann::json& e) { account.take(e); });
    if (log.bad)
      std::fprintf(
          stderr, "reprise: %lld lines of '%s' are not JSON objects of events, the first is line %lld%s\n",
          static_cast<long long>(log.bad), safe(path).c_str(), static_cast<long long>(log.first_bad),
          log.cut ? " (the last line is cut off: the log is still being written, or its process was killed)" : "");
  }
  TimelineAccount timeline(bounds);
  if (!r.timeline.empty()) read_timeline(r.timeline, [&](const nlohmann::json& e) { timeline.take(e); });
  write_file(r.out, page(account, r.timeline.empty() ? nullptr : &timeline));
  std::printf("%s\n", safe(r.out).c_str());
  return 0;
}

}  // namespace reprise::tool
